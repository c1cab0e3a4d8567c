// SPDX-License-Identifier: Apache-2.0
// The order of the reduction loops as a decision of the search.

#include "scheduler/space/reduction_order.h"

#include <algorithm>
#include <set>

#include "isamap/interpret.h"
#include "isamap/mapper.h"
#include "isamap/program_on_machine.h"
#include "isamap/search.h"
#include "tests/lowering/support.h"
#include "tests/scheduler/support.h"

namespace isamap {
namespace {

using testing_support::formula;
using testing_support::kernel_yaml;
using testing_support::machine;

std::string by_memory(const Kernel& kernel) {
  std::string text;
  for (const std::string& dim : reductions_by_memory(kernel, kernel.statements[0])) text += dim;
  return text;
}

TEST(ReductionOrder, IsByTheLargestStride) {
  EXPECT_EQ(by_memory(formula("O[p,q,k] += I[p+r,q+s,c] * W[k,c,r,s]", "p=7,q=7,k=20,r=3,s=3,c=30")), "");
  EXPECT_EQ(by_memory(formula("O[p,q,k] += W[k,c,r,s] * I[p+r,q+s,c]", "p=7,q=7,k=20,r=3,s=3,c=30")), "rsc");
  EXPECT_EQ(by_memory(formula("O[k,p,q] += W[k,c,r,s] * I[c,p+r,q+s]", "p=7,q=7,k=20,r=3,s=3,c=30")), "");
  EXPECT_EQ(by_memory(formula("O[i] += B[k,l] * A[l,k,i]", "i=7,k=5,l=6")), "lk") << "35 elements against 7";
  EXPECT_EQ(by_memory(formula("C[i,j] += A[i,k] * B[k,j]", "i=7,j=7,k=7")), "");
}

TEST(ReductionOrder, IsAsStatedForDimsOfOneStepAndUnknownStrides) {
  EXPECT_EQ(by_memory(formula("O[p,q,k] += W[k,c,r,s] * I[p+r,q+s,c]", "p=7,q=7,k=20,r=1,s=1,c=30")), "");
  EXPECT_EQ(by_memory(formula("O[p,q,k] += W[k,c,r,s] * I[p+r,q+s,c]", "p=7,q=7,k=20,r=3,s=1,c=30")), "rc");
  EXPECT_EQ(by_memory(formula("O[p,k] += W[k,c,r] * I[p+r,c/2]", "p=7,k=20,r=3,c=30")), "");
}

/// W by itself would be read in the stated order, `c` outermost; it is packed once, in that of the loops.
TEST(ReductionOrder, IsThatOfTheInputsThatAreNotConstant) {
  const auto conv = [](const std::string& i, const std::string& w) {
    return kernel_yaml("kernel: conv\ndims: {P: 7, K: 4, C: 3, R: 7}\ntensors:\n  I: {shape: [13, C], dtype: f32" + i +
                       "}\n  W: {shape: [K, C, R], dtype: f32" + w +
                       "}\n  O: {shape: [P, K], dtype: f32}\ncompute:\n  - O[p,k] += W[k,c,r] * I[p+r,c]\n");
  };
  EXPECT_EQ(by_memory(conv("", "")), "");
  EXPECT_EQ(by_memory(conv("", ", constant: true")), "rc");
  EXPECT_EQ(by_memory(conv(", constant: true", ", constant: true")), "");
}

/// A convolution of windows of 3 x 3, channels last: of f32, or of u8 by s8.
Kernel window(int c, int k, int p, int stride, const std::string& type = "f32") {
  const bool floats = type == "f32";
  const std::string w = floats ? "W[k,c,r,s] * " : "s32(W[k,c,r,s]) * ";
  const std::string at = "[" + std::to_string(stride) + "*p + r - 1, " + std::to_string(stride) + "*q + s - 1, c]";
  const std::string sum = floats ? "f32" : "s32", weights = floats ? "f32" : "s8",
                    read = floats ? "I" + at : "s32(I" + at + ")";
  return kernel_yaml(
      "kernel: window\ndims: {P: " + std::to_string(p) + ", K: " + std::to_string(k) + ", C: " + std::to_string(c) +
      ", R: 3, S: 3, H: " + std::to_string(stride * p) + "}\ntensors:\n  I: {shape: [H, H, C], dtype: " + type +
      ", outside: 0}\n  W: {shape: [K, C, R, S], dtype: " + weights +
      ", constant: true}\n  O: {shape: [P, P, K], dtype: " + sum + "}\ncompute:\n  - O[p,q,k] += " + w + read + "\n");
}

SearchSpace space_of(const Kernel& kernel, const HardwareModel& model, const SpaceOptions& options = {}) {
  const auto mapped = enumerate_mappings(kernel, model, {});
  EXPECT_TRUE(mapped) << render(mapped.diagnostics());
  return {kernel, make_id<StatementId>(0), mapped->mappings, model, options};
}

/// The reduction dims of the innermost loops over each.
std::string order_of(const Nest& nest) {
  std::string order;
  for (const Line& line : nest.lines)
    if (const auto* loop = std::get_if<For>(&line.is))
      for (const TiledLoop& tiled : loop->loops)
        if (const std::string& dim = tiled.dim; dim == "c" || dim == "r" || dim == "s") {
          std::erase(order, dim[0]);
          order += dim;
        }
  return order;
}

std::set<std::string> orders_of(const SearchSpace& space, const std::vector<Point>& points) {
  std::set<std::string> orders;
  for (const Point& point : points)
    if (const auto nest = space.build(point)) orders.insert(order_of(*nest));
  return orders;
}

bool decides_reductions(const SearchSpace& space) {
  return std::any_of(space.decisions().begin(), space.decisions().end(),
                     [](const Decision& d) { return d.name == "reduction loops"; });
}

TEST(ReductionOrder, IsADecisionWithStartsOfBoth) {
  const HardwareModel model = machine("x86_avx512");
  const SearchSpace space = space_of(window(40, 48, 7, 2), model);
  EXPECT_TRUE(decides_reductions(space));
  const std::set<std::string> both{"crs", "rsc"};
  EXPECT_EQ(orders_of(space, space.starts(8)), both);
  std::vector<Point> random;
  for (std::uint64_t seed = 0; seed < 300; ++seed) random.push_back(space.random(seed));
  EXPECT_EQ(orders_of(space, random), both);
}

TEST(ReductionOrder, IsNoDecisionWhereTheOrdersAreOne) {
  const HardwareModel model = machine("x86_avx512");
  EXPECT_FALSE(decides_reductions(
      space_of(formula("O[k,p,q] += W[k,c,r,s] * I[c,p+r,q+s]", "p=7,q=7,k=20,r=3,s=3,c=30"), model)));
  EXPECT_FALSE(decides_reductions(space_of(formula("C[i,j] += A[i,k] * B[k,j]", "i=64,j=64,k=64"), model)));
}

/// Sums of floats that must be in order; sums of integers are the same in any.
TEST(ReductionOrder, IsAsStatedForSumsInOrder) {
  SpaceOptions in_order;
  in_order.sums_in_order = true;
  const HardwareModel floats = machine("x86_avx512");
  const SearchSpace space = space_of(window(40, 48, 7, 2), floats, in_order);
  EXPECT_FALSE(decides_reductions(space));
  EXPECT_EQ(orders_of(space, space.starts(8)), std::set<std::string>{"crs"});
  const HardwareModel integers = machine("x86_avx512_vnni");
  EXPECT_TRUE(decides_reductions(space_of(window(40, 48, 7, 2, "u8"), integers, in_order)));
}

/// A panel has the digits of reductions in the order of the loops.
TEST(ReductionOrder, IsThatOfPanels) {
  const HardwareModel model = machine("x86_avx512");
  const SearchSpace space = space_of(window(40, 48, 7, 2), model);
  int packed = 0;
  for (const Point& point : space.starts(8)) {
    const auto nest = space.build(point);
    if (!nest) continue;
    for (const Line& line : nest->lines)
      if (const std::string text = print(line); text.rfind("stage W in ram", 0) == 0) {
        const std::string order = order_of(*nest) == "crs" ? "c, r, s" : "r, s, c";
        EXPECT_NE(text.find(order), std::string::npos) << text << ", loops " << order_of(*nest);
        ++packed;
      }
  }
  EXPECT_GT(packed, 4);
}

/// Starts and random points of windows against the interpreter.
TEST(ReductionOrder, ComputesTheKernel) {
  for (const auto& [target, type] : {std::pair("x86_avx512", "f32"), {"arm_neon", "f32"}, {"x86_avx512_vnni", "u8"}})
    for (const auto& [c, k, p, stride] : {std::array{5, 20, 3, 2}, {33, 16, 2, 1}, {1, 7, 2, 2}}) {
      const HardwareModel model = machine(target);
      const Kernel kernel = window(c, k, p, stride, type);
      const SearchSpace space = space_of(kernel, model);
      std::vector<Point> points = space.starts(6);
      for (std::uint64_t seed = 0; seed < 6; ++seed) points.push_back(space.random(seed));
      std::set<std::string> done;
      for (const Point& point : points) {
        const auto nest = space.build(point);
        if (!nest) continue;
        Schedule schedule;
        schedule.name = schedule.kernel = kernel.name;
        schedule.target = model.name;
        schedule.nests = {*nest};
        if (!lower(schedule, kernel, model)) continue;
        done.insert(order_of(*nest));
        SCOPED_TRACE(std::string(target) + "\n" + print(schedule));
        expect_schedule_right(kernel, model, schedule);
      }
      EXPECT_GE(done.size(), c > 1 ? 2u : 1u) << target << " " << c;
    }
}

}  // namespace
}  // namespace isamap

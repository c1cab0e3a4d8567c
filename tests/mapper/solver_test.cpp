// SPDX-License-Identifier: Apache-2.0
// The direct construction and the solver find the same lists. (Every mapping is executed in tests/mapping_oracle.)

#include <gtest/gtest.h>

#include "isamap/interpret.h"
#include "tests/mapper/cases.h"

namespace isamap::testing {
namespace {

std::string shown_all(const std::vector<Mapping>& mappings, const Kernel& kernel, const Instruction& instruction) {
  std::string text;
  for (const Mapping& mapping : mappings) text += shown(mapping, kernel, instruction) + "\n";
  return text;
}

// -- random kernels and instructions ---------------------------------------------------------------------------------

std::string bracket(const std::vector<std::string>& parts) {
  std::string text = "[";
  for (std::size_t i = 0; i < parts.size(); ++i) text += (i > 0 ? "," : "") + parts[i];
  return text + "]";
}

struct Case {
  Kernel kernel;
  Instruction instruction;
};

/// Dims on random non-empty sets of operands; some operands have a sum of two dims in one index, as windows do.
std::optional<Case> random_case(Random& random) {
  static const std::vector<std::pair<std::string, std::string>> bodies = {
      {" += ", " * "}, {" += ", " * "}, {" max= ", " + "}, {" += ", " - "}};
  const auto& [reduction, op] = bodies[static_cast<std::size_t>(random.between(0, 3))];
  const bool distance = op == " - ";
  const auto text = [&](int dims, const std::string& prefix, bool windows, Sizes& sizes, std::int64_t largest) {
    std::vector<std::vector<std::string>> indices(3);
    for (int d = 0; d < dims; ++d) {
      const std::string name = prefix + std::to_string(d);
      sizes[name] = random.between(1, largest);
      std::int64_t set = random.between(2, 7);
      for (std::size_t t = 0; t < 3; ++t) {
        if ((set >> t & 1) == 0) continue;
        if (windows && !indices[t].empty() && random.between(0, 3) == 0) {
          indices[t].back() += " + " + std::to_string(random.between(1, 2)) + "*" + name;
        } else {
          indices[t].push_back(name);
        }
      }
    }
    const std::string product = "A" + bracket(indices[1]) + op + "B" + bracket(indices[2]);
    return "C" + bracket(indices[0]) + reduction + (distance ? "abs(" + product + ")" : product);
  };
  Sizes kernel_sizes, unit_sizes;
  const DType type = op == " + " ? DType::f32 : DType::s32;
  const std::string kernel = text(static_cast<int>(random.between(1, 4)), "d", true, kernel_sizes, 4);
  const std::string unit = text(static_cast<int>(random.between(0, 3)), "m", false, unit_sizes, 4);
  return Case{kernel_of(kernel, kernel_sizes, {}, type), instruction_of(unit, unit_sizes, {}, type)};
}

TEST(RandomCases, TheSolverFindsTheSameLists) {
  Random random(7);
  int mapped = 0;
  for (int n = 0; n < 40; ++n) {
    SCOPED_TRACE("seed 7, case " + std::to_string(n));
    const auto c = random_case(random);
    for (const Rule rule : {Rule::access, Rule::full, Rule::all}) {
      const PairMappings direct = map_one(c->kernel, c->instruction, rule),
                         solved = map_one(c->kernel, c->instruction, rule, true);
      EXPECT_EQ(shown_all(direct.mappings, c->kernel, c->instruction),
                shown_all(solved.mappings, c->kernel, c->instruction))
          << print(c->kernel);
      EXPECT_EQ(direct.mappings.empty(), solved.mappings.empty());
      EXPECT_EQ(direct.reasons.empty(), solved.reasons.empty());
      mapped += direct.mappings.empty() ? 0 : 1;
    }
  }
  EXPECT_GT(mapped, 40);
}

TEST(KnownCases, TheSolverFindsTheSameLists) {
  for (const Kernel& kernel : {gemm(20, 30, 40), conv1d(), conv2d(), depthwise2d()}) {
    for (const Instruction& unit :
         {matrix_unit(16, 16, 16), instruction_of("C[i] += A[i,x] * B[i,x]", {{"i", 8}, {"x", 4}})}) {
      for (const Rule rule : {Rule::access, Rule::full}) {
        EXPECT_EQ(shown_all(map_one(kernel, unit, rule).mappings, kernel, unit),
                  shown_all(map_one(kernel, unit, rule, true).mappings, kernel, unit));
      }
    }
  }
}

}  // namespace
}  // namespace isamap::testing

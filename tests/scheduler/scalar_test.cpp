// SPDX-License-Identifier: Apache-2.0
// Scalar code against instructions: whichever is predicted to be faster is taken. Accesses with a price of their own:
// diagonals, and one read on two operands.

#include "ir/element_cycles.h"
#include "isamap/interpret.h"
#include "isamap/mapper.h"
#include "isamap/program_on_machine.h"
#include "isamap/scheduler.h"
#include "scheduler/scalar_nest.h"
#include "scheduler/vectorized_reductions.h"
#include "tests/lowering/support.h"
#include "tests/scheduler/support.h"

namespace isamap {
namespace {

using testing_support::formula;
using testing_support::machine;

struct PricedCase {
  std::string compute, dims, dtypes, target;
};

Scheduled searched_case(const PricedCase& c, const std::string& instruction = "",
                        Objective objective = Objective::edp) {
  const Kernel kernel = formula(c.compute, c.dims, c.dtypes);
  const HardwareModel model = machine(c.target);
  MapOptions map;
  map.instruction = instruction;
  auto mapped = enumerate_mappings(kernel, model, map);
  if (!mapped) {
    ADD_FAILURE() << render(mapped.diagnostics());
    std::abort();
  }
  ScheduleOptions options;
  options.max_evaluations = 200;
  options.objective = objective;
  auto found = schedule_or_in_lanes(kernel, *mapped, model, options, map);
  if (!found) {
    ADD_FAILURE() << render(found.diagnostics());
    std::abort();
  }
  return std::move(found->scheduled);
}

void computes_what_the_kernel_says(const PricedCase& c, const Schedule& schedule) {
  const Kernel kernel = formula(c.compute, c.dims, c.dtypes);
  const HardwareModel model = machine(c.target);
  const auto again = parse_schedule(print(schedule), "printed.yaml", kernel, model);
  ASSERT_TRUE(again) << render(again.diagnostics());
  expect_schedule_right(kernel, model, *again);
}

TEST(ScalarAlternative, WinsWhereAnInstructionIsSlower) {
  const PricedCase one{"C[i,j] += A[i,k] * B[k,j]", "i=1,j=1,k=1", "A=s8,B=s8,C=s32", "npu16"};
  const Scheduled best = searched_case(one), with = searched_case(one, "mma");
  EXPECT_FALSE(best.mappings[0].instruction.valid());
  EXPECT_LE(best.cost.cycles, 5);  // four accesses, and half a cycle to initialise C
  ASSERT_FALSE(best.scalar_causes[0].reasons.empty());
  // The second of two loads begins after 17 cycles; load, product and store take 100, 48 and 100.
  EXPECT_EQ(best.scalar_causes[0].reasons.front().rfind("scalar code is predicted to take 5 cycles, mma 265", 0), 0u)
      << best.scalar_causes[0].reasons.front();
  EXPECT_TRUE(with.mappings[0].instruction.valid());
  EXPECT_GT(with.cost.cycles, 100);
}

TEST(ScalarNest, EndsWithTheDimThatCompilersVectorise) {
  const auto innermost = [](const std::string& compute, const std::string& dims, const std::string& dtypes) {
    const Kernel kernel = formula(compute, dims, dtypes);
    return vectorized_dim(kernel.statements[0], kernel.tensors, 8);
  };
  const std::string place = "P[i] min= select(X[k,i] < B[i], 2147483647, value(k))";
  EXPECT_EQ(innermost(place, "i=50,k=9", "P=s32,X=f32,B=f32"), "i");
  EXPECT_EQ(innermost(place, "i=4,k=9", "P=s32,X=f32,B=f32"), "");
  EXPECT_EQ(innermost("P[i] min= select(X[i,k] < B[i], 2147483647, value(k))", "i=50,k=9", "P=s32,X=f32,B=f32"), "k");
  EXPECT_EQ(innermost("S[i] += s32(X[i + r,c])", "i=50,r=3,c=32", "S=s32,X=u8"), "c");
  EXPECT_EQ(innermost("S[i] += X[i,k]", "i=50,k=90", "S=f32,X=f32"), "");
  EXPECT_EQ(innermost("S[i] += tan(X[k,i])", "i=50,k=90", "S=f32,X=f32"), "i");
  EXPECT_EQ(innermost("S[i] += tan(X[k,2*i])", "i=50,k=90", "S=f32,X=f32"), "");
  EXPECT_EQ(innermost("L[i] max= select(J[u] == value(i), value(u), 0)", "i=50,u=90", "L=s32,J=s32"), "");
  Kernel bordered = formula("S[i] += tan(X[k,i])", "i=50,k=90", "S=f32,X=f32");
  Tensor& input = bordered.tensors[bordered.statements[0].reads[0].tensor.index()];
  input.shape[1] = 49;
  input.outside = 0;
  EXPECT_EQ(vectorized_dim(bordered.statements[0], bordered.tensors, 8), "");
  EXPECT_EQ(innermost("Y[i] = tan(X[i])", "i=50", "Y=f32,X=f32"), "");
}

TEST(ScalarNest, OfPlacesOfExtremesIsVectorised) {
  const PricedCase places{"P[i] min= select(X[k,i] < B[i], 2147483647, value(k))", "i=50,k=9", "P=s32,X=f32,B=f32",
                          "x86_avx2"};
  const Scheduled found = searched_case(places);
  const std::vector<Line>& lines = found.schedule.nests[0].lines;
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(std::get<For>(lines[1].is).loops[0].dim, "i");
  computes_what_the_kernel_says(places, found.schedule);
}

/// One place makes the comparison: programs that use the library have it like the command line.
TEST(ScalarAlternative, ScheduleOfTheLibraryComparesToo) {
  const Kernel kernel = formula("C[i,j] += A[i,k] * B[k,j]", "i=1,j=1,k=1", "A=s8,B=s8,C=s32");
  const HardwareModel model = machine("npu16");
  const auto mapped = enumerate_mappings(kernel, model, {});
  ASSERT_TRUE(mapped) << render(mapped.diagnostics());
  ScheduleOptions options;
  options.max_evaluations = 50;
  const auto best = schedule(kernel, *mapped, model, options);
  ASSERT_TRUE(best) << render(best.diagnostics());
  EXPECT_FALSE(best->mappings[0].instruction.valid());
  ASSERT_FALSE(best->scalar_causes[0].reasons.empty());
  EXPECT_NE(best->scalar_causes[0].reasons.front().find("scalar code is predicted to take 5 cycles, mma 265"),
            std::string::npos);
  options.compare_scalar = false;
  const auto with = schedule(kernel, *mapped, model, options);
  ASSERT_TRUE(with) << render(with.diagnostics());
  EXPECT_TRUE(with->mappings[0].instruction.valid());
}

TEST(ScalarAlternative, DepthwiseOnAMatrixUnit) {
  const PricedCase depthwise{"O[p,q,c] += I[p+r,q+s,c] * F[r,s,c]", "p=14,q=14,c=16,r=3,s=3", "I=s8,F=s8,O=s32",
                             "vta16"};
  const Scheduled best = searched_case(depthwise), with = searched_case(depthwise, "gemm");
  EXPECT_LE(best.cost.cycles, with.cost.cycles);
  // Three accesses a point, and the initialisation of the sums.
  EXPECT_LE(best.cost.cycles, 14.0 * 14 * 16 * (9 * 3 + 0.5) * 1.01);
  computes_what_the_kernel_says(depthwise, best.schedule);
}

/// 1296 points with three accesses take 3888 cycles and one for rounding up. They read 1296 elements of I, F and O
/// (one, one and four bytes; 144 of O are not read at their first visit) and write 1296 of O, at 20 pJ a byte: 247680
/// pJ, more than a program with the instruction. Descriptions of vta16 state no energy of its memories.
TEST(ScalarAlternative, IsTakenByTheObjective) {
  PricedCase depthwise{"O[p,q,c] += I[p+r,q+s,c] * F[r,s,c]", "p=6,q=6,c=4,r=3,s=3", "I=s8,F=s8,O=s32", "npu16"};
  const Scheduled fast = searched_case(depthwise, "", Objective::cycles);
  EXPECT_FALSE(fast.mappings[0].instruction.valid());
  EXPECT_EQ(fast.cost.energy_pJ, 20 * (1296 * (1 + 1 + 4 + 4) - 144 * 4));
  const Scheduled frugal = searched_case(depthwise, "", Objective::energy);
  EXPECT_TRUE(frugal.mappings[0].instruction.valid());
  EXPECT_LT(frugal.cost.energy_pJ, fast.cost.energy_pJ);
  depthwise.target = "vta16";
  const Scheduled with = searched_case(depthwise, "gemm", Objective::energy);
  const Scheduled best = searched_case(depthwise, "", Objective::energy);
  EXPECT_GT(with.cost.cycles, fast.cost.cycles);
  EXPECT_FALSE(best.mappings[0].instruction.valid()) << "the energy of scalar code is unknown: cycles decide";
}

TEST(ScalarAlternative, LosesWhereAnInstructionIsFaster) {
  EXPECT_TRUE(searched_case({"C[i,j] += A[i,k] * B[k,j]", "i=64,j=64,k=64", "A=s8,B=s8,C=s32", "npu16"})
                  .mappings[0]
                  .instruction.valid());
  EXPECT_TRUE(
      searched_case({"C[i,j] += A[i,k] * B[k,j]", "i=16,j=16,k=16", "", "x86_avx512"}).mappings[0].instruction.valid());
}

/// Steps of a window that lie far apart need a register each, not one for each place of their span.
TEST(ScalarAlternative, LosesWhereStepsOfAWindowAreFarApart) {
  const PricedCase c{"C[i,j] += B[i,j + 16*t]", "i=4,j=256,t=4", "", "x86_avx512"};
  const Scheduled found = searched_case(c);
  EXPECT_NE(print(found.schedule).find("with add_into_f32"), std::string::npos) << print(found.schedule);
  computes_what_the_kernel_says(c, found.schedule);
}

/// Y[2*q + a] = X[484*a + q], with a in the inner loop, is made of vectors and shuffles; not with rows that the loop
/// around it does not follow, too many of them, or too short ones.
TEST(CopiedElements, OfAFewRowsAreInterleaved) {
  const ElementCycles each{0.5, 1, 2.5, 12, 1, 8, 8};
  const auto dim = [](const char* name, std::int64_t times) { return AffineExpr::dim(name) * times; };
  const AffineExpr to = dim("q", 2) + dim("a", 1), from = dim("a", 484) + dim("q", 1);
  EXPECT_EQ(copied_element_cycles({to, from}, {"a", 2, "q", 8}, each), 1);
  EXPECT_EQ(copied_element_cycles({to, from}, {"a", 2, "q", 7}, each), 2.5);
  EXPECT_EQ(copied_element_cycles({dim("q", 8) + dim("a", 1), from}, {"a", 8, "q", 8}, each), 1);
  EXPECT_EQ(copied_element_cycles({to, from}, {"a", 2}, each), 2.5);
  EXPECT_EQ(copied_element_cycles({dim("q", 16) + dim("a", 1), from}, {"a", 16, "q", 32}, each), 2.5);
  EXPECT_EQ(copied_element_cycles({to, dim("a", 484) + dim("q", 3)}, {"a", 2, "q", 8}, each), 2.5);
}

TEST(Diagonals, ArePricedByWhatTheyTouch) {
  for (const char* text : {"y[] += A[i,i]", "y[] += A[i,2*i]", "y[i] = A[i,i]"}) {
    SCOPED_TRACE(text);
    const PricedCase c{text, "i=1900", "", "x86_avx512"};
    EXPECT_LT(searched_case(c).cost.cycles, 10'000);
    if (std::string(text).find("+=") != std::string::npos) {
      EXPECT_LT(searched_case(c, "sum_f32_masked").cost.cycles, 200'000);
    }
  }
}

/// Of S[i] += X[i,j]*X[i,j], X[i,j] is one read, and stands on both factors of a vector instruction.
TEST(OneReadOnTwoOperands, SquaresAreComputedByAnInstruction) {
  for (const PricedCase& c : {PricedCase{"y[i] = X[i] * X[i]", "i=1900", "", "x86_avx512"},
                              PricedCase{"y[i] = X[i] + X[i]", "i=37", "", "x86_avx2"},
                              PricedCase{"y[i] += X[i] * X[i]", "i=37", "", "x86_avx512"}}) {
    SCOPED_TRACE(c.compute + " " + c.dims);
    const Scheduled best = searched_case(c);
    EXPECT_TRUE(best.mappings[0].instruction.valid());
    computes_what_the_kernel_says(c, best.schedule);
  }
}

}  // namespace
}  // namespace isamap

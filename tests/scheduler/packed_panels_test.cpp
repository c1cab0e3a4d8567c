// SPDX-License-Identifier: Apache-2.0
// How much a search packs at a time, and in which layout.

#include "isamap/mapper.h"
#include "isamap/scheduler.h"
#include "scheduler/space/cpu_decisions.h"
#include "tests/scheduler/support.h"

namespace isamap {
namespace {

using testing_support::formula;
using testing_support::machine;

/// Lines of a point of the space of `dpbusd_bcast` with tiles of 6 by 32 in registers, j outermost and both inputs
/// packed.
std::string lines_of(const std::string& compute, const std::string& dims, const std::string& target = "x86_zen5") {
  const HardwareModel model = machine(target);
  const Kernel kernel = formula(compute, dims, "A=u8,B=s8,C=s32");
  const auto mapped = enumerate_mappings(kernel, model, {});
  EXPECT_TRUE(mapped) << render(mapped.diagnostics());
  std::vector<Mapping> by;
  for (const Mapping& mapping : mapped->mappings)
    if (by.empty() && model.instruction(mapping.instruction).name == "dpbusd_bcast") by.push_back(mapping);
  EXPECT_EQ(by.size(), 1u);
  const CpuDecisions decisions(kernel, StatementId{0}, by, model, {});
  Point point;
  point.choice.resize(decisions.decisions.size(), 0);
  for (const std::size_t access : {1, 2}) point.choice[decisions.route_at(access)] = max_routes - 1;
  point.choice[decisions.register_at(0)] = 5;  // of 6
  point.choice[decisions.register_at(1)] = 1;  // two vectors of 16
  point.choice[decisions.order_at()] = *decisions.outermost(1);
  std::string lines;
  for (const Line& line : build_nest(decisions.form_of(decisions.prepare(0), point)).lines) lines += print(line) + "\n";
  return lines;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// The first cache of x86_zen5 fetches 128 bytes together, that of x86_avx512 a line.
TEST(PackedPanels, AreMadeForWhatACacheFetchesTogether) {
  const std::string lines = lines_of("C[i,j] += s32(A[i,k]) * s32(B[k,j])", "i=16,j=3072,k=1024");
  EXPECT_TRUE(has(lines, "for j by 128\nstage B in ram as [j/32, k/4, j%32, k%4]\nfor j by 32\n")) << lines;
  const std::string of_a_line =
      lines_of("C[i,j] += s32(A[i,k]) * s32(B[k,j])", "i=16,j=3072,k=1024", "x86_avx512_vnni");
  EXPECT_TRUE(has(of_a_line, "for j by 64\nstage B in ram as [j/32, k/4, j%32, k%4]\nfor j by 32\n")) << of_a_line;
}

/// Of 15 tiles five times three.
TEST(PackedPanels, LeaveNoShorterLastBlockIfPossible) {
  EXPECT_TRUE(has(lines_of("C[i,j] += s32(A[i,k]) * s32(B[k,j])", "i=16,j=480,k=64"), "for j by 160\n"));
  EXPECT_TRUE(has(lines_of("C[i,j] += s32(A[i,k]) * s32(B[k,j])", "i=16,j=544,k=64"), "for j by 128\n"));
}

/// Half of the second cache holds 32 columns of 16384 bytes, and not 128.
TEST(PackedPanels, StayInACache) {
  const std::string lines = lines_of("C[i,j] += s32(A[i,k]) * s32(B[k,j])", "i=16,j=3072,k=16384");
  EXPECT_TRUE(has(lines, "for j by 32\nstage B")) << lines;
}

/// Columns that are rows of the tensor come in whole lines by themselves.
TEST(PackedPanels, AreTilesWhereTheTensorIsTransposed) {
  const std::string lines = lines_of("C[i,j] += s32(A[i,k]) * s32(B[j,k])", "i=16,j=3072,k=1024");
  EXPECT_TRUE(has(lines, "for j by 32\nstage B")) << lines;
}

TEST(PackedPanels, HaveRowsOfTheTensor) {
  EXPECT_TRUE(has(lines_of("C[i,j] += s32(A[k,i]) * s32(B[k,j])", "i=700,j=1024,k=512"),
                  "stage A in ram as [i/6, k/4, i%6, k%4]\n"));
  EXPECT_TRUE(
      has(lines_of("C[i,j] += s32(A[i,k]) * s32(B[k,j])", "i=700,j=1024,k=512"), "stage A in ram as [i, k/4, k%4]\n"));
}

}  // namespace
}  // namespace isamap

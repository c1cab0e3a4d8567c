// SPDX-License-Identifier: Apache-2.0
// Which nests become one launch, and that those which must not do not.

#include "driver/execute.h"
#include "ir/text/parse.h"
#include "isamap/backend.h"
#include "tests/cuda/support.h"
#include "tests/searched.h"

namespace isamap {
namespace {

/// Launches of the kernel without instructions, whose emulated run agrees with the interpreter.
int launches_of_right_run(const std::string& text) {
  const HardwareModel model = machine("nvidia_sm80");
  const Kernel kernel = *parse_kernel(text);
  const Program program = searched(kernel, model);
  auto data = random_data(kernel, Fill::real, 5), expected = data;
  interpret(kernel, expected);
  const auto outcome = make_runner(model)->run(program, data, {}, 0);
  EXPECT_TRUE(outcome) << render(outcome.diagnostics());
  const Comparison same = compare(kernel, expected, data);
  EXPECT_TRUE(same.equal) << same.first_difference;
  const auto unit = print_cuda(program, model);
  EXPECT_TRUE(unit) << render(unit.diagnostics());
  int count = 0;
  for (std::size_t at = 0; unit && (at = unit->text.find("  ISAMAP_LAUNCH(", at)) != std::string::npos; ++at) ++count;
  return count;
}

TEST(StitchedNests, SoftmaxIsOneLaunch) {
  EXPECT_EQ(launches_of_right_run(R"(kernel softmax
tensor X: f32[20,130]
tensor M: f32[20]
tensor E: f32[20,130]
tensor S: f32[20]
tensor Y: f32[20,130]
s0: M[i] max= X[i,j] over i: 20, j: 130
s1: E[i,j] = exp(X[i,j] - M[i]) over i: 20, j: 130
s2: S[i] += E[i,j] over i: 20, j: 130
s3: Y[i,j] = E[i,j] / S[i] over i: 20, j: 130
)"),
            1);
}

/// A row of the second nest is another one of the first, which another block wrote.
TEST(StitchedNests, WhatAnotherBlockWroteNeedsALaunch) {
  EXPECT_EQ(launches_of_right_run(R"(kernel upside_down
tensor X: f32[200,64]
tensor T: f32[200,64]
tensor Y: f32[200,64]
s0: T[i,j] = X[i,j] * 2 over i: 200, j: 64
s1: Y[i,j] = T[199 - i,j] + 1 over i: 200, j: 64
)"),
            2);
}

/// Rows of both nests are columns of T.
TEST(StitchedNests, RowsMayBeInterleaved) {
  EXPECT_EQ(launches_of_right_run(R"(kernel interleaved
tensor X: f32[3,400]
tensor T: f32[3,400]
tensor Y: f32[400]
s0: T[c,i] = X[c,i] * 2 over i: 400, c: 3
s1: Y[i] += T[c,i] over i: 400, c: 3
)"),
            1);
}

/// The columns are added up by whole blocks, which begin with their first values.
TEST(StitchedNests, SumsOfBlocksNeedNoLaunchBeforeThem) {
  EXPECT_EQ(launches_of_right_run(R"(kernel columns
tensor X: f32[512,64]
tensor Y: f32[64]
s0: Y[j] += X[i,j] over j: 64, i: 512
)"),
            1);
}

}  // namespace
}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
// The examples with each of their sizes symbolic, one after the other: what is decided for all sizes.

#include <gtest/gtest.h>

#include "isamap/frontends.h"
#include "isamap/symbolic.h"
#include "tests/symbolic/kernels.h"

namespace isamap {
namespace {

/// Nothing: some sizes are no kernel, with a counterexample. Unknown answers are failures.
std::optional<SymbolicKernel> decided(const SymbolicExample& example) {
  auto kernel = parse_symbolic_kernel(example.text, example.name + ".yaml", {});
  if (kernel) return std::move(*kernel);
  for (const Diagnostic& problem : kernel.diagnostics())
    EXPECT_EQ(problem.message.find("cannot decide"), std::string::npos) << example.name << ": " << problem.message;
  return std::nullopt;
}

TEST(SymbolicExamples, NoAnswerIsUnknown) {
  int all = 0, kernels = 0;
  for (const SymbolicExample& example : symbolic_examples()) {
    ++all;
    if (decided(example)) ++kernels;
  }
  RecordProperty("examples", all);
  RecordProperty("kernels", kernels);
  EXPECT_GE(all, 190);
  EXPECT_GE(kernels, all * 9 / 10) << "of " << all;
}

}  // namespace
}  // namespace isamap

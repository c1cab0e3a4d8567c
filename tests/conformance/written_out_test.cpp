// SPDX-License-Identifier: Apache-2.0
// Instructions whose text writes their sum out are run over as if they had a dim for it, where operands allow that.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "isamap/backend.h"
#include "isamap/frontends.h"
#include "isamap/hardware.h"
#include "isamap/scheduler.h"
#include "scheduler/nest/lowering_support.h"
#include "tests/conformance/matrix.h"
#include "tests/scratch.h"

namespace isamap::conformance {
namespace {

Kernel ranged_gemm(int M, int N, int K) {
  Kernel kernel = gemm_s8(M, N, K);
  kernel.tensors[0].dtype = DType::u8;
  kernel.tensors[0].range = {0, 127};
  kernel.tensors[1].range = {-64, 63};
  return kernel;
}

HardwareModel written_out() {
  const auto loaded = load_hardware(ISAMAP_SOURCE_DIR "/tests/conformance/models/written_out.yaml", {});
  EXPECT_TRUE(loaded) << render(loaded.diagnostics());
  return loaded ? loaded->model : HardwareModel{};
}

std::string chosen(const Compiled& compiled, const HardwareModel& model) {
  const Mapping& mapping = compiled.scheduled->mappings.front();
  return mapping.instruction.valid() ? model.instruction(mapping.instruction).name : "scalar";
}

TEST(WrittenOut, SumIsLoopedAndRunsOnEverySize) {
  for (const auto& model : {written_out(), load_model("x86_avx2")})
    for (const auto& [M, N, K] : {std::tuple{6, 16, 32}, {7, 13, 11}, {1, 1, 1}, {3, 5, 0}}) {
      const Kernel kernel = ranged_gemm(M, N, K);
      SCOPED_TRACE(model.name + "\n" + print(kernel));
      const Compiled compiled = compile(kernel, model);
      ASSERT_TRUE(compiled.program) << compiled.problem;
      if (K > 1) {
        const std::string name = chosen(compiled, model);
        EXPECT_TRUE(name.starts_with("dot_") || name.starts_with("maddubs")) << name;
      }
      EXPECT_EQ(interpreted_difference(*compiled.program, model, Fill::integers, 5), "");
      auto expected = random_data(kernel, Fill::integers, 9), found = expected;
      interpret(kernel, expected);
      const auto outcome = make_runner(model)->run(*compiled.program, found, RunLimits{}, 0);
      ASSERT_TRUE(outcome) << render(outcome.diagnostics());
      if (!outcome->missing.empty()) GTEST_SKIP() << outcome->missing;
      const Comparison comparison = compare(kernel, expected, found);
      EXPECT_TRUE(comparison.equal) << comparison.first_difference;
      const std::string text = print(compiled.scheduled->schedule);
      const auto again = parse_schedule(text, "printed", kernel, model);
      ASSERT_TRUE(again) << render(again.diagnostics());
      EXPECT_TRUE(*again == compiled.scheduled->schedule) << text;
    }
}

/// All three forms map; lowering says which of them it cannot run over.
TEST(WrittenOut, FormsThatAreNotLoopedSayWhy) {
  const HardwareModel model = written_out();
  const auto mapped = enumerate_mappings(ranged_gemm(6, 16, 32), model, MapOptions{});
  ASSERT_TRUE(mapped) << render(mapped.diagnostics());
  std::map<std::string, std::string> reasons;
  for (const Mapping& mapping : mapped->mappings)
    reasons[model.instruction(mapping.instruction).name] = not_lowered(mapping, model);
  const std::string needs =
      "the sum over k is unrolled in the instruction, and lowering needs it accumulated, with a subscript of its own "
      "and the first term first";
  EXPECT_EQ(reasons,
            (std::map<std::string, std::string>{{"dot_own", ""}, {"dot_joint", needs}, {"dot_reversed", needs}}));
}

/// What maps but has no legal schedule becomes scalar code, and the result says what stood in the way.
TEST(WrittenOut, ScalarCodeSaysWhatWasMissing) {
  std::ifstream file(ISAMAP_SOURCE_DIR "/tests/conformance/models/written_out.yaml");
  const std::string path = scratch("without_zero.yaml");
  std::ofstream without(path);
  for (std::string line; std::getline(file, line);)
    if (line.find("name: zero") == std::string::npos) without << line << "\n";
  without.close();
  const auto loaded = load_hardware(path, {});
  ASSERT_TRUE(loaded) << render(loaded.diagnostics());
  const Compiled compiled = compile(ranged_gemm(6, 16, 32), loaded->model);
  ASSERT_TRUE(compiled.program) << compiled.problem;
  const std::vector<std::string>& reasons = compiled.scheduled->scalar_causes.at(0).reasons;
  EXPECT_NE(std::find(reasons.begin(), reasons.end(), "stage C in acc: no instruction fills C_acc in acc with 0"),
            reasons.end())
      << testing::PrintToString(reasons);
}

}  // namespace
}  // namespace isamap::conformance

// SPDX-License-Identifier: Apache-2.0
// Machines with encoded instructions and state, from kernel to words: a GEMM and convolutions with ragged edges,
// executed from the words alone and compared with the interpreter.

#include <gtest/gtest.h>

#include <algorithm>

#include "backends/assembly/printer.h"
#include "backends/simulator/simulate.h"
#include "isamap/frontends.h"
#include "isamap/hardware.h"
#include "isamap/scheduler.h"
#include "tests/conformance/matrix.h"
#include "tests/every.h"

namespace isamap::conformance {
namespace {

Kernel ragged_gemm() { return gemm_s8(37, 21, 41); }
const char* const channels_last = R"(kernel: conv2d_nhwc
dims: {K: 20, C: 12, P: 9, Q: 10, R: 3, S: 2}
tensors:
  I: {shape: [P + R - 1, Q + S - 1, C], dtype: s8}
  F: {shape: [R, S, C, K], dtype: s8}
  O: {shape: [P, Q, K], dtype: s32}
compute: ["O[p,q,k] += I[p+r,q+s,c] * F[r,s,c,k]"]
)";
const char* const channels_first = R"(kernel: conv2d_nchw
dims: {K: 20, C: 5, P: 9, Q: 10, R: 3, S: 2}
tensors:
  I: {shape: [C, P + R - 1, Q + S - 1], dtype: s8}
  F: {shape: [K, C, R, S], dtype: s8}
  O: {shape: [K, P, Q], dtype: s32}
compute: ["O[k,p,q] += I[c,p+r,q+s] * F[k,c,r,s]"]
)";

Kernel parsed(const char* text) {
  const auto kernel = parse_kernel_yaml(text, "test");
  EXPECT_TRUE(kernel) << render(kernel.diagnostics());
  return kernel ? *kernel : Kernel{};
}

/// Commands as a machine sees them: lines with a word keep only that, host markers stay.
std::string words_of(const std::string& text, const std::string& sign) {
  std::string words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    const std::size_t word = line.rfind(" " + sign + " 0x");
    const bool bare = line.starts_with(sign) || word == std::string::npos;
    words += (bare ? line : ".word " + line.substr(word + sign.size() + 2)) + "\n";
    at = end + 1;
  }
  return words;
}

/// Simulated from the words alone; the outputs are those of the interpreter.
void expect_words_run(const Kernel& kernel, const HardwareModel& model) {
  SCOPED_TRACE(model.name + " x " + kernel.name);
  const Compiled compiled = compile(kernel, model);
  ASSERT_TRUE(compiled.program) << compiled.problem;
  const auto text = print_assembly(*compiled.program, model);
  ASSERT_TRUE(text) << render(text.diagnostics());
  const std::string words = words_of(*text, model.program.comment);
  EXPECT_NE(words.find(".word 0x"), std::string::npos);
  auto expected = random_data(kernel, Fill::integers, 3), found = expected;
  interpret(kernel, expected);
  const auto time = simulate(words, *compiled.program, model, found, 20);
  ASSERT_TRUE(time) << render(time.diagnostics());
  const Comparison comparison = compare(kernel, expected, found);
  EXPECT_TRUE(comparison.equal) << comparison.first_difference;
}

/// In turn: four of the machines with one of the three kernels each, every kernel on one of them.
void of_gemm_and_convolutions_run_alone(Every every) {
  for (const char* name : {"npu16", "systolic16", "vta16", "output_stationary16", "outer16"})
    for (const Kernel& kernel : {ragged_gemm(), parsed(channels_last), parsed(channels_first)})
      if (!every.skips()) expect_words_run(kernel, load_model(name));
}

TEST(Words, OfGemmAndConvolutionsRunAlone) { of_gemm_and_convolutions_run_alone(Every(4)); }
TEST(HeavyWords, OfGemmAndConvolutionsRunAlone) { of_gemm_and_convolutions_run_alone(Every(1)); }

/// An engine without a product: its one instruction is a small convolution.
TEST(Words, OfConvolutionsOnAnEngineThatOnlyConvolves) {
  const HardwareModel model = load_model("conv3x3");
  for (const Kernel& kernel : {parsed(channels_first), original("conv2d_s8"), ragged_gemm()})
    expect_words_run(kernel, model);
}

/// Weights stay in the array: one product with fresh weights, then those of before with another destination.
TEST(Words, StationaryWeightsChooseTheFormOfTheProduct) {
  const HardwareModel model = load_model("systolic16");
  const Kernel kernel = ragged_gemm();
  const auto schedule = parse_schedule(R"(schedule: stationary
nest:
  - stage C in acc as [i/16, j/16, i%16, j%16] first flag
  - stage A in spad as [i/16, k/16, i%16, k%16]
  - stage B in spad as [j/16, k/16, k%16, j%16]
  - for j by 16
  - for k by 16
  - stage B in array
  - for i by 16
  - do s0 with compute_preloaded(i=i, j=j, k=k)
)",
                                       "s.yaml", kernel, model);
  ASSERT_TRUE(schedule) << render(schedule.diagnostics());
  const auto program = lower(*schedule, kernel, model);
  ASSERT_TRUE(program) << render(program.diagnostics());
  const std::string text = *print_assembly(*program, model);
  const auto count = [&](const std::string& what) {
    int n = 0;
    for (std::size_t at = text.find("\n" + what); at != std::string::npos; at = text.find("\n" + what, at + 1)) ++n;
    return n;
  };
  EXPECT_EQ(count("compute_preloaded"), 6);     // 2 x 3 tiles of weights
  EXPECT_EQ(count("compute_accumulated"), 12);  // the other two rows of tiles of each
  EXPECT_EQ(count("preload -1"), 12);
  EXPECT_EQ(count("config_ex"), 1);
  EXPECT_EQ(count("config_mvin "), 2);  // the pitches of A and of B, whose moves follow one another
}

/// A product without the command that redirects it, or with weights that were used already, is refused.
TEST(Words, StaleStateIsNoticed) {
  const HardwareModel model = load_model("systolic16");
  const Kernel kernel = ragged_gemm();
  const Compiled compiled = compile(kernel, model);
  ASSERT_TRUE(compiled.program) << compiled.problem;
  const std::string text = *print_assembly(*compiled.program, model);
  const auto without = [&](const std::string& line) {
    std::string less = text;
    const std::size_t at = less.find("\n" + line) + 1;
    less.erase(at, less.find('\n', at) + 1 - at);
    auto data = random_data(kernel, Fill::integers, 3), right = data;
    interpret(kernel, right);
    const auto time = simulate(less, *compiled.program, model, data, 20);
    if (!time) return time.diagnostics()[0].message;
    return compare(kernel, right, data).equal ? std::string("equal") : std::string("different");
  };
  EXPECT_EQ(without("mvin "), "different");
  EXPECT_EQ(without("config_mvin "), "'mvin' needs ld0.stride, which nothing has set");
  EXPECT_EQ(without("config_ex"), "'compute_preloaded' needs ex.ws, which nothing has set");
  EXPECT_EQ(without("preload "), "'compute_preloaded' needs ex.c, which nothing has set");
  EXPECT_EQ(without("preload -1"), "different");  // added to the tile before
}

/// Weights enter the array with the product that follows their command: a second one in between, for another place of
/// the result, would lose them.
TEST(Words, WeightsOnTheirWayAreNotReplaced) {
  const HardwareModel model = load_model("systolic16");
  const Kernel kernel = ragged_gemm();
  const Compiled compiled = compile(kernel, model);
  ASSERT_TRUE(compiled.program) << compiled.problem;
  std::string text = *print_assembly(*compiled.program, model);
  const auto line_at = [&](const std::string& begin) {
    const std::size_t at = text.find("\n" + begin) + 1;
    return text.substr(at, text.find('\n', at) + 1 - at);
  };
  const std::string retarget = line_at("preload -1"), fresh = line_at("compute_preloaded"),
                    kept = line_at("compute_accumulated");
  const std::size_t at = text.find(fresh);
  text.replace(at, fresh.size(), retarget + kept);
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  auto data = random_data(kernel, Fill::integers, 3);
  const auto time = simulate(text, *compiled.program, model, data, 20);
  ASSERT_FALSE(time) << "the second command was executed";
  EXPECT_EQ(time.diagnostics()[0].where.line, line);
}

int lines_with(const std::string& text, const std::string& what) {
  int n = 0;
  for (std::size_t at = text.find("\n" + what); at != std::string::npos; at = text.find("\n" + what, at + 1)) ++n;
  return n;
}

/// Y = sat_s8(round(f32(T) * 0.4)): the factor is a constant, so the instruction that scales on the way out does it,
/// with the factor in its state field.
TEST(Words, OutputScaledByAConstantUsesTheScalingMove) {
  struct Case {
    const char *model, *setter, *move;
  };
  for (const auto& [name, setter, move] :
       {Case{"systolic16", "scale=0.4", "mvout "}, Case{"output_stationary16", "scale 0.4", "drain s8 "},
        Case{"dot16", "scale 0.4", "put.s8 "}, Case{"vta16", "scale 0.4", "store.s8 "},
        Case{"cube16", "set_quant 0.4", "out.s8 "}}) {
    SCOPED_TRACE(name);
    const HardwareModel model = load_model(name);
    const Kernel kernel = original("linear_s8");
    const Compiled compiled = compile(kernel, model);
    ASSERT_TRUE(compiled.program) << compiled.problem;
    const auto text = print_assembly(*compiled.program, model);
    ASSERT_TRUE(text) << render(text.diagnostics());
    const std::size_t set = text->rfind(setter);
    ASSERT_NE(set, std::string::npos);
    EXPECT_GE(lines_with(*text, move), 1);
    auto expected = random_data(kernel, Fill::real, 3), found = expected, other = expected;
    interpret(kernel, expected);
    const auto time = simulate(*text, *compiled.program, model, found, 20);
    ASSERT_TRUE(time) << render(time.diagnostics());
    const Comparison comparison = compare(kernel, expected, found);
    EXPECT_TRUE(comparison.equal) << comparison.first_difference;
    // Another factor in the setter is another result: the simulator takes it from there.
    std::string halved = *text;
    halved.replace(halved.find("0.4", set), 3, "0.2");
    const auto again = simulate(halved, *compiled.program, model, other, 20);
    if (again) {  // nothing where there are words: text and word disagree
      EXPECT_FALSE(compare(kernel, expected, other).equal);
    }
  }
}

/// A factor for each column is a tensor, which no command carries: that is said, with the reason.
TEST(Words, OutputScaledByATensorIsRefused) {
  const auto loaded = load_hardware(ISAMAP_SOURCE_DIR "/tests/hwdesc/data/gemmini_like.yaml", {});
  ASSERT_TRUE(loaded) << render(loaded.diagnostics());
  const Compiled compiled = compile(original("requantise"), loaded->model);
  EXPECT_FALSE(compiled.program);
  EXPECT_NE(
      compiled.problem.find("nothing maps statement s0 in a way that lowers, and gemmini_like has no scalar unit"),
      std::string::npos)
      << compiled.problem;
  EXPECT_NE(compiled.problem.find("operand scale is an immediate or a state field, and the kernel has a tensor there"),
            std::string::npos)
      << compiled.problem;
}

}  // namespace
}  // namespace isamap::conformance

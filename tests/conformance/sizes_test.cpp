// SPDX-License-Identifier: Apache-2.0
// Machines whose vector length only the machine knows: one file for all lengths, run at each of them and at lengths
// that no version is made for, and compared with the interpreter.

#include <gtest/gtest.h>

#include <algorithm>

#include "isamap/backend.h"
#include "isamap/frontends.h"
#include "isamap/hardware.h"
#include "isamap/program_on_machine.h"
#include "tests/conformance/matrix.h"

namespace isamap::conformance {
namespace {

constexpr std::uint64_t sizes_seed = 11;

/// The model, its programs run where its only symbol has this value.
HardwareModel run_at(HardwareModel model, std::int64_t size) {
  LoadOptions options;
  options.sizes = {{model.symbols().front().name, size}};
  const auto there = load_hardware(model.file, {std::string(ISAMAP_SOURCE_DIR) + "/hardware_models"}, options);
  EXPECT_TRUE(there) << render(there.diagnostics());
  if (there) model.program.run_emulated = there->model.program.run_emulated;
  return model;
}

/// Its versions, and allowed sizes below, between and above them that none is made for.
std::vector<std::int64_t> sizes_to_run(const Symbol& symbol) {
  std::vector<std::int64_t> sizes = symbol.versions;
  for (const std::int64_t version : symbol.versions)
    for (const std::int64_t other : {version - symbol.multiple_of, version + symbol.multiple_of})
      if (allows(symbol, other)) sizes.push_back(other);
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

/// Empty, or what went wrong at the first size where something did. "missing: .." where nothing can run.
std::string difference_at(const Program& program, const HardwareModel& model, const std::vector<std::int64_t>& sizes) {
  std::vector<HardwareModel> machines;
  for (const std::int64_t size : sizes) machines.push_back(run_at(model, size));
  for (const Fill fill : {Fill::integers, Fill::real}) {
    std::vector<TensorData> expected = random_data(program.kernel, fill, sizes_seed);
    const std::vector<TensorData> given = expected;
    interpret(program.kernel, expected);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      std::vector<TensorData> found = given;
      const HardwareModel& there = machines[i];
      const auto outcome = make_runner(there)->run(program, found, RunLimits{}, 0);
      const std::string at = there.symbols().front().name + " = " + std::to_string(sizes[i]) + ": ";
      if (!outcome) return at + render(outcome.diagnostics());
      if (!outcome->missing.empty()) return "missing: " + outcome->missing;
      if (!outcome->limit.empty() || !outcome->environment.empty()) return at + outcome->limit + outcome->environment;
      const Comparison comparison = compare(program.kernel, expected, found);
      if (!comparison.equal) return at + comparison.first_difference;
    }
  }
  return "";
}

// --- a machine in plain C++
// -------------------------------------------------------------------------------------------

HardwareModel lengths() {
  const auto loaded = load_hardware(ISAMAP_SOURCE_DIR "/tests/conformance/models/lengths.yaml", {});
  EXPECT_TRUE(loaded) << render(loaded.diagnostics());
  return loaded ? loaded->model : HardwareModel{};
}

Kernel product(DType type) {
  auto kernel = kernel_from_formula("C[i,j] += A[i,k] * B[k,j]", "i=5,j=29,k=7",
                                    type == DType::f32 ? "A=f32,B=f32,C=f32" : "A=s32,B=s32,C=s32");
  EXPECT_TRUE(kernel) << render(kernel.diagnostics());
  return *kernel;
}

std::string emitted(const Program& program, const HardwareModel& model) {
  const auto files = emit(program, model);
  EXPECT_TRUE(files) << render(files.diagnostics());
  return files ? files->front().text : "";
}

TEST(Lengths, CodeThatIsToldItsExtentsServesLargerMachines) {
  const HardwareModel model = lengths();
  const auto compiled = compile_all_sizes(product(DType::f32), model);
  ASSERT_TRUE(compiled.program) << compiled.problem;
  const std::string text = emitted(*compiled.program, model);
  EXPECT_NE(text.find("  if (VB >= 48) return formula_VB48(A, B, C);\n  if (VB >= 32) return formula_VB32(A, B, C);\n"
                      "  if (VB >= 16) return formula_VB16(A, B, C);\n  formula_any(A, B, C);\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(difference_at(*compiled.program, model, {8, 12, 16, 20, 28, 32, 44, 48, 52, 64}), "");
}

TEST(Lengths, CodeThatTouchesAllLanesServesItsOwnLengthOnly) {
  const HardwareModel model = lengths();
  const auto compiled = compile_all_sizes(product(DType::s32), model);
  ASSERT_TRUE(compiled.program) << compiled.problem;
  const std::string text = emitted(*compiled.program, model);
  EXPECT_NE(text.find("  if (VB == 48) return formula_VB48(A, B, C);\n"), std::string::npos) << text;
  EXPECT_EQ(difference_at(*compiled.program, model, {8, 16, 20, 32, 36, 48, 64}), "");
}

TEST(Lengths, WithoutScalarCodeTheProgramSaysSo) {
  const HardwareModel model = lengths();
  auto compiled = compile(product(DType::s32), model);
  ASSERT_TRUE(compiled.program) << compiled.problem;
  EXPECT_EQ(difference_at(*compiled.program, model, {32}), "");
  const std::string problem = difference_at(*compiled.program, model, {48});
  EXPECT_NE(problem.find("formula: no code for VB = 48"), std::string::npos) << problem;
}

TEST(Lengths, AProgramPrintsTheSizesItIsFor) {
  const HardwareModel model = lengths();
  auto compiled = compile(product(DType::f32), model);
  ASSERT_TRUE(compiled.program) << compiled.problem;
  const std::string text = print(*compiled.program, model);
  EXPECT_NE(text.find("\nsizes\n  VB 32\n"), std::string::npos);
  const auto again = parse_program(text, model);
  ASSERT_TRUE(again) << render(again.diagnostics());
  EXPECT_TRUE(*again == *compiled.program);
}

// --- the models
// -------------------------------------------------------------------------------------------------------

class Sizes : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    model_ = load_model(GetParam());
    const Availability available = availability(model_);
    if (available.how == ExecutionMode::unavailable)
      GTEST_SKIP() << GetParam() << " does not run here: " << available.why;
    if (available.how == ExecutionMode::native)
      GTEST_SKIP() << GetParam() << " runs natively here, at the length of this machine";
    ASSERT_EQ(model_.symbols().size(), 1u);
  }

  void take(const std::optional<Variant>& variant) {
    if (!variant) return;
    const Compiled compiled = compile_all_sizes(variant->kernel, model_);
    SCOPED_TRACE(model_.name + " x " + variant->label);
    ASSERT_TRUE(compiled.program && compiled.problem.empty()) << compiled.problem;
    for (const Program& version : compiled.program->versions)
      for (const HardwareModel& machine : model_.versions())
        if (machine.sizes() == version.sizes) {
          EXPECT_EQ(render(verify(version, machine)), "");
          EXPECT_EQ(interpreted_difference(version, machine, Fill::integers, sizes_seed), "") << print(version.sizes);
        }
    const std::string problem = difference_at(*compiled.program, model_, sizes_to_run(model_.symbols().front()));
    if (problem.starts_with("missing: ")) {
      not_run_ = variant->label + ": " + problem.substr(9);
      return;
    }
    EXPECT_EQ(problem, "");
    ++ran_;
  }

  /// What this machine does not execute is said, after all else has been run.
  void TearDown() override {
    if (!not_run_.empty() && !HasFailure()) GTEST_SKIP() << not_run_ << "; " << ran_ << " other kernels were run";
  }

  HardwareModel model_;
  int ran_ = 0;
  std::string not_run_;
};

TEST_P(Sizes, ProductsAtEveryLength) {
  for (const char* example : {"gemm", "gemm_bf16", "gemm_u8s8s32"})  // the others by HeavySizes, with all examples
    take(odd(example));
  EXPECT_GT(ran_, 0);
}

class HeavySizes : public Sizes {};

TEST_P(HeavySizes, EveryExampleAtEveryLength) {
  for (const std::string& example : example_names()) {
    take(odd(example));
    take(small(example, 100000));
  }
}

TEST_P(HeavySizes, SizesOfOneAndZero) {
  for (const char* example : {"gemm", "gemm_u8s8s32", "conv2d", "attention"}) {
    take(ones(example));
    for (const Variant& variant : zeros(example)) take(variant);
  }
}

INSTANTIATE_TEST_SUITE_P(Model, Sizes, testing::ValuesIn(scaled_model_names()), model_of_case);
INSTANTIATE_TEST_SUITE_P(Model, HeavySizes, testing::ValuesIn(scaled_model_names()), model_of_case);

}  // namespace
}  // namespace isamap::conformance

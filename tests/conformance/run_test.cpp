// Every model of fixed sizes that this machine can execute x every example: emitted, compiled, run, and compared with
// the interpreter. Those whose sizes the machine decides: sizes_test.cpp.

#include <gtest/gtest.h>

#include "backends/backend.h"
#include "tests/conformance/features.h"
#include "tests/conformance/matrix.h"

namespace isamap::conformance {
namespace {

constexpr std::uint64_t run_seed = 7;

class Execution : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    model_ = load_model(GetParam());
    const Availability available = availability(model_);
    if (available.how == "unavailable") GTEST_SKIP() << GetParam() << " does not run here: " << available.why;
    runner_ = make_runner(model_);
  }

  void take(const std::optional<Variant>& variant) {
    if (!variant) return;
    const Compiled compiled = compile(variant->kernel, model_);
    if (compiled.program) execute(*variant, compiled);  // what has none is judged by the suite Conformance
  }

  void execute(const Variant& variant, const Compiled& compiled) {
    SCOPED_TRACE(model_.name + " x " + variant.label);
    for (const Fill fill : {Fill::integers, Fill::real}) {
      std::vector<TensorData> expected = random_data(variant.kernel, fill, run_seed), found = expected;
      const auto outcome = runner_->run(*compiled.program, found, RunLimits{}, 0);
      if (!outcome) {
        ADD_FAILURE() << render(outcome.diagnostics());
        return;
      }
      if (!outcome->missing.empty()) GTEST_SKIP() << outcome->missing;
      ASSERT_EQ(outcome->limit + outcome->environment, "");
      interpret(variant.kernel, expected);
      const Comparison comparison = compare(variant.kernel, expected, found);
      EXPECT_TRUE(comparison.equal) << comparison.first_difference << "\n" << print(compiled.scheduled->schedule);
    }
  }

  HardwareModel model_;
  std::unique_ptr<Runner> runner_;
};

/// Compiling takes most of the time, so an example is left to HeavyExecution when all that its program is made of has
/// stood in the program of an example before it.
TEST_P(Execution, SizesThatDoNotDivide) {
  std::set<std::string> executed;
  for (const std::string& example : example_names()) {
    const auto variant = odd(example);
    if (!variant) continue;
    const Compiled compiled = compile(variant->kernel, model_);
    if (!compiled.program) continue;
    const std::size_t before = executed.size();
    executed.merge(features(*compiled.program, model_));
    if (executed.size() > before) execute(*variant, compiled);
  }
}

/// Its packed input is indexed backwards (u - r): a pointer that left its array for a moment gave wrong results.
TEST_P(Execution, AnEmptyTransposedConvolution) {
  for (const Variant& variant : zeros("conv2d_transposed"))
    if (variant.label.ends_with(" H=0")) take(variant);
}

class HeavyExecution : public Execution {};

TEST_P(HeavyExecution, SizesThatDoNotDivide) {
  for (const std::string& example : example_names()) take(odd(example));
}

TEST_P(HeavyExecution, SmallSizes) {
  for (const std::string& example : example_names()) take(small(example, 1000000));
}

TEST_P(HeavyExecution, SizesOfOneAndZero) {
  for (const std::string& example : example_names()) {
    take(ones(example));
    for (const Variant& variant : zeros(example)) take(variant);
  }
}

INSTANTIATE_TEST_SUITE_P(Model, Execution, testing::ValuesIn(fixed_model_names()), model_of_case);
INSTANTIATE_TEST_SUITE_P(Model, HeavyExecution, testing::ValuesIn(fixed_model_names()), model_of_case);

}  // namespace
}  // namespace isamap::conformance

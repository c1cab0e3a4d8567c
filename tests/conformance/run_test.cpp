// SPDX-License-Identifier: Apache-2.0
// Every model of fixed sizes that this machine can execute x every example: emitted, compiled, run, and compared with
// the interpreter; kernels of a GPU on whole numbers once for each way in which their copies may arrive. Those whose
// sizes the machine decides: sizes_test.cpp.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>

#include "isamap/backend.h"
#include "isamap/frontends.h"
#include "tests/conformance/features.h"
#include "tests/conformance/matrix.h"
#include "tests/delivery.h"
#include "tests/every.h"

namespace isamap::conformance {
namespace {

constexpr std::uint64_t run_seed = 7;

/// No number, intermediate ones included, has a fraction: no order of additions rounds.
bool whole(const std::vector<TensorData>& data) {
  for (const TensorData& tensor : data)
    for (std::int64_t i = 0; i < tensor.count(); ++i)
      if (is_float(tensor.dtype) && tensor.get(i).real != std::floor(tensor.get(i).real)) return false;
  return true;
}

const std::string executed_file = ISAMAP_SOURCE_DIR "/tests/conformance/executed.txt";

/// Of the lines `MODEL EXAMPLE` of executed.txt those of a model.
std::vector<std::string> listed_examples(const std::string& model) {
  std::vector<std::string> examples;
  std::ifstream file(executed_file);
  for (std::string name, example; file >> name >> example;)
    if (name == model) examples.push_back(example);
  return examples;
}

using Features = std::map<std::string, std::set<std::string>>;  ///< of examples at sizes that do not divide

const Features& features_of_examples(const std::string& model) {
  static std::map<std::string, Features> known;
  const auto [found, is_new] = known.try_emplace(model);
  if (!is_new) return found->second;
  const HardwareModel machine = load_model(model);
  for (const std::string& example : example_names())
    if (const auto variant = odd(example))
      if (const Compiled compiled = compile(variant->kernel, machine); compiled.program)
        found->second[example] = features(*compiled.program, machine);
  return found->second;
}

constexpr std::size_t most_listed = 3, most_executed = 2;

std::vector<std::string> chosen_examples(const std::string& model);

/// Features of the examples that are executed on models that this one extends.
std::set<std::string> features_executed_below(const std::string& model) {
  std::set<std::string> executed;
  for (const std::string& base : extended_models(model)) {
    executed.merge(features_executed_below(base));
    std::vector<std::string> examples = chosen_examples(base);
    if (examples.size() > most_executed) examples.resize(most_executed);
    for (const std::string& example : examples) {
      const auto& made_of = features_of_examples(base).at(example);
      executed.insert(made_of.begin(), made_of.end());
    }
  }
  return executed;
}

/// The examples with the most features that neither those before them have nor those executed on models that this one
/// extends; at least one.
std::vector<std::string> chosen_examples(const std::string& model) {
  std::set<std::string> executed = features_executed_below(model);
  Features left = features_of_examples(model);
  std::vector<std::string> examples;
  while (examples.size() < most_listed && !left.empty()) {
    const auto unseen = [&](const auto& one) {
      return std::count_if(one.second.begin(), one.second.end(),
                           [&](const std::string& feature) { return !executed.contains(feature); });
    };
    const auto next =
        std::max_element(left.begin(), left.end(), [&](const auto& a, const auto& b) { return unseen(a) < unseen(b); });
    if (unseen(*next) == 0 && !examples.empty()) break;
    examples.push_back(next->first);
    executed.merge(next->second);
    left.erase(next);
  }
  return examples;
}

class Execution : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    model_ = load_model(GetParam());
    const Availability available = availability(model_);
    if (available.how == ExecutionMode::unavailable)
      GTEST_SKIP() << GetParam() << " does not run here: " << available.why;
    runner_ = make_runner(model_);
    if (model_.program.language == "cuda") deliveries_ = {"late", "eager", "random:7"};
    if (deliveries_.empty() || available.how == ExecutionMode::native)
      deliveries_.insert(deliveries_.begin(), as_it_is);
  }

  void take(const std::optional<Variant>& variant) {
    if (!variant) return;
    const Compiled compiled = compile(variant->kernel, model_);
    if (compiled.program) execute(*variant, compiled);  // what has none is judged by the suite Conformance
  }

  void execute(const Variant& variant, const Compiled& compiled) {
    SCOPED_TRACE(model_.name + " x " + variant.label);
    for (const Fill fill : {Fill::integers, Fill::real}) {
      const std::vector<TensorData> given = random_data(variant.kernel, fill, run_seed);
      std::vector<TensorData> expected = given;
      interpret(variant.kernel, expected);
      const bool exact = whole(expected);
      for (const std::string& how : deliveries_) {
        SCOPED_TRACE(how);
        const Delivered delivered(how);
        std::vector<TensorData> found = given;
        const auto outcome = runner_->run(*compiled.program, found, RunLimits{}, 0);
        if (!outcome) {
          ADD_FAILURE() << render(outcome.diagnostics());
          continue;
        }
        if (!outcome->missing.empty()) GTEST_SKIP() << outcome->missing;
        ASSERT_EQ(outcome->limit + outcome->environment, "");
        const Comparison comparison = compare(variant.kernel, expected, found);
        EXPECT_TRUE(comparison.equal) << comparison.first_difference << "\n" << print(compiled.scheduled->schedule);
        EXPECT_TRUE(!exact || comparison.max_error == 0) << "not bit for bit";
        if (fill == Fill::real) break;  // sums of whole numbers are exact; those of real ones say no more of a delivery
      }
    }
  }

  /// Every second element of a row, where a machine has loads that pick them: from the first to the last, none beyond.
  void take_windows_of_stride_two(std::initializer_list<int> sizes) {
    for (const int size : sizes) {
      const auto kernel = parse_kernel_yaml(
          fmt::format("kernel: strided\ndims: {{C: 3, P: {}, R: 3}}\ntensors:\n  I: {{shape: [C, 2*P + 1, 2*P + 1]}}\n"
                      "  F: {{shape: [C, R, R]}}\n  O: {{shape: [C, P, P]}}\ncompute:\n"
                      "  - O[c,p,q] += I[c,2*p+r,2*q+s] * F[c,r,s]\n",
                      size),
          "strided.yaml");
      ASSERT_TRUE(kernel) << render(kernel.diagnostics());
      take(Variant{fmt::format("windows of stride 2, {}", size), *kernel});
    }
  }

  static constexpr const char* as_it_is = "";  ///< on a GPU, where one is
  HardwareModel model_;
  std::unique_ptr<Runner> runner_;
  std::vector<std::string> deliveries_;
};

/// Compiling and searching take most of the time, so few examples of a model are executed: those of executed.txt, whose
/// programs are made of most that the ones before have not, nor those of models that it extends, and of them the first
/// two. HeavyExecution executes all, and looks for them anew.
TEST_P(Execution, SizesThatDoNotDivide) {
  std::vector<std::string> examples = listed_examples(GetParam());
  if (examples.size() > most_executed) examples.resize(most_executed);
  EXPECT_FALSE(examples.empty()) << "ISAMAP_UPDATE_GOLDEN=1 test_conformance --gtest_filter=*ExecutedFile* lists some";
  for (const std::string& example : examples) take(odd(example));
}

/// What every third model is enough for; HeavyExecution takes all of them.
class ExecutionOfAThird : public Execution {
 public:
  static std::vector<std::string> models() {
    std::vector<std::string> third;
    Every every(3);
    for (const std::string& name : fixed_model_names())
      if (!every.skips()) third.push_back(name);
    return third;
  }
};

/// Its packed input is indexed backwards (u - r): a pointer that left its array for a moment gave wrong results.
TEST_P(ExecutionOfAThird, AnEmptyTransposedConvolution) {
  for (const Variant& variant : zeros("conv2d_transposed"))
    if (variant.label.ends_with(" H=0")) take(variant);
}

TEST_P(ExecutionOfAThird, WindowsOfStrideTwoAlongRows) { take_windows_of_stride_two({7}); }

/// Are copies under way while it goes on?
bool asks_ahead(const std::vector<Node>& nodes) {
  return std::any_of(nodes.begin(), nodes.end(), [](const Node& node) {
    if (const auto* loop = std::get_if<Loop>(&node.is)) return asks_ahead(loop->body);
    if (const auto* guard = std::get_if<Guard>(&node.is))
      return asks_ahead(guard->then) || asks_ahead(guard->otherwise);
    const auto* sync = std::get_if<Sync>(&node.is);
    return sync != nullptr && sync->step == Sync::Step::wait && (sync->pending > 0 || sync->counter.buffer.valid());
  });
}

/// Odd sizes above leave copies nothing to take, since rows of 17 numbers begin anywhere, and short sums one step.
class Deliveries : public Execution {
 protected:
  void take_prefetched(int most) {
    std::set<std::string> executed;
    int ahead = 0;
    for (const std::string& example : example_names())
      for (const Variant& variant : elongated(example)) {
        if (ahead == most) return;
        const Compiled compiled = compile(variant.kernel, model_, true);
        if (!compiled.program || !asks_ahead(compiled.program->body)) continue;
        const std::size_t before = executed.size();
        executed.merge(features(*compiled.program, model_));
        if (executed.size() == before) continue;
        execute(variant, compiled);
        ++ahead;
      }
    EXPECT_GE(ahead, 2);
  }
};

TEST_P(Deliveries, OfCopiesThatArePrefetched) { take_prefetched(2); }

class HeavyDeliveries : public Deliveries {};

TEST_P(HeavyDeliveries, OfAllCopiesThatArePrefetched) { take_prefetched(1000); }

class HeavyExecution : public Execution {};

TEST_P(HeavyExecution, SizesThatDoNotDivide) {
  for (const std::string& example : example_names()) take(odd(example));
}

TEST_P(HeavyExecution, WindowsOfStrideTwoAlongRows) { take_windows_of_stride_two({1, 7, 16, 23}); }

TEST_P(HeavyExecution, SmallSizes) {
  for (const std::string& example : example_names()) take(small(example, 1000000));
}

TEST_P(HeavyExecution, SizesOfOneAndZero) {
  for (const std::string& example : example_names()) {
    take(ones(example));
    for (const Variant& variant : zeros(example)) take(variant);
  }
}

/// With ISAMAP_UPDATE_GOLDEN=1 the list is written anew.
TEST(ExecutedFile, Written) {
  const char* asked = std::getenv("ISAMAP_UPDATE_GOLDEN");
  if (asked == nullptr || std::string(asked) != "1") {
    EXPECT_TRUE(std::ifstream(executed_file).good()) << "ISAMAP_UPDATE_GOLDEN=1 writes " << executed_file;
    return;
  }
  std::ofstream file(executed_file);
  for (const std::string& name : fixed_model_names())
    for (const std::string& example : chosen_examples(name)) file << name << " " << example << "\n";
}

TEST_P(HeavyExecution, ListedExamplesAreMadeOfMost) {
  EXPECT_EQ(listed_examples(GetParam()), chosen_examples(GetParam()))
      << "ISAMAP_UPDATE_GOLDEN=1 test_conformance --gtest_filter=*ExecutedFile* renews " << executed_file;
}

INSTANTIATE_TEST_SUITE_P(Model, Execution, testing::ValuesIn(fixed_model_names()), model_of_case);
INSTANTIATE_TEST_SUITE_P(Model, ExecutionOfAThird, testing::ValuesIn(ExecutionOfAThird::models()), model_of_case);
INSTANTIATE_TEST_SUITE_P(Model, Deliveries, testing::ValuesIn(kernel_model_names()), model_of_case);
INSTANTIATE_TEST_SUITE_P(Model, HeavyDeliveries, testing::ValuesIn(kernel_model_names()), model_of_case);
INSTANTIATE_TEST_SUITE_P(Model, HeavyExecution, testing::ValuesIn(fixed_model_names()), model_of_case);

}  // namespace
}  // namespace isamap::conformance

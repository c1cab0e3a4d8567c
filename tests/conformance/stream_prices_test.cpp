// SPDX-License-Identifier: Apache-2.0
// Random kernels on every machine of command streams: what a schedule is said to take is what its program takes.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "hwdesc/model/timing_choice.h"
#include "isamap/backend.h"
#include "isamap/compile.h"
#include "isamap/frontends.h"
#include "tests/conformance/matrix.h"

namespace isamap::conformance {
namespace {

struct Formula {
  std::string compute, dims;
  bool product = true;  ///< C += A * B; else a convolution O += I * F
};

class RandomShapes {
 public:
  explicit RandomShapes(std::uint64_t seed) : bits_(seed) {}

  bool one_of(int n) { return from(1, n) == 1; }

  Formula next() {
    switch (from(0, 6)) {
      case 0:
        return product({"C[i,j] += A[i,k] * B[k,j]", "C[i,j] += A[i,k] * B[j,k]", "C[i,j] += A[k,i] * B[k,j]"});
      case 1:
        return {"C[b,i,j] += A[b,i,k] * B[b,k,j]",
                sizes({{"b", from(1, 5)}, {"i", size(64)}, {"j", size(64)}, {"k", size(64)}})};
      case 2:
        return {"C[i] += A[i,k] * B[k]", sizes({{"i", size(160)}, {"k", size(200)}})};
      case 3:
        return convolution("O[k,p,q] += I[c,p+r,q+s] * F[k,c,r,s]", true);
      case 4:
        return convolution("O[p,q,k] += I[p+r,q+s,c] * F[r,s,c,k]", true);
      case 5:
        return convolution("O[k,p,q] += I[c,2*p+r,2*q+s] * F[k,c,r,s]", true);
      default:
        return convolution("O[c,p,q] += I[c,p+r,q+s] * F[c,r,s]", false);
    }
  }

 private:
  int from(int low, int high) { return low + static_cast<int>(bits_() % static_cast<std::uint64_t>(high - low + 1)); }
  /// Often a multiple of 16 or a short one.
  int size(int most) {
    const int kind = from(0, 3);
    return kind == 0 ? 16 * from(1, std::max(1, most / 16)) : from(1, kind == 1 ? std::min(most, 24) : most);
  }
  static std::string sizes(std::initializer_list<std::pair<const char*, int>> dims) {
    std::string text;
    for (const auto& [name, extent] : dims)
      text += (text.empty() ? "" : ",") + std::string(name) + "=" + std::to_string(extent);
    return text;
  }
  Formula product(const std::vector<std::string>& forms) {
    const std::string& form = forms[static_cast<std::size_t>(from(0, static_cast<int>(forms.size()) - 1))];
    return {form, sizes({{"i", size(160)}, {"j", size(160)}, {"k", size(200)}})};
  }
  Formula convolution(const std::string& form, bool over_outputs) {
    const int p = from(1, 14), q = from(1, 14), r = from(1, 3), s = from(1, 3);
    const std::string dims = sizes({{"c", size(48)}, {"p", p}, {"q", q}, {"r", r}, {"s", s}});
    return {form, over_outputs ? dims + "," + sizes({{"k", size(64)}}) : dims, false};
  }

  std::mt19937_64 bits_;
};

constexpr double least_compared = 500;  // below, single latencies decide

/// How far apart predictions and programs of a machine are.
struct Differences {
  int compared = 0, beyond_5 = 0;
};

void compare_one(const HardwareModel& model, Runner& runner, std::uint64_t seed, Differences& found) {
  RandomShapes random(seed);
  const Formula formula = random.next();
  const bool floats = model.name == "outer16" || (model.name == "dot16" && random.one_of(3));
  const std::string in = floats ? "f32" : "s8", out = floats ? "f32" : "s32";
  const auto kernel = kernel_from_formula(
      formula.compute, formula.dims,
      formula.product ? "A=" + in + ",B=" + in + ",C=" + out : "I=" + in + ",F=" + in + ",O=" + out);
  ASSERT_TRUE(kernel) << render(kernel.diagnostics());
  SCOPED_TRACE(model.name + ": " + formula.compute + " over " + formula.dims);
  const auto mapped = enumerate_mappings(*kernel, model, MapOptions{});
  ASSERT_TRUE(mapped) << render(mapped.diagnostics());
  ScheduleOptions options;
  options.objective = Objective::cycles;
  options.max_evaluations = 200;
  const auto scheduled = schedule(*kernel, *mapped, model, options);
  ASSERT_TRUE(scheduled) << render(scheduled.diagnostics());
  const auto program = lower(scheduled->schedule, *kernel, model);
  ASSERT_TRUE(program) << render(program.diagnostics());
  auto data = random_data(*kernel, Fill::integers, 7), expected = data;
  const auto outcome = runner.run(*program, data, RunLimits{}, 0);
  ASSERT_TRUE(outcome) << render(outcome.diagnostics());
  interpret(*kernel, expected);
  EXPECT_TRUE(compare(*kernel, expected, data).equal);
  const Cost& cost = scheduled->cost;
  const auto again = evaluate(scheduled->schedule, *kernel, model, make_cost_model_closed_form);
  ASSERT_TRUE(again) << render(again.diagnostics());
  EXPECT_EQ(again->total.cycles, cost.cycles) << "evaluate says what schedule said";
  if (!scheduled->mappings.front().instruction.valid())
    return;  // scalar code, which begins sums with a loop of its own
  EXPECT_NEAR(cost.scalar_cycles, outcome->scalar_cycles, 0.02 * outcome->scalar_cycles + 1);
  const double predicted = cost.cycles - cost.scalar_cycles, taken = static_cast<double>(outcome->cycles);
  if (std::max(predicted, taken) < least_compared) return;
  ++found.compared;
  const double apart = std::max(predicted, taken) / std::max(1.0, std::min(predicted, taken));
  if (apart > 1.05) ++found.beyond_5;
  EXPECT_LT(apart, 1.15) << "predicted " << predicted << ", executed " << taken << "\n" << print(scheduled->schedule);
}

void expect_prices(const std::string& name, int kernels) {
  const HardwareModel model = load_model(name);
  if (!executes_a_stream(model)) GTEST_SKIP() << name << " executes no stream of commands";
  const auto runner = make_runner(model);
  Differences found;
  for (int n = 0; n < kernels; ++n) compare_one(model, *runner, static_cast<std::uint64_t>(n) * 1000003 + 1, found);
  EXPECT_LE(found.beyond_5, 1 + found.compared / 20) << "of " << found.compared;
}

class StreamPrices : public testing::TestWithParam<std::string> {};
TEST_P(StreamPrices, AreWhatProgramsTake) { expect_prices(GetParam(), 4); }

class HeavyStreamPrices : public testing::TestWithParam<std::string> {};
TEST_P(HeavyStreamPrices, AreWhatProgramsTake) { expect_prices(GetParam(), 60); }

INSTANTIATE_TEST_SUITE_P(Model, StreamPrices, testing::ValuesIn(accelerator_names()), model_of_case);
INSTANTIATE_TEST_SUITE_P(Model, HeavyStreamPrices, testing::ValuesIn(accelerator_names()), model_of_case);

}  // namespace
}  // namespace isamap::conformance

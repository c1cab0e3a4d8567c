// SPDX-License-Identifier: Apache-2.0
#include "bench/cpu/comparisons.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "bench/cpu/arrays.h"
#include "bench/cpu/measure.h"
#include "bench/cpu/ours.h"
#include "bench/cpu/record.h"
#include "isamap/frontends.h"
#include "isamap/scheduler.h"

namespace isamap::bench {
namespace {

constexpr std::size_t candidates_of_a_shape = 8;

Candidate candidate(const std::string& name, LoadedKernel& loaded, std::vector<TensorView> views) {
  return {name, [&loaded, views = std::move(views)] {
            if (const auto problem = loaded.call(views)) stop(render({*problem}));
          }};
}

/// Median of the even or odd rounds.
double median_of_half(const Candidate& candidate, std::size_t half) {
  std::vector<double> values;
  for (std::size_t i = half; i < candidate.seconds.size(); i += 2) values.push_back(candidate.seconds[i]);
  return median(values);
}

std::vector<CpuCase> named(const std::vector<std::pair<std::string, std::string>>& wanted) {
  std::vector<CpuCase> found;
  for (const CpuCase& c : cpu_cases())
    for (const auto& [family, shape] : wanted)
      if (c.family == family && c.name == shape) found.push_back(c);
  return found;
}

}  // namespace

nlohmann::json to_json(const Comparison& c) {
  return {{"part", c.part},        {"shape", c.shape},         {"seconds", c.seconds},
          {"other", c.other_name}, {"other_seconds", c.other}, {"ratio", c.ratio()},
          {"right", c.right},      {"schedule", c.schedule},   {"other_schedule", c.other_schedule}};
}

Comparison comparison_of(const nlohmann::json& line) {
  return {line.at("part"),  line.at("shape"), line.at("seconds"),  line.at("other_seconds"),
          line.at("other"), line.at("right"), line.at("schedule"), line.at("other_schedule")};
}

std::string line_text(const Comparison& c) {
  return fmt::format("{:22} {:34} {:>10}, {}: {:>10}  ratio {:.2f}{}", c.part, c.shape, time_text(c.seconds),
                     c.other_name, time_text(c.other), c.ratio(), c.right ? "" : "  RESULTS DIFFER");
}

std::string summary_text(const std::string& part, const std::vector<Comparison>& all) {
  double sum = 0;
  int count = 0;
  const Comparison* worst = nullptr;
  for (const Comparison& c : all) {
    if (c.part != part || c.ratio() <= 0) continue;
    sum += std::log(c.ratio()), ++count;
    if (worst == nullptr || c.ratio() < worst->ratio()) worst = &c;
  }
  if (worst == nullptr) return "";
  const std::string found = fmt::format("{:22} {:2} shapes, geomean {:.2f}, worst {:.2f} ({})", part, count,
                                        std::exp(sum / count), worst->ratio(), worst->shape);
  if (part == choice_part) return found + "; time of the best measured candidate over that of the choice, wanted: 0.95";
  return found + "; wall time of one thread over that of two, wanted: 1.9";
}

Comparison compare_choice(const CpuCase& c, double seconds) {
  Comparison result;
  result.part = choice_part, result.shape = c.family + " " + c.name;
  const auto models = models_for(c.types);
  if (models.empty()) return result;
  const std::vector<Seen> seen = candidates_of(c, models.front(), candidates_of_a_shape);
  CaseData data(c);
  const Kernel kernel = value_or_stop(parse_kernel_yaml(c.kernel, c.name));
  std::vector<LoadedKernel> loaded;
  std::vector<double> predicted;
  std::vector<std::string> schedules;
  loaded.reserve(seen.size());
  for (const Seen& one : seen) {
    const auto program = lower(one.schedule, kernel, models.front());
    if (!program) continue;
    if (auto made = load_program(*program, models.front())) {
      loaded.push_back(std::move(*made));
      predicted.push_back(one.predicted);
      schedules.push_back(print(one.schedule));
    }
  }
  std::vector<Candidate> candidates;
  for (LoadedKernel& one : loaded) candidates.push_back(candidate("", one, data.views(data.more())));
  measure(candidates, seconds);
  std::size_t best = 0;
  for (std::size_t i = 1; i < candidates.size(); ++i)
    if (median_of_half(candidates[i], 0) < median_of_half(candidates[best], 0)) best = i;
  result.seconds = median_of_half(candidates[0], 1), result.other = median_of_half(candidates[best], 1);
  result.other_name = best == 0 ? fmt::format("best of {}", candidates.size())
                                : fmt::format("best of {} predicted {:.2f} times as long", candidates.size(),
                                              predicted[best] / predicted[0]);
  if (best != 0) result.schedule = schedules[0], result.other_schedule = schedules[best];
  result.right = data.worst_difference() <= tolerance(c);
  return result;
}

std::vector<CpuCase> choice_cases() {
  return named({{"gemm f32", "16x3072x1024"},
                {"gemm f32", "64x2048x2048"},
                {"gemm f32", "700x1024x512"},
                {"gemm f32", "1021x699x511"},
                {"gemm f32 packed", "32x1760x1760"},
                {"gemm f32 packed", "197x768x768"},
                {"gemm bf16 packed", "700x1024x512"},
                {"gemm bf16 packed", "197x768x768"},
                {"gemm u8s8 packed", "700x1024x512"},
                {"gemm f32 NT", "700x1024x512"},
                {"convolution", "56x56x64 3x3/1 -> 64"},
                {"convolution", "14x14x256 3x3/1 -> 256"},
                {"depthwise", "56x56x128 3x3/1"},
                {"depthwise", "14x14x512 3x3/1"}});
}

Comparison compare_threads(const CpuCase& c, double seconds) {
  Comparison result;
  result.part = threads_part, result.shape = c.family + " " + c.name, result.other_name = "one thread";
  auto one = ours(c), two = ours(c, 2);
  if (!one || !two) return result;
  CaseData data(c);
  std::vector<Candidate> candidates{candidate("one", one->loaded, data.views(data.more())),
                                    candidate("two", two->loaded, data.views(data.more()))};
  const auto now = [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
  const double begin = now();
  double least[2] = {HUGE_VAL, HUGE_VAL};
  for (int round = 0; round < 200 && (round < 10 || now() - begin < seconds); ++round)
    for (std::size_t i = 0; i < 2; ++i) {
      const double t0 = now();
      candidates[i].run();
      if (round > 0) least[i] = std::min(least[i], now() - t0);
    }
  result.other = least[0], result.seconds = least[1];
  result.right = data.worst_difference() <= tolerance(c);
  return result;
}

std::vector<CpuCase> thread_cases() {
  std::vector<CpuCase> cases = named({{"gemm f32 packed", "1500x512x2816"},
                                      {"gemm f32 packed", "1024x1024x1024"},
                                      {"gemm f32", "1024x1024x1024"},
                                      {"gemm bf16 packed", "1024x1024x1024"},
                                      {"convolution", "56x56x64 3x3/1 -> 64"},
                                      {"convolution", "14x14x256 3x3/1 -> 256"}});
  cases.push_back(product("f32", true, 2048, 2048, 2048));
  return cases;
}

}  // namespace isamap::bench

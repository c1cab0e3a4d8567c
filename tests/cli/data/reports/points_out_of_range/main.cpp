// SPDX-License-Identifier: Apache-2.0
// Strategies and cost models that go wrong: `um HARDWARE.yaml KERNEL.yaml KIND`.
#include <cmath>
#include <cstdio>
#include <limits>
#include <stdexcept>
#include <string>

#include "isamap/frontends.h"
#include "isamap/hardware.h"
#include "isamap/scheduler.h"

using namespace isamap;

struct Strategy : SearchStrategy {
  const SearchSpace& space;
  std::string kind;
  int& told;
  std::uint64_t n = 0;
  Strategy(const SearchSpace& s, std::string k, int& t) : space(s), kind(std::move(k)), told(t) {}
  std::optional<Point> next() override {
    if (++n > 50 || kind == "none") return {};
    Point p = space.random(n);
    if (kind == "out_of_range")
      for (auto& c : p.choice) c = 1000000;
    if (kind == "negative")
      for (auto& c : p.choice) c = -5;
    if (kind == "short") p.choice.resize(1);
    if (kind == "long") p.choice.resize(100, 3);
    if (kind == "empty") p.choice.clear();
    if (kind == "same") return space.first();
    if (kind == "throw" && n == 5) throw std::runtime_error("from strategy");
    return p;
  }
  void report(const Point&, std::optional<double>) override { ++told; }
};

struct Costs : CostModel {
  std::string kind;
  std::unique_ptr<CostModel> closed_form = make_cost_model_closed_form();
  Result<Cost> estimate(const Candidate& candidate) override {
    auto cost = closed_form->estimate(candidate);
    if (!cost) return cost;
    if (kind == "nan") cost->cycles = NAN;
    if (kind == "inf") cost->cycles = INFINITY;
    if (kind == "neg") cost->cycles = -cost->cycles;
    if (kind == "mthrow") throw std::runtime_error("from cost model");
    return cost;
  }
};

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  auto hardware = load_hardware(argv[1], {});
  auto kernel = load_kernel(argv[2]);
  if (!hardware || !kernel) return 1;
  auto mapped = enumerate_mappings(*kernel, hardware->model, {});
  const std::string kind = argv[3];
  int told = 0;
  ScheduleOptions options;
  options.objective = Objective::cycles;
  options.user_strategy = [&](const SearchSpace& space) { return std::make_unique<Strategy>(space, kind, told); };
  options.costs = [&] {
    auto costs = std::make_unique<Costs>();
    costs->kind = kind;
    return costs;
  };
  std::printf("%s: ", kind.c_str());
  try {
    auto found = schedule(*kernel, *mapped, hardware->model, options);
    if (!found)
      std::printf("refused: %s\n", render(found.diagnostics()).substr(0, 300).c_str());
    else
      std::printf("best %g, %lld evaluations, told %d\n", found->cost.cycles,
                  static_cast<long long>(found->evaluations), told);
  } catch (const std::exception& e) {
    std::printf("exception: %s\n", e.what());
  }
}

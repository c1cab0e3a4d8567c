// SPDX-License-Identifier: Apache-2.0
// isamap as a library: a machine, a kernel, its mappings, a search strategy and a cost model of one's own.
#include <cstdio>
#include <memory>

#include "isamap/frontends.h"
#include "isamap/hardware.h"
#include "isamap/scheduler.h"

/// Sixty legal or illegal points at random; whoever asks keeps the best legal one.
class Lottery final : public isamap::SearchStrategy {
 public:
  Lottery(const isamap::SearchSpace& space, int& legal) : space_(space), legal_(legal) {}
  std::optional<isamap::Point> next() override {
    if (asked_ == 60) return std::nullopt;
    return asked_++ == 0 ? space_.first() : space_.random(asked_);
  }
  void report(const isamap::Point&, std::optional<double> cost) override { legal_ += cost.has_value(); }

 private:
  const isamap::SearchSpace& space_;
  int& legal_;
  std::uint64_t asked_ = 0;
};

/// The closed form, and a tenth more for everything that a scalar unit executes.
class DearScalars final : public isamap::CostModel {
 public:
  isamap::Result<isamap::Cost> estimate(const isamap::Candidate& candidate) override {
    auto cost = closed_form_->estimate(candidate);
    if (cost) cost->cycles += cost->scalar_cycles / 10;
    return cost;
  }

 private:
  std::unique_ptr<isamap::CostModel> closed_form_ = isamap::make_cost_model_closed_form();
};

int main(int argc, char** argv) {
  if (argc != 3) return std::fputs("usage: library_example HARDWARE.yaml KERNEL.yaml\n", stderr), 2;
  auto hardware = isamap::load_hardware(argv[1], {});
  auto kernel = isamap::load_kernel(argv[2]);
  if (!hardware || !kernel)
    return std::fputs((render(hardware.diagnostics()) + render(kernel.diagnostics())).c_str(), stderr), 1;
  auto mapped = isamap::enumerate_mappings(*kernel, hardware->model, {});
  if (!mapped) return std::fputs(render(mapped.diagnostics()).c_str(), stderr), 1;
  int legal = 0, spaces = 0;
  isamap::ScheduleOptions options;
  options.objective = isamap::Objective::cycles;
  // Called once for each space that is searched: of each statement that something maps.
  options.user_strategy = [&](const isamap::SearchSpace& space) {
    ++spaces;
    return std::make_unique<Lottery>(space, legal);
  };
  options.costs = [](const isamap::SearchSpace&) { return std::make_unique<DearScalars>(); };
  options.progress = [](std::int64_t evaluations, double) { return evaluations < 1'000'000; };  // false ends the search
  auto found = isamap::schedule(*kernel, *mapped, hardware->model, options);
  if (!found) return std::fputs(render(found.diagnostics()).c_str(), stderr), 3;
  std::printf("%zu mappings; %d spaces; %lld evaluations, %d legal; best: %.0f cycles\n%s", mapped->mappings.size(),
              spaces, static_cast<long long>(found->evaluations), legal, found->cost.cycles,
              print(found->schedule).c_str());
}

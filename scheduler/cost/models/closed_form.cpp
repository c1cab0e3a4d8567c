// SPDX-License-Identifier: Apache-2.0
// The closed form: energy and cycles from access counts (scheduler/cost/access_counts.h, docs/cost.md).
//
// cycles = max(compute, links, memories) on machines whose moves have no timing: perfect overlap. Thread blocks
// (thread_block_model.h), distributed scalar code (parallel_scalar_model.h) and command streams
// (command_stream_model.h) have models of their own. Where moves take issue slots, a share of the other bounds and the
// exposed terms of time_bounds.h and packing_time.h are added.

#include <fmt/format.h>

#include <cmath>

#include "isamap/cost_model.h"
#include "scheduler/cost/command_stream_model.h"
#include "scheduler/cost/hierarchy/evaluate.h"
#include "scheduler/cost/packing_time.h"
#include "scheduler/cost/parallel_scalar_model.h"
#include "scheduler/cost/priced_nest.h"
#include "scheduler/cost/time_bounds.h"
#include "scheduler/nest/instruction_timing.h"

namespace isamap {

namespace {

/// share of the other bounds added, for contended issue slots: no measured source, see docs/cost.md
constexpr double shared_issue = 1.0 / 16;
constexpr double overlap_power = 5;       ///< exponent of the p-norm below: best of 0, 3, 4, 5 (docs/cost.md)
constexpr double max_code_calls = 65536;  ///< limit on unrolled calls (compile time)

/// Contention of core and cache time: the nearer the two, the worse they overlap. (1 + (shorter / longer)^p)^(1/p).
double overlap(const std::vector<Bound>& bounds) {
  double core = 0, caches = 0;
  for (const Bound& b : bounds) (b.of_cache ? caches : core) = std::max(b.of_cache ? caches : core, b.cycles);
  const double longer = std::max(core, caches);
  return longer <= 0 ? 1 : std::pow(1 + std::pow(std::min(core, caches) / longer, overlap_power), 1 / overlap_power);
}

void add_energy(const ResolvedNest& view, const TileCounts& counts, const Traffic& traffic, Cost& cost) {
  for (const auto& [memory, tensors] : traffic.memories) {
    const Memory& m = view.model->memory(memory);
    for (const auto& [tensor, t] : tensors) {
      const double words =
          static_cast<double>(t.element_bytes) / static_cast<double>(std::max<std::int64_t>(1, m.word));
      cost.energy_pJ += (t.reads * m.read_energy + (t.fills + t.updates) * m.write_energy) * words;
    }
  }
  for (const auto& [link, moved] : traffic.link_bytes) cost.energy_pJ += moved * view.model->link(link).energy;
  if (view.instruction)
    cost.energy_pJ += counts.visits(static_cast<int>(view.loops.size())) * view.instruction->energy_pJ;
}

void add_time(PricedNest& nest, double code) {
  const ResolvedNest& view = nest.view;
  const TileCounts& counts = nest.counts;
  const Traffic& traffic = nest.traffic;
  Cost& cost = nest.cost;
  if (is_stream(view)) {
    const StreamTime stream = stream_time(view, counts, traffic);
    cost.scalar_cycles = copying_cycles(view, counts, traffic);
    cost.cycles = std::ceil(stream.cycles + cost.scalar_cycles - 1e-9);
    cost.bound = cost.scalar_cycles > stream.cycles ? "copies by a scalar unit" : stream.bound;
    return;
  }
  if (const auto waves = time_in_waves(view, counts)) {
    cost.cycles = std::ceil(waves->cycles + code - 1e-9);
    cost.bound = waves->bound;
    if (!view.instruction) cost.scalar_cycles = cost.cycles;
    return;
  }
  const bool program = issues_moves(*view.model);
  std::vector<Bound> bounds{compute_bound(view, counts)};
  const auto join = [&](const std::vector<Bound>& more) { bounds.insert(bounds.end(), more.begin(), more.end()); };
  join(link_bounds(view, traffic));
  double moving = 0;
  for (std::size_t b = 1; b < bounds.size(); ++b) moving = std::max(moving, bounds[b].cycles);
  join(memory_bounds(view, traffic));
  if (program) join(move_bounds(view, counts, traffic));
  // Skipped points are neither computed nor loaded into registers; their lines are fetched for other points all the
  // same.
  for (Bound& b : bounds)
    if (!b.of_cache) b.cycles *= view.in_bounds;
  double most = 0, sum = 0;
  for (const Bound& b : bounds) {
    sum += b.cycles;
    if (b.cycles <= most) continue;
    most = b.cycles;
    cost.bound = b.name;
  }
  cost.cycles = most;
  if (program) {  // instruction fetch: one cycle for each call printed
    cost.scalar_cycles = view.instruction ? copying_cycles(view, counts, traffic) : most;
    std::vector<Bound> exposed{
        {"prefetch stream starts", stream_start_cycles(traffic)},
        {"LLC miss phases", llc_miss_phase_cycles(view, traffic, bounds)},
        {"partial-sum reloads", partial_sum_reload_cycles(view, counts, traffic)},
        {"single-buffered transfers", single_buffer_cycles(view, traffic)},
        {"store bursts", store_burst_cycles(view, counts, traffic, bounds.front().cycles, moving)}};
    if (view.instruction)
      for (Bound& copy : copy_bounds(view, counts, traffic)) exposed.push_back(std::move(copy));
    double together = 0;
    for (const Bound& b : exposed) together += b.cycles;
    nest.parts = {{cost.bound, most},
                  {"contention of core and caches", most * (overlap(bounds) - 1)},
                  {"contended issue slots (1/16 of the other bounds)", (sum - most) * shared_issue},
                  {"instruction fetch", code}};
    nest.parts.insert(nest.parts.end(), exposed.begin(), exposed.end());
    if (together > most) cost.bound = "transfers that nothing hides";
    cost.cycles = 0;
    for (const Bound& b : nest.parts) cost.cycles += b.cycles;
  }
  cost.cycles = std::ceil(cost.cycles - 1e-9);
}

class ClosedForm final : public CostModel {
 public:
  Result<Cost> estimate(const Candidate& candidate) override {
    auto priced = price_nest(candidate);
    if (!priced) return priced.diagnostics();
    return std::move((*priced)->cost);
  }

  std::optional<Cost> quick_estimate(const HierarchyPoint& point) override {
    const hierarchy::Evaluated evaluated = evaluate(*point.problem, *point.tiles);
    if (!evaluated.fits || evaluated.energy_pJ == 0) return {};  // without energy the objective may be in bytes
    Cost cost;
    cost.cycles = evaluated.cycles;
    cost.energy_pJ = evaluated.energy_pJ;
    return cost;
  }
};

}  // namespace

Result<std::unique_ptr<PricedNest>> price_nest(const Candidate& candidate) {
  auto view = resolve(candidate.nest, *candidate.kernel, candidate.statement, *candidate.model);
  if (!view) return view.diagnostics();
  auto priced = std::make_unique<PricedNest>(std::move(*view));
  Diagnostics problems = capacity_problems(priced->view, priced->counts);
  const double code = priced->counts.code_calls();
  if (code > max_code_calls)
    problems.push_back(
        error(fmt::format("the nest unrolls to {:.0f} calls; at most {:.0f} are printed", code, max_code_calls),
              "unroll less, or choose tiles that divide"));
  if (!problems.empty()) return problems;
  priced->traffic = traffic_of(priced->view, priced->counts);
  Cost& cost = priced->cost;
  cost.memories = in_words(priced->traffic, priced->view);
  for (const auto& [link, moved] : priced->traffic.link_bytes) {
    cost.link_bytes[priced->view.model->link(link).name] += moved;
    cost.bytes += moved;
  }
  add_time(*priced, code);
  add_energy(priced->view, priced->counts, priced->traffic, cost);
  return priced;
}

double value(const Cost& cost, Objective objective) {
  const bool energy_known = cost.energy_pJ > 0;
  switch (objective) {
    case Objective::cycles:
      return cost.cycles;
    case Objective::energy:
      return energy_known ? cost.energy_pJ : cost.bytes;
    case Objective::edp:
      break;
  }
  return energy_known ? cost.edp() : cost.cycles;
}

std::unique_ptr<CostModel> make_cost_model_closed_form() { return std::make_unique<ClosedForm>(); }

}  // namespace isamap

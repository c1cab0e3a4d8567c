// SPDX-License-Identifier: Apache-2.0
// The closed form: energy and cycles from access counts (scheduler/cost/access_counts.h, docs/cost.md). Cycles are the
// sum of the terms of the machine's timing model (scheduler/cost/term_tables.cpp).

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "hwdesc/model/timing_choice.h"
#include "isamap/cost_model.h"
#include "scheduler/cost/capacity.h"
#include "scheduler/cost/command_stream_model.h"
#include "scheduler/cost/hierarchy/evaluate.h"
#include "scheduler/cost/priced_nest.h"
#include "scheduler/cost/stream_simulation.h"

namespace isamap {

namespace terms {
extern const Term packing, stream_copies, launches;
}

namespace {

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

double cycles_of(const TermSum& sum, std::initializer_list<const Term*> of) {
  double cycles = 0;
  for (const auto& [term, time] : sum.added)
    if (std::find(of.begin(), of.end(), term) != of.end()) cycles += time.cycles;
  return cycles;
}

/// Packed copies are code of a scalar unit.
double copying_cycles(const TermSum& sum) { return cycles_of(sum, {&terms::packing, &terms::stream_copies}); }

void add_time(PricedNest& nest, double printed_calls) {
  const ResolvedNest& view = nest.view;
  const Instruction* calls = view.instruction ? &*view.instruction : nullptr;
  nest.timing = timing_model(*view.model, calls);
  TermContext context{view, nest.counts, nest.traffic, view.model->timing, printed_calls};
  if (nest.timing == TimingModel::thread_blocks)
    context.blocks = &nest.blocks.emplace(block_work(view, nest.counts, *block_of(*view.model, calls)));
  if (nest.timing == TimingModel::parallel_scalar)
    context.scalar = &nest.scalar.emplace(scalar_work(view, nest.counts, *block_of(*view.model, calls)));
  nest.terms = sum_terms(nest.timing, context);
  nest.cost.cycles = std::ceil(nest.terms.cycles - 1e-9) + 0.0;  // -0 becomes 0
  nest.cost.bound = nest.terms.bound;
  nest.cost.bound_by_calls = nest.terms.bound_by_calls;
  nest.cost.launch_cycles = cycles_of(nest.terms, {&terms::launches});
  if (runs_in_waves(nest)) {
    nest.cost.scalar_cycles = calls == nullptr ? nest.cost.cycles : 0;
  } else if (calls != nullptr) {
    nest.cost.scalar_cycles = copying_cycles(nest.terms);
  } else if (nest.timing != TimingModel::overlapped) {
    nest.cost.scalar_cycles = nest.terms.longest;
  }
}

class ClosedForm final : public CostModel {
 public:
  Result<Cost> estimate(const Candidate& candidate) override {
    auto priced = price_nest(candidate);
    if (!priced) return priced.diagnostics();
    return std::move((*priced)->cost);
  }

  std::optional<Cost> refine(const Candidate& candidate, const Cost&) override { return refined_cost(candidate); }

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
  auto view = candidate.facts ? resolve(candidate.nest, *candidate.facts)
                              : resolve(candidate.nest, *candidate.kernel, candidate.statement, *candidate.model);
  if (!view) return view.diagnostics();
  auto priced = std::make_unique<PricedNest>(std::move(*view));
  Diagnostics problems = capacity_problems(priced->view, priced->counts);
  const double code = priced->counts.code_calls(), most = priced->view.model->timing.most_calls;
  if (code > most)
    problems.push_back(error(fmt::format("the nest unrolls to {:.0f} calls; at most {:.0f} are printed", code, most),
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

bool runs_in_waves(const PricedNest& nest) {
  return nest.timing == TimingModel::thread_blocks || nest.timing == TimingModel::parallel_scalar;
}

Cost replayed_cost(const PricedNest& nest, double cycles, const Bottleneck& bottleneck) {
  double known = nest.terms.longest, others = 0;
  for (const auto& [term, time] : nest.terms.added) (term->replayed ? known : others) += time.cycles;
  Cost cost = nest.cost;
  cost.cycles = std::ceil(std::max(cycles, known) + others - 1e-9) + 0.0;
  if (others <= std::max(cycles, known) && cycles >= known)
    cost.bound = bottleneck.name, cost.bound_by_calls = bottleneck.calls;
  return cost;
}

std::optional<Cost> refined_cost(const Candidate& candidate) {
  if (!executes_a_stream(*candidate.model)) return std::nullopt;
  const auto priced = price_nest(candidate);
  if (!priced || (*priced)->timing != TimingModel::command_stream || !is_stream((*priced)->view)) return std::nullopt;
  const PricedNest& nest = **priced;
  const auto replayed = replayed_stream(nest.view, nest.counts, nest.traffic);
  if (!replayed) return std::nullopt;
  Cost cost = nest.cost;
  cost.cycles = std::ceil(replayed->cycles + nest.cost.scalar_cycles - 1e-9) + 0.0;  // -0 becomes 0
  return cost;
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

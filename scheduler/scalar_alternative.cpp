// SPDX-License-Identifier: Apache-2.0
#include "scheduler/scalar_alternative.h"

#include <fmt/format.h>

#include <algorithm>

#include "isamap/scheduler.h"

namespace isamap {
namespace {

/// By the objective; where an energy is unknown, by cycles. Of scalar code only the energy of its accesses is known,
/// too little: where cycles count, fewer pJ alone do not decide.
bool better(const Cost& scalar, const Cost& other, Objective objective) {
  const bool energy_known = scalar.energy_pJ > 0 && other.energy_pJ > 0;
  const bool faster = scalar.cycles < other.cycles;
  if (objective == Objective::cycles || !energy_known) return faster;
  return value(scalar, objective) < value(other, objective) && (objective == Objective::energy || faster);
}

bool is_fused(const Nest& nest) {
  return std::any_of(nest.lines.begin(), nest.lines.end(), [](const Line& line) {
    const auto* stage = std::get_if<Stage>(&line.is);
    return stage != nullptr && !(stage->from.empty() && stage->then.empty());
  });
}

void put(Scheduled& into, std::size_t s, const Scheduled& code, const HardwareModel& model) {
  into.scalar_causes[s] = {
      ScalarCause::Kind::predicted_faster,
      {fmt::format("scalar code is predicted to take {:.0f} cycles, {} {:.0f}", code.statement_costs[s].cycles,
                   model.instruction(into.mappings[s].instruction).name, into.statement_costs[s].cycles)}};
  into.schedule.nests[s] = code.schedule.nests[s];
  into.statement_costs[s] = code.statement_costs[s];
  into.mappings[s] = code.mappings[s];
  into.view.clear();
}

}  // namespace

void replace_by_scalar_code(Scheduled& found, const Kernel& kernel, const HardwareModel& model,
                            const ScheduleOptions& options) {
  const auto instructed = [](const Mapping& mapping) { return mapping.instruction.valid(); };
  if (std::none_of(found.mappings.begin(), found.mappings.end(), instructed)) return;
  ScheduleOptions plain;
  plain.costs = options.costs;
  plain.objective = options.objective;
  plain.fuse = false;
  plain.compare_scalar = false;
  const auto code = schedule(kernel, MapResult{}, model, plain);
  if (!code) return;
  const auto lowers = [&](const Scheduled& one) { return static_cast<bool>(lower(one.schedule, kernel, model)); };
  Scheduled all = found;
  for (std::size_t s = 0; s < found.mappings.size(); ++s) {
    if (!instructed(found.mappings[s]) || code->statement_costs[s].cycles <= 0) continue;
    put(all, s, *code, model);
    if (is_fused(found.schedule.nests[s]) ||
        !better(code->statement_costs[s], found.statement_costs[s], options.objective))
      continue;
    Scheduled one = found;
    put(one, s, *code, model);
    if (lowers(one)) found = std::move(one);
  }
  if (better(sum_of(all.statement_costs), sum_of(found.statement_costs), options.objective) && lowers(all))
    found = std::move(all);
  found.cost = sum_of(found.statement_costs);
}

}  // namespace isamap

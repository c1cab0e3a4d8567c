// SPDX-License-Identifier: Apache-2.0
#include "scheduler/search_splits.h"

#include <algorithm>

#include "mapper/advice/mapped_splits.h"
#include "mapper/match/instruction_tree.h"
#include "scheduler/nest/horizontal_sum.h"

namespace isamap {
namespace {

bool maps(const MapResult& mappings, StatementId statement) {
  return std::any_of(mappings.mappings.begin(), mappings.mappings.end(),
                     [&](const Mapping& m) { return m.statement == statement; });
}

/// By name: names survive splits of earlier statements.
std::vector<std::string> unmapped_statements(const Kernel& kernel, const MapResult& mappings) {
  std::vector<std::string> names;
  for (std::size_t s = 0; s < kernel.statements.size(); ++s)
    if (!maps(mappings, make_id<StatementId>(s))) names.push_back(kernel.statements[s].name);
  return names;
}

StatementId statement_named(const Kernel& kernel, const std::string& name) {
  const auto at = std::find_if(kernel.statements.begin(), kernel.statements.end(),
                               [&](const Computation& c) { return c.name == name; });
  return make_id<StatementId>(static_cast<std::size_t>(at - kernel.statements.begin()));
}

/// Adds up the statistics of two searches.
void count_with(Scheduled& found, Scheduled& other) {
  other.evaluations = found.evaluations += other.evaluations;
  other.seconds = found.seconds += other.seconds;
  other.exhausted = found.exhausted = other.exhausted && found.exhausted;
  other.stopped = found.stopped = other.stopped || found.stopped;
}

/// Maps and schedules a split kernel; nothing: no schedule.
std::optional<LaneSearch> searched_in_parts(const MappedSplit& parts, const HardwareModel& model,
                                            const ScheduleOptions& options, const MapOptions& map) {
  if (has_errors(verify(parts.kernel))) return std::nullopt;
  auto mapped = enumerate_mappings(parts.kernel, model, map);
  if (!mapped) return std::nullopt;
  if (options.space.sums_in_order)
    std::erase_if(mapped->mappings, [&](const Mapping& m) { return differs_in_last_digits(instruction_of(m, model)); });
  auto search = schedule_or_in_lanes(parts.kernel, *mapped, model, options, map);
  if (!search) return std::nullopt;
  search->scheduled.schedule.splits = parts.parts;
  if (!search->mapped) search->mapped = std::move(*mapped);
  return std::move(*search);
}

}  // namespace

Result<LaneSearch> schedule_or_split(const Kernel& kernel, const MapResult& mappings, const HardwareModel& model,
                                     const ScheduleOptions& options, const MapOptions& map, bool* proved) {
  auto best = schedule_or_in_lanes(kernel, mappings, model, options, map, proved);
  if (!best || !kernel.repeats.empty() || !map.instruction.empty() || !options.must_lower) return best;
  ScheduleOptions with = options;
  with.known.clear();  // points of the unsplit kernel
  with.stop_after.clear();
  with.watch = nullptr;
  MapOptions mapping = map;
  mapping.certificates.clear();
  MappedSplit accepted{kernel, {}};
  for (const std::string& name : unmapped_statements(kernel, mappings)) {
    std::optional<MappedSplit> cheapest;
    for (MappedSplit& parts : mapped_splits(accepted.kernel, statement_named(accepted.kernel, name), model, mapping)) {
      if (best->scheduled.stopped) return best;
      parts.parts.insert(parts.parts.begin(), accepted.parts.begin(), accepted.parts.end());
      auto other = searched_in_parts(parts, model, with, mapping);
      if (!other) continue;
      count_with(best->scheduled, other->scheduled);
      if (value(other->scheduled.cost, options.objective) >= value(best->scheduled.cost, options.objective)) continue;
      other->scheduled.curve = best->scheduled.curve;
      best = std::move(*other);
      cheapest = std::move(parts);
    }
    if (cheapest) accepted = std::move(*cheapest);
  }
  return best;
}

}  // namespace isamap

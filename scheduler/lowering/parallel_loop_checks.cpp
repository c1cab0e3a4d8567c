// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lowering/parallel_loop_checks.h"

#include <fmt/format.h>

#include "hwdesc/model/parallel_units.h"
#include "scheduler/nest/split_reduction.h"

namespace isamap {

std::optional<UnitId> thread_unit(const HardwareModel& model, const For& f) {
  const auto unit = model.find_unit(f.unit);
  return unit && side_by_side(model, *unit) ? unit : std::nullopt;
}

bool writes_are_disjoint(const NestParts& parts, const For& f, const std::string& dim) {
  if (!f.combine.empty() && parts.is_reduction(dim)) return true;
  return parts.input_.written.once && uses(access_of(parts.statement_, 0), dim);
}

Diagnostic write_conflict(const NestParts& parts, const std::string& dim, const std::string& unit) {
  const auto id = parts.lowering_.model.find_unit(unit);
  return error(fmt::format("for {} on {}: its instances would write the same elements of {} at once", dim, unit,
                           parts.output().name),
               id && parts.is_reduction(dim) && parts.instruction_ != nullptr
                   ? combine_hint(parts.statement_, parts.output(), dim, *id, parts.lowering_.model)
                   : "distribute a dim of the output over the instances");
}

std::optional<Diagnostic> parallel_loop_problem(const NestParts& parts, const For& f, const std::string& dim,
                                                UnitId unit, const Scope& scope) {
  const HardwareModel& model = parts.lowering_.model;
  const Instruction* by = parts.instruction_;
  if (by != nullptr && unit != by->unit && model.inside(unit, by->unit))
    return error(fmt::format("for {} on {}: one call of {} is executed by a whole {}", dim, f.unit, by->name,
                             model.unit(by->unit).name),
                 fmt::format("loop over {} on {}, or sequentially", dim, model.unit(by->unit).name));
  if (!writes_are_disjoint(parts, f, dim)) return write_conflict(parts, dim, f.unit);
  if (const Buffer& held = parts.lowering_.buffer(scope.holders[0].buffer);
      !(held.slots >= 0 && !model.unit(unit).index.empty()) &&  // distributed: scheduler/lowering/distributed_tile.h
      model.inside(model.memory(held.memory).per, unit))
    return error(fmt::format("for {} on {}: {} is staged in {}, which is private to each instance", dim, f.unit,
                             parts.output().name, model.memory(held.memory).name),
                 "write the loop above that stage");
  return std::nullopt;
}

}  // namespace isamap

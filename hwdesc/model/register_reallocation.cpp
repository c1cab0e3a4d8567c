// SPDX-License-Identifier: Apache-2.0
#include "hwdesc/model/register_reallocation.h"

#include <algorithm>

#include "support/arithmetic.h"

namespace isamap {
namespace {

std::optional<InstructionId> setter_of(const HardwareModel& model, const std::string& field, Change way) {
  for (std::size_t i = 0; i < model.instructions().size(); ++i) {
    const Instruction& setter = model.instructions()[i];
    if (setter.semantics.empty() && setter.sets.size() == 1 && setter.sets[0].field == field && setter.sets[0].any &&
        (setter.only == way || setter.only == Change::any) && !setter.assembly.empty())
      return make_id<InstructionId>(i);
  }
  return std::nullopt;
}

}  // namespace

Budgets budgets(const HardwareModel& model, UnitId block, UnitId unit, std::int64_t roles, std::int64_t others) {
  if (roles < 1 || others < 1) return {};
  for (const State& state : model.states())
    for (const StatePool& pool : state.pools) {
      const auto field = std::find_if(state.fields.begin(), state.fields.end(),
                                      [&](const StateField& f) { return f.name == pool.field; });
      if (state.per != unit || pool.unit != block || pool.total == 0 || field == state.fields.end()) continue;
      const std::int64_t step = std::max<std::int64_t>(field->multiple_of, 1);
      const auto fitting = [&](std::int64_t value) {
        return std::min(value / step * step, field->max > 0 ? field->max : value);
      };
      const std::int64_t entry = fitting(pool.total / (roles + others));
      const std::int64_t role = round_up(std::max(field->min, step), step);
      const std::int64_t rest = fitting((entry * (roles + others) - role * roles) / others);
      const auto down = setter_of(model, state.name + "." + field->name, Change::lower),
                 up = setter_of(model, state.name + "." + field->name, Change::raise);
      if (role < entry && rest > entry && down && up)
        return {Budget{*down, role}, Budget{*up, rest}, entry, pool.beside};
    }
  return {};
}

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#include "hwdesc/model/lane_exchanges.h"

#include <algorithm>
#include <optional>

#include "isamap/kernel.h"

namespace isamap {
namespace {

constexpr std::int64_t most_lanes = 64;  // a set of lanes is the bits of one word

/// One element of each instance, in the order of the instances.
bool one_for_each(const Operand& operand, std::int64_t count, const HardwareModel& model, UnitId unit) {
  const auto* fragment = std::get_if<FragmentLayout>(&operand.layout);
  return fragment != nullptr && operand.memory.valid() && model.memory(operand.memory).per == unit &&
         fragment->over.size() == 2 && fragment->over[0].second == count && fragment->over[1].second == 1 &&
         fragment->index.size() == 1 && fragment->index[0] == AffineExpr::dim(fragment->over[0].first);
}

/// from[l]: whose register lane l is given; nothing: the instruction does something else.
std::optional<std::vector<std::int64_t>> exchanged(const Instruction& instruction, UnitId unit, DType type,
                                                   const HardwareModel& model) {
  const std::int64_t count = model.unit(unit).count;
  if (!is_move(instruction) || instruction.unit == unit || !model.inside(unit, instruction.unit)) return std::nullopt;
  const Computation& statement = instruction.statement();
  const Access &to = access_of(statement, 0), &from = access_of(statement, 1);
  if (statement.domain.dims.size() != 1 || statement.domain.dims[0].extent != count ||
      to.index != std::vector<AffineExpr>{AffineExpr::dim(statement.domain.dims[0].name)} || from.index.size() != 1)
    return std::nullopt;
  for (const Operand& operand : instruction.operands) {
    const bool fits =
        operand.dtype && (*operand.dtype == type || (is_bits(*operand.dtype) && bits(*operand.dtype) == bits(type)));
    if (!fits || !one_for_each(operand, count, model, unit)) return std::nullopt;
  }
  std::vector<std::int64_t> lanes;
  for (std::int64_t l = 0; l < count; ++l)
    lanes.push_back(evaluate(from.index[0], {{statement.domain.dims[0].name, l}}));
  return lanes;
}

}  // namespace

std::vector<InstructionId> lane_exchanges(const HardwareModel& model, UnitId unit, DType type) {
  const std::int64_t count = model.unit(unit).count;
  if (count < 2 || count > most_lanes) return {};
  if (!is_float(type) && bits(type) == 64) return {};  // programs have no constant for the identity of min
  std::vector<std::uint64_t> held;                     // by lane: the lanes whose values it has added up
  for (std::int64_t l = 0; l < count; ++l) held.push_back(std::uint64_t{1} << l);
  const std::uint64_t all = count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
  std::vector<InstructionId> chosen;
  for (std::size_t i = 0; i < model.instructions().size(); ++i) {
    const auto from = exchanged(model.instructions()[i], unit, type, model);
    if (!from) continue;
    std::vector<std::uint64_t> after = held;
    bool apart = true;
    for (std::size_t l = 0; l < held.size(); ++l) {
      const std::uint64_t given = held[static_cast<std::size_t>((*from)[l])];
      apart = apart && (held[l] & given) == 0;
      after[l] |= given;
    }
    if (!apart) continue;
    held = std::move(after);
    chosen.push_back(make_id<InstructionId>(i));
    if (std::all_of(held.begin(), held.end(), [&](std::uint64_t h) { return h == all; })) return chosen;
  }
  return {};
}

}  // namespace isamap

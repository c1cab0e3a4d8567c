// SPDX-License-Identifier: Apache-2.0
// Suggestions for `via` when the named moves cannot transfer the tile.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "isamap/kernel.h"
#include "scheduler/lowering/tile_copy_internal.h"
#include "scheduler/nest/lowering_support.h"
#include "scheduler/nest/operand_compatibility.h"

namespace isamap {
namespace {

/// The named moves that fit this line: of the tile's type and, for inputs, into the tile. Outputs are also loaded
/// (partial sums), so moves of both directions fit.
std::vector<std::string> worth_keeping(const Lowering& lowering, const Copy& copy, MemoryId inner) {
  const Buffer& tile = lowering.buffer(copy.inner->buffer);
  const bool only_read = role_of(lowering.program.kernel, tile.tensor) == Role::input;
  std::vector<std::string> kept;
  for (const std::string& name : copy.via) {
    const auto id = lowering.model.find_instruction(name);
    if (!id) continue;
    const Instruction& move = lowering.model.instruction(*id);
    const bool of_type = type_refusal(move, 0, tile.dtype).empty() && type_refusal(move, 1, tile.dtype).empty();
    const bool into_tile = move.operands[operand_of_access(move, 0).index()].memory == inner;
    Copy that_way = copy;
    that_way.into_inner = into_tile;
    const bool awaited = not_lowered(move, lowering.model).empty() || may_complete_later(lowering, that_way, move);
    if (of_type && awaited && (into_tile || !only_read)) kept.push_back(name);
  }
  return kept;
}

}  // namespace

std::string other_moves_to_name(Lowering& lowering, const Copy& copy) {
  if (copy.via.empty() || copy.adds) return "";
  const MemoryId inner = lowering.buffer(copy.inner->buffer).memory, outer = lowering.buffer(copy.outer->buffer).memory;
  const MemoryId to = copy.into_inner ? inner : outer, from = copy.into_inner ? outer : inner;
  const std::vector<std::string> kept = worth_keeping(lowering, copy, inner);
  Copy other = copy;
  // Every suggestion has been lowered as a trial.
  other.via = kept;
  if (!kept.empty() && kept != copy.via && moves_by_name(lowering, other))
    return fmt::format("write 'via {}'", fmt::join(kept, "."));
  for (const Instruction& move : lowering.model.instructions()) {
    if (!is_move(move) || !not_lowered(move, lowering.model).empty() ||
        move.operands[operand_of_access(move, 0).index()].memory != to ||
        move.operands[operand_of_access(move, 1).index()].memory != from)
      continue;
    other.via = kept;
    other.via.push_back(move.name);
    if (moves_by_name(lowering, other)) return fmt::format("write 'via {}'", fmt::join(other.via, "."));
  }
  other.via.clear();
  return transfer(lowering, other) ? "leave 'via' out" : "";
}

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#include "verify/lane_registers.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/known_bounds.h"
#include "scheduler/nest/operand_compatibility.h"

namespace isamap {
namespace {

/// Neighbours into or out of the registers of one instance, whose elements 0, 1, 2.. they are.
bool moves_neighbours(const Instruction& move, bool fill, const HardwareModel& model) {
  if (!is_move(move) || !move.async_by.empty() || !move.masks.empty() || move.ranges.size() != 1 ||
      !move.ranges[0].fixed())
    return false;
  const std::vector<AffineExpr> plain{AffineExpr::dim(move.statement().domain.dims[0].name)};
  const Operand &held = move.operands[operand_of_access(move, fill ? 0 : 1).index()],
                &other = move.operands[operand_of_access(move, fill ? 1 : 0).index()];
  const auto* fragment = std::get_if<FragmentLayout>(&held.layout);
  return move.statement().write.index == plain && move.statement().reads[0].index == plain && fragment != nullptr &&
         fragment->over.size() == 1 && fragment->index == std::vector{AffineExpr::dim(fragment->over[0].first)} &&
         held.memory.valid() && model.memory(held.memory).per == move.unit && other.memory == model.home();
}

}  // namespace

std::vector<AffineExpr> Share::at(const std::vector<AffineExpr>& instances, const AffineExpr& element) const {
  std::map<std::string, AffineExpr> values;
  for (std::size_t u = 0; u < units.size(); ++u) values[units[u].first] = instances[u];
  values[layout.over.back().first] = element;
  std::vector<AffineExpr> index;
  for (const AffineExpr& e : layout.index) index.push_back(substitute(e, values));
  return index;
}

std::optional<Share> share_of(const Operand& operand, const HardwareModel& model) {
  const auto* fragment = std::get_if<FragmentLayout>(&operand.layout);
  if (fragment == nullptr || fragment->over.size() < 2 || !fragment->varying.empty()) return std::nullopt;
  Share share{{fragment->over.begin(), fragment->over.end() - 1}, fragment->over.back().second, *fragment};
  for (const auto& [unit, count] : share.units) {
    const auto id = model.find_unit(unit);
    if (!id || model.unit(*id).index.empty()) return std::nullopt;
  }
  return share;
}

Result<std::vector<Node>> move_shares(
    Lowering& lowering, const Share& share, BufferId registers, BufferId memory,
    const std::function<std::vector<AffineExpr>(const std::vector<AffineExpr>& instances, const AffineExpr& element)>&
        index,
    bool fill) {
  std::vector<std::string> variables;
  std::vector<AffineExpr> instances;
  for (const auto& [unit, count] : share.units) {
    variables.push_back(lowering.variable(unit, count));
    instances.push_back(AffineExpr::dim(variables.back()));
  }
  const auto& moves = lowering.model.instructions();
  std::string why;
  /// The widest move for what is left of the share from `begin` on.
  const auto next = [&](std::int64_t begin) -> std::optional<std::pair<Node, std::int64_t>> {
    std::optional<std::pair<Node, std::int64_t>> best;
    for (std::size_t m = 0; m < moves.size(); ++m) {
      const Instruction& move = moves[m];
      const Buffer &held = lowering.buffer(registers), &other = lowering.buffer(memory);
      if (!moves_neighbours(move, fill, lowering.model) || move.ranges[0].max > share.elements - begin ||
          (best && best->second >= move.ranges[0].max))
        continue;
      const int near = fill ? 0 : 1;
      if (!type_refusal(move, near, held.dtype).empty() || !type_refusal(move, 1 - near, other.dtype).empty() ||
          move.operands[operand_of_access(move, near).index()].memory != held.memory)
        continue;
      const AffineExpr element = AffineExpr(begin) + AffineExpr::dim("$" + move.statement().domain.dims[0].name);
      Ranges ranges = lowering.ranges;
      for (const auto& [name, range] : dim_ranges(move, {move.ranges[0].max})) ranges[name] = range;
      Ref in{registers, share.at(instances, element)}, out{memory, index(instances, element)};
      for (Ref* ref : {&in, &out})
        for (AffineExpr& e : ref->index) e = simplify(e, ranges);
      const auto inside = [&](std::size_t axis) {
        const AffineExpr &e = in.index[axis], last = AffineExpr(held.extents[axis] - 1);
        return nonnegative(e, ranges, {}) && nonnegative(simplify(last - e, ranges), ranges, {});
      };
      bool proved = true;  // narrower moves loop fewer elements, of which less must be proved
      for (std::size_t axis = 0; axis < in.index.size(); ++axis) proved = proved && inside(axis);
      if (!proved) continue;
      TileLayout tile;
      tile.buffer = memory;
      tile.whole_tensor = true;
      if (why = refusal({move, 1 - near, {move.ranges[0].max}}, other, tile, out.index, lowering.known()); !why.empty())
        continue;
      auto call = make_call(lowering, make_id<InstructionId>(m),
                            fill ? std::vector<Ref>{in, out} : std::vector<Ref>{out, in}, {move.ranges[0].max});
      if (call) best = {Node{std::move(*call)}, move.ranges[0].max};
    }
    return best;
  };
  std::vector<Node> nodes;
  for (std::int64_t begin = 0; begin < share.elements;) {
    auto one = next(begin);
    if (!one)
      return error(why.empty() ? fmt::format("no move of one instance {} {} {}", fill ? "fills" : "stores",
                                             share.elements - begin, name(lowering.buffer(registers).dtype))
                               : why);
    begin += one->second;
    nodes.push_back(std::move(one->first));
  }
  for (std::size_t u = share.units.size(); u-- > 0;) {
    nodes = loop_around(variables[u], share.units[u].second, false, std::move(nodes));
    if (!nodes.empty() && share.units[u].second > 1) std::get<Loop>(nodes.front().is).unit = share.units[u].first;
  }
  return nodes;
}

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#include "verify/lane_registers.h"

#include <fmt/format.h>

#include "ir/symbolic/known_bounds.h"
#include "scheduler/nest/operand_compatibility.h"

namespace isamap {
namespace {

/// Does the move load or store contiguous elements as elements 0, 1, 2.. of one instance's registers?
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

namespace {

using MemoryIndex =
    std::function<std::vector<AffineExpr>(const std::vector<AffineExpr>& instances, const AffineExpr& element)>;

/// The moves of one share, each the widest for the elements that are left.
class ShareMoves {
 public:
  struct Step {
    Node call;
    std::int64_t elements = 0;
  };

  /// `registers` is indexed by the loop variables of the instances.
  ShareMoves(Lowering& lowering, const Share& share, Ref registers, BufferId memory, const MemoryIndex& index,
             bool fill)
      : lowering_(lowering),
        share_(share),
        registers_(registers.buffer),
        instances_(std::move(registers.index)),
        memory_(memory),
        index_(index),
        fill_(fill) {}

  /// The widest move for the elements from `begin` on; nothing: `why()`.
  std::optional<Step> widest(std::int64_t begin) {
    std::optional<Step> best;
    const auto& moves = lowering_.model.instructions();
    for (std::size_t m = 0; m < moves.size(); ++m) {
      const std::int64_t count = moves[m].ranges.empty() ? 0 : moves[m].ranges[0].max;
      if (!fits(moves[m]) || count > share_.elements - begin || (best && best->elements >= count)) continue;
      if (auto call = call_of(make_id<InstructionId>(m), begin)) best = {Node{std::move(*call)}, count};
    }
    return best;
  }
  const std::string& why() const { return why_; }

 private:
  /// Do its types and memories fit the share?
  bool fits(const Instruction& move) const {
    const Buffer &held = lowering_.buffer(registers_), &other = lowering_.buffer(memory_);
    const int near = fill_ ? 0 : 1;
    return moves_neighbours(move, fill_, lowering_.model) && type_refusal(move, near, held.dtype).empty() &&
           type_refusal(move, 1 - near, other.dtype).empty() &&
           move.operands[operand_of_access(move, near).index()].memory == held.memory;
  }

  /// The move of elements `begin`, `begin` + 1, ..; nothing if they are not proved to be inside the registers.
  std::optional<Call> call_of(InstructionId id, std::int64_t begin) {
    const Instruction& move = lowering_.model.instruction(id);
    const std::vector<std::int64_t> extents{move.ranges[0].max};
    const AffineExpr element = AffineExpr(begin) + AffineExpr::dim("$" + move.statement().domain.dims[0].name);
    Ranges ranges = lowering_.ranges;
    for (const auto& [name, range] : dim_ranges(move, extents)) ranges[name] = range;
    Ref in{registers_, share_.at(instances_, element)}, out{memory_, index_(instances_, element)};
    for (Ref* ref : {&in, &out})
      for (AffineExpr& e : ref->index) e = simplify(e, ranges);
    if (!inside(in, ranges)) return std::nullopt;
    TileLayout tile;
    tile.buffer = memory_;
    tile.whole_tensor = true;
    why_ = refusal({move, fill_ ? 1 : 0, extents}, lowering_.buffer(memory_), tile, out.index, lowering_.known());
    if (!why_.empty()) return std::nullopt;
    auto call = make_call(lowering_, id, fill_ ? std::vector<Ref>{in, out} : std::vector<Ref>{out, in}, extents);
    return call ? std::optional(std::move(*call)) : std::nullopt;
  }

  /// Narrower moves touch fewer elements, of which less must be proved.
  bool inside(const Ref& in, const Ranges& ranges) const {
    for (std::size_t axis = 0; axis < in.index.size(); ++axis) {
      const AffineExpr &e = in.index[axis], last = AffineExpr(lowering_.buffer(registers_).extents[axis] - 1);
      if (!nonnegative(e, ranges, {}) || !nonnegative(simplify(last - e, ranges), ranges, {})) return false;
    }
    return true;
  }

  Lowering& lowering_;
  const Share& share_;
  BufferId registers_;
  std::vector<AffineExpr> instances_;
  BufferId memory_;
  const MemoryIndex& index_;
  bool fill_;
  std::string why_;
};

}  // namespace

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
  ShareMoves moves(lowering, share, {registers, instances}, memory, index, fill);
  std::vector<Node> nodes;
  for (std::int64_t begin = 0; begin < share.elements;) {
    auto step = moves.widest(begin);
    if (!step)
      return error(moves.why().empty() ? fmt::format("no move of one instance {} {} {}", fill ? "fills" : "stores",
                                                     share.elements - begin, name(lowering.buffer(registers).dtype))
                                       : moves.why());
    begin += step->elements;
    nodes.push_back(std::move(step->call));
  }
  for (std::size_t u = share.units.size(); u-- > 0;) {
    nodes = loop_around(variables[u], share.units[u].second, false, std::move(nodes));
    if (!nodes.empty() && share.units[u].second > 1) std::get<Loop>(nodes.front().is).unit = share.units[u].first;
  }
  return nodes;
}

}  // namespace isamap

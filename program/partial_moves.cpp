// SPDX-License-Identifier: Apache-2.0
#include "program/partial_moves.h"

#include <algorithm>
#include <map>
#include <optional>

#include "ir/operand_use.h"
#include "program/node_uses.h"

namespace isamap {
namespace {

/// The dim of the instruction whose positions move with the variable, along one axis; nothing: another expression does.
std::optional<std::string> moved_dim(const Ref& ref, const std::string& variable) {
  std::optional<std::string> found;
  for (const AffineExpr& index : ref.index) {
    if (!index.names().contains(variable)) continue;
    const auto names = (index - index.coefficient(variable) * AffineExpr::dim(variable)).names();
    if (found || names.size() != 1 || !names.begin()->starts_with('$')) return std::nullopt;
    found = names.begin()->substr(1);
  }
  return found;
}

/// Position `step * variable + $dim` of one axis.
bool is_at_positions(const Ref& ref, const std::string& variable, std::int64_t step, const std::string& dim) {
  const AffineExpr position = step * AffineExpr::dim(variable) + AffineExpr::dim("$" + dim);
  return moved_dim(ref, variable) == dim && std::count(ref.index.begin(), ref.index.end(), position) == 1;
}

/// The dim of a move from an argument to a local array along which it may take fewer than `step` positions.
std::optional<std::size_t> partial_dim(const Call& call, const Program& program, const HardwareModel& model,
                                       const std::string& variable, std::int64_t step) {
  const Instruction& instruction = model.instruction(call.instruction);
  if (!is_move(instruction) || !call.masks.empty() || call.counter.buffer.valid() || call.operands.size() != 2 ||
      !call.operands[0].buffer.valid() || !call.operands[1].buffer.valid())
    return std::nullopt;
  const Buffer& to = program.buffers[call.operands[0].buffer.index()];
  if (to.role != BufferRole::local || to.slots >= 0) return std::nullopt;
  const auto dim = moved_dim(call.operands[0], variable);
  if (!dim || !is_at_positions(call.operands[1], variable, step, *dim)) return std::nullopt;
  const int d = instruction.statement().domain.find(*dim);
  if (d < 0) return std::nullopt;
  const auto at = static_cast<std::size_t>(d);
  const auto& range = instruction.ranges[at];
  const bool takes_any = range.min <= 1 && range.multiple_of == 1 && !range.known_at_compile_time;
  if (!takes_any || call.extents[at] != step) return std::nullopt;
  return at;
}

PartialMove partial_move(const Call& call, const Program& program, const HardwareModel& model,
                         const std::string& variable, std::int64_t step) {
  const auto dim = partial_dim(call, program, model, variable, step);
  if (!dim) return PartialMove::none;
  const Instruction& instruction = model.instruction(call.instruction);
  if (instruction.inactive == Inactive::zero) return PartialMove::padded;
  const bool in_order =
      is_at_positions(call.operands[0], variable, step, instruction.statement().domain.dims[*dim].name);
  return in_order ? PartialMove::exact : PartialMove::none;
}

class MoveEnds {
 public:
  MoveEnds(Block& block, const std::set<std::string>& variables, const HardwareModel& model)
      : block_(block), variables_(variables), model_(model) {
    for (const Node& node : block.program.body) numbers_.merge(uses_of(node).extents);
    for (const auto& [number, from] : block.masked) numbers_.insert(number);
  }

  bool walk(std::vector<Node>& nodes, const std::string& variable) {
    return std::all_of(nodes.begin(), nodes.end(), [&](Node& node) {
      if (auto* loop = std::get_if<Loop>(&node.is))
        return walk(loop->body, variables_.contains(loop->variable) ? loop->variable : variable);
      if (auto* guard = std::get_if<Guard>(&node.is))
        return walk(guard->then, variable) && walk(guard->otherwise, variable);
      auto* call = std::get_if<Call>(&node.is);
      return call == nullptr || variable.empty() || end(*call, variable);
    });
  }

 private:
  bool end(Call& call, const std::string& variable) {
    const TileLoop& loop = block_.loops.at(variable);
    const auto dim = partial_dim(call, block_.program, model_, variable, loop.step);
    if (!dim) return false;
    auto [known, is_new] = ends_.try_emplace(variable, loop.step - 1);
    std::int64_t& number = known->second;
    while (is_new && number > 0 && numbers_.contains(number)) --number;
    if (number == 0) return false;
    numbers_.insert(number);
    call.extents[*dim] = number;
    block_.ended[number] = {loop.axis, loop.step * AffineExpr::dim(variable), loop.step};
    block_.short_axes.insert(loop.axis);
    return true;
  }

  Block& block_;
  const std::set<std::string>& variables_;
  const HardwareModel& model_;
  std::set<std::int64_t> numbers_;            ///< extents of calls
  std::map<std::string, std::int64_t> ends_;  ///< those that stand for what is left, by loop
};

}  // namespace

PartialMove partial_moves(const std::vector<Node>& nodes, const Program& program, const HardwareModel& model,
                          const std::string& variable, std::int64_t step) {
  PartialMove all = PartialMove::exact;
  for (const Node& node : nodes) {
    PartialMove one = PartialMove::exact;
    if (const auto* loop = std::get_if<Loop>(&node.is))
      one = partial_moves(loop->body, program, model, variable, step);
    else if (const auto* call = std::get_if<Call>(&node.is))
      one = partial_move(*call, program, model, variable, step);
    else if (!std::holds_alternative<Comment>(node.is))
      one = PartialMove::none;
    if (one == PartialMove::none) return one;
    if (one == PartialMove::padded) all = one;
  }
  return all;
}

bool end_moves(Block& block, const GridShape& shape, const std::set<std::string>& variables,
               const HardwareModel& model) {
  for (const std::string& variable : variables)
    if (shape.axes[static_cast<std::size_t>(block.loops.at(variable).axis)].end) return false;
  return variables.empty() || MoveEnds(block, variables, model).walk(block.program.body, "");
}

}  // namespace isamap

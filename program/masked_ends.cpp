// SPDX-License-Identifier: Apache-2.0
#include "program/masked_ends.h"

#include <algorithm>
#include <utility>

#include "program/node_uses.h"
#include "program/shared_copies.h"

namespace isamap {
namespace {

/// The move of the same elements under a mask along this dim, with this in the other lanes.
std::optional<InstructionId> masked_move(const HardwareModel& model, const Instruction& plain, const std::string& dim,
                                         Inactive inactive) {
  const auto is_it = [&](const Instruction& other) {
    return other.masks.size() == 1 && other.masks[0].first == dim && other.inactive == inactive &&
           other.needs.empty() && other.unit == plain.unit && other.link == plain.link &&
           other.tensors == plain.tensors && other.semantics == plain.semantics && other.operands == plain.operands;
  };
  const auto found = std::find_if(model.instructions().begin(), model.instructions().end(), is_it);
  if (found == model.instructions().end()) return std::nullopt;
  return make_id<InstructionId>(static_cast<std::size_t>(found - model.instructions().begin()));
}

/// The fill of a mask register with any number of ones up to `lanes`.
std::optional<InstructionId> mask_fill(const HardwareModel& model, MemoryId memory, std::int64_t lanes) {
  for (std::size_t i = 0; i < model.instructions().size(); ++i)
    if (const Instruction& fill = model.instructions()[i];
        fill_value(fill) == 1.0 && fill.operands[0].memory == memory && fill.ranges.size() == 1 &&
        fill.ranges[0].max == lanes && fill.ranges[0].min <= 1 && fill.ranges[0].multiple_of == 1)
      return make_id<InstructionId>(i);
  return std::nullopt;
}

/// The fill of so many lanes of such registers with this value.
std::optional<InstructionId> value_fill(const HardwareModel& model, const Buffer& buffer, std::int64_t lanes,
                                        double value) {
  for (std::size_t i = 0; i < model.instructions().size(); ++i) {
    const Instruction& fill = model.instructions()[i];
    if (fill_value(fill) == value && fill.operands[0].memory == buffer.memory && fill.masks.empty() &&
        fill.operands[0].dtype.value_or(buffer.dtype) == buffer.dtype && fill.ranges.size() == 1 &&
        fill.ranges[0].fixed() && fill.ranges[0].max == lanes)
      return make_id<InstructionId>(i);
  }
  return std::nullopt;
}

/// Which axis of a tensor ends before its grid axis.
using EndedAxes = std::map<TensorId, std::size_t>;

EndedAxes axes_along(const GridShape& shape, std::size_t axis) {
  EndedAxes found;
  for (std::size_t t = 0; t < shape.moves.size(); ++t)
    for (std::size_t d = 0; d < shape.moves[t].size(); ++d)
      if (const auto id = make_id<TensorId>(t);
          shape.moves[t][d].axis == static_cast<int>(axis) && !shape.padded.contains(id))
        found[id] = d;
  return found;
}

struct EndRules {
  bool stores = false;          ///< what is written to arguments is masked, too
  double beyond = 0;            ///< what loads give behind the end
  std::int64_t rounded_to = 1;  ///< the extent that ends was rounded up to a multiple of it
};

/// Masks of loads, filled in the innermost loop around them whose variable tells how many lanes are left.
class EndMasks {
 public:
  EndMasks(Block& block, const EndedAxes& ended, int axis, const HardwareModel& model, const EndRules& rules)
      : block_(block), ended_(ended), axis_(axis), model_(model), rules_(rules) {
    for (const Node& node : block.program.body) numbers_.merge(uses_of(node).extents);
  }
  std::size_t masks() const { return masks_.size(); }

  bool run() { return walk(block_.program.body, "").empty() && good_; }

 private:
  using Masks = std::set<std::size_t>;
  struct Mask {
    AffineExpr first;
    std::int64_t lanes, number;
    MemoryId memory;
    BufferId buffer;
    Call fill;
  };

  /// The masks that have to be filled before the loop over `variable`.
  Masks walk(std::vector<Node>& nodes, const std::string& variable) {
    Masks outside, here;
    std::vector<Node> made;
    for (Node& node : nodes) {
      for (const std::size_t m : masks_of(node))
        if (!masks_[m].first.names().contains(variable))
          outside.insert(m);
        else if (here.insert(m).second)
          made.push_back(Node{masks_[m].fill});
      if (filled_) made.push_back(Node{*std::exchange(filled_, std::nullopt)});
      made.push_back(std::move(node));
    }
    nodes = std::move(made);
    return outside;
  }
  Masks masks_of(Node& node) {
    if (auto* loop = std::get_if<Loop>(&node.is)) {
      if (loop->unroll) unrolled_.insert(loop->variable);
      return walk(loop->body, loop->variable);
    }
    if (auto* call = std::get_if<Call>(&node.is)) return reads_ended(*call) ? mask(*call) : Masks{};
    if (auto* guard = std::get_if<Guard>(&node.is)) {
      Masks masks = walk(guard->then, "");
      masks.merge(walk(guard->otherwise, ""));
      return masks;
    }
    if (const auto* element = std::get_if<Element>(&node.is))
      good_ = good_ && !(rules_.stores && ended_axis(element->write)) &&
              std::none_of(element->reads.begin(), element->reads.end(),
                           [&](const Ref& read) { return ended_axis(read).has_value(); });
    return {};
  }

  /// Of an argument that ends: its axis.
  std::optional<std::size_t> ended_axis(const Ref& ref) const {
    if (!ref.buffer.valid()) return std::nullopt;
    const Buffer& buffer = block_.program.buffers[ref.buffer.index()];
    const auto found = ended_.find(buffer.tensor);
    if (buffer.role != BufferRole::argument || buffer.ahead_of_time || found == ended_.end()) return std::nullopt;
    return found->second;
  }
  bool reads_ended(const Call& call) const {
    return std::any_of(call.operands.begin(), call.operands.end(),
                       [&](const Ref& ref) { return ended_axis(ref).has_value(); });
  }

  Masks refuse() {
    good_ = false;
    return {};
  }
  /// A number that is the extent of no call: below `lanes`, which it stands for, or any. Nothing: there is none below.
  std::optional<std::int64_t> unused_number(std::int64_t lanes, bool below) {
    const auto is_used = [&](std::int64_t number) {
      return numbers_.contains(number) || block_.masked.contains(number) || block_.ended.contains(number);
    };
    std::int64_t number = lanes - 1;
    while (number > 0 && is_used(number)) --number;
    if (number == 0 && below) return std::nullopt;
    if (number == 0)
      for (number = lanes + 1; is_used(number);) ++number;
    numbers_.insert(number);
    return number;
  }
  /// A move to a local array that writes zeros behind what it takes needs no mask: it takes the positions that are
  /// left, of which there are some.
  bool end_move(Call& call, std::size_t d, const AffineExpr& first) {
    if (!call.operands[0].buffer.valid()) return false;  // a prefetch
    const Instruction& move = model_.instruction(call.instruction);
    const auto& range = move.ranges[d];
    const Buffer& to = block_.program.buffers[call.operands[0].buffer.index()];
    const std::int64_t positions = call.extents[d];
    const bool takes_any = range.min <= 1 && range.multiple_of == 1 && !range.known_at_compile_time && !range.kept;
    if (rules_.stores || rules_.beyond != 0 || move.inactive != Inactive::zero || to.role != BufferRole::local ||
        to.slots >= 0 || !takes_any || positions < 2 || positions != range.max || positions != rules_.rounded_to)
      return false;
    call.extents[d] = *unused_number(positions, false);
    block_.ended[call.extents[d]] = {axis_, first, positions};
    return true;
  }
  /// The load under a mask; refused where it is no load of neighbours along the axis.
  Masks mask(Call& call) {
    const Instruction& instruction = model_.instruction(call.instruction);
    const bool store = ended_axis(call.operands[0]).has_value();
    if (!is_move(instruction) || !call.masks.empty() || (store && (!rules_.stores || ended_axis(call.operands[1]))))
      return refuse();
    const Ref& ref = call.operands[store ? 0 : 1];
    const AffineExpr& index = ref.index[*ended_axis(ref)];
    std::vector<std::string> dims;
    for (const std::string& name : index.names())
      if (name.starts_with('$')) dims.push_back(name);
    if (dims.size() != 1 || !index.is_linear() || index.coefficient(dims[0]) != 1) return refuse();
    for (const std::string& name : index.names())  // printed as a number, which the lanes that are left do not have
      if (unrolled_.contains(name)) return refuse();
    const std::string dim = dims[0].substr(1);
    const auto d = static_cast<std::size_t>(instruction.statement().domain.find(dim));
    if (end_move(call, d, index - AffineExpr::dim(dims[0]))) return {};
    const bool keeps = store || rules_.beyond != 0;
    const auto move = masked_move(model_, instruction, dim, keeps ? Inactive::keep : Inactive::zero);
    const std::int64_t lanes = call.extents[d];
    if (!move || lanes < 2 || lanes != instruction.ranges[d].max) return refuse();
    if (rules_.beyond != 0 && !fill_before(call.operands[0], dim, lanes)) return refuse();
    const auto m = mask_of(index - AffineExpr::dim(dims[0]), lanes, model_.instruction(*move).masks[0].second);
    if (!m || (rules_.stores && !has_room(masks_[*m].memory, call.operands[store ? 1 : 0]))) return refuse();
    call.instruction = *move;
    call.extents[d] = masks_[*m].number;
    call.masks = {{masks_[*m].buffer, {AffineExpr(0)}}};
    return {*m};
  }
  /// The lanes that the load of this register keeps.
  bool fill_before(const Ref& loaded, const std::string& dim, std::int64_t lanes) {
    const auto fill = value_fill(model_, block_.program.buffers[loaded.buffer.index()], lanes, rules_.beyond);
    if (!fill || filled_) return false;
    const std::string own = "$" + model_.instruction(*fill).statement().domain.dims[0].name;
    filled_.emplace();
    filled_->instruction = *fill;
    filled_->operands = {loaded};
    for (AffineExpr& e : filled_->operands[0].index) e = substitute(e, {{"$" + dim, AffineExpr::dim(own)}});
    filled_->extents = {lanes};
    return true;
  }
  /// Registers for all masks that hold no values.
  bool has_room(MemoryId mask, const Ref& value) const {
    const Memory& masks = model_.memory(mask);
    if (static_cast<std::int64_t>(masks_.size()) > masks.count) return false;
    for (const auto& [type, letters] : model_.memory(block_.program.buffers[value.buffer.index()].memory).constraint)
      for (const auto& own : masks.constraint)
        if (own.second == letters) return false;
    return true;
  }
  std::optional<std::size_t> mask_of(const AffineExpr& first, std::int64_t lanes, MemoryId memory) {
    for (std::size_t m = 0; m < masks_.size(); ++m)
      if (masks_[m].first == first && masks_[m].lanes == lanes && masks_[m].memory == memory) return m;
    const auto fill = mask_fill(model_, memory, lanes);
    const auto number = unused_number(lanes, true);
    if (!fill || !number) return std::nullopt;
    Buffer buffer;
    buffer.name = "mask_to_end" + (block_.ended.empty() ? "" : std::to_string(block_.ended.size() + 1));
    buffer.memory = memory;
    buffer.dtype = DType::b1;
    buffer.extents = {lanes};
    buffer.slots = 0;
    block_.program.buffers.push_back(buffer);
    const BufferId id = make_id<BufferId>(block_.program.buffers.size() - 1);
    Call call;
    call.instruction = *fill;
    call.operands = {{id, {AffineExpr::dim("$" + model_.instruction(*fill).statement().domain.dims[0].name)}}};
    call.extents = {*number};
    block_.ended[*number] = {axis_, first, lanes};
    masks_.push_back({first, lanes, *number, memory, id, std::move(call)});
    return masks_.size() - 1;
  }

  Block& block_;
  const EndedAxes& ended_;
  const int axis_;
  const HardwareModel& model_;
  const EndRules rules_;
  std::optional<Call> filled_;      ///< before the node that is visited
  std::set<std::int64_t> numbers_;  ///< extents of calls
  std::set<std::string> unrolled_;  ///< variables of loops
  std::vector<Mask> masks_;
  bool good_ = true;
};

using Values = std::map<std::string, AffineExpr>;

void put_values(Ref& ref, const Values& values) {
  for (AffineExpr& e : ref.index) e = substitute(e, values);
}

/// The nodes with numbers in place of loop variables; loops among them get names of their own.
std::vector<Node> with_values(std::vector<Node> nodes, const Values& values, const std::string& suffix) {
  for (Node& node : nodes)
    if (auto* loop = std::get_if<Loop>(&node.is)) {
      Values inner = values;
      inner[loop->variable] = AffineExpr::dim(loop->variable + suffix);
      loop->variable += suffix;
      loop->body = with_values(std::move(loop->body), inner, suffix);
    } else if (auto* call = std::get_if<Call>(&node.is)) {
      for (Ref& operand : call->operands) put_values(operand, values);
      for (Ref& mask : call->masks) put_values(mask, values);
    }
  return nodes;
}

/// Loops over lanes that are unrolled, written out, so that each vector has a mask of its own.
class UnrolledLanes {
 public:
  UnrolledLanes(const Block& block, const EndedAxes& ended) : block_(block), ended_(ended) {}

  /// False: not known how.
  bool write_out(std::vector<Node>& nodes) {
    std::vector<Node> made;
    for (Node& node : nodes) {
      auto* loop = std::get_if<Loop>(&node.is);
      if (loop == nullptr || !uses_of(node).plain) {
        made.push_back(std::move(node));
        continue;
      }
      if (!write_out(loop->body)) return false;
      if (!loop->unroll || !moves(loop->body, loop->variable)) {
        made.push_back(std::move(node));
        continue;
      }
      for (const std::string& inner : uses_of(node).variables)
        if (block_.loops.contains(inner)) return false;
      for (std::int64_t n = 0; n < loop->trip; ++n)
        for (Node& one : with_values(loop->body, {{loop->variable, AffineExpr(n)}}, "_" + std::to_string(n)))
          made.push_back(std::move(one));
    }
    nodes = std::move(made);
    return true;
  }

 private:
  /// Does an axis that ends move with this variable?
  bool moves(const std::vector<Node>& nodes, const std::string& variable) const {
    return std::any_of(nodes.begin(), nodes.end(), [&](const Node& node) {
      if (const auto* loop = std::get_if<Loop>(&node.is)) return moves(loop->body, variable);
      const auto* call = std::get_if<Call>(&node.is);
      return call != nullptr && std::any_of(call->operands.begin(), call->operands.end(), [&](const Ref& ref) {
               if (!ref.buffer.valid()) return false;
               const Buffer& buffer = block_.program.buffers[ref.buffer.index()];
               const auto found = ended_.find(buffer.tensor);
               return buffer.role == BufferRole::argument && !buffer.ahead_of_time && found != ended_.end() &&
                      ref.index[found->second].names().contains(variable);
             });
    });
  }

  const Block& block_;
  const EndedAxes& ended_;
};

}  // namespace

bool mask_short_tiles(Block& block, const std::map<TensorId, std::size_t>& ended, int axis,
                      const HardwareModel& model) {
  if (!UnrolledLanes(block, ended).write_out(block.program.body)) return false;
  EndMasks masks(block, ended, axis, model, {.stores = true});
  if (!masks.run() || masks.masks() == 0) return false;
  return std::all_of(block.ended.begin(), block.ended.end(), [&](const auto& one) { return one.second.axis == axis; });
}

std::set<TensorId> maskable_inputs(const Block& block, const GridShape& shape, std::size_t axis, std::int64_t tile,
                                   const HardwareModel& model) {
  std::set<TensorId> copied, found;
  for (const SharedCopy& copy : shared_copies(block, shape)) copied.insert(copy.tensor);
  for (const auto& one : axes_along(shape, axis)) {
    Block tried = block;
    const EndedAxes alone{one};
    EndMasks masks(tried, alone, static_cast<int>(axis), model, {.beyond = neutral_value(shape), .rounded_to = tile});
    if (masks.run() && !tried.ended.empty() && (masks.masks() == 0 || !copied.contains(one.first)))
      found.insert(one.first);
  }
  return found;
}

bool mask_ends(Block& block, const GridShape& shape, const HardwareModel& model) {
  for (std::size_t axis = 0; axis < shape.axes.size(); ++axis) {
    if (!shape.axes[axis].end) continue;
    const EndRules rules{.beyond = neutral_value(shape), .rounded_to = shape.axes[axis].multiple};
    if (!EndMasks(block, axes_along(shape, axis), static_cast<int>(axis), model, rules).run()) return false;
  }
  return true;
}

}  // namespace isamap

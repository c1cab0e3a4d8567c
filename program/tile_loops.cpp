// SPDX-License-Identifier: Apache-2.0
#include "program/tile_loops.h"

#include <algorithm>

#include "ir/operand_use.h"
#include "program/partial_moves.h"

namespace isamap {
namespace {

/// v occurs in `e` as a linear term only.
bool is_linear_in(const AffineExpr& e, const std::string& v) {
  return !(e - e.coefficient(v) * AffineExpr::dim(v)).names().contains(v);
}

class TileLoopFinder {
 public:
  TileLoopFinder(const Program& program, const HardwareModel& model, const GridShape& shape,
                 const std::vector<std::int64_t>& counts, const std::vector<std::int64_t>& tiles)
      : program_(program), model_(model), shape_(shape), counts_(counts), tiles_(tiles) {}

  std::optional<TileLoops> run() {
    walk_in(Pass::arguments);
    // Loops that fill or read an array with sections walk the axis, too, and may give other arrays sections: sums in
    // lanes of columns that only a copy has.
    for (std::size_t known = 0; good_ && known != found_.loops.size();) {
      known = found_.loops.size();
      walk_in(Pass::sections);
      walk_in(Pass::fills);
    }
    walk_in(Pass::uses);
    if (!good_) return std::nullopt;
    for (const auto& [variable, loop] : found_.loops)  // where it is not one of windows, too
      good_ = good_ && (loose_.contains(loop.axis) ? strict_.contains(loop.axis) : true);
    for (const auto& [buffer, axes] : found_.grown) good_ = good_ && is_dense(program_.buffers[buffer.index()]);
    for (std::size_t axis = 0; axis < tiles_.size(); ++axis)
      good_ = good_ && (tiles_[axis] == 0 || std::any_of(found_.loops.begin(), found_.loops.end(), [&](const auto& l) {
                          return l.second.axis == static_cast<int>(axis);
                        }));
    return good_ ? std::optional(std::move(found_)) : std::nullopt;
  }

 private:
  enum class Pass {
    arguments,  ///< loops that walk an axis of an argument
    sections,   ///< local arrays with a section for each step of these
    fills,      ///< loops over all of such an array
    uses        ///< all other uses of their variables
  };

  static bool is_dense(const Buffer& buffer) {
    Tensor tensor;
    tensor.shape = buffer.extents;
    return buffer.strides == strides_of(tensor) && !buffer.swizzle;
  }

  /// How the axis of an argument moves with a walked axis.
  AxisMove move_of(const Buffer& buffer, std::size_t axis) const {
    if (buffer.role != BufferRole::argument || buffer.ahead_of_time) return {};
    const AxisMove move = shape_.moves[buffer.tensor.index()][axis];
    return move.axis >= 0 && tiles_[static_cast<std::size_t>(move.axis)] > 0 ? move : AxisMove{};
  }

  /// The outermost open loop that walks the whole axis by this subscript.
  const Loop* loop_of(const AffineExpr& index, const AxisMove& move) const {
    const auto axis = static_cast<std::size_t>(move.axis);
    for (const Loop* loop : open_) {
      const std::int64_t step = index.coefficient(loop->variable);
      if (step <= 0 || step % move.factor != 0 || step / move.factor * loop->trip != counts_[axis]) continue;
      if (loop->trip < 2 || loop->unroll || !loop->unit.empty() || loop->instances != 0) continue;
      const std::int64_t positions = step / move.factor;
      if (!is_linear_in(index, loop->variable)) continue;
      if (tiles_[axis] % positions == 0 || moves_partly(*loop, positions, move)) return loop;
    }
    return nullptr;
  }
  bool moves_partly(const Loop& loop, std::int64_t positions, const AxisMove& move) const {
    return move.factor == 1 && positions % tiles_[static_cast<std::size_t>(move.axis)] == 0 &&
           partial_moves(loop.body, program_, model_, loop.variable, positions) != PartialMove::none;
  }

  void find(const Ref& ref, const Buffer& buffer, const Ranges& ranges) {
    for (std::size_t d = 0; d < ref.index.size(); ++d) {
      const AxisMove move = move_of(buffer, d);
      if (move.axis < 0) continue;
      const Loop* const loop = loop_of(ref.index[d], move);
      good_ = good_ && loop != nullptr;
      if (!good_) return;
      const std::int64_t step = ref.index[d].coefficient(loop->variable) / move.factor;
      if (tiles_[index_of(move)] % step != 0) {
        found_.partial.insert(loop->variable);
        if (partial_moves(loop->body, program_, model_, loop->variable, step) == PartialMove::exact)
          exact_.insert(loop->variable);
      }
      const auto [known, is_new] = found_.loops.emplace(loop->variable, TileLoop{move.axis, step});
      const auto around = std::count_if(open_.begin(), open_.end(), [&](const Loop* open) {
        const auto one = found_.loops.find(open->variable);
        return one != found_.loops.end() && one->second.axis == move.axis;
      });
      good_ = known->second == TileLoop{move.axis, step} && around == 1;
      const bool input = role_of(program_.kernel, buffer.tensor) == Role::input;
      if (input && !shape_.axes[index_of(move)].reduced) continue;
      const bool stays = stays_in(ref.index[d], loop->variable, move.factor * step, ranges);
      good_ = good_ && (stays || input);
      // Windows that overlap do not tell that each position is summed once; another operand must.
      (stays ? strict_ : loose_).insert(move.axis);
    }
  }
  static std::size_t index_of(const AxisMove& move) { return static_cast<std::size_t>(move.axis); }
  static bool stays_in(const AffineExpr& index, const std::string& variable, std::int64_t section,
                       const Ranges& ranges) {
    const auto rest = bounds(index - index.coefficient(variable) * AffineExpr::dim(variable), ranges);
    return rest && rest->low >= 0 && rest->high < section;
  }

  /// The walking variables in a subscript.
  std::vector<std::string> variables_in(const AffineExpr& e) const {
    std::vector<std::string> found;
    for (const std::string& name : e.names())
      if (found_.loops.contains(name)) found.push_back(name);
    return found;
  }

  void check(const Ref& ref, const Buffer& buffer, const Ranges& ranges) {
    for (std::size_t d = 0; d < ref.index.size(); ++d) {
      const auto variables = variables_in(ref.index[d]);
      if (const AxisMove move = move_of(buffer, d); move.axis >= 0) {
        good_ = good_ && variables.size() == 1 && found_.loops.at(variables[0]).axis == move.axis;
        continue;
      }
      const bool local = buffer.role == BufferRole::local && buffer.slots < 0 && !buffer.counter;
      if (variables.empty() && !(local && grows(ref.buffer, d))) continue;
      good_ = good_ && local && variables.size() == 1 && has_sections(ref, d, variables[0], ranges);
    }
  }
  bool grows(BufferId id, std::size_t axis) const {
    const auto found = found_.grown.find(id);
    return found != found_.grown.end() && found->second[axis].axis >= 0;
  }
  /// A local array with a section for each step.
  bool has_sections(const Ref& ref, std::size_t d, const std::string& variable, const Ranges& ranges) {
    const Buffer& buffer = program_.buffers[ref.buffer.index()];
    const AffineExpr& index = ref.index[d];
    const std::int64_t section = index.coefficient(variable);
    const TileLoop loop = found_.loops.at(variable);
    const std::int64_t trip = counts_[static_cast<std::size_t>(loop.axis)] / loop.step;
    if (section < 1 || !is_linear_in(index, variable) || buffer.extents[d] != section * trip) return false;
    if (!stays_in(index, variable, section, ranges)) return false;
    // Of a section of several positions there may be a part: the loop that reads them counts positions.
    if (exact_.contains(variable) && pass_ == Pass::sections) return true;
    auto& axes = found_.grown.try_emplace(ref.buffer, std::vector<TileLoop>(buffer.extents.size())).first->second;
    if (axes[d].axis < 0 && pass_ == Pass::sections) axes[d] = loop;
    return axes[d].axis == loop.axis;  // the extent says how large a section is for each position
  }
  void find_sections(const Ref& ref, const Buffer& buffer, const Ranges& ranges) {
    if (buffer.role != BufferRole::local || buffer.slots >= 0 || buffer.counter) return;
    for (std::size_t d = 0; d < ref.index.size(); ++d)
      if (const auto variables = variables_in(ref.index[d]); variables.size() == 1)
        good_ = good_ && has_sections(ref, d, variables[0], ranges);
  }

  /// A loop over all of a grown axis, such as one that fills it with zeros where a tile pads, has as many steps for
  /// each section.
  void find_fill(const Ref& ref, const Buffer& buffer) {
    const auto grown = found_.grown.find(ref.buffer);
    for (std::size_t d = 0; grown != found_.grown.end() && d < ref.index.size(); ++d) {
      const TileLoop sections = grown->second[d];
      if (sections.axis < 0 || !variables_in(ref.index[d]).empty()) continue;
      const auto axis = static_cast<std::size_t>(sections.axis);
      for (const Loop* loop : open_) {
        const std::int64_t step = ref.index[d].coefficient(loop->variable);
        if (step <= 0 || step * loop->trip != buffer.extents[d] || counts_[axis] % loop->trip != 0) continue;
        if (loop->trip < 2 || loop->unroll || !loop->unit.empty() || loop->instances != 0) continue;
        const std::int64_t positions = counts_[axis] / loop->trip;
        if (tiles_[axis] % positions != 0 || !is_linear_in(ref.index[d], loop->variable)) continue;
        found_.loops.emplace(loop->variable, TileLoop{sections.axis, positions});
        break;
      }
    }
  }

  void use(const Ref& ref, const Ranges& ranges) {
    if (!good_) return;
    if (!ref.buffer.valid()) {
      for (const AffineExpr& e : ref.index) refuse_in(e);
      return;
    }
    const Buffer& buffer = program_.buffers[ref.buffer.index()];
    switch (pass_) {
      case Pass::arguments:
        return find(ref, buffer, ranges);
      case Pass::sections:
        return find_sections(ref, buffer, ranges);
      case Pass::fills:
        return find_fill(ref, buffer);
      case Pass::uses:
        return check(ref, buffer, ranges);
    }
  }
  void refuse_in(const AffineExpr& e) { good_ = good_ && (pass_ != Pass::uses || variables_in(e).empty()); }

  void walk_in(Pass pass) {
    pass_ = pass;
    if (good_) walk(program_.body);
  }
  void walk(const std::vector<Node>& nodes) {
    for (const Node& node : nodes)
      if (good_) std::visit([&](const auto& n) { visit(n); }, node.is);
  }
  void visit(const Loop& loop) {
    if (loop.trip <= 0) return;
    ranges_[loop.variable] = {0, loop.trip - 1};
    open_.push_back(&loop);
    walk(loop.body);
    open_.pop_back();
    ranges_.erase(loop.variable);
  }
  void visit(const Guard& guard) {
    good_ = good_ && guard.role.empty();
    for (const AffineExpr& condition : guard.conditions) refuse_in(condition);
    walk(guard.then);
    walk(guard.otherwise);
  }
  void visit(const Call& call) {
    const Instruction& instruction = model_.instruction(call.instruction);
    for (std::size_t i = 0; i < call.operands.size(); ++i)
      use(call.operands[i], ranges_of_call(ranges_, instruction, call, i == 0 ? 0 : -1));
    for (const Ref& mask : call.masks) use(mask, ranges_);
    good_ = good_ && !call.counter.buffer.valid();
  }
  void visit(const Element& element) {
    use(element.write, ranges_);
    for (const Ref& read : element.reads) use(read, ranges_);
  }
  void visit(const Sync&) { good_ = false; }
  void visit(const Comment&) {}

  const Program& program_;
  const HardwareModel& model_;
  const GridShape& shape_;
  const std::vector<std::int64_t>&counts_, &tiles_;
  Pass pass_ = Pass::arguments;
  bool good_ = true;
  TileLoops found_;
  std::set<std::string> exact_;   ///< of `partial`, those that write no more than they move
  std::set<int> strict_, loose_;  ///< axes by whether a use stays in the section of its step
  std::vector<const Loop*> open_;
  Ranges ranges_;
};

}  // namespace

std::optional<TileLoops> tile_loops(const Program& program, const HardwareModel& model, const GridShape& shape,
                                    const std::vector<std::int64_t>& counts, const std::vector<std::int64_t>& tiles) {
  return TileLoopFinder(program, model, shape, counts, tiles).run();
}

}  // namespace isamap

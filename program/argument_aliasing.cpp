// SPDX-License-Identifier: Apache-2.0
#include "program/argument_aliasing.h"

#include <algorithm>
#include <limits>

#include "hwdesc/model/async_kind.h"
#include "hwdesc/model/prefetch.h"
#include "program/call_rows.h"

namespace isamap {
namespace {

constexpr std::int64_t several = std::numeric_limits<std::int64_t>::max();

/// Offsets of one operand of a call or element statement.
struct Touch {
  CompiledAffine base;
  std::vector<std::int64_t> distances;
};
constexpr std::size_t most_elements = std::size_t{1} << 24;  // the walk keeps 8 bytes of each

struct Touches {
  std::vector<Touch> reads, writes;
};

class OverwriteCheck {
 public:
  OverwriteCheck(const Program& program, const HardwareModel& model, BufferId read, BufferId written)
      : program_(program), model_(model), read_(read), written_(written) {}

  bool run() {
    if (!program_.versions.empty() || !is_plain(read_) || !is_plain(written_)) return false;
    if (!collect(program_.body)) return false;
    const auto count = static_cast<std::size_t>(
        std::max(element_span(program_.buffers[read_.index()]), element_span(program_.buffers[written_.index()])));
    if (count > most_elements) return false;
    last_read_.assign(count, -1);
    overwritten_.assign(count, false);
    values_.assign(names_.size(), 0);
    walk(program_.body);
    return !late_;
  }

 private:
  bool is_plain(BufferId id) const {
    const Buffer& buffer = program_.buffers[id.index()];
    return buffer.slots < 0 && !buffer.swizzle && buffer.role == BufferRole::argument && !buffer.ahead_of_time;
  }
  bool is_either(const Ref& ref) const { return ref.buffer == read_ || ref.buffer == written_; }

  // Names get their slots, and statements their touches, before anything is walked.

  /// False: a node whose accesses are not known.
  bool collect(const std::vector<Node>& nodes) {
    for (const Node& node : nodes) {
      bool known = true;
      const std::size_t before = touches_.size();
      if (const auto* loop = std::get_if<Loop>(&node.is)) {
        names_.push_back(loop->variable);
        known = collect(loop->body);
      } else if (const auto* guard = std::get_if<Guard>(&node.is)) {
        known = guard->role.empty() && collect(guard->then) && collect(guard->otherwise);
      } else if (const auto* call = std::get_if<Call>(&node.is)) {
        known = add(*call, touches_[&node]);
      } else if (const auto* element = std::get_if<Element>(&node.is)) {
        known = add(*element, touches_[&node]);
      }
      if (!known) return false;
      if (const auto own = touches_.find(&node);
          own != touches_.end() && own->second.reads.empty() && own->second.writes.empty())
        touches_.erase(own);
      if (touches_.size() > before) touches_.try_emplace(&node);
    }
    return true;
  }

  bool add(const Call& call, Touches& touches) const {
    const Instruction& instruction = model_.instruction(call.instruction);
    if (is_prefetch(instruction, model_)) return true;
    std::vector<std::string> dims;
    for (const Dim& dim : instruction.statement().domain.dims) dims.push_back("$" + dim.name);
    const std::vector<std::int64_t> whole = touched_extents(instruction, call.extents);
    for (std::size_t i = 0; i < call.operands.size(); ++i) {
      if (!call.operands[i].buffer.valid() || !is_either(call.operands[i])) continue;
      if (completes_by_fence(instruction, model_)) return false;
      auto touch = touch_of(call.operands[i], dims, i == 0 ? whole : call.extents);
      if (!touch) return false;
      (i == 0 ? touches.writes : touches.reads).push_back(std::move(*touch));
    }
    return true;
  }

  bool add(const Element& element, Touches& touches) const {
    const auto list = [&](const Ref& ref, std::vector<Touch>& to) {
      if (!ref.buffer.valid() || !is_either(ref)) return true;
      for (const AffineExpr& index : ref.index)
        for (const std::string& name : index.names())
          if (computed_read(name)) return false;
      auto touch = touch_of(ref, {}, {});
      if (touch) to.push_back(std::move(*touch));
      return touch.has_value();
    };
    return list(element.write, touches.writes) &&
           std::all_of(element.reads.begin(), element.reads.end(),
                       [&](const Ref& read) { return list(read, touches.reads); });
  }

  std::optional<Touch> touch_of(const Ref& ref, const std::vector<std::string>& dims,
                                const std::vector<std::int64_t>& extents) const {
    const auto split = split_offset(flat_offset(program_.buffers[ref.buffer.index()], ref.index));
    if (!split) return std::nullopt;
    DistanceTables tables;
    const auto table = tables.over(split->distance, dims, extents);
    if (!table) return std::nullopt;
    return Touch{CompiledAffine(split->base, names_), table->distances};
  }

  // The walk.

  void walk(const std::vector<Node>& nodes) {
    for (const Node& node : nodes) {
      const auto touches = touches_.find(&node);
      if (touches == touches_.end() || late_) continue;
      if (const auto* loop = std::get_if<Loop>(&node.is))
        walk(*loop);
      else if (const auto* guard = std::get_if<Guard>(&node.is))
        walk(holds(*guard) ? guard->then : guard->otherwise);
      else
        visit(touches->second);
    }
  }

  void walk(const Loop& loop) {
    const auto slot = static_cast<std::size_t>(std::find(names_.begin(), names_.end(), loop.variable) - names_.begin());
    const bool spread = !loop.unit.empty(), outermost = spread && !inside_;
    const std::int64_t around = iteration_;
    if (outermost) region_ = count_ + 1;
    inside_ |= spread;
    for (std::int64_t value = 0; value < loop.trip && !late_; ++value) {
      values_[slot] = value;
      if (spread) iteration_ = ++count_;
      walk(loop.body);
    }
    iteration_ = around;
    if (!outermost) return;
    inside_ = false;
    iteration_ = region_ = ++count_;
  }

  bool holds(const Guard& guard) const {
    return std::all_of(guard.conditions.begin(), guard.conditions.end(), [&](const AffineExpr& condition) {
      return CompiledAffine(condition, names_)(values_.data()) >= 0;
    });
  }

  void visit(const Touches& touches) {
    for (const Touch& read : touches.reads)
      for_each(read, [&](std::size_t at) {
        std::int64_t& last = last_read_[at];
        late_ |= overwritten_[at];
        last = last >= region_ && last != iteration_ ? several : iteration_;
      });
    for (const Touch& write : touches.writes)
      for_each(write, [&](std::size_t at) {
        late_ |= last_read_[at] >= region_ && last_read_[at] != iteration_;
        overwritten_[at] = true;
      });
  }

  template <class Visit>
  void for_each(const Touch& touch, const Visit& at) {
    const std::int64_t base = touch.base(values_.data());
    for (const std::int64_t distance : touch.distances) {
      const std::int64_t offset = base + distance;
      if (offset < 0 || offset >= static_cast<std::int64_t>(last_read_.size()))
        late_ = true;  // beyond both: not our question, but no proof
      else
        at(static_cast<std::size_t>(offset));
    }
  }

  const Program& program_;
  const HardwareModel& model_;
  const BufferId read_, written_;
  std::vector<std::string> names_;
  std::vector<std::int64_t> values_;        ///< of loop variables
  std::map<const Node*, Touches> touches_;  ///< of nodes that touch either buffer, loops around them included
  std::vector<std::int64_t> last_read_;     ///< by offset: iteration over instances; -1: none, `several`: of more
  std::vector<bool> overwritten_;           ///< by offset
  std::int64_t count_ = 0, iteration_ = 0;  ///< iterations over instances are numbered
  std::int64_t region_ = 0;                 ///< the first one of the loop over instances that is walked
  bool inside_ = false;                     ///< of a loop over instances
  bool late_ = false;  ///< an element is read after, or by other instances while, it is overwritten
};

}  // namespace

bool reads_before_overwriting(const Program& program, const HardwareModel& model, BufferId read, BufferId written) {
  return OverwriteCheck(program, model, read, written).run();
}

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/stage_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "backends/cuda/independent_loops.h"
#include "backends/cuda/launches.h"
#include "backends/cuda/loop_substitution.h"
#include "ir/operand_use.h"
#include "isamap/kernel.h"
#include "support/arithmetic.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

/// The elements of one buffer that a block touches: from `base`, over its number, + `low` to `base` + `high`.
struct Window {
  AffineExpr base;
  std::int64_t low = 0, high = -1;
  bool one = true;  ///< all accesses are in it
  bool written = false;
  std::int64_t moved = 0;  ///< elements that nests read and write: for each nest those that are different

  std::int64_t elements() const { return high - low + 1; }
};

class WindowFinder {
 public:
  WindowFinder(const Program& program, const Loop& blocks) : program_(program), block_(blocks.variable) {
    for (const Node& nest : blocks.body) {
      collect({nest}, {{block_, {0, blocks.trip - 1}}});
      for (const auto& [access, elements] : of_nest_)
        found[access.first].moved += std::min(elements, found[access.first].elements());
      of_nest_.clear();
    }
  }

  std::map<std::int32_t, Window> found;  ///< by buffer

 private:
  void note(const Ref& ref, bool written, const Ranges& ranges) {
    if (!ref.buffer.valid()) return;
    const Buffer& buffer = program_.buffers[ref.buffer.index()];
    Window& window = found[ref.buffer.value];
    window.written |= written;
    for (const AffineExpr& e : ref.index)
      for (const std::string& name : e.names()) window.one &= ranges.contains(name);
    if (!window.one || buffer.slots >= 0) return void(window.one = false);
    const AffineExpr offset = element_offset(buffer, ref, ranges);
    const auto parts = split_offset(offset, block_);
    const auto range = parts ? bounds(parts->rest, ranges) : std::nullopt;
    window.one = range && (window.elements() <= 0 || parts->base == window.base);
    if (!window.one) return;
    const bool first = window.elements() <= 0;
    window.base = parts->base;
    window.low = first ? range->low : std::min(window.low, range->low);
    window.high = first ? range->high : std::max(window.high, range->high);
    std::int64_t elements = 1;
    for (const std::string& name : parts->rest.names()) elements *= ranges.at(name).high + 1;
    std::int64_t& most = of_nest_[{ref.buffer.value, written}];
    most = std::max(most, elements);
  }

  void collect(const std::vector<Node>& nodes, const Ranges& ranges) {
    for (const Node& node : nodes)
      std::visit(overloaded{[&](const Loop& loop) {
                              Ranges inside = ranges;
                              inside[loop.variable] = {0, loop.trip - 1};
                              collect(loop.body, inside);
                            },
                            [&](const Guard& guard) {
                              collect(guard.then, ranges);
                              collect(guard.otherwise, ranges);
                            },
                            [&](const Call& call) {
                              for (const Ref& ref : call.operands)
                                if (ref.buffer.valid()) found[ref.buffer.value].one = false;
                            },
                            [&](const Element& element) {
                              note(element.write, true, ranges);
                              for (const Ref& read : element.reads) note(read, false, ranges);
                            },
                            [](const auto&) {}},
                 node.is);
  }

  const Program& program_;
  const std::string block_;
  std::map<std::pair<std::int32_t, bool>, std::int64_t> of_nest_;  ///< elements, by buffer and whether written
};

/// A window that moves into the block's memory.
struct StagedWindow {
  std::int32_t from = -1;  ///< buffer
  Window window;
  bool loaded = false;     ///< before the first nest
  std::int64_t saved = 0;  ///< elements that do not pass through the outermost memory
  BufferId to;
};

class RowStager {
 public:
  /// `scalar`: the unit that executes element statements.
  RowStager(Program& program, const HardwareModel& model, UnitId grid, MemoryId memory, UnitId scalar)
      : program_(program), model_(model), grid_(grid), memory_(memory), scalar_(scalar) {}

  /// `elsewhere`: buffers that other launches use.
  void stage(Loop& blocks, const BufferUse& elsewhere) {
    block_ = blocks.variable;
    ranges_ = {{block_, {0, blocks.trip - 1}}};
    staged_ = worth(WindowFinder(program_, blocks).found, elsewhere);
    place();
    if (staged_.empty()) return;
    rewrite(blocks.body, ranges_);
    std::vector<Node> loads;
    for (const auto& [buffer, one] : staged_)
      if (one.loaded) loads.push_back(load(one));
    blocks.body.insert(blocks.body.begin(), loads.begin(), loads.end());
  }

 private:
  using Staged = std::map<std::int32_t, StagedWindow>;

  Staged worth(const std::map<std::int32_t, Window>& found, const BufferUse& elsewhere) const {
    Staged staged;
    for (const auto& [b, window] : found) {
      const Buffer& buffer = program_.buffers[static_cast<std::size_t>(b)];
      if (!window.one || model_.inside(model_.memory(buffer.memory).per, grid_)) continue;
      const auto index = static_cast<std::size_t>(b);
      const bool own = buffer.role == BufferRole::local && !buffer.ahead_of_time && !elsewhere.read[index] &&
                       !elsewhere.written[index];
      if (!own && !may_be_loaded(buffer, window)) continue;
      const std::int64_t saved = window.moved - (own ? 0 : window.elements());
      if (saved > 0 && window.elements() <= room() / bytes(buffer.dtype)) staged[b] = {b, window, !own, saved, {}};
    }
    return staged;
  }

  /// Bytes for rows of one block; a second block has as many.
  std::int64_t room() const { return model_.memory(memory_).capacity / 2; }

  /// Rows of its own for each block, which the launch leaves as they are: what all blocks read stays in caches.
  bool may_be_loaded(const Buffer& buffer, const Window& window) const {
    if (window.written || buffer.swizzle || buffer.strides.empty() || buffer.strides.back() != 1) return false;
    const auto base = bounds(window.base, ranges_);
    return window.base.names().contains(block_) && base && base->low + window.low >= 0 &&
           base->high + window.high < element_span(buffer);
  }

  /// Keeps what finds a place.
  void place() {
    std::vector<StagedWindow*> order;
    for (auto& [buffer, one] : staged_) order.push_back(&one);
    const auto size = [&](const StagedWindow& one) {
      return one.window.elements() * bytes(program_.buffers[static_cast<std::size_t>(one.from)].dtype);
    };
    std::stable_sort(order.begin(), order.end(), [&](const StagedWindow* a, const StagedWindow* b) {
      return a->saved * b->window.elements() > b->saved * a->window.elements();
    });
    std::int64_t used = 0;
    for (StagedWindow* one : order) {
      const Buffer& from = program_.buffers[static_cast<std::size_t>(one->from)];
      Buffer buffer;
      buffer.name = from.name + "_rows";
      buffer.memory = memory_;
      buffer.dtype = from.dtype;
      buffer.extents = {one->window.elements()};
      buffer.strides = {1};
      buffer.tensor = from.tensor;
      buffer.address = round_up(used, buffer.align);
      const std::int64_t end = buffer.address + size(*one);
      if (end > room()) continue;
      used = end;
      one->to = make_id<BufferId>(program_.buffers.size());
      program_.buffers.push_back(std::move(buffer));
    }
    std::erase_if(staged_, [](const auto& one) { return !one.second.to.valid(); });
  }

  void rewrite(Ref& ref, const Ranges& ranges) const {
    const auto found = ref.buffer.valid() ? staged_.find(ref.buffer.value) : staged_.end();
    if (found == staged_.end()) return;
    const StagedWindow& one = found->second;
    const AffineExpr offset = element_offset(program_.buffers[ref.buffer.index()], ref, ranges);
    ref = {one.to, {simplify(offset - one.window.base - AffineExpr(one.window.low), ranges)}};
  }

  void rewrite(std::vector<Node>& nodes, const Ranges& ranges) const {
    for (Node& node : nodes)
      std::visit(overloaded{[&](Loop& loop) {
                              Ranges inside = ranges;
                              inside[loop.variable] = {0, loop.trip - 1};
                              rewrite(loop.body, inside);
                            },
                            [&](Guard& guard) {
                              rewrite(guard.then, ranges);
                              rewrite(guard.otherwise, ranges);
                            },
                            [&](Element& element) {
                              rewrite(element.write, ranges);
                              for (Ref& read : element.reads) rewrite(read, ranges);
                            },
                            [](auto&) {}},
                 node.is);
  }

  Node load(const StagedWindow& one) const {
    const Buffer& from = program_.buffers[static_cast<std::size_t>(one.from)];
    const std::string number = fmt::format("{}_{}", program_.buffers[one.to.index()].name, one.to.index());
    Element element;
    element.unit = scalar_;
    element.write = {one.to, {AffineExpr::dim(number)}};
    Ref read_from{make_id<BufferId>(static_cast<std::size_t>(one.from)), {}};
    read_from.index.resize(from.extents.size());
    read_from.index.back() = one.window.base + AffineExpr(one.window.low) + AffineExpr::dim(number);
    element.reads = {std::move(read_from)};
    element.body = read(0, from.dtype);
    return Node{Loop{number, one.window.elements(), false, "", {Node{std::move(element)}}}};
  }

  Program& program_;
  const HardwareModel& model_;
  UnitId grid_;
  MemoryId memory_;
  UnitId scalar_;
  std::string block_;  ///< the variable of the launch
  Ranges ranges_;      ///< of it
  Staged staged_;      ///< by buffer
};

}  // namespace

void stage_rows(StitchedNests& nests, Program& program, const HardwareModel& model, UnitId grid) {
  const auto memory = scratchpad_of(model, grid);
  const auto scalar = model.scalar_unit_for(model.home());
  if (!memory || !scalar) return;
  for (const std::size_t place : nests.stitched) {
    auto& blocks = std::get<Loop>(nests.body[place].is);
    if (!std::all_of(blocks.body.begin(), blocks.body.end(),
                     [&](const Node& node) { return only_elements({node}, model, *scalar); }))
      continue;
    std::vector<Node> others = nests.body;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(place));
    RowStager(program, model, grid, *memory, *scalar).stage(blocks, buffer_use(others, program));
  }
}

}  // namespace isamap

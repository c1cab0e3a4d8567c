// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/function/scatter_loops.h"

#include <algorithm>

#include "ir/operand_use.h"

namespace isamap {
namespace {

/// A perfect nest of sequential loops, outermost first, around one element statement.
struct ElementNest {
  std::vector<const Loop*> loops;
  const Node* element = nullptr;
};

std::optional<ElementNest> element_nest(const Node& node) {
  ElementNest nest;
  const Node* at = &node;
  while (const auto* loop = std::get_if<Loop>(&at->is)) {
    if (!loop->unit.empty() || loop->body.size() != 1) return std::nullopt;
    nest.loops.push_back(loop);
    at = &loop->body.front();
  }
  if (!std::holds_alternative<Element>(at->is) || nest.loops.empty()) return std::nullopt;
  nest.element = at;
  return nest;
}

NamedExtent extent_of(const Loop& loop, const RuntimeNumbers* numbers) {
  const bool known =
      numbers == nullptr || (!numbers->trips.contains(loop.variable) && !numbers->ranges.contains(loop.variable));
  return {loop.variable, known ? loop.trip : -1};
}

std::optional<Scatter> scatter_in(const ElementNest& nest, const Program& program, const RuntimeNumbers* numbers) {
  std::vector<NamedExtent> loops;
  for (const Loop* loop : nest.loops) loops.push_back(extent_of(*loop, numbers));
  return scatter_of(std::get<Element>(nest.element->is), loops, program);
}

/// Is the loop's variable a subscript of the write? Then it can be moved inward: an element has one iteration of it.
bool has_own_elements(const Loop& loop, const Element& element) {
  const auto& write = element.write.index;
  return std::find(write.begin(), write.end(), AffineExpr::dim(loop.variable)) != write.end();
}

/// Are its iterations neighbours of a read that yields positions?
bool follows_positions(const Loop& loop, const Scatter& scatter, const ElementNest& nest, const Program& program) {
  const auto& element = std::get<Element>(nest.element->is);
  Ranges ranges;
  for (const Loop* around : nest.loops) ranges[around->variable] = {0, around->trip - 1};
  return std::any_of(scatter.operands.begin(), scatter.operands.end(), [&](int operand) {
    const Ref& read = element.reads[static_cast<std::size_t>(operand)];
    return read.buffer.valid() && program.buffers[read.buffer.index()].slots < 0 &&
           element_offset(program.buffers[read.buffer.index()], read, ranges).coefficient(loop.variable) == 1;
  });
}

std::optional<Node> with_digits_inside(const Node& node, const Program& program, const RuntimeNumbers* numbers) {
  const auto nest = element_nest(node);
  const auto scatter = nest ? scatter_in(*nest, program, numbers) : std::nullopt;
  if (!scatter) return std::nullopt;
  const auto& element = std::get<Element>(nest->element->is);
  const auto depth = [&](const Loop* loop) -> std::size_t {
    for (std::size_t d = 0; d < scatter->digits.size(); ++d)
      if (scatter->digits[d].first == loop->variable) return 2 + d;
    if (!has_own_elements(*loop, element)) return 0;
    if (!scatter->fixed.contains(loop->variable)) return 2 + scatter->digits.size();
    return follows_positions(*loop, *scatter, *nest, program) ? 1 : 0;
  };
  std::vector<const Loop*> loops = nest->loops;
  std::stable_sort(loops.begin(), loops.end(), [&](const Loop* a, const Loop* b) { return depth(a) < depth(b); });
  Node made = *nest->element;
  for (std::size_t l = loops.size(); l-- > 0;) {
    Loop around = *loops[l];
    around.body.clear();
    around.body.push_back(std::move(made));
    made = Node{std::move(around)};
  }
  return made;
}

}  // namespace

std::vector<Node> scatter_loops_inward(std::vector<Node> nodes, const Program& program, const RuntimeNumbers* numbers) {
  for (Node& node : nodes) {
    if (auto* guard = std::get_if<Guard>(&node.is)) {
      guard->then = scatter_loops_inward(std::move(guard->then), program, numbers);
      guard->otherwise = scatter_loops_inward(std::move(guard->otherwise), program, numbers);
    } else if (auto* loop = std::get_if<Loop>(&node.is)) {
      if (auto better = with_digits_inside(node, program, numbers))
        node = std::move(*better);
      else
        loop->body = scatter_loops_inward(std::move(loop->body), program, numbers);
    }
  }
  return nodes;
}

std::optional<ScatterItem> scatter_below(const Loop& loop, const Item& item, const Program& program,
                                         const RuntimeNumbers* numbers) {
  std::vector<NamedExtent> loops{extent_of(loop, numbers)};
  const Item* at = &item;
  while (at->body.size() == 1) {
    at = &at->body.front();
    const auto* inner = std::get_if<Loop>(&at->node->is);
    if (inner == nullptr) break;
    if (!inner->unit.empty()) return std::nullopt;
    loops.push_back(extent_of(*inner, numbers));
  }
  const auto* element = std::get_if<Element>(&at->node->is);
  auto scatter = element == nullptr ? std::nullopt : scatter_of(*element, loops, program);
  if (!scatter || loops.size() < scatter->digits.size() ||
      !std::equal(scatter->digits.begin(), scatter->digits.end(), loops.begin()))
    return std::nullopt;
  for (std::size_t l = scatter->digits.size(); l < loops.size(); ++l)
    if (scatter->fixed.contains(loops[l].first)) return std::nullopt;  // the place is another one at each iteration
  return ScatterItem{std::move(*scatter), at};
}

}  // namespace isamap

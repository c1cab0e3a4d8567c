// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lowering/share_copy.h"

#include <algorithm>

#include "hwdesc/model/parallel_units.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

/// The longest share exceeds the mean by at most one iteration, so with r iterations for each thread up to 1/r of the
/// time is lost. Below this r inner loops are distributed as well.
constexpr std::int64_t even_share = 8;

std::int64_t elements_of(const std::vector<Node>& nodes) {
  std::int64_t elements = 0;
  for (const Node& node : nodes)
    elements += std::visit(
        overloaded{[](const Loop& loop) { return loop.trip * elements_of(loop.body); },
                   [](const Guard& guard) { return std::max(elements_of(guard.then), elements_of(guard.otherwise)); },
                   [](const Call& call) {
                     std::int64_t all = 1;
                     for (const std::int64_t extent : call.extents) all *= extent;
                     return all;
                   },
                   [](const Element&) { return std::int64_t{1}; }, [](const auto&) { return std::int64_t{0}; }},
        node.is);
  return elements;
}

/// Does the copy read and write memories that all threads reach, and wait for nothing?
bool is_shared(const Lowering& lowering, UnitId threads, const std::vector<Node>& nodes) {
  const auto own = [&](const Ref& ref) {
    return ref.buffer.valid() &&
           lowering.model.inside(lowering.model.memory(lowering.buffer(ref.buffer).memory).per, threads);
  };
  const auto fits = [&](const Node& node) {
    return std::visit(
        overloaded{[&](const Loop& loop) { return is_shared(lowering, threads, loop.body); },
                   [&](const Guard& guard) {
                     return is_shared(lowering, threads, guard.then) && is_shared(lowering, threads, guard.otherwise);
                   },
                   [&](const Call& call) { return std::none_of(call.operands.begin(), call.operands.end(), own); },
                   [&](const Element& element) {
                     return !own(element.write) && std::none_of(element.reads.begin(), element.reads.end(), own);
                   },
                   [](const Comment&) { return true; }, [](const auto&) { return false; }},
        node.is);
  };
  return std::all_of(nodes.begin(), nodes.end(), fits);
}

}  // namespace

std::vector<Node> shared_copy(const Lowering& lowering, std::vector<Node> copy) {
  const auto threads = threads_of_programs(lowering.model);
  if (!threads || !lowering.thread_loops.empty()) return copy;
  const Unit& unit = lowering.model.unit(*threads);
  for (Node& node : copy) {
    auto* loop = std::get_if<Loop>(&node.is);
    if (loop == nullptr || !loop->unit.empty() || !is_shared(lowering, *threads, {node}) ||
        threads_of_copy(lowering.model, static_cast<double>(elements_of({node}))) < 2)
      continue;
    loop->unit = unit.name;
    std::int64_t steps = loop->trip;
    while (steps < even_share * unit.count && steps % unit.count != 0 && loop->body.size() == 1) {
      auto* inner = std::get_if<Loop>(&loop->body.front().is);
      if (inner == nullptr || inner->unroll) break;
      inner->unit = unit.name;
      steps *= inner->trip;
      loop = inner;
    }
  }
  return copy;
}

}  // namespace isamap

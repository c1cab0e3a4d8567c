// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/independent_launches.h"

#include <algorithm>

#include "backends/cuda/launches.h"
#include "backends/cuda/loop_substitution.h"
#include "backends/cuda/thread_binding.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

/// Loops over threads and time around elements, without steps of other units or at other times.
bool is_plain(const std::vector<Node>& nodes, const HardwareModel& model, UnitId grid) {
  return std::all_of(nodes.begin(), nodes.end(), [&](const Node& node) {
    return std::visit(overloaded{[&](const Loop& loop) {
                                   const auto unit = model.find_unit(loop.unit);
                                   return (!unit || !model.inside(grid, *unit)) && is_plain(loop.body, model, grid);
                                 },
                                 [&](const Guard& guard) {
                                   return guard.role.empty() && is_plain(guard.then, model, grid) &&
                                          is_plain(guard.otherwise, model, grid);
                                 },
                                 [&](const Call& call) {
                                   const Instruction& instruction = model.instruction(call.instruction);
                                   return instruction.async_by.empty() && instruction.unit != grid &&
                                          model.inside(instruction.unit, grid);
                                 },
                                 [](const Sync&) { return false; }, [](const auto&) { return true; }},
                      node.is);
  });
}

/// The loop over blocks that a launch consists of; null: it is something else.
const Loop* blocks_of(const std::vector<Node>& launch, const HardwareModel& model, UnitId grid) {
  const auto* loop = launch.size() == 1 ? std::get_if<Loop>(&launch[0].is) : nullptr;
  if (loop == nullptr || loop->instances > 0) return nullptr;
  const auto unit = model.find_unit(loop->unit);
  return unit && model.inside(grid, *unit) && is_plain(loop->body, model, grid) ? loop : nullptr;
}

/// Does neither write what the other accesses?
bool independent(const BufferUse& a, const BufferUse& b) {
  for (std::size_t i = 0; i < a.read.size(); ++i)
    if ((a.written[i] && (b.read[i] || b.written[i])) || (b.written[i] && a.read[i])) return false;
  return true;
}

}  // namespace

std::vector<Node> side_by_side(const std::vector<std::vector<Node>>& launches, const Program& program,
                               const HardwareModel& model, UnitId grid) {
  std::vector<const Loop*> loops;
  std::vector<BufferUse> uses;
  std::int64_t blocks = 0;
  for (const std::vector<Node>& launch : launches) {
    loops.push_back(blocks_of(launch, model, grid));
    if (loops.back() == nullptr) return {};
    if (ThreadBinding(launch, model, grid).threads() != ThreadBinding(launches[0], model, grid).threads()) return {};
    uses.push_back(buffer_use(launch, program));
    for (std::size_t before = 0; before + 1 < uses.size(); ++before)
      if (!independent(uses[before], uses.back())) return {};
    blocks += loops.back()->trip;
  }
  const AffineExpr block = AffineExpr::dim("block");
  std::vector<Node> nodes;
  std::int64_t end = blocks;
  for (std::size_t n = loops.size(); n-- > 0;) {
    const Loop& loop = *loops[n];
    const std::int64_t first = end - loop.trip;
    std::vector<Node> own =
        with_values(loop.body, {{loop.variable, block - AffineExpr(first)}}, {{"block", {first, end - 1}}}, model);
    if (nodes.empty()) {
      nodes = std::move(own);
    } else {
      Guard guard;
      guard.conditions = {AffineExpr(end - 1) - block};
      guard.then = std::move(own);
      guard.otherwise = std::move(nodes);
      nodes = {Node{std::move(guard)}};
    }
    end = first;
  }
  return {Node{Loop{"block", blocks, false, loops[0]->unit, std::move(nodes)}}};
}

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/parallel_reduction.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/cuda/launches.h"
#include "backends/cuda/loop_substitution.h"
#include "hwdesc/model/lane_exchanges.h"

namespace isamap {
namespace {

void retarget(std::vector<Node>& nodes, const Partial& partial) {
  if (auto* guard = std::get_if<Guard>(&nodes[0].is)) return retarget(guard->then, partial);
  std::get<Element>(nodes[0].is).write = {partial.own, {}};
}

}  // namespace

std::int64_t steps_of(const std::vector<Loop>& loops) {
  std::int64_t steps = 1;
  for (const Loop& l : loops) steps *= l.trip;
  return steps;
}

const Element* only_element(const std::vector<Node>& nodes) {
  if (nodes.size() != 1) return nullptr;
  if (const auto* guard = std::get_if<Guard>(&nodes[0].is))
    return guard->otherwise.empty() ? only_element(guard->then) : nullptr;
  return std::get_if<Element>(&nodes[0].is);
}

std::int64_t ParallelReduction::warps() const { return plan_.warp_parts(); }

Node ParallelReduction::on_lanes(const std::string& variable, std::vector<Node> nodes) const {
  return Node{Loop{variable, lanes(), false, model_.unit(inside_.back()).name, std::move(nodes)}};
}

Node ParallelReduction::first_lane(Node node) {
  const std::string first = fresh_("lane");
  Guard guard;
  guard.conditions = {AffineExpr(0) - AffineExpr::dim(first)};
  guard.then = {std::move(node)};
  return on_lanes(first, {Node{std::move(guard)}});
}

void ParallelReduction::exchange(const Element& element, const Partial& partial,
                                 const std::vector<InstructionId>& steps, std::vector<Node>& out) {
  const DType type = program_.buffers[element.write.buffer.index()].dtype;
  for (const InstructionId step : steps) {
    Call call;
    call.instruction = step;
    call.operands = {{partial.other, {}}, {partial.own, {}}};
    call.extents = {lanes()};
    out.push_back(Node{std::move(call)});
    out.push_back(on_lanes(fresh_("lane"), {Node{take_other(element, partial, type, inside_.back())}}));
  }
}

std::optional<std::vector<Node>> ParallelReduction::combined(const std::vector<Loop>& kept,
                                                             const std::vector<Node>& body) {
  const UnitId lane = inside_.back();
  const Element& element = *only_element(body);
  const DType type = program_.buffers[element.write.buffer.index()].dtype;
  const auto steps = lane_exchanges(model_, lane, type);
  if (steps.empty()) return std::nullopt;
  const Partial partial = add_partial(program_, model_.instruction(steps[0]).operands[0].memory, type);
  std::vector<std::string> names;
  for (std::size_t u = 0; u < plan_.warps.size(); ++u) {
    names.push_back(fresh_(model_.unit(inside_[u]).name));
    warp_ = warp_ * plan_.warps[u] + AffineExpr::dim(names.back());
    warp_ranges_[names.back()] = {0, plan_.warps[u] - 1};
  }
  std::vector<Node> out = {
      Node{Comment{fmt::format("each {} adds up a part: another order than in time", model_.unit(lane).name)}},
      on_lanes(fresh_("lane"), {Node{start_partial(element, partial, type, lane)}})};
  out.push_back(part_of_each(kept, body, partial));
  exchange(element, partial, steps, out);
  if (plan_.warps.empty()) {
    out.push_back(first_lane(Node{give_partial(element, partial, type)}));
    return out;
  }
  return of_block(element, partial, steps, on_warps(std::move(out), names));
}

std::vector<Node> ParallelReduction::on_warps(std::vector<Node> nodes, const std::vector<std::string>& names) const {
  for (std::size_t u = names.size(); u-- > 0;)
    nodes = {Node{Loop{names[u], plan_.warps[u], false, model_.unit(inside_[u]).name, std::move(nodes)}}};
  return nodes;
}

/// `of_warp`: every warp has its sum in all of its lanes. The parts meet in the block's memory, and one warp adds them.
std::vector<Node> ParallelReduction::of_block(const Element& element, const Partial& partial,
                                              const std::vector<InstructionId>& steps, std::vector<Node> of_warp) {
  const UnitId lane = inside_.back();
  const DType type = program_.buffers[element.write.buffer.index()].dtype;
  Buffer buffer;
  buffer.name = "parts";
  buffer.memory = *scratchpad_of(model_, grid_);
  buffer.dtype = type;
  buffer.extents = {warps()};
  buffer.strides = {1};
  const BufferId parts = make_id<BufferId>(program_.buffers.size());
  program_.buffers.push_back(std::move(buffer));
  Element put, take = start_partial(element, partial, type, lane);
  put.unit = lane;
  put.write = {parts, {warp_}};
  put.reads = {{partial.own, {}}};
  put.body = read(0, type);
  Node* innermost = &of_warp[0];
  for (std::size_t u = 0; u + 1 < plan_.warps.size(); ++u) innermost = &std::get<Loop>(innermost->is).body[0];
  std::get<Loop>(innermost->is).body.push_back(first_lane(Node{put}));
  // One warp: lane l takes part l, those behind the last nothing.
  std::vector<std::string> names;
  Guard first;
  for (std::size_t u = 0; u < plan_.warps.size(); ++u) {
    names.push_back(fresh_(model_.unit(inside_[u]).name));
    if (plan_.warps[u] > 1) first.conditions.push_back(AffineExpr(0) - AffineExpr::dim(names.back()));
  }
  const std::string own = fresh_("lane");
  Element other = put;
  other.write = {partial.own, {}};
  other.reads = {{parts, {AffineExpr::dim(own)}}};
  Guard there;
  if (warps() < lanes()) there.conditions = {AffineExpr(warps() - 1) - AffineExpr::dim(own)};
  there.then = {Node{other}};
  std::vector<Node> taken = {Node{take}};
  if (there.conditions.empty())
    taken = there.then;
  else
    taken.push_back(Node{there});
  first.then = {Node{Comment{fmt::format("the parts of {} come together", warps())}}, on_lanes(own, std::move(taken))};
  exchange(element, partial, steps, first.then);
  first.then.push_back(first_lane(Node{give_partial(element, partial, type)}));
  of_warp.push_back(on_warps({Node{std::move(first)}}, names)[0]);
  return of_warp;
}

/// Of all steps of `kept`, counted as one number, each lane of each warp does every n-th; or, where they lie side by
/// side, every n-th chunk of them, and what does not fill chunks one by one.
Node ParallelReduction::part_of_each(const std::vector<Loop>& kept, const std::vector<Node>& body,
                                     const Partial& partial) {
  const std::int64_t steps = steps_of(kept), all = lanes() * warps();
  const std::string lane = fresh_("lane");
  Ranges ranges = ranges_;
  ranges.insert(warp_ranges_.begin(), warp_ranges_.end());
  ranges[lane] = {0, lanes() - 1};
  std::vector<Node> nodes;
  const std::int64_t done = chunks_of_each(kept, body, partial, lane, nodes);
  if (done < steps) {
    const std::int64_t rounds = (steps - done + all - 1) / all;
    const std::string round = fresh_("round");
    ranges[round] = {0, rounds - 1};
    const AffineExpr number = AffineExpr::dim(lane) + warp_ * lanes() + AffineExpr::dim(round) * all + AffineExpr(done);
    Guard guard;
    if ((steps - done) % all != 0) guard.conditions = {AffineExpr(steps - 1) - number};
    guard.then = with_values(body, numbers_of(kept, number, ranges), ranges, model_);
    retarget(guard.then, partial);
    std::vector<Node> rest = guard.conditions.empty() ? guard.then : std::vector<Node>{Node{guard}};
    nodes.push_back(Node{Loop{round, rounds, false, "", std::move(rest)}});
  }
  return on_lanes(lane, std::move(nodes));
}

/// The statement of steps  done + each + count * (lane + lanes * (warp + warps * (turn + turns * round))).
ChunkElement ParallelReduction::chunk(const std::vector<Loop>& kept, const std::vector<Node>& body,
                                      const ChunkNumbers& n, std::int64_t count) const {
  const std::int64_t all = lanes() * warps();
  ChunkElement c{{}, n.each, ranges_};
  c.ranges.insert(warp_ranges_.begin(), warp_ranges_.end());
  c.ranges[n.lane] = {0, lanes() - 1};
  c.ranges[n.each] = {0, count - 1};
  c.ranges[n.turn] = {0, n.turns - 1};
  c.ranges[n.round] = {0, std::max<std::int64_t>(1, (steps_of(kept) - n.done) / (count * all * n.turns)) - 1};
  const AffineExpr turn = AffineExpr::dim(n.turn) + AffineExpr::dim(n.round) * n.turns;
  const AffineExpr number =
      (AffineExpr::dim(n.lane) + warp_ * lanes() + turn * all) * count + AffineExpr::dim(n.each) + AffineExpr(n.done);
  c.element = std::get<Element>(with_values(body, numbers_of(kept, number, c.ranges), c.ranges, model_)[0].is);
  return c;
}

std::optional<Neighbours> ParallelReduction::chunks(const std::vector<Loop>& kept,
                                                    const std::vector<Node>& body) const {
  if (!std::holds_alternative<Element>(body[0].is)) return std::nullopt;
  const ChunkNumbers numbers{"#lane", "#round", "#turn", "#each", 1, 0};  // names of no kernel
  return neighbours(
      program_, model_, inside_.back(), [&](std::int64_t count) { return chunk(kept, body, numbers, count); }, false);
}

/// Adds the rounds in which every lane has a whole chunk; the number of steps that are done then.
std::int64_t ParallelReduction::chunks_of_each(const std::vector<Loop>& kept, const std::vector<Node>& body,
                                               const Partial& partial, const std::string& lane,
                                               std::vector<Node>& nodes) {
  const auto how = chunks(kept, body);
  if (!how) return 0;
  std::int64_t done = 0;
  for (const std::int64_t turns : {plan_.loads_in_flight, std::int64_t{1}}) {
    const std::int64_t together = how->count * lanes() * warps() * turns, rounds = (steps_of(kept) - done) / together;
    if (rounds == 0) continue;
    const ChunkNumbers n{lane, fresh_("round"), fresh_("turn"), fresh_("each"), turns, done};
    ChunkElement one = chunk(kept, body, n, how->count);
    one.element.write = {partial.own, {}};
    nodes.push_back(Node{Loop{n.round, rounds, false, "", chunk_nodes(program_, model_, *how, one, n.turn, turns)}});
    done += rounds * together;
  }
  return done;
}

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lowering/circular_buffer.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/text/access_name.h"
#include "scheduler/lowering/border_guards.h"

namespace isamap {

namespace {

/// Sets the counter of the calls and returns the bytes they transfer; nothing: the number depends on a condition.
std::optional<std::int64_t> give_counter(std::vector<Node>& nodes, const Ref& counter, const std::string& object,
                                         const HardwareModel& model) {
  std::int64_t sum = 0;
  for (Node& node : nodes) {
    if (auto* loop = std::get_if<Loop>(&node.is)) {
      const auto inside = give_counter(loop->body, counter, object, model);
      if (!inside) return std::nullopt;
      sum += *inside * loop->trip;
    } else if (const auto* guard = std::get_if<Guard>(&node.is)) {
      if (completion_counter({node}, model) || !guard->role.empty()) return std::nullopt;
    } else if (auto* call = std::get_if<Call>(&node.is)) {
      const Instruction& move = model.instruction(call->instruction);
      if (move.async_by != object || !move.async_bytes) continue;
      call->counter = counter;
      const auto& dims = move.statement().domain;
      const auto bytes = evaluate(*move.async_bytes, [&](const Reference& r) -> std::optional<std::int64_t> {
        const int d = r.object == "extent" ? dims.find(r.argument) : -1;
        return d < 0 ? std::nullopt : std::optional(call->extents[static_cast<std::size_t>(d)]);
      });
      if (!bytes) return std::nullopt;
      sum += *bytes;
    }
  }
  return sum;
}

Node step_of(const CircularBuffer& circular, BufferId counter, const AffineExpr& number, Sync::Step step, UnitId unit) {
  Sync sync;
  sync.unit = unit;
  sync.object = circular.object;
  sync.step = step;
  sync.counter = {counter, {mod(number, circular.tiles)}};
  sync.phase = floordiv(number, circular.tiles);
  return Node{std::move(sync)};
}

}  // namespace

Result<std::vector<Node>> complete_by_counter(std::vector<Node> fills, const CircularBuffer& circular,
                                              const AffineExpr& number, UnitId executor, const Program& program,
                                              const HardwareModel& model) {
  const auto bytes = give_counter(fills, {circular.ready, {mod(number, circular.tiles)}}, circular.object, model);
  if (!bytes)
    return error(fmt::format("the number of bytes that complete '{}' depends on a condition",
                             program.buffers[circular.ready.index()].name),
                 "use `tail pad`: then all tiles are whole");
  Node expect = step_of(circular, circular.ready, number, Sync::Step::expect, executor);
  std::get<Sync>(expect.is).bytes = *bytes;
  fills.insert(fills.begin(), std::move(expect));
  if (circular.free.valid()) {  // until the previous tile in this buffer is released; the first pass has none
    Node wait = step_of(circular, circular.free, number, Sync::Step::wait, executor);
    std::get<Sync>(wait.is).phase += -1;
    fills.insert(fills.begin(), std::move(wait));
  }
  return fills;
}

Node wait_for_tile(const CircularBuffer& circular, const AffineExpr& number, UnitId executor) {
  return step_of(circular, circular.ready, number, Sync::Step::wait, executor);
}

Node release_tile(const CircularBuffer& circular, const AffineExpr& number, UnitId each) {
  return step_of(circular, circular.free, number, Sync::Step::arrive, each);
}

namespace {

const Stage& stage_at(const NestParts& parts, std::size_t line) {
  return std::get<Stage>(parts.input_.nest->lines[line].is);
}

int access_of_stage(const NestParts& parts, const Stage& s) {
  for (int a = 0; a < access_count(parts.statement_); ++a)
    if (holds(s, parts.kernel_.tensors, parts.statement_, a)) return a;
  return 0;
}

BufferId counter(const NestParts& parts, const CircularBuffer& circular, const std::string& name, UnitId each) {
  Buffer buffer;
  for (const AsyncObject& object : parts.lowering_.model.async_objects())
    if (object.name == circular.object) buffer.memory = object.memory;
  buffer.counter = Counter{circular.object, each};
  buffer.name = name;
  for (const Buffer& other : parts.lowering_.program.buffers)
    if (other.counter && other.name.rfind(name, 0) == 0) buffer.name += "_";
  buffer.dtype = DType::b64;
  buffer.extents = {circular.tiles};
  buffer.strides = {1};
  parts.lowering_.program.buffers.push_back(std::move(buffer));
  return make_id<BufferId>(parts.lowering_.program.buffers.size() - 1);
}

/// "A and B"
std::string stage_names(const NestParts& parts, const std::vector<std::size_t>& stages) {
  std::string text;
  for (const std::size_t l : stages) text += (text.empty() ? "" : " and ") + stage_at(parts, l).tensor;
  return text;
}

}  // namespace

bool use_counters(const NestParts& parts, const std::vector<std::size_t>& stages) {
  return std::any_of(stages.begin(), stages.end(), [&](std::size_t l) {
    const Stage& s = stage_at(parts, l);
    return !s.role.empty() || std::any_of(s.via.begin(), s.via.end(), [&](const std::string& move) {
      const auto id = parts.lowering_.model.find_instruction(move);
      return id && completes_by_counter(parts.lowering_.model.instruction(*id), parts.lowering_.model);
    });
  });
}

Diagnostic no_circular_buffer(const NestParts& parts, std::size_t line, const std::string& moves) {
  const auto& lines = parts.input_.nest->lines;
  const Stage& s = std::get<Stage>(lines[line].is);
  const std::string written = parts.kernel_.tensors[parts.statement_.write.tensor.index()].name;
  if (s.buffers < 2)
    return error(moves + ", and this stage has a single buffer", "x2 or more, right below a sequential loop");
  for (std::size_t l = line; l-- > 0;) {
    if (const auto* above = std::get_if<Stage>(&lines[l].is)) {
      if (above->tensor == written)
        return error(fmt::format("{}, and stage {} of the output is between it and the loop", moves, written),
                     "write it right below a sequential loop");
      if (above->buffers != s.buffers || above->ahead != s.ahead)
        return error(fmt::format("{}, together with stage {}, which has x{} ahead {}; this one has x{} ahead {}", moves,
                                 above->tensor, above->buffers, above->ahead, s.buffers, s.ahead),
                     fmt::format("x{} for both", std::max(above->buffers, s.buffers)));
      continue;
    }
    const auto* f = std::get_if<For>(&lines[l].is);
    if (f == nullptr) break;
    if (!f->unit.empty())
      return error(fmt::format("{}, and the loop right above is parallel, on {}", moves, f->unit),
                   "write it right below a loop without `on`");
    if (f->unroll)
      return error(moves + ", and the loop right above is unrolled, which a counter cannot follow", "without `unroll`");
    return error(moves + ", which other stages below this loop prevent",
                 "stage it right below a sequential loop with `tail pad`");
  }
  return error(moves + ", and no loop is above it", "stage it right below a sequential loop with `tail pad`");
}

UnitId consumer_unit(const NestParts& parts) {
  const HardwareModel& model = parts.lowering_.model;
  const Instruction* instruction = parts.instruction_;
  if (instruction != nullptr && completes_in_groups(*instruction, model)) return instruction->unit;
  for (std::size_t u = model.units().size(); u-- > 0;)
    if (const UnitId id = make_id<UnitId>(u);
        !model.unit(id).index.empty() && (instruction == nullptr || model.inside(id, instruction->unit)))
      return id;
  return {};
}

Result<CircularBuffer> make_circular_buffer(const NestParts& parts, const std::vector<std::size_t>& stages,
                                            const std::string& dim, const Nodes& fills) {
  const Stage& first = stage_at(parts, stages[0]);
  const auto object = completion_counter(fills, parts.lowering_.model);
  CircularBuffer circular;
  if (!object && first.role.empty()) return circular;
  if (!object)
    return error(
        fmt::format(
            "stage {} in {}: the moves of role {} complete without a counter, so other warps cannot wait for them",
            first.tensor, first.memory, first.role),
        fmt::format("name a move in `via` that completes by a counter, or leave out `role {}`", first.role));
  if (!commits(fills, parts.lowering_.model).empty())
    return error(fmt::format("stages {}: some of their moves complete by '{}', others in groups, and a step waits for "
                             "all of them at once",
                             stage_names(parts, stages), *object),
                 "use moves with the same completion in each `via`");
  for (const std::size_t l : stages) {
    const Stage& s = stage_at(parts, l);
    const Access& access = access_of(parts.statement_, access_of_stage(parts, s));
    if (s.buffers != first.buffers)
      return error(fmt::format("stages {} and {} right below one loop share counters, and have {} and {} buffers",
                               first.tensor, s.tensor, first.buffers, s.buffers),
                   fmt::format("x{} for both", first.buffers));
    const auto by = [](const Stage& one) { return one.role.empty() ? "no role" : "role " + one.role; };
    if (s.role != first.role)
      return error(fmt::format("stages {} and {} right below one loop share counters, and are filled by {} and {}",
                               first.tensor, s.tensor, by(first), by(s)),
                   fmt::format("{} for both", first.role.empty() ? "role " + s.role : by(first)));
    if (!s.role.empty() && s.ahead + 1 != s.buffers)
      return error(fmt::format("stage {}: ahead {} has no effect, as role {} prefetches into all free buffers, {} here",
                               s.tensor, s.ahead, s.role, s.buffers - 1),
                   fmt::format("x{} without `ahead`, for a distance of {}", s.ahead + 1, s.ahead));
    if (skips(*parts.input_.nest, parts.kernel_.tensors[access.tensor.index()]))
      return error(
          fmt::format("stage {}: steps skipped by `outside {} skip` would not signal its counters", s.tensor, s.tensor),
          fmt::format("outside {} pad", s.tensor));
    if (!uses(access, dim))
      return error(fmt::format("stage {}: the tile is invariant in the loop over {}", s.tensor, dim),
                   "stage it above that loop");
  }
  circular.object = *object;
  circular.tiles = first.buffers;
  circular.ready = counter(parts, circular, "ready", {});
  if (!first.role.empty()) circular.free = counter(parts, circular, "free", consumer_unit(parts));
  return circular;
}

}  // namespace isamap

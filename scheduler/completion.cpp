#include "scheduler/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace isamap {
namespace {

void collect(const std::vector<Node>& nodes, const HardwareModel& model, std::set<std::string>& objects) {
  for (const Node& node : nodes) {
    if (const auto* loop = std::get_if<Loop>(&node.is)) collect(loop->body, model, objects);
    if (const auto* guard = std::get_if<Guard>(&node.is)) {
      collect(guard->then, model, objects);
      collect(guard->otherwise, model, objects);
    }
    if (const auto* call = std::get_if<Call>(&node.is))
      if (const std::string& by = model.instruction(call->instruction).async_by; !by.empty()) objects.insert(by);
  }
}

std::vector<Node> steps(const std::vector<Node>& nodes, int pending, Sync::Step step, const HardwareModel& model) {
  std::set<std::string> objects;
  collect(nodes, model, objects);
  std::vector<Node> out;
  for (const AsyncObject& object : model.async_objects())
    if (objects.contains(object.name) && object.kind == "groups") {
      Sync sync;
      sync.unit = object.per;
      sync.object = object.name;
      sync.pending = pending;
      sync.step = step;
      out.push_back(Node{std::move(sync)});
    }
  return out;
}

}  // namespace

bool completes_in_groups(const Instruction& instruction, const HardwareModel& model) {
  const auto& objects = model.async_objects();
  return std::any_of(objects.begin(), objects.end(),
                     [&](const AsyncObject& o) { return o.kind == "groups" && o.name == instruction.async_by; });
}

bool completes_by_counter(const Instruction& instruction, const HardwareModel& model) {
  const auto& objects = model.async_objects();
  return std::any_of(objects.begin(), objects.end(),
                     [&](const AsyncObject& o) { return o.kind == "phases" && o.name == instruction.async_by; });
}

std::optional<std::string> counted_by(const std::vector<Node>& nodes, const HardwareModel& model) {
  std::set<std::string> objects;
  collect(nodes, model, objects);
  for (const AsyncObject& object : model.async_objects())
    if (objects.contains(object.name) && object.kind == "phases") return object.name;
  return std::nullopt;
}

namespace {

/// Gives the calls their counter; the bytes that they bring, or nothing where that depends on a condition.
std::optional<std::int64_t> give_counter(std::vector<Node>& nodes, const Ref& counter, const std::string& object,
                                         const HardwareModel& model) {
  std::int64_t sum = 0;
  for (Node& node : nodes) {
    if (auto* loop = std::get_if<Loop>(&node.is)) {
      const auto inside = give_counter(loop->body, counter, object, model);
      if (!inside) return std::nullopt;
      sum += *inside * loop->trip;
    } else if (const auto* guard = std::get_if<Guard>(&node.is)) {
      if (counted_by({node}, model) || !guard->role.empty()) return std::nullopt;
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

Node step_of(const Ring& ring, BufferId counter, const AffineExpr& number, Sync::Step step, UnitId unit) {
  Sync sync;
  sync.unit = unit;
  sync.object = ring.object;
  sync.step = step;
  sync.counter = {counter, {mod(number, ring.tiles)}};
  sync.phase = floordiv(number, ring.tiles);
  return Node{std::move(sync)};
}

}  // namespace

Result<std::vector<Node>> counted(std::vector<Node> fills, const Ring& ring, const AffineExpr& number, UnitId executor,
                                  const Program& program, const HardwareModel& model) {
  const auto bytes = give_counter(fills, {ring.ready, {mod(number, ring.tiles)}}, ring.object, model);
  if (!bytes)
    return error(fmt::format("how many bytes complete '{}' depends on a condition",
                             program.buffers[ring.ready.index()].name),
                 "with `tail pad` all tiles are whole");
  Node expect = step_of(ring, ring.ready, number, Sync::Step::expect, executor);
  std::get<Sync>(expect.is).bytes = *bytes;
  fills.insert(fills.begin(), std::move(expect));
  if (ring.free.valid()) {  // the tile that stood there before: in the first round there was none
    Node wait = step_of(ring, ring.free, number, Sync::Step::wait, executor);
    std::get<Sync>(wait.is).phase += -1;
    fills.insert(fills.begin(), std::move(wait));
  }
  return fills;
}

Node until_ready(const Ring& ring, const AffineExpr& number, UnitId executor) {
  return step_of(ring, ring.ready, number, Sync::Step::wait, executor);
}

Node through_with(const Ring& ring, const AffineExpr& number, UnitId each) {
  return step_of(ring, ring.free, number, Sync::Step::arrive, each);
}

std::vector<Node> commits(const std::vector<Node>& nodes, const HardwareModel& model) {
  return steps(nodes, 0, Sync::Step::commit, model);
}

std::vector<Node> opens(const std::vector<Node>& nodes, const HardwareModel& model) {
  std::vector<Node> all = steps(nodes, 0, Sync::Step::open, model);
  std::erase_if(all, [&](const Node& node) {
    const auto& objects = model.async_objects();
    return std::none_of(objects.begin(), objects.end(), [&](const AsyncObject& o) {
      return o.name == std::get<Sync>(node.is).object && (o.texts.contains("open") || o.texts.contains("open.asm"));
    });
  });
  return all;
}

std::vector<Node> completed(std::vector<Node> nodes, const HardwareModel& model) {
  const std::vector<Node> first = opens(nodes, model), group = commits(nodes, model), all = waits(nodes, 0, model);
  nodes.insert(nodes.begin(), first.begin(), first.end());
  nodes.insert(nodes.end(), group.begin(), group.end());
  nodes.insert(nodes.end(), all.begin(), all.end());
  return nodes;
}

std::vector<Node> waits(const std::vector<Node>& nodes, int pending, const HardwareModel& model) {
  return steps(nodes, pending, Sync::Step::wait, model);
}

}  // namespace isamap

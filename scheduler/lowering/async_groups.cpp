// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lowering/async_groups.h"

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
    if (objects.contains(object.name) && object.kind == AsyncKind::groups) {
      Sync sync;
      sync.unit = object.per;
      sync.object = object.name;
      sync.pending = pending;
      sync.step = step;
      out.push_back(Node{std::move(sync)});
    }
  return out;
}

Node fence_of(const AsyncObject& object) {
  Sync sync;
  sync.unit = object.per;
  sync.object = object.name;
  return Node{std::move(sync)};
}

/// A fence orders the stores of the thread that executes it, whatever its unit.
bool in_threads(const Loop& loop, const HardwareModel& model) {
  const auto unit = loop.unit.empty() ? std::nullopt : model.find_unit(loop.unit);
  return unit && !model.unit(*unit).threads.loop.empty();
}

/// Appends fences to the outermost loops over instances of the unit, or over threads. True: some calls are outside of
/// them.
bool fence_instances(std::vector<Node>& nodes, const AsyncObject& object, const HardwareModel& model) {
  bool outside = false;
  for (Node& node : nodes) {
    if (auto* guard = std::get_if<Guard>(&node.is)) {
      outside |= fence_instances(guard->then, object, model);
      outside |= fence_instances(guard->otherwise, object, model);
    } else if (auto* loop = std::get_if<Loop>(&node.is)) {
      const bool apart = in_threads(*loop, model) || (!loop->unit.empty() && model.find_unit(loop->unit) == object.per);
      if (!fence_instances(loop->body, object, model)) continue;
      if (apart)
        loop->body.push_back(fence_of(object));
      else
        outside = true;
    } else if (const auto* call = std::get_if<Call>(&node.is)) {
      outside |= model.instruction(call->instruction).async_by == object.name;
    }
  }
  return outside;
}

}  // namespace

void append_fences(std::vector<Node>& nodes, const HardwareModel& model) {
  for (const AsyncObject& object : model.async_objects())
    if (object.kind == AsyncKind::fence && fence_instances(nodes, object, model)) nodes.push_back(fence_of(object));
}

std::optional<std::string> completion_counter(const std::vector<Node>& nodes, const HardwareModel& model) {
  std::set<std::string> objects;
  collect(nodes, model, objects);
  for (const AsyncObject& object : model.async_objects())
    if (objects.contains(object.name) && object.kind == AsyncKind::phases) return object.name;
  return std::nullopt;
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

std::vector<Node> with_completion(std::vector<Node> nodes, const HardwareModel& model) {
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

// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/refill_critical_path.h"

#include <algorithm>
#include <limits>

namespace isamap {

RefillPath::RefillPath(const NestFlow& flow, std::size_t resources)
    : flow_(&flow),
      resources_(resources),
      free_(resources, -std::numeric_limits<double>::infinity()),
      load_(flow.flows.size() * resources, 0),
      inside_(flow.flows.size() * resources, 0) {}

void RefillPath::drain(std::size_t flow, const VisitMoved& last, const VisitMoved& before, double since, double tail) {
  const double latency = flow_->flows[flow].out.latency + tail;
  if (since >= 0) {
    add(flow, true, last, since, latency, false).last = true;
    return;
  }
  add(flow, true, before, since, latency, false);
  // The parent tile, if single-buffered and renewed too, waits for the tile in use until now.
  Task now = tasks_.back();
  now.since = 0;
  now.moved = last;
  now.last = true;
  tasks_.push_back(now);
}

void RefillPath::fill(std::size_t flow, const VisitMoved& moved, double since, bool empty) {
  add(flow, false, moved, since, empty ? 0 : flow_->flows[flow].in.latency, empty);
}

void RefillPath::busy_inside(std::size_t flow, std::size_t resource, double cycles) {
  inside_[flow * resources_ + resource] = cycles;
}

RefillPath::Task& RefillPath::add(std::size_t flow, bool out, const VisitMoved& moved, double since, double latency,
                                  bool empty) {
  Task task;
  task.flow = static_cast<int>(flow);
  task.out = out;
  task.since = since;
  task.latency = latency;
  task.moved = moved;
  task.empty = empty;
  tasks_.push_back(task);
  if (empty) return tasks_.back();
  for (const Occupation& use : (out ? flow_->flows[flow].out : flow_->flows[flow].in).uses)
    load_[flow * resources_ + static_cast<std::size_t>(use.resource)] +=
        use.shared * moved.shared + use.own * moved.lane;
  return tasks_.back();
}

int RefillPath::find(int flow, bool out, bool last) const {
  for (std::size_t t = 0; t < tasks_.size(); ++t)
    if (tasks_[t].flow == flow && tasks_[t].out == out && tasks_[t].last == last) return static_cast<int>(t);
  return -1;
}

double RefillPath::filled(std::size_t flow) const {
  const int task = find(static_cast<int>(flow), false, false);
  return task < 0 ? 0 : tasks_[static_cast<std::size_t>(task)].end;
}

void RefillPath::order() {
  const auto drained = [&](int flow) {  // the drain that frees the buffer of the next tile
    const int old = find(flow, true, false);
    return old >= 0 ? old : find(flow, true, true);
  };
  std::vector<char> needed(flow_->flows.size(), 0);  // by flow: its last tile is waited for
  for (std::size_t f = 0; f < flow_->flows.size(); ++f) {
    const int parent = flow_->flows[f].parent;
    const int own = find(static_cast<int>(f), true, true);
    needed[f] = own >= 0 &&
                (drained(static_cast<int>(f)) == own || (parent >= 0 && needed[static_cast<std::size_t>(parent)] != 0));
    if (own >= 0 && needed[f] == 0) tasks_.erase(tasks_.begin() + own);
  }
  for (Task& task : tasks_) {
    const int parent = flow_->flows[static_cast<std::size_t>(task.flow)].parent;
    if (!task.out) {
      task.after[0] = drained(task.flow);
      if (!task.empty && parent >= 0) task.after[1] = find(parent, false, false);
    } else if (task.last) {
      for (std::size_t child = 0; child < flow_->flows.size(); ++child)
        if (flow_->flows[child].parent == task.flow) task.after[0] = find(static_cast<int>(child), true, true);
      task.after[1] = find(task.flow, true, false);  // in sequence
    }
  }
}

void RefillPath::run(Task& task, double start) {
  const TileFlow& flow = flow_->flows[static_cast<std::size_t>(task.flow)];
  task.end = start;
  task.done = true;
  if (task.empty) return;
  for (const Occupation& use : (task.out ? flow.out : flow.in).uses) {
    const auto r = static_cast<std::size_t>(use.resource);
    const double cycles = use.shared * task.moved.shared + use.own * task.moved.lane;
    if (cycles <= 0) continue;
    const double begin = std::max(start, free_[r]);
    double& inside = inside_[static_cast<std::size_t>(task.flow) * resources_ + r];
    const double others = begin < 0 && task.since < 0 ? inside * std::min(1.0, begin / task.since) : 0;
    inside = 0;  // counted once
    free_[r] = begin + cycles + others;
    task.end = std::max(task.end, free_[r]);
  }
  task.end += task.latency;
}

RefillPath::Solved RefillPath::solve() {
  order();
  Solved solved;
  bool fills = false;
  for (std::size_t left = tasks_.size(); left > 0; --left) {
    Task* next = nullptr;
    double earliest = std::numeric_limits<double>::infinity();
    int first = std::numeric_limits<int>::max();
    for (Task& task : tasks_) {
      if (task.done) continue;
      double start = task.since;
      bool ready = true;
      for (const int before : task.after) {
        if (before < 0) continue;
        ready = ready && tasks_[static_cast<std::size_t>(before)].done;
        start = std::max(start, tasks_[static_cast<std::size_t>(before)].end);
      }
      // Fills from the outside, then drains from the inside, as in the simulation.
      const int own = task.out ? 1000 - task.flow : task.flow;
      if (!ready || start > earliest || (start == earliest && own >= first)) continue;
      next = &task;
      earliest = start;
      first = own;
    }
    if (!next) break;
    run(*next, earliest);
    fills = fills || !next->out;
  }
  for (const Task& task : tasks_)
    if (task.out != fills && task.end > solved.end) {
      solved.end = task.end;
      solved.last = task.flow;
    }
  return solved;
}

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/command_queue.h"

#include <algorithm>

namespace isamap {

int CommandQueue::port(const std::string& name, double instances) {
  const auto known = std::find(names_.begin(), names_.end(), name);
  if (known != names_.end()) return static_cast<int>(known - names_.begin());
  names_.push_back(name);
  free_.emplace_back(static_cast<std::size_t>(std::clamp(instances, 1.0, 1024.0)), 0.0);
  return static_cast<int>(names_.size()) - 1;
}

void CommandQueue::wait_for(Waiting& entry, std::int64_t command) const {
  const double end = ended(command);
  if (end < entry.ready) return;
  entry.ready = end;
  entry.waited_for = command;
}

void CommandQueue::add(const TimedCommand& command, const std::vector<std::int64_t>& before, std::int64_t behind) {
  Waiting entry;
  entry.command = command;
  entry.number = next();
  entry.behind = behind >= 0 && ended(behind) < 0 ? behind : -1;
  for (const std::int64_t other : before) {
    if (ended(other) < 0)
      entry.before.push_back(other);
    else
      wait_for(entry, other);
  }
  ended_.push_back(-1);
  if (!queues_) {
    waiting_.push_back(std::move(entry));
    if (waiting_.size() >= std::max<std::size_t>(window_, 1)) issue_one();
    return;
  }
  queued_[command.port].push_back(std::move(entry));
  // With an empty queue the command that asks first may not be known yet.
  while (std::none_of(queued_.begin(), queued_.end(), [](const auto& queue) { return queue.second.empty(); }))
    issue_first_of_queues();
}

void CommandQueue::flush() {
  while (!waiting_.empty()) issue_one();
  while (std::any_of(queued_.begin(), queued_.end(), [](const auto& queue) { return !queue.second.empty(); }))
    issue_first_of_queues();
}

void CommandQueue::wait_for_all() {
  flush();
  issue_ = std::max(issue_, end_);
  for (auto& instances : free_)
    for (double& free : instances) free = std::max(free, end_);
}

double CommandQueue::free_instance(const Waiting& entry) const {
  const auto& instances = free_[static_cast<std::size_t>(entry.command.port)];
  return std::max(entry.ready, *std::min_element(instances.begin(), instances.end()));
}

double CommandQueue::start_of(const Waiting& entry) const {
  double free = free_instance(entry);
  for (const auto& [port, cycles] : entry.command.shared)
    free = std::max(free, free_[static_cast<std::size_t>(port)].front());
  return queues_ ? free : std::max(free, issue_);
}

void CommandQueue::issue_one() {
  auto first = waiting_.end();
  double start = 0;
  for (auto entry = waiting_.begin(); entry != waiting_.end(); ++entry) {
    if (!entry->before.empty() || entry->behind >= 0) continue;
    const double possible = start_of(*entry);
    if (first != waiting_.end() && possible >= start) continue;
    first = entry;
    start = possible;
  }
  const Waiting issuing = std::move(*first);
  waiting_.erase(first);
  issue_ = start;
  issue(issuing, start);
  for (Waiting& entry : waiting_) {
    if (entry.behind == issuing.number) entry.behind = -1;
    // A command that reads and writes two tiles may wait for another one twice.
    if (std::erase(entry.before, issuing.number) > 0) wait_for(entry, issuing.number);
  }
  issued_(issuing.command, start, issuing.waited_for);
}

/// The first command in program order is the first of its queue and waits for no other, so one can always issue.
void CommandQueue::issue_first_of_queues() {
  std::deque<Waiting>* first = nullptr;
  double asked = 0;
  for (auto& [port, queue] : queued_) {
    if (queue.empty()) continue;
    Waiting& head = queue.front();
    if (head.behind >= 0 && ended(head.behind) < 0) continue;
    while (!head.before.empty() && ended(head.before.back()) >= 0) {
      wait_for(head, head.before.back());
      head.before.pop_back();
    }
    if (!head.before.empty()) continue;
    const double asks = free_instance(head);
    if (first != nullptr && (asks > asked || (asks == asked && head.number > first->front().number))) continue;
    first = &queue;
    asked = asks;
  }
  const Waiting issuing = std::move(first->front());
  first->pop_front();
  const double start = start_of(issuing);
  issue(issuing, start);
  issued_(issuing.command, start, issuing.waited_for);
}

void CommandQueue::issue(const Waiting& entry, double start) {
  auto& instances = free_[static_cast<std::size_t>(entry.command.port)];
  *std::min_element(instances.begin(), instances.end()) = start + entry.command.interval;
  for (const auto& [port, cycles] : entry.command.shared)
    free_[static_cast<std::size_t>(port)].front() = start + cycles;
  const double end = start + std::max(entry.command.latency, entry.command.interval);
  ended_[static_cast<std::size_t>(entry.number)] = end;
  end_ = std::max(end_, end);
}

}  // namespace isamap

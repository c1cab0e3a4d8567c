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
  waiting_.push_back(std::move(entry));
  if (waiting_.size() >= std::max<std::size_t>(window_, 1)) issue_one();
}

void CommandQueue::flush() {
  while (!waiting_.empty()) issue_one();
}

double CommandQueue::start_of(const Waiting& entry) const {
  const auto& instances = free_[static_cast<std::size_t>(entry.command.port)];
  double free = std::max(entry.ready, *std::min_element(instances.begin(), instances.end()));
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
  auto& instances = free_[static_cast<std::size_t>(issuing.command.port)];
  *std::min_element(instances.begin(), instances.end()) = start + issuing.command.interval;
  for (const auto& [port, cycles] : issuing.command.shared)
    free_[static_cast<std::size_t>(port)].front() = start + cycles;
  ended_[static_cast<std::size_t>(issuing.number)] =
      start + std::max(issuing.command.latency, issuing.command.interval);
  issue_ = start;
  for (Waiting& entry : waiting_) {
    if (entry.behind == issuing.number) entry.behind = -1;
    const auto found = std::find(entry.before.begin(), entry.before.end(), issuing.number);
    if (found == entry.before.end()) continue;
    entry.before.erase(found);
    wait_for(entry, issuing.number);
  }
  issued_(issuing.command, start, issuing.waited_for);
}

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#include "backends/simulator/queues.h"

#include <fmt/format.h>

#include <algorithm>

namespace isamap {
namespace {

UnitId token_unit(const HardwareModel& model) {
  for (std::size_t u = 0; u < model.units().size(); ++u)
    if (model.units()[u].tokens) return make_id<UnitId>(u);
  return {};
}

std::size_t port_count(const HardwareModel& model) {
  const UnitId unit = token_unit(model);
  return unit.valid() ? model.unit(unit).ports.size() : 0;
}

}  // namespace

Queues::Queues(const HardwareModel& model, Machine& machine)
    : model_(model), machine_(machine), unit_(token_unit(model)), races_(model.memories().size(), port_count(model)) {
  if (!unit_.valid()) return;
  for (const auto& [port, count] : model.unit(unit_).ports)
    queues_.push_back({port, {}, Clock(port_count(model), 0), 0, 0, {}});
}

void Queues::add(const Command& command, int line) {
  for (Queue& queue : queues_) {
    if (queue.port != command.instruction->timing.port) continue;
    Entry entry{command, {}, {}, line};
    for (const AsyncObject& object : model_.async_objects()) {
      if (object.kind != AsyncKind::tokens) continue;
      if (command.value({"pop", "", object.name}) == 1) entry.pop.push_back(object.name);
      if (command.value({"push", "", object.name}) == 1) entry.push.push_back(object.name);
    }
    queue.entries.push_back(std::move(entry));
  }
}

bool Queues::add_token(std::string_view text, int line) {
  for (const AsyncObject& object : model_.async_objects())
    for (const auto& [what, port] : {std::pair("push", object.from), std::pair("pop", object.to)}) {
      const auto own = object.texts.find(what);
      if (object.kind != AsyncKind::tokens || own == object.texts.end() || own->second != text) continue;
      for (Queue& queue : queues_) {
        if (queue.port != port) continue;
        queue.entries.push_back({std::nullopt, {}, {}, line});
        (own->first == "push" ? queue.entries.back().push : queue.entries.back().pop).push_back(object.name);
        return true;
      }
    }
  return false;
}

bool Queues::ready(const Entry& entry) const {
  return std::all_of(entry.pop.begin(), entry.pop.end(), [&](const std::string& name) {
    const auto found = tokens_.find(name);
    return found != tokens_.end() && !found->second.empty();
  });
}

std::int64_t Queues::start_of(const Queue& queue) const {
  const Entry& entry = queue.entries.front();
  std::int64_t start = queue.earliest;
  if (entry.command) start = std::max(start, machine_.port_free(*entry.command->instruction));
  for (const std::string& name : entry.pop) start = std::max(start, tokens_.at(name).front().time);
  return start;
}

std::optional<Diagnostic> Queues::step(std::size_t number) {
  Queue& queue = queues_[number];
  const Entry entry = std::move(queue.entries.front());
  queue.entries.pop_front();
  for (const std::string& name : entry.pop) {
    const Token token = std::move(tokens_.at(name).front());
    tokens_.at(name).pop_front();
    queue.earliest = std::max(queue.earliest, token.time);
    for (std::size_t q = 0; q < queue.clock.size(); ++q) queue.clock[q] = std::max(queue.clock[q], token.clock[q]);
  }
  if (entry.command) {
    ++queue.clock[number];
    queue.done.push_back(entry.command->instruction);
    Turn turn{queue.earliest, 0, {}};
    std::optional<Diagnostic> race;
    turn.touch = [&](MemoryId memory, std::size_t at, int count, bool write) {
      const auto found = races_.touch(memory, at, count, write, number, queue.clock);
      if (!found || race) return;
      const Queue& other = queues_[found->queue];
      race = error(
          fmt::format("'{}' in queue '{}' {} byte {} of {}, which '{}' in queue '{}' {}, and no token orders them",
                      entry.command->instruction->name, queue.port, write ? "writes" : "reads", at,
                      model_.memory(memory).name, other.done[static_cast<std::size_t>(found->number - 1)]->name,
                      other.port, found->write ? "writes" : "reads"));
    };
    if (auto problem = machine_.execute(*entry.command, &turn)) return problem;
    if (race) return race;
    queue.end = std::max(queue.end, turn.end);
  }
  for (const std::string& name : entry.push) tokens_[name].push_back({queue.end, queue.clock});
  return std::nullopt;
}

std::optional<Diagnostic> Queues::run_out(int& line, const std::function<std::optional<Diagnostic>()>& stop) {
  for (int steps = 1;; ++steps) {
    if (steps % 64 == 0)
      if (auto problem = stop()) return problem;
    // The one that asks first, of several the first in the text.
    const auto asks = [&](const Queue& queue) { return std::pair(start_of(queue), queue.entries.front().line); };
    std::optional<std::size_t> next;
    for (std::size_t q = 0; q < queues_.size(); ++q)
      if (!queues_[q].entries.empty() && ready(queues_[q].entries.front()) &&
          (!next || asks(queues_[q]) < asks(queues_[*next])))
        next = q;
    if (!next) break;
    const int here = queues_[*next].entries.front().line;
    if (auto problem = step(*next)) {
      line = here;
      return problem;
    }
  }
  for (const Queue& queue : queues_)
    if (!queue.entries.empty()) {
      line = queue.entries.front().line;
      return error("deadlock: " + waiting());
    }
  return std::nullopt;
}

std::optional<Diagnostic> Queues::drain(int& line, const std::function<std::optional<Diagnostic>()>& stop) {
  if (auto problem = run_out(line, stop)) return problem;
  const std::int64_t end = machine_.time().cycles;
  for (std::size_t q = 0; q < queues_.size(); ++q)
    for (Queue& other : queues_) other.clock[q] = static_cast<std::int64_t>(queues_[q].done.size());
  for (Queue& queue : queues_) queue.earliest = std::max(queue.earliest, end);
  return std::nullopt;
}

std::string Queues::waiting() const {
  std::string text;
  for (const Queue& queue : queues_) {
    if (queue.entries.empty()) continue;
    const Entry& entry = queue.entries.front();
    for (const std::string& name : entry.pop)
      if (const auto found = tokens_.find(name); found == tokens_.end() || found->second.empty())
        text += fmt::format("{}'{}' at line {} for a token of '{}'", text.empty() ? "" : ", ", queue.port, entry.line,
                            name);
  }
  return text;
}

std::optional<Diagnostic> Queues::leftover() const {
  for (const auto& [name, tokens] : tokens_)
    if (!tokens.empty())
      return error(fmt::format("{} of the tokens of '{}' {} never taken", tokens.size(), name,
                               tokens.size() == 1 ? "is" : "are"));
  return std::nullopt;
}

}  // namespace isamap

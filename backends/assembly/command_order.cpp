// SPDX-License-Identifier: Apache-2.0
#include "backends/assembly/command_order.h"

#include <algorithm>
#include <cmath>

#include "backends/assembly/state_variants.h"
#include "backends/common/state.h"
#include "hwdesc/model/memory_time.h"
#include "ir/operand_use.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

constexpr std::size_t most_readers = 16;  ///< of a segment before issued ones are merged

/// Buffers written in these nodes.
void mark_written(const std::vector<Node>& nodes, std::vector<bool>& written) {
  for (const Node& node : nodes)
    std::visit(overloaded{
                   [&](const Loop& loop) { mark_written(loop.body, written); },
                   [&](const Guard& guard) {
                     mark_written(guard.then, written);
                     mark_written(guard.otherwise, written);
                   },
                   [&](const Call& call) {
                     if (!call.operands.empty() && call.operands[0].buffer.valid())
                       written[call.operands[0].buffer.index()] = true;
                   },
                   [](const auto&) {},
               },
               node.is);
}

}  // namespace

void LastUses::split(std::int64_t at) {
  auto found = segments_.upper_bound(at);
  if (found == segments_.begin()) return;
  --found;
  if (found->first >= at || found->second.high <= at) return;
  Segment behind = found->second;
  found->second.high = at;
  segments_.emplace(at, std::move(behind));
}

/// Of the issued readers only the last to end is kept.
void LastUses::prune(Segment& segment, const std::vector<std::int64_t>& ended) {
  const auto end = [&](std::int64_t reader) { return ended[static_cast<std::size_t>(reader)]; };
  const auto left = std::partition(segment.readers.begin(), segment.readers.end(),
                                   [&](std::int64_t reader) { return end(reader) < 0; });
  if (left == segment.readers.end()) return;
  const std::int64_t last =
      *std::max_element(left, segment.readers.end(), [&](std::int64_t a, std::int64_t b) { return end(a) < end(b); });
  segment.readers.erase(left, segment.readers.end());
  segment.readers.push_back(last);
}

void LastUses::access(std::int64_t low, std::int64_t high, bool write, std::int64_t command,
                      const std::vector<std::int64_t>& ended, const Found& found) {
  if (high <= low) return;
  split(low);
  split(high);
  std::int64_t at = low;
  for (auto segment = segments_.lower_bound(low); segment != segments_.end() && segment->first < high;) {
    Segment& s = segment->second;
    if (s.writer >= 0) found(s.writer);
    if (write) {
      for (const std::int64_t reader : s.readers) found(reader);
      segment = segments_.erase(segment);
      continue;
    }
    if (segment->first > at) segments_.emplace_hint(segment, at, Segment{segment->first, -1, {command}});
    at = s.high;
    if (s.readers.empty() || s.readers.back() != command) s.readers.push_back(command);
    if (s.readers.size() > most_readers) prune(s, ended);
    ++segment;
  }
  if (write)
    segments_.emplace(low, Segment{high, command, {}});
  else if (at < high)
    segments_.emplace(at, Segment{high, -1, {command}});
}

CommandOrder::CommandOrder(const Program& program, const HardwareModel& model, std::size_t window, Leave leave, Say say)
    : program_(program),
      model_(model),
      window_(std::max<std::size_t>(window, 1)),
      loop_count_(LoopSlots(program).names().size() + 1),
      leave_(std::move(leave)),
      say_(std::move(say)),
      spans_(program, model),
      written_(program.buffers.size(), false),
      memories_(model.memories().size()) {
  mark_written(program.prepack, written_);
  mark_written(program.body, written_);
  for (const Instruction& instruction : model.instructions())
    if (!is_setter(instruction))
      for (const StateValue& set : instruction.sets) set_by_commands_.insert(stem(instruction, set.field));
}

void CommandOrder::call(const CallSite& site, const std::int64_t* loops) {
  if (window_ == 1) {
    for (const std::string& text : comments_) say_(text);
    comments_.clear();
    return leave_(site, loops);
  }
  Waiting entry;
  entry.site = &site;
  entry.loops.assign(loops, loops + loop_count_);
  entry.comments = std::move(comments_);
  comments_.clear();
  entry.number = static_cast<std::int64_t>(ended_.size());
  entry.timing = timing_of(site, loops);
  entry.needs = needs_of(site, loops);
  ended_.push_back(-1);
  find_predecessors(entry);
  waiting_.push_back(std::move(entry));
  if (waiting_.size() >= window_) leave_one();
}

void CommandOrder::flush() {
  while (!waiting_.empty()) leave_one();
  for (const std::string& text : comments_) say_(text);
  comments_.clear();
}

/// Canonical name of a field: a field of every register of a file is named by the file.
std::string CommandOrder::stem(const Instruction& instruction, const std::string& field) const {
  const std::size_t dot = std::min(field.find('.'), field.size());
  for (const Operand& operand : instruction.operands)
    if (operand.name == field.substr(0, dot) && operand.memory.valid())
      return model_.memory(operand.memory).name + field.substr(dot);
  return field;
}

const CommandOrder::StateUse& CommandOrder::state_use(const Instruction& instruction) {
  const auto [found, fresh] = state_uses_.try_emplace(&instruction);
  if (!fresh || set_by_commands_.empty()) return found->second;
  const auto number = [&](const std::string& name) {
    return static_cast<std::size_t>(std::distance(set_by_commands_.begin(), set_by_commands_.find(name)));
  };
  for (const Instruction* twin : twins_of(instruction, model_)) {
    const auto read = [&](const std::string& name) {
      if (set_by_commands_.contains(name)) found->second.reads.insert(number(name));
    };
    for (const Operand& operand : twin->operands) read(operand.state);
    for (const StateValue& need : twin->needs) read(stem(*twin, need.field));
    for (const StateValue& set : twin->sets) found->second.writes.insert(number(stem(*twin, set.field)));
  }
  return found->second;
}

CommandOrder::Timing CommandOrder::timing_of(const CallSite& site, const std::int64_t* loops) {
  const auto [found, fresh] = timings_.try_emplace(&site);
  Timing& timing = found->second;
  if (!fresh) return timing;
  const Instruction& instruction = *site.instruction;
  const auto cycles = [&](const std::optional<IntExpr>& e) {
    const auto value =
        e ? evaluate(*e, [&](const Reference& r) { return value_of(r, site, program_, model_, loops); }) : std::nullopt;
    return std::max<std::int64_t>(value.value_or(1), 0);
  };
  timing.interval = cycles(instruction.timing.interval);
  const Ref& written = site.call->operands[0];
  const DType type = written.buffer.valid() ? program_.buffers[written.buffer.index()].dtype : DType::f32;
  const double moved = written.buffer.valid() ? carried_bytes(instruction, site.call->extents, type) : 0;
  const auto shared = shared_port_uses(instruction, site.call->extents, type, model_);
  timing.interval =
      std::max(timing.interval, static_cast<std::int64_t>(transfer_cycles(shared, instruction, moved, model_)));
  timing.latency =
      std::lround(result_latency(static_cast<double>(timing.interval),
                                 static_cast<double>(cycles(instruction.timing.latency)), instruction, model_));
  for (const SharedPortUse& use : held_ports(shared, instruction)) {
    const auto [number, first] = port_numbers_.try_emplace(shared_port_name(use.port, model_), port_free_.size());
    if (first) port_free_.emplace_back(1, 0);
    timing.shared.emplace_back(number->second, static_cast<std::int64_t>(std::ceil(use.cycles)));
  }
  const std::string& name = port_name(instruction);
  const auto [port, first] = port_numbers_.try_emplace(name, port_free_.size());
  timing.port = port->second;
  if (!first) return timing;
  std::int64_t count = 1;
  if (instruction.unit.valid()) {
    const auto& ports = model_.unit(instruction.unit).ports;
    if (const auto stated = ports.find(name); stated != ports.end()) count = stated->second;
  }
  port_free_.emplace_back(static_cast<std::size_t>(std::clamp<std::int64_t>(count, 1, 1024)), 0);
  return timing;
}

CommandOrder::Needs CommandOrder::needs_of(const CallSite& site, const std::int64_t* loops) {
  Needs needs;
  if (site.instruction->needs.empty()) return needs;
  const auto known = needed_state(*site.instruction, model_,
                                  [&](const Reference& r) { return value_of(r, site, program_, model_, loops); });
  if (!known) return needs;  // the printer reports why
  for (const auto& [field, value] : *known) {
    if (set_by_commands_.contains(field)) continue;
    const auto number = fields_.try_emplace(field, fields_.size()).first->second;
    holds_.resize(fields_.size());
    needs.emplace_back(number, value);
  }
  return needs;
}

void CommandOrder::access(const Span& span, bool write, Waiting& entry, std::vector<std::int64_t>& before) {
  if (span.empty()) return;
  const auto found = [&](std::int64_t command) {
    const std::int64_t end = ended_[static_cast<std::size_t>(command)];
    if (end >= 0)
      entry.ready = std::max(entry.ready, end);
    else if (command != entry.number)
      before.push_back(command);
  };
  LastUses& memory = memories_[span.memory.index()];
  if (span.pieces == nullptr) return memory.access(span.low, span.high, write, entry.number, ended_, found);
  for (const Interval& piece : *span.pieces)
    memory.access(span.origin + piece.low, span.origin + piece.high + 1, write, entry.number, ended_, found);
}

void CommandOrder::find_predecessors(Waiting& entry) {
  std::vector<std::int64_t> before;
  const CallSite& site = *entry.site;
  const auto& spans = spans_(site, entry.loops.data());
  for (std::size_t a = spans.size(); a-- > 0;) {  // the written operand last: the write finds its own read
    const BufferId buffer = site.call->operands[a].buffer;
    if (buffer.valid() && (written_[buffer.index()] || program_.buffers[buffer.index()].role == BufferRole::local))
      access(spans[a], a == 0, entry, before);
  }
  for (const auto& [dim, memory] : site.instruction->masks)
    if (const auto number = value_of({"mask", "", dim}, site, program_, model_, entry.loops.data())) {
      const std::int64_t size = std::max<std::int64_t>(model_.memory(memory).size, 1);
      access({memory, *number * size, (*number + 1) * size, nullptr, 0}, false, entry, before);
    }
  finish_by(entry, before);
  wait_for(std::move(before), entry, &Waiting::successors);
  before.clear();
  const StateUse& state = state_use(*site.instruction);
  const auto touch = [&](std::size_t field, bool write) {
    const auto at = static_cast<std::int64_t>(field);
    state_.access(at, at + 1, write, entry.number, ended_, [&](std::int64_t command) {
      if (command != entry.number && ended_[static_cast<std::size_t>(command)] < 0) before.push_back(command);
    });
  };
  for (const std::size_t field : state.reads) touch(field, false);
  for (const std::size_t field : state.writes) touch(field, true);
  wait_for(std::move(before), entry, &Waiting::followers);
}

/// The use performs the deferred reads of the command before it; commands that write there follow the use.
void CommandOrder::finish_by(Waiting& entry, std::vector<std::int64_t>& before) {
  const Instruction& instruction = *entry.site->instruction;
  const std::set<std::size_t>& needed = state_use(instruction).reads;
  if (std::any_of(unfinished_.fields.begin(), unfinished_.fields.end(),
                  [&](std::size_t field) { return needed.contains(field); })) {
    for (const Span& span : unfinished_.reads) access(span, false, entry, before);
    unfinished_ = {};
  }
  Unfinished own;
  for (const StateValue& set : instruction.sets)
    if (set.any)
      own.fields.insert(static_cast<std::size_t>(
          std::distance(set_by_commands_.begin(), set_by_commands_.find(stem(instruction, set.field)))));
  if (own.fields.empty()) return;
  const auto& spans = spans_(*entry.site, entry.loops.data());
  if (!spans.empty()) own.reads.assign(spans.begin() + 1, spans.end());
  unfinished_ = std::move(own);
}

void CommandOrder::wait_for(std::vector<std::int64_t> before, Waiting& entry,
                            std::vector<std::int64_t> Waiting::*list) {
  std::sort(before.begin(), before.end());
  before.erase(std::unique(before.begin(), before.end()), before.end());
  entry.predecessors += static_cast<int>(before.size());
  for (const std::int64_t command : before) {
    const auto waiting = std::lower_bound(waiting_.begin(), waiting_.end(), command,
                                          [](const Waiting& w, std::int64_t number) { return w.number < number; });
    ((*waiting).*list).push_back(entry.number);
  }
}

/// Setters set several fields of an object at once; one per differing field is an upper bound. Ties prefer the command
/// that needs no state change.
std::int64_t CommandOrder::setters(const Needs& needs) const {
  return std::count_if(needs.begin(), needs.end(), [&](const auto& need) { return holds_[need.first] != need.second; });
}

std::int64_t CommandOrder::start_of(const Waiting& entry) const {
  const auto& instances = port_free_[entry.timing.port];
  std::int64_t start =
      std::max({issue_ + setters(entry.needs), entry.ready, *std::min_element(instances.begin(), instances.end())});
  for (const auto& [port, cycles] : entry.timing.shared) start = std::max(start, port_free_[port].front());
  return start;
}

void CommandOrder::leave_one() {
  auto first = waiting_.end();
  std::int64_t start = 0;
  for (auto entry = waiting_.begin(); entry != waiting_.end(); ++entry) {
    if (entry->predecessors > 0) continue;
    const std::int64_t possible = start_of(*entry);
    if (first != waiting_.end() && possible >= start) continue;
    first = entry;
    start = possible;
  }
  const Waiting leaving = std::move(*first);
  waiting_.erase(first);
  auto& instances = port_free_[leaving.timing.port];
  *std::min_element(instances.begin(), instances.end()) = start + leaving.timing.interval;
  for (const auto& [port, cycles] : leaving.timing.shared) port_free_[port].front() = start + cycles;
  const std::int64_t end = start + leaving.timing.latency;
  ended_[static_cast<std::size_t>(leaving.number)] = end;
  issue_ = start;
  for (const auto& [field, value] : leaving.needs) holds_[field] = value;
  const auto among = [](const std::vector<std::int64_t>& list, std::int64_t number) {
    return std::binary_search(list.begin(), list.end(), number);
  };
  for (Waiting& entry : waiting_) {
    if (among(leaving.successors, entry.number)) {
      --entry.predecessors;
      entry.ready = std::max(entry.ready, end);
    }
    if (among(leaving.followers, entry.number)) --entry.predecessors;
  }
  for (const std::string& text : leaving.comments) say_(text);
  leave_(*leaving.site, leaving.loops.data());
}

}  // namespace isamap

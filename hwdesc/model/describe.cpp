// SPDX-License-Identifier: Apache-2.0
// Text of `hw show`: the machine in tables.

#include <fmt/format.h>

#include <algorithm>

#include "hwdesc/model/describe_internal.h"
#include "hwdesc/model/timing_choice.h"
#include "isamap/hardware.h"

namespace isamap {

namespace {

std::string join(const std::vector<std::string>& words, const char* between = " ") {
  return fmt::format("{}", fmt::join(words, between));
}

/// Columns padded to their widest cell.
std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (widths.size() <= c) widths.push_back(0);
      widths[c] = std::max(widths[c], row[c].size());
    }
  std::string text;
  for (const auto& row : rows) {
    std::string line = " ";
    for (std::size_t c = 0; c < row.size(); ++c) line += fmt::format(" {:<{}}", row[c], widths[c]);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string section(const std::string& title, const std::vector<std::vector<std::string>>& rows) {
  return rows.size() < 2 ? "" : "\n" + title + "\n" + table(rows);
}

std::string count_text(const Unit& unit) {
  if (unit.axes.empty()) return (unit.at_most ? "up to " : "") + std::to_string(unit.count);
  std::vector<std::string> axes;
  for (const auto& [axis, extent] : unit.axes) axes.push_back(fmt::format("{} {}", axis, extent));
  return join(axes, " x ");
}

std::string traits(const Unit& unit) {
  std::vector<std::string> words;
  if (unit.scalar) words.push_back("scalar");
  if (unit.queued) words.push_back("queued");
  if (unit.tokens) words.push_back("ordered by tokens");
  for (const auto& [port, count] : unit.ports) words.push_back(fmt::format("{}:{}", port, count));
  return join(words);
}

std::string units_section(const HardwareModel& model) {
  std::vector<std::vector<std::string>> rows{{"unit", "inside", "count", "instances", ""}};
  for (std::size_t i = 0; i < model.units().size(); ++i) {
    const Unit& unit = model.units()[i];
    rows.push_back({unit.name, unit.parent.valid() ? model.unit(unit.parent).name : "-", count_text(unit),
                    std::to_string(model.instances(make_id<UnitId>(i))), traits(unit)});
  }
  return section("units", rows);
}

std::string memories_section(const HardwareModel& model) {
  std::vector<std::vector<std::string>> rows{{"memory", "kind", "per", "capacity", "read", "write", "energy"}};
  for (const Memory& m : model.memories()) {
    std::string size = m.is_register() ? fmt::format("{} x {}", m.count, size_text(m.size)) : size_text(m.capacity);
    if (m.pool) size += fmt::format(", {} in a {}", m.pool->total, model.unit(m.pool->unit).name);
    const std::string energy =
        m.read_energy > 0 || m.write_energy > 0
            ? fmt::format("{:g}/{:g} pJ per {}", m.read_energy, m.write_energy, size_text(m.word))
            : "";
    rows.push_back({m.name, std::string(name(m.kind)), model.unit(m.per).name, size, rate_text(m.read_bandwidth),
                    m.one_port ? "shared" : rate_text(m.write_bandwidth), energy});
  }
  return section("memories", rows);
}

std::string links_section(const HardwareModel& model) {
  std::vector<std::vector<std::string>> rows{{"link", "from", "to", "via", "bandwidth", "latency"}};
  const bool share =
      std::any_of(model.links().begin(), model.links().end(), [](const Link& l) { return !l.port.empty(); });
  if (share) rows.front().push_back("port");
  for (const Link& link : model.links()) {
    std::vector<std::string> via;
    for (const MemoryId cache : link.via) via.push_back(model.memory(cache).name);
    rows.push_back({link.name, model.memory(link.from).name, model.memory(link.to).name, join(via),
                    rate_text(link.bandwidth), link.latency > 0 ? fmt::format("{:g} cycles", link.latency) : ""});
    if (share) rows.back().push_back(link.port);
  }
  return section("links", rows);
}

std::string states_section(const HardwareModel& model) {
  std::vector<std::vector<std::string>> rows{{"state", "per", "field", "values", "shared in"}};
  for (const State& state : model.states())
    for (const StateField& field : state.fields) {
      std::string shared;
      for (const StatePool& pool : state.pools)
        if (pool.field == field.name)
          shared = model.unit(pool.unit).name + (pool.total > 0 ? fmt::format(", {} in all", pool.total) : "");
      rows.push_back({state.name, model.unit(state.per).name, field.name, values_text(field), shared});
    }
  return section("state", rows);
}

std::string completion_section(const HardwareModel& model) {
  std::vector<std::vector<std::string>> rows{{"waits", "kind", "of", ""}};
  const auto unit = [&](UnitId id) { return id.valid() ? model.unit(id).name : std::string(); };
  for (const Barrier& barrier : model.barriers())
    rows.push_back({barrier.name, "barrier", unit(barrier.unit),
                    (barrier.count > 1 ? fmt::format("{} of them ", barrier.count) : "") +
                        (barrier.partial ? "some may wait" : "")});
  for (const AsyncObject& object : model.async_objects())
    rows.push_back({object.name, std::string(name(object.kind)), unit(object.per),
                    !object.from.empty() ? fmt::format("from {} to {}", object.from, object.to)
                    : object.memory.valid()
                        ? fmt::format("{} in {}", size_text(object.size), model.memory(object.memory).name)
                        : ""});
  for (const Memory& memory : model.memories())
    for (const MemoryView& view : memory.views) rows.push_back({view.name, "view", memory.name, "a fence between"});
  for (const HostObject& object : model.objects())
    rows.push_back({object.name, "object", "host", "passed to the program"});
  return section("completion and objects", rows);
}

std::string operand_text(const Operand& operand, const HardwareModel& model) {
  const std::string type = operand.dtype ? std::string(name(*operand.dtype)) : "any";
  const std::string place = operand.memory.valid()   ? model.memory(operand.memory).name
                            : !operand.state.empty() ? operand.state
                                                     : "immediate";
  return fmt::format("{}:{}@{}", operand.name, type, place);
}

std::string dims_text(const Instruction& instruction) {
  std::vector<std::string> words;
  if (instruction.semantics.empty()) return "";
  const auto& dims = instruction.statement().domain.dims;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const DimRange& range = instruction.ranges[d];
    const std::string step = range.multiple_of > 1 && !range.fixed() ? fmt::format(" step {}", range.multiple_of) : "";
    words.push_back(dims[d].name + "=" +
                    (range.fixed() ? std::to_string(range.max) : fmt::format("{}..{}{}", range.min, range.max, step)));
  }
  return join(words);
}

/// The statement without dims, which have a separate column.
std::string statement_text(const Instruction& instruction) {
  return is_setter(instruction) ? "(sets state)" : print_formula(instruction.statement(), instruction.tensors);
}

std::string instructions_section(const HardwareModel& model) {
  std::vector<std::vector<std::string>> rows{{"instruction", "unit", "statement", "dims", "operands"}};
  for (const Instruction& i : model.instructions()) {
    std::vector<std::string> operands;
    for (const Operand& operand : i.operands) operands.push_back(operand_text(operand, model));
    rows.push_back({i.name, model.unit(i.unit).name, statement_text(i), dims_text(i), join(operands)});
  }
  return section("instructions", rows);
}

std::string list_text(const std::string& title, const std::vector<std::string>& words, const char* between = " ") {
  return words.empty() ? "" : title + ": " + join(words, between) + "\n";
}

/// "symbol VB: 16 to 256, a power of two; here 32; programs have code for 16, 32, 64 and ask svcntb()"
std::string symbol_text(const Symbol& s) {
  std::string text = fmt::format("symbol {}: {} to {}", s.name, s.min, s.max);
  if (s.multiple_of > 1) text += fmt::format(", a multiple of {}", s.multiple_of);
  if (s.power_of_two) text += ", a power of two";
  text += fmt::format("; here {}", s.value);
  if (s.known_at_compile_time)
    text += ", known when programs are compiled";
  else if (!s.emit.empty())
    text += fmt::format("; programs have code for {} and ask {}", fmt::join(s.versions, ", "), s.emit);
  return text + "\n";
}

std::string simulator_text(const ExternalSimulator& simulator) {
  if (simulator.command.empty()) return "";
  const std::string limit = simulator.seconds > 0 ? fmt::format(", at most {:g} s", simulator.seconds) : "";
  return fmt::format("simulator {}: {}{}\n", simulator.name, simulator.command, limit);
}

/// One line for each reference that the file was verified against.
std::string verified_text(const std::vector<Evidence>& all) {
  if (all.empty()) return "verified: not stated\n";
  std::string text;
  for (const Evidence& one : all) text += fmt::format("verified against {}: {} ({})\n", one.against, one.what, one.how);
  return text;
}

}  // namespace

std::string size_text(std::int64_t bytes) {
  for (const auto& [unit, factor] : {std::pair{"TiB", std::int64_t{1} << 40},
                                     {"GiB", std::int64_t{1} << 30},
                                     {"MiB", std::int64_t{1} << 20},
                                     {"KiB", std::int64_t{1} << 10}})
    if (bytes >= factor && bytes % factor == 0) return fmt::format("{}{}", bytes / factor, unit);
  return fmt::format("{}B", bytes);
}

std::string rate_text(double bytes_per_cycle) {
  return bytes_per_cycle > 0 ? fmt::format("{:.4g} B/cycle", bytes_per_cycle) : "";
}

std::string values_text(const StateField& field) {
  if (field.dtype) return std::string(name(*field.dtype));
  if (!field.values.empty()) return fmt::format("{}", fmt::join(field.values, " "));
  std::string text = field.max == 0 ? fmt::format("from {}", field.min) : fmt::format("{} to {}", field.min, field.max);
  return text + (field.multiple_of > 1 ? fmt::format(" step {}", field.multiple_of) : "");
}

/// "timing of mma and 3 others: thread blocks (instances of block are queued on sm)", a line for each way; then the
/// parameters that the file states.
std::string timing_text(const HardwareModel& model) {
  std::vector<std::pair<std::string, std::vector<std::string>>> ways;  // with their reason, and what they hold for
  const auto add = [&](const std::string& calls, const Instruction* instruction) {
    const std::string way =
        fmt::format("{} ({})", name(timing_model(model, instruction)), timing_reason(model, instruction));
    const auto known = std::find_if(ways.begin(), ways.end(), [&](const auto& w) { return w.first == way; });
    (known == ways.end() ? ways.emplace_back(way, std::vector<std::string>{}) : *known).second.push_back(calls);
  };
  for (const Instruction& instruction : model.instructions())
    if (!instruction.semantics.empty() && !is_move(instruction) && !instruction.statement().reads.empty())
      add(instruction.name, &instruction);
  if (model.scalar_unit_for(model.home())) add("scalar code", nullptr);
  std::string text;
  for (const auto& [way, calls] : ways) {
    const std::string others = calls.size() > 2    ? fmt::format(" and {} others", calls.size() - 1)
                               : calls.size() == 2 ? " and " + calls.back()
                                                   : "";
    text += "timing of " + calls.front() + others + ": " + way + "\n";
  }
  for (const TimingParameter& p : timing_parameters)
    if (model.timing.*p.value != default_timing().*p.value)
      text +=
          fmt::format("timing: {} = {:g} ({:g} by default)\n", p.key, model.timing.*p.value, default_timing().*p.value);
  return text;
}

std::string describe(const HardwareModel& model) {
  std::string text =
      fmt::format("{} ({}), {:g} GHz, {}\n", model.name, model.program.language, model.clock_hz / 1e9, model.file);
  text += list_text("requires machine", model.needed.machine) + list_text("requires cpu", model.needed.cpu) +
          list_text("requires arch", model.needed.arch);
  text += list_text("compiled with the first that works of", model.program.compilers, ", ");
  if (!model.program.run_emulated.empty()) text += "emulated with: " + model.program.run_emulated + "\n";
  text += simulator_text(model.program.simulator);
  if (!model.program.shim.include.empty()) text += "shim: " + model.program.shim.include + "\n";
  text += verified_text(model.verified);
  for (const auto& [name, value] : model.params) text += fmt::format("parameter {} = {}\n", name, value);
  for (const Symbol& s : model.symbols()) text += symbol_text(s);
  text += timing_text(model);
  return text + units_section(model) + memories_section(model) + links_section(model) + states_section(model) +
         completion_section(model) + instructions_section(model);
}

}  // namespace isamap

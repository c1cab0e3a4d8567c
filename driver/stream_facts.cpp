// SPDX-License-Identifier: Apache-2.0
#include "driver/stream_facts.h"

#include <algorithm>

#include "mapper/match/instruction_tree.h"

namespace isamap {
namespace {

/// A schedule that was kept from an earlier search has no reasons of its own.
void say_what_maps(ScalarCode& code, const Compilation& compilation, const Kernel& kernel,
                   const HardwareModel& machine) {
  if (code.cause != ScalarCode::Cause::hand_written) return;
  for (const Mapping& mapping : compilation.mapped.mappings) {
    if (kernel.statements[mapping.statement.index()].name != code.statement) continue;
    code.reasons = {instruction_of(mapping, machine).name +
                    " maps, and the search that found the schedule left it out: it was dearer, or did not lower"};
    return;
  }
}

PartFacts facts_of(const CompiledModel& compiled, std::size_t p, const HardwareModel& machine) {
  const CompiledPart& part = compiled.parts[p];
  const Compilation& compilation = *compiled.programs[part.program];
  PartFacts facts;
  const Kernel& kernel = compiled.parts[part.same_as].kernel;
  facts.on_host = scalar_code(compilation, kernel, machine, ReasonOrder::other_reductions_last);
  if (compilation.scheduled->schedule.splits.empty())
    for (ScalarCode& code : facts.on_host) say_what_maps(code, compilation, kernel, machine);
  facts.by = facts.on_host.empty() ? PartFacts::By::commands
             : part.mapped == 0    ? PartFacts::By::host
                                   : PartFacts::By::both;
  for (const Nest& nest : compilation.scheduled->schedule.nests)
    for (const Line& line : nest.lines)
      if (const auto* compute = std::get_if<Do>(&line.is); compute != nullptr && !compute->instruction.empty())
        if (std::find(facts.instructions.begin(), facts.instructions.end(), compute->instruction) ==
            facts.instructions.end())
          facts.instructions.push_back(compute->instruction);
  facts.kept = resident_intermediates(compilation, part.kernel, machine);
  const Cost& cost = compilation.scheduled->cost;
  facts.predicted = {cost.cycles - cost.scalar_cycles, cost.scalar_cycles};
  return facts;
}

/// The unit whose instructions use the port; an instruction without one is a port of its own.
std::string unit_of(const std::string& port, const HardwareModel& machine) {
  for (const Instruction& instruction : machine.instructions())
    if (port == port_name(instruction)) return machine.unit(instruction.unit).name;
  return "";
}

std::vector<PortUse> ports_of(const SimulatedTime& time, const HardwareModel& machine) {
  std::vector<PortUse> ports;
  for (const auto& [port, busy] : time.port_busy) {
    PortUse use{unit_of(port, machine), port, 1, busy, 0};
    if (const auto unit = machine.find_unit(use.unit))
      if (const auto stated = machine.unit(*unit).ports.find(port); stated != machine.unit(*unit).ports.end())
        use.count = std::max<std::int64_t>(stated->second, 1);
    if (time.cycles > 0)
      use.utilisation = static_cast<double>(busy) / static_cast<double>(time.cycles) / static_cast<double>(use.count);
    ports.push_back(std::move(use));
  }
  return ports;
}

}  // namespace

std::string_view name(PartFacts::By by) {
  return by == PartFacts::By::commands ? "commands" : by == PartFacts::By::host ? "host" : "both";
}

std::vector<PartFacts> part_facts(const CompiledModel& compiled, const HardwareModel& machine) {
  std::vector<PartFacts> facts;
  for (std::size_t p = 0; p < compiled.parts.size(); ++p) facts.push_back(facts_of(compiled, p, machine));
  return facts;
}

StreamFacts stream_facts(const CompiledModel& compiled, const ModelRun& run, const HardwareModel& machine) {
  StreamFacts facts;
  for (PartFacts& part : part_facts(compiled, machine)) {
    const std::size_t p = facts.parts.size();
    if (p < run.parts.size())
      part.simulated = {static_cast<double>(run.parts[p].simulated.cycles), run.parts[p].simulated.scalar_cycles};
    facts.predicted.commands += part.predicted.commands;
    facts.predicted.host += part.predicted.host;
    facts.host_parts += part.by == PartFacts::By::host ? 1 : 0;
    facts.parts.push_back(std::move(part));
  }
  facts.simulated = {static_cast<double>(run.simulated.cycles), run.simulated.scalar_cycles};
  facts.ports = ports_of(run.simulated, machine);
  return facts;
}

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/model/fixed_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "backends/cpp/function/team.h"
#include "backends/cpp/model/model_unit.h"
#include "backends/cpp/text/names.h"
#include "backends/cpp/versions.h"

namespace isamap {
namespace {

constexpr std::size_t longest_name = 16;  // of a tensor in a function; "Clip_output_0" has 13

/// Exported models name tensors by the path of their layer, 60 letters and more, which most lines of a part would have
/// several times. Of longer names the end is kept, from a word on; comments have the whole name.
std::string end_of_name(const std::string& name) {
  if (name.size() <= longest_name) return name;
  for (std::size_t at = name.size() - longest_name; at + 1 < name.size(); ++at)
    if (name[at - 1] == '_' && std::isalpha(static_cast<unsigned char>(name[at])) != 0) return name.substr(at);
  return name.substr(name.size() - longest_name);
}

void shorten_names(Program& program) {
  for (Buffer& buffer : program.buffers) {
    if (!buffer.tensor.valid()) continue;
    const std::string& tensor = program.kernel.tensors[buffer.tensor.index()].name;
    if (buffer.name.starts_with(tensor))
      buffer.name = end_of_name(identifier(tensor)) + buffer.name.substr(tensor.size());
  }
}

/// The main entry only: the file of weights holds the results of the other.
Result<TranslationUnit> print_main_entry(Program program, const HardwareModel& machine, const std::string& name,
                                         Surroundings& around) {
  program.name = name;
  program.prepack.clear();
  around.team = threads_of(machine) > 1 && distributes(program.body, machine);
  if (around.team && asks_for_sizes(program, machine))
    return error(fmt::format("'{}': threads of machines whose sizes are read at run time have no program", name));
  if (asks_for_sizes(program, machine)) return print_versions(program, machine, around);
  shorten_names(program);
  return print_functions(program, machine, name, "static", around);
}

/// Arguments of each program that a call gives the place of one that it writes.
std::vector<std::set<BufferId>> overlapping_arguments(const ModelProgram& model) {
  std::vector<std::set<BufferId>> found(model.programs.size());
  const auto add = [&](const PartCall& call) {
    const Program& program = model.programs[call.program];
    const auto is_written = [&](std::size_t b) {
      return !program.buffers[b].ahead_of_time && program.buffers[b].role == BufferRole::argument &&
             role_of(program.kernel, program.buffers[b].tensor) != Role::input;
    };
    for (std::size_t a = 0; a < call.arguments.size(); ++a)
      for (std::size_t b = 0; b < call.arguments.size(); ++b)
        if (a != b && call.arguments[a].in != ModelPlace::In::nowhere && call.arguments[a] == call.arguments[b] &&
            is_written(b))
          found[call.program].insert({make_id<BufferId>(a), make_id<BufferId>(b)});
  };
  for (const PartCall& call : model.calls) add(call);
  for (const ModelBands& bands : model.bands)
    for (const ModelBandLoop& loop : bands.loops)
      for (const ModelBandStep& step : loop.steps)
        if (const auto* call = std::get_if<PartCall>(&step.is)) add(*call);
  return found;
}

}  // namespace

Result<FixedPart> print_part(const Program& program, std::size_t number, const std::set<BufferId>& overlapping,
                             const HardwareModel& machine, const std::string& name) {
  FixedPart part;
  part.around.from_caller = true;
  part.around.overlapping = overlapping;
  auto unit = print_main_entry(program, machine, fmt::format("{}_part_{}", name, number), part.around);
  if (!unit) return unit.diagnostics();
  unit->text = comment("\n" + print(program.kernel) + "\n" + program.schedule_text, " ") + unit->text + "\n";
  part.unit = std::move(*unit);
  part.distributed = threads_of(machine) > 1 && distributes(program.body, machine);
  return part;
}

void add_surroundings(Surroundings& all, const Surroundings& one) {
  all.helpers.insert(one.helpers.begin(), one.helpers.end());
  all.includes.insert(one.includes.begin(), one.includes.end());
  all.scratch |= one.scratch;
  all.from_caller |= one.from_caller;
  all.team |= one.team;
  all.workspace.bytes = std::max(all.workspace.bytes, one.workspace.bytes);
  all.workspace.align = std::max(all.workspace.align, one.workspace.align);
}

Result<FixedParts> print_parts(const ModelProgram& model, const HardwareModel& machine, const std::string& name) {
  FixedParts made;
  made.around.from_caller = true;
  const std::vector<std::set<BufferId>> overlapping = overlapping_arguments(model);
  for (std::size_t p = 0; p < model.programs.size(); ++p) {
    const Program& program = model.programs[p];
    auto part = print_part(program, p, overlapping[p], machine, name);
    if (!part) return part.diagnostics();
    add_surroundings(made.around, part->around);
    made.parts.push_back(std::move(*part));
    made.team |= made.parts.back().distributed;
    for (const Assumption& one : program.assumptions)
      if (std::find(made.assumptions.begin(), made.assumptions.end(), one.text) == made.assumptions.end())
        made.assumptions.push_back(one.text);
  }
  return made;
}

Result<Workspace> workspace_of(const Program& part, const HardwareModel& machine) {
  Surroundings around;
  around.from_caller = true;
  const auto unit = print_main_entry(part, machine, "part", around);
  if (!unit) return unit.diagnostics();
  return around.workspace;
}

}  // namespace isamap

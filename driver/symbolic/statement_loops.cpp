// SPDX-License-Identifier: Apache-2.0
#include "driver/symbolic/statement_loops.h"

#include <fmt/format.h>

#include <algorithm>

#include "driver/symbolic/symbolic_arguments.h"
#include "ir/symbolic/refusal.h"
#include "scheduler/nest/nest_of_all_dims.h"

namespace isamap {
namespace {

const std::string loops_everywhere = "plain loops at all sizes: ";

Diagnostic scalar_warning(const SymbolicKernel& kernel, std::size_t s, const std::string& why) {
  std::string sizes;
  for (const auto& [name, value] : kernel.at) sizes += fmt::format("{}{}={}", sizes.empty() ? "" : ",", name, value);
  Diagnostic warning = error_at(kernel.sample.where, fmt::format("{} is {}", kernel.sample.statements[s].name, why),
                                "bind sizes: --sizes " + sizes);
  warning.severity = Severity::warning;
  return warning;
}

}  // namespace

bool may_be_loops(const SymbolicKernel& kernel, std::size_t s, const CompileOptions& options) {
  if (!kernel.sample.repeats.empty() || !kernel.sample.statements[s].domain.faces.empty()) return false;
  for (const ScheduleVersion& version : options.versions)
    if (!uses_no_instruction(version.schedules[s])) return false;
  if (!options.hand_written) return true;
  Schedule one = *options.hand_written;
  if (s < one.nests.size()) one.nests = {one.nests[s]};
  return uses_no_instruction(one);
}

PlannedGrid plain_loops(const SymbolicKernel& kernel, std::size_t s, const HardwareModel& model,
                        const CompileOptions& options, const Diagnostic& why) {
  PlannedGrid plan;
  plan.grid.shape = shape_without_axes(kernel, s);
  plan.grid.schedule.name = plan.grid.schedule.kernel = kernel.sample.name;
  plan.grid.schedule.target = model.name;
  plan.grid.schedule.nests = {nest_of_all_dims(plan.grid.shape.kernel.statements[0])};
  plan.grid.loops = {why_refused_for_all_sizes(why.message), options.strict_float, kernel.statements[s].extents};
  plan.stage = GridStage::printable;
  return plan;
}

Diagnostics scalar_warnings(const SymbolicKernel& kernel, const std::vector<PlannedGrid*>& plans) {
  Diagnostics warnings;
  for (std::size_t s = 0; s < plans.size(); ++s) {
    const PlannedGrid& plan = *plans[s];
    if (plan.grid.loops)
      warnings.push_back(scalar_warning(kernel, s, loops_everywhere + plan.grid.loops->why));
    else if (!plan.why_scalar.empty())
      warnings.push_back(scalar_warning(
          kernel, s, "scalar code: no program of instructions serves all sizes: " + plan.why_scalar.front().message));
  }
  return warnings;
}

SymbolicCompilation compile_plain_loops(const SymbolicKernel& kernel, const HardwareModel& model,
                                        const CompileOptions& options, const Diagnostic& why) {
  SymbolicCompilation result;
  SymbolicProgram program;
  program.kernel = kernel;
  program.versions.push_back({});
  result.found_at.push_back(0);
  for (std::size_t s = 0; s < kernel.sample.statements.size(); ++s) {
    PlannedGrid plan = plain_loops(kernel, s, model, options, why);
    result.schedules.push_back(plan.grid.schedule);
    result.problems.push_back(scalar_warning(kernel, s, loops_everywhere + plan.grid.loops->why));
    program.grids.push_back(std::move(plan.grid));
  }
  program.arguments = symbolic_arguments(kernel.sample);
  result.program = std::move(program);
  return result;
}

}  // namespace isamap

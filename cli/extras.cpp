// SPDX-License-Identifier: Apache-2.0
#include "cli/extras.h"

#include "cli/common.h"
#include "ir/verify/recurrence.h"
#include "scheduler/nest/scheduled_kernel.h"

namespace isamap::cli {

std::optional<Extras> extras_of(const Options& options, const Explained& what, const Kernel& whole,
                                const HardwareModel& model, Exit& code) {
  const Schedule& schedule = what.schedule;
  const Kernel kernel = scheduled_kernel_of(one_step_of(whole), schedule);  // of a recurrence one step is explained
  Extras extras;
  code = Exit::wrong_input;
  auto statements = explain(schedule, kernel, model);
  if (!statements) {
    fail(code, statements.diagnostics());
    return std::nullopt;
  }
  extras.statements = std::move(*statements);
  if (options.explain) extras.text = explanation_text(extras.statements, what.second);
  const bool pictures = !options.trace.empty() || !options.report.empty();
  if (pictures || options.cost == "simulator") {
    auto timelines = timelines_of(schedule, kernel, model, pictures ? most_trace_slices : 0);
    if (!timelines) {
      code = fail(Exit::limit, timelines.diagnostics());
      return std::nullopt;
    }
    extras.timelines = std::move(*timelines);
  }
  const auto write = [&](const std::string& path, const std::string& text) {
    if (path.empty()) return true;
    const auto written = write_file(path, text);
    if (!written) fail(code, written.diagnostics());
    return static_cast<bool>(written);
  };
  if (!options.trace.empty() && !write(options.trace, trace_json(extras.timelines, model))) return std::nullopt;
  if (!options.report.empty() &&
      !write(options.report, schedule_page(kernel.name + " on " + model.name, what.text, extras.statements,
                                           extras.timelines, what.second)))
    return std::nullopt;
  code = Exit::ok;
  return extras;
}

}  // namespace isamap::cli

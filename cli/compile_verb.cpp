// SPDX-License-Identifier: Apache-2.0
#include "cli/compile_verb.h"

#include <fmt/format.h>

#include <cmath>

#include "cli/cost_choice.h"
#include "cli/interrupt.h"
#include "cli/json.h"
#include "isamap/scheduler.h"
#include "support/yaml.h"

namespace isamap::cli {

std::function<bool(std::int64_t, double)> search_progress() {
  return [progress = std::make_shared<Progress>()](std::int64_t evaluations, double best) {
    const std::string found = std::isfinite(best) ? short_number(best) : "none yet";
    (*progress)(fmt::format("schedule: {} evaluations, best {}", evaluations, found));
    return std::isfinite(best) ? continue_with_result() : !interrupted();
  };
}

std::optional<CompileOptions> compile_options(const Options& options, const Inputs& inputs, Exit& code) {
  CompileOptions out;
  out.map = options.map;
  out.strict_float = options.strict_float;
  out.schedule = schedule_options(options, inputs.model);
  const auto costs = cost_models(options, inputs.model, code);
  if (!costs) return std::nullopt;
  out.schedule.costs = *costs;
  out.schedule.progress = search_progress();
  if (options.schedule_file.empty()) return out;
  auto loaded = load_schedule(options.schedule_file, inputs.kernel, inputs.model);
  if (!loaded) {
    code = fail(Exit::wrong_input, loaded.diagnostics());
    return std::nullopt;
  }
  out.hand_written = std::move(*loaded);
  return out;
}

std::optional<CompileOptions> compile_options(const Options& options, const SymbolicKernel& kernel,
                                              const HardwareModel& model, Exit& code) {
  std::vector<ScheduleVersion> versions;
  Options one = options;
  if (!options.schedule_file.empty()) {
    auto loaded = load_schedule_versions(options.schedule_file, kernel, model);
    if (!loaded) {
      code = fail(Exit::wrong_input, loaded.diagnostics());
      return std::nullopt;
    }
    versions = std::move(*loaded);
    if (!versions.empty()) one.schedule_file.clear();
  }
  auto out = compile_options(one, {kernel.sample, model}, code);
  if (out) out->versions = std::move(versions);
  return out;
}

Diagnostics with_schedule_lines(const Options& options, Diagnostics problems) {
  const auto text =
      options.schedule_file.empty() ? Result<std::string>("") : yaml::read_text_file(options.schedule_file);
  const yaml::Source source(text ? *text : "");
  for (Diagnostic& problem : problems)
    if (problem.where.file == options.schedule_file && problem.source_line.empty()) source.attach(problem);
  return problems;
}

std::optional<CompiledInputs> compile_inputs(const Options& options, Exit& code, bool all_sizes,
                                             const CompileHook& hook) {
  auto inputs = load_inputs(options, code);
  if (!inputs) return std::nullopt;
  auto compiled = compile_loaded(options, *inputs, code, all_sizes, hook);
  if (!compiled) return std::nullopt;
  return CompiledInputs{std::move(*inputs), std::move(*compiled)};
}

std::optional<Compilation> compile_loaded(const Options& options, const Inputs& inputs, Exit& code, bool all_sizes,
                                          const CompileHook& hook) {
  code = Exit::usage;
  if (!strategy_accepts(options, inputs.kernel, inputs.model)) return std::nullopt;
  auto with = compile_options(options, inputs, code);
  if (!with) return std::nullopt;
  code = Exit::wrong_input;
  with->all_sizes = all_sizes;
  if (hook && !hook(*with, inputs)) return std::nullopt;
  Compilation compiled = compile(inputs.kernel, inputs.model, *with);
  code = compiled.code;
  if (compiled.program) return compiled;
  code = fail_after_start(options, code, compiled.problems, inputs, compiled.mapped);
  return std::nullopt;
}

Exit fail_after_start(const Options& options, Exit code, const Diagnostics& problems, const Inputs& inputs,
                      const MapResult& mapped) {
  fail(code, problems);
  if (!options.json || code == Exit::wrong_input) return code;
  return deliver(options, json_of_failure(code, problems, inputs.kernel, inputs.model, mapped), code);
}

bool strategy_accepts(const Options& options, const Kernel& kernel, const HardwareModel& model) {
  for (const auto& [name, make] : strategies()) {
    if (name != options.schedule.strategy) continue;
    const SearchSpace space(kernel, make_id<StatementId>(0), {}, model, options.schedule.space);
    const auto made = make(space, options.schedule.strategy_options, options.seed);
    if (made) continue;
    fail(Exit::usage, made.diagnostics());
    return false;
  }
  return true;
}

}  // namespace isamap::cli

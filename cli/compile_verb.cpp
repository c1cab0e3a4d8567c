#include "cli/compile_verb.h"

#include <fmt/format.h>

#include "cli/json.h"
#include "scheduler/schedule_file.h"

namespace isamap::cli {

std::optional<CompileOptions> compile_options(const Options& options, const Inputs& inputs) {
  CompileOptions out;
  out.map = options.map;
  out.schedule = schedule_options(options, inputs.model);
  auto progress = std::make_shared<Progress>();
  out.schedule.progress = [progress](std::int64_t evaluations, double best) {
    (*progress)(fmt::format("schedule: {} evaluations, best {}", evaluations, short_number(best)));
  };
  if (options.schedule_file.empty()) return out;
  auto loaded = load_schedule(options.schedule_file, inputs.kernel, inputs.model);
  if (!loaded) {
    fail(Exit::wrong_input, loaded.diagnostics());
    return std::nullopt;
  }
  out.hand_written = std::move(*loaded);
  return out;
}

std::optional<CompiledInputs> compile_inputs(const Options& options, Exit& code) {
  auto inputs = load_inputs(options, code);
  if (!inputs) return std::nullopt;
  const auto with = compile_options(options, *inputs);
  code = Exit::wrong_input;
  if (!with) return std::nullopt;
  Compilation compiled = compile(inputs->kernel, inputs->model, *with);
  code = compiled.code;
  if (compiled.program) return CompiledInputs{std::move(*inputs), std::move(compiled)};
  fail(code, compiled.problems);
  if (options.json && code != Exit::wrong_input)
    deliver(options, json_of_failure(code, compiled.problems, inputs->kernel, inputs->model, compiled.mapped));
  return std::nullopt;
}

}  // namespace isamap::cli

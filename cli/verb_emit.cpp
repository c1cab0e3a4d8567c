// isamap emit: the kernel in the target's language.

#include <fmt/format.h>

#include <filesystem>

#include "cli/compile_verb.h"
#include "cli/execute.h"
#include "cli/json.h"
#include "cli/scalar_code.h"
#include "cli/verbs.h"
#include "hwdesc/program_check.h"

namespace isamap::cli {
namespace {

/// One file is written to the path of -o as every verb writes; several go to the folder of -o, each under its own name.
Exit deliver_files(const Options& options, const std::vector<EmittedFile>& files) {
  std::error_code problem;
  if (files.size() == 1) return deliver(options, files.front().text);
  if (std::filesystem::exists(options.output, problem) && !std::filesystem::is_directory(options.output, problem))
    return fail(Exit::wrong_input,
                fmt::format("'{}' is a file, and {} files are printed", options.output, files.size()),
                "name a folder with -o, one that exists or a new one");
  std::filesystem::create_directories(options.output, problem);
  for (const EmittedFile& file : files) {
    const auto path = std::filesystem::path(options.output) / std::filesystem::path(file.name).filename();
    if (const auto written = write_file(path.string(), file.text); !written)
      return fail(Exit::wrong_input, written.diagnostics());
  }
  return Exit::ok;
}

Exit deliver_text(const Options& options, const Program& program, const HardwareModel& model,
                  const std::vector<ScalarCode>& scalar, const std::vector<EmittedFile>& files) {
  if (options.json) return deliver(options, json_of_emit(program, model, scalar, files));
  if (!options.output.empty()) return deliver_files(options, files);
  std::string text;
  for (const EmittedFile& file : files)
    text += (files.size() > 1 ? fmt::format("{} {}\n", model.program.comment, file.name) : "") + file.text;
  return deliver(options, text);
}

}  // namespace

Exit verb_emit(const Options& options) {
  Exit code = Exit::ok;
  const auto compiled = compile_inputs(options, code, !options.program);
  if (!compiled) return code;
  const HardwareModel& model = compiled->inputs.model;
  const Program& program = *compiled->compiled.program;
  const auto scalar = scalar_code(compiled->compiled, compiled->inputs.kernel, model);
  tell_scalar(options, scalar);
  if (options.program)
    return deliver(options, options.json ? json_of_emit(program, model, scalar,
                                                        {{program.kernel.name + ".program", print(program, model)}})
                                         : print(program, model));
  const auto stop = [&](Exit why, const Diagnostics& problems) {
    return fail_after_start(options, why, problems, compiled->inputs, compiled->compiled.mapped);
  };
  if (const auto problem = beyond_limit(program, model)) return stop(Exit::limit, {*problem});
  const auto files = emit(program, model);
  if (!files) return stop(Exit::no_answer, files.diagnostics());
  if (options.check) {
    const auto checked = check_printed(files->front().text, program, model, options.seed);
    if (!checked) return stop(Exit::wrong_result, checked.diagnostics());
    code = *checked;
  }
  const Exit delivered = deliver_text(options, program, model, scalar, *files);
  return delivered == Exit::ok ? code : delivered;
}

}  // namespace isamap::cli

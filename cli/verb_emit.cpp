// SPDX-License-Identifier: Apache-2.0
// isamap emit: the kernel in the target's language.

#include <fmt/format.h>

#include <algorithm>

#include "cli/command_line.h"
#include "cli/compile_verb.h"
#include "cli/json.h"
#include "cli/models.h"
#include "cli/scalar_code.h"
#include "cli/sizes.h"
#include "cli/symbolic_verbs.h"
#include "driver/execute.h"
#include "hwdesc/model/program_language.h"
#include "isamap/program_on_machine.h"

namespace isamap::cli {
namespace {

/// Options of C++ targets only.
bool refused(const Options& options, const HardwareModel& model) {
  if (is_host_code(model)) return false;
  for (const auto& [flag, given] : {std::pair("--header", options.emit.header), std::pair("--test", options.emit.test),
                                    std::pair("--workspace", options.emit.workspace)}) {
    if (!given) continue;
    fail(Exit::usage, fmt::format("{} is for targets whose programs are C++; those of '{}' are {}", flag, model.name,
                                  find_language(model.program.language)->title));
    return true;
  }
  return false;
}

/// Runs `text`, which `emit` is about to print, and compares. An error: wrong results. If it cannot run, the reason is
/// printed on stderr and the code is the kind of failure.
Result<Exit> check_printed(const std::string& text, const Program& program, const HardwareModel& model,
                           std::uint64_t seed, bool workspace) {
  const auto unchecked = [](Exit code, const std::string& why, const std::string& hint = "") {
    return fail(code, "not checked: " + why, hint);
  };
  if (const Diagnostics large = too_large_to_run(program.kernel); !large.empty())
    return unchecked(Exit::limit, large.front().message, "choose smaller sizes, or leave out --check");
  const auto checked = run_and_compare(program, model, seed, 0, {workspace, tell});
  if (!checked) return checked.diagnostics();
  if (const std::string why = why_not_run(*checked); !why.empty()) return unchecked(exit_of(*checked), why);
  if (checked->text != text)
    return unchecked(Exit::missing, "only the program as printed without further options can be run here");
  if (!checked->correct)
    return error(fmt::format("the printed program computes a wrong result: {}", checked->first_difference),
                 checked->compiler.empty()
                     ? ""
                     : fmt::format("compiled with '{}'; $CXX names another compiler", checked->compiler));
  return Exit::ok;
}

void add_outputs(Flags& flags) {
  Options& options = flags.options;
  Flag program = flags.on("--program", options.program, "print the lowered program instead of target text");
  flags
      .on("--check", options.check,
          "first compile and run what is printed, and compare with the interpreter: exit 5 and no text when wrong, 77 "
          "when it cannot run here")
      .excludes(program);
  flags.known("-o").describe(
      "write to FILE; a FOLDER where there are several files: targets in CUDA, --header, --test (or FILE.cpp: the "
      "others beside it; FILE.cu: all in one)");
  for (Flag of_cpp :
       {flags.on("--header", options.emit.header, "also NAME.h: prototypes, sizes, alignments, for C and C++"),
        flags.on("--test", options.emit.test, "also NAME_test.cpp: a main that checks the kernel, exit code 0 or 1"),
        flags.on("--workspace", options.emit.workspace,
                 "the caller passes memory for large local arrays as the last argument")})
    of_cpp.excludes(program);
}

Exit verb_emit(const Options& given) {
  if (is_model(given)) return without_kernel_flags(given) ? emit_model(given) : Exit::usage;
  Exit code = Exit::ok;
  const auto of_kernel = kernel_options(given, code);
  if (!of_kernel) return code;
  const Options& options = *of_kernel;
  if (std::optional<SymbolicKernel> symbolic; !load_if_symbolic(options, symbolic, code))
    return code;
  else if (symbolic)
    return emit_symbolic(options, *symbolic);
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
  if (refused(options, model)) return Exit::usage;
  const auto stop = [&](Exit why, const Diagnostics& problems) {
    return fail_after_start(options, why, problems, compiled->inputs, compiled->compiled.mapped);
  };
  if (const auto problem = beyond_limit(program, model)) return stop(Exit::limit, {*problem});
  const auto files = emit(program, model, options.emit);
  if (!files) return stop(Exit::no_answer, files.diagnostics());
  if (options.check) {
    const auto checked = check_printed(files->front().text, program, model, options.seed, options.emit.workspace);
    if (!checked) return stop(Exit::wrong_result, checked.diagnostics());
    code = *checked;
  }
  const Exit delivered =
      options.json ? deliver(options, json_of_emit(program, model, scalar, *files)) : deliver_files(options, *files);
  return delivered == Exit::ok ? code : delivered;
}

}  // namespace

std::vector<VerbRow> verbs_emit() {
  return {{270, "emit", "the kernel in the target's language",
           [](Flags& flags) {
             flags.kernel("kernel file (YAML) or model (.onnx)");
             flags.target();
             flags.mapping();
             flags.search();
             flags.schedule_file();
             flags.strict_float();
             flags.no_reorder();
             add_outputs(flags);
             flags.model();
             flags.model_plan();
           },
           verb_emit, true}};
}

}  // namespace isamap::cli

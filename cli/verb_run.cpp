// SPDX-License-Identifier: Apache-2.0
// isamap run: compile, execute in a child process, compare with the interpreter.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backends/common/environment.h"
#include "cli/command_line.h"
#include "cli/compile_verb.h"
#include "cli/json.h"
#include "cli/models.h"
#include "cli/scalar_code.h"
#include "cli/sizes.h"
#include "hwdesc/layout/bank_conflict_passes.h"
#include "report/memory_counts.h"

namespace isamap::cli {
namespace {

/// Bank conflicts of row accesses caused by tile layouts; not part of the estimate.
std::string conflicts_of(const Program& program, const HardwareModel& model) {
  std::string text;
  for (const CallPasses& call : call_passes(program, model)) {
    const Buffer& buffer = program.buffers[call.buffer.index()];
    if (call.passes > call.least)
      text += fmt::format("{} {} {} in {} passes of the banks of {}, where {} would do\n",
                          model.instruction(call.instruction).name, call.written ? "stores to" : "loads from",
                          buffer.name, call.passes, model.memory(buffer.memory).name, call.least);
  }
  return text;
}

std::string text_of(const Checked& checked, const Scheduled& scheduled, const Program& program) {
  if (!why_not_run(checked).empty()) return "not run\n";  // the reason is an error
  std::string text =
      fmt::format("executed {}, {}", executed_text(checked.executed, checked.simulator, checked.simulator_seconds),
                  checked.correct ? "correct" : "WRONG");
  if (!checked.correct) text += fmt::format(": {}", checked.first_difference);
  text += fmt::format("; largest error {:.3g}", checked.max_error);
  if (checked.executed == ExecutionMode::emulated) text += "; no time, as it was emulated";
  if (checked.seconds > 0) text += fmt::format("; {:.6g} s, {:.4g} GFLOP/s", checked.seconds, checked.gflops);
  const Cost& cost = scheduled.cost;
  const auto whole = [](double cycles) { return short_number(std::max(0.0, std::ceil(cycles - 1e-6))); };
  if (checked.cycles == 0 && checked.scalar_cycles == 0)
    return text + fmt::format("; {} cycles predicted\n", whole(cost.cycles));
  const std::int64_t instances = distributed_instances(scheduled.schedule, program.kernel);  // predicted side by side
  text += fmt::format("; {} cycles{}", checked.cycles,
                      instances > 1 ? fmt::format(" of {} instances one after another", instances) : "");
  if (checked.scalar_cycles > 0) text += fmt::format(" and {} of scalar code", whole(checked.scalar_cycles));
  text += fmt::format("; {} cycles", whole(cost.cycles - cost.scalar_cycles));
  if (cost.scalar_cycles > 0) text += fmt::format(" and {} of scalar code", whole(cost.scalar_cycles));
  return text + " predicted\n";
}

/// Said before anything is computed.
bool writes_arrays(const Options& options) {
  const std::string& file = options.onnx.outputs;
  if (file.empty() || file.ends_with(".npz") || file.ends_with(".npy")) return true;
  fail(Exit::usage, "--outputs " + file + ": arrays are written as .npz, or as .npy if there is one",
       "--outputs " + file + ".npz");
  return false;
}

Exit verb_run(const Options& given) {
  if (is_model(given)) {
    if (!without_kernel_flags(given) || !writes_arrays(given)) return Exit::usage;
    const bool interpreted = given.onnx.interpret && given.target.empty();
    if (interpreted && !without_program_flags(given)) return Exit::usage;
    if (interpreted) return interpret_model(given);
    if (given.target.empty())
      return fail(Exit::usage, "a model runs on a machine, or by the interpreter", "--target HW, or --interpret");
    return compile_and_run_model(given);
  }
  if (given.compute.empty() && is_stream_file(given.kernel_file))
    return without_compiler_flags(given) ? run_stream(given) : Exit::usage;
  if (has_unused(given, {"--report"}, "shows the parts of a model, and this is none",
                 "isamap schedule --report shows a kernel"))
    return Exit::usage;
  Exit code = Exit::ok;
  const auto of_kernel = kernel_options(given, code);
  if (!of_kernel) return code;
  const Options& options = *of_kernel;
  if (options.target.empty()) return fail(Exit::usage, "--target is required", "--help says what there is");
  if (const auto sizes = several_sizes(options, code)) return run_sizes(options, *sizes);
  if (code != Exit::ok) return code;
  const auto compiled = compile_inputs(options, code, true);
  if (!compiled) return code;
  const auto& [inputs, compilation] = *compiled;
  if (const Diagnostics too_large = too_large_to_run(inputs.kernel); !too_large.empty())
    return fail_after_start(options, Exit::limit, too_large, inputs, compilation.mapped);
  const auto counting = counts_requests();
  const double seconds = counting && *counting ? 0 : 0.1;  // once
  const auto checked = run_and_compare(*compilation.program, inputs.model, options.seed, seconds, {false, tell});
  if (!checked) {
    const bool printed = static_cast<bool>(emit(*compilation.program, inputs.model));
    return fail_after_start(options, printed ? Exit::wrong_result : Exit::no_answer, checked.diagnostics(), inputs,
                            compilation.mapped);
  }
  code = exit_of(*checked);
  if (const std::string why = why_not_run(*checked); !why.empty()) fail(code, "not run: " + why);
  if (const Availability here = availability(inputs.model);
      checked->executed == ExecutionMode::emulated && !here.why.empty())
    fmt::print(stderr, "emulated: {}\n", here.why);
  const auto scalar = scalar_code(compilation, inputs.kernel, inputs.model);
  return deliver(options,
                 options.json
                     ? json_of_run(*checked, *compilation.scheduled, scalar, *compilation.program, inputs.model)
                     : text_of(*checked, *compilation.scheduled, *compilation.program) +
                           conflicts_of(*compilation.program, inputs.model) +
                           text_of_counts(checked->requests, checked->banks) +
                           text_of_splits(inputs.kernel, compilation.scheduled->schedule) + scalar_code_text(scalar),
                 code);
}

}  // namespace

std::vector<VerbRow> verbs_run() {
  return {{280, "run", "compile, execute and compare with the interpreter",
           [](Flags& flags) {
             flags.kernel("kernel file (YAML) or model (.onnx)");
             flags.target(false);
             flags.mapping();
             flags.search();
             flags.schedule_file();
             flags.strict_float();
             flags.no_reorder();
             flags.model();
             flags.text("--inputs", flags.options.onnx.inputs,
                        "of a model: F.npz, F.npy or a folder of input_N.pb; with outputs: they are compared");
             flags.text("--outputs", flags.options.onnx.outputs, "of a model: its outputs to F.npz");
             flags.model_plan();
             flags.text("--report", flags.options.report, "of a model: also write an HTML page to FILE");
             flags.on("--profile", flags.options.onnx.profile, "of a model: the time of every part");
             flags.on("--interpret", flags.options.onnx.interpret,
                      "of a model: by the interpreter; with --target: outputs are compared with its");
           },
           verb_run}};
}

}  // namespace isamap::cli

// SPDX-License-Identifier: Apache-2.0
// `run` and `evaluate` for several sizes.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "backends/compiled_runner.h"
#include "cli/compile_verb.h"
#include "cli/cost_choice.h"
#include "cli/json.h"
#include "cli/json_internal.h"
#include "cli/scalar_code.h"
#include "cli/sizes.h"
#include "cli/symbolic_verbs.h"
#include "driver/symbolic/recurrent_kernel.h"
#include "driver/symbolic/statement_loops.h"
#include "driver/symbolic/symbolic_model_run.h"
#include "hwdesc/model/program_language.h"
#include "ir/symbolic/refusal.h"
#include "isamap/scheduler.h"

namespace isamap::cli {
namespace {

/// One size of the list.
struct SizeRun {
  Bindings sizes;
  int version = 1;
  Exit code = Exit::ok;
  Json fields = Json::object();    ///< of a single run, without schema_version
  std::vector<std::string> cells;  ///< of the table: executed, correct, error, seconds, GFLOP/s, predicted
  std::string searched_because;    ///< why a schedule of other sizes did not fit; empty: it did, or there was none
  Diagnostics problems;            ///< to be told
};

/// The fields of a document without its head.
Json fields_of(const std::string& document) {
  Json json = Json::parse(document);
  json.erase("schema_version");
  json.erase("notes");
  return json;
}

SizeRun failed(SizeRun run, Exit code, const Diagnostics& problems) {
  run.code = code;
  run.problems = problems;
  run.fields["exit"] = static_cast<int>(code);
  run.fields["correct"] = false;
  run.fields["reasons"] = reasons_of(problems);
  run.cells = {"-", "no", "", "", "", ""};
  return run;
}

std::string predicted_text(const Cost& cost) { return short_number(std::max(0.0, std::ceil(cost.cycles - 1e-6))); }

std::vector<std::string> cells_of(const Checked& checked, const Cost& cost) {
  if (!why_not_run(checked).empty()) return {"not run", "-", "", "", "", predicted_text(cost)};
  return {executed_text(checked.executed, checked.simulator, checked.simulator_seconds),
          checked.correct ? "yes" : "NO",
          fmt::format("{:.3g}", checked.max_error),
          checked.seconds > 0 ? fmt::format("{:.6g}", checked.seconds) : "",
          checked.gflops > 0 ? fmt::format("{:.4g}", checked.gflops) : "",
          predicted_text(cost)};
}

/// "M = 37, N = 8"
std::string values_text(const Bindings& sizes) {
  std::string text;
  for (const auto& [name, value] : sizes) text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, value);
  return text;
}

/// Progress of a run at these sizes.
std::function<void(const std::string&)> tell_at(const Bindings& sizes) {
  return [at = values_text(sizes)](const std::string& text) { tell(at + ": " + text); };
}

bool same_messages(const Diagnostics& a, const Diagnostics& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Diagnostic& one, const Diagnostic& other) { return one.message == other.message; });
}

/// Problems of the last run; those of the one before are not listed again.
void tell_problems(const std::vector<SizeRun>& runs) {
  const SizeRun& last = runs.back();
  if (last.problems.empty()) return;
  if (runs.size() > 1 && same_messages(runs[runs.size() - 2].problems, last.problems))
    tell(fmt::format("{}: the same", values_text(last.sizes)));
  else
    fail(last.code, last.problems);
}

/// Why a schedule found at other sizes makes no program of this kernel; empty: it does.
Diagnostics does_not_fit(const Schedule& schedule, const Kernel& kernel, const HardwareModel& model) {
  Diagnostics problems = verify(schedule, kernel, model);
  if (has_errors(problems)) return problems;
  const auto program = lower(schedule, kernel, model);
  return program ? Diagnostics{} : program.diagnostics();
}

/// By the schedule of other sizes where there is one that fits, else a schedule is searched.
Compilation compile_one(const Inputs& inputs, CompileOptions& with, const std::optional<Schedule>& known,
                        std::string& searched_because) {
  if (known && !with.hand_written) {  // a schedule file has the version for these sizes, if it has versions
    with.hand_written = known;
    Diagnostics against = does_not_fit(*known, inputs.kernel, inputs.model);
    if (against.empty()) {
      Compilation compiled = compile(inputs.kernel, inputs.model, with);
      if (compiled.program) return compiled;
      against = compiled.problems;  // what lowers may have no price: a sum of no terms keeps its tile
    }
    with.hand_written.reset();
    if (!against.empty()) searched_because = against.front().message;
  }
  return compile(inputs.kernel, inputs.model, with);
}

/// Binds the kernel at these sizes and runs it: by the schedule of other sizes where there is one that fits, else a
/// schedule is searched.
SizeRun run_one(const Options& options, const Bindings& sizes, const std::optional<Schedule>& known) {
  SizeRun run;
  run.sizes = sizes;
  Options one = options;
  one.onnx.sizes = sizes_text(sizes);
  const auto inputs = load_inputs(one, run.code);
  if (!inputs) return run;
  auto with = compile_options(one, *inputs, run.code);
  if (!with) return run;
  with->all_sizes = true;
  const Compilation compiled = compile_one(*inputs, *with, known, run.searched_because);
  if (!compiled.program) return failed(std::move(run), compiled.code, compiled.problems);
  if (const Diagnostics large = too_large_to_run(inputs->kernel); !large.empty())
    return failed(std::move(run), Exit::limit, large);
  const auto checked = run_and_compare(*compiled.program, inputs->model, one.seed, 0.1, {false, tell_at(sizes)});
  if (!checked) return failed(std::move(run), Exit::wrong_result, checked.diagnostics());
  run.code = exit_of(*checked);
  if (const std::string why = why_not_run(*checked); !why.empty()) run.problems = {error("not run: " + why)};
  run.fields =
      fields_of(json_of_run(*checked, *compiled.scheduled, scalar_code(compiled, inputs->kernel, inputs->model),
                            *compiled.program, inputs->model));
  run.cells = cells_of(*checked, compiled.scheduled->cost);
  if (!known) return run;
  if (with->hand_written && why_not_run(*checked).empty()) {
    const std::string bound = fmt::format("{}, bound at {}", name(checked->executed), values_text(sizes));
    run.fields["executed"] = bound;
    run.cells[0] = bound;
  }
  if (!run.searched_because.empty()) run.fields["searched_because"] = run.searched_because;
  return run;
}

/// One program for all sizes, compiled once. Empty: each size is compiled for itself, and stderr says why.
struct OneProgram {
  std::optional<HardwareModel> model;
  std::optional<SymbolicCompilation> compiled;
  std::unique_ptr<SymbolicRunner> runner;
  CompileOptions with;
  std::string why_not;
  /// Of a kernel with a time loop, and what runs it; without `compiled->program`.
  std::optional<SymbolicKernel> kernel;
  std::optional<RecurrentKernel> recurrent;
  std::unique_ptr<SymbolicModelRunner> loop_runner;
  bool is_compiled() const { return runner != nullptr || loop_runner != nullptr; }
  /// Without a program: the schedule that is bound at each size, on machines whose programs are no C++.
  std::optional<Schedule> schedule;
};

/// Sizes with one value in all runs are numbers for the program.
Bindings fixed_sizes(const std::vector<Bindings>& sizes) {
  Bindings fixed = sizes.front();
  for (const Bindings& one : sizes)
    std::erase_if(fixed, [&](const auto& entry) { return one.at(entry.first) != entry.second; });
  return fixed;
}

/// A time loop of symbolic size, by the loop of models, else as plain loops.
void make_time_loop(const Options& options, const SymbolicKernel& kernel, OneProgram& one) {
  auto made = compile_recurrent_kernel(kernel, *one.model, {one.with, static_cast<std::size_t>(options.schedule.jobs)},
                                       options.seed);
  if (!made) {
    one.compiled = compile_plain_loops(kernel, *one.model, one.with, made.diagnostics().front());
    fail(Exit::ok, one.compiled->problems);  // warnings
    one.runner = make_symbolic_runner(*one.compiled->program, *one.model);
    return;
  }
  one.kernel = kernel;
  one.recurrent = std::move(*made);
  one.loop_runner = make_symbolic_model_runner(one.recurrent->compiled.program, *one.model);
  one.why_not.clear();
}

/// False: an error was reported.
bool make_one_program(const Options& options, const std::vector<Bindings>& sizes, OneProgram& one, Exit& code) {
  Bindings fixed = fixed_sizes(sizes);
  if (fixed.size() == sizes.front().size()) fixed.clear();
  const auto kernel = load_symbolic_of(options, fixed, code);
  if (!kernel) return false;
  code = Exit::wrong_input;
  one.model = load_target(options);
  if (!one.model) return false;
  auto with = compile_options(options, *kernel, *one.model, code);
  if (!with) return false;
  one.with = std::move(*with);
  one.compiled = compile_symbolic(*kernel, *one.model, one.with);
  if (one.compiled->program) {
    if (!one.compiled->problems.empty()) fail(Exit::ok, one.compiled->problems);  // warnings
    one.runner = make_symbolic_runner(*one.compiled->program, *one.model);
    return true;
  }
  if (one.compiled->code == Exit::wrong_input) {
    code = fail(Exit::wrong_input, with_schedule_lines(options, one.compiled->problems));
    return false;
  }
  one.why_not = one.compiled->problems.empty()
                    ? refused_for_all_sizes("not every block of it lowers; bind sizes with --sizes")
                    : one.compiled->problems.front().message;
  if (has_sized_recurrence(*kernel) && is_host_code(*one.model) && !one.with.hand_written && one.with.versions.empty())
    make_time_loop(options, *kernel, one);
  if (one.is_compiled()) return true;
  if (is_host_code(*one.model)) {
    fmt::print(stderr, "note: each size is compiled for itself: {}\n", one.why_not);
    return true;
  }
  if (one.with.hand_written || !one.with.versions.empty()) {
    one.schedule = one.with.hand_written ? *one.with.hand_written : one.with.versions.back().schedules.front();
  } else if (const Compilation likely = compile(kernel->sample, *one.model, one.with); likely.program) {
    one.schedule = likely.scheduled->schedule;
  }
  return true;
}

SizeRun run_one(const Options& options, const Bindings& sizes, OneProgram& program) {
  SizeRun run;
  run.sizes = sizes;
  const auto bound = load_symbolic_of(options, sizes, run.code);
  if (!bound) return run;
  const SymbolicProgram& symbolic = *program.compiled->program;
  run.version = static_cast<int>(version_at(symbolic, sizes)) + 1;
  if (const Diagnostics large = too_large_to_run(bound->sample); !large.empty())
    return failed(std::move(run), Exit::limit, large);
  program.runner->set_sizes(sizes);
  Program at_sizes;
  at_sizes.name = bound->sample.name;
  at_sizes.kernel = bound->sample;
  const auto checked =
      run_and_compare(at_sizes, *program.runner, availability(*program.model).how, options.seed, 0.1, tell_at(sizes));
  if (!checked) return failed(std::move(run), Exit::wrong_result, checked.diagnostics());
  run.code = exit_of(*checked);
  if (const std::string why = why_not_run(*checked); !why.empty()) run.problems = {error("not run: " + why)};
  Scheduled predicted;
  predicted.cost = predicted_at(*program.compiled, *program.model, sizes, program.with.schedule.costs).value_or(Cost{});
  run.fields = fields_of(json_of_run(*checked, predicted, {}, at_sizes, *program.model));
  run.cells = cells_of(*checked, predicted.cost);
  return run;
}

/// A run of a model as one of a kernel.
Checked checked_of(const ModelRun& ran, const Kernel& kernel) {
  Checked checked;
  checked.executed = ran.executed;
  checked.correct = ran.code == Exit::ok;
  checked.max_error = ran.max_error;
  checked.seconds = ran.seconds;
  checked.gflops = ran.seconds > 0 ? operations(kernel) / ran.seconds * 1e-9 : 0;
  return checked;
}

SizeRun run_time_loop(const Options& options, const Bindings& sizes, OneProgram& program) {
  SizeRun run;
  run.sizes = sizes;
  Bindings symbols;
  for (const SymbolicSize& size : program.kernel->facts.sizes) symbols[size.name] = sizes.at(size.name);
  const auto model = recurrent_model(*program.kernel, symbols, options.seed);
  if (!model) return failed(std::move(run), Exit::wrong_input, model.diagnostics());
  if (const Diagnostics large = too_large_to_run(model->kernel); !large.empty())
    return failed(std::move(run), Exit::limit, large);
  std::vector<TensorData> inputs;
  Random random(options.seed);
  for (const TensorId id : model->inputs)
    inputs.push_back(random_data(model->kernel.tensors[id.index()], Fill::real, random));
  auto data = data_of(*model, inputs);
  if (!data) return failed(std::move(run), Exit::wrong_input, data.diagnostics());
  const ModelRun ran =
      run_symbolic_model(program.recurrent->compiled, *program.loop_runner, program.recurrent->sampled,
                         {symbols, *model, std::move(*data)}, {.min_seconds = 0.1, .jobs = options.schedule.jobs});
  run.code = ran.code;
  run.problems = ran.problems;
  const bool not_run = ran.code != Exit::ok && ran.executed == ExecutionMode::unavailable;
  if (ran.code != Exit::ok && !not_run) return failed(std::move(run), ran.code, ran.problems);
  Program at_sizes;
  at_sizes.name = model->kernel.name;
  at_sizes.kernel = model->kernel;
  Checked checked = checked_of(ran, model->kernel);
  if (not_run) checked.missing = ran.problems.front().message;
  run.fields = fields_of(json_of_run(checked, {}, {}, at_sizes, *program.model));
  run.cells = cells_of(checked, {});
  run.cells.back().clear();  // parts are priced alone
  run.fields.erase("predicted_cycles");
  return run;
}

/// How often the kernel was compiled, and how many bodies of code serve the sizes.
struct SizeSummary {
  int versions = 0, recompiles = 0, unknown = 0;
};

std::string table_of(const std::vector<SizeRun>& runs, const std::vector<std::string>& columns) {
  std::vector<std::vector<std::string>> rows(1);
  for (const auto& [name, value] : runs.front().sizes) rows[0].push_back(name);
  rows[0].insert(rows[0].end(), columns.begin(), columns.end());
  for (const SizeRun& run : runs) {
    std::vector<std::string> row;
    for (const auto& [name, value] : run.sizes) row.push_back(std::to_string(value));
    row.insert(row.end(), run.cells.begin(), run.cells.end());
    row.resize(rows[0].size());
    rows.push_back(std::move(row));
  }
  return table(rows);
}

Json document_of(const std::vector<SizeRun>& runs, const SizeSummary& summary, bool executed) {
  Json json = document();
  json["runs"] = Json::array();
  bool correct = true;
  for (const SizeRun& run : runs) {
    Json row{{"sizes", run.sizes}, {"version", run.version}};
    row.update(run.fields);
    correct = correct && row.value("correct", false);
    json["runs"].push_back(std::move(row));
  }
  if (executed) json["correct"] = correct;
  json["versions"] = summary.versions;
  json["recompiles"] = summary.recompiles;
  json["unknown"] = summary.unknown;
  return json;
}

/// The worst of the codes: a wrong result before other failures, those before what could not run.
Exit worst_of(const std::vector<SizeRun>& runs) {
  const auto rank = [](Exit code) {
    return code == Exit::ok             ? 0
           : code == Exit::missing      ? 1
           : code == Exit::wrong_result ? 9
                                        : 8 - static_cast<int>(code);
  };
  Exit worst = Exit::ok;
  for (const SizeRun& run : runs)
    if (rank(run.code) > rank(worst)) worst = run.code;
  return worst;
}

/// Sizes with the schedule of the likely ones are one version.
int version_of(const std::vector<SizeRun>& runs, const OneProgram& program) {
  const auto own = std::count_if(
      runs.begin(), runs.end(), [&](const SizeRun& run) { return !program.schedule || !run.searched_because.empty(); });
  if (!program.schedule) return static_cast<int>(own);
  return runs.back().searched_because.empty() ? 1 : static_cast<int>(own) + 1;
}

/// Programs of simulators are lowered again for a size, those that a compiler translates are compiled again, too.
SizeSummary summary_of(const std::vector<SizeRun>& runs, const OneProgram& program) {
  int versions = 0;
  for (const SizeRun& run : runs) versions = std::max(versions, run.version);
  const int count = static_cast<int>(runs.size());
  const bool translated = !program.schedule || !is_command_stream(*program.model);
  return {versions, translated ? count - 1 : versions - 1, 0};
}

std::string how_text(const std::vector<SizeRun>& runs, const SizeSummary& summary, const OneProgram& program) {
  const bool executed =
      std::any_of(runs.begin(), runs.end(), [](const SizeRun& run) { return run.fields.contains("executed"); });
  if (program.is_compiled())
    return fmt::format("{}, {}\n", executed ? "one compilation" : "nothing was executed", counted(runs.size(), "size"));
  if (!program.schedule)
    return fmt::format("{}, each compiled for itself ({}): {}\n", counted(runs.size(), "size"),
                       counted(static_cast<std::size_t>(summary.recompiles), "recompilation"), program.why_not);
  const std::string why = program.why_not.empty() ? "" : ": " + program.why_not;
  std::string text =
      fmt::format("{}, one search: its schedule is bound at each size ({}){}\n", counted(runs.size(), "size"),
                  counted(static_cast<std::size_t>(summary.recompiles), "recompilation"), why);
  for (const SizeRun& run : runs)
    if (!run.searched_because.empty())
      text += fmt::format("{} has a schedule of its own: {}\n", values_text(run.sizes), run.searched_because);
  return text;
}

}  // namespace

Exit run_sizes(const Options& options, const std::vector<Bindings>& sizes) {
  Exit code = Exit::ok;
  OneProgram program;
  if (!make_one_program(options, sizes, program, code)) return code;
  std::vector<SizeRun> runs;
  for (const Bindings& one : sizes) {
    runs.push_back(program.runner        ? run_one(options, one, program)
                   : program.loop_runner ? run_time_loop(options, one, program)
                                         : run_one(options, one, program.schedule));
    if (!program.is_compiled()) runs.back().version = version_of(runs, program);
    runs.back().cells.insert(runs.back().cells.begin(), std::to_string(runs.back().version));
    tell_problems(runs);
    if (runs.back().code == Exit::usage) return Exit::usage;
  }
  SizeSummary summary = summary_of(runs, program);
  if (program.runner)
    summary = {static_cast<int>(program.compiled->program->versions.size()),
               std::max(program.runner->compilations() - 1, 0), 0};
  if (program.loop_runner) summary = {1, std::max(program.loop_runner->compilations() - 1, 0), 0};
  code = worst_of(runs);
  Json json = document_of(runs, summary, true);
  if (!program.why_not.empty() && summary.recompiles > 0) json["recompiled_because"] = program.why_not;
  if (options.json) return deliver(options, text_of(json), code);
  return deliver(options,
                 table_of(runs, {"version", "executed", "correct", "error", "seconds", "GFLOP/s", "predicted"}) +
                     how_text(runs, summary, program),
                 code);
}

namespace {

/// The version of each list entry's schedule file, from 0 on; none: the file has one schedule. False: an error was
/// reported, of a file whose versions do not cover all sizes, too.
bool load_versions(const Options& options, const std::vector<Bindings>& sizes, std::vector<ScheduleVersion>& versions,
                   Exit& code) {
  Bindings fixed = fixed_sizes(sizes);
  if (fixed.size() == sizes.front().size()) fixed.clear();
  const auto kernel = load_symbolic_of(options, fixed, code);
  if (!kernel) return false;
  code = Exit::wrong_input;
  const auto model = load_target(options);
  if (!model) return false;
  if (!kernel->has_symbols()) return true;
  auto loaded = load_schedule_versions(options.schedule_file, *kernel, *model);
  if (!loaded) code = fail(Exit::wrong_input, loaded.diagnostics());
  if (!loaded) return false;
  versions = std::move(*loaded);
  return true;
}

}  // namespace

Exit evaluate_sizes(const Options& options, const std::vector<Bindings>& sizes) {
  std::vector<SizeRun> runs;
  std::vector<ScheduleVersion> versions;
  Exit loaded = Exit::ok;
  if (!load_versions(options, sizes, versions, loaded)) return loaded;
  for (const Bindings& one : sizes) {
    SizeRun run;
    run.sizes = one;
    if (!versions.empty()) run.version = static_cast<int>(version_at(versions, one)) + 1;
    Options bound = options;
    bound.onnx.sizes = sizes_text(one);
    const auto inputs = load_inputs(bound, run.code);
    if (!inputs) return run.code;
    const auto schedule = load_schedule(options.schedule_file, inputs->kernel, inputs->model);
    if (!schedule) return fail(Exit::wrong_input, schedule.diagnostics());
    Diagnostics problems = verify(*schedule, inputs->kernel, inputs->model);
    const auto costs = cost_models(bound, inputs->model, run.code);
    if (!costs) return run.code;
    if (!has_errors(problems)) {
      const auto evaluation = evaluate(*schedule, inputs->kernel, inputs->model, *costs);
      if (evaluation) {
        run.fields = fields_of(json_of_evaluate(*evaluation, options.cost, {}, {}));
        run.cells = {short_number(evaluation->total.cycles), fmt::format("{}", evaluation->total.energy_pJ)};
        run.code = Exit::ok;
      } else {
        problems = evaluation.diagnostics();
      }
    }
    runs.push_back(has_errors(problems) ? failed(std::move(run), Exit::wrong_input, problems) : std::move(run));
    tell_problems(runs);
  }
  const Exit code = worst_of(runs);
  if (options.json)
    return deliver(
        options, text_of(document_of(runs, {static_cast<int>(std::max<std::size_t>(versions.size(), 1)), 0, 0}, false)),
        code);
  return deliver(options, table_of(runs, {"cycles", "pJ"}), code);
}

}  // namespace isamap::cli

// SPDX-License-Identifier: Apache-2.0
// Flags to Options, and the verb to call. The only file that includes CLI11.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>
#include <limits>
#include <optional>

#include "backends/common/process.h"
#include "build_facts.h"
#include "cli/common.h"
#include "cli/cost_choice.h"
#include "cli/environment.h"
#include "cli/unknown_word.h"
#include "cli/verb_import.h"
#include "cli/verbs.h"

namespace isamap::cli {
namespace {

/// Option values not parsed by CLI11: NAME:key=value,... and evals=N,seconds=S.
struct Raw {
  std::vector<std::string> params, params_b;
  std::string strategy, budget, space, cost;
  std::optional<std::string> seed, limit, samples, threads, seeds, run, measured;
};

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, by);) parts.push_back(part);
  return parts;
}

/// Throws CLI11's exception type, so that all usage errors are handled in one place.
std::map<std::string, std::string> key_values(const std::string& flag, const std::vector<std::string>& parts) {
  std::map<std::string, std::string> found;
  for (const std::string& part : parts) {
    const auto equal = part.find('=');
    if (equal == std::string::npos || equal == 0)
      throw CLI::ValidationError(flag, "'" + part + "' is not of the form key=value");
    if (!found.emplace(part.substr(0, equal), part.substr(equal + 1)).second)
      throw CLI::ValidationError(flag, "'" + part.substr(0, equal) + "' is given twice");
  }
  return found;
}

std::string names_of(const auto& named) {
  std::string text;
  for (const auto& [name, value] : named) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

template <class T>
T choice(const std::string& flag, const std::map<std::string, T>& choices, const std::string& text) {
  const auto found = choices.find(text);
  if (found == choices.end()) throw CLI::ValidationError(flag, "'" + text + "' is none of: " + names_of(choices));
  return found->second;
}

void read_strategy(const std::string& text, ScheduleOptions& options) {
  const auto colon = text.find(':');
  options.strategy = text.substr(0, colon);
  const auto& all = strategies();
  if (text == "exact") return;  // not an ask-and-tell strategy: it sees the whole space
  if (std::none_of(all.begin(), all.end(), [&](const auto& named) { return named.first == options.strategy; }))
    throw CLI::ValidationError("--strategy", "'" + options.strategy + "' is none of: exact, " + names_of(all));
  if (colon != std::string::npos)
    options.strategy_options = key_values("--strategy", split(text.substr(colon + 1), ','));
}

/// Digits only: CLI11 also accepts -1, which wraps around, and the empty text.
std::uint64_t whole_number(const std::string& flag, const std::string& text, std::uint64_t least, std::uint64_t most) {
  std::uint64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size() || number < least || number > most)
    throw CLI::ValidationError(
        flag, "'" + text + "' is no whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return number;
}

/// Lists are kept in memory; counting keeps a few bytes per mapping.
void read_limit(const Raw& raw, Options& options) {
  constexpr std::uint64_t most_listed = 100'000, most_counted = 10'000'000;
  if (options.count) options.map.max_mappings = 1'000'000;
  if (options.count && !options.map.certificates.empty())
    throw CLI::ValidationError("--certificates", "are of mappings that are listed; --count lists none");
  if (raw.limit)
    options.map.max_mappings =
        static_cast<std::int64_t>(whole_number("--limit", *raw.limit, 1, options.count ? most_counted : most_listed));
}

/// Given limits replace the default: seconds alone do not limit evaluations.
void read_budget(const std::string& text, Options& given) {
  ScheduleOptions& options = given.schedule;
  constexpr double max_seconds = 1e6;
  options.max_evaluations = std::numeric_limits<std::int64_t>::max();
  for (const auto& [key, value] : key_values("--budget", split(text, ','))) {
    std::size_t used = 0;
    try {
      if (key == "evals") options.max_evaluations = std::stoll(value, &used), given.evaluations_given = true;
      if (key == "seconds") options.max_seconds = std::stod(value, &used);
    } catch (const std::exception&) {
      used = 0;
    }
    if (key != "evals" && key != "seconds")
      throw CLI::ValidationError("--budget", "'" + key + "' is neither evals nor seconds");
    if (used == 0 || used != value.size() || options.max_evaluations < 1 ||
        (key == "seconds" && !(options.max_seconds > 0 && options.max_seconds <= max_seconds)))
      throw CLI::ValidationError("--budget", "'" + value + "' is no positive number for " + key);
  }
}

void read_space(const std::string& text, SpaceOptions& options) {
  for (const std::string& word : split(text, ','))
    if (const std::string wrong = set_space_word(options, word); !wrong.empty())
      throw CLI::ValidationError("--space", wrong);
}

void read_cost(const Raw& raw, Options& options) {
  const auto& names = cost_names();
  const auto colon = raw.cost.find(':');
  options.cost = raw.cost.substr(0, colon);
  if (std::find(names.begin(), names.end(), options.cost) == names.end()) {
    std::string known;
    for (const std::string& name : names) known += (known.empty() ? "" : ", ") + name;
    throw CLI::ValidationError("--cost", "'" + options.cost + "' is none of: " + known);
  }
  if (colon != std::string::npos) options.cost_options = key_values("--cost", split(raw.cost.substr(colon + 1), ','));
  const bool recorded = !options.lab.store.empty();
  if (options.cost == "learned" && !recorded)
    throw CLI::ValidationError("--cost", "learned needs earlier measurements: name their --store");
  if (options.cost == "measured" && recorded)
    throw CLI::ValidationError("--cost", "measured does not record trials; use `tune --store`");
  if (options.cost != "measured") return;
  constexpr std::int64_t few = 40;  // each evaluation compiles and runs
  if (!options.budget_given) options.schedule.max_evaluations = few;
  if (!options.strategy_given) options.schedule.strategy = "greedy";  // deterministic: few evaluations suffice
  options.schedule.threads = 1;
}

/// A schedule file replaces the search: search options cannot be combined with it.
void refuse_search_options(const Raw& raw, const Options& options) {
  if (options.schedule_file.empty()) return;
  const std::pair<const char*, bool> given[] = {{"--strategy", !raw.strategy.empty()},
                                                {"--budget", !raw.budget.empty()},
                                                {"--space", !raw.space.empty()},
                                                {"--certify", options.certify},
                                                {"--store", !options.lab.store.empty()}};
  for (const auto& [flag, is_given] : given)
    if (is_given) throw CLI::ValidationError(flag, "is for a search; --schedule replaces it");
}

void finish(const Raw& raw, Options& options) {
  refuse_search_options(raw, options);
  options.params = key_values("--set", raw.params);
  options.params_b = key_values("--set-b", raw.params_b);
  if (raw.seed) options.seed = whole_number("--seed", *raw.seed, 0, std::numeric_limits<std::uint64_t>::max());
  if (raw.samples) options.samples = static_cast<std::int64_t>(whole_number("--samples", *raw.samples, 8, 4096));
  if (raw.threads) options.schedule.threads = static_cast<int>(whole_number("--threads", *raw.threads, 1, 256));
  const auto number = [](const char* flag, const std::optional<std::string>& text, std::int64_t& into) {
    if (text) into = static_cast<std::int64_t>(whole_number(flag, *text, 1, 1'000'000'000));
  };
  number("--run", raw.run, options.lab.run);
  number("--measured", raw.measured, options.lab.measured);
  if (raw.seeds) options.lab.seeds = static_cast<std::int64_t>(whole_number("--seeds", *raw.seeds, 1, 100'000));
  read_limit(raw, options);
  if (!raw.strategy.empty())
    read_strategy(raw.strategy, options.schedule);
  else if (options.certify)
    options.schedule.strategy = "exhaustive", options.schedule.max_evaluations = 2000;
  options.strategy_given = !raw.strategy.empty();
  options.budget_given = !raw.budget.empty();
  if (!raw.budget.empty()) read_budget(raw.budget, options);
  options.schedule.space.no_skipping = options.schedule.space.sums_in_order = options.strict_float;
  if (!raw.space.empty()) read_space(raw.space, options.schedule.space);
  if (!raw.cost.empty()) read_cost(raw, options);
}

/// Rejects empty values, and values that look like the next flag: a forgotten value. Sizes and types may be empty.
void expect_values(CLI::App& app) {
  for (CLI::App* verb : app.get_subcommands([](CLI::App*) { return true; })) {
    for (CLI::Option* option :
         verb->get_options([](const CLI::Option* o) { return o->get_items_expected_max() > 0; })) {
      const bool may_be_empty = option->check_name("--dims") || option->check_name("--dtypes");
      option->check(
          [may_be_empty](const std::string& text) {
            if (text.rfind("--", 0) == 0) return "needs a value before " + text;
            return std::string(text.empty() && !may_be_empty ? "needs a value" : "");
          },
          "");
    }
    expect_values(*verb);
  }
}

void add_output(CLI::App* verb, Options& options, Raw& raw) {
  verb->add_flag("--json", options.json, "print JSON, schema_version 1");
  verb->add_option("-o", options.output, "write the result to FILE, whole or not at all");
  verb->add_option("--seed", raw.seed, "of everything that is random (default 0)");
}

void add_target(CLI::App* verb, Options& options, Raw& raw) {
  verb->add_option("--target", options.target, "HW: a file, or a name in hardware_models")->required();
  verb->add_option("--set", raw.params, "name=value: a parameter or symbol of the hardware file");
}

void add_kernel(CLI::App* verb, Options& options, const std::string& what = "kernel file (YAML)") {
  verb->add_option("KERNEL", options.kernel_file, what);
  verb->add_option("--compute", options.compute, "instead of a file: 'C[i,j] += A[i,k]*B[k,j]'");
  verb->add_option("--dims", options.dims, "i=64,j=64,k=64");
  verb->add_option("--dtypes", options.dtypes, "A=bf16,B=bf16,C=f32 (default f32)");
}

void add_rule(CLI::App* verb, Options& options) {
  static const std::map<std::string, Rule> rules{{"access", Rule::access}, {"full", Rule::full}, {"all", Rule::all}};
  verb->add_option_function<std::string>(
      "--rule", [&options](const std::string& text) { options.map.rule = choice("--rule", rules, text); },
      "access, full (default) or all");
}

void add_mapping(CLI::App* verb, Options& options) {
  verb->add_option("--instruction", options.map.instruction,
                   "only this one; otherwise all compute instructions compete");
  add_rule(verb, options);
}

void add_suite(CLI::App* verb, Options& options, Raw& raw) {
  verb->add_option("--suite", options.suite, "folder of kernel files (YAML) and models (.onnx)")->required();
  add_rule(verb, options);
  verb->add_option("--budget", raw.budget, "for each kernel: evals=N,seconds=S (only evals is reproducible)");
  verb->add_option("--report", options.report, "also write an HTML report to FILE");
}

void add_threads(CLI::App* verb, Raw& raw) {
  verb->add_option("--threads", raw.threads,
                   "evaluate side by side; the result is the same for any number (default 1)");
}

void add_search(CLI::App* verb, Options& options, Raw& raw) {
  static const std::map<std::string, Objective> objectives{
      {"edp", Objective::edp}, {"cycles", Objective::cycles}, {"energy", Objective::energy}};
  verb->add_option_function<std::string>(
      "--objective",
      [&options](const std::string& text) {
        options.schedule.objective = choice("--objective", objectives, text);
        options.objective_given = true;
      },
      "edp, cycles or energy");
  verb->add_option("--strategy", raw.strategy, "NAME:key=value,...");
  verb->add_option("--budget", raw.budget, "evals=N,seconds=S (only evals is reproducible)");
  verb->add_option("--space", raw.space, "dividing,keep-all,single-buffered,double-buffered");
  add_threads(verb, raw);
}

using Verb = Exit (*)(const Options&);

struct Program {
  Options options;
  Raw raw;
  Verb chosen = nullptr;
  CLI::App app{"isamap maps tensor computations onto the instructions of a machine that a YAML file describes",
               "isamap"};

  CLI::App* verb(CLI::App& parent, const std::string& name, const std::string& help, Verb run) {
    CLI::App* added = parent.add_subcommand(name, help);
    added->callback([this, run] { chosen = run; });
    add_output(added, options, raw);
    return added;
  }

  void add_hw() {
    CLI::App* hw = app.add_subcommand("hw", "check, show, draw and compare hardware files")->require_subcommand(1);
    CLI::App* check = verb(*hw, "check", "report every problem of hardware files", verb_hw_check);
    check->add_option("HW", options.files, "files, or names in hardware_models")->required();
    check->add_option("--set", raw.params, "name=value: a parameter or symbol of the hardware file");
    CLI::App* show = verb(*hw, "show", "print a machine as tables", verb_hw_show);
    CLI::App* graph = verb(*hw, "graph", "print memories and links as a graph", verb_hw_graph);
    for (CLI::App* one : {show, graph}) {
      one->add_option("HW", options.target, "a file, or a name in hardware_models")->required();
      one->add_option("--set", raw.params, "name=value: a parameter or symbol of the hardware file");
    }
    show->add_flag("--resolved", options.resolved,
                   "print the file itself, with bases, parameters, tables and variants resolved");
    graph->add_option("--format", options.graph_format, "dot or svg")->check(CLI::IsMember({"dot", "svg"}));
    CLI::App* diff =
        verb(*hw, "diff", "what a folder of kernels gains and loses from one machine to another", verb_hw_diff);
    diff->add_option("HW", options.files, "the two machines")->required()->expected(2);
    diff->add_option("--set", raw.params, "name=value: a parameter or symbol of both hardware files");
    diff->add_option("--set-b", raw.params_b, "name=value: a parameter of the second one only");
    add_suite(diff, options, raw);
    CLI::App* verify =
        verb(*hw, "verify", "execute each instruction in isolation and compare with its description", verb_hw_verify);
    verify->add_option("HW", options.target, "a file, or a name in hardware_models")->required();
    verify->add_option("--set", raw.params, "name=value: a parameter or symbol of the hardware file");
    verify->add_option("--instruction", options.map.instruction, "only this one");
    verify->add_option("--samples", raw.samples, "vectors for each program (default 64)");
    verify->add_option("--record", options.record, "write what the instructions computed to FILE");
    auto* replay = verify->add_option("--replay", options.replay, "compare with what a machine computed, from FILE");
    auto* bundle =
        verify->add_option("--bundle", options.bundle, "write the programs to DIR instead, for a machine with a GPU");
    verify->add_flag("--no-code", options.no_code, "--bundle: kernels are compiled where they run");
    auto* from = verify->add_option("--import", options.import, "take what they computed there from DIR");
    replay->excludes(bundle)->excludes(from);
    bundle->excludes(from);
    CLI::App* made = verb(*hw, "new", "print a small complete hardware file to start from", verb_hw_new);
    made->add_option("NAME", options.new_name, "of the machine, or a kind")->required();
    made->add_option("--kind", options.new_kind, "systolic (default), vector or gpu");
  }

  void add_lab() {
    CLI::App* lab = app.add_subcommand("lab", "compare search strategies on problems with known optima");
    lab->require_subcommand(1);
    CLI::App* run = verb(*lab, "run", "every strategy on every instance with every seed: JSON lines", verb_lab_run);
    CLI::App* optima =
        verb(*lab, "optima", "recompute the optima of a suite and check the stated ones", verb_lab_optima);
    for (CLI::App* one : {run, optima}) {
      one->add_option("SUITE", options.suite, "a file, a folder, or a name: small, gemm, conv, deep")->required();
      one->add_option("--budget", raw.budget, "evals=N: of each trial (run, default 1000), of each proof (optima)");
      add_threads(one, raw);
    }
    run->add_option("--cost", raw.cost,
                    "cost model of the trials: closed_form (default), latency, simulator, external:command=.., "
                    "extension:file=..");
    run->add_option("--strategies", options.lab.strategies, "NAME:key=value:...,NAME,... (default: all heuristics)");
    run->add_option("--seeds", raw.seeds, "trials of each strategy on each instance (default 15)");
    run->add_option("--out", options.output, "the same as -o");
    CLI::App* report = verb(*lab, "report",
                            "curves, running times and profiles of trials; of a store, predicted against measured cost",
                            verb_lab_report);
    report->add_option("--run", raw.run, "of a store: the number of a run (default: the last one that measured)");
    report->add_option("--out", options.report, "write the HTML page to FILE; the summary goes to stdout");
    report->add_option("FILE", options.lab.file, "what `lab run` or --store wrote")->required();
    CLI::App* csv =
        verb(*lab, "csv", "trials, of the laboratory or of a store, as comma-separated values", verb_lab_csv);
    csv->add_option("FILE", options.lab.file, "what `lab run` or --store wrote")->required();
    csv->add_flag("--features", options.lab.features, "of a store: what models learn from, a column each");
    csv->add_option("--run", raw.run, "of a store: the number of a run (default: the last one)");
    CLI::App* replay = verb(app, "replay", "repeat a recorded run and compare it byte for byte", verb_replay);
    replay->add_option("FILE", options.lab.file, "a store, or what `lab run` wrote")->required();
    replay->add_option("--run", raw.run, "of a store: the number of a run (default: the last one)");
    add_threads(replay, raw);
  }

  void add_import() {
    CLI::App* from = app.add_subcommand("import", "convert files of another tool")->require_subcommand(1);
    CLI::App* timeloop = verb(*from, "timeloop", "a Timeloop problem, architecture and mapping", verb_import_timeloop);
    options.files.resize(import_files);
    const auto file = [&](ImportFile which) -> std::string& { return options.files[static_cast<std::size_t>(which)]; };
    timeloop->add_option("--problem", file(ImportFile::problem), "problem: file")->required();
    timeloop->add_option("--architecture", file(ImportFile::architecture), "architecture: file")->required();
    timeloop->add_option("--mapping", file(ImportFile::mapping), "mapping: file; without it no schedule is written");
    timeloop->add_option("--energy", file(ImportFile::energy), "energy reference table, ERT:");
  }

  /// Output options of `emit`.
  void add_emitted(CLI::App* emit) {
    auto* program = emit->add_flag("--program", options.program, "print the lowered program instead of target text");
    emit->add_flag("--check", options.check,
                   "first compile and run what is printed, and compare with the interpreter: exit 5 and no text when "
                   "wrong, 77 when it cannot run here")
        ->excludes(program);
    emit->get_option("-o")->description(
        "write to FILE; a FOLDER where there are several files: targets in CUDA, --header, --test (or FILE.cpp: the "
        "others beside it; FILE.cu: all in one)");
    for (auto* of_cpp :
         {emit->add_flag("--header", options.emit.header, "also NAME.h: prototypes, sizes, alignments, for C and C++"),
          emit->add_flag("--test", options.emit.test,
                         "also NAME_test.cpp: a main that checks the kernel, exit code 0 or 1"),
          emit->add_flag("--workspace", options.emit.workspace,
                         "the caller passes memory for large local arrays as the last argument")})
      of_cpp->excludes(program);
  }

  void add_verbs() {
    CLI::App* targets = verb(app, "targets", "list models and how they run on this machine", verb_targets);
    targets->add_option("--best", options.best_dtype, "only the native model with the most arithmetic of this type");

    CLI::App* coverage = verb(app, "coverage", "kernels of a folder that a machine covers", verb_coverage);
    add_target(coverage, options, raw);
    add_suite(coverage, options, raw);

    CLI::App* map = verb(app, "map", "every way the instructions cover a kernel", verb_map);
    CLI::App* explain = verb(app, "explain", "why instructions map or do not map", verb_explain);
    CLI::App* extract = verb(app, "extract", "matrix multiplications of a model, layer by layer", verb_extract);
    CLI::App* schedule = verb(app, "schedule", "search the best schedule", verb_schedule);
    CLI::App* evaluate = verb(app, "evaluate", "the cost of a schedule", verb_evaluate);
    CLI::App* emit = verb(app, "emit", "the kernel in the target's language", verb_emit);
    CLI::App* run = verb(app, "run", "compile, execute and compare with the interpreter", verb_run);
    CLI::App* tune = verb(app, "tune", "search with measured cost", verb_tune);

    for (CLI::App* one : {map, explain, schedule, evaluate, emit, run, tune}) add_kernel(one, options);
    add_kernel(extract, options, "kernel file (YAML) or model (.onnx)");
    for (CLI::App* one : {map, explain, extract, schedule, evaluate, emit, run, tune}) add_target(one, options, raw);
    for (CLI::App* one : {map, explain, extract, schedule, emit, run, tune}) add_mapping(one, options);
    for (CLI::App* one : {extract, schedule, emit, run, tune}) add_search(one, options, raw);
    explain->add_option("--write", options.write, "folder for the changed kernels that are proposed");
    map->add_flag("--count", options.count, "only how many there are, of each statement and instruction");
    map->add_option("--limit", raw.limit,
                    "at most N for each statement and instruction (default 3072; 1000000 with --count)");
    map->add_option("--certificates", options.map.certificates, "folder for proofs that z3 replays");
    for (CLI::App* one : {schedule, evaluate}) {
      one->add_option("--cost", raw.cost,
                      "closed_form (default), latency, simulator, measured, learned; external:command=.. and "
                      "extension:file=..: one of yours");
      one->add_flag("--explain", options.explain, "loops, tiles, links and terms of the cost, with their lines");
      one->add_option("--report", options.report, "also write an HTML page with pictures to FILE");
      one->add_option("--trace", options.trace, "also simulate, and write trace events (Perfetto, Chrome) to FILE");
    }
    schedule->add_flag("--certify", options.certify, "fail unless no schedule of the space is better");
    evaluate->add_option("--schedule", options.schedule_file, "schedule file")->required();
    for (CLI::App* one : {schedule, emit, run})
      one->add_option("--schedule", options.schedule_file, "schedule file; no search");
    for (CLI::App* one : {extract, schedule, emit, run})
      one->add_flag("--strict-float", options.strict_float,
                    "refuse programs that assume finite inputs (padding that is multiplied by 0)");
    for (CLI::App* one : {schedule, evaluate, emit, run})
      one->add_flag("--no-reorder", options.in_order,
                    "issue commands of an accelerator in program order, and price no overlap");
    for (CLI::App* one : {schedule, tune})
      one->add_option("--store", options.lab.store, "record every trial in FILE (SQLite), and begin with its best");
    tune->add_option("--measured", raw.measured, "candidates of each statement that are executed (default 12)");
    add_emitted(emit);
    extract->add_flag("--run", options.run, "execute every layer and compare with the interpreter");
    extract->add_option("--report", options.report, "also write an HTML report to FILE");
  }
};

int main_of(int argc, char** argv) {
  Program program;
  program.app.require_subcommand(1);
  program.app.set_version_flag("--version", "isamap " ISAMAP_VERSION);
  program.add_hw();
  program.add_verbs();
  program.add_lab();
  program.add_import();
  expect_values(program.app);
  const auto wrong_usage = [&](const std::string& message, const std::string& hint) {
    Options to_stdout;  // the parser may have stopped before these
    to_stdout.json = std::any_of(argv, argv + argc, [](const char* word) { return word == std::string("--json"); });
    return static_cast<int>(close_json(to_stdout, fail(Exit::usage, message, hint)));
  };
  if (const auto unknown = unknown_word(program.app, argc, argv)) return wrong_usage(unknown->message, unknown->hint);
  try {
    program.app.parse(argc, argv);
    finish(program.raw, program.options);
  } catch (const CLI::ParseError& problem) {
    if (problem.get_exit_code() != 0) return wrong_usage(problem.what(), "--help says what there is");
    program.app.exit(problem, std::cout, std::cerr);  // --help, --version
    return static_cast<int>(Exit::ok);
  }
  if (const auto problem = environment_problem())
    return static_cast<int>(close_json(program.options, fail(Exit::usage, problem->message, problem->hint)));
  const bool makes_folders = program.chosen == verb_emit || program.chosen == verb_import_timeloop;
  const Options& given = program.options;
  for (const std::string& path : {given.output, given.report, given.trace, given.record})
    if (const auto problem = no_folder_for(path); problem && !makes_folders)
      return static_cast<int>(close_json(program.options, fail(Exit::wrong_input, {*problem})));
  return static_cast<int>(close_json(program.options, program.chosen(program.options)));
}

}  // namespace
}  // namespace isamap::cli

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // SIGPIPE ignored: a closed pipe is a failed write, which is reported
  std::signal(SIGXFSZ, SIG_IGN);  // likewise a file size limit
  isamap::remove_temporary_files_on_signals();
  constexpr int internal = 70;
  try {
    return isamap::cli::main_of(argc, argv);
  } catch (const std::exception& wrong) {  // InternalError: thrown by the library, reported here
    std::fprintf(stderr, "internal error: %s\n", wrong.what());
    return internal;
  }
}

// SPDX-License-Identifier: Apache-2.0
// Flags to Options, and the verb to call. With unknown_word.cpp the only file that includes CLI11.

#include "cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <exception>
#include <iostream>
#include <limits>
#include <sstream>

#include "build_facts.h"
#include "cli/common.h"
#include "cli/cost_choice.h"
#include "cli/unknown_word.h"
#include "driver/native_target.h"
#include "support/threads.h"

namespace isamap::cli {
namespace {

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

/// The values of an enumeration by their names.
template <class T, std::size_t count>
std::map<std::string, T> by_name(const T (&values)[count]) {
  std::map<std::string, T> named;
  for (const T value : values) named.emplace(name(value), value);
  return named;
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

/// The description of this processor in place of "native", so that recorded options and output name the description.
void read_native_target(Options& options) {
  const auto found = native_target(known_models());
  if (!found) throw CLI::ValidationError("--target", "no description runs natively on this machine");
  fmt::print(stderr, "note: native is {}\n", *found);
  options.target = *found;
}

/// Listed mappings are kept in memory; counting keeps a few bytes of each.
void read_limit(const WrittenValues& written, Options& options) {
  constexpr std::uint64_t most_listed = 100'000, most_counted = 10'000'000;
  if (options.count) options.map.max_mappings = 1'000'000;
  if (options.count && !options.map.certificates.empty())
    throw CLI::ValidationError("--certificates", "are of mappings that are listed; --count lists none");
  if (written.limit)
    options.map.max_mappings = static_cast<std::int64_t>(
        whole_number("--limit", *written.limit, 1, options.count ? most_counted : most_listed));
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
      throw CLI::ValidationError(
          "--budget", "'" + value + "' is no number of " +
                          (key == "evals" ? "evaluations from 1 to 2^63 - 1" : "seconds above 0, up to a million"));
  }
}

void read_space(const std::string& text, SpaceOptions& options) {
  for (const std::string& word : split(text, ','))
    if (const std::string wrong = set_space_word(options, word); !wrong.empty())
      throw CLI::ValidationError("--space", wrong);
}

void read_cost(const WrittenValues& written, Options& options) {
  const auto& names = cost_names();
  const auto colon = written.cost.find(':');
  options.cost = written.cost.substr(0, colon);
  if (std::find(names.begin(), names.end(), options.cost) == names.end()) {
    std::string known;
    for (const std::string& name : names) known += (known.empty() ? "" : ", ") + name;
    throw CLI::ValidationError("--cost", "'" + options.cost + "' is none of: " + known);
  }
  if (colon != std::string::npos)
    options.cost_options = key_values("--cost", split(written.cost.substr(colon + 1), ','));
  const bool recorded = !options.lab.store.empty();
  if (options.cost == "learned" && !recorded)
    throw CLI::ValidationError("--cost", "learned needs earlier measurements: name their --store");
  if (options.cost == "measured" && recorded)
    throw CLI::ValidationError("--cost", "measured does not record trials; use `tune --store`");
  if (options.cost != "measured") return;
  constexpr std::int64_t few = 40;  // each evaluation compiles and runs
  if (!options.budget_given) options.schedule.max_evaluations = few;
  if (!options.strategy_given) options.schedule.strategy = "greedy";  // deterministic: few evaluations suffice
  options.schedule.jobs = 1;                                          // one timing at a time
}

/// A schedule file replaces the search: search options cannot be combined with it.
void refuse_search_options(const WrittenValues& written, const Options& options) {
  if (options.schedule_file.empty()) return;
  const std::pair<const char*, bool> given[] = {{"--strategy", !written.strategy.empty()},
                                                {"--budget", !written.budget.empty()},
                                                {"--space", !written.space.empty()},
                                                {"--certify", options.certify},
                                                {"--store", !options.lab.store.empty()}};
  for (const auto& [flag, is_given] : given)
    if (is_given) throw CLI::ValidationError(flag, "is for a search; --schedule replaces it");
}

void finish(const WrittenValues& written, Options& options) {
  refuse_search_options(written, options);
  if (options.output == "-") options.output.clear();  // the standard output, as without -o
  options.params = key_values("--set", written.params);
  options.params_b = key_values("--set-b", written.params_b);
  if (written.seed) options.seed = whole_number("--seed", *written.seed, 0, std::numeric_limits<std::uint64_t>::max());
  if (written.samples)
    options.samples = static_cast<std::int64_t>(whole_number("--samples", *written.samples, 8, 4096));
  options.schedule.jobs =
      written.jobs ? static_cast<int>(whole_number("--jobs", *written.jobs, 1, 1024)) : processors();
  const auto number = [](const char* flag, const std::optional<std::string>& text, std::int64_t& into) {
    if (text) into = static_cast<std::int64_t>(whole_number(flag, *text, 1, 1'000'000'000));
  };
  number("--run", written.run, options.lab.run);
  number("--measured", written.measured, options.lab.measured);
  if (written.threads)
    options.onnx.threads = static_cast<std::int64_t>(whole_number("--threads", *written.threads, 1, 1'000'000));
  if (written.seeds) options.lab.seeds = static_cast<std::int64_t>(whole_number("--seeds", *written.seeds, 1, 100'000));
  read_limit(written, options);
  if (!written.strategy.empty())
    read_strategy(written.strategy, options.schedule);
  else if (options.certify)
    options.schedule.strategy = "exhaustive", options.schedule.max_evaluations = 2000;
  options.strategy_given = !written.strategy.empty();
  options.budget_given = !written.budget.empty();
  if (!written.budget.empty()) read_budget(written.budget, options);
  options.schedule.space.no_skipping = options.schedule.space.sums_in_order = options.strict_float;
  if (!written.space.empty()) read_space(written.space, options.schedule.space);
  if (options.target == "native") read_native_target(options);
  if (!written.cost.empty()) read_cost(written, options);
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

/// The command line of all rows.
struct Parser {
  Options options;
  WrittenValues written;
  const VerbRow* chosen = nullptr;
  const std::vector<VerbRow> rows = verb_table();
  CLI::App app{"isamap maps tensor computations onto the instructions of a machine that a YAML file describes",
               "isamap"};

  Parser() {
    app.require_subcommand(1);
    app.set_version_flag("--version", "isamap " ISAMAP_VERSION);
    for (const VerbRow& row : rows) add(row);
    expect_values(app);
  }

  void add(const VerbRow& row) {
    const auto blank = row.words.find(' ');
    CLI::App* parent = blank == std::string::npos ? &app : app.get_subcommand(row.words.substr(0, blank));
    CLI::App* added =
        parent->add_subcommand(blank == std::string::npos ? row.words : row.words.substr(blank + 1), row.help);
    if (!row.run) {
      added->require_subcommand(1);
      return;
    }
    added->callback([this, &row, added] {
      chosen = &row;
      for (const CLI::Option* option : added->get_options())
        if (option->count() > 0) options.given.insert(option->get_name());
    });
    added->add_flag("--json", options.json, "print JSON, schema_version 1");
    added->add_option("-o", options.output, "write the result to FILE, whole or not at all (-: standard output)");
    added->add_option("--seed", written.seed, "of everything that is random (default 0)");
    Flags flags(added, options, written);
    row.flags(flags);
  }
};

}  // namespace

Flag& Flag::required() {
  option_->required();
  return *this;
}
Flag& Flag::count(int values) {
  option_->expected(values);
  return *this;
}
Flag& Flag::one_of(const std::vector<std::string>& words) {
  option_->check(CLI::IsMember(words));
  return *this;
}
Flag& Flag::excludes(const Flag& other) {
  option_->excludes(other.option_);
  return *this;
}
Flag& Flag::describe(const std::string& help) {
  option_->description(help);
  return *this;
}

Flag Flags::on(const std::string& name, bool& into, const std::string& help) {
  return Flag(verb_->add_flag(name, into, help));
}
Flag Flags::text(const std::string& name, std::string& into, const std::string& help) {
  return Flag(verb_->add_option(name, into, help));
}
Flag Flags::text(const std::string& name, std::optional<std::string>& into, const std::string& help) {
  return Flag(verb_->add_option(name, into, help));
}
Flag Flags::texts(const std::string& name, std::vector<std::string>& into, const std::string& help) {
  return Flag(verb_->add_option(name, into, help));
}
Flag Flags::known(const std::string& name) { return Flag(verb_->get_option(name)); }

void Flags::params(const std::string& of) {
  texts("--set", written.params, "name=value: a parameter or symbol of " + of);
}

void Flags::target(bool required) {
  Flag hardware = text("--target", options.target, "HW: a file, a name in hardware_models, or native");
  if (required) hardware.required();
  params("the hardware file");
}

void Flags::machine() {
  text("HW", options.target, "a file, a name in hardware_models, or native").required();
  params("the hardware file");
}

void Flags::kernel(const std::string& file) {
  text("KERNEL", options.kernel_file, file);
  text("--compute", options.compute, "instead of a file: 'C[i,j] += A[i,k]*B[k,j]'");
  text("--dims", options.dims, "i=64,j=64,k=64; symbolic: i=1..4096/16@128 (a multiple of 16, likely 128)");
  text("--dtypes", options.dtypes, "A=bf16,B=bf16,C=f32 (default f32)");
  sizes("M=37,N=64: values of symbolic sizes; lists for run and evaluate: M=1,7,37");
}

void Flags::sizes(const std::string& help) {
  if (CLI::Option* const known = verb_->get_option_no_throw("--sizes"))
    known->description(help);
  else
    text("--sizes", options.onnx.sizes, help);
}

void Flags::model_plan() {
  text("--plan", options.onnx.plan,
       "of a model: parts and orders from this file, as explain prints them; 'search': a kernel is planned as a model");
  verb_
      ->add_option(
          "--band-gain", options.onnx.band_gain,
          "of a model: percent that each group of bands must save (2, or a plan of fewer parts at the same price)")
      ->check(CLI::Range(0.0, 100.0));
  text("--threads", written.threads, "threads of the emitted program (default: those of the hardware file)");
}

void Flags::model() {
  sizes("batch=1,seq=128: sizes that a model leaves open, or symbolic sizes of a kernel");
  text("--fix", options.onnx.fix, "sr=16000: scalar inputs with known values");
  text("--until", options.onnx.until, "NAME,...: these values are the model's outputs");
  text("--constant", options.onnx.constants, "NAME,... or weights: inputs that are the same at every call");
}

void Flags::rule() {
  verb_->add_option_function<std::string>(
      "--rule",
      [all = &options](const std::string& text) { all->map.rule = choice("--rule", by_name(all_rules), text); },
      "access, full (default) or all");
}

void Flags::mapping() {
  text("--instruction", options.map.instruction, "only this one; otherwise all compute instructions compete");
  rule();
}

void Flags::suite() {
  text("--suite", options.suite, "folder of kernel files (YAML) and models (.onnx)").required();
  rule();
  text("--budget", written.budget, "for each kernel: evals=N,seconds=S (only evals is reproducible)");
  text("--report", options.report, "also write an HTML report to FILE");
  jobs();
}

void Flags::jobs() {
  text("--jobs", written.jobs, "search side by side; the result is the same for any number (default: all processors)");
}

void Flags::objective() {
  verb_->add_option_function<std::string>(
      "--objective",
      [all = &options](const std::string& text) {
        all->schedule.objective = choice("--objective", by_name(all_objectives), text);
        all->objective_given = true;
      },
      "edp, cycles or energy");
}

void Flags::search() {
  objective();
  text("--strategy", written.strategy, "NAME:key=value,...");
  text("--budget", written.budget, "evals=N,seconds=S (only evals is reproducible)");
  text("--space", written.space, "dividing,keep-all,single-buffered,double-buffered");
  jobs();
}

void Flags::cost_and_pictures() {
  text(
      "--cost", written.cost,
      "closed_form (default), latency, simulator, measured, learned; external:command=.. and extension:file=..: one of "
      "yours");
  on("--explain", options.explain, "loops, tiles, links and terms of the cost, with their lines");
  text("--report", options.report, "also write an HTML page with pictures to FILE");
  text("--trace", options.trace, "also simulate, and write trace events (Perfetto, Chrome) to FILE");
}

void Flags::schedule_file() { text("--schedule", options.schedule_file, "schedule file; no search"); }

void Flags::strict_float() {
  on("--strict-float", options.strict_float,
     "refuse programs that assume finite inputs (padding that is multiplied by 0); of a model: round to 16 bits "
     "wherever "
     "the file says so");
}

void Flags::no_reorder() {
  on("--no-reorder", options.in_order, "issue commands of an accelerator in program order, and price no overlap");
}

void Flags::store() {
  text("--store", options.lab.store, "record every trial in FILE (SQLite), and begin with its best");
}

CommandLine read_command_line(int argc, char** argv) {
  Parser parser;
  const auto wrong_usage = [&](const std::string& message, const std::string& hint) {
    Options to_stdout;  // the parser may have stopped before these
    to_stdout.json = std::any_of(argv, argv + argc, [](const char* word) { return word == std::string("--json"); });
    return CommandLine{to_stdout, std::nullopt, close_json(to_stdout, fail(Exit::usage, message, hint))};
  };
  if (const auto unknown = unknown_word(parser.app, argc, argv)) return wrong_usage(unknown->message, unknown->hint);
  try {
    parser.app.parse(argc, argv);
    finish(parser.written, parser.options);
  } catch (const CLI::ParseError& problem) {
    if (problem.get_exit_code() != 0) return wrong_usage(problem.what(), "--help says what there is");
    parser.app.exit(problem, std::cout, std::cerr);  // --help, --version
    return {parser.options, std::nullopt, Exit::ok};
  }
  return {parser.options, *parser.chosen, Exit::ok};
}

}  // namespace isamap::cli

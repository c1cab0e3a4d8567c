// SPDX-License-Identifier: Apache-2.0
// isamap lab: trials of strategies on suites with known optima, and their reports (docs/laboratory.md).

#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "build_facts.h"
#include "cli/accuracy.h"
#include "cli/command_line.h"
#include "cli/common.h"
#include "cli/interrupt.h"
#include "cli/json.h"
#include "cli/lab_file.h"
#include "lab/optima.h"
#include "lab/trial_store.h"
#include "report/lab_report.h"
#include "support/file_system.h"
#include "support/yaml.h"

namespace isamap::cli {
namespace {

/// Not part of the default list: exhaustive, and those that need a command or a file.
bool compared_by_default(const std::string& name) { return name != "exhaustive" && !is_user_strategy(name); }

Result<std::vector<lab::StrategyChoice>> chosen_strategies(const Options& options) {
  if (!options.lab.strategies.empty()) return lab::parse_strategies(options.lab.strategies);
  std::string all;
  for (const auto& [name, make] : strategies())
    if (compared_by_default(name)) all += (all.empty() ? "" : ",") + name;
  return lab::parse_strategies(all);
}

/// " (process 4711)": whoever has locked this file, where the system says who.
std::string holder_of(int file) {
  struct stat facts {};
  if (::fstat(file, &facts) != 0) return "";
  const std::string inode = fmt::format(":{}", facts.st_ino);
  std::ifstream locks("/proc/locks");  // "1: FLOCK ADVISORY WRITE 4711 fe:01:660 0 EOF", proc(5)
  std::string number, kind, mode, access, process, place;
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    if (words >> number >> kind >> mode >> access >> process >> place && kind == "FLOCK" && place.ends_with(inode))
      return " (process " + process + ")";
  }
  return "";
}

/// Streams lines, so that an interrupted run keeps its results; with -o to that file, which is locked meanwhile.
class Lines {
 public:
  explicit Lines(const std::string& path)
      : path_(path), file_(path.empty() ? stdout : std::fopen(path.c_str(), "abe")) {
    if (!file_) error_ = errno;
    struct stat facts {};
    regular_ = file_ && file_ != stdout && ::fstat(::fileno(file_), &facts) == 0 && S_ISREG(facts.st_mode);
    // File systems without locks fail otherwise, and are written as before.
    if (regular_ && ::flock(::fileno(file_), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
      holder_ = "is being written by another process" + holder_of(::fileno(file_));
  }
  ~Lines() {
    if (file_ && file_ != stdout) std::fclose(file_);
  }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;
  /// Keeps the first bytes of the file; the rest goes.
  void keep(std::size_t bytes) {
    if (regular_ && ok() && ::ftruncate(::fileno(file_), static_cast<off_t>(bytes)) != 0) error_ = errno;
  }
  void operator()(const std::string& line) {
    if (file_ && (std::fwrite(line.data(), 1, line.size(), file_) != line.size() || std::fflush(file_) != 0))
      error_ = errno;
  }
  bool ok() const { return file_ && error_ == 0 && holder_.empty(); }
  Exit problem() const {
    const std::string name = path_.empty() ? "stdout" : path_;
    return fail(Exit::wrong_input,
                {holder_.empty() ? cannot_write(name, error_ ? error_ : errno)
                                 : error_at({name, 0, 0}, holder_, "wait for its end, or name another file")});
  }

 private:
  std::string path_;
  std::FILE* file_;
  bool regular_ = false;
  int error_ = 0;
  std::string holder_;  ///< why the file is not ours
};

std::optional<lab::Trials> load_trials(const std::string& path) {
  std::error_code none;
  if (std::filesystem::is_directory(path + "/blobs", none)) {
    fail(Exit::wrong_input, {error_at({path, 0, 0}, "is a store of records, no file of trials",
                                      "`isamap results PLAN --store " + path + " -o FILE` makes the file")});
    return std::nullopt;
  }
  const auto text = read_lab_file(path, "`isamap lab run SUITE -o FILE` writes one");
  if (!text) return std::nullopt;
  auto trials = lab::parse_trials(*text, path);
  if (!trials) {
    fail(Exit::wrong_input, trials.diagnostics());
    return std::nullopt;
  }
  for (Diagnostic& damaged : trials->damaged) {
    damaged.severity = Severity::warning;
    damaged.message += ": left out";
  }
  tell_damaged(trials->damaged);
  if (trials->results.size() < trials->expected())
    tell(fmt::format("{}: {} of {} trials{}", path, trials->results.size(), trials->expected(),
                     trials->damaged.empty() ? ": the run was ended before" : ""));
  return std::move(*trials);
}

/// Of several files: one run.
std::optional<lab::Trials> load_all_trials(const std::vector<std::string>& paths) {
  std::vector<std::pair<std::string, lab::Trials>> files;
  for (const std::string& path : paths) {
    if (lab::is_store(path))
      return fail(Exit::wrong_input, {error_at({path, 0, 0}, "is a store of trials: it is read alone")}), std::nullopt;
    auto trials = load_trials(path);
    if (!trials) return std::nullopt;
    files.emplace_back(path, std::move(*trials));
  }
  if (files.size() == 1) return std::move(files.front().second);
  auto all = lab::joined(files);
  if (!all) return fail(Exit::wrong_input, all.diagnostics()), std::nullopt;
  return std::move(*all);
}

void add_suite_name(Flags& flags) {
  flags.text("SUITE", flags.options.suite, "a file, a folder, or a name: small, gemm, conv, levels").required();
}

}  // namespace

std::vector<std::string> suite_folders() {
  std::vector<std::string> folders;
  std::error_code ignored;
  if (std::filesystem::is_directory(ISAMAP_SOURCE_SUITES, ignored)) folders.emplace_back(ISAMAP_SOURCE_SUITES);
  const std::filesystem::path installed = installed_share("suites");
  if (std::filesystem::is_directory(installed, ignored)) folders.push_back(installed.string());
  return folders;
}

std::optional<std::string> read_lab_file(const std::string& path, const std::string& made_by) {
  const auto cannot = [&](int why) {
    const bool misspelt = made_by.empty() || !yaml::similar_file(path).empty();
    const std::string hint = why != ENOENT ? "" : misspelt ? yaml::nearest_file(path) : made_by;
    fail(Exit::wrong_input, {error_at({path, 0, 0}, fmt::format("cannot be read: {}", std::strerror(why)), hint)});
    return std::nullopt;
  };
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (!file) return cannot(errno);
  std::string text;
  char chunk[1 << 16];
  for (std::size_t got = 0; (got = std::fread(chunk, 1, sizeof chunk, file)) > 0;) text.append(chunk, got);
  const int problem = std::ferror(file) ? errno : 0;  // opening a folder succeeds, reading fails
  std::fclose(file);
  if (problem != 0) return cannot(problem);
  return text;
}

std::optional<lab::Suite> lab_suite(const Options& options, Exit& code) {
  auto suite = lab::load_suite(options.suite, suite_folders(), model_folders());
  code = Exit::wrong_input;
  if (!suite) return fail(code, suite.diagnostics()), std::nullopt;
  if (!suite->warnings.empty()) fail(Exit::ok, suite->warnings);
  return std::move(*suite);
}

std::optional<lab::RunOptions> lab_run_options(const Options& options, Exit& code) {
  code = Exit::usage;
  const auto strategies = chosen_strategies(options);
  if (!strategies) return fail(code, strategies.diagnostics()), std::nullopt;
  for (const lab::StrategyChoice& chosen : *strategies)
    if (std::none_of(isamap::strategies().begin(), isamap::strategies().end(),
                     [&](const auto& known) { return known.first == chosen.name; }))
      return fail(code, "there is no strategy '" + chosen.name + "'", "docs/laboratory.md lists them"), std::nullopt;
  if (refused_seconds(options, "trials")) return std::nullopt;
  if (options.cost == "measured" || options.cost == "learned")
    return fail(code, "trials must be reproducible; --cost " + options.cost + " is not",
                "`isamap tune --store FILE` measures"),
           std::nullopt;
  lab::RunOptions run;
  run.strategies = *strategies;
  run.seeds = options.lab.seeds;
  run.seed = options.seed;
  if (options.budget_given) run.evaluations = options.schedule.max_evaluations;
  run.jobs = options.schedule.jobs;
  run.cost = options.cost;
  for (const auto& [key, value] : options.cost_options)
    run.cost += (run.cost == options.cost ? ":" : ",") + key + "=" + value;
  return run;
}

void add_lab_run_flags(Flags& flags) {
  add_suite_name(flags);
  flags.text("--budget", flags.written.budget, "evals=N: of each trial (default 1000)");
  flags.text("--cost", flags.written.cost,
             "cost model of the trials: closed_form (default), latency, simulator, external:command=.., "
             "extension:file=..");
  flags.text("--strategies", flags.options.lab.strategies, "NAME:key=value:...,NAME,... (default: all heuristics)");
  flags.text("--seeds", flags.written.seeds, "trials of each strategy on each instance (default 15)");
}

namespace {

/// The same command continues the file that it began. Empty: the file is not overwritten, and why was reported.
std::optional<lab::WrittenBefore> left_by_a_killed_run(const Options& options, const lab::Suite& suite,
                                                       const lab::RunOptions& run) {
  std::error_code none;
  if (options.output.empty() || !std::filesystem::is_regular_file(options.output, none)) return lab::WrittenBefore{};
  const auto text = read_lab_file(options.output);
  if (!text) return std::nullopt;
  const std::string other = lab::held_by_another_run(*text, options.suite, suite, run);
  if (other.empty()) return lab::written_before(*text, options.suite, suite, run);
  fail(Exit::wrong_input, {error_at({options.output, 0, 0}, other, "name another file, or remove this one")});
  return std::nullopt;
}

Exit verb_lab_run(const Options& options) {
  Exit code = Exit::ok;
  const auto run = lab_run_options(options, code);
  if (!run) return code;
  const auto suite = lab_suite(options, code);
  if (!suite) return code;
  if (const Diagnostics wrong = lab::check(*suite, *run); has_errors(wrong)) return fail(Exit::wrong_input, wrong);
  Lines lines(options.output);
  if (!lines.ok()) return lines.problem();
  const auto before = left_by_a_killed_run(options, *suite, *run);
  if (!before) return Exit::wrong_input;
  lines.keep(before->bytes);
  if (!lines.ok()) return lines.problem();
  if (before->all() > 0) tell(fmt::format("{}: resumes with {} trials", options.output, before->all()));
  answer_interrupts();
  Progress progress;
  std::size_t finished = 0, expected = 0;
  const Diagnostics failed = lab::run(
      options.suite, *suite, *run, [&](const std::string& line) { lines(line); },
      [&](std::size_t done, std::size_t all) {
        progress(fmt::format("lab: {} of {} trials", done, all));
        finished = done;
        expected = all;
        return continue_with_result();
      },
      *before);
  if (has_errors(failed)) return fail(Exit::limit, failed);
  if (interrupted() && finished < expected && lines.ok())
    return fail(Exit::limit, fmt::format("interrupted: {} of {} trials are written", finished, expected));
  return lines.ok() ? Exit::ok : lines.problem();
}

Exit verb_lab_report(const Options& options) {
  if (options.files.size() == 1 && lab::is_store(options.files.front())) {
    Options store = options;
    store.lab.file = options.files.front();
    return report_accuracy(store);
  }
  const auto trials = load_all_trials(options.files);
  if (!trials) return Exit::wrong_input;
  Exit code = Exit::ok;
  for (const std::string& name : lab::Study(*trials).beaten())
    code =
        fail(Exit::wrong_result, "a trial is below the stated optimum of " + name, "`isamap lab optima` recomputes it");
  for (const std::string& strategy : lab::Study(*trials).untried()) tell(strategy + " has no trial and is left out");
  if (!options.report.empty()) {
    const auto written = write_file(options.report, lab_page(*trials));
    if (!written) return fail(Exit::wrong_input, written.diagnostics());
  }
  const auto rows = lab_summary(*trials);
  return deliver(options, options.json ? json_of_rows("strategies", rows, {"strategy"}) : table(rows), code);
}

Exit verb_lab_csv(const Options& options, bool features) {
  if (options.files.size() == 1 && lab::is_store(options.files.front())) {
    const auto text = store_csv(options.files.front(), options.lab.run, features);
    if (!text) return fail(Exit::wrong_input, text.diagnostics());
    return deliver(options, options.json ? json_of_texts({{"csv", *text}}) : *text, Exit::ok);
  }
  const auto trials = load_all_trials(options.files);
  if (!trials) return Exit::wrong_input;
  const std::string csv = lab_csv(*trials);
  return deliver(options, options.json ? json_of_texts({{"csv", csv}}) : csv, Exit::ok);
}

Exit verb_lab_optima(const Options& options) {
  Exit code = Exit::ok;
  const auto suite = lab_suite(options, code);
  if (!suite) return code;
  code = Exit::ok;
  std::vector<std::vector<std::string>> rows{{"instance", "stated", "found", "proof"}};
  const std::int64_t evaluations = options.budget_given ? options.schedule.max_evaluations : 2'000'000;
  Progress progress;
  for (const lab::Instance& instance : suite->instances) {
    progress("optimum of " + instance.name);
    const lab::Optimum found =
        lab::optimum_of(instance, evaluations, options.schedule.jobs, [&](std::int64_t priced, double) {
          if (priced % 1024 == 0) progress(fmt::format("optimum of {}: {} priced", instance.name, priced));
          return true;
        });
    rows.push_back({instance.name, instance.optimum ? fmt::format("{}", *instance.optimum) : "none",
                    found.value ? fmt::format("{}", *found.value) : "none",
                    found.proof.empty() ? "not proved" : found.proof});
    if (const std::string wrong = lab::contradiction(instance, found); !wrong.empty())
      code = fail(Exit::wrong_result, {error_at(instance.where, wrong)});
  }
  return deliver(options, options.json ? json_of_rows("instances", rows, {"instance", "proof"}) : table(rows), code);
}

void add_optima_flags(Flags& flags) {
  add_suite_name(flags);
  flags.text("--budget", flags.written.budget, "evals=N: of each proof");
  flags.jobs();
}

}  // namespace

std::vector<VerbRow> verbs_lab() {
  const auto features = std::make_shared<bool>(false);
  return {
      {300, "lab", "compare search strategies on problems with known optima", {}, {}},
      {310, "lab run", "every strategy on every instance with every seed: JSON lines",
       [](Flags& flags) {
         add_lab_run_flags(flags);
         flags.jobs();
         flags.text("--out", flags.options.output, "the same as -o");
       },
       verb_lab_run},
      {320, "lab optima", "recompute the optima of a suite and check the stated ones", add_optima_flags,
       verb_lab_optima},
      {330, "lab report", "curves, running times and profiles of trials; of a store, predicted against measured cost",
       [](Flags& flags) {
         flags.text("--run", flags.written.run,
                    "of a store: the number of a run (default: the last one that measured)");
         flags.text("--out", flags.options.report, "write the HTML page to FILE; the summary goes to stdout");
         flags.texts("FILE", flags.options.files, "what `lab run` wrote, in one or several parts; or a store")
             .required();
       },
       verb_lab_report},
      {340, "lab csv", "trials, of the laboratory or of a store, as comma-separated values",
       [=](Flags& flags) {
         flags.texts("FILE", flags.options.files, "what `lab run` wrote, in one or several parts; or a store")
             .required();
         flags.on("--features", *features, "of a store: what models learn from, a column each");
         flags.text("--run", flags.written.run, "of a store: the number of a run (default: the last one)");
       },
       [=](const Options& options) { return verb_lab_csv(options, *features); }}};
}

}  // namespace isamap::cli

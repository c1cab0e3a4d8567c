// SPDX-License-Identifier: Apache-2.0
// isamap replay: repeats a recorded run. Clock readings come from the record (times, seconds, time-outs of a search);
// everything else is recomputed and compared: every trial and every printed byte.

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "backends/common/process.h"
#include "cli/command_line.h"
#include "cli/json.h"
#include "cli/lab_file.h"
#include "cli/search_answer.h"
#include "isamap/backend.h"
#include "lab/run.h"
#include "lab/trial_json.h"

namespace isamap::cli {
namespace {

/// The first differing line of two texts.
std::string difference(const std::string& recorded, const std::string& again) {
  std::size_t line = 1;
  for (std::size_t i = 0; i < std::min(recorded.size(), again.size()) && recorded[i] == again[i]; ++i)
    line += recorded[i] == '\n' ? 1 : 0;
  const auto nth = [&](const std::string& text) {
    std::size_t at = 0;
    for (std::size_t l = 1; l < line && at != std::string::npos; ++l) {
      at = text.find('\n', at);
      if (at != std::string::npos) ++at;
    }
    return at >= text.size() ? std::string("(nothing)")
                             : text.substr(at, std::min<std::size_t>(160, text.find('\n', at) - at));
  };
  return fmt::format("line {}: recorded '{}', now '{}'", line, nth(recorded), nth(again));
}

std::string describe(const lab::TrialRecord& t) { return fmt::format("{} at {} {}", t.objective, t.point, t.problem); }

/// Measured values are taken from the record.
bool same(lab::TrialRecord recorded, lab::TrialRecord again) {
  again.measured = recorded.measured;
  again.verdict = recorded.verdict;
  if (recorded.schedule == again.schedule && !recorded.schedule.empty()) again.problem = recorded.problem;
  return recorded == again;
}

std::string first_difference(const std::vector<lab::TrialRecord>& recorded, std::vector<lab::TrialRecord> again) {
  std::stable_sort(again.begin(), again.end(), [](const auto& a, const auto& b) {
    return std::pair(a.statement, a.number) < std::pair(b.statement, b.number);
  });
  for (std::size_t t = 0; t < recorded.size(); ++t) {
    if (t >= again.size())
      return fmt::format("{} trials are recorded, now there are {}", recorded.size(), again.size());
    if (!same(recorded[t], again[t]))
      return fmt::format("trial {} of statement {}: recorded {}, now {}", recorded[t].number, recorded[t].statement,
                         describe(recorded[t]), describe(again[t]));
  }
  return "";
}

Measurer as_recorded(const std::vector<lab::TrialRecord>& trials) {
  return [&trials](const MeasuredPrograms& of) {
    std::vector<Measured> found;
    const ExecutionMode how = availability(of.model).how;
    for (const std::int64_t number : of.numbers) {
      Measured m;
      m.executed = how;
      for (const lab::TrialRecord& t : trials)
        if (t.statement == of.statement && t.number == number) {
          m.verdict = t.verdict;
          m.problem = t.problem;
          (how == ExecutionMode::simulator ? m.cycles : m.seconds) = t.measured.value_or(0);
        }
      found.push_back(m);
    }
    return found;
  };
}

/// Number of trials of each statement.
std::vector<std::int64_t> counts_of(const std::vector<lab::TrialRecord>& trials) {
  std::vector<std::int64_t> counts;
  for (const lab::TrialRecord& t : trials) {
    const auto s = static_cast<std::size_t>(t.statement);
    if (counts.size() <= s) counts.resize(s + 1, 0);
    counts[s] = std::max(counts[s], t.number);
  }
  return counts;
}

Exit replay_run(const Options& asked, const lab::TrialStore& store) {
  const auto run = store.run(asked.lab.run);
  if (!run) return fail(Exit::wrong_input, run.diagnostics());
  const auto trials = store.trials(run->id);
  if (!trials) return fail(Exit::wrong_input, trials.diagnostics());
  if (run->verb == "import")
    return fail(Exit::wrong_input, fmt::format("run {} of {} was imported: it was measured on another machine, and not "
                                               "searched",
                                               run->id, asked.lab.file));
  const TemporaryDirectory folder;
  auto options = options_of(run->options, folder.path().string());
  if (!options) return fail(Exit::wrong_input, fmt::format("run {} of {} cannot be read", run->id, asked.lab.file));
  // The recorded machine description, not its current file.
  const std::string target = (folder.path() / "target.yaml").string();
  if (!write_file(target, run->target_text)) return fail(Exit::wrong_input, "cannot write a temporary file");
  options->target = target;
  const auto loaded = load_hardware(target, model_folders(), {});
  if (!loaded) return fail(Exit::wrong_input, loaded.diagnostics());
  std::erase_if(options->params, [&](const auto& given) {
    const auto& symbols = loaded->model.symbols();
    return std::none_of(symbols.begin(), symbols.end(), [&](const Symbol& s) { return s.name == given.first; });
  });
  options->schedule.jobs = asked.schedule.jobs;
  options->output = asked.output;
  options->strategy_given = true;  // runs with a store never use the exact search
  const bool ended = !run->result.empty();
  if (!ended || options->schedule.max_seconds > 0) options->schedule.stop_after = counts_of(*trials);
  options->schedule.max_seconds = 0;
  Recorder recorder(*options, run->verb);
  recorder.keep_trials();
  if (!recorder.begin_as(run->known)) return Exit::wrong_input;
  const std::optional<double> seconds = seconds_of(run->result).value_or(0);
  const auto compilers = store.compilers(run->id);
  if (!compilers) return fail(Exit::wrong_input, compilers.diagnostics());
  const CompilerTimer as_timed = [&](const Program&, const HardwareModel&) { return *compilers; };
  const SearchAnswer answer = run->verb == "tune"
                                  ? tune_answer(*options, recorder, as_recorded(*trials), as_timed, seconds)
                                  : schedule_answer(*options, recorder, seconds);
  if (answer.text.empty() && ended) return answer.code;
  std::string differs = first_difference(*trials, recorder.trials());
  if (differs.empty() && ended && answer.text != run->result) differs = difference(run->result, answer.text);
  if (!differs.empty())
    return fail(Exit::wrong_result, fmt::format("run {} of {} does not replay: {}", run->id, asked.lab.file, differs));
  tell(fmt::format("run {}: {} trials{} are the same", run->id, trials->size(),
                   ended ? " and every byte printed" : " (the run did not end)"));
  const bool wrap = asked.json && !options->json;  // the recorded run printed text
  return ended ? deliver(*options, wrap ? json_of_texts({{"result", answer.text}}) : answer.text, answer.code)
               : Exit::ok;
}

/// The suite as the run was given it; where there is none, the one beside the file of its trials.
std::string suite_of(const lab::Trials& trials, const std::string& file) {
  std::error_code ignored;
  const std::filesystem::path beside = std::filesystem::path(file).parent_path() / trials.suite;
  const bool here = std::filesystem::exists(trials.suite, ignored);
  return !here && std::filesystem::exists(beside, ignored) ? beside.string() : trials.suite;
}

/// Of all lines that a run writes those of the recorded trials, of which any may be missing.
std::string lines_of(const std::string& all, const lab::Trials& recorded) {
  const auto name = [](const lab::TrialResult& one) { return std::tuple(one.instance, one.strategy, one.seed); };
  std::set<std::tuple<std::string, std::string, std::uint64_t>> names;
  for (const lab::TrialResult& one : recorded.results) names.insert(name(one));
  std::string lines = all.substr(0, all.find('\n') + 1);
  if (const auto trials = lab::parse_trials(all, ""))
    for (const lab::TrialResult& one : trials->results)
      if (names.contains(name(one))) lines += lab::json_of_trial(one);
  return lines;
}

Exit replay_lab(const Options& asked) {
  const auto text = read_lab_file(asked.lab.file);
  if (!text) return Exit::wrong_input;
  const auto trials = lab::parse_trials(*text, asked.lab.file);
  if (!trials) return fail(Exit::wrong_input, trials.diagnostics());
  if (!trials->damaged.empty()) return fail(Exit::wrong_input, trials->damaged);
  const auto suite = lab::load_suite(suite_of(*trials, asked.lab.file), suite_folders(), model_folders());
  if (!suite) return fail(Exit::wrong_input, suite.diagnostics());
  lab::RunOptions run = trials->options;
  run.jobs = asked.schedule.jobs;
  if (const Diagnostics wrong = lab::check(*suite, run); has_errors(wrong)) return fail(Exit::wrong_input, wrong);
  std::string again;
  Progress progress;
  const Diagnostics failed = lab::run(
      trials->suite, *suite, run, [&](const std::string& line) { again += line; },
      [&](std::size_t done, std::size_t all) {
        progress(fmt::format("replay: {} of {} trials", done, all));
        return true;
      });
  if (has_errors(failed)) return fail(Exit::limit, failed);
  const bool ended_before = trials->results.size() < trials->expected();
  const std::string lines =
      text->substr(0, text->rfind('\n') + 1);  // the last line of an interrupted run may be truncated
  const std::string now = ended_before ? lines_of(again, *trials) : again;
  if (now != (ended_before ? lines : *text))
    return fail(Exit::wrong_result, fmt::format("{} does not replay: {}", asked.lab.file, difference(*text, now)));
  tell(fmt::format(
      "{}: {} trials{}, every byte the same", asked.lab.file, trials->results.size(),
      ended_before ? fmt::format(" of {} (the run was ended before, or jobs are missing)", trials->expected()) : ""));
  return deliver(asked, again, Exit::ok);
}

}  // namespace

std::optional<double> seconds_of(const std::string& answer) {
  const auto json = nlohmann::json::parse(answer, nullptr, false);
  if (!json.is_object() || !json.contains("seconds") || !json["seconds"].is_number()) return std::nullopt;
  return json["seconds"].get<double>();
}

namespace {

Exit verb_replay(const Options& options) {
  if (!lab::is_store(options.lab.file)) return replay_lab(options);
  const auto store = lab::TrialStore::open(options.lab.file, false);
  return store ? replay_run(options, *store) : fail(Exit::wrong_input, store.diagnostics());
}

}  // namespace

std::vector<VerbRow> verbs_replay() {
  return {{400, "replay", "repeat a recorded run and compare it byte for byte",
           [](Flags& flags) {
             flags.text("FILE", flags.options.lab.file, "a store, or what `lab run` wrote").required();
             flags.text("--run", flags.written.run, "of a store: the number of a run (default: the last one)");
             flags.jobs();
           },
           verb_replay}};
}

}  // namespace isamap::cli

// SPDX-License-Identifier: Apache-2.0
#include "driver/suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <memory>
#include <mutex>

#include "mapper/advice/missing_moves.h"
#include "mapper/advice/price.h"
#include "mapper/mapping_names.h"
#include "mapper/match/instruction_tree.h"
#include "support/table.h"
#include "support/threads.h"

namespace isamap {
namespace {

namespace fs = std::filesystem;

bool is_model(const fs::path& path) { return path.extension() == ".onnx"; }

Result<std::vector<fs::path>> files_of(const std::string& folder) {
  std::error_code problem;
  if (!fs::is_directory(folder, problem)) {
    const bool exists = fs::exists(folder, problem);
    return error_at({folder, 0, 0}, exists ? "is no folder" : "folder not found",
                    "--suite takes a folder of kernel files");
  }
  std::vector<fs::path> files;
  auto entry = fs::directory_iterator(folder, problem);
  for (; !problem && entry != fs::directory_iterator(); entry.increment(problem)) {
    const fs::path& path = entry->path();
    if (path.extension() == ".yaml" || path.extension() == ".yml" || is_model(path)) files.push_back(path);
  }
  if (problem) return error_at({folder, 0, 0}, "cannot be listed: " + problem.message());
  if (files.empty())
    return error_at({folder, 0, 0}, "holds no kernels", "it reads files that end in .yaml, .yml or .onnx");
  std::sort(files.begin(), files.end());
  return files;
}

/// Layer names are prefixed with the file name, unless there is only one layer.
void add_layers(const fs::path& path, const LayerList& model, Suite& suite) {
  const std::string file = path.filename().string(), stem = path.stem().string();
  const std::vector<Layer> layers = products_of(model);
  std::map<std::string, std::size_t> seen;     // identity -> case
  std::map<std::string, std::size_t> refused;  // reason -> entry of no_kernels
  for (const Layer& layer : layers) {
    if (!layer.kernel) {
      const std::string reason = layer.op + ": " + layer.reason;
      const auto [same, is_new] = refused.emplace(reason, suite.no_kernels.size());
      if (is_new) suite.no_kernels.push_back({file, reason, 0});
      ++suite.no_kernels[same->second].layers;
      continue;
    }
    const auto [same, is_new] = seen.emplace(identity_of(*layer.kernel), suite.cases.size());
    if (is_new)
      suite.cases.push_back({file, layers.size() == 1 ? stem : stem + "." + layer.name, 1, *layer.kernel, {}});
    else
      ++suite.cases[same->second].times;
  }
}

void add_file(const fs::path& path, Suite& suite) {
  const auto refused = [&](const Diagnostics& problems) {
    suite.cases.push_back({path.filename().string(), path.stem().string(), 1, std::nullopt, problems});
  };
  if (is_model(path)) {
    const auto model = load_onnx(path.string());
    return model ? add_layers(path, *model, suite) : refused(model.diagnostics());
  }
  Diagnostics warnings;
  const auto kernel = load_kernel(path.string(), &warnings);
  suite.warnings.insert(suite.warnings.end(), warnings.begin(), warnings.end());
  return kernel ? add_layers(path, as_model(*kernel), suite) : refused(kernel.diagnostics());
}

std::string text_of(const Mapping& mapping, const Kernel& kernel, const HardwareModel& model) {
  std::string text = instruction_of(mapping, model).name + "(" + digits_text(mapping, model) + ")";
  for (const auto& [operand, tensor] : named_operands(mapping, kernel, model)) text += " " + operand + "=" + tensor;
  return text;
}

double points_of(const Computation& statement) {
  double points = 1;
  for (const Dim& dim : statement.domain.dims) points *= static_cast<double>(dim.extent);
  return points;
}

/// Calls times interval of the best mapping on one unit, ignoring memory.
void predict_by_mapping(const MapResult& mapped, const Kernel& kernel, const HardwareModel& model,
                        SuiteAnswer& answer) {
  for (const Mapping& m : mapped.mappings) {
    const Instruction& instruction = instruction_of(m, model);
    if (m.utilisation <= 0) continue;
    const double cycles = points_of(kernel.statements.front()) / (m.utilisation * points_per_cycle(instruction));
    if (answer.prediction == Prediction::mapping && cycles >= answer.cycles) continue;
    answer.prediction = Prediction::mapping;
    answer.cycles = cycles;
    answer.instruction = instruction.name;
  }
}

/// How schedules are found.
struct SuiteSearch {
  const ScheduleOptions& schedule;
  const std::optional<ExactLimits>& exact;
};

Result<Scheduled> best_schedule(const MapResult& mapped, const Kernel& kernel, const HardwareModel& model,
                                const SuiteSearch& search) {
  if (search.exact && exact_search_refusal(kernel, mapped, model).empty()) {
    bool proved = false;
    auto found = schedule_exactly(kernel, mapped, model, search.schedule, *search.exact, &proved);
    if (found) return std::move(found->scheduled);
    if (proved) return found.diagnostics();
  }
  return schedule(kernel, mapped, model, search.schedule);
}

void predict(const MapResult& mapped, const Kernel& kernel, const HardwareModel& model, const SuiteSearch& search,
             SuiteAnswer& answer) {
  const auto found = best_schedule(mapped, kernel, model, search);
  if (!found) {
    if (answer.count() > 0)
      for (const Diagnostic& d : found.diagnostics()) answer.reasons.push_back("no schedule: " + d.message);
    return predict_by_mapping(mapped, kernel, model, answer);
  }
  const bool maps = !found->mappings.empty() && found->mappings.front().instruction.valid();
  answer.prediction = maps ? Prediction::schedule : Prediction::scalar;
  answer.cycles = found->cost.cycles;
  answer.energy_pJ = found->cost.energy_pJ;
  answer.bytes = found->cost.bytes;
  if (maps) answer.instruction = instruction_of(found->mappings.front(), model).name;
  if (maps || answer.count() == 0 || found->scalar_causes.empty()) return;
  const ScalarCause& cause = found->scalar_causes.front();
  const bool lowers = cause.kind == ScalarCause::Kind::predicted_faster;
  for (const std::string& reason : cause.reasons)
    answer.reasons.push_back((lowers ? "" : "no schedule of the mappings fits and lowers: ") + reason);
}

void add(const Mapping& mapping, const Kernel& kernel, const HardwareModel& model, SuiteAnswer& answer) {
  const std::string& instruction = instruction_of(mapping, model).name;
  const std::string text = text_of(mapping, kernel, model);
  ++answer.mappings[instruction];
  answer.utilisation = std::max(answer.utilisation, mapping.utilisation);
  answer.texts.insert(text);
  const std::vector<Mapping> forms = programmable_forms(mapping, kernel, model);
  if (forms.empty()) {
    ++answer.not_programmable[instruction + ": " + not_programmable(mapping, kernel, model)];
    return;
  }
  ++answer.programmable[instruction];
  for (const Mapping& form : forms)
    answer.programmable_utilisation = std::max(answer.programmable_utilisation, form.utilisation);
  answer.utilisation = std::max(answer.utilisation, answer.programmable_utilisation);
  answer.programmable_texts.insert(text);
}

SuiteAnswer answer_of(const Kernel& kernel, const HardwareModel& model, const MapOptions& map,
                      const SuiteSearch& search) {
  SuiteAnswer answer;
  for (const Instruction& instruction : model.instructions())
    if (is_compute(instruction)) answer.mappings[instruction.name] = answer.programmable[instruction.name] = 0;
  const auto mapped = enumerate_mappings(kernel, model, map);
  if (!mapped) {
    for (const Diagnostic& d : mapped.diagnostics()) answer.reasons.push_back(d.message);
    return answer;
  }
  answer.limit_reached = mapped->limit_reached;
  for (const Mapping& m : mapped->mappings) add(m, kernel, model, answer);
  if (mapped->mappings.empty()) answer.reasons = rejection_reasons(*mapped, make_id<StatementId>(0), model);
  predict(*mapped, kernel, model, search, answer);
  return answer;
}

std::size_t only_in(const std::multiset<std::string>& these, const std::multiset<std::string>& those) {
  std::vector<std::string> rest;
  std::set_difference(these.begin(), these.end(), those.begin(), those.end(), std::back_inserter(rest));
  return rest.size();
}

/// "+3 -0 mappings (+1 -0 programmable)"; without the second part where it would say the same again.
std::string mappings_text(const SuiteChange& change) {
  const std::string all = fmt::format("+{} -{} mappings", *change.gained, *change.lost);
  if (change.gained == change.programmable_gained && change.lost == change.programmable_lost) return all;
  return all + fmt::format(" (+{} -{} programmable)", *change.programmable_gained, *change.programmable_lost);
}

bool any_is(Prediction prediction, const std::vector<const std::vector<SuiteAnswer>*>& answers) {
  return std::any_of(answers.begin(), answers.end(), [&](const auto* list) {
    return std::any_of(list->begin(), list->end(), [&](const auto& one) { return one.prediction == prediction; });
  });
}

}  // namespace

Result<Suite> load_suite(const std::string& folder) {
  const auto files = files_of(folder);
  if (!files) return files.diagnostics();
  Suite suite;
  suite.folder = folder;
  for (const fs::path& path : *files) add_file(path, suite);
  return suite;
}

std::vector<SuiteAnswer> answers(const Suite& suite, const HardwareModel& model, const MapOptions& map,
                                 const ScheduleOptions& schedule, const Tell& tell,
                                 const std::optional<ExactLimits>& exact) {
  const auto workers = std::make_shared<Workers>(schedule.jobs);
  ScheduleOptions with = schedule;
  with.workers = workers;  // the search of the last case has all of them
  std::mutex mutex;
  return for_each_in_parallel(*workers, suite.cases.size(), [&](std::size_t c) {
    const SuiteCase& one = suite.cases[c];
    if (tell) {
      const std::lock_guard lock(mutex);
      tell(fmt::format("{} of {} on {}: {}", c + 1, suite.cases.size(), model.name, one.name));
    }
    return one.kernel ? answer_of(*one.kernel, model, map, {with, exact}) : SuiteAnswer{};
  });
}

SuiteChange change_of(const SuiteCase& one, const SuiteAnswer& a, const SuiteAnswer& b) {
  SuiteChange change;
  if (!one.kernel) {
    change.verdict = SuiteChange::Verdict::failed;
    return change;
  }
  if (!a.limit_reached && !b.limit_reached) {
    change.gained = only_in(b.texts, a.texts);
    change.lost = only_in(a.texts, b.texts);
    change.programmable_gained = only_in(b.programmable_texts, a.programmable_texts);
    change.programmable_lost = only_in(a.programmable_texts, b.programmable_texts);
  }
  // A mapping's estimate ignores memory, so it is not comparable with a schedule's.
  const bool alike = (a.prediction == Prediction::mapping) == (b.prediction == Prediction::mapping);
  if (alike && a.cycles > 0 && b.cycles > 0) change.speedup = a.cycles / b.cycles;
  const bool covers_a = a.count() > 0, covers_b = b.count() > 0;
  const bool made_a = a.programmable_count() > 0, made_b = b.programmable_count() > 0;
  const bool equal = a.texts == b.texts && a.programmable_texts == b.programmable_texts &&
                     a.utilisation == b.utilisation && a.cycles == b.cycles;
  change.verdict = made_a != made_b ? (made_b ? SuiteChange::Verdict::gains : SuiteChange::Verdict::loses)
                   : !equal         ? SuiteChange::Verdict::differs
                   : covers_a       ? SuiteChange::Verdict::same
                                    : SuiteChange::Verdict::neither;
  if (covers_a != covers_b) change.covering = covers_b ? SuiteChange::Covering::gains : SuiteChange::Covering::loses;
  return change;
}

SuiteTotals totals_of(const Coverage& coverage) {
  SuiteTotals totals;
  totals.kernels = coverage.suite.cases.size();
  for (std::size_t c = 0; c < coverage.suite.cases.size(); ++c) {
    totals.failed += coverage.suite.cases[c].kernel ? 0 : 1;
    totals.mapped_a += coverage.answers[c].count() > 0 ? 1 : 0;
    totals.programmable_a += coverage.answers[c].programmable_count() > 0 ? 1 : 0;
  }
  return totals;
}

std::vector<std::string> missing_moves(const Coverage& coverage) {
  std::set<InstructionId> covering;
  for (const SuiteAnswer& answer : coverage.answers)
    for (const auto& [name, count] : answer.mappings)
      if (const auto id = coverage.model.find_instruction(name); id && count > 0) covering.insert(*id);
  return missing_moves(covering, coverage.model);
}

SuiteTotals totals_of(const Difference& difference) {
  SuiteTotals totals = totals_of(Coverage{difference.suite, difference.a, difference.rule, difference.on_a});
  double logarithms = 0;
  for (std::size_t c = 0; c < difference.suite.cases.size(); ++c) {
    const SuiteAnswer &a = difference.on_a[c], &b = difference.on_b[c];
    const SuiteChange change = change_of(difference.suite.cases[c], a, b);
    totals.mapped_b += b.count() > 0 ? 1 : 0;
    totals.programmable_b += b.programmable_count() > 0 ? 1 : 0;
    totals.covering_gains += change.only_covering() && change.covering == SuiteChange::Covering::gains ? 1 : 0;
    totals.covering_loses += change.only_covering() && change.covering == SuiteChange::Covering::loses ? 1 : 0;
    totals.gains += change.verdict == SuiteChange::Verdict::gains ? 1 : 0;
    totals.loses += change.verdict == SuiteChange::Verdict::loses ? 1 : 0;
    if (!change.speedup) continue;
    ++totals.compared;
    logarithms += std::log(*change.speedup);
  }
  if (totals.compared > 0) totals.speedup = std::exp(logarithms / static_cast<double>(totals.compared));
  return totals;
}

Exit exit_of(const Suite& suite, const std::vector<const std::vector<SuiteAnswer>*>& answers) {
  bool failed = false, maps = false, limit = false;
  for (const SuiteCase& one : suite.cases) failed = failed || !one.kernel;
  for (const auto* list : answers)
    for (const SuiteAnswer& answer : *list) {
      maps = maps || answer.count() > 0;
      limit = limit || answer.limit_reached;
    }
  return failed ? Exit::wrong_input : maps ? Exit::ok : limit ? Exit::limit : Exit::no_answer;
}

std::string_view name(Prediction prediction) {
  switch (prediction) {
    case Prediction::none:
      return "none";
    case Prediction::schedule:
      return "schedule";
    case Prediction::scalar:
      return "scalar";
    case Prediction::mapping:
      return "mapping";
  }
  return "";
}

std::string_view name(SuiteChange::Verdict verdict) {
  switch (verdict) {
    case SuiteChange::Verdict::same:
      return "same";
    case SuiteChange::Verdict::gains:
      return "gains";
    case SuiteChange::Verdict::loses:
      return "loses";
    case SuiteChange::Verdict::differs:
      return "differs";
    case SuiteChange::Verdict::neither:
      return "neither";
    case SuiteChange::Verdict::failed:
      return "failed";
  }
  return "";
}

std::string_view name(SuiteChange::Covering covering) {
  switch (covering) {
    case SuiteChange::Covering::same:
      return "same";
    case SuiteChange::Covering::gains:
      return "gains";
    case SuiteChange::Covering::loses:
      return "loses";
  }
  return "";
}

std::string mappings_cell(const SuiteAnswer& answer) {
  const char* more = answer.limit_reached ? "+" : "";
  const std::size_t made = answer.programmable_count();
  return made == answer.count() ? fmt::format("{}{}", made, more)
                                : fmt::format("{}{} ({}{} programmable)", answer.count(), more, made, more);
}

std::string used_cell(const SuiteAnswer& answer) {
  if (answer.count() == 0) return "-";
  const std::string best = fmt::format("{:.0f}%", 100 * answer.utilisation);
  if (answer.programmable_count() == 0) return best + " (-)";
  const std::string made = fmt::format("{:.0f}%", 100 * answer.programmable_utilisation);
  return made == best ? best : best + " (" + made + ")";
}

std::string cycles_cell(const SuiteAnswer& answer) {
  if (answer.prediction == Prediction::none) return "-";
  const char* mark = answer.prediction == Prediction::scalar    ? "*"
                     : answer.prediction == Prediction::mapping ? "~"
                                                                : "";
  return short_number(answer.cycles) + mark;
}

std::string change_cell(const SuiteChange& change) {
  std::vector<std::string> parts;
  if (change.verdict == SuiteChange::Verdict::gains || change.verdict == SuiteChange::Verdict::loses)
    parts.emplace_back(name(change.verdict));
  else if (change.only_covering())
    parts.emplace_back(change.covering == SuiteChange::Covering::gains ? "covered, not programmable"
                                                                       : "no longer covered, never programmable");
  else if (change.gained && *change.gained + *change.lost > 0)
    parts.push_back(mappings_text(change));
  const auto factor = [&](double by, const char* way) {
    if (by >= 1.005) parts.push_back(fmt::format("{:.3g}x {}", by, way));
    if (by >= 1.0005 && by < 1.005) parts.push_back(fmt::format("{:.2g} % {}", 100 * (by - 1), way));
  };
  if (change.speedup) factor(*change.speedup, "faster");
  if (change.speedup) factor(1 / *change.speedup, "slower");
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string kernels_that_map(const SuiteTotals& totals) {
  std::string text = fmt::format("{} of {} kernels map", totals.mapped_a, totals.kernels);
  if (totals.programmable_a < totals.mapped_a) text += fmt::format(", {} of them programmable", totals.programmable_a);
  return text;
}

std::string machines_that_map(const SuiteTotals& totals) {
  const auto part = [](std::size_t programmable, std::size_t mapped) {
    return programmable < mapped ? fmt::format(" ({} programmable)", programmable) : "";
  };
  return fmt::format("{} map on a{}, {} on b{}", totals.mapped_a, part(totals.programmable_a, totals.mapped_a),
                     totals.mapped_b, part(totals.programmable_b, totals.mapped_b));
}

std::string gains_and_losses(const SuiteTotals& totals) {
  std::string text = fmt::format("{} gain, {} lose", totals.gains, totals.loses);
  const auto only_covered = [&](std::size_t kernels, const char* by) {
    if (kernels > 0)
      text += fmt::format("; {} {} covered by {} only and not programmable", kernels, kernels == 1 ? "is" : "are", by);
  };
  only_covered(totals.covering_gains, "b");
  only_covered(totals.covering_loses, "a");
  return text;
}

std::string unprogrammable_reason(const SuiteAnswer& answer) {
  if (answer.programmable_count() > 0 || answer.count() == 0) return "";
  const auto most = std::max_element(answer.not_programmable.begin(), answer.not_programmable.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most->first;
}

std::string scalar_reason(const SuiteAnswer& answer) {
  const bool unexpected = answer.prediction == Prediction::scalar && answer.programmable_count() > 0;
  return unexpected && !answer.reasons.empty() ? answer.reasons.front() : "";
}

std::string marks_legend(const std::vector<const std::vector<SuiteAnswer>*>& answers) {
  std::string text;
  if (any_is(Prediction::scalar, answers)) text += "*: element by element on the scalar unit\n";
  if (any_is(Prediction::mapping, answers))
    text += "~: no schedule; calls of the best mapping times the instruction's interval\n";
  const auto differs = [](const SuiteAnswer& one) { return used_cell(one).ends_with(')'); };
  if (std::any_of(answers.begin(), answers.end(),
                  [&](const auto* list) { return std::any_of(list->begin(), list->end(), differs); }))
    text += "(..%): used by the best mapping that can be programmed\n";
  return text;
}

std::string grouped(const std::vector<std::pair<std::string, std::string>>& reasons) {
  std::string text;
  std::set<std::string> told;
  for (const auto& [first, reason] : reasons) {
    if (!told.insert(reason).second) continue;
    const auto count = std::count_if(reasons.begin(), reasons.end(), [&](const auto& r) { return r.second == reason; });
    text += fmt::format("  {}{}: {}\n", first, count > 1 ? fmt::format(" and {} more", count - 1) : "", reason);
  }
  return text;
}

std::string no_kernels_text(const Suite& suite) {
  std::string text;
  for (const NoKernels& group : suite.no_kernels)
    text += fmt::format("{}: {} no kernel{}: {}\n", group.file,
                        group.layers == 1 ? "1 layer is" : fmt::format("{} layers are", group.layers),
                        group.layers == 1 ? "" : "s", group.reason);
  return text;
}

Diagnostics problems_of(const Suite& suite) {
  Diagnostics all;
  for (const SuiteCase& one : suite.cases) all.insert(all.end(), one.problems.begin(), one.problems.end());
  return all;
}

}  // namespace isamap

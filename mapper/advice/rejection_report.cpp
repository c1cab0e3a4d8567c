// SPDX-License-Identifier: Apache-2.0
#include "mapper/advice/rejection_report.h"

#include <algorithm>
#include <map>

#include "mapper/advice/repair_proposals.h"
#include "mapper/advice/statement_splits.h"
#include "mapper/match/body_match.h"
#include "mapper/match/exact_form.h"

namespace isamap {
namespace {

constexpr std::size_t max_changes = 3;
constexpr int max_trials = 160;  // for each instruction and side

/// Maps changed kernels and instructions.
class Asker {
 public:
  Asker(const MapOptions& options, const HardwareModel& model) : options_(options), model_(model) {
    options_.max_mappings = 64;  // placements tried until one maps
    options_.certificates.clear();
    options_.use_z3 = false;
  }

  bool maps(const Repair& trial) const { return maps(trial, options_.rule); }
  bool maps(const Repair& trial, Rule rule) const {
    MapOptions options = options_;
    options.rule = rule;
    return !map_statement(trial.kernel, trial.statement, trial.instruction, trial.id, options).mappings.empty();
  }
  Rule rule() const { return options_.rule; }

  /// Does some instruction of the machine cover it?
  bool maps_somewhere(const Kernel& kernel, StatementId statement) const {
    const std::string text = print(kernel.statements[statement.index()], kernel.tensors);
    const auto known = somewhere_.find(text);
    if (known != somewhere_.end()) return known->second;
    bool maps_here = false;
    for (std::size_t i = 0; i < model_.instructions().size() && !maps_here; ++i)
      maps_here = is_compute(model_.instructions()[i]) &&
                  maps({"", kernel, statement, model_.instructions()[i], make_id<InstructionId>(i)});
    return somewhere_[text] = maps_here;
  }

 private:
  MapOptions options_;
  const HardwareModel& model_;
  mutable std::map<std::string, bool> somewhere_;
};

using Changes = std::vector<Repair> (*)(const Repair&);

std::string joined(const std::string& a, const std::string& b) { return a.empty() ? b : a + ", and " + b; }

/// Joins the texts of two hardware changes: "a variant that takes s8 by s8, where B has j too".
std::string continued(const std::string& a, std::string b) {
  const std::string start = "a variant ";
  if (!a.empty() && b.rfind(start, 0) == 0) return a + ", " + b.substr(start.size());
  return joined(a, b);
}

/// A trial that maps, with the text of all of its changes.
struct Change {
  std::string text;
  Kernel kernel;
};

std::vector<std::string> texts_of(const std::vector<Change>& changes) {
  std::vector<std::string> texts;
  for (const Change& change : changes) texts.push_back(change.text);
  return texts;
}

/// Values, then dims, then both.
std::vector<Change> changes_that_map(const Asker& asker, const Repair& from, Changes values, Changes dims) {
  std::vector<Change> found;
  int trials = 0;
  const auto ask = [&](const Repair& trial, const std::string& text) {
    if (found.size() >= max_changes || (trial.last_resort && !found.empty()) || ++trials > max_trials) return;
    const bool known = std::any_of(found.begin(), found.end(), [&](const Change& c) { return c.text == text; });
    if (!known && asker.maps(trial)) found.push_back({text, trial.kernel});
  };
  const std::vector<Repair> first = values(from);
  for (const Repair& trial : first) ask(trial, trial.text);
  if (!found.empty()) return found;
  for (const Repair& trial : dims(from)) ask(trial, trial.text);
  if (!found.empty()) return found;
  for (const Repair& step : first) {
    for (const Changes more : {values, dims})
      for (const Repair& trial : more(step)) ask(trial, continued(step.text, trial.text));
  }
  return found;
}

/// Splits a statement that no instruction covers in two: this instruction covers one of them, some instruction the
/// other.
std::vector<Change> splits_that_map(const Asker& asker, const Repair& from) {
  std::vector<Change> found;
  if (!from.kernel.repeats.empty() || asker.maps_somewhere(from.kernel, from.statement)) return found;
  for (StatementSplit& split : statement_splits(from.kernel, from.statement)) {
    if (found.size() >= max_changes) break;
    for (const auto& [own, other] : {std::pair(split.first, split.second), std::pair(split.second, split.first)}) {
      if (!asker.maps({"", split.kernel, own, from.instruction, from.id}) || !asker.maps_somewhere(split.kernel, other))
        continue;
      found.push_back({split.text, std::move(split.kernel)});
      break;
    }
  }
  return found;
}

/// The instruction without names and memories: instructions that are equal here are equal to the mapper.
std::string shape_of(const Instruction& instruction) {
  std::string text;
  for (const Computation& c : instruction.semantics) text += print(c, instruction.tensors) + ";";
  for (const Tensor& tensor : instruction.tensors) text += std::string(name(tensor.dtype)) + ",";
  for (const DimRange& range : instruction.ranges)
    text += std::to_string(range.min) + ":" + std::to_string(range.max) + ":" + std::to_string(range.multiple_of) + ",";
  return text;
}

bool same_operation(const Kernel& kernel, StatementId statement, const Instruction& instruction) {
  const Computation& c = kernel.statements[statement.index()];
  if (instruction.semantics.size() != 1 || is_irregular(c)) return false;
  return !match_shapes(c, instruction.statement()).empty() ||
         !match_with_constant(c, instruction.statement()).empty() || why_not_exact(kernel, statement, instruction) ||
         !match_exactly(kernel, statement, instruction).empty();
}

/// Reasons for the written order of operands are the clearest.
std::vector<std::string> short_reasons(const std::vector<Reason>& all) {
  constexpr std::size_t most = 2;
  std::vector<std::string> reasons;
  for (const Reason& reason : all)
    if (!reason.exchanged && reasons.size() < most) reasons.push_back(reason.text);
  return reasons.empty() && !all.empty() ? std::vector<std::string>{all[0].text} : reasons;
}

Refusal explained(const Kernel& kernel, const Rejection& rejection, const Instruction& instruction,
                  const Asker& asker) {
  Refusal refusal;
  refusal.statement = rejection.statement;
  refusal.reasons = short_reasons(rejection.reasons);
  // What no operand holds is the reason, and no change of an instruction helps.
  const bool irregular = is_irregular(kernel.statements[rejection.statement.index()]);
  refusal.other_operation = !irregular && !same_operation(kernel, rejection.statement, instruction);
  if (irregular || instruction.semantics.size() != 1) return refusal;
  const Repair given{"", kernel, rejection.statement, instruction, rejection.instruction};
  for (const Rule rule : all_rules)
    if (refusal.rule.empty() && rule > asker.rule() && asker.maps(given, rule)) refusal.rule = name(rule);
  refusal.hardware_changes = texts_of(changes_that_map(asker, given, hardware_value_changes, hardware_dim_changes));
  std::vector<Change> changes = changes_that_map(asker, given, kernel_value_changes, kernel_dim_changes);
  if (changes.empty()) changes = splits_that_map(asker, given);
  refusal.kernel_changes = texts_of(changes);
  for (Change& change : changes) refusal.changed_kernels.push_back(std::move(change.kernel));
  if (!refusal.kernel_changes.empty()) refusal.other_operation = false;
  return refusal;
}

bool same_cause(const Refusal& a, const Refusal& b) {
  if (a.statement != b.statement || a.other_operation != b.other_operation || a.rule != b.rule) return false;
  if (a.kernel_changes != b.kernel_changes || a.hardware_changes != b.hardware_changes) return false;
  return a.other_operation || a.reasons == b.reasons;
}

}  // namespace

std::vector<Refusal> explain_refusals(const Kernel& kernel, const HardwareModel& model, const MapOptions& options,
                                      const MapResult& result) {
  const Asker asker(options, model);
  std::vector<Refusal> refusals;
  std::map<std::pair<std::size_t, std::string>, Refusal> known;
  for (const Rejection& rejection : result.rejected) {
    const Instruction& instruction = model.instruction(rejection.instruction);
    const std::pair key(rejection.statement.index(), shape_of(instruction));
    auto found = known.find(key);
    if (found == known.end()) found = known.emplace(key, explained(kernel, rejection, instruction, asker)).first;
    const Refusal& cause = found->second;
    if (std::none_of(refusals.begin(), refusals.end(), [&](const Refusal& r) { return same_cause(r, cause); }))
      refusals.push_back(cause);
    Refusal& refusal =
        *std::find_if(refusals.begin(), refusals.end(), [&](const Refusal& r) { return same_cause(r, cause); });
    refusal.instructions.push_back(rejection.instruction);
    for (const std::string& reason : cause.reasons)
      if (std::find(refusal.reasons.begin(), refusal.reasons.end(), reason) == refusal.reasons.end())
        refusal.reasons.push_back(reason);
  }
  std::stable_partition(refusals.begin(), refusals.end(), [](const Refusal& r) { return !r.other_operation; });
  std::stable_sort(refusals.begin(), refusals.end(),
                   [](const Refusal& a, const Refusal& b) { return a.statement.value < b.statement.value; });
  return refusals;
}

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#include "verify/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "hwdesc/model/prefetch.h"
#include "hwdesc/model/program_language.h"
#include "verify/instruction_vectors.h"

namespace isamap {
namespace {

using Verdict = VerifiedInstruction::Verdict;

struct Numbered {
  std::size_t row = 0;  ///< its instruction in the result
  InstructionCase is;
  bool indirect = false;  ///< the row's instruction is a move that loads operands of the case's instruction
};

/// The machine with programs that are compiled with fewer optimizations: they run once, and what an instruction
/// computes does not depend on them. A program of a hundred instructions takes GCC 30 s at -O3, and 1.3 s at -O1.
HardwareModel compiled_fast(HardwareModel model) {
  if (!has_thread_blocks(model)) model.program.flags["any"].emplace_back("-O1");  // emulated ones have it
  return model;
}

class Verifier {
 public:
  Verifier(const HardwareModel& model, const VerifyOptions& options)
      : model_(model),
        options_(options),
        own_(options.runner != nullptr ? nullptr : make_runner(compiled_fast(model))),
        runner_(options.runner != nullptr ? options.runner : own_.get()) {}

  Verification run() {
    const Availability available = availability(model_);
    result_.executed = available.how;
    const ExternalSimulator& theirs = model_.program.simulator;
    result_.simulator = theirs.name;
    if (!theirs.command.empty()) result_.simulator_seconds = theirs.seconds > 0 ? theirs.seconds : RunLimits{}.seconds;
    if (available.how == ExecutionMode::unavailable) {
      result_.missing = available.why;
      return std::move(result_);
    }
    find_cases();
    if (options_.at_once == 0 && !cases_.empty()) run_group(0, cases_.size());
    for (std::size_t begin = 0; options_.at_once > 0 && begin < cases_.size();) {
      std::size_t end = begin;
      while (end < cases_.size() && cases_[end].row < cases_[begin].row + options_.at_once) ++end;
      run_group(begin, end);
      begin = end;
    }
    finish();
    return std::move(result_);
  }

 private:
  void find_cases() {
    const SlowOperationNotice notice("finding a program for each instruction", options_.tell);
    for (std::size_t i = 0; i < model_.instructions().size(); ++i) {
      const Instruction& instruction = model_.instructions()[i];
      if (!options_.instruction.empty() && instruction.name != options_.instruction) continue;
      VerifiedInstruction row;
      row.name = instruction.name;
      if (row.why = not_executed(instruction, model_); !row.why.empty()) {
        result_.instructions.push_back(std::move(row));
        continue;
      }
      InstructionCases found = instruction_cases(model_, make_id<InstructionId>(i), options_.samples);
      row.why = found.why_not;
      row.bound = bound_in_words(instruction);
      drop_missing_features(row, found);
      if (!found.cases.empty()) row.verdict = Verdict::equal;  // until a result differs
      for (InstructionCase& one : found.cases)
        if (recorded(row, one)) cases_.push_back({result_.instructions.size(), std::move(one)});
      result_.instructions.push_back(std::move(row));
    }
    if (options_.replay == nullptr) add_indirect_cases();
    if (options_.at_once > 0) return;
    // Groups cases of one extent, which share masks and configurations: a machine may not have them for all extents at
    // once.
    std::stable_sort(cases_.begin(), cases_.end(),
                     [](const Numbered& a, const Numbered& b) { return a.is.what < b.is.what; });
  }

  /// Removes the cases whose program this machine does not execute; where none remains, the row says why.
  void drop_missing_features(VerifiedInstruction& row, InstructionCases& found) const {
    std::string why;
    std::erase_if(found.cases, [&](const InstructionCase& one) {
      const std::string missing = missing_feature(one);
      if (!missing.empty()) why = missing;
      return !missing.empty();
    });
    if (found.cases.empty() && !why.empty()) row.why = why;
  }

  /// Why the program of a case does not run here: it calls an instruction that requires a missing feature.
  std::string missing_feature(const InstructionCase& one) const {
    for (const std::size_t i : one.uses)
      if (std::string why = not_executed(model_.instructions()[i], model_); !why.empty()) return why;
    return "";
  }

  /// Adds programs for moves whose result cannot be stored, and that no program uses yet.
  void add_indirect_cases() {
    std::set<std::size_t> used;
    for (const Numbered& one : cases_) used.insert(one.is.uses.begin(), one.is.uses.end());
    for (std::size_t r = 0; r < result_.instructions.size(); ++r) {
      const auto id = model_.find_instruction(result_.instructions[r].name);
      if (result_.instructions[r].verdict != Verdict::not_isolated || !id || used.contains(id->index())) continue;
      const Instruction& move = model_.instruction(*id);
      if (!is_move(move) || is_prefetch(move, model_) || !not_executed(move, model_).empty()) continue;
      auto made = case_through(model_, *id, options_.samples);
      if (made && missing_feature(*made).empty()) cases_.push_back({r, std::move(*made), true});
    }
  }

  /// With a record only recorded cases are run.
  bool recorded(VerifiedInstruction& row, const InstructionCase& one) {
    if (options_.replay == nullptr) return true;
    const std::string name = model_.instruction(one.instruction).name;
    const RecordedCase* found = options_.replay->find(name, one.what);
    bool same = found != nullptr && found->before.size() == one.kernel.tensors.size();
    for (std::size_t t = 0; same && t < one.kernel.tensors.size(); ++t)
      same = found->before[t].dtype == one.kernel.tensors[t].dtype &&
             found->before[t].shape == one.kernel.tensors[t].shape;
    if (found == nullptr) return row.verdict = Verdict::not_isolated, row.why = "it was not recorded", false;
    if (!same)
      row.verdict = Verdict::failed, row.why = "it was recorded with operands of other types or sizes: record it again";
    return same;
  }

  std::vector<TensorData> operands_of(const InstructionCase& one) const {
    if (options_.replay == nullptr) return test_vectors(one.kernel, options_.seed);
    return options_.replay->find(model_.instruction(one.instruction).name, one.what)->before;
  }

  /// One program for the cases [begin, end); if it does not print, compile or run, two programs of half of them.
  void run_group(std::size_t begin, std::size_t end) {
    std::vector<InstructionCase> some;
    for (std::size_t c = begin; c < end; ++c) some.push_back(cases_[c].is);
    const auto made = program_of(some, model_);
    if (!made) return bisect(begin, end, made.diagnostics());
    std::vector<TensorData> data(made->program.kernel.tensors.size());
    std::vector<std::vector<TensorData>> before;
    for (std::size_t c = 0; c < some.size(); ++c) {
      before.push_back(operands_of(some[c]));
      std::copy(before[c].begin(), before[c].end(), data.begin() + static_cast<std::ptrdiff_t>(made->first[c]));
    }
    const auto outcome = [&] {
      const SlowOperationNotice notice("compiling and running the instructions", options_.tell);
      return runner_->run(made->program, data, RunLimits{}, 0);
    }();
    ++result_.programs;
    if (!outcome) return bisect(begin, end, outcome.diagnostics());
    if (options_.at_once > 0 && !outcome->missing.empty()) {  // others may have run
      for (std::size_t c = begin; c < end; ++c) {
        VerifiedInstruction& row = result_.instructions[cases_[c].row];
        row.verdict = Verdict::not_isolated;
        row.why = outcome->missing;
      }
      return;
    }
    if (!outcome->missing.empty() || !outcome->limit.empty() || !outcome->environment.empty()) {
      result_.executed = outcome->executed;
      result_.missing = outcome->missing;
      result_.limit = outcome->limit;
      result_.environment = outcome->environment;
      return;
    }
    for (std::size_t c = begin; c < end; ++c) {
      const auto first = data.begin() + static_cast<std::ptrdiff_t>(made->first[c - begin]);
      const std::size_t count = cases_[c].is.kernel.tensors.size();
      compare_case(c, before[c - begin], {first, first + static_cast<std::ptrdiff_t>(count)});
    }
  }

  void bisect(std::size_t begin, std::size_t end, const Diagnostics& problems) {
    if (end - begin > 1) {
      const std::size_t middle = begin + (end - begin) / 2;
      run_group(begin, middle);
      return run_group(middle, end);
    }
    VerifiedInstruction& row = result_.instructions[cases_[begin].row];
    if (row.verdict == Verdict::differs) return;
    if (cases_[begin].indirect) return void(not_run_.insert(begin));
    row.verdict = Verdict::failed;
    row.what = cases_[begin].is.what;
    row.why.clear();
    for (const Diagnostic& problem : problems) {
      row.why += (row.why.empty() ? "" : "; ") + problem.message;
      for (const std::string& note : problem.notes) row.why += "\n    " + note;
    }
  }

  void compare_case(std::size_t c, const std::vector<TensorData>& before, const std::vector<TensorData>& found) {
    const InstructionCase& one = cases_[c].is;
    VerifiedInstruction& row = result_.instructions[cases_[c].row];
    const std::size_t written = one.kernel.statements[0].write.tensor.index();
    const std::string name = model_.instruction(one.instruction).name;
    if (cases_[c].indirect) {
      if (auto difference = check_case(one, model_.instruction(one.instruction), before, found))
        blamed_.emplace(cases_[c].row, std::move(*difference));
      return;
    }
    ++row.cases;
    if (options_.record != nullptr) options_.record->cases.push_back({name, one.what, before, written, found[written]});
    row.values += found[written].count();
    if (row.verdict != Verdict::equal) return;
    auto difference = check_case(one, model_.instruction(one.instruction), before, found);
    std::string whose;
    if (!difference && options_.replay != nullptr) {  // the machine's own result
      std::vector<TensorData> there = found;
      there[written] = options_.replay->find(name, one.what)->found;
      difference = check_case(one, model_.instruction(one.instruction), before, there);
      whose = "as recorded " + options_.replay->machine;
    }
    if (!difference) return;
    row.verdict = Verdict::differs;
    row.what = one.what + (one.what.empty() || whose.empty() ? "" : ", ") + whose;
    row.difference = std::move(*difference);
  }

  /// Rows without a compared result are not equal. An instruction that cannot be isolated may be used by programs of
  /// others with equal results.
  void finish() {
    for (VerifiedInstruction& row : result_.instructions) {
      if (row.verdict != Verdict::equal || row.cases > 0) continue;
      row.verdict = Verdict::not_isolated;
      row.why = "not executed: no result to compare";
      for (const std::string* why : {&result_.missing, &result_.limit, &result_.environment})
        if (!why->empty()) row.why = "not executed: " + *why;
    }
    std::map<std::string, std::string> seen;
    for (std::size_t c = 0; c < cases_.size(); ++c) {
      const VerifiedInstruction& row = result_.instructions[cases_[c].row];
      if (cases_[c].indirect || row.verdict != Verdict::equal) continue;
      for (const std::size_t i : cases_[c].is.uses) seen.emplace(model_.instructions()[i].name, row.name);
    }
    for (VerifiedInstruction& row : result_.instructions)
      if (row.verdict == Verdict::not_isolated && seen.contains(row.name)) row.seen_through = seen.at(row.name);
    for (std::size_t c = 0; c < cases_.size(); ++c)
      if (cases_[c].indirect && !not_run_.contains(c)) judge_indirectly(cases_[c]);
  }

  /// An error of a move shows in the program of an otherwise equal instruction.
  void judge_indirectly(const Numbered& one) {
    const std::string& user = model_.instruction(one.is.instruction).name;
    const auto whole = std::find_if(result_.instructions.begin(), result_.instructions.end(),
                                    [&](const VerifiedInstruction& row) { return row.name == user; });
    VerifiedInstruction& row = result_.instructions[one.row];
    if (whole != result_.instructions.end() && whole->verdict != Verdict::equal) return;
    const auto blamed = blamed_.find(one.row);
    if (blamed == blamed_.end()) {
      row.seen_through = user;
      return;
    }
    row.verdict = Verdict::differs;
    row.what = "in a program of " + user;
    row.difference = blamed->second;
  }

  const HardwareModel& model_;
  const VerifyOptions& options_;
  std::unique_ptr<Runner> own_;
  Runner* runner_;
  Verification result_;
  std::vector<Numbered> cases_;
  std::map<std::size_t, InstructionDifference> blamed_;  ///< by row of a move: the difference in its user's result
  std::set<std::size_t> not_run_;                        ///< cases of moves whose program does not run
};

}  // namespace

Verification verify_instructions(const HardwareModel& model, const VerifyOptions& options) {
  return Verifier(model, options).run();
}

}  // namespace isamap

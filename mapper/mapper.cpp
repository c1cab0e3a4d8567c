// SPDX-License-Identifier: Apache-2.0
// Bodies, then dims: every alignment of the two bodies, every placement that the rule allows, each checked by the five
// conditions (mapper/proof/conditions.h), equal ones listed once.

#include "isamap/mapper.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "ir/verify/limits.h"
#include "ir/verify/recurrence.h"
#include "mapper/advice/reasons.h"
#include "mapper/certificate_files.h"
#include "mapper/deduplicate.h"
#include "mapper/foreign_mapping.h"
#include "mapper/match/body_match.h"
#include "mapper/match/instruction_tree.h"
#include "mapper/proof/z3_solver.h"
#include "support/arithmetic.h"
#include "support/stop.h"
#include "support/yaml.h"

namespace isamap {
namespace {

std::size_t digit_count(const Mapping& mapping) {
  std::size_t count = 0;
  for (const auto& digits : mapping.dims) count += digits.size();
  return count;
}

/// The canonical order as numbers, appended to `rank`: simple mappings first (fewer kinds, fewer digits), then by
/// operands, kinds and the positions of the digits' dims. A list inside it ends with a number below all of its entries.
void add_rank(const Mapping& mapping, const Computation& statement, std::vector<std::int64_t>& rank) {
  constexpr std::int64_t end = -1;
  rank.push_back(mapping.kinds.count(Kind::axis) > 0 ? 0 : static_cast<std::int64_t>(mapping.kinds.size()));
  rank.push_back(static_cast<std::int64_t>(digit_count(mapping)));
  rank.insert(rank.end(), mapping.operands.begin(), mapping.operands.end());
  rank.push_back(end);
  for (const Kind kind : mapping.kinds) rank.push_back(static_cast<std::int64_t>(kind));
  rank.push_back(end);
  for (const auto& digits : mapping.dims) {
    for (const Digit& digit : digits) {
      const AffineTerm& first = digit.column.terms().front();
      rank.push_back(statement.domain.find(std::get<std::string>(first.atom)));
      rank.push_back(first.coefficient);
    }
    rank.push_back(end);
  }
}

void put_in_order(std::vector<Mapping>& mappings, const Computation& statement) {
  std::vector<std::int64_t> ranks;  // of all, in one array: thousands are sorted
  std::vector<std::size_t> begins{0}, order;
  for (std::size_t i = 0; i < mappings.size(); ++i) {
    add_rank(mappings[i], statement, ranks);
    begins.push_back(ranks.size());
    order.push_back(i);
  }
  const auto rank = [&](std::size_t i) { return std::span(ranks).subspan(begins[i], begins[i + 1] - begins[i]); };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const auto x = rank(a), y = rank(b);
    const auto order_of = std::lexicographical_compare_three_way(x.begin(), x.end(), y.begin(), y.end());
    return order_of != 0 ? order_of < 0 : a < b;
  });
  std::vector<Mapping> sorted;
  sorted.reserve(mappings.size());
  for (const std::size_t i : order) sorted.push_back(std::move(mappings[i]));
  mappings = std::move(sorted);
}

/// Receives a placement for one of the alignments; false ends the search.
using Take = std::function<bool(std::size_t alignment, const Placement& placement)>;

void solved_candidates(const std::vector<Alignment>& alignments, const std::vector<Choices>& choices,
                       const MapOptions& options, PairMappings& result, const Take& take) {
  const auto go_on = [&] { return !options.progress || options.progress(0); };
  const SolvedPlacements solved =
      place_by_solver(alignments, choices, {options.rule, options.max_mappings, options.rlimit, go_on}, result.solver);
  result.stopped = solved.stopped;
  for (std::size_t a = 0; a < alignments.size(); ++a) {
    for (const int s : solved.empty_slots[a]) {
      const Slot& slot = choices[a].slots[static_cast<std::size_t>(s)];
      add_reason(result, slot_reason(alignments[a], choices[a], slot, options.rule));
    }
  }
  result.limit_reached = result.limit_reached || solved.limit_reached;
  for (const auto& [a, placement] : solved.list)
    if (result.stopped || !take(a, placement)) return;
}

void each_candidate(const std::vector<Alignment>& alignments, const std::vector<Choices>& choices,
                    const MapOptions& options, PairMappings& result, const Take& take) {
  if (options.use_z3) return solved_candidates(alignments, choices, options, result, take);
  constexpr std::int64_t min_steps = 300'000, steps_each = 64;
  const std::int64_t steps = std::max(min_steps, checked_mul(options.max_mappings, steps_each).value_or(INT64_MAX));
  bool stopped = false;
  for (std::size_t a = 0; a < alignments.size() && !stopped; ++a) {
    std::int64_t found = 0;
    const bool complete = each_placement(choices[a], steps, [&](const Placement& placement) {
      if (found == options.max_mappings) {
        result.limit_reached = true;
        return false;
      }
      ++found;
      stopped = !take(a, placement);
      return !stopped;
    });
    result.limit_reached = result.limit_reached || !complete;
    if (found > 0) continue;
    for (Reason& reason : slot_reasons(alignments[a], choices[a], options.rule)) add_reason(result, std::move(reason));
  }
}

void pass_mappings(const std::vector<Alignment>& alignments, const MapOptions& options, PairMappings& result,
                   const Sink& sink) {
  std::vector<Choices> choices;
  for (const Alignment& alignment : alignments) {
    choices.push_back(choices_of(alignment, options.rule));
    result.limit_reached = result.limit_reached || !choices.back().complete;
  }
  Deduplicator listing(*alignments[0].hardware, options, result, sink);
  each_candidate(alignments, choices, options, result, [&](std::size_t a, const Placement& placement) {
    leave_if_asked();
    result.stopped = options.progress && !options.progress(listing.count());
    if (result.stopped) return false;
    const Plans plans = plans_of(alignments[a], choices[a], placement, options.rule);
    if (plans.entries.empty() && plans.others.empty()) {
      add_reason(result,
                 dims_reason(alignments[a],
                             "digits move " + alignments[a].tensor_name(0) +
                                 " along one direction, so an element would have several slots (partial sums)"));
    }
    return listing.add(alignments[a], choices[a], plans);
  });
}

/// Reasons that do not depend on dims; nothing when there are none.
std::string unmappable(const Computation& statement, const Instruction& instruction) {
  if (instruction.semantics.size() != 1) return "its semantics has several statements, which are not matched yet";
  const Computation& semantics = instruction.statement();
  if (static_cast<int>(semantics.reads.size()) >= most_operands ||
      static_cast<int>(statement.reads.size()) >= most_operands) {
    return "more than " + std::to_string(most_operands - 1) + " operands";
  }
  if (semantics.domain.dims.size() > most_dims || statement.domain.dims.size() > most_dims) {
    return "more than " + std::to_string(most_dims) + " dims";
  }
  for (const Dim& dim : semantics.domain.dims) {
    if (dim.extent < 1) return "instruction dim " + dim.name + " has extent " + std::to_string(dim.extent);
  }
  if (!statement.values.empty())
    return "the statement uses the value of " + print(statement.values.front()) + ", which no operand holds";
  for (const Access& read : statement.reads) {
    if (read.computed) return "the statement reads at a computed place, which no operand addresses";
    if (read.tensor == statement.write.tensor && read.index != statement.write.index) {
      return "the statement reads other elements of the tensor that it writes, so its order matters";
    }
  }
  return "";
}

/// An instruction with several operands in state fields and immediates: a mapping holds one constant. Empty: another.
std::string several_constants(const Instruction& instruction) {
  std::vector<std::string> names;
  for (const Operand& operand : instruction.operands)
    if (!operand.memory.valid()) names.push_back(operand.name);
  if (names.size() < 2) return "";
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return "operands " + text + " are immediates or state fields, and one constant of an instruction is matched";
}

Result<std::vector<InstructionId>> chosen(const HardwareModel& model, const std::string& name) {
  std::vector<InstructionId> ids;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < model.instructions().size(); ++i) {
    if (!is_compute(model.instructions()[i])) continue;
    names.push_back(model.instructions()[i].name);
    if (name.empty() || names.back() == name) ids.push_back(make_id<InstructionId>(i));
  }
  if (name.empty() || !ids.empty()) return ids;
  const std::string near = yaml::nearest(name, names);
  return error("'" + name + "' is no compute instruction of " + model.name,
               near.empty() ? "isamap hw show lists them" : "did you mean '" + near + "'?");
}

/// The result of one pair without its mappings, which the sink receives as they are found.
PairMappings pass_pair(const Kernel& kernel, StatementId statement, const Instruction& hardware, InstructionId id,
                       const MapOptions& options, const Sink& sink) {
  PairMappings result;
  const Computation& computation = kernel.statements[statement.index()];
  if (const std::string reason = unmappable(computation, hardware); !reason.empty()) {
    add_reason(result, {Reason::Kind::dims, false, reason});
    return result;
  }
  const std::vector<Alignment> alignments =
      alignments_of(kernel, statement, hardware, id, options.rule != Rule::access);
  if (alignments.empty()) {
    const SaturationReason lossy = why_not_exact(kernel, statement, hardware);
    add_reason(result, lossy ? lossy.reason : body_mismatch(computation, kernel.tensors, hardware));
    if (const std::string several = several_constants(hardware); !several.empty())
      add_reason(result, {Reason::Kind::body, false, several});
    return result;
  }
  pass_mappings(alignments, options, result, sink);
  std::stable_partition(result.reasons.begin(), result.reasons.end(),
                        [](const Reason& reason) { return !reason.exchanged; });
  return result;
}

/// Does a single instruction compute the statement from its operands, without a constant in one that has a memory?
bool is_computed_by(const Mapping& mapping, const HardwareModel& model) {
  for (std::size_t i = 0; mapping.constant && i < mapping.operands.size(); ++i) {
    const Instruction& instruction = model.instruction(mapping.instruction);
    if (is_constant_operand(mapping, i) &&
        instruction.operands[operand_of_access(instruction, static_cast<int>(i)).index()].memory.valid())
      return false;
  }
  return true;
}

/// Does some read exceed the shape of its tensor? A tree would read each of them from a padded copy of its own; scalar
/// code with conditions is faster, as no copy is written.
bool reads_beyond_shapes(const Kernel& kernel, const Computation& statement) {
  const Ranges ranges = ranges_of(statement.domain);
  return std::any_of(statement.reads.begin(), statement.reads.end(), [&](const Access& read) {
    const std::vector<std::int64_t>& shape = kernel.tensors[read.tensor.index()].shape;
    for (std::size_t axis = 0; axis < read.index.size(); ++axis) {
      const auto reached = bounds(read.index[axis], ranges);
      if (!reached || reached->low < 0 || reached->high >= shape[axis]) return true;
    }
    return false;
  });
}

/// The options for the next pair: `progress` counts the mappings of earlier pairs too.
MapOptions counted_from(MapOptions options, std::int64_t before) {
  if (options.progress)
    options.progress = [before, progress = options.progress](std::int64_t here) { return progress(before + here); };
  return options;
}

/// What it took to find the mappings of a pair.
void add_effort(auto& whole, const PairMappings& pair) {
  whole.stopped = whole.stopped || pair.stopped;
  whole.limit_reached = whole.limit_reached || pair.limit_reached;
  whole.solver.queries += pair.solver.queries;
  whole.solver.unknown += pair.solver.unknown;
  whole.solver.seconds += pair.solver.seconds;
}

/// Adds the result or summary of a pair to the total. A pair that was stopped before its first mapping may have some.
void add_pair(auto& whole, InstructionId id, StatementId statement, PairMappings& pair, bool found) {
  add_effort(whole, pair);
  if (!found && !pair.stopped) whole.rejected.push_back({id, statement, std::move(pair.reasons)});
}

/// Mappings of trees of instructions, for statements that no single one computes.
PairMappings map_by_tree(const Kernel& kernel, StatementId statement, const HardwareModel& model,
                         const MapOptions& options) {
  if (options.rule == Rule::access || !options.instruction.empty()) return {};
  const Computation& computation = kernel.statements[statement.index()];
  if (reads_beyond_shapes(kernel, computation)) return {};
  PairMappings all;
  for (const InstructionTree& tree : cheapest_trees(computation, kernel.tensors, model)) {
    const MapOptions own = counted_from(options, static_cast<std::int64_t>(all.mappings.size()));
    PairMappings found = map_statement(kernel, statement, *tree.form, tree.calls.back().instruction, own);
    std::erase_if(found.mappings, [](const Mapping& mapping) { return mapping.constant.has_value(); });
    for (Mapping& mapping : found.mappings) mapping.tree = tree;
    std::move(found.mappings.begin(), found.mappings.end(), std::back_inserter(all.mappings));
    if (all.reasons.empty()) all.reasons = std::move(found.reasons);
    add_effort(all, found);
    if (all.stopped) break;
  }
  return all;
}

}  // namespace

PairMappings map_statement(const Kernel& kernel, StatementId statement, const Instruction& hardware, InstructionId id,
                           const MapOptions& options) {
  std::vector<Mapping> mappings;
  PairMappings result = pass_pair(kernel, statement, hardware, id, options, [&](Mapping&& mapping) {
    mappings.push_back(std::move(mapping));
    return true;
  });
  put_in_order(mappings, kernel.statements[statement.index()]);
  result.mappings = std::move(mappings);
  return result;
}

Result<MapSummary> for_each_mapping(const Kernel& whole, const HardwareModel& model, const MapOptions& options,
                                    const MappingVisitor& visit) {
  const Kernel kernel = one_step_of(whole);
  const auto instructions = chosen(model, options.instruction);
  if (!instructions) return instructions.diagnostics();
  MapSummary summary;
  for (std::size_t s = 0; s < kernel.statements.size(); ++s) {
    const auto statement = make_id<StatementId>(s);
    bool computed = false;
    for (const InstructionId id : *instructions) {
      const std::int64_t before = summary.mappings;
      const MapOptions own = counted_from(options, before);
      PairMappings pair = pass_pair(kernel, statement, model.instruction(id), id, own, [&](Mapping&& mapping) {
        mapping.id = static_cast<int>(summary.mappings++);
        computed = computed || is_computed_by(mapping, model);
        summary.stopped = !visit(mapping);
        return !summary.stopped;
      });
      add_pair(summary, id, statement, pair, summary.mappings > before);
      if (summary.stopped) return summary;
    }
    if (computed) continue;
    PairMappings by_tree = map_by_tree(kernel, statement, model, counted_from(options, summary.mappings));
    add_pair(summary, {}, statement, by_tree, true);
    for (Mapping& mapping : by_tree.mappings) {
      mapping.id = static_cast<int>(summary.mappings++);
      if (summary.stopped = !visit(mapping); summary.stopped) return summary;
    }
  }
  return summary;
}

namespace {

void add_mappings(MapResult& result, std::vector<Mapping> more, const std::set<std::string>& unfused) {
  std::erase_if(more, [&](const Mapping& mapping) {
    return std::any_of(mapping.dims.begin(), mapping.dims.end(),
                       [&](const std::vector<Digit>& digits) { return fuses_any(digits, unfused); });
  });
  int next = static_cast<int>(result.mappings.size());
  for (Mapping& mapping : more) mapping.id = next++;
  if (result.mappings.empty())
    result.mappings = std::move(more);
  else
    std::move(more.begin(), more.end(), std::back_inserter(result.mappings));
}

}  // namespace

Result<MapResult> enumerate_mappings(const Kernel& whole, const HardwareModel& model, const MapOptions& options) {
  const Kernel kernel = one_step_of(whole);
  const auto instructions = chosen(model, options.instruction);
  if (!instructions) return instructions.diagnostics();
  MapResult result;
  for (std::size_t s = 0; s < kernel.statements.size(); ++s) {
    const auto statement = make_id<StatementId>(s);
    for (const InstructionId id : *instructions) {
      if (result.stopped) break;
      const MapOptions own = counted_from(options, static_cast<std::int64_t>(result.mappings.size()));
      PairMappings pair = map_statement(kernel, statement, model.instruction(id), id, own);
      add_pair(result, id, statement, pair, !pair.mappings.empty());
      add_mappings(result, std::move(pair.mappings), options.unfused);
    }
    const auto computes = [&](const Mapping& m) { return m.statement == statement && is_computed_by(m, model); };
    if (result.stopped || std::any_of(result.mappings.begin(), result.mappings.end(), computes)) continue;
    const MapOptions own = counted_from(options, static_cast<std::int64_t>(result.mappings.size()));
    PairMappings by_tree = map_by_tree(kernel, statement, model, own);
    add_pair(result, {}, statement, by_tree, true);
    add_mappings(result, std::move(by_tree.mappings), options.unfused);
  }
  if (!options.certificates.empty() && !result.stopped) {
    Diagnostics problems = write_certificates(kernel, model, options, result);
    if (has_errors(problems)) return problems;
  }
  return result;
}

std::string print(const Mapping& mapping, const Kernel& kernel, const HardwareModel& model) {
  check_own(mapping, kernel, model);
  const Instruction& instruction = instruction_of(mapping, model);
  std::vector<std::string> dims;
  for (const Dim& dim : instruction.statement().domain.dims) dims.push_back(dim.name);
  for (const Dim& dim : mapping.rolled) dims.push_back(dim.name);
  return print(mapping, kernel, dims, instruction.name);
}

}  // namespace isamap

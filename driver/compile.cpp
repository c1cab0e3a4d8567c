// SPDX-License-Identifier: Apache-2.0
// Start reading here: each line of `compile` is one folder of the compiler.

#include "isamap/compile.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/begun_sums.h"
#include "ir/verify/recurrence.h"
#include "isamap/scheduler.h"
#include "mapper/match/instruction_tree.h"
#include "scheduler/nest/horizontal_sum.h"
#include "scheduler/nest/operand_compatibility.h"
#include "scheduler/nest/rerolled_instruction.h"
#include "scheduler/nest/scheduled_kernel.h"
#include "scheduler/nest/staged_tile.h"
#include "scheduler/search_splits.h"

namespace isamap {
namespace {

Compilation stopped(Compilation reached, Exit code, const Diagnostics& problems) {
  reached.code = code;
  reached.problems = problems;
  return reached;
}

/// A hand-written schedule replaces the search; it is checked and priced in the same way.
Result<Scheduled> take(const Schedule& schedule, const Kernel& kernel, const HardwareModel& model,
                       const CostModelFactory& costs) {
  Diagnostics problems = verify(schedule, kernel, model);
  if (has_errors(problems)) return problems;
  auto cost = evaluate(schedule, kernel, model, costs);
  if (!cost) return cost.diagnostics();
  Scheduled scheduled;
  scheduled.schedule = schedule;
  scheduled.cost = std::move(cost->total);
  scheduled.statement_costs = std::move(cost->statements);
  return scheduled;
}

/// Assumptions forbidden by --strict-float: finite inputs (0 * infinity is NaN) and reassociation of sums.
Diagnostics not_strict(const Program& program) {
  Diagnostics problems;
  for (const Assumption& assumption : program.assumptions)
    problems.push_back(error("--strict-float forbids what this program assumes: " + assumption.text,
                             assumption.kind == Assumption::Kind::sums_in_any_order
                                 ? "make the reduction loop sequential, without 'combine'"
                                 : "choose sizes that the instruction divides, another --instruction, or a schedule"));
  return problems;
}

/// The dim of a sum of floats that calls of the mapping pad with zeros; empty: none. As lowering has it, in steps of
/// whole calls.
std::string padded_sum(const Mapping& mapping, const Kernel& kernel, const HardwareModel& model) {
  const Computation& statement = kernel.statements[mapping.statement.index()];
  if (!is_float(statement.body.type)) return "";
  const Computation fused = fuse(statement, mapping);
  const Pairing pairing = pair(fused, instruction_form(mapping, model), mapping);
  const Instruction& instruction = *pairing.instruction;
  for (std::size_t m = 0; m < instruction.ranges.size(); ++m) {
    const Dim& own = instruction.statement().domain.dims[m];
    if (own.kind != DimKind::reduction) continue;
    const std::string& dim = pairing.fused_dim_of[m];
    const int d = dim.empty() ? -1 : fused.domain.find(dim);
    const std::int64_t extent = d < 0 ? 1 : fused.domain.dims[static_cast<std::size_t>(d)].extent;
    const std::int64_t remainder = extent % std::max<std::int64_t>(full_extent(instruction, m), 1);
    if (remainder > 0 && !allows(instruction.ranges[m], remainder)) return dim.empty() ? own.name : dim;
  }
  return "";
}

/// Mappings without which --strict-float has a program; those of an instruction that is asked for stay.
void leave_out_what_is_not_strict(const Kernel& kernel, const HardwareModel& model, bool asked_for, MapResult& mapped) {
  std::erase_if(mapped.mappings, [&](const Mapping& m) { return differs_in_last_digits(instruction_of(m, model)); });
  if (asked_for) return;
  std::erase_if(mapped.mappings, [&](const Mapping& m) {
    const std::string dim = padded_sum(m, kernel, model);
    if (dim.empty()) return false;
    const Rejection rejection{m.instruction,
                              m.statement,
                              {{Reason::Kind::dims, false,
                                fmt::format("--strict-float: padding along {} is multiplied by 0, which takes inputs "
                                            "to be finite",
                                            dim)}}};
    const auto is_known = [&](const Rejection& other) {
      return other.instruction == rejection.instruction && other.statement == rejection.statement &&
             other.reasons == rejection.reasons;
    };
    if (std::none_of(mapped.rejected.begin(), mapped.rejected.end(), is_known)) mapped.rejected.push_back(rejection);
    return true;
  });
}

/// Tensors of several statements, which `sum_of` leaves out.
void add(std::map<std::string, std::map<std::string, TensorTraffic>>& total, const Cost& cost) {
  for (const auto& [memory, tensors] : cost.memories)
    for (const auto& [tensor, traffic] : tensors) {
      TensorTraffic& sum = total[memory][tensor];
      sum.instances = std::max(sum.instances, traffic.instances);
      sum.tile = std::max(sum.tile, traffic.tile);
      sum.reads += traffic.reads;
      sum.fills += traffic.fills;
      sum.updates += traffic.updates;
    }
}

bool asks_for_sizes(const HardwareModel& model) {
  return std::any_of(model.symbols().begin(), model.symbols().end(),
                     [](const Symbol& s) { return !s.known_at_compile_time && !s.emit.empty(); });
}

/// All statements as scalar code: correct on a machine of any size.
std::optional<Program> without_instructions(const Kernel& kernel, const HardwareModel& model,
                                            const CompileOptions& options) {
  const auto scheduled = schedule(kernel, MapResult{}, model, options.schedule);
  if (!scheduled) return std::nullopt;
  auto program = lower(scheduled->schedule, kernel, model);
  if (!program) return std::nullopt;
  program->sizes.clear();
  program->sums_in_order = program->library_functions = options.strict_float;
  return std::move(*program);
}

/// Versions for other machine sizes. A hand-written schedule is for one size only. A size without a schedule gets no
/// version.
std::vector<Program> other_sizes(const Kernel& whole, const HardwareModel& model, const CompileOptions& options) {
  std::vector<Program> versions;
  CompileOptions one = options;
  one.all_sizes = false;
  Kernel kernel = whole;  // packed layouts depend on the size, but the entry has one argument list
  for (Tensor& tensor : kernel.tensors) tensor.constant = false;
  if (!options.hand_written)
    for (const HardwareModel& version : model.versions()) {
      if (version.sizes() == model.sizes()) continue;
      if (Compilation compiled = compile(kernel, version, one); compiled.program)
        versions.push_back(std::move(*compiled.program));
    }
  if (auto any = without_instructions(kernel, model, options)) versions.push_back(std::move(*any));
  return versions;
}

Result<Scheduled> found(Result<LaneSearch> search, Compilation& reached) {
  if (!search) return search.diagnostics();
  reached.in_lanes = std::move(search->mapped);
  return std::move(search->scheduled);
}

}  // namespace

Compilation compile(const Kernel& kernel, const HardwareModel& model, const CompileOptions& options) {
  Compilation reached;
  const bool by_hand = options.hand_written.has_value();

  auto mapped = enumerate_mappings(kernel, model, options.map);
  if (!mapped) return stopped(reached, Exit::wrong_input, mapped.diagnostics());
  reached.mapped = std::move(*mapped);
  if (options.strict_float)
    leave_out_what_is_not_strict(kernel, model, !options.map.instruction.empty(), reached.mapped);

  bool proved = false;
  auto scheduled =
      by_hand
          ? take(*options.hand_written, kernel, model, options.schedule.costs)
          : found(schedule_or_split(kernel, reached.mapped, model, options.schedule, options.map, &proved), reached);
  if (!scheduled) {
    const Exit code = by_hand ? Exit::wrong_input : proved ? Exit::no_answer : Exit::limit;
    return stopped(reached, code, scheduled.diagnostics());
  }
  reached.scheduled = std::move(*scheduled);

  auto program = lower(reached.scheduled->schedule, kernel, model);
  if (!program) return stopped(reached, by_hand ? Exit::wrong_input : Exit::limit, program.diagnostics());
  if (const Diagnostics relied_on = not_strict(*program); options.strict_float && !relied_on.empty())
    return stopped(reached, Exit::no_answer, relied_on);
  reached.program = std::move(*program);
  reached.program->sums_in_order = reached.program->library_functions = options.strict_float;
  if (options.all_sizes && asks_for_sizes(model)) reached.program->versions = other_sizes(kernel, model, options);
  return reached;
}

std::vector<std::string> rejection_reasons(const MapResult& mapped, StatementId statement, const HardwareModel& model,
                                           ReasonOrder order) {
  const bool last = order == ReasonOrder::other_reductions_last;
  using Rank = std::pair<bool, Reason::Kind>;
  std::vector<std::pair<Rank, std::string>> all;
  for (const Rejection& rejection : mapped.rejected)
    if (rejection.statement == statement)
      for (const Reason& reason : rejection.reasons)
        all.emplace_back(Rank(last && reason.kind == Reason::Kind::reduction, rejection.kind()),
                         model.instruction(rejection.instruction).name + ": " + reason.text);
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> reasons;
  for (auto& [rank, reason] : all) reasons.push_back(std::move(reason));
  return reasons;
}

/// Why lowering takes none of the mappings.
std::vector<std::string> reasons_against(const Compilation& compiled, const Kernel& kernel, StatementId id,
                                         const HardwareModel& model) {
  constexpr std::size_t most = 8;
  std::vector<std::string> reasons;
  if (const auto& causes = compiled.scheduled->scalar_causes; id.index() < causes.size()) {
    reasons = causes[id.index()].reasons;
    if (causes[id.index()].kind == ScalarCause::Kind::predicted_faster) return reasons;
  }
  if (!reasons.empty()) reasons.front() = "no schedule of the mappings fits and lowers: " + reasons.front();
  for (const Mapping& mapping : (compiled.in_lanes ? *compiled.in_lanes : compiled.mapped).mappings) {
    if (mapping.statement != id || reasons.size() == most) continue;
    const std::string why = not_programmable(mapping, kernel, model);
    const std::string reason = instruction_of(mapping, model).name +
                               (why.empty() ? " maps, but no schedule of it was found that fits and lowers"
                                            : " maps, but is not lowered yet: " + why);
    if (std::find(reasons.begin(), reasons.end(), reason) == reasons.end()) reasons.push_back(reason);
  }
  return reasons;
}

std::vector<ScalarCode> scalar_code(const Compilation& compiled, const Kernel& whole, const HardwareModel& model,
                                    ReasonOrder order) {
  std::vector<ScalarCode> found;
  if (!compiled.scheduled) return found;
  const Kernel kernel = scheduled_kernel_of(whole, compiled.scheduled->schedule);
  const MapResult& mapped = compiled.in_lanes ? *compiled.in_lanes : compiled.mapped;
  const bool by_hand = compiled.scheduled->mappings.empty();
  for (std::size_t s = 0; s < compiled.scheduled->schedule.nests.size(); ++s) {
    const Nest& nest = compiled.scheduled->schedule.nests[s];
    const Do* line = nest.lines.empty() ? nullptr : std::get_if<Do>(&nest.lines.back().is);
    if (line && !line->instruction.empty()) continue;
    if (is_begun(compiled.scheduled->schedule, kernel, s)) continue;
    const auto id = make_id<StatementId>(s);
    const auto& mappings = mapped.mappings;
    const bool maps =
        std::any_of(mappings.begin(), mappings.end(), [&](const Mapping& m) { return m.statement == id; });
    const std::string& name = kernel.statements[s].name;
    if (!maps)
      found.push_back({name, ScalarCode::Cause::nothing_maps, rejection_reasons(mapped, id, model, order)});
    else if (by_hand)
      found.push_back({name, ScalarCode::Cause::hand_written, {"the schedule says so"}});
    else
      found.push_back({name, ScalarCode::Cause::not_chosen, reasons_against(compiled, kernel, id, model)});
  }
  return found;
}

Result<Evaluation> evaluate(const Schedule& schedule, const Kernel& whole, const HardwareModel& model,
                            const CostModelFactory& costs) {
  const auto scheduled = scheduled_kernel(one_step_of(whole), schedule);
  if (!scheduled) return scheduled.diagnostics();
  const Kernel& kernel = *scheduled;
  Evaluation evaluation;
  for (std::size_t s = 0; s < schedule.nests.size(); ++s) {
    const auto id = make_id<StatementId>(s);
    const SearchSpace space(kernel, id, {}, model,
                            {});  // statements of a hand-written schedule have no mappings to choose from
    const auto by_model = costs(space);
    if (!by_model) return by_model.diagnostics();
    auto cost = checked_fine_estimate(**by_model, {&kernel, id, &model, schedule.nests[s]});
    if (const Diagnostics failed = costs.problems(); has_errors(failed)) return failed;
    if (!cost) return cost.diagnostics();
    if (is_begun(schedule, kernel, s)) cost = Cost{};  // others load what it copies
    evaluation.statements.push_back(repeated(std::move(*cost), repetitions(whole, s)));
  }
  evaluation.total = sum_of(evaluation.statements);
  evaluation.total.memories.clear();
  for (const Cost& cost : evaluation.statements) add(evaluation.total.memories, cost);
  return evaluation;
}

}  // namespace isamap

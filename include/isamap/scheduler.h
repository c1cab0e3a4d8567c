// SPDX-License-Identifier: Apache-2.0
#pragma once
// From mappings to a schedule, and from a schedule to a program.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "isamap/cost_model.h"
#include "isamap/hardware.h"
#include "isamap/kernel.h"
#include "isamap/mapper.h"
#include "isamap/mapping.h"
#include "isamap/program.h"
#include "isamap/result.h"
#include "isamap/schedule.h"
#include "isamap/search.h"

namespace isamap {

// Two different things: a mapping *covers* its statement, since calls of the instruction compute it (proved), and it
// can be *programmed*, since lowering has loops and operands for it. The second is less: docs/mapping.md, "What can be
// programmed".

/// Why lowering has no form for a mapping that covers its statement: "(q - s) is no plain dim". Empty: it has one;
/// whether a schedule of it fits into the memories is for `schedule` to find. A microsecond, no search.
std::string not_programmable(const Mapping& mapping, const Kernel& kernel, const HardwareModel& model);

/// The mapping as lowering takes it: itself, or each mapping with the same digits, whole, on dims of their slots (kind
/// `split`: `i = 16*i, j = i` is `i = i, j = 1` and `i = 1, j = i`), of which the search chooses. None where
/// `not_programmable` gives a reason.
std::vector<Mapping> programmable_forms(const Mapping& mapping, const Kernel& kernel, const HardwareModel& model);

struct MappingCount {
  std::int64_t covering = 0, programmable = 0;  ///< all of them; those that can be programmed
  bool operator==(const MappingCount&) const = default;
};
MappingCount count_mappings(const std::vector<Mapping>& mappings, const Kernel& kernel, const HardwareModel& model);

// Strides of the tensors of the caller: rows of a larger array have the pitch of that array.

/// Elements from one index to the next, one for each axis; none: row-major and dense.
using Strides = std::vector<std::int64_t>;

/// Why these are no strides of the arguments of the kernel: their number, a stride that is not positive, aliasing
/// elements of an output. Nothing: they are valid, or none.
std::optional<Diagnostic> strides_problem(const std::vector<Strides>& strides, const Kernel& kernel);

// Schedule files: the `levels:` view of the contract and the full `nest:` form, one reader for both.

/// `levels:` needs the machine (its only matching instruction, the units between memories) and becomes a nest.
Result<Schedule> load_schedule(const std::string& path, const Kernel& kernel, const HardwareModel& model);
Result<Schedule> parse_schedule(const std::string& text, const std::string& file, const Kernel& kernel,
                                const HardwareModel& model);

/// Dims exist, tiles are positive and nested, every stage names a tensor of its statement and a memory, `do` stands
/// last once, every dim is tiled down to what the instruction takes.
Diagnostics verify(const Schedule& schedule, const Kernel& kernel, const HardwareModel& model);

// A schedule to a program: tiles to loops, stages to buffers with fills and drains, `do` to calls.
//
// Rules R1..R5 of docs/schedule.md. Every loop whose tile does not divide gets a body for its last, shorter tile, so
// all extents in the program are constants.

/// Whether the mapping of a `do` line is verified again, or trusted because the caller has verified it.
enum class DoLines { proved, trusted };

/// Diagnostics name the line of the schedule, the number found and the number needed; capacities, register counts and
/// alignments are checked by the verifier of the result (include/isamap/program_on_machine.h), which this calls.
///
/// `strides`: one for each argument, or none. Tensors that an instruction cannot address are refused like tiles that it
/// cannot address.
Result<Program> lower(const Schedule& schedule, const Kernel& kernel, const HardwareModel& model,
                      DoLines lines = DoLines::proved, const std::vector<Strides>& strides = {});

// The search: the best point of every statement that lowers makes the schedule.

/// What a search does that has found no schedule yet.
struct FallbackOptions {
  std::int64_t greedy = 1'000;     ///< evaluations of the greedy strategy, which is tried next
  std::int64_t in_order = 20'000;  ///< of the points in order behind it, in a space that has more
  /// Refused points end either: attention in f16 on tensor cores lowered 22 800 nests in vain, 1 ms each (no tile of 4
  /// rows can be stored by an instruction for 8), and ended as scalar code all the same.
  std::int64_t most_refused = 500;
  std::int64_t beyond_time = 2'000;  ///< evaluations of a statement without a schedule, whatever `max_seconds` is
};

struct ScheduleOptions {
  Objective objective = Objective::edp;
  std::string strategy = "genetic";  ///< nearest to known optima at this budget (docs/laboratory.md)
  StrategyOptions strategy_options;
  std::int64_t max_evaluations = 1000;  ///< per statement; down to a tenth for those with little of the work
  double max_seconds = 0;  ///< of all statements, in even shares; 0: no limit; only `evals` is reproducible
  SpaceOptions space;
  /// The best so many schedules of a statement are estimated again where the cost model has a finer estimate: of
  /// command streams their commands, replayed. 0: the closed form decides.
  std::size_t finalists = 8;
  bool must_lower = true;  ///< the best must lower to a program; false: price a machine without programming it
  bool fuse = true;        ///< consumers are fused into producers (fuse_statements.h); only if must_lower
  /// Statements predicted to be faster as scalar code become it (scalar_alternative.h); only if must_lower.
  bool compare_scalar = true;
  std::uint64_t seed = 0;
  StrategyFactory user_strategy;          ///< replaces `strategy`; made for each space
  int jobs = 1;                           ///< concurrent evaluations; never changes the result
  std::shared_ptr<Workers> workers;       ///< in place of `jobs`: shared with other searches (support/threads.h)
  ExecutorFactory executor;               ///< in place of both (scheduler/search/executor.h)
  std::vector<std::vector<Point>> known;  ///< per statement: starting points from earlier searches
  std::vector<std::int64_t> stop_after;   ///< per statement: evaluations, in place of a time limit
  FallbackOptions fallback;
  CostModelFactory costs = make_cost_model_closed_form;
  /// After each evaluation of a statement, and every few tens of milliseconds of a long one: their number and the best
  /// objective so far (infinity: none). False ends the search with the best so far; statements not yet searched take
  /// their first legal schedule.
  std::function<bool(std::int64_t evaluations, double best)> progress;
  std::function<void(const Trial&)> watch;  ///< sees every evaluation
};

/// Why a statement is scalar code although it maps.
struct ScalarCause {
  enum class Kind { nothing_lowers, predicted_faster };
  Kind kind = Kind::nothing_lowers;
  std::vector<std::string> reasons;  ///< "stage C in acc: no instruction fills C_acc in acc with 0"; empty: it is not
};

struct Scheduled {
  Schedule schedule;
  Cost cost;  ///< summed over statements
  std::vector<Cost> statement_costs;
  std::string view;                        ///< per-memory view of the schedule, for one nest of that form
  std::vector<Mapping> mappings;           ///< the chosen one of each statement; instruction invalid: scalar code
  std::vector<ScalarCause> scalar_causes;  ///< by statement
  std::int64_t evaluations = 0;
  bool exhausted = true;  ///< every point of the space of every statement was evaluated
  bool stopped = false;   ///< `progress` ended the search
  double seconds = 0;
  std::vector<std::pair<std::int64_t, double>> curve;  ///< (evaluations, best objective so far)
};

/// Statements without a mapping run element by element on a scalar unit if the machine has one that reaches home;
/// otherwise, and when no legal schedule is found, diagnostics state the constraint (memory, tile, needed, available).
/// User-provided strategies and cost models are checked: points are repaired, invalid costs make a point illegal. Their
/// exceptions reach the caller. A strategy that finds nothing before the space is exhausted is followed by a limited
/// exhaustive search.
/// `proved`: after a failure, whether the space is known to have no legal schedule; false if a limit came first.
Result<Scheduled> schedule(const Kernel& kernel, const MapResult& mappings, const HardwareModel& model,
                           const ScheduleOptions& options, bool* proved = nullptr);

}  // namespace isamap

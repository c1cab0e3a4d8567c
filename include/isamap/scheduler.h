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

struct MappingCount {
  std::int64_t covering = 0, programmable = 0;  ///< all of them; those that can be programmed
  bool operator==(const MappingCount&) const = default;
};
MappingCount count_mappings(const std::vector<Mapping>& mappings, const Kernel& kernel, const HardwareModel& model);

// How the tensors of the caller lie: rows of a larger array have the step of that array.

/// Elements from one index to the next, one for each axis; none: row-major and dense.
using Strides = std::vector<std::int64_t>;

/// Why these are no strides of the kernel's arguments: another number of them, steps that are not positive, elements of
/// an output that share a place. Nothing: they are, or there are none at all.
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

/// Whether what a `do` line states is proved again, or taken for granted: by a caller that knows better, because the
/// statement is the instruction's own.
enum class DoLines { proved, trusted };

/// Diagnostics name the line of the schedule, the number found and the number needed; capacities, register counts and
/// alignments are checked by the verifier of the result (include/isamap/program_on_machine.h), which this calls.
///
/// `strides`, one for each argument or none at all, say how the caller's tensors lie. What an instruction cannot
/// address so is refused like what it cannot address in a tile of the schedule's own.
Result<Program> lower(const Schedule& schedule, const Kernel& kernel, const HardwareModel& model,
                      DoLines lines = DoLines::proved, const std::vector<Strides>& strides = {});

// The loop: ask, build, estimate, tell; the best point of every statement that lowers makes the schedule.

struct ScheduleOptions {
  Objective objective = Objective::edp;
  std::string strategy = "genetic";  ///< the nearest to known optima at this many evaluations (docs/laboratory.md)
  StrategyOptions strategy_options;
  std::int64_t max_evaluations = 1000;  ///< for each statement; down to a tenth for those with little of the work
  double max_seconds = 0;  ///< of all statements, in even shares; 0: no limit; only `evals` is reproducible
  SpaceOptions space;
  bool must_lower = true;  ///< the best is one that makes a program; false: a machine is priced, not programmed
  bool join = true;        ///< statements take over tiles from those they read (fuse_statements.h); only if must_lower
  /// What is predicted to be faster as scalar code becomes it (scalar_alternative.h); only if must_lower.
  bool compare_scalar = true;
  std::uint64_t seed = 0;
  StrategyFactory user_strategy;  ///< a strategy of the caller's own, in the place of `strategy`; made for each space
  int threads = 1;                ///< evaluations side by side; never changes what is found
  std::vector<std::vector<Point>> known;  ///< of each statement: points to begin with, from earlier searches
  std::vector<std::int64_t> stop_after;   ///< of each statement: evaluations, in the place of a limit of time
  CostModelFactory costs = make_cost_model_closed_form;
  /// After each evaluation: of the statement, and the best objective so far (infinity: none). False ends the search
  /// with the best so far; statements that were not searched yet take the first legal schedule of theirs.
  std::function<bool(std::int64_t evaluations, double best)> progress;
  std::function<void(const Trial&)> watch;  ///< sees every evaluation
};

struct Scheduled {
  Schedule schedule;
  Cost cost;  ///< summed over statements
  std::vector<Cost> statement_costs;
  std::string view;               ///< of one nest of the levelled form: the schedule in the per-memory view
  std::vector<Mapping> mappings;  ///< the chosen one of each statement; instruction invalid: scalar code
  /// By statement: why it is scalar code although it maps, "stage C in acc: no instruction fills C_acc in acc with 0".
  std::vector<std::vector<std::string>> refusals;
  std::int64_t evaluations = 0;
  bool exhausted = true;  ///< every point of every statement's space was asked for
  bool stopped = false;   ///< `progress` ended the search
  double seconds = 0;
  std::vector<std::pair<std::int64_t, double>> curve;  ///< (evaluations, best objective so far)
};

/// Statements that nothing maps run element by element on a scalar unit when the machine has one that reaches home;
/// otherwise, and when no legal schedule is found, diagnostics say which constraint (memory, tile, needed, available).
/// Points and costs of strategies and cost models that users bring are checked: points are repaired, what is no cost is
/// an illegal point with words. What such code throws reaches the caller.
/// Where a strategy finds none without having seen the whole space, the space is run over in order for a while.
/// `proved`: after a failure, whether it is known that the space has no legal schedule; where a limit came first it is
/// false.
Result<Scheduled> schedule(const Kernel& kernel, const MapResult& mappings, const HardwareModel& model,
                           const ScheduleOptions& options, bool* proved = nullptr);

}  // namespace isamap

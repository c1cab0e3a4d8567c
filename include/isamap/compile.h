// SPDX-License-Identifier: Apache-2.0
#pragma once
// The whole compiler in one call.

#include <optional>

#include "isamap/mapper.h"
#include "isamap/program.h"
#include "isamap/schedule.h"
#include "isamap/scheduler.h"
#include "isamap/symbolic_program.h"

namespace isamap {

// Outcome of a compilation, a run or a command: the exit codes of the program.

/// Exit codes of the contract.
enum class Exit {
  ok = 0,
  wrong_input = 1,  ///< a file or number the user gave
  usage = 2,
  no_answer = 3,     ///< proved: nothing maps, or no legal schedule exists
  limit = 4,         ///< a solver or search limit was reached before an answer
  wrong_result = 5,  ///< a run disagreed with the interpreter
  missing = 77       ///< something is missing on this machine
};

// The whole compiler: kernel and machine in, program out.

/// The results of all stages. A failed stage sets `code` and `problems`; results of earlier stages remain.
struct Compilation {
  MapResult mapped;
  std::optional<MapResult> in_lanes;  ///< mappings of the rewritten kernel (split statements, vectorized reductions),
                                      ///< if the search chose such a schedule
  std::optional<Scheduled> scheduled;
  std::optional<Program> program;
  Exit code = Exit::ok;
  Diagnostics problems;
};

struct CompileOptions {
  MapOptions map;
  ScheduleOptions schedule;
  std::optional<Schedule> hand_written;  ///< replaces the search
  /// Of a program for all sizes: replace the search and the choice of versions.
  std::vector<ScheduleVersion> versions = {};
  bool strict_float = false;  ///< refuse programs that assume finite inputs
  /// For machines with sizes known at run time only: versions for all of them, and a generic one.
  bool all_sizes = false;
  int most_versions = 4;  ///< of a program for all sizes that is a grid of blocks
};

/// A statement that no compute instruction computes, and why.
struct ScalarCode {
  enum class Cause {
    nothing_maps,
    hand_written,  ///< the schedule was given: by the user, or kept from an earlier search
    not_chosen     ///< mappings are predicted to be slower, or none of them lowers
  };
  std::string statement;
  Cause cause = Cause::nothing_maps;
  std::vector<std::string> reasons;
};
/// Of reasons why instructions do not map: by kind, or the same with instructions that combine results otherwise last.
enum class ReasonOrder { by_kind, other_reductions_last };
std::vector<ScalarCode> scalar_code(const Compilation& compiled, const Kernel& kernel, const HardwareModel& model,
                                    ReasonOrder order = ReasonOrder::by_kind);
/// "fma: reduction: ..." of every instruction that maps no statement, or not this one.
std::vector<std::string> rejection_reasons(const MapResult& mapped, StatementId statement, const HardwareModel& model,
                                           ReasonOrder order = ReasonOrder::by_kind);

Compilation compile(const Kernel& kernel, const HardwareModel& model, const CompileOptions& options);

/// Cost of a schedule: the sum over its nests, one per statement.
struct Evaluation {
  Cost total;
  std::vector<Cost> statements;
};
Result<Evaluation> evaluate(const Schedule& schedule, const Kernel& kernel, const HardwareModel& model,
                            const CostModelFactory& costs = make_cost_model_closed_form);

// One program for all sizes of a symbolic kernel.

/// Sizes at which versions were priced by the cost model.
struct SizeSample {
  Bindings sizes;
  double best = 0;          ///< cycles, on one thread, of the best schedule that was found for any sample; 0: of a
                            ///< schedule file, which was not compared with others
  double cycles = 0;        ///< of the version that serves the sizes
  std::size_t version = 0;  ///< from 0 on
  double on_threads = 0;    ///< cycles of that version on the threads of the machine; 0: it has one
  double regret() const { return best > 0 ? cycles / best : 1; }
};

struct SymbolicCompilation {
  std::optional<SymbolicProgram> program;
  std::vector<SizeSample> samples = {};  ///< of grids of blocks
  std::size_t candidates = 0;            ///< of these: schedules the versions were chosen from
  std::vector<Schedule> schedules;       ///< by version; of grids: by version and statement
  std::vector<std::int64_t> found_at;    ///< by version: the number of rows that its schedule was searched at
  Exit code = Exit::ok;
  Diagnostics problems;  ///< without a program: why, and what would work; with one: warnings
};

/// Searches schedules at a number of rows that is likely and at a small one, lowers each at multiples of its tiles, and
/// adds code for every remainder. Only for machines with C++ programs, and kernels with rows (include/isamap/
/// symbolic_program.h); a hand-written schedule is the one of all sizes.
SymbolicCompilation compile_symbolic(const SymbolicKernel& kernel, const HardwareModel& model,
                                     const CompileOptions& options);

/// Predicted cost at these sizes, of the version that serves them.
std::optional<Cost> predicted_at(const SymbolicCompilation& compiled, const HardwareModel& model, const Bindings& sizes,
                                 const CostModelFactory& costs);

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#pragma once
// A compiled model on a machine, executed on the model's data; every part is compared with the interpreter on the
// values that the parts before it left.
//
// Where the machine's programs are C++ the whole is one emitted program: each part's results are read back from its
// arena as they were when the part ended, so a wrong place in the arena shows as a part that computes something else.
// The same holds for command streams, which the simulator executes. Elsewhere (kernels on a GPU, external simulators)
// the parts are executed one after another, each on its own.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/common/memory_counts.h"
#include "backends/simulator/simulated_time.h"
#include "driver/compile_model.h"

namespace isamap {

struct PartRun {
  double seconds = 0;  ///< within the whole program, or alone: medians; 0: not timed
  std::int64_t cycles = 0;
  double max_error = 0;
  SimulatedPart simulated;  ///< of a stream of commands
};

struct ModelRunOptions {
  double min_seconds = 0;  ///< the whole, or each part, is repeated for so long; 0: once
  std::function<void(const std::string&)> progress = [](const std::string&) {};
  int jobs = 1;  ///< parts compared with the interpreter, or compiled, side by side; runs are alone
  /// Held while the program is executed, not while it is compiled or compared; empty: nothing.
  std::function<std::shared_ptr<void>()> alone = {};
};

struct ModelRun {
  ExecutionMode executed = ExecutionMode::unavailable;
  bool whole = false;            ///< one program; otherwise part by part
  std::vector<PartRun> parts;    ///< by part of the plan; fewer if one failed
  std::vector<TensorData> data;  ///< by tensor of the kernel
  double seconds = 0;            ///< of the whole, or of all parts together; 0: not timed
  std::int64_t cycles = 0;
  SimulatedTime simulated;  ///< the whole stream; its `commands` are 0 where there is none
  double max_error = 0;
  double seconds_compiling = 0, seconds_running = 0;  ///< running: with the interpreter and timing
  std::int64_t arena_bytes = 0, arena_bound = 0, weights_bytes = 0, text_bytes = 0;  ///< 0: part by part
  std::int64_t launches = -1;                                                        ///< as in ModelUnit
  MemoryCounts counts;  ///< as in ModelOutcome; of all parts
  std::vector<ArenaBlock> blocks;
  Exit code = Exit::ok;
  Diagnostics problems;  ///< a part that is wrong or did not run, by its name
};

/// The exit code and the reason of an outcome that did not run; nothing: it ran.
template <class Outcome>
std::optional<std::pair<Exit, Diagnostic>> why_not_run(const Outcome& outcome) {
  for (const auto& [reason, code] :
       {std::pair(outcome.missing, Exit::missing), {outcome.limit, Exit::limit}, {outcome.environment, Exit::missing}})
    if (!reason.empty()) return std::pair(code, error("not run: " + reason));
  return std::nullopt;
}

/// `data`: one for each tensor (data_of). Stops at the first part that fails.
ModelRun run_model(const Model& model, const CompiledModel& compiled, const HardwareModel& machine,
                   std::vector<TensorData> data, const ModelRunOptions& options);

}  // namespace isamap

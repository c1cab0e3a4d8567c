// SPDX-License-Identifier: Apache-2.0
#pragma once
// Emits and compiles a whole model once, executes it in child processes, and reads back what every part wrote.

#include <functional>
#include <memory>
#include <vector>

#include "backends/common/memory_counts.h"
#include "backends/cpp/model/model_driver.h"
#include "backends/simulator/simulated_time.h"
#include "isamap/interpret.h"

namespace isamap {

struct ModelOutcome {
  ExecutionMode executed = ExecutionMode::unavailable;
  std::string compiler;              ///< the command
  double seconds = 0;                ///< median of one run of the whole
  std::vector<double> part_seconds;  ///< by part
  double compiling = 0;              ///< seconds; of the first run only
  std::int64_t text_bytes = 0, arena_bytes = 0;
  std::int64_t launches = -1;  ///< as in ModelUnit
  SimulatedTime simulated;     ///< of the whole; its cycles are 0 where nothing is simulated
  std::vector<SimulatedPart> simulated_parts;
  std::string missing, limit, environment;  ///< as in RunOutcome
  MemoryCounts counts;                      ///< of an emulation that was asked for them
};

/// Takes what a part wrote, in the order of its traced arrays; false: no more are wanted.
using TraceReader = std::function<bool(std::size_t part, const std::vector<std::vector<std::uint8_t>>& arrays)>;

struct ModelProgramRun {
  double min_seconds = 0;  ///< the whole is repeated for so long; 0: once
  int jobs = 0;            ///< compilers at a time; 0: one for each processor
  /// What is held while the program is executed, such as a lock; empty: nothing.
  std::function<std::shared_ptr<void>()> alone = {};
};

/// `inputs`: by input of the model.
Result<ModelOutcome> run_model_program(const ModelProgram& model, const HardwareModel& machine,
                                       const std::vector<TensorData>& inputs,
                                       const std::vector<std::vector<TracedArray>>& traced, const ModelProgramRun& how,
                                       const TraceReader& read);

/// A model for all sizes, compiled at the first run.
class SymbolicModelRunner {
 public:
  virtual ~SymbolicModelRunner() = default;
  /// `inputs`: by input, with the shapes of these sizes. `read` gets the results of each call.
  virtual Result<ModelOutcome> run(const Bindings& sizes, const std::vector<TensorData>& inputs, double min_seconds,
                                   const TraceReader& read) = 0;
  virtual int compilations() const = 0;
};

/// `model` and `machine` must outlive it.
std::unique_ptr<SymbolicModelRunner> make_symbolic_model_runner(const SymbolicModelProgram& model,
                                                                const HardwareModel& machine);

/// Can whole models be printed for this machine? Otherwise they are executed part by part.
bool prints_models(const HardwareModel& machine);
/// Is a model run as one program? On a GPU the parts are executed one after another, as its driver is told of single
/// kernels only; where kernels are emulated it is one program. An external simulator takes single programs.
bool runs_models_whole(const HardwareModel& machine);
/// Can calls of parts run in bands of rows?
bool prints_bands(const HardwareModel& machine);

/// In the language of the machine (backends/cpp/model/model_unit.h).
Result<ModelUnit> print_whole_model(const ModelProgram& model, const HardwareModel& machine);
/// Kernels that one call launches; nothing: the language has none.
std::optional<std::int64_t> launches_of(const Program& part, const HardwareModel& machine);
Result<Workspace> workspace_of_part(const Program& part, const HardwareModel& machine);

}  // namespace isamap

#pragma once
// Something that runs programs: implemented by backends, handed to the scheduler's measured models and to the CLI.

#include <string>
#include <vector>

#include "ir/interpret.h"
#include "ir/program.h"

namespace isamap {

struct RunLimits {
  double seconds = 60;
  std::int64_t memory_bytes = std::int64_t{8} << 30;
  std::int64_t file_bytes = std::int64_t{256} << 20;
};

struct RunOutcome {
  std::string executed;      ///< "native", "emulated", "simulator", "shim"
  double seconds = 0;        ///< median time of one run of the main entry; 0: not a clock (simulated)
  std::int64_t cycles = 0;   ///< simulators only: of what instructions do
  double scalar_cycles = 0;  ///< simulators only: of element statements between them
  std::string missing;       ///< non-empty: not run, because this package or feature is missing
  std::string limit;         ///< non-empty: not finished, because this limit was reached
  std::string environment;   ///< non-empty: not run, because of a setting that the user can change
};

class Runner {
 public:
  virtual ~Runner() = default;
  /// `data`: one entry for each kernel tensor; outputs are replaced by what the run computed.
  /// `min_seconds`: repeat the timed entry until this much time is spent (at least once).
  virtual Result<RunOutcome> run(const Program& program, std::vector<TensorData>& data, const RunLimits& limits,
                                 double min_seconds) = 0;
};

}  // namespace isamap

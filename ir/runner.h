// SPDX-License-Identifier: Apache-2.0
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

/// What emulated threads asked of the memory of all blocks, counted together where one instruction asks for several.
struct MemoryRequests {
  std::string part, tensor, access;  ///< part of the program (a kernel); "loads", "stores", "additions", "copies"
  std::int64_t requests = 0;
  std::int64_t sectors = 0;  ///< pieces that the memory moved for them
  std::int64_t least = 0;    ///< pieces that the same bytes would need
  std::int64_t sector_bytes = 0;
};

/// The same of a memory in banks, which all of them together serve in passes: one word of each bank a pass.
struct BankRequests {
  std::string part, array, access;
  std::int64_t requests = 0;
  std::int64_t passes = 0;
  std::int64_t least = 0;  ///< passes that the same bytes would need, wherever they lay
  std::int64_t banks = 0, bank_width = 0;
  std::int64_t worst_passes = 0, worst_least = 0;  ///< of the request that lost most
  std::int64_t worst_line = 0;                     ///< of the printed text
  std::int64_t worst_block = 0, worst_warp = 0;
};

struct RunOutcome {
  std::string executed;                  ///< "native", "emulated", "simulator", "shim"
  std::string compiler;                  ///< the command that made the program; empty: none did
  std::string simulator;                 ///< the name of a simulator that somebody else wrote; empty: none
  double simulator_seconds = 0;          ///< how long that may take
  std::string text;                      ///< of the printed program that ran, as `emit` has it
  double seconds = 0;                    ///< median time of one run of the main entry; 0: not a clock (simulated)
  std::int64_t cycles = 0;               ///< simulators only: of what instructions do
  double scalar_cycles = 0;              ///< simulators only: of element statements between them
  std::vector<MemoryRequests> requests;  ///< emulations only, where they are asked for (ISAMAP_EMULATION_COUNTS)
  std::vector<BankRequests> banks;       ///< the same
  std::string missing;                   ///< non-empty: not run, because this package or feature is missing
  std::string limit;                     ///< non-empty: not finished, because this limit was reached
  std::string environment;               ///< non-empty: not run, because of a setting that the user can change
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

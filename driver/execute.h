// SPDX-License-Identifier: Apache-2.0
#pragma once
// Running a program on this machine and comparing it with the interpreter.

#include <map>
#include <string>
#include <vector>

#include "isamap/backend.h"
#include "isamap/compile.h"
#include "isamap/interpret.h"
#include "isamap/program.h"
#include "support/slow_operation.h"

namespace isamap {

struct Checked {
  std::string executed;          ///< "native", "emulated", "simulator", "shim"; "unavailable": `missing` says why
  std::string compiler;          ///< that made what ran; empty: none did
  std::string simulator;         ///< the name of one that somebody else wrote; empty: none
  double simulator_seconds = 0;  ///< how long that may take
  std::string text;              ///< of the printed program that ran
  std::string missing;
  std::string limit;        ///< not finished: this limit was reached
  std::string environment;  ///< not run: a setting of the user prevents it
  bool correct = false;
  double max_error = 0;
  double seconds = 0;  ///< 0: not a clock
  double gflops = 0;
  std::int64_t cycles = 0;               ///< simulators
  std::vector<MemoryRequests> requests;  ///< emulations that were asked to count
  std::vector<BankRequests> banks;       ///< the same
  double scalar_cycles = 0;              ///< simulators: of what a scalar unit does between commands
  std::string first_difference;          ///< "O[3,1]: 12 instead of 13"
};

/// "simulator", of one that somebody else wrote "simulator NAME (limit 60 s)".
std::string executed_text(const std::string& executed, const std::string& simulator, double seconds);
/// Why there is nothing to compare; empty: it ran.
std::string why_not_run(const Checked& checked);
Exit exit_of(const Checked& checked);

/// Summed up by kernel: requests, passes, least, banks.
std::map<std::string, BankRequests> by_part(const std::vector<BankRequests>& all);

/// Arithmetic operations of the whole kernel: those of the body and of the reduction, at every point.
double operations(const Kernel& kernel);
/// Why the interpreter would not come back in reasonable time or memory; empty: it will.
Diagnostics too_large_to_run(const Kernel& kernel);

struct RunChoices {
  bool workspace = false;  ///< as `emit --workspace` prints it
  Tell tell = {};          ///< what takes long
};

/// Runs on small integers (every sum is exact) and, where a tensor holds floats, on reals too; both must agree.
Result<Checked> run_and_compare(const Program& program, const HardwareModel& model, std::uint64_t seed,
                                double min_seconds, const RunChoices& choices = {});

}  // namespace isamap

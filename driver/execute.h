// SPDX-License-Identifier: Apache-2.0
#pragma once
// Running a program on this machine and comparing it with the interpreter.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "isamap/backend.h"
#include "isamap/compile.h"
#include "isamap/interpret.h"
#include "isamap/program.h"
#include "support/slow_operation.h"

namespace isamap {

struct Checked {
  ExecutionMode executed = ExecutionMode::unavailable;  ///< unavailable: `missing` says why
  std::string compiler;                                 ///< compiler of the executed program; empty: not compiled
  std::string simulator;                                ///< name of the external simulator; empty: none
  double simulator_seconds = 0;                         ///< its time limit
  std::string text;                                     ///< of the executed program text
  std::string missing;
  std::string limit;        ///< not finished: the limit that was reached
  std::string environment;  ///< not run: a user setting prevents it
  bool correct = false;
  double max_error = 0;
  double seconds = 0;  ///< 0: not a clock
  double gflops = 0;
  std::int64_t cycles = 0;               ///< simulators
  std::vector<MemoryRequests> requests;  ///< emulations with counters enabled
  std::vector<BankRequests> banks;       ///< the same
  double scalar_cycles = 0;              ///< simulators: cycles of host code between commands
  std::string first_difference;          ///< "O[3,1]: 12 instead of 13"
};

/// "simulator", for an external one "simulator NAME (limit 60 s)".
std::string executed_text(ExecutionMode executed, const std::string& simulator, double seconds);
/// Why it did not run; empty: it ran.
std::string why_not_run(const Checked& checked);
Exit exit_of(const Checked& checked);

/// Totals by kernel: requests, passes, minimum, banks.
std::map<std::string, BankRequests> by_part(const std::vector<BankRequests>& all);

/// Arithmetic operations of the kernel: those of body and reduction at every point.
double operations(const Kernel& kernel);
/// Why the kernel exceeds the limits of the interpreter (time, memory); empty: it does not.
Diagnostics too_large_to_run(const Kernel& kernel);
/// Why this machine's memory does not hold all tensors of the kernel at once; empty: it does.
Diagnostics too_large_to_hold(const Kernel& kernel);

struct RunChoices {
  bool workspace = false;  ///< as `emit --workspace` prints it
  Tell tell = {};          ///< notices of slow operations
};

/// Runs on small integers (sums are exact) and, if a tensor is floating-point, on reals too; both must agree.
Result<Checked> run_and_compare(const Program& program, const HardwareModel& model, std::uint64_t seed,
                                double min_seconds, const RunChoices& choices = {});

/// The same by a given runner.
Result<Checked> run_and_compare(const Program& program, Runner& runner, ExecutionMode how, std::uint64_t seed,
                                double min_seconds, const Tell& tell);

/// Makes runners for programs that are compared side by side. Empty on a device: its memory is for one at a time. The
/// model must outlive the result.
std::function<std::unique_ptr<Runner>()> runners_side_by_side(const HardwareModel& model);

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the parts of a model use an accelerator: which commands execute them, what is left to the host and why, and what
// the simulator counted beside what was predicted.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "driver/compile_model.h"
#include "driver/plan/resident_intermediates.h"
#include "driver/run_model.h"

namespace isamap {

/// Cycles of commands, and of statements that the host executes between them.
struct StreamCycles {
  double commands = 0, host = 0;
};

struct PartFacts {
  enum class By { commands, host, both };
  By by = By::commands;
  std::vector<std::string> instructions;  ///< that compute its statements
  std::vector<ScalarCode> on_host;        ///< statements without an instruction, and why; of the first equal part
  std::vector<ResidentTensor> kept;       ///< intermediates that never leave the machine
  StreamCycles predicted, simulated;
};
/// "commands", "host", "both".
std::string_view name(PartFacts::By by);

/// A queue of commands.
struct PortUse {
  std::string unit, port;
  std::int64_t count = 1;  ///< of equal ones
  std::int64_t busy = 0;   ///< cycles, of all of them
  double utilisation = 0;  ///< of the cycles of the whole
};

struct StreamFacts {
  std::vector<PartFacts> parts;  ///< by part of the plan
  StreamCycles predicted, simulated;
  std::size_t host_parts = 0;  ///< wholly on the host
  std::vector<PortUse> ports;
};

/// By part, without what a run counts.
std::vector<PartFacts> part_facts(const CompiledModel& compiled, const HardwareModel& machine);

/// `run`: of a stream of commands.
StreamFacts stream_facts(const CompiledModel& compiled, const ModelRun& run, const HardwareModel& machine);

}  // namespace isamap

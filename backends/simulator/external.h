// SPDX-License-Identifier: Apache-2.0
#pragma once
// A simulator that somebody else wrote runs the commands of a program (`program.run.simulator`).

#include <optional>
#include <string>

#include "backends/simulator/machine.h"

namespace isamap {

/// The command with its first word made findable: `./sim` is beside the hardware file.
std::vector<std::string> simulator_command(const HardwareModel& model);
/// What messages call it: "the simulator 'NAME'", with the path of a command that has no name.
std::string simulator_title(const HardwareModel& model);

/// Writes the text and the images of memories, runs the command and reads the images back (hwdesc/README.md, section 5,
/// has the files).
struct ExternalRun {
  std::int64_t cycles = 0;  ///< what it printed, if anything
  std::string missing;      ///< it ended with exit code 77: what it lacks, its last line
  std::string limit;        ///< it was killed: it had not ended within `seconds`
};
Result<ExternalRun> run_external(const std::string& text, const Program& program, const HardwareModel& model,
                                 Machine& machine, double seconds);

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs the commands of a program in an external simulator (`program.run.simulator`).

#include <optional>
#include <string>

#include "backends/simulator/machine.h"

namespace isamap {

/// The command with the path of its first word resolved: `./sim` is relative to the hardware file.
std::vector<std::string> simulator_command(const HardwareModel& model);
/// Its name in messages: "the simulator 'NAME'", with the path of the command if it has no name.
std::string simulator_title(const HardwareModel& model);

/// Writes the text and the images of memories, runs the command and reads the images back (hwdesc/README.md, section 5,
/// has the files).
struct ExternalRun {
  std::int64_t cycles = 0;  ///< its output
  std::string missing;      ///< exit code 77: the missing requirement, its last line of output
  std::string limit;        ///< it was killed at the limit of `seconds`
};
Result<ExternalRun> run_external(const std::string& text, const Program& program, const HardwareModel& model,
                                 Machine& machine, double seconds);

}  // namespace isamap

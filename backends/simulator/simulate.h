// SPDX-License-Identifier: Apache-2.0
#pragma once
// Simulates printed assembly: each line is decoded with the instructions' text templates and executed by their
// semantics.

#include <memory>
#include <string>
#include <vector>

#include "backends/simulator/machine.h"
#include "isamap/hardware.h"
#include "isamap/interpret.h"

namespace isamap {

/// `text`: the output of print_assembly for this program, or a text with the same host markers. Of the program only
/// tensor addresses and host nests are used. Diagnostics name the line number.
Result<SimulatedTime> simulate(const std::string& text, const Program& program, const HardwareModel& model,
                               std::vector<TensorData>& data, double seconds);

std::unique_ptr<Runner> make_simulator(const HardwareModel& model);

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs printed assembly: every line is decoded by the instructions' own templates and executed by their semantics.

#include <memory>
#include <string>
#include <vector>

#include "backends/simulator/machine.h"
#include "isamap/hardware.h"
#include "isamap/interpret.h"

namespace isamap {

/// `text` is what print_assembly gave for this program, or another text with the same host markers. The program gives
/// the places of tensors and the host's nests, nothing else. A line that cannot be decoded or executed is named with
/// its number.
Result<SimulatedTime> simulate(const std::string& text, const Program& program, const HardwareModel& model,
                               std::vector<TensorData>& data, double seconds);

std::unique_ptr<Runner> make_simulator(const HardwareModel& model);

}  // namespace isamap

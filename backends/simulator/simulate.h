// SPDX-License-Identifier: Apache-2.0
#pragma once
// Simulates printed assembly: each line is decoded with the instructions' text templates and executed by their
// semantics.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/simulator/machine.h"
#include "isamap/hardware.h"
#include "isamap/interpret.h"

namespace isamap {

/// What a simulation of a stream does besides its commands.
struct SimulationHooks {
  std::function<void(Machine&)> before;  ///< puts values into its memories
  std::function<void(Machine&)> after;   ///< takes them, unless it failed
  /// A part of a model has ended (part_marker); `time`: from the beginning. False: no more is wanted.
  std::function<bool(std::size_t part, Machine&, const SimulatedTime& time)> part_ended;
};

/// Simulates `text`, the output of print_assembly for this program, or a text with the same host markers. Of the
/// program only buffers and host nests are used. Commands of a part may run while those of the part before it end.
Result<SimulatedTime> simulate(const std::string& text, const Program& program, const HardwareModel& model,
                               const SimulationHooks& hooks, double seconds);

/// `text`: the output of print_assembly for this program, or a text with the same host markers. Of the program only
/// tensor addresses and host nests are used. Diagnostics name the line number.
Result<SimulatedTime> simulate(const std::string& text, const Program& program, const HardwareModel& model,
                               std::vector<TensorData>& data, double seconds);

std::unique_ptr<Runner> make_simulator(const HardwareModel& model);

}  // namespace isamap

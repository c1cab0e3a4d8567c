// SPDX-License-Identifier: Apache-2.0
#pragma once
// A whole model as a stream of commands, executed by the simulator.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "backends/assembly/model_stream.h"
#include "backends/simulator/simulated_time.h"

namespace isamap {

/// Bytes of the outermost memory: what a part wrote.
struct WrittenBytes {
  std::int64_t address = 0, bytes = 0;
};

struct SimulatedModel {
  SimulatedTime time;
  std::vector<SimulatedPart> parts;                ///< in order; their sums are `time`
  std::vector<std::vector<std::uint8_t>> outputs;  ///< by port
};

struct ModelSimulation {
  const std::string& text;  ///< print_assembly of the stream's program
  const ModelStream& stream;
  const ModelProgram& model;  ///< of which only ports and weights are used
  const HardwareModel& machine;
  /// By part, what `read` gets of the memory when the part has ended; false: the simulation ends there.
  std::vector<std::vector<WrittenBytes>> written;
  std::function<bool(std::size_t part, const std::vector<std::vector<std::uint8_t>>& arrays)> read;
  double seconds = 600;  ///< limit
};

/// `inputs`: bytes by port. Other bytes of the memories begin as garbage.
Result<SimulatedModel> simulate_model(const ModelSimulation& run, const std::vector<std::vector<std::uint8_t>>& inputs);

}  // namespace isamap

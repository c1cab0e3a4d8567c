// SPDX-License-Identifier: Apache-2.0
#pragma once
// A whole model as one program of commands: its parts one after another, every tensor and weight at its place in the
// outermost memory. One stream: what a part leaves in the machine's state is known to the next, and commands of the
// next may run while those of the last one end.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/program.h"
#include "isamap/result.h"
#include "program/model_program.h"

namespace isamap {

/// Where the blocks of a model begin: bytes from the start of the outermost memory.
struct StreamPlaces {
  std::vector<std::int64_t> inputs, outputs;  ///< by port
  std::int64_t weights = 0, arena = 0;
  std::int64_t bytes = 0;  ///< of all
};

struct ModelStream {
  Program program;  ///< without arguments: its kernel is a name only; part markers (printer.h) before each part
  StreamPlaces places;
};

/// Inputs, outputs, weights, then the arena.
StreamPlaces stream_places(const ModelProgram& model);
/// Of a place that is somewhere.
std::int64_t address_in(const StreamPlaces& places, const ModelPlace& place);

/// Errors: the blocks are larger than the memory, or a tensor of several writers that no scalar unit can begin.
Result<ModelStream> model_stream(const ModelProgram& model, const HardwareModel& machine);

/// The hash of the weights, as the first comments of the program state it; nothing: it is another comment.
std::optional<std::uint64_t> weights_of_comment(const std::string& comment);

/// What a part keeps in the outermost memory while it runs.
struct StreamWorkspace {
  std::int64_t bytes = 0, align = place_align;
};
StreamWorkspace stream_workspace(const Program& part, const HardwareModel& machine);

}  // namespace isamap

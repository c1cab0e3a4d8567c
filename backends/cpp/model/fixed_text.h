// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the texts of models whose sizes are numbers share, in memory of the host or of a device.

#include <cstdint>
#include <string>
#include <vector>

#include "backends/cpp/model/model_text.h"
#include "program/model_program.h"

namespace isamap {

struct PointerAlignments {
  std::vector<std::int64_t> inputs, outputs;  ///< bytes
  std::int64_t arena = 1;
};

/// NAME.h.
std::string fixed_header(const ModelProgram& model, const std::string& machine, ModelKind kind,
                         const PointerAlignments& aligns);
/// opening_text, NAME_arena_bytes and NAME_output_shape, with NAME for the model's name. `helpers` as in OpeningText.
std::string fixed_opening(const ModelProgram& model, ModelKind kind, std::int64_t arena_bytes, int helpers);

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#pragma once
// NAME_run around the calls of the parts: one text for models whose sizes are numbers and for models whose calls bring
// them, for one thread and for a team.

#include <cstddef>
#include <string>

#include "backends/cpp/model/model_text.h"

namespace isamap {

struct RunText {
  ModelKind kind = ModelKind::fixed;  ///< fixed or sized
  bool team = false;
  std::string checks;     ///< of the pointers (pointer_checks)
  std::string numbers;    ///< sized: the sizes as variables
  std::size_t slots = 0;  ///< sized: places in the arena
  std::string fills;      ///< of a team: in front of the first call
  std::string calls;  ///< NAME_COUNT(part) behind each, NAME_AFTER(part) or NAME_RESULT(part, at, bytes) for observers
};

/// With NAME for the model's name.
std::string run_text(const RunText& run);

}  // namespace isamap

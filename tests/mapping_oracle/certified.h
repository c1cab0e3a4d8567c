// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the compiler's certificate says of a mapping.

#include <optional>

#include "isamap/mapping.h"
#include "tests/mapping_oracle/random_pairs.h"

namespace isamap::oracle {

struct Certified {
  std::optional<bool> proved;  ///< every question unsatisfiable; nothing: not decided within the limit
  std::string failed;          ///< the question that has an answer
  std::vector<Turn> turns;     ///< the loops that the questions speak of
};
Certified certified(const Pair& pair, const isamap::Mapping& mapping);

}  // namespace isamap::oracle

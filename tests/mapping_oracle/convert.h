#pragma once
// From the compiler's types to the oracle's: the only place that reads them.

#include <optional>

#include "ir/instruction.h"
#include "ir/kernel.h"
#include "ir/mapping.h"
#include "tests/mapping_oracle/model.h"

namespace isamap::oracle {

/// Nothing when an index or face is not linear, or the body is none of the oracle's.
std::optional<Nest> nest_of(const Computation& computation);

/// Operands, digits and carriers; loops are added by add_loops (cover.h).
Mapping mapping_of(const isamap::Mapping& mapping, const Nest& kernel);

}  // namespace isamap::oracle

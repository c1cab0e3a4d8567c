// SPDX-License-Identifier: Apache-2.0
#pragma once
// From the compiler's types to the oracle's: the only place that reads them.

#include <optional>

#include "isamap/instruction.h"
#include "isamap/kernel.h"
#include "isamap/mapping.h"
#include "tests/mapping_oracle/model.h"

namespace isamap::oracle {

/// Nothing when an index or face is not linear, or the body is none of the oracle's.
std::optional<Nest> nest_of(const Computation& computation);

/// A statement of one read seen as a product with 1 or a sum with 0, for an instruction of two inputs.
void add_constant_operand(Nest& nest);

/// Operands, digits, carriers and printed loops. One column and extent on several dims is a tied digit.
Mapping mapping_of(const isamap::Mapping& mapping, const Nest& kernel);

}  // namespace isamap::oracle

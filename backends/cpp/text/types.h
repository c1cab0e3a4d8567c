// SPDX-License-Identifier: Apache-2.0
#pragma once
// The C++ types of elements and registers: from the model, otherwise portable types.

#include <optional>
#include <string>

#include "isamap/hardware.h"
#include "isamap/program.h"

namespace isamap {

/// `float`, `std::int8_t`, ...; f16, bf16 and the 8-bit floats are stored as unsigned integers of their size.
std::string portable_type(DType type);

/// `program.types`, else the portable type.
std::string element_type(const HardwareModel& model, DType type);

/// The type of a register variable: the memory's `value` of this dtype or of `any`.
std::optional<std::string> register_type(const HardwareModel& model, const Buffer& buffer);

}  // namespace isamap

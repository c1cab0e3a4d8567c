// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies of tensors that a grid reads beyond their edges, made by the entry before its cells run.

#include <string>

#include "backends/cpp/symbolic/symbolic_entry.h"
#include "isamap/hardware.h"
#include "isamap/symbolic_program.h"
#include "program/padding_zones.h"

namespace isamap {

/// Statements that make `NAME_padded` of the tensor NAME.
std::string padded_copy_text(const GridShape& shape, TensorId id, const SymbolicKernel& kernel, const EntryNames& names,
                             const HardwareModel& model, const PaddingZones* zones);

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where a command's operands lie: positions of elements, and the bytes that a move copies.

#include <map>
#include <optional>

#include "backends/simulator/decoder.h"
#include "isamap/affine.h"
#include "isamap/hardware.h"
#include "isamap/result.h"

namespace isamap {

/// Position of the element that access number `access` of the statement touches at a point of the domain, in elements
/// of `dtype` from the operand's address. An error: a fragment, or a stride that the command does not encode.
Result<AffineExpr> position_of(const Command& command, int access, DType dtype);

/// The source byte of each byte that a move writes, counted from the addresses of both operands. Moves of 16 f32 and of
/// 32 f16 at dense addresses both give {0: 0, 1: 1, .., 63: 63}. Nothing: the command is no plain copy of bits (it
/// computes, converts, has a mask, a swizzle, a fragment, or extents below their maximum with `inactive`).
std::optional<std::map<std::int64_t, std::int64_t>> moved_bytes(const Command& command, const HardwareModel& model);

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Short innermost loops that copy neighbours, printed as copies of a block:
//
//   for (long p = 0; p < 5; ++p) __builtin_memcpy(to + 11*p, from + 13*p, 11 * sizeof(float));
//
// GCC makes these of long loops by itself, but unrolls those of up to 16 steps first: rows of 11 floats become loads
// and inserts of single elements, or three moves, where two that overlap do. Clang prints the same code for both.

#include <optional>
#include <string>

#include "backends/cpp/function/statement_printer.h"

namespace isamap {

/// The statement that copies a row in place of the loop, if two moves copy it: of more than half a register of a
/// machine whose registers hold `bytes_moved_at_once`, and of less than a whole one. Nothing: it is no such loop.
std::optional<std::string> row_copy(const Loop& loop, const Item& item, const PrintedFunction& function,
                                    const PlaceText& places, const OpenLoops& open);

}  // namespace isamap

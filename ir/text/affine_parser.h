// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parses an affine expression inside a longer text.

#include "ir/text/cursor.h"
#include "isamap/affine.h"

namespace isamap {

/// Stops at the first character that does not continue the expression; problems are kept in the cursor.
/// `dots`: names may hold dots (`n.p`).
AffineExpr read_affine(Cursor& cursor, const Bindings& constants, bool dots);

/// Adds a problem when a coefficient or constant exceeds Cursor::max_number or there are too many terms.
void check_size(Cursor& cursor, std::size_t offset, const AffineExpr& e);

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Our own invariants. A failed check means that isamap is wrong, never that the user is.

#include <string>

namespace isamap {

/// Prints "internal error: ..." with the place and the text, and ends the process.
[[noreturn]] void internal_error(const char* file, int line, const std::string& what);

}  // namespace isamap

#define ISAMAP_CHECK(condition, text) ((condition) ? void(0) : ::isamap::internal_error(__FILE__, __LINE__, (text)))

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Splits C++ text into definitions in order to drop unused functions, about which compilers warn.

#include <string>

namespace isamap {

/// `text` without the functions that neither `code` nor the rest of `text` names, directly or through other functions:
///   unused_functions_dropped("int f() { return 1; }\nint g() { return f(); }\n", "x = f();")
/// gives "int f() { return 1; }\n". Types, variables, macros and text between #if and #endif are kept.
std::string unused_functions_dropped(const std::string& text, const std::string& code);

}  // namespace isamap

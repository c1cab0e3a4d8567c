// SPDX-License-Identifier: Apache-2.0
#pragma once
// The functions that a text of C++ defines, told apart so that those which nothing names are left out: a compiler warns
// of a function that is never used.

#include <string>

namespace isamap {

/// `text` without the functions that neither `code` nor the rest of `text` names, directly or through other functions:
///   unused_functions_dropped("int f() { return 1; }\nint g() { return f(); }\n", "x = f();")
/// gives "int f() { return 1; }\n". Types, variables, macros and what stands between #if and #endif stay.
std::string unused_functions_dropped(const std::string& text, const std::string& code);

}  // namespace isamap

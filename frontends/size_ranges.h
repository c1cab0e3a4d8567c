// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ranges of symbolic sizes in one line: `--dims i=1..4096/16@128@512,j=?`.

#include <string>

#include "isamap/symbolic.h"

namespace isamap {

/// Is it a range rather than a number? "1..4096/16@128@512" or "?"
bool is_size_range(const std::string& text);
/// Nothing: it is no range.
std::optional<SymbolicSize> size_range(const std::string& name, const std::string& text);
/// Why no size, or no likely one, is in the range; nothing: there are some.
std::optional<std::string> contradiction_of(const SymbolicSize& size);

/// The facts of `seq=1..512/16@128,x.2=32..640,batch=1`, for models: names are those of the file, and a number is the
/// range of that number. Errors: entries of another form, names that occur twice, ranges that hold no size.
Result<SizeFacts> size_facts_of(const std::string& dims);

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The headers of emitted files, parsed once. A short kernel compiles in a tenth of a second; its headers (vector
// intrinsics, the execution model of a GPU) take 0.4 to 0.8 s each time. GCC reads them from a precompiled header,
// which the program cache keeps for each compiler, set of flags and list of headers. It is made when the same headers
// are compiled a second time: making it takes as long as two to four uses save.

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace isamap {

/// The lines of a file before its first line of code, up to its last `#include`; conditions stay whole.
std::string leading_includes(const std::string& text);

struct HeaderUse {
  /// The command that compiles `source` to `made`, without linking.
  std::function<std::vector<std::string>(const std::string& source, const std::string& made)> command;
  std::string identity;     ///< of the compiler
  std::string text;         ///< of the file that includes them
  std::string own_headers;  ///< texts of the headers beside that file
};

/// A header in `folder` whose precompiled form lies beside it, for `-include`; empty: none is available. Where GCC
/// cannot use the precompiled form it reads the header itself.
std::string precompiled_headers(const HeaderUse& use, const std::filesystem::path& folder);

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The headers of emitted files, parsed once. A short kernel compiles in a tenth of a second; its headers (vector
// intrinsics, the execution model of a GPU) take 0.4 to 0.8 s each time. GCC and Clang read them from a precompiled
// header, which the program cache keeps for each compiler, set of flags and list of those headers that take long. It is
// made when the same list is compiled a second time: making it takes as long as two to four uses save.

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace isamap {

/// The lines of a file before its first line of code, up to its last `#include`; conditions stay whole, and
/// definitions of macros of its own are left out.
std::string leading_includes(const std::string& text);

using OwnHeaders = std::map<std::string, std::string>;  ///< text by name

struct HeaderUse {
  /// The command that compiles `source` to `made`, without linking.
  std::function<std::vector<std::string>(const std::string& source, const std::string& made)> command;
  std::string identity;    ///< of the compiler
  std::string text;        ///< of the file that includes them
  OwnHeaders own_headers;  ///< those beside that file
  bool at_once = false;    ///< precompiled at the first use, as several files follow; else at the second one
  /// Clang refuses precompiled headers whose source is gone: theirs is /dev/null with an `-include` for each, so there
  /// are none of lists with conditions or with headers beside the file.
  bool clang = false;
};

/// Flags that read a precompiled form of the headers, of files in `folder`; empty: none is available. They stand before
/// all others (before_flags). Where GCC cannot use the precompiled form it reads the headers themselves.
std::vector<std::string> precompiled_headers(const HeaderUse& use, const std::filesystem::path& folder);

/// The command with further flags in front of its first one.
std::vector<std::string> before_flags(std::vector<std::string> command, const std::vector<std::string>& flags);

}  // namespace isamap

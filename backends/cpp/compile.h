// SPDX-License-Identifier: Apache-2.0
#pragma once
// Emitted text to an executable or a library.

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "isamap/backend.h"
#include "isamap/hardware.h"
#include "isamap/result.h"

namespace isamap {

using TextFiles = std::vector<std::pair<std::string, std::string>>;  ///< name and text

/// A header whose functions can come from an object that programs share: with `-D declared` it only declares them, with
/// `-D defined` it defines them for all. Empty: there is none.
struct SharedPart {
  std::string header, text;
  std::string declared = {}, defined = {};
};

/// Compiles two texts to `executable`, or takes it from the cache of programs. The compiler's complaint is a diagnostic
/// with the command. Gives the compiler back: the one that was remembered for the text of the kernel, where one was
/// (include/isamap/backend.h).
Result<CompilerCommand> compile(const HardwareModel& model, const std::string& kernel, const std::string& driver,
                                const TextFiles& headers, const std::filesystem::path& executable,
                                const SharedPart& shared = {});
/// The same for a library that this process can load. `entries` follow the kernel in the same text.
Result<CompilerCommand> compile_library(const HardwareModel& model, const std::string& kernel,
                                        const std::string& entries, const std::filesystem::path& library);

}  // namespace isamap

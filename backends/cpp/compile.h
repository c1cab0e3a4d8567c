#pragma once
// Emitted text to an executable or a library.

#include <filesystem>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "hwdesc/hardware_model.h"
#include "support/result.h"

namespace isamap {

using TextFiles = std::vector<std::pair<std::string, std::string>>;  ///< name and text

/// Compiles two texts to `executable`, or takes it from the cache of programs. The compiler's complaint is a diagnostic
/// with the command.
Result<std::monostate> compile(const HardwareModel& model, const std::string& kernel, const std::string& driver,
                               const TextFiles& headers, const std::filesystem::path& executable);
/// The same for one text and a library that this process can load.
Result<std::monostate> compile_library(const HardwareModel& model, const std::string& kernel,
                                       const std::filesystem::path& library);

}  // namespace isamap

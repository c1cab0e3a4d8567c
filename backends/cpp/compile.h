#pragma once
// Emitted text to an executable.

#include <filesystem>
#include <string>
#include <variant>

#include "hwdesc/hardware_model.h"
#include "support/result.h"

namespace isamap {

/// Compiles two texts to `executable`, or takes it from the cache of programs. The compiler's complaint is a diagnostic
/// with the command.
Result<std::monostate> compile(const HardwareModel& model, const std::string& kernel, const std::string& driver,
                               const std::filesystem::path& executable);

}  // namespace isamap

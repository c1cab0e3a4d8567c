#pragma once
// The system compiler, and a cache of what it made.

#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "hwdesc/hardware_model.h"
#include "support/result.h"

namespace isamap {

/// $CXX, else g++. The first word is the program.
std::vector<std::string> compiler_command();

/// The command that compiles and links `sources` to `executable` for this model. Value-changing optimisations are off:
/// the program rounds where the kernel says so.
std::vector<std::string> compile_command(const HardwareModel& model, const std::vector<std::string>& sources,
                                         const std::string& executable);

/// Does the compiler make an executable of an empty program? Leaves its files in `folder`.
bool compiler_works(const std::filesystem::path& folder);

/// Compiles two texts to `executable`, or takes it from the cache ($ISAMAP_CACHE, $XDG_CACHE_HOME/isamap,
/// ~/.cache/isamap). An entry is a directory named by a hash of command and texts; it holds both, and is used only if
/// they are equal, so a collision costs time and nothing else. It is made under another name and renamed: readers see
/// all of it or nothing. The compiler's complaint is a diagnostic with the command.
Result<std::monostate> compile(const HardwareModel& model, const std::string& kernel, const std::string& driver,
                               const std::filesystem::path& executable);

}  // namespace isamap

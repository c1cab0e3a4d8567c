#pragma once
// Which compiler makes a model's programs, and how it is called.

#include <filesystem>
#include <string>
#include <vector>

#include "hwdesc/hardware_model.h"

namespace isamap {

/// A compiler that makes programs for a model. Without a command there is none, and `why` names what is missing.
struct Compiler {
  std::vector<std::string> command;  ///< "clang++-19", "--target=aarch64-linux-gnu"
  std::string why;
};

/// $CXX, else g++. The first word is the program.
std::vector<std::string> system_compiler();

/// The first of the model's candidates that makes a program of the target's headers with the target's flags; for a
/// model that names none the system's compiler, which is only looked for. Asked once in a process; what worked is kept
/// in the cache of programs.
const Compiler& compiler_for(const HardwareModel& model);

/// The command that compiles and links `sources` to `executable` for this model. Value-changing optimisations are off:
/// the program rounds where the kernel says so.
std::vector<std::string> compile_command(const HardwareModel& model, const std::vector<std::string>& sources,
                                         const std::string& executable);

/// Does the model's compiler make an executable of an empty program without any flags? Leaves its files in `folder`.
bool compiler_works(const HardwareModel& model, const std::filesystem::path& folder);

/// What else decides what a command makes: the compiler's file and, where it stands in, the text of the shim.
std::string identity(const HardwareModel& model);

/// Does the shim stand in for features that this machine lacks? (availability.cpp)
bool needs_shim(const HardwareModel& model);
/// Programs of this model run here by its emulator only (availability.h).
bool needs_emulator(const HardwareModel& model);

}  // namespace isamap

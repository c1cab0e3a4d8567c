// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which compiler makes a model's programs, and how it is called.

#include <filesystem>
#include <string>
#include <vector>

#include "isamap/hardware.h"

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

/// What an emitted file says it needs: "C++17: -std=c++17 -O3 ... -mavx2 -mfma; g++ also: ...".
std::string needed_flags(const HardwareModel& model);

/// Why the model's compiler makes no executable of an empty program with the target's headers and flags: the command
/// and the beginning of what it said. Empty: it makes one. Leaves its files in `folder`.
std::string why_compiler_fails(const HardwareModel& model, const std::filesystem::path& folder);

/// The command, and the first lines of what a compiler said: the notes and the hint of a diagnostic.
std::string listed_command(const std::vector<std::string>& command);
std::vector<std::string> first_lines(const std::string& output);

/// What else decides what a command makes: the compiler's file and, where it stands in, the text of the shim.
std::string identity(const HardwareModel& model);

/// Does the shim stand in for features that this machine lacks? (availability.cpp)
bool needs_shim(const HardwareModel& model);
/// Programs of this model run here by its emulator only (availability.h).
bool needs_emulator(const HardwareModel& model);

}  // namespace isamap

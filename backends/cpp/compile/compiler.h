// SPDX-License-Identifier: Apache-2.0
#pragma once
// Selects the compiler of a model's programs and builds its command line.

#include <filesystem>
#include <string>
#include <vector>

#include "isamap/hardware.h"

namespace isamap {

/// A compiler for a model's programs. Empty command: none is available, and `why` names what is missing.
struct Compiler {
  std::vector<std::string> command;  ///< "clang++-19", "--target=aarch64-linux-gnu"
  std::string why;
};

/// The words of $CXX; empty: the user has chosen no compiler.
std::vector<std::string> chosen_compiler();
/// The chosen one, otherwise g++. The first word is the program.
std::vector<std::string> system_compiler();

/// The first of the model's candidates that compiles the target's headers with the target's flags; if the model names
/// none, the system's compiler, without a trial. Determined once per process; a working compiler is remembered in the
/// program cache.
const Compiler& compiler_for(const HardwareModel& model);

/// The command that compiles and links `sources` to `executable` for this model. Value-changing optimizations are off:
/// the program rounds exactly where the kernel does.
std::vector<std::string> compile_command(const HardwareModel& model, const std::vector<std::string>& sources,
                                         const std::string& executable);

/// Flags that make the link of a program's object files quick, where they are known here; a link that fails with them
/// may succeed without.
std::vector<std::string> quick_link_flags(const HardwareModel& model);

/// The compile flags stated in an emitted file: "C++17: -std=c++17 -O3 ... -mavx2 -mfma; g++ also: ...".
/// `for_threads`: in place of the flags of the machine's parallel loops; empty: none.
std::string needed_flags(const HardwareModel& model, const std::optional<std::string>& for_threads = std::nullopt);

/// Where a compiler that fails has no room for its files: what is left there, and what helps; empty: it has.
std::string full_disk(const std::filesystem::path& folder);

/// Why the model's compiler fails on an empty program with the target's headers and flags: the command and the first
/// lines of its output. Empty: it works. Leaves its files in `folder`.
std::string why_compiler_fails(const HardwareModel& model, const std::filesystem::path& folder);

/// The command and the first lines of a compiler's output: notes and hint of a diagnostic.
std::string listed_command(const std::vector<std::string>& command);
std::vector<std::string> first_lines(const std::string& output);

/// Is the model's compiler Clang? Otherwise it is taken for GCC.
bool is_made_by_clang(const HardwareModel& model);
/// A shim, which must precede all headers, is precompiled with them by GCC only.
bool reads_precompiled_headers(const HardwareModel& model);

/// Cache key besides the command: the compiler's file and, if used, the text of the shim.
std::string identity(const HardwareModel& model);

/// Does the shim replace features that this machine lacks? (availability.cpp)
bool needs_shim(const HardwareModel& model);
/// Do programs of this model run here only under its emulator? (availability.cpp)
bool needs_emulator(const HardwareModel& model);

}  // namespace isamap

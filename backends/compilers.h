// SPDX-License-Identifier: Apache-2.0
#pragma once
// Several compilers may make a model's programs, and which one makes the faster one depends on the program:
//
//   auto timed = time_compilers(program, model, ...);   // cli/compilers.h measures; anything else that measures will
//   do remember_compiler(program, model, {"clang++-19"});
//
// From then on whoever compiles the same text with the same flags (runs, load_program) takes that compiler.

#include <string>
#include <vector>

#include "hwdesc/hardware_model.h"
#include "ir/program.h"
#include "support/result.h"

namespace isamap {

using CompilerCommand = std::vector<std::string>;  ///< "clang++-19", "--target=aarch64-linux-gnu"

/// Those of this machine that make programs with the model's headers and flags: of those that the model names; where
/// it names none $CXX alone, or g++ and clang++ (or the newest clang++-N of PATH). The first is what programs are made
/// by where nothing else was found out. None for models whose programs no C++ compiler of this machine makes.
std::vector<CompilerCommand> compilers_for(const HardwareModel& model);

/// The model with its programs made by this compiler, whatever is remembered.
HardwareModel made_by(HardwareModel model, const CompilerCommand& command);

/// The first line of what --version says.
std::string version_of(const CompilerCommand& command);

/// Keeps the choice in the cache of programs, under what this program prints as and the model's flags.
Result<bool> remember_compiler(const Program& program, const HardwareModel& model, const CompilerCommand& command);

}  // namespace isamap

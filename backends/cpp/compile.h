// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compiles emitted text to an executable or a shared library.

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "isamap/backend.h"
#include "isamap/hardware.h"
#include "isamap/result.h"

namespace isamap {

using TextFiles = std::vector<std::pair<std::string, std::string>>;  ///< name and text

/// A header whose functions can be precompiled to a shared object file: with `-D declared` it only declares them, with
/// `-D defined` it defines them. Empty: none.
struct SharedPart {
  std::string header, text;
  std::string declared = {}, defined = {};
};

/// A kernel's text, and how it is compiled.
struct KernelText {
  KernelText(std::string whole) : text(std::move(whole)) {}  // NOLINT: implicit on purpose
  std::string text;
  std::vector<std::string> parts = {};  ///< files with functions that `text` only declares where it has these flags
  std::vector<std::string> flags_for_parts = {};
  int jobs = 0;  ///< compilers at a time; 0: one for each processor
};

/// How a program was made.
struct MadeProgram {
  CompilerCommand compiler;  ///< the remembered one for the kernel text, if any (include/isamap/backend.h)
  std::string limit = {};    ///< non-empty: it was not, because the compiler took longer than it may
};

/// Compiles two texts to `executable`, or takes it from the program cache. Compiler errors are a diagnostic with the
/// command.
Result<MadeProgram> compile(const HardwareModel& model, const KernelText& kernel, const std::string& driver,
                            const TextFiles& headers, const std::filesystem::path& executable,
                            const SharedPart& shared = {});
/// One of KernelText::parts, ahead of the program that will have it: compiled into the cache of programs. What fails is
/// told when the program is compiled.
void compile_ahead(const HardwareModel& model, const std::string& part);
/// The headers that all programs of a processor's machine include, precompiled into the cache of programs.
void precompile_headers_ahead(const HardwareModel& model);
/// A shared library of one text. `entries` is appended to the kernel text.
Result<CompilerCommand> compile_library(const HardwareModel& model, const std::string& kernel,
                                        const std::string& entries, const std::filesystem::path& library);

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Program to files, and files to a run. Backends know the machine's description and nothing of mapping or search.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hwdesc/hardware_model.h"
#include "ir/program.h"
#include "ir/runner.h"

namespace isamap {

struct EmittedFile {
  std::string name;  ///< "gemm.cpp"
  std::string text;
};

/// Why the program is beyond what the backend prints; nothing: it is not.
std::optional<Diagnostic> beyond_limit(const Program& program, const HardwareModel& model);

/// What is printed of a program besides its text, and how; of C++ alone.
struct EmitOptions {
  bool workspace = false;  ///< entries take memory for large local arrays instead of keeping some for each thread
  bool header = false;     ///< NAME.h too
  bool test = false;       ///< NAME_test.cpp too
};

/// The files of a program in the language of the model's `program` section: its text first.
Result<std::vector<EmittedFile>> emit(const Program& program, const HardwareModel& model,
                                      const EmitOptions& options = {});

/// Does the text of the first include the second?
bool includes(const EmittedFile& text, const EmittedFile& header);
/// The files as one that compiles alone: those that the first includes stand where it does.
std::string joined(const std::vector<EmittedFile>& files);

/// How programs of this model run on this machine.
struct Availability {
  std::string how;  ///< "native", "emulated", "simulator", "shim", "unavailable"
  std::string why;  ///< unavailable: the feature or package that is missing
};
Availability availability(const HardwareModel& model);

/// Why a clock says nothing of the model's machine here: its programs do not run, or its kernels are emulated, which
/// takes time of another kind. Empty: it does, or programs count their own cycles.
std::string not_timed(const HardwareModel& model);

/// Why the instruction is not executed here although programs of its model are: it requires more than the file does,
/// and this processor does not report it, or there is no telling whether the emulator has it. Empty: it is executed.
std::string not_executed(const Instruction& instruction, const HardwareModel& model);

/// A runner for the model; `availability` says how it runs. Nothing is executed in this process.
/// `workspace`: what it runs takes memory for large local arrays (EmitOptions), of which it passes no byte too many.
std::unique_ptr<Runner> make_runner(const HardwareModel& model, bool workspace = false);

}  // namespace isamap

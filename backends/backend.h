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

/// The files of a program in the language of the model's `program` section.
Result<std::vector<EmittedFile>> emit(const Program& program, const HardwareModel& model);

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
std::unique_ptr<Runner> make_runner(const HardwareModel& model);

}  // namespace isamap

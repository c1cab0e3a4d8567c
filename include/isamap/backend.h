// SPDX-License-Identifier: Apache-2.0
#pragma once
// Programs as text, as runs, and as functions of this process.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/interpret.h"
#include "isamap/program.h"
#include "isamap/result.h"

namespace isamap {

// Program to files, and files to a run. Backends know the machine's description and nothing of mapping or search.

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

// A program compiled to machine code in this process, called on the caller's tensors: for programs that embed isamap.
//
//   auto kernel = load_program(program, model);
//   kernel->call({{a, DType::f32, {64, 32}}, {b, DType::f32, {32, 48}}, {c, DType::f32, {64, 48}}});
//
// What is compiled is kept in the cache of programs (docs/kernels.md, "Calling kernels"), so a second process loads it.

/// The caller's memory. Strides are in elements, may be negative, and are row-major and dense where none are given.
struct TensorView {
  void* data = nullptr;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides = {};
};

class LoadedKernel {
 public:
  LoadedKernel(LoadedKernel&&) noexcept;
  LoadedKernel& operator=(LoadedKernel&&) noexcept;
  ~LoadedKernel();

  /// Inputs then outputs, each in the order of the kernel. Wrong numbers, dtypes, shapes and missing memory are told
  /// and nothing is computed; so are outputs whose elements share places, or that share memory with another tensor
  /// (where strides do not tell that they share none). Aligned views that lie as the program has it (dense, unless
  /// `lower` was told otherwise) are used in place, others through copies. The first call packs what the schedule packs
  /// ahead of time (of `constant` tensors). One call at a time for each object.
  std::optional<Diagnostic> call(const std::vector<TensorView>& arguments);
  /// The next call packs anew: the values of constant tensors have changed.
  void forget_packed();

 private:
  friend Result<LoadedKernel> load_program(const Program& program, const HardwareModel& model);
  struct State;
  explicit LoadedKernel(std::unique_ptr<State> state);
  std::optional<Diagnostic> refused(const std::vector<TensorView>& arguments) const;
  std::unique_ptr<State> state_;
};

/// Prints, compiles and loads. Only for C++ models whose instructions this processor has; the diagnostic says what is
/// missing, or what the compiler said with the command.
Result<LoadedKernel> load_program(const Program& program, const HardwareModel& model);

// Several compilers may make a model's programs, and which one makes the faster one depends on the program:
//
//   auto timed = time_compilers(program, model, ...);   // driver/compilers.h measures; anything else that measures
//   will do remember_compiler(program, model, {"clang++-19"});
//
// From then on whoever compiles the same text with the same flags (runs, load_program) takes that compiler.

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

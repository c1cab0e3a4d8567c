// SPDX-License-Identifier: Apache-2.0
#pragma once
// Backends: programs as text, program execution, and programs loaded into this process.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/interpret.h"
#include "isamap/program.h"
#include "isamap/result.h"
#include "isamap/symbolic_program.h"

namespace isamap {

// Emitting and running programs. Backends use the machine description only, neither mappings nor search.

struct EmittedFile {
  std::string name;  ///< "gemm.cpp"
  std::string text;
};

/// Why the program exceeds a limit of the backend; nothing: it does not.
std::optional<Diagnostic> beyond_limit(const Program& program, const HardwareModel& model);

/// Additional output and calling convention; C++ only.
struct EmitOptions {
  bool workspace = false;  ///< entries take a workspace for large local arrays instead of thread-local memory
  bool header = false;     ///< NAME.h too
  bool test = false;       ///< NAME_test.cpp too
};

/// The files of a program in the language of the model's `program` section: its text first.
Result<std::vector<EmittedFile>> emit(const Program& program, const HardwareModel& model,
                                      const EmitOptions& options = {});

/// The same of a program for all sizes.
Result<std::vector<EmittedFile>> emit(const SymbolicProgram& program, const HardwareModel& model);

/// Does the first file `#include` the second?
bool includes(const EmittedFile& text, const EmittedFile& header);
/// One self-contained file, with the includes of the first inlined.
std::string joined(const std::vector<EmittedFile>& files);

/// How programs of this model run on this machine.
struct Availability {
  ExecutionMode how = ExecutionMode::unavailable;
  std::string why;  ///< unavailable: the feature or package that is missing
};
Availability availability(const HardwareModel& model);

/// Why run times are not meaningful for the model's machine: its programs do not run here, or its kernels are emulated.
/// Empty: they are, or the simulator counts cycles.
std::string not_timed(const HardwareModel& model);

/// Why the instruction is not executed here although programs of its model are: it requires features beyond those of
/// the file that this processor does not report, or that the emulator may lack. Empty: it is executed.
std::string not_executed(const Instruction& instruction, const HardwareModel& model);

/// A runner for the model; `availability` says how it runs. Programs are executed in child processes. `workspace`:
/// programs take a workspace (EmitOptions) of exactly the stated size.
std::unique_ptr<Runner> make_runner(const HardwareModel& model, bool workspace = false);

// A compiled program loaded into this process and called on the caller's tensors (JIT), for programs that embed isamap.
//
//   auto kernel = load_program(program, model);
//   kernel->call({{a, DType::f32, {64, 32}}, {b, DType::f32, {32, 48}}, {c, DType::f32, {64, 48}}});
//
// Compiled programs are cached on disk (docs/kernels.md, "Calling kernels") and shared by processes.

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

  /// Inputs then outputs, each in the order of the kernel. Errors, without computing: wrong number of tensors, dtypes
  /// or shapes, missing memory, outputs with overlapping elements, and outputs that may overlap another tensor (unless
  /// strides prove they do not). Aligned views in the program's layout (dense, unless `lower` was told otherwise) are
  /// used in place, others are copied. The first call packs `constant` tensors that the schedule packs ahead of time.
  /// Not thread-safe: one call at a time per object.
  std::optional<Diagnostic> call(const std::vector<TensorView>& arguments);
  /// The next call packs again, after the values of constant tensors changed.
  void forget_packed();

 private:
  friend Result<LoadedKernel> load_program(const Program& program, const HardwareModel& model);
  friend Result<LoadedKernel> load_program(const SymbolicProgram& program, const HardwareModel& model);
  struct State;
  explicit LoadedKernel(std::unique_ptr<State> state);
  std::optional<Diagnostic> refused(const std::vector<TensorView>& arguments) const;
  std::unique_ptr<State> state_;
};

/// Emits, compiles and loads. Only for C++ models whose instructions this processor has; the diagnostic names what is
/// missing, or contains the compiler's errors and command.
Result<LoadedKernel> load_program(const Program& program, const HardwareModel& model);

/// The same for a program for all sizes (isamap/compile.h): each call takes the sizes from the shapes of its
/// tensors, which have to agree and to satisfy the facts; otherwise it is an error, and nothing is written.
Result<LoadedKernel> load_program(const SymbolicProgram& program, const HardwareModel& model);

// A model may have several compilers, and the one with the fastest code depends on the program:
//
//   for (const CompilerCommand& command : compilers_for(model))
//     time(program, made_by(model, command));             // by your own clock, or by driver/compilers.h
//   remember_compiler(program, model, {"clang++-19"});    // the fastest
//
// From then on the same text with the same flags is compiled by that compiler (runs, load_program).

using CompilerCommand = std::vector<std::string>;  ///< "clang++-19", "--target=aarch64-linux-gnu"

/// Available compilers that accept the model's headers and flags: of those named by the model; otherwise $CXX alone, or
/// g++ and clang++ (or the newest clang++-N of PATH). The first is the default. Empty for models whose programs no C++
/// compiler of this machine compiles.
std::vector<CompilerCommand> compilers_for(const HardwareModel& model);

/// The model with this compiler, overriding a remembered choice.
HardwareModel made_by(HardwareModel model, const CompilerCommand& command);

/// The model with its default compiler, whatever choice is remembered: for programs whose times are compared.
HardwareModel made_by_default(const HardwareModel& model);

/// The first line of the output of --version.
std::string version_of(const CompilerCommand& command);

/// Stores the choice in the program cache; key: the program's text and the model's flags.
Result<bool> remember_compiler(const Program& program, const HardwareModel& model, const CompilerCommand& command);

}  // namespace isamap

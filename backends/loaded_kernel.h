// SPDX-License-Identifier: Apache-2.0
#pragma once
// A program compiled to machine code in this process, called on the caller's tensors: for programs that embed isamap.
//
//   auto kernel = load_program(program, model);
//   kernel->call({{a, DType::f32, {64, 32}}, {b, DType::f32, {32, 48}}, {c, DType::f32, {64, 48}}});
//
// What is compiled is kept in the cache of programs (docs/kernels.md, "Calling kernels"), so a second process loads it.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hwdesc/hardware_model.h"
#include "ir/program.h"
#include "support/result.h"

namespace isamap {

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

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runner of compiled languages: compiles emitted C++ or CUDA and executes it in a child process.

#include <memory>

#include "isamap/hardware.h"
#include "isamap/interpret.h"
#include "isamap/symbolic_program.h"

namespace isamap {

std::unique_ptr<Runner> make_cpp_runner(const HardwareModel& model, bool workspace = false);

/// Runs one program at many sizes: it is compiled once, at the first run.
class SymbolicRunner : public Runner {
 public:
  /// The sizes of the next run, whose program has the kernel with these sizes and the buffers of its arguments.
  virtual void set_sizes(const Bindings& sizes) = 0;
  virtual int compilations() const = 0;
};
std::unique_ptr<SymbolicRunner> make_symbolic_runner(const SymbolicProgram& program, const HardwareModel& model);

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Peak rates of this processor, measured with programs generated from a machine's description.
//
// The instruction's statement over an additional dim u of independent results, repeated:
//
//   C[u,j] += A[j] * B[j]   r times      all in registers: the rate of the instruction
//   C[u,j] += X[r,u,j] * B[j]            one operand comes from memory, in several passes: the rate of reading
//
// No instruction, register or vendor is named here.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/program.h"
#include "isamap/result.h"

namespace isamap::bench {

struct PeakShape {
  std::int64_t results = 1;  ///< independent outputs
  std::int64_t repeats = 1;  ///< uses for each
  std::int64_t passes = 1;   ///< repetitions of all of that
  bool stream = false;       ///< the first operand streams from memory, a new element at each use of a pass
  bool apart = false;        ///< and each output reads its own stream
};

/// The kernel and its program as text.
struct PeakCode {
  Kernel kernel;
  Program program;
};
Result<PeakCode> peak_code(const HardwareModel& model, InstructionId instruction, const PeakShape& shape);

/// Compiled, with its tensors.
class PeakProgram {
 public:
  PeakProgram(PeakProgram&&) noexcept;
  PeakProgram& operator=(PeakProgram&&) noexcept;
  ~PeakProgram();

  void run();
  double operations() const;  ///< of one run; two for each multiply-add
  double bytes() const;       ///< bytes read from memory by one run; 0: all operands in registers
  std::string name() const;   ///< "mma of npu, 24 sums"

 private:
  friend Result<PeakProgram> peak_program(const HardwareModel&, InstructionId, const PeakShape&);
  struct State;
  explicit PeakProgram(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};
Result<PeakProgram> peak_program(const HardwareModel& model, InstructionId instruction, const PeakShape& shape);

/// Number of outputs that fit in registers besides one tile of every input; 0: not in registers.
std::int64_t results_in_registers(const HardwareModel& model, InstructionId instruction);

}  // namespace isamap::bench

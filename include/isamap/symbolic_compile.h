// SPDX-License-Identifier: Apache-2.0
#pragma once
// One program for all sizes of a symbolic kernel.

#include "isamap/compile.h"
#include "isamap/symbolic_program.h"

namespace isamap {

/// Sizes at which versions were priced by the cost model.
struct SizeSample {
  Bindings sizes;
  double best = 0;          ///< cycles of the best schedule that was found for any sample
  double cycles = 0;        ///< of the version that serves the sizes
  std::size_t version = 0;  ///< from 0 on
  double regret() const { return best > 0 ? cycles / best : 1; }
};

struct SymbolicCompilation {
  std::optional<SymbolicProgram> program;
  std::vector<SizeSample> samples = {};  ///< of grids of blocks
  std::size_t candidates = 0;            ///< of these: schedules the versions were chosen from
  std::vector<Schedule> schedules;       ///< by version; of grids: by version and statement
  std::vector<std::int64_t> found_at;    ///< by version: the number of rows that its schedule was searched at
  Exit code = Exit::ok;
  Diagnostics problems;  ///< without a program: why, and what would work; with one: warnings
};

/// Searches schedules at a number of rows that is likely and at a small one, lowers each at multiples of its tiles, and
/// adds code for every rest. Only for machines with C++ programs, and kernels with rows (include/isamap/
/// symbolic_program.h); a hand-written schedule is the one of all sizes.
SymbolicCompilation compile_symbolic(const SymbolicKernel& kernel, const HardwareModel& model,
                                     const CompileOptions& options);

/// Predicted cost at these sizes, of the version that serves them.
std::optional<Cost> predicted_at(const SymbolicCompilation& compiled, const HardwareModel& model, const Bindings& sizes,
                                 const CostModelFactory& costs);

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#pragma once
// A statement on a machine with a linear memory hierarchy, as plain numbers: input of the exact search and of the fast
// closed form.
//
//   level 0 (home) > level 1 > ... > level n - 1, where the calls take their operands
//   at each level: the tiles that it keeps, loops in time, then loops on the units that own the next level
//
// Access counts: docs/cost.md. Only for machines on which transfers overlap the computation perfectly.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/kernel.h"
#include "isamap/mapping.h"

namespace isamap::hierarchy {

/// Levels, dims and operands are numbered by int; so are positions in lists.
constexpr std::size_t at(int i) { return static_cast<std::size_t>(i); }

constexpr int max_dims = 8, max_operands = 4, max_levels = 6, max_axes = 3;

struct Term {
  int dim = 0;
  std::int64_t coefficient = 1;  ///< absolute value
};
/// Width of a tile along one subscript: 1 + sum of coefficient * (extent - 1). More than one term: a window.
using Subscript = std::vector<Term>;

/// One access; number 0 is the output. A dim occurs in at most one subscript of an operand.
struct Operand {
  std::string name;
  TensorId tensor;
  std::vector<Subscript> subscripts;
  std::uint32_t dims = 0;  ///< bit d: uses dim d
  double bytes = 1;        ///< of an element
  bool window = false;     ///< some subscript has several terms: its tiles slide
  bool uses(int dim) const { return (dims >> dim & 1U) != 0; }
};

/// Instances that a loop may occupy.
struct Axis {
  std::string unit;  ///< as a `for` line names it: "mac.x"
  std::int64_t count = 1;
};

struct Level {
  MemoryId memory;
  std::string name;
  double word = 1;                                 ///< bytes
  double read_energy = 0, write_energy = 0;        ///< pJ for a word
  double read_bandwidth = 0, write_bandwidth = 0;  ///< bytes/cycle of an instance; 0: unlimited
  double capacity = 0;                             ///< bytes; 0: unlimited
  std::uint32_t must_keep = 0;                     ///< operands that cannot bypass it
  std::vector<Axis> axes;                          ///< of the units between this level and the next
  struct Wire {
    std::int32_t link = -1;            ///< number; -1: none
    double energy = 0, bandwidth = 0;  ///< pJ/B; bytes/cycle, 0: unlimited
    std::int32_t port = -1;            ///< number of the first link with its port; -1: it shares none
  };
  Wire down, up;  ///< to and from the next level
};

struct Dimension {
  std::string name;
  std::int64_t extent = 1;
  std::int64_t block = 1;  ///< points covered by one call
};

struct Problem {
  std::vector<Dimension> dims;
  std::vector<Operand> operands;
  std::vector<Level> levels;  ///< outermost first; at least two
  double call_energy = 0;     ///< pJ
  double call_cycles = 1;     ///< interval / ports
  bool inout = false;         ///< the output is read on its first visit too

  int dim_count() const { return static_cast<int>(dims.size()); }
  int operand_count() const { return static_cast<int>(operands.size()); }
  int level_count() const { return static_cast<int>(levels.size()); }
};

/// Diagnostics: why the machine or the statement does not have this form.
Result<Problem> problem_of(const Kernel& kernel, StatementId statement, const Mapping& mapping,
                           const HardwareModel& model);

}  // namespace isamap::hierarchy

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Mappings of a kernel for all its sizes.
//
// Mappings are enumerated once, at large sizes that leave a remainder on every instruction dim unless the facts
// exclude one, and each is then proved again with a symbol for every symbolic size (certify_sizes): the questions stay
// linear because a symbolic dim is one whole digit, outermost on its instruction dim, or one whole loop.

#include "isamap/mapper.h"
#include "isamap/symbolic.h"

namespace isamap {

/// A mapping that holds for some sizes only, or is not proved for all: "needs p of constant size; ...".
struct RefusedMapping {
  std::string mapping;
  std::string reason;
};

struct SymbolicMapResult {
  Kernel kernel;     ///< at the first likely sizes: `mapped` has its extents and utilisation
  MapResult mapped;  ///< proved for all sizes, without other orders of digits
  std::vector<RefusedMapping> refused;
};

/// options.certificates: files that declare the facts; the z3 program prints `unsat` for each question.
Result<SymbolicMapResult> map_all_sizes(const SymbolicKernel& kernel, const HardwareModel& model,
                                        const MapOptions& options);

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Intermediates that stay inside of an accelerator: passed from statement to statement in an accumulator or scratchpad,
// never stored to the outermost memory and loaded again; and why others do not.

#include <cstdint>
#include <string>
#include <vector>

#include "isamap/compile.h"

namespace isamap {

struct ResidentTensor {
  std::string tensor, memory;
  std::int64_t bytes = 0;  ///< of the tile that is held at one time
};

/// Of a compiled part, by the tensors of `kernel`, whose order they have.
std::vector<ResidentTensor> resident_intermediates(const Compilation& part, const Kernel& kernel,
                                                   const HardwareModel& machine);

/// Why a tensor cannot stay inside from the statement that writes it to the sums among these that read it: none does,
/// or in other places than it was written in; there is no way for it; or it is too large. Empty: none of this.
std::string why_not_kept(const Kernel& kernel, TensorId tensor, const std::vector<std::size_t>& readers,
                         const HardwareModel& machine);

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operands that an instruction holds in another order than the tensor has them: they map, but their tiles are packed or
// moved element by element.

#include <string>
#include <vector>

#include "isamap/mapper.h"

namespace isamap {

struct LayoutAdvice {
  std::string operand, tensor;  ///< of the instruction; of the kernel
  std::string found;            ///< "dpbf16 holds B with x fastest; neighbours along it stand 72 apart in B[k,j]"
  std::string kernel;           ///< "store B as B[j,k]"; empty: no order of its indices puts them side by side
  std::string hardware;         ///< "a variant that holds B with j fastest"; empty: none of its dims does
};

/// The output included. Asked of operands whose tiles are boxes of the tensor (price.h) and whose layout is dense or
/// has a term of stride 1; what a fragment map holds together is no single dim.
std::vector<LayoutAdvice> layout_advice(const Kernel& kernel, const HardwareModel& model, const Mapping& mapping);

/// Of the mappings of one statement and instruction that use it best, what the one with the least to say has to say: if
/// one of them takes every operand as it lies, nothing.
std::vector<LayoutAdvice> least_layout_advice(const Kernel& kernel, const HardwareModel& model,
                                              const std::vector<Mapping>& mappings);

}  // namespace isamap

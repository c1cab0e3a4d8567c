// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operands whose layout in the instruction differs from the tensor's: they map, but their tiles are packed or moved
// element by element.

#include <string>
#include <vector>

#include "isamap/mapper.h"

namespace isamap {

struct LayoutAdvice {
  std::string operand, tensor;  ///< of the instruction; of the kernel
  std::string found;            ///< "dpbf16 holds B with x fastest; neighbours along it stand 72 apart in B[k,j]"
  std::string kernel;           ///< "store B as B[j,k]"; empty: no order of its indices makes them contiguous
  std::string hardware;         ///< "a variant that holds B with j fastest"; empty: none of its dims does
};

/// For all operands, the output included, whose tiles are boxes of the tensor (price.h) and whose layout is dense or
/// has a term of stride 1; contiguous elements of a fragment map are no single dim. None where the tensor is contiguous
/// along another dim of the operand, whose memory is filled (from the output: emptied) by a move that transposes.
std::vector<LayoutAdvice> layout_advice(const Kernel& kernel, const HardwareModel& model, const Mapping& mapping);

/// The shortest advice among the best mappings of one statement and instruction: none if one of them reads every
/// operand in its own layout.
std::vector<LayoutAdvice> least_layout_advice(const Kernel& kernel, const HardwareModel& model,
                                              const std::vector<Mapping>& mappings);

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cells that need no padded copy.
//
// A tensor that is read beyond its edges is copied with what lies outside (include/isamap/symbolic_program.h). Where
// each element is used by few points, as in a depthwise convolution, that takes as long as the computation. Positions
// whose reads lie inside read the tensor itself then: each axis that is read beyond its edges is cut into a low zone,
// an inner one and a high one before it is cut into runs. Only cells with a zone at an edge read the copy, which holds
// no more than they need.

#include <map>
#include <optional>

#include "isamap/symbolic_program.h"

namespace isamap {

struct InnerZone {
  std::size_t dim = 0;      ///< of the tensor
  std::int64_t factor = 1;  ///< positions of it a position of the axis
  std::int64_t span = 0;    ///< a position reads so many after its first one, too
  std::int64_t first = 0;   ///< positions of the axis from here on read nothing below the edge
  AffineExpr end = {};      ///< those before it nothing above
};

struct PaddingZones {
  TensorId tensor;                ///< of the statement's kernel
  std::map<int, InnerZone> axes;  ///< by grid axis
};

/// Nothing: no tensor is padded, or all cells read the copy.
std::optional<PaddingZones> padding_zones(const GridShape& shape, const SymbolicKernel& kernel);

/// Strides of the tensor itself.
std::vector<SizeProduct> own_strides(const GridShape& shape, TensorId tensor, const SymbolicKernel& kernel);

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Axes whose extent is a product of sizes. Extents are affine, so each becomes two axes; nothing moves, as the elements
// are stored in the same order. This is how models flatten rows before a product:
//
//   T[i,j] += X[i/S,i%S,k] * W[k,j]       gives       T[i0,i1,j] += X[i0,i1,k] * W[k,j]
//   Y[b,s,j] = T[S*b + s,j]                           Y[b,s,j] = T[b,s,j]

#include <string>
#include <vector>

#include "frontends/lifted_sizes.h"
#include "isamap/frontends.h"

namespace isamap {

struct ProductAxis {
  std::string tensor;
  std::size_t axis = 0;
  bool operator==(const ProductAxis&) const = default;
};

/// Intermediates only, whose inner factor some access shows: S*b + s, or the dim along the axis divided by S elsewhere
/// in its statement. Others, and kernels with recurrences, stay as they are.
Kernel with_product_axes_split(Kernel kernel, const std::vector<ProductAxis>& axes);

}  // namespace isamap

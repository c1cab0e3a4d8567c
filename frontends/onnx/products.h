// SPDX-License-Identifier: Apache-2.0
#pragma once
// Matrix products as numpy broadcasts them: shared by MatMul and its integer forms.

#include "frontends/onnx/maker.h"

namespace isamap::importing {

/// Indices and sizes of C = A*B: matrices in the last two dims, the others broadcast; a vector is one row or column.
struct Product {
  Names a, b, c;
  Sizes shape;  ///< of C
  Extents extents;
};
Product product_of_matrices(const Sizes& a, const Sizes& b);

}  // namespace isamap::importing

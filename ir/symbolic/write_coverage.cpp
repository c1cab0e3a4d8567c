// SPDX-License-Identifier: Apache-2.0
#include "ir/symbolic/write_coverage.h"

#include <set>

namespace isamap {

bool writes_whole(const SymbolicKernel& kernel, std::size_t statement) {
  const Computation& sample = kernel.sample.statements[statement];
  const SymbolicStatement& symbolic = kernel.statements[statement];
  const std::vector<AffineExpr>& shape = kernel.shapes[sample.write.tensor.index()];
  std::set<std::size_t> seen;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const AffineExpr& index = symbolic.index[0][axis];
    bool whole = index == AffineExpr(0) && shape[axis] == AffineExpr(1);
    for (std::size_t d = 0; d < sample.domain.dims.size(); ++d)
      if (index == AffineExpr::dim(symbolic_dim(sample.domain.dims[d].name)))
        whole = symbolic.extents[d] == shape[axis] && seen.insert(d).second;
    if (!whole) return false;
  }
  return true;
}

}  // namespace isamap

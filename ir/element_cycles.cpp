// SPDX-License-Identifier: Apache-2.0
#include "ir/element_cycles.h"

#include <algorithm>
#include <cstdlib>

namespace isamap {

double element_cycles(const Element& element, const std::vector<Buffer>& buffers, const std::string& inner,
                      const ElementCycles& each) {
  const bool copies = element.reduction == Reduction::assign && element.reads.size() < 2 &&
                      (element.reads.empty() || std::holds_alternative<Read>(element.body.op));
  if (!copies) return each.access * (1.0 + static_cast<double>(element.reads.size()));
  double cycles = each.contiguous;
  const auto add = [&](const Ref& ref) {
    if (!ref.buffer.valid()) return;
    const AffineExpr offset = flat_offset(buffers[ref.buffer.index()], ref.index);
    if (!offset.is_linear())
      cycles = std::max(cycles, each.divided);
    else if (!inner.empty() && std::abs(offset.coefficient(inner)) != 1)
      cycles = std::max(cycles, each.strided);
  };
  add(element.write);
  for (const Ref& read : element.reads) add(read);
  return cycles;
}

}  // namespace isamap

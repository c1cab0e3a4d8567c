// SPDX-License-Identifier: Apache-2.0
#include "ir/element_cycles.h"

#include <algorithm>
#include <cstdlib>

namespace isamap {

bool is_divided(const AffineExpr& e, const std::string& variable) {
  return std::any_of(e.terms().begin(), e.terms().end(), [&](const AffineTerm& term) {
    const FloorDiv* const by = division(term);
    return by != nullptr && by->numerator->names().contains(variable);
  });
}

bool is_interleaved(const std::vector<LoopStrides>& places, double steps, double steps_around,
                    const ElementCycles& each) {
  return steps <= each.interleaved_rows && steps_around >= each.vector_trips &&
         std::all_of(places.begin(), places.end(), [&](const LoopStrides& by) {
           return by.around == 1 || (by.inner == 1 && by.around == static_cast<std::int64_t>(steps));
         });
}

namespace {

bool is_interleaved(const std::vector<AffineExpr>& offsets, const EnclosingLoop& inner, const ElementCycles& each) {
  if (inner.around.empty()) return false;
  std::vector<LoopStrides> places;
  for (const AffineExpr& offset : offsets) {
    if (is_divided(offset, inner.variable) || is_divided(offset, inner.around)) return false;
    places.push_back({offset.coefficient(inner.variable), offset.coefficient(inner.around)});
  }
  return is_interleaved(places, inner.steps, inner.steps_around, each);
}

}  // namespace

double copied_element_cycles(const std::vector<AffineExpr>& offsets, const EnclosingLoop& inner,
                             const ElementCycles& each) {
  double cycles = each.contiguous, of_row = 0;
  const bool interleaved = is_interleaved(offsets, inner, each);
  for (const AffineExpr& offset : offsets) {
    if (!offset.is_linear()) {
      if (inner.variable.empty() || is_divided(offset, inner.variable)) {
        cycles = std::max(cycles, each.divided);
        continue;
      }
      of_row = each.divided / std::max(inner.steps, 1.0);
    }
    if (!inner.variable.empty() && std::abs(offset.coefficient(inner.variable)) != 1)
      cycles = std::max(cycles, interleaved ? each.interleaved : each.strided);
  }
  return std::min(cycles + of_row, std::max(cycles, each.divided));
}

double element_cycles(const Element& element, const std::vector<Buffer>& buffers, const EnclosingLoop& inner,
                      const ElementCycles& each) {
  const bool copies = element.reduction == Reduction::assign && element.reads.size() < 2 &&
                      (element.reads.empty() || std::holds_alternative<Read>(element.body.op));
  if (!copies) return each.access * (1.0 + static_cast<double>(element.reads.size()));
  std::vector<AffineExpr> offsets;
  const auto add = [&](const Ref& ref) {
    if (ref.buffer.valid()) offsets.push_back(flat_offset(buffers[ref.buffer.index()], ref.index));
  };
  add(element.write);
  for (const Ref& read : element.reads) add(read);
  return copied_element_cycles(offsets, inner, each);
}

}  // namespace isamap

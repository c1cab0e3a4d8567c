// SPDX-License-Identifier: Apache-2.0
// Free strides have a gap of one step: if the machine uses another stride than described, it reads outside the operand.
// Uses begin at different positions of a row where the description allows it, since a swizzle depends on addresses, not
// on positions in the tile.

#include "verify/scratch_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "support/arithmetic.h"

namespace isamap {
namespace {

AffineExpr subscript_symbol(std::size_t s) { return AffineExpr::dim("#" + std::to_string(s)); }

/// The operand's axes: terms over its subscripts, extents and strides in elements, 0 where the stride is free.
struct Axes {
  std::vector<AffineExpr> terms;
  std::vector<std::int64_t> extents, strides;
  bool apart = false;  ///< every position has its own address

  std::int64_t span() const {
    std::int64_t last = 0;
    for (std::size_t t = 0; t < strides.size(); ++t) last += strides[t] * (extents[t] - 1);
    return last + 1;
  }
};

/// Nothing: a stride depends on the use.
std::optional<Axes> axes_of(const Operand& operand, const std::vector<std::int64_t>& box) {
  Axes axes;
  std::map<std::string, AffineExpr> symbols;
  Ranges ranges;
  for (std::size_t s = 0; s < box.size(); ++s) {
    symbols[operand.index_names[s]] = subscript_symbol(s);
    ranges["#" + std::to_string(s)] = {0, box[s] - 1};
  }
  const auto add = [&](const AffineExpr& term, std::int64_t stride) {
    const auto range = bounds(simplify(term, ranges), ranges);
    axes.terms.push_back(simplify(term, ranges));
    axes.extents.push_back(range ? range->high + 1 : 1);
    axes.strides.push_back(stride);
  };
  if (const auto* strided = std::get_if<StridedLayout>(&operand.layout)) {
    for (const StrideTerm& term : strided->terms) {
      const auto stride = !term.stride ? std::optional<std::int64_t>(0)
                                       : evaluate(*term.stride, [](const Reference&) { return std::nullopt; });
      if (!stride) return std::nullopt;
      axes.apart |= !term.each.empty();
      const auto position = term.term.as_dim();
      const bool number =
          term.term.is_constant() || (position && std::isdigit(static_cast<unsigned char>(position->front())) != 0);
      const std::size_t at = term.term.is_constant() ? static_cast<std::size_t>(term.term.constant())
                             : number                ? std::stoul(*position)
                                                     : 0;
      if (number && at >= box.size()) return std::nullopt;
      add(number ? subscript_symbol(at) : substitute(term.term, symbols), *stride);
    }
    return axes;
  }
  std::int64_t stride = 1;
  for (std::size_t s = box.size(); s-- > 0; stride *= box[s]) add(subscript_symbol(s), stride);
  return axes;
}

/// Operands in a row: the distance of rows over the contiguous elements.
std::int64_t starts_in_row(const Axes& axes, std::int64_t size, std::int64_t align) {
  std::int64_t together = 0, row = 0;
  for (std::size_t t = 0; t < axes.strides.size(); ++t) {
    if (axes.strides[t] == 1) together = axes.extents[t];
    if (axes.strides[t] > 1 && (row == 0 || axes.strides[t] < row)) row = axes.strides[t];
  }
  return together > 0 && row > together && row % together == 0 && together * size % align == 0 ? row / together : 1;
}

}  // namespace

std::vector<AffineExpr> ScratchPlace::at(const std::vector<AffineExpr>& subscripts, const AffineExpr& number) const {
  std::map<std::string, AffineExpr> symbols;
  for (std::size_t s = 0; s < subscripts.size(); ++s) symbols["#" + std::to_string(s)] = subscripts[s];
  std::vector<AffineExpr> index;
  for (const AffineExpr& term : terms) index.push_back(substitute(term, symbols));
  if (starts > 1) index.push_back(mod(number, starts));
  index.push_back(mod(number, tiles));
  return index;
}

Result<ScratchPlace> scratch_place(const HardwareModel& model, const Instruction& instruction, int access,
                                   DType dtype) {
  const Operand& operand = instruction.operands[operand_of_access(instruction, access).index()];
  const Memory& memory = model.memory(operand.memory);
  if (memory.is_register() || memory.kind == MemoryKind::cache || !model.scalar_unit_for(operand.memory))
    return error(fmt::format("no scalar unit reaches operand {} in {}", operand.name, memory.name));
  auto axes = axes_of(operand, operand_box(instruction, access));
  if (!axes) return error(fmt::format("the strides of operand {} are no numbers", operand.name));
  const std::int64_t size = std::max(bytes(dtype), 1);
  const auto* strided = std::get_if<StridedLayout>(&operand.layout);
  const std::int64_t period = strided != nullptr && strided->swizzle ? strided->swizzle->period() : 1;
  const std::int64_t step =
      round_up(std::max({period, operand.align, memory.granularity, size}), size) / size;  // elements
  for (std::size_t t = axes->strides.size(); t-- > 0;)
    if (axes->strides[t] == 0) axes->strides[t] = axes->extents[t] > 1 ? round_up(axes->span(), step) + step : step;
  ScratchPlace place;
  place.terms = axes->terms;
  place.starts = axes->apart ? 1 : starts_in_row(*axes, size, std::max<std::int64_t>(operand.align, 1));
  Buffer& buffer = place.buffer;
  buffer.memory = operand.memory;
  buffer.dtype = dtype;
  buffer.extents = axes->extents;
  buffer.strides = axes->strides;
  buffer.align = std::max({operand.align, operand.align_buffer, period, memory.granularity, size});
  if (strided != nullptr) buffer.swizzle = strided->swizzle;
  if (place.starts > 1) {
    std::int64_t together = 1;
    for (std::size_t t = 0; t < axes->strides.size(); ++t)
      if (axes->strides[t] == 1) together = axes->extents[t];
    buffer.extents.push_back(place.starts);
    buffer.strides.push_back(together);
  }
  const std::int64_t apart = round_up(element_span(buffer) * size, buffer.align);
  constexpr std::int64_t most_tiles = 3;  // so that wrong addresses show
  place.tiles = std::clamp<std::int64_t>(memory.capacity > 0 ? memory.capacity / 2 / apart : most_tiles, 1, most_tiles);
  buffer.extents.push_back(place.tiles + (buffer.swizzle ? 1 : 0));  // room for the swizzled bytes of the last
  buffer.strides.push_back(apart / size);
  return place;
}

}  // namespace isamap

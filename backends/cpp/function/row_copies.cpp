// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/function/row_copies.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/cpp/text/types.h"
#include "hwdesc/model/compiler_limits.h"

namespace isamap {
namespace {

/// Compilers know nothing of registers whose size is a symbol.
bool has_long_registers(const HardwareModel& model) {
  const auto& memories = model.memories();
  return model.symbols().empty() && std::any_of(memories.begin(), memories.end(), [](const Memory& memory) {
           return memory.is_register() && memory.named_by_compiler() && memory.size >= bytes_moved_at_once;
         });
}

bool is_known(const Loop& loop, const RuntimeNumbers* numbers) {
  return numbers == nullptr || (!numbers->trips.contains(loop.variable) && !numbers->ranges.contains(loop.variable));
}

/// The statement that the loop repeats, if it copies one element to another one of the same type.
const Element* copy_in(const Loop& loop, const Item& item, const Program& program) {
  if (!loop.unit.empty() || item.body.size() != 1) return nullptr;
  const auto* element = std::get_if<Element>(&item.body.front().node->is);
  if (element == nullptr || !item.body.front().variables.empty() || element->reduction != Reduction::assign ||
      element->reads.size() != 1 || !element->reads[0].buffer.valid())
    return nullptr;
  const DType type = program.buffers[element->write.buffer.index()].dtype;
  const bool same = program.buffers[element->reads[0].buffer.index()].dtype == type && bits(type) % 8 == 0;
  return same && element->body == read(0, type) ? element : nullptr;
}

/// Where the row begins, if steps of the loop lie side by side.
std::optional<Place> first_of_row(const Place& place, const std::string& variable, const PrintedFunction& function) {
  const Buffer& buffer = function.program.buffers[place.buffer.index()];
  if (place.kind != Place::Kind::memory || place.scattered || !place.strided.empty() || buffer.swizzle ||
      !function.model.memory(buffer.memory).pointer_type.empty())
    return std::nullopt;
  const AffineExpr step = AffineExpr::dim(variable), rest = place.offset - step;
  const auto [pointer, at] = resolve(place, function.places);
  if (rest.names().contains(variable) || at.coefficient(variable) != 1) return std::nullopt;
  Place first = place;
  first.last = place.last - step;
  first.offset = rest;
  return first;
}

}  // namespace

std::optional<std::string> row_copy(const Loop& loop, const Item& item, const PrintedFunction& function,
                                    const PlaceText& places, const OpenLoops& open) {
  if (function.dialect != nullptr || !is_known(loop, function.numbers)) return std::nullopt;
  const Element* copy = copy_in(loop, item, function.program);
  if (copy == nullptr || loop.trip > steps_unrolled_by_compilers || function.hints.rolled.contains(&item) ||
      function.hints.forget.contains(&item.body.front()) || !has_long_registers(function.model))
    return std::nullopt;
  const BufferId to = copy->write.buffer, from = copy->reads[0].buffer;
  const DType type = function.program.buffers[to.index()].dtype;
  const std::int64_t row = loop.trip * bytes(type);
  if (row <= bytes_moved_at_once / 2 || row >= bytes_moved_at_once) return std::nullopt;
  if (to == from || (function.overlapping.contains(to) && function.overlapping.contains(from))) return std::nullopt;
  const std::vector<Place>& used = item.body.front().places;
  const auto first = first_of_row(used[0], loop.variable, function),
             source = first_of_row(used[1], loop.variable, function);
  if (!first || !source) return std::nullopt;
  return fmt::format("__builtin_memcpy({}, {}, {} * sizeof({}));", places.address(*first, open.ranges),
                     places.address(*source, open.ranges), loop.trip, element_type(function.model, type));
}

}  // namespace isamap

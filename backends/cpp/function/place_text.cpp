// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/function/place_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/cpp/text/index_text.h"
#include "backends/cpp/text/types.h"
#include "ir/operand_use.h"

namespace isamap {

std::string PlaceText::index(const AffineExpr& e, const Ranges& ranges) const {
  return index_text(e, ranges, open_.names, elements_);
}

std::string PlaceText::sum(const std::string& base, const AffineExpr& offset, const Ranges& ranges) const {
  if (offset == AffineExpr(0)) return base;
  const std::string rest = index(offset, ranges);
  const bool several = offset.terms().size() + (offset.constant() != 0 ? 1 : 0) > 1;
  if (several && rest.find('-') != std::string::npos)
    return base + " + (" + rest + ")";  // offset computed before it is dereferenced
  return rest.front() == '-' ? base + " - " + rest.substr(1) : base + " + " + rest;
}

std::string PlaceText::base_name(const Place& place, int pointer) const {
  return pointer < 0 ? places_.buffers[place.buffer.index()] : places_.pointers[static_cast<std::size_t>(pointer)].name;
}

std::string PlaceText::scattered(const Place& place, const Ranges& ranges) const {
  std::string text = index(at_origin(place.offset, ranges), ranges);
  for (const auto& [stride, subscript] : place.strided)
    text += fmt::format(" + {}*({})", stride, index(at_origin(subscript, ranges), ranges));
  return text;
}

std::string PlaceText::address(const Place& place, const Ranges& ranges) const {
  if (place.scattered)
    return dialect_->address(place.buffer, "(" + base_name(place, -1) + " + (" + scattered(place, ranges) + "))");
  const auto [pointer, rest] = resolve(place, places_);
  const std::string text = sum(base_name(place, pointer), rest, ranges);
  if (dialect_ != nullptr) return dialect_->address(place.buffer, text);
  const std::string& type = model_.memory(program_.buffers[place.buffer.index()].memory).pointer_type;
  const bool plain = rest == AffineExpr(0);
  const std::string enclosed = plain ? text : "(" + text + ")";
  return type.empty() ? enclosed : "(" + type + ")" + enclosed;
}

std::string PlaceText::permuted(const Place& place, const std::string& number) const {
  const Buffer& buffer = program_.buffers[place.buffer.index()];
  return buffer.swizzle ? elements_.permuted(*buffer.swizzle, bytes(buffer.dtype), number) : number;
}

std::string PlaceText::permuted_address(const Place& place, const Ranges& ranges, const std::string& more) const {
  const auto [pointer, rest] = resolve(place, places_);
  const std::string number = index(rest, ranges);
  const std::string all = more.empty() ? number : rest == AffineExpr(0) ? more : number + " + (" + more + ")";
  return "(" + base_name(place, pointer) + " + " + permuted(place, all) + ")";
}

std::optional<std::string> PlaceText::element(const Place& place) const {
  if (place.kind == Place::Kind::variable) {
    const Buffer& buffer = program_.buffers[place.buffer.index()];
    std::int64_t inside = 1;
    for (std::size_t a = static_cast<std::size_t>(buffer.slots); a < buffer.extents.size(); ++a)
      inside *= buffer.extents[a];
    const Variable& variable = places_.variables[static_cast<std::size_t>(place.variable)];
    if (inside == 1) return variable.name + (variable.count > 0 ? "[0]" : "");
    if (variable.in_order && place.inside.is_constant())
      return one_of_several(buffer, variable, place.inside.constant());
  }
  if (place.kind != Place::Kind::memory) return std::nullopt;
  if (place.scattered) return base_name(place, -1) + "[" + scattered(place, open_.ranges) + "]";
  const auto [pointer, rest] = resolve(place, places_);
  return base_name(place, pointer) + "[" + permuted(place, index(rest)) + "]";
}

std::string PlaceText::value(const Place& place, const std::string& element) const {
  if (element.starts_with("part_of<"))
    return element_type(model_, program_.buffers[place.buffer.index()].dtype) + "(" + element + ")";
  return dialect_ != nullptr && place.kind == Place::Kind::memory ? dialect_->value(place.buffer, element) : element;
}

/// Several small elements are packed in one register, unless the memory has registers of their type.
std::string PlaceText::one_of_several(const Buffer& buffer, const Variable& variable, std::int64_t element) const {
  const Memory& memory = model_.memory(buffer.memory);
  const bool own = std::any_of(memory.value.begin(), memory.value.end(),
                               [&](const auto& entry) { return entry.first == name(buffer.dtype); });
  const std::int64_t in_one = own ? 1 : std::max<std::int64_t>(1, memory.size / bytes(buffer.dtype));
  const std::string held = fmt::format("{}[{}]", variable.name, element / in_one);
  return in_one == 1 ? held : elements_.part_of_register(element_type(model_, buffer.dtype), held, element % in_one);
}

}  // namespace isamap

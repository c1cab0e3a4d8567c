// SPDX-License-Identifier: Apache-2.0
// Every byte of the operand gives one equation of layout_compose.h; a large operand takes several calls, and a large
// move fills several operands at once.

#include "hwdesc/layout/move_layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ir/operand_use.h"
#include "support/arithmetic.h"
#include "support/box.h"

namespace isamap {

namespace {

constexpr std::int64_t max_places = 1 << 16;

std::optional<std::int64_t> number(const IntExpr& e) {
  return evaluate(e, [](const Reference&) { return std::optional<std::int64_t>(); });
}

/// A layout of strides; a dense one with explicit terms.
StridedLayout strides_of(const Operand& operand, const Box& box) {
  if (const auto* strided = std::get_if<StridedLayout>(&operand.layout)) return *strided;
  StridedLayout layout;
  std::int64_t stride = 1;
  for (std::size_t d = box.size(); d-- > 0; stride *= box[d]) {
    IntExpr value;
    value.number = stride;
    layout.terms.push_back({AffineExpr::dim(operand.index_names[d]), value, "", operand.index_names[d]});
  }
  return layout;
}

/// Bytes of one instance's registers that the operand spans.
std::int64_t register_bytes(const Operand& operand, const std::vector<std::int64_t>& places, std::int64_t width) {
  if (const auto* fragment = std::get_if<FragmentLayout>(&operand.layout)) return fragment->over.back().second * width;
  return (*std::max_element(places.begin(), places.end()) + 1) * width;
}

std::vector<std::string> units_of(const Operand& operand) {
  std::vector<std::string> units;
  if (const auto* fragment = std::get_if<FragmentLayout>(&operand.layout))
    for (std::size_t u = 0; u + 1 < fragment->over.size(); ++u) units.push_back(fragment->over[u].first);
  return units;
}

/// An operand in registers, byte for byte.
struct RegisterImage {
  const Operand& operand;
  Box box;
  std::int64_t width;
  std::vector<std::int64_t> places;  // by index, row-major
  std::int64_t bytes;                // of one instance
};

/// One call, and the index of each of its equations.
struct MoveCall {
  PlaceSolver solver;
  std::vector<std::int64_t> index;  // row-major
};

/// The position of index `point` in the tensor: a distance in the pitches of its order.
void in_memory(const RegisterImage& image, const MemoryOrder& order, const Box& point, std::size_t symbols,
               Distance& at) {
  at.bytes = 0;
  at.pitches.assign(symbols, 0);
  if (order.kind == MemoryOrder::Kind::packed) {
    const StridedLayout layout = strides_of(image.operand, image.box);
    std::int64_t longest = 0;
    for (const StrideTerm& term : layout.terms) longest = std::max(longest, number(*term.stride).value_or(0));
    for (const StrideTerm& term : layout.terms) {
      const std::int64_t stride = number(*term.stride).value_or(0);
      const std::int64_t value = CompiledAffine(term.term, image.operand.index_names)(point.data());
      if (stride == longest)
        at.pitches[0] += value;
      else
        at.bytes += stride * value * image.width;
    }
    return;
  }
  std::int64_t dense = image.box.empty() ? 1 : image.box[order.index];
  if (!point.empty()) at.bytes = point[order.index] * image.width;
  for (std::size_t d = point.size(); d-- > 0;) {
    if (d == order.index) continue;
    if (order.kind == MemoryOrder::Kind::dense)
      at.bytes += point[d] * dense * image.width;
    else
      at.pitches[d] = point[d];
    dense *= image.box[d];
  }
}

std::string shown(const RegisterImage& image, std::int64_t flat) {
  const Box point = unflatten(flat, image.box);
  std::string text;
  for (std::size_t d = 0; d < point.size(); ++d)
    text += fmt::format("{}{}={}", d > 0 ? ", " : "", image.operand.index_names[d], point[d]);
  return "[" + text + "]";
}

std::string bytes_text(const std::string& distance) {
  return distance + (distance == "1" || distance == "-1" ? " byte" : " bytes");
}

std::string reason_of(const Misplacement& wrong, const MoveCall& call, const RegisterImage& image,
                      const std::vector<std::string>& pitches) {
  if (wrong.free) return "no whole number of bytes fits its free strides";
  return fmt::format("{} and {} lie {} apart in memory; the move takes them {} apart",
                     shown(image, call.index[wrong.first]), shown(image, call.index[wrong.second]),
                     bytes_text(print(wrong.apart, pitches)), bytes_text(std::to_string(wrong.needed)));
}

/// "k = 8*(lane/16)": one coordinate of the addresses that the instances supply.
std::string addresses_text(const Placement& placement, const MoveTable& table, const RegisterImage& image,
                           const Filling& filling) {
  const std::string unit = table.each.front();
  std::string text;
  const auto coordinate = [&](const std::string& name, std::int64_t divisor, auto value) {
    Box values;
    for (const auto& [base, at] : placement.bases) values.push_back(value(at) / divisor);
    const auto digits = digits_of(values, unit);
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, digits ? *digits : "a table");
  };
  const auto bytes = [](const Distance& at) { return at.bytes; };
  if (filling.order.kind != MemoryOrder::Kind::rows) {
    coordinate("byte", 1, bytes);
    return fmt::format("{} at [{}]", unit, text);
  }
  for (std::size_t d = 0; d < image.box.size(); ++d) {
    if (d == filling.order.index)
      coordinate(image.operand.index_names[d], image.width, bytes);
    else if (image.box[d] > 1)
      coordinate(image.operand.index_names[d], 1, [&](const Distance& at) { return at.pitches[d]; });
  }
  if (filling.operands > 1) {
    Box tile;
    for (const auto& [base, at] : placement.bases) {
      tile.push_back(0);
      for (std::size_t s = image.box.size(); s < at.pitches.size(); ++s)
        tile.back() += at.pitches[s] * static_cast<std::int64_t>(s - image.box.size() + 1);
    }
    const auto digits = digits_of(tile, unit);
    return fmt::format("{} at [{}] of operand {}", unit, text, digits ? *digits : "a table");
  }
  return fmt::format("{} at [{}]", unit, text);
}

std::string how_of(const Placement& placement, const MoveTable& table, const RegisterImage& image,
                   const Filling& filling) {
  std::string text = table.each.empty() ? "" : addresses_text(placement, table, image, filling);
  for (std::size_t t = 0; t < table.strides.size(); ++t)
    if (const auto& stride = placement.strides[t])
      text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", table.strides[t],
                          bytes_text(print(*stride, filling.pitches)));
  return text;
}

using Calls =
    std::map<std::pair<std::int64_t, std::int64_t>, MoveCall>;  // by outer instance, and piece of its registers

/// Sorts the operand's bytes into calls and solves the equations of each. Empty text: solved; else the reason.
std::string calls_of(const MoveTable& table, const RegisterImage& image, const Filling& filling, Calls& calls) {
  const bool spread = std::holds_alternative<FragmentLayout>(image.operand.layout);
  const std::int64_t elements = spread ? image.bytes / image.width : INT64_MAX;
  const std::int64_t piece_bytes = std::min(table.bytes, image.bytes);
  // Bytes of one element are contiguous on both sides: one equation for as many as both have contiguous.
  const std::int64_t step = std::gcd(image.width, table.width);
  PlaceEquation equation;
  Distance at;
  Box point(image.box.size(), 0);
  for (std::size_t x = 0; x < image.places.size(); ++x, advance(point, image.box)) {
    const std::int64_t instance = spread ? image.places[x] / elements : 0, element = image.places[x] % elements;
    in_memory(image, filling.order, point, filling.pitches.size(), at);
    for (std::int64_t b = 0; b < image.width; b += step) {
      const std::int64_t byte = element * image.width + b;
      MoveCall& call = calls[{instance / table.instances, byte / piece_bytes}];
      for (std::int64_t tile = 0; tile < filling.operands; ++tile) {
        const std::int64_t in_call = byte % piece_bytes + tile * image.bytes;
        const std::int64_t place = instance % table.instances * table.elements() + in_call / table.width;
        const bool inside = place < std::ssize(table.points) && table.points[static_cast<std::size_t>(place)].moved;
        if (!inside)
          return fmt::format("it does not reach byte {} of the register, which contains {}", in_call,
                             shown(image, static_cast<std::int64_t>(x)));
        const MoveTable::Point& moved = table.points[static_cast<std::size_t>(place)];
        equation.distance = at;
        equation.distance.bytes += b;
        if (tile > 0) equation.distance.pitches[image.box.size() + static_cast<std::size_t>(tile) - 1] = 1;
        equation.base = moved.base;
        equation.fixed = moved.fixed + in_call % table.width;
        equation.factors = moved.factors;
        call.index.push_back(static_cast<std::int64_t>(x));
        if (const auto wrong = call.solver.add(equation)) return reason_of(*wrong, call, image, filling.pitches);
      }
    }
  }
  return "";
}

bool aligned(const Placement& placement, std::int64_t align) {
  return std::all_of(placement.bases.begin(), placement.bases.end(),
                     [&](const auto& base) { return base.second.bytes % align == 0; });
}

void solve(const MoveTable& table, const RegisterImage& image, const Operand& addressed, Filling& filling) {
  for (std::size_t d = 0; d < image.box.size(); ++d)
    filling.pitches.push_back(
        filling.order.kind == MemoryOrder::Kind::packed ? "pitch" : "pitch[" + image.operand.index_names[d] + "]");
  for (std::int64_t tile = 1; tile < filling.operands; ++tile)
    filling.pitches.push_back(fmt::format("operand {}", tile));
  Calls calls;
  filling.reason = calls_of(table, image, filling, calls);
  if (!filling.reason.empty()) return;
  filling.calls = std::ssize(calls);
  for (const auto& [which, call] : calls) {
    const auto solved = call.solver.solve();
    if (const auto* wrong = std::get_if<Misplacement>(&solved)) {
      filling.reason = reason_of(*wrong, call, image, filling.pitches);
      return;
    }
    const auto& placement = std::get<Placement>(solved);
    if (&call == &calls.begin()->second) filling.placement = placement;
    // Bases of one call move together: only distances to its first base matter.
    Placement relative = placement;
    for (auto& [base, at] : relative.bases) at = at - placement.bases.begin()->second;
    if (!aligned(relative, addressed.align)) {
      filling.reason = fmt::format("its addresses would not be multiples of {} bytes", addressed.align);
      return;
    }
  }
  filling.how = how_of(filling.placement, table, image, filling);
}

std::vector<MemoryOrder> orders_of(const RegisterImage& image) {
  using Kind = MemoryOrder::Kind;
  std::vector<MemoryOrder> orders;
  for (std::size_t d = 0; d < image.box.size(); ++d)
    if (image.box[d] > 1) orders.push_back({Kind::rows, d});
  if (orders.empty()) orders.push_back({Kind::rows, 0});
  std::reverse(orders.begin(), orders.end());
  return orders;
}

/// The register's side and the memory's, if one is a register, both have places, and elements are whole bytes.
bool has_two_sides(const HardwareModel& model, const Instruction& move, MoveTable& table) {
  if (!is_move(move) || move.operands.size() != 2) return false;
  for (const Operand& operand : move.operands)
    if (!operand.memory.valid() || (operand.dtype && bits(*operand.dtype) % 8 != 0)) return false;
  const bool load = model.memory(move.operands[0].memory).is_register();
  if (load == model.memory(move.operands[1].memory).is_register()) return false;
  table.in_register = load ? 0 : 1;
  table.in_memory = load ? 1 : 0;
  return !std::holds_alternative<FragmentLayout>(move.operands[table.in_memory].layout);
}

/// The terms of the memory's side, compiled; nothing: a stride is no number.
std::optional<std::vector<CompiledAffine>> terms_of(const StridedLayout& layout, const Operand& addressed,
                                                    MoveTable& table) {
  std::vector<CompiledAffine> terms;
  for (const StrideTerm& term : layout.terms) {
    terms.emplace_back(term.term, addressed.index_names);
    if (!term.each.empty()) table.each.push_back(term.each);
    if (!term.stride && term.each.empty()) table.strides.push_back(term.text);
    if (term.stride && !number(*term.stride)) return std::nullopt;
  }
  return terms;
}

/// The address of this element of the tensor in memory.
MoveTable::Point point_in_memory(const StridedLayout& layout, const std::vector<CompiledAffine>& terms,
                                 const Box& memory_point, std::int64_t width) {
  MoveTable::Point point{true, 0, 0, {}, memory_point};
  for (std::size_t t = 0; t < terms.size(); ++t) {
    const std::int64_t value = terms[t](memory_point.data());
    if (!layout.terms[t].each.empty())
      point.base = point.base * 65536 + value;
    else if (layout.terms[t].stride)
      point.fixed += *number(*layout.terms[t].stride) * value * width;
    else
      point.factors.push_back(value);
  }
  return point;
}

}  // namespace

std::optional<MoveTable> move_table(const HardwareModel& model, const Instruction& move, std::int64_t any_width) {
  MoveTable table;
  if (!has_two_sides(model, move, table)) return std::nullopt;
  const Operand &kept = move.operands[table.in_register], &addressed = move.operands[table.in_memory];
  const Box& kept_box = move.tensors[table.in_register].shape;
  const auto places = positions(kept, kept_box);
  if (!places || places->empty()) return std::nullopt;
  table.width = kept.dtype ? bytes(*kept.dtype) : any_width;
  table.bytes = register_bytes(kept, *places, table.width);
  if (const auto* fragment = std::get_if<FragmentLayout>(&kept.layout))
    for (std::size_t u = 0; u + 1 < fragment->over.size(); ++u) table.instances *= fragment->over[u].second;

  const StridedLayout layout = strides_of(addressed, move.tensors[table.in_memory].shape);
  const auto terms = terms_of(layout, addressed, table);
  if (!terms) return std::nullopt;
  const Computation& statement = move.statement();
  std::vector<std::string> dims;
  Box extents;
  for (const Dim& dim : statement.domain.dims) {
    dims.push_back(dim.name);
    extents.push_back(dim.extent);
  }
  const std::int64_t places_in_all = checked_mul(table.instances, table.elements()).value_or(INT64_MAX);
  if (points_in(extents) > max_places || places_in_all > max_places) return std::nullopt;
  table.points.resize(static_cast<std::size_t>(places_in_all));
  std::vector<CompiledAffine> kept_index, memory_index;
  for (const AffineExpr& e : access_of(statement, static_cast<int>(table.in_register)).index)
    kept_index.emplace_back(e, dims);
  for (const AffineExpr& e : access_of(statement, static_cast<int>(table.in_memory)).index)
    memory_index.emplace_back(e, dims);
  for (std::int64_t y = 0; y < points_in(extents); ++y) {
    const Box at = unflatten(y, extents);
    Box kept_point, memory_point;
    for (const CompiledAffine& e : kept_index) kept_point.push_back(e(at.data()));
    for (const CompiledAffine& e : memory_index) memory_point.push_back(e(at.data()));
    const std::int64_t at_place = (*places)[static_cast<std::size_t>(flatten(kept_point, kept_box))];
    if (at_place >= 0 && at_place < places_in_all)
      table.points[static_cast<std::size_t>(at_place)] = point_in_memory(layout, *terms, memory_point, table.width);
  }
  return table;
}

std::vector<Filling> fillings(const HardwareModel&, const Instruction& move, const MoveTable& table,
                              const Instruction& user, std::size_t operand) {
  const Operand& target = user.operands[operand];
  if (!target.dtype || bits(*target.dtype) % 8 != 0) return {};
  const Operand &kept = move.operands[table.in_register], &addressed = move.operands[table.in_memory];
  if (kept.memory != target.memory || !same_type(kept, target)) return {};
  RegisterImage image{target, user.tensors[operand].shape, bytes(*target.dtype), {}, 0};
  const auto places = points_in(image.box) <= max_places ? positions(target, image.box) : std::nullopt;
  if (!places || places->empty()) return {};
  image.places = *places;
  image.bytes = register_bytes(target, *places, image.width);

  const auto inner = units_of(kept), outer = units_of(target);
  const bool spread_alike =
      inner.size() <= outer.size() && std::equal(inner.rbegin(), inner.rend(), outer.rbegin()) &&
      std::holds_alternative<FragmentLayout>(kept.layout) == std::holds_alternative<FragmentLayout>(target.layout);
  std::vector<Filling> found;
  const auto attempt = [&](const MemoryOrder& order) {
    Filling filling;
    filling.order = order;
    const bool larger = table.bytes > image.bytes && !inner.empty();
    if (!spread_alike)
      filling.reason = "its registers are spread over other units";
    else if ((larger ? table.bytes % image.bytes : image.bytes % table.bytes) != 0 && !inner.empty())
      filling.reason =
          fmt::format("it moves {} bytes of each {}; the operand has {}", table.bytes, inner.back(), image.bytes);
    filling.operands = larger ? table.bytes / image.bytes : 1;
    if (filling.reason.empty()) solve(table, image, addressed, filling);
    found.push_back(std::move(filling));
    return found.back().possible();
  };
  bool any = false;
  for (const MemoryOrder& order : orders_of(image)) {
    if (attempt(order)) {
      any = true;
    } else if (spread_alike && table.each.empty()) {
      if (attempt({MemoryOrder::Kind::dense, order.index}))
        any = true;
      else
        found.pop_back();
    }
  }
  const bool strided = std::holds_alternative<StridedLayout>(target.layout);
  if (!any && strided && spread_alike && !attempt({MemoryOrder::Kind::packed, 0})) found.pop_back();
  return found;
}

std::string print(const MemoryOrder& order, const Operand& operand) {
  if (order.kind == MemoryOrder::Kind::packed) return "panels as the register has them";
  if (operand.index_names.empty()) return "one element";
  const std::string along = "contiguous along " + operand.index_names[order.index];
  return order.kind == MemoryOrder::Kind::dense ? "a dense tile, " + along : "rows " + along;
}

}  // namespace isamap

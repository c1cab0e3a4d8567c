// SPDX-License-Identifier: Apache-2.0
// Checks layouts, maps from an operand's indices to places: each place is used once and is inside its register.

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "hwdesc/layout/fragment_check.h"
#include "hwdesc/load/loader_internal.h"
#include "hwdesc/model/program_language.h"
#include "support/arithmetic.h"
#include "support/box.h"
#include "support/overloaded.h"

namespace isamap::loader {

namespace {

constexpr std::int64_t max_side = 64;  // larger boxes are checked in the corner where indices are small
constexpr std::int64_t max_points = 1 << 16;

std::string shown(const Box& point) {
  std::string text;
  for (const std::int64_t value : point) text += (text.empty() ? "" : ",") + std::to_string(value);
  return "[" + text + "]";
}

Box corner(Box box) {
  std::int64_t points = 1;
  for (const std::int64_t extent : box) points = std::min(points * std::min(extent, max_points), max_points + 1);
  if (points > max_points)
    for (std::int64_t& extent : box) extent = std::min(extent, max_side);
  return box;
}

struct Place {
  const Instruction& instruction;
  const Operand& operand;
  std::size_t number;  // of the operand
  Box box;
  std::string what;
  SourceLocation where;
  Context& context;
};

/// Charges the points of the box, each with `terms` to evaluate, to the budget of proofs.
bool afford(const Box& box, std::size_t terms, const Place& place) {
  std::int64_t cost = static_cast<std::int64_t>(terms);
  for (const std::int64_t extent : box) cost = checked_mul(cost, extent).value_or(INT64_MAX / 2);
  if (cost > place.context.points_left) {
    place.context.problems.warning(
        place.where,
        "the layout of " + place.what + " is not proved a bijection: the file's layouts have too many points");
    return false;
  }
  place.context.points_left -= cost;
  return true;
}

/// Dims whose own strides grow like the digits of a number: {i: 16, j: 1} over a box of at most 16 columns.
bool is_mixed_radix(const std::vector<std::pair<std::int64_t, std::int64_t>>& stride_and_extent) {
  std::int64_t reach = 0;  // largest offset of the smaller strides together
  for (const auto& [stride, extent] : stride_and_extent) {
    if (stride <= reach) return false;
    const auto more = checked_mul(stride, extent - 1);
    const auto total = more ? checked_add(reach, *more) : std::nullopt;
    if (!total) return false;
    reach = *total;
  }
  return true;
}

/// Injective without enumeration: every index has a separate term that is free, or a stride of a mixed radix.
bool is_plainly_injective(const StridedLayout& layout, const Place& place) {
  std::vector<std::pair<std::int64_t, std::int64_t>> digits;
  std::set<std::string> seen;
  for (const StrideTerm& term : layout.terms) {
    const auto dim = term.term.as_dim();
    if (!dim || !seen.insert(*dim).second) return false;
    if (!term.stride) continue;
    const std::int64_t stride = at_sizes(*term.stride, place.context).value_or(0);
    if (stride < 1) return false;
    const auto at = std::find(place.operand.index_names.begin(), place.operand.index_names.end(), *dim) -
                    place.operand.index_names.begin();
    digits.emplace_back(stride, place.box[static_cast<std::size_t>(at)]);
  }
  std::sort(digits.begin(), digits.end());
  return seen.size() == place.box.size() && is_mixed_radix(digits);
}

/// Far beyond any memory, and products with coordinates stay inside 64 bits.
constexpr std::int64_t max_stride = std::int64_t{1} << 40;

/// Key of a proof of a layout: variants of one instruction share it.
std::string key_of(const OperandLayout& layout, const Place& place) {
  std::string key = print(layout);
  for (const std::int64_t extent : place.box) key += fmt::format(",{}", extent);
  for (const std::string& name : place.operand.index_names) key += " " + name;
  const auto* fragment = std::get_if<FragmentLayout>(&layout);
  for (const DimRange& range : place.instruction.ranges)
    if (fragment && !fragment->varying.empty())
      key += fmt::format(";{}-{}-{}", range.min, range.max, range.multiple_of);
  return key;
}

/// Two index points at one place, for any value of the free strides: each free or separately addressed term is a
/// separate coordinate; terms with fixed strides are summed.
void check_strides(const StridedLayout& layout, const Place& place) {
  if (is_plainly_injective(layout, place)) return;
  std::vector<std::pair<CompiledAffine, std::int64_t>> fixed;
  std::vector<CompiledAffine> free;
  for (const StrideTerm& term : layout.terms) {
    const CompiledAffine compiled(term.term, place.operand.index_names);
    const auto stride = term.stride ? at_sizes(*term.stride, place.context) : std::nullopt;
    if (term.stride && !stride) {
      place.context.problems.error(place.where, "stride '" + term.text + "' of " + place.what + " is not a number",
                                   "write a number, an expression of symbols, any, or {each: UNIT}");
      return;
    }
    if (stride && std::abs(*stride) > max_stride) {
      place.context.problems.error(place.where,
                                   "stride '" + term.text + "' of " + place.what + " is beyond 2^40 elements");
      return;
    }
    if (stride)
      fixed.emplace_back(compiled, *stride);
    else
      free.push_back(compiled);
  }
  const std::string key = key_of(layout, place);
  if (!place.context.proved_layouts.insert(key).second) return;
  const Box box = corner(place.box);
  if (!afford(box, layout.terms.size(), place)) return;
  std::vector<std::pair<Box, Box>> places;  // place, index
  Box point(box.size(), 0);
  do {
    Box at{0};
    for (const auto& [term, stride] : fixed) at[0] += term(point.data()) * stride;
    for (const CompiledAffine& term : free) at.push_back(term(point.data()));
    places.emplace_back(std::move(at), point);
  } while (advance(point, box));
  std::sort(places.begin(), places.end());
  const auto before = std::min_element(places.begin(), places.end(),
                                       [](const auto& a, const auto& b) { return a.first[0] < b.first[0]; });
  if (before->first[0] < 0) {
    place.context.proved_layouts.erase(key);
    return place.context.problems.error(place.where,
                                        "layout of " + place.what + " puts " + shown(before->second) + " at element " +
                                            std::to_string(before->first[0]) + ", before the operand's first",
                                        "places begin at 0: the address is that of the lowest element");
  }
  const auto twice =
      std::adjacent_find(places.begin(), places.end(), [](const auto& a, const auto& b) { return a.first == b.first; });
  if (twice == places.end()) return;
  place.context.proved_layouts.erase(key);
  place.context.problems.error(place.where,
                               "layout of " + place.what + " puts " + shown(twice->second) + " and " +
                                   shown((twice + 1)->second) + " at one place",
                               "do its terms rebuild every index?");
}

/// Many variants share a fragment: each formula over each box is checked once.
void check_one_to_one(const FragmentLayout& layout, const Place& place) {
  const std::string key = key_of(layout, place);
  if (!place.context.proved_layouts.insert(key).second) return;
  const FragmentCheck check = check_fragment(place.instruction, place.number, place.context.points_left);
  place.context.points_left -= check.places * static_cast<std::int64_t>(layout.index.size());
  if (check.too_large)
    place.context.problems.warning(
        place.where,
        "the layout of " + place.what + " is not proved a bijection: the file's layouts have too many points");
  if (check.fault.empty()) return;
  place.context.proved_layouts.erase(key);
  place.context.problems.error(place.where, "layout of " + place.what + " " + check.fault,
                               "every index must be in exactly one place: do the formulas count as the manual does?");
}

/// Largest element offset that the layout reaches, plus one; nothing when a stride is free.
std::optional<std::int64_t> span(const Place& place) {
  if (const auto* fragment = std::get_if<FragmentLayout>(&place.operand.layout)) return fragment->over.back().second;
  std::int64_t last = 0, dense = 1;
  const auto* strided = std::get_if<StridedLayout>(&place.operand.layout);
  for (const std::int64_t extent : place.box) dense = checked_mul(dense, extent).value_or(INT64_MAX);
  if (!strided) return dense;
  Ranges ranges;
  for (std::size_t d = 0; d < place.box.size(); ++d) ranges[place.operand.index_names[d]] = {0, place.box[d] - 1};
  for (const StrideTerm& term : strided->terms) {
    const auto stride = term.stride ? at_sizes(*term.stride, place.context) : std::nullopt;
    const auto values = bounds(term.term, ranges);
    if (!stride || !values) return std::nullopt;
    const auto reach = checked_mul(*stride, values->high);
    last = reach ? checked_add(last, *reach).value_or(INT64_MAX - 1) : INT64_MAX - 1;
  }
  return std::min(last, INT64_MAX - 1) + 1;
}

void check_room(const Place& place) {
  const Memory& memory = place.context.parts.memories[place.operand.memory.index()];
  const auto elements = span(place);
  if (!place.operand.dtype || !elements) return;
  const auto bits_needed = checked_mul(*elements, bits(*place.operand.dtype));
  std::int64_t room = memory.is_register() ? memory.size * place.operand.group : memory.capacity;
  const bool fragment = std::holds_alternative<FragmentLayout>(place.operand.layout);
  if (fragment) room = memory.capacity;  // elements occupy as many registers as they need
  if (room == 0) return;                 // unreadable, which is reported
  if (bits_needed && ceil_div(*bits_needed, 8) <= room) return;
  const std::string need = bits_needed ? std::to_string(ceil_div(*bits_needed, 8)) + " bytes" : "more than 2^63 bits";
  const std::string have = !memory.is_register() || fragment ? "memory '" + memory.name + "' has "
                           : place.operand.group > 1
                               ? std::to_string(place.operand.group) + " registers of '" + memory.name + "' have "
                               : "a register of '" + memory.name + "' has ";
  const std::string hint =
      !memory.is_register() || fragment ? "make its dims smaller or the 'capacity' (a register file: 'count') larger"
      : bits_needed && ceil_div(*bits_needed, 8) <= 64 * memory.size
          ? "write group: " +
                std::to_string(ceil_div(ceil_div(*bits_needed, 8), std::max<std::int64_t>(memory.size, 1))) +
                " if it occupies so many consecutive registers, or make its dims smaller"
          : "make its dims smaller or the registers' 'size' larger";
  place.context.problems.error(place.where, place.what + " needs " + need + "; " + have + std::to_string(room), hint);
}

/// Consecutive registers of an operand must exist.
void check_group(const Place& place) {
  const Memory& memory = place.context.parts.memories[place.operand.memory.index()];
  if (!memory.is_register() && place.operand.group > 1)
    place.context.problems.error(place.where,
                                 place.what + " has 'group: " + std::to_string(place.operand.group) +
                                     "', but memory '" + memory.name + "' has no registers",
                                 "leave 'group' out: what an operand takes in a memory follows from its 'dims'");
  if (!memory.is_register() || memory.count < 1 || place.operand.group <= memory.count) return;
  place.context.problems.error(place.where,
                               place.what + " takes " + std::to_string(place.operand.group) +
                                   " consecutive registers; register file '" + memory.name + "' has " +
                                   std::to_string(memory.count),
                               "make 'group' smaller or the 'count' of '" + memory.name + "' larger");
}

/// Only moves of an object's tensor know where it ends.
void check_outside(const Place& place, const Node* outside) {
  if (!place.operand.outside || !place.operand.object.empty()) return;
  place.context.problems.error(
      outside ? outside->where : place.where,
      place.what + " has 'outside' without an 'object': the instruction has addresses and no sizes of the tensor",
      "leave 'outside' out, or name the object that has the sizes: object: NAME");
}

/// A prefetch: no effect on values, so its source may be given as the cache that it passes through.
bool moves_into_cache(const Instruction& instruction, const Context& context) {
  const MemoryId target = instruction.operands.front().memory;
  return is_move(instruction) && target.valid() && context.parts.memories[target.index()].kind == MemoryKind::cache;
}

/// A printed address is in steps of the granularity, so a use must begin at a multiple of both.
void check_steps(const Place& place, const Node* align) {
  const Memory& memory = place.context.parts.memories[place.operand.memory.index()];
  const std::int64_t step = memory.granularity;
  if (memory.is_register() || step < 1 || place.operand.align % step == 0 || step % place.operand.align == 0) return;
  place.context.problems.error(
      align ? align->where : place.where,
      place.what + " is aligned to " + std::to_string(place.operand.align) + " bytes; addresses in memory '" +
          memory.name + "' count steps of " + std::to_string(step) + " bytes",
      "one of the two must be a multiple of the other: see 'granularity' of '" + memory.name + "'");
}

void check_view(const Place& place) {
  const Memory& memory = place.context.parts.memories[place.operand.memory.index()];
  std::vector<std::string> known;
  for (const MemoryView& view : memory.views) known.push_back(view.name);
  if (place.operand.view.empty() || std::find(known.begin(), known.end(), place.operand.view) != known.end()) return;
  place.context.problems.error(
      place.where,
      place.what + " names view '" + place.operand.view + "', which memory '" + memory.name + "' does not have", "",
      {"views: " + (known.empty() ? "none" : join(known))});
}

void check_place(const Place& place) {
  const Memory& memory = place.context.parts.memories[place.operand.memory.index()];
  if (memory.kind == MemoryKind::cache && !moves_into_cache(place.instruction, place.context))
    place.context.problems.error(place.where, place.what + " is in cache '" + memory.name + "'",
                                 "a cache is never addressed: name the memory behind it");
  const ProgramText& program = place.context.model.program;
  if (!is_command_stream(program) && !memory.is_register() && place.operand.dtype && !is_bits(*place.operand.dtype) &&
      !program.types.count(std::string(name(*place.operand.dtype))))
    place.context.problems.error(
        place.where,
        place.what + " is " + std::string(name(*place.operand.dtype)) + "; 'types' of program has no type for it",
        "write types: {" + std::string(name(*place.operand.dtype)) + ": TYPE}");
  if (memory.is_register() && memory.named_by_compiler() && place.operand.dtype) {
    const std::string type(name(*place.operand.dtype));
    const bool known = std::any_of(memory.value.begin(), memory.value.end(),
                                   [&](const auto& entry) { return entry.first == type || entry.first == "any"; });
    if (!known)
      place.context.problems.error(
          place.where, place.what + " is " + type + "; 'value' of memory '" + memory.name + "' has no type for it");
  }
  check_view(place);
  check_group(place);
  if (const auto* strided = std::get_if<StridedLayout>(&place.operand.layout)) check_strides(*strided, place);
  if (const auto* fragment = std::get_if<FragmentLayout>(&place.operand.layout)) check_one_to_one(*fragment, place);
  check_room(place);
}

/// Extents of an operand's indices at the smallest extents of all dims.
std::vector<std::int64_t> smallest_box(const Instruction& instruction, std::size_t operand) {
  const Computation& statement = instruction.statement();
  Ranges ranges;
  for (std::size_t d = 0; d < statement.domain.dims.size(); ++d)
    ranges[statement.domain.dims[d].name] = {0, std::max<std::int64_t>(instruction.ranges[d].min, 1) - 1};
  std::vector<std::int64_t> box = instruction.tensors[operand].shape;
  for (int a = 0; a < access_count(statement); ++a) {
    const Access& access = access_of(statement, a);
    if (access.tensor.index() != operand || access.index.size() != box.size()) continue;
    for (std::size_t d = 0; d < box.size(); ++d)
      if (const auto values = bounds(access.index[d], ranges)) box[d] = std::min(box[d], values->high + 1);
  }
  return box;
}

/// Bytes of its memory that an operand occupies; nothing: unknown.
std::optional<std::int64_t> bytes_of(const Place& place) {
  const Memory& memory = place.context.parts.memories[place.operand.memory.index()];
  const bool fragment = std::holds_alternative<FragmentLayout>(place.operand.layout);
  if (memory.is_register() && !fragment) return checked_mul(memory.size, std::int64_t{place.operand.group});
  const auto elements = span(place);
  if (!place.operand.dtype || !elements) return std::nullopt;
  const auto needed = checked_mul(*elements, std::int64_t{bits(*place.operand.dtype)});
  return needed ? std::optional(ceil_div(*needed, std::int64_t{8})) : std::nullopt;
}

/// All operands of one call must fit in their memories together.
void check_operands_together(const Instruction& instruction, Context& context) {
  struct Use {
    std::int64_t bytes = 0;
    std::vector<std::string> operands;
  };
  std::map<std::size_t, Use> by_memory;
  for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
    const Operand& operand = instruction.operands[i];
    if (!operand.memory.valid()) continue;
    const auto box = smallest_box(instruction, i);
    const auto bytes = bytes_of({instruction, operand, i, box, "", {}, context});
    if (!bytes) continue;
    Use& use = by_memory[operand.memory.index()];
    use.bytes = checked_add(use.bytes, *bytes).value_or(INT64_MAX);
    use.operands.push_back(operand.name + " " + std::to_string(*bytes));
  }
  for (const auto& [id, use] : by_memory) {
    const Memory& memory = context.parts.memories[id];
    if (use.operands.size() < 2 || memory.capacity == 0 || use.bytes <= memory.capacity) continue;
    context.problems.warning(
        instruction.where,
        "the operands of instruction '" + instruction.name + "' in memory '" + memory.name + "' need " +
            std::to_string(use.bytes) + " bytes together (" + join(use.operands) + "); '" + memory.name + "' has " +
            std::to_string(memory.capacity),
        "no call of it fits, and statements that it maps become scalar code: make the dims smaller or the memory "
        "larger");
  }
}

}  // namespace

void check_operands(const Instruction& instruction, const Node& node, Context& context) {
  const Node* written = node.find("operands");
  for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
    const Operand& operand = instruction.operands[i];
    if (!operand.memory.valid()) continue;
    const Node* entry = written ? written->find(operand.name) : nullptr;
    const Node* layout = entry ? entry->find("layout") : nullptr;
    const SourceLocation where = layout ? layout->where : entry ? entry->where : instruction.where;
    const Place place{instruction,
                      operand,
                      i,
                      instruction.tensors[i].shape,
                      "operand '" + operand.name + "' of instruction '" + instruction.name + "'",
                      where,
                      context};
    check_place(place);
    check_steps(place, entry ? entry->find("align") : nullptr);
    check_outside(place, entry ? entry->find("outside") : nullptr);
  }
  if (!instruction.semantics.empty()) check_operands_together(instruction, context);
}

}  // namespace isamap::loader

// SPDX-License-Identifier: Apache-2.0
#include "scheduler/nest/operand_compatibility.h"

#include <fmt/format.h>

#include <algorithm>

#include "hwdesc/layout/per_lane_addresses.h"
#include "hwdesc/model/described_tensor.h"
#include "hwdesc/model/encodable_values.h"
#include "ir/legal.h"
#include "ir/symbolic/known_bounds.h"

namespace isamap {

namespace {

std::map<std::string, AffineExpr> dollar_names(const Instruction& instruction) {
  std::map<std::string, AffineExpr> by;
  for (const Dim& dim : instruction.statement().domain.dims) by[dim.name] = AffineExpr::dim("$" + dim.name);
  return by;
}

AffineExpr at_zero(const AffineExpr& e) {
  std::map<std::string, AffineExpr> zero;
  for (const std::string& name : e.names())
    if (name.front() == '$') zero[name] = AffineExpr(0);
  return substitute(e, zero);
}

bool only_dollars(const AffineExpr& e) {
  const auto names = e.names();
  return std::all_of(names.begin(), names.end(), [](const std::string& n) { return n.front() == '$'; });
}

// A point where `term` is 1 and independent terms are 0: `j` at j = 1, `k/4` at k = 4.
Bindings unit_point(const AffineExpr& term, const AffineExpr& e) {
  Bindings point;
  for (const std::string& name : e.names()) point[name] = 0;
  for (const std::string& name : term.names()) point[name] = 0;
  for (const std::string& name : term.names()) {
    for (std::int64_t value = 1; value <= 4096; value *= 2) {
      point[name] = value;
      if (evaluate(term, point) == 1) return point;
    }
    point[name] = 0;
  }
  return point;
}

struct LayoutTerms {
  AffineExpr fixed;  // prescribed strides, in elements
  struct Free {
    AffineExpr term;
    std::string name;  // in references: "i" of {X.stride[i]}
  };
  std::vector<Free> free;         // `any`: one unknown stride each
  std::vector<AffineExpr> apart;  // `each`: an address for every value
};

LayoutTerms demanded(const Instruction& instruction, int access, const Operand& operand,
                     const std::map<std::string, AffineExpr>& dollars) {
  const Access& a = access_of(instruction.statement(), access);
  LayoutTerms terms;
  if (const auto* strided = std::get_if<StridedLayout>(&operand.layout)) {
    for (const StrideTerm& term : strided->terms) {
      const AffineExpr e = in_points(term, a);
      const auto stride =
          term.stride ? evaluate(*term.stride, [](const Reference&) { return std::nullopt; }) : std::nullopt;
      if (!term.each.empty())
        terms.apart.push_back(e);
      else if (stride)
        terms.fixed += e * *stride;
      else
        terms.free.push_back({e, term.text});
    }
    return terms;
  }
  const auto box = operand_box(instruction, access);
  const auto strides = dense_strides(box);
  for (std::size_t i = 0; i < box.size(); ++i) terms.fixed += substitute(a.index[i], dollars) * strides[i];
  return terms;
}

/// Strides are encoded in a state field or in the command: is this one encodable?
std::string room_refusal(const Instruction& instruction, const Operand& operand, const std::string& term,
                         std::int64_t stride, DType type, const HardwareModel& model) {
  const Lookup value_of = [&](const Reference& r) -> std::optional<std::int64_t> {
    if (r.object != operand.name || r.argument != term) return std::nullopt;
    const OperandProperty property = property_of(r);
    if (property == OperandProperty::stride) return stride;
    return property == OperandProperty::pitch ? std::optional(stride * bytes(type)) : std::nullopt;
  };
  const auto text = [&](const std::string& field, std::int64_t value, const std::string& no) {
    return fmt::format("neighbours along {} of {} are {} elements apart; {} needs {} = {}, {}", term, operand.name,
                       stride, instruction.name, field, value, no);
  };
  if (std::string no = broken_condition(instruction, value_of); !no.empty()) return no;
  for (const StateValue& need : instruction.needs) {
    const auto value = evaluate(need.value, value_of);
    const StateField* field = value && !references(need.value).empty() ? state_field(model, need.field) : nullptr;
    if (field == nullptr) continue;
    if (const std::string no = refused_by(*field, *value); !no.empty()) return text(need.field, *value, no);
  }
  if (!instruction.encoding) return "";
  for (const Format& format : model.formats()) {
    if (format.name != instruction.encoding->format) continue;
    for (const auto& [name, expression] : instruction.encoding->fields) {
      const auto value = evaluate(expression, value_of);
      const auto field = std::find_if(format.fields.begin(), format.fields.end(),
                                      [&](const FormatField& f) { return f.name == name; });
      if (!value || references(expression).empty() || field == format.fields.end()) continue;
      if (const std::string no = refused_by(*field, *value); !no.empty()) return text(name, *value, no);
    }
  }
  return "";
}

std::string strides_refusal(const OperandUse& use, const Buffer& buffer, const std::vector<AffineExpr>& index,
                            const Ranges& ranges, const HardwareModel& model) {
  const Instruction& instruction = use.instruction;
  const auto dollars = dollar_names(instruction);
  const Operand& operand = use.operand();
  const AffineExpr offset = simplify(flat_offset(buffer, index), ranges);
  const AffineExpr loop = simplify(offset - at_zero(offset), ranges);
  const LayoutTerms layout = demanded(instruction, use.access, operand, dollars);
  if (!layout.apart.empty()) {
    const auto steps = per_lane_offsets(instruction, use.access, use.extents, offset);
    if (!steps)
      return fmt::format("the elements of {} that {} reads at one address are not adjacent in {}", operand.name,
                         instruction.name, buffer.name);
    for (const std::int64_t step : *steps)
      if (step * bytes(buffer.dtype) % operand.align != 0)
        return fmt::format("{} needs addresses that are multiples of {} B; rows of {} are not aligned so",
                           instruction.name, operand.align, buffer.name);
  }
  const auto without_single = [&](AffineExpr e) {  // a dim of extent 1 has no stride
    for (const std::string& name : e.names())
      if (const auto it = ranges.find(name); name.front() == '$' && it != ranges.end() && it->second.high <= 0)
        e = simplify(substitute(e, {{name, AffineExpr(0)}}), ranges);
    return e;
  };
  AffineExpr remainder = without_single(simplify(loop - layout.fixed, ranges));
  for (const AffineExpr& apart : layout.apart)  // dims with an address for every value need no stride
    for (const std::string& name : apart.names()) remainder = substitute(remainder, {{name, AffineExpr(0)}});
  for (const LayoutTerms::Free& free : layout.free) {
    const AffineExpr term = without_single(simplify(free.term, ranges));
    if (term.is_constant()) continue;
    if (!only_dollars(remainder)) break;
    const std::int64_t stride = evaluate(remainder, unit_point(term, remainder));
    if (const auto multiple = operand.multiple_of.find(free.name);
        multiple != operand.multiple_of.end() && stride * bytes(buffer.dtype) % multiple->second != 0)
      return fmt::format("neighbours along {} of {} are {} bytes apart in {}; {} needs a multiple of {}", free.name,
                         operand.name, stride * bytes(buffer.dtype), buffer.name, instruction.name, multiple->second);
    if (std::string no = room_refusal(instruction, operand, free.name, stride, buffer.dtype, model); !no.empty())
      return no;
    remainder = simplify(remainder - term * stride, ranges);
  }
  if (remainder == AffineExpr(0)) return "";
  for (const std::string& name : remainder.names())
    if (name.front() == '$' && loop.coefficient(name) == layout.fixed.coefficient(name))
      return fmt::format("{} covers {} elements of {} along {}, which cross a block of the layout in {}",
                         instruction.name, ranges.at(name).high + 1, operand.name, name.substr(1), buffer.name);
    else if (name.front() == '$')
      return fmt::format("neighbours along {} of {} are {} elements apart in {}; {} needs {}", name.substr(1),
                         operand.name, loop.coefficient(name), buffer.name, instruction.name,
                         layout.fixed.coefficient(name));
  return fmt::format("{0} has the layout {2} in {1}, which {3} cannot address", operand.name, buffer.name, print(loop),
                     instruction.name);
}

/// A swizzled tile is accepted by an operand with the same swizzle, or by one that only accesses bytes within a chunk.
std::string swizzle_refusal(const Instruction& instruction, int access, const Buffer& buffer,
                            const std::vector<AffineExpr>& index, const Ranges& ranges) {
  const Operand& operand = instruction.operands[operand_of_access(instruction, access).index()];
  const auto* strided = std::get_if<StridedLayout>(&operand.layout);
  const std::optional<XorSwizzle> own = strided ? strided->swizzle : std::nullopt;
  if (own == buffer.swizzle) return "";
  const auto text = [](const XorSwizzle& s) { return fmt::format("xor {} from {} to {}", s.bits, s.from, s.to); };
  if (own)
    return fmt::format("{} needs {} swizzled ({}); {} is {}", instruction.name, operand.name, text(*own), buffer.name,
                       buffer.swizzle ? "swizzled by " + text(*buffer.swizzle) : "not");
  AffineExpr loop = simplify(flat_offset(buffer, index), ranges);
  loop = loop - at_zero(loop);
  const LayoutTerms layout = demanded(instruction, access, operand, dollar_names(instruction));
  for (const AffineExpr& apart : layout.apart)
    for (const std::string& name : apart.names()) loop = substitute(loop, {{name, AffineExpr(0)}});
  const auto range = bounds(simplify(loop, ranges), ranges);
  const std::int64_t size = bytes(buffer.dtype), span = range ? (range->high - range->low + 1) * size : INT64_MAX;
  if (span <= size || (span <= buffer.swizzle->chunk() && std::max<std::int64_t>(operand.align, size) % span == 0))
    return "";
  return fmt::format("{} needs {} contiguous; in {} only {} bytes are, by {}", instruction.name, operand.name,
                     buffer.name, buffer.swizzle->chunk(), text(*buffer.swizzle));
}

// Registers: each point must have the same place in the operand's layout and in the tile's.
std::string register_refusal(const OperandUse& use, const Buffer& buffer, const TileLayout& tile,
                             const std::vector<AffineExpr>& index) {
  const Instruction& instruction = use.instruction;
  const Operand& operand = use.operand();
  const auto box = operand_box(instruction, use.access);
  const auto own = positions(operand, box);
  const std::size_t slots = static_cast<std::size_t>(tile.slots);
  const std::vector<std::int64_t> inner_box(buffer.extents.begin() + tile.slots, buffer.extents.end());
  if (!own) return operand.name + " of " + instruction.name + " has no fixed place in a register";
  std::vector<std::string> names;
  for (const Dim& dim : instruction.statement().domain.dims) names.push_back("$" + dim.name);
  std::vector<CompiledAffine> theirs, ours;
  for (std::size_t i = slots; i < index.size(); ++i) {
    if (!only_dollars(index[i])) return operand.name + " does not begin at a register of " + buffer.name;
    theirs.emplace_back(index[i], names);
  }
  for (const AffineExpr& e : access_of(instruction.statement(), use.access).index)
    ours.emplace_back(substitute(e, dollar_names(instruction)), names);

  // A smaller fragment is a prefix of a larger one: instance and element are compared.
  const auto* fragment = std::get_if<FragmentLayout>(&operand.layout);
  const bool fragments = fragment != nullptr && tile.fragment;
  const std::int64_t own_elements = fragments ? fragment->over.back().second : 1,
                     tile_elements = fragments ? tile.fragment->over.back().second : 1;
  std::vector<std::int64_t> point(names.size(), 0);
  const auto place = [&](const std::vector<CompiledAffine>& map, const std::vector<std::int64_t>& within,
                         const std::vector<std::int64_t>& table) -> std::int64_t {
    std::int64_t flat = 0;
    for (std::size_t i = 0; i < map.size(); ++i) {
      const std::int64_t value = map[i](point.data());
      if (value < 0 || value >= within[i]) return -1;
      flat = flat * within[i] + value;
    }
    return flat < static_cast<std::int64_t>(table.size()) ? table[static_cast<std::size_t>(flat)] : -1;
  };
  while (true) {
    const std::int64_t a = place(ours, box, *own), b = place(theirs, inner_box, tile.positions);
    if (a < 0 || b < 0 || a / own_elements != b / tile_elements || a % own_elements != b % tile_elements)
      return fmt::format("{} of {} has another register layout than {}", operand.name, instruction.name, buffer.name);
    std::size_t d = point.size();
    while (d > 0 && ++point[d - 1] >= use.extents[d - 1]) point[--d] = 0;
    if (d == 0) return "";
  }
}

// The address of a call is the offset at $dims 0: each of its terms must keep the alignment of operand and memory.
std::string alignment_refusal(const Instruction& instruction, const Operand& operand, const Buffer& buffer,
                              const std::vector<AffineExpr>& index, const Ranges& ranges, const HardwareModel& model) {
  const std::int64_t unit = std::max(operand.align, model.memory(buffer.memory).granularity);
  if (unit <= 1) return "";
  const AffineExpr offset = simplify(at_zero(flat_offset(buffer, index)), ranges) * bytes(buffer.dtype);
  bool aligned = offset.constant() % unit == 0 && buffer.align % operand.align == 0;
  for (const AffineTerm& term : offset.terms()) aligned &= term.coefficient % unit == 0;
  if (aligned) return "";
  if (buffer.align % operand.align != 0)
    return fmt::format("operand {} of {} has align {}; {} itself begins at multiples of {} B", operand.name,
                       instruction.name, operand.align, buffer.name, buffer.align);
  if (operand.align < unit)
    return fmt::format(
        "addresses in {} count steps of {} B (its granularity); operand {} of {} would begin at byte {} "
        "of {}",
        model.memory(buffer.memory).name, unit, operand.name, instruction.name, print(offset), buffer.name);
  return fmt::format("operand {} of {} has align {}; in {} it would begin at byte {}", operand.name, instruction.name,
                     operand.align, buffer.name, print(offset));
}

std::string bounds_refusal(const Buffer& buffer, const std::vector<AffineExpr>& index, const Ranges& ranges,
                           const std::vector<AffineExpr>& nonnegative) {
  for (std::size_t i = 0; i < index.size(); ++i) {
    if (isamap::nonnegative(index[i], ranges, nonnegative) &&
        isamap::nonnegative(AffineExpr(buffer.extents[i] - 1) - index[i], ranges, nonnegative))
      continue;
    const auto range = bounds(index[i], ranges);
    return fmt::format("axis {} of {} has {} elements; {} reaches {}..{}", i, buffer.name, buffer.extents[i],
                       print(index[i]), range ? range->low : 0, range ? range->high : 0);
  }
  return "";
}

/// For tensors with a host-side descriptor (TMA): the call gives coordinates instead of addresses, which may be out of
/// bounds.
std::string described_refusal(const OperandUse& use, const Buffer& buffer, const std::vector<AffineExpr>& index,
                              const Ranges& ranges, const KnownHere& known) {
  const Instruction& instruction = use.instruction;
  const Operand& operand = use.operand();
  if (buffer.role != BufferRole::argument)
    return fmt::format("{} needs {} with a tensor descriptor of the host, and {} is not an argument", instruction.name,
                       operand.name, buffer.name);
  if (const auto made = described_tensor(instruction, use.access, buffer, index, use.extents, ranges); !made)
    return made.diagnostics().front().message;
  if (!operand.outside)
    if (std::string no = bounds_refusal(buffer, index, ranges, known.nonnegative); !no.empty()) return no;
  if (std::string no = strides_refusal(use, buffer, index, ranges, known.model); !no.empty()) return no;
  if (buffer.align % operand.align == 0) return "";
  return fmt::format("{} of {} has align {}; {} begins at multiples of {} B", operand.name, instruction.name,
                     operand.align, buffer.name, buffer.align);
}

}  // namespace

bool allows(const DimRange& range, std::int64_t extent) {
  return extent >= range.min && extent <= range.max && extent % std::max<std::int64_t>(range.multiple_of, 1) == 0;
}

std::string type_refusal(const Instruction& instruction, int access, DType tile) {
  const Operand& operand = instruction.operands[operand_of_access(instruction, access).index()];
  const bool fits =
      !operand.dtype || *operand.dtype == tile || (is_bits(*operand.dtype) && bits(*operand.dtype) == bits(tile));
  return fits ? ""
              : fmt::format("{} of {} is {}; the tile holds {}", operand.name, instruction.name, name(*operand.dtype),
                            name(tile));
}

std::string type_refusal_in_memory(const Instruction& instruction, int access, DType tensor) {
  const auto& own = instruction.operands[operand_of_access(instruction, access).index()].dtype;
  return own && same_ring(*own, tensor) ? "" : type_refusal(instruction, access, tensor);
}

Ranges dim_ranges(const Instruction& instruction, const std::vector<std::int64_t>& extents) {
  Ranges ranges;
  const auto& dims = instruction.statement().domain.dims;
  for (std::size_t d = 0; d < dims.size(); ++d) ranges["$" + dims[d].name] = {0, extents[d] - 1};
  return ranges;
}

std::string refusal(const OperandUse& use, const Buffer& buffer, const TileLayout& tile,
                    const std::vector<AffineExpr>& index, const KnownHere& known) {
  const HardwareModel& model = known.model;
  const Instruction& instruction = use.instruction;
  const Operand& operand = use.operand();
  if (buffer.memory != operand.memory)
    return fmt::format("{} of {} lives in {}; the tile is in {}", operand.name, instruction.name,
                       operand.memory.valid() ? model.memory(operand.memory).name : "no memory",
                       model.memory(buffer.memory).name);
  if (std::string reason = tile.slots < 0 ? type_refusal_in_memory(instruction, use.access, buffer.dtype)
                                          : type_refusal(instruction, use.access, buffer.dtype);
      !reason.empty())
    return reason;
  Ranges ranges = known.ranges;
  for (const auto& [name, range] : dim_ranges(instruction, use.extents)) ranges[name] = range;
  std::vector<AffineExpr> simple;
  for (const AffineExpr& e : index) simple.push_back(simplify(e, ranges));
  if (!operand.object.empty()) return described_refusal(use, buffer, simple, ranges, known);
  if (std::string reason = bounds_refusal(buffer, simple, ranges, known.nonnegative); !reason.empty()) return reason;
  const bool fragment = std::holds_alternative<FragmentLayout>(operand.layout);
  if (tile.slots >= 0 && !fragment && operand.group != buffer.registers_per_slot)
    return fmt::format("{} of {} takes groups of {} registers; {} holds groups of {}", operand.name, instruction.name,
                       operand.group, buffer.name, buffer.registers_per_slot);
  if (tile.slots >= 0) return register_refusal(use, buffer, tile, simple);
  if (std::string reason = strides_refusal(use, buffer, simple, ranges, model); !reason.empty()) return reason;
  if (std::string reason = swizzle_refusal(instruction, use.access, buffer, simple, ranges); !reason.empty())
    return reason;
  return alignment_refusal(instruction, operand, buffer, simple, ranges, model);
}

}  // namespace isamap

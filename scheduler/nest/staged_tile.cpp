// SPDX-License-Identifier: Apache-2.0
#include "scheduler/nest/staged_tile.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/start.h"
#include "scheduler/nest/default_layout.h"
#include "scheduler/nest/digit_room.h"
#include "scheduler/nest/operand_compatibility.h"
#include "support/arithmetic.h"

namespace isamap {
namespace {

AffineExpr coordinate_symbol(std::size_t i) { return AffineExpr::dim("#" + std::to_string(i)); }

// The instruction dims that an operand's subscripts are, in order; nothing when a subscript is no plain dim.
std::optional<std::vector<std::size_t>> operand_dims(const Instruction& instruction, int access) {
  std::vector<std::size_t> dims;
  for (const AffineExpr& e : access_of(instruction.statement(), access).index) {
    const auto dim = e.as_dim();
    if (!dim) return std::nullopt;
    dims.push_back(static_cast<std::size_t>(instruction.statement().domain.find(*dim)));
  }
  return dims;
}

bool is_pseudo(const Pairing& p, int access, std::size_t dim) {
  return p.fused_dim_of[dim].empty() || !uses(access_of(*p.statement, access), p.fused_dim_of[dim]);
}

// Coordinate of an instruction dim that the tensor lacks: replicated, or of extent 1 (virtual).
Coordinate pseudo_coordinate(const Pairing& p, std::size_t dim) {
  Coordinate c;
  c.form = AffineExpr::dim("$" + p.instruction->statement().domain.dims[dim].name);
  c.padded = c.block = full_extent(*p.instruction, dim);
  c.extent = p.fused_dim_of[dim].empty() ? 1 : c.padded;
  return c;
}

Coordinate coordinate(const AffineExpr& form, std::int64_t block, const Tiles& tiles) {
  const FormRange range = range_over(form, tiles);
  return {form, range.start, range.extent, round_up(range.extent, block), block};
}

/// Of a window p + r: padded as far as full-extent calls reach past the ends of p and r.
Coordinate window_coordinate(const Pairing& p, const AffineExpr& form, const Tiles& tiles) {
  Coordinate c = coordinate(form, 1, tiles);
  Tiles reached = tiles;
  for (const std::string& name : form.names())
    if (const auto digit = p.digit_of.find(name); digit != p.digit_of.end()) {
      std::int64_t& size = reached.at(name).size;
      if (!allows(p.instruction->ranges[digit->second], size))
        size = round_up(size, full_extent(*p.instruction, digit->second));
    }
  const bool grows = std::all_of(form.terms().begin(), form.terms().end(),
                                 [](const AffineTerm& term) { return term.coefficient > 0; });
  if (grows) c.padded = range_over(form, reached).extent;
  return c;
}

std::size_t add(std::vector<Coordinate>& coordinates, const Coordinate& c) {
  for (std::size_t i = 0; i < coordinates.size(); ++i)
    if (coordinates[i].form == c.form) return i;
  coordinates.push_back(c);
  return coordinates.size() - 1;
}

Result<NewTile> register_tile(const Pairing& p, int access, const Tiles& tiles) {
  const int operand = p.operand_access[static_cast<std::size_t>(access)];
  const auto dims = operand_dims(*p.instruction, operand);
  if (!dims)
    return error(
        fmt::format("operand {} of {} has subscripts that are no plain dims; staging it in registers "
                    "is not supported",
                    operand, p.instruction->name));
  NewTile result;
  TileLayout& tile = result.tile;
  std::vector<AffineExpr> interior;
  const Access& a = access_of(*p.statement, access);
  for (const Dim& dim : p.statement->domain.dims) {  // slots: one register for each block of each dim in the access
    if (!uses(a, dim.name)) continue;
    const auto digit = p.digit_of.find(dim.name);
    const std::int64_t block = digit == p.digit_of.end() ? 1 : full_extent(*p.instruction, digit->second);
    const std::size_t i = add(tile.coordinates, coordinate(AffineExpr::dim(dim.name), block, tiles));
    const std::int64_t slots = tile.coordinates[i].padded / block;
    if (slots > 1) {
      tile.axes.push_back(floordiv(coordinate_symbol(i), block));
      result.buffer.extents.push_back(slots);
    }
  }
  tile.slots = static_cast<int>(tile.axes.size());
  for (std::size_t dim : *dims) {
    const std::size_t i = is_pseudo(p, access, dim)
                              ? add(tile.coordinates, pseudo_coordinate(p, dim))
                              : add(tile.coordinates, coordinate(AffineExpr::dim(p.fused_dim_of[dim]), 1, tiles));
    const std::int64_t block = full_extent(*p.instruction, dim);
    interior.push_back(block == 1 ? AffineExpr(0) : mod(coordinate_symbol(i), block));
    result.buffer.extents.push_back(block);
  }
  tile.axes.insert(tile.axes.end(), interior.begin(), interior.end());
  const TensorId t = operand_of_access(*p.instruction, operand);
  const auto places = positions(p.instruction->operands[t.index()], operand_box(*p.instruction, operand));
  if (!places) return error("operand " + p.instruction->tensors[t.index()].name + " has no fixed place in a register");
  tile.positions = *places;
  if (const auto* fragment = std::get_if<FragmentLayout>(&p.instruction->operands[t.index()].layout))
    tile.fragment = *fragment;
  result.buffer.slots = tile.slots;
  return result;
}

Result<NewTile> memory_tile(const Pairing& p, int access, const std::vector<LayoutDigit>& layout, const Tiles& tiles) {
  if (const std::string no = layout_refusal(layout, p.instruction.get(), tiles); !no.empty()) return error(no);
  NewTile result;
  TileLayout& tile = result.tile;
  struct Digit {
    std::size_t coordinate;
    SplitDigit split;
    std::int64_t pad;
  };
  std::vector<Digit> digits;
  for (const LayoutDigit& digit : layout) {
    const SplitDigit split = *split_digit(digit.index);
    const auto name = split.form.as_dim();
    const bool pseudo = name && name->front() == '$';
    const int d = pseudo ? p.instruction->statement().domain.find(name->substr(1)) : -1;
    const Coordinate c = pseudo ? pseudo_coordinate(p, static_cast<std::size_t>(d))
                         : p.instruction && split.form.names().size() > 1 ? window_coordinate(p, split.form, tiles)
                                                                          : coordinate(split.form, 1, tiles);
    digits.push_back({add(tile.coordinates, c), split, digit.pad});
  }
  for (std::size_t i = 0; i < tile.coordinates.size(); ++i) {
    Coordinate& c = tile.coordinates[i];
    std::vector<const SplitDigit*> own;
    for (const Digit& digit : digits)
      if (digit.coordinate == i) own.push_back(&digit.split);
    const DigitRoom room = room_of(own, std::max(c.extent, c.padded));
    if (room.block > 1) c.block = room.block;
    c.padded = room.room;
  }
  std::vector<std::int64_t> room;
  for (const Digit& digit : digits) {
    tile.axes.push_back(substitute(digit.split.digit, {{"#", coordinate_symbol(digit.coordinate)}}));
    result.buffer.extents.push_back(digit_extent(digit.split, tile.coordinates[digit.coordinate].padded));
    room.push_back(result.buffer.extents.back() + digit.pad);
    result.buffer.layout_text +=
        (result.buffer.layout_text.empty() ? "[" : ", ") + print(layout[room.size() - 1].index);
  }
  result.buffer.layout_text += "]";
  result.buffer.strides = dense_strides(room);
  tile.zero_padded = access != 0;
  return result;
}

// Alignment of addresses that the machine's instructions need in a memory.
std::int64_t alignment_of(MemoryId memory, const HardwareModel& model) {
  std::int64_t align = model.memory(memory).granularity;
  for (const Instruction& instruction : model.instructions())
    for (const Operand& operand : instruction.operands)
      if (operand.memory == memory) align = std::max({align, operand.align, operand.align_buffer});
  return align;
}

}  // namespace

int registers_of(const Instruction& instruction, int operand, DType dtype, const Memory& memory) {
  const Operand& o = instruction.operands[operand_of_access(instruction, operand).index()];
  std::int64_t elements = 1;
  for (std::int64_t extent : operand_box(instruction, operand)) elements *= extent;
  if (const auto* fragment = std::get_if<FragmentLayout>(&o.layout)) elements = fragment->over.back().second;
  const std::int64_t size = std::max<std::int64_t>(memory.size, 1);
  return std::max(o.group, static_cast<int>(ceil_div(elements * bits(dtype), 8 * size)));
}

bool can_start_at_zero(const Instruction& instruction) { return may_start(instruction, Start::zero); }

std::int64_t full_extent(const Instruction& instruction, std::size_t dim) { return instruction.ranges[dim].max; }

Pairing pair(const Computation& statement, InstructionForm instruction, const Mapping& mapping) {
  Pairing p;
  p.statement = &statement;
  p.instruction = std::move(instruction);
  p.operand_access.assign(static_cast<std::size_t>(access_count(statement)), -1);
  if (!p.instruction) return p;
  p.tree = mapping.tree;
  for (std::size_t i = 0; i < mapping.operands.size(); ++i)
    if (is_constant_operand(mapping, i)) {
      p.constant_operand = static_cast<int>(i);
      p.constant = *mapping.constant;
    } else {
      p.operand_access[static_cast<std::size_t>(mapping.operands[i])] = static_cast<int>(i);
    }
  for (std::size_t m = 0; m < mapping.dims.size(); ++m) {
    p.fused_dim_of.push_back(mapping.dims[m].empty() ? "" : fused_name(mapping.dims[m]));
    if (!mapping.dims[m].empty()) p.digit_of[p.fused_dim_of.back()] = m;
  }
  return p;
}

bool any_stride(const Instruction& instruction, int operand, std::size_t dim) {
  const DimRange& range = instruction.ranges[dim];
  const auto* strided =
      std::get_if<StridedLayout>(&instruction.operands[operand_of_access(instruction, operand).index()].layout);
  if (!strided || range.min > 1 || range.multiple_of > 1 || range.max == 1) return false;
  return std::any_of(strided->terms.begin(), strided->terms.end(), [&](const StrideTerm& term) {
    return !term.stride && term.each.empty() && term.term.as_dim() == instruction.statement().domain.dims[dim].name;
  });
}

namespace {

/// A digit of the instruction's layout, and its stride.
struct OwnDigit {
  std::int64_t stride = 0;
  LayoutDigit digit;
};

/// Digits of subscript `at` in the operand's layout: one, or those of `{k/4: 64, k%4: 1}`.
std::vector<SplitDigit> divisions(const Operand& operand, std::size_t at) {
  std::vector<SplitDigit> found;
  if (const auto* strided = std::get_if<StridedLayout>(&operand.layout))
    for (const StrideTerm& term : strided->terms)
      if (term.term.names().contains(operand.index_names[at]))
        if (auto split = split_digit(term.term)) found.push_back(std::move(*split));
  if (found.size() < 2) found.assign(1, SplitDigit{});
  return found;
}

/// Digits of the operand of one call, by decreasing stride: j%16 and k%64, or k/4%16, j%16 and k%4 for a panel.
std::vector<LayoutDigit> instruction_digits(const Pairing& p, int access, const Operand* read_as) {
  const int number = p.operand_access[static_cast<std::size_t>(access)];
  const auto dims = operand_dims(*p.instruction, number);
  if (!dims) return {};
  const Operand& own = p.instruction->operands[operand_of_access(*p.instruction, number).index()];
  const Operand& operand = read_as != nullptr ? *read_as : own;
  const auto box = operand_box(*p.instruction, number);
  const auto places = positions(operand, box);
  const auto row = dense_strides(box);
  std::vector<OwnDigit> digits;
  for (std::size_t at = 0; at < dims->size(); ++at) {
    const std::size_t d = (*dims)[at];
    if (any_stride(*p.instruction, number, d)) continue;
    const std::int64_t block = full_extent(*p.instruction, d);
    const auto stride = [&](std::int64_t step) {
      return places && box[at] > step ? (*places)[static_cast<std::size_t>(row[at] * step)] : row[at] * step;
    };
    if (is_pseudo(p, access, d)) {
      const std::string name = "$" + p.instruction->statement().domain.dims[d].name;
      digits.push_back({stride(1), {AffineExpr::dim(name), 0}});
      continue;
    }
    if (block == 1) continue;
    for (const SplitDigit& s : divisions(operand, at)) {
      const std::int64_t range = s.modulo != 0 ? s.modulo : ceil_div(block, s.divide);
      if (range > 1)
        digits.push_back({stride(s.divide), {mod(floordiv(AffineExpr::dim(p.fused_dim_of[d]), s.divide), range), 0}});
    }
  }
  std::stable_sort(digits.begin(), digits.end(),
                   [](const OwnDigit& x, const OwnDigit& y) { return x.stride > y.stride; });
  std::vector<LayoutDigit> result;
  for (OwnDigit& d : digits) result.push_back(std::move(d.digit));
  return result;
}

}  // namespace

std::vector<LayoutDigit> blocked_layout(const Pairing& p, int access, const Operand* read_as) {
  const Access& a = access_of(*p.statement, access);
  const int operand = p.operand_access[static_cast<std::size_t>(access)];
  std::vector<LayoutDigit> outer, reduced, inner;
  std::vector<std::string> looped, free;
  if (p.instruction && operand >= 0) {
    for (const std::size_t d : operand_dims(*p.instruction, operand).value_or(std::vector<std::size_t>{}))
      if (any_stride(*p.instruction, operand, d))
        free.push_back(p.fused_dim_of[d]);
      else if (!is_pseudo(p, access, d))
        looped.push_back(p.fused_dim_of[d]);
    inner = instruction_digits(p, access, read_as);
  }
  // Dims of any stride are next to the blocks, those of the output innermost, so that blocks along them are adjacent.
  std::vector<LayoutDigit> free_reduced, free_outer;
  const auto place = [&](const AffineExpr& digit) {
    const auto dim = digit.as_dim();
    const bool lies = !inner.empty() && dim && std::find(free.begin(), free.end(), *dim) != free.end();
    const auto names = digit.names();
    const bool all_reduced = std::all_of(names.begin(), names.end(), [&](const std::string& n) {
      return p.statement->domain.dims[static_cast<std::size_t>(p.statement->domain.find(n))].kind == DimKind::reduction;
    });
    auto& list = all_reduced ? (lies ? free_reduced : reduced) : lies ? free_outer : outer;
    if (std::find(list.begin(), list.end(), LayoutDigit{digit, 0}) == list.end()) list.push_back({digit, 0});
  };
  const auto is_looped = [&](const std::string& n) {
    return std::find(looped.begin(), looped.end(), n) != looped.end();
  };
  for (const AffineExpr& form : natural_forms(a)) {
    const auto names = form.names();
    if (std::none_of(names.begin(), names.end(), is_looped)) {
      place(names.size() == 1 ? AffineExpr::dim(*names.begin()) : form);  // of 2*p no places between two
      continue;
    }
    for (const std::string& n : names) {
      const std::int64_t block = is_looped(n) ? full_extent(*p.instruction, p.digit_of.at(n)) : 1;
      place(floordiv(AffineExpr::dim(n), block));
    }
  }
  outer.insert(outer.end(), reduced.begin(), reduced.end());
  outer.insert(outer.end(), free_reduced.begin(), free_reduced.end());
  outer.insert(outer.end(), free_outer.begin(), free_outer.end());
  outer.insert(outer.end(), inner.begin(), inner.end());
  return outer;
}

namespace {

/// Is a reduction dim of fixed extent mapped to a dim of the form?
bool reduces_in_fixed_steps(const Pairing& p, const AffineExpr& form) {
  const auto names = form.names();
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    const auto digit = p.digit_of.find(name);
    return digit != p.digit_of.end() && p.instruction->ranges[digit->second].fixed() &&
           p.instruction->statement().domain.dims[digit->second].kind == DimKind::reduction;
  });
}

}  // namespace

bool padding_must_be_zero(const Pairing& p, const Coordinate& c) {
  if (!p.instruction) return false;
  const auto name = c.form.as_dim();
  if (!name) return c.padded > c.extent && reduces_in_fixed_steps(p, c.form);
  std::size_t dim = 0;
  if (c.pseudo()) {
    dim = static_cast<std::size_t>(p.instruction->statement().domain.find(name->substr(1)));
    if (!p.fused_dim_of[dim].empty()) return false;
  } else {
    const auto it = p.digit_of.find(*name);
    if (it == p.digit_of.end()) return false;
    dim = it->second;
  }
  return p.instruction->ranges[dim].fixed() && p.instruction->statement().domain.dims[dim].kind == DimKind::reduction;
}

namespace {

/// An operand staged in other registers than the instruction's: the operand in `memory` of a move between it and the
/// instruction's memory, with the same box.
struct StagingMove {
  const Instruction* move = nullptr;
  int access = 0;
};
std::optional<StagingMove> staging_move(const Pairing& p, int operand, bool output, MemoryId memory, DType dtype,
                                        const HardwareModel& model) {
  const MemoryId own = p.instruction->operands[operand_of_access(*p.instruction, operand).index()].memory;
  const auto box = operand_box(*p.instruction, operand);
  for (const Instruction& move : model.instructions()) {
    if (!is_move(move)) continue;
    const int near = output ? 1 : 0, far = output ? 0 : 1;  // drained from `own`, or filled into it
    const Operand& here = move.operands[operand_of_access(move, near).index()];
    const Operand& there = move.operands[operand_of_access(move, far).index()];
    const bool connects =
        here.memory == own && there.memory == memory && operand_box(move, near) == box && operand_box(move, far) == box;
    if (connects && type_refusal(move, near, dtype).empty() && type_refusal(move, far, dtype).empty())
      return StagingMove{&move, far};
  }
  return std::nullopt;
}

/// Tiles have the signedness of the instruction's operand.
DType tile_type(const Pairing& p, int operand, DType tensor) {
  if (operand < 0) return tensor;
  const auto& taken = p.instruction->operands[operand_of_access(*p.instruction, operand).index()].dtype;
  return taken && same_ring(*taken, tensor) ? *taken : tensor;
}

}  // namespace

Result<NewTile> make_tile(const Pairing& p, const Kernel& kernel, const TileSpec& spec, const Tiles& tiles,
                          const HardwareModel& model) {
  const auto& [access, memory, layout] = spec;
  const Access& a = access_of(*p.statement, access);
  const Tensor& tensor = kernel.tensors[a.tensor.index()];
  const int operand = p.operand_access[static_cast<std::size_t>(access)];
  const bool is_operand_memory =
      operand >= 0 && p.instruction->operands[operand_of_access(*p.instruction, operand).index()].memory == memory;
  const DType dtype = tile_type(p, operand, tensor.dtype);
  Result<NewTile> made = error("");
  int registers = 0;  // of one slot, if given by the move
  if (model.memory(memory).is_register()) {
    const auto through =
        is_operand_memory || operand < 0 ? std::nullopt : staging_move(p, operand, access == 0, memory, dtype, model);
    if (!is_operand_memory && !through)
      return error(
          fmt::format("{} is staged in {}, but the instruction accesses it elsewhere, and no move connects the two",
                      tensor.name, model.memory(memory).name));
    made = register_tile(p, access, tiles);
    if (made && through) {
      const Operand& passing = through->move->operands[operand_of_access(*through->move, through->access).index()];
      const auto places = positions(passing, operand_box(*through->move, through->access));
      if (!places) return error(passing.name + " of " + through->move->name + " has no fixed place in a register");
      made->tile.positions = *places;
      made->tile.fragment.reset();
      registers = registers_of(*through->move, through->access, dtype, model.memory(memory));
    }
  } else if (!layout.empty()) {
    made = memory_tile(p, access, layout, tiles);
  } else {
    made = memory_tile(p, access, default_layout(p, access, memory, model), tiles);
  }
  if (!made) return made;
  if (made->tile.slots >= 0)
    made->buffer.registers_per_slot =
        registers > 0 ? registers : registers_of(*p.instruction, operand, dtype, model.memory(memory));
  const std::int64_t needed = alignment_of(memory, model);
  made->buffer.align = memory == model.home() ? std::max(made->buffer.align, needed) : needed;
  made->buffer.name = tensor.name + "_" + model.memory(memory).name;
  made->buffer.memory = memory;
  made->buffer.dtype = dtype;
  made->buffer.tensor = a.tensor;
  return made;
}

// Do the digits of a layout give every element of a tile a place of its own?

namespace {

// Digits (x / d) % m in increasing d determine x modulo `known`: each extends the range of those before.
bool rebuild(std::vector<SplitDigit> digits, std::int64_t extent) {
  std::stable_sort(digits.begin(), digits.end(), [](const auto& a, const auto& b) { return a.divide < b.divide; });
  std::int64_t known = 1;
  for (const SplitDigit& digit : digits) {
    if (known % digit.divide != 0) continue;
    if (digit.modulo == 0) return true;
    known = std::max(known, checked_mul(digit.divide, digit.modulo).value_or(extent));
  }
  return known >= extent;
}

}  // namespace

std::string layout_refusal(const std::vector<LayoutDigit>& layout, const Instruction* instruction, const Tiles& tiles) {
  std::vector<std::pair<AffineExpr, std::vector<SplitDigit>>> forms;
  for (const LayoutDigit& digit : layout) {
    const auto split = split_digit(digit.index);
    if (!split) return fmt::format("layout digit {} is not of the form f, f/c, f%c or f/c%m", print(digit.index));
    const auto name = split->form.as_dim();
    const bool pseudo = name && name->front() == '$';
    if (pseudo && (!instruction || instruction->statement().domain.find(name->substr(1)) < 0))
      return "layout digit " + *name + " is no dim of the instruction";
    for (const std::string& n : split->form.names())
      if (!pseudo && !tiles.contains(n))
        return "layout digit " + print(digit.index) + ": " + n + " is no dim of the statement";
    const auto same = std::find_if(forms.begin(), forms.end(), [&](const auto& f) { return f.first == split->form; });
    if (same == forms.end())
      forms.push_back({split->form, {*split}});
    else
      same->second.push_back(*split);
  }
  for (const auto& [form, digits] : forms) {
    const auto name = form.as_dim();
    if (name && name->front() == '$') continue;  // replicated: any place will do
    const std::int64_t extent = range_over(form, tiles).extent;
    if (!rebuild(digits, extent))
      return fmt::format("the layout's digits of {} do not tell its {} values apart", print(form), extent);
  }
  return "";
}

}  // namespace isamap

#include "scheduler/transfer.h"

#include <fmt/format.h>

#include <algorithm>

#include "scheduler/machine_costs.h"
#include "scheduler/operand_check.h"
#include "scheduler/stage_tile.h"
#include "support/arithmetic.h"

namespace isamap {

namespace {

constexpr std::size_t max_reasons = 6;

// A move (or fill) and, for each of its dims, the coordinate of the tile that it walks; -1: the dim has extent 1 here.
struct Candidate {
  InstructionId instruction;
  std::vector<int> coordinate;
  std::vector<std::int64_t> blocks;
  std::int64_t calls = 0;
};

const Instruction& instruction_of(const Lowering& lowering, InstructionId id) {
  return lowering.model.instruction(id);
}

std::optional<std::int64_t> block_for(const Coordinate& c, const DimRange& range) {
  const std::int64_t block = c.block > 1 ? c.block : std::max<std::int64_t>(1, std::min(range.max, c.padded));
  if (c.block > 1 && range.max < c.block) return std::nullopt;
  return block;
}

void assign(const Lowering& lowering, const TileBuffer& tile, Candidate& candidate, std::vector<Candidate>& out) {
  const Instruction& instruction = instruction_of(lowering, candidate.instruction);
  const std::size_t d = candidate.coordinate.size();
  if (d == instruction.ranges.size()) {
    candidate.calls = 1;
    for (std::size_t i = 0; i < tile.coordinates.size(); ++i) {   // what no dim walks is visited element by element
      const bool walked = std::find(candidate.coordinate.begin(), candidate.coordinate.end(), static_cast<int>(i)) !=
                          candidate.coordinate.end();
      candidate.calls *= ceil_div(std::max<std::int64_t>(tile.coordinates[i].extent, 1), walked ? candidate.blocks[i] : 1);
    }
    out.push_back(candidate);
    return;
  }
  for (int i = -1; i < static_cast<int>(tile.coordinates.size()); ++i) {
    const bool taken = i >= 0 && std::find(candidate.coordinate.begin(), candidate.coordinate.end(), i) !=
                                     candidate.coordinate.end();
    if (taken || (i < 0 && !allows(instruction.ranges[d], 1))) continue;
    const auto block = i < 0 ? std::optional<std::int64_t>(1)
                             : block_for(tile.coordinates[static_cast<std::size_t>(i)], instruction.ranges[d]);
    if (!block) continue;
    candidate.coordinate.push_back(i);
    const std::int64_t before = i < 0 ? 1 : candidate.blocks[static_cast<std::size_t>(i)];
    if (i >= 0) candidate.blocks[static_cast<std::size_t>(i)] = *block;
    assign(lowering, tile, candidate, out);
    if (i >= 0) candidate.blocks[static_cast<std::size_t>(i)] = before;
    candidate.coordinate.pop_back();
  }
}

// Instructions for which `fits` holds, with every assignment of their dims, fewest calls first, unmasked first.
std::vector<Candidate> candidates(const Lowering& lowering, const TileBuffer& tile,
                                  const std::function<bool(const Instruction&)>& fits) {
  std::vector<Candidate> all;
  const auto& instructions = lowering.model.instructions();
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    if (!fits(instructions[i]) || instructions[i].ranges.size() > 3) continue;
    Candidate candidate{make_id<InstructionId>(i), {}, std::vector<std::int64_t>(tile.coordinates.size(), 1), 0};
    for (std::size_t c = 0; c < tile.coordinates.size(); ++c) candidate.blocks[c] = tile.coordinates[c].block;
    assign(lowering, tile, candidate, all);
  }
  std::stable_sort(all.begin(), all.end(), [&](const Candidate& a, const Candidate& b) {
    const auto key = [&](const Candidate& c) {
      return std::make_pair(c.calls, instruction_of(lowering, c.instruction).masks.size());
    };
    return key(a) < key(b);
  });
  return all;
}

Known known_at(const TileBuffer& tile, const std::vector<AffineExpr>& begin, const Candidate& candidate,
               const Instruction& instruction) {
  Known known;
  for (std::size_t i = 0; i < begin.size(); ++i) {
    AffineExpr value = begin[i];
    for (std::size_t d = 0; d < candidate.coordinate.size(); ++d)
      if (candidate.coordinate[d] == static_cast<int>(i))
        value += AffineExpr::dim("$" + instruction.statement().domain.dims[d].name);
    known.emplace_back(tile.coordinates[i].form, value);
  }
  return known;
}

// At the end of a tile, does the outer tile hold padding after the valid elements?
bool outer_is_padding(const Lowering& lowering, const Copy& copy, std::size_t i, const AffineExpr& begin,
                      std::int64_t valid) {
  const Coordinate& c = copy.inner->coordinates[i];
  for (const Coordinate& o : copy.outer->coordinates)
    if (o.form == c.form)
      return simplify(begin + valid - o.start - o.extent, lowering.ranges) == AffineExpr(0);
  return false;
}

// May coordinate i be moved with `extent` elements when only `valid` of its block are elements of the tensor?
bool padding_allowed(const Lowering& lowering, const Copy& copy, const Instruction& move, std::size_t i,
                     const AffineExpr& begin, std::int64_t valid, std::int64_t extent) {
  const Coordinate& c = copy.inner->coordinates[i];
  const bool whole = valid == c.block || (c.block == 1 && extent == valid);
  if (whole) return extent == valid;
  const bool must_be_zero = copy.zero[i];
  if (extent == valid)
    return copy.into_inner ? (!must_be_zero || move.inactive == Inactive::zero) : move.inactive != Inactive::zero;
  if (c.pseudo()) return copy.into_inner && !must_be_zero;
  if (copy.into_inner && !must_be_zero) return true;
  return outer_is_padding(lowering, copy, i, begin, valid) && (!copy.into_inner || copy.outer->zero_padded);
}

// A masked move writes its inactive points too. Where one point is active the tile's index says 0 for all of them; inside
// a register each point has the place that its own subscript names: D[0] becomes D[$j].
void name_inactive_points(const Instruction& move, int access, const std::vector<std::int64_t>& extents,
                          const Buffer& buffer, std::vector<AffineExpr>& index) {
  const std::vector<AffineExpr>& subscripts = access_of(move.statement(), access).index;
  if (buffer.slots < 0 || index.size() != static_cast<std::size_t>(buffer.slots) + subscripts.size()) return;
  for (std::size_t s = 0; s < subscripts.size(); ++s) {
    const auto dim = subscripts[s].as_dim();
    AffineExpr& at = index[static_cast<std::size_t>(buffer.slots) + s];
    if (!dim || !(at == AffineExpr(0))) continue;
    if (extents[static_cast<std::size_t>(move.statement().domain.find(*dim))] == 1) at = AffineExpr::dim("$" + *dim);
  }
}

struct MovePiece {
  Lowering& lowering;
  const Copy& copy;
  const Candidate& shape;
  std::vector<std::string>& reasons;

  void reason(const std::string& text) {
    if (reasons.size() < max_reasons && std::find(reasons.begin(), reasons.end(), text) == reasons.end())
      reasons.push_back(text);
  }

  bool walks(std::size_t i) const {
    return std::find(shape.coordinate.begin(), shape.coordinate.end(), static_cast<int>(i)) != shape.coordinate.end();
  }

  // One move of this instruction, with each dim taking exactly what is valid (`exact`) or its whole block.
  std::optional<std::vector<Node>> attempt(InstructionId id, const std::vector<AffineExpr>& begin,
                                           const std::vector<std::int64_t>& valid, bool exact) {
    const Instruction& move = instruction_of(lowering, id);
    if (copy.into_inner)
      for (std::size_t i = 0; i < copy.zero.size(); ++i)
        if (copy.zero[i] && !walks(i) && copy.inner->coordinates[i].padded != copy.inner->coordinates[i].extent) {
          reason(fmt::format("{} would not set the padding of {} along {} to 0", move.name,
                             lowering.buffer(copy.inner->buffer).name, print(copy.inner->coordinates[i].form)));
          return std::nullopt;
        }
    std::vector<std::int64_t> extents;
    for (std::size_t d = 0; d < shape.coordinate.size(); ++d) {
      const int i = shape.coordinate[d];
      const std::size_t at = static_cast<std::size_t>(std::max(i, 0));
      const std::int64_t extent = i < 0 ? 1 : exact ? valid[at] : shape.blocks[at];
      if (!allows(move.ranges[d], extent)) {
        reason(fmt::format("{} moves {} along {}; the tile has {}", move.name, move.ranges[d].max,
                           move.statement().domain.dims[d].name, extent));
        return std::nullopt;
      }
      if (i >= 0 && !padding_allowed(lowering, copy, move, at, begin[at], valid[at], extent)) {
        reason(fmt::format("{} cannot leave out the last {} of {} along {}", move.name, shape.blocks[at] - valid[at],
                           shape.blocks[at], print(copy.inner->coordinates[at].form)));
        return std::nullopt;
      }
      extents.push_back(extent);
    }
    return call(id, begin, extents);
  }

  // A move that also sets what lies beyond its extents: all of its box must be this tile's, each dim in its own place.
  std::string whole_box_refusal(const Instruction& move, const std::vector<std::int64_t>& extents, const TileBuffer& tile,
                                const std::vector<AffineExpr>& index) {
    std::vector<std::int64_t> full = extents;
    for (std::size_t d = 0; d < full.size(); ++d) {
      full[d] = move.ranges[d].max;
      const std::string name = "$" + move.statement().domain.dims[d].name;
      const bool said = std::any_of(index.begin(), index.end(), [&](const AffineExpr& e) { return e.names().contains(name); });
      if (!said && full[d] > 1 && uses(move.statement().write, move.statement().domain.dims[d].name))
        return fmt::format("{} also sets {} positions along {} that the tile does not have", move.name, full[d] - extents[d],
                           move.statement().domain.dims[d].name);
    }
    return refusal(move, 0, full, lowering.buffer(tile.buffer), tile, index, lowering.ranges, lowering.model);
  }

  std::optional<std::vector<Node>> call(InstructionId id, const std::vector<AffineExpr>& begin,
                                        const std::vector<std::int64_t>& extents) {
    const Instruction& move = instruction_of(lowering, id);
    Ranges ranges = lowering.ranges;
    for (const auto& [name, range] : dim_ranges(move, full_extents(move))) ranges[name] = range;
    const Known known = known_at(*copy.inner, begin, shape, move);
    const TileBuffer& to = copy.into_inner ? *copy.inner : *copy.outer;
    const TileBuffer& from = copy.into_inner ? *copy.outer : *copy.inner;
    std::vector<Ref> refs;
    int access = 0;
    for (const TileBuffer* tile : {&to, &from}) {
      const auto index = index_at(*tile, known, ranges);
      if (!index) {
        reason("the tile's coordinates cannot be said in those of " + lowering.buffer(tile->buffer).name);
        return std::nullopt;
      }
      const bool all_written = access == 0 && (move.inactive == Inactive::zero || move.inactive == Inactive::undefined);
      const std::string no = all_written ? whole_box_refusal(move, extents, *tile, *index)
                                         : refusal(move, access, extents, lowering.buffer(tile->buffer), *tile, *index,
                                                   lowering.ranges, lowering.model);
      ++access;
      if (!no.empty()) {
        reason(no);
        return std::nullopt;
      }
      refs.push_back({tile->buffer, *index});
      name_inactive_points(move, access - 1, extents, lowering.buffer(tile->buffer), refs.back().index);
    }
    auto made = make_call(lowering, id, std::move(refs), extents);
    if (!made) {
      reason(made.diagnostics().front().message);
      return std::nullopt;
    }
    return std::vector<Node>{Node{std::move(*made)}};
  }
};

bool named_in(const std::vector<std::string>& via, const std::string& name) {
  return via.empty() || std::find(via.begin(), via.end(), name) != via.end();
}

Result<std::vector<Node>> by_moves(Lowering& lowering, const Copy& copy) {
  const MemoryId to = lowering.buffer((copy.into_inner ? copy.inner : copy.outer)->buffer).memory;
  const MemoryId from = lowering.buffer((copy.into_inner ? copy.outer : copy.inner)->buffer).memory;
  const auto fits = [&](const Instruction& i) {
    return is_move(i) && i.operands[operand_of_access(i, 0).index()].memory == to &&
           i.operands[operand_of_access(i, 1).index()].memory == from && named_in(copy.via, i.name);
  };
  const auto all = candidates(lowering, *copy.inner, fits);
  std::vector<std::string> reasons;
  for (const Candidate& shape : all) {
    std::vector<bool> covered(copy.inner->coordinates.size(), false);
    for (int i : shape.coordinate)
      if (i >= 0) covered[static_cast<std::size_t>(i)] = true;
    MovePiece piece{lowering, copy, shape, reasons};
    const auto body = [&](const std::vector<AffineExpr>& begin,
                          const std::vector<std::int64_t>& valid) -> Result<std::vector<Node>> {
      for (const bool exact : {true, false})
        for (const Candidate& other : all)
          if (other.coordinate == shape.coordinate && other.blocks == shape.blocks)
            if (auto node = piece.attempt(other.instruction, begin, valid, exact)) return std::move(*node);
      return error("no move fits");
    };
    auto nodes = for_each_block(lowering, *copy.inner, shape.blocks, covered, copy.unroll, body);
    if (nodes) return nodes;
  }
  Diagnostic failed = error(fmt::format("no move takes {} from {} to {}", lowering.buffer(copy.inner->buffer).name,
                                        lowering.model.memory(from).name, lowering.model.memory(to).name));
  failed.notes = reasons;
  if (all.empty()) failed.notes.push_back("the machine has no move between these memories");
  return failed;
}

// Loops over every element of the buffer itself, padding included.
std::vector<Node> set_all(Lowering& lowering, const Buffer& buffer, BufferId id, UnitId unit, Scalar value) {
  Element element;
  element.unit = unit;
  element.write.buffer = id;
  element.body = constant(is_float(buffer.dtype) ? value.real : static_cast<double>(value.integer), buffer.dtype);
  std::vector<std::pair<std::string, std::int64_t>> loops;
  for (std::int64_t extent : buffer.extents) {
    if (extent == 1) {
      element.write.index.emplace_back(0);
      continue;
    }
    loops.emplace_back(lowering.variable("z", extent), extent);
    element.write.index.push_back(AffineExpr::dim(loops.back().first));
  }
  std::vector<Node> nodes{Node{std::move(element)}};
  for (std::size_t i = loops.size(); i-- > 0;) nodes = loop_around(loops[i].first, loops[i].second, false, std::move(nodes));
  return nodes;
}

std::optional<UnitId> scalar_unit(const Lowering& lowering, const Copy& copy) {
  const MemoryId a = lowering.buffer(copy.inner->buffer).memory, b = lowering.buffer(copy.outer->buffer).memory;
  if (lowering.model.memory(a).is_register() || lowering.model.memory(b).is_register()) return std::nullopt;
  const auto unit = lowering.model.scalar_unit_for(a);
  if (!unit || !lowering.model.scalar_unit_for(b)) return std::nullopt;
  return unit;
}

// Where a coordinate is one axis of the outer tensor and starts at a constant, the loop is clipped to the tensor and
// needs no guard: [first, first + extent) of the coordinate.
void clip(const Lowering& lowering, const Copy& copy, TileBuffer& tile) {
  if (!copy.outer->whole_tensor) return;
  const Buffer& outer = lowering.buffer(copy.outer->buffer);
  for (std::size_t a = 0; a < copy.outer->axes.size(); ++a)
    for (Coordinate& c : tile.coordinates) {
      const AffineExpr& axis = copy.outer->axes[a];
      if (!axis.is_linear() || axis - axis.constant() != c.form || !c.start.is_constant() || c.block != 1) continue;
      const std::int64_t first = c.start.constant() + axis.constant();   // index of the coordinate's local 0
      const std::int64_t skip = std::max<std::int64_t>(0, -first);
      const std::int64_t end = std::min(c.extent, outer.extents[a] - first);
      c.start += skip;
      c.extent = std::max<std::int64_t>(0, end - skip);
    }
}

Result<std::vector<Node>> by_elements(Lowering& lowering, const Copy& copy, UnitId unit) {
  const Buffer& inner_buffer = lowering.buffer(copy.inner->buffer);
  std::vector<Node> nodes;
  bool padded = copy.outside.has_value();
  for (const Coordinate& c : copy.inner->coordinates) padded |= c.padded != c.extent;
  if (copy.into_inner && padded)
    nodes = set_all(lowering, inner_buffer, copy.inner->buffer, unit,
                    convert({copy.outside.value_or(0), 0}, DType::f64, inner_buffer.dtype, true));

  TileBuffer clipped = *copy.inner;
  clip(lowering, copy, clipped);
  std::vector<std::int64_t> blocks;
  for (const Coordinate& c : clipped.coordinates) blocks.push_back(c.block);
  const auto body = [&](const std::vector<AffineExpr>& begin,
                        const std::vector<std::int64_t>&) -> Result<std::vector<Node>> {
    Known known;
    for (std::size_t i = 0; i < begin.size(); ++i) known.emplace_back(copy.inner->coordinates[i].form, begin[i]);
    const auto inner = index_at(*copy.inner, known, lowering.ranges);
    const auto outer = index_at(*copy.outer, known, lowering.ranges);
    if (!inner || !outer)
      return error(fmt::format("the layout of {} cannot be said in the coordinates of {}", inner_buffer.name,
                               lowering.buffer(copy.outer->buffer).name));
    Element element;
    element.unit = unit;
    const Ref a{copy.inner->buffer, *inner}, b{copy.outer->buffer, *outer};
    element.write = copy.into_inner ? a : b;
    element.reads = {copy.into_inner ? b : a};
    element.body = read(0, inner_buffer.dtype);
    Guard guard;
    const Buffer& outer_buffer = lowering.buffer(copy.outer->buffer);
    for (std::size_t i = 0; i < outer->size(); ++i) {
      const auto range = bounds((*outer)[i], lowering.ranges);
      if (!range || range->low < 0) guard.conditions.push_back((*outer)[i]);
      if (!range || range->high >= outer_buffer.extents[i])
        guard.conditions.push_back(AffineExpr(outer_buffer.extents[i] - 1) - (*outer)[i]);
    }
    if (guard.conditions.empty()) return std::vector<Node>{Node{std::move(element)}};
    guard.then = {Node{std::move(element)}};
    return std::vector<Node>{Node{std::move(guard)}};
  };
  auto copied = for_each_block(lowering, clipped, blocks, std::vector<bool>(blocks.size(), false), false, body);
  if (!copied) return copied;
  nodes.insert(nodes.end(), copied->begin(), copied->end());
  return nodes;
}

}  // namespace

Result<Ref> Lowering::mask(MemoryId memory, std::int64_t full, std::int64_t extent) {
  const std::string name = fmt::format("mask{}of{}", extent, full);
  for (std::size_t i = 0; i < program.buffers.size(); ++i)
    if (program.buffers[i].name == name && program.buffers[i].memory == memory)
      return Ref{make_id<BufferId>(i), {AffineExpr(0)}};
  for (std::size_t i = 0; i < model.instructions().size(); ++i) {
    const Instruction& fill = model.instructions()[i];
    if (fill_value(fill) != 1.0 || fill.operands[0].memory != memory || fill.ranges.size() != 1) continue;
    if (fill.ranges[0].max != full || !allows(fill.ranges[0], extent)) continue;
    Buffer buffer;
    buffer.name = name;
    buffer.memory = memory;
    buffer.dtype = DType::b1;
    buffer.extents = {full};
    buffer.slots = 0;
    program.buffers.push_back(buffer);
    const BufferId id = make_id<BufferId>(program.buffers.size() - 1);
    Call call;
    call.instruction = make_id<InstructionId>(i);
    call.operands = {{id, {AffineExpr::dim("$" + fill.statement().domain.dims[0].name)}}};
    call.extents = {extent};
    mask_fills.push_back(Node{std::move(call)});
    return Ref{id, {AffineExpr(0)}};
  }
  return error(fmt::format("no fill of {} with 1 over {} of {} positions", model.memory(memory).name, extent, full),
               "describe one: compute \"D[j] = 1\", dims {j: {max: ...}}, inactive zero");
}

Result<Call> make_call(Lowering& lowering, InstructionId id, std::vector<Ref> operands,
                       std::vector<std::int64_t> extents) {
  const Instruction& instruction = lowering.model.instruction(id);
  Call call;
  call.instruction = id;
  call.operands = std::move(operands);
  for (const auto& [dim, memory] : instruction.masks) {
    const auto d = static_cast<std::size_t>(instruction.statement().domain.find(dim));
    auto mask = lowering.mask(memory, instruction.ranges[d].max, extents[d]);
    if (!mask) return mask.diagnostics();
    call.masks.push_back(*mask);
  }
  call.extents = std::move(extents);
  return call;
}

Result<std::vector<Node>> transfer(Lowering& lowering, const Copy& copy) {
  if (!copy.via.empty() || !scalar_unit(lowering, copy)) return by_moves(lowering, copy);
  return by_elements(lowering, copy, *scalar_unit(lowering, copy));
}

Result<std::vector<Node>> fill_tile(Lowering& lowering, const TileBuffer& tile, Scalar value, bool unroll) {
  const Buffer& buffer = lowering.buffer(tile.buffer);
  const double wanted = is_float(buffer.dtype) ? value.real : static_cast<double>(value.integer);
  const auto fits = [&](const Instruction& i) {
    const auto v = fill_value(i);
    return v && *v == wanted && i.operands[0].memory == buffer.memory;
  };
  TileBuffer whole = tile;
  for (Coordinate& c : whole.coordinates) c.extent = c.padded;
  std::vector<std::string> reasons;
  for (const Candidate& shape : candidates(lowering, whole, fits)) {
    std::vector<bool> covered(whole.coordinates.size(), false);
    for (int i : shape.coordinate)
      if (i >= 0) covered[static_cast<std::size_t>(i)] = true;
    const Instruction& fill = instruction_of(lowering, shape.instruction);
    const auto body = [&](const std::vector<AffineExpr>& begin,
                          const std::vector<std::int64_t>& valid) -> Result<std::vector<Node>> {
      std::vector<std::int64_t> extents;
      for (std::size_t d = 0; d < shape.coordinate.size(); ++d) {
        extents.push_back(shape.coordinate[d] < 0 ? 1 : valid[static_cast<std::size_t>(shape.coordinate[d])]);
        if (!allows(fill.ranges[d], extents.back())) return error("extent");
      }
      Ranges ranges = lowering.ranges;
      for (const auto& [name, range] : dim_ranges(fill, extents)) ranges[name] = range;
      const auto index = index_at(whole, known_at(whole, begin, shape, fill), ranges);
      const std::string no = index ? refusal(fill, 0, extents, buffer, whole, *index, lowering.ranges, lowering.model)
                                   : "its coordinates are not known";
      if (!no.empty()) {
        if (reasons.size() < max_reasons) reasons.push_back(no);
        return error(no);
      }
      auto call = make_call(lowering, shape.instruction, {{tile.buffer, *index}}, extents);
      if (!call) return call.diagnostics();
      return std::vector<Node>{Node{std::move(*call)}};
    };
    auto nodes = for_each_block(lowering, whole, shape.blocks, covered, unroll, body);
    if (nodes) return nodes;
  }
  const auto unit = lowering.model.scalar_unit_for(buffer.memory);
  if (unit && !lowering.model.memory(buffer.memory).is_register())
    return set_all(lowering, buffer, tile.buffer, *unit, value);
  Diagnostic failed = error(fmt::format("no instruction fills {} in {} with {}", buffer.name,
                                        lowering.model.memory(buffer.memory).name, wanted),
                            "describe a fill (compute \"D[..] = 0\"), or `start: [zero, keep]` on the instruction");
  failed.notes = reasons;
  return failed;
}

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
// A copy by move instructions, found by their semantics: block by block, tails masked if the machine can, else padded.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "hwdesc/model/cache_line.h"
#include "ir/legal.h"
#include "ir/symbolic/known_bounds.h"
#include "scheduler/lowering/async_groups.h"
#include "scheduler/lowering/tile_copy_internal.h"
#include "scheduler/nest/instruction_timing.h"
#include "scheduler/nest/lowering_support.h"
#include "scheduler/nest/operand_compatibility.h"

namespace isamap {

namespace {

/// One block of a coordinate, and how a move would transfer it.
struct BlockTransfer {
  std::size_t coordinate = 0;
  const AffineExpr& begin;
  std::int64_t block = 1, valid = 1;  ///< elements of the block, and those of the tensor among them
  std::int64_t extent = 1;            ///< of the move
  Inactive beyond = Inactive::keep;   ///< what the move does with elements beyond its extent
};

// Are the elements after the valid ones padding of the outer tile?
bool outer_is_padding(const Lowering& lowering, const Copy& copy, const BlockTransfer& b) {
  const Coordinate& c = copy.copied_tile().coordinates[b.coordinate];
  for (const Coordinate& o : copy.outer->coordinates)
    if (o.form == c.form) return simplify(b.begin + b.valid - o.start - o.extent, lowering.ranges) == AffineExpr(0);
  return false;
}

// May a block be moved with this extent if only the valid elements are in the tensor?
bool padding_allowed(const Lowering& lowering, const Copy& copy, const BlockTransfer& b) {
  const Coordinate& c = copy.copied_tile().coordinates[b.coordinate];
  const bool whole = b.valid == b.block || (c.block == 1 && b.extent == b.valid);
  if (whole) return b.extent == b.valid;
  const bool must_be_zero = copy.zero[b.coordinate];
  if (b.extent == b.valid)
    return copy.into_inner ? !must_be_zero || copy.cleared || b.beyond == Inactive::zero : b.beyond != Inactive::zero;
  if (c.pseudo()) return copy.into_inner ? !must_be_zero : outer_is_padding(lowering, copy, b);
  if (copy.into_inner && !must_be_zero) return true;
  return outer_is_padding(lowering, copy, b) && (!copy.into_inner || copy.outer->zero_padded);
}

// A masked move also writes its inactive points. If one point is active, the tile's index is 0 for all of them; in a
// register each point is at its own subscript: D[0] becomes D[$j].
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

/// Elements of a block that a move transfers: the valid ones; those in dims where move and padding allow it, else all;
/// all.
enum class BlockPart { valid, valid_if_allowed, whole };

/// Are all elements of a block valid?
bool is_whole(const MoveShape& shape, const std::vector<std::int64_t>& valid) {
  return std::all_of(shape.coordinate.begin(), shape.coordinate.end(), [&](int i) {
    return i < 0 || valid[static_cast<std::size_t>(i)] == shape.blocks[static_cast<std::size_t>(i)];
  });
}

struct MoveBlock {
  Lowering& lowering;
  const Copy& copy;
  const MoveShape& shape;
  std::vector<std::string>& reasons;

  void reason(const std::string& text) {
    if (reasons.size() < max_reasons && std::find(reasons.begin(), reasons.end(), text) == reasons.end())
      reasons.push_back(text);
  }

  // One move of this instruction.
  std::optional<std::vector<Node>> attempt(InstructionId id, const std::vector<AffineExpr>& begin,
                                           const std::vector<std::int64_t>& valid, BlockPart part) {
    const Instruction& move = lowering.model.instruction(id);
    if (copy.into_inner && !copy.cleared)
      for (std::size_t i = 0; i < copy.zero.size(); ++i)
        // A move smaller than the block sets nothing after the last element.
        if (const Coordinate& c = copy.copied_tile().coordinates[i];
            copy.zero[i] && (!shape.loops(i) || shape.blocks[i] < c.block) && c.padded != c.extent) {
          reason(fmt::format(
              "{} would not set the padding of {} along {} to 0; with `tail pad` on its loop the tile is whole",
              move.name, lowering.buffer(copy.inner->buffer).name, print(copy.inner->coordinates[i].form)));
          return std::nullopt;
        }
    std::vector<std::int64_t> extents;
    for (std::size_t d = 0; d < shape.coordinate.size(); ++d) {
      const int i = shape.coordinate[d];
      const std::size_t at = static_cast<std::size_t>(std::max(i, 0));
      const Inactive beyond = move.ranges[d].kept ? Inactive::keep : move.inactive;
      const bool exact =
          part == BlockPart::valid ||
          (part == BlockPart::valid_if_allowed && i >= 0 && allows(move.ranges[d], valid[at]) &&
           padding_allowed(lowering, copy, {at, begin[at], shape.blocks[at], valid[at], valid[at], beyond}));
      const std::int64_t extent = i < 0 ? 1 : exact ? valid[at] : shape.blocks[at];
      if (!allows(move.ranges[d], extent)) {
        const std::string& along = move.statement().domain.dims[d].name;
        const std::string found =
            i < 0 ? "1" : fmt::format("{} along {}", extent, print(copy.inner->coordinates[at].form));
        reason(extent == 0
                   ? fmt::format("{} does not support extent 0 along {}, and a tile may be entirely past the end of {}",
                                 move.name, along, print(copy.inner->coordinates[at].form))
                   : fmt::format("{} moves {} along its {}; the tile has {}", move.name, move.ranges[d].max, along,
                                 found));
        return std::nullopt;
      }
      if (i >= 0 && !padding_allowed(lowering, copy, {at, begin[at], shape.blocks[at], valid[at], extent, beyond})) {
        reason(fmt::format("{} cannot mask the last {} of {} along {}", move.name, shape.blocks[at] - valid[at],
                           shape.blocks[at], print(copy.inner->coordinates[at].form)));
        return std::nullopt;
      }
      extents.push_back(extent);
    }
    return call(id, begin, extents);
  }

  // A move that also sets elements beyond its extents: its whole box must be in the tile, injectively.
  std::string whole_box_refusal(const Instruction& move, const std::vector<std::int64_t>& extents,
                                const TileLayout& tile, const std::vector<AffineExpr>& index) {
    const std::vector<std::int64_t> full = touched_extents(move, extents);
    for (std::size_t d = 0; d < full.size(); ++d) {
      if (move.ranges[d].kept) continue;
      const std::string name = "$" + move.statement().domain.dims[d].name;
      const bool indexed =
          std::any_of(index.begin(), index.end(), [&](const AffineExpr& e) { return e.names().contains(name); });
      if (!indexed && full[d] > 1 && uses(move.statement().write, move.statement().domain.dims[d].name))
        return fmt::format("{} also sets {} positions along {} that the tile does not have", move.name,
                           full[d] - extents[d], move.statement().domain.dims[d].name);
    }
    std::string no = refusal({move, 0, full}, lowering.buffer(tile.buffer), tile, index, lowering.known());
    return no.empty() ? no : no + positions_beyond(move, extents, full);
  }

  /// "; ld sets the other positions along i, up to 32, too (inactive: zero); ..", for a refusal of the whole box.
  static std::string positions_beyond(const Instruction& move, const std::vector<std::int64_t>& extents,
                                      const std::vector<std::int64_t>& full) {
    for (std::size_t d = 0; d < full.size(); ++d)
      if (full[d] > extents[d])
        return fmt::format(
            "; {} with extent {} sets the other positions along {} too, up to {} (inactive: {}): if the machine leaves "
            "them, describe the dim with `inactive: keep`",
            move.name, extents[d], move.statement().domain.dims[d].name, full[d], name(move.inactive));
    return "";
  }

  /// "; larger extents: st is legal only where 4*extent[i] <= 8; ..": a part is refused because it is small.
  static std::string limited_by(const Instruction& move, const std::vector<std::int64_t>& extents) {
    std::vector<std::int64_t> most;
    for (const DimRange& range : move.ranges) most.push_back(range.max);
    if (extents == most || extents_fit(move, most)) return "";
    const std::string limit = broken_condition(move, [&](const Reference& r) -> std::optional<std::int64_t> {
      const int d = r.object == "extent" ? move.statement().domain.find(r.argument) : -1;
      return d < 0 ? std::nullopt : std::optional(most[static_cast<std::size_t>(d)]);
    });
    return limit.empty() ? "" : "; larger extents: " + limit;
  }

  // With extent 0 nothing is read: any outer address inside the tensor will do.
  std::vector<AffineExpr> outer_begin(const std::vector<AffineExpr>& begin,
                                      const std::vector<std::int64_t>& extents) const {
    std::vector<AffineExpr> out = begin;
    if (!reads_nothing(extents)) return out;
    for (std::size_t i = 0; i < out.size() && i < copy.ends.size(); ++i)
      if (copy.ends[i]) out[i] = AffineExpr(0);
    return out;
  }

  static bool reads_nothing(const std::vector<std::int64_t>& extents) {
    return std::find(extents.begin(), extents.end(), 0) != extents.end();
  }

  // A window at a border may start out of bounds; the first element of the tensor is always in bounds.
  static void at_first_element(std::vector<AffineExpr>& index) {
    for (AffineExpr& e : index) {
      AffineExpr looped;
      for (const AffineTerm& term : e.terms())
        if (const auto* dim = std::get_if<std::string>(&term.atom); dim && dim->front() == '$')
          looped += AffineExpr::dim(*dim) * term.coefficient;
      e = looped;
    }
  }

  std::optional<std::vector<Node>> call(InstructionId id, const std::vector<AffineExpr>& begin,
                                        const std::vector<std::int64_t>& extents) {
    const Instruction& move = lowering.model.instruction(id);
    Ranges ranges = lowering.ranges;
    for (const auto& [name, range] : dim_ranges(move, full_extents(move))) ranges[name] = range;
    const Known inner_known = known_at(*copy.inner, begin, shape, move);
    const Known outer_known = known_at(*copy.inner, outer_begin(begin, extents), shape, move);
    const TileLayout& to = copy.into_inner ? *copy.inner : *copy.outer;
    const TileLayout& from = copy.into_inner ? *copy.outer : *copy.inner;
    std::vector<Ref> refs;
    int access = 0;
    for (const TileLayout* tile : {&to, &from}) {
      auto index = index_at(*tile, tile == copy.inner ? inner_known : outer_known, ranges);
      if (index && tile == copy.outer && copy.outside && reads_nothing(extents)) at_first_element(*index);
      if (!index) {
        reason("the tile's coordinates cannot be expressed in those of " + lowering.buffer(tile->buffer).name);
        return std::nullopt;
      }
      const bool all_written = access == 0 && (move.inactive == Inactive::zero || move.inactive == Inactive::undefined);
      const std::string no = all_written ? whole_box_refusal(move, extents, *tile, *index)
                                         : refusal({move, access, extents}, lowering.buffer(tile->buffer), *tile,
                                                   *index, lowering.known());
      ++access;
      if (!no.empty()) {
        reason(no + limited_by(move, extents));
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

/// Guards for one block of a tile that may exceed the tensor: along each coordinate it is inside, partly inside by a
/// known number of elements, or outside.
struct EndGuards {
  Lowering& lowering;
  const Copy& copy;
  const MoveShape& shape;
  const std::vector<AffineExpr>& begin;
  const BlockBody& body;

  /// The guards of coordinates from `i` on.
  Result<std::vector<Node>> from(std::size_t i, const std::vector<std::int64_t>& valid) const {
    while (i < copy.ends.size() && !copy.ends[i]) ++i;
    if (i >= copy.ends.size()) return body(begin, valid);
    const std::int64_t end = *copy.ends[i], block = shape.loops(i) ? shape.blocks[i] : 1;
    if (simplify(mod(begin[i], block), lowering.ranges) != AffineExpr(0))
      return error(fmt::format("blocks of {} do not start at multiples of it, and the last may be partial", block));
    const auto with = [&](std::int64_t count) {
      return [this, i, count, &valid] {
        std::vector<std::int64_t> fewer = valid;
        if (shape.loops(i)) fewer[i] = count;
        return from(i + 1, fewer);
      };
    };
    const auto outside = [&] { return all_outside(valid); };
    const auto part = [&]() -> Result<std::vector<Node>> {
      if (end % block == 0) return outside();
      // Blocks start at multiples of their size.
      return branch(AffineExpr(end - end % block) - begin[i], with(end % block), outside);
    };
    return branch(AffineExpr(end - block) - begin[i], with(block), part);
  }

 private:
  using Make = std::function<Result<std::vector<Node>>()>;

  Result<std::vector<Node>> all_outside(const std::vector<std::int64_t>& valid) const {
    if (!copy.into_inner) return std::vector<Node>{};
    std::vector<std::int64_t> nothing = valid;
    for (std::size_t c = 0; c < nothing.size(); ++c)
      if (shape.loops(c)) nothing[c] = 0;
    return body(begin, nothing);
  }

  /// `then` where the condition is >= 0, which it may assume; only one of the two if the condition is decided.
  Result<std::vector<Node>> branch(const AffineExpr& condition, const Make& then, const Make& otherwise) const {
    const auto range = bounds(condition, lowering.ranges);
    if (range && range->high < 0) return otherwise();
    lowering.nonnegative.push_back(condition);
    auto inside = then();
    lowering.nonnegative.pop_back();
    if (!inside || (range && range->low >= 0)) return inside;
    auto otherwise_nodes = otherwise();
    if (!otherwise_nodes) return otherwise_nodes;
    Guard guard;
    guard.conditions = {condition};
    guard.then = std::move(*inside);
    guard.otherwise = std::move(*otherwise_nodes);
    return std::vector<Node>{Node{std::move(guard)}};
  }
};

/// Out-of-bounds blocks that yield 0 are zero-filled by a move of extent 0. Returns the conditions for a block to be
/// inside; a block that straddles the border is neither, and fails the bounds check.
std::vector<AffineExpr> tensor_bounds(const Lowering& lowering, const Copy& copy, const MoveShape& shape,
                                      const std::vector<AffineExpr>& begin, const std::vector<std::int64_t>& valid) {
  const Instruction& move = lowering.model.instruction(shape.instruction);
  if (!copy.into_inner || copy.outside != 0.0 || !copy.outer->whole_tensor || move.inactive != Inactive::zero ||
      std::none_of(move.ranges.begin(), move.ranges.end(), [](const DimRange& r) { return allows(r, 0); }))
    return {};
  std::vector<std::int64_t> extents;
  for (const int i : shape.coordinate) extents.push_back(i < 0 ? 1 : valid[static_cast<std::size_t>(i)]);
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return {};
  Ranges ranges = lowering.ranges;
  for (const auto& [name, range] : dim_ranges(move, extents)) ranges[name] = range;
  const auto index = index_at(*copy.outer, known_at(*copy.inner, begin, shape, move), ranges);
  if (!index) return {};
  std::vector<AffineExpr> conditions;
  const Buffer& outer = lowering.buffer(copy.outer->buffer);
  for (std::size_t a = 0; a < index->size(); ++a) {
    const auto names = (*index)[a].names();
    if (std::any_of(names.begin(), names.end(), [](const std::string& n) { return n.front() == '$'; })) continue;
    for (const AffineExpr& e : {(*index)[a], AffineExpr(outer.extents[a] - 1) - (*index)[a]})
      if (!nonnegative(e, ranges, lowering.nonnegative)) conditions.push_back(simplify(e, ranges));
  }
  return conditions;
}

Result<std::vector<Node>> guarded_in_tensor(Lowering& lowering, const Copy& copy, const MoveShape& shape,
                                            const std::vector<AffineExpr>& begin,
                                            const std::vector<std::int64_t>& valid, const BlockBody& body) {
  Guard guard;
  guard.conditions = tensor_bounds(lowering, copy, shape, begin, valid);
  if (guard.conditions.empty()) return body(begin, valid);
  const std::size_t known = lowering.nonnegative.size();
  lowering.nonnegative.insert(lowering.nonnegative.end(), guard.conditions.begin(), guard.conditions.end());
  auto then = body(begin, valid);
  lowering.nonnegative.resize(known);
  if (!then) return then;
  std::vector<std::int64_t> nothing = valid;
  for (std::size_t c = 0; c < nothing.size(); ++c)
    if (shape.loops(c)) nothing[c] = 0;
  auto otherwise = body(begin, nothing);
  if (!otherwise) return otherwise;
  guard.then = std::move(*then);
  guard.otherwise = std::move(*otherwise);
  return std::vector<Node>{Node{std::move(guard)}};
}

/// Does the move itself fill out-of-bounds elements, as copy engines do, with the value that the tensor yields there?
bool fills_out_of_bounds(const Instruction& move, const Copy& copy) {
  const Operand& from = move.operands[operand_of_access(move, 1).index()];
  return !from.object.empty() && from.outside && from.outside == copy.outside.value_or(0);
}

bool named_in(const std::vector<std::string>& via, const std::string& name) {
  return via.empty() || std::find(via.begin(), via.end(), name) != via.end();
}

/// Hint: the swizzled layout that a named move fills, `as [b, k/64, i, k%64] xor 3 from 7 to 4`.
std::string swizzled_rows_hint(const Lowering& lowering, const Copy& copy) {
  if (!copy.into_inner || !copy.outer->whole_tensor || copy.outer->axes.size() < 2) return "";
  std::vector<std::string> dims;
  for (const AffineExpr& axis : copy.outer->axes) {
    if (!axis.as_dim()) return "";
    dims.push_back(*axis.as_dim());
  }
  for (const std::string& name : copy.via) {
    const auto id = lowering.model.find_instruction(name);
    if (!id) continue;
    const Instruction& move = lowering.model.instruction(*id);
    const auto* rows = std::get_if<StridedLayout>(&move.operands[operand_of_access(move, 0).index()].layout);
    if (rows == nullptr || !rows->swizzle) continue;
    const auto fixed =
        std::find_if(move.ranges.begin(), move.ranges.end(), [](const DimRange& r) { return r.fixed() && r.max > 1; });
    if (fixed == move.ranges.end()) continue;
    std::string text;
    for (std::size_t d = 0; d + 2 < dims.size(); ++d) text += dims[d] + ", ";
    return fmt::format("{} fills rows of {} as [{}{}/{}, {}, {}%{}] xor {} from {} to {}", name, fixed->max, text,
                       dims.back(), fixed->max, dims[dims.size() - 2], dims.back(), fixed->max, rows->swizzle->bits,
                       rows->swizzle->from, rows->swizzle->to);
  }
  return "";
}

std::string later_refusal(const Instruction& move, const Copy& copy) {
  return fmt::format(
      "{} is asynchronous, completed by '{}', and {}", move.name, move.async_by,
      copy.into_inner ? "waits are placed for tiles of inputs only" : "stores are followed by fences only");
}

}  // namespace

bool may_complete_later(const Lowering& lowering, const Copy& copy, const Instruction& move) {
  if (completes_by_fence(move, lowering.model)) return !copy.into_inner;
  return copy.has_wait && (completes_in_groups(move, lowering.model) || completes_by_counter(move, lowering.model));
}

namespace {

/// Tries the moves between the memories of a copy in each of their shapes; else the reasons why none fits.
class NamedMoves {
 public:
  NamedMoves(Lowering& lowering, const Copy& copy)
      : lowering_(lowering),
        copy_(copy),
        to_(lowering.buffer((copy.into_inner ? copy.inner : copy.outer)->buffer).memory),
        from_(lowering.buffer((copy.into_inner ? copy.outer : copy.inner)->buffer).memory) {}

  Result<std::vector<Node>> run() {
    all_ = move_shapes(lowering_, copy_.copied_tile(), [&](const Instruction& i) { return fits(i); });
    if (!not_lowered_.empty()) {  // named by the line: no other replaces it
      all_.clear();
      reasons_ = {not_lowered_};
    }
    std::vector<const MoveShape*> ruled_out;
    for (const MoveShape& shape : all_) {
      if (has_failed(shape)) continue;
      if (!distances_fit(lowering_, copy_, shape)) {
        ruled_out.push_back(&shape);
        continue;
      }
      if (auto nodes = with(shape)) return nodes;
      failed_shapes_.push_back(&shape);
    }
    ruled_out.resize(std::min(ruled_out.size(), max_reasons));  // lowered for their refusal only
    for (const MoveShape* shape : ruled_out) {
      if (has_failed(*shape)) continue;
      if (auto nodes = with(*shape)) return nodes;
      failed_shapes_.push_back(shape);
    }
    return refusal();
  }

 private:
  bool fits(const Instruction& i) {
    if (!(copy_.adds ? is_combine(i) : is_move(i)) || i.operands[operand_of_access(i, 0).index()].memory != to_ ||
        i.operands[operand_of_access(i, 1).index()].memory != from_ || !named_in(copy_.via, i.name))
      return false;
    if (const std::string no = not_lowered(i, lowering_.model);
        !no.empty() && (copy_.via.empty() || !may_complete_later(lowering_, copy_, i))) {
      if (!copy_.via.empty()) not_lowered_ = i.async_by.empty() ? no : later_refusal(i, copy_);
      return false;
    }
    const DType type = lowering_.buffer(copy_.inner->buffer).dtype;
    std::string no = type_refusal(i, 0, type);
    if (no.empty()) no = type_refusal(i, 1, type);
    if (!no.empty()) other_types_.push_back(no);
    return no.empty();
  }

  Result<std::vector<Node>> with(const MoveShape& shape) {
    MoveBlock piece{lowering_, copy_, shape, reasons_};
    const BlockBody one = [&](const std::vector<AffineExpr>& begin,
                              const std::vector<std::int64_t>& valid) -> Result<std::vector<Node>> {
      for (const BlockPart part : {BlockPart::valid, BlockPart::valid_if_allowed, BlockPart::whole}) {
        for (const MoveShape& other : all_)
          if (other.coordinate == shape.coordinate && other.blocks == shape.blocks)
            if (auto node = piece.attempt(other.instruction, begin, valid, part)) return std::move(*node);
        if (is_whole(shape, valid)) break;  // all parts are the same elements
      }
      return error("no move fits");
    };
    const BlockBody in_tensor = [&](const std::vector<AffineExpr>& begin, const std::vector<std::int64_t>& valid) {
      return guarded_in_tensor(lowering_, copy_, shape, begin, valid, one);
    };
    const bool reaches_out =
        copy_.into_inner && fills_out_of_bounds(lowering_.model.instruction(shape.instruction), copy_);
    const BlockBody body = [&](const std::vector<AffineExpr>& begin, const std::vector<std::int64_t>& valid) {
      return reaches_out ? one(begin, valid) : EndGuards{lowering_, copy_, shape, begin, in_tensor}.from(0, valid);
    };
    return for_each_block(lowering_, copy_.copied_tile(),
                          {shape.blocks, shape.covered(), copy_.unroll, copy_.along_rows, takes_parts_of_lines(shape)},
                          body);
  }

  /// Of the tensor's rows; the next block along a row is then in the same line.
  bool takes_parts_of_lines(const MoveShape& shape) const {
    const std::int64_t size = bytes(lowering_.buffer(copy_.inner->buffer).dtype);
    return copy_.along_rows && shape.blocks[*copy_.along_rows] * size < cache_line(lowering_.model);
  }

  bool has_failed(const MoveShape& shape) const {  // independent of the move
    return std::any_of(failed_shapes_.begin(), failed_shapes_.end(), [&](const MoveShape* other) {
      return other->coordinate == shape.coordinate && other->blocks == shape.blocks;
    });
  }

  Diagnostic refusal() const {
    Diagnostic failed =
        error(fmt::format("no move transfers {} from {} to {}", lowering_.buffer(copy_.inner->buffer).name,
                          lowering_.model.memory(from_).name, lowering_.model.memory(to_).name));
    failed.notes = reasons_;
    for (const std::string& no : other_types_)
      if (failed.notes.size() < max_reasons) failed.notes.push_back(no);
    failed.hint = swizzled_rows_hint(lowering_, copy_);
    if (all_.empty() && copy_.via.empty() && other_types_.empty())
      failed.notes.push_back("the machine has no move between these memories");
    if (all_.empty() && !copy_.via.empty() && not_lowered_.empty())
      failed.notes.push_back(fmt::format("none of the moves in 'via' does: {}", fmt::join(copy_.via, ", ")));
    return failed;
  }

  Lowering& lowering_;
  const Copy& copy_;
  const MemoryId to_, from_;
  std::vector<MoveShape> all_;
  std::vector<const MoveShape*> failed_shapes_;
  std::vector<std::string> reasons_, other_types_;  ///< type mismatches are less relevant, and may be many
  std::string not_lowered_;
};

}  // namespace

Result<std::vector<Node>> moves_by_name(Lowering& lowering, const Copy& copy) {
  if (auto gathered = per_lane_load(lowering, copy)) return std::move(*gathered);
  return NamedMoves(lowering, copy).run();
}

Result<std::vector<Node>> by_moves(Lowering& lowering, const Copy& copy) {
  auto nodes = moves_by_name(lowering, copy);
  if (nodes || copy.via.empty()) return nodes;
  Diagnostics failed = nodes.diagnostics();
  if (failed.front().hint.empty()) failed.front().hint = other_moves_to_name(lowering, copy);
  return failed;
}

}  // namespace isamap

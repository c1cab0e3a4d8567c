// SPDX-License-Identifier: Apache-2.0
// Loads of fragments by moves with an address per lane.
//
// The move maps each of its points to a register position, the fragment maps register positions to elements of the
// operand. Their composition is the element that each point must load; it remains to check that the elements at each
// lane's address are adjacent as the move requires.

#include <fmt/format.h>

#include <algorithm>

#include "hwdesc/layout/per_lane_addresses.h"
#include "scheduler/lowering/async_groups.h"
#include "scheduler/lowering/tile_copy_internal.h"
#include "scheduler/nest/operand_compatibility.h"

namespace isamap {
namespace {

bool is_per_lane_load(const Instruction& move) {
  if (!is_move(move)) return false;
  const auto* from = std::get_if<StridedLayout>(&move.operands[operand_of_access(move, 1).index()].layout);
  return from != nullptr &&
         std::any_of(from->terms.begin(), from->terms.end(), [](const StrideTerm& t) { return !t.each.empty(); });
}

std::int64_t volume(const std::vector<std::int64_t>& box) {
  std::int64_t count = 1;
  for (const std::int64_t extent : box) count *= extent;
  return count;
}

/// The register position of each point of the move, linear in its dims: sum of coefficient * $dim. Nothing: it is not
/// linear.
std::optional<AffineExpr> linear_positions(const Instruction& move) {
  const auto table = positions(move.operands[operand_of_access(move, 0).index()], operand_box(move, 0));
  const auto box = operand_box(move, 0);
  const auto& index = move.statement().write.index;
  if (!table || index.size() != box.size()) return std::nullopt;
  AffineExpr sum;
  std::vector<std::int64_t> steps(box.size(), 1), factors(box.size(), 0);
  for (std::size_t d = box.size(); d-- > 1;) steps[d - 1] = steps[d] * box[d];
  for (std::size_t d = 0; d < box.size(); ++d) {
    if (!index[d].as_dim()) return std::nullopt;
    if (box[d] > 1) factors[d] = (*table)[static_cast<std::size_t>(steps[d])];
    sum += AffineExpr::dim("$" + *index[d].as_dim()) * factors[d];
  }
  for (std::size_t flat = 0; flat < table->size(); ++flat) {
    std::int64_t value = 0;
    for (std::size_t d = 0; d < box.size(); ++d)
      value += static_cast<std::int64_t>(flat) / steps[d] % box[d] * factors[d];
    if (value != (*table)[flat]) return std::nullopt;
  }
  return sum;
}

struct PerLaneLoad {
  Lowering& lowering;
  const Copy& copy;
  const Instruction& move;
  InstructionId id;
  std::vector<AffineExpr> element;  ///< of the operand, one for each interior axis of the tile, over the move's dims
  std::vector<std::int64_t> extents;

  /// Why the move cannot fill these fragments; empty: it can.
  std::string prepare() {
    const TileLayout& tile = *copy.inner;
    if (!tile.fragment)
      return fmt::format("{} fills registers of several instances; the tile is in registers of one", move.name);
    const auto position = linear_positions(move);
    if (!position) return fmt::format("the register positions of {} are not linear in its dims", move.name);
    for (const DimRange& range : move.ranges) extents.push_back(range.max);
    const std::int64_t filled = volume(operand_box(move, 0));
    std::int64_t instances = 1;
    for (std::size_t u = 0; u + 1 < tile.fragment->over.size(); ++u) instances *= tile.fragment->over[u].second;
    const std::int64_t elements = tile.fragment->over.back().second;
    if (filled != instances * elements)
      return fmt::format("{} fills {} elements; the fragment has {}", move.name, filled, instances * elements);
    std::map<std::string, AffineExpr> places;
    std::int64_t below = elements;
    places[tile.fragment->over.back().first] = mod(*position, elements);
    for (std::size_t u = tile.fragment->over.size() - 1; u-- > 0;) {
      places[tile.fragment->over[u].first] = mod(floordiv(*position, below), tile.fragment->over[u].second);
      below *= tile.fragment->over[u].second;
    }
    const Ranges ranges = dim_ranges(move, extents);
    for (const AffineExpr& e : tile.fragment->index) element.push_back(simplify(substitute(e, places), ranges));
    return "";
  }

  /// The call for the fragment at `begin`.
  Result<std::vector<Node>> call(const std::vector<AffineExpr>& begin, const std::vector<std::size_t>& looped) {
    Ranges ranges = lowering.ranges;
    for (const auto& [name, range] : dim_ranges(move, extents)) ranges[name] = range;
    Known known;
    for (std::size_t i = 0; i < begin.size(); ++i) {
      AffineExpr value = begin[i];
      for (std::size_t a = 0; a < looped.size(); ++a)
        if (looped[a] == i) value += element[a];
      known.emplace_back(copy.inner->coordinates[i].form, value);
    }
    std::vector<Ref> refs;
    for (const TileLayout* tile : {copy.inner, copy.outer}) {
      const auto index = index_at(*tile, known, ranges);
      if (!index)
        return error("the tile's coordinates cannot be expressed in those of " + lowering.buffer(tile->buffer).name);
      const int access = static_cast<int>(refs.size());
      const Buffer& buffer = lowering.buffer(tile->buffer);
      refs.push_back({tile->buffer, *index});
      for (AffineExpr& e : refs.back().index) e = simplify(e, ranges);
      if (access == 0) {
        if (const std::string no = refusal({move, 0, extents}, buffer, *tile, refs.back().index, lowering.known());
            !no.empty())
          return error(no);
        continue;
      }
      if (const std::string no = type_refusal_in_memory(move, 1, buffer.dtype); !no.empty()) return error(no);
      const AffineExpr offset = simplify(flat_offset(buffer, refs.back().index), ranges);
      const auto steps = per_lane_offsets(move, 1, extents, offset);
      if (!steps)
        return error(fmt::format("the elements of {} that {} reads at one address are not adjacent in {}",
                                 lowering.buffer(copy.inner->buffer).name, move.name, buffer.name));
      const Operand& operand = move.operands[operand_of_access(move, 1).index()];
      const std::int64_t size = bytes(buffer.dtype);
      bool aligned = buffer.align % operand.align == 0;
      for (const AffineTerm& term : offset.terms()) {
        const auto* name = std::get_if<std::string>(&term.atom);
        if (name == nullptr || name->front() != '$')
          aligned &= name == nullptr || term.coefficient * size % operand.align == 0;
      }
      for (const std::int64_t step : *steps) aligned &= (offset.constant() + step) * size % operand.align == 0;
      if (!aligned)
        return error(fmt::format("{} needs addresses that are multiples of {} B; rows of {} are not aligned so",
                                 move.name, operand.align, buffer.name),
                     "pad its rows: [i, k pad 8]");
    }
    auto made = make_call(lowering, id, std::move(refs), extents);
    if (!made) return made.diagnostics();
    return std::vector<Node>{Node{std::move(*made)}};
  }
};

}  // namespace

std::optional<Result<std::vector<Node>>> per_lane_load(Lowering& lowering, const Copy& copy) {
  if (!copy.into_inner || copy.via.empty() || copy.inner->slots < 0) return std::nullopt;
  std::string no;
  for (const std::string& name : copy.via) {
    const auto id = lowering.model.find_instruction(name);
    if (!id || !is_per_lane_load(lowering.model.instruction(*id))) continue;
    if (!lowering.model.instruction(*id).async_by.empty() && !copy.has_wait) continue;
    PerLaneLoad load{lowering, copy, lowering.model.instruction(*id), *id, {}, {}};
    no = load.prepare();
    if (!no.empty()) continue;
    // One block is one fragment: the interior axes of the tile are coordinate % extent, or 0 where it is 1.
    const TileLayout& tile = copy.copied_tile();
    const Buffer& buffer = lowering.buffer(tile.buffer);
    std::vector<std::int64_t> blocks(tile.coordinates.size(), 1);
    std::vector<bool> covered(tile.coordinates.size(), false);
    std::vector<std::size_t> looped;
    bool fits = true;
    for (std::size_t a = static_cast<std::size_t>(copy.inner->slots); a < copy.inner->axes.size(); ++a) {
      const auto names = copy.inner->axes[a].names();
      if (names.size() != 1) {
        fits = fits && names.empty();
        looped.push_back(tile.coordinates.size());
        continue;
      }
      const std::size_t i = std::stoul(names.begin()->substr(1));
      looped.push_back(i);
      blocks[i] = buffer.extents[a];
      covered[i] = true;
      fits = fits && tile.coordinates[i].extent % blocks[i] == 0;
    }
    if (!fits) {
      no = fmt::format("{} fills whole fragments, which the tile of {} is no multiple of", name, buffer.name);
      continue;
    }
    return for_each_block(lowering, tile, {blocks, covered, true},
                          [&](const std::vector<AffineExpr>& begin, const std::vector<std::int64_t>&) {
                            return load.call(begin, looped);
                          });
  }
  if (no.empty()) return std::nullopt;
  return Result<std::vector<Node>>(error(no));
}

}  // namespace isamap

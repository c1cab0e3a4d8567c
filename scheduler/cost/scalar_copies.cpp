// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/scalar_copies.h"

#include <algorithm>

#include "hwdesc/model/scalar_timing.h"
#include "scheduler/lowering/tile_copy.h"
#include "scheduler/nest/in_bounds_fraction.h"
#include "scheduler/nest/out_of_bounds.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

/// Of element statements; those that read are copies, others set padding.
struct CopySums {
  double cycles = 0, copied = 0, copied_cycles = 0;

  CopySums& add(const CopySums& other, double times = 1) {
    cycles += times * other.cycles;
    copied += times * other.copied;
    copied_cycles += times * other.copied_cycles;
    return *this;
  }
};

/// Sums cycles of element statements; each branch of a guard counts for its share of the points.
struct ElementSum {
  const std::vector<Buffer>& buffers;
  ElementCycles each;
  IterationDomain loops = {};  ///< around the current node
  EnclosingLoop inner = {};
  bool tested = false;  ///< below conditions that divide the innermost variable, which simulators do not count

  CopySums of(const std::vector<Node>& nodes) {
    CopySums sums;
    for (const Node& node : nodes)
      std::visit(overloaded{[&](const Loop& loop) { sums.add(of_loop(loop), static_cast<double>(loop.trip)); },
                            [&](const Guard& guard) { sums.add(of_guard(guard)); },
                            [&](const Element& e) { sums.add(of_element(e)); }, [](const auto&) {}},
                 node.is);
    return sums;
  }

 private:
  CopySums of_element(const Element& element) const {
    const double cycles = element_cycles(element, buffers, inner, each);
    if (element.reads.empty()) return {cycles, 0, 0};
    return {cycles, 1, tested ? std::max(cycles, each.divided) : cycles};
  }

  CopySums of_loop(const Loop& loop) {
    const EnclosingLoop outer = inner;
    inner = {loop.variable, static_cast<double>(loop.trip), outer.variable, outer.steps};
    loops.dims.push_back({loop.variable, loop.trip});
    const CopySums once = of(loop.body);
    loops.dims.pop_back();
    inner = outer;
    return once;
  }

  CopySums of_guard(const Guard& guard) {
    double share = 1;
    const bool outer = tested;
    for (const AffineExpr& condition : guard.conditions) {
      share *= nonnegative_fraction(condition, loops);
      tested = tested || is_divided(condition, inner.variable);
    }
    CopySums sums;
    sums.add(of(guard.then), share).add(of(guard.otherwise), 1 - share);
    tested = outer;
    return sums;
  }
};

/// A tile of a stage, at the origin; its buffer is added to the program.
std::optional<TileLayout> tile_of(const ResolvedNest& view, const Pairing& pairing, const StagedTile& s,
                                  const std::vector<std::int64_t>& sizes, Program& program) {
  Tiles tiles;
  for (std::size_t d = 0; d < sizes.size(); ++d)
    tiles[view.statement.domain.dims[d].name] = {AffineExpr(0), std::max<std::int64_t>(sizes[d], 1)};
  auto made = make_tile(pairing, *view.kernel, {s.access, s.memory, s.stage.layout}, tiles, *view.model);
  if (!made) return std::nullopt;
  made->tile.buffer = make_id<BufferId>(program.buffers.size());
  program.buffers.push_back(std::move(made->buffer));
  return std::move(made->tile);
}

/// The tensor that an access reads or writes, as the program has it.
TileLayout tensor_of(const ResolvedNest& view, int access, Program& program) {
  const Access& accessed = access_of(view.statement, access);
  const Tensor& tensor = view.kernel->tensors[accessed.tensor.index()];
  Buffer buffer;
  buffer.name = tensor.name;
  buffer.memory = view.model->home();
  buffer.dtype = tensor.dtype;
  buffer.extents = tensor.shape;
  buffer.strides = strides_of(tensor);
  buffer.tensor = accessed.tensor;
  TileLayout whole;
  whole.buffer = make_id<BufferId>(program.buffers.size());
  whole.axes = accessed.index;
  whole.whole_tensor = true;
  program.buffers.push_back(std::move(buffer));
  return whole;
}

}  // namespace

std::optional<ScalarCopy> scalar_copy(const ResolvedNest& view, const StagedTile& s,
                                      const std::vector<std::int64_t>& extents) {
  if (s.parent >= 0 || s.memory != view.model->home()) return std::nullopt;
  Lowering lowering(*view.model);
  const Pairing pairing = pair(view.statement, view.instruction, view.mapping);
  const auto inner = tile_of(view, pairing, s, extents, lowering.program);
  if (!inner) return std::nullopt;
  const TileLayout outer = tensor_of(view, s.access, lowering.program);
  Copy copy;
  copy.inner = &*inner;
  copy.outer = &outer;
  for (const Coordinate& c : inner->coordinates) copy.zero.push_back(padding_must_be_zero(pairing, c));
  if (s.access > 0)
    copy.outside = outside_of(view.statement, access_of(view.statement, s.access).tensor, view.kernel->tensors);
  ElementSum sum{lowering.program.buffers, element_cycles_of(view.model->timing)};
  const auto fill = transfer(lowering, copy);
  if (!fill) return std::nullopt;
  const CopySums filled = sum.of(*fill);
  ScalarCopy found{filled.cycles, 0, {}};
  if (filled.copied > 0) found.each = filled.copied_cycles / filled.copied;
  if (s.access > 0) return found;
  copy.into_inner = false;
  const auto drain = transfer(lowering, copy);
  if (!drain) return std::nullopt;
  found.drained = sum.of(*drain).cycles;
  return found;
}

}  // namespace isamap

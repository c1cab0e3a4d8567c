// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/tile_uses.h"

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <boost/container_hash/hash.hpp>
#include <cmath>
#include <map>
#include <numeric>
#include <span>
#include <unordered_map>

#include "ir/legal.h"
#include "ir/operand_use.h"
#include "scheduler/cost/first_values.h"
#include "scheduler/nest/instruction_timing.h"
#include "scheduler/nest/move_points.h"
#include "scheduler/nest/staged_tile.h"
#include "support/arithmetic.h"

namespace isamap {

namespace {

/// Digits of a layout; nothing: unsupported ones.
using Splits = std::span<const std::optional<SplitDigit>>;

/// Layout of the buffer of a stage; empty: in registers, or of a tensor without dims.
Splits own_layout(const ResolvedNest& view, int stage) {
  const StagedTile& s = view.stages[static_cast<std::size_t>(stage)];
  return s.facts->splits_of(s.access);
}

/// Layout of the tile of a stage: its own, or that of the tile around it.
Splits layout_of(const ResolvedNest& view, int stage) {
  for (; stage >= 0; stage = view.stages[static_cast<std::size_t>(stage)].parent)
    if (const Splits layout = own_layout(view, stage); !layout.empty()) return layout;
  return {};
}

/// Dim of the instruction whose elements a digit replicates; -1: a digit of the tile.
int replicated_dim(const ResolvedNest& view, const SplitDigit& split) {
  const auto name = split.form.as_dim();
  if (!view.instruction || !name || name->front() != '$') return -1;
  return view.instruction->statement().domain.find(name->substr(1));
}

/// Divisors of the divisions in the offset of an access, by dim inside; 1: of more than the dim alone.
std::multimap<std::string, std::int64_t> divisors_of(const ResolvedNest& view, const Access& access) {
  std::multimap<std::string, std::int64_t> divisors;
  const auto linear = [](const AffineExpr& e) { return e.is_linear(); };
  if (std::all_of(access.index.begin(), access.index.end(), linear)) return divisors;
  const Tensor& tensor = view.kernel->tensors[access.tensor.index()];
  const AffineExpr offset = simplify(row_major(access.index, tensor.shape), ranges_of(view.statement.domain));
  for (const AffineTerm& term : offset.terms())
    if (const FloorDiv* part = division(term))
      for (const std::string& name : part->numerator->names())
        divisors.emplace(name, part->numerator->as_dim() ? part->divisor : 1);
  return divisors;
}

/// Strides of the coordinate change where a division of one of its dims advances.
void find_runs(TileCoordinate& w, const std::multimap<std::string, std::int64_t>& divisors) {
  for (const std::string& name : w.form.names())
    for (auto [at, end] = divisors.equal_range(name); at != end; ++at)
      w.run = std::gcd(w.run, w.form.as_dim() ? at->second : 1);
}

/// Is the form contiguous at the source or destination outside?
bool contiguous_outside(const ResolvedNest& view, int stage, const AffineExpr& form) {
  const StagedTile& s = view.stages[static_cast<std::size_t>(stage)];
  const auto all_names = [&](const auto& fit) {
    return std::all_of(form.terms().begin(), form.terms().end(),
                       [&](const AffineTerm& term) { return fit(std::get<std::string>(term.atom)); });
  };
  if (const Splits layout = layout_of(view, s.parent); !layout.empty()) {
    const std::vector<std::int64_t> around = view.tiles(view.stages[static_cast<std::size_t>(s.parent)].loops);
    const auto last = std::find_if(layout.rbegin(), layout.rend(), [&](const std::optional<SplitDigit>& split) {
      return !split || split->modulo > 1 || replicated_dim(view, *split) >= 0 ||
             extent_over(split->form, view.statement.domain, around) > 1;
    });  // those of one point lie between no neighbours
    if (last == layout.rend() || !*last) return false;
    const SplitDigit& split = **last;
    return split.divide == 1 && (split.form == form ||
                                 all_names([&](const std::string& name) { return split.form.coefficient(name) == 1; }));
  }
  const Access& access = access_of(view.statement, s.access);
  const std::vector<std::int64_t>& shape = view.kernel->tensors[access.tensor.index()].shape;
  std::size_t inner = access.index.size();
  while (inner > 0 && shape[inner - 1] == 1) --inner;
  if (inner == 0) return true;
  const AffineExpr& last = access.index[inner - 1];
  if (last - last.constant() == form) return true;  // 2*q + s: its elements are neighbours, whatever its dims step
  return all_names([&](const std::string& name) {
    const std::int64_t step = last.coefficient(name);  // 0: only in divisions, or not at all
    return step == 1 || (step == 0 && last.names().contains(name));
  });
}

/// The last dim of the move with more than one point.
std::optional<std::size_t> last_dim(const Instruction& move) {
  for (std::size_t d = move.ranges.size(); d-- > 0;)
    if (move.ranges[d].max != 1) return d;
  return std::nullopt;
}

/// Does the last dim of the move require a constant stride, mostly 1?
bool requires_stride(const Instruction& move) {
  const auto d = last_dim(move);
  if (!d) return false;
  const std::string& last = move.statement().domain.dims[*d].name;
  return std::any_of(move.operands.begin(), move.operands.end(), [&](const Operand& operand) {
    const auto* strided = std::get_if<StridedLayout>(&operand.layout);
    return !strided || std::any_of(strided->terms.begin(), strided->terms.end(), [&](const StrideTerm& term) {
      return term.stride && term.term.names().contains(last);
    });
  });
}

/// Does the move write its last dim with a stride other than 1 (a transpose)?
bool transposes(const Instruction& move, MemoryId inside) {
  const std::string& last = move.statement().domain.dims.back().name;
  for (const Operand& operand : move.operands) {
    const auto* strided = std::get_if<StridedLayout>(&operand.layout);
    if (operand.memory != inside || strided == nullptr) continue;
    for (const StrideTerm& term : strided->terms)
      if (term.stride && term.stride->op == IntExpr::Op::number && term.stride->number > 1 &&
          term.term.names().contains(last))
        return true;
  }
  return false;
}

/// Distance of neighbours along a form in the tile itself, in elements; replicas count with their whole extent. Of its
/// blocks with `divide`: of the digit form / divide. Nothing: the tile is in registers, or has no such digit.
std::optional<std::int64_t> distance_inside(const ResolvedNest& view, int stage, const AffineExpr& form,
                                            const std::vector<std::int64_t>& sizes, std::int64_t divide = 1) {
  const Splits own = own_layout(view, stage);
  if (own.empty()) return std::nullopt;
  const StagedTile& s = view.stages[static_cast<std::size_t>(stage)];
  const std::vector<LayoutDigit>& layout = *s.facts->layout_of(s.access);
  std::int64_t distance = 1;
  for (std::size_t i = layout.size(); i-- > 0;) {
    const std::optional<SplitDigit>& split = own[i];
    if (!split) return std::nullopt;
    if (split->divide == divide && split->form == form) return distance;
    std::int64_t extent = split->modulo;
    if (const int d = replicated_dim(view, *split); extent == 0 && d >= 0)
      extent = view.instruction->ranges[static_cast<std::size_t>(d)].max;
    else if (extent == 0)
      extent = digit_extent(*split, extent_over(split->form, view.statement.domain, sizes));
    distance *= extent + layout[i].pad;
  }
  return std::nullopt;
}

/// Does the dim of the move write (or read) the tile itself at another distance than this?
bool other_distance(const Instruction& move, MemoryId inside, std::size_t d, std::int64_t distance) {
  const std::string& name = move.statement().domain.dims[d].name;
  for (const Operand& operand : move.operands) {
    const auto* strided = std::get_if<StridedLayout>(&operand.layout);
    if (operand.memory != inside || strided == nullptr) continue;
    for (const StrideTerm& term : strided->terms)
      if (term.term.as_dim() == name && term.each.empty() && term.stride && term.stride->op == IntExpr::Op::number &&
          term.stride->number != distance)
        return true;
  }
  return false;
}

/// Points along a coordinate that one use covers.
std::int64_t points_of_use(const DimRange& range, const TileCoordinate& coordinate) {
  const std::int64_t points = std::min(coordinate.contiguous, range.max);
  return coordinate.run % points == 0 ? points : 1;
}

/// Extents of uses of a move along one of its dims, with their counts.
struct AlongDim {
  std::size_t dim = 0;
  std::vector<std::pair<std::int64_t, double>> extents;
};

/// Adds what uses of all combinations of these extents take, each so many times; `extents` holds those of other dims.
struct UseSum {
  const Instruction& move;
  const std::vector<AlongDim>& along;
  DType type;
  const HardwareModel& model;
  TileMove& sum;

  void add(std::size_t next, double times, std::vector<std::int64_t>& extents) {
    if (next < along.size()) {
      for (const auto& [extent, number] : along[next].extents) {
        extents[along[next].dim] = extent;
        add(next + 1, times * number, extents);
      }
      return;
    }
    sum.cycles += times * interval_of(move, extents, model);
    for (const SharedPortUse& use : held_ports(shared_port_uses(move, extents, type, model), move)) {
      const auto known = std::find_if(sum.shared.begin(), sum.shared.end(),
                                      [&](const SharedPortUse& other) { return other.port == use.port; });
      if (known == sum.shared.end())
        sum.shared.push_back({use.port, times * std::ceil(use.cycles)});
      else
        known->cycles += times * std::ceil(use.cycles);
    }
  }
};

/// Cycles and number of all uses, tails included.
TileMove uses_of_tile(const Instruction& move, const std::vector<TileCoordinate>& tile, DType type,
                      const HardwareModel& model) {
  std::vector<std::int64_t> extents = least_extents(move);
  std::vector<AlongDim> along;
  double uses = 1, others = 1;
  for (std::size_t d = extents.size(); d-- > 0;) {
    const auto coordinate =
        std::find_if(tile.begin(), tile.end(), [&](const TileCoordinate& w) { return w.dim == static_cast<int>(d); });
    if (coordinate == tile.end()) continue;
    const std::int64_t points = coordinate->points, remainder = coordinate->extent % points, least = extents[d];
    if (!move.ranges[d].fixed()) extents[d] = std::max(least, points);
    along.push_back({d, {{extents[d], static_cast<double>(coordinate->extent / points)}}});
    if (remainder > 0) along.back().extents.emplace_back(std::max(least, remainder), 1);
    uses *= static_cast<double>(ceil_div(coordinate->extent, points));
  }
  for (const TileCoordinate& coordinate : tile)
    if (coordinate.dim < 0) others *= static_cast<double>(coordinate.extent);
  TileMove all{uses * others, 0, latency_of(move, extents, model), {}};
  UseSum{move, along, type, model, all}.add(0, others, extents);
  all.cycles /= ports_of(move, model);
  return all;
}

/// The dim of the statement at each subscript of an operand of the instruction; "": none, or no plain dim.
std::vector<std::string> dims_of_operand(const ResolvedNest& view, int operand) {
  std::vector<std::string> names;
  for (const AffineExpr& index : access_of(view.instruction->statement(), operand).index) {
    const auto own = index.as_dim();
    const auto at = std::find(view.instruction_dim.begin(), view.instruction_dim.end(),
                              own ? view.instruction->statement().domain.find(*own) : -2);
    const auto d = static_cast<std::size_t>(at - view.instruction_dim.begin());
    names.push_back(at == view.instruction_dim.end() ? "" : view.statement.domain.dims[d].name);
  }
  return names;
}

/// The operand of the instruction whose tile a stage in registers holds; -1: it is in a memory, or no operand.
int operand_in_registers(const ResolvedNest& view, int stage) {
  const StagedTile& s = view.stages[static_cast<std::size_t>(stage)];
  return view.instruction && view.model->memory(s.memory).is_register() ? instruction_access(view.mapping, s.access)
                                                                        : -1;
}

/// A coordinate that the layout does not split.
TileCoordinate whole_coordinate(const AffineExpr& form, std::int64_t extent, int order) {
  TileCoordinate w;
  w.form = form;
  w.extent = w.contiguous = std::max<std::int64_t>(1, extent);
  w.order = w.block_order = order;
  return w;
}

/// Coordinates of a tile in registers: dims of the statement, a register for each block of what a call takes; those of
/// the operand last, in its order.
std::vector<TileCoordinate> register_coordinates(const ResolvedNest& view, int access_number, int operand,
                                                 const std::vector<std::int64_t>& sizes) {
  const std::vector<bool>& uses = view.facts->accesses[static_cast<std::size_t>(access_number)].uses;
  std::vector<TileCoordinate> all;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    const Dim& dim = view.statement.domain.dims[d];
    if (!uses[d]) continue;
    TileCoordinate w = whole_coordinate(AffineExpr::dim(dim.name), sizes[d], static_cast<int>(all.size()));
    w.contiguous = 1;
    if (const int m = view.instruction_dim[d]; m >= 0)
      w.contiguous = std::min(w.extent, w.block = view.instruction->ranges[static_cast<std::size_t>(m)].max);
    all.push_back(std::move(w));
  }
  for (const std::string& name : dims_of_operand(view, operand)) {
    const auto at =
        std::find_if(all.begin(), all.end(), [&](const TileCoordinate& w) { return w.form == AffineExpr::dim(name); });
    if (at != all.end()) std::rotate(at, at + 1, all.end());
  }
  return all;
}

/// Points of a replica, `$j`: of a dim of the instruction that the tensor lacks. 1: no dim of the statement is there.
std::int64_t replicas(const ResolvedNest& view, const SplitDigit& split) {
  const int m = replicated_dim(view, split);
  const auto& dims = view.instruction_dim;
  return m < 0 || std::find(dims.begin(), dims.end(), m) == dims.end()
             ? 1
             : view.instruction->ranges[static_cast<std::size_t>(m)].max;
}

}  // namespace

std::vector<TileCoordinate> coordinates_of(const ResolvedNest& view, int stage,
                                           const std::vector<std::int64_t>& sizes) {
  const StagedTile& s = view.stages[static_cast<std::size_t>(stage)];
  const Access& access = access_of(view.statement, s.access);
  const IterationDomain& domain = view.statement.domain;
  std::vector<TileCoordinate> all;
  if (const int operand = operand_in_registers(view, stage); operand >= 0) {
    all = register_coordinates(view, s.access, operand, sizes);
  } else if (const Splits layout = layout_of(view, stage); !layout.empty()) {
    int order = -1;
    for (const std::optional<SplitDigit>& split : layout) {
      ++order;
      if (!split) continue;
      const auto name = split->form.as_dim();
      if (name && name->front() == '$') {
        all.push_back(whole_coordinate(split->form, replicas(view, *split), order));
        continue;
      }
      const auto same = [&](const TileCoordinate& w) { return w.form == split->form; };
      auto at = std::find_if(all.begin(), all.end(), same);
      if (at == all.end())
        at = all.insert(all.end(), whole_coordinate(split->form, extent_over(split->form, domain, sizes), order));
      if (split->divide == 1 && split->modulo > 0) {
        at->contiguous = std::min(at->extent, at->block = split->modulo);
        at->block_order = order;
      }
      std::rotate(at, at + 1, all.end());
    }
  } else {
    for (const AffineExpr& form : natural_forms(access))
      all.push_back(whole_coordinate(form, extent_over(form, domain, sizes), static_cast<int>(all.size())));
  }
  if (s.parent < 0) {
    const auto divisors = divisors_of(view, access);
    for (TileCoordinate& w : all) find_runs(w, divisors);
  }
  std::erase_if(all, [](const TileCoordinate& w) { return w.extent <= 1; });
  return all;
}

namespace {

/// The first points of uses of a box of a tile, loop by loop of the program.
class FirstPoints {
 public:
  explicit FirstPoints(const std::vector<TileCoordinate>& tile) : tile_(tile), at_(tile.size(), 0) {
    for (std::size_t i = 0; i < tile.size(); ++i) ordered_.push_back(i);
    std::stable_sort(ordered_.begin(), ordered_.end(),
                     [&](std::size_t a, std::size_t b) { return tile[a].order < tile[b].order; });
  }

  std::vector<std::vector<std::int64_t>> run() {
    std::vector<Range> whole;
    for (const TileCoordinate& w : tile_) whole.push_back({0, w.extent});
    peel(std::move(whole), 0);
    return std::move(found_);
  }

 private:
  struct Range {
    std::int64_t from = 0, to = 0;
  };
  /// A loop from `at_` of its coordinate on, or over its whole range.
  struct UseLoop {
    std::size_t coordinate = 0;
    std::int64_t step = 1;
    bool in_block = false;
    int order = 0;
  };

  /// Points of a block that a program loops over: of what moves cover, several of them in a block of the layout.
  std::int64_t step(std::size_t i) const {
    const TileCoordinate& w = tile_[i];
    return w.dim < 0 || cut_in_block(i) ? std::max(w.block, w.points) : w.points;
  }
  bool cut_in_block(std::size_t i) const { return tile_[i].points < std::min(tile_[i].block, tile_[i].extent); }

  /// Partial blocks of what is cut within blocks come after all whole ones.
  void peel(std::vector<Range> box, std::size_t from) {
    for (; from < ordered_.size(); ++from) {
      const std::size_t i = ordered_[from];
      const std::int64_t extent = box[i].to - box[i].from, left = extent % step(i);
      if (tile_[i].dim < 0 || !cut_in_block(i) || left == 0 || left == extent) continue;
      std::vector<Range> tail = box;
      tail[i].from = box[i].to -= left;
      peel(std::move(box), from + 1);
      return peel(std::move(tail), from + 1);
    }
    tails(std::move(box), ordered_.size());
  }

  /// Tails, of the last coordinate outermost.
  void tails(std::vector<Range> box, std::size_t below) {
    while (below-- > 0) {
      const std::size_t i = ordered_[below];
      const std::int64_t extent = box[i].to - box[i].from, left = extent % step(i);
      if (left == 0 || left == extent) continue;
      std::vector<Range> tail = box;
      tail[i].from = box[i].to -= left;
      tails(std::move(box), below);
      return tails(std::move(tail), below);
    }
    std::vector<UseLoop> loops;
    for (const std::size_t i : ordered_) {
      loops.push_back({i, step(i), false, tile_[i].order});
      if (tile_[i].points < step(i)) loops.push_back({i, tile_[i].points, true, tile_[i].block_order});
    }
    std::stable_sort(loops.begin(), loops.end(), [](const UseLoop& a, const UseLoop& b) { return a.order < b.order; });
    visit(box, loops, 0);
  }

  void visit(const std::vector<Range>& box, const std::vector<UseLoop>& loops, std::size_t depth) {
    if (depth == loops.size()) {
      found_.push_back(at_);
      return;
    }
    const UseLoop& loop = loops[depth];
    const std::size_t i = loop.coordinate;
    const std::int64_t low = loop.in_block ? at_[i] : box[i].from;
    const std::int64_t high = loop.in_block ? std::min(box[i].to, low + step(i)) : box[i].to;
    for (at_[i] = low; at_[i] < high; at_[i] += loop.step) {
      const std::int64_t here = at_[i];
      visit(box, loops, depth + 1);
      at_[i] = here;
    }
    at_[i] = low;
  }

  const std::vector<TileCoordinate>& tile_;
  std::vector<std::size_t> ordered_;
  std::vector<std::int64_t> at_;
  std::vector<std::vector<std::int64_t>> found_;
};

}  // namespace

std::vector<std::vector<std::int64_t>> first_points(const std::vector<TileCoordinate>& tile) {
  return FirstPoints(tile).run();
}

std::vector<std::int64_t> least_extents(const Instruction& move) {
  std::vector<std::int64_t> extents;
  for (const DimRange& range : move.ranges)
    extents.push_back(range.fixed() ? range.max : std::max<std::int64_t>(1, range.min));
  return extents;
}

namespace {

/// Does the move fill the tile, or drain it?
bool fills(const ResolvedNest& view, int stage, const Instruction& move) {
  return operand_of(move, 0).memory == view.memory_of(stage);
}

/// Assigns the dims of a move to the coordinates of a tile in registers, whose places in them the instruction fixes:
/// the dim of the move's subscript to the coordinate of the instruction's. False: the move takes another box.
bool assigned_by_place(const ResolvedNest& view, int stage, const Instruction& move,
                       std::vector<TileCoordinate>& tile) {
  const int operand = operand_in_registers(view, stage), side = fills(view, stage, move) ? 0 : 1;
  if (operand < 0 || operand_box(move, side) != operand_box(*view.instruction, operand)) return false;
  const std::vector<std::string> names = dims_of_operand(view, operand);
  const std::vector<AffineExpr>& index = access_of(move.statement(), side).index;
  for (std::size_t i = 0; i < index.size(); ++i) {
    const auto own = index[i].as_dim();
    if (!own) return false;
    for (TileCoordinate& w : tile) {
      if (names[i].empty() || w.form != AffineExpr::dim(names[i])) continue;
      w.dim = move.statement().domain.find(*own);
      w.points = w.contiguous;
    }
  }
  return true;
}

/// Packed blocks whose padding calls read as 0 are moved whole, padding included, where the move itself sets nothing
/// beyond its extents: with a tail of 44 in blocks of 72 as fills of 72.
void pad_blocks(const ResolvedNest& view, int stage, const Instruction& move, std::vector<TileCoordinate>& tile) {
  const int parent = view.stages[static_cast<std::size_t>(stage)].parent;
  if (!view.instruction || parent < 0 || !fills(view, stage, move)) return;
  const Splits outside = layout_of(view, parent);
  for (TileCoordinate& w : tile) {
    const auto name = w.form.as_dim();
    const int d = name ? view.statement.domain.find(*name) : -1;
    const int m = d < 0 ? -1 : view.instruction_dim[static_cast<std::size_t>(d)];
    if (m < 0 || w.block <= 1 || w.extent % w.block == 0 || outside.empty()) continue;
    const bool read_as_zero = view.instruction->ranges[static_cast<std::size_t>(m)].fixed() &&
                              view.statement.domain.dims[static_cast<std::size_t>(d)].kind == DimKind::reduction;
    const bool set =
        w.dim >= 0 && move.inactive == Inactive::zero && !move.ranges[static_cast<std::size_t>(w.dim)].kept;
    const bool padded_there = std::any_of(outside.begin(), outside.end(), [&](const auto& split) {
      return split && split->form == w.form && split->divide == 1 && split->modulo % w.block == 0 && split->modulo > 0;
    });
    if (!read_as_zero || !padded_there || set) continue;
    w.extent = round_up(w.extent, w.contiguous = w.block);
    if (w.dim >= 0) w.points = points_of_use(move.ranges[static_cast<std::size_t>(w.dim)], w);
  }
}

/// Bytes to which the move's addresses in the memory of the tile are aligned.
std::int64_t alignment_inside(const ResolvedNest& view, int stage, const Instruction& move) {
  const MemoryId inside = view.memory_of(stage);
  std::int64_t unit = view.model->memory(inside).granularity;
  for (const Operand& operand : move.operands)
    if (operand.memory == inside) unit = std::max(unit, operand.align);
  return unit;
}

/// Bytes of an element of the tile.
std::int64_t element_inside(const ResolvedNest& view, int stage) {
  const Access& access = access_of(view.statement, view.stages[static_cast<std::size_t>(stage)].access);
  return bytes(view.kernel->tensors[access.tensor.index()].dtype);
}

/// Dims of the move assigned to coordinates, each at its largest extent.
std::vector<TileCoordinate> largest_uses(const ResolvedNest& view, int stage, const Instruction& move,
                                         const std::vector<std::int64_t>& sizes) {
  std::vector<TileCoordinate> tile = coordinates_of(view, stage, sizes);
  if (assigned_by_place(view, stage, move, tile)) return tile;
  const bool copies = access_count(move.statement()) > 1;  // or sets the tile, whatever is outside
  if (copies && !tile.empty() && requires_stride(move) && !contiguous_outside(view, stage, tile.back().form)) {
    const auto outside = std::find_if(tile.begin(), tile.end(), [&](const TileCoordinate& w) {
      return transposes(move, view.memory_of(stage)) && contiguous_outside(view, stage, w.form);
    });
    if (outside != tile.end())
      std::rotate(outside, outside + 1, tile.end());
    else
      tile.push_back({});
  }
  const auto fits = [&](const TileCoordinate& w, std::size_t d) {
    const auto distance = distance_inside(view, stage, w.form, sizes);
    return !distance || !other_distance(move, view.memory_of(stage), d, *distance);
  };
  // Elements with replicas between them are no row: the last dim of the move covers another coordinate, or one element.
  if (const auto d = last_dim(move); d && !tile.empty() && !fits(tile.back(), *d)) {
    const auto other = std::find_if(tile.begin(), tile.end(), [&](const TileCoordinate& w) {
      return fits(w, *d) && (!copies || contiguous_outside(view, stage, w.form));
    });
    if (other != tile.end())
      std::rotate(other, other + 1, tile.end());
    else
      tile.push_back({});
  }
  bool last = true;
  std::size_t left = tile.size();
  for (std::size_t d = move.ranges.size(); d-- > 0 && left > 0;) {
    const DimRange& range = move.ranges[d];
    if (range.max == 1) continue;
    const auto uses_left = [&](const TileCoordinate& w) {
      return static_cast<double>(ceil_div(w.extent, points_of_use(range, w))) / static_cast<double>(w.extent);
    };
    // Where uses for each of its elements would begin at addresses that the move refuses, it covers the coordinate.
    const auto key = [&](const TileCoordinate& w) {
      const auto distance = distance_inside(view, stage, w.form, sizes).value_or(0) * element_inside(view, stage);
      return std::pair(distance % std::max<std::int64_t>(1, alignment_inside(view, stage, move)) == 0, uses_left(w));
    };
    TileCoordinate* best = last ? &tile.back() : nullptr;
    for (TileCoordinate& w : tile)
      if (!last && w.dim < 0 && fits(w, d) && (best == nullptr || key(w) < key(*best))) best = &w;
    last = false;
    if (best == nullptr) continue;
    best->points = points_of_use(range, *best);
    best->dim = static_cast<int>(d);
    --left;
  }
  pad_blocks(view, stage, move, tile);
  return tile;
}

/// Search for the points that lowering chooses where a move has more conditions than the ranges of its dims.
class LegalUses {
 public:
  LegalUses(const ResolvedNest& view, int stage, const Instruction& move, std::vector<TileCoordinate> tile)
      : view_(view), stage_(stage), move_(move), at_(std::move(tile)), found_(at_), extents_(least_extents(move)) {
    sizes_ = view.tiles(view.stages[static_cast<std::size_t>(stage)].loops);
  }

  /// The first with the fewest uses, in the order of move_tilings.cpp; what it was if no points are legal.
  std::vector<TileCoordinate> find() {
    choose(0);
    return found_;
  }

 private:
  void choose(std::size_t d) {
    if (d == extents_.size()) return take();
    const auto w =
        std::find_if(at_.begin(), at_.end(), [&](const TileCoordinate& c) { return c.dim == static_cast<int>(d); });
    if (w == at_.end()) return choose(d + 1);
    const bool in_memory = !view_.model->memory(view_.memory_of(stage_)).is_register();
    const std::int64_t least = extents_[d];
    const CutCoordinate cut{round_up(w->extent, w->block), w->block, in_memory};
    for (const std::int64_t points : points_of_move(cut, move_.ranges[d], true)) {
      if (w->run % points != 0 || !in_place(*w, points)) continue;
      extents_[d] = w->points = points;
      choose(d + 1);
    }
    extents_[d] = least;
  }

  void take() {
    double uses = 1;
    for (const TileCoordinate& w : at_) uses *= static_cast<double>(ceil_div(w.extent, w.dim < 0 ? 1 : w.points));
    if ((fewest_ > 0 && uses >= fewest_) || !extents_fit(move_, extents_)) return;
    fewest_ = uses;
    found_ = at_;
  }

  /// Do whole blocks follow one another, and do uses begin at addresses that the tile's memory and the move accept?
  bool in_place(const TileCoordinate& w, std::int64_t points) const {
    const auto near = distance_inside(view_, stage_, w.form, sizes_);
    if (!near) return points <= std::max(w.block, w.contiguous);
    const auto far = w.block > 1 ? distance_inside(view_, stage_, w.form, sizes_, w.block) : std::nullopt;
    if (w.block > 1 && points > w.block && w.extent > w.block && far != *near * w.block) return false;
    if (points >= w.extent) return true;
    const std::int64_t unit = alignment_inside(view_, stage_, move_);
    const std::int64_t step = points >= w.block && far ? points / w.block * *far : points * *near;
    return unit <= 1 || step * element_inside(view_, stage_) % unit == 0;
  }

  const ResolvedNest& view_;
  int stage_;
  const Instruction& move_;
  std::vector<TileCoordinate> at_, found_;
  std::vector<std::int64_t> extents_;
  std::vector<std::int64_t> sizes_;
  double fewest_ = 0;
};

/// The coordinates of a tile with the dims of a move.
std::vector<TileCoordinate> assigned(const ResolvedNest& view, int stage, const Instruction& move,
                                     const std::vector<std::int64_t>& sizes) {
  std::vector<TileCoordinate> tile = largest_uses(view, stage, move, sizes);
  if (!has_more_conditions(move)) return tile;
  const std::vector<std::int64_t> full = view.tiles(view.stages[static_cast<std::size_t>(stage)].loops);
  const std::vector<TileCoordinate> whole =
      LegalUses(view, stage, move, full == sizes ? tile : largest_uses(view, stage, move, full)).find();
  for (TileCoordinate& w : tile)
    for (const TileCoordinate& chosen : whole)
      if (w.dim >= 0 && w.form == chosen.form && w.dim == chosen.dim) w.points = std::min(w.extent, chosen.points);
  return tile;
}

TileMove timed_move(const ResolvedNest& view, int stage, const Instruction& move,
                    const std::vector<TileCoordinate>& tile) {
  const Access& access = access_of(view.statement, view.stages[static_cast<std::size_t>(stage)].access);
  const DType type = view.kernel->tensors[access.tensor.index()].dtype;
  TileMove result = uses_of_tile(move, tile, type, *view.model);
  double rate = move.link.valid() ? view.model->link(move.link).bandwidth : 0;
  for (const auto& [operand, write] : {std::pair(0, true), std::pair(1, false)}) {  // no faster than its memories
    if (operand >= access_count(move.statement()) || !operand_of(move, operand).memory.valid()) continue;
    const Memory& memory = view.model->memory(operand_of(move, operand).memory);
    const double port = write ? memory.write_bandwidth : memory.read_bandwidth;
    if (port > 0) rate = rate > 0 ? std::min(rate, port) : port;
  }
  if (rate <= 0) return result;
  double moved = static_cast<double>(bytes(type));
  for (const TileCoordinate& coordinate : tile) moved *= static_cast<double>(coordinate.extent);
  result.cycles = std::max(result.cycles, moved / rate);
  return result;
}

}  // namespace

/// A search meets the same tiles in many nests: the uses of a move, by all that decides them.
struct KnownMoves {
  struct One {
    std::vector<TileCoordinate> coordinates;
    TileMove move;
  };
  using Key = boost::container::small_vector<std::int64_t, 32>;
  struct Hash {
    std::size_t operator()(const Key& key) const { return boost::hash_range(key.begin(), key.end()); }
  };
  static constexpr std::size_t most = 4096;  ///< then they are forgotten
  std::unordered_map<Key, One, Hash> by_key;
  std::optional<std::vector<InstructionId>> named = {};  ///< by the line
};

namespace {

KnownMoves& known_moves(const ResolvedNest& view, int stage) {
  std::shared_ptr<KnownMoves>& moves = view.stages[static_cast<std::size_t>(stage)].facts->moves;
  if (!moves) moves = std::make_shared<KnownMoves>();
  return *moves;
}

/// The move, the sizes, the whole tile where that decides too, and the tiles around it: their layouts, and which of
/// their dims have neighbours.
KnownMoves::Key key_of(const ResolvedNest& view, int stage, const Instruction& move,
                       const std::vector<std::int64_t>& sizes) {
  const StagedTile& s = view.stages[static_cast<std::size_t>(stage)];
  KnownMoves::Key key{static_cast<std::int64_t>(&move - view.model->instructions().data()), s.access};
  key.insert(key.end(), sizes.begin(), sizes.end());
  if (!move.legal.empty()) {
    const std::vector<std::int64_t> full = view.tiles(s.loops);
    key.insert(key.end(), full.begin(), full.end());
  }
  for (int around = s.parent; around >= 0; around = view.stages[static_cast<std::size_t>(around)].parent) {
    const StagedTile& outer = view.stages[static_cast<std::size_t>(around)];
    key.push_back(outer.facts->number);
    key.push_back(outer.access);
    std::int64_t neighbours = 1;  // a bit for each dim
    for (const std::int64_t extent : view.tiles(outer.loops)) {
      if (neighbours >> 62 != 0) key.push_back(neighbours), neighbours = 1;
      neighbours = neighbours << 1 | (extent > 1 ? 1 : 0);
    }
    key.push_back(neighbours);
  }
  return key;
}

const KnownMoves::One& known_move(const ResolvedNest& view, int stage, const Instruction& move,
                                  const std::vector<std::int64_t>& sizes) {
  KnownMoves& moves = known_moves(view, stage);
  KnownMoves::Key key = key_of(view, stage, move, sizes);
  if (const auto known = moves.by_key.find(key); known != moves.by_key.end()) return known->second;
  if (moves.by_key.size() >= KnownMoves::most) moves.by_key.clear();
  KnownMoves::One one{assigned(view, stage, move, sizes), {}};
  one.move = timed_move(view, stage, move, one.coordinates);
  return moves.by_key.emplace(std::move(key), std::move(one)).first->second;
}

}  // namespace

const std::vector<TileCoordinate>& coordinates_of_move(const ResolvedNest& view, int stage, const Instruction& move,
                                                       const std::vector<std::int64_t>& sizes) {
  return known_move(view, stage, move, sizes).coordinates;
}

const TileMove& move_of_tile(const ResolvedNest& view, int stage, const Instruction& move,
                             const std::vector<std::int64_t>& sizes) {
  return known_move(view, stage, move, sizes).move;
}

const Instruction* move_for_tile(const ResolvedNest& view, int stage, const MovePath& path) {
  const Instruction* first = move_between(*view.model, path.from, path.to, path.dtype);
  if (first == nullptr) return nullptr;
  const std::vector<std::int64_t> full = view.tiles(view.stages[static_cast<std::size_t>(stage)].loops);
  const Instruction* best = first;
  double fewest = -1;  // counted only where there is a choice
  for (const InstructionId id : view.model->moves()) {
    const Instruction& move = view.model->instruction(id);
    const auto alike = [&](std::size_t operand) {
      return move.operands[operand].memory == first->operands[operand].memory &&
             move.operands[operand].dtype == first->operands[operand].dtype;
    };
    if (&move == first || move.operands.size() < 2 || !alike(0) || !alike(1)) continue;
    if (fewest < 0) fewest = move_of_tile(view, stage, *first, full).uses;
    const double uses = move_of_tile(view, stage, move, full).uses;
    if (uses < fewest) fewest = uses, best = &move;
  }
  return best;
}

std::span<const InstructionId> named_moves(const ResolvedNest& view, int stage) {
  if (view.via(stage).empty()) return {};
  std::optional<std::vector<InstructionId>>& named = known_moves(view, stage).named;
  if (!named) {
    named.emplace();
    for (const std::string& name : view.via(stage))
      if (const auto id = view.model->find_instruction(name)) named->push_back(*id);
  }
  return *named;
}

std::span<const LinkId> links_of(const ResolvedNest& view, int stage, MemoryId from, MemoryId to) {
  for (const InstructionId move : named_moves(view, stage)) {
    const LinkId& own = view.model->instruction(move).link;
    if (own.valid() && view.model->link(own).from == from && view.model->link(own).to == to) return {&own, 1};
  }
  return links_between(*view.model, from, to);
}

const Instruction* clear_for_tile(const ResolvedNest& view, int stage) {
  const StagedTile& s = view.stages[static_cast<std::size_t>(stage)];
  const Computation& statement = view.statement;
  if (s.access != 0 || statement.reduction == Reduction::assign || s.stage.first != First::fill ||
      view.innermost[0] != stage || starts_full(view))
    return nullptr;
  const DType type = view.kernel->tensors[statement.write.tensor.index()].dtype;
  const double wanted = as_double(type, identity(statement.reduction, type));
  for (const Instruction& fill : view.model->instructions()) {
    if (fill_value(fill) != wanted || fill.operands.front().memory != s.memory) continue;
    if (!fill.operands.front().dtype || *fill.operands.front().dtype == type) return &fill;
  }
  return nullptr;
}

std::vector<std::int64_t> padded(const ResolvedNest& view, std::vector<std::int64_t> extents) {
  for (std::size_t m = 0; m < extents.size(); ++m) {
    const DimRange& range = view.instruction->ranges[m];
    const bool allowed = extents[m] >= range.min && extents[m] % std::max<std::int64_t>(1, range.multiple_of) == 0;
    if (!allowed) extents[m] = range.max;
  }
  return extents;
}

std::vector<std::int64_t> padded_extents(const ResolvedNest& view, const std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> extents(view.instruction->ranges.size(), 1);
  for (std::size_t d = 0; d < sizes.size(); ++d)
    if (const int m = view.instruction_dim[d]; m >= 0) extents[static_cast<std::size_t>(m)] = sizes[d];
  return padded(view, std::move(extents));
}

}  // namespace isamap

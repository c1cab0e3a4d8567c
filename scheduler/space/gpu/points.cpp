// SPDX-License-Identifier: Apache-2.0
// Points of the thread-block template (docs/schedule.md), shaped like a CUTLASS GEMM: for machines whose thread blocks
// share a scratchpad and whose instructions run on a part of a block (a warp), accumulate in registers, and read inputs
// from registers or from swizzled rows in the scratchpad.
//
//   parallel dims on blocks; accumulators in registers, distributed over warps; reduction steps; pipelined input tiles
// in
//   the scratchpad; the part of each warp; registers; calls
//
// A point chooses the mapping, warps and calls per warp along every dim, calls along a reduction step (depth), pipeline
// stages, register sets, and blocks per reduction (split-K), whose partial sums a `combine` instruction adds to the
// output.

#include <algorithm>
#include <set>

#include "ir/text/access_name.h"
#include "isamap/interpret.h"
#include "scheduler/cost/l2_reuse.h"
#include "scheduler/nest/resolved_nest.h"
#include "scheduler/nest/staged_tile.h"
#include "scheduler/nest/tile_layout.h"
#include "scheduler/space/gpu/mappings.h"
#include "scheduler/space/space_template.h"
#include "support/arithmetic.h"

namespace isamap {
namespace {

const std::vector<std::int64_t> part_counts = {1, 2, 4, 8};              // warps along a dim
const std::vector<std::int64_t> call_counts = {1, 2, 3, 4, 5, 6, 7, 8};  // calls of a warp along a dim
const std::vector<std::int64_t> depths = {1, 2, 4, 8};                   // calls along a reduction in one step
const std::vector<std::int64_t> split_counts = {1,  2,  3,  4,  6,  8,   12,  16,
                                                24, 32, 48, 64, 96, 128, 192, 256};  // blocks along a reduction
// double-buffered operand registers: the next step is loaded ahead
const std::vector<std::int64_t> register_sets = {1, 2};
constexpr std::int64_t most_buffers = 5;
constexpr std::int64_t raster_group = 8;  // rasterization group of persistent blocks
constexpr std::int64_t max_raster_group = 16;
constexpr double worthwhile = 0.98;  // of bytes
/// Who copies tiles: all threads; one computing thread; a producer warp; a producer warp of persistent blocks.
enum Copies { by_all, by_one, by_producer, persistent };
const std::vector<std::string> copies_labels = {"all", "one", "role", "turns"};

/// A dim tiled over blocks, warps and calls.
struct TiledDim {
  std::string dim;
  std::int64_t block = 1, part = 1, step = 1, extent = 1;
  std::int64_t share = 0;  ///< of a split reduction: extent of one block; 0: not split
  std::int64_t along = 1;  ///< instances side by side in a block
  bool parallel = true;
};

/// The tiling of a point.
struct Tiling {
  std::vector<TiledDim> tiled;
  std::vector<std::string> outer_reductions, outer_parallel;  ///< reductions and parallel dims outside of the calls
  std::int64_t parts = 1;                                     ///< instances side by side in a block
  bool split = false;                                         ///< a reduction is split over blocks
  int buffers = 1, copies = by_all;
};

void add_loop(Nest& nest, const std::string& dim, std::int64_t tile, const std::string& unit, bool pads, bool unroll) {
  nest.lines.push_back({For{{unroll}, {{dim, tile}}, unit, pads ? Tail::pad : Tail::none, ""}});
}

class BlockPoints final : public SpaceTemplate {
 public:
  BlockPoints(const Kernel& kernel, StatementId statement, std::vector<Mapping> mappings,
              std::vector<BlockMapping> prepared, const HardwareModel& model)
      : kernel_(kernel), id_(statement), mappings_(std::move(mappings)), prepared_(std::move(prepared)), model_(model) {
    for (std::size_t m = 0; m < prepared_.size(); ++m) prepared_[m].pairing.statement = &prepared_[m].statement;
    Decision mapping{"mapping", {}, DecisionKind::choice, "mapping"};
    for (std::size_t m = 0; m < mappings_.size(); ++m) mapping.labels.push_back(std::to_string(m));
    decisions_.push_back(mapping);
    const bool splits =
        std::any_of(prepared_.begin(), prepared_.end(), [](const BlockMapping& p) { return p.combine.valid(); });
    for (const Dim& dim : unfused().domain.dims) {
      const bool parallel = dim.kind == DimKind::parallel;
      decisions_.push_back({"parts " + dim.name,
                            labels(parallel ? part_counts
                                   : splits ? split_counts
                                            : std::vector<std::int64_t>{1}),
                            DecisionKind::size, dim.name});
      decisions_.push_back(
          {"calls " + dim.name, labels(parallel ? call_counts : depths), DecisionKind::size, dim.name});
    }
    std::vector<std::int64_t> buffers;
    for (std::int64_t b = 1; b <= most_buffers; ++b) buffers.push_back(b);
    decisions_.push_back({"buffers", labels(buffers), DecisionKind::size, "buffers"});
    const bool counted =
        std::any_of(prepared_.begin(), prepared_.end(), [](const BlockMapping& p) { return p.uses_counted_copies(); });
    decisions_.push_back({"sets", labels(register_sets), DecisionKind::size, "sets"});
    decisions_.push_back({"copies",
                          {copies_labels.begin(), copies_labels.begin() + (counted ? persistent + 1 : by_all + 1)},
                          DecisionKind::choice,
                          "copies"});
  }

  const std::vector<Decision>& decisions() const override { return decisions_; }
  const std::vector<Mapping>& mappings() const override { return mappings_; }

  Point repair(Point point) const override {
    point.choice.resize(decisions_.size(), 0);
    for (std::size_t i = 0; i < point.choice.size(); ++i)
      point.choice[i] = std::clamp(point.choice[i], 0, static_cast<int>(decisions_[i].labels.size()) - 1);
    return point;
  }
  Point random(std::uint64_t seed) const override {
    Random source(seed);
    Point point;
    for (const Decision& d : decisions_)
      point.choice.push_back(static_cast<int>(source.between(0, static_cast<std::int64_t>(d.labels.size()) - 1)));
    if (source.between(0, 1) == 0) unsplit(point);  // half of the points without split reductions
    return repair(std::move(point));
  }
  std::vector<Point> neighbours(const Point& point) const override {
    std::vector<Point> all;
    for (std::size_t i = 1; i < point.choice.size(); ++i)
      for (const int step : {-1, 1}) {
        Point other = point;
        other.choice[i] += step;
        if (repair(other) == other) all.push_back(std::move(other));
      }
    return all;
  }
  Point changed(const Point& point, Random& random) const override {
    Point other = changed_choice(decisions_, point, random);
    if (random.unit() < 0.05) unsplit(other);
    return other;
  }

  /// Two or four warps along each dim with calls for about 64 x 64 points, and smaller ones.
  std::vector<Point> starts(std::size_t count) const override {
    std::vector<Point> points;
    for (const std::size_t m : ranked_block_mappings(kernel_, unfused(), mappings_, prepared_, model_)) {
      if (points.size() >= count) break;
      for (const auto& [points_wanted, parts] : {std::pair(64, 1), {64, 2}, {32, 1}, {32, 0}, {16, 0}}) {
        Point point = repair({});
        point.choice[0] = static_cast<int>(m);
        for (std::size_t d = 0; d < unfused().domain.dims.size(); ++d) {
          const std::int64_t step = call_step(prepared_[m], unfused().domain.dims[d].name);
          if (step == 0) continue;
          const bool parallel = unfused().domain.dims[d].kind == DimKind::parallel;
          const bool wide =
              chosen_step(prepared_[m], fused_dim(prepared_[m], unfused().domain.dims[d].name), 1, step) > 0;
          const std::int64_t calls = std::clamp<std::int64_t>(
              wide ? 2 * points_wanted * call_counts.back() / step : (parallel ? points_wanted : 32) / step, 1, 8);
          const auto& values = parallel ? call_counts : depths;
          point.choice[calls_at(d)] =
              static_cast<int>(std::upper_bound(values.begin(), values.end(), calls) - values.begin()) - 1;
          if (parallel) point.choice[parts_at(d)] = parts;
        }
        point.choice[buffers_at()] = prepared_[m].uses_counted_copies() ? 3 : 2;
        point.choice[copies_at()] = prepared_[m].uses_counted_copies() ? persistent : by_all;
        points.push_back(repair(point));
        if (auto more = split_to_fill(points.back())) points.push_back(std::move(*more));
      }
    }
    if (points.empty()) points.push_back(repair({}));
    return points;
  }

  Result<Nest> build(const Point& point) const override;

 private:
  /// Rasterization group: rows of tiles taken together so that the blocks miss L2 least, if noticeably less than in
  /// order; else `usual`, or a divisor of the rows. 0: none.
  std::int64_t group_of_rows(const BlockMapping& p, const std::vector<TiledDim>& tiled, std::int64_t usual) const {
    std::vector<const TiledDim*> looped;
    for (const TiledDim& t : tiled)
      if (t.parallel) looped.push_back(&t);
    if (looped.size() != 2) return 0;
    std::vector<BlockInput> inputs;
    BlockLoop rows{static_cast<double>(ceil_div(looped[0]->extent, looped[0]->block)), {}},
        columns{static_cast<double>(ceil_div(looped[1]->extent, looped[1]->block)), {}};
    for (int a = 1; a < access_count(p.statement); ++a) {
      const Access& access = access_of(p.statement, a);
      const Tensor& tensor = kernel_.tensors[access.tensor.index()];
      std::set<std::string> names;
      for (const AffineExpr& index : access.index) names.merge(index.names());
      const double size = bytes(tensor.dtype);
      BlockInput input{size, size};
      for (const std::int64_t extent : tensor.shape) input.all *= static_cast<double>(extent);
      for (const Dim& dim : p.statement.domain.dims) {
        if (!names.contains(dim.name)) continue;
        std::int64_t points = dim.extent;
        for (const TiledDim* t : looped)
          if (t->dim == dim.name) points = std::min(t->block, t->extent);
        input.tile *= static_cast<double>(points);
      }
      inputs.push_back(input);
      rows.used.push_back(names.contains(looped[0]->dim));
      columns.used.push_back(names.contains(looped[1]->dim));
    }
    const auto divides = [&](std::int64_t group) { return static_cast<std::int64_t>(rows.trip) % group == 0; };
    const SharedCache cache = shared_cache(model_, p.machine.scratch, p.machine.block);
    const auto bytes_of = [&](std::int64_t group) {
      return fetched_bytes(grouped(rows, columns, static_cast<double>(group)), inputs, cache);
    };
    std::int64_t chosen = std::min(usual, static_cast<std::int64_t>(rows.trip));
    while (chosen > 1 && !divides(chosen)) --chosen;
    double least = bytes_of(chosen) * worthwhile;
    for (std::int64_t group = 2; group <= max_raster_group && cache.capacity > 0; ++group)
      if (divides(group) && bytes_of(group) < least) chosen = group, least = bytes_of(group);
    return chosen > 1 ? chosen : 0;
  }
  void unsplit(Point& point) const {
    for (std::size_t d = 0; d < unfused().domain.dims.size(); ++d)
      if (unfused().domain.dims[d].kind == DimKind::reduction) point.choice[parts_at(d)] = 0;
  }
  /// The point with its longest reduction split to occupy every processor once; nothing: fewer than two blocks per
  /// processor would be idle.
  std::optional<Point> split_to_fill(Point point) const {
    const BlockMapping& p = prepared_[static_cast<std::size_t>(point.choice[0])];
    const UnitId around = model_.unit(p.machine.block).parent;
    const auto nest = build(point);
    if (!p.combine.valid() || !around.valid() || !nest) return std::nullopt;
    double blocks = 1;
    for (const Line& line : nest->lines)
      if (const auto* f = std::get_if<For>(&line.is); f && f->unit == model_.unit(p.machine.block).name)
        for (const TiledLoop& w : f->loops)
          blocks *= static_cast<double>(ceil_div(
              p.statement.domain.dims[static_cast<std::size_t>(p.statement.domain.find(w.dim))].extent, w.tile));
    const double idle = static_cast<double>(model_.instances(around)) / std::max(blocks, 1.0);
    std::size_t longest = unfused().domain.dims.size();
    for (std::size_t d = 0; d < unfused().domain.dims.size(); ++d)
      if (const Dim& dim = unfused().domain.dims[d];
          dim.kind == DimKind::reduction && call_step(p, unfused().domain.dims[d].name) > 0)
        if (longest == unfused().domain.dims.size() || dim.extent > unfused().domain.dims[longest].extent) longest = d;
    if (idle < 2 || longest == unfused().domain.dims.size()) return std::nullopt;
    const auto above = std::upper_bound(split_counts.begin(), split_counts.end(), static_cast<std::int64_t>(idle));
    point.choice[parts_at(longest)] = static_cast<int>(above - split_counts.begin()) - 1;
    return repair(std::move(point));
  }
  static std::vector<std::string> labels(const std::vector<std::int64_t>& values) {
    std::vector<std::string> out;
    for (const std::int64_t v : values) out.push_back(std::to_string(v));
    return out;
  }
  TiledDim tiled_dim(const BlockMapping& p, std::size_t d, const Dim& dim, const Point& point) const;
  Tiling tiling_of(const BlockMapping& p, const Point& point) const;
  std::optional<Diagnostic> refusal(const BlockMapping& p, const Tiling& tiling) const;
  void persistent_blocks(const BlockMapping& p, const Tiling& tiling, Nest& nest) const;
  void blocks(const BlockMapping& p, const Tiling& tiling, Nest& nest) const;
  void tiles_of_inputs(const BlockMapping& p, const Tiling& tiling, Nest& nest) const;
  void part_of_warp(const BlockMapping& p, const Tiling& tiling, const Point& point, Nest& nest) const;
  Stage stage_of(const BlockMapping& p, int access, MemoryId memory) const;
  std::string combine_name(const BlockMapping& p) const {
    return p.combine.valid() ? model_.instruction(p.combine).name : "";
  }
  const Computation& unfused() const { return kernel_.statements[id_.index()]; }
  static std::size_t parts_at(std::size_t dim) { return 1 + 2 * dim; }
  static std::size_t calls_at(std::size_t dim) { return 2 + 2 * dim; }
  std::size_t buffers_at() const { return decisions_.size() - 3; }
  std::size_t sets_at() const { return decisions_.size() - 2; }
  std::size_t copies_at() const { return decisions_.size() - 1; }

  Kernel kernel_;
  StatementId id_;
  std::vector<Mapping> mappings_;
  std::vector<BlockMapping> prepared_;
  const HardwareModel& model_;
  std::vector<Decision> decisions_;
};

TiledDim BlockPoints::tiled_dim(const BlockMapping& p, std::size_t d, const Dim& dim, const Point& point) const {
  TiledDim t;
  t.dim = dim.name;
  t.step = call_step(p, unfused().domain.dims[d].name);
  t.extent = dim.extent;
  t.parallel = dim.kind == DimKind::parallel;
  const auto& values = t.parallel ? call_counts : depths;
  const std::int64_t wanted_calls = values[static_cast<std::size_t>(point.choice[calls_at(d)])];
  const std::int64_t own = chosen_step(p, t.dim, wanted_calls, dim.extent);
  if (own > 0) t.step = own;
  const std::int64_t all = std::max<std::int64_t>(ceil_div(dim.extent, t.step), 1);  // calls along the dim
  const std::int64_t calls = own > 0 ? 1 : std::min(wanted_calls, all);
  t.part = calls * t.step;
  for (const OperandFeed& feed : p.feeds)
    if (feed.along == t.dim) t.part = round_up(t.part, feed.row);
  const auto number = static_cast<std::size_t>(point.choice[parts_at(d)]);
  t.along = t.parallel ? std::min(part_counts[number], ceil_div(all, calls)) : 1;
  t.block = t.part * t.along;
  if (!t.parallel && p.combine.valid() && split_counts[number] > 1) {
    const std::int64_t share = round_up(ceil_div(dim.extent, split_counts[number]), t.block);
    if (share < dim.extent) t.share = share;
  }
  return t;
}

Tiling BlockPoints::tiling_of(const BlockMapping& p, const Point& point) const {
  Tiling made;
  for (std::size_t d = 0; d < unfused().domain.dims.size(); ++d) {
    const std::string name = fused_dim(p, unfused().domain.dims[d].name);
    if (name.empty()) continue;
    const Dim& dim = p.statement.domain.dims[static_cast<std::size_t>(p.statement.domain.find(name))];
    if (call_step(p, unfused().domain.dims[d].name) == 0) {
      if (dim.extent > 1) (dim.kind == DimKind::parallel ? made.outer_parallel : made.outer_reductions).push_back(name);
      continue;
    }
    made.tiled.push_back(tiled_dim(p, d, dim, point));
    made.parts *= made.tiled.back().along;
  }
  const bool renews = std::any_of(made.tiled.begin(), made.tiled.end(), [](const TiledDim& t) {
    return !t.parallel && (t.share > 0 ? t.share : t.extent) > t.block;
  });
  made.split = std::any_of(made.tiled.begin(), made.tiled.end(), [](const TiledDim& t) { return t.share > 0; });
  made.buffers = renews || !made.outer_reductions.empty() ? point.choice[buffers_at()] + 1 : 1;
  made.copies = p.uses_counted_copies() && made.buffers > 1 && renews ? point.choice[copies_at()] : by_all;
  return made;
}

std::optional<Diagnostic> BlockPoints::refusal(const BlockMapping& p, const Tiling& tiling) const {
  const Unit& part = model_.unit(p.machine.part);
  if (tiling.copies >= by_producer && tiling.parts + 1 > part.count)
    return error("beside " + std::to_string(tiling.parts) + " instances of " + part.name +
                 " a block has no room for a producer warp");
  if (tiling.parts > part.count)
    return error("a block of " + std::to_string(tiling.parts) + " instances of " + part.name +
                 " exceeds the limit of a block");
  if (tiling.copies == by_all) return std::nullopt;
  for (const OperandFeed& feed : p.feeds)
    for (const TiledDim& t : tiling.tiled)
      if (t.dim == feed.whole && t.extent % t.block != 0)
        return error(feed.counted_copy + " copies whole rows, so the tile of " + t.dim +
                     " must divide it: other rows follow in memory");
  return std::nullopt;
}

void BlockPoints::persistent_blocks(const BlockMapping& p, const Tiling& tiling, Nest& nest) const {
  const auto on_blocks = [](const TiledDim& t) { return t.parallel ? t.block : t.share; };  // 0: none
  For all{{.wrap = true}, {}, model_.unit(p.machine.block).name, Tail::none, ""};
  if (tiling.split) all.combine = combine_name(p);
  for (const std::string& dim : tiling.outer_parallel) all.loops.push_back({dim, 1});
  for (const bool parallel : {false, true})
    for (const TiledDim& t : tiling.tiled) {
      const std::int64_t tile = on_blocks(t);
      if (t.parallel != parallel || tile == 0) continue;
      all.loops.push_back({t.dim, tile});
      if (t.extent % tile != 0) all.tail = Tail::pad;
    }
  if (all.loops.size() == 2 && !tiling.split) all.raster = group_of_rows(p, tiling.tiled, raster_group);
  nest.lines.push_back({std::move(all)});
}

void BlockPoints::blocks(const BlockMapping& p, const Tiling& tiling, Nest& nest) const {
  const std::string block = model_.unit(p.machine.block).name;
  if (tiling.copies == persistent) return persistent_blocks(p, tiling, nest);
  if (const std::int64_t group = tiling.outer_parallel.empty() && !tiling.split ? group_of_rows(p, tiling.tiled, 1) : 0;
      group > 0) {
    For all{{.raster = group}, {}, block, Tail::none, ""};
    for (const TiledDim& t : tiling.tiled) {
      if (!t.parallel) continue;
      all.loops.push_back({t.dim, t.block});
      if (t.extent % t.block != 0) all.tail = Tail::pad;
    }
    nest.lines.push_back({all});
    return;
  }
  for (const std::string& dim : tiling.outer_parallel) add_loop(nest, dim, 1, block, false, false);
  for (const TiledDim& t : tiling.tiled) {
    if (t.share == 0) continue;
    add_loop(nest, t.dim, t.share, block, t.extent % t.share != 0, false);
    std::get<For>(nest.lines.back().is).combine = combine_name(p);
  }
  for (const TiledDim& t : tiling.tiled)
    if (t.parallel) add_loop(nest, t.dim, t.block, block, t.extent % t.block != 0, false);
}

Stage BlockPoints::stage_of(const BlockMapping& p, int access, MemoryId memory) const {
  Stage line;
  line.tensor = access_name(kernel_.tensors, p.statement, access);
  line.memory = model_.memory(memory).name;
  return line;
}

/// Pipelined input tiles in the scratchpad.
void BlockPoints::tiles_of_inputs(const BlockMapping& p, const Tiling& tiling, Nest& nest) const {
  for (int a = 1; a < access_count(p.statement); ++a) {
    Stage line = stage_of(p, a, p.machine.scratch);
    const OperandFeed& feed = p.feeds[static_cast<std::size_t>(a)];
    line.layout = feed.layout;
    if (feed.padded) {
      Tiles tile;  // of one step: dims outside of the calls have one point
      for (const Dim& dim : p.statement.domain.dims) tile[dim.name] = {AffineExpr(0), 1};
      for (const TiledDim& t : tiling.tiled) tile[t.dim].size = t.block;
      line.layout.back().pad =
          pad_of_rows(model_.memory(p.machine.scratch), range_over(line.layout.back().index, tile).extent,
                      bytes(kernel_.tensors[access_of(p.statement, a).tensor.index()].dtype), feed);
    }
    line.swizzle = feed.swizzle;
    line.buffers = tiling.buffers;
    line.ahead = tiling.buffers - 1;
    if (!feed.copy.empty()) line.via = {feed.copy};
    if (tiling.copies != by_all) line.via = {feed.counted_copy};
    if (tiling.copies >= by_producer) line.role = "loader";
    nest.lines.push_back({line});
  }
}

/// The part of each warp: operand registers and calls.
void BlockPoints::part_of_warp(const BlockMapping& p, const Tiling& tiling, const Point& point, Nest& nest) const {
  const std::string part = model_.unit(p.machine.part).name;
  for (const TiledDim& t : tiling.tiled)
    if (t.parallel && t.block > t.part) add_loop(nest, t.dim, t.part, part, false, false);
  int sets = 1;  // several if the innermost reduction has several steps
  for (const TiledDim& t : tiling.tiled) {
    if (t.parallel) continue;
    sets = t.block > t.step ? static_cast<int>(register_sets[static_cast<std::size_t>(point.choice[sets_at()])]) : 1;
    if (t.block > t.step) add_loop(nest, t.dim, t.step, "", false, true);
  }
  for (int a = 1; a < access_count(p.statement); ++a) {
    const OperandFeed& feed = p.feeds[static_cast<std::size_t>(a)];
    if (feed.read_from_scratchpad) continue;
    Stage line = stage_of(p, a, p.machine.registers);
    line.buffers = sets;
    line.ahead = sets - 1;
    if (!feed.fetch.empty()) line.via = {feed.fetch};
    nest.lines.push_back({line});
  }
  for (const TiledDim& t : tiling.tiled)
    if (t.parallel && t.part > t.step) add_loop(nest, t.dim, t.step, "", false, true);
}

Result<Nest> BlockPoints::build(const Point& point) const {
  const auto m = static_cast<std::size_t>(point.choice[0]);
  const BlockMapping& p = prepared_[m];
  const Tiling tiling = tiling_of(p, point);
  if (const auto no = refusal(p, tiling)) return *no;
  Nest nest;
  blocks(p, tiling, nest);
  nest.lines.push_back({stage_of(p, 0, p.machine.registers)});
  for (const std::string& dim : tiling.outer_reductions) add_loop(nest, dim, 1, "", false, false);
  for (const TiledDim& t : tiling.tiled)
    if (!t.parallel) add_loop(nest, t.dim, t.block, "", t.share == 0 && t.extent % t.block != 0, false);
  tiles_of_inputs(p, tiling, nest);
  part_of_warp(p, tiling, point, nest);
  nest.lines.push_back({do_line(mappings_[m], kernel_, model_)});
  return nest;
}

}  // namespace

std::unique_ptr<SpaceTemplate> gpu_points(const Kernel& kernel, StatementId statement,
                                          const std::vector<Mapping>& mappings, const HardwareModel& model,
                                          const SpaceOptions& options) {
  std::vector<Mapping> kept;
  std::vector<BlockMapping> prepared;
  for (const Mapping& mapping : mappings)
    if (auto p = block_mapping(kernel, statement, mapping, model, options)) {
      kept.push_back(mapping);
      prepared.push_back(std::move(*p));
    }
  if (kept.empty()) return nullptr;
  return std::make_unique<BlockPoints>(kernel, statement, std::move(kept), std::move(prepared), model);
}

}  // namespace isamap

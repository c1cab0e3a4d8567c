// SPDX-License-Identifier: Apache-2.0
#include "driver/symbolic/tile_launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "driver/symbolic/grid_plan.h"
#include "ir/symbolic/facts.h"
#include "ir/symbolic/launch_limits.h"
#include "ir/symbolic/refusal.h"
#include "isamap/scheduler.h"
#include "program/edges.h"
#include "support/arithmetic.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

constexpr std::int64_t search_round = 128;  // extents of searches are multiples of it: most tiles divide them
constexpr std::int64_t most_searched = 1024;
constexpr std::int64_t tile_steps = 8;  // of a loop over tiles where programs are compared: more than any prefetch
constexpr std::int64_t more_tile_steps[] = {1, 3};
constexpr std::int64_t many_tiles = 64;  // along each dim: many more blocks than processors
constexpr std::size_t most_tilings = 3;  // of a statement; threads are its fourth version

using AxisCounts = std::vector<std::int64_t>;

Diagnostics not_tiled(const std::string& why) { return {error(refused_for_all_sizes(why), "bind sizes with --sizes")}; }

/// Loops over blocks one by one, in order: no parts of sums, no persistent blocks and no order of all tiles, which
/// depend on trips that are known at the call only.
std::vector<Line> one_block_a_tile(const std::vector<Line>& lines, const Access& output) {
  std::vector<Line> made;
  for (const Line& line : lines) {
    const auto* loop = std::get_if<For>(&line.is);
    if (loop == nullptr || (loop->combine.empty() && !loop->orders_all_loops())) {
      made.push_back(line);
      continue;
    }
    for (const TiledLoop& tiled : loop->loops) {
      if (!loop->combine.empty() && !uses(output, tiled.dim)) continue;
      For one;
      one.unroll = loop->unroll;
      one.loops = {tiled};
      one.unit = loop->unit;
      one.tail = loop->tail;
      made.push_back(line);
      made.back().is = std::move(one);
    }
  }
  return made;
}

/// Points of a loop's dim for one position along `dim`: of c.r three for one of c where r has 3. 0: it is no part of
/// it; -1: not the first part, or the others are not fixed.
std::int64_t points_inside(const std::string& looped, const std::string& dim, const GridShape& shape) {
  const IterationDomain& domain = shape.kernel.statements[0].domain;
  std::int64_t inside = 0;
  for (std::size_t begin = 0; begin <= looped.size();) {
    const std::size_t end = std::min(looped.find('.', begin), looped.size());
    const std::string name = looped.substr(begin, end - begin);
    if (name == dim && begin > 0) return -1;
    if (inside > 0) {
      const bool open = std::any_of(shape.axes.begin(), shape.axes.end(), [&](const auto& a) { return a.dim == name; });
      const int d = domain.find(name);
      if (open || d < 0) return -1;
      inside *= std::max<std::int64_t>(domain.dims[static_cast<std::size_t>(d)].extent, 1);
    }
    if (name == dim) inside = 1;
    begin = end + 1;
  }
  return inside;
}

class TileCompiler {
 public:
  TileCompiler(const SymbolicKernel& kernel, GridShape shape, const HardwareModel& model, const CompileOptions& options,
               AxisCounts searched)
      : kernel_(kernel), model_(model), options_(options), searched_(std::move(searched)) {
    made_.shape = std::move(shape);
  }

  Result<std::optional<TiledLaunch>> run() {
    if (!find_schedule()) return std::optional<TiledLaunch>();
    for (const GridAxis& axis : axes()) {
      tiles_.push_back(tile_of(axis.dim));
      if (tiles_.back() == 0) return std::optional<TiledLaunch>();  // left to the threads
    }
    if (auto why = against(); !why.empty()) return not_tiled(why);
    AxisCounts counts;
    for (const std::int64_t tile : tiles_) counts.push_back(tile_steps * tile);
    const auto base = lowered(counts);
    if (!base) return base.diagnostics();
    if (options_.strict_float && !base->assumptions.empty()) return not_tiled(base->assumptions.front().text);
    made_.program = *base;
    for (std::size_t a = 0; a < axes().size(); ++a)
      if (auto why = take_axis(a, *base, counts); !why.empty()) return not_tiled(why);
    if (auto why = unusual(made_.program.body); !why.empty()) return not_tiled(why);
    const auto is_code = [](const Node& node) { return !std::holds_alternative<Comment>(node.is); };
    const auto first = std::find_if(made_.program.body.begin(), made_.program.body.end(), is_code);
    const auto* blocks_loop = first == made_.program.body.end() ? nullptr : std::get_if<Loop>(&first->is);
    if (blocks_loop == nullptr || blocks_loop->unit.empty() ||
        std::any_of(first + 1, made_.program.body.end(), is_code))
      return not_tiled("its blocks are no loops around everything");
    if (blocks() > most_launch_blocks)
      return not_tiled(fmt::format("a launch may need more than {} blocks", most_launch_blocks));
    auto edged = with_edges(std::move(made_.program), model_, edges(), multiples());
    if (!edged) return edged.diagnostics();
    made_.program = std::move(*edged);
    made_.program.sums_in_order = made_.program.library_functions = options_.strict_float;
    made_.tile = tiles_;
    if (!set_price()) return not_tiled("the cost model has no price of its tiles");
    return std::optional(std::move(made_));
  }

 private:
  const std::vector<GridAxis>& axes() const { return made_.shape.axes; }

  /// Dense: what strides tell beyond their divisors is used nowhere, since accesses of several elements are checked.
  Kernel kernel_of(const AxisCounts& counts) const {
    Kernel block = block_kernel(made_.shape, counts, false);
    for (Tensor& tensor : block.tensors) tensor.strides.clear();
    return block;
  }
  /// False: it computes without instructions.
  bool find_schedule() {
    const Compilation likely = compile(kernel_of(searched_), model_, options_);
    if (!likely.program || uses_no_instruction(likely.scheduled->schedule)) return false;
    made_.schedule = likely.scheduled->schedule;
    for (Nest& nest : made_.schedule.nests)
      nest.lines = one_block_a_tile(nest.lines, made_.shape.kernel.statements[0].write);
    return true;
  }
  /// Positions along a dim after which its loops begin anew; 0: those over fused dims begin inside of one.
  std::int64_t tile_of(const std::string& dim) const {
    std::int64_t tile = 1;
    for (const Nest& nest : made_.schedule.nests)
      for (const Line& line : nest.lines)
        if (const auto* loop = std::get_if<For>(&line.is))
          for (const TiledLoop& tiled : loop->loops) {
            const std::int64_t inside = points_inside(tiled.dim, dim, made_.shape);
            if (inside < 0 || (inside > 0 && tiled.tile % inside != 0 && tiled.tile > 1)) return 0;
            if (inside > 0) tile = std::lcm(tile, std::max<std::int64_t>(tiled.tile / inside, 1));
          }
    return tile;
  }
  /// Zeros behind edges must not change sums.
  std::string against() const {
    const Computation& statement = made_.shape.kernel.statements[0];
    if (!made_.shape.padded.empty()) return "an input is read beyond its edges";
    for (std::size_t a = 0; a < axes().size(); ++a) {
      if (tiles_[a] > most_searched) return fmt::format("tiles of {} positions along {}", tiles_[a], axes()[a].dim);
      if (axes()[a].reduced && axes()[a].multiple % tiles_[a] != 0 && !rounded_up(made_.shape, a, tiles_[a]))
        return fmt::format("zeros along {} would change the result of statement {}", axes()[a].dim, statement.name);
    }
    return "";
  }

  Result<Program> lowered(const AxisCounts& counts) const {
    const Kernel kernel = kernel_of(counts);
    Diagnostics problems = verify(made_.schedule, kernel, model_);
    if (has_errors(problems)) return problems;
    return lower(made_.schedule, kernel, model_);
  }

  /// Cycles of the schedule for so many tiles along each dim that is not summed, and steps along each that is.
  std::optional<double> cycles(std::int64_t tiles, std::int64_t steps) const {
    AxisCounts counts;
    for (std::size_t a = 0; a < axes().size(); ++a) counts.push_back((axes()[a].reduced ? steps : tiles) * tiles_[a]);
    const auto cost = evaluate(made_.schedule, kernel_of(counts), model_);
    return cost ? std::optional(cost->total.cycles) : std::nullopt;
  }

  /// False: the cost model refuses some number of tiles.
  bool set_price() {
    TilePrice& price = made_.price;
    for (std::size_t a = 0; a < axes().size(); ++a)
      (axes()[a].reduced ? price.steps : price.tiles)
          .push_back(floordiv(*affine_extent(axes()[a]) + (tiles_[a] - 1), tiles_[a]));
    const auto few = cycles(1, tile_steps), more = cycles(1, 2 * tile_steps), many = cycles(many_tiles, 2 * tile_steps);
    if (!few || !more || !many || *many <= 0) return false;
    const double few_steps = std::pow(tile_steps, price.steps.size());
    const double more_steps = std::pow(2 * tile_steps, price.steps.size());
    const double step = price.steps.empty() ? 0 : (*more - *few) / (more_steps - few_steps);
    price.step = price.steps.empty() ? 0 : std::max<std::int64_t>(std::llround(step), 1);
    price.first = std::max<std::int64_t>(std::llround(*more - more_steps * step), 1);
    const double blocks = std::pow(many_tiles, price.tiles.size());
    price.at_once = std::max<std::int64_t>(std::llround(blocks * *more / *many), 1);
    return true;
  }

  /// Its trips and conditions, by the programs for more tiles. Says why there are none.
  std::string take_axis(std::size_t a, const Program& base, const AxisCounts& counts) {
    const AffineExpr steps = floordiv(*affine_extent(axes()[a]) + (tiles_[a] - 1), tiles_[a]);
    const AffineExpr beyond = with_size_symbols(steps) - tile_steps;
    std::optional<MoreTiles> found;
    for (const std::int64_t by : more_tile_steps) {
      AxisCounts more = counts;
      more[a] += by * tiles_[a];
      const auto other = lowered(more);
      auto made = other ? for_any_tiles(base, *other, by, beyond, made_.program) : std::nullopt;
      if (!made || (found && (made->program != found->program || made->trips.size() != found->trips.size())))
        return fmt::format("programs for other numbers of tiles along {} differ in more than their trips",
                           axes()[a].dim);
      if (!found) found = std::move(made);
    }
    for (const auto& [variable, by] : found->trips) made_.trips[variable] = steps;
    made_.program = std::move(found->program);
    if (axes()[a].reduced)
      made_.enough.push_back(*affine_extent(axes()[a]) - (fewest_steps(a, base, counts) - 1) * tiles_[a] - 1);
    return "";
  }

  /// From so many tiles on their program is the same: loops ahead of others want some steps.
  std::int64_t fewest_steps(std::size_t a, const Program& base, const AxisCounts& counts) const {
    const AffineExpr steps = AffineExpr::dim("#steps");
    AxisCounts more = counts;
    more[a] += tiles_[a];
    const auto of_more = lowered(more);
    const auto lifted = of_more ? for_any_tiles(base, *of_more, 1, steps - tile_steps, base) : std::nullopt;
    std::int64_t fewest = tile_steps;
    for (std::int64_t n = tile_steps - 1; n >= 1 && lifted; --n) {
      AxisCounts fewer = counts;
      fewer[a] = n * tiles_[a];
      const auto of_fewer = lowered(fewer);
      const auto made = of_fewer ? for_any_tiles(*of_fewer, base, tile_steps - n, steps - n, *of_fewer) : std::nullopt;
      if (!made || made->program.body.size() != lifted->program.body.size() ||
          !same_code(made->program, lifted->program))
        break;
      fewest = n;
    }
    return fewest;
  }
  /// But for trips, which are those of the numbers that they were lowered for.
  static bool same_code(const Program& a, const Program& b) { return conditions(a.body) == conditions(b.body); }
  static std::vector<AffineExpr> conditions(const std::vector<Node>& nodes) {
    std::vector<AffineExpr> found;
    const auto add = [&](const std::vector<Node>& inner) {
      for (const AffineExpr& e : conditions(inner)) found.push_back(e);
    };
    for (const Node& node : nodes)
      std::visit(overloaded{[&](const Loop& loop) { add(loop.body); },
                            [&](const Guard& guard) {
                              found.insert(found.end(), guard.conditions.begin(), guard.conditions.end());
                              add(guard.then);
                              add(guard.otherwise);
                            },
                            [](const auto&) {}},
                 node.is);
    return found;
  }

  /// What this form of a program does not have.
  std::string unusual(const std::vector<Node>& nodes) const {
    std::string why;
    for (const Node& node : nodes)
      std::visit(overloaded{[&](const Loop& loop) {
                              if (loop.instances > 0) why = "persistent thread blocks";
                              if (why.empty()) why = unusual(loop.body);
                            },
                            [&](const Guard& guard) {
                              if (why.empty()) why = unusual(guard.then);
                              if (why.empty()) why = unusual(guard.otherwise);
                            },
                            [](const auto&) {}},
                 node.is);
    return why;
  }

  /// Of one launch at most, by the facts.
  std::int64_t blocks() const {
    std::int64_t product = 1;
    for (std::size_t a = 0; a < axes().size(); ++a) {
      if (axes()[a].reduced) continue;
      const auto next =
          checked_mul(product, axes()[a].most < 0 ? most_launch_blocks + 1 : axes()[a].most / tiles_[a] + 1);
      if (!next) return most_launch_blocks + 1;
      product = *next;
    }
    return product;
  }

  EdgesOf edges() const {
    EdgesOf found;
    for (std::size_t b = 0; b < made_.program.buffers.size(); ++b) {
      const Buffer& buffer = made_.program.buffers[b];
      if (buffer.role != BufferRole::argument) continue;
      auto& extents = found[make_id<BufferId>(b)];
      for (const AffineExpr& extent : made_.shape.extents[buffer.tensor.index()])
        extents.push_back(with_size_symbols(extent));
    }
    return found;
  }
  std::map<BufferId, std::vector<std::int64_t>> multiples() const {
    std::map<BufferId, std::vector<std::int64_t>> found;
    for (std::size_t b = 0; b < made_.program.buffers.size(); ++b) {
      const Buffer& buffer = made_.program.buffers[b];
      if (buffer.role != BufferRole::argument) continue;
      for (const AffineExpr& extent : made_.shape.extents[buffer.tensor.index()])
        found[make_id<BufferId>(b)].push_back(divisor_of(extent, kernel_.facts));
    }
    return found;
  }

  const SymbolicKernel& kernel_;
  const HardwareModel& model_;
  const CompileOptions& options_;
  AxisCounts searched_;              ///< where the schedule is searched
  std::vector<std::int64_t> tiles_;  ///< by axis
  TiledLaunch made_;
};

/// Extents of the axes where schedules are searched: at the likely sizes, all the first and so on, and at last at the
/// largest that are searched.
std::vector<AxisCounts> searched_counts(const SymbolicKernel& kernel, const GridShape& shape) {
  std::vector<AxisCounts> found;
  const auto add = [&](const Bindings& sizes) {
    if (broken_fact(kernel.facts, sizes)) return;
    AxisCounts counts;
    for (const GridAxis& axis : shape.axes) {
      const std::int64_t extent = std::max<std::int64_t>(evaluate(axis.extent, sizes), 1);
      counts.push_back(std::clamp(round_up(extent, search_round), search_round, most_searched));
      if (axis.multiple % search_round != 0)
        counts.back() -= std::gcd(axis.multiple, search_round);  // edges, and no more alignment
    }
    if (std::find(found.begin(), found.end(), counts) == found.end()) found.push_back(std::move(counts));
  };
  const auto add_all = [&](const std::function<std::int64_t(const SymbolicSize&)>& value_of) {
    Bindings sizes;
    for (const SymbolicSize& size : kernel.facts.sizes)
      sizes[size.name] = std::clamp(value_of(size) / size.multiple_of * size.multiple_of, size.min, size.max);
    add(sizes);
  };
  add(kernel.at);
  std::size_t most = 0;
  for (const SymbolicSize& size : kernel.facts.sizes) most = std::max(most, size.likely.size());
  for (std::size_t n = 0; n < most; ++n)
    add_all([&](const SymbolicSize& size) {
      return size.likely.empty() ? kernel.at.at(size.name) : size.likely[std::min(n, size.likely.size() - 1)];
    });
  add_all([](const SymbolicSize&) { return most_searched; });
  return found;
}

}  // namespace

Result<std::vector<TiledLaunch>> tiled_launches(const SymbolicKernel& kernel, std::size_t statement,
                                                const HardwareModel& model, const CompileOptions& options) {
  auto shape = grid_shape(kernel, statement);
  if (!shape) return shape.diagnostics();
  for (const auto& extents : shape->extents)
    if (extents.empty()) return not_tiled("a tensor has strides");
  for (Tensor& tensor : shape->kernel.tensors) tensor.constant = false;  // launches pack nothing ahead of time
  std::vector<TiledLaunch> made;
  const std::vector<AxisCounts> points = searched_counts(kernel, *shape);
  for (const AxisCounts& counts : points) {
    if (made.size() == most_tilings) break;
    auto one = TileCompiler(kernel, *shape, model, options, counts).run();
    if (!one && counts == points.front()) return one.diagnostics();
    if (!one || !*one) continue;
    const auto same = [&](const TiledLaunch& other) { return other.schedule == (*one)->schedule; };
    if (std::none_of(made.begin(), made.end(), same)) made.push_back(std::move(**one));
  }
  return made;
}

}  // namespace isamap

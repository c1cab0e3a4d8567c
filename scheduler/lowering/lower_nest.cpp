// SPDX-License-Identifier: Apache-2.0
// Lines become nodes from the outside in. A Scope has the current tile of every dim (`tiles`) and the layout of every
// operand (`holders`). A loop with a tail lowers the lines below it twice, for whole tiles and for the tail, so that
// all extents are constants.

#include "scheduler/lowering/lower_nest.h"

#include <fmt/format.h>

#include <algorithm>

#include "hwdesc/model/parallel_units.h"
#include "scheduler/lowering/async_groups.h"
#include "scheduler/lowering/border_guards.h"
#include "scheduler/lowering/circular_buffer.h"
#include "scheduler/lowering/divided_loops.h"
#include "scheduler/lowering/lower_pipelined.h"
#include "scheduler/lowering/parallel_loop_checks.h"
#include "scheduler/lowering/spread_prefetch.h"
#include "scheduler/nest/split_reduction.h"
#include "scheduler/nest/tile_rasterization.h"
#include "support/arithmetic.h"
#include "support/overloaded.h"

namespace isamap {

namespace {

// Problems of inner lines already have locations.
Diagnostics at_line(Diagnostics problems, const Line& line) {
  for (Diagnostic& problem : problems)
    if (problem.where.file.empty()) problem.where = line.where;
  return problems;
}

Diagnostics unknown_dim(const Computation& statement, const std::string& dim) {
  std::string dims;
  for (const Dim& d : statement.domain.dims) dims += (dims.empty() ? "" : ", ") + d.name;
  Diagnostic d = error(fmt::format("'{}' is no dim of statement {}", dim, statement.name));
  d.notes.push_back("its dims here: " + dims);
  return {d};
}

Diagnostics nothing_combined(const NestParts& parts, const Scope& scope) {
  const Instruction& by = parts.lowering_.model.instruction(scope.combine);
  const std::string &from = parts.lowering_.model.memory(combine_source(by)).name,
                    &to = parts.lowering_.model.memory(combine_target(by)).name;
  return {error(
      fmt::format("combine {}: no tile of {} in {} is staged below the loop, whose partial sums it could add to {}",
                  by.name, parts.output().name, from, to),
      fmt::format("stage {} in {} below it", parts.output().name, from))};
}

/// Are the lines below only loops and calls of an asynchronous instruction?
bool only_calls_below(const NestParts& parts, std::size_t at) {
  return parts.instruction_ != nullptr && !parts.instruction_->async_by.empty() &&
         std::none_of(parts.input_.nest->lines.begin() + static_cast<std::ptrdiff_t>(at),
                      parts.input_.nest->lines.end(),
                      [](const Line& line) { return std::holds_alternative<Stage>(line.is); });
}

/// Why a consumer of a fused tile cannot use the producer's for this access. In registers its layout must be that of
/// the consumer's own tile.
Diagnostics holder_mismatch(const NestParts& parts, int access, const TileLayout& holder, const Tiles& tiles) {
  const Line& line = parts.input_.nest->lines[parts.input_.fused_tile->line];
  const Buffer& buffer = parts.lowering_.buffer(holder.buffer);
  const Tensor& tensor = parts.kernel_.tensors[access_of(parts.statement_, access).tensor.index()];
  if (buffer.dtype != tensor.dtype)
    return at_line({error(fmt::format("'{}': {} is {}, and the producer's instruction has it in {}", print(line),
                                      tensor.name, name(tensor.dtype), name(buffer.dtype)),
                          "do not fuse: leave out `then` and `from`")},
                   line);
  if (holder.slots < 0) return {};
  const auto own =
      make_tile(parts.input_.pairing, parts.kernel_, {access, buffer.memory}, tiles, parts.lowering_.model);
  if (!own) return at_line(own.diagnostics(), line);
  if (own->tile.axes != holder.axes || own->tile.positions != holder.positions || own->tile.slots != holder.slots ||
      own->buffer.extents != buffer.extents || own->buffer.registers_per_slot != buffer.registers_per_slot)
    return at_line({error("'" + print(line) + "': producer and consumer use different register layouts for this tile",
                          "the two instructions must be mapped to the same dims")},
                   line);
  return {};
}

using StepAt = std::function<Result<Nodes>(const AffineExpr& number, std::int64_t size)>;

/// Problems of the tail alone, whose whole tiles have none.
Diagnostics of_last_tile(Diagnostics problems, const std::string& dim, const StepCounts& all) {
  const std::string note =
      fmt::format("in the last tile of {}, of {} points; the whole ones, of {}, are legal", dim, all.tail, all.tile);
  for (Diagnostic& problem : problems) problem.notes.push_back(note);
  return problems;
}

/// Loops over the steps before, in and after the interior, then the tail.
Result<Nodes> peeled_loops(Lowering& lowering, const For& f, const std::string& dim, const StepCounts& all,
                           const Interior& whole, const StepAt& step) {
  const auto& [full, tile, tail] = all;
  Nodes nodes;
  for (const auto& [from, to] :
       {std::pair(std::int64_t{0}, whole.first), {whole.first, whole.last}, {whole.last, full}}) {
    if (from == to) continue;
    const std::int64_t steps = to - from;
    const std::string variable = steps > 1 ? lowering.variable(dim, steps) : "";
    auto body = step(AffineExpr(from) + (steps > 1 ? AffineExpr::dim(variable) : AffineExpr(0)), tile);
    if (!body) return body;
    Nodes loop = steps > 1 ? loop_around(variable, steps, f.unroll, std::move(*body)) : std::move(*body);
    if (steps > 1 && !f.unit.empty() && !loop.empty()) std::get<Loop>(loop.front().is).unit = f.unit;
    append(nodes, std::move(loop));
  }
  if (tail == 0) return nodes;
  auto last = step(AffineExpr(full), tail);
  if (!last) return of_last_tile(last.diagnostics(), dim, all);
  append(nodes, std::move(*last));
  return nodes;
}

/// Lowers the lines of one nest, each with the lines below it.
class NestLowering final : public PipelineLowering {
 public:
  using PipelineLowering::PipelineLowering;

  Result<Nodes> run() {
    Scope scope;
    for (const Dim& dim : statement_.domain.dims) scope.tiles[dim.name] = {AffineExpr(0), dim.extent};
    for (int a = 0; a < access_count(statement_); ++a) {
      const Access& access = access_of(statement_, a);
      TileLayout whole = input_.tensors[access.tensor.index()];
      whole.axes = access.index;
      scope.holders.push_back(whole);
    }
    if (input_.fused_tile) return lines(0, scope);
    Nodes nodes;
    const bool by_tile = starts_at_first_visit();
    const auto start_in_memory = [&]() -> Diagnostics {
      auto start = set_tensor(lowering_, scope.holders[0], identity());
      if (!start) return start.diagnostics();
      nodes = std::move(*start);
      return {};
    };
    if (needs_start(0) && !by_tile && !input_.starts_from_memory && !input_.completed && input_.only_access < 0)
      if (Diagnostics problems = start_in_memory(); has_errors(problems)) return problems;
    if (std::any_of(statement_.domain.dims.begin(), statement_.domain.dims.end(),
                    [](const Dim& d) { return d.extent == 0; }))
      return empty_result(std::move(nodes), scope);
    auto body = lines(0, scope);
    if (!body) return body;
    if (by_tile && starts_in_memory_ && input_.only_access < 0)
      if (Diagnostics problems = start_in_memory(); has_errors(problems)) return problems;
    append(nodes, std::move(*body));
    return nodes;
  }

 private:
  /// Lines of a consumer above its fused tile: the loops are the producer's, but tensors packed ahead of time are
  /// staged here.
  Result<Nodes> above_fused_tile(std::size_t at, const Scope& scope) {
    if (at == input_.fused_tile->line) return consume_tile(scope);
    const auto* copy = std::get_if<Stage>(&input_.nest->lines[at].is);
    return copy != nullptr && copy->ahead_of_time ? stage(*copy, at, scope) : lines(at + 1, scope);
  }

  /// A consumer from its fused tile on.
  Result<Nodes> consume_tile(Scope scope) {
    const FusedTile& fused = *input_.fused_tile;
    const Line& line = input_.nest->lines[fused.line];
    scope.tiles = fused.tiles;
    for (const auto& [access, holder] : fused.holders) {
      scope.holders[static_cast<std::size_t>(access)] = holder;
      if (auto problems = holder_mismatch(*this, access, holder, scope.tiles); !problems.empty()) return problems;
    }
    if (statement_.reduction != Reduction::assign && needs_start(fused.line + 1) && !input_.starts_from_memory)
      return at_line({error(fmt::format("'{}': sums of {} would be initialized in memory, once for all tiles",
                                        print(line), output().name),
                            fmt::format("stage {} in registers above the reduction loops", output().name))},
                     line);
    if (statement_.reduction == Reduction::assign && !written_whole() && !input_.starts_from_memory &&
        !input_.completed)
      return at_line({error(fmt::format("'{}': elements of {} that {} does not write would have no initial value",
                                        print(line), output().name, statement_.name),
                            "do not fuse: leave out `then` and `from`")},
                     line);
    return lines(fused.line + 1, scope);
  }

  // An empty domain: the output, if it has elements, is the identity.
  Result<Nodes> empty_result(Nodes nodes, const Scope& scope) {
    if (!nodes.empty() || input_.starts_from_memory || element_count(output()) == 0) return nodes;
    return set_tensor(lowering_, scope.holders[0], identity());
  }

  Result<Nodes> lines(std::size_t at, const Scope& scope) override {
    if (at == input_.nest->lines.size()) return error("the nest ends without a `do` line");
    if (input_.fused_tile && at <= input_.fused_tile->line) return above_fused_tile(at, scope);
    const Line& line = input_.nest->lines[at];
    auto nodes = std::visit(overloaded{[&](const For& f) { return loop(f, 0, at, scope); },
                                       [&](const Stage& s) { return stage(s, at, scope); },
                                       [&](const Do&) -> Result<Nodes> {
                                         if (scope.combine.valid() && !scope.combined)
                                           return nothing_combined(*this, scope);
                                         if (!instruction_) return lower_elements(*this, scope);
                                         auto calls = lower_call(*this, scope);
                                         return calls && !completes_outside_
                                                    ? Result<Nodes>(with_completion(std::move(*calls), lowering_.model))
                                                    : std::move(calls);
                                       }},
                            line.is);
    return nodes || line.where.file.empty() ? std::move(nodes) : at_line(nodes.diagnostics(), line);
  }

  Result<Nodes> loop(const For& f, std::size_t which, std::size_t at, const Scope& scope) {
    if (which == f.loops.size()) {
      Nodes prefetches = spread_prefetches_at(at, *this, scope);
      auto below = lines(at + 1, scope);
      if (below) append(prefetches, std::move(*below));
      return below ? Result<Nodes>(std::move(prefetches)) : std::move(below);
    }
    if (which == 0 && !f.combine.empty() && !scope.combine.valid()) return split_reduction(f, at, scope);
    if (which == 0 && f.orders_all_loops()) return rasterized_loop(f, at, scope);
    if (which == 0 && f.unroll && !completes_outside_ &&
        only_calls_below(*this, at)) {  // one commit and wait for all of them
      completes_outside_ = true;
      auto calls = loop(f, which, at, scope);
      completes_outside_ = false;
      return calls ? Result<Nodes>(with_completion(std::move(*calls), lowering_.model)) : calls;
    }
    const TiledLoop& w = f.loops[which];
    const auto found = scope.tiles.find(w.dim);
    if (found == scope.tiles.end()) return unknown_dim(statement_, w.dim);
    const Tile parent = found->second;
    const bool pads = f.tail == Tail::pad;  // all tiles are whole; the last may exceed the dim
    const std::int64_t tile = pads ? w.tile : std::min(w.tile, parent.size);
    const std::int64_t full = pads ? ceil_div(parent.size, tile) : parent.size / tile,
                       tail = pads ? 0 : parent.size % tile;
    const bool beyond = parent.beyond || (pads && parent.size % tile != 0);
    if (f.combine.empty() && full + tail > 1 && !input_.fused_tile)
      if (const auto unit = thread_unit(lowering_.model, f);
          unit && splits_a_reduction(statement_, w.dim, *unit, lowering_.model))
        return write_conflict(*this, w.dim, f.unit);
    if (const auto unit = thread_unit(lowering_.model, f); unit && full + tail > 1 && !pads)
      return parallel_loop(f, which, at, scope, *unit, tile);
    const auto staged = pipelined_stages(f, which, at);
    const bool counters_below = use_counters(*this, staged);
    const auto tile_at = [&](const AffineExpr& number, std::int64_t size) {
      Scope inner = scope;
      inner.tiles[w.dim] = {parent.origin + number * tile, size, beyond};
      if (f.unit.empty()) inner.visit = scope.visit * (full + (tail > 0 ? 1 : 0)) + number;
      if (f.unit.empty() && (full > 1 || tail > 0 || counters_below))
        inner.steps.push_back({w.dim, counters_below ? inner.visit : number});
      return inner;
    };
    if (!staged.empty() && tail == 0 && (full > 1 || counters_below))
      return pipelined(staged, at, full, w.dim, scope.visit, tile_at);
    if (const auto fetched = prefetched_register_stages(f, which, at);
        !fetched.empty() && full + (tail > 0 ? 1 : 0) > 1)
      return prefetch_registers(fetched, at, {full, tile, tail}, tile_at);

    const bool in_time = f.unit.empty() && (full > 1 || tail > 0);
    Interior whole{0, full};
    if (in_time && !f.unroll) whole = interior(*this, w.dim, tile, full, scope.tiles);
    const auto step = [&](const AffineExpr& number, std::int64_t size) {
      return loop(f, which + 1, at, tile_at(number, size));
    };
    return peeled_loops(lowering_, f, w.dim, {full, tile, tail}, whole, step);
  }

  /// Below this line tiles of the output are partial sums, which `combine` adds to the accumulator.
  Result<Nodes> split_reduction(const For& f, std::size_t at, const Scope& scope) {
    const auto by = combine_of(f, statement_, output(), lowering_.model);
    if (!by) return by.diagnostics();
    Scope inner = scope;
    inner.combine = *by;
    if (is_float(output().dtype))
      lowering_.assume(
          Assumption::Kind::sums_in_any_order,
          fmt::format("partial sums of {} are added in any order: its last digits may differ from run to run",
                      output().name));
    return loop(f, 0, at, inner);
  }

  /// All loops of a line as one loop over tiles, rasterized (`raster`) or distributed over the blocks of a persistent
  /// kernel (`wrap`).
  Result<Nodes> rasterized_loop(const For& f, std::size_t at, const Scope& scope) {
    const auto layout = tile_order(f, scope.tiles, lowering_.model);
    if (!layout) return layout.diagnostics();
    for (const TiledLoop& w : f.loops)
      if (!writes_are_disjoint(*this, f, w.dim)) return write_conflict(*this, w.dim, f.unit);
    std::vector<std::string> variables;
    std::map<std::string, AffineExpr> numbers;
    AffineExpr number;
    for (const std::int64_t trip : layout->trips) {
      variables.push_back(lowering_.variable("tile", trip));
      numbers["#" + std::to_string(numbers.size())] = AffineExpr::dim(variables.back());
      number = number * trip + AffineExpr::dim(variables.back());
    }
    Scope inner = scope;
    for (std::size_t w = 0; w < f.loops.size(); ++w) {
      const Tile& parent = scope.tiles.at(f.loops[w].dim);
      const std::int64_t tile = f.loops[w].tile;
      inner.tiles[f.loops[w].dim] = {parent.origin + substitute(layout->step[w], numbers) * tile, tile,
                                     parent.beyond || parent.size % tile != 0};
    }
    if (f.wrap) inner.visit = simplify(floordiv(number, layout->instances), lowering_.ranges);
    auto nodes = lines(at + 1, inner);
    for (std::size_t l = variables.size(); nodes && l-- > 0;) {
      *nodes = loop_around(variables[l], layout->trips[l], false, std::move(*nodes));
      if (nodes->empty()) break;
      std::get<Loop>(nodes->front().is).unit = f.unit;
      std::get<Loop>(nodes->front().is).instances = f.wrap ? layout->instances : 0;
    }
    return nodes;
  }

  /// One parallel loop over all instances, the tail behind a guard. Instances must write different elements.
  Result<Nodes> parallel_loop(const For& f, std::size_t which, std::size_t at, const Scope& scope, UnitId unit,
                              std::int64_t tile) {
    const std::string& dim = f.loops[which].dim;
    if (auto problem = parallel_loop_problem(*this, f, dim, unit, scope)) return *problem;
    const Tile parent = scope.tiles.at(dim);
    const std::int64_t full = parent.size / tile, tail = parent.size % tile, count = full + (tail > 0 ? 1 : 0);
    const std::string variable = lowering_.variable(dim, count);
    const AffineExpr number = AffineExpr::dim(variable);
    lowering_.thread_loops.push_back({unit, number, count});
    const auto instance = [&](const AffineExpr& origin, std::int64_t size) {
      Scope inner = scope;
      inner.tiles[dim] = {origin, size, parent.beyond};
      return loop(f, which + 1, at, inner);
    };
    const Interval all = lowering_.ranges.at(variable);
    lowering_.ranges[variable].high = full - 1;
    auto whole = instance(parent.origin + number * tile, tile);
    lowering_.ranges[variable] = all;
    auto last = tail > 0 ? instance(parent.origin + full * tile, tail) : Result<Nodes>(Nodes{});
    lowering_.thread_loops.pop_back();
    if (!whole) return whole;
    if (!last) return last;
    Nodes body = std::move(*whole);
    if (tail > 0) {
      Guard guard;
      guard.conditions = {AffineExpr(full - 1) - number};
      guard.then = std::move(body);
      guard.otherwise = std::move(*last);
      body = {Node{std::move(guard)}};
    }
    Nodes loop = loop_around(variable, count, false, std::move(body));
    if (!loop.empty()) std::get<Loop>(loop.front().is).unit = f.unit;
    return loop;
  }

  bool completes_outside_ = false;  ///< an outer line places commit and wait
};

}  // namespace

Result<std::vector<Node>> set_tensor(Lowering& lowering, const TileLayout& tensor, Scalar value) {
  TileLayout flat = tensor;
  flat.coordinates.clear();
  return fill_tile(lowering, flat, value, false);
}

Result<std::vector<Node>> lower_nest(Lowering& lowering, const NestInput& input) {
  const NestParts parts{lowering, input, *input.kernel, *input.pairing.statement, input.pairing.instruction.get()};
  auto nodes = NestLowering(parts).run();
  return nodes && parts.instruction_ == nullptr ? without_divisions(lowering, std::move(*nodes)) : std::move(nodes);
}

}  // namespace isamap

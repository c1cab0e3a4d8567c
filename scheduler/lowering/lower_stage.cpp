// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lowering/lower_stage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "hwdesc/model/program_language.h"
#include "ir/begun_sums.h"
#include "ir/text/access_name.h"
#include "scheduler/lowering/async_groups.h"
#include "scheduler/lowering/border_guards.h"
#include "scheduler/lowering/circular_buffer.h"
#include "scheduler/lowering/distributed_tile.h"
#include "scheduler/lowering/lower_prefetch.h"
#include "scheduler/lowering/share_copy.h"
#include "scheduler/lowering/spread_prefetch.h"
#include "scheduler/nest/resolved_nest.h"
#include "scheduler/nest/split_reduction.h"
#include "support/arithmetic.h"

namespace isamap {

Scalar StageLowering::identity() const { return isamap::identity(statement_.reduction, output().dtype); }

bool StageLowering::needs_start(std::size_t at) const {
  if (!written_whole()) return true;
  if (statement_.reduction == Reduction::assign) return false;
  for (; at < input_.nest->lines.size(); ++at) {
    if (const auto* f = std::get_if<For>(&input_.nest->lines[at].is))
      for (const TiledLoop& loop : f->loops)
        if (is_reduction(loop.dim)) return true;
    if (const auto* s = std::get_if<Stage>(&input_.nest->lines[at].is))
      if (s->tensor == output().name && !is_cache(s->memory)) return input_.starts_from_memory;
  }
  return true;
}

bool StageLowering::written_whole() const { return input_.written.all && input_.written.once; }

bool StageLowering::is_cache(const std::string& memory) const {
  const auto id = lowering_.model.find_memory(memory);
  return id && lowering_.model.memory(*id).kind == MemoryKind::cache;
}

bool StageLowering::starts_at_first_visit() const {
  if (!is_command_stream(lowering_.model) || input_.starts_from_memory || input_.fused_tile ||
      statement_.reduction == Reduction::assign || !written_whole())
    return false;
  for (const Access& read : statement_.reads)  // of what lies outside, calls are skipped: the first visit may be, too
    if (skips(*input_.nest, kernel_.tensors[read.tensor.index()])) return false;
  int stages = 0;
  for (const Line& line : input_.nest->lines) {
    if (const auto* f = std::get_if<For>(&line.is); f != nullptr && !f->combine.empty()) return false;
    const auto* s = std::get_if<Stage>(&line.is);
    if (s == nullptr || s->tensor != output().name || is_cache(s->memory)) continue;
    if (++stages > 1 || s->first == First::load || !s->from.empty() || !s->then.empty()) return false;
  }
  return stages == 1;
}

Result<std::vector<int>> StageLowering::staged_accesses(const Stage& s) const {
  std::vector<int> found;
  for (int a = 0; a < access_count(statement_); ++a) {
    if (!holds(s, kernel_.tensors, statement_, a)) continue;
    const Access& access = access_of(statement_, a);
    if (!found.empty() && access.index != access_of(statement_, found.front()).index)
      return error(fmt::format("{} is read and written by {}; staging it is not supported", s.tensor, statement_.name));
    found.push_back(a);
  }
  if (found.empty()) return error(fmt::format("stage {}: statement {} has no such tensor", s.tensor, statement_.name));
  if (found.size() > 1 && found.front() == 0)
    return error(fmt::format("{} is read and written by {}; staging it is not supported", s.tensor, statement_.name));
  return found;
}

Result<Nodes> StageLowering::stage(const Stage& s, std::size_t at, const Scope& scope) {
  const auto memory = lowering_.model.find_memory(s.memory);
  if (!memory) return error("stage " + s.tensor + ": the machine has no memory '" + s.memory + "'");
  if (is_cache(s.memory)) {  // states residency only: caches are filled by accesses
    const auto below = s.ahead > 0 ? with_prefetch(s, at, *memory, scope) : Result<Scope>(scope);
    return below ? lines(at + 1, *below) : Result<Nodes>(below.diagnostics());
  }
  if (const auto lacks = missing_buffers(s, lowering_.model.memory(*memory))) return at_stage(s, {*lacks});
  // Not fused, as the producer has no points: the tensor is in memory.
  if (!s.from.empty() && *memory == lowering_.model.home()) return lines(at + 1, scope);
  const auto accesses = staged_accesses(s);
  if (!accesses) return accesses.diagnostics();
  if (const auto kept = input_.kept_whole.find(at); kept != input_.kept_whole.end())
    return stage_kept(s, at, kept->second, *accesses, scope);
  auto made = make_tile(input_.pairing, kernel_, {accesses->front(), *memory, s.layout}, scope.tiles, lowering_.model);
  if (!made) return made.diagnostics();
  TileLayout tile = std::move(made->tile);
  if (s.swizzle) {
    if (auto problem = permute(*s.swizzle, tile, made->buffer)) return at_stage(s, {*problem});
  }
  if (s.buffers > 1 && tile.slots < 0) use_circular_buffer(at, accesses->front(), scope, tile, made->buffer);
  if (tile.slots < 0 && !s.ahead_of_time) privatize(*memory, tile, made->buffer);
  tile.buffer = buffer_of_line_[at] = buffer_at(at, std::move(made->buffer), s);
  Scope inner = scope;
  for (int a : *accesses) inner.holders[static_cast<std::size_t>(a)] = tile;
  return accesses->front() == 0 ? stage_output(s, at, tile, scope, inner) : stage_input(s, at, tile, scope, inner);
}

Result<Nodes> StageLowering::stage_kept(const Stage& s, std::size_t at, const TileLayout& whole,
                                        const std::vector<int>& accesses, const Scope& scope) {
  Scope inner = scope;
  for (const int a : accesses) inner.holders[static_cast<std::size_t>(a)] = whole;
  if (accesses.front() == 0 && statement_.reduction != Reduction::assign && needs_start(at + 1))
    return at_stage(s, {error("sums that are kept whole begin in another memory",
                              fmt::format("stage {} below it, above the loops of the reduction", s.tensor))});
  return lines(at + 1, inner);
}

Result<Scope> StageLowering::with_prefetch(const Stage& s, std::size_t at, MemoryId cache, const Scope& scope) const {
  const auto accesses = staged_accesses(s);
  if (!accesses) return accesses.diagnostics();
  const auto loads = [&](const Line& line) {
    const auto* below = std::get_if<Stage>(&line.is);
    return below != nullptr && below->tensor == s.tensor && !is_cache(below->memory);
  };
  const auto& lines = input_.nest->lines;
  if (std::none_of(lines.begin() + static_cast<std::ptrdiff_t>(at), lines.end(), loads))
    return at_stage(
        s, {error(fmt::format("ahead {}: no line below loads {}, where prefetches would be placed", s.ahead, s.tensor),
                  "stage it in registers below")});
  const Access& access = access_of(statement_, accesses->front());
  std::size_t above = at;
  while (above > 0 && std::holds_alternative<Stage>(lines[above - 1].is)) --above;
  const auto* loop = above > 0 ? std::get_if<For>(&lines[above - 1].is) : nullptr;
  if (loop != nullptr && loop->loops.size() == 1 && !uses(access, loop->loops.front().dim)) {
    const auto spread = spread_prefetch(*this, at, accesses->front(), scope);
    if (!spread) return at_stage(s, spread.diagnostics());
    Scope below = scope;
    if (*spread) below.spread_prefetches.push_back(**spread);
    return below;
  }
  if (loop == nullptr || loop->loops.empty() || !uses(access, loop->loops.back().dim))
    return at_stage(s, {error(fmt::format("ahead {} counts the steps of the loop right above, which is no loop of {}",
                                          s.ahead, s.tensor),
                              "write it right below a `for` of a dim that " + s.tensor + " has")});
  Scope below = scope;
  const TiledLoop& counted = loop->loops.back();
  for (const int a : *accesses)
    below.prefetches.emplace(a, PrefetchRequest{cache, scope.holders[static_cast<std::size_t>(a)].buffer, counted.dim,
                                                s.ahead * counted.tile});
  return below;
}

Result<Nodes> StageLowering::prefetches_at(const Stage& s, int access, const TileLayout& tile, const Scope& scope) {
  Nodes all;
  const TileLayout& from = scope.holders[static_cast<std::size_t>(access)];
  for (auto [a, end] = scope.prefetches.equal_range(access); a != end; ++a) {
    if (a->second.from != from.buffer) continue;  // another stage loads it there
    auto nodes = lower_prefetch(lowering_, a->second, tile, from);
    if (!nodes) return at_stage(s, nodes.diagnostics());
    append(all, std::move(*nodes));
  }
  return all;
}

std::optional<Diagnostic> StageLowering::permute(const XorSwizzle& swizzle, const TileLayout& tile,
                                                 Buffer& buffer) const {
  if (tile.slots >= 0) return error("registers have no addresses to swizzle", "leave it out");
  if (is_command_stream(lowering_.model)) return error("commands determine the layout of their tiles", "leave xor out");
  if (bytes(buffer.dtype) > swizzle.chunk())
    return error(fmt::format("a swizzle of {} byte elements would split them", bytes(buffer.dtype)),
                 fmt::format("change bits from {} on", swizzle.to + 1));
  const std::int64_t group = swizzle.chunk() << swizzle.bits, all = element_span(buffer) * bytes(buffer.dtype);
  if (all % group != 0)
    return error(fmt::format("the tile has {} bytes, and xor {} from {} to {} permutes groups of {}", all, swizzle.bits,
                             swizzle.from, swizzle.to, group),
                 "pad its last digit");
  buffer.swizzle = swizzle;
  buffer.align = std::max(buffer.align, swizzle.period());
  return std::nullopt;
}

Tiles StageLowering::full_tiles(std::size_t line) const {
  Tiles tiles;
  for (const Dim& dim : statement_.domain.dims)
    tiles[dim.name] = {AffineExpr(0), std::max<std::int64_t>(1, dim.extent)};
  for (std::size_t l = 0; l < line; ++l)
    if (const auto* loops = std::get_if<For>(&input_.nest->lines[l].is))
      for (const TiledLoop& loop : loops->loops)
        if (const auto at = tiles.find(loop.dim); at != tiles.end())
          at->second.size = std::min(at->second.size, std::max<std::int64_t>(1, loop.tile));
  return tiles;
}

void StageLowering::use_circular_buffer(std::size_t line, int access, const Scope& scope, TileLayout& tile,
                                        Buffer& buffer) const {
  const auto step = std::find_if(scope.steps.rbegin(), scope.steps.rend(),
                                 [&](const LoopStep& s) { return uses(access_of(statement_, access), s.dim); });
  if (step == scope.steps.rend()) return;  // a single tile
  // A command stream counts its tiles through all loops above, as the cost model does: of three in a row, the first of
  // the next row does not wait for the last. Code of a language counts in the innermost loop, where indices are cheap.
  const Stage& s = std::get<Stage>(input_.nest->lines[line].is);
  tile.buffer_number = mod(is_command_stream(lowering_.model) ? scope.visit : step->number, s.buffers);
  add_buffer_axis(buffer, s.buffers);
  if (!is_command_stream(lowering_.model)) return;
  // Short tiles are in the places of whole ones: closer together, the next would begin where the last one still is.
  auto whole = make_tile(input_.pairing, kernel_, {access, buffer.memory, s.layout}, full_tiles(line), lowering_.model);
  if (!whole || whole->buffer.extents.size() + 1 != buffer.extents.size()) return;
  add_buffer_axis(whole->buffer, s.buffers);
  buffer.extents = whole->buffer.extents;
  buffer.strides = whole->buffer.strides;
}

void StageLowering::privatize(MemoryId memory, TileLayout& tile, Buffer& buffer) const {
  for (const ThreadLoop& around : lowering_.thread_loops) {
    if (lowering_.model.inside(lowering_.model.memory(memory).per, around.unit)) continue;
    std::int64_t places = 1;
    if (tile.buffer_number)
      places = buffer.extents.back();
    else
      add_buffer_axis(buffer, 1);
    tile.buffer_number = tile.buffer_number.value_or(AffineExpr(0)) + around.number * places;
    buffer.extents.back() = places * around.count;
  }
}

void StageLowering::add_buffer_axis(Buffer& buffer, std::int64_t extent) {
  const std::int64_t element = std::max<std::int64_t>(bytes(buffer.dtype), 1);
  const std::int64_t apart =
      round_up(element_span(buffer) * element, std::max<std::int64_t>(buffer.align, 1)) / element;
  buffer.extents.push_back(extent);
  buffer.strides.push_back(apart);
}

BufferId StageLowering::add_buffer(Buffer buffer, const Stage& s) {
  int same = 0;
  buffer.name = tile_name(s);
  for (const Buffer& b : lowering_.program.buffers) same += b.name.rfind(buffer.name, 0) == 0;
  if (same > 0) buffer.name += std::to_string(same);
  buffer.ahead_of_time = s.ahead_of_time;
  if (s.ahead_of_time) buffer.role = BufferRole::argument;
  lowering_.program.buffers.push_back(std::move(buffer));
  return make_id<BufferId>(lowering_.program.buffers.size() - 1);
}

BufferId StageLowering::buffer_at(std::size_t line, Buffer buffer, const Stage& s) {
  const auto sets = registers_of_line_.find(line);
  if (sets == registers_of_line_.end()) return add_buffer(std::move(buffer), s);
  BufferId& place = sets->second[register_set_.at(line)];
  if (!place.valid()) place = add_buffer(std::move(buffer), s);
  return place;
}

std::optional<PackingMove> StageLowering::packing_move_for(const TileLayout& inner, const TileLayout& outer,
                                                           const Stage& s, bool into_inner, const Tiles& tiles) const {
  const MemoryId memory = lowering_.buffer(inner.buffer).memory;
  if (s.layout.empty() || !outer.whole_tensor || lowering_.buffer(outer.buffer).memory != memory) return std::nullopt;
  PackedCopy copy;
  copy.domain = &statement_.domain;
  copy.access = &access_of(statement_, staged_accesses(s)->front());
  copy.tensor = &kernel_.tensors[copy.access->tensor.index()];
  copy.layout = &s.layout;
  for (const Dim& dim : statement_.domain.dims) {
    const auto tile = tiles.find(dim.name);
    copy.tile.push_back(tile == tiles.end() ? dim.extent : tile->second.size);
  }
  copy.memory = memory;
  copy.is_input = into_inner;
  return packing_move(copy, lowering_.model);
}

/// Calls below a `tail pad` loop take whole tiles, also of an instruction that could take fewer points.
bool StageLowering::is_reduced_past_end(const Coordinate& c) const {
  const std::set<std::string> names = c.form.names();
  return std::any_of(input_.nest->lines.begin(), input_.nest->lines.end(), [&](const Line& line) {
    const auto* f = std::get_if<For>(&line.is);
    return f != nullptr && f->tail == Tail::pad &&
           std::any_of(f->loops.begin(), f->loops.end(),
                       [&](const TiledLoop& loop) { return names.contains(loop.dim) && is_reduction(loop.dim); });
  });
}

Result<Copy> StageLowering::copy_of(const TileLayout& inner, const TileLayout& outer, const Stage& s, bool into_inner,
                                    const Tiles& tiles) const {
  Copy copy;
  if (outer.whole_tensor && std::any_of(tiles.begin(), tiles.end(), [](const auto& t) { return t.second.beyond; }))
    for (const Coordinate& c : inner.coordinates) {
      std::optional<std::int64_t>& end = copy.ends.emplace_back();
      for (const std::string& name : c.form.names()) {
        const auto tile = tiles.find(name);
        if (tile == tiles.end() || !tile->second.beyond) continue;
        if (c.form != AffineExpr::dim(name))
          return error(fmt::format("tail pad of {}: {} is accessed at {}", name, s.tensor, print(c.form)),
                       "only dims that are an index by themselves can be padded; without it the last tile is a tail");
        end = statement_.domain.dims[static_cast<std::size_t>(statement_.domain.find(name))].extent;
      }
    }
  copy.inner = &inner;
  copy.outer = &outer;
  copy.into_inner = into_inner;
  copy.via = s.via;
  if (const auto move = packing_move_for(inner, outer, s, into_inner, tiles))
    copy.packing_move = lowering_.model.instruction(move->move).name;
  copy.unroll = inner.slots >= 0;
  for (const Coordinate& c : inner.coordinates) {
    copy.zero.push_back(padding_must_be_zero(input_.pairing, c) || (into_inner && is_reduced_past_end(c)));
    const std::set<std::string> names = c.form.names();
    copy.summed.push_back(c.pseudo() || std::any_of(names.begin(), names.end(),
                                                    [&](const std::string& name) { return is_reduction(name); }));
  }
  const TensorId tensor = lowering_.buffer(inner.buffer).tensor;
  if (into_inner && outer.whole_tensor && !skips(*input_.nest, kernel_.tensors[tensor.index()]))
    copy.outside = outside_of(statement_, tensor, kernel_.tensors);
  return copy;
}

Result<Nodes> StageLowering::stage_input(const Stage& s, std::size_t at, const TileLayout& tile, const Scope& scope,
                                         const Scope& inner) {
  const int access = staged_accesses(s)->front();
  if (scope.holders[static_cast<std::size_t>(access)].whole_tensor &&
      skips(*input_.nest, kernel_.tensors[access_of(statement_, access).tensor.index()])) {
    const auto conditions = bounds_conditions(*this, access, scope.tiles);
    if (!conditions) return conditions.diagnostics();
    return under_conditions(lowering_, *conditions, [&] { return fill_and_lower(s, at, tile, access, scope, inner); });
  }
  return fill_and_lower(s, at, tile, access, scope, inner);
}

Result<Nodes> StageLowering::fill_and_lower(const Stage& s, std::size_t at, const TileLayout& tile, int access,
                                            const Scope& scope, const Scope& inner) {
  Result<Nodes> fill = Nodes{};
  if (!pipelined_lines_.contains(at)) {
    auto copy = copy_of(tile, scope.holders[static_cast<std::size_t>(access)], s, true, scope.tiles);
    if (copy) copy->has_wait = true;
    fill = copy ? transfer(lowering_, *copy) : Result<Nodes>(copy.diagnostics());
    if (!fill) return at_stage(s, fill.diagnostics());
    if (!s.ahead_of_time) *fill = shared_copy(lowering_, std::move(*fill));
    if (const auto counter = completion_counter(*fill, lowering_.model))
      return at_stage(
          s, {no_circular_buffer(*this, at, "its moves complete by '" + *counter + "', which needs a pipelined loop")});
    if (!s.role.empty())
      return at_stage(
          s, {no_circular_buffer(*this, at, "role " + s.role + " fills a circular buffer along a sequential loop")});
    *fill = with_completion(std::move(*fill), lowering_.model);
    append(*fill, fence(s));
  }
  auto prefetch = prefetches_at(s, access, tile, scope);
  if (!prefetch) return prefetch;
  auto body = lines(at + 1, inner);
  if (!body) return body;
  if (s.ahead_of_time) {
    append(lowering_.program.prepack, std::move(*fill));
    return body;
  }
  Nodes nodes = std::move(*fill);
  append(nodes, std::move(*prefetch));
  append(nodes, std::move(*body));
  return nodes;
}

Nodes StageLowering::fence(const Stage& s) const {
  const auto memory = lowering_.model.find_memory(s.memory);
  const auto accesses = staged_accesses(s);
  const auto unit = memory ? lowering_.model.scalar_unit_for(*memory) : std::nullopt;
  if (instruction_ == nullptr || !accesses || !unit) return {};
  const int operand = input_.pairing.operand_access[static_cast<std::size_t>(accesses->front())];
  if (operand < 0) return {};
  const Operand& read = instruction_->operands[operand_of_access(*instruction_, operand).index()];
  if (read.memory != *memory || read.view.empty()) return {};
  const auto same_path = [&](const std::string& move) {
    const auto id = lowering_.model.find_instruction(move);
    if (!id || lowering_.model.instruction(*id).operands.empty()) return false;
    const Instruction& by = lowering_.model.instruction(*id);
    return by.operands[operand_of_access(by, 0).index()].view == read.view;
  };
  if (!s.via.empty() && std::all_of(s.via.begin(), s.via.end(), same_path)) return {};
  Sync sync;
  sync.unit = *unit;
  sync.object = s.memory + "." + read.view;
  sync.step = Sync::Step::fence;
  return {Node{std::move(sync)}};
}

Diagnostics StageLowering::at_stage(const Stage& s, Diagnostics diagnostics) const {
  for (Diagnostic& d : diagnostics) d.message = "stage " + s.tensor + " in " + s.memory + ": " + d.message;
  return diagnostics;
}

Result<Nodes> StageLowering::start_tile(const Stage& s, std::size_t at, const TileLayout& tile, const Scope& scope,
                                        Scope& inner) {
  if (inner.combined && !scope.combined)  // partial sums start with the identity: memory holds the accumulator
    return per_instance(s, at, tile, scope, [&](const TileLayout* part) -> Result<Nodes> {
      if (s.first == First::flag) return inner.flagged_since = scope.tiles, Nodes{};
      return fill_tile(lowering_, tile, identity(), tile.slots >= 0, part);
    });
  const auto cut = [&](const Dim& d) {
    const std::int64_t whole = scope.combined ? scope.combined->at(d.name).size : d.extent;
    return d.kind == DimKind::reduction && scope.tiles.at(d.name).size != whole;
  };
  const bool partial = std::any_of(statement_.domain.dims.begin(), statement_.domain.dims.end(), cut);
  if (!s.from.empty()) return begin_tile(s, at, tile, scope, partial);
  if (partial && starts_at_first_visit()) return start_or_reload(s, at, tile, scope, inner);
  const bool from_memory =
      (input_.starts_from_memory && !scope.combined) || partial || s.first == First::load || !written_whole();
  if (statement_.reduction == Reduction::assign && (written_whole() || tile.slots >= 0)) return Nodes{};
  if (from_memory) return move_output(s, at, tile, scope, true);
  if (!needs_start(at + 1)) return Nodes{};
  if (s.first == First::flag) {
    inner.flagged_since = scope.tiles;
    return Nodes{};
  }
  return per_instance(s, at, tile, scope, [&](const TileLayout* part) {
    auto filled = fill_tile(lowering_, tile, identity(), tile.slots >= 0, part);
    if (filled) *filled = shared_copy(lowering_, std::move(*filled));
    return filled;
  });
}

Result<Nodes> StageLowering::start_or_reload(const Stage& s, std::size_t at, const TileLayout& tile, const Scope& scope,
                                             Scope& inner) {
  auto reload = move_output(s, at, tile, scope, true);
  if (!reload) return reload;
  Tiles first = scope.tiles;
  AffineExpr reduced;  // points of the reduction before this visit, at least: 0 at the first one
  for (const Dim& dim : statement_.domain.dims)
    if (dim.kind == DimKind::reduction) {
      reduced += first.at(dim.name).origin;
      first.at(dim.name).origin = AffineExpr(0);
    }
  reduced = simplify(reduced, lowering_.ranges);
  if (const auto range = bounds(reduced, lowering_.ranges); range && range->low > 0) return reload;
  Result<Nodes> start = Nodes{};
  if (s.first != First::flag)
    start = per_instance(s, at, tile, scope, [&](const TileLayout* part) {
      return fill_tile(lowering_, tile, identity(), tile.slots >= 0, part);
    });
  if (!start) return starts_in_memory_ = true, std::move(reload);
  if (s.first == First::flag) inner.flagged_since = std::move(first);
  if (reduced.is_constant()) return start;
  Guard guard;
  guard.conditions = {reduced - 1};
  guard.then = std::move(*reload);
  guard.otherwise = std::move(*start);
  return Nodes{Node{std::move(guard)}};
}

Result<Nodes> StageLowering::begin_tile(const Stage& s, std::size_t at, const TileLayout& tile, const Scope& scope,
                                        bool partial) {
  const auto copy = begun_by(kernel_, input_.id.index());
  if (!copy || partial || !scope.holders[0].whole_tensor)
    return error(fmt::format("from {}: {}", s.from,
                             !copy     ? "the sums do not begin with a copy"
                             : partial ? "the tile is loaded once for each part of the sums here"
                                       : "another stage holds the tensor here"),
                 fmt::format("write it at the outermost stage of {}, above all loops of the reduction", s.tensor));
  const Access read = begun_from(kernel_.statements[*copy], statement_.write);
  TileLayout from = input_.tensors[read.tensor.index()];
  from.axes = read.index;
  auto filled = copy_of(tile, from, s, true, scope.tiles);
  return filled ? transfer_parts(std::move(*filled), s, at, tile, scope) : Result<Nodes>(filled.diagnostics());
}

Result<Nodes> StageLowering::per_instance(const Stage& s, std::size_t at, const TileLayout& tile, const Scope& scope,
                                          const std::function<Result<Nodes>(const TileLayout* part)>& make) {
  if (tile.slots < 0) return make(nullptr);
  const auto loops =
      instance_loops(*input_.nest, at, *lowering_.model.find_memory(s.memory), scope.tiles, lowering_.model);
  if (!loops) return loops.diagnostics();
  return in_every_instance(lowering_, tile, *loops, make);
}

Result<Nodes> StageLowering::move_output(const Stage& s, std::size_t at, const TileLayout& tile, const Scope& scope,
                                         bool into_inner, InstructionId combine) {
  auto copy = copy_of(tile, scope.holders[0], s, into_inner, scope.tiles);
  if (!copy) return copy.diagnostics();
  copy->adds = combine.valid();
  if (copy->adds) copy->via = {lowering_.model.instruction(combine).name};
  return transfer_parts(std::move(*copy), s, at, tile, scope);
}

Result<Nodes> StageLowering::transfer_parts(Copy copy, const Stage& s, std::size_t at, const TileLayout& tile,
                                            const Scope& scope) {
  return per_instance(s, at, tile, scope, [&](const TileLayout* part) {
    copy.part = part;
    auto moved = transfer(lowering_, copy);
    if (moved) *moved = shared_copy(lowering_, std::move(*moved));
    return moved;
  });
}

Result<bool> StageLowering::is_partial_sum(const Stage& s, const TileLayout& tile, const Scope& scope) const {
  if (!scope.combine.valid() || scope.combined) return false;
  const Instruction& by = lowering_.model.instruction(scope.combine);
  const MemoryId outside = lowering_.buffer(scope.holders[0].buffer).memory,
                 here = lowering_.buffer(tile.buffer).memory;
  if (outside != combine_target(by) || here != combine_source(by))
    return error(
        fmt::format("combine {} adds partial sums in {} to {}; these are in {}, above them {}", by.name,
                    lowering_.model.memory(combine_source(by)).name, lowering_.model.memory(combine_target(by)).name,
                    lowering_.model.memory(here).name, lowering_.model.memory(outside).name),
        fmt::format("stage {} in {} right below the loop", s.tensor, lowering_.model.memory(combine_source(by)).name));
  if (s.first == First::load)
    return error("first load: each instance would add the initial value in memory once more",
                 fmt::format("leave it out: combine {} adds to it", by.name));
  return true;
}

Diagnostics StageLowering::shared_element(const Stage& s, const TileLayout& tile, const Scope& scope) const {
  std::map<std::string, std::int64_t> extents;
  for (const auto& [dim, part] : scope.tiles) extents[dim] = part.size;
  if (input_.written.once || one_to_one(statement_.write, extents).value_or(false)) return {};
  const auto is_index = [&](const Coordinate& c) {
    return std::any_of(statement_.write.index.begin(), statement_.write.index.end(),
                       [&](const AffineExpr& e) { return e - e.constant() == c.form; });
  };
  if (std::all_of(tile.coordinates.begin(), tile.coordinates.end(), is_index)) return {};
  return {error(fmt::format("two places of the tile would hold partial sums of one element of {}", s.tensor),
                "loop by 1 above the stage over all but one of the dims that an index of it adds")};
}

/// Rows 0, 2, 4 of a tile of C[2*i + a] below a loop over a: moves of the tile would overwrite those between them.
Diagnostics StageLowering::elements_between(const Stage& s, const TileLayout& tile, const Scope& scope) const {
  if (!written_whole()) return {};  // then a tile is read before it is written
  for (const Coordinate& c : tile.coordinates) {
    if (c.pseudo()) continue;
    std::vector<std::pair<std::int64_t, std::int64_t>> terms;  // coefficient, values of the dim
    for (const std::string& name : c.form.names())
      if (const std::int64_t values = scope.tiles.at(name).size; values > 1)
        terms.emplace_back(std::abs(c.form.coefficient(name)), values);
    std::sort(terms.begin(), terms.end());
    std::int64_t adjacent = 1;  // values without one missing between them
    for (const auto& [coefficient, values] : terms) {
      if (coefficient > adjacent)
        return {
            error(fmt::format("its tile holds {} places of {}, of which {} and more between two lie outside of this "
                              "step: they would be overwritten",
                              c.extent, print(c.form), coefficient - adjacent),
                  fmt::format("stage {} above the loops over all dims of {}, or lay it out by each of them", s.tensor,
                              print(c.form)))};
      adjacent += coefficient * (values - 1);
    }
  }
  return {};
}

bool StageLowering::is_drained(const Stage& s, std::size_t at) const {
  const auto& lines = input_.nest->lines;
  return std::all_of(lines.begin() + static_cast<std::ptrdiff_t>(at), lines.end(), [&](const Line& line) {
    const auto* inner = std::get_if<Stage>(&line.is);
    return inner == nullptr || inner->tensor != s.tensor || is_stored(kernel_, input_.id, *inner);
  });
}

Result<Nodes> StageLowering::stage_output(const Stage& s, std::size_t at, const TileLayout& tile, const Scope& scope,
                                          Scope inner) {
  if (!s.role.empty())
    return at_stage(s, {error(fmt::format("role {} fills tiles of inputs; {} is the output", s.role, s.tensor),
                              "write `role` at stages of inputs in the scratchpad")});
  if (Diagnostics shared = shared_element(s, tile, scope); has_errors(shared)) return at_stage(s, std::move(shared));
  if (Diagnostics between = elements_between(s, tile, scope); has_errors(between))
    return at_stage(s, std::move(between));
  auto prefetch = prefetches_at(s, 0, tile, scope);
  if (!prefetch) return prefetch;
  const auto part = is_partial_sum(s, tile, scope);
  if (!part) return at_stage(s, part.diagnostics());
  if (*part) inner.combined = scope.tiles;
  auto start = start_tile(s, at, tile, scope, inner);
  if (!start) return at_stage(s, start.diagnostics());
  auto body = lines(at + 1, inner);
  if (!body) return body;
  Nodes nodes = std::move(*prefetch);
  append(nodes, std::move(*start));
  append(nodes, std::move(*body));
  if (!input_.continue_with || is_drained(s, at)) {
    auto drain = move_output(s, at, tile, scope, false, *part ? scope.combine : InstructionId{});
    if (!drain) return at_stage(s, drain.diagnostics());
    append(nodes, std::move(*drain));
  }
  for (const std::string& next : s.then) {
    if (!input_.continue_with) break;
    auto goes_on = input_.continue_with(next, tile, scope.tiles);
    if (!goes_on) return goes_on;
    append(nodes, std::move(*goes_on));
  }
  return nodes;
}

Result<Nodes> StageLowering::refill(std::size_t line, const Scope& scope) {
  const Stage& s = std::get<Stage>(input_.nest->lines[line].is);
  const int access = staged_accesses(s)->front();
  const MemoryId memory = *lowering_.model.find_memory(s.memory);
  auto made = make_tile(input_.pairing, kernel_, {access, memory, s.layout}, scope.tiles, lowering_.model);
  if (!made) return made.diagnostics();
  if (registers_of_line_.contains(line)) {
    made->tile.buffer = buffer_at(line, std::move(made->buffer), s);
  } else {
    use_circular_buffer(line, access, scope, made->tile, made->buffer);
    privatize(memory, made->tile, made->buffer);
    made->tile.buffer = buffer_of_line_.at(line);
  }
  auto copy = copy_of(made->tile, scope.holders[static_cast<std::size_t>(access)], s, true, scope.tiles);
  if (!copy) return at_stage(s, copy.diagnostics());
  copy->has_wait = true;  // placed by the pipelined loop
  auto fill = transfer(lowering_, *copy);
  return fill ? std::move(fill) : Result<Nodes>(at_stage(s, fill.diagnostics()));
}

}  // namespace isamap

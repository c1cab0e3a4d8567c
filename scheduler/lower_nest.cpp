// Lines become nodes from the outside in. At each line it is known which tile of every dim is in work (`tiles`) and
// where every operand is found (`holders`). A walk whose tile does not divide lowers the lines below it twice: for the
// whole tiles and for the last one; so sizes are constants everywhere.

#include "scheduler/lower_nest.h"

#include <fmt/format.h>

#include <algorithm>

#include "hwdesc/side_by_side.h"
#include "scheduler/completion.h"
#include "scheduler/lower_nest_internal.h"
#include "scheduler/outside_reads.h"
#include "scheduler/spread_tile.h"
#include "support/arithmetic.h"
#include "support/overloaded.h"

namespace isamap {

namespace {

void append(Nodes& to, Nodes from) { to.insert(to.end(), from.begin(), from.end()); }

class NestLowering : NestParts {
 public:
  explicit NestLowering(const NestParts& parts) : NestParts(parts) {}

  Result<Nodes> run() {
    Scope scope;
    for (const Dim& dim : statement_.domain.dims) scope.tiles[dim.name] = {AffineExpr(0), dim.extent};
    for (int a = 0; a < access_count(statement_); ++a) {
      const Access& access = access_of(statement_, a);
      TileBuffer whole = input_.tensors[access.tensor.index()];
      whole.axes = access.index;
      scope.holders.push_back(whole);
    }
    if (input_.handed) return go_on(std::move(scope));
    Nodes nodes;
    if (needs_start(0) && !input_.starts_from_memory && input_.only_access < 0) {
      auto start = set_tensor(lowering_, scope.holders[0], identity());
      if (!start) return start;
      nodes = std::move(*start);
    }
    if (std::any_of(statement_.domain.dims.begin(), statement_.domain.dims.end(),
                    [](const Dim& d) { return d.extent == 0; }))
      return empty_result(std::move(nodes), scope);
    auto body = lines(0, scope);
    if (!body) return body;
    append(nodes, std::move(*body));
    return nodes;
  }

 private:
  /// From the line where another nest hands its tile over. In registers it must lie as this nest's own tile would.
  Result<Nodes> go_on(Scope scope) {
    const HandedTile& handed = *input_.handed;
    const Line& line = input_.nest->lines[handed.line];
    scope.tiles = handed.tiles;
    for (const auto& [access, holder] : handed.holders) {
      scope.holders[static_cast<std::size_t>(access)] = holder;
      if (holder.slots < 0) continue;
      const Buffer& buffer = lowering_.buffer(holder.buffer);
      const auto own = make_tile(input_.pairing, kernel_, access, buffer.memory, {}, scope.tiles, lowering_.model);
      if (!own) return at_line(own.diagnostics(), line);
      if (own->tile.axes != holder.axes || own->tile.positions != holder.positions || own->tile.slots != holder.slots ||
          own->buffer.extents != buffer.extents || own->buffer.registers_per_slot != buffer.registers_per_slot)
        return at_line({error("'" + print(line) + "': in its registers the tile lies otherwise than this nest takes it",
                              "the dims that the two instructions walk must be the same")},
                       line);
    }
    return lines(handed.line + 1, scope);
  }

  Scalar identity() const { return isamap::identity(statement_.reduction, output().dtype); }
  bool is_reduction(const std::string& dim) const {
    const int at = statement_.domain.find(dim);
    return at >= 0 && statement_.domain.dims[static_cast<std::size_t>(at)].kind == DimKind::reduction;
  }

  // Nothing to compute: the output, if it has elements, is the identity.
  Result<Nodes> empty_result(Nodes nodes, const Scope& scope) {
    if (!nodes.empty() || input_.starts_from_memory || element_count(output()) == 0) return nodes;
    return set_tensor(lowering_, scope.holders[0], identity());
  }

  // Must whatever holds the output before line `at` hold a start value? Not if a stage further in takes over before any
  // reduction is walked, and not for plain assignments.
  bool needs_start(std::size_t at) const {
    if (!written_whole()) return true;
    if (statement_.reduction == Reduction::assign) return false;
    for (; at < input_.nest->lines.size(); ++at) {
      if (const auto* f = std::get_if<For>(&input_.nest->lines[at].is))
        for (const Walk& walk : f->walks)
          if (is_reduction(walk.dim)) return true;
      if (const auto* s = std::get_if<Stage>(&input_.nest->lines[at].is))
        if (s->tensor == output().name && !is_cache(s->memory)) return input_.starts_from_memory;
    }
    return true;
  }

  // Otherwise elements between those of a tile keep what they hold, and tiles may share elements: the whole output is
  // set at the very start, and every tile begins with what stands in memory.
  bool written_whole() const { return input_.written.all && input_.written.once; }

  bool is_cache(const std::string& memory) const {
    const auto id = lowering_.model.find_memory(memory);
    return id && lowering_.model.memory(*id).kind == MemoryKind::cache;
  }

  Result<Nodes> lines(std::size_t at, const Scope& scope) {
    if (at == input_.nest->lines.size()) return error("the nest ends without a `do` line");
    const Line& line = input_.nest->lines[at];
    auto nodes = std::visit(
        overloaded{[&](const For& f) { return walk(f, 0, at, scope); },
                   [&](const Stage& s) { return stage(s, at, scope); },
                   [&](const Do&) {
                     if (!instruction_) return lower_elements(*this, scope);
                     auto calls = lower_call(*this, scope);
                     return calls ? Result<Nodes>(completed(std::move(*calls), lowering_.model)) : calls;
                   }},
        line.is);
    return nodes || line.where.file.empty() ? std::move(nodes) : at_line(nodes.diagnostics(), line);
  }

  // Problems of lines further in have their place already.
  static Diagnostics at_line(Diagnostics problems, const Line& line) {
    for (Diagnostic& problem : problems)
      if (problem.where.file.empty()) problem.where = line.where;
    return problems;
  }

  Result<Nodes> walk(const For& f, std::size_t which, std::size_t at, const Scope& scope) {
    if (which == f.walks.size()) return lines(at + 1, scope);
    const Walk& w = f.walks[which];
    const auto found = scope.tiles.find(w.dim);
    if (found == scope.tiles.end()) return unknown_dim(w.dim);
    const Tile parent = found->second;
    const bool pads = f.tail == Tail::pad;  // all tiles are whole; the last may reach beyond the dim
    const std::int64_t tile = pads ? w.tile : std::min(w.tile, parent.size);
    const std::int64_t full = pads ? ceil_div(parent.size, tile) : parent.size / tile, rest = pads ? 0 : parent.size % tile;
    const bool beyond = parent.beyond || (pads && parent.size % tile != 0);
    if (const auto unit = in_threads(f); unit && full + rest > 1 && !pads)
      return walk_in_threads(f, which, at, scope, *unit, tile);
    const auto tile_at = [&](const AffineExpr& number, std::int64_t size) {
      Scope inner = scope;
      inner.tiles[w.dim] = {parent.origin + number * tile, size, beyond};
      if (f.unit.empty() && (full > 1 || rest > 0)) inner.steps.push_back({w.dim, number});
      return inner;
    };
    if (const auto ahead = stages_ahead(f, which, at); !ahead.empty() && full > 1 && rest == 0)
      return pipelined(ahead, at, full, w.dim, tile_at);

    const bool in_time = f.unit.empty() && (full > 1 || rest > 0);
    Interior whole{0, full};
    if (in_time && !f.unroll) whole = interior(*this, w.dim, tile, full, scope.tiles);
    const auto step = [&](const AffineExpr& number, std::int64_t size) {
      return walk(f, which + 1, at, tile_at(number, size));
    };
    Nodes nodes;
    for (const auto& [from, to] :
         {std::pair(std::int64_t{0}, whole.first), {whole.first, whole.last}, {whole.last, full}}) {
      if (from == to) continue;
      const std::int64_t steps = to - from;
      const std::string variable = steps > 1 ? lowering_.variable(w.dim, steps) : "";
      auto body = step(AffineExpr(from) + (steps > 1 ? AffineExpr::dim(variable) : AffineExpr(0)), tile);
      if (!body) return body;
      Nodes loop = steps > 1 ? loop_around(variable, steps, f.unroll, std::move(*body)) : std::move(*body);
      if (steps > 1 && !f.unit.empty() && !loop.empty()) std::get<Loop>(loop.front().is).unit = f.unit;
      append(nodes, std::move(loop));
    }
    if (rest == 0) return nodes;
    auto last = step(AffineExpr(full), rest);
    if (!last) return last;
    append(nodes, std::move(*last));
    return nodes;
  }

  /// The stages right below a walk in time whose tiles are asked for some steps ahead, by line.
  std::vector<std::size_t> stages_ahead(const For& f, std::size_t which, std::size_t at) const {
    std::vector<std::size_t> found;
    if (which + 1 != f.walks.size() || !f.unit.empty() || f.unroll || !overlaps()) return found;
    for (std::size_t l = at + 1; l < input_.nest->lines.size(); ++l) {
      const auto* s = std::get_if<Stage>(&input_.nest->lines[l].is);
      if (s == nullptr || s->ahead < 1 || s->buffers <= s->ahead || s->tensor == output().name) break;
      if (!found.empty() && s->ahead != std::get<Stage>(input_.nest->lines[found[0]].is).ahead) break;
      found.push_back(l);
    }
    return found;
  }
  /// Do moves complete in groups, behind the program's back?
  bool overlaps() const {
    const auto& objects = lowering_.model.async_objects();
    return std::any_of(objects.begin(), objects.end(), [](const AsyncObject& o) { return o.kind == "groups"; });
  }

  /// The tiles of step n + ahead are asked for while those of step n are used. A tile's place is free again when all are
  /// through with the step before: there is one more of them than steps ahead.
  template <class TileAt>
  Result<Nodes> pipelined(const std::vector<std::size_t>& lines_ahead, std::size_t at, std::int64_t steps,
                          const std::string& dim, const TileAt& tile_at) {
    const int ahead = std::get<Stage>(input_.nest->lines[lines_ahead[0]].is).ahead;
    const std::string variable = lowering_.variable(dim, steps);
    const AffineExpr number = AffineExpr::dim(variable);
    filled_ahead_.insert(lines_ahead.begin(), lines_ahead.end());
    auto body = lines(at + 1, tile_at(number, tile_size(at, dim)));
    if (!body) return body;
    const auto fills = [&](const AffineExpr& step) -> Result<Nodes> {
      Scope scope = tile_at(step, tile_size(at, dim));
      Nodes nodes;
      for (const std::size_t l : lines_ahead) {
        auto fill = refill(l, scope);
        if (!fill) return fill;
        append(nodes, std::move(*fill));
      }
      return nodes;
    };
    Nodes nodes, loop;
    for (std::int64_t step = 0; step < std::min<std::int64_t>(ahead, steps); ++step) {
      auto fill = fills(AffineExpr(step));
      if (!fill) return fill;
      Nodes group = commits(*fill, lowering_.model);
      append(nodes, std::move(*fill));
      append(nodes, std::move(group));
    }
    if (steps > ahead) {
      const Interval all = lowering_.ranges.at(variable);
      lowering_.ranges[variable].high = steps - 1 - ahead;
      auto fill = fills(number + ahead);
      lowering_.ranges[variable] = all;
      if (!fill) return fill;
      append(loop, waits(*fill, ahead - 1, lowering_.model));
      append(loop, meeting(lines_ahead));
      Nodes group = commits(*fill, lowering_.model);  // an empty group too counts as one that is waited for
      Guard guard;
      guard.conditions = {AffineExpr(steps - 1 - ahead) - number};
      guard.then = std::move(*fill);
      loop.push_back(Node{std::move(guard)});
      append(loop, std::move(group));
    } else {
      append(loop, waits(nodes, 0, lowering_.model));
      append(loop, meeting(lines_ahead));
    }
    append(loop, std::move(*body));
    append(nodes, loop_around(variable, steps, false, std::move(loop)));
    return nodes;
  }
  /// All have waited for their part of the tile, and are through with the one whose place is filled next.
  Nodes meeting(const std::vector<std::size_t>& lines_ahead) const {
    Sync sync;
    sync.unit = lowering_.model.memory(*lowering_.model.find_memory(std::get<Stage>(input_.nest->lines[lines_ahead[0]].is).memory)).per;
    return {Node{std::move(sync)}};
  }
  std::int64_t tile_size(std::size_t at, const std::string& dim) const {
    for (const Walk& w : std::get<For>(input_.nest->lines[at].is).walks)
      if (w.dim == dim) return w.tile;
    return 1;
  }
  /// What fills the tile of stage `line` as it is where `scope` says; its buffer is there already.
  Result<Nodes> refill(std::size_t line, const Scope& scope) {
    const Stage& s = std::get<Stage>(input_.nest->lines[line].is);
    const int access = staged_accesses(s)->front();
    const MemoryId memory = *lowering_.model.find_memory(s.memory);
    auto made = make_tile(input_.pairing, kernel_, access, memory, s.layout, scope.tiles, lowering_.model);
    if (!made) return made.diagnostics();
    take_turns(s.buffers, access, scope, made->tile, made->buffer);
    own_place(memory, made->tile, made->buffer);
    made->tile.buffer = buffer_of_line_.at(line);
    const auto copy = copy_of(made->tile, scope.holders[static_cast<std::size_t>(access)], s, true, scope.tiles);
    if (!copy) return at_stage(s, copy.diagnostics());
    auto fill = transfer(lowering_, *copy);
    return fill ? std::move(fill) : Result<Nodes>(at_stage(s, fill.diagnostics()));
  }
  std::set<std::size_t> filled_ahead_;                ///< lines of stages whose fills stand elsewhere
  std::map<std::size_t, BufferId> buffer_of_line_;

  /// The unit, if programs run its instances in threads.
  std::optional<UnitId> in_threads(const For& f) const {
    const auto unit = lowering_.model.find_unit(f.unit);
    return unit && side_by_side(lowering_.model, *unit) ? unit : std::nullopt;
  }

  /// One loop over all instances, the last with the short tile among them. They must not write the same elements.
  Result<Nodes> walk_in_threads(const For& f, std::size_t which, std::size_t at, const Scope& scope, UnitId unit,
                                std::int64_t tile) {
    const std::string& dim = f.walks[which].dim;
    if (!input_.written.once || !uses(access_of(statement_, 0), dim))
      return error(fmt::format("for {} on {}: its instances would write the same elements of {} at once", dim, f.unit,
                               output().name),
                   "deal out a dim that each element of the output has to itself");
    if (const Buffer& held = lowering_.buffer(scope.holders[0].buffer);
        !(held.slots >= 0 && !lowering_.model.unit(unit).index.empty()) &&  // shared out: scheduler/spread_tile.h
        lowering_.model.inside(lowering_.model.memory(held.memory).per, unit))
      return error(fmt::format("for {} on {}: {} stands in {}, which each instance has for itself", dim, f.unit,
                               output().name, lowering_.model.memory(held.memory).name),
                   "deal out above that stage");
    const Tile parent = scope.tiles.at(dim);
    const std::int64_t full = parent.size / tile, rest = parent.size % tile, count = full + (rest > 0 ? 1 : 0);
    const std::string variable = lowering_.variable(dim, count);
    const AffineExpr number = AffineExpr::dim(variable);
    lowering_.side_by_side.push_back({unit, number, count});
    const auto instance = [&](const AffineExpr& origin, std::int64_t size) {
      Scope inner = scope;
      inner.tiles[dim] = {origin, size, parent.beyond};
      return walk(f, which + 1, at, inner);
    };
    const Interval all = lowering_.ranges.at(variable);
    lowering_.ranges[variable].high = full - 1;
    auto whole = instance(parent.origin + number * tile, tile);
    lowering_.ranges[variable] = all;
    auto last = rest > 0 ? instance(parent.origin + full * tile, rest) : Result<Nodes>(Nodes{});
    lowering_.side_by_side.pop_back();
    if (!whole) return whole;
    if (!last) return last;
    Nodes body = std::move(*whole);
    if (rest > 0) {
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

  Diagnostics unknown_dim(const std::string& dim) const {
    std::string dims;
    for (const Dim& d : statement_.domain.dims) dims += (dims.empty() ? "" : ", ") + d.name;
    Diagnostic d = error(fmt::format("'{}' is no dim of statement {}", dim, statement_.name));
    d.notes.push_back("its dims here: " + dims);
    return {d};
  }

  Result<std::vector<int>> staged_accesses(const Stage& s) const {
    std::vector<int> found;
    for (int a = 0; a < access_count(statement_); ++a) {
      const Access& access = access_of(statement_, a);
      if (kernel_.tensors[access.tensor.index()].name != s.tensor) continue;
      if (!found.empty() && access.index != access_of(statement_, found.front()).index)
        return error(
            fmt::format("{} is accessed in two ways by {}; staging it is not supported", s.tensor, statement_.name));
      found.push_back(a);
    }
    if (found.empty())
      return error(fmt::format("stage {}: statement {} has no such tensor", s.tensor, statement_.name));
    if (found.size() > 1 && found.front() == 0)
      return error(fmt::format("{} is read and written by {}; staging it is not supported", s.tensor, statement_.name));
    return found;
  }

  Result<Nodes> stage(const Stage& s, std::size_t at, const Scope& scope) {
    const auto memory = lowering_.model.find_memory(s.memory);
    if (!memory) return error("stage " + s.tensor + ": the machine has no memory '" + s.memory + "'");
    if (is_cache(s.memory)) return lines(at + 1, scope);  // a claim of residency: no effect on values
    // Nobody hands it over (the other statement has no points): it stands in memory already.
    if (!s.from.empty() && *memory == lowering_.model.home()) return lines(at + 1, scope);
    const auto accesses = staged_accesses(s);
    if (!accesses) return accesses.diagnostics();
    auto made = make_tile(input_.pairing, kernel_, accesses->front(), *memory, s.layout, scope.tiles, lowering_.model);
    if (!made) return made.diagnostics();
    TileBuffer tile = std::move(made->tile);
    if (s.buffers > 1 && tile.slots < 0) take_turns(s.buffers, accesses->front(), scope, tile, made->buffer);
    if (tile.slots < 0 && !s.ahead_of_time) own_place(*memory, tile, made->buffer);
    tile.buffer = buffer_of_line_[at] = add_buffer(std::move(made->buffer), s);
    Scope inner = scope;
    for (int a : *accesses) inner.holders[static_cast<std::size_t>(a)] = tile;
    return accesses->front() == 0 ? stage_output(s, at, tile, scope, inner) : stage_input(s, at, tile, scope, inner);
  }

  // Tiles that follow one another along the innermost walk that the tensor uses lie in different buffers, so that moves
  // of the next one need not wait for uses of this one.
  void take_turns(int buffers, int access, const Scope& scope, TileBuffer& tile, Buffer& buffer) const {
    const auto step = std::find_if(scope.steps.rbegin(), scope.steps.rend(),
                                   [&](const WalkStep& s) { return uses(access_of(statement_, access), s.dim); });
    if (step == scope.steps.rend()) return;  // there is one tile only
    tile.turn = mod(step->number, buffers);
    add_turn_axis(buffer, buffers);
  }

  /// Instances that run in threads and share a memory each have a tile of their own there.
  void own_place(MemoryId memory, TileBuffer& tile, Buffer& buffer) const {
    for (const SideBySide& around : lowering_.side_by_side) {
      if (lowering_.model.inside(lowering_.model.memory(memory).per, around.unit)) continue;
      std::int64_t places = 1;
      if (tile.turn)
        places = buffer.extents.back();
      else
        add_turn_axis(buffer, 1);
      tile.turn = tile.turn.value_or(AffineExpr(0)) + around.number * places;
      buffer.extents.back() = places * around.count;
    }
  }

  static void add_turn_axis(Buffer& buffer, std::int64_t extent) {
    const std::int64_t element = std::max<std::int64_t>(bytes(buffer.dtype), 1);
    const std::int64_t apart =
        round_up(element_span(buffer) * element, std::max<std::int64_t>(buffer.align, 1)) / element;
    buffer.extents.push_back(extent);
    buffer.strides.push_back(apart);
  }

  BufferId add_buffer(Buffer buffer, const Stage& s) {
    int same = 0;
    for (const Buffer& b : lowering_.program.buffers) same += b.name.rfind(buffer.name, 0) == 0;
    if (same > 0) buffer.name += std::to_string(same);
    buffer.ahead_of_time = s.ahead_of_time;
    if (s.ahead_of_time) buffer.role = BufferRole::argument;
    lowering_.program.buffers.push_back(std::move(buffer));
    return make_id<BufferId>(lowering_.program.buffers.size() - 1);
  }

  Result<Copy> copy_of(const TileBuffer& inner, const TileBuffer& outer, const Stage& s, bool into_inner,
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
                         "only dims that are an index by themselves can be padded; without it the last tile is short");
          end = statement_.domain.dims[static_cast<std::size_t>(statement_.domain.find(name))].extent;
        }
      }
    copy.inner = &inner;
    copy.outer = &outer;
    copy.into_inner = into_inner;
    copy.via = s.via;
    copy.unroll = inner.slots >= 0;
    for (const Coordinate& c : inner.coordinates) copy.zero.push_back(padding_must_be_zero(input_.pairing, c));
    const Tensor& tensor = kernel_.tensors[lowering_.buffer(inner.buffer).tensor.index()];
    if (into_inner && outer.whole_tensor && !skips(*input_.nest, tensor)) copy.outside = tensor.outside;
    return copy;
  }

  Result<Nodes> stage_input(const Stage& s, std::size_t at, const TileBuffer& tile, const Scope& scope,
                            const Scope& inner) {
    const int access = staged_accesses(s)->front();
    if (scope.holders[static_cast<std::size_t>(access)].whole_tensor &&
        skips(*input_.nest, kernel_.tensors[access_of(statement_, access).tensor.index()])) {
      const auto conditions = inside(*this, access, scope.tiles);
      if (!conditions) return conditions.diagnostics();
      return where_inside(lowering_, *conditions, [&] { return fill_and_go_on(s, at, tile, access, scope, inner); });
    }
    return fill_and_go_on(s, at, tile, access, scope, inner);
  }

  Result<Nodes> fill_and_go_on(const Stage& s, std::size_t at, const TileBuffer& tile, int access, const Scope& scope,
                               const Scope& inner) {
    Result<Nodes> fill = Nodes{};
    if (!filled_ahead_.contains(at)) {
      const auto copy = copy_of(tile, scope.holders[static_cast<std::size_t>(access)], s, true, scope.tiles);
      fill = copy ? transfer(lowering_, *copy) : Result<Nodes>(copy.diagnostics());
      if (!fill) return at_stage(s, fill.diagnostics());
      *fill = completed(std::move(*fill), lowering_.model);
    }
    auto body = lines(at + 1, inner);
    if (!body) return body;
    if (s.ahead_of_time) {
      append(lowering_.program.prepack, std::move(*fill));
      return body;
    }
    Nodes nodes = std::move(*fill);
    append(nodes, std::move(*body));
    return nodes;
  }

  Diagnostics at_stage(const Stage& s, Diagnostics diagnostics) const {
    for (Diagnostic& d : diagnostics) d.message = "stage " + s.tensor + " in " + s.memory + ": " + d.message;
    return diagnostics;
  }

  // How an output's tile starts: from memory where partial sums stand there, with the identity otherwise, or not at all
  // where a tile further in takes over.
  Result<Nodes> start_tile(const Stage& s, std::size_t at, const TileBuffer& tile, const Scope& scope, Scope& inner) {
    const auto cut = [&](const Dim& d) {
      return d.kind == DimKind::reduction && scope.tiles.at(d.name).size != d.extent;
    };
    const bool partial = std::any_of(statement_.domain.dims.begin(), statement_.domain.dims.end(), cut);
    const bool from_memory = input_.starts_from_memory || partial || s.first == First::load || !written_whole();
    if (statement_.reduction == Reduction::assign && (written_whole() || tile.slots >= 0)) return Nodes{};
    if (from_memory) return move_output(s, at, tile, scope, true);
    if (!needs_start(at + 1)) return Nodes{};
    if (s.first == First::flag) {
      inner.flagged_since = scope.tiles;
      return Nodes{};
    }
    return each_share(s, at, tile, scope, [&](const TileBuffer* part) {
      return fill_tile(lowering_, tile, identity(), tile.slots >= 0, part);
    });
  }

  /// Of a tile that instances of a unit share, each does its part.
  Result<Nodes> each_share(const Stage& s, std::size_t at, const TileBuffer& tile, const Scope& scope,
                           const std::function<Result<Nodes>(const TileBuffer* part)>& make) {
    if (tile.slots < 0) return make(nullptr);
    const auto walks = instance_walks(*input_.nest, at, *lowering_.model.find_memory(s.memory), scope.tiles, lowering_.model);
    if (!walks) return walks.diagnostics();
    return in_every_instance(lowering_, tile, *walks, make);
  }
  Result<Nodes> move_output(const Stage& s, std::size_t at, const TileBuffer& tile, const Scope& scope, bool into_inner) {
    auto copy = copy_of(tile, scope.holders[0], s, into_inner, scope.tiles);
    if (!copy) return copy.diagnostics();
    return each_share(s, at, tile, scope, [&](const TileBuffer* part) {
      copy->part = part;
      return transfer(lowering_, *copy);
    });
  }

  // Two places with parts of one element would each be stored over the other: where several points of the tile write
  // one element, the tile's coordinates have to be what the output's indices add up (p + r), not the dims.
  Diagnostics shared_element(const Stage& s, const TileBuffer& tile, const Scope& scope) const {
    std::map<std::string, std::int64_t> extents;
    for (const auto& [dim, part] : scope.tiles) extents[dim] = part.size;
    if (input_.written.once || one_to_one(statement_.write, extents).value_or(false)) return {};
    const auto is_index = [&](const Coordinate& c) {
      return std::any_of(statement_.write.index.begin(), statement_.write.index.end(),
                         [&](const AffineExpr& e) { return e - e.constant() == c.form; });
    };
    if (std::all_of(tile.coordinates.begin(), tile.coordinates.end(), is_index)) return {};
    return {error(fmt::format("two places of the tile would hold parts of one element of {}", s.tensor),
                  "walk all but one of the dims that an index of it adds up by 1 above the stage")};
  }

  Result<Nodes> stage_output(const Stage& s, std::size_t at, const TileBuffer& tile, const Scope& scope, Scope inner) {
    if (Diagnostics shared = shared_element(s, tile, scope); has_errors(shared)) return at_stage(s, std::move(shared));
    auto start = start_tile(s, at, tile, scope, inner);
    if (!start) return at_stage(s, start.diagnostics());
    auto body = lines(at + 1, inner);
    if (!body) return body;
    Nodes nodes = std::move(*start);
    append(nodes, std::move(*body));
    if (!input_.hand_on || is_stored(kernel_, input_.id, s)) {
      auto drain = move_output(s, at, tile, scope, false);
      if (!drain) return at_stage(s, drain.diagnostics());
      append(nodes, std::move(*drain));
    }
    for (const std::string& next : s.then) {
      if (!input_.hand_on) break;
      auto goes_on = input_.hand_on(next, tile, scope.tiles);
      if (!goes_on) return goes_on;
      append(nodes, std::move(*goes_on));
    }
    return nodes;
  }
};

}  // namespace

Result<std::vector<Node>> set_tensor(Lowering& lowering, const TileBuffer& tensor, Scalar value) {
  TileBuffer flat = tensor;
  flat.coordinates.clear();
  return fill_tile(lowering, flat, value, false);
}

Result<std::vector<Node>> lower_nest(Lowering& lowering, const NestInput& input) {
  const NestParts parts{lowering, input, *input.kernel, *input.pairing.statement, input.pairing.instruction.get()};
  return NestLowering(parts).run();
}

}  // namespace isamap

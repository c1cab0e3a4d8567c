// SPDX-License-Identifier: Apache-2.0
#include "scheduler/nest/fused_tiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "scheduler/nest/fusion_chains.h"
#include "scheduler/nest/matched_dims.h"
#include "scheduler/nest/resident_intermediate.h"
#include "scheduler/nest/resolved_nest.h"
#include "scheduler/nest/write_coverage.h"
#include "support/yaml.h"

namespace isamap {

bool reads(const Computation& statement, TensorId tensor) {
  return std::any_of(statement.reads.begin(), statement.reads.end(),
                     [&](const Access& a) { return a.tensor == tensor; });
}

namespace {

/// Data dependences that forbid computing `to` once a tile of `from` is complete; nothing: fusion is legal.
std::optional<Diagnostic> order_problem(const Kernel& kernel, std::size_t from, std::size_t to) {
  const Computation& consumer = kernel.statements[to];
  const TensorId produced = kernel.statements[from].write.tensor;
  if (!consumer.domain.faces.empty())
    return error(fmt::format("then {}: its domain is not rectangular", consumer.name), "leave it out");
  for (const Access& read : consumer.reads)
    if (read.computed && read.tensor == produced)
      return error(
          fmt::format("then {}: it reads {} at a computed place", consumer.name, kernel.tensors[produced.index()].name),
          "leave it out: all of the tensor is needed");
  for (std::size_t s = from; s < to; ++s) {
    const Computation& between = kernel.statements[s];
    const std::string& written = kernel.tensors[between.write.tensor.index()].name;
    if (s > from && reads(consumer, between.write.tensor))
      return error(fmt::format("then {}: it reads {}, which {} writes after {}", consumer.name, written, between.name,
                               kernel.statements[from].name),
                   fmt::format("fuse it with the tile of {}", written));
    if (reads(between, consumer.write.tensor) || between.write.tensor == consumer.write.tensor)
      return error(fmt::format("then {}: {} accesses {}, which it overwrites", consumer.name, between.name,
                               kernel.tensors[consumer.write.tensor.index()].name),
                   "leave it out");
  }
  return reads(consumer, produced) ? std::nullopt
                                   : std::optional(error(fmt::format("then {}: it does not read {}", consumer.name,
                                                                     kernel.tensors[produced.index()].name)));
}

/// The dims of indices that are no plain dims, such as pq/7 and pq%7 of fused dims, where both sides are the same up to
/// names; they are then in no other index. Nothing: they differ.
std::optional<std::map<std::string, std::string>> same_but_for_names(const Access& write, const Access& read) {
  std::map<std::string, std::string> names;
  for (std::size_t axis = 0; axis < write.index.size(); ++axis) {
    const AffineExpr &own = write.index[axis], &theirs = read.index[axis];
    if (own.as_dim() || own.is_constant()) continue;
    const auto one = own.names(), other = theirs.names();
    if (one.size() != 1 || other.size() != 1) return std::nullopt;
    const auto known = names.emplace(*one.begin(), *other.begin()).first;
    if (known->second != *other.begin() || substitute(own, {{*one.begin(), AffineExpr::dim(*other.begin())}}) != theirs)
      return std::nullopt;
  }
  return names;
}

}  // namespace

std::optional<MatchedDims> matched_dims(const Access& write, const Access& read) {
  const auto fused = same_but_for_names(write, read);
  if (!fused) return std::nullopt;
  MatchedDims matched;
  for (const auto& [dim, other] : *fused) matched.emplace_back(dim, AffineExpr::dim(other));
  for (std::size_t axis = 0; axis < write.index.size(); ++axis) {
    const auto own = write.index[axis].as_dim();
    const AffineExpr& theirs = read.index[axis];
    if (!own && write.index[axis].is_constant() && theirs == write.index[axis]) continue;
    if (!own && !write.index[axis].is_constant()) continue;
    if (!own || !(theirs.as_dim() || theirs.names().empty())) return std::nullopt;
    for (const auto& [dim, other] : matched)
      if (dim == *own || (other == theirs && theirs.as_dim())) return std::nullopt;
    matched.emplace_back(*own, theirs);
  }
  return matched;
}

namespace {

/// A nest at a `stage` line: the loops above it, and the tile of each dim there.
struct NestAtTile {
  NestAtTile(const ResolvedNest& resolved, std::size_t line)
      : nest(resolved),
        loops(static_cast<int>(std::count_if(resolved.loops.begin(), resolved.loops.end(),
                                             [&](const LoopLevel& w) { return w.line < static_cast<int>(line); }))),
        tiles(resolved.tiles(loops)) {}

  const Dim& dim(std::size_t d) const { return nest.statement.domain.dims[d]; }
  std::size_t find(const std::string& name) const { return static_cast<std::size_t>(nest.statement.domain.find(name)); }
  bool splits_reduction(std::size_t d) const {
    return std::any_of(nest.loops.begin(), nest.loops.begin() + loops,
                       [&](const LoopLevel& w) { return w.dim == static_cast<int>(d) && w.combine.valid(); });
  }

  const ResolvedNest& nest;
  int loops = 0;
  std::vector<std::int64_t> tiles;
};

/// Compares the tile of a producer with that of a consumer.
class TileMatch {
 public:
  TileMatch(const Tensor& tensor, const NestAtTile& from, const NestAtTile& to)
      : tensor_(tensor),
        from_(from),
        to_(to),
        name_(to.nest.statement.name),
        matched_(to.nest.statement.domain.dims.size(), false) {}

  std::optional<Diagnostic> mismatch() {
    if (auto no = incomplete_sums()) return no;
    const Access& write = from_.nest.statement.write;
    for (const Access& read : to_.nest.statement.reads) {
      if (read.tensor != write.tensor) continue;
      const auto matched = matched_dims(write, read);
      if (!matched)
        return error(fmt::format("then {}: an index of {} is no plain dim on both sides", name_, tensor_.name),
                     "fusion needs plain dims: those fused for an instruction are not");
      for (const auto& [dim, other] : *matched)
        if (auto no = dim_mismatch(from_.find(dim), other)) return no;
    }
    return other_dims();
  }

 private:
  /// The producer's reductions must be complete in its tile.
  std::optional<Diagnostic> incomplete_sums() const {
    for (std::size_t d = 0; d < from_.tiles.size(); ++d)
      if (const Dim& dim = from_.dim(d); dim.kind == DimKind::reduction && from_.tiles[d] < dim.extent)
        return error(fmt::format("then {}: {} is not complete here: {} of {} points of {} are added up", name_,
                                 tensor_.name, from_.tiles[d], dim.extent, dim.name),
                     from_.splits_reduction(d)
                         ? fmt::format("its partial sums are complete after all instances: leave it out, and {} "
                                       "follows as a nest of its own",
                                       name_)
                         : fmt::format("write it at a stage above the loop of {}", dim.name));
    return std::nullopt;
  }

  /// Both sides need the same tile of a dim; the whole of it where the consumer reads at a constant or at two dims.
  std::optional<Diagnostic> dim_mismatch(std::size_t d, const AffineExpr& other) {
    const Dim& dim = from_.dim(d);
    const std::int64_t tile = from_.tiles[d];
    if (!other.as_dim()) {
      if (tile == dim.extent) return std::nullopt;
      return error(
          fmt::format("then {}: it needs all of {}; the tile has {} of {} points", name_, dim.name, tile, dim.extent));
    }
    const std::size_t o = to_.find(*other.as_dim());
    const Dim& theirs = to_.dim(o);
    matched_[o] = true;
    const std::string& before = first_match_.emplace(dim.name, theirs.name).first->second;
    if (before != theirs.name && tile < dim.extent)  // T[i] * T[j]
      return error(fmt::format("then {}: it reads {} at {} and at {}; the tile has {} of {} points of {}", name_,
                               tensor_.name, before, theirs.name, tile, dim.extent, dim.name),
                   "use tiles with all of " + dim.name);
    if (theirs.extent != dim.extent)
      return error(fmt::format("then {}: its {} has {} points, {} has {}", name_, theirs.name, theirs.extent, dim.name,
                               dim.extent));
    if (tile != to_.tiles[o])
      return error(fmt::format("then {}: the tile here has {} points of {}; that of the nest of {} has {} of {}", name_,
                               tile, dim.name, name_, to_.tiles[o], theirs.name),
                   "both nests need the same tile at their stages");
    return std::nullopt;
  }

  /// The consumer's reductions must be within the tile, and its loops above the tile be over dims of the tensor.
  std::optional<Diagnostic> other_dims() const {
    for (std::size_t d = 0; d < to_.tiles.size(); ++d)
      if (const Dim& dim = to_.dim(d); dim.kind == DimKind::reduction && to_.tiles[d] < dim.extent)
        return error(fmt::format("then {}: it adds up {}, and the tile has {} of its {} points", name_, dim.name,
                                 to_.tiles[d], dim.extent),
                     fmt::format("use tiles with all of {}", dim.name));
    for (int w = 0; w < to_.loops; ++w)
      if (const auto d = static_cast<std::size_t>(to_.nest.loops[static_cast<std::size_t>(w)].dim); !matched_[d])
        return error(fmt::format("then {}: its nest loops over {} above the tile, and {} has no such dim", name_,
                                 to_.dim(d).name, tensor_.name),
                     "loop over it below");
    return std::nullopt;
  }

  const Tensor& tensor_;
  const NestAtTile &from_, &to_;
  const std::string& name_;                         ///< of the consumer
  std::vector<bool> matched_;                       ///< by dim of the consumer: it is one of the tensor
  std::map<std::string, std::string> first_match_;  ///< the consumer's first dim for each of the producer's
};

class FusionCheck {
 public:
  FusionCheck(const Schedule& schedule, const Kernel& kernel, const HardwareModel& model)
      : schedule_(schedule), kernel_(kernel), model_(model) {}

  Result<std::vector<TileFusion>> run() {
    for (std::size_t s = 0; s < schedule_.nests.size(); ++s)
      for (std::size_t l = 0; l < schedule_.nests[s].lines.size(); ++l)
        if (const auto* stage = std::get_if<Stage>(&schedule_.nests[s].lines[l].is)) check(s, l, *stage);
    if (has_errors(problems_)) return problems_;
    return found_;
  }

 private:
  void problem(std::size_t s, std::size_t l, Diagnostic d) {
    const Line& line = schedule_.nests[s].lines[l];
    d.message = "'" + print(line) + "': " + d.message;
    d.where = line.where;
    problems_.push_back(std::move(d));
  }

  std::optional<std::size_t> statement(const std::string& name) const {
    for (std::size_t s = 0; s < kernel_.statements.size(); ++s)
      if (kernel_.statements[s].name == name) return s;
    return std::nullopt;
  }

  Diagnostic unknown(const std::string& name) const {
    std::vector<std::string> known;
    for (const Computation& s : kernel_.statements) known.push_back(s.name);
    return error("no statement '" + name + "' in " + kernel_.name, yaml::did_you_mean(name, known));
  }

  void check(std::size_t s, std::size_t l, const Stage& stage) {
    const std::string& written = kernel_.tensors[kernel_.statements[s].write.tensor.index()].name;
    if (!stage.then.empty() && stage.tensor != written)
      return problem(s, l,
                     error(fmt::format("then: {} only reads {}", kernel_.statements[s].name, stage.tensor),
                           "only results are fused: write it at a stage of " + written));
    for (const std::string& name : stage.then) check_then(s, l, stage, name);
    if (stage.from.empty() || stage.tensor == written) return;  // sums that begin with a copy: nest_facts.cpp
    const auto producer = statement(stage.from);
    if (!producer) return problem(s, l, unknown(stage.from));
    for (const Line& line : schedule_.nests[*producer].lines)
      if (const auto* other = std::get_if<Stage>(&line.is);
          other && other->tensor == stage.tensor && contains(other->then, kernel_.statements[s].name))
        return;
    problem(s, l,
            error(fmt::format("from {}: its nest has no stage of {} with this consumer", stage.from, stage.tensor),
                  fmt::format("write there: stage {} in {} then {}", stage.tensor, stage.memory,
                              kernel_.statements[s].name)));
  }

  static bool contains(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  void check_then(std::size_t s, std::size_t l, const Stage& stage, const std::string& name) {
    const auto to = statement(name);
    if (!to) return problem(s, l, unknown(name));
    if (*to <= s) return problem(s, l, error(fmt::format("then {}: it comes before", name)));
    std::vector<std::size_t> lines;
    const Nest& nest = schedule_.nests[*to];
    const std::string& theirs_written = kernel_.tensors[kernel_.statements[*to].write.tensor.index()].name;
    for (std::size_t k = 0; k < nest.lines.size(); ++k)
      if (const auto* other = std::get_if<Stage>(&nest.lines[k].is);
          other && !other->from.empty() && other->tensor != theirs_written)
        lines.push_back(k);
    const auto* other = lines.size() == 1 ? std::get_if<Stage>(&nest.lines[lines.front()].is) : nullptr;
    if (other == nullptr || other->tensor != stage.tensor || other->from != kernel_.statements[s].name ||
        other->memory != stage.memory)
      return problem(s, l,
                     error(fmt::format("then {}: its nest has no single line 'stage {} in {} from {}'", name,
                                       stage.tensor, stage.memory, kernel_.statements[s].name),
                           "write it where that nest has the same tile"));
    const auto own = resolve(schedule_.nests[s], kernel_, make_id<StatementId>(s), model_);
    const auto theirs = resolve(nest, kernel_, make_id<StatementId>(*to), model_);
    if (!own || !theirs) return;  // reported where each nest is checked
    TileFusion pair{make_id<StatementId>(s), make_id<StatementId>(*to), l, lines.front()};
    auto no = order_problem(kernel_, s, *to);
    if (!no) no = chain_problem(schedule_, kernel_, found_, pair);
    if (!no) no = tile_mismatch(*own, l, *theirs, lines.front());
    if (no) {
      pair.whole = !not_kept_whole(schedule_, kernel_, model_, pair);
      if (!pair.whole) return problem(s, l, std::move(*no));
    } else if (auto order = order_mismatch(schedule_.nests[s], nest, lines.front(), kernel_.statements[s].name)) {
      return problem(*to, lines.front(), std::move(*order));
    }
    found_.push_back(pair);
  }

  /// The producer's nest decides the order of tiles: one that is only in the consumer's would be ignored.
  static std::optional<Diagnostic> order_mismatch(const Nest& own, const Nest& theirs, std::size_t line,
                                                  const std::string& producer) {
    for (std::size_t l = 0; l < line; ++l) {
      const auto* f = std::get_if<For>(&theirs.lines[l].is);
      if (f == nullptr || !f->orders_all_loops()) continue;
      const bool same = std::any_of(own.lines.begin(), own.lines.end(), [&](const Line& other) {
        const auto* g = std::get_if<For>(&other.is);
        return g != nullptr && g->wrap == f->wrap && g->raster == f->raster;
      });
      if (!same)
        return error(fmt::format("from {}: the producer's nest orders the tiles, and not as '{}' does", producer,
                                 print(theirs.lines[l])),
                     fmt::format("write {} in the nest of {}, or leave it out here",
                                 f->raster > 0 ? fmt::format("raster grouped({})", f->raster) : "wrap", producer));
    }
    return std::nullopt;
  }

  /// Why the tiles at the two lines differ, or the producer's is incomplete there.
  std::optional<Diagnostic> tile_mismatch(const ResolvedNest& own, std::size_t line, const ResolvedNest& theirs,
                                          std::size_t their_line) const {
    const Tensor& tensor = kernel_.tensors[own.statement.write.tensor.index()];
    const Nest& nest = schedule_.nests[own.id.index()];
    if (model_.find_memory(std::get<Stage>(nest.lines[line].is).memory) == std::optional(model_.home()))
      for (const Line& l : nest.lines)
        if (const auto* s = std::get_if<Stage>(&l.is); s && s->tensor == tensor.name && s->ahead_of_time)
          return error("then: it is packed ahead of time");
    const WrittenElements written = written_elements(kernel_.statements[own.id.index()], tensor);
    if (!written.all || !written.once)
      return error(
          fmt::format("then {}: tiles of {} share elements or leave some out", theirs.statement.name, tensor.name));
    return TileMatch(tensor, NestAtTile(own, line), NestAtTile(theirs, their_line)).mismatch();
  }

  const Schedule& schedule_;
  const Kernel& kernel_;
  const HardwareModel& model_;
  Diagnostics problems_;
  std::vector<TileFusion> found_;
};

/// Why tiles at the producer's line do not make up what the consumer reads as a whole.
std::optional<Diagnostic> not_made_of_tiles(const Kernel& kernel, const ResolvedNest& own, std::size_t line,
                                            const ResolvedNest& theirs) {
  const Access& write = own.statement.write;
  const Tensor& tensor = kernel.tensors[write.tensor.index()];
  const NestAtTile tile(own, line);
  for (std::size_t d = 0; d < tile.tiles.size(); ++d)
    if (tile.dim(d).kind == DimKind::reduction && tile.tiles[d] < tile.dim(d).extent)
      return error(fmt::format("{} is not complete here", tensor.name));
  const WrittenElements written = written_elements(kernel.statements[own.id.index()], tensor);
  if (!written.all || !written.once)
    return error(fmt::format("tiles of {} share elements or leave some out", tensor.name));
  for (const Access& read : theirs.statement.reads) {
    if (read.tensor != write.tensor) continue;
    const auto matched = matched_dims(write, read);
    const bool plain = matched && !read.computed && !read.outside &&
                       std::all_of(matched->begin(), matched->end(), [&](const auto& pair) {
                         const auto dim = pair.second.as_dim();
                         return dim && theirs.statement.domain.find(*dim) >= 0;
                       });
    if (!plain) return error(fmt::format("an index of {} is no plain dim on both sides", tensor.name));
  }
  return std::nullopt;
}

}  // namespace

std::optional<Diagnostic> not_kept_whole(const Schedule& schedule, const Kernel& kernel, const HardwareModel& model,
                                         const TileFusion& pair) {
  const Nest &from = schedule.nests[pair.from.index()], &to = schedule.nests[pair.to.index()];
  const auto& made = std::get<Stage>(from.lines[pair.from_line].is);
  const auto& read = std::get<Stage>(to.lines[pair.to_line].is);
  const TensorId tensor = kernel.statements[pair.from.index()].write.tensor;
  const auto memory = model.find_memory(made.memory);
  if (!memory || *memory == model.home() || model.memory(*memory).is_register())
    return error(fmt::format("{} is not kept whole in {}", made.tensor, made.memory));
  if (made.then.size() != 1 || is_stored(kernel, pair.from, made) || !made.from.empty())
    return error(fmt::format("{} has other consumers", made.tensor));
  const bool plain_stages = made.buffers == 1 && read.buffers == 1 && !made.swizzle && !read.swizzle &&
                            made.layout.empty() && made.first == First{} && kernel.repeats.empty();
  const bool loops_above = std::any_of(to.lines.begin(), to.lines.begin() + static_cast<std::ptrdiff_t>(pair.to_line),
                                       [](const Line& line) { return std::holds_alternative<For>(line.is); });
  if (!plain_stages || loops_above || !kernel.statements[pair.to.index()].domain.faces.empty())
    return error(fmt::format("the nest of {} has no stage of all of {}", kernel.statements[pair.to.index()].name,
                             kernel.tensors[tensor.index()].name));
  const auto own = resolve(from, kernel, pair.from, model), theirs = resolve(to, kernel, pair.to, model);
  if (!own || !theirs) return error("a nest is wrong");
  return not_made_of_tiles(kernel, *own, pair.from_line, *theirs);
}

Result<std::vector<TileFusion>> tile_fusions(const Schedule& schedule, const Kernel& kernel,
                                             const HardwareModel& model) {
  return FusionCheck(schedule, kernel, model).run();
}

bool is_stored(const Kernel& kernel, StatementId producer, const Stage& stage) {
  if (stage.then.empty()) return true;
  const TensorId tensor = kernel.statements[producer.index()].write.tensor;
  if (role_of(kernel, tensor) != Role::intermediate) return true;
  return std::any_of(kernel.statements.begin(), kernel.statements.end(), [&](const Computation& s) {
    return reads(s, tensor) && std::find(stage.then.begin(), stage.then.end(), s.name) == stage.then.end();
  });
}

FusedTile make_fused_tile(const Computation& producer, const TileLayout& tile, const Tiles& tiles,
                          const Computation& consumer, std::size_t line) {
  FusedTile fused;
  fused.line = line;
  for (const Dim& dim : consumer.domain.dims) fused.tiles[dim.name] = {AffineExpr(0), dim.extent};
  for (int a = 1; a < access_count(consumer); ++a) {
    const Access& read = access_of(consumer, a);
    if (read.tensor != producer.write.tensor) continue;
    std::map<std::string, AffineExpr> theirs;
    const MatchedDims matched = matched_dims(producer.write, read).value_or(MatchedDims{});
    for (const auto& [dim, other] : matched) {
      theirs.emplace(dim, other);
      if (const auto name = other.as_dim()) fused.tiles[*name] = tiles.at(dim);
    }
    TileLayout seen = tile;
    for (Coordinate& c : seen.coordinates) c.form = substitute(c.form, theirs);
    fused.holders.emplace(a, std::move(seen));
  }
  return fused;
}

}  // namespace isamap

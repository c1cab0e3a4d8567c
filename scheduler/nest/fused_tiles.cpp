// SPDX-License-Identifier: Apache-2.0
#include "scheduler/nest/fused_tiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

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

/// The producer's dims in the tensor, each with the consumer's index there: a dim, or a constant along a whole axis.
using MatchedDims = std::vector<std::pair<std::string, AffineExpr>>;

/// Nothing: an index on either side is not a plain dim, or a dim is in two indices.
std::optional<MatchedDims> matched_dims(const Access& write, const Access& read) {
  MatchedDims matched;
  for (std::size_t axis = 0; axis < write.index.size(); ++axis) {
    const auto own = write.index[axis].as_dim();
    const AffineExpr& theirs = read.index[axis];
    if (!own || !(theirs.as_dim() || theirs.names().empty())) return std::nullopt;
    for (const auto& [dim, other] : matched)
      if (dim == *own || (other == theirs && theirs.as_dim())) return std::nullopt;
    matched.emplace_back(*own, theirs);
  }
  return matched;
}

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
    if (stage.from.empty()) return;
    const auto producer = statement(stage.from);
    if (!producer) return problem(s, l, unknown(stage.from));
    if (stage.tensor == written)
      return problem(s, l, error("from: " + stage.tensor + " is written here", "write it at a tensor that is read"));
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
    if (auto no = order_problem(kernel_, s, *to)) return problem(s, l, std::move(*no));
    std::vector<std::size_t> lines;
    const Nest& nest = schedule_.nests[*to];
    for (std::size_t k = 0; k < nest.lines.size(); ++k)
      if (const auto* other = std::get_if<Stage>(&nest.lines[k].is); other && !other->from.empty()) lines.push_back(k);
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
    if (auto no = tile_mismatch(*own, l, *theirs, lines.front())) return problem(s, l, std::move(*no));
    if (auto no = order_mismatch(schedule_.nests[s], nest, lines.front(), kernel_.statements[s].name))
      return problem(*to, lines.front(), std::move(*no));
    found_.push_back({make_id<StatementId>(s), make_id<StatementId>(*to), l, lines.front()});
  }

  /// The producer's nest decides the order of tiles: one that is only in the consumer's would be ignored.
  static std::optional<Diagnostic> order_mismatch(const Nest& own, const Nest& theirs, std::size_t line,
                                                  const std::string& producer) {
    for (std::size_t l = 0; l < line; ++l) {
      const auto* f = std::get_if<For>(&theirs.lines[l].is);
      if (f == nullptr || (!f->wrap && f->raster == 0)) continue;
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

  static int loops_above(const ResolvedNest& view, std::size_t line) {
    return static_cast<int>(std::count_if(view.loops.begin(), view.loops.end(),
                                          [&](const LoopLevel& w) { return w.line < static_cast<int>(line); }));
  }

  static bool split_over_instances(const ResolvedNest& view, int loops, int dim) {
    return std::any_of(view.loops.begin(), view.loops.begin() + loops,
                       [&](const LoopLevel& w) { return w.dim == dim && w.combine.valid(); });
  }

  /// Why the tiles at the two lines differ, or the producer's is incomplete there.
  std::optional<Diagnostic> tile_mismatch(const ResolvedNest& own, std::size_t line, const ResolvedNest& theirs,
                                          std::size_t their_line) const {
    const Computation& producer = own.statement;
    const std::string& name = theirs.statement.name;
    const Tensor& tensor = kernel_.tensors[producer.write.tensor.index()];
    if (own.model->find_memory(std::get<Stage>(schedule_.nests[own.id.index()].lines[line].is).memory) ==
        std::optional(own.model->home()))
      for (const Line& l : schedule_.nests[own.id.index()].lines)
        if (const auto* s = std::get_if<Stage>(&l.is); s && s->tensor == tensor.name && s->ahead_of_time)
          return error("then: it is packed ahead of time");
    const WrittenElements written = written_elements(kernel_.statements[own.id.index()], tensor);
    if (!written.all || !written.once)
      return error(fmt::format("then {}: tiles of {} share elements or leave some out", name, tensor.name));
    const int loops = loops_above(own, line), their_loops = loops_above(theirs, their_line);
    const std::vector<std::int64_t> tiles = own.tiles(loops), their_tiles = theirs.tiles(their_loops);
    for (std::size_t d = 0; d < producer.domain.dims.size(); ++d)
      if (const Dim& dim = producer.domain.dims[d]; dim.kind == DimKind::reduction && tiles[d] < dim.extent)
        return error(fmt::format("then {}: {} is not complete here: {} of {} points of {} are added up", name,
                                 tensor.name, tiles[d], dim.extent, dim.name),
                     split_over_instances(own, loops, static_cast<int>(d))
                         ? fmt::format("its partial sums are complete after all instances: leave it out, and {} "
                                       "follows as a nest of its own",
                                       name)
                         : fmt::format("write it at a stage above the loop of {}", dim.name));
    std::vector<bool> matched_there(theirs.statement.domain.dims.size(), false);
    std::map<std::string, std::string> first_match;  // of the producer's dims
    for (const Access& read : theirs.statement.reads) {
      if (read.tensor != producer.write.tensor) continue;
      const auto matched = matched_dims(producer.write, read);
      if (!matched)
        return error(fmt::format("then {}: an index of {} is no plain dim on both sides", name, tensor.name),
                     "fusion needs plain dims: those fused for an instruction are not");
      for (const auto& [dim, other] : *matched) {
        const auto d = static_cast<std::size_t>(producer.domain.find(dim));
        if (!other.as_dim()) {
          if (tiles[d] == producer.domain.dims[d].extent) continue;
          return error(fmt::format("then {}: it needs all of {}; the tile has {} of {} points", name, dim, tiles[d],
                                   producer.domain.dims[d].extent));
        }
        const auto o = static_cast<std::size_t>(theirs.statement.domain.find(*other.as_dim()));
        matched_there[o] = true;
        const std::string& before = first_match.emplace(dim, *other.as_dim()).first->second;
        if (before != *other.as_dim() && tiles[d] < producer.domain.dims[d].extent)  // T[i] * T[j]
          return error(fmt::format("then {}: it reads {} at {} and at {}; the tile has {} of {} points of {}", name,
                                   tensor.name, before, *other.as_dim(), tiles[d], producer.domain.dims[d].extent, dim),
                       "use tiles with all of " + dim);
        if (theirs.statement.domain.dims[o].extent != producer.domain.dims[d].extent)
          return error(fmt::format("then {}: its {} has {} points, {} has {}", name,
                                   theirs.statement.domain.dims[o].name, theirs.statement.domain.dims[o].extent, dim,
                                   producer.domain.dims[d].extent));
        if (tiles[d] != their_tiles[o])
          return error(fmt::format("then {}: the tile here has {} points of {}; that of the nest of {} has {} of {}",
                                   name, tiles[d], dim, name, their_tiles[o], theirs.statement.domain.dims[o].name),
                       "both nests need the same tile at their stages");
      }
    }
    const std::vector<Dim>& dims = theirs.statement.domain.dims;
    for (std::size_t d = 0; d < dims.size(); ++d)
      if (dims[d].kind == DimKind::reduction && their_tiles[d] < dims[d].extent)
        return error(fmt::format("then {}: it adds up {}, and the tile has {} of its {} points", name, dims[d].name,
                                 their_tiles[d], dims[d].extent),
                     fmt::format("use tiles with all of {}", dims[d].name));
    for (int w = 0; w < their_loops; ++w)
      if (const auto d = static_cast<std::size_t>(theirs.loops[static_cast<std::size_t>(w)].dim); !matched_there[d])
        return error(fmt::format("then {}: its nest loops over {} above the tile, and {} has no such dim", name,
                                 theirs.statement.domain.dims[d].name, tensor.name),
                     "loop over it below");
    return std::nullopt;
  }

  const Schedule& schedule_;
  const Kernel& kernel_;
  const HardwareModel& model_;
  Diagnostics problems_;
  std::vector<TileFusion> found_;
};

}  // namespace

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

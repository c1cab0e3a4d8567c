// SPDX-License-Identifier: Apache-2.0
#include "scheduler/nest/fusion_chains.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "scheduler/nest/matched_dims.h"

namespace isamap {
namespace {

class Chains {
 public:
  Chains(const Schedule& schedule, const Kernel& kernel, const std::vector<TileFusion>& found, const TileFusion& next)
      : schedule_(schedule),
        kernel_(kernel),
        found_(found),
        to_(next.to.index()),
        path_(path_to(next.from.index())),
        dims_(dims_behind(path_.back(), to_)) {
    for (std::size_t p = 0; p < path_.size(); ++p)
      add_tiled_dims(path_[p], p + 1 < path_.size() ? fusion_into(path_[p + 1])->from_line : next.from_line);
  }

  std::optional<Diagnostic> problem() const {
    const std::size_t first = path_.front();
    for (std::size_t s = first; s < to_; ++s) {
      if (s == path_.back()) continue;  // compared tile by tile
      const std::vector<std::size_t> path = path_to(s);
      if (path.front() == first) {
        if (auto no = problem_within(s, path)) return no;
      } else if (path.front() > first && depends_on(s)) {
        return error(fmt::format("then {}: it is computed with the tiles of {}, before {}, which {} {}", name(to_),
                                 name(first), name(s), reads(consumer(), written(s)) ? "writes" : "accesses",
                                 tensor(reads(consumer(), written(s)) ? written(s) : written(to_))),
                     "leave it out");
      }
    }
    return std::nullopt;
  }

 private:
  /// Dims of a statement, each with the statement of its chain that begins it, and its name there.
  using ChainDim = std::pair<std::size_t, std::string>;
  using DimsOfChain = std::map<std::string, ChainDim>;

  const Computation& consumer() const { return kernel_.statements[to_]; }
  const std::string& name(std::size_t s) const { return kernel_.statements[s].name; }
  TensorId written(std::size_t s) const { return kernel_.statements[s].write.tensor; }
  const std::string& tensor(TensorId id) const { return kernel_.tensors[id.index()].name; }

  bool depends_on(std::size_t s) const {
    return reads(consumer(), written(s)) || reads(kernel_.statements[s], written(to_)) || written(s) == written(to_);
  }

  /// The fusion that computes a statement with the tiles of another.
  const TileFusion* fusion_into(std::size_t s) const {
    const auto into = std::find_if(found_.begin(), found_.end(),
                                   [&](const TileFusion& one) { return one.to.index() == s && !one.whole; });
    return into == found_.end() ? nullptr : &*into;
  }

  /// From the first statement of its chain to the statement.
  std::vector<std::size_t> path_to(std::size_t s) const {
    std::vector<std::size_t> path{s};
    while (const TileFusion* into = fusion_into(path.back())) path.push_back(into->from.index());
    std::reverse(path.begin(), path.end());
    return path;
  }

  DimsOfChain dims_of(std::size_t s) const {
    const TileFusion* into = fusion_into(s);
    return into == nullptr ? own_dims(s) : dims_behind(into->from.index(), s);
  }

  DimsOfChain own_dims(std::size_t s) const {
    DimsOfChain dims;
    for (const Dim& dim : kernel_.statements[s].domain.dims) dims[dim.name] = {s, dim.name};
    return dims;
  }

  /// Of a statement that reads tiles of a producer.
  DimsOfChain dims_behind(std::size_t producer, std::size_t s) const {
    const DimsOfChain of_producer = dims_of(producer);
    DimsOfChain dims = own_dims(s);
    for (const Access& read : kernel_.statements[s].reads) {
      if (read.tensor != written(producer)) continue;
      for (const auto& [own, theirs] : matched_dims(kernel_.statements[producer].write, read).value_or(MatchedDims{}))
        if (const auto dim = theirs.as_dim(); dim && dims.at(*dim).first == s) dims[*dim] = of_producer.at(own);
    }
    return dims;
  }

  /// Dims over which the nest of a statement of the chain loops above the line where the chain continues.
  void add_tiled_dims(std::size_t s, std::size_t end) {
    const IterationDomain& domain = kernel_.statements[s].domain;
    for (std::size_t l = 0; l < end; ++l) {
      const auto* line = std::get_if<For>(&schedule_.nests[s].lines[l].is);
      for (const TiledLoop& loop : line == nullptr ? std::vector<TiledLoop>{} : line->loops) {
        if (const int d = domain.find(loop.dim); d >= 0 && loop.tile >= domain.dims[static_cast<std::size_t>(d)].extent)
          continue;
        for (const auto& [dim, of_chain] : dims_of(s))
          if (fmt::format(".{}.", loop.dim).find(fmt::format(".{}.", dim)) != std::string::npos)  // "p.q": both, fused
            tiled_.insert(of_chain);
      }
    }
  }

  /// Against another statement of the chain.
  std::optional<Diagnostic> problem_within(std::size_t s, const std::vector<std::size_t>& path) const {
    if (reads(kernel_.statements[s], written(to_)) || written(s) == written(to_))
      return error(fmt::format("then {}: {} accesses {}, which it overwrites tile by tile", name(to_), name(s),
                               tensor(written(to_))),
                   "leave it out");
    if (!reads(consumer(), written(s))) return std::nullopt;
    if (!is_before(path))
      return error(fmt::format("then {}: it reads {}, which {} writes later in the tile", name(to_), tensor(written(s)),
                               name(s)),
                   fmt::format("name it after the statements that lead to {}", name(s)));
    for (const Access& read : consumer().reads)
      if (read.tensor == written(s) && !stays_in_tile(s, read))
        return error(fmt::format("then {}: it reads elements of {} that belong to other tiles than that of {}",
                                 name(to_), tensor(written(s)), tensor(written(path_.back()))),
                     "leave it out");
    return std::nullopt;
  }

  /// Is the last statement of this path computed before the consumer's, in each tile they share?
  bool is_before(const std::vector<std::size_t>& path) const {
    const auto [own, theirs] = std::mismatch(path_.begin(), path_.end(), path.begin(), path.end());
    if (theirs == path.end()) return true;
    if (own == path_.end()) return false;
    const TileFusion &one = *fusion_into(*theirs), &other = *fusion_into(*own);
    const auto& stage = std::get<Stage>(schedule_.nests[one.from.index()].lines[one.from_line].is);
    const auto place_of = [&](std::size_t s) { return std::find(stage.then.begin(), stage.then.end(), name(s)); };
    return one.from_line == other.from_line && place_of(*theirs) < place_of(*own);
  }

  /// Does the consumer read only what the statement writes for the same place in the tiled dims of the chain?
  bool stays_in_tile(std::size_t s, const Access& read) const {
    const Access& write = kernel_.statements[s].write;
    const DimsOfChain of_writer = dims_of(s);
    for (std::size_t axis = 0; axis < write.index.size(); ++axis) {
      const auto names = write.index[axis].names();
      const bool whole = std::none_of(names.begin(), names.end(),
                                      [&](const std::string& dim) { return tiled_.contains(of_writer.at(dim)); });
      if (whole) continue;
      const auto own = write.index[axis].as_dim(), other = read.index[axis].as_dim();
      const bool computed = read.computed && read.computed->axis == static_cast<int>(axis);
      if (!own || !other || computed || dims_.at(*other) != of_writer.at(*own)) return false;
    }
    return true;
  }

  const Schedule& schedule_;
  const Kernel& kernel_;
  const std::vector<TileFusion>& found_;
  std::size_t to_;
  std::vector<std::size_t> path_;  ///< of the producer
  DimsOfChain dims_;               ///< of the consumer
  std::set<ChainDim> tiled_;       ///< dims of which the innermost tile of the chain has a part only
};

}  // namespace

std::optional<Diagnostic> chain_problem(const Schedule& schedule, const Kernel& kernel,
                                        const std::vector<TileFusion>& found, const TileFusion& next) {
  return Chains(schedule, kernel, found, next).problem();
}

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The definition of the access model: a counter that executes a nest step by step.

#include <functional>
#include <map>
#include <set>

#include "scheduler/cost/traffic.h"

namespace isamap::testing_support {

using Element = std::vector<std::int64_t>;
using Elements = std::set<Element>;

struct Counted {
  double reads = 0, fills = 0, updates = 0;
  bool operator==(const Counted&) const = default;
};
using Key = std::pair<MemoryId, TensorId>;

/// Executes the definition: a buffer is refilled when the positions of the loops above it that its tensor uses change.
class Counter {
 public:
  explicit Counter(const ResolvedNest& view) : view_(view), position_(view.loops.size(), 0) {
    for (const Dim& d : view.statement.domain.dims) {
      begin_.push_back(0);
      extent_.push_back(d.extent);
    }
  }

  std::map<Key, Counted> run() {
    loop(0);
    for (int a = 0; a < access_count(view_.statement); ++a)
      for (const auto& [place, sizes] : shared_) {
        const auto& [access, child, parent, instance, step, tile] = place;
        if (access != a) continue;
        Counted& c = counts_[key(a, parent)];
        if (a == 0) c.updates += sizes.first;
        c.reads += a == 0 ? 0 : sizes.second;
      }
    for (auto& [place, seen] : first_) {  // outputs: reads are updates of what stood there before
      Counted& c = counts_[key(0, place.first)];
      c.reads -= static_cast<double>(seen.size());
    }
    for (auto& [k, c] : counts_)
      if (k.second == view_.statement.write.tensor) c.reads += c.updates;
    return counts_;
  }

 private:
  Key key(int access, int stage) const { return {view_.memory_of(stage), access_of(view_.statement, access).tensor}; }

  void loop(std::size_t w) {
    for (std::size_t s = 0; s < view_.stages.size(); ++s)
      if (view_.stages[s].loops == static_cast<int>(w)) visit(static_cast<int>(s));
    if (w == view_.loops.size()) return call();
    const auto d = static_cast<std::size_t>(view_.loops[w].dim);
    const std::int64_t begin = begin_[d], extent = extent_[d], tile = view_.loops[w].tile;
    for (position_[w] = 0; position_[w] * tile < extent; ++position_[w]) {
      begin_[d] = begin + position_[w] * tile;
      extent_[d] = std::min(tile, extent - position_[w] * tile);
      loop(w + 1);
    }
    position_[w] = 0;
    begin_[d] = begin;
    extent_[d] = extent;
  }

  /// Elements of the tile of subscripts that share dims, A[i,i+j]: what its points touch.
  void touch(const Access& access, std::size_t d, Bindings& point, Elements& into) const {
    if (d == begin_.size()) {
      Element e;
      for (const AffineExpr& subscript : access.index) e.push_back(evaluate(subscript, point));
      into.insert(std::move(e));
      return;
    }
    const std::string& name = view_.statement.domain.dims[d].name;
    const std::int64_t extent = uses(access, name) ? extent_[d] : 1;
    for (std::int64_t i = 0; i < extent; ++i) {
      point[name] = begin_[d] + i;
      touch(access, d + 1, point, into);
    }
  }

  static bool share_dims(const Access& access) {
    std::set<std::string> seen;
    for (const AffineExpr& subscript : access.index)
      for (const std::string& name : subscript.names())
        if (!seen.insert(name).second) return true;
    return false;
  }

  /// A tile is a box: along a subscript everything between its first and its last element (strides leave no holes).
  /// What a call reads has holes.
  Elements elements(int access, bool call = false) const {
    Elements result;
    if (Bindings point; share_dims(access_of(view_.statement, access)) || (call && access > 0)) {
      touch(access_of(view_.statement, access), 0, point, result);
      return result;
    }
    const auto& index = access_of(view_.statement, access).index;
    Bindings first, last;
    for (std::size_t d = 0; d < begin_.size(); ++d) {
      const std::string& name = view_.statement.domain.dims[d].name;
      first[name] = begin_[d];
      last[name] = begin_[d] + extent_[d] - 1;
    }
    Element e(index.size());
    const std::function<void(std::size_t)> go = [&](std::size_t i) {
      if (i == index.size()) {
        result.insert(e);
        return;
      }
      for (e[i] = evaluate(index[i], first); e[i] <= evaluate(index[i], last);) {
        const std::int64_t now = e[i];
        go(i + 1);
        e[i] = now + 1;
      }
    };
    go(0);
    return result;
  }

  /// Positions of loops above `loops`: on units (the instance) or in time; only those that the access uses, or all.
  std::vector<std::int64_t> positions(int loops, bool units, int access) const {
    std::vector<std::int64_t> result;
    for (int w = 0; w < loops; ++w) {
      const LoopLevel& loop = view_.loops[static_cast<std::size_t>(w)];
      if (loop.unit.valid() != units) continue;
      const bool used = access < 0 || uses(access_of(view_.statement, access),
                                           view_.statement.domain.dims[static_cast<std::size_t>(loop.dim)].name);
      result.push_back(used ? position_[static_cast<std::size_t>(w)] : -1);
    }
    return result;
  }

  int loops_of(int stage) const { return stage < 0 ? 0 : view_.stages[static_cast<std::size_t>(stage)].loops; }

  /// Moved between a stage (-1: a call) and its parent; instances that move the same tile at the same step share it.
  void move(int access, int child, int parent, double size, const Element& name) {
    const int loops = child < 0 ? static_cast<int>(view_.loops.size()) : loops_of(child);
    const auto place =
        std::tuple(access, child, parent, positions(loops_of(parent), true, -1), positions(loops, false, -1), name);
    shared_[place] = {size, size};
    if (access == 0)
      for (const Element& e : elements(0)) first_[{parent, positions(loops_of(parent), true, -1)}].insert(e);
  }

  void visit(int s) {
    const StagedTile& stage = view_.stages[static_cast<std::size_t>(s)];
    const auto instance = std::pair(s, positions(stage.loops, true, -1));
    const Element name = positions(stage.loops, false, stage.access);
    const Elements now = elements(stage.access);
    auto& held = held_[instance];
    if (held.valid && held.name == name) return;
    const double size =
        stage.stage.slide ? fresh(stage, held.valid ? &held : nullptr, name, now) : static_cast<double>(now.size());
    Element tile = name;
    for (std::int64_t p : positions(stage.loops, true, stage.access)) tile.push_back(p);
    move(stage.access, s, stage.parent, size, tile);
    Counted& own = counts_[key(stage.access, s)];
    if (stage.access != 0)
      own.fills += size;
    else
      for (const Element& e : now) own.fills += seen_[instance].insert(e).second ? 0 : 1;
    held = {true, name, now};
  }

  struct Held {
    bool valid = false;
    Element name;
    Elements elements;
  };

  /// One loop of a window advanced by one step and nothing else changed: only what is new.
  double fresh(const StagedTile& stage, const Held* before, const Element& name, const Elements& now) const {
    const auto whole = static_cast<double>(now.size());
    if (!before) return whole;
    int changed = 0, at = -1, time = 0;
    for (int w = 0; w < stage.loops; ++w) {
      if (view_.loops[static_cast<std::size_t>(w)].unit.valid()) continue;
      const auto t = static_cast<std::size_t>(time++);
      if (name[t] == before->name[t]) continue;
      if (name[t] != before->name[t] + 1) return whole;  // back to its first step: no loop of the window
      ++changed;
      at = w;
    }
    if (changed != 1) return whole;
    const std::string& dim =
        view_.statement.domain.dims[static_cast<std::size_t>(view_.loops[static_cast<std::size_t>(at)].dim)].name;
    for (const AffineExpr& e : access_of(view_.statement, stage.access).index)
      if (e.names().contains(dim) && e.names().size() < 2) return whole;
    double count = 0;
    for (const Element& e : now) count += before->elements.contains(e) ? 0 : 1;
    return count;
  }

  void call() {
    for (int a = 0; a < access_count(view_.statement); ++a) {
      Element tile;
      for (std::int64_t p : positions(static_cast<int>(view_.loops.size()), true, a)) tile.push_back(p);
      move(a, -1, view_.innermost[static_cast<std::size_t>(a)], static_cast<double>(elements(a, true).size()), tile);
    }
  }

  const ResolvedNest& view_;
  std::vector<std::int64_t> position_, begin_, extent_;
  std::map<std::pair<int, std::vector<std::int64_t>>, Held> held_;
  std::map<std::pair<int, std::vector<std::int64_t>>, Elements> seen_, first_;
  std::map<std::tuple<int, int, int, std::vector<std::int64_t>, std::vector<std::int64_t>, Element>,
           std::pair<double, double>>
      shared_;
  std::map<Key, Counted> counts_;
};

}  // namespace isamap::testing_support

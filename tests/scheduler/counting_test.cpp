// The closed form against a counter that executes the nest step by step, on random nests with tails, units and windows.

#include <map>
#include <set>

#include "scheduler/traffic.h"
#include "support/arithmetic.h"
#include "support/random.h"
#include "tests/scheduler/support.h"

namespace isamap {
namespace {

using testing_support::formula;
using testing_support::kernel_yaml;
using testing_support::machine;

using Element = std::vector<std::int64_t>;
using Elements = std::set<Element>;

struct Counted {
  double reads = 0, fills = 0, updates = 0;
  bool operator==(const Counted&) const = default;
};
using Key = std::pair<MemoryId, TensorId>;

/// Executes the definition: a buffer is refilled when the positions of the walks above it that its tensor uses change.
class Counter {
 public:
  explicit Counter(const NestView& view) : view_(view), position_(view.walks.size(), 0) {
    for (const Dim& d : view.statement.domain.dims) {
      begin_.push_back(0);
      extent_.push_back(d.extent);
    }
  }

  std::map<Key, Counted> run() {
    walk(0);
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

  void walk(std::size_t w) {
    for (std::size_t s = 0; s < view_.stages.size(); ++s)
      if (view_.stages[s].walks == static_cast<int>(w)) visit(static_cast<int>(s));
    if (w == view_.walks.size()) return call();
    const auto d = static_cast<std::size_t>(view_.walks[w].dim);
    const std::int64_t begin = begin_[d], extent = extent_[d], tile = view_.walks[w].tile;
    for (position_[w] = 0; position_[w] * tile < extent; ++position_[w]) {
      begin_[d] = begin + position_[w] * tile;
      extent_[d] = std::min(tile, extent - position_[w] * tile);
      walk(w + 1);
    }
    position_[w] = 0;
    begin_[d] = begin;
    extent_[d] = extent;
  }

  Elements elements(int access) const {
    Elements result;
    Bindings at;
    const auto& dims = view_.statement.domain.dims;
    const std::function<void(std::size_t)> go = [&](std::size_t d) {
      if (d == dims.size()) {
        Element e;
        for (const AffineExpr& index : access_of(view_.statement, access).index) e.push_back(evaluate(index, at));
        result.insert(e);
        return;
      }
      const bool used = uses(access_of(view_.statement, access), dims[d].name);
      for (std::int64_t i = 0; i < (used ? extent_[d] : 1); ++i) {
        at[dims[d].name] = begin_[d] + i;
        go(d + 1);
      }
    };
    go(0);
    return result;
  }

  /// Positions of walks above `walks`: on units (the instance) or in time; only those that the access uses, or all.
  std::vector<std::int64_t> positions(int walks, bool units, int access) const {
    std::vector<std::int64_t> result;
    for (int w = 0; w < walks; ++w) {
      const WalkView& walk = view_.walks[static_cast<std::size_t>(w)];
      if (walk.unit.valid() != units) continue;
      const bool used = access < 0 || uses(access_of(view_.statement, access),
                                           view_.statement.domain.dims[static_cast<std::size_t>(walk.dim)].name);
      result.push_back(used ? position_[static_cast<std::size_t>(w)] : -1);
    }
    return result;
  }

  int walks_of(int stage) const { return stage < 0 ? 0 : view_.stages[static_cast<std::size_t>(stage)].walks; }

  /// Moved between a stage (-1: a call) and its parent; instances that move the same tile at the same step share it.
  void move(int access, int child, int parent, double size, const Element& name) {
    const int walks = child < 0 ? static_cast<int>(view_.walks.size()) : walks_of(child);
    const auto place =
        std::tuple(access, child, parent, positions(walks_of(parent), true, -1), positions(walks, false, -1), name);
    shared_[place] = {size, size};
    if (access == 0)
      for (const Element& e : elements(0)) first_[{parent, positions(walks_of(parent), true, -1)}].insert(e);
  }

  void visit(int s) {
    const StageView& stage = view_.stages[static_cast<std::size_t>(s)];
    const auto instance = std::pair(s, positions(stage.walks, true, -1));
    const Element name = positions(stage.walks, false, stage.access);
    const Elements now = elements(stage.access);
    auto& held = held_[instance];
    if (held.valid && held.name == name) return;
    const double size =
        stage.stage.slide ? fresh(stage, held.valid ? &held : nullptr, name, now) : static_cast<double>(now.size());
    Element tile = name;
    for (std::int64_t p : positions(stage.walks, true, stage.access)) tile.push_back(p);
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

  /// One walk of a window advanced by one step and nothing else changed: only what is new.
  double fresh(const StageView& stage, const Held* before, const Element& name, const Elements& now) const {
    const auto whole = static_cast<double>(now.size());
    if (!before) return whole;
    int changed = 0, at = -1, time = 0;
    for (int w = 0; w < stage.walks; ++w) {
      if (view_.walks[static_cast<std::size_t>(w)].unit.valid()) continue;
      const auto t = static_cast<std::size_t>(time++);
      if (name[t] == before->name[t]) continue;
      ++changed;
      at = w;
    }
    if (changed != 1) return whole;
    const std::string& dim =
        view_.statement.domain.dims[static_cast<std::size_t>(view_.walks[static_cast<std::size_t>(at)].dim)].name;
    for (const AffineExpr& e : access_of(view_.statement, stage.access).index)
      if (e.names().contains(dim) && e.names().size() < 2) return whole;
    double count = 0;
    for (const Element& e : now) count += before->elements.contains(e) ? 0 : 1;
    return count;
  }

  void call() {
    for (int a = 0; a < access_count(view_.statement); ++a) {
      Element tile;
      for (std::int64_t p : positions(static_cast<int>(view_.walks.size()), true, a)) tile.push_back(p);
      move(a, -1, view_.innermost[static_cast<std::size_t>(a)], static_cast<double>(elements(a).size()), tile);
    }
  }

  const NestView& view_;
  std::vector<std::int64_t> position_, begin_, extent_;
  std::map<std::pair<int, std::vector<std::int64_t>>, Held> held_;
  std::map<std::pair<int, std::vector<std::int64_t>>, Elements> seen_, first_;
  std::map<std::tuple<int, int, int, std::vector<std::int64_t>, std::vector<std::int64_t>, Element>,
           std::pair<double, double>>
      shared_;
  std::map<Key, Counted> counts_;
};

/// A nest that the check architecture accepts: walks in any order, some on the mesh, stages anywhere between.
std::vector<std::string> random_nest(Random& random, const Computation& statement,
                                     const std::vector<std::string>& tensors, bool slide) {
  std::vector<std::string> lines;
  std::map<std::string, std::int64_t> tile;
  for (const Dim& d : statement.domain.dims) tile[d.name] = d.extent;
  const auto walk = [&](const std::string& unit) {
    // A window that slides is dealt out to units in no defined way: only dim c is.
    const auto last = static_cast<std::int64_t>(statement.domain.dims.size()) - 1;
    const Dim& d =
        statement.domain.dims[static_cast<std::size_t>(slide && !unit.empty() ? 1 : random.between(0, last))];
    std::int64_t t = random.between(1, tile[d.name]);
    if (!unit.empty() && ceil_div(tile[d.name], t) > 4) t = ceil_div(tile[d.name], 4);
    tile[d.name] = t;
    lines.push_back("for " + d.name + " by " + std::to_string(t) + (unit.empty() ? "" : " on " + unit));
  };
  const auto stage = [&](const std::string& memory, bool always) {
    for (const std::string& t : tensors) {
      if (!always && random.between(0, 3) == 0) continue;
      lines.push_back("stage " + t + " in " + memory + (slide ? " slide" : ""));
      if (random.between(0, 2) == 0) walk("");
    }
  };
  for (std::int64_t i = random.between(0, 2); i > 0; --i) walk("");
  stage("GLB", false);
  for (std::int64_t i = random.between(0, 2); i > 0; --i) walk("");
  if (random.between(0, 2) > 0) walk("mac.x");
  if (random.between(0, 2) > 0) walk("mac.y");
  stage("RF", true);
  for (const Dim& d : statement.domain.dims)
    if (tile[d.name] > 1) lines.push_back("for " + d.name + " by 1");
  lines.push_back("do s0 with mac()");
  return lines;
}

void compare_on(const Kernel& kernel, std::uint64_t seed, bool slide) {
  const HardwareModel model = machine("a1");
  Random random(seed);
  std::vector<std::string> tensors;
  for (const Tensor& t : kernel.tensors) tensors.push_back(t.name);
  for (int round = 0; round < 150; ++round) {
    Nest nest;
    std::string text;
    for (const std::string& line : random_nest(random, kernel.statements[0], tensors, slide)) {
      auto parsed = parse_line(line);
      ASSERT_TRUE(parsed) << line;
      nest.lines.push_back(*parsed);
      text += line + "\n";
    }
    auto view = resolve(nest, kernel, make_id<StatementId>(0), model);
    ASSERT_TRUE(view) << text << render(view.diagnostics());
    const TileCounts counts(*view);
    const Traffic traffic = traffic_of(*view, counts);
    const auto expected = Counter(*view).run();
    for (const auto& [k, e] : expected) {
      const Totals& t = traffic.memories.at(k.first).at(k.second);
      ASSERT_EQ((Counted{t.reads, t.fills, t.updates}), e)
          << "seed " << seed << " round " << round << "\n"
          << text << model.memory(k.first).name << " " << kernel.tensors[k.second.index()].name << ": closed form "
          << t.reads << " " << t.fills << " " << t.updates << ", counter " << e.reads << " " << e.fills << " "
          << e.updates;
    }
  }
}

TEST(Counting, ClosedFormEqualsExecution) {
  for (std::uint64_t seed : {1, 2, 3})
    compare_on(formula("Z[m,n] += A[m,k] * B[k,n]", "m=7,n=5,k=6", "A=s16,B=s16,Z=s16"), seed, false);
}

TEST(Counting, WindowsThatSlide) {
  compare_on(kernel_yaml(R"(kernel: conv
dims: {P: 8, R: 3, C: 4}
tensors:
  I: {shape: [C, P + R - 1], dtype: s16}
  F: {shape: [C, R], dtype: s16}
  O: {shape: [P], dtype: s16}
compute:
  - O[p] += I[c,p+r] * F[c,r]
)"),
             2, true);
}

}  // namespace
}  // namespace isamap

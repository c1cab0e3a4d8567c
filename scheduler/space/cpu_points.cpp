// SPDX-License-Identifier: Apache-2.0
// Points of the normal form (docs/schedule.md): starting points and neighbourhoods of a search.

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <span>

#include "isamap/interpret.h"
#include "isamap/search.h"
#include "scheduler/nest/operand_compatibility.h"
#include "scheduler/space/cpu_decisions.h"
#include "scheduler/space/mapping_ranking.h"
#include "scheduler/space/register_tiling.h"
#include "scheduler/space/space_template.h"
#include "support/arithmetic.h"

namespace isamap {

namespace {

constexpr std::int64_t long_reduction = 1024;
constexpr std::size_t good_tiles = 12;  ///< candidates of a random change
constexpr double another_tile = 0.15;   ///< share of changes that replace the register tile
constexpr std::size_t other_tiles = 6;  ///< further register tiles among the starts of each promising mapping

class CpuPoints final : public SpaceTemplate {
 public:
  CpuPoints(const Kernel& kernel, StatementId statement, std::vector<Mapping> mappings, const HardwareModel& model,
            const SpaceOptions& options)
      : choices_(kernel, statement, std::move(mappings), model, options) {}
  const std::vector<Decision>& decisions() const override { return choices_.decisions; }
  const std::vector<Mapping>& mappings() const override { return choices_.mappings; }
  Point repair(Point point) const override;
  Point random(std::uint64_t seed) const override;
  std::vector<Point> neighbours(const Point& point) const override;
  Point changed(const Point& point, Random& random) const override;
  std::vector<Point> starts(std::size_t count) const override;
  Result<Nest> build(const Point& point) const override;

 private:
  using RegisterChoices = std::vector<std::pair<std::size_t, int>>;  ///< decisions and their values
  Point start_at(Point point, std::size_t register_tile = 0) const;
  /// Of a repaired point.
  const std::vector<RegisterChoices>& register_tiles(const Point& point) const;
  RegisterChoices register_choices(const PreparedMapping& p, const RegisterTile& steps) const;
  static void set_registers(Point& point, const RegisterChoices& choices);
  Point distributed(Point point) const;
  void share_among_threads(std::vector<Point>& points) const;
  Point two_buffers(Point point) const;
  std::vector<Point> variants(const Point& start) const;
  std::vector<Point> split_reductions(const std::vector<Point>& points) const;
  Point shrink_levels(Point point) const;
  CpuDecisions choices_;
  mutable std::mutex mutex_;
  mutable std::map<std::vector<int>, std::vector<RegisterChoices>> register_tiles_;  ///< by mapping, routes, order
};

Point CpuPoints::repair(Point point) const {
  point.choice.resize(choices_.decisions.size(), 0);
  for (std::size_t i = 0; i < point.choice.size(); ++i)
    point.choice[i] = std::clamp(point.choice[i], 0, static_cast<int>(choices_.decisions[i].labels.size()) - 1);
  if (choices_.mappings.empty()) return point;
  const PreparedMapping& p = choices_.prepare(static_cast<std::size_t>(point.choice[0]));
  for (std::size_t a = 0; a < p.routes.size(); ++a) {  // missing routes become the last one
    int& route = point.choice[choices_.route_at(a)];
    route = std::min(route, std::max(0, static_cast<int>(p.routes[a].routes.size()) - 1));
  }
  return point;
}

std::vector<Point> CpuPoints::neighbours(const Point& point) const {
  std::vector<Point> all;
  const auto add = [&](std::size_t i, int value) {
    Point other = point;
    other.choice[i] = value;
    if (value != point.choice[i] && repair(other) == other) all.push_back(std::move(other));
  };
  for (std::size_t i = 1; i < point.choice.size(); ++i) {  // mappings have no neighbourhood, only starts
    const bool is_number = choices_.decisions[i].ordered();
    if (is_number) {
      add(i, point.choice[i] - 1);
      add(i, point.choice[i] + 1);
    } else {
      for (int value = 0; value < static_cast<int>(choices_.decisions[i].labels.size()); ++value) add(i, value);
    }
  }
  return all;
}

Point CpuPoints::random(std::uint64_t seed) const {
  Random source(seed);
  Point point;
  for (const Decision& d : choices_.decisions)
    point.choice.push_back(static_cast<int>(source.between(0, static_cast<std::int64_t>(d.labels.size()) - 1)));
  return point;
}

// First the constructed start of every promising mapping, then variants, so that variants of the first do not crowd out
// the start of the last. The first mappings with each number of filled dims have starts, whatever their rank: the work
// alone does not tell which of them must pack. The other order of reductions is beside these, for the mappings with the
// least work.
std::vector<Point> CpuPoints::starts(std::size_t count) const {
  std::vector<Point> points;
  std::vector<std::vector<Point>> more;
  std::vector<Point> others, reordered;
  std::map<std::size_t, std::size_t> of_dims;  // mappings with a start, of each number of filled dims
  for (const std::size_t m : ranked_mappings(choices_.unfused(), choices_.mappings, *choices_.model)) {
    std::size_t& alike = of_dims[filled_dims(choices_.mappings[m])];
    if (points.size() >= std::max<std::size_t>(count / 2, 1) && alike >= count / 4) continue;
    const PreparedMapping& p = choices_.prepare(m);
    if (!p.problem.empty()) continue;
    ++alike;
    Point point = repair({});
    point.choice[0] = static_cast<int>(m);
    point = start_at(point);
    points.push_back(point);
    more.push_back(variants(point));
    if (const auto order = choices_.reductions_at(); order && reordered.size() < count / 2) {
      point.choice[*order] = 1;
      reordered.push_back(start_at(point));
      const std::vector<Point> of_it = variants(reordered.back());
      reordered.insert(reordered.end(), of_it.begin(), of_it.end());
      point = points.back();
    }
    for (std::size_t tile = 1; tile <= other_tiles; ++tile) others.push_back(start_at(point, tile));
    if (choices_.chooses_buffers()) more.back().push_back(start_at(two_buffers(point)));
  }
  if (points.empty() && !choices_.mappings.empty()) points.push_back(repair({}));
  const std::vector<Point> constructed = split_reductions(points);
  for (std::size_t m = 0; m < more.size() && points.size() < count; ++m)
    points.insert(points.end(), more[m].begin(), more[m].end());
  points.insert(points.end(), reordered.begin(), reordered.end());
  points.insert(points.end(), constructed.begin(), constructed.end());
  points.insert(points.end(), others.begin(), others.end());
  const std::vector<Point> rest = split_reductions(points);
  for (const Point& point : rest)
    if (points.size() < 2 * count) points.push_back(point);
  share_among_threads(points);
  return points;
}

// Threads share every start but the first: along its outermost dim, otherwise along the largest. What one thread
// computes is one change away.
void CpuPoints::share_among_threads(std::vector<Point>& points) const {
  const CpuDecisions& s = choices_;
  if (s.units.size() != 1 || s.model->unit(s.units.front().id).threads.loop.empty()) return;
  for (std::size_t i = 1; i < points.size(); ++i) {
    Point& point = points[i];
    if (point.choice[s.unit_at(0)] != 0) continue;
    const int outermost = point.choice[s.order_at()];
    if (outermost > 0)
      point.choice[s.unit_at(0)] = outermost;
    else
      point = distributed(std::move(point));
  }
}

// Variants with split long reductions: fewer rows of an input are live, at the cost of partial sums.
std::vector<Point> CpuPoints::split_reductions(const std::vector<Point>& points) const {
  std::vector<Point> made;
  for (std::size_t d = 0; d < choices_.dims; ++d)
    if (const auto cut = choices_.cut_at(d); cut && choices_.unfused().domain.dims[d].extent >= long_reduction)
      for (const Point& point : points)
        for (const int part : {static_cast<int>(cut_steps.size()) - 3, static_cast<int>(cut_steps.size()) - 1}) {
          made.push_back(point);
          made.back().choice[*cut] = part;
        }
  return made;
}

// Variants that need two changes at once: an input in panels, and the loops of its dim outermost, so that a panel stays
// in a cache while it is used.
std::vector<Point> CpuPoints::variants(const Point& start) const {
  std::vector<Point> points;
  const CpuDecisions& s = choices_;
  const PreparedMapping& p = s.prepare(static_cast<std::size_t>(start.choice[0]));
  if (!s.units.empty()) points.push_back(distributed(start));
  if (const auto held = s.held_at())
    for (int form = 1; form < static_cast<int>(s.decisions[*held].labels.size()); ++form) {
      points.push_back(start);
      points.back().choice[*held] = form;
    }
  for (std::size_t d = 0; d < s.dims; ++d) {
    const std::string& dim = p.fused_dims[d];
    const auto outermost = s.outermost(d);
    if (dim.empty() || !outermost || !p.pairing.digit_of.contains(dim)) continue;
    Point order = start;
    order.choice[s.order_at()] = *outermost;
    points.push_back(order);
    for (std::size_t a = 1; a < s.accesses; ++a) {
      if (!uses(access_of(p.statement, static_cast<int>(a)), dim) || p.routes[a].routes.size() < 2) continue;
      Point packed = order;
      packed.choice[s.route_at(a)] = static_cast<int>(std::min(p.routes[a].routes.size(), max_routes)) - 1;
      points.push_back(start_at(packed));
      points.back().choice[s.order_at()] = *outermost;
    }
  }
  return points;
}

// Distributes dims over units: the largest remaining dim for each, outermost unit first.
Point CpuPoints::distributed(Point point) const {
  const CpuDecisions& s = choices_;
  std::vector<double> left;
  for (const Dim& d : s.unfused().domain.dims) left.push_back(static_cast<double>(d.extent));
  for (std::size_t u = 0; u < s.units.size(); ++u) {
    std::size_t best = s.dims;
    for (std::size_t d = 0; d < s.dims; ++d)
      if (s.outermost(d) && left[d] > 1 && (best == s.dims || left[d] > left[best])) best = d;
    if (best == s.dims) break;
    point.choice[s.unit_at(u)] = *s.outermost(best);
    left[best] /= static_cast<double>(std::max<std::int64_t>(s.units[u].count, 2));
  }
  return point;
}

Point CpuPoints::two_buffers(Point point) const {
  for (std::size_t level = 0; level < choices_.levels; ++level) point.choice[choices_.buffers_at(level)] = 1;
  return point;
}

// A good register tile for the ports of the machine, by rank; level tiles as large as fits together.
Point CpuPoints::start_at(Point point, std::size_t register_tile) const {
  const CpuDecisions& s = choices_;
  const PreparedMapping& p = s.prepare(static_cast<std::size_t>(point.choice[0]));
  const auto& tiles = register_tiles(point);
  if (!tiles.empty()) set_registers(point, tiles[std::min(register_tile, tiles.size() - 1)]);
  for (std::size_t d = 0; d < s.dims; ++d)
    for (std::size_t level = 0; level < s.levels; ++level)
      point.choice[s.level_at(level, d)] = p.fused_dims[d].empty() ? 0 : static_cast<int>(level_steps.size()) - 1;
  return shrink_levels(repair(std::move(point)));
}

const std::vector<CpuPoints::RegisterChoices>& CpuPoints::register_tiles(const Point& point) const {
  const std::span first(point.choice.data(), 1 + choices_.accesses);  // mapping and routes come first
  const auto order = choices_.reductions_at();
  std::vector<int> key(first.begin(), first.end());
  if (order) key.push_back(point.choice[*order]);
  const std::lock_guard lock(mutex_);
  const auto known = register_tiles_.find(key);
  if (known != register_tiles_.end()) return known->second;
  std::vector<RegisterChoices>& made = register_tiles_[key];
  const PreparedMapping& p = choices_.prepare(static_cast<std::size_t>(point.choice[0]));
  if (!p.problem.empty()) return made;
  Point plain = repair({});
  std::copy(first.begin(), first.end(), plain.choice.begin());
  if (order) plain.choice[*order] = key.back();
  for (const RegisterTile& tile : good_register_tiles(choices_.form_of(p, plain), register_steps, good_tiles))
    made.push_back(register_choices(p, tile));
  return made;
}

CpuPoints::RegisterChoices CpuPoints::register_choices(const PreparedMapping& p, const RegisterTile& steps) const {
  RegisterChoices choices;
  for (std::size_t d = 0; d < choices_.dims; ++d) {
    const auto it = steps.find(p.fused_dims[d]);
    if (it == steps.end()) continue;
    const auto above = std::upper_bound(register_steps.begin(), register_steps.end(), it->second);
    choices.emplace_back(choices_.register_at(d), static_cast<int>(above - register_steps.begin()) - 1);
  }
  return choices;
}

void CpuPoints::set_registers(Point& point, const RegisterChoices& choices) {
  for (const auto& [decision, choice] : choices) point.choice[decision] = choice;
}

// Register tiles also change as a whole: single changes lead through worse tiles.
Point CpuPoints::changed(const Point& point, Random& random) const {
  if (choices_.mappings.empty() || random.unit() >= another_tile)
    return changed_choice(choices_.decisions, point, random);
  Point other = repair(point);
  const auto& tiles = register_tiles(other);
  if (tiles.empty()) return changed_choice(choices_.decisions, point, random);
  set_registers(other, tiles[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(tiles.size()) - 1))]);
  return repair(std::move(other));
}

// Shrinks the largest tile until the tiles of every level fit their memories.
Point CpuPoints::shrink_levels(Point point) const {
  const CpuDecisions& s = choices_;
  const PreparedMapping& p = s.prepare(static_cast<std::size_t>(point.choice[0]));
  for (int round = 0; round < 200; ++round) {
    const CpuTemplate form = s.form_of(p, point);
    const auto level = level_over_capacity(form);
    if (!level) break;
    const std::size_t l = std::min(*level, s.levels - 1);
    std::size_t largest = s.dims;
    std::int64_t most = 1;
    for (std::size_t d = 0; d < s.dims; ++d) {
      const std::string& dim = p.fused_dims[d];
      if (dim.empty()) continue;
      const std::int64_t steps = form.tiles[*level].at(dim) / step_of(form, dim);
      if (steps > most) most = steps, largest = d;
    }
    if (largest == s.dims) break;
    int& choice = point.choice[s.level_at(l, largest)];
    do --choice;
    while (choice > 0 && level_steps[static_cast<std::size_t>(choice)] >= most);
    for (std::size_t inner = l + 1; inner < s.levels; ++inner)
      point.choice[s.level_at(inner, largest)] = std::min(point.choice[s.level_at(inner, largest)], choice);
  }
  return point;
}

Result<Nest> CpuPoints::build(const Point& point) const {
  const PreparedMapping& p = choices_.prepare(static_cast<std::size_t>(point.choice[0]));
  if (!p.problem.empty()) {
    Diagnostic d = error(p.problem);
    d.notes = p.notes;
    return d;
  }
  const CpuTemplate form = choices_.form_of(p, point);
  if (auto problem = register_problem(form)) return *problem;
  return build_nest(form);
}

}  // namespace

std::unique_ptr<SpaceTemplate> cpu_points(const Kernel& kernel, StatementId statement, std::vector<Mapping> mappings,
                                          const HardwareModel& model, const SpaceOptions& options) {
  return std::make_unique<CpuPoints>(kernel, statement, std::move(mappings), model, options);
}

}  // namespace isamap

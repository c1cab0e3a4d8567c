// Points of the normal form of docs/schedule.md, for any machine.
//
// Decisions have the same names and order for every mapping, so that a point stays meaningful when its mapping changes;
// what does not exist for a mapping (a second digit, a memory level) is read as its first value.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>

#include "scheduler/build_nest.h"
#include "scheduler/operand_check.h"
#include "scheduler/point_form.h"
#include "scheduler/promising_mappings.h"
#include "scheduler/register_tile.h"
#include "scheduler/search_space.h"
#include "support/arithmetic.h"
#include "support/random.h"

namespace isamap {

namespace {

constexpr std::size_t max_routes = 3;
constexpr std::size_t max_levels = 2;
// Steps of a dim in one tile. Registers hold few, scratchpads many.
const std::vector<std::int64_t> register_steps = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28};
const std::vector<std::int64_t> level_steps = {1,  2,  3,  4,  6,  7,  8,   12,  14,     16,
                                               24, 28, 32, 48, 64, 96, 128, 256, 1 << 20};

// A mapping with everything about it that does not depend on the point.
struct Prepared {
  Computation statement;
  Pairing pairing;
  std::vector<Routes> routes;  // by access of the statement
  std::string problem;         // non-empty: no route for some operand
  std::vector<std::string> notes;
};

// The values up to the first that covers `steps`.
std::vector<std::int64_t> covering(const std::vector<std::int64_t>& values, std::int64_t steps) {
  const auto end = std::lower_bound(values.begin(), values.end(), std::max<std::int64_t>(steps, 1));
  return {values.begin(), end == values.end() ? end : end + 1};
}

std::vector<std::string> numbers(const std::vector<std::int64_t>& values) {
  std::vector<std::string> labels;
  for (std::int64_t v : values) labels.push_back(std::to_string(v));
  return labels;
}

struct NormalState {
  Kernel kernel;
  StatementId statement;
  std::vector<Mapping> mappings;
  const HardwareModel* model;
  SpaceOptions options;
  std::vector<Decision> decisions;
  std::vector<NormalForm::OnUnit> units;  // each a decision: which dim
  std::size_t accesses = 0, dims = 0, levels = 0;
  mutable std::vector<std::unique_ptr<Prepared>> prepared;
  mutable std::mutex mutex;

  // Positions of decisions.
  std::size_t route_at(std::size_t access) const { return 1 + access; }
  std::size_t register_at(std::size_t dim) const { return 1 + accesses + dim; }
  std::size_t level_at(std::size_t level, std::size_t dim) const { return 1 + accesses + dims * (1 + level) + dim; }
  std::size_t order_at() const { return 1 + accesses + dims * (1 + levels); }
  std::size_t unit_at(std::size_t unit) const { return order_at() + 1 + unit; }

  const Computation& unfused() const { return kernel.statements[statement.index()]; }

  // Most steps that a tile of this dim (or of the fused dim it begins) can have under any mapping.
  std::int64_t most_steps(const Dim& dim) const {
    std::int64_t most = 1;
    for (const Mapping& mapping : mappings) {
      std::int64_t steps = std::max<std::int64_t>(dim.extent, 1);
      for (std::size_t m = 0; m < mapping.dims.size(); ++m)
        for (const Digit& digit : mapping.dims[m]) {
          if (digit.column.as_dim() != dim.name) continue;
          const bool begins = &digit == &mapping.dims[m].front();
          const std::int64_t step = instruction_form(mapping, *model)->ranges[m].max;
          steps = begins ? ceil_div(std::max<std::int64_t>(walked_extent(mapping.dims[m]), 1), step) : 1;
        }
      most = std::max(most, steps);
    }
    return most;
  }

  // Addressed memories between home and the operands.
  std::size_t most_levels() const {
    std::size_t most = 0;
    for (const Mapping& mapping : mappings)
      for (const Operand& operand : model->instruction(mapping.instruction).operands) {
        if (!operand.memory.valid()) continue;
        for (const auto& path :
             {model->path(model->home(), operand.memory), model->path(operand.memory, model->home())})
          most = std::max(most, static_cast<std::size_t>(std::count_if(path.begin(), path.end(), [&](MemoryId m) {
                            return m != model->home() && !model->memory(m).is_register();
                          })));
      }
    return std::min(most, max_levels);
  }

  void make_decisions() {
    accesses = static_cast<std::size_t>(access_count(unfused()));
    dims = unfused().domain.dims.size();
    levels = most_levels();
    Decision mapping{"mapping", {}, false};
    for (std::size_t m = 0; m < mappings.size(); ++m) mapping.labels.push_back(std::to_string(m));
    decisions.push_back(mapping);
    for (std::size_t a = 0; a < accesses; ++a)
      decisions.push_back({"route " + kernel.tensors[access_of(unfused(), static_cast<int>(a)).tensor.index()].name,
                           numbers({0, 1, 2}), false});
    for (const Dim& dim : unfused().domain.dims)  // reductions stand below the accumulators one step at a time
      decisions.push_back({"registers " + dim.name,
                           numbers(covering(register_steps, dim.kind == DimKind::parallel ? most_steps(dim) : 1)),
                           true});
    for (std::size_t level = 0; level < levels; ++level)
      for (const Dim& dim : unfused().domain.dims)
        decisions.push_back(
            {fmt::format("level {} {}", level, dim.name), numbers(covering(level_steps, most_steps(dim))), true});
    Decision order{"outermost", {"as written"}, false};
    for (const Dim& dim : unfused().domain.dims)
      if (dim.kind == DimKind::parallel) order.labels.push_back(dim.name);
    decisions.push_back(order);
    units = walkable_units();
    for (const NormalForm::OnUnit& unit : units) {
      Decision on{"on " + unit.unit, decisions[order_at()].labels, false};
      on.labels.front() = "nothing";
      decisions.push_back(on);
    }
  }

  // The choice that puts a dim outermost; nothing for reductions, which stand inside.
  std::optional<int> outermost(std::size_t dim) const {
    const auto& labels = decisions[order_at()].labels;
    const auto it = std::find(labels.begin() + 1, labels.end(), unfused().domain.dims[dim].name);
    return it == labels.end() ? std::nullopt : std::optional(static_cast<int>(it - labels.begin()));
  }

  // Does every instruction occupy instances of this unit itself, as a warp's does its lanes?
  bool inside_calls(UnitId unit) const {
    return std::all_of(mappings.begin(), mappings.end(), [&](const Mapping& m) {
      const UnitId own = model->instruction(m.instruction).unit;
      return own.valid() && unit != own && model->inside(unit, own);
    });
  }

  // Units with many addressable instances, or a mesh: outermost first. Of a queue as many as there are tiles.
  std::vector<NormalForm::OnUnit> walkable_units() const {
    std::vector<NormalForm::OnUnit> found;
    for (std::size_t u = 0; u < model->units().size(); ++u) {
      const Unit& unit = model->units()[u];
      if (inside_calls(make_id<UnitId>(u))) continue;
      if (unit.axes.empty() && unit.count > 1 && !unit.index.empty())
        found.push_back({unit.name, "", unit.queued ? 0 : unit.count, make_id<UnitId>(u)});
      for (const auto& [axis, count] : unit.axes)
        if (count > 1) found.push_back({unit.name + "." + axis, "", count, make_id<UnitId>(u)});
    }
    return found;
  }

  const Prepared& prepare(std::size_t m) const {
    const std::lock_guard lock(mutex);
    if (!prepared[m]) prepared[m] = make(mappings[m]);
    return *prepared[m];
  }

  std::unique_ptr<Prepared> make(const Mapping& mapping) const {
    auto p = std::make_unique<Prepared>();
    p->statement = fuse(unfused(), mapping);
    const InstructionForm form = instruction_form(mapping, *model);
    const Instruction& instruction = *form;
    p->pairing = pair(p->statement, form, mapping);
    for (std::size_t a = 0; a < accesses; ++a) {
      const int operand = p->pairing.operand_access[a];
      p->routes.push_back(isamap::routes(kernel, p->statement, mapping, operand, *model));
      if (!p->routes.back().routes.empty() || !p->problem.empty()) continue;
      p->problem =
          fmt::format("{} has no way to operand {} of {}",
                      kernel.tensors[access_of(unfused(), static_cast<int>(a)).tensor.index()].name,
                      instruction.tensors[operand_of_access(instruction, operand).index()].name, instruction.name);
      p->notes = p->routes.back().reasons;
    }
    return p;
  }

  // The dim of the fused statement that starts with this dim, or nothing: it is a later digit of a fused one.
  std::string fused_dim(const Prepared& p, const std::string& dim) const {
    for (const Dim& d : p.statement.domain.dims)
      if (d.name == dim || d.name.rfind(dim + ".", 0) == 0) return d.name;
    return "";
  }

  std::int64_t extent(const Prepared& p, const std::string& dim) const {
    return p.statement.domain.dims[static_cast<std::size_t>(p.statement.domain.find(dim))].extent;
  }

  // `steps` steps of a dim as a tile; under `dividing` the largest that divides the extent.
  std::int64_t tile(const NormalForm& form, const Prepared& p, const std::string& dim, std::int64_t steps) const {
    const std::int64_t step = step_of(form, dim), whole = round_up(std::max<std::int64_t>(extent(p, dim), 1), step);
    std::int64_t tile = std::min(steps > whole / step ? whole : steps * step, whole);
    while (options.dividing && tile > step && extent(p, dim) % tile != 0) tile -= step;
    return tile;
  }

  NormalForm form_of(const Prepared& p, const Point& point) const {
    NormalForm form;
    form.kernel = &kernel;
    form.model = model;
    form.statement = &p.statement;
    form.mapping = &mappings[static_cast<std::size_t>(point.choice[0])];
    form.pairing = p.pairing;
    form.ahead_of_time.assign(accesses, false);
    for (std::size_t a = 0; a < accesses; ++a) {
      const auto& all = p.routes[a].routes;
      form.routes.push_back(all[std::min(static_cast<std::size_t>(point.choice[route_at(a)]), all.size() - 1)]);
    }
    form.tiles.resize(levels_of(form.routes, *model));
    std::string outermost;
    for (std::size_t d = 0; d < dims; ++d) {
      const std::string dim = fused_dim(p, unfused().domain.dims[d].name);
      if (dim.empty()) continue;
      form.register_tile[dim] =
          tile(form, p, dim, register_steps[static_cast<std::size_t>(point.choice[register_at(d)])]);
      for (std::size_t level = 0; level < form.tiles.size(); ++level)
        form.tiles[level][dim] =
            tile(form, p, dim,
                 level_steps[static_cast<std::size_t>(point.choice[level_at(std::min(level, levels - 1), d)])]);
      if (this->outermost(d) == point.choice[order_at()]) outermost = dim;
    }
    for (const Dim& dim : p.statement.domain.dims)
      if (dim.kind == DimKind::parallel) form.parallel_order.push_back(dim.name);
    const auto it = std::find(form.parallel_order.begin(), form.parallel_order.end(), outermost);
    if (it != form.parallel_order.end()) std::rotate(form.parallel_order.begin(), it, it + 1);
    for (std::size_t u = 0; u < units.size(); ++u)
      for (std::size_t d = 0; d < dims; ++d) {
        NormalForm::OnUnit on = units[u];
        on.dim = fused_dim(p, unfused().domain.dims[d].name);
        if (const auto choice = this->outermost(d); choice && *choice == point.choice[unit_at(u)] && !on.dim.empty())
          form.units.push_back(on);
      }
    return form;
  }
};

class NormalPoints final : public PointForm {
 public:
  NormalPoints(const Kernel& kernel, StatementId statement, std::vector<Mapping> mappings, const HardwareModel& model,
               const SpaceOptions& options) {
    state_.kernel = kernel;
    state_.statement = statement;
    state_.mappings = std::move(mappings);
    state_.model = &model;
    state_.options = options;
    state_.prepared.resize(state_.mappings.size());
    state_.make_decisions();
  }
  const std::vector<Decision>& decisions() const override { return state_.decisions; }
  const std::vector<Mapping>& mappings() const override { return state_.mappings; }
  Point repair(Point point) const override;
  Point random(std::uint64_t seed) const override;
  std::vector<Point> neighbours(const Point& point) const override;
  Point changed(const Point& point, Random& random) const override {
    return changed_choice(state_.decisions, point, random);
  }
  std::vector<Point> starts(std::size_t count) const override;
  Result<Nest> build(const Point& point) const override;

 private:
  Point start_at(Point point) const;
  Point spread(Point point) const;
  std::vector<Point> variants(const Point& start) const;
  Point shrink_levels(Point point) const;
  NormalState state_;
};

Point NormalPoints::repair(Point point) const {
  point.choice.resize(state_.decisions.size(), 0);
  for (std::size_t i = 0; i < point.choice.size(); ++i)
    point.choice[i] = std::clamp(point.choice[i], 0, static_cast<int>(state_.decisions[i].labels.size()) - 1);
  if (state_.mappings.empty()) return point;
  const Prepared& p = state_.prepare(static_cast<std::size_t>(point.choice[0]));
  for (std::size_t a = 0; a < p.routes.size(); ++a) {  // a route that the mapping does not have is its last one
    int& route = point.choice[state_.route_at(a)];
    route = std::min(route, std::max(0, static_cast<int>(p.routes[a].routes.size()) - 1));
  }
  return point;
}

std::vector<Point> NormalPoints::neighbours(const Point& point) const {
  std::vector<Point> all;
  const auto add = [&](std::size_t i, int value) {
    Point other = point;
    other.choice[i] = value;
    if (value != point.choice[i] && repair(other) == other) all.push_back(std::move(other));
  };
  for (std::size_t i = 1; i < point.choice.size(); ++i) {  // the mapping is not a neighbourhood: it is a start
    const bool is_number = i >= state_.register_at(0) && i < state_.order_at();
    if (is_number) {
      add(i, point.choice[i] - 1);
      add(i, point.choice[i] + 1);
    } else {
      for (int value = 0; value < static_cast<int>(state_.decisions[i].labels.size()); ++value) add(i, value);
    }
  }
  return all;
}

Point NormalPoints::random(std::uint64_t seed) const {
  Random source(seed);
  Point point;
  for (const Decision& d : state_.decisions)
    point.choice.push_back(static_cast<int>(source.between(0, static_cast<std::int64_t>(d.labels.size()) - 1)));
  return point;
}

std::vector<Point> NormalPoints::starts(std::size_t count) const {
  std::vector<Point> points;
  for (const std::size_t m : promising_mappings(state_.unfused(), state_.mappings, *state_.model)) {
    if (points.size() >= count) break;
    const Prepared& p = state_.prepare(m);
    if (!p.problem.empty()) continue;
    Point point = repair({});
    point.choice[0] = static_cast<int>(m);
    point = start_at(point);
    points.push_back(point);
    for (Point& other : variants(point)) points.push_back(std::move(other));
  }
  if (points.empty() && !state_.mappings.empty()) points.push_back(repair({}));
  return points;
}

// What single steps from a start do not find, because two things must change together: an input in panels, and the
// walks of the dim that goes through them outermost, so that a panel stays in a cache while it is used.
std::vector<Point> NormalPoints::variants(const Point& start) const {
  std::vector<Point> points;
  const NormalState& s = state_;
  const Prepared& p = s.prepare(static_cast<std::size_t>(start.choice[0]));
  if (!s.units.empty()) points.push_back(spread(start));
  for (std::size_t d = 0; d < s.dims; ++d) {
    const std::string dim = s.fused_dim(p, s.unfused().domain.dims[d].name);
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

// Every unit gets a dim: the largest for the outermost, what is left of each for the next.
Point NormalPoints::spread(Point point) const {
  const NormalState& s = state_;
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

// Register tile by the machine's ports, level tiles as large as fits together.
Point NormalPoints::start_at(Point point) const {
  const NormalState& s = state_;
  const Prepared& p = s.prepare(static_cast<std::size_t>(point.choice[0]));
  const auto position = [](const std::vector<std::int64_t>& values, std::int64_t wanted) {
    return static_cast<int>(std::upper_bound(values.begin(), values.end(), wanted) - values.begin()) - 1;
  };
  NormalForm form = s.form_of(p, point);
  const auto steps = best_register_tile(form, register_steps);
  for (std::size_t d = 0; d < s.dims; ++d) {
    const std::string dim = s.fused_dim(p, s.unfused().domain.dims[d].name);
    if (const auto it = steps.find(dim); it != steps.end())
      point.choice[s.register_at(d)] = position(register_steps, it->second);
    for (std::size_t level = 0; level < s.levels; ++level)
      point.choice[s.level_at(level, d)] = dim.empty() ? 0 : static_cast<int>(level_steps.size()) - 1;
  }
  return shrink_levels(repair(std::move(point)));
}

// Halves the largest tile until every level's tiles fit their memories.
Point NormalPoints::shrink_levels(Point point) const {
  const NormalState& s = state_;
  const Prepared& p = s.prepare(static_cast<std::size_t>(point.choice[0]));
  for (int round = 0; round < 200; ++round) {
    const NormalForm form = s.form_of(p, point);
    const auto level = level_over_capacity(form);
    if (!level) break;
    const std::size_t l = std::min(*level, s.levels - 1);
    std::size_t largest = s.dims;
    std::int64_t most = 1;
    for (std::size_t d = 0; d < s.dims; ++d) {
      const std::string dim = s.fused_dim(p, s.unfused().domain.dims[d].name);
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

Result<Nest> NormalPoints::build(const Point& point) const {
  const Prepared& p = state_.prepare(static_cast<std::size_t>(point.choice[0]));
  if (!p.problem.empty()) {
    Diagnostic d = error(p.problem);
    d.notes = p.notes;
    return d;
  }
  const NormalForm form = state_.form_of(p, point);
  if (auto problem = register_problem(form)) return *problem;
  return build_nest(form);
}

}  // namespace

std::unique_ptr<PointForm> normal_points(const Kernel& kernel, StatementId statement, std::vector<Mapping> mappings,
                                         const HardwareModel& model, const SpaceOptions& options) {
  return std::make_unique<NormalPoints>(kernel, statement, std::move(mappings), model, options);
}

}  // namespace isamap

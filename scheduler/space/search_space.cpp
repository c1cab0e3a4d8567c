// SPDX-License-Identifier: Apache-2.0
// What search spaces of all forms share.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "isamap/interpret.h"
#include "isamap/result.h"
#include "isamap/search.h"
#include "mapper/foreign_mapping.h"
#include "scheduler/nest/canonical_nest.h"
#include "scheduler/space/point_check.h"
#include "scheduler/space/register_tiling.h"
#include "scheduler/space/space_template.h"
#include "support/hash.h"

namespace isamap {
struct SearchSpace::State {
  Kernel kernel;
  StatementId statement;
  const HardwareModel* model;
  std::unique_ptr<SpaceTemplate> form;
  std::vector<std::size_t> subjects;  ///< by decision: the number of its subject, in order of appearance

  void number_subjects() {
    std::vector<std::string> names;
    for (const Decision& decision : form->decisions()) {
      const auto at = std::find(names.begin(), names.end(), decision.subject);
      subjects.push_back(static_cast<std::size_t>(at - names.begin()));
      if (at == names.end()) names.push_back(decision.subject);
    }
  }
};

SearchSpace::SearchSpace(const Kernel& kernel, StatementId statement, std::vector<Mapping> mappings,
                         const HardwareModel& model, const SpaceOptions& options)
    : state_(std::make_unique<State>(State{kernel, statement, &model, nullptr, {}})) {
  ISAMAP_CHECK(statement.valid() && statement.index() < kernel.statements.size(),
               fmt::format("a search space of statement number {}: kernel {} has {}", statement.value, kernel.name,
                           kernel.statements.size()));
  for (const Mapping& mapping : mappings) check_own(mapping, kernel, model);
  state_->form = hierarchy_points(kernel, statement, mappings, model, options);
  if (!state_->form) state_->form = gpu_points(kernel, statement, mappings, model, options);
  if (!state_->form) state_->form = cpu_points(kernel, statement, std::move(mappings), model, options);
  state_->number_subjects();
}
SearchSpace::~SearchSpace() = default;
SearchSpace::SearchSpace(SearchSpace&&) noexcept = default;

const SpaceTemplate& SearchSpace::form() const { return *state_->form; }
const Kernel& SearchSpace::kernel() const { return state_->kernel; }
StatementId SearchSpace::statement() const { return state_->statement; }
const HardwareModel& SearchSpace::model() const { return *state_->model; }
const std::vector<Decision>& SearchSpace::decisions() const { return form().decisions(); }
const std::vector<Mapping>& SearchSpace::mappings() const { return form().mappings(); }
const Mapping& SearchSpace::mapping_of(const Point& point) const {
  ISAMAP_CHECK(!mappings().empty(), "a space without mappings has no points");
  const int choice = point.choice.empty() ? 0 : point.choice[0];
  return mappings()[static_cast<std::size_t>(std::clamp(choice, 0, static_cast<int>(mappings().size()) - 1))];
}

namespace {

/// The point itself, or its repaired form, stored in `repaired`, if it is outside of the space.
const Point& inside(const SpaceTemplate& form, const Point& point, Point& repaired) {
  if (in_space(point, form.decisions())) return point;
  return repaired = form.repair(point);
}

}  // namespace

double SearchSpace::size() const {
  double size = 1;
  for (const Decision& d : decisions()) size *= static_cast<double>(d.labels.size());
  return size;
}

Point SearchSpace::repair(Point point) const { return form().repair(std::move(point)); }
Point SearchSpace::random(std::uint64_t seed) const { return mappings().empty() ? first() : form().random(seed); }
Point SearchSpace::first() const { return repair({}); }
std::vector<Point> SearchSpace::neighbours(const Point& point) const {
  Point repaired;
  return mappings().empty() ? std::vector<Point>{} : form().neighbours(inside(form(), point, repaired));
}
std::vector<Point> SearchSpace::starts(std::size_t count) const {
  return mappings().empty() ? std::vector<Point>{} : form().starts(count);
}
Result<Nest> SearchSpace::build(const Point& point) const {
  if (const std::string why = not_in_space(point, decisions()); !why.empty())
    return error(why, "SearchSpace::repair turns any numbers into a point");
  if (mappings().empty()) return error("the space has no mappings and thus no schedules");
  return form().build(point);
}
std::optional<HierarchyPoint> SearchSpace::hierarchy_point(const Point& point) const {
  if (!in_space(point, decisions())) return {};
  return form().hierarchy_point(point);
}

std::string set_space_word(SpaceOptions& options, const std::string& word) {
  std::string all;
  for (const auto& [name, option] : space_words) {
    if (word == name) {
      options.*option = true;
      return options.single_buffered && options.double_buffered
                 ? "single-buffered and double-buffered exclude each other"
                 : "";
    }
    all += (all.empty() ? "" : ", ") + std::string(name);
  }
  return "'" + word + "' is none of: " + all;
}

std::string SearchSpace::describe(const Point& given) const {
  std::string text;
  Point repaired;
  const Point& point = inside(form(), given, repaired);
  for (std::size_t i = 0; i < point.choice.size(); ++i)
    text +=
        (i ? ", " : "") + decisions()[i].name + " " + decisions()[i].labels[static_cast<std::size_t>(point.choice[i])];
  return text;
}

// Many choices do not matter (an absent level, tiles larger than the dim), so points are identified by the nest that
// they build.

std::uint64_t SearchSpace::hash(const Point& point) const {
  const Point repaired = repair(point);
  if (auto nest = build(repaired))
    return isamap::hash(isamap::canonical(*nest, fuse(kernel().statements[statement().index()], mapping_of(repaired))));
  return fnv1a(repaired.choice);
}

Point SearchSpace::canonical(const Point& point) const {
  Point result = repair(point);
  if (form().repairs_to_canonical() || !build(result)) return result;
  const std::uint64_t same = hash(result);
  for (std::size_t d = result.choice.size(); d-- > 0;)
    for (int smaller = 0; smaller < result.choice[d]; ++smaller) {
      Point other = result;
      other.choice[d] = smaller;
      if (repair(other) != other || hash(other) != same) continue;
      result = std::move(other);
      break;
    }
  return result;
}

// Views of a point: a genome for mutation and crossover, and features for learned models. They only use names and
// labels of decisions, so they work for any space.

namespace {

constexpr std::size_t most_one_hot = 16;  ///< one-hot limit: more values carry too little information each

double log2_of_label(const std::string& label, double most) {
  const double value = std::strtod(label.c_str(), nullptr);
  return std::log2(std::clamp(value, 1.0, std::max(most, 1.0)));
}

/// The last label of a tile means "all": at most the size of the dim.
double most_of(const SearchSpace& space, const Decision& decision) {
  for (const Dim& dim : space.kernel().statements[space.statement().index()].domain.dims)
    if (dim.name == decision.subject) return static_cast<double>(dim.extent);
  return 1 << 20;
}

bool one_hot(const Decision& decision) { return !decision.ordered() && decision.labels.size() <= most_one_hot; }

}  // namespace

Point changed_choice(const std::vector<Decision>& decisions, Point point, Random& random) {
  const auto free = [](const Decision& decision) { return decision.labels.size() > 1; };
  const auto count = std::count_if(decisions.begin(), decisions.end(), free);
  if (count == 0) return point;
  std::size_t d = 0;
  for (std::int64_t before = random.between(0, count - 1); !free(decisions[d]) || before-- > 0;) ++d;
  const int last = static_cast<int>(decisions[d].labels.size()) - 1;
  int& choice = point.choice[d];
  if (decisions[d].ordered() && random.unit() < 0.8) {
    choice += random.unit() < 0.5 ? -1 : 1;
  } else {
    const int drawn = static_cast<int>(random.between(0, last - 1));
    choice = drawn < choice ? drawn : drawn + 1;  // any value but the current one
  }
  return point;
}

Point SearchSpace::mutate(const Point& given, std::uint64_t seed) const {
  if (mappings().empty()) return repair(given);
  Point repaired;
  const Point& point = inside(form(), given, repaired);
  constexpr int most_draws = 64;  // repair may undo a change
  Random random(seed);
  for (int draw = 0; draw < most_draws; ++draw) {
    Point other = repair(form().changed(point, random));
    if (!(other == point)) return other;
  }
  return point;
}

Point SearchSpace::crossover(const Point& one, const Point& other, std::uint64_t seed) const {
  Point repaired_one, repaired_other;
  Point child = inside(form(), one, repaired_one);
  const Point& b = inside(form(), other, repaired_other);
  Random random(seed);
  std::vector<bool> from_b;  // by subject
  from_b.reserve(child.choice.size());
  for (std::size_t d = 0; d < child.choice.size(); ++d) {
    const std::size_t subject = state_->subjects[d];
    if (subject == from_b.size()) from_b.push_back(random.unit() < 0.5);
    const bool together = from_b[subject];
    const bool alone = random.unit() < 0.1;
    if (together != alone) child.choice[d] = b.choice[d];
  }
  return repair(std::move(child));
}

std::vector<std::string> SearchSpace::feature_names() const {
  std::vector<std::string> names{"mapping utilisation", "mapping log2 least cycles"};
  for (const Decision& decision : decisions()) {
    if (decision.ordered()) names.push_back("log2 " + decision.name);
    if (!one_hot(decision)) continue;
    for (const std::string& label : decision.labels) names.push_back(decision.name + " = " + label);
  }
  return names;
}

std::vector<double> SearchSpace::features(const Point& given) const {
  const Point point = in_space(given, decisions()) ? given : repair(given);
  const Mapping& mapping = mapping_of(point);
  const double least = least_cycles(kernel().statements[statement().index()], mapping, model());
  std::vector<double> values{mapping.utilisation, std::log2(std::max(least, 1.0))};
  for (std::size_t d = 0; d < decisions().size(); ++d) {
    const Decision& decision = decisions()[d];
    if (decision.ordered())
      values.push_back(
          log2_of_label(decision.labels[static_cast<std::size_t>(point.choice[d])], most_of(*this, decision)));
    if (!one_hot(decision)) continue;
    for (std::size_t l = 0; l < decision.labels.size(); ++l)
      values.push_back(point.choice[d] == static_cast<int>(l) ? 1 : 0);
  }
  return values;
}

}  // namespace isamap

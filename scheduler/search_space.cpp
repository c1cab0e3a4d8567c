// SPDX-License-Identifier: Apache-2.0
// The parts of a space that are the same for both forms of points.

#include "scheduler/search_space.h"

#include <algorithm>

#include "scheduler/point_check.h"
#include "scheduler/point_form.h"
#include "support/check.h"

namespace isamap {

struct SearchSpace::State {
  Kernel kernel;
  StatementId statement;
  const HardwareModel* model;
  std::unique_ptr<PointForm> form;
};

SearchSpace::SearchSpace(const Kernel& kernel, StatementId statement, std::vector<Mapping> mappings,
                         const HardwareModel& model, const SpaceOptions& options)
    : state_(std::make_unique<State>(State{kernel, statement, &model, nullptr})) {
  state_->form = levelled_points(kernel, statement, mappings, model, options);
  if (!state_->form) state_->form = block_points(kernel, statement, mappings, model, options);
  if (!state_->form) state_->form = normal_points(kernel, statement, std::move(mappings), model, options);
}
SearchSpace::~SearchSpace() = default;
SearchSpace::SearchSpace(SearchSpace&&) noexcept = default;

const PointForm& SearchSpace::form() const { return *state_->form; }
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

/// The point itself, or the repaired one, kept in `repaired`, where it is not of the space.
const Point& inside(const PointForm& form, const Point& point, Point& repaired) {
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
    return error(why, "SearchSpace::repair makes a point of any numbers");
  if (mappings().empty()) return error("the space has no mappings, so that it has no schedules");
  return form().build(point);
}
std::optional<LevelledPoint> SearchSpace::levelled(const Point& point) const {
  if (!in_space(point, decisions())) return {};
  return form().levelled(point);
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

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a search decides, as numbered choices with finite domains.
//
// The schedule language is open; a search enumerates one of two forms. On a machine whose memories stand in a row and
// whose moves take no issue slots: tiles, order, kept tensors and buffers at every memory, steps on every unit
// (docs/search.md); the exact search proves optima of this form. Anywhere else the normal form of docs/schedule.md:
// mapping, route of each operand, register tile, tile of each dim at each memory level, what stands outermost,
// placement on units. `build` turns a point into a nest and is the only thing that knows how.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hwdesc/hardware_model.h"
#include "ir/kernel.h"
#include "ir/mapping.h"
#include "ir/schedule.h"
#include "scheduler/levelled/levelled_point.h"

namespace isamap {

/// One choice. Values print as `labels`; a point holds the position.
struct Decision {
  std::string name;  ///< "mapping", "tile j register", "order level 1", "stage A spad"
  std::vector<std::string> labels;
  bool ordered = false;  ///< labels are growing numbers: neighbouring positions are alike
};

struct Point {
  std::vector<int> choice;  ///< one position for each decision of the space
  bool operator==(const Point&) const = default;
};

struct SpaceOptions {
  bool dividing = false;         ///< only tiles that divide
  bool keep_all = false;         ///< every tensor kept in every memory
  bool single_buffered = false;  ///< one buffer for every kept tile
  bool double_buffered = false;  ///< two buffers for every kept tile; levelled form only
  bool nothing_skipped = false;  ///< products with what lies outside a tensor are computed: it may meet an infinity
  bool sums_in_order = false;    ///< real sums are not split over instances, whose parts come in any order
  bool sums_whole = false;       ///< no sum is split over instances: other statements can go on with its tiles
};

/// As --space and suites say it.
inline constexpr std::array<std::pair<const char*, bool SpaceOptions::*>, 4> space_words{
    {{"dividing", &SpaceOptions::dividing},
     {"keep-all", &SpaceOptions::keep_all},
     {"single-buffered", &SpaceOptions::single_buffered},
     {"double-buffered", &SpaceOptions::double_buffered}}};
/// What is wrong with such a word; empty: nothing.
std::string set_space_word(SpaceOptions& options, const std::string& word);

class PointForm;

/// All schedules of one statement on one machine.
class SearchSpace {
 public:
  /// `mappings`: those of this statement. Points are of the levelled form where it covers all of them.
  SearchSpace(const Kernel& kernel, StatementId statement, std::vector<Mapping> mappings, const HardwareModel& model,
              const SpaceOptions& options);
  ~SearchSpace();
  SearchSpace(SearchSpace&&) noexcept;

  const std::vector<Decision>& decisions() const;
  const std::vector<Mapping>& mappings() const;  ///< that points choose from: those that differ in this form
  double size() const;                           ///< number of points (as a double: it is large)

  /// Clamps every choice into its domain and repairs what cannot be: tiles that exceed their parents, in the levelled
  /// form also tiles that do not fit their memories and steps that units do not have.
  Point repair(Point point) const;
  std::vector<Point> neighbours(const Point& point) const;
  Point random(std::uint64_t seed) const;
  /// One decision of the point, drawn by the seed, at another value: of numbers mostly the next one. The mapping too.
  Point mutate(const Point& point, std::uint64_t seed) const;
  /// Every choice from one of the parents, drawn by the seed; decisions on one dim mostly stay together. Repaired.
  Point crossover(const Point& a, const Point& b, std::uint64_t seed) const;
  /// What models learn from: log2 of sizes, 0 or 1 for each value of other decisions, and what the mapping is worth.
  std::vector<double> features(const Point& point) const;
  std::vector<std::string> feature_names() const;  ///< "log2 level 0 i", "outermost = j", "mapping utilisation"
  Point first() const;                             ///< every choice at its first value
  /// Promising points, about `count` or more. Normal form: the mappings with the least work, each with a register tile
  /// that suits the machine's ports and with the largest tiles that fit its memories, as it is and with its inputs in
  /// panels. Levelled form: units in full use, tiles that fit and save most traffic while an operand stays.
  std::vector<Point> starts(std::size_t count) const;

  /// The point with the smallest choices among those that differ only in what does not matter to its nest.
  Point canonical(const Point& point) const;
  /// Equal for points that build the same schedule; of an illegal point, of its choices.
  std::uint64_t hash(const Point& point) const;

  Result<Nest> build(const Point& point) const;                     ///< diagnostics: why this point is not legal
  std::optional<LevelledPoint> levelled(const Point& point) const;  ///< nothing: points are of the normal form
  const Mapping& mapping_of(const Point& point) const;
  std::string describe(const Point& point) const;  ///< "mapping 3, j 32, i 14, ..."
  const Kernel& kernel() const;
  StatementId statement() const;
  const HardwareModel& model() const;

 private:
  const PointForm& form() const;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
// Points of the per-memory form: a mapping, and steps, orders, kept and double-buffered tensors of its problem.
// Decisions are those of the mapping with the most memories; what another mapping lacks is read as its first value.

#include <fmt/format.h>

#include <algorithm>

#include "isamap/interpret.h"
#include "scheduler/cost/hierarchy/problems.h"
#include "scheduler/nest/resolved_nest.h"
#include "scheduler/space/hierarchy/genome.h"
#include "scheduler/space/space_template.h"

namespace isamap {

namespace {

using namespace hierarchy;

struct Gene {
  enum Kind { time, units, place, keep, buffers } kind;
  std::string memory;
  int index;  ///< dim or operand
};

class HierarchyPoints final : public SpaceTemplate {
 public:
  HierarchyPoints(const Kernel& kernel, StatementId statement, const HardwareModel& model,
                  std::vector<MappedProblem> problems, const SpaceOptions& options)
      : kernel_(kernel), statement_(statement), model_(&model), problems_(std::move(problems)) {
    for (const MappedProblem& p : problems_) {
      mappings_.push_back(p.mapping);
      genomes_.emplace_back(p.problem, options);
      if (p.problem.level_count() > problems_[widest_].problem.level_count()) widest_ = mappings_.size() - 1;
    }
    make_decisions();
  }

  const std::vector<Decision>& decisions() const override { return decisions_; }
  const std::vector<Mapping>& mappings() const override { return mappings_; }
  bool repairs_to_canonical() const override { return true; }

  Point repair(Point point) const override {
    point.choice.resize(decisions_.size(), 0);
    for (std::size_t i = 0; i < point.choice.size(); ++i)
      point.choice[i] = std::clamp(point.choice[i], 0, static_cast<int>(decisions_[i].labels.size()) - 1);
    return encode(mapping_at(point), genomes_of(point).repaired(decode(point)));
  }

  Point random(std::uint64_t seed) const override {
    Random source(seed);
    const auto m = static_cast<std::size_t>(source.between(0, static_cast<std::int64_t>(mappings_.size()) - 1));
    return encode(m, genomes_[m].repaired(drawn(genomes_[m], source)));
  }

  std::vector<Point> neighbours(const Point& point) const override {
    const Genomes& genomes = genomes_of(point);
    std::vector<Point> all;
    for (const Genome& genome : around(genomes, decode(point))) {
      Point other = encode(mapping_at(point), genomes.repaired(genome));
      if (other != point && std::find(all.begin(), all.end(), other) == all.end()) all.push_back(std::move(other));
    }
    return all;
  }

  Point changed(const Point& point, Random& random) const override {
    if (mappings_.size() > 1 && random.unit() < 0.05) {
      Point other = point;
      const int drawn = static_cast<int>(random.between(0, static_cast<std::int64_t>(mappings_.size()) - 2));
      other.choice[0] = drawn < point.choice[0] ? drawn : drawn + 1;
      return other;
    }
    return encode(mapping_at(point), hierarchy::changed(genomes_of(point), decode(point), random));
  }

  std::vector<Point> starts(std::size_t count) const override {
    std::vector<std::vector<Genome>> made;
    for (const Genomes& genomes : genomes_) made.push_back(constructed(genomes, count));
    std::vector<Point> points;  // the best of each mapping, then the second best, ...
    for (std::size_t i = 0; i < count && points.size() < count; ++i)
      for (std::size_t m = 0; m < made.size(); ++m)
        if (i < made[m].size()) points.push_back(encode(m, made[m][i]));
    return points;
  }

  Result<Nest> build(const Point& point) const override {
    const std::size_t m = mapping_at(point);
    return nest_of(problems_[m].problem, genomes_[m].point(decode(point)), do_line(mappings_[m], kernel_, *model_));
  }

  std::optional<HierarchyPoint> hierarchy_point(const Point& point) const override {
    return HierarchyPoint{&problems_[mapping_at(point)].problem,
                          std::make_shared<const LevelPoint>(genomes_of(point).point(decode(point)))};
  }

 private:
  std::size_t mapping_at(const Point& point) const { return static_cast<std::size_t>(point.choice[0]); }
  const Genomes& genomes_of(const Point& point) const { return genomes_[mapping_at(point)]; }

  /// "steps L1 i": how many steps the level takes along i.
  void add(const Gene& gene, const std::string& what, const std::string& subject, std::vector<std::string> labels,
           DecisionKind decision) {
    decisions_.push_back({what + " " + gene.memory + " " + subject, std::move(labels), decision, subject});
    genes_.push_back(gene);
  }

  static std::vector<std::string> numbers_from(std::int64_t first, std::int64_t last) {
    std::vector<std::string> labels;
    for (std::int64_t v = first; v <= last; ++v) labels.push_back(std::to_string(v));
    return labels;
  }

  void make_decisions() {
    const Problem& problem = problems_[widest_].problem;
    const Genomes& genomes = genomes_[widest_];
    decisions_.push_back(
        {"mapping", numbers_from(0, static_cast<std::int64_t>(mappings_.size()) - 1), DecisionKind::choice, "mapping"});
    const int dims = problem.dim_count(), last = problem.level_count() - 1;
    for (int l = last; l > 0; --l) {
      const Level& level = problem.levels[at(l)];
      for (int d = 0; d < dims; ++d) {
        std::vector<std::string> labels;
        for (const std::int64_t v : genomes.values(d)) labels.push_back(std::to_string(v));
        add({Gene::time, level.name, d}, "steps", problem.dims[at(d)].name, labels, DecisionKind::size);
      }
      const Level& outer = problem.levels[at(l - 1)];
      for (int d = 0; d < dims && !outer.axes.empty(); ++d)
        add({Gene::units, outer.name, d}, "units", problem.dims[at(d)].name,
            numbers_from(1, std::min(genomes.most_units(l - 1), problem.dims[at(d)].extent)), DecisionKind::size);
    }
    for (int l = 0; l < last; ++l)
      for (int d = 0; d < dims; ++d)
        add({Gene::place, problem.levels[at(l)].name, d}, "place", problem.dims[at(d)].name, numbers_from(1, dims),
            DecisionKind::size);
    for (int l = 1; l <= last; ++l)
      for (int a = 0; a < problem.operand_count(); ++a) {
        const Level& level = problem.levels[at(l)];
        const std::string& operand = problem.operands[at(a)].name;
        if ((genomes.may_bypass(l) >> a & 1U) != 0)
          add({Gene::keep, level.name, a}, "keep", operand, {"yes", "no"}, DecisionKind::choice);
        if (genomes.chooses_buffers())
          add({Gene::buffers, level.name, a}, "buffers", operand, {"1", "2"}, DecisionKind::size);
      }
    for (const MappedProblem& p : problems_) {
      std::vector<int> levels;
      for (const Gene& gene : genes_) {
        int found = -1;
        for (int l = 0; l < p.problem.level_count(); ++l)
          if (p.problem.levels[at(l)].name == gene.memory) found = l;
        levels.push_back(found);
      }
      level_of_.push_back(std::move(levels));
    }
  }

  Genome decode(const Point& point) const {
    const std::size_t m = mapping_at(point);
    Genome genome = genomes_[m].plain();
    for (std::size_t g = 0; g < genes_.size(); ++g) {
      if (level_of_[m][g] < 0) continue;
      const auto [kind, memory, index] = std::tie(genes_[g].kind, genes_[g].memory, genes_[g].index);
      Genome::At& level = genome.levels[at(level_of_[m][g])];
      const int choice = point.choice[g + 1];
      switch (kind) {
        case Gene::time:
          level.time[at(index)] = genomes_[m].values(index)[at(choice)];
          break;
        case Gene::units:
          level.units[at(index)] = choice + 1;
          break;
        case Gene::place:
          level.place[at(index)] = static_cast<std::uint8_t>(choice);
          break;
        case Gene::keep:
          if (choice != 0) level.keep &= ~(1U << index);
          break;
        case Gene::buffers:
          if (choice != 0) level.doubled |= 1U << index;
          break;
      }
    }
    return genome;
  }

  /// Values without a label become the next lower one; repair restores a point.
  Point encode(std::size_t m, const Genome& genome) const {
    Point point;
    point.choice.push_back(static_cast<int>(m));
    for (std::size_t g = 0; g < genes_.size(); ++g) {
      int choice = 0;
      if (level_of_[m][g] >= 0) {
        const int index = genes_[g].index;
        const Genome::At& level = genome.levels[at(level_of_[m][g])];
        const auto& values = genomes_[m].values(index < genomes_[m].problem().dim_count() ? index : 0);
        switch (genes_[g].kind) {
          case Gene::time:
            choice = static_cast<int>(std::upper_bound(values.begin(), values.end(), level.time[at(index)]) -
                                      values.begin()) -
                     1;
            break;
          case Gene::units:
            choice = static_cast<int>(level.units[at(index)]) - 1;
            break;
          case Gene::place:
            choice = level.place[at(index)];
            break;
          case Gene::keep:
            choice = (level.keep >> index & 1U) == 0 ? 1 : 0;
            break;
          case Gene::buffers:
            choice = static_cast<int>(level.doubled >> index & 1U);
            break;
        }
      }
      point.choice.push_back(std::clamp(choice, 0, static_cast<int>(decisions_[g + 1].labels.size()) - 1));
    }
    return point;
  }

  Kernel kernel_;
  StatementId statement_;
  const HardwareModel* model_;
  std::vector<MappedProblem> problems_;
  std::vector<Mapping> mappings_;
  std::vector<Genomes> genomes_;
  std::size_t widest_ = 0;
  std::vector<Decision> decisions_;
  std::vector<Gene> genes_;                 ///< by decision after the mapping
  std::vector<std::vector<int>> level_of_;  ///< by mapping and gene: its level; -1: none
};

}  // namespace

std::unique_ptr<SpaceTemplate> hierarchy_points(const Kernel& kernel, StatementId statement,
                                                const std::vector<Mapping>& mappings, const HardwareModel& model,
                                                const SpaceOptions& options) {
  auto problems = hierarchy::problems_of(kernel, statement, mappings, model);
  if (!problems || problems->empty()) return nullptr;
  return std::make_unique<HierarchyPoints>(kernel, statement, model, std::move(*problems), options);
}

}  // namespace isamap

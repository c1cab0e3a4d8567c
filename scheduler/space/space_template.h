// SPDX-License-Identifier: Apache-2.0
#pragma once
// Meaning of the choices of a point. Three templates: the normal form (docs/schedule.md), for any machine; the
// per-memory form, for a linear memory hierarchy; thread blocks that share a scratchpad. Behind SearchSpace; strategies
// see only that.

#include "isamap/search.h"

namespace isamap {

class Random;

class SpaceTemplate {
 public:
  virtual ~SpaceTemplate() = default;
  virtual const std::vector<Decision>& decisions() const = 0;
  virtual const std::vector<Mapping>& mappings() const = 0;  ///< values of the first decision
  virtual Point repair(Point point) const = 0;
  virtual Point random(std::uint64_t seed) const = 0;
  virtual std::vector<Point> neighbours(const Point& point) const = 0;
  /// One change of a repaired point; possibly none.
  virtual Point changed(const Point& point, Random& random) const = 0;
  virtual std::vector<Point> starts(std::size_t count) const = 0;
  /// Does `repair` map points with the same schedule to one point?
  virtual bool repairs_to_canonical() const { return false; }
  virtual Result<Nest> build(const Point& point) const = 0;
  virtual std::optional<HierarchyPoint> hierarchy_point(const Point& /*point*/) const { return {}; }
};

/// One decision at another value: of numbers mostly an adjacent one.
Point changed_choice(const std::vector<Decision>& decisions, Point point, Random& random);

std::unique_ptr<SpaceTemplate> cpu_points(const Kernel& kernel, StatementId statement, std::vector<Mapping> mappings,
                                          const HardwareModel& model, const SpaceOptions& options);
/// Null: the machine or the mappings do not have this form.
std::unique_ptr<SpaceTemplate> hierarchy_points(const Kernel& kernel, StatementId statement,
                                                const std::vector<Mapping>& mappings, const HardwareModel& model,
                                                const SpaceOptions& options);
/// Null: no instruction is executed by a part of a block with operands in registers.
std::unique_ptr<SpaceTemplate> gpu_points(const Kernel& kernel, StatementId statement,
                                          const std::vector<Mapping>& mappings, const HardwareModel& model,
                                          const SpaceOptions& options);

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the choices of a point mean. There are three forms: the normal form of docs/schedule.md, for any machine; tiles
// in a row of memories (scheduler/space/hierarchy), where the machine is one; and blocks whose threads share a
// scratchpad. Behind SearchSpace; strategies see only that.

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
  /// One change of a repaired point; it may turn out to be none.
  virtual Point changed(const Point& point, Random& random) const = 0;
  virtual std::vector<Point> starts(std::size_t count) const = 0;
  /// Are points that build the same schedule the same after `repair`?
  virtual bool repairs_to_canonical() const { return false; }
  virtual Result<Nest> build(const Point& point) const = 0;
  virtual std::optional<HierarchyPoint> hierarchy_point(const Point& /*point*/) const { return {}; }
};

/// A decision at another value: of numbers mostly the next one.
Point changed_choice(const std::vector<Decision>& decisions, Point point, Random& random);

std::unique_ptr<SpaceTemplate> cpu_points(const Kernel& kernel, StatementId statement, std::vector<Mapping> mappings,
                                          const HardwareModel& model, const SpaceOptions& options);
/// Null: the machine, or what the mappings ask of it, does not have this form.
std::unique_ptr<SpaceTemplate> hierarchy_points(const Kernel& kernel, StatementId statement,
                                                const std::vector<Mapping>& mappings, const HardwareModel& model,
                                                const SpaceOptions& options);
/// Null: no instruction belongs to a part of a block and takes its operands from registers.
std::unique_ptr<SpaceTemplate> gpu_points(const Kernel& kernel, StatementId statement,
                                          const std::vector<Mapping>& mappings, const HardwareModel& model,
                                          const SpaceOptions& options);

}  // namespace isamap

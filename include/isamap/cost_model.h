// SPDX-License-Identifier: Apache-2.0
#pragma once
// A point of the levelled form as tiles: what a closed form without a nest reads.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "isamap/hardware.h"
#include "isamap/kernel.h"
#include "isamap/schedule.h"

namespace isamap {

namespace levelled {
struct Problem;
struct LevelPoint;
}  // namespace levelled

struct LevelledPoint {
  const levelled::Problem* problem = nullptr;
  std::shared_ptr<const levelled::LevelPoint> tiles;
};

/// One tensor in one memory: counts per instance, in words (access model, docs/cost.md).
struct TensorTraffic {
  std::int64_t instances = 0, tile = 0, reads = 0, fills = 0, updates = 0;
};

struct Cost {
  double cycles = 0;
  double scalar_cycles = 0;  ///< of these: code that a scalar unit executes element by element
  double energy_pJ = 0;
  double bytes = 0;   ///< moved over all links
  std::string bound;  ///< what limits: "compute", "link ld", "memory GLB"
  std::map<std::string, std::map<std::string, TensorTraffic>> memories;  ///< memory -> tensor
  std::map<std::string, double> link_bytes;                              ///< link -> bytes
  double edp() const { return cycles * energy_pJ; }
};

enum class Objective { cycles, energy, edp };
std::string_view name(Objective objective);
double value(const Cost& cost, Objective objective);
/// Of several statements one after another; what bounds the longest bounds all. Of one: all that is known of it.
Cost sum_of(const std::vector<Cost>& costs);

/// The cost of something that runs so many times.
Cost repeated(Cost once, std::int64_t times);

/// A nest in its context; what cost models look at.
struct Candidate {
  const Kernel* kernel = nullptr;
  StatementId statement;
  const HardwareModel* model = nullptr;
  Nest nest;
};

struct LevelledPoint;

class CostModel {
 public:
  virtual ~CostModel() = default;
  /// Diagnostics: a tile that does not fit (memory, needed, available), a dim that is not bound, ...
  virtual Result<Cost> estimate(const Candidate& candidate) = 0;
  /// Cycles and energy of a point of the levelled form, without a nest: the same numbers, sooner. Nothing: the point is
  /// not legal, or this model needs the nest.
  virtual std::optional<Cost> quick_estimate(const LevelledPoint&) { return {}; }
  /// For models that learn.
  virtual void observe(const Candidate&, const Cost& /*measured*/) {}
};

std::unique_ptr<CostModel> make_cost_model_closed_form();
/// The closed form with cycles that fill, drain, buffers and shared ports take (scheduler/cost/latency.h).
std::unique_ptr<CostModel> make_cost_model_latency();
/// The same with cycles and counts of a simulation, event by event (scheduler/cost/event_simulation.h).
std::unique_ptr<CostModel> make_cost_model_simulator();

}  // namespace isamap

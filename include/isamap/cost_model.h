// SPDX-License-Identifier: Apache-2.0
#pragma once
// Costs and cost models.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "isamap/hardware.h"
#include "isamap/kernel.h"
#include "isamap/schedule.h"

namespace isamap {

namespace hierarchy {
struct Problem;
struct LevelPoint;
}  // namespace hierarchy

/// A point of the per-memory form (docs/search.md), priced without a nest.
struct HierarchyPoint {
  const hierarchy::Problem* problem = nullptr;
  std::shared_ptr<const hierarchy::LevelPoint> tiles;
};

/// One tensor in one memory: counts per instance, in words (access model, docs/cost.md).
struct TensorTraffic {
  std::int64_t instances = 0, tile = 0, reads = 0, fills = 0, updates = 0;
};

struct Cost {
  double cycles = 0;
  double scalar_cycles = 0;  ///< of these: scalar code
  double launch_cycles = 0;  ///< of these: between kernels of thread blocks, where each nest is one
  double energy_pJ = 0;
  double bytes = 0;             ///< moved over all links
  std::string bound;            ///< the bottleneck: "compute", "link ld", "memory GLB"
  bool bound_by_calls = false;  ///< it is the throughput of the calls
  std::map<std::string, std::map<std::string, TensorTraffic>> memories;  ///< memory -> tensor
  std::map<std::string, double> link_bytes;                              ///< link -> bytes
  double edp() const { return cycles * energy_pJ; }
};

enum class Objective { cycles, energy, edp };
inline constexpr Objective all_objectives[] = {Objective::edp, Objective::cycles, Objective::energy};
std::string_view name(Objective objective);
double value(const Cost& cost, Objective objective);
/// Sum over statements in sequence; the slowest names the bound. Of one statement: its full cost.
Cost sum_of(const std::vector<Cost>& costs);

/// The cost of so many runs.
Cost repeated(Cost once, std::int64_t times);

/// Facts of the lines of one statement's nests, each found once (scheduler/nest/nest_facts.h). Of one thread.
class StatementFacts;

/// A nest in its context: input of cost models.
struct Candidate {
  const Kernel* kernel = nullptr;
  StatementId statement;
  const HardwareModel* model = nullptr;
  Nest nest;
  std::shared_ptr<StatementFacts> facts = nullptr;  ///< of this statement on this machine; nullptr: found anew
};
/// For many candidates of a statement: estimates take a third of the time. Kernel and model must outlive them.
std::shared_ptr<StatementFacts> statement_facts(const Kernel& kernel, StatementId statement,
                                                const HardwareModel& model);

class CostModel {
 public:
  virtual ~CostModel() = default;
  /// Diagnostics: a tile that does not fit (memory, needed, available), a dim that is not bound, ...
  virtual Result<Cost> estimate(const Candidate& candidate) = 0;
  /// Cycles and energy of a point of the per-memory form, without a nest: the same numbers, faster. Nothing: illegal,
  /// or this model needs the nest.
  virtual std::optional<Cost> quick_estimate(const HierarchyPoint&) { return {}; }
  /// A finer estimate of the few candidates among which a search chooses in the end, and of whatever is evaluated by
  /// itself: of a nest of a command stream its commands, replayed (docs/cost.md). `estimated`: what `estimate` said.
  /// Nothing: this model knows no finer one.
  virtual std::optional<Cost> refine(const Candidate&, const Cost& /*estimated*/) { return {}; }
  /// For learned models.
  virtual void observe(const Candidate&, const Cost& /*measured*/) {}
};

std::unique_ptr<CostModel> make_cost_model_closed_form();
/// The closed form plus exposed latency of fills, drains, buffers and shared ports (scheduler/cost/latency.h).
std::unique_ptr<CostModel> make_cost_model_latency();
/// The same by event simulation (scheduler/cost/event_simulation.h).
std::unique_ptr<CostModel> make_cost_model_simulator();

}  // namespace isamap

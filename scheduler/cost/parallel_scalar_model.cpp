// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/parallel_scalar_model.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "hwdesc/model/parallel_units.h"
#include "scheduler/nest/instruction_timing.h"

namespace isamap {
namespace {

std::optional<UnitId> block_of_scalar_code(const ResolvedNest& view) {
  const auto unit = view.model->scalar_unit_for(view.model->home());
  const auto block = unit ? outermost_numbered(*view.model, *unit) : std::nullopt;
  return block && *block != *unit && view.model->unit(*block).queued ? block : std::nullopt;
}

class ParallelScalarModel {
 public:
  ParallelScalarModel(const ResolvedNest& view, const TileCounts& counts)
      : view_(view),
        counts_(counts),
        model_(*view.model),
        lane_(*model_.scalar_unit_for(model_.home())),
        block_(*block_of_scalar_code(view)) {}

  ThreadBlockTime run() const {
    const UnitId around = model_.unit(block_).parent;
    const double processors = around.valid() ? static_cast<double>(model_.instances(around)) : 1;
    const double all = counts_.visits(static_cast<int>(view_.loops.size()));
    double blocks = 1;  // of the schedule; without them the backend launches enough
    bool scheduled = false;
    for (std::size_t w = 0; w < view_.loops.size(); ++w)
      if (const UnitId unit = view_.loops[w].unit; unit.valid() && model_.inside(block_, unit))
        blocks *= static_cast<double>(counts_.trip(static_cast<int>(w))), scheduled = true;
    const double waves = scheduled ? std::ceil(blocks / processors) : 1;
    const double busy = scheduled ? blocks / waves : processors;
    const double threads = std::max(1.0, std::min(elements(), busy * concurrent_threads()));
    ThreadBlockTime time;
    time.bound = "scalar code";
    time.join("scalar code", all * access_count(view_.statement) / threads);
    time.join("memory " + model_.memory(model_.home()).name, outermost(all));
    time.last = waves * latency();
    time.cycles += time.last;
    return time;
  }

 private:
  double lanes() const { return static_cast<double>(model_.unit(lane_).count); }

  MemoryId registers() const {
    for (std::size_t m = 0; m < model_.memories().size(); ++m)
      if (model_.memories()[m].is_register() && model_.memories()[m].per == lane_) return make_id<MemoryId>(m);
    return {};
  }

  /// Threads of one processor whose requests its port accepts in a cycle.
  double concurrent_threads() const {
    std::string port;
    for (const Instruction& move : model_.instructions())
      if (port.empty() && is_move(move) && move.operands.size() > 1 && move.operands[1].memory == model_.home() &&
          move.operands[0].memory == registers())
        port = move.timing.port;
    for (UnitId at = lane_; at.valid(); at = model_.unit(at).parent)
      if (const auto found = model_.unit(at).ports.find(port); found != model_.unit(at).ports.end())
        return lanes() * std::max<double>(1, static_cast<double>(found->second));
    return lanes();
  }

  /// Points distributed over threads: no two threads write one element, and none reads an element that another writes.
  double elements() const {
    const Computation& statement = view_.statement;
    std::set<std::string> apart;
    for (std::size_t axis = 0; axis < statement.write.index.size(); ++axis) {
      const AffineExpr& here = statement.write.index[axis];
      const bool same = std::all_of(statement.reads.begin(), statement.reads.end(), [&](const Access& read) {
        return read.tensor != statement.write.tensor || (axis < read.index.size() && read.index[axis] == here);
      });
      if (same) apart.merge(here.names());
    }
    double distributed = 1, steps = 1;
    for (const Dim& dim : statement.domain.dims)
      (apart.contains(dim.name) ? distributed : steps) *= static_cast<double>(std::max<std::int64_t>(dim.extent, 1));
    const bool split = statement.reduction != Reduction::assign && steps >= lanes();
    return distributed * (split ? lanes() : 1);
  }

  bool fused(int access) const {
    return std::any_of(view_.stages.begin(), view_.stages.end(), [&](const StagedTile& s) {
      return s.access == access && s.memory != model_.home() && !(s.stage.from.empty() && s.stage.then.empty());
    });
  }

  /// Each tensor is transferred once: all of it, or as many elements as there are points.
  double outermost(double points) const {
    const Memory& home = model_.memory(model_.home());
    std::set<TensorId> seen;
    double cycles = 0;
    for (int a = 0; a < access_count(view_.statement); ++a) {
      const TensorId id = access_of(view_.statement, a).tensor;
      const double bandwidth = a == 0 ? home.write_bandwidth : home.read_bandwidth;
      if (fused(a) || bandwidth <= 0 || !seen.insert(id).second) continue;
      const Tensor& tensor = view_.kernel->tensors[id.index()];
      double elements = 1;
      for (const std::int64_t extent : tensor.shape) elements *= static_cast<double>(extent);
      cycles += std::min(elements, points) * std::max(bytes(tensor.dtype), 1) / bandwidth;
    }
    return cycles;
  }

  /// Latency of a first load and a last store. In a fused consumer the loads overlap with the producer.
  double latency() const {
    const MemoryId own = registers();
    double cycles = 0;
    if (!own.valid()) return 0;
    bool consumer = false;
    for (int a = 1; a < access_count(view_.statement); ++a) consumer = consumer || fused(a);
    for (const auto& [from, to] : {std::pair(model_.home(), own), std::pair(own, model_.home())})
      if (!consumer || from == own)
        for (const LinkId link : links_between(model_, from, to)) cycles += model_.link(link).latency;
    return cycles;
  }

  const ResolvedNest& view_;
  const TileCounts& counts_;
  const HardwareModel& model_;
  UnitId lane_, block_;
};

}  // namespace

bool is_distributed(const ResolvedNest& view) { return !view.instruction && block_of_scalar_code(view); }

ThreadBlockTime parallel_scalar_time(const ResolvedNest& view, const TileCounts& counts) {
  return ParallelScalarModel(view, counts).run();
}

bool runs_in_waves(const ResolvedNest& view) { return is_distributed(view) || runs_in_blocks(view); }

std::optional<ThreadBlockTime> time_in_waves(const ResolvedNest& view, const TileCounts& counts) {
  if (is_distributed(view)) return parallel_scalar_time(view, counts);
  if (runs_in_blocks(view)) return thread_block_time(view, counts);
  return std::nullopt;
}

}  // namespace isamap

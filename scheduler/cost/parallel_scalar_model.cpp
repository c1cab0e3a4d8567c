// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/parallel_scalar_model.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "hwdesc/model/parallel_reduction_plan.h"
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
    double blocks = 1;  // those that the schedule asks for; without them the printer makes enough
    bool scheduled = false, threads_scheduled = false;
    for (std::size_t w = 0; w < view_.loops.size(); ++w) {
      const UnitId unit = view_.loops[w].unit;
      if (!unit.valid()) continue;
      threads_scheduled = threads_scheduled || (unit != block_ && model_.inside(unit, block_));
      if (model_.inside(block_, unit))
        blocks *= static_cast<double>(counts_.trip(static_cast<int>(w))), scheduled = true;
    }
    const ReductionShape shape = shape_of_sums();
    const bool whole =
        !scheduled && !threads_scheduled && view_.stages.empty();  // the launch has no other use for its threads
    const ParallelReductionPlan plan =
        threads_scheduled ? ParallelReductionPlan{} : parallel_reduction_plan(shape, model_, block_, whole);
    const bool planned = whole && view_.statement.reduction != Reduction::assign;
    const double waves = scheduled ? std::ceil(blocks / processors) : 1;
    double busy = scheduled ? blocks / waves : processors;
    if (planned) busy = std::min(processors, static_cast<double>(plan.blocks));
    const double elements = static_cast<double>(shape.sums * plan.parts());
    const double threads = std::max(1.0, std::min(elements, busy * concurrent_threads()));
    ThreadBlockTime time;
    time.bound = "scalar code";
    time.join("scalar code", all * access_count(view_.statement) / threads);
    time.join("memory " + model_.memory(model_.home()).name, outermost(all));
    if (planned) add_loads(shape, plan, busy, all, time);
    time.last = waves * latency();
    if (planned && plan.split()) time.last += combine_cycles(plan);
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

  /// Threads share points where no two of them write to one place, and none reads what another writes. Sums are split
  /// where every index of the write is a dim of its own, as the backend proves for its loops.
  ReductionShape shape_of_sums() const {
    const Computation& statement = view_.statement;
    std::set<std::string> apart;
    bool plain = statement.reduction != Reduction::assign;
    for (std::size_t axis = 0; axis < statement.write.index.size(); ++axis) {
      const AffineExpr& here = statement.write.index[axis];
      const bool same = std::all_of(statement.reads.begin(), statement.reads.end(), [&](const Access& read) {
        return read.tensor != statement.write.tensor || (axis < read.index.size() && read.index[axis] == here);
      });
      plain = plain && (here.is_constant() || here.as_dim());
      if (same) apart.merge(here.names());
    }
    std::vector<ReductionLoop> sums, terms;
    for (const Dim& dim : statement.domain.dims)
      (apart.contains(dim.name) ? sums : terms).push_back({dim.name, std::max<std::int64_t>(dim.extent, 1)});
    std::vector<std::pair<AffineExpr, DType>> reads;
    for (const Access& read : statement.reads) {
      plain = plain && read.tensor != statement.write.tensor;
      reads.emplace_back(offset(read), view_.kernel->tensors[read.tensor.index()].dtype);
    }
    ReductionShape shape =
        reduction_shape(sums, terms, reads, view_.kernel->tensors[statement.write.tensor.index()].dtype);
    if (!plain) shape.terms = 1;  // nothing to split
    return shape;
  }

  /// Of elements, rows after one another.
  AffineExpr offset(const Access& access) const {
    const Tensor& tensor = view_.kernel->tensors[access.tensor.index()];
    AffineExpr sum;
    for (std::size_t axis = 0; axis < access.index.size(); ++axis)
      sum = sum * std::max<std::int64_t>(tensor.shape[axis], 1) + access.index[axis];
    return sum;
  }

  double latency_between(MemoryId from, MemoryId to) const {
    double cycles = 0;
    for (const LinkId link : links_between(model_, from, to)) cycles += model_.link(link).latency;
    return cycles;
  }

  MemoryId scratchpad() const {
    for (std::size_t m = 0; m < model_.memories().size(); ++m)
      if (model_.memories()[m].per == block_ && model_.memories()[m].kind == MemoryKind::scratchpad)
        return make_id<MemoryId>(m);
    return {};
  }

  /// All that is read passes the links of the processors in use. A thread's loads come in groups of those that are in
  /// flight together; the first group is in `latency`.
  void add_loads(const ReductionShape& shape, const ParallelReductionPlan& plan, double busy, double all,
                 ThreadBlockTime& time) const {
    const MemoryId own = registers();
    if (!own.valid()) return;
    double bytes_read = 0, bandwidth = 0;
    for (int a = 1; a < access_count(view_.statement); ++a) bytes_read += bytes_once(a, all);
    for (const LinkId link : links_between(model_, model_.home(), own))
      if (const double here = model_.link(link).bandwidth; here > 0)
        bandwidth = bandwidth > 0 ? std::min(bandwidth, here) : here;
    if (bandwidth > 0)
      time.join("link of " + std::to_string(static_cast<std::int64_t>(busy)) + " processors",
                bytes_read / (bandwidth * busy));
    const double each = std::ceil(static_cast<double>(shape.terms) / static_cast<double>(plan.parts()));
    const double groups = std::ceil(each / static_cast<double>(plan.chunk * plan.loads_in_flight));
    time.join("loads of a thread", (groups - 1) * latency_between(model_.home(), own));
  }

  /// Parts in the block's memory: a tree over them all (columns), or two barriers' distance for the parts of warps.
  double combine_cycles(const ParallelReductionPlan& plan) const {
    const MemoryId own = registers(), shared = scratchpad();
    if (!own.valid() || !shared.valid() || plan.warp_parts() * (plan.by_columns() ? plan.lanes : 1) == 1) return 0;
    double barrier = 0;
    for (const Barrier& b : model_.barriers())
      if (b.unit == block_ && !b.partial) barrier = std::max(barrier, b.latency);
    const double steps = plan.by_columns() ? std::ceil(std::log2(static_cast<double>(plan.parts()))) : 1;
    return steps * (barrier + latency_between(own, shared) + latency_between(shared, own));
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
      cycles += bytes_once(a, points) / bandwidth;
    }
    return cycles;
  }

  double bytes_once(int access, double points) const {
    const Tensor& tensor = view_.kernel->tensors[access_of(view_.statement, access).tensor.index()];
    double elements = 1;
    for (const std::int64_t extent : tensor.shape) elements *= static_cast<double>(extent);
    return std::min(elements, points) * std::max(bytes(tensor.dtype), 1);
  }

  /// Latency of a first load and a last store. In a fused consumer the loads overlap with the producer.
  double latency() const {
    const MemoryId own = registers();
    double cycles = 0;
    if (!own.valid()) return 0;
    bool consumer = false;
    for (int a = 1; a < access_count(view_.statement); ++a) consumer = consumer || fused(a);
    for (const auto& [from, to] : {std::pair(model_.home(), own), std::pair(own, model_.home())})
      if (!consumer || from == own) cycles += latency_between(from, to);
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

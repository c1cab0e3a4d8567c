// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/scalar_work.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "scheduler/nest/instruction_timing.h"

namespace isamap {

namespace {

class ScalarWorkBuilder {
 public:
  ScalarWorkBuilder(const ResolvedNest& view, const TileCounts& counts, UnitId block)
      : view_(view),
        counts_(counts),
        model_(*view.model),
        lane_(*model_.scalar_unit_for(model_.home())),
        block_(block) {}

  ScalarWork run() const {
    const UnitId around = model_.unit(block_).parent;
    const double processors = around.valid() ? static_cast<double>(model_.instances(around)) : 1;
    double blocks = 1;           // those that the schedule asks for; without them the printer makes enough
    std::int64_t instances = 1;  // of units around the statement
    bool scheduled = false, threads_scheduled = false, lanes_scheduled = false;
    for (std::size_t w = 0; w < view_.loops.size(); ++w) {
      const UnitId unit = view_.loops[w].unit;
      if (!unit.valid()) continue;
      instances *= std::max<std::int64_t>(1, counts_.trip(static_cast<int>(w)));
      threads_scheduled = threads_scheduled || (unit != block_ && model_.inside(unit, block_));
      lanes_scheduled = lanes_scheduled || unit == lane_;
      if (model_.inside(block_, unit))
        blocks *= static_cast<double>(counts_.trip(static_cast<int>(w))), scheduled = true;
    }
    ScalarWork work;
    work.lane = lane_;
    work.block = block_;
    work.registers = registers_of(model_, lane_);
    work.points = counts_.visits(static_cast<int>(view_.loops.size()));
    work.shape = shape_of_sums();
    const bool whole =
        !scheduled && !threads_scheduled && view_.stages.empty();  // the launch has no other use for its threads
    ReductionShape of_each = work.shape;
    of_each.sums = (of_each.sums + instances - 1) / instances;
    if (!lanes_scheduled)
      work.plan = parallel_reduction_plan(of_each, model_, block_, reduction_scope(threads_scheduled, whole));
    work.planned = whole && view_.statement.reduction != Reduction::assign;
    work.waves = scheduled ? std::ceil(blocks / processors) : 1;
    work.processors_busy = scheduled ? blocks / work.waves : processors;
    if (work.planned) work.processors_busy = std::min(processors, static_cast<double>(work.plan.blocks));
    const double elements = static_cast<double>(work.shape.sums * work.plan.parts());
    work.threads = std::max(1.0, std::min(elements, work.processors_busy * concurrent_threads()));
    return work;
  }

 private:
  double lanes() const { return static_cast<double>(model_.unit(lane_).count); }

  /// Threads of one processor whose requests its port accepts in a cycle.
  double concurrent_threads() const {
    const MemoryId own = registers_of(model_, lane_);
    std::string port;
    for (const Instruction& move : model_.instructions())
      if (port.empty() && is_move(move) && move.operands.size() > 1 && move.operands[1].memory == model_.home() &&
          move.operands[0].memory == own)
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

  const ResolvedNest& view_;
  const TileCounts& counts_;
  const HardwareModel& model_;
  UnitId lane_, block_;
};

}  // namespace

ScalarWork scalar_work(const ResolvedNest& view, const TileCounts& counts, UnitId block) {
  return ScalarWorkBuilder(view, counts, block).run();
}

double executed_share(const ResolvedNest& view, const TileCounts& counts) {
  const auto scatter = view.instruction ? std::nullopt : scatter_of(view.statement);
  double points = 1;
  for (std::size_t d = 0; scatter && d < view.statement.domain.dims.size(); ++d) {
    if (!scatter->has(view.statement.domain.dims[d].name)) continue;
    auto l = static_cast<int>(view.loops.size()) - 1;
    while (l >= 0 && view.loops[static_cast<std::size_t>(l)].dim != static_cast<int>(d)) --l;
    if (l >= 0 && !view.loops[static_cast<std::size_t>(l)].unit.valid()) points *= static_cast<double>(counts.trip(l));
  }
  return 1 / std::max(1.0, points);
}

int innermost_scalar_loop(const ResolvedNest& view, const std::optional<Scatter>& scatter) {
  auto l = static_cast<int>(view.loops.size()) - 1;
  for (; scatter && l >= 0; --l) {
    const int dim = view.loops[static_cast<std::size_t>(l)].dim;
    const std::string& name = view.statement.domain.dims[static_cast<std::size_t>(dim)].name;
    if (!scatter->has(name) && !scatter->fixed.contains(name)) break;
  }
  return l;
}

bool is_fused(const ResolvedNest& view, int access) {
  return std::any_of(view.stages.begin(), view.stages.end(), [&](const StagedTile& s) {
    return s.access == access && s.memory != view.model->home() && !(s.stage.from.empty() && s.stage.then.empty());
  });
}

double bytes_once(const ResolvedNest& view, int access, double points) {
  const Tensor& tensor = view.kernel->tensors[access_of(view.statement, access).tensor.index()];
  double elements = 1;
  for (const std::int64_t extent : tensor.shape) elements *= static_cast<double>(extent);
  return std::min(elements, points) * std::max(bytes(tensor.dtype), 1);
}

double latency_between(const HardwareModel& model, MemoryId from, MemoryId to) {
  double cycles = 0;
  for (const LinkId link : links_between(model, from, to)) cycles += model.link(link).latency;
  return cycles;
}

}  // namespace isamap

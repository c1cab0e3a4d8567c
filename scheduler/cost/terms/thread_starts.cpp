// SPDX-License-Identifier: Apache-2.0
// Parallel loops: what it takes to begin one on all its threads, and to wait for the last of them. A fused consumer is
// inside the loop of its producer.
//
//   sum over outermost loops distributed over threads: times entered x start
//
// In a model, the other parts distribute what they share with this one too. All are taken to do so along its outermost
// axis: whoever distributes another dim finds most of its share in the caches of other threads. Among loops that cost
// the same, those along outermost axes are chosen, so that the assumption holds. A window reads beyond the rows of its
// thread (the halo): with steps of s and `span` rows of an output row, span - s rows are those of other threads. Each
// thread has that many, whichever of its sides they are on: in bands its rows of the band begin after those that were
// kept, so all of them are on one side.
//
//   (threads - 1) / threads x bytes of a share / bandwidth into the own cache x exposed_starts

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "scheduler/cost/term.h"

namespace isamap {

namespace {

/// Into the largest cache of a thread; 0: threads have none.
double bandwidth_into_own_cache(const HardwareModel& model, UnitId unit) {
  MemoryId own;
  for (std::size_t m = 0; m < model.memories().size(); ++m) {
    const Memory& memory = model.memories()[m];
    if (memory.kind == MemoryKind::cache && memory.per == unit &&
        (!own.valid() || memory.capacity > model.memory(own).capacity))
      own = make_id<MemoryId>(m);
  }
  double bandwidth = 0;
  for (const Link& link : model.links())
    if (own.valid() && link.to == own) bandwidth = std::max(bandwidth, link.bandwidth);
  return bandwidth;
}

/// Rows of the axis that a share of `name` reads beyond its own: 2 of `p + r - 1` with three r, none of `2*p + r`
/// with two. At most the rows of another share.
double halo_rows(const AffineExpr& index, const std::string& name, const Ranges& ranges, double share) {
  Ranges one = ranges;
  one[name] = {0, 0};
  const std::optional<Interval> window = bounds(index, one);
  if (!window || index.coefficient(name) == 0) return 0;  // of divisions each share has whole groups
  const std::int64_t span = window->high - window->low + 1;
  return std::clamp(static_cast<double>(span - std::abs(index.coefficient(name))), 0.0, share);
}

/// Bytes of a tensor that a thread shares with other parts and that other threads have, if it has `1 / threads` of dim
/// `name`.
double bytes_of_others(const Tensor& tensor, const Access& access, const std::string& name, const Ranges& ranges,
                       double threads) {
  const double size = static_cast<double>(byte_count(tensor)), others = 1 - 1 / threads;
  bool outermost = true;
  for (std::size_t a = 0; a < access.index.size(); ++a) {
    if (tensor.shape[a] == 1) continue;
    if (access.index[a].names().contains(name)) {
      if (!outermost) return size / threads * others;
      const auto rows = static_cast<double>(tensor.shape[a]);
      return size / rows * halo_rows(access.index[a], name, ranges, rows * others);
    }
    outermost = false;
  }
  return size * others;
}

double cycles_of_others(const ResolvedNest& view, const LoopLevel& loop, double threads) {
  const double bandwidth = bandwidth_into_own_cache(*view.model, loop.unit);
  if (view.model->timing.between_runs == 0 || bandwidth == 0) return 0;
  const std::string& name = view.statement.domain.dims[static_cast<std::size_t>(loop.dim)].name;
  Ranges ranges;
  for (const Dim& dim : view.statement.domain.dims) ranges[dim.name] = {0, dim.extent - 1};
  double sum = 0;
  for (int a = 0; a < access_count(view.statement); ++a) {
    const Access& access = access_of(view.statement, a);
    const Tensor& tensor = view.kernel->tensors[access.tensor.index()];
    if (!tensor.constant) sum += bytes_of_others(tensor, access, name, ranges, threads);
  }
  return sum / bandwidth * view.model->timing.exposed_starts;
}

void thread_start_times(const TermContext& at, std::vector<TermTime>& times) {
  const ResolvedNest& view = at.view;
  if (std::any_of(view.stages.begin(), view.stages.end(),
                  [](const StagedTile& staged) { return !staged.stage.from.empty(); }))
    return;
  for (std::size_t w = 0; w < view.loops.size(); ++w) {
    const LoopLevel& loop = view.loops[w];
    if (!loop.unit.valid() || at.counts.trip(static_cast<int>(w)) < 2) continue;
    const Threads& threads = view.model->unit(loop.unit).threads;
    if (threads.loop.empty()) continue;
    if (threads.start > 0)
      times.push_back({"start of threads", "", at.counts.steps(static_cast<int>(w)) * threads.start});
    if (const double others = cycles_of_others(view, loop, static_cast<double>(at.counts.trip(static_cast<int>(w))));
        others > 0)
      times.push_back({"shares of other threads", "", others});
    return;
  }
}

}  // namespace

namespace terms {

extern const Term thread_starts{"start of threads",
                                "times entered x start, of the outermost loop distributed over threads; in a model "
                                "also bytes of others / bandwidth",
                                "units.*.threads.start, timing.exposed_starts",
                                "definition of the parameter",
                                Overlap::once,
                                false,
                                thread_start_times};

}  // namespace terms
}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#include "hwdesc/model/parallel_reduction_plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "hwdesc/model/lane_exchanges.h"
#include "hwdesc/model/parallel_units.h"
#include "isamap/kernel.h"

namespace isamap {
namespace {

// Loads that one thread has in flight down a column: a block of 1024 threads x 8 loads x 4 bytes keeps 70 B/cycle busy
// at a latency of 466 cycles (Little's law).
constexpr std::int64_t columns_in_flight = 8;
constexpr std::int64_t least_terms = 4;  // of a part: shorter ones cost more to combine than they save

std::int64_t product(const std::vector<ReductionLoop>& loops) {
  std::int64_t count = 1;
  for (const ReductionLoop& l : loops) count *= std::max<std::int64_t>(l.trip, 0);
  return count;
}

/// Of the loops that run, one by whose variable the offset moves to its neighbour.
const ReductionLoop* contiguous(const AffineExpr& offset, const std::vector<ReductionLoop>& loops) {
  const auto found = std::find_if(loops.begin(), loops.end(), [&](const ReductionLoop& l) {
    return l.trip > 1 && offset.coefficient(l.variable) == 1;
  });
  return found == loops.end() ? nullptr : &*found;
}

bool runs_once(const std::string& variable, const std::vector<ReductionLoop>& loops) {
  return std::any_of(loops.begin(), loops.end(),
                     [&](const ReductionLoop& l) { return l.variable == variable && l.trip <= 1; });
}

/// Bytes in flight when the outermost memory is busy; 0: the file does not say.
double bytes_in_flight(const HardwareModel& model) {
  double latency = 0;
  for (const Link& link : model.links())
    if (link.from == model.home() && model.memory(link.to).is_register()) latency = std::max(latency, link.latency);
  return model.memory(model.home()).read_bandwidth * latency;
}

/// Bytes of the widest move of neighbours into registers of a lane.
std::int64_t widest_load(const HardwareModel& model, UnitId unit) {
  std::int64_t widest = 0;
  for (const Instruction& move : model.instructions()) {
    if (!is_move(move) || move.unit != unit || !move.async_by.empty() || move.operands.size() < 2) continue;
    const Computation& statement = move.statement();
    if (statement.domain.dims.size() == 1 && move.operands[1].memory == model.home() && move.operands[1].dtype)
      widest = std::max(widest, statement.domain.dims[0].extent * bits(*move.operands[1].dtype) / 8);
  }
  return widest;
}

std::int64_t power_of_two_from(std::int64_t n) {
  std::int64_t power = 1;
  while (power < n) power *= 2;
  return power;
}

class ReductionPlanner {
 public:
  ReductionPlanner(const ReductionShape& shape, const HardwareModel& model, UnitId block)
      : shape_(shape),
        model_(model),
        block_(block),
        units_(units_of_threads(model, block)),
        lanes_(model.unit(units_.back()).count),
        // Threads, with one element each in flight, that keep the memory busy.
        wanted_(2 * bytes_in_flight(model) / static_cast<double>(std::max<std::int64_t>(shape.widest_read, 1))) {}

  ParallelReductionPlan plan(ReductionScope scope) const {
    const bool launch = scope == ReductionScope::launch;
    if (model_.unit(units_.back()).at_most || shape_.sums < 1 || shape_.terms < 1) return unsplit();
    // Rows: lanes that each add up a column would load from different transactions.
    const bool rows_only = shape_.along_terms && !shape_.along_sums;
    const bool few = shape_.sums < lanes_ && !(shape_.along_sums && !shape_.along_terms && launch);
    if (shape_.terms >= lanes_ && (few || rows_only) && !lane_exchanges(model_, units_.back(), shape_.type).empty())
      return rows(scope);
    return launch && !rows_only ? columns() : unsplit();
  }

 private:
  ParallelReductionPlan unsplit() const {
    ParallelReductionPlan plan;
    plan.columns = lanes_;
    plan.blocks = std::max<std::int64_t>(1, (shape_.sums + usual_threads - 1) / usual_threads);
    plan.loads_in_flight = usual_loads;
    return plan;
  }

  /// Of units with a fixed count all take part; of the outermost without one as many, a power of two, as make no more
  /// than `most` warps. Empty: all that must take part are more.
  std::vector<std::int64_t> warps_of(std::int64_t most) const {
    std::int64_t fixed = 1;
    for (std::size_t u = 0; u + 1 < units_.size(); ++u)
      if (!model_.unit(units_[u]).at_most) fixed *= model_.unit(units_[u]).count;
    if (fixed > most) return {};
    std::vector<std::int64_t> counts;
    std::int64_t free = 1;
    bool open = true;
    for (std::size_t u = 0; u + 1 < units_.size(); ++u) {
      std::int64_t count = model_.unit(units_[u]).count;
      if (model_.unit(units_[u]).at_most) {
        for (free = 1; open && fixed * free * 2 <= most && free * 2 <= count;) free *= 2;
        count = free;
        open = false;
      }
      counts.push_back(count);
    }
    return counts;
  }

  bool has_scratchpad() const {
    return std::any_of(model_.memories().begin(), model_.memories().end(),
                       [&](const Memory& m) { return m.per == block_ && m.kind == MemoryKind::scratchpad; });
  }

  /// Warps that share a sum: as many as keep the memory busy, or, in one block, all of it where sums one after another
  /// take half the time of as many side by side.
  std::int64_t most_warps(std::int64_t chunk, ReductionScope scope) const {
    const std::int64_t filled = std::min(shape_.terms / (std::max(chunk, least_terms) * lanes_), lanes_);
    const std::int64_t of_block = std::max<std::int64_t>(1, usual_threads / lanes_);
    if (wanted_ <= 0) return 1;  // no time of the memory: how many are needed is not known
    if (scope == ReductionScope::block) return 2 * shape_.sums > of_block ? 1 : std::min(filled, of_block);
    const double wanted = wanted_ / static_cast<double>(lanes_ * usual_loads * chunk);
    return std::min(filled, static_cast<std::int64_t>(std::ceil(wanted / static_cast<double>(shape_.sums))));
  }

  ParallelReductionPlan rows(ReductionScope scope) const {
    ParallelReductionPlan plan;
    plan.lanes = lanes_;
    plan.loads_in_flight = usual_loads;
    if (shape_.along_terms)
      for (plan.chunk = std::max<std::int64_t>(1, widest_load(model_, units_.back()) / shape_.widest_read);
           plan.chunk > 1 && shape_.chunk_bytes % (plan.chunk * shape_.widest_read) != 0;)
        plan.chunk /= 2;
    if (scope != ReductionScope::warp && has_scratchpad()) plan.warps = warps_of(most_warps(plan.chunk, scope));
    if (plan.warp_parts() == 1) plan.warps.clear();
    const std::int64_t of_block = plan.warps.empty() ? std::max<std::int64_t>(1, usual_threads / lanes_) : 1;
    plan.blocks = (shape_.sums + of_block - 1) / of_block;
    return plan;
  }

  ParallelReductionPlan columns() const {
    // Narrow integers have no registers of their type, and no constant of a program is the largest 64-bit integer.
    const bool held = is_float(shape_.type) ? bits(shape_.type) >= 16 : bits(shape_.type) == 32;
    if (!has_scratchpad() || !held || units_.size() < 2 || lanes_ != power_of_two_from(lanes_)) return unsplit();
    ParallelReductionPlan plan;
    plan.loads_in_flight = columns_in_flight;
    const UnitId around = model_.unit(block_).parent;
    const std::int64_t processors = around.valid() ? model_.instances(around) : 1;
    const std::int64_t request = std::max<std::int64_t>(1, model_.memory(model_.home()).transaction);
    const auto blocks = [&] { return (shape_.sums + plan.columns - 1) / plan.columns; };
    plan.columns = std::min(lanes_, power_of_two_from(shape_.sums));
    while (plan.columns > 2 && blocks() < processors && plan.columns / 2 * shape_.widest_read >= request)
      plan.columns /= 2;
    if (plan.columns < 2) return unsplit();
    plan.lanes = lanes_ / plan.columns;
    plan.blocks = blocks();
    const double threads = wanted_ / columns_in_flight;
    const std::int64_t parts = std::min<std::int64_t>(
        shape_.terms / least_terms, static_cast<std::int64_t>(std::ceil(threads / static_cast<double>(shape_.sums))));
    plan.warps = warps_of(parts / plan.lanes);
    return plan.warps.empty() || !plan.split() ? unsplit() : plan;
  }

  const ReductionShape& shape_;
  const HardwareModel& model_;
  UnitId block_;
  std::vector<UnitId> units_;
  std::int64_t lanes_;
  double wanted_;
};

}  // namespace

ReductionShape reduction_shape(const std::vector<ReductionLoop>& sums, const std::vector<ReductionLoop>& terms,
                               const std::vector<std::pair<AffineExpr, DType>>& reads, DType type) {
  ReductionShape shape;
  shape.sums = product(sums);
  shape.terms = product(terms);
  shape.type = type;
  for (const auto& [offset, of] : reads) {
    const std::int64_t size = std::max<std::int64_t>(1, bytes(of));
    shape.widest_read = std::max(shape.widest_read, size);
    const auto names = offset.names();
    const bool of_a_term = std::any_of(
        terms.begin(), terms.end(), [&](const ReductionLoop& l) { return l.trip > 1 && names.contains(l.variable); });
    shape.along_sums = shape.along_sums || (of_a_term && contiguous(offset, sums) != nullptr);
    const ReductionLoop* along = contiguous(offset, terms);
    if (along == nullptr) continue;
    shape.along_terms = true;
    shape.chunk_bytes = std::gcd(shape.chunk_bytes, offset.constant() * size);
    for (const AffineTerm& term : offset.terms()) {
      const auto* name = std::get_if<std::string>(&term.atom);
      if (name == nullptr || (*name != along->variable && !runs_once(*name, sums) && !runs_once(*name, terms)))
        shape.chunk_bytes = std::gcd(shape.chunk_bytes, term.coefficient * size);
    }
  }
  return shape;
}

ParallelReductionPlan parallel_reduction_plan(const ReductionShape& shape, const HardwareModel& model, UnitId block,
                                              ReductionScope scope) {
  if (units_of_threads(model, block).empty()) return {};
  return ReductionPlanner(shape, model, block).plan(scope);
}

}  // namespace isamap

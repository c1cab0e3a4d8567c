// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/block_sums.h"

#include <algorithm>
#include <set>
#include <utility>

#include "backends/cuda/loop_substitution.h"
#include "hwdesc/model/parallel_reduction_plan.h"
#include "hwdesc/model/parallel_units.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

/// Cycles in which a thread waits for its terms.
double loading(const ReductionShape& shape, const ParallelReductionPlan& plan, const HardwareModel& model) {
  double latency = 0;
  for (const Link& link : model.links())
    if (link.from == model.home() && model.memory(link.to).is_register()) latency = std::max(latency, link.latency);
  const std::int64_t together = plan.parts() * plan.chunk * plan.loads_in_flight;
  return latency * static_cast<double>((shape.terms + together - 1) / together);
}

/// Assigns where the buffer is written; returns the number of these places.
int store_sums(std::vector<Node>& nodes, BufferId buffer) {
  int count = 0;
  for (Node& node : nodes)
    std::visit(
        overloaded{[&](Loop& loop) { count += store_sums(loop.body, buffer); },
                   [&](Guard& guard) { count += store_sums(guard.then, buffer) + store_sums(guard.otherwise, buffer); },
                   [&](Element& element) {
                     if (element.write.buffer != buffer) return;
                     element.reduction = Reduction::assign;
                     ++count;
                   },
                   [](auto&) {}},
        node.is);
  return count;
}

Node around(const std::vector<Loop>& loops, std::vector<Node> nodes) {
  for (std::size_t i = loops.size(); i-- > 0;) {
    Loop loop = loops[i];
    loop.body = std::move(nodes);
    nodes = {Node{std::move(loop)}};
  }
  return std::move(nodes.front());
}

bool accesses(const NestToStitch& nest, BufferId buffer) {
  return std::any_of(nest.accesses.begin(), nest.accesses.end(),
                     [&](const NestAccess& access) { return access.buffer == buffer; });
}

/// Of the loops over all sums.
Ranges ranges_of(const std::vector<Loop>& loops) {
  Ranges ranges;
  for (const Loop& loop : loops) ranges[loop.variable] = {0, loop.trip - 1};
  return ranges;
}

}  // namespace

SharedBy sums_shared_by(const NestToStitch& nest, const Program& program, const HardwareModel& model, UnitId grid) {
  const auto* element = nest.body.size() == 1 ? std::get_if<Element>(&nest.body[0].is) : nullptr;
  if (element == nullptr || element->reduction == Reduction::assign) return SharedBy::nobody;
  const DType type = program.buffers[element->write.buffer.index()].dtype;
  if (program.sums_in_order && is_float(type)) return SharedBy::nobody;
  const std::set<std::string> own = nest.accesses[0].offset.names();
  std::vector<ReductionLoop> sums, terms;
  for (const Loop& loop : nest.chain)
    (own.contains(loop.variable) ? sums : terms).push_back({loop.variable, loop.trip});
  std::vector<std::pair<AffineExpr, DType>> reads;
  for (const NestAccess& access : nest.accesses)
    if (!access.written && !access.ranges.empty())
      reads.emplace_back(access.offset, program.buffers[access.buffer.index()].dtype);
  const ReductionShape shape = reduction_shape(sums, terms, reads, type);
  const ParallelReductionPlan plan = parallel_reduction_plan(shape, model, grid, ReductionScope::launch);
  if (plan.by_columns()) return SharedBy::columns_of_blocks;
  if (plan.warp_parts() <= 1) return SharedBy::nobody;
  ReductionShape row = shape;
  row.sums = 1;
  const double longer =
      loading(row, parallel_reduction_plan(row, model, grid, ReductionScope::block), model) - loading(row, plan, model);
  return longer > model.timing.launch ? SharedBy::rows_of_blocks : SharedBy::few_warps;
}

NestToStitch sums_outermost(NestToStitch nest) {
  const std::set<std::string> own = nest.accesses[0].offset.names();
  std::stable_partition(nest.chain.begin(), nest.chain.end(),
                        [&](const Loop& loop) { return own.contains(loop.variable); });
  return nest;
}

bool finishes(const NestToStitch& next, const std::vector<NestToStitch>& nests) {
  const std::int64_t sums = nests.front().elements;
  std::int64_t trips = 1;
  for (const Loop& loop : next.chain) trips *= loop.trip;
  if (next.reduces || next.elements != sums || trips != sums) return false;
  const bool reads_sums = std::any_of(
      nests.begin(), nests.end(), [&](const NestToStitch& nest) { return accesses(next, nest.accesses[0].buffer); });
  std::vector<const NestToStitch*> all;
  for (const NestToStitch& nest : nests) all.push_back(&nest);
  all.push_back(&next);
  return reads_sums && independent_rows(sums, all);
}

Node finished_sums(const std::vector<NestToStitch>& nests, const HardwareModel& model) {
  const NestToStitch& sum = nests.front();
  const std::vector<Loop> sums = rows_of(sum, sum.elements);
  const std::vector<Loop> terms(sum.chain.begin() + static_cast<std::ptrdiff_t>(sums.size()), sum.chain.end());
  const Ranges ranges = ranges_of(sums);
  AffineExpr number;
  for (const Loop& loop : sums) number = number * loop.trip + AffineExpr::dim(loop.variable);
  std::vector<Node> body = {around(terms, sum.body)};
  for (std::size_t n = 1; n < nests.size(); ++n)
    for (Node& node : with_values(nests[n].body, numbers_of(nests[n].chain, number, ranges), ranges, model))
      body.push_back(std::move(node));
  return around(sums, std::move(body));
}

void store_begun_sums(std::vector<Node>& nodes, const std::vector<Node>& before, const BegunSums& begun) {
  const auto* loop = before.size() == 1 ? std::get_if<Loop>(&before[0].is) : nullptr;
  const auto found = loop == nullptr ? begun.end() : begun.find(loop->variable);
  if (found == begun.end()) return;
  ISAMAP_CHECK(store_sums(nodes, found->second) == 1, "the sums of a block are stored in more than one place");
}

}  // namespace isamap

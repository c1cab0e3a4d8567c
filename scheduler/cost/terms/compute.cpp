// SPDX-License-Identifier: Apache-2.0
// Throughput of calls, or the dependence chain of updates through too few accumulators:
//
//   steps x max(interval / ports, latency / accumulators)
//
// of the busiest instance; `in_bounds` of it where products that are out of bounds are skipped. Scalar code: steps x
// accesses of a point, or the cycles of a copied element.

#include <algorithm>
#include <cmath>

#include "ir/element_cycles.h"
#include "scheduler/cost/term.h"
#include "scheduler/nest/instruction_timing.h"

namespace isamap {

namespace {

/// Is the dim part of what is divided? Divisions of outer dims are hoisted out of the innermost loop.
bool is_divided(const AffineExpr& e, const std::string& dim) {
  return std::any_of(e.terms().begin(), e.terms().end(), [&](const AffineTerm& term) {
    const FloorDiv* divided = division(term);
    return divided != nullptr && divided->numerator->names().contains(dim);
  });
}

/// Cycles of one point of scalar code, priced as simulators price elements (ir/element_cycles.h).
double scalar_point(const ResolvedNest& view, const TimingParameters& timing) {
  const Computation& statement = view.statement;
  const bool copies = statement.reduction == Reduction::assign && statement.reads.size() < 2 &&
                      (statement.reads.empty() || std::holds_alternative<Read>(statement.body.op));
  if (!copies) return access_count(statement) * timing.access;
  const std::string inner =
      view.loops.empty() ? "" : statement.domain.dims[static_cast<std::size_t>(view.loops.back().dim)].name;
  double cycles = timing.copy_contiguous;
  for (int a = 0; a < access_count(statement); ++a) {
    const Access& access = access_of(statement, a);
    const AffineExpr offset = position(access.index, view.kernel->tensors[access.tensor.index()]);
    if (inner.empty() ? !offset.is_linear() : is_divided(offset, inner)) return timing.copy_divided;
    if (!inner.empty() && std::abs(offset.coefficient(inner)) != 1) cycles = timing.copy_strided;
  }
  return cycles;
}

/// Do calls update sums in registers, one after another?
bool is_chained(const ResolvedNest& view) {
  const int stage = view.innermost[0];
  return view.statement.reduction != Reduction::assign && stage >= 0 &&
         view.model->memory(view.memory_of(stage)).is_register();
}

void compute_times(const TermContext& at, std::vector<TermTime>& times) {
  const ResolvedNest& view = at.view;
  const double steps = at.counts.steps(static_cast<int>(view.loops.size())) * view.in_bounds;
  if (!view.instruction) {
    times.push_back({"scalar code", "", steps * scalar_point(view, at.timing)});
    return;
  }
  const Instruction& instruction = *view.instruction;
  const std::vector<std::int64_t> extents = view.call_extents();
  const double each = interval_of(instruction, extents, *view.model) / ports_of(instruction, *view.model);
  if (is_chained(view)) {
    const int loops = view.stages[static_cast<std::size_t>(view.innermost[0])].loops;
    const double chains = std::max(1.0, at.counts.slots(0, loops));
    const double latency = latency_of(instruction, extents, *view.model) / chains;
    if (latency > each) {
      times.push_back({"latency of", instruction.name, steps * latency, BoundOf::other, chains, "accumulators"});
      return;
    }
  }
  times.push_back({"compute", "", steps * each, BoundOf::calls});
}

}  // namespace

namespace terms {

extern const Term compute{"compute",
                          "steps x max(interval / ports, latency / accumulators)",
                          "instructions.*.timing, timing.access, timing.copy_*",
                          "definition of throughput and latency (Fog, Instruction tables, introduction)",
                          Overlap::calls,
                          true,
                          compute_times};

}  // namespace terms
}  // namespace isamap

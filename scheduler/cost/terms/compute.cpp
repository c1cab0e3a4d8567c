// SPDX-License-Identifier: Apache-2.0
// Throughput of calls, or the dependence chain of updates through too few accumulators:
//
//   steps x max(interval / ports, latency / accumulators)
//
// of the busiest instance; `in_bounds` of it where products that are out of bounds are skipped. Scalar code: steps x
// accesses of a point, or the cycles of a copied element; of the loops over digits of a scatter one step each.

#include <algorithm>
#include <cmath>

#include "hwdesc/model/scalar_timing.h"
#include "scheduler/cost/scalar_work.h"
#include "scheduler/cost/term.h"
#include "scheduler/nest/instruction_timing.h"

namespace isamap {

namespace {

/// A copy of what one access reads; the others are its subscripts.
bool is_copy(const Computation& statement) {
  if (statement.reduction != Reduction::assign) return false;
  if (statement.reads.empty()) return true;
  const auto subscripts = std::count_if(statement.reads.begin(), statement.reads.end(),
                                        [](const Access& read) { return read.computed.has_value(); });
  return std::holds_alternative<Read>(statement.body.op) &&
         (statement.reads.size() == 1 || (statement.reads.size() == 2 && subscripts == 1));
}

/// Does the access only say where others are? A subscript, or an operand of the place of a scatter.
bool is_place(const Computation& statement, const std::optional<Scatter>& scatter, int access) {
  const auto names_it = [&](const Access& read) { return read.computed && read.computed->read == access - 1; };
  return std::any_of(statement.reads.begin(), statement.reads.end(), names_it) ||
         (scatter && std::count(scatter->operands.begin(), scatter->operands.end(), access - 1) > 0);
}

/// Cycles of one point of scalar code, priced as simulators price elements (ir/element_cycles.h). Rows at computed
/// places (`Y[i,j] = X[at(J[i]),j]`, and scatters of rows) are copied as others are, and their places read once a row.
double scalar_point(const TermContext& at) {
  const ResolvedNest& view = at.view;
  const Computation& statement = view.statement;
  const double all_accesses = access_count(statement) * at.timing.access;
  const auto scatter = scatter_of(statement);
  if (!scatter && !is_copy(statement)) return all_accesses;
  const int inner = innermost_scalar_loop(view, scatter);
  const auto variable = [&](int loop) {
    return loop < 0
               ? std::string()
               : statement.domain.dims[static_cast<std::size_t>(view.loops[static_cast<std::size_t>(loop)].dim)].name;
  };
  std::vector<AffineExpr> offsets;
  for (int a = 0; a < access_count(statement); ++a) {
    const Access& access = access_of(statement, a);
    if (!is_place(statement, scatter, a))
      offsets.push_back(position(access.index, view.kernel->tensors[access.tensor.index()]));
    else if (inner < 0 || uses(access, variable(inner)))
      return all_accesses;
  }
  const double steps = inner < 0 ? 1 : static_cast<double>(at.counts.trip(inner));
  const double places = access_count(statement) - static_cast<double>(offsets.size());
  const double around = inner < 1 ? 1 : static_cast<double>(at.counts.trip(inner - 1));
  const EnclosingLoop loop{variable(inner), steps, variable(inner - 1), around};
  return copied_element_cycles(offsets, loop, element_cycles_of(at.timing)) +
         places * at.timing.access / std::max(steps, 1.0);
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
    times.push_back({"scalar code", "", steps * executed_share(view, at.counts) * scalar_point(at)});
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
                          "instructions.*.timing, timing.access, timing.copy_*, interleaved_rows, vector_trips",
                          "definition of throughput and latency (Fog, Instruction tables, introduction)",
                          Overlap::calls,
                          true,
                          compute_times};

}  // namespace terms
}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#include "scheduler/vectorized_reductions.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "scheduler/nest/horizontal_sum.h"
#include "scheduler/nest/instruction_timing.h"
#include "support/arithmetic.h"

namespace isamap {
namespace {

/// Does every input of the instruction have the type of some input of the statement?
bool takes_types_of(const Instruction& instruction, const Kernel& kernel, const Computation& statement) {
  const std::vector<Access>& reads = instruction.statement().reads;
  return std::all_of(reads.begin(), reads.end(), [&](const Access& operand) {
    const DType type = instruction.tensors[operand.tensor.index()].dtype;
    return std::any_of(statement.reads.begin(), statement.reads.end(),
                       [&](const Access& read) { return kernel.tensors[read.tensor.index()].dtype == type; });
  });
}

/// C[l] += ..: elements that each lane reduces per call; 0: another instruction.
std::int64_t depth_of(const Instruction& instruction, const Kernel& kernel, const Computation& statement,
                      std::int64_t lanes) {
  if (!is_compute(instruction) || !takes_types_of(instruction, kernel, statement)) return 0;
  const Reduction reduction = statement.reduction;
  const DType type = statement.body.type;
  const Computation& meaning = instruction.statement();
  const auto lane = meaning.write.index.size() == 1 ? meaning.write.index[0].as_dim() : std::nullopt;
  if (meaning.reduction != reduction || meaning.body.type != type || !lane) return 0;
  std::int64_t depth = 1;
  for (const Dim& dim : meaning.domain.dims) {
    if (dim.name == *lane && dim.extent != lanes) return 0;
    if (dim.kind == DimKind::reduction) depth *= dim.extent;
  }
  return depth;
}

/// Contiguous along the dim, which occurs in no other index. Axes of one element are ignored: a column x[k,0] is
/// contiguous along k.
bool contiguous(const Kernel& kernel, const Access& access, const std::string& dim) {
  const Tensor& tensor = kernel.tensors[access.tensor.index()];
  std::size_t last = access.index.size();
  while (last > 0 && tensor.shape[last - 1] == 1) --last;
  for (std::size_t a = 0; a < access.index.size(); ++a)
    if (a + 1 != last && access.index[a].names().contains(dim)) return false;
  return last > 0 && access.index[last - 1].is_linear() && access.index[last - 1].coefficient(dim) == 1;
}

/// Elements of the largest input.
double most_read(const Kernel& kernel, const Computation& statement) {
  double most = 0;
  for (const Access& read : statement.reads)
    most = std::max(most, static_cast<double>(element_count(kernel.tensors[read.tensor.index()])));
  return most;
}

/// Every input with the reduction dim is contiguous along it and no input along a dim of the output, whose lanes would
/// need no horizontal sum. Small inputs, such as two columns B[k,j], may be laid out otherwise: packing them is cheap
/// relative to reading the largest, and their rows are too short for lanes.
bool only_along(const Kernel& kernel, const Computation& statement, const std::string& reduction, std::int64_t lanes) {
  constexpr double small_part = 1.0 / 8;
  const double most = most_read(kernel, statement);
  bool any = false;
  for (const Access& read : statement.reads) {
    const double elements = static_cast<double>(element_count(kernel.tensors[read.tensor.index()]));
    const bool small = elements <= most * small_part;
    if (small && !uses(read, reduction)) continue;  // one element a row, as the mean that a variance subtracts
    if (uses(read, reduction) && contiguous(kernel, read, reduction))
      any = true;
    else if (uses(read, reduction) && !small)
      return false;
    for (const Dim& dim : statement.domain.dims) {
      const bool fills_lanes = dim.kind == DimKind::parallel && dim.extent > 1 && !(small && dim.extent < lanes);
      if (fills_lanes && contiguous(kernel, read, dim.name)) return false;
    }
  }
  return any;
}

/// Lane sums are stored and read once: more of them than elements of the largest input never pay.
bool small_enough(const Kernel& kernel, const Computation& statement, std::int64_t lanes) {
  double sums = static_cast<double>(lanes);
  for (const Dim& dim : statement.domain.dims)
    if (dim.kind == DimKind::parallel) sums *= static_cast<double>(dim.extent);
  return sums > 0 && sums <= most_read(kernel, statement);
}

/// Registers of lane sums that hide the latency of the instruction that adds to them.
std::int64_t sums_in_flight(const Instruction& instruction, const HardwareModel& model) {
  const std::vector<std::int64_t> extents = full_extents(instruction);
  const double each = interval_of(instruction, extents, model) / ports_of(instruction, model);
  return each > 0 ? static_cast<std::int64_t>(std::ceil(latency_of(instruction, extents, model) / each)) : 1;
}

/// Where the statement has fewer rows than that: registers of lane sums for each row, so that they leave no longer tail
/// than one register does. 1: it has enough rows.
std::int64_t registers_of_a_row(const Computation& statement, std::int64_t rounds, std::int64_t in_flight) {
  std::int64_t rows = 1;
  for (const Dim& dim : statement.domain.dims)
    if (dim.kind == DimKind::parallel) rows = std::min(in_flight, rows * dim.extent);
  if (rows == 0) return 1;
  std::int64_t registers = std::min(in_flight / rows, rounds / 2);
  while (registers > 1 && rounds % registers != 0) --registers;
  return std::max<std::int64_t>(1, registers);
}

/// Is every vectorized reduction mapped along its lanes? Else it would run as scalar code.
bool all_in_lanes(const Kernel& laned, const std::vector<VectorizedReduction>& parts, const MapResult& mapped) {
  for (const VectorizedReduction& one : parts)
    for (std::size_t s = 0; s < laned.statements.size(); ++s) {
      if (laned.statements[s].name != one.statement + "_parts") continue;
      const auto along = [&](const Mapping& m) {
        return m.statement.index() == s &&
               std::any_of(m.dims.begin(), m.dims.end(), [&](const std::vector<Digit>& digits) {
                 return digits.size() == 1 && digits[0].column.as_dim() == one.dim + "_lane";
               });
      };
      if (std::none_of(mapped.mappings.begin(), mapped.mappings.end(), along)) return false;
    }
  return true;
}

}  // namespace

std::vector<VectorizedReduction> lanes_worth_trying(const Kernel& kernel, const HardwareModel& model) {
  std::vector<VectorizedReduction> found;
  if (!kernel.repeats.empty()) return found;
  for (const Computation& statement : kernel.statements) {
    const DType type = statement.body.type;
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> shapes;  // depth, lanes: sums in flight; deepest last
    for (const Instruction& adder : model.instructions()) {
      const std::int64_t lanes = lanes_added_up(adder, statement.reduction, type);
      if (lanes < 2) continue;
      for (const Instruction& instruction : model.instructions())
        if (const std::int64_t depth = depth_of(instruction, kernel, statement, lanes); depth > 0) {
          std::int64_t& most = shapes[{depth, lanes}];
          most = std::max(most, sums_in_flight(instruction, model));
        }
    }
    for (const Dim& dim : statement.domain.dims) {
      if (dim.kind != DimKind::reduction) continue;
      for (const auto& [shape, in_flight] : shapes) {
        const auto& [depth, lanes] = shape;
        if (!only_along(kernel, statement, dim.name, lanes)) continue;
        const auto width = checked_mul(lanes, depth);
        if (!width || dim.extent / 2 < *width) continue;
        const std::int64_t registers = registers_of_a_row(statement, dim.extent / *width, in_flight);
        for (const std::int64_t times : std::set<std::int64_t>{1, registers}) {
          const VectorizedReduction parts{statement.name, dim.name, lanes * times, depth};
          if (small_enough(kernel, statement, parts.lanes) && vectorize_reductions(kernel, {parts}))
            found.push_back(parts);
        }
      }
    }
  }
  return found;
}

namespace {

Result<LaneSearch> with_lanes(const Kernel& kernel, const MapResult& mappings, const HardwareModel& model,
                              const ScheduleOptions& options, const MapOptions& map, bool* proved) {
  auto best = schedule(kernel, mappings, model, options, proved);
  const bool left_alone =
      !map.instruction.empty() || options.space.sums_in_order || !options.must_lower || (best && best->stopped);
  if (left_alone)
    return best ? Result<LaneSearch>(LaneSearch{std::move(*best), {}}) : Result<LaneSearch>(best.diagnostics());
  std::optional<LaneSearch> found;
  if (best) found = LaneSearch{std::move(*best), {}};
  ScheduleOptions with = options;
  with.known.clear();  // points of the original kernel
  with.stop_after.clear();
  with.watch = nullptr;
  MapOptions mapping = map;
  mapping.certificates.clear();
  std::vector<VectorizedReduction> accepted;
  std::set<std::string> settled;
  std::vector<VectorizedReduction> worth = lanes_worth_trying(kernel, model);
  std::reverse(worth.begin(), worth.end());
  for (const VectorizedReduction& parts : worth) {
    if (settled.contains(parts.statement) || (found && found->scheduled.stopped)) continue;
    std::vector<VectorizedReduction> all = accepted;
    all.push_back(parts);
    const auto laned = vectorize_reductions(kernel, all);
    if (!laned || !verify(*laned).empty()) continue;
    auto mapped = enumerate_mappings(*laned, model, mapping);
    if (!mapped || !all_in_lanes(*laned, all, *mapped)) continue;
    auto other = schedule(*laned, *mapped, model, with);
    if (!other) continue;
    if (found) {
      const std::int64_t evaluations = other->evaluations + found->scheduled.evaluations;
      const double seconds = other->seconds + found->scheduled.seconds;
      other->exhausted = other->exhausted && found->scheduled.exhausted;
      found->scheduled.evaluations = other->evaluations = evaluations;
      found->scheduled.seconds = other->seconds = seconds;
      found->scheduled.stopped = other->stopped;
      other->curve = found->scheduled.curve;
      if (value(other->cost, options.objective) >= value(found->scheduled.cost, options.objective)) continue;
    }
    other->schedule.lanes = all;
    accepted = all;
    settled.insert(parts.statement);
    found = LaneSearch{std::move(*other), std::move(*mapped)};
  }
  if (!found) return best.diagnostics();
  return std::move(*found);
}

}  // namespace

Result<LaneSearch> schedule_or_in_lanes(const Kernel& kernel, const MapResult& mappings, const HardwareModel& model,
                                        const ScheduleOptions& options, const MapOptions& map, bool* proved) {
  ScheduleOptions own = options;
  own.compare_scalar = options.compare_scalar && map.instruction.empty();  // a chosen instruction is used
  return with_lanes(kernel, mappings, model, own, map, proved);
}

}  // namespace isamap

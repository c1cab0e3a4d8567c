#include "scheduler/asking.h"

#include <algorithm>
#include <cmath>

#include "hwdesc/prefetch.h"
#include "scheduler/machine_costs.h"
#include "scheduler/operand_check.h"
#include "scheduler/tile_buffer.h"
#include "support/arithmetic.h"

namespace isamap {
namespace {

constexpr double most_ahead = 64;
/// Past the last step of a walk other lines follow than those that are next. So many times as many steps as ahead are
/// needed where the copy fits into the next cache, and where it comes from farther.
constexpr double least_steps = 4, least_steps_far = 2;

/// The smallest cache that lines of this type can be asked into.
std::optional<MemoryId> nearest_cache(const HardwareModel& model, DType dtype) {
  std::optional<MemoryId> nearest;
  for (const Instruction& i : model.instructions()) {
    if (!is_prefetch(i, model) || !type_refusal(i, 1, dtype).empty() ||
        i.operands[operand_of_access(i, 1).index()].memory != model.home())
      continue;
    const MemoryId cache = i.operands[operand_of_access(i, 0).index()].memory;
    if (!nearest || model.memory(cache).capacity < model.memory(*nearest).capacity) nearest = cache;
  }
  return nearest;
}

/// Of the smallest cache that is larger; 0: there is none.
std::int64_t next_capacity(const HardwareModel& model, const Memory& near) {
  std::int64_t next = 0;
  for (const Memory& m : model.memories())
    if (m.kind == MemoryKind::cache && m.capacity > near.capacity && (next == 0 || m.capacity < next))
      next = m.capacity;
  return next;
}

double latency_of_caches(const HardwareModel& model) {
  double latency = 0;
  for (const Link& link : model.links())
    if (model.memory(link.to).kind == MemoryKind::cache) latency += link.latency;
  return latency;
}

/// Of all calls in one step of the walks around the register tile.
double cycles_of_step(const NormalForm& form) {
  const Instruction& instruction = *form.pairing.instruction;
  double calls = 1;
  for (const auto& [dim, tile] : form.register_tile) calls *= static_cast<double>(ceil_div(tile, step_of(form, dim)));
  return calls * interval_of(instruction, full_extents(instruction), *form.model) / ports_of(instruction, *form.model);
}

/// Elements side by side in a packed copy.
std::int64_t row_of(const std::vector<LayoutDigit>& layout) {
  const auto last = layout.empty() ? std::nullopt : split_digit(layout.back().index);
  return last && last->divide == 1 ? last->modulo : 0;
}

}  // namespace

std::optional<AheadChoice> asking_for(const NormalForm& form, int access, std::int64_t steps) {
  const HardwareModel& model = *form.model;
  const Tensor& tensor = form.kernel->tensors[access_of(*form.statement, access).tensor.index()];
  const auto& hops = form.routes[static_cast<std::size_t>(access)].hops;
  const auto packed = std::find_if(hops.begin(), hops.end(), [](const Hop& hop) { return hop.packed; });
  if (access == 0 || packed == hops.end() || !in_registers(form, access)) return std::nullopt;
  const auto cache = nearest_cache(model, tensor.dtype);
  if (!cache) return std::nullopt;
  const Memory& near = model.memory(*cache);
  std::int64_t size = bytes(tensor.dtype);
  if (row_of(packed->layout) * size < near.line) return std::nullopt;
  for (const std::int64_t extent : tensor.shape) size *= extent;
  const double latency = latency_of_caches(model), step = cycles_of_step(form);
  if (size <= near.capacity || latency <= 0 || step <= 0) return std::nullopt;
  const double ahead = std::clamp(std::ceil(latency / step), 1.0, most_ahead);
  const double least = size > next_capacity(model, near) ? least_steps_far : least_steps;
  if (static_cast<double>(steps) < least * ahead) return std::nullopt;
  return AheadChoice{near.name, static_cast<int>(ahead)};
}

}  // namespace isamap

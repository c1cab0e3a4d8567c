// SPDX-License-Identifier: Apache-2.0
#include "scheduler/space/prefetch_distance.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "hwdesc/model/prefetch.h"
#include "scheduler/nest/instruction_timing.h"
#include "scheduler/nest/operand_compatibility.h"
#include "scheduler/nest/tile_layout.h"
#include "support/arithmetic.h"

namespace isamap {
namespace {

constexpr double max_distance = 64;
/// Prefetches near the end of a loop fetch unused lines. Required trip count in multiples of the distance: where the
/// copy fits into the next cache, and where it does not.
constexpr double min_steps = 4, min_steps_far = 2;
/// Limits for unpacked rows, measured (docs/schedule.md): later passes hit nearby caches; with busy links prefetch
/// brings nothing sooner, and with room for many rows it disturbs.
constexpr std::int64_t max_passes = 16, min_passes = 4, max_rows_with_room = 32;
constexpr double max_link_to_call_ratio = 2;
/// Each load prefetches for a later one like it: loads of single elements would prefetch the same line repeatedly.
constexpr std::int64_t max_prefetches_per_line = 2;

/// The smallest cache that a prefetch instruction of this type targets.
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

/// The next larger cache.
const Memory* next_cache(const HardwareModel& model, const Memory& near) {
  const Memory* next = nullptr;
  for (const Memory& m : model.memories())
    if (m.kind == MemoryKind::cache && m.capacity > near.capacity && (next == nullptr || m.capacity < next->capacity))
      next = &m;
  return next;
}

double latency_of_caches(const HardwareModel& model) {
  double latency = 0;
  for (const Link& link : model.links())
    if (model.memory(link.to).kind == MemoryKind::cache) latency += link.latency;
  return latency;
}

/// Bytes per cycle; unlimited if not stated.
double bandwidth_into(const HardwareModel& model, const Memory& cache) {
  for (const Link& link : model.links())
    if (&model.memory(link.to) == &cache && link.bandwidth > 0) return link.bandwidth;
  return 1e30;
}

/// Cycles of the calls in one step of the loops around the register tile.
double cycles_of_step(const CpuTemplate& form) {
  const Instruction& instruction = *form.pairing.instruction;
  double calls = 1;
  for (const auto& [dim, tile] : form.register_tile) calls *= static_cast<double>(ceil_div(tile, step_of(form, dim)));
  return calls * full_interval(instruction) / ports_of(instruction, *form.model);
}

/// Contiguous elements of a packed copy.
std::int64_t row_of(const std::vector<LayoutDigit>& layout) {
  const auto last = layout.empty() ? std::nullopt : split_digit(layout.back().index);
  return last && last->divide == 1 ? last->modulo : 0;
}

/// Unpacked rows: each step of the loop reads a part of another row.
struct Rows {
  std::int64_t part = 0, pitch = 0, load = 0;  ///< bytes; `load`: of one call
};

/// Nothing: steps run along rows, or not from row to row.
std::optional<Rows> rows_in_place(const CpuTemplate& form, int access, const std::string& dim) {
  const Access& read = access_of(*form.statement, access);
  const Tensor& tensor = form.kernel->tensors[read.tensor.index()];
  if (read.index.empty() || read.index.back().names().contains(dim)) return std::nullopt;
  const std::vector<std::int64_t> strides = strides_of(tensor);
  Rows rows;
  for (std::size_t axis = 0; axis < read.index.size(); ++axis)
    rows.pitch += std::abs(read.index[axis].coefficient(dim)) * strides[axis] * bytes(tensor.dtype);
  for (const std::string& name : read.index.back().names()) {
    const auto tile = form.register_tile.find(name);
    if (read.index.back().coefficient(name) != 1) continue;
    rows.load = std::max(rows.load, step_of(form, name) * bytes(tensor.dtype));
    rows.part = std::max(rows.part,
                         (tile == form.register_tile.end() ? step_of(form, name) : tile->second) * bytes(tensor.dtype));
  }
  return strides.back() == 1 && rows.pitch > rows.part ? std::optional(rows) : std::nullopt;
}

/// Rows whose parts fit the sets of a cache: at a pitch of many lines they share few sets.
std::int64_t rows_with_room(const Rows& rows, const Memory& cache) {
  const std::int64_t ways = std::max<std::int64_t>(1, cache.ways), line = std::max<std::int64_t>(1, cache.line);
  const std::int64_t sets = std::max<std::int64_t>(1, cache.capacity / ways / line);
  if (rows.pitch % line != 0) return cache.capacity / rows.part;
  const std::int64_t distance = std::gcd(rows.pitch / line, sets);  // of neighbouring rows, in sets
  return ways * sets / distance / std::max<std::int64_t>(1, ceil_div(rows.part, line) / distance);
}

/// The smallest cache that a prefetch from home reaches and that holds so many bytes.
const Memory* prefetched_cache(const HardwareModel& model, DType dtype, double held) {
  const Memory* smallest = nullptr;
  for (const Instruction& i : model.instructions()) {
    if (!is_prefetch(i, model) || !type_refusal(i, 1, dtype).empty() ||
        i.operands[operand_of_access(i, 1).index()].memory != model.home())
      continue;
    const Memory& cache = model.memory(i.operands[operand_of_access(i, 0).index()].memory);
    if (static_cast<double>(cache.capacity) >= held && (smallest == nullptr || cache.capacity < smallest->capacity))
      smallest = &cache;
  }
  return smallest;
}

/// The least bandwidth on the way of a tensor of this size into the cache; bytes per cycle.
double bandwidth_to(const HardwareModel& model, const Memory& cache, double size) {
  double least = bandwidth_into(model, cache);
  for (const Memory& m : model.memories())
    if (m.kind == MemoryKind::cache && m.capacity > cache.capacity && static_cast<double>(m.capacity) < size)
      least = std::min(least, bandwidth_into(model, m));
  return least;
}

/// Is the tile one digit after the other in the packed copy, the dim outermost?
bool contiguous(const CpuTemplate& form, int access, const TilePasses& over) {
  const auto outermost = over.layout.empty() ? std::nullopt : split_digit(over.layout.front().index);
  if (!outermost || outermost->form.as_dim() != over.dim || outermost->modulo > 0) return false;
  std::int64_t elements = over.points;
  const Access& read = access_of(*form.statement, access);
  for (const Dim& dim : form.statement->domain.dims)
    if (dim.name != over.dim && uses(read, dim.name)) elements *= dim.extent;
  return outermost->divide == over.points &&
         elements * bytes(form.kernel->tensors[read.tensor.index()].dtype) == over.tile_bytes;
}

}  // namespace

std::optional<PrefetchChoice> choose_spread_prefetch(const CpuTemplate& form, int access, const TilePasses& over) {
  const HardwareModel& model = *form.model;
  const Tensor& tensor = form.kernel->tensors[access_of(*form.statement, access).tensor.index()];
  if (over.passes < 2 || !in_registers(form, access) || !contiguous(form, access, over)) return std::nullopt;
  const auto tile = static_cast<double>(over.tile_bytes), passes = static_cast<double>(over.passes);
  const Memory* cache = prefetched_cache(model, tensor.dtype, tile * (1 + 1 / passes));
  const auto size = static_cast<double>(byte_count(tensor));
  if (cache == nullptr || size <= static_cast<double>(cache->capacity)) return std::nullopt;
  const auto steps = static_cast<double>(over.steps);
  const double cycles = cycles_of_step(form) * steps * static_cast<double>(over.inside);
  if (tile / bandwidth_to(model, *cache, size) <= cycles) return std::nullopt;
  const auto line = static_cast<double>(std::max<std::int64_t>(1, cache->line));
  const double prefetched = std::ceil(tile / line / passes / steps) * line * passes * steps;
  if (prefetched > static_cast<double>(cache->capacity)) return std::nullopt;
  return PrefetchChoice{cache->name, 1};
}

std::optional<PrefetchChoice> choose_prefetch(const CpuTemplate& form, int access, const InnermostLoop& loop) {
  const HardwareModel& model = *form.model;
  const Tensor& tensor = form.kernel->tensors[access_of(*form.statement, access).tensor.index()];
  const auto& hops = form.routes[static_cast<std::size_t>(access)].hops;
  const auto packed = std::find_if(hops.begin(), hops.end(), [](const Hop& hop) { return hop.packed; });
  if (access == 0 || !in_registers(form, access)) return std::nullopt;
  const auto cache = nearest_cache(model, tensor.dtype);
  if (!cache) return std::nullopt;
  const Memory& near = model.memory(*cache);
  const Memory* next = next_cache(model, near);
  std::int64_t size = bytes(tensor.dtype);
  if (packed != hops.end() && row_of(packed->layout) * size < near.line) return std::nullopt;
  for (const std::int64_t extent : tensor.shape) size *= extent;
  const bool far = next == nullptr || size > next->capacity;
  const double latency = latency_of_caches(model), step = cycles_of_step(form) * static_cast<double>(loop.inside);
  if (loop.inside > 1 && (packed == hops.end() || loop.tile_bytes <= near.capacity)) return std::nullopt;
  if (size <= near.capacity || latency <= 0 || step <= 0) return std::nullopt;
  double ahead = std::clamp(std::ceil(latency / step), 1.0, max_distance);
  if (packed == hops.end()) {
    const auto rows = rows_in_place(form, access, loop.dim);
    if (!rows || rows->part < near.line || rows->load * max_prefetches_per_line < near.line) return std::nullopt;
    if (!far || next == nullptr || loop.passes > max_passes) return std::nullopt;
    if (loop.reread_bytes > 0 && loop.reread_bytes <= next->capacity) return std::nullopt;
    if (static_cast<double>(rows->part) > max_link_to_call_ratio * step * bandwidth_into(model, *next))
      return std::nullopt;
    const std::int64_t room = rows_with_room(*rows, near);
    if (room > max_rows_with_room && loop.passes < min_passes) return std::nullopt;
    ahead = std::min(ahead, std::floor(static_cast<double>(room) / 3));
    if (ahead < 1) return std::nullopt;
  }
  const double least = far ? min_steps_far : min_steps;
  if (static_cast<double>(loop.steps) < least * ahead) return std::nullopt;
  return PrefetchChoice{near.name, static_cast<int>(ahead)};
}

}  // namespace isamap

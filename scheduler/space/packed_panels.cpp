// SPDX-License-Identifier: Apache-2.0
#include "scheduler/space/packed_panels.h"

#include <algorithm>

#include "hwdesc/model/cache_line.h"
#include "scheduler/nest/resolved_nest.h"
#include "support/arithmetic.h"

namespace isamap {
namespace {

const Tensor& tensor_of(const CpuTemplate& form, int access) {
  return form.kernel->tensors[access_of(*form.statement, access).tensor.index()];
}

bool is_contiguous_along(const CpuTemplate& form, int access, const std::string& dim) {
  const auto& index = access_of(*form.statement, access).index;
  return !index.empty() && index.back().coefficient(dim) == 1 && index.back().names().contains(dim) &&
         std::none_of(index.begin(), index.end() - 1, [&](const AffineExpr& e) { return e.names().contains(dim); });
}

/// Are the tiles of an access disjoint along this dim?
bool disjoint_along(const CpuTemplate& form, int access, const std::string& dim) {
  const auto& index = access_of(*form.statement, access).index;
  return uses(access_of(*form.statement, access), dim) &&
         std::all_of(index.begin(), index.end(), [&](const AffineExpr& e) {
           const auto names = e.names();
           return !names.contains(dim) || names.size() == 1;
         });
}

bool is_packed(const CpuTemplate& form, int access) {
  const auto& hops = form.routes[static_cast<std::size_t>(access)].hops;
  return std::any_of(hops.begin(), hops.end(), [](const Hop& hop) { return hop.packed; });
}

std::int64_t register_tile(const CpuTemplate& form, const std::string& dim) {
  const auto known = form.register_tile.find(dim);
  return known == form.register_tile.end() ? step_of(form, dim) : known->second;
}

/// The second nearest cache, the nearest where there is one only; 0: none. Bytes.
std::int64_t outer_cache(const HardwareModel& model) {
  std::vector<std::int64_t> capacities;
  for (const Memory& memory : model.memories())
    if (memory.kind == MemoryKind::cache) capacities.push_back(memory.capacity);
  std::sort(capacities.begin(), capacities.end());
  return capacities.empty() ? 0 : capacities[std::min<std::size_t>(1, capacities.size() - 1)];
}

/// Bytes of a packed input for one element of a dim.
std::int64_t bytes_of_slice(const CpuTemplate& form, int access, const std::string& dim) {
  std::int64_t size = bytes(tensor_of(form, access).dtype);
  for (const Dim& other : form.statement->domain.dims)
    if (other.name != dim && uses(access_of(*form.statement, access), other.name))
      size *= std::max<std::int64_t>(form.cuts.contains(other.name) ? form.cuts.at(other.name) : other.extent, 1);
  return size;
}

/// Digits of reductions in the order of their loops: [k/48, c, r, s, k%48] becomes [k/48, r, s, c, k%48].
void order_reductions(const CpuTemplate& form, std::vector<LayoutDigit>& layout) {
  std::vector<LayoutDigit*> places;
  std::vector<LayoutDigit> ordered;
  const auto is_of = [&](const LayoutDigit& digit, const std::string& dim) {
    const AffineExpr whole = AffineExpr::dim(dim);
    return digit.index == whole || digit.index == floordiv(whole, step_of(form, dim));
  };
  for (const std::string& dim : form.reduction_order)
    for (const LayoutDigit& digit : layout)
      if (is_of(digit, dim)) ordered.push_back(digit);
  for (LayoutDigit& digit : layout)
    for (const std::string& dim : form.reduction_order)
      if (is_of(digit, dim)) places.push_back(&digit);
  for (std::size_t i = 0; i < places.size(); ++i) *places[i] = ordered[i];
}

}  // namespace

std::vector<LayoutDigit> panel_layout(const CpuTemplate& form, int access, std::vector<LayoutDigit> layout) {
  if (!form.tiles.empty()) return layout;
  order_reductions(form, layout);
  for (const auto& [dim, tile] : form.register_tile) {
    const AffineExpr whole = AffineExpr::dim(dim);
    const std::int64_t step = step_of(form, dim);
    if (tile <= step || tile % step != 0) continue;
    const auto digit = [&](const AffineExpr& e) {
      return std::find_if(layout.begin(), layout.end(), [&](const LayoutDigit& d) { return d.index == e; });
    };
    if (const auto rows = digit(whole); rows != layout.end()) {
      const auto call = std::find_if(rows + 1, layout.end(), [](const LayoutDigit& d) {
        const auto split = split_digit(d.index);
        return split && split->modulo > 0;
      });
      if (access == 0 || step > 1 || call == layout.end() || !is_contiguous_along(form, access, dim)) continue;
      rows->index = floordiv(whole, tile);
      layout.insert(call, {mod(whole, tile), 0});
      continue;
    }
    const auto outer = digit(floordiv(whole, step)), inner = digit(mod(whole, step));
    if (outer == layout.end() || inner == layout.end()) continue;
    outer->index = floordiv(whole, tile);
    inner->index = mod(whole, tile);
  }
  return layout;
}

bool packs_inside(const CpuTemplate& form, int access) {
  if (access == 0 || form.ahead_of_time[static_cast<std::size_t>(access)] || !form.tiles.empty() ||
      !in_registers(form, 0) || form.parallel_order.empty())
    return false;
  for (const CpuTemplate::OnUnit& on : form.units)
    if (form.model->unit(on.id).threads.loop.empty() || !disjoint_along(form, access, on.dim)) return false;
  for (const auto& [dim, block] : form.blocks)  // each block would repack it
    if (!uses(access_of(*form.statement, access), dim)) return false;
  return disjoint_along(form, access, form.parallel_order.front());
}

std::int64_t packed_at_once(const CpuTemplate& form, std::int64_t extent) {
  const std::string& dim = form.parallel_order.front();
  const std::int64_t tile = register_tile(form, dim), together = fetched_together(*form.model);
  std::int64_t steps = 1;
  for (int access = 1; access < access_count(*form.statement); ++access) {
    if (!is_packed(form, access) || !packs_inside(form, access) || !is_contiguous_along(form, access, dim)) continue;
    const std::int64_t row = tile * bytes(tensor_of(form, access).dtype);
    const std::int64_t room =
        outer_cache(*form.model) / 2 / std::max<std::int64_t>(bytes_of_slice(form, access, dim) * tile, 1);
    steps = std::max(steps, std::min(ceil_div(together, row), room));
  }
  const std::int64_t tiles = ceil_div(extent, tile);
  for (std::int64_t more = steps; steps > 1 && more < 2 * steps; ++more)  // without a shorter last block, if possible
    if (tiles % more == 0) return more * tile;
  return steps * tile;
}

}  // namespace isamap

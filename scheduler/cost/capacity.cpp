// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/capacity.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cmath>
#include <set>

#include "hwdesc/model/register_reallocation.h"
#include "scheduler/nest/staged_tile.h"
#include "scheduler/nest/tile_layout.h"
#include "support/arithmetic.h"

namespace isamap {

namespace {

/// Growth of a tile by the padding in its layout (`k pad 8`).
double padding_of(const ResolvedNest& view, const StagedTile& s) {
  if (std::none_of(s.stage.layout.begin(), s.stage.layout.end(), [](const LayoutDigit& d) { return d.pad > 0; }))
    return 1;
  Tiles tiles;
  const std::vector<std::int64_t> extents = view.tiles(s.loops);
  for (std::size_t d = 0; d < extents.size(); ++d)
    tiles[view.statement.domain.dims[d].name] = {AffineExpr(0), round_up(extents[d], view.block[d])};
  double factor = 1;
  for (const LayoutDigit& digit : s.stage.layout) {
    if (digit.pad == 0) continue;
    const auto split = split_digit(digit.index);
    if (!split) continue;
    const auto names = split->form.names();
    if (!std::all_of(names.begin(), names.end(), [&](const std::string& name) { return tiles.contains(name); }))
      continue;
    const auto extent = static_cast<double>(digit_extent(*split, range_over(split->form, tiles).extent));
    factor *= (extent + static_cast<double>(digit.pad)) / extent;
  }
  return factor;
}

/// Registers or bytes of one stage, all its buffers.
double needed_by(const ResolvedNest& view, const TileCounts& counts, int stage) {
  const StagedTile& s = view.stages[static_cast<std::size_t>(stage)];
  const Memory& m = view.model->memory(s.memory);
  const AccessFacts& access = view.facts->accesses[static_cast<std::size_t>(s.access)];
  double own = 0;
  if (m.is_register() && m.size > 0 && access.operand_memory == s.memory) {
    own = counts.slots(s.access, s.loops) * access.registers;
  } else {
    own = counts.padded_tile(s.access, s.loops, s.facts->by_dim_of(s.access)) * access.element_bytes *
          copies_of(view, stage);
    own = m.is_register() && m.size > 0 ? std::ceil(own / static_cast<double>(m.size)) : own * padding_of(view, s);
  }
  return own * s.stage.buffers * tiles_per_instance(view, counts, s.access, s.memory, s.loops);
}

/// A memory operand shared by several calls needs one compiler-allocated register.
int implicit_operand_registers(const ResolvedNest& view, const TileCounts& counts, MemoryId registers) {
  if (!view.instruction || !view.model->memory(registers).named_by_compiler() || operand_memory(view, 0) != registers)
    return 0;
  const int all = static_cast<int>(view.loops.size());
  for (int a = 1; a < access_count(view.statement); ++a) {
    const bool in_place = operand_memory(view, a).valid() && !view.model->memory(operand_memory(view, a)).is_register();
    if (in_place && counts.refills(a, all) < counts.visits(all)) return 1;
  }
  return 0;
}

/// Instances with registers of their own that run in parallel in one unit of the pool.
double instances_in(const ResolvedNest& view, const TileCounts& counts, const Memory& memory) {
  const HardwareModel& model = *view.model;
  double instances = 1;
  for (std::size_t w = 0; w < view.loops.size(); ++w)
    if (const UnitId unit = view.loops[w].unit;
        unit.valid() && unit != memory.pool->unit && model.inside(unit, memory.pool->unit))
      instances *= static_cast<double>(counts.trip(static_cast<int>(w)));
  if (view.instruction)
    for (UnitId at = memory.per; at.valid() && at != view.instruction->unit; at = model.unit(at).parent)
      instances *= static_cast<double>(model.unit(at).count);
  return std::max(instances, 1.0);
}

/// The outermost unit inside the one whose pool of registers is shared, and the register owners in one instance of it.
std::pair<UnitId, double> sharer(const Memory& memory, const HardwareModel& model) {
  double owners = 1;
  UnitId at = memory.per;
  for (; at.valid() && model.unit(at).parent.valid() && model.unit(at).parent != memory.pool->unit;
       at = model.unit(at).parent)
    owners *= static_cast<double>(model.unit(at).count);
  return {at, owners * static_cast<double>(model.unit(at).at_most ? 1 : model.unit(at).count)};
}

/// Registers available to each computing instance, and the budgets of register reallocation.
struct OwnRegisters {
  double available = 0;
  Budgets budgets = {};
};

/// Producer warps (roles) count as one more instance each of the outermost unit inside a block.
OwnRegisters own_registers(const ResolvedNest& view, const TileCounts& counts, const Memory& memory) {
  OwnRegisters own{static_cast<double>(memory.count)};
  if (!memory.pool) return own;
  const double instances = instances_in(view, counts, memory);
  std::set<std::string> roles;
  for (const StagedTile& s : view.stages) roles.insert(s.stage.role);
  roles.erase("");
  double of_roles = 0;
  if (!roles.empty()) {
    const auto [unit, owners] = sharer(memory, *view.model);
    of_roles = static_cast<double>(roles.size()) * owners;
    own.budgets = budgets(*view.model, memory.pool->unit, unit, static_cast<std::int64_t>(roles.size()),
                          std::max<std::int64_t>(1, static_cast<std::int64_t>(instances / owners)));
  }
  const double shared = own.budgets.others ? static_cast<double>(own.budgets.others->value)
                                           : static_cast<double>(memory.pool->total) / (instances + of_roles);
  own.available = std::min(own.available, shared) - static_cast<double>(memory.pool->kept);
  return own;
}

/// Registers of the operands of one call.
std::int64_t of_one_call(const ResolvedNest& view, MemoryId registers) {
  std::int64_t sum = 0;
  for (const AccessFacts& access : view.facts->accesses)
    if (access.operand >= 0 && access.operand_memory == registers) sum += access.registers;
  return sum;
}

/// What a memory holds.
struct Occupancy {
  double needed = 0;
  boost::container::small_vector<std::pair<const StagedTile*, double>, 8> stages;
  int operands = 0;          ///< registers of memory operands
  std::int64_t between = 0;  ///< results between the calls of a tree of instructions, and its constants

  bool empty() const { return stages.empty() && operands == 0 && between == 0; }
  /// The line of the largest stage.
  SourceLocation where() const {
    const StagedTile* largest = nullptr;
    double most = 0;
    for (const auto& [stage, own] : stages)
      if (own >= most) largest = stage, most = own;
    return largest == nullptr ? SourceLocation{} : largest->where;
  }
  /// "A 16, B 4"
  std::string text() const {
    std::string parts;
    for (const auto& [stage, own] : stages)
      parts += fmt::format("{}{} {:.0f}", parts.empty() ? "" : ", ", stage->stage.tensor, own);
    if (operands > 0) parts += fmt::format("{}memory operands {}", parts.empty() ? "" : ", ", operands);
    if (between > 0) parts += fmt::format("{}between calls {}", parts.empty() ? "" : ", ", between);
    return parts;
  }
};

Occupancy occupancy_of(const ResolvedNest& view, const TileCounts& counts, MemoryId id) {
  Occupancy found;
  for (std::size_t i = 0; i < view.stages.size(); ++i) {
    if (view.stages[i].memory != id) continue;
    found.stages.emplace_back(&view.stages[i], needed_by(view, counts, static_cast<int>(i)));
    found.needed += found.stages.back().second;
  }
  found.operands = implicit_operand_registers(view, counts, id);
  found.needed += found.operands;
  if (operand_memory(view, 0) == id) found.between = view.facts->registers_beside_operands;
  found.needed += static_cast<double>(found.between);
  return found;
}

/// Room of a dim in the tiles of all copies of the code below the first `loops` loops, relative to that of a full tile.
double room_of_copies(const ResolvedNest& view, int dim, int loops, bool used) {
  boost::container::small_vector<std::int64_t, 8> sizes{
      view.statement.domain.dims[static_cast<std::size_t>(dim)].extent};
  for (int w = 0; w < loops; ++w) {
    const LoopLevel& loop = view.loops[static_cast<std::size_t>(w)];
    if (loop.dim != dim || loop.tile <= 0) continue;
    boost::container::small_vector<std::int64_t, 8> inside;
    for (const std::int64_t size : sizes) {
      if (size >= loop.tile) inside.push_back(loop.tile);
      if (size % loop.tile > 0) inside.push_back(size % loop.tile);
    }
    sizes = std::move(inside);
  }
  if (!used) return static_cast<double>(sizes.size());
  const std::int64_t block = std::max<std::int64_t>(1, view.block[static_cast<std::size_t>(dim)]);
  std::int64_t most = 1;
  double sum = 0;
  for (const std::int64_t size : sizes) {
    most = std::max(most, ceil_div(size, block));
    sum += static_cast<double>(ceil_div(size, block));
  }
  return sum / static_cast<double>(most);
}

}  // namespace

bool short_tiles_are_apart(const ResolvedNest& view, const TileCounts& counts, int stage) {
  const MemoryId id = view.stages[static_cast<std::size_t>(stage)].memory;
  const Memory& memory = view.model->memory(id);
  double needed = 0;
  for (std::size_t i = 0; i < view.stages.size(); ++i) {
    const StagedTile& s = view.stages[i];
    if (s.memory != id) continue;
    double own = needed_by(view, counts, static_cast<int>(i));
    const auto& uses = view.facts->accesses[static_cast<std::size_t>(s.access)].uses;
    const bool shrinks = s.stage.buffers == 1;  // of several buffers short tiles are in the places of whole ones
    for (int d = 0; d < view.dim_count(); ++d)
      own *= room_of_copies(view, d, s.loops, shrinks && uses[static_cast<std::size_t>(d)]);
    needed += own;
  }
  return needed <= static_cast<double>(memory.is_register() ? memory.count : memory.capacity);
}

Diagnostics capacity_problems(const ResolvedNest& view, const TileCounts& counts) {
  Diagnostics problems;
  for (std::size_t number = 0; number < view.model->memories().size(); ++number) {
    const MemoryId id = make_id<MemoryId>(number);
    const Memory& m = view.model->memory(id);
    if (m.kind == MemoryKind::cache) continue;
    const Occupancy held = occupancy_of(view, counts, id);
    if (held.empty()) continue;
    const bool registers = m.is_register() && m.size > 0;
    const OwnRegisters own = registers ? own_registers(view, counts, m) : OwnRegisters{static_cast<double>(m.capacity)};
    const double available = own.available;
    if (const std::int64_t call = of_one_call(view, id);
        registers && own.budgets.others && call + own.budgets.beside > own.budgets.entry)
      problems.push_back(
          error_at(held.where(),
                   fmt::format("memory {}: {} registers needed by one call of {}, {} available before "
                               "those of a role are shared out",
                               m.name, call, view.instruction->name, own.budgets.entry - own.budgets.beside),
                   "choose smaller calls, or fewer of them side by side"));
    if (available <= 0 || !(held.needed > available)) continue;  // also false for NaN (no points)
    problems.push_back(error_at(held.where(),
                                fmt::format("memory {}: {:.0f} {} needed, {:.0f} available ({})", m.name, held.needed,
                                            registers ? "registers" : "bytes", available, held.text()),
                                "choose smaller tiles below the stages in " + m.name));
  }
  return problems;
}

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/time_bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "hwdesc/model/register_reallocation.h"
#include "ir/element_cycles.h"
#include "scheduler/cost/split_lines.h"
#include "scheduler/nest/instruction_timing.h"
#include "scheduler/nest/staged_tile.h"
#include "scheduler/nest/tile_layout.h"
#include "support/arithmetic.h"

namespace isamap {

namespace {

/// Fraction of the latency of stream starts and partial-sum reloads that out-of-order execution does not hide (best of
/// 0, 0.5 and 1: docs/cost.md).
constexpr double exposed_share = 0.5;

const Tensor& tensor_of(const ResolvedNest& view, int access) {
  return view.kernel->tensors[access_of(view.statement, access).tensor.index()];
}

/// Calls of moves by the port they occupy.
class Ports {
 public:
  explicit Ports(const ResolvedNest& view) : view_(view) {}

  /// At least `calls` (registers filled one by one), at least what the elements need.
  void add(MemoryId from, MemoryId to, const Transfer& t, double elements, double calls) {
    const DType type = tensor_of(view_, t.access).dtype;
    const Instruction* move = elements > 0 ? move_between(*view_.model, from, to, type) : nullptr;
    if (!move) return;
    const double carried = elements_per_use(*move, type);
    const double times = std::max(calls, elements / carried) *
                         (1 + split_share(view_, t, static_cast<std::int64_t>(carried) * bytes(type)));
    Bound& b = ports_[{move->unit.value, move->timing.port}];
    b.name = "port " + (move->timing.port.empty() ? move->name : move->timing.port);
    b.cycles += times * interval_of(*move, full_extents(*move), *view_.model) / ports_of(*move, *view_.model);
  }
  std::vector<Bound> bounds() const {
    std::vector<Bound> result;
    for (const auto& [key, bound] : ports_) result.push_back(bound);
    return result;
  }

 private:
  const ResolvedNest& view_;
  std::map<std::pair<std::int32_t, std::string>, Bound> ports_;
};

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
  double own = counts.padded_tile(s.access, s.loops) * bytes(tensor_of(view, s.access).dtype) * copies_of(view, stage);
  if (m.is_register() && m.size > 0) {
    const int operand = instruction_access(view.mapping, s.access);
    own = view.instruction && operand >= 0 && operand_memory(view, s.access) == s.memory
              ? counts.slots(s.access, s.loops) *
                    registers_of(*view.instruction, operand, tensor_of(view, s.access).dtype, m)
              : std::ceil(own / static_cast<double>(m.size));
  } else {
    own *= padding_of(view, s);
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

}  // namespace

double elements_per_use(const Instruction& move, DType type) {
  double points = 1;
  for (const DimRange& r : move.ranges) points *= static_cast<double>(r.max);
  const auto& own = move.operands[1].dtype;
  if (own && is_bits(*own)) points = points * bits(*own) / bits(type);
  return std::max(1.0, points);
}

/// Where a reduction is split above the accumulators, each visit of theirs starts with the latency of loading the
/// partial sums and ends with the latency of the last call.
static double partial_sum_latency(const ResolvedNest& view, const TileCounts& counts, int stage, double of_call) {
  const StagedTile& s = view.stages[static_cast<std::size_t>(stage)];
  double parts = 1;
  for (int w = 0; w < s.loops; ++w)
    if (!counts.uses_loop(0, w) && !view.loops[static_cast<std::size_t>(w)].unit.valid())
      parts *= static_cast<double>(counts.trip(w));
  if (parts <= 1) return 0;
  const MemoryId from = view.memory_of(s.parent), to = view.memory_of(stage);
  const Instruction* load = move_between(*view.model, from, to, tensor_of(view, 0).dtype);
  const double of_load = load == nullptr ? 0 : latency_of(*load, full_extents(*load), *view.model);
  return counts.steps(s.loops) * (of_call + of_load);
}

/// Mispredicted exits: from 8 trips on the exit branch of a loop is assumed to mispredict, at `loop_end` cycles of
/// pipeline refill.
static double loop_exit_penalty(const ResolvedNest& view, const TileCounts& counts) {
  constexpr std::int64_t predicted_trips = 8;
  const double each = view.model->unit(view.instruction->unit).loop_end;
  if (each <= 0) return 0;
  double total = 0;
  for (std::size_t w = 0; w < view.loops.size(); ++w)
    if (const LoopLevel& loop = view.loops[w]; !loop.unroll && !loop.unit.valid())
      if (const auto at = static_cast<int>(w); counts.trip(at) >= predicted_trips) total += counts.steps(at) * each;
  return total;
}

/// Cycles of one point of scalar code, priced as simulators price elements (ir/element_cycles.h).
static double scalar_point(const ResolvedNest& view) {
  const Computation& statement = view.statement;
  const bool copies = statement.reduction == Reduction::assign && statement.reads.size() < 2 &&
                      (statement.reads.empty() || std::holds_alternative<Read>(statement.body.op));
  if (!copies) return access_count(statement);
  const std::string inner =
      view.loops.empty() ? "" : statement.domain.dims[static_cast<std::size_t>(view.loops.back().dim)].name;
  double cycles = contiguous_cycles;
  for (int a = 0; a < access_count(statement); ++a) {
    const AffineExpr offset = position(access_of(statement, a).index, tensor_of(view, a));
    if (!offset.is_linear()) return divided_cycles;
    if (!inner.empty() && std::abs(offset.coefficient(inner)) != 1) cycles = strided_cycles;
  }
  return cycles;
}

Bound compute_bound(const ResolvedNest& view, const TileCounts& counts) {
  const double steps = counts.steps(static_cast<int>(view.loops.size()));
  if (!view.instruction) return {"scalar code", steps * scalar_point(view)};
  const Instruction& instruction = *view.instruction;
  const std::vector<std::int64_t> extents = view.call_extents();
  const double each = interval_of(instruction, extents, *view.model) / ports_of(instruction, *view.model);
  const int stage = view.innermost[0];
  const bool chained = view.statement.reduction != Reduction::assign && stage >= 0 &&
                       view.model->memory(view.memory_of(stage)).is_register();
  const double ends = loop_exit_penalty(view, counts);
  if (!chained) return {"compute", steps * each + ends};
  const double again = ends + partial_sum_latency(view, counts, stage, latency_of(instruction, extents, *view.model));
  const double chains = std::max(1.0, counts.slots(0, view.stages[static_cast<std::size_t>(stage)].loops));
  const double latency = latency_of(instruction, extents, *view.model) / chains;
  if (latency <= each) return {"compute", steps * each + again};
  return {fmt::format("latency of {} ({:.0f} accumulators)", instruction.name, chains), steps * latency + again};
}

std::vector<Bound> move_bounds(const ResolvedNest& view, const TileCounts& counts, const Traffic& traffic) {
  Ports ports(view);
  for (const Transfer& t : traffic.transfers) {
    if (!t.to.valid() || t.from == t.to) continue;
    if (t.stage < 0) {  // memory operand: a load inside the call
      if (t.access != 0 && view.model->memory(t.to).is_register()) ports.add(t.from, t.to, t, 1, t.loads / t.instances);
      continue;
    }
    const StagedTile& s = view.stages[static_cast<std::size_t>(t.stage)];
    const bool registers = view.model->memory(t.to).is_register();
    const double calls =
        registers ? counts.refills(t.access, s.loops) * counts.slots(t.access, s.loops) / t.instances : 0;
    ports.add(t.from, t.to, t, t.elements_in / t.instances, t.access == 0 ? 0 : calls);
    const auto prefetched = [&](const Prefetch& p) { return p.access == t.access; };
    if (registers && std::any_of(view.prefetches.begin(), view.prefetches.end(), prefetched))  // takes a load slot each
      ports.add(t.from, t.to, t, t.elements_in / t.instances, calls);
    if (t.access == 0) ports.add(t.to, t.from, t, t.elements_out / t.instances, calls);
  }
  return ports.bounds();
}

std::vector<Bound> link_bounds(const ResolvedNest& view, const Traffic& traffic) {
  std::vector<Bound> bounds;
  for (const auto& [id, moved] : traffic.link_bytes) {
    const Link& link = view.model->link(id);
    const auto copies = traffic.link_instances.find(id);
    const double shared = copies == traffic.link_instances.end() ? 1 : copies->second;
    if (link.bandwidth > 0) bounds.push_back({"link " + link.name, moved / link.bandwidth / shared});
  }
  for (const auto& [id, cache] : traffic.caches)
    if (cache.bandwidth > 0)
      bounds.push_back({"cache " + view.model->memory(id).name, cache.bytes / cache.bandwidth / cache.instances, true});
  return bounds;
}

std::vector<Bound> memory_bounds(const ResolvedNest& view, const Traffic& traffic) {
  std::vector<Bound> bounds;
  for (const auto& [id, tensors] : traffic.memories) {
    const Memory& m = view.model->memory(id);
    double read = 0, written = 0;
    for (const auto& [tensor, t] : tensors) {
      read += t.reads * t.element_bytes / t.instances;
      written += (t.fills + t.updates) * t.element_bytes / t.instances;
    }
    if (m.read_bandwidth > 0) bounds.push_back({"memory " + m.name, read / m.read_bandwidth});
    if (m.write_bandwidth > 0) bounds.push_back({"memory " + m.name, written / m.write_bandwidth});
  }
  return bounds;
}

double single_buffer_cycles(const ResolvedNest& view, const Traffic& traffic) {
  double total = 0;
  for (const Transfer& t : traffic.transfers) {
    if (t.stage < 0 || t.from == t.to) continue;
    const MemoryKind kind = view.model->memory(t.to).kind;
    const bool addressed = kind == MemoryKind::scratchpad || kind == MemoryKind::accumulator;
    if (!addressed || view.stages[static_cast<std::size_t>(t.stage)].stage.buffers > 1) continue;
    const double moved = (t.elements_in + t.elements_out) * bytes(tensor_of(view, t.access).dtype) / t.instances;
    for (LinkId l : links_between(*view.model, t.from, t.to))
      if (view.model->link(l).bandwidth > 0) total += moved / view.model->link(l).bandwidth;
  }
  return total;
}

double stream_start_cycles(const Traffic& traffic) {
  double total = 0;
  for (const auto& [id, cache] : traffic.caches)
    if (cache.bandwidth > 0) total += exposed_share * cache.stream_starts / cache.bandwidth / cache.instances;
  return total;
}

double store_burst_cycles(const ResolvedNest& view, const TileCounts& counts, const Traffic& traffic, double computing,
                          double moving) {
  const int stage = view.innermost[0];
  if (stage < 0 || !view.model->memory(view.memory_of(stage)).is_register()) return 0;
  const Memory* nearest = nullptr;
  for (const Memory& m : view.model->memories())
    if (m.kind == MemoryKind::cache && m.misses > 0 && (nearest == nullptr || m.capacity < nearest->capacity))
      nearest = &m;
  if (nearest == nullptr || nearest->line < 1) return 0;
  const StagedTile& s = view.stages[static_cast<std::size_t>(stage)];
  const double lines = counts.tile(0, s.loops) * bytes(tensor_of(view, 0).dtype) / static_cast<double>(nearest->line);
  const double exposed = 1 - static_cast<double>(nearest->misses) / 2 / lines;
  if (exposed <= 0) return 0;
  double storing = 0;
  for (const auto& [id, cache] : traffic.caches)
    if (cache.bandwidth > 0) storing = std::max(storing, cache.of_output / cache.bandwidth / cache.instances);
  const MemoryId to = view.memory_of(s.parent);
  for (const LinkId id : links_of(*view.model, s.stage.via, s.memory, to)) {
    const Link& link = view.model->link(id);
    const auto moved = traffic.link_bytes.find(id);
    const auto copies = traffic.link_instances.find(id);
    if (link.via.empty() && link.bandwidth > 0 && moved != traffic.link_bytes.end())
      storing = std::max(
          storing, moved->second / link.bandwidth / (copies == traffic.link_instances.end() ? 1 : copies->second));
  }
  return exposed * std::min({storing, computing, std::max(0.0, moving - computing)});
}

double llc_miss_phase_cycles(const ResolvedNest& view, const Traffic& traffic, const std::vector<Bound>& bounds) {
  const CacheTraffic* outermost = nullptr;
  const Memory* cache = nullptr;
  for (const auto& [id, flow] : traffic.caches)
    if (const Memory& m = view.model->memory(id); cache == nullptr || m.capacity > cache->capacity)
      cache = &m, outermost = &flow;
  if (cache == nullptr || outermost->bandwidth <= 0 || outermost->bytes <= 0) return 0;
  double longest = 0, others = 0;
  for (const Bound& b : bounds) {
    longest = std::max(longest, b.cycles);
    if (!b.of_cache || b.name != "cache " + cache->name) others = std::max(others, b.cycles);
  }
  const double missing = outermost->bytes / outermost->bandwidth / outermost->instances;
  const double share = std::min(1.0, outermost->bytes / std::max(outermost->worst, outermost->bytes));
  return others + std::max(0.0, missing - share * others) - longest;
}

double partial_sum_reload_cycles(const ResolvedNest& view, const TileCounts& counts, const Traffic& traffic) {
  const int stage = view.innermost[0];
  if (stage < 0 || !view.model->memory(view.memory_of(stage)).is_register()) return 0;
  const auto t = std::find_if(traffic.transfers.begin(), traffic.transfers.end(),
                              [&](const Transfer& one) { return one.stage == stage; });
  if (t == traffic.transfers.end() || t->elements_in <= 0 || t->elements_out <= 0) return 0;
  const double size = bytes(tensor_of(view, 0).dtype), stored = t->elements_out * size;
  const double tile = counts.tile(0, view.stages[static_cast<std::size_t>(stage)].loops);
  const double refills = t->elements_in / std::max(1.0, tile);
  double total = 0;
  for (const Link& link : view.model->links()) {
    const auto cache = traffic.caches.find(link.to);
    if (cache == traffic.caches.end() || link.bandwidth <= 0) continue;
    const double share = std::min(1.0, cache->second.of_output / 2 / stored);  // half: each line is read and written
    total += exposed_share * share * (t->elements_in * size / link.bandwidth + refills * link.latency) /
             cache->second.instances;
  }
  return total;
}

namespace {

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
  for (int a = 0; view.instruction && a < access_count(view.statement); ++a)
    if (const int operand = instruction_access(view.mapping, a); operand >= 0 && operand_memory(view, a) == registers)
      sum += registers_of(*view.instruction, operand, tensor_of(view, a).dtype, view.model->memory(registers));
  return sum;
}

}  // namespace

Diagnostics capacity_problems(const ResolvedNest& view, const TileCounts& counts) {
  Diagnostics problems;
  for (std::size_t number = 0; number < view.model->memories().size(); ++number) {
    const MemoryId id = make_id<MemoryId>(number);
    const Memory& m = view.model->memory(id);
    if (m.kind == MemoryKind::cache) continue;
    double needed = 0, largest = 0;
    std::string parts;
    SourceLocation where;  // of the largest
    for (std::size_t i = 0; i < view.stages.size(); ++i) {
      const StagedTile& s = view.stages[i];
      if (s.memory != id) continue;
      const double own = needed_by(view, counts, static_cast<int>(i));
      if (own >= largest) largest = own, where = s.where;
      needed += own;
      parts += fmt::format("{}{} {:.0f}", parts.empty() ? "" : ", ", s.stage.tensor, own);
    }
    if (const int operands = implicit_operand_registers(view, counts, id); operands > 0) {
      needed += operands;
      parts += fmt::format("{}memory operands {}", parts.empty() ? "" : ", ", operands);
    }
    const bool registers = m.is_register() && m.size > 0;
    const OwnRegisters own = registers ? own_registers(view, counts, m) : OwnRegisters{static_cast<double>(m.capacity)};
    const double available = own.available;
    if (const std::int64_t call = of_one_call(view, id);
        registers && own.budgets.others && !parts.empty() && call + own.budgets.beside > own.budgets.entry)
      problems.push_back(
          error_at(where,
                   fmt::format("memory {}: {} registers needed by one call of {}, {} available before "
                               "those of a role are shared out",
                               m.name, call, view.instruction->name, own.budgets.entry - own.budgets.beside),
                   "choose smaller calls, or fewer of them side by side"));
    if (parts.empty() || available <= 0 || !(needed > available)) continue;  // also false for NaN (no points)
    problems.push_back(error_at(where,
                                fmt::format("memory {}: {:.0f} {} needed, {:.0f} available ({})", m.name, needed,
                                            registers ? "registers" : "bytes", available, parts),
                                "choose smaller tiles below the stages in " + m.name));
  }
  return problems;
}

}  // namespace isamap

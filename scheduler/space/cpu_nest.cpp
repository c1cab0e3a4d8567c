// SPDX-License-Identifier: Apache-2.0
#include "scheduler/space/cpu_nest.h"

#include <algorithm>
#include <set>

#include "ir/text/access_name.h"
#include "scheduler/nest/resolved_nest.h"
#include "scheduler/space/packed_panels.h"
#include "scheduler/space/prefetch_stages.h"
#include "scheduler/space/streaming_stores.h"
#include "support/arithmetic.h"

namespace isamap {

namespace {

bool is_scratch(const HardwareModel& model, const Hop& hop) {
  return !hop.packed && !model.memory(hop.memory).is_register();
}

/// Is some memory of this level owned by the unit, or by one inside it?
bool owns(const CpuTemplate& form, UnitId unit, std::size_t level) {
  for (const Route& route : form.routes) {
    std::size_t depth = 0;
    for (const Hop& hop : route.hops)
      if (is_scratch(*form.model, hop) && depth++ == level &&
          form.model->inside(form.model->memory(hop.memory).per, unit))
        return true;
  }
  return false;
}

/// In the order of their loops, outermost first.
std::vector<std::string> dims_of(const CpuTemplate& form, DimKind kind) {
  return kind == DimKind::parallel ? form.parallel_order : reduction_dims(form);
}

// Collects lines and the current tile of each dim, so that loops of one step are omitted.
class Builder {
 public:
  explicit Builder(const CpuTemplate& form) : form_(form) {
    for (const Dim& dim : form.statement->domain.dims) tile_[dim.name] = dim.extent;
  }

  Nest build() {
    packed_copies(false);
    if (form_.registers_outermost && !in_registers(form_, 0)) hold_inputs();
    const std::size_t levels = levels_of(form_.routes, *form_.model);
    for (std::size_t level = 0; level < levels; ++level) {
      distribute(form_.tiles[level], level);
      loops(DimKind::parallel, form_.tiles[level], false);
      scratch(level, true);
      loops(DimKind::reduction, form_.tiles[level], false);
      scratch(level, false);
    }
    in_registers(form_, 0) ? accumulate_in_registers() : accumulate_in_memory();
    Do last = do_line(*form_.mapping, *form_.kernel, *form_.model);
    for (const Route& route : form_.routes)
      if (route.skips)
        last.outside.emplace_back(form_.kernel->tensors[access_of(*form_.statement, route.access).tensor.index()].name,
                                  Outside::skip);
    nest_.lines.push_back({std::move(last)});
    return std::move(nest_);
  }

 private:
  std::string tensor(int access) const { return access_name(form_.kernel->tensors, *form_.statement, access); }

  void loop(const std::string& dim, std::int64_t tile, bool unroll) {
    if (tile >= tile_[dim]) return;
    For line;
    line.loops = {{dim, tile}};
    line.unroll = unroll;
    nest_.lines.push_back({line});
    tile_[dim] = tile;
  }

  // Loops on units are outside the first memory that their instances own: as many points per instance as their number
  // requires, at least a tile. `level`: that of the following loops; beyond the last: registers.
  void distribute(const std::map<std::string, std::int64_t>& tiles, std::size_t level) {
    const std::size_t levels = levels_of(form_.routes, *form_.model);
    for (; units_placed_ < form_.units.size(); ++units_placed_) {
      const CpuTemplate::OnUnit& on = form_.units[units_placed_];
      if (level < levels && !owns(form_, on.id, level)) return;
      const std::int64_t step = step_of(form_, on.dim), parent = tile_[on.dim];
      const auto it = tiles.find(on.dim);
      const std::int64_t share = on.count > 0 ? round_up(ceil_div(parent, on.count), step) : step;
      const std::int64_t tile = std::max(it == tiles.end() ? step : it->second, share);
      const std::size_t before = nest_.lines.size();
      loop(on.dim, tile, false);
      if (nest_.lines.size() > before) std::get<For>(nest_.lines.back().is).unit = on.unit;
    }
  }

  void loops(DimKind kind, const std::map<std::string, std::int64_t>& tiles, bool unroll) {
    for (const std::string& dim : dims_of(form_, kind)) {
      const auto it = tiles.find(dim);
      loop(dim, it == tiles.end() ? step_of(form_, dim) : it->second, unroll || held_.contains(dim));
    }
  }

  // Does the access have more than one tile?
  bool renewed(int access) const {
    return std::any_of(tile_.begin(), tile_.end(), [&](const auto& one) {
      const auto& [dim, tile] = one;
      const auto d = static_cast<std::size_t>(form_.statement->domain.find(dim));
      return tile < form_.statement->domain.dims[d].extent && uses(access_of(*form_.statement, access), dim);
    });
  }

  void stage(int access, const Hop& hop, int buffers = 1) {
    Stage line;
    line.buffers = renewed(access) ? buffers : 1;
    line.ahead = line.buffers - 1;
    line.tensor = tensor(access);
    line.memory = form_.model->memory(hop.memory).name;
    line.layout = hop.packed ? panel_layout(form_, access, hop.layout) : hop.layout;
    line.ahead_of_time = hop.packed && form_.ahead_of_time[static_cast<std::size_t>(access)];
    const bool given = form_.kernel->tensors[access_of(*form_.statement, access).tensor.index()].inout;  // added to
    if (access == 0 && !hop.packed && !given && can_start_at_zero(*form_.pairing.instruction)) line.first = First::flag;
    if (access == 0 && form_.streaming_stores) line.via = streaming_store_for(form_);
    for (const Line& other : nest_.lines)  // equal accesses share a stage
      if (const auto* s = std::get_if<Stage>(&other.is); s && s->tensor == line.tensor && s->memory == line.memory)
        return;
    nest_.lines.push_back({line});
  }

  /// Packed copies inside the outermost loop, or outside it.
  void packed_copies(bool inside) {
    for (int a = 1; a <= access_count(*form_.statement); ++a) {  // inputs first, the output last
      const int access = a % access_count(*form_.statement);
      for (const Hop& hop : form_.routes[static_cast<std::size_t>(access)].hops)
        if (hop.packed && inside == packs_inside(form_, access)) stage(access, hop);
    }
  }

  void scratch(std::size_t level, bool output) {
    for (int a = 0; a < access_count(*form_.statement); ++a) {
      if ((a == 0) != output) continue;
      std::size_t depth = 0;
      for (const Hop& hop : form_.routes[static_cast<std::size_t>(a)].hops)
        if (is_scratch(*form_.model, hop) && depth++ == level) stage(a, hop, buffers_at(form_, level));
    }
  }

  void register_stage(int access, int buffers = 1) {
    for (const Hop& hop : form_.routes[static_cast<std::size_t>(access)].hops)
      if (form_.model->memory(hop.memory).is_register()) stage(access, hop, buffers);
  }

  std::vector<int> inputs_in_registers() const {
    std::vector<int> inputs;
    for (int a = 1; a < access_count(*form_.statement); ++a)
      if (in_registers(form_, a)) inputs.push_back(a);
    return inputs;
  }

  /// Inputs in registers, each loaded once: a step of its parallel dims, and of its reductions as many as registers
  /// hold, from which unrolled loops below choose.
  void hold_inputs() {
    for (const int access : inputs_in_registers()) {
      std::int64_t room = slots_of(access) / form_.register_buffers;
      for (const DimKind kind : {DimKind::parallel, DimKind::reduction})
        for (const std::string& dim : dims_of(form_, kind)) {
          if (!uses(access_of(*form_.statement, access), dim)) continue;
          const std::int64_t step = step_of(form_, dim);
          const std::int64_t steps =
              kind == DimKind::parallel ? 1 : std::max<std::int64_t>(std::min(room, ceil_div(tile_[dim], step)), 1);
          loop(dim, steps * step, false);
          if (steps > 1) held_.insert(dim);
          room /= steps;
        }
    }
    for (const int access : inputs_in_registers()) register_stage(access, form_.register_buffers);
  }

  /// Tiles of one step that the registers of an input hold.
  std::int64_t slots_of(int access) const {
    const Memory& memory = form_.model->memory(form_.routes[static_cast<std::size_t>(access)].hops.back().memory);
    const DType type = form_.kernel->tensors[access_of(*form_.statement, access).tensor.index()].dtype;
    const int operand = form_.pairing.operand_access[static_cast<std::size_t>(access)];
    return memory.count / std::max(1, registers_of(*form_.pairing.instruction, operand, type, memory));
  }

  std::int64_t slots_below(int access) const {
    std::int64_t slots = 1;
    for (const auto& [dim, tile] : tile_)
      if (uses(access_of(*form_.statement, access), dim))
        slots *= (tile + step_of(form_, dim) - 1) / step_of(form_, dim);
    return slots;
  }

  // Accumulators in registers: everything below them is unrolled. Inputs that need many registers are loaded inside the
  // loops of their dims, so that one register suffices.
  void accumulate_in_registers() {
    distribute(form_.register_tile, levels_of(form_.routes, *form_.model));
    for (const auto& [dim, block] : form_.blocks) loop(dim, block, false);
    for (const auto& [dim, part] : form_.cuts) loop(dim, part, false);  // accumulators then load partial sums
    if (!form_.parallel_order.empty()) {
      const std::string& outermost = form_.parallel_order.front();
      loop(outermost, packed_at_once(form_, tile_.at(outermost)), false);
    }
    packed_copies(true);
    loops(DimKind::parallel, form_.register_tile, false);
    register_stage(0);
    const auto before = tile_;
    loops(DimKind::reduction, {}, false);
    add_prefetch_stages(form_, before, nest_);
    std::vector<int> inputs;
    for (int a = 1; a < access_count(*form_.statement); ++a)
      if (in_registers(form_, a)) inputs.push_back(a);
    const auto skips = [&](int a) { return form_.routes[static_cast<std::size_t>(a)].skips; };
    std::stable_sort(inputs.begin(), inputs.end(),
                     [&](int a, int b) { return skips(a) != skips(b) ? skips(b) : slots_below(a) < slots_below(b); });
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (i > 0 || skips(inputs[i]))
        for (const std::string& dim : form_.parallel_order)
          if (uses(access_of(*form_.statement, inputs[i]), dim)) loop(dim, step_of(form_, dim), true);
      register_stage(inputs[i]);
    }
    loops(DimKind::parallel, {}, true);
  }

  // The output is in an addressed memory: register inputs are loaded for one step of their dims; the other dims run
  // inside. The loop that renews two buffers is unrolled, so that each step names its own.
  void accumulate_in_memory() {
    const std::vector<int> inputs = inputs_in_registers();
    const std::size_t before = nest_.lines.size();
    for (const int a : inputs)
      for (const Dim& dim : form_.statement->domain.dims)
        if (uses(access_of(*form_.statement, a), dim.name))
          loop(dim.name, step_of(form_, dim.name), held_.contains(dim.name));
    const bool renewed_here = nest_.lines.size() > before;
    if (renewed_here && form_.register_buffers > 1) std::get<For>(nest_.lines.back().is).unroll = true;
    for (const int a : inputs) register_stage(a, renewed_here ? form_.register_buffers : 1);
    loops(DimKind::parallel, {}, false);
    loops(DimKind::reduction, {}, false);
  }

  const CpuTemplate& form_;
  Nest nest_;
  std::map<std::string, std::int64_t> tile_;
  std::set<std::string> held_;  ///< dims of which registers hold several steps
  std::size_t units_placed_ = 0;
};

}  // namespace

std::vector<std::string> reduction_dims(const CpuTemplate& form) {
  if (!form.reduction_order.empty()) return form.reduction_order;
  std::vector<std::string> names;
  for (const Dim& dim : form.statement->domain.dims)
    if (dim.kind == DimKind::reduction) names.push_back(dim.name);
  return names;
}

std::int64_t step_of(const CpuTemplate& form, const std::string& dim) {
  const auto it = form.pairing.digit_of.find(dim);
  return it == form.pairing.digit_of.end() ? 1 : full_extent(*form.pairing.instruction, it->second);
}

std::size_t levels_of(const std::vector<Route>& routes, const HardwareModel& model) {
  std::size_t levels = 0;
  for (const Route& route : routes)
    levels = std::max(levels,
                      static_cast<std::size_t>(std::count_if(route.hops.begin(), route.hops.end(),
                                                             [&](const Hop& hop) { return is_scratch(model, hop); })));
  return levels;
}

bool in_registers(const CpuTemplate& form, int access) {
  const auto& hops = form.routes[static_cast<std::size_t>(access)].hops;
  return !hops.empty() && form.model->memory(hops.back().memory).is_register();
}

int buffers_at(const CpuTemplate& form, std::size_t level) {
  return level < form.buffers.size() ? form.buffers[level] : 1;
}

Nest build_nest(const CpuTemplate& form) { return Builder(form).build(); }

}  // namespace isamap

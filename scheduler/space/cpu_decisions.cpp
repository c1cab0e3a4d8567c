// SPDX-License-Identifier: Apache-2.0
#include "scheduler/space/cpu_decisions.h"

#include <fmt/format.h>

#include <algorithm>

#include "hwdesc/model/program_language.h"
#include "hwdesc/model/timing_choice.h"
#include "ir/operand_use.h"
#include "ir/text/access_name.h"
#include "mapper/advice/missing_moves.h"
#include "mapper/match/instruction_tree.h"
#include "scheduler/space/reduction_order.h"
#include "scheduler/space/streaming_stores.h"
#include "support/arithmetic.h"

namespace isamap {

namespace {

constexpr std::size_t max_levels = 2;

// The values up to the first that covers `steps`.
std::vector<std::int64_t> covering(const std::vector<std::int64_t>& values, std::int64_t steps) {
  const auto end = std::lower_bound(values.begin(), values.end(), std::max<std::int64_t>(steps, 1));
  return {values.begin(), end == values.end() ? end : end + 1};
}

std::vector<std::string> numbers(const std::vector<std::int64_t>& values) {
  std::vector<std::string> labels;
  for (std::int64_t v : values) labels.push_back(std::to_string(v));
  return labels;
}

/// The dim of the fused statement that starts with this dim; empty: it is a later digit of one.
std::string fused_dim(const Computation& fused, const std::string& dim) {
  for (const Dim& d : fused.domain.dims)
    if (d.name == dim || d.name.rfind(dim + ".", 0) == 0) return d.name;
  return "";
}

}  // namespace

CpuDecisions::CpuDecisions(const Kernel& of_kernel, StatementId of, std::vector<Mapping> chosen_from,
                           const HardwareModel& machine, const SpaceOptions& wanted)
    : kernel(of_kernel),
      statement(of),
      mappings(std::move(chosen_from)),
      model(&machine),
      options(wanted),
      ready_(mappings.size()),
      routes_(kernel, machine) {
  prepared_.resize(mappings.size());
  make_decisions();
}

std::int64_t CpuDecisions::most_steps(const Dim& dim) const {
  std::int64_t most = 1;
  for (const Mapping& mapping : mappings) {
    std::int64_t steps = std::max<std::int64_t>(dim.extent, 1);
    for (std::size_t m = 0; m < mapping.dims.size(); ++m)
      for (const Digit& digit : mapping.dims[m]) {
        if (digit.column.as_dim() != dim.name) continue;
        const bool begins = &digit == &mapping.dims[m].front();
        const std::int64_t step = instruction_form(mapping, *model)->ranges[m].max;
        steps = begins ? ceil_div(std::max<std::int64_t>(digits_extent(mapping.dims[m]), 1), step) : 1;
      }
    most = std::max(most, steps);
  }
  return most;
}

std::size_t CpuDecisions::most_levels() const {
  std::size_t most = 0;
  for (const Mapping& mapping : mappings)
    for (const Operand& operand : instruction_of(mapping, *model).operands) {
      if (!operand.memory.valid()) continue;
      for (const auto& path : {model->path(model->home(), operand.memory), model->path(operand.memory, model->home())})
        most = std::max(most, static_cast<std::size_t>(std::count_if(path.begin(), path.end(), [&](MemoryId m) {
                          return m != model->home() && !model->memory(m).is_register();
                        })));
    }
  return std::min(most, max_levels);
}

void CpuDecisions::make_decisions() {
  accesses = static_cast<std::size_t>(access_count(unfused()));
  dims = unfused().domain.dims.size();
  levels = most_levels();
  Decision mapping{"mapping", {}, DecisionKind::choice, "mapping"};
  for (std::size_t m = 0; m < mappings.size(); ++m) mapping.labels.push_back(std::to_string(m));
  decisions.push_back(mapping);
  for (std::size_t a = 0; a < accesses; ++a) {
    const std::string access = access_name(kernel.tensors, unfused(), static_cast<int>(a));
    decisions.push_back({"route " + access, numbers({0, 1, 2}), DecisionKind::choice, access});
  }
  for (const Dim& dim : unfused().domain.dims)  // reductions advance one step at a time below the accumulators
    decisions.push_back({"registers " + dim.name,
                         numbers(covering(register_steps, dim.kind == DimKind::parallel ? most_steps(dim) : 1)),
                         DecisionKind::register_tile, dim.name});
  for (std::size_t level = 0; level < levels; ++level)
    for (const Dim& dim : unfused().domain.dims)
      decisions.push_back({fmt::format("level {} {}", level, dim.name), numbers(covering(level_steps, most_steps(dim))),
                           DecisionKind::size, dim.name});
  Decision order{"outermost", {"as written"}, DecisionKind::choice, "outermost"};
  for (const Dim& dim : unfused().domain.dims)
    if (dim.kind == DimKind::parallel) order.labels.push_back(dim.name);
  decisions.push_back(order);
  units = loopable_units();
  for (const CpuTemplate::OnUnit& unit : units) {
    Decision on{"on " + unit.unit, decisions[order_at()].labels, DecisionKind::choice, unit.unit};
    on.labels.front() = "nothing";
    decisions.push_back(on);
  }
  if (executes_a_stream(*model)) make_stream_decisions();
  if (levels == 0 && can_stream_stores(kernel, statement, *model)) {
    streaming_at_ = decisions.size();
    decisions.push_back({"stores", {"through caches", "past caches"}, DecisionKind::choice, "stores"});
  }
  // Long sums are split instead: blocking both chose worse with a model that underprices rows on different pages
  // (matrix products of 16 x 3072 x 1024: 0.77 of the best peer, 0.92 without).
  const auto has = [&](DimKind kind, std::int64_t longer) {
    const auto& all = unfused().domain.dims;
    return std::any_of(all.begin(), all.end(), [&](const Dim& d) { return d.kind == kind && d.extent > longer; });
  };
  const bool blocks = levels == 0 && has(DimKind::parallel, block_steps.back()) && !has(DimKind::reduction, least_cut);
  if (blocks) {
    blocked_at_ = decisions.size();
    decisions.push_back({"in blocks", decisions[order_at()].labels, DecisionKind::choice, "blocks"});
    decisions.back().labels.front() = "nothing";
    decisions.push_back({"block", numbers(block_steps), DecisionKind::size, "block"});
  }
  if (levels == 0) make_reduction_decisions();
}

void CpuDecisions::make_reduction_decisions() {
  const bool in_order = options.sums_in_order && is_float(kernel.tensors[unfused().write.tensor.index()].dtype);
  by_memory_ = in_order ? std::vector<std::string>{} : reductions_by_memory(kernel, unfused());
  if (!by_memory_.empty()) {
    reductions_at_ = decisions.size();
    decisions.push_back({"reduction loops", {"as stated", "by memory"}, DecisionKind::choice, "reduction loops"});
  }
  for (std::size_t d = 0; d < dims; ++d) {
    const Dim& dim = unfused().domain.dims[d];
    if (dim.kind != DimKind::reduction || dim.extent <= least_cut) continue;
    cuts.push_back(d);
    decisions.push_back({"part " + dim.name, numbers(cut_steps), DecisionKind::size, dim.name});
  }
}

bool CpuDecisions::holds_inputs_in_registers() const {
  return std::any_of(mappings.begin(), mappings.end(), [&](const Mapping& mapping) {
    const Instruction& instruction = instruction_of(mapping, *model);
    const auto registers = [&](int access) {
      const MemoryId memory = operand_of(instruction, access).memory;
      return memory.valid() && model->memory(memory).is_register();
    };
    for (int a = 1; a < access_count(instruction.statement()); ++a)
      if (registers(a) && !registers(0)) return true;
    return false;
  });
}

void CpuDecisions::make_stream_decisions() {
  // Without double buffering moves wait for calls.
  for (std::size_t level = 0; level < levels; ++level)
    decisions.push_back({fmt::format("buffers level {}", level),
                         options.single_buffered ? numbers({1}) : numbers({1, 2}), DecisionKind::size,
                         std::to_string(level)});
  if (holds_inputs_in_registers()) {
    held_at_ = decisions.size();
    decisions.push_back({"inputs in registers", {}, DecisionKind::choice, "registers"});
    for (const RegisterForm& form : register_forms)
      if (form.buffers == 1 || !options.single_buffered) decisions.back().labels.emplace_back(form.label);
  }
}

std::optional<std::size_t> CpuDecisions::cut_at(std::size_t dim) const {
  const auto it = std::find(cuts.begin(), cuts.end(), dim);
  return it == cuts.end() ? std::nullopt
                          : std::optional(decisions.size() - cuts.size() + static_cast<std::size_t>(it - cuts.begin()));
}

std::optional<int> CpuDecisions::outermost(std::size_t dim) const {
  const auto& labels = decisions[order_at()].labels;
  const auto it = std::find(labels.begin() + 1, labels.end(), unfused().domain.dims[dim].name);
  return it == labels.end() ? std::nullopt : std::optional(static_cast<int>(it - labels.begin()));
}

bool CpuDecisions::inside_calls(UnitId unit) const {
  return std::all_of(mappings.begin(), mappings.end(), [&](const Mapping& m) {
    const UnitId own = instruction_of(m, *model).unit;
    return own.valid() && unit != own && model->inside(unit, own);
  });
}

std::vector<CpuTemplate::OnUnit> CpuDecisions::loopable_units() const {
  std::vector<CpuTemplate::OnUnit> found;
  // A machine that is counted and not programmed needs no text for an instance. Commands execute one after another.
  const bool counted = is_command_stream(*model) && !executes_a_stream(*model);
  for (std::size_t u = 0; u < model->units().size(); ++u) {
    const Unit& unit = model->units()[u];
    if (inside_calls(make_id<UnitId>(u))) continue;
    if (unit.axes.empty() && unit.count > 1 && (!unit.index.empty() || !unit.threads.loop.empty() || counted))
      found.push_back({unit.name, "", unit.queued ? 0 : unit.count, make_id<UnitId>(u)});
    for (const auto& [axis, count] : unit.axes)
      if (count > 1) found.push_back({unit.name + "." + axis, "", count, make_id<UnitId>(u)});
  }
  return found;
}

const PreparedMapping& CpuDecisions::prepare(std::size_t m) const {
  if (const PreparedMapping* ready = ready_[m].load(std::memory_order_acquire)) return *ready;
  const std::lock_guard lock(mutex_);
  if (!prepared_[m]) prepared_[m] = make(mappings[m]);
  ready_[m].store(prepared_[m].get(), std::memory_order_release);
  return *prepared_[m];
}

std::unique_ptr<PreparedMapping> CpuDecisions::make(const Mapping& mapping) const {
  auto p = std::make_unique<PreparedMapping>();
  p->statement = fuse(unfused(), mapping);
  for (const Dim& dim : unfused().domain.dims) p->fused_dims.push_back(fused_dim(p->statement, dim.name));
  const InstructionForm form = instruction_form(mapping, *model);
  const Instruction& instruction = *form;
  p->pairing = pair(p->statement, form, mapping);
  for (std::size_t a = 0; a < accesses; ++a) {
    const int operand = p->pairing.operand_access[a];
    p->routes.push_back(routes_.of(p->statement, mapping, operand));
    if (options.no_skipping) std::erase_if(p->routes.back().routes, [](const Route& r) { return r.skips; });
    if (!p->routes.back().routes.empty() || !p->problem.empty()) continue;
    p->problem =
        fmt::format("{} has no way to operand {} of {}", access_name(kernel.tensors, unfused(), static_cast<int>(a)),
                    instruction.tensors[operand_of_access(instruction, operand).index()].name, instruction.name);
    p->notes = missing_moves(instruction, *model);
    p->notes.insert(p->notes.end(), p->routes.back().reasons.begin(), p->routes.back().reasons.end());
  }
  return p;
}

std::int64_t CpuDecisions::extent(const PreparedMapping& p, const std::string& dim) const {
  return p.statement.domain.dims[static_cast<std::size_t>(p.statement.domain.find(dim))].extent;
}

std::int64_t CpuDecisions::tile(const CpuTemplate& form, const PreparedMapping& p, const std::string& dim,
                                std::int64_t steps) const {
  const std::int64_t step = step_of(form, dim), whole = round_up(std::max<std::int64_t>(extent(p, dim), 1), step);
  std::int64_t tile = std::min(steps > whole / step ? whole : steps * step, whole);
  while (options.dividing && tile > step && extent(p, dim) % tile != 0) tile -= step;
  return tile;
}

std::vector<std::string> CpuDecisions::reordered(const PreparedMapping& p) const {
  std::vector<std::string> order;
  for (const std::string& dim : by_memory_)
    if (const std::string& fused = p.fused_dims[static_cast<std::size_t>(unfused().domain.find(dim))]; !fused.empty())
      order.push_back(fused);
  for (const Dim& dim : p.statement.domain.dims)  // of one step
    if (dim.kind == DimKind::reduction && std::find(order.begin(), order.end(), dim.name) == order.end())
      order.push_back(dim.name);
  return order;
}

CpuTemplate CpuDecisions::form_of(const PreparedMapping& p, const Point& point) const {
  CpuTemplate form;
  form.kernel = &kernel;
  form.model = model;
  form.statement = &p.statement;
  form.mapping = &mappings[static_cast<std::size_t>(point.choice[0])];
  form.pairing = p.pairing;
  for (std::size_t a = 0; a < accesses; ++a) {
    form.ahead_of_time.push_back(kernel.tensors[access_of(p.statement, static_cast<int>(a)).tensor.index()].constant &&
                                 model->versions().empty());
    const auto& all = p.routes[a].routes;
    form.routes.push_back(all[std::min(static_cast<std::size_t>(point.choice[route_at(a)]), all.size() - 1)]);
  }
  form.tiles.resize(levels_of(form.routes, *model));
  for (std::size_t level = 0; level < levels && buffers_at(level) < decisions.size(); ++level)
    form.buffers.push_back(point.choice[buffers_at(level)] + 1);
  if (held_at_) {
    const std::string& label = decisions[*held_at_].labels[static_cast<std::size_t>(point.choice[*held_at_])];
    for (const RegisterForm& held : register_forms)
      if (label == held.label) form.register_buffers = held.buffers, form.registers_outermost = held.outermost;
  }
  form.streaming_stores = streaming_at_ && point.choice[*streaming_at_] > 0;
  std::string outermost;
  for (std::size_t d = 0; d < dims; ++d) {
    const std::string& dim = p.fused_dims[d];
    if (dim.empty()) continue;
    form.register_tile[dim] =
        tile(form, p, dim, register_steps[static_cast<std::size_t>(point.choice[register_at(d)])]);
    for (std::size_t level = 0; level < form.tiles.size(); ++level)
      form.tiles[level][dim] = tile(
          form, p, dim, level_steps[static_cast<std::size_t>(point.choice[level_at(std::min(level, levels - 1), d)])]);
    if (this->outermost(d) == point.choice[order_at()]) outermost = dim;
    if (blocked_at_ && this->outermost(d) && point.choice[*blocked_at_] == *this->outermost(d)) {
      const std::int64_t block = block_steps[static_cast<std::size_t>(point.choice[*blocked_at_ + 1])];
      form.blocks[dim] = std::max<std::int64_t>(block / form.register_tile[dim], 1) * form.register_tile[dim];
    }
    if (const auto cut = cut_at(d); cut && point.choice[*cut] > 0)
      form.cuts[dim] = tile(form, p, dim, cut_steps[static_cast<std::size_t>(point.choice[*cut])]);
  }
  if (reductions_at_ && point.choice[*reductions_at_] > 0) form.reduction_order = reordered(p);
  for (const Dim& dim : p.statement.domain.dims)
    if (dim.kind == DimKind::parallel) form.parallel_order.push_back(dim.name);
  const auto it = std::find(form.parallel_order.begin(), form.parallel_order.end(), outermost);
  if (it != form.parallel_order.end()) std::rotate(form.parallel_order.begin(), it, it + 1);
  for (std::size_t u = 0; u < units.size(); ++u)
    for (std::size_t d = 0; d < dims; ++d) {
      CpuTemplate::OnUnit on = units[u];
      on.dim = p.fused_dims[d];
      if (const auto choice = this->outermost(d); choice && *choice == point.choice[unit_at(u)] && !on.dim.empty())
        form.units.push_back(on);
    }
  return form;
}

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#include "scheduler/space/register_tiling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "hwdesc/model/compiler_limits.h"
#include "mapper/match/instruction_tree.h"
#include "scheduler/nest/instruction_timing.h"
#include "support/arithmetic.h"

namespace isamap {

namespace {

std::int64_t extent_of(const CpuTemplate& form, const std::string& dim) {
  return form.statement->domain.dims[static_cast<std::size_t>(form.statement->domain.find(dim))].extent;
}

/// Of an access, whatever the tile is.
struct AccessRegisters {
  bool held = false;              ///< in registers
  MemoryId memory = {};           ///< of these
  double each = 1;                ///< registers of one step
  std::vector<std::string> dims;  ///< of the statement: those that it uses

  /// One for each step of its dims.
  double registers(const RegisterTile& steps) const {
    double registers = 1;
    for (const auto& [dim, count] : steps)
      if (std::find(dims.begin(), dims.end(), dim) != dims.end()) registers *= static_cast<double>(count);
    return registers * each;
  }
};

AccessRegisters facts_of(const CpuTemplate& form, int access) {
  AccessRegisters facts;
  facts.held = in_registers(form, access);
  for (const Dim& dim : form.statement->domain.dims)
    if (uses(access_of(*form.statement, access), dim.name)) facts.dims.push_back(dim.name);
  if (!facts.held) return facts;
  facts.memory = form.routes[static_cast<std::size_t>(access)].hops.back().memory;
  const int operand = form.pairing.operand_access[static_cast<std::size_t>(access)];
  const Operand& o = form.pairing.instruction->operands[operand_of_access(*form.pairing.instruction, operand).index()];
  double elements = 1;
  for (std::int64_t extent : operand_box(*form.pairing.instruction, operand)) elements *= static_cast<double>(extent);
  if (const auto* fragment = std::get_if<FragmentLayout>(&o.layout))
    elements = static_cast<double>(fragment->over.back().second);
  const double bits_each = bits(form.kernel->tensors[access_of(*form.statement, access).tensor.index()].dtype);
  const double size = 8.0 * static_cast<double>(std::max<std::int64_t>(form.model->memory(o.memory).size, 1));
  facts.each = std::max<double>(o.group, std::ceil(elements * bits_each / size));
  return facts;
}

struct RegisterUse {
  std::map<MemoryId, double> needed;
  double loads = 0;  // register fills in one pass of the innermost loop
  double accumulators = 0;
};

// Does a call have a memory operand, with accumulators that the compiler allocates?
bool has_memory_operand(const CpuTemplate& form) {
  if (!in_registers(form, 0) || !form.model->memory(form.routes[0].hops.back().memory).named_by_compiler())
    return false;
  for (int a = 1; a < access_count(*form.statement); ++a)
    if (!in_registers(form, a)) return true;
  return false;
}

/// The innermost reduction if compilers unroll it: values read by neighbouring window steps then stay live.
std::optional<std::string> unrolled_window(const CpuTemplate& form) {
  std::optional<std::string> last;
  for (const std::string& dim : reduction_dims(form))
    if (extent_of(form, dim) > 1) last = dim;
  if (!last || extent_of(form, *last) > window_steps_in_registers || step_of(form, *last) > 1) return std::nullopt;
  return last;
}

/// Registers for the values of an input in one pass of that loop, other dims one step at a time.
double registers_for_window(const CpuTemplate& form, int access, const std::string& window, const RegisterTile& steps) {
  double most = 1;
  for (const AffineExpr& e : access_of(*form.statement, access).index) {
    if (!e.names().contains(window)) continue;
    double span = 1, reach = 1;  // span of all steps, reach of one
    double values = 1;           // of all steps, if none are the same: fewer than the span where steps leave gaps
    for (const std::string& name : e.names())
      if (name != window)
        reach += static_cast<double>(std::abs(e.coefficient(name))) *
                 static_cast<double>(std::max<std::int64_t>(extent_of(form, name), 1) - 1);
    if (e.names().size() > 1 && static_cast<double>(std::abs(e.coefficient(window))) >= reach)
      continue;  // steps share no elements: k_lane + 16*k_round
    for (const std::string& name : e.names()) {
      const auto it = steps.find(name);
      const double count = name == window ? static_cast<double>(extent_of(form, name))
                                          : static_cast<double>(it == steps.end() ? 1 : it->second);
      span += static_cast<double>(std::abs(e.coefficient(name))) * (count - 1);
      values *= std::max(count, 1.0);
    }
    most = std::max(most, std::min(span, values));
  }
  return most;
}

/// The same for all tiles of a form: hundreds of them are compared.
struct TileFacts {
  const CpuTemplate& form;
  std::vector<AccessRegisters> accesses = {};
  double beside_results = 0;  ///< registers in the memory of the results that no access is in
  std::optional<std::string> window = unrolled_window(form);

  explicit TileFacts(const CpuTemplate& of) : form(of) {
    for (int a = 0; a < access_count(*form.statement); ++a) accesses.push_back(facts_of(form, a));
    if (accesses[0].held)
      beside_results = static_cast<double>(registers_beside_operands(form.mapping->tree, *form.model));
    if (has_memory_operand(form)) beside_results += 1;  // the compiler-allocated register of the memory operand
  }
};

// As build_nest places them: the input with the fewest registers is whole, the others one step at a time.
RegisterUse register_use(const TileFacts& facts, const RegisterTile& steps) {
  RegisterUse use;
  std::vector<std::pair<double, int>> inputs;
  for (std::size_t a = 0; a < facts.accesses.size(); ++a) {
    const AccessRegisters& access = facts.accesses[a];
    if (!access.held) continue;
    const double whole = access.registers(steps);
    if (a == 0) {
      use.needed[access.memory] += whole + facts.beside_results;
      use.accumulators = whole;
      continue;
    }
    inputs.emplace_back(whole, static_cast<int>(a));
    use.loads += whole;
  }
  std::stable_sort(inputs.begin(), inputs.end());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const AccessRegisters& access = facts.accesses[static_cast<std::size_t>(inputs[i].second)];
    double needed = i == 0 ? inputs[i].first : access.each;
    if (facts.window && facts.form.model->memory(access.memory).named_by_compiler())
      needed = std::max(needed, registers_for_window(facts.form, inputs[i].second, *facts.window, steps));
    use.needed[access.memory] += needed;
  }
  return use;
}

RegisterTile steps_of(const CpuTemplate& form) {
  RegisterTile steps;
  for (const auto& [dim, tile] : form.register_tile) {
    const auto& d = form.statement->domain.dims[static_cast<std::size_t>(form.statement->domain.find(dim))];
    if (d.kind == DimKind::parallel)
      steps[dim] = ceil_div(std::min(tile, std::max<std::int64_t>(d.extent, 1)), step_of(form, dim));
  }
  return steps;
}

// Elements of memory operands read in one pass: a broadcast is a load for each step of its dims.
double memory_reads(const TileFacts& facts, const RegisterTile& steps) {
  double reads = 0;
  for (std::size_t a = 1; a < facts.accesses.size(); ++a)
    if (!facts.accesses[a].held) reads += facts.accesses[a].registers(steps);
  return reads;
}

double load_ports(const CpuTemplate& form) {
  double ports = 1;
  for (const Instruction& i : form.model->instructions())
    if (is_move(i) && form.model->memory(i.operands[0].memory).is_register())
      ports = std::max(ports, ports_of(i, *form.model));
  return ports;
}

struct Pass {
  double cycles = 0, loads = 0;
};

/// Cycles of the instruction, and what executes it and its loads at a time.
struct Rates {
  double interval = 0, ports = 1, latency = 0, load_ports = 1;
};

Rates rates_of(const CpuTemplate& form) {
  const Instruction& instruction = *form.pairing.instruction;
  const auto full = full_extents(instruction);
  return {interval_of(instruction, full, *form.model), ports_of(instruction, *form.model),
          latency_of(instruction, full, *form.model), load_ports(form)};
}

// One pass over a tile: calls and loads over their ports, at least the latency of the accumulators.
Pass pass_over(const TileFacts& facts, const Rates& rates, const RegisterTile& steps) {
  double calls = 1;
  for (const auto& [dim, count] : steps) calls *= static_cast<double>(count);
  const double compute = calls * rates.interval / rates.ports;
  const double loads = register_use(facts, steps).loads + memory_reads(facts, steps);
  return {std::max({compute, loads / rates.load_ports, rates.latency}), loads};
}

// Per result and reduction step: full tiles and tails, which use fewer ports.
Pass each_result(const TileFacts& facts, const Rates& rates, const RegisterTile& steps) {
  const CpuTemplate& form = facts.form;
  struct Share {
    RegisterTile steps;
    double tiles = 1;
  };
  std::vector<Share> shares{{{}, 1}};
  double results = 1;
  for (const auto& [dim, count] : steps) {
    const std::int64_t whole = std::max<std::int64_t>(ceil_div(extent_of(form, dim), step_of(form, dim)), 1);
    results *= static_cast<double>(whole);
    std::vector<Share> next;
    for (const Share& share : shares)
      for (const auto& [size, number] :
           {std::pair(std::min(count, whole), whole / count), {whole % count, std::int64_t{1}}}) {
        if (size == 0 || number == 0) continue;
        next.push_back(share);
        next.back().steps[dim] = size;
        next.back().tiles *= static_cast<double>(number);
      }
    shares = std::move(next);
  }
  Pass sum;
  for (const Share& share : shares) {
    const Pass pass = pass_over(facts, rates, share.steps);
    sum.cycles += share.tiles * pass.cycles / results;
    sum.loads += share.tiles * pass.loads / results;
  }
  return sum;
}

bool fits(const TileFacts& facts, const RegisterTile& steps) {
  for (const auto& [memory, needed] : register_use(facts, steps).needed)
    if (needed > static_cast<double>(facts.form.model->memory(memory).count)) return false;
  return true;
}

double tile_bytes(const CpuTemplate& form, int access, std::size_t level) {
  Tiles tiles;
  for (const Dim& dim : form.statement->domain.dims) {
    const std::int64_t step = step_of(form, dim.name);
    tiles[dim.name] = {AffineExpr(0),
                       round_up(std::min(form.tiles[level].at(dim.name), std::max<std::int64_t>(dim.extent, 1)), step)};
  }
  double elements = 1;
  for (const AffineExpr& e : natural_forms(access_of(*form.statement, access)))
    elements *= static_cast<double>(range_over(e, tiles).extent);
  return elements * bytes(form.kernel->tensors[access_of(*form.statement, access).tensor.index()].dtype);
}

}  // namespace

double least_cycles(const Computation& unfused, const Mapping& mapping, const HardwareModel& model) {
  const InstructionForm form = instruction_form(mapping, model);
  const Instruction& instruction = *form;
  const auto full = full_extents(instruction);
  double points = 1, block = 1;
  for (const Dim& dim : unfused.domain.dims) points *= static_cast<double>(dim.extent);
  for (std::int64_t extent : full) block *= static_cast<double>(extent);
  const double calls = points / std::max(mapping.utilisation, 1e-9) / block;
  return calls * interval_of(instruction, full, model) / ports_of(instruction, model);
}

std::vector<RegisterTile> good_register_tiles(const CpuTemplate& form, const std::vector<std::int64_t>& counts,
                                              std::size_t most) {
  if (!in_registers(form, 0) || most == 0) return {};
  std::vector<std::string> dims;
  for (const Dim& dim : form.statement->domain.dims)
    if (dim.kind == DimKind::parallel && dim.extent > step_of(form, dim.name)) dims.push_back(dim.name);
  RegisterTile one;
  for (const std::string& dim : dims) one[dim] = 1;
  const TileFacts facts(form);
  const Rates rates = rates_of(form);
  std::vector<std::pair<Pass, RegisterTile>> good{{each_result(facts, rates, one), one}};
  const auto better = [](const Pass& a, const Pass& b) {  // rounded: the order of summation must not matter
    const auto rank = [](const Pass& p) { return std::pair(std::round(p.cycles * 1e9), std::round(p.loads * 1e9)); };
    return rank(a) < rank(b);
  };
  const auto most_steps = [&](const std::string& dim) { return ceil_div(extent_of(form, dim), step_of(form, dim)); };
  for (std::size_t x = 0; x < dims.size(); ++x)
    for (std::size_t y = x; y < dims.size(); ++y)
      for (std::int64_t a : counts) {
        std::optional<std::pair<Pass, RegisterTile>> best;
        for (std::int64_t b : counts) {
          if (a > most_steps(dims[x]) || b > most_steps(dims[y]) || (x == y && b != 1)) continue;
          RegisterTile steps = one;
          steps[dims[x]] = a;
          if (x != y) steps[dims[y]] = b;
          if (!fits(facts, steps)) continue;
          const Pass pass = each_result(facts, rates, steps);
          if (!best || better(pass, best->first)) best = {pass, steps};
        }
        if (best && std::none_of(good.begin(), good.end(), [&](const auto& g) { return g.second == best->second; }))
          good.push_back(std::move(*best));
      }
  std::stable_sort(good.begin(), good.end(), [&](const auto& a, const auto& b) { return better(a.first, b.first); });
  std::vector<RegisterTile> result;
  for (std::size_t i = 0; i < std::min(most, good.size()); ++i) result.push_back(std::move(good[i].second));
  return result;
}

std::optional<Diagnostic> register_problem(const CpuTemplate& form) {
  for (const auto& [memory, needed] : register_use(TileFacts(form), steps_of(form)).needed) {
    const Memory& m = form.model->memory(memory);
    if (needed > static_cast<double>(m.count))
      return error(fmt::format("memory {} holds {} registers; the tile needs {:.0f}", m.name, m.count, needed));
  }
  return std::nullopt;
}

std::optional<std::size_t> level_over_capacity(const CpuTemplate& form) {
  for (std::size_t level = 0; level < form.tiles.size(); ++level) {
    std::map<MemoryId, double> needed;
    for (int a = 0; a < access_count(*form.statement); ++a) {
      std::size_t depth = 0;
      for (const Hop& hop : form.routes[static_cast<std::size_t>(a)].hops)
        if (!hop.packed && !form.model->memory(hop.memory).is_register() && depth++ == level)
          needed[hop.memory] += buffers_at(form, level) * tile_bytes(form, a, level);
    }
    for (const auto& [memory, size] : needed)
      if (size > static_cast<double>(form.model->memory(memory).capacity)) return level;
  }
  return std::nullopt;
}

}  // namespace isamap

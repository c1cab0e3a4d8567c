// SPDX-License-Identifier: Apache-2.0
#include "driver/fit_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/model_runner.h"
#include "driver/plan/band_price.h"
#include "frontends/exact_scales.h"
#include "frontends/hoisted_divisors.h"
#include "frontends/inlined_producers.h"
#include "frontends/layers.h"
#include "frontends/widened_operands.h"
#include "hwdesc/model/program_language.h"
#include "isamap/mapper.h"
#include "mapper/match/instruction_tree.h"
#include "scheduler/nest/instruction_timing.h"

namespace isamap {
namespace {

/// Can moves bring this type from where tensors lie to the memory?
bool reaches(const HardwareModel& machine, MemoryId to, DType type) {
  std::vector<MemoryId> reached{machine.home()};
  for (std::size_t next = 0; next < reached.size(); ++next)
    for (const Instruction& move : machine.instructions()) {
      if (!is_move(move) || move.operands.size() < 2 || move.operands[0].dtype != type ||
          move.operands[1].memory != reached[next])
        continue;
      if (std::find(reached.begin(), reached.end(), move.operands[0].memory) == reached.end())
        reached.push_back(move.operands[0].memory);
    }
  return std::find(reached.begin(), reached.end(), to) != reached.end();
}

bool fills_accumulators(const HardwareModel& machine, DType type) {
  return std::any_of(machine.instructions().begin(), machine.instructions().end(), [&](const Instruction& one) {
    if (one.semantics.empty() || one.statement().reduction != Reduction::add) return false;
    const Operand& sums = one.operands[operand_of_access(one, 0).index()];
    return sums.dtype == type && sums.memory != machine.home() && reaches(machine, sums.memory, type);
  });
}

/// Issue slots of the instructions that compute a body.
CyclesOfCall cycles_on(const HardwareModel& machine) {
  return [&machine](const Computation& statement, const std::vector<Tensor>& tensors) -> std::optional<double> {
    const auto tree = cheapest_tree(statement, tensors, machine);
    if (!tree) return std::nullopt;
    double cycles = 0;
    for (const TreeCall& call : tree->calls) {
      const Instruction& one = machine.instruction(call.instruction);
      cycles += interval_of(one, full_extents(one), machine) / ports_of(one, machine);
    }
    return cycles;
  };
}

/// One instruction on all of its points.
double cycles_of_point(const Instruction& one, const HardwareModel& machine) {
  double points = 1;
  for (const std::int64_t extent : full_extents(one)) points *= static_cast<double>(extent);
  return interval_of(one, full_extents(one), machine) / ports_of(one, machine) / points;
}

/// Of the fastest instruction that computes a statement, or of the tree of them; nothing: scalar code does.
std::optional<double> cycles_of_point(const Kernel& kernel, std::size_t s, const HardwareModel& machine) {
  const Computation& statement = kernel.statements[s];
  if (statement.reduction == Reduction::assign) {
    const auto tree = cheapest_tree(statement, kernel.tensors, machine);
    if (!tree) return std::nullopt;
    double cycles = 0;
    for (const TreeCall& call : tree->calls) cycles += cycles_of_point(machine.instruction(call.instruction), machine);
    return cycles;
  }
  const Kernel alone = cut(kernel, {s}, "one");
  MapOptions one_is_enough;
  one_is_enough.progress = [](std::int64_t mappings) { return mappings == 0; };
  std::optional<double> least;
  for (std::size_t i = 0; i < machine.instructions().size(); ++i) {
    const Instruction& one = machine.instructions()[i];
    if (!is_compute(one) || (least && cycles_of_point(one, machine) >= *least)) continue;
    if (!map_statement(alone, make_id<StatementId>(0), one, make_id<InstructionId>(i), one_is_enough).mappings.empty())
      least = cycles_of_point(one, machine);
  }
  return least;
}

/// By one instruction, as the mapper finds it.
bool computed_by_one(const Computation& statement, const std::vector<Tensor>& tensors, const HardwareModel& machine) {
  Kernel whole;
  whole.name = "one";
  whole.tensors = tensors;
  whole.statements = {statement};
  const auto mapped = enumerate_mappings(cut(whole, {0}, "one"), machine, {});
  return mapped && !mapped->mappings.empty();
}

/// The types of the operands whose products an instruction adds up in s32.
std::optional<std::pair<DType, DType>> integer_factors(const Instruction& instruction) {
  if (instruction.semantics.empty() || instruction.statement().reduction != Reduction::add) return std::nullopt;
  const ScalarExpr& body = instruction.statement().body;
  const auto* product = std::get_if<Binary>(&body.op);
  if (product == nullptr || product->op != BinaryOp::mul || body.type != DType::s32) return std::nullopt;
  std::vector<DType> types;
  for (const ScalarExpr& factor : body.args)
    if (std::holds_alternative<Cast>(factor.op) && std::holds_alternative<Read>(factor.args[0].op))
      types.push_back(factor.args[0].type);
  return types.size() == 2 ? std::optional(std::pair(types[0], types[1])) : std::nullopt;
}

}  // namespace

MultipliesBytes bytes_multiplied_by(const HardwareModel& machine) {
  return [&machine](DType a, DType b) {
    return std::any_of(machine.instructions().begin(), machine.instructions().end(), [&](const Instruction& one) {
      const auto factors = integer_factors(one);
      return factors && (*factors == std::pair(a, b) || *factors == std::pair(b, a));
    });
  };
}

Model fitted_to(Model model, const HardwareModel& machine, const BiasOptions& options) {
  const auto computes_whole = [&](const Computation& statement, const std::vector<Tensor>& tensors) {
    return statement.reduction == Reduction::assign ? cheapest_tree(statement, tensors, machine).has_value()
                                                    : computed_by_one(statement, tensors, machine);
  };
  model = inlined_producers(std::move(model), computes_whole, !options.strict_float);
  constexpr double shared_at_all = 2;  // points of one divisor; rows of samples are no shorter
  if (!options.strict_float)
    model = hoisted_divisors(std::move(model), cycles_on(machine),
                             options.of_all_sizes ? shared_at_all : least_points_of_divisor);
  if (!is_command_stream(machine)) return model;
  model = biases_first(
      std::move(model), [&](DType type) { return fills_accumulators(machine, type); }, options);
  return exact_scales(std::move(model), [&](const Computation& statement, const std::vector<Tensor>& tensors) {
    return computed_by_one(statement, tensors, machine);
  });
}

Model with_widened_operands(Model model, const HardwareModel& machine) {
  const auto caches = prints_bands(machine) ? band_caches(machine) : std::nullopt;
  if (!caches) return model;
  const auto cycles = [&](const Kernel& kernel, std::size_t s) { return cycles_of_point(kernel, s, machine); };
  return widened_operands(std::move(model), {cycles, caches->far});
}

std::optional<Diagnostic> exceeds_memory(const Model& model, const HardwareModel& machine) {
  const Memory& home = machine.memory(machine.home());
  const auto bytes_of = [&](TensorId id) { return static_cast<double>(byte_count(model.kernel.tensors[id.index()])); };
  double ports = 0, weights = 0;
  for (const auto* list : {&model.inputs, &model.outputs})
    for (const TensorId id : *list) ports += bytes_of(id);
  for (const Weight& weight : model.weights) weights += bytes_of(weight.tensor);
  if (home.capacity <= 0 || ports + weights <= static_cast<double>(home.capacity)) return std::nullopt;
  return error(fmt::format("the model needs more than {:.0f} bytes of {}, which has {}: {:.0f} of inputs and outputs, "
                           "{:.0f} of weights",
                           ports + weights, home.name, home.capacity, ports, weights),
               "smaller sizes, or a machine with more of it");
}

}  // namespace isamap

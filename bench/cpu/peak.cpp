// SPDX-License-Identifier: Apache-2.0
#include "bench/cpu/peak.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "isamap/backend.h"
#include "isamap/scheduler.h"
#include "scheduler/nest/rerolled_instruction.h"
#include "scheduler/nest/staged_tile.h"
#include "scheduler/space/operand_routes.h"

namespace isamap::bench {
namespace {

constexpr std::size_t page = 4096;
constexpr const char* result_dim = "pu";
constexpr const char* repeat_dim = "pr";
constexpr const char* pass_dim = "pp";

/// Not verified: the repetition is a dim of no tensor, which the verifier rejects.
Result<Kernel> kernel_of(const Instruction& instruction, const PeakShape& shape) {
  Kernel kernel;
  kernel.name = "peak";
  kernel.tensors = instruction.tensors;
  Computation statement = instruction.statement();
  statement.name = "s0";
  const Ranges ranges = ranges_of(statement.domain);
  for (int a = 0; a < access_count(statement); ++a) {
    Access& access = a == 0 ? statement.write : statement.reads[static_cast<std::size_t>(a - 1)];
    Tensor& tensor = kernel.tensors[access.tensor.index()];
    const Operand& operand = instruction.operands[access.tensor.index()];
    if (!operand.dtype) return error(fmt::format("operand {} has no type of its own", operand.name));
    tensor.dtype = *operand.dtype;
    tensor.shape.clear();
    std::vector<AffineExpr> index;
    const auto add = [&](std::int64_t extent, const char* dim) {
      tensor.shape.push_back(extent);
      index.push_back(AffineExpr::dim(dim));
    };
    const bool stream = a == 1 && shape.stream;
    if (stream && !shape.apart) add(shape.repeats, repeat_dim);
    if (stream || a == 0) add(shape.results, result_dim);
    if (stream && shape.apart) add(shape.repeats, repeat_dim);
    for (const AffineExpr& e : access.index) {
      const auto range = bounds(e, ranges);
      if (!range || range->low < 0) return error("a subscript has no bounds");
      tensor.shape.push_back(range->high + 1);
      index.push_back(e);
    }
    access.index = std::move(index);
  }
  // Accumulators start at the caller's values: the compiler would merge equal ones.
  kernel.tensors[statement.write.tensor.index()].inout = true;
  statement.domain.dims.insert(statement.domain.dims.begin(), {result_dim, shape.results, DimKind::parallel});
  statement.domain.dims.push_back({pass_dim, shape.passes, DimKind::reduction});
  statement.domain.dims.push_back({repeat_dim, shape.repeats, DimKind::reduction});
  kernel.statements = {std::move(statement)};
  return kernel;
}

Mapping identity(const Instruction& instruction, InstructionId id, bool summed) {
  Mapping mapping;
  mapping.statement = make_id<StatementId>(0);
  mapping.instruction = id;
  for (int a = 0; a < access_count(instruction.statement()); ++a) mapping.operands.push_back(a);
  for (std::size_t d = 0; d < instruction.ranges.size(); ++d)
    mapping.dims.push_back(
        {Digit{AffineExpr::dim(instruction.statement().domain.dims[d].name), instruction.ranges[d].max}});
  if (summed) mapping.rolled = {instruction.statement().domain.dims.back()};
  return mapping;
}

Line loop(const std::string& dim, std::int64_t tile, bool unroll) {
  return {For{{unroll}, {{dim, tile}}, "", Tail::none, ""}};
}

/// Lines: packed copies; resident tiles; repetitions; results; streamed operands; the instruction.
Nest nest_of(const Kernel& kernel, const Instruction& instruction, const Mapping& mapping,
             const std::vector<Route>& chosen, const PeakShape& shape, const HardwareModel& model) {
  const Computation& statement = kernel.statements[0];
  Nest nest;
  const auto stages = [&](const Route& route, bool packed) {
    for (const Hop& hop : route.hops)
      if (hop.packed == packed) {
        Stage stage;
        stage.tensor = kernel.tensors[access_of(statement, route.access).tensor.index()].name;
        stage.memory = model.memory(hop.memory).name;
        stage.layout = hop.layout;
        nest.lines.push_back({stage});
      }
  };
  const auto streamed = [&](const Route& route) { return shape.stream && route.access == 1; };
  for (const Route& route : chosen) stages(route, true);
  for (const Route& route : chosen)
    if (!streamed(route)) stages(route, false);
  nest.lines.push_back(loop(pass_dim, 1, false));
  nest.lines.push_back(loop(repeat_dim, 1, false));
  nest.lines.push_back(loop(result_dim, 1, true));
  for (const Route& route : chosen)
    if (streamed(route)) stages(route, false);
  Do line;
  line.statement = statement.name;
  line.instruction = instruction.name;
  for (std::size_t d = 0; d < mapping.dims.size(); ++d)
    line.dims.emplace_back(instruction.statement().domain.dims[d].name, mapping.dims[d]);
  nest.lines.push_back({line});
  return nest;
}

}  // namespace

struct PeakProgram::State {
  struct Freed {
    void operator()(std::uint8_t* memory) const { std::free(memory); }
  };
  LoadedKernel loaded;
  std::vector<std::unique_ptr<std::uint8_t, Freed>> memory;
  std::vector<TensorView> views;
  double operations = 0, bytes = 0;
  std::string name;
};

PeakProgram::PeakProgram(std::unique_ptr<State> state) : state_(std::move(state)) {}
PeakProgram::PeakProgram(PeakProgram&&) noexcept = default;
PeakProgram& PeakProgram::operator=(PeakProgram&&) noexcept = default;
PeakProgram::~PeakProgram() = default;
void PeakProgram::run() { (void)state_->loaded.call(state_->views); }  // views are its own: right by construction
double PeakProgram::operations() const { return state_->operations; }
double PeakProgram::bytes() const { return state_->bytes; }
std::string PeakProgram::name() const { return state_->name; }

std::int64_t results_in_registers(const HardwareModel& model, InstructionId id) {
  const InstructionForm form = rerolled_form(model, id);
  const auto operand = [&](int a) -> const Operand& { return form->operands[operand_of_access(*form, a).index()]; };
  if (!operand(0).memory.valid() || !operand(0).dtype) return 0;
  const Memory& memory = model.memory(operand(0).memory);
  if (!memory.is_register()) return 0;
  std::int64_t room = memory.count;
  for (int a = 1; a < access_count(form->statement()); ++a)
    if (operand(a).memory == operand(0).memory && operand(a).dtype)
      room -= registers_of(*form, a, *operand(a).dtype, memory);
  return room / std::max(1, registers_of(*form, 0, *operand(0).dtype, memory));
}

Result<PeakCode> peak_code(const HardwareModel& model, InstructionId id, const PeakShape& shape) {
  const InstructionForm form = rerolled_form(model, id);
  const bool summed = form->ranges.size() > model.instruction(id).ranges.size();
  auto kernel = kernel_of(*form, shape);
  if (!kernel) return kernel.diagnostics();
  const Mapping mapping = identity(*form, id, summed);
  const Computation statement = fuse(kernel->statements[0], mapping);
  std::vector<Route> chosen;
  for (int a = 0; a < access_count(statement); ++a) {
    const Routes ways = routes(*kernel, statement, mapping, a, model);
    if (ways.routes.empty())
      return error(fmt::format("nothing moves operand {} of {}", a, form->name),
                   ways.reasons.empty() ? "" : ways.reasons.front());
    chosen.push_back(ways.routes.front());
  }
  Schedule schedule;
  schedule.name = schedule.kernel = kernel->name;
  schedule.target = model.name;
  schedule.nests = {nest_of(*kernel, *form, mapping, chosen, shape, model)};
  auto program = lower(schedule, *kernel, model, DoLines::trusted);
  if (!program) return program.diagnostics();
  program->as_named = true;  // equal semantics in another state is another instruction
  return PeakCode{std::move(*kernel), std::move(*program)};
}

Result<PeakProgram> peak_program(const HardwareModel& model, InstructionId id, const PeakShape& shape) {
  auto code = peak_code(model, id, shape);
  if (!code) return code.diagnostics();
  auto loaded = load_program(code->program, model);
  if (!loaded) return loaded.diagnostics();
  const Kernel& kernel = code->kernel;
  auto state = std::make_unique<PeakProgram::State>(
      PeakProgram::State{std::move(*loaded),
                         {},
                         {},
                         0,
                         0,
                         fmt::format("{} of {}, {} sums", model.instruction(id).name, model.name, shape.results)});
  double points = 1;
  for (const Dim& dim : kernel.statements[0].domain.dims) points *= static_cast<double>(dim.extent);
  state->operations = 2 * points;
  for (const TensorId t : arguments(kernel)) {
    const Tensor& tensor = kernel.tensors[t.index()];
    const auto size = static_cast<std::size_t>(byte_count(tensor));
    auto* memory = static_cast<std::uint8_t*>(std::aligned_alloc(page, (size / page + 1) * page));
    if (memory == nullptr) return error(fmt::format("no memory for {} bytes", size));
    // Zeros keep sums finite; writing them maps the pages.
    std::memset(memory, 0, size);
    state->memory.emplace_back(memory);
    state->views.push_back({memory, tensor.dtype, tensor.shape, {}});
    if (shape.stream && t == kernel.statements[0].reads[0].tensor)
      state->bytes = static_cast<double>(size) * static_cast<double>(shape.passes);
  }
  return PeakProgram(std::move(state));
}

}  // namespace isamap::bench

#include "scheduler/lower.h"

#include <fmt/format.h>

#include <algorithm>

#include "hwdesc/program_check.h"
#include "mapper/stated.h"
#include "scheduler/allocate.h"
#include "scheduler/lower_nest.h"
#include "scheduler/lowerable.h"
#include "scheduler/nest_view.h"

namespace isamap {

namespace {

const Do* do_line(const Nest& nest) { return nest.lines.empty() ? nullptr : std::get_if<Do>(&nest.lines.back().is); }

void add_tensors(Lowering& lowering, std::vector<TileBuffer>& tensors, const HardwareModel& model) {
  const Kernel& kernel = lowering.program.kernel;
  std::vector<TensorId> order = arguments(kernel);
  for (std::size_t t = 0; t < kernel.tensors.size(); ++t)
    if (role_of(kernel, make_id<TensorId>(t)) == Role::intermediate) order.push_back(make_id<TensorId>(t));
  tensors.resize(kernel.tensors.size());
  for (TensorId id : order) {
    const Tensor& tensor = kernel.tensors[id.index()];
    Buffer buffer;
    buffer.name = tensor.name;
    buffer.memory = model.home();
    buffer.dtype = tensor.dtype;
    buffer.extents = tensor.shape;
    buffer.strides = dense_strides(tensor.shape);
    buffer.tensor = id;
    buffer.role = role_of(kernel, id) == Role::intermediate ? BufferRole::local : BufferRole::argument;
    if (buffer.role == BufferRole::argument && model.program.language != "asm")
      buffer.align = bytes(tensor.dtype);  // the caller's arrays; where we give the addresses, 64
    tensors[id.index()].buffer = make_id<BufferId>(lowering.program.buffers.size());
    tensors[id.index()].whole_tensor = true;
    lowering.program.buffers.push_back(std::move(buffer));
  }
}

// Does an earlier statement write this tensor?
bool written_before(const Kernel& kernel, std::size_t statement) {
  for (std::size_t s = 0; s < statement; ++s)
    if (kernel.statements[s].write.tensor == kernel.statements[statement].write.tensor) return true;
  return false;
}

/// Why the `do` line cannot be taken at its word; empty: it is proved, and of a kind that is lowered.
std::string unproved(const Do& line, const Kernel& kernel, const Mapping& mapping, const HardwareModel& model) {
  const Stated stated = judge_stated(kernel, model, mapping);
  if (!stated.mapping)
    return fmt::format("{} does not compute {} as this line says: {}", line.instruction, line.statement,
                       stated.refusal);
  const std::string no = not_lowered(*stated.mapping, model);
  return no.empty() ? "" : fmt::format("{} is not lowered as this line says: {}", line.instruction, no);
}

Result<std::vector<Node>> lower_statement(Lowering& lowering, const Nest& nest, std::size_t s,
                                          const std::vector<TileBuffer>& tensors, DoLines lines) {
  const Kernel& kernel = lowering.program.kernel;
  const Do* line = do_line(nest);
  if (!line)
    return error(fmt::format("the nest of statement {} does not end with a `do` line", kernel.statements[s].name));
  NestInput input;
  input.kernel = &kernel;
  input.nest = &nest;
  input.tensors = tensors;
  input.starts_from_memory =
      kernel.tensors[kernel.statements[s].write.tensor.index()].inout || written_before(kernel, s);
  Computation statement = kernel.statements[s];
  input.written = written_elements(statement, kernel.tensors[statement.write.tensor.index()]);
  Mapping mapping;
  InstructionForm instruction;
  if (!line->instruction.empty() && line->instruction != "scalar") {
    auto found = mapping_of(*line, kernel, make_id<StatementId>(s), lowering.model);
    if (!found) return found.diagnostics();
    mapping = *found;
    if (lines == DoLines::proved)
      if (const std::string no = unproved(*line, kernel, mapping, lowering.model); !no.empty())
        return error(no, "isamap map lists what does");
    instruction = instruction_form(mapping, lowering.model);
    if (!statement.domain.faces.empty())
      return error(
          fmt::format("statement {} has a cut domain; lowering it to instructions is not supported", statement.name));
    statement = fuse(statement, mapping);
  }
  input.pairing = pair(statement, instruction, mapping);
  return lower_nest(lowering, input);
}

// What no line is to blame for alone stands at the `do` line, where all of them have had their say.
Diagnostics at_last_line(Diagnostics problems, const Nest& nest) {
  for (Diagnostic& problem : problems)
    if (problem.where.file.empty() && !nest.lines.empty()) problem.where = nest.lines.back().where;
  return problems;
}

}  // namespace

Result<Program> lower(const Schedule& schedule, const Kernel& kernel, const HardwareModel& model, DoLines lines) {
  if (schedule.nests.size() != kernel.statements.size())
    return error(fmt::format("the schedule has {} nests; kernel {} has {} statements", schedule.nests.size(),
                             kernel.name, kernel.statements.size()));
  Lowering lowering{model, {}, {}, {}, {}, 0};
  Program& program = lowering.program;
  program.name = schedule.name.empty() ? kernel.name : schedule.name;
  program.kernel = kernel;
  program.schedule_text = print(schedule);
  program.sizes = model.sizes();
  std::vector<TileBuffer> tensors;
  add_tensors(lowering, tensors, model);
  for (std::size_t s = 0; s < schedule.nests.size(); ++s) {
    auto nodes = lower_statement(lowering, schedule.nests[s], s, tensors, lines);
    if (!nodes) return at_last_line(nodes.diagnostics(), schedule.nests[s]);
    program.body.push_back(Node{Comment{print(kernel.statements[s], kernel.tensors)}});
    program.body.insert(program.body.end(), nodes->begin(), nodes->end());
  }
  program.body.insert(program.body.begin(), lowering.mask_fills.begin(), lowering.mask_fills.end());
  allocate(program, model);
  Diagnostics problems = verify(program, model);
  if (has_errors(problems)) return at_last_line(problems, schedule.nests.back());
  return std::move(program);
}

}  // namespace isamap

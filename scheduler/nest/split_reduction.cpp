// SPDX-License-Identifier: Apache-2.0
#include "scheduler/nest/split_reduction.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "hwdesc/model/parallel_units.h"
#include "support/yaml.h"

namespace isamap {

namespace {

bool is_reduction(const Computation& statement, const std::string& dim) {
  const int d = statement.domain.find(dim);
  return d >= 0 && statement.domain.dims[static_cast<std::size_t>(d)].kind == DimKind::reduction;
}

std::vector<std::string> names(const std::vector<InstructionId>& ids, const HardwareModel& model) {
  std::vector<std::string> out;
  for (const InstructionId id : ids) out.push_back(model.instruction(id).name);
  return out;
}

}  // namespace

MemoryId combine_target(const Instruction& combine) {
  return combine.operands[operand_of_access(combine, 0).index()].memory;
}
MemoryId combine_source(const Instruction& combine) {
  return combine.operands[operand_of_access(combine, 1).index()].memory;
}

std::string combine_refusal(const Instruction& instruction, const Computation& statement, const Tensor& output,
                            UnitId unit, const HardwareModel& model) {
  if (!is_combine(instruction)) return fmt::format("{} is no atomic reduction", instruction.name);
  const Computation& meaning = instruction.statement();
  if (statement.reduction != meaning.reduction)
    return fmt::format("{} computes D {} S; {} is written with {}", instruction.name, symbol(meaning.reduction),
                       output.name, symbol(statement.reduction));
  const Operand& target = instruction.operands[operand_of_access(instruction, 0).index()];
  const DType type = target.dtype.value_or(output.dtype);
  if (type != output.dtype)
    return fmt::format("{} adds up {}; {} is {}", instruction.name, name(type), output.name, name(output.dtype));
  const Memory& memory = model.memory(target.memory);
  if (model.inside(memory.per, unit))
    return fmt::format("{} adds to {}, which is of each {}: instances of {} do not share it", instruction.name,
                       memory.name, model.unit(memory.per).name, model.unit(unit).name);
  if (!model.inside(unit, instruction.atomic) || unit == instruction.atomic)
    return fmt::format("{} is atomic within one {}; {} is not inside it", instruction.name,
                       model.unit(instruction.atomic).name, model.unit(unit).name);
  if (!model.inside(instruction.unit, unit))
    return fmt::format("one call of {} is executed by a whole {}, and {} is inside it", instruction.name,
                       model.unit(instruction.unit).name, model.unit(unit).name);
  return "";
}

std::vector<InstructionId> combines_for(const Computation& statement, const Tensor& output, UnitId unit,
                                        const HardwareModel& model) {
  std::vector<InstructionId> found;
  for (std::size_t i = 0; i < model.instructions().size(); ++i)
    if (is_combine(model.instructions()[i]) &&
        combine_refusal(model.instructions()[i], statement, output, unit, model).empty())
      found.push_back(make_id<InstructionId>(i));
  return found;
}

bool splits_a_reduction(const Computation& statement, const std::string& dim, UnitId unit, const HardwareModel& model) {
  return is_reduction(statement, dim) && side_by_side(model, unit);
}

std::string combine_hint(const Computation& statement, const Tensor& output, const std::string& dim, UnitId unit,
                         const HardwareModel& model) {
  const auto fit = names(combines_for(statement, output, unit, model), model);
  if (!fit.empty())
    return fmt::format("write 'combine {}', which adds the partial sums", fmt::join(fit, "' or 'combine "));
  return fmt::format("loop over {} sequentially: {} has no combine for sums of {} across instances of {}", dim,
                     model.name, name(output.dtype), model.unit(unit).name);
}

Result<InstructionId> combine_of(const For& line, const Computation& statement, const Tensor& output,
                                 const HardwareModel& model) {
  const std::string what = "combine " + line.combine + ": ";
  const auto split = std::find_if(line.loops.begin(), line.loops.end(),
                                  [&](const TiledLoop& w) { return is_reduction(statement, w.dim); });
  if (split == line.loops.end())
    return error(what + fmt::format("{} is no reduction dim of {}: its steps write different elements",
                                    line.loops.empty() ? "the loop" : line.loops.front().dim, statement.name),
                 "leave it out");
  const auto unit = model.find_unit(line.unit.substr(0, line.unit.find('.')));
  if (!unit)
    return error(what + fmt::format("the loop over {} is sequential and needs none", split->dim),
                 "leave it out, or write `on UNIT`");
  const auto id = model.find_instruction(line.combine);
  const auto hint = [&] { return combine_hint(statement, output, split->dim, *unit, model); };
  if (!id) {
    std::vector<std::string> known;
    for (const Instruction& i : model.instructions())
      if (is_combine(i)) known.push_back(i.name);
    const std::string near = yaml::did_you_mean(line.combine, known);
    return error(what + "no such instruction in " + model.name, known.empty() ? hint() : near);
  }
  const std::string no = combine_refusal(model.instruction(*id), statement, output, *unit, model);
  if (!no.empty()) return error(what + no, hint());
  return *id;
}

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#include "backends/simulator/operand_position.h"

#include <fmt/format.h>

#include <algorithm>

#include "hwdesc/model/encodable_values.h"
#include "ir/operand_use.h"
#include "support/box.h"

namespace isamap {
namespace {

/// Elements between neighbours along the term; nothing: the command does not encode it.
std::optional<std::int64_t> stride_of(const Command& command, const Operand& operand, const StrideTerm& term,
                                      DType dtype) {
  if (term.stride) return evaluate(*term.stride, [&](const Reference& r) { return command.value(r); });
  if (const auto elements = command.value({operand.name, "stride", term.text})) return elements;
  const auto pitch = command.value({operand.name, "pitch", term.text});
  return pitch && *pitch % bytes(dtype) == 0 ? std::optional(*pitch / bytes(dtype)) : std::nullopt;
}

/// Extents of the call; nothing: positions beyond them are written too, or a mask gives them.
std::optional<Box> plain_extents(const Command& command) {
  const Instruction& instruction = *command.instruction;
  if (!instruction.masks.empty()) return std::nullopt;
  Box extents;
  for (const Dim& dim : instruction.statement().domain.dims)
    extents.push_back(command.value({"extent", "", dim.name}).value_or(dim.extent));
  const bool fills = instruction.inactive == Inactive::zero || instruction.inactive == Inactive::undefined;
  return fills && touched_extents(instruction, extents) != extents ? std::nullopt : std::optional(extents);
}

}  // namespace

Result<AffineExpr> position_of(const Command& command, int access, DType dtype) {
  const Operand& operand = operand_of(*command.instruction, access);
  const Access& subscripts = access_of(command.instruction->statement(), access);
  if (std::holds_alternative<FragmentLayout>(operand.layout))
    return error(fmt::format("the simulator does not know fragments ('{}')", operand.name));
  AffineExpr position;
  const auto* strided = std::get_if<StridedLayout>(&operand.layout);
  if (strided == nullptr) {
    const auto box = operand_box(*command.instruction, access);
    for (std::size_t s = 0; s < subscripts.index.size(); ++s) position = position * box[s] + subscripts.index[s];
    return position;
  }
  std::map<std::string, AffineExpr> index;
  for (std::size_t s = 0; s < subscripts.index.size(); ++s)
    index.emplace(s < operand.index_names.size() ? operand.index_names[s] : std::to_string(s), subscripts.index[s]);
  for (const StrideTerm& term : strided->terms) {
    const auto stride = stride_of(command, operand, term, dtype);
    if (!stride)
      return error(fmt::format("the command does not encode the stride of '{}' along {}", operand.name, term.text));
    if (*stride > (std::int64_t{1} << 40) || *stride < -(std::int64_t{1} << 40))
      return error(fmt::format("the stride of '{}' along {} is out of range", operand.name, term.text));
    std::map<std::string, AffineExpr> by = index;
    for (std::size_t s = 0; s < subscripts.index.size(); ++s) by.emplace(std::to_string(s), subscripts.index[s]);
    const bool numbered = term.term.names().empty() && term.text.find_first_not_of("0123456789") == std::string::npos;
    position += substitute(numbered ? AffineExpr::dim(term.text) : term.term, by) * *stride;
  }
  return position;
}

std::optional<std::map<std::int64_t, std::int64_t>> moved_bytes(const Command& command, const HardwareModel& model) {
  const Instruction& instruction = *command.instruction;
  if (!is_move(instruction)) return std::nullopt;
  const auto extents = plain_extents(command);
  const Operand &to = operand_of(instruction, 0), &from = operand_of(instruction, 1);
  const auto common = to.dtype && from.dtype ? to.dtype : moved_type(instruction, model.instructions());
  if (!extents || !common || to.dtype.value_or(*common) != from.dtype.value_or(*common)) return std::nullopt;
  std::vector<CompiledAffine> at;
  for (int access = 0; access < 2; ++access) {
    const auto* strided = std::get_if<StridedLayout>(&operand_of(instruction, access).layout);
    const auto position = position_of(command, access, *common);
    if (!position || (strided != nullptr && strided->swizzle)) return std::nullopt;
    at.emplace_back(*position, dim_names(instruction.statement()));
  }
  const std::int64_t width = bytes(*common);
  std::map<std::int64_t, std::int64_t> moved;
  Box point(extents->size(), 0);
  if (std::any_of(extents->begin(), extents->end(), [](std::int64_t extent) { return extent <= 0; })) return moved;
  do {
    const std::int64_t target = at[0](point.data()) * width, source = at[1](point.data()) * width;
    for (std::int64_t byte = 0; byte < width; ++byte) moved[target + byte] = source + byte;
  } while (advance(point, *extents));
  return moved;
}

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#include "scheduler/nest/operand_rows.h"

namespace isamap {

std::optional<OperandRows> rows_of_operand(const Pairing& pairing, int access) {
  const int number = pairing.operand_access[static_cast<std::size_t>(access)];
  const Instruction& instruction = *pairing.instruction;
  const Operand& operand = instruction.operands[operand_of_access(instruction, number).index()];
  const auto* strided = std::get_if<StridedLayout>(&operand.layout);
  const auto& subscripts = access_of(instruction.statement(), number).index;
  if (strided == nullptr || !strided->swizzle || subscripts.size() != 2) return std::nullopt;
  std::vector<std::string> dims;  // fused, by subscript
  for (const AffineExpr& e : subscripts) {
    const int d = e.as_dim() ? instruction.statement().domain.find(*e.as_dim()) : -1;
    if (d < 0 || pairing.fused_dim_of[static_cast<std::size_t>(d)].empty()) return std::nullopt;
    dims.push_back(pairing.fused_dim_of[static_cast<std::size_t>(d)]);
  }
  OperandRows found;
  // The other subscript has the stride of a row.
  int along = -1;
  for (std::size_t s = 0; s < 2; ++s)
    for (const StrideTerm& term : strided->terms) {
      const auto stride =
          term.stride ? evaluate(*term.stride, [](const Reference&) { return std::nullopt; }) : std::nullopt;
      const auto split = split_digit(term.term);
      if (!stride || !split || split->divide != 1 || split->form != AffineExpr::dim(operand.index_names[s])) continue;
      if (*stride == 1) along = static_cast<int>(s);
      if (*stride > 1) found.row = *stride;
    }
  if (along < 0 || found.row <= 1) return std::nullopt;
  // Forms with the other dim number rows of the tile (q + s for a window); those with neither are outer.
  const AffineExpr lie = AffineExpr::dim(dims[static_cast<std::size_t>(along)]);
  const std::string& other = dims[static_cast<std::size_t>(1 - along)];
  std::vector<AffineExpr> rows, outer;
  for (const AffineExpr& form : natural_forms(access_of(*pairing.statement, access))) {
    if (form == lie) continue;
    if (form.names().contains(dims[static_cast<std::size_t>(along)])) return std::nullopt;
    (form.names().contains(other) ? rows : outer).push_back(form);
  }
  if (rows.size() != 1 || rows.front().coefficient(other) != 1) return std::nullopt;
  for (const AffineExpr& form : outer) found.layout.push_back({form, 0});
  for (const AffineExpr& digit : {floordiv(lie, found.row), rows.front(), mod(lie, found.row)})
    found.layout.push_back({digit, 0});
  found.along = dims[static_cast<std::size_t>(along)];
  found.swizzle = strided->swizzle;
  return found;
}

}  // namespace isamap

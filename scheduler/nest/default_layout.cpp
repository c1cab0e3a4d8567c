// SPDX-License-Identifier: Apache-2.0
#include "scheduler/nest/default_layout.h"

#include <algorithm>
#include <set>

#include "ir/operand_use.h"

namespace isamap {
namespace {

/// Does an instruction write its points beyond the extent of a dim, rows apart? Those of one row have room in a block.
bool writes_rows_beyond(const Instruction& instruction) {
  const std::vector<std::int64_t> least(instruction.ranges.size(), 1);
  const std::vector<std::int64_t> touched = touched_extents(instruction, least);
  const auto& dims = instruction.statement().domain.dims;
  const std::vector<AffineExpr>& index = instruction.statement().write.index;
  const std::set<std::string> row = index.empty() ? std::set<std::string>() : index.back().names();
  for (std::size_t d = 0; d < dims.size(); ++d)
    if (touched[d] > 1 && !instruction.ranges[d].fixed() && !row.contains(dims[d].name)) return true;
  return false;
}

/// May a tile in this memory have any number of rows, because nothing writes rows beyond those asked for?
bool keeps_rows(const HardwareModel& model, MemoryId memory) {
  return std::none_of(model.instructions().begin(), model.instructions().end(), [&](const Instruction& by) {
    return !by.semantics.empty() && by.semantics.size() == 1 && operand_of(by, 0).memory == memory &&
           writes_rows_beyond(by);
  });
}

/// The instruction dim of a digit i%64 outermost in the box of one call; nothing: it is none, or calls need whole
/// blocks of it.
bool has_any_extent(const Pairing& p, const SplitDigit& digit) {
  const auto name = digit.form.as_dim();
  const auto known = name ? p.digit_of.find(*name) : p.digit_of.end();
  if (known == p.digit_of.end()) return false;
  const DimRange& range = p.instruction->ranges[known->second];
  return !range.fixed() && range.min <= 1 && range.multiple_of <= 1 && digit.divide == 1 && digit.modulo == range.max;
}

/// Rows of a tile follow one another, block by block or not: [i/64, j/256, i%64, j%256] as [j/256, i, j%256], which
/// needs no room for rows that a short tile does not have.
std::vector<LayoutDigit> without_row_blocks(const Pairing& p, std::vector<LayoutDigit> layout) {
  std::size_t first = layout.size();  // of the digits of one call
  while (first > 0) {
    const auto split = split_digit(layout[first - 1].index);
    const auto name = split ? split->form.as_dim() : std::nullopt;
    if (!split || !(split->modulo > 0 || (name && name->front() == '$'))) break;
    --first;
  }
  if (first == layout.size()) return layout;
  const auto row = split_digit(layout[first].index);
  if (!has_any_extent(p, *row)) return layout;
  const auto blocks =
      std::find_if(layout.begin(), layout.begin() + static_cast<std::ptrdiff_t>(first), [&](const LayoutDigit& digit) {
        const auto split = split_digit(digit.index);
        return split && split->form == row->form && split->divide == row->modulo;
      });
  if (blocks == layout.begin() + static_cast<std::ptrdiff_t>(first)) return layout;
  layout[first].index = row->form;
  layout.erase(blocks);
  return layout;
}

}  // namespace

std::vector<LayoutDigit> default_layout(const Pairing& p, int access, MemoryId memory, const HardwareModel& model) {
  const Access& a = access_of(*p.statement, access);
  std::vector<LayoutDigit> layout;
  const int operand = p.operand_access[static_cast<std::size_t>(access)];
  if (operand >= 0 && memory != model.home() &&
      p.instruction->operands[operand_of_access(*p.instruction, operand).index()].memory == memory)
    return keeps_rows(model, memory) ? without_row_blocks(p, blocked_layout(p, access)) : blocked_layout(p, access);
  for (const AffineExpr& form : natural_forms(a)) layout.push_back({form, 0});
  return layout;
}

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#include "hwdesc/model/described_tensor.h"

#include <fmt/format.h>

#include <algorithm>

namespace isamap {
namespace {

/// The axis whose index is `$dim` plus a term without dims of the instruction.
int axis_of(const std::vector<AffineExpr>& index, const std::string& dim) {
  for (std::size_t a = 0; a < index.size(); ++a)
    if (index[a].coefficient("$" + dim) == 1) return static_cast<int>(a);
  return -1;
}

AffineExpr without_dims(const AffineExpr& e) {
  std::map<std::string, AffineExpr> zero;
  for (const std::string& name : e.names())
    if (name.front() == '$') zero[name] = AffineExpr(0);
  return substitute(e, zero);
}

}  // namespace

Result<DescribedTensor> described_tensor(const Instruction& instruction, int access, const Buffer& buffer,
                                         const std::vector<AffineExpr>& index, const std::vector<std::int64_t>& extents,
                                         const Ranges& ranges) {
  const Operand& operand = instruction.operands[operand_of_access(instruction, access).index()];
  const auto* strided = std::get_if<StridedLayout>(&operand.layout);
  const auto no = [&](const std::string& why) {
    return error(fmt::format("{} takes {} as rows that '{}' describes; {}", instruction.name, operand.name,
                             operand.object, why));
  };
  if (strided == nullptr) return no("its layout has no strides");
  struct Row {
    std::string name;
    std::size_t axis;
    std::int64_t extent;
  };
  std::vector<Row> rows;
  const auto& dims = instruction.statement().domain.dims;
  for (const StrideTerm& term : strided->terms) {
    const auto name = term.term.as_dim();
    const int d = name ? instruction.statement().domain.find(*name) : -1;
    const int axis = d < 0 ? -1 : axis_of(index, *name);
    if (axis < 0) return no(fmt::format("no axis of {} is indexed by {} alone", buffer.name, term.text));
    rows.push_back(
        {dims[static_cast<std::size_t>(d)].name, static_cast<std::size_t>(axis), extents[static_cast<std::size_t>(d)]});
  }
  std::sort(rows.begin(), rows.end(),
            [&](const Row& a, const Row& b) { return buffer.strides[a.axis] < buffer.strides[b.axis]; });
  if (rows.empty() || buffer.strides[rows[0].axis] != 1)
    return no(fmt::format("no indexed axis of {} is contiguous", buffer.name));
  DescribedTensor made;
  std::vector<bool> indexed(index.size());
  for (const Row& row : rows) {
    made.names.push_back(row.name);
    made.position.push_back(without_dims(index[row.axis]));
    made.sizes.push_back(buffer.extents[row.axis]);
    made.axes.push_back(row.axis);
    made.box.push_back(row.extent);
    indexed[row.axis] = true;
  }
  for (std::size_t r = 1; r < rows.size(); ++r)
    made.pitches.push_back(buffer.strides[rows[r].axis] * bytes(buffer.dtype));
  const std::int64_t pitch = buffer.strides[rows.back().axis];
  for (std::size_t a = 0; a < index.size(); ++a) {  // further rows
    if (indexed[a] || buffer.extents[a] == 1) continue;
    if (buffer.strides[a] < pitch || buffer.strides[a] % pitch != 0 || rows.size() < 2)
      return no(fmt::format("axis {} of {} lies inside them", a, buffer.name));
    const auto reach = bounds(simplify(index[rows.back().axis], ranges), ranges);
    if (!reach || reach->low < 0 || reach->high >= buffer.extents[rows.back().axis])
      return no(fmt::format("behind the end of axis {} of {} others follow, which would be read instead",
                            rows.back().axis, buffer.name));
    made.position.back() += index[a] * (buffer.strides[a] / pitch);
    made.sizes.back() = std::max(
        made.sizes.back(), (buffer.extents[a] - 1) * (buffer.strides[a] / pitch) + buffer.extents[rows.back().axis]);
  }
  for (AffineExpr& e : made.position) e = simplify(e, ranges);
  const Operand& other = instruction.operands[operand_of_access(instruction, access == 0 ? 1 : 0).index()];
  if (const auto* layout = std::get_if<StridedLayout>(&other.layout)) made.swizzle = layout->swizzle;
  return made;
}

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#include "ir/begun_sums.h"

#include <algorithm>
#include <map>
#include <set>

namespace isamap {
namespace {

/// A plain copy of other elements, of the same type, to each element of a tensor once.
bool copies_to_all(const Computation& statement, const Kernel& kernel) {
  const auto* leaf = std::get_if<Read>(&statement.body.op);
  if (statement.reduction != Reduction::assign || leaf == nullptr || statement.reads.size() != 1 ||
      !statement.domain.faces.empty() || is_irregular(statement) || statement.reads.front().outside)
    return false;
  const Tensor& to = kernel.tensors[statement.write.tensor.index()];
  const Tensor& from = kernel.tensors[statement.reads.front().tensor.index()];
  if (to.dtype != from.dtype || statement.reads.front().tensor == statement.write.tensor) return false;
  std::set<std::string> seen;
  for (std::size_t axis = 0; axis < to.shape.size(); ++axis) {
    const AffineExpr& index = statement.write.index[axis];
    if (index.is_constant() && to.shape[axis] == 1) continue;
    const auto dim = index.as_dim();
    if (!dim || !seen.insert(*dim).second) return false;
    const int at = statement.domain.find(*dim);
    if (at < 0 || statement.domain.dims[static_cast<std::size_t>(at)].extent != to.shape[axis]) return false;
  }
  return true;
}

bool touches(const Computation& statement, TensorId tensor) {
  return statement.write.tensor == tensor || std::any_of(statement.reads.begin(), statement.reads.end(),
                                                         [&](const Access& read) { return read.tensor == tensor; });
}

}  // namespace

std::optional<std::size_t> begun_by(const Kernel& kernel, std::size_t s) {
  const Computation& sum = kernel.statements[s];
  const TensorId tensor = sum.write.tensor;
  if (sum.reduction != Reduction::add || kernel.tensors[tensor.index()].inout || !kernel.repeats.empty())
    return std::nullopt;
  std::size_t copy = s;
  for (std::size_t t = s; t-- > 0;) {
    if (!touches(kernel.statements[t], tensor)) continue;
    if (copy != s || kernel.statements[t].write.tensor != tensor) return std::nullopt;
    copy = t;
  }
  const auto empty = [](const Dim& dim) { return dim.extent == 0; };
  if (std::any_of(sum.domain.dims.begin(), sum.domain.dims.end(), empty)) return std::nullopt;
  if (copy == s || !copies_to_all(kernel.statements[copy], kernel)) return std::nullopt;
  const TensorId from = kernel.statements[copy].reads.front().tensor;
  for (std::size_t t = copy + 1; t <= s; ++t)
    if (kernel.statements[t].write.tensor == from) return std::nullopt;
  return copy;
}

Access begun_from(const Computation& copy, const Access& write) {
  std::map<std::string, AffineExpr> by;
  for (std::size_t axis = 0; axis < copy.write.index.size(); ++axis)
    if (const auto dim = copy.write.index[axis].as_dim()) by[*dim] = write.index[axis];
  Access read = copy.reads.front();
  for (AffineExpr& e : read.index) e = substitute(e, by);
  return read;
}

const Stage* begun_stage(const Nest& nest, const std::string& output) {
  for (const Line& line : nest.lines)
    if (const auto* stage = std::get_if<Stage>(&line.is);
        stage != nullptr && stage->tensor == output && !stage->from.empty())
      return stage;
  return nullptr;
}

bool is_begun(const Schedule& schedule, const Kernel& kernel, std::size_t copy) {
  for (std::size_t s = copy + 1; s < schedule.nests.size() && s < kernel.statements.size(); ++s) {
    const std::string& output = kernel.tensors[kernel.statements[s].write.tensor.index()].name;
    const Stage* stage = begun_stage(schedule.nests[s], output);
    if (stage != nullptr && stage->from == kernel.statements[copy].name) return true;
  }
  return false;
}

}  // namespace isamap

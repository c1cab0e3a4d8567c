// SPDX-License-Identifier: Apache-2.0
#include "scheduler/scalar_nest.h"

#include <algorithm>

#include "hwdesc/model/parallel_units.h"
#include "support/arithmetic.h"

namespace isamap {
namespace {

/// The step of an access along a dim in elements; nothing: no constant.
std::optional<std::int64_t> step_along(const Access& access, const std::string& dim,
                                       const std::vector<Tensor>& tensors) {
  const AffineExpr at = position(access.index, tensors[access.tensor.index()]);
  if (!at.is_linear()) return std::nullopt;
  return at.coefficient(dim);
}

/// Does no border depend on the dim? Its conditions would stand in the innermost loop.
bool is_inside_along(const Access& access, const std::string& dim, const Ranges& ranges, const Tensor& tensor) {
  for (std::size_t axis = 0; axis < access.index.size(); ++axis) {
    if (!access.index[axis].names().contains(dim)) continue;
    const auto reached = bounds(access.index[axis], ranges);
    if (!reached || reached->low < 0 || reached->high >= tensor.shape[axis]) return false;
  }
  return true;
}

bool is_dense_along(const Computation& statement, const Dim& dim, const std::vector<Tensor>& tensors) {
  const Ranges ranges = ranges_of(statement.domain);
  for (int a = dim.kind == DimKind::reduction ? 1 : 0; a < access_count(statement); ++a) {
    const Access& access = access_of(statement, a);
    const auto step = step_along(access, dim.name, tensors);
    if (!step || (*step != 1 && (*step != 0 || a == 0)) ||
        !is_inside_along(access, dim.name, ranges, tensors[access.tensor.index()]))
      return false;
  }
  return true;
}

/// Is it the same in any order of its terms?
bool has_any_order(const Computation& statement) {
  return statement.reduction != Reduction::saturating_add && !is_float(statement.body.type);
}

}  // namespace

std::string vectorized_dim(const Computation& statement, const std::vector<Tensor>& tensors, double least) {
  const auto& dims = statement.domain.dims;
  const auto is_kept = [](const Dim& dim) { return dim.kind == DimKind::parallel; };
  const auto is_long = [&](const Dim& dim) { return static_cast<double>(dim.extent) >= least; };
  const auto is_other = [&](const Access& read) {
    return read.computed.has_value() || read.tensor == statement.write.tensor;
  };
  if (statement.reduction == Reduction::assign || !statement.domain.faces.empty() ||
      std::any_of(statement.reads.begin(), statement.reads.end(), is_other))
    return {};
  for (const AffineExpr& value : statement.values)  // the place of a scatter is one of these
    if (std::any_of(dims.begin(), dims.end(),
                    [&](const Dim& d) { return is_kept(d) && value.names().contains(d.name); }))
      return {};
  for (const Dim& dim : dims)
    if (is_kept(dim) && is_long(dim) && is_dense_along(statement, dim, tensors)) return dim.name;
  if (!has_any_order(statement)) return {};
  for (const Dim& dim : dims)
    if (!is_kept(dim) && is_long(dim) && is_dense_along(statement, dim, tensors)) return dim.name;
  return {};
}

Nest scalar_nest(const Computation& statement, const std::optional<For>& shared, const std::string& innermost) {
  Nest nest;
  if (shared) nest.lines.push_back(Line{*shared});
  const auto add_loop = [&](const Dim& dim) {
    if (dim.extent != 1) nest.lines.push_back(Line{For{{}, {{dim.name, 1}}, "", Tail::none, ""}});
  };
  for (const Dim& dim : statement.domain.dims)
    if (dim.name != innermost) add_loop(dim);
  for (const Dim& dim : statement.domain.dims)
    if (dim.name == innermost) add_loop(dim);
  Do line;
  line.statement = statement.name;
  nest.lines.push_back(Line{line});
  return nest;
}

std::vector<For> shares_of(const Computation& statement, const HardwareModel& model) {
  std::vector<For> shares;
  const auto threads = threads_of_programs(model);
  if (!threads) return shares;
  const Unit& unit = model.unit(*threads);
  for (const Dim& dim : statement.domain.dims)
    if (dim.kind == DimKind::parallel && dim.extent > 1)
      shares.push_back(For{{}, {{dim.name, ceil_div(dim.extent, unit.count)}}, unit.name, Tail::none, ""});
  return shares;
}

}  // namespace isamap

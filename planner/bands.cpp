// SPDX-License-Identifier: Apache-2.0
// How the rows of a part depend on rows of other tensors, and the part on a few of its rows.

#include "planner/bands.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "frontends/layers.h"

namespace isamap {
namespace {

bool names(const AffineExpr& e, const std::string& dim) { return e.names().contains(dim); }

class RowFinder {
 public:
  RowFinder(const Kernel& kernel, const Part& part) : kernel_(kernel), part_(part) {}

  Result<PartRows> run() {
    if (!kernel_.repeats.empty()) return error("steps in time are in no band");
    for (const std::size_t s : part_.statements)
      if (!statement(kernel_.statements[s])) return problems_;
    for (const RowWindow& window : found_.reads)
      if (std::find(found_.unsliced.begin(), found_.unsliced.end(), window.tensor) != found_.unsliced.end())
        return error(fmt::format("'{}' is read row by row and as a whole", name_of(window.tensor)));
    for (const TensorId id : written_)
      if (leaves(id)) found_.writes.push_back(id);
    return std::move(found_);
  }

 private:
  bool fail(const std::string& message) {
    problems_ = {error(message)};
    return false;
  }
  const std::string& name_of(TensorId id) const { return kernel_.tensors[id.index()].name; }

  /// Is it wanted outside of the part?
  bool leaves(TensorId id) const {
    if (role_of(kernel_, id) != Role::intermediate) return true;
    for (std::size_t s = 0; s < kernel_.statements.size(); ++s) {
      const auto& reads = kernel_.statements[s].reads;
      if (!std::binary_search(part_.statements.begin(), part_.statements.end(), s) &&
          std::any_of(reads.begin(), reads.end(), [&](const Access& read) { return read.tensor == id; }))
        return true;
    }
    return false;
  }

  bool statement(const Computation& s) {
    const Tensor& tensor = kernel_.tensors[s.write.tensor.index()];
    const int axis = row_axis(tensor);
    if (axis < 0) return fail(fmt::format("'{}' has no rows", tensor.name));
    if (tensor.inout || !tensor.strides.empty())
      return fail(fmt::format("'{}' begins with the caller's values, or has the caller's strides", tensor.name));
    if (s.reduction != Reduction::assign && writer_count(kernel_, s.write.tensor) > 1)
      return fail(fmt::format("'{}' is summed by several statements", tensor.name));
    const auto dim = s.write.index[static_cast<std::size_t>(axis)].as_dim();
    const std::int64_t rows = tensor.shape[static_cast<std::size_t>(axis)];
    if (!dim || s.domain.dims[static_cast<std::size_t>(s.domain.find(*dim))].extent != rows || used_elsewhere(s, *dim))
      return fail(fmt::format("'{}' does not write '{}' row by row", s.name, tensor.name));
    if (found_.rows != 0 && found_.rows != rows)
      return fail(fmt::format("'{}' has {} rows, and another tensor of its part {}", tensor.name, rows, found_.rows));
    found_.rows = rows;
    for (const Access& access : s.reads)
      if (!read(s, access, *dim)) return false;
    written_.insert(s.write.tensor);
    return true;
  }

  /// In faces, in values, or in another subscript of the write.
  static bool used_elsewhere(const Computation& s, const std::string& dim) {
    const auto uses_dim = [&](const AffineExpr& e) { return names(e, dim); };
    return std::any_of(s.domain.faces.begin(), s.domain.faces.end(), uses_dim) ||
           std::any_of(s.values.begin(), s.values.end(), uses_dim) ||
           std::count_if(s.write.index.begin(), s.write.index.end(), uses_dim) != 1;
  }

  bool read(const Computation& s, const Access& access, const std::string& dim) {
    const Tensor& tensor = kernel_.tensors[access.tensor.index()];
    const auto count =
        std::count_if(access.index.begin(), access.index.end(), [&](const AffineExpr& e) { return names(e, dim); });
    if (count == 0) {
      if (written_.contains(access.tensor))
        return fail(fmt::format("every row of '{}' reads all of '{}'", s.name, tensor.name));
      if (!tensor.constant) found_.unsliced.push_back(access.tensor);
      return true;
    }
    const auto at =
        std::find_if(access.index.begin(), access.index.end(), [&](const AffineExpr& e) { return names(e, dim); });
    const std::int64_t step = at->coefficient(dim);
    const AffineExpr rest = *at - step * AffineExpr::dim(dim);
    const auto range = bounds(rest, ranges_of(s.domain));
    const int axis = static_cast<int>(at - access.index.begin());
    if (count > 1 || step < 1 || names(rest, dim) || !at->is_linear() || !range || tensor.constant ||
        !tensor.strides.empty())
      return fail(fmt::format("'{}' does not read '{}' row by row", s.name, tensor.name));
    if (written_.contains(access.tensor))
      return (step == 1 && writer_count(kernel_, access.tensor) == 1 && range->low == 0 && range->high == 0 &&
              axis == row_axis(tensor)) ||
             fail(fmt::format("'{}' reads other rows of '{}', which its part writes", s.name, tensor.name));
    return add({access.tensor, axis, step, range->low, range->high, outside_of(access, kernel_.tensors)});
  }

  bool add(const RowWindow& window) {
    const auto known = std::find_if(found_.reads.begin(), found_.reads.end(),
                                    [&](const RowWindow& w) { return w.tensor == window.tensor; });
    if (known == found_.reads.end()) {
      found_.reads.push_back(window);
      return true;
    }
    if (known->axis != window.axis || known->step != window.step)
      return fail(fmt::format("'{}' is read along two axes or by two strides", name_of(window.tensor)));
    if (known->outside && window.outside && known->outside != window.outside)
      return fail(fmt::format("'{}' is read with two values outside of it", name_of(window.tensor)));
    known->low = std::min(known->low, window.low);
    known->high = std::max(known->high, window.high);
    if (!known->outside) known->outside = window.outside;
    return true;
  }

  const Kernel& kernel_;
  const Part& part_;
  PartRows found_;
  std::set<TensorId> written_;
  Diagnostics problems_;
};

}  // namespace

int row_axis(const Tensor& tensor) {
  const auto wide = std::find_if(tensor.shape.begin(), tensor.shape.end(), [](std::int64_t e) { return e > 1; });
  return wide == tensor.shape.end() ? -1 : static_cast<int>(wide - tensor.shape.begin());
}

std::int64_t row_bytes(const Tensor& tensor, int axis) {
  std::int64_t count = bytes(tensor.dtype);
  for (std::size_t d = static_cast<std::size_t>(axis) + 1; d < tensor.shape.size(); ++d) count *= tensor.shape[d];
  return count;
}

Result<PartRows> rows_of(const Kernel& kernel, const Part& part) { return RowFinder(kernel, part).run(); }

Kernel cut_rows(const Kernel& kernel, const Part& part, const BandKernel& band) {
  const auto rows = rows_of(kernel, part);
  ISAMAP_CHECK(rows, "a part without rows is cut into rows");
  Kernel few = kernel;
  std::map<TensorId, const RowWindow*> windows;
  std::map<TensorId, std::int64_t> above;
  for (std::size_t w = 0; w < rows->reads.size(); ++w) {
    const RowWindow& window = rows->reads[w];
    windows[window.tensor] = &window;
    above[window.tensor] = band.above[w];
    Tensor& tensor = few.tensors[window.tensor.index()];
    if (window.axis != row_axis(tensor)) tensor.strides = strides_of(tensor);
    tensor.shape[static_cast<std::size_t>(window.axis)] =
        window.step * (band.rows - 1) + window.high - window.low + 1 - band.above[w] - band.below[w];
  }
  for (const std::size_t s : part.statements) {
    Computation& statement = few.statements[s];
    const Tensor& before = kernel.tensors[statement.write.tensor.index()];
    const auto axis = static_cast<std::size_t>(row_axis(before));
    few.tensors[statement.write.tensor.index()].shape[axis] = band.rows;
    statement.domain.dims[static_cast<std::size_t>(statement.domain.find(*statement.write.index[axis].as_dim()))]
        .extent = band.rows;
    for (Access& read : statement.reads)
      if (const auto window = windows.find(read.tensor); window != windows.end())
        read.index[static_cast<std::size_t>(window->second->axis)] += -window->second->low - above[read.tensor];
  }
  return cut(few, part.statements, "part");
}

}  // namespace isamap

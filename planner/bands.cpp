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

std::string dims_text(const IterationDomain& domain) {
  std::string text;
  for (const Dim& dim : domain.dims) text += (text.empty() ? "" : ", ") + dim.name;
  return text;
}

/// From the dim of the last part to all statements: what one writes along an axis, another reads along it.
class AxisFinder {
 public:
  AxisFinder(const Kernel& kernel, const std::vector<Part>& parts) : kernel_(kernel), last_(parts.back()) {
    for (const Part& part : parts) statements_.insert(part.statements.begin(), part.statements.end());
    for (const std::size_t s : statements_) written_.insert(kernel.statements[s].write.tensor);
  }

  Result<BandAxes> run(const std::string& along) {
    const Computation& named = kernel_.statements[last_.statements.front()];
    const auto& index = named.write.index;
    const auto at = std::find_if(index.begin(), index.end(), [&](const auto& e) { return e.as_dim() == along; });
    if (at != index.end())
      axes_[named.write.tensor] = static_cast<int>(at - index.begin());
    else if (named.domain.find(along) >= 0 && named.reduction != Reduction::assign)
      begin_with_sum(named, along);
    else
      return error(fmt::format("'{}' neither writes along a dim '{}' nor sums over one", named.name, along),
                   fmt::format("'along' is one of its dims: {}", dims_text(named.domain)));
    for (std::size_t known = 0; known != axes_.size();) {
      known = axes_.size();
      for (auto s = statements_.rbegin(); s != statements_.rend(); ++s) spread(kernel_.statements[*s]);
    }
    for (const std::size_t s : statements_)
      if (!axes_.contains(kernel_.statements[s].write.tensor))
        return error(fmt::format("'{}' has no dim that goes with '{}'", kernel_.statements[s].name, along));
    found_.of = std::move(axes_);
    return std::move(found_);
  }

 private:
  /// The last part has no rows: what its first statement reads of the group has.
  void begin_with_sum(const Computation& named, const std::string& along) {
    found_.sum = named.write.tensor;
    found_.summed = along;
    for (const std::size_t s : last_.statements) statements_.erase(s);
    for (const Access& read : named.reads)
      if (written_.contains(read.tensor)) add(read, along);
  }

  /// To the tensor that it writes, then to those of the group that it reads.
  void spread(const Computation& s) {
    std::optional<std::string> dim;
    if (const auto axis = axes_.find(s.write.tensor); axis != axes_.end())
      dim = s.write.index[static_cast<std::size_t>(axis->second)].as_dim();
    for (std::size_t r = 0; r < s.reads.size() && !dim; ++r)
      if (const auto axis = axes_.find(s.reads[r].tensor); axis != axes_.end())
        dim = widest(s, s.reads[r].index[static_cast<std::size_t>(axis->second)]);
    if (!dim) return;
    add(s.write, *dim);
    for (const Access& read : s.reads)
      if (written_.contains(read.tensor)) add(read, *dim);
  }

  /// Of the dims in this subscript that the statement writes along, the one with the longest step.
  static std::optional<std::string> widest(const Computation& s, const AffineExpr& subscript) {
    std::optional<std::string> dim;
    for (const AffineExpr& e : s.write.index)
      if (const auto one = e.as_dim(); one && subscript.coefficient(*one) > (dim ? subscript.coefficient(*dim) : 0))
        dim = one;
    return dim;
  }

  void add(const Access& access, const std::string& dim) {
    const auto at =
        std::find_if(access.index.begin(), access.index.end(), [&](const auto& e) { return names(e, dim); });
    if (at != access.index.end()) axes_.try_emplace(access.tensor, static_cast<int>(at - access.index.begin()));
  }

  const Kernel& kernel_;
  const Part& last_;
  std::set<std::size_t> statements_;
  std::set<TensorId> written_;
  std::map<TensorId, int> axes_;
  BandAxes found_;
};

class RowFinder {
 public:
  RowFinder(const Kernel& kernel, const Part& part, const BandAxes& axes) : kernel_(kernel), part_(part), axes_(axes) {}

  Result<PartRows> run() {
    for (const std::size_t s : part_.statements)
      if (repeat_of(kernel_, s)) return error("steps in time are in no band");
    if (is_sum(kernel_.statements[part_.statements.front()])) return run_sum();
    for (const std::size_t s : part_.statements)
      if (!statement(kernel_.statements[s])) return problems_;
    for (const RowWindow& window : found_.reads)
      if (whole_.contains(window.tensor))
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

  // A part that sums over bands.

  bool is_sum(const Computation& s) const { return !axes_.summed.empty() && s.write.tensor == axes_.sum; }

  Result<PartRows> run_sum() {
    const Computation& s = kernel_.statements[part_.statements.front()];
    const Tensor& tensor = kernel_.tensors[s.write.tensor.index()];
    if (tensor.inout || !tensor.strides.empty() || writer_count(kernel_, s.write.tensor) > 1 || uses(s, axes_.summed))
      return error(fmt::format("'{}' is no sum of bands along '{}'", tensor.name, axes_.summed));
    found_.rows = s.domain.dims[static_cast<std::size_t>(s.domain.find(axes_.summed))].extent;
    for (const Access& access : s.reads)
      if (!read(s, access, axes_.summed)) return problems_;
    found_.rest.assign(part_.statements.begin() + 1, part_.statements.end());
    std::set<TensorId> inside = {s.write.tensor};
    for (const std::size_t behind : found_.rest) {
      for (const Access& access : kernel_.statements[behind].reads)
        if (!inside.contains(access.tensor) && !kernel_.tensors[access.tensor.index()].constant)
          found_.unsliced.push_back(access.tensor);
      inside.insert(kernel_.statements[behind].write.tensor);
    }
    for (const RowWindow& window : found_.reads)
      if (whole_.contains(window.tensor))
        return error(fmt::format("'{}' is read row by row and as a whole", name_of(window.tensor)));
    return std::move(found_);
  }

  /// In faces, in values, or in a subscript of the write.
  static bool uses(const Computation& s, const std::string& dim) {
    const auto uses_dim = [&](const AffineExpr& e) { return names(e, dim); };
    return std::any_of(s.domain.faces.begin(), s.domain.faces.end(), uses_dim) ||
           std::any_of(s.values.begin(), s.values.end(), uses_dim) ||
           std::any_of(s.write.index.begin(), s.write.index.end(), uses_dim);
  }

  // A part of rows.

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
    const int axis = row_axis(kernel_, axes_, s.write.tensor);
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
      whole_.insert(access.tensor);
      if (!tensor.constant) found_.unsliced.push_back(access.tensor);
      return true;
    }
    const auto at =
        std::find_if(access.index.begin(), access.index.end(), [&](const AffineExpr& e) { return names(e, dim); });
    const std::int64_t step = at->coefficient(dim);
    const AffineExpr rest = *at - step * AffineExpr::dim(dim);
    const auto range = bounds(rest, ranges_of(s.domain));
    const int axis = static_cast<int>(at - access.index.begin());
    const std::int64_t last = range ? step * (found_.rows - 1) + range->high : 0;
    if (count > 1 || step < 1 || names(rest, dim) || !at->is_linear() || !range || !tensor.strides.empty() ||
        (tensor.constant && (range->low < 0 || last >= tensor.shape[static_cast<std::size_t>(axis)])))
      return fail(fmt::format("'{}' does not read '{}' row by row", s.name, tensor.name));
    if (written_.contains(access.tensor))
      return (step == 1 && writer_count(kernel_, access.tensor) == 1 && range->low == 0 && range->high == 0 &&
              axis == row_axis(kernel_, axes_, access.tensor)) ||
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
  const BandAxes& axes_;
  PartRows found_;
  std::set<TensorId> written_, whole_;
  Diagnostics problems_;
};

}  // namespace

int row_axis(const Tensor& tensor) {
  const auto wide = std::find_if(tensor.shape.begin(), tensor.shape.end(), [](std::int64_t e) { return e > 1; });
  return wide == tensor.shape.end() ? -1 : static_cast<int>(wide - tensor.shape.begin());
}

int row_axis(const Kernel& kernel, const BandAxes& axes, TensorId tensor) {
  const auto known = axes.of.find(tensor);
  return known == axes.of.end() ? row_axis(kernel.tensors[tensor.index()]) : known->second;
}

std::int64_t slice_bytes(const Tensor& tensor, int axis) {
  return element_count(tensor) / tensor.shape[static_cast<std::size_t>(axis)] * bytes(tensor.dtype);
}

std::int64_t row_bytes(const Tensor& tensor, int axis) {
  std::int64_t count = bytes(tensor.dtype);
  for (std::size_t d = static_cast<std::size_t>(axis) + 1; d < tensor.shape.size(); ++d) count *= tensor.shape[d];
  return count;
}

Result<BandAxes> band_axes(const Kernel& kernel, const std::vector<Part>& parts, const std::string& along) {
  return along.empty() ? BandAxes{} : AxisFinder(kernel, parts).run(along);
}

Result<PartRows> rows_of(const Kernel& kernel, const Part& part, const BandAxes& axes) {
  return RowFinder(kernel, part, axes).run();
}

Kernel cut_rows(const Kernel& kernel, const Part& part, const BandSchedule& schedule, std::size_t number) {
  const BandKernel& band = schedule.kernels[number];
  const auto rows = rows_of(kernel, part, schedule.axes);
  ISAMAP_CHECK(rows, "a part without rows is cut into rows");
  if (band.rest) return cut(kernel, rows->rest, "part");
  const bool sums = kernel.statements[part.statements.front()].write.tensor == schedule.axes.sum;
  const std::vector<std::size_t> statements = sums ? std::vector{part.statements.front()} : part.statements;
  Kernel few = kernel;
  std::map<TensorId, const RowWindow*> windows;
  std::map<TensorId, std::int64_t> above;
  const auto shorten = [&](TensorId id, int axis, std::int64_t to) {
    Tensor& tensor = few.tensors[id.index()];
    if (axis != row_axis(kernel.tensors[id.index()]) && !tensor.constant && !schedule.buffers.contains(id))
      tensor.strides = strides_of(kernel.tensors[id.index()]);
    tensor.shape[static_cast<std::size_t>(axis)] = to;
  };
  for (std::size_t w = 0; w < rows->reads.size(); ++w) {
    const RowWindow& window = rows->reads[w];
    windows[window.tensor] = &window;
    above[window.tensor] = band.above[w];
    shorten(window.tensor, window.axis,
            window.step * (band.rows - 1) + window.high - window.low + 1 - band.above[w] - band.below[w]);
  }
  for (const std::size_t s : statements) {
    Computation& statement = few.statements[s];
    const TensorId id = statement.write.tensor;
    const int axis = row_axis(kernel, schedule.axes, id);
    if (sums)
      few.tensors[id.index()].inout = true;
    else if (std::find(rows->writes.begin(), rows->writes.end(), id) != rows->writes.end())
      shorten(id, axis, band.rows);
    else
      few.tensors[id.index()].shape[static_cast<std::size_t>(axis)] = band.rows;
    const auto dim = sums ? schedule.axes.summed : *statement.write.index[static_cast<std::size_t>(axis)].as_dim();
    statement.domain.dims[static_cast<std::size_t>(statement.domain.find(dim))].extent = band.rows;
    for (Access& read : statement.reads)
      if (const auto window = windows.find(read.tensor); window != windows.end())
        read.index[static_cast<std::size_t>(window->second->axis)] += -window->second->low - above[read.tensor];
  }
  return cut(few, statements, "part");
}

}  // namespace isamap

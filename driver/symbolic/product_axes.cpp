// SPDX-License-Identifier: Apache-2.0
#include "driver/symbolic/product_axes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "planner/split_dims.h"

namespace isamap {
namespace {

/// By extent, the inner factor: axes of one extent are divided alike, so that dims along several of them agree.
using Factors = std::map<std::int64_t, std::int64_t>;

template <class Statement, class Visit>  // a Computation, const or not
void for_each_access(Statement& s, const Visit& visit) {
  visit(s.write);
  for (auto& read : s.reads) visit(read);
}

bool divides(std::int64_t factor, std::int64_t extent) { return factor > 1 && factor < extent && extent % factor == 0; }

/// S, where the subscript along an axis of this extent is S*b + s, or is a dim that another subscript divides by S.
std::optional<std::int64_t> inner_factor(const Computation& s, const AffineExpr& subscript, std::int64_t extent) {
  for (const AffineTerm& term : subscript.terms())
    if (division(term) == nullptr && divides(term.coefficient, extent)) return term.coefficient;
  const auto dim = subscript.as_dim();
  if (!dim) return std::nullopt;
  std::optional<std::int64_t> found;
  for_each_access(s, [&](const Access& access) {
    for (const AffineExpr& other : access.index)
      for (const AffineTerm& term : other.terms())
        if (const FloorDiv* by = division(term);
            by != nullptr && !found && divides(by->divisor, extent) && *by->numerator == AffineExpr::dim(*dim))
          found = by->divisor;
  });
  return found;
}

/// By tensor and axis, those that the first of all statements shows.
std::map<std::pair<TensorId, std::size_t>, std::int64_t> inner_factors(const Kernel& kernel) {
  std::map<std::pair<TensorId, std::size_t>, std::int64_t> found;
  for (const Computation& s : kernel.statements)
    for_each_access(s, [&](const Access& access) {
      const std::vector<std::int64_t>& shape = kernel.tensors[access.tensor.index()].shape;
      for (std::size_t d = 0; d < shape.size(); ++d)
        if (const auto factor = inner_factor(s, access.index[d], shape[d]))
          found.emplace(std::pair(access.tensor, d), *factor);
    });
  return found;
}

/// The axis in every access can be two: no caller sees it, and no read lies beyond it or is at a computed place.
bool may_be_split(const Kernel& kernel, TensorId id) {
  const Tensor& tensor = kernel.tensors[id.index()];
  if (tensor.output || tensor.inout || tensor.constant || tensor.outside || !tensor.strides.empty()) return false;
  bool written = false, read = false, plain = true;
  for (const Computation& s : kernel.statements) {
    written = written || s.write.tensor == id;
    for (const Access& access : s.reads)
      if (access.tensor == id) {
        read = true;
        plain = plain && !access.outside && !access.computed;
      }
  }
  return written && read && plain;
}

/// Axes of a tensor, the last one first, so that the numbers of the others stay when one becomes two.
using AxesOf = std::map<TensorId, std::vector<std::size_t>>;

AxesOf found_in(const Kernel& kernel, const std::vector<ProductAxis>& axes) {
  AxesOf found;
  for (std::size_t t = 0; t < kernel.tensors.size(); ++t)
    for (const ProductAxis& one : axes)
      if (const auto id = make_id<TensorId>(t);
          one.tensor == kernel.tensors[t].name && one.axis < kernel.tensors[t].shape.size() && may_be_split(kernel, id))
        found[id].push_back(one.axis);
  for (auto& [id, list] : found) std::sort(list.rbegin(), list.rend());
  return found;
}

template <class Visit>  // (access, axis, extent of the axis)
void for_each_found(Computation& s, const Kernel& kernel, const AxesOf& axes, const Visit& visit) {
  for_each_access(s, [&](Access& access) {
    const auto found = axes.find(access.tensor);
    if (found == axes.end()) return;
    for (const std::size_t axis : found->second) visit(access, axis, kernel.tensors[access.tensor.index()].shape[axis]);
  });
}

}  // namespace

std::vector<ProductAxis> product_axes(const std::vector<Model>& models, SizeFit fit) {
  std::vector<std::map<std::pair<TensorId, std::size_t>, std::int64_t>> factors;
  for (const Model& model : models) factors.push_back(inner_factors(model.kernel));
  std::vector<ProductAxis> found;
  const std::vector<Tensor>& tensors = models[0].kernel.tensors;
  for (std::size_t t = 0; t < tensors.size(); ++t)
    for (std::size_t d = 0; d < tensors[t].shape.size(); ++d) {
      std::vector<std::int64_t> extents;
      std::set<std::int64_t> shown;
      const std::pair axis(make_id<TensorId>(t), d);
      for (const Model& model : models) extents.push_back(model.kernel.tensors[t].shape[d]);
      for (const auto& by_axis : factors)
        if (const auto factor = by_axis.find(axis); factor != by_axis.end()) shown.insert(factor->second);
      const bool in_all = std::all_of(factors.begin(), factors.end(), [&](const auto& f) { return f.contains(axis); });
      if (!fit.fit(extents) || (in_all && shown.size() > 1)) found.push_back({tensors[t].name, d});
    }
  return found;
}

Kernel with_product_axes_split(Kernel kernel, const std::vector<ProductAxis>& axes) {
  if (!kernel.repeats.empty()) return kernel;
  AxesOf found = found_in(kernel, axes);
  Factors factors;
  for (Computation& s : kernel.statements)
    for_each_found(s, kernel, found, [&](const Access& access, std::size_t axis, std::int64_t extent) {
      if (const auto factor = inner_factor(s, access.index[axis], extent)) factors.emplace(extent, *factor);
    });
  for (auto& [id, list] : found)
    std::erase_if(list,
                  [&, t = id](std::size_t axis) { return !factors.contains(kernel.tensors[t.index()].shape[axis]); });
  for (Computation& s : kernel.statements) {
    std::map<std::string, std::int64_t> divided;
    for_each_found(s, kernel, found, [&](const Access& access, std::size_t axis, std::int64_t extent) {
      const auto dim = access.index[axis].as_dim();
      if (dim && s.domain.dims[static_cast<std::size_t>(s.domain.find(*dim))].extent == extent)
        divided.emplace(*dim, factors.at(extent));
    });
    for (const auto& [dim, factor] : divided) split_dim(s, static_cast<std::size_t>(s.domain.find(dim)), factor);
    const Ranges ranges = ranges_of(s.domain);
    for_each_found(s, kernel, found, [&](Access& access, std::size_t axis, std::int64_t extent) {
      const auto at = access.index.begin() + static_cast<std::ptrdiff_t>(axis);
      const AffineExpr place = *at;
      *at = simplify(mod(place, factors.at(extent)), ranges);
      access.index.insert(at, simplify(floordiv(place, factors.at(extent)), ranges));
    });
  }
  for (const auto& [id, list] : found)
    for (const std::size_t axis : list) {
      std::vector<std::int64_t>& shape = kernel.tensors[id.index()].shape;
      const std::int64_t inner = factors.at(shape[axis]);
      shape[axis] /= inner;
      shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, inner);
    }
  return kernel;
}

}  // namespace isamap

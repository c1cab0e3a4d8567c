// SPDX-License-Identifier: Apache-2.0
#include "ir/verify/regions.h"

#include <algorithm>
#include <map>
#include <set>

#include "support/box.h"

namespace isamap {
namespace {

constexpr std::int64_t most_points = 1 << 16;  ///< that are enumerated for one subscript
constexpr std::size_t most_products = 1 << 12;

bool is_empty(const Product& product) {
  return std::any_of(product.begin(), product.end(), [](const IndexSet& set) { return set.empty(); });
}

Box extents_of(const std::set<std::string>& names, const IterationDomain& domain) {
  Box extents;
  for (const std::string& name : names)
    extents.push_back(domain.dims[static_cast<std::size_t>(domain.find(name))].extent);
  return extents;
}

// A sum c0*d0 + c1*d1 + .. of independent dims, c0 <= c1 <= .., has no gaps iff each step is at most one more than the
// reach of the smaller ones.
bool is_contiguous(const AffineExpr& e, const IterationDomain& domain) {
  if (!e.is_linear()) return false;
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;
  for (const std::string& name : e.names())
    steps.emplace_back(std::abs(e.coefficient(name)),
                       domain.dims[static_cast<std::size_t>(domain.find(name))].extent - 1);
  std::sort(steps.begin(), steps.end());
  std::int64_t reach = 0;
  for (const auto& [step, last] : steps) {
    if (last > 0 && step > reach + 1) return false;
    reach += step * last;
  }
  return true;
}

IndexSet runs_of(const std::set<std::int64_t>& values) {
  IndexSet runs;
  for (const std::int64_t value : values) {
    if (!runs.empty() && runs.back().high + 1 == value)
      ++runs.back().high;
    else
      runs.push_back({value, value});
  }
  return runs;
}

/// The values of a subscript inside [0, size).
std::optional<IndexSet> values_of(const AffineExpr& e, const IterationDomain& domain, std::int64_t size) {
  const std::set<std::string> names = e.names();
  if (is_contiguous(e, domain)) {
    const auto range = bounds(e, ranges_of(domain));
    if (!range) return std::nullopt;
    const Interval inside{std::max<std::int64_t>(range->low, 0), std::min(range->high, size - 1)};
    return inside.low > inside.high ? IndexSet{} : IndexSet{inside};
  }
  const Box extents = extents_of(names, domain);
  if (points_in(extents) > most_points) return std::nullopt;
  const CompiledAffine value(e, {names.begin(), names.end()});
  std::set<std::int64_t> values;
  Box point(extents.size(), 0);
  do
    if (const std::int64_t v = value(point.data()); v >= 0 && v < size) values.insert(v);
  while (advance(point, extents));
  return runs_of(values);
}

/// Dims in more than one subscript, and those of faces.
std::set<std::string> shared_dims(const Access& access, const IterationDomain& domain) {
  std::set<std::string> seen, shared;
  for (const AffineExpr& e : access.index)
    for (const std::string& name : e.names())
      if (!seen.insert(name).second) shared.insert(name);
  for (const AffineExpr& face : domain.faces) shared.merge(face.names());
  return shared;
}

}  // namespace

IndexSet intersection(const IndexSet& a, const IndexSet& b) {
  IndexSet result;
  for (auto x = a.begin(), y = b.begin(); x != a.end() && y != b.end();) {
    const Interval both{std::max(x->low, y->low), std::min(x->high, y->high)};
    if (both.low <= both.high) result.push_back(both);
    ++(x->high < y->high ? x : y);
  }
  return result;
}

IndexSet difference(const IndexSet& a, const IndexSet& b) {
  IndexSet result;
  auto hole = b.begin();
  for (Interval rest : a) {
    while (hole != b.end() && hole->high < rest.low) ++hole;
    for (auto h = hole; h != b.end() && h->low <= rest.high && rest.low <= rest.high; ++h) {
      if (rest.low < h->low) result.push_back({rest.low, h->low - 1});
      rest.low = h->high + 1;
    }
    if (rest.low <= rest.high) result.push_back(rest);
  }
  return result;
}

std::optional<Region> touched(const Access& access, const IterationDomain& domain,
                              const std::vector<std::int64_t>& shape) {
  for (const Dim& dim : domain.dims)
    if (dim.extent == 0) return Region{};
  const std::set<std::string> shared = shared_dims(access, domain);
  const std::vector<std::string> names(shared.begin(), shared.end());
  const Box extents = extents_of(shared, domain);
  if (points_in(extents) > static_cast<std::int64_t>(most_products)) return std::nullopt;
  Region region;
  Box point(extents.size(), 0);
  do {
    std::map<std::string, AffineExpr> fixed;
    for (std::size_t d = 0; d < names.size(); ++d) fixed[names[d]] = AffineExpr(point[d]);
    if (std::any_of(domain.faces.begin(), domain.faces.end(),
                    [&](const AffineExpr& face) { return substitute(face, fixed).constant() < 0; }))
      continue;
    Product product;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const bool computed = access.computed && access.computed->axis == static_cast<int>(axis);
      const auto values = computed ? IndexSet{{0, shape[axis] - 1}}
                                   : values_of(substitute(access.index[axis], fixed), domain, shape[axis]);
      if (!values) return std::nullopt;
      product.push_back(*values);
    }
    if (!is_empty(product)) region.push_back(std::move(product));
  } while (advance(point, extents));
  return region;
}

std::optional<std::vector<std::int64_t>> common_element(const Region& a, const Region& b) {
  for (const Product& one : a)
    for (const Product& other : b) {
      Product both;
      for (std::size_t axis = 0; axis < one.size(); ++axis) both.push_back(intersection(one[axis], other[axis]));
      if (!is_empty(both)) return first_element({both});
    }
  return std::nullopt;
}

// A \ B is the union over axes d of (A0 & B0) x .. x (Ad \ Bd) x A(d+1) x ..
std::optional<Region> difference(Region a, const Region& b) {
  for (const Product& hole : b) {
    Region rest;
    for (const Product& one : a) {
      Product both = one;
      for (std::size_t axis = 0; axis < one.size() && !is_empty(both); ++axis) {
        Product part = both;
        part[axis] = difference(one[axis], hole[axis]);
        if (!is_empty(part)) rest.push_back(std::move(part));
        both[axis] = intersection(one[axis], hole[axis]);
      }
    }
    if (rest.size() > most_products) return std::nullopt;
    a = std::move(rest);
  }
  return a;
}

bool completed_by_others(const Kernel& kernel, std::size_t statement) {
  const TensorId written = kernel.statements[statement].write.tensor;
  const Tensor& tensor = kernel.tensors[written.index()];
  Product all;
  for (const std::int64_t size : tensor.shape) all.push_back({{0, size - 1}});
  Region rest = {all};
  for (std::size_t s = 0; s < kernel.statements.size(); ++s) {
    const Computation& writer = kernel.statements[s];
    if (writer.write.tensor != written) continue;
    if (s < statement || (s == statement && writer.reduction != Reduction::assign)) return false;
    const auto region = touched(writer.write, writer.domain, tensor.shape);
    if (!region) return false;
    if (writer.reduction != Reduction::assign) {
      if (common_element(rest, *region)) return false;
      continue;
    }
    auto left = difference(std::move(rest), *region);
    if (!left) return false;
    rest = std::move(*left);
  }
  return rest.empty();
}

std::vector<std::int64_t> first_element(const Region& region) {
  std::vector<std::int64_t> element;
  for (const IndexSet& set : region.front()) element.push_back(set.front().low);
  return element;
}

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#include "planner/split_dims.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace isamap {
namespace {

/// c, if one axis of a tensor that is not constant is `dim / c` and another `dim % c`, and c divides the extent.
std::optional<std::int64_t> divisor_of(const Computation& s, const Dim& dim, const std::vector<Tensor>& tensors) {
  const AffineExpr all = AffineExpr::dim(dim.name);
  for (const Access& read : s.reads) {
    if (tensors[read.tensor.index()].constant) continue;
    for (const AffineExpr& high : read.index) {
      const FloorDiv* by = high.terms().size() == 1 ? division(high.terms().front()) : nullptr;
      if (by == nullptr || dim.extent % by->divisor != 0 || high != floordiv(all, by->divisor)) continue;
      if (std::find(read.index.begin(), read.index.end(), mod(all, by->divisor)) != read.index.end())
        return by->divisor;
    }
  }
  return std::nullopt;
}

void substitute_all(Computation& s, const std::map<std::string, AffineExpr>& by) {
  const Ranges ranges = ranges_of(s.domain);
  const auto change = [&](AffineExpr& e) { e = simplify(substitute(e, by), ranges); };
  for (Access& read : s.reads) std::for_each(read.index.begin(), read.index.end(), change);
  std::for_each(s.write.index.begin(), s.write.index.end(), change);
  std::for_each(s.values.begin(), s.values.end(), change);
  std::for_each(s.domain.faces.begin(), s.domain.faces.end(), change);
}

void split(Computation& s, std::size_t at, std::int64_t divisor) {
  std::vector<Dim>& dims = s.domain.dims;
  Dim high = dims[at], low = dims[at];
  const std::string name = high.name;
  const auto is_free = [&](const std::string& prefix) {
    return s.domain.find(prefix + "0") < 0 && s.domain.find(prefix + "1") < 0;
  };
  std::string prefix = name;
  while (!is_free(prefix)) prefix += "_";
  high.name = prefix + "0";
  high.extent /= divisor;
  low.name = prefix + "1";
  low.extent = divisor;
  dims[at] = high;
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(at) + 1, low);
  substitute_all(s, {{name, divisor * AffineExpr::dim(high.name) + AffineExpr::dim(low.name)}});
}

}  // namespace

Kernel with_split_dims(Kernel kernel) {
  if (!kernel.repeats.empty()) return kernel;
  for (Computation& s : kernel.statements)
    for (std::size_t d = 0; d < s.domain.dims.size(); ++d)
      if (s.domain.dims[d].kind == DimKind::reduction)
        if (const auto divisor = divisor_of(s, s.domain.dims[d], kernel.tensors)) split(s, d, *divisor);
  return kernel;
}

}  // namespace isamap

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

/// The axis that the output is contiguous along is this dim alone; axes of one element are none.
bool is_innermost(const Computation& s, const Dim& dim, const std::vector<Tensor>& tensors) {
  const Tensor& output = tensors[s.write.tensor.index()];
  std::size_t last = output.shape.size();
  while (last > 0 && output.shape[last - 1] == 1) --last;
  return last > 0 && s.write.index[last - 1] == AffineExpr::dim(dim.name);
}

/// c, if the place of the one element that is read divides `dim` by c, which divides the extent. x[q/2,q%2] divides
/// nothing: its place is q. A number may be added before: x[(q+1)%2,(q+1)/2] is x[1-q1,q0+q1].
std::optional<std::int64_t> divisor_of_place(const Computation& s, const Dim& dim, const std::vector<Tensor>& tensors) {
  if (s.reads.size() != 1 || is_irregular(s) || !is_innermost(s, dim, tensors)) return std::nullopt;
  const Access& read = s.reads[0];
  const AffineExpr place = simplify(row_major(read.index, tensors[read.tensor.index()].shape), ranges_of(s.domain));
  for (const auto& term : place.terms()) {
    const FloorDiv* by = division(term);
    if (by != nullptr && dim.extent % by->divisor == 0 && dim.extent > by->divisor &&
        (*by->numerator - AffineExpr::dim(dim.name)).is_constant())
      return by->divisor;
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

}  // namespace

void split_dim(Computation& s, std::size_t at, std::int64_t divisor) {
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

Kernel with_split_dims(Kernel kernel) {
  if (!kernel.repeats.empty()) return kernel;
  for (Computation& s : kernel.statements)
    for (std::size_t d = 0; d < s.domain.dims.size(); ++d)
      if (const Dim& dim = s.domain.dims[d]; const auto divisor = dim.kind == DimKind::reduction
                                                                      ? divisor_of(s, dim, kernel.tensors)
                                                                      : divisor_of_place(s, dim, kernel.tensors))
        split_dim(s, d, *divisor);
  return kernel;
}

}  // namespace isamap

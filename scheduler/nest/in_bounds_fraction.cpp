// SPDX-License-Identifier: Apache-2.0
#include "scheduler/nest/in_bounds_fraction.h"

#include <algorithm>

#include "isamap/affine.h"
#include "scheduler/nest/out_of_bounds.h"
#include "support/arithmetic.h"

namespace isamap {
namespace {

constexpr std::int64_t most_counted = 4096;  ///< enumerated points; the longest dim is counted in closed form

struct Term {
  std::int64_t coefficient = 0, extent = 1;
};

/// Number of points of the terms from `t` on for which `value` + terms is in [0, extent). The last term is counted in
/// closed form.
std::int64_t inside(const std::vector<Term>& terms, std::size_t t, std::int64_t value, std::int64_t extent) {
  if (t == terms.size()) return value >= 0 && value < extent ? 1 : 0;
  const Term& term = terms[t];
  if (t + 1 < terms.size()) {
    std::int64_t count = 0;
    for (std::int64_t x = 0; x < term.extent; ++x) count += inside(terms, t + 1, value + term.coefficient * x, extent);
    return count;
  }
  const std::int64_t step = std::abs(term.coefficient);
  // value + coefficient * x within [0, extent - 1]: x from ceil(low / step) to floor(high / step).
  const std::int64_t low = term.coefficient > 0 ? -value : value - (extent - 1);
  const std::int64_t high = term.coefficient > 0 ? extent - 1 - value : value;
  const std::int64_t first = std::max<std::int64_t>(0, ceil_div(low, step));
  const std::int64_t last = std::min(term.extent - 1, floor_div(high, step));
  return std::max<std::int64_t>(0, last - first + 1);
}

double share(const AffineExpr& index, std::int64_t extent, const IterationDomain& domain) {
  const auto range = bounds(index, ranges_of(domain));
  if (!index.is_linear() || !range || (range->low >= 0 && range->high < extent)) return 1;
  std::vector<Term> terms;
  double points = 1;
  for (const std::string& name : index.names()) {
    const int d = domain.find(name);
    if (d < 0) return 1;
    terms.push_back({index.coefficient(name), domain.dims[static_cast<std::size_t>(d)].extent});
    points *= static_cast<double>(std::max<std::int64_t>(1, terms.back().extent));
  }
  std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) { return a.extent < b.extent; });
  if (terms.empty() || terms.front().extent < 1 || points / static_cast<double>(terms.back().extent) > most_counted)
    return 1;
  return static_cast<double>(inside(terms, 0, index.constant(), extent)) / points;
}

}  // namespace

double nonnegative_fraction(const AffineExpr& e, const IterationDomain& box) {
  const auto range = bounds(e, ranges_of(box));
  return range ? share(e, std::max<std::int64_t>(range->high, 0) + 1, box) : 1;
}

double in_bounds_fraction(const Nest& nest, const Kernel& kernel, const Computation& statement) {
  double all = 1;
  for (const Access& read : statement.reads) {
    const Tensor& tensor = kernel.tensors[read.tensor.index()];
    if (!skips(nest, tensor)) continue;
    for (std::size_t i = 0; i < read.index.size(); ++i) all *= share(read.index[i], tensor.shape[i], statement.domain);
  }
  return all;
}

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#include "scheduler/nest/memory_axes.h"

#include <algorithm>
#include <set>

namespace isamap {
namespace {

bool share_a_dim(const std::vector<AffineExpr>& index) {
  std::set<std::string> seen;
  bool shared = false;
  for (const AffineExpr& e : index) {
    if (!e.is_linear()) return false;
    for (const std::string& name : e.names()) shared = !seen.insert(name).second || shared;
  }
  return shared;
}

void add_subscripts(const Access& access, const Tensor& tensor, const IterationDomain& domain, MemoryAxes& found) {
  const std::vector<std::int64_t> strides = strides_of(tensor);
  for (std::size_t axis = 0; axis < access.index.size(); ++axis)
    found.axes.push_back({axis_terms(access.index[axis], domain),
                          static_cast<double>(std::max<std::int64_t>(1, tensor.shape[axis])),
                          static_cast<double>(strides[axis])});
}

/// One for each dim. A diagonal of N x N is N elements at a pitch of N + 1.
void add_dims(const Access& access, const Tensor& tensor, const IterationDomain& domain, MemoryAxes& found) {
  const AffineExpr offset = position(access.index, tensor);
  for (std::size_t d = 0; d < domain.dims.size(); ++d) {
    const Dim& dim = domain.dims[d];
    found.steps.push_back(static_cast<double>(std::abs(offset.coefficient(dim.name))));
    if (found.steps.back() > 0)
      found.axes.push_back({{{static_cast<int>(d), 1.0}},
                            static_cast<double>(std::max<std::int64_t>(1, dim.extent)),
                            found.steps.back()});
  }
  std::stable_sort(found.axes.begin(), found.axes.end(),
                   [](const MemoryAxis& x, const MemoryAxis& y) { return x.pitch > y.pitch; });
  if (found.axes.empty() || found.axes.back().pitch != 1) found.axes.push_back({});
}

}  // namespace

AxisTerms axis_terms(const AffineExpr& e, const IterationDomain& domain) {
  AxisTerms terms;
  for (const std::string& name : e.names())
    if (const int d = domain.find(name); d >= 0)
      terms.emplace_back(d, static_cast<double>(std::max<std::int64_t>(1, std::abs(e.coefficient(name)))));
  return terms;
}

MemoryAxes memory_axes(const Access& access, const Tensor& tensor, const IterationDomain& domain) {
  MemoryAxes found;
  found.by_dim = share_a_dim(access.index);
  if (found.by_dim)
    add_dims(access, tensor, domain, found);
  else
    add_subscripts(access, tensor, domain, found);
  if (!access.index.empty()) found.last = axis_terms(access.index.back(), domain);
  return found;
}

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cost/split_lines.h"

#include <algorithm>
#include <numeric>

namespace isamap {
namespace {

/// The line of the cache nearest to a memory's home; 0: there is none.
std::int64_t line_of(const HardwareModel& model) {
  const Memory* nearest = nullptr;
  for (const Memory& m : model.memories())
    if (m.kind == MemoryKind::cache && (nearest == nullptr || m.capacity < nearest->capacity)) nearest = &m;
  return nearest == nullptr ? 0 : nearest->line;
}

/// All calls begin at a multiple of `apart` bytes within a line, at most `line`.
AccessFacts::CallAddresses call_addresses(const ResolvedNest& view, int number, std::int64_t line) {
  const Access& access = access_of(view.statement, number);
  const Tensor& tensor = view.kernel->tensors[access.tensor.index()];
  const std::int64_t size = bytes(tensor.dtype);
  const std::vector<std::int64_t> strides = strides_of(tensor);
  AccessFacts::CallAddresses found{line, size};
  for (std::size_t axis = 0; axis < access.index.size(); ++axis) {
    const AffineExpr& e = access.index[axis];
    found.apart = std::gcd(found.apart, e.constant() * strides[axis] * size);
    for (const std::string& name : e.names()) {
      const int d = view.statement.domain.find(name);
      if (d < 0) continue;
      const Dim& dim = view.statement.domain.dims[static_cast<std::size_t>(d)];
      const std::int64_t step = view.block[static_cast<std::size_t>(d)];
      found.at_once *= step;
      if (dim.extent > step) found.apart = std::gcd(found.apart, step * e.coefficient(name) * strides[axis] * size);
    }
  }
  return found;
}

}  // namespace

double split_share(const ResolvedNest& view, const Transfer& transfer, std::int64_t widest) {
  const std::int64_t line = line_of(*view.model);
  if (line <= 1 || transfer.from != view.model->home()) return 0;
  if (transfer.stage >= 0) {
    const int from = view.stages[static_cast<std::size_t>(transfer.stage)].parent;
    if (from >= 0) return 0;
  } else if (view.innermost[static_cast<std::size_t>(transfer.access)] >= 0) {
    return 0;
  }
  auto& calls = view.facts->accesses[static_cast<std::size_t>(transfer.access)].calls;
  if (!calls) calls = call_addresses(view, transfer.access, line);
  const double width = static_cast<double>(std::min({calls->at_once, widest, line}));
  return std::max(0.0, width - static_cast<double>(calls->apart)) / static_cast<double>(line);
}

}  // namespace isamap

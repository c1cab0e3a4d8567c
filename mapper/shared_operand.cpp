#include "mapper/shared_operand.h"

#include <map>

namespace isamap {
namespace {

constexpr std::int64_t max_points = 4096;  // of a call that are tried

/// The statement's point at these counters of the first call; nothing: tied digits differ, or no point of the domain.
std::optional<Bindings> point_at(const Alignment& alignment, const std::vector<Walker>& walkers,
                                 const std::vector<std::int64_t>& counters) {
  const Computation& statement = alignment.computation();
  Bindings point;
  for (const Dim& dim : statement.domain.dims) point[dim.name] = 0;
  for (const Walker& walker : walkers) {
    std::int64_t digit = -1;
    for (const Walker::Place& place : walker.places) {
      const std::int64_t here = counters[static_cast<std::size_t>(place.dim)] / place.weight % walker.extent;
      if (digit >= 0 && here != digit) return std::nullopt;
      digit = here;
    }
    for (std::size_t d = 0; d < statement.domain.dims.size(); ++d)
      point[statement.domain.dims[d].name] += walker.column[d] * digit;
  }
  for (const Dim& dim : statement.domain.dims)
    if (point[dim.name] < 0 || point[dim.name] >= dim.extent) return std::nullopt;
  for (const AffineExpr& face : statement.domain.faces)
    if (evaluate(face, point) < 0) return std::nullopt;
  for (std::size_t m = 0; m < counters.size(); ++m)
    if (counters[m] >= std::max<std::int64_t>(1, walked_extent(walkers, static_cast<int>(m)))) return std::nullopt;
  return point;
}

std::vector<std::int64_t> values(const std::vector<AffineExpr>& index, const Bindings& at) {
  std::vector<std::int64_t> result;
  for (const AffineExpr& e : index) result.push_back(evaluate(e, at));
  return result;
}

}  // namespace

std::vector<std::pair<int, int>> shared_operands(const Alignment& alignment) {
  std::vector<std::pair<int, int>> pairs;
  for (int t = 0; t < alignment.operand_count(); ++t)
    for (int u = t + 1; u < alignment.operand_count(); ++u) {
      const bool one = alignment.unit_access(t).tensor == alignment.unit_access(u).tensor;
      if (one && !(alignment.unit_access(t) == alignment.unit_access(u) && alignment.access(t) == alignment.access(u)))
        pairs.emplace_back(t, u);
    }
  return pairs;
}

Truth told_apart_in_shared(const Alignment& alignment, const std::vector<Walker>& walkers) {
  const auto pairs = shared_operands(alignment);
  if (pairs.empty()) return Truth::yes;
  const std::vector<Dim>& dims = alignment.unit().domain.dims;
  double points = 1;
  for (std::size_t m = 0; m < dims.size(); ++m)
    points *= static_cast<double>(unit_extent(alignment, static_cast<int>(m)));
  if (points > static_cast<double>(max_points)) return Truth::unknown;
  using Element = std::pair<TensorId, std::vector<std::int64_t>>;
  std::map<std::pair<TensorId, std::vector<std::int64_t>>, Element> held;
  std::vector<std::int64_t> counters(dims.size(), 0);
  while (true) {
    if (const auto point = point_at(alignment, walkers, counters)) {
      Bindings at;
      for (std::size_t m = 0; m < dims.size(); ++m) at[dims[m].name] = counters[m];
      for (int t = 0; t < alignment.operand_count(); ++t) {
        const Access &slot = alignment.unit_access(t), &element = alignment.access(t);
        const Element here{element.tensor, values(element.index, *point)};
        if (held.emplace(std::pair(slot.tensor, values(slot.index, at)), here).first->second != here) return Truth::no;
      }
    }
    std::size_t m = dims.size();
    while (m > 0 && ++counters[m - 1] >= unit_extent(alignment, static_cast<int>(m - 1))) counters[--m] = 0;
    if (m == 0) return Truth::unknown;
  }
}

}  // namespace isamap

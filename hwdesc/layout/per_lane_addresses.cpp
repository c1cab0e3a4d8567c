// SPDX-License-Identifier: Apache-2.0
#include "hwdesc/layout/per_lane_addresses.h"

#include <cctype>
#include <map>

namespace isamap {
namespace {

constexpr std::int64_t most_instances = 4096;

bool only_points(const AffineExpr& e) {
  for (const std::string& name : e.names())
    if (name.front() != '$') return false;
  return true;
}

}  // namespace

AffineExpr in_points(const StrideTerm& term, const Access& access) {
  const auto points = [](const AffineExpr& e) {
    std::map<std::string, AffineExpr> by;
    for (const std::string& name : e.names()) by[name] = AffineExpr::dim("$" + name);
    return substitute(e, by);
  };
  if (term.term.is_constant()) return points(access.index.at(static_cast<std::size_t>(term.term.constant())));
  const auto dim = term.term.as_dim();
  if (dim && std::isdigit(static_cast<unsigned char>(dim->front())) && std::stoul(*dim) < access.index.size())
    return points(access.index[std::stoul(*dim)]);
  return points(term.term);
}

std::optional<std::vector<std::int64_t>> per_lane_offsets(const Instruction& instruction, int access,
                                                          const std::vector<std::int64_t>& extents,
                                                          const AffineExpr& offset) {
  const auto* layout =
      std::get_if<StridedLayout>(&instruction.operands[operand_of_access(instruction, access).index()].layout);
  if (layout == nullptr) return std::nullopt;
  std::optional<AffineExpr> number;
  AffineExpr after;  // elements after the address
  for (const StrideTerm& term : layout->terms) {
    const AffineExpr e = in_points(term, access_of(instruction.statement(), access));
    const auto stride = term.stride
                            ? evaluate(*term.stride, [](const Reference&) { return std::optional<std::int64_t>(); })
                            : std::nullopt;
    if (!term.each.empty()) {
      if (number) return std::nullopt;
      number = e;
    } else if (stride) {
      after += e * *stride;
    } else {
      return std::nullopt;
    }
  }
  std::map<std::string, AffineExpr> first;
  std::vector<std::string> names;
  for (const Dim& dim : instruction.statement().domain.dims) {
    names.push_back("$" + dim.name);
    first[names.back()] = AffineExpr(0);
  }
  const AffineExpr relative = offset - substitute(offset, first);
  if (!number || !only_points(relative)) return std::nullopt;
  const CompiledAffine instance(*number, names), fixed(after, names), position(relative, names);
  std::vector<std::optional<std::int64_t>> steps;
  std::vector<std::int64_t> point(names.size(), 0);
  while (true) {
    const std::int64_t p = instance(point.data()), step = position(point.data()) - fixed(point.data());
    if (p < 0 || p >= most_instances) return std::nullopt;
    if (steps.size() <= static_cast<std::size_t>(p)) steps.resize(static_cast<std::size_t>(p) + 1);
    auto& known = steps[static_cast<std::size_t>(p)];
    if (known.value_or(step) != step) return std::nullopt;
    known = step;
    std::size_t d = point.size();
    while (d > 0 && ++point[d - 1] >= extents[d - 1]) point[--d] = 0;
    if (d == 0) break;
  }
  std::vector<std::int64_t> out;
  for (const auto& step : steps) {
    if (!step) return std::nullopt;
    out.push_back(*step);
  }
  return out;
}

}  // namespace isamap

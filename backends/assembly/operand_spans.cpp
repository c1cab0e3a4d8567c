// SPDX-License-Identifier: Apache-2.0
#include "backends/assembly/operand_spans.h"

#include <algorithm>
#include <set>

#include "ir/operand_use.h"

namespace isamap {
namespace {

constexpr std::size_t most_pieces = 64;  ///< of one operand; above that the hull is used

struct Step {
  std::int64_t stride = 0, extent = 1;  ///< bytes, steps
};

/// Merges contiguous rows; then one segment per row.
std::vector<Interval> pieces_of(std::vector<Step> steps, std::int64_t width) {
  std::int64_t first = 0;
  for (Step& step : steps)
    if (step.stride < 0) {
      first += step.stride * (step.extent - 1);
      step.stride = -step.stride;
    }
  std::sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.stride < b.stride; });
  std::int64_t run = width;
  std::vector<std::int64_t> starts{first};
  for (const Step& step : steps) {
    if (starts.size() == 1 && step.stride <= run) {
      run += step.stride * (step.extent - 1);
      continue;
    }
    if (step.extent > static_cast<std::int64_t>(most_pieces / starts.size())) return {};
    const std::size_t known = starts.size();
    for (std::int64_t n = 1; n < step.extent; ++n)
      for (std::size_t s = 0; s < known; ++s) starts.push_back(starts[s] + n * step.stride);
  }
  std::vector<Interval> pieces;
  for (const std::int64_t start : starts) pieces.push_back({start, start + run - 1});
  return pieces;
}

}  // namespace

OperandSpans::Reach OperandSpans::reach_of(const CallSite& site, std::size_t access) const {
  const Buffer& buffer = program_.buffers[site.call->operands[access].buffer.index()];
  const std::int64_t width = bytes(buffer.dtype);
  const AffineExpr loop = site.offsets[access] - at_origin(site.offsets[access], site.ranges);
  Ranges ranges = site.ranges;
  const auto& dims = site.instruction->statement().domain.dims;
  const auto touched = access == 0 ? touched_extents(*site.instruction, site.call->extents) : site.call->extents;
  for (std::size_t d = 0; d < dims.size(); ++d) ranges[point_name(dims[d].name)] = {0, touched[d] - 1};
  const AffineExpr simple = simplify(loop, ranges);
  const auto found = bounds(simple, ranges);
  if (!found || buffer.swizzle) return {{INT64_MIN / 4, INT64_MAX / 4}, {}};
  Reach reach{{found->low * width, (found->high + 1) * width - 1}, {}};
  if (!simple.is_linear()) return reach;
  std::vector<Step> steps;
  std::set<std::string> names = simple.names();
  for (std::size_t d = 0; d < dims.size(); ++d)
    if (names.erase(point_name(dims[d].name)) > 0)
      steps.push_back({simple.coefficient(point_name(dims[d].name)) * width, touched[d]});
  if (names.empty()) reach.pieces = pieces_of(std::move(steps), width);
  return reach;
}

Span OperandSpans::span_of(const Ref& ref, const CallSite& site, std::size_t access, const std::int64_t* loops) {
  Span span;
  if (!ref.buffer.valid()) return span;
  const Buffer& buffer = program_.buffers[ref.buffer.index()];
  const Memory& memory = model_.memory(buffer.memory);
  span.memory = buffer.memory;
  if (buffer.slots >= 0) {
    const std::int64_t number = operand_number(site, static_cast<int>(access), program_, model_, loops).value_or(0);
    span.low = number * memory.size;
    span.high = (number + buffer.registers_per_slot) * memory.size;
    return span;
  }
  auto& known = reach_[&site];
  known.resize(site.call->operands.size());
  if (!known[access]) known[access] = reach_of(site, access);
  const Reach& reach = *known[access];
  const std::int64_t width = bytes(buffer.dtype), end = buffer.address + element_span(buffer) * width;
  span.origin = buffer.address + site.base[access](loops) * width;
  span.low = std::clamp(span.origin + reach.hull.low, buffer.address, end);
  span.high = std::clamp(span.origin + reach.hull.high + 1, buffer.address, end);
  if (!reach.pieces.empty()) span.pieces = &reach.pieces;
  return span;
}

const std::vector<Span>& OperandSpans::operator()(const CallSite& site, const std::int64_t* loops) {
  spans_.clear();
  for (std::size_t a = 0; a < site.call->operands.size(); ++a)
    spans_.push_back(span_of(site.call->operands[a], site, a, loops));
  return spans_;
}

}  // namespace isamap

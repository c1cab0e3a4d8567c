// SPDX-License-Identifier: Apache-2.0
#include "hwdesc/layout/bank_conflicts.h"

#include <algorithm>
#include <set>

#include "support/arithmetic.h"
#include "support/box.h"

namespace isamap {

namespace {

constexpr std::int64_t max_points = 1 << 16;

std::int64_t row_of_banks(const Memory& memory) { return memory.banks * memory.bank_width; }

/// Bytes of each supplied address, in the order of the supplying instances.
using Chunks = std::map<std::int64_t, std::vector<std::int64_t>>;  // base -> offsets beyond it

Chunks chunks_of(const MoveTable& table) {
  Chunks chunks;
  for (const MoveTable::Point& point : table.points)
    for (std::int64_t b = 0; point.moved && b < table.width; ++b) chunks[point.base].push_back(point.fixed + b);
  for (auto& [base, offsets] : chunks) {
    std::sort(offsets.begin(), offsets.end());
    offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end());
  }
  return chunks;
}

/// Consecutive addresses until every bank has one word.
std::vector<std::vector<std::int64_t>> groups_of(const Memory& memory, const Chunks& chunks, const Placement& placement,
                                                 const std::vector<std::int64_t>& pitches,
                                                 const std::optional<XorSwizzle>& swizzle) {
  std::vector<std::vector<std::int64_t>> groups(1);
  for (const auto& [base, offsets] : chunks) {
    const auto at = placement.bases.find(base);
    if (at == placement.bases.end()) continue;
    if (static_cast<std::int64_t>(groups.back().size() + offsets.size()) > row_of_banks(memory)) groups.emplace_back();
    for (const std::int64_t offset : offsets)
      groups.back().push_back(swizzled(swizzle, at->second.at(pitches) + offset));
  }
  return groups;
}

int log2_of(std::int64_t value) {
  int bits = 0;
  while ((std::int64_t{2} << bits) <= value) ++bits;
  return bits;
}

bool is_power(std::int64_t value) { return value > 0 && (value & (value - 1)) == 0; }

}  // namespace

std::int64_t conflict_degree(const Memory& memory, const std::vector<std::vector<std::int64_t>>& groups) {
  std::int64_t degree = 1;
  for (const auto& group : groups) {
    std::set<std::int64_t> words;
    for (const std::int64_t byte : group) words.insert(floor_div(byte, memory.bank_width));
    std::map<std::int64_t, std::int64_t> per_bank;
    std::int64_t most = 0;
    for (const std::int64_t word : words) most = std::max(most, ++per_bank[floor_mod(word, memory.banks)]);
    const std::int64_t best = std::max<std::int64_t>(1, ceil_div(std::ssize(words), memory.banks));
    degree = std::max(degree, ceil_div(most, best));
  }
  return degree;
}

std::vector<RowConflicts> row_conflicts(const HardwareModel& model, const Instruction& move, const MoveTable& table,
                                        const Filling& filling, std::size_t operand_indices) {
  if (table.each.empty() || !filling.possible() || filling.order.kind != MemoryOrder::Kind::rows) return {};
  const Memory& memory = model.memory(move.operands[table.in_memory].memory);
  if (!is_power(memory.banks) || !is_power(memory.bank_width)) return {};
  const Chunks chunks = chunks_of(table);
  std::int64_t chunk = 1, reach = 1;
  for (const auto& [base, offsets] : chunks) chunk = std::max(chunk, std::ssize(offsets));
  for (const auto& [base, at] : filling.placement.bases) reach = std::max(reach, at.bytes + chunk);
  if (!is_power(chunk)) return {};

  std::vector<RowConflicts> found;
  std::int64_t first = chunk;
  while (first < reach) first *= 2;
  for (std::int64_t row = first; row <= row_of_banks(memory); row *= 2) {
    // Every index but the contiguous one has the stride of a row; a further operand is 16 rows away.
    std::vector<std::int64_t> pitches(filling.pitches.size(), row);
    for (std::size_t s = operand_indices; s < pitches.size(); ++s)
      pitches[s] = 16 * row * static_cast<std::int64_t>(s - operand_indices + 1);
    const auto degree = [&](const std::optional<XorSwizzle>& swizzle) {
      return conflict_degree(memory, groups_of(memory, chunks, filling.placement, pitches, swizzle));
    };
    RowConflicts conflicts{row, degree(std::nullopt), std::nullopt};
    const int to = log2_of(chunk), room = log2_of(row) - to;  // chunks are permuted inside their row
    for (int bits = 1; bits <= room && conflicts.degree > 1 && !conflicts.swizzle; ++bits)
      for (int from = std::max(to + bits, log2_of(row)); from <= 16 && !conflicts.swizzle; ++from)
        if (degree(XorSwizzle{bits, from, to}) == 1) conflicts.swizzle = XorSwizzle{bits, from, to};
    found.push_back(conflicts);
  }
  return found;
}

std::optional<OperandConflicts> operand_conflicts(const HardwareModel& model, const Instruction& instruction,
                                                  std::size_t number) {
  const Operand& operand = instruction.operands[number];
  const auto* layout = std::get_if<StridedLayout>(&operand.layout);
  if (!operand.memory.valid() || operand.at_once.empty() || !layout || !operand.dtype) return std::nullopt;
  const Memory& memory = model.memory(operand.memory);
  const Box& box = instruction.tensors[number].shape;
  std::int64_t points = 1;
  for (const std::int64_t extent : box) points = checked_mul(points, extent).value_or(INT64_MAX);
  if (memory.banks < 1 || memory.bank_width < 1 || points > max_points) return std::nullopt;

  const std::int64_t width = bytes(*operand.dtype);
  std::vector<std::pair<CompiledAffine, std::int64_t>> terms;  // bytes; -1: free
  Ranges ranges;
  for (std::size_t d = 0; d < box.size(); ++d) ranges[operand.index_names[d]] = {0, box[d] - 1};
  std::int64_t reach = width;
  for (const StrideTerm& term : layout->terms) {
    if (!term.each.empty()) return std::nullopt;
    const auto stride = term.stride
                            ? evaluate(*term.stride, [](const Reference&) { return std::optional<std::int64_t>(); })
                            : std::optional<std::int64_t>(-1);
    if (!stride) return std::nullopt;
    terms.emplace_back(CompiledAffine(term.term, operand.index_names), *stride < 0 ? -1 : *stride * width);
    const auto values = bounds(term.term, ranges);
    if (*stride > 0 && values) reach += *stride * width * values->high;
  }
  const std::int64_t free = round_up(reach, std::max(operand.align, operand.align_buffer));
  OperandConflicts result;
  std::map<Box, std::vector<std::int64_t>> by_group;
  Box point(box.size(), 0);
  for (std::int64_t p = 0; p < points; ++p) {
    std::int64_t at = 0;
    for (const auto& [term, stride] : terms) at += term(point.data()) * (stride < 0 ? free : stride);
    Box group = point;
    for (std::size_t d = 0; d < group.size(); ++d) group[d] /= operand.at_once[d];
    for (std::int64_t b = 0; b < width; ++b) by_group[group].push_back(at + b);
    advance(point, box);
  }
  for (const auto& [term, stride] : terms)
    if (stride < 0) result.free_stride = free;
  const std::int64_t span = layout->swizzle ? std::int64_t{1} << (layout->swizzle->from + layout->swizzle->bits) : 1;
  const std::int64_t step = std::max<std::int64_t>(operand.align, 1);
  result.starts = std::max<std::int64_t>(1, std::min(span, operand.align_buffer) / step);
  for (std::int64_t s = 0; s < result.starts; ++s) {
    std::vector<std::vector<std::int64_t>> groups;
    for (const auto& [group, bytes] : by_group) {
      groups.emplace_back();
      for (const std::int64_t byte : bytes) groups.back().push_back(swizzled(layout->swizzle, byte + s * step));
    }
    result.degree = std::max(result.degree, conflict_degree(memory, groups));
  }
  return result;
}

}  // namespace isamap

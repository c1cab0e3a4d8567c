// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/nest_rows.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "backends/cuda/loop_substitution.h"
#include "ir/operand_use.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

constexpr std::int64_t most_rows = 1 << 20;  // that are tested one by one

/// Nothing: it holds something else than loops without units and element statements in memory of all blocks.
class NestReader {
 public:
  NestReader(const Program& program, const HardwareModel& model, UnitId grid)
      : program_(program), model_(model), grid_(grid) {}

  std::optional<NestToStitch> read(const Node& node) const {
    NestToStitch nest;
    const auto* at = std::get_if<Loop>(&node.is);
    if (at == nullptr && !std::holds_alternative<Element>(node.is)) return std::nullopt;
    if (at == nullptr) nest.body = {node};
    if (at != nullptr && !at->unit.empty()) return std::nullopt;
    for (; at != nullptr;) {
      if (at->trip <= 0) return std::nullopt;  // nothing to compute; ranges would be empty
      nest.chain.push_back({at->variable, at->trip, at->unroll, "", {}});
      const Loop* next = at->body.size() == 1 ? std::get_if<Loop>(&at->body[0].is) : nullptr;
      if (next == nullptr || !next->unit.empty()) nest.body = at->body;
      at = next != nullptr && next->unit.empty() ? next : nullptr;
    }
    Ranges ranges;
    for (const Loop& loop : nest.chain) ranges[loop.variable] = {0, loop.trip - 1};
    if (!collect(nest.body, ranges, nest)) return std::nullopt;
    count(nest);
    return nest;
  }

 private:
  bool note(const Ref& ref, bool written, const Ranges& ranges, NestToStitch& nest) const {
    if (!ref.buffer.valid()) return false;
    const Buffer& buffer = program_.buffers[ref.buffer.index()];
    if (buffer.slots >= 0 || model_.inside(model_.memory(buffer.memory).per, grid_)) return false;
    for (const AffineExpr& e : ref.index)
      for (const std::string& name : e.names())
        if (!ranges.contains(name)) {  // a computed place
          if (written) return false;
          nest.accesses.push_back({ref.buffer, false, AffineExpr::dim("anywhere"), {}});
          return true;
        }
    nest.accesses.push_back({ref.buffer, written, element_offset(buffer, ref, ranges), ranges});
    return true;
  }

  bool collect(const std::vector<Node>& nodes, const Ranges& ranges, NestToStitch& nest) const {
    return std::all_of(nodes.begin(), nodes.end(), [&](const Node& node) {
      return std::visit(overloaded{[&](const Loop& loop) {
                                     Ranges inside = ranges;
                                     inside[loop.variable] = {0, loop.trip - 1};
                                     return loop.unit.empty() && loop.trip > 0 && collect(loop.body, inside, nest);
                                   },
                                   [&](const Guard& guard) {
                                     return guard.role.empty() && collect(guard.then, ranges, nest) &&
                                            collect(guard.otherwise, ranges, nest);
                                   },
                                   [&](const Element& element) {
                                     return note(element.write, true, ranges, nest) &&
                                            std::all_of(
                                                element.reads.begin(), element.reads.end(),
                                                [&](const Ref& read) { return note(read, false, ranges, nest); });
                                   },
                                   [](const Comment&) { return true; }, [](const auto&) { return false; }},
                        node.is);
    });
  }

  static std::int64_t points(const std::vector<Node>& nodes) {
    std::int64_t sum = 0;
    for (const Node& node : nodes)
      sum += std::visit(
          overloaded{[](const Loop& loop) { return loop.trip * points(loop.body); },
                     [](const Guard& guard) { return points(guard.then) + points(guard.otherwise); },
                     [](const Element&) { return std::int64_t{1}; }, [](const auto&) { return std::int64_t{0}; }},
          node.is);
    return sum;
  }

  static void count(NestToStitch& nest) {
    std::set<std::string> apart;
    for (const NestAccess& access : nest.accesses)
      if (access.written) apart.merge(access.offset.names());
    for (const Loop& loop : nest.chain) {
      nest.points *= loop.trip;
      if (apart.contains(loop.variable)) nest.elements *= loop.trip;
      if (loop.trip > 1 && !apart.contains(loop.variable)) nest.reduces = true;
    }
    nest.points *= points(nest.body);
    nest.reduces |= std::any_of(nest.body.begin(), nest.body.end(), [](const Node& node) {
      return std::holds_alternative<Loop>(node.is);  // sums inside of a body
    });
  }

  const Program& program_;
  const HardwareModel& model_;
  UnitId grid_;
};

/// Parts of an offset: `base` in the row alone, and what the other loops add.
struct RowOffset {
  AffineExpr base;
  Interval rest;
  std::int64_t step = 0;  ///< all of the rest are multiples of it, from `rest.low` on
};

class RowTest {
 public:
  explicit RowTest(std::int64_t rows) : rows_(rows) {}

  /// Does each row have places of its own in every buffer that one of the nests writes?
  bool independent(const std::vector<const NestToStitch*>& nests) const {
    std::map<std::int32_t, std::vector<RowOffset>> places;
    std::set<std::int32_t> written;
    for (const NestToStitch* nest : nests)
      for (const NestAccess& access : nest->accesses)
        if (access.written) written.insert(access.buffer.value);
    for (const NestToStitch* nest : nests)
      for (const NestAccess& access : nest->accesses) {
        if (!written.contains(access.buffer.value)) continue;
        const auto place = split(*nest, access);
        if (!place) return false;
        places[access.buffer.value].push_back(*place);
      }
    return std::all_of(places.begin(), places.end(), [&](const auto& one) { return apart(one.second); });
  }

 private:
  std::optional<RowOffset> split(const NestToStitch& nest, const NestAccess& access) const {
    const std::vector<Loop> loops = rows_of(nest, rows_);
    Ranges ranges = access.ranges;
    if (ranges.empty() && !access.offset.is_constant()) return std::nullopt;
    ranges[row] = {0, rows_ - 1};
    const AffineExpr offset =
        simplify(substitute(access.offset, numbers_of(loops, AffineExpr::dim(row), ranges)), ranges);
    const auto parts = split_offset(offset, row);
    const auto range = parts ? bounds(parts->rest, ranges) : std::nullopt;
    if (!range) return std::nullopt;
    RowOffset made{parts->base, *range};
    for (const AffineTerm& term : parts->rest.terms()) made.step = std::gcd(made.step, term.coefficient);
    return made;
  }

  bool apart(const std::vector<RowOffset>& places) const {
    if (rows_ == 1) return true;
    Interval rest = places[0].rest;
    std::int64_t step = 0;
    for (const RowOffset& place : places) {
      if (place.base != places[0].base) return false;
      step = std::gcd(std::gcd(step, place.step), place.rest.low - places[0].rest.low);
      rest = {std::min(rest.low, place.rest.low), std::max(rest.high, place.rest.high)};
    }
    const std::int64_t distance = places[0].base.coefficient(row);
    if (places[0].base == AffineExpr::dim(row) * distance && std::abs(distance) > rest.high - rest.low) return true;
    if (rows_ > most_rows) return false;
    std::vector<std::int64_t> begins;
    for (std::int64_t r = 0; r < rows_; ++r) begins.push_back(evaluate(places[0].base, {{row, r}}));
    std::sort(begins.begin(), begins.end());
    std::int64_t nearest = INT64_MAX;
    for (std::size_t i = 1; i < begins.size(); ++i) nearest = std::min(nearest, begins[i] - begins[i - 1]);
    if (nearest > rest.high - rest.low) return true;
    return nearest > 0 && step > 0 && begins.back() - begins.front() < step;  // interleaved: columns
  }

  static constexpr const char* row = "row";
  std::int64_t rows_;
};

}  // namespace

std::optional<NestToStitch> read_nest(const Node& node, const Program& program, const HardwareModel& model,
                                      UnitId grid) {
  return NestReader(program, model, grid).read(node);
}

std::set<std::int64_t> row_counts(const NestToStitch& nest) {
  std::set<std::int64_t> counts = {1};
  std::int64_t product = 1;
  for (const Loop& loop : nest.chain) counts.insert(product *= loop.trip);
  return counts;
}

std::vector<Loop> rows_of(const NestToStitch& nest, std::int64_t rows) {
  std::vector<Loop> loops;
  std::int64_t product = 1;
  for (const Loop& loop : nest.chain) {
    if (product == rows && (rows > 1 || loop.trip > 1)) break;
    loops.push_back(loop);
    product *= loop.trip;
  }
  return loops;
}

bool independent_rows(std::int64_t rows, const std::vector<const NestToStitch*>& nests) {
  return RowTest(rows).independent(nests);
}

}  // namespace isamap

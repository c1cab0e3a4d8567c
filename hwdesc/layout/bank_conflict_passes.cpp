// SPDX-License-Identifier: Apache-2.0
#include "hwdesc/layout/bank_conflict_passes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "hwdesc/layout/bank_conflicts.h"
#include "hwdesc/layout/per_lane_addresses.h"
#include "support/arithmetic.h"
#include "support/box.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

constexpr std::int64_t most_tried = 1 << 14;  // iterations of the loops of one part of an offset

using Trips = std::map<std::string, std::int64_t>;

/// Parts of a sum without common loops.
std::vector<AffineExpr> independent_parts(const AffineExpr& sum) {
  std::vector<std::pair<std::set<std::string>, AffineExpr>> parts;
  for (const AffineTerm& term : sum.terms()) {
    AffineExpr merged;
    if (const auto* name = std::get_if<std::string>(&term.atom))
      merged += AffineExpr::dim(*name) * term.coefficient;
    else
      merged +=
          floordiv(*std::get<FloorDiv>(term.atom).numerator, std::get<FloorDiv>(term.atom).divisor) * term.coefficient;
    std::set<std::string> names;
    for (const std::string& name : merged.names()) names.insert(name);
    for (std::size_t p = 0; p < parts.size();) {
      const bool meet =
          std::any_of(names.begin(), names.end(), [&](const auto& n) { return parts[p].first.contains(n); });
      if (!meet) {
        ++p;
        continue;
      }
      names.insert(parts[p].first.begin(), parts[p].first.end());
      merged += parts[p].second;
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(p));
    }
    parts.emplace_back(std::move(names), std::move(merged));
  }
  std::vector<AffineExpr> out;
  for (auto& [names, part] : parts) out.push_back(std::move(part));
  return out;
}

/// The values of an offset modulo `period`. Nothing: too many iterations to enumerate.
std::optional<std::set<std::int64_t>> places_of(const AffineExpr& offset, std::int64_t scale, const Trips& trips,
                                                std::int64_t period) {
  std::set<std::int64_t> places{floor_mod(offset.constant() * scale, period)};
  for (const AffineExpr& part : independent_parts(offset)) {
    std::vector<std::string> names;
    Box box;
    std::int64_t points = 1;
    for (const std::string& name : part.names()) {
      const auto trip = trips.find(name);
      if (trip == trips.end()) return std::nullopt;
      names.push_back(name);
      box.push_back(std::max<std::int64_t>(trip->second, 1));
      points = checked_mul(points, box.back()).value_or(most_tried + 1);
      if (points > most_tried) return std::nullopt;
    }
    const CompiledAffine value(part, names);
    std::set<std::int64_t> values, both;
    Box at(box.size(), 0);
    for (std::int64_t p = 0; p < points; ++p) {
      values.insert(floor_mod(value(at.data()) * scale, period));
      advance(at, box);
    }
    for (const std::int64_t a : places)
      for (const std::int64_t b : values) both.insert(floor_mod(a + b, period));
    places = std::move(both);
  }
  return places;
}

class CallsOfRows {
 public:
  CallsOfRows(const Program& program, const HardwareModel& model) : program_(program), model_(model) {}

  void visit(const std::vector<Node>& nodes) {
    for (const Node& node : nodes)
      std::visit(overloaded{[&](const Loop& loop) {
                              trips_[loop.variable] = loop.trip;
                              if (loop.trip > 0) visit(loop.body);
                            },
                            [&](const Guard& guard) {
                              visit(guard.then);
                              visit(guard.otherwise);
                            },
                            [&](const Call& call) { note(call); }, [](const auto&) {}},
                 node.is);
  }
  std::vector<CallPasses> found;

 private:
  void note(const Call& call) {
    const Instruction& instruction = model_.instruction(call.instruction);
    if (instruction.semantics.size() != 1) return;
    for (std::size_t a = 0; a < call.operands.size(); ++a) {
      const Ref& ref = call.operands[a];
      if (!ref.buffer.valid()) continue;
      const Buffer& buffer = program_.buffers[ref.buffer.index()];
      const Memory& memory = model_.memory(buffer.memory);
      if (buffer.slots >= 0 || memory.banks < 1 || memory.bank_width < 1) continue;
      if (const auto passes = passes_of(call, instruction, static_cast<int>(a), buffer, memory)) {
        const CallPasses now{call.instruction, ref.buffer, a == 0, passes->first, passes->second};
        const auto known = std::find_if(found.begin(), found.end(), [&](const CallPasses& f) {
          return f.instruction == now.instruction && f.buffer == now.buffer && f.written == now.written;
        });
        if (known == found.end())
          found.push_back(now);
        else if (now.passes - now.least > known->passes - known->least)
          *known = now;
      }
    }
  }

  /// Passes of the worst position, and the least possible.
  std::optional<std::pair<std::int64_t, std::int64_t>> passes_of(const Call& call, const Instruction& instruction,
                                                                 int access, const Buffer& buffer,
                                                                 const Memory& memory) const {
    const AffineExpr offset = flat_offset(buffer, call.operands[static_cast<std::size_t>(access)].index);
    const auto steps = per_lane_offsets(instruction, access, call.extents, offset);
    const auto row_elements = row_of(instruction, access, call.extents);
    if (!steps || !row_elements) return std::nullopt;
    std::map<std::string, AffineExpr> first;
    for (const Dim& dim : instruction.statement().domain.dims) first["$" + dim.name] = AffineExpr(0);
    const std::int64_t width = bytes(buffer.dtype), row = memory.banks * memory.bank_width;
    const std::int64_t period = std::max(row, buffer.swizzle ? buffer.swizzle->period() : 1);
    const auto places = places_of(substitute(offset, first), width, trips_, period);
    if (!places) return std::nullopt;
    const std::int64_t own = std::ssize(*row_elements) * width;
    std::int64_t together = 1;
    while (2 * together * own <= row) together *= 2;
    std::pair<std::int64_t, std::int64_t> worst{0, 0};
    for (const std::int64_t place : *places) {
      std::pair<std::int64_t, std::int64_t> now{0, 0};
      for (std::int64_t p = 0; p < std::ssize(*steps); p += together) {
        std::vector<std::int64_t> touched;
        for (std::int64_t q = p; q < std::min(p + together, std::ssize(*steps)); ++q)
          for (const std::int64_t element : *row_elements)
            for (std::int64_t b = 0; b < width; ++b)
              touched.push_back(
                  buffer.address +
                  swizzled(buffer.swizzle, place + ((*steps)[static_cast<std::size_t>(q)] + element) * width + b));
        now.first += conflict_degree(memory, {touched});
        ++now.second;
      }
      if (now.first > worst.first) worst = now;
    }
    return worst;
  }

  /// Elements after each instance's address.
  static std::optional<std::set<std::int64_t>> row_of(const Instruction& instruction, int access,
                                                      const std::vector<std::int64_t>& extents) {
    const auto* layout =
        std::get_if<StridedLayout>(&instruction.operands[operand_of_access(instruction, access).index()].layout);
    if (layout == nullptr || layout->swizzle) return std::nullopt;
    AffineExpr row_elements;
    for (const StrideTerm& term : layout->terms) {
      if (!term.each.empty()) continue;
      const auto stride = term.stride
                              ? evaluate(*term.stride, [](const Reference&) { return std::optional<std::int64_t>(); })
                              : std::nullopt;
      if (!stride) return std::nullopt;
      row_elements += in_points(term, access_of(instruction.statement(), access)) * *stride;
    }
    std::vector<std::string> names;
    for (const Dim& dim : instruction.statement().domain.dims) names.push_back("$" + dim.name);
    const CompiledAffine value(row_elements, names);
    std::set<std::int64_t> elements;
    Box box(extents.begin(), extents.end()), point(extents.size(), 0);
    std::int64_t points = 1;
    for (const std::int64_t extent : box) points *= extent;
    for (std::int64_t p = 0; p < points; ++p) {
      elements.insert(value(point.data()));
      advance(point, box);
    }
    if (elements.empty()) return std::nullopt;
    return elements;
  }

  const Program& program_;
  const HardwareModel& model_;
  Trips trips_;
};

}  // namespace

std::vector<CallPasses> call_passes(const Program& program, const HardwareModel& model) {
  CallsOfRows calls(program, model);
  calls.visit(program.prepack);
  calls.visit(program.body);
  return calls.found;
}

}  // namespace isamap

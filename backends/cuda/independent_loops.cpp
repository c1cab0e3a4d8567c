// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/independent_loops.h"

#include <algorithm>
#include <iterator>
#include <variant>

#include "ir/operand_use.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

/// False: a use has no offset.
bool collect(const std::vector<Node>& nodes, const Program& program, const HardwareModel& model, Ranges& ranges,
             OffsetUses& found) {
  const auto note = [&](const Ref& ref, bool written, const Ranges& inside) {
    if (!ref.buffer.valid()) return true;
    const Buffer& buffer = program.buffers[ref.buffer.index()];
    if (buffer.slots >= 0) return false;
    found[ref.buffer.value].push_back({element_offset(buffer, ref, inside), written});
    return true;
  };
  for (const Node& node : nodes) {
    const bool fine = std::visit(overloaded{[&](const Loop& l) {
                                              ranges[l.variable] = {0, l.trip - 1};
                                              return collect(l.body, program, model, ranges, found);
                                            },
                                            [&](const Guard& g) {
                                              return collect(g.then, program, model, ranges, found) &&
                                                     collect(g.otherwise, program, model, ranges, found);
                                            },
                                            [&](const Call& c) {
                                              const Instruction& instruction = model.instruction(c.instruction);
                                              const Ranges inside = ranges_of_call(ranges, instruction, c);
                                              for (const auto& [name, range] : inside) ranges.try_emplace(name, range);
                                              for (std::size_t i = 0; i < c.operands.size(); ++i)
                                                if (!note(c.operands[i], i == 0, inside)) return false;
                                              return true;
                                            },
                                            [&](const Element& e) {
                                              if (!note(e.write, true, ranges)) return false;
                                              return std::all_of(e.reads.begin(), e.reads.end(),
                                                                 [&](const Ref& r) { return note(r, false, ranges); });
                                            },
                                            [](const auto&) { return true; }},
                                 node.is);
    if (!fine) return false;
  }
  return true;
}

/// All accesses have the same L in `chosen`, and L's values lie further apart than what is left spans.
bool disjoint(const std::vector<OffsetUse>& list, const std::set<std::string>& chosen, const std::vector<Loop>& nest,
              const Ranges& ranges, const Ranges& around) {
  std::optional<std::map<std::string, std::int64_t>> linear;
  std::optional<AffineExpr> fixed;  // terms in variables of loops around: the same for all iterations
  std::int64_t low = 0, high = 0;
  bool any = false;
  for (const OffsetUse& access : list) {
    std::map<std::string, std::int64_t> mine;
    AffineExpr rest = access.offset;
    for (const AffineTerm& term : access.offset.terms())
      if (const auto* name = std::get_if<std::string>(&term.atom); name && chosen.contains(*name)) {
        mine[*name] += term.coefficient;
        rest = rest - AffineExpr::dim(*name) * term.coefficient;
      }
    for (const std::string& name : rest.names())
      if (chosen.contains(name)) return false;  // under a division
    AffineExpr outer;
    for (const AffineTerm& term : rest.terms()) {
      const AffineExpr one = std::visit(overloaded{[](const std::string& name) { return AffineExpr::dim(name); },
                                                   [](const FloorDiv& f) { return floordiv(*f.numerator, f.divisor); }},
                                        term.atom) *
                             term.coefficient;
      const auto in = one.names();
      if (std::all_of(in.begin(), in.end(), [&](const std::string& name) { return around.contains(name); }))
        outer += one;
    }
    rest = rest - outer;
    if ((linear && *linear != mine) || (fixed && *fixed != outer)) return false;
    linear = mine;
    fixed = outer;
    const auto range = bounds(rest, ranges);
    if (!range) return false;
    low = any ? std::min(low, range->low) : range->low;
    high = any ? std::max(high, range->high) : range->high;
    any = true;
  }
  if (!linear || linear->size() != chosen.size()) return false;
  std::vector<std::pair<std::int64_t, std::int64_t>> digits;  // distance, trip
  for (const Loop& l : nest)
    if (const auto found = linear->find(l.variable); found != linear->end())
      digits.emplace_back(found->second < 0 ? -found->second : found->second, l.trip);
  std::sort(digits.begin(), digits.end());
  std::int64_t span = high - low + 1;
  for (const auto& [distance, trip] : digits) {
    if (distance < span) return false;
    span += distance * (trip - 1);
  }
  return true;
}

}  // namespace

bool only_elements(const std::vector<Node>& nodes, const HardwareModel& model, UnitId unit) {
  return std::all_of(nodes.begin(), nodes.end(), [&](const Node& node) {
    return std::visit(
        overloaded{[&](const Loop& l) { return l.unit.empty() && only_elements(l.body, model, unit); },
                   [&](const Guard& g) {
                     return only_elements(g.then, model, unit) && only_elements(g.otherwise, model, unit);
                   },
                   [&](const Call& c) { return model.instruction(c.instruction).unit == unit && c.masks.empty(); },
                   [](const Sync&) { return false; }, [](const auto&) { return true; }},
        node.is);
  });
}

std::optional<OffsetUses> offset_uses(const std::vector<Node>& nodes, const Program& program,
                                      const HardwareModel& model, Ranges& ranges) {
  OffsetUses found;
  if (!collect(nodes, program, model, ranges, found)) return std::nullopt;
  return found;
}

std::set<std::string> independent_loops(const std::vector<Loop>& nest, const OffsetUses& uses, const Ranges& ranges,
                                        const Ranges& around) {
  std::set<std::string> names;
  for (const Loop& l : nest) names.insert(l.variable);
  bool first = true;
  std::set<std::string> chosen;
  for (const auto& [buffer, list] : uses) {
    if (std::none_of(list.begin(), list.end(), [](const OffsetUse& a) { return a.written; })) continue;
    for (const OffsetUse& access : list) {
      std::set<std::string> here;
      for (const std::string& name : access.offset.names())
        if (names.contains(name)) here.insert(name);
      if (first) chosen = here;
      first = false;
      std::set<std::string> both;
      std::set_intersection(chosen.begin(), chosen.end(), here.begin(), here.end(), std::inserter(both, both.end()));
      chosen = std::move(both);
    }
  }
  for (const auto& [buffer, list] : uses)
    if (std::any_of(list.begin(), list.end(), [](const OffsetUse& a) { return a.written; }) &&
        !disjoint(list, chosen, nest, ranges, around))
      return {};
  return chosen;
}

}  // namespace isamap

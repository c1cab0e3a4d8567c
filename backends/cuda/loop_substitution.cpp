// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/loop_substitution.h"

#include "ir/operand_use.h"
#include "support/overloaded.h"

namespace isamap {

Values numbers_of(const std::vector<Loop>& loops, const AffineExpr& number, const Ranges& ranges) {
  Values values;
  std::int64_t inner = 1;
  for (std::size_t i = loops.size(); i-- > 0;) {
    AffineExpr value = floordiv(number, inner);
    if (i > 0) value = mod(value, loops[i].trip);
    values[loops[i].variable] = simplify(value, ranges);
    inner *= loops[i].trip;
  }
  return values;
}

namespace {

Ref with_values(const Ref& ref, const Values& values, const Ranges& ranges) {
  Ref out{ref.buffer, {}};
  for (const AffineExpr& e : ref.index) out.index.push_back(simplify(substitute(e, values), ranges));
  return out;
}

}  // namespace

std::vector<Node> with_values(const std::vector<Node>& nodes, const Values& values, Ranges ranges,
                              const HardwareModel& model) {
  std::vector<Node> out = nodes;
  for (Node& node : out)
    std::visit(overloaded{[&](Loop& l) {
                            ranges[l.variable] = {0, l.trip - 1};
                            l.body = with_values(l.body, values, ranges, model);
                          },
                          [&](Guard& g) {
                            for (AffineExpr& e : g.conditions) e = simplify(substitute(e, values), ranges);
                            g.then = with_values(g.then, values, ranges, model);
                            g.otherwise = with_values(g.otherwise, values, ranges, model);
                          },
                          [&](Call& c) {
                            const Ranges inside = ranges_of_call(ranges, model.instruction(c.instruction), c);
                            for (Ref& r : c.operands)
                              r = with_values(r, values,
                                              &r == &c.operands[0]
                                                  ? ranges_of_call(ranges, model.instruction(c.instruction), c, 0)
                                                  : inside);
                          },
                          [&](Element& e) {
                            e.write = with_values(e.write, values, ranges);
                            for (Ref& r : e.reads) r = with_values(r, values, ranges);
                          },
                          [](auto&) {}},
               node.is);
  return out;
}

std::optional<OffsetParts> split_offset(const AffineExpr& offset, const std::string& variable) {
  OffsetParts parts;
  for (const AffineTerm& term : offset.terms()) {
    const AffineExpr one = std::visit(overloaded{[](const std::string& name) { return AffineExpr::dim(name); },
                                                 [](const FloorDiv& f) { return floordiv(*f.numerator, f.divisor); }},
                                      term.atom) *
                           term.coefficient;
    const auto names = one.names();
    if (!names.contains(variable)) continue;
    if (names.size() > 1) return std::nullopt;
    parts.base += one;
  }
  parts.rest = offset - parts.base;
  return parts;
}

}  // namespace isamap

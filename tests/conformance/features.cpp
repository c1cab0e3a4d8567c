// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/features.h"

#include "support/overloaded.h"

namespace isamap::conformance {
namespace {

void add(const ScalarExpr& e, std::set<std::string>& out) {
  const int operation =
      std::visit(overloaded{[](const Unary& u) { return static_cast<int>(u.op); },
                            [](const Binary& b) { return static_cast<int>(b.op); },
                            [](const Cast& c) { return static_cast<int>(c.saturate); }, [](const auto&) { return 0; }},
                 e.op);
  out.insert(std::to_string(e.op.index()) + " " + std::to_string(operation) + " " + std::string(name(e.type)) +
             " by itself");
  for (const ScalarExpr& arg : e.args) add(arg, out);
}

void add(const std::vector<Node>& nodes, const HardwareModel& model, std::set<std::string>& out) {
  for (const Node& node : nodes)
    std::visit(overloaded{
                   [&](const Loop& loop) { add(loop.body, model, out); },
                   [&](const Guard& guard) {
                     out.insert("guard");
                     add(guard.then, model, out);
                     add(guard.otherwise, model, out);
                   },
                   [&](const Call& call) {
                     const Instruction& instruction = model.instruction(call.instruction);
                     bool edge = false;
                     for (std::size_t d = 0; d < call.extents.size(); ++d)
                       edge = edge || call.extents[d] < instruction.ranges[d].max;
                     out.insert(instruction.name + (edge ? " at an edge" : ""));
                   },
                   [&](const Element& element) { add(element.body, out); },
                   [](const auto&) {},
               },
               node.is);
}

}  // namespace

std::set<std::string> features(const Program& program, const HardwareModel& model) {
  std::set<std::string> out;
  if (!program.prepack.empty()) out.insert("packed ahead of time");
  add(program.prepack, model, out);
  add(program.body, model, out);
  return out;
}

}  // namespace isamap::conformance

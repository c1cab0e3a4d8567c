// SPDX-License-Identifier: Apache-2.0
#include "verify/case_state.h"

#include "backends/assembly/printer.h"
#include "hwdesc/model/program_language.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

bool same_operation(const Instruction& a, const Instruction& b) {
  return a.unit == b.unit && a.tensors == b.tensors && a.semantics == b.semantics && a.operands == b.operands &&
         a.ranges == b.ranges && a.start == b.start;
}

/// Inserts `first` with the same operands before every call of the instruction. False: a call adds to its old output.
bool put_before(std::vector<Node>& nodes, InstructionId instruction, InstructionId first, const HardwareModel& model) {
  std::vector<Node> made;
  bool fits = true;
  for (Node& node : nodes) {
    std::visit(overloaded{[&](Loop& loop) { fits = fits && put_before(loop.body, instruction, first, model); },
                          [&](Guard& guard) {
                            fits = fits && put_before(guard.then, instruction, first, model) &&
                                   put_before(guard.otherwise, instruction, first, model);
                          },
                          [&](const Call& call) {
                            if (call.instruction != instruction) return;
                            fits = fits && (call.start == Start::zero ||
                                            model.instruction(instruction).statement().reduction == Reduction::assign);
                            made.push_back(Node{call});
                            std::get<Call>(made.back().is).instruction = first;
                          },
                          [](const auto&) {}},
               node.is);
    made.push_back(std::move(node));
  }
  nodes = std::move(made);
  return fits;
}

}  // namespace

std::string settle_state(InstructionCase& one, const HardwareModel& model) {
  if (!is_command_stream(model)) return "";
  const auto made = program_of({one}, model);
  if (!made) return made.diagnostics().front().message;
  const auto text = print_assembly(made->program, model);
  if (text) return "";
  const Instruction& own = model.instruction(one.instruction);
  for (std::size_t i = 0; i < model.instructions().size(); ++i) {
    const Instruction& other = model.instructions()[i];
    const auto id = make_id<InstructionId>(i);
    if (id == one.instruction || other.sets.empty() || is_setter(other) || !same_operation(own, other)) continue;
    Program program = made->program;
    if (!put_before(program.body, one.instruction, id, model) || !print_assembly(program, model)) continue;
    one.program = std::move(program);
    one.uses.insert(i);
    return "";
  }
  return text.diagnostics().front().message;
}

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
// A stream of commands is decoded from its text or its words: all differences between two uses of a command must be
// printed, or be in a state that the command needs.

#include <algorithm>

#include "hwdesc/load/loader_internal.h"
#include "hwdesc/model/encodable_values.h"
#include "hwdesc/model/program_language.h"

namespace isamap::loader {
namespace {

std::vector<Reference> encoded_references(const Instruction& instruction) {
  std::vector<Reference> all;
  const auto add = [&](const IntExpr& e) {
    for (Reference& r : references(e)) all.push_back(std::move(r));
  };
  for (const Template* text : {&instruction.emit, &instruction.assembly})
    for (const auto& part : text->parts)
      if (const auto* placeholder = std::get_if<Placeholder>(&part)) add(placeholder->expr);
  for (const auto* use : {&instruction.encoding, &instruction.pack})
    if (*use)
      for (const auto& [field, value] : (*use)->fields) add(value);
  for (const StateValue& need : instruction.needs) add(need.value);
  return all;
}

class Printed {
 public:
  Printed(const Instruction& instruction, const Node& node, Context& context)
      : instruction_(instruction), encoded_(encoded_references(instruction)), context_(context) {
    const Node* emit = node.find("emit");
    where_ = emit ? emit->where : instruction.where;
    encoding_ = node.find("encoding");
  }

  void run() {
    const std::vector<Dim>& dims = instruction_.statement().domain.dims;
    for (std::size_t m = 0; m < dims.size() && m < instruction_.ranges.size(); ++m) {
      const DimRange& range = instruction_.ranges[m];
      if (!range.fixed() && !range.known_at_compile_time && !has("extent", dims[m].name) && !has("mask", dims[m].name))
        missing("{extent[" + dims[m].name + "]}",
                "dim " + dims[m].name + " takes " + std::to_string(range.min) + " to " + std::to_string(range.max));
    }
    for (const auto& [operand, choices] : instruction_.start)
      if (choices.size() > 1 && !has("start", operand))
        missing("{start[" + operand + "]}", operand + " starts in one of " + std::to_string(choices.size()) + " ways");
    for (const Operand& operand : instruction_.operands) strides(operand);
    addresses();
  }

 private:
  bool has(const std::string& object, const std::string& argument) const {
    return std::any_of(encoded_.begin(), encoded_.end(),
                       [&](const Reference& r) { return r.object == object && r.argument == argument; });
  }

  void strides(const Operand& operand) {
    const auto* strided = std::get_if<StridedLayout>(&operand.layout);
    if (strided == nullptr || !operand.memory.valid() || !operand.object.empty() || operand.pack) return;
    for (const StrideTerm& term : strided->terms)
      if (!term.stride && term.each.empty() && !has(operand.name, term.text))
        missing("{" + operand.name + ".stride[" + term.text + "]}",
                "neighbours along " + term.text + " of " + operand.name + " may be any distance apart");
  }

  void addresses() {
    for (const Operand& operand : instruction_.operands) {
      if (!operand.memory.valid() || !operand.state.empty() || !operand.object.empty() || operand.pack) continue;
      const Memory& memory = context_.parts.memories[operand.memory.index()];
      if ((memory.is_register() && memory.count == 1) || memory.kind == MemoryKind::cache || has_address(operand))
        continue;
      if (!in_word()) {
        // What the text does not mention at all is told where texts are read.
        const bool mentioned =
            std::any_of(encoded_.begin(), encoded_.end(), [&](const Reference& r) { return r.object == operand.name; });
        if (mentioned) missing("{" + operand.name + "}", "its tile may be anywhere in memory '" + memory.name + "'");
        continue;
      }
      context_.problems.warning(encoding_->where,
                                "'encoding' of instruction '" + instruction_.name +
                                    "' has no field with the address of '" + operand.name + "' in memory '" +
                                    memory.name + "'",
                                "write FIELD: " + operand.name + " in it, or give the address by state, in 'needs'");
    }
  }

  /// A command with a word is executed from it: an address printed in the text alone reaches no decoder.
  bool in_word() const { return instruction_.encoding && encoding_ != nullptr; }

  bool has_address(const Operand& operand) const {
    const auto gives = [&](const Reference& r) { return r.object == operand.name && is_position(r); };
    if (!in_word()) return std::any_of(encoded_.begin(), encoded_.end(), gives);
    const auto told = [&](const IntExpr& e) {
      const auto all = references(e);
      return std::any_of(all.begin(), all.end(), gives);
    };
    const auto& fields = instruction_.encoding->fields;
    return std::any_of(fields.begin(), fields.end(), [&](const auto& field) { return told(field.second); }) ||
           std::any_of(instruction_.needs.begin(), instruction_.needs.end(),
                       [&](const StateValue& need) { return told(need.value); });
  }

  void missing(const std::string& what, const std::string& why) {
    context_.problems.warning(
        where_, "the command of instruction '" + instruction_.name + "' does not encode " + what + ": " + why,
        "write it in 'emit' or 'encoding', or let a state tell it, by 'needs'");
  }

  const Instruction& instruction_;
  std::vector<Reference> encoded_;
  Context& context_;
  SourceLocation where_;
  const Node* encoding_ = nullptr;
};

/// A field that a setter sets but does not print keeps its old value.
void check_set_values(const Instruction& instruction, const Node& node, Context& context) {
  const std::vector<Reference> said = encoded_references(instruction);
  for (const StateValue& set : instruction.sets) {
    const bool says = std::any_of(said.begin(), said.end(), [&](const Reference& r) {
      return (r.property.empty() ? r.object : r.object + "." + r.property) == set.field;
    });
    if (set.any && !says)
      context.problems.warning(
          place_of(node, {"sets"}),
          "the text of instruction '" + instruction.name + "' does not print the value of '" + set.field + "'",
          "write {" + set.field + "} in 'emit', or give the field in 'encoding' or 'pack'");
  }
}

}  // namespace

void check_printed(const Instruction& instruction, const Node& node, Context& context) {
  check_set_values(instruction, node, context);
  const ProgramText& program = context.model.program;
  if (!is_command_stream(program) || !program.simulator.command.empty() || instruction.semantics.size() != 1) return;
  Printed(instruction, node, context).run();
}

void check_moved_types(Context& context) {
  if (!is_command_stream(context.model) || context.parts.instructions.size() > 512) return;
  for (const Instruction& move : context.parts.instructions)
    if (is_move(move) && !moved_type(move, context.parts.instructions))
      context.problems.warning(
          move.where, "instruction '" + move.name + "' moves elements of any type, which its command does not tell",
          "give an operand a dtype; `variants` has a row for each type");
}

}  // namespace isamap::loader

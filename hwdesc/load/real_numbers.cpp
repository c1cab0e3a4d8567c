// SPDX-License-Identifier: Apache-2.0
// Numbers that are not integers: state fields and constants of a real dtype.
//
// Expressions are integers, so a real number is represented by its bits. A placeholder that is its name alone prints
// the number, {scale} = 0.25; `bits(scale)` is those bits, 0x3e800000 of an f32. Sums with the name itself would be
// sums of bits, never intended: they are refused.

#include <algorithm>

#include "hwdesc/load/loader_internal.h"
#include "hwdesc/model/encodable_values.h"

namespace isamap::loader {

namespace {

const StateField* field_named(const std::vector<StateField>& fields, const std::string& name) {
  const auto found = std::find_if(fields.begin(), fields.end(), [&](const StateField& f) { return f.name == name; });
  return found == fields.end() ? nullptr : &*found;
}

class Reals {
 public:
  Reals(const Instruction& instruction, const Node& entry, Context& context)
      : instruction_(instruction), entry_(entry), context_(context) {}

  /// `st.scale`, `C.scale` of a register, a constant `X`.
  std::optional<DType> type_of(const Reference& r) const {
    if (!r.argument.empty()) return std::nullopt;
    for (const Operand& operand : instruction_.operands) {
      if (operand.name != r.object) continue;
      if (operand.memory.valid())
        return real_type(field_named(context_.parts.memories[operand.memory.index()].fields, r.property));
      const bool constant = r.property.empty() && (!operand.state.empty() || !operand.immediate.empty());
      return constant && operand.dtype && is_float(*operand.dtype) ? operand.dtype : std::nullopt;
    }
    return field_type(r.object, r.property);
  }

  void take(Template& text, const std::string& key) const {
    for (auto& part : text.parts)
      if (auto* placeholder = std::get_if<Placeholder>(&part)) {
        SourceLocation where = place_of(entry_, {key});
        if (const Node* node = entry_.find(key)) where = text_where(*node);
        where.column += placeholder->offset;
        const bool pattern = placeholder->expr.op == IntExpr::Op::bits;
        take(placeholder->expr, where);
        if (pattern && placeholder->expr.op == IntExpr::Op::reference)  // alone it prints the number
          placeholder->expr = sum(placeholder->expr, 0);
      }
  }

  /// The value of a state field: of a real one the bits.
  void take_value(StateValue& value, const std::string& key) const {
    if (value.any) return;
    const SourceLocation where = place_of(entry_, {key, value.field});
    const std::size_t dot = std::min(value.field.find('.'), value.field.size());
    const auto field =
        type_of({value.field.substr(0, dot), dot < value.field.size() ? value.field.substr(dot + 1) : "", ""});
    if (field && value.value.op == IntExpr::Op::number && value.value.number != 0 && !written_as_bits(key, value.field))
      context_.problems.error(where,
                              "'" + key + "' of instruction '" + instruction_.name + "' gives '" + value.field +
                                  "', a number of type " + std::string(name(*field)) + ", an integer",
                              "write bits(" + std::to_string(value.value.number) + ".0)");
    take(value.value, where);
  }

  void take(std::optional<FormatUse>& use, const std::vector<std::string>& keys) const {
    if (!use) return;
    for (auto& [field, value] : use->fields) {
      std::vector<std::string> place = keys;
      place.push_back(field);
      take(value, place_of(entry_, place));
    }
  }

  void take(std::optional<IntExpr>& e, const std::vector<std::string>& keys) const {
    if (e) take(*e, place_of(entry_, keys));
  }

 private:
  static IntExpr sum(const IntExpr& a, std::int64_t b) {
    IntExpr number;
    number.number = b;
    IntExpr result;
    result.op = IntExpr::Op::add;
    result.args = {a, number};
    return result;
  }

  static std::optional<DType> real_type(const StateField* field) {
    return field && field->dtype && is_float(*field->dtype) ? field->dtype : std::nullopt;
  }

  std::optional<DType> field_type(const std::string& object, const std::string& property) const {
    if (const State* state = find_state(context_.parts.states, object))
      return real_type(field_named(state->fields, property));
    for (const Memory& memory : context_.parts.memories)
      if (memory.name == object) return real_type(field_named(memory.fields, property));
    return std::nullopt;
  }

  bool written_as_bits(const std::string& key, const std::string& field) const {
    const Node* values = entry_.find(key);
    const Node* value = values ? values->find(field) : nullptr;
    return value && value->scalar.find("bits") != std::string::npos;
  }

  void take(IntExpr& e, const SourceLocation& where) const {
    if (e.op == IntExpr::Op::bits && e.args[0].op == IntExpr::Op::reference && type_of(e.args[0].reference)) {
      IntExpr number = std::move(e.args[0]);
      e = std::move(number);
      return;
    }
    for (IntExpr& arg : e.args) {
      if (arg.op == IntExpr::Op::reference)
        if (const auto type = type_of(arg.reference))
          context_.problems.error(where,
                                  "instruction '" + instruction_.name + "' computes with '" + print(arg) +
                                      "', a number of type " + std::string(name(*type)) + ", in an integer expression",
                                  "bits(" + print(arg) + ") is its bit pattern");
      take(arg, where);
    }
  }

  const Instruction& instruction_;
  const Node& entry_;
  Context& context_;
};

}  // namespace

std::int64_t bits_of_real(DType type, double value) {
  return static_cast<std::int64_t>(encode(type, convert({value, 0}, DType::f64, type, false)));
}

SourceLocation place_of(const Node& entry, const std::vector<std::string>& keys) {
  const Node* at = &entry;
  for (const std::string& key : keys) {
    const Node* next = at->kind == Kind::map ? at->find(key) : nullptr;
    if (next == nullptr) break;
    at = next;
  }
  return at->where;
}

void take_bits_of_reals(Instruction& instruction, const Node& node, Context& context) {
  const Reals reals(instruction, node, context);
  reals.take(instruction.emit, "emit");
  reals.take(instruction.assembly, "asm");
  for (StateValue& need : instruction.needs) reals.take_value(need, "needs");
  for (StateValue& set : instruction.sets) reals.take_value(set, "sets");
  reals.take(instruction.encoding, {"encoding"});
  reals.take(instruction.pack, {"pack"});
  for (Operand& operand : instruction.operands) reals.take(operand.pack, {"operands", operand.name, "pack"});
  reals.take(instruction.timing.latency, {"timing", "latency"});
  reals.take(instruction.timing.interval, {"timing", "interval"});
  reals.take(instruction.async_bytes, {"async", "bytes"});
}

}  // namespace isamap::loader

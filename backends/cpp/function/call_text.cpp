// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/function/call_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "backends/cpp/text/types.h"
#include "backends/encoding/real_number.h"
#include "ir/operand_use.h"

namespace isamap {
namespace {

/// Text of `{pack}`: a number, or the name of an array.
std::string packed_text(const FormatUse& use, const Instruction& instruction, const ValueOf& value_of,
                        CallContext& context) {
  const auto word = encode(use, instruction, context.model, value_of);
  if (!word) {
    context.diagnostics.push_back(word.diagnostics().front());
    return "0";
  }
  return word->bits() <= 64 ? word->hexadecimal() : context.block(*word);
}

/// Escaped for the template string of an extended asm statement.
void add_literal(std::string& text, const std::string& s) {
  for (const char c : s) {
    if (c == '%' || c == '{' || c == '}' || c == '|') text += '%';
    if (c == '"' || c == '\\') text += '\\';
    if (c == '\n')
      text += "\\n\\t";
    else
      text += c;
  }
}

/// Does text that begins so continue inside of the arguments of a template, `store<8, `? An operator has spaces around
/// it.
bool is_template_argument(const std::string& before) {
  std::string open;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const char c = before[i];
    const bool names = i > 0 && (std::isalnum(static_cast<unsigned char>(before[i - 1])) || before[i - 1] == '_');
    if (c == '(' || c == '[' || c == '{' || (c == '<' && names)) open += c;
    if (open.empty()) continue;
    const char closed = open.back() == '(' ? ')' : open.back() == '[' ? ']' : open.back() == '{' ? '}' : '>';
    if (c == closed) open.pop_back();
  }
  return open.find('<') != std::string::npos;
}

class CallText {
 public:
  CallText(const Item& item, const Call& call, CallContext& context)
      : item_(item),
        call_(call),
        context_(context),
        instruction_(context.model.instruction(call.instruction)),
        ranges_(ranges_of_call(item.ranges, instruction_, call)) {}

  std::string statement() {
    std::string text;
    for (const auto& part : instruction_.emit.parts) {
      const auto* p = std::get_if<Placeholder>(&part);
      in_template_ = p != nullptr && is_template_argument(text);
      text += p != nullptr ? placeholder(*p) : std::get<std::string>(part);
    }
    in_template_ = false;
    for (const std::string& dim : largest_)
      if (!limited_.contains(dim))
        context_.diagnostics.push_back(
            error_at(instruction_.where,
                     fmt::format("the text of '{}' has {{extent[{}]}} as a template argument only, and it is "
                                 "not known to the compiler",
                                 instruction_.name, dim)));
    return text;
  }
  std::string inline_assembly();
  std::string text_of(const Placeholder& p) { return placeholder(p); }
  Result<KnownState> needed() const {
    return needed_state(instruction_, context_.model, [&](const Reference& r) { return number_of(r); });
  }

 private:
  std::string placeholder(const Placeholder& p) {
    const auto number = [&](const Reference& r) { return number_of(r); };
    if (p.expr.op == IntExpr::Op::reference) {
      if (const FormatUse* use = packed_by(p.expr.reference, instruction_))
        return packed_text(*use, instruction_, number, context_);
      if (const auto text = text_of(p.expr.reference); !text.empty()) return text;
    }
    if (const auto value = evaluate(p.expr, number)) return number_text(*value, p, instruction_, context_.model);
    context_.diagnostics.push_back(error_at(
        instruction_.where,
        fmt::format("the text of '{}' uses {{{}}}, which has no value in a C++ program", instruction_.name, p.text)));
    return "0";
  }

  const Buffer& buffer(const Place& place) const { return context_.program.buffers[place.buffer.index()]; }

  /// Operands, types and masks; empty when the reference is a number.
  std::string text_of(const Reference& r) {
    if (r.object == "mask" && r.property.empty()) return mask(r.argument);
    if (const auto extent = runtime_extent(r)) return "(" + *extent + ")";
    const int access = access_named(instruction_, call_, r.object);
    if (access < 0) return "";
    const Place& place = item_.places[static_cast<std::size_t>(access)];
    if (place.kind == Place::Kind::immediate) return "";
    switch (property_of(r)) {
      case OperandProperty::none:
        return operand_text(place, access);
      case OperandProperty::type:
        return place.kind == Place::Kind::variable ? variable(place).type
                                                   : element_type(context_.model, buffer(place).dtype);
      case OperandProperty::coord: {
        const auto position = coordinate(access, r.argument);
        return position && !position->is_constant() ? context_.index(*position, ranges_) : "";
      }
      case OperandProperty::pitch:
      case OperandProperty::stride:
        return runtime_stride(r, place, access);
      default:
        return "";
    }
  }
  /// A stride along which arguments count: a sum of numbers times these. Empty: it is a number.
  std::string runtime_stride(const Reference& r, const Place& place, int access) const {
    if (place.strided.empty()) return "";
    const Ranges ranges = ranges_of_call(item_.ranges, instruction_, call_, access);
    const std::int64_t own = property_of(r) == OperandProperty::pitch
                                 ? 1
                                 : bytes(operand_of(instruction_, access).dtype.value_or(buffer(place).dtype));
    const auto along = [&](const AffineExpr& e) {
      return stride_along(e, instruction_, call_, access, r.argument, ranges).value_or(0) * bytes(buffer(place).dtype) /
             std::max<std::int64_t>(own, 1);
    };
    std::string text = std::to_string(along(place.offset));
    for (const auto& [stride, index] : place.strided)
      if (const std::int64_t times = along(index); times != 0) text += fmt::format(" + {} * {}", times, stride);
    return "(" + text + ")";
  }

  std::string extent_text(const RuntimeExtent& extent) const {
    if (extent.most == 0) return extent.count;
    const std::string left = fmt::format("{} - ({})", extent.count, context_.index(extent.first, item_.ranges));
    if (extent.some && extent.most == 2)  // a minimum would hide from compilers that a pair needs no masks
      return fmt::format("({} >= 2 ? 2 : 1)", left);
    return fmt::format("int({0} < 0 ? 0 : {0} < {1} ? {0} : {1})", left, extent.most);
  }
  /// Nothing: the reference is no extent that is known at the call.
  /// As a template argument it is the largest one; the rest of the text must have it too.
  std::optional<std::string> runtime_extent(const Reference& r) const {
    if (context_.numbers == nullptr || r.object != "extent" || !r.property.empty()) return std::nullopt;
    const int d = instruction_.statement().domain.find(r.argument);
    if (d < 0) return std::nullopt;
    const auto found = context_.numbers->extents.find(call_.extents[static_cast<std::size_t>(d)]);
    if (found != context_.numbers->extents.end()) return extent_text(found->second);
    auto edge = up_to_the_edge(static_cast<std::size_t>(d));
    if (edge) (in_template_ ? largest_ : limited_).insert(r.argument);
    return in_template_ ? std::nullopt : edge;
  }
  /// What is left of the written argument along an instruction dim, at most the extent of the call.
  std::optional<std::string> up_to_the_edge(std::size_t d) const {
    const Ref& written = call_.operands[0];
    const auto edges = context_.numbers->edges.find(written.buffer.value);
    if (edges == context_.numbers->edges.end()) return std::nullopt;
    const std::string dim = "$" + instruction_.statement().domain.dims[d].name;
    for (std::size_t axis = 0; axis < written.index.size(); ++axis) {
      const AffineExpr& extent = edges->second[axis];
      if (extent.is_constant() || !written.index[axis].names().contains(dim)) continue;
      const std::string left =
          context_.index(extent - substitute(written.index[axis], {{dim, AffineExpr(0)}}), item_.ranges);
      return fmt::format("({0} < {1} ? {0} : {1})", left, call_.extents[d]);
    }
    return std::nullopt;
  }

  const Variable& variable(const Place& place) const {
    return context_.places.variables[static_cast<std::size_t>(place.variable)];
  }

  std::string operand_text(const Place& place, int access) {
    const auto* strided = std::get_if<StridedLayout>(&operand_of(instruction_, access).layout);
    const bool permuted =
        place.kind == Place::Kind::memory && buffer(place).swizzle && !(strided != nullptr && strided->swizzle);
    const std::string text = permuted ? context_.permuted_address(place, item_.ranges, "") : place_text(place);
    return place.kind == Place::Kind::memory ? as_operand(text, place, access) : text;
  }

  /// An operand of the other signedness: cast to a pointer to the instruction's type.
  std::string as_operand(const std::string& address, const Place& place, int access) const {
    const auto& own = operand_of(instruction_, access).dtype;
    const DType given = buffer(place).dtype;
    if (!own || *own == given || !same_ring(*own, given)) return address;
    return fmt::format("(({}{}*){})", access == 0 ? "" : "const ", element_type(context_.model, *own), address);
  }
  std::string place_text(const Place& place) {
    if (place.kind == Place::Kind::variable) return variable(place).name;
    if (place.kind == Place::Kind::memory) return context_.address(place, item_.ranges);
    const std::string number = std::to_string(place.number);
    std::string spelling = context_.model.memory(buffer(place).memory).print;
    const std::size_t at = spelling.find("{index}");
    return at == std::string::npos ? number : spelling.replace(at, 7, number);
  }

  std::string mask(const std::string& dim) {
    for (std::size_t m = 0; m < instruction_.masks.size() && m < call_.masks.size(); ++m)
      if (instruction_.masks[m].first == dim) return place_text(item_.places[call_.operands.size() + m]);
    return "";
  }

  /// Start of the use along a dim inside its register.
  std::optional<AffineExpr> coordinate(int access, const std::string& dim) const {
    const Ref& ref = call_.operands[static_cast<std::size_t>(access)];
    const Access& subscripts = access_of(instruction_.statement(), access);
    const auto slots = static_cast<std::size_t>(std::max(context_.program.buffers[ref.buffer.index()].slots, 0));
    for (std::size_t s = 0; s < subscripts.index.size(); ++s)
      if (subscripts.index[s].names().contains(dim) && slots + s < ref.index.size())
        return at_origin(ref.index[slots + s], ranges_);
    return std::nullopt;
  }

  std::optional<std::int64_t> number_of(const Reference& r) const {
    if (runtime_extent(r)) return std::nullopt;
    if (r.object == "extent" && r.property.empty()) {
      const int d = instruction_.statement().domain.find(r.argument);
      if (d < 0) return std::nullopt;
      return call_.extents[static_cast<std::size_t>(d)];
    }
    if (r.object == "start" && r.property.empty()) {
      for (const auto& [operand, choices] : instruction_.start)
        if (operand == r.argument) return std::find(choices.begin(), choices.end(), call_.start) - choices.begin();
      return std::nullopt;
    }
    const int access = access_named(instruction_, call_, r.object);
    if (access < 0) return std::nullopt;
    const Place& place = item_.places[static_cast<std::size_t>(access)];
    const OperandProperty property = property_of(r);
    if (place.kind == Place::Kind::immediate || place.kind == Place::Kind::numbered)
      if (is_position(r)) return place.number;
    if (property == OperandProperty::group) return operand_of(instruction_, access).group;
    if (property == OperandProperty::coord) {
      const auto e = coordinate(access, r.argument);
      return e && e->is_constant() ? std::optional(e->constant()) : std::nullopt;
    }
    if (place.kind != Place::Kind::memory) return std::nullopt;
    const auto stride = stride_along(place.offset, instruction_, call_, access, r.argument,
                                     ranges_of_call(item_.ranges, instruction_, call_, access));
    const std::int64_t size = bytes(buffer(place).dtype);
    if (property == OperandProperty::pitch && stride) return *stride * size;
    if (property == OperandProperty::stride && stride)
      return *stride * size / std::max(bytes(operand_of(instruction_, access).dtype.value_or(buffer(place).dtype)), 1);
    return std::nullopt;
  }

  struct AsmOperand {
    std::string constraint, text;
    bool output = false;
  };
  void add_operands(std::vector<AsmOperand>& out);
  std::string constraint_of(const Place& place) const;
  std::string memory_operand(const Place& place) const;

  const Item& item_;
  const Call& call_;
  CallContext& context_;
  const Instruction& instruction_;
  Ranges ranges_;
  bool in_template_ = false;                         ///< where the text is
  mutable std::set<std::string> largest_, limited_;  ///< dims with edges: the largest extent, and what is left of it
};

std::string CallText::constraint_of(const Place& place) const {
  const Memory& memory = context_.model.memory(buffer(place).memory);
  if (place.kind == Place::Kind::memory) return memory.pointer_constraint.empty() ? "m" : memory.pointer_constraint;
  return register_constraint(memory, buffer(place).dtype);
}

/// All bytes that the call may access, as one object for the memory constraint of inline assembly.
std::string CallText::memory_operand(const Place& place) const {
  if (!place.strided.empty())
    context_.diagnostics.push_back(
        error(fmt::format("assembly of '{}' has a stride that is no number", instruction_.name)));
  const auto span = bounds(place.offset - at_origin(place.offset, ranges_), ranges_);
  const std::int64_t count = (span ? std::max<std::int64_t>(span->high, 0) : 0) + 1;
  const bool constant =
      context_.program.buffers[place.buffer.index()].role == BufferRole::argument && &place != &item_.places[0];
  return fmt::format("*({}{} (*)[{}]){}", constant ? "const " : "", element_type(context_.model, buffer(place).dtype),
                     count, context_.address(place, item_.ranges));
}

void CallText::add_operands(std::vector<AsmOperand>& out) {
  for (std::size_t i = 0; i < item_.places.size(); ++i) {
    const Place& place = item_.places[i];
    if (place.kind != Place::Kind::variable && place.kind != Place::Kind::memory) {
      out.push_back({});
      continue;
    }
    const bool written = i == 0;
    const bool keeps = written && !(overwrites(instruction_, call_));
    const std::string constraint = constraint_of(place);
    if (constraint.empty())
      context_.diagnostics.push_back(
          error(fmt::format("memory '{}' has no `constraint`, which inline assembly of '{}' needs",
                            context_.model.memory(buffer(place).memory).name, instruction_.name)));
    const bool object = place.kind == Place::Kind::memory && constraint == "m";
    const std::string text = place.kind == Place::Kind::variable ? variable(place).name
                             : object                            ? memory_operand(place)
                                                                 : context_.address(place, item_.ranges);
    const bool output = written && (place.kind == Place::Kind::variable || object);
    out.push_back({(output ? (keeps ? "+" : "=") : "") + constraint, text, output});
  }
}

std::string CallText::inline_assembly() {
  std::vector<AsmOperand> operands;
  add_operands(operands);
  std::vector<int> number(operands.size(), -1);
  std::string outputs, inputs;
  int next = 0;
  for (const bool output : {true, false})
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].constraint.empty() || operands[i].output != output) continue;
      std::string& list = output ? outputs : inputs;
      list += fmt::format("{}\"{}\"({})", list.empty() ? "" : ", ", operands[i].constraint, operands[i].text);
      number[i] = next++;
    }
  std::string text;
  const auto literal = [&](const std::string& s) { add_literal(text, s); };
  for (const auto& part : instruction_.assembly.parts) {
    if (const auto* s = std::get_if<std::string>(&part)) {
      literal(*s);
      continue;
    }
    const Placeholder& p = std::get<Placeholder>(part);
    int position = -1;
    if (p.expr.op == IntExpr::Op::reference && p.expr.reference.property.empty()) {
      position = access_named(instruction_, call_, p.expr.reference.object);
      if (p.expr.reference.object == "mask")
        for (std::size_t m = 0; m < instruction_.masks.size(); ++m)
          if (instruction_.masks[m].first == p.expr.reference.argument)
            position = static_cast<int>(call_.operands.size() + m);
    }
    if (position >= 0 && number[static_cast<std::size_t>(position)] >= 0)
      text += fmt::format("%{}", number[static_cast<std::size_t>(position)]);
    else
      literal(placeholder(p));
  }
  const bool through_pointer = !operands.empty() && !operands[0].output;
  return fmt::format("asm {}(\"{}\" : {} : {}{});", through_pointer ? "volatile " : "", text, outputs, inputs,
                     through_pointer ? " : \"memory\"" : "");
}

}  // namespace

std::string call_text(const Item& item, const Call& call, CallContext& context) {
  const Instruction& instruction = context.model.instruction(call.instruction);
  CallText text(item, call, context);
  if (!instruction.emit.empty()) return text.statement();
  if (!instruction.assembly.empty()) return text.inline_assembly();
  context.diagnostics.push_back(
      error_at(instruction.where, fmt::format("'{}' has neither `emit` nor `asm`", instruction.name)));
  return "";
}

std::string number_in_text(const Item& item, const Call& call, const Placeholder& placeholder, CallContext& context) {
  return CallText(item, call, context).text_of(placeholder);
}

Result<KnownState> needed_by(const Item& item, const Call& call, CallContext& context) {
  return CallText(item, call, context).needed();
}

std::string setter_text(const SetterUse& use, const KnownState& known, CallContext& context) {
  const Instruction& setter = *use.setter;
  const auto number = [&](const Reference& r) -> std::optional<std::int64_t> {
    for (const KnownState* state : {&use.values, &known})
      if (const auto found = state->find(field_name(r)); found != state->end()) return found->second;
    return std::nullopt;
  };
  const auto placeholder = [&](const Placeholder& p) {
    if (p.expr.op == IntExpr::Op::reference)
      if (const FormatUse* format = packed_by(p.expr.reference, setter))
        return packed_text(*format, setter, number, context);
    if (const auto value = evaluate(p.expr, number)) return number_text(*value, p, setter, context.model);
    context.diagnostics.push_back(error_at(
        setter.where,
        fmt::format("the text of '{}' uses {{{}}}, which has no value in a C++ program", setter.name, p.text)));
    return std::string("0");
  };
  return setter.emit.empty() ? assembly_statement(fill(setter.assembly, placeholder)) : fill(setter.emit, placeholder);
}

std::string register_constraint(const Memory& memory, DType type) {
  for (const std::string& key : {std::string(name(type)), std::string("any"), std::string()})
    if (const auto found = memory.constraint.find(key); found != memory.constraint.end()) return found->second;
  return "";
}

std::string assembly_statement(const std::string& line) {
  std::string text;
  add_literal(text, line);
  return "asm volatile (\"" + text + "\" : : : \"memory\");";
}

}  // namespace isamap

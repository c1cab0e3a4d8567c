// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/wrappers.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/cpp/text/types.h"
#include "backends/cuda/assembly_text.h"
#include "backends/cuda/emulation_semantics.h"
#include "backends/cuda/encoding_text.h"
#include "hwdesc/layout/layout_compose.h"
#include "hwdesc/layout/per_lane_addresses.h"
#include "ir/operand_use.h"

namespace isamap {
std::string Wrappers::own_address(const Instruction& instruction, const Call& call, int access, const Place& place,
                                  const Ranges& ranges, CallContext& context) const {
  const auto* layout = std::get_if<StridedLayout>(&operand_of(instruction, access).layout);
  const StrideTerm* own = nullptr;
  if (layout != nullptr)
    for (const StrideTerm& term : layout->terms)
      if (!term.each.empty()) own = &term;
  if (own == nullptr) return "";
  const AffineExpr offset = simplify(place.offset, ranges_of_call(ranges, instruction, call));
  const auto steps = per_lane_offsets(instruction, access, call.extents, offset);
  const auto unit = model_.find_unit(own->each);
  if (!steps || steps->empty() || !unit) {
    context.diagnostics.push_back(error(fmt::format("'{}' has no per-instance address", instruction.name)));
    return "";
  }
  // Instances beyond the used ones give an address too.
  std::vector<std::int64_t> all;
  for (std::int64_t p = 0; p < model_.unit(*unit).count; ++p)
    all.push_back((*steps)[static_cast<std::size_t>(p) % steps->size()]);
  const auto text = digits_of(all, "(" + model_.unit(*unit).index + ")");
  if (!text)
    context.diagnostics.push_back(error(
        fmt::format("the addresses of '{}' are not a sum of digits of the index of {}", instruction.name, own->each)));
  return text.value_or("");
}

std::string Wrappers::add(const std::string& wish, const std::string& parameters, const std::string& device,
                          const std::string& host, const std::string& before) {
  const auto [found, fresh] = known_.try_emplace({parameters, device + host});
  if (!fresh) return found->second;
  const std::string name = found->second = names_.unique(identifier(wish));
  device_ +=
      fmt::format("{}static __device__ __forceinline__ void {}({}) {{\n{}}}\n", before, name, parameters, device);
  const bool sites = host.find(", here)") != std::string::npos;
  host_ += fmt::format("{}inline void {}({}{}) {{\n{}}}\n", before, name, parameters,
                       sites ? ", emulation::SourcePlace here = emulation::SourcePlace::current()" : "", host);
  return name;
}

/// The arguments of a use for the instruction's function.
struct Wrappers::Interface {
  std::vector<WrapperOperand> operands;
  std::vector<std::string> constraints;  ///< of the inline assembly, one per operand
  std::string parameters, arguments;
  std::string before;  ///< template header: "template <class S_type>\n"
};

/// A tensor described by the host: the descriptor and the box position.
void Wrappers::describe(const Item& item, const Call& call, int access, WrapperOperand& operand, Interface& made,
                        CallContext& context) {
  const Instruction& instruction = model_.instruction(call.instruction);
  const Operand& from = operand_of(instruction, access);
  const Ref& ref = call.operands[static_cast<std::size_t>(access)];
  const auto box = described_tensor(instruction, access, context.program.buffers[ref.buffer.index()], ref.index,
                                    call.extents, ranges_of_call(item.ranges, instruction, call));
  if (!box) {
    for (const Diagnostic& d : box.diagnostics()) context.diagnostics.push_back(d);
    return;
  }
  for (const HostObject& object : model_.objects())
    if (object.name == from.object) made.constraints.back() = object.constraint;
  operand.described = true;
  operand.type = "const " + operand.name + "_type&";
  made.before += fmt::format("template <class {}_type>\n", operand.name);
  made.parameters += fmt::format("{}{} {}", made.parameters.empty() ? "" : ", ", operand.type, operand.name);
  made.arguments += (made.arguments.empty() ? "" : ", ") + described(from, ref.buffer, *box);
  for (std::size_t d = 0; d < box->position.size(); ++d) {
    operand.positions.push_back(operand.name + "_" + box->names[d]);
    operand.fused_dim_of.push_back(box->names[d]);
    made.parameters += ", int " + operand.positions.back();
    made.arguments += ", int(" + context.index(box->position[d], item.ranges) + ")";
  }
}

namespace {

void add_to(std::string& list, const std::string& one) { list += (list.empty() ? "" : ", ") + one; }

}  // namespace

/// A register variable: the array, or the operand's part of it.
void Wrappers::in_registers(const Item& item, const Call& call, int access, WrapperOperand& operand, Interface& made,
                            CallContext& context) {
  const Instruction& instruction = model_.instruction(call.instruction);
  const Place& place = item.places[static_cast<std::size_t>(access)];
  const Variable& variable = context.places.variables[static_cast<std::size_t>(place.variable)];
  operand.type = variable.type;
  operand.registers = std::max<std::int64_t>(variable.count, 1);
  const auto part = part_of_registers(variable, {place, instruction, access, item.ranges}, context.program, model_);
  if (!part)
    context.diagnostics.push_back(error(fmt::format("{} of '{}' is not in consecutive registers of '{}'", operand.name,
                                                    instruction.name, variable.name)));
  else if (part->first + part->count > operand.registers)
    context.diagnostics.push_back(
        error(fmt::format("{} of '{}' takes registers {} to {} of '{}', which has {}", operand.name, instruction.name,
                          part->first, part->first + part->count - 1, variable.name, operand.registers)));
  const bool all = !part || part->count == variable.count;
  if (!all) operand.registers = part->count;
  add_to(made.arguments, all ? variable.name
                             : fmt::format("reinterpret_cast<{}(&)[{}]>({}[{}])", operand.type, part->count,
                                           variable.name, part->first));
  add_to(made.parameters,
         fmt::format("{}{} (&{})[{}]", operand.written ? "" : "const ", operand.type, operand.name, operand.registers));
}

/// A memory operand: its address and row strides.
void Wrappers::in_memory(const Item& item, const Call& call, int access, WrapperOperand& operand, Interface& made,
                         CallContext& context) {
  const Instruction& instruction = model_.instruction(call.instruction);
  const Place& place = item.places[static_cast<std::size_t>(access)];
  const Buffer& buffer = context.program.buffers[place.buffer.index()];
  const Memory& memory = model_.memory(buffer.memory);
  operand.shared = !memory.pointer_type.empty();
  operand.type = operand.shared ? memory.pointer_type : operand.written ? "void*" : "const void*";
  const std::string more = own_address(instruction, call, access, place, item.ranges, context);
  const auto* layout = std::get_if<StridedLayout>(&operand_of(instruction, access).layout);
  std::string address;
  if (buffer.swizzle && !(layout != nullptr && layout->swizzle)) {
    address = context.permuted_address(place, item.ranges, more);
  } else {
    address = context.address(place, item.ranges);
    if (!more.empty()) address = "(" + address + " + (" + more + "))";
  }
  add_to(made.arguments,
         operand.shared ? fmt::format("{}(__cvta_generic_to_shared({}))", operand.type, address) : address);
  add_to(made.parameters, operand.type + " " + operand.name);
  if (layout == nullptr) return;
  for (const StrideTerm& term : layout->terms)
    operand.pitches.push_back(stride_along(place.offset, instruction, call, access, term.text,
                                           ranges_of_call(item.ranges, instruction, call, access))
                                  .value_or(0) *
                              bytes(buffer.dtype));
}

Wrappers::Interface Wrappers::interface_of(const Item& item, const Call& call, CallContext& context) {
  const Instruction& instruction = model_.instruction(call.instruction);
  Interface made;
  for (std::size_t i = 0; i < item.places.size(); ++i) {
    const Place& place = item.places[i];
    WrapperOperand o;
    o.name = identifier(operand_of(instruction, static_cast<int>(i)).name);
    o.written = i == 0;
    made.constraints.emplace_back();
    if (place.kind == Place::Kind::described) {
      describe(item, call, static_cast<int>(i), o, made, context);
      made.operands.push_back(std::move(o));
      continue;
    }
    if (place.kind == Place::Kind::variable) in_registers(item, call, static_cast<int>(i), o, made, context);
    if (place.kind == Place::Kind::memory) in_memory(item, call, static_cast<int>(i), o, made, context);
    if (place.buffer.valid()) {
      const Buffer& buffer = context.program.buffers[place.buffer.index()];
      const Memory& memory = model_.memory(buffer.memory);
      made.constraints.back() = constraint_of(memory, buffer.dtype, place.kind == Place::Kind::memory);
      if (made.constraints.back().empty())
        context.diagnostics.push_back(error(fmt::format(
            "memory '{}' has no `constraint`, which inline assembly of '{}' needs", memory.name, instruction.name)));
    }
    if (const auto& pack = operand_of(instruction, static_cast<int>(i)).pack; pack && !o.type.empty())
      pack_operand(*pack, item, call, o, made.constraints.back(), context);
    made.operands.push_back(std::move(o));
  }
  if (call.counter.buffer.valid()) {
    const Buffer& counter = context.program.buffers[call.counter.buffer.index()];
    add_to(made.parameters, model_.memory(counter.memory).pointer_type + " counter_");
    add_to(made.arguments, counter_address(counter, context.index(call.counter.index[0], item.ranges)));
  }
  return made;
}

/// A packed descriptor instead of the address.
void Wrappers::pack_operand(const FormatUse& pack, const Item& item, const Call& call, WrapperOperand& operand,
                            std::string& constraint, CallContext& context) const {
  const Format* format = find_format(model_, pack.format);
  if (format == nullptr) return;
  constraint = format->constraint;
  if (constraint.empty())
    context.diagnostics.push_back(
        error(fmt::format("format '{}' has no `constraint`, which inline assembly needs", format->name)));
  operand.word = word_text(pack, *format, [&](const Reference& r) {
    if (r.object == operand.name && r.property.empty()) return operand.name;
    IntExpr leaf;
    leaf.op = IntExpr::Op::reference;
    leaf.reference = r;
    return number_in_text(item, call, Placeholder{leaf, print(leaf)}, context);
  });
}

/// The parameter that a reference such as {S.coord[x]} or {phases.at} denotes; empty: none.
namespace {
std::string further_input(const Placeholder& p, const std::vector<WrapperOperand>& operands,
                          const Instruction& instruction) {
  if (p.expr.op != IntExpr::Op::reference) return "";
  const Reference& r = p.expr.reference;
  if (r.object == instruction.async_by && r.property == "at") return "counter_";
  for (const WrapperOperand& o : operands)
    for (std::size_t d = 0; d < o.positions.size(); ++d)
      if (property_of(r) == OperandProperty::coord && r.object == o.name && r.argument == o.fused_dim_of[d])
        return o.positions[d];
  return "";
}
}  // namespace

/// Each register of an operand is an operand of the assembly; outputs come first.
std::string Wrappers::inline_assembly(const Interface& use, const Item& item, const Call& call,
                                      CallContext& context) const {
  const Instruction& instruction = model_.instruction(call.instruction);
  std::vector<std::string> numbers(use.operands.size());
  std::string outputs, inputs;
  int next = 0;
  bool in_memory = use.operands.empty();
  for (std::size_t i = 0; i < use.operands.size(); ++i) {
    const WrapperOperand& o = use.operands[i];
    if (o.type.empty()) continue;  // a literal in the text
    const bool output = i == 0 && o.registers > 0;
    in_memory = in_memory || o.registers == 0;
    std::string& list = output ? outputs : inputs;
    const std::string constraint = (output ? overwrites(instruction, call) ? "=" : "+" : "") + use.constraints[i];
    for (std::int64_t r = 0; r < std::max<std::int64_t>(o.registers, 1); ++r) {
      list += fmt::format("{}\"{}\"({}{}{})", list.empty() ? "" : ", ", constraint, o.described ? "&" : "",
                          o.word.empty() ? o.name : o.word, o.registers > 0 ? fmt::format("[{}]", r) : "");
      numbers[i] += fmt::format("{}%{}", numbers[i].empty() ? "" : ", ", next++);
    }
  }
  std::string text;
  for (const auto& part : instruction.assembly.parts) {
    if (const auto* s = std::get_if<std::string>(&part)) {
      add_assembly(text, *s);
      continue;
    }
    const Placeholder& p = std::get<Placeholder>(part);
    if (const std::string more = further_input(p, use.operands, instruction); !more.empty()) {
      std::string constraint = "r";
      if (more == "counter_") {
        const Buffer& counter = context.program.buffers[call.counter.buffer.index()];
        constraint = constraint_of(model_.memory(counter.memory), counter.dtype, true);
      }
      inputs += fmt::format("{}\"{}\"({})", inputs.empty() ? "" : ", ", constraint, more);
      text += fmt::format("%{}", next++);
      continue;
    }
    const int access = p.expr.op == IntExpr::Op::reference && p.expr.reference.property.empty()
                           ? access_named(instruction, call, p.expr.reference.object)
                           : -1;
    if (access >= 0 && !numbers[static_cast<std::size_t>(access)].empty())
      text += numbers[static_cast<std::size_t>(access)];
    else
      add_assembly(text, number_in_text(item, call, p, context));
  }
  return fmt::format("  asm volatile(\"{}\" : {} : {}{});\n", text, outputs, inputs, in_memory ? " : \"memory\"" : "");
}

std::string Wrappers::call(const Item& item, const Call& call, CallContext& context) {
  const Instruction& instruction = model_.instruction(call.instruction);
  if (instruction.assembly.empty() || !call.masks.empty()) return call_text(item, call, context);  // with the reason
  const Interface use = interface_of(item, call, context);
  const std::string device = inline_assembly(use, item, call, context);
  auto body = meaning(instruction, use.operands, call.extents, call.start, model_, elements_);
  std::string host = body ? *body : "";
  if (!body) {  // reported when it is executed
    for (const WrapperOperand& o : use.operands)
      if (!o.type.empty()) host += fmt::format("  (void){};\n", o.name);
    host += fmt::format("  emulation::fail(\"%s\", \"{}\");\n", body.diagnostics().front().message);
  }
  return fmt::format("{}({});", add(instruction.name, use.parameters, device, host, use.before), use.arguments);
}

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
// Text of a program: the kernel, the buffers, then the nodes, one a line, two spaces of indent for each level.

#include <fmt/format.h>

#include "isamap/program_on_machine.h"

namespace isamap {

namespace {

std::string joined(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (std::int64_t n : numbers) text += (text.empty() ? "" : ",") + std::to_string(n);
  return "[" + text + "]";
}

struct Printer {
  const Program& program;
  const HardwareModel& model;
  std::string out;

  void line(int depth, const std::string& text) {
    out += std::string(static_cast<std::size_t>(2 * depth), ' ') + text + "\n";
  }

  std::string ref(const Ref& r) const {
    std::string text;
    for (const AffineExpr& e : r.index) text += (text.empty() ? "" : ", ") + print(e);
    if (!r.buffer.valid()) return "_[" + text + "]";
    return program.buffers[r.buffer.index()].name + "[" + text + "]";
  }

  /// A read of an element statement; `before`: those before it, which may compute its subscripts.
  std::string read(const Ref& r, const std::vector<std::string>& before) const {
    std::string text;
    for (const AffineExpr& e : r.index) {
      const auto name = e.as_dim();
      const auto computed = name ? computed_read(*name) : std::nullopt;
      text += (text.empty() ? "" : ", ") +
              (computed ? "at(" + before.at(static_cast<std::size_t>(*computed)) + ")" : print(e));
    }
    return program.buffers[r.buffer.index()].name + "[" + text + "]";
  }

  static const char* step_word(Sync::Step step) {
    switch (step) {
      case Sync::Step::commit:
        return " commit";
      case Sync::Step::open:
        return " open";
      case Sync::Step::fence:
        return " fence";
      case Sync::Step::expect:
        return " expect";
      case Sync::Step::arrive:
        return " arrive";
      default:
        return "";
    }
  }

  void buffer(const Buffer& b) {
    std::string text =
        fmt::format("{}: {}{} in {}", b.name, name(b.dtype), joined(b.extents), model.memory(b.memory).name);
    if (b.slots >= 0) text += fmt::format(" slots {} registers {}", b.slots, b.registers_per_slot);
    if (b.slots < 0) text += " strides " + joined(b.strides);
    text += fmt::format(" align {} at {}", b.align, b.address);
    if (b.swizzle) text += fmt::format(" xor {} {} {}", b.swizzle->bits, b.swizzle->from, b.swizzle->to);
    if (b.counter) text += " counter " + b.counter->object;
    if (b.counter && b.counter->each.valid()) text += " each " + model.unit(b.counter->each).name;
    if (b.tensor.valid()) text += " of " + program.kernel.tensors[b.tensor.index()].name;
    if (b.role == BufferRole::argument) text += " argument";
    if (b.ahead_of_time) text += " aot";
    if (!b.layout_text.empty()) text += " as " + b.layout_text;
    line(1, text);
  }

  void list(const std::vector<Node>& nodes, int depth) {
    for (const Node& node : nodes) {
      if (const auto* loop = std::get_if<Loop>(&node.is)) {
        line(depth, fmt::format("for {} in {}{}{}{}", loop->variable, loop->trip, loop->unroll ? " unroll" : "",
                                loop->unit.empty() ? "" : " on " + loop->unit,
                                loop->instances > 0 ? fmt::format(" of {}", loop->instances) : ""));
        list(loop->body, depth + 1);
      } else if (const auto* guard = std::get_if<Guard>(&node.is)) {
        branch(*guard, depth);
      } else if (const auto* c = std::get_if<Call>(&node.is)) {
        line(depth, call(*c));
      } else if (const auto* e = std::get_if<Element>(&node.is)) {
        line(depth, element(*e));
      } else if (const auto* s = std::get_if<Sync>(&node.is)) {
        line(depth, fmt::format("sync {} {} {}{}{}", model.unit(s->unit).name, s->object.empty() ? "-" : s->object,
                                s->pending, step_word(s->step), counted(*s)));
      } else if (const auto* comment = std::get_if<Comment>(&node.is)) {
        line(depth, "# " + comment->text);
      }
    }
  }

  std::string counted(const Sync& s) const {
    if (!s.counter.buffer.valid()) return "";
    return fmt::format(" bytes {} phase {} of {}", s.bytes, print(s.phase), ref(s.counter));
  }

  void branch(const Guard& guard, int depth) {
    if (!guard.role.empty()) {
      line(depth, "role " + guard.role);
      return list(guard.then, depth + 1);
    }
    std::string text;
    for (const AffineExpr& e : guard.conditions) text += (text.empty() ? "" : ", ") + print(e) + " >= 0";
    line(depth, "if " + text);
    list(guard.then, depth + 1);
    if (guard.otherwise.empty()) return;
    line(depth, "else");
    list(guard.otherwise, depth + 1);
  }

  std::string call(const Call& c) const {
    std::string operands, masks;
    for (const Ref& r : c.operands) operands += (operands.empty() ? "" : ", ") + ref(r);
    for (const Ref& r : c.masks) masks += (masks.empty() ? "" : ", ") + ref(r);
    return fmt::format("call {}({}) extents {}{}{}", model.instruction(c.instruction).name, operands, joined(c.extents),
                       masks.empty() ? "" : " masks(" + masks + ")", c.start == Start::zero ? " start zero" : "") +
           (c.counter.buffer.valid() ? " completes " + ref(c.counter) : "");
  }

  std::string element(const Element& e) const {
    std::vector<std::string> names;
    for (const Ref& r : e.reads)
      names.push_back(r.buffer.valid() ? read(r, names) : "value(" + print(r.index.at(0)) + ")");
    return fmt::format("{} {} {} on {}", ref(e.write), symbol(e.reduction), isamap::print(e.body, names),
                       model.unit(e.unit).name);
  }
};

std::string indented(const std::string& text) {
  std::string out;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    out += "  " + text.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  return out;
}

}  // namespace

std::string print(const Program& program, const HardwareModel& model) {
  Printer printer{program, model, {}};
  printer.out = "program " + program.name + "\nkernel\n" + indented(print(program.kernel));
  if (!program.sizes.empty()) printer.out += "sizes\n";
  for (const auto& [name, value] : program.sizes) printer.line(1, fmt::format("{} {}", name, value));
  if (program.as_named) printer.out += "as named\n";
  if (program.sums_in_order) printer.out += "in order\n";
  if (program.library_functions) printer.out += "library functions\n";
  printer.out += "buffers\n";
  for (const Buffer& buffer : program.buffers) printer.buffer(buffer);
  if (!program.assumptions.empty()) printer.out += "assume\n";
  for (const Assumption& assumption : program.assumptions) printer.line(1, assumption.text);
  printer.out += "schedule\n" + indented(program.schedule_text);
  if (!program.prepack.empty()) printer.out += "prepack\n";
  printer.list(program.prepack, 1);
  printer.out += "body\n";
  printer.list(program.body, 1);
  return printer.out;
}

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/emit_functions.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/cpp/function/printer.h"
#include "backends/cpp/function/team.h"
#include "backends/cpp/text/element_text.h"
#include "backends/cpp/text/helpers.h"
#include "backends/cpp/text/machine_words.h"
#include "backends/cpp/text/names.h"
#include "backends/cpp/text/types.h"
#include "support/allocate.h"
#include "support/arithmetic.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

constexpr std::int64_t stack_bytes = 16 << 10;  // larger arrays are not on the stack

struct Touched {
  std::set<std::int32_t> read, written;
};

void touch(const std::vector<Node>& nodes, Touched& out) {
  for (const Node& node : nodes)
    std::visit(overloaded{
                   [&](const Loop& loop) {
                     if (loop.trip > 0) touch(loop.body, out);
                   },
                   [&](const Guard& guard) {
                     touch(guard.then, out);
                     touch(guard.otherwise, out);
                   },
                   [&](const Call& call) {
                     for (std::size_t i = 0; i < call.operands.size(); ++i)
                       if (call.operands[i].buffer.valid())
                         (i == 0 ? out.written : out.read).insert(call.operands[i].buffer.value);
                     for (const Ref& mask : call.masks) out.read.insert(mask.buffer.value);
                   },
                   [&](const Element& element) {
                     out.written.insert(element.write.buffer.value);
                     for (const Ref& read : element.reads)
                       if (read.buffer.valid()) out.read.insert(read.buffer.value);
                   },
                   [](const auto&) {},
               },
               node.is);
}

Names reserved_names(const HardwareModel& model) {
  Names names;
  for (const std::string& helper : helper_names()) names.unique(helper);
  for (const std::string& word : words_of_machine(model)) names.unique(word);
  return names;
}

/// The functions of one program: its entry and, if it packs ahead of time, `NAME_pack`.
class FunctionPrinter {
 public:
  FunctionPrinter(const Program& program, const HardwareModel& model, const std::string& name,
                  const std::string& linkage, Surroundings& around)
      : program_(program),
        model_(model),
        name_(name),
        linkage_(linkage),
        around_(around),
        elements_(model, !program.library_functions) {}

  Result<TranslationUnit> print() { return printed(!program_.prepack.empty(), true); }
  Result<TranslationUnit> print_pack() { return printed(true, false); }

 private:
  Result<TranslationUnit> printed(bool with_pack, bool with_entry) {
    touch(program_.prepack, in_pack_);
    touch(program_.body, in_body_);
    name_buffers();
    TranslationUnit unit;
    unit.name = name_;
    if (with_pack) {
      unit.pack = pack_arguments();
      auto text = function(name_ + "_pack", unit.pack, program_.prepack, in_pack_,
                           "Fills the packed buffers; to be called once before the entry.\n");
      if (!text) return text.diagnostics();
      unit.text += *text + "\n";
    }
    if (with_entry) {
      unit.arguments = main_arguments();
      auto text = function(name_, unit.arguments, program_.body, in_body_, "");
      if (!text) return text.diagnostics();
      unit.text += *text;
    }
    around_.helpers.insert(elements_.used_helpers().begin(), elements_.used_helpers().end());
    around_.includes.insert(elements_.includes().begin(), elements_.includes().end());
    return unit;
  }

  /// Of a buffer that was packed ahead of time; null: the entry has an argument of its own for each.
  const std::string* constant_name(std::size_t b) const {
    if (around_.numbers == nullptr) return nullptr;
    const auto found = around_.numbers->constant_names.find(static_cast<std::int32_t>(b));
    return found == around_.numbers->constant_names.end() ? nullptr : &found->second;
  }
  void name_buffers() {
    if (!around_.reserved) around_.reserved = reserved_names(model_);
    names_ = *around_.reserved;
    if (around_.from_caller) names_.unique(workspace_name);
    if (around_.team) names_.unique(member_name);
    if (around_.team && !around_.from_caller) names_.unique(team_memory_name);
    if (around_.numbers != nullptr)
      for (const auto* list : {&around_.numbers->parameters, &around_.numbers->arrays})
        for (const std::string& parameter : *list) names_.unique(parameter);
    for (std::size_t b = 0; b < program_.buffers.size(); ++b)
      if (const std::string* const constant = constant_name(b)) names_.unique(*constant);
    if (around_.numbers != nullptr)  // strides of local arrays, too: "P_parts_s0", also P_parts at a loop s0
      for (const auto& [buffer, strides] : around_.numbers->strides)
        for (const std::string& stride : strides)
          if (!stride.empty()) names_.unique(stride);
    for (const std::string& own : {entry_name(program_.name), name_}) {
      names_.unique(own);
      names_.unique(own + "_pack");
    }
    for (std::size_t b = 0; b < program_.buffers.size(); ++b) {
      const Buffer& buffer = program_.buffers[b];
      const std::string* const constant = constant_name(b);
      buffers_.push_back(constant != nullptr ? *constant : buffer.slots < 0 ? names_.unique(buffer.name) : buffer.name);
    }
  }

  EntryArgument argument(std::size_t b, bool written) const {
    const Buffer& buffer = program_.buffers[b];
    return {make_id<BufferId>(b), element_type(model_, buffer.dtype), buffers_[b], written,
            element_span(buffer) * bytes(buffer.dtype)};
  }
  bool is_argument(const Buffer& buffer) const {
    return buffer.role == BufferRole::argument && !buffer.ahead_of_time && buffer.slots < 0;
  }
  std::vector<EntryArgument> main_arguments() const {
    std::vector<EntryArgument> out;
    for (std::size_t b = 0; b < program_.buffers.size(); ++b)
      if (is_argument(program_.buffers[b]))
        out.push_back(argument(b, role_of(program_.kernel, program_.buffers[b].tensor) != Role::input));
    for (std::size_t b = 0; b < program_.buffers.size(); ++b)
      if (program_.buffers[b].ahead_of_time && constant_name(b) == nullptr) out.push_back(argument(b, false));
    return out;
  }
  std::vector<EntryArgument> pack_arguments() const {
    std::vector<EntryArgument> out;
    for (std::size_t b = 0; b < program_.buffers.size(); ++b)
      if (is_argument(program_.buffers[b]) && in_pack_.read.contains(static_cast<std::int32_t>(b)))
        out.push_back(argument(b, false));
    for (std::size_t b = 0; b < program_.buffers.size(); ++b)
      if (program_.buffers[b].ahead_of_time) out.push_back(argument(b, true));
    return out;
  }

  Result<std::string> function(const std::string& name, const std::vector<EntryArgument>& arguments,
                               const std::vector<Node>& nodes, const Touched& touched, const std::string& about) {
    std::string text = comment(about, " ");
    std::set<std::int32_t> constant;
    std::string list;
    for (const EntryArgument& a : arguments) {
      const Buffer& buffer = program_.buffers[a.buffer.index()];
      text += comment(fmt::format("{}: {}{}, {} bytes{}{}", a.name, isamap::name(buffer.dtype), shape(buffer), a.bytes,
                                  a.written ? ", written" : "", whole_name(a)),
                      "   ");
      if (!a.written) constant.insert(a.buffer.value);
      list += (list.empty() ? "" : ", ") + pointer_parameter(a, around_);
    }
    if (around_.from_caller) list += fmt::format("{}void* __restrict {}", list.empty() ? "" : ", ", workspace_name);
    if (around_.team) list += fmt::format(", const {}& {}", member_type, member_name);
    const RuntimeNumbers* const numbers = &nodes == &program_.body ? around_.numbers : nullptr;
    if (numbers != nullptr)
      for (const std::string& parameter : numbers->parameters)
        list += fmt::format("{}long {}", list.empty() ? "" : ", ", parameter);
    if (numbers != nullptr)
      for (const std::string& parameter : numbers->constants) list += ", " + parameter;
    if (numbers != nullptr)
      for (const auto& known : numbers->constant_names) constant.insert(known.first);
    if (numbers != nullptr)
      for (const std::string& array : numbers->arrays) list += ", GrowingArray& " + array;
    auto body = print_body(
        nodes, {program_, model_, buffers_, constant, elements_, nullptr, numbers, around_.team, around_.overlapping},
        names_);
    if (!body) return body.diagnostics();
    std::string unused = silence(arguments, touched);
    if (numbers != nullptr)
      for (const std::string& definition : numbers->definitions) unused += "  " + definition + "\n";
    const std::string rest = "void " + name + "(" + list + ") {\n" + unused + locals(touched) + body->text + "}\n";
    // Attributes come first in a declaration, [[..]] before __attribute__, which `extern "C"` without braces does not
    // allow.
    const std::size_t own = std::min(linkage_.find("static"), linkage_.size());
    std::string attributes = own < linkage_.size() ? linkage_.substr(0, own) : "";
    const std::string linkage = own < linkage_.size() ? linkage_.substr(own) : linkage_;
    if (!body->attributes.empty()) attributes += body->attributes + "\n";
    if (!model_.program.function.empty()) attributes += model_.program.function + "\n";
    if (body->attributes.empty() || own < linkage_.size()) return text + attributes + linkage + " " + rest;
    return text + linkage + " {\n" + attributes + rest + "}\n";
  }
  /// Of a tensor whose argument has a shorter one.
  std::string whole_name(const EntryArgument& argument) const {
    const Buffer& buffer = program_.buffers[argument.buffer.index()];
    if (!buffer.tensor.valid() || !is_argument(buffer)) return "";
    const std::string& tensor = program_.kernel.tensors[buffer.tensor.index()].name;
    return identifier(tensor).size() > argument.name.size() ? ", '" + tensor + "'" : "";
  }
  static std::string silence(const std::vector<EntryArgument>& arguments, const Touched& touched) {
    std::string text;
    for (const EntryArgument& a : arguments)
      if (!touched.read.contains(a.buffer.value) && !touched.written.contains(a.buffer.value))
        text += "  (void)" + a.name + ";\n";
    return text;
  }
  static std::vector<std::int64_t> dense(const Buffer& buffer) {
    Tensor tensor;
    tensor.shape = buffer.extents;
    return strides_of(tensor);
  }
  static std::string shape(const Buffer& buffer) {
    if (!buffer.layout_text.empty()) return " " + buffer.layout_text;
    std::string text = "[";
    for (const std::int64_t extent : buffer.extents) text += (text.size() > 1 ? "," : "") + std::to_string(extent);
    text += "]";
    if (buffer.role != BufferRole::argument || buffer.strides.empty() || buffer.strides == dense(buffer)) return text;
    text += ", strides [";
    for (std::size_t d = 0; d < buffer.strides.size(); ++d)
      text += (d == 0 ? "" : ",") + std::to_string(buffer.strides[d]);
    return text + "]";
  }

  /// Local arrays: small ones on the stack, except those that a team shares, the others in one block: the caller's
  /// workspace or thread-local memory.
  std::string locals(const Touched& touched) {
    std::string stack, block;
    std::int64_t size = 0, on_stack = 0, most_aligned = 0;
    const std::string memory = around_.from_caller ? fmt::format("static_cast<char*>({})", workspace_name)
                               : around_.team      ? team_memory_name
                                                   : "scratch.at";
    for (std::size_t b = 0; b < program_.buffers.size(); ++b) {
      const Buffer& buffer = program_.buffers[b];
      const auto id = static_cast<std::int32_t>(b);
      if (buffer.slots >= 0 || buffer.role == BufferRole::argument || buffer.ahead_of_time) continue;
      if (!touched.read.contains(id) && !touched.written.contains(id)) continue;
      const std::int64_t count = std::max<std::int64_t>(element_span(buffer), 1), length = count * bytes(buffer.dtype);
      const std::int64_t align = std::max<std::int64_t>(buffer.align, 64);
      const std::string type = element_type(model_, buffer.dtype),
                        about = fmt::format("  // {} in {}", shape(buffer), model_.memory(buffer.memory).name);
      if (around_.numbers != nullptr && around_.numbers->places.contains(id)) {
        stack += fmt::format("  {1}* const {0} = static_cast<{1}*>({2});\n", buffers_[b], type,
                             around_.numbers->places.at(id));
        continue;
      }
      if (around_.numbers != nullptr && around_.numbers->passed.contains(id)) {
        stack += fmt::format("  {1}* const {0} = const_cast<{1}*>({2});\n", buffers_[b], type,
                             buffers_[static_cast<std::size_t>(around_.numbers->passed.at(id))]);
        continue;
      }
      if (around_.numbers != nullptr && around_.numbers->lengths.contains(id)) {
        stack += fmt::format(
            "  static thread_local GrowingArray {0}_memory;\n  {1}* const {0} = "
            "static_cast<{1}*>({0}_memory.at({2} * {3}));\n",
            buffers_[b], type, around_.numbers->lengths.at(id), bytes(buffer.dtype));
        continue;
      }
      if (!around_.team && on_stack + length <= stack_bytes && align <= 4096) {
        stack += fmt::format("  alignas({}) {} {}[{}];{}\n", align, type, buffers_[b], count, about);
        on_stack += length;
      } else {
        size = (size + align - 1) / align * align;
        block += fmt::format("  {0}* const {1} = reinterpret_cast<{0}*>({2} + {3});{4}\n", type, buffers_[b], memory,
                             size, about);
        size += length;
        most_aligned = std::max(most_aligned, align);
      }
    }
    if (around_.from_caller) {
      around_.workspace.bytes = std::max(around_.workspace.bytes, size);
      around_.workspace.align = std::max(around_.workspace.align, most_aligned);
      return stack + (block.empty() ? fmt::format("  (void){};\n", workspace_name) : block);
    }
    if (block.empty()) return stack;
    around_.scratch = true;
    const std::int64_t page = size < large_page / 2 ? 4096 : large_page;
    stack += fmt::format("  static thread_local const Scratch scratch({});\n", round_up(size, page));
    if (around_.team)
      stack += fmt::format("  char* const {} = static_cast<char*>({}({}, scratch.at));\n", team_memory_name,
                           memory_of_first, member_name);
    return stack + block;
  }
  const Program& program_;
  const HardwareModel& model_;
  std::string name_, linkage_;
  Surroundings& around_;
  ElementText elements_;
  Names names_;
  std::vector<std::string> buffers_;
  Touched in_pack_, in_body_;
};

}  // namespace

std::string comment(const std::string& text, const std::string& indent) {
  std::string out, line;
  const auto flush = [&] {
    while (!line.empty() && line.back() == ' ') line.pop_back();
    out += line.empty() ? "//\n" : "//" + indent + line + "\n";
    line.clear();
  };
  for (const char c : text) {
    if (c == '\n')
      flush();
    else
      line += static_cast<unsigned char>(c) < ' ' || c == '\\' ? ' ' : c;
  }
  if (!line.empty()) flush();
  return out;
}

std::string pointer_parameter(const EntryArgument& argument, const Surroundings& around) {
  return fmt::format("{}{}*{} {}", argument.written ? "" : "const ", argument.type,
                     around.overlapping.contains(argument.buffer) ? "" : " __restrict", argument.name);
}

Result<TranslationUnit> print_functions(const Program& program, const HardwareModel& model, const std::string& name,
                                        const std::string& linkage, Surroundings& around) {
  return FunctionPrinter(program, model, name, linkage, around).print();
}

Result<TranslationUnit> print_pack_function(const Program& program, const HardwareModel& model, const std::string& name,
                                            const std::string& linkage, Surroundings& around) {
  return FunctionPrinter(program, model, name, linkage, around).print_pack();
}

}  // namespace isamap

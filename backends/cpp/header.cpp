// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/header.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/cpp/text/names.h"
#include "backends/cpp/text/types.h"

namespace isamap {
namespace {

std::string list_of(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (const std::int64_t n : numbers) text += (text.empty() ? "" : ",") + std::to_string(n);
  return "[" + text + "]";
}

class Header {
 public:
  Header(const TranslationUnit& unit, const Program& program) : unit_(unit), program_(program) {}

  std::string print() {
    const std::string guard = "ISAMAP_" + upper(unit_.name) + "_H";
    std::string text = fmt::format(
        "/* {}: printed by isamap, to be called from C and C++; belongs to whoever ran it. */\n#ifndef {}\n#define "
        "{}\n\n",
        unit_.name, guard, guard);
    text += "#include <stdint.h>\n\n" + sizes();
    text += "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
    if (!unit_.pack.empty())
      text += "/* Fills the packed copies; to be called once before " + unit_.name +
              ", and again when what they are copied from changes. */\n" + c_prototype(unit_, true, program_) + ";\n\n";
    text += entry_comment() + c_prototype(unit_, false, program_) + ";\n\n";
    return text + "#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
  }

 private:
  /// Sizes of the caller's arrays, packed copies, the workspace.
  std::string sizes() {
    std::string text = "/* Bytes, and multiples of bytes at which arrays begin. */\n";
    for (const EntryArgument& a : unit_.arguments) {
      const Buffer& buffer = program_.buffers[a.buffer.index()];
      const std::string packed = buffer.ahead_of_time ? "_PACKED" : "";
      text += constant(upper(a.name) + packed + "_BYTES", a.bytes);
      text += constant(upper(a.name) + packed + "_ALIGN", std::max<std::int64_t>(buffer.align, 1));
    }
    const Workspace none{0, 1};
    const Workspace& workspace = unit_.workspace ? *unit_.workspace : none;
    text += constant("WORKSPACE_BYTES", workspace.bytes);
    return text + constant("WORKSPACE_ALIGN", workspace.align) + "\n";
  }
  std::string constant(const std::string& name, std::int64_t value) {
    return fmt::format("#define {} {}\n", names_.unique(upper(unit_.name) + "_" + name), value);
  }

  std::string entry_comment() const {
    std::string text = "/* Arguments:\n";
    for (const EntryArgument& a : unit_.arguments) {
      const Buffer& buffer = program_.buffers[a.buffer.index()];
      text +=
          fmt::format("     {}: {}\n", a.name,
                      buffer.ahead_of_time ? fmt::format("packed copy, filled by {}_pack, not written", unit_.name)
                                           : tensor_text(program_.kernel.tensors[buffer.tensor.index()], a.written));
    }
    if (unit_.workspace) text += fmt::format("     {}: memory that holds nothing from call to call\n", workspace_name);
    text += "   Arrays do not overlap.\n   Threads: any number of calls may run at a time, each with outputs";
    text += unit_.workspace ? " and a workspace of its own; nothing is kept from call to call." : " of its own.";
    if (!unit_.pack.empty()) text += fmt::format(" They may share packed copies, while no {}_pack runs.", unit_.name);
    text += "\n";
    for (const Assumption& assumption : program_.assumptions)
      text += "   Assumed: " + comment_text(assumption.text) + "\n";
    return text + "*/\n";
  }
  static std::string tensor_text(const Tensor& tensor, bool written) {
    return fmt::format("{}{}{}, {}", name(tensor.dtype), list_of(tensor.shape),
                       tensor.strides.empty() ? "" : ", strides " + list_of(tensor.strides) + " in elements",
                       !written       ? "read"
                       : tensor.inout ? "read and written"
                                      : "written");
  }

  const TranslationUnit& unit_;
  const Program& program_;
  Names names_;
};

}  // namespace

std::string c_type(const EntryArgument& argument, const Program& program) {
  const auto without_std = [](const std::string& type) { return type.starts_with("std::") ? type.substr(5) : type; };
  const std::string type = without_std(argument.type);
  for (const char* known :
       {"float", "double", "int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t"})
    if (type == known) return type;
  return without_std(portable_type(program.buffers[argument.buffer.index()].dtype));  // of the same size
}

std::string c_prototype(const TranslationUnit& unit, bool pack, const Program& program) {
  std::string list;
  for (const EntryArgument& a : pack ? unit.pack : unit.arguments)
    list += fmt::format("{}{}{}* {}", list.empty() ? "" : ", ", a.written ? "" : "const ", c_type(a, program), a.name);
  if (unit.workspace) list += fmt::format("{}void* {}", list.empty() ? "" : ", ", workspace_name);
  return fmt::format("void {}{}({})", unit.name, pack ? "_pack" : "", list);
}

std::string print_header(const TranslationUnit& unit, const Program& program) { return Header(unit, program).print(); }

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/symbolic/padded_copies.h"

#include <fmt/format.h>

#include "backends/cpp/text/types.h"

namespace isamap {
namespace {

/// A copy whose axes were rounded up, rows and zeros after them; none where the extents are the same. Axes behind the
/// last one that was rounded up are part of a row.
std::string rounded_text(const GridShape& shape, TensorId id, const SymbolicKernel& kernel, const EntryNames& names,
                         const HardwareModel& model) {
  const PaddedCopy& copy = shape.padded.at(id);
  const Tensor& tensor = shape.kernel.tensors[id.index()];
  const std::vector<AffineExpr>& whole = kernel.shapes[shape.tensors[id.index()].index()];
  const std::string name = names.pointers.at(shape.tensors[id.index()]), type = element_type(model, tensor.dtype);
  std::size_t last = copy.low.size() - 1;
  while (last > 0 && copy.extents[last] == whole[last]) --last;
  std::string text = fmt::format(
      "    static thread_local GrowingArray {0}_memory;\n    const {1}* {0}_padded = {0};\n    {{\n", name, type);
  std::string element = std::to_string(bytes(tensor.dtype));
  for (std::size_t d = last + 1; d < copy.low.size(); ++d) element += " * (" + size_text(whole[d], names.sizes) + ")";
  std::string rows = "1", to_rows = "1", same, inside, from = "0", to = "0", loops;
  for (std::size_t d = 0; d <= last; ++d) {
    text += fmt::format("      const long shape{0} = {1}, extent{0} = {2};\n", d, size_text(whole[d], names.sizes),
                        size_text(copy.extents[d], names.sizes));
    same += fmt::format("{}extent{} != shape{}", d == 0 ? "" : " || ", d, d);
    if (d == last) break;
    rows += fmt::format(" * shape{}", d), to_rows += fmt::format(" * extent{}", d);
    loops += fmt::format("{0}for (long i{1} = 0; i{1} < extent{1}; ++i{1})", d == 0 ? "        " : " ", d);
    inside += fmt::format("{}i{} < shape{}", d == 0 ? "" : " && ", d, d);
    from = fmt::format("({}) * shape{} + i{}", from, d, d);
    to = fmt::format("({}) * extent{} + i{}", to, d, d);
  }
  text += fmt::format(
      "      if ({0}) {{\n        const long row = shape{1} * {2}, padded = extent{1} * {2};\n"
      "        char* const copy = static_cast<char*>({3}_memory.at({4} * padded + slack));\n"
      "        const char *const all = reinterpret_cast<const char*>({3}), *const end = all + {5} * row;\n",
      same, last, element, name, to_rows, rows);
  text += fmt::format(
      "{0} {{\n          const long n = {1} ? row : 0;\n"
      "          copy_row(copy + ({2}) * padded, n > 0 ? all + ({3}) * row : all, n, padded, end);\n"
      "        }}\n        {4}_padded = reinterpret_cast<const {5}*>(copy);\n      }}\n    }}\n",
      loops.empty() ? "       " : loops, inside.empty() ? "true" : inside, to, from, name, type);
  return text;
}

/// A copy with what lies outside, row by row.
std::string padded_text(const GridShape& shape, TensorId id, const SymbolicKernel& kernel, const EntryNames& names,
                        const HardwareModel& model) {
  const PaddedCopy& copy = shape.padded.at(id);
  const Tensor& tensor = shape.kernel.tensors[id.index()];
  const std::size_t whole = shape.tensors[id.index()].index();
  const std::string name = names.pointers.at(shape.tensors[id.index()]), type = element_type(model, tensor.dtype);
  std::string all = std::to_string(bytes(tensor.dtype)), indent = "      ", inside = "true";
  std::string from = "0", to = "0";
  for (std::size_t d = 0; d < copy.low.size(); ++d) all += fmt::format(" * extent{}", d);
  std::string text;
  for (std::size_t d = 0; d < copy.low.size(); ++d)
    text += fmt::format("      const long shape{0} = {1}, extent{0} = {2} > 0 ? {2} : 0;\n", d,
                        size_text(kernel.shapes[whole][d], names.sizes), size_text(copy.extents[d], names.sizes));
  text += fmt::format("      {0}_padded = static_cast<{1}*>({0}_memory.at({2}));\n", name, type, all);
  for (std::size_t d = 0; d < copy.low.size(); ++d) {
    text += fmt::format("{0}for (long i{1} = 0; i{1} < extent{1}; ++i{1})\n", indent, d);
    indent += "  ";
    const std::string at = copy.low[d] == 0 ? fmt::format("i{}", d) : fmt::format("(i{} + ({}))", d, copy.low[d]);
    inside += fmt::format(" && {0} >= 0 && {0} < shape{1}", at, d);
    from = fmt::format("({}) * shape{} + {}", from, d, at);
    to = fmt::format("({}) * extent{} + i{}", to, d, d);
  }
  text += fmt::format("{}{}_padded[{}] = {} ? {}[{}] : static_cast<{}>({});\n", indent, name, to, inside, name, from,
                      type, copy.value);
  return fmt::format("    static thread_local GrowingArray {0}_memory;\n    {1}* {0}_padded = nullptr;\n    {{\n", name,
                     type) +
         text + "    }\n";
}

}  // namespace

std::string padded_copy_text(const GridShape& shape, TensorId id, const SymbolicKernel& kernel, const EntryNames& names,
                             const HardwareModel& model) {
  const PaddedCopy& copy = shape.padded.at(id);
  const bool rounded = copy.value == 0 && copy.extents == shape.extents[id.index()];
  return rounded ? rounded_text(shape, id, kernel, names, model) : padded_text(shape, id, kernel, names, model);
}

}  // namespace isamap

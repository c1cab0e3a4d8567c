// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/symbolic/padded_copies.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backends/cpp/symbolic/block_arguments.h"
#include "backends/cpp/text/types.h"
#include "program/shared_copies.h"

namespace isamap {
namespace {

/// Over the positions of an axis of the copy: those that the cells of a thread read.
std::string copy_loop(const GridShape& shape, TensorId id, std::size_t d, const EntryNames& names) {
  const AxisMove& move = shape.moves[id.index()][d];
  if (!names.shared_axes.contains(move.axis)) return fmt::format("for (long i{0} = 0; i{0} < extent{0}; ++i{0})", d);
  return fmt::format(
      "for (long i{0} = {1} * begin{2}; begin{2} < end{2} && i{0} < {1} * (end{2} - ({3})) + extent{0}; "
      "++i{0})",
      d, move.factor, move.axis, extent_text(shape.axes[static_cast<std::size_t>(move.axis)], names.sizes));
}

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
    loops += (d == 0 ? "        " : " ") + copy_loop(shape, id, d, names);
    inside += fmt::format("{}i{} < shape{}", d == 0 ? "" : " && ", d, d);
    from = fmt::format("({}) * shape{} + i{}", from, d, d);
    to = fmt::format("({}) * extent{} + i{}", to, d, d);
  }
  text += fmt::format(
      "      if ({0}) {{\n        const long row = shape{1} * {2}, padded = extent{1} * {2};\n"
      "        char* const copy = static_cast<char*>({3}_memory.at({4} * padded + slack));\n"
      "        const char *const all = reinterpret_cast<const char*>({3}), *const end = all + {5} * row;\n",
      same, last, element, name, to_rows, rows);
  const bool kept = !names.packings.empty() && is_kept_constant(shape, id);
  if (kept) text += fmt::format("        if (!{})\n", names.kept.at(shape.tensors[id.index()]).is_kept);
  text += fmt::format(
      "{0} {{\n          const long n = {1} ? row : 0;\n"
      "          copy_row(copy + ({2}) * padded, n > 0 ? all + ({3}) * row : all, n, padded, end);\n"
      "        }}\n        {4}_padded = reinterpret_cast<const {5}*>(copy);\n      }}\n    }}\n",
      loops.empty() ? "       " : loops, inside.empty() ? "true" : inside, to, from, name, type);
  return text;
}

/// Rows from the last axis on that is read beyond its edges: `row` of the copy, `source` of the tensor or null.
struct PaddedRows {
  std::string loops, row, source, whole;  ///< `whole`: where all of a row is needed; empty: everywhere
  std::size_t last = 0;                   ///< axis
};

PaddedRows padded_rows(const GridShape& shape, TensorId id, const std::vector<AffineExpr>& extents,
                       const PaddingZones* zones, const EntryNames& names) {
  const std::string& name = names.pointers.at(shape.tensors[id.index()]);
  const PaddedCopy& copy = shape.padded.at(id);
  PaddedRows rows;
  rows.last = copy.low.size() - 1;
  while (rows.last > 0 && copy.low[rows.last] == 0 && copy.extents[rows.last] == extents[rows.last]) --rows.last;
  std::string inside, from = "0", to = "0";
  for (std::size_t d = 0; d < rows.last; ++d) {
    rows.loops += "      " + copy_loop(shape, id, d, names) + "\n";
    const std::string at = copy.low[d] == 0 ? fmt::format("i{}", d) : fmt::format("(i{} + ({}))", d, copy.low[d]);
    if (copy.low[d] != 0 || copy.extents[d] != extents[d])
      inside += fmt::format("{0}{1} >= 0 && {1} < shape{2}", inside.empty() ? "" : " && ", at, d);
    from = fmt::format("({}) * shape{} + {}", from, d, at);
    to = fmt::format("({}) * extent{} + i{}", to, d, d);
    for (const auto& [axis, zone] : zones != nullptr ? zones->axes : std::map<int, InnerZone>{})
      if (zone.dim == d) rows.whole += fmt::format("i{0} < below{1} || i{0} >= above{1} || ", d, axis);
  }
  rows.row = fmt::format("{}_padded + ({}) * extent{} * inner", name, to, rows.last);
  rows.source = fmt::format("{} + ({}) * shape{} * inner", name, from, rows.last);
  if (!inside.empty()) rows.source = fmt::format("{} ? {} : nullptr", inside, rows.source);
  return rows;
}

/// What edges of a zone need: positions below `belowA` and from `aboveA` on.
std::string edges_text(const PaddingZones& zones) {
  std::string text;
  for (const auto& [a, zone] : zones.axes)
    text += fmt::format(
        "      const long below{0} = zone{0}[0] > 0 ? {1} * (zone{0}[0] - 1) + {2} : 0;\n"
        "      const long above{0} = zone{0}[1] < zone{0}[2] ? {1} * zone{0}[1] : extent{3};\n",
        a, zone.factor, zone.span + 1, zone.dim);
  return text;
}

/// A copy with what lies outside, row by row; of zones, what cells at edges read.
std::string padded_text(const GridShape& shape, TensorId id, const SymbolicKernel& kernel, const EntryNames& names,
                        const HardwareModel& model, const PaddingZones* zones) {
  const PaddedCopy& copy = shape.padded.at(id);
  const Tensor& tensor = shape.kernel.tensors[id.index()];
  const std::vector<AffineExpr>& extents = kernel.shapes[shape.tensors[id.index()].index()];
  const std::string name = names.pointers.at(shape.tensors[id.index()]), type = element_type(model, tensor.dtype);
  const PaddedRows rows = padded_rows(shape, id, extents, zones, names);
  std::string all = std::to_string(bytes(tensor.dtype)), inner = "1", text;
  for (std::size_t d = 0; d < copy.low.size(); ++d) {
    text += fmt::format("      [[maybe_unused]] const long shape{0} = {1}, extent{0} = {2} > 0 ? {2} : 0;\n", d,
                        size_text(extents[d], names.sizes), size_text(copy.extents[d], names.sizes));
    all += fmt::format(" * extent{}", d);
    if (d > rows.last) inner += fmt::format(" * extent{}", d);
  }
  std::string count = "1";
  for (std::size_t d = 0; d < copy.low.size(); ++d) count += fmt::format(" * shape{}", d);
  text += fmt::format(
      "      const long inner = {0};\n      {1}_padded = static_cast<{2}*>({1}_memory.at({3} + slack));\n"
      "      const {2}* const end = {1} + {4};\n",
      inner, name, type, all, count);
  const std::string value = std::isfinite(copy.value) ? fmt::format("{}", copy.value)
                            : copy.value > 0          ? "__builtin_inf()"
                                                      : "-__builtin_inf()";
  const auto part = [&](const std::string& begin, const std::string& end) {
    return fmt::format(
        "pad_row<{0}>(row, {{source, end}}, {{{1} * inner, {2} * inner}}, {3} * inner, shape{4} * inner, {5});", type,
        begin, end, -copy.low[rows.last], rows.last, value);
  };
  const std::string end = fmt::format("extent{}", rows.last);
  std::string fill = part("0", end);
  for (const auto& [a, zone] : zones != nullptr ? zones->axes : std::map<int, InnerZone>{})
    if (zone.dim == rows.last)
      fill = fmt::format(
          "if ({0}below{1} >= above{1}) {{\n          {2}\n        }} else {{\n          {3}\n          {4}\n        "
          "}}",
          rows.whole, a, fill, part("0", fmt::format("below{}", a)), part(fmt::format("above{}", a), end));
  text +=
      (zones != nullptr ? edges_text(*zones) : "") + names.once + rows.loops +
      fmt::format(
          "      {{\n        {0}* const row = {1};\n        const {0}* const source = {2};\n        {3}\n      }}\n",
          type, rows.row, rows.source, fill);
  return fmt::format("    static thread_local GrowingArray {0}_memory;\n    {1}* {0}_padded = nullptr;\n{2}    {{\n",
                     name, type, names.copied) +
         text + "    }\n";
}

}  // namespace

std::string padded_copy_text(const GridShape& shape, TensorId id, const SymbolicKernel& kernel, const EntryNames& names,
                             const HardwareModel& model, const PaddingZones* zones) {
  const PaddedCopy& copy = shape.padded.at(id);
  const bool moved = std::any_of(copy.low.begin(), copy.low.end(), [](std::int64_t low) { return low != 0; });
  const bool rounded = !moved && copy.value == 0 && copy.extents == shape.extents[id.index()];
  return rounded ? rounded_text(shape, id, kernel, names, model) : padded_text(shape, id, kernel, names, model, zones);
}

}  // namespace isamap

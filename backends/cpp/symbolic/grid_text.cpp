// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/symbolic/grid_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/cpp/symbolic/block_arguments.h"
#include "backends/cpp/symbolic/padded_copies.h"
#include "backends/cpp/text/types.h"
#include "program/shared_copies.h"

namespace isamap {
namespace {

/// Fills `runsA` and `manyA` for an axis.
std::string runs_text(const GridAxis& axis, std::size_t a, const EntryNames& names) {
  std::string text = fmt::format("    Run runs{}[{}];\n    long many{} = 0;\n    {{\n      long at = 0, left = {};\n",
                                 a, axis.runs.size() + 1, a, size_text(axis.extent, names.sizes));
  for (std::size_t r = 0; r < axis.runs.size(); ++r) {
    const DimRun& run = axis.runs[r];
    if (run.tile == 0) continue;
    // A sum over nothing starts, too.
    text += fmt::format(
        "      if (const long n = left / {0} * {0}; n > 0{1}) runs{2}[many{2}++] = {{{3}, at, n}}, at += n, left -= "
        "n;\n",
        run.tile, axis.reduced && r == 0 ? " || left == 0" : "", a, r);
  }
  std::size_t first = 0;
  while (first < axis.runs.size() && axis.runs[first].tile > 0) ++first;
  if (first < axis.runs.size()) {
    const std::int64_t most = axis.runs.back().high;
    std::string table = "0";
    for (std::int64_t rest = 1; rest <= most; ++rest) {
      std::size_t r = first;
      while (r < axis.runs.size() && !(axis.runs[r].low <= rest && rest <= axis.runs[r].high)) ++r;
      table += fmt::format(", {}", r);
    }
    text += fmt::format(
        "      static const unsigned char run_of[{0}] = {{{1}}};\n"
        "      if (left > 0) runs{2}[many{2}++] = {{run_of[left], at, left}};\n",
        most + 1, table, a);
  }
  return text + "    }\n";
}

/// Of an extent: the runs of tiles, and one of what they leave.
std::size_t most_runs(const Grid& grid, int axis) {
  const std::vector<DimRun>& runs = grid.shape.axes[static_cast<std::size_t>(axis)].runs;
  const auto tiles =
      static_cast<std::size_t>(std::count_if(runs.begin(), runs.end(), [](const DimRun& run) { return run.tile > 0; }));
  return tiles + (tiles < runs.size() ? 1 : 0);
}

/// For each input that is copied: the copy of each block, memory by runs of its axes, and which copy is there.
std::string copy_tables(const Grid& grid, const GridFunctions& functions) {
  std::string text;
  for (const auto& [tensor, numbers] : functions.copy_of) {
    const std::string name = copy_name(grid.shape, tensor);
    std::string list;
    for (const std::size_t number : numbers) list += fmt::format("{}{}", list.empty() ? "" : ", ", number);
    std::size_t places = 1;
    for (const int axis : axes_of(grid.shape, tensor)) places *= most_runs(grid, axis);
    text += fmt::format(
        "    static const unsigned short {0}_of[{1}] = {{{2}}};\n    static thread_local GrowingArray "
        "{0}_memory[{3}];\n"
        "    long {0}_there[{3}] = {{}};\n",
        name, numbers.size(), list, places);
  }
  return text;
}

std::string block_table(const Grid& grid, const GridFunctions& functions, const HardwareModel& model) {
  std::string types;
  for (const TensorId id : arguments(grid.shape.kernel)) {
    const Tensor& tensor = grid.shape.kernel.tensors[id.index()];
    const bool written = id == grid.shape.kernel.statements[0].write.tensor;
    types += fmt::format("{}{}{}* __restrict", types.empty() ? "" : ", ", written ? "" : "const ",
                         element_type(model, tensor.dtype));
  }
  for (std::size_t n = 0; n < stride_arguments(grid.shape).size() + grid.shape.axes.size(); ++n) types += ", long";
  for (std::size_t n = 0; n < functions.copy_of.size(); ++n) types += ", GrowingArray&";
  std::string names;
  for (std::size_t b = 0; b < grid.blocks.size(); ++b) names += (b == 0 ? "" : ", ") + functions.blocks[b];
  std::string text =
      fmt::format("    static void (*const blocks[{}])({}) = {{{}}};\n", grid.blocks.size(), types, names);
  if (functions.copies.empty()) return text;
  names.clear();
  for (const std::string& copy : functions.copies) names += ", " + copy;
  return text +
         fmt::format("    static void (*const copies[{}])({}) = {{nullptr{}}};\n", functions.copies.size() + 1, types,
                     names) +
         copy_tables(grid, functions);
}

/// The block of the cell of these runs; those that add to a sum come after those that start it.
std::string cell_number(const Grid& grid) {
  const std::vector<GridAxis>& axes = grid.shape.axes;
  std::string number = "0", starts;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    number = a == 0 ? fmt::format("runs{0}[r{0}].number", a)
                    : fmt::format("({0}) * {1} + runs{2}[r{2}].number", number, axes[a].runs.size(), a);
    if (axes[a].reduced) starts += fmt::format("{}r{} == 0", starts.empty() ? "" : " && ", a);
  }
  if (grid.has_adding_blocks()) number = fmt::format("({} ? 0 : {}) + {}", starts, block_count(grid), number);
  return number;
}

/// Its first elements, strides and counts.
std::string cell_arguments(const GridShape& shape, const EntryNames& names) {
  std::string list;
  for (const TensorId id : arguments(shape.kernel)) {
    list += (list.empty() ? "" : ", ") + names.pointers.at(shape.tensors[id.index()]);
    if (shape.padded.contains(id)) list += "_padded";
    const auto& moves = shape.moves[id.index()];
    for (std::size_t d = 0; d < moves.size(); ++d) {
      if (moves[d].axis < 0) continue;
      const SizeProduct& stride = shape.strides[id.index()][d];
      const std::string step =
          stride.is_number()
              ? std::to_string(stride.number * moves[d].factor)
              : fmt::format("{} * {}", stride_name(shape.kernel.tensors[id.index()], d), moves[d].factor);
      list += fmt::format(" + {0} * runs{1}[r{1}].at", step, moves[d].axis);
    }
  }
  for (const auto& [t, d] : stride_arguments(shape)) list += ", " + stride_name(shape.kernel.tensors[t], d);
  for (std::size_t a = 0; a < shape.axes.size(); ++a) list += fmt::format(", runs{0}[r{0}].count", a);
  return list;
}

/// Calls the block of a cell, after copies that it needs and that are not there yet.
std::string cell_call(const Grid& grid, const GridFunctions& functions, const EntryNames& names,
                      const std::string& indent) {
  const GridShape& shape = grid.shape;
  const std::string number = cell_number(grid), list = cell_arguments(shape, names);
  if (functions.copies.empty()) return indent + fmt::format("blocks[{}]({});\n", number, list);
  std::string text = fmt::format("{} {{\n{}const long block = {};\n", indent.substr(2), indent, number), arrays;
  for (const auto& [tensor, numbers] : functions.copy_of) {
    const std::string name = copy_name(shape, tensor);
    std::string place = "0";
    for (const int axis : axes_of(shape, tensor))
      place = fmt::format("({}) * {} + r{}", place, most_runs(grid, axis), axis);
    text +=
        fmt::format("{0}const long {1}_at = {2};\n{0}GrowingArray& {1} = {1}_memory[{1}_at];\n", indent, name, place);
    arrays += ", " + name;
  }
  for (const auto& [tensor, numbers] : functions.copy_of)
    text += fmt::format(
        "{0}if (const long c = {1}_of[block]; c != 0 && c != {1}_there[{1}_at]) {1}_there[{1}_at] = c, "
        "copies[c]({2}{3});\n",
        indent, copy_name(shape, tensor), list, arrays);
  return text + fmt::format("{0}blocks[block]({1}{2});\n{3}}}\n", indent, list, arrays, indent.substr(2));
}

}  // namespace

std::string grid_text(const Grid& grid, const GridFunctions& functions, const SymbolicKernel& kernel,
                      const EntryNames& names, const HardwareModel& model) {
  const GridShape& shape = grid.shape;
  std::string text = "  {\n";
  for (const auto& [t, d] : stride_arguments(shape)) {
    const SizeProduct& stride = shape.strides[t][d];
    std::string product = std::to_string(stride.number);
    for (const AffineExpr& factor : stride.factors) product += " * (" + size_text(factor, names.sizes) + ")";
    text += fmt::format("    const long {} = {};\n", stride_name(shape.kernel.tensors[t], d), product);
  }
  for (const auto& [id, copy] : shape.padded) text += padded_copy_text(shape, id, kernel, names, model);
  for (std::size_t a = 0; a < shape.axes.size(); ++a) text += runs_text(shape.axes[a], a, names);
  text += block_table(grid, functions, model);
  std::string indent = "    ";
  for (const int axis : grid.order) {
    text += fmt::format("{0}for (long r{1} = 0; r{1} < many{1}; ++r{1})\n", indent, axis);
    indent += "  ";
  }
  return text + cell_call(grid, functions, names, indent) + "  }\n";
}

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/symbolic/grid_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "backends/cpp/function/team.h"
#include "backends/cpp/symbolic/block_arguments.h"
#include "backends/cpp/symbolic/padded_copies.h"
#include "backends/cpp/symbolic/shared_cells.h"
#include "backends/cpp/text/names.h"
#include "backends/cpp/text/types.h"
#include "program/padding_zones.h"
#include "program/shared_copies.h"

namespace isamap {
namespace {

/// What the text of a grid needs to know.
struct GridPlace {
  const Grid& grid;
  const SymbolicKernel& kernel;
  const EntryNames& names;
  std::optional<PaddingZones> zones;
  const Strip* strip;  ///< null: all rows at once

  bool has_edges() const { return zones && !grid.edges.empty() && strip == nullptr; }
  bool is_zoned(int axis) const { return zones && zones->axes.contains(axis); }
  bool is_cut(int axis) const { return strip != nullptr && strip->axis == axis; }
};

/// Appends the runs of `left` positions from `at` on. A sum over nothing starts, too.
std::string cut_text(const GridAxis& axis, std::size_t a, const std::string& indent, const std::string& edge) {
  std::string text;
  const bool halved = halves_remainders(axis);
  std::size_t first = 0;
  while (first < axis.runs.size() && axis.runs[first].tile > 0) ++first;
  for (std::size_t r = 0; r < first; ++r) {
    const std::int64_t tile = axis.runs[r].tile;
    std::string count = fmt::format("left / {0} * {0}", tile);
    if (halved && r + 1 == first)
      count += fmt::format(" - (left > {0} && left % {0} > 0 && left % {0} < {1} ? {0} : 0)", tile, tile / 2);
    text += fmt::format(
        "{5}if (const long n = {0}; n > 0{1}) runs{2}[many{2}++] = {{{3}, at, n{4}}}, at += n, left -= n;\n", count,
        axis.reduced && r == 0 ? " || left == 0" : "", a, r, edge, indent);
  }
  if (first == axis.runs.size()) return text;
  const std::int64_t most = axis.runs.back().high;
  std::string table = "0";
  for (std::int64_t remainder = 1; remainder <= most; ++remainder) {
    std::size_t r = first;
    while (r < axis.runs.size() && !(axis.runs[r].low <= remainder && remainder <= axis.runs[r].high)) ++r;
    table += fmt::format(", {}", r);
  }
  text += fmt::format("{2}static const unsigned char run_of[{0}] = {{{1}}};\n", most + 1, table, indent);
  if (halved)
    text += fmt::format(
        "{0}if (const long n = (left + 1) / 2; left > {1}) runs{2}[many{2}++] = {{run_of[n], at, n{3}}}, at += n, left "
        "-= n;\n",
        indent, most, a, edge);
  return text + fmt::format("{0}if (left > 0) runs{1}[many{1}++] = {{run_of[left], at, left{2}}}{3};\n", indent, a,
                            edge, edge.empty() ? "" : ", at += left");
}

/// Of an extent: the runs of tiles, and one or two of what they leave; of zones, those of each.
std::size_t most_runs(const GridPlace& place, int axis) {
  const GridAxis& cut = place.grid.shape.axes[static_cast<std::size_t>(axis)];
  const std::vector<DimRun>& runs = cut.runs;
  const auto tiles =
      static_cast<std::size_t>(std::count_if(runs.begin(), runs.end(), [](const DimRun& run) { return run.tile > 0; }));
  return (tiles + (tiles < runs.size() ? 1 : 0) + (halves_remainders(cut) ? 1 : 0)) * (place.is_zoned(axis) ? 3 : 1);
}

/// Fills `runsA` and `manyA` for an axis; from the first row of a strip on.
std::string runs_text(const GridPlace& place, std::size_t a) {
  const GridAxis& axis = place.grid.shape.axes[a];
  const int number = static_cast<int>(a);
  std::string text =
      fmt::format("    Run runs{0}[{1}];\n    long many{0} = 0;\n    {{\n", a, most_runs(place, number) + 1);
  if (!place.is_zoned(number)) {
    text += fmt::format("      long at = 0, left = {};\n",
                        place.is_cut(number) ? "strip" : extent_text(axis, place.names.sizes));
    return text + cut_text(axis, a, "      ", "") + "    }\n";
  }
  const std::string end = fmt::format("zone{}[z]", a);
  return text +
         fmt::format(
             "      long at = {};\n      for (int z = {}; z < {}; ++z) {{\n        const bool edge = z != 1;\n"
             "        long left = {} - at;\n",
             place.has_edges() ? fmt::format("by_edges ? zone{}[0] : 0", a) : "0",
             place.has_edges() ? "by_edges ? 1 : 0" : "0", place.has_edges() ? "(by_edges ? 2 : 3)" : "3",
             place.is_cut(number) ? fmt::format("clamped({} - strip0, 0, strip)", end) : end) +
         cut_text(axis, a, "        ", ", edge") + "      }\n    }\n";
}

/// Whether the copies of a constant are those of the call before: of the same array, at the same sizes, and NAME_pack
/// was not called since.
std::string kept_text(const GridPlace& place) {
  std::string text;
  const GridShape& shape = place.grid.shape;
  for (std::size_t t = 0; t < shape.tensors.size() && !place.names.packings.empty(); ++t) {
    const auto id = make_id<TensorId>(t);
    if (!is_kept_constant(shape, id)) continue;
    std::set<std::string> sizes;
    const std::size_t whole = shape.tensors[t].index();
    for (const AffineExpr& extent : place.kernel.shapes[whole]) sizes.merge(extent.names());
    for (const AffineExpr& stride : place.kernel.strides[whole]) sizes.merge(stride.names());
    for (const AffineExpr& first : shape.first.empty() ? std::vector<AffineExpr>{} : shape.first[t])
      sizes.merge(first.names());
    for (const int axis : axes_of(shape, id))
      for (const AffineExpr& factor : shape.axes[static_cast<std::size_t>(axis)].extent.factors)
        sizes.merge(factor.names());
    const auto& [name, last, shared] = place.names.kept.at(shape.tensors[t]);
    const std::string &array = place.names.pointers.at(shape.tensors[t]), &packings = place.names.packings;
    std::string same = fmt::format("{0} > 0 && {1}.packing == {0} && {1}.array == {2}", packings, last, array), list;
    std::size_t n = 0;
    for (const std::string& size : sizes) {
      same += fmt::format(" && {}.sizes[{}] == {}", last, n++, place.names.sizes.at(size));
      list += (list.empty() ? "" : ", ") + place.names.sizes.at(size);
    }
    for (std::size_t a = 0; shared && a <= place.grid.shares.tiles.size(); ++a) {
      const std::string own = a == 0 ? "share" : fmt::format("shared[{}].shares", a - 1);
      same += fmt::format(" && {}.sizes[{}] == {}", last, n++, own);
      list += (list.empty() ? "" : ", ") + own;
    }
    text += fmt::format(
        "    static thread_local KeptCopies<{0}> {1};\n    const bool {2} = {3};\n"
        "    if (!{2}) {1} = {{{4}, {5}, {{{6}}}}};\n",
        std::max<std::size_t>(n, 1), last, name, same, array, packings, list);
  }
  return text;
}

/// Where the zones of an axis end.
std::string zones_text(const GridPlace& place) {
  std::string text;
  if (!place.zones) return text;
  for (const auto& [a, zone] : place.zones->axes) {
    const std::string extent = extent_text(place.grid.shape.axes[static_cast<std::size_t>(a)], place.names.sizes);
    text += fmt::format(
        "    const long zone{0}[3] = {{clamped({1}, 0, {2}), clamped({3}, clamped({1}, 0, {2}), {2}), {2}}};\n", a,
        zone.first, extent, size_text(zone.end, place.names.sizes));
  }
  if (place.has_edges()) {
    std::string inner;  // each axis has inner positions
    for (const auto& [a, zone] : place.zones->axes)
      inner += fmt::format("{0}zone{1}[0] < zone{1}[1]", inner.empty() ? "" : " && ", a);
    text += fmt::format("    const bool by_edges = {};\n", inner);
  }
  const TensorId tensor = place.zones->tensor;
  const std::vector<SizeProduct> own = own_strides(place.grid.shape, tensor, place.kernel);
  for (std::size_t d = 0; d < own.size(); ++d)
    text += fmt::format("    [[maybe_unused]] const long {}_own{} = {};\n",
                        identifier(place.grid.shape.kernel.tensors[tensor.index()].name), d,
                        product_text(own[d], place.names.sizes));
  return text;
}

/// For each input that is copied: the copy of each block, memory by runs of its axes, and which copy is there.
std::string copy_tables(const GridPlace& place, const GridFunctions& functions) {
  const Grid& grid = place.grid;
  std::string text;
  for (const auto& [tensor, numbers] : functions.copy_of) {
    const std::string name = copy_name(grid.shape, tensor);
    std::string list;
    for (const std::size_t number : numbers) list += fmt::format("{}{}", list.empty() ? "" : ", ", number);
    std::size_t places = 1;
    bool is_cut = false;  // else its copies serve all strips
    for (const int axis : axes_of(grid.shape, tensor)) {
      places *= most_runs(place, axis);
      is_cut = is_cut || place.is_cut(axis);
    }
    text += fmt::format(
        "    static const unsigned short {0}_of[{1}] = {{{2}}};\n    static thread_local GrowingArray "
        "{0}_memory[{3}];\n",
        name, numbers.size(), list, places);
    if (const auto borrow = functions.borrow.find(tensor); borrow != functions.borrow.end()) {
      list.clear();
      for (std::size_t b = 0; b < numbers.size(); ++b)
        list += fmt::format("{}{}", b == 0 ? "" : ", ", borrow->second.contains(b) ? 1 : 0);
      text += fmt::format("    static const bool {}_borrowed[{}] = {{{}}};\n", name, numbers.size(), list);
    }
    const bool kept = !place.names.packings.empty() && is_kept_constant(grid.shape, tensor) && !is_cut;
    if (!kept && (place.strip == nullptr || is_cut)) {
      text += fmt::format("    long {}_there[{}] = {{}};\n", name, places);
      continue;
    }
    std::string anew = place.strip != nullptr ? "strip0 == " + place.strip->first : "";
    if (kept) anew += (anew.empty() ? "!" : " && !") + place.names.kept.at(grid.shape.tensors[tensor.index()]).is_kept;
    text += fmt::format(
        "    static thread_local long {0}_there[{1}];\n    if ({2}) std::memset({0}_there, 0, sizeof {0}_there);\n",
        name, places, anew);
  }
  return text;
}

std::string block_table(const GridPlace& place, const GridFunctions& functions, const HardwareModel& model) {
  const Grid& grid = place.grid;
  std::string types;
  for (const TensorId id : arguments(grid.shape.kernel)) {
    const Tensor& tensor = grid.shape.kernel.tensors[id.index()];
    const bool written = id == grid.shape.kernel.statements[0].write.tensor;
    types += fmt::format("{}{}{}* __restrict", types.empty() ? "" : ", ", written ? "" : "const ",
                         element_type(model, tensor.dtype));
  }
  const std::size_t numbers = stride_arguments(grid.shape).size() + grid.shape.axes.size() +
                              ended_axes(grid.shape).size() + 2 * skipping_axes(grid).size() +
                              panel_inputs(grid).size();
  for (std::size_t n = 0; n < numbers; ++n) types += ", long";
  for (const TensorId id : packed_inputs(grid))
    types += fmt::format(", const {}* __restrict", element_type(model, grid.shape.kernel.tensors[id.index()].dtype));
  std::string names;
  for (std::size_t b = 0; b < grid.blocks.size(); ++b) names += (b == 0 ? "" : ", ") + functions.blocks[b];
  std::string text =
      fmt::format("    static void (*const blocks[{}])({}) = {{{}}};\n", grid.blocks.size(), types, names);
  if (functions.copies.empty()) return text;
  names.clear();
  for (const std::string& copy : functions.copies) names += ", " + copy;
  for (std::size_t n = 0; n < functions.copy_of.size(); ++n) types += ", GrowingArray&";
  return text +
         fmt::format("    static void (*const copies[{}])({}) = {{nullptr{}}};\n", functions.copies.size() + 1, types,
                     names) +
         copy_tables(place, functions);
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

/// The first element of a cell.
std::string cell_pointer(const GridPlace& place, TensorId id) {
  const GridShape& shape = place.grid.shape;
  const TensorId whole = shape.tensors[id.index()];
  const std::string& name = place.names.pointers.at(whole);
  const bool zoned = place.zones && place.zones->tensor == id;
  const bool local = place.strip != nullptr && place.strip->local.contains(whole);
  std::string text = name + (shape.padded.contains(id) ? "_padded" : ""), own;
  const auto& moves = shape.moves[id.index()];
  for (std::size_t d = 0; d < moves.size(); ++d) {
    const SizeProduct& stride = shape.strides[id.index()][d];
    if (!shape.first.empty() && shape.first[id.index()][d] != AffineExpr(0))
      text += fmt::format(
          " + {} * ({})",
          stride.is_number() ? std::to_string(stride.number) : stride_name(shape.kernel.tensors[id.index()], d),
          size_text(shape.first[id.index()][d], place.names.sizes));
    if (moves[d].axis < 0) continue;
    std::string at = fmt::format("runs{0}[r{0}].at", moves[d].axis);
    if (place.is_cut(moves[d].axis) && !local) at = "(strip0 + " + at + ")";
    text += " + " +
            (stride.is_number()
                 ? std::to_string(stride.number * moves[d].factor)
                 : fmt::format("{} * {}", stride_name(shape.kernel.tensors[id.index()], d), moves[d].factor)) +
            " * " + at;
    if (zoned)
      own += fmt::format(" + {}_own{} * ({} * {} + ({}))", identifier(shape.kernel.tensors[id.index()].name), d,
                         moves[d].factor, at, shape.padded.at(id).low[d]);
  }
  return zoned ? fmt::format("edge ? {} : {}{}", text, name, own) : text;
}

/// The copy that was packed ahead of time of each block, by name; "nullptr": it has none.
std::vector<std::string> packed_copies(const GridPlace& place, TensorId id) {
  std::vector<std::string> names;
  for (const Block& block : place.grid.blocks) {
    std::string& name = names.emplace_back("nullptr");
    for (const auto& [own, shared] : block.constants)
      if (block.program.buffers[own.index()].tensor == id) name = place.names.packed.at(shared);
  }
  return names;
}

/// The names in it, each once. One alone serves all blocks.
std::vector<std::string> distinct_copies(const std::vector<std::string>& names) {
  std::set<std::string> found(names.begin(), names.end());
  found.erase("nullptr");
  return {found.begin(), found.end()};
}

bool has_packed_tables(const GridPlace& place) {
  const std::vector<TensorId> inputs = packed_inputs(place.grid);
  return std::any_of(inputs.begin(), inputs.end(),
                     [&](TensorId id) { return distinct_copies(packed_copies(place, id)).size() > 1; });
}

/// Where blocks read different copies: which one each block reads.
std::string packed_tables(const GridPlace& place, const HardwareModel& model) {
  std::string text;
  for (const TensorId id : packed_inputs(place.grid)) {
    const std::vector<std::string> names = packed_copies(place, id), distinct = distinct_copies(names);
    if (distinct.size() < 2) continue;
    std::string numbers, copies = "nullptr";
    for (const std::string& name : distinct) copies += ", " + name;
    for (const std::string& name : names) {
      const auto at = std::find(distinct.begin(), distinct.end(), name);
      numbers += fmt::format("{}{}", numbers.empty() ? "" : ", ", at == distinct.end() ? 0 : at - distinct.begin() + 1);
    }
    text += fmt::format(
        "    const {0}* const {1}_copies[{2}] = {{{3}}};\n    static const unsigned char {1}_of[{4}] = {{{5}}};\n",
        element_type(model, place.grid.shape.kernel.tensors[id.index()].dtype), packed_name(place.grid.shape, id),
        distinct.size() + 1, copies, names.size(), numbers);
  }
  return text;
}

/// How blocks of the grid read this input in panels.
std::optional<Panels> panels_of(const Grid& grid, TensorId id) {
  for (const Block& block : grid.blocks)
    if (const auto found = block.panels.find(id); found != block.panels.end()) return found->second;
  return std::nullopt;
}

/// Stride of an axis of the input in its shared copy `[j/tile, .., j%tile]`; behind the last axis: that of panels.
std::string stride_in_panels(const GridShape& shape, TensorId id, const Panels& panels, std::size_t axis) {
  std::string text = std::to_string(panels.tile);
  const std::vector<AxisMove>& moves = shape.moves[id.index()];
  const bool all = axis == moves.size();
  for (std::size_t d = all ? 0 : axis + 1; d < moves.size(); ++d) {
    if (d == panels.dim) continue;
    text += moves[d].axis < 0 ? fmt::format(" * {}", shape.kernel.tensors[id.index()].shape[d])
                              : fmt::format(" * runs{0}[r{0}].count", moves[d].axis);
  }
  return text;
}

/// Its first elements, strides and counts, and copies that were packed ahead of time. `copied`: inputs of which the
/// block may get a shared copy.
std::string cell_arguments(const GridPlace& place, const HardwareModel& model, const std::set<TensorId>& copied) {
  const GridShape& shape = place.grid.shape;
  std::string list;
  for (const TensorId id : arguments(shape.kernel)) {
    const std::string own = cell_pointer(place, id), type = element_type(model, shape.kernel.tensors[id.index()].dtype);
    list += list.empty() ? "" : ", ";
    list += copied.contains(id)
                ? fmt::format("{0}_read ? static_cast<const {1}*>({0}.memory) : ({2})", copy_name(shape, id), type, own)
                : own;
  }
  for (const auto& [t, d] : stride_arguments(shape)) {
    const Tensor& tensor = shape.kernel.tensors[t];
    const auto id = make_id<TensorId>(t);
    const bool zoned = place.zones && place.zones->tensor.index() == t;
    const auto panels = copied.contains(id) ? panels_of(place.grid, id) : std::nullopt;
    list += ", ";
    list += panels  ? fmt::format("{}_read ? {} : {}", copy_name(shape, id), stride_in_panels(shape, id, *panels, d),
                                  stride_name(tensor, d))
            : zoned ? fmt::format("edge ? {} : {}_own{}", stride_name(tensor, d), identifier(tensor.name), d)
                    : stride_name(tensor, d);
  }
  for (std::size_t a = 0; a < shape.axes.size(); ++a) list += fmt::format(", runs{0}[r{0}].count", a);
  for (const std::size_t a : ended_axes(shape))
    list += fmt::format(", {0} - runs{1}[r{1}].at", size_text(*shape.axes[a].end, place.names.sizes), a);
  for (const auto& [t, d] : skipping_axes(place.grid)) {
    const AxisMove move = shape.moves[t][d];
    list += fmt::format(", {}", shape.padded.at(make_id<TensorId>(t)).low[d]);
    if (move.axis >= 0) list += fmt::format(" + {0} * runs{1}[r{1}].at", move.factor, move.axis);
    list += ", " + size_text(place.kernel.shapes[shape.tensors[t].index()][d], place.names.sizes);
  }
  for (const TensorId id : panel_inputs(place.grid)) {
    const Panels panels = *panels_of(place.grid, id);
    list += ", " + (copied.contains(id)
                        ? fmt::format("{}_read ? {} : {}", copy_name(shape, id),
                                      stride_in_panels(shape, id, panels, shape.moves[id.index()].size()), panels.tile)
                        : std::to_string(panels.tile));
  }
  for (const TensorId id : packed_inputs(place.grid)) {
    const std::vector<std::string> distinct = distinct_copies(packed_copies(place, id));
    list += ", " + (distinct.size() == 1 ? distinct.front()
                                         : fmt::format("{0}_copies[{0}_of[block]]", packed_name(shape, id)));
  }
  return list;
}

/// Calls the block of a cell, after copies that it needs and that are not there yet.
std::string cell_call(const GridPlace& place, const GridFunctions& functions, const HardwareModel& model,
                      const std::string& indent) {
  const GridShape& shape = place.grid.shape;
  const std::string number = cell_number(place.grid), list = cell_arguments(place, model, {});
  if (functions.copies.empty() && !place.zones && !has_packed_tables(place))
    return indent + fmt::format("blocks[{}]({});\n", number, list);
  std::string text = fmt::format("{} {{\n{}const long block = {};\n", indent.substr(2), indent, number), arrays, edge;
  for (const auto& [a, zone] : place.zones ? place.zones->axes : std::map<int, InnerZone>{})
    edge += fmt::format("{0}runs{1}[r{1}].edge", edge.empty() ? "" : " || ", a);
  if (!edge.empty()) text += fmt::format("{}const bool edge = {};\n", indent, edge);
  for (const auto& [tensor, numbers] : functions.copy_of) {
    const std::string name = copy_name(shape, tensor);
    std::string at = "0";
    for (const int axis : axes_of(shape, tensor)) at = fmt::format("({}) * {} + r{}", at, most_runs(place, axis), axis);
    text += fmt::format("{0}const long {1}_at = {2};\n{0}GrowingArray& {1} = {1}_memory[{1}_at];\n", indent, name, at);
    arrays += ", " + name;
  }
  for (const auto& [tensor, numbers] : functions.copy_of) {
    const bool borrowed = functions.borrow.contains(tensor);
    text += fmt::format(
        "{0}if (const long wanted = {1}_of[block]; wanted != 0 && {4}wanted != {1}_there[{1}_at])\n"
        "{0}  {1}_there[{1}_at] = wanted, copies[wanted]({2}{3});\n",
        indent, copy_name(shape, tensor), list, arrays,
        borrowed ? fmt::format("!{}_borrowed[block] && ", copy_name(shape, tensor)) : "");
    text +=
        fmt::format("{0}const bool {1}_read = {1}_of[block] != 0{2};\n", indent, copy_name(shape, tensor),
                    borrowed ? fmt::format(" && {0}_there[{0}_at] == {0}_of[block]", copy_name(shape, tensor)) : "");
  }
  std::set<TensorId> copied;
  for (const auto& [tensor, numbers] : functions.copy_of) copied.insert(tensor);
  return text +
         fmt::format("{}blocks[block]({});\n{}}}\n", indent, cell_arguments(place, model, copied), indent.substr(2));
}

std::string padded_copies(const GridPlace& place, const HardwareModel& model) {
  EntryNames names = place.names;
  if (place.has_edges()) names.copied = "    if (!by_edges)\n";
  std::string text;
  for (const auto& [id, copy] : place.grid.shape.padded)
    text += padded_copy_text(place.grid.shape, id, place.kernel, names, model, place.zones ? &*place.zones : nullptr);
  return text;
}

std::string all_runs(const GridPlace& place) {
  std::string text;
  for (std::size_t a = 0; a < place.grid.shape.axes.size(); ++a) text += runs_text(place, a);
  return text;
}

std::string cells_text(const GridPlace& place, const GridFunctions& functions, const HardwareModel& model) {
  std::string text = packed_tables(place, model) + block_table(place, functions, model), indent = "    ";
  for (const int axis : place.grid.order) {
    text += fmt::format("{0}for (long r{1} = 0; r{1} < many{1}; ++r{1})\n", indent, axis);
    indent += "  ";
  }
  return text + cell_call(place, functions, model, indent);
}

/// Copies and cells on threads: each makes and keeps the copies that it reads, which would come from the caches of
/// another thread otherwise.
std::string shared_text(const GridPlace& place, const GridFunctions& functions, const HardwareModel& model) {
  EntryNames names = place.names;
  names.kept = names.kept_shares;
  if (place.grid.shape.first.empty())
    for (const auto& [axis, tile] : place.grid.shares.tiles) names.shared_axes.insert(axis);
  const GridPlace own{place.grid, place.kernel, names, place.zones, nullptr};
  return begin_shares(place.grid, names) + kept_text(own) + all_runs(own) + own_runs(place.grid) +
         padded_copies(own, model) + cells_text(own, functions, model) +
         end_shares(place.grid.shares.tiles.size(), model, names.team);
}

}  // namespace

std::string grid_text(const Grid& grid, const GridFunctions& functions, const SymbolicKernel& kernel,
                      const EntryNames& names, const HardwareModel& model, const Strip* strip) {
  const GridShape& shape = grid.shape;
  const GridPlace place{grid, kernel, names, padding_zones(shape, kernel), strip};
  const bool shared = is_shared(grid) && strip == nullptr;
  std::string text = "  {\n";
  for (const auto& [t, d] : stride_arguments(shape))
    text += fmt::format("    const long {} = {};\n", stride_name(shape.kernel.tensors[t], d),
                        product_text(shape.strides[t][d], names.sizes));
  const std::string kept = shared ? "" : kept_text(place);
  const bool alone = names.team && !shared && strip == nullptr;
  if (!alone) text += kept;
  text += zones_text(place);
  const std::string cells = shared
                                ? shared_text(place, functions, model)
                                : padded_copies(place, model) + all_runs(place) + cells_text(place, functions, model);
  text += alone ? alone_text(kept + cells) : cells;
  if (place.has_edges()) text += "    if (by_edges) " + names.edges + "\n";
  return text + "  }\n";
}

std::string edges_text(const Grid& grid, const GridFunctions& functions, const SymbolicKernel& kernel,
                       const EntryNames& names, const HardwareModel& model) {
  std::string text;
  for (std::size_t e = 0; e < grid.edges.size(); ++e)
    text += grid_text(grid.edges[e], functions.edges[e], kernel, names, model, nullptr);
  return text;
}

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/block_unit.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "backends/cpp/compiler.h"
#include "backends/cpp/emit_functions.h"
#include "backends/cpp/names.h"
#include "backends/cpp/symbolic_entry.h"
#include "backends/cpp/types.h"
#include "program/shared_copies.h"

namespace isamap {
namespace {

const char* const growing_array = R"(#include <cstdlib>
#include <cstring>

namespace {

// Memory of a thread that grows and is kept from call to call.
struct GrowingArray {
  void* memory = nullptr;
  long size = 0;
  GrowingArray() = default;
  GrowingArray(const GrowingArray&) = delete;
  GrowingArray& operator=(const GrowingArray&) = delete;
  ~GrowingArray() { std::free(memory); }
  void* at(long bytes) {
    if (bytes <= size && memory != nullptr) return memory;
    std::free(memory);
    size = (bytes / 4096 + 1) * 4096;
    memory = std::aligned_alloc(4096, static_cast<std::size_t>(size));
    if (memory == nullptr) std::abort();
    return memory;
  }
};

// A row of a copy that is longer than its source, with zeros behind it. Where the source has them, words of 64 bytes are
// copied; what they write beyond the row is written again by the next one, or lies in `slack` bytes behind the copy.
inline void copy_row(char* to, const char* from, long bytes, long padded, const char* end) {
  if (end - from >= bytes + 63)
    for (long b = 0; b < bytes; b += 64) std::memcpy(to + b, from + b, 64);
  else
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  static const char zeros[64] = {};
  if (padded - bytes <= 64)
    std::memcpy(to + bytes, zeros, 64);
  else
    std::memset(to + bytes, 0, static_cast<std::size_t>(padded - bytes));
}
constexpr long slack = 128;

// A run of a dim: which one, its first position, and how many.
struct Run {
  long number, at, count;
};

}  // namespace

)";

// g++ compiles these twice as fast so, and their short loops run as fast as those that -O3 unrolls and vectorizes.
const std::string begin_rests = R"(#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("O1")
#endif

)";
const std::string end_rests = R"(#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif

)";

class BlockUnit {
 public:
  BlockUnit(const SymbolicProgram& program, const HardwareModel& model)
      : program_(program), model_(model), name_(entry_name(program.arguments.name)) {}

  Diagnostics problems() { return print_blocks(0); }

  Result<TranslationUnit> print() {
    name_arguments();
    std::string entry = entry_head();
    for (std::size_t g = 0; g < program_.grids.size(); ++g) {
      if (auto problems = print_blocks(g); !problems.empty()) return problems;
    }
    for (std::size_t v = 0; v < program_.versions.size(); ++v) entry += version_text(v);
    around_.includes.insert("<cstdio>");
    around_.includes.insert("<cstring>");
    TranslationUnit unit;
    unit.name = name_;
    unit.arguments = arguments_;
    unit.text = about() + surrounding_text(model_, around_, functions_ + rests_) + symbolic_helpers + growing_array +
                functions_ + (rests_.empty() ? "" : begin_rests + rests_ + end_rests) + entry + "  return 0;\n}\n";
    return unit;
  }

 private:
  const Kernel& kernel() const { return program_.kernel.sample; }

  void name_arguments() {
    Names names;
    for (const char* taken :
         {"runs", "many", "left", "at", "blocks", "copies", "block", "GrowingArray", "Run", "copy_row", "slack"})
      names.unique(taken);
    for (std::size_t b = 0; b < program_.arguments.buffers.size(); ++b) {
      const Buffer& buffer = program_.arguments.buffers[b];
      const bool written = role_of(kernel(), buffer.tensor) != Role::input;
      arguments_.push_back({make_id<BufferId>(b), element_type(model_, buffer.dtype), names.unique(buffer.name),
                            written, element_span(buffer) * bytes(buffer.dtype)});
      pointers_[buffer.tensor] = arguments_.back().name;
    }
    for (std::size_t t = 0; t < kernel().tensors.size(); ++t)
      if (const auto id = make_id<TensorId>(t); !pointers_.contains(id))
        pointers_[id] = names.unique(kernel().tensors[t].name);
    for (const SymbolicSize& size : program_.kernel.facts.sizes)
      sizes_[size.name] = names.unique(identifier(size.name));
  }

  std::string about() const {
    std::string out =
        comment(fmt::format("{}: printed by isamap for {}; belongs to whoever ran it{}\n\nkernel, for {}:", name_,
                            model_.name, needed_flags(model_).empty() ? "" : "\nneeds " + needed_flags(model_),
                            isamap::print(program_.kernel.facts)),
                " ");
    for (const Computation& statement : kernel().statements)
      out += comment(print_formula(statement, kernel().tensors), "   ");
    std::set<std::string> assumptions;
    for (std::size_t g = 0; g < program_.grids.size(); ++g) {
      const Grid& grid = program_.grids[g];
      const std::size_t statements = kernel().statements.size();
      if (program_.versions.size() > 1 && g % statements == 0)
        out += comment(fmt::format("\nversion {}, {}:", g / statements + 1, guard_words(g / statements)), " ");
      out += comment("\nblocks:", " ") + comment(isamap::print(grid.schedule), "   ");
      for (const Block& block : grid.blocks)
        for (const Assumption& one : block.program.assumptions) assumptions.insert(one.text);
    }
    out += comment("\nassumptions:\narguments do not overlap\n", " ");
    for (const std::string& one : assumptions) out += comment(one, " ");
    return out + "\n";
  }

  std::string guard_words(std::size_t v) const {
    std::string text;
    for (const SizeFact& fact : program_.versions[v].when) text += (text.empty() ? "for " : " and ") + fact.text;
    return text.empty() ? "for every size" : text;
  }

  // Blocks -----------------------------------------------------------------------------------------------------------

  std::string grid_name(std::size_t g) const {
    return program_.grids.size() == 1 ? name_ : fmt::format("{}_{}", name_, g + 1);  // of versions, too
  }
  std::string block_name(std::size_t g, std::size_t number) const {
    return fmt::format("{}_block{}", grid_name(g), number + 1);
  }
  static std::string stride_name(const Tensor& tensor, std::size_t axis) {
    return fmt::format("{}_s{}", identifier(tensor.name), axis);
  }
  static std::string count_name(const GridAxis& axis) { return identifier(axis.dim) + "_n"; }

  /// Strides that are arguments of blocks: tensor and axis.
  static std::vector<std::pair<std::size_t, std::size_t>> runtime_strides(const GridShape& shape) {
    std::vector<std::pair<std::size_t, std::size_t>> found;
    for (std::size_t t = 0; t < shape.strides.size(); ++t)
      for (std::size_t d = 0; d < shape.strides[t].size(); ++d)
        if (!shape.strides[t][d].is_number()) found.emplace_back(t, d);
    return found;
  }

  RuntimeNumbers numbers_of(const GridShape& shape, const Block& block) const {
    RuntimeNumbers numbers;
    for (const auto& [t, d] : runtime_strides(shape)) {
      const std::string name = stride_name(shape.kernel.tensors[t], d);
      numbers.parameters.push_back(name);
      for (std::size_t b = 0; b < block.program.buffers.size(); ++b) {
        const Buffer& buffer = block.program.buffers[b];
        if (buffer.role != BufferRole::argument || buffer.tensor.index() != t) continue;
        auto& names = numbers.strides[static_cast<std::int32_t>(b)];
        names.resize(buffer.extents.size());
        names[d] = name;
      }
    }
    for (const GridAxis& axis : shape.axes) numbers.parameters.push_back(count_name(axis));
    for (const auto& [variable, loop] : block.loops) numbers.trips[variable] = trip_text(shape, loop);
    for (const auto& [extent, at] : block.masked) {
      const std::string count = count_name(shape.axes[static_cast<std::size_t>(at.first)]);
      numbers.extents[extent] = "int(" + (at.second == 0 ? count : fmt::format("{} - {}", count, at.second)) + ")";
    }
    for (const auto& [id, loops] : block.grown) add_grown(shape, block, id, loops, numbers);
    for (const std::string& parameter : numbers.parameters) numbers.definitions.push_back("(void)" + parameter + ";");
    return numbers;
  }
  static std::string trip_text(const GridShape& shape, const TileLoop& loop) {
    const std::string count = count_name(shape.axes[static_cast<std::size_t>(loop.axis)]);
    return loop.step == 1 ? count : fmt::format("{} / {}", count, loop.step);
  }
  /// A local array some of whose axes have a section for each step of a loop.
  static void add_grown(const GridShape& shape, const Block& block, BufferId id, const std::vector<TileLoop>& loops,
                        RuntimeNumbers& numbers) {
    const Buffer& buffer = block.program.buffers[id.index()];
    std::vector<std::string> names(buffer.extents.size());
    std::string length = "1";
    for (std::size_t d = buffer.extents.size(); d-- > 0;) {
      if (length != "1") {
        names[d] = fmt::format("{}_s{}", identifier(buffer.name), d);
        numbers.definitions.push_back(fmt::format("[[maybe_unused]] const long {} = {};", names[d], length));
        length = names[d];
      }
      std::int64_t number = buffer.extents[d];
      if (loops[d].axis >= 0) number = section(block, loops[d], number);
      if (number != 1 || loops[d].axis < 0)
        length = length == "1" ? std::to_string(number) : fmt::format("{} * {}", length, number);
      if (loops[d].axis >= 0) length = fmt::format("{} * ({})", length, trip_text(shape, loops[d]));
    }
    numbers.strides[id.value] = std::move(names);
    numbers.lengths[id.value] = "(" + length + ")";
  }

  // Copies that cells share ------------------------------------------------------------------------------------------

  static std::string array_name(const GridShape& shape, TensorId tensor) {
    return identifier(shape.kernel.tensors[tensor.index()].name) + "_copy";
  }
  /// The inputs of which some block has a shared copy.
  static std::vector<TensorId> copied_inputs(const Grid& grid) {
    std::set<TensorId> found;
    for (const Block& block : grid.blocks)
      for (const SharedCopy& copy : shared_copies(block, grid.shape)) found.insert(copy.tensor);
    return {found.begin(), found.end()};
  }
  /// Without comments: equal for copies that are the same.
  static std::string code_of(const std::string& text) {
    std::string code;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size() - 1);
      if (text.compare(at, 2, "//") != 0) code += text.substr(at, end + 1 - at);
      at = end + 1;
    }
    return code;
  }
  /// Prints a function for each copy of a block that is not printed yet, and takes the copies out of the block.
  Diagnostics print_copies(std::size_t g, std::size_t b, Block& block, RuntimeNumbers& numbers) {
    const Grid& grid = program_.grids[g];
    std::set<std::size_t> taken;
    for (const SharedCopy& copy : shared_copies(block, grid.shape)) {
      const Buffer& buffer = block.program.buffers[copy.buffer.index()];
      const auto length = numbers.lengths.find(copy.buffer.value);
      const std::string array = array_name(grid.shape, copy.tensor),
                        count = length != numbers.lengths.end() ? length->second : std::to_string(element_span(buffer));
      Block only = block;
      only.program.body.clear();
      for (const std::size_t n : copy.nodes) only.program.body.push_back(block.program.body[n]);
      RuntimeNumbers with = numbers;
      with.places[copy.buffer.value] = fmt::format("{}.at({} * {})", array, count, bytes(buffer.dtype));
      around_.numbers = &with;
      const std::string name = fmt::format("{}_copy{}", grid_name(g), copies_of_[g].size() + 1);
      auto unit = print_functions(only.program, model_, "COPY", "static", around_);
      around_.numbers = nullptr;
      if (!unit) return unit.diagnostics();
      std::string code = code_of(unit->text);
      auto known = std::find_if(copies_of_[g].begin(), copies_of_[g].end(),
                                [&](const CopyFunction& one) { return one.code == code; });
      if (known == copies_of_[g].end()) {
        const auto [function, is_new] = copy_names_.try_emplace(code, name);  // versions share them
        known = copies_of_[g].insert(known, {function->second, code});
        if (is_new) code.replace(code.find("void COPY("), 10, "void " + name + "(");
        if (is_new)
          functions_ += comment(fmt::format("packs {}\n", grid.shape.kernel.tensors[copy.tensor.index()].name), " ") +
                        code + "\n";
      }
      copy_of_[g][copy.tensor][b] = static_cast<std::size_t>(known - copies_of_[g].begin()) + 1;
      numbers.places[copy.buffer.value] = array + ".memory";
      taken.insert(copy.nodes.begin(), copy.nodes.end());
    }
    std::vector<Node> rest;
    for (std::size_t n = 0; n < block.program.body.size(); ++n)
      if (!taken.contains(n)) rest.push_back(std::move(block.program.body[n]));
    block.program.body = std::move(rest);
    return {};
  }
  /// Extent of a grown axis for one step.
  static std::int64_t section(const Block& block, const TileLoop& loop, std::int64_t extent) {
    std::int64_t trip = 1;
    const std::function<void(const std::vector<Node>&)> find = [&](const std::vector<Node>& nodes) {
      for (const Node& node : nodes)
        if (const auto* one = std::get_if<Loop>(&node.is)) {
          const auto known = block.loops.find(one->variable);
          if (known != block.loops.end() && known->second == loop) trip = one->trip;
          find(one->body);
        } else if (const auto* guard = std::get_if<Guard>(&node.is)) {
          find(guard->then);
          find(guard->otherwise);
        }
    };
    find(block.program.body);
    return extent / trip;
  }

  static bool is_used(const Block& block) { return !block.program.buffers.empty(); }

  Diagnostics print_blocks(std::size_t g) {
    const Grid& grid = program_.grids[g];
    functions_of_.emplace_back(grid.blocks.size(), "nullptr");
    copies_of_.emplace_back();
    copy_of_.emplace_back();
    const std::vector<TensorId> copied = copied_inputs(grid);
    std::string arrays;
    for (const TensorId tensor : copied) {
      arrays += array_name(grid.shape, tensor) + ";";
      copy_of_.back()[tensor].resize(grid.blocks.size());
    }
    for (std::size_t b = 0; b < grid.blocks.size(); ++b) {
      if (!is_used(grid.blocks[b])) continue;
      std::string& name = functions_of_.back()[b];
      name = block_name(g, b);
      Block block = grid.blocks[b];
      RuntimeNumbers numbers = numbers_of(grid.shape, block);
      for (const TensorId tensor : copied) {
        numbers.arrays.push_back(array_name(grid.shape, tensor));
        numbers.definitions.push_back("(void)" + numbers.arrays.back() + ";");
      }
      if (auto problems = print_copies(g, b, block, numbers); !problems.empty()) return problems;
      const auto [known, is_new] = known_.try_emplace(key_of(g, grid.blocks[b]) + arrays, name);
      name = known->second;
      if (!is_new) continue;  // versions share code
      around_.numbers = &numbers;
      auto unit = print_functions(block.program, model_, name, "static", around_);
      around_.numbers = nullptr;
      if (!unit) return unit.diagnostics();
      (is_rest(grid, b) ? rests_ : functions_) += comment(cell_text(grid, b), " ") + unit->text + "\n";
    }
    return {};
  }
  /// Equal for blocks of one statement with the same code.
  std::string key_of(std::size_t g, const Block& block) const {
    std::string key = fmt::format("{}\n{}{}", program_.grids.size() == 1 ? 0 : g % kernel().statements.size(),
                                  isamap::print(block.schedule), isamap::print(block.program.kernel));
    for (const auto& [variable, loop] : block.loops) key += fmt::format("{} {} {};", variable, loop.axis, loop.step);
    for (const auto& [extent, at] : block.masked) key += fmt::format("{} {} {};", extent, at.first, at.second);
    return key;
  }
  /// Some axis of the cell has no tiles, or single positions.
  static bool is_rest(const Grid& grid, std::size_t number) {
    std::size_t cell = number % block_count(grid);
    for (std::size_t a = grid.shape.axes.size(); a-- > 0;) {
      const std::vector<DimRun>& runs = grid.shape.axes[a].runs;
      if (cell % runs.size() != 0) return true;
      cell /= runs.size();
    }
    return false;
  }
  static std::string cell_text(const Grid& grid, std::size_t number) {
    const std::size_t count = block_count(grid);
    std::string text = number < count ? "" : "adds to what is there; ";
    std::size_t cell = number % count, rest = count;
    for (const GridAxis& axis : grid.shape.axes) {
      rest /= axis.runs.size();
      const DimRun& run = axis.runs[cell / rest % axis.runs.size()];
      text += axis.dim + ": " +
              (run.tile > 0          ? fmt::format("{}*n", run.tile)
               : run.low == run.high ? std::to_string(run.low)
                                     : fmt::format("{}..{}", run.low, run.high)) +
              (rest > 1 ? ", " : "");
    }
    return text + "\n";
  }

  // Entry ------------------------------------------------------------------------------------------------------------

  std::string entry_head() const {
    std::string list = parameter_list(arguments_);
    for (const SymbolicSize& size : program_.kernel.facts.sizes)
      list += fmt::format("{}long {}", list.empty() ? "" : ", ", sizes_.at(size.name));
    std::string text = fmt::format("extern \"C\" int {}({}) {{\n", name_, list);
    text += size_checks(name_, program_.kernel.facts, sizes_);
    for (std::size_t t = 0; t < kernel().tensors.size(); ++t) {
      if (role_of(kernel(), make_id<TensorId>(t)) != Role::intermediate) continue;
      const Tensor& tensor = kernel().tensors[t];
      std::string count = std::to_string(bytes(tensor.dtype));
      for (const AffineExpr& extent : program_.kernel.shapes[t]) count += " * (" + size_text(extent, sizes_) + ")";
      const std::string& name = pointers_.at(make_id<TensorId>(t));
      text += fmt::format(
          "  static thread_local GrowingArray {0}_memory;\n  {1}* const {0} = "
          "static_cast<{1}*>({0}_memory.at({2}));\n",
          name, element_type(model_, tensor.dtype), count);
    }
    return text;
  }

  /// Fills `runsA` and `manyA` for an axis.
  std::string runs_text(const GridAxis& axis, std::size_t a) const {
    std::string text = fmt::format("    Run runs{}[{}];\n    long many{} = 0;\n    {{\n      long at = 0, left = {};\n",
                                   a, axis.runs.size() + 1, a, size_text(axis.extent, sizes_));
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

  /// The grids of a version, under its guard.
  std::string version_text(std::size_t v) const {
    const std::size_t statements = kernel().statements.size();
    std::string text;
    for (std::size_t s = 0; s < statements; ++s) text += grid_text(v * statements + s);
    if (program_.versions[v].when.empty()) return text;
    std::string condition;
    for (const SizeFact& fact : program_.versions[v].when)
      condition += (condition.empty() ? "" : " && ") + size_text(fact.nonnegative, sizes_) + " >= 0";
    return fmt::format("  if ({}) {{  // {}\n{}    return 0;\n  }}\n", condition, guard_words(v), text);
  }

  std::string grid_text(std::size_t g) const {
    const Grid& grid = program_.grids[g];
    const GridShape& shape = grid.shape;
    std::string text = "  {\n";
    for (const auto& [t, d] : runtime_strides(shape)) {
      const SizeProduct& stride = shape.strides[t][d];
      std::string product = std::to_string(stride.number);
      for (const AffineExpr& factor : stride.factors) product += " * (" + size_text(factor, sizes_) + ")";
      text += fmt::format("    const long {} = {};\n", stride_name(shape.kernel.tensors[t], d), product);
    }
    for (const auto& [id, copy] : shape.padded) {
      const bool rounded = copy.value == 0 && copy.extents == shape.extents[id.index()];
      text += rounded ? rounded_text(shape, id, copy) : padded_text(shape, id, copy);
    }
    for (std::size_t a = 0; a < shape.axes.size(); ++a) text += runs_text(shape.axes[a], a);
    text += block_table(g);
    std::string indent = "    ";
    for (const int axis : grid.order) {
      text += fmt::format("{0}for (long r{1} = 0; r{1} < many{1}; ++r{1})\n", indent, axis);
      indent += "  ";
    }
    return text + call_text(g, indent) + "  }\n";
  }
  /// A copy whose axes were rounded up, rows and zeros after them; none where the extents are the same. Axes behind the
  /// last one that was rounded up are part of a row.
  std::string rounded_text(const GridShape& shape, TensorId id, const PaddedCopy& copy) const {
    const Tensor& tensor = shape.kernel.tensors[id.index()];
    const std::vector<AffineExpr>& whole = program_.kernel.shapes[shape.tensors[id.index()].index()];
    const std::string name = pointers_.at(shape.tensors[id.index()]), type = element_type(model_, tensor.dtype);
    std::size_t last = copy.low.size() - 1;
    while (last > 0 && copy.extents[last] == whole[last]) --last;
    std::string text = fmt::format(
        "    static thread_local GrowingArray {0}_memory;\n    const {1}* {0}_padded = {0};\n    {{\n", name, type);
    std::string element = std::to_string(bytes(tensor.dtype));
    for (std::size_t d = last + 1; d < copy.low.size(); ++d) element += " * (" + size_text(whole[d], sizes_) + ")";
    std::string rows = "1", to_rows = "1", same, inside, from = "0", to = "0", loops;
    for (std::size_t d = 0; d <= last; ++d) {
      text += fmt::format("      const long shape{0} = {1}, extent{0} = {2};\n", d, size_text(whole[d], sizes_),
                          size_text(copy.extents[d], sizes_));
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
  std::string padded_text(const GridShape& shape, TensorId id, const PaddedCopy& copy) const {
    const Tensor& tensor = shape.kernel.tensors[id.index()];
    const std::size_t whole = shape.tensors[id.index()].index();
    const std::string name = pointers_.at(shape.tensors[id.index()]), type = element_type(model_, tensor.dtype);
    std::string all = std::to_string(bytes(tensor.dtype)), indent = "      ", inside = "true";
    std::string from = "0", to = "0";
    for (std::size_t d = 0; d < copy.low.size(); ++d) all += fmt::format(" * extent{}", d);
    std::string text;
    for (std::size_t d = 0; d < copy.low.size(); ++d)
      text += fmt::format("      const long shape{0} = {1}, extent{0} = {2} > 0 ? {2} : 0;\n", d,
                          size_text(program_.kernel.shapes[whole][d], sizes_), size_text(copy.extents[d], sizes_));
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
    return fmt::format("    static thread_local GrowingArray {0}_memory;\n    {1}* {0}_padded = nullptr;\n    {{\n",
                       name, type) +
           text + "    }\n";
  }

  std::string block_table(std::size_t g) const {
    const Grid& grid = program_.grids[g];
    std::string types;
    for (const TensorId id : grid_arguments(grid)) {
      const Tensor& tensor = grid.shape.kernel.tensors[id.index()];
      const bool written = id == grid.shape.kernel.statements[0].write.tensor;
      types += fmt::format("{}{}{}* __restrict", types.empty() ? "" : ", ", written ? "" : "const ",
                           element_type(model_, tensor.dtype));
    }
    for (std::size_t n = 0; n < runtime_strides(grid.shape).size() + grid.shape.axes.size(); ++n) types += ", long";
    for (std::size_t n = 0; n < copy_of_[g].size(); ++n) types += ", GrowingArray&";
    std::string names;
    for (std::size_t b = 0; b < grid.blocks.size(); ++b) names += (b == 0 ? "" : ", ") + functions_of_[g][b];
    std::string text =
        fmt::format("    static void (*const blocks[{}])({}) = {{{}}};\n", grid.blocks.size(), types, names);
    if (copies_of_[g].empty()) return text;
    names.clear();
    for (const CopyFunction& copy : copies_of_[g]) names += ", " + copy.name;
    return text +
           fmt::format("    static void (*const copies[{}])({}) = {{nullptr{}}};\n", copies_of_[g].size() + 1, types,
                       names) +
           copy_tables(g);
  }
  /// For each input that is copied: the copy of each block, memory by runs of its axes, and which copy is there.
  std::string copy_tables(std::size_t g) const {
    const Grid& grid = program_.grids[g];
    std::string text;
    for (const auto& [tensor, numbers] : copy_of_[g]) {
      const std::string name = array_name(grid.shape, tensor);
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
  /// Of an extent: the runs of tiles, and one of what they leave.
  static std::size_t most_runs(const Grid& grid, int axis) {
    const std::vector<DimRun>& runs = grid.shape.axes[static_cast<std::size_t>(axis)].runs;
    const auto tiles = static_cast<std::size_t>(
        std::count_if(runs.begin(), runs.end(), [](const DimRun& run) { return run.tile > 0; }));
    return tiles + (tiles < runs.size() ? 1 : 0);
  }
  static std::vector<TensorId> grid_arguments(const Grid& grid) { return arguments(grid.shape.kernel); }

  std::string call_text(std::size_t g, const std::string& indent) const {
    const Grid& grid = program_.grids[g];
    const GridShape& shape = grid.shape;
    std::string number = "0", starts;
    for (std::size_t a = 0; a < shape.axes.size(); ++a) {
      number = a == 0 ? fmt::format("runs{0}[r{0}].number", a)
                      : fmt::format("({0}) * {1} + runs{2}[r{2}].number", number, shape.axes[a].runs.size(), a);
      if (shape.axes[a].reduced) starts += fmt::format("{}r{} == 0", starts.empty() ? "" : " && ", a);
    }
    if (grid.has_adding_blocks()) number = fmt::format("({} ? 0 : {}) + {}", starts, block_count(grid), number);
    std::string list;
    for (const TensorId id : grid_arguments(grid)) {
      list += (list.empty() ? "" : ", ") + pointers_.at(shape.tensors[id.index()]);
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
    for (const auto& [t, d] : runtime_strides(shape)) list += ", " + stride_name(shape.kernel.tensors[t], d);
    for (std::size_t a = 0; a < shape.axes.size(); ++a) list += fmt::format(", runs{0}[r{0}].count", a);
    if (copies_of_[g].empty()) return indent + fmt::format("blocks[{}]({});\n", number, list);
    std::string text = fmt::format("{} {{\n{}const long block = {};\n", indent.substr(2), indent, number), arrays;
    for (const auto& [tensor, numbers] : copy_of_[g]) {
      const std::string name = array_name(shape, tensor);
      std::string place = "0";
      for (const int axis : axes_of(shape, tensor))
        place = fmt::format("({}) * {} + r{}", place, most_runs(grid, axis), axis);
      text +=
          fmt::format("{0}const long {1}_at = {2};\n{0}GrowingArray& {1} = {1}_memory[{1}_at];\n", indent, name, place);
      arrays += ", " + name;
    }
    for (const auto& [tensor, numbers] : copy_of_[g])
      text += fmt::format(
          "{0}if (const long c = {1}_of[block]; c != 0 && c != {1}_there[{1}_at]) {1}_there[{1}_at] = c, "
          "copies[c]({2}{3});\n",
          indent, array_name(shape, tensor), list, arrays);
    return text + fmt::format("{0}blocks[block]({1}{2});\n{3}}}\n", indent, list, arrays, indent.substr(2));
  }

  const SymbolicProgram& program_;
  const HardwareModel& model_;
  std::string name_;
  Surroundings around_;
  std::string functions_, rests_;
  std::vector<EntryArgument> arguments_;
  std::map<TensorId, std::string> pointers_;
  std::map<std::string, std::string> sizes_;            ///< names of arguments
  std::map<std::string, std::string> known_;            ///< function of a block, by key
  std::vector<std::vector<std::string>> functions_of_;  ///< by grid and block
  struct CopyFunction {
    std::string name, code;
  };
  std::map<std::string, std::string> copy_names_;     ///< by code
  std::vector<std::vector<CopyFunction>> copies_of_;  ///< by grid
  std::vector<std::map<TensorId, std::vector<std::size_t>>>
      copy_of_;  ///< by grid, input and block: number from 1; 0: none
};

}  // namespace

Diagnostics unprintable_blocks(const Grid& grid, const HardwareModel& model) {
  SymbolicProgram program;
  program.grids = {grid};
  return BlockUnit(program, model).problems();
}

Result<TranslationUnit> print_block_unit(const SymbolicProgram& program, const HardwareModel& model) {
  return BlockUnit(program, model).print();
}

}  // namespace isamap

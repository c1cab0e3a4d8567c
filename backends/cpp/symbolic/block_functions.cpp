// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/symbolic/block_functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "backends/cpp/symbolic/block_arguments.h"
#include "backends/cpp/symbolic/shared_loads.h"
#include "program/node_uses.h"
#include "program/shared_copies.h"
#include "program/short_tiles.h"

namespace isamap {
namespace {

/// The inputs of which some block has a shared copy.
std::vector<TensorId> copied_inputs(const Grid& grid) {
  std::set<TensorId> found;
  for (const Block& block : grid.blocks)
    for (const SharedCopy& copy : shared_copies(block, grid.shape)) found.insert(copy.tensor);
  return {found.begin(), found.end()};
}

/// Without comments: equal for copies that are the same.
std::string code_of(const std::string& text) {
  std::string code;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1);
    if (text.compare(at, 2, "//") != 0) code += text.substr(at, end + 1 - at);
    at = end + 1;
  }
  return code;
}

/// Equal for blocks of one statement with the same code.
std::string code_key(const Block& block) {
  std::string key = print(block.schedule) + print(block.program.kernel);
  for (const auto& [variable, loop] : block.loops) key += fmt::format("{} {} {};", variable, loop.axis, loop.step);
  for (const auto& [extent, at] : block.masked) key += fmt::format("{} {} {};", extent, at.first, at.second);
  for (const auto& [extent, to] : block.ended)
    key += fmt::format("{} {} {} {};", extent, to.axis, print(to.first), to.lanes);
  for (const int axis : block.short_axes) key += fmt::format("short {};", axis);
  for (const auto& [variable, terms] : block.skipped) key += fmt::format("{} {};", variable, terms.dim);
  return key;
}

/// The argument that these nodes copy, if no other node reads it.
std::optional<BufferId> only_read_by(const Program& program, const SharedCopy& copy) {
  std::optional<BufferId> input;
  for (std::size_t b = 0; b < program.buffers.size(); ++b)
    if (const Buffer& one = program.buffers[b];
        one.role == BufferRole::argument && !one.ahead_of_time && one.tensor == copy.tensor)
      input = make_id<BufferId>(b);
  for (std::size_t n = 0; input && n < program.body.size(); ++n)
    if (std::find(copy.nodes.begin(), copy.nodes.end(), n) == copy.nodes.end() &&
        uses_of(program.body[n]).read.contains(*input))
      return std::nullopt;
  const Buffer& local = program.buffers[copy.buffer.index()];
  return input && program.buffers[input->index()].dtype == local.dtype ? input : std::nullopt;
}

/// Some axis of the cell has no tiles, or single positions.
bool is_remainder(const Grid& grid, std::size_t number) {
  std::size_t cell = number % block_count(grid);
  for (std::size_t a = grid.shape.axes.size(); a-- > 0;) {
    const std::vector<DimRun>& runs = grid.shape.axes[a].runs;
    if (cell % runs.size() != 0) return true;
    cell /= runs.size();
  }
  return false;
}

constexpr std::int64_t long_step = 8;  // calls: what addresses cost beside them is not seen

/// With those of unrolled loops; nothing: there is a loop that is not.
std::optional<std::int64_t> calls_in(const std::vector<Node>& nodes) {
  std::int64_t calls = 0;
  for (const Node& node : nodes) {
    if (std::holds_alternative<Call>(node.is)) ++calls;
    const auto* loop = std::get_if<Loop>(&node.is);
    if (loop == nullptr) continue;
    const auto inside = loop->unroll ? calls_in(loop->body) : std::nullopt;
    if (!inside) return std::nullopt;
    calls += loop->trip * *inside;
  }
  return calls;
}

/// Calls of a step of the innermost loops along sums of any length, the fewest; nothing: there is no such loop.
std::optional<std::int64_t> calls_of_step(const std::vector<Node>& nodes, const Grid& grid, const Block& block) {
  std::optional<std::int64_t> fewest;
  for (const Node& node : nodes) {
    const auto* loop = std::get_if<Loop>(&node.is);
    if (loop == nullptr) continue;
    const auto walked = block.loops.find(loop->variable);
    const bool is_sum =
        walked != block.loops.end() && grid.shape.axes[static_cast<std::size_t>(walked->second.axis)].reduced;
    auto calls = is_sum ? calls_in(loop->body) : std::nullopt;
    if (!calls) calls = calls_of_step(loop->body, grid, block);
    if (calls) fewest = std::min(fewest.value_or(*calls), *calls);
  }
  return fewest;
}

bool has_long_steps(const Grid& grid, const Block& block) {
  return calls_of_step(block.program.body, grid, block).value_or(0) >= long_step;
}

bool have_equal_runs(const Grid& grid, std::size_t one, std::size_t other, const std::vector<int>& axes) {
  one %= block_count(grid), other %= block_count(grid);
  for (std::size_t a = grid.shape.axes.size(); a-- > 0;) {
    const std::size_t runs = grid.shape.axes[a].runs.size();
    if (one % runs != other % runs && std::find(axes.begin(), axes.end(), static_cast<int>(a)) != axes.end())
      return false;
    one /= runs, other /= runs;
  }
  return true;
}

std::string cell_text(const Grid& grid, std::size_t number) {
  const std::size_t count = block_count(grid);
  std::string text = number < count ? "" : "adds to what is there; ";
  std::size_t cell = number % count, inner = count;
  for (const GridAxis& axis : grid.shape.axes) {
    inner /= axis.runs.size();
    const DimRun& run = axis.runs[cell / inner % axis.runs.size()];
    text += axis.dim + ": " +
            (run.tile > 0          ? fmt::format("{}*n", run.tile)
             : run.low == run.high ? std::to_string(run.low)
                                   : fmt::format("{}..{}", run.low, run.high)) +
            (inner > 1 ? ", " : "");
  }
  return text + "\n";
}

/// Without strides of local arrays that the program does not use: copies of blocks that differ in these are the same.
void drop_other_strides(const Program& program, RuntimeNumbers& numbers) {
  std::set<BufferId> used;
  for (const Node& node : program.body) {
    NodeUses uses = uses_of(node);
    used.merge(uses.read);
    used.merge(uses.written);
  }
  for (const auto& [id, names] : numbers.strides)
    for (const std::string& name : names) {
      const std::string defines = "[[maybe_unused]] const long " + name + " = ";
      if (!name.empty() && !used.contains(BufferId{id}))
        std::erase_if(numbers.definitions, [&](const std::string& one) { return one.starts_with(defines); });
    }
}

/// A grid that is printed: the name its functions begin with, and what they are.
struct PrintedGrid {
  const Grid& grid;
  std::string name;
  std::size_t statement = 0;
  GridFunctions functions = {};
};

class BlockPrinter {
 public:
  BlockPrinter(const SymbolicProgram& program, const HardwareModel& model, const std::string& name)
      : program_(program), model_(model), name_(name) {}

  Result<BlockFunctions> print() {
    for (std::size_t g = 0; g < program_.grids.size(); ++g) {
      PrintedGrid place{program_.grids[g], grid_name(g), statement_of(g)};
      if (auto problems = print_grid(place); !problems.empty()) return problems;
      done_.grids.push_back(std::move(place.functions));
    }
    return std::move(done_);
  }

 private:
  std::string grid_name(std::size_t g) const {
    return program_.grids.size() == 1 ? name_ : fmt::format("{}_{}", name_, g + 1);  // of versions, too
  }
  std::size_t statement_of(std::size_t g) const {
    return program_.grids.size() == 1 ? 0 : g % program_.kernel.sample.statements.size();
  }

  Diagnostics print_grid(PrintedGrid& place) {
    const Grid& grid = place.grid;
    GridFunctions& functions = place.functions;
    functions.blocks.assign(grid.blocks.size(), "nullptr");
    for (const TensorId tensor : copied_inputs(grid)) functions.copy_of[tensor].resize(grid.blocks.size());
    for (std::size_t b = 0; b < grid.blocks.size(); ++b) {
      if (grid.blocks[b].program.buffers.empty()) continue;
      if (auto problems = print_block(place, b); !problems.empty()) return problems;
    }
    for (std::size_t e = 0; e < grid.edges.size(); ++e) {
      PrintedGrid edge{grid.edges[e], fmt::format("{}_edge{}", place.name, e + 1), place.statement};
      if (auto problems = print_grid(edge); !problems.empty()) return problems;
      functions.edges.push_back(std::move(edge.functions));
    }
    return {};
  }

  /// Unless one with the same code is there.
  Diagnostics print_block(PrintedGrid& place, std::size_t b) {
    const Grid& grid = place.grid;
    Block block = grid.blocks[b];
    RuntimeNumbers numbers = numbers_of(grid.shape, block);
    add_skipped_terms(grid, block, numbers);
    add_panels(grid, block, numbers);
    add_constants(grid, block, model_, numbers);
    block.program.prepack.clear();  // the entry has a function for all blocks
    std::string key = fmt::format("{}\n{}", place.statement, code_key(block));
    for (const auto* list : {&numbers.parameters, &numbers.constants})
      for (const std::string& parameter : *list) key += parameter + ";";
    if (auto problems = take_copies(place, b, block, numbers); !problems.empty()) return problems;
    share_panels(place, b);
    const auto [known, is_new] = blocks_.try_emplace(key, fmt::format("{}_block{}", place.name, b + 1));
    place.functions.blocks[b] = known->second;
    if (!is_new) return {};  // versions share code
    numbers.pinned = share_loads(block.program, model_, numbers);
    auto text = function_text(block.program, known->second, numbers);
    if (!text) return text.diagnostics();
    std::string& part = !is_remainder(grid, b)        ? done_.tiles
                        : has_long_steps(grid, block) ? done_.sums
                                                      : done_.remainders;
    part += comment(cell_text(grid, b), " ") + *text + "\n";
    return {};
  }

  /// Takes the shared copies out of a block and prints the functions that make them. The block gets such a copy in
  /// place of the input, which nothing else in it reads.
  Diagnostics take_copies(PrintedGrid& place, std::size_t b, Block& block, RuntimeNumbers& numbers) {
    const GridShape& shape = place.grid.shape;
    std::set<std::size_t> taken;
    const RuntimeNumbers own = numbers;
    for (const SharedCopy& copy : shared_copies(block, shape)) {
      const auto input = only_read_by(block.program, copy);
      if (!input) continue;
      auto number = print_copy(place, block, copy, own);
      if (!number) return number.diagnostics();
      place.functions.copy_of[copy.tensor][b] = *number;
      numbers.passed[copy.buffer.value] = input->value;
      taken.insert(copy.nodes.begin(), copy.nodes.end());
    }
    std::vector<Node> others;
    for (std::size_t n = 0; n < block.program.body.size(); ++n)
      if (!taken.contains(n)) others.push_back(std::move(block.program.body[n]));
    block.program.body = std::move(others);
    return {};
  }

  /// A block that reads panels gets the shared copy of tiles, if a cell with the same runs along the input has one. It
  /// is not made for this block alone, unless it is kept from call to call.
  static void share_panels(PrintedGrid& place, std::size_t b) {
    const Grid& grid = place.grid;
    for (const auto& [tensor, panels] : grid.blocks[b].panels) {
      const auto copies = place.functions.copy_of.find(tensor);
      if (copies == place.functions.copy_of.end()) continue;
      for (std::size_t other = 0; other < b && copies->second[b] == 0; ++other)
        if (copies->second[other] != 0 && grid.blocks[other].panels.empty() &&
            have_equal_runs(grid, b, other, axes_of(grid.shape, tensor)) &&
            copies_panels(grid.blocks[other], grid.shape, tensor, panels)) {
          copies->second[b] = copies->second[other];
          if (!grid.shape.kernel.tensors[tensor.index()].constant) place.functions.borrow[tensor].insert(b);
        }
    }
  }

  /// Unless one with the same code is there. Its number among the copies of the grid, from 1.
  Result<std::size_t> print_copy(PrintedGrid& place, const Block& block, const SharedCopy& copy,
                                 RuntimeNumbers numbers) {
    const GridShape& shape = place.grid.shape;
    const Buffer& buffer = block.program.buffers[copy.buffer.index()];
    const auto length = numbers.lengths.find(copy.buffer.value);
    const std::string count = length != numbers.lengths.end() ? length->second : std::to_string(element_span(buffer));
    for (const auto& [tensor, all] : place.functions.copy_of) {
      const std::string& array = numbers.arrays.emplace_back(copy_name(shape, tensor));
      numbers.definitions.push_back("(void)" + array + ";");
    }
    numbers.places[copy.buffer.value] =
        fmt::format("{}.at({} * {})", copy_name(shape, copy.tensor), count, bytes(buffer.dtype));
    Program only = block.program;
    only.body.clear();
    for (const std::size_t n : copy.nodes) only.body.push_back(block.program.body[n]);
    drop_other_strides(only, numbers);
    auto text = function_text(only, "COPY", numbers);
    if (!text) return text.diagnostics();
    std::string code = code_of(*text);
    std::vector<std::string>& copies = place.functions.copies;
    const std::string name = fmt::format("{}_copy{}", place.name, copies.size() + 1);
    const auto [known, is_new] = copies_.try_emplace(code, name);
    if (is_new) {
      code.replace(code.find("void COPY("), 10, "void " + name + "(");
      done_.tiles +=
          comment(fmt::format("packs {}\n", shape.kernel.tensors[copy.tensor.index()].name), " ") + code + "\n";
    }
    auto at = std::find(copies.begin(), copies.end(), known->second);
    if (at == copies.end()) at = copies.insert(at, known->second);
    return static_cast<std::size_t>(at - copies.begin()) + 1;
  }

  Result<std::string> function_text(const Program& program, const std::string& name, const RuntimeNumbers& numbers) {
    done_.around.numbers = &numbers;
    auto unit = print_functions(program, model_, name, own_frame, done_.around);
    done_.around.numbers = nullptr;
    if (!unit) return unit.diagnostics();
    return std::move(unit->text);
  }

  const SymbolicProgram& program_;
  const HardwareModel& model_;
  const std::string name_;
  BlockFunctions done_;
  std::map<std::string, std::string> blocks_, copies_;  ///< function by its code, also of other versions
};

}  // namespace

Result<BlockFunctions> print_block_functions(const SymbolicProgram& program, const HardwareModel& model,
                                             const std::string& name) {
  return BlockPrinter(program, model, name).print();
}

}  // namespace isamap

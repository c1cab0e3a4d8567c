// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/symbolic/block_unit.h"

#include <fmt/format.h>

#include <set>

#include "backends/cpp/compile/compiler.h"
#include "backends/cpp/symbolic/block_functions.h"
#include "backends/cpp/symbolic/grid_text.h"
#include "backends/cpp/symbolic/symbolic_entry.h"
#include "backends/cpp/text/names.h"
#include "backends/cpp/text/types.h"

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

/// The entry's arguments, and the names in it.
struct BlockEntry {
  std::string name;
  std::vector<EntryArgument> arguments;
  EntryNames names;
};

BlockEntry entry_of(const SymbolicProgram& program, const HardwareModel& model) {
  const Kernel& kernel = program.kernel.sample;
  BlockEntry entry{entry_name(program.arguments.name), {}, {}};
  Names names;
  for (const char* taken :
       {"runs", "many", "left", "at", "blocks", "copies", "block", "GrowingArray", "Run", "copy_row", "slack"})
    names.unique(taken);
  for (std::size_t b = 0; b < program.arguments.buffers.size(); ++b) {
    const Buffer& buffer = program.arguments.buffers[b];
    const bool written = role_of(kernel, buffer.tensor) != Role::input;
    entry.arguments.push_back({make_id<BufferId>(b), element_type(model, buffer.dtype), names.unique(buffer.name),
                               written, element_span(buffer) * bytes(buffer.dtype)});
    entry.names.pointers[buffer.tensor] = entry.arguments.back().name;
  }
  for (std::size_t t = 0; t < kernel.tensors.size(); ++t)
    if (const auto id = make_id<TensorId>(t); !entry.names.pointers.contains(id))
      entry.names.pointers[id] = names.unique(kernel.tensors[t].name);
  for (const SymbolicSize& size : program.kernel.facts.sizes)
    entry.names.sizes[size.name] = names.unique(identifier(size.name));
  return entry;
}

std::string guard_words(const RowVersion& version) {
  std::string text;
  for (const SizeFact& fact : version.when) text += (text.empty() ? "for " : " and ") + fact.text;
  return text.empty() ? "for every size" : text;
}

std::string about(const SymbolicProgram& program, const HardwareModel& model, const std::string& name) {
  const Kernel& kernel = program.kernel.sample;
  std::string out = comment(
      fmt::format("{}: printed by isamap for {}; belongs to whoever ran it{}\n\nkernel, for {}:", name, model.name,
                  needed_flags(model).empty() ? "" : "\nneeds " + needed_flags(model), print(program.kernel.facts)),
      " ");
  for (const Computation& statement : kernel.statements)
    out += comment(print_formula(statement, kernel.tensors), "   ");
  std::set<std::string> assumptions;
  for (std::size_t g = 0; g < program.grids.size(); ++g) {
    const Grid& grid = program.grids[g];
    const std::size_t statements = kernel.statements.size(), version = g / statements;
    if (program.versions.size() > 1 && g % statements == 0)
      out += comment(fmt::format("\nversion {}, {}:", version + 1, guard_words(program.versions[version])), " ");
    out += comment("\nblocks:", " ") + comment(print(grid.schedule), "   ");
    for (const Block& block : grid.blocks)
      for (const Assumption& one : block.program.assumptions) assumptions.insert(one.text);
  }
  out += comment("\nassumptions:\narguments do not overlap\n", " ");
  for (const std::string& one : assumptions) out += comment(one, " ");
  return out + "\n";
}

/// Checks the sizes and finds memory for intermediate tensors.
std::string entry_head(const SymbolicProgram& program, const HardwareModel& model, const BlockEntry& entry) {
  const Kernel& kernel = program.kernel.sample;
  const auto& sizes = entry.names.sizes;
  std::string list = parameter_list(entry.arguments);
  for (const SymbolicSize& size : program.kernel.facts.sizes)
    list += fmt::format("{}long {}", list.empty() ? "" : ", ", sizes.at(size.name));
  std::string text = fmt::format("extern \"C\" int {}({}) {{\n", entry.name, list);
  text += size_checks(entry.name, program.kernel.facts, sizes);
  for (std::size_t t = 0; t < kernel.tensors.size(); ++t) {
    if (role_of(kernel, make_id<TensorId>(t)) != Role::intermediate) continue;
    const Tensor& tensor = kernel.tensors[t];
    std::string count = std::to_string(bytes(tensor.dtype));
    for (const AffineExpr& extent : program.kernel.shapes[t]) count += " * (" + size_text(extent, sizes) + ")";
    const std::string& name = entry.names.pointers.at(make_id<TensorId>(t));
    text += fmt::format(
        "  static thread_local GrowingArray {0}_memory;\n  {1}* const {0} = "
        "static_cast<{1}*>({0}_memory.at({2}));\n",
        name, element_type(model, tensor.dtype), count);
  }
  return text;
}

/// The grids of a version, under its guard.
std::string guarded_text(const RowVersion& version, const std::string& grids, const EntryNames& names) {
  if (version.when.empty()) return grids;
  std::string condition;
  for (const SizeFact& fact : version.when)
    condition += (condition.empty() ? "" : " && ") + size_text(fact.nonnegative, names.sizes) + " >= 0";
  return fmt::format("  if ({}) {{  // {}\n{}    return 0;\n  }}\n", condition, guard_words(version), grids);
}

}  // namespace

Diagnostics unprintable_blocks(const Grid& grid, const HardwareModel& model) {
  SymbolicProgram program;
  program.grids = {grid};
  return print_block_functions(program, model, entry_name("")).diagnostics();
}

Result<TranslationUnit> print_block_unit(const SymbolicProgram& program, const HardwareModel& model) {
  const BlockEntry entry = entry_of(program, model);
  auto functions = print_block_functions(program, model, entry.name);
  if (!functions) return functions.diagnostics();
  std::string text = entry_head(program, model, entry);
  const std::size_t statements = program.kernel.sample.statements.size();
  for (std::size_t v = 0; v < program.versions.size(); ++v) {
    std::string grids;
    for (std::size_t g = v * statements; g < (v + 1) * statements; ++g)
      grids += grid_text(program.grids[g], functions->grids[g], program.kernel, entry.names, model);
    text += guarded_text(program.versions[v], grids, entry.names);
  }
  const std::string &tiles = functions->tiles, &rests = functions->rests;
  functions->around.includes.insert({"<cstdio>", "<cstring>"});
  TranslationUnit unit;
  unit.name = entry.name;
  unit.arguments = entry.arguments;
  unit.text = about(program, model, entry.name) + surrounding_text(model, functions->around, tiles + rests) +
              symbolic_helpers + growing_array + tiles + (rests.empty() ? "" : begin_rests + rests + end_rests) + text +
              "  return 0;\n}\n";
  return unit;
}

}  // namespace isamap

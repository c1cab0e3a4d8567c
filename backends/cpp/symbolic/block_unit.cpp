// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/symbolic/block_unit.h"

#include <fmt/format.h>

#include <set>

#include "backends/cpp/compile/compiler.h"
#include "backends/cpp/function/team.h"
#include "backends/cpp/plain_loops.h"
#include "backends/cpp/symbolic/block_functions.h"
#include "backends/cpp/symbolic/grid_text.h"
#include "backends/cpp/symbolic/shared_cells.h"
#include "backends/cpp/symbolic/symbolic_entry.h"
#include "backends/cpp/text/machine_words.h"
#include "backends/cpp/text/names.h"
#include "backends/cpp/text/types.h"
#include "program/shared_copies.h"
#include "program/strip_groups.h"

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
[[maybe_unused]] inline void copy_row(char* to, const char* from, long bytes, long padded, const char* end) {
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

struct Positions {
  long begin, end;
};

// A row of a tensor, null: none, and the end of all its elements.
template <typename T>
struct Source {
  const T *row, *end;
};

// Positions of a row of a copy with `value` around its source: `count` elements from `first` on. Short rows are written
// in words of 64 bytes; rows follow each other in memory, so that what a word writes beyond its row is written again, or
// lies in `slack` bytes behind the copy.
template <typename T>
inline void pad_row(T* to, Source<T> from, Positions filled, long first, long count, double value) {
  constexpr long word = 64 / long(sizeof(T)), many = 16 * word;
  T values[word];
  for (long i = 0; i < word; ++i) values[i] = static_cast<T>(value);
  long low = first < filled.begin ? filled.begin : first, high = first + count < filled.end ? first + count : filled.end;
  if (from.row == nullptr || high <= low) low = high = filled.end;
  const auto fill = [&](long begin, long end) {  // mostly one element: a word would cross a cache line
    if (end - begin == 1) to[begin] = values[0];
    for (long i = begin; end - begin > 1 && i < end; i += word) std::memcpy(to + i, values, 64);
  };
  fill(filled.begin, low);
  const T* const source = high > low ? from.row + (low - first) : from.end;
  if (high - low <= many && from.end - source >= high - low + word)
    for (long i = low; i < high; i += word) std::memcpy(to + i, source + (i - low), 64);
  else if (high > low)
    std::memcpy(to + low, source, static_cast<std::size_t>(high - low) * sizeof(T));
  fill(high, filled.end);
}

)";

/// The rule of `strip_rows` (program/strip_groups.h), which prices it.
std::string strip_helper() {
  return fmt::format(
      R"(// Rows of a strip: multiples of a tile, about {2} KiB of what statements pass on, and not too few for what is read again.
// Where a tile has more, halves of it that are multiples of a part; sums of four rows at once hide latencies.
[[maybe_unused]] inline long strip_of(long row_bytes, long tile, long part, long least) {{
  const long fit = ({0} + row_bytes / 2) / row_bytes, rows = fit < least ? least : fit;
  while (rows < tile && tile % (2 * part) == 0 && tile / 2 >= {1}) tile /= 2;
  return rows < tile ? tile : rows / tile * tile;
}}

)",
      strip_bytes, fewest_strip_rows, strip_bytes / 1024);
}

const char* const run_helpers =
    R"([[maybe_unused]] inline long clamped(long x, long low, long high) { return x < low ? low : x > high ? high : x; }

// A run of a dim: which one, its first position, how many, and whether they read a padded copy.
struct Run {
  long number, at, count;
  bool edge = false;
};

// The call whose copies of a constant are there: its array, how often constants were packed before it, and its sizes.
template <int n>
struct KeptCopies {
  const void* array = nullptr;
  long packing = 0, sizes[n] = {};
};

}  // namespace

)";

/// g++ compiles `functions` with these options.
std::string with_options(const std::string& options, const std::string& functions) {
  if (functions.empty()) return "";
  return fmt::format(R"(#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize({})
#endif

{}#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif

)",
                     options, functions);
}
// g++ compiles these twice as fast so, and their short loops run as fast as those that -O3 unrolls and vectorizes.
// Points-to analysis changes no instruction of them: tiles are in registers, and their loops store behind them.
const char* const remainder_options = R"("O1", "no-tree-pta")";
// Each row of a tile has an address of its own, so that choosing induction variables takes a tenth of the time; the
// few instructions that they save are not seen beside the calls of a long step.
const char* const sum_options = R"("O1", "no-tree-pta", "no-ivopts")";

/// The entry's arguments, and the names in it.
struct BlockEntry {
  std::string name;
  std::vector<EntryArgument> arguments;
  EntryNames names;
};

/// Constants whose copies are kept from call to call.
std::set<TensorId> kept_constants(const SymbolicProgram& program) {
  std::set<TensorId> kept;
  for (const Grid& grid : program.grids)
    for (std::size_t t = 0; t < grid.shape.tensors.size(); ++t)
      if (is_kept_constant(grid.shape, make_id<TensorId>(t))) kept.insert(grid.shape.tensors[t]);
  return kept;
}

/// Names of what an entry defines (grid_text.h, padded_copies.h): arguments have others.
std::vector<std::string> entry_locals(const SymbolicProgram& program) {
  std::vector<std::string> locals = {"runs",       "many",     "left",     "at",         "blocks",      "copies",
                                     "block",      "row",      "copy_row", "slack",      "pad_row",     "strip",
                                     "strip_rows", "strip_of", "edge",     "by_edges",   "all",         "clamped",
                                     "end",        "strip0",   "inner",    "copy",       "padded",      "Run",
                                     "source",     "wanted",   "Source",   "KeptCopies", "GrowingArray"};
  const auto is_loops = [](const Grid& grid) { return grid.loops.has_value(); };
  const bool has_loops = std::any_of(program.grids.begin(), program.grids.end(), is_loops);
  if (has_loops) locals.insert(locals.end(), {"e", "step"});
  const bool shared = is_shared(program.grids);
  if (shared)
    for (const std::string& word : shared_words()) locals.push_back(word);
  std::size_t most = 0;  // axes of tensors and of grids
  for (const Grid& grid : program.grids) most = std::max(most, grid.shape.axes.size());
  for (const Tensor& tensor : program.kernel.sample.tensors) most = std::max(most, tensor.shape.size());
  for (std::size_t n = 0; n < most; ++n) {
    for (const char* numbered : {"runs", "many", "r", "i", "zone", "below", "above", "shape", "extent"})
      locals.push_back(numbered + std::to_string(n));
    if (has_loops) locals.push_back("e" + std::to_string(n));
    for (const char* of_share : {"tiles", "begin", "end"})
      if (shared) locals.push_back(of_share + std::to_string(n));
    for (const Tensor& tensor : program.kernel.sample.tensors)
      for (const char* numbered : {"_own", "_s"})
        locals.push_back(identifier(tensor.name) + numbered + std::to_string(n));
  }
  for (const Tensor& tensor : program.kernel.sample.tensors)
    for (const char* of : {"_padded", "_memory", "_copy", "_copy_memory", "_copy_of", "_copy_at", "_copy_there",
                           "_copy_read", "_copy_borrowed", "_packed_of", "_packed_copies"})
      locals.push_back(identifier(tensor.name) + of);
  return locals;
}

BlockEntry entry_of(const SymbolicProgram& program, const HardwareModel& model, bool team) {
  const Kernel& kernel = program.kernel.sample;
  BlockEntry entry{entry_name(program.arguments.name), {}, {}};
  entry.names.team = team;
  Names names;
  for (const std::string& taken : entry_locals(program)) names.unique(taken);
  for (const std::string& word : words_of_machine(model)) names.unique(word);
  if (team) names.unique(member_name);
  for (std::size_t b = 0; b < program.arguments.buffers.size(); ++b) {
    const Buffer& buffer = program.arguments.buffers[b];
    if (buffer.role != BufferRole::argument) continue;  // of the function that packs
    if (buffer.ahead_of_time) {
      entry.arguments.push_back({make_id<BufferId>(b), element_type(model, buffer.dtype), names.unique(buffer.name),
                                 false, element_span(buffer) * bytes(buffer.dtype)});
      entry.names.packed[make_id<BufferId>(b)] = entry.arguments.back().name;
      continue;
    }
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
  const std::set<TensorId> kept = kept_constants(program);
  for (const TensorId id : kept) {
    const std::string& name = kernel.tensors[id.index()].name;
    entry.names.kept[id] = {names.unique(name + "_kept"), names.unique(name + "_last")};
    if (is_shared(program.grids))
      entry.names.kept_shares[id] = {names.unique(name + "_kept"), names.unique(name + "_last"), true};
  }
  if (!kept.empty()) entry.names.packings = names.unique(entry.name + "_packings");
  for (std::size_t g = 0; g < program.grids.size(); ++g)
    entry.names.edge_functions.push_back(names.unique(fmt::format("{}_edges{}", entry.name, g + 1)));
  for (std::size_t s = 0; s < kernel.statements.size(); ++s)
    entry.names.loops.push_back(names.unique(fmt::format("{}_loops{}", entry.name, s + 1)));
  return entry;
}

std::string guard_words(const RowVersion& version) {
  std::string text;
  for (const SizeFact& fact : version.when) text += (text.empty() ? "for " : " and ") + fact.text;
  return text.empty() ? "for every size" : text;
}

void add_assumptions(const Grid& grid, std::set<std::string>& assumptions) {
  for (const Block& block : grid.blocks)
    for (const Assumption& one : block.program.assumptions) assumptions.insert(one.text);
  for (const Grid& edge : grid.edges) add_assumptions(edge, assumptions);
}

std::string about(const SymbolicProgram& program, const HardwareModel& model, const BlockEntry& entry) {
  const Kernel& kernel = program.kernel.sample;
  std::string out =
      comment(fmt::format("{}: printed by isamap for {}; belongs to whoever ran it{}\n\nkernel, for {}:", entry.name,
                          model.name, flags_line(model, entry.names.team), print(program.kernel.facts)),
              " ");
  for (const Computation& statement : kernel.statements)
    out += comment(print_formula(statement, kernel.tensors), "   ");
  std::set<std::string> assumptions;
  for (std::size_t g = 0; g < program.grids.size(); ++g) {
    const Grid& grid = program.grids[g];
    const std::size_t statements = kernel.statements.size(), version = g / statements;
    if (program.versions.size() > 1 && g % statements == 0)
      out += comment(fmt::format("\nversion {}, {}:", version + 1, guard_words(program.versions[version])), " ");
    if (grid.loops)
      out +=
          comment(fmt::format("\n{}: plain loops: {}", kernel.statements[g % statements].name, grid.loops->why), " ");
    else
      out += comment("\nblocks:", " ") + comment(print(grid.schedule), "   ");
    add_assumptions(grid, assumptions);
  }
  out += comment("\nassumptions:\narguments do not overlap\n", " ");
  for (const std::string& one : assumptions) out += comment(one, " ");
  return out + "\n";
}

/// Memory for an intermediate tensor; of one strip: `rows` names its extent along axis 0, and each thread has its own.
std::string memory_text(const SymbolicProgram& program, TensorId id, const HardwareModel& model,
                        const EntryNames& names, const std::string& rows) {
  const Tensor& tensor = program.kernel.sample.tensors[id.index()];
  const std::vector<AffineExpr>& shape = program.kernel.shapes[id.index()];
  std::string count = std::to_string(bytes(tensor.dtype));
  for (std::size_t d = 0; d < shape.size(); ++d)
    count += " * (" + (d == 0 && !rows.empty() ? rows : size_text(shape[d], names.sizes)) + ")";
  const std::string own = fmt::format("{}_memory.at({})", names.pointers.at(id), count);
  return fmt::format("  {1}* const {0} = static_cast<{1}*>({2});\n", names.pointers.at(id),
                     element_type(model, tensor.dtype),
                     names.team && rows.empty() ? fmt::format("{}({}, {})", memory_of_first, member_name, own) : own);
}

/// The parameters of the entry.
std::string parameters_of(const SymbolicProgram& program, const BlockEntry& entry) {
  std::string list = parameter_list(entry.arguments);
  for (const SymbolicSize& size : program.kernel.facts.sizes)
    list += fmt::format("{}long {}", list.empty() ? "" : ", ", entry.names.sizes.at(size.name));
  if (entry.names.team) list += fmt::format("{}const {}& {}", list.empty() ? "" : ", ", member_type, member_name);
  return list;
}

/// Functions that run the grids at edges, which versions share, with the parameters of the entry.
struct EdgeFunctions {
  std::vector<std::string> calls;  ///< by grid; empty: it has no edges
  std::string text;
};
EdgeFunctions edge_functions(const SymbolicProgram& program, const HardwareModel& model, const BlockEntry& entry,
                             const BlockFunctions& functions) {
  std::vector<std::string> names;
  for (const EntryArgument& argument : entry.arguments) names.push_back(argument.name);
  for (const SymbolicSize& size : program.kernel.facts.sizes) names.push_back(entry.names.sizes.at(size.name));
  if (entry.names.team) names.push_back(member_name);
  std::string list, unused;
  for (const std::string& name : names) {
    list += (list.empty() ? "" : ", ") + name;
    unused += fmt::format("  (void){};\n", name);
  }
  EdgeFunctions edges;
  std::map<std::string, std::string> known;  // name by text
  for (std::size_t g = 0; g < program.grids.size(); ++g) {
    std::string& call = edges.calls.emplace_back();
    if (program.grids[g].edges.empty()) continue;
    const std::string text = edges_text(program.grids[g], functions.grids[g], program.kernel, entry.names, model);
    const auto [at, is_new] = known.try_emplace(text, entry.names.edge_functions[known.size()]);
    call = fmt::format("{}({});", at->second, list);
    if (is_new)
      edges.text += fmt::format("// The positions at edges.\n[[gnu::noinline]] static void {}({}) {{\n{}{}}}\n\n",
                                at->second, parameters_of(program, entry), unused, text);
  }
  return edges;
}

/// Checks the sizes and finds memory for intermediate tensors.
std::string entry_head(const SymbolicProgram& program, const HardwareModel& model, const BlockEntry& entry,
                       const std::set<TensorId>& local) {
  const Kernel& kernel = program.kernel.sample;
  const auto& sizes = entry.names.sizes;
  std::string text = fmt::format("extern \"C\" int {}({}) {{\n", entry.name, parameters_of(program, entry));
  text += size_checks(entry.name, program.kernel.facts, sizes);
  for (std::size_t t = 0; t < kernel.tensors.size(); ++t) {
    if (role_of(kernel, make_id<TensorId>(t)) != Role::intermediate) continue;
    text +=
        fmt::format("  static thread_local GrowingArray {}_memory;\n", entry.names.pointers.at(make_id<TensorId>(t)));
    if (!local.contains(make_id<TensorId>(t)))
      text += memory_text(program, make_id<TensorId>(t), model, entry.names, "");
  }
  return text;
}

/// The arguments of NAME_pack, as the entry calls them: inputs, constants whose copies are kept, and copies to be
/// filled.
std::vector<EntryArgument> pack_arguments(const SymbolicProgram& program, const BlockEntry& entry,
                                          const std::vector<EntryArgument>& filled) {
  std::vector<EntryArgument> inputs, copies;
  for (const EntryArgument& argument : entry.arguments) {
    const Buffer& buffer = program.arguments.buffers[argument.buffer.index()];
    const auto same = [&](const EntryArgument& one) { return one.buffer == argument.buffer; };
    const auto found = std::find_if(filled.begin(), filled.end(), same);
    if (found == filled.end() && (buffer.ahead_of_time || !entry.names.kept.contains(buffer.tensor))) continue;
    std::vector<EntryArgument>& list = buffer.ahead_of_time ? copies : inputs;
    list.push_back(argument);
    if (found != filled.end()) list.back().written = found->written;
  }
  inputs.insert(inputs.end(), copies.begin(), copies.end());
  return inputs;
}

/// NAME_pack, and what it calls. Copies of constants whose shape has a symbolic size are kept from call to call once it
/// was called: it counts its calls. Empty: there is nothing to pack or to keep.
Result<std::string> pack_text(const SymbolicProgram& program, const HardwareModel& model, const BlockEntry& entry,
                              Surroundings& around, TranslationUnit& unit) {
  const bool keeps = !entry.names.packings.empty();
  std::string text;
  std::vector<EntryArgument> filled;
  if (!program.arguments.prepack.empty()) {
    const std::string linkage = keeps ? "static" : "extern \"C\"";
    auto pack =
        print_pack_function(program.arguments, model, keeps ? entry.name + "_fixed" : entry.name, linkage, around);
    if (!pack) return pack.diagnostics();
    text = std::move(pack->text);
    filled = std::move(pack->pack);
    if (!keeps) unit.pack = filled;
  }
  if (!keeps) return text;
  unit.pack = pack_arguments(program, entry, filled);
  std::string body, list;
  for (const EntryArgument& argument : unit.pack) body += fmt::format("  (void){};\n", argument.name);
  for (const EntryArgument& one : filled)
    for (const EntryArgument& argument : unit.pack)
      if (argument.buffer == one.buffer) list += (list.empty() ? "" : ", ") + argument.name;
  if (!filled.empty()) body += fmt::format("  {}_fixed_pack({});\n", entry.name, list);
  return text + fmt::format(
                    "// The constants have their values now: copies that calls pack are kept for calls with the same "
                    "arrays and sizes.\nextern \"C\" void {}_pack({}) {{\n{}  ++{};\n}}\n\n",
                    entry.name, parameter_list(unit.pack), body, entry.names.packings);
}

/// The grids of a version, under its guard.
std::string guarded_text(const RowVersion& version, const std::string& grids, const EntryNames& names) {
  if (version.when.empty()) return grids;
  std::string condition;
  for (const SizeFact& fact : version.when)
    condition += (condition.empty() ? "" : " && ") + size_text(fact.nonnegative, names.sizes) + " >= 0";
  return fmt::format("  if ({}) {{  // {}\n{}    return 0;\n  }}\n", condition, guard_words(version), grids);
}

/// Bytes between the statements of a group that a row has.
std::string row_bytes(const SymbolicProgram& program, const StripGroup& group, const EntryNames& names) {
  std::string text = "1";
  for (const auto& [tensor, axis] : group.passed) {
    text += fmt::format(" + {}", bytes(program.kernel.sample.tensors[tensor.index()].dtype));
    const std::vector<AffineExpr>& shape = program.kernel.shapes[tensor.index()];
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (d != axis) text += " * (" + size_text(shape[d], names.sizes) + ")";
  }
  return text;
}

/// Of statements that are plain loops in any version.
std::string loop_functions(const SymbolicProgram& program, const HardwareModel& model, const EntryNames& names,
                           Surroundings& around) {
  const std::size_t statements = program.kernel.sample.statements.size();
  std::string text;
  for (std::size_t s = 0; s < statements; ++s)
    for (std::size_t g = s; g < program.grids.size(); g += statements) {
      const auto& loops = program.grids[g].loops;
      if (!loops) continue;
      text += print_plain_statement(program.kernel, s, model, names.loops[s], loops->in_order, around) + "\n";
      break;
    }
  return text.empty() ? text : clamping_helper + text;
}

class VersionPrinter {
 public:
  VersionPrinter(const SymbolicProgram& program, const HardwareModel& model, const EntryNames& names,
                 BlockFunctions& functions, const EdgeFunctions& edges)
      : program_(program), model_(model), names_(names), functions_(functions), edges_(edges) {}

  /// The statements of version `v`, group by group.
  std::string print(std::size_t v) {
    std::string text;
    for (const StripGroup& group : groups(v)) {
      const bool one = group.count == 1;
      const Grid& first = grid_of(v, group.first);
      const std::string of_group = !one          ? strips(v, group)
                                   : first.loops ? loops(group.first)
                                                 : grid(v, group.first, nullptr);
      const bool is_whole = one ? first.loops.has_value() : !is_shared(v, group);
      text += names_.team && is_whole ? alone_text(of_group) : of_group;
    }
    return text;
  }
  std::vector<StripGroup> groups(std::size_t v) const {
    std::vector<const Grid*> grids;
    for (std::size_t s = 0; s < statements(); ++s) grids.push_back(&program_.grids[v * statements() + s]);
    return strip_groups(program_.kernel, grids);
  }
  /// Intermediate tensors that hold one strip in every version.
  std::set<TensorId> local() const {
    std::map<TensorId, std::size_t> versions;
    for (std::size_t v = 0; v < program_.versions.size(); ++v)
      for (const StripGroup& group : groups(v))
        for (const TensorId tensor : group.local) ++versions[tensor];
    std::set<TensorId> found;
    for (const auto& [tensor, count] : versions)
      if (count == program_.versions.size()) found.insert(tensor);
    return found;
  }

 private:
  std::size_t statements() const { return program_.kernel.sample.statements.size(); }

  /// A call of the statement's loops; statements of a recurrence are called in a loop over its steps.
  std::string loops(std::size_t s) {
    const SymbolicKernel& kernel = program_.kernel;
    const Repeat* const repeat = repeat_of(kernel.sample, s);
    std::string text;
    const std::size_t end = repeat == nullptr ? s + 1 : s == repeat->first ? s + repeat->count : s;
    for (std::size_t one = s; one < end; ++one) {
      const TensorId to = kernel.sample.statements[one].write.tensor;
      text += first_values_text(kernel, one, model_, names_.pointers.at(to), names_.sizes, functions_.around);
    }
    if (repeat != nullptr && s == repeat->first) {
      const auto number = static_cast<std::size_t>(repeat - kernel.sample.repeats.data());
      const std::string steps = size_text(kernel.steps[number], names_.sizes);
      text += repeat->backward ? fmt::format("  for (long step = {}; step-- > 0;) {{\n", steps)
                               : fmt::format("  for (long step = 0; step < {}; ++step) {{\n", steps);
    }
    std::string list;
    for (const TensorId id : plain_statement_tensors(kernel, s))
      list += (list.empty() ? "" : ", ") + names_.pointers.at(id);
    for (const SymbolicSize& size : kernel.facts.sizes) list += (list.empty() ? "" : ", ") + names_.sizes.at(size.name);
    const bool has_step = repeat != nullptr && kernel.sample.statements[s].domain.find(repeat->dim) >= 0;
    text += fmt::format("  {}({}{});\n", names_.loops[s], list, has_step ? ", step" : "");
    return text + (repeat != nullptr && s + 1 == repeat->first + repeat->count ? "  }\n" : "");
  }

  std::string grid(std::size_t v, std::size_t s, const Strip* strip) const {
    const std::size_t g = v * statements() + s;
    EntryNames names = names_;
    names.edges = edges_.calls[g];
    if (strip != nullptr) names.once = "      if (strip0 == " + strip->first + ")\n";
    return grid_text(program_.grids[g], functions_.grids[g], program_.kernel, names, model_, strip);
  }

  std::string strips(std::size_t v, const StripGroup& group) const {
    const std::string rows = size_text(group.extent, names_.sizes);
    std::string text = fmt::format(
        "  {{  // strip by strip, so that what statements pass on stays in a near cache\n"
        "  const long strip_rows = strip_of({}, {}, {}, {});\n",
        row_bytes(program_, group, names_), group.tile, group.part, group.least);
    const bool shared = is_shared(v, group);
    if (shared) text += begin_strip_shares("(" + rows + ")", cycles(v, group), grid_of(v, group.first).shares);
    for (const TensorId tensor : group.local) text += memory_text(program_, tensor, model_, names_, "strip_rows");
    text += fmt::format(
        "  for (long strip0 = {2}; strip0 < {1}; strip0 += strip_rows) {{\n"
        "  const long strip = {0} - strip0 < strip_rows ? {0} - strip0 : strip_rows;\n",
        "(" + rows + ")", shared ? "last0" : "(" + rows + ")", shared ? "first0" : "0");
    for (std::size_t n = 0; n < group.count; ++n) {
      const Strip strip{group.axes[n], group.local, shared ? "first0" : "0"};
      text += grid(v, group.first + n, &strip);
    }
    return text + "  }\n" + (shared ? end_shares(1, model_, names_.team) : "") + "  }\n";
  }
  const Grid& grid_of(std::size_t v, std::size_t s) const { return program_.grids[v * statements() + s]; }
  bool is_shared(std::size_t v, const StripGroup& group) const {
    std::vector<const Grid*> grids;
    for (std::size_t s = 0; s < statements(); ++s) grids.push_back(&grid_of(v, s));
    return threads_of_strips(group, grids) > 1;
  }
  /// Of all statements of a group.
  std::string cycles(std::size_t v, const StripGroup& group) const {
    std::string sum;
    for (std::size_t s = group.first; s < group.first + group.count; ++s)
      sum += (sum.empty() ? "" : " + ") + cycles_text(grid_of(v, s).shares.costs.front(), names_);
    return sum;
  }

  const SymbolicProgram& program_;
  const HardwareModel& model_;
  const EntryNames& names_;
  BlockFunctions& functions_;  ///< takes what first values need
  const EdgeFunctions& edges_;
};

}  // namespace

Diagnostics unprintable_blocks(const Grid& grid, const HardwareModel& model) {
  SymbolicProgram program;
  program.grids = {grid};
  return print_block_functions(program, model, entry_name("")).diagnostics();
}

Result<TranslationUnit> print_block_unit(const SymbolicProgram& program, const HardwareModel& model, bool team) {
  const BlockEntry entry = entry_of(program, model, team);
  auto functions = print_block_functions(program, model, entry.name);
  if (!functions) return functions.diagnostics();
  TranslationUnit unit;
  const EdgeFunctions edges = edge_functions(program, model, entry, *functions);
  VersionPrinter versions(program, model, entry.names, *functions, edges);
  std::string text = entry_head(program, model, entry, versions.local());
  for (std::size_t v = 0; v < program.versions.size(); ++v)
    text += guarded_text(program.versions[v], versions.print(v), entry.names);
  functions->tiles += loop_functions(program, model, entry.names, functions->around);
  const std::string& tiles = functions->tiles;
  const std::string remainders =
      with_options(sum_options, functions->sums) + with_options(remainder_options, functions->remainders + edges.text);
  functions->around.includes.insert({"<cstdio>", "<cstring>"});
  const auto pack = pack_text(program, model, entry, functions->around, unit);
  if (!pack) return pack.diagnostics();
  const std::string& counter = entry.names.packings;
  unit.name = entry.name;
  unit.arguments = entry.arguments;
  unit.text = about(program, model, entry) + surrounding_text(model, functions->around, tiles + remainders + *pack) +
              symbolic_helpers + growing_array + strip_helper() + run_helpers +
              (is_shared(program.grids) ? shared_cell_helpers() : "") +
              (counter.empty() ? "" : "static long " + counter + " = 0;\n\n") + tiles + remainders + *pack + text +
              "  return 0;\n}\n";
  return unit;
}

}  // namespace isamap

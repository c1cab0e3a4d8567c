// SPDX-License-Identifier: Apache-2.0
// The kernel file: sizes, tensors, statements (docs/kernels.md).
//
// Parts are read in the order of dependence, not of the file: sizes, then shapes, then statements. Parts that depend on
// an unreadable one are skipped silently, so that one run reports every problem once and no consequence of it.

#include <algorithm>

#include "frontends/kernel_file_internal.h"
#include "frontends/lossy_sums.h"
#include "frontends/size_facts.h"
#include "frontends/statements_internal.h"
#include "frontends/two_valued.h"
#include "ir/text/cursor.h"
#include "ir/text/parse.h"
#include "isamap/frontends.h"
#include "support/yaml.h"

namespace isamap {

namespace {

void read_dims(KernelFile& file, const yaml::Node* node) {
  if (!node || node->kind == yaml::Kind::null || !is_map(file, *node, "'dims'", "write dims: {N: 1, K: 64}")) return;
  for (std::size_t i = 0; i < node->entries.size(); ++i) {
    const auto& [name, value] = node->entries[i];
    check_name(file, node->key_where[i], "dim", name);
    AffineExpr exact;
    const auto size = value.kind == yaml::Kind::map ? read_size_facts(file, name, value, exact)
                                                    : read_size(file, value, "the size of dim '" + name + "'", &exact);
    if (!size)
      file.broken_sizes.insert(name);
    else if (is_iterator_name(name))
      file.extents[name] = *size;
    else
      file.kernel.sizes[name] = *size;
    set_exact(file, name, exact);
  }
}

void read_where(KernelFile& file, const yaml::Node* node) {
  if (!node || node->kind == yaml::Kind::null || !is_map(file, *node, "'where'", "write where: {p: 56}")) return;
  for (std::size_t i = 0; i < node->entries.size(); ++i) {
    const auto& [name, value] = node->entries[i];
    if (!is_iterator_name(name)) {
      file.report(node->key_where[i], "iterator '" + name.substr(0, 64) + "' in 'where' must be lower case",
                  "sizes that shapes use belong in 'dims'");
      continue;
    }
    AffineExpr exact;
    const auto extent = read_size(file, value, "the extent of iterator '" + name + "'", &exact);
    if (!extent) {
      file.broken_sizes.insert(name);
      continue;
    }
    if (file.extents.contains(name) && file.extents[name] != *extent)
      file.report(value.where, "iterator '" + name + "' has extent " + std::to_string(*extent) + " here and " +
                                   std::to_string(file.extents[name]) + " in 'dims'");
    file.extents[name] = *extent;
    set_exact(file, name, exact);
    file.extent_where[name] = node->key_where[i];
  }
}

/// One entry of `compute`: its text and, in the map form, its name.
struct StatementText {
  std::string name;
  const yaml::Node* text = nullptr;
  std::string said = {};  ///< the statement, whose characters lie where those of the text do
};

std::optional<StatementText> statement_text(KernelFile& file, const yaml::Node& node, std::size_t position) {
  StatementText result{"s" + std::to_string(position), &node};
  if (node.kind == yaml::Kind::map) {
    yaml::MapReader reader(node, "statement " + std::to_string(position), file.diagnostics);
    if (const auto name = reader.text("name")) {
      check_name(file, reader.child("name")->where, "statement", *name);
      result.name = *name;
    }
    result.text = reader.required("compute");
    reader.finish();
    if (!result.text) return std::nullopt;
  }
  if (result.text->kind == yaml::Kind::scalar) return result;
  file.report(result.text->where, "a statement must be text", "write - C[i,j] += A[i,k] * B[k,j]");
  return std::nullopt;
}

/// For statements that cannot be bound because another tensor is broken.
void check_declared(KernelFile& file, const ParsedAccess& access, const SourceLocation& where) {
  for (const Tensor& tensor : file.kernel.tensors)
    if (tensor.name == access.tensor) return;
  file.report({where.file, where.line, where.column + access.offset}, "no tensor is named '" + access.tensor + "'");
}

/// Problems of a statement's text are found as if it were one line beginning at `first`: gives their true locations.
class Relocation {
 public:
  Relocation(const KernelFile& file, const yaml::Node& text) : first_(text_place(text)) {
    if (text.scalar.size() <= Cursor::max_text) places_ = file.source.places(text);  // longer ones are not read
  }

  void apply(SourceLocation& where) const {
    const int offset = where.column - first_.column;
    if (where.line == first_.line && offset >= 0 && offset < static_cast<int>(places_.size()))
      where = places_[static_cast<std::size_t>(offset)];
  }

  void apply(StatementPlaces& places) const {
    for (auto& access : places.index)
      for (SourceLocation& where : access) apply(where);
    places.statement = places_.front();
  }

 private:
  SourceLocation first_;
  std::vector<SourceLocation> places_;
};

void bind_statement(KernelFile& file, const StatementText& statement, const ParsedStatement& parsed) {
  const SourceLocation where = text_place(*statement.text);
  std::map<std::string, std::int64_t> followed = file.extents;
  followed.erase(file.step);  // slices that no step accesses are allowed
  Diagnostics problems = contradictions(parsed, file.kernel.tensors, followed, where);
  if (problems.empty()) {
    StatementPlaces places;
    Result<Computation> bound =
        isamap::bind(parsed, file.kernel.tensors, file.extents, file.kernel.sizes, where, &places);
    if (bound) {
      bound->name = statement.name;
      lift_statement(file, parsed, *bound, where);
      file.kernel.statements.push_back(std::move(*bound));
      Relocation(file, *statement.text).apply(places);
      file.places.statements.push_back(std::move(places));
      file.texts.push_back(statement.said);
      return;
    }
    problems = bound.diagnostics();
  }
  file.diagnostics.insert(file.diagnostics.end(), problems.begin(), problems.end());
}

/// False: the text has no meaning. Other problems are reported.
bool read_statement_text(KernelFile& file, const StatementText& statement, std::set<std::string>& iterators) {
  const SourceLocation where = text_place(*statement.text);
  const Result<ParsedStatement> parsed = parse_statement(statement.said, where);
  const Diagnostics problems = parsed ? refused_in_kernels(*parsed, where) : parsed.diagnostics();
  if (!problems.empty()) {
    file.diagnostics.insert(file.diagnostics.end(), problems.begin(), problems.end());
    return false;
  }
  const std::set<std::string> names = names_in(*parsed);
  iterators.insert(names.begin(), names.end());
  std::vector<ParsedAccess> accesses = parsed->reads;
  accesses.insert(accesses.begin(), parsed->write);
  const auto broken = [&](const ParsedAccess& access) { return file.broken_tensors.contains(access.tensor); };
  if (std::any_of(accesses.begin(), accesses.end(), broken)) {
    for (const ParsedAccess& access : accesses) check_declared(file, access, where);
    return true;
  }
  if (std::any_of(names.begin(), names.end(), [&](const std::string& n) { return file.broken_sizes.contains(n); }))
    return true;
  bind_statement(file, statement, *parsed);
  return true;
}

bool read_one(KernelFile& file, const StatementText& statement, std::set<std::string>& iterators) {
  if (!file.statement_names.insert(statement.name).second)
    file.report(text_place(*statement.text), "two statements are named '" + statement.name + "'");
  const std::size_t before = file.diagnostics.size();
  const bool read = read_statement_text(file, statement, iterators);
  if (file.diagnostics.size() == before) return read;
  const Relocation relocation(file, *statement.text);
  for (std::size_t d = before; d < file.diagnostics.size(); ++d) relocation.apply(file.diagnostics[d].where);
  return read;
}

/// A statement, or the two that it stands for.
bool read_statement(KernelFile& file, const StatementText& statement, std::set<std::string>& iterators) {
  auto texts = statements_of(statement.text->scalar, text_place(*statement.text));
  if (!texts) {
    for (Diagnostic problem : texts.diagnostics()) {
      Relocation(file, *statement.text).apply(problem.where);
      file.diagnostics.push_back(std::move(problem));
    }
    return false;
  }
  bool read = true;
  for (std::size_t n = 0; n < texts->size(); ++n)
    read = read_one(file, {statement.name + (n > 0 ? "_index" : ""), statement.text, (*texts)[n]}, iterators) && read;
  return read;
}

void check_extents_used(KernelFile& file, const std::set<std::string>& iterators) {
  for (const auto& [name, where] : file.extent_where) {
    if (iterators.contains(name)) continue;
    const std::string guess = yaml::nearest(name, {iterators.begin(), iterators.end()});
    file.report(where, "no statement uses iterator '" + name + "'",
                guess.empty() ? "" : "did you mean '" + guess + "'?");
  }
}

void check_tensors_used(KernelFile& file) {
  std::vector<bool> used(file.kernel.tensors.size(), false);
  for (const Computation& statement : file.kernel.statements)
    for (int a = 0; a < access_count(statement); ++a) used[access_of(statement, a).tensor.index()] = true;
  for (std::size_t t = 0; t < used.size(); ++t)
    if (!used[t])
      file.report(file.places.tensors[t], "no statement uses tensor '" + file.kernel.tensors[t].name + "'",
                  "remove it");
}

/// A `repeat` entry.
struct RepeatEntry {
  const yaml::Node* steps = nullptr;  ///< {t: T}
  std::size_t first = 0, count = 0;   ///< of the statements that it repeats
  bool backward = false;
};

struct Entries {
  std::vector<const yaml::Node*> statements;
  std::vector<RepeatEntry> repeats;
};

void list_entries(const yaml::Node& node, std::vector<const yaml::Node*>& into) {
  if (node.kind != yaml::Kind::list) return into.push_back(&node);
  for (const yaml::Node& item : node.items) into.push_back(&item);
}

/// All statements in order, with those under `repeat`.
Entries entries_of(KernelFile& file, const yaml::Node& node) {
  std::vector<const yaml::Node*> top;
  list_entries(node, top);
  Entries found;
  for (const yaml::Node* entry : top) {
    const yaml::Node* repeat = entry->kind == yaml::Kind::map ? entry->find("repeat") : nullptr;
    if (!repeat) {
      found.statements.push_back(entry);
      continue;
    }
    yaml::MapReader reader(*entry, "a `repeat`", file.diagnostics);
    RepeatEntry own{reader.child("repeat"), found.statements.size(), 0, reader.boolean("backward").value_or(false)};
    if (const yaml::Node* statements = reader.required("compute")) list_entries(*statements, found.statements);
    own.count = found.statements.size() - own.first;
    found.repeats.push_back(own);
    reader.finish();
  }
  return found;
}

/// `{t: T}`. Nothing: invalid, and reported.
std::optional<Repeat> read_repeat(KernelFile& file, const RepeatEntry& entry) {
  const yaml::Node& node = *entry.steps;
  if (node.kind != yaml::Kind::map || node.entries.size() != 1) {
    file.report(node.where, "'repeat' must name one iterator and its number of steps", "write repeat: {t: T}");
    return std::nullopt;
  }
  const auto& [name, value] = node.entries.front();
  if (!is_iterator_name(name)) {
    file.report(node.key_where.front(), "iterator '" + name.substr(0, 64) + "' in 'repeat' must be lower case",
                "write repeat: {t: T}");
    return std::nullopt;
  }
  AffineExpr exact;
  const auto steps = read_size(file, value, "the number of steps of '" + name + "'", &exact);
  if (!steps) return std::nullopt;
  file.symbolic.steps.push_back(exact);
  if (const auto known = file.extents.find(name); known != file.extents.end() && known->second != *steps) {
    file.report(value.where, "iterator '" + name + "' has extent " + std::to_string(*steps) + " here and " +
                                 std::to_string(known->second) + " in 'dims' or 'where'");
    return std::nullopt;
  }
  return Repeat{name, *steps, entry.first, entry.count, entry.backward};
}

void read_compute(KernelFile& file, const yaml::Node* node) {
  if (!node) return;
  const std::size_t found = file.diagnostics.size();
  const Entries entries = entries_of(file, *node);
  if (entries.statements.empty() && file.diagnostics.size() > found) return;
  if (entries.statements.empty() || entries.statements.size() > max_kernel_entries)
    return file.report(node->where, "'compute' has " + std::to_string(entries.statements.size()) +
                                        " statements; 1 to " + std::to_string(max_kernel_entries) + " are needed");
  for (const RepeatEntry& entry : entries.repeats) {
    const auto repeat = read_repeat(file, entry);
    if (!repeat) return;
    file.kernel.repeats.push_back(*repeat);
  }
  std::set<std::string> iterators;
  bool all_read = true;
  std::vector<std::size_t> begin;  // statements before each entry
  for (std::size_t i = 0; i < entries.statements.size(); ++i) {
    const auto statement = statement_text(file, *entries.statements[i], i);
    begin.push_back(file.kernel.statements.size());
    const auto before = file.extents;
    const auto exact_before = file.exact;
    if (const Repeat* repeat = repeat_of(file.kernel, i)) {
      file.step = repeat->dim;
      file.extents[file.step] = repeat->steps;
      set_exact(file, file.step, file.symbolic.steps[static_cast<std::size_t>(repeat - file.kernel.repeats.data())]);
    }
    all_read = statement && read_statement(file, *statement, iterators) && all_read;
    file.step.clear();
    file.extents = before;
    file.exact = exact_before;
  }
  begin.push_back(file.kernel.statements.size());
  for (Repeat& repeat : file.kernel.repeats)
    repeat = {repeat.dim, repeat.steps, begin[repeat.first], begin[repeat.first + repeat.count] - begin[repeat.first],
              repeat.backward};
  if (all_read) check_extents_used(file, iterators);
}

/// Problems of one statement, independent of other problems of the file: checked alone, over the tensors that it uses.
Diagnostics verify_alone(const KernelFile& file, std::size_t s) {
  const Computation& statement = file.kernel.statements[s];
  Kernel part = file.kernel;
  part.repeats.clear();
  part.statements = {statement};
  for (std::size_t t = 0; t < part.tensors.size(); ++t) {
    const auto id = make_id<TensorId>(t);
    bool used = false;
    for (int a = 0; a < access_count(statement); ++a) used = used || access_of(statement, a).tensor == id;
    if (!used) part.tensors[t] = Tensor{"unused" + std::to_string(t) + ".", {}, DType::f32, {}, false, {}};
    part.tensors[t].inout = part.tensors[t].inout && statement.write.tensor == id;
    part.tensors[t].output = part.tensors[t].output && statement.write.tensor == id;
  }
  return verify(part, {file.places.tensors, {file.places.statements[s]}});
}

void verify_kernel(KernelFile& file) {
  Diagnostics found;
  if (file.diagnostics.empty()) {
    check_tensors_used(file);
    found = finish_symbolic(file);
    if (!has_errors(found)) found = verify(file.kernel, file.places);
  } else {
    for (std::size_t s = 0; s < file.kernel.statements.size(); ++s) {
      const Diagnostics alone = verify_alone(file, s);
      found.insert(found.end(), alone.begin(), alone.end());
    }
  }
  file.diagnostics.insert(file.diagnostics.end(), found.begin(), found.end());
}

Diagnostics lossy_sums(const KernelFile& file) {
  Diagnostics found;
  for (std::size_t s = 0; s < file.kernel.statements.size(); ++s)
    if (auto warning = lossy_sum(file.kernel, {s, file.texts[s], file.places.statements[s].statement})) {
      file.source.attach(*warning);
      found.push_back(std::move(*warning));
    }
  return found;
}

}  // namespace

Result<SymbolicKernel> parse_symbolic_kernel(const std::string& text, const std::string& file_name,
                                             const Bindings& sizes, Diagnostics* warnings) {
  KernelFile file;
  file.given = sizes;
  const auto root = yaml::parse_text(text, file_name, file.diagnostics);
  if (!root) return file.diagnostics;
  file.source = yaml::Source(text);
  file.kernel.where = {file_name, 0, 0};
  yaml::MapReader top(*root, "the kernel file", file.diagnostics);
  if (root->kind == yaml::Kind::map) {
    if (const auto name = top.text("kernel", true)) {
      check_name(file, top.child("kernel")->where, "kernel", *name);
      file.kernel.name = *name;
    }
    read_dims(file, top.child("dims"));
    read_facts(file, top.child("facts"));
    if (has_errors(file.diagnostics) && !file.given.empty()) return file.diagnostics;  // shapes would repeat it
    const yaml::Node* const tensors = top.required("tensors");
    const yaml::Node* const where = top.child("where");
    const yaml::Node* const compute = top.required("compute");
    const std::size_t before = file.diagnostics.size();
    top.finish();
    const bool misspelt_dims = file.diagnostics.size() > before && !top.child("dims");
    if (!misspelt_dims) {  // else each name of a size would be an error
      read_tensors(file, tensors);
      read_where(file, where);
      if (tensors) read_compute(file, compute);  // the same of each name of a tensor
    }
  }
  verify_kernel(file);
  if (!has_errors(file.diagnostics)) {
    if (warnings) *warnings = lossy_sums(file);
    return std::move(file.symbolic);
  }
  for (Diagnostic& diagnostic : file.diagnostics) {
    if (diagnostic.where.file.empty()) diagnostic.where.file = file_name;
    file.source.attach(diagnostic);
  }
  std::stable_sort(file.diagnostics.begin(), file.diagnostics.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return std::pair(a.where.line, a.where.column) < std::pair(b.where.line, b.where.column);
  });
  return file.diagnostics;
}

Result<SymbolicKernel> load_symbolic_kernel(const std::string& path, const Bindings& sizes, Diagnostics* warnings) {
  const Result<std::string> text = yaml::read_text_file(path);
  if (!text) return text.diagnostics();
  return parse_symbolic_kernel(*text, path, sizes, warnings);
}

Result<Kernel> parse_kernel_yaml(const std::string& text, const std::string& file_name, Diagnostics* warnings) {
  return without_symbols_in_file(parse_symbolic_kernel(text, file_name, {}, warnings));
}

Result<Kernel> load_kernel(const std::string& path, Diagnostics* warnings) {
  return without_symbols_in_file(load_symbolic_kernel(path, {}, warnings));
}

}  // namespace isamap

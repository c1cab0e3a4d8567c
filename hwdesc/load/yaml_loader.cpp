// SPDX-License-Identifier: Apache-2.0
// YAML to HardwareModel: the steps of loader_internal.h, in order.

#include <algorithm>

#include "hwdesc/keys/types.h"
#include "hwdesc/load/fields.h"
#include "hwdesc/load/loader_names.h"
#include "hwdesc/model/program_language.h"
#include "isamap/hardware.h"

namespace isamap {

namespace loader {

namespace {

constexpr std::size_t max_problems = 200;

std::vector<const Node*> named_items(const Node& root, const std::string& key) {
  std::vector<const Node*> result;
  if (const Node* list = root.find(key))
    for (const Node& item : list->items)
      if (const Node* name = item.find("name"); name && name->kind == Kind::scalar) result.push_back(&item);
  return result;
}

void check_top_level(const Node& root, Context& context) {
  Fields map(root, "file", "the hardware file", context);
  context.model.name = map.text("hardware").value_or("?");
  if (const std::string& name = context.model.name; name != "?" && !is_name(name))
    context.problems.error(root.find("hardware")->where,
                           "hardware name '" + name + "' may hold only letters, digits, '_' and '-'");
  for (const char* list : {"units", "memories"}) map.check_there(list);
  if (const Node* tables = root.find("tables"))
    for (const auto& [name, rows] : tables->entries)
      if (rows.kind != Kind::list)
        context.problems.error(rows.where, "table '" + name + "' must be a list of rows", "write [{t: f32}, {t: f64}]");
  for (const auto& [list, kind] :
       {std::pair("units", "unit"), std::pair("memories", "memory"), std::pair("links", "link")})
    for (const Node* item : named_items(root, list)) context.written.emplace(kind, item->find("name")->scalar);
}

/// All but tables, parameters and instructions, which are expanded row by row, and sections that are not known:
/// misspelt instructions are told as such, without the parameters of their rows.
void substitute_machine(Node& root, Parameters& parameters, Problems& problems) {
  for (auto& [key, value] : root.entries)
    if (key != "tables" && key != "params" && key != "instructions" && key != "layouts" &&
        keys::find_key(keys::section("file"), key) != nullptr)
      substitute(value, parameters, problems);
  for (auto& [key, value] : root.entries)
    if (key == "layouts") substitute(value, parameters, problems);
}

/// Equivalent to `program: {window: 1}`; programs that a compiler reorders have no window.
void keep_in_order(Node& root) {
  const Node* written = root.find("program");
  if (written && written->kind != Kind::map) return;
  const Node* language = written ? written->find("language") : nullptr;
  if (language) {
    const ProgramLanguage* row = find_language(language->scalar);
    if (row == nullptr || row->form != ProgramForm::command_stream) return;
  }
  Node program = written ? *written : Node{};
  program.kind = Kind::map;
  Node window;
  window.kind = Kind::scalar;
  window.scalar = "1";
  const auto put = [](Node& map, const std::string& key, Node value) {
    for (auto& [name, old] : map.entries)
      if (name == key) return void(old = std::move(value));
    map.entries.emplace_back(key, std::move(value));
    map.key_where.push_back(map.where);
  };
  put(program, "window", std::move(window));
  put(root, "program", std::move(program));
}

void load(Tree& tree, const std::vector<std::string>& folders, const LoadOptions& options, LoadedHardware& loaded,
          Problems& problems) {
  HardwareModel& model = loaded.model;
  Node& root = tree.root;
  Parameters parameters = read_parameters(root, options.params, problems);
  substitute_machine(root, parameters, problems);
  if (options.in_order) keep_in_order(root);
  Context context{model, {}, problems, top_level(root, "layouts", problems), folders, options.sizes};
  check_top_level(root, context);
  model.file = tree.file;
  model.params = parameters.values;
  if (const Node* clock = top_level(root, "clock", problems))
    model.clock_hz = read_frequency(*clock, keys::key("file", "clock"), "'clock'", context).value_or(1e9);
  if (const Node* requirements = top_level(root, "requires", problems))
    model.needed = load_requires(*requirements, "the hardware file", context);
  load_verified(root, context);
  load_symbols(root, context);
  load_program(root, context);
  load_timing(root, context);
  load_units(root, context);
  load_memories(root, context);
  load_links(root, context);
  load_states(root, context);
  load_formats(root, context);
  load_barriers(root, context);
  load_async(root, context);
  load_objects(root, context);
  const std::vector<Entry> entries = expand_instructions(root, parameters, problems);
  if (context.parts.units.empty() || context.parts.memories.empty()) return;
  for (const Entry& entry : entries)
    if (!entry.broken) load_instruction(entry, context);
  if (!problems.any_errors()) report_unused_operands(context);
  if (!problems.any_errors()) check_growth(context);
  if (!problems.any_errors()) check_tokens(context);
  if (!problems.any_errors()) check_machine(context);
  if (problems.any_errors()) return;
  model.finish(std::move(context.parts));
  loaded.resolved = resolved_text(root, entries);
}

/// `--set VB=32` names a symbol, `--set dim=8` a parameter.
LoadOptions split_sizes(const Node& root, LoadOptions options, Problems& problems) {
  const Node* symbols = top_level(root, "symbols", problems);
  for (auto it = options.params.begin(); it != options.params.end();) {
    const Node* symbol = symbols && symbols->kind == Kind::map ? symbols->find(it->first) : nullptr;
    if (!symbol) {
      ++it;
      continue;
    }
    Node value;
    value.kind = Kind::scalar;
    value.scalar = it->second;
    if (const auto size = yaml::to_integer(value))
      options.sizes[it->first] = *size;
    else
      problems.error({root.where.file, 0, 0},
                     "symbol '" + it->first + "' is set to '" + it->second + "', which is no integer");
    it = options.params.erase(it);
  }
  return options;
}

constexpr std::size_t max_versions = 16;

/// Every combination of the sizes that the symbols list; empty without such symbols.
std::vector<Sizes> combinations(const HardwareModel& model) {
  std::vector<Sizes> all{{}};
  bool at_run_time = false;
  for (const Symbol& symbol : model.symbols()) {
    at_run_time = at_run_time || !symbol.known_at_compile_time;
    std::vector<Sizes> longer;
    for (const Sizes& sizes : all)
      for (const std::int64_t value : symbol.versions) {
        longer.push_back(sizes);
        longer.back()[symbol.name] = value;
        if (longer.size() > max_versions) break;
      }
    all = std::move(longer);
  }
  return at_run_time ? all : std::vector<Sizes>{};
}

/// Loads the file at its other sizes too: a problem at any size is a problem.
void load_versions(const Tree& tree, const std::vector<std::string>& folders, const LoadOptions& options,
                   HardwareModel& model, Problems& problems) {
  const std::vector<Sizes> all = combinations(model);
  if (all.size() > max_versions)
    return problems.error({tree.file, 0, 0},
                          "the symbols have more than " + std::to_string(max_versions) + " combinations of sizes",
                          "list fewer of them in 'versions'");
  std::vector<HardwareModel> versions;
  for (const Sizes& sizes : all) {
    if (sizes == model.sizes()) {
      versions.push_back(model);
      continue;
    }
    Tree copy = tree;
    LoadOptions at = options;
    at.sizes = sizes;
    Problems found;
    LoadedHardware version;
    load(copy, folders, at, version, found);
    for (Diagnostic& problem : found.take()) {
      if (problem.severity != Severity::error) continue;
      problem.message = "with " + print(sizes) + ": " + problem.message;
      problems.add(std::move(problem));
    }
    versions.push_back(std::move(version.model));
  }
  if (!versions.empty() && !problems.any_errors()) model.set_versions(std::move(versions));
}

void attach_sources(Diagnostics& diagnostics, const Tree& tree) {
  for (Diagnostic& diagnostic : diagnostics) {
    const auto source = tree.sources.find(diagnostic.where.file);
    if (source != tree.sources.end() && diagnostic.source_line.empty()) source->second.attach(diagnostic);
  }
}

}  // namespace

void Problems::error(const SourceLocation& where, std::string message, std::string hint,
                     std::vector<std::string> notes) {
  Diagnostic diagnostic = error_at(where, std::move(message), std::move(hint));
  diagnostic.notes = std::move(notes);
  add(std::move(diagnostic));
}

void Problems::warning(const SourceLocation& where, std::string message, std::string hint) {
  Diagnostic diagnostic = error_at(where, std::move(message), std::move(hint));
  diagnostic.severity = Severity::warning;
  add(std::move(diagnostic));
}

void Problems::settle(const Node& scalar) {
  settled_.emplace_back(scalar.where, static_cast<int>(scalar.scalar.size()) + 2);
}

void Problems::add(Diagnostic diagnostic) {
  ++count_;
  for (const auto& [where, columns] : settled_)
    if (diagnostic.where.file == where.file && diagnostic.where.line == where.line &&
        diagnostic.where.column >= where.column && diagnostic.where.column < where.column + columns)
      return;
  if (list_.size() > max_problems && has_errors(list_)) return;
  const std::string key = diagnostic.where.file + ":" + std::to_string(diagnostic.where.line) + ":" +
                          std::to_string(diagnostic.where.column) + ":" + diagnostic.message;
  if (!seen_.insert(key).second) return;
  if (list_.size() == max_problems)
    diagnostic = isamap::error_at({diagnostic.where.file, 0, 0},
                                  "more than " + std::to_string(max_problems) + " problems: the rest is not shown");
  list_.push_back(std::move(diagnostic));
}

void Problems::add(const Diagnostics& diagnostics) {
  for (const Diagnostic& diagnostic : diagnostics) add(diagnostic);
}

void Problems::add(const Diagnostics& diagnostics, const std::string& hint) {
  for (Diagnostic diagnostic : diagnostics) {
    if (diagnostic.hint.empty() && diagnostic.notes.empty()) diagnostic.hint = hint;
    add(std::move(diagnostic));
  }
}

SourceLocation text_where(const Node& node) {
  SourceLocation where = node.where;
  if (node.quoted) ++where.column;
  return where;
}

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::vector<const Node*> items(const Node& root, const std::string& key, Problems& problems) {
  const Node* list = top_level(root, key, problems);
  std::vector<const Node*> result;
  if (!list || list->kind == Kind::null) return result;
  if (list->kind != Kind::list) problems.error(list->where, "'" + key + "' must be a list", "write - {name: .., ...}");
  constexpr std::size_t most = 4096;
  if (list->items.size() > most)
    problems.error(list->where, "'" + key + "' has " + std::to_string(list->items.size()) + " entries; at most " +
                                    std::to_string(most) + " are read");
  for (const Node& item : list->items)
    if (result.size() < most) result.push_back(&item);
  return result;
}

std::optional<std::string> line_of_text(const Node& node, const std::string& what, Context& context) {
  const std::string& text = node.scalar;
  const bool blank = node.kind == Kind::null || text.find_first_not_of(' ') == std::string::npos;
  const bool several = std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; });
  if (node.kind == Kind::scalar && !blank && !several) return text;
  const bool collection = node.kind == Kind::list || node.kind == Kind::map;
  context.problems.error(node.where,
                         what + " must be one line of text, found " +
                             (collection ? "a collection"
                              : blank    ? "nothing"
                                         : "several lines"),
                         "write a few words");
  return std::nullopt;
}

std::optional<DType> dtype_named(const Node& node, const std::string& what, Context& context) {
  if (const auto type = parse_dtype(node.scalar)) return type;
  const std::vector<std::string>& known = keys::find_value_type("dtype")->words;
  const std::string guess = yaml::nearest(node.scalar, known);
  context.problems.error(node.where, "dtype of " + what + " is '" + node.scalar + "', which does not exist",
                         guess.empty() ? "" : "did you mean '" + guess + "'?", {"dtypes: " + join(known)});
  return std::nullopt;
}

std::optional<IntExpr> int_expr(const Node& node, Problems& problems) {
  if (node.kind != Kind::scalar) {
    problems.error(node.where, "an integer expression must be a number or text");
    return std::nullopt;
  }
  Result<IntExpr> parsed = parse_int_expr(node.scalar, text_where(node));
  if (parsed) return std::move(*parsed);
  problems.add(parsed.diagnostics(), "write a number, or + - * / % over extents and symbols: \"extent[i]/4\"");
  return std::nullopt;
}

std::optional<Template> template_of(const Node& node, Problems& problems) {
  Result<Template> parsed = parse_template(node.scalar, text_where(node));
  if (parsed) return std::move(*parsed);
  problems.add(parsed.diagnostics(), "braces hold an operand or an integer expression: {C}, {extent[j]*4}");
  return std::nullopt;
}

}  // namespace loader

namespace loader {
namespace {

Result<LoadedHardware> load_file(const std::string& path, const std::vector<std::string>& folders,
                                 const LoadOptions& options, Problems& problems) {
  Tree tree;
  LoadedHardware loaded;
  if (read_tree(path, folders, problems, tree)) {
    const LoadOptions sized = split_sizes(tree.root, options, problems);
    const bool symbols = tree.root.find("symbols") != nullptr;
    const Tree as_read = symbols ? tree : Tree{};
    load(tree, folders, sized, loaded, problems);
    if (symbols && !problems.any_errors()) load_versions(as_read, folders, sized, loaded.model, problems);
  }
  const bool failed = problems.any_errors();
  if (options.prove && !failed) {
    LayoutProofs proofs = prove_layouts(loaded.model);
    loaded.facts = std::move(proofs.facts);
    problems.add(proofs.warnings);
  }
  Diagnostics diagnostics = problems.take();
  attach_sources(diagnostics, tree);
  std::stable_sort(diagnostics.begin(), diagnostics.end(), [](const Diagnostic& a, const Diagnostic& b) {
    if (a.severity != b.severity) return a.severity == Severity::error;
    return std::tie(a.where.file, a.where.line, a.where.column) < std::tie(b.where.file, b.where.line, b.where.column);
  });
  if (failed) return diagnostics;
  loaded.warnings = std::move(diagnostics);
  return loaded;
}

}  // namespace

Result<LoadedHardware> load_noting_keys(const std::string& path, const std::vector<std::string>& folders, KeyUse& use) {
  Problems problems;
  auto loaded = load_file(path, folders, {}, problems);
  use.insert(problems.keys_read().begin(), problems.keys_read().end());
  return loaded;
}

}  // namespace loader

Result<LoadedHardware> load_hardware(const std::string& path, const std::vector<std::string>& folders,
                                     const LoadOptions& options) {
  loader::Problems problems;
  return loader::load_file(path, folders, options, problems);
}

Result<std::vector<std::string>> required_cpu(const std::string& path, const std::vector<std::string>& folders) {
  loader::Problems problems;
  loader::Tree tree;
  if (!loader::read_tree(path, folders, problems, tree)) return problems.take();
  std::vector<std::string> features;
  const loader::Node* needed = tree.root.find("requires");
  const loader::Node* listed = needed == nullptr ? nullptr : needed->find("cpu");
  if (listed == nullptr) return features;
  if (listed->kind == yaml::Kind::scalar) features.push_back(listed->scalar);
  for (const loader::Node& one : listed->items) features.push_back(one.scalar);
  return features;
}

}  // namespace isamap

// The kernel file: sizes, tensors, statements (docs/kernels.md).
//
// Reading goes in the order of meaning, not of the file: sizes, then shapes, then statements. What an unreadable part
// was needed for is skipped silently, so that one run reports every problem once and no consequence of it.

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "frontends/frontends.h"
#include "frontends/statements_internal.h"
#include "ir/int_expr.h"
#include "ir/parse.h"
#include "support/yaml.h"

namespace isamap {

namespace {

constexpr std::size_t max_entries = 256;  ///< dims, tensors or statements in one file

struct KernelFile {
  Kernel kernel;
  std::map<std::string, std::int64_t> extents;           ///< of iterators: `where` and lower-case dims
  std::map<std::string, SourceLocation> extent_where;
  std::set<std::string> broken_sizes, broken_tensors;     ///< reported already
  std::vector<SourceLocation> tensor_where, statement_where;
  Diagnostics diagnostics;

  void report(const SourceLocation& where, std::string message, std::string hint = "") {
    diagnostics.push_back(error_at(where, std::move(message), std::move(hint)));
  }
};

bool is_map(KernelFile& file, const yaml::Node& node, const std::string& what, const std::string& hint) {
  if (node.kind != yaml::Kind::map) {
    file.report(node.where, what + " must be a map", hint);
    return false;
  }
  if (node.entries.size() <= max_entries) return true;
  file.report(node.where, what + " has " + std::to_string(node.entries.size()) + " entries; at most " +
                              std::to_string(max_entries) + " are read");
  return false;
}

void check_name(KernelFile& file, const SourceLocation& where, const std::string& what, const std::string& name) {
  if (is_identifier(name)) return;
  file.report(where, what + " '" + name.substr(0, 64) + "' must be a letter followed by letters, digits or '_', at most 64 of them");
}

bool is_integer_text(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789", text[0] == '-' ? 1 : 0) == std::string::npos;
}

/// The value of `P + R - 1`; problems are reported, those of broken sizes only once.
std::optional<std::int64_t> size_value(KernelFile& file, const yaml::Node& node, const std::string& what) {
  if (node.kind != yaml::Kind::scalar) {
    file.report(node.where, what + " must be a number or an expression in dims");
    return std::nullopt;
  }
  if (is_integer_text(node.scalar) && !yaml::to_integer(node)) {
    file.report(node.where, what + " is " + node.scalar.substr(0, 64) + ", which is no integer of 64 bits", "write decimal digits without a leading zero");
    return std::nullopt;
  }
  const Result<IntExpr> parsed = parse_int_expr(node.scalar, text_place(node));
  if (!parsed) {
    file.diagnostics.insert(file.diagnostics.end(), parsed.diagnostics().begin(), parsed.diagnostics().end());
    return std::nullopt;
  }
  std::map<std::string, std::int64_t> sizes = file.kernel.sizes;
  sizes.insert(file.extents.begin(), file.extents.end());
  for (const Reference& reference : references(*parsed)) {
    if (file.broken_sizes.contains(reference.object)) return std::nullopt;
    if (sizes.contains(reference.object) && reference.property.empty() && reference.argument.empty()) continue;
    Diagnostic unknown = error_at(node.where, "'" + reference.object + "' in " + what + " is not declared in dims");
    std::vector<std::string> known;
    for (const auto& [name, value] : sizes) known.push_back(name);
    const std::string guess = yaml::nearest(reference.object, known);
    if (!guess.empty()) unknown.hint = "did you mean '" + guess + "'?";
    file.diagnostics.push_back(std::move(unknown));
    return std::nullopt;
  }
  const auto value = evaluate(*parsed, [&](const Reference& r) { return std::optional(sizes.at(r.object)); });
  if (!value) file.report(node.where, what + ", " + node.scalar + ", overflows 64 bits or divides by zero");
  return value;
}

std::optional<std::int64_t> size_not_negative(KernelFile& file, const yaml::Node& node, const std::string& what) {
  const auto value = size_value(file, node, what);
  if (!value || *value >= 0) return value;
  const bool plain = node.scalar == std::to_string(*value);
  file.report(node.where, what + (plain ? "" : ", " + node.scalar + ",") + " is " + std::to_string(*value) + ": sizes must not be negative");
  return std::nullopt;
}

void read_dims(KernelFile& file, const yaml::Node* node) {
  if (!node || node->kind == yaml::Kind::null || !is_map(file, *node, "'dims'", "write dims: {N: 1, K: 64}")) return;
  for (std::size_t i = 0; i < node->entries.size(); ++i) {
    const auto& [name, value] = node->entries[i];
    check_name(file, node->key_where[i], "dim", name);
    std::optional<std::int64_t> size;
    if (value.kind == yaml::Kind::map)
      file.report(value.where, "facts about the size of dim '" + name + "' are not supported yet", "write a number");
    else
      size = size_not_negative(file, value, "the size of dim '" + name + "'");
    if (!size) file.broken_sizes.insert(name);
    else if (is_iterator_name(name)) file.extents[name] = *size;
    else file.kernel.sizes[name] = *size;
    if (size && is_iterator_name(name)) file.extent_where[name] = node->key_where[i];
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
    const auto extent = size_not_negative(file, value, "the extent of iterator '" + name + "'");
    if (!extent) {
      file.broken_sizes.insert(name);
      continue;
    }
    if (file.extents.contains(name) && file.extents[name] != *extent)
      file.report(value.where, "iterator '" + name + "' has extent " + std::to_string(*extent) + " here and " +
                                   std::to_string(file.extents[name]) + " in 'dims'");
    file.extents[name] = *extent;
    file.extent_where[name] = node->key_where[i];
  }
}

/// A number; `inf` and `-inf` too, in YAML's spelling or without its dot.
std::optional<double> real_or_infinite(const yaml::Node& node) {
  const bool negative = node.scalar.starts_with('-');
  const std::string word = node.scalar.substr(negative ? 1 : 0);
  if (node.kind == yaml::Kind::scalar && (word == "inf" || word == ".inf"))
    return negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  return yaml::to_real(node);
}

/// Can a tensor of this type hold the value?
bool representable(DType type, double value) {
  if (is_float(type)) return true;
  if (!is_integer(type)) return false;
  return value == std::floor(value) && value >= static_cast<double>(integer_min(type)) && value <= static_cast<double>(integer_max(type));
}

std::string number_text(double value) {
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

void read_outside(KernelFile& file, const yaml::Node* node, Tensor& tensor) {
  if (!node) return;
  const auto value = real_or_infinite(*node);
  if (!value) return file.report(node->where, "'outside' of tensor '" + tensor.name + "' must be a number", "0 is padding with zeros");
  if (!representable(tensor.dtype, *value))
    return file.report(node->where, "'outside' of tensor '" + tensor.name + "' is " + number_text(*value) + ", which " +
                                        std::string(name(tensor.dtype)) + " cannot hold");
  tensor.outside = *value;
}

void read_range(KernelFile& file, const yaml::Node* node, Tensor& tensor) {
  if (!node) return;
  const std::string what = "'range' of tensor '" + tensor.name + "'";
  if (node->kind != yaml::Kind::list || node->items.size() != 2 || !yaml::to_real(node->items[0]) || !yaml::to_real(node->items[1]))
    return file.report(node->where, what + " must be two numbers", "write range: [0, 127]");
  const double low = *yaml::to_real(node->items[0]), high = *yaml::to_real(node->items[1]);
  if (low > high) return file.report(node->where, what + " is empty: " + number_text(low) + " is above " + number_text(high));
  for (const double end : {low, high})
    if (!representable(tensor.dtype, end))
      return file.report(node->where, what + " contains " + number_text(end) + ", which " + std::string(name(tensor.dtype)) + " cannot hold");
  tensor.range = {low, high};
}

bool read_shape(KernelFile& file, const yaml::Node* node, Tensor& tensor) {
  if (!node) return false;
  if (node->kind != yaml::Kind::list) {
    file.report(node->where, "'shape' of tensor '" + tensor.name + "' must be a list", "write shape: [N, K], or [] for one value");
    return false;
  }
  bool good = true;
  for (std::size_t i = 0; i < node->items.size(); ++i) {
    const auto size = size_not_negative(file, node->items[i], "dimension " + std::to_string(i) + " of tensor '" + tensor.name + "'");
    tensor.shape.push_back(size.value_or(0));
    good = good && size;
  }
  return good;
}

void read_dtype(KernelFile& file, const yaml::Node* node, Tensor& tensor) {
  if (!node) return;
  const auto type = node->kind == yaml::Kind::scalar ? parse_dtype(node->scalar) : std::nullopt;
  if (type) {
    tensor.dtype = *type;
    return;
  }
  Diagnostic unknown = error_at(node->where, "tensor '" + tensor.name + "' has an unknown dtype '" + node->scalar.substr(0, 64) + "'");
  unknown.notes.push_back(known_dtypes_note());
  file.diagnostics.push_back(std::move(unknown));
}

void read_tensor(KernelFile& file, const std::string& tensor_name, const SourceLocation& where, const yaml::Node& node) {
  check_name(file, where, "tensor", tensor_name);
  const std::size_t before = file.diagnostics.size();
  yaml::MapReader reader(node, "tensor '" + tensor_name + "'", file.diagnostics);
  Tensor tensor;
  tensor.name = tensor_name;
  const bool has_shape = read_shape(file, reader.required("shape"), tensor);
  read_dtype(file, reader.child("dtype"), tensor);
  read_outside(file, reader.child("outside"), tensor);
  tensor.inout = reader.boolean("inout").value_or(false);
  read_range(file, reader.child("range"), tensor);
  if (node.kind == yaml::Kind::map) reader.finish();
  if (!has_shape || file.diagnostics.size() != before) file.broken_tensors.insert(tensor_name);
  file.kernel.tensors.push_back(std::move(tensor));
  file.tensor_where.push_back(where);
}

void read_tensors(KernelFile& file, const yaml::Node* node) {
  if (!node || !is_map(file, *node, "'tensors'", "write tensors: {A: {shape: [N, K], dtype: f32}}")) return;
  for (std::size_t i = 0; i < node->entries.size(); ++i)
    read_tensor(file, node->entries[i].first, node->key_where[i], node->entries[i].second);
}

/// One entry of `compute`: its text and, in the map form, its name.
struct StatementText {
  std::string name;
  const yaml::Node* text = nullptr;
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

/// False: the text has no meaning. What is wrong beyond the text is reported.
bool read_statement(KernelFile& file, const StatementText& statement, std::set<std::string>& iterators) {
  const SourceLocation where = text_place(*statement.text);
  for (const Computation& other : file.kernel.statements)
    if (other.name == statement.name) file.report(where, "two statements are named '" + statement.name + "'");
  const Result<ParsedStatement> parsed = parse_statement(statement.text->scalar, where);
  if (!parsed) {
    file.diagnostics.insert(file.diagnostics.end(), parsed.diagnostics().begin(), parsed.diagnostics().end());
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
  if (std::any_of(names.begin(), names.end(), [&](const std::string& n) { return file.broken_sizes.contains(n); })) return true;
  Diagnostics problems = contradictions(*parsed, file.kernel.tensors, file.extents, where);
  if (problems.empty()) {
    Result<Computation> bound = isamap::bind(*parsed, file.kernel.tensors, file.extents, file.kernel.sizes, where);
    if (bound) {
      bound->name = statement.name;
      file.kernel.statements.push_back(std::move(*bound));
      file.statement_where.push_back(where);
      return true;
    }
    problems = bound.diagnostics();
  }
  file.diagnostics.insert(file.diagnostics.end(), problems.begin(), problems.end());
  return true;
}

void check_extents_used(KernelFile& file, const std::set<std::string>& iterators) {
  for (const auto& [name, where] : file.extent_where) {
    if (iterators.contains(name)) continue;
    const std::string guess = yaml::nearest(name, {iterators.begin(), iterators.end()});
    file.report(where, "no statement uses iterator '" + name + "'", guess.empty() ? "" : "did you mean '" + guess + "'?");
  }
}

void check_tensors_used(KernelFile& file) {
  for (std::size_t t = 0; t < file.kernel.tensors.size(); ++t) {
    const auto uses = [&](const Computation& statement) {
      for (int a = 0; a < access_count(statement); ++a)
        if (access_of(statement, a).tensor == make_id<TensorId>(t)) return true;
      return false;
    };
    if (std::none_of(file.kernel.statements.begin(), file.kernel.statements.end(), uses))
      file.report(file.tensor_where[t], "no statement uses tensor '" + file.kernel.tensors[t].name + "'", "remove it");
  }
}

void read_compute(KernelFile& file, const yaml::Node* node) {
  if (!node) return;
  std::vector<const yaml::Node*> entries;
  if (node->kind == yaml::Kind::list)
    for (const yaml::Node& item : node->items) entries.push_back(&item);
  else
    entries.push_back(node);
  if (entries.empty() || entries.size() > max_entries)
    return file.report(node->where, "'compute' has " + std::to_string(entries.size()) + " statements; 1 to " + std::to_string(max_entries) + " are needed");
  std::set<std::string> iterators;
  bool all_read = true;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto statement = statement_text(file, *entries[i], i);
    all_read = statement && read_statement(file, *statement, iterators) && all_read;
  }
  if (all_read) check_extents_used(file, iterators);
}

}  // namespace

Result<Kernel> parse_kernel_yaml(const std::string& text, const std::string& file_name) {
  const Result<yaml::Node> root = yaml::parse_text(text, file_name);
  if (!root) return root.diagnostics();
  KernelFile file;
  file.kernel.where = {file_name, 0, 0};
  yaml::MapReader top(*root, "the kernel file", file.diagnostics);
  if (root->kind == yaml::Kind::map) {
    if (const auto name = top.text("kernel", true)) {
      check_name(file, top.child("kernel")->where, "kernel", *name);
      file.kernel.name = *name;
    }
    read_dims(file, top.child("dims"));
    read_tensors(file, top.required("tensors"));
    read_where(file, top.child("where"));
    read_compute(file, top.required("compute"));
    top.finish();
  }
  if (file.diagnostics.empty()) {
    check_tensors_used(file);
    const Diagnostics found = verify_with_places(file.kernel, file.tensor_where, file.statement_where);
    file.diagnostics.insert(file.diagnostics.end(), found.begin(), found.end());
  }
  if (!has_errors(file.diagnostics)) return std::move(file.kernel);
  const yaml::Source source(text);
  for (Diagnostic& diagnostic : file.diagnostics) {
    if (diagnostic.where.file.empty()) diagnostic.where.file = file_name;
    source.attach(diagnostic);
  }
  std::stable_sort(file.diagnostics.begin(), file.diagnostics.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return std::pair(a.where.line, a.where.column) < std::pair(b.where.line, b.where.column);
  });
  return file.diagnostics;
}

Result<Kernel> load_kernel(const std::string& path) {
  const Result<std::string> text = yaml::read_text_file(path);
  if (!text) return text.diagnostics();
  return parse_kernel_yaml(*text, path);
}

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
// Sizes and tensors of a kernel file.

#include <cmath>
#include <limits>

#include "frontends/kernel_file_internal.h"
#include "frontends/size_facts.h"
#include "frontends/statements_internal.h"
#include "isamap/expression.h"

namespace isamap {

namespace {

bool is_integer_text(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789", text[0] == '-' ? 1 : 0) == std::string::npos;
}

bool has_leading_zero(const std::string& digits) { return digits[digits[0] == '-' ? 1 : 0] == '0'; }

std::optional<std::int64_t> size_value(KernelFile& file, const yaml::Node& node, const std::string& what,
                                       AffineExpr& exact) {
  if (node.kind != yaml::Kind::scalar) {
    file.report(node.where, what + " must be a number or an expression in dims");
    return std::nullopt;
  }
  if (is_integer_text(node.scalar) && !yaml::to_integer(node)) {
    file.report(node.where, what + " is " + node.scalar.substr(0, 64) + ", which is no integer of 64 bits",
                has_leading_zero(node.scalar) ? "write decimal digits without a leading zero" : "sizes are below 2^63");
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
  if (!value || !exact_size(file, *parsed, node, what, *value, exact)) return std::nullopt;
  return value;
}

/// A number; `inf` and `-inf` too, in YAML's spelling or without its dot.
std::optional<double> real_or_infinite(const yaml::Node& node) {
  const bool negative = node.scalar.starts_with('-');
  const std::string word = node.scalar.substr(negative ? 1 : 0);
  if (node.kind == yaml::Kind::scalar && (word == "inf" || word == ".inf"))
    return negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  return yaml::to_real(node);
}

/// Can this type represent the value?
bool representable(DType type, double value) {
  if (is_float(type)) return true;
  return !is_bits(type) && is_value_of(type, value);
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
  if (!value)
    return file.report(node->where, "'outside' of tensor '" + tensor.name + "' must be a number",
                       "0 is padding with zeros");
  if (!representable(tensor.dtype, *value))
    return file.report(node->where, "'outside' of tensor '" + tensor.name + "' is " + number_text(*value) + ", which " +
                                        std::string(name(tensor.dtype)) + " cannot hold");
  tensor.outside = *value;
}

void read_range(KernelFile& file, const yaml::Node* node, Tensor& tensor) {
  if (!node) return;
  const std::string what = "'range' of tensor '" + tensor.name + "'";
  if (node->kind != yaml::Kind::list || node->items.size() != 2 || !yaml::to_real(node->items[0]) ||
      !yaml::to_real(node->items[1]))
    return file.report(node->where, what + " must be two numbers", "write range: [0, 127]");
  const double low = *yaml::to_real(node->items[0]), high = *yaml::to_real(node->items[1]);
  if (low > high)
    return file.report(node->where, what + " is empty: " + number_text(low) + " is above " + number_text(high));
  for (const double end : {low, high})
    if (!representable(tensor.dtype, end))
      return file.report(node->where, what + " contains " + number_text(end) + ", which " +
                                          std::string(name(tensor.dtype)) + " cannot hold");
  tensor.range = {low, high};
}

/// Numbers or expressions, as in a shape; their values are checked with the kernel (ir/verify/kernel_verify.cpp).
void read_strides(KernelFile& file, const yaml::Node* node, Tensor& tensor) {
  if (!node) return;
  if (node->kind != yaml::Kind::list)
    return file.report(node->where, "'strides' of tensor '" + tensor.name + "' must be a list",
                       "elements from one index to the next, one for each dimension: strides: [LD, 1]");
  for (std::size_t i = 0; i < node->items.size(); ++i) {
    AffineExpr exact;
    const auto stride =
        size_value(file, node->items[i], "stride " + std::to_string(i) + " of tensor '" + tensor.name + "'", exact);
    if (!stride) continue;
    tensor.strides.push_back(*stride);
    file.symbolic.strides.back().push_back(std::move(exact));
  }
  if (tensor.strides.size() == node->items.size() && node->items.size() != tensor.shape.size())
    file.report(node->where,
                "tensor '" + tensor.name + "' has " + std::to_string(tensor.shape.size()) + " dimensions, found " +
                    std::to_string(node->items.size()) + " strides",
                "one for each dimension, in elements");
}

bool read_shape(KernelFile& file, const yaml::Node* node, Tensor& tensor) {
  if (!node) return false;
  if (node->kind != yaml::Kind::list) {
    file.report(node->where, "'shape' of tensor '" + tensor.name + "' must be a list",
                "write shape: [N, K], or [] for one value");
    return false;
  }
  bool good = true;
  for (std::size_t i = 0; i < node->items.size(); ++i) {
    AffineExpr exact;
    const auto size =
        read_size(file, node->items[i], "dimension " + std::to_string(i) + " of tensor '" + tensor.name + "'", &exact);
    tensor.shape.push_back(size.value_or(0));
    file.symbolic.shapes.back().push_back(std::move(exact));
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
  Diagnostic unknown =
      error_at(node->where, "tensor '" + tensor.name + "' has an unknown dtype '" + node->scalar.substr(0, 64) + "'");
  unknown.notes.push_back(known_dtypes_note());
  file.diagnostics.push_back(std::move(unknown));
}

void read_tensor(KernelFile& file, const std::string& tensor_name, const SourceLocation& where,
                 const yaml::Node& node) {
  check_name(file, where, "tensor", tensor_name);
  const std::size_t before = file.diagnostics.size();
  yaml::MapReader reader(node, "tensor '" + tensor_name + "'", file.diagnostics);
  Tensor tensor;
  tensor.name = tensor_name;
  file.symbolic.shapes.emplace_back();
  file.symbolic.strides.emplace_back();
  const bool has_shape = read_shape(file, reader.required("shape"), tensor);
  read_strides(file, reader.child("strides"), tensor);
  read_dtype(file, reader.child("dtype"), tensor);
  read_outside(file, reader.child("outside"), tensor);
  tensor.inout = reader.boolean("inout").value_or(false);
  tensor.output = reader.boolean("output").value_or(false);
  tensor.constant = reader.boolean("constant").value_or(false);
  read_range(file, reader.child("range"), tensor);
  if (node.kind == yaml::Kind::map) reader.finish();
  if (!has_shape || file.diagnostics.size() != before) file.broken_tensors.insert(tensor_name);
  file.kernel.tensors.push_back(std::move(tensor));
  file.places.tensors.push_back(where);
}

}  // namespace

bool is_map(KernelFile& file, const yaml::Node& node, const std::string& what, const std::string& hint) {
  if (node.kind != yaml::Kind::map) {
    file.report(node.where, what + " must be a map", hint);
    return false;
  }
  if (node.entries.size() <= max_kernel_entries) return true;
  file.report(node.where, what + " has " + std::to_string(node.entries.size()) + " entries; at most " +
                              std::to_string(max_kernel_entries) + " are read");
  return false;
}

void check_name(KernelFile& file, const SourceLocation& where, const std::string& what, const std::string& name) {
  if (is_identifier(name)) return;
  file.report(where, what + " '" + name.substr(0, 64) +
                         "' must be a letter followed by letters, digits or '_', at most 64 of them");
}

std::optional<std::int64_t> read_size(KernelFile& file, const yaml::Node& node, const std::string& what,
                                      AffineExpr* exact) {
  AffineExpr over_sizes;
  const auto value = size_value(file, node, what, over_sizes);
  if (exact) *exact = over_sizes;
  if (!value || *value >= 0 || !over_sizes.is_constant())
    return value;  // symbolic ones: ir/symbolic/symbolic_verify.cpp
  const bool plain = node.scalar == std::to_string(*value);
  file.report(
      node.where,
      what + (plain ? "" : ", " + node.scalar + ",") + " is " + std::to_string(*value) + ": sizes must not be negative",
      "write 0 or more");
  return std::nullopt;
}

void read_tensors(KernelFile& file, const yaml::Node* node) {
  if (!node || !is_map(file, *node, "'tensors'", "write tensors: {A: {shape: [N, K], dtype: f32}}")) return;
  for (std::size_t i = 0; i < node->entries.size(); ++i)
    read_tensor(file, node->entries[i].first, node->key_where[i], node->entries[i].second);
}

}  // namespace isamap

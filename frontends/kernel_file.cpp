// SPDX-License-Identifier: Apache-2.0
// Prints a kernel as a kernel file that parses to it.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "isamap/frontends.h"

namespace isamap {
namespace {

std::string tensor_line(const Tensor& tensor) {
  std::string text =
      fmt::format("  {}: {{shape: [{}], dtype: {}", tensor.name, fmt::join(tensor.shape, ", "), name(tensor.dtype));
  if (tensor.outside) text += fmt::format(", outside: {}", *tensor.outside);
  if (tensor.inout) text += ", inout: true";
  if (tensor.output) text += ", output: true";
  if (tensor.range) text += fmt::format(", range: [{}, {}]", tensor.range->first, tensor.range->second);
  if (tensor.constant) text += ", constant: true";
  if (!tensor.strides.empty()) text += fmt::format(", strides: [{}]", fmt::join(tensor.strides, ", "));
  return text + "}\n";
}

/// Without dims and faces, which a file states elsewhere or cannot state.
std::string statement_line(const Computation& statement, const std::vector<Tensor>& tensors) {
  return fmt::format("  - {{name: {}, compute: \"{}\"}}\n", statement.name, print_formula(statement, tensors));
}

bool same(const Kernel& a, const Kernel& b) {
  const auto alike = [](const Computation& x, const Computation& y) {
    return x.reduction == y.reduction && x.write == y.write && x.reads == y.reads && x.body == y.body &&
           std::is_permutation(x.domain.dims.begin(), x.domain.dims.end(), y.domain.dims.begin(), y.domain.dims.end());
  };
  return a.tensors == b.tensors && a.repeats == b.repeats &&
         std::equal(a.statements.begin(), a.statements.end(), b.statements.begin(), b.statements.end(), alike);
}

/// Sizes are upper case in a file: "seq" gives SEQ, "x.2" gives X_2.
std::map<std::string, AffineExpr> names_in_file(const SymbolicKernel& kernel) {
  std::map<std::string, AffineExpr> names;
  for (const SymbolicSize& size : kernel.facts.sizes) {
    std::string name;
    for (const char c : size.name) {
      const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      const bool digit = c >= '0' && c <= '9';
      name += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : letter || digit ? c : '_';
    }
    if (name.empty() || (name[0] >= '0' && name[0] <= '9') || name[0] == '_') name = "S" + name;
    names[size.name] = AffineExpr::dim(name);
  }
  for (const Computation& statement : kernel.sample.statements)
    for (const Dim& dim : statement.domain.dims) names[symbolic_dim(dim.name)] = AffineExpr::dim(dim.name);
  return names;
}

std::string facts_text(const SymbolicKernel& kernel, const std::map<std::string, AffineExpr>& names) {
  std::string text;
  for (const SymbolicSize& size : kernel.facts.sizes) {
    text += fmt::format("{}{}: {{min: {}", text.empty() ? "" : ", ", print(names.at(size.name)), size.min);
    if (size.max_stated) text += fmt::format(", max: {}", size.max);
    if (size.multiple_of > 1) text += fmt::format(", multiple_of: {}", size.multiple_of);
    if (!size.likely.empty()) text += fmt::format(", likely: [{}]", fmt::join(size.likely, ", "));
    text += "}";
  }
  return text;
}

/// `"(SEQ + 1)/2"`, a number without quotes.
std::string size_text(const AffineExpr& e, const std::map<std::string, AffineExpr>& names) {
  return e.is_constant() ? print(e) : fmt::format("\"{}\"", print(substitute(e, names)));
}

/// The same kernel at sizes near the least, the likely and the most.
bool same_at_sizes(const SymbolicKernel& read, const SymbolicKernel& kernel,
                   const std::map<std::string, AffineExpr>& names) {
  for (const SymbolicSize& size : kernel.facts.sizes)
    for (const std::int64_t value : {size.min, kernel.at.at(size.name), size.max}) {
      Bindings sizes = kernel.at, in_file;
      sizes[size.name] = value;
      for (const auto& [name, number] : sizes) in_file[print(names.at(name))] = number;
      if (broken_fact(kernel.facts, sizes)) continue;
      const auto a = isamap::bind(read, in_file), b = isamap::bind(kernel, sizes);
      if (!a || !b || !same(*a, *b)) return false;
    }
  return true;
}

}  // namespace

Result<std::string> kernel_file(const SymbolicKernel& kernel) {
  const auto names = names_in_file(kernel);
  std::string text = fmt::format("kernel: {}\ndims: {{{}}}\ntensors:\n", kernel.sample.name, facts_text(kernel, names));
  for (std::size_t t = 0; t < kernel.shapes.size(); ++t) {
    Tensor tensor = kernel.sample.tensors[t];
    std::string shape, line;
    for (const AffineExpr& axis : kernel.shapes[t]) shape += (shape.empty() ? "" : ", ") + size_text(axis, names);
    tensor.shape.clear();
    line = tensor_line(tensor);
    const std::size_t at = line.find("shape: []");
    text += line.replace(at, 9, "shape: [" + shape + "]");
  }
  text += "compute:\n";
  std::map<std::string, AffineExpr> extents;
  for (std::size_t s = 0; s < kernel.statements.size(); ++s) {
    Computation statement = kernel.sample.statements[s];
    const SymbolicStatement& symbolic = kernel.statements[s];
    for (int a = 0; a < access_count(statement); ++a)
      for (std::size_t d = 0; d < access_of(statement, a).index.size(); ++d)
        (a == 0 ? statement.write : statement.reads[static_cast<std::size_t>(a) - 1]).index[d] =
            substitute(symbolic.index[static_cast<std::size_t>(a)][d], names);
    for (std::size_t v = 0; v < statement.values.size(); ++v)
      statement.values[v] = substitute(symbolic.values[v], names);
    text += statement_line(statement, kernel.sample.tensors);
    for (std::size_t d = 0; d < symbolic.extents.size(); ++d)
      if (extents.emplace(statement.domain.dims[d].name, symbolic.extents[d]).first->second != symbolic.extents[d])
        return error(fmt::format("{} has two extents in two statements, which a kernel file cannot say",
                                 statement.domain.dims[d].name));
  }
  if (!kernel.sample.repeats.empty()) return error("a recurrence with symbolic steps is not written");
  std::string where;
  for (const auto& [name, extent] : extents)
    where += fmt::format("{}{}: {}", where.empty() ? "" : ", ", name, size_text(extent, names));
  if (!where.empty()) text += fmt::format("where: {{{}}}\n", where);
  const auto again = parse_symbolic_kernel(text, kernel.sample.name, {});
  if (!again) return again.diagnostics();
  if (!same_at_sizes(*again, kernel, names))
    return error("the kernel file of " + kernel.sample.name + " would be read as another kernel");
  return text;
}

Result<std::string> kernel_file(const Kernel& kernel) {
  std::map<std::string, std::int64_t> extents;
  std::set<std::string> several;  // iterators whose extents must follow from tensors
  for (const Computation& statement : kernel.statements) {
    if (!statement.domain.faces.empty())
      return error(fmt::format("the domain of {} is cut, which a kernel file cannot say", statement.name));
    for (const Dim& dim : statement.domain.dims)
      if (extents.emplace(dim.name, dim.extent).first->second != dim.extent) several.insert(dim.name);
  }
  std::string text = fmt::format("kernel: {}\ntensors:\n", kernel.name);
  for (const Tensor& tensor : kernel.tensors) text += tensor_line(tensor);
  text += "compute:\n";
  for (std::size_t s = 0; s < kernel.statements.size(); ++s) {
    const Repeat* repeat = repeat_of(kernel, s);
    if (repeat && s == repeat->first)
      text += fmt::format("  - repeat: {{{}: {}}}\n{}    compute:\n", repeat->dim, repeat->steps,
                          repeat->backward ? "    backward: true\n" : "");
    text += (repeat ? "    " : "") + statement_line(kernel.statements[s], kernel.tensors);
  }
  for (const Repeat& repeat : kernel.repeats) extents.erase(repeat.dim);  // stated by `repeat`
  for (const std::string& name : several) extents.erase(name);
  std::string where;
  for (const auto& [name, extent] : extents) where += fmt::format("{}{}: {}", where.empty() ? "" : ", ", name, extent);
  if (!where.empty()) text += fmt::format("where: {{{}}}\n", where);
  const auto again = parse_kernel_yaml(text, kernel.name);
  if (!again && !several.empty())
    return error(fmt::format("{} has two extents in two statements, which a kernel file cannot say", *several.begin()));
  if (!again) return again.diagnostics();
  if (!same(*again, kernel)) return error("the kernel file of " + kernel.name + " would be read as another kernel");
  return text;
}

}  // namespace isamap

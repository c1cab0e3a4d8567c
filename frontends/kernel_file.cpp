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

}  // namespace

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

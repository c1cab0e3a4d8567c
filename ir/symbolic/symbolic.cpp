// SPDX-License-Identifier: Apache-2.0
// Symbolic kernels: printing their facts, and `bind`.

#include "isamap/symbolic.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/symbolic/refusal.h"
#include "support/arithmetic.h"

namespace isamap {
namespace {

/// `e` with numbers for sizes, and dims by their own names.
AffineExpr at_sizes(const AffineExpr& e, const Bindings& sizes) {
  std::map<std::string, AffineExpr> by;
  for (const auto& [name, value] : sizes) by[name] = AffineExpr(value);
  for (const std::string& name : e.names())
    if (name.starts_with('$')) by[name] = AffineExpr::dim(name.substr(1));
  return substitute(e, by);
}

void bind_statement(const SymbolicStatement& symbolic, const Bindings& sizes, Computation& statement) {
  for (std::size_t d = 0; d < symbolic.extents.size(); ++d)
    statement.domain.dims[d].extent = evaluate(symbolic.extents[d], sizes);
  for (std::size_t a = 0; a < symbolic.index.size(); ++a) {
    Access& access = a == 0 ? statement.write : statement.reads[a - 1];
    for (std::size_t d = 0; d < symbolic.index[a].size(); ++d) access.index[d] = at_sizes(symbolic.index[a][d], sizes);
  }
  for (std::size_t v = 0; v < symbolic.values.size(); ++v) statement.values[v] = at_sizes(symbolic.values[v], sizes);
}

/// The hint for a value that a size does not have: "the nearest size here is M=4096". Empty: it has none.
std::string nearest_size(const SymbolicSize& size, std::int64_t value) {
  const std::int64_t least = ceil_div(size.min, size.multiple_of), most = floor_div(size.max, size.multiple_of);
  if (least > most) return "";
  const std::int64_t nearest = std::clamp(floor_div(value, size.multiple_of), least, most) * size.multiple_of;
  return fmt::format("the nearest size here is {}={}", size.name, nearest);
}

}  // namespace

std::string print(const SymbolicSize& size) {
  return fmt::format("{} in {}..{}{}", size.name, size.min, size.max,
                     size.multiple_of > 1 ? fmt::format(" and a multiple of {}", size.multiple_of) : "");
}

const SymbolicSize* SizeFacts::find(const std::string& name) const {
  const auto found = std::find_if(sizes.begin(), sizes.end(), [&](const SymbolicSize& s) { return s.name == name; });
  return found == sizes.end() ? nullptr : &*found;
}

std::string print(const SizeFacts& facts) {
  std::string text;
  for (const SymbolicSize& size : facts.sizes) text += (text.empty() ? "" : ", ") + print(size);
  for (const SizeFact& fact : facts.between)
    if (text.find(fact.text) == std::string::npos) text += (text.empty() ? "" : ", ") + fact.text;
  return text;
}

std::optional<Diagnostic> broken_fact(const SizeFacts& facts, const Bindings& sizes) {
  for (const SymbolicSize& size : facts.sizes) {
    const auto given = sizes.find(size.name);
    if (given == sizes.end()) continue;
    if (given->second < size.min || given->second > size.max)
      return error_at(size.where, fmt::format("{} = {} is not in {}..{}", size.name, given->second, size.min, size.max),
                      nearest_size(size, given->second));
    if (floor_mod(given->second, size.multiple_of) != 0)
      return error_at(size.where,
                      fmt::format("{} = {} is not a multiple of {}", size.name, given->second, size.multiple_of),
                      nearest_size(size, given->second));
  }
  for (const SizeFact& fact : facts.between) {
    std::string shown;
    bool known = true;
    for (const std::string& name : fact.nonnegative.names()) {
      const auto given = sizes.find(name);
      known = known && given != sizes.end();
      if (known) shown += fmt::format("{}{} = {}", shown.empty() ? "" : ", ", name, given->second);
    }
    if (known && evaluate(fact.nonnegative, sizes) < 0)
      return error_at(fact.where, fmt::format("{} breaks the fact {}", shown, fact.text));
  }
  return std::nullopt;
}

Diagnostic not_for_all_sizes(const SymbolicKernel& kernel, const std::string& why, const AffineExpr& of) {
  std::string sizes;
  for (const SymbolicSize& size : kernel.facts.sizes)
    if (of.is_constant() || of.names().contains(size.name))
      sizes += fmt::format("{}{}={}", sizes.empty() ? "" : ",", size.name, kernel.at.at(size.name));
  return error_at(kernel.sample.where, refused_for_all_sizes(why), "bind sizes: --sizes " + sizes);
}

Result<Kernel> bind(const SymbolicKernel& kernel, const Bindings& sizes) {
  for (const SymbolicSize& size : kernel.facts.sizes)
    if (!sizes.contains(size.name)) return error_at(size.where, fmt::format("size {} has no value", size.name));
  if (auto broken = broken_fact(kernel.facts, sizes)) return std::move(*broken);
  Kernel bound = kernel.sample;
  for (const auto& [name, value] : kernel.sizes) bound.sizes[name] = evaluate(value, sizes);
  for (std::size_t t = 0; t < bound.tensors.size(); ++t) {
    for (std::size_t d = 0; d < kernel.shapes[t].size(); ++d)
      bound.tensors[t].shape[d] = evaluate(kernel.shapes[t][d], sizes);
    for (std::size_t d = 0; d < kernel.strides[t].size(); ++d)
      bound.tensors[t].strides[d] = evaluate(kernel.strides[t][d], sizes);
  }
  for (std::size_t s = 0; s < bound.statements.size(); ++s)
    bind_statement(kernel.statements[s], sizes, bound.statements[s]);
  for (std::size_t r = 0; r < bound.repeats.size(); ++r) bound.repeats[r].steps = evaluate(kernel.steps[r], sizes);
  return bound;
}

}  // namespace isamap

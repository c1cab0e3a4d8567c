// SPDX-License-Identifier: Apache-2.0
#include "isamap/mapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "support/arithmetic.h"

namespace isamap {
namespace {

std::string shown(const AffineExpr& column) {
  const std::string text = print(column);
  return column.as_dim() ? text : "(" + text + ")";
}

std::int64_t extent_of(const Computation& statement, const std::string& dim) {
  return statement.domain.dims[static_cast<std::size_t>(statement.domain.find(dim))].extent;
}

// A list of digits that fuses to one dim.
struct Fusion {
  std::vector<std::string> dims;  // outermost first
  Dim fused;
};

// Only unit digits that cover their whole dim fuse: then counting through them is counting through one dim.
bool are_whole_dims(const Computation& statement, const std::vector<Digit>& digits, std::set<std::string>& used) {
  std::set<std::string> mine;
  for (const Digit& digit : digits) {
    const auto dim = digit.column.as_dim();
    if (!dim || statement.domain.find(*dim) < 0 || digit.extent != extent_of(statement, *dim)) return false;
    if (used.count(*dim) > 0 || !mine.insert(*dim).second) return false;
  }
  used.insert(mine.begin(), mine.end());
  return true;
}

Fusion fusion_of(const Computation& statement, const std::vector<Digit>& digits) {
  Fusion fusion;
  fusion.fused = {fused_name(digits), digits_extent(digits), DimKind::reduction};
  for (const Digit& digit : digits) {
    fusion.dims.push_back(*digit.column.as_dim());
    const Dim& old = statement.domain.dims[static_cast<std::size_t>(statement.domain.find(fusion.dims.back()))];
    if (old.kind == DimKind::parallel) fusion.fused.kind = DimKind::parallel;
  }
  return fusion;
}

std::vector<Fusion> fusions_of(const Computation& statement, const Mapping& mapping) {
  std::vector<Fusion> fusions;
  std::set<std::string> used;
  for (const std::vector<Digit>& digits : mapping.dims) {
    if (digits.size() >= 2 && are_whole_dims(statement, digits, used)) fusions.push_back(fusion_of(statement, digits));
  }
  return fusions;
}

// The old dims as digits of the fused one, last digit fastest: n = n.p / P, p = n.p % P.
void add_replacements(const Computation& statement, const Fusion& fusion, std::map<std::string, AffineExpr>& by) {
  std::int64_t below = 1;  // an empty dim divides by 1: its domain has no points
  for (std::size_t i = fusion.dims.size(); i-- > 0;) {
    const std::int64_t extent = std::max<std::int64_t>(extent_of(statement, fusion.dims[i]), 1);
    const AffineExpr upper = floordiv(AffineExpr::dim(fusion.fused.name), below);
    by[fusion.dims[i]] = i == 0 ? upper : mod(upper, extent);
    below *= extent;
  }
}

std::vector<Dim> fused_dims(const Computation& statement, const std::vector<Fusion>& fusions) {
  std::vector<Dim> dims;
  for (const Dim& dim : statement.domain.dims) {
    const auto holds = [&](const Fusion& f) {
      return std::find(f.dims.begin(), f.dims.end(), dim.name) != f.dims.end();
    };
    const auto fusion = std::find_if(fusions.begin(), fusions.end(), holds);
    if (fusion == fusions.end())
      dims.push_back(dim);
    else if (fusion->dims.front() == dim.name)
      dims.push_back(fusion->fused);
  }
  return dims;
}

}  // namespace

std::string_view name(Kind kind) {
  switch (kind) {
    case Kind::axis:
      return "axis";
    case Kind::skew:
      return "skew";
    case Kind::virtual_dim:
      return "virtual";
    case Kind::replicate:
      return "replicate";
    case Kind::partial:
      return "partial";
    case Kind::exchange:
      return "exchange";
    case Kind::split:
      return "split";
    case Kind::block_diagonal:
      return "block-diagonal";
    case Kind::constant:
      return "constant";
    case Kind::factor:
      return "factor";
  }
  return "";
}

std::int64_t digits_extent(const std::vector<Digit>& digits) {
  std::int64_t extent = 1;
  for (const Digit& digit : digits) {
    extent = checked_mul(extent, digit.extent).value_or(std::numeric_limits<std::int64_t>::max());
  }
  return extent;
}

std::string fused_name(const std::vector<Digit>& digits) {
  std::string text;
  for (const Digit& digit : digits) text += (text.empty() ? "" : ".") + shown(digit.column);
  return text;
}

bool fuses_any(const std::vector<Digit>& digits, const std::set<std::string>& dims) {
  const auto is_one = [&](const Digit& digit) {
    const auto names = digit.column.names();
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return dims.contains(name); });
  };
  return digits.size() > 1 && std::any_of(digits.begin(), digits.end(), is_one);
}

bool is_constant_operand(const Mapping& mapping, std::size_t i) {
  return mapping.constant && mapping.operands[i] == *std::max_element(mapping.operands.begin(), mapping.operands.end());
}

std::string constant_name(const Mapping& mapping) { return fmt::format("{}", mapping.constant.value_or(0)); }

std::string print(const Mapping& mapping, const Kernel& kernel, const std::vector<std::string>& instruction_dims,
                  const std::string& instruction_name) {
  const Computation& statement = kernel.statements[mapping.statement.index()];
  std::string text = instruction_name + "(";
  for (std::size_t d = 0; d < mapping.dims.size(); ++d) {
    const std::string digits = fused_name(mapping.dims[d]);
    text += (d > 0 ? ", " : "") + instruction_dims[d] + " = " + (digits.empty() ? "-" : digits);
  }
  text += ")";
  for (std::size_t o = 0; o < mapping.operands.size(); ++o) {
    text += o == 0 ? " " : o == 1 ? " <- " : ", ";
    if (mapping.operands[o] == access_count(statement)) {
      text += constant_name(mapping);
      continue;
    }
    text += kernel.tensors[access_of(statement, mapping.operands[o]).tensor.index()].name;
  }
  return text;
}

Computation fuse(const Computation& statement, const Mapping& mapping) {
  const std::vector<Fusion> fusions = fusions_of(statement, mapping);
  if (fusions.empty()) return statement;
  std::map<std::string, AffineExpr> by;
  for (const Fusion& fusion : fusions) add_replacements(statement, fusion, by);
  Computation result = statement;
  result.domain.dims = fused_dims(statement, fusions);
  const Ranges ranges = ranges_of(result.domain);
  const auto rewrite = [&](AffineExpr& e) { e = simplify(substitute(e, by), ranges); };
  for (AffineExpr& face : result.domain.faces) rewrite(face);
  for (AffineExpr& index : result.write.index) rewrite(index);
  for (Access& access : result.reads) {
    for (AffineExpr& index : access.index) rewrite(index);
  }
  return result;
}

}  // namespace isamap

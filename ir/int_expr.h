// SPDX-License-Identifier: Apache-2.0
#pragma once
// Integer expressions of hardware files: in needs, pack, encoding, timing, dims and inside placeholders.
//
// `+ - * / %` (division rounds down), `<< >> & |`, min(a,b), max(a,b), bits(x); leaves are numbers and references:
//   extent[j]  start[C]  C  C.stride[i]  C.pitch[i]  C.coord[j]  C.index  VB  ld.stride  mask[j]

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "support/result.h"

namespace isamap {

/// `C.pitch[i]` is {"C", "pitch", "i"}; `extent[j]` is {"extent", "", "j"}; `VB` is {"VB", "", ""}.
struct Reference {
  std::string object, property, argument;
  bool operator==(const Reference&) const = default;
};

struct IntExpr {
  enum class Op { number, reference, add, sub, mul, div, mod, shl, shr, band, bor, min, max, bits };
  Op op = Op::number;
  std::int64_t number = 0;
  Reference reference;
  std::vector<IntExpr> args;
  bool operator==(const IntExpr&) const = default;
};

Result<IntExpr> parse_int_expr(const std::string& text, const SourceLocation& where = {});
std::string print(const IntExpr& e);
std::vector<Reference> references(const IntExpr& e);

/// nullopt from `lookup` makes the result nullopt; so does a division by zero or an overflow.
std::optional<std::int64_t> evaluate(const IntExpr& e,
                                     const std::function<std::optional<std::int64_t>(const Reference&)>& lookup);

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Values of references from what expressions of them are: the inverse of printing and encoding.
//
// Every equation is solved for its one unknown once all its other references are known: `S.pitch[i] / 16 + 3` by the
// difference of two evaluations, `S >> 16` and `S & 0xffff` as slices of the unknown's bits, which are put together.
// In the end every equation must hold.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "isamap/expression.h"
#include "isamap/result.h"

namespace isamap {

struct Equation {
  const IntExpr* expr = nullptr;
  std::int64_t value = 0;
  std::string what;  ///< whose value it is: "dma.mode", "field 'rows'"
};

/// By the text of a reference: "C", "extent[i]", "S.pitch[i]", "st.scale". A register's `.index` is the operand itself.
using Values = std::map<std::string, std::int64_t>;
std::string key(const Reference& reference);

/// Adds the unknowns to `values`; nothing, or what contradicts or stays open. `outer` knows other references, state
/// among them. `user` is the instruction that the complaint names.
std::optional<Diagnostic> solve(const std::vector<Equation>& equations, Values& values,
                                const std::function<std::optional<std::int64_t>(const Reference&)>& outer,
                                const std::string& user);

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#pragma once
// `emit:` and `asm:` texts: literal text with {placeholders}, each an integer expression or an operand.
// `{{` and `}}` are braces; `{X:x}` prints hexadecimal.

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "ir/int_expr.h"

namespace isamap {

struct Placeholder {
  IntExpr expr;      ///< `{C}` is the reference C; `{C + 4}` a sum
  std::string text;  ///< as written, without format
  bool hexadecimal = false;
  int offset = 0;  ///< of its brace in the text, for diagnostics
  bool operator==(const Placeholder&) const = default;
};

struct Template {
  std::vector<std::variant<std::string, Placeholder>> parts;
  bool empty() const { return parts.empty(); }
  bool operator==(const Template&) const = default;
};

Result<Template> parse_template(const std::string& text, const SourceLocation& where = {});
/// The text, from what `value` gives for each placeholder.
std::string fill(const Template& t, const std::function<std::string(const Placeholder&)>& value);
std::string print(const Template& t);

}  // namespace isamap

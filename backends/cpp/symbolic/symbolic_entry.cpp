// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/symbolic/symbolic_entry.h"

#include <fmt/format.h>

#include "backends/cpp/compile/compiler.h"

namespace isamap {

const char* const symbolic_helpers = R"(namespace {

[[maybe_unused]] inline long isamap_floor_div(long a, long b) { return a / b - (a % b < 0 ? 1 : 0); }

int isamap_wrong_size(const char* message, long size) {
  std::fprintf(stderr, message, size);
  return 1;
}

}  // namespace

)";

std::string size_text(const AffineExpr& e, const std::map<std::string, std::string>& names) {
  std::string text;
  for (const AffineTerm& term : e.terms()) {
    const FloorDiv* div = division(term);
    const std::string atom =
        div ? fmt::format("isamap_floor_div({}, {})", size_text(*div->numerator, names), div->divisor)
            : names.at(std::get<std::string>(term.atom));
    text +=
        (text.empty() ? "" : " + ") + (term.coefficient == 1 ? atom : fmt::format("{} * {}", term.coefficient, atom));
  }
  if (e.constant() != 0 || text.empty()) text += fmt::format("{}{}", text.empty() ? "" : " + ", e.constant());
  return text;
}

std::string product_text(const SizeProduct& product, const std::map<std::string, std::string>& names) {
  std::string text = std::to_string(product.number);
  for (const AffineExpr& factor : product.factors) text += " * (" + size_text(factor, names) + ")";
  return text;
}

std::string extent_text(const GridAxis& axis, const std::map<std::string, std::string>& names) {
  const auto extent = affine_extent(axis);
  return extent ? size_text(*extent, names) : product_text(axis.extent, names);
}

std::string size_checks(const std::string& entry, const SizeFacts& facts,
                        const std::map<std::string, std::string>& names) {
  std::string text;
  const auto fail = [&](const std::string& condition, const std::string& what, const std::string& value) {
    text += fmt::format("  if ({}) return isamap_wrong_size(\"{}: {}\\n\", {});\n", condition, entry, what, value);
  };
  for (const SymbolicSize& size : facts.sizes) {
    const std::string& name = names.at(size.name);
    fail(fmt::format("{0} < {1} || {0} > {2}", name, size.min, size.max),
         fmt::format("{} = %ld is not in {}..{}", size.name, size.min, size.max), name);
    if (size.multiple_of > 1)
      fail(fmt::format("{} % {} != 0", name, size.multiple_of),
           fmt::format("{} = %ld is not a multiple of {}", size.name, size.multiple_of), name);
  }
  for (const SizeFact& fact : facts.between) {
    std::string shown = fact.text;
    for (std::size_t at = 0; (at = shown.find('%', at)) != std::string::npos; at += 2) shown.insert(at, "%");
    const auto used = fact.nonnegative.names();
    fail(size_text(fact.nonnegative, names) + " < 0", fmt::format("{} = %ld breaks the fact {}", *used.begin(), shown),
         names.at(*used.begin()));
  }
  return text;
}

std::string flags_line(const HardwareModel& model, bool team) {
  const std::string flags = needed_flags(model, team ? std::optional<std::string>("-pthread") : std::nullopt);
  return flags.empty() ? "" : "\nneeds " + flags;
}

std::string parameter_list(const std::vector<EntryArgument>& arguments) {
  std::string list;
  for (const EntryArgument& a : arguments)
    list += fmt::format("{}{}{}* __restrict {}", list.empty() ? "" : ", ", a.written ? "" : "const ", a.type, a.name);
  return list;
}

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/text/index_text.h"

#include "backends/cpp/text/names.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

void append_term(std::string& out, std::int64_t coefficient, const std::string& atom) {
  const bool negative = coefficient < 0;
  const std::uint64_t magnitude =
      negative ? 0 - static_cast<std::uint64_t>(coefficient) : static_cast<std::uint64_t>(coefficient);
  out += out.empty() ? (negative ? "-" : "") : negative ? " - " : " + ";
  if (atom.empty())
    out += std::to_string(magnitude);
  else
    out += (magnitude == 1 ? "" : std::to_string(magnitude) + "*") + atom;
}

std::string atom_text(const AffineTerm& term, const Ranges& ranges, const std::map<std::string, std::string>& names,
                      ElementText& elements) {
  return std::visit(overloaded{
                        [&](const std::string& variable) {
                          if (const std::size_t star = variable.find('*'); star != std::string::npos) {
                            const auto known = names.find(variable.substr(star + 1));
                            return variable.substr(0, star + 1) +
                                   (known != names.end() ? known->second : identifier(variable.substr(star + 1)));
                          }
                          const auto known = names.find(variable);
                          return known != names.end() ? known->second : identifier(variable);
                        },
                        [&](const FloorDiv& f) {
                          const auto range = bounds(*f.numerator, ranges);
                          const std::string numerator = index_text(*f.numerator, ranges, names, elements);
                          if (!range || range->low < 0) return elements.floor_div(numerator, f.divisor);
                          const bool simple = f.numerator->as_dim().has_value();
                          return "(" + (simple ? numerator : "(" + numerator + ")") + "/" + std::to_string(f.divisor) +
                                 ")";
                        },
                    },
                    term.atom);
}

}  // namespace

std::string index_text(const AffineExpr& e, const Ranges& ranges, const std::map<std::string, std::string>& names,
                       ElementText& elements) {
  std::string out;
  for (const AffineTerm& term : e.terms()) append_term(out, term.coefficient, atom_text(term, ranges, names, elements));
  if (e.constant() != 0 || out.empty()) append_term(out, e.constant(), "");
  return out;
}

}  // namespace isamap

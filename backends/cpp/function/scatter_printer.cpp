// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/function/scatter_printer.h"

#include <fmt/format.h>

#include "backends/cpp/function/scatter_loops.h"

namespace isamap {
bool ScatterPrinter::print(const Loop& loop, const Item& item, const std::set<int>& fresh,
                           const std::function<void()>& body) {
  if (digits_.contains(loop.variable)) {
    out_.line("{");
    print_body(loop, body);
    return true;
  }
  const auto found = digits_.empty() && loop.unit.empty()
                         ? scatter_below(loop, item, function_.program, function_.numbers)
                         : std::nullopt;
  if (!found || found->scatter.digits.front().second < 0) return false;
  const std::string at = function_.names.unique("at");
  const auto& digits = found->scatter.digits;
  std::int64_t count = 1;
  for (std::size_t d = digits.size(); d-- > 0; count *= digits[d].second)
    digits_[digits[d].first] =
        (count == 1 ? at : fmt::format("{} / {}", at, count)) + (d == 0 ? "" : fmt::format(" % {}", digits[d].second));
  statements_.declare(fresh);
  statements_.state().before_loop(item.body);
  out_.line(fmt::format("if (const std::uint64_t {} = {}; {} < {}) {{", at,
                        statements_.position_in(*found->element, found->scatter), at, count));
  term_ = found->scatter.term;
  print_body(loop, body);
  term_.reset();
  digits_.clear();
  function_.names.release(at);
  return true;
}

void ScatterPrinter::print_body(const Loop& loop, const std::function<void()>& body) {
  const std::string name = open_.names[loop.variable] = function_.names.unique(loop.variable);
  out_.line(fmt::format("  const long {} = static_cast<long>({});", name, digits_.at(loop.variable)));
  open_.ranges[loop.variable] = {0, loop.trip - 1};
  body();
  open_.ranges.erase(loop.variable);
  function_.names.release(name);
  out_.line("}");
}

const Element& ScatterPrinter::inside(const Element& element) {
  if (!term_) return element;
  inside_ = element;
  inside_.body = *term_;
  return inside_;
}

}  // namespace isamap

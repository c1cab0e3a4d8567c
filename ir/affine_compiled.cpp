// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "isamap/affine.h"
#include "support/arithmetic.h"

namespace isamap {

CompiledAffine::CompiledAffine(const AffineExpr& e, const std::vector<std::string>& names)
    : names_(names.size()), total_(compile(e, names)) {}

CompiledAffine::Linear CompiledAffine::compile(const AffineExpr& e, const std::vector<std::string>& names) {
  Linear linear;
  linear.constant = e.constant();
  for (const AffineTerm& term : e.terms()) {
    std::size_t slot = 0;
    if (const auto* div = std::get_if<FloorDiv>(&term.atom)) {
      Division division{compile(*div->numerator, names), div->divisor};
      divisions_.push_back(std::move(division));
      slot = names_ + divisions_.size() - 1;
    } else {
      const std::string& name = std::get<std::string>(term.atom);
      const auto found = std::find(names.begin(), names.end(), name);
      ISAMAP_CHECK(found != names.end(), "no slot for '" + name + "' in " + print(e));
      slot = static_cast<std::size_t>(found - names.begin());
    }
    linear.terms.emplace_back(slot, term.coefficient);
  }
  return linear;
}

std::int64_t CompiledAffine::sum(const Linear& linear, const std::int64_t* values,
                                 const std::int64_t* quotients) const {
  std::int64_t result = linear.constant;
  for (const auto& [slot, coefficient] : linear.terms)
    result += coefficient * (slot < names_ ? values[slot] : quotients[slot - names_]);
  return result;
}

std::int64_t CompiledAffine::operator()(const std::int64_t* values) const {
  if (divisions_.empty()) return sum(total_, values, nullptr);
  std::array<std::int64_t, 8> few{};
  std::vector<std::int64_t> many(divisions_.size() > few.size() ? divisions_.size() : 0);
  std::int64_t* quotients = many.empty() ? few.data() : many.data();
  for (std::size_t i = 0; i < divisions_.size(); ++i)
    quotients[i] = floor_div(sum(divisions_[i].numerator, values, quotients), divisions_[i].divisor);
  return sum(total_, values, quotients);
}

std::int64_t CompiledAffine::coefficient(std::size_t slot) const {
  for (const auto& [position, coefficient] : total_.terms)
    if (position == slot) return coefficient;
  return 0;
}

}  // namespace isamap

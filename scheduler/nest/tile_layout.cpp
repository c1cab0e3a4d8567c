// SPDX-License-Identifier: Apache-2.0
#include "scheduler/nest/tile_layout.h"

#include <algorithm>

#include "isamap/result.h"
#include "support/arithmetic.h"

namespace isamap {

namespace {

// Substitutes the known value of each dim of `e`.
std::optional<AffineExpr> express_by_dims(const AffineExpr& e, const Known& known) {
  std::map<std::string, AffineExpr> by;
  for (const std::string& name : e.names()) {
    const auto it =
        std::find_if(known.begin(), known.end(), [&](const auto& k) { return k.first == AffineExpr::dim(name); });
    if (it == known.end()) return std::nullopt;
    by[name] = it->second;
  }
  return substitute(e, by);
}

}  // namespace

std::optional<AffineExpr> express(const AffineExpr& e, const Known& known) {
  if (e.is_constant()) return e;
  const AffineExpr form = e - e.constant();
  for (const auto& [known_form, value] : known)
    if (known_form == form) return value + e.constant();
  return express_by_dims(e, known);
}

std::optional<std::vector<AffineExpr>> index_at(const TileLayout& tile, const Known& known, const Ranges& ranges) {
  std::vector<AffineExpr> index;
  if (tile.whole_tensor) {
    for (const AffineExpr& axis : tile.axes) {
      const auto e = express(axis, known);
      if (!e) return std::nullopt;
      index.push_back(simplify(*e, ranges));
    }
    return index;
  }
  std::map<std::string, AffineExpr> local;
  for (std::size_t i = 0; i < tile.coordinates.size(); ++i) {
    const auto value = express(tile.coordinates[i].form, known);
    if (!value) return std::nullopt;
    local["#" + std::to_string(i)] = *value - tile.coordinates[i].start;
  }
  for (const AffineExpr& axis : tile.axes) index.push_back(simplify(substitute(axis, local), ranges));
  if (tile.buffer_number) index.push_back(simplify(*tile.buffer_number, ranges));
  return index;
}

FormRange range_over(const AffineExpr& form, const Tiles& tiles) {
  FormRange range;
  range.start = form.constant();
  for (const AffineTerm& term : form.terms()) {
    const std::string& dim = std::get<std::string>(term.atom);
    const Tile& tile = tiles.at(dim);
    range.start += tile.origin * term.coefficient;
    const std::int64_t reach = term.coefficient * (tile.size - 1);
    if (reach < 0) range.start += reach;
    range.extent += std::abs(reach);
  }
  return range;
}

std::int64_t extent_over(const AffineExpr& form, const IterationDomain& domain, std::span<const std::int64_t> sizes) {
  std::int64_t extent = 1;
  for (const AffineTerm& term : form.terms()) {
    const int d = domain.find(std::get<std::string>(term.atom));
    if (d >= 0)
      extent += std::abs(term.coefficient) * (std::max<std::int64_t>(1, sizes[static_cast<std::size_t>(d)]) - 1);
  }
  return extent;
}

std::optional<SplitDigit> split_digit(const AffineExpr& digit) {
  if (digit.is_linear()) return SplitDigit{digit - digit.constant(), AffineExpr::dim("#"), 1, 0};
  // form/c is one floor division; form%m is form - m*(form/m); (form/c)%m is form/c - m*(form/(c*m)).
  std::vector<std::pair<std::int64_t, const FloorDiv*>> divisions;
  AffineExpr linear = digit.constant();
  for (const AffineTerm& term : digit.terms()) {
    if (const auto* division = std::get_if<FloorDiv>(&term.atom))
      divisions.emplace_back(term.coefficient, division);
    else
      linear += AffineExpr::dim(std::get<std::string>(term.atom)) * term.coefficient;
  }
  const AffineExpr form = *divisions.front().second->numerator;
  if (!form.is_linear() || form.constant() != 0) return std::nullopt;
  for (const auto& [coefficient, division] : divisions)
    if (*division->numerator != form) return std::nullopt;
  std::sort(divisions.begin(), divisions.end(),
            [](const auto& a, const auto& b) { return a.second->divisor < b.second->divisor; });

  SplitDigit split{form, {}, 1, 0};
  const std::int64_t first = divisions[0].second->divisor;
  if (linear.is_constant() && linear.constant() == 0 && divisions.size() == 1 && divisions[0].first == 1) {
    split.divide = first;
  } else if (linear == form && divisions.size() == 1 && divisions[0].first == -first) {
    split.modulo = first;
  } else if (linear.is_constant() && linear.constant() == 0 && divisions.size() == 2 && divisions[0].first == 1 &&
             divisions[1].second->divisor % first == 0 &&
             divisions[1].first == -(divisions[1].second->divisor / first)) {
    split.divide = first;
    split.modulo = divisions[1].second->divisor / first;
  } else {
    return std::nullopt;
  }
  const AffineExpr quotient = floordiv(AffineExpr::dim("#"), split.divide);
  split.digit = split.modulo ? mod(quotient, split.modulo) : quotient;
  return split;
}

std::int64_t digit_extent(const SplitDigit& digit, std::int64_t extent) {
  const std::int64_t quotients = ceil_div(extent, digit.divide);
  return digit.modulo ? std::min(quotients, digit.modulo) : quotients;
}

std::vector<AffineExpr> natural_forms(const Access& access) {
  std::vector<AffineExpr> forms;
  const auto add = [&](const AffineExpr& form) {
    if (!form.is_constant() && std::find(forms.begin(), forms.end(), form) == forms.end()) forms.push_back(form);
  };
  for (const AffineExpr& e : access.index) {
    if (e.is_linear())
      add(e - e.constant());
    else
      for (const std::string& name : e.names()) add(AffineExpr::dim(name));
  }
  return forms;
}

std::vector<std::int64_t> dense_strides(const std::vector<std::int64_t>& extents) {
  std::vector<std::int64_t> strides(extents.size(), 1);
  for (std::size_t i = extents.size(); i-- > 1;) strides[i - 1] = strides[i] * std::max<std::int64_t>(extents[i], 1);
  return strides;
}

}  // namespace isamap

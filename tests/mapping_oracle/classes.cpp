// SPDX-License-Identifier: Apache-2.0
#include "tests/mapping_oracle/classes.h"

#include <algorithm>
#include <numeric>

namespace isamap::oracle {
namespace {

bool unit_vector(const Vec& v) {
  return std::count_if(v.begin(), v.end(), [](Int x) { return x != 0; }) == 1 &&
         std::accumulate(v.begin(), v.end(), Int{0}) == 1;
}

struct Direction {
  Vec v;
  std::vector<std::vector<int>> places;  ///< each: one class, or several tied ones
};

/// Does v leave in place every operand that uses none of the classes?
bool allowed(const Nest& kernel, const std::vector<DimClass>& classes, const std::vector<int>& places, const Vec& v) {
  for (std::size_t t = 0; t < kernel.operands.size(); ++t) {
    const bool used = std::any_of(places.begin(), places.end(), [&](int m) {
      return classes[static_cast<std::size_t>(m)].uses.count(static_cast<int>(t)) > 0;
    });
    if (!used && !zero(image(kernel, t, v))) return false;
  }
  return true;
}

std::vector<Direction> directions_of(const Nest& kernel, const std::vector<DimClass>& classes) {
  std::vector<Direction> directions;
  const auto find = [&](const Vec& v) -> Direction& {
    for (Direction& direction : directions)
      if (direction.v == v) return direction;
    directions.push_back({v, {}});
    return directions.back();
  };
  for (std::size_t m = 0; m < classes.size(); ++m)
    for (const Vec& v : classes[m].directions) find(v).places.push_back({static_cast<int>(m)});
  for (std::size_t d = 0; d < kernel.dims(); ++d) {
    Vec v(kernel.dims(), 0);
    v[d] = 1;
    Direction& direction = find(v);
    if (!direction.places.empty()) continue;
    for (std::size_t size = 2; size <= classes.size() && direction.places.empty(); ++size) {
      for (const Vec& chosen : box(Vec(classes.size(), 2))) {
        std::vector<int> tied;
        for (std::size_t m = 0; m < chosen.size(); ++m)
          if (chosen[m] != 0) tied.push_back(static_cast<int>(m));
        if (tied.size() == size && allowed(kernel, classes, tied, v)) direction.places.push_back(tied);
      }
    }
  }
  return directions;
}

/// One placement of directions: which orders of parallel output digits are there?
class Judge {
 public:
  Judge(const Nest& kernel, const std::vector<DimClass>& classes, std::vector<Placed> digits, Orders orders)
      : kernel_(kernel), classes_(classes), digits_(std::move(digits)), orders_(orders) {}

  std::vector<std::vector<Chained>> variants() {
    if (!find_groups()) return {};
    std::vector<std::vector<Chained>> found;
    choose(0, {}, found);
    return found;
  }

 private:
  bool on_output(const Placed& digit) const {
    return std::any_of(digit.classes.begin(), digit.classes.end(),
                       [&](int m) { return classes_[static_cast<std::size_t>(m)].uses.count(0) > 0; });
  }

  /// Pairs of parallel images; false: no order can help.
  bool find_groups() {
    std::vector<int> output;
    for (std::size_t l = 0; l < digits_.size(); ++l) {
      if (!on_output(digits_[l])) continue;
      if (zero(image(kernel_, 0, digits_[l].column))) return false;
      output.push_back(static_cast<int>(l));
    }
    std::vector<bool> paired(digits_.size(), false);
    std::vector<Vec> representatives;
    for (std::size_t i = 0; i < output.size(); ++i) {
      const Vec u = image(kernel_, 0, digits_[static_cast<std::size_t>(output[i])].column);
      if (paired[static_cast<std::size_t>(output[i])]) continue;
      representatives.push_back(u);
      int others = 0;
      for (std::size_t j = i + 1; j < output.size(); ++j) {
        const Vec w = image(kernel_, 0, digits_[static_cast<std::size_t>(output[j])].column);
        if (rank_of({u, w}) == 2) continue;
        paired[static_cast<std::size_t>(output[j])] = true;
        pairs_.push_back({output[i], output[j]});
        ++others;
      }
      if (others > 1) return false;  // three or more dependent images
    }
    return representatives.empty() || rank_of(representatives) == representatives.size();
  }

  /// image(outer) = ratio * image(inner)
  Chained chain(int inner, int outer) const {
    const Vec u = image(kernel_, 0, digits_[static_cast<std::size_t>(inner)].column);
    const Vec w = image(kernel_, 0, digits_[static_cast<std::size_t>(outer)].column);
    for (std::size_t d = 0; d < u.size(); ++d) {
      if (u[d] == 0) continue;
      const Int common = std::gcd(u[d], w[d]), sign = u[d] < 0 ? -1 : 1;
      return {inner, outer, sign * w[d] / common, sign * u[d] / common, false};
    }
    return {inner, outer, 0, 1, false};
  }

  void choose(std::size_t p, std::vector<Chained> chosen, std::vector<std::vector<Chained>>& found) const {
    if (p == pairs_.size()) {
      if (covers(chosen)) found.push_back(chosen);
      return;
    }
    const auto [a, b] = pairs_[p];
    for (const auto& [inner, outer] : {std::pair(a, b), std::pair(b, a)}) {
      Chained c = chain(inner, outer);
      std::vector<Chained> next = chosen;
      next.push_back(c);
      choose(p + 1, next, found);
      if (orders_ == Orders::counted_once && c.denominator == 1 && std::abs(c.numerator) > 1) {
        next.back().bounded = true;
        choose(p + 1, next, found);
      }
    }
  }

  bool covers(const std::vector<Chained>& chains) const {
    std::vector<bool> outer(digits_.size(), false);
    for (const Chained& c : chains) {
      const Placed &u = digits_[static_cast<std::size_t>(c.inner)], &w = digits_[static_cast<std::size_t>(c.outer)];
      const bool tied = u.classes.size() > 1 || w.classes.size() > 1;
      if (orders_ == Orders::counted_once && !c.bounded && (tied || u.classes == w.classes)) return false;
      if (!c.bounded) outer[static_cast<std::size_t>(c.outer)] = true;
    }
    std::vector<Vec> directions;
    std::vector<int> position(digits_.size(), -1);
    for (std::size_t l = 0; l < digits_.size(); ++l) {
      if (outer[l]) continue;
      position[l] = static_cast<int>(directions.size());
      directions.push_back(digits_[l].column);
    }
    if (!directions.empty() && rank_of(directions) < directions.size()) return false;
    if (orders_ == Orders::every_order) return true;
    complete(directions);
    for (const Chained& c : chains)
      if (!c.bounded && !extends(directions, position[static_cast<std::size_t>(c.inner)], c)) return false;
    return true;
  }

  /// Unit vectors that complete the directions, least index, earliest first.
  void complete(std::vector<Vec>& directions) const {
    const std::size_t n = kernel_.dims();
    std::vector<Vec> best;
    Int least = 0;
    for (const Vec& chosen : box(Vec(n, 2))) {
      if (static_cast<std::size_t>(std::accumulate(chosen.begin(), chosen.end(), Int{0})) + directions.size() != n)
        continue;
      std::vector<Vec> all = directions;
      for (std::size_t d = 0; d < n; ++d) {
        if (chosen[d] == 0) continue;
        all.push_back(Vec(n, 0));
        all.back()[d] = 1;
      }
      const Int g = index_of(all);
      if (g != 0 && (least == 0 || g <= least)) {  // the box lists later dims first
        least = g;
        best = all;
      }
    }
    directions = best;
  }

  bool extends(const std::vector<Vec>& directions, int inner, const Chained& c) const {
    const auto scaled = scaled_coordinates(directions, digits_[static_cast<std::size_t>(c.outer)].column);
    const Int g = index_of(directions);
    for (const Int x : *scaled)
      if (x % g != 0) return false;
    return c.denominator == 1 && (*scaled)[static_cast<std::size_t>(inner)] == c.numerator * g;
  }

  const Nest& kernel_;
  const std::vector<DimClass>& classes_;
  std::vector<Placed> digits_;
  Orders orders_;
  std::vector<std::pair<int, int>> pairs_;
};

void describe(Member& member, const Nest& kernel, const std::vector<DimClass>& classes) {
  std::vector<bool> looped(classes.size(), false);
  int ties = 0;
  bool ties_hungry = true, skews_hungry = true;
  std::vector<std::size_t> units(classes.size(), 0);
  for (std::size_t m = 0; m < classes.size(); ++m)
    units[m] = static_cast<std::size_t>(
        std::count_if(classes[m].directions.begin(), classes[m].directions.end(), unit_vector));
  const auto underfilled = [&](int m) { return units[static_cast<std::size_t>(m)] == 0; };  // sizes are large
  for (const Placed& digit : member.digits) {
    for (const int m : digit.classes) looped[static_cast<std::size_t>(m)] = true;
    if (digit.classes.size() > 1) {
      ++ties;
      ties_hungry = ties_hungry && std::any_of(digit.classes.begin(), digit.classes.end(), underfilled);
    } else if (!unit_vector(digit.column)) {
      member.skew = true;
      skews_hungry = skews_hungry && underfilled(digit.classes[0]);
    }
  }
  member.block = ties > 0;
  for (const Chained& c : member.chains) member.split = member.split || !c.bounded;
  bool virtual_allowed = true;
  for (std::size_t m = 0; m < classes.size(); ++m) {
    if (looped[m]) continue;
    member.has_virtual = true;
    for (const Vec& v : classes[m].directions) {
      if (!unit_vector(v) ||
          kernel.extents[static_cast<std::size_t>(std::find(v.begin(), v.end(), 1) - v.begin())] <= 1)
        continue;
      virtual_allowed = virtual_allowed && std::any_of(member.digits.begin(), member.digits.end(),
                                                       [&](const Placed& digit) { return digit.column == v; });
    }
  }
  member.in_default = virtual_allowed && skews_hungry && ties <= 1 && ties_hungry;
}

bool carried(const Member& member, const Nest& kernel, const std::vector<DimClass>& classes) {
  std::vector<Row> faces = kernel.faces;
  for (std::size_t d = 0; d < kernel.dims(); ++d) {
    faces.push_back({Vec(kernel.dims(), 0), 0});
    faces.back().coefficients[d] = 1;
  }
  for (const Row& face : faces) {
    std::set<int> deciding;
    for (const Placed& digit : member.digits)
      if (linear(face, digit.column) != 0) deciding.insert(digit.classes.begin(), digit.classes.end());
    const auto tells = [&](int t) {
      return std::all_of(deciding.begin(), deciding.end(),
                         [&](int m) { return classes[static_cast<std::size_t>(m)].uses.count(t) > 0; });
    };
    bool any = false;
    for (int t = 0; t < static_cast<int>(kernel.operands.size()); ++t) any = any || tells(t);
    if (!any) return false;
  }
  return true;
}

}  // namespace

std::vector<DimClass> dim_classes(const Nest& kernel, const Nest& unit) {
  std::vector<DimClass> classes;
  for (std::size_t m = 0; m < unit.dims(); ++m) {
    DimClass found;
    for (std::size_t t = 0; t < unit.operands.size(); ++t)
      if (unit.uses(t, m)) found.uses.insert(static_cast<int>(t));
    const auto same =
        std::find_if(classes.begin(), classes.end(), [&](const DimClass& c) { return c.uses == found.uses; });
    DimClass& mine = same == classes.end() ? classes.emplace_back(found) : *same;
    mine.dims.push_back(static_cast<int>(m));
    mine.extent *= unit.extents[m];
  }
  for (DimClass& c : classes) {
    std::vector<Vec> equations;
    for (std::size_t t = 0; t < kernel.operands.size(); ++t) {
      if (c.uses.count(static_cast<int>(t)) > 0) continue;
      for (const Row& row : kernel.operands[t]) equations.push_back(row.coefficients);
    }
    for (Int bound = 3; bound <= 9; bound += 2) {  // an entry at the bound: there may be larger ones
      c.directions = graver(equations, kernel.dims(), bound);
      const bool touched = std::any_of(c.directions.begin(), c.directions.end(), [&](const Vec& v) {
        return std::any_of(v.begin(), v.end(), [&](Int x) { return std::abs(x) == bound; });
      });
      if (!touched) break;
    }
  }
  return classes;
}

std::vector<Member> all_members(const Nest& kernel, const Nest& unit, Orders orders) {
  const std::vector<DimClass> classes = dim_classes(kernel, unit);
  const std::vector<Direction> directions = directions_of(kernel, classes);
  Vec choices;
  for (const Direction& direction : directions) choices.push_back(static_cast<Int>(direction.places.size()) + 1);
  std::vector<Member> members;
  for (const Vec& choice : box(choices)) {
    std::vector<Placed> digits;
    for (std::size_t i = 0; i < directions.size(); ++i)
      if (choice[i] > 0)
        digits.push_back({directions[i].v, directions[i].places[static_cast<std::size_t>(choice[i] - 1)]});
    for (std::vector<Chained>& chains : Judge(kernel, classes, digits, orders).variants()) {
      Member member;
      member.digits = digits;
      member.chains = std::move(chains);
      describe(member, kernel, classes);
      member.carried = carried(member, kernel, classes);
      members.push_back(std::move(member));
    }
  }
  return members;
}

Mapping realise(const Member& member, const Nest& kernel, const Nest& unit) {
  const std::vector<DimClass> classes = dim_classes(kernel, unit);
  Mapping mapping;
  for (std::size_t t = 0; t < unit.operands.size(); ++t) mapping.operands.push_back(static_cast<int>(t));
  for (const Placed& placed : member.digits) {
    Digit digit{placed.column, 1, {}};
    for (const int m : placed.classes) {
      const DimClass& c = classes[static_cast<std::size_t>(m)];
      digit.places.push_back(c.dims[0]);
      digit.extent = std::max(digit.extent, unit.extents[static_cast<std::size_t>(c.dims[0])]);
    }
    if (unit_vector(placed.column))
      digit.extent = kernel.extents[static_cast<std::size_t>(std::find(placed.column.begin(), placed.column.end(), 1) -
                                                             placed.column.begin())];
    mapping.digits.push_back(digit);
  }
  for (const Chained& c : member.chains) {
    Digit &inner = mapping.digits[static_cast<std::size_t>(c.inner)],
          &outer = mapping.digits[static_cast<std::size_t>(c.outer)];
    const Int ratio = std::abs(c.numerator);
    if (c.bounded) {
      inner.extent = ratio;
      continue;
    }
    const Int least = unit.extents[static_cast<std::size_t>(inner.places[0])];
    inner.extent = (least + ratio - 1) / ratio * ratio;
    for (Int& x : outer.column) x *= inner.extent / ratio * c.denominator;
    outer.extent = 2;
  }
  return mapping;
}

std::string print(const Member& member, const Nest& kernel, const Nest& unit) {
  const std::vector<DimClass> classes = dim_classes(kernel, unit);
  std::string text;
  for (std::size_t l = 0; l < member.digits.size(); ++l) {
    const Placed& digit = member.digits[l];
    text += l > 0 ? ", " : "";
    for (const int m : digit.classes)
      for (const int d : classes[static_cast<std::size_t>(m)].dims) text += unit.names[static_cast<std::size_t>(d)];
    text += ":";
    for (std::size_t d = 0; d < kernel.dims(); ++d) {
      if (digit.column[d] == 0) continue;
      text += (digit.column[d] > 0 ? "+" : "") + std::to_string(digit.column[d]) + kernel.names[d];
    }
  }
  for (const Chained& c : member.chains)
    text += "; " + std::to_string(c.inner) + (c.bounded ? " bounded in " : " inside ") + std::to_string(c.outer);
  return text;
}

}  // namespace isamap::oracle

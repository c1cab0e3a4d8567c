// SPDX-License-Identifier: Apache-2.0
#include "tests/mapping_oracle/cover.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "tests/mapping_oracle/lattice.h"
#include "tests/mapping_oracle/points.h"

namespace isamap::oracle {
namespace {

/// Loops for one order of the directions; `coordinates` of each digit in the basis.
std::optional<std::vector<Loop>> chains(const Mapping& mapping, const std::vector<Vec>& coordinates,
                                        const std::vector<std::size_t>& order) {
  const std::size_t n = order.size();
  std::vector<std::vector<std::pair<Int, Int>>> links(n);  // stride, extent
  for (std::size_t l = 0; l < coordinates.size(); ++l) {
    std::size_t position = 0;
    while (position < n && coordinates[l][order[position]] == 0) ++position;
    if (position == n) {
      if (mapping.digits[l].extent > 1) return std::nullopt;
      continue;
    }
    links[order[position]].push_back({std::abs(coordinates[l][order[position]]), mapping.digits[l].extent});
  }
  std::vector<Loop> loops;
  for (std::size_t a = 0; a < n; ++a) {
    std::sort(links[a].begin(), links[a].end());
    Int reached = 1;
    for (const auto& [stride, extent] : links[a]) {
      if (extent == 1) continue;
      if (stride % reached != 0) return std::nullopt;
      if (stride > reached) loops.push_back({a, reached, stride / reached, false});
      reached = stride * extent;
    }
    loops.push_back({a, reached, 0, true});  // only calls with a point are looked at: the top loop needs no range
  }
  return loops;
}

std::vector<Vec> coset_representatives(const std::vector<Vec>& basis) {
  const std::size_t n = basis.size();
  const auto g = static_cast<std::size_t>(index_of(basis));
  std::vector<Vec> representatives, keys;
  for (const Vec& x : box(Vec(n, static_cast<Int>(g)))) {
    Vec key = *scaled_coordinates(basis, x);
    for (Int& k : key) k = ((k % static_cast<Int>(g)) + static_cast<Int>(g)) % static_cast<Int>(g);
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    keys.push_back(key);
    representatives.push_back(x);
    if (keys.size() == g) break;
  }
  return representatives;
}

bool try_basis(const std::vector<Vec>& basis, Mapping& mapping) {
  const Int g = index_of(basis);
  std::vector<Vec> coordinates;
  for (const Digit& digit : mapping.digits) {
    coordinates.push_back(*scaled_coordinates(basis, digit.column));
    for (Int& c : coordinates.back()) {
      if (c % g != 0) return false;
      c /= g;
    }
  }
  std::vector<std::size_t> order(basis.size());
  std::iota(order.begin(), order.end(), 0U);
  do {
    if (auto loops = chains(mapping, coordinates, order)) {
      mapping.basis = basis;
      mapping.loops = std::move(*loops);
      mapping.cosets = coset_representatives(basis);
      return true;
    }
  } while (std::next_permutation(order.begin(), order.end()));
  return false;
}

using Reasons = std::vector<std::pair<std::string, std::set<int>>>;  // and the instruction dims that decide them

/// As padding_reasons spells them.
Reasons possible_reasons(const Nest& kernel, const Nest& unit, const Mapping& mapping) {
  Reasons reasons;
  const auto face = [&](const std::string& name, const Vec& coefficients) {
    std::set<int> dims;
    for (const Digit& digit : mapping.digits)
      if (digit.extent > 1 && linear({coefficients, 0}, digit.column) != 0)
        dims.insert(digit.places.begin(), digit.places.end());
    reasons.push_back({name, dims});
  };
  for (std::size_t d = 0; d < kernel.dims(); ++d) {
    Vec unit_vector(kernel.dims(), 0);
    unit_vector[d] = 1;
    face(kernel.names[d] + ">=0", unit_vector);
    face(kernel.names[d] + "<=" + std::to_string(kernel.extents[d] - 1), unit_vector);
  }
  for (std::size_t f = 0; f < kernel.faces.size(); ++f) face(kernel.face_names[f], kernel.faces[f].coefficients);
  for (std::size_t m = 0; m < unit.dims(); ++m) reasons.push_back({"fill " + unit.names[m], {static_cast<int>(m)}});
  for (const Digit& digit : mapping.digits)
    for (std::size_t p = 1; p < digit.places.size(); ++p)
      reasons.push_back({tie_reason(kernel, unit, digit, digit.places[p]), {digit.places[0], digit.places[p]}});
  return reasons;
}

std::set<std::string> occurring_reasons(const Nest& kernel, const Nest& unit, const Mapping& mapping) {
  std::set<std::string> occurring;
  for (const Call& call : calls_of(kernel, unit, mapping).list) {
    for (const Vec& y : box(unit.extents)) {
      if (call.points.count(y) > 0) continue;
      const auto reasons = padding_reasons(kernel, unit, mapping, call, y);
      occurring.insert(reasons.begin(), reasons.end());
    }
  }
  return occurring;
}

/// Does the slot of operand t tell the counters of all these dims? It does where each stands alone in an index.
bool tells(const Nest& unit, int t, const std::set<int>& dims) {
  return std::all_of(dims.begin(), dims.end(), [&](int m) {
    const auto& rows = unit.operands[static_cast<std::size_t>(t)];
    return std::any_of(rows.begin(), rows.end(), [&](const Row& row) {
      return row.coefficients[static_cast<std::size_t>(m)] != 0 &&
             std::count(row.coefficients.begin(), row.coefficients.end(), 0) + 1 == static_cast<long>(unit.dims());
    });
  });
}

}  // namespace

bool add_loops(const Nest& kernel, Mapping& mapping) {
  const std::size_t n = kernel.dims();
  std::vector<Vec> candidates;
  for (std::size_t d = 0; d < n; ++d) {
    candidates.push_back(Vec(n, 0));
    candidates.back()[d] = 1;
  }
  if (try_basis(candidates, mapping)) return true;
  for (const Digit& digit : mapping.digits) {
    const Vec v = primitive(digit.column);
    if (!zero(v) && std::find(candidates.begin(), candidates.end(), v) == candidates.end()) candidates.push_back(v);
  }
  std::vector<std::pair<Int, std::vector<Vec>>> bases;
  for (const Vec& chosen : box(Vec(candidates.size(), 2))) {
    if (std::accumulate(chosen.begin(), chosen.end(), Int{0}) != static_cast<Int>(n)) continue;
    std::vector<Vec> basis;
    for (std::size_t c = 0; c < chosen.size(); ++c)
      if (chosen[c] != 0) basis.push_back(candidates[c]);
    if (const Int g = index_of(basis); g > 0) bases.push_back({g, std::move(basis)});
  }
  std::stable_sort(bases.begin(), bases.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return std::any_of(bases.begin(), bases.end(), [&](const auto& entry) { return try_basis(entry.second, mapping); });
}

bool add_carriers(const Nest& kernel, const Nest& unit, Mapping& mapping) {
  const std::set<std::string> occurring = occurring_reasons(kernel, unit, mapping);
  for (const auto& [reason, dims] : possible_reasons(kernel, unit, mapping)) {
    if (occurring.count(reason) == 0) continue;
    std::set<int> chosen;
    if (tells(unit, 0, dims)) chosen = {0};
    for (const std::set<int>& kill : kill_sets(unit)) {
      if (chosen.empty() && std::all_of(kill.begin(), kill.end(), [&, d = dims](int t) { return tells(unit, t, d); }))
        chosen = kill;
    }
    if (chosen.empty()) return false;
    for (const int t : chosen) mapping.carriers.push_back({reason, t});
  }
  return true;
}

bool right_by_luck(const Nest& kernel, const Nest& unit, const Mapping& mapping) {
  for (std::size_t d = 0; d < kernel.dims(); ++d) {
    const std::string low = kernel.names[d] + ">=0",
                      high = kernel.names[d] + "<=" + std::to_string(kernel.extents[d] - 1);
    const auto carried = [&](const std::string& reason) {
      return std::any_of(mapping.carriers.begin(), mapping.carriers.end(),
                         [&](const Carrier& carrier) { return carrier.reason == reason; });
    };
    const bool moved = std::any_of(mapping.digits.begin(), mapping.digits.end(),
                                   [&](const Digit& digit) { return digit.column[d] != 0 && digit.extent > 1; });
    if (!moved || (carried(low) && carried(high))) continue;
    Nest larger = kernel;
    for (std::size_t other = 0; other < kernel.dims(); ++other)
      if (other != d) larger.extents[other] += 3;
    const std::set<std::string> occurring = occurring_reasons(larger, unit, mapping);
    for (const std::string& reason : {low, high})
      if (!carried(reason) && occurring.count(reason) > 0) return true;
  }
  return false;
}

}  // namespace isamap::oracle

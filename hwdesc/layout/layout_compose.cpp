// SPDX-License-Identifier: Apache-2.0
// Differences of equations with one base contain free strides only: Gaussian elimination on a handful of unknowns. Then
// the first equation of each base gives the base.

#include "hwdesc/layout/layout_compose.h"

#include <fmt/format.h>

#include <numeric>

namespace isamap {

namespace {

Distance scaled(Distance d, std::int64_t by) {
  d.bytes *= by;
  for (std::int64_t& p : d.pitches) p *= by;
  return d;
}

std::size_t leading(const std::vector<std::int64_t>& factors) {
  std::size_t at = 0;
  while (at < factors.size() && factors[at] == 0) ++at;
  return at;
}

bool divides(std::int64_t by, const Distance& d) {
  bool all = d.bytes % by == 0;
  for (const std::int64_t p : d.pitches) all &= p % by == 0;
  return all;
}

}  // namespace

bool Distance::is_zero() const {
  bool zero = bytes == 0;
  for (const std::int64_t p : pitches) zero &= p == 0;
  return zero;
}

std::int64_t Distance::at(const std::vector<std::int64_t>& pitch) const {
  std::int64_t value = bytes;
  for (std::size_t s = 0; s < pitches.size(); ++s) value += pitches[s] * pitch.at(s);
  return value;
}

Distance operator-(Distance a, const Distance& b) {
  a.bytes -= b.bytes;
  if (a.pitches.size() < b.pitches.size()) a.pitches.resize(b.pitches.size(), 0);
  for (std::size_t s = 0; s < b.pitches.size(); ++s) a.pitches[s] -= b.pitches[s];
  return a;
}

void PlaceSolver::divide_by_content(Row& row) {
  std::int64_t g = std::abs(row.value.bytes);
  for (const std::int64_t f : row.factors) g = std::gcd(g, f);
  for (const std::int64_t p : row.value.pitches) g = std::gcd(g, p);
  if (g <= 1) return;
  for (std::int64_t& f : row.factors) f /= g;
  row.value.bytes /= g;
  for (std::int64_t& p : row.value.pitches) p /= g;
}

void PlaceSolver::eliminate(Row& row, const Row& by, std::size_t at) {
  const std::int64_t a = row.factors[at], b = by.factors[at];
  if (a == 0) return;
  for (std::size_t t = 0; t < row.factors.size(); ++t) row.factors[t] = row.factors[t] * b - by.factors[t] * a;
  row.value = scaled(row.value, b) - scaled(by.value, a);
  divide_by_content(row);
}

std::optional<Misplacement> PlaceSolver::add(const PlaceEquation& equation) {
  const std::size_t number = count_++;
  unknowns_ = equation.factors.size();
  const auto [found, is_first] = first_.try_emplace(equation.base, number, equation);
  if (is_first) return std::nullopt;
  const PlaceEquation& one = found->second.second;
  Row& row = scratch_;
  row.factors = equation.factors;
  row.value = equation.distance;
  row.value.bytes -= one.distance.bytes + equation.fixed - one.fixed;
  for (std::size_t s = 0; s < row.value.pitches.size(); ++s) row.value.pitches[s] -= one.distance.pitches[s];
  for (std::size_t t = 0; t < unknowns_; ++t) row.factors[t] -= one.factors[t];
  const bool free = leading(row.factors) < unknowns_;
  if (free) divide_by_content(row);
  for (std::size_t at = leading(row.factors); at < unknowns_; at = leading(row.factors)) {
    const auto known = rows_.find(at);
    if (known == rows_.end()) {
      rows_.emplace(at, row);
      return std::nullopt;
    }
    eliminate(row, known->second, at);
  }
  if (row.value.is_zero()) return std::nullopt;
  return Misplacement{found->second.first, number, equation.distance - one.distance, equation.fixed - one.fixed, free};
}

std::variant<Placement, Misplacement> PlaceSolver::solve() const {
  Placement placement;
  placement.strides.resize(unknowns_);
  for (auto row = rows_.rbegin(); row != rows_.rend(); ++row) {
    Row solved = row->second;  // unknowns without a pivot may have any value: 0
    for (auto below = row.base(); below != rows_.end(); ++below) eliminate(solved, below->second, below->first);
    const std::int64_t factor = solved.factors[row->first];
    if (!divides(factor, solved.value)) return Misplacement{0, 0, solved.value, 0, true};
    Distance value = solved.value;
    value.bytes /= factor;
    for (std::int64_t& p : value.pitches) p /= factor;
    placement.strides[row->first] = value;
  }
  for (const auto& [base, first] : first_) {
    const PlaceEquation& equation = first.second;
    Distance at = equation.distance;
    at.bytes -= equation.fixed;
    for (std::size_t t = 0; t < unknowns_; ++t)
      if (placement.strides[t]) at = at - scaled(*placement.strides[t], equation.factors[t]);
    placement.bases[base] = at;
  }
  return placement;
}

std::variant<Placement, Misplacement> place(const std::vector<PlaceEquation>& equations) {
  PlaceSolver solver;
  for (const PlaceEquation& equation : equations)
    if (auto wrong = solver.add(equation)) return *wrong;
  return solver.solve();
}

std::string print(const Distance& distance, const std::vector<std::string>& names) {
  std::string text;
  const auto more = [&](std::int64_t factor, const std::string& what) {
    if (factor == 0) return;
    const std::int64_t size = std::abs(factor);
    const std::string term = what.empty() ? std::to_string(size) : size == 1 ? what : fmt::format("{}*{}", size, what);
    text += text.empty() ? (factor < 0 ? "-" : "") : factor < 0 ? " - " : " + ";
    text += term;
  };
  for (std::size_t s = 0; s < distance.pitches.size(); ++s) more(distance.pitches[s], names.at(s));
  more(distance.bytes, "");
  return text.empty() ? "0" : text;
}

std::optional<std::string> digits_of(const std::vector<std::int64_t>& values, const std::string& name) {
  if (values.empty()) return std::nullopt;
  std::size_t bits = 0;
  while ((std::size_t{1} << bits) < values.size()) ++bits;
  std::vector<std::int64_t> of_bit;
  for (std::size_t b = 0; b < bits; ++b) of_bit.push_back(values[std::size_t{1} << b] - values[0]);
  for (std::size_t p = 0; p < values.size(); ++p) {
    std::int64_t sum = values[0];
    for (std::size_t b = 0; b < bits; ++b)
      if (p >> b & 1) sum += of_bit[b];
    if (sum != values[p]) return std::nullopt;
  }
  std::string text;
  for (std::size_t b = 0; b < bits;) {
    std::size_t end = b + 1;  // a digit: bits whose values double
    while (end < bits && of_bit[b] != 0 && of_bit[end] == 2 * of_bit[end - 1]) ++end;
    if (of_bit[b] != 0) {
      std::string digit = b == 0 ? name : fmt::format("{}/{}", name, std::int64_t{1} << b);
      if (end < bits) digit += fmt::format("%{}", std::int64_t{1} << (end - b));
      if (of_bit[b] != 1) digit = fmt::format("{}*{}", of_bit[b], digit == name ? name : "(" + digit + ")");
      text += (text.empty() ? "" : " + ") + digit;
    }
    b = end;
  }
  if (values[0] != 0 || text.empty()) text += (text.empty() ? "" : " + ") + std::to_string(values[0]);
  return text;
}

}  // namespace isamap

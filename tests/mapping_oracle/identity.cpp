// SPDX-License-Identifier: Apache-2.0
#include "tests/mapping_oracle/identity.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include "tests/mapping_oracle/lattice.h"

namespace isamap::oracle {
namespace {

/// Relabelings of the instruction's inputs and dims that leave every operand's index list as it is.
struct Relabeling {
  std::vector<int> operands, dims;
};
std::vector<Relabeling> symmetries(const Nest& unit) {
  std::vector<Relabeling> list;
  std::vector<int> operands(unit.operands.size()), dims(unit.dims());
  std::iota(operands.begin(), operands.end(), 0);
  do {
    std::iota(dims.begin(), dims.end(), 0);
    do {
      bool same =
          unit.body == Body::product || unit.body == Body::sum || std::is_sorted(operands.begin(), operands.end());
      for (std::size_t m = 0; m < dims.size(); ++m)
        same = same && unit.extents[m] == unit.extents[static_cast<std::size_t>(dims[m])];
      for (std::size_t t = 0; t < operands.size() && same; ++t) {
        const auto &from = unit.operands[t], &to = unit.operands[static_cast<std::size_t>(operands[t])];
        same = from.size() == to.size();
        for (std::size_t r = 0; r < from.size() && same; ++r)
          for (std::size_t m = 0; m < dims.size(); ++m)
            same = same && from[r].coefficients[m] == to[r].coefficients[static_cast<std::size_t>(dims[m])];
      }
      if (same) list.push_back({operands, dims});
    } while (std::next_permutation(dims.begin(), dims.end()));
  } while (std::next_permutation(operands.begin() + 1, operands.end()));
  return list;
}

Vec image(const Nest& kernel, const Vec& column) {
  Vec image;
  for (const Row& row : kernel.operands[0]) image.push_back(linear(row, column));
  return image;
}

std::string text(const Vec& v) {
  std::string text;
  for (const Int x : v) text += std::to_string(x) + " ";
  return text;
}

Int size_of(const Vec& v) {
  Int sum = 0;
  for (const Int x : v) sum += std::abs(x);
  return sum;
}

bool on_output(const Digit& digit, const Nest& unit) {
  return std::any_of(digit.places.begin(), digit.places.end(),
                     [&](int m) { return unit.uses(0, static_cast<std::size_t>(m)); });
}

/// "0 1 inside 1 0": of two output digits that move the output along one direction, the first is the finer one.
std::set<std::string> orders_of(const Mapping& mapping, const Nest& kernel, const Nest& unit) {
  std::set<std::string> parts;
  for (const Digit& inner : mapping.digits) {
    for (const Digit& outer : mapping.digits) {
      const Vec u = image(kernel, inner.column), w = image(kernel, outer.column);
      if (inner.extent == 1 || outer.extent == 1 || !on_output(inner, unit) || !on_output(outer, unit)) continue;
      if (zero(u) || zero(w) || rank_of({u, w}) == 2 || primitive(inner.column) == primitive(outer.column)) continue;
      if (size_of(u) < size_of(w))
        parts.insert(text(primitive(inner.column)) + "inside " + text(primitive(outer.column)));
    }
  }
  return parts;
}

/// Direction and the operand sets of the dims that it is on.
std::string placed(const Digit& digit, const Nest& unit, const Relabeling& by) {
  std::set<std::string> places;
  for (const int m : digit.places) {
    std::string uses;
    for (std::size_t t = 0; t < unit.operands.size(); ++t)
      uses += unit.uses(t, static_cast<std::size_t>(by.dims[static_cast<std::size_t>(m)])) ? "1" : "0";
    places.insert(uses);
  }
  std::string part = text(primitive(digit.column)) + "on";
  for (const std::string& place : places) part += " " + place;
  return part;
}

}  // namespace

Identity identity_of(const Mapping& mapping, const Nest& kernel, const Nest& unit) {
  std::optional<Identity> least;
  for (const Relabeling& by : symmetries(unit)) {
    std::vector<int> operands(mapping.operands.size());
    for (std::size_t t = 0; t < operands.size(); ++t)
      operands[static_cast<std::size_t>(by.operands[t])] = mapping.operands[t];
    std::set<std::string> parts;
    for (const Digit& digit : mapping.digits)
      if (digit.extent > 1) parts.insert(placed(digit, unit, by));
    Identity here;
    for (const int t : operands) here.directions += std::to_string(t) + ",";
    for (const std::string& part : parts) here.directions += "|" + part;
    here.full = here.directions;
    for (const std::string& order : orders_of(mapping, kernel, unit)) here.full += "|" + order;
    if (!least || here.full < least->full) least = here;
  }
  return *least;
}

bool moves(const Mapping& mapping, const Nest& kernel) {
  for (const Digit& digit : mapping.digits)
    for (std::size_t d = 0; d < digit.column.size(); ++d)
      if (std::abs(digit.column[d]) >= kernel.extents[d]) return false;
  return true;
}

}  // namespace isamap::oracle

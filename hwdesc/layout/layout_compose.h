// SPDX-License-Identifier: Apache-2.0
#pragma once
// The composition of three maps: can this move put an operand where its instruction wants it, and how is it told where?
//
//   index -> place        the operand's layout, e.g. (lane, byte of its registers)
//   place -> address      the move's layouts: what it reads for that place, up to what the program may still choose
//   index -> byte         the tensor in memory, with distances that the program chooses too (its pitches)
//
// For every byte of the operand the second map's address must be the third's. That is linear in what is chosen: one
// base for all or one from each instance of a unit, and the free strides. So each byte gives one equation
//
//   wanted = base[b] + fixed + sum over t of factor[t] * stride[t]
//
// where `wanted` is a distance: bytes + sum of factor * pitch. Solving them is all there is; that fragments come from
// lanes or panels from rows does not matter here.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace isamap {

/// bytes + sum over s of pitches[s] * (pitch s): a number once the program has chosen its pitches.
struct Distance {
  std::int64_t bytes = 0;
  std::vector<std::int64_t> pitches;
  bool operator==(const Distance&) const = default;
  bool is_zero() const;
  std::int64_t at(const std::vector<std::int64_t>& pitch) const;
};
Distance operator-(Distance a, const Distance& b);

struct PlaceEquation {
  Distance wanted;
  std::int64_t base = 0;              ///< number of the base that this byte's address begins at
  std::int64_t fixed = 0;             ///< bytes
  std::vector<std::int64_t> factors;  ///< of the free strides
};

/// The chosen strides and bases. A stride that no equation asks for is nothing: any value does.
struct Placement {
  std::vector<std::optional<Distance>> strides;
  std::map<std::int64_t, Distance> bases;
};

/// Equations `first` and `second` cannot both hold: in memory their bytes are `apart`, the layout has them `needed`
/// apart.
struct Misplacement {
  std::size_t first = 0, second = 0;
  Distance apart;
  std::int64_t needed = 0;
  bool free = false;  ///< the layout's distance contains free strides, but no integers for them fit
};

/// Takes equations one by one and stops at the first that cannot hold beside those before it.
class PlaceSolver {
 public:
  /// Nothing: so far they hold. Equations are numbered in the order in which they come.
  std::optional<Misplacement> add(const PlaceEquation& equation);
  std::variant<Placement, Misplacement> solve() const;

 private:
  struct Row {  // sum of factors * stride = value
    std::vector<std::int64_t> factors;
    Distance value;
  };
  static void eliminate(Row& row, const Row& by, std::size_t at);
  static void divide_by_content(Row& row);

  std::map<std::size_t, Row> rows_;                                      // by leading unknown
  std::map<std::int64_t, std::pair<std::size_t, PlaceEquation>> first_;  // by base: the first one, and its number
  std::size_t count_ = 0, unknowns_ = 0;
  Row scratch_;
};

/// {wanted 0, wanted P, wanted 2P; base 0; factors 0, 1, 2}  gives  stride 0 = P, base 0 = 0
std::variant<Placement, Misplacement> place(const std::vector<PlaceEquation>& equations);

/// "4*pitch[i] + 16": names[s] is what pitch s is called.
std::string print(const Distance& distance, const std::vector<std::string>& names);

/// values[p] as a sum of digits of p, written with `name`: {0,1,2,3,0,1,2,3} gives "p%4", {0,0,8,8} gives "8*(p/2)".
/// Nothing when they are no such sum (each bit of p adds its own constant).
std::optional<std::string> digits_of(const std::vector<std::int64_t>& values, const std::string& name);

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The composition of three maps: can this move place an operand in the layout of its instruction, and with which
// addresses and strides?
//
//   index -> place        the operand's layout, e.g. (lane, byte of its registers)
//   place -> address      the move's layouts: the address it reads for that place, up to the program's choices
//   index -> byte         the tensor in memory, with pitches that the program chooses
//
// For every byte of the operand the second map's address must equal the third's. This is linear in the choices: one
// base for all or one from each instance of a unit, and the free strides. So each byte gives one equation
//
//   distance = base[b] + fixed + sum over t of factor[t] * stride[t]
//
// where `distance` is a distance: bytes + sum of factor * pitch. Fragments over lanes and panels over rows give the
// same kind of equations.

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
  Distance distance;
  std::int64_t base = 0;              ///< number of the base of this byte's address
  std::int64_t fixed = 0;             ///< bytes
  std::vector<std::int64_t> factors;  ///< of the free strides
};

/// The chosen strides and bases. A stride in no equation is nothing: any value works.
struct Placement {
  std::vector<std::optional<Distance>> strides;
  std::map<std::int64_t, Distance> bases;
};

/// Equations `first` and `second` contradict each other: in memory their bytes are `apart`, the layout needs `needed`.
struct Misplacement {
  std::size_t first = 0, second = 0;
  Distance apart;
  std::int64_t needed = 0;
  bool free = false;  ///< the layout's distance contains free strides, but no integers for them fit
};

/// Solves equations one by one, up to the first that contradicts those before it.
class PlaceSolver {
 public:
  /// Nothing: so far they are consistent. Equations are numbered in the order of the calls.
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

/// {distance 0, distance P, distance 2P; base 0; factors 0, 1, 2}  gives  stride 0 = P, base 0 = 0
std::variant<Placement, Misplacement> place(const std::vector<PlaceEquation>& equations);

/// "4*pitch[i] + 16": names[s] is the name of pitch s.
std::string print(const Distance& distance, const std::vector<std::string>& names);

/// values[p] as a sum of digits of p, in terms of `name`: {0,1,2,3,0,1,2,3} gives "p%4", {0,0,8,8} gives "8*(p/2)".
/// Nothing when they are no such sum (each bit of p adds its own constant).
std::optional<std::string> digits_of(const std::vector<std::int64_t>& values, const std::string& name);

}  // namespace isamap

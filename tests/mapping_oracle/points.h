// SPDX-License-Identifier: Apache-2.0
#pragma once
// The definitions, point by point: which statement point each instruction point of each call computes, and whether that
// makes the mapping right. Nothing is inferred from the shape of columns or chains.

#include <map>
#include <optional>
#include <set>

#include "tests/mapping_oracle/model.h"

namespace isamap::oracle {

/// All points of one turn of the loops and tiles.
struct Call {
  Vec tiles;                  ///< of each instruction dim: counter = extent * tile + y
  Vec origin;                 ///< x = origin + sum of column * digit
  std::map<Vec, Vec> points;  ///< active ones: y -> x
};

struct Calls {
  std::vector<Call> list;
  std::string problem;  ///< a statement point in no place or in two; empty: exact cover
};
/// Calls of printed loops. Without floating ones all turns of loops and tiles are gone through, whether they meet a
/// point or not, so that padding of turns without any point counts too; else those at which some point is computed.
Calls every_turn(const Nest& kernel, const Nest& unit, const Mapping& mapping);
/// Calls of printed loops or of the basis: every place of every statement point is found by trying all digit values and
/// representing the rest in the loops.
Calls calls_of(const Nest& kernel, const Nest& unit, const Mapping& mapping);

/// Why y is padding: "fill j", "tie j.k c", "s>=0", "s<=2", names of faces. Empty: it is an active point.
/// Faces are asked only when all counters spell digits.
std::set<std::string> padding_reasons(const Nest& kernel, const Nest& unit, const Mapping& mapping, const Call& call,
                                      const Vec& y);

/// Empty where the definition holds, else the first counterexample.
struct Verdict {
  std::string cover, sound, partials, neutral, sums;
  bool right(bool partial) const {
    return cover.empty() && sound.empty() && neutral.empty() && sums.empty() && (partial || partials.empty());
  }
  std::string text() const { return cover + sound + partials + neutral + sums; }
};
Verdict judge(const Nest& kernel, const Nest& unit, const Mapping& mapping);

/// One call's part of the verdict: slots, and padding.
void judge_call(const Nest& kernel, const Nest& unit, const Mapping& mapping, const Call& call, Verdict& verdict);
std::string shown(const Vec& v);  ///< "(1,2)"

/// The statement point that y computes, if it is an active one.
std::optional<Vec> point_at(const Nest& kernel, const Nest& unit, const Mapping& mapping, const Call& call,
                            const Vec& y);

/// Operands that can make a term vanish: sets of inputs that must do so together, by body and reduction.
std::vector<std::set<int>> kill_sets(const Nest& nest);

}  // namespace isamap::oracle

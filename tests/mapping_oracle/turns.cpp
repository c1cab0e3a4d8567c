// SPDX-License-Identifier: Apache-2.0
// Printed loops, turn by turn.

#include <algorithm>
#include <numeric>

#include "tests/mapping_oracle/lattice.h"
#include "tests/mapping_oracle/points.h"

namespace isamap::oracle {
namespace {

/// A face that no digit crosses bounds the loops: turns beyond it are not run.
bool beyond_loop_bounds(const Nest& kernel, const Mapping& mapping, const Vec& origin) {
  const auto still = [&](const Vec& coefficients) {
    return std::all_of(mapping.digits.begin(), mapping.digits.end(), [&](const Digit& digit) {
      return digit.extent <= 1 || linear({coefficients, 0}, digit.column) == 0;
    });
  };
  for (std::size_t d = 0; d < kernel.dims(); ++d) {
    Vec unit_vector(kernel.dims(), 0);
    unit_vector[d] = 1;
    if ((origin[d] < 0 || origin[d] >= kernel.extents[d]) && still(unit_vector)) return true;
  }
  return std::any_of(kernel.faces.begin(), kernel.faces.end(),
                     [&](const Row& face) { return value(face, origin) < 0 && still(face.coefficients); });
}

void add_multiple(Vec& to, const Vec& v, Int factor) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += v[i] * factor;
}

/// Integers w with sum of w * step = rest, for independent steps.
class Solver {
 public:
  Solver(std::vector<Vec> steps, std::size_t dims) : steps_(std::move(steps)) {
    const std::size_t k = steps_.size();
    for (const Vec& chosen : box(Vec(dims, 2))) {
      if (std::accumulate(chosen.begin(), chosen.end(), Int{0}) != static_cast<Int>(k)) continue;
      rows_.clear();
      for (std::size_t d = 0; d < dims; ++d)
        if (chosen[d] != 0) rows_.push_back(d);
      square_.clear();
      for (const Vec& step : steps_) square_.push_back(restricted(step));
      if ((index_ = index_of(square_)) != 0) return;
    }
  }
  bool independent() const { return steps_.empty() || index_ != 0; }

  std::optional<Vec> solve(const Vec& rest) const {
    Vec w;
    if (!steps_.empty()) w = *scaled_coordinates(square_, restricted(rest));
    Vec left = rest;
    for (std::size_t l = 0; l < w.size(); ++l) {
      if (w[l] % index_ != 0) return std::nullopt;
      w[l] /= index_;
      add_multiple(left, steps_[l], -w[l]);
    }
    return zero(left) ? std::optional(w) : std::nullopt;
  }

 private:
  Vec restricted(const Vec& v) const {
    Vec part;
    for (const std::size_t d : rows_) part.push_back(v[d]);
    return part;
  }
  std::vector<Vec> steps_, square_;
  std::vector<std::size_t> rows_;
  Int index_ = 0;
};

class EveryTurn {
 public:
  EveryTurn(const Nest& kernel, const Nest& unit, const Mapping& mapping)
      : kernel_(kernel), unit_(unit), mapping_(mapping) {
    for (const Turn& turn : mapping.turns)
      if (!turn.floats) fixed_.push_back(turn);
    for (const Turn& turn : mapping.turns)
      if (turn.floats) floating_.push_back(turn.step);
  }

  Calls run() {
    if (floating_.empty())
      all_turns();
    else
      turns_with_points();
    for (const Vec& x : box(kernel_.extents))
      if (kernel_.inside(x) && hits_[x] != 1 && calls_.problem.empty())
        calls_.problem = "C: point " + shown(x) + " is in " + std::to_string(hits_[x]) + " places; ";
    return std::move(calls_);
  }

 private:
  Vec fixed_extents() const {
    Vec extents;
    for (const Turn& turn : fixed_) extents.push_back(turn.extent);
    return extents;
  }
  Vec tile_counts() const {
    Vec counts;
    for (std::size_t m = 0; m < unit_.dims(); ++m)
      counts.push_back((looped(mapping_, m) + unit_.extents[m] - 1) / unit_.extents[m]);
    return counts;
  }

  void visit(Call call) {
    if (beyond_loop_bounds(kernel_, mapping_, call.origin)) return;
    for (const Vec& y : box(unit_.extents)) {
      if (const auto x = point_at(kernel_, unit_, mapping_, call, y)) {
        ++hits_[*x];
        call.points.emplace(y, *x);
      }
    }
    if (!call.points.empty()) calls_.list.push_back(std::move(call));  // others are not made
  }

  Vec origin_of(const Vec& z) const {
    Vec origin(kernel_.dims(), 0);
    for (std::size_t l = 0; l < z.size(); ++l) add_multiple(origin, fixed_[l].step, z[l]);
    return origin;
  }

  void all_turns() {
    for (const Vec& z : box(fixed_extents()))
      for (const Vec& tiles : box(tile_counts())) visit({tiles, origin_of(z), {}});
  }

  /// Floating loops have no first and last turn: those at which some point is computed.
  void turns_with_points() {
    const Solver solver(floating_, kernel_.dims());
    if (!solver.independent()) {
      calls_.problem = "C: floating loops are dependent; ";
      return;
    }
    std::set<std::pair<Vec, Vec>> turns;  // all loops' values, origin
    Vec extents;
    for (const Digit& digit : mapping_.digits) extents.push_back(digit.extent);
    for (const Vec& d : box(extents)) {
      Vec move(kernel_.dims(), 0);
      for (std::size_t l = 0; l < d.size(); ++l) add_multiple(move, mapping_.digits[l].column, d[l]);
      for (const Vec& z : box(fixed_extents())) {
        Vec base = origin_of(z);
        for (const Vec& x : box(kernel_.extents)) {
          if (!kernel_.inside(x)) continue;
          Vec rest = x;
          add_multiple(rest, base, -1);
          add_multiple(rest, move, -1);
          const auto w = solver.solve(rest);
          if (!w) continue;
          Vec origin = x, key = z;
          add_multiple(origin, move, -1);
          key.insert(key.end(), w->begin(), w->end());
          turns.insert({key, origin});
        }
      }
    }
    for (const auto& [key, origin] : turns)
      for (const Vec& tiles : box(tile_counts())) visit({tiles, origin, {}});
  }

  const Nest& kernel_;
  const Nest& unit_;
  const Mapping& mapping_;
  std::vector<Turn> fixed_;
  std::vector<Vec> floating_;
  std::map<Vec, int> hits_;
  Calls calls_;
};

}  // namespace

Calls every_turn(const Nest& kernel, const Nest& unit, const Mapping& mapping) {
  return EveryTurn(kernel, unit, mapping).run();
}

}  // namespace isamap::oracle

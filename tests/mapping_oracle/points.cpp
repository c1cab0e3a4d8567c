// SPDX-License-Identifier: Apache-2.0
#include "tests/mapping_oracle/points.h"

#include <algorithm>
#include <optional>

#include "tests/mapping_oracle/lattice.h"

namespace isamap::oracle {
namespace {

Int floor_mod(Int a, Int b) { return ((a % b) + b) % b; }

/// How often a digit's step counts on each of its places: product of the extents of the later digits there.
std::vector<Vec> weights_of(const Mapping& mapping, std::size_t dims) {
  std::vector<Vec> weights(mapping.digits.size());
  Vec reached(dims, 1);
  for (std::size_t l = mapping.digits.size(); l-- > 0;) {
    for (const int m : mapping.digits[l].places) {
      weights[l].push_back(reached[static_cast<std::size_t>(m)]);
      reached[static_cast<std::size_t>(m)] *= mapping.digits[l].extent;
    }
  }
  return weights;
}

/// All ways to write a number with the loops of one direction.
class Radix {
 public:
  Radix(const Mapping& mapping, std::size_t along) {
    for (const Loop& loop : mapping.loops)
      if (loop.along == along) loops_.push_back(loop);
    std::stable_sort(loops_.begin(), loops_.end(), [](const Loop& a, const Loop& b) { return !a.floats && b.floats; });
  }
  const std::vector<Vec>& ways(Int number) {
    const auto found = known_.find(number);
    if (found != known_.end()) return found->second;
    std::vector<Vec>& list = known_[number];
    search(0, number, {}, list);
    return list;
  }

 private:
  void search(std::size_t i, Int rest, Vec values, std::vector<Vec>& list) const {
    if (i == loops_.size()) {
      if (rest == 0) list.push_back(values);
      return;
    }
    const Loop& loop = loops_[i];
    values.push_back(0);
    if (loop.floats) {  // at most one floats, and it is last
      if (rest % loop.stride != 0) return;
      values.back() = rest / loop.stride;
      list.push_back(values);
      return;
    }
    for (Int z = 0; z < loop.extent; ++z) {
      values.back() = z;
      search(i + 1, rest - z * loop.stride, values, list);
    }
  }
  std::vector<Loop> loops_;
  std::map<Int, std::vector<Vec>> known_;
};

/// Depth first over digit values; a direction whose digits are all chosen must leave what its loops can represent.
class Places {
 public:
  Places(const Nest& kernel, const Nest& unit, const Mapping& mapping)
      : kernel_(kernel), unit_(unit), mapping_(mapping), weights_(weights_of(mapping, unit.dims())) {
    const std::size_t n = kernel.dims();
    for (std::size_t d = 0; d < n; ++d) radix_.emplace_back(mapping, d);
    if (!mapping.basis.empty()) index_ = index_of(mapping.basis);
    for (std::size_t d = 0; d < n; ++d) {
      Vec unit_vector(n, 0);
      unit_vector[d] = 1;
      inverse_.push_back(mapping.basis.empty() ? unit_vector : *scaled_coordinates(mapping.basis, unit_vector));
    }
    if (cosets_ = mapping.cosets; cosets_.empty()) cosets_ = {Vec(n, 0)};
    for (const Digit& digit : mapping.digits) steps_.push_back(scaled(digit.column));
    plan();
  }

  Calls run() {
    for (const Vec& x : box(kernel_.extents)) {
      if (!kernel_.inside(x)) continue;
      places_ = 0;
      for (std::size_t c = 0; c < cosets_.size(); ++c) {
        Vec rest = x;
        for (std::size_t i = 0; i < x.size(); ++i) rest[i] -= cosets_[c][i];
        digits_.assign(mapping_.digits.size(), 0);
        loop(0, scaled(rest), x, static_cast<Int>(c));
      }
      if (places_ != 1 && calls_.problem.empty())
        calls_.problem = "C: point " + shown(x) + " is in " + std::to_string(places_) + " places; ";
    }
    for (auto& [key, call] : found_) calls_.list.push_back(std::move(call));
    return std::move(calls_);
  }

 private:
  /// Coordinates in the basis, times its index.
  Vec scaled(const Vec& v) const {
    Vec sum(v.size(), 0);
    for (std::size_t d = 0; d < v.size(); ++d)
      for (std::size_t a = 0; a < v.size(); ++a) sum[a] += v[d] * inverse_[d][a];
    return sum;
  }

  /// Digits direction by direction, and after how many of them each direction is decided.
  void plan() {
    std::vector<bool> planned(mapping_.digits.size(), false);
    decided_.assign(mapping_.digits.size() + 1, {});
    for (std::size_t a = 0; a < kernel_.dims(); ++a) {
      for (std::size_t l = 0; l < steps_.size(); ++l) {
        if (planned[l] || steps_[l][a] == 0) continue;
        planned[l] = true;
        order_.push_back(l);
      }
      decided_[order_.size()].push_back(a);
    }
    for (std::size_t l = 0; l < steps_.size(); ++l)
      if (!planned[l]) order_.push_back(l);
  }

  void loop(std::size_t depth, const Vec& rest, const Vec& x, Int coset) {
    for (const std::size_t a : decided_[depth])
      if (rest[a] % index_ != 0 || radix_[a].ways(rest[a] / index_).empty()) return;
    if (depth == order_.size()) {
      represent(rest, 0, {coset}, x);
      return;
    }
    const std::size_t l = order_[depth];
    Vec next = rest;
    for (Int d = 0; d < mapping_.digits[l].extent; ++d) {
      digits_[l] = d;
      loop(depth + 1, next, x, coset);
      for (std::size_t a = 0; a < next.size(); ++a) next[a] -= steps_[l][a];
    }
    digits_[l] = 0;
  }

  void represent(const Vec& rest, std::size_t a, const Vec& loops, const Vec& x) {
    if (a == rest.size()) {
      ++places_;
      add(loops, x);
      return;
    }
    for (const Vec& way : radix_[a].ways(rest[a] / index_)) {
      Vec longer = loops;
      longer.insert(longer.end(), way.begin(), way.end());
      represent(rest, a + 1, longer, x);
    }
  }

  void add(Vec key, const Vec& x) {
    Vec counters(unit_.dims(), 0), tiles, y, origin = x;
    for (std::size_t l = 0; l < digits_.size(); ++l) {
      const Digit& digit = mapping_.digits[l];
      for (std::size_t p = 0; p < digit.places.size(); ++p)
        counters[static_cast<std::size_t>(digit.places[p])] += weights_[l][p] * digits_[l];
      for (std::size_t i = 0; i < origin.size(); ++i) origin[i] -= digit.column[i] * digits_[l];
    }
    for (std::size_t m = 0; m < counters.size(); ++m) {
      tiles.push_back(counters[m] / unit_.extents[m]);
      y.push_back(counters[m] % unit_.extents[m]);
    }
    key.insert(key.end(), tiles.begin(), tiles.end());
    Call& call = found_[key];
    call.tiles = tiles;
    call.origin = origin;
    if (!call.points.emplace(y, x).second && calls_.problem.empty())
      calls_.problem = "C: two points at " + shown(y) + " of one call; ";
  }

  const Nest& kernel_;
  const Nest& unit_;
  const Mapping& mapping_;
  std::vector<Vec> weights_, inverse_, cosets_, steps_;
  std::vector<std::size_t> order_;
  std::vector<std::vector<std::size_t>> decided_;
  Int index_ = 1;
  std::vector<Radix> radix_;
  Vec digits_;
  int places_ = 0;
  std::map<Vec, Call> found_;
  Calls calls_;
};

std::string where(const Call& call, const Vec& y) {
  return " at " + shown(y) + " of the call with origin " + shown(call.origin) + "; ";
}

void judge_slots(const Nest& kernel, const Nest& unit, const Mapping& mapping, const Call& call, Verdict& verdict) {
  for (std::size_t t = 0; t < unit.operands.size(); ++t) {
    std::map<Vec, Vec> elements, slots;
    for (const auto& [y, x] : call.points) {
      const Vec slot = element(unit, t, y), at = element(kernel, static_cast<std::size_t>(mapping.operands[t]), x);
      if (elements.emplace(slot, at).first->second != at && verdict.sound.empty())
        verdict.sound = "S: operand " + std::to_string(t) + " has two elements in one slot" + where(call, y);
      if (t == 0 && slots.emplace(at, slot).first->second != slot && verdict.partials.empty())
        verdict.partials = "O: one element has two slots" + where(call, y);
    }
  }
}

void judge_padding(const Nest& kernel, const Nest& unit, const Mapping& mapping, const Call& call, Verdict& verdict) {
  std::vector<std::set<Vec>> live(unit.operands.size());
  for (const auto& [y, x] : call.points)
    for (std::size_t t = 0; t < live.size(); ++t) live[t].insert(element(unit, t, y));
  const std::vector<std::set<int>> kills = kill_sets(unit);
  for (const Vec& y : box(unit.extents)) {
    if (call.points.count(y) > 0 || !verdict.neutral.empty()) continue;
    for (const std::string& reason : padding_reasons(kernel, unit, mapping, call, y)) {
      std::set<int> carriers;
      for (const Carrier& carrier : mapping.carriers)
        if (carrier.reason == reason) carriers.insert(carrier.operand);
      const bool enough = carriers.count(0) > 0 || std::any_of(kills.begin(), kills.end(), [&](const auto& kill) {
                            return std::includes(carriers.begin(), carriers.end(), kill.begin(), kill.end());
                          });
      if (!enough) verdict.neutral = "N: nobody neutralises " + reason + where(call, y);
      for (const int t : carriers)
        if (live[static_cast<std::size_t>(t)].count(element(unit, static_cast<std::size_t>(t), y)) > 0)
          verdict.neutral = "N: the slot of operand " + std::to_string(t) + ", which carries " + reason + ", is live" +
                            where(call, y);
    }
  }
}

}  // namespace

std::string shown(const Vec& v) {
  std::string s = "(";
  for (const Int x : v) s += (s.size() > 1 ? "," : "") + std::to_string(x);
  return s + ")";
}

Calls calls_of(const Nest& kernel, const Nest& unit, const Mapping& mapping) {
  return mapping.printed ? every_turn(kernel, unit, mapping) : Places(kernel, unit, mapping).run();
}

namespace {

/// What y stands for: reasons to be padding short of the domain's faces, and the point that its digits run over to.
struct Reading {
  std::set<std::string> reasons;
  Vec x;
};

Reading read(const Nest& kernel, const Nest& unit, const Mapping& mapping, const Call& call, const Vec& y) {
  Reading reading{{}, call.origin};
  Vec rest(unit.dims(), 0);
  for (std::size_t m = 0; m < unit.dims(); ++m) {
    rest[m] = unit.extents[m] * call.tiles[m] + y[m];
    if (rest[m] >= looped(mapping, m)) reading.reasons.insert("fill " + unit.names[m]);
  }
  if (!reading.reasons.empty()) return reading;
  for (std::size_t l = mapping.digits.size(); l-- > 0;) {
    const Digit& digit = mapping.digits[l];
    std::optional<Int> step;
    for (const int place : digit.places) {
      Int& counter = rest[static_cast<std::size_t>(place)];
      const Int here = floor_mod(counter, digit.extent);
      counter /= digit.extent;
      if (step && *step != here) reading.reasons.insert(tie_reason(kernel, unit, digit, place));
      if (!step) step = here;
    }
    for (std::size_t i = 0; i < reading.x.size(); ++i) reading.x[i] += digit.column[i] * step.value_or(0);
  }
  return reading;
}

}  // namespace

std::optional<Vec> point_at(const Nest& kernel, const Nest& unit, const Mapping& mapping, const Call& call,
                            const Vec& y) {
  const Reading reading = read(kernel, unit, mapping, call, y);
  return reading.reasons.empty() && kernel.inside(reading.x) ? std::optional(reading.x) : std::nullopt;
}

std::set<std::string> padding_reasons(const Nest& kernel, const Nest& unit, const Mapping& mapping, const Call& call,
                                      const Vec& y) {
  auto [reasons, x] = read(kernel, unit, mapping, call, y);
  if (!reasons.empty()) return reasons;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] < 0) reasons.insert(kernel.names[i] + ">=0");
    if (x[i] >= kernel.extents[i]) reasons.insert(kernel.names[i] + "<=" + std::to_string(kernel.extents[i] - 1));
  }
  for (std::size_t f = 0; f < kernel.faces.size(); ++f)
    if (value(kernel.faces[f], x) < 0) reasons.insert(kernel.face_names[f]);
  return reasons;
}

void judge_call(const Nest& kernel, const Nest& unit, const Mapping& mapping, const Call& call, Verdict& verdict) {
  judge_slots(kernel, unit, mapping, call, verdict);
  judge_padding(kernel, unit, mapping, call, verdict);
}

namespace {

/// Calls that begin their output anew: an element that two of them write, or that held a value before.
std::string sum_lost(const Nest& kernel, const std::vector<Call>& calls) {
  std::map<Vec, std::size_t> writer;
  for (std::size_t c = 0; c < calls.size(); ++c)
    for (const auto& [y, x] : calls[c].points) {
      const Vec at = element(kernel, 0, x);
      if (kernel.holds) return "A: what stood in " + shown(at) + " is lost; ";
      if (writer.emplace(at, c).first->second != c) return "A: two calls write " + shown(at) + "; ";
    }
  return "";
}

}  // namespace

Verdict judge(const Nest& kernel, const Nest& unit, const Mapping& mapping) {
  Verdict verdict;
  const Calls calls = calls_of(kernel, unit, mapping);
  verdict.cover = calls.problem;
  for (const Call& call : calls.list) {
    judge_call(kernel, unit, mapping, call, verdict);
  }
  if (unit.anew) verdict.sums = sum_lost(kernel, calls.list);
  return verdict;
}

std::vector<std::set<int>> kill_sets(const Nest& nest) {
  std::set<int> inputs;
  for (int t = 1; t < static_cast<int>(nest.operands.size()); ++t) inputs.insert(t);
  std::vector<std::set<int>> single;
  for (const int t : inputs) single.push_back({t});
  const bool product = nest.body == Body::product, sum = nest.body == Body::sum;
  if (nest.reduction == Reduction::add) return product ? single : sum ? std::vector{inputs} : std::vector{inputs};
  return sum ? single : std::vector<std::set<int>>{};
}

}  // namespace isamap::oracle

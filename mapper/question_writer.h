// SPDX-License-Identifier: Apache-2.0
#pragma once
// The text of one question to a solver: variables, ranges and equations of points of calls (certificate.h). Internal to
// the certificates.

#include <algorithm>
#include <map>
#include <set>

#include "ir/start.h"
#include "mapper/certificate.h"
#include "support/arithmetic.h"

namespace isamap {

inline std::string number(std::int64_t n) { return n < 0 ? "(- " + std::to_string(-n) + ")" : std::to_string(n); }

inline std::string list(const std::string& op, const std::vector<std::string>& terms, const std::string& none) {
  if (terms.empty()) return none;
  if (terms.size() == 1) return terms[0];
  std::string text = "(" + op;
  for (const std::string& term : terms) text += " " + term;
  return text + ")";
}
inline std::string sum(const std::vector<std::string>& terms) { return list("+", terms, "0"); }
inline std::string all(const std::vector<std::string>& terms) { return list("and", terms, "true"); }
inline std::string any(const std::vector<std::string>& terms) { return list("or", terms, "false"); }
inline std::string times(std::int64_t factor, const std::string& x) {
  return factor == 1 ? x : "(* " + number(factor) + " " + x + ")";
}
inline std::string equal(const std::string& a, const std::string& b) { return "(= " + a + " " + b + ")"; }
inline std::string below(const std::string& x, const std::string& size) {
  return "(and (<= 0 " + x + ") (< " + x + " " + size + "))";
}
inline std::string within(const std::string& x, std::int64_t extent) {
  return "(<= 0 " + x + " " + number(extent - 1) + ")";
}
inline std::string negation(const std::string& x) { return "(not " + x + ")"; }

/// The text of one question.
class QuestionWriter {
 public:
  QuestionWriter(const Alignment& alignment, const Mapping& mapping)
      : alignment_(alignment), digit_steps_(*digit_steps_of(alignment, mapping.dims)) {
    for (const ResidualLoop& loop : mapping.loops) {
      IntVector step;
      for (const Dim& dim : dims()) step.push_back(loop.step.coefficient(dim.name));
      loops_.push_back({std::move(step), loop.extent, loop.floating});
    }
    free_.assign(dims().size(), false);
  }

  /// From here on dims that one whole digit or loop runs over have any size: a symbol, for which fills without a
  /// carrier divide. False: there are none.
  bool free_sizes(const Mapping& mapping) {
    for (std::size_t d = 0; d < free_.size(); ++d) free_[d] = is_free(d);
    for (int i = 0; i < dim_count(); ++i) {
      if (!free_[static_cast<std::size_t>(i)]) continue;
      declare(size(i));
      require("(<= 1 " + size(i) + ")");
    }
    for (int m = 0; m < unit_dim_count(); ++m) {
      const std::string reason = "fill " + unit_dims()[static_cast<std::size_t>(m)].name;
      const bool carried = std::any_of(mapping.carriers.begin(), mapping.carriers.end(),
                                       [&](const Carrier& carrier) { return carrier.reason == reason; });
      if (carried || digit_count(m) == number(digits_extent(digit_steps_, m))) continue;
      declare("whole." + std::to_string(m));
      require(equal(digit_count(m), times(unit_extent(alignment_, m), "whole." + std::to_string(m))));
    }
    return std::find(free_.begin(), free_.end(), true) != free_.end();
  }
  std::string free_names() const {
    std::string names;
    for (std::size_t d = 0; d < free_.size(); ++d)
      if (free_[d]) names += (names.empty() ? "" : ", ") + dims()[d].name;
    return names;
  }

  /// Extents as text: a number or a symbol.
  std::string size(int d) const {
    const Dim& dim = dims()[static_cast<std::size_t>(d)];
    return free_[static_cast<std::size_t>(d)] ? "N." + dim.name : number(dim.extent);
  }
  std::string digit_size(std::size_t w) const {
    const int d = free_dim(digit_steps_[w].column);
    return d >= 0 ? size(d) : number(digit_steps_[w].extent);
  }
  std::string loop_size(std::size_t l) const {
    const int d = free_dim(loops_[l].step);
    return d >= 0 ? size(d) : number(loops_[l].extent);
  }
  /// Product of the digits of an instruction dim; the outermost may be free.
  std::string digit_count(int m) const {
    for (std::size_t w = 0; w < digit_steps_.size(); ++w) {
      const DigitStep::Place* place = digit_steps_[w].on(m);
      if (place != nullptr && free_dim(digit_steps_[w].column) >= 0) return times(place->weight, digit_size(w));
    }
    return number(digits_extent(digit_steps_, m));
  }

  const std::vector<DigitStep>& digit_steps() const { return digit_steps_; }
  const std::vector<Cover::Loop>& loops() const { return loops_; }
  const Alignment& alignment() const { return alignment_; }

  std::string x(int k, int d) const { return "x" + std::to_string(k) + "." + dims()[static_cast<std::size_t>(d)].name; }
  std::string y(int k, int m) const {
    return "y" + std::to_string(k) + "." + unit_dims()[static_cast<std::size_t>(m)].name;
  }
  std::string d(int k, std::size_t w) const { return "d" + std::to_string(k) + "." + std::to_string(w); }
  std::string z(int c, std::size_t l) const { return "z" + std::to_string(c) + "." + std::to_string(l); }
  std::string t(int c, int m) const {
    return "t" + std::to_string(c) + "." + unit_dims()[static_cast<std::size_t>(m)].name;
  }
  const std::vector<Dim>& dims() const { return alignment_.computation().domain.dims; }
  const std::vector<Dim>& unit_dims() const { return alignment_.unit().domain.dims; }
  int dim_count() const { return static_cast<int>(dims().size()); }
  int unit_dim_count() const { return static_cast<int>(unit_dims().size()); }

  void declare(const std::string& name) { text_ += "(declare-const " + name + " Int)\n"; }
  void require(const std::string& condition) { text_ += "(assert " + condition + ")\n"; }
  Question finish(std::string name) { return {std::move(name), std::move(text_)}; }

  /// Loop values of call c. Loops below others run in their range; so do all where no column shifts the coordinate.
  void call(int c) {
    for (std::size_t l = 0; l < loops_.size(); ++l) {
      declare(z(c, l));
      if (!loops_[l].floating) require(below(z(c, l), loop_size(l)));
    }
    for (int m = 0; m < unit_dim_count(); ++m) declare(t(c, m));
  }

  /// Point k of call c: variables and what ties them together, ranges apart.
  void point(int k, int c) {
    for (int m = 0; m < unit_dim_count(); ++m) {
      declare(y(k, m));
      require(within(y(k, m), unit_extent(alignment_, m)));
    }
    for (std::size_t w = 0; w < digit_steps_.size(); ++w) declare(d(k, w));
    for (int i = 0; i < dim_count(); ++i) {
      declare(x(k, i));
      require(equal(x(k, i), position(k, c, i)));
    }
  }

  std::string position(int k, int c, int dim) const { return sum(terms_of(k, c, dim, "")); }
  /// What all but one of the values leave of the coordinate.
  std::string remainder(int k, int c, int dim, const std::string& without) const {
    std::vector<std::string> terms = terms_of(k, c, dim, without);
    terms.insert(terms.begin(), x(k, dim));
    return terms.size() == 1 ? terms[0] : list("-", terms, "0");
  }

  std::string counter(int c, int k, int m) const {
    return "(+ " + times(unit_extent(alignment_, m), t(c, m)) + " " + y(k, m) + ")";
  }
  std::string counted(int k, int m) const {
    std::vector<std::string> terms;
    for (std::size_t w = 0; w < digit_steps_.size(); ++w) {
      if (const DigitStep::Place* place = digit_steps_[w].on(m)) terms.push_back(times(place->weight, d(k, w)));
    }
    return sum(terms);
  }
  /// The digits are in range and spell the counters: y is not filled up.
  std::string counts(int k, int c) const {
    std::vector<std::string> terms;
    for (std::size_t w = 0; w < digit_steps_.size(); ++w) terms.push_back(below(d(k, w), digit_size(w)));
    for (int m = 0; m < unit_dim_count(); ++m) terms.push_back(equal(counter(c, k, m), counted(k, m)));
    return all(terms);
  }
  std::string inside(int k) {
    std::vector<std::string> terms;
    for (int i = 0; i < dim_count(); ++i) terms.push_back(below(x(k, i), size(i)));
    for (const AffineExpr& face : alignment_.computation().domain.faces) terms.push_back("(<= 0 " + at(face, k) + ")");
    return all(terms);
  }
  void active(int k, int c) {
    point(k, c);
    require(counts(k, c));
    require(inside(k));
  }

  /// An index of the statement at point k. Quotients get variables of their own: c*q <= e < c*q + c.
  std::string at(const AffineExpr& e, int k) {
    return expression(e, [&](const std::string& name) { return x(k, alignment_.computation().domain.find(name)); });
  }
  std::string unit_at(const AffineExpr& e, int k) {
    return expression(e, [&](const std::string& name) { return y(k, alignment_.unit().domain.find(name)); });
  }

  /// The free dim whose last point this face keeps, or -1: its extent is not the number in the face.
  int upper_end(const AffineExpr& face) const {
    for (int i = 0; i < dim_count(); ++i) {
      if (free_[static_cast<std::size_t>(i)] && face.coefficient(dims()[static_cast<std::size_t>(i)].name) == -1)
        return i;
    }
    return -1;
  }

  /// Point 1 through one access and point 2 through another access of the instruction to the same operand.
  std::string same_slot(int one, int other) {
    const std::vector<AffineExpr>&a = alignment_.unit_access(one).index, &b = alignment_.unit_access(other).index;
    std::vector<std::string> terms;
    for (std::size_t i = 0; i < a.size(); ++i) terms.push_back(equal(unit_at(a[i], 1), unit_at(b[i], 2)));
    return all(terms);
  }
  std::string same_element(int one, int other) {
    const Access &a = alignment_.access(one), &b = alignment_.access(other);
    if (a.tensor != b.tensor) return "false";
    std::vector<std::string> terms;
    for (std::size_t i = 0; i < a.index.size(); ++i) terms.push_back(equal(at(a.index[i], 1), at(b.index[i], 2)));
    return all(terms);
  }
  std::string same_slot(int operand) { return same_slot(operand, operand); }
  std::string same_element(int operand) { return same_element(operand, operand); }

  /// A point whose counters spell digits that differ on the first place of a tied digit_step and on another. Every
  /// further place has a digit of its own; all other digit_steps agree.
  void tied_digits_differ(int k, std::size_t tied, std::size_t differs) {
    const auto& places = digit_steps_[tied].places;
    const auto at_place = [&](std::size_t p) { return p == 0 ? d(k, tied) : d(k, tied) + ".at" + std::to_string(p); };
    for (std::size_t p = 1; p < places.size(); ++p) {
      declare(at_place(p));
      require(within(at_place(p), digit_steps_[tied].extent));
    }
    require(negation(equal(at_place(differs), d(k, tied))));
    for (std::size_t w = 0; w < digit_steps_.size(); ++w) require(below(d(k, w), digit_size(w)));
    for (int m = 0; m < unit_dim_count(); ++m) {
      std::vector<std::string> terms;
      for (std::size_t w = 0; w < digit_steps_.size(); ++w) {
        const DigitStep::Place* place = digit_steps_[w].on(m);
        if (place == nullptr) continue;
        const auto p = static_cast<std::size_t>(place - &digit_steps_[w].places.front());
        terms.push_back(times(place->weight, w == tied ? at_place(p) : d(k, w)));
      }
      require(equal(counter(0, k, m), sum(terms)));
    }
  }

 private:
  std::vector<std::string> terms_of(int k, int c, int dim, const std::string& without) const {
    std::vector<std::string> terms;
    const auto add = [&](std::int64_t step, const std::string& value) {
      if (step != 0 && value != without) terms.push_back(times(step, value));
    };
    for (std::size_t l = 0; l < loops_.size(); ++l) add(loops_[l].step[static_cast<std::size_t>(dim)], z(c, l));
    for (std::size_t w = 0; w < digit_steps_.size(); ++w)
      add(digit_steps_[w].column[static_cast<std::size_t>(dim)], d(k, w));
    return terms;
  }

  template <class NameOf>
  std::string expression(const AffineExpr& e, const NameOf& name_of) {
    std::vector<std::string> terms;
    for (const AffineTerm& term : e.terms()) {
      if (const auto* name = std::get_if<std::string>(&term.atom)) {
        terms.push_back(times(term.coefficient, name_of(*name)));
        continue;
      }
      const auto& division = std::get<FloorDiv>(term.atom);
      const std::string numerator = expression(*division.numerator, name_of), q = "q." + std::to_string(quotients_++);
      declare(q);
      require(within("(- " + numerator + " " + times(division.divisor, q) + ")", division.divisor));
      terms.push_back(times(term.coefficient, q));
    }
    if (e.constant() != 0 || terms.empty()) terms.push_back(number(e.constant()));
    return sum(terms);
  }

  /// Is it run over by one whole digit, outermost on its dim, or by one whole loop, and in no face?
  bool is_free(std::size_t d) const {
    const Dim& dim = dims()[d];
    int loops = 0;
    if (always_starts_anew(*alignment_.hardware) && !uses(alignment_.computation().write, dim.name))
      return false;  // one call adds it up
    for (const AffineExpr& face : alignment_.computation().domain.faces)
      if (face.names().count(dim.name) > 0) return false;
    for (const DigitStep& w : digit_steps_) {
      if (w.column[d] == 0) continue;
      if (++loops > 1 || !is_unit(w.column, d) || w.extent != dim.extent || w.places.size() != 1) return false;
      if (w.places[0].weight * w.extent != digits_extent(digit_steps_, w.places[0].dim)) return false;
    }
    for (const Cover::Loop& loop : loops_) {
      if (loop.step[d] == 0) continue;
      if (++loops > 1 || !is_unit(loop.step, d) || loop.extent != dim.extent || loop.floating) return false;
    }
    return loops == 1 && dim.extent > 1;
  }
  static bool is_unit(const IntVector& v, std::size_t d) {
    return v[d] == 1 && std::count_if(v.begin(), v.end(), [](std::int64_t x) { return x != 0; }) == 1;
  }
  int free_dim(const IntVector& step) const {
    for (std::size_t d = 0; d < free_.size(); ++d)
      if (free_[d] && step[d] != 0) return static_cast<int>(d);
    return -1;
  }

  const Alignment& alignment_;
  std::vector<Cover::Loop> loops_;
  std::vector<DigitStep> digit_steps_;
  std::vector<bool> free_;  // dims of any size
  std::string text_;
  int quotients_ = 0;
};

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The text of one question to a solver: variables, ranges and equations of points of calls (certificate.h). Internal to
// the certificates.

#include <algorithm>

#include "ir/start.h"
#include "mapper/proof/certificate.h"
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
  QuestionWriter(const Alignment& alignment, const Mapping& mapping);

  /// From here on dims that one whole digit or loop covers have any size: a symbol; fills without a carrier get sizes
  /// that divide. False: there are no such dims.
  bool free_sizes(const Mapping& mapping);
  std::string free_names() const {
    std::string names;
    for (std::size_t d = 0; d < free_.size(); ++d)
      if (free_[d]) names += (names.empty() ? "" : ", ") + dims()[d].name;
    return names;
  }

  /// From here on these dims have the sizes of expressions: `declarations` declares their names, `sizes` is the text by
  /// dim, empty for numbers. False: a symbolic dim is not covered by one whole digit or loop; its number in `d`.
  bool symbolic_sizes(const std::vector<std::string>& sizes, const std::string& declarations, std::size_t& d);

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
  std::string digit_count(int m) const;

  const std::vector<DigitStep>& digit_steps() const { return digit_steps_; }
  const std::vector<Cover::Loop>& loops() const { return loops_; }
  const Alignment& alignment() const { return alignment_; }

  std::string x(int k, int d) const { return "x" + std::to_string(k) + "." + dims()[static_cast<std::size_t>(d)].name; }
  std::string y(int k, int m) const {
    return "y" + std::to_string(k) + "." + instruction_dims()[static_cast<std::size_t>(m)].name;
  }
  std::string d(int k, std::size_t w) const { return "d" + std::to_string(k) + "." + std::to_string(w); }
  std::string z(int c, std::size_t l) const { return "z" + std::to_string(c) + "." + std::to_string(l); }
  std::string t(int c, int m) const {
    return "t" + std::to_string(c) + "." + instruction_dims()[static_cast<std::size_t>(m)].name;
  }
  const std::vector<Dim>& dims() const { return alignment_.computation().domain.dims; }
  const std::vector<Dim>& instruction_dims() const { return alignment_.semantics().domain.dims; }
  int dim_count() const { return static_cast<int>(dims().size()); }
  int instruction_dim_count() const { return static_cast<int>(instruction_dims().size()); }

  void declare(const std::string& name) { text_ += "(declare-const " + name + " Int)\n"; }
  void require(const std::string& condition) { text_ += "(assert " + condition + ")\n"; }
  Question finish(std::string name) { return {std::move(name), std::move(text_)}; }

  /// Loop values of call c. Loops below others run in their range; so do all where no column shifts the coordinate.
  void call(int c);

  /// Point k of call c: its variables and equations, without ranges.
  void point(int k, int c);

  std::string position(int k, int c, int dim) const { return sum(terms_of(k, c, dim, "")); }
  /// The coordinate minus the contributions of all values except `without`.
  std::string remainder(int k, int c, int dim, const std::string& without) const;

  std::string counter(int c, int k, int m) const {
    return "(+ " + times(instruction_extent(alignment_, m), t(c, m)) + " " + y(k, m) + ")";
  }
  std::string counted(int k, int m) const {
    std::vector<std::string> terms;
    for (std::size_t w = 0; w < digit_steps_.size(); ++w) {
      if (const DigitStep::Place* place = digit_steps_[w].on(m)) terms.push_back(times(place->weight, d(k, w)));
    }
    return sum(terms);
  }
  /// The digits are in range and give the counters: y is no fill.
  std::string counts(int k, int c) const;
  std::string inside(int k);
  void active(int k, int c) {
    point(k, c);
    require(counts(k, c));
    require(inside(k));
  }

  /// An index of the statement at point k. Quotients get variables of their own: c*q <= e < c*q + c.
  std::string at(const AffineExpr& e, int k);
  std::string instruction_at(const AffineExpr& e, int k);

  /// The free dim whose upper end is this face, or -1: its extent is a symbol, not the number in the face.
  int upper_end(const AffineExpr& face) const;

  /// Point 1 through one access and point 2 through another access of the instruction to the same operand.
  std::string same_slot(int one, int other);
  std::string same_element(int one, int other);
  std::string same_slot(int operand) { return same_slot(operand, operand); }
  std::string same_element(int operand) { return same_element(operand, operand); }

  /// A point whose counters give a tied digit different values on its first place and on another. Every further place
  /// has a separate digit; all other digits agree.
  void tied_digits_differ(int k, std::size_t tied, std::size_t differs);

 private:
  std::vector<std::string> terms_of(int k, int c, int dim, const std::string& without) const;

  template <class NameOf>
  std::string expression(const AffineExpr& e, const NameOf& name_of);

  /// Is it covered by one whole digit, outermost on its dim, or by one whole loop, and in no face?
  bool is_free(std::size_t d) const;
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

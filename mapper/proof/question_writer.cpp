// SPDX-License-Identifier: Apache-2.0
#include "mapper/proof/question_writer.h"

namespace isamap {

template <class NameOf>
std::string QuestionWriter::expression(const AffineExpr& e, const NameOf& name_of) {
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

QuestionWriter::QuestionWriter(const Alignment& alignment, const Mapping& mapping)
    : alignment_(alignment), digit_steps_(*digit_steps_of(alignment, mapping.dims)) {
  for (const ResidualLoop& loop : mapping.loops) {
    IntVector step;
    for (const Dim& dim : dims()) step.push_back(loop.step.coefficient(dim.name));
    loops_.push_back({std::move(step), loop.extent, loop.floating});
  }
  free_.assign(dims().size(), false);
}

bool QuestionWriter::free_sizes(const Mapping& mapping) {
  for (std::size_t d = 0; d < free_.size(); ++d) free_[d] = is_free(d);
  for (int i = 0; i < dim_count(); ++i) {
    if (!free_[static_cast<std::size_t>(i)]) continue;
    declare(size(i));
    require("(<= 1 " + size(i) + ")");
  }
  for (int m = 0; m < instruction_dim_count(); ++m) {
    const std::string reason = "fill " + instruction_dims()[static_cast<std::size_t>(m)].name;
    const bool carried = std::any_of(mapping.carriers.begin(), mapping.carriers.end(),
                                     [&](const Carrier& carrier) { return carrier.reason == reason; });
    if (carried || digit_count(m) == number(digits_extent(digit_steps_, m))) continue;
    declare("whole." + std::to_string(m));
    require(equal(digit_count(m), times(instruction_extent(alignment_, m), "whole." + std::to_string(m))));
  }
  return std::find(free_.begin(), free_.end(), true) != free_.end();
}

bool QuestionWriter::symbolic_sizes(const std::vector<std::string>& sizes, const std::string& declarations,
                                    std::size_t& d) {
  text_ += declarations;
  for (d = 0; d < sizes.size(); ++d) {
    if (sizes[d].empty()) continue;
    free_[d] = is_free(d);
    if (!free_[d]) return false;
    declare(size(static_cast<int>(d)));
    require(equal(size(static_cast<int>(d)), sizes[d]));
  }
  return true;
}

std::string QuestionWriter::digit_count(int m) const {
  for (std::size_t w = 0; w < digit_steps_.size(); ++w) {
    const DigitStep::Place* place = digit_steps_[w].on(m);
    if (place != nullptr && free_dim(digit_steps_[w].column) >= 0) return times(place->weight, digit_size(w));
  }
  return number(digits_extent(digit_steps_, m));
}

void QuestionWriter::call(int c) {
  for (std::size_t l = 0; l < loops_.size(); ++l) {
    declare(z(c, l));
    if (!loops_[l].floating) require(below(z(c, l), loop_size(l)));
  }
  for (int m = 0; m < instruction_dim_count(); ++m) declare(t(c, m));
}

void QuestionWriter::point(int k, int c) {
  for (int m = 0; m < instruction_dim_count(); ++m) {
    declare(y(k, m));
    require(within(y(k, m), instruction_extent(alignment_, m)));
  }
  for (std::size_t w = 0; w < digit_steps_.size(); ++w) declare(d(k, w));
  for (int i = 0; i < dim_count(); ++i) {
    declare(x(k, i));
    require(equal(x(k, i), position(k, c, i)));
  }
}

std::string QuestionWriter::remainder(int k, int c, int dim, const std::string& without) const {
  std::vector<std::string> terms = terms_of(k, c, dim, without);
  terms.insert(terms.begin(), x(k, dim));
  return terms.size() == 1 ? terms[0] : list("-", terms, "0");
}

std::string QuestionWriter::counts(int k, int c) const {
  std::vector<std::string> terms;
  for (std::size_t w = 0; w < digit_steps_.size(); ++w) terms.push_back(below(d(k, w), digit_size(w)));
  for (int m = 0; m < instruction_dim_count(); ++m) terms.push_back(equal(counter(c, k, m), counted(k, m)));
  return all(terms);
}

std::string QuestionWriter::inside(int k) {
  std::vector<std::string> terms;
  for (int i = 0; i < dim_count(); ++i) terms.push_back(below(x(k, i), size(i)));
  for (const AffineExpr& face : alignment_.computation().domain.faces) terms.push_back("(<= 0 " + at(face, k) + ")");
  return all(terms);
}

std::string QuestionWriter::at(const AffineExpr& e, int k) {
  return expression(e, [&](const std::string& name) { return x(k, alignment_.computation().domain.find(name)); });
}

std::string QuestionWriter::instruction_at(const AffineExpr& e, int k) {
  return expression(e, [&](const std::string& name) { return y(k, alignment_.semantics().domain.find(name)); });
}

int QuestionWriter::upper_end(const AffineExpr& face) const {
  for (int i = 0; i < dim_count(); ++i) {
    if (free_[static_cast<std::size_t>(i)] && face.coefficient(dims()[static_cast<std::size_t>(i)].name) == -1)
      return i;
  }
  return -1;
}

std::string QuestionWriter::same_slot(int one, int other) {
  const std::vector<AffineExpr>&a = alignment_.instruction_access(one).index,
        &b = alignment_.instruction_access(other).index;
  std::vector<std::string> terms;
  for (std::size_t i = 0; i < a.size(); ++i) terms.push_back(equal(instruction_at(a[i], 1), instruction_at(b[i], 2)));
  return all(terms);
}

std::string QuestionWriter::same_element(int one, int other) {
  const Access &a = alignment_.access(one), &b = alignment_.access(other);
  if (a.tensor != b.tensor) return "false";
  std::vector<std::string> terms;
  for (std::size_t i = 0; i < a.index.size(); ++i) terms.push_back(equal(at(a.index[i], 1), at(b.index[i], 2)));
  return all(terms);
}

void QuestionWriter::tied_digits_differ(int k, std::size_t tied, std::size_t differs) {
  const auto& places = digit_steps_[tied].places;
  const auto at_place = [&](std::size_t p) { return p == 0 ? d(k, tied) : d(k, tied) + ".at" + std::to_string(p); };
  for (std::size_t p = 1; p < places.size(); ++p) {
    declare(at_place(p));
    require(within(at_place(p), digit_steps_[tied].extent));
  }
  require(negation(equal(at_place(differs), d(k, tied))));
  for (std::size_t w = 0; w < digit_steps_.size(); ++w) require(below(d(k, w), digit_size(w)));
  for (int m = 0; m < instruction_dim_count(); ++m) {
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

std::vector<std::string> QuestionWriter::terms_of(int k, int c, int dim, const std::string& without) const {
  std::vector<std::string> terms;
  const auto add = [&](std::int64_t step, const std::string& value) {
    if (step != 0 && value != without) terms.push_back(times(step, value));
  };
  for (std::size_t l = 0; l < loops_.size(); ++l) add(loops_[l].step[static_cast<std::size_t>(dim)], z(c, l));
  for (std::size_t w = 0; w < digit_steps_.size(); ++w)
    add(digit_steps_[w].column[static_cast<std::size_t>(dim)], d(k, w));
  return terms;
}

bool QuestionWriter::is_free(std::size_t d) const {
  const Dim& dim = dims()[d];
  int loops = 0;
  if (always_overwrites(*alignment_.hardware) && !uses(alignment_.computation().write, dim.name))
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

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#include "mapper/proof/certificate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "ir/start.h"
#include "isamap/result.h"
#include "mapper/proof/question_writer.h"
#include "mapper/proof/shared_operand.h"
#include "mapper/proof/value_question.h"
#include "support/arithmetic.h"

namespace isamap {
namespace {

/// `other`: the operand itself, or a second read of the same operand of the instruction.
Question soundness(QuestionWriter w, int operand, int other) {
  w.call(0);
  w.active(1, 0);
  w.active(2, 0);
  w.require(w.same_slot(operand, other));
  w.require(negation(w.same_element(operand, other)));
  const std::string which = operand == other ? "" : " and " + w.alignment().tensor_name(other) + ", one operand";
  return w.finish("S " + w.alignment().tensor_name(operand) + which +
                  ": two points of one call share a slot and differ in the element");
}

bool on_output(const Alignment& alignment, const DigitStep& digit_step) {
  return std::any_of(digit_step.places.begin(), digit_step.places.end(), [&](const DigitStep::Place& place) {
    return (alignment.instruction_uses[static_cast<std::size_t>(place.dim)] & 1U) != 0;
  });
}

Question partials(QuestionWriter w, bool partial) {
  w.call(0);
  w.active(1, 0);
  w.active(2, 0);
  w.require(w.same_element(0));
  w.require(negation(w.same_slot(0)));
  // Partial sums are distributed deliberately: only points of the same partial sum must share a slot.
  for (std::size_t l = 0; l < w.digit_steps().size(); ++l) {
    if (partial && is_invariant(w.alignment(), 0, w.digit_steps()[l].column) &&
        on_output(w.alignment(), w.digit_steps()[l]))
      w.require(equal(w.d(1, l), w.d(2, l)));
  }
  return w.finish("O: two points of one call share an element of " + w.alignment().tensor_name(0) +
                  " and differ in the slot");
}

const Padding* find(const std::vector<Padding>& reasons, const std::string& reason) {
  for (const Padding& padding : reasons)
    if (padding.reason == reason) return &padding;
  return nullptr;
}

/// The condition under which point k of call 0 is padding for this reason.
void pad(QuestionWriter& w, int k, const Padding& padding) {
  w.point(k, 0);
  if (padding.fill >= 0) {
    w.require("(<= " + w.digit_count(padding.fill) + " " + w.counter(0, k, padding.fill) + ")");
    return;
  }
  if (padding.tie >= 0)
    return w.tied_digits_differ(k, static_cast<std::size_t>(padding.tie), static_cast<std::size_t>(padding.place));
  w.require(w.counts(k, 0));
  w.require("(< " + w.at(padding.face, k) + " 0)");
}

int operand_of(const Alignment& alignment, int access) {
  const auto found = std::find(alignment.operands.begin(), alignment.operands.end(), access);
  return static_cast<int>(found - alignment.operands.begin());
}

/// A padding point and an active point in one slot of the carrier.
Question neutral(QuestionWriter w, const Padding& padding, const Carrier& carrier) {
  const int operand = operand_of(w.alignment(), carrier.access);
  w.call(0);
  pad(w, 1, padding);
  w.active(2, 0);
  w.require(w.same_slot(operand));
  return w.finish("N " + padding.reason + ": a padding point and an active point share a slot of " +
                  w.alignment().tensor_name(operand));
}

/// Values of the other inputs for which the term, with its constants in the inputs that carry the reason, is not the
/// identity of the reduction. A padding point where they have no constants that would do. Infinite identities (of max
/// and min) are no integers: there the body's structure alone decides.
Question vanishing(QuestionWriter w, const Padding& padding, const std::set<int>& operands) {
  const Computation& semantics = w.alignment().semantics();
  const std::vector<Annihilator> known = annihilators(semantics);
  const auto annihilator = std::find_if(known.begin(), known.end(), [&](const Annihilator& one) {
    return std::all_of(one.begin(), one.end(), [&](const auto& entry) { return operands.count(entry.first + 1) > 0; });
  });
  const std::string name = "K " + padding.reason + ": the constants of its carriers leave something of the term";
  if (annihilator == known.end()) {
    w.call(0);
    pad(w, 1, padding);
    return w.finish(name);
  }
  std::map<int, std::int64_t> constants;
  bool finite = semantics.reduction != Reduction::max && semantics.reduction != Reduction::min;
  for (const auto& [read, value] : *annihilator) {
    finite = finite && std::isfinite(value);
    if (finite) constants[read] = static_cast<std::int64_t>(value);
  }
  const auto term = finite ? integer_text(semantics.body, constants) : std::nullopt;
  if (!term) {
    w.require("false");
    return w.finish(name);
  }
  for (const int read : reads_of(semantics.body))
    if (constants.count(read) == 0) w.declare("v" + std::to_string(read));
  w.require(negation(equal(*term, semantics.reduction == Reduction::mul ? "1" : "0")));
  Question question = w.finish(name);
  question.logic = "QF_NIA";
  return question;
}

/// Every face that a digit can cross, and both ends of every dim.
std::vector<Padding> all_faces(const Alignment& alignment) {
  std::vector<Padding> faces;
  for (const AffineExpr& face : alignment.computation().domain.faces)
    faces.push_back({print(face) + ">=0", 0, -1, -1, 0, face});
  for (const Dim& dim : alignment.computation().domain.dims) {
    const AffineExpr x = AffineExpr::dim(dim.name);
    faces.push_back({dim.name + ">=0", 0, -1, -1, 0, x});
    faces.push_back({dim.name + "<=" + std::to_string(dim.extent - 1), 0, -1, -1, 0, AffineExpr(dim.extent - 1) - x});
  }
  return faces;
}

/// A point that is padding for a reason without a carrier.
Question complete(QuestionWriter w, const Mapping& mapping, const std::vector<Padding>& avoidable) {
  const auto carried = [&](const std::string& reason) {
    return std::any_of(mapping.carriers.begin(), mapping.carriers.end(),
                       [&](const Carrier& c) { return c.reason == reason; });
  };
  w.call(0);
  w.point(1, 0);
  std::vector<std::string> ways;
  for (int m = 0; m < w.instruction_dim_count(); ++m) {
    w.require("(<= 0 " + w.t(0, m) + ")");
    w.require("(< " + times(instruction_extent(w.alignment(), m), w.t(0, m)) + " " + w.digit_count(m) + ")");
    const std::string reason = "fill " + w.instruction_dims()[static_cast<std::size_t>(m)].name;
    if (!carried(reason) && find(avoidable, reason) == nullptr)
      ways.push_back("(<= " + w.digit_count(m) + " " + w.counter(0, 1, m) + ")");
  }
  for (const Padding& tie : fills(w.alignment(), w.digit_steps())) {
    if (tie.tie >= 0 && !carried(tie.reason)) ways.push_back("true");
  }
  for (const Padding& face : all_faces(w.alignment())) {
    const bool stepped = std::any_of(w.digit_steps().begin(), w.digit_steps().end(), [&](const DigitStep& digit_step) {
      for (const std::string& name : face.face.names()) {
        const int d = w.alignment().computation().domain.find(name);
        if (d >= 0 && digit_step.extent > 1 && digit_step.column[static_cast<std::size_t>(d)] != 0) return true;
      }
      return false;
    });
    if (!stepped || carried(face.reason)) continue;
    const int d = w.upper_end(face.face);
    const std::string beyond = d < 0 ? "(< " + w.at(face.face, 1) + " 0)" : "(<= " + w.size(d) + " " + w.x(1, d) + ")";
    ways.push_back(all({w.counts(1, 0), beyond}));
  }
  w.require(any(ways));
  w.active(2, 0);  // a call has at least one point
  return w.finish("N: a padding point of a call whose reason has no carrier");
}

/// Each call overwrites the output: the result of another call for the same element would be lost.
Question accumulation(QuestionWriter w) {
  w.call(1);
  w.call(2);
  w.active(1, 1);
  w.active(2, 2);
  w.require(w.same_element(0));
  std::vector<std::string> same;
  for (std::size_t l = 0; l < w.loops().size(); ++l) same.push_back(equal(w.z(1, l), w.z(2, l)));
  for (int m = 0; m < w.instruction_dim_count(); ++m) same.push_back(equal(w.t(1, m), w.t(2, m)));
  w.require(negation(all(same)));
  return w.finish("A: two calls write one element of " + w.alignment().tensor_name(0) + ", and each overwrites it");
}

Question injective(QuestionWriter w) {
  w.call(1);
  w.call(2);
  w.active(1, 1);
  w.active(2, 2);
  for (int i = 0; i < w.dim_count(); ++i) w.require(equal(w.x(1, i), w.x(2, i)));
  std::vector<std::string> same;
  for (std::size_t l = 0; l < w.loops().size(); ++l) same.push_back(equal(w.z(1, l), w.z(2, l)));
  for (int m = 0; m < w.instruction_dim_count(); ++m) {
    same.push_back(equal(w.t(1, m), w.t(2, m)));
    same.push_back(equal(w.y(1, m), w.y(2, m)));
  }
  w.require(negation(all(same)));
  return w.finish("C: one point of the statement in two places");
}

/// Digits and loops of one coordinate by stride; `value` is the variable.
struct Peel {
  std::int64_t stride = 1, extent = 1;
  std::string size, value;
  bool ranged = true;
};

std::vector<Peel> peels_of(const QuestionWriter& w, int dim, const Pivots& pivots) {
  const auto d = static_cast<std::size_t>(dim);
  std::vector<Peel> peels;
  for (std::size_t i = 0; i < w.digit_steps().size(); ++i) {
    if (pivots[i] == dim)
      peels.push_back({w.digit_steps()[i].column[d], w.digit_steps()[i].extent, w.digit_size(i), w.d(1, i), true});
  }
  for (std::size_t l = 0; l < w.loops().size(); ++l) {
    const Cover::Loop& loop = w.loops()[l];
    if (loop.step[d] != 0) peels.push_back({loop.step[d], loop.extent, w.loop_size(l), w.z(1, l), !loop.floating});
  }
  std::stable_sort(peels.begin(), peels.end(), [](const Peel& a, const Peel& b) { return a.stride < b.stride; });
  return peels;
}

/// Strides 1 | s2 | ... along every coordinate: then division with remainder finds values for any point. `tight`: and
/// each digit or loop below another has just the steps up to it.
bool is_recipe(const QuestionWriter& w, const Pivots& pivots, bool tight) {
  const bool unit_loops = std::all_of(w.loops().begin(), w.loops().end(), [](const Cover::Loop& loop) {
    return std::count_if(loop.step.begin(), loop.step.end(), [](std::int64_t x) { return x != 0; }) == 1;
  });
  if (!unit_loops) return false;
  for (int i = 0; i < w.dim_count(); ++i) {
    const std::vector<Peel> peels = peels_of(w, i, pivots);
    for (std::size_t p = 0; p < peels.size(); ++p) {
      if (peels[p].stride <= 0 || (p == 0 ? peels[p].stride != 1 : peels[p].stride % peels[p - 1].stride != 0))
        return false;
      if (tight && p > 0 && peels[p - 1].stride * peels[p - 1].extent != peels[p].stride) return false;
    }
  }
  return true;
}

/// Several pivots may fit; one with tight chains proves the cover if any does.
std::optional<Pivots> recipe_of(const QuestionWriter& w, bool tight) {
  std::optional<Pivots> chosen;
  some_pivots(w.digit_steps(), w.dims().size(), [&](const Pivots& pivots, const std::vector<int>&) {
    if (is_recipe(w, pivots, tight)) chosen = pivots;
    return chosen.has_value();
  });
  return chosen;
}

/// Division with remainder, coordinate by coordinate, always gives values; a point of the domain for which one of them
/// is out of range, or does not add up, is not covered. Where columns and loops span a lattice and a box of its cosets
/// instead, every point has its values by construction; loops that fit neither cover nothing.
Question covering(QuestionWriter w) {
  for (std::size_t l = 0; l < w.loops().size(); ++l) w.declare(w.z(1, l));
  for (std::size_t i = 0; i < w.digit_steps().size(); ++i) w.declare(w.d(1, i));
  for (int i = 0; i < w.dim_count(); ++i) w.declare(w.x(1, i));
  w.require(w.inside(1));
  const std::string name = "C: a point of the statement in no place";
  std::optional<Pivots> chosen = recipe_of(w, true);
  if (!chosen && covers_by_lattice(w.digit_steps(), w.loops(), w.dims().size())) {
    w.require("false");
    return w.finish(name);
  }
  if (!chosen) chosen = recipe_of(w, false);
  if (!chosen) return w.finish(name);  // no cover is known
  std::vector<std::string> misses;
  for (int i = 0; i < w.dim_count(); ++i) {
    const std::vector<Peel> peels = peels_of(w, i, *chosen);
    // By arithmetic the finest digit is the remainder of the coordinate. The question: does the printed mapping take
    // these values to the point?
    if (!peels.empty()) w.require(equal(peels.front().value, w.remainder(1, 1, i, peels.front().value)));
    misses.push_back(negation(equal(w.x(1, i), w.position(1, 1, i))));
    for (std::size_t p = 0; p < peels.size(); ++p) {
      if (p + 1 < peels.size()) w.require(within(peels[p].value, peels[p + 1].stride / peels[p].stride));
      if (peels[p].ranged) misses.push_back(negation(below(peels[p].value, peels[p].size)));
    }
  }
  w.require(any(misses));
  return w.finish(name);
}

std::vector<Question> questions(const QuestionWriter& writer, const Mapping& mapping) {
  const Alignment& alignment = writer.alignment();
  std::vector<Question> list;
  for (int t = 0; t < alignment.operand_count(); ++t) list.push_back(soundness(writer, t, t));
  for (const auto& [t, u] : shared_operands(alignment)) list.push_back(soundness(writer, t, u));
  list.push_back(partials(writer, mapping.kinds.count(Kind::partial) > 0));
  std::vector<Padding> known = all_faces(alignment), avoidable;
  for (Padding& fill : fills(alignment, writer.digit_steps())) {
    if (fill.avoidable) avoidable.push_back(fill);
    known.push_back(std::move(fill));
  }
  for (const Carrier& carrier : mapping.carriers) {
    if (const Padding* padding = find(known, carrier.reason)) list.push_back(neutral(writer, *padding, carrier));
  }
  std::map<std::string, std::set<int>> carriers;
  for (const Carrier& carrier : mapping.carriers)
    carriers[carrier.reason].insert(operand_of(alignment, carrier.access));
  for (const auto& [reason, operands] : carriers)
    if (const Padding* padding = find(known, reason); padding != nullptr && operands.count(0) == 0)
      list.push_back(vanishing(writer, *padding, operands));
  list.push_back(complete(writer, mapping, avoidable));
  list.push_back(injective(writer));
  list.push_back(covering(writer));
  if (always_overwrites(*alignment.hardware)) list.push_back(accumulation(writer));
  return list;
}

}  // namespace

Certificate certify(const Alignment& alignment, const Mapping& mapping) {
  Certificate certificate{{}, questions(QuestionWriter(alignment, mapping), mapping)};
  if (alignment.exact)
    for (const Loss& cast : alignment.exact->fitting)
      certificate.questions.push_back(value_question(*alignment.exact, cast));
  return certificate;
}

Certificate certify_open(const Alignment& alignment, const Mapping& mapping, const OpenQuestions& open) {
  const QuestionWriter writer(alignment, mapping);
  Certificate certificate;
  for (int t = 0; t < alignment.operand_count(); ++t)
    if ((open.sound >> t & 1U) != 0) certificate.questions.push_back(soundness(writer, t, t));
  if (open.shared)
    for (const auto& [t, u] : shared_operands(alignment)) certificate.questions.push_back(soundness(writer, t, u));
  if (open.partials) certificate.questions.push_back(partials(writer, mapping.kinds.count(Kind::partial) > 0));
  if (open.sums) certificate.questions.push_back(accumulation(writer));
  return certificate;
}

Certificate certify_any_size(const Alignment& alignment, const Mapping& mapping) {
  QuestionWriter writer(alignment, mapping);
  if (!writer.free_sizes(mapping)) return {};
  Certificate certificate{{"any size of " + writer.free_names()}, questions(writer, mapping)};
  return certificate;
}

Certificate certify_sizes(const Alignment& alignment, const Mapping& mapping, const std::vector<std::string>& sizes,
                          const std::string& declarations, std::size_t& fused) {
  QuestionWriter writer(alignment, mapping);
  if (!writer.symbolic_sizes(sizes, declarations, fused)) return {};
  return {{}, questions(writer, mapping)};
}

std::string print(const Certificate& certificate) {
  std::string text;
  for (const std::string& comment : certificate.comments) text += "; " + comment + "\n";
  for (const Question& question : certificate.questions) {
    text +=
        "\n; " + question.name + "\n(reset)\n(set-logic " + question.logic + ")\n" + question.text + "(check-sat)\n";
  }
  return text;
}

}  // namespace isamap

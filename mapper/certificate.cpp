#include "mapper/certificate.h"

#include <algorithm>
#include <map>
#include <set>

#include "mapper/value_question.h"
#include "support/arithmetic.h"
#include "support/check.h"

namespace isamap {
namespace {

std::string number(std::int64_t n) { return n < 0 ? "(- " + std::to_string(-n) + ")" : std::to_string(n); }

std::string list(const std::string& op, const std::vector<std::string>& terms, const std::string& none) {
  if (terms.empty()) return none;
  if (terms.size() == 1) return terms[0];
  std::string text = "(" + op;
  for (const std::string& term : terms) text += " " + term;
  return text + ")";
}
std::string sum(const std::vector<std::string>& terms) { return list("+", terms, "0"); }
std::string all(const std::vector<std::string>& terms) { return list("and", terms, "true"); }
std::string any(const std::vector<std::string>& terms) { return list("or", terms, "false"); }
std::string times(std::int64_t factor, const std::string& x) {
  return factor == 1 ? x : "(* " + number(factor) + " " + x + ")";
}
std::string equal(const std::string& a, const std::string& b) { return "(= " + a + " " + b + ")"; }
std::string below(const std::string& x, const std::string& size) {
  return "(and (<= 0 " + x + ") (< " + x + " " + size + "))";
}
std::string within(const std::string& x, std::int64_t extent) { return "(<= 0 " + x + " " + number(extent - 1) + ")"; }
std::string negation(const std::string& x) { return "(not " + x + ")"; }

/// The text of one question.
class Writer {
 public:
  Writer(const Alignment& alignment, const Mapping& mapping)
      : alignment_(alignment), walkers_(*walkers_of(alignment, mapping.dims)) {
    for (const ResidualLoop& loop : mapping.loops) {
      IntVector step;
      for (const Dim& dim : dims()) step.push_back(loop.step.coefficient(dim.name));
      loops_.push_back({std::move(step), loop.extent, loop.floating});
    }
    free_.assign(dims().size(), false);
  }

  /// From here on dims that one whole digit or loop walks have any size: a symbol, for which fills without a carrier
  /// divide. False: there are none.
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
      if (carried || walked(m) == number(walked_extent(walkers_, m))) continue;
      declare("whole." + std::to_string(m));
      require(equal(walked(m), times(unit_extent(alignment_, m), "whole." + std::to_string(m))));
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
    const int d = free_dim(walkers_[w].column);
    return d >= 0 ? size(d) : number(walkers_[w].extent);
  }
  std::string loop_size(std::size_t l) const {
    const int d = free_dim(loops_[l].step);
    return d >= 0 ? size(d) : number(loops_[l].extent);
  }
  /// Product of the digits of an instruction dim; the outermost may be free.
  std::string walked(int m) const {
    for (std::size_t w = 0; w < walkers_.size(); ++w) {
      const Walker::Place* place = walkers_[w].on(m);
      if (place != nullptr && free_dim(walkers_[w].column) >= 0) return times(place->weight, digit_size(w));
    }
    return number(walked_extent(walkers_, m));
  }

  const std::vector<Walker>& walkers() const { return walkers_; }
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
    for (std::size_t w = 0; w < walkers_.size(); ++w) declare(d(k, w));
    for (int i = 0; i < dim_count(); ++i) {
      declare(x(k, i));
      require(equal(x(k, i), position(k, c, i)));
    }
  }

  std::string position(int k, int c, int dim) const {
    std::vector<std::string> terms;
    for (std::size_t l = 0; l < loops_.size(); ++l) {
      const std::int64_t step = loops_[l].step[static_cast<std::size_t>(dim)];
      if (step != 0) terms.push_back(times(step, z(c, l)));
    }
    for (std::size_t w = 0; w < walkers_.size(); ++w) {
      const std::int64_t step = walkers_[w].column[static_cast<std::size_t>(dim)];
      if (step != 0) terms.push_back(times(step, d(k, w)));
    }
    return sum(terms);
  }

  std::string counter(int c, int k, int m) const {
    return "(+ " + times(unit_extent(alignment_, m), t(c, m)) + " " + y(k, m) + ")";
  }
  std::string counted(int k, int m) const {
    std::vector<std::string> terms;
    for (std::size_t w = 0; w < walkers_.size(); ++w) {
      if (const Walker::Place* place = walkers_[w].on(m)) terms.push_back(times(place->weight, d(k, w)));
    }
    return sum(terms);
  }
  /// The digits are in range and spell the counters: y is not filled up.
  std::string counts(int k, int c) const {
    std::vector<std::string> terms;
    for (std::size_t w = 0; w < walkers_.size(); ++w) terms.push_back(below(d(k, w), digit_size(w)));
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

  std::string same_slot(int operand) {
    std::vector<std::string> terms;
    for (const AffineExpr& e : alignment_.unit_access(operand).index)
      terms.push_back(equal(unit_at(e, 1), unit_at(e, 2)));
    return all(terms);
  }
  std::string same_element(int operand) {
    std::vector<std::string> terms;
    for (const AffineExpr& e : alignment_.access(operand).index) terms.push_back(equal(at(e, 1), at(e, 2)));
    return all(terms);
  }

  /// A point whose counters spell digits that differ on the places of one tied walker. The second place has a digit of
  /// its own; all others agree.
  void torn(int k, std::size_t tied) {
    const std::string other = d(k, tied) + ".other";
    declare(other);
    require(within(other, walkers_[tied].extent));
    require(negation(equal(other, d(k, tied))));
    for (std::size_t w = 0; w < walkers_.size(); ++w) require(below(d(k, w), digit_size(w)));
    for (int m = 0; m < unit_dim_count(); ++m) {
      std::vector<std::string> terms;
      for (std::size_t w = 0; w < walkers_.size(); ++w) {
        const Walker::Place* place = walkers_[w].on(m);
        if (place == nullptr) continue;
        const bool second = w == tied && place != &walkers_[w].places.front();
        terms.push_back(times(place->weight, second ? other : d(k, w)));
      }
      require(equal(counter(0, k, m), sum(terms)));
    }
  }

 private:
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

  /// Is it walked by one whole digit, outermost on its dim, or by one whole loop, and in no face?
  bool is_free(std::size_t d) const {
    const Dim& dim = dims()[d];
    int walks = 0;
    for (const AffineExpr& face : alignment_.computation().domain.faces)
      if (face.names().count(dim.name) > 0) return false;
    for (const Walker& w : walkers_) {
      if (w.column[d] == 0) continue;
      if (++walks > 1 || !is_unit(w.column, d) || w.extent != dim.extent || w.places.size() != 1) return false;
      if (w.places[0].weight * w.extent != walked_extent(walkers_, w.places[0].dim)) return false;
    }
    for (const Cover::Loop& loop : loops_) {
      if (loop.step[d] == 0) continue;
      if (++walks > 1 || !is_unit(loop.step, d) || loop.extent != dim.extent || loop.floating) return false;
    }
    return walks == 1 && dim.extent > 1;
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
  std::vector<Walker> walkers_;
  std::vector<bool> free_;  // dims of any size
  std::string text_;
  int quotients_ = 0;
};

Question soundness(Writer w, int operand) {
  w.call(0);
  w.active(1, 0);
  w.active(2, 0);
  w.require(w.same_slot(operand));
  w.require(negation(w.same_element(operand)));
  return w.finish("S " + w.alignment().tensor_name(operand) +
                  ": two points of one call share a slot and differ in the element");
}

bool on_output(const Alignment& alignment, const Walker& walker) {
  return std::any_of(walker.places.begin(), walker.places.end(), [&](const Walker::Place& place) {
    return (alignment.unit_uses[static_cast<std::size_t>(place.dim)] & 1U) != 0;
  });
}

Question partials(Writer w, bool partial) {
  w.call(0);
  w.active(1, 0);
  w.active(2, 0);
  w.require(w.same_element(0));
  w.require(negation(w.same_slot(0)));
  // Partial sums are spread on purpose: only points with the same share of the sum have to meet.
  for (std::size_t l = 0; l < w.walkers().size(); ++l) {
    if (partial && stands_still(w.alignment(), 0, w.walkers()[l].column) && on_output(w.alignment(), w.walkers()[l]))
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

/// What makes point k of call 0 padding for this reason.
void pad(Writer& w, int k, const Padding& padding) {
  w.point(k, 0);
  if (padding.fill >= 0) {
    w.require("(<= " + w.walked(padding.fill) + " " + w.counter(0, k, padding.fill) + ")");
    return;
  }
  if (padding.tie >= 0) return w.torn(k, static_cast<std::size_t>(padding.tie));
  w.require(w.counts(k, 0));
  w.require("(< " + w.at(padding.face, k) + " 0)");
}

int operand_of(const Alignment& alignment, int access) {
  const auto found = std::find(alignment.operands.begin(), alignment.operands.end(), access);
  return static_cast<int>(found - alignment.operands.begin());
}

/// A padding point and an active point in one slot of the carrier.
Question neutral(Writer w, const Padding& padding, const Carrier& carrier) {
  const int operand = operand_of(w.alignment(), carrier.access);
  w.call(0);
  pad(w, 1, padding);
  w.active(2, 0);
  w.require(w.same_slot(operand));
  return w.finish("N " + padding.reason + ": a padding point and an active point share a slot of " +
                  w.alignment().tensor_name(operand));
}

/// Do the inputs that carry a reason make the term vanish? By the body alone: 0 in a factor, both sides of a distance.
Question vanishing(Writer w, const std::string& reason, const std::set<int>& operands) {
  const std::vector<Kill> known = kills(w.alignment().unit());
  const bool vanishes = std::any_of(known.begin(), known.end(), [&](const Kill& kill) {
    return std::all_of(kill.begin(), kill.end(),
                       [&](const auto& entry) { return operands.count(entry.first + 1) > 0; });
  });
  w.require(vanishes ? "false" : "true");
  return w.finish("K " + reason + ": the constants of its carriers leave something of the term");
}

/// Every face that a digit can cross, and both ends of every dim.
std::vector<Padding> all_faces(const Alignment& alignment) {
  std::vector<Padding> faces;
  for (const AffineExpr& face : alignment.computation().domain.faces)
    faces.push_back({print(face) + ">=0", 0, -1, -1, face});
  for (const Dim& dim : alignment.computation().domain.dims) {
    const AffineExpr x = AffineExpr::dim(dim.name);
    faces.push_back({dim.name + ">=0", 0, -1, -1, x});
    faces.push_back({dim.name + "<=" + std::to_string(dim.extent - 1), 0, -1, -1, AffineExpr(dim.extent - 1) - x});
  }
  return faces;
}

/// A point that is padding for a reason that no carrier is named for.
Question complete(Writer w, const Mapping& mapping, const std::vector<Padding>& avoidable) {
  const auto carried = [&](const std::string& reason) {
    return std::any_of(mapping.carriers.begin(), mapping.carriers.end(),
                       [&](const Carrier& c) { return c.reason == reason; });
  };
  w.call(0);
  w.point(1, 0);
  std::vector<std::string> ways;
  for (int m = 0; m < w.unit_dim_count(); ++m) {
    w.require("(<= 0 " + w.t(0, m) + ")");
    w.require("(< " + times(unit_extent(w.alignment(), m), w.t(0, m)) + " " + w.walked(m) + ")");
    const std::string reason = "fill " + w.unit_dims()[static_cast<std::size_t>(m)].name;
    if (!carried(reason) && find(avoidable, reason) == nullptr)
      ways.push_back("(<= " + w.walked(m) + " " + w.counter(0, 1, m) + ")");
  }
  for (const Padding& tie : fills(w.alignment(), w.walkers())) {
    if (tie.tie >= 0 && !carried(tie.reason)) ways.push_back("true");
  }
  for (const Padding& face : all_faces(w.alignment())) {
    const bool walked = std::any_of(w.walkers().begin(), w.walkers().end(), [&](const Walker& walker) {
      for (const std::string& name : face.face.names()) {
        const int d = w.alignment().computation().domain.find(name);
        if (d >= 0 && walker.extent > 1 && walker.column[static_cast<std::size_t>(d)] != 0) return true;
      }
      return false;
    });
    if (!walked || carried(face.reason)) continue;
    const int d = w.upper_end(face.face);
    const std::string beyond = d < 0 ? "(< " + w.at(face.face, 1) + " 0)" : "(<= " + w.size(d) + " " + w.x(1, d) + ")";
    ways.push_back(all({w.counts(1, 0), beyond}));
  }
  w.require(any(ways));
  return w.finish("N: a padding point whose reason has no carrier");
}

Question injective(Writer w) {
  w.call(1);
  w.call(2);
  w.active(1, 1);
  w.active(2, 2);
  for (int i = 0; i < w.dim_count(); ++i) w.require(equal(w.x(1, i), w.x(2, i)));
  std::vector<std::string> same;
  for (std::size_t l = 0; l < w.loops().size(); ++l) same.push_back(equal(w.z(1, l), w.z(2, l)));
  for (int m = 0; m < w.unit_dim_count(); ++m) {
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

std::vector<Peel> peels_of(const Writer& w, int dim, const Pivots& pivots) {
  const auto d = static_cast<std::size_t>(dim);
  std::vector<Peel> peels;
  for (std::size_t i = 0; i < w.walkers().size(); ++i) {
    if (pivots[i] == dim)
      peels.push_back({w.walkers()[i].column[d], w.walkers()[i].extent, w.digit_size(i), w.d(1, i), true});
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
bool is_recipe(const Writer& w, const Pivots& pivots, bool tight) {
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

/// Several pivots may fit; one whose chains are tight proves the cover if any does.
std::optional<Pivots> recipe_of(const Writer& w, bool tight) {
  std::optional<Pivots> chosen;
  some_pivots(w.walkers(), w.dims().size(), [&](const Pivots& pivots, const std::vector<int>&) {
    if (is_recipe(w, pivots, tight)) chosen = pivots;
    return chosen.has_value();
  });
  return chosen;
}

/// Division with remainder, coordinate by coordinate, always gives values; a point of the domain for which one of them
/// is out of range, or does not add up, is not covered. Where columns and loops span a lattice and a box of its cosets
/// instead, every point has its values by construction; loops that fit neither cover nothing.
Question covering(Writer w) {
  for (std::size_t l = 0; l < w.loops().size(); ++l) w.declare(w.z(1, l));
  for (std::size_t i = 0; i < w.walkers().size(); ++i) w.declare(w.d(1, i));
  for (int i = 0; i < w.dim_count(); ++i) w.declare(w.x(1, i));
  w.require(w.inside(1));
  const std::string name = "C: a point of the statement in no place";
  std::optional<Pivots> chosen = recipe_of(w, true);
  if (!chosen && covers_by_lattice(w.walkers(), w.loops(), w.dims().size())) {
    w.require("false");
    return w.finish(name);
  }
  if (!chosen) chosen = recipe_of(w, false);
  if (!chosen) return w.finish(name);  // nothing says that points have a place
  std::vector<std::string> misses;
  for (int i = 0; i < w.dim_count(); ++i) {
    const std::vector<Peel> peels = peels_of(w, i, *chosen);
    const std::string walked = equal(w.x(1, i), w.position(1, 1, i));
    if (peels.empty())
      misses.push_back(negation(walked));
    else
      w.require(walked);
    for (std::size_t p = 0; p < peels.size(); ++p) {
      if (p + 1 < peels.size()) w.require(within(peels[p].value, peels[p + 1].stride / peels[p].stride));
      if (peels[p].ranged) misses.push_back(negation(below(peels[p].value, peels[p].size)));
    }
  }
  w.require(any(misses));
  return w.finish(name);
}

std::vector<Question> questions(const Writer& writer, const Mapping& mapping) {
  const Alignment& alignment = writer.alignment();
  std::vector<Question> list;
  for (int t = 0; t < alignment.operand_count(); ++t) list.push_back(soundness(writer, t));
  list.push_back(partials(writer, mapping.kinds.count(Kind::partial) > 0));
  std::vector<Padding> known = all_faces(alignment), avoidable;
  for (Padding& fill : fills(alignment, writer.walkers())) {
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
    if (operands.count(0) == 0) list.push_back(vanishing(writer, reason, operands));
  list.push_back(complete(writer, mapping, avoidable));
  list.push_back(injective(writer));
  list.push_back(covering(writer));
  return list;
}

}  // namespace

Certificate certify(const Alignment& alignment, const Mapping& mapping) {
  Certificate certificate{{}, questions(Writer(alignment, mapping), mapping)};
  if (alignment.exact)
    for (const Loss& held : alignment.exact->held)
      certificate.questions.push_back(value_question(*alignment.exact, held));
  return certificate;
}

Certificate certify_any_size(const Alignment& alignment, const Mapping& mapping) {
  Writer writer(alignment, mapping);
  if (!writer.free_sizes(mapping)) return {};
  Certificate certificate{{"any size of " + writer.free_names()}, questions(writer, mapping)};
  return certificate;
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

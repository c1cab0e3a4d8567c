#include "mapper/certificate.h"

#include <algorithm>

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
std::string within(const std::string& x, std::int64_t extent) { return "(<= 0 " + x + " " + number(extent - 1) + ")"; }
std::string negation(const std::string& x) { return "(not " + x + ")"; }

/// The text of one question.
class Writer {
 public:
  Writer(const Alignment& alignment, const Mapping& mapping, const std::vector<ResidualLoop>& loops)
      : alignment_(alignment), loops_(loops), walkers_(*walkers_of(alignment, mapping.dims)) {}

  const std::vector<Walker>& walkers() const { return walkers_; }
  const std::vector<ResidualLoop>& loops() const { return loops_; }
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
      if (!floats(l)) require(within(z(c, l), loops_[l].extent));
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
      if (loops_[l].dim == dim) terms.push_back(times(loops_[l].stride, z(c, l)));
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
      if (walkers_[w].dim == m) terms.push_back(times(walkers_[w].weight, d(k, w)));
    }
    return sum(terms);
  }
  /// The digits are in range and spell the counters: y is not filled up.
  std::string counts(int k, int c) const {
    std::vector<std::string> terms;
    for (std::size_t w = 0; w < walkers_.size(); ++w) terms.push_back(within(d(k, w), walkers_[w].extent));
    for (int m = 0; m < unit_dim_count(); ++m) terms.push_back(equal(counter(c, k, m), counted(k, m)));
    return all(terms);
  }
  std::string inside(int k) {
    std::vector<std::string> terms;
    for (int i = 0; i < dim_count(); ++i) terms.push_back(within(x(k, i), dims()[static_cast<std::size_t>(i)].extent));
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

  /// Does a column of another chain move this loop's coordinate, so that the loop has no fixed first value?
  bool floats(std::size_t loop) const {
    const auto dim = static_cast<std::size_t>(loops_[loop].dim);
    const bool top = std::none_of(loops_.begin(), loops_.end(), [&](const ResidualLoop& other) {
      return other.dim == loops_[loop].dim && other.stride > loops_[loop].stride;
    });
    return top && std::any_of(walkers_.begin(), walkers_.end(), [&](const Walker& w) {
             return w.column[dim] != 0 &&
                    std::count_if(w.column.begin(), w.column.end(), [](std::int64_t v) { return v != 0; }) > 1;
           });
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

  const Alignment& alignment_;
  const std::vector<ResidualLoop>& loops_;
  std::vector<Walker> walkers_;
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

Question partials(Writer w) {
  w.call(0);
  w.active(1, 0);
  w.active(2, 0);
  w.require(w.same_element(0));
  w.require(negation(w.same_slot(0)));
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
    w.require("(<= " + number(walked_extent(w.walkers(), padding.fill)) + " " + w.counter(0, k, padding.fill) + ")");
    return;
  }
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

/// Every face that a digit can cross, and both ends of every dim.
std::vector<Padding> all_faces(const Alignment& alignment) {
  std::vector<Padding> faces;
  for (const AffineExpr& face : alignment.computation().domain.faces)
    faces.push_back({print(face) + ">=0", 0, -1, face});
  for (const Dim& dim : alignment.computation().domain.dims) {
    const AffineExpr x = AffineExpr::dim(dim.name);
    faces.push_back({dim.name + ">=0", 0, -1, x});
    faces.push_back({dim.name + "<=" + std::to_string(dim.extent - 1), 0, -1, AffineExpr(dim.extent - 1) - x});
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
    const std::int64_t walked = walked_extent(w.walkers(), m), extent = unit_extent(w.alignment(), m);
    w.require(within(w.t(0, m), ceil_div(walked, extent)));
    const std::string reason = "fill " + w.unit_dims()[static_cast<std::size_t>(m)].name;
    if (!carried(reason) && find(avoidable, reason) == nullptr)
      ways.push_back("(<= " + number(walked) + " " + w.counter(0, 1, m) + ")");
  }
  for (const Padding& face : all_faces(w.alignment())) {
    const bool walked = std::any_of(w.walkers().begin(), w.walkers().end(), [&](const Walker& walker) {
      for (const std::string& name : face.face.names()) {
        const int d = w.alignment().computation().domain.find(name);
        if (d >= 0 && walker.extent > 1 && walker.column[static_cast<std::size_t>(d)] != 0) return true;
      }
      return false;
    });
    if (walked && !carried(face.reason)) ways.push_back(all({w.counts(1, 0), "(< " + w.at(face.face, 1) + " 0)"}));
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
  std::int64_t stride, extent;
  std::string value;
  bool ranged;
};

std::vector<Peel> peels_of(const Writer& w, int dim, const std::vector<int>& pivots) {
  std::vector<Peel> peels;
  for (std::size_t i = 0; i < w.walkers().size(); ++i) {
    if (pivots[i] == dim)
      peels.push_back({w.walkers()[i].column[static_cast<std::size_t>(dim)], w.walkers()[i].extent, w.d(1, i), true});
  }
  for (std::size_t l = 0; l < w.loops().size(); ++l) {
    if (w.loops()[l].dim == dim) peels.push_back({w.loops()[l].stride, w.loops()[l].extent, w.z(1, l), !w.floats(l)});
  }
  std::stable_sort(peels.begin(), peels.end(), [](const Peel& a, const Peel& b) { return a.stride < b.stride; });
  return peels;
}

/// Division with remainder, coordinate by coordinate, always gives values; a point of the domain for which one of them
/// is out of range, or does not add up, is not covered. Strides that do not divide each other give no such recipe.
Question covering(Writer w) {
  for (std::size_t l = 0; l < w.loops().size(); ++l) w.declare(w.z(1, l));
  for (std::size_t i = 0; i < w.walkers().size(); ++i) w.declare(w.d(1, i));
  for (int i = 0; i < w.dim_count(); ++i) w.declare(w.x(1, i));
  w.require(w.inside(1));
  const auto pivots = pivots_of(w.walkers(), w.dim_count());
  bool recipe = pivots.has_value();
  std::vector<std::string> misses;
  for (int i = 0; i < w.dim_count() && recipe; ++i) {
    const std::vector<Peel> peels = peels_of(w, i, *pivots);
    const std::string walked = equal(w.x(1, i), w.position(1, 1, i));
    if (peels.empty())
      misses.push_back(negation(walked));
    else
      w.require(walked);
    for (std::size_t p = 0; p < peels.size(); ++p) {
      if (p == 0) recipe = recipe && peels[p].stride == 1;
      if (p + 1 < peels.size()) {
        recipe = recipe && peels[p + 1].stride % peels[p].stride == 0;
        w.require(within(peels[p].value, peels[p + 1].stride / peels[p].stride));
      }
      if (peels[p].ranged) misses.push_back(negation(within(peels[p].value, peels[p].extent)));
    }
  }
  w.require(recipe ? any(misses) : "true");
  return w.finish("C: a point of the statement in no place");
}

}  // namespace

std::vector<ResidualLoop> residual_loops(const Cover& cover) {
  std::vector<ResidualLoop> loops;
  for (const Chain& chain : cover) {
    for (const ChainLink& link : chain.links)
      if (link.walker < 0) loops.push_back({chain.pivot, link.stride, link.extent});
  }
  return loops;
}

Certificate certify(const Alignment& alignment, const Mapping& mapping, const std::vector<ResidualLoop>& loops) {
  const Writer writer(alignment, mapping, loops);
  Certificate certificate;
  for (int t = 0; t < alignment.operand_count(); ++t) certificate.questions.push_back(soundness(writer, t));
  if (mapping.kinds.count(Kind::partial) == 0) certificate.questions.push_back(partials(writer));
  std::vector<Padding> known = all_faces(alignment), avoidable;
  for (Padding& fill : fills(alignment, writer.walkers())) {
    if (fill.avoidable) avoidable.push_back(fill);
    known.push_back(std::move(fill));
  }
  for (const Carrier& carrier : mapping.carriers) {
    if (const Padding* padding = find(known, carrier.reason))
      certificate.questions.push_back(neutral(writer, *padding, carrier));
  }
  certificate.questions.push_back(complete(writer, mapping, avoidable));
  certificate.questions.push_back(injective(writer));
  certificate.questions.push_back(covering(writer));
  return certificate;
}

Certificate certify(const Alignment& alignment, const Mapping& mapping) {
  const auto walkers = walkers_of(alignment, mapping.dims);
  const auto cover = walkers ? exact_cover(alignment, *walkers) : std::nullopt;
  ISAMAP_CHECK(cover.has_value(), "a mapping without an exact cover was listed");
  return certify(alignment, mapping, residual_loops(*cover));
}

std::string print(const Certificate& certificate) {
  std::string text;
  for (const std::string& comment : certificate.comments) text += "; " + comment + "\n";
  for (const Question& question : certificate.questions) {
    text += "\n; " + question.name + "\n(reset)\n(set-logic QF_LIA)\n" + question.text + "(check-sat)\n";
  }
  return text;
}

}  // namespace isamap

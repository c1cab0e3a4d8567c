// SPDX-License-Identifier: Apache-2.0
#include "frontends/lifted_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "ir/symbolic/facts.h"
#include "support/arithmetic.h"

namespace isamap {
namespace {

constexpr std::int64_t most_remainder = 4;   ///< strides of windows that keep a size
constexpr std::int64_t most_divisor = 64;    ///< of strided windows, one behind the other
constexpr std::int64_t most_scanned = 2048;  ///< values of a size at which quotients are compared

/// A place where the samples do not agree.
struct NotLifted {
  std::string why;
};

/// The lifted one of `x / n` and `x * (1 / n)`.
ScalarExpr* divisor_of(ScalarExpr& e) {
  const auto is = [](const ScalarExpr& of, BinaryOp op) { return of.op == decltype(of.op)(Binary{op}); };
  if (is(e, BinaryOp::div)) return &e.args[1];
  return is(e, BinaryOp::mul) && is(e.args[1], BinaryOp::div) ? &e.args[1].args[1] : nullptr;
}

/// The statement before `s` whose sum is divided by the number of its terms at all samples. The mean of nothing is 0 /
/// 1 (frontends/onnx/rows.cpp).
std::optional<std::size_t> sum_by_its_terms(const std::vector<KernelAt>& samples, std::size_t s,
                                            const std::vector<const ScalarExpr*>& quotients) {
  const std::vector<Computation>& statements = samples[0].kernel->statements;
  const std::vector<int> read = reads_of(quotients[0]->args[0]);
  if (read.size() != 1 || read[0] >= static_cast<int>(statements[s].reads.size())) return std::nullopt;
  const TensorId sum = statements[s].reads[static_cast<std::size_t>(read[0])].tensor;
  while (s > 0 && statements[s - 1].write.tensor != sum) --s;
  if (s-- == 0 || statements[s].reduction != Reduction::add) return std::nullopt;
  for (std::size_t n = 0; n < samples.size(); ++n) {
    double terms = 1;
    for (const Dim& dim : samples[n].kernel->statements[s].domain.dims)
      if (dim.kind == DimKind::reduction) terms *= static_cast<double>(dim.extent);
    const auto* divisor = std::get_if<Constant>(&quotients[n]->args[1].op);
    const bool counts = divisor != nullptr && (divisor->value == terms || std::abs(divisor->value * terms - 1) < 1e-6);
    if (!counts) return std::nullopt;
  }
  return s;
}

class SampleLifter {
 public:
  SampleLifter(const std::vector<KernelAt>& samples, SizeFit& fit) : samples_(samples), fit_(fit) {}

  SymbolicKernel lift(const SizeFacts& facts) {
    SymbolicKernel made;
    made.sample = first();
    made.at = samples_[0].sizes;
    made.facts = facts_ = facts;
    for (const KernelAt& one : samples_)
      if (one.kernel->tensors.size() != first().tensors.size() ||
          one.kernel->statements.size() != first().statements.size() ||
          one.kernel->repeats.size() != first().repeats.size())
        throw NotLifted{"its statements are others at other sizes"};
    for (const auto& [name, value] : first().sizes)
      made.sizes[name] = number("size " + name, [&](const Kernel& k) { return k.sizes.at(name); });
    for (std::size_t t = 0; t < first().tensors.size(); ++t) tensor(t, made);
    for (std::size_t s = 0; s < first().statements.size(); ++s)
      lifted_.push_back(statement(s, made.sample.statements[s]));
    made.statements = std::move(lifted_);
    for (std::size_t r = 0; r < first().repeats.size(); ++r)
      made.steps.push_back(number("the steps of a recurrence", [&](const Kernel& k) { return k.repeats[r].steps; }));
    return made;
  }

 private:
  const Kernel& first() const { return *samples_[0].kernel; }

  template <class Get>
  AffineExpr number(const std::string& what, const Get& get) {
    std::vector<std::int64_t> values;
    for (const KernelAt& one : samples_) values.push_back(get(*one.kernel));
    if (auto e = fit_.fit(values)) return std::move(*e);
    throw NotLifted{fmt::format("{} is no affine expression of the sizes, as {} and {} show", what, values[0],
                                *std::find_if(values.begin(), values.end(), [&](auto v) { return v != values[0]; }))};
  }

  /// A value beyond the shape that is read at some sizes only, such as those that a window does not divide, is there at
  /// all of them. Nothing where none is.
  template <class Get>
  std::optional<double> outside(const std::string& what, const Get& get) const {
    std::optional<double> found;
    for (const KernelAt& one : samples_) {
      const std::optional<double> value = get(*one.kernel);
      if (found && value && *found != *value) throw NotLifted{what + " has another value outside at other sizes"};
      if (value) found = value;
    }
    return found;
  }

  void tensor(std::size_t t, SymbolicKernel& made) {
    Tensor& tensor = made.sample.tensors[t];
    tensor.outside = outside("tensor " + tensor.name, [&](const Kernel& k) { return k.tensors[t].outside; });
    for (const KernelAt& one : samples_) {
      Tensor other = one.kernel->tensors[t];
      other.outside = tensor.outside;
      if (other.shape.size() == tensor.shape.size()) other.shape = tensor.shape;
      if (other.strides.size() == tensor.strides.size()) other.strides = tensor.strides;
      if (other != tensor) throw NotLifted{"tensor " + tensor.name + " is another one at other sizes"};
    }
    auto& shape = made.shapes.emplace_back();
    auto& strides = made.strides.emplace_back();
    for (std::size_t d = 0; d < tensor.shape.size(); ++d)
      shape.push_back(
          number(fmt::format("axis {} of {}", d, tensor.name), [&](const Kernel& k) { return k.tensors[t].shape[d]; }));
    for (std::size_t d = 0; d < tensor.strides.size(); ++d)
      strides.push_back(number("a stride of " + tensor.name, [&](const Kernel& k) { return k.tensors[t].strides[d]; }));
  }

  SymbolicStatement statement(std::size_t s, Computation& sample) {
    const auto of = [s](const Kernel& k) -> const Computation& { return k.statements[s]; };
    name_ = sample.name;
    for (const KernelAt& one : samples_) check_alike(sample, of(*one.kernel));
    for (std::size_t r = 0; r < sample.reads.size(); ++r)
      sample.reads[r].outside = outside(name_, [&](const Kernel& k) { return of(k).reads[r].outside; });
    SymbolicStatement made;
    for (std::size_t d = 0; d < sample.domain.dims.size(); ++d)
      made.extents.push_back(number(fmt::format("{}: the extent of {}", name_, sample.domain.dims[d].name),
                                    [&](const Kernel& k) { return of(k).domain.dims[d].extent; }));
    for (int a = 0; a < access_count(sample); ++a) {
      auto& index = made.index.emplace_back();
      for (std::size_t d = 0; d < access_of(sample, a).index.size(); ++d)
        index.push_back(expression(of, [&](const Computation& c) { return access_of(c, a).index[d]; }));
    }
    for (std::size_t v = 0; v < sample.values.size(); ++v)
      made.values.push_back(expression(of, [&](const Computation& c) { return c.values[v]; }));
    std::vector<const ScalarExpr*> bodies;
    for (const KernelAt& one : samples_) bodies.push_back(&of(*one.kernel).body);
    const ScalarExpr body = this->body(bodies, sample, made);
    sample.body = body;
    return made;
  }

  void check_alike(const Computation& a, const Computation& b) const {
    bool alike = a.name == b.name && a.reduction == b.reduction && a.reads.size() == b.reads.size() &&
                 a.values.size() == b.values.size() && a.domain.dims.size() == b.domain.dims.size();
    if (!a.domain.faces.empty() || !b.domain.faces.empty()) throw NotLifted{name_ + " has a domain with cut corners"};
    for (std::size_t d = 0; alike && d < a.domain.dims.size(); ++d)
      alike = a.domain.dims[d].name == b.domain.dims[d].name && a.domain.dims[d].kind == b.domain.dims[d].kind;
    for (int n = 0; alike && n < access_count(a); ++n) {
      const Access &one = access_of(a, n), &other = access_of(b, n);
      alike = one.tensor == other.tensor && one.index.size() == other.index.size() && one.computed == other.computed;
    }
    if (!alike) throw NotLifted{name_ + " is another statement at other sizes"};
  }

  template <class Of, class Get>
  AffineExpr expression(const Of& of, const Get& get) {
    std::vector<AffineExpr> all;
    for (const KernelAt& one : samples_) all.push_back(get(of(*one.kernel)));
    // `i/2` of two iterations is 0: such a sample has the expression of the others.
    const AffineExpr whole = *std::max_element(all.begin(), all.end(), [](const AffineExpr& a, const AffineExpr& b) {
      return a.terms().size() < b.terms().size();
    });
    std::vector<const AffineExpr*> alike;
    for (std::size_t n = 0; n < all.size(); ++n) {
      const Ranges ranges = ranges_of(of(*samples_[n].kernel).domain);
      alike.push_back(simplify(whole, ranges) == all[n] ? &whole : &all[n]);
    }
    return expression(alike);
  }

  /// Iterators keep their factors; what is added may be a size.
  AffineExpr expression(const std::vector<const AffineExpr*>& all) {
    const auto& terms = all[0]->terms();
    AffineExpr sum = number_of(all);
    for (std::size_t t = 0; t < terms.size(); ++t) {
      const FloorDiv* div = division(terms[t]);
      std::vector<const AffineExpr*> numerators;
      for (const AffineExpr* one : all) {
        const bool alike = one->terms().size() == terms.size() && one->terms()[t].coefficient == terms[t].coefficient &&
                           (division(one->terms()[t]) != nullptr) == (div != nullptr);
        if (!alike) throw NotLifted{name_ + ": a subscript multiplies or divides an iterator by a size"};
        const FloorDiv* other = division(one->terms()[t]);
        if (div ? other->divisor != div->divisor
                : std::get<std::string>(one->terms()[t].atom) != std::get<std::string>(terms[t].atom))
          throw NotLifted{name_ + ": a subscript divides by a size"};
        if (div) numerators.push_back(other->numerator.get());
      }
      sum += (div ? floordiv(expression(numerators), div->divisor)
                  : AffineExpr::dim(symbolic_dim(std::get<std::string>(terms[t].atom)))) *
             terms[t].coefficient;
    }
    return sum;
  }

  AffineExpr number_of(const std::vector<const AffineExpr*>& all) {
    std::vector<std::int64_t> values;
    for (const AffineExpr* one : all) values.push_back(one->constant());
    if (auto e = fit_.fit(values)) return std::move(*e);
    throw NotLifted{name_ + ": a subscript adds a product of sizes"};
  }

  ScalarExpr body(const std::vector<const ScalarExpr*>& all, Computation& sample, SymbolicStatement& made) {
    ScalarExpr e = *all[0];
    bool constants = std::holds_alternative<Constant>(e.op);
    for (const ScalarExpr* one : all)
      if (one->args.size() != e.args.size() || one->type != e.type || one->op.index() != e.op.index() ||
          (!constants && one->op != e.op))
        throw NotLifted{name_ + " computes something else at other sizes"};
    if (constants && std::any_of(all.begin(), all.end(), [&](const ScalarExpr* one) { return one->op != e.op; }))
      return size_in_body(all, sample, made);
    for (std::size_t a = 0; a < e.args.size(); ++a) {
      std::vector<const ScalarExpr*> args;
      for (const ScalarExpr* one : all) args.push_back(&one->args[a]);
      e.args[a] = body(args, sample, made);
    }
    if (ScalarExpr* divisor = divisor_of(e); divisor != nullptr && may_count_no_terms(all))
      *divisor = binary(BinaryOp::max, std::move(*divisor), constant(1, divisor->type));
    return e;
  }

  /// Of quotients: by the number of the terms of a sum, of which there may be none.
  bool may_count_no_terms(const std::vector<const ScalarExpr*>& quotients) const {
    const auto sum = sum_by_its_terms(samples_, lifted_.size(), quotients);
    if (!sum) return false;
    const std::vector<Dim>& dims = first().statements[*sum].domain.dims;
    const Facts facts(facts_);
    for (std::size_t d = 0; d < dims.size(); ++d)
      if (dims[d].kind == DimKind::reduction && !facts.nonnegative(lifted_[*sum].extents[d] - 1)) return true;
    return false;
  }

  /// A constant that is a size, the product of two, or the reciprocal of such a number.
  ScalarExpr size_in_body(const std::vector<const ScalarExpr*>& all, Computation& sample, SymbolicStatement& made) {
    std::vector<double> values, inverse;
    for (const ScalarExpr* one : all) {
      values.push_back(std::get<Constant>(one->op).value);
      inverse.push_back(values.back() == 0 ? 0 : 1 / values.back());
    }
    const DType type = all[0]->type;
    if (auto whole = factors(values, type, 0, sample, made)) return std::move(*whole);
    if (is_float(type))
      if (auto divisor = factors(inverse, type, 1e-6, sample, made))
        return binary(BinaryOp::div, constant(1, type), std::move(*divisor));
    throw NotLifted{fmt::format("{}: the constant {} is {} at other sizes", name_, values.front(), values.back())};
  }

  /// Values that are whole numbers, up to a relative error.
  std::optional<ScalarExpr> factors(const std::vector<double>& values, DType type, double error, Computation& sample,
                                    SymbolicStatement& made) {
    std::vector<std::int64_t> whole;
    for (const double value : values) {
      whole.push_back(std::llround(value));
      if (std::abs(value) > 1e9 || std::abs(value - double(whole.back())) > error * std::abs(value))
        return std::nullopt;
    }
    if (const auto e = fit_.fit(whole)) return value_of(*e, type, sample, made);
    for (const std::vector<std::int64_t>& extents : known_extents()) {
      std::vector<std::int64_t> rest;
      for (std::size_t n = 0; n < whole.size(); ++n) {
        if (extents[n] == 0 || whole[n] % extents[n] != 0) break;
        rest.push_back(whole[n] / extents[n]);
      }
      const auto one = fit_.fit(extents), other = rest.size() == whole.size() ? fit_.fit(rest) : std::nullopt;
      if (one && other)
        return binary(BinaryOp::mul, value_of(*one, type, sample, made), value_of(*other, type, sample, made));
    }
    return std::nullopt;
  }

  /// Axes of tensors that are not the same at all samples.
  std::vector<std::vector<std::int64_t>> known_extents() const {
    std::vector<std::vector<std::int64_t>> all;
    for (std::size_t t = 0; t < first().tensors.size(); ++t)
      for (std::size_t d = 0; d < first().tensors[t].shape.size(); ++d) {
        std::vector<std::int64_t> values;
        for (const KernelAt& one : samples_) values.push_back(one.kernel->tensors[t].shape[d]);
        if (std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) != values.end())
          all.push_back(std::move(values));
      }
    return all;
  }

  ScalarExpr value_of(const AffineExpr& e, DType type, Computation& sample, SymbolicStatement& made) const {
    const auto operand = static_cast<int>(sample.reads.size() + sample.values.size());
    sample.values.emplace_back(evaluate(e, samples_[0].sizes));
    made.values.push_back(e);
    return cast(type, read(operand, DType::s32));
  }

  const std::vector<KernelAt>& samples_;
  SizeFit& fit_;
  SizeFacts facts_;
  std::vector<SymbolicStatement> lifted_;  ///< before the statement at hand
  std::string name_;                       ///< of the statement
};

template <class Value>
void drop_where(std::vector<Value>& list, const std::vector<bool>& gone) {
  std::vector<Value> kept;
  for (std::size_t i = 0; i < list.size(); ++i)
    if (!gone[i]) kept.push_back(std::move(list[i]));
  list = std::move(kept);
}

bool is_step(const SymbolicKernel& kernel, std::size_t s, const std::string& dim) {
  const Repeat* repeat = repeat_of(kernel.sample, s);
  return repeat != nullptr && repeat->dim == dim;
}

/// Axes of one element that some access leaves, or reads at a computed place, are not dropped.
void keep_axes_read_elsewhere(const SymbolicKernel& kernel, std::vector<std::vector<bool>>& unit) {
  for (std::size_t s = 0; s < kernel.statements.size(); ++s) {
    const Computation& statement = kernel.sample.statements[s];
    const SymbolicStatement& symbolic = kernel.statements[s];
    for (int a = 0; a < access_count(statement); ++a) {
      const Access& access = access_of(statement, a);
      auto& of_tensor = unit[access.tensor.index()];
      for (std::size_t axis = 0; axis < of_tensor.size(); ++axis) {
        AffineExpr index = symbolic.index[static_cast<std::size_t>(a)][axis];
        for (std::size_t d = 0; d < symbolic.extents.size(); ++d)
          if (symbolic.extents[d] == AffineExpr(1))
            index = substitute(index, {{symbolic_dim(statement.domain.dims[d].name), AffineExpr(0)}});
        const bool computed = access.computed && access.computed->axis == static_cast<int>(axis);
        if (computed || index != AffineExpr(0)) of_tensor[axis] = false;
      }
    }
  }
}

void drop_axes(Access& access, std::vector<AffineExpr>& symbolic, const std::vector<std::vector<bool>>& unit,
               const std::map<std::string, AffineExpr>& zero) {
  const std::vector<bool>& gone = unit[access.tensor.index()];
  for (AffineExpr& index : access.index) index = substitute(index, zero);
  for (AffineExpr& index : symbolic) index = substitute(index, zero);
  if (access.computed) {
    int before = 0;
    for (int axis = 0; axis < access.computed->axis; ++axis) before += gone[static_cast<std::size_t>(axis)] ? 1 : 0;
    access.computed->axis -= before;
  }
  drop_where(access.index, gone);
  drop_where(symbolic, gone);
}

}  // namespace

std::optional<AffineExpr> SizeFit::fit(const std::vector<std::int64_t>& values) {
  if (std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end())
    return AffineExpr(values.front());
  const auto [known, is_new] = known_.try_emplace(values);
  if (!is_new) return known->second;
  std::optional<AffineExpr> e = affine(values);
  for (const auto& [size, value] : samples_[0])
    if (!e) e = divided(values, size);
  for (const auto& [size, value] : samples_[0])
    if (!e) e = remainder(values, size);
  return known_[values] = e;
}

bool SizeFit::agrees(const AffineExpr& e, const std::vector<std::int64_t>& values) const {
  for (std::size_t n = 0; n < values.size(); ++n)
    if (evaluate(e, samples_[n]) != values[n]) return false;
  return true;
}

/// Slopes along each size from two samples that differ in it only.
std::optional<AffineExpr> SizeFit::affine(const std::vector<std::int64_t>& values) const {
  AffineExpr e(values[0]);
  for (const auto& [size, base] : samples_[0]) {
    for (std::size_t n = 1; n < samples_.size(); ++n) {
      Bindings moved = samples_[0];
      moved[size] = samples_[n].at(size);
      const std::int64_t steps = moved[size] - base, change = values[n] - values[0];
      if (steps == 0 || moved != samples_[n]) continue;
      if (change % steps != 0) return std::nullopt;
      e += (AffineExpr::dim(size) - base) * (change / steps);
      break;
    }
  }
  return agrees(e, values) ? std::optional(e) : std::nullopt;
}

/// By c; of one c those near the slope of the samples first.
std::vector<SizeFit::Quotient> SizeFit::quotients(const std::vector<std::int64_t>& values,
                                                  const std::string& size) const {
  std::vector<Quotient> found;
  std::size_t far = 0;
  for (std::size_t n = 1; n < samples_.size(); ++n)
    if (std::abs(samples_[n].at(size) - samples_[0].at(size)) > std::abs(samples_[far].at(size) - samples_[0].at(size)))
      far = n;
  const std::int64_t steps = samples_[far].at(size) - samples_[0].at(size);
  if (steps == 0) return found;
  const double slope = double(values[far] - values[0]) / double(steps);
  for (std::int64_t c = 1; c <= most_divisor; ++c) {
    const auto below = std::int64_t(std::floor(slope * double(c))), above = std::int64_t(std::ceil(slope * double(c)));
    for (const std::int64_t a : std::set<std::int64_t>{below - 1, below, above, above + 1}) {
      std::int64_t low = std::numeric_limits<std::int64_t>::min(), high = std::numeric_limits<std::int64_t>::max();
      for (std::size_t n = 0; n < values.size(); ++n) {
        low = std::max(low, c * values[n] - a * samples_[n].at(size));
        high = std::min(high, c * values[n] + c - 1 - a * samples_[n].at(size));
      }
      if (low <= high) found.push_back({a, low, high, c, a == below || a == above});
    }
  }
  return found;
}

/// (a*size + b)/c, rounded down, with the smallest c; one near the slope of the samples, if there is one.
std::optional<AffineExpr> SizeFit::divided(const std::vector<std::int64_t>& values, const std::string& size) const {
  const std::vector<Quotient> all = quotients(values, size);
  for (const bool near : {true, false})
    for (const Quotient& one : all)
      if (one.c > 1 && one.is_near == near) return floordiv(AffineExpr::dim(size) * one.a + one.high, one.c);
  return std::nullopt;
}

std::set<std::int64_t> SizeFit::undecided(const std::vector<std::int64_t>& values, const std::string& size,
                                          std::int64_t first, std::int64_t last, std::int64_t step) const {
  const std::vector<Quotient> all = quotients(values, size);
  std::vector<std::int64_t> different;
  if (all.empty()) return {};
  last = std::min(last, first + (most_scanned - 1) * step);
  for (std::int64_t at = first; at <= last; at += step) {
    std::int64_t least = std::numeric_limits<std::int64_t>::max(), most = std::numeric_limits<std::int64_t>::min();
    for (const Quotient& one : all) {
      least = std::min(least, floor_div(one.a * at + one.low, one.c));
      most = std::max(most, floor_div(one.a * at + one.high, one.c));
    }
    if (least != most) different.push_back(at);
  }
  if (different.empty()) return {};
  return {different.front(), different[different.size() / 2], different.back()};
}

/// b + k*(size mod c), as paddings are where windows with strides shall have the same size: 3 with the stride 2 starts
/// one before the tensor at odd sizes only.
std::optional<AffineExpr> SizeFit::remainder(const std::vector<std::int64_t>& values, const std::string& size) const {
  for (std::int64_t c = 2; c <= most_remainder; ++c) {
    const auto rest = [&](std::size_t n) { return samples_[n].at(size) % c; };
    std::size_t other = 0;
    while (other < values.size() && rest(other) == rest(0)) ++other;
    if (other == values.size() || (values[other] - values[0]) % (rest(other) - rest(0)) != 0) continue;
    const std::int64_t k = (values[other] - values[0]) / (rest(other) - rest(0));
    const AffineExpr whole = AffineExpr::dim(size);
    const AffineExpr e = (whole - floordiv(whole, c) * c) * k + (values[0] - k * rest(0));
    if (agrees(e, values)) return e;
  }
  return std::nullopt;
}

SymbolicKernel without_unit_axes(const SymbolicKernel& kernel) {
  SymbolicKernel made = kernel;
  std::vector<std::vector<bool>> unit;  // by tensor and axis
  for (const auto& shape : kernel.shapes) {
    auto& of_tensor = unit.emplace_back();
    for (const AffineExpr& axis : shape) of_tensor.push_back(axis == AffineExpr(1));
  }
  keep_axes_read_elsewhere(kernel, unit);
  for (std::size_t t = 0; t < unit.size(); ++t)
    if (kernel.strides[t].empty()) {
      drop_where(made.shapes[t], unit[t]);
      drop_where(made.sample.tensors[t].shape, unit[t]);
    } else {
      unit[t].assign(unit[t].size(), false);
    }
  for (std::size_t s = 0; s < made.statements.size(); ++s) {
    Computation& statement = made.sample.statements[s];
    SymbolicStatement& symbolic = made.statements[s];
    std::map<std::string, AffineExpr> zero;
    std::vector<bool> gone(symbolic.extents.size(), false);
    for (std::size_t d = 0; d < symbolic.extents.size(); ++d) {
      const bool last =
          d + 1 == symbolic.extents.size() && std::find(gone.begin(), gone.end(), false) + 1 == gone.end();
      gone[d] = symbolic.extents[d] == AffineExpr(1) && !last && !is_step(kernel, s, statement.domain.dims[d].name);
      if (!gone[d]) continue;
      zero[statement.domain.dims[d].name] = AffineExpr(0);
      zero[symbolic_dim(statement.domain.dims[d].name)] = AffineExpr(0);
    }
    drop_where(symbolic.extents, gone);
    drop_where(statement.domain.dims, gone);
    for (int a = 0; a < access_count(statement); ++a)
      drop_axes(a == 0 ? statement.write : statement.reads[static_cast<std::size_t>(a) - 1],
                symbolic.index[static_cast<std::size_t>(a)], unit, zero);
    for (AffineExpr& value : statement.values) value = substitute(value, zero);
    for (AffineExpr& value : symbolic.values) value = substitute(value, zero);
  }
  return made;
}

Result<SymbolicKernel> lifted(const SizeFacts& facts, const std::vector<KernelAt>& samples, SizeFit& fit) {
  try {
    return SampleLifter(samples, fit).lift(facts);
  } catch (const NotLifted& problem) {
    return error(problem.why, "bind a size with --sizes");
  }
}

}  // namespace isamap

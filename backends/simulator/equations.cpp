// SPDX-License-Identifier: Apache-2.0
#include "backends/simulator/equations.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace isamap {
namespace {

using Op = IntExpr::Op;
using Lookup = std::function<std::optional<std::int64_t>(const Reference&)>;

/// An expression that is bits of one reference x: (x >> shift) & mask; a negative shift is one to the left.
struct Slice {
  Reference of;
  int shift = 0;
  std::uint64_t mask = ~std::uint64_t{0};
  bool whole() const { return shift == 0 && mask == ~std::uint64_t{0}; }
};

std::optional<int> power_of_two(std::int64_t value) {
  if (value <= 0 || !std::has_single_bit(static_cast<std::uint64_t>(value))) return std::nullopt;
  return std::countr_zero(static_cast<std::uint64_t>(value));
}

std::optional<Slice> moved(Slice slice, int right) {
  slice.shift += right;
  slice.mask = right >= 0 ? slice.mask >> right : slice.mask << -right;
  if (slice.shift > 62 || slice.shift < -62) return std::nullopt;
  return slice;
}

std::optional<Slice> slice_of(const IntExpr& e) {
  if (e.op == Op::reference) return Slice{e.reference};
  if (e.args.size() != 2) return std::nullopt;
  const auto known = evaluate(e.args[1], [](const Reference&) { return std::nullopt; });
  auto inner = slice_of(e.args[0]);
  if (!known || !inner) return std::nullopt;
  const auto power = power_of_two(*known);
  const bool shifts = *known >= 0 && *known <= 62;
  switch (e.op) {
    case Op::shr:
      return shifts ? moved(*inner, static_cast<int>(*known)) : std::nullopt;
    case Op::shl:
      return shifts ? moved(*inner, -static_cast<int>(*known)) : std::nullopt;
    case Op::div:
      return power ? moved(*inner, *power) : std::nullopt;
    case Op::mul:
      return power ? moved(*inner, -*power) : std::nullopt;
    case Op::band:
      inner->mask &= static_cast<std::uint64_t>(*known);
      return inner;
    case Op::mod:
      if (!power) return std::nullopt;
      inner->mask &= (std::uint64_t{1} << *power) - 1;
      return inner;
    default:
      return std::nullopt;
  }
}

/// Is the expression built of + - * << only? Then two evaluations give the slope.
bool looks_linear(const IntExpr& e, const Reference& unknown) {
  const auto all = references(e);
  if (std::find(all.begin(), all.end(), unknown) == all.end()) return true;
  if (e.op == Op::reference) return true;
  if (e.op != Op::add && e.op != Op::sub && e.op != Op::mul && e.op != Op::shl) return false;
  return std::all_of(e.args.begin(), e.args.end(), [&](const IntExpr& arg) { return looks_linear(arg, unknown); });
}

std::optional<std::int64_t> solve_linear(const IntExpr& e, std::int64_t value, const Reference& unknown,
                                         const Lookup& known) {
  if (!looks_linear(e, unknown)) return std::nullopt;
  const auto at = [&](std::int64_t x) {
    return evaluate(e, [&](const Reference& r) { return r == unknown ? std::optional(x) : known(r); });
  };
  const auto zero = at(0), one = at(1);
  std::int64_t slope = 0, difference = 0;
  if (!zero || !one || __builtin_sub_overflow(*one, *zero, &slope) || slope == 0) return std::nullopt;
  if (__builtin_sub_overflow(value, *zero, &difference)) return std::nullopt;
  if (slope == -1) return difference == INT64_MIN ? std::nullopt : std::optional(-difference);
  return difference % slope == 0 ? std::optional(difference / slope) : std::nullopt;
}

/// bits(x) is the pattern of a float.
std::optional<std::int64_t> unpacked_float(std::int64_t value) {
  if (value < 0 || value > 0xffffffff) return std::nullopt;
  const float f = std::bit_cast<float>(static_cast<std::uint32_t>(value));
  if (!(std::fabs(f) < 0x1p62F) || f != std::trunc(f)) return std::nullopt;
  return static_cast<std::int64_t>(f);
}

class Solver {
 public:
  Solver(const std::vector<Equation>& equations, Values& values, const Lookup& outer, const std::string& user)
      : values_(values), outer_(outer), user_(user), open_(equations) {}

  std::optional<Diagnostic> run() {
    const std::vector<Equation> all = open_;
    while (!open_.empty()) {
      const std::size_t before = open_.size();
      std::erase_if(open_, [&](const Equation& e) { return step(e); });
      if (open_.size() < before) continue;
      if (slices_.empty()) return undecided(open_.front());
      for (const auto& [name, bits] : slices_) values_.emplace(name, static_cast<std::int64_t>(bits));
      slices_.clear();
    }
    for (const auto& [name, bits] : slices_) values_.emplace(name, static_cast<std::int64_t>(bits));
    for (const Equation& e : all)
      if (evaluate(*e.expr, [&](const Reference& r) { return known(r); }) != e.value) return violated(e);
    return std::nullopt;
  }

 private:
  std::optional<std::int64_t> known(const Reference& r) const {
    const auto found = values_.find(key(r));
    return found == values_.end() ? outer_(r) : std::optional(found->second);
  }

  /// True: the equation gives no further value; it is only checked at the end.
  bool step(const Equation& e) {
    std::vector<Reference> unknown;
    for (const Reference& r : references(*e.expr))
      if (!known(r) && std::find(unknown.begin(), unknown.end(), r) == unknown.end()) unknown.push_back(r);
    if (unknown.empty()) return true;
    if (unknown.size() > 1) return false;
    const IntExpr* expr = e.expr;
    std::int64_t value = e.value;
    if (expr->op == Op::bits) {
      const auto number = unpacked_float(value);
      if (!number) return false;
      expr = &expr->args[0];
      value = *number;
    }
    if (const auto slice = slice_of(*expr); slice && !slice->whole()) {
      const std::uint64_t raw = static_cast<std::uint64_t>(value) & slice->mask;
      slices_[key(slice->of)] |= slice->shift >= 0 ? raw << slice->shift : raw >> -slice->shift;
      return true;
    }
    const auto x = solve_linear(*expr, value, unknown[0], [&](const Reference& r) { return known(r); });
    if (x) values_[key(unknown[0])] = *x;
    return x.has_value();
  }

  Diagnostic violated(const Equation& e) const {
    return error(fmt::format("'{}' needs {} = {}, which is {}", user_, e.what, print(*e.expr), e.value));
  }
  Diagnostic undecided(const Equation& e) const {
    std::string names;
    for (const Reference& r : references(*e.expr))
      if (!known(r)) names += (names.empty() ? "" : ", ") + key(r);
    return error(fmt::format("'{}' needs {} = {}, which is {}: that does not determine {}", user_, e.what,
                             print(*e.expr), e.value, names));
  }

  Values& values_;
  const Lookup& outer_;
  const std::string& user_;
  std::vector<Equation> open_;
  std::map<std::string, std::uint64_t> slices_;
};

}  // namespace

std::string key(const Reference& r) {
  std::string text = r.object;
  if (!is_position(r)) text += "." + r.property;
  if (!r.argument.empty()) text += "[" + r.argument + "]";
  return text;
}

std::optional<Diagnostic> solve(const std::vector<Equation>& equations, Values& values,
                                const std::function<std::optional<std::int64_t>(const Reference&)>& outer,
                                const std::string& user) {
  return Solver(equations, values, outer, user).run();
}

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "ir/scalar/scalar_functions.h"
#include "isamap/kernel.h"
#include "isamap/result.h"

namespace isamap {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Scalar extreme(DType type, bool largest) {
  Scalar result;
  if (is_float(type))
    result.real = (largest ? 1 : -1) * (format_of(type).has_infinity ? infinity : largest_finite(type));
  else if (is_wide_unsigned(type))
    result.integer = largest ? -1 : 0;  // all bits
  else
    result.integer = largest ? integer_max(type) : integer_min(type);
  return result;
}

std::int64_t saturated_sum(DType type, std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (is_wide_unsigned(type)) {
    std::uint64_t wide = 0;
    const bool overflows = __builtin_add_overflow(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b), &wide);
    return overflows ? -1 : static_cast<std::int64_t>(wide);
  }
  if (__builtin_add_overflow(a, b, &sum)) sum = a < 0 ? INT64_MIN : INT64_MAX;
  return std::clamp(sum, integer_min(type), integer_max(type));
}

}  // namespace

int IterationDomain::find(const std::string& name) const {
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

Ranges ranges_of(const IterationDomain& domain) {
  Ranges ranges;
  for (const Dim& dim : domain.dims) ranges[dim.name] = {0, dim.extent - 1};
  return ranges;
}

BinaryOp operator_of(Reduction reduction) {
  switch (reduction) {
    case Reduction::mul:
      return BinaryOp::mul;
    case Reduction::max:
      return BinaryOp::max;
    case Reduction::min:
      return BinaryOp::min;
    default:
      return BinaryOp::add;
  }
}

Scalar identity(Reduction reduction, DType type) {
  switch (reduction) {
    case Reduction::assign:
    case Reduction::add:
    case Reduction::saturating_add:
      return {};
    case Reduction::mul:
      return is_float(type) ? Scalar{1, 0} : Scalar{0, 1};
    case Reduction::max:
      return extreme(type, false);
    case Reduction::min:
      return extreme(type, true);
  }
  return {};
}

Scalar combine(Reduction reduction, DType type, Scalar old_value, Scalar value) {
  if (reduction == Reduction::assign) return value;
  Scalar result;
  const BinaryOp op = operator_of(reduction);
  if (reduction == Reduction::saturating_add)
    result.integer = saturated_sum(type, old_value.integer, value.integer);
  else if (is_float(type))
    result.real = round_to(type, apply_real(op, old_value.real, value.real));
  else
    result.integer = wrap_to(type, apply_integer(op, type, old_value.integer, value.integer));
  return result;
}

std::string_view symbol(Reduction reduction) {
  switch (reduction) {
    case Reduction::assign:
      return "=";
    case Reduction::add:
      return "+=";
    case Reduction::mul:
      return "*=";
    case Reduction::max:
      return "max=";
    case Reduction::min:
      return "min=";
    case Reduction::saturating_add:
      return "sat+=";
  }
  return "";
}

const Access& access_of(const Computation& computation, int number) {
  ISAMAP_CHECK(number >= 0 && number < access_count(computation),
               "access " + std::to_string(number) + " does not exist");
  return number == 0 ? computation.write : computation.reads[static_cast<std::size_t>(number - 1)];
}

bool is_irregular(const Computation& computation) {
  return !computation.values.empty() || std::any_of(computation.reads.begin(), computation.reads.end(),
                                                    [](const Access& read) { return read.computed.has_value(); });
}

bool uses(const Access& access, const std::string& dim) {
  return std::any_of(access.index.begin(), access.index.end(),
                     [&](const AffineExpr& e) { return e.names().contains(dim); });
}

std::vector<std::string> dim_names(const Computation& computation) {
  std::vector<std::string> names;
  for (const Dim& d : computation.domain.dims) names.push_back(d.name);
  return names;
}

}  // namespace isamap

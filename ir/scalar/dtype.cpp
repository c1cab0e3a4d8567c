// SPDX-License-Identifier: Apache-2.0
// Number formats as rows of a table: all properties of a format follow from its precision and exponents.
//
// f32, f64: IEEE 754-2019. f16: binary16. bf16, tf32: the upper 16 and 19 bits of binary32.
// e4m3, e5m2: "OCP 8-bit Floating Point Specification (OFP8)", revision 1.0, tables 1 and 2.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "isamap/expression.h"
#include "isamap/result.h"

namespace isamap {
namespace {

using Format = DTypeFormat;
constexpr DTypeKind reals = DTypeKind::real, integers = DTypeKind::integer, any_bits = DTypeKind::bits;

constexpr auto formats = std::to_array<Format>({
    {DType::f64, "f64", reals, 64, true, 53, -1022, 1023, true, "double", 11},
    {DType::f32, "f32", reals, 32, true, 24, -126, 127, true, "float", 1},
    {DType::tf32, "tf32", reals, 32, true, 11, -126, 127, true, "float", 0},
    {DType::bf16, "bf16", reals, 16, true, 8, -126, 127, true, "std::uint16_t", 16},
    {DType::f16, "f16", reals, 16, true, 11, -14, 15, true, "std::uint16_t", 10},
    {DType::e4m3, "e4m3", reals, 8, true, 4, -6, 8, false, "std::uint8_t", 17},
    {DType::e5m2, "e5m2", reals, 8, true, 3, -14, 15, true, "std::uint8_t", 19},
    {DType::s64, "s64", integers, 64, true, 63, 0, 0, false, "std::int64_t", 7},
    {DType::s32, "s32", integers, 32, true, 31, 0, 0, false, "std::int32_t", 6},
    {DType::s16, "s16", integers, 16, true, 15, 0, 0, false, "std::int16_t", 5},
    {DType::s8, "s8", integers, 8, true, 7, 0, 0, false, "std::int8_t", 3},
    {DType::u64, "u64", integers, 64, false, 64, 0, 0, false, "std::uint64_t", 13},
    {DType::u32, "u32", integers, 32, false, 32, 0, 0, false, "std::uint32_t", 12},
    {DType::u16, "u16", integers, 16, false, 16, 0, 0, false, "std::uint16_t", 4},
    {DType::u8, "u8", integers, 8, false, 8, 0, 0, false, "std::uint8_t", 2},
    {DType::boolean, "bool", DTypeKind::truth, 8, false, 1, 0, 0, false, "std::uint8_t", 9},
    {DType::b1, "b1", DTypeKind::truth, 1, false, 1, 0, 0, false, "std::uint8_t", 0},
    {DType::b8, "b8", any_bits, 8, false, 8, 0, 0, false, "std::uint8_t", 0},
    {DType::b16, "b16", any_bits, 16, false, 16, 0, 0, false, "std::uint16_t", 0},
    {DType::b32, "b32", any_bits, 32, false, 32, 0, 0, false, "std::uint32_t", 0},
    {DType::b64, "b64", any_bits, 64, false, 64, 0, 0, false, "std::uint64_t", 0},
});

constexpr bool in_order_of_enumerators() {
  for (std::size_t i = 0; i < formats.size(); ++i)
    if (static_cast<std::size_t>(formats[i].type) != i) return false;
  return true;
}
static_assert(in_order_of_enumerators());

const Format& format(DType type) { return formats[static_cast<std::size_t>(type)]; }

// Without infinity the largest significand of the largest exponent is NaN.
double largest(const Format& f) {
  const double last_place = std::ldexp(1.0, 1 - f.precision);
  return std::ldexp(2.0 - (f.has_infinity ? last_place : 2 * last_place), f.emax);
}

// Ordinary numbers in the bits of a double: half of the last kept place, less one unless that place is odd, carries
// into it exactly when the nearest value, ties to even, is the upper one. Not for values near overflow or subnormals.
std::optional<double> round_normal(const Format& f, double value) {
  const auto raw = std::bit_cast<std::uint64_t>(value);
  const int exponent = static_cast<int>((raw >> 52) & 0x7ff) - 1023;
  if (exponent < f.emin || exponent >= f.emax) return std::nullopt;
  const int dropped = 53 - f.precision;
  const std::uint64_t half = (1ULL << (dropped - 1)) - 1 + ((raw >> dropped) & 1);
  return std::bit_cast<double>((raw + half) & ~((1ULL << dropped) - 1));
}

// To the nearest multiple of the quantum at the value's exponent; the quantum stops shrinking at the subnormals.
double round_small(const Format& f, double value) {
  if (const auto rounded = round_normal(f, value)) return *rounded;
  if (value == 0 || std::isnan(value)) return value;
  if (std::isinf(value)) return f.has_infinity ? value : std::numeric_limits<double>::quiet_NaN();
  const int exponent = std::max(std::ilogb(value), f.emin);
  const int quantum = exponent - (f.precision - 1);
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -quantum)), quantum);
  if (std::fabs(rounded) <= largest(f)) return rounded;
  return f.has_infinity ? std::copysign(std::numeric_limits<double>::infinity(), value)
                        : std::numeric_limits<double>::quiet_NaN();
}

// A 64-bit integer as a double whose last bit is sticky (round to odd), so that a second rounding to at most 24 bits of
// significand equals a single rounding: Boldo, Melquiond, "Emulation of FMA and correctly rounded sums: proved
// algorithms using rounding to odd", IEEE Trans. Computers 57(4), 2008.
double to_odd_double(std::int64_t value, DType type) {
  const bool negative = value < 0 && !is_wide_unsigned(type);
  std::uint64_t magnitude = negative ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  const int excess = 11 - std::countl_zero(magnitude | 1);
  if (excess > 0) {
    const std::uint64_t lost = magnitude & ((1ULL << excess) - 1);
    magnitude = (magnitude - lost) | (lost != 0 ? 1ULL << excess : 0);
  }
  const double result = static_cast<double>(magnitude);
  return negative ? -result : result;
}

std::int64_t truncate_and_wrap(double value, DType to) {
  if (!std::isfinite(value)) return 0;
  const auto magnitude = static_cast<std::uint64_t>(std::fmod(std::trunc(std::fabs(value)), 0x1p64));
  return wrap_to(to, static_cast<std::int64_t>(value < 0 ? 0 - magnitude : magnitude));
}

std::int64_t truncate_and_clamp(double value, DType to) {
  if (std::isnan(value)) return 0;
  const double whole = std::trunc(value);
  if (is_wide_unsigned(to) && whole > 0)
    return whole >= 0x1p64 ? -1 : static_cast<std::int64_t>(static_cast<std::uint64_t>(whole));
  if (whole <= static_cast<double>(integer_min(to))) return integer_min(to);
  if (whole >= static_cast<double>(integer_max(to))) return integer_max(to);
  return static_cast<std::int64_t>(whole);
}

std::uint64_t encode_small(const Format& f, double value) {
  const int fraction_bits = f.precision - 1;
  const int bias = 1 - f.emin;
  const std::uint64_t sign = std::signbit(value) ? 1ULL << (f.storage - 1) : 0;
  const std::uint64_t exponent_ones = ((1ULL << (f.storage - f.precision)) - 1) << fraction_bits;
  if (std::isinf(value)) return sign | exponent_ones;
  if (value == 0) return sign;
  const int exponent = std::max(std::ilogb(value), f.emin);
  const auto significand = static_cast<std::uint64_t>(std::ldexp(std::fabs(value), fraction_bits - exponent));
  const bool normal = (significand >> fraction_bits) != 0;
  const std::uint64_t field = normal ? static_cast<std::uint64_t>(exponent + bias) : 0;
  return sign | (field << fraction_bits) | (significand & ((1ULL << fraction_bits) - 1));
}

double decode_small(const Format& f, std::uint64_t raw) {
  const int fraction_bits = f.precision - 1;
  const std::uint64_t fraction = raw & ((1ULL << fraction_bits) - 1);
  const int exponent_limit = (1 << (f.storage - f.precision)) - 1;
  const int field = static_cast<int>(raw >> fraction_bits) & exponent_limit;
  const bool negative = ((raw >> (f.storage - 1)) & 1) != 0;
  double magnitude = 0;
  if (field == exponent_limit && f.has_infinity) {
    magnitude = std::numeric_limits<double>::infinity();
  } else {
    const auto significand = static_cast<double>(fraction | (field != 0 ? 1ULL << fraction_bits : 0));
    magnitude = std::ldexp(significand, (field != 0 ? field - (1 - f.emin) : f.emin) - fraction_bits);
  }
  return negative ? -magnitude : magnitude;
}

// Every value of an integer format has at most `precision` bits; the smallest signed one is a power of two.
bool real_holds(const Format& real, const Format& from) {
  if (real.precision < from.precision) return false;
  if (from.kind == DTypeKind::integer) return real.emax >= from.precision;
  return real.emax >= from.emax && real.emin - real.precision <= from.emin - from.precision;
}

bool integer_holds(const Format& to, const Format& from) {
  return from.kind == DTypeKind::integer && to.precision >= from.precision && (to.is_signed || !from.is_signed);
}

/// The nearest value of `to`.
std::int64_t clamp(std::int64_t value, DType from, DType to) {
  if (value < 0 && is_wide_unsigned(from)) return is_wide_unsigned(to) ? value : integer_max(to);
  return std::clamp(value, integer_min(to), integer_max(to));
}

constexpr std::uint64_t tf32_mask = ~((1ULL << 13) - 1);  // tf32 lives in the upper 19 bits of an f32

// A NaN keeps all its bits through a double, the quiet bit too: a conversion by the processor would set it, and a move
// of f32 would not preserve 32 bits. Sign and fraction are in the uppermost bits of the double.
constexpr int double_fraction = 52;
constexpr std::uint64_t double_ones = 0x7ffULL << double_fraction;
struct NanField {
  int fraction = 0;                   ///< bits of it
  std::uint64_t ones = 0, quiet = 0;  ///< exponent; the fraction of a computed NaN
};
NanField nan_field(DType type) {
  const Format& f = format(type == DType::tf32 ? DType::f32 : type);
  const int fraction = f.precision - 1;
  const std::uint64_t ones = ((1ULL << (f.storage - f.precision)) - 1) << fraction;
  return {fraction, ones, f.has_infinity ? 1ULL << (fraction - 1) : (1ULL << fraction) - 1};
}

bool is_nan(DType type, std::uint64_t raw) {
  const NanField field = nan_field(type);
  const std::uint64_t fraction = raw & ((1ULL << field.fraction) - 1);
  return (raw & field.ones) == field.ones && (format(type).has_infinity ? fraction != 0 : fraction == field.quiet);
}

double unpack_nan(DType type, std::uint64_t raw) {
  const NanField field = nan_field(type);
  const std::uint64_t sign = raw >> (bits(type) - 1) & 1, fraction = raw & ((1ULL << field.fraction) - 1);
  return std::bit_cast<double>(sign << 63 | double_ones | fraction << (double_fraction - field.fraction));
}

std::uint64_t pack_nan(DType type, double value) {
  const NanField field = nan_field(type);
  const auto raw = std::bit_cast<std::uint64_t>(value);
  std::uint64_t fraction = (raw & ((1ULL << double_fraction) - 1)) >> (double_fraction - field.fraction);
  if (type == DType::tf32) fraction &= tf32_mask;
  const bool payload_fits = format(type).has_infinity ? fraction != 0 : fraction == field.quiet;
  return (raw >> 63) << (bits(type) - 1) | field.ones | (payload_fits ? fraction : field.quiet);
}

}  // namespace

std::string_view name(DType type) { return format(type).name; }

std::optional<DType> parse_dtype(std::string_view text) {
  for (const Format& f : formats) {
    if (f.name == text) return f.type;
  }
  return std::nullopt;
}

std::optional<DType> dtype_of_onnx(int element_type) {
  for (const Format& f : formats) {
    if (f.onnx == element_type && f.onnx != 0) return f.type;
  }
  return std::nullopt;
}

const std::vector<DTypeFormat>& dtype_formats() {
  static const std::vector<DTypeFormat> all(formats.begin(), formats.end());
  return all;
}

const DTypeFormat& format_of(DType type) { return format(type); }

std::vector<std::string> dtype_names() {
  std::vector<std::string> names;
  for (const Format& f : formats) names.emplace_back(f.name);
  return names;
}

bool is_float(DType type) { return format(type).kind == DTypeKind::real; }
bool is_integer(DType type) { return format(type).kind == DTypeKind::integer; }
bool is_wide_unsigned(DType type) {
  const Format& f = format(type);
  return f.kind == DTypeKind::integer && !f.is_signed && f.storage == 64;
}
bool is_truth(DType type) { return format(type).kind == DTypeKind::truth; }
bool is_bits(DType type) { return format(type).kind == DTypeKind::bits; }
int bits(DType type) { return format(type).storage; }
double largest_finite(DType type) { return largest(format(type)); }
bool saturates(DType type) { return is_float(type) && bits(type) <= 8; }

std::optional<DType> integer_of(int bits, bool is_signed) {
  for (const Format& f : formats) {
    if (f.kind == DTypeKind::integer && f.storage == bits && f.is_signed == is_signed) return f.type;
  }
  return std::nullopt;
}

std::int64_t integer_min(DType type) {
  const Format& f = format(type);
  return f.is_signed && f.kind == DTypeKind::integer ? -1 - integer_max(type) : 0;
}

std::int64_t integer_max(DType type) {
  const int digits = format(type).precision;
  return digits >= 63 ? std::numeric_limits<std::int64_t>::max() : (std::int64_t{1} << digits) - 1;
}

bool same_ring(DType a, DType b) { return is_integer(a) && is_integer(b) && bits(a) == bits(b); }

bool widens(DType from, DType to) {
  if (from == to) return true;
  const Format& f = format(from);
  const Format& t = format(to);
  if (t.kind == DTypeKind::bits || f.kind == DTypeKind::bits) return false;
  if (f.kind == DTypeKind::truth) return true;
  if (t.kind == DTypeKind::truth) return false;
  return t.kind == DTypeKind::real ? real_holds(t, f) : integer_holds(t, f);
}

std::optional<DType> join(DType a, DType b) {
  if (widens(a, b)) return b;
  if (widens(b, a)) return a;
  // By size; where sizes are equal, integers first, then the format with more bits of significand.
  for (const DType type : {DType::s16, DType::f16, DType::bf16, DType::s32, DType::f32, DType::s64, DType::f64}) {
    if (widens(a, type) && widens(b, type)) return type;
  }
  return std::nullopt;
}

double as_double(DType type, Scalar value) {
  if (is_float(type)) return value.real;
  return is_wide_unsigned(type) ? static_cast<double>(static_cast<std::uint64_t>(value.integer))
                                : static_cast<double>(value.integer);
}

std::string integer_text(DType type, Scalar value) {
  return is_wide_unsigned(type) ? std::to_string(static_cast<std::uint64_t>(value.integer))
                                : std::to_string(value.integer);
}

bool is_value_of(DType type, double number) {
  const double largest = is_wide_unsigned(type) ? 0x1p64 : static_cast<double>(integer_max(type));
  return number == std::trunc(number) && number >= static_cast<double>(integer_min(type)) && number <= largest;
}

double round_to(DType type, double value) {
  if (type == DType::f32) return static_cast<double>(static_cast<float>(value));
  if (type == DType::f64) return value;
  return round_small(format(type), value);
}

std::int64_t wrap_to(DType type, std::int64_t value) {
  const Format& f = format(type);
  if (f.kind == DTypeKind::truth) return value != 0 ? 1 : 0;
  if (f.storage == 64) return value;
  const int shift = 64 - f.storage;
  const std::uint64_t high = static_cast<std::uint64_t>(value) << shift;
  return f.is_signed ? static_cast<std::int64_t>(high) >> shift : static_cast<std::int64_t>(high >> shift);
}

Scalar convert(Scalar value, DType from, DType to, bool saturate) {
  Scalar result;
  if (!is_float(from) && !is_float(to)) {
    result.integer = saturate && is_integer(to) ? clamp(value.integer, from, to) : wrap_to(to, value.integer);
  } else if (!is_float(to)) {
    if (is_truth(to))
      result.integer = value.real != 0 ? 1 : 0;
    else
      result.integer =
          saturate && is_integer(to) ? truncate_and_clamp(value.real, to) : truncate_and_wrap(value.real, to);
  } else {
    double exact = value.real;
    if (!is_float(from)) exact = to == DType::f64 ? as_double(from, value) : to_odd_double(value.integer, from);
    const bool clamps = saturate && saturates(to) && !std::isnan(exact);
    const double limit = clamps ? largest(format(to)) : 0;
    result.real = round_to(to, clamps ? std::min(std::max(exact, -limit), limit) : exact);
  }
  return result;
}

std::uint64_t encode(DType type, Scalar value) {
  if (!is_float(type)) {
    const int width = bits(type);
    const auto raw = static_cast<std::uint64_t>(wrap_to(type, value.integer));
    return width == 64 ? raw : raw & ((1ULL << width) - 1);
  }
  if (type == DType::f64) return std::bit_cast<std::uint64_t>(value.real);
  const double rounded = std::isnan(value.real) ? value.real : round_to(type, value.real);
  if (std::isnan(rounded)) return pack_nan(type, rounded);
  if (type == DType::f32) return std::bit_cast<std::uint32_t>(static_cast<float>(rounded));
  if (type == DType::tf32) return std::bit_cast<std::uint32_t>(static_cast<float>(rounded)) & tf32_mask;
  return encode_small(format(type), rounded);
}

Scalar decode(DType type, std::uint64_t raw) {
  Scalar result;
  if (!is_float(type))
    result.integer = wrap_to(type, static_cast<std::int64_t>(raw));
  else if (type == DType::f64)
    result.real = std::bit_cast<double>(raw);
  else if (const std::uint64_t kept = type == DType::tf32 ? raw & tf32_mask : raw; is_nan(type, kept))
    result.real = unpack_nan(type, kept);
  else if (type == DType::f32)
    result.real = std::bit_cast<float>(static_cast<std::uint32_t>(raw));
  else if (type == DType::tf32)
    result.real = std::bit_cast<float>(static_cast<std::uint32_t>(raw & tf32_mask));
  else
    result.real = decode_small(format(type), raw);
  return result;
}

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Conversions between number formats as vectorizable C++ text: no branches, loops or calls; a float is clamped before
// conversion to an integer. Where GCC 12 would turn a select with a constant into branches, it is a bitwise select. The
// arithmetic is that of ir/scalar/dtype.cpp; tests/backends/conversions_test.cpp.

namespace isamap {

inline constexpr const char* ends_text =
    R"(template <class T> struct ends {  // of an integer type
  static constexpr bool sign = T(-1) < T(0);
  static constexpr T high = T((~std::uint64_t(0) >> (64 - 8 * sizeof(T))) >> sign), low = T(~std::uint64_t(high));
};
)";

inline constexpr const char* clamp_to_text =
    R"(template <class T, class S> inline T clamp_to(S x) {  // the nearest of T
  constexpr std::int64_t t0 = std::int64_t(ends<T>::low), s0 = std::int64_t(ends<S>::low);
  constexpr std::uint64_t t1 = std::uint64_t(ends<T>::high), s1 = std::uint64_t(ends<S>::high);
  constexpr S low = S(t0 > s0 ? t0 : s0), high = S(t1 < s1 ? t1 : s1);
  x = x < low ? low : x;
  return T(x > high ? high : x);
}
)";

// The largest value of T need not be one of F: 2^31 - 1 is no float.
inline constexpr const char* truncate_clamped_text =
    R"(template <class T, class F> inline T truncate_clamped(F x) {  // towards zero; 0 for NaN
  using Whole = std::conditional_t<(sizeof(T) < 4), std::int32_t, T>;
  constexpr int bits = 8 * sizeof(T) - ends<T>::sign, held = sizeof(F) == 4 ? 24 : 53, lost = bits > held ? bits - held : 0;
  constexpr F low = F(ends<T>::low), high = F(ends<T>::high - ((T(1) << lost) - 1));
  F inside = x > low ? x : low;
  inside = inside < high ? inside : high;
  const Whole whole = x > high ? Whole(ends<T>::high) : Whole(inside);
  return x == x ? T(whole) : T(0);
}
)";

inline constexpr const char* choose_text =
    R"(template <class U> inline U choose(bool first, U a, U b) { return (a & (U(0) - U(first))) | (b & (U(first) - U(1))); }
)";

// x modulo 2^n as the difference to the nearest multiple, which is exact: it has no digit that x has not. For short
// types n is 31, so that the difference is always an int.
inline constexpr const char* truncate_wrapped_text =
    R"(template <class T, class F> inline T truncate_wrapped(F x) {  // towards zero, modulo 2^bits; 0 for NaN and infinity
  if constexpr (sizeof(T) <= 4) {
    using Bits = std::conditional_t<(sizeof(F) > 4), std::uint64_t, std::uint32_t>;
    x = bits_as<F>(choose(x - x == F(0), bits_as<Bits>(x), Bits(0)));
    if constexpr (sizeof(F) > 4) x = std::trunc(x);  // floats of 2^31 and more are whole
    constexpr F modulus = sizeof(T) < 4 ? F(0x1p+31) : F(0x1p+32), inverse = 1 / modulus;
    F rest = x - std::nearbyint(x * inverse) * modulus;
    if constexpr (sizeof(T) == 4) rest = rest == F(0x1p+31) ? F(-0x1p+31) : rest;
    return T(std::int32_t(rest));
  }
  if (x > F(-0x1p62) && x < F(0x1p62)) return T(std::int64_t(x));
  if (!(x - x == F(0))) return T(0);
  const double low = std::fmod(double(x), 0x1p64);
  return T(low < 0 ? 0 - std::uint64_t(-low) : std::uint64_t(low));
}
)";

inline constexpr const char* round_f16_text =
    R"([[maybe_unused]] inline float round_f16(double x) { return round_small(x, 11, -14, 65504, true); }
[[maybe_unused]] inline float round_f16(float x) {  // what is too small to be normal: to multiples of 2^-24
  const std::uint32_t u = bits_as<std::uint32_t>(x), a = u & 0x7fffffffu;
  const std::uint32_t normal = (u + 0xfff + ((u >> 13) & 1)) & 0x7fffe000u;
  const std::uint32_t small = bits_as<std::uint32_t>((std::fabs(x) + 0.5f) - 0.5f);
  const std::uint32_t r = choose(a < 0x38800000u, small, normal);
  const std::uint32_t beyond = choose(a > 0x7f800000u, 0x7fc00000u, 0x7f800000u);
  return bits_as<float>(choose(r > 0x477fe000u || a > 0x7f800000u, beyond, r) | (u & 0x80000000u));
}
)";

inline constexpr const char* f16_value_text =
    R"(inline float f16_value(std::uint16_t raw) {
  const std::uint32_t field = raw & 0x7c00u, fraction = raw & 0x3ffu;
  const std::uint32_t small = bits_as<std::uint32_t>(float(std::int32_t(fraction)) * 0x1p-24f);
  const std::uint32_t normal = ((field | fraction) << 13) + (112u << 23);
  const std::uint32_t beyond = choose(fraction != 0, 0x7fc00000u, 0x7f800000u);
  const std::uint32_t a = choose(field == 0, small, choose(field == 0x7c00u, beyond, normal));
  return bits_as<float>(a | (raw & 0x8000u) << 16);
}
)";

inline constexpr const char* f16_bits_text =
    R"(inline std::uint16_t f16_bits(float x) {  // x is a number of the format; all NaNs become one
  const std::uint32_t u = bits_as<std::uint32_t>(x), a = u & 0x7fffffffu;
  const float tiny = bits_as<float>(choose(a < 0x38800000u, a, 0u));
  const std::uint32_t small = std::uint32_t(std::int32_t(tiny * 0x1p+24f)), normal = (a >> 13) - (112u << 10);
  const std::uint32_t number = (u >> 16 & 0x8000u) | choose(a < 0x38800000u, small, choose(a >= 0x7f800000u, 0x7c00u, normal));
  return std::uint16_t(choose(a > 0x7f800000u, 0x7e00u, number));
}
)";

}  // namespace isamap

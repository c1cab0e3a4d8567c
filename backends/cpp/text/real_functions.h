// SPDX-License-Identifier: Apache-2.0
#pragma once
// exp, log, tanh, sigmoid, erf, sin, cos and atan of floats as C++ text without tables, and without branches and calls
// but for sines of large angles: templates for a float and for a vector of floats, with the operators that both have.
//
// A loop over the lanes that the compiler vectorises is not enough: in large programs GCC no longer inlines the
// function and calls it for each lane (a quarter of the time of a detector with 60 sigmoids). So they are function
// objects, which are always inlined, and `each_lane` passes them a whole register.
//
// exp(x) = 2^n exp(r) with n = round(x / ln 2) and |r| <= ln 2 / 2; n is taken from the last bits of a sum with 1.5 *
// 2^23, and ln 2 is subtracted in two parts, the first so short that n times it is exact. The polynomials minimise the
// largest relative error of the whole function (Remez exchange in double precision). Errors over all floats are
// measured by tests/backends/functions_test.cpp: below 3 units in the last place.
//
// log(x) = n ln 2 + log(1 + f) with x = 2^n (1 + f) and 1 + f in [sqrt(1/2), sqrt(2)). sin and cos: pi/2 is subtracted
// in four parts of 11 bits, the first three of which times a number of quarter turns below 2^13 are exact (Cody and
// Waite: Software Manual for the Elementary Functions, 1980); beyond 8192 the library is called. atan(x) = pi/2 -
// atan(1/x).

#include <string>

namespace isamap {

inline constexpr const char* word_of_text =
    R"(// A float and its bits, and vectors of as many bytes as V.
template <unsigned Bytes> struct lanes_of {
  typedef float real __attribute__((vector_size(Bytes)));
  typedef std::int32_t whole __attribute__((vector_size(Bytes)));
  typedef std::uint32_t bits __attribute__((vector_size(Bytes)));
};
struct one_lane {
  using real = float;
  using whole = std::int32_t;
  using bits = std::uint32_t;
};
template <class V> struct word_of : lanes_of<sizeof(V)> {};
template <> struct word_of<float> : one_lane {};
template <> struct word_of<std::int32_t> : one_lane {};
)";

/// A backend whose target has a multiplication and addition of one rounding prints that in its place: with it the
/// errors over all floats stay below 3 units, too.
inline constexpr const char* multiply_add_body = "return a * b + c;";
inline std::string multiply_add_text() {
  return std::string(R"(template <class A, class B, class C> [[gnu::always_inline]] inline auto multiply_add)") +
         "(A a, B b, C c) { " + multiply_add_body + " }\n";
}

inline constexpr const char* split_exponent_text =
    R"(// x = n ln 2 + r: the power n, r, and exp(r) - 1. Polynomials without branches, of a float or of lanes of them.
template <class V> struct SplitExponent {
  typename word_of<V>::whole n;
  V less_one;
};
template <class V> [[gnu::always_inline]] inline SplitExponent<V> split_exponent(V x) {
  const V shifted = multiply_add(x, 0x1.715476p+0f, 0x1.8p+23f), n = shifted - 0x1.8p+23f;
  const V r = multiply_add(n, 0x1.bd0106p-13f, multiply_add(n, -0x1.63p-1f, x));
  V rest = multiply_add(r, 0x1.6beb2ep-10f, 0x1.122dp-7f);
  rest = multiply_add(r, rest, 0x1.555668p-5f);
  rest = multiply_add(r, rest, 0x1.5554aap-3f);
  rest = multiply_add(r, rest, 0x1.fffffep-2f);
  return {bits_as<typename word_of<V>::whole>(shifted) - 0x4b400000, multiply_add(r * r, rest, r)};
}
template <class W> [[gnu::always_inline]] inline typename word_of<W>::real power_of_two(W n) {
  return bits_as<typename word_of<W>::real>(bits_as<typename word_of<W>::bits>(n + 127) << 23);
}
)";

inline constexpr const char* magnitude_text =
    R"(template <class V> [[gnu::always_inline]] inline V magnitude(V x) {  // |x|
  return bits_as<V>(bits_as<typename word_of<V>::bits>(x) & 0x7fffffffu);
}
)";

inline constexpr const char* with_sign_text =
    R"(template <class V> [[gnu::always_inline]] inline V with_sign(V size, V x) {  // size >= 0, with the sign of x
  using bits = typename word_of<V>::bits;
  return bits_as<V>(bits_as<bits>(size) | (bits_as<bits>(x) & 0x80000000u));
}
)";

inline constexpr const char* float_exp_text =
    R"(constexpr struct FloatExp {  // a NaN stays one; in two steps, since 2^n may be beyond the normal numbers
  template <class V> [[gnu::always_inline]] inline V operator()(V x) const {
    x = x < -104.0f ? V{} - 104.0f : x;
    x = x > 89.0f ? V{} + 89.0f : x;
    const SplitExponent<V> e = split_exponent(x);
    const auto half = e.n >> 1;
    return (1.0f + e.less_one) * power_of_two(half) * power_of_two(e.n - half);
  }
} float_exp;
)";

inline constexpr const char* float_sigmoid_text =
    R"(constexpr struct FloatSigmoid {  // exp(-|x|) is at most 1 and does not overflow
  template <class V> [[gnu::always_inline]] inline V operator()(V x) const {
    const V e = float_exp(-magnitude(x));
    return (x < 0.0f ? e : V{} + 1.0f) / (1.0f + e);
  }
} float_sigmoid;
)";

inline constexpr const char* float_tanh_text =
    R"(constexpr struct FloatTanh {  // e / (e + 2) with e = exp(2|x|) - 1, which keeps its digits near 0
  template <class V> [[gnu::always_inline]] inline V operator()(V x) const {
    V a = magnitude(x);
    a = a > 10.0f ? V{} + 10.0f : a;
    const SplitExponent<V> e = split_exponent(a + a);
    const V power = power_of_two(e.n), less_one = multiply_add(power, e.less_one, power - 1.0f);
    return with_sign(less_one / (less_one + 2.0f), x);
  }
} float_tanh;
)";

inline constexpr const char* float_erf_text =
    R"(constexpr struct FloatErf {  // below 1 odd powers of x; above it 1 - exp(-p(|x|))
  template <class V> [[gnu::always_inline]] inline V operator()(V x) const {
    V a = magnitude(x);
    a = a > 4.0f ? V{} + 4.0f : a;
    const V z = a * a;
    V near = multiply_add(z, -0x1.4384p-17f, 0x1.d82692p-14f), p = multiply_add(a, 0x1.6c0694p-16f, -0x1.ceeaf2p-12f);
    near = multiply_add(z, near, -0x1.bcbe9ap-11f), p = multiply_add(a, p, 0x1.1398fcp-8f);
    near = multiply_add(z, near, 0x1.5628eep-8f), p = multiply_add(a, p, -0x1.9d0bd6p-6f);
    near = multiply_add(z, near, -0x1.b829a8p-6f), p = multiply_add(a, p, 0x1.bc18dp-4f);
    near = multiply_add(z, near, 0x1.ce2f08p-4f), p = multiply_add(a, p, 0x1.4434fp-1f);
    near = multiply_add(z, near, -0x1.812746p-2f), p = multiply_add(a, p, 0x1.212c2cp+0f);
    near = a * multiply_add(z, near, 0x1.20dd76p+0f), p = multiply_add(a, p, -0x1.8b3f38p-13f);
    const SplitExponent<V> e = split_exponent(-p);
    const V far = multiply_add(-(1.0f + e.less_one), power_of_two(e.n), 1.0f);
    return with_sign(a < 1.0f ? near : far, x);
  }
} float_erf;
)";

inline constexpr const char* float_log_text =
    R"(constexpr struct FloatLog {  // subnormal numbers are scaled by 2^23
  template <class V> [[gnu::always_inline]] inline V operator()(V x) const {
    using whole = typename word_of<V>::whole;
    using bits = typename word_of<V>::bits;  // which wrap, of -0
    const V normal = x < 0x1p-126f ? x * 0x1p+23f : x;
    const whole above = bits_as<whole>(bits_as<bits>(normal) - 0x3f3504f3u);
    V n = bits_as<V>((above >> 23) + 0x4b400000) - 0x1.8p+23f;
    n = x < 0x1p-126f ? n - 23.0f : n;
    const V f = bits_as<V>((above & 0x7fffff) + 0x3f3504f3) - 1.0f, square = f * f;
    V p = multiply_add(f, -0x1.38ceb4p-4f, 0x1.056016p-3f);
    p = multiply_add(f, p, -0x1.0d81f6p-3f);
    p = multiply_add(f, p, 0x1.22d8fap-3f);
    p = multiply_add(f, p, -0x1.54728cp-3f);
    p = multiply_add(f, p, 0x1.99a01ep-3f);
    p = multiply_add(f, p, -0x1.000226p-2f);
    p = multiply_add(f, p, 0x1.555554p-2f);
    const V low = multiply_add(square, V{} - 0.5f, multiply_add(f * p, square, n * 0x1.7f7d1cp-20f));
    const V y = multiply_add(n, 0x1.62e4p-1f, f + low);
    const V end = x == 0.0f ? V{} - bits_as<float>(0x7f800000u) : V{} + bits_as<float>(0x7fc00000u);
    return x > 0.0f ? (x > 0x1.fffffep+127f ? x : y) : end;
  }
} float_log;
)";

inline constexpr const char* quarter_turns_text =
    R"(// x = n pi/2 + rest; n in the last bits of a sum with 1.5 * 2^23. |x| <= 8192.
template <class V> struct QuarterTurns {
  typename word_of<V>::whole n;
  V rest;
};
template <class V> [[gnu::always_inline]] inline QuarterTurns<V> quarter_turns(V x) {
  const V shifted = multiply_add(x, 0x1.45f306p-1f, 0x1.8p+23f), n = shifted - 0x1.8p+23f;
  const V rest = multiply_add(n, -0x1.444p-24f, multiply_add(n, -0x1.fb4p-12f, multiply_add(n, -0x1.92p+0f, x)));
  return {bits_as<typename word_of<V>::whole>(shifted), multiply_add(n, -0x1.68c234p-39f, rest)};
}
// The sine of `turns` quarter turns and a rest, which is at most half of one.
template <class V> [[gnu::always_inline]] inline V sine_of(V rest, typename word_of<V>::whole turns) {
  using bits = typename word_of<V>::bits;
  const V z = rest * rest;
  V s = multiply_add(z, -0x1.9953fep-13f, 0x1.110778p-7f), c = multiply_add(z, 0x1.99e90ep-16f, -0x1.6c0c2ap-10f);
  s = multiply_add(z, s, -0x1.555546p-3f), c = multiply_add(z, c, 0x1.55554ap-5f);
  s = rest * multiply_add(z, s, 1.0f), c = multiply_add(z, multiply_add(z, c, -0.5f), 1.0f);
  const V y = (turns & 1) != 0 ? c : s;
  return bits_as<V>(bits_as<bits>(y) ^ (bits_as<bits>(turns) & 2u) << 30);
}
)";

inline constexpr const char* small_angles_text =
    R"(// Is no |x| above 8192, or no number?
template <class V> [[gnu::always_inline]] inline bool small_angles(V x) {
  const auto beyond = bits_as<typename word_of<V>::whole>(magnitude(x)) > 0x46000000;
  if constexpr (sizeof(V) % sizeof(std::uint64_t) != 0) {
    return !beyond;
  } else {
    std::uint64_t words[sizeof(V) / sizeof(std::uint64_t)], any = 0;
    std::memcpy(words, &beyond, sizeof words);
    for (const std::uint64_t word : words) any |= word;
    return any == 0;
  }
}
template <class V, class F> [[gnu::cold, gnu::noinline]] inline V library_lanes(V x, F f) {
  float lanes[sizeof(V) / sizeof(float)];
  std::memcpy(lanes, &x, sizeof x);
  for (float& lane : lanes) lane = f(lane);
  std::memcpy(&x, lanes, sizeof x);
  return x;
}
)";

inline constexpr const char* float_sin_text =
    R"(constexpr struct FloatSin {
  template <class V> [[gnu::always_inline]] inline V operator()(V x) const {
    if (!small_angles(x)) return library_lanes(x, [](float lane) { return float(std::sin(double(lane))); });
    const QuarterTurns<V> turns = quarter_turns(x);
    return sine_of(turns.rest, turns.n);
  }
} float_sin;
)";

inline constexpr const char* float_cos_text =
    R"(constexpr struct FloatCos {
  template <class V> [[gnu::always_inline]] inline V operator()(V x) const {
    if (!small_angles(x)) return library_lanes(x, [](float lane) { return float(std::cos(double(lane))); });
    const QuarterTurns<V> turns = quarter_turns(x);
    return sine_of(turns.rest, turns.n + 1);
  }
} float_cos;
)";

inline constexpr const char* float_atan_text =
    R"(constexpr struct FloatAtan {
  template <class V> [[gnu::always_inline]] inline V operator()(V x) const {
    const V a = magnitude(x), t = a > 1.0f ? 1.0f / a : a, z = t * t;
    V p = multiply_add(z, 0x1.7ec5f4p-9f, -0x1.0c25c8p-6f);
    p = multiply_add(z, p, 0x1.61f888p-5f);
    p = multiply_add(z, p, -0x1.355458p-4f);
    p = multiply_add(z, p, 0x1.b4dffcp-4f);
    p = multiply_add(z, p, -0x1.230ab2p-3f);
    p = multiply_add(z, p, 0x1.9978eep-3f);
    p = multiply_add(z * multiply_add(z, p, -0x1.5554dcp-2f), t, t);
    return with_sign(a > 1.0f ? 0x1.921fb6p+0f - p : p, x);
  }
} float_atan;
)";

}  // namespace isamap

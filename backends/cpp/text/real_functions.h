// SPDX-License-Identifier: Apache-2.0
#pragma once
// exp, tanh, sigmoid and erf of floats as C++ text without branches, tables or calls: templates for a float and for a
// vector of floats, with the operators that both have.
//
// A loop over the lanes that the compiler vectorises is not enough: in large programs GCC no longer inlines the
// function and calls it for each lane (a quarter of the time of a detector with 60 sigmoids). So they are function
// objects, which are always inlined, and `each_lane` passes them a whole register.
//
// exp(x) = 2^n exp(r) with n = round(x / ln 2) and |r| <= ln 2 / 2; n is taken from the last bits of a sum with 1.5 *
// 2^23, and ln 2 is subtracted in two parts, the first so short that n times it is exact. The polynomials minimise the
// largest relative error of the whole function (Remez exchange in double precision). Errors over all floats are
// measured by tests/backends/functions_test.cpp: below 3 units in the last place.

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

}  // namespace isamap

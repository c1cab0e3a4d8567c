// SPDX-License-Identifier: Apache-2.0
#pragma once
// exp, tanh, sigmoid and erf of floats as vectorizable C++ text: no branches, tables or calls; a select is a
// conditional expression of two computed values.
//
// exp(x) = 2^n exp(r) with n = round(x / ln 2) and |r| <= ln 2 / 2; n is taken from the last bits of a sum with 1.5 *
// 2^23, and ln 2 is subtracted in two parts, the first so short that n times it is exact. The polynomials minimise the
// largest relative error of the whole function (Remez exchange in double precision). Errors over all floats are
// measured by tests/backends/functions_test.cpp: below 3 units in the last place.

namespace isamap {

inline constexpr const char* split_exponent_text =
    R"(// x = n ln 2 + r: the power n, r, and exp(r) - 1. Polynomials without branches, which compilers vectorise.
struct SplitExponent {
  std::int32_t n;
  float less_one;
};
inline SplitExponent split_exponent(float x) {
  const float shift = 0x1.8p+23f, n = (x * 0x1.715476p+0f + shift) - shift;
  const float r = (x - n * 0x1.63p-1f) + n * 0x1.bd0106p-13f;
  const float rest = 0x1.fffffep-2f + r * (0x1.5554aap-3f + r * (0x1.555668p-5f + r * (0x1.122dp-7f + r * 0x1.6beb2ep-10f)));
  const std::int32_t bits = bits_as<std::int32_t>(x * 0x1.715476p+0f + shift);
  return {bits - 0x4b400000, r + r * r * rest};
}
inline float power_of_two(std::int32_t n) { return bits_as<float>(std::uint32_t(n + 127) << 23); }
)";

inline constexpr const char* float_exp_text =
    R"(inline float float_exp(float x) {  // a NaN stays one; in two steps, since 2^n may be beyond the normal numbers
  x = x < -104.0f ? -104.0f : x;
  x = x > 89.0f ? 89.0f : x;
  const SplitExponent e = split_exponent(x);
  const std::int32_t half = e.n >> 1;
  return (1.0f + e.less_one) * power_of_two(half) * power_of_two(e.n - half);
}
)";

inline constexpr const char* float_sigmoid_text =
    R"(inline float float_sigmoid(float x) {  // exp(-|x|) is at most 1 and does not overflow
  const float e = float_exp(-std::fabs(x));
  return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}
)";

inline constexpr const char* float_tanh_text =
    R"(inline float float_tanh(float x) {  // e / (e + 2) with e = exp(2|x|) - 1, which keeps its digits near 0
  float a = std::fabs(x);
  a = a > 10.0f ? 10.0f : a;
  const SplitExponent e = split_exponent(a + a);
  const float power = power_of_two(e.n), less_one = (power - 1.0f) + power * e.less_one;
  return std::copysign(less_one / (less_one + 2.0f), x);
}
)";

inline constexpr const char* float_erf_text =
    R"(inline float float_erf(float x) {  // below 1 odd powers of x; above it 1 - exp(-p(|x|))
  float a = std::fabs(x);
  a = a > 4.0f ? 4.0f : a;
  const float z = a * a;
  const float near = a * (0x1.20dd76p+0f + z * (-0x1.812746p-2f + z * (0x1.ce2f08p-4f + z * (-0x1.b829a8p-6f +
                     z * (0x1.5628eep-8f + z * (-0x1.bcbe9ap-11f + z * (0x1.d82692p-14f + z * -0x1.4384p-17f)))))));
  const float p = -0x1.8b3f38p-13f + a * (0x1.212c2cp+0f + a * (0x1.4434fp-1f + a * (0x1.bc18dp-4f +
                  a * (-0x1.9d0bd6p-6f + a * (0x1.1398fcp-8f + a * (-0x1.ceeaf2p-12f + a * 0x1.6c0694p-16f))))));
  const SplitExponent e = split_exponent(-p);
  const float far = 1.0f - (1.0f + e.less_one) * power_of_two(e.n);
  return std::copysign(a < 1.0f ? near : far, x);
}
)";

}  // namespace isamap

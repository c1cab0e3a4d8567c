// SPDX-License-Identifier: Apache-2.0
// Encodes numbers of every type, and generates random ones that are exactly representable, so that only arithmetic is
// compared.

#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace bench {

enum class Type { f64, f32, tf32, bf16, f16, s32, s8, u8, e4m3, e5m2 };

inline bool is_byte_float(Type t) { return t == Type::e4m3 || t == Type::e5m2; }

inline std::size_t size_of(Type t) {
  return t == Type::f64                                        ? 8
         : t == Type::f32 || t == Type::tf32 || t == Type::s32 ? 4
         : t == Type::s8 || t == Type::u8 || is_byte_float(t)  ? 1
                                                               : 2;
}
inline bool is_float(Type t) { return t != Type::s32 && t != Type::s8 && t != Type::u8; }
/// Unit roundoff: half the distance from 1 to the next number.
inline double roundoff(Type t) {
  switch (t) {
    case Type::f64:
      return 0x1p-53;
    case Type::bf16:
      return 0x1p-8;
    case Type::f16:
      return 0x1p-11;
    case Type::e4m3:
      return 0x1p-4;
    case Type::e5m2:
      return 0x1p-3;
    default:
      return 0x1p-24;
  }
}

/// Numbers of a sign, an exponent of `exponent` bits and `fraction` bits: normal ones and 0.
inline char byte_of_float(double x, int exponent, int fraction) {
  if (x == 0) return 0;
  int power = 0;
  const double part = std::frexp(std::fabs(x), &power) * 2 - 1;  // |x| = (1 + part) * 2^(power - 1)
  const int biased = power - 1 + (1 << (exponent - 1)) - 1;
  return static_cast<char>((x < 0 ? 0x80 : 0) | biased << fraction | static_cast<int>(std::ldexp(part, fraction)));
}
inline double float_of_byte(unsigned char byte, int exponent, int fraction) {
  const int biased = byte >> fraction & ((1 << exponent) - 1), bias = (1 << (exponent - 1)) - 1;
  const int part = byte & ((1 << fraction) - 1);
  const double sign = (byte & 0x80) != 0 ? -1 : 1;
  if (exponent == 5 && biased == 31) return part != 0 ? NAN : sign * INFINITY;
  if (exponent == 4 && (byte & 0x7f) == 0x7f) return NAN;
  return sign * (biased == 0 ? std::ldexp(part, 1 - bias - fraction)
                             : std::ldexp(part + (1 << fraction), biased - bias - fraction));
}

/// `x` must be representable.
inline void encode(Type t, double x, char* to) {
  const float f = static_cast<float>(x);
  switch (t) {
    case Type::f64:
      std::memcpy(to, &x, 8);
      return;
    case Type::f32:
    case Type::tf32:
      std::memcpy(to, &f, 4);
      return;
    case Type::bf16: {
      std::uint32_t bits;
      std::memcpy(&bits, &f, 4);
      const auto high = static_cast<std::uint16_t>(bits >> 16);
      std::memcpy(to, &high, 2);
      return;
    }
    case Type::f16: {
      std::uint32_t bits;
      std::memcpy(&bits, &f, 4);
      const int exponent = static_cast<int>(bits >> 23 & 255) - 127 + 15;
      auto half = static_cast<std::uint16_t>(bits >> 16 & 0x8000);
      if (x != 0)
        half = static_cast<std::uint16_t>(half | exponent << 10 | (bits >> 13 & 0x3ff));  // normal numbers only
      std::memcpy(to, &half, 2);
      return;
    }
    case Type::e4m3:
    case Type::e5m2:
      *to = t == Type::e4m3 ? byte_of_float(x, 4, 3) : byte_of_float(x, 5, 2);
      return;
    case Type::s32: {
      const auto i = static_cast<std::int32_t>(x);
      std::memcpy(to, &i, 4);
      return;
    }
    default:
      *to = static_cast<char>(static_cast<int>(x));
      return;
  }
}

inline double decode(Type t, const char* from) {
  switch (t) {
    case Type::f64: {
      double x;
      std::memcpy(&x, from, 8);
      return x;
    }
    case Type::f32:
    case Type::tf32: {
      float x;
      std::memcpy(&x, from, 4);
      return static_cast<double>(x);
    }
    case Type::bf16: {
      std::uint16_t high;
      std::memcpy(&high, from, 2);
      const std::uint32_t bits = static_cast<std::uint32_t>(high) << 16;
      float x;
      std::memcpy(&x, &bits, 4);
      return static_cast<double>(x);
    }
    case Type::f16: {
      std::uint16_t half;
      std::memcpy(&half, from, 2);
      const int exponent = half >> 10 & 31, fraction = half & 0x3ff;
      const double sign = (half & 0x8000) != 0 ? -1 : 1;
      if (exponent == 31) return fraction != 0 ? NAN : sign * INFINITY;
      return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25));
    }
    case Type::s32: {
      std::int32_t i;
      std::memcpy(&i, from, 4);
      return i;
    }
    case Type::s8:
      return static_cast<signed char>(*from);
    case Type::e4m3:
      return float_of_byte(static_cast<unsigned char>(*from), 4, 3);
    case Type::e5m2:
      return float_of_byte(static_cast<unsigned char>(*from), 5, 2);
    default:
      return static_cast<unsigned char>(*from);
  }
}

/// splitmix64: the same numbers on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
    z = (z ^ z >> 27) * 0x94d049bb133111ebU;
    return z ^ z >> 31;
  }

 private:
  std::uint64_t state_;
};

/// `whole`: integers from -4 to 4 (unsigned: 0 to 8), whose sums are exact; otherwise from -1 to 1 with as many bits as
/// the type has, and integers of the whole range.
inline double random_value(Type t, bool whole, Random& random) {
  const std::uint64_t bits = random.next();
  if (whole) return static_cast<double>(bits % 9) - (t == Type::u8 ? 0 : 4);
  switch (t) {
    case Type::s8:
      return static_cast<double>(bits % 256) - 128;
    case Type::u8:
      return static_cast<double>(bits % 256);
    case Type::s32:
      return static_cast<double>(bits % 2001) - 1000;
    case Type::bf16:
      return (static_cast<double>(bits % 257) - 128) / 128;
    case Type::e4m3:
    case Type::e5m2:  // quarters: both have them up to 1
      return (static_cast<double>(bits % 9) - 4) / 4;
    case Type::f16:
    case Type::tf32:
      return (static_cast<double>(bits % 2049) - 1024) / 1024;
    case Type::f32:
      return (static_cast<double>(bits % 33554433) - 16777216) / 16777216;
    default:
      return (static_cast<double>(bits >> 11) - 0x1p52) / 0x1p52;
  }
}

struct Values {
  std::vector<double> numbers;
  std::string bytes;
};

inline Values random_values(Type t, std::size_t count, bool whole, std::uint64_t seed) {
  Values v;
  Random random(seed);
  v.numbers.resize(count);
  v.bytes.resize(count * size_of(t));
  for (std::size_t i = 0; i < count; ++i) {
    v.numbers[i] = random_value(t, whole, random);
    encode(t, v.numbers[i], &v.bytes[i * size_of(t)]);
  }
  return v;
}

}  // namespace bench

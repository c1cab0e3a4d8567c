// SPDX-License-Identifier: Apache-2.0
#pragma once
// Number formats and their arithmetic, rounded exactly as the format says.
//
// A value travels as Scalar: floats as double, integers as 64 bits. Every format here but f64 has at most
// 24 bits of significand, so + - * / sqrt in double followed by one rounding is correctly rounded
// (Figueroa, "When is double rounding innocuous?", SIGNUM 1995).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace isamap {

/// b1 is a truth value (masks); b8..b64 are bits of any type (moves).
enum class DType { f64, f32, tf32, bf16, f16, e4m3, e5m2, s64, s32, s16, s8, u32, u16, u8, b1, b8, b16, b32, b64 };

std::string_view name(DType type);
std::optional<DType> parse_dtype(std::string_view text);

bool is_float(DType type);
bool is_integer(DType type);  ///< s64..u8
bool is_bits(DType type);     ///< b8..b64
int bits(DType type);         ///< storage: tf32 32, b1 1
inline int bytes(DType type) { return (bits(type) + 7) / 8; }

/// Smallest and largest value of an integer type.
std::int64_t integer_min(DType type);
std::int64_t integer_max(DType type);

/// The smallest type that holds every value of both, or nothing (f32 with s32 has f64; s64 with f64 none).
/// join(s8, u8) = s16; join(bf16, f16) = f32; join(s8, bf16) = bf16 (8 significant bits suffice).
std::optional<DType> join(DType a, DType b);
/// Are they integers of one width? Sums, differences and products of these wrap to the same bits (the ring of integers
/// modulo 2^width), whether the bits are read with a sign or without: s16 and u16.
bool same_ring(DType a, DType b);
/// Does `to` hold every value of `from`?
bool widens(DType from, DType to);

/// One number. `real` is meaningful for float types, `integer` for the others.
struct Scalar {
  double real = 0;
  std::int64_t integer = 0;
  bool operator==(const Scalar&) const = default;
};

/// Rounds a double to the nearest value of a float type, ties to even; overflow gives infinity
/// (e4m3 has none: NaN). Subnormals are kept.
double round_to(DType type, double value);
/// Wraps to the low bits of an integer type (two's complement).
std::int64_t wrap_to(DType type, std::int64_t value);
/// The cast `T(x)`: float to integer truncates towards zero and wraps; `saturate` clamps instead
/// (NaN gives 0; for e4m3 and e5m2 clamps to the largest finite value).
Scalar convert(Scalar value, DType from, DType to, bool saturate);

/// The value in memory, low bits first, and back. e4m3 is OCP FP8 E4M3 (bias 7, no infinity, S.1111.111 is NaN).
std::uint64_t encode(DType type, Scalar value);
Scalar decode(DType type, std::uint64_t raw);

}  // namespace isamap

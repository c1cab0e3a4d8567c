// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "isamap/expression.h"
#include "isamap/interpret.h"

namespace isamap {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
const std::vector<DType> all_types = [] {
  std::vector<DType> types;
  for (const DTypeFormat& f : dtype_formats()) types.push_back(f.type);
  return types;
}();
const std::vector<DType> small_floats = {DType::bf16, DType::f16, DType::e4m3, DType::e5m2};

// All finite values of an 8- or 16-bit format with their encodings, ascending, without -0.
struct Grid {
  std::vector<double> values;
  std::vector<std::uint64_t> codes;
};

Grid grid_of(DType type) {
  std::vector<std::pair<double, std::uint64_t>> found;
  for (std::uint64_t raw = 0; raw < (1ULL << bits(type)); ++raw) {
    const double value = decode(type, raw).real;
    if (std::isfinite(value) && !(value == 0 && std::signbit(value))) found.emplace_back(value, raw);
  }
  std::sort(found.begin(), found.end());
  Grid grid;
  for (const auto& [value, raw] : found) {
    grid.values.push_back(value);
    grid.codes.push_back(raw);
  }
  return grid;
}

// Nearest neighbour by search; the encoding with last bit 0 wins a tie. Values half a step beyond the largest overflow.
double nearest_by_search(const Grid& grid, double x, double overflow) {
  const std::size_t n = grid.values.size();
  const double step = grid.values[n - 1] - grid.values[n - 2];
  const bool last_is_odd = (grid.codes[n - 1] & 1) != 0;
  const double limit = grid.values[n - 1] + step / 2;
  if (std::fabs(x) > limit || (std::fabs(x) == limit && last_is_odd)) return std::copysign(overflow, x);
  const auto above = std::lower_bound(grid.values.begin(), grid.values.end(), x);
  if (above == grid.values.end()) return grid.values.back();
  if (above == grid.values.begin() || *above == x) return *above;
  const double high = *above;
  const double low = *(above - 1);
  if (x - low != high - x) return x - low < high - x ? low : high;
  return (grid.codes[static_cast<std::size_t>(above - grid.values.begin())] & 1) != 0 ? low : high;
}

TEST(DType, DecodeEncodeIsTheIdentityOnEveryCode) {
  for (const DType type : all_types) {
    if (bits(type) > 16) continue;
    for (std::uint64_t raw = 0; raw < (is_truth(type) ? 2 : 1ULL << bits(type)); ++raw) {
      const Scalar value = decode(type, raw);
      if (is_float(type) && std::isnan(value.real))
        EXPECT_TRUE(std::isnan(decode(type, encode(type, value)).real));
      else
        ASSERT_EQ(encode(type, value), raw) << name(type);
    }
  }
}

TEST(DType, RoundsToTheNearestValueTiesToEven) {
  Random random(1);
  for (const DType type : small_floats) {
    const Grid grid = grid_of(type);
    const double overflow = type == DType::e4m3 ? nan : infinity;
    std::vector<double> samples;
    for (std::size_t i = 0; i + 1 < grid.values.size(); ++i) {
      const double middle = (grid.values[i] + grid.values[i + 1]) / 2;
      samples.insert(samples.end(),
                     {grid.values[i], middle, std::nextafter(middle, infinity), std::nextafter(middle, -infinity)});
    }
    const double top = grid.values.back();
    for (int i = 0; i < 2000; ++i) samples.push_back((random.unit() * 2 - 1) * top * 1.2);
    samples.insert(samples.end(), {top * 1.03, -top * 1.03, top * 1.5, 1e300, -1e300, 1e-300});
    for (const double x : samples) {
      const double expected = nearest_by_search(grid, x, overflow);
      const double found = round_to(type, x);
      if (std::isnan(expected))
        EXPECT_TRUE(std::isnan(found)) << name(type) << " " << x;
      else
        ASSERT_EQ(found, expected) << name(type) << " " << x;
    }
  }
}

TEST(DType, Tf32IsF32WithTenBitsOfFraction) {
  EXPECT_EQ(round_to(DType::tf32, 1.0 + 0x1p-10), 1.0 + 0x1p-10);
  EXPECT_EQ(round_to(DType::tf32, 1.0 + 0x1p-11), 1.0);
  EXPECT_EQ(round_to(DType::tf32, 1.0 + 0x3p-11), 1.0 + 0x1p-9);
  EXPECT_EQ(round_to(DType::tf32, 0x1p-149), 0.0);
  EXPECT_EQ(round_to(DType::tf32, 0x1p-136), 0x1p-136);
  Random random(2);
  for (int i = 0; i < 2000; ++i) {
    const double x = std::ldexp(random.unit() * 2 - 1, static_cast<int>(random.between(-140, 127)));
    const double rounded = round_to(DType::tf32, x);
    EXPECT_EQ(decode(DType::tf32, encode(DType::tf32, {x, 0})).real, rounded);
    EXPECT_LE(std::fabs(rounded - x), std::max(std::fabs(x) * 0x1p-11, 0x1p-137));
  }
}

TEST(DType, InfinitiesAndNans) {
  EXPECT_EQ(round_to(DType::e5m2, 1e6), infinity);
  EXPECT_EQ(round_to(DType::e5m2, -61440.0), -infinity);  // halfway beyond 57344, whose last bit is 1
  EXPECT_TRUE(std::isnan(round_to(DType::e4m3, infinity)));
  EXPECT_EQ(round_to(DType::e4m3, 464), 448);
  EXPECT_TRUE(std::isnan(round_to(DType::e4m3, 465)));
  EXPECT_EQ(encode(DType::e4m3, {nan, 0}), 0x7fU);
  EXPECT_EQ(encode(DType::e4m3, {448, 0}), 0x7eU);
  EXPECT_EQ(encode(DType::f16, {infinity, 0}), 0x7c00U);
  EXPECT_EQ(encode(DType::bf16, {-1, 0}), 0xbf80U);
}

TEST(DType, CastsTruncateAndWrapOrClamp) {
  const auto cast = [](double x, DType to, bool saturate) { return convert({x, 0}, DType::f32, to, saturate).integer; };
  EXPECT_EQ(cast(2.9, DType::s8, false), 2);
  EXPECT_EQ(cast(-2.9, DType::s8, true), -2);
  EXPECT_EQ(cast(130, DType::s8, false), -126);
  EXPECT_EQ(cast(130, DType::s8, true), 127);
  EXPECT_EQ(cast(-130, DType::u8, true), 0);
  EXPECT_EQ(cast(-1, DType::u8, false), 255);
  EXPECT_EQ(cast(nan, DType::s32, true), 0);
  EXPECT_EQ(cast(1e30, DType::s64, true), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(cast(0x1p64 + 4096, DType::s64, false), 4096);
  EXPECT_EQ(convert({0, 300}, DType::s32, DType::s8, true).integer, 127);
  EXPECT_EQ(convert({0, 300}, DType::s32, DType::s8, false).integer, 44);
  EXPECT_EQ(convert({1e9, 0}, DType::f32, DType::e4m3, true).real, 448);
  EXPECT_EQ(convert({-infinity, 0}, DType::f32, DType::e5m2, true).real, -57344);
  EXPECT_EQ(convert({1e9, 0}, DType::f32, DType::f16, true).real, infinity);
}

TEST(DType, IntegersBecomeFloatsWithOneRounding) {
  Random random(3);
  for (int i = 0; i < 5000; ++i) {
    const std::int64_t x = static_cast<std::int64_t>(random.next()) >> random.between(0, 60);
    EXPECT_EQ(convert({0, x}, DType::s64, DType::f32, false).real, static_cast<double>(static_cast<float>(x))) << x;
  }
  // 2^60 + 2^52 + 1 is above the middle of two bf16 neighbours; as a double it would lie on it.
  const std::int64_t above_middle = (1LL << 60) + (1LL << 52) + 1;
  EXPECT_EQ(convert({0, above_middle}, DType::s64, DType::bf16, false).real, 0x1.02p60);
}

TEST(DType, HalfOfTheWideUnsignedValuesAreNegativeBits) {
  const Scalar largest{0, -1}, middle{0, std::numeric_limits<std::int64_t>::min()};
  EXPECT_EQ(as_double(DType::u64, largest), 0x1p64);
  EXPECT_EQ(integer_text(DType::u64, largest), "18446744073709551615");
  EXPECT_EQ(integer_text(DType::s64, largest), "-1");
  const auto cast = [](double x, bool saturate) { return convert({x, 0}, DType::f64, DType::u64, saturate).integer; };
  EXPECT_EQ(cast(0x1p63, true), middle.integer);
  EXPECT_EQ(cast(0x1p63, false), middle.integer);
  EXPECT_EQ(cast(1e30, true), -1);
  EXPECT_EQ(cast(-1, true), 0);
  EXPECT_EQ(cast(-1, false), -1);
  EXPECT_EQ(convert(largest, DType::u64, DType::s32, true).integer, 2147483647);
  EXPECT_EQ(convert(largest, DType::u64, DType::u64, true).integer, -1);
  EXPECT_EQ(convert({0, -1}, DType::s64, DType::u64, true).integer, 0);
  EXPECT_EQ(convert(largest, DType::u64, DType::f64, false).real, 0x1p64);
  EXPECT_EQ(convert(middle, DType::u64, DType::f32, false).real, 0x1p63);
  EXPECT_TRUE(is_value_of(DType::u64, 0x1p64) && !is_value_of(DType::u64, -1) && !is_value_of(DType::u64, 0x1p65));
}

TEST(DType, JoinIsTheSmallestTypeThatHoldsBoth) {
  const auto shown = [](DType a, DType b) {
    const auto j = join(a, b);
    return j ? std::string(name(*j)) : "none";
  };
  EXPECT_EQ(shown(DType::s8, DType::u8), "s16");
  EXPECT_EQ(shown(DType::bf16, DType::f16), "f32");
  EXPECT_EQ(shown(DType::s8, DType::bf16), "bf16");
  EXPECT_EQ(shown(DType::f32, DType::s32), "f64");
  EXPECT_EQ(shown(DType::s64, DType::f64), "none");
  EXPECT_EQ(shown(DType::u32, DType::s32), "s64");
  EXPECT_EQ(shown(DType::u64, DType::u32), "u64");
  EXPECT_EQ(shown(DType::u64, DType::s64), "none");
  EXPECT_EQ(shown(DType::e4m3, DType::e5m2), "f16");
  EXPECT_EQ(shown(DType::tf32, DType::bf16), "tf32");
  EXPECT_EQ(shown(DType::b32, DType::f32), "none");
  EXPECT_EQ(shown(DType::b1, DType::s8), "s8");
}

// `widens` against all values of small formats.
TEST(DType, WidensIffEveryValueSurvives) {
  for (const DType from : all_types) {
    if (bits(from) > 16 || is_bits(from)) continue;
    for (const DType to : all_types) {
      if (is_bits(to) || to == DType::b1 || (is_float(from) && !is_float(to))) continue;
      bool survives = true;
      for (std::uint64_t raw = 0; raw < (1ULL << bits(from)) && survives; ++raw) {
        const Scalar value = decode(from, raw);
        const Scalar there = convert(value, from, to, false);
        const double x = as_double(from, value), y = as_double(to, there);
        survives = x == y || (std::isnan(x) && std::isnan(y));
      }
      EXPECT_EQ(widens(from, to), survives) << name(from) << " to " << name(to);
    }
  }
}

TEST(DType, NamesReadBack) {
  for (const DType type : all_types) EXPECT_EQ(parse_dtype(name(type)), type);
  EXPECT_EQ(parse_dtype("f8"), std::nullopt);
}

}  // namespace
}  // namespace isamap

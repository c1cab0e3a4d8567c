// SPDX-License-Identifier: Apache-2.0
// Decoding and encoding preserve all bits: a move of floats is a move.

#include <gtest/gtest.h>

#include <limits>

#include "isamap/expression.h"

namespace isamap {
namespace {

TEST(NanBits, EveryPatternComesBack) {
  for (const DType type : {DType::bf16, DType::f16, DType::e4m3, DType::e5m2})
    for (std::uint64_t raw = 0; raw < (1ULL << bits(type)); ++raw)
      ASSERT_EQ(encode(type, decode(type, raw)), raw) << name(type);
  // Signalling and quiet NaNs of both signs, infinities.
  for (const std::uint64_t raw : {0x7f800001U, 0x7fbfffffU, 0x7fc00000U, 0xff812345U, 0xffc00001U, 0x7f800000U})
    EXPECT_EQ(encode(DType::f32, decode(DType::f32, raw)), raw) << raw;
  for (const std::uint64_t raw : {0x7ff0000000000001ULL, 0xfff8000000000000ULL})
    EXPECT_EQ(encode(DType::f64, decode(DType::f64, raw)), raw) << raw;
  EXPECT_EQ(encode(DType::tf32, decode(DType::tf32, 0x7f802000U)), 0x7f802000U);
}

TEST(NanBits, ComputedOnesAreQuiet) {
  const Scalar signalling = decode(DType::f32, 0x7f800001U);
  EXPECT_EQ(encode(DType::f32, convert(signalling, DType::f32, DType::f32, false)) & 0x7fc00000U, 0x7fc00000U);
  EXPECT_EQ(encode(DType::e4m3, {std::numeric_limits<double>::quiet_NaN(), 0}), 0x7fU);
  EXPECT_EQ(encode(DType::f16, {std::numeric_limits<double>::quiet_NaN(), 0}), 0x7e00U);
  EXPECT_EQ(encode(DType::e4m3, {std::numeric_limits<double>::infinity(), 0}) & 0x7fU, 0x7fU);  // it has none
  // The payload's high bits are gone: still a NaN.
  EXPECT_EQ(encode(DType::f16, decode(DType::f32, 0x7f800001U)), 0x7e00U);
}

}  // namespace
}  // namespace isamap

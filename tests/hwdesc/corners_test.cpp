// SPDX-License-Identifier: Apache-2.0
// Operands that `hw verify` executes instructions with.

#include <gtest/gtest.h>

#include <algorithm>

#include "isamap/interpret.h"
#include "verify/instruction_vectors.h"

namespace isamap {
namespace {

/// With the sign bit alone and with all bits: the least and -1, or half and the largest.
TEST(Corners, OfIntegersHaveTheExtremeBits) {
  for (const DTypeFormat& format : dtype_formats()) {
    if (!is_integer(format.type)) continue;
    const std::vector<Scalar> all = corners(format.type);
    const std::uint64_t sign = std::uint64_t{1} << (bits(format.type) - 1);
    for (const std::uint64_t raw : {sign, sign | (sign - 1)}) {
      const std::int64_t wanted = decode(format.type, raw).integer;
      EXPECT_TRUE(std::ranges::any_of(all, [&](const Scalar& one) { return one.integer == wanted; }))
          << format.name << ": " << integer_text(format.type, decode(format.type, raw));
    }
  }
}

}  // namespace
}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
// How often tiles come from behind a cache that blocks share: products of square matrices, by hand.

#include <gtest/gtest.h>

#include "scheduler/cost/l2_reuse.h"

namespace isamap {
namespace {

constexpr double mebibyte = 1 << 20;
const BlockLoop rows{64, {true, false}}, columns{64, {false, true}};
const std::vector<BlockInput> inputs{{2 * mebibyte, 128 * mebibyte}, {2 * mebibyte, 128 * mebibyte}};

TEST(BlockOrder, WhatTheCacheHoldsComesOnce) {
  EXPECT_EQ(fetched_bytes({rows, columns}, inputs, {512 * mebibyte, 1}), 256 * mebibyte);
  EXPECT_EQ(fetched_bytes({rows, columns}, inputs, {40 * mebibyte, 64 * 64}),
            256 * mebibyte);  // all blocks side by side
}

/// A row of A stays while all of B passes, which is gone when the next row begins.
TEST(BlockOrder, WhatItLosesComesForEachRow) {
  EXPECT_EQ(fetched_bytes({rows, columns}, inputs, {40 * mebibyte, 1}), 128 * mebibyte + 64 * 128 * mebibyte);
  EXPECT_EQ(fetched_bytes({rows, columns}, inputs, {40 * mebibyte, 128}),
            128 * mebibyte + 32 * 128 * mebibyte);  // two rows at once
}

TEST(BlockOrder, RowsThatAreTakenTogetherShareIt) {
  EXPECT_EQ(fetched_bytes(grouped(rows, columns, 8), inputs, {40 * mebibyte, 1}), 128 * mebibyte + 8 * 128 * mebibyte);
  EXPECT_EQ(fetched_bytes(grouped(rows, columns, 16), inputs, {40 * mebibyte, 1}), 128 * mebibyte + 4 * 128 * mebibyte);
  // Too many: 32 rows of A are gone at the next column.
  EXPECT_EQ(fetched_bytes(grouped(rows, columns, 32), inputs, {40 * mebibyte, 1}),
            64 * 128 * mebibyte + 2 * 128 * mebibyte);
}

TEST(BlockOrder, TilesThatOverlapAreNoMoreThanTheTensor) {
  EXPECT_EQ(fetched_bytes({rows}, {{3 * mebibyte, 128 * mebibyte}}, {40 * mebibyte, 1}), 128 * mebibyte);
}

}  // namespace
}  // namespace isamap

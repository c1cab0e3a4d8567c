// SPDX-License-Identifier: Apache-2.0
// How often tiles come from behind a cache that blocks share: products of square matrices, by hand.

#include <gtest/gtest.h>

#include "scheduler/cost/l2_reuse.h"

namespace isamap {
namespace {

constexpr double MiB = 1 << 20;
const BlockLoop rows{64, {true, false}}, columns{64, {false, true}};
const std::vector<BlockInput> inputs{{2 * MiB, 128 * MiB}, {2 * MiB, 128 * MiB}};

TEST(BlockOrder, WhatTheCacheHoldsComesOnce) {
  EXPECT_EQ(fetched_bytes({rows, columns}, inputs, {512 * MiB, 1}), 256 * MiB);
  EXPECT_EQ(fetched_bytes({rows, columns}, inputs, {40 * MiB, 64 * 64}), 256 * MiB);  // all blocks side by side
}

/// A row of A stays while all of B passes, which is gone when the next row begins.
TEST(BlockOrder, WhatItLosesComesForEachRow) {
  EXPECT_EQ(fetched_bytes({rows, columns}, inputs, {40 * MiB, 1}), 128 * MiB + 64 * 128 * MiB);
  EXPECT_EQ(fetched_bytes({rows, columns}, inputs, {40 * MiB, 128}), 128 * MiB + 32 * 128 * MiB);  // two rows at once
}

TEST(BlockOrder, RowsThatAreTakenTogetherShareIt) {
  EXPECT_EQ(fetched_bytes(grouped(rows, columns, 8), inputs, {40 * MiB, 1}), 128 * MiB + 8 * 128 * MiB);
  EXPECT_EQ(fetched_bytes(grouped(rows, columns, 16), inputs, {40 * MiB, 1}), 128 * MiB + 4 * 128 * MiB);
  // Too many: 32 rows of A are gone at the next column.
  EXPECT_EQ(fetched_bytes(grouped(rows, columns, 32), inputs, {40 * MiB, 1}), 64 * 128 * MiB + 2 * 128 * MiB);
}

TEST(BlockOrder, TilesThatOverlapAreNoMoreThanTheTensor) {
  EXPECT_EQ(fetched_bytes({rows}, {{3 * MiB, 128 * MiB}}, {40 * MiB, 1}), 128 * MiB);
}

}  // namespace
}  // namespace isamap

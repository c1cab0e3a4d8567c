// SPDX-License-Identifier: Apache-2.0
#include "planner/arena.h"

#include <gtest/gtest.h>

#include "isamap/interpret.h"

namespace isamap {
namespace {

void expect_apart(const std::vector<Lifetime>& tensors, const Arena& arena) {
  for (std::size_t a = 0; a < tensors.size(); ++a) {
    EXPECT_EQ(arena.at[a] % 64, 0);
    EXPECT_LE(arena.at[a] + tensors[a].bytes, arena.bytes);
    for (std::size_t b = 0; b < a; ++b) {
      if (tensors[a].first > tensors[b].last || tensors[b].first > tensors[a].last) continue;
      if (tensors[a].bytes == 0 || tensors[b].bytes == 0) continue;
      EXPECT_TRUE(arena.at[a] + tensors[a].bytes <= arena.at[b] || arena.at[b] + tensors[b].bytes <= arena.at[a])
          << a << " and " << b;
    }
  }
}

TEST(Arena, ChainNeedsItsTwoLargestNeighbours) {
  const std::vector<Lifetime> chain = {{100, 0, 1}, {640, 1, 2}, {64, 2, 3}, {256, 3, 4}};
  const Arena arena = place_in_arena(chain, 64);
  expect_apart(chain, arena);
  EXPECT_EQ(arena.bytes, 128 + 640);
  EXPECT_EQ(arena.bytes, arena.bound);
}

TEST(Arena, NothingAndEmptyTensorsNeedNothing) {
  EXPECT_EQ(place_in_arena({}, 64).bytes, 0);
  EXPECT_EQ(place_in_arena({{0, 0, 3}, {0, 1, 2}}, 64).bytes, 0);
}

TEST(Arena, RandomLivesAreApartAndClose) {
  double ratio = 0;
  constexpr int runs = 100;
  for (int run = 0; run < runs; ++run) {
    Random random(static_cast<std::uint64_t>(run));
    std::vector<Lifetime> tensors;
    for (int t = 0; t < 40; ++t) {
      const auto first = static_cast<std::size_t>(random.between(0, 60));
      tensors.push_back({random.between(0, 5000), first, first + static_cast<std::size_t>(random.between(0, 8))});
    }
    const Arena arena = place_in_arena(tensors, 64);
    expect_apart(tensors, arena);
    EXPECT_GE(arena.bytes, arena.bound);
    ratio += static_cast<double>(arena.bytes) / static_cast<double>(arena.bound) / runs;
  }
  EXPECT_LE(ratio, 1.05);
}

}  // namespace
}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
// Hashes name entries of caches and points of searches: they must stay what they are.

#include "support/hash.h"

#include <gtest/gtest.h>

#include <vector>

namespace isamap {
namespace {

/// Test vectors of Fowler, Noll and Vo (draft-eastlake-fnv, appendix C).
TEST(Fnv1a, IsThePublishedFunction) {
  EXPECT_EQ(fnv1a(""), 0xcbf29ce484222325U);
  EXPECT_EQ(fnv1a("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(fnv1a("foobar"), 0x85944171f73967e8U);
  EXPECT_EQ(fnv1a("bar", fnv1a("foo")), fnv1a("foobar"));
}

TEST(Fnv1a, TakesANumberAsOneStep) {
  const std::vector<int> numbers{3, 0, 1000};
  std::uint64_t hash = fnv1a_start;
  for (const int number : numbers) hash = fnv1a_step(hash, static_cast<std::uint64_t>(number));
  EXPECT_EQ(fnv1a(numbers), hash);
  EXPECT_EQ(fnv1a(std::vector<int>{}), fnv1a_start);
  EXPECT_NE(fnv1a(std::vector<int>{0}), fnv1a_start);
}

}  // namespace
}  // namespace isamap

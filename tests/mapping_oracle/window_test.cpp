// An instruction whose input adds two dims, C[i] += A[i+x] * B[x]: columns of different dims are coupled, so all pairs
// of columns with entries -1, 0, 1 are tried (0: the dim walks nothing).

#include <gtest/gtest.h>

#include <set>

#include "tests/mapping_oracle/delta.h"
#include "tests/mapping_oracle/lattice.h"
#include "tests/mapping_oracle/notation.h"

namespace isamap::oracle {
namespace {

/// Right column pairs in both operand orders; flipping both columns reverses the instruction and is the same.
int count(const Nest& kernel, Int bound) {
  const Nest unit = nest_from("i x", "C[i] A[i+x] B[x]", {{"i", 4}, {"x", 3}});
  std::set<std::vector<Vec>> found;
  const std::size_t n = kernel.dims();
  for (const Vec& both : box(Vec(2 * n, 2 * bound + 1))) {
    Vec columns = both;
    for (Int& c : columns) c -= bound;
    if (canonical_sign(columns) != columns) continue;
    const Vec i(columns.begin(), columns.begin() + static_cast<long>(n)),
        x(columns.begin() + static_cast<long>(n), columns.end());
    for (const std::vector<int>& operands : {std::vector<int>{0, 1, 2}, std::vector<int>{0, 2, 1}}) {
      Mapping mapping;
      mapping.operands = operands;
      if (!zero(i)) mapping.digits.push_back({i, unit.extents[0], {0}});
      if (!zero(x)) mapping.digits.push_back({x, unit.extents[1], {1}});
      if (mapping.digits.size() == 2 && rank_of({i, x}) < 2) continue;
      const DeltaVerdict verdict = judge_differences(kernel, unit, mapping);
      if (verdict.sound && verdict.no_partials && verdict.neutral)
        found.insert({i, x, Vec(operands.begin(), operands.end())});
    }
  }
  return static_cast<int>(found.size());
}

TEST(WindowInstruction, KnownCounts) {
  EXPECT_EQ(count(nest_from("q s", "O[q] I[q+s] F[s]"), 1), 8);
  EXPECT_EQ(count(nest_from("q s", "O[q] I[q-s+2] F[s]"), 1), 8);
  EXPECT_EQ(count(nest_from("q s", "O[q] I[2q+s] F[s]"), 1), 5);
  EXPECT_EQ(count(nest_from("q s", "O[q] I[q+2s] F[s]"), 1), 5);
  EXPECT_EQ(count(nest_from("n k c p r", "O[n,k,p] I[n,c,p+r] F[k,c,r]"), 1), 20);
  EXPECT_EQ(count(nest_from("i j k", "C[i,j] A[i,k] B[k,j]"), 1), 6);
}

}  // namespace
}  // namespace isamap::oracle

// SPDX-License-Identifier: Apache-2.0
// An instruction whose input adds two dims, C[i] += A[i+x] * B[x]: columns of different dims are coupled, so all pairs
// of columns with entries -1, 0, 1 are tried (0: the dim runs over nothing). And what the mapper misses of such
// instructions: completeness is not claimed there, so misses are counted.

#include <gtest/gtest.h>

#include <iostream>
#include <set>

#include "isamap/mapper.h"
#include "tests/mapping_oracle/convert.h"
#include "tests/mapping_oracle/cover.h"
#include "tests/mapping_oracle/delta.h"
#include "tests/mapping_oracle/identity.h"
#include "tests/mapping_oracle/lattice.h"
#include "tests/mapping_oracle/notation.h"
#include "tests/mapping_oracle/points.h"
#include "tests/mapping_oracle/random_pairs.h"

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

// -- misses ----------------------------------------------------------------------------------------------------------

struct Misses {
  int right = 0, missed = 0;         ///< unit columns, whole dims, one digit a dim at most
  int combined = 0, not_listed = 0;  ///< the same with a column that is no unit column, of a sample
  std::string first;
};

/// Digits that loop these columns if they are right by points: whole dims, combined ones as far as the instruction.
std::optional<Mapping> right_mapping(const Nest& kernel, const Nest& unit, const std::vector<int>& operands,
                                     const std::vector<Vec>& columns) {
  Mapping mapping;
  mapping.operands = {0, 1, 2};
  for (std::size_t m = 0; m < columns.size(); ++m) {
    if (zero(columns[m])) continue;
    Int extent = unit.extents[m];
    for (std::size_t d = 0; d < kernel.dims(); ++d)
      if (std::count(columns[m].begin(), columns[m].end(), 0) + 1 == static_cast<long>(kernel.dims()) &&
          columns[m][d] != 0)
        extent = kernel.extents[d];
    mapping.digits.push_back({columns[m], extent, {static_cast<int>(m)}});
  }
  Nest swapped = kernel;
  for (std::size_t t = 0; t < operands.size(); ++t)
    swapped.operands[t] = kernel.operands[static_cast<std::size_t>(operands[t])];
  if (!moves(mapping, swapped) || !add_loops(swapped, mapping) || !add_carriers(swapped, unit, mapping) ||
      !judge(swapped, unit, mapping).right(false))
    return std::nullopt;
  mapping.operands = operands;
  return mapping;
}

void count_misses(const Pair& pair, Random& random, int samples, Misses& misses) {
  const PairMappings found = mapped(pair, Rule::all);
  std::set<std::string> listed, known;
  for (const isamap::Mapping& mapping : found.mappings)
    listed.insert(identity_of(mapping_of(mapping, pair.statement), pair.statement, pair.unit).directions);
  const std::size_t n = pair.statement.dims();
  const bool commutes = pair.unit.body == Body::product || pair.unit.body == Body::sum;
  const auto look = [&](const std::vector<Vec>& columns, int& right, int& missed) {
    for (const std::vector<int>& operands : {std::vector<int>{0, 1, 2}, std::vector<int>{0, 2, 1}}) {
      if (operands[1] == 2 && !commutes) continue;
      const auto mapping = right_mapping(pair.statement, pair.unit, operands, columns);
      if (!mapping) continue;
      const std::string identity = identity_of(*mapping, pair.statement, pair.unit).directions;
      if (!known.insert(identity).second) continue;
      ++right;
      if (listed.count(identity) > 0) continue;
      ++missed;
      if (&missed == &misses.missed && misses.first.empty())
        misses.first = pair.text + "\n    " + print(*mapping, pair.statement, pair.unit);
    }
  };
  for (const Vec& choice : box(Vec(pair.unit.dims(), static_cast<Int>(n) + 1))) {
    std::vector<Vec> columns(choice.size(), Vec(n, 0));
    std::set<Int> looped;
    bool once = true;
    for (std::size_t m = 0; m < choice.size(); ++m) {
      if (choice[m] == 0) continue;
      columns[m][static_cast<std::size_t>(choice[m] - 1)] = 1;
      once = looped.insert(choice[m]).second && once;
    }
    if (once) look(columns, misses.right, misses.missed);
  }
  for (int i = 0; i < samples; ++i) {
    std::vector<Vec> columns(pair.unit.dims(), Vec(n, 0));
    for (Vec& column : columns)
      for (Int& x : column) x = random.between(0, 2) == 0 ? random.between(-1, 1) : 0;
    look(columns, misses.combined, misses.not_listed);
  }
}

/// Pairs whose instruction adds up dims in an index.
Misses misses_of(std::uint64_t seed, int pairs, const PairLimits& limits) {
  Random random(seed);
  Misses misses;
  for (int n = 0; n < pairs;) {
    const Pair pair = random_pair(random, limits);
    if (pair.projection || pair.statement.constant_operand >= 0) continue;
    ++n;
    count_misses(pair, random, 60, misses);
  }
  std::cout << "instructions that add dims in an index: unit steps, " << misses.missed << " missed of " << misses.right
            << "; with a combined step (sample), " << misses.not_listed << " not listed of " << misses.combined << "\n"
            << (misses.first.empty() ? "" : "  first: " + misses.first + "\n");
  return misses;
}

TEST(WindowInstruction, MissesAreCounted) { EXPECT_GT(misses_of(501, 40, {3, 3, 2, 4, false, true}).right, 100); }
TEST(WindowInstructionHeavy, MissesAreCounted) {
  EXPECT_GT(misses_of(502, 1500, {4, 3, 2, 4, true, true}).right, 4'000);
}

}  // namespace
}  // namespace isamap::oracle

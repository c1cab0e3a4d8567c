// SPDX-License-Identifier: Apache-2.0
// What the mapper lists for random pairs is right by points, and when run on integers with garbage in every slot that
// no active point uses.

#include "tests/mapping_oracle/listed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>

#include "isamap/mapper.h"
#include "tests/mapping_oracle/convert.h"
#include "tests/mapping_oracle/execute.h"
#include "tests/mapping_oracle/random_pairs.h"

namespace isamap::oracle {
namespace {

struct Tally {
  int pairs = 0, mappings = 0, garbage = 0;
  std::map<std::string, int> kinds;
};

/// Up to `most` mappings of each rule.
void expect_right(const Pair& pair, const std::string& seed, std::size_t most, Tally& tally) {
  ++tally.pairs;
  for (const Rule rule : {Rule::access, Rule::full, Rule::all}) {
    PairMappings found = mapped(pair, rule);
    for (isamap::Mapping& other : other_orders_of(pair, found)) found.mappings.push_back(std::move(other));
    const std::size_t step = std::max<std::size_t>(1, found.mappings.size() / most);
    for (std::size_t i = 0; i < found.mappings.size(); i += step) {
      const Mapping mapping = mapping_of(found.mappings[i], pair.statement);
      const std::string shown = pair.text + "\n" + print(mapping, pair.statement, pair.unit) + "\n" + seed;
      const Verdict verdict = judge(pair.statement, pair.unit, mapping);
      EXPECT_TRUE(verdict.right(mapping.partial)) << verdict.text() << "\n" << shown;
      const Execution run = execute(pair.statement, pair.unit, mapping, i + 1);
      EXPECT_EQ(run.problem, "") << shown;
      ++tally.mappings;
      tally.garbage += run.garbage_reads > 0 ? 1 : 0;
      for (const Kind kind : found.mappings[i].kinds) ++tally.kinds[std::string(name(kind))];
    }
  }
}

Tally run_pairs(std::uint64_t seed, int pairs, const PairLimits& limits, std::size_t most) {
  Random random(seed);
  Tally tally;
  for (int n = 0; n < pairs; ++n) {
    const Pair pair = random_pair(random, limits);
    expect_right(pair, "seed " + std::to_string(seed) + ", pair " + std::to_string(n), most, tally);
  }
  std::cout << tally.pairs << " pairs, " << tally.mappings << " mappings (" << tally.garbage << " read garbage):";
  for (const auto& [kind, count] : tally.kinds) std::cout << " " << kind << " " << count;
  std::cout << "\n";
  return tally;
}

TEST(ListedMappings, AreRight) {
  const Tally tally = run_pairs(101, 150, {4, 3, 1, 4, true, true}, 6);
  EXPECT_GT(tally.mappings, 300);
  EXPECT_GT(tally.garbage, 100);
}
TEST(ListedMappingsHeavy, AreRight) {
  EXPECT_GT(run_pairs(102, 5000, {4, 4, 1, 4, true, true}, 12).mappings, 8000);
  EXPECT_GT(run_pairs(103, 1000, {5, 4, 2, 4, true, true}, 12).mappings, 1000);
}

}  // namespace
}  // namespace isamap::oracle

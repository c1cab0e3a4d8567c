// SPDX-License-Identifier: Apache-2.0
// Printed mappings with one thing changed and the residual loops kept: the certificate must be refuted exactly when the
// points say that the mutant is wrong.

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>

#include "isamap/mapper.h"
#include "tests/mapping_oracle/certified.h"
#include "tests/mapping_oracle/convert.h"
#include "tests/mapping_oracle/points.h"
#include "tests/mapping_oracle/random_pairs.h"

namespace isamap::oracle {
namespace {

enum class Change { none, digit_moved, extent_off_by_one, operands_swapped, carrier_swapped };
const std::map<Change, std::string> all_changes = {{Change::none, "none"},
                                                   {Change::digit_moved, "a digit moved to another dim"},
                                                   {Change::extent_off_by_one, "an extent off by one"},
                                                   {Change::operands_swapped, "operands swapped"},
                                                   {Change::carrier_swapped, "a carrier swapped"}};

Int below(Random& random, std::size_t n) { return random.between(0, static_cast<Int>(n) - 1); }

/// Dim and position of a random digit.
std::optional<std::pair<std::size_t, std::size_t>> some_digit(Random& random, const isamap::Mapping& mapping) {
  std::vector<std::pair<std::size_t, std::size_t>> digits;
  for (std::size_t m = 0; m < mapping.dims.size(); ++m)
    for (std::size_t l = 0; l < mapping.dims[m].size(); ++l) digits.push_back({m, l});
  if (digits.empty()) return std::nullopt;
  return digits[static_cast<std::size_t>(below(random, digits.size()))];
}

bool move_digit(Random& random, isamap::Mapping& mapping) {
  const auto at = some_digit(random, mapping);
  if (!at || mapping.dims.size() < 2) return false;
  const std::size_t to =
      (at->first + 1 + static_cast<std::size_t>(below(random, mapping.dims.size() - 1))) % mapping.dims.size();
  auto& from = mapping.dims[at->first];
  const isamap::Digit digit = from[at->second];
  from.erase(from.begin() + static_cast<long>(at->second));
  mapping.dims[to].insert(mapping.dims[to].begin() + below(random, mapping.dims[to].size() + 1), digit);
  return true;
}

/// False where the change does not apply.
bool mutate(Random& random, Change change, const Nest& unit, isamap::Mapping& mapping) {
  if (change == Change::none) return true;
  if (change == Change::digit_moved) return move_digit(random, mapping);
  if (change == Change::extent_off_by_one) {
    const auto at = some_digit(random, mapping);
    if (!at) return false;
    std::int64_t& extent = mapping.dims[at->first][at->second].extent;
    extent += extent <= 2 || random.between(0, 1) == 0 ? 1 : -1;  // one step is no digit
    return true;
  }
  if (change == Change::operands_swapped) {
    std::swap(mapping.operands[1], mapping.operands[2]);
    return true;
  }
  if (mapping.carriers.empty()) return false;
  int& access = mapping.carriers[static_cast<std::size_t>(below(random, mapping.carriers.size()))].access;
  access =
      (access + 1 + static_cast<int>(below(random, unit.operands.size() - 1))) % static_cast<int>(unit.operands.size());
  return true;
}

struct MutantTally {
  int wrong = 0, right = 0, undecided = 0, differ = 0;
  /// Wrong in a way that no question speaks of: carriers that cannot make a term of the body vanish; of two ties of the
  /// same dims, which have one name, the second.
  int not_asked = 0;
};

/// Two reasons of one name.
bool has_two_ties(const Mapping& mapping) {
  return std::count_if(mapping.digits.begin(), mapping.digits.end(),
                       [](const Digit& digit) { return digit.places.size() > 1; }) > 1;
}

void check(const Pair& pair, const isamap::Mapping& mutant, Change change, const std::string& seed,
           MutantTally& tally) {
  Mapping plain = mapping_of(mutant, pair.statement);
  const Certified answer = certified(pair, mutant);
  plain.turns = answer.turns;
  plain.printed = true;
  const Verdict verdict = judge(pair.statement, pair.unit, plain);
  const bool right = verdict.right(plain.partial);
  ++(right ? tally.right : tally.wrong);
  if (!answer.proved) {
    ++tally.undecided;
    return;
  }
  const bool one_input_is_enough = kill_sets(pair.unit).size() + 1 == pair.unit.operands.size();
  const bool asked = !has_two_ties(plain) && (one_input_is_enough || change != Change::carrier_swapped);
  if (!asked && !right && *answer.proved) {
    ++tally.not_asked;
    return;
  }
  tally.differ += right != *answer.proved ? 1 : 0;
  EXPECT_EQ(right, *answer.proved) << all_changes.at(change) << ": points say \"" << verdict.text()
                                   << "\", the certificate \"" << answer.failed << "\"\n"
                                   << pair.text << "\n"
                                   << print(plain, pair.statement, pair.unit) << "\n"
                                   << seed;
}

/// Until every change has made `enough` wrong mutants.
std::map<Change, MutantTally> run(std::uint64_t seed, int enough, int most_pairs) {
  Random random(seed);
  std::map<Change, MutantTally> tallies;
  const auto done = [&] {
    return std::all_of(all_changes.begin(), all_changes.end(), [&](const auto& change) {
      return change.first == Change::none || tallies[change.first].wrong >= enough;
    });
  };
  for (int n = 0; n < most_pairs && !done(); ++n) {
    const Pair pair = random_pair(random, {3, 3, 1, 4, true, true});
    const bool commutes = pair.unit.body == Body::product || pair.unit.body == Body::sum;
    const PairMappings found = mapped(pair, Rule::all);
    for (std::size_t i = 0; i < found.mappings.size(); i += 1 + found.mappings.size() / 3) {
      const isamap::Mapping& mapping = found.mappings[i];
      for (const auto& [change, name] : all_changes) {
        isamap::Mapping mutant = mapping;
        const int ok = tallies[change].right;
        if (tallies[change].wrong >= enough || (change == Change::none && ok >= enough) ||
            (change == Change::operands_swapped && !commutes) || !mutate(random, change, pair.unit, mutant))
          continue;
        check(pair, mutant, change, "seed " + std::to_string(seed) + ", pair " + std::to_string(n), tallies[change]);
      }
    }
  }
  for (const auto& [change, tally] : tallies)
    std::cout << all_changes.at(change) << ": " << tally.wrong << " wrong, " << tally.right << " right, "
              << tally.undecided << " undecided, " << tally.differ << " judged differently, " << tally.not_asked
              << " not asked\n";
  return tallies;
}

TEST(Mutants, AreRefutedExactlyWhenWrong) {
  for (const auto& [change, tally] : run(301, 4, 400)) {
    EXPECT_TRUE(change == Change::none || tally.wrong >= 4) << all_changes.at(change);
    EXPECT_EQ(tally.undecided, 0);
  }
}
TEST(MutantsHeavy, AreRefutedExactlyWhenWrong) {
  for (const auto& [change, tally] : run(302, 1000, 40'000)) {
    EXPECT_TRUE(change == Change::none || tally.wrong >= 1000) << all_changes.at(change);
    EXPECT_LE(tally.undecided, 20);
  }
}

}  // namespace
}  // namespace isamap::oracle

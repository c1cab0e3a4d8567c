// SPDX-License-Identifier: Apache-2.0
// The mapper against the oracle on random pairs: what it lists is right by points and when run on integers with
// garbage, and for box domains and projection instructions it misses no member of the class.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>

#include "isamap/mapper.h"
#include "tests/mapping_oracle/classes.h"
#include "tests/mapping_oracle/convert.h"
#include "tests/mapping_oracle/cover.h"
#include "tests/mapping_oracle/enumerate.h"
#include "tests/mapping_oracle/identity.h"
#include "tests/mapping_oracle/listed.h"
#include "tests/mapping_oracle/points.h"
#include "tests/mapping_oracle/random_pairs.h"

namespace isamap::oracle {
namespace {

/// ISAMAP_ORACLE_SEED=n: other pairs than those of the committed seeds.
std::uint64_t other_seed() {
  const char* text = std::getenv("ISAMAP_ORACLE_SEED");
  return text == nullptr ? 0 : 1000 * std::strtoull(text, nullptr, 10);
}

// -- nothing is missed -----------------------------------------------------------------------------------------------

/// The member as a mapping that is right by points, if it can be.
std::optional<Mapping> right_mapping(const Member& member, const Nest& kernel, const Nest& unit) {
  Mapping mapping = realise(member, kernel, unit);
  if (!moves(mapping, kernel)) return std::nullopt;
  if (!add_loops(kernel, mapping) || !add_carriers(kernel, unit, mapping)) return std::nullopt;
  return judge(kernel, unit, mapping).right(false) ? std::optional(mapping) : std::nullopt;
}

/// Where sizes are too large for points: right by the construction of the class if every reason for padding can have a
/// carrier.
std::optional<Mapping> large_mapping(const Member& member, const Nest& kernel, const Nest& unit) {
  return member.carried ? std::optional(realise(member, kernel, unit)) : std::nullopt;
}

std::set<std::string> traits(const Pair& pair, const Member& member) {
  std::set<std::string> names;
  if (pair.statement.constant_operand >= 0) names.insert("constant");
  if (member.skew) names.insert("skew");
  if (member.block) names.insert("block-diagonal");
  for (const Placed& digit : member.digits)
    if (digit.classes.size() > 2) names.insert("tie of three");
  for (const Chained& c : member.chains) names.insert(c.bounded ? "bounded" : "chain");
  if (!names.empty() && pair.unit.body == Body::abs_diff) names.insert("whole tiles");
  return names;
}

struct Missing {
  bool large = false;
  int by_luck = 0;  ///< missed members that hold only for these sizes of other dims
  int members = 0, listed = 0, required = 0, missed = 0, in_cut_domains = 0, extra = 0;
  int twice = 0;
  std::string first_extra, first_twice;
  std::map<std::string, std::pair<int, int>> by_trait;  // missed, of
  std::map<std::string, std::string> first_missed;
};

std::string joined(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& n : names) text += (text.empty() ? "" : "+") + n;
  return text.empty() ? "plain" : text;
}

/// Directions -> the orders of parallel output digits in which they are listed, as entries and inside entries.
using Identities = std::map<std::string, std::set<std::string>>;

/// How large the steps of each digit are: of two in one order the finer one may be cut to a step of the other, or the
/// other steps over all of it, which are two mappings (the tables of counts have both).
std::string steps_of(const isamap::Mapping& mapping) {
  std::string text;
  for (const auto& digits : mapping.dims) {
    text += "|";
    for (const isamap::Digit& digit : digits) text += print(digit.column) + " ";
  }
  return text;
}

Identities listed_identities(const Pair& pair, const PairMappings& found, int* twice = nullptr) {
  Identities listed;
  std::set<std::string> once;
  const auto add = [&](const isamap::Mapping& mapping) {
    if (mapping.kinds.count(Kind::partial) > 0) return;
    const Identity identity = identity_of(mapping_of(mapping, pair.statement), pair.statement, pair.unit);
    listed[identity.directions].insert(identity.full);
    if (!once.insert(identity.full + steps_of(mapping)).second && twice != nullptr) ++*twice;
  };
  for (const isamap::Mapping& mapping : found.mappings) add(mapping);
  for (const isamap::Mapping& mapping : other_orders_of(pair, found)) add(mapping);
  return listed;
}

/// Digits that share a class and move the output equally far span a step of it that leaves the output in place: a sum
/// that is spread, which is no member.
bool spreads_a_sum(const Member& member) {
  return std::any_of(member.chains.begin(), member.chains.end(), [&](const Chained& c) {
    const auto &a = member.digits[static_cast<std::size_t>(c.inner)].classes,
               &b = member.digits[static_cast<std::size_t>(c.outer)].classes;
    return std::abs(c.numerator) == c.denominator &&
           std::find_first_of(a.begin(), a.end(), b.begin(), b.end()) != a.end();
  });
}

/// The statement with its operands in this order.
Nest nest_with(const Nest& statement, const std::vector<int>& operands) {
  Nest nest = statement;
  for (std::size_t t = 0; t < operands.size(); ++t)
    nest.operands[t] = statement.operands[static_cast<std::size_t>(operands[t])];
  return nest;
}

void count_member(const Pair& pair, const Member& member, const Mapping& mapping, bool missed, const std::string& seed,
                  Missing& missing) {
  if (missed && !missing.large && right_by_luck(nest_with(pair.statement, mapping.operands), pair.unit, mapping)) {
    ++missing.by_luck;
    return;
  }
  const std::set<std::string> names = traits(pair, member);
  ++missing.members;
  missing.missed += missed ? 1 : 0;
  missing.required += pair.box_domain ? 1 : 0;
  missing.in_cut_domains += missed && !pair.box_domain ? 1 : 0;
  auto& [lost, of] = missing.by_trait[joined(names)];
  lost += missed ? 1 : 0;
  ++of;
  if (missed)
    missing.first_missed.emplace(joined(names), pair.text + "\n      " + print(mapping, pair.statement, pair.unit));
  EXPECT_FALSE(missed && pair.box_domain) << pair.text << "\n"
                                          << print(mapping, pair.statement, pair.unit) << "\n"
                                          << joined(names) << "\n"
                                          << seed;
}

void compare(const Pair& pair, const std::string& seed, Missing& missing) {
  const PairMappings found = mapped(pair, Rule::all);
  if (found.limit_reached) return;
  const int twice_before = missing.twice;
  Identities listed = listed_identities(pair, found, &missing.twice), known;
  if (missing.twice > twice_before && twice_before == 0) missing.first_twice = pair.text + " " + seed;
  const bool commutes = pair.unit.body == Body::product || pair.unit.body == Body::sum;
  for (const std::vector<int>& operands : {std::vector<int>{0, 1, 2}, std::vector<int>{0, 2, 1}}) {
    if (operands[1] == 2 && !commutes) continue;
    const Nest kernel = nest_with(pair.statement, operands);
    for (const Member& member : all_members(kernel, pair.unit, Orders::every_order)) {
      if (spreads_a_sum(member)) continue;
      std::optional<Mapping> mapping =
          missing.large ? large_mapping(member, kernel, pair.unit) : right_mapping(member, kernel, pair.unit);
      if (!mapping) continue;
      mapping->operands = operands;
      const auto [directions, full] = identity_of(*mapping, pair.statement, pair.unit);
      if (known[directions].insert(full).second)
        count_member(pair, member, *mapping, listed[directions].count(full) == 0, seed, missing);
    }
  }
  for (const auto& [directions, orders] : listed) {
    missing.listed += static_cast<int>(orders.size());
    for (const std::string& order : orders)
      if (known[directions].count(order) == 0 && missing.extra++ == 0)
        missing.first_extra = pair.text + " " + order + " " + seed;
  }
}

Missing compare_pairs(std::uint64_t seed, int pairs, PairLimits limits) {
  Random random(seed + other_seed());
  Missing missing;
  missing.large = limits.kernel_extent > 0;
  limits.windows = false;  // instructions are projections
  for (int n = 0; n < pairs; ++n) {
    const Pair pair = random_pair(random, limits);
    if (missing.large && pair.unit.body != Body::product && pair.unit.body != Body::sum) continue;
    compare(pair, "seed " + std::to_string(seed) + ", pair " + std::to_string(n), missing);
  }
  std::cout << missing.members << " members, " << missing.required << " in box domains; missed "
            << missing.missed - missing.in_cut_domains << " there and " << missing.in_cut_domains
            << " in cut domains (and " << missing.by_luck << " that hold by luck); " << missing.listed << " listed, "
            << missing.extra << " of them not in the oracle's class\n"
            << (missing.extra > 0 ? "  first: " + missing.first_extra + "\n" : "");
  EXPECT_EQ(missing.twice, 0) << missing.first_twice;
  for (const auto& [trait, counts] : missing.by_trait)
    std::cout << "  " << trait << ": missed " << counts.first << " of " << counts.second << "\n"
              << (counts.first > 0 ? "    first: " + missing.first_missed[trait] + "\n" : "");
  return missing;
}

TEST(MissedMappings, None) { EXPECT_GT(compare_pairs(201, 120, {3, 3, 2, 4, true, false}).required, 100); }
TEST(MissedMappings, NoneAtLargeSizes) {
  EXPECT_GT(compare_pairs(211, 120, {3, 3, 2, 4, false, false, 24}).required, 100);
}
TEST(MissedMappingsHeavy, NoneAtLargeSizes) {
  EXPECT_GT(compare_pairs(212, 3000, {4, 4, 2, 4, false, false, 24}).required, 1000);
  EXPECT_GT(compare_pairs(213, 300, {5, 3, 2, 4, false, false, 24}).required, 100);
}
/// Five dims of a kernel, four of an instruction, some on one operand only (ties of three), three dims in an index,
/// factors to 3 of either sign, offsets.
TEST(MissedMappings, NoneOfWidePairs) {
  EXPECT_GT(compare_pairs(221, 20, {4, 4, 2, 4, true, false, 0, true}).required, 20);
}
TEST(MissedMappingsHeavy, NoneOfWidePairs) {
  EXPECT_GT(compare_pairs(222, 2500, {4, 4, 2, 4, true, false, 0, true}).required, 1000);
  EXPECT_GT(compare_pairs(223, 200, {5, 4, 2, 3, true, false, 0, true}).required, 100);
}
TEST(MissedMappingsHeavy, None) {
  EXPECT_GT(compare_pairs(202, 2500, {4, 4, 2, 4, true, false}).required, 1000);
  EXPECT_GT(compare_pairs(203, 200, {5, 3, 2, 3, true, false}).required, 100);
}

// -- raw mappings ----------------------------------------------------------------------------------------------------

struct Raw {
  int raw = 0, skewed = 0, required = 0, missed = 0;
};

void compare_raw(const Pair& pair, Random& random, std::size_t most, const std::string& seed, Raw& tally) {
  const PairMappings found = mapped(pair, Rule::all);
  const Identities listed = listed_identities(pair, found);
  for (const Mapping& raw : raw_mappings(random, pair.statement, pair.unit, most)) {
    ++tally.raw;
    const std::string shown = pair.text + "\n" + print(raw, pair.statement, pair.unit) + "\n" + seed;
    const auto member = conformal_member(pair.statement, pair.unit, raw);
    ASSERT_TRUE(member) << "not in the class: " << shown;
    const bool skewed = std::any_of(member->digits.begin(), member->digits.end(), [](const Digit& digit) {
      return std::count(digit.column.begin(), digit.column.end(), 0) + 1 < static_cast<long>(digit.column.size());
    });
    const bool missed = listed.count(identity_of(*member, pair.statement, pair.unit).directions) == 0;
    const bool needed = moves(*member, pair.statement) && !found.limit_reached;
    tally.skewed += skewed ? 1 : 0;
    tally.missed += missed ? 1 : 0;
    tally.required += needed ? 1 : 0;
    EXPECT_FALSE(missed && needed) << shown << "\n" << print(*member, pair.statement, pair.unit);
  }
}

Raw compare_raw_pairs(std::uint64_t seed, int pairs, std::size_t most, const PairLimits& limits) {
  Random random(seed + other_seed());
  Raw tally;
  for (int n = 0; n < pairs; ++n) {
    const Pair pair = random_pair(random, limits);
    compare_raw(pair, random, most, "seed " + std::to_string(seed) + ", pair " + std::to_string(n), tally);
  }
  std::cout << tally.raw << " raw mappings, " << tally.skewed << " need a skewed member; " << tally.required
            << " required, " << tally.missed << " missed\n";
  return tally;
}

TEST(RawMappings, HaveAConformalMember) {
  EXPECT_GT(compare_raw_pairs(401, 60, 40, {3, 3, 2, 4, false, false}).raw, 300);
}
TEST(RawMappingsHeavy, HaveAConformalMember) {
  EXPECT_GT(compare_raw_pairs(402, 1500, 400, {3, 3, 2, 4, false, false}).raw, 20'000);
  EXPECT_GT(compare_raw_pairs(403, 300, 300, {5, 4, 2, 4, false, false}).raw, 5'000);
}

}  // namespace
}  // namespace isamap::oracle

// The mapper against the oracle on random pairs: what it lists is right by points and when run on integers with
// garbage, and for box domains and projection instructions it misses no member of the class.

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <numeric>

#include "mapper/mapper.h"
#include "tests/mapping_oracle/classes.h"
#include "tests/mapping_oracle/convert.h"
#include "tests/mapping_oracle/cover.h"
#include "tests/mapping_oracle/enumerate.h"
#include "tests/mapping_oracle/execute.h"
#include "tests/mapping_oracle/random_pairs.h"

namespace isamap::oracle {
namespace {

/// Members whose traits are all here must not be missed. Traits: "skew", "chain" (two output digits along one
/// direction, shared chain), "bounded" (the same, the finer one cut), "block-diagonal".
const std::set<std::string> kRequired = {"bounded"};

PairMappings mapped(const Pair& pair, Rule rule) {
  MapOptions options;
  options.rule = rule;
  return map_statement(pair.kernel, StatementId{0}, pair.instruction, InstructionId{0}, options);
}

// -- everything listed is right --------------------------------------------------------------------------------------

struct Tally {
  int pairs = 0, mappings = 0, garbage = 0;
  std::map<std::string, int> kinds;
};

/// Up to `most` mappings of each rule.
void expect_right(const Pair& pair, const std::string& seed, std::size_t most, Tally& tally) {
  ++tally.pairs;
  for (const Rule rule : {Rule::access, Rule::full, Rule::all}) {
    const PairMappings found = mapped(pair, rule);
    const std::size_t step = std::max<std::size_t>(1, found.mappings.size() / most);
    for (std::size_t i = 0; i < found.mappings.size(); i += step) {
      Mapping mapping = mapping_of(found.mappings[i], pair.statement);
      const bool covered = mapping.printed || add_loops(pair.statement, mapping);
      const std::string shown = pair.text + "\n" + print(mapping, pair.statement, pair.unit) + "\n" + seed;
      ASSERT_TRUE(covered) << shown;
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

// -- nothing is missed -----------------------------------------------------------------------------------------------

/// Relabelings of the instruction's inputs and dims that leave every operand's index list as it is.
struct Relabeling {
  std::vector<int> operands, dims;
};
std::vector<Relabeling> symmetries(const Nest& unit) {
  std::vector<Relabeling> list;
  std::vector<int> operands(unit.operands.size()), dims(unit.dims());
  std::iota(operands.begin(), operands.end(), 0);
  do {
    std::iota(dims.begin(), dims.end(), 0);
    do {
      bool same =
          unit.body == Body::product || unit.body == Body::sum || std::is_sorted(operands.begin(), operands.end());
      for (std::size_t m = 0; m < dims.size(); ++m)
        same = same && unit.extents[m] == unit.extents[static_cast<std::size_t>(dims[m])];
      for (std::size_t t = 0; t < operands.size() && same; ++t) {
        const auto &from = unit.operands[t], &to = unit.operands[static_cast<std::size_t>(operands[t])];
        same = from.size() == to.size();
        for (std::size_t r = 0; r < from.size() && same; ++r)
          for (std::size_t m = 0; m < dims.size(); ++m)
            same = same && from[r].coefficients[m] == to[r].coefficients[static_cast<std::size_t>(dims[m])];
      }
      if (same) list.push_back({operands, dims});
    } while (std::next_permutation(dims.begin(), dims.end()));
  } while (std::next_permutation(operands.begin() + 1, operands.end()));
  return list;
}

Vec image(const Nest& kernel, const Vec& column) {
  Vec image;
  for (const Row& row : kernel.operands[0]) image.push_back(linear(row, column));
  return image;
}

Vec primitive(Vec v) {
  Int common = 0;
  for (const Int x : v) common = std::gcd(common, x);
  for (Int& x : v) x /= std::max<Int>(common, 1);
  return canonical_sign(v);
}

std::string text(const Vec& v) {
  std::string text;
  for (const Int x : v) text += std::to_string(x) + " ";
  return text;
}

Int size_of(const Vec& v) {
  Int sum = 0;
  for (const Int x : v) sum += std::abs(x);
  return sum;
}

bool on_output(const Digit& digit, const Nest& unit) {
  return std::any_of(digit.places.begin(), digit.places.end(),
                     [&](int m) { return unit.uses(0, static_cast<std::size_t>(m)); });
}

/// "0 1 inside 1 0": of two output digits that move the output along one direction, the first is the finer one.
std::set<std::string> orders_of(const Mapping& mapping, const Nest& kernel, const Nest& unit) {
  std::set<std::string> parts;
  for (const Digit& inner : mapping.digits) {
    for (const Digit& outer : mapping.digits) {
      const Vec u = image(kernel, inner.column), w = image(kernel, outer.column);
      if (inner.extent == 1 || outer.extent == 1 || !on_output(inner, unit) || !on_output(outer, unit)) continue;
      if (zero(u) || zero(w) || rank_of({u, w}) == 2 || primitive(inner.column) == primitive(outer.column)) continue;
      if (size_of(u) < size_of(w))
        parts.insert(text(primitive(inner.column)) + "inside " + text(primitive(outer.column)));
    }
  }
  return parts;
}

/// Direction and the operand sets of the dims that it is on.
std::string placed(const Digit& digit, const Nest& unit, const Relabeling& by) {
  std::set<std::string> places;
  for (const int m : digit.places) {
    std::string uses;
    for (std::size_t t = 0; t < unit.operands.size(); ++t)
      uses += unit.uses(t, static_cast<std::size_t>(by.dims[static_cast<std::size_t>(m)])) ? "1" : "0";
    places.insert(uses);
  }
  std::string part = text(primitive(digit.column)) + "on";
  for (const std::string& place : places) part += " " + place;
  return part;
}

/// Operands, placed directions, orders; the smallest over the instruction's symmetries.
std::string identity_of(const Mapping& mapping, const Nest& kernel, const Nest& unit) {
  std::vector<std::string> keys;
  for (const Relabeling& by : symmetries(unit)) {
    std::vector<int> operands(mapping.operands.size());
    for (std::size_t t = 0; t < operands.size(); ++t)
      operands[static_cast<std::size_t>(by.operands[t])] = mapping.operands[t];
    std::set<std::string> parts = orders_of(mapping, kernel, unit);
    for (const Digit& digit : mapping.digits)
      if (digit.extent > 1) parts.insert(placed(digit, unit, by));
    std::string key;
    for (const int t : operands) key += std::to_string(t) + ",";
    for (const std::string& part : parts) key += "|" + part;
    keys.push_back(key);
  }
  return *std::min_element(keys.begin(), keys.end());
}

/// The member as a mapping that is right by points, if it can be.
std::optional<Mapping> right_mapping(const Member& member, const Nest& kernel, const Nest& unit) {
  Mapping mapping = realise(member, kernel, unit);
  if (!add_loops(kernel, mapping) || !add_carriers(kernel, unit, mapping)) return std::nullopt;
  return judge(kernel, unit, mapping).right(false) ? std::optional(mapping) : std::nullopt;
}

std::set<std::string> traits(const Pair& pair, const Member& member) {
  std::set<std::string> names;
  if (pair.statement.constant_operand >= 0) names.insert("constant");
  if (member.skew) names.insert("skew");
  if (member.block) names.insert("block-diagonal");
  for (const Chained& c : member.chains) names.insert(c.bounded ? "bounded" : "chain");
  return names;
}

struct Missing {
  int members = 0, listed = 0, required = 0, missed = 0, extra = 0;
  std::string first_extra;
  std::map<std::string, std::pair<int, int>> by_trait;  // missed, of
  std::map<std::string, std::string> first_missed;
};

std::string joined(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& n : names) text += (text.empty() ? "" : "+") + n;
  return text.empty() ? "plain" : text;
}

std::set<std::string> listed_identities(const Pair& pair, const PairMappings& found) {
  std::set<std::string> listed;
  for (const isamap::Mapping& mapping : found.mappings) {
    if (mapping.kinds.count(Kind::partial) == 0)
      listed.insert(identity_of(mapping_of(mapping, pair.statement), pair.statement, pair.unit));
  }
  return listed;
}

void count_member(const Pair& pair, const Member& member, const Mapping& mapping, bool missed, const std::string& seed,
                  Missing& missing) {
  const std::set<std::string> names = traits(pair, member);
  const bool required = std::includes(kRequired.begin(), kRequired.end(), names.begin(), names.end());
  ++missing.members;
  missing.missed += missed ? 1 : 0;
  missing.required += required ? 1 : 0;
  auto& [lost, of] = missing.by_trait[joined(names)];
  lost += missed ? 1 : 0;
  ++of;
  if (missed)
    missing.first_missed.emplace(joined(names), pair.text + "\n      " + print(mapping, pair.statement, pair.unit));
  EXPECT_FALSE(missed && pair.box_domain && required) << pair.text << "\n"
                                                      << print(mapping, pair.statement, pair.unit) << "\n"
                                                      << joined(names) << "\n"
                                                      << seed;
}

void compare(const Pair& pair, const std::string& seed, Missing& missing) {
  const PairMappings found = mapped(pair, Rule::all);
  if (found.limit_reached) return;
  const std::set<std::string> listed = listed_identities(pair, found);
  std::set<std::string> known;
  missing.listed += static_cast<int>(listed.size());
  const bool commutes = pair.unit.body == Body::product || pair.unit.body == Body::sum;
  for (const std::vector<int>& operands : {std::vector<int>{0, 1, 2}, std::vector<int>{0, 2, 1}}) {
    if (operands[1] == 2 && !commutes) continue;
    Nest kernel = pair.statement;
    for (std::size_t t = 0; t < operands.size(); ++t)
      kernel.operands[t] = pair.statement.operands[static_cast<std::size_t>(operands[t])];
    for (const Member& member : all_members(kernel, pair.unit, Orders::counted_once)) {
      std::optional<Mapping> mapping = right_mapping(member, kernel, pair.unit);
      if (!mapping) continue;
      mapping->operands = operands;
      const std::string key = identity_of(*mapping, pair.statement, pair.unit);
      if (known.insert(key).second) count_member(pair, member, *mapping, listed.count(key) == 0, seed, missing);
    }
  }
  for (const std::string& key : listed) {
    if (known.count(key) > 0) continue;
    if (missing.extra++ == 0) missing.first_extra = pair.text + " " + key + " " + seed;
  }
}

Missing compare_pairs(std::uint64_t seed, int pairs, PairLimits limits) {
  Random random(seed);
  Missing missing;
  limits.windows = false;  // instructions are projections
  for (int n = 0; n < pairs; ++n)
    compare(random_pair(random, limits), "seed " + std::to_string(seed) + ", pair " + std::to_string(n), missing);
  std::cout << missing.members << " members, " << missing.required << " required, " << missing.missed << " missed; "
            << missing.listed << " listed, " << missing.extra << " of them not in the oracle's class\n"
            << (missing.extra > 0 ? "  first: " + missing.first_extra + "\n" : "");
  for (const auto& [trait, counts] : missing.by_trait)
    std::cout << "  " << trait << ": missed " << counts.first << " of " << counts.second << "\n"
              << (counts.first > 0 ? "    first: " + missing.first_missed[trait] + "\n" : "");
  return missing;
}

TEST(MissedMappings, NoneOfTheRequiredTraits) {
  EXPECT_GT(compare_pairs(201, 120, {3, 3, 2, 4, true, false}).required, 100);
}
TEST(MissedMappingsHeavy, NoneOfTheRequiredTraits) {
  EXPECT_GT(compare_pairs(202, 2500, {4, 4, 2, 4, true, false}).required, 1000);
  EXPECT_GT(compare_pairs(203, 200, {5, 3, 2, 3, true, false}).required, 100);
}

// -- raw mappings ----------------------------------------------------------------------------------------------------

struct Raw {
  int raw = 0, skewed = 0, required = 0, missed = 0;
};

void compare_raw(const Pair& pair, Random& random, std::size_t most, const std::string& seed, Raw& tally) {
  const PairMappings found = mapped(pair, Rule::all);
  const std::set<std::string> listed = listed_identities(pair, found);
  for (const Mapping& raw : raw_mappings(random, pair.statement, pair.unit, most)) {
    ++tally.raw;
    const std::string shown = pair.text + "\n" + print(raw, pair.statement, pair.unit) + "\n" + seed;
    const auto member = conformal_member(pair.statement, pair.unit, raw);
    ASSERT_TRUE(member) << "not in the class: " << shown;
    const bool skewed = std::any_of(member->digits.begin(), member->digits.end(), [](const Digit& digit) {
      return std::count(digit.column.begin(), digit.column.end(), 0) + 1 < static_cast<long>(digit.column.size());
    });
    const bool missed = listed.count(identity_of(*member, pair.statement, pair.unit)) == 0;
    const bool constant = pair.statement.constant_operand >= 0;
    const bool required = (!skewed || kRequired.count("skew") > 0) && (!constant || kRequired.count("constant") > 0) &&
                          !found.limit_reached;
    tally.skewed += skewed ? 1 : 0;
    tally.missed += missed ? 1 : 0;
    tally.required += required ? 1 : 0;
    EXPECT_FALSE(missed && required) << shown << "\n" << print(*member, pair.statement, pair.unit);
  }
}

Raw compare_raw_pairs(std::uint64_t seed, int pairs, std::size_t most, const PairLimits& limits) {
  Random random(seed);
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

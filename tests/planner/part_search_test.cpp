// SPDX-License-Identifier: Apache-2.0
// Plans against every plan there is, on random graphs.

#include "planner/part_search.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <set>

#include "isamap/interpret.h"

namespace isamap {
namespace {

using Sets = std::vector<std::vector<std::size_t>>;

/// Every statement reads one to three earlier ones; what joins save and cost depends on the regime.
PartCoverProblem random_problem(std::size_t count, int regime, std::uint64_t seed) {
  Random random(seed * 3 + static_cast<std::uint64_t>(regime));
  PartCoverProblem problem;
  std::vector<double> work, bytes;
  for (std::size_t s = 0; s < count; ++s) {
    std::set<std::size_t> reads;
    for (std::int64_t r = s == 0 ? 0 : random.between(1, 3); r > 0; --r)
      reads.insert(static_cast<std::size_t>(random.between(std::max<std::int64_t>(0, static_cast<std::int64_t>(s) - 4),
                                                           static_cast<std::int64_t>(s) - 1)));
    problem.before.emplace_back(reads.begin(), reads.end());
    work.push_back(1 + 9 * random.unit());
    bytes.push_back(5 * random.unit());
  }
  problem.candidates = convex_sets(problem.before, count, 1000000, [](std::size_t, std::size_t) { return true; });
  for (const auto& set : problem.candidates) {
    double price = 0;
    for (const std::size_t s : set) {
      price += work[s];
      for (const std::size_t b : problem.before[s])
        if (!std::binary_search(set.begin(), set.end(), b)) price += bytes[b];
    }
    const auto size = static_cast<double>(set.size());
    if (regime == 1) price += 0.15 * size * size;                               // registers and code
    if (regime == 2) price *= set.size() == 1 ? 1 : 0.7 + 0.8 * random.unit();  // some fuse well, some badly
    problem.price.push_back(price);
  }
  return problem;
}

/// Every partition, one statement after another, that can run in some order.
double cheapest_of_all(const PartCoverProblem& problem) {
  std::map<std::vector<std::size_t>, double> price;
  for (std::size_t c = 0; c < problem.candidates.size(); ++c) price[problem.candidates[c]] = problem.price[c];
  double best = std::numeric_limits<double>::infinity();
  Sets parts;
  const auto runs = [&] {
    std::set<std::size_t> done, left;
    for (std::size_t p = 0; p < parts.size(); ++p) left.insert(p);
    for (bool moved = true; moved;) {
      moved = false;
      for (const std::size_t p : std::set<std::size_t>(left)) {
        bool ready = true;
        for (const std::size_t s : parts[p])
          for (const std::size_t b : problem.before[s])
            ready = ready && (done.contains(b) || std::binary_search(parts[p].begin(), parts[p].end(), b));
        if (!ready) continue;
        for (const std::size_t s : parts[p]) done.insert(s);
        left.erase(p);
        moved = true;
      }
    }
    return left.empty();
  };
  const std::function<void(std::size_t)> place = [&](std::size_t s) {
    if (s == problem.before.size()) {
      double cost = 0;
      for (const auto& part : parts)
        cost += price.contains(part) ? price[part] : std::numeric_limits<double>::infinity();
      if (cost < best && runs()) best = cost;
      return;
    }
    for (std::size_t p = 0; p < parts.size(); ++p) {
      parts[p].push_back(s);
      place(s + 1);
      parts[p].pop_back();
    }
    parts.push_back({s});
    place(s + 1);
    parts.pop_back();
  };
  place(0);
  return best;
}

void expect_runs(const PartCover& cover, const PartCoverProblem& problem) {
  std::set<std::size_t> done;
  for (const Part& part : cover.parts) {
    for (const std::size_t s : part.statements)
      for (const std::size_t b : problem.before[s])
        EXPECT_TRUE(done.contains(b) || std::binary_search(part.statements.begin(), part.statements.end(), b));
    done.insert(part.statements.begin(), part.statements.end());
  }
  EXPECT_EQ(done.size(), problem.before.size());
}

TEST(PartCover, ExactIsTheBestOfAllPartitions) {
  for (int regime = 0; regime < 3; ++regime)
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      const PartCoverProblem problem = random_problem(8, regime, seed);
      const auto cover = search_cover(problem, "exact");
      ASSERT_TRUE(cover);
      expect_runs(*cover, problem);
      EXPECT_NEAR(cover->cost, cheapest_of_all(problem), 1e-9) << regime << " " << seed;
      EXPECT_TRUE(cover->proved);
    }
}

struct Gap {
  double mean = 0, worst = 1;
};

Gap gap_of(const std::string& strategy, std::size_t count, std::uint64_t seeds) {
  Gap gap;
  for (int regime = 0; regime < 3; ++regime)
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
      const PartCoverProblem problem = random_problem(count, regime, seed);
      const auto best = search_cover(problem, "exact"), found = search_cover(problem, strategy);
      expect_runs(*found, problem);
      EXPECT_LE(found->bound, best->cost + 1e-9);
      EXPECT_GE(found->cost, best->cost - 1e-9);
      const double ratio = found->cost / best->cost;
      gap.mean += ratio / static_cast<double>(3 * seeds);
      gap.worst = std::max(gap.worst, ratio);
    }
  return gap;
}

TEST(PartCover, OursIsProvedOnSmallGraphs) {
  const Gap gap = gap_of("ours", 10, 8);
  EXPECT_NEAR(gap.worst, 1, 1e-12);
}

TEST(PartCover, PeersAreLegalAndNoBetter) {
  for (const char* strategy : {"greedy", "beam"}) {
    const Gap gap = gap_of(strategy, 9, 8);
    EXPECT_GE(gap.worst, 1) << strategy;
    EXPECT_LE(gap.mean, 1.5) << strategy;
  }
}

TEST(CoverHeavy, SixHundredGraphsOfTwelve) {
  const Gap ours = gap_of("ours", 12, 200);
  EXPECT_LE(ours.mean, 1.01);
  EXPECT_LE(ours.worst, 1.05);
}

TEST(PartCover, OneStatementAndNone) {
  EXPECT_TRUE(search_cover(PartCoverProblem{})->parts.empty());
  const auto one = search_cover(PartCoverProblem{{{}}, {{0}}, {7}});
  ASSERT_TRUE(one);
  EXPECT_EQ(one->parts, std::vector<Part>{{{0}}});
  EXPECT_EQ(one->cost, 7);
}

TEST(PartCover, PartsThatNeedEachOtherAreNoPlan) {
  // 0 -> 1, 2 -> 3: {0,3} and {1,2} are convex, but each would have to run before the other.
  PartCoverProblem problem{{{}, {0}, {}, {2}}, {{0}, {1}, {2}, {3}, {0, 3}, {1, 2}}, {10, 10, 10, 10, 1, 1}};
  for (const std::string strategy : {"ours", "exact", "greedy"})
    EXPECT_EQ(search_cover(problem, strategy)->cost, 21) << strategy;
}

TEST(PartCover, StatementsWithoutAPriceStayAlone) {
  const double never = std::numeric_limits<double>::infinity();
  PartCoverProblem problem{{{}, {0}}, {{0}, {1}, {0, 1}}, {never, 3, never}};
  for (const std::string strategy : {"ours", "exact", "greedy", "beam"}) {
    const auto cover = search_cover(problem, strategy);
    ASSERT_TRUE(cover) << strategy;
    EXPECT_EQ(cover->parts, (std::vector<Part>{{{0}}, {{1}}})) << strategy;
    EXPECT_EQ(cover->cost, never) << strategy;
  }
}

/// A chain of four: the pair (0, 1) costs 1 more than its statements, the pair (2, 3) 2 more.
TEST(PartCover, FewerPartsAtTheSamePrice) {
  const PartCoverProblem problem{{{}, {0}, {1}, {2}}, {{0}, {1}, {2}, {3}, {0, 1}, {2, 3}}, {50, 50, 50, 50, 101, 102}};
  const auto cheapest = search_cover(problem);
  ASSERT_EQ(cheapest->parts.size(), 4u);
  const auto parts_within = [&](double share) {
    const PartCover found = fewer_parts(problem, *cheapest, share);
    expect_runs(found, problem);
    EXPECT_EQ(found.bound, 200);
    EXPECT_EQ(found.proved, found.cost == 200);
    EXPECT_LE(found.cost, 200 * (1 + share));
    return std::pair(found.parts.size(), found.cost);
  };
  EXPECT_EQ(parts_within(0), std::pair(std::size_t{4}, 200.0));
  EXPECT_EQ(parts_within(0.004), std::pair(std::size_t{4}, 200.0));
  EXPECT_EQ(parts_within(0.006), std::pair(std::size_t{3}, 201.0));
  EXPECT_EQ(parts_within(0.014), std::pair(std::size_t{3}, 201.0));
  EXPECT_EQ(parts_within(0.016), std::pair(std::size_t{2}, 203.0));
}

TEST(PartCover, FewerPartsOfRandomGraphs) {
  for (int regime = 0; regime < 3; ++regime)
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      const PartCoverProblem problem = random_problem(8, regime, seed);
      const auto cheapest = search_cover(problem);
      std::size_t parts = 0;
      for (const double share : {0.01, 0.05, 0.5, 10.0}) {
        const PartCover found = fewer_parts(problem, *cheapest, share);
        expect_runs(found, problem);
        EXPECT_LE(found.cost, cheapest->cost * (1 + share) + 1e-9);
        EXPECT_LE(found.parts.size(), cheapest->parts.size()) << regime << " " << seed << " " << share;
        parts = found.parts.size();
      }
      EXPECT_EQ(parts, 1u) << "all statements are a candidate";
    }
}

TEST(PartCover, UnknownSearchIsNamed) {
  const auto none = search_cover(PartCoverProblem{}, "best");
  ASSERT_FALSE(none);
  EXPECT_NE(none.diagnostics().front().hint.find("greedy"), std::string::npos);
}

}  // namespace
}  // namespace isamap

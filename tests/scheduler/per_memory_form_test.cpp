// SPDX-License-Identifier: Apache-2.0
// The fast closed form of the per-memory space against the general one and against a counter that executes the nest.

#include "scheduler/nest/canonical_nest.h"
#include "tests/scheduler/hierarchy_support.h"
#include "tests/scheduler/nest_counter.h"

namespace isamap {
namespace {

using testing_support::convolution;
using testing_support::Counted;
using testing_support::Counter;
using testing_support::gemm;
using testing_support::hierarchy_problem;
using testing_support::HierarchyCase;
using testing_support::random_point;
using testing_support::text_of;

/// Everything that the general closed form says of the same nest, to the digit.
void expect_same(const HierarchyCase& l, const hierarchy::LevelPoint& point, const std::string& where) {
  const Nest nest = nest_of(l.problem, point, do_line(l.mapping, l.kernel, l.model));
  const auto cost = make_cost_model_closed_form()->estimate({&l.kernel, l.mapping.statement, &l.model, nest});
  const hierarchy::Evaluated fast = evaluate(l.problem, point);
  ASSERT_EQ(fast.fits, static_cast<bool>(cost)) << where << text_of(nest) << (cost ? "" : render(cost.diagnostics()));
  if (!fast.fits) return;
  ASSERT_EQ(fast.cycles, cost->cycles) << where << text_of(nest);
  ASSERT_EQ(fast.energy_pJ, cost->energy_pJ) << where << text_of(nest);
  auto view = resolve(nest, l.kernel, l.mapping.statement, l.model);
  ASSERT_TRUE(view);
  const TileCounts counts(*view);
  const Traffic traffic = traffic_of(*view, counts);
  for (int level = 0; level < l.problem.level_count(); ++level)
    for (int a = 0; a < l.problem.operand_count(); ++a) {
      Totals t;
      if (const auto in = traffic.memories.find(l.problem.levels[static_cast<std::size_t>(level)].memory);
          in != traffic.memories.end())
        if (const auto at = in->second.find(l.problem.operands[static_cast<std::size_t>(a)].tensor);
            at != in->second.end())
          t = at->second;
      const hierarchy::Moved& m = fast.moved[static_cast<std::size_t>(level)][static_cast<std::size_t>(a)];
      ASSERT_EQ((std::tuple{m.reads, m.fills, m.updates}), (std::tuple{t.reads, t.fills, t.updates}))
          << where << text_of(nest) << "level " << level << " operand " << a;
    }
}

void expect_same_on(const Kernel& kernel, const std::string& machine, std::uint64_t seed, int rounds) {
  const HierarchyCase l = hierarchy_problem(kernel, machine);
  Random random(seed);
  int fits = 0;
  for (int round = 0; round < rounds; ++round) {
    const hierarchy::LevelPoint point = random_point(l.problem, random, round % 3 == 0);
    expect_same(l, point, machine + " seed " + std::to_string(seed) + " round " + std::to_string(round) + "\n");
    if (::testing::Test::HasFatalFailure()) return;
    fits += evaluate(l.problem, point).fits ? 1 : 0;
  }
  EXPECT_GT(fits, rounds / 20) << machine;
}

TEST(PerMemoryForm, EqualsTheGeneralClosedForm) {
  expect_same_on(gemm(24, 20, 18), "a1", 1, 300);
  expect_same_on(gemm(7, 13, 11), "a1", 2, 300);
  expect_same_on(gemm(16, 9, 5), "row4", 3, 600);
  expect_same_on(convolution(6, 5, 9, 3, 1), "a1", 4, 400);
  expect_same_on(convolution(4, 3, 10, 3, 2), "row4", 5, 600);
}

/// On small problems both are what executing the nest counts.
TEST(PerMemoryForm, EqualsExecution) {
  int compared = 0;
  for (int size = 0; size < 12; ++size) {
    Random random(static_cast<std::uint64_t>(100 + size));
    const auto extent = [&] { return static_cast<int>(random.between(1, 6)); };
    const bool window = size % 3 == 2;
    const HierarchyCase l = hierarchy_problem(window ? convolution(extent(), extent(), extent(), 3, 1 + size % 2)
                                                     : gemm(extent() + 1, extent() + 1, extent() + 1),
                                              size % 2 == 0 ? "row4" : "a1");
    for (int round = 0; round < 120; ++round) {
      hierarchy::LevelPoint point = random_point(l.problem, random, false);
      const hierarchy::Evaluated fast = evaluate(l.problem, point);
      if (!fast.fits) continue;
      const Nest nest = nest_of(l.problem, point, do_line(l.mapping, l.kernel, l.model));
      auto view = resolve(nest, l.kernel, l.mapping.statement, l.model);
      ASSERT_TRUE(view) << render(view.diagnostics());
      const auto counted = Counter(*view).run();
      for (int level = 0; level < l.problem.level_count(); ++level)
        for (int a = 0; a < l.problem.operand_count(); ++a) {
          const auto at = counted.find({l.problem.levels[static_cast<std::size_t>(level)].memory,
                                        l.problem.operands[static_cast<std::size_t>(a)].tensor});
          const Counted c = at == counted.end() ? Counted{} : at->second;
          const hierarchy::Moved& m = fast.moved[static_cast<std::size_t>(level)][static_cast<std::size_t>(a)];
          ASSERT_EQ((Counted{m.reads, m.fills, m.updates}), c)
              << "size " << size << " round " << round << "\n"
              << text_of(nest) << "level " << level << " operand " << a << ": " << m.reads << " " << m.fills << " "
              << m.updates << ", counted " << c.reads << " " << c.fills << " " << c.updates;
        }
      ++compared;
    }
  }
  EXPECT_GT(compared, 1000);
}

TEST(PerMemoryForm, CanonicalFormKeepsTheCost) {
  const HierarchyCase l = hierarchy_problem(gemm(12, 9, 10), "a1");
  Random random(7);
  for (int round = 0; round < 300; ++round) {
    const hierarchy::LevelPoint point = random_point(l.problem, random, false);
    const hierarchy::LevelPoint canonical = hierarchy::canonical(l.problem, point);
    EXPECT_EQ(canonical, hierarchy::canonical(l.problem, canonical));
    EXPECT_EQ(hash(l.problem, point), hash(l.problem, canonical));
    const auto a = evaluate(l.problem, point), b = evaluate(l.problem, canonical);
    ASSERT_EQ(a.fits, b.fits);
    ASSERT_EQ(a.energy_pJ, b.energy_pJ);
    ASSERT_EQ(a.cycles, b.cycles);
  }
}

}  // namespace
}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
// The event simulator against the closed form (counts, exactly) and against the latency formula (cycles).

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "isamap/search.h"
#include "scheduler/cost/event_simulation.h"
#include "scheduler/cost/latency.h"
#include "scheduler/cost/priced_nest.h"
#include "tests/scheduler/hierarchy_support.h"
#include "tests/scratch.h"

namespace isamap {
namespace {

using testing_support::convolution;
using testing_support::formula;
using testing_support::gemm;
using testing_support::hierarchy_problem;
using testing_support::HierarchyCase;
using testing_support::machine;
using testing_support::random_point;
using testing_support::text_of;

/// Every count over all instances, and no fewer cycles than with perfect overlap.
void expect_counts(const PricedNest& nest, const SimulatedNest& simulated, const std::string& where) {
  for (const auto& [memory, tensors] : nest.traffic.memories)
    for (const auto& [tensor, t] : tensors) {
      const Totals& s = simulated.memories.at(memory).at(tensor);
      ASSERT_EQ((std::tuple{s.reads, s.fills, s.updates}), (std::tuple{t.reads, t.fills, t.updates}))
          << where << nest.view.model->memory(memory).name << " " << nest.view.kernel->tensors[tensor.index()].name
          << ": simulated " << s.reads << " " << s.fills << " " << s.updates << ", closed form " << t.reads << " "
          << t.fills << " " << t.updates;
    }
}

struct Compared {
  std::vector<double> errors;  ///< |predicted / simulated - 1|
  double share_within(double most) const {
    return static_cast<double>(std::count_if(errors.begin(), errors.end(), [&](double e) { return e <= most; })) /
           static_cast<double>(errors.size());
  }
  std::string text() {
    std::sort(errors.begin(), errors.end());
    const auto at = [&](double q) {
      return 100 * errors[static_cast<std::size_t>(q * static_cast<double>(errors.size() - 1))];
    };
    return fmt::format(
        "{} schedules: median {:.2f} %, 90 % below {:.2f} %, 99 % below {:.2f} %, largest {:.2f} %; "
        "{:.1f} % within 5 %",
        errors.size(), at(0.5), at(0.9), at(0.99), at(1), 100 * share_within(0.05));
  }
};

void compare(const Candidate& candidate, const std::string& where, Compared& compared) {
  const auto priced = price_nest(candidate);
  if (!priced) return;
  const PricedNest& nest = **priced;
  const NestFlow flow = flow_of(nest.view, nest.counts, nest.traffic);
  const auto simulated = simulate_nest(nest.view, nest.counts, nest.traffic, flow);
  ASSERT_TRUE(simulated) << where;
  expect_counts(nest, *simulated, where);
  if (::testing::Test::HasFatalFailure()) return;
  const Latency latency = latency_of_nest(nest.view, nest.counts, flow);
  compared.errors.push_back(std::abs(latency.cycles / simulated->cycles - 1));
  // Never faster than everything overlapping perfectly, nor than a port at work all the time.
  EXPECT_GE(std::ceil(simulated->cycles - 1e-9), nest.cost.cycles) << where;
  for (const double busy : simulated->busy) EXPECT_LE(busy, simulated->cycles + 1e-6) << where;
  EXPECT_NEAR(simulated->compute, latency.compute, 1e-6 * latency.compute) << where;
}

void compare_on(const Kernel& kernel, const std::string& machine, std::uint64_t seed, int rounds, Compared& compared) {
  const HierarchyCase l = hierarchy_problem(kernel, machine);
  Random random(seed);
  for (int round = 0; round < rounds; ++round) {
    const hierarchy::LevelPoint point = random_point(l.problem, random, round % 3 == 0);
    const Nest nest = nest_of(l.problem, point, do_line(l.mapping, l.kernel, l.model));
    compare({&l.kernel, l.mapping.statement, &l.model, nest},
            machine + " seed " + std::to_string(seed) + " round " + std::to_string(round) + "\n" + text_of(nest),
            compared);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(Simulation, CountsAreThoseOfTheClosedFormAndCyclesOfTheFormula) {
  Compared compared;
  compare_on(gemm(24, 20, 18), "a1", 1, 300, compared);
  compare_on(gemm(7, 13, 11), "a1", 2, 300, compared);
  compare_on(gemm(16, 9, 5), "row4", 3, 600, compared);
  compare_on(convolution(6, 5, 9, 3, 1), "a1", 4, 400, compared);
  compare_on(convolution(4, 3, 10, 3, 2), "row4", 5, 600, compared);
  ASSERT_GT(compared.errors.size(), 1500U);
  const std::string found = compared.text();
  RecordProperty("latency_against_simulation", found);
  std::printf("latency formula against simulation, %s\n", found.c_str());
  EXPECT_GE(compared.share_within(0.05), 0.97) << found;
  EXPECT_GE(compared.share_within(0.005), 0.8) << found;
}

/// Two memories that the test machines do not have: one port for reads and writes, and links on one bus.
TEST(Simulation, SharedPortsTakeTurns) {
  const std::string text = R"(hardware: shared
clock: 1GHz
program: {language: asm}
units: [{name: chip}]
memories:
  - {name: far, per: chip, kind: dram, capacity: 1MiB, word: 2B, bandwidth: PORT}
  - {name: near, per: chip, kind: scratchpad, capacity: 1KiB, word: 2B}
links: [{name: in, from: far, to: near}, {name: out, from: near, to: far}]
instructions:
  - {name: mac, unit: chip, compute: "Z[] += A[] * B[]", emit: "mac {Z}, {A}, {B}", timing: {interval: 1cycles},
     operands: {A: {memory: near, dtype: s16}, B: {memory: near, dtype: s16}, Z: {memory: near, dtype: s16}}}
  - {name: clear, unit: chip, compute: "D[] = 0", emit: "clear {D}", operands: {D: {memory: near, dtype: s16}}}
  - {name: "copy_${l}", link: "${l}", compute: "D[] = S[]", emit: "copy_${l} {D}, {S}", operands: {D: {dtype: s16}},
     variants: [{l: in}, {l: out}]}
)";
  const Kernel kernel = formula("Z[m,n] += A[m,k] * B[k,n]", "m=8,n=8,k=8", "A=s16,B=s16,Z=s16");
  std::vector<double> cycles, closed;
  for (const std::string port : {"{read: 1words/cycle, write: 1words/cycle}", "{shared: 1words/cycle}"}) {
    std::string described = text;
    described.replace(described.find("PORT"), 4, port);
    const std::string file = scratch("shared_" + std::to_string(cycles.size()) + ".yaml");
    std::ofstream(file) << described;
    const auto loaded = load_hardware(file, {});
    ASSERT_TRUE(loaded) << render(loaded.diagnostics());
    // Z is drained and read back at every step of k, while A and B come in.
    auto schedule = parse_schedule(
        "schedule: s\nlevels:\n  - {memory: far, loops: [k 8, m 4]}\n  - {memory: near, "
        "loops: [m 2, n 8], buffers: {A: 2, B: 2, Z: 2}}\n",
        "s.yaml", kernel, loaded->model);
    ASSERT_TRUE(schedule) << render(schedule.diagnostics());
    const Candidate candidate{&kernel, make_id<StatementId>(0), &loaded->model, schedule->nests.front()};
    const auto simulated = make_cost_model_simulator()->estimate(candidate);
    const auto latency = make_cost_model_latency()->estimate(candidate);
    ASSERT_TRUE(simulated && latency);
    EXPECT_NEAR(latency->cycles / simulated->cycles, 1, 0.05);
    cycles.push_back(simulated->cycles);
    closed.push_back(make_cost_model_closed_form()->estimate(candidate)->cycles);
  }
  EXPECT_EQ(closed[0], closed[1]);
  // 8 steps of k: A 8, B 8, Z 64 words in (not at the first), 64 out; 512 calls.
  EXPECT_LT(cycles[0], 800);
  EXPECT_GE(cycles[1], 8 * (8 + 8 + 64) + 7 * 64);
}

/// A block of calls against issuing them one by one, in order, each after the call that updated the same element.
TEST(Simulation, BlocksTakeWhatCallsOneByOneTake) {
  HierarchyCase l = hierarchy_problem(gemm(6, 5, 4), "a1");
  Random random(21);
  for (int round = 0; round < 200; ++round) {
    Nest nest;
    std::vector<std::string> order{"m", "n", "k"};
    for (std::size_t i = 2; i > 0; --i)
      std::swap(order[i], order[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(i)))]);
    for (const std::string tensor : {"Z", "A", "B"}) nest.lines.push_back(*parse_line("stage " + tensor + " in RF"));
    for (const std::string& dim : order) nest.lines.push_back(*parse_line("for " + dim + " by 1"));
    nest.lines.push_back(*parse_line("do s0 with mac()"));
    const auto view = resolve(nest, l.kernel, l.mapping.statement, l.model);
    ASSERT_TRUE(view) << render(view.diagnostics());
    const TileCounts counts(*view);
    NestFlow flow = flow_of(*view, counts, traffic_of(*view, counts));
    flow.call.each = static_cast<double>(random.between(1, 3));
    flow.call.latency = static_cast<double>(random.between(1, 40));
    const LoopTable table(*view, counts);
    const CallBlock block = block_of(flow, table, table.extents);
    std::map<std::pair<std::int64_t, std::int64_t>, double> updated;
    double free = 0, calls = 0;
    LoopPosition position(table, static_cast<int>(view->loops.size()));
    do {
      std::int64_t m = 0, n = 0;
      for (int w = 0; w < static_cast<int>(view->loops.size()); ++w) {
        if (view->loops[static_cast<std::size_t>(w)].dim == 0) m = position.at(w);
        if (view->loops[static_cast<std::size_t>(w)].dim == 1) n = position.at(w);
      }
      const auto at = updated.find({m, n});
      const double start = std::max(free, at == updated.end() ? 0 : at->second);
      updated[{m, n}] = start + flow.call.latency;
      free = start + flow.call.each;
      ++calls;
    } while (position.advance() >= 0);
    EXPECT_EQ(block.calls, calls);
    EXPECT_NEAR(block.cycles, free, 1e-9)
        << text_of(nest) << "interval " << flow.call.each << ", latency " << flow.call.latency;
  }
}

/// One buffer: a tile is filled, used, filled. Two: fills hide behind calls.
TEST(Simulation, TwoBuffersHideWhatOneShows) {
  const HardwareModel model = machine("a1");
  const Kernel kernel = formula("Z[m,n] += A[m,k] * B[k,n]", "m=16,n=16,k=64", "A=s16,B=s16,Z=s16");
  const auto cycles = [&](const std::string& buffers, std::unique_ptr<CostModel> (*costs)()) {
    auto schedule = parse_schedule(
        "schedule: s\nlevels:\n  - {memory: DRAM, loops: [k 64]}\n"
        "  - {memory: GLB, spatial: [m 4 x, n 4 y]" +
            buffers +
            "}\n"
            "  - {memory: RF, loops: [m 4, n 4]" +
            buffers + "}\n",
        "s.yaml", kernel, model);
    EXPECT_TRUE(schedule) << render(schedule.diagnostics());
    const auto cost = costs()->estimate({&kernel, make_id<StatementId>(0), &model, schedule->nests.front()});
    EXPECT_TRUE(cost);
    return cost->cycles;
  };
  const std::string two = ", buffers: {A: 2, B: 2}";
  // A step: A and B 32 words from DRAM at 8 a cycle, then to RF at 32 a cycle; then 16 calls.
  for (const auto costs : {&make_cost_model_simulator, &make_cost_model_latency}) {
    EXPECT_NEAR(cycles("", costs), 64 * (4 + 0.5 + 16) + 256 / 32.0 + 256 / 8.0, 64 * 0.6);
    EXPECT_NEAR(cycles(two, costs), 64 * 16 + 4 + 1 + 256 / 32.0 + 256 / 8.0, 2);
  }
}

}  // namespace
}  // namespace isamap

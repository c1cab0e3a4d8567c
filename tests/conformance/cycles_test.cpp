// SPDX-License-Identifier: Apache-2.0
// What a schedule is predicted to cost and what its program costs in the simulator, on every accelerator: cycles of
// commands with cycles of commands, scalar code with scalar code.

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "backends/common/process.h"
#include "hwdesc/model/timing_choice.h"
#include "isamap/backend.h"
#include "isamap/frontends.h"
#include "isamap/search.h"
#include "tests/conformance/matrix.h"
#include "tests/every.h"

namespace isamap::conformance {
namespace {

constexpr double factor = 2.5;        // between prediction and simulation
constexpr double least_cycles = 500;  // below, latencies that overlap by chance decide

void expect_agreement(const std::string& name, Every every) {
  const HardwareModel model = load_model(name);
  const auto runner = make_runner(model);
  int compared = 0;
  for (const char* example : {"gemm_s8", "gemm", "gemm_bf16", "conv2d_s8", "conv2d_nhwc", "conv2d", "pointwise",
                              "conv2d_strided", "depthwise", "depthwise_nhwc", "batched_gemm", "linear_relu"}) {
    if (every.skips()) continue;
    const auto variant = small(example, 100000);
    ASSERT_TRUE(variant);
    const Compiled compiled = compile(variant->kernel, model);
    ASSERT_TRUE(compiled.program) << compiled.problem;
    const Cost& cost = compiled.scheduled->cost;
    auto data = random_data(variant->kernel, Fill::integers, 7);
    const auto outcome = runner->run(*compiled.program, data, RunLimits{}, 0);
    ASSERT_TRUE(outcome) << render(outcome.diagnostics());
    const auto near = [&](double predicted, double found, const char* what) {
      if (predicted < least_cycles && found < least_cycles) return;
      ++compared;
      EXPECT_LT(std::max(predicted, found), factor * std::max(std::min(predicted, found), 1.0))
          << model.name << " x " << example << ": " << what << " predicted " << predicted << ", simulated " << found
          << "\n"
          << print(compiled.scheduled->schedule);
    };
    near(cost.cycles - cost.scalar_cycles, static_cast<double>(outcome->cycles), "cycles");
    near(cost.scalar_cycles, outcome->scalar_cycles, "cycles of scalar code");
  }
  EXPECT_GT(compared, 0);
}

class Cycles : public testing::TestWithParam<std::string> {};
TEST_P(Cycles, PredictionAndSimulationAgree) { expect_agreement(GetParam(), Every(2)); }

class HeavyCycles : public testing::TestWithParam<std::string> {};
TEST_P(HeavyCycles, PredictionAndSimulationAgree) { expect_agreement(GetParam(), Every(1)); }

using MadeModel = std::unique_ptr<CostModel> (*)();
constexpr std::pair<const char*, MadeModel> models[]{{"closed_form", make_cost_model_closed_form},
                                                     {"latency", make_cost_model_latency},
                                                     {"simulator", make_cost_model_simulator}};

/// Cycles of commands that a model predicts for the only statement; negative: it says no.
double predicted_by(MadeModel make, const Kernel& kernel, const HardwareModel& model, const Schedule& schedule) {
  const auto by_model = make();
  const auto cost =
      checked_fine_estimate(*by_model, {&kernel, make_id<StatementId>(0), &model, schedule.nests.front()});
  EXPECT_TRUE(cost) << render(cost.diagnostics());
  return cost ? cost->cycles - cost->scalar_cycles : -1;
}

/// Cycles of commands that the simulator takes for a program; each cost model predicts them within this factor.
double simulated(const HardwareModel& model, const Kernel& kernel, const Schedule& schedule, const Program& program,
                 double within) {
  auto data = random_data(kernel, Fill::integers, 7);
  const auto outcome = make_runner(model)->run(program, data, RunLimits{}, 0);
  EXPECT_TRUE(outcome) << render(outcome.diagnostics());
  if (!outcome) return -1;
  const auto found = static_cast<double>(outcome->cycles);
  for (const auto& [by, make] : models) {
    const double predicted = predicted_by(make, kernel, model, schedule);
    EXPECT_LT(std::max(predicted, found), within * std::min(predicted, found))
        << model.name << ": " << by << " predicts " << predicted << ", simulated " << found << "\n"
        << print(schedule);
  }
  return found;
}

double simulated(const HardwareModel& model, const Kernel& kernel, double within) {
  const Compiled compiled = compile(kernel, model);
  EXPECT_TRUE(compiled.program) << compiled.problem;
  if (!compiled.program) return -1;
  return simulated(model, kernel, compiled.scheduled->schedule, *compiled.program, within);
}

void expect_near(const std::string& name, int M, int N, int K, double within = 1.1) {
  SCOPED_TRACE(name + ", " + std::to_string(M) + "x" + std::to_string(N) + "x" + std::to_string(K));
  const HardwareModel model = load_model(name);
  if (!executes_a_stream(model)) GTEST_SKIP() << name << " executes no stream of commands";
  simulated(model, gemm_s8(M, N, K), within);
}

class ScheduledStream : public testing::TestWithParam<std::string> {};

TEST_P(ScheduledStream, IsPricedWithinATenth) {
  expect_near(GetParam(), 37, 52, 70);
  expect_near(GetParam(), 64, 64, 64);
}

class HeavyScheduledStream : public testing::TestWithParam<std::string> {};

TEST_P(HeavyScheduledStream, IsPricedWithinATenth) { expect_near(GetParam(), 128, 128, 128); }

/// Rows of one element: what the instruction lacks is padding between the elements of a tile, which no move passes
/// over, and of two moves between the same memories only one has the order of the tile.
TEST(ScheduledRows, OfOneElementArePricedByTheirMoves) {
  const std::pair<const char*, const char*> nests[]{{"vta16", R"(
  - stage C in acc as [j/16, i, j%16]
  - stage A in inp as [k, i, $k]
  - stage B in wgt as [j/16, k, j%16, $k]
  - for j by 16
  - for k by 16
  - do s0 with gemm(e=i, j=j, f=k)
)"},
                                                    {"cube16", R"(
  - stage C in l0c as [i/16, j/16, i%16, j%16] first flag
  - stage A in l1 as [i/16, k/32, i%16, k%32]
  - stage B in l1 as [j/16, k/32, k%32, j%16]
  - for k by 32
  - stage A in l0a x2 as [i/16, k/32, i%16, k%32]
  - stage B in l0b x2 as [j/16, k/32, j%16, k%32]
  - for j by 16
  - do s0 with cube_s8(i=i, j=j, k=k)
)"}};
  const Kernel kernel = gemm_s8(1, 200, 65);
  for (const auto& [name, nest] : nests) {
    const HardwareModel model = load_model(name);
    const std::string text = "schedule: rows\nkernel: " + kernel.name + "\ntarget: " + name + "\nnest:" + nest;
    const auto schedule = parse_schedule(text, "rows.yaml", kernel, model);
    ASSERT_TRUE(schedule) << render(schedule.diagnostics());
    const auto program = lower(*schedule, kernel, model);
    ASSERT_TRUE(program) << render(program.diagnostics());
    simulated(model, kernel, *schedule, *program, 1.1);
  }
}

struct BlockedKernel {
  const char *compute, *dims, *types, *nest;
};

/// Packed copies of blocks that a call reads whole, registers whose places decide which dim of a move covers what,
/// replicas, and short tiles that take turns with whole ones.
TEST(ScheduledBlocks, OfAnArrayInMemoryArePricedByTheirMoves) {
  const std::string file = ISAMAP_SOURCE_DIR "/tests/conformance/data/array24.yaml";
  const auto loaded = load_hardware(file, {});
  ASSERT_TRUE(loaded) << render(loaded.diagnostics());
  const HardwareModel& model = loaded->model;
  const BlockedKernel kernels[]{{"C[i] += A[i,k] * B[k]", "i=100,k=77", "A=s8,B=s8,C=s32", R"(
  - stage B in dram as [k/24, k%24]
  - for i by 20
  - stage C in sums x2 as [i/10, $n, i%10] first flag
  - for k by 24
  - stage A in weights x2 as [i, k]
  - stage B in in x2 as [k/24, k%24]
  - for i by 10 unroll
  - stage A in cells x2
  - do s0 with macs(j=i, k=k) operands C=C A=B W=A
)"},
                                {"O[c,p,q] += I[c,p+r,q+s] * F[c,r,s]", "c=2,p=7,q=9,r=3,s=3", "I=s8,F=s8,O=s32", R"(
  - stage F in dram as [c, r.s/24, r.s%24]
  - for c by 1
  - for q by 6
  - stage O in sums x2 as [c, p/10, q, $n, p%10] first flag
  - stage I in weights x2 as [c, p, r.s, q]
  - stage F in in x2 as [c, r.s/24, r.s%24]
  - for q by 1 unroll
  - stage I in cells x2
  - do s0 with macs(j=p, k=r.s) operands C=O A=F W=I
)"},
                                {"O[p,q,k] += I[p,q,c] * F[c,k]", "p=9,q=7,k=25,c=33", "I=s8,F=s8,O=s32", R"(
  - stage I in dram as [p, c/24, q, c%24]
  - for p by 4
  - stage O in sums as [p, q/16, k/10, q%16, k%10] first flag
  - stage I in in as [p, c/24, q, c%24]
  - stage F in weights as [c, k]
  - for k by 10
  - for c by 24 unroll
  - stage F in cells x2
  - for p by 1
  - do s0 with macs(n=q, j=k, k=c)
)"}};
  for (const auto& [compute, dims, types, nest] : kernels) {
    const auto kernel = kernel_from_formula(compute, dims, types);
    ASSERT_TRUE(kernel) << render(kernel.diagnostics());
    const std::string text = "schedule: blocks\nkernel: " + kernel->name + "\ntarget: array24\nnest:" + nest;
    const auto schedule = parse_schedule(text, "blocks.yaml", *kernel, model);
    ASSERT_TRUE(schedule) << render(schedule.diagnostics());
    const auto program = lower(*schedule, *kernel, model);
    ASSERT_TRUE(program) << render(program.diagnostics());
    simulated(model, *kernel, *schedule, *program, 1.15);
  }
}

class StreamWindow : public testing::TestWithParam<std::string> {};

/// In the order of the program less overlaps than in a window, moves on one machine and chains of sums on the other,
/// and less is priced to; results are the same in any window.
TEST_P(StreamWindow, OverlapsWhatItReaches) {
  const Kernel kernel = gemm_s8(37, 52, 70);
  HardwareModel model = load_model(GetParam());
  const Compiled compiled = compile(kernel, model);
  ASSERT_TRUE(compiled.program) << compiled.problem;
  auto expected = random_data(kernel, Fill::integers, 7);
  const auto inputs = expected;
  interpret(kernel, expected);
  std::map<int, std::int64_t> cycles;
  for (const int window : {1, 8, 32, 1000}) {
    model.program.window = window;
    auto data = inputs;
    const auto outcome = make_runner(model)->run(*compiled.program, data, RunLimits{}, 0);
    ASSERT_TRUE(outcome) << render(outcome.diagnostics());
    EXPECT_EQ(data.back().bytes, expected.back().bytes) << window;
    cycles[window] = outcome->cycles;
    for (const auto& [by, make] : models)
      EXPECT_NEAR(
          predicted_by(make, kernel, model, compiled.scheduled->schedule) / static_cast<double>(outcome->cycles), 1,
          0.15)
          << by << ", window of " << window;
  }
  EXPECT_LT(cycles[8], cycles[1]);
  EXPECT_LT(1.2 * static_cast<double>(cycles[32]), static_cast<double>(cycles[1]));
}

HardwareModel loaded_from(const std::string& text) {
  const TemporaryDirectory place;
  std::ofstream(place.path() / "machine.yaml") << text;
  const auto loaded = load_hardware((place.path() / "machine.yaml").string(), {});
  EXPECT_TRUE(loaded) << render(loaded.diagnostics());
  return loaded->model;
}

/// systolic16 (or another model) with one piece of its text replaced.
HardwareModel changed(const std::string& from, const std::string& to, const std::string& name = "systolic16") {
  const std::string folder = std::string(ISAMAP_SOURCE_DIR) + "/hardware_models";
  std::ifstream file(folder + "/" + name + ".yaml");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(text.find(from), std::string::npos) << from;
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return loaded_from(text);
}

double cycles_of_product(const HardwareModel& model, double within = 1.1) {
  return simulated(model, gemm_s8(37, 52, 70), within);
}

/// Where loads and stores of 1 B/cycle, beside each other, each take most of the time, the closed form hides stores
/// behind loads of later tiles; executed, they nearly take turns: 13395 cycles of 2590 + 3640 + 7696, 11221 predicted.
constexpr double most_of_both = 1.25;

/// A (2590 bytes) and B (3640) come from dram once, C (7696) goes there.
TEST(StreamMemories, BandwidthOfMemoriesAndLatencyOfLinksCount) {
  const std::string dram = "kind: dram, capacity: 4GiB", spad = "kind: scratchpad, capacity: 256KiB";
  const double before = cycles_of_product(changed("latency: 100cycles", "latency: 0cycles"));
  EXPECT_GE(cycles_of_product(changed("latency: 100cycles", "latency: 3000cycles")), before + 2 * 3000 - 2 * 100);
  EXPECT_GE(cycles_of_product(changed(dram, dram + ", bandwidth: {read: 1B/cycle, write: 1B/cycle}"), most_of_both),
            7696);
  EXPECT_GE(cycles_of_product(changed(dram, dram + ", bandwidth: {shared: 1B/cycle}")), 2590 + 3640 + 7696);
  // Products read A from the scratchpad for each of the 4 tiles along j.
  EXPECT_GE(cycles_of_product(changed(spad, spad + ", bandwidth: {read: 1B/cycle}")), 4 * 2590);
}

/// Links of one `port` take turns: A, B and C together, not C beside A and B.
TEST(StreamMemories, LinksThatShareAPortTakeTurns) {
  const std::string links = "bandwidth: 16B/cycle, latency: 100cycles",
                    slow = "bandwidth: 1B/cycle, latency: 100cycles";
  EXPECT_GE(cycles_of_product(changed(links, slow + ", port: bus")), 2590 + 3640 + 7696);
  EXPECT_LT(cycles_of_product(changed(links, slow), most_of_both), 2590 + 3640 + 7696);
}

/// C in columns of tiles on a machine like npu16. The tile of A is moved once: above j, which A does not use.
double cycles_of_columns(const HardwareModel& model) {
  const Kernel kernel = gemm_s8(64, 64, 64);
  const auto schedule = parse_schedule("schedule: columns\nkernel: " + kernel.name + "\ntarget: npu16\nnest:" + R"(
  - for j by 16
  - stage C in acc x2 as [i/16, j/16, i%16, j%16] first flag
  - stage A in spad x2 as [i/16, k/16, i%16, k%16]
  - stage B in spad x2 as [j/16, k/16, k%16, j%16]
  - for i by 16
  - for k by 16
  - do s0 with mma(i=i, j=j, k=k)
)",
                                       "columns.yaml", kernel, model);
  EXPECT_TRUE(schedule) << render(schedule.diagnostics());
  if (!schedule) return -1;
  const auto program = lower(*schedule, kernel, model);
  EXPECT_TRUE(program) << render(program.diagnostics());
  return program ? simulated(model, kernel, *schedule, *program, 1.1) : -1;
}

/// The port that reads and writes share passes A and B once, 4096 bytes each, and C, 4096 words; A would take it four
/// times, once for each tile along j, if its stage were not moved above that loop.
TEST(StreamMemories, SharedPortsPassATileOnceThatIsMovedOnce) {
  const std::string dram = "kind: dram, capacity: 1GiB";
  const double cycles = cycles_of_columns(changed(dram, dram + ", bandwidth: {shared: 1B/cycle}", "npu16"));
  EXPECT_GE(cycles, 4096 + 4096 + 4 * 4096);
  EXPECT_LT(cycles, 4 * 4096 + 4096 + 4 * 4096);
}

/// 128 commands of 2 rows of 16, each with 16 cycles of its own, in place of 16 commands of 16 rows: not 4 of 8
/// columns, which would begin between the rows of the accumulator.
TEST(StreamMoves, ArePricedInThePartsThatTheirConditionsAllow) {
  const std::string store = "timing: {latency: 100cycles, port: store";
  EXPECT_GE(cycles_of_columns(changed(store, "legal: [\"extent[i]*extent[j] <= 32\"]\n    " + store, "npu16")),
            128 * (16 + 4 * 2));
}

/// Loads and stores in queues of their own, over one port of the memory.
constexpr const char* two_queues = R"yaml(hardware: queues
clock: 1GHz
program: {language: asm, comment: "#", end: fence}
units: [{name: host, scalar: true}, {name: npu, order: tokens, ports: {load: 1, execute: 1, store: 1}}]
memories:
  - {name: dram, per: host, kind: dram, capacity: 1MiB, bandwidth: {shared: 8B/cycle}}
  - {name: buf, per: npu, kind: scratchpad, capacity: 64KiB, granularity: 8B}
  - {name: acc, per: npu, kind: accumulator, capacity: 16KiB, granularity: 32B}
links: [{name: in, from: dram, to: buf}, {name: out, from: acc, to: dram}]
async:
  - {name: l2x, kind: tokens, per: npu, from: load, to: execute}
  - {name: x2l, kind: tokens, per: npu, from: execute, to: load}
  - {name: x2s, kind: tokens, per: npu, from: execute, to: store}
  - {name: s2x, kind: tokens, per: npu, from: store, to: execute}
instructions:
  - {name: ld, link: in, compute: "D[i,j] = S[i,j]", dims: {i: {max: 8}, j: {max: 8}}, inactive: zero,
     operands: {D: {dtype: s8, layout: {i: 8, j: 1}, align: 8B}, S: {dtype: s8, layout: {i: any, j: 1}}},
     emit: "ld {D}, {S}, {S.pitch[i]}, {extent[i]}, {extent[j]}, {pop[x2l]}, {push[l2x]}",
     timing: {latency: 60cycles, port: load, interval: "2 + extent[i] cycles"}}
  - {name: mm, unit: npu, compute: "C[i,j] += s32(A[i,k]) * s32(B[k,j])", start: {C: [zero, keep]}, inactive: keep,
     dims: {i: {max: 8}, j: 8, k: 8},
     operands: {A: {memory: buf, dtype: s8, layout: {i: 8, k: 1}, align: 8B},
                B: {memory: buf, dtype: s8, layout: {k: 8, j: 1}, align: 8B},
                C: {memory: acc, dtype: s32, layout: {i: 8, j: 1}, align: 32B}},
     emit: "mm {C}, {A}, {B}, {extent[i]}, {start[C]}, {pop[l2x]}, {push[x2l]}, {pop[s2x]}, {push[x2s]}",
     timing: {latency: 24cycles, port: execute, interval: "extent[i] cycles"}}
  - {name: st, link: out, compute: "D[i,j] = S[i,j]", dims: {i: {max: 8}, j: {max: 8}}, inactive: keep,
     operands: {D: {dtype: s32, layout: {i: any, j: 1}, align: 4B},
                S: {dtype: s32, layout: {i: 8, j: 1}, align: 32B}},
     emit: "st {D}, {S}, {D.pitch[i]}, {extent[i]}, {extent[j]}, {pop[x2s]}, {push[s2x]}",
     timing: {latency: 60cycles, port: store, interval: "2 + 4*extent[i] cycles"}}
)yaml";

/// The stores of a tile and the loads of the next one are known at once; a load that asks between two stores goes
/// there.
TEST(StreamMemories, QueuesTakeASharedPortInTheOrderInWhichTheyAsk) {
  const HardwareModel model = loaded_from(two_queues);
  const Kernel kernel = gemm_s8(64, 64, 16);
  const auto schedule = parse_schedule("schedule: turns\nkernel: " + kernel.name + "\ntarget: queues\nnest:" + R"(
  - for i by 32
  - stage A in buf x2 as [i/8, k/8, i%8, k%8]
  - for j by 8
  - stage C in acc x2 as [i/8, j/8, i%8, j%8] first flag
  - stage B in buf x2 as [j/8, k/8, k%8, j%8]
  - for i by 8
  - for k by 8
  - do s0 with mm(i=i, j=j, k=k)
)",
                                       "turns.yaml", kernel, model);
  ASSERT_TRUE(schedule) << render(schedule.diagnostics());
  const auto program = lower(*schedule, kernel, model);
  ASSERT_TRUE(program) << render(program.diagnostics());
  EXPECT_EQ(simulated(model, kernel, *schedule, *program, 1.1),
            predicted_by(make_cost_model_simulator, kernel, model, *schedule));
}

/// Two buffers of 4 rows of two blocks of 8 sums of 4 bytes: 2 x 4 x 16 x 4 = 512 bytes, though a call may take 8 rows;
/// without `as` too.
TEST(StreamMemories, BuffersHaveNoRoomForRowsThatNoCallTakes) {
  const auto with = [](const std::string& capacity) {
    std::string text = two_queues;
    const std::string before = "accumulator, capacity: 16KiB";
    return loaded_from(text.replace(text.find(before), before.size(), "accumulator, capacity: " + capacity));
  };
  const HardwareModel model = with("512B");
  const Kernel kernel = gemm_s8(10, 16, 16);
  for (const std::string layout : {" as [j/8, i, j%8]", ""}) {
    const auto schedule =
        parse_schedule("schedule: rows\nkernel: " + kernel.name +
                           "\ntarget: queues\nnest:\n  - for i by 4\n  - stage C in acc x2" + layout + R"( first flag
  - stage A in buf as [i/8, k/8, i%8, k%8]
  - stage B in buf as [j/8, k/8, k%8, j%8]
  - for j by 8
  - for k by 8
  - do s0 with mm(i=i, j=j, k=k)
)",
                       "rows.yaml", kernel, model);
    ASSERT_TRUE(schedule) << render(schedule.diagnostics());
    const auto program = lower(*schedule, kernel, model);
    ASSERT_TRUE(program) << render(program.diagnostics());
    EXPECT_GT(simulated(model, kernel, *schedule, *program, 1.25), 0);
    const HardwareModel smaller = with("480B");
    const auto cost =
        make_cost_model_closed_form()->estimate({&kernel, make_id<StatementId>(0), &smaller, schedule->nests.front()});
    ASSERT_FALSE(cost);
    EXPECT_NE(render(cost.diagnostics()).find("memory acc: 512 bytes needed, 480 available"), std::string::npos)
        << render(cost.diagnostics());
  }
}

/// `in` of a nest on the machine of two queues: bytes of the link, and words of A that `buf` takes and gives, as all
/// models count them; within a quarter of the simulator's cycles.
void expect_loaded(const HardwareModel& model, const Kernel& kernel, const std::string& nest, std::int64_t of_A,
                   std::int64_t of_B) {
  SCOPED_TRACE(nest);
  const auto schedule = parse_schedule("schedule: rows\nkernel: " + kernel.name + "\ntarget: queues\nnest:\n" + nest,
                                       "rows.yaml", kernel, model);
  ASSERT_TRUE(schedule) << render(schedule.diagnostics());
  const auto program = lower(*schedule, kernel, model);
  ASSERT_TRUE(program) << render(program.diagnostics());
  EXPECT_GT(simulated(model, kernel, *schedule, *program, 1.25), 0);
  for (const auto& [by, make] : models) {
    const auto cost = make()->estimate({&kernel, make_id<StatementId>(0), &model, schedule->nests.front()});
    ASSERT_TRUE(cost) << by << render(cost.diagnostics());
    EXPECT_EQ(cost->link_bytes.at("in"), of_A + of_B) << by;
    EXPECT_EQ(cost->memories.at("buf").at("A").fills, of_A) << by;
    EXPECT_EQ(cost->memories.at("buf").at("A").reads, of_A) << by;
  }
}

/// Of A every tenth row is loaded: 16 rows and 8 of B, of 8 bytes each, not the 151 rows between the first and the
/// last; without `as` too, where the layout is the instruction's.
TEST(StreamMoves, OfEveryTenthRowCountTheseRows) {
  std::string text = two_queues;
  const std::string before = "scratchpad, capacity: 64KiB";
  const HardwareModel model = loaded_from(text.replace(text.find(before), before.size(), "scratchpad, capacity: 192B"));
  const auto kernel = kernel_from_formula("C[i,j] += A[10*i,k] * B[k,j]", "i=16,j=8,k=8", "A=s8,B=s8,C=s32");
  ASSERT_TRUE(kernel) << render(kernel.diagnostics());
  for (const char* layout : {" as [i/8, k/8, i%8, k%8]", ""})
    expect_loaded(model, *kernel,
                  "  - stage C in acc as [i/8, j/8, i%8, j%8] first flag\n  - stage A in buf" + std::string(layout) +
                      "\n  - stage B in buf as [j/8, k/8, k%8, j%8]\n  - for i by 8\n" +
                      "  - do s0 with mm(i=i, j=j, k=k)\n",
                  16 * 8, 8 * 8);
}

/// Rows of windows and channels in one, r.c by 16 of 16 channels: each row of 16 is contiguous, though r.c as a whole
/// is not: 90 loads, not one for each channel.
TEST(StreamMoves, OfWholeBlocksOfFusedDimsMoveRows) {
  const HardwareModel model = load_model("npu16");
  const auto kernel =
      kernel_from_formula("O[p,q,k] += I[2*p+r,2*q+s,c] * F[r,s,c,k]", "p=6,q=6,r=3,s=3,c=16,k=16", "I=s8,F=s8,O=s32");
  ASSERT_TRUE(kernel) << render(kernel.diagnostics());
  const auto schedule = parse_schedule("schedule: rows\nkernel: " + kernel->name + "\ntarget: npu16\nnest:" + R"(
  - stage F in dram as [k/16, r.c/16, s, r.c%16, k%16]
  - stage O in dram as [p/16, q, k/16, p%16, k%16]
  - for q by 2
  - stage O in acc x2 as [p/16, q, k/16, p%16, k%16] first flag
  - for r.c by 16
  - for s by 2
  - stage I in spad x2 as [p/16, 2*q + s, r.c/16, p%16, r.c%16]
  - stage F in spad x2 as [k/16, r.c/16, s, r.c%16, k%16]
  - for q by 1
  - for s by 1
  - do s0 with mma(i=p, j=k, k=r.c)
)",
                                       "rows.yaml", *kernel, model);
  ASSERT_TRUE(schedule) << render(schedule.diagnostics());
  const auto program = lower(*schedule, *kernel, model);
  ASSERT_TRUE(program) << render(program.diagnostics());
  simulated(model, *kernel, *schedule, *program, 1.25);
}

/// Copies by the scalar unit of a fused window. I: 9 * 16 * 16 elements of stride 36, whose indices are divided once a
/// row of 16 channels, 2.5 + 12/16 cycles each; F, 9 * 16 * 16, and O, 16 * 16, have a stride: 2.5.
TEST(StreamCopies, OfFusedWindowsDivideOnceARow) {
  const HardwareModel model = load_model("vta16");
  const auto kernel =
      kernel_from_formula("O[k,p,q] += I[c,p+r,q+s] * F[k,c,r,s]", "k=16,c=16,p=4,q=4,r=3,s=3", "I=s8,F=s8,O=s32");
  ASSERT_TRUE(kernel) << render(kernel.diagnostics());
  const auto schedule = parse_schedule("schedule: window\nkernel: " + kernel->name + "\ntarget: vta16\nnest:" + R"(
  - stage I in dram as [c/16, r.s, p.q, c%16]
  - stage F in dram as [k/16, c/16, r.s, k%16, c%16]
  - stage O in dram as [k/16, p.q, k%16]
  - stage O in acc as [k/16, p.q, k%16]
  - stage I in inp as [c/16, r.s, p.q, c%16]
  - stage F in wgt as [k/16, c/16, r.s, k%16, c%16]
  - do s0 with gemm(e=p.q, j=k, f=r.s, k=c)
)",
                                       "window.yaml", *kernel, model);
  ASSERT_TRUE(schedule) << render(schedule.diagnostics());
  const auto program = lower(*schedule, *kernel, model);
  ASSERT_TRUE(program) << render(program.diagnostics());
  const double copies = 2304 * 3.25 + 2304 * 2.5 + 256 * 2.5;
  auto data = random_data(*kernel, Fill::integers, 7);
  const auto outcome = make_runner(model)->run(*program, data, RunLimits{}, 0);
  ASSERT_TRUE(outcome) << render(outcome.diagnostics());
  EXPECT_EQ(outcome->scalar_cycles, copies);
  for (const auto& [by, make] : models) {
    const auto cost = make()->estimate({&*kernel, make_id<StatementId>(0), &model, schedule->nests.front()});
    ASSERT_TRUE(cost) << by << render(cost.diagnostics());
    EXPECT_EQ(cost->scalar_cycles, copies) << by;
    EXPECT_EQ(cost->link_bytes.at("to_inp"), 9 * 16 * 16)
        << by << ": of I each of 6 x 6 points as often as in the tile";
  }
}

/// Requantises over a slow link; nothing else has an energy.
constexpr const char* requantizer = R"yaml(hardware: requantizer
clock: 1GHz
program: {language: asm, comment: "#", end: halt}
units: [{name: host, scalar: true}, {name: core, ports: {dma: 1, sdp: 1}}]
memories:
  - {name: dram, per: host, kind: dram, capacity: 1MiB}
  - {name: acc, per: core, kind: accumulator, capacity: 16KiB, granularity: 64B}
  - {name: obuf, per: core, kind: scratchpad, capacity: 16KiB, granularity: 16B}
links:
  - {name: in, from: dram, to: acc, bandwidth: 16B/cycle}
  - {name: sdp, from: acc, to: obuf, bandwidth: 0.5B/cycle, energy: 1pJ/B}
  - {name: out, from: obuf, to: dram, bandwidth: 16B/cycle}
instructions:
  - {name: ld, link: in, compute: "D[i,j] = S[i,j]", dims: {i: {max: 64, inactive: keep}, j: {max: 16}}, inactive: zero,
     operands: {D: {dtype: s32, layout: {i: 16, j: 1}, align: 64B}, S: {dtype: s32, layout: {i: any, j: 1}}},
     emit: "ld {D}, {S}, {S.pitch[i]}, {extent[i]}, {extent[j]}",
     timing: {latency: 60cycles, port: dma, interval: "4*extent[i] cycles"}}
  - {name: requant, link: sdp, compute: "D[i,j] = sat_s8(S[i,j])", dims: {i: {max: 64}, j: 16}, inactive: keep,
     operands: {D: {dtype: s8, layout: {i: 16, j: 1}, align: 16B}, S: {dtype: s32, layout: {i: 16, j: 1}, align: 64B}},
     emit: "sdp {D}, {S}, {extent[i]}", timing: {latency: 12cycles, port: sdp, interval: "extent[i] cycles"}}
  - {name: st, link: out, compute: "D[i,j] = S[i,j]", dims: {i: {max: 64}, j: {max: 16}}, inactive: keep,
     operands: {D: {dtype: s8, layout: {i: any, j: 1}}, S: {dtype: s8, layout: {i: 16, j: 1}, align: 16B}},
     emit: "st {D}, {S}, {D.pitch[i]}, {extent[i]}, {extent[j]}",
     timing: {latency: 60cycles, port: dma, interval: "extent[i] cycles"}}
)yaml";

/// Four commands of 37 rows of 16 bytes, though the last four columns hold 4: 4 x 37 x 16 = 2368 bytes at half a byte a
/// cycle, each with a picojoule.
TEST(StreamLinks, LimitComputationsThatGoOverThem) {
  const HardwareModel model = loaded_from(requantizer);
  const auto kernel = kernel_from_formula("Y[i,j] = sat_s8(T[i,j])", "i=37,j=52", "T=s32,Y=s8");
  ASSERT_TRUE(kernel) << render(kernel.diagnostics());
  const auto schedule =
      parse_schedule("schedule: narrow\nkernel: " + kernel->name + "\ntarget: requantizer\nnest:" + R"(
  - stage Y in obuf as [i/64, j/16, i%64, j%16]
  - stage T in acc as [i/64, j/16, i%64, j%16]
  - for j by 16
  - do s0 with requant(i=i, j=j)
)",
                     "narrow.yaml", *kernel, model);
  ASSERT_TRUE(schedule) << render(schedule.diagnostics());
  const auto program = lower(*schedule, *kernel, model);
  ASSERT_TRUE(program) << render(program.diagnostics());
  EXPECT_GE(simulated(model, *kernel, *schedule, *program, 1.1), 4736);
  for (const auto& [by, make] : models) {
    const auto cost = make()->estimate({&*kernel, make_id<StatementId>(0), &model, schedule->nests.front()});
    ASSERT_TRUE(cost) << render(cost.diagnostics());
    EXPECT_GE(cost->cycles, 4736) << by;
    EXPECT_EQ(cost->link_bytes.at("sdp"), 2368) << by;
    EXPECT_EQ(cost->energy_pJ, 2368) << by;
    EXPECT_EQ(cost->bytes, 4 * 37 * 52 + 2368 + 37 * 52) << by;
  }
}

/// Sums of rows over the slow link: 37 of 4 bytes for each of four calls along k (16 columns each), not 16 times as
/// much: 592 bytes at half a byte a cycle.
TEST(StreamLinks, CarryTheResultsOfSumsAndNotTheirTerms) {
  std::string text = requantizer;
  const auto begin = text.find("  - {name: requant"), end = text.find("  - {name: st,");
  text.replace(begin, end - begin,
               R"(  - {name: total, link: sdp, compute: "D[i] += S[i,k]", dims: {i: {max: 64}, k: 16}, inactive: keep,
     start: {D: [zero, keep]},
     operands: {D: {dtype: s32, layout: {i: 1}, align: 16B}, S: {dtype: s32, layout: {i: 16, k: 1}, align: 64B}},
     emit: "sum {D}, {S}, {extent[i]}, {start[D]}", timing: {latency: 12cycles, port: sdp, interval: "extent[i] cycles"}}
  - {name: st1, link: out, compute: "D[i] = S[i]", dims: {i: {max: 64}}, inactive: keep,
     operands: {D: {dtype: s32, layout: {i: 1}}, S: {dtype: s32, layout: {i: 1}, align: 16B}},
     emit: "st1 {D}, {S}, {extent[i]}", timing: {latency: 60cycles, port: dma, interval: "extent[i] cycles"}}
)");
  const HardwareModel model = loaded_from(text);
  const auto kernel = kernel_from_formula("Y[i] += T[i,k]", "i=37,k=64", "T=s32,Y=s32");
  ASSERT_TRUE(kernel) << render(kernel.diagnostics());
  const auto schedule = parse_schedule("schedule: sums\nkernel: " + kernel->name + "\ntarget: requantizer\nnest:" + R"(
  - stage Y in obuf as [i] first flag
  - stage T in acc as [i/64, k/16, i%64, k%16]
  - for k by 16
  - do s0 with total(i=i, k=k)
)",
                                       "sums.yaml", *kernel, model);
  ASSERT_TRUE(schedule) << render(schedule.diagnostics());
  const auto program = lower(*schedule, *kernel, model);
  ASSERT_TRUE(program) << render(program.diagnostics());
  EXPECT_GE(simulated(model, *kernel, *schedule, *program, 1.1), 1184);
  for (const auto& [by, make] : models) {
    const auto cost = make()->estimate({&*kernel, make_id<StatementId>(0), &model, schedule->nests.front()});
    ASSERT_TRUE(cost) << render(cost.diagnostics());
    EXPECT_EQ(cost->link_bytes.at("sdp"), 592) << by;
    EXPECT_GE(cost->cycles, 1184) << by;
  }
}

/// Two buffers of T and of Y: loads of the next rows pass the store that waits for the call. After the first load (60)
/// twenty calls of 8 x 32 cycles follow one another, and the last store (60).
TEST(StreamMoves, OfDoubleBuffersPassStoresThatWait) {
  std::string text = requantizer;
  const auto replace = [&](const std::string& from, const std::string& to) {
    ASSERT_NE(text.find(from), std::string::npos);
    text.replace(text.find(from), from.size(), to);
  };
  replace("bandwidth: 0.5B", "bandwidth: 16B");
  replace("port: sdp, interval: \"extent[i] cycles\"", "port: sdp, interval: \"32*extent[i] cycles\"");
  const HardwareModel model = loaded_from(text);
  const auto kernel = kernel_from_formula("Y[i,j] = sat_s8(T[i,j])", "i=160,j=16", "T=s32,Y=s8");
  ASSERT_TRUE(kernel) << render(kernel.diagnostics());
  const auto schedule = parse_schedule("schedule: twice\nkernel: " + kernel->name + "\ntarget: requantizer\nnest:" + R"(
  - for i by 8
  - stage Y in obuf x2 as [i, j]
  - stage T in acc x2 as [i, j]
  - do s0 with requant(i=i, j=j)
)",
                                       "twice.yaml", *kernel, model);
  ASSERT_TRUE(schedule) << render(schedule.diagnostics());
  const auto program = lower(*schedule, *kernel, model);
  ASSERT_TRUE(program) << render(program.diagnostics());
  EXPECT_EQ(simulated(model, *kernel, *schedule, *program, 1.01), 60 + 20 * 256 + 60);
}

/// Weights in two registers, each loaded by a move of its own; a call takes 100 cycles.
std::string stationary(const std::string& load) {
  return R"yaml(hardware: stationary
clock: 1GHz
program: {language: asm, comment: ";", end: stop}
units: [{name: host, scalar: true}, {name: tile, ports: {dma: 1, write: 1, multiply: 1}}]
memories:
  - {name: dram, per: host, kind: dram, capacity: 1MiB}
  - {name: buf, per: tile, kind: scratchpad, capacity: 16KiB}
  - {name: acc, per: tile, kind: accumulator, capacity: 1KiB}
  - {name: w, per: tile, kind: register, count: 2, size: 256B}
links:
  - {name: in, from: dram, to: buf, bandwidth: 64B/cycle}
  - {name: weights, from: dram, to: w, bandwidth: 64B/cycle}
  - {name: inacc, from: dram, to: acc, bandwidth: 64B/cycle}
  - {name: out, from: acc, to: dram, bandwidth: 64B/cycle}
instructions:
  - {name: ld, link: in, compute: "D[i,k] = S[i,k]", dims: {i: {max: 16, inactive: keep}, k: {max: 16}}, inactive: zero,
     operands: {D: {dtype: s8, layout: {i: 16, k: 1}}, S: {dtype: s8, layout: {i: any, k: 1}}},
     emit: "ld {D}, {S}, {S.pitch[i]}, {extent[i]}, {extent[k]}",
     timing: {latency: 20cycles, port: dma, interval: "extent[i] cycles"}}
  - {name: ldw, link: weights, compute: "D[k,j] = S[k,j]", dims: {k: {max: 16}, j: {max: 16}}, inactive: zero,
     operands: {D: {dtype: s8, layout: {k: 16, j: 1}}, S: {dtype: s8, layout: {k: any, j: 1}}},
     emit: "ldw {D}, {S}, {S.pitch[k]}, {extent[k]}, {extent[j]}",
     timing: {latency: 20cycles, port: write, interval: )yaml" +
         load + R"yaml(}}
  - {name: mul, unit: tile, compute: "C[i,j] += s32(A[i,k]) * s32(W[k,j])", start: {C: [zero, keep]},
     dims: {i: {max: 16}, k: 16, j: 16}, inactive: keep,
     operands: {A: {memory: buf, dtype: s8, layout: {i: 16, k: 1}}, W: {memory: w, dtype: s8, layout: {k: 16, j: 1}},
                C: {memory: acc, dtype: s32, layout: {i: 16, j: 1}, align: 4B}},
     emit: "mul {C}, {A}, {W}, {extent[i]}, {start[C]}",
     timing: {latency: 20cycles, port: multiply, interval: 100cycles}}
  - name: ${d}
    variants: [{d: out, link: out, inactive: keep, far: D, local: S}, {d: inacc, link: inacc, inactive: zero, far: S, local: D}]
    compute: "D[i,j] = S[i,j]"
    dims: {i: {max: 16, inactive: keep}, j: {max: 16}}
    operands: {"${local}": {dtype: s32, layout: {i: 16, j: 1}, align: 4B}, "${far}": {dtype: s32, layout: {i: any, j: 1}}}
    emit: "${d} {D}, {S}, {${far}.pitch[i]}, {extent[i]}, {extent[j]}"
    timing: {latency: 20cycles, port: dma, interval: "extent[i] cycles"}
)yaml";
}

/// Columns that are every second one of the output: each of the 16 x 16 sums is a store of its own, of a cycle.
TEST(StreamMoves, OfEverySecondColumnStoreEachSumByItself) {
  const HardwareModel model = loaded_from(stationary("100cycles"));
  const auto kernel = kernel_from_formula("O[k,2*u+a] += F[k,a,c] * I[c,u]", "k=8,u=16,a=2,c=16", "F=s8,I=s8,O=s32");
  ASSERT_TRUE(kernel) << render(kernel.diagnostics());
  const auto schedule =
      parse_schedule("schedule: columns\nkernel: " + kernel->name + "\ntarget: stationary\nnest:" + R"(
  - stage O in acc as [k.a, u/16, u%16] first flag
  - stage F in buf as [k.a, c/16, c%16]
  - stage I in w
  - do s0 with mul(i=k.a, j=u, k=c)
)",
                     "columns.yaml", *kernel, model);
  ASSERT_TRUE(schedule) << render(schedule.diagnostics());
  const auto program = lower(*schedule, *kernel, model);
  ASSERT_TRUE(program) << render(program.diagnostics());
  EXPECT_GE(simulated(model, *kernel, *schedule, *program, 1.1), 20 + 100 + 256);
}

/// Eight blocks of weights: in one register each load (100) waits for the call (100) before it; in two all but the
/// first are loaded meanwhile.
TEST(StreamRegisters, AreDoubleBufferedWhereLoadsTakeAsLongAsCalls) {
  const double found = simulated(loaded_from(stationary("100cycles")), gemm_s8(16, 16, 128), 1.1);
  EXPECT_GE(found, 100 + 8 * 100);
  EXPECT_LT(found, 8 * 100 + 8 * 100);
}

/// 8 x 2 tiles of the output, of which one fits, and 2 x 2 blocks of weights: inside of the tiles of the output they
/// are loaded 32 times (12800 cycles), outside 4 times, two at a time: 2 * (2 * 400 + 16 * 100) and latencies.
TEST(StreamRegisters, HoldWeightsOutsideOfTheTilesOfTheOutput) {
  const double found = simulated(loaded_from(stationary("400cycles")), gemm_s8(128, 32, 32), 1.1);
  EXPECT_GE(found, 4 * 400 + 100);
  EXPECT_LT(found, 5200);
}

INSTANTIATE_TEST_SUITE_P(Model, StreamWindow, testing::Values(std::string("npu16"), std::string("conv3x3")),
                         model_of_case);
INSTANTIATE_TEST_SUITE_P(Model, ScheduledStream, testing::ValuesIn(accelerator_names()), model_of_case);
INSTANTIATE_TEST_SUITE_P(Model, HeavyScheduledStream, testing::ValuesIn(accelerator_names()), model_of_case);
INSTANTIATE_TEST_SUITE_P(Model, Cycles, testing::ValuesIn(accelerator_names()), model_of_case);
INSTANTIATE_TEST_SUITE_P(Model, HeavyCycles, testing::ValuesIn(accelerator_names()), model_of_case);

}  // namespace
}  // namespace isamap::conformance

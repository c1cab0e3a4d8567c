// SPDX-License-Identifier: Apache-2.0
// Each term of the cost model against a number computed by hand, on machines with round numbers: data/vector8.yaml and
// the skeleton of a GPU. Numbers of traffic that no nest this small has are given to the term directly.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <set>

#include "hwdesc/load/skeletons.h"
#include "hwdesc/model/timing_choice.h"
#include "scheduler/cost/priced_nest.h"
#include "tests/list_item.h"
#include "tests/lowering/support.h"
#include "tests/scheduler/support.h"
#include "tests/scratch.h"

namespace isamap {
namespace {

HardwareModel vector8() {
  auto loaded = load_hardware(std::string(ISAMAP_SOURCE_DIR) + "/tests/scheduler/data/vector8.yaml", {});
  EXPECT_TRUE(loaded) << render(loaded.diagnostics());
  return loaded->model;
}

/// 64 processors with 4 ports for mma (8 cycles, latency 32) and one for loads; links of 64 B/cycle and 400 cycles.
HardwareModel small_gpu() {
  const std::string file = scratch("small_gpu.yaml");
  for (const auto& [kind, text] : hardware_skeletons())
    if (kind == "gpu") {
      std::string named = text;
      for (std::size_t at = 0; (at = named.find("NAME", at)) != std::string::npos;) named.replace(at, 4, "small");
      std::ofstream(file) << named;
    }
  auto loaded = load_hardware(file, {});
  EXPECT_TRUE(loaded) << render(loaded.diagnostics());
  return loaded->model;
}

/// A nest and its price.
class Priced {
 public:
  Priced(const Priced&) = delete;
  Priced(Kernel kernel, HardwareModel model, const std::vector<std::string>& lines)
      : kernel_(std::move(kernel)), model_(std::move(model)) {
    const Schedule schedule = schedule_of(lines);
    auto nest = price_nest({&kernel_, make_id<StatementId>(0), &model_, schedule.nests[0]});
    EXPECT_TRUE(nest) << render(nest.diagnostics());
    if (nest) nest_ = std::move(*nest);
  }
  const PricedNest& nest() const { return *nest_; }
  const HardwareModel& model() const { return model_; }
  TermContext context() const {
    TermContext context{nest_->view, nest_->counts, nest_->traffic, model_.timing};
    if (nest_->blocks) context.blocks = &*nest_->blocks;
    if (nest_->scalar) context.scalar = &*nest_->scalar;
    return context;
  }

  /// The times of a term of this nest, in this context.
  std::vector<TermTime> times(std::string_view name, const TermContext& context) const {
    std::vector<TermTime> times;
    for (const Term* term : terms_of(nest_->timing))
      if (term->name == name) {
        term->times(context, times);
        return times;
      }
    ADD_FAILURE() << "no term is called " << name;
    return times;
  }
  /// The one of a resource, in this nest.
  double cycles(std::string_view name, const std::string& resource) const {
    for (const TermTime& time : times(name, context()))
      if (time.name() == resource) return time.cycles;
    return 0;
  }
  double cycles(std::string_view name, const TermContext& context) const {
    double sum = 0;
    for (const TermTime& time : times(name, context)) sum += time.cycles;
    return sum;
  }
  double cycles(std::string_view name) const { return cycles(name, context()); }

 private:
  Kernel kernel_;
  HardwareModel model_;
  std::unique_ptr<PricedNest> nest_;
};

/// 8 x 16 x 32 in tiles of so many rows and 8 columns: 512 calls of 8 products.
Priced product(const std::string& rows, const std::string& depth = "32", HardwareModel model = vector8()) {
  return {formula("C[i,j] += A[i,k] * B[k,j]", "i=8,j=16,k=32"),
          std::move(model),
          {"for k by " + depth, "for i by " + rows, "for j by 8", "stage C in vec", "for k by 1", "stage B in vec",
           "for i by 1 unroll", "do s0 with fma(j=j)"}};
}

TEST(Terms, ComputeIsThroughputOrAChainOfUpdates) {
  EXPECT_EQ(product("4").cycles("compute", "compute"), 512);  // latency 4 over 4 accumulators: a call a cycle
  EXPECT_EQ(product("2").cycles("compute", "latency of fma (2 accumulators)"), 512 * 4 / 2);
}

/// Rows at computed places are contiguous where the axis behind the place is innermost; the place is read once a row.
TEST(Terms, RowsAtComputedPlacesAreCopiesOfRows) {
  const auto cycles = [](const std::string& x, const std::string& y, const std::string& compute,
                         const std::vector<std::string>& loops) {
    std::vector<std::string> lines;
    for (const std::string& dim : loops) lines.push_back("for " + dim + " by 1");
    lines.push_back("do s0 with scalar");
    const Priced priced{
        testing_support::kernel_yaml("kernel: rows\ntensors: {J: {shape: [100], dtype: s32}, X: {shape: " + x +
                                     "}, Y: {shape: " + y + "}}\ncompute:\n  - " + compute + "\n"),
        vector8(), lines};
    return priced.cycles("compute", "scalar code");
  };
  EXPECT_EQ(cycles("[50, 20]", "[100, 20]", "Y[i,j] = X[at(J[i]),j]", {"i", "j"}), 2000 * 0.5 + 100);
  EXPECT_EQ(cycles("[50, 20]", "[20, 100]", "Y[j,i] = X[at(J[i]),j]", {"j", "i"}), 2000 * 3);
  const std::string body = " += select(J[u] == value(i), ";
  EXPECT_EQ(cycles("[100, 20]", "[50, 20]", "Y[i,j]" + body + "X[u,j], -0)", {"i", "j", "u"}), 2000 * 0.5 + 100);
  EXPECT_EQ(cycles("[20, 100]", "[20, 50]", "Y[j,i]" + body + "X[j,u], -0)", {"j", "i", "u"}), 2000 * 2.5 + 100);
}

TEST(Terms, ScalarCodeTakesItsAccesses) {
  const Priced sum{formula("Y[i] = X[i] + Z[i]", "i=100"), vector8(), {"for i by 1", "do s0 with scalar"}};
  EXPECT_EQ(sum.cycles("compute", "scalar code"), 300);
  const Priced copy{formula("Y[i] = X[i]", "i=100"), vector8(), {"for i by 1", "do s0 with scalar"}};
  EXPECT_EQ(copy.cycles("compute", "scalar code"), 50);
  const Priced transposed{
      formula("Y[i,j] = X[j,i]", "i=10,j=10"), vector8(), {"for i by 1", "for j by 1", "do s0 with scalar"}};
  EXPECT_EQ(transposed.cycles("compute", "scalar code"), 250);
  const auto shared = [](const std::vector<std::string>& lines) {
    return Priced(formula("Y[i,j] = X[i/2,j]", "i=10,j=10"), vector8(), lines).cycles("compute", "scalar code");
  };
  EXPECT_EQ(shared({"for i by 1", "for j by 1", "do s0 with scalar"}), 50 + 10 * 12) << "divided once a row";
  EXPECT_EQ(shared({"for j by 1", "for i by 1", "do s0 with scalar"}), 1200);
}

/// Sums in memory are set to zero before; not those that a stage holds, that the caller gives, or that are no sums.
TEST(Terms, ScalarSumsAreInitialised) {
  const auto cycles = [](const std::string& output, const std::string& body, const std::vector<std::string>& lines) {
    const Priced priced{testing_support::kernel_yaml("kernel: sums\ntensors: {X: {shape: [64, 20]}, Y: " + output +
                                                     "}\ncompute:\n  - Y[i] " + body + "\n"),
                        vector8(), lines};
    EXPECT_EQ(priced.cycles("compute", "scalar code"), 64 * 20 * (body[0] == '+' ? 2 : 1));
    return priced.cycles("initialisation of sums", "initialisation of sums");
  };
  const std::vector<std::string> loops{"for i by 1", "for j by 1", "do s0 with scalar"};
  EXPECT_EQ(cycles("{shape: [64]}", "+= X[i,j]", loops), 64 * 0.5);
  EXPECT_EQ(cycles("{shape: [64], inout: true}", "+= X[i,j]", loops), 0);
  EXPECT_EQ(cycles("{shape: [64]}", "+= X[i,j]", {"for i by 1", "stage Y in pad", "for j by 1", "do s0 with scalar"}),
            0);
  EXPECT_EQ(cycles("{shape: [64]}", "+= X[i,j]", {"for j by 1", "stage Y in pad", "for i by 1", "do s0 with scalar"}),
            64 * 0.5);
  const Priced sum{formula("Y[i] += X[i,j]", "i=64,j=20"), vector8(), loops};
  EXPECT_EQ(sum.nest().terms.bounds.front().cycles, 64 * 20 * 2 + 32) << "calls are summed";
}

/// Reports show it beside the cycles.
TEST(Terms, BoundsOfResourcesNameTheLineOfTheirFigure) {
  const Priced nest = product("4");
  const HardwareModel& model = nest.model();
  std::map<std::string, SourceLocation> places{
      {"port load", model.instruction(*model.find_instruction("load")).timing_where},
      {"port store", model.instruction(*model.find_instruction("store")).timing_where}};
  for (const Link& link : model.links()) places["link " + link.name] = link.bandwidth_where;
  std::set<std::string> named;
  for (const TermTime& bound : nest.nest().terms.bounds)
    if (const auto place = places.find(bound.name()); place != places.end()) {
      named.insert(bound.name());
      ASSERT_NE(bound.where, nullptr) << bound.name();
      EXPECT_GT(bound.where->line, 0) << bound.name();
      EXPECT_EQ(*bound.where, place->second) << bound.name();
    }
  EXPECT_EQ(named, (std::set<std::string>{"link ld", "link st", "port load", "port store"}));
}

TEST(Terms, LoopExitsMispredictFromEightTripsOn) {
  EXPECT_EQ(product("4").cycles("loop exits"), 2 * 2 * 20);  // of the 32 steps of k, in four tiles
  EXPECT_EQ(product("4", "4").cycles("loop exits"), 20);     // of its 8 parts; 4 steps inside are predicted
}

TEST(Terms, ParallelLoopsStartTheirThreads) {
  const std::string file = scratch("two_threads.yaml");
  std::filesystem::copy_file(std::string(ISAMAP_SOURCE_DIR) + "/tests/scheduler/data/vector8.yaml",
                             scratch("vector8.yaml"), std::filesystem::copy_options::overwrite_existing);
  std::ofstream(file) << "hardware: two_threads\nextends: vector8.yaml\nunits:\n"
                         "  - {name: core, count: 2, threads: {loop: \"#pragma\", start: 100cycles}}\n";
  auto loaded = load_hardware(file, {});
  ASSERT_TRUE(loaded) << render(loaded.diagnostics());
  const auto sum = [&](const std::vector<std::string>& lines) {
    return Priced(formula("Y[r,i] = X[r,i] + Z[r,i]", "r=3,i=100"), loaded->model, lines).cycles("start of threads");
  };
  const std::vector<std::string> body = {"for i by 1", "do s0 with scalar"};
  EXPECT_EQ(sum({"for i by 50 on core", "for r by 1", body[0], body[1]}), 100);
  EXPECT_EQ(sum({"for r by 1", "for i by 50 on core", body[0], body[1]}), 300) << "once for each row";
  EXPECT_EQ(sum({"for r by 1", body[0], body[1]}), 0);
  // In a model each of two threads has half of r, the outermost axis, of all tensors: 4 B/cycle into its cache, half of
  // it hidden.
  loaded->model.timing.between_runs = 1;
  const auto others = [&](const char* compute, const std::vector<std::string>& lines) {
    return Priced(formula(compute, "r=4,i=100"), loaded->model, lines)
        .cycles("start of threads", "shares of other threads");
  };
  const std::vector<std::string> rows = {"for r by 2 on core", "for r by 1", body[0], body[1]};
  EXPECT_EQ(others("Y[r,i] = X[r,i] + Z[r,i]", rows), 0);
  EXPECT_EQ(others("Y[r,i] = X[r,i] + Z[i]", rows), 400.0 / 2 / 4 / 2) << "all of Z, half of which others wrote";
  EXPECT_EQ(others("Y[r,i] = X[r,i] + Z[r,i]", {"for i by 50 on core", "for r by 1", body[0], body[1]}),
            3 * 1600.0 / 2 / 2 / 4 / 2);
  // Windows read rows of another thread: span - step of them, 400 bytes each.
  const std::vector<std::string> windows = {"for r by 2 on core", "for r by 1", "for t by 1", body[0], body[1]};
  const auto halo = [&](const char* compute) {
    return Priced(formula(compute, "r=4,i=100,t=3"), loaded->model, windows)
        .cycles("start of threads", "shares of other threads");
  };
  EXPECT_EQ(halo("Y[r,i] += X[r+t,i]"), 2 * 400.0 / 4 / 2);
  EXPECT_EQ(halo("Y[r,i] += X[2*r+t,i]"), 1 * 400.0 / 4 / 2);
  EXPECT_EQ(halo("Y[r,i] += X[3*r+t,i]"), 0);
  EXPECT_EQ(halo("Y[r,i] += X[r+9*t,i]"), 22 / 2 * 400.0 / 4 / 2) << "no more than another thread has";
}

TEST(Terms, AccumulatorsRestartWhereTheReductionIsSplit) {
  EXPECT_EQ(product("4").cycles("accumulator restarts"), 0);
  EXPECT_EQ(product("4", "16").cycles("accumulator restarts"), 2 * 2 * 2 * (4 + 5));
}

TEST(Terms, LinksMoveTheirBytes) {
  // 128 registers of B and 512 elements of A in; 16 registers of C out.
  EXPECT_EQ(product("4").cycles("link", "link ld"), (128 * 32 + 512 * 4) / 32.0);
  EXPECT_EQ(product("4").cycles("link", "link st"), 16 * 32 / 32.0);
}

/// Four clusters with a link each, of 4 B/cycle in and 16 out.
HardwareModel clusters(const std::string& port) {
  const std::string file = scratch("clusters.yaml");
  std::filesystem::copy_file(std::string(ISAMAP_SOURCE_DIR) + "/tests/scheduler/data/row4.yaml", scratch("row4.yaml"),
                             std::filesystem::copy_options::overwrite_existing);
  std::ofstream(file) << "hardware: clusters\nextends: row4.yaml\nlinks:\n  - {name: to_l1, bandwidth: 4B/cycle" << port
                      << "}\n  - {name: from_l1, bandwidth: 16B/cycle" << port << "}\n";
  auto loaded = load_hardware(file, {});
  EXPECT_TRUE(loaded) << render(loaded.diagnostics());
  return loaded->model;
}

/// 16 x 8 x 8, of which each cluster has four rows: its 32 elements of A, all 64 of B, and 32 of Z.
Priced four_clusters(const std::string& port) {
  return {formula("Z[m,n] += A[m,k] * B[k,n]", "m=16,n=8,k=8", "A=s16,B=s16,Z=s16"),
          clusters(port),
          {"stage A in L2", "stage B in L2", "stage Z in L2", "for m by 4 on cluster", "stage A in L1", "stage B in L1",
           "stage Z in L1", "for m by 1", "for n by 1", "stage Z in RF", "for k by 1", "stage A in RF", "stage B in RF",
           "do s0 with mac()"}};
}

TEST(Terms, LinksDoNotMulticast) {
  const Priced nest = four_clusters("");
  EXPECT_EQ(nest.cycles("link", "link to_l1"), (32 + 64) * 2 / 4.0) << "B goes over the link of each";
  EXPECT_EQ(nest.cycles("link", "link from_l1"), 32 * 2 / 16.0);
  EXPECT_EQ(nest.nest().cost.link_bytes.at("to_l1"), (128 + 64) * 2) << "B leaves L2 once";
}

TEST(Terms, LinksOfOnePortTakeTurns) {
  EXPECT_EQ(four_clusters("").cycles("link", "links of port bus"), 0);
  EXPECT_EQ(four_clusters(", port: bus").cycles("link", "links of port bus"), 48 + 4);
}

/// Also of a machine whose moves have no timing: the rows of A in the order of its columns.
TEST(Terms, ACopyByTheHostTakesItsElements) {
  const Priced nest{formula("Z[m,n] += A[m,k] * B[k,n]", "m=16,n=8,k=8", "A=s16,B=s16,Z=s16"),
                    clusters(""),
                    {"stage A in DRAM as [k, m]", "stage A in L2", "stage B in L2", "stage Z in L2", "for m by 4",
                     "stage A in L1", "stage B in L1", "stage Z in L1", "for m by 1", "for n by 1", "stage Z in RF",
                     "for k by 1", "stage A in RF", "stage B in RF", "do s0 with mac()"}};
  EXPECT_EQ(nest.cycles("packed copy"), 16 * 8 * 2.5);
  EXPECT_EQ(nest.nest().cost.scalar_cycles, 320);
  EXPECT_EQ(nest.nest().cost.cycles, nest.nest().terms.longest + 320);
}

TEST(Terms, PortsIssueTheMoves) {
  EXPECT_EQ(product("4").cycles("port", "port load"), 128 + 512);
  EXPECT_EQ(product("4").cycles("port", "port store"), 16);
}

TEST(Terms, CachesAreFilledAtTheBandwidthOfTheirLink) {
  const Priced nest = product("4");
  Traffic traffic;
  traffic.caches[*nest.model().find_memory("l1")] = {1280, 0, 16, 2};
  TermContext context = nest.context();
  const TermContext own{context.view, context.counts, traffic, context.timing};
  EXPECT_EQ(nest.cycles("cache", own), 1280 / 16.0 / 2);
}

TEST(Terms, MemoriesServeReadsApartFromWrites) {
  const HardwareModel a1 = machine("a1");
  const Priced nest{formula("C[i,j] += A[i,k] * B[k,j]", "i=8,j=8,k=8", "A=s16,B=s16,C=s32"),
                    a1,
                    {"for i by 1", "for j by 1", "stage C in RF", "for k by 1", "stage A in RF", "stage B in RF",
                     "do s0 with mac()"}};
  const Memory& home = nest.model().memory(nest.model().home());
  Traffic traffic;
  traffic.memories[nest.model().home()][make_id<TensorId>(0)] = {2, 0, 1000, 300, 200, 4};
  const TermContext own{nest.context().view, nest.context().counts, traffic, nest.model().timing};
  const std::vector<TermTime> times = nest.times("memory", own);
  ASSERT_EQ(times.size(), static_cast<std::size_t>((home.read_bandwidth > 0) + (home.write_bandwidth > 0)));
  if (home.read_bandwidth > 0) {
    EXPECT_EQ(times.front().cycles, 2000 / home.read_bandwidth);
  }
  if (home.write_bandwidth > 0) {
    EXPECT_EQ(times.back().cycles, 1000 / home.write_bandwidth);
  }
}

TEST(Terms, CoreAndCachesContendTheMoreTheNearerTheyAre) {
  const Priced nest = product("4");
  TermContext context = nest.context();
  const std::vector<TermTime> equal{{"compute", "", 100}, {"cache", "l1", 100, BoundOf::cache}};
  context.bounds = equal;
  context.longest = 100;
  EXPECT_NEAR(nest.cycles("contention of core and caches", context), 100 * (std::pow(2, 0.2) - 1), 1e-9);  // 14.87
  const std::vector<TermTime> apart{{"compute", "", 100}, {"cache", "l1", 50, BoundOf::cache}};
  context.bounds = apart;
  EXPECT_NEAR(nest.cycles("contention of core and caches", context), 100 * (std::pow(1 + 1 / 32.0, 0.2) - 1), 1e-9);
}

TEST(Terms, OtherBoundsTakeIssueSlots) {
  const Priced nest = product("4");
  TermContext context = nest.context();
  const std::vector<TermTime> bounds{{"compute", "", 100}, {"port", "load", 60}, {"link", "ld", 20}};
  context.bounds = bounds;
  context.longest = 100;
  EXPECT_EQ(nest.cycles("contended issue slots", context), 80 / 16.0);
}

TEST(Terms, EveryPrintedCallIsFetched) {
  const Priced nest = product("4");
  TermContext context = nest.context();
  context.printed_calls = 12;
  EXPECT_EQ(nest.cycles("instruction fetch", context), 12);
}

TEST(Terms, HalfOfTheStartsOfStreamsIsExposed) {
  const Priced nest = product("4");
  Traffic traffic;
  traffic.caches[*nest.model().find_memory("l1")] = {0, 0, 16, 1, 640};
  const TermContext own{nest.context().view, nest.context().counts, traffic, nest.model().timing};
  EXPECT_EQ(nest.cycles("prefetch stream starts", own), 0.5 * 640 / 16);
}

TEST(Terms, MissesOfTheLastLevelComeInPhases) {
  const Priced nest = product("4");
  Traffic traffic;
  const MemoryId l2 = *nest.model().find_memory("l2");
  traffic.caches[l2] = {4000, 0, 4, 1, 0, 8000};  // half of them miss, for 1000 cycles
  const std::vector<TermTime> bounds{{"compute", "", 800}, {"cache", "l2", 1000, BoundOf::cache, 0, {}, l2}};
  TermContext own{nest.context().view, nest.context().counts, traffic, nest.model().timing};
  own.bounds = bounds;
  own.longest = 1000;
  EXPECT_EQ(nest.cycles("LLC miss phases", own), 800 + (1000 - 0.5 * 800) - 1000);
}

TEST(Terms, PartialSumsAreReloaded) {
  const Priced nest = product("4", "16");
  const int stage = nest.nest().view.innermost[0];
  Traffic traffic;
  Transfer sums{0, stage, nest.model().home(), nest.nest().view.memory_of(stage), 32, 64};
  traffic.transfers.push_back(sums);
  traffic.caches[*nest.model().find_memory("l1")] = {0, 512, 16, 1};
  const TermContext own{nest.context().view, nest.context().counts, traffic, nest.model().timing};
  // One tile of 4 x 8 sums is reloaded; all of the 256 bytes that are stored miss the cache, half of its traffic each
  // way.
  EXPECT_EQ(nest.cycles("partial-sum reloads", own), 0.5 * (32 * 4 / 16.0 + 14));
}

TEST(Terms, SingleBuffersWaitForTheirTransfers) {
  const Priced nest = product("4");
  // A tile of 100 elements is loaded into a scratchpad over a link of 8 B/cycle, in place of the tile of B.
  const ResolvedNest& view = nest.nest().view;
  ResolvedNest doubled = view;
  doubled.stages.clear();
  for (const StagedTile& s : view.stages) {
    const auto facts = std::make_shared<StageFacts>();
    facts->stage = s.stage;
    facts->stage.buffers = 2;
    doubled.stages.push_back({s.access, s.memory, s.loops, s.parent, s.line, facts, s.where});
  }
  for (std::size_t s = 0; s < view.stages.size(); ++s)
    if (view.stages[s].access == 2) {
      Traffic traffic;
      traffic.transfers.push_back(
          {2, static_cast<int>(s), nest.model().home(), *nest.model().find_memory("pad"), 100, 0});
      const TermContext single{view, nest.nest().counts, traffic, nest.model().timing};
      EXPECT_EQ(nest.cycles("single-buffered transfers", single), 100 * 4 / 8.0);
      const TermContext two{doubled, nest.nest().counts, traffic, nest.model().timing};
      EXPECT_EQ(nest.cycles("single-buffered transfers", two), 0);
    }
}

TEST(Terms, StoresBeyondTheMissBuffersBurst) {
  const Priced nest = product("8");  // tiles of 8 x 8 numbers: 4 lines, of which 4 x (1 - 1/2) find a buffer
  Traffic traffic;
  traffic.caches[*nest.model().find_memory("l1")] = {4800, 1600, 16, 1};
  const std::vector<TermTime> bounds{{"compute", "", 150}, {"cache", "l1", 300, BoundOf::cache}};
  TermContext own{nest.context().view, nest.context().counts, traffic, nest.model().timing};
  own.bounds = bounds;
  own.longest = 300;
  EXPECT_EQ(nest.cycles("store bursts", own), 0.5 * (1600 / 16.0));  // storing 100 < computing 150 < moving
  // What computing hides of them falls with the same exponent as that of core and caches.
  const std::vector<TermTime> near{{"compute", "", 150}, {"cache", "l1", 120, BoundOf::cache}};
  own.bounds = near;
  const double p = nest.model().timing.overlap_exponent;
  EXPECT_DOUBLE_EQ(nest.cycles("store bursts", own), 0.5 * 100 * std::pow(120 / 150.0, p));
  const std::vector<TermTime> nothing{{"compute", "", 0}, {"cache", "l1", 120, BoundOf::cache}};
  own.bounds = nothing;
  EXPECT_EQ(nest.cycles("store bursts", own), 0);
}

TEST(Terms, PackedCopiesComeBeforeTheCalls) {
  const Priced nest{formula("C[i,j] += A[i,k] * B[k,j]", "i=8,j=16,k=32"),
                    vector8(),
                    {"stage B in ram as [j/8, k, j%8]", "for i by 4", "for j by 8", "stage C in vec", "for k by 1",
                     "stage B in vec", "for i by 1 unroll", "do s0 with fma(j=j)"}};
  // Of B and its copy, 2048 bytes each, the share of the cache that they occupy: B is read, the copy fetched and
  // written back, at 4 bytes a cycle.
  EXPECT_EQ(nest.cycles("packed copy", "packed copy of B"), 32 * 16 * 0.5 + 4096.0 / (1 << 20) * 3 * 2048 / 4);
}

/// What others have evicted since the last run grows with the square of what a copy occupies, up to all of it.
TEST(Terms, PackedCopiesMissWhatOthersEvicted) {
  const auto missed = [](std::int64_t depth, const std::string& tensor, const std::string& layout, double copying) {
    const Priced nest{formula("C[i,j] += A[i,k] * B[k,j]", fmt::format("i=8,j=16,k={}", depth)),
                      vector8(),
                      {"stage " + tensor + " in ram as [" + layout + "]", "for i by 4", "for j by 8", "stage C in vec",
                       "for k by 1", "stage B in vec", "for i by 1 unroll", "do s0 with fma(j=j)"}};
    return nest.cycles("packed copy", "packed copy of " + tensor) - copying;
  };
  EXPECT_EQ(missed(128, "B", "j/8, k, j%8", 128 * 16 * 0.5), 16 * 6);
  // These pass the L1, too: B once, its copy twice, at 16 bytes a cycle.
  EXPECT_EQ(missed(1 << 13, "B", "j/8, k, j%8", 3 * (1 << 19) / 16), 3 * (1 << 19) / 4);
  EXPECT_EQ(missed(1 << 14, "B", "j/8, k, j%8", 3 * (1 << 20) / 16), 3 * (1 << 20) / 4);
  // Of an output the tensor is fetched and written back; its copy was just written by the calls.
  EXPECT_EQ(missed(32, "C", "j/8, i, j%8", 128 * 0.5), 1024.0 / (1 << 20) * 2 * 512 / 4);
}

/// Channels innermost are interleaved rows: the rule of element statements (CopiedElements), for packed copies too.
TEST(Terms, PackedCopiesInterleaveAFewRows) {
  const HardwareModel model = vector8();
  const auto copy_of = [&](const std::string& layout) {
    const Priced nest{formula("O[c,q] += W[c] * X[c,q]", "c=48,q=64"),
                      model,
                      {"stage X in ram as [" + layout + "]", "for c by 1", "for q by 8", "stage O in vec",
                       "stage X in vec", "do s0 with fma(j=q)"}};
    return nest.cycles("packed copy", "packed copy of X") / (48 * 64);
  };
  const TimingParameters& timing = model.timing;
  const double contiguous = copy_of("c, q"), rest = contiguous - timing.copy_contiguous;
  EXPECT_DOUBLE_EQ(copy_of("c/8, q, c%8") - rest, timing.copy_interleaved);
  EXPECT_DOUBLE_EQ(copy_of("c/16, q, c%16") - rest, timing.copy_strided);
  EXPECT_DOUBLE_EQ(copy_of("q/4, c/8, q%4, c%8") - rest, timing.copy_strided);
}

/// A division by the row of the copy is made once a row. One inside the row is none where its loop is split into pairs;
/// else it is made for each element.
TEST(Terms, PackedCopiesDivideWhereTheyMust) {
  const HardwareModel model = vector8();
  const TimingParameters& timing = model.timing;
  const auto copy_of = [&](const std::string& index) {
    const Priced nest{formula("O[c,q] += W[c] * X[" + index + "]", "c=6,q=64"),
                      model,
                      {"stage X in ram as [c, q]", "for c by 1", "for q by 8", "stage O in vec", "stage X in vec",
                       "do s0 with fma(j=q)"}};
    return nest.cycles("packed copy", "packed copy of X") / (6 * 64);
  };
  const double plain = copy_of("c,q");
  EXPECT_DOUBLE_EQ(copy_of("c/2 + 3*(c%2),q") - plain, timing.copy_divided / 64);
  EXPECT_DOUBLE_EQ(copy_of("c,q/2 + 32*(q%2)") - plain, timing.copy_interleaved - timing.copy_contiguous);
  EXPECT_NEAR(copy_of("c,q/2 + q/3") - plain, timing.copy_divided - timing.copy_contiguous, 0.01);
}

/// Of fused dims a border is tested by divisions, though the place has a stride: the loop is split at rows.
TEST(Terms, PackedCopiesOfFusedDimsAreSplitAtBorders) {
  const HardwareModel model = vector8();
  const auto copy_of = [&](const std::string& index, const std::string& layout, const std::string& loops) {
    const Kernel kernel = testing_support::kernel_yaml(
        "kernel: shifted\ntensors: {W: {shape: []}, X: {shape: [6, 64], outside: 0}, O: {shape: [6, 64]}}\ncompute:\n"
        "  - O[c,q] += W[] * X[" +
        index + "]\n");
    std::vector<std::string> lines{"stage X in ram as [" + layout + "]"};
    if (loops == "q") lines.push_back("for c by 1");
    lines.insert(lines.end(),
                 {"for " + loops + " by 8", "stage O in vec", "stage X in vec", "do s0 with fma(j=" + loops + ")"});
    return Priced{kernel, model, lines}.cycles("packed copy", "packed copy of X") / (6 * 64);
  };
  EXPECT_NEAR(copy_of("c - 1,q - 1", "c.q", "c.q"), model.timing.copy_contiguous, 0.01);
  EXPECT_NEAR(copy_of("c - 1,q - 1", "c.q%48, c.q/48", "c.q"), model.timing.copy_divided, 0.01) << "48 and 64";
  EXPECT_NEAR(copy_of("c,q", "c.q", "c.q"), model.timing.copy_contiguous, 0.01);
  EXPECT_NEAR(copy_of("c - 1,q - 1", "c, q", "q"), model.timing.copy_contiguous, 0.01);
}

/// 64 x 32 x 64 in four blocks of four warps, which share no tile.
Priced blocks() {
  return {formula("C[i,j] += f32(A[i,k]) * f32(B[k,j])", "i=64,j=32,k=64", "A=f16,B=f16,C=f32"),
          small_gpu(),
          {"for i by 16 on block", "for j by 8 on warp", "stage C in reg", "for k by 16", "stage A in reg",
           "stage B in reg", "do s0 with mma(i=i, j=j, k=k)"}};
}

TEST(Terms, BlocksComputeOnThePortsOfTheirProcessor) {
  EXPECT_EQ(blocks().cycles("compute", "compute"), 4 * 4 * 8 / 4);  // 4 warps, 4 steps, 8 cycles, 4 ports
  EXPECT_EQ(blocks().cycles("latency of its calls"), 4 * 32);       // one accumulator a warp
}

TEST(Terms, BlocksMoveTheirTiles) {
  // Each warp loads 16 x 16 of A and 16 x 8 of B at each of 4 steps, and stores 16 x 8 of C.
  EXPECT_EQ(blocks().cycles("link", "link g2r"), 4 * 4 * (256 + 128) * 2 / 64.0);
  EXPECT_EQ(blocks().cycles("link", "link r2g"), 4 * 128 * 4 / 64.0);
  EXPECT_EQ(blocks().cycles("port", "port load"), 4 * 4 * (8 + 4) + 4 * 4);  // stores pass the same port
}

TEST(Terms, BlocksWaitForRegisters) {
  EXPECT_EQ(blocks().cycles("latency of fetches"), 4 * 400 + 4 * 8);  // both loads at once, then the call, four times
  EXPECT_EQ(blocks().cycles("last results"), 400);
}

/// A passes the memory of the block, element by element.
TEST(Terms, BlocksWaitAtBarriersForTilesInTheirMemory) {
  const Priced nest{formula("C[i,j] += f32(A[i,k]) * f32(B[k,j])", "i=64,j=8,k=64", "A=f16,B=f16,C=f32"),
                    small_gpu(),
                    {"for i by 16 on block", "stage C in reg", "for k by 16", "stage A in shared", "stage A in reg",
                     "stage B in reg", "do s0 with mma(i=i, j=j, k=k)"}};
  EXPECT_EQ(nest.cycles("barriers and exposed tile fills"), 4 * (20 + 400));  // at each of 4 steps
  // Into that memory and from it into registers, for which there are no moves; 32 lanes wait for 4 loads each.
  EXPECT_EQ(nest.cycles("copies by a scalar unit"), 4 * 16 * 16 * (400 + 30) / (32 * 4.0));
}

TEST(Terms, BlocksAreALaunch) { EXPECT_EQ(blocks().cycles("launch"), default_timing().launch); }

TEST(Terms, BlocksRunInWaves) {
  const Priced many{formula("C[i,j] += f32(A[i,k]) * f32(B[k,j])", "i=2048,j=8,k=16", "A=f16,B=f16,C=f32"),
                    small_gpu(),
                    {"for i by 16 on block", "stage C in reg", "for k by 16", "stage A in reg", "stage B in reg",
                     "do s0 with mma(i=i, j=j, k=k)"}};
  EXPECT_EQ(many.cycles("compute", "compute"), 2 * 8 / 4);  // 128 blocks on 64 processors
  EXPECT_EQ(many.cycles("last results"), 2 * 400);
}

TEST(Terms, ThreadsShareScalarCode) {
  const Priced nest{
      formula("Y[i] = X[i] * Z[i]", "i=6400", "X=f32,Z=f32,Y=f32"), small_gpu(), {"for i by 1", "do s0 with scalar"}};
  EXPECT_EQ(nest.cycles("scalar code"), 6400 * 3 / (64 * 32.0));  // 32 lanes of each processor have a load in flight
  EXPECT_EQ(nest.cycles("last results"), 400 + 400);
}

TEST(Terms, AreAddedByTheirOverlap) {
  const Priced nest = product("4");
  const TermSum& sum = nest.nest().terms;
  double all = sum.longest;
  for (const auto& [term, time] : sum.added) all += time.cycles;
  EXPECT_EQ(sum.cycles, all);
  EXPECT_EQ(nest.nest().cost.cycles, std::ceil(all - 1e-9));
  EXPECT_EQ(sum.bounds.front().cycles, 512 + 80);  // calls and the exits of their loops
}

TEST(Terms, StateFormulaParametersAndSource) {
  for (const TimingModel model : {TimingModel::overlapped, TimingModel::issued_moves, TimingModel::thread_blocks,
                                  TimingModel::parallel_scalar, TimingModel::command_stream}) {
    bool bounds_over = false;
    for (const Term* term : terms_of(model)) {
      EXPECT_FALSE(term->formula.empty() || term->parameters.empty() || term->source.empty()) << term->name;
      const bool is_bound = term->overlap == Overlap::calls || term->overlap == Overlap::bound;
      EXPECT_FALSE(is_bound && bounds_over) << term->name << " must stand before what is added to the bounds";
      bounds_over = bounds_over || !is_bound;
    }
  }
}

std::string text_of_file(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

const char* added_as(Overlap overlap) {
  switch (overlap) {
    case Overlap::calls:
      return "calls";
    case Overlap::bound:
      return "bound";
    case Overlap::once:
      return "once";
    case Overlap::contended:
      return "contended";
    case Overlap::exposed:
      break;
  }
  return "exposed";
}

/// docs/cost_terms.md: the terms of each timing model, then the defaults of its parameters.
std::string terms_page() {
  std::string text =
      "# Terms of the cost model\n\n"
      "Written by the test `Terms.ThePageIsUpToDate` (ISAMAP_UPDATE_GOLDEN=1) from scheduler/cost/term_tables.cpp and\n"
      "hwdesc/defaults/timing.yaml; docs/cost.md explains them. `isamap hw show` prints the timing model of a "
      "machine.\n\n"
      "    cycles = longest(calls, bounds) + once + contended + exposed\n\n"
      "The word in brackets says where a term is added there; times of `calls` are summed. *Replayed*: `latency` and\n"
      "`simulator` find this time by themselves, and never less than it. *Reads*: keys of the hardware file.\n";
  for (const TimingModel model : {TimingModel::overlapped, TimingModel::issued_moves, TimingModel::thread_blocks,
                                  TimingModel::parallel_scalar, TimingModel::command_stream}) {
    std::string title(name(model));
    title.front() = static_cast<char>(std::toupper(title.front()));
    text += "\n## " + title + "\n\n";
    for (const Term* term : terms_of(model))
      text += list_item(fmt::format("**{}** ({}{}): {}.{} *Source*: {}", term->name, added_as(term->overlap),
                                    term->replayed ? ", replayed" : "", term->formula,
                                    term->parameters.empty() ? "" : fmt::format(" *Reads*: `{}`.", term->parameters),
                                    term->source));
  }
  return text + "\n## Parameters\n\n```yaml\n" +
         text_of_file(std::string(ISAMAP_SOURCE_DIR) + "/hwdesc/defaults/timing.yaml") + "```\n";
}

TEST(Terms, ThePageIsUpToDate) {
  const std::string path = std::string(ISAMAP_SOURCE_DIR) + "/docs/cost_terms.md", made = terms_page();
  if (std::getenv("ISAMAP_UPDATE_GOLDEN")) std::ofstream(path) << made;
  EXPECT_EQ(text_of_file(path), made) << "ISAMAP_UPDATE_GOLDEN=1 rewrites docs/cost_terms.md";
}

/// The defaults are wholly in the file: every parameter, none twice, and a machine's file goes before them.
TEST(Timing, EveryParameterHasADefaultAndCanBeStated) {
  const std::string text = text_of_file(std::string(ISAMAP_SOURCE_DIR) + "/hwdesc/defaults/timing.yaml");
  const std::string file = scratch("stated.yaml");
  const std::string base = text_of_file(std::string(ISAMAP_SOURCE_DIR) + "/tests/scheduler/data/vector8.yaml");
  for (const TimingParameter& p : timing_parameters) {
    EXPECT_NE(text.find("\n  " + std::string(p.key) + ": "), std::string::npos) << p.key;
    const double value = default_timing().*p.value;
    EXPECT_TRUE(value >= p.least && value <= p.most) << p.key;
    const double other = value == p.most ? p.least : p.most;
    std::ofstream(file) << base << "timing: {" << p.key << ": " << fmt::format("{}", other) << "}\n";
    const auto stated = load_hardware(file, {});
    ASSERT_TRUE(stated) << render(stated.diagnostics());
    EXPECT_EQ(stated->model.timing.*p.value, other) << p.key;
    std::ofstream(file) << base << "timing: {" << p.key << ": -1}\n";
    const auto refused = load_hardware(file, {});
    ASSERT_FALSE(refused) << p.key;
    EXPECT_NE(render(refused.diagnostics()).find("'" + std::string(p.key) + "' of 'timing' is -1"), std::string::npos)
        << render(refused.diagnostics());
  }
}

/// A finer model knows at least what the closed form does.
TEST(Replayed, IsNoLessThanTheClosedForm) {
  const Priced nest = product("4");
  EXPECT_EQ(replayed_cost(nest.nest(), 0, Bottleneck{"nothing"}).cycles, nest.nest().cost.cycles);
  const Cost cost = replayed_cost(nest.nest(), 1e6, Bottleneck{"waiting"});
  EXPECT_EQ(cost.bound, "waiting");
  EXPECT_GT(cost.cycles, 1e6);  // contention and fetch are not replayed
}

}  // namespace
}  // namespace isamap

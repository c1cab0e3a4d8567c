// SPDX-License-Identifier: Apache-2.0
// The closed form against a counter that executes the nest step by step, on random nests with tails, units and windows.

#include "isamap/interpret.h"
#include "scheduler/cost/event_simulation.h"
#include "scheduler/nest/digit_room.h"
#include "support/arithmetic.h"
#include "tests/scheduler/nest_counter.h"
#include "tests/scheduler/support.h"

namespace isamap {
namespace {

using testing_support::formula;
using testing_support::kernel_yaml;
using testing_support::machine;

using testing_support::Counted;
using testing_support::Counter;

/// A nest that the check architecture accepts: loops in any order, some on the mesh, stages anywhere between.
std::vector<std::string> random_nest(Random& random, const Computation& statement,
                                     const std::vector<std::string>& tensors, bool slide) {
  std::vector<std::string> lines;
  std::map<std::string, std::int64_t> tile;
  for (const Dim& d : statement.domain.dims) tile[d.name] = d.extent;
  const auto loop = [&](const std::string& unit) {
    // A window that slides is distributed to units in no defined way: only dim c is.
    const auto last = static_cast<std::int64_t>(statement.domain.dims.size()) - 1;
    const Dim& d =
        statement.domain.dims[static_cast<std::size_t>(slide && !unit.empty() ? 1 : random.between(0, last))];
    std::int64_t t = random.between(1, tile[d.name]);
    if (!unit.empty() && ceil_div(tile[d.name], t) > 4) t = ceil_div(tile[d.name], 4);
    tile[d.name] = t;
    lines.push_back("for " + d.name + " by " + std::to_string(t) + (unit.empty() ? "" : " on " + unit));
  };
  const auto stage = [&](const std::string& memory, bool always) {
    for (const std::string& t : tensors) {
      if (!always && random.between(0, 3) == 0) continue;
      lines.push_back("stage " + t + " in " + memory + (slide ? " slide" : ""));
      if (random.between(0, 2) == 0) loop("");
    }
  };
  for (std::int64_t i = random.between(0, 2); i > 0; --i) loop("");
  stage("GLB", false);
  for (std::int64_t i = random.between(0, 2); i > 0; --i) loop("");
  if (random.between(0, 2) > 0) loop("mac.x");
  if (random.between(0, 2) > 0) loop("mac.y");
  stage("RF", true);
  for (const Dim& d : statement.domain.dims)
    if (tile[d.name] > 1) lines.push_back("for " + d.name + " by 1");
  lines.push_back("do s0 with mac()");
  return lines;
}

void compare_on(const Kernel& kernel, std::uint64_t seed, bool slide, int rounds = 150) {
  const HardwareModel model = machine("a1");
  Random random(seed);
  std::vector<std::string> tensors;
  for (const Tensor& t : kernel.tensors) tensors.push_back(t.name);
  for (int round = 0; round < rounds; ++round) {
    Nest nest;
    std::string text;
    for (const std::string& line : random_nest(random, kernel.statements[0], tensors, slide)) {
      auto parsed = parse_line(line);
      ASSERT_TRUE(parsed) << line;
      nest.lines.push_back(*parsed);
      text += line + "\n";
    }
    auto view = resolve(nest, kernel, make_id<StatementId>(0), model);
    ASSERT_TRUE(view) << text << render(view.diagnostics());
    const TileCounts counts(*view);
    const Traffic traffic = traffic_of(*view, counts);
    const auto expected = Counter(*view).run();
    const auto simulated = simulate_nest(*view, counts, traffic, flow_of(*view, counts, traffic));
    ASSERT_TRUE(simulated) << text;
    for (const auto& [k, e] : expected) {
      const Totals& t = traffic.memories.at(k.first).at(k.second);
      ASSERT_EQ((Counted{t.reads, t.fills, t.updates}), e)
          << "seed " << seed << " round " << round << "\n"
          << text << model.memory(k.first).name << " " << kernel.tensors[k.second.index()].name << ": closed form "
          << t.reads << " " << t.fills << " " << t.updates << ", counter " << e.reads << " " << e.fills << " "
          << e.updates;
      const Totals& s = simulated->memories.at(k.first).at(k.second);
      ASSERT_EQ((Counted{s.reads, s.fills, s.updates}), e)
          << "seed " << seed << " round " << round << "\n"
          << text << model.memory(k.first).name << " " << kernel.tensors[k.second.index()].name << ": simulated "
          << s.reads << " " << s.fills << " " << s.updates << ", counter " << e.reads << " " << e.fills << " "
          << e.updates;
    }
  }
}

TEST(Counting, ClosedFormEqualsExecution) {
  for (std::uint64_t seed : {1, 2, 3})
    compare_on(formula("Z[m,n] += A[m,k] * B[k,n]", "m=7,n=5,k=6", "A=s16,B=s16,Z=s16"), seed, false);
}

TEST(Counting, SubscriptsThatShareDims) {
  for (const char* text : {"Z[j] += A[i,i] * B[i,j]", "Z[j] += A[i,2*i] * B[i,j]", "Z[i,j] += A[i,i+j] * B[j,k]",
                           "Z[i,j] += A[i+j,i+j+k] * B[k]", "Z[i] += A[i+j,i+j] * B[j]"})
    compare_on(
        formula(text, std::string("i=6,j=5") + (std::string(text).find('k') < 40 ? ",k=4" : ""), "A=s16,B=s16,Z=s16"),
        4, false, 40);
}

DigitRoom room_of(const std::vector<AffineExpr>& layout, std::int64_t extent) {
  std::vector<SplitDigit> digits;
  std::vector<const SplitDigit*> all;
  for (const AffineExpr& digit : layout) digits.push_back(*split_digit(digit));
  for (const SplitDigit& digit : digits) all.push_back(&digit);
  return isamap::room_of(all, extent);
}

/// Whole blocks: of 16, of 2 x 8 also where a digit lies between, and of 2; [k/32, k/2%16, k%2] has 2 x 16 x 2 places.
TEST(Counting, RoomOfDigits) {
  const AffineExpr k = AffineExpr::dim("k");
  const auto has = [&](const std::vector<AffineExpr>& layout, std::int64_t extent, std::int64_t block,
                       std::int64_t room) {
    const DigitRoom found = room_of(layout, extent);
    EXPECT_EQ(found.block, block);
    EXPECT_EQ(found.room, room);
  };
  has({k}, 5, 1, 5);
  has({floordiv(k, 16), mod(k, 16)}, 5, 16, 16);
  has({floordiv(k, 16), mod(k, 16)}, 17, 16, 32);
  has({mod(k, 2), mod(floordiv(k, 2), 8)}, 5, 16, 16);
  has({mod(k, 2), floordiv(k, 16), mod(floordiv(k, 2), 8)}, 5, 16, 16);
  has({floordiv(k, 32), mod(floordiv(k, 2), 16), mod(k, 2)}, 40, 2, 64);
}

/// The only nest is these lines.
Schedule schedule_on_npu16(const Kernel& kernel, const std::string& lines) {
  const auto schedule = parse_schedule("schedule: s\nkernel: " + kernel.name + "\ntarget: npu16\nnest:\n" + lines,
                                       "s.yaml", kernel, machine("npu16"));
  EXPECT_TRUE(schedule) << render(schedule.diagnostics());
  return *schedule;
}

TEST(Counting, TilesAlongADimAreWholeAndShortOnes) {
  const Kernel kernel = formula("Y[i] += X[i,k]", "i=37,k=5", "X=s16,Y=s32");
  const HardwareModel model = machine("npu16");
  const Schedule schedule = schedule_on_npu16(kernel, R"(  - for i by 16
  - for k by 5
  - for i by 6
  - for i by 1
  - for k by 1
  - do s0 with scalar
)");
  const auto view = resolve(schedule.nests.front(), kernel, make_id<StatementId>(0), model);
  ASSERT_TRUE(view) << render(view.diagnostics());
  const TileCounts counts(*view);
  const auto along = [&](int dim, int loops) {
    std::string text;
    for (const auto& [extent, count] : counts.tiles_along(dim, loops))
      text += fmt::format("{:.0f} of {}, ", count, extent);
    return text;
  };
  EXPECT_EQ(along(0, 0), "1 of 37, ");
  EXPECT_EQ(along(0, 1), "2 of 16, 1 of 5, ");
  EXPECT_EQ(along(0, 2), along(0, 1)) << "the second loop is over the other dim";
  EXPECT_EQ(along(0, 3), "4 of 6, 2 of 4, 1 of 5, ");
  EXPECT_EQ(along(0, 4), "37 of 1, ");
  EXPECT_EQ(along(1, 5), "5 of 1, ");
}

/// What a tile is priced to take is what its buffer has.
TEST(Counting, RoomOfATileIsThatOfItsBuffer) {
  const HardwareModel model = machine("npu16");
  const Kernel kernel = formula("Y[k] = X[k] + 1", "k=5", "X=s32,Y=s32");
  const Schedule schedule = schedule_on_npu16(kernel, R"(  - stage X in dram as [k%2, k/16, k/2%8]
  - for k by 1
  - do s0 with scalar
)");
  const auto view = resolve(schedule.nests.front(), kernel, make_id<StatementId>(0), model);
  ASSERT_TRUE(view) << render(view.diagnostics());
  EXPECT_EQ(TileCounts(*view).padded_tile(1, 0, view->stages.front().facts->by_dim_of(1)), 16);
  const auto program = lower(schedule, kernel, model);
  ASSERT_TRUE(program) << render(program.diagnostics());
  const auto copy = std::find_if(program->buffers.begin(), program->buffers.end(),
                                 [](const Buffer& b) { return b.layout_text == "[k%2, k/16, k/2%8]"; });
  ASSERT_NE(copy, program->buffers.end());
  EXPECT_EQ(copy->extents, (std::vector<std::int64_t>{2, 1, 8}));
}

TEST(Counting, WindowsThatSlide) {
  compare_on(kernel_yaml(R"(kernel: conv
dims: {P: 8, R: 3, C: 4}
tensors:
  I: {shape: [C, P + R - 1], dtype: s16}
  F: {shape: [C, R], dtype: s16}
  O: {shape: [P], dtype: s16}
compute:
  - O[p] += I[c,p+r] * F[c,r]
)"),
             2, true);
}

}  // namespace
}  // namespace isamap

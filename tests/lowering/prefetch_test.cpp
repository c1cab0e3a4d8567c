// SPDX-License-Identifier: Apache-2.0
// Software prefetch: it changes no value, also past the end of a tensor.

#include "backends/cpp/translation_unit.h"
#include "isamap/cost_model.h"
#include "tests/lowering/support.h"

namespace isamap {
namespace {

const std::string a_product = "C[i,j] += A[i,k] * B[k,j]";

std::vector<std::string> prefetching(const std::string& outer, const std::string& inner) {
  std::vector<std::string> lines{"stage B in ram as [j/32, k, j%32]", "for j by 32"};
  if (!outer.empty()) lines.push_back(outer);
  for (const char* line : {"for i by 4", "stage C in vec", "for k by 1"}) lines.emplace_back(line);
  if (!inner.empty()) lines.push_back(inner);
  for (const char* line :
       {"stage B in vec", "for i by 1 unroll", "for j by 16 unroll", "do s0 with fma_f32_bcast(j=j)"})
    lines.emplace_back(line);
  return lines;
}

std::string text_of(const std::vector<std::string>& lines, const std::string& dims) {
  const HardwareModel model = machine("x86_avx512");
  const auto program = lower(schedule_of(lines), formula(a_product, dims), model);
  if (!program) return render(program.diagnostics());
  const auto unit = print_cpp(*program, model);
  return unit ? unit->text : render(unit.diagnostics());
}

TEST(SoftwarePrefetch, ChangesNoValue) {
  for (const std::string dims : {"i=28,j=64,k=8", "i=29,j=37,k=7", "i=1,j=1,k=1", "i=13,j=16,k=5", "i=3,j=40,k=0"})
    for (const char* inner : {"", "stage B in l1 ahead 2", "stage B in l1 ahead 100"})
      expect_right(formula(a_product, dims), machine("x86_avx512"), prefetching("stage B in l2 ahead 1", inner));
  // The output's next tile, and a tensor that is not packed.
  for (const std::string dims : {"i=28,j=64,k=8", "i=5,j=19,k=3"})
    expect_right(formula(a_product, dims), machine("x86_avx512"),
                 {"for j by 32", "for i by 4", "stage C in l1 ahead 1", "stage C in vec", "for k by 1",
                  "stage B in l1 ahead 3", "stage A in l2 ahead 16", "stage B in vec", "for i by 1 unroll",
                  "stage A in vec", "for j by 16 unroll", "do s0 with fma_f32(j=j)"});
}

TEST(SoftwarePrefetch, StandsBesideTheLoadsAndCountsTheLoopAbove) {
  const std::string text = text_of(prefetching("stage B in l2 ahead 1", "stage B in l1 ahead 4"), "i=8,j=64,k=10");
  // A panel has 10 rows of 32 elements: one step of j is 320 further, four of k are 128.
  EXPECT_NE(text.find(" + 320), _MM_HINT_T1);"), std::string::npos) << text;
  EXPECT_NE(text.find(" + 336), _MM_HINT_T1);"), std::string::npos) << text;
  EXPECT_NE(text.find(" + 128), _MM_HINT_T0);"), std::string::npos) << text;
  EXPECT_NE(text.find(" + 144), _MM_HINT_T0);"), std::string::npos) << text;
  EXPECT_EQ(text_of(prefetching("stage B in l2", ""), "i=8,j=64,k=10").find("prefetch"), std::string::npos);
}

/// Below the loop of i, which passes over a panel of B again.
std::vector<std::string> spread_over_passes() {
  auto lines = prefetching("", "stage B in l1 ahead 2");
  lines.insert(lines.begin() + 3, "stage B in l2 ahead 1");
  return lines;
}

TEST(SoftwarePrefetch, SpreadOverPassesChangesNoValue) {
  for (const std::string dims : {"i=28,j=96,k=8", "i=29,j=37,k=7", "i=1,j=1,k=1", "i=13,j=65,k=5", "i=3,j=40,k=0"})
    expect_right(formula(a_product, dims), machine("x86_avx512"), spread_over_passes());
}

/// A loop of one step between two others is no pass, and one in two loops is counted once.
TEST(SoftwarePrefetch, PassesAreThoseOfLoopsWithSeveralSteps) {
  const auto passes = [](const std::vector<std::string>& between) {
    auto lines = prefetching("", "");
    lines.erase(lines.begin() + 2);
    lines.insert(lines.begin() + 2, between.begin(), between.end());
    lines.insert(lines.begin() + 2 + static_cast<std::ptrdiff_t>(between.size()), "stage B in l2 ahead 1");
    return lines;
  };
  const auto one = passes({"for i by 16", "for i by 4"}), two = passes({"for i by 8", "for i by 4"});
  EXPECT_EQ(text_of(one, "i=16,j=80,k=10").find("160*i") != std::string::npos, true);
  for (const std::string dims : {"i=16,j=80,k=10", "i=29,j=37,k=7", "i=16,j=32,k=3", "i=3,j=40,k=5"}) {
    expect_right(formula(a_product, dims), machine("x86_avx512"), one);
    expect_right(formula(a_product, dims), machine("x86_avx512"), two);
  }
}

/// Four passes of ten steps over a panel of 10 rows of 32 elements, 20 lines: one line in each step, none in the last
/// panel's tail.
TEST(SoftwarePrefetch, EachPassPrefetchesAnotherPartOfTheNextTile) {
  const std::string text = text_of(spread_over_passes(), "i=16,j=80,k=10");
  EXPECT_NE(text.find("160*i"), std::string::npos) << text;
  std::size_t count = 0;
  for (std::size_t at = text.find("_MM_HINT_T1"); at != std::string::npos; at = text.find("_MM_HINT_T1", at + 1))
    ++count;
  EXPECT_EQ(count, 1u) << text;
}

/// Of the default schedule, with constant W: the loop right around each stage ahead.
std::string prefetched_along(const std::string& text, const std::string& dims) {
  const HardwareModel model = machine("x86_avx512");
  Kernel kernel = formula(text, dims);
  for (Tensor& tensor : kernel.tensors) tensor.constant = tensor.name == "W";
  const auto mappings = enumerate_mappings(kernel, model, {});
  if (!mappings) return render(mappings.diagnostics());
  const auto scheduled = schedule(kernel, *mappings, model, {});
  if (!scheduled) return render(scheduled.diagnostics());
  std::string found;
  const Nest& nest = scheduled->schedule.nests[0];
  for (std::size_t l = 1; l < nest.lines.size(); ++l)
    if (const auto* stage = std::get_if<Stage>(&nest.lines[l].is); stage != nullptr && stage->ahead > 0)
      if (const auto* loop = std::get_if<For>(&nest.lines[l - 1].is)) found += stage->tensor + " " + loop->loops[0].dim;
  return found;
}

TEST(SoftwarePrefetch, RunsAlongTheChannelsAroundAWindow) {
  EXPECT_EQ(prefetched_along("O[p,k] += I[p+r,c] * W[k,c,r]", "p=14,k=512,c=512,r=3"), "W c");
  EXPECT_EQ(prefetched_along("O[p,k] += I[p,c] * W[k,c]", "p=14,k=512,c=1536"), "W c");
}

/// Of seven passes over a panel the first takes longer to fetch it than to compute; of 62 the prefetches of all would
/// fetch more than the cache holds.
TEST(SoftwarePrefetch, SpreadsOverFewPassesThatTheLinkBounds) {
  EXPECT_EQ(prefetched_along("O[p,k] += I[p,c] * W[k,c]", "p=49,k=1024,c=1024"), "W pW c");
  EXPECT_EQ(prefetched_along("O[p,k] += I[p,c] * W[k,c]", "p=490,k=1024,c=1024"), "W c");
}

TEST(SoftwarePrefetch, RefusalsSayWhy) {
  const auto expect_words = [](const std::vector<std::string>& lines, const std::string& what) {
    const std::string text = text_of(lines, "i=8,j=64,k=10");
    EXPECT_NE(text.find(what), std::string::npos) << text;
  };
  expect_words(prefetching("", "stage B in l3 ahead 4"), "ahead: no move into l3 prefetches lines of B_ram from ram");
  const auto spread = [](const std::string& copy, const std::string& outer, const std::string& inner) {
    return std::vector<std::string>{copy,
                                    outer,
                                    inner,
                                    "stage B in l2 ahead 1",
                                    "stage C in vec",
                                    "for k by 1",
                                    "stage B in vec",
                                    "for i by 1 unroll",
                                    "for j by 16 unroll",
                                    "do s0 with fma_f32_bcast(j=j)"};
  };
  expect_words(spread("stage B in ram as [j/32, k, j%32]", "for i by 8", "for i by 4"),
               "ahead 1 counts the steps of the nearest loop of B above, and there is none in time");
  expect_words(spread("stage B in ram as [k, j/32, j%32]", "for j by 32", "for i by 4"),
               "ahead 1: tiles of B are not contiguous in B_ram");
  expect_words(spread("stage B in ram as [j/32, k, j%32]", "for j by 32", "for i by 4 on core"), "none in time");
  expect_words(spread("stage B in ram as [j/32, k, j%32]", "for j by 32, i by 8", "for i by 4"), "none in time");
  expect_words({"stage B in ram as [j/16, k, j%16]", "for j by 16", "for k by 1", "for i by 4", "stage B in l2 ahead 1",
                "stage C in vec", "stage B in vec", "for i by 1 unroll", "do s0 with fma_f32_bcast(j=j)"},
               "ahead 1: no loop of B below, whose steps would prefetch");
  expect_words({"for i by 4", "for j by 32", "stage C in vec", "for k by 1", "stage A in l1 ahead 2", "stage B in vec",
                "for i by 1 unroll", "for j by 16 unroll", "do s0 with fma_f32_bcast(j=j)"},
               "ahead 2: no line below loads A");
  expect_words(prefetching("", "stage B in ram ahead 2"), "ahead 2 needs 3 buffers: the tile in use has one too");
}

/// Three buffers without a prefetch distance hide no latency.
TEST(SoftwarePrefetch, PlacesHideAsManyStepsAsAreAskedForAhead) {
  const Kernel kernel = formula("C[i,j] += A[i,k] * B[k,j]", "i=128,j=128,k=2048", "A=bf16,B=bf16,C=f32");
  const HardwareModel model = machine("nvidia_sm80");
  const auto cycles = [&](const std::string& ring) {
    const Schedule schedule = schedule_of(
        {"for i by 128 on block", "for j by 128 on block", "stage C in reg", "for k by 32",
         "stage A in shared " + ring + " as [i, k pad 8]", "stage B in shared " + ring + " as [k, j pad 8]",
         "for i by 64 on warp", "for j by 64 on warp", "for k by 16 unroll", "stage A in reg", "stage B in reg",
         "for i by 16 unroll", "for j by 8 unroll", "do s0 with mma_bf16(i=i, j=j, k=k)"});
    const auto cost =
        make_cost_model_closed_form()->estimate({&kernel, make_id<StatementId>(0), &model, schedule.nests[0]});
    EXPECT_TRUE(cost) << render(cost.diagnostics());
    return cost ? cost->cycles : 0;
  };
  EXPECT_LE(cycles("x3"), cycles("x3 ahead 1"));  // equal where one step hides all of it
  EXPECT_LT(cycles("x3 ahead 1"), cycles("x3 ahead 0"));
}

}  // namespace
}  // namespace isamap

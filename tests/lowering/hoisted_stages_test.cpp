// SPDX-License-Identifier: Apache-2.0
// Tiles are moved as often as their price says: a stage of a command stream, and a copy of any program, below loops
// that its tensor does not use is moved above them, and a tile of partial sums is not loaded at its first visit.
// Numbers of commands are computed by hand.

#include <fmt/format.h>

#include <set>

#include "isamap/cost_model.h"
#include "tests/lowering/support.h"

namespace isamap {
namespace {

const std::string hoisted_product = "C[i,j] += A[i,k] * B[k,j]", hoisted_types = "A=s8,B=s8,C=s32";

/// "clear 2 mma 6 mvin 12 mvout 2": commands of the program, and its assignments by the host, if any.
std::string commands(const std::string& dims, const std::vector<std::string>& lines) {
  const HardwareModel model = machine("npu16");
  const Kernel kernel = formula(hoisted_product, dims, hoisted_types);
  expect_right(kernel, model, lines);
  const auto program = lower(schedule_of(lines), kernel, model);
  if (!program) return render(program.diagnostics());
  auto data = random_data(kernel, Fill::integers, 7);
  const auto counts = interpret(*program, model, data);
  if (!counts) return render(counts.diagnostics());
  std::string text;
  for (const auto& [name, uses] : counts->calls) text += fmt::format("{}{} {}", text.empty() ? "" : " ", name, uses);
  return text + (counts->element_statements > 0 ? fmt::format(" host {}", counts->element_statements) : "");
}

double link_bytes(const std::string& dims, const std::vector<std::string>& lines) {
  const HardwareModel model = machine("npu16");
  const Kernel kernel = formula(hoisted_product, dims, hoisted_types);
  const auto cost = make_cost_model_closed_form()->estimate(
      {&kernel, make_id<StatementId>(0), &model, schedule_of(lines).nests.front()});
  EXPECT_TRUE(cost) << render(cost.diagnostics());
  return cost ? cost->bytes : -1;
}

const std::string on_npu16 = "do s0 with mma(i=i, j=j, k=k)";

TEST(HoistedStages, AnInputIsMovedOnceWhereTheLoopDoesNotUseIt) {
  const std::vector<std::string> lines{"for i by 16", "stage A in spad", "stage B in spad", "stage C in acc first flag",
                                       on_npu16};
  // 4 tiles of A, 1 of B: 256 bytes each; 4 of C of 1024
  EXPECT_EQ(commands("i=64,j=16,k=16", lines), "mma 4 mvin 5 mvout 4");
  EXPECT_EQ(link_bytes("i=64,j=16,k=16", lines), 5 * 256 + 4 * 1024);
  const std::vector<std::string> doubled{"for i by 16", "stage A in spad x2", "stage B in spad x2",
                                         "stage C in acc x2 first flag", on_npu16};
  EXPECT_EQ(commands("i=64,j=16,k=16", doubled), "mma 4 mvin 5 mvout 4");
  for (const std::string dims : {"i=33,j=16,k=16", "i=1,j=1,k=1", "i=50,j=7,k=3"}) commands(dims, lines);
}

TEST(HoistedStages, ALoopOfOneStepDoesNotHoldAStageBack) {
  EXPECT_EQ(commands("i=64,j=16,k=16", {"for i by 16", "for k by 16", "for j by 16", "stage A in spad",
                                        "stage B in spad", "stage C in acc first flag", on_npu16}),
            "mma 4 mvin 5 mvout 4");
}

TEST(HoistedStages, AStageMovesBetweenTwoLoopsOfOneLine) {
  // 3 tiles of B; A[i,k] is moved in each of 6 steps, C[i,j] loaded again in the 4 with k > 0
  EXPECT_EQ(commands("i=32,j=16,k=48", {"for k by 16, i by 16", "stage A in spad", "stage B in spad",
                                        "stage C in acc first flag", on_npu16}),
            "mma 6 mvin 9 mvin_bias 4 mvout 6");
}

TEST(HoistedStages, AnAccumulatorStaysOverTheLoopsOfTheReduction) {
  const std::vector<std::string> lines{"for i by 16",     "for k by 16",    "stage A in spad",
                                       "stage B in spad", "stage C in acc", on_npu16};
  EXPECT_EQ(commands("i=32,j=16,k=48", lines), "clear 2 mma 6 mvin 12 mvout 2");
  EXPECT_EQ(link_bytes("i=32,j=16,k=48", lines), 12 * 256 + 2 * 1024);
  for (const std::string dims : {"i=33,j=16,k=50", "i=1,j=1,k=1", "i=16,j=5,k=33"}) commands(dims, lines);
}

TEST(HoistedStages, PartialSumsAreNotLoadedAtTheFirstVisit) {
  const auto lines = [](const std::string& accumulator) {
    return std::vector<std::string>{"for k by 16", "stage B in spad", "for i by 16",
                                    accumulator,   "stage A in spad", on_npu16};
  };
  // 3 parts of the sums of 2 tiles: 6 visits, of which 4 load
  EXPECT_EQ(commands("i=32,j=16,k=48", lines("stage C in acc first flag")), "mma 6 mvin 9 mvin_bias 4 mvout 6");
  EXPECT_EQ(commands("i=32,j=16,k=48", lines("stage C in acc")), "clear 2 mma 6 mvin 9 mvin_bias 4 mvout 6");
  EXPECT_EQ(link_bytes("i=32,j=16,k=48", lines("stage C in acc")), 9 * 256 + 4 * 1024 + 6 * 1024);
  for (const std::string dims : {"i=33,j=16,k=50", "i=1,j=1,k=1", "i=16,j=5,k=17"})
    for (const std::string accumulator : {"stage C in acc first flag", "stage C in acc"})
      commands(dims, lines(accumulator));
}

/// The first visit to a tile reads outside of A and is skipped: nothing would clear the tile.
TEST(HoistedStages, SumsWhoseFirstVisitIsSkippedStartInMemory) {
  const Kernel padded = *parse_kernel_yaml(R"(kernel: padded
tensors: {A: {shape: [32, 16], dtype: s8, outside: 0}, B: {shape: [3, 16, 16], dtype: s8}, C: {shape: [32, 16], dtype: s32}}
compute:
  - C[p,j] += A[p+r-1,k] * B[r,k,j]
)",
                                           "padded.yaml");
  expect_right(padded, machine("npu16"),
               {"for r by 1, p by 1", "stage A in spad", "stage B in spad", "stage C in acc",
                "do s0 with mma(i=p, j=j, k=k) outside A skip"});
}

/// No instruction of this machine clears an accumulator: its tiles stay where they are loaded.
TEST(HoistedStages, SumsThatNothingClearsAreNotMoved) {
  const Kernel kernel = formula(hoisted_product, "i=70,j=16,k=17", hoisted_types);
  expect_right(
      kernel, machine("systolic16"),
      {"for k by 16", "for j by 16", "stage B in spad", "stage C in acc", "for i by 32 unroll", "stage B in array",
       "for i by 16", "stage A in spad x2", "do s0 with compute_accumulated(i=i, j=j, k=k)"});
}

/// What a program in a language executes: calls by instruction, and element statements.
std::string executed(const std::string& target, const std::string& dims, const std::vector<std::string>& lines) {
  const HardwareModel model = machine(target);
  const Kernel kernel = formula("C[i,j] += A[i,k] * B[k,j]", dims);
  expect_right(kernel, model, lines);
  const auto program = lower(schedule_of(lines), kernel, model);
  if (!program) return render(program.diagnostics());
  auto data = random_data(kernel, Fill::integers, 7);
  const auto counts = interpret(*program, model, data);
  if (!counts) return render(counts.diagnostics());
  std::string text = fmt::format("elements {}", counts->element_statements);
  for (const auto& [name, uses] : counts->calls) text += fmt::format(" {} {}", name, uses);
  return text;
}

/// The price counts a packed copy once for each tile. So does the program, wherever the copy is written.
TEST(HoistedStages, APackedCopyOfALanguageIsMadeOnceForEachTile) {
  const std::string pack = "stage B in ram as [j/32, k, j%32]";
  const std::vector<std::string> inner{"for j by 32",
                                       "stage C in vec",
                                       "for i by 1 unroll",
                                       "for k by 1",
                                       "stage B in vec",
                                       "for j by 16 unroll",
                                       "do s0 with fma_f32_bcast(j=j)"};
  const auto nest = [&](std::vector<std::string> lines) {
    lines.insert(lines.end(), inner.begin(), inner.end());
    return lines;
  };
  for (const std::string dims : {"i=24,j=64,k=16", "i=25,j=70,k=17", "i=1,j=1,k=1"}) {
    const std::string once = executed("x86_avx512", dims, nest({"for k by 8", pack, "for i by 6"}));
    EXPECT_EQ(executed("x86_avx512", dims, nest({"for k by 8", "for i by 6", pack})), once) << dims;
    EXPECT_EQ(executed("x86_avx512", dims, nest({"for k by 8, i by 6", pack})), once) << dims;
  }
  // A loop that threads share keeps its copies, and so does one that the tensor uses.
  const std::string dims = "i=24,j=64,k=16";
  EXPECT_NE(executed("x86_avx512", dims, nest({"for i by 6 on core", "for k by 8", pack})),
            executed("x86_avx512", dims, nest({pack, "for i by 6 on core", "for k by 8"})));
}

/// Names of the commands in program order, loops written out.
std::string in_order(const std::vector<Node>& nodes, const HardwareModel& model) {
  std::string text;
  for (const Node& node : nodes) {
    if (const auto* call = std::get_if<Call>(&node.is)) text += model.instruction(call->instruction).name + " ";
    if (const auto* loop = std::get_if<Loop>(&node.is))
      for (std::int64_t n = 0; n < loop->trip; ++n) text += in_order(loop->body, model);
  }
  return text;
}

/// The tail has registers of its own, loaded before the calls of the last whole tile.
TEST(HoistedStages, SetsOfRegistersTakeTurnsUpToTheTail) {
  const HardwareModel model = machine("outer16");
  for (const std::int64_t i : {40, 24, 32, 16, 8, 1}) {
    const Kernel kernel = formula("C[i,j] += A[k,i] * B[k,j]", fmt::format("i={},j=16,k=3", i));
    const std::vector<std::string> lines{"for j by 16",
                                         "stage C in z",
                                         "for k by 1",
                                         "stage B in y",
                                         "for i by 16 unroll",
                                         "stage A in x x2",
                                         "do s0 with outer_f32(i=i, j=j, k=-)"};
    expect_right(kernel, model, lines);
    const auto program = lower(schedule_of(lines), kernel, model);
    ASSERT_TRUE(program) << render(program.diagnostics());
    const std::string text = in_order(program->body, model);
    const std::size_t call = text.find("outer_f32"), second = text.find("load_x_f32", text.find("load_x_f32") + 1);
    EXPECT_EQ(second<call, i> 16) << i << ": " << text;
  }
}

/// Two buffers take turns through all loops: three steps of q, then the next c begins in the other buffer.
TEST(HoistedStages, BuffersTakeTurnsThroughAllLoops) {
  const HardwareModel model = machine("npu16");
  const Kernel kernel = formula(hoisted_product, "i=48,j=32,k=16", hoisted_types);
  const std::vector<std::string> lines{"for j by 16, i by 16", "stage A in spad x2", "stage B in spad",
                                       "stage C in acc x2 first flag", on_npu16};
  expect_right(kernel, model, lines);
  const auto program = lower(schedule_of(lines), kernel, model);
  ASSERT_TRUE(program) << render(program.diagnostics());
  const std::string text = print(*program, model);
  EXPECT_NE(text.find("(i1 + j0)%2"), std::string::npos) << text;
}

/// The two buffers of the tail are as far apart as those of whole tiles: closer together, the second would begin in the
/// first of these where both have one place.
TEST(HoistedStages, ShortTilesTakeTurnsAsFarApartAsWholeOnes) {
  const HardwareModel model = machine("npu16");
  for (const std::int64_t k : {37, 48, 33, 16}) {
    const Kernel kernel = formula(hoisted_product, fmt::format("i=31,j=16,k={}", k), hoisted_types);
    const std::vector<std::string> lines{"for i by 16",
                                         "stage C in acc x2 first flag",
                                         "for k by 32",
                                         "stage A in spad x2",
                                         "stage B in spad x2",
                                         "for k by 16",
                                         on_npu16};
    expect_right(kernel, model, lines);
    const auto program = lower(schedule_of(lines), kernel, model);
    ASSERT_TRUE(program) << render(program.diagnostics());
    std::set<std::int64_t> distances;  // of the buffers of A
    for (const Buffer& buffer : program->buffers)
      if (buffer.name.rfind("A_spad", 0) == 0 && buffer.extents.back() == 2 && buffer.extents.size() == 5)
        distances.insert(buffer.strides.back());
    EXPECT_EQ(distances.size(), 1U) << print(*program, model);
  }
}

/// A window with a place for each step of each dim: 20000 x 16 bytes of A, of which 20015 differ.
TEST(HoistedStages, ATileWithTheStepsOfAWindowApartNeedsRoomForAll) {
  const HardwareModel model = machine("npu16");
  const Kernel kernel = formula("C[p,j] += A[p+r] * B[r,j]", "p=20000,j=16,r=16", hoisted_types);
  const auto cost = make_cost_model_closed_form()->estimate(
      {&kernel, make_id<StatementId>(0), &model,
       schedule_of({"stage A in spad as [p/16, r/16, p%16, r%16]", "stage B in spad as [r, j]", "for p by 16",
                    "stage C in acc first flag", "do s0 with mma(i=p, j=j, k=r)"})
           .nests.front()});
  ASSERT_FALSE(cost);
  EXPECT_EQ(cost.diagnostics().front().message, "memory spad: 320256 bytes needed, 262144 available (A 320000, B 256)");
}

/// Elements along 2*q + s of I[c,2*p+r,2*q+s] are neighbours: a tile of 8 x 33 x 33 is moved in rows, not one by one.
TEST(HoistedStages, AStridedWindowIsMovedInRows) {
  const HardwareModel model = machine("conv3x3");
  const auto cycles = [&](const std::string& compute) {
    const Kernel kernel = formula(compute, "k=8,c=8,p=16,q=16,r=3,s=3");
    const std::string rows = compute.find("2*p") == std::string::npos ? "[c, p + r, q + s]" : "[c, 2*p + r, 2*q + s]";
    const auto cost = make_cost_model_closed_form()->estimate(
        {&kernel, make_id<StatementId>(0), &model,
         schedule_of({"stage I in data as " + rows, "stage F in weights as [k, c, r, s]",
                      "stage O in acc as [k, p, q] first flag", "for p by 4", "for q by 4", "for r by 1", "for s by 1",
                      "do s0 with conv_f32(k=k, p=p, q=q, c=c, r=-, s=-)"})
             .nests.front()});
    EXPECT_TRUE(cost) << render(cost.diagnostics());
    return cost ? cost->cycles : -1;
  };
  const double plain = cycles("O[k,p,q] += I[c,p+r,q+s] * F[k,c,r,s]");
  // 3.3 times the elements of I; simulated: 3758 and 5414 cycles
  EXPECT_LT(cycles("O[k,p,q] += I[c,2*p+r,2*q+s] * F[k,c,r,s]"), 1.6 * plain);
}

}  // namespace
}  // namespace isamap

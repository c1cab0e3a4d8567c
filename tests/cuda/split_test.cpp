// SPDX-License-Identifier: Apache-2.0
// Split reductions: blocks that each add up a part of a sum, and an instruction that adds the parts to the output.

#include "tests/cuda/support.h"
#include "tests/searched.h"

namespace isamap {
namespace {

/// Four warps; `split` stands on the line that gives blocks their parts of k.
std::string split_schedule(const std::string& split, const std::string& stage = "stage C in reg") {
  return R"(schedule: product
nest:
  - )" + split +
         R"(
  - for i by 64 on block tail pad
  - for j by 64 on block tail pad
  - )" + stage +
         R"(
  - for k by 32 tail pad
  - stage A in shared x3 as [i, k pad 8] via cp_async_16_b16
  - stage B in shared x3 as [j, k pad 8] via cp_async_16_b16
  - for i by 32 on warp
  - for j by 32 on warp
  - for k by 16 unroll
  - stage A in reg via ldmatrix_x4
  - stage B in reg via ldmatrix_x2
  - for i by 16 unroll
  - for j by 8 unroll
  - do s0 with mma_bf16(i=i, j=j, k=k)
)";
}
const std::string by_64 = "for k by 64 on block tail pad combine add_c_f32";

/// The same with tiles by the copy engine, a role, and blocks that take turns.
const char* const turns_schedule = R"(schedule: product
nest:
  - for i by 64, j by 64, k by 128 on block wrap tail pad combine COMBINE
  - stage C in reg
  - for k by 64 tail pad
  - stage A in shared x2 as [k/64, i, k%64] xor 3 from 7 to 4 via tma_load_b16_sw128 role loader
  - stage B in shared x2 as [k/64, j, k%64] xor 3 from 7 to 4 via tma_load_b16_sw128 role loader
  - for i by 64 on warpgroup
  - for k by 16 unroll
  - do s0 with wgmma_bf16_kk_sw128(i=i, j=j, k=k)
)";

void expect_emulated(const Program& program, const HardwareModel& model) {
  const auto unit = print_cuda(program, model);
  ASSERT_TRUE(unit) << render(unit.diagnostics());
  for (const char* how : {"late", "random:3"}) {
    const Delivered delivered(how);
    const Emulated found = emulate(unit->text, *unit, program, model);
    EXPECT_TRUE(found.right) << program.schedule_text << found.output;
  }
}

std::string refusal_of(const Kernel& kernel, const std::string& text, const HardwareModel& model) {
  const auto schedule = parse_schedule(text, "s.yaml", kernel, model);
  if (!schedule) return render(schedule.diagnostics());
  const auto program = lower(*schedule, kernel, model);
  return program ? "" : render(program.diagnostics());
}

void computes_what_one_block_would_for_all_sizes(Every every) {
  const HardwareModel model = machine("nvidia_sm80");
  struct Size {
    std::int64_t m, n, k;
  };
  for (const auto& [m, n, k] : {Size{100, 72, 200}, {64, 64, 64}, {1, 1, 136}, {33, 7, 8}, {5, 3, 0}, {16, 8, 648}}) {
    if (every.skips()) continue;
    SCOPED_TRACE(std::to_string(m) + " " + std::to_string(n) + " " + std::to_string(k));
    expect_emulated(lowered(product("bf16", "f32", m, n, k, true), split_schedule(by_64), model), model);
  }
}

TEST(Split, ComputesWhatOneBlockWouldForAllSizes) { computes_what_one_block_would_for_all_sizes(Every(4)); }
TEST(HeavySplit, ComputesWhatOneBlockWouldForAllSizes) { computes_what_one_block_would_for_all_sizes(Every(1)); }

void computes_what_one_block_would_for_any_depth(Every every) {  // tiles are copied element by element
  const HardwareModel model = machine("nvidia_sm80");
  const std::string plain = changed(changed(split_schedule(by_64), " x3 as", " as"), " via cp_async_16_b16", "");
  for (const auto& [m, n, k] : {std::tuple(9, 5, 1), {3, 2, 63}, {16, 8, 65}, {70, 3, 129}, {0, 4, 64}, {4, 0, 64}}) {
    if (every.skips()) continue;
    SCOPED_TRACE(std::to_string(m) + " " + std::to_string(n) + " " + std::to_string(k));
    expect_emulated(lowered(product("bf16", "f32", m, n, k, true), plain, model), model);
  }
}

TEST(Split, ComputesWhatOneBlockWouldForAnyDepth) { computes_what_one_block_would_for_any_depth(Every(3)); }
TEST(HeavySplit, ComputesWhatOneBlockWouldForAnyDepth) { computes_what_one_block_would_for_any_depth(Every(1)); }

TEST(Split, HeavySumsOfIntegersAndOfDoubles) {
  const HardwareModel model = machine("nvidia_sm80");
  const auto schedule = [](const std::string& combine, const std::string& call, const std::string& step) {
    return "schedule: product\nnest:\n  - for k by 64 on block tail pad combine " + combine +
           "\n  - stage C in reg\n  - for k by " + step +
           " tail pad\n  - stage A in shared\n  - stage B in shared\n"
           "  - for i by " +
           (step == "4" ? "8" : "16") +
           " unroll\n  - for j by 8 unroll\n  - stage A in reg\n"
           "  - stage B in reg\n  - do s0 with " +
           call + "(i=i, j=j, k=k)\n";
  };
  expect_emulated(lowered(product("s8", "s32", 20, 9, 200, true), schedule("add_c_s32", "mma_s8", "32"), model), model);
  expect_emulated(lowered(product("f64", "f64", 20, 9, 130, true), schedule("add_c_f64", "mma_f64", "4"), model),
                  model);
}

TEST(HeavySplit, WithoutPaddingTheLastPartIsShorter) {
  const HardwareModel model = machine("nvidia_sm80");
  expect_emulated(lowered(product("bf16", "f32", 70, 66, 264, true),
                          split_schedule("for k by 96 on block combine add_c_f32"), model),
                  model);
}

TEST(HeavySplit, APartMayGoOutInPieces) {  // each is added
  const HardwareModel model = machine("nvidia_sm80");
  expect_emulated(lowered(product("bf16", "f32", 70, 66, 512, true),
                          split_schedule("for k by 256 on block combine add_c_f32\n  - for k by 128"), model),
                  model);
}

TEST(Split, AddsToWhatTheCallerLeft) {
  const HardwareModel model = machine("nvidia_sm80");
  Kernel kernel = product("bf16", "f32", 70, 66, 200, true);
  kernel.tensors[2].inout = true;
  const Program program = lowered(kernel, split_schedule(by_64), model);
  expect_emulated(program, model);
  const auto unit = print_cuda(program, model);
  EXPECT_EQ(unit->text.find("product_2("), std::string::npos);  // nothing is set before
}

TEST(HeavySplit, BlocksThatTakeTurns) {
  const HardwareModel model = machine("nvidia_sm90a");
  for (const char* combine : {"add_wide_f32", "add_wide_pairs_f32"}) {
    std::string schedule = changed(turns_schedule, "COMBINE", combine);
    expect_emulated(lowered(product("bf16", "f32", 130, 70, 520, true), schedule, model), model);
  }
}

TEST(HeavySplit, OneInstanceOfThreadsInsideTheBlock) {  // warps of a block share global memory too
  const HardwareModel model = machine("nvidia_sm80");
  expect_emulated(lowered(product("bf16", "f32", 16, 8, 200, true), R"(schedule: product
nest:
  - for k by 64 on warp combine add_c_f32
  - stage C in reg
  - for k by 16
  - stage A in reg
  - stage B in reg
  - do s0 with mma_bf16(i=i, j=j, k=k)
)",
                          model),
                  model);
}

TEST(Split, NamesWhatItRefuses) {
  const HardwareModel model = machine("nvidia_sm80");
  const Kernel kernel = product("bf16", "f32", 100, 72, 200, true);
  const auto says = [&](const std::string& text, const std::string& words, const Kernel& of) {
    const std::string found = refusal_of(of, text, model);
    EXPECT_NE(found.find(words), std::string::npos) << found;
  };
  says(split_schedule("for k by 64 on block"), "its instances would write the same elements of C at once", kernel);
  says(split_schedule("for k by 64 on block tail pad"), "write 'combine add_c_f32'", kernel);
  says(split_schedule("for k by 64 combine add_c_f32"), "the loop over k is sequential and needs none", kernel);
  says(split_schedule("for i by 64 on block tail pad combine add_c_f32"), "i is no reduction dim of s0", kernel);
  says(split_schedule("for k by 64 on block combine add_c_f23"), "did you mean 'add_c_f32'", kernel);
  says(split_schedule("for k by 64 on block combine store_c_f32"), "store_c_f32 is no atomic reduction", kernel);
  says(split_schedule("for k by 64 on block combine add_c_s32"), "add_c_s32 adds up s32; C is f32", kernel);
  says(split_schedule("for k by 64 on lane combine add_c_f32"), "is executed by a whole warp", kernel);
  says(split_schedule("for k by 128 on gpu combine add_c_f32"), "instances of gpu do not share it", kernel);
  says(split_schedule(by_64, "stage C in reg first load"), "C is not inout", kernel);
  says(split_schedule("for i by 64 on block tail pad\n  - stage C in reg\n  - " + by_64), "C is staged in reg here",
       kernel);
  says(split_schedule(by_64, "stage C in shared\n  - stage C in reg"), "these are in shared", kernel);
  const Kernel half = product("f16", "f16", 100, 72, 200, true);
  says(changed(split_schedule(by_64), "mma_bf16", "mma_f16_f16"), "add_c_f32 adds up f32; C is f16", half);
  says(changed(split_schedule(by_64), "mma_bf16", "mma_f16_f16"), "no combine for sums of f16", half);
  Kernel inout = kernel;
  inout.tensors[2].inout = true;
  says(split_schedule(by_64, "stage C in reg first load"), "add the initial value in memory once more", inout);
}

TEST(Split, AnEpilogueWaitsForAllParts) {
  const HardwareModel model = machine("nvidia_sm80");
  const Kernel kernel = kernel_from(R"(kernel: product
dims: {M: 64, N: 64, K: 256}
tensors:
  A: {shape: [M, K], dtype: bf16}
  B: {shape: [N, K], dtype: bf16}
  C: {shape: [M, N], dtype: f32}
  Y: {shape: [M, N], dtype: f32}
compute:
  - C[i,j] += f32(A[i,k]) * f32(B[j,k])
  - Y[i,j] = max(C[i,j], 0)
)");
  std::string text =
      changed(split_schedule(by_64, "stage C in shared then s1\n  - stage C in reg"), "nest:\n", "nests:\n -\n");
  text += R"( -
  - for i by 64 on block
  - for j by 64 on block
  - stage C in shared from s0
  - for i by 1
  - for j by 1
  - do s1 with scalar
)";
  const std::string found = refusal_of(kernel, text, model);
  EXPECT_NE(found.find("64 of 256 points of k are added up"), std::string::npos) << found;
  EXPECT_NE(found.find("s1 follows as a nest of its own"), std::string::npos) << found;
}

// What the search makes of it ----------------------------------------------------------------------------------------

Result<Scheduled> scheduled_for(const Kernel& kernel, const HardwareModel& model, bool sums_in_order) {
  const auto mapped = enumerate_mappings(kernel, model, {});
  EXPECT_TRUE(mapped) << render(mapped.diagnostics());
  ScheduleOptions options;
  options.objective = Objective::cycles;
  options.max_evaluations = 300;
  options.space.sums_in_order = sums_in_order;
  return schedule(kernel, *mapped, model, options);
}
bool is_split(const Schedule& schedule) { return print(schedule).find("combine") != std::string::npos; }

void the_search_takes_it_where_processors_would_be_idle(Every every) {
  for (const char* name : {"nvidia_sm80", "nvidia_sm90a"}) {
    if (every.skips()) continue;
    SCOPED_TRACE(name);
    const HardwareModel model = machine(name);
    const Kernel long_sum = product("bf16", "f32", 72, 24, 4096, true);
    const auto split = scheduled_for(long_sum, model, false), whole = scheduled_for(long_sum, model, true);
    ASSERT_TRUE(split && whole);
    EXPECT_TRUE(is_split(split->schedule)) << print(split->schedule);
    EXPECT_FALSE(is_split(whole->schedule)) << print(whole->schedule);  // reals, in the order of the statement
    EXPECT_LT(split->cost.cycles, whole->cost.cycles);
    const auto program = lower(split->schedule, long_sum, model);
    ASSERT_TRUE(program) << render(program.diagnostics());
    expect_kernel(*program, model);
    expect_emulated(*program, model);
    const auto large = scheduled_for(product("bf16", "f32", 4096, 4096, 512, true), model, false);
    ASSERT_TRUE(large);
    EXPECT_FALSE(is_split(large->schedule)) << print(large->schedule);
    const auto integers = scheduled_for(product("s8", "s32", 64, 16, 8192, true), model, true);
    ASSERT_TRUE(integers);
    EXPECT_TRUE(is_split(integers->schedule)) << print(integers->schedule);  // in whatever order they come
  }
}

TEST(Split, TheSearchTakesItWhereProcessorsWouldBeIdle) {
  the_search_takes_it_where_processors_would_be_idle(Every(4));
}
TEST(HeavySplit, TheSearchTakesItWhereProcessorsWouldBeIdle) {
  the_search_takes_it_where_processors_would_be_idle(Every(1));
}

TEST(Split, WhatFollowsASplitSumIsRightToo) {
  const HardwareModel model = machine("nvidia_sm80");
  const Kernel kernel = kernel_from(R"(kernel: linear
dims: {M: 40, N: 24, K: 2048}
tensors:
  A: {shape: [M, K], dtype: bf16}
  B: {shape: [N, K], dtype: bf16}
  C: {shape: [M, N], dtype: f32}
  Y: {shape: [M, N], dtype: f32}
compute:
  - C[i,j] += f32(A[i,k]) * f32(B[j,k])
  - Y[i,j] = max(C[i,j], 0)
)");
  const Program made = searched(kernel, model, 200);
  expect_kernel(made, model);
  expect_emulated(made, model);
}

TEST(Split, RealSumsStayWithinTheirRounding) {
  const TemporaryDirectory folder;
  const std::string file = (folder.path() / "s.yaml").string(), text = split_schedule(by_64);
  write_file(file, text.data(), text.size());
  std::vector<std::string> command = {ISAMAP_PROGRAM, "run",
                                      "--compute",    "C[i,j] += f32(A[i,k]) * f32(B[j,k])",
                                      "--dims",       "i=70,j=40,k=1000",
                                      "--dtypes",     "A=bf16,B=bf16,C=f32",
                                      "--target",     "nvidia_sm80",
                                      "--schedule",   file};
  const auto ran = run_process(command, {120, 0, 0}, folder.path() / "log");
  EXPECT_EQ(ran.exit_code, 0) << ran.output;
  command.push_back("--strict-float");
  const auto strict = run_process(command, {120, 0, 0}, folder.path() / "log");
  EXPECT_EQ(strict.exit_code, 3);
  EXPECT_NE(strict.output.find("partial sums of C are added in any order"), std::string::npos) << strict.output;
}

// Faults -------------------------------------------------------------------------------------------------------------

class SplitFaults : public ::testing::Test {
 protected:
  HardwareModel model = machine("nvidia_sm80");
  Program program = lowered(product("bf16", "f32", 100, 72, 200, true), split_schedule(by_64), model);
  Result<TranslationUnit> unit = print_cuda(program, model);
};

TEST_F(SplitFaults, HeavyAPlainStoreInTheCombinesPlace) {
  ASSERT_TRUE(unit);
  const Emulated found =
      emulate(changed(unit->text, "atomicAdd(to + at, buffer[e])", "to[at] = buffer[e]"), *unit, program, model);
  EXPECT_EQ(found.code, 3);
  EXPECT_NE(found.output.find("wrote, and nothing orders them"), std::string::npos) << found.output;
}

TEST_F(SplitFaults, AnAdditionThatIsNotAtomic) {  // right where blocks come one after another, as they do here
  ASSERT_TRUE(unit);
  const Emulated found =
      emulate(changed(unit->text, "atomicAdd(to + at, buffer[e])", "to[at] += buffer[e]"), *unit, program, model);
  EXPECT_EQ(found.code, 3);
  EXPECT_NE(found.output.find("nothing orders them"), std::string::npos) << found.output;
}

TEST_F(SplitFaults, HeavyNothingIsSetBefore) {
  ASSERT_TRUE(unit);
  EXPECT_FALSE(emulate(changed(unit->text, "  ISAMAP_LAUNCH(product_1,", "  if (false) ISAMAP_LAUNCH(product_1,"),
                       *unit, program, model)
                   .right);
}

void exchange(std::vector<Node>& nodes, InstructionId from, InstructionId to) {
  for (Node& node : nodes) {
    if (auto* loop = std::get_if<Loop>(&node.is)) exchange(loop->body, from, to);
    if (auto* guard = std::get_if<Guard>(&node.is))
      exchange(guard->then, from, to), exchange(guard->otherwise, from, to);
    if (auto* call = std::get_if<Call>(&node.is); call && call->instruction == from) call->instruction = to;
  }
}

TEST_F(SplitFaults, AProgramThatStoresItsPartsIsRefused) {
  exchange(program.body, *model.find_instruction("add_c_f32"), *model.find_instruction("store_c_f32"));
  const std::string found = render(verify(program, model));
  EXPECT_NE(found.find("write the same elements of C, and it is not atomic among them"), std::string::npos) << found;
}

}  // namespace
}  // namespace isamap

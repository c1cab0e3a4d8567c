// SPDX-License-Identifier: Apache-2.0
// Schedule files: what is wrong is said with its place, the numbers found and needed, and a hint.

#include "isamap/scheduler.h"
#include "tests/scheduler/support.h"

namespace isamap {
namespace {

using testing_support::cost_of;
using testing_support::formula;
using testing_support::machine;

Kernel gemm() { return formula("C[i,j] += A[i,k] * B[k,j]", "i=64,j=64,k=64"); }

/// "line:column: message | hint" of each problem.
std::string problems(const std::string& text, const Kernel& kernel, const std::string& target) {
  const HardwareModel model = machine(target);
  auto schedule = parse_schedule(text, "s.yaml", kernel, model);
  std::string all;
  for (const Diagnostic& d : schedule.diagnostics())
    all += std::to_string(d.where.line) + ":" + std::to_string(d.where.column) + ": " + d.message +
           (d.hint.empty() ? "" : " | " + d.hint) + "\n";
  return all;
}

std::string nest_problems(const std::vector<std::string>& lines) {
  std::string text = "schedule: s\nnest:\n";
  for (const std::string& line : lines) text += "  - " + line + "\n";
  return problems(text, gemm(), "x86_avx512");
}

TEST(ScheduleFile, KeysAndForms) {
  EXPECT_EQ(problems("schedule: s\n", gemm(), "x86_avx512"),
            "1:1: a schedule has one of nest, nests and levels; found 0\n");
  EXPECT_EQ(problems("schedule: s\nkernel: other\nnests: []\n", formula("C[i] = A[i]", "i=4"), "x86_avx512"),
            "2:9: this schedule is for kernel 'other', not for 'formula'\n");
  EXPECT_EQ(problems("schedule: s\nroles: [loader]\nnests: []\n", formula("C[i] = A[i]", "i=4"), "x86_avx512"),
            "2:8: a schedule file has no 'roles' | write `role NAME` at the stage that it fills\n");
  EXPECT_EQ(problems("schedule: s\nnests: []\n", gemm(), "x86_avx512"),
            "1:1: 0 nests for the 1 statements of formula\n");
  EXPECT_EQ(problems("schedule: s\nnest: 3\n", gemm(), "x86_avx512"),
            "2:7: a nest must be a list of lines | write - for i by 16\n");
  EXPECT_NE(problems("schedule: s\nnset: []\n", gemm(), "x86_avx512").find("did you mean 'nest'?"), std::string::npos);
}

TEST(ScheduleFile, NamesAndTiles) {
  const std::string rest = "do s0 with fma_f32_bcast(j=j)";
  EXPECT_EQ(nest_problems(
                {"for x by 3", "for i by 1", "for k by 1", "for j by 16", "stage B in vec", "stage C in vec", rest}),
            "3:5: 'for x by 3': no dim 'x' in s0 | known: i, j, k\n");
  EXPECT_EQ(nest_problems({"for i by 2", "for i by 4", "for i by 1", "for k by 1", "for j by 16", "stage B in vec",
                           "stage C in vec", rest}),
            "4:5: 'for i by 4': tile 4 of i is larger than the tile 2 around it\n");
  EXPECT_EQ(nest_problems({"for i by 1", "for k by 1", "for j by 16", "stage D in vec", "stage B in vec",
                           "stage C in vecc", "stage C in vec", rest}),
            "6:5: 'stage D in vec': no tensor 'D' in s0 | known: C, A, B\n"
            "8:5: 'stage C in vecc': no memory 'vecc' in x86_avx512 | did you mean 'vec'?\n");
  EXPECT_EQ(
      nest_problems({"for i by 1 on cores", "for k by 1", "for j by 16", "stage B in vec", "stage C in vec", rest}),
      "3:5: 'for i by 1 on cores': no unit 'cores' in x86_avx512 | did you mean 'core'?\n"
      "8:5: 'do s0 with fma_f32_bcast(j=j)': loop over i is missing: its tile has 64 points, one call of fma_f32_bcast "
      "covers 1 | add 'for i "
      "by 1'\n");
}

TEST(ScheduleFile, WhatALineCannotSay) {
  const std::vector<std::string> loops{"for i by 1", "for k by 1", "for j by 16"};
  const auto with = [&](const std::string& stage, const std::string& last = "do s0 with fma_f32_bcast(j=j)") {
    std::vector<std::string> lines{stage};
    lines.insert(lines.end(), loops.begin(), loops.end());
    lines.insert(lines.end(), {"stage B in vec", "stage C in vec", last});
    return nest_problems(lines);
  };
  EXPECT_EQ(with("stage B in ram", "do s0 with fma_f32_bcast(j=j, j=k)"),
            "9:5: 'do s0 with fma_f32_bcast(j=j, j=k)': dim j of fma_f32_bcast is given twice | several dims on one: "
            "j=c.r.s, the last one fastest\n");
  EXPECT_EQ(with("stage B in ram via load_f3"),
            "3:5: 'stage B in ram via load_f3': no move 'load_f3' in x86_avx512 | did you mean 'load_f32'?\n");
  EXPECT_EQ(with("stage B in ram first flag"),
            "3:5: 'stage B in ram first flag': 'first' sets the initial value of an accumulator; B is only read | "
            "leave it out\n");
  EXPECT_EQ(with("stage C in vec first flag"),
            "3:5: 'stage C in vec first flag': first flag: fma_f32_bcast always accumulates, and C is undefined at the "
            "first call | leave it out: the tile is cleared first; or describe the choice at the "
            "instruction, start: {OPERAND: [zero, keep]}\n");
  EXPECT_EQ(with("stage C in ram aot"),
            "3:5: 'stage C in ram aot': aot: C is computed by s0; only inputs can be packed before the program runs | "
            "leave it out: the copy is made at every call\n");
  EXPECT_EQ(with("stage B in ram as [k]"),
            "3:5: 'stage B in ram as [k]': the layout lacks j, of which the tile has 64 points | each dim of B must be "
            "in its layout, whole or in digits such as j/16 and j%16\n");
}

TEST(ScheduleFile, WhatIsLeftAndWhereOperandsStand) {
  EXPECT_EQ(
      nest_problems({"for i by 1", "for j by 16", "stage C in vec", "for k by 4", "do s0 with fma_f32_bcast(j=j)"}),
      "7:5: 'do s0 with fma_f32_bcast(j=j)': loop over k is missing: its tile has 4 points, one call of fma_f32_bcast "
      "covers 1 | add 'for k by "
      "1'\n"
      "7:5: 'do s0 with fma_f32_bcast(j=j)': fma_f32_bcast takes B from vec; here it is in ram | add 'stage B in "
      "vec'\n");
  const std::string exchanged = nest_problems(
      {"for i by 1", "for j by 16", "stage C in vec", "for k by 1", "stage A in vec", "do s0 with fma_f32_bcast(j=j)"});
  EXPECT_NE(exchanged.find("takes B from vec; here it is in ram | add 'stage B in vec', or exchange the factors: "
                           "'operands A=B B=A'"),
            std::string::npos)
      << exchanged;
  EXPECT_EQ(nest_problems({"do s0 with fma_f32_bcast(j=j)", "for i by 1"}),
            "3:5: 'do s0 with fma_f32_bcast(j=j)': do must be the last line of a nest\n");
  EXPECT_EQ(nest_problems({"for i by 1"}),
            "3:5: 'for i by 1': the nest of s0 has no do line | end it with 'do s0 with INSTRUCTION(...)'\n");
  EXPECT_EQ(nest_problems({"do s0 with fma_f32_bcsat(j=j)"}),
            "3:5: 'do s0 with fma_f32_bcsat(j=j)': no instruction 'fma_f32_bcsat' in x86_avx512 | did you mean "
            "'fma_f32_bcast'?\n");
}

TEST(ScheduleFile, WordsOfOtherLanguagesAreNeverIgnored) {
  const std::vector<std::string> rest = {"for k by 1", "for j by 16", "stage B in vec", "stage C in vec",
                                         "do s0 with fma_f32_bcast(j=j)"};
  const auto with = [&](const std::string& first) {
    std::vector<std::string> lines{first};
    lines.insert(lines.end(), rest.begin(), rest.end());
    return nest_problems(lines);
  };
  EXPECT_NE(with("for i by 1 tail mask").find("expected a tail (pad, split), found 'mask'"), std::string::npos);
  EXPECT_NE(with("for i by 1 peel").find("unknown word 'peel'"), std::string::npos);
}

TEST(ScheduleFile, LayoutsThatLoweringRefusesAreRefused) {
  const auto with = [](const std::string& stage) {
    return nest_problems({stage, "for j by 32", "for i by 14", "stage C in vec", "for k by 1", "stage B in vec",
                          "for i by 1 unroll", "for j by 16 unroll", "do s0 with fma_f32_bcast(j=j)"});
  };
  const std::string hint = " | digits such as j/32 and j%32 together cover j\n";
  EXPECT_EQ(with("stage B in ram as [j/32, k, j%32]"), "");
  EXPECT_EQ(with("stage B in ram as [j/48, k, j/8%6, j%8]"), "");
  EXPECT_EQ(with("stage B in ram as [k, j%64]"), "");
  EXPECT_EQ(
      with("stage B in ram as [j/32, k, j%31]"),
      "3:5: 'stage B in ram as [j/32, k, j%31]': the layout's digits of j do not tell its 64 values apart" + hint);
  EXPECT_EQ(with("stage B in ram as [k, j%32]"),
            "3:5: 'stage B in ram as [k, j%32]': the layout's digits of j do not tell its 64 values apart" + hint);
  EXPECT_EQ(with("stage B in ram as [k, x]"),
            "3:5: 'stage B in ram as [k, x]': layout digit x: x is no dim of the statement" + hint);
  EXPECT_EQ(with("stage B in vec as [k, j]"),
            "3:5: 'stage B in vec as [k, j]': in registers the instruction determines the layout | leave 'as' out\n");
}

TEST(ScheduleFile, WhatLoweringRefusesStandsAtItsLine) {
  const HardwareModel model = machine("x86_avx512");
  const std::string text =
      "schedule: s\nnest:\n  - stage B in ram as [j, k]\n  - for j by 32\n  - for i by 14\n  - stage C in vec\n"
      "  - for k by 1\n  - stage B in vec\n  - for i by 1 unroll\n  - for j by 16 unroll\n"
      "  - 'do s0 with fma_f32_bcast(j=j)'\n";
  auto schedule = parse_schedule(text, "s.yaml", gemm(), model);
  ASSERT_TRUE(schedule) << render(schedule.diagnostics());
  EXPECT_EQ(schedule->kernel, "formula");
  EXPECT_EQ(schedule->target, "x86_avx512");
  const auto program = lower(*schedule, gemm(), model);
  ASSERT_FALSE(program);
  EXPECT_TRUE(render(program.diagnostics())
                  .starts_with("s.yaml:8:5: stage B in vec: no move transfers B_vec from ram to vec\n"))
      << render(program.diagnostics());
}

TEST(ScheduleFile, NothingIsSilentlyLeftOut) {
  const Kernel kernel = formula("Z[m,n] += A[m,k] * B[k,n]", "m=64,n=64,k=64", "A=s16,B=s16,Z=s16");
  const auto levels = [&](const std::string& keep, const std::string& spatial) {
    return problems("schedule: s\nlevels:\n  - {memory: DRAM, loops: [n 4, k 64]" + keep +
                        "}\n  - {memory: GLB, spatial: [" + spatial +
                        ", n 16 y]}\n"
                        "  - {memory: RF, loops: [m 4]}\n",
                    kernel, "a1");
  };
  EXPECT_EQ(levels(", keep: [A, B, Z]", "m 16 x"), "");
  EXPECT_EQ(levels(", keep: []", "m 16 x"),
            "3:5: tensors live in DRAM, which keeps all of them: Z, A, B | leave keep out\n");
  EXPECT_EQ(levels("", "m 16"), "4:29: 'for m by 4 on mac': unit mac has the axes x, y | name one: on mac.x\n");
}

TEST(ScheduleFile, LevelsSayWhichStepsAreWrong) {
  const Kernel kernel = formula("Z[m,n] += A[m,k] * B[k,n]", "m=127,n=131,k=113", "A=s16,B=s16,Z=s16");
  EXPECT_EQ(problems(R"(schedule: s
levels:
  - {memory: DRAM, loops: [n 9, m 9, k 2]}
  - {memory: GLB, spatial: [m 16 x, n 16 y]}
  - {memory: RF, loops: [k 57]}
)",
                     kernel, "a1"),
            "3:33: m 9: 8 steps of 16 already cover 127\n");
  EXPECT_EQ(problems(R"(schedule: s
levels:
  - {memory: DRAM, loops: [n 9, m 7, k 2]}
  - {memory: GLB, spatial: [m 16 x, n 16 y]}
  - {memory: RF, loops: [k 57]}
)",
                     kernel, "a1"),
            "3:5: the steps of m cover 112 of 127\n");
  EXPECT_EQ(problems(R"(schedule: s
levels:
  - {memory: DRAM, loops: [n 9, m 8, k 2]}
  - {memory: GLB, spatial: [m 16 x, n 16 z], keep: [A, Q]}
  - {memory: RF, loops: [k]}
)",
                     kernel, "a1"),
            "4:52: no tensor 'Q' in s0 | known: Z, A, B\n5:26: 'k' in loops is not of the form 'm 4'\n");
  EXPECT_EQ(
      problems(R"(schedule: s
levels:
  - {memory: DRAM, loops: [n 5, m 8, k 2]}
  - {memory: GLB, spatial: [m 16 x, n 32 y]}
  - {memory: RF, loops: [k 57]}
)",
               kernel, "a1"),
      "4:37: 'for n by 1 on mac.y': needs 32 instances of mac.y; there are 16 | loop over the rest sequentially\n");
}

TEST(ScheduleFile, CapacityIsSaidWithNumbers) {
  const HardwareModel model = machine("x86_avx512");
  auto schedule = parse_schedule(
      "schedule: s\nnest: [for j by 32, for i by 16, stage C in vec, for k by 1, stage B in vec, for i by 1 unroll, "
      "for j by 16 unroll, 'do s0 with fma_f32_bcast(j=j)']\n",
      "s.yaml", gemm(), model);
  ASSERT_TRUE(schedule) << render(schedule.diagnostics());
  auto cost = cost_of(*schedule, gemm(), model);
  ASSERT_FALSE(cost);
  EXPECT_EQ(cost.diagnostics().front().message,
            "memory vec: 35 registers needed, 32 available (C 32, B 2, memory operands 1)");
}

TEST(ScheduleFile, AnyBytesAreReadWithoutHarm) {
  const HardwareModel model = machine("x86_avx512");
  const std::string seed =
      "schedule: s\nnest:\n  - stage B in ram as [j/32, k, j%32]\n  - for j by 32\n  - do s0 with fma_f32_bcast(j=j)\n";
  Random random(5);
  for (int i = 0; i < 300; ++i) {
    std::string text = seed;
    for (std::int64_t edits = random.between(1, 6); edits > 0; --edits)
      text[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(text.size()) - 1))] =
          static_cast<char>(random.between(1, 255));
    (void)parse_schedule(text, "fuzz.yaml", gemm(), model);
  }
}

}  // namespace
}  // namespace isamap

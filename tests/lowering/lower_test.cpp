// SPDX-License-Identifier: Apache-2.0
// Hand-written schedules, lowered, verified and run by the program interpreter against the kernel interpreter.

#include <array>
#include <functional>

#include "isamap/cost_model.h"
#include "scheduler/lowering/border_guards.h"
#include "scheduler/nest/resolved_nest.h"
#include "tests/lowering/support.h"

namespace isamap {
namespace {

const std::string gemm = "C[i,j] += A[i,k] * B[k,j]";

TEST(Lower, GemmWithPackedPanelsAndRaggedSizes) {
  for (const std::string dims : {"i=28,j=64,k=8", "i=29,j=37,k=7", "i=1,j=1,k=1", "i=13,j=16,k=5"})
    expect_right(formula(gemm, dims), machine("x86_avx512"),
                 {"stage B in ram as [j/32, k, j%32]", "for j by 32", "for i by 14", "stage C in vec", "for k by 1",
                  "stage B in vec", "for i by 1 unroll", "for j by 16 unroll", "do s0 with fma_f32_bcast(j=j)"});
}

TEST(Lower, GemmStraightFromRowMajorWithMaskedEdges) {
  expect_right(formula(gemm, "i=5,j=37,k=7"), machine("x86_avx512"),
               {"for j by 32", "for i by 4", "stage C in vec", "for k by 1", "stage B in vec", "for i by 1 unroll",
                "for j by 16 unroll", "do s0 with fma_f32_bcast(j=j)"});
}

TEST(Lower, ReductionBlockedOutsideTheAccumulatorsLoadsPartialSums) {
  expect_right(formula(gemm, "i=9,j=20,k=21"), machine("x86_avx512"),
               {"for k by 8", "for j by 32", "for i by 4", "stage C in vec", "for k by 1", "stage B in vec",
                "for i by 1 unroll", "for j by 16 unroll", "do s0 with fma_f32_bcast(j=j)"});
}

TEST(Lower, GroupsOfFourBytesComeFromPackedPanelsPaddedWithZeros) {
  const std::string dot = "C[i,j] += A[i,k] * B[k,j]", types = "A=u8,B=s8,C=s32";
  for (const std::string dims : {"i=5,j=37,k=10", "i=4,j=32,k=16", "i=1,j=1,k=1"})
    expect_right(formula(dot, dims, types), machine("x86_avx512_vnni"),
                 {"stage A in ram as [i, k/4, k%4]", "stage B in ram as [j/16, k/4, j%16, k%4]", "for j by 32",
                  "for i by 4", "stage C in vec", "for k by 4", "stage B in vec", "for i by 1 unroll",
                  "for j by 16 unroll", "do s0 with dpbusd_bcast(k=k, j=j)"});
}

TEST(Lower, DeviceWithScratchpadAndAccumulator) {
  for (const std::string dims : {"i=33,j=20,k=50", "i=16,j=16,k=16", "i=1,j=1,k=1", "i=7,j=40,k=3"})
    expect_right(formula(gemm, dims, "A=s8,B=s8,C=s32"), machine("npu16"),
                 {"for i by 32", "for j by 32", "stage C in acc first flag", "for k by 32", "stage A in spad",
                  "stage B in spad", "for i by 16", "for j by 16", "for k by 16", "do s0 with mma(i=i, j=j, k=k)"});
}

TEST(Lower, FusedDimsLoopRowsTogether) {
  expect_right(formula("O[n,k,p,q] += I[n,c,p,q] * F[k,c]", "n=2,k=5,p=7,q=7,c=3"), machine("x86_avx512"),
               {"for n by 1", "for k by 4", "for p.q by 32", "stage O in vec", "for c by 1", "stage I in vec",
                "for k by 1 unroll", "for p.q by 16 unroll", "do s0 with fma_f32_bcast(j=p.q) operands A=F B=I"});
}

TEST(Lower, PaddedReadsComeFromACopyWithItsBorder) {
  Kernel kernel = formula("O[c,p,q] += I[c,p+r,q+s] * F[c,r,s]", "c=3,p=6,q=21,r=3,s=3");
  for (Tensor& tensor : kernel.tensors)
    if (tensor.name == "I") tensor.shape = {3, 6, 21}, tensor.outside = 0;
  for (AffineExpr& e : kernel.statements[0].reads[0].index)
    if (!e.as_dim()) e = e - AffineExpr(1);
  expect_right(
      kernel, machine("x86_avx512"),
      {"stage I in ram", "for c by 1", "for p by 2", "for q by 32", "stage O in vec", "for r by 1", "for s by 1",
       "stage I in vec", "for p by 1 unroll", "for q by 16 unroll", "do s0 with fma_f32_bcast(j=q) operands A=F B=I"});
  expect_right(kernel, machine("scalar_c"), {"do s0 with scalar"});
}

/// O[p,q,c] of a padded image [h,w,c]: a window of `size` with stride and dilation, `pad` before and as needed after.
Kernel depthwise(int p, int q, int c, int size, int stride, int dilation, int pad, int height, double outside = 0) {
  Kernel kernel =
      *parse_kernel_yaml("kernel: dw\ndims: {P: " + std::to_string(p) + ", Q: " + std::to_string(q) +
                             ", C: " + std::to_string(c) + ", R: " + std::to_string(size) +
                             ", H: " + std::to_string(height) + "}\ntensors:\n  I: {shape: [H, H, C], outside: 0}\n" +
                             "  F: {shape: [R, R, C]}\n  O: {shape: [P, Q, C]}\ncompute:\n  - O[p,q,c] += I[" +
                             std::to_string(stride) + "*p + " + std::to_string(dilation) + "*r - " +
                             std::to_string(pad) + ", " + std::to_string(stride) + "*q + " + std::to_string(dilation) +
                             "*s - " + std::to_string(pad) + ", c] * F[r,s,c]\nwhere: {p: P, q: Q, r: R, s: R}\n",
                         "dw.yaml");
  kernel.tensors[0].outside = outside;
  return kernel;
}

std::vector<std::string> window_lines(int p, int q) {
  return {"for p by " + std::to_string(p),
          "for q by " + std::to_string(q),
          "for c by 16",
          "stage O in vec",
          "for r by 1",
          "for s by 1",
          "stage F in vec",
          "for p by 1 unroll",
          "for q by 1 unroll",
          "stage I in vec",
          "do s0 with fma_f32(j=c) outside I skip"};
}

TEST(Lower, WhatLiesOutsideIsSkipped) {
  const HardwareModel model = machine("x86_avx512");
  for (const auto& [p, q, c, size, stride, dilation, pad, height] : {std::array{9, 11, 20, 3, 1, 1, 1, 9},
                                                                     {5, 5, 16, 3, 2, 1, 1, 9},
                                                                     {7, 6, 33, 5, 1, 2, 4, 8},
                                                                     {1, 1, 1, 3, 1, 1, 1, 1},
                                                                     {2, 3, 16, 3, 1, 1, 2, 1},
                                                                     {12, 12, 16, 3, 1, 1, 5, 4},
                                                                     {0, 3, 16, 3, 1, 1, 1, 3},
                                                                     {6, 4, 7, 1, 3, 1, 0, 12}})
    for (const auto& [tile_p, tile_q] : {std::pair(2, 4), std::pair(1, 1), std::pair(3, 7), std::pair(16, 2)})
      expect_right(depthwise(p, q, c, size, stride, dilation, pad, height), model, window_lines(tile_p, tile_q));
}

/// Only products with in-bounds taps are computed and priced.
TEST(Lower, WhatIsSkippedIsCounted) {
  const HardwareModel model = machine("x86_avx512");
  for (const auto& [p, q, size, stride, dilation, pad, height] : {std::array{9, 11, 3, 1, 1, 1, 9},
                                                                  {5, 5, 3, 2, 1, 1, 9},
                                                                  {7, 6, 5, 1, 2, 4, 8},
                                                                  {1, 1, 3, 1, 1, 1, 1},
                                                                  {2, 3, 3, 1, 1, 2, 1},
                                                                  {12, 12, 3, 1, 1, 5, 4},
                                                                  {6, 4, 1, 3, 1, 0, 12}}) {
    const auto along = [&, size = size, stride = stride, dilation = dilation, pad = pad, height = height](int outputs) {
      int taps = 0;
      for (int at = 0; at < outputs * size; ++at) {
        const int from = stride * (at / size) + dilation * (at % size) - pad;
        taps += from >= 0 && from < height ? 1 : 0;
      }
      return static_cast<double>(taps) / (outputs * size);
    };
    const Kernel kernel = depthwise(p, q, 16, size, stride, dilation, pad, height);
    const auto view = resolve(schedule_of(window_lines(2, 4)).nests[0], kernel, make_id<StatementId>(0), model);
    ASSERT_TRUE(view) << render(view.diagnostics());
    EXPECT_DOUBLE_EQ(view->in_bounds, along(p) * along(q));
  }
  auto whole = window_lines(2, 4);
  whole.back() = "do s0 with fma_f32(j=c)";
  const auto cycles = [&](const std::vector<std::string>& lines) {
    const Kernel kernel = depthwise(7, 7, 512, 5, 1, 1, 2, 7);
    return make_cost_model_closed_form()
        ->estimate({&kernel, make_id<StatementId>(0), &model, schedule_of(lines).nests[0]})
        ->cycles;
  };
  EXPECT_LT(cycles(window_lines(2, 4)), cycles(whole));
}

/// The operand is read in place; the call is guarded.
TEST(Lower, CallsThatWouldReadOutsideAreSkipped) {
  for (const int height : {1, 5, 8}) {
    Kernel kernel = *parse_kernel_yaml(
        "kernel: conv\ndims: {H: " + std::to_string(height) +
            ", C: 3, K: 37, R: 3}\ntensors:\n  I: {shape: [H, H, C], outside: 0}\n  F: {shape: [R, R, C, K]}\n"
            "  O: {shape: [H, H, K]}\ncompute:\n  - O[p,q,k] += I[p+r-1,q+s-1,c] * F[r,s,c,k]\nwhere: {p: H, q: H, r: "
            "R, s: R}\n",
        "conv.yaml");
    expect_right(
        kernel, machine("x86_avx512"),
        {"for k by 32", "for p by 1", "for q by 4", "stage O in vec", "for r by 1", "for s by 1", "for c by 1",
         "stage F in vec", "for q by 1 unroll", "for k by 16 unroll", "do s0 with fma_f32_bcast(j=k) outside I skip"});
  }
}

/// Border steps are peeled: the interior has no guards.
TEST(Lower, TheInteriorAsksNothing) {
  const HardwareModel model = machine("x86_avx512");
  const auto program = lower(schedule_of(window_lines(2, 4)), depthwise(40, 40, 16, 3, 1, 1, 1, 40), model);
  ASSERT_TRUE(program) << render(program.diagnostics());
  const std::function<int(const std::vector<Node>&)> calls_without_guard = [&](const std::vector<Node>& nodes) {
    int calls = 0;
    for (const Node& node : nodes) {
      if (const auto* loop = std::get_if<Loop>(&node.is)) calls += loop->trip * calls_without_guard(loop->body);
      calls += std::holds_alternative<Call>(node.is) ? 1 : 0;
    }
    return calls;
  };
  // 18 x 8 of 20 x 10 tiles are inside: 8 clears, 8 stores and for each of 9 taps one weight, 8 inputs and 8 products;
  // the other 56 tiles clear, store and load weights without guards, and some inputs too.
  const int inner = 18 * 8 * (16 + 9 * 17), border = 56 * (16 + 9);
  EXPECT_GE(calls_without_guard(program->body), inner + border);
  EXPECT_NE(print(*program, model).find("inputs are finite: products with out-of-bounds values are skipped"),
            std::string::npos);
}

TEST(Lower, SkippingThatWouldChangeTheResultIsRefused) {
  const HardwareModel model = machine("x86_avx512");
  const auto said = [&](const Kernel& kernel, const std::vector<std::string>& lines) {
    const auto program = lower(schedule_of(lines), kernel, model);
    return program ? "lowered" : program.diagnostics()[0].message;
  };
  EXPECT_EQ(said(depthwise(4, 4, 16, 3, 1, 1, 1, 4, 2.5), window_lines(2, 2)),
            "outside I skip: out-of-bounds values of I change the result");
  const auto resolved = [&](const std::string& last) {
    auto lines = window_lines(2, 2);
    lines.back() = last;
    const auto view =
        resolve(schedule_of(lines).nests[0], depthwise(4, 4, 16, 3, 1, 1, 1, 4), make_id<StatementId>(0), model);
    return view ? "resolved" : view.diagnostics()[0].message;
  };
  EXPECT_EQ(resolved("do s0 with fma_f32(j=c) outside I skip"), "resolved");
  EXPECT_EQ(resolved("do s0 with scalar outside I skip"),
            "'do s0 with scalar outside I skip': outside I: scalar code computes with what the tensor yields there");
  EXPECT_EQ(resolved("do s0 with fma_f32(j=c) outside J skip"),
            "'do s0 with fma_f32(j=c) outside J skip': outside J: statement s0 does not read such a tensor");
  EXPECT_EQ(resolved("do s0 with fma_f32(j=c) outside F skip"),
            "'do s0 with fma_f32(j=c) outside F skip': outside F: all of it is read inside its shape");
  auto wide = window_lines(2, 4);
  std::swap(wide[8], wide[9]);  // the tile of I has four points along q
  EXPECT_EQ(said(depthwise(8, 8, 16, 3, 1, 1, 1, 8), wide),
            "outside I skip: its tile here has 4 points along q, some of which may be out of bounds");
}

/// A skipped term must not change the result: I is a factor of the whole term, or the term itself.
TEST(Lower, OnlyTermsThatChangeNothingMayBeSkipped) {
  const auto skippable = [](const std::string& type, const std::string& outside, const std::string& statement) {
    const bool weighted = statement.find("F[") != std::string::npos;
    const auto kernel = parse_kernel_yaml(
        "kernel: k\ndims: {N: 8}\ntensors:\n  I: {shape: [N], dtype: " + type + ", outside: " + outside + "}\n" +
            (weighted ? "  F: {shape: [3], dtype: " + type + "}\n" : "") + "  O: {shape: [N]}\ncompute:\n  - O[n] " +
            statement + "\nwhere: {n: N, r: 3}\n",
        "k.yaml");
    EXPECT_TRUE(kernel) << render(kernel.diagnostics());
    return kernel && may_skip(*kernel, kernel->statements[0], make_id<TensorId>(0));
  };
  EXPECT_TRUE(skippable("f32", "0", "+= I[n+r-1] * F[r]"));
  EXPECT_TRUE(skippable("bf16", "0", "+= f32(F[r]) * f32(I[n+r-1])"));
  EXPECT_TRUE(skippable("f32", "0", "+= I[n+r-1] * (F[r] + 1) * 3"));
  EXPECT_TRUE(skippable("f32", "0", "+= I[n+r-1]"));
  EXPECT_TRUE(skippable("f32", "-inf", "max= I[n+r-1]"));
  EXPECT_FALSE(skippable("f32", "0", "max= I[n+r-1]"));
  EXPECT_FALSE(skippable("f32", "1", "+= I[n+r-1] * F[r]"));
  EXPECT_FALSE(skippable("f32", "0", "+= (I[n+r-1] + 1) * F[r]"));
  EXPECT_FALSE(skippable("f32", "0", "+= I[n+r-1] + F[r]"));
  EXPECT_FALSE(skippable("f32", "0", "max= I[n+r-1] * F[r]"));
}

TEST(Lower, FragmentsOfAWarp) {
  for (const std::string dims : {"i=20,j=19,k=21", "i=32,j=16,k=16"})
    expect_right(formula(gemm, dims, "A=bf16,B=bf16,C=f32"), machine("nvidia_sm80"),
                 {"for i by 32 on block", "for j by 16", "stage C in reg", "for k by 16", "stage A in reg",
                  "stage B in reg", "for i by 16 unroll", "for j by 8 unroll", "do s0 with mma_bf16(i=i, j=j, k=k)"});
}

TEST(Lower, SaysWhatDoesNotFit) {
  const Kernel kernel = formula(gemm, "i=64,j=64,k=8");
  const auto program =
      lower(schedule_of({"for j by 32", "for i by 32", "stage C in vec", "for k by 1", "stage B in vec",
                         "for i by 1 unroll", "for j by 16 unroll", "do s0 with fma_f32_bcast(j=j)"}),
            kernel, machine("x86_avx512"));
  ASSERT_FALSE(program);
  EXPECT_EQ(program.diagnostics()[0].message, "memory vec holds 32 registers; 66 are needed at once");
}

/// A program for run-time vector lengths has a body for each, and the packed layout would fit only one.
TEST(Lower, NothingIsPackedAheadForSeveralLengths) {
  Kernel kernel = formula(gemm, "i=8,j=64,k=8");
  kernel.tensors[1].constant = true;
  const auto said = [&](const char* target) {
    const auto view = resolve(schedule_of({"stage B in ram as [j/16, k, j%16] aot", "for i by 1", "for j by 1",
                                           "for k by 1", "do s0 with scalar"})
                                  .nests[0],
                              kernel, make_id<StatementId>(0), machine(target));
    return view ? "resolved" : view.diagnostics()[0].message;
  };
  EXPECT_EQ(said("x86_avx512"), "resolved");
  EXPECT_EQ(said("arm_sve"),
            "'stage B in ram as [j/16, k, j%16] aot': aot: the packed layout may differ between the versions for other "
            "sizes of arm_sve");
}

/// The mapping of a `do` line is proved again; a wrong one is refused with the reason.
TEST(Lower, ProvesWhatDoLinesState) {
  const auto refusal = [](const Kernel& kernel, const std::vector<std::string>& lines) {
    const auto program = lower(schedule_of(lines), kernel, machine("x86_avx2"));
    return program ? "lowered" : program.diagnostics()[0].message;
  };
  const std::vector<std::string> plain = {"stage C in vec",         "for k by 1",     "stage B in vec",
                                          "for i by 1 unroll",      "stage A in vec", "for j by 8 unroll",
                                          "do s0 with fma_f32(j=j)"};
  EXPECT_EQ(refusal(formula(gemm, "i=3,j=16,k=8"), plain), "lowered");
  EXPECT_EQ(
      refusal(formula("C[i,j] += A[i,k] + B[k,j]", "i=3,j=16,k=8"), plain),
      "fma_f32 does not compute s0 with this mapping: body: the instruction computes A * B; the statement computes "
      "A + B");
  EXPECT_EQ(refusal(formula("C[i,j] max= A[i,k] * B[k,j]", "i=3,j=16,k=8"), plain).substr(0, 58),
            "fma_f32 does not compute s0 with this mapping: reduction: ");
  std::vector<std::string> partial = plain;
  partial.back() = "do s0 with fma_f32(j=k)";  // the lanes would hold partial sums
  EXPECT_EQ(refusal(formula(gemm, "i=3,j=16,k=8"), partial),
            "this mapping of fma_f32 cannot be lowered: partial sums have to be added up after it");

  const std::vector<std::string> pairs = {"stage B in ram as [j/8, k/4, j%8, k%4]",
                                          "stage C in vec",
                                          "for k by 4",
                                          "stage B in vec",
                                          "for i by 1 unroll",
                                          "stage A in vec",
                                          "for j by 8 unroll",
                                          "do s0 with maddubs(j=j, k=k)"};
  Kernel bytes = formula(gemm, "i=3,j=16,k=8", "A=u8,B=s8,C=s32");
  EXPECT_EQ(refusal(bytes, pairs).substr(0, 57), "maddubs does not compute s0 with this mapping: saturation");
  bytes.tensors[0].range = {0, 127};
  EXPECT_EQ(refusal(bytes, pairs), "lowered");
}

/// Rows of C[2*u+a] below a loop over a lie between rows of the other a, which a store of the tile would overwrite.
TEST(Lower, TilesWithElementsOfOthersBetweenAreRefused) {
  const Kernel kernel = formula("O[2*u+a,k] += I[u,c] * F[a,c,k]", "u=31,a=2,k=16,c=33");
  const HardwareModel model = machine("x86_avx512");
  const auto nest = [](bool above) {
    std::vector<std::string> lines{
        "for a by 1", "for k by 16",    "for u by 4",        "stage O in vec",
        "for c by 1", "stage F in vec", "for u by 1 unroll", "do s0 with fma_f32_bcast(j=k)"};
    lines.insert(lines.begin() + (above ? 0 : 3), "stage O in ram as [2*u + a, k]");
    return lines;
  };
  expect_right(kernel, model, nest(true));
  const auto refused = lower(schedule_of(nest(false)), kernel, model);
  ASSERT_FALSE(refused);
  EXPECT_NE(
      render(refused.diagnostics()).find("stage O in ram: its tile holds 7 places of a + 2*u, of which 1 and more"),
      std::string::npos)
      << render(refused.diagnostics());
}

/// Calls take whole tiles of a padded reduction, whatever extents the instruction could take.
TEST(Lower, PaddingOfReductionsIsZeroForInstructionsOfAnyExtent) {
  const Kernel kernel = formula("C[j,i] += A[i,k] * B[k,j]", "i=16,j=3,k=31", "A=s8,B=s8,C=s32");
  const HardwareModel model = machine("systolic16");
  std::vector<std::string> lines{"stage B in dram as [j/16, k/16, k%16, j%16]",
                                 "stage C in dram as [j/16, i/16, i%16, j%16]",
                                 "stage C in acc as [j/16, i/16, i%16, j%16] first flag",
                                 "stage A in spad as [i/16, k/16, i%16, k%16]",
                                 "stage B in spad as [j/16, k/16, k%16, j%16]",
                                 "for k by 16 tail pad",
                                 "stage B in array",
                                 "do s0 with compute_preloaded(i=i, j=j, k=k)"};
  EXPECT_FALSE(lower(schedule_of(lines), kernel, model)) << "mvin leaves what is beyond its extent";
  lines[5] = "for k by 16";
  expect_right(kernel, model, lines);
}

}  // namespace
}  // namespace isamap

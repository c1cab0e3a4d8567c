// SPDX-License-Identifier: Apache-2.0
// Kernels of CUDA C++ against the interpreter: sizes that do not divide, 1 and 0, every delivery of copies.

#include "tests/cuda/support.h"
#include "tests/searched.h"

namespace isamap {
namespace {

TEST(Kernels, ARingOfTilesIsRightHoweverCopiesArrive) {
  const auto model = machine("nvidia_sm80");
  const Program ring = lowered(product("bf16", "f32", 100, 72, 200, true), ring_schedule, model);
  for (const std::string& how : deliveries) {
    SCOPED_TRACE(how);
    const Delivered delivered(how);
    expect_same(ring, model, 7);
  }
}

// Tiles that all threads copy, in groups of rows: the same, in another order.
TEST(HeavyKernels, OrdinaryTilesComeInGroupsOfRows) {
  const auto model = machine("nvidia_sm80");
  const std::string in_groups =
      changed(ring_schedule, "for i by 64 on block tail pad\n  - for j by 64 on block tail pad",
              "for i by 64, j by 64 on block raster grouped(2) tail pad");
  const Program ring = lowered(product("bf16", "f32", 200, 72, 200, true), in_groups, model);
  for (const std::string& how : deliveries) {
    SCOPED_TRACE(how);
    const Delivered delivered(how);
    expect_same(ring, model, 7);
  }
}

// Of large products the cache loses what rows would share; of small ones it holds all of it.
TEST(Kernels, TheSearchGroupsRowsWhereTheCacheLosesThem) {
  const auto model = machine("nvidia_sm80");
  for (const auto& [size, grouped] : {std::pair(8192, true), {1024, false}}) {
    SCOPED_TRACE(size);
    const Program made = searched(product("bf16", "f32", size, size, size, true), model, 300);
    EXPECT_EQ(made.schedule_text.find(" on block raster grouped(") != std::string::npos, grouped) << made.schedule_text;
  }
}

/// What the search makes of the kernel, printed and run.
void expect_right(const Kernel& kernel, const HardwareModel& model) {
  const Program made = searched(kernel, model, 100);
  expect_kernel(made, model);
  expect_same(made, model, 11);
}

void every_type_and_transposition_of_products(Every every) {
  struct Type {
    const char *type, *sum;
  };
  for (const char* name : {"nvidia_sm80", "nvidia_sm90a"}) {
    const auto model = machine(name);
    for (const Type& t :
         {Type{"bf16", "f32"}, {"f16", "f32"}, {"tf32", "f32"}, {"s8", "s32"}, {"u8", "s32"}, {"f64", "f64"}})
      for (const bool transposed : {false, true}) {
        if (every.skips()) continue;
        SCOPED_TRACE(std::string(name) + " " + t.type + (transposed ? " transposed" : ""));
        expect_right(product(t.type, t.sum, 40, 24, 72, transposed), model);
      }
  }
}

TEST(Kernels, EveryTypeAndTranspositionOfProducts) { every_type_and_transposition_of_products(Every(17)); }
TEST(HeavyKernels, EveryTypeAndTranspositionOfProducts) { every_type_and_transposition_of_products(Every(1)); }

void sizes_that_do_not_divide_and_one_and_zero(Every every) {
  const auto model = machine("nvidia_sm80");
  for (const auto& [m, n, k] : {std::tuple(1, 1, 1), {17, 9, 33}, {65, 31, 8}, {129, 70, 40}, {0, 4, 4}, {4, 4, 0}})
    for (const bool transposed : {false, true}) {
      if (every.skips()) continue;
      SCOPED_TRACE(std::to_string(m) + " " + std::to_string(n) + " " + std::to_string(k));
      expect_right(product("bf16", "f32", m, n, k, transposed), model);
    }
}

TEST(Kernels, SizesThatDoNotDivideAndOneAndZero) { sizes_that_do_not_divide_and_one_and_zero(Every(9)); }
TEST(HeavyKernels, SizesThatDoNotDivideAndOneAndZero) { sizes_that_do_not_divide_and_one_and_zero(Every(1)); }

// What is set around a tile must not reach the tiles of other steps in the ring.
TEST(Kernels, PaddedTilesInARingKeepToTheirPlaces) {
  const auto model = machine("nvidia_sm80");
  const Kernel kernel = kernel_from(
      "kernel: window\ntensors:\n  I: {shape: [7, 11, 17], dtype: bf16, outside: 0}\n"
      "  F: {shape: [3, 3, 17, 8], dtype: bf16}\n  O: {shape: [7, 11, 8], dtype: f32}\n"
      "compute:\n  - O[p,q,k] += f32(I[p + r - 1,q + s - 1,c]) * f32(F[r,s,c,k])\n");
  const Program ring = lowered(kernel, R"(schedule: window
nest:
  - for q by 1 on block
  - for p by 16 on block tail pad
  - stage O in reg
  - for c by 1
  - for r.s by 8 tail pad
  - stage I in shared x3 as [p, r.s, q, c pad 8]
  - stage F in shared x3 as [r.s, c, k pad 8] via cp_async_16_b16
  - stage I in reg
  - stage F in reg via ldmatrix_x1_trans
  - do s0 with mma_bf16_k8(i=p, j=k, k=r.s)
)",
                               model);
  for (const std::string& how : deliveries) {
    SCOPED_TRACE(how);
    const Delivered delivered(how);
    expect_same(ring, model, 5);
  }
}

// The order of tiles is that of the nest whose tiles are handed on.
TEST(Kernels, AnOrderOfTilesInTheSecondNestAloneIsRefused) {
  const auto model = machine("nvidia_sm80");
  const Kernel kernel = kernel_from(
      "kernel: layer\ntensors:\n  A: {shape: [64, 48], dtype: bf16}\n  B: {shape: [32, 48], dtype: bf16}\n"
      "  T: {shape: [64, 32]}\n  Y: {shape: [64, 32]}\ncompute:\n  - T[i,j] += f32(A[i,k]) * f32(B[j,k])\n"
      "  - Y[i,j] = max(T[i,j], 0)\n");
  const auto nests = [](const std::string& first, const std::string& second) {
    return "schedule: layer\nnests:\n  -\n    - for i by 16, j by 8 on block" + first +
           "\n    - stage T in shared as [i, j pad 8] then s1\n    - stage T in reg\n    - for k by 16\n"
           "    - stage A in shared as [i, k pad 8]\n    - stage B in shared as [j, k pad 8]\n"
           "    - stage A in reg via ldmatrix_x4\n    - stage B in reg via ldmatrix_x2\n"
           "    - do s0 with mma_bf16(i=i, j=j, k=k)\n  -\n    - for i by 16, j by 8 on block" +
           second + "\n    - stage T in shared from s0\n    - for i by 1\n    - for j by 1\n    - do s1 with scalar\n";
  };
  const auto problems = [&](const std::string& first, const std::string& second) {
    const auto parsed = parse_schedule(nests(first, second), "s.yaml", kernel, model);
    return render(parsed ? lower(*parsed, kernel, model).diagnostics() : parsed.diagnostics());
  };
  EXPECT_EQ(problems("", ""), "");
  EXPECT_EQ(problems(" wrap", ""), "");
  EXPECT_EQ(problems(" wrap", " wrap"), "");
  EXPECT_NE(problems("", " wrap").find("from s0: the producer's nest orders the tiles"), std::string::npos);
  EXPECT_NE(problems(" wrap", " raster grouped(2)").find("hint: write raster grouped(2) in the nest of s0"),
            std::string::npos);
}

// What follows a product goes on with its tile in the scratchpad, where the ring of its inputs stood before.
void epilogues_go_on_with_the_tile(Every every) {
  for (const char* name : {"nvidia_sm80", "nvidia_sm90a"}) {
    const auto model = machine(name);
    for (const auto& [m, n, k] : {std::tuple(100, 72, 40), {17, 9, 33}, {5, 5, 0}}) {
      if (every.skips()) continue;
      SCOPED_TRACE(std::string(name) + " " + std::to_string(m) + " " + std::to_string(n) + " " + std::to_string(k));
      const Kernel kernel = kernel_from(
          "kernel: layer\ndims: {M: " + std::to_string(m) + ", N: " + std::to_string(n) + ", K: " + std::to_string(k) +
          "}\ntensors:\n  A: {shape: [M, K], dtype: bf16}\n  B: {shape: [N, K], dtype: bf16}\n  D: {shape: [N]}\n"
          "  R: {shape: [M, N], dtype: bf16}\n  T: {shape: [M, N]}\n  U: {shape: [M, N]}\n"
          "  Y: {shape: [M, N], dtype: bf16}\ncompute:\n  - T[i,j] += f32(A[i,k]) * f32(B[j,k])\n"
          "  - U[i,j] = max(T[i,j] + D[j], 0)\n  - Y[i,j] = bf16(U[i,j] + f32(R[i,j]))\n");
      const Program made = searched(kernel, model, 100);
      if (k > 0) {
        EXPECT_NE(made.schedule_text.find("then s1"), std::string::npos) << made.schedule_text;
        EXPECT_NE(made.schedule_text.find("then s2"), std::string::npos) << made.schedule_text;
      }
      expect_kernel(made, model);
      expect_same(made, model, 9);
    }
  }
}

TEST(Kernels, EpiloguesGoOnWithTheTile) { epilogues_go_on_with_the_tile(Every(5)); }
TEST(HeavyKernels, EpiloguesGoOnWithTheTile) { epilogues_go_on_with_the_tile(Every(1)); }

// Neighbours along the reduction are neighbours in memory: the lanes of a warp share each element.
void lanes_share_reductions(Every every) {
  struct Case {
    const char *compute, *tensors;
    bool shared;
  };
  const std::vector<Case> cases = {
      {"Y[i] += X[i,j]", "{X: {shape: [5, 100]}, Y: {shape: [5]}}", true},
      {"Y[i] max= X[i,j]", "{X: {shape: [300, 64]}, Y: {shape: [300]}}", true},
      {"Y[z] += s32(X[z,i,j])", "{X: {shape: [1, 7, 33], dtype: s8}, Y: {shape: [1], dtype: s32}}", true},
      {"Y[i] += X[i,j]", "{X: {shape: [3, 40], dtype: f64}, Y: {shape: [3], dtype: f64}}", true},
      {"Y[j] += X[i,j]", "{X: {shape: [50, 70]}, Y: {shape: [70]}}", false},  // columns: neighbours are distributed
      {"Y[i] += X[i,j]", "{X: {shape: [40, 31]}, Y: {shape: [40]}}", false},  // not a step for each lane
      {"Y[i] += X[i,j]", "{X: {shape: [3, 0]}, Y: {shape: [3]}}", false},
  };
  const auto model = machine("nvidia_sm80");
  for (const Case& c : cases) {
    if (every.skips()) continue;
    SCOPED_TRACE(std::string(c.compute) + " " + c.tensors);
    const Kernel kernel =
        kernel_from("kernel: k\ntensors: " + std::string(c.tensors) + "\ncompute:\n  - " + c.compute + "\n");
    const Program made = searched(kernel, model);
    expect_same(made, model, 6);
    auto text = print_cuda(made, model);
    ASSERT_TRUE(text) << render(text.diagnostics());
    EXPECT_EQ(text->text.find("exchange_16_b") != std::string::npos, c.shared) << text->text;
    Program in_order = made;
    in_order.sums_in_order = true;
    text = print_cuda(in_order, model);
    const bool whole = made.kernel.tensors.back().dtype == DType::s32;  // whose order means nothing
    EXPECT_EQ(text->text.find("exchange_16_b") != std::string::npos, c.shared && whole) << text->text;
  }
}

TEST(Kernels, LanesShareReductions) { lanes_share_reductions(Every(2)); }
TEST(HeavyKernels, LanesShareReductions) { lanes_share_reductions(Every(1)); }

TEST(Kernels, IndependentStepsAreDealtOut) {
  const auto model = machine("nvidia_sm80");
  const auto unit = [&](const std::string& compute, const std::string& tensors) {
    const Kernel kernel = kernel_from("kernel: k\ntensors: " + tensors + "\ncompute:\n  - " + compute + "\n");
    const Program made = searched(kernel, model);
    expect_same(made, model, 2);
    auto text = print_cuda(made, model);
    EXPECT_TRUE(text) << render(text.diagnostics());
    return text->text;
  };
  // 40 * 50 elements, four for each of 256 threads in 2 blocks; a sum over j stays with the thread of its i, which
  // stores its 0 too, 30 of them in a block
  EXPECT_NE(unit("Y[i,j] = X[i,j] * X[i,j]", "{X: {shape: [40, 50]}, Y: {shape: [40, 50]}}")
                .find("ISAMAP_LAUNCH(k_1, 2, 256"),
            std::string::npos);
  const std::string sums = unit("Y[i] += X[i,j]", "{X: {shape: [300, 20]}, Y: {shape: [300]}}");
  EXPECT_NE(sums.find("ISAMAP_LAUNCH(k_1, 10, 32"), std::string::npos) << sums;
  // elements are shared by steps of p: only those of r are distributed, and all wait before the next step of p
  const std::string shared = unit("O[p + r] += I[p] * F[r]", "{I: {shape: [40]}, F: {shape: [64]}, O: {shape: [103]}}");
  EXPECT_NE(shared.find("    __syncthreads();"), std::string::npos) << shared;
}

}  // namespace
}  // namespace isamap

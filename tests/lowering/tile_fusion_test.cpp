// SPDX-License-Identifier: Apache-2.0
// Fusion: consumers that read the tile of their producer.

#include "isamap/mapper.h"
#include "isamap/scheduler.h"
#include "scheduler/nest/fused_tiles.h"
#include "tests/lowering/support.h"

namespace isamap {
namespace {

/// T = X W, Y = T + B, Z = Y * S; `more` are further statements.
Kernel linear(int m, int n, int k, const std::string& more = "", const std::string& tensors = "") {
  auto kernel = parse_kernel_yaml(
      "kernel: linear\ndims: {M: " + std::to_string(m) + ", N: " + std::to_string(n) + ", K: " + std::to_string(k) +
          "}\ntensors:\n  X: {shape: [M, K], dtype: f32}\n  W: {shape: [K, N], dtype: f32}\n  B: {shape: [N], dtype: "
          "f32}\n"
          "  S: {shape: [M, N], dtype: f32}\n  T: {shape: [M, N], dtype: f32}\n  Y: {shape: [M, N], dtype: f32}\n"
          "  Z: {shape: [M, N], dtype: f32}\n" +
          tensors +
          "compute:\n"
          "  - {name: mm, compute: \"T[i,j] += X[i,k] * W[k,j]\"}\n"
          "  - {name: bias, compute: \"Y[a,b] = T[a,b] + B[b]\"}\n"
          "  - {name: scale, compute: \"Z[a,b] = Y[a,b] * S[a,b]\"}\n" +
          more,
      "linear.yaml");
  EXPECT_TRUE(kernel) << render(kernel.diagnostics());
  return *kernel;
}

using Nests = std::vector<std::vector<std::string>>;

Nests in_registers(int i, int j) {
  const std::string by_i = std::to_string(i), by_j = std::to_string(j);
  return {{"for i by " + by_i, "for j by " + by_j, "stage T in vec then bias", "for k by 1", "stage W in vec",
           "for i by 1 unroll", "for j by 16 unroll", "do mm with fma_f32_bcast(j=j)"},
          {"for a by " + by_i, "for b by " + by_j, "stage T in vec from mm", "for b by 16 unroll", "stage B in vec",
           "for a by 1 unroll", "stage Y in vec then scale", "do bias with add_f32(j=b)"},
          {"for a by " + by_i, "for b by " + by_j, "for b by 16 unroll", "for a by 1 unroll",
           "stage Y in vec from bias", "stage S in vec", "stage Z in vec", "do scale with mul_f32(j=b)"}};
}

const std::vector<std::array<int, 3>> sizes = {{12, 64, 9}, {13, 37, 7}, {1, 1, 1}, {5, 33, 1}, {4, 16, 0}, {0, 16, 3}};

TEST(TileFusion, AChainInRegisters) {
  for (const auto& [m, n, k] : sizes)
    for (const auto& [i, j] : {std::pair(4, 32), std::pair(1, 16), std::pair(7, 48)})
      expect_schedule_right(linear(m, n, k), machine("x86_avx512"), schedule_of(in_registers(i, j)));
}

/// T and Y are in no memory, not even as copies.
TEST(TileFusion, WhatNobodyElseReadsIsNotStored) {
  const auto program = lower(schedule_of(in_registers(4, 32)), linear(12, 64, 9), machine("x86_avx512"));
  ASSERT_TRUE(program) << render(program.diagnostics());
  int stores = 0;
  const std::function<void(const std::vector<Node>&)> count = [&](const std::vector<Node>& nodes) {
    for (const Node& node : nodes) {
      if (const auto* loop = std::get_if<Loop>(&node.is)) count(loop->body);
      const auto* call = std::get_if<Call>(&node.is);
      if (call == nullptr || !call->operands[0].buffer.valid()) continue;
      const Buffer& to = program->buffers[call->operands[0].buffer.index()];
      if (to.slots >= 0) continue;
      EXPECT_EQ(to.name, "Z");
      ++stores;
    }
  };
  count(program->body);
  EXPECT_GT(stores, 0);
}

TEST(TileFusion, WhatIsReadLaterIsStoredToo) {
  for (const auto& [m, n, k] : sizes) {
    const Kernel kernel = linear(m, n, k, "  - {name: again, compute: \"V[a,b] = T[a,b] * Y[a,b]\"}\n",
                                 "  V: {shape: [M, N], dtype: f32}\n");
    Nests nests = in_registers(4, 32);
    nests.push_back({"for a by 1", "for b by 1", "do again with scalar"});
    expect_schedule_right(kernel, machine("x86_avx512"), schedule_of(nests));
  }
}

/// The tile is staged in memory; the consumer has other dim names and is scalar code.
TEST(TileFusion, AScalarUnitGoesOnWithATileInMemory) {
  for (const auto& [m, n, k] : sizes) {
    Nests nests = in_registers(4, 32);
    nests[0][2] = "stage T in vec";
    nests[0].insert(nests[0].begin() + 2, "stage T in ram then bias");
    nests[1] = {"for a by 4", "for b by 32", "stage T in ram from mm",
                "for a by 1", "for b by 1",  "do bias with scalar"};
    nests[2] = {"for a by 1", "for b by 1", "do scale with scalar"};
    expect_schedule_right(linear(m, n, k), machine("x86_avx512"), schedule_of(nests));
  }
}

/// A cell that reads three gates of the tile, at constants along an axis that the tile has whole.
TEST(TileFusion, PlacesAlongAWholeAxis) {
  for (const auto& [b, h, k] : sizes) {
    const auto kernel = parse_kernel_yaml(
        "kernel: cell\ndims: {B: " + std::to_string(b) + ", H: " + std::to_string(h) + ", K: " + std::to_string(k) +
            "}\ntensors:\n  X: {shape: [B, K], dtype: f32}\n  U: {shape: [3, K, H], dtype: f32}\n"
            "  G: {shape: [B, 3, H], dtype: f32}\n  Y: {shape: [B, H], dtype: f32}\ncompute:\n"
            "  - {name: gates, compute: \"G[b,g,h] += X[b,k] * U[g,k,h]\"}\n"
            "  - {name: cell, compute: \"Y[b,h] = G[b,0,h] * G[b,1,h] + G[b,2,h]\"}\n",
        "cell.yaml");
    ASSERT_TRUE(kernel) << render(kernel.diagnostics());
    const Nests nests = {
        {"for b by 4", "for h by 16", "stage G in ram then cell", "stage G in vec", "for k by 1", "for g by 1 unroll",
         "stage U in vec", "for b by 1 unroll", "do gates with fma_f32_bcast(j=h)"},
        {"for b by 4", "for h by 16", "stage G in ram from gates", "for b by 1", "for h by 1", "do cell with scalar"}};
    expect_schedule_right(*kernel, machine("x86_avx512"), schedule_of(nests));
  }
}

TEST(TileFusion, RefusalsSayWhichLineAndWhy) {
  const auto said = [](const Kernel& kernel, const Nests& nests) {
    const auto program = lower(schedule_of(nests), kernel, machine("x86_avx512"));
    return program ? "lowered" : program.diagnostics()[0].message;
  };
  const Kernel kernel = linear(12, 64, 9);
  const auto changed = [](std::size_t nest, std::size_t line, const std::string& text) {
    Nests nests = in_registers(4, 32);
    nests[nest][line] = text;
    return nests;
  };
  EXPECT_EQ(said(kernel, in_registers(4, 32)), "lowered");
  EXPECT_EQ(
      said(kernel, changed(0, 0, "for i by 6")),
      "'stage T in vec then bias': then bias: the tile here has 6 points of i; that of the nest of bias has 4 of a");
  EXPECT_EQ(said(kernel, changed(0, 2, "stage T in vec then baas")),
            "'stage T in vec then baas': no statement 'baas' in linear");
  EXPECT_EQ(said(kernel, changed(0, 2, "stage T in vec")),
            "'stage T in vec from mm': from mm: its nest has no stage of T with this consumer");
  EXPECT_EQ(said(kernel, changed(1, 2, "stage T in vec")),
            "'stage T in vec then bias': then bias: its nest has no single line 'stage T in vec from mm'");
  EXPECT_EQ(said(kernel, changed(0, 4, "stage W in vec then bias")),
            "'stage W in vec then bias': then: mm only reads W");
  EXPECT_EQ(said(kernel, changed(1, 6, "stage Y in vec then mm")),
            "'stage Y in vec then mm': then mm: it comes before");
  Nests cut = in_registers(4, 32);
  cut[0].insert(cut[0].begin(), "for k by 4");
  EXPECT_EQ(said(kernel, cut),
            "'stage T in vec then bias': then bias: T is not complete here: 4 of 9 points of k are added up");
  Nests sums = in_registers(4, 32);
  const Kernel summing =
      linear(12, 64, 9, "  - {name: sums, compute: \"R[a] += Z[a,b]\"}\n", "  R: {shape: [M], dtype: f32}\n");
  sums[2][6] = "stage Z in vec then sums";
  sums.push_back({"for a by 1", "for b by 1", "do sums with scalar"});
  EXPECT_EQ(said(summing, sums),
            "'stage Z in vec then sums': then sums: its nest has no single line 'stage Z in vec from scale'");
  Nests between = in_registers(4, 32);
  between[0][2] = "stage T in vec then again";
  between[1][2] = "stage T in vec";
  between.push_back({"for a by 4", "for b by 32", "stage T in vec from mm", "for b by 16 unroll", "for a by 1 unroll",
                     "stage Y in vec", "stage V in vec", "do again with mul_f32(j=b)"});
  EXPECT_EQ(said(linear(12, 64, 9, "  - {name: again, compute: \"V[a,b] = T[a,b] * Y[a,b]\"}\n",
                        "  V: {shape: [M, N], dtype: f32}\n"),
                 between),
            "'stage T in vec then again': then again: it reads Y, which bias writes after mm");
}

/// Rows of B, their sums C, and `last`, which goes on with them; `other` stands between and belongs to no chain.
Kernel rows(const std::string& last) {
  const std::string tensors =
      last[0] == 'Z' ? "  Z: {shape: [I], inout: true}\n" : "  Z: {shape: [I]}\n  D: {shape: [I]}\n";
  const auto kernel = parse_kernel_yaml(
      "kernel: rows\ndims: {I: 12, K: 9}\ntensors:\n  X: {shape: [I, K]}\n"
      "  B: {shape: [I, K]}\n  E: {shape: [I]}\n  C: {shape: [I]}\n" +
          tensors +
          "compute:\n"
          "  - {name: twice, compute: \"B[i,k] = X[i,k] * 2 + Z[i]\"}\n"
          "  - {name: other, compute: \"E[i] = Z[i] + 1\"}\n"
          "  - {name: sums, compute: \"C[i] += B[i,k]\"}\n"
          "  - {name: last, compute: \"" +
          last + "\"}\n",
      "rows.yaml");
  EXPECT_TRUE(kernel) << render(kernel.diagnostics());
  return *kernel;
}

TEST(TileFusion, AChainReadsAndOverwritesOnlyItsOwnTiles) {
  const Nests nests = {{"for i by 4", "stage B in ram then sums", "for i by 1", "for k by 1", "do twice with scalar"},
                       {"for i by 1", "do other with scalar"},
                       {"for i by 4", "stage B in ram from twice", "stage C in ram then last", "for i by 1",
                        "for k by 1", "do sums with scalar"},
                       {"for i by 4", "stage C in ram from sums", "for i by 1", "do last with scalar"}};
  const auto said = [&](const std::string& last) {
    const auto program = lower(schedule_of(nests), rows(last), machine("x86_avx512"));
    return program ? "lowered" : program.diagnostics()[0].message;
  };
  for (const char* last : {"D[i] = C[i] * B[i,0]", "D[i] = C[i] + B[i,8 - 2]", "D[i] = C[i] + X[11 - i,0]"})
    expect_schedule_right(rows(last), machine("x86_avx512"), schedule_of(nests));
  const std::string line = "'stage C in ram then last': then last: ";
  EXPECT_EQ(said("D[i] = C[i] + B[11 - i,0]"),
            line + "it reads elements of B that belong to other tiles than that of C");
  EXPECT_EQ(said("D[i] = C[i] + E[i]"), line + "it is computed with the tiles of twice, before other, which writes E");
  for (const char* last : {"Z[i] = C[i] + 1", "Z[i] = C[i] + B[i,0]"})
    EXPECT_EQ(said(last), line + "twice accesses Z, which it overwrites tile by tile");
  Nests whole = nests;  // one tile holds all of B
  for (const std::size_t nest : {0, 2, 3}) whole[nest][0] = "for i by 12";
  expect_schedule_right(rows("D[i] = C[i] + B[11 - i,0]"), machine("x86_avx512"), schedule_of(whole));
}

/// A dim that a later statement of the chain begins is tiled as well: B and D have tiles of j, which A has not.
TEST(TileFusion, AChainReadsItsOwnTilesOfDimsThatItBeginsLater) {
  const auto wide = [](const std::string& last) {
    return *parse_kernel_yaml(
        "kernel: wide\ndims: {I: 8, J: 8}\ntensors:\n  X: {shape: [I]}\n  Y: {shape: [I, J]}\n  A: {shape: [I]}\n"
        "  B: {shape: [I, J]}\n  D: {shape: [I, J]}\n  C: {shape: [I, J]}\ncompute:\n"
        "  - {name: aa, compute: \"A[i] = X[i] * 2\"}\n  - {name: bb, compute: \"B[i,j] = A[i] + Y[i,j]\"}\n"
        "  - {name: dd, compute: \"D[i,j] = B[i,j] * 3\"}\n  - {name: cc, compute: \"C[i,j] = D[i,j] + " +
            last + "\"}\n",
        "wide.yaml");
  };
  const Nests nests = {
      {"for i by 4", "stage A in ram then bb", "for i by 1", "do aa with scalar"},
      {"for i by 4", "stage A in ram from aa", "for j by 4", "stage B in ram then dd", "for i by 1", "for j by 1",
       "do bb with scalar"},
      {"for i by 4", "for j by 4", "stage B in ram from bb", "stage D in ram then cc", "for i by 1", "for j by 1",
       "do dd with scalar"},
      {"for i by 4", "for j by 4", "stage D in ram from dd", "for i by 1", "for j by 1", "do cc with scalar"}};
  for (const char* last : {"B[i,j]", "A[i]"})
    expect_schedule_right(wide(last), machine("x86_avx512"), schedule_of(nests));
  for (const char* last : {"B[i,7 - j]", "B[i,0]", "B[j,i]"})
    EXPECT_FALSE(lower(schedule_of(nests), wide(last), machine("x86_avx512"))) << last;
}

/// A product of scalars leaves its value in one lane; a consumer that wants it in all of them needs a load that
/// spreads.
TEST(TileFusion, AScalarInARegisterIsNotSpread) {
  const auto scaled = [](int i) {
    return *parse_kernel_yaml("kernel: scaled\ndims: {I: " + std::to_string(i) +
                                  "}\ntensors:\n  T: {shape: []}\n  S: {shape: []}\n  M: {shape: []}\n"
                                  "  X: {shape: [I]}\n  Y: {shape: [I]}\ncompute:\n"
                                  "  - {name: mean, compute: \"M[] = T[] * S[]\"}\n"
                                  "  - {name: scale, compute: \"Y[i] = X[i] * M[]\"}\n",
                              "scaled.yaml");
  };
  Nests nests = {{"stage M in vec then scale", "stage T in vec", "stage S in vec", "do mean with mul_f32()"},
                 {"stage M in vec from mean", "stage X in vec", "stage Y in vec", "do scale with mul_f32(j=i)"}};
  expect_schedule_right(scaled(1), machine("x86_avx512"), schedule_of(nests));
  const auto program = lower(schedule_of(nests), scaled(4), machine("x86_avx512"));
  ASSERT_FALSE(program);
  EXPECT_NE(program.diagnostics()[0].message.find("holds each value once along j; mul_f32 reads it at 4 points of i"),
            std::string::npos)
      << render(program.diagnostics());
  nests[0][0] = "stage M in vec";
  nests[1][0] = "stage M in vec";
  expect_schedule_right(scaled(4), machine("x86_avx512"), schedule_of(nests));
}

TEST(TileFusion, ConsumersOfATileRunInTheOrderOfTheirNames) {
  const auto kernel = parse_kernel_yaml(
      "kernel: two\ndims: {I: 12}\ntensors:\n  X: {shape: [I]}\n  B: {shape: [I]}\n  C: {shape: [I]}\n"
      "  E: {shape: [I]}\n  D: {shape: [I]}\ncompute:\n  - {name: twice, compute: \"B[i] = X[i] * 2\"}\n"
      "  - {name: plus, compute: \"C[i] = B[i] + 1\"}\n  - {name: minus, compute: \"E[i] = B[i] - 1\"}\n"
      "  - {name: last, compute: \"D[i] = E[i] + C[i]\"}\n",
      "two.yaml");
  ASSERT_TRUE(kernel) << render(kernel.diagnostics());
  Nests nests = {
      {"for i by 4", "stage B in ram then plus.minus", "for i by 1", "do twice with scalar"},
      {"for i by 4", "stage B in ram from twice", "for i by 1", "do plus with scalar"},
      {"for i by 4", "stage B in ram from twice", "stage E in ram then last", "for i by 1", "do minus with scalar"},
      {"for i by 4", "stage E in ram from minus", "for i by 1", "do last with scalar"}};
  expect_schedule_right(*kernel, machine("x86_avx512"), schedule_of(nests));
  nests[0][1] = "stage B in ram then minus.plus";
  const auto program = lower(schedule_of(nests), *kernel, machine("x86_avx512"));
  ASSERT_FALSE(program);
  EXPECT_EQ(program.diagnostics()[0].message,
            "'stage E in ram then last': then last: it reads C, which plus writes later in the tile");
}

/// 28 sums leave too few registers for the operands of a long body: the search fuses a smaller tile of sums.
TEST(TileFusion, TheSearchShrinksTheTileForAConsumerWithManyOperands) {
  const HardwareModel model = machine("x86_avx512");
  const auto kernel = parse_kernel_yaml(
      "kernel: hard_swish\ndims: {I: 160, J: 192, K: 192}\ntensors:\n  A: {shape: [I, K]}\n"
      "  W: {shape: [K, J], constant: true}\n  B: {shape: [J], constant: true}\n  S: {shape: [], constant: true}\n"
      "  V: {shape: [], constant: true}\n  T: {shape: [I, J]}\n  X: {shape: [I, J]}\n  Y: {shape: [I, J]}\ncompute:\n"
      "  - {name: mm, compute: \"T[i,j] += A[i,k] * W[k,j]\"}\n"
      "  - {name: bias, compute: \"X[i,j] = T[i,j] + B[j]\"}\n"
      "  - {name: act, compute: \"Y[i,j] = X[i,j] * min(max(X[i,j] + 3.0, 0.0), 6.0) * S[] + V[]\"}\n",
      "hard_swish.yaml");
  ASSERT_TRUE(kernel) << render(kernel.diagnostics());
  const auto mapped = enumerate_mappings(*kernel, model, {});
  ASSERT_TRUE(mapped);
  const auto found = schedule(*kernel, *mapped, model, {});
  ASSERT_TRUE(found) << render(found.diagnostics());
  const std::string text = print(found->schedule);
  EXPECT_NE(text.find("stage T in vec from mm"), std::string::npos) << text;
  EXPECT_NE(text.find("stage X in vec from bias"), std::string::npos) << text;
}

/// The search fuses by itself, on machines with vectors and with scalar code, and the result is right.
TEST(TileFusion, TheSearchHandsTilesOn) {
  const Kernel kernel = linear(61, 37, 7, "  - {name: cut, compute: \"V[a,b] = max(Z[a,b], 0)\"}\n",
                               "  V: {shape: [M, N], dtype: f32}\n");
  for (const char* target : {"x86_avx512", "x86_avx2", "arm_neon", "arm_sve", "riscv_v", "scalar_c", "systolic16"}) {
    const HardwareModel model = machine(target);
    const auto mapped = enumerate_mappings(kernel, model, MapOptions{});
    ScheduleOptions options;
    options.max_evaluations = 200;
    const auto found = schedule(kernel, *mapped, model, options);
    if (!found) continue;  // this machine has no f32
    if (std::string(target) == "x86_avx512") {
      EXPECT_NE(print(found->schedule).find("then bias"), std::string::npos) << print(found->schedule);
    }
    expect_schedule_right(kernel, model, found->schedule);
    options.fuse = false;
    const auto apart = schedule(kernel, *mapped, model, options);
    ASSERT_TRUE(apart);
    EXPECT_EQ(print(apart->schedule).find("then "), std::string::npos);
    EXPECT_LE(found->cost.cycles, apart->cost.cycles * 1.001) << target;
  }
}

}  // namespace
}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
// Products of every type that the machines multiply, however their factors lie in memory: the search finds schedules
// for tensor cores, whose kernels compute what the interpreter does, bit for bit, however copies arrive.

#include <regex>

#include "tests/cuda/support.h"
#include "tests/searched.h"

namespace isamap {
namespace {

struct Size {
  std::int64_t m, n, k;
};

/// C[i,j] += A * B, with k or i running fastest in A, k or j in B.
Kernel product_of(const std::string& a, const std::string& b, const std::string& sum, const Size& size,
                  bool k_fast_in_a, bool k_fast_in_b) {
  const std::string text =
      "kernel: product\ndims: {M: " + std::to_string(size.m) + ", N: " + std::to_string(size.n) +
      ", K: " + std::to_string(size.k) + "}\ntensors:\n  A: {shape: " + (k_fast_in_a ? "[M, K]" : "[K, M]") +
      ", dtype: " + a + "}\n  B: {shape: " + (k_fast_in_b ? "[N, K]" : "[K, N]") + ", dtype: " + b +
      "}\n  C: {shape: [M, N], dtype: " + sum + "}\ncompute:\n  - C[i,j] += " + sum +
      (k_fast_in_a ? "(A[i,k]) * " : "(A[k,i]) * ") + sum + (k_fast_in_b ? "(B[j,k])" : "(B[k,j])") + "\n";
  return kernel_from(text);
}

/// Right, however copies are delivered.
void expect_right(const Program& made, const HardwareModel& model, const std::vector<std::string>& hows) {
  expect_kernel(made, model);
  for (const std::string& how : hows) {
    SCOPED_TRACE(how);
    const Delivered delivered(how);
    expect_same(made, model, 11);
  }
}

/// What the search makes of it is a product of this instruction, and right.
void expect_products(const Kernel& kernel, const HardwareModel& model, const std::string& instruction,
                     std::int64_t evaluations, const std::vector<std::string>& hows) {
  const Program made = searched(kernel, model, evaluations);
  EXPECT_TRUE(std::regex_search(made.schedule_text, std::regex("do s0 with " + instruction + "\\(")))
      << made.schedule_text;
  expect_right(made, model, hows);
}

/// In turn: one of two ways in which B may lie, and every fourth type of a machine, others on the next one. All of
/// them take longer.
enum class Ways { in_turn, all };

void expect_columns_of_a(Ways ways) {
  struct Type {
    const char *type, *sum, *instruction;
  };
  bool k_fast_in_b = false;
  Every every(ways == Ways::all ? 1 : 4);
  for (const char* name : {"nvidia_sm80", "nvidia_sm90a"}) {
    const auto model = machine(name);
    for (const Type& t : {Type{"bf16", "f32", "w?g?mma_bf16\\w*"},
                          {"f16", "f32", "w?g?mma_f16\\w*"},
                          {"tf32", "f32", "mma_tf32\\w*"},
                          {"s8", "s32", "mma_s8\\w*"},
                          {"f64", "f64", "mma_f64\\w*"}}) {
      if (every.skips()) continue;
      for (int way = 0; way < (ways == Ways::all ? 2 : 1); ++way) {
        k_fast_in_b = !k_fast_in_b;
        SCOPED_TRACE(std::string(name) + " " + t.type + (k_fast_in_b ? ", rows of B" : ", columns of B"));
        expect_products(product_of(t.type, t.type, t.sum, {40, 24, 72}, false, k_fast_in_b), model, t.instruction, 100,
                        {"late", "random:1"});
      }
    }
  }
}
TEST(Products, ColumnsOfAForEveryType) { expect_columns_of_a(Ways::in_turn); }
TEST(ProductsHeavy, ColumnsOfAForEveryTypeAndWayOfB) { expect_columns_of_a(Ways::all); }

/// Floats of 8 bits: in turn those of two formats, with rows and with columns of A.
void expect_floats_of_eight_bits(Ways ways) {
  const auto model = machine("nvidia_sm90a");
  int number = 0;
  for (const auto& [a, b] : {std::pair("e4m3", "e4m3"), {"e4m3", "e5m2"}, {"e5m2", "e5m2"}, {"e5m2", "e4m3"}}) {
    for (const bool k_fast_in_a : {false, true})
      for (const bool k_fast_in_b : {false, true}) {
        if (ways == Ways::in_turn && (number % 2 == 0 || (k_fast_in_a ? 2 : 0) + (k_fast_in_b ? 1 : 0) != number))
          continue;
        SCOPED_TRACE(std::string(a) + " " + b + (k_fast_in_a ? ", rows of A" : ", columns of A") +
                     (k_fast_in_b ? ", rows of B" : ", columns of B"));
        const std::string name = std::string(a) == b ? a : std::string(a) + "_" + b;
        expect_products(product_of(a, b, "f32", {40, 24, 72}, k_fast_in_a, k_fast_in_b), model,
                        "w?g?mma_" + name + "\\w*", 100, {"late", "random:1"});
      }
    ++number;
  }
}
TEST(Products, FloatsOfEightBits) { expect_floats_of_eight_bits(Ways::in_turn); }
TEST(ProductsHeavy, FloatsOfEightBitsInEveryPlace) { expect_floats_of_eight_bits(Ways::all); }

/// Products of warpgroups, which take 8-bit types with k fastest only.
void expect_wide(const std::string& type) {
  const HardwareModel model = machine("nvidia_sm90a");
  const Kernel kernel = product_of(type, type, "f32", {72, 24, 136}, true, true);
  expect_right(searched(kernel, model, 0, "wgmma_" + type + "_sw128"), model, {"late", "eager", "random:1"});
}
TEST(Products, WideOnesOfFloatsOfEightBits) { expect_wide("e4m3"); }
TEST(ProductsHeavy, WideOnesOfTheOtherFloatsOfEightBits) { expect_wide("e5m2"); }

}  // namespace
}  // namespace isamap

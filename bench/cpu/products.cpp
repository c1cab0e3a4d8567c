// SPDX-License-Identifier: Apache-2.0
// Matrix products: plain, with constant weights, transposed, in larger arrays, batched, with few columns.

#include <fmt/format.h>

#include "bench/cpu/cases.h"

namespace isamap::bench {
namespace {

/// The tensor of a matrix; batches are its first axis.
std::string tensor(const CpuCase& c, const MatrixPlace& p, const std::string& name, const std::string& type) {
  const std::string batch = c.batch > 1 ? fmt::format("{}, ", c.batch) : "";
  return fmt::format("  {}: {{shape: [{}{}, {}], dtype: {}}}\n", name, batch, p.rows, p.columns, type);
}

std::string access(const CpuCase& c, const MatrixPlace& p, const std::string& name, char row, char column) {
  if (p.transposed) std::swap(row, column);
  return fmt::format("{}[{}{},{}]", name, c.batch > 1 ? "b," : "", row, column);
}

void write_kernel(CpuCase& c) {
  const bool whole = c.types == "u8s8";
  const std::string left = whole ? "u8" : c.types, right = whole ? "s8" : c.types, sum = whole ? "s32" : "f32";
  const MatrixPlace a = place_a(c), b = place_b(c), out = place_c(c);
  c.kernel =
      fmt::format("kernel: gemm\ndims: {{}}\ntensors:\n{}{}{}compute:\n  - {} += {} * {}\n", tensor(c, a, "A", left),
                  tensor(c, b, "B", c.packed ? right + ", constant: true" : right), tensor(c, out, "C", sum),
                  access(c, out, "C", 'i', 'j'), access(c, a, "A", 'i', 'k'), access(c, b, "B", 'k', 'j'));
}

}  // namespace

MatrixPlace place_a(const CpuCase& c) {
  const std::int64_t rows = c.transposed_a ? c.k : c.m, columns = c.transposed_a ? c.m : c.k;
  return {rows, columns, columns + c.gap, c.transposed_a};
}

MatrixPlace place_b(const CpuCase& c) {
  const std::int64_t rows = c.transposed_b ? c.n : c.k, columns = c.transposed_b ? c.k : c.n;
  return {rows, columns, columns + c.gap, c.transposed_b};
}

MatrixPlace place_c(const CpuCase& c) { return {c.m, c.n, c.n + c.gap, false}; }

CpuCase product(const std::string& types, bool packed, std::int64_t m, std::int64_t n, std::int64_t k) {
  CpuCase made;
  made.family = fmt::format("gemm {}{}", types, packed ? " packed" : "");
  made.name = fmt::format("{}x{}x{}", m, n, k);
  made.types = types;
  made.packed = packed;
  made.operations = 2e0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  made.m = m, made.n = n, made.k = k;
  write_kernel(made);
  return made;
}

/// Sizes of DeepBench (kernels; its M is our n, its N our m), of attention (BERT base, arXiv 1810.04805: 12 heads of
/// 64) and odd ones.
void add_product_families(std::vector<CpuCase>& cases) {
  const std::int64_t sizes[][3] = {{16, 3072, 1024}, {64, 2048, 2048}, {700, 1024, 512},
                                   {128, 128, 128},  {1021, 699, 511}, {1500, 35, 2560}};
  const auto add = [&](CpuCase made, const std::string& family) {
    made.family = family;
    write_kernel(made);
    cases.push_back(made);
  };
  for (const std::string types : {"f32", "bf16", "u8s8"})
    for (const auto& [ta, tb] : {std::pair(false, false), {false, true}, {true, false}, {true, true}}) {
      if (types == "f32" && !ta && !tb) continue;  // "gemm f32" itself
      for (const auto& s : sizes) {
        CpuCase made = product(types, false, s[0], s[1], s[2]);
        made.transposed_a = ta, made.transposed_b = tb;
        add(made, fmt::format("gemm {} {}{}", types, ta ? "T" : "N", tb ? "T" : "N"));
      }
    }
  for (const auto& s : sizes) {
    CpuCase made = product("f32", false, s[0], s[1], s[2]);
    made.gap = 24;
    add(made, "gemm f32 rows apart");
  }
  const std::int64_t batches[][4] = {{12, 128, 128, 64}, {12, 128, 64, 128}, {12, 384, 384, 64},
                                     {64, 32, 32, 32},   {96, 49, 49, 32},   {16, 256, 256, 256}};
  for (const auto& s : batches) {
    CpuCase made = product("f32", false, s[1], s[2], s[3]);
    made.batch = s[0];
    made.operations *= static_cast<double>(s[0]);
    made.name = fmt::format("{} of {}", s[0], made.name);
    add(made, "gemm f32 batched");
  }
  for (const auto& s : {std::pair(1024, 1024), {3072, 1024}, {4096, 4096}, {1001, 2048}, {256, 8192}}) {
    add(product("f32", false, 1, s.first, s.second), "gemv f32 row by matrix");
    add(product("f32", false, s.first, 1, s.second), "gemv f32 matrix by column");
  }
  for (const std::int64_t n : {2, 4, 8, 16, 32, 64}) add(product("f32", false, 2048, n, 2048), "gemm f32 few columns");
}

}  // namespace isamap::bench

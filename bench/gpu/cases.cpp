// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu/cases.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace isamap::bench {
namespace {

GpuKernel product(const std::string& type, const GpuProduct& p, int schedules) {
  const std::string sum = type == "f64" ? "f64" : type == "s8" || type == "u8" ? "s32" : "f32";
  const std::string name = fmt::format("{}_{}x{}x{}{}", type, p.m, p.n, p.k, p.transposed ? "t" : "");
  const auto wide = [&](const std::string& read) { return type == sum ? read : sum + "(" + read + ")"; };
  return {
      name, "product_" + type,
      fmt::format("kernel: k{}\ntensors:\n  A: {{shape: [{}, {}], dtype: {}}}\n  B: {{shape: [{}, {}], dtype: {}}}\n"
                  "  C: {{shape: [{}, {}], dtype: {}}}\ncompute:\n  - C[i,j] += {} * {}\n",
                  name, p.m, p.k, type, p.transposed ? p.n : p.k, p.transposed ? p.k : p.n, type, p.m, p.n, sum,
                  wide("A[i,k]"), wide(p.transposed ? "B[j,k]" : "B[k,j]")),
      p, schedules};
}

std::vector<GpuKernel> memory_bound(std::int64_t rows, std::int64_t columns) {
  const std::string shape = fmt::format("[{}, {}]", rows, columns), row = fmt::format("[{}]", rows);
  const auto kernel = [&](const std::string& name, const std::string& tensors, const std::string& compute) {
    return GpuKernel{fmt::format("{}_{}x{}", name, rows, columns),
                     name,
                     "kernel: k" + name + "\ntensors:\n" + tensors + "compute:\n" + compute,
                     {},
                     1};
  };
  const auto tensor = [](const std::string& name, const std::string& of, const std::string& type) {
    return fmt::format("  {}: {{shape: {}, dtype: {}}}\n", name, of, type);
  };
  std::vector<GpuKernel> all{
      // the copy is the bandwidth reference
      kernel("copy", tensor("X", shape, "f32") + tensor("Y", shape, "f32"), "  - Y[i,j] = X[i,j]\n")};
  for (const std::string type : {"f32", "bf16"})
    all.push_back(kernel("elementwise_" + type, tensor("X", shape, type) + tensor("Y", shape, type),
                         fmt::format("  - Y[i,j] = {}(f32(X[i,j]) * f32(X[i,j]) + f32(X[i,j]))\n", type)));
  all.push_back(kernel("gelu", tensor("X", shape, "f32") + tensor("Y", shape, "f32"),
                       "  - Y[i,j] = 0.5 * X[i,j] * (1.0 + erf(0.7071067811865476 * X[i,j]))\n"));
  all.push_back(kernel("row_sum", tensor("X", shape, "f32") + tensor("Y", row, "f32"), "  - Y[i] += X[i,j]\n"));
  all.push_back(kernel("row_maximum", tensor("X", shape, "f32") + tensor("Y", row, "f32"), "  - Y[i] max= X[i,j]\n"));
  all.push_back(kernel("softmax",
                       tensor("X", shape, "f32") + tensor("H", row, "f32") + tensor("E", shape, "f32") +
                           tensor("L", row, "f32") + tensor("Y", shape, "f32"),
                       "  - {name: maximum, compute: \"H[i] max= X[i,j]\"}\n"
                       "  - {name: exponent, compute: \"E[i,j] = exp(X[i,j] - H[i])\"}\n"
                       "  - {name: total, compute: \"L[i] += E[i,j]\"}\n"
                       "  - {name: normalise, compute: \"Y[i,j] = E[i,j] / L[i]\"}\n"));
  const std::string column = fmt::format("[{}]", columns),
                    share = fmt::format("{:.17g}", 1.0 / static_cast<double>(columns));
  all.push_back(kernel("layer_norm",
                       tensor("X", shape, "f32") + tensor("G", column, "f32") + tensor("B", column, "f32") +
                           tensor("S", row, "f32") + tensor("D", shape, "f32") + tensor("V", row, "f32") +
                           tensor("Y", shape, "f32"),
                       "  - {name: total, compute: \"S[i] += X[i,j]\"}\n"
                       "  - {name: centre, compute: \"D[i,j] = X[i,j] - " +
                           share +
                           " * S[i]\"}\n"
                           "  - {name: variance, compute: \"V[i] += D[i,j] * D[i,j]\"}\n"
                           "  - {name: scale, compute: \"Y[i,j] = D[i,j] * rsqrt(" +
                           share + " * V[i] + 0.00001) * G[j] + B[j]\"}\n"));
  return all;
}

/// Reductions other than a plain product: a convolution, a batch, an accumulating product, a transposed first factor.
std::vector<GpuKernel> other_sums(std::int64_t size, std::int64_t images, std::int64_t channels, std::int64_t batch) {
  const auto shape = [](const std::vector<std::int64_t>& extents) {
    return fmt::format("[{}]", fmt::join(extents, ", "));
  };
  const auto tensor = [&](const std::string& name, const std::vector<std::int64_t>& extents, const std::string& type) {
    return fmt::format("  {}: {{shape: {}, dtype: {}}}\n", name, shape(extents), type);
  };
  const auto kernel = [&](const std::string& name, const std::string& tensors, const std::string& compute) {
    return GpuKernel{fmt::format("{}_{}", name, size),
                     "sum_" + name,
                     "kernel: k" + name + "\ntensors:\n" + tensors + "compute:\n" + compute,
                     {},
                     1};
  };
  const std::int64_t side = images * 7;
  return {
      kernel("convolution",
             tensor("I", {images, side + 2, side + 2, channels}, "bf16") +
                 tensor("W", {3, 3, channels, channels}, "bf16") + tensor("O", {images, side, side, channels}, "f32"),
             "  - O[n,p,q,d] += f32(I[n,p+r,q+s,c]) * f32(W[r,s,c,d])\n"),
      kernel("batched",
             tensor("A", {batch, size, size}, "bf16") + tensor("B", {batch, size, size}, "bf16") +
                 tensor("C", {batch, size, size}, "f32"),
             "  - C[b,i,j] += f32(A[b,i,k]) * f32(B[b,j,k])\n"),
      kernel("epilogue",
             tensor("A", {size, size}, "bf16") + tensor("B", {size, size}, "bf16") + tensor("D", {size}, "f32") +
                 tensor("T", {size, size}, "f32") + tensor("Y", {size, size}, "bf16"),
             "  - T[i,j] += f32(A[i,k]) * f32(B[j,k])\n  - Y[i,j] = bf16(max(T[i,j] + D[j], 0.0))\n"),
      kernel("transposed_a",
             tensor("A", {size, size}, "bf16") + tensor("B", {size, size}, "bf16") + tensor("C", {size, size}, "f32"),
             "  - C[i,j] += f32(A[k,i]) * f32(B[k,j])\n")};
}

}  // namespace

std::vector<GpuKernel> gpu_kernels(bool small) {
  if (small) {
    std::vector<GpuKernel> all{product("bf16", {32, 24, 48, true}, 3), product("s8", {17, 9, 40, true}, 1),
                               product("u8", {16, 16, 32, true}, 1), product("e4m3", {16, 16, 32, true}, 1)};
    for (GpuKernel& kernel : other_sums(16, 1, 16, 2)) all.push_back(std::move(kernel));
    for (GpuKernel& kernel : memory_bound(12, 40))
      if (kernel.family == "softmax" || kernel.family == "elementwise_bf16" || kernel.family == "copy")
        all.push_back(std::move(kernel));
    return all;
  }
  std::vector<GpuKernel> all;
  constexpr int several = 5, some = 3;
  for (const char* type : {"bf16", "f16", "tf32", "s8", "u8", "e4m3", "f64"})
    for (const std::int64_t size : {1024, 4096}) all.push_back(product(type, {size, size, size, true}, several));
  all.push_back(product("bf16", {8192, 8192, 8192, true}, several));
  all.push_back(product("bf16", {4096, 4096, 4096, false}, some));
  // DeepBench, gemm_problems.h: training and inference; few columns, odd sizes, a long sum.
  for (const GpuProduct& p : {GpuProduct{1760, 16, 1760, false},
                              {1760, 128, 1760, false},
                              {2560, 64, 2560, false},
                              {4096, 16, 4096, false},
                              {4096, 128, 4096, false},
                              {7680, 128, 2560, false},
                              {35, 8457, 2048, false},
                              {35, 700, 2048, false},
                              {5124, 700, 2048, false},
                              {1024, 700, 512, false},
                              {512, 8, 500000, false},
                              {7680, 4, 2560, false}})
    all.push_back(product("bf16", p, some));
  for (GpuKernel& kernel : other_sums(1024, 8, 64, 4)) all.push_back(std::move(kernel));
  for (GpuKernel& kernel : memory_bound(8192, 4096)) all.push_back(std::move(kernel));
  all.push_back(memory_bound(1, 32).front());  // takes what a launch takes
  all.back().family = "launch";
  return all;
}

std::string in_float64(const std::string& yaml) {
  std::string text = yaml;
  for (const std::string type : {"bf16", "tf32", "f32", "f16", "s32", "s8", "u8", "e4m3", "e5m2"})
    for (const std::string& form : {"dtype: " + type + "}", type + "("})
      for (std::size_t at = text.find(form); at != std::string::npos; at = text.find(form, at + 1)) {
        const std::size_t begin = at + form.find(type);
        const bool word =
            begin == 0 || (std::isalnum(static_cast<unsigned char>(text[begin - 1])) == 0 && text[begin - 1] != '_');
        if (word) text.replace(begin, type.size(), "f64");
      }
  return text;
}

}  // namespace isamap::bench

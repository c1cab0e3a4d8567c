// SPDX-License-Identifier: Apache-2.0
#include "bench/cpu/xsmm.h"

#include <fmt/format.h>

#include "bench/cpu/libraries.h"

namespace isamap::bench {
namespace {

using Kernel3 = void (*)(const float*, const float*, float*);
using Dispatch = Kernel3 (*)(int, int, int, const int*, const int*, const int*, const float*, const float*, const int*,
                             const int*);

/// LIBXSMM generates code for one small product; larger ones need the caller's loops.
constexpr double largest = 2.0 * 256 * 256 * 4096;

void* library() {
  static void* const found = open_library({"libbench_xsmm.so", "libxsmm.so.1", "libxsmm.so"});
  return found;
}

}  // namespace

void add_xsmm(const CpuCase& c, const std::function<Arrays()>& arrays, std::vector<Peer>& found) {
  const auto dispatch = symbol<Dispatch>(library(), "libxsmm_smmdispatch");
  if (dispatch == nullptr || c.kind != CpuCase::Kind::gemm || c.types != "f32") return;
  if (c.transposed_a || c.transposed_b || c.operations > largest) return;
  // Column-major: computes C^T = B^T A^T.
  const int m = static_cast<int>(c.n), n = static_cast<int>(c.m), k = static_cast<int>(c.k);
  const int lda = static_cast<int>(place_b(c).step), ldb = static_cast<int>(place_a(c).step),
            ldc = static_cast<int>(place_c(c).step);
  const float alpha = 1, beta = 0;
  const Kernel3 run = dispatch(m, n, k, &lda, &ldb, &ldc, &alpha, &beta, nullptr, nullptr);
  if (run == nullptr) return;
  const Arrays at = arrays();
  const auto *a = static_cast<const float*>(at.inputs[1]), *b = static_cast<const float*>(at.inputs[0]);
  auto* out = static_cast<float*>(at.output);
  const std::int64_t batch = c.batch, step_a = c.k * c.n, step_b = c.m * c.k, step_c = c.m * c.n;
  found.push_back({"LIBXSMM",
                   [=] {
                     for (std::int64_t i = 0; i < batch; ++i) run(a + i * step_a, b + i * step_b, out + i * step_c);
                   },
                   out});
}

std::string xsmm_version() {
  if (library() == nullptr) return "no LIBXSMM";
  const auto arch = symbol<const char* (*)()>(library(), "libxsmm_get_target_arch");
  return fmt::format("LIBXSMM {}", arch == nullptr ? "" : arch());
}

}  // namespace isamap::bench

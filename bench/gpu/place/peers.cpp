// SPDX-License-Identifier: Apache-2.0
// cuBLASLt. The only file that needs the CUDA toolkit's headers; without them it is compiled with BENCH_NO_PEERS.

#include "peers.h"

#include <vector>

#if !defined(BENCH_NO_PEERS)
#include <cublasLt.h>
#include <cuda_runtime_api.h>
#endif

namespace bench {

#if defined(BENCH_NO_PEERS)
int peer_ways(const PeerProduct&, std::string& why) {
  why = "cuBLASLt is not installed";
  return 0;
}
int peer_run(int, const void*, const void*, void*, void*) { return 1; }
#else
namespace {

struct Types {
  cudaDataType_t in, out;
  cublasComputeType_t compute;
  cudaDataType_t scale;
};

bool types_of(const std::string& type, Types& t) {
  if (type == "bf16")
    t = {CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F};
  else if (type == "f16")
    t = {CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F};
  else if (type == "tf32")
    t = {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F};
  else if (type == "f32")
    t = {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F};
  else if (type == "s8")
    t = {CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, CUDA_R_32I};
  else if (type == "f64")
    t = {CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F};
  else
    return false;
  return true;
}

constexpr int most_ways = 64;
constexpr std::size_t workspace_bytes = std::size_t{64} << 20;
cublasLtHandle_t handle = nullptr;
cublasLtMatmulDesc_t operation = nullptr;
cublasLtMatrixLayout_t first = nullptr, second = nullptr, result = nullptr;
std::vector<cublasLtMatmulHeuristicResult_t> ways;
void* workspace = nullptr;
bool integers = false, doubles = false;

}  // namespace

// cuBLASLt is column-major: C^T = B^T A^T, and a row-major matrix is its transpose there.
int peer_ways(const PeerProduct& p, std::string& why) {
  Types t;
  if (!types_of(p.type, t)) return why = "cuBLASLt has no products of " + p.type, 0;
  integers = p.type == "s8";
  doubles = p.type == "f64";
  if (cublasLtCreate(&handle) != CUBLAS_STATUS_SUCCESS) return why = "cuBLASLt does not start", 0;
  if (cudaMalloc(&workspace, workspace_bytes) != cudaSuccess) return why = "no memory for cuBLASLt", 0;
  const cublasOperation_t turned = CUBLAS_OP_T;
  bool made = cublasLtMatmulDescCreate(&operation, t.compute, t.scale) == CUBLAS_STATUS_SUCCESS;
  if (p.transposed)
    made = made && cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSA, &turned, sizeof turned) ==
                       CUBLAS_STATUS_SUCCESS;
  const auto n = static_cast<std::uint64_t>(p.n), m = static_cast<std::uint64_t>(p.m),
             k = static_cast<std::uint64_t>(p.k);
  made = made && (p.transposed ? cublasLtMatrixLayoutCreate(&first, t.in, k, n, p.k)
                               : cublasLtMatrixLayoutCreate(&first, t.in, n, k, p.n)) == CUBLAS_STATUS_SUCCESS;
  made = made && cublasLtMatrixLayoutCreate(&second, t.in, k, m, p.k) == CUBLAS_STATUS_SUCCESS;
  made = made && cublasLtMatrixLayoutCreate(&result, t.out, n, m, p.n) == CUBLAS_STATUS_SUCCESS;
  cublasLtMatmulPreference_t preference = nullptr;
  made = made && cublasLtMatmulPreferenceCreate(&preference) == CUBLAS_STATUS_SUCCESS;
  const std::size_t bytes = workspace_bytes;
  made = made && cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes,
                                                      sizeof bytes) == CUBLAS_STATUS_SUCCESS;
  if (!made) return why = "cuBLASLt takes no such product", 0;
  int count = 0;
  ways.resize(most_ways);
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(handle, operation, first, second, result, result,
                                                               preference, most_ways, ways.data(), &count);
  cublasLtMatmulPreferenceDestroy(preference);
  ways.resize(static_cast<std::size_t>(count));
  if (status != CUBLAS_STATUS_SUCCESS || count == 0) why = "cuBLASLt proposes nothing for this product";
  return count;
}

int peer_run(int way, const void* a, const void* b, void* c, void* stream) {
  static const float one = 1, zero = 0;
  static const double one64 = 1, zero64 = 0;
  static const std::int32_t one32 = 1, zero32 = 0;
  const void* const alpha = doubles    ? static_cast<const void*>(&one64)
                            : integers ? static_cast<const void*>(&one32)
                                       : &one;
  const void* const beta = doubles    ? static_cast<const void*>(&zero64)
                           : integers ? static_cast<const void*>(&zero32)
                                      : &zero;
  return cublasLtMatmul(handle, operation, alpha, b, first, a, second, beta, c, result, c, result,
                        &ways[static_cast<std::size_t>(way)].algo, workspace, workspace_bytes,
                        static_cast<cudaStream_t>(stream));
}
#endif

}  // namespace bench

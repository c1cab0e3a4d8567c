// SPDX-License-Identifier: Apache-2.0
// The names of the language.

#pragma once

#include "backends/cuda/emulation/counters.h"

#define threadIdx emulation::thread_position()
#define blockIdx emulation::block_position()
#define gridDim emulation::grid_size()
#define blockDim emulation::block_size()

inline void __syncthreads() { emulation::block_barrier(); }
inline void __syncwarp() { emulation::warp_barrier(); }
template <class T>
std::uint32_t __cvta_generic_to_shared(const T& at) {
  return emulation::to_shared(at);
}
template <class T>
T atomicAdd(T* at, T value) {
  emulation::added(at);
  const T old = *at;
  *at = static_cast<T>(old + value);
  return old;
}
template <class T>
T atomicAdd(const emulation::GlobalPointer<T>& at, T value,
            const emulation::SourcePlace& here = emulation::SourcePlace::current()) {
  return atomicAdd(emulation::Request(emulation::Access::add, 1, here).of(static_cast<T*>(at), sizeof(T)), value);
}
inline void* __cvta_shared_to_generic(std::uint32_t at) { return emulation::state.block->bytes.data() + at; }

using cudaError_t = int;
constexpr cudaError_t cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2;

// Objects of the driver that describe a tensor to a copy engine.
using cuuint32_t = std::uint32_t;
using cuuint64_t = std::uint64_t;
struct CUtensorMap {
  const void* base = nullptr;
  int bytes = 1, rank = 0, swizzle = 0;
  cuuint64_t sizes[5] = {}, pitches[5] = {};
  cuuint32_t box[5] = {};
};
enum CUtensorMapDataType {
  CU_TENSOR_MAP_DATA_TYPE_UINT8 = 1,
  CU_TENSOR_MAP_DATA_TYPE_UINT16 = 2,
  CU_TENSOR_MAP_DATA_TYPE_UINT32 = 4
};
enum CUtensorMapSwizzle {};
enum {
  CU_TENSOR_MAP_INTERLEAVE_NONE,
  CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
  CUDA_SUCCESS = 0
};
EMULATION_API int cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, int rank, void* base,
                                         const cuuint64_t* sizes, const cuuint64_t* pitches, const cuuint32_t* box,
                                         const cuuint32_t*, int, CUtensorMapSwizzle swizzle, int, int);

using cudaStream_t = void*;
EMULATION_API cudaError_t cudaMallocAsync(void** at, std::size_t bytes, cudaStream_t);
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
EMULATION_API cudaError_t cudaFreeAsync(void* at, cudaStream_t);

// Memory of the device is memory of the host, and a stream does at once what it is given.
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDefault };
inline cudaError_t cudaMalloc(void** at, std::size_t bytes) {
  return cudaMallocAsync(at, bytes, nullptr) == cudaSuccess ? cudaSuccess : cudaErrorMemoryAllocation;
}
inline cudaError_t cudaFree(void* at) { return cudaFreeAsync(at, nullptr); }
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return cudaMemcpyAsync(to, from, bytes, kind, nullptr);
}
inline cudaError_t cudaMemsetAsync(void* at, int value, std::size_t bytes, cudaStream_t) {
  std::memset(at, value, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemset2DAsync(void* at, std::size_t pitch, int value, std::size_t width, std::size_t rows,
                                     cudaStream_t) {
  for (std::size_t row = 0; row < rows; ++row) std::memset(static_cast<char*>(at) + row * pitch, value, width);
  return cudaSuccess;
}
inline cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  *stream = nullptr;
  return cudaSuccess;
}
inline cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }

#if EMULATION_DEFINES
// signature of cuda.h
EMULATION_API int cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, int rank, void* base,
                                         const cuuint64_t* sizes, const cuuint64_t* pitches, const cuuint32_t* box,
                                         const cuuint32_t*, int, CUtensorMapSwizzle swizzle, int, int) {
  *map = {base, type, rank, static_cast<int>(swizzle), {}, {}, {}};
  for (int d = 0; d < rank; ++d) {
    map->sizes[d] = sizes[d];
    map->pitches[d] = d == 0 ? static_cast<cuuint64_t>(type) : pitches[d - 1];
    map->box[d] = box[d];
    if (box[d] == 0 || box[d] > 256 || (d > 0 && pitches[d - 1] % 16 != 0)) return cudaErrorInvalidValue;
  }
  const std::size_t row = box[0] * static_cast<std::size_t>(type), most[] = {~std::size_t{0}, 32, 64, 128};
  if (reinterpret_cast<std::uintptr_t>(base) % 16 != 0 || row % 16 != 0 || row > most[static_cast<int>(swizzle) & 3])
    return cudaErrorInvalidValue;  // as the driver's
  return CUDA_SUCCESS;
}

EMULATION_API cudaError_t cudaMallocAsync(void** at, std::size_t bytes, cudaStream_t) {
  *at = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (*at != nullptr) std::memset(*at, 0xff, bytes);
  return *at == nullptr;
}

EMULATION_API cudaError_t cudaFreeAsync(void* at, cudaStream_t) {
  std::free(at);
  return cudaSuccess;
}
#endif

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reserved identifiers of a printed CUDA file: those of the language and its runtime, and of the file's own prologue.

#include <algorithm>
#include <array>
#include <string_view>

#include "backends/cpp/text/names.h"

namespace isamap {

inline constexpr std::array language_words = std::to_array<std::string_view>({
    // the language: places in the launch, kinds of functions, types of its own
    "threadIdx",
    "blockIdx",
    "blockDim",
    "gridDim",
    "warpSize",
    "dim3",
    "uint3",
    "int2",
    "int3",
    "int4",
    "uint2",
    "uint4",
    "float2",
    "float3",
    "float4",
    "double2",
    "double3",
    "double4",
    "half",
    "half2",
    "clock",
    "clock64",
    "clamp",
    "atomicAdd",
    "atomicMax",
    "atomicMin",
    "memcpy",
    "memset",
    "min",
    "max",
    "assert",
    // the runtime and the driver
    "cudaError_t",
    "cudaStream_t",
    "cudaSuccess",
    "cudaErrorInvalidValue",
    "cudaMallocAsync",
    "cudaFreeAsync",
    "cudaGetLastError",
    "cudaFuncSetAttribute",
    "cudaFuncAttributeMaxDynamicSharedMemorySize",
    "CUtensorMap",
    "CUtensorMapDataType",
    "CUtensorMapSwizzle",
    "CUDA_SUCCESS",
    "cuTensorMapEncodeTiled",
    "cuuint32_t",
    "cuuint64_t",
    // our prologue, and names in the launching function
    "global_pointer",
    "shared_pointer",
    "shared_array",
    "device",
    "e",
});

/// The name of a program's function: `entry_name`, with suffix "_kernel" where that is reserved.
inline std::string own_name(const std::string& program) {
  const std::string name = entry_name(program);
  const bool taken = std::find(language_words.begin(), language_words.end(), name) != language_words.end();
  return taken ? name + "_kernel" : name;
}

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#pragma once
// GPU cases: products of every type with an instruction, large and skinny, and memory-bound kernels.

#include <optional>
#include <string>
#include <vector>

#include "isamap/kernel.h"

namespace isamap::bench {

struct GpuProduct {
  std::int64_t m = 0, n = 0, k = 0;
  bool transposed = false;  ///< B[j,k]
};

struct GpuKernel {
  std::string name, family, yaml;
  std::optional<GpuProduct> product;
  int schedules = 1;  ///< number of schedules measured: the best, and others for rank correlation
};

/// `small`: tiny ones of some kinds, for the emulation.
std::vector<GpuKernel> gpu_kernels(bool small);

/// The same statements in float64: every type is f64.
std::string in_float64(const std::string& yaml);

}  // namespace isamap::bench

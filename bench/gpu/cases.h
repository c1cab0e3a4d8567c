// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is measured on a GPU: products of every type that its machine files have instructions for, large and skinny, and
// kernels that are bound by memory.

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
  int schedules = 1;  ///< how many are measured: the best, and others to compare predictions with
};

/// `small`: tiny ones of some kinds, for a GPU that is emulated.
std::vector<GpuKernel> gpu_kernels(bool small);

/// The same statements in float64: every type is f64.
std::string in_float64(const std::string& yaml);

}  // namespace isamap::bench

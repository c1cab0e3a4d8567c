// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tensors of a case: aligned to cache lines, and private to each candidate so that none finds warm caches of
// another.

#include <cstdint>
#include <memory>
#include <vector>

#include "bench/cpu/cases.h"
#include "bench/cpu/peers.h"
#include "isamap/backend.h"
#include "isamap/interpret.h"
#include "support/allocate.h"

namespace isamap::bench {

class TensorArrays {
 public:
  explicit TensorArrays(std::vector<TensorData> data);
  std::uint8_t* at(TensorId t) { return memory_[t.index()].get(); }
  const TensorData& data(TensorId t);

 private:
  std::vector<TensorData> data_;
  std::vector<ArrayMemory> memory_;
};

/// Largest difference over largest value.
double difference(const TensorData& a, const TensorData& b);

class CaseData {
 public:
  explicit CaseData(const CpuCase& what);
  double bytes() const;                                       ///< bytes that the kernel reads and writes, once
  std::vector<TensorView> views(TensorArrays& arrays) const;  ///< views of the kernel's tensors, which may be subarrays
  Arrays pointers(TensorArrays& arrays) const;
  TensorArrays& more();  ///< must outlive this
  /// Largest difference between the results of the first arrays and of all others that were written; arrays of
  /// unsupported cases are skipped.
  double worst_difference(const std::vector<const void*>& written) const;
  double worst_difference() const;  ///< all are written

 private:
  Kernel kernel_;
  TensorId result_;
  std::vector<TensorData> data_;  ///< of the arrays
  std::vector<std::unique_ptr<TensorArrays>> all_;
};

/// Tolerance between two correct results.
double tolerance(const CpuCase& what);

}  // namespace isamap::bench

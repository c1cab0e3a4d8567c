// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tensors of a case as applications hold them: each begins at a cache line; every candidate has its own, so that
// what one leaves in the caches does not serve the next.

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
  double bytes() const;                                       ///< of what the kernel reads and writes, once
  std::vector<TensorView> views(TensorArrays& arrays) const;  ///< of the kernel's tensors, which may be parts of them
  Arrays pointers(TensorArrays& arrays) const;
  TensorArrays& more();  ///< lives as long as this
  /// Between the results of the first arrays and all others that somebody writes: the largest. A library that does not
  /// know a case has been given arrays too.
  double worst_difference(const std::vector<const void*>& written) const;
  double worst_difference() const;  ///< all are written

 private:
  Kernel kernel_;
  TensorId result_;
  std::vector<TensorData> data_;  ///< of the arrays
  std::vector<std::unique_ptr<TensorArrays>> all_;
};

/// What may be between two right results.
double tolerance(const CpuCase& what);

}  // namespace isamap::bench

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which paths of parts are cheaper in bands of rows, and by how many rows, by the prices of parts on a few rows.
//
// A path is worth a price if a tensor between its parts is large: more than half of the second cache. The rows of a
// band are first as many as let its buffers and the weights fit that half, then half and twice as many where that
// gained. The price of a band is that of its parts on so many rows, each at least as long as the rows that it reads
// from or writes to large tensors take from the cache behind, and the moves of the rows that are kept.

#include "driver/plan_model.h"

namespace isamap {

struct PricedBand {
  std::vector<std::size_t> chains;  ///< ascending
  std::int64_t by = 0;
  double price = 0;  ///< cycles
};

struct PricedBands {
  std::vector<PricedBand> cheaper;  ///< than their chains one after another; each path once
  std::vector<RefusedBand> refused;
};

/// `kernel`: stored in the orders of the plan. `price`: by chain. Nothing on machines without two caches or whose
/// models run part by part.
PricedBands price_bands(const Kernel& kernel, const std::vector<Part>& chains, const std::vector<double>& price,
                        PartStore& store, const PlanOptions& options);

}  // namespace isamap

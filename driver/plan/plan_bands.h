// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which paths of parts are cheaper in bands of rows, and by how many rows, by the prices of parts on a few rows.
//
// A path is worth a price if a tensor between its parts is more than half of the nearest cache. The rows of a band are
// first as many as let its buffers fit half of the second cache with the weights (half of the nearest one, if all
// tensors fit that), then half and twice as many where that gained; parts whose results only such bands read join them.
// Where plans of fewer parts are wanted at the same price, as many rows as fit the usable share of the second cache, at
// most half of all, are priced too: with few bands rows and weights are read again rarely.
// Rows are along the outermost stored axis, or where that is not possible along a dim of the last part. The price is
// that of driver/plan/band_price.h.

#include "driver/plan/plan_model.h"

namespace isamap {

struct PricedBand {
  std::vector<std::size_t> chains;  ///< ascending
  std::string along;                ///< as in BandGroup
  std::int64_t by = 0;
  double price = 0;  ///< cycles
};

struct PricedBands {
  std::vector<PricedBand> cheaper;  ///< than their chains one after another, by enough; each path once
  std::vector<PricedBand> ties;     ///< cost about as much
  std::vector<RefusedBand> refused;
};

/// `kernel`: stored in the orders of the plan. `price`: by chain. Nothing on machines without two caches or whose
/// models run part by part.
PricedBands price_bands(const Kernel& kernel, const std::vector<Part>& chains, const std::vector<double>& price,
                        PartStore& store, const PlanOptions& options);

}  // namespace isamap

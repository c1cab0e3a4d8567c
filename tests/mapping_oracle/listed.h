// SPDX-License-Identifier: Apache-2.0
#pragma once
// The mapper's further answers for a random pair.

#include "mapper/alternative_digit_orders.h"
#include "tests/mapping_oracle/random_pairs.h"

namespace isamap::oracle {

/// The orders of digits that stand inside the entries of a list.
inline std::vector<isamap::Mapping> other_orders_of(const Pair& pair, const PairMappings& found) {
  AlternativeDigitOrders orders(pair.kernel);
  std::vector<isamap::Mapping> all;
  for (const isamap::Mapping& mapping : found.mappings)
    for (isamap::Mapping& other : orders.of(mapping, pair.instruction)) all.push_back(std::move(other));
  return all;
}

}  // namespace isamap::oracle

// SPDX-License-Identifier: Apache-2.0
// Products by the vendor's library if installed: its default, and every algorithm proposed by its heuristics.

#pragma once

#include <string>

namespace bench {

struct PeerProduct {
  std::string type;  ///< of A and B
  long m = 0, n = 0, k = 0;
  bool transposed = false;
};

/// Number of algorithms; the first is the default. 0: `why` has the reason.
int peer_ways(const PeerProduct& product, std::string& why);
/// Enqueues one product on the stream; nonzero: refused.
int peer_run(int way, const void* a, const void* b, void* c, void* stream);

}  // namespace bench

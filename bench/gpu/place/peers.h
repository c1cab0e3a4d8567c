// SPDX-License-Identifier: Apache-2.0
// Products by the vendor's library, where it is: its default, and every way that its heuristics propose.

#pragma once

#include <string>

namespace bench {

struct PeerProduct {
  std::string type;  ///< of A and B
  long m = 0, n = 0, k = 0;
  bool transposed = false;
};

/// How many ways there are; the first is the default. None: `why` says so.
int peer_ways(const PeerProduct& product, std::string& why);
/// Puts one product on the stream; not 0: it refused.
int peer_run(int way, const void* a, const void* b, void* c, void* stream);

}  // namespace bench

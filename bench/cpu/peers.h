// SPDX-License-Identifier: Apache-2.0
#pragma once
// Libraries that others have tuned, each planned once for a case and run on the same arrays.

#include <functional>
#include <string>
#include <vector>

#include "bench/cpu/cases.h"

namespace isamap::bench {

struct Peer {
  std::string name;
  std::function<void()> run;
  const void* output = nullptr;  ///< what it writes: of its arrays
};

/// The arrays of one candidate. Each has its own: what one leaves in the caches must not serve the next.
struct Arrays {
  std::vector<void*> inputs;
  void* output = nullptr;
};

/// A library that is not there, or does not know the case, is left out.
std::vector<Peer> peers(const CpuCase& what, const std::function<Arrays()>& arrays);
/// Of each library what was found, with the kernels that it took, or that it was not: "oneDNN 2.6.3", "no MKL".
std::vector<std::string> peer_versions();

}  // namespace isamap::bench

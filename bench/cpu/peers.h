// SPDX-License-Identifier: Apache-2.0
#pragma once
// Peers: tuned libraries, each planned once per case and run on equal arrays.

#include <functional>
#include <string>
#include <vector>

#include "bench/cpu/cases.h"

namespace isamap::bench {

struct Peer {
  std::string name;
  std::function<void()> run;
  const void* output = nullptr;  ///< its output array
};

/// The private arrays of one candidate, so that none finds warm caches of another.
struct Arrays {
  std::vector<void*> inputs;
  void* output = nullptr;
};

/// A library that is missing or does not support the case is omitted.
std::vector<Peer> peers(const CpuCase& what, const std::function<Arrays()>& arrays);
/// Version and kernels of each library found, or its absence: "oneDNN 2.6.3", "no MKL".
std::vector<std::string> peer_versions();

}  // namespace isamap::bench

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
};

/// The arrays of one candidate. Each has its own: what one leaves in the caches must not serve the next.
struct Arrays {
  std::vector<void*> inputs;
  void* output = nullptr;
};

/// A library that is not there, or does not know the case, is left out.
std::vector<Peer> peers(const CpuCase& what, const std::function<Arrays()>& arrays);
/// "oneDNN 2.6.3, ..."; empty: none was found when this was built.
std::string peer_versions();

}  // namespace isamap::bench

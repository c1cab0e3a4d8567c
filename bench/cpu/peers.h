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

/// Inputs and an output for each: `output()` makes room for one more result of the case.
/// A library that is not there, or does not know the case, is left out.
std::vector<Peer> peers(const CpuCase& what, const std::vector<void*>& inputs, const std::function<void*()>& output);
/// "oneDNN 2.6.3, ..."; empty: none was found when this was built.
std::string peer_versions();

}  // namespace isamap::bench

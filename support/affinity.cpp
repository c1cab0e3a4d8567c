// SPDX-License-Identifier: Apache-2.0
#include "support/affinity.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <memory>

namespace isamap {
namespace {

constexpr std::size_t most_bytes = 1 << 17;  ///< of a mask: a million processors

struct Free {
  void operator()(cpu_set_t* mask) const { CPU_FREE(mask); }
};
/// cpu_set_t itself has 1024 processors.
using Mask = std::unique_ptr<cpu_set_t, Free>;

Mask empty_mask(std::size_t bytes) {
  Mask mask(CPU_ALLOC(8 * bytes));
  if (mask) CPU_ZERO_S(bytes, mask.get());
  return mask;
}

bool restrict_to(const std::vector<int>& processors) {
  if (processors.empty()) return false;
  const int most = std::max(0, *std::max_element(processors.begin(), processors.end()));
  const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(most) + 1);
  const Mask mask = empty_mask(bytes);
  if (!mask) return false;
  for (const int one : processors)
    if (one >= 0) CPU_SET_S(static_cast<std::size_t>(one), bytes, mask.get());
  return CPU_COUNT_S(bytes, mask.get()) > 0 && sched_setaffinity(0, bytes, mask.get()) == 0;
}

}  // namespace

std::vector<int> own_processors(std::size_t bytes) {
  std::vector<int> found;
  for (; bytes <= most_bytes; bytes = std::max(sizeof(long), 2 * bytes)) {
    const Mask mask = empty_mask(bytes);
    if (!mask) break;
    if (sched_getaffinity(0, bytes, mask.get()) == 0) {
      for (std::size_t one = 0; one < 8 * bytes; ++one)
        if (CPU_ISSET_S(one, bytes, mask.get())) found.push_back(static_cast<int>(one));
      break;
    }
    if (errno != EINVAL) break;
  }
  return found;
}

int current_processor() { return sched_getcpu(); }

Affinity::Affinity(const std::vector<int>& processors) : before_(own_processors()) {
  if (before_.empty()) return;  // they could not be given back
  if (!restrict_to(processors)) before_.clear();
}

Affinity::~Affinity() {
  if (!before_.empty()) restrict_to(before_);
}

}  // namespace isamap

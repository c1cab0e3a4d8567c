// SPDX-License-Identifier: Apache-2.0
#include "support/affinity.h"

#include <sched.h>

#include <algorithm>

namespace isamap {
namespace {

bool restrict_to(const std::vector<int>& processors) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int one : processors)
    if (one >= 0 && one < CPU_SETSIZE) CPU_SET(one, &set);
  return CPU_COUNT(&set) > 0 && sched_setaffinity(0, sizeof set, &set) == 0;
}

}  // namespace

std::vector<int> own_processors() {
  std::vector<int> found;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return found;
  for (int one = 0; one < CPU_SETSIZE; ++one)
    if (CPU_ISSET(one, &set)) found.push_back(one);
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

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which processors threads run on.

#include <cstddef>
#include <vector>

namespace isamap {

/// Numbers of the processors that this thread may use, ascending. Empty: the system does not say. `bytes`: of the first
/// mask that is tried; the kernel refuses those that are shorter than its own (sched_getaffinity(2)).
std::vector<int> own_processors(std::size_t bytes = 128);
/// The one that it runs on; -1: the system does not say.
int current_processor();

/// Restricts this thread, and the threads and processes that it starts, to some processors while it lives. Without
/// permission, or without any, nothing changes.
class Affinity {
 public:
  explicit Affinity(const std::vector<int>& processors);
  ~Affinity();
  Affinity(const Affinity&) = delete;
  Affinity& operator=(const Affinity&) = delete;

 private:
  std::vector<int> before_;
};

}  // namespace isamap

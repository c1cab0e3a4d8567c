// SPDX-License-Identifier: Apache-2.0
#pragma once
// Threads of a pool (support/threads.h, support/task_queue.h).

#include <functional>
#include <system_error>
#include <thread>
#include <vector>

namespace isamap {

/// `count` threads that call `serve`; fewer where the system gives no more: these do all the work.
inline std::vector<std::thread> start_threads(int count, const std::function<void()>& serve) {
  std::vector<std::thread> threads;
  try {
    for (int t = 0; t < count; ++t) threads.emplace_back(serve);
  } catch (const std::system_error&) {
  }
  return threads;
}

}  // namespace isamap

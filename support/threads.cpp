// SPDX-License-Identifier: Apache-2.0
#include "support/threads.h"

#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace isamap {

void side_by_side(std::size_t count, const std::function<void(std::size_t)>& work) {
  if (count == 1) return work(0);
  std::vector<std::exception_ptr> thrown(count);
  const auto guarded = [&](std::size_t t) {
    try {
      work(t);
    } catch (...) {
      thrown[t] = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  std::size_t started = 1;
  try {
    for (; started < count; ++started) others.emplace_back(guarded, started);
  } catch (const std::system_error&) {  // no more threads: this one does the remaining work
  }
  if (count > 0) guarded(0);
  for (std::thread& other : others) other.join();
  for (; started < count; ++started) guarded(started);
  for (const std::exception_ptr& one : thrown)
    if (one) std::rethrow_exception(one);
}

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#include "support/threads.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

namespace isamap {

namespace {

using namespace std::chrono_literals;
/// Time for which a thread without work looks for some before it sleeps: batches of a search follow each other within
/// microseconds, and waking a thread takes tens of them.
constexpr auto patience = 40us;
constexpr auto pause_of_waiting = 10ms;

/// One call of for_each, on the stack of its caller.
struct Region {
  const Workers::Work& work;
  const std::size_t count;
  std::size_t number = 0;  ///< inner loops have larger ones
  std::atomic<std::size_t> next{0};
  std::atomic<int> inside{0};  ///< threads in `take_part`, beside the caller
  std::mutex mutex{};
  std::size_t failed_at = 0;
  std::exception_ptr failure{};

  bool has_work() const { return next.load(std::memory_order_relaxed) < count; }

  void take_part() {
    for (std::size_t i = next++; i < count; i = next++) try {
        work(i);
      } catch (...) {
        next = count;
        const std::lock_guard lock(mutex);
        if (!failure || i < failed_at) failed_at = i, failure = std::current_exception();
      }
  }
};

}  // namespace

struct Workers::State {
  std::vector<std::thread> threads;
  std::mutex mutex;
  std::condition_variable wake, left;
  std::vector<Region*> open;            ///< guarded by the mutex
  std::atomic<std::size_t> opened{0};   ///< regions so far
  bool ending = false, patient = true;  ///< guarded; not with more threads than processors

  /// The innermost open region with work that is newer than `number`. The mutex is held.
  Region* with_work(std::size_t number) const {
    for (std::size_t i = open.size(); i-- > 0;)
      if (open[i]->number > number && open[i]->has_work()) return open[i];
    return nullptr;
  }

  /// The lock is held, and again at the end.
  void help(Region& region, std::unique_lock<std::mutex>& lock) {
    ++region.inside;
    lock.unlock();
    region.take_part();
    lock.lock();
    if (--region.inside == 0) left.notify_all();
  }

  void look_for_more(std::size_t seen) const {
    if (!patient) return;
    for (const auto until = std::chrono::steady_clock::now() + patience; std::chrono::steady_clock::now() < until;)
      if (opened.load(std::memory_order_relaxed) != seen) return;
  }

  void serve() {
    std::unique_lock lock(mutex);
    while (!ending) {
      if (Region* region = with_work(0)) {
        help(*region, lock);
        continue;
      }
      const std::size_t seen = opened;
      lock.unlock();
      look_for_more(seen);
      lock.lock();
      wake.wait(lock, [&] { return ending || with_work(0) != nullptr; });
    }
  }

  /// Until nobody is inside; helps with newer regions meanwhile: those of threads that are still at work here.
  void close(Region& region, const std::function<void()>& while_waiting) {
    std::unique_lock lock(mutex);
    std::erase(open, &region);
    while (region.inside > 0) {
      if (Region* newer = with_work(region.number)) {
        help(*newer, lock);
        continue;
      }
      if (patient) {
        lock.unlock();
        for (const auto until = std::chrono::steady_clock::now() + patience;
             region.inside > 0 && std::chrono::steady_clock::now() < until;) {
        }
        lock.lock();
        if (region.inside == 0) break;
      }
      left.wait_for(lock, pause_of_waiting, [&] { return region.inside == 0 || with_work(region.number) != nullptr; });
      if (region.inside == 0 || !while_waiting) continue;
      lock.unlock();
      try {
        while_waiting();
      } catch (...) {
        region.next = region.count;
        const std::lock_guard of_failure(region.mutex);
        if (!region.failure) region.failed_at = region.count, region.failure = std::current_exception();
      }
      lock.lock();
    }
  }
};

int processors() { return static_cast<int>(std::max(1U, std::thread::hardware_concurrency())); }

Workers::Workers(int jobs) : state_(std::make_unique<State>()) {
  state_->patient = jobs <= processors();
  try {
    for (int t = 1; t < jobs; ++t) state_->threads.emplace_back([this] { state_->serve(); });
  } catch (const std::system_error&) {  // no more threads: these do all the work
  }
}

Workers::~Workers() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->ending = true;
  }
  state_->wake.notify_all();
  for (std::thread& thread : state_->threads) thread.join();
}

int Workers::jobs() const { return static_cast<int>(state_->threads.size()) + 1; }

void Workers::for_each(std::size_t count, const Work& work, const std::function<void()>& while_waiting) {
  if (count <= 1 || state_->threads.empty()) {
    for (std::size_t i = 0; i < count; ++i) work(i);
    return;
  }
  Region region{work, count};
  {
    const std::lock_guard lock(state_->mutex);
    region.number = ++state_->opened;
    state_->open.push_back(&region);
  }
  for (std::size_t t = 1; t < std::min(count, state_->threads.size() + 1); ++t) state_->wake.notify_one();
  state_->left.notify_all();  // a thread that waits for the end of an outer loop helps
  region.take_part();
  state_->close(region, while_waiting);
  if (region.failure) std::rethrow_exception(region.failure);
}

}  // namespace isamap

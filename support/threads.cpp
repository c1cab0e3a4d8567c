// SPDX-License-Identifier: Apache-2.0
#include "support/threads.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "support/start_threads.h"

namespace isamap {

namespace {

using namespace std::chrono_literals;
/// Time for which a thread without work looks for some before it sleeps: batches of a search follow each other within
/// some 10 to 100 microseconds, and waking a thread takes as long. It yields meanwhile to whoever else wants the
/// processor.
constexpr auto patience = 200us;
constexpr auto pause_of_waiting = 10ms;

}  // namespace

/// One call of for_each, on the stack of its caller.
struct Workers::Region {
  const Workers::Work& work;
  const std::size_t count;
  std::size_t number = 0;  ///< inner loops have larger ones
  std::atomic<std::size_t> next{0};
  std::atomic<int> inside{0};  ///< threads in `take_part`, beside the caller
  std::atomic<bool> failed{false};
  std::mutex mutex{};
  std::size_t failed_at = 0;
  std::exception_ptr failure{};

  bool has_work() const { return !failed && next.load(std::memory_order_relaxed) < count; }

  /// The next item for the calling thread.
  std::optional<std::size_t> take() {
    std::size_t i = next;
    while (!failed && i < count)
      if (next.compare_exchange_weak(i, i + 1)) return i;
    return std::nullopt;
  }

  /// Of item i, or of the caller beside all items; to be called in a handler.
  void fail(std::size_t i) {
    failed = true;
    const std::lock_guard lock(mutex);
    if (!failure || i < failed_at) failed_at = i, failure = std::current_exception();
  }

  void take_part() {
    while (const auto i = take()) try {
        work(*i);
      } catch (...) {
        fail(*i);
      }
  }
};

struct Workers::State {
  std::vector<std::thread> threads;
  std::mutex mutex;
  std::condition_variable wake, left;
  std::vector<Region*> open;           ///< guarded by the mutex
  std::size_t last_number = 0;         ///< of a region; guarded
  std::atomic<std::size_t> opened{0};  ///< the last region that threads without work were told of
  bool ending = false;                 ///< guarded
  bool patient = true;                 ///< not with more threads than processors; the same for all time

  /// The innermost open region with work that is newer than `number`. The mutex is held.
  Region* with_work(std::size_t number) const {
    for (std::size_t i = open.size(); i-- > 0;)
      if (open[i]->number > number && open[i]->has_work()) return open[i];
    return nullptr;
  }

  /// The mutex is held for less time than a thread takes to fall asleep and wake up.
  void acquire(std::unique_lock<std::mutex>& lock) const {
    for (const auto until = std::chrono::steady_clock::now() + patience;
         patient && std::chrono::steady_clock::now() < until;) {
      if (lock.try_lock()) return;
      std::this_thread::yield();
    }
    lock.lock();
  }

  void begin(Region& region) {
    std::unique_lock lock(mutex, std::defer_lock);
    acquire(lock);
    region.number = ++last_number;
    open.push_back(&region);
    lock.unlock();
    opened = region.number;  // whoever sees it needs the mutex next
  }

  /// The lock is held, and again at the end.
  void help(Region& region, std::unique_lock<std::mutex>& lock) {
    ++region.inside;
    lock.unlock();
    region.take_part();
    acquire(lock);
    if (--region.inside == 0) left.notify_all();
  }

  /// False: no region was opened for a while.
  bool look_for_more(std::size_t seen) const {
    if (!patient) return false;
    for (const auto until = std::chrono::steady_clock::now() + patience; std::chrono::steady_clock::now() < until;) {
      if (opened.load(std::memory_order_relaxed) != seen) return true;
      std::this_thread::yield();
    }
    return false;
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
      const bool more = look_for_more(seen);
      acquire(lock);
      if (more) continue;  // done by others already, if it was short: another one follows soon
      wake.wait(lock, [&] { return ending || with_work(0) != nullptr; });
    }
  }

  /// Until no thread is inside; helps with newer regions meanwhile: those of threads that are still at work here.
  void close(Region& region, const std::function<void()>& while_waiting) {
    std::unique_lock lock(mutex, std::defer_lock);
    acquire(lock);
    std::erase(open, &region);
    while (region.inside > 0) {
      if (Region* newer = with_work(region.number)) {
        help(*newer, lock);
        continue;
      }
      if (patient) {
        lock.unlock();
        for (const auto until = std::chrono::steady_clock::now() + patience;
             region.inside > 0 && std::chrono::steady_clock::now() < until;)
          std::this_thread::yield();
        acquire(lock);
        if (region.inside == 0) break;
      }
      left.wait_for(lock, pause_of_waiting, [&] { return region.inside == 0 || with_work(region.number) != nullptr; });
      if (region.inside == 0 || !while_waiting) continue;
      lock.unlock();
      try {
        while_waiting();
      } catch (...) {
        region.fail(region.count);
      }
      lock.lock();
    }
  }
};

int processors() { return static_cast<int>(std::max(1U, std::thread::hardware_concurrency())); }

Workers::Workers(int jobs) : state_(std::make_unique<State>()) {
  state_->patient = jobs <= processors();
  state_->threads = start_threads(jobs - 1, [state = state_.get()] { state->serve(); });
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
  state_->begin(region);
  for (std::size_t t = 1; t < std::min(count, state_->threads.size() + 1); ++t) state_->wake.notify_one();
  state_->left.notify_all();  // a thread that waits for the end of an outer loop helps
  region.take_part();
  state_->close(region, while_waiting);
  if (region.failure) std::rethrow_exception(region.failure);
}

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#include "support/task_queue.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "support/start_threads.h"

namespace isamap {

struct TaskQueue::State {
  struct Waiting {
    std::size_t number;
    Task task;
    std::size_t bytes;
  };
  std::vector<std::thread> threads;
  std::size_t most_bytes = 0;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Waiting> waiting;  ///< by number; this and the following are guarded
  std::size_t added = 0, running = 0, bytes = 0;
  bool ending = false;
  std::size_t failed_at = 0;
  std::exception_ptr failure;

  /// The lock is held, and again at the end; something waits.
  void execute_first(std::unique_lock<std::mutex>& lock) {
    auto [number, task, held] = std::move(waiting.front());
    waiting.pop_front();
    bytes -= held;
    ++running;
    lock.unlock();
    std::exception_ptr problem;
    try {
      task();
    } catch (...) {
      problem = std::current_exception();
    }
    task = nullptr;  // what it holds is freed outside the lock
    lock.lock();
    --running;
    if (problem && (!failure || number < failed_at)) failed_at = number, failure = problem;
    decltype(waiting) dropped;
    if (failure) dropped.swap(waiting), bytes = 0;
    changed.notify_all();
    lock.unlock();
    dropped.clear();  // outside the lock, too
    lock.lock();
  }

  void serve() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [&] { return ending || !waiting.empty(); });
      if (ending) return;
      execute_first(lock);
    }
  }
};

TaskQueue::TaskQueue(int jobs, std::size_t most_bytes) : state_(std::make_unique<State>()) {
  state_->most_bytes = most_bytes;
  state_->threads = start_threads(jobs - 1, [state = state_.get()] { state->serve(); });
}

TaskQueue::~TaskQueue() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->ending = true;
  }
  state_->changed.notify_all();
  for (std::thread& thread : state_->threads) thread.join();
}

void TaskQueue::add(Task task, std::size_t bytes) {
  std::unique_lock lock(state_->mutex);
  if (state_->failure) return;
  state_->waiting.push_back({state_->added++, std::move(task), bytes});
  state_->bytes += bytes;
  state_->changed.notify_one();
  const auto executes_one = [&] {
    if (state_->threads.empty()) return !state_->waiting.empty();
    return state_->waiting.size() > state_->threads.size() && state_->bytes >= state_->most_bytes;
  };
  while (executes_one()) state_->execute_first(lock);
}

void TaskQueue::finish() {
  std::unique_lock lock(state_->mutex);
  while (!state_->waiting.empty()) state_->execute_first(lock);
  state_->changed.wait(lock, [&] { return state_->running == 0; });
  if (state_->failure) std::rethrow_exception(std::exchange(state_->failure, nullptr));
}

}  // namespace isamap

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
  std::vector<std::thread> threads;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::pair<std::size_t, Task>> waiting;  ///< by number; this and the following are guarded
  std::size_t added = 0, running = 0;
  bool ending = false;
  std::size_t failed_at = 0;
  std::exception_ptr failure;

  /// The lock is held, and again at the end; something waits.
  void execute_first(std::unique_lock<std::mutex>& lock) {
    auto [number, task] = std::move(waiting.front());
    waiting.pop_front();
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
    if (failure) dropped.swap(waiting);
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

TaskQueue::TaskQueue(int jobs) : state_(std::make_unique<State>()) {
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

void TaskQueue::add(Task task) {
  std::unique_lock lock(state_->mutex);
  if (state_->failure) return;
  state_->waiting.emplace_back(state_->added++, std::move(task));
  state_->changed.notify_one();
  while (state_->waiting.size() > state_->threads.size()) state_->execute_first(lock);
}

void TaskQueue::finish() {
  std::unique_lock lock(state_->mutex);
  while (!state_->waiting.empty()) state_->execute_first(lock);
  state_->changed.wait(lock, [&] { return state_->running == 0; });
  if (state_->failure) std::rethrow_exception(std::exchange(state_->failure, nullptr));
}

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tasks that are executed side by side while further ones are made, where their number is not known ahead
// (support/threads.h has loops).
//
//   TaskQueue queue(jobs);
//   while (auto result = read_next(file)) queue.add([&, result = *result] { check(result); });
//   queue.finish();

#include <cstddef>
#include <functional>
#include <memory>

namespace isamap {

/// Tasks that begin in the order in which they are added, by threads of the queue and by the one that adds them. What
/// they hold stays small: from `jobs` waiting tasks on, and as soon as those that wait hold `most_bytes`, adding one
/// executes one. While that one is executed the threads have only what waits, so tasks of different lengths want more.
class TaskQueue {
 public:
  /// Starts jobs - 1 threads; without any, `add` executes the task.
  explicit TaskQueue(int jobs, std::size_t most_bytes = 0);
  ~TaskQueue();  ///< tasks that have not begun are dropped
  TaskQueue(const TaskQueue&) = delete;
  TaskQueue& operator=(const TaskQueue&) = delete;

  using Task = std::function<void()>;
  void add(Task task, std::size_t bytes = 0);
  /// Executes what is left. After an exception no further task begins; that of the first task is rethrown.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace isamap

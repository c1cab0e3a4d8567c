// SPDX-License-Identifier: Apache-2.0
#include "scheduler/screening.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "support/affinity.h"
#include "support/threads.h"

namespace isamap {
namespace {

/// So many programs are timed between two times of one: what slows a machine down lasts for a while.
constexpr std::size_t apart = 2;
/// The fastest one is followed up when no more than these have no time yet, so that its followers are compiled beside
/// them.
constexpr std::size_t most_untimed = 3;

class Screening {
 public:
  Screening(std::size_t count, const ScreeningSteps& steps) : count_(count), steps_(steps), timed_(count) {}

  /// Takes steps until all programs have ended. `times`: the only worker that times programs.
  void work(bool times) {
    try {
      while (const auto task = take(times)) ended(*task, done(*task));
    } catch (...) {
      const std::lock_guard lock(mutex_);
      failed_ = true;
      wake_.notify_all();
      throw;
    }
  }

 private:
  enum class Step { prepare, ahead, compile, compare, time, follow_up, follow };
  struct Task {
    Step step;
    std::size_t program;  ///< or follower
  };

  /// The step that others wait for the longest. Who times programs prepares, and compiles followers, only if nothing
  /// else is to be done: a followers' compiler may take as long as several others, and programs would wait for a time.
  std::optional<Task> next(bool times) {
    if (times && !compared_.empty()) return taken(compared_, Step::time);
    if (times && (again_.size() > apart || (compiling_ == count_ && !again_.empty()))) return taken(again_, Step::time);
    if (prepared_ && !compiled_.empty()) return taken(compiled_, Step::compare);
    if (!preparing_ && (!times || compiling_ == count_)) {
      preparing_ = true;
      return Task{Step::prepare, 0};
    }
    if (!times && prepared_ && steps_.ahead && !std::exchange(looked_ahead_, true)) return Task{Step::ahead, 0};
    if (may_follow_up()) {
      followers_asked_ = true;
      return Task{Step::follow_up, 0};
    }
    const bool follows = followers_ && following_ < *followers_;
    if (follows && (!times || compiling_ == count_)) return Task{Step::follow, following_++};
    if (compiling_ < count_) return Task{Step::compile, compiling_++};
    return std::nullopt;
  }
  bool may_follow_up() const {
    const auto timed = static_cast<std::size_t>(std::count(timed_.begin(), timed_.end(), true));
    return steps_.follow_up && !followers_asked_ && timed > 0 && count_ - timed <= most_untimed;
  }
  /// Is nothing left to begin?
  bool all_done() const {
    return failed_ || (ended_ == count_ && (!steps_.follow_up || (followers_ && following_ == *followers_)));
  }
  static Task taken(std::queue<std::size_t>& from, Step step) {
    const Task task{step, from.front()};
    from.pop();
    return task;
  }

  /// Waits for a step; nothing: none is left, or one has failed.
  std::optional<Task> take(bool times) {
    std::unique_lock lock(mutex_);
    while (!all_done()) {
      if (const auto task = next(times)) return task;
      wake_.wait(lock);
    }
    return std::nullopt;
  }

  /// False: this was the last step of the program.
  bool done(const Task& task) {
    switch (task.step) {
      case Step::prepare:
        steps_.prepare();
        return true;
      case Step::ahead:
        steps_.ahead();
        return true;
      case Step::compile:
        steps_.compile(task.program);
        return true;
      case Step::compare:
        return steps_.compare(task.program);
      case Step::time:
        return steps_.time(task.program);
      case Step::follow_up: {
        const std::size_t followers = steps_.follow_up();
        const std::lock_guard lock(mutex_);
        followers_ = followers;
        return true;
      }
      case Step::follow:
        steps_.follow(task.program);
        return true;
    }
    return false;
  }

  void ended(const Task& task, bool continues) {
    const std::lock_guard lock(mutex_);
    if (task.step == Step::prepare) prepared_ = true;
    if (task.step == Step::compile) compiled_.push(task.program);
    if (task.step == Step::compare && continues) compared_.push(task.program);
    if (task.step == Step::time && continues) again_.push(task.program);
    if (task.step == Step::time || !continues) timed_[task.program] = true;
    if (!continues) ++ended_;
    wake_.notify_all();
  }

  const std::size_t count_;
  const ScreeningSteps& steps_;
  std::mutex mutex_;
  std::condition_variable wake_;
  // All of the following are guarded.
  std::queue<std::size_t> compiled_, compared_, again_;
  std::size_t compiling_ = 0;  ///< programs whose compilers have begun
  std::size_t ended_ = 0;
  std::vector<bool> timed_;  ///< by program, or it has ended without a time
  bool preparing_ = false, prepared_ = false, looked_ahead_ = false, followers_asked_ = false, failed_ = false;
  std::optional<std::size_t> followers_;  ///< once they are known
  std::size_t following_ = 0;             ///< followers whose compilers have begun
};

}  // namespace

void screen(std::size_t count, int jobs, const ScreeningSteps& steps) {
  const int first = current_processor();
  std::vector<int> others = own_processors();
  std::erase(others, first);
  Screening screening(count, steps);
  const std::size_t workers = jobs > 1 ? static_cast<std::size_t>(jobs) : 1;
  for_each_in_parallel(workers, static_cast<int>(workers), [&](std::size_t worker) {
    const Affinity affinity(worker == 0 ? std::vector<int>{first} : others);
    screening.work(worker == 0);
  });
}

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupt.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <mutex>

#include "backends/common/process.h"
#include "cli/common.h"

namespace isamap::cli {
namespace {

using Clock = std::chrono::steady_clock;

std::atomic<bool> answers_interrupts{false}, has_result{false}, records_jobs{false};
std::atomic<Clock::rep> interrupted_at{0};  ///< 0: not yet

/// `timeout` sends one signal to the process and the same to its group: that is no second Ctrl-C.
constexpr Clock::duration one_press = std::chrono::milliseconds(50);

std::atomic<const Options*> running{nullptr};
std::mutex leaving;  ///< taken and never released by who ends the program: other threads wait here

void say_who_exits() {
  leaving.lock();
  const Options* options = running;
  if (!options) return leaving.unlock();
  const Exit code = close_json(*options, fail(Exit::limit, "exit() was called within the verb",
                                              "a strategy or cost model of yours: it may throw, or return nothing"));
  end_children_and_files();
  ::_exit(static_cast<int>(code));
}

}  // namespace

void answer_interrupts() { answers_interrupts = true; }

void note_result() { has_result = true; }

void resume_by_the_same_command() { records_jobs = true; }

bool continue_with_result() {
  note_result();
  return !interrupted();
}

bool interrupted() { return interrupted_at != 0; }

bool ends(int /*signal*/) {
  if (records_jobs) tell("interrupted: the jobs that have ended are recorded; the same command resumes");
  return false;
}

bool only_interrupts(int signal) {
  if (signal != SIGINT || !answers_interrupts || !has_result) return ends(signal);
  const Clock::rep now = Clock::now().time_since_epoch().count();
  Clock::rep first = 0;
  return interrupted_at.compare_exchange_strong(first, now) || Clock::duration(now - first) < one_press;
}

ForeignExit::ForeignExit(const Options& options) {
  // exit() takes a handler off its list before it calls it: a second thread that calls exit() gets the next one, and
  // without one it would end the program with its own code while the first one still cleans up.
  constexpr int most_threads = 256;
  [[maybe_unused]] static const bool registered = [] {
    for (int n = 0; n < most_threads; ++n)
      if (std::atexit(say_who_exits) != 0) return false;
    return true;
  }();
  running = &options;
}

ForeignExit::~ForeignExit() { running = nullptr; }

void ForeignExit::leave_to_parent() { running = nullptr; }

}  // namespace isamap::cli

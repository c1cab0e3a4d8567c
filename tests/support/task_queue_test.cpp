// SPDX-License-Identifier: Apache-2.0
// Tasks that begin while further ones are added: all are executed, few wait, exceptions come out.

#include "support/task_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

namespace isamap {
namespace {

using namespace std::chrono_literals;

TEST(TaskQueue, ExecutesEachTaskOnce) {
  for (const int jobs : {0, 1, 2, 7}) {
    std::vector<int> calls(100, 0);
    TaskQueue queue(jobs);
    for (int& call : calls) queue.add([&call] { ++call; });
    queue.finish();
    EXPECT_EQ(calls, std::vector<int>(100, 1)) << jobs;
    queue.add([&] { calls[0] = 5; });
    queue.finish();
    EXPECT_EQ(calls[0], 5) << "of use again";
  }
}

TEST(TaskQueue, TasksRunSideBySideAndFewWait) {
  constexpr int jobs = 3;
  std::atomic<int> running{0}, most{0}, begun{0};
  TaskQueue queue(jobs);
  for (int i = 0; i < 24; ++i) {
    queue.add([&] {
      ++begun;
      const int now = ++running;
      for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
      }
      std::this_thread::sleep_for(2ms);
      --running;
    });
    EXPECT_GE(begun, i + 1 - jobs) << "adding a task waits for those before it";
  }
  queue.finish();
  EXPECT_EQ(begun, 24);
  EXPECT_GT(most, 1);
  EXPECT_LE(most, jobs);
}

TEST(TaskQueue, MoreWaitIfTheyHoldFewBytes) {
  std::atomic<bool> go{false};
  std::atomic<int> begun{0};
  TaskQueue queue(2, 100);
  const auto add = [&](std::size_t bytes) {
    queue.add(
        [&] {
          ++begun;
          while (!go) std::this_thread::sleep_for(1ms);
        },
        bytes);
  };
  for (int i = 0; i < 9; ++i) add(10);  // the caller executes none of them, or it would wait for ever
  EXPECT_LE(begun, 1);
  go = true;
  for (int i = 0; i < 9; ++i) add(60);
  EXPECT_GE(begun, 9);
  queue.finish();
  EXPECT_EQ(begun, 18);
}

TEST(TaskQueue, TheExceptionOfTheFirstTaskComesOut) {
  for (const int jobs : {1, 2, 5}) {
    TaskQueue queue(jobs);
    std::atomic<int> begun{0};
    for (int i = 0; i < 64; ++i)
      queue.add([&begun, i] {
        ++begun;
        if (i >= 3) throw std::runtime_error(std::to_string(i));
      });
    try {
      queue.finish();
      FAIL() << "nothing came out";
    } catch (const std::runtime_error& thrown) {
      EXPECT_STREQ(thrown.what(), "3") << jobs;
    }
    EXPECT_LE(begun, 4 + 2 * jobs) << "none begins after it";
  }
}

TEST(TaskQueue, LeavingItDropsWhatWaits) {
  std::atomic<int> begun{0}, ended{0};
  {
    TaskQueue queue(2);
    queue.add([&] {
      ++begun;
      std::this_thread::sleep_for(50ms);
      ++ended;
    });
    while (begun == 0) std::this_thread::yield();
    queue.add([&] { ++begun; });
  }
  EXPECT_EQ(ended, 1) << "what has begun ends";
  EXPECT_EQ(begun, 1);
}

}  // namespace
}  // namespace isamap

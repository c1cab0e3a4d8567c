// SPDX-License-Identifier: Apache-2.0
// Loops that workers share: order of results, exceptions, loops within loops.

#include "support/threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "support/stop.h"

namespace isamap {
namespace {

TEST(Workers, ResultsAreInOrderForAnyNumber) {
  for (const int jobs : {0, 1, 2, 7}) {
    const std::vector<int> squares =
        for_each_in_parallel(100, jobs, [](std::size_t i) { return static_cast<int>(i * i); });
    ASSERT_EQ(squares.size(), 100u) << jobs;
    for (std::size_t i = 0; i < squares.size(); ++i) EXPECT_EQ(squares[i], static_cast<int>(i * i));
  }
  EXPECT_TRUE(for_each_in_parallel(0, 4, [](std::size_t) { return 1; }).empty());
  std::atomic<int> calls{0};
  for_each_in_parallel(9, 3, [&](std::size_t) { ++calls; });
  EXPECT_EQ(calls, 9);
}

TEST(Workers, TheExceptionIsTheOneOfAPlainLoop) {
  for (const int jobs : {1, 2, 5})
    for (int again = 0; again < 50; ++again) {
      std::atomic<int> begun{0};
      try {
        for_each_in_parallel(64, jobs, [&](std::size_t i) {
          ++begun;
          if (i >= 3) throw std::runtime_error(std::to_string(i));
        });
        FAIL() << "nothing came out";
      } catch (const std::runtime_error& thrown) {
        EXPECT_STREQ(thrown.what(), "3") << jobs;
      }
      EXPECT_LE(begun, 3 + 2 * jobs) << "none begins after it";
    }
}

TEST(Workers, LoopsMayBeNested) {
  Workers workers(3);
  const std::vector<long> sums = for_each_in_parallel(workers, 40, [&](std::size_t i) {
    const std::vector<long> inner =
        for_each_in_parallel(workers, i, [](std::size_t j) { return static_cast<long>(j); });
    return std::accumulate(inner.begin(), inner.end(), 0L);
  });
  for (std::size_t i = 0; i < sums.size(); ++i) EXPECT_EQ(sums[i], static_cast<long>(i * (i - 1) / 2));
  EXPECT_THROW(for_each_in_parallel(
                   workers, 4,
                   [&](std::size_t) { workers.for_each(4, [](std::size_t) { throw std::runtime_error("inner"); }); }),
               std::runtime_error);
  EXPECT_EQ(for_each_in_parallel(workers, 2, [](std::size_t i) { return i; }).size(), 2u) << "still of use";
}

/// The only item of an outer loop that is left over shares its inner loop with those who have nothing to do.
TEST(Workers, HelpWithTheLastItem) {
  Workers workers(2);
  std::atomic<int> inside{0}, most{0};
  workers.for_each(2, [&](std::size_t i) {
    if (i == 0) return;
    workers.for_each(20, [&](std::size_t) {
      most = std::max(most.load(), ++inside);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      --inside;
    });
  });
  EXPECT_EQ(most, 2);
}

TEST(Workers, WhoWaitsIsCalled) {
  Workers workers(2);
  std::atomic<bool> asked{false};
  const auto caller = std::this_thread::get_id();
  for (int tries = 0; tries < 20 && !asked; ++tries)
    workers.for_each(
        2,
        [&](std::size_t) {
          if (std::this_thread::get_id() == caller) return std::this_thread::sleep_for(std::chrono::milliseconds(1));
          for (int t = 0; t < 500 && !asked; ++t) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        },
        [&] { asked = true; });
  EXPECT_TRUE(asked);
}

TEST(Stop, ReachesWhoAsks) {
  struct Answer final : StopScope {
    explicit Answer(bool yes) : yes(yes) {}
    bool stop() override { return yes; }
    bool yes;
  };
  leave_if_asked();
  const Answer goes_on(false);
  leave_if_asked();
  {
    const Answer ends(true);
    EXPECT_THROW(leave_if_asked(), EndedEarly);
  }
  leave_if_asked();
}

}  // namespace
}  // namespace isamap

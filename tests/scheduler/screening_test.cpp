// SPDX-License-Identifier: Apache-2.0
// Programs are timed one at a time on a processor where no compiler runs, while others are compiled.

#include "scheduler/screening.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/affinity.h"

namespace isamap {
namespace {

void take_some_time() { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }

/// Kernels of more than 1024 processors refuse cpu_set_t.
TEST(Affinity, MasksGrowUntilTheKernelTakesThem) {
  const std::vector<int> all = own_processors();
  if (all.empty()) GTEST_SKIP() << "the system does not say";
  EXPECT_EQ(own_processors(0), all) << "refused at first";
  EXPECT_EQ(own_processors(4096), all);
  constexpr int far = 5000;  // is not there
  {
    const Affinity one({all.front(), far});
    EXPECT_EQ(own_processors(), std::vector<int>{all.front()});
  }
  EXPECT_EQ(own_processors(), all) << "given back";
  for (const std::vector<int>& none : {std::vector<int>{far}, {-1}, {}}) {
    const Affinity nothing_changes(none);
    EXPECT_EQ(own_processors(), all);
  }
}

TEST(Screening, DoesEachStepOnceInItsOrder) {
  for (const int jobs : {1, 2, 5}) {
    std::atomic<int> prepared{0}, ahead{0};
    std::vector<std::atomic<int>> at(7);
    std::atomic<bool> wrong{false};
    const auto next = [&](std::size_t p, int before) { wrong = wrong || at[p]++ != before; };
    screen(at.size(), jobs,
           {[&] { ++prepared; }, [&] { ++ahead; }, [&](std::size_t p) { next(p, 0); },
            [&](std::size_t p) {
              next(p, 1);
              wrong = wrong || prepared != 1;
              return p != 3;
            },
            [&](std::size_t p) { return p == 5 && at[p]++ == 2; }});
    for (std::size_t p = 0; p < at.size(); ++p) EXPECT_EQ(at[p], p == 5 ? 4 : 2) << p << ", the fifth is timed twice";
    EXPECT_FALSE(wrong) << jobs;
    EXPECT_LE(ahead, jobs > 1 ? 1 : 0) << "by who does not time, if there is time";
  }
}

TEST(Screening, FollowsUpOnceWhenMostProgramsHaveATime) {
  for (const int jobs : {1, 2, 5}) {
    std::atomic<int> asked{0}, timed{0}, before{0}, ended{0};
    std::vector<std::atomic<int>> followers(4);
    const ScreeningSteps steps{[] {},
                               {},
                               [](std::size_t) { take_some_time(); },
                               [&](std::size_t p) {
                                 ended += p == 6 ? 1 : 0;
                                 return p != 6;
                               },
                               [&](std::size_t) {
                                 ++timed;
                                 return false;
                               },
                               [&] {
                                 ++asked;
                                 before = timed + ended;
                                 return followers.size();
                               },
                               [&](std::size_t f) {
                                 take_some_time();
                                 ++followers[f];
                               }};
    screen(9, jobs, steps);
    EXPECT_EQ(asked, 1) << jobs;
    EXPECT_GE(before, 6) << jobs;
    EXPECT_EQ(timed, 8);
    for (const auto& one : followers) EXPECT_EQ(one, 1) << jobs;
  }
  int asked = 0;
  const auto none = [&]() -> std::size_t {
    ++asked;
    return 0;
  };
  screen(3, 2, {[] {}, {}, [](std::size_t) {}, [](std::size_t) { return false; }, {}, none});
  EXPECT_EQ(asked, 1) << "also where no program has a time";
}

TEST(Screening, TimesOneAtATimeOnAProcessorOfItsOwn) {
  if (own_processors().size() < 2) GTEST_SKIP() << "one processor";
  const std::vector<int> before = own_processors();
  std::mutex mutex;
  int timing = 0, processor = -1;
  std::vector<std::vector<int>> compilers;  // that run now
  bool shared = false, overlapped = false, seen_both = false;
  const auto check = [&] {  // the mutex is held
    overlapped = overlapped || timing > 1;
    for (const auto& one : compilers) {
      seen_both = seen_both || timing == 1;
      shared = shared || (timing == 1 && std::count(one.begin(), one.end(), processor) > 0);
    }
  };
  screen(20, 3,
         {[] {},
          {},
          [&](std::size_t) {
            const std::vector<int> own = own_processors();
            {
              const std::lock_guard lock(mutex);
              compilers.push_back(own);
              check();
            }
            take_some_time();
            const std::lock_guard lock(mutex);
            compilers.erase(std::find(compilers.begin(), compilers.end(), own));
          },
          [](std::size_t) { return true; },
          [&](std::size_t) {
            {
              const std::lock_guard lock(mutex);
              ++timing;
              processor = own_processors().size() == 1 ? own_processors().front() : -1;
              shared = shared || processor < 0;
              check();
            }
            take_some_time();
            const std::lock_guard lock(mutex);
            --timing;
            return false;
          }});
  EXPECT_FALSE(shared);
  EXPECT_FALSE(overlapped);
  EXPECT_TRUE(seen_both);
  EXPECT_EQ(own_processors(), before) << "given back";
}

TEST(Screening, AnExceptionOfAStepComesOut) {
  for (const int jobs : {1, 3})
    EXPECT_THROW(screen(9, jobs,
                        {[] {},
                         {},
                         [](std::size_t p) {
                           if (p == 4) throw std::runtime_error("four");
                         },
                         [](std::size_t) { return true; },
                         [](std::size_t) { return false; }}),
                 std::runtime_error);
}

}  // namespace
}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
// The parts of the simulation of command streams; what they make together is compared with whole programs in
// tests/conformance/cycles_test.cpp.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "scheduler/cost/command_queue.h"
#include "scheduler/cost/data_dependences.h"
#include "scheduler/cost/tile_uses.h"

namespace isamap {
namespace {

/// "load 0-4 call 4-6": what left, in its order, from start to the end of its interval.
class Leaving {
 public:
  Leaving(std::size_t window, bool queues)
      : queue_(window, queues, [this](const TimedCommand& c, double start, std::int64_t) {
          text_ += fmt::format("{}{}@{}", text_.empty() ? "" : " ", c.port == 0 ? "load" : "call", start);
        }) {
    queue_.port("load", 1);
    queue_.port("call", 1);
  }
  void load(const std::vector<std::int64_t>& before = {}) { add(0, before); }
  void call(const std::vector<std::int64_t>& before = {}) { add(1, before); }
  std::string text() {
    queue_.flush();
    return text_;
  }

 private:
  void add(int port, const std::vector<std::int64_t>& before) {
    TimedCommand command;
    command.port = port;
    command.interval = port == 0 ? 4 : 2;
    command.latency = port == 0 ? 10 : 3;
    queue_.add(command, before, -1);
  }
  std::string text_;
  CommandQueue queue_;
};

void two_steps(Leaving& line) {
  line.load();
  line.call({0});
  line.load();
  line.call({2});
}

TEST(CommandQueue, InOrderNothingPassesACommandThatWaits) {
  Leaving line(1, false);
  two_steps(line);
  EXPECT_EQ(line.text(), "load@0 call@10 load@10 call@20");
}

TEST(CommandQueue, InAWindowTheOneThatCanStartFirstLeaves) {
  Leaving line(3, false);
  two_steps(line);
  EXPECT_EQ(line.text(), "load@0 load@4 call@10 call@14");
}

/// It touches two tiles that the same command wrote.
TEST(CommandQueue, InAWindowACommandMayWaitForAnotherTwice) {
  Leaving line(4, false);
  line.load();
  line.call({0, 0});
  line.load();
  line.call({0, 2, 2});
  EXPECT_EQ(line.text(), "load@0 load@4 call@10 call@14");
}

TEST(CommandQueue, QueuesWaitForNoOtherPort) {
  Leaving line(1, true);
  two_steps(line);
  EXPECT_EQ(line.text(), "load@0 load@4 call@10 call@14");
}

/// A block of stores of 4 cycles, each keeping a memory for 3, and behind them in the program a load that asks at 0.
TEST(CommandQueue, QueuesTakeASharedPortInTheOrderInWhichTheyAsk) {
  std::string text;
  CommandQueue queue(1, true, [&](const TimedCommand& c, double start, std::int64_t) {
    text += fmt::format("{}{}@{}", text.empty() ? "" : " ", c.port == 0 ? "store" : "load", start);
  });
  TimedCommand store, load;
  store.port = queue.port("store", 1);
  load.port = queue.port("load", 1);
  const int memory = queue.port("memory", 1);
  store.interval = load.interval = 4;
  store.shared = load.shared = {{memory, 3}};
  queue.add(load, {}, -1);
  for (int i = 0; i < 3; ++i) queue.add(store, {}, -1);
  queue.add(load, {}, -1);
  queue.flush();
  EXPECT_EQ(text, "load@0 store@3 load@6 store@9 store@13");
}

/// A copy by the host between two commands: nothing overlaps with it, though the ports are free.
TEST(CommandQueue, WhatComesBehindAWaitForAllStartsWhenAllHaveEnded) {
  std::string text;
  CommandQueue queue(8, false, [&](const TimedCommand& c, double start, std::int64_t) {
    text += fmt::format("{}{}@{}", text.empty() ? "" : " ", c.port == 0 ? "load" : "call", start);
  });
  TimedCommand load, call;
  load.port = queue.port("load", 1);
  call.port = queue.port("call", 1);
  load.interval = call.interval = 4;
  load.latency = 10;
  queue.add(load, {}, -1);
  EXPECT_FALSE(queue.ended_before(1));
  queue.wait_for_all();
  EXPECT_TRUE(queue.ended_before(1));
  queue.add(call, {}, -1);
  queue.flush();
  EXPECT_EQ(text, "load@0 call@10");
}

TileCoordinate coordinate(std::int64_t extent, std::int64_t block, std::int64_t points, int order, int block_order) {
  TileCoordinate w;
  w.extent = extent;
  w.block = block;
  w.contiguous = std::min(extent, block);
  w.dim = points > 1 ? 0 : -1;
  w.points = points;
  w.order = order;
  w.block_order = block_order;
  return w;
}

/// [j/16, k, j%16], uses of 16 along j: the digit j/16 is the outer loop, though j is the contiguous coordinate.
TEST(FirstPoints, FollowTheDigitsOfTheLayout) {
  using Points = std::vector<std::vector<std::int64_t>>;
  EXPECT_EQ(first_points({coordinate(2, 1, 1, 1, 1), coordinate(32, 16, 16, 0, 2)}),
            (Points{{0, 0}, {1, 0}, {0, 16}, {1, 16}}));
  // whole blocks of j before its tail, for all of k
  EXPECT_EQ(first_points({coordinate(2, 1, 1, 1, 1), coordinate(24, 16, 16, 0, 2)}),
            (Points{{0, 0}, {1, 0}, {0, 16}, {1, 16}}));
  // [k, j]: j inside, its tail behind all whole blocks
  EXPECT_EQ(first_points({coordinate(2, 1, 1, 0, 0), coordinate(24, 1, 16, 1, 1)}),
            (Points{{0, 0}, {1, 0}, {0, 16}, {1, 16}}));
  // uses of half a block: at the place of the inner digit
  EXPECT_EQ(first_points({coordinate(2, 1, 1, 1, 1), coordinate(16, 16, 8, 0, 2)}),
            (Points{{0, 0}, {0, 8}, {1, 0}, {1, 8}}));
}

std::vector<std::int64_t> before(TouchedParts& parts, const TouchedParts::Box& box, bool write, std::int64_t command) {
  std::vector<std::int64_t> found;
  parts.touch(
      box, write, command, [](std::int64_t) { return -1.0; }, found);
  std::sort(found.begin(), found.end());
  return found;
}

TEST(TouchedParts, ReadsComeAfterWritesAndWritesAfterBoth) {
  TouchedParts tile({{8, 4}, {6, 3}});
  using List = std::vector<std::int64_t>;
  EXPECT_EQ(before(tile, {{0, 4}, {0, 6}}, true, 0), List{});
  EXPECT_EQ(before(tile, {{4, 8}, {0, 6}}, true, 1), List{});
  EXPECT_EQ(before(tile, {{0, 8}, {0, 3}}, false, 2), (List{0, 1}));
  EXPECT_EQ(before(tile, {{0, 8}, {3, 6}}, false, 3), (List{0, 1}));
  EXPECT_EQ(before(tile, {{0, 4}, {0, 3}}, true, 4), (List{0, 2})) << "the other half was not read by 3";
  EXPECT_EQ(before(tile, {{0, 4}, {0, 6}}, false, 5), (List{0, 4}));
}

TEST(TouchedParts, AShortBoxTouchesWholeParts) {
  TouchedParts tile({{10, 4}});
  EXPECT_EQ(before(tile, {{3, 5}}, true, 0), (std::vector<std::int64_t>{}));
  EXPECT_EQ(before(tile, {{6, 7}}, false, 1), (std::vector<std::int64_t>{0}));
  EXPECT_EQ(before(tile, {{8, 10}}, false, 2), (std::vector<std::int64_t>{}));
}

TEST(TouchedParts, OfManyReadersTheIssuedOneThatEndsLastIsKept) {
  TouchedParts tile({{4, 4}});
  std::vector<std::int64_t> found;
  for (std::int64_t command = 0; command <= 40; ++command) {
    found.clear();
    const auto end = [&](std::int64_t of) {
      EXPECT_LT(of, command) << "a command has no end before it is in the queue";
      return static_cast<double>(of);
    };
    tile.touch({{0, 4}}, command == 40, command, end, found);
  }
  EXPECT_EQ(found, (std::vector<std::int64_t>{30, 31, 32, 33, 34, 35, 36, 37, 38, 39}));
}

}  // namespace
}  // namespace isamap

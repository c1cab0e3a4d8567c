// SPDX-License-Identifier: Apache-2.0
// Who evaluates is not seen: the same bytes for any number of workers and for other executors, exceptions as
// themselves, an end within a batch and within an evaluation.

#include "scheduler/search/executor.h"

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "scheduler/search/cost_names.h"
#include "support/stop.h"
#include "tests/scheduler/support.h"

namespace isamap {
namespace {

using testing_support::formula;
using testing_support::machine;

struct SmallProblem {
  Kernel kernel;
  HardwareModel model;
  MapResult mapped = std::move(*enumerate_mappings(kernel, model, {}));
  SearchSpace space{kernel, StatementId{0}, mapped.mappings, model, {}};
};

const SmallProblem& on_commands() {
  static const SmallProblem only{formula("C[i,j] += A[i,k] * B[k,j]", "i=40,j=24,k=36", "A=s8,B=s8,C=s32"),
                                 machine("npu16")};
  return only;
}
const SmallProblem& on_levels() {
  static const SmallProblem only{formula("Z[m,n] += A[m,k] * B[k,n]", "m=24,n=20,k=9", "A=s16,B=s16,Z=s16"),
                                 machine("a1")};
  return only;
}

/// Everything that a search tells, with all digits of the costs and the best nest.
std::string told_by(const SmallProblem& problem, const std::string& strategy, const std::string& cost, int jobs,
                    std::int64_t evaluations, const ExecutorFactory& executor = {}) {
  auto made = strategy_named(strategy, problem.space, {}, 5);
  const auto costs = cost_model_named(cost, {});
  EXPECT_TRUE(made && costs) << strategy << ", " << cost;
  LoopOptions loop;
  loop.objective = Objective::cycles;
  loop.max_evaluations = evaluations;
  loop.jobs = jobs;
  loop.executor = executor;
  std::string text;
  loop.watch = [&](const Trial& trial) {
    text += std::to_string(trial.number) + " " + problem.space.describe(*trial.point) + " ";
    if (trial.objective) text += std::to_string(*trial.objective);
    text += " " + trial.problem + "\n";
  };
  const Found found = search(problem.space, **made, *costs, loop);
  if (found.best)
    for (const Line& line : found.best->nest.lines) text += print(line) + "\n";
  return text + (found.exhausted ? "all" : "");
}

TEST(Executor, NumberOfWorkersChangesNoByte) {
  for (const auto& [strategy, make] : strategies()) {
    if (is_user_strategy(strategy)) continue;
    for (const auto& [cost, evaluations] : {std::pair("closed_form", 100), {"latency", 45}, {"simulator", 24}}) {
      const std::string one = told_by(on_commands(), strategy, cost, 1, evaluations);
      EXPECT_GT(one.size(), 100u) << strategy << ", " << cost;
      for (const int jobs : {2, 7})
        EXPECT_EQ(one, told_by(on_commands(), strategy, cost, jobs, evaluations)) << strategy << ", " << cost;
    }
    EXPECT_EQ(told_by(on_levels(), strategy, "closed_form", 1, 300),
              told_by(on_levels(), strategy, "closed_form", 7, 300))
        << strategy;
  }
}

/// As another process would: the last point first, costs only.
class Elsewhere final : public Executor {
 public:
  Elsewhere(const SearchSpace& space, const CostModelFactory& costs)
      : here_(std::move(*make_thread_executor(space, costs, std::make_shared<Workers>(1), true))) {}
  std::vector<PointResult> submit(std::vector<Point> batch, const std::function<bool()>& go_on) override {
    std::vector<PointResult> results(batch.size());
    for (std::size_t i = batch.size(); i-- > 0;) {
      results[i] = std::move(here_->submit({batch[i]}, go_on).front());
      results[i].nest.reset();
    }
    return results;
  }
  void complete(PointResult& at) override { here_->complete(at); }

 private:
  std::unique_ptr<Executor> here_;
};

TEST(Executor, MayBeAnother) {
  for (const char* strategy : {"genetic", "greedy", "hill_climbing"})
    EXPECT_EQ(told_by(on_commands(), strategy, "closed_form", 1, 100),
              told_by(on_commands(), strategy, "closed_form", 1, 100,
                      [](const SearchSpace& space, const CostModelFactory& costs, bool) {
                        return Result<std::unique_ptr<Executor>>(std::make_unique<Elsewhere>(space, costs));
                      }))
        << strategy;
}

/// The closed form, after something else.
class Afterwards final : public CostModel {
 public:
  explicit Afterwards(std::function<void()> first) : first_(std::move(first)) {}
  Result<Cost> estimate(const Candidate& candidate) override {
    first_();
    return closed_form_->estimate(candidate);
  }

 private:
  std::function<void()> first_;
  std::unique_ptr<CostModel> closed_form_ = make_cost_model_closed_form();
};

/// Batches of four that workers make; the second point waits until the first one is made, or five seconds. The third
/// one is the first again, the fourth one known from the batch before.
class MadeTogether final : public SearchStrategy {
 public:
  explicit MadeTogether(const SearchSpace& space) : space_(space) {}
  std::optional<Point> next() override { return std::nullopt; }
  std::size_t makes() override {
    ++batch_;
    return batch_ <= 3 ? 4 : 0;
  }
  std::optional<Point> make(std::size_t number) override {
    if (number == 0) first_ = batch_;
    for (int t = 0; number == 1 && waits && first_ != batch_ && t < 5000; ++t)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (number == 3) return std::nullopt;
    return space_.repair(space_.random(static_cast<std::uint64_t>(2 * batch_) + number % 2));
  }
  void report(const Point& point, std::optional<double>) override { told.push_back(point); }

  bool waits = false;
  std::vector<Point> told;

 private:
  const SearchSpace& space_;
  int batch_ = 0;
  std::atomic<int> first_{0};
};

TEST(Executor, WhoEvaluatesAPointMakesIt) {
  std::vector<Point> alone;
  for (const int jobs : {1, 2, 7}) {
    MadeTogether strategy(on_levels().space);
    strategy.waits = jobs > 1;
    LoopOptions loop;
    loop.jobs = jobs;
    const Found found = search(on_levels().space, strategy, make_cost_model_closed_form, loop);
    EXPECT_EQ(found.evaluations, 6) << "equal points once";
    if (jobs == 1) alone = strategy.told;
    EXPECT_EQ(strategy.told, alone);
    MadeTogether again(on_levels().space);
    loop.max_evaluations = 3;  // within a batch
    EXPECT_EQ(search(on_levels().space, again, make_cost_model_closed_form, loop).evaluations, 3);
    EXPECT_TRUE(std::equal(again.told.begin(), again.told.end(), alone.begin()));
  }
}

/// A strategy whose batches have no new point for ever ends, and Ctrl-C ends it before.
TEST(Executor, BatchesWithoutPointsEnd) {
  struct Nothing final : SearchStrategy {
    std::optional<Point> next() override { return std::nullopt; }
    std::size_t makes() override { return 2; }
    void report(const Point&, std::optional<double>) override {}
  } strategy;
  LoopOptions loop;
  EXPECT_EQ(search(on_levels().space, strategy, make_cost_model_closed_form, loop).evaluations, 0);
  int polls = 0;
  loop.progress = [&](std::int64_t, double) { return ++polls < 3; };
  EXPECT_TRUE(search(on_levels().space, strategy, make_cost_model_closed_form, loop).stopped);
}

/// Costs of other processes have no terms and no nests; what a search keeps has all of them.
TEST(Executor, WhatIsKeptIsCompletedHere) {
  class Far final : public Executor {
   public:
    explicit Far(std::unique_ptr<Executor> here) : here_(std::move(here)) {}
    std::vector<PointResult> submit(std::vector<Point> batch, const std::function<bool()>& go_on) override {
      std::vector<PointResult> results = here_->submit(std::move(batch), go_on);
      for (PointResult& at : results) {
        if (!at.cost) continue;
        at.elsewhere = at.nest.has_value();
        at.nest.reset();
        at.cost->memories.clear();
        at.cost->bound.clear();
      }
      return results;
    }
    void complete(PointResult& at) override { here_->complete(at); }

   private:
    std::unique_ptr<Executor> here_;
  };
  const auto found_by = [&](bool far) {
    auto strategy = strategy_named("genetic", on_commands().space, {}, 3);
    LoopOptions loop;
    loop.max_evaluations = 150;
    loop.key = [](const Nest& nest) { return std::to_string(nest.lines.size()); };
    if (far)
      loop.executor = [](const SearchSpace& space, const CostModelFactory& costs, bool with_nests) {
        auto here = make_thread_executor(space, costs, std::make_shared<Workers>(1), with_nests);
        return Result<std::unique_ptr<Executor>>(std::make_unique<Far>(std::move(*here)));
      };
    const Found found = search(on_commands().space, **strategy, make_cost_model_closed_form, loop);
    std::string text = found.best->cost.bound;
    std::vector<Scored> kept = found.best_per_key;
    kept.push_back(*found.best);
    for (const Scored& one : kept) {
      EXPECT_FALSE(one.cost.memories.empty());
      text += std::to_string(one.objective) + one.cost.bound;
      for (const Line& line : one.nest.lines) text += print(line) + "\n";
    }
    return text;
  };
  EXPECT_EQ(found_by(true), found_by(false));
}

Found searched_with(const CostModelFactory& costs, const LoopOptions& loop) {
  auto strategy = strategy_named("random", on_commands().space, {}, 0);
  return search(on_commands().space, **strategy, costs, loop);
}

TEST(Executor, AnExceptionComesOutAsItself) {
  for (const int jobs : {1, 2, 7}) {
    std::atomic<int> asked{0};
    LoopOptions loop;
    loop.jobs = jobs;
    EXPECT_THROW(searched_with(
                     [&] {
                       return std::make_unique<Afterwards>([&] {
                         if (++asked == 40) throw std::out_of_range("the fortieth");
                       });
                     },
                     loop),
                 std::out_of_range);
  }
}

TEST(Executor, ModelsAreOneForEachWorkerAtMost) {
  int made = 0;  // the factory is never asked by two threads at once
  LoopOptions loop;
  loop.jobs = 3;
  loop.max_evaluations = 200;
  searched_with(
      [&] {
        ++made;
        return std::make_unique<Afterwards>([busy = std::make_shared<std::atomic<int>>(0)] {
          EXPECT_EQ(++*busy, 1) << "two points at once in one model";
          --*busy;
        });
      },
      loop);
  EXPECT_GE(made, 1);
  EXPECT_LE(made, 3);
}

/// Ctrl-C in `extract`, beside its searches.
TEST(Executor, MappingAndLoweringLeaveWhenAsked) {
  const SmallProblem& problem = on_commands();
  ScheduleOptions options;
  options.max_evaluations = 40;
  const auto found = schedule(problem.kernel, problem.mapped, problem.model, options);
  ASSERT_TRUE(found);
  const std::function<bool()> yes = [] { return true; };
  const StopWhen scope(yes);
  EXPECT_THROW((void)enumerate_mappings(problem.kernel, problem.model, {}), EndedEarly);
  EXPECT_THROW((void)lower(found->schedule, problem.kernel, problem.model), EndedEarly);
}

/// Ctrl-C while every evaluation takes seconds.
TEST(Executor, EndsWithinAnEvaluation) {
  using Clock = std::chrono::steady_clock;
  for (const int jobs : {1, 2}) {
    std::atomic<int> asked{0};
    Clock::time_point stop;
    LoopOptions loop;
    loop.jobs = jobs;
    loop.progress = [&](std::int64_t, double) {
      if (asked <= 50) return true;
      if (stop == Clock::time_point{}) stop = Clock::now();
      return false;
    };
    const Found found = searched_with(
        [&] {
          return std::make_unique<Afterwards>([&] {
            if (++asked <= 50) return;
            for (int i = 0; i < 20'000; ++i) {
              std::this_thread::sleep_for(std::chrono::milliseconds(1));
              leave_if_asked();
            }
          });
        },
        loop);
    EXPECT_LT(Clock::now() - stop, std::chrono::milliseconds(2000)) << jobs;  // 0.2 s on a machine of its own
    EXPECT_TRUE(found.stopped);
    EXPECT_FALSE(found.exhausted);
    EXPECT_TRUE(found.best);
    EXPECT_GE(found.evaluations, 32);
    EXPECT_LE(found.evaluations, 50);
  }
}

/// Ctrl-C, or the end of the time, while a strategy trains.
TEST(Executor, EndsWhileAStrategyTrains) {
  struct Trains final : SearchStrategy {
    explicit Trains(const SearchSpace& space) : space_(space) {}
    std::optional<Point> next() override {
      for (; !first; leave_if_asked()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      first = false;
      return space_.repair(space_.random(1));
    }
    std::size_t makes() override {
      for (; makes_too && !first; leave_if_asked()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return 0;
    }
    void report(const Point&, std::optional<double>) override {}
    bool exhausted() const override { return true; }
    bool first = true, makes_too = false;

   private:
    const SearchSpace& space_;
  };
  for (const bool makes_too : {false, true}) {
    Trains strategy(on_levels().space);
    strategy.makes_too = makes_too;
    LoopOptions loop;
    int polls = 0;
    loop.progress = [&](std::int64_t, double) { return ++polls < 4; };
    const Found found = search(on_levels().space, strategy, make_cost_model_closed_form, loop);
    EXPECT_TRUE(found.stopped);
    EXPECT_FALSE(found.exhausted);
    EXPECT_EQ(found.evaluations, 1);
    Trains until(on_levels().space);
    until.makes_too = makes_too;
    const auto begin = std::chrono::steady_clock::now();
    loop.progress = {};
    loop.out_of_time = [&] { return std::chrono::steady_clock::now() - begin > std::chrono::milliseconds(100); };
    EXPECT_EQ(search(on_levels().space, until, make_cost_model_closed_form, loop).evaluations, 1);
  }
}

}  // namespace
}  // namespace isamap

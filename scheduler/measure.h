// SPDX-License-Identifier: Apache-2.0
#pragma once
// Timing of programs: each is first checked against the interpreter.

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "isamap/cost_model.h"
#include "isamap/interpret.h"

namespace isamap {

/// Inputs, and what the interpreter makes of them: for the kernels that were asked for last, whose programs are
/// measured in several calls.
class ReferenceResults {
 public:
  struct Case {
    std::vector<TensorData> inputs, expected;
    std::vector<std::vector<double>> bounds;  ///< of errors, by tensor and element (ir/evaluation/error_bounds.h)
  };
  using Cases = std::vector<Case>;  ///< small integers; with floats also reals

  /// One for each kernel, in their order; equal kernels share theirs.
  std::vector<std::shared_ptr<const Cases>> of(const std::vector<const Kernel*>& kernels, std::uint64_t seed);

 private:
  struct Interpreted {
    Kernel kernel;
    std::shared_ptr<const Cases> cases;
  };
  std::shared_ptr<const Cases> known(const Kernel& kernel) const;

  std::mutex mutex_;
  std::vector<Interpreted> all_;  ///< this and the following are guarded
  std::uint64_t seed_ = 0;
};

/// Programs whose times are nearer than this are as fast as each other. From one process to the next the time of a
/// program, itself a median of many runs, differs by 0.8 % to 1 % (standard deviation), whether it is repeated for 1, 5
/// or 20 ms, and medians of three such times by 0.7 % (candidates of gemm and conv2d on x86_avx2, a Zen 5, real-time
/// priority).
constexpr double as_fast = 1.01;

/// Programs that are timed beside compilers, and which of them are timed alone. Measured with the 24 cheapest
/// candidates of two searches each of gemm, conv2d and pointwise on x86_avx2 (bench/screening.py; a Zen 5, two
/// processors that others used too, real-time priority): times beside compilers are 0.98 to 1.02 of those alone for
/// eight programs of ten, in proportion to the fastest. The chosen program then took 1.00 (four times) and 1.01 (twice)
/// times as long as the fastest of all 24. Without priority on another machine the former were 0.86 to 1.46.
struct ScreeningOptions {
  /// Programs that were slower than the fastest by more than this are not.
  double worth_timing_alone = 1.1;
  std::size_t most_finalists = 3;  ///< that are timed alone; more only if times are equal. So few programs all are
  int times = 2;                   ///< beside compilers, of a program, if there are more; as many rounds fewer follow
  /// A first time that is longer than the least one by this factor is not taken for a disturbed one.
  double worth_another_time = 1.6;
};

struct MeasureOptions {
  int rounds = 5;              ///< timings of a program that may be the fastest, interleaved: A B C A B C
  double min_seconds = 0.005;  ///< of each timing; longer ones are no more alike (`as_fast`)
  std::uint64_t seed = 0;      ///< of the data
  RunLimits limits;
  ScreeningOptions screening = {};
  int jobs = 1;                        ///< programs compiled, and compared, at a time
  std::function<bool()> stopped = {};  ///< true: what is measured so far is enough
  /// Makes a runner like the one that measures, for each thread that compares; empty: one thread compares.
  std::function<std::unique_ptr<Runner>()> make_another = {};
  /// Called before the first timing; what it returns lives until the last one, such as a lock of the machine.
  std::function<std::shared_ptr<void>()> alone = {};
  /// What will be needed later, done while programs are compiled; empty: nothing.
  std::function<void()> ahead = {};
  std::shared_ptr<ReferenceResults> references = std::make_shared<ReferenceResults>();  ///< copies share them
};

struct Measured {
  RunVerdict verdict = RunVerdict::not_run;
  std::string problem;  ///< why it has no time: "wrong result: C[3,1]: 12 instead of 13"
  ExecutionMode executed = ExecutionMode::unavailable;
  std::string compiler = {};  ///< its command; empty: none
  double seconds = 0;         ///< median; 0: not a clock
  double cycles = 0;          ///< simulators: of instructions and of scalar code
  bool interrupted = false;   ///< not measured: `stopped` came first
  bool correct() const { return verdict == RunVerdict::correct; }
  double value() const { return seconds > 0 ? seconds : cycles; }
};

/// The one to choose: of those that are as fast as the fastest, the first, so that noise does not decide between them
/// (whoever made the programs preferred it). Cycles of simulators are exact. Nothing: none was measured.
std::optional<std::size_t> fastest(const std::vector<Measured>& measured);

/// Interleaved, so that transient slowdowns of the machine affect all programs and medians stay comparable. From the
/// third round on, programs are left out whose fastest time is above the slowest of the fastest program by more than
/// the times of that one differ: their medians are those of fewer times.
/// With several jobs and processors each program is timed beside the compilers of others (scheduler/screening.h),
/// and those near the fastest again, in these rounds, with nothing else running. Only they can be the fastest: the time
/// of another one is its time beside compilers in proportion to that of the fastest.
/// Each program is compared with the interpreter's results for its own kernel: programs of one kernel differ there if
/// their schedules split statements (scheduler/nest/scheduled_kernel.h). Inputs have the same numbers in all of them.
std::vector<Measured> measure(const std::vector<Program>& programs, Runner& runner, const MeasureOptions& options);

/// A program that is wanted only if another one is the fastest: the same one built by another compiler, or a variant.
struct Follower {
  Program program;
  std::unique_ptr<Runner> runner;
};
/// Made for the program of this number, in any thread, one at a time.
using MakeFollowers = std::function<std::vector<Follower>(std::size_t)>;

/// Followers of the program to choose, if they were made for it.
struct Followed {
  std::optional<std::size_t> of;   ///< none: they were not, or nothing was timed beside compilers
  std::vector<Program> programs;   ///< of the followers
  std::vector<Measured> measured;  ///< in the rounds of the programs
};

/// The same, and followers of the program to choose: those of the one that times beside compilers would choose are
/// compiled while the last programs are timed so, and timed in the rounds of the programs, which they change nothing
/// about. Those of another kernel are not correct.
std::vector<Measured> measure(const std::vector<Program>& programs, Runner& runner, const MeasureOptions& options,
                              const MakeFollowers& followers, Followed& followed);

/// A cost model that runs the emitted program once. Seconds become cycles by the clock of the machine. Candidates with
/// wrong results are illegal.
std::unique_ptr<CostModel> make_cost_model_measured(Runner& runner, const MeasureOptions& options);

}  // namespace isamap

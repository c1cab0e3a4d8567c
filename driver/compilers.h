// SPDX-License-Identifier: Apache-2.0
#pragma once
// Times a program compiled by each available compiler.

#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "isamap/backend.h"
#include "isamap/hardware.h"
#include "isamap/program.h"
#include "lab/trial_store.h"
#include "scheduler/measure.h"

namespace isamap {

using CompilerTimer = std::function<std::vector<lab::CompilerRecord>(const Program& program, const HardwareModel&)>;

/// What is wanted of the fastest candidate of a statement.
struct FollowUp {
  bool compilers = false;                                          ///< its times by every compiler
  std::function<std::vector<Program>(std::size_t)> variants = {};  ///< of a candidate; called in any thread
};

/// Times of builds by other compilers, and of variants, from the rounds in which their program was the fastest
/// candidate. They are built beside the last candidates, so that no thread waits for them; as far as the fastest beside
/// compilers is the fastest in the rounds, no further rounds follow.
class TimesOfFastest {
 public:
  struct ByCompiler {
    Program program;
    std::vector<CompilerCommand> commands;
    std::vector<Measured> measured;  ///< by command
  };

  /// measure() of scheduler/measure.h; `runner` and `options` are of the default compiler. A program and its variants,
  /// in their order, keep the times that are known.
  std::vector<Measured> measure(const std::vector<Program>& programs, Runner& runner, const MeasureOptions& options,
                                const HardwareModel& model, const FollowUp& wanted);
  /// Null: there are no such times.
  const ByCompiler* by_compiler(const Program& program) const;

 private:
  void keep(const Program& program, const Measured& own, const Followed& followed,
            const std::vector<CompilerCommand>& commands);

  struct Variants {
    std::vector<Program> programs;  ///< the first is the program itself
    std::vector<Measured> measured;
  };
  std::optional<ByCompiler> by_compiler_;
  std::optional<Variants> variants_;
};

/// Interleaved timing; compilers whose program fails or computes wrong results are excluded. The fastest is remembered
/// for later runs (include/isamap/backend.h). Empty for models whose programs are not C++. `times`: of what is known
/// already; null: nothing is.
CompilerTimer by_every_compiler(const MeasureOptions& options, const std::shared_ptr<TimesOfFastest>& times = nullptr);

/// The fastest, the first of ties; null: the list is empty.
const lab::CompilerRecord* fastest(const std::vector<lab::CompilerRecord>& compilers);

/// Precompiles the headers that programs of a machine include, in a thread of its own, while their schedules are
/// searched. Only saves time; its end waits for the compiler.
class HeadersAhead {
 public:
  explicit HeadersAhead(const HardwareModel& model);
  ~HeadersAhead();
  HeadersAhead(const HeadersAhead&) = delete;
  HeadersAhead& operator=(const HeadersAhead&) = delete;

 private:
  HardwareModel model_;
  std::vector<std::thread> threads_;
};

}  // namespace isamap

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

/// Times of a program by every compiler from the rounds in which it was the fastest candidate. Its builds by the other
/// compilers are made beside the last candidates, so that nobody waits for them; as far as the fastest beside compilers
/// is the fastest in the rounds, no further rounds follow.
class CompilerTimes {
 public:
  struct Known {
    Program program;
    std::vector<CompilerCommand> commands;
    std::vector<Measured> measured;  ///< by command
  };

  /// measure() of scheduler/measure.h, and of other compilers unless one of the programs is known.
  std::vector<Measured> measure(const std::vector<Program>& programs, Runner& runner, const MeasureOptions& options,
                                const HardwareModel& model);
  /// Null: it has no such times.
  const Known* of(const Program& program) const;

 private:
  void keep(const Program& program, const Measured& own, std::vector<Measured> others,
            const std::vector<CompilerCommand>& commands);

  std::optional<Known> known_;
};

/// Interleaved timing; compilers whose program fails or computes wrong results are excluded. The fastest is remembered
/// for later runs (include/isamap/backend.h). Empty for models whose programs are not C++. `times`: of what is known
/// already; null: nothing is.
CompilerTimer by_every_compiler(const MeasureOptions& options, const std::shared_ptr<CompilerTimes>& times = nullptr);

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

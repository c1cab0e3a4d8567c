// SPDX-License-Identifier: Apache-2.0
#pragma once
// Times a program compiled by each available compiler.

#include <functional>
#include <thread>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/program.h"
#include "lab/trial_store.h"
#include "scheduler/measure.h"

namespace isamap {

using CompilerTimer = std::function<std::vector<lab::CompilerRecord>(const Program& program, const HardwareModel&)>;

/// Interleaved timing; compilers whose program fails or computes wrong results are excluded. The fastest is remembered
/// for later runs (include/isamap/backend.h). Empty for models whose programs are not C++.
CompilerTimer by_every_compiler(const MeasureOptions& options);

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

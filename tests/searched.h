// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the whole compiler makes of a kernel: mapped, scheduled and lowered, with every step checked to succeed.

#include <gtest/gtest.h>

#include "isamap/mapper.h"
#include "isamap/scheduler.h"

namespace isamap {

/// `evaluations` 0: the search's own limit; `instruction`: only this one. A step that fails fails the test; the program
/// is empty then.
inline Program searched(const Kernel& kernel, const HardwareModel& model, std::int64_t evaluations = 0,
                        const std::string& instruction = "") {
  MapOptions with;
  with.instruction = instruction;
  const auto mapped = enumerate_mappings(kernel, model, with);
  EXPECT_TRUE(mapped) << render(mapped.diagnostics());
  if (!mapped) return {};
  ScheduleOptions options;
  if (evaluations > 0) options.max_evaluations = evaluations;
  options.compare_scalar = false;  // kernels of tests are small, and their instructions are what is tested
  const auto scheduled = schedule(kernel, *mapped, model, options);
  EXPECT_TRUE(scheduled) << render(scheduled.diagnostics());
  if (!scheduled) return {};
  auto made = lower(scheduled->schedule, kernel, model);
  EXPECT_TRUE(made) << render(made.diagnostics());
  return made ? *made : Program{};
}

}  // namespace isamap

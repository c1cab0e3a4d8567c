// SPDX-License-Identifier: Apache-2.0
#pragma once
// Schedules that are lowered, verified and run by the program interpreter against the kernel interpreter.

#include <gtest/gtest.h>

#include "isamap/frontends.h"
#include "isamap/hardware.h"
#include "isamap/interpret.h"
#include "isamap/program_on_machine.h"
#include "isamap/scheduler.h"

namespace isamap {

inline HardwareModel machine(const std::string& name) {
  auto loaded = load_hardware(name, {std::string(ISAMAP_SOURCE_DIR) + "/hardware_models"});
  EXPECT_TRUE(loaded) << render(loaded.diagnostics());
  return loaded->model;
}

inline Kernel formula(const std::string& compute, const std::string& dims, const std::string& dtypes = "") {
  auto kernel = kernel_from_formula(compute, dims, dtypes);
  EXPECT_TRUE(kernel) << render(kernel.diagnostics());
  return *kernel;
}

inline Schedule schedule_of(const std::vector<std::vector<std::string>>& nests) {
  Schedule schedule;
  for (const std::vector<std::string>& lines : nests) {
    schedule.nests.emplace_back();
    for (const std::string& text : lines) {
      auto line = parse_line(text);
      EXPECT_TRUE(line) << text << "\n" << render(line.diagnostics());
      schedule.nests.back().lines.push_back(*line);
    }
  }
  return schedule;
}

inline Schedule schedule_of(const std::vector<std::string>& lines) {
  return schedule_of(std::vector<std::vector<std::string>>{lines});
}

inline void expect_schedule_right(const Kernel& kernel, const HardwareModel& model, const Schedule& schedule) {
  auto program = lower(schedule, kernel, model);
  ASSERT_TRUE(program) << render(program.diagnostics());
  const auto again = parse_program(print(*program, model), model);
  ASSERT_TRUE(again) << render(again.diagnostics()) << print(*program, model);
  EXPECT_EQ(print(*again, model), print(*program, model));
  EXPECT_TRUE(*again == *program);
  Random random(7);
  std::vector<TensorData> expected;
  for (const Tensor& tensor : kernel.tensors) expected.push_back(random_data(tensor, Fill::integers, random));
  std::vector<TensorData> found = expected;
  interpret(kernel, expected);
  auto counts = interpret(*program, model, found);
  ASSERT_TRUE(counts) << render(counts.diagnostics());
  for (std::size_t t = 0; t < kernel.tensors.size(); ++t) {
    if (role_of(kernel, make_id<TensorId>(t)) != Role::output) continue;
    EXPECT_EQ(expected[t].bytes, found[t].bytes) << kernel.tensors[t].name;
  }
}

inline void expect_right(const Kernel& kernel, const HardwareModel& model, const std::vector<std::string>& lines) {
  expect_schedule_right(kernel, model, schedule_of(lines));
}

}  // namespace isamap

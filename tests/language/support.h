// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels of the statement language: read, printed and read again, interpreted, and run on machines.

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "ir/text/parse.h"
#include "isamap/backend.h"
#include "isamap/compile.h"
#include "isamap/frontends.h"
#include "isamap/hardware.h"
#include "isamap/interpret.h"
#include "isamap/program_on_machine.h"
#include "isamap/scheduler.h"
#include "tests/every.h"

namespace isamap {

/// The kernel of a file; its text form and its file form are read as the same kernel.
inline Kernel kernel_of(const std::string& text) {
  const auto kernel = parse_kernel_yaml(text, "k.yaml");
  EXPECT_TRUE(kernel) << render(kernel.diagnostics()) << text;
  if (!kernel) return {};
  const auto again = parse_kernel(print(*kernel));
  EXPECT_TRUE(again && *again == *kernel) << print(*kernel) << (again ? print(*again) : render(again.diagnostics()));
  const auto file = kernel_file(*kernel);
  EXPECT_TRUE(file) << render(file.diagnostics());
  return *kernel;
}

/// All problems of a file, rendered.
inline std::string problems_of(const std::string& text) {
  const auto kernel = parse_kernel_yaml(text, "k.yaml");
  return kernel ? "" : render(kernel.diagnostics());
}

/// A tensor's data by name.
inline TensorData& data_of(const Kernel& kernel, std::vector<TensorData>& data, const std::string& name) {
  for (std::size_t t = 0; t < kernel.tensors.size(); ++t)
    if (kernel.tensors[t].name == name) return data[t];
  ADD_FAILURE() << "no tensor " << name;
  return data.front();
}

inline double number_at(const TensorData& data, std::int64_t at) {
  const Scalar value = data.get(at);
  return is_float(data.dtype) ? value.real : static_cast<double>(value.integer);
}

/// Interpreted on whole numbers.
inline std::vector<TensorData> interpreted(const Kernel& kernel, std::uint64_t seed = 3) {
  std::vector<TensorData> data = random_data(kernel, Fill::integers, seed);
  interpret(kernel, data);
  return data;
}

/// Searched, lowered, interpreted as a program and run by the machine, or its emulation, as the interpreter of kernels
/// says; the program's text is read as the same program.
inline void expect_right_on(const Kernel& kernel, const std::string& machine) {
  SCOPED_TRACE(machine + "\n" + print(kernel));
  const auto loaded = load_hardware(machine, {ISAMAP_SOURCE_DIR "/hardware_models"});
  ASSERT_TRUE(loaded) << render(loaded.diagnostics());
  const HardwareModel& model = loaded->model;
  const Availability available = availability(model);
  if (available.how == ExecutionMode::unavailable) return;
  const auto runner = make_runner(model);
  CompileOptions options;
  options.schedule.objective = Objective::cycles;
  options.schedule.strategy = "greedy";
  options.schedule.compare_scalar = false;  // small kernels too are to use instructions
  const Compilation compiled = compile(kernel, model, options);
  ASSERT_TRUE(compiled.program) << render(compiled.problems);
  for (const std::uint64_t seed : {5, 6}) {
    std::vector<TensorData> expected = random_data(kernel, Fill::integers, seed), found = expected, walked = expected;
    interpret(kernel, expected);
    ASSERT_TRUE(interpret(*compiled.program, model, walked));
    const Comparison walk = compare(kernel, expected, walked);
    ASSERT_TRUE(walk.equal) << walk.first_difference << "\n" << print(*compiled.program, model);
    const auto again = parse_program(print(*compiled.program, model), model);
    ASSERT_TRUE(again) << render(again.diagnostics());
    ASSERT_EQ(print(*again, model), print(*compiled.program, model));  // equal reads of points are one read
    const auto outcome = runner->run(*compiled.program, found, RunLimits{}, 0);
    ASSERT_TRUE(outcome) << render(outcome.diagnostics());
    if (!outcome->missing.empty()) return;
    ASSERT_EQ(outcome->limit + outcome->environment, "");
    const Comparison comparison = compare(kernel, expected, found);
    ASSERT_TRUE(comparison.equal) << comparison.first_difference << "\n" << print(compiled.scheduled->schedule);
  }
}

/// On a processor, and the first and every third kernel of a process on a GPU too.
inline void expect_right(const Kernel& kernel) {
  static Every third(3);
  expect_right_on(kernel, "x86_avx2");
  if (!third.skips()) expect_right_on(kernel, "nvidia_sm80");
}

}  // namespace isamap

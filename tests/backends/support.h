// SPDX-License-Identifier: Apache-2.0
#pragma once
// Small machines and programs for the backends' tests, and the question they all ask: does what was printed compute
// what the program's interpreter computes?

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ir/text/parse.h"
#include "isamap/backend.h"
#include "isamap/hardware.h"
#include "isamap/interpret.h"
#include "isamap/program_on_machine.h"

namespace isamap {

/// A model of hardware_models.
inline HardwareModel machine(const std::string& name) {
  const std::string folder = std::string(ISAMAP_SOURCE_DIR) + "/hardware_models";
  auto loaded = load_hardware(folder + "/" + name + ".yaml", {folder});
  EXPECT_TRUE(loaded) << render(loaded.diagnostics());
  return loaded ? loaded->model : HardwareModel{};
}

inline Program program(const HardwareModel& model, const std::string& text) {
  auto parsed = parse_program(text, model);
  EXPECT_TRUE(parsed) << render(parsed.diagnostics());
  return parsed ? *parsed : Program{};
}

inline std::vector<TensorData> inputs(const Program& program, std::uint64_t seed) {
  Random random(seed);
  std::vector<TensorData> data;
  for (const Tensor& tensor : program.kernel.tensors) data.push_back(random_data(tensor, Fill::integers, random));
  return data;
}

/// Runs the printed program; its outputs must be the interpreter's, bit for bit.
inline void expect_same(const Program& program, const HardwareModel& model, std::uint64_t seed = 1) {
  auto expected = inputs(program, seed), found = expected;
  auto counts = interpret(program, model, expected);
  ASSERT_TRUE(counts) << render(counts.diagnostics());
  auto outcome = make_runner(model)->run(program, found, RunLimits{}, 0);
  ASSERT_TRUE(outcome) << render(outcome.diagnostics());
  if (!outcome->missing.empty()) GTEST_SKIP() << outcome->missing;
  for (std::size_t t = 0; t < program.kernel.tensors.size(); ++t)
    if (role_of(program.kernel, make_id<TensorId>(t)) == Role::output) {
      ASSERT_EQ(expected[t].bytes.size(), found[t].bytes.size());
      for (std::int64_t i = 0; i < found[t].count(); ++i)
        ASSERT_EQ(expected[t].get(i), found[t].get(i))
            << program.kernel.tensors[t].name << " at " << i << ", seed " << seed;
    }
}

}  // namespace isamap

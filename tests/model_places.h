// SPDX-License-Identifier: Apache-2.0
#pragma once
// Places of tensors in a linked model, and what stands there after a run.

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "backends/model_runner.h"
#include "driver/plan/plan_model.h"
#include "driver/run_model.h"

namespace isamap {

/// Where a call of the linked model has the tensor of this name. Throws where it has none.
inline ModelPlace& place_in(ModelProgram& linked, const CompiledModel& compiled, std::size_t call,
                            const std::string& name) {
  const auto& buffers = linked.programs[linked.calls[call].program].buffers;
  const Kernel& kernel = compiled.parts[call].kernel;
  for (std::size_t b = 0; b < buffers.size(); ++b)
    if (buffers[b].role == BufferRole::argument && !buffers[b].ahead_of_time &&
        kernel.tensors[buffers[b].tensor.index()].name == name)
      return linked.calls[call].arguments[b];
  throw std::runtime_error("no tensor " + name);
}

/// The bytes at a place after the last call of a run.
inline std::vector<std::uint8_t> bytes_after(const ModelProgram& linked, const HardwareModel& machine,
                                             const TensorData& input, const TracedArray& array) {
  std::vector<std::vector<TracedArray>> traced(linked.calls.size());
  traced.back() = {array};
  std::vector<std::uint8_t> found;
  const auto outcome = run_model_program(linked, machine, {input}, traced, {},
                                         [&](std::size_t call, const std::vector<std::vector<std::uint8_t>>& arrays) {
                                           if (call + 1 == linked.calls.size()) found = arrays[0];
                                           return true;
                                         });
  EXPECT_TRUE(outcome) << render(outcome.diagnostics());
  return found;
}

}  // namespace isamap

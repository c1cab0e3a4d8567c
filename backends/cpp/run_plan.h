// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which arrays a run has, and what it passes to the entries of a printed file.

#include <filesystem>
#include <vector>

#include "backends/cpp/driver.h"
#include "isamap/interpret.h"

namespace isamap {

struct RunPlan {
  std::vector<RunArray> arrays;
  std::vector<TensorId> tensors;                   ///< of each array; invalid for packed buffers and the workspace
  std::vector<std::vector<std::int64_t>> strides;  ///< of each array
  RunCall pack, entry;
};

/// `by_name`: the entries themselves are called, not what stands for them where the language has no other way.
RunPlan make_run_plan(const Program& program, const TranslationUnit& unit, bool by_name);

/// Writes "N.in" for each array that is read; false: it cannot.
bool write_inputs(const RunPlan& plan, const std::vector<TensorData>& data, const std::filesystem::path& folder);

/// Takes each output from "N.out". A file that is missing or too short is a diagnostic.
std::optional<Diagnostic> read_outputs(const RunPlan& plan, const Program& program, std::vector<TensorData>& data,
                                       const std::filesystem::path& folder);

}  // namespace isamap

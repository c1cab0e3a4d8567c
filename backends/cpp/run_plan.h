// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arrays of a run and the arguments of the entries of a printed file.

#include <filesystem>
#include <vector>

#include "backends/cpp/driver.h"
#include "isamap/interpret.h"

namespace isamap {

struct RunPlan {
  std::vector<RunArray> arrays;
  std::vector<TensorId> tensors;                   ///< by array; invalid for packed buffers and the workspace
  std::vector<std::vector<std::int64_t>> strides;  ///< by array
  RunCall pack, entry;
};

/// `by_name`: calls the entries themselves, not their wrappers (CUDA).
RunPlan make_run_plan(const Program& program, const TranslationUnit& unit, bool by_name);

/// Writes "N.in" for each array that is read; false: writing failed.
bool write_inputs(const RunPlan& plan, const std::vector<TensorData>& data, const std::filesystem::path& folder);

/// Reads each output from "N.out". A missing or short file is a diagnostic.
std::optional<Diagnostic> read_outputs(const RunPlan& plan, const Program& program, std::vector<TensorData>& data,
                                       const std::filesystem::path& folder);

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared by the runners of whole models.

#include <filesystem>

#include "backends/common/process.h"
#include "backends/model_runner.h"

namespace isamap {

/// The command that executes `program` of the folder, by the machine's emulator if need be.
std::vector<std::string> model_command(const HardwareModel& machine, ExecutionMode executed,
                                       const std::filesystem::path& program, const std::filesystem::path& folder,
                                       double min_seconds);
/// Executes it; false: the outcome says what is missing, or which limit was reached.
Result<bool> execute_model(const std::string& name, const HardwareModel& machine, const std::filesystem::path& program,
                           const std::filesystem::path& folder, double min_seconds, ModelOutcome& outcome);
/// Bytes of each array in order, by part.
std::optional<Diagnostic> read_model_trace(const std::filesystem::path& file,
                                           const std::vector<std::vector<std::int64_t>>& bytes,
                                           const TraceReader& read);
/// "seconds S", "arena N" and "part N S".
void read_model_times(const std::filesystem::path& file, ModelOutcome& outcome);

}  // namespace isamap

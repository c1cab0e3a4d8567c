// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cross execution: programs for another machine, each a self-contained folder, and the import of its results.

#include <filesystem>
#include <memory>

#include "backends/cpp/run_plan.h"
#include "isamap/hardware.h"

namespace isamap {

/// The folder of a program below `folder`: named by a hash of its text, so that it is found again only if it is
/// unchanged.
std::filesystem::path device_program_folder(const std::filesystem::path& folder, const std::string& text);

/// Runs nothing: writes kernel.cu, program.cpp (host code and a main that runs it on a GPU), the inputs N.in, and the
/// interpreter's results N.expected. `executed` is "written".
std::unique_ptr<Runner> make_device_writer(const HardwareModel& model, const std::filesystem::path& folder);

/// Reads the results of a machine in those folders (N.out): `executed` is "native"; without results, `missing` says so.
std::unique_ptr<Runner> make_device_reader(const HardwareModel& model, const std::filesystem::path& folder);

/// Compiles every kernel.cu below `folder` to GPU code if nvcc is installed. Returns the count, or the reason.
Result<std::int64_t> make_device_code(const HardwareModel& model, const std::filesystem::path& folder);

}  // namespace isamap

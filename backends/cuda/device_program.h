// SPDX-License-Identifier: Apache-2.0
#pragma once
// Programs for another machine: each a folder with all that it takes to run there, and to take back what it computed.

#include <filesystem>
#include <memory>

#include "backends/cpp/run_plan.h"
#include "isamap/hardware.h"

namespace isamap {

/// The folder of a program below `folder`: named by its text, so that it is found again, and only if it is the same.
std::filesystem::path device_program_folder(const std::filesystem::path& folder, const std::string& text);

/// Runs nothing: writes kernel.cu, program.cpp (the host's part, and a main that runs it on a GPU), N.in, and in
/// N.expected what the interpreter makes of them. `executed` is "written".
std::unique_ptr<Runner> make_device_writer(const HardwareModel& model, const std::filesystem::path& folder);

/// Takes what a machine left in those folders (N.out) for the result: `executed` is "native"; where there is none,
/// `missing` says so.
std::unique_ptr<Runner> make_device_reader(const HardwareModel& model, const std::filesystem::path& folder);

/// Code for the GPU beside every kernel.cu below `folder`, where nvcc is installed. What was made: a count, or why not.
Result<std::int64_t> make_device_code(const HardwareModel& model, const std::filesystem::path& folder);

}  // namespace isamap

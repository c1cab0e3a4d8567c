// SPDX-License-Identifier: Apache-2.0
#pragma once
// A program as one file of CUDA C++: kernels, and the function that launches them. Without the target's compiler the
// same file is plain C++20 beside `emulation_header()`, and its entry is NAME_emulated.

#include "backends/cpp/compile.h"
#include "backends/cpp/translation_unit.h"

namespace isamap {

/// Every array is in the memory of the device; `NAME(arguments..., stream)` returns what the launches return.
Result<TranslationUnit> print_cuda(const Program& program, const HardwareModel& model);

/// What the launching functions of a printed file need to go through the driver of a GPU (device/), as a header, and
/// the name by which the file includes it when ISAMAP_HOST_PART is defined: its kernels are then compiled apart.
const std::string& device_header();
constexpr const char* device_header_name = "isamap_device.h";

/// The execution model as a header, and the name by which a printed file includes it (emulation/).
const std::string& emulation_header();
constexpr const char* emulation_header_name = "isamap_emulation.h";
/// What of it programs share (emulation/threads.h).
SharedPart emulation_part();

}  // namespace isamap

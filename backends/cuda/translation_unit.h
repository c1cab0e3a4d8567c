// SPDX-License-Identifier: Apache-2.0
#pragma once
// A program as one file of CUDA C++: kernels and the function that launches them. Without nvcc the same file compiles
// as plain C++20 with `emulation_header()`, and its entry is NAME_emulated.

#include "backends/cpp/compile.h"
#include "backends/cpp/translation_unit.h"

namespace isamap {

/// Every array is in device memory; `NAME(arguments..., stream)` returns the status of the launches.
Result<TranslationUnit> print_cuda(const Program& program, const HardwareModel& model);

/// Header of the driver API for the launching functions of a printed file (device/), and the name by which the file
/// includes it when ISAMAP_HOST_PART is defined: kernels are then compiled separately.
const std::string& device_header();
constexpr const char* device_header_name = "isamap_device.h";

/// The emulation as a header, and the name by which a printed file includes it (emulation/).
const std::string& emulation_header();
constexpr const char* emulation_header_name = "isamap_emulation.h";
/// Its part that programs share as one object file (emulation/threads.h).
SharedPart emulation_part();

}  // namespace isamap

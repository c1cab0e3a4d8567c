// SPDX-License-Identifier: Apache-2.0
#pragma once
// Headers of printed kernels as texts, which CMake puts into the library (header_texts.cpp.in). Apart from the printer,
// as those who only write these files need none of its headers.

#include <string>

namespace isamap {

/// Header of the driver API for the launching functions of a printed file (device/), and the name by which the file
/// includes it when ISAMAP_HOST_PART is defined: kernels are then compiled separately.
const std::string& device_header();
constexpr const char* device_header_name = "isamap_device.h";

/// The emulation as a header, and the name by which a printed file includes it (emulation/).
const std::string& emulation_header();
constexpr const char* emulation_header_name = "isamap_emulation.h";

}  // namespace isamap

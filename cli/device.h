// SPDX-License-Identifier: Apache-2.0
#pragma once
// This machine, as measurements name it (jobs/device.h).

#include <string>

namespace isamap::cli {

/// The key of this machine, with the compilers that are here ($CXX, or g++ and clang++). Asked once a process.
std::string device_here();
/// The facts behind it, a line each.
std::string device_text();

}  // namespace isamap::cli

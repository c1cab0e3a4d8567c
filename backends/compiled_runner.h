// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runner of compiled languages: compiles emitted C++ or CUDA and executes it in a child process.

#include <memory>

#include "isamap/hardware.h"
#include "isamap/interpret.h"

namespace isamap {

std::unique_ptr<Runner> make_cpp_runner(const HardwareModel& model, bool workspace = false);

}  // namespace isamap

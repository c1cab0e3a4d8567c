// SPDX-License-Identifier: Apache-2.0
#pragma once
// Emitted C++, compiled and run in a child process.

#include <memory>

#include "hwdesc/hardware_model.h"
#include "ir/runner.h"

namespace isamap {

std::unique_ptr<Runner> make_cpp_runner(const HardwareModel& model, bool workspace = false);

}  // namespace isamap

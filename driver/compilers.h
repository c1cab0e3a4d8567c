// SPDX-License-Identifier: Apache-2.0
#pragma once
// The same program by every compiler that this machine has for it.

#include <functional>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/program.h"
#include "lab/trial_store.h"

namespace isamap {

using CompilerTimer = std::function<std::vector<lab::CompilerRecord>(const Program& program, const HardwareModel&)>;

/// By compiling and timing, in turn; those whose program fails or computes something else are left out. The faster one
/// is remembered for later runs (include/isamap/backend.h). Nothing for models whose programs no C++ compiler makes.
CompilerTimer by_every_compiler(std::uint64_t seed);

/// The fastest, the first of equal ones; null: the list is empty.
const lab::CompilerRecord* fastest(const std::vector<lab::CompilerRecord>& compilers);

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Times a program compiled by each available compiler.

#include <functional>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/program.h"
#include "lab/trial_store.h"
#include "scheduler/measure.h"

namespace isamap {

using CompilerTimer = std::function<std::vector<lab::CompilerRecord>(const Program& program, const HardwareModel&)>;

/// Interleaved timing; compilers whose program fails or computes wrong results are excluded. The fastest is remembered
/// for later runs (include/isamap/backend.h). Empty for models whose programs are not C++.
CompilerTimer by_every_compiler(const MeasureOptions& options);

/// The fastest, the first of ties; null: the list is empty.
const lab::CompilerRecord* fastest(const std::vector<lab::CompilerRecord>& compilers);

}  // namespace isamap

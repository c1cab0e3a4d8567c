// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a program makes a backend print: instructions, whole and at edges, and arithmetic of scalar code.

#include <set>
#include <string>

#include "isamap/hardware.h"
#include "isamap/program.h"

namespace isamap::conformance {

/// "fma_f32", "load_f32_masked at an edge", "1 3 f32 by itself" (alternative, operation and type of an expression).
std::set<std::string> features(const Program& program, const HardwareModel& model);

}  // namespace isamap::conformance

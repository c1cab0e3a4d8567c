// SPDX-License-Identifier: Apache-2.0
#pragma once
// Multi-versioning for machine sizes known at run time only: the entry reads them and dispatches to a version.

#include <string>

#include "backends/cpp/emit_functions.h"

namespace isamap {

/// Does the program depend on sizes read at run time?
bool asks_for_sizes(const Program& program, const HardwareModel& model);

/// The functions of the program and of its versions, and the dispatching entry: it selects the largest version valid at
/// the machine's sizes; if none is, it prints a message and aborts.
Result<TranslationUnit> print_versions(const Program& program, const HardwareModel& model, Surroundings& around);

/// Compile-time sizes are checked against the assumption.
std::string compiled_for(const HardwareModel& model);

}  // namespace isamap

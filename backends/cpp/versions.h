// SPDX-License-Identifier: Apache-2.0
#pragma once
// One entry for a machine whose sizes are known when the program runs: it asks for them and chooses among programs.

#include <string>

#include "backends/cpp/emit_functions.h"

namespace isamap {

/// Was the program made for sizes that it must ask the machine for?
bool asks_for_sizes(const Program& program, const HardwareModel& model);

/// The functions of the program and of its versions, and the entry that chooses: the largest version that is right at
/// the machine's sizes. Where none is, it says so and ends the process.
Result<TranslationUnit> print_versions(const Program& program, const HardwareModel& model, Surroundings& around);

/// Sizes known when the program is compiled are compared with what was assumed.
std::string compiled_for(const HardwareModel& model);

}  // namespace isamap

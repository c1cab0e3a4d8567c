// SPDX-License-Identifier: Apache-2.0
#pragma once
// A symbolic kernel as plain C++ loops: right for every size, whatever the kernel is, and as fast as the C++ compiler
// makes it. For parts of models that have no better program for all sizes.

#include <string>

#include "backends/cpp/emit_functions.h"
#include "backends/cpp/statement_text.h"

namespace isamap {

/// `static void NAME(tensors in order..., long sizes...)`. `in_order`: sums in the order of the statement. Errors: a
/// recurrence has no loops for all sizes.
Result<std::string> print_plain_loops(const SymbolicKernel& kernel, const HardwareModel& machine,
                                      const std::string& name, bool in_order, Surroundings& around);

}  // namespace isamap

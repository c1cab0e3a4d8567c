// SPDX-License-Identifier: Apache-2.0
#pragma once
// A symbolic kernel as plain C++ loops: right for every size, whatever the kernel is, and as fast as the C++ compiler
// makes it. For parts of models and statements of kernels that have no better program for all sizes.

#include <string>

#include "backends/cpp/emit_functions.h"
#include "backends/cpp/statement_text.h"

namespace isamap {

/// `static void NAME(tensors in order..., long sizes...)`. `in_order`: sums in the order of the statement. Errors: a
/// recurrence has no loops for all sizes.
Result<std::string> print_plain_loops(const SymbolicKernel& kernel, const HardwareModel& machine,
                                      const std::string& name, bool in_order, Surroundings& around);

/// One statement: `static void NAME(arrays of its tensors, in order, long sizes...)`; of a recurrence with the number
/// of the step behind the sizes.
std::string print_plain_statement(const SymbolicKernel& kernel, std::size_t statement, const HardwareModel& machine,
                                  const std::string& name, bool in_order, Surroundings& around);
/// The tensors of its arguments.
std::vector<TensorId> plain_statement_tensors(const SymbolicKernel& kernel, std::size_t statement);

/// Before the statement, and the recurrence that it is in: the elements of its output get their first value, where it
/// is the first one that writes them, and not all of them. Empty: nothing is to be done. `sizes`: names of sizes.
std::string first_values_text(const SymbolicKernel& kernel, std::size_t statement, const HardwareModel& machine,
                              const std::string& array, const std::map<std::string, std::string>& sizes,
                              Surroundings& around);

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loops on units: which instances run in parallel, and whether they may.

#include <optional>
#include <string>

#include "scheduler/lowering/lower_nest_internal.h"

namespace isamap {

/// The unit of the loop, if its instances run in parallel threads.
std::optional<UnitId> thread_unit(const HardwareModel& model, const For& f);

/// Do instances of a loop over this dim write different elements, or combine partial sums atomically?
bool writes_are_disjoint(const NestParts& parts, const For& f, const std::string& dim);
/// The error if they do not.
Diagnostic write_conflict(const NestParts& parts, const std::string& dim, const std::string& unit);

/// Why the loop over this dim cannot run on instances of `unit` at once; nothing: it can.
std::optional<Diagnostic> parallel_loop_problem(const NestParts& parts, const For& f, const std::string& dim,
                                                UnitId unit, const Scope& scope);

}  // namespace isamap

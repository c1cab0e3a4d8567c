// SPDX-License-Identifier: Apache-2.0
#pragma once
// The nest of a statement that no instruction computes.

#include <optional>
#include <string>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/kernel.h"
#include "isamap/schedule.h"

namespace isamap {

/// One point at a time, in the order of the domain, without loops of one step. `shared`: below this loop. `innermost`:
/// with this dim last.
Nest scalar_nest(const Computation& statement, const std::optional<For>& shared = {},
                 const std::string& innermost = {});

/// The dim of a reduction along which a compiler vectorises element by element, in place of one reduction after the
/// other:
///
///   P[i] min= select(X[k,i] < B[i], 2147483647, value(k))      i: neighbours in all tensors
///   S[i] += s32(X[i,k + r])                                    k: terms of integers add up in any order
///
/// The terms of an element keep their order where it matters. `least`: shorter rows fill no vector, and a
/// sum in a register is faster (`timing.vector_trips`). Empty: the order of the domain.
std::string vectorized_dim(const Computation& statement, const std::vector<Tensor>& tensors, double least);

/// Loops that divide a statement evenly among the threads of a machine: one for each parallel dim, none where programs
/// have one thread.
std::vector<For> shares_of(const Computation& statement, const HardwareModel& model);

}  // namespace isamap

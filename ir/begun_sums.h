// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sums that begin with a copy, such as a bias:
//
//   T[i,j]  = B[j]
//   T[i,j] += A[i,k] * W[k,j]
//
// Where T is held in an accumulator it can be filled from B itself, and the copy is never made.

#include <optional>

#include "isamap/kernel.h"
#include "isamap/schedule.h"

namespace isamap {

/// The copy that statement `s` adds to: the only earlier writer of its tensor, of all its elements, while nothing in
/// between touches them. Nothing: the sums begin otherwise, or have no terms, so that no program of theirs would copy.
std::optional<std::size_t> begun_by(const Kernel& kernel, std::size_t s);

/// What the copy reads for the elements that `write` writes, in the dims of `write`.
Access begun_from(const Computation& copy, const Access& write);

/// The `stage` line of the output that is filled from a copy (`from`); null: the nest has none.
const Stage* begun_stage(const Nest& nest, const std::string& output);

/// Is the statement a copy that others begin with, so that its own nest is not executed?
bool is_begun(const Schedule& schedule, const Kernel& kernel, std::size_t copy);

}  // namespace isamap

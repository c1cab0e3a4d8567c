// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks that kernels and instructions share. `who` begins each message: "kernel 'conv': ".

#include <string>
#include <vector>

#include "isamap/kernel.h"

namespace isamap {

void check_tensor(const Tensor& tensor, const std::string& who, const SourceLocation& where, Diagnostics& problems);

/// How the caller's array lies: one stride a dimension, positive, no two elements at one place.
void check_strides(const Tensor& tensor, const std::string& who, const SourceLocation& where, Diagnostics& problems);

/// Everything about one statement alone; the tensors have passed check_tensor.
void check_statement(const Computation& statement, const std::vector<Tensor>& tensors, const std::string& who,
                     const StatementPlaces& places, Diagnostics& problems);

/// Everything about a kernel's repeated statements, each of which has passed check_statement.
void check_repeat(const Kernel& kernel, const KernelPlaces& places, const std::string& who, Diagnostics& problems);

/// Letters, digits, `_` and `.`, not starting with a digit or a dot.
bool is_name(const std::string& text);

}  // namespace isamap

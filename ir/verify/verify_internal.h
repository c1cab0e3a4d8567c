// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks shared by kernels and instructions. `who` begins each message: "kernel 'conv': ".

#include <string>
#include <vector>

#include "isamap/kernel.h"

namespace isamap {

void check_tensor(const Tensor& tensor, const std::string& who, const SourceLocation& where, Diagnostics& problems);

/// Strides of the caller's array: one for each dimension, positive, without overlap of elements.
void check_strides(const Tensor& tensor, const std::string& who, const SourceLocation& where, Diagnostics& problems);

/// All checks of one statement; its tensors have passed check_tensor.
void check_statement(const Computation& statement, const std::vector<Tensor>& tensors, const std::string& who,
                     const StatementPlaces& places, Diagnostics& problems);

/// All checks of a kernel's recurrences, whose statements have passed check_statement.
void check_repeats(const Kernel& kernel, const KernelPlaces& places, const std::string& who, Diagnostics& problems);

/// All checks of the elements that statements write and read, of a kernel that has passed the others.
void check_regions(const Kernel& kernel, const KernelPlaces& places, const std::string& who, Diagnostics& problems);

/// Letters, digits, `_` and `.`, not starting with a digit or a dot.
bool is_name(const std::string& text);

/// What is wrong with the subscripts of an access that contain the step of its recurrence.
struct StepFault {
  enum class Kind {
    combined,  ///< the step is neither alone nor with a number added
    twice,     ///< another subscript contains it
    outside,   ///< some step is none of the axis, of which there is no `outside`
  };
  Kind kind = Kind::combined;
  std::size_t axis = 0;
};
std::vector<StepFault> step_faults(const Access& access, const Repeat& repeat, const Tensor& tensor);

}  // namespace isamap

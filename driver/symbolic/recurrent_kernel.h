// SPDX-License-Identifier: Apache-2.0
#pragma once
// A kernel with a time loop of symbolic size, compiled once: as a model whose parts are its statements, of which the
// recurrence is one step in a loop (driver/symbolic/recurrent_parts.h).
//
//   repeat t:  H[t+1,b,j] = tanh(GX[t,b,j] + GH[t,b,j])      H inout: H[0] is the caller's
//
// Models have inputs and outputs that differ, so slices of an inout tensor that no step writes are copied from an
// input:
//
//   H[i,b,j] = H_before[i,b,j]  over i: 1

#include <optional>

#include "driver/symbolic/symbolic_model.h"

namespace isamap {

/// Is the number of steps of a recurrence known at the call, or another size of a kernel with one?
bool has_sized_recurrence(const SymbolicKernel& kernel);

/// The kernel at these sizes as a model. Constants of one shape are weights, drawn by `seed`; others are inputs.
/// Errors: a size breaks a fact; an inout tensor that not one statement of a recurrence writes slice by slice.
Result<Model> recurrent_model(const SymbolicKernel& kernel, const Bindings& sizes, std::optional<std::uint64_t> seed);

struct RecurrentKernel {
  SampledModel sampled;
  CompiledSymbolicModelParts compiled;
};

/// Parts are chains of statements. Errors as of sample_model and compile_symbolic_model.
Result<RecurrentKernel> compile_recurrent_kernel(const SymbolicKernel& kernel, const HardwareModel& machine,
                                                 const SymbolicModelOptions& options,
                                                 std::optional<std::uint64_t> seed);

}  // namespace isamap

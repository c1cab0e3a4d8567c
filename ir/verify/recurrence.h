// SPDX-License-Identifier: Apache-2.0
#pragma once
// A recurrence as an ordinary kernel of one time step, for search, mapper and lowering.
//
//   repeat t:  G[t,b,j] += S[t,b,l] * U[j,l]     gives     G[b,j] += S[b,l] * U[j,l]
//              S[t+1,b,j] = tanh(G[t,b,j])                 S_plus1[b,j] = tanh(G[b,j])
//
// A slice of a tensor at t + c becomes a separate tensor; statements keep their number, their order of accesses and
// their dims except t. A tensor used only inside a step, such as G, exists only inside a step.

#include <functional>

#include "isamap/interpret.h"

namespace isamap {

/// A tensor of one step in the whole kernel: a whole tensor, or the slice at `axis` = t + `offset`.
struct Slice {
  TensorId whole;
  int axis = -1;  ///< -1: the whole tensor
  std::int64_t offset = 0;
  int repeat = -1;  ///< whose step t is; -1: the whole tensor
  bool operator==(const Slice&) const = default;
};

struct OneStep {
  Kernel kernel;              ///< without recurrence
  std::vector<Slice> slices;  ///< of each of its tensors
};

/// The kernel must be verified and have recurrences. A slice is one of a recurrence: slices at equal offsets in two of
/// them are two tensors.
OneStep one_step(const Kernel& kernel);
/// The kernel without a recurrence, unchanged.
Kernel one_step_of(const Kernel& kernel);

/// Is the tensor of a step used outside the statements of one step?
bool is_kept(const OneStep& step, const Kernel& whole, TensorId tensor);

/// Calls `visit` for every group of statements in execution order: those before the recurrence, its statements once for
/// each step, those after it. `part` has the statements of the group over the tensors that they use, `slices` the
/// slices of these.
using VisitGroup = std::function<void(const Kernel& part, const std::vector<Slice>& slices, std::int64_t step)>;
void for_each_group(const Kernel& kernel, const VisitGroup& visit);

/// Positions of a slice's elements in its tensor, in their order. `step`: the value of t.
std::vector<std::int64_t> positions(const Tensor& whole, const Slice& slice, std::int64_t step);

/// Executions of a statement: 1, or the steps of its recurrence.
std::int64_t repetitions(const Kernel& kernel, std::size_t statement);

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#pragma once
// A kernel that repeats statements, as an ordinary kernel of one step: what a search, a mapper and lowering see.
//
//   repeat t:  G[t,b,j] += S[t,b,l] * U[j,l]     gives     G[b,j] += S[b,l] * U[j,l]
//              S[t+1,b,j] = tanh(G[t,b,j])                 S_plus1[b,j] = tanh(G[b,j])
//
// A slice of a tensor at t + c becomes a tensor of its own; statements keep their number, their order of accesses and
// their dims but t. What is used only inside a step, such as G, exists only inside a step.

#include <functional>

#include "isamap/interpret.h"

namespace isamap {

/// What a tensor of one step is in the whole kernel: all of a tensor, or the part at `axis` = t + `offset`.
struct Slice {
  TensorId whole;
  int axis = -1;  ///< -1: all of it
  std::int64_t offset = 0;
  bool operator==(const Slice&) const = default;
};

struct OneStep {
  Kernel kernel;              ///< repeats nothing
  std::vector<Slice> slices;  ///< of each of its tensors
};

/// The kernel must be verified and repeat something.
OneStep one_step(const Kernel& kernel);
/// The same kernel where nothing is repeated.
Kernel one_step_of(const Kernel& kernel);

/// Is the tensor of a step used by others than the statements of one step?
bool is_kept(const OneStep& step, const Kernel& whole, TensorId tensor);

/// Runs `visit` for every group of statements in the order of time: those ahead of the repeated ones, these once for
/// each step, those behind. `part` holds the statements of the group over the tensors that they use, `slices` says
/// which these are.
using VisitGroup = std::function<void(const Kernel& part, const std::vector<Slice>& slices, std::int64_t step)>;
void for_each_group(const Kernel& kernel, const VisitGroup& visit);

/// Positions of a slice's elements in its tensor, in their order.
std::vector<std::int64_t> positions(const Tensor& whole, const Slice& slice, std::int64_t step);

/// How often a statement runs: 1, or the steps of those that repeat it.
std::int64_t repetitions(const Kernel& kernel, std::size_t statement);

}  // namespace isamap

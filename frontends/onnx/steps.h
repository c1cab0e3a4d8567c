// SPDX-License-Identifier: Apache-2.0
#pragma once
// One step of a loop as statements of all steps.
//
// The statements of a body that was imported once, over tensors of one step:
//
//   P[j] = the state before it      V[j] += P[i] * U[i,j] + ...      N[j] = tanh(V[j])      the state after it: N
//
// become those of all steps (loop fission, as in Allen and Kennedy: Optimizing Compilers for Modern Architectures,
// section 2.4): what no state reaches is computed before, of all steps at once; what the state needs is the recurrence;
// what is only read from it comes after.
//
//   repeat t:  V[t,j] += S[t,i] * U[i,j] + ...      S[t + 1,j] = tanh(V[t,j])

#include <map>
#include <string>
#include <vector>

#include "frontends/onnx/maker.h"

namespace isamap::importing {

/// What a tensor of one step is among those of all: slice t + offset along an axis.
struct Slice {
  TensorId of;
  std::size_t axis = 0;
  std::int64_t offset = 0;
};

/// A state: its tensor of a step's beginning, what the body yields for it, and all of it: [steps + 1, ...].
struct LoopState {
  TensorId before, after, all;
};

struct LoopBody {
  std::size_t first = 0;   ///< its statements are those from here on
  std::int64_t steps = 0;  ///< at least one
  std::vector<LoopState> states;
  std::map<TensorId, Slice> given;  ///< inputs of each step other than states
  std::vector<TensorId> results;    ///< wanted of every step
};

/// Rewrites the draft's statements from `first` on. Where the results of all steps are then; those that are the same at
/// each step have no slice. Refused: the recurrence would be none (ir/verify/recurrence.h).
std::map<TensorId, Slice> repeat_body(Draft& draft, const LoopBody& body);

}  // namespace isamap::importing

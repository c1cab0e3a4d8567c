// SPDX-License-Identifier: Apache-2.0
#pragma once
// Recurrences of a model for all sizes. Each is a part of its own, whose program is that of one step
// (ir/verify/recurrence.h), called once for each step of the call:
//
//   repeat t:  G[t,b,j] += S[t,b,l] * U[j,l]        for t < seq:  step(S + t*B*J, U, S + (t + 1)*B*J)
//              S[t+1,b,j] = tanh(G[t,b,j])
//
// So the program of a step has no size, or those of a batch, and is compiled as every part is; slices are contiguous,
// since steps are the outermost axis of what they are slices of.

#include "driver/symbolic/symbolic_model.h"
#include "frontends/lifted_sizes.h"
#include "planner/tensor_layouts.h"

namespace isamap {

/// A tensor of a step: a whole tensor of the model, or a slice of it at t + offset, along its outermost axis.
struct StepTensor {
  std::string whole;
  int axis = -1;  ///< -1: the whole tensor; axes before it have one element
  std::int64_t offset = 0;
};

struct RecurrentPart {
  SymbolicKernel step;
  std::vector<StepTensor> tensors;  ///< by tensor of `step`
  TimeLoop loop;
};

/// The plan with recurrences as parts of their own; what is around them in a part is cut by chains.
ModelPlan with_recurrences_apart(const ModelPlan& plan, const Kernel& kernel);

/// Steps are outermost in tensors whose order may be chosen.
Orders steps_outermost(Orders orders, const Kernel& kernel);

/// `part`: a recurrence, `whole`: it at all sizes. Errors: steps that are not outermost in an input or output; what
/// lifting refuses.
Result<RecurrentPart> recurrent_part(const std::vector<Model>& models, const Part& part, const SymbolicKernel& whole,
                                     const SampledModel& sampled, SizeFit& fit);

}  // namespace isamap

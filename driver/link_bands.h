// SPDX-License-Identifier: Apache-2.0
#pragma once
// The loops of parts that run in bands, with places in place of rows.

#include <functional>

#include "driver/compile_model.h"
#include "driver/model_weights.h"

namespace isamap {

/// What step `step` of a loop reads in slices; it is a call of `part`.
SlicedConstants sliced_constants(const Kernel& kernel, const Part& part, const BandSchedule& schedule,
                                 const BandLoop& loop, std::size_t step);
/// The axis of the rows of a tensor, in the part that reads or writes it.
int row_axis_in(const Kernel& kernel, const Part& part, const BandSchedule& schedule, TensorId tensor);

struct BandLinking {
  const Kernel& kernel;                       ///< of the model, in the orders of its plan
  std::function<ModelPlace(TensorId)> place;  ///< of a tensor or its buffer
  /// Of a kernel of the schedule, at row 0 of everything but constants.
  std::function<Result<PartCall>(std::size_t kernel, const SlicedConstants&)> call;
};

/// `bands`: one of those of `compiled`.
Result<ModelBands> link_bands(const CompiledModel& compiled, const CompiledBands& bands, const BandLinking& with);

}  // namespace isamap

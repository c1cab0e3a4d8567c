// SPDX-License-Identifier: Apache-2.0
#pragma once
// The loops of parts that run in bands, with places in place of rows.

#include <functional>

#include "driver/compile_model.h"

namespace isamap {

struct BandLinking {
  const Kernel& kernel;                                      ///< of the model, in the orders of its plan
  std::function<ModelPlace(TensorId)> place;                 ///< of a tensor or its buffer
  std::function<Result<PartCall>(std::size_t kernel)> call;  ///< of a kernel of the schedule, at row 0 of everything
};

/// `bands`: one of those of `compiled`.
Result<ModelBands> link_bands(const CompiledModel& compiled, const CompiledBands& bands, const BandLinking& with);

}  // namespace isamap

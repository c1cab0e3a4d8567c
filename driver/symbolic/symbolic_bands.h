// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bands of rows (planner/bands.h) in a model for all sizes: the number of rows is a number, heads of an attention, and
// what lies in a row has symbolic extents. The steps are then the same at every size.

#include <vector>

#include "driver/symbolic/symbolic_model.h"
#include "frontends/lifted_sizes.h"
#include "isamap/hardware.h"
#include "planner/bands.h"

namespace isamap {

/// The statements of a part at each sample, lifted and verified for all sizes; axes of one element are left out.
Result<SymbolicKernel> lifted_kernel(const std::vector<Kernel>& by_sample, const SampledModel& sampled, SizeFit& fit);

struct SymbolicBandParts {
  BandGroup group;
  BandSchedule schedule;                ///< the same at all samples
  std::vector<SymbolicKernel> kernels;  ///< by kernel of the schedule
  std::vector<std::size_t> programs;    ///< of them
  std::int64_t bytes = 0;               ///< bands gain where a tensor between the parts has more
};

/// Group `number` of a plan of the first model. `models`: by sample, stored in the orders of the plan. Of at most so
/// many rows that its buffers fit half of the second cache at the largest sizes, or of one row. Errors: why the steps
/// are not the same at all sizes, in words.
Result<SymbolicBandParts> bands_at_all_sizes(const std::vector<Model>& models, const SampledModel& sampled,
                                             const ModelPlan& plan, std::size_t number, const HardwareModel& machine,
                                             SizeFit& fit);

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#pragma once
// An output of a model beside the same output from elsewhere: another runtime's, or the interpreter's at a size.

#include <string>

#include "isamap/interpret.h"

namespace isamap {

struct OutputDifference {
  double max_error = 0;  ///< largest absolute difference
  std::string first;     ///< the first element that is wrong, in words; empty: none
};

/// The largest rounding unit of its floats, 2^(1 - bits of the significand): 2^-10 where one is f16.
double coarsest_unit(const Kernel& kernel);

/// Integers are equal, and reals where |a - b| <= max(1e-3, 8 u) |a| + max(1e-4, 4 u) m, with u the coarsest unit of
/// the model's values and m the largest |a| of the tensor: where sums are added up in another order they differ by
/// parts of their terms, so that small results of large terms have few digits in common. (Two settings of one runtime
/// differ by 2.4e-4 m on a detector of 300 nodes.)
OutputDifference compare_outputs(const std::string& name, const TensorData& expected, const TensorData& found,
                                 double unit);

}  // namespace isamap

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

/// Integers are equal, and reals where |a - b| <= relative |a| + max(of_largest m, least), with m the largest |a| of
/// the tensor: where sums are added up in another order they differ by parts of their terms, so that small results of
/// large terms have few digits in common. (Two settings of one runtime differ by 2.4e-4 m on a detector of 300 nodes.)
struct OutputTolerance {
  double relative = 1e-3, of_largest = 1e-4, least = 0;
  /// Integers are such reals, rounded: they may differ by one, by which a tie is rounded up or down, never by more. At
  /// most so many do as ties are expected, and one: with the error e of a real, 2 e of each, e at most 1/8. An output
  /// of one element may thus always differ by one.
  bool rounded = false;
};

/// With the rounding unit u of floats, 2^(1 - bits of the significand): at least 8 u and 4 u of the coarsest type.
/// Where floats are rounded to s8 or u8 while the model runs, the second is at least a step of 255: another order of a
/// sum, or floats in place of integers, rounds some of them to the byte beside.
OutputTolerance tolerance_of(const Kernel& kernel);

/// Of results of another runtime, whose functions have few digits near 0: differences of an f32 below 4 of its units at
/// one, 4.8e-7, are none. (One of them adds 1/2 to a part of its logistic function, so that 4.2e-7 is the nearest that
/// it has to 4.5e-7.) Integers that are floats, rounded by the model's last operators, are taken as rounded; of them a
/// step of 255 is no error, as it is one of them. A bool is not rounded, and what a rounded integer only selects is not
/// either.
OutputTolerance tolerance_of_others(const Kernel& kernel, TensorId output);

OutputDifference compare_outputs(const std::string& name, const TensorData& expected, const TensorData& found,
                                 const OutputTolerance& tolerance);

}  // namespace isamap

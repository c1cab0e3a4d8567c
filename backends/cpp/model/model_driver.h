// SPDX-License-Identifier: Apache-2.0
#pragma once
// The main of a traced and timed run of an emitted model.

#include "backends/cpp/model/sized_model.h"

namespace isamap {

/// What a traced run writes after each part, in this order: an array by its place and size.
struct TracedArray {
  ModelPlace place;
  std::int64_t bytes = 0;
};

/// A main for the unit compiled with NAME_PROFILE: `driver DIRECTORY MIN_SECONDS` opens "weights", reads the sizes and
/// the bytes of inputs and outputs from "sizes" and input N from "N.in", runs once with an arena of NaN that ends at a
/// page without access, writes the traced arrays of each part to "trace" and output N to "N.out", repeats the run
/// until MIN_SECONDS are spent, and writes "seconds S" (the median of one run), "arena BYTES" and "part N S" for each
/// part to "result". MIN_SECONDS below 0: one run, which is traced in the arena with the page behind it, and no times.
std::string model_driver_text(const ModelUnit& unit, const ModelProgram& model,
                              const std::vector<std::vector<TracedArray>>& traced);

/// The same at sizes; "trace" has the results of each call.
std::string model_driver_text(const ModelUnit& unit, const SymbolicModelProgram& model);

}  // namespace isamap

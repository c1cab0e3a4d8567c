// SPDX-License-Identifier: Apache-2.0
#pragma once
// A plan as text, read = written.
//
//   plan: mobilenet
//   machine: x86_avx512
//   order: {conv_1: [0, 2, 3, 1]}          # of stored tensors: axes, outermost first
//   parts:
//     - [conv_1, bias_1, relu_1]           # statements, in order of execution
//     - [conv_2]
//   bands:                                 # parts by their first statements; rows of the last one in a band
//     - {parts: [conv_1, conv_2], by: 4, halo: kept}

#include <string>

#include "isamap/kernel.h"
#include "planner/plan.h"

namespace isamap {

std::string print(const ModelPlan& plan, const Kernel& kernel, const std::string& machine);

/// Errors: unknown statements and tensors, with the nearest name; a plan that is none for this kernel (verify), or that
/// names another model or machine. `machine`: empty: any.
Result<ModelPlan> parse_plan(const std::string& text, const std::string& file, const Kernel& kernel,
                             const std::string& machine = "");
Result<ModelPlan> load_plan(const std::string& path, const Kernel& kernel, const std::string& machine = "");

}  // namespace isamap

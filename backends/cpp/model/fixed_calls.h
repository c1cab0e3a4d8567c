// SPDX-License-Identifier: Apache-2.0
#pragma once
// NAME_run of a model whose sizes are numbers: the calls of its parts, by one thread or by a team.

#include <string>

#include "backends/cpp/model/fixed_parts.h"
#include "backends/cpp/model/fixed_text.h"

namespace isamap {

/// What the parts ask of the pointers that the caller passes.
PointerAlignments pointer_alignments(const ModelProgram& model, const std::vector<FixedPart>& parts);

/// With NAME for the model's name.
std::string run_function(const ModelProgram& model, const FixedParts& parts, const PointerAlignments& aligns);

}  // namespace isamap

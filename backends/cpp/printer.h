// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loops, guards and statements of one function body.

#include <set>
#include <string>
#include <vector>

#include "backends/cpp/element_text.h"
#include "backends/cpp/names.h"
#include "isamap/hardware.h"
#include "isamap/program.h"

namespace isamap {

struct Dialect;

/// The inside of a function, and what stands before it: state that holds throughout it (`scope: function`).
struct FunctionBody {
  std::string text, attributes;
};

/// The lines of a function body, indented by two spaces. `buffers` are the names of memory buffers, `constant` those
/// never written; `names` holds what the function may not reuse.
Result<FunctionBody> print_body(const std::vector<Node>& nodes, const Program& program, const HardwareModel& model,
                                const std::vector<std::string>& buffers, const std::set<std::int32_t>& constant,
                                Names names, ElementText& elements, const Dialect* dialect = nullptr);

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Prints loops, guards and statements of one function body.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "backends/cpp/function/runtime_numbers.h"
#include "backends/cpp/text/element_text.h"
#include "backends/cpp/text/names.h"
#include "isamap/hardware.h"
#include "isamap/program.h"

namespace isamap {

struct Dialect;

/// The body of a function, and its attributes: state of `scope: function`.
struct FunctionBody {
  std::string text, attributes;
};

/// Where a function body is printed.
struct BodyContext {
  const Program& program;
  const HardwareModel& model;
  const std::vector<std::string>& buffers;  ///< names of memory buffers
  const std::set<std::int32_t>& constant;   ///< buffers that the function never writes
  ElementText& elements;
  const Dialect* dialect = nullptr;
  const RuntimeNumbers* numbers = nullptr;  ///< null: there are none
  bool team =
      false;  ///< executed by all members of a team (backends/cpp/function/team.h); parallel loops are not marked
  std::set<BufferId> overlapping = {};  ///< arguments that may have the storage of another one
};

/// The lines of a function body, indented by two spaces. `names`: reserved names.
Result<FunctionBody> print_body(const std::vector<Node>& nodes, const BodyContext& context, Names names);

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#pragma once
// A program as straight-line code: calls with constant addresses, and nests that the host (a scalar unit) executes.
//
// The assembly printer and the simulator iterate over the same line, so the n-th host nest of one is that of the other.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/program.h"
#include "isamap/result.h"

namespace isamap {

/// Loop variables by position, for compiled expressions.
class LoopSlots {
 public:
  explicit LoopSlots(const Program& program);
  const std::vector<std::string>& names() const { return names_; }
  std::size_t slot(const std::string& variable) const { return slots_.at(variable); }

 private:
  void collect(const std::vector<Node>& nodes);
  std::vector<std::string> names_;
  std::map<std::string, std::size_t> slots_;
};

/// One call site, with everything that is invariant over its executions.
struct CallSite {
  const Call* call = nullptr;
  const Instruction* instruction = nullptr;
  std::vector<AffineExpr> offsets;                  ///< of each operand: elements, with `$dims`
  std::vector<CompiledAffine> base;                 ///< offset at the origin, over loop slots
  std::vector<CompiledAffine> slot;                 ///< register operands: number of the register slot
  std::vector<std::vector<CompiledAffine>> inside;  ///< register operands: index inside the register at the origin
  Ranges ranges;
};

/// The number printed for an operand: an address in the memory's units, or a register. Nothing: the address is not a
/// multiple of the unit.
std::optional<std::int64_t> operand_number(const CallSite& site, int access, const Program& program,
                                           const HardwareModel& model, const std::int64_t* loops);

/// Value of a reference (in a template, a need or a timing) at one execution; state fields are evaluated by the caller.
std::optional<std::int64_t> value_of(const Reference& reference, const CallSite& site, const Program& program,
                                     const HardwareModel& model, const std::int64_t* loops);

struct LineVisitor {
  std::function<void(const CallSite&, const std::int64_t* loops)> call;
  std::function<void(const Node& nest, const std::int64_t* loops)>
      host;  ///< a node with element statements and no call
  std::function<void(const std::string&)> comment;
  std::function<bool()> stop;
  std::function<void()> end = [] {};  ///< lifetime of the call sites
};

/// Calls the visitor in the order of execution: `prepack`, then `body`.
void loop_line(const Program& program, const HardwareModel& model, const LoopSlots& slots, const LineVisitor& visitor);

/// Upper bound on the number of calls (the longer branch of every guard), up to `limit` + 1.
std::int64_t count_calls(const std::vector<Node>& nodes, std::int64_t limit);

}  // namespace isamap

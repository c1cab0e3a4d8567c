// SPDX-License-Identifier: Apache-2.0
#pragma once
// A program as the straight line of what it does: calls with all addresses known, and nests that a scalar unit
// executes.
//
// The printer of assembly and the simulator run over the same line, so that the n-th host nest of one is that of the
// other.

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

/// One call of the program text with everything that does not change from one execution to the next.
struct CallSite {
  const Call* call = nullptr;
  const Instruction* instruction = nullptr;
  std::vector<AffineExpr> offsets;                  ///< of each operand: elements, with `$dims`
  std::vector<CompiledAffine> base;                 ///< its value at the origin, over loop slots
  std::vector<CompiledAffine> slot;                 ///< register operands: number of the register slot
  std::vector<std::vector<CompiledAffine>> inside;  ///< register operands: index inside the register at the origin
  Ranges ranges;
};

/// The number an operand prints: an address in the memory's own steps, or a register. Nothing: the address lies between
/// steps.
std::optional<std::int64_t> operand_number(const CallSite& site, int access, const Program& program,
                                           const HardwareModel& model, const std::int64_t* loops);

/// What a reference of a template, a need or a timing means at one execution; state fields are the caller's.
std::optional<std::int64_t> value_of(const Reference& reference, const CallSite& site, const Program& program,
                                     const HardwareModel& model, const std::int64_t* loops);

struct LineVisitor {
  std::function<void(const CallSite&, const std::int64_t* loops)> call;
  std::function<void(const Node& nest, const std::int64_t* loops)>
      host;  ///< a node with element statements and no call
  std::function<void(const std::string&)> comment;
  std::function<bool()> stop;
  std::function<void()> end = [] {};  ///< call sites live no longer
};

/// Calls the visitor in the order of execution: `prepack`, then `body`.
void loop_line(const Program& program, const HardwareModel& model, const LoopSlots& slots, const LineVisitor& visitor);

/// How many calls the line has at most (every guard taken the longer way), up to `limit` + 1.
std::int64_t count_calls(const std::vector<Node>& nodes, std::int64_t limit);

}  // namespace isamap

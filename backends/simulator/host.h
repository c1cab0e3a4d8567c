// SPDX-License-Identifier: Apache-2.0
#pragma once
// Element statements executed by the host (the scalar unit) on the memory images between the commands of a device.

#include <map>
#include <vector>

#include "backends/assembly/straight_line.h"
#include "backends/simulator/machine.h"
#include "hwdesc/model/scalar_timing.h"

namespace isamap {

class Host {
 public:
  Host(const Program& program, const LoopSlots& slots, Machine& machine)
      : program_(program), slots_(slots), machine_(machine), each_(element_cycles_of(machine.model().timing)) {}

  /// `loops`: values of the loops around the nest.
  std::optional<Diagnostic> run(const Node& nest, const std::int64_t* loops);
  /// Cycles so far, by element_cycles.
  double cycles() const { return cycles_; }

 private:
  struct Place {
    bool is_value = false;  ///< the offset itself is what is read
    std::size_t buffer = 0;
    CompiledAffine offset;
    std::optional<std::size_t> computed_by = {};  ///< an earlier read, whose value chooses an index of an axis:
    std::int64_t stride = 0, last = 0;            ///< elements; the largest index
  };
  struct Statement {
    std::vector<Place> places;  ///< write, reads
    double cycles = 0;
  };

  void visit(const Node& node);
  void visit(const std::vector<Node>& nodes);
  void execute(const Element& element);
  Place place(const Ref& ref);
  std::uint8_t* at(const Place& place, std::int64_t chosen = 0);  ///< `chosen`: elements behind the offset

  const Program& program_;
  const LoopSlots& slots_;
  Machine& machine_;
  ElementCycles each_;
  std::vector<std::int64_t> values_;
  std::vector<EnclosingLoop> loops_;  ///< around the current node, innermost last
  double cycles_ = 0;
  std::map<const Element*, Statement> statements_;
  std::map<const Guard*, std::vector<CompiledAffine>> guards_;
  std::optional<Diagnostic> problem_;
};

}  // namespace isamap

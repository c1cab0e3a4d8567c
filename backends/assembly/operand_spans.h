// SPDX-License-Identifier: Apache-2.0
#pragma once
// The bytes that the operands of a call touch, at one execution of it.

#include <map>
#include <optional>
#include <vector>

#include "backends/assembly/straight_line.h"

namespace isamap {

/// Bytes [low, high) of a memory, and the segments of them that are accessed; all of [low, high) if `pieces` is null.
struct Span {
  MemoryId memory;
  std::int64_t low = 0, high = 0;
  const std::vector<Interval>* pieces = nullptr;  ///< [low, high], relative to `origin`
  std::int64_t origin = 0;
  bool empty() const { return !memory.valid() || high <= low; }
};

class OperandSpans {
 public:
  OperandSpans(const Program& program, const HardwareModel& model) : program_(program), model_(model) {}

  /// One per operand, the written one first; empty for an operand in no memory.
  const std::vector<Span>& operator()(const CallSite& site, const std::int64_t* loops);

 private:
  /// Relative to the first element, in bytes.
  struct Reach {
    Interval hull;
    std::vector<Interval> pieces;  ///< empty: the hull
  };
  Reach reach_of(const CallSite& site, std::size_t access) const;
  Span span_of(const Ref& ref, const CallSite& site, std::size_t access, const std::int64_t* loops);

  const Program& program_;
  const HardwareModel& model_;
  std::map<const CallSite*, std::vector<std::optional<Reach>>> reach_;
  std::vector<Span> spans_;
};

}  // namespace isamap

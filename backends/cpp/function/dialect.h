// SPDX-License-Identifier: Apache-2.0
#pragma once
// Differences of a SIMT language (CUDA) from C++: binding of loops over instances and statements to threads, names of
// places, calls of instructions and barriers. Without a dialect instances are executed sequentially.

#include <fmt/format.h>

#include <functional>
#include <string>
#include <vector>

#include "backends/cpp/function/call_text.h"

namespace isamap {

struct Dialect {
  /// The open loops on units, outermost first.
  using Around = std::vector<const Loop*>;

  static constexpr const char* turn = "turn";
  std::string loop_number = "long";  ///< the type of a number that a thread counts through
  std::string before_loop = {};      ///< a line above each sequential loop; empty: none

  /// The loop is replaced by the instance's index; instances that fail `condition` are idle (empty: all instances have
  /// work).
  struct Number {
    std::string text = {}, condition = {};
    /// Persistent instances: a loop of `turn` below `turns` in strides of `step`, and `text` computes the iteration; of
    /// a loop nested in such a one only `text` is used. Otherwise 0.
    std::int64_t turns = 0, step = 0;
    std::string first = {};  ///< its first turn

    /// The line that opens the block of the iteration.
    std::string opening(const std::string& unit, const std::string& type) const {
      if (step > 0)
        return fmt::format("for ({5} {0} = {1}; {0} < {2}; {0} += {3}) {{  // instances of {4} take turns", turn, first,
                           turns, step, unit, type);
      return (condition.empty() ? "" : "if (" + condition + ") ") + "{  // instances of " + unit;
    }
  };
  /// Of the innermost of the loops. Nothing: a sequential loop.
  std::function<std::optional<Number>(const Around& around)> number;
  /// The predicate of threads that participate in a statement of `executor`; empty: every thread. `one`: a single
  /// thread per instance of `executor`.
  std::function<std::string(const Around& around, UnitId executor, bool one)> chosen;
  /// Call of an instruction described as an assembly line.
  std::function<std::string(const Item& item, const Call& call, CallContext& context)> assembly;
  /// `opened`: variables opened by it. `index` prints an expression over loop variables.
  using Index = std::function<std::string(const AffineExpr&)>;
  std::function<std::string(const Sync& sync, const std::vector<Variable>& opened, const Index& index)> sync;
  /// The predicate of threads that execute this step; empty: every thread.
  std::function<std::string(const Around& around, const Sync& sync)> syncs;
  /// Reading an element, declaring a pointer, and an address as an integer.
  std::function<std::string(BufferId buffer, const std::string& element)> value;
  std::function<std::string(BufferId buffer, const std::string& element_type)> pointer_type;
  std::function<std::string(BufferId buffer, const std::string& address)> address;
};

}  // namespace isamap

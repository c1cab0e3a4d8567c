// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a language of many threads has otherwise than C++: who executes a loop over instances and a statement, how
// places are named, how instructions and barriers are called. Without a dialect instances take turns.

#include <fmt/format.h>

#include <functional>
#include <string>
#include <vector>

#include "backends/cpp/call_text.h"

namespace isamap {

struct Dialect {
  /// The open loops on units, outermost first.
  using Around = std::vector<const Loop*>;

  static constexpr const char* turn = "turn";
  std::string loop_number = "long";  ///< the type of a number that a thread counts through
  std::string before_loop = {};      ///< a line above each loop in time; empty: none

  /// An instance asks for its number instead of running over the loop, and does nothing where `condition` fails (empty:
  /// all instances have work).
  struct Number {
    std::string text = {}, condition = {};
    /// Instances take turns: what is numbered is `turn` of `turns`, the next is `step` further, and `text` says which
    /// iteration that is; of a loop inside such a one only `text` counts. Otherwise 0.
    std::int64_t turns = 0, step = 0;
    std::string first = {};  ///< the turn with which it begins

    /// The line that opens the block of the iteration.
    std::string opening(const std::string& unit, const std::string& type) const {
      if (step > 0)
        return fmt::format("for ({5} {0} = {1}; {0} < {2}; {0} += {3}) {{  // instances of {4} take turns", turn, first,
                           turns, step, unit, type);
      return (condition.empty() ? "" : "if (" + condition + ") ") + "{  // instances of " + unit;
    }
  };
  /// For the innermost of the loops. Nothing: it is a loop in time.
  std::function<std::optional<Number>(const Around& around)> number;
  /// The condition under which a thread takes part in what `executor` does here; empty: every thread does. `one`: of
  /// all that belong to an instance of `executor`, one thread alone.
  std::function<std::string(const Around& around, UnitId executor, bool one)> chosen;
  /// The call of an instruction that is described as an assembly line.
  std::function<std::string(const Item& item, const Call& call, CallContext& context)> assembly;
  /// `opened`: variables that it opens. `index` prints an expression over loop variables.
  using Index = std::function<std::string(const AffineExpr&)>;
  std::function<std::string(const Sync& sync, const std::vector<Variable>& opened, const Index& index)> sync;
  /// The condition under which a thread does this step; empty: every thread does.
  std::function<std::string(const Around& around, const Sync& sync)> syncs;
  /// An element that is read as a value, the declaration of a pointer, and an address as a number.
  std::function<std::string(BufferId buffer, const std::string& element)> value;
  std::function<std::string(BufferId buffer, const std::string& element_type)> pointer_type;
  std::function<std::string(BufferId buffer, const std::string& address)> address;
};

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The queues of a unit of `order: tokens`: each runs by itself and stops at a command that takes a token nobody has
// given.
//
// Commands are put into the queue of their port in the order of the text. Which queue runs next is decided by time, not
// by the text, so a token that is missing shows: a queue that waits for ever is an error, and so are two accesses to
// one byte that no token orders (races.h), a token that is never taken, or a result that is wrong.

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "backends/simulator/machine.h"
#include "backends/simulator/races.h"

namespace isamap {

class Queues {
 public:
  Queues(const HardwareModel& model, Machine& machine);

  bool takes(const Instruction& instruction) const { return unit_.valid() && instruction.unit == unit_; }
  void add(const Command& command, int line);
  /// A line that is a token of its own; false: it is none.
  bool add_token(std::string_view text, int line);

  /// Runs until all queues are empty; afterwards everything is ordered with everything. `line` is where the error
  /// stands; `stop` is asked now and then.
  std::optional<Diagnostic> drain(int& line, const std::function<std::optional<Diagnostic>()>& stop);
  /// Tokens that nobody took.
  std::optional<Diagnostic> leftover() const;

 private:
  struct Token {
    std::int64_t time = 0;
    Clock clock;
  };
  struct Entry {
    std::optional<Command> command;
    std::vector<std::string> pop, push;
    int line = 0;
  };
  struct Queue {
    std::string port;
    std::deque<Entry> entries;
    Clock clock;
    std::int64_t earliest = 0, end = 0;  ///< cycles: for the next command; of the last result
    std::vector<const Instruction*> done;
  };

  bool ready(const Entry& entry) const;
  std::int64_t start_of(const Queue& queue) const;
  std::optional<Diagnostic> step(std::size_t queue);
  std::string waiting() const;

  const HardwareModel& model_;
  Machine& machine_;
  UnitId unit_;
  std::vector<Queue> queues_;
  std::map<std::string, std::deque<Token>> tokens_;
  Races races_;
};

}  // namespace isamap

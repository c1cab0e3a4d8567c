// SPDX-License-Identifier: Apache-2.0
#pragma once
// The queues of a unit of `order: tokens`: each runs independently and blocks at a command that takes a token not yet
// given.
//
// Commands enter the queue of their port in text order. The queue that runs next is chosen by simulated time, not by
// the text, so a missing token shows: errors are deadlock, two unordered accesses to one byte (races.h), a token never
// taken, and a wrong result.

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
  /// A line that only gives or takes a token; false: it does not.
  bool add_token(std::string_view text, int line);

  /// Runs until all queues are empty. `line`: the line of the error; `stop` is polled.
  std::optional<Diagnostic> run_out(int& line, const std::function<std::optional<Diagnostic>()>& stop);
  /// The same, and a barrier between all queues.
  std::optional<Diagnostic> drain(int& line, const std::function<std::optional<Diagnostic>()>& stop);
  /// Tokens given and never taken.
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
  /// When its next command asks for what queues share: ports of memories and links serve in this order.
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

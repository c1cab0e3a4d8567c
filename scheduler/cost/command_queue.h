// SPDX-License-Identifier: Apache-2.0
#pragma once
// A list scheduler for commands that are known by port and time only: the rules of backends/assembly/command_order.h.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace isamap {

struct TimedCommand {
  int port = 0;
  double interval = 0, latency = 0;  ///< cycles: until the port is free, until the result is there
  int flow = -1;                     ///< whose tile it moves; -1: a call
  bool out = false;
  std::int64_t tile = 0;  ///< number of the tile, or of the call
};

class CommandQueue {
 public:
  /// Tells when a command left; `waited_for`: the command that ended last of those before it, or -1.
  using Left = std::function<void(const TimedCommand&, double start, std::int64_t waited_for)>;

  /// Among `window` commands the next one is chosen. `queues`: every port takes its commands in their order, and no
  /// port waits for another.
  CommandQueue(std::size_t window, bool queues, Left left) : window_(window), queues_(queues), left_(std::move(left)) {}

  /// Number of the port of this name, of which there are so many instances.
  int port(const std::string& name, double instances);

  /// The number that the next command will have.
  std::int64_t next() const { return static_cast<std::int64_t>(ended_.size()); }
  /// When the command ends; negative: it has not left.
  double ended(std::int64_t command) const { return ended_[static_cast<std::size_t>(command)]; }
  /// Begins after all of `before` have ended, and leaves after `behind` (-1: none).
  void add(const TimedCommand& command, const std::vector<std::int64_t>& before, std::int64_t behind);
  void flush();

 private:
  struct Waiting {
    TimedCommand command;
    std::int64_t number = 0, waited_for = -1, behind = -1;
    double ready = 0;
    std::vector<std::int64_t> before;  ///< that have not left
  };

  void wait_for(Waiting& entry, std::int64_t command) const;
  double start_of(const Waiting& entry) const;
  void leave_one();

  std::size_t window_;
  bool queues_;
  Left left_;
  std::vector<std::string> names_;
  std::vector<std::vector<double>> free_;  ///< by port and instance: cycle
  std::vector<Waiting> waiting_;           ///< in the order of the line
  std::vector<double> ended_;              ///< by command
  double issue_ = 0;
};

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#pragma once
// List scheduler of commands known by port and time only: the rules of backends/assembly/command_order.h.

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace isamap {

struct TimedCommand {
  int port = 0;
  double interval = 0, latency = 0;  ///< cycles: until the port is free, until the result is there
  /// Ports of memories and links that it takes too, by number, and their cycles.
  boost::container::small_vector<std::pair<int, double>, 4> shared;
  int flow = -1;  ///< flow of the tile it moves
  bool out = false;
  std::int64_t tile = 0;  ///< number of the tile, or of the call
};

class CommandQueue {
 public:
  /// Called when a command issues; `waited_for`: its predecessor that ended last, or -1.
  using Issued = std::function<void(const TimedCommand&, double start, std::int64_t waited_for)>;

  /// The next command is chosen among `window`. `queues`: each port issues in order, independent of other ports; of
  /// those that wait for a port that they share the one that asked first takes it.
  CommandQueue(std::size_t window, bool queues, Issued issued)
      : window_(window), queues_(queues), issued_(std::move(issued)) {}

  /// Number of the port of this name, with so many instances.
  int port(const std::string& name, double instances);

  std::size_t ports() const { return names_.size(); }

  /// Number of the next command.
  std::int64_t next() const { return static_cast<std::int64_t>(ended_.size()); }
  /// End of a command; negative: not issued.
  double ended(std::int64_t command) const { return ended_[static_cast<std::size_t>(command)]; }
  /// Starts after all of `before` have ended, issues after `behind` (-1: none).
  void add(const TimedCommand& command, const std::vector<std::int64_t>& before, std::int64_t behind);
  void flush();
  /// Have all commands before this one ended by now?
  bool ended_before(std::int64_t command) const {
    return std::all_of(ended_.begin(), ended_.begin() + static_cast<std::ptrdiff_t>(command),
                       [&](double end) { return end >= 0 && end <= clock(); });
  }
  /// When the last command so far was issued; of queues: when the last one ends.
  double clock() const { return queues_ ? end_ : issue_; }
  /// Commands added from here on start when all before have ended.
  void wait_for_all();

 private:
  struct Waiting {
    TimedCommand command;
    std::int64_t number = 0, waited_for = -1, behind = -1;
    double ready = 0;
    std::vector<std::int64_t> before;  ///< not issued
  };

  void wait_for(Waiting& entry, std::int64_t command) const;
  double start_of(const Waiting& entry) const;
  void issue_one();
  void issue_first_of_queues();
  void issue(const Waiting& entry, double start);
  double free_instance(const Waiting& entry) const;

  std::size_t window_;
  bool queues_;
  Issued issued_;
  std::vector<std::string> names_;
  std::vector<std::vector<double>> free_;      ///< by port and instance: cycle
  std::vector<Waiting> waiting_;               ///< in program order
  std::map<int, std::deque<Waiting>> queued_;  ///< by port, of `queues`
  std::vector<double> ended_;                  ///< by command
  double issue_ = 0, end_ = 0;
};

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The order in which the commands of a stream leave: list scheduling over the straight line of the program.
//
// A unit that executes in the order of its program starts no command before the one that stands in front of it, so a
// command that waits for its operands holds up all behind it, moves for the next tile among them. Of the next `window`
// commands of the line those are ready whose predecessors have left; the one that can start first leaves next, the
// first of the line among several. (Greedy list scheduling: Landskov et al., "Local Microcode Compaction Techniques",
// ACM Computing Surveys 12(3), 1980.)
//
// Predecessors: who wrote a byte that the command reads (RAW) or writes (WAW), who read one that it writes (WAR), in
// every memory. A state field that commands set beside their computation counts as a byte of a memory; all other state
// is set by setters, which the printer puts in front of each command when the order is known.
//
// Time is that of the simulator: a command starts when its port is free and its predecessors have ended, one cycle
// later for each setter that it needs.

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "backends/assembly/operand_spans.h"
#include "backends/assembly/straight_line.h"
#include "isamap/hardware.h"

namespace isamap {

/// Who wrote and read each byte of a memory last: disjoint intervals, by their first byte.
class LastUses {
 public:
  using Found = std::function<void(std::int64_t command)>;
  /// Notes the access to [low, high) and tells the commands that come before it. `ended`: when a command that has left
  /// ends, or -1.
  void access(std::int64_t low, std::int64_t high, bool write, std::int64_t command,
              const std::vector<std::int64_t>& ended, const Found& found);

 private:
  struct Segment {
    std::int64_t high = 0, writer = -1;
    std::vector<std::int64_t> readers;
  };
  void split(std::int64_t at);
  static void prune(Segment& segment, const std::vector<std::int64_t>& ended);

  std::map<std::int64_t, Segment> segments_;
};

class CommandOrder {
 public:
  using Leave = std::function<void(const CallSite&, const std::int64_t* loops)>;
  using Say = std::function<void(const std::string&)>;
  /// `window` of 1: the order of the line.
  CommandOrder(const Program& program, const HardwareModel& model, std::size_t window, Leave leave, Say say);

  void call(const CallSite& site, const std::int64_t* loops);
  /// Stands in front of the next command of the line.
  void comment(const std::string& text) { comments_.push_back(text); }
  /// All that came so far leaves before all that comes.
  void flush();

 private:
  struct Timing {
    std::size_t port = 0;
    std::int64_t interval = 1, latency = 1;
  };
  /// A state field by number, and the value that a command needs.
  using Needs = std::vector<std::pair<std::size_t, std::int64_t>>;
  struct Waiting {
    const CallSite* site = nullptr;
    std::vector<std::int64_t> loops;
    std::vector<std::string> comments;
    std::int64_t number = 0, ready = 0;
    int predecessors = 0;                             ///< that have not left
    std::vector<std::int64_t> successors, followers;  ///< begin after it has ended; leave after it, for its state
    Timing timing;
    Needs needs;
  };
  /// A command whose fields suit the next use (`sets: any`) is part of that use: machines may fetch what it reads as
  /// late as then.
  struct Unfinished {
    std::set<std::size_t> fields;
    std::vector<Span> reads;
  };
  /// What an instruction, or one that does the same in another state, reads and writes of the state of commands.
  struct StateUse {
    std::set<std::size_t> reads, writes;
  };

  Timing timing_of(const CallSite& site, const std::int64_t* loops);
  const StateUse& state_use(const Instruction& instruction);
  std::string stem(const Instruction& instruction, const std::string& field) const;
  Needs needs_of(const CallSite& site, const std::int64_t* loops);
  void find_predecessors(Waiting& entry);
  void wait_for(std::vector<std::int64_t> before, Waiting& entry, std::vector<std::int64_t> Waiting::*list);
  void access(const Span& span, bool write, Waiting& entry, std::vector<std::int64_t>& before);
  void finish_by(Waiting& entry, std::vector<std::int64_t>& before);
  std::int64_t setters(const Needs& needs) const;
  std::int64_t start_of(const Waiting& entry) const;
  void leave_one();

  const Program& program_;
  const HardwareModel& model_;
  std::size_t window_, loop_count_;
  Leave leave_;
  Say say_;
  OperandSpans spans_;
  std::vector<bool> written_;  ///< by buffer
  std::vector<LastUses> memories_;
  LastUses state_;
  Unfinished unfinished_;
  std::map<std::string, std::size_t> fields_;  ///< by name: number
  std::vector<std::optional<std::int64_t>> holds_;
  std::set<std::string> set_by_commands_;
  std::map<const Instruction*, StateUse> state_uses_;
  std::map<const CallSite*, Timing> timings_;
  std::map<std::string, std::size_t> port_numbers_;
  std::vector<std::vector<std::int64_t>> port_free_;  ///< by port and instance: cycle
  std::vector<std::string> comments_;
  std::vector<Waiting> waiting_;     ///< in the order of the line
  std::vector<std::int64_t> ended_;  ///< by command: cycle; -1: it has not left
  std::int64_t issue_ = 0;
};

}  // namespace isamap

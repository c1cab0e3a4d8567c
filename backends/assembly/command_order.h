// SPDX-License-Identifier: Apache-2.0
#pragma once
// Command order of a stream: list scheduling over the straight-line program.
//
// With in-order issue a command that waits for its operands stalls all later ones, moves for the next tile among them.
// Of the next `window` commands those are ready whose predecessors have issued; the one with the earliest start issues
// next, ties in program order. (Greedy list scheduling: Landskov et al., "Local Microcode Compaction Techniques", ACM
// Computing Surveys 12(3), 1980.)
//
// Predecessors: RAW, WAW and WAR dependences by byte, in every memory. A state field that compute commands set counts
// as a byte of a memory; all other state is set by setters, which the printer inserts once the order is known.
//
// Timing as in the simulator: a command starts when its port is free and its predecessors have ended, plus one cycle
// for each setter that it needs.

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "backends/assembly/operand_spans.h"
#include "backends/assembly/straight_line.h"
#include "isamap/hardware.h"

namespace isamap {

/// Last writer and readers of each byte of a memory: disjoint intervals, by their first byte.
class LastUses {
 public:
  using Found = std::function<void(std::int64_t command)>;
  /// Records the access to [low, high) and reports its predecessors. `ended`: end time of an issued command, or -1.
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
  /// Text printed before the next command.
  void comment(const std::string& text) { comments_.push_back(text); }
  /// A barrier: earlier commands issue before later ones.
  void flush();

 private:
  struct Timing {
    std::size_t port = 0;
    std::int64_t interval = 1, latency = 1;
    std::vector<std::pair<std::size_t, std::int64_t>>
        shared;  ///< ports of memories and links that it takes too, and cycles
  };
  /// A state field by number, and the value that a command needs.
  using Needs = std::vector<std::pair<std::size_t, std::int64_t>>;
  struct Waiting {
    const CallSite* site = nullptr;
    std::vector<std::int64_t> loops;
    std::vector<std::string> comments;
    std::int64_t number = 0, ready = 0;
    int predecessors = 0;                             ///< not yet issued
    std::vector<std::int64_t> successors, followers;  ///< data successors; state successors
    Timing timing;
    Needs needs;
  };
  /// A command with free fields (`sets: any`) belongs to the next use of these fields: machines may read its operands
  /// as late as then.
  struct Unfinished {
    std::set<std::size_t> fields;
    std::vector<Span> reads;
  };
  /// Command state read and written by an instruction or by its equivalents in another state (state_variants.h).
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
  std::vector<std::vector<std::int64_t>> port_free_;  ///< by port, also of memories and links, and instance: cycle
  std::vector<std::string> comments_;
  std::vector<Waiting> waiting_;     ///< in the order of the line
  std::vector<std::int64_t> ended_;  ///< by command: cycle; -1: not issued
  std::int64_t issue_ = 0;
};

}  // namespace isamap

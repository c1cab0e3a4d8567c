// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memories as bytes, and commands executed on them by the semantics in the description.
//
// Timing: in-order issue; a command waits for a free port and for its operands (dependences tracked by register, in
// memories at the granularity of the narrowest element); a port is busy for the interval, results are available after
// the latency.

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/simulator/decoder.h"
#include "backends/simulator/simulated_time.h"
#include "isamap/hardware.h"
#include "isamap/program.h"

namespace isamap {

/// A command of an independent queue: earliest start, time of its results, and the callback for its accesses.
struct Turn {
  std::int64_t earliest = 0, end = 0;
  std::function<void(MemoryId memory, std::size_t at, int count, bool write)> touch;
};

/// A cycle for each block of a memory, 0 at first. Pages of blocks are made when they are touched: a memory may have
/// millions of blocks, of which a program touches few.
class ReadyTimes {
 public:
  ReadyTimes() = default;
  explicit ReadyTimes(std::size_t blocks) : pages_(blocks / page + 1) {}
  std::int64_t& operator[](std::size_t block) {
    auto& cycles = pages_[block / page];
    if (!cycles) cycles = std::make_unique<std::int64_t[]>(page);
    return cycles[block % page];
  }

 private:
  static constexpr std::size_t page = 4096;  ///< blocks
  std::vector<std::unique_ptr<std::int64_t[]>> pages_;
};

class Machine {
 public:
  /// Memory sizes follow from the buffers of the program; the initial contents are garbage.
  Machine(const Program& program, const HardwareModel& model);

  /// Nothing, or why the command cannot be executed: an address outside the memory, an extent out of range. `turn`:
  /// null for a unit with in-order issue.
  std::optional<Diagnostic> execute(const Command& command, Turn* turn = nullptr);

  /// Bytes of an addressed memory from its start.
  std::vector<std::uint8_t>& image(MemoryId memory) { return images_[memory.index()].bytes; }
  const SimulatedTime& time() const { return time_; }
  /// The next command is issued when all results are there.
  void wait() { issue_ = std::max(issue_, time_.cycles); }
  const HardwareModel& model() const { return model_; }
  /// The cycle from which a port of its unit can take the instruction.
  std::int64_t port_free(const Instruction& instruction) const;

 private:
  struct Image {
    std::vector<std::uint8_t> bytes;
    std::int64_t block = 1;  ///< bytes with one ready time: a register, or the narrowest element
    ReadyTimes written, read;
  };

  /// One operand of a command: the byte at which it starts, and element positions as a function of the instruction
  /// point.
  struct Access {
    MemoryId memory;
    DType dtype = DType::f32;
    std::int64_t origin = 0;
    CompiledAffine position;
    std::int64_t low = 0, high = 0;  ///< smallest and largest position within the extents
    std::optional<Scalar> number;    ///< in no memory
    std::optional<XorSwizzle> swizzle;
  };

  struct Use {
    const Instruction* instruction = nullptr;
    std::vector<std::int64_t> extents;
    std::vector<Access> accesses;
    bool start_at_identity = false;
  };

  Result<std::int64_t> masked_extent(const Command& command, const Dim& dim) const;
  std::optional<Diagnostic> extents_of(const Command& command, Use& use) const;
  std::optional<DType> type_moved_by(const Instruction& move) const;
  std::optional<Diagnostic> access_of_operand(const Command& command, int number, Use& use) const;
  std::size_t byte_of(const Access& access, const std::int64_t* point) const;
  Scalar load(const Access& access, const std::int64_t* point) const;
  void store(const Access& access, const std::int64_t* point, Scalar value);
  void compute(const Use& use);
  void deaden(const Use& use);
  template <class F>
  void for_each_element(const Use& use, std::size_t access, F&& f) const;
  std::int64_t bytes_accessed(const Use& use, std::size_t access) const;
  void count(const Use& use);
  void tell(const Use& use, const Turn& turn) const;
  void account(const Command& command, const Use& use, Turn* turn);

  const HardwareModel& model_;
  std::vector<Image> images_;
  SimulatedTime time_;
  std::int64_t issue_ = 0;
  std::map<std::string, std::vector<std::int64_t>> port_free_;
  std::map<int, std::int64_t> shared_free_;  ///< by port of memories and links (hwdesc/model/memory_time.h): cycle
  mutable std::map<const Instruction*, std::optional<DType>> moved_types_;
};

}  // namespace isamap

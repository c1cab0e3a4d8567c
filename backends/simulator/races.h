// SPDX-License-Identifier: Apache-2.0
#pragma once
// Data race detection between queues. Happens-before by vector clocks: an access is ordered after an earlier one of
// queue q if the clock of its command covers that command of q.

#include <cstdint>
#include <optional>
#include <vector>

#include "isamap/hardware.h"

namespace isamap {

/// By queue: number of commands known to have ended.
using Clock = std::vector<std::int64_t>;

struct Race {
  std::size_t queue = 0;  ///< of the other command
  std::int64_t number = 0;
  bool write = false;  ///< the other command writes
};

class Races {
 public:
  Races(std::size_t memories, std::size_t queues) : queues_(queues), bytes_(memories) {}

  /// Command `clock[queue]` of `queue` reads or writes `count` bytes. An access it is not ordered with, or nothing.
  std::optional<Race> touch(MemoryId memory, std::size_t at, int count, bool write, std::size_t queue,
                            const Clock& clock);

 private:
  std::size_t queues_;
  std::vector<std::vector<std::int32_t>> bytes_;  ///< by memory: byte x queue x {read, write} -> number of the command
};

}  // namespace isamap

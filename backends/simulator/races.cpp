// SPDX-License-Identifier: Apache-2.0
#include "backends/simulator/races.h"

namespace isamap {

std::optional<Race> Races::touch(MemoryId memory, std::size_t at, int count, bool write, std::size_t queue,
                                 const Clock& clock) {
  auto& table = bytes_[memory.index()];
  const std::size_t row = 2 * queues_, end = (at + static_cast<std::size_t>(count)) * row;
  if (table.size() < end) table.resize(end, 0);
  std::optional<Race> race;
  for (std::size_t byte = at; byte < at + static_cast<std::size_t>(count); ++byte) {
    std::int32_t* numbers = &table[byte * row];
    for (std::size_t q = 0; q < queues_; ++q)
      for (const bool written : {true, false})
        if (q != queue && (write || written) && numbers[2 * q + (written ? 1 : 0)] > clock[q])
          race = Race{q, numbers[2 * q + (written ? 1 : 0)], written};
    numbers[2 * queue + (write ? 1 : 0)] = static_cast<std::int32_t>(clock[queue]);
  }
  return race;
}

}  // namespace isamap

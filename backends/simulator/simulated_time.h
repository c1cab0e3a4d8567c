// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a simulation counts.

#include <cstdint>
#include <map>
#include <string>

namespace isamap {

/// Bytes that commands read from and write to a memory.
struct AccessedBytes {
  std::int64_t read = 0, written = 0;
};

struct SimulatedTime {
  std::int64_t cycles = 0;                         ///< until the last result; excludes the host
  double scalar_cycles = 0;                        ///< cycles of the host
  std::int64_t commands = 0;                       ///< that were executed
  std::map<std::string, std::int64_t> link_bytes;  ///< moved over each link
  std::map<std::string, std::int64_t> port_busy;
  std::map<std::string, AccessedBytes> memories;  ///< by name
  std::string missing;                            ///< not executed: what the external simulator lacks
  std::string limit;                              ///< not finished: the external simulator was killed at its time limit
};

/// What a part of a model adds to the whole.
struct SimulatedPart {
  std::int64_t cycles = 0;  ///< by which the last result comes later; less than it takes alone where parts overlap
  double scalar_cycles = 0;
  std::int64_t commands = 0;
  std::map<std::string, std::int64_t> link_bytes, port_busy;
  std::map<std::string, AccessedBytes> memories;
};

}  // namespace isamap

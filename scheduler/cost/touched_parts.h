// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which commands touched which part of a tile last: the predecessors of the next one.
//
// A tile is a box; along every axis it is cut into parts so that what moves and calls touch ends where a part does, or
// covers a little more. As for bytes of memories (backends/assembly/command_order.h) a read comes after the last write,
// a write after the last write and all reads since.

#include <cstdint>
#include <functional>
#include <vector>

namespace isamap {

class TouchedParts {
 public:
  struct Axis {
    std::int64_t extent = 1, part = 1;
  };
  /// Along one axis, counted from where the tile begins: [low, high).
  struct Range {
    std::int64_t low = 0, high = 1;
  };
  using Box = std::vector<Range>;

  explicit TouchedParts(std::vector<Axis> axes);

  /// Adds to `before` what comes before a command that touches the box. `end`: of a command; negative: it has not left.
  void touch(const Box& box, bool write, std::int64_t command, const std::function<double(std::int64_t)>& end,
             std::vector<std::int64_t>& before);

 private:
  struct Cell {
    std::int64_t writer = -1;
    std::vector<std::int64_t> readers;
  };
  std::vector<Axis> axes_;
  std::vector<Cell> cells_;  ///< row-major
};

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Data dependences between commands: the last commands that touched each part of a tile.
//
// A tile is a box, cut into parts along every axis so that the regions of moves and calls are unions of parts, or
// slightly less. RAW, WAR and WAW as for bytes of memories (backends/assembly/command_order.h).

#include <cstdint>
#include <functional>
#include <vector>

namespace isamap {

class TouchedParts {
 public:
  struct Axis {
    std::int64_t extent = 1, part = 1;
  };
  /// Along one axis, relative to the tile: [low, high).
  struct Range {
    std::int64_t low = 0, high = 1;
  };
  using Box = std::vector<Range>;

  explicit TouchedParts(std::vector<Axis> axes);

  /// Adds to `before` the predecessors of a command that touches the box. `end`: end of a command before it; negative:
  /// not issued.
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

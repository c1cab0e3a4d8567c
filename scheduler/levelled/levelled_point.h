// SPDX-License-Identifier: Apache-2.0
#pragma once
// A point of the levelled form as tiles: what a closed form without a nest reads.

#include <memory>

namespace isamap {

namespace levelled {
struct Problem;
struct LevelPoint;
}  // namespace levelled

struct LevelledPoint {
  const levelled::Problem* problem = nullptr;
  std::shared_ptr<const levelled::LevelPoint> tiles;
};

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
// Points that are the same schedule: many choices do not matter (a level that a mapping does not have, tiles larger
// than the dim), so points are told apart by what they build.

#include "scheduler/canonical_nest.h"
#include "scheduler/point_form.h"

namespace isamap {

std::uint64_t SearchSpace::hash(const Point& point) const {
  const Point repaired = repair(point);
  if (auto nest = build(repaired))
    return isamap::hash(isamap::canonical(*nest, fuse(kernel().statements[statement().index()], mapping_of(repaired))));
  std::uint64_t h = 0xcbf29ce484222325ULL;
  for (const int c : repaired.choice) h = (h ^ static_cast<std::uint64_t>(c)) * 0x100000001b3ULL;
  return h;
}

Point SearchSpace::canonical(const Point& point) const {
  Point result = repair(point);
  if (form().repairs_to_canonical() || !build(result)) return result;
  const std::uint64_t same = hash(result);
  for (std::size_t d = result.choice.size(); d-- > 0;)
    for (int smaller = 0; smaller < result.choice[d]; ++smaller) {
      Point other = result;
      other.choice[d] = smaller;
      if (repair(other) != other || hash(other) != same) continue;
      result = std::move(other);
      break;
    }
  return result;
}

}  // namespace isamap

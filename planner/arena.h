// SPDX-License-Identifier: Apache-2.0
#pragma once
// One block of memory for the tensors between the parts of a model: tensors that are needed at different times share
// bytes.

#include <cstdint>
#include <vector>

namespace isamap {

/// A tensor that is needed from step `first` to step `last`, both included.
struct Lifetime {
  std::int64_t bytes = 0;
  std::size_t first = 0, last = 0;
  bool operator==(const Lifetime&) const = default;
};

struct Arena {
  std::vector<std::int64_t> at;  ///< by tensor: bytes from the start
  std::int64_t bytes = 0;
  std::int64_t bound = 0;  ///< the largest sum at one step: no arena is smaller
};

/// Offsets are multiples of `align`; sizes count rounded up to it. Each tensor goes to the lowest place that is free
/// during its life, in several orders (largest first, longest first, ...), then in orders changed at random; the
/// smallest arena wins. That is offset assignment by first fit: Sekiyama, Imai, Negishi, "Profile-guided memory
/// optimization for deep neural networks", 2018, and TensorFlow Lite's memory planner. Low places are used first, so
/// that a small arena also stays in the caches.
Arena place_in_arena(const std::vector<Lifetime>& tensors, std::int64_t align);

}  // namespace isamap

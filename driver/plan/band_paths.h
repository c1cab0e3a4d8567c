// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sets of parts that may run in bands: paths along large tensors, and what lies between or only feeds them.

#include <map>
#include <vector>

#include "planner/plan.h"

namespace isamap {

struct BandPath {
  std::vector<std::size_t> chains;  ///< ascending
  double largest = 0;               ///< bytes of the largest tensor between two of them, or that two of them read
  double bytes = 0;                 ///< of all tensors along the path
};

class BandPaths {
 public:
  BandPaths(const Kernel& kernel, const std::vector<Part>& chains);

  /// Paths of two to `most_parts` chains with a tensor of at least so many bytes, and at most two chains on branches;
  /// the most bytes first.
  std::vector<BandPath> along_tensors(std::size_t most_parts, double least_bytes) const;

  /// With the only chain that reads the result of its last one; the path itself: there is none, or others have to run
  /// between them.
  std::vector<std::size_t> with_only_reader(const std::vector<std::size_t>& path) const;

  /// With the chains whose results nothing outside of the path reads; the path itself: there are none.
  std::vector<std::size_t> with_own_producers(const std::vector<std::size_t>& path) const;

 private:
  using Path = std::vector<std::size_t>;
  void extend(const Path& path, std::size_t most_parts, double least_bytes, const BandPath& so_far,
              std::map<Path, BandPath>& found) const;
  /// Bytes of the largest tensor that two of these chains read.
  double largest_shared(const Path& path) const;
  /// The path and what lies on other ways between its chains: they have to run between them.
  Path with_branches(const Path& path) const;

  std::vector<std::map<std::size_t, double>> readers_;  ///< by chain: its readers, and bytes of the largest tensor
  std::vector<Path> before_;                            ///< by chain: those that it reads
  std::vector<std::map<TensorId, double>> reads_;       ///< by chain: tensors that are not constant, and their bytes
  std::vector<bool> leaves_;                            ///< by chain: it writes an output of the model
};

}  // namespace isamap

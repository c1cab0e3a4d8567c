// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which values that an import knows at every sample are to be computed when the model runs, although all samples agree.
//
//   n > 1    is true at n = 2, 32 and 64, and false at n = 1
//
// An abstract interpretation of what samples have computed from extents: each value is one of
//   same       at all sizes
//   varying    a sum, product or quotient of extents, which samples show and fits prove
//   position   of another extent, but elements depend on their subscripts alone: a range, zeros
//   decided    when the model runs: comparisons that do not follow from the facts, minima, masks of them, reductions

#include <set>
#include <string>
#include <vector>

#include "frontends/model.h"
#include "isamap/symbolic.h"

namespace isamap {

/// What is kept of Model::of_extents at one sample: values of few elements, a hash of others.
struct SeenValue {
  struct Input {
    std::vector<double> numbers;
    std::size_t count = 0;
    int from = -1;
    bool integer = false;
  };
  std::string name, op;
  std::vector<Input> inputs;
  std::vector<std::int64_t> shape;
  std::size_t hash = 0;
  bool integer = false, truth = false, narrow = false;
};
std::vector<SeenValue> seen(const std::vector<KnownValue>& values);

struct Dependences {
  std::set<std::string> decided;  ///< the first values of each chain
  std::set<std::string> sums;     ///< of extents, with numbers as factors: affine at all sizes
  std::string moving;             ///< one whose elements are taken from places that depend on an extent, or none
};
/// `samples[n]`: at `sizes[n]`.
Dependences dependences_of(const SizeFacts& facts, const std::vector<Bindings>& sizes,
                           const std::vector<std::vector<SeenValue>>& samples);

}  // namespace isamap

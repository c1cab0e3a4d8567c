// SPDX-License-Identifier: Apache-2.0
// Sums along a dimension, and recurrent layers.

#include <fmt/format.h>

#include "frontends/onnx/maker.h"

namespace isamap::importing {
namespace {

/// y[i] = the sum of x[i - k] over k >= 0; what lies before the first element is 0.
void make_cumsum(Maker& m) {
  const Sizes& shape = m.shape(0);
  const auto given = m.integers(1, "the axis");
  const std::size_t axis = m.axis(given.empty() ? 0 : given[0], shape.size());
  const bool exclusive = m.integer("exclusive", 0) != 0, reverse = m.integer("reverse", 0) != 0;
  const Names i = iterators(shape.size());
  Names from = i;
  from[axis] += fmt::format(" {} t {} {}", reverse ? "+" : "-", reverse ? "+" : "-", exclusive ? 1 : 0);
  Extents extents = extents_of(i, shape);
  extents["t"] = shape[axis];
  m.padded("P", "X0", 0);
  m.result("Y", 0, m.dtype(0), shape);
  m.say(access("Y", i) + " += " + access("P", from), extents);
}

}  // namespace

const Makers& sequence_makers() {
  static const Makers all = {{"CumSum", &make_cumsum}};
  return all;
}

}  // namespace isamap::importing

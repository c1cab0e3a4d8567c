// SPDX-License-Identifier: Apache-2.0
// Minimum work of any implementation.

#include "bench/cpu/cases.h"

namespace isamap::bench {
namespace {

/// Taps inside the image, summed over all positions of the window.
double taps_inside(const Axis& axis) {
  double taps = 0;
  for (std::int64_t p = 0; p < axis.out(); ++p)
    for (std::int64_t r = 0; r < axis.window; ++r) {
      const std::int64_t at = p * axis.stride + r - axis.pad;
      if (at >= 0 && at < axis.size) ++taps;
    }
  return taps;
}

}  // namespace

double needed_operations(const CpuCase& c) {
  const Filter& f = c.filter;
  if (f.in == 0) return c.operations;  // no images
  const double taps = taps_inside(f.down) * taps_inside(f.across);
  const auto in = static_cast<double>(f.images * f.in), out = static_cast<double>(f.out);
  const auto mixed = static_cast<double>(f.down.out() * f.across.out() * c.mixed);
  return 2 * in * (taps * (f.depthwise ? 1 : out) + mixed);
}

}  // namespace isamap::bench

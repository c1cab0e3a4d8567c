// Work that no implementation can do without.

#include "bench/cpu/cases.h"

namespace isamap::bench {

double needed_operations(const CpuCase& c) {
  if (c.r == 0) return c.operations;  // no window
  // Taps inside the image, counted along one axis; both axes are alike.
  double taps = 0;
  for (std::int64_t p = 0; p < c.out(); ++p)
    for (std::int64_t r = 0; r < c.r; ++r) {
      const std::int64_t at = p * c.stride + r - c.pad;
      if (at >= 0 && at < c.h) ++taps;
    }
  const auto points = static_cast<double>(c.out() * c.out());
  const auto channels = static_cast<double>(c.c), outputs = static_cast<double>(c.n);
  if (c.kind == CpuCase::Kind::convolution) return 2 * taps * taps * channels * outputs;
  return 2 * taps * taps * channels + (c.kind == CpuCase::Kind::block ? 2 * points * channels * outputs : 0);
}

}  // namespace isamap::bench

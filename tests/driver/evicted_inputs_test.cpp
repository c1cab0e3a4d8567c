// SPDX-License-Identifier: Apache-2.0
// Inputs that the model evicts from the second cache before a part reads them.

#include "driver/plan/evicted_inputs.h"

#include <gtest/gtest.h>

#include "driver/plan/band_price.h"
#include "ir/text/parse.h"
#include "planner/traffic.h"
#include "tests/driver/on_machine.h"

namespace isamap {
namespace {

/// X of so many rows of 4 KiB, E as large, sums of both.
Kernel rows(int count) {
  std::string text = R"(kernel rows
tensor X: f32[R,1024]
tensor M: f32[R]
tensor E: f32[R,1024]
tensor S: f32[R]
maximum: M[i] max= X[i,j] over i: R, j: 1024
exponent: E[i,j] = exp(X[i,j] - M[i]) over i: R, j: 1024
total: S[i] += E[i,j] over i: R, j: 1024
)";
  for (std::size_t at = text.find('R'); at != std::string::npos; at = text.find('R', at)) {
    const std::string number = std::to_string(count);
    text.replace(at, 1, number);
    at += number.size();
  }
  return *parse_kernel(text);
}

TEST(EvictedInputs, AreFetchedWhereMoreThanTheCacheIsTouchedInBetween) {
  const HardwareModel machine = described("x86_avx512");
  const auto cycles = [&](int count, std::size_t part, const std::set<TensorId>& except = {}) {
    const Kernel kernel = rows(count);
    return evicted_input_cycles(kernel, apart(kernel), part, machine, except);
  };
  for (const std::size_t part : {0, 1, 2}) EXPECT_EQ(cycles(64, part), 0) << "all of the model fits";
  const double usable = machine.timing.usable * 1280 * 1024, x = 192 * 4096, m = 192 * 4;
  EXPECT_NEAR(cycles(192, 0), (1 - usable / (2 * x + 2 * m)) * x / band_caches(machine)->far, 1e-6)
      << "the run before has touched everything";
  EXPECT_EQ(cycles(192, 1), 0) << "X was touched by the part before, but its own price knows that E does not fit too";
  EXPECT_NEAR(cycles(192, 2), (1 - usable / (2 * x + m)) * x / band_caches(machine)->far, 1e-6)
      << "X and E were touched";
  EXPECT_EQ(cycles(192, 2, {make_id<TensorId>(2)}), 0) << "but for what is passed on";
  EXPECT_EQ(evicted_input_cycles(rows(192), apart(rows(192)), 0, described("npu16")), 0) << "commands";
}

TEST(EvictedInputs, AddWhatNothingHides) {
  HardwareModel machine = described("x86_avx512");
  machine.timing.exposed_starts = 0.5;
  EXPECT_EQ(with_evicted_inputs(100, 40, machine), 120);
  EXPECT_EQ(with_evicted_inputs(100, 200, machine), 300);
}

}  // namespace
}  // namespace isamap

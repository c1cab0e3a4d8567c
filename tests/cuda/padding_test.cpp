// SPDX-License-Identifier: Apache-2.0
// Rows of tiles whose fragments lanes fetch element by element lie so far apart that what a warp asks for at once is in
// different banks: 8-bit rows by 4 bytes more, where copies of 4 bytes allow that.

#include "tests/cuda/passes.h"
#include "tests/searched.h"

namespace isamap {
namespace {

/// Passes of all loads from the array, and the least that they could take.
std::pair<long, long> loads_from(const std::string& array, const std::map<std::string, ToldPasses>& told) {
  std::pair<long, long> sum;
  for (const auto& [name, passes] : told)
    if (name.ends_with(" " + array + " loads")) sum.first += passes.passes, sum.second += passes.least;
  return sum;
}

void fragments_of_columns_meet_no_bank_twice(Every every) {
  const auto model = machine("nvidia_sm80");
  auto window = load_kernel(std::string(ISAMAP_SOURCE_DIR) + "/examples/conv2d_s8.yaml");
  ASSERT_TRUE(window) << render(window.diagnostics());
  for (const auto& [kernel, array] : {std::pair(*window, "F_shared"),
                                      {product("tf32", "f32", 128, 128, 128, false), "B_shared"},
                                      {product("f64", "f64", 128, 128, 128, false), "A_shared"},
                                      {product("f64", "f64", 128, 128, 128, false), "B_shared"}}) {
    if (every.skips()) continue;
    SCOPED_TRACE(print(kernel) + array);
    const Program made = searched(kernel, model);
    const auto [passes_told, least] = loads_from(array, passes(made, model));
    EXPECT_GT(least, 0) << made.schedule_text;
    EXPECT_EQ(passes_told, least) << made.schedule_text;
  }
}

TEST(Padding, FragmentsOfColumnsMeetNoBankTwice) { fragments_of_columns_meet_no_bank_twice(Every(4)); }
TEST(HeavyPadding, FragmentsOfColumnsMeetNoBankTwice) { fragments_of_columns_meet_no_bank_twice(Every(1)); }

}  // namespace
}  // namespace isamap

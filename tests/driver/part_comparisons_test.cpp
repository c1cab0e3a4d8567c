// SPDX-License-Identifier: Apache-2.0
// Parts of a model compared side by side: each on what the run left before it, the same for any number of jobs.

#include "driver/part_comparisons.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "isamap/frontends.h"

namespace isamap {
namespace {

Kernel doubling(std::int64_t size) {
  const auto kernel = kernel_from_formula("Y[i] = X[i] + X[i]", "i=" + std::to_string(size), "");
  EXPECT_TRUE(kernel) << render(kernel.diagnostics());
  return kernel ? *kernel : Kernel{};
}

/// Compares `parts` parts, of which those at `wrong` have another first element.
std::vector<std::optional<Comparison>> compared(std::size_t parts, const std::vector<std::size_t>& wrong, int jobs) {
  PartComparisons comparisons(parts, jobs);
  for (std::size_t p = 0; p < parts && comparisons.all_equal(); ++p) {
    const Kernel kernel = doubling(static_cast<std::int64_t>(p % 3) * 16 + 1);
    const std::vector<TensorData> before = random_data(kernel, Fill::integers, p);
    std::vector<TensorData> found = before;
    interpret(kernel, found);
    for (std::size_t t = 0; t < found.size(); ++t)
      if (role_of(kernel, make_id<TensorId>(t)) == Role::output &&
          std::find(wrong.begin(), wrong.end(), p) != wrong.end())
        found[t].set(0, {12345.0, 0});
    comparisons.add(p, kernel, before, found);
  }
  return comparisons.finish();
}

TEST(PartComparisons, AllPartsAreComparedForAnyNumberOfJobs) {
  for (const int jobs : {1, 2, 7})
    for (const auto& result : compared(20, {}, jobs)) {
      ASSERT_TRUE(result) << jobs;
      EXPECT_TRUE(result->equal) << jobs << ": " << result->first_difference;
    }
}

TEST(PartComparisons, TheFirstWrongPartIsKnown) {
  for (const int jobs : {1, 2, 7}) {
    const auto results = compared(40, {6, 9}, jobs);
    for (std::size_t p = 0; p < 6; ++p) {
      ASSERT_TRUE(results[p]) << jobs;
      EXPECT_TRUE(results[p]->equal) << jobs;
    }
    ASSERT_TRUE(results[6]) << jobs;
    EXPECT_FALSE(results[6]->equal) << jobs;
    EXPECT_NE(results[6]->first_difference.find("12345"), std::string::npos) << results[6]->first_difference;
    if (jobs == 1) {
      EXPECT_FALSE(results[39]) << "the rest is not compared";
    }
  }
}

}  // namespace
}  // namespace isamap

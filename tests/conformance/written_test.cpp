// SPDX-License-Identifier: Apache-2.0
// Outputs that a statement writes in part, or of which several tiles hold parts of one element: what no point writes is
// the identity, and partial sums are added up.

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "isamap/backend.h"
#include "isamap/frontends.h"
#include "scheduler/nest/write_coverage.h"
#include "tests/conformance/matrix.h"

namespace isamap::conformance {
namespace {

struct WrittenCase {
  const char* compute;
  const char* dims;
};
constexpr WrittenCase cases[] = {{"O[n+k] += I[n] * F[k]", "n=20,k=7"},
                                 {"O[2*n+k] += I[n] * F[k]", "n=20,k=7"},
                                 {"O[2*n+3*k] += I[n,c] * F[k,c]", "n=9,k=5,c=18"},
                                 {"O[2*p+r,2*q+s,k] += I[p,q,c] * F[r,s,c,k]", "p=5,q=4,r=3,s=3,c=17,k=9"},
                                 {"C[2*i+1] += A[i,k] * B[k]", "i=20,k=5"},
                                 {"C[3*i,j] += A[i,k] * B[k,j]", "i=7,j=18,k=17"},
                                 {"C[i,i,j] += A[i,k] * B[k,j]", "i=6,j=17,k=5"},
                                 {"C[2*i] = A[i] * B[i]", "i=33"},
                                 {"C[i,i] = A[i,i] * B[i,i]", "i=20"}};

class Written : public testing::TestWithParam<std::string> {};

constexpr std::size_t convolution = 3;  ///< searched for longest, most of all where no schedule of it exists

/// Every `step`-th case, beginning with `first`.
void expect_written(const std::string& name, std::size_t first, std::size_t step) {
  const HardwareModel model = load_model(name);
  int compiled_cases = 0;
  for (std::size_t i = first; i < std::size(cases); i += step)
    for (const char* types : {"f32", "s8"}) {
      const WrittenCase& c = cases[i];
      if (i == convolution && step > 1) continue;
      auto kernel = kernel_from_formula(c.compute, c.dims, "");
      ASSERT_TRUE(kernel) << render(kernel.diagnostics());
      const TensorId out = kernel->statements[0].write.tensor;
      std::string dtypes;
      for (std::size_t t = 0; t < kernel->tensors.size(); ++t)
        dtypes += (t > 0 ? "," : "") + kernel->tensors[t].name + "=" +
                  (types == std::string("s8") ? (t == out.index() ? "s32" : "s8") : "f32");
      kernel = kernel_from_formula(c.compute, c.dims, dtypes);
      ASSERT_TRUE(kernel) << render(kernel.diagnostics());
      const Compiled compiled = compile(*kernel, model);
      if (!compiled.program) continue;  // no scalar unit, or types that the machine has not
      ++compiled_cases;
      EXPECT_EQ(interpreted_difference(*compiled.program, model, Fill::integers, 5), "")
          << model.name << ": " << c.compute << " of " << types << "\n"
          << print(compiled.scheduled->schedule);
    }
  if (compiled_cases == 0)
    GTEST_SKIP() << model.name << " has neither these types nor a scalar unit that sets the rest";
}

/// A third of the cases for each model, another third for the next one; HeavyWritten takes all.
TEST_P(Written, ElementsBetweenAndSharedOnes) {
  const std::vector<std::string> models = fixed_model_names();
  const auto number = std::find(models.begin(), models.end(), GetParam()) - models.begin();
  expect_written(GetParam(), static_cast<std::size_t>(number) % 3, 3);
}

class HeavyWritten : public testing::TestWithParam<std::string> {};

TEST_P(HeavyWritten, ElementsBetweenAndSharedOnes) { expect_written(GetParam(), 0, 1); }

INSTANTIATE_TEST_SUITE_P(Model, HeavyWritten, testing::ValuesIn(fixed_model_names()),
                         [](const auto& of) { return of.param; });
INSTANTIATE_TEST_SUITE_P(Model, Written, testing::ValuesIn(fixed_model_names()),
                         [](const auto& of) { return of.param; });

TEST(WrittenElements, AllAndOnce) {
  const auto found = [](const char* compute, const char* dims) {
    const auto kernel = kernel_from_formula(compute, dims, "");
    EXPECT_TRUE(kernel) << render(kernel.diagnostics());
    const Computation& statement = kernel->statements[0];
    const WrittenElements w = written_elements(statement, kernel->tensors[statement.write.tensor.index()]);
    return std::string(w.all ? "all" : "some") + (w.once ? " once" : "");
  };
  EXPECT_EQ(found("C[i,j] += A[i,k] * B[k,j]", "i=3,j=4,k=5"), "all once");
  EXPECT_EQ(found("C[4*i+j] += A[i,k] * B[k,j]", "i=3,j=4,k=5"), "all once");
  EXPECT_EQ(found("C[3*i+j] += A[i,k] * B[k,j]", "i=3,j=4,k=5"), "all");
  EXPECT_EQ(found("C[5*i+j] += A[i,k] * B[k,j]", "i=3,j=4,k=5"), "some once");
  EXPECT_EQ(found("C[i+j,j] += A[i,k] * B[k,j]", "i=3,j=4,k=5"), "some once");
  EXPECT_EQ(found("C[i/4,i%4] += A[i,k]", "i=12,k=5"), "all once");
  EXPECT_EQ(found("C[i/4] += A[i,k]", "i=12,k=5"), "all");
  EXPECT_EQ(found("C[i+j] += A[i] * B[j]", "i=70000,j=70000"), "some");
  EXPECT_EQ(found("C[i] += A[i,k]", "i=0,k=5"), "all once");
}

}  // namespace
}  // namespace isamap::conformance

// SPDX-License-Identifier: Apache-2.0
// Which tensors may live in the storage of another, and how bands have them.

#include "planner/in_place.h"

#include <gtest/gtest.h>

#include "ir/text/parse.h"
#include "planner/bands.h"
#include "planner/traffic.h"

namespace isamap {
namespace {

Kernel kernel_of(const std::string& text) {
  auto parsed = parse_kernel("kernel k\n" + text);
  EXPECT_TRUE(parsed) << render(parsed.diagnostics());
  return *parsed;
}

/// "E in Y", each statement a part.
std::string found(const std::string& text) {
  const Kernel kernel = kernel_of(text);
  std::string list;
  for (const auto& [id, by] : overwritten_tensors(kernel, apart(kernel)))
    list += kernel.tensors[id.index()].name + " in " + kernel.tensors[by.index()].name + ";";
  return list;
}

const std::string rows = R"(tensor X: f32[5,7]
tensor E: f32[5,7]
tensor S: f32[5]
tensor Y: f32[5,7]
exponent: E[i,j] = exp(X[i,j]) over i: 5, j: 7
total: S[i] += E[i,j] over i: 5, j: 7
)";

TEST(InPlace, TheLastReaderOverwritesWhatItReadsAtTheSameIndex) {
  EXPECT_EQ(found(rows + "divide: Y[i,j] = E[i,j] / S[i] over i: 5, j: 7"), "E in Y;");
  EXPECT_EQ(found(rows + "divide: Y[i,j] = E[i,j] * E[i,j] / S[i] over i: 5, j: 7"), "E in Y;") << "twice at once";
  EXPECT_EQ(found(rows + "divide: Y[j,i] = E[j,i] / S[j] over i: 7, j: 5"), "E in Y;") << "dims by other names";
}

TEST(InPlace, NotWhereItIsReadElsewhereOrLater) {
  EXPECT_EQ(found(rows + "divide: Y[i,j] = E[i,(j + 1)%7] / S[i] over i: 5, j: 7"), "");
  EXPECT_EQ(found(rows + "divide: Y[i,j] = E[i,j] * E[i,0] over i: 5, j: 7"), "");
  EXPECT_EQ(found("tensor Z: f32[5]\n" + rows +
                  "divide: Y[i,j] = E[i,j] / S[i] over i: 5, j: 7\nagain: Z[i] += E[i,j] over i: 5, j: 7"),
            "");
  EXPECT_EQ(found(rows + "divide: Y[i,j] += E[i,j] / S[i] over i: 5, j: 7"), "") << "begins at zero";
}

TEST(InPlace, NotInTensorsThatAreStoredOtherwise) {
  const auto with = [](const std::string& y, const std::string& statement) {
    std::string text = rows;
    text.replace(text.find("Y: f32[5,7]"), 11, "Y: " + y);
    return found(text + statement);
  };
  EXPECT_EQ(with("f64[5,7]", "divide: Y[i,j] = E[i,j] / S[i] over i: 5, j: 7"), "");
  EXPECT_EQ(with("f32[7,5]", "divide: Y[j,i] = E[i,j] / S[i] over i: 5, j: 7"), "");
  EXPECT_EQ(with("f32[5,7] inout", "divide: Y[i,j] = E[i,j] / S[i] over i: 5, j: 7"), "");
}

TEST(InPlace, OfTwoTensorsTheOneThatWasWrittenLast) {
  EXPECT_EQ(found(R"(tensor X: f32[5]
tensor A: f32[5]
tensor B: f32[5]
tensor Y: f32[5]
b: B[i] = X[i] + 1 over i: 5
a: A[i] = B[i] * 2 over i: 5
y: Y[i] = A[i] + B[i] over i: 5
)"),
            "A in Y;");
}

TEST(InPlace, BandsHaveRowsOfTheWholeTensorWithoutABuffer) {
  const Kernel kernel = kernel_of(rows + "divide: Y[i,j] = E[i,j] / S[i] over i: 5, j: 7");
  const auto schedule = band_schedule(kernel, apart(kernel), 2);
  ASSERT_TRUE(schedule);
  EXPECT_EQ(schedule->in_place, (std::map<TensorId, TensorId>{{make_id<TensorId>(1), make_id<TensorId>(3)}}));
  EXPECT_EQ(schedule->buffers.size(), 1u) << "of S";
  EXPECT_FALSE(schedule->buffers.contains(make_id<TensorId>(1)));
}

/// The rows of E run ahead of those that overwrite them, where a window over S needs them.
TEST(InPlace, BandsThatComputeOtherRowsHaveABuffer) {
  const Kernel kernel = kernel_of(R"(tensor X: f32[9,7]
tensor E: f32[9,7]
tensor S: f32[9] outside 0
tensor Y: f32[9,7]
exponent: E[i,j] = exp(X[i,j]) over i: 9, j: 7
total: S[i] += E[i,j] over i: 9, j: 7
divide: Y[i,j] = E[i,j] / S[i + 1] over i: 9, j: 7
)");
  const auto schedule = band_schedule(kernel, apart(kernel), 2);
  ASSERT_TRUE(schedule) << render(schedule.diagnostics());
  EXPECT_TRUE(schedule->in_place.empty());
  EXPECT_EQ(schedule->buffers.size(), 2u);
}

}  // namespace
}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#include "driver/compare_outputs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace isamap {
namespace {

TensorData reals(const std::vector<double>& values) {
  TensorData data{DType::f32, {static_cast<std::int64_t>(values.size())}, {}};
  data.bytes.resize(values.size() * 4);
  for (std::size_t i = 0; i < values.size(); ++i) data.set(static_cast<std::int64_t>(i), {.real = values[i]});
  return data;
}

std::string first(const std::vector<double>& expected, const std::vector<double>& found) {
  return compare_outputs("y", reals(expected), reals(found), 1e-7).first;
}

TEST(CompareOutputs, SmallResultsOfLargeTermsMayDiffer) {
  EXPECT_EQ(first({22, 1e-3}, {22, 1.05e-3}), "");
  EXPECT_EQ(first({1e-3, 1e-3}, {1e-3, 1.05e-3}),
            "element 1 of output 'y' is 0.0010499999625608325, not 0.0010000000474974513");
  EXPECT_NE(first({22, 1e-3}, {22, 5e-3}), "");
}

TEST(CompareOutputs, ValuesOfFewBitsAreRoundedToThem) {
  Kernel kernel;
  kernel.tensors = {{"a", {1}, DType::f32}, {"b", {1}, DType::f16}, {"c", {1}, DType::s8}};
  EXPECT_EQ(coarsest_unit(kernel), 0x1p-10);
  EXPECT_NE(first({1}, {1.003}), "");
  EXPECT_EQ(compare_outputs("y", reals({1}), reals({1.003}), 0x1p-10).first, "");
  EXPECT_NE(compare_outputs("y", reals({1}), reals({1.02}), 0x1p-10).first, "");
}

TEST(CompareOutputs, WhatIsNotANumberIsEqualToItselfOnly) {
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(first({nan, infinity, 1}, {nan, infinity, 1}), "");
  EXPECT_NE(first({1}, {nan}), "");
  EXPECT_NE(first({nan}, {1}), "");
  EXPECT_NE(first({infinity}, {1}), "");
  EXPECT_NE(first({1}, {infinity}), "");
  EXPECT_NE(first({infinity, 1}, {infinity, 2}), "");
}

TEST(CompareOutputs, IntegersAreEqual) {
  TensorData a{DType::s32, {1}, {0, 0, 1, 0}}, b{DType::s32, {1}, {1, 0, 1, 0}};
  EXPECT_NE(compare_outputs("y", a, b, 1e-7).first, "");
  EXPECT_EQ(compare_outputs("y", a, b, 1e-7).max_error, 1);
  EXPECT_EQ(compare_outputs("y", a, a, 1e-7).first, "");
  b.shape = {1, 1};
  EXPECT_EQ(compare_outputs("y", a, b, 1e-7).first, "output 'y' has another shape or type");
}

}  // namespace
}  // namespace isamap

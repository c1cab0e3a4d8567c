// SPDX-License-Identifier: Apache-2.0
#include "driver/compare_outputs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/models_of_text.h"

namespace isamap {
namespace {

TensorData reals(const std::vector<double>& values) {
  TensorData data{DType::f32, {static_cast<std::int64_t>(values.size())}, {}};
  data.bytes.resize(values.size() * 4);
  for (std::size_t i = 0; i < values.size(); ++i) data.set(static_cast<std::int64_t>(i), {.real = values[i]});
  return data;
}

std::string first(const std::vector<double>& expected, const std::vector<double>& found) {
  return compare_outputs("y", reals(expected), reals(found), OutputTolerance{}).first;
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
  EXPECT_EQ(tolerance_of(kernel).relative, 8 * 0x1p-10);
  EXPECT_NE(first({1}, {1.003}), "");
  EXPECT_EQ(compare_outputs("y", reals({1}), reals({1.003}), tolerance_of(kernel)).first, "");
  EXPECT_NE(compare_outputs("y", reals({1}), reals({1.02}), tolerance_of(kernel)).first, "");
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
  EXPECT_NE(compare_outputs("y", a, b, {}).first, "");
  EXPECT_EQ(compare_outputs("y", a, b, {}).max_error, 1);
  EXPECT_EQ(compare_outputs("y", a, a, {}).first, "");
  b.shape = {1, 1};
  EXPECT_EQ(compare_outputs("y", a, b, {}).first, "output 'y' is s32[1, 1], and s32[1] is expected");
}

TEST(CompareOutputs, ModelsThatRoundToBytesMayDifferByAStep) {
  const auto model = parse_kernel(R"(kernel quantised
tensor x: f32[4]
tensor q: u8[4]
s0: q[i] = sat_u8(round(x[i] / 0.5)) over i: 4
)");
  ASSERT_TRUE(model);
  EXPECT_EQ(tolerance_of(*model).of_largest, 1.0 / 255);
  const auto masked = parse_kernel(R"(kernel masked
tensor x: f32[4]
tensor m: bool[4]
s0: m[i] = bool(x[i]) over i: 4
)");
  ASSERT_TRUE(masked) << render(masked.diagnostics());
  EXPECT_EQ(tolerance_of(*masked).of_largest, 1e-4);
}

TEST(CompareOutputs, OtherRuntimesHaveFewDigitsNearZero) {
  Kernel kernel;
  kernel.tensors = {{"a", {1}, DType::f32}};
  const auto differs = [&](double found, const OutputTolerance& tolerance) {
    return !compare_outputs("y", reals({4.17e-7, 0}), reals({found, 0}), tolerance).first.empty();
  };
  EXPECT_TRUE(differs(4.47e-7, tolerance_of(kernel)));
  const TensorId output = make_id<TensorId>(0);
  EXPECT_FALSE(differs(4.47e-7, tolerance_of_others(kernel, output)));
  EXPECT_TRUE(differs(1e-6, tolerance_of_others(kernel, output)));
  EXPECT_NE(compare_outputs("y", reals({0, 0}), reals({1e-3, 0}), tolerance_of_others(kernel, output)).first, "");
  kernel.tensors[0].dtype = DType::f16;
  EXPECT_EQ(tolerance_of_others(kernel, output).least, 0);
}

TensorData integers(const std::vector<std::int32_t>& values) {
  TensorData data{DType::s32, {static_cast<std::int64_t>(values.size())}, {}};
  data.bytes.resize(values.size() * 4);
  for (std::size_t i = 0; i < values.size(); ++i) data.set(static_cast<std::int64_t>(i), {.integer = values[i]});
  return data;
}

/// 19.4999997 is 19 or 20, by the order of the sum before it. An integer that no float was rounded to is exact, and so
/// is the place of a maximum.
TEST(CompareOutputs, RoundedRealsMayBeOnTheOtherSideOfATie) {
  const auto model = parse_kernel(R"(kernel rounded
tensor x: f32[4]
tensor n: s32[4]
tensor r: s32[4]
tensor q: s32[4]
tensor m: s32[]
s0: r[i] = s32(round(x[i])) over i: 4
s1: q[i] = r[3 - i] + 1 over i: 4
s2: m[] max= r[i] over i: 4
s3: n[i] = r[i] * 0 over i: 4
)");
  ASSERT_TRUE(model) << render(model.diagnostics());
  const auto tolerance = [&](std::size_t t) { return tolerance_of_others(*model, make_id<TensorId>(t)); };
  EXPECT_TRUE(tolerance(2).rounded);
  EXPECT_TRUE(tolerance(3).rounded) << "moved, and changed one by one";
  EXPECT_FALSE(tolerance(4).rounded) << "a reduction";
  const auto first = [&](const std::vector<std::int32_t>& a, const std::vector<std::int32_t>& b) {
    return compare_outputs("y", integers(a), integers(b), tolerance(2)).first;
  };
  EXPECT_EQ(first({20}, {19}), "");
  EXPECT_EQ(first({20}, {18}), "element 0 of output 'y' is 18, not 20");
  EXPECT_EQ(first({20, 7, 3, 4}, {19, 7, 3, 4}), "");
  EXPECT_EQ(first({20, 7, 3, 4}, {19, 6, 2, 3}),
            "4 elements of output 'y' are rounded otherwise; of nearly equal reals about 0 are");
  EXPECT_NE(compare_outputs("y", integers({20}), integers({19}), tolerance(4)).first, "");
  EXPECT_NE(compare_outputs("y", integers({20}), integers({19}), tolerance_of(*model)).first, "");
}

Kernel rounded_to(const std::string& type) {
  const auto model = parse_kernel("kernel rounded\ntensor x: f32[4]\ntensor q: " + type + "[4]\ns0: q[i] = sat_" +
                                  type + "(round(x[i] / 0.5)) over i: 4\n");
  EXPECT_TRUE(model) << render(model.diagnostics());
  return *model;
}

TensorData integers_as(DType type, const std::vector<std::int64_t>& values) {
  TensorData data{type, {static_cast<std::int64_t>(values.size())}, {}};
  data.bytes.resize(values.size() * static_cast<std::size_t>(bytes(type)));
  for (std::size_t i = 0; i < values.size(); ++i) data.set(static_cast<std::int64_t>(i), {.integer = values[i]});
  return data;
}

/// That a model rounds to bytes says nothing of ties: it is one output in which every element would be one.
TEST(CompareOutputs, BytesThatAreOffByOneEverywhereAreWrong) {
  const OutputTolerance tolerance = tolerance_of_others(rounded_to("u8"), make_id<TensorId>(1));
  ASSERT_TRUE(tolerance.rounded);
  std::vector<std::int64_t> a, off, some, few;
  for (std::int64_t i = 0; i < 100; ++i) {
    a.push_back(255 - i);
    off.push_back(254 - i);
    few.push_back(i % 10 == 0 ? 19 : 20);
    some.push_back(i % 10 == 0 ? 254 - i : 255 - i);
  }
  const auto first = [&](const std::vector<std::int64_t>& found) {
    return compare_outputs("y", integers_as(DType::u8, a), integers_as(DType::u8, found), tolerance);
  };
  EXPECT_EQ(first(off).first, "100 elements of output 'y' are rounded otherwise; of nearly equal reals about 25 are");
  EXPECT_EQ(first(some).first, "") << "ties";
  EXPECT_EQ(first(some).max_error, 1);
  EXPECT_EQ(compare_outputs("y", integers_as(DType::u8, std::vector<std::int64_t>(100, 20)),
                            integers_as(DType::u8, few), tolerance)
                .first,
            "10 elements of output 'y' are rounded otherwise; of nearly equal reals about 4 are");
  some[0] = 253;
  EXPECT_EQ(first(some).first, "element 0 of output 'y' is 253, not 255");
}

TEST(CompareOutputs, LargeRoundedIntegersDifferByOneAtMost) {
  const OutputTolerance tolerance{.rounded = true};
  const auto first = [&](const std::vector<std::int32_t>& found) {
    return compare_outputs("y", integers({50000, 50001, 50002, 50003}), integers(found), tolerance).first;
  };
  EXPECT_EQ(first({50055, 50001, 50002, 50003}), "element 0 of output 'y' is 50055, not 50000");
  EXPECT_EQ(first({50002, 50001, 50002, 50003}), "element 0 of output 'y' is 50002, not 50000");
  EXPECT_EQ(first({50001, 50001, 50002, 50003}), "");
  EXPECT_NE(first({50001, 50002, 50003, 50004}), "");
}

TEST(CompareOutputs, BoolsAndWhatRoundedIntegersSelectAreNotRounded) {
  const auto model = parse_kernel(R"(kernel selected
tensor x: f32[4]
tensor t: s32[9]
tensor r: s32[4]
tensor y: s32[4]
tensor m: bool[4]
tensor n: s32[4]
tensor w: s32[4]
s0: r[i] = s32(round(x[i])) over i: 4
s1: y[i] = t[at(r[i])] over i: 4
s2: m[i] = bool(x[i]) over i: 4
s3: n[i] = s32(m[i]) over i: 4
s4: w[i] = r[i] + t[at(r[i])] over i: 4
)");
  ASSERT_TRUE(model) << render(model.diagnostics());
  const auto rounded = [&](std::size_t t) { return tolerance_of_others(*model, make_id<TensorId>(t)).rounded; };
  EXPECT_TRUE(rounded(2));
  EXPECT_FALSE(rounded(3)) << "an entry of a table";
  EXPECT_FALSE(rounded(4));
  EXPECT_FALSE(rounded(5)) << "a bool";
  EXPECT_TRUE(rounded(6)) << "also a value";
}

TEST(CompareOutputs, IntegersBeyond53BitsAreEqualInEachBit) {
  const std::int64_t large = std::int64_t{1} << 53;
  for (const DType type : {DType::s64, DType::u64}) {
    const OutputDifference difference =
        compare_outputs("y", integers_as(type, {large}), integers_as(type, {large + 1}), {});
    EXPECT_EQ(difference.first, "element 0 of output 'y' is 9007199254740993, not 9007199254740992");
    EXPECT_EQ(difference.max_error, 1);
  }
  const TensorData all = integers_as(DType::u64, {-1}), none = integers_as(DType::u64, {0});
  EXPECT_EQ(compare_outputs("y", all, none, {.rounded = true}).first,
            "element 0 of output 'y' is 0, not 18446744073709551615");
}

}  // namespace
}  // namespace isamap

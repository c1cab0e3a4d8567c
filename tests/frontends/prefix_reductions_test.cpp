// SPDX-License-Identifier: Apache-2.0
// Reductions over all elements up to one, in steps of four: what remains is stated, and computes the same.

#include "frontends/prefix_reductions.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/frontends/model_with.h"
#include "tests/frontends/outputs_of.h"

namespace isamap {
namespace {

/// The lines of the model afterwards. Inputs are small integers, with which every order of the terms is exact.
std::string in_steps(const std::string& text, bool strict_float = false, bool steps_are_cheap = false) {
  const Model model = model_with(text, [](const Tensor&) { return std::nullopt; });
  const Model steps = prefix_reductions(model, {strict_float, steps_are_cheap});
  EXPECT_EQ(steps.origins.size(), steps.kernel.statements.size());
  Random random(3);
  std::vector<TensorData> inputs;
  for (const TensorId id : model.inputs)
    inputs.push_back(random_data(model.kernel.tensors[id.index()], Fill::integers, random));
  EXPECT_EQ(outputs_of(model, inputs), outputs_of(steps, inputs)) << print(steps.kernel);
  std::string lines;
  for (const Computation& statement : steps.kernel.statements)
    lines +=
        print_formula(statement, steps.kernel.tensors) + fmt::format("; {}\n", statement.domain.dims.back().extent);
  return lines;
}

/// `Y[i,j] op X[i,..]` for 2 rows of `size` elements.
std::string rows(int size, const std::string& op, const std::string& outside, const std::string& at,
                 const std::string& type = "f32") {
  return fmt::format(
      "kernel rows\ntensor X: {3}[2,{0}] outside {2}\ntensor Y: {3}[2,{0}]\ns0: Y[i,j] {1} X[i,{4}] over i: 2, j: {0}, "
      "t: {0}\n",
      size, op, outside, type, at);
}

TEST(PrefixReductions, ASumOverAllElementsBeforeIsInStepsOfFour) {
  EXPECT_EQ(in_steps(rows(100, "+=", "0", "j - t")),
            "Y_up_to[i0,i1] += X[i0,i1 - t] outside 0; 4\n"
            "Y_up_to_1[i0,i1] += Y_up_to[i0,i1 - 4*t] outside 0; 4\n"
            "Y_up_to_2[i0,i1] += Y_up_to_1[i0,i1 - 16*t] outside 0; 4\n"
            "Y[i,j] += Y_up_to_2[i,j - 64*t]; 2\n");
}

TEST(PrefixReductions, EverySizeDirectionAndOperatorComputesTheSame) {
  for (const int size : {0, 1, 2, 4, 5, 15, 16, 17, 20, 63, 64, 65, 255, 257, 300}) {
    for (const std::string at : {"j - t", "j - t - 1", "j + t", "j + t + 1"}) {
      const bool long_enough = size >= 63;
      EXPECT_EQ(in_steps(rows(size, "+=", "0", at, "s32")).find("up_to") != std::string::npos, long_enough) << size;
      in_steps(rows(size, "+=", "0", at));
      in_steps(rows(size, "max=", "-inf", at));
      in_steps(rows(size, "min=", "inf", at));
      in_steps(rows(size, "*=", "1", at, "s32"));
    }
  }
}

TEST(PrefixReductions, FloatsAreNotReassociatedWhereThatIsRefused) {
  EXPECT_EQ(in_steps(rows(64, "+=", "0", "j - t"), true), "Y[i,j] += X[i,j - t]; 64\n");
  EXPECT_EQ(in_steps(rows(64, "max=", "-inf", "j - t"), true).find("Y_up_to["), 0u);
  EXPECT_EQ(in_steps(rows(64, "+=", "0", "j - t", "s32"), true).find("Y_up_to["), 0u);
}

TEST(PrefixReductions, WindowsThatEndInsideStay) {
  EXPECT_EQ(in_steps("kernel window\ntensor X: f32[100] outside 0\ntensor Y: f32[100]\n"
                     "s0: Y[j] += X[j - t] over j: 100, t: 64\n"),
            "Y[j] += X[j - t]; 64\n");
  EXPECT_EQ(in_steps(rows(100, "+=", "0", "j - t + 1")), "Y[i,j] += X[i,j - t + 1]; 100\n") << "begins outside";
  EXPECT_EQ(in_steps(rows(100, "+=", "1", "j - t")), "Y[i,j] += X[i,j - t]; 100\n") << "no identity beyond";
}

/// `Y[i,j] op X[..,j]` for `size` rows of 8 elements.
std::string columns(int size, const std::string& op, const std::string& outside, const std::string& at) {
  return fmt::format(
      "kernel columns\ntensor X: s32[{0},8] outside {2}\ntensor Y: s32[{0},8]\ns0: Y[i,j] {1} X[{3},j] over i: {0}, j: "
      "8, t: {0}\n",
      size, op, outside, at);
}

TEST(PrefixReductions, TotalsOfRowsAreARecurrence) {
  EXPECT_EQ(in_steps(columns(3, "+=", "0", "i - t"), false, true),
            "Y[0,j] = X[0,j] outside 0; 8\n"
            "Y[i + 1,j] = Y[i,j] + X[i + 1,j] outside 0; 8\n");
  EXPECT_EQ(in_steps(columns(3, "max=", "-2147483648", "i + t + 1"), false, true),
            "Y[2,j] = X[3,j] outside -2147483648; 8\n"
            "Y[i,j] = max(Y[i + 1,j], X[i + 1,j] outside -2147483648); 8\n");
  for (const int size : {0, 1, 2, 5, 70})
    for (const std::string at : {"i - t", "i - t - 1", "i + t", "i + t + 1"}) {
      const std::string lines = in_steps(columns(size, "+=", "0", at), false, true);
      EXPECT_EQ(lines.find("Y[") != lines.rfind("Y["), size > 1) << lines;
      in_steps(columns(size, "*=", "1", at), false, true);
    }
  EXPECT_EQ(in_steps(rows(100, "+=", "0", "j - t"), false, true).find("Y_up_to["), 0u) << "no row behind the axis";
  for (const std::string at : {"i + t", "i - t + 3"})
    EXPECT_EQ(in_steps("kernel pool\ntensor X: s32[4,8] outside 0\ntensor Y: s32[3,8]\ns0: Y[i,j] += X[" + at +
                           ",j] over i: 3, j: 8, t: 4\n",
                       false, true),
              "Y[i,j] += X[" + at + ",j]; 4\n")
        << "the first one has two terms, or all";
}

}  // namespace
}  // namespace isamap

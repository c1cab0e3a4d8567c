// SPDX-License-Identifier: Apache-2.0
// Divisions by what a row shares become multiplications: what remains is stated, and computes nearly the same.

#include "frontends/hoisted_divisors.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ir/text/parse.h"
#include "tests/frontends/outputs_of.h"

namespace isamap {
namespace {

/// A model of these lines whose inputs are the caller's.
Model model_of_lines(const std::string& text) {
  Model model;
  const auto kernel = parse_kernel(text);
  EXPECT_TRUE(kernel) << render(kernel.diagnostics());
  if (!kernel) return model;
  model.kernel = *kernel;
  const std::vector<Role> roles = roles_of(model.kernel);
  for (std::size_t t = 0; t < roles.size(); ++t) {
    if (roles[t] == Role::output) model.outputs.push_back(make_id<TensorId>(t));
    if (roles[t] == Role::input && !model.kernel.tensors[t].constant) model.inputs.push_back(make_id<TensorId>(t));
  }
  for (std::size_t s = 0; s < model.kernel.statements.size(); ++s)
    model.origins.push_back({{"node " + std::to_string(s)}, "", "", "", s});
  return model;
}

double cycles_in(const ScalarExpr& e) {
  const auto* op = std::get_if<Binary>(&e.op);
  double sum = e.args.empty() ? 0 : op != nullptr && op->op == BinaryOp::div ? 10 : 1;
  for (const ScalarExpr& arg : e.args) sum += cycles_in(arg);
  return sum;
}
std::optional<double> slow_divider(const Computation& statement, const std::vector<Tensor>&) {
  return cycles_in(statement.body);
}

std::string hoisted(const std::string& text, const CyclesOfCall& cycles = slow_divider) {
  const Model model = model_of_lines(text), less = hoisted_divisors(model, cycles);
  EXPECT_EQ(less.origins.size(), less.kernel.statements.size());
  Random random(3);
  std::vector<TensorData> inputs;
  for (const TensorId id : model.inputs)
    inputs.push_back(random_data(model.kernel.tensors[id.index()], Fill::real, random));
  const auto before = outputs_of(model, inputs), after = outputs_of(less, inputs);
  EXPECT_EQ(before.size(), after.size());
  for (std::size_t o = 0; o < std::min(before.size(), after.size()); ++o)
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(before[o].count()); ++i) {
      const double was = before[o].get(i).real, is = after[o].get(i).real;
      EXPECT_LE(std::abs(was - is), 4e-7 * std::abs(was)) << "element " << i;
    }
  std::string lines;
  for (const Computation& statement : less.kernel.statements)
    lines += statement.name + ": " + print_formula(statement, less.kernel.tensors) + "\n";
  return lines;
}

const std::string divided_rows = R"(kernel rows
tensor E: f32[3,16]
tensor L: f32[3]
tensor Y: f32[3,16]
s0: L[i] += E[i,j] * E[i,j] over i: 3, j: 16
s1: Y[i,j] = E[i,j] / (L[i] + 1) over i: 3, j: 16
)";

TEST(HoistedDivisors, ARowIsMultipliedByOneReciprocal) {
  EXPECT_EQ(hoisted(divided_rows),
            "s0: L[i] += E[i,j] * E[i,j]\n"
            "s1_reciprocal: Y_R[i] = 1 / (L[i] + 1)\n"
            "s1: Y[i,j] = E[i,j] * Y_R[i]\n");
}

const std::string divided_in_front = R"(kernel rows
tensor E: f32[3,16]
tensor L: f32[3]
tensor Y: f32[3,16]
tensor H: f32[4,16] inout
s0: L[i] += E[i,j] * E[i,j] over i: 3, j: 16
s1: Y[i,j] = E[i,j] / (L[i] + 1) over i: 3, j: 16
repeat t: 3 of 1 statements
s2: H[t + 1,j] = H[t,j] / (Y[t,0] + 2) over t: 3, j: 16
)";

TEST(HoistedDivisors, StatementsOfRecurrencesStay) {
  EXPECT_EQ(hoisted(divided_in_front),
            "s0: L[i] += E[i,j] * E[i,j]\n"
            "s1_reciprocal: Y_R[i] = 1 / (L[i] + 1)\n"
            "s1: Y[i,j] = E[i,j] * Y_R[i]\n"
            "s2: H[t + 1,j] = H[t,j] / (Y[t,0] + 2)\n");
  const Model less = hoisted_divisors(model_of_lines(divided_in_front), slow_divider);
  ASSERT_EQ(less.kernel.repeats.size(), 1u);
  EXPECT_EQ(less.kernel.repeats[0].first, 3u);
}

TEST(HoistedDivisors, OnlyWhereTheMachineMultipliesFasterAndDividesAtAll) {
  const std::string as_it_was =
      "s0: L[i] += E[i,j] * E[i,j]\n"
      "s1: Y[i,j] = E[i,j] / (L[i] + 1)\n";
  EXPECT_EQ(hoisted(divided_rows, [](const Computation&, const std::vector<Tensor>&) { return 3.0; }), as_it_was);
  EXPECT_EQ(hoisted(divided_rows, [](const Computation&, const std::vector<Tensor>&) { return std::nullopt; }),
            as_it_was);
}

// A change numbers the reads of a statement anew, and so its other divisors.
TEST(HoistedDivisors, AllDivisorsOfAStatement) {
  EXPECT_EQ(hoisted(R"(kernel several
tensor A: f32[3]
tensor B: f32[3]
tensor E: f32[3,16]
tensor F: f32[3,16]
tensor Y: f32[3,16]
s0: Y[i,j] = E[i,j] / 4 / A[i] * (F[i,j] / B[i]) / A[i] over i: 3, j: 16
)"),
            "s0_reciprocal: Y_R[i] = 1 / A[i]\n"
            "s0_reciprocal_1: Y_R_1[i] = 1 / B[i]\n"
            "s0: Y[i,j] = E[i,j] * 0.25 * Y_R[i] * (F[i,j] * Y_R_1[i]) * Y_R[i]\n");
}

TEST(HoistedDivisors, NumbersBecomeTheirReciprocals) {
  EXPECT_EQ(hoisted(R"(kernel numbers
tensor X: f32[9]
tensor A: f32[9]
tensor B: f32[9]
s0: A[i] = (X[i] + 3) / 8 over i: 9
s1: B[i] = A[i] / 3e38 over i: 9
)"),
            "s0: A[i] = (X[i] + 3) * 0.125\n"
            "s1: B[i] = A[i] / 3e+38\n");
}

TEST(HoistedDivisors, AWeightOfOneElementIsANumberAndOtherWeightsStay) {
  Model model = model_of_lines(R"(kernel weights
tensor X: f32[3,16]
tensor c: f32[] constant
tensor d: f32[3] constant
tensor A: f32[3,16]
tensor B: f32[3,16]
s0: A[i,j] = X[i,j] / c[] over i: 3, j: 16
s1: B[i,j] = A[i,j] / d[i] over i: 3, j: 16
)");
  for (const std::size_t t : {1, 2}) {
    TensorData values = make_data(model.kernel.tensors[t]);
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(values.count()); ++i) values.set(i, {4, 0});
    Weight& weight = model.weights.emplace_back();
    weight.tensor = make_id<TensorId>(t);
    weight.values = std::make_shared<TensorData>(std::move(values));
  }
  const Model less = hoisted_divisors(model, slow_divider);
  ASSERT_EQ(less.kernel.statements.size(), 2u);
  EXPECT_EQ(print_formula(less.kernel.statements[0], less.kernel.tensors), "A[i,j] = X[i,j] * 0.25");
  EXPECT_EQ(print_formula(less.kernel.statements[1], less.kernel.tensors), "B[i,j] = A[i,j] / d[i]");
  EXPECT_EQ(less.weights.size(), 1u) << "c is not read any more";
  EXPECT_EQ(render(verify(less.kernel)), "");
}

/// At samples of open sizes a row may be short; the program's statements are those of all of them.
TEST(HoistedDivisors, ShortRowsAreHoistedWhereTheCallerSays) {
  const Model model = model_of_lines(R"(kernel rows
tensor E: f32[5,3]
tensor L: f32[5]
tensor Y: f32[5,3]
s0: Y[i,j] = E[i,j] / L[i] over i: 5, j: 3
)");
  EXPECT_EQ(hoisted_divisors(model, slow_divider).kernel.statements.size(), 1u);
  EXPECT_EQ(hoisted_divisors(model, slow_divider, 2).kernel.statements.size(), 2u);
}

TEST(HoistedDivisors, DivisorsOfFewPointsOrOfRoundedValuesStay) {
  const std::string kept =
      "s0: Y[i,j] = X[i,j] / L[i]\n"
      "s1: Q[i,k] = Z[i,k] / L[i]\n"
      "s2: R[i,k] = round(Q[i,k])\n"
      "s3: T[i,k] = floor(Z[i,k] / L[i])\n";
  EXPECT_EQ(hoisted(R"(kernel kept
tensor X: f32[5,7]
tensor Z: f32[5,20]
tensor L: f32[5]
tensor Y: f32[5,7]
tensor Q: f32[5,20]
tensor R: f32[5,20]
tensor T: f32[5,20]
s0: Y[i,j] = X[i,j] / L[i] over i: 5, j: 7
s1: Q[i,k] = Z[i,k] / L[i] over i: 5, k: 20
s2: R[i,k] = round(Q[i,k]) over i: 5, k: 20
s3: T[i,k] = floor(Z[i,k] / L[i]) over i: 5, k: 20
)"),
            kept);
}

}  // namespace
}  // namespace isamap

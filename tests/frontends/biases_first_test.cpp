// SPDX-License-Identifier: Apache-2.0
// Sums that begin with their bias, and scaling in f32 that is exact.

#include "frontends/biases_first.h"

#include <gtest/gtest.h>

#include "frontends/exact_scales.h"
#include "ir/begun_sums.h"
#include "tests/models_of_text.h"

namespace isamap {
namespace {

bool always(DType) { return true; }

/// A model whose statements have origins, and whose constants have values.
Model with_values(const std::string& text, double factor = 0) {
  Model model = model_of(text);
  for (const Computation& statement : model.kernel.statements)
    model.origins.push_back({{statement.name}, statement.name, "statement", "statement", 0});
  for (std::size_t t = 0; t < model.kernel.tensors.size(); ++t) {
    const Tensor& tensor = model.kernel.tensors[t];
    if (!tensor.constant) continue;
    auto values = std::make_shared<TensorData>(make_data(tensor));
    for (std::int64_t i = 0; i < values->count(); ++i)
      values->set(i, {tensor.shape.empty() ? factor : 3.0 + static_cast<double>(i), 3 + i});
    Weight weight;
    weight.tensor = make_id<TensorId>(t);
    weight.values = std::move(values);
    model.weights.push_back(std::move(weight));
  }
  return model;
}

std::vector<std::uint8_t> result_of(const Model& model) {
  std::vector<TensorData> data = random_data(model.kernel, Fill::integers, 5);
  for (const Weight& weight : model.weights) data[weight.tensor.index()] = *weight.values;
  interpret(model.kernel, data);
  return data[model.outputs[0].index()].bytes;
}

constexpr const char* bytes = R"(kernel bytes
tensor X: s8[5,7]
tensor W: s8[7,6] constant
tensor B: s32[6] constant
tensor C: f64[] constant
tensor T: s32[5,6]
tensor Y: s8[5,6]
product: T[i,j] += s32(X[i,k]) * s32(W[k,j]) over i: 5, j: 6, k: 7
scale: Y[a,b] = sat_s8(round(f64(T[a,b] + B[b]) * C[])) over a: 5, b: 6
)";

TEST(BiasesFirst, SumsBeginWithThem) {
  const Model model = with_values(bytes, 0.03);
  const Model first = biases_first(model, always);
  ASSERT_EQ(first.kernel.statements.size(), 3u);
  EXPECT_EQ(print(first.kernel.statements[0], first.kernel.tensors), "T[a,b] = B[b] over a: 5, b: 6");
  EXPECT_EQ(begun_by(first.kernel, 1), std::optional<std::size_t>(0));
  EXPECT_EQ(first.origins.size(), 3u);
  EXPECT_TRUE(verify(first.kernel).empty());
  EXPECT_EQ(result_of(first), result_of(model));
}

TEST(BiasesFirst, WhereOnlyTheAdditionIsLeftTheSumIsTheResult) {
  const Model model = with_values(R"(kernel reals
tensor X: f32[5,7]
tensor W: f32[7,6] constant
tensor B: f32[6] constant
tensor T: f32[5,6]
tensor Y: f32[5,6]
product: T[i,j] += X[i,k] * W[k,j] over i: 5, j: 6, k: 7
bias: Y[i,j] = T[i,j] + B[j] over i: 5, j: 6
)");
  const Model first = biases_first(model, always);
  ASSERT_EQ(first.kernel.statements.size(), 2u);
  EXPECT_EQ(first.kernel.statements[1].write.tensor, first.outputs[0]);
  EXPECT_EQ(first.kernel.tensors.size(), 4u) << "T is gone";
  EXPECT_TRUE(verify(first.kernel).empty());
  EXPECT_EQ(result_of(first), result_of(model)) << "small integers";
  EXPECT_EQ(biases_first(model, always, {true, {}}).kernel.statements.size(), 2u);
  EXPECT_EQ(biases_first(model, always, {true, {}}).kernel.tensors.size(), 5u) << "strict: another order of sums";
}

TEST(BiasesFirst, OtherSumsStay) {
  const auto unchanged = [](const std::string& text) {
    const Model model = with_values(text);
    return biases_first(model, always).kernel == model.kernel;
  };
  EXPECT_TRUE(unchanged(R"(kernel two_readers
tensor X: s8[5,7]
tensor W: s8[7,6] constant
tensor B: s32[6] constant
tensor T: s32[5,6]
tensor Y: s32[5,6]
tensor Z: s32[5,6]
product: T[i,j] += s32(X[i,k]) * s32(W[k,j]) over i: 5, j: 6, k: 7
one: Y[i,j] = T[i,j] + B[j] over i: 5, j: 6
other: Z[i,j] = T[i,j] * 2 over i: 5, j: 6
)")) << "the other reader wants the sum alone";
  EXPECT_TRUE(unchanged(R"(kernel twice
tensor X: s8[5,7]
tensor W: s8[7,6] constant
tensor B: s32[6] constant
tensor T: s32[5,6]
tensor Y: s32[5,6]
product: T[i,j] += s32(X[i,k]) * s32(W[k,j]) over i: 5, j: 6, k: 7
square: Y[i,j] = (T[i,j] + B[j]) * T[i,j] over i: 5, j: 6
)"));
  const Model model = with_values(bytes);
  EXPECT_EQ(biases_first(model, [](DType type) { return type != DType::s32; }).kernel, model.kernel)
      << "accumulators that cannot be filled";
}

bool in_f32(const Computation& statement, const std::vector<Tensor>&) {
  const std::string text = print(statement.body, {"T"});
  return text.find("f64") == std::string::npos && text.find("f32(T)") != std::string::npos;
}

TEST(ExactScales, FactorsThatAreExactInF32AreTaken) {
  const Model model = biases_first(with_values(bytes, 0.03125), always);
  const Model scaled = exact_scales(model, in_f32);
  EXPECT_EQ(print(scaled.kernel.statements[2].body, {"T"}), "sat_s8(round(f32(T) * 0.03125))");
  EXPECT_EQ(scaled.weights.size(), 2u) << "the factor is a number now";
  EXPECT_TRUE(verify(scaled.kernel).empty());
  EXPECT_EQ(result_of(scaled), result_of(model));
}

TEST(ExactScales, OthersAreTriedOutOrStay) {
  const Model model = biases_first(with_values(bytes, 0.0123456789), always);
  const Model scaled = exact_scales(model, in_f32);
  EXPECT_NE(scaled.kernel, model.kernel);
  EXPECT_EQ(result_of(scaled), result_of(model));
  // 0.1 in f64 is just above a tenth, in f32 further above: 5 * 0.1 is 0.5 in both, 25 * 0.1 is a tie in one.
  const Model tiny = biases_first(with_values(bytes, 1e-6), always);
  const Model same = exact_scales(tiny, in_f32);
  EXPECT_EQ(same.kernel, tiny.kernel) << "f32 has not the digits for 10^8 sums";
  ASSERT_EQ(same.notes.size(), 1u);
  EXPECT_NE(same.notes[0].find("differ at the sum"), std::string::npos) << same.notes[0];
}

TEST(ExactScales, DifferencesAreFoundAtEveryStep) {
  const auto scaled = [](DType type, double factor) {
    return cast(DType::s8,
                unary(UnaryOp::round, binary(BinaryOp::mul, cast(type, read(0, DType::s32)), constant(factor, type))),
                true);
  };
  EXPECT_FALSE(differing_sum(scaled(DType::f64, 0.5), scaled(DType::f32, 0.5)));
  const auto differs = differing_sum(scaled(DType::f64, 0.5), scaled(DType::f64, 0.501));
  ASSERT_TRUE(differs);
  Scalar sum;
  sum.integer = *differs;
  EXPECT_NE(evaluate(scaled(DType::f64, 0.5), &sum).integer, evaluate(scaled(DType::f64, 0.501), &sum).integer);
  EXPECT_TRUE(differing_sum(scaled(DType::f64, -0.5), scaled(DType::f64, 0.5)));
}

}  // namespace
}  // namespace isamap

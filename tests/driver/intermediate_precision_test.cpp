// SPDX-License-Identifier: Apache-2.0
// Intermediates in f32 where the prices of the machine say so, executed and compared with the interpreter.

#include "driver/intermediate_precision.h"

#include <gtest/gtest.h>

#include "driver/fit_model.h"
#include "tests/driver/on_machine.h"
#include "tests/models_of_text.h"

namespace isamap {
namespace {

/// Two products with biases and activations; sizes that no vector divides.
Model two_products(const std::string& rows) {
  std::string text = R"(kernel products
tensor X: f16[ROWS,37]
tensor W: f16[37,50] constant
tensor b: f16[50] constant
tensor T: f32[ROWS,50]
tensor A: f16[ROWS,50]
tensor E: f16[ROWS,50]
tensor V: f16[50,21] constant
tensor U: f32[ROWS,21]
tensor Y: f16[ROWS,21]
first: T[i,j] += f32(X[i,k]) * f32(W[k,j]) over i: ROWS, j: 50, k: 37
bias: A[i,j] = f16(T[i,j]) + b[j] over i: ROWS, j: 50
activation: E[i,j] = A[i,j] * A[i,j] * 0.5 over i: ROWS, j: 50
second: U[i,j] += f32(E[i,k]) * f32(V[k,j]) over i: ROWS, j: 21, k: 50
result: Y[i,j] = f16(U[i,j]) over i: ROWS, j: 21
)";
  for (std::size_t at = 0; (at = text.find("ROWS", at)) != std::string::npos;) text.replace(at, 4, rows);
  Model model = with_origins(model_of(text));
  Random random(3);
  for (std::size_t t = 0; t < model.kernel.tensors.size(); ++t) {
    const Tensor& tensor = model.kernel.tensors[t];
    if (!tensor.constant) continue;
    Weight weight;
    weight.tensor = make_id<TensorId>(t);
    weight.values = std::make_shared<TensorData>(random_data(tensor, Fill::real, random));
    model.weights.push_back(weight);
  }
  return model;
}

bool is_in(const Model& model, const std::string& name, DType type) {
  const auto& all = model.kernel.tensors;
  return std::any_of(all.begin(), all.end(), [&](const Tensor& t) { return t.name == name && t.dtype == type; });
}

TEST(CheapestIntermediates, ComputedInF32WhereConversionsTakeTime) {
  const HardwareModel machine = described("x86_avx512");
  PartStore store(machine, OnMachine::searched_for(40));
  PlanOptions parts_alone;
  parts_alone.joins = parts_alone.band_kernels = 0;
  for (const std::string rows : {"1", "53"}) {
    const Model model = two_products(rows), best = cheapest_intermediates(model, store, {});
    EXPECT_TRUE(is_in(best, "Y", DType::f16)) << "an output";
    if (rows == "53") {
      EXPECT_TRUE(is_in(best, "E", DType::f32)) << print(best.kernel);
      ASSERT_FALSE(best.notes.empty());
      EXPECT_EQ(best.notes.back(), "2 intermediates of 16 bits are kept in f32 (--strict-float: as in the file)");
    }
    const Model fitted = fitted_to(best, machine);
    OnMachine compiled(fitted, machine, plan_model(fitted, store, parts_alone), Fill::real, 40);
    const ModelRun run = compiled.run();
    EXPECT_EQ(run.code, Exit::ok) << message(run.problems);
  }
}

TEST(CheapestIntermediates, StayWhereModelsRunPartByPart) {
  const HardwareModel machine = described("npu16");
  PartStore store(machine, OnMachine::searched_for(10));
  const Model model = two_products("5"), best = cheapest_intermediates(model, store, {});
  EXPECT_TRUE(is_in(best, "E", DType::f16));
  EXPECT_TRUE(best.notes.empty());
}

}  // namespace
}  // namespace isamap

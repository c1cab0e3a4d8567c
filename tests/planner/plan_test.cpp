// SPDX-License-Identifier: Apache-2.0
#include "planner/plan.h"

#include <gtest/gtest.h>

#include "isamap/frontends.h"
#include "planner/tensor_layouts.h"

namespace isamap {
namespace {

Kernel chain() {
  return *parse_kernel_yaml(R"yaml(
kernel: chain
dims: {n: 2, c: 3, k: 5, p: 4}
tensors:
  X: {shape: [n, c, p], dtype: f32}
  W: {shape: [c, k], dtype: f32}
  T: {shape: [n, k, p], dtype: f32}
  Y: {shape: [n, k, p], dtype: f32}
compute:
  - {compute: "T[n,k,p] += X[n,c,p] * W[c,k]"}
  - {compute: "Y[n,k,p] = max(T[n,k,p], 0)"}
)yaml",
                            "chain.yaml");
}

TEST(Plans, PartsMustCoverInOrder) {
  const Kernel kernel = chain();
  const auto with = [](std::vector<Part> parts) {
    ModelPlan plan;
    plan.parts = std::move(parts);
    return plan;
  };
  EXPECT_TRUE(verify(with({{{0}}, {{1}}}), kernel).empty());
  EXPECT_TRUE(verify(with({{{0, 1}}}), kernel).empty());
  EXPECT_FALSE(verify(with({{{1}}, {{0}}}), kernel).empty());
  EXPECT_FALSE(verify(with({{{0}}}), kernel).empty());
  EXPECT_FALSE(verify(with({{{0}}, {{0, 1}}}), kernel).empty());
  EXPECT_FALSE(verify(with({{{0, 1, 2}}}), kernel).empty());
  ModelPlan plan = with({{{0, 1}}});
  plan.order = {{}, {}, {0, 2, 2}, {}};
  EXPECT_FALSE(verify(plan, kernel).empty());
  plan.order = {{}, {}, {0, 2, 1}, {}};
  EXPECT_TRUE(verify(plan, kernel).empty());
}

TEST(Plans, OrdersChangeStorageAndNoValues) {
  const Kernel kernel = chain();
  const Orders orders = {{}, {1, 0}, {0, 2, 1}, {}};
  const Kernel stored = in_order(kernel, orders);
  EXPECT_EQ(stored.tensors[2].shape, (std::vector<std::int64_t>{2, 4, 5}));
  EXPECT_FALSE(has_errors(verify(stored)));
  std::vector<TensorData> data = random_data(kernel, Fill::real, 1), moved = data;
  for (std::size_t t = 0; t < data.size(); ++t) moved[t] = in_order(data[t], orders[t]);
  interpret(kernel, data);
  interpret(stored, moved);
  EXPECT_EQ(data[3], moved[3]);
  EXPECT_EQ(in_order(data[2], orders[2]), moved[2]);
}

TEST(Plans, ArgumentsKeepTheirOrder) {
  const Kernel kernel = chain();
  EXPECT_FALSE(is_free(kernel, make_id<TensorId>(0)));
  EXPECT_TRUE(is_free(kernel, make_id<TensorId>(2)));
  EXPECT_FALSE(is_free(kernel, make_id<TensorId>(3)));
}

}  // namespace
}  // namespace isamap

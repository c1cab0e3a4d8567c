// SPDX-License-Identifier: Apache-2.0
// Element-wise statements inlined into their consumers: what remains is stated, and computes the same bits.

#include "frontends/inlined_producers.h"

#include <gtest/gtest.h>

#include "tests/frontends/model_with.h"
#include "tests/frontends/outputs_of.h"

namespace isamap {
namespace {

/// A model of these lines; `lo` and `hi` are weights with the values 0 and 6, other inputs are the caller's.
Model model_in(const std::string& text) {
  return model_with(text, [](const Tensor& tensor) -> std::optional<TensorData> {
    if (tensor.name != "lo" && tensor.name != "hi") return std::nullopt;
    TensorData values = make_data(tensor);
    values.set(0, {tensor.name == "lo" ? 0.0 : 6.0, 0});
    return values;
  });
}

std::vector<TensorData> outputs_in(const Model& model) { return outputs_of(model, random_inputs(model, 3)); }

std::string inlined(const Model& model, const ComputesWhole& whole) {
  const Model less = inlined_producers(model, whole, true);
  EXPECT_EQ(less.origins.size(), less.kernel.statements.size());
  EXPECT_EQ(render(verify(less.kernel)), "");
  EXPECT_EQ(outputs_in(model), outputs_in(less));
  std::string text;
  for (const Computation& statement : less.kernel.statements)
    text += print_formula(statement, less.kernel.tensors) + "\n";
  return text;
}

bool whole_always(const Computation&, const std::vector<Tensor>&) { return true; }
bool whole_never(const Computation&, const std::vector<Tensor>&) { return false; }

const std::string hard_swish = R"(kernel hard_swish
tensor X: f32[7,9]
tensor B: f32[9]
tensor lo: f32[]
tensor hi: f32[]
tensor A: f32[7,9]
tensor S: f32[7,9]
tensor C: f32[7,9]
tensor Y: f32[9,7]
s0: A[i,j] = X[i,j] + B[j] over i: 7, j: 9
s1: S[i,j] = A[i,j] + 3 over i: 7, j: 9
s2: C[j,i] = min(max(S[j,i], lo[]), hi[]) over i: 9, j: 7
s3: Y[j,i] = A[i,j] * C[i,j] over i: 7, j: 9
)";

TEST(InlinedProducers, AValueWithTwoConsumersStaysAndTheOthersBecomeOneBody) {
  EXPECT_EQ(inlined(model_in(hard_swish), whole_always),
            "A[i,j] = X[i,j] + B[j]\n"
            "Y[j,i] = A[i,j] * min(max(A[i,j] + 3, 0), 6)\n");
}

TEST(InlinedProducers, OnlyIntoWhatTheTargetComputesWhole) {
  EXPECT_EQ(inlined(model_in(hard_swish), whole_never),
            "A[i,j] = X[i,j] + B[j]\n"
            "S[i,j] = A[i,j] + 3\n"
            "C[j,i] = min(max(S[j,i], 0), 6)\n"
            "Y[j,i] = A[i,j] * C[i,j]\n");
}

const std::string around_a_recurrence = R"(kernel around
tensor X: f32[3,5]
tensor A: f32[3,5]
tensor G: f32[3,5]
tensor H: f32[4,5] inout
tensor U: f32[3,5]
tensor P: f32[3,5]
tensor Y: f32[3,5]
s0: A[t,j] = X[t,j] + 1 over t: 3, j: 5
s1: G[t,j] = A[t,j] * 4 over t: 3, j: 5
repeat t: 3 of 2 statements
s2: U[t,j] = H[t,j] * G[t,j] over t: 3, j: 5
s3: H[t + 1,j] = U[t,j] + 1 over t: 3, j: 5
s4: P[t,j] = U[t,j] * 2 over t: 3, j: 5
s5: Y[t,j] = P[t,j] + 3 over t: 3, j: 5
)";

/// Products of two reads become terms of the sum that alone reads them, each once; other bodies stay.
TEST(InlinedProducers, SumsTakeInProducts) {
  const auto summed = [](const std::string& body, const std::string& sum) {
    return inlined(model_in("kernel weighted\ntensor X: f32[5,7]\ntensor Z: f32[5,7]\ntensor A: f32[5,7]\n"
                            "tensor S: f32[5]\ns0: A[i,k] = " +
                            body + " over i: 5, k: 7\ns1: " + sum + "\n"),
                   whole_always);
  };
  EXPECT_EQ(summed("X[i,k] * Z[i,k]", "S[i] += A[i,k] over i: 5, k: 7"), "S[i] += X[i,k] * Z[i,k]\n");
  EXPECT_EQ(summed("X[i,k] + Z[i,k]", "S[i] += A[i,k] over i: 5, k: 7"), "A[i,k] = X[i,k] + Z[i,k]\nS[i] += A[i,k]\n");
  EXPECT_EQ(summed("X[i,k] * Z[i,k]", "S[i] max= A[i,k] over i: 5, k: 7"),
            "A[i,k] = X[i,k] * Z[i,k]\nS[i] max= A[i,k]\n");
  EXPECT_EQ(summed("X[i,k] * Z[i,k]", "S[i] += A[i,2*k] over i: 5, k: 4"),
            "A[i,k] = X[i,k] * Z[i,k]\nS[i] += A[i,2*k]\n");
}

TEST(InlinedProducers, StatementsOfRecurrencesStay) {
  EXPECT_EQ(inlined(model_in(around_a_recurrence), whole_always),
            "G[t,j] = (X[t,j] + 1) * 4\n"
            "U[t,j] = H[t,j] * G[t,j]\n"
            "H[t + 1,j] = U[t,j] + 1\n"
            "Y[t,j] = U[t,j] * 2 + 3\n");
  const Model less = inlined_producers(model_in(around_a_recurrence), whole_always, true);
  ASSERT_EQ(less.kernel.repeats.size(), 1u);
  EXPECT_EQ(less.kernel.repeats[0].first, 1u);
  EXPECT_EQ(less.kernel.repeats[0].count, 2u);
}

TEST(InlinedProducers, OriginsAreThoseOfAllStatements) {
  const Model less = inlined_producers(model_in(hard_swish), whole_always, true);
  ASSERT_EQ(less.origins.size(), 2u);
  EXPECT_EQ(less.origins[1].nodes, (std::vector<std::string>{"node 1", "node 2", "node 3"}));
}

TEST(InlinedProducers, NotIntoWindowsOrBroadcasts) {
  const std::string text = R"(kernel kept
tensor X: f32[8]
tensor F: f32[8]
tensor W: f32[6]
tensor G: f32[8]
tensor M: f32[8,3]
s2: F[i] = X[i] + 1 over i: 8
s3: W[i] = F[i + 2] * 2 over i: 6
s4: G[i] = X[i] + 2 over i: 8
s5: M[i,j] = G[i] * 2 over i: 8, j: 3
)";
  EXPECT_EQ(inlined(model_in(text), whole_always),
            "F[i] = X[i] + 1\n"
            "W[i] = F[i + 2] * 2\n"
            "G[i] = X[i] + 2\n"
            "M[i,j] = G[i] * 2\n");
}

}  // namespace
}  // namespace isamap

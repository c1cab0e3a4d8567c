// SPDX-License-Identifier: Apache-2.0
// Recurrences: against explicit loops, as kernels of one step, and refused ones.

#include <gtest/gtest.h>

#include <cmath>

#include "ir/text/parse.h"
#include "ir/verify/recurrence.h"

namespace isamap {
namespace {

Kernel sequence_of(const std::string& text) {
  const auto kernel = parse_kernel(text);
  EXPECT_TRUE(static_cast<bool>(kernel)) << render(kernel.diagnostics());
  return kernel ? *kernel : Kernel{};
}

/// Y[t] = X[t] * W, then S[t+1] = (S[t] + Y[t]) / 2 and P[t] = S[t+1] - S[t], then the sum of all P.
std::string recurrence(int steps) {
  const std::string n = std::to_string(steps), t = " over t: " + n + ", i: 2";
  return "kernel recurrence\ntensor X: f32[" + n + ",2]\ntensor W: f32[2,2]\ntensor Y: f32[" + n +
         ",2]\ntensor S: f32[" + std::to_string(steps + 1) + ",2] inout\ntensor P: f32[" + n +
         ",2]\ntensor Q: f32[2]\n" + "ahead: Y[t,i] += X[t,k] * W[k,i]" + t + ", k: 2\nrepeat t: " + n +
         " of 2 statements\n" + "state: S[t + 1,i] = (S[t,i] + Y[t,i]) * 0.5" + t +
         "\nchange: P[t,i] = S[t + 1,i] - S[t,i]" + t + "\nbehind: Q[i] += P[t,i]" + " over i: 2, t: " + n + "\n";
}

TEST(Steps, RunOneAfterAnother) {
  for (const int steps : {5, 1, 0}) {
    const Kernel kernel = sequence_of(recurrence(steps));
    ASSERT_EQ(render(verify(kernel)), "");
    auto data = random_data(kernel, Fill::integers, 4);
    const auto at = [&](int tensor, int position) { return data[static_cast<std::size_t>(tensor)].get(position).real; };
    double state[2] = {at(3, 0), at(3, 1)}, sum[2] = {0, 0};
    std::vector<double> states = {state[0], state[1]};
    for (int t = 0; t < steps; ++t)
      for (int i = 0; i < 2; ++i) {
        const double y = at(0, 2 * t) * at(1, i) + at(0, 2 * t + 1) * at(1, 2 + i), next = (state[i] + y) * 0.5;
        sum[i] += next - state[i];
        states.push_back(state[i] = next);
      }
    interpret(kernel, data);
    for (std::size_t i = 0; i < states.size(); ++i)
      EXPECT_EQ(at(3, static_cast<int>(i)), states[i]) << steps << " " << i;
    EXPECT_EQ(at(5, 0), sum[0]);
    EXPECT_EQ(at(5, 1), sum[1]);
  }
}

TEST(Steps, TextParsesBack) {
  const Kernel kernel = sequence_of(recurrence(3));
  EXPECT_EQ(print(kernel), recurrence(3));
  EXPECT_EQ(sequence_of(print(kernel)), kernel);
  EXPECT_EQ(kernel.repeats, (std::vector<Repeat>{{"t", 3, 1, 2}}));
}

TEST(Steps, AStepIsAnOrdinaryKernel) {
  EXPECT_EQ(print(one_step_of(sequence_of(recurrence(3)))),
            "kernel recurrence\n"
            "tensor X: f32[3,2]\n"
            "tensor W: f32[2,2]\n"
            "tensor Y: f32[3,2]\n"
            "tensor Y_step: f32[2]\n"
            "tensor S: f32[2]\n"
            "tensor S_plus1: f32[2] inout\n"
            "tensor P: f32[3,2]\n"
            "tensor P_step: f32[2]\n"
            "tensor Q: f32[2]\n"
            "ahead: Y[t,i] += X[t,k] * W[k,i] over t: 3, i: 2, k: 2\n"
            "state: S_plus1[i] = (S[i] + Y_step[i]) * 0.5 over i: 2\n"
            "change: P_step[i] = S_plus1[i] - S[i] over i: 2\n"
            "behind: Q[i] += P[t,i] over i: 2, t: 3\n");
}

/// Errors of earlier steps reach later ones.
TEST(Steps, ErrorBoundsGrowWithSteps) {
  const Kernel kernel = sequence_of(recurrence(6));
  auto data = random_data(kernel, Fill::real, 4);
  interpret(kernel, data);
  EXPECT_TRUE(compare(kernel, data, data).equal);
  auto off = data;
  const double last = data[3].get(12).real;
  off[3].set(12, {last + 1e-7 * std::fabs(last), 0});
  EXPECT_TRUE(compare(kernel, data, off).equal);
  off[3].set(12, {last + 1e-4, 0});
  EXPECT_FALSE(compare(kernel, data, off).equal);
  off = data;
  off[3].set(0, {data[3].get(0).real + 1e-7, 0});  // no step writes it
  EXPECT_FALSE(compare(kernel, data, off).equal);
}

struct Refused {
  const char *statements, *why;
};

TEST(Steps, WhatDependsOnTheOrderIsRefused) {
  const std::string tensors =
      "kernel k\ntensor X: f32[4,2]\ntensor A: f32[4,2]\ntensor M: f32[5,2]\ntensor N: f32[2]\n";
  const std::string over = " over t: 4, i: 2\n";
  const Refused refused[] = {
      {"1 statements\ns0: N[i] = X[t,i]", "statement s0 writes the same elements of 'N' at each step of t"},
      {"1 statements\ns0: A[t,i] = X[2*t/2,i]", ""},
      {"1 statements\ns0: A[t,i] = X[t - t/2,i]", "statement s0 indexes 'X' with t - t/2"},
      {"1 statements\ns0: A[t,i] = M[t,i] + M[t + 1,i]", ""},
      {"1 statements\ns0: L[t + 1,i] = L[t,i] + X[t,i]", ""},
      {"1 statements\ns0: L[t,i] = L[t + 1,i] + X[t,i]",
       "reads 'L' at a later step than the one that statement s0 writes"},
      {"1 statements\ns0: M[t + 1,i] = M[t,i] + X[t,i]", "statement s0 reads 'M' before statement s0 writes it"},
      {"1 statements\ns0: M[t + 1,i] = X[t,i]", "4 steps write 'M', which has 5 slices"},
      {"1 statements\ns0: M[t + 1,i] = X[t,i] ", "give it 4 slices, write the others in a statement before the repeat"},
      {"2 statements\ns0: A[t,i] = L[t + 1,i] + X[t,i]"
       " over t: 4, i: 2\n"
       "s1: L[t + 1,i] = X[t,i]",
       "statement s0 reads 'L' at this step before the one that statement s1 writes"},
      {"1 statements\ns0: A[t,i] = X[t + 1,i]", "subscript t + 1 runs from 1 to 4"},
      {"3 statements\ns0: A[t,i] = X[t,i]", "`repeat: t` has no statements"},
  };
  for (const auto& [statements, why] : refused) {
    const std::string given =
        std::string(statements).find("L[") == std::string::npos ? "" : "tensor L: f32[5,2] inout\n";
    const std::string problems = render(verify(sequence_of(tensors + given + "repeat t: 4 of " + statements + over)));
    if (*why == 0)
      EXPECT_EQ(problems, "") << statements;
    else
      EXPECT_NE(problems.find(why), std::string::npos) << statements << "\n" << problems;
  }
}

}  // namespace
}  // namespace isamap

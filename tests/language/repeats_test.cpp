// SPDX-License-Identifier: Apache-2.0
// Several recurrences in a kernel, in both directions.

#include <fmt/format.h>

#include "tests/language/support.h"

namespace isamap {
namespace {

/// A recurrence in each direction over the same inputs, their sum, and a third over the sum.
std::string both_ways(const std::string& sizes) {
  return "kernel: both_ways\ndims: " + sizes + R"(
tensors:
  X: {shape: [T, B]}
  W: {shape: [B, B]}
  Z: {shape: [T, B]}
  F: {shape: [T + 1, B], inout: true}
  R: {shape: [T + 1, B], inout: true}
  S: {shape: [T, B], output: true}
  C: {shape: [T + 1, B]}
compute:
  - {name: ahead, compute: "Z[t,b] += X[t,k] * W[k,b]"}
  - repeat: {t: T}
    compute:
      - {name: forward, compute: "F[t+1,b] = F[t,b] - Z[t,b]"}
  - repeat: {t: T}
    backward: true
    compute:
      - {name: back, compute: "R[t,b] = R[t+1,b] * 0.5 + Z[t,b]"}
  - {name: sum, compute: "S[q,b] = F[q+1,b] + R[q,b]"}
  - {name: start, compute: "C[0,b] = 0"}
  - repeat: {u: T}
    compute:
      - {name: running, compute: "C[u+1,b] = C[u,b] + S[u,b]"}
where: {q: T}
)";
}

TEST(Repeats, AreReadAndPrinted) {
  const Kernel kernel = kernel_of(both_ways("{T: 4, B: 3}"));
  EXPECT_EQ(kernel.repeats, (std::vector<Repeat>{{"t", 4, 1, 1}, {"t", 4, 2, 1, true}, {"u", 4, 5, 1}}));
  EXPECT_NE(print(kernel).find("repeat t: 4 of 1 statements backward\nback: "), std::string::npos);
}

void repeats_are_what_loops_compute(Every run) {
  for (const auto& [steps, n] : {std::array{4, 3}, {1, 1}, {0, 2}, {7, 16}, {3, 33}}) {
    const Kernel kernel = kernel_of(both_ways(fmt::format("{{T: {}, B: {}}}", steps, n)));
    std::vector<TensorData> data = random_data(kernel, Fill::integers, 3);
    const auto at = [&](const std::string& name, int t, int b) {
      return number_at(data_of(kernel, data, name), t * n + b);
    };
    std::vector<double> f(static_cast<std::size_t>((steps + 1) * n)), r = f, c = f, z = f;
    const auto of = [&](std::vector<double>& v, int t, int b) -> double& {
      return v[static_cast<std::size_t>(t * n + b)];
    };
    for (int b = 0; b < n; ++b) {
      for (int t = 0; t < steps; ++t)
        for (int k = 0; k < n; ++k) of(z, t, b) += at("X", t, k) * at("W", k, b);
      of(f, 0, b) = at("F", 0, b);
      of(r, steps, b) = at("R", steps, b);
      for (int t = 0; t < steps; ++t) of(f, t + 1, b) = of(f, t, b) - of(z, t, b);
      for (int t = steps - 1; t >= 0; --t) of(r, t, b) = of(r, t + 1, b) * 0.5 + of(z, t, b);
      for (int t = 0; t < steps; ++t) of(c, t + 1, b) = of(c, t, b) + (of(f, t + 1, b) + of(r, t, b));
    }
    interpret(kernel, data);
    for (int t = 0; t <= steps; ++t)
      for (int b = 0; b < n; ++b) {
        EXPECT_FLOAT_EQ(static_cast<float>(at("F", t, b)), static_cast<float>(of(f, t, b)));
        EXPECT_FLOAT_EQ(static_cast<float>(at("R", t, b)), static_cast<float>(of(r, t, b)));
        EXPECT_FLOAT_EQ(static_cast<float>(at("C", t, b)), static_cast<float>(of(c, t, b)));
      }
    if (!run.skips()) expect_right(kernel);
  }
}

TEST(Repeats, AreWhatLoopsCompute) { repeats_are_what_loops_compute(Every(2)); }
TEST(HeavyRepeats, AreWhatLoopsCompute) { repeats_are_what_loops_compute(Every(1)); }

TEST(Repeats, BackwardReadsLaterSlices) {
  const std::string head =
      "kernel: k\ntensors:\n  X: {shape: [4, 2]}\n  S: {shape: [5, 2], inout: true}\ncompute:\n"
      "  - repeat: {t: 4}\n    backward: true\n    compute:\n      - ";
  EXPECT_EQ(problems_of(head + "S[t,b] = S[t+1,b] + X[t,b]\n"), "");
  EXPECT_EQ(problems_of(head + "S[t+1,b] = S[t,b] + X[t,b]\n"),
            "k.yaml:9:22: kernel 'k': statement s0 reads 'S' at a later step than the one that statement s0 writes\n"
            "          - S[t+1,b] = S[t,b] + X[t,b]\n"
            "                         ^\n"
            "  hint: read what this or an earlier step has written\n");
}

TEST(Repeats, AStepMayReadWhatItOverwrites) {
  const std::string step =
      "\ncompute:\n  - repeat: {t: 3}\n    compute:\n      - S[t+1,b] = S[t,b] * X[t,b] + S[t+1,b]\n";
  const std::string head = "kernel: k\ntensors:\n  X: {shape: [3, 8]}\n  S: {shape: [4, 8]";
  const Kernel kernel = kernel_of(head + ", inout: true}" + step);
  std::vector<TensorData> data = random_data(kernel, Fill::integers, 3);
  std::vector<TensorData> given = data;
  interpret(kernel, data);
  for (int b = 0; b < 8; ++b)
    for (int t = 0; t < 3; ++t)
      EXPECT_EQ(number_at(data_of(kernel, data, "S"), (t + 1) * 8 + b),
                number_at(data_of(kernel, data, "S"), t * 8 + b) * number_at(data_of(kernel, given, "X"), t * 8 + b) +
                    number_at(data_of(kernel, given, "S"), (t + 1) * 8 + b));
  expect_right(kernel);
  EXPECT_NE(problems_of(head + "}" + step).find("reads 'S' before statement s0 writes it"), std::string::npos);
}

// A consumer inside a time loop is not fused with a producer before it.
TEST(Repeats, AreNotFusedWithWhatIsAround) {
  for (const int steps : {1, 5})
    expect_right(kernel_of(fmt::format(R"(kernel: around
tensors:
  A: {{shape: [4, 8]}}
  B: {{shape: [8, 16]}}
  P: {{shape: [4, 16]}}
  S: {{shape: [{1}, 4, 16], inout: true}}
  Q: {{shape: [4, 16]}}
compute:
  - P[i,j] += A[i,k] * B[k,j]
  - repeat: {{t: {0}}}
    compute:
      - S[t+1,i,j] = S[t,i,j] + P[i,j]
  - Q[i,j] = max(S[{0},i,j], P[i,j])
)",
                                       steps, steps + 1)));
}

}  // namespace
}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
// Tiles that exceed both the tensor and the domain: padding is the tensor's `outside` value within the domain, 0 past
// its end.

#include "tests/lowering/support.h"

namespace isamap {
namespace {

std::string number(double value) { return value == 0.5 ? "0.5" : std::to_string(static_cast<int>(value)); }

const std::vector<std::string> shifted = {"for i by 16 on block tail pad",     "stage C in reg",
                                          "stage A in shared as [i, k pad 8]", "stage B in shared as [j, k pad 8]",
                                          "stage A in reg via ldmatrix_x4",    "stage B in reg via ldmatrix_x2",
                                          "do s0 with mma_bf16(i=i, j=j, k=k)"};

TEST(Outside, RowsBeforeAndBehindTheTensor) {
  const HardwareModel model = machine("nvidia_sm80");
  for (const double value : {0.0, 1.0, -2.0, 0.5})
    for (const auto& [rows, held, shift] : {std::array{13, 13, -2}, {16, 13, 0}, {13, 13, 2}, {29, 7, -9}, {1, 1, 1}}) {
      const auto kernel =
          parse_kernel_yaml("kernel: shifted\ndims: {I: " + std::to_string(rows) + ", H: " + std::to_string(held) +
                                "}\ntensors:\n  A: {shape: [H, 16], dtype: bf16, outside: " + number(value) +
                                "}\n  B: {shape: [8, 16], dtype: bf16}\n  C: {shape: [I, 8], dtype: f32}\ncompute:\n  "
                                "- C[i,j] += A[i + " +
                                std::to_string(shift) + ",k] * B[j,k]\nwhere: {i: I}\n",
                            "shifted.yaml");
      ASSERT_TRUE(kernel) << render(kernel.diagnostics());
      SCOPED_TRACE("outside " + number(value) + ", rows " + std::to_string(rows));
      expect_right(*kernel, model, shifted);
    }
}

TEST(Outside, BordersOfAWindow) {
  const HardwareModel model = machine("nvidia_sm80");
  for (const double value : {0.0, 1.0, 0.5}) {
    const auto kernel = parse_kernel_yaml(
        "kernel: window\ntensors:\n  I: {shape: [1, 5, 7, 16], dtype: bf16, outside: " + number(value) +
            "}\n  F: {shape: [11, 3, 3, 16], dtype: bf16}\n  O: {shape: [1, 5, 7, 11], dtype: f32}\ncompute:\n"
            "  - O[n,p,q,k] += I[n,p+r-1,q+s-1,c] * F[k,r,s,c]\nwhere: {p: 5, q: 7, r: 3, s: 3}\n",
        "window.yaml");
    ASSERT_TRUE(kernel) << render(kernel.diagnostics());
    SCOPED_TRACE("outside " + number(value));
    expect_right(*kernel, model,
                 {"for n.p.q by 32 on block tail pad", "for k by 24 on block tail pad", "stage O in reg",
                  "for r.s.c by 32 tail pad", "stage I in shared x3 as [n.p.q, r.s.c pad 8]",
                  "stage F in shared x3 as [k, r.s.c pad 8]", "for n.p.q by 16 on warp", "for r.s.c by 16 unroll",
                  "stage I in reg x2 via ldmatrix_x4", "stage F in reg x2 via ldmatrix_x2", "for k by 8 unroll",
                  "do s0 with mma_bf16(i=n.p.q, j=k, k=r.s.c)"});
  }
}

}  // namespace
}  // namespace isamap

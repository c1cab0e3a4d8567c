// Printed C++ against the program interpreter.

#include <gtest/gtest.h>

#include "tests/backends/support.h"

namespace isamap {
namespace {
const char* const gemm_text = R"(program gemm
kernel
  kernel gemm
  tensor A: f32[2,37]
  tensor B: f32[37,29]
  tensor C: f32[2,29]
  s0: C[i,j] += A[i,k] * B[k,j] over i: 2, j: 29, k: 37
buffers
  A: f32[2,37] in ram strides [37,1] align 64 at 0 of A argument
  B: f32[37,29] in ram strides [29,1] align 64 at 0 of B argument
  C: f32[2,29] in ram strides [29,1] align 64 at 0 of C argument
  c: f32[2,2,16] in vec slots 2 registers 1 align 64 at 0 of C
  b: f32[2,16] in vec slots 1 registers 1 align 64 at 256 of B
  m: b1[16] in mask slots 0 registers 1 align 8 at 0
assume
  inputs are finite
schedule
  for k by 1 \
body
  for i in 2 unroll
    for j in 2 unroll
      call zero_f32(c[i, j, $j]) extents [16]
  call first_16(m[$j]) extents [13]
  for k in 37
    call load_f32(b[0, $j], B[k, $j]) extents [16]
    call load_f32_masked(b[1, $j], B[k, 16 + $j]) extents [13] masks(m[$j])
    for i in 2 unroll
      for j in 2 unroll
        call fma_f32_bcast(c[i, j, $j], A[i, k], b[j, $j]) extents [16]
  for i in 2 unroll
    call store_f32(C[i, $j], c[i, 0, $j]) extents [16]
    call store_f32_masked(C[i, 16 + $j], c[i, 1, $j]) extents [13] masks(m[$j])
)";

TEST(Cpp, RegisterTileWithMaskedEdge) {
  const auto model = machine("x86_avx512");
  const auto p = program(model, gemm_text);
  expect_same(p, model);
}

}  // namespace
}  // namespace isamap

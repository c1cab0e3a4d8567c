// SPDX-License-Identifier: Apache-2.0
// The one-line form.

#include <gtest/gtest.h>

#include "isamap/frontends.h"

namespace isamap {
namespace {

/// "A[64,32]bf16 B[32,8]f32 C[64,8]f32", or the diagnostics.
std::string tensors(const std::string& compute, const std::string& dims, const std::string& dtypes = "") {
  const Result<Kernel> kernel = kernel_from_formula(compute, dims, dtypes);
  if (!kernel) return render(kernel.diagnostics());
  std::string text;
  for (const Tensor& tensor : kernel->tensors) {
    text += (text.empty() ? "" : " ") + tensor.name + "[";
    for (std::size_t d = 0; d < tensor.shape.size(); ++d) text += (d ? "," : "") + std::to_string(tensor.shape[d]);
    text += "]" + std::string(name(tensor.dtype));
  }
  return text;
}

TEST(Formula, ShapesFollowFromIndices) {
  EXPECT_EQ(tensors("C[i,j] += A[i,k]*B[k,j]", "i=64,j=8,k=32", "A=bf16, B=bf16"),
            "A[64,32]bf16 B[32,8]bf16 C[64,8]f32");
  EXPECT_EQ(tensors("O[p] += I[2*p+r] * F[r]", "p=5,r=3"), "I[11]f32 F[3]f32 O[5]f32");
  EXPECT_EQ(tensors("O[p] = I[p] + I[p+3]", "p=5"), "I[8]f32 O[5]f32");
  EXPECT_EQ(tensors("O[p] = I[p+N]", "p=5,N=3"), "I[8]f32 O[5]f32");
  EXPECT_EQ(tensors("S[] += A[i]", "i=7"), "A[7]f32 S[]f32");
  EXPECT_EQ(tensors("C[i,j] += A[i,k]*B[k,j]", "i=0,j=8,k=32"), "A[0,32]f32 B[32,8]f32 C[0,8]f32");
}

TEST(Formula, NumbersThatNoRealHoldsAreRefused) {
  const auto said = [](const std::string& number) {
    const auto kernel = kernel_from_formula("Y[i] = X[i] + " + number, "i=5", "X=u64,Y=u64");
    return kernel ? "" : kernel.diagnostics()[0].message;
  };
  EXPECT_EQ(said("9007199254740992"), "");
  EXPECT_EQ(said("9007199254740993"), "9007199254740993 has more than 53 bits: numbers in statements are those of f64");
  EXPECT_EQ(said("u64(18446744073709551615)"),
            "18446744073709551615 has more than 53 bits: numbers in statements are those of f64");
  EXPECT_EQ(said("9007199254740994"), "the constant 9007199254740994 is beyond 2^53, up to which constants of u64 go");
}

TEST(Formula, WrongSettings) {
  EXPECT_EQ(tensors("C[i] = A[i]", "i=4,i=5,j=,k,l=-2,m=99999999999999999999,n=4x"),
            "--dims: 'i' is given twice\n"
            "--dims: 'k' is not of the form name=value\n  hint: separate entries with ','\n"
            "--dims: 'j=' needs an integer\n"
            "--dims: 'l' is -2: sizes must not be negative\n  hint: write l=0 or more\n"
            "--dims: m=99999999999999999999 does not fit 64 bits\n  hint: sizes are below 2^63\n"
            "--dims: 'n=4x' needs an integer\n");
  EXPECT_EQ(tensors("C[i] += A[i,k]", "i=4,z=3"),
            "--dims: iterator 'k' has no extent\n  hint: add k=64, say\n--dims: 'z' does not occur in the formula\n");
  EXPECT_EQ(
      tensors("C[i] = A[i]", "i=4", "Q=f32,A=f99"),
      "--dtypes: the formula has no tensor 'Q'\n"
      "--dtypes: tensor 'A' has an unknown dtype 'f99'\n"
      "  note: known dtypes: f64, f32, tf32, bf16, f16, e4m3, e5m2, s64, s32, s16, s8, u64, u32, u16, u8, bool\n");
}

TEST(Formula, SumsOfKernelsDoNotSaturate) {
  const auto kernel = kernel_from_formula("C[i] sat+= A[i,k]", "i=4,k=8", "A=s32,C=s32");
  ASSERT_FALSE(kernel);
  EXPECT_EQ(render(kernel.diagnostics()),
            "--compute:1:1: `sat+=` is of instructions: a sum that saturates depends on the order of its terms, and "
            "statements of kernels have none\n    C[i] sat+= A[i,k]\n    ^\n  hint: write +=\n");
}

TEST(Formula, WrongText) {
  EXPECT_EQ(tensors("C[i] = A[i)", "i=4"),
            "--compute:1:11: expected ']', found ')'\n    C[i] = A[i)\n              ^\n");
  EXPECT_EQ(tensors("C[i] = A[i] + A[i,i]", "i=4"),
            "--compute:1:15: tensor 'A' has 1 indices in one place and 2 in another\n    C[i] = A[i] + A[i,i]\n        "
            "          ^\n");
  EXPECT_EQ(tensors("C[i] = A[i-1]", "i=4"),
            "--compute:1:10: kernel 'formula': statement s0: reads A[i - 1], whose subscript i - 1 runs from -1 to 2, "
            "but dimension 0 of 'A' has size 3\n"
            "    C[i] = A[i-1]\n"
            "             ^\n"
            "  hint: change the shape, or say what reads beyond it yield: `outside: 0` at the tensor, `outside 0` at "
            "the read\n");
  EXPECT_EQ(tensors("C[i] = $A[i]", "i=4"),
            "--compute:1:8: kernel 'formula': tensor '$A': this is no name\n"
            "    C[i] = $A[i]\n"
            "           ^\n"
            "  hint: letters, digits and _, starting with a letter\n");
  EXPECT_NE(tensors("C[i,j] = A[i] * B[j]", "i=4000000000,j=4000000000")
                .find("elements of f32 take more than 2^63 - 1 bytes"),
            std::string::npos);
}

}  // namespace
}  // namespace isamap

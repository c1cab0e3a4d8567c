// SPDX-License-Identifier: Apache-2.0
// A factor of the other signedness with its correction term: equal to the last bit.

#include "mapper/match/sign_shift.h"

#include <gtest/gtest.h>

#include "isamap/interpret.h"
#include "tests/mapper/cases.h"

namespace isamap::testing {
namespace {

TEST(SignShift, SaysWhatItDoes) {
  const Kernel kernel =
      kernel_of("C[i,j] += A[i,k] * B[k,j]", {{"i", 3}, {"j", 4}, {"k", 5}}, {{"A", DType::s8}, {"B", DType::s8}});
  const std::vector<SignShift> shifts = sign_shifts(kernel, StatementId{0});
  ASSERT_EQ(shifts.size(), 2U);
  EXPECT_EQ(shifts[0].description, "add 128 to A and subtract 128 * (sum of B over k)");
  std::string text;
  for (const Computation& c : shifts[0].kernel.statements) text += print(c, shifts[0].kernel.tensors) + "\n";
  EXPECT_EQ(text,
            "U[x0,x1] = u8(s16(A[x0,x1]) + 128) over x0: 3, x1: 5\n"
            "R[j] += s32(B[k,j]) over j: 4, k: 5\n"
            "C[i,j] += -128 * R[j] over i: 3, j: 4\n"
            "C[i,j] += s32(U[i,k]) * s32(B[k,j]) over i: 3, j: 4, k: 5\n");
  EXPECT_TRUE(verify(shifts[0].kernel).empty()) << render(verify(shifts[0].kernel));
}

TEST(SignShift, OnlySumsOfTwoIntegerFactors) {
  const Sizes sizes{{"i", 3}, {"k", 5}};
  const Types bytes{{"A", DType::s8}, {"B", DType::s8}};
  const auto count = [&](const std::string& text, DType type) {
    return sign_shifts(kernel_of(text, sizes, bytes, type), StatementId{0}).size();
  };
  EXPECT_EQ(count("C[i] += A[i,k] * B[k]", DType::s32), 2U);
  EXPECT_EQ(count("C[i] += A[i,k] * B[k]", DType::f32), 0U);
  EXPECT_EQ(count("C[i] max= A[i,k] * B[k]", DType::s32), 0U);
  EXPECT_EQ(count("C[i] += A[i,k] + B[k]", DType::s32), 0U);
  EXPECT_EQ(count("C[i] += A[i,k] * A[i,k]", DType::s32), 0U);
  EXPECT_EQ(count("C[i] += s32(s16(A[i,k]) * s16(B[k]))", DType::s32), 2U);
  EXPECT_EQ(count("C[i] += s32(s8(s16(A[i,k]) * s16(B[k])))", DType::s32), 0U) << "s8 loses bits";
  EXPECT_EQ(count("C[i] += s32(sat_s8(s16(A[i,k]) * s16(B[k])))", DType::s32), 0U);
}

/// Any byte, with many extreme values.
TensorData bytes_of(const Tensor& tensor, Random& random) {
  TensorData data = make_data(tensor);
  for (std::int64_t i = 0; i < data.count(); ++i) {
    const std::int64_t low = integer_min(tensor.dtype), high = integer_max(tensor.dtype);
    const std::int64_t pick = random.between(0, 3);
    data.set(i, {0, pick == 0 ? low : pick == 1 ? high : random.between(low, high)});
  }
  return data;
}

void expect_same(const Kernel& kernel, std::uint64_t seed) {
  for (const SignShift& shift : sign_shifts(kernel, StatementId{0})) {
    Random random(seed);
    std::vector<TensorData> expected;
    for (std::size_t t = 0; t < kernel.tensors.size(); ++t)
      expected.push_back(t == 0 && !kernel.tensors[0].inout ? make_data(kernel.tensors[0])
                                                            : bytes_of(kernel.tensors[t], random));
    std::vector<TensorData> found = expected;
    for (std::size_t t = found.size(); t < shift.kernel.tensors.size(); ++t)
      found.push_back(make_data(shift.kernel.tensors[t]));
    interpret(kernel, expected);
    interpret(shift.kernel, found);
    EXPECT_EQ(expected[0], found[0]) << shift.description << " seed " << seed;
  }
}

TEST(SignShift, IsExactForAllBytesAndExtremes) {
  const Sizes sizes{{"n", 2}, {"i", 3}, {"j", 4}, {"k", 7}, {"c", 3}, {"p", 4}, {"r", 3}};
  int kernels = 0;
  for (const char* text : {"C[i,j] += A[i,k] * B[k,j]", "C[i] += A[i,k] * B[k]", "C[n,k,p] += A[n,c,p+r] * B[k,c,r]",
                           "C[n,c,p] += A[n,c,2*p+r] * B[c,r]", "C[i,j] += A[i,k] * B[i,k,j]"}) {
    for (const DType a : {DType::s8, DType::u8}) {
      for (const DType b : {DType::s8, DType::u8, DType::s16}) {
        for (const DType c : {DType::s32, DType::s16}) {
          Kernel kernel = kernel_of(text, sizes, {{"A", a}, {"B", b}}, c);
          kernel.tensors[0].inout = kernels % 2 == 1;
          for (std::uint64_t seed = 0; seed < 10; ++seed) expect_same(kernel, seed);
          ++kernels;
        }
      }
    }
  }
}

TEST(SignShift, PaddingIsShiftedToo) {
  Kernel kernel = kernel_of("C[k,p] += A[c,p+r] * B[k,c,r]", {{"k", 2}, {"c", 3}, {"p", 6}, {"r", 3}},
                            {{"A", DType::s8}, {"B", DType::s8}});
  kernel.tensors[1].shape[1] = 6;  // the window exceeds it by two elements
  kernel.tensors[1].outside = 0;
  ASSERT_TRUE(verify(kernel).empty()) << render(verify(kernel));
  const SignShift shift = sign_shifts(kernel, StatementId{0})[0];
  EXPECT_EQ(shift.kernel.tensors[3].outside, 128.0);
  EXPECT_TRUE(verify(shift.kernel).empty()) << render(verify(shift.kernel));
  for (std::uint64_t seed = 0; seed < 20; ++seed) expect_same(kernel, seed);
}

}  // namespace
}  // namespace isamap::testing

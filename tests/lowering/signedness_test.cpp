// SPDX-License-Identifier: Apache-2.0
// Wrapping sums, differences and products have the same bits for signed and unsigned integers: instructions of one
// accept tensors of the other.

#include "isamap/backend.h"
#include "tests/lowering/support.h"
#include "tests/searched.h"

namespace isamap {
namespace {

/// Any bits: small numbers would have the same product in either type.
std::vector<TensorData> any_bits(const Kernel& kernel) {
  Random random(3);
  std::vector<TensorData> data;
  for (const Tensor& tensor : kernel.tensors) {
    data.push_back(make_data(tensor));
    for (std::uint8_t& byte : data.back().bytes) byte = static_cast<std::uint8_t>(random.next());
  }
  return data;
}

void expect_same_bits(const char* target, const std::string& compute, const std::string& dims,
                      const std::string& dtypes) {
  const HardwareModel model = machine(target);
  const Kernel kernel = formula(compute, dims, dtypes);
  const Program program = searched(kernel, model, 60);
  std::vector<TensorData> expected = any_bits(kernel), found = expected;
  interpret(kernel, expected);
  const auto counts = interpret(program, model, found);
  ASSERT_TRUE(counts) << render(counts.diagnostics());
  bool computes = false;
  for (const auto& [name, count] : counts->calls)
    computes = computes || (count > 0 && is_compute(model.instruction(*model.find_instruction(name))));
  EXPECT_TRUE(computes) << target << ": " << compute << " of " << dtypes << " is scalar code";
  for (std::size_t t = 0; t < kernel.tensors.size(); ++t)
    EXPECT_EQ(expected[t].bytes, found[t].bytes) << target << ": " << compute << " of " << dtypes;
  const auto text = emit(program, model);
  EXPECT_TRUE(text) << render(text.diagnostics());
}

TEST(Signedness, SumsAndProductsThatWrapAreTheSame) {
  const std::string gemm = "C[i,j] += A[i,k] * B[k,j]", dims = "i=5,j=37,k=9";
  for (const char* target : {"x86_avx512_vnni", "x86_avx2", "arm_neon", "arm_sve", "riscv_v"}) {
    expect_same_bits(target, gemm, dims, "A=u32,B=u32,C=u32");
    expect_same_bits(target, gemm, dims, "A=s32,B=s32,C=s32");
  }
  for (const char* target : {"x86_avx512_vnni", "x86_avx2", "arm_sve", "riscv_v"})
    expect_same_bits(target, gemm, dims, "A=u16,B=u16,C=u16");
}

/// The products are those of the instruction, and their sum wraps.
TEST(Signedness, OfTheSumAlone) {
  expect_same_bits("x86_avx512_vnni", "C[i,j] += u32(A[i,k]) * u32(B[j,k])", "i=5,j=37,k=9", "A=u8,B=s8,C=u32");
}

}  // namespace
}  // namespace isamap

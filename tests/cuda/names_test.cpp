// SPDX-License-Identifier: Apache-2.0
// Tensors and kernels that are called what the language calls something of its own.

#include "tests/cuda/support.h"
#include "tests/searched.h"

namespace isamap {
namespace {

TEST(OwnedNames, AreNotGivenAgain) {
  const auto model = machine("nvidia_sm80");
  std::string tensors, sum;
  for (const char* name : {"threadIdx", "blockIdx", "gridDim", "warpSize", "global_pointer", "shared_pointer",
                           "uint16_t", "int32_t", "device", "stream", "e"}) {
    tensors += std::string(name) + ": {shape: [40, 8]}, ";
    sum += (sum.empty() ? "" : " + ") + std::string(name) + "[i,j]";
  }
  const Program made =
      searched(kernel_from("kernel: blockDim\ntensors: {" + tensors +
                           "atomicAdd: {shape: [40, 8]}}\ncompute:\n  - atomicAdd[i,j] = " + sum + "\n"),
               model);
  const auto unit = print_cuda(made, model);
  ASSERT_TRUE(unit);
  EXPECT_EQ(unit->name, "blockDim_kernel");
  EXPECT_EQ(unit->text.find("__restrict__ threadIdx,"), std::string::npos);
  const Emulated ran = emulate(unit->text, *unit, made, model);
  EXPECT_TRUE(ran.right) << ran.output;
}

TEST(OwnedNames, AreNotGivenToPartsOfSumsEither) {  // which the printer adds
  const auto model = machine("nvidia_sm80");
  const Program made =
      searched(kernel_from("kernel: k\ntensors: {parts: {shape: [2, 8192]}, Y: {shape: [2]}}\ncompute:\n  - Y[i] += "
                           "parts[i,j]\n"),
               model);
  const auto unit = print_cuda(made, model);
  ASSERT_TRUE(unit);
  EXPECT_NE(unit->text.find("parts_2 = shared_array"), std::string::npos) << unit->text;
  const Emulated ran = emulate(unit->text, *unit, made, model);
  EXPECT_TRUE(ran.right) << ran.output;
}

}  // namespace
}  // namespace isamap

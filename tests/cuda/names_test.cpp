// Tensors and kernels that are called what the language calls something of its own.

#include "tests/cuda/support.h"
#include "tests/searched.h"

namespace isamap {
namespace {

std::string elementwise(const std::string& kernel, const std::string& in, const std::string& out) {
  return "kernel: " + kernel + "\ntensors: {" + in + ": {shape: [40, 8]}, " + out + ": {shape: [40]}}\ncompute:\n  - " +
         out + "[i] += " + in + "[i,j]\n";
}

TEST(OwnedNames, AreNotGivenAgain) {
  const auto model = machine("nvidia_sm80");
  for (const auto& [in, out] : {std::pair("threadIdx", "blockIdx"),
                                {"blockDim", "gridDim"},
                                {"warpSize", "e"},
                                {"global_pointer", "shared_pointer"},
                                {"uint16_t", "int32_t"},
                                {"device", "parts"}}) {
    SCOPED_TRACE(in);
    const Program made = searched(kernel_from(elementwise(in, in, out)), model);
    const auto unit = print_cuda(made, model);
    ASSERT_TRUE(unit);
    EXPECT_EQ(unit->text.find(std::string("__restrict__ ") + in + ","), std::string::npos);
    const Emulated ran = emulate(unit->text, *unit, made, model);
    EXPECT_TRUE(ran.right) << ran.output;
  }
}

TEST(OwnedNames, AreNotGivenToPartsOfSumsEither) {  // which the printer adds
  const auto model = machine("nvidia_sm80");
  const Program made =
      searched(kernel_from("kernel: k\ntensors: {parts: {shape: [2, 8192]}, Y: {shape: [2]}}\ncompute:\n  - Y[i] += "
                           "parts[i,j]\n"),
               model);
  const auto unit = print_cuda(made, model);
  ASSERT_TRUE(unit);
  const Emulated ran = emulate(unit->text, *unit, made, model);
  EXPECT_TRUE(ran.right) << ran.output;
}

}  // namespace
}  // namespace isamap

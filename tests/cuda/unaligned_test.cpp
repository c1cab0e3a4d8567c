// SPDX-License-Identifier: Apache-2.0
// Tiles whose rows begin where no asynchronous move may: elements, several of them on their way to the block's memory.

#include "tests/cuda/support.h"

namespace isamap {
namespace {

constexpr const char* by_elements = R"(schedule: product
nest:
  - for i by 64 on block tail pad
  - for j by 64 on block tail pad
  - stage C in reg
  - for k by 32 tail pad
  - stage A in shared x3 as [i, k pad 8] via cp_async_16_b16
  - stage B in shared x3 as [k, j pad 8]
  - for i by 32 on warp
  - for j by 32 on warp
  - for k by 16 unroll
  - stage A in reg via ldmatrix_x4
  - stage B in reg via ldmatrix_x2_trans
  - for i by 16 unroll
  - for j by 8 unroll
  - do s0 with mma_bf16(i=i, j=j, k=k)
)";

/// 65 columns of B: rows of 130 bytes, and a tile of one column.
TEST(UnalignedRows, AreLoadedBeforeTheFirstElementIsStored) {
  const HardwareModel model = machine("nvidia_sm80");
  const Program program = lowered(product("bf16", "f32", 70, 65, 64, false), by_elements, model);
  const auto unit = print_cuda(program, model);
  ASSERT_TRUE(unit) << render(unit.diagnostics());
  for (const std::string& delivery : deliveries) {
    SCOPED_TRACE(delivery);
    const Delivered copies(delivery);
    const Emulated ran = emulate(unit->text, *unit, program, model);
    EXPECT_TRUE(ran.right) << ran.output;
  }
  const std::size_t last_load = unit->text.find("B_shared_in_3 = "), first_store = unit->text.find("= B_shared_in_0;");
  ASSERT_NE(last_load, std::string::npos);
  ASSERT_NE(first_store, std::string::npos);
  EXPECT_LT(last_load, first_store);
  EXPECT_FALSE(emulate(changed(unit->text, "= B_shared_in_0;", "= B_shared_in_1;"), *unit, program, model).right);
}

}  // namespace
}  // namespace isamap

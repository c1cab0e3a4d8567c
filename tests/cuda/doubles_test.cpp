// SPDX-License-Identifier: Apache-2.0
// Products of doubles whose tiles are brought by asynchronous copies.

#include "tests/cuda/support.h"
#include "tests/every.h"
#include "tests/searched.h"

namespace isamap {
namespace {

const char* const doubles_schedule = R"(schedule: product
nest:
  - for i by 32 on block tail pad
  - for j by 32 on block tail pad
  - stage C in reg
  - for k by 16 tail pad
  - stage A in shared x3 as [i, k pad 2] via cp_async_16_b64
  - stage B in shared x3 as [j, k pad 2] via cp_async_16_b64
  - for i by 16 on warp
  - for j by 16 on warp
  - for k by 4 unroll
  - stage A in reg
  - stage B in reg
  - for i by 8 unroll
  - for j by 8 unroll
  - do s0 with mma_f64(i=i, j=j, k=k)
)";

void are_right_however_their_copies_arrive(Every every) {
  for (const char* name : {"nvidia_sm80", "nvidia_sm90a"}) {
    const auto model = machine(name);
    const std::string by_eights = changed(doubles_schedule, "cp_async_16_b64", "cp_async_8_b64");
    for (const auto& [schedule, k] : {std::pair(std::string(doubles_schedule), 38), {by_eights, 37}}) {
      if (every.skips()) continue;
      const Program made = lowered(product("f64", "f64", 40, 33, k, true), schedule, model);
      const bool all = name == std::string("nvidia_sm80") && k % 2 == 0;
      for (const std::string& how : all ? deliveries : std::vector<std::string>{"late", "eager"}) {
        SCOPED_TRACE(how + schedule);
        const Delivered delivered(how);
        expect_same(made, model, 7);
      }
    }
  }
}

TEST(Doubles, AreRightHoweverTheirCopiesArrive) { are_right_however_their_copies_arrive(Every(4)); }
TEST(HeavyDoubles, AreRightHoweverTheirCopiesArrive) { are_right_however_their_copies_arrive(Every(1)); }

/// Where sums are not split over blocks with one step each: their second launch costs more than the steps.
TEST(Doubles, TheSearchCopiesThemAhead) {
  auto model = machine("nvidia_sm80");
  model.timing.launch *= 2;
  const Program made = searched(product("f64", "f64", 256, 256, 256, true), model, 600);
  EXPECT_NE(made.schedule_text.find("via cp_async_16_b64"), std::string::npos) << made.schedule_text;
  EXPECT_NE(made.schedule_text.find("in shared x"), std::string::npos) << made.schedule_text;
}

}  // namespace
}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
// How far apart a search lays rows of tiles in a memory of banks.

#include "hwdesc/layout/bank_conflict_passes.h"
#include "tests/cuda/support.h"
#include "tests/searched.h"

namespace isamap {
namespace {

TEST(Chosen, RowsOfTilesMeetNoBankTwice) {  // rows of 16 bytes need no room between them, rows of 64 do
  const auto model = machine("nvidia_sm80");
  for (const auto& [m, n, k] : {std::tuple(37, 52, 70), {64, 16, 64}, {128, 128, 128}})
    for (const bool transposed : {false, true}) {
      const Program made = searched(product("bf16", "f32", m, n, k, transposed), model, 300);
      for (const CallPasses& call : call_passes(made, model))
        if (!call.written) {
          EXPECT_EQ(call.passes, call.least) << made.schedule_text;
        }
    }
}

}  // namespace
}  // namespace isamap

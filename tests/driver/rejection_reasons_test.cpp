// SPDX-License-Identifier: Apache-2.0
// The order of reasons why instructions do not map.

#include <gtest/gtest.h>

#include "isamap/compile.h"

namespace isamap {
namespace {

TEST(RejectionReasons, AreOrderedByKindAndOtherReductionsLastOnRequest) {
  const std::string models = ISAMAP_SOURCE_DIR "/hardware_models";
  const auto loaded = load_hardware(models + "/a1.yaml", {models});
  ASSERT_TRUE(loaded) << render(loaded.diagnostics());
  const HardwareModel& model = loaded->model;
  ASSERT_GE(model.instructions().size(), 4u);
  const auto name = [&](std::size_t i) { return model.instructions()[i].name; };
  const auto here = make_id<StatementId>(0), other = make_id<StatementId>(1);
  using Kind = Reason::Kind;
  MapResult mapped;
  mapped.rejected = {{make_id<InstructionId>(0), here, {{Kind::body, false, "body: b"}}},
                     {make_id<InstructionId>(1), here, {{Kind::reduction, false, "reduction: r"}}},
                     {make_id<InstructionId>(2), here, {{Kind::dims, false, "d"}, {Kind::dims, true, "e"}}},
                     {make_id<InstructionId>(3), other, {{Kind::dims, false, "of another statement"}}}};
  const std::string body = name(0) + ": body: b", reduction = name(1) + ": reduction: r";
  const std::string first = name(2) + ": d", second = name(2) + ": e";
  EXPECT_EQ(rejection_reasons(mapped, here, model), (std::vector{first, second, reduction, body}));
  EXPECT_EQ(rejection_reasons(mapped, here, model, ReasonOrder::other_reductions_last),
            (std::vector{first, second, body, reduction}));
}

}  // namespace
}  // namespace isamap

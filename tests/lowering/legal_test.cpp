// SPDX-License-Identifier: Apache-2.0
// `legal`: lowering obeys conditions on instructions, and the verifier checks them again.

#include "ir/legal.h"

#include <fmt/format.h>

#include <functional>

#include "tests/hwdesc/support.h"
#include "tests/lowering/support.h"

namespace isamap {
namespace {

std::string conditions_text(const std::string& condition) {
  return condition.empty() ? "" : "legal: [\"" + condition + "\"], ";
}

HardwareModel model_with(const std::string& of_load, const std::string& of_relu = "") {
  const auto move = [](const std::string& name, const std::string& legal) {
    return "  - {name: " + name + ", link: " + name + ", compute: \"D[i,j] = S[i,j]\", " + legal +
           "dims: {i: {max: 8}, j: {max: 16}}, inactive: keep, operands: {D: {dtype: b32, layout: {i: any, j: 1}}, S: "
           "{dtype: b32, layout: {i: any, j: 1}}}, emit: \"" +
           name + " {D}, {D.pitch[i]}, {S}, {S.pitch[i]}, {extent[i]}, {extent[j]}\"}\n";
  };
  auto loaded = load_text(
      "hardware: h\nprogram: {language: asm}\nunits: [{name: host, scalar: true}, {name: u}]\n"
      "memories: [{name: ram, per: host, kind: dram, capacity: 1MiB}, {name: v, per: u, kind: scratchpad, capacity: "
      "64KiB}]\nlinks: [{name: ld, from: ram, to: v}, {name: st, from: v, to: ram}]\ninstructions:\n" +
      move("ld", conditions_text(of_load)) + move("st", "") +
      "  - {name: relu, unit: u, compute: \"D[i,j] = max(A[i,j], 0)\", " + conditions_text(of_relu) +
      "dims: {i: {max: 8}, j: {max: 16}}, operands: {D: {memory: v, dtype: s32, layout: {i: any, j: 1}}, A: {memory: "
      "v, "
      "dtype: s32, layout: {i: any, j: 1}}}, emit: \"relu {D}, {D.pitch[i]}, {A}, {A.pitch[i]}, {extent[i]}, "
      "{extent[j]}\"}\n");
  EXPECT_TRUE(loaded) << render(loaded.diagnostics());
  return loaded ? loaded->model : HardwareModel{};
}

Kernel relu() { return formula("Y[i,j] = max(X[i,j], 0)", "i=12,j=20", "X=s32,Y=s32"); }

const std::vector<std::string> in_tiles{"for i by 8", "for j by 16", "stage Y in v", "stage X in v",
                                        "do s0 with relu(i=i, j=j)"};

void for_each_call(const std::vector<Node>& nodes, const std::function<void(const Call&)>& visit) {
  for (const Node& node : nodes) {
    if (const auto* loop = std::get_if<Loop>(&node.is)) for_each_call(loop->body, visit);
    if (const auto* call = std::get_if<Call>(&node.is)) visit(*call);
    if (const auto* guard = std::get_if<Guard>(&node.is)) {
      for_each_call(guard->then, visit);
      for_each_call(guard->otherwise, visit);
    }
  }
}

/// Largest extents and product of extents among the calls of `ld`.
struct Largest {
  std::int64_t i = 0, j = 0, points = 0;
};

Largest loads_under(const std::string& condition) {
  const HardwareModel model = model_with(condition);
  expect_right(relu(), model, in_tiles);
  const auto program = lower(schedule_of(in_tiles), relu(), model);
  Largest largest;
  if (!program) return largest;
  EXPECT_EQ(render(verify(*program, model)), "") << condition;
  for_each_call(program->body, [&](const Call& call) {
    if (model.instruction(call.instruction).name != "ld") return;
    largest.i = std::max(largest.i, call.extents[0]);
    largest.j = std::max(largest.j, call.extents[1]);
    largest.points = std::max(largest.points, call.extents[0] * call.extents[1]);
  });
  return largest;
}

TEST(Legal, MovesAreSplitUntilTheyFulfilTheConditions) {
  EXPECT_EQ(loads_under("").points, 8 * 16);
  EXPECT_EQ(loads_under("extent[i] <= 4").i, 4);
  EXPECT_EQ(loads_under("3 > extent[i]").i, 2);
  EXPECT_EQ(loads_under("extent[i] * extent[j] <= 40").points, 8 * 4) << "as many calls as 8 x 5, without a tail";
  EXPECT_EQ(loads_under("min(extent[i], extent[j]) == 1").points, 16);
  EXPECT_EQ(loads_under("S.pitch[i] == 80").points, 8 * 16) << "as it is";
  EXPECT_EQ(loads_under("S.pitch[i] <= 64").i, 1) << "rows lie 80 bytes apart, and one row has no neighbours";
  EXPECT_EQ(loads_under("S.stride[i] * extent[i] < 64").i, 3) << "rows of 20 elements";
}

TEST(Legal, ExtentsOfADimBecomeItsRange) {
  const auto range = [](const std::string& condition) { return model_with("", condition).instructions()[2].ranges[1]; };
  EXPECT_EQ(range("extent[j] <= 7").max, 7);
  EXPECT_EQ(range("extent[j] % 5 == 0").multiple_of, 5);
  EXPECT_EQ(range("extent[j] % 5 == 0").max, 15);
  EXPECT_EQ(range("extent[j] == 4"), (DimRange{.min = 4, .max = 4, .multiple_of = 4}));
  const auto tied = model_with("", "extent[i] * extent[j] <= 32").instructions()[2].ranges;
  EXPECT_EQ(tied[0].max * tied[1].max, 32) << "the largest box that is legal";
  expect_right(relu(), model_with("", "extent[i] * extent[j] <= 32"),
               {"for i by 8", "for j by 4", "stage Y in v", "stage X in v", "do s0 with relu(i=i, j=j)"});
}

TEST(Legal, SaysWhyNothingIsFound) {
  const auto program = lower(schedule_of(in_tiles), relu(), model_with("", "D.pitch[i] > 1000"));
  ASSERT_FALSE(program);
  EXPECT_NE(render(program.diagnostics()).find("relu is legal only where D.pitch[i] > 1000; here D.pitch[i] is 64"),
            std::string::npos)
      << render(program.diagnostics());
}

TEST(Legal, TheVerifierRefusesProgramsThatBreakConditions) {
  const auto program = lower(schedule_of(in_tiles), relu(), model_with(""));
  ASSERT_TRUE(program) << render(program.diagnostics());
  for (const auto& [condition, said] : {std::pair("extent[i] * extent[j] < 100", "extent[i] * extent[j] is 128"),
                                        {"S.pitch[i] < 80", "S.pitch[i] is 80"},
                                        {"extent[i] <= 4", "extent[i] is 8"}})
    EXPECT_NE(render(verify(*program, model_with(condition))).find(said), std::string::npos) << condition;
}

}  // namespace
}  // namespace isamap

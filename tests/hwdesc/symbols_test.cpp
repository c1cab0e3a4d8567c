// SPDX-License-Identifier: Apache-2.0
// Symbolic sizes: the value of a model, versions, and instructions that are correct on a machine of a larger size.

#include <gtest/gtest.h>

#include "tests/hwdesc/support.h"

namespace isamap {
namespace {

/// A vector machine whose instructions are `instructions`.
std::string machine(const std::string& symbols, const std::string& instructions = "") {
  return "hardware: h\nsymbols: {" + symbols + "}\n" +
         "program: {language: c++, types: {f32: float}, flags: {any: [\"-mbits={VB*8}\"]},"
         " run: {emulated: \"emulate -b {VB*8} {exe}\"}}\n"
         "units: [{name: core, scalar: true}]\n"
         "memories:\n"
         "  - {name: ram, per: core, kind: dram, capacity: 1GiB}\n"
         "  - {name: vec, per: core, kind: register, count: 8, size: \"VB*1B\", value: {f32: vector}}\n"
         "  - {name: tile, per: core, kind: register, count: 4, size: \"VB*VB/4*1B\", value: {f32: tile}}\n"
         "  - {name: pred, per: core, kind: register, count: 8, size: \"VB*1b\", value: {b1: mask}}\n"
         "links: [{name: ld, from: ram, to: vec}, {name: st, from: vec, to: ram}, {name: stt, from: tile, to: ram}]\n"
         "instructions:\n"
         "  - {name: zero, unit: core, compute: \"D[j] = 0\", dims: {j: VB/4},\n"
         "     operands: {D: {memory: vec, dtype: f32}}, emit: \"{D} = zero();\"}\n" +
         instructions;
}

const std::string lengths = "VB: {min: 16, max: 256, multiple_of: 16, likely: 32, versions: [64, 16], emit: size()}";

HardwareModel loaded(const std::string& text, const LoadOptions& options = {}) {
  auto result = load_text(text, options);
  EXPECT_TRUE(result) << render(result.diagnostics());
  return result ? result->model : HardwareModel{};
}

/// The first problem, without its location.
std::string complaint(const std::string& text, const LoadOptions& options = {}) {
  const auto result = load_text(text, options);
  return result ? "" : result.diagnostics().front().message;
}

TEST(Symbols, TheLikelyValueIsTaken) {
  const HardwareModel model = loaded(machine(lengths));
  EXPECT_EQ(print(model.sizes()), "VB = 32");
  EXPECT_EQ(model.symbols().front().versions, (std::vector<std::int64_t>{16, 32, 64}));
  EXPECT_EQ(model.memory(*model.find_memory("vec")).size, 32);
  EXPECT_EQ(model.instructions().front().ranges.front().max, 8);
  ASSERT_EQ(model.versions().size(), 3u);
  for (const HardwareModel& version : model.versions()) {
    const std::int64_t size = version.symbols().front().value;
    EXPECT_EQ(version.memory(*version.find_memory("vec")).size, size);
    EXPECT_EQ(version.instructions().front().ranges.front().max, size / 4);
  }
}

TEST(Symbols, TheLargestIsTakenWhereNoneIsLikely) {
  const HardwareModel model = loaded(machine("VB: {min: 16, max: 64, power_of_two: true, emit: size()}"));
  EXPECT_EQ(print(model.sizes()), "VB = 64");
  EXPECT_EQ(model.symbols().front().versions, (std::vector<std::int64_t>{16, 32, 64}));
}

TEST(Symbols, SetTakesAnotherValueAndNoOtherVersion) {
  const HardwareModel model = loaded(machine(lengths), {{{"VB", "48"}}, {}});
  EXPECT_EQ(print(model.sizes()), "VB = 48");
  EXPECT_EQ(model.versions().size(), 1u);
  EXPECT_EQ(model.program.run_emulated, "emulate -b 384 {exe}");
  EXPECT_EQ(model.program.flags.at("any").front(), "-mbits=384");
}

TEST(Symbols, ManyValuesWithoutAListHaveOneVersion) {
  const HardwareModel model = loaded(machine("VB: {min: 4, max: 4096, multiple_of: 4, likely: 40, emit: size()}"));
  EXPECT_EQ(model.symbols().front().versions, std::vector<std::int64_t>{40});
}

TEST(Symbols, ValuesMustBeAllowed) {
  EXPECT_EQ(complaint(machine(lengths), {{{"VB", "40"}}, {}}),
            "symbol 'VB' as set is 40; symbol 'VB' is 16 to 256, a multiple of 16");
  EXPECT_EQ(complaint(machine(lengths), {{{"VB", "wide"}}, {}}), "symbol 'VB' is set to 'wide', which is no integer");
  EXPECT_EQ(complaint(machine("VB: {max: 64, power_of_two: true, likely: 48, emit: size()}")),
            "'likely' of symbol 'VB' is 48; symbol 'VB' is 1 to 64, a power of two");
  EXPECT_EQ(complaint(machine("VB: {min: 16, max: 64, versions: [16, 80], emit: size()}")),
            "an entry of 'versions' is 80; symbol 'VB' is 16 to 64");
  EXPECT_EQ(complaint(machine("VB: {min: 16, max: 64}")),
            "symbol 'VB' is known when programs run, and they cannot ask for it");
}

TEST(Symbols, EveryVersionIsChecked) {
  const std::string wide =
      "  - {name: eight, unit: core, compute: \"D[j] = 0\", dims: {j: 8}, operands: {D: {memory: vec, dtype: f32}},\n"
      "     emit: \"{D} = zero8();\"}\n";
  EXPECT_EQ(complaint(machine(lengths, wide)),
            "with VB = 16: operand 'D' of instruction 'eight' needs 32 bytes; a register of 'vec' has 16");
}

TEST(Symbols, KnownToTheCompilerHasOneVersion) {
  const HardwareModel model = loaded(machine("VB: {min: 16, max: 64, likely: 32, known: compile}"));
  EXPECT_TRUE(model.versions().empty());
  EXPECT_EQ(model.symbols().front().versions, std::vector<std::int64_t>{32});
}

bool grows(const std::string& instruction) {
  const HardwareModel model = loaded(machine(lengths, instruction));
  return model.instructions().size() > 1 && model.instructions()[1].grows;
}

TEST(Symbols, WhatIsToldOrOnlyLengthensGrows) {
  EXPECT_TRUE(
      grows("  - {name: load, link: ld, compute: \"D[j] = S[j]\", dims: {j: {max: VB/4}}, inactive: zero,\n"
            "     operands: {D: {dtype: f32}, S: {dtype: f32}}, emit: \"{D} = load({S}, {extent[j]});\"}\n"));
  EXPECT_TRUE(
      grows("  - {name: add, unit: core, compute: \"C[j] = A[j] + B[j]\", dims: {j: VB/4},\n"
            "     operands: {A: {memory: vec, dtype: f32}, B: {memory: vec, dtype: f32}, C: {memory: vec, dtype: "
            "f32}}, emit: \"{C} = add({A}, {B});\"}\n"));
}

TEST(Symbols, WhatTouchesMoreMemoryOrSumsMoreLanesDoesNotGrow) {
  EXPECT_FALSE(
      grows("  - {name: load, link: ld, compute: \"D[j] = S[j]\", dims: {j: VB/4},\n"
            "     operands: {D: {dtype: f32}, S: {dtype: f32}}, emit: \"{D} = load({S});\"}\n"));
  EXPECT_FALSE(
      grows("  - {name: sum, unit: core, compute: \"C[] += A[j]\", dims: {j: VB/4},\n"
            "     operands: {A: {memory: vec, dtype: f32}, C: {memory: ram, dtype: f32}},\n"
            "     emit: \"*{C} += sum({A});\"}\n"));
  EXPECT_FALSE(
      grows("  - {name: load, link: ld, compute: \"D[j] = S[j]\", dims: {j: {max: VB/4}}, inactive: zero,\n"
            "     operands: {D: {dtype: f32}, S: {dtype: f32}}, emit: \"{D} = load({S}, {extent[j]}, {VB});\"}\n"));
  EXPECT_FALSE(
      grows("  - {name: load, link: ld, compute: \"D[j] = S[j]\", dims: {j: {min: VB/8, max: VB/4}},\n"
            "     inactive: zero, operands: {D: {dtype: f32}, S: {dtype: f32}},\n"
            "     emit: \"{D} = load({S}, {extent[j]});\"}\n"));
}

const std::string store_tile =
    "  - {name: store, link: stt, compute: \"D[i,j] = S[i,j]\", dims: {i: {max: VB/4}, j: {max: VB/4}},\n"
    "     operands: {D: {dtype: f32, layout: {i: any, j: 1}}, S: {dtype: f32, layout: {i: VB/4, j: 1}}},\n"
    "     emit: \"store({D}, {S}, {extent[i]}, {extent[j]}, {D.stride[i]});\"}\n";

TEST(Symbols, PlacesInRegistersGrowAlikeOrNotAtAll) {
  EXPECT_TRUE(grows(store_tile));
  const std::string otherwise =
      "  - {name: clear, unit: core, compute: \"D[i,j] = 0\", dims: {i: 4, j: 4},\n"
      "     operands: {D: {memory: tile, dtype: f32, layout: {i: 4, j: 1}}}, emit: \"clear({D});\"}\n";
  EXPECT_FALSE(grows(store_tile + otherwise));
}

}  // namespace
}  // namespace isamap

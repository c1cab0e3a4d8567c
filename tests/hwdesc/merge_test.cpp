// SPDX-License-Identifier: Apache-2.0
// Changes of a file over its bases: dropped rows, emptied lists, added helpers.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "isamap/hardware.h"
#include "tests/scratch.h"

namespace isamap {
namespace {

const char* base = R"(hardware: base
requires: {machine: [other]}
program:
  language: c++
  include: [a.h, b.h]
  types: {f32: float, s32: int}
  helpers: |
    static int one();
units: [{name: core, scalar: true}]
memories:
  - {name: ram, per: core, kind: dram, capacity: 1GiB}
  - {name: reg, per: core, kind: register, count: 4, size: 4B, value: {any: vec}}
links: [{name: ld, from: ram, to: reg}, {name: st, from: reg, to: ram}]
instructions:
  - name: store_${t}
    link: st
    variants: [{t: f32}, {t: s32}]
    compute: "D[] = S[]"
    operands: {D: {dtype: "${t}"}, S: {dtype: "${t}"}}
    emit: "*{D} = {S};"
  - {name: load, link: ld, compute: "D[] = S[]", operands: {D: {dtype: f32}, S: {dtype: f32}}, emit: "{D} = *{S};"}
)";

class Merge : public testing::Test {
 protected:
  Merge() : folder_(scratch("merge")) {
    std::filesystem::create_directories(folder_);
    write("base", base);
  }
  ~Merge() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name + ".yaml") << text;
  }
  Result<LoadedHardware> load(const std::string& text) {
    write("over", text);
    return load_hardware(folder_ + "/over.yaml", {});
  }
  static std::string names(const HardwareModel& model) {
    std::string text;
    for (const Instruction& i : model.instructions()) text += (text.empty() ? "" : " ") + i.name;
    return text;
  }

  std::string folder_;
};

TEST_F(Merge, ARowOfVariantsIsDroppedByItsOwnName) {
  const auto loaded = load("hardware: over\nextends: base\nwithout: [store_s32]\n");
  ASSERT_TRUE(loaded) << render(loaded.diagnostics());
  EXPECT_EQ(names(loaded->model), "store_f32 load");
  EXPECT_EQ(loaded->resolved.find("without"), std::string::npos);
  const auto all = load("hardware: over\nextends: base\nwithout: [\"store_${t}\"]\n");
  ASSERT_TRUE(all) << render(all.diagnostics());
  EXPECT_EQ(names(all->model), "load");
}

TEST_F(Merge, ADroppedRowMayBeWrittenAnew) {
  const auto loaded = load(
      "hardware: over\nextends: base\nwithout: [store_s32]\ninstructions:\n"
      "  - {name: store_s32, link: st, compute: \"D[] = S[]\", operands: {D: {dtype: s32}}, emit: \"put({D}, "
      "{S});\"}\n");
  ASSERT_TRUE(loaded) << render(loaded.diagnostics());
  EXPECT_EQ(names(loaded->model), "store_f32 load store_s32");
}

TEST_F(Merge, ANameThatNoRowHasIsReported) {
  const auto loaded = load("hardware: over\nextends: base\nwithout: [store_u8]\n");
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.diagnostics()[0].message,
            "'without' names 'store_u8', which no inherited list has, nor a row of 'variants'");
  EXPECT_EQ(loaded.diagnostics()[0].where.line, 3);
}

TEST_F(Merge, AnEmptyListEmptiesWhatIsInherited) {
  const auto united = load("hardware: over\nextends: base\nprogram: {include: [c.h]}\n");
  ASSERT_TRUE(united);
  EXPECT_EQ(united->model.program.include, (std::vector<std::string>{"a.h", "b.h", "c.h"}));
  const auto emptied = load("hardware: over\nextends: base\nrequires: {machine: []}\nprogram: {include: []}\n");
  ASSERT_TRUE(emptied);
  EXPECT_TRUE(emptied->model.program.include.empty());
  EXPECT_TRUE(emptied->model.needed.machine.empty());
}

TEST_F(Merge, HelpersAreAdded) {
  const auto added = load("hardware: over\nextends: base\nprogram: {helpers: \"static int two();\"}\n");
  ASSERT_TRUE(added) << render(added.diagnostics());
  EXPECT_EQ(added->model.program.helpers, "static int one();\nstatic int two();\n");
  write("middle", "hardware: middle\nextends: base\nprogram: {helpers: \"static int two();\"}\n");
  const auto once = load("hardware: over\nextends: [middle, base]\nprogram: {helpers: \"static int three();\"}\n");
  ASSERT_TRUE(once) << render(once.diagnostics());
  EXPECT_EQ(once->model.program.helpers, "static int one();\nstatic int two();\nstatic int three();\n");
  const auto dropped = load("hardware: over\nextends: base\nprogram: {helpers: []}\n");
  ASSERT_TRUE(dropped) << render(dropped.diagnostics());
  EXPECT_EQ(dropped->model.program.helpers, "");
}

}  // namespace
}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
// Printed assembly, and the simulator that reads it back.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "backends/assembly/command_text.h"
#include "backends/assembly/printer.h"
#include "backends/common/state.h"
#include "backends/simulator/simulate.h"
#include "tests/backends/support.h"
#include "tests/scratch.h"

namespace isamap {
namespace {

// 20 x 8 x 24 on a 16 x 16 x 16 unit: short tiles along all three dims; B goes through a copy that the host makes.
const char* const ragged = R"(program ragged
kernel
  kernel gemm
  tensor A: s8[20,24]
  tensor B: s8[24,8]
  tensor C: s32[20,8]
  s0: C[i,j] += s32(A[i,k]) * s32(B[k,j]) over i: 20, j: 8, k: 24
buffers
  A: s8[20,24] in dram strides [24,1] align 64 at 0 of A argument
  B: s8[24,8] in dram strides [8,1] align 64 at 512 of B argument
  C: s32[20,8] in dram strides [8,1] align 64 at 1024 of C argument
  P: s8[24,8] in dram strides [8,1] align 64 at 2048 of B
  a: s8[16,16] in spad strides [16,1] align 64 at 0 of A
  b: s8[16,16] in spad strides [16,1] align 64 at 256 of B
  c: s32[2,16,16] in acc strides [256,16,1] align 64 at 0 of C
schedule
body
  for x in 24
    for y in 8
      P[x, y] = B[x, y] on host
  call mvin(b[$i, $j], P[$i, $j]) extents [16,8]
  call mvin(a[$i, $j], A[$i, $j]) extents [16,16]
  call mma(c[0, $i, $j], a[$i, $k], b[$k, $j]) extents [16,16,16] start zero
  call mvin(a[$i, $j], A[16 + $i, $j]) extents [4,16]
  call mma(c[1, $i, $j], a[$i, $k], b[$k, $j]) extents [16,16,16] start zero
  call mvin(b[$i, $j], P[16 + $i, $j]) extents [8,8]
  for t in 2
    if -t >= 0
      call mvin(a[$i, $j], A[$i, 16 + $j]) extents [16,8]
    else
      call mvin(a[$i, $j], A[16 + $i, 16 + $j]) extents [4,8]
    call mma(c[t, $i, $j], a[$i, $k], b[$k, $j]) extents [16,16,16]
  call mvout(C[$i, $j], c[0, $i, $j]) extents [16,8]
  call mvout(C[16 + $i, $j], c[1, $i, $j]) extents [4,8]
)";

/// What helps is at the operand, whose `align` programs keep; the memory's `granularity` is how the machine counts.
TEST(Assembly, AnAddressBetweenTwoStepsNamesAlign) {
  const HardwareModel model = machine("systolic16");
  const auto mover = std::find_if(model.instructions().begin(), model.instructions().end(), [&](const Instruction& i) {
    return is_move(i) && i.operands[0].memory.valid() && model.memory(i.operands[0].memory).granularity == 16;
  });
  ASSERT_NE(mover, model.instructions().end());
  const std::string name = mover->operands[0].name;
  const auto text = command_text(
      *mover, model,
      [&](const Reference& r) {
        return r.object == name && r.property.empty() ? std::nullopt : std::optional<std::int64_t>(1);
      },
      [](const Reference&) { return std::string(); });
  ASSERT_FALSE(text);
  EXPECT_EQ(text.diagnostics().front().hint, "write align: 16B at operand " + name);
  EXPECT_NE(text.diagnostics().front().message.find("are in units of 16 bytes, and this use of " + name),
            std::string::npos)
      << text.diagnostics().front().message;
}

TEST(Assembly, PrintsNumbersAndMarksTheHost) {
  auto model = machine("npu16");
  model.program.window = 1;  // the order of the program
  const auto text = print_assembly(program(model, ragged), model);
  ASSERT_TRUE(text) << render(text.diagnostics());
  EXPECT_EQ(text->substr(text->find("# host 0")), R"(# host 0:
#   for x in 24
#     for y in 8
#       P[x, y] = B[x, y]
mvin 256, 2048, 8, 16, 8                # 0x00000008000008000000010000081001
mvin 0, 0, 24, 16, 16                   # 0x00000018000000000000000000101001
mma 0, 0, 256, 0                        # 0x00000100000000000000000000000004
mvin 0, 384, 24, 4, 16                  # 0x00000018000001800000000000100401
mma 1024, 0, 256, 0                     # 0x00000100000000000000040000000004
mvin 256, 2176, 8, 8, 8                 # 0x00000008000008800000010000080801
mvin 0, 16, 24, 16, 8                   # 0x00000018000000100000000000081001
mma 0, 0, 256, 1                        # 0x00000100000000000000000001000004
mvin 0, 400, 24, 4, 8                   # 0x00000018000001900000000000080401
mma 1024, 0, 256, 1                     # 0x00000100000000000000040001000004
mvout 1024, 0, 32, 16, 8                # 0x00000020000004000000000000081005
mvout 1536, 1024, 32, 4, 8              # 0x00000020000006000000040000080405
fence
)");
}

TEST(Simulator, ComputesWhatTheInterpreterDoes) {
  const auto model = machine("npu16");
  for (const std::uint64_t seed : {1, 2, 3}) expect_same(program(model, ragged), model, seed);
}

TEST(Simulator, CountsCyclesAndBytes) {
  const auto model = machine("npu16");
  const auto p = program(model, ragged);
  auto data = inputs(p, 1);
  const auto text = print_assembly(p, model);
  const auto time = simulate(*text, p, model, data, 10);
  ASSERT_TRUE(time) << render(time.diagnostics());
  EXPECT_EQ(time->link_bytes.at("dma_in"), 16 * 8 + 16 * 16 + 4 * 16 + 8 * 8 + 16 * 8 + 4 * 8);
  EXPECT_EQ(time->link_bytes.at("dma_out"), 4 * 20 * 8);
  EXPECT_EQ(time->port_busy.at("execute"), 4 * 16);
  EXPECT_GE(time->cycles, 100 + 48 + 100);  // a load, a product and a store cannot overlap
}

/// The same machine, told by text alone.
HardwareModel without_words(const HardwareModel& from) {
  HardwareModel model = from;
  std::vector<Instruction> instructions = from.instructions();
  for (Instruction& instruction : instructions) instruction.encoding.reset();
  model.finish({from.units(), from.memories(), from.links(), std::move(instructions), from.states(), from.formats(),
                from.barriers(), from.async_objects(), from.symbols()});
  return model;
}

// A changed line must change the result, or be refused: otherwise the text is not what is executed.
TEST(Simulator, ExecutesTheTextAndNotTheProgram) {
  const auto model = without_words(machine("npu16"));
  const auto p = program(model, ragged);
  std::string text = *print_assembly(p, model);
  text.replace(text.find("mma 0, 0, 256, 1"), 16, "mma 0, 0, 256, 0");
  auto right = inputs(p, 1), found = right;
  ASSERT_TRUE(interpret(p, model, right));
  ASSERT_TRUE(simulate(text, p, model, found, 10));
  EXPECT_NE(right[2].bytes, found[2].bytes);
}

std::string complaint(const std::string& line) {
  const auto model = without_words(machine("npu16"));
  const auto p = program(model, ragged);
  auto data = inputs(p, 1);
  const auto time = simulate("# host 0:\n" + line + "\n", p, model, data, 10);
  return time ? "" : render(time.diagnostics());
}

TEST(Simulator, RefusesHostileLines) {
  const std::vector<std::pair<std::string, std::string>> lines = {
      {"mvin 0, 0, 24, 16", "'mvin 0, 0, 24, 16' is no command of npu16"},
      {"mvin 0, 0, 24, 16, 16 ", "is no command"},
      {"mvin 0, 0, 24, 16, 99999999999999999999999", "is no command"},
      {"mvin 0, 0, 24, 17, 16", "extent 17 of i in 'mvin' is not in 1..16"},
      {"mvin 0, 0, 24, 0, 16", "extent 0 of i in 'mvin' is not in 1..16"},
      {"mvin 0, 0, 24, -1, 16", "extent -1 of i"},
      {"mvin 262144, 0, 24, 16, 16", "reaches byte 262399 of spad, of which the program has 262144"},
      {"mvin -16, 0, 24, 16, 16", "address -16 of 'D' is outside spad"},
      {"mvin 8, 0, 24, 16, 16", "address 8 of 'D' is not aligned to 16 bytes"},
      {"mvin 0, 9223372036854775807, 24, 16, 16", "address 9223372036854775807 of 'S' is outside dram"},
      {"mvin 0, 0, 9223372036854775807, 16, 16", "out of range"},
      {"mvin 0, 0, -24, 16, 16", "reaches byte -360 of dram"},
      {"mma 0, 0, 0, 2", "'mma' has no start 2"},
      {std::string("mvin\0", 5), "is no command"},
      {"# host 1:", "expected no host nest, found 'host 1:'"},
  };
  for (const auto& [line, expected] : lines)
    EXPECT_NE(complaint(line).find(expected), std::string::npos) << line << "\n" << complaint(line);
  EXPECT_NE(complaint("mvin 0").find("ragged.s:2"), std::string::npos);
}

TEST(Simulator, SurvivesRandomText) {
  const auto model = machine("npu16");
  const auto p = program(model, ragged);
  const std::string good = *print_assembly(p, model);
  Random random(99);
  for (int n = 0; n < 100; ++n) {
    std::string text = good;
    for (int m = 0; m < 3; ++m)
      text[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(text.size()) - 1))] =
          static_cast<char>(random.between(32, 126));
    auto data = inputs(p, 1);
    (void)simulate(text, p, model, data, 10);
  }
}

TEST(Assembly, RefusesEndlessStreams) {
  const auto model = machine("npu16");
  auto p = program(model, ragged);
  Loop outer{"o", std::int64_t{1} << 40, false, "", p.body};
  p.body = {Node{outer}};
  const auto text = print_assembly(p, model);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.diagnostics()[0].message,
            "the program has more than 20000000 commands, the limit of a straight-line stream");
}

const char* const stateful_text = R"(program stateful
kernel
  kernel gemm
  tensor A: s8[4,8]
  tensor B: s8[8,4]
  tensor C: s32[4,4]
  s0: C[i,j] += s32(A[i,k]) * s32(B[k,j]) over i: 4, j: 4, k: 8
buffers
  A: s8[4,8] in dram strides [8,1] align 64 at 0 of A argument
  B: s8[8,4] in dram strides [4,1] align 64 at 64 of B argument
  C: s32[4,4] in dram strides [4,1] align 64 at 128 of C argument
  a: s8[2,4,4] in pad strides [16,4,1] align 64 at 0 of A
  b: s8[4,4] in pad strides [4,1] align 64 at 64 of B
  c: s32[4,4] in pad strides [4,1] align 64 at 128 of C
  w: s8[2,4,4] in reg slots 1 registers 1 align 16 at 1 of B
schedule
body
  for k in 2
    call load(a[k, $i, $j], A[$i, 4*k + $j]) extents [4,4]
  for k in 2
    call load(b[$i, $j], B[4*k + $i, $j]) extents [4,4]
    call keep(w[k, $k, $j], b[$k, $j]) extents [4,4]
  call mac(c[$i, $j], a[0, $i, $k], w[0, $k, $j]) extents [4,4,4] start zero
  call mac(c[$i, $j], a[1, $i, $k], w[1, $k, $j]) extents [4,4,4]
  call store(C[$i, $j], c[$i, $j]) extents [4,4]
)";

HardwareModel stateful_model() {
  const std::string folder = std::string(ISAMAP_SOURCE_DIR) + "/tests/backends/models";
  auto loaded = load_hardware(folder + "/stateful.yaml", {folder});
  EXPECT_TRUE(loaded) << render(loaded.diagnostics());
  HardwareModel model = loaded ? loaded->model : HardwareModel{};
  model.program.window = 1;  // the order of the program
  return model;
}

TEST(Assembly, PlacesSettersAndPrintsRegisters) {
  const auto model = stateful_model();
  const auto text = print_assembly(program(model, stateful_text), model);
  ASSERT_TRUE(text) << render(text.diagnostics());
  EXPECT_EQ(text->substr(text->find("start\n")), R"(start
pitch 0x8
load 4096, 0, 4
load 4100, 4, 4
pitch 0x4
load 4112, 64, 4
keep r1, 4112
load 4112, 80, 4
keep r2, 4112
mac 4128, 4096, r1, 1
mac 4128, 4100, r2, 0
mode 1
pitch 0x10
store 128, 0x11020
stop
)");
}

TEST(Simulator, SolvesNeedsAndSumsForTheirUnknown) {
  const auto model = stateful_model();
  for (const std::uint64_t seed : {1, 2, 3}) expect_same(program(model, stateful_text), model, seed);
}

TEST(Simulator, CatchesStaleState) {
  const auto model = stateful_model();
  const auto p = program(model, stateful_text);
  std::string text = *print_assembly(p, model);
  auto data = inputs(p, 1);
  std::string without = text;
  without.erase(without.find("mode 1\n"), 7);
  const auto time = simulate(without, p, model, data, 10);
  ASSERT_FALSE(time);
  EXPECT_NE(render(time.diagnostics()).find("'store' needs dma.mode = 1, which is 0"), std::string::npos)
      << render(time.diagnostics());
  text.erase(text.find("pitch 0x8\n"), 10);
  EXPECT_NE(
      render(simulate(text, p, model, data, 10).diagnostics()).find("'load' needs dma.pitch, which nothing has set"),
      std::string::npos);
}

std::string systolic(const std::string& products) {
  return R"(program systolic
kernel
  kernel gemm
  tensor A: s8[16,16]
  tensor B: s8[16,16]
  tensor C: s32[16,16]
  s0: C[i,j] += s32(A[i,k]) * s32(B[k,j]) over i: 16, j: 16, k: 16
buffers
  A: s8[16,16] in dram strides [16,1] align 64 at 0 of A argument
  B: s8[16,16] in dram strides [16,1] align 64 at 256 of B argument
  C: s32[16,16] in dram strides [16,1] align 64 at 512 of C argument
  a: s8[16,16] in spad strides [16,1] align 64 at 0 of A
  b: s8[16,16] in spad strides [16,1] align 64 at 256 of B
  w: s8[16,16] in array slots 0 registers 1 align 256 at 0 of B
  c: s32[16,16] in acc strides [16,1] align 64 at 0 of C
schedule
body
  call mvin(a[$i, $j], A[$i, $j]) extents [16,16]
  call mvin(b[$i, $j], B[$i, $j]) extents [16,16]
)" + products +
         "  call mvout(C[$i, $j], c[$i, $j]) extents [16,16]\n";
}

/// The lines from the first load of weights on, without their words.
std::string texts_of(const std::string& program_text) {
  auto model = machine("systolic16");
  model.program.window = 1;  // the order of the program
  const auto printed = print_assembly(program(model, program_text), model);
  if (!printed) return printed.diagnostics()[0].message;
  std::string texts;
  for (std::size_t at = printed->find("preload "); at < printed->size();) {
    const std::size_t end = printed->find('\n', at);
    const std::string line = printed->substr(at, end - at);
    const std::size_t last = line.substr(0, line.find(" # ")).find_last_not_of(' ');
    texts += line.substr(0, last + 1) + "\n";
    at = end + 1;
  }
  return texts;
}

/// What `preload` says of the next product is known only when that comes; one that nothing uses says 0.
TEST(Assembly, HoldsACommandUntilItsFieldsAreNeeded) {
  const std::string text = systolic(R"(  call preload(w[$k, $j], b[$k, $j]) extents [16,16]
  call preload(w[$k, $j], b[$k, $j]) extents [16,16]
  call mvin(a[$i, $j], A[$i, $j]) extents [16,16]
  call compute_accumulated(c[$i, $j], a[$i, $k], w[$k, $j]) extents [16,16,16] start zero
)");
  EXPECT_EQ(texts_of(text), R"(preload 16, 0x0, 16, 16, 0, 0
preload 16, 0x80000000, 16, 16, 16, 16
mvin 0x90000000, 0, 16, 16
config_ex ws=1
compute_preloaded 0, -1, 16, 16
config_mvout 64, relu=0, scale=0
mvout 0x90000200, 0xa0000000, 16, 16
fence
)");
  expect_same(program(machine("systolic16"), text), machine("systolic16"));
}

/// The same weights twice: the second product is the form that needs no fresh ones, with another place.
TEST(Assembly, ChoosesTheTwinThatNeedsTheFewestSetters) {
  EXPECT_EQ(texts_of(systolic(R"(  call preload(w[$k, $j], b[$k, $j]) extents [16,16]
  call compute_preloaded(c[$i, $j], a[$i, $k], w[$k, $j]) extents [16,16,16] start zero
  call compute_preloaded(c[$i, $j], a[$i, $k], w[$k, $j]) extents [16,16,16]
  call compute_preloaded(c[$i, $j], a[$i, $k], w[$k, $j]) extents [16,16,16]
)")),
            R"(preload 16, 0x80000000, 16, 16, 16, 16
config_ex ws=1
compute_preloaded 0, -1, 16, 16
preload -1, 0xc0000000, 0, 0, 16, 16
compute_accumulated 0, -1, 16, 16
compute_accumulated 0, -1, 16, 16
config_mvout 64, relu=0, scale=0
mvout 0x90000200, 0xa0000000, 16, 16
fence
)");
}

TEST(State, SaysWhichSetterIsMissing) {
  const auto model = stateful_model();
  KnownState known = reset_values(model);
  EXPECT_EQ(known, (KnownState{{"dma.mode", 0}}));
  const auto uses = place_setters(
      model, {{"dma.speed", 3}}, [](const std::string&) { return "load"; }, known);
  ASSERT_FALSE(uses);
  EXPECT_EQ(uses.diagnostics()[0].message,
            "'load' needs dma.speed = 3, which holds an unknown value, and no setter can give it that value");
}

/// `aim` may run in mode 1 only, `swap` after the charge is gone, which no setter takes away.
HardwareModel needy_model() {
  const std::string path = scratch("needy.yaml");
  std::ofstream(path) << R"(hardware: needy
program: {language: asm, comment: "#"}
units: [{name: host, scalar: true}, {name: dev}]
memories:
  - {name: ram, per: host, kind: dram, capacity: 1MiB}
  - {name: pad, per: dev, kind: scratchpad, capacity: 4KiB}
links: [{name: in, from: ram, to: pad}]
states:
  - {name: s, per: dev, fields: {mode: {values: [0, 1], reset: 0}, target: {max: 99}, slot: {max: 9}, charge: {values: [0, 1]}}}
instructions:
  - {name: set_mode, unit: dev, sets: [s.mode], emit: "mode {s.mode}"}
  - {name: aim, unit: dev, needs: {s.mode: 1}, sets: [s.target], emit: "aim {s.target}"}
  - {name: swap, unit: dev, needs: {s.charge: 0}, sets: [s.slot], emit: "swap {s.slot}"}
  - {name: load, link: in, compute: "D[j] = S[j]", dims: {j: 8}, operands: {D: {dtype: s8}, S: {dtype: s8}},
     needs: {s.target: 3, s.slot: 1}, sets: {s.charge: 1}, emit: "load {D}, {S}"}
)";
  auto loaded = load_hardware(path, {});
  EXPECT_TRUE(loaded) << render(loaded.diagnostics());
  return loaded ? loaded->model : HardwareModel{};
}

std::string placed(const HardwareModel& model, const KnownState& needed, KnownState known) {
  const auto uses = place_setters(
      model, needed, [](const std::string&) { return "load"; }, known);
  if (!uses) return uses.diagnostics()[0].message;
  std::string names;
  for (const SetterUse& use : *uses) names += (names.empty() ? "" : " ") + use.setter->name;
  return names;
}

TEST(State, WhatASetterNeedsIsSetBeforeIt) {
  const HardwareModel model = needy_model();
  EXPECT_EQ(placed(model, {{"s.target", 3}}, {{"s.mode", 0}}), "set_mode aim");
  EXPECT_EQ(placed(model, {{"s.target", 3}}, {{"s.mode", 1}}), "aim");
  EXPECT_EQ(placed(model, {{"s.mode", 0}, {"s.target", 3}}, {{"s.mode", 0}}),
            "'load' needs s.mode = 0 together with values that its setters exclude");
}

TEST(State, ASetterWhoseNeedNothingGivesIsNotUsed) {
  const HardwareModel model = needy_model();
  EXPECT_EQ(placed(model, {{"s.slot", 1}}, {{"s.charge", 0}}), "swap");
  EXPECT_EQ(
      placed(model, {{"s.slot", 1}}, {{"s.charge", 1}}),
      "'load' needs s.slot = 1, which holds an unknown value, and the setter that could give it that value cannot "
      "be used here: 'swap' needs s.charge = 0, which holds 1, and no setter can give it that value");
}

TEST(State, SaysWhatAFieldCannotHold) {
  const auto model = stateful_model();
  const auto complaint = [&](const std::string& field, std::int64_t value) {
    KnownState known;
    const auto uses = place_setters(
        model, {{field, value}}, [](const std::string&) { return "load"; }, known);
    return uses ? "" : uses.diagnostics()[0].message;
  };
  EXPECT_EQ(complaint("dma.pitch", 65535), "");
  EXPECT_EQ(complaint("dma.pitch", 65536), "'load' needs dma.pitch = 65536, which holds 0..65535");
  EXPECT_EQ(complaint("dma.pitch", -4), "'load' needs dma.pitch = -4, which holds 0..65535");
  EXPECT_EQ(complaint("dma.mode", 2), "'load' needs dma.mode = 2, which is none of its values");
}

}  // namespace
}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
// Setters in C++ programs: set once before loops where all uses agree, before each use where they do not.

#include "backends/common/state.h"

#include <gtest/gtest.h>

#include "backends/common/process.h"
#include "backends/cpp/compile/compiler.h"
#include "backends/cpp/translation_unit.h"
#include "tests/backends/support.h"

namespace isamap {
namespace {

HardwareModel model_of(const std::string& file, const std::string& folder) {
  const std::string models = std::string(ISAMAP_SOURCE_DIR) + "/hardware_models";
  auto loaded = load_hardware(std::string(ISAMAP_SOURCE_DIR) + folder + file, {models});
  EXPECT_TRUE(loaded) << render(loaded.diagnostics());
  return loaded ? loaded->model : HardwareModel{};
}
HardwareModel stateful() { return model_of("stateful_cpp.yaml", "/tests/backends/models/"); }

/// O[i,j] = A[i] * B[j], rows of 8*n + tail.
std::string rows(const std::string& body) {
  return R"(program rows
kernel
  kernel rows
  tensor A: f32[3]
  tensor B: f32[21]
  tensor O: f32[3,21]
  s0: O[i,j] = A[i] * B[j] over i: 3, j: 21
buffers
  A: f32[3] in ram strides [1] align 64 at 0 of A argument
  B: f32[21] in ram strides [1] align 64 at 64 of B argument
  O: f32[3,21] in ram strides [21,1] align 64 at 256 of O argument
  b: f32[8] in vec slots 0 registers 1 align 32 at 0 of B
  o: f32[8] in vec slots 0 registers 1 align 32 at 1 of O
schedule
body
)" + body;
}

std::string body_of(const std::string& text, const HardwareModel& model) {
  const auto unit = print_cpp(program(model, text), model);
  if (!unit) return unit.diagnostics()[0].message;
  const std::size_t at = unit->text.find("extern \"C\"");
  return unit->text.substr(unit->text.find("{\n", at) + 2);
}

const char* const with_tails = R"(  for i in 3
    for t in 2
      call load(b[$j], B[8*t + $j]) extents [8]
      call scaled(o[$j], A[i], b[$j]) extents [8]
      call store(O[i, 8*t + $j], o[$j]) extents [8]
    call load(b[$j], B[16 + $j]) extents [5]
    call scaled(o[$j], A[i], b[$j]) extents [8]
    call store(O[i, 16 + $j], o[$j]) extents [5]
)";

TEST(CppState, IsSetBeforeUsesAndGivenBack) {
  EXPECT_EQ(
      body_of(rows(with_tails), stateful()),
      R"(  alignas(64) static const unsigned char block[20] = {2, 0, 85, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 44, 1, 0, 0};
  configure(block);
  for (long i = 0; i < 3; ++i) {
    const float* const A_i = A + i;
    float* const O_i = O + 21*i;
    Vector b, o;
    for (long t = 0; t < 2; ++t) {
      set_length(8, 0);
      b = load((B + 8*t), 8);
      scaled(o, *A_i, b);
      set_length(8, 1);
      store((O_i + 8*t), o, 8);
    }
    set_length(5, 0);
    b = load((B + 16), 5);
    scaled(o, *A_i, b);
    set_length(5, 1);
    store((O_i + 16), o, 5);
  }
  set_length(5, 0);
  release();
}
)");
}

TEST(CppState, ProgramsRunInTheRightState) {
  const auto model = stateful();
  for (const std::uint64_t seed : {1, 2}) expect_same(program(model, rows(with_tails)), model, seed);
}

TEST(CppState, IsSetOnceWhereAllUsesAgree) {
  const std::string text = body_of(rows(R"(  for i in 3
    for t in 2
      call load(b[$j], B[8*t + $j]) extents [8]
      if t - 1 >= 0
        call load(b[$j], B[5 + $j]) extents [8]
)"),
                                   stateful());
  const std::size_t at = text.find("  set_length(8, 0);\n  for (long i");
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_EQ(text.find("set_length", at + 3), std::string::npos) << text;
}

/// Behind a guard only what holds on both ways is known.
TEST(CppState, MeetsBehindGuards) {
  const std::string text = body_of(rows(R"(  for i in 3
    call load(b[$j], B[$j]) extents [8]
    if i - 1 >= 0
      call load(b[$j], B[$j]) extents [5]
    call load(b[$j], B[$j]) extents [8]
)"),
                                   stateful());
  EXPECT_EQ(text, R"(  (void)A;
  (void)O;
  for (long i = 0; i < 3; ++i) {
    set_length(8, 0);
    Vector b = load(B, 8);
    if (i - 1 >= 0) {
      set_length(5, 0);
      b = load(B, 5);
    }
    set_length(8, 0);
    b = load(B, 8);
  }
}
)");
}

TEST(CppState, BehindAGuardItsStateMayNotHold) {
  const auto model = stateful();
  const std::string text = rows(R"(  for i in 3
    call load(b[$j], B[$j]) extents [8]
    if i - 1 >= 0
      call load(b[$j], B[$j]) extents [5]
    call load(o[$j], B[$j]) extents [5]
)");
  const std::string body = body_of(text, model);
  EXPECT_NE(body.find("    }\n    set_length(5, 0);\n"), std::string::npos) << body;
}

/// The second round of a loop begins in the state in which the first one ended.
TEST(CppState, ALoopForgetsWhatItChanges) {
  const std::string text = body_of(rows(R"(  call load(b[$j], B[$j]) extents [8]
  for i in 3
    call load(b[$j], B[$j]) extents [8]
    call load(o[$j], B[$j]) extents [5]
)"),
                                   stateful());
  EXPECT_NE(text.find("{\n    set_length(8, 0);\n"), std::string::npos) << text;
}

TEST(CppState, RunsThroughGuardsAndLoops) {
  const auto model = stateful();
  expect_same(program(model, rows(R"(  for i in 3
    for t in 3
      if 1 - t >= 0
        call load(b[$j], B[8*t + $j]) extents [8]
      else
        call load(b[$j], B[16 + $j]) extents [5]
      call scaled(o[$j], A[i], b[$j]) extents [8]
      if 1 - t >= 0
        call store(O[i, 8*t + $j], o[$j]) extents [8]
      else
        call store(O[i, 16 + $j], o[$j]) extents [5]
)")),
              model);
}

TEST(CppState, SaysWhichSetterIsMissing) {
  HardwareModel model = stateful();
  std::vector<Instruction> instructions = model.instructions();
  std::erase_if(instructions, [](const Instruction& i) { return i.name == "configure"; });
  model.finish({model.units(), model.memories(), model.links(), std::move(instructions), model.states(),
                model.formats(), model.barriers(), model.async_objects(), model.symbols()});
  EXPECT_EQ(body_of(rows(with_tails), model),
            "'scaled' needs c.scale = 300, which holds an unknown value, and no setter can give it that value");
}

// --- registers that carry state: one block configures all of them
// -----------------------------------------------------

std::string tiles(const std::string& body) {
  return R"(program tiles
kernel
  kernel gemm
  tensor A: s8[16,64]
  tensor B: s8[16,16,4]
  tensor C: s32[16,16]
  s0: C[i,j] += s32(A[i,k]) * s32(B[k/4,j,k%4]) over i: 16, j: 16, k: 64
buffers
  A: s8[16,64] in ram strides [64,1] align 64 at 0 of A argument
  B: s8[16,16,4] in ram strides [64,4,1] align 64 at 1024 of B argument
  C: s32[16,16] in ram strides [16,1] align 64 at 2 of C argument
  a: b8[16,64] in tile slots 0 registers 1 align 64 at 0 of A
  c: b8[16,64] in tile slots 0 registers 1 align 64 at 2 of C
schedule
body
)" + body;
}

const char* const two_shapes = R"(  call load(a[$r, $b], A[$r, $b]) extents [16,64]
  call load(a[$r, $b], A[$r, $b]) extents [8,64]
)";

/// While c holds what is stored at the end, a has two shapes.
const std::string living = "  call zero(c[$r, $b]) extents [16,64]\n" + std::string(two_shapes) +
                           "  call store(A[$r, $b], c[$r, $b]) extents [16,64]\n";

TEST(CppState, OneBlockConfiguresAllRegisters) {
  const auto model = model_of("x86_amx.yaml", "/tests/hwdesc/data/");
  const std::string text = body_of(tiles(R"(  for t in 4
    call zero(c[$r, $b]) extents [4,32]
    call load(a[$r, $b], A[4*t + $r, $b]) extents [4,64]
)"),
                                   model);
  EXPECT_EQ(text.substr(0, text.find("  for")), R"(  (void)B;
  (void)C;
  alignas(64) static const unsigned char block[64] = {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 64, 0, 0, 0, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  _tile_loadconfig(block);
)");
  EXPECT_NE(text.find("_tile_zero(2);"), std::string::npos) << text;
  EXPECT_NE(text.find("_tile_release();\n}"), std::string::npos) << text;
  const TemporaryDirectory folder;
  const auto unit = print_cpp(program(model, tiles("  call zero(c[$r, $b]) extents [4,32]\n")), model);
  ASSERT_TRUE(unit && write_file(folder.path() / "kernel.cpp", unit->text.data(), unit->text.size()));
  auto command =
      compile_command(model, {(folder.path() / "kernel.cpp").string()}, (folder.path() / "kernel.o").string());
  command.insert(command.end(), {"-c", "-O0", "-Wall", "-Wextra", "-Werror"});
  const auto result = run_process(command, {100, 0, 0}, folder.path() / "log");
  if (!result.started) GTEST_SKIP() << command[0] << " is missing (Debian: apt-get install g++)";
  EXPECT_EQ(result.exit_code, 0) << result.output << unit->text;
}

TEST(CppState, DoesNotReconfigureRegistersThatLive) {
  const auto model = model_of("x86_amx.yaml", "/tests/hwdesc/data/");
  EXPECT_EQ(body_of(tiles(living), model),
            "'load' needs 'configure' between uses of the registers of 'tile', which it clobbers");
}

TEST(CppState, ConfiguresAnewWhereNoRegisterLives) {
  const auto model = model_of("x86_amx.yaml", "/tests/hwdesc/data/");
  const auto configured = [&](const std::string& body) {
    const std::string text = body_of(tiles(body), model);
    std::size_t times = 0;
    for (std::size_t at = text.find("loadconfig("); at != std::string::npos; at = text.find("loadconfig(", at + 1))
      ++times;
    return times;
  };
  EXPECT_EQ(configured(two_shapes), 2u);
  // Each part is configured as a whole, before its first use.
  const std::string part = R"(    call zero(c[$r, $b]) extents [8,64]
    call load(a[$r, $b], A[$r, $b]) extents [ROWS,64]
    call store(A[$r, $b], a[$r, $b]) extents [ROWS,64]
    call store(A[$r, $b], c[$r, $b]) extents [8,64]
)";
  const auto rows = [&](const std::string& number) {
    std::string text = part;
    for (std::size_t at = text.find("ROWS"); at != std::string::npos; at = text.find("ROWS"))
      text.replace(at, 4, number);
    return text;
  };
  EXPECT_EQ(configured("  for t in 4\n" + rows("16") + "  for u in 4\n" + rows("5")), 2u);
  EXPECT_EQ(configured("  for t in 4\n" + rows("16") + rows("5")), 2u);
  EXPECT_EQ(configured("  for t in 4\n" + rows("16") + rows("16")), 1u);
}

}  // namespace
}  // namespace isamap

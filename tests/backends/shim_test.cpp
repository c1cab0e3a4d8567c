// SPDX-License-Identifier: Apache-2.0
// Shims: what a header of hardware_models computes in place of instructions, and what it refuses as the hardware would.

#include <gtest/gtest.h>

#include "backends/common/process.h"
#include "backends/cpp/compile/compiler.h"
#include "tests/backends/support.h"

namespace isamap {
namespace {

const std::string model_folder = std::string(ISAMAP_SOURCE_DIR) + "/hardware_models/";

/// Compiles `text` behind the shim; empty: it does not compile.
std::string compiled_with(const std::string& shim, const std::string& flags, const std::string& text,
                          const TemporaryDirectory& place) {
  const auto source = place.path() / "test.cpp", program = place.path() / "test";
  EXPECT_TRUE(write_file(source, text.data(), text.size()));
  auto command = system_compiler();
  for (const std::string& word : split_command("-std=c++20 -O1 -Wall -Wextra -Werror " + flags))
    command.push_back(word);
  command.insert(command.end(), {"-include", model_folder + shim, source.string(), "-o", program.string()});
  const auto compiled = run_process(command, {100, 0, 0}, place.path() / "log");
  EXPECT_EQ(compiled.exit_code, 0) << compiled.output;
  return compiled.exit_code == 0 ? program.string() : "";
}

/// Tiles 0 and 1 have 16 rows of 64 bytes, tile 2 has 8 rows of 64, tile 3 has 16 rows of 32.
TEST(TileShim, TrapsAsTheHardwareWould) {
#ifndef __x86_64__
  GTEST_SKIP() << "the shim is for x86-64";
#endif
  const std::vector<std::pair<std::string, std::string>> refused = {
      {"_tile_zero(0);", "tilezero: tiles are not configured"},
      {"_tile_loadconfig(block); _tile_release(); _tile_zero(0);", "tiles are not configured"},
      {"_tile_loadconfig(block); _tile_zero(4);", "the tile is not configured"},
      {"block[48] = 17; _tile_loadconfig(block);", "more than 16 rows"},
      {"_tile_loadconfig(block); _tile_dpbssd(0, 1, 1);", "two tiles are the same"},
      {"_tile_loadconfig(block); _tile_dpbssd(2, 0, 1);", "other rows than the first factor"},
      {"_tile_loadconfig(block); _tile_dpbuud(0, 1, 3);", "other columns than the second"},
      {"_tile_loadconfig(block); _tile_dpbf16ps(0, 3, 1);", "the factors differ along k"}};
  std::string cases;
  for (std::size_t i = 0; i < refused.size(); ++i)
    cases += "case " + std::to_string(i) + ": " + refused[i].first + " break;\n";
  const TemporaryDirectory place;
  const std::string program = compiled_with("amx_shim.h", "", R"(
alignas(64) unsigned char block[64] = {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 64, 0, 64, 0, 64, 0, 32, 0};
int main(int, char** words) {
  block[48] = block[49] = block[51] = 16, block[50] = 8;
  switch (std::atoi(words[1])) {
)" + cases + "}\n}\n",
                                            place);
  ASSERT_NE(program, "");
  for (std::size_t i = 0; i < refused.size(); ++i) {
    const auto result = run_process({program, std::to_string(i)}, {20, 0, 0}, place.path() / "out");
    EXPECT_NE(result.signal, 0) << refused[i].first;
    EXPECT_NE(result.output.find(refused[i].second), std::string::npos) << refused[i].first << " " << result.output;
  }
}

/// Against the sums written out, with values at the ends of their ranges.
TEST(WordShim, ComputesWhatTheManualSays) {
#ifndef __x86_64__
  GTEST_SKIP() << "the shim is for x86-64";
#endif
  if (availability(machine("x86_avx2")).how != ExecutionMode::native) GTEST_SKIP() << "this processor has no AVX2";
  const TemporaryDirectory place;
  const std::string program = compiled_with("avx_vnni_shim.h", "-mavx2", R"(
#include <cstdint>
#include <cstring>
int main() {
  uint32_t seed = 1;
  for (int turn = 0; turn < 1000; ++turn) {
    unsigned char a[32], b[32];
    int32_t c[8], d[8], e[8];
    for (int i = 0; i < 32; ++i) {
      a[i] = (seed = seed * 1664525u + 1013904223u) >> 24, b[i] = (seed = seed * 1664525u + 1013904223u) >> 24;
      if (turn < 2) a[i] = turn == 0 ? 255 : 128, b[i] = 128;
    }
    for (int i = 0; i < 8; ++i) c[i] = (int32_t)(seed = seed * 1664525u + 1013904223u);
    __m256i va, vb, vc;
    std::memcpy(&va, a, 32), std::memcpy(&vb, b, 32), std::memcpy(&vc, c, 32);
    const __m256i bytes = _mm256_dpbusd_avx_epi32(vc, va, vb), words = _mm256_dpwssd_avx_epi32(vc, va, vb);
    std::memcpy(d, &bytes, 32), std::memcpy(e, &words, 32);
    for (int i = 0; i < 8; ++i) {
      uint32_t by = (uint32_t)c[i], wo = by;
      for (int k = 0; k < 4; ++k) by += (uint32_t)((int)a[4 * i + k] * (int)(signed char)b[4 * i + k]);
      for (int k = 0; k < 2; ++k) {
        int16_t x, y;
        std::memcpy(&x, a + 4 * i + 2 * k, 2), std::memcpy(&y, b + 4 * i + 2 * k, 2);
        wo += (uint32_t)(x * y);
      }
      if ((uint32_t)d[i] != by || (uint32_t)e[i] != wo) return 1;
    }
  }
}
)",
                                            place);
  ASSERT_NE(program, "");
  const auto result = run_process({program}, {20, 0, 0}, place.path() / "out");
  EXPECT_EQ(result.exit_code, 0) << result.output;
}

}  // namespace
}  // namespace isamap

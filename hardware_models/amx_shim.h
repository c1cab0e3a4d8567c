// Intel AMX in plain C++, for processors without it: the meaning of the `_tile_*` names, with the checks of the
// hardware. What the manual answers with an exception ends the program. Programs that ran with this header are reported
// as shim.
//
// Source: Intel 64 and IA-32 Architectures Software Developer's Manual, vol. 2: LDTILECFG, TILEZERO, TILELOADD,
// TILESTORED, TILERELEASE, TDPBSSD and its kind, TDPBF16PS (products and sums in f32, rounded to nearest, denormals as
// zero); vol. 1, chapter "Programming with Intel AMX" (palette 1: 8 tiles of 16 rows of 64 bytes; two tiles of one
// instruction are never the same).
#pragma once
#include <immintrin.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace amx_shim {

struct Tile {
  unsigned char row[16][64];
};
struct State {
  bool configured = false;
  int rows[8] = {}, bytes[8] = {};
  Tile tile[8];
};
inline thread_local State state;

[[noreturn]] inline void trap(const char* instruction, const char* why) {
  std::fprintf(stderr, "AMX shim: %s: %s\n", instruction, why);
  std::abort();
}

inline void release() { state = State{}; }

inline void loadconfig(const void* from) {
  unsigned char block[64];
  std::memcpy(block, from, 64);
  State next{};
  if (block[0] == 0) return release();
  if (block[0] != 1) trap("ldtilecfg", "palette is neither 0 nor 1");
  for (int i = 2; i < 64; ++i)
    if ((i < 16 || (i >= 32 && i < 48) || i >= 56) && block[i] != 0) trap("ldtilecfg", "a reserved byte is not zero");
  next.configured = true;
  for (int t = 0; t < 8; ++t) {
    next.bytes[t] = block[16 + 2 * t] + 256 * block[17 + 2 * t];
    next.rows[t] = block[48 + t];
    if (next.rows[t] > 16 || next.bytes[t] > 64) trap("ldtilecfg", "a tile has more than 16 rows or 64 bytes a row");
    if ((next.rows[t] == 0) != (next.bytes[t] == 0))
      trap("ldtilecfg", "a tile has rows without bytes or bytes without rows");
  }
  std::memset(next.tile, 0, sizeof next.tile);
  state = next;
}

inline void check(const char* instruction, int t) {
  if (!state.configured) trap(instruction, "tiles are not configured");
  if (t < 0 || t > 7 || state.rows[t] == 0) trap(instruction, "the tile is not configured");
}

inline void zero(int t) {
  check("tilezero", t);
  std::memset(&state.tile[t], 0, sizeof(Tile));
}

inline void loadd(int t, const void* base, std::int64_t stride) {
  check("tileloadd", t);
  std::memset(&state.tile[t], 0, sizeof(Tile));
  for (int r = 0; r < state.rows[t]; ++r)
    std::memcpy(state.tile[t].row[r], static_cast<const char*>(base) + r * stride,
                static_cast<std::size_t>(state.bytes[t]));
}

inline void stored(int t, void* base, std::int64_t stride) {
  check("tilestored", t);
  for (int r = 0; r < state.rows[t]; ++r)
    std::memcpy(static_cast<char*>(base) + r * stride, state.tile[t].row[r], static_cast<std::size_t>(state.bytes[t]));
}

inline void check_product(const char* instruction, int c, int a, int b) {
  check(instruction, c), check(instruction, a), check(instruction, b);
  if (c == a || c == b || a == b) trap(instruction, "two tiles are the same");
  if (state.bytes[c] % 4 != 0 || state.bytes[a] % 4 != 0 || state.bytes[b] % 4 != 0)
    trap(instruction, "a tile's rows are no whole number of 4-byte groups");
  if (state.rows[c] != state.rows[a]) trap(instruction, "the result has other rows than the first factor");
  if (state.bytes[c] != state.bytes[b]) trap(instruction, "the result has other columns than the second factor");
  if (state.rows[b] != state.bytes[a] / 4) trap(instruction, "the factors differ along k");
}

/// Rows from the result's on hold zero afterwards, and bytes behind its columns.
inline void clear_rest(int c) {
  for (int r = 0; r < 16; ++r)
    for (int x = r < state.rows[c] ? state.bytes[c] : 0; x < 64; ++x) state.tile[c].row[r][x] = 0;
}

template <typename A, typename B>
void dot_bytes(const char* instruction, int c, int a, int b) {
  check_product(instruction, c, a, b);
  for (int m = 0; m < state.rows[c]; ++m)
    for (int n = 0; n < state.bytes[c] / 4; ++n) {
      std::uint32_t sum;
      std::memcpy(&sum, &state.tile[c].row[m][4 * n], 4);
      for (int k = 0; k < state.bytes[a]; ++k) {
        const int x = static_cast<A>(state.tile[a].row[m][k]);
        const int y = static_cast<B>(state.tile[b].row[k / 4][4 * n + k % 4]);
        sum += static_cast<std::uint32_t>(x * y);  // wraps
      }
      std::memcpy(&state.tile[c].row[m][4 * n], &sum, 4);
    }
  clear_rest(c);
}

inline float flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }
inline float widened(const unsigned char* from) {
  std::uint32_t bits = static_cast<std::uint32_t>(from[0] + 256 * from[1]) << 16;
  float value;
  std::memcpy(&value, &bits, 4);
  return flushed(value);
}

inline void dot_bf16(int c, int a, int b) {
  check_product("tdpbf16ps", c, a, b);
  for (int m = 0; m < state.rows[c]; ++m)
    for (int n = 0; n < state.bytes[c] / 4; ++n) {
      float sum[2] = {0, 0}, old;
      for (int k = 0; k < state.bytes[a] / 2; ++k)
        sum[k % 2] = flushed(std::fma(widened(&state.tile[a].row[m][2 * k]),
                                      widened(&state.tile[b].row[k / 2][4 * n + 2 * (k % 2)]), sum[k % 2]));
      std::memcpy(&old, &state.tile[c].row[m][4 * n], 4);
      const float result = flushed(flushed(old) + flushed(sum[0] + sum[1]));
      std::memcpy(&state.tile[c].row[m][4 * n], &result, 4);
    }
  clear_rest(c);
}

}  // namespace amx_shim

#undef _tile_loadconfig
#undef _tile_release
#undef _tile_zero
#undef _tile_loadd
#undef _tile_stored
#undef _tile_dpbssd
#undef _tile_dpbsud
#undef _tile_dpbusd
#undef _tile_dpbuud
#undef _tile_dpbf16ps
#define _tile_loadconfig(from) amx_shim::loadconfig(from)
#define _tile_release() amx_shim::release()
#define _tile_zero(t) amx_shim::zero(t)
#define _tile_loadd(t, base, stride) amx_shim::loadd(t, base, stride)
#define _tile_stored(t, base, stride) amx_shim::stored(t, base, stride)
#define _tile_dpbssd(c, a, b) amx_shim::dot_bytes<signed char, signed char>("tdpbssd", c, a, b)
#define _tile_dpbsud(c, a, b) amx_shim::dot_bytes<signed char, unsigned char>("tdpbsud", c, a, b)
#define _tile_dpbusd(c, a, b) amx_shim::dot_bytes<unsigned char, signed char>("tdpbusd", c, a, b)
#define _tile_dpbuud(c, a, b) amx_shim::dot_bytes<unsigned char, unsigned char>("tdpbuud", c, a, b)
#define _tile_dpbf16ps(c, a, b) amx_shim::dot_bf16(c, a, b)

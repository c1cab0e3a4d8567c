// SPDX-License-Identifier: Apache-2.0
// Somebody else's simulator of a 16x16 weight-stationary array: it executes the words of commands (a RISC-V custom
// instruction and its two registers) with the meaning that the functional model of Genc et al., "Gemmini" (DAC 2021;
// github.com/ucb-bar/libgemmini, gemmini.cc) gives them. It shares no code with isamap or with that model.
//   array_of_words PROGRAM FOLDER BASE     reads FOLDER/dram.in, writes FOLDER/dram.out; dram begins at address BASE

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

constexpr std::uint32_t dim = 16, nowhere = 0xffffffff;
using Row = std::int32_t[dim];

std::vector<unsigned char> dram;
std::uint64_t dram_base = 0;
std::int32_t spad[16384][dim], acc[1024][dim], weights[dim][dim];

/// What a register of an operand says: a place in one of the two memories, columns, rows.
struct Tile {
  explicit Tile(std::uint64_t word)
      : at(static_cast<std::uint32_t>(word)),
        columns(word >> 32 & 0xffff),
        rows(static_cast<std::uint32_t>(word >> 48)) {}
  bool in_accumulator() const { return (at >> 31 & 1) != 0; }
  std::uint32_t at, columns, rows;
};

struct State {
  std::uint64_t load_pitch[3] = {}, store_pitch = 0;
  std::uint32_t a_stride = 0, c_stride = 0;
  bool stationary_weights = false, relu = false;
  float scale = 0;
  Tile fresh{nowhere}, target{nowhere};
} state;

[[noreturn]] void stop(const char* why) {
  std::fprintf(stderr, "%s\n", why);
  std::exit(1);
}

Row& row(const Tile& tile, std::uint32_t i) {
  const std::uint32_t at = (tile.at & 0x1fffffff) + i;
  if (at >= (tile.in_accumulator() ? 1024u : 16384u)) stop("a row is outside its memory");
  return tile.in_accumulator() ? acc[at] : spad[at];
}

unsigned char& byte(std::uint64_t at) {
  if (at < dram_base || at - dram_base >= dram.size()) stop("an address is outside dram");
  return dram[at - dram_base];
}

std::int32_t load(std::uint64_t at, int bytes) {
  std::uint32_t value = 0;
  for (int b = 0; b < bytes; ++b) value |= std::uint32_t{byte(at + b)} << (8 * b);
  return bytes == 1 ? static_cast<std::int8_t>(value) : static_cast<std::int32_t>(value);
}

void store(std::uint64_t at, std::int32_t value, int bytes) {
  for (int b = 0; b < bytes; ++b)
    byte(at + b) = static_cast<unsigned char>(static_cast<std::uint32_t>(value) >> (8 * b));
}

std::int32_t scaled(std::int32_t value) {
  const float product = std::nearbyint(static_cast<float>(value) * state.scale);
  const auto cut = static_cast<std::int32_t>(product > 127 ? 127 : product < -128 ? -128 : product);
  return state.relu && cut < 0 ? 0 : cut;
}

void configure(std::uint64_t a, std::uint64_t b) {
  if ((a & 3) == 0) {
    state.stationary_weights = (a >> 2 & 1) != 0;
    state.a_stride = a >> 16 & 0xffff;
    state.c_stride = static_cast<std::uint32_t>(b >> 48);
  } else if ((a & 3) == 1) {
    if ((a >> 3 & 3) == 3) stop("there are three loaders");
    if (a >> 32 != 0x3f800000) stop("a loader scales");
    state.load_pitch[a >> 3 & 3] = b;
  } else if ((a & 3) == 2) {
    state.relu = (a >> 2 & 3) == 1;
    state.store_pitch = b & 0xffffffff;
    const auto bits = static_cast<std::uint32_t>(b >> 32);
    std::memcpy(&state.scale, &bits, sizeof bits);
  } else {
    stop("no such configuration");
  }
}

/// From address 0 come zeros.
void move_in(std::uint64_t from, const Tile& to, int loader) {
  const int bytes = to.in_accumulator() ? 4 : 1;
  for (std::uint32_t i = 0; i < to.rows; ++i)
    for (std::uint32_t j = 0; j < to.columns && j < dim; ++j)
      row(to, i)[j] = from == 0 ? 0 : load(from + i * state.load_pitch[loader] + j * bytes, bytes);
}

void move_out(std::uint64_t to, const Tile& from) {
  const bool whole = (from.at >> 29 & 1) != 0;
  for (std::uint32_t i = 0; i < from.rows; ++i)
    for (std::uint32_t j = 0; j < from.columns && j < dim; ++j) {
      const std::int32_t value = row(from, i)[j];
      store(to + i * state.store_pitch + j * (whole ? 4 : 1), whole ? value : scaled(value), whole ? 4 : 1);
    }
}

/// Weights enter with the product behind the `preload` that names them, whatever stands between.
void multiply(const Tile& a, bool fresh) {
  if (!state.stationary_weights) stop("the array keeps sums, not weights");
  for (std::uint32_t k = 0; fresh && k < dim; ++k)
    for (std::uint32_t j = 0; j < dim; ++j) {
      const bool named = state.fresh.at != nowhere && k < state.fresh.rows && j < state.fresh.columns;
      weights[k][j] = named ? row(state.fresh, k)[j] : 0;
    }
  for (std::uint32_t i = 0; i < state.target.rows && i < dim; ++i)
    for (std::uint32_t j = 0; j < state.target.columns && j < dim; ++j) {
      std::uint32_t sum = 0;
      for (std::uint32_t k = 0; k < a.columns && k < dim && i < a.rows; ++k)
        sum += static_cast<std::uint32_t>(row(a, i * state.a_stride)[k] * weights[k][j]);
      std::int32_t& to = row(state.target, i * state.c_stride)[j];
      const bool add = (state.target.at >> 30 & 1) != 0;
      to = static_cast<std::int32_t>((add ? static_cast<std::uint32_t>(to) : 0) + sum);
    }
}

void execute(std::uint32_t instruction, std::uint64_t a, std::uint64_t b) {
  if ((instruction & 0x7f) != 0x7b) stop("no custom instruction");
  switch (instruction >> 25) {
    case 0:
      return configure(a, b);
    case 2:
      return move_in(a, Tile(b), 0);
    case 1:
      return move_in(a, Tile(b), 1);
    case 14:
      return move_in(a, Tile(b), 2);
    case 3:
      return move_out(a, Tile(b));
    case 6:
      state.fresh = Tile(a), state.target = Tile(b);
      return;
    case 4:
    case 5:
      return multiply(Tile(a), instruction >> 25 == 4);
    default:
      stop("no such command");
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  dram_base = std::strtoull(argv[3], nullptr, 0);
  std::ifstream program(argv[1]), image(std::string(argv[2]) + "/dram.in", std::ios::binary);
  dram.assign(std::istreambuf_iterator<char>(image), {});
  for (std::string line; std::getline(program, line);) {
    const std::size_t word = line.rfind("# 0x");
    if (word == std::string::npos || line.size() - word != 4 + 40) continue;
    const auto digits = [&](std::size_t from, std::size_t count) {
      return std::strtoull(line.substr(word + 4 + from, count).c_str(), nullptr, 16);
    };
    execute(static_cast<std::uint32_t>(digits(32, 8)), digits(16, 16), digits(0, 16));
  }
  std::ofstream(std::string(argv[2]) + "/dram.out", std::ios::binary)
      .write(reinterpret_cast<const char*>(dram.data()), static_cast<std::streamsize>(dram.size()));
}

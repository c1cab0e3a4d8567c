// SPDX-License-Identifier: Apache-2.0
// Somebody else's simulator of a 16x16 accelerator: four commands, read from a file of text. It shares no code with
// isamap; its meaning of the commands is written here by hand.
//   accelerator PROGRAM FOLDER     reads FOLDER/dram.in, writes FOLDER/dram.out

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace {

std::vector<unsigned char> dram;
std::vector<signed char> spad(128 << 10);
std::vector<std::int32_t> acc(8 << 10);
long cycles = 0;

template <class T>
T& at(std::vector<T>& memory, long index) {
  if (index < 0 || index >= static_cast<long>(memory.size())) {
    std::fprintf(stderr, "address %ld is outside a memory\n", index);
    std::exit(1);
  }
  return memory[static_cast<std::size_t>(index)];
}

void mvin(long to, long from, long pitch, long rows, long columns) {
  for (long i = 0; i < 16; ++i)
    for (long j = 0; j < 16; ++j)
      at(spad, to + 16 * i + j) = i < rows && j < columns ? static_cast<signed char>(at(dram, from + i * pitch + j))
                                                          : static_cast<signed char>(0);
  cycles += 16 + rows;
}

void mvout(long to, long from, long pitch, long rows, long columns) {
  for (long i = 0; i < rows; ++i)
    for (long j = 0; j < columns; ++j) {
      const auto bits = static_cast<std::uint32_t>(at(acc, from / 4 + 16 * i + j));
      for (int b = 0; b < 4; ++b) at(dram, to + i * pitch + 4 * j + b) = static_cast<unsigned char>(bits >> (8 * b));
    }
  cycles += 16 + 4 * rows;
}

void clear(long tile) {
  for (long e = 0; e < 256; ++e) at(acc, tile / 4 + e) = 0;
  cycles += 16;
}

void matmul(long c, long a, long b) {
  for (long i = 0; i < 16; ++i)
    for (long j = 0; j < 16; ++j)
      for (long k = 0; k < 16; ++k) at(acc, c / 4 + 16 * i + j) += at(spad, a + 16 * i + k) * at(spad, b + 16 * k + j);
  cycles += 16;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::ifstream program(argv[1]), image(std::string(argv[2]) + "/dram.in", std::ios::binary);
  dram.assign(std::istreambuf_iterator<char>(image), {});
  for (std::string line; std::getline(program, line);) {
    line = line.substr(0, line.find('#'));
    for (char& c : line)
      if (c == ',') c = ' ';
    std::istringstream words(line);
    std::string command;
    if (!(words >> command)) continue;
    long n[5] = {};
    for (long& number : n) words >> number;
    if (command == "mvin")
      mvin(n[0], n[1], n[2], n[3], n[4]);
    else if (command == "mvout")
      mvout(n[0], n[1], n[2], n[3], n[4]);
    else if (command == "clear")
      clear(n[0]);
    else if (command == "matmul")
      matmul(n[0], n[1], n[2]);
    else {
      std::fprintf(stderr, "no command %s\n", command.c_str());
      return 1;
    }
  }
  std::ofstream(std::string(argv[2]) + "/dram.out", std::ios::binary)
      .write(reinterpret_cast<const char*>(dram.data()), static_cast<std::streamsize>(dram.size()));
  std::printf("cycles %ld\n", cycles);
}

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Printed kernels as the target's own compiler makes them: its log, and which instructions stand in the code.

#include <cstring>
#include <fstream>
#include <map>
#include <regex>

#include "tests/cuda/support.h"

namespace isamap {

/// Where it is installed; empty: nowhere.
inline std::string compiler() {
  for (const char* place : {"nvcc", "/usr/local/cuda/bin/nvcc"})
    if (command_exists(place)) return place;
  return "";
}

/// Instructions of all kernels of a cubin by opcode: the low 12 bits of each 16 bytes of a .text section. Those that
/// load from or store to device memory also by opcode and size, bits 73 to 75: 4 is 4 bytes, 5 is 8, 6 is 16.
inline std::map<unsigned, int> opcodes(const std::string& elf) {
  const auto number = [&](std::size_t at, std::size_t size) {
    std::uint64_t value = 0;
    std::memcpy(&value, elf.data() + at, size);
    return value;
  };
  std::map<unsigned, int> found;
  if (elf.size() < 64) return found;
  const std::size_t sections = number(40, 8), size = number(58, 2), count = number(60, 2), names = number(62, 2);
  const std::size_t text_of_names = number(sections + names * size + 24, 8);
  for (std::size_t s = 0; s < count; ++s) {
    const std::size_t at = sections + s * size;
    if (std::strncmp(elf.data() + text_of_names + number(at, 4), ".text.", 6) != 0) continue;
    const std::size_t from = number(at + 24, 8), length = number(at + 32, 8);
    for (std::size_t i = from; i < from + length; i += 16) {
      const auto opcode = static_cast<unsigned>(number(i, 2) & 0xfff);
      ++found[opcode];
      if (opcode == 0x981 || opcode == 0x986) ++found[opcode << 4 | static_cast<unsigned>(number(i + 8, 8) >> 9 & 7)];
    }
  }
  return found;
}

inline std::size_t count_of(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

struct Compiled {
  std::string log;
  std::map<unsigned, int> opcodes;
  int count(unsigned opcode) const { return opcodes.contains(opcode) ? opcodes.at(opcode) : 0; }
};

/// With the options that the machine's file has for it, or others.
inline Compiled compile_for_device(const std::string& text, const HardwareModel& model) {
  const TemporaryDirectory folder;
  write_file(folder.path() / "kernel.cu", text.data(), text.size());
  std::vector<std::string> command = {compiler(), "-cubin", "-Xptxas", "-v"};
  const auto flags = model.program.flags.find("nvcc");
  if (flags != model.program.flags.end()) command.insert(command.end(), flags->second.begin(), flags->second.end());
  command.insert(command.end(),
                 {"-o", (folder.path() / "kernel.cubin").string(), (folder.path() / "kernel.cu").string()});
  const auto ran = run_process(command, {300, 0, 0}, folder.path() / "log");
  EXPECT_EQ(ran.exit_code, 0) << ran.output;
  EXPECT_EQ(ran.output.find("warning"), std::string::npos) << ran.output;
  return {ran.output, opcodes(read_file(folder.path() / "kernel.cubin", std::size_t{1} << 26))};
}

// How many products -------------------------------------------------------------------------------------------------

/// A type of products, and what they compile to.
struct ProductType {
  const char *type, *sum;
  unsigned opcode;      ///< of a product of a warp
  int each;             ///< so many of them for each
  unsigned wide;        ///< of a product of a warpgroup; 0: there are none
  const char* only_on;  ///< the only machine that has the type; null: all
};
/// As single products compile. Machines with e4m3 and e5m2 have products of warps that convert, and multiply halves.
inline const std::vector<ProductType> product_types = {
    {"bf16", "f32", 0x23c, 1, 0x9f0, nullptr},
    {"f16", "f32", 0x23c, 1, 0x9f0, nullptr},
    {"tf32", "f32", 0x23c, 1, 0x9f0, nullptr},
    {"s8", "s32", 0x237, 1, 0x9f1, nullptr},
    {"f64", "f64", 0x23f, 1, 0, nullptr},
    {"e4m3", "f32", 0x23c, 2, 0x9f3, "nvidia_sm90a"},
    {"e5m2", "f32", 0x23c, 2, 0x9f3, "nvidia_sm90a"},
};

/// The kernels of a printed file, behind all functions.
inline std::string kernels_of(const std::string& text) { return text.substr(text.find("extern \"C\" __global__")); }

/// How often kernels call each product, as printed.
inline std::map<std::string, int> products_printed(const std::string& text) {
  std::map<std::string, int> found;
  const std::string kernels = kernels_of(text);
  const std::regex call(R"(\b((?:wg)?mma_\w+)\()");
  for (std::sregex_iterator c(kernels.begin(), kernels.end(), call), end; c != end; ++c) ++found[(*c)[1]];
  return found;
}

/// Every loop of the kernels stays one: what stands there once is compiled once.
inline std::string with_loops_kept(const std::string& text) {
  const std::string kernels = kernels_of(text);
  return text.substr(0, text.size() - kernels.size()) +
         std::regex_replace(kernels, std::regex(R"(\n( *for \(loop_number ))"), "\n#pragma unroll 1\n$1");
}

/// The code has exactly the products that the text calls, where loops are kept; and a multiple of them as it was
/// printed, where the compiler unrolls loops as it likes.
inline void expect_products_of(const std::string& text, const ProductType& type, const HardwareModel& model,
                               const Compiled& as_printed) {
  int narrow = 0, wide = 0;
  for (const auto& [name, count] : products_printed(text)) (name.starts_with("wgmma") ? wide : narrow) += count;
  EXPECT_GT(narrow + wide, 0) << "no product was printed";
  const Compiled kept = compile_for_device(with_loops_kept(text), model);
  EXPECT_EQ(kept.count(type.opcode), narrow * type.each);
  EXPECT_EQ(type.wide == 0 ? 0 : kept.count(type.wide), wide);
  for (const auto& [opcode, once] : {std::pair(type.opcode, narrow * type.each), {type.wide, wide}}) {
    if (opcode == 0) continue;
    const int all = as_printed.count(opcode);
    EXPECT_TRUE(once == 0 ? all == 0 : all > 0 && all % once == 0) << all << " where " << once << " are printed";
  }
}

/// A schedule that docs/gpu.md shows.
inline std::string schedule_of_page(const std::string& name) {
  std::ifstream file(std::string(ISAMAP_SOURCE_DIR) + "/docs/gpu.md");
  const std::string page(std::istreambuf_iterator<char>(file), {});
  const std::size_t from = page.find("```yaml\nschedule: " + name), begin = from + 8;
  EXPECT_NE(from, std::string::npos) << name;
  return from == std::string::npos ? "" : page.substr(begin, page.find("```", begin) - begin);
}

}  // namespace isamap

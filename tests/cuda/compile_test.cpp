// The target's own compiler, where it is installed: printed kernels compile without spills, stack or warnings about
// performance, and hold as many tensor instructions as were printed.

#include <cstring>
#include <map>

#include "tests/cuda/support.h"
#include "tests/searched.h"

namespace isamap {
namespace {

std::string compiler() {
  for (const char* place : {"nvcc", "/usr/local/cuda/bin/nvcc"})
    if (command_exists(place)) return place;
  return "";
}

constexpr unsigned load_wide = 0x981 << 4 | 6, store_wide = 0x986 << 4 | 6;  // of device memory, 16 bytes

/// Instructions of all kernels of a cubin by opcode: the low 12 bits of each 16 bytes of a .text section. Those that
/// load from or store to device memory also by opcode and size, bits 73 to 75: 4 is 4 bytes, 5 is 8, 6 is 16.
std::map<unsigned, int> opcodes(const std::string& elf) {
  const auto number = [&](std::size_t at, std::size_t size) {
    std::uint64_t value = 0;
    std::memcpy(&value, elf.data() + at, size);
    return value;
  };
  std::map<unsigned, int> found;
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

std::size_t count_of(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

struct Compiled {
  std::string log;
  std::map<unsigned, int> opcodes;
};

Compiled compile_for_device(const Program& program, const HardwareModel& model) {
  const auto unit = print_cuda(program, model);
  EXPECT_TRUE(unit) << render(unit.diagnostics());
  const TemporaryDirectory folder;
  write_file(folder.path() / "kernel.cu", unit->text.data(), unit->text.size());
  std::vector<std::string> command = {compiler(), "-cubin", "-Xptxas", "-v"};
  const auto flags = model.program.flags.find("nvcc");
  if (flags != model.program.flags.end()) command.insert(command.end(), flags->second.begin(), flags->second.end());
  command.insert(command.end(),
                 {"-o", (folder.path() / "kernel.cubin").string(), (folder.path() / "kernel.cu").string()});
  const auto ran = run_process(command, {120, 0, 0}, folder.path() / "log");
  EXPECT_EQ(ran.exit_code, 0) << ran.output;
  return {ran.output, opcodes(read_file(folder.path() / "kernel.cubin", std::size_t{1} << 26))};
}

TEST(ForDevice, SearchedProductsCompileWithoutSpills) {
  if (compiler().empty()) GTEST_SKIP() << "nvcc is not installed";
  struct Type {
    const char *type, *sum;
    unsigned opcode, wide;  ///< of a warp, of a warpgroup
  };
  constexpr unsigned half = 0x23c, integer = 0x237, real = 0x23f;  // as single instructions compile
  constexpr unsigned wide_half = 0x9f0, wide_integer = 0x9f1;
  for (const char* name : {"nvidia_sm80", "nvidia_sm90a"}) {
    const auto model = machine(name);
    for (const Type& t : {Type{"bf16", "f32", half, wide_half},
                          {"f16", "f32", half, wide_half},
                          {"tf32", "f32", half, wide_half},
                          {"s8", "s32", integer, wide_integer},
                          {"f64", "f64", real, real}}) {
      SCOPED_TRACE(std::string(name) + " " + t.type);
      const Kernel kernel = product(t.type, t.sum, 512, 512, 512, true);
      const Program made = searched(kernel, model, 300);
      const Compiled compiled = compile_for_device(made, model);
      EXPECT_EQ(count_of(compiled.log, "bytes stack frame"), count_of(compiled.log, " 0 bytes stack frame"))
          << compiled.log;
      EXPECT_EQ(count_of(compiled.log, "bytes spill stores"), count_of(compiled.log, " 0 bytes spill stores"))
          << compiled.log;
      EXPECT_EQ(compiled.log.find("C75"), std::string::npos) << compiled.log;
      EXPECT_GT(compiled.opcodes.count(t.opcode) + compiled.opcodes.count(t.wide), 0U) << made.schedule_text;
    }
  }
}

/// Nothing is kept outside of registers.
void expect_no_spills(const Compiled& compiled, const std::string& what) {
  for (const char* kind : {"bytes stack frame", "bytes spill stores"})
    EXPECT_EQ(count_of(compiled.log, kind), count_of(compiled.log, std::string(" 0 ") + kind)) << what << compiled.log;
}

void expect_example_without_spills(const std::string& file, const HardwareModel& model) {
  auto kernel = load_kernel(file);
  ASSERT_TRUE(kernel) << render(kernel.diagnostics());
  const Program made = searched(*kernel, model);
  if (!print_cuda(made, model)) return;  // a type that the machine has no name for: there is nothing to compile
  expect_no_spills(compile_for_device(made, model), file + " for " + model.name + "\n" + made.schedule_text);
}

TEST(ForDevice, AWindowOfBytesCompilesWithoutSpills) {
  if (compiler().empty()) GTEST_SKIP() << "nvcc is not installed";
  expect_example_without_spills(std::string(ISAMAP_SOURCE_DIR) + "/examples/conv2d_s8.yaml", machine("nvidia_sm80"));
}

TEST(ForDeviceHeavy, EveryExampleCompilesWithoutSpills) {
  if (compiler().empty()) GTEST_SKIP() << "nvcc is not installed";
  for (const char* name : {"nvidia_sm80", "nvidia_sm90a"})
    for (const auto& file : std::filesystem::directory_iterator(std::string(ISAMAP_SOURCE_DIR) + "/examples"))
      if (file.path().extension() == ".yaml") expect_example_without_spills(file.path().string(), machine(name));
}

TEST(ForDevice, TheRingHasTheInstructionsThatWerePrinted) {
  if (compiler().empty()) GTEST_SKIP() << "nvcc is not installed";
  const auto model = machine("nvidia_sm80");
  const Program ring = lowered(product("bf16", "f32", 128, 128, 256, true), ring_schedule, model);
  const auto unit = print_cuda(ring, model);
  const Compiled compiled = compile_for_device(ring, model);
  const int printed = static_cast<int>(count_of(unit->text, "mma_bf16(C_reg"));
  EXPECT_EQ(printed, 2 * 4 * 2);                       // 32 x 32 of a warp, two calls deep
  EXPECT_EQ(compiled.opcodes.at(0x23c) % printed, 0);  // a loop may be unrolled
  EXPECT_EQ(compiled.opcodes.count(0x983) + compiled.opcodes.count(0x387), 0U) << "local memory is used";
}

TEST(ForDevice, SumsThatBlocksShareAreAddedWithoutAskingForThem) {
  if (compiler().empty()) GTEST_SKIP() << "nvcc is not installed";
  constexpr unsigned add_one = 0x98e, add_two = 0x9a6;
  for (const auto& [name, opcode] : {std::pair("nvidia_sm80", add_one), {"nvidia_sm90a", add_two}}) {
    SCOPED_TRACE(name);
    const auto model = machine(name);
    const Program made = searched(product("bf16", "f32", 1024, 128, 4096, true), model, 300);
    const Compiled compiled = compile_for_device(made, model);
    EXPECT_EQ(count_of(compiled.log, "bytes spill stores"), count_of(compiled.log, " 0 bytes spill stores"))
        << compiled.log << made.schedule_text;
    EXPECT_GT(compiled.opcodes.count(opcode), 0U) << made.schedule_text;
  }
}

TEST(ForDevice, TwoSetsOfRegistersAreTwo) {
  if (compiler().empty()) GTEST_SKIP() << "nvcc is not installed";
  const auto model = machine("nvidia_sm80");
  const std::string text =
      changed(changed(changed(ring_schedule, "for k by 32", "for k by 64"), "A in reg", "A in reg x2"), "B in reg",
              "B in reg x2");
  const Compiled compiled =
      compile_for_device(lowered(product("bf16", "f32", 128, 128, 256, true), text, model), model);
  EXPECT_EQ(count_of(compiled.log, "bytes spill stores"), count_of(compiled.log, " 0 bytes spill stores"))
      << compiled.log;
}

TEST(ForDevice, ProductsOfWarpgroupsCompileWithoutSpills) {
  if (compiler().empty()) GTEST_SKIP() << "nvcc is not installed";
  const auto model = machine("nvidia_sm90a");
  constexpr unsigned wide_half = 0x9f0, wide_integer = 0x9f1;
  for (const auto& [type, sum, opcode] :
       {std::tuple("bf16", "f32", wide_half), {"f16", "f32", wide_half}, {"s8", "s32", wide_integer}}) {
    SCOPED_TRACE(type);
    const Program made = searched(product(type, sum, 4096, 4096, 4096, true), model);
    const Compiled compiled = compile_for_device(made, model);
    EXPECT_EQ(count_of(compiled.log, "bytes spill stores"), count_of(compiled.log, " 0 bytes spill stores"))
        << compiled.log << made.schedule_text;
    EXPECT_EQ(compiled.log.find("C75"), std::string::npos) << compiled.log;
    EXPECT_GT(compiled.opcodes.count(opcode), 0U) << made.schedule_text;
    EXPECT_EQ(compiled.log.find("used 16 barriers"), std::string::npos)  // all that there are
        << compiled.log << made.schedule_text;
  }
}

TEST(ForDevice, NeighboursAreWideRequests) {
  if (compiler().empty()) GTEST_SKIP() << "nvcc is not installed";
  struct Case {
    const char *compute, *tensors;
    int loads, stores;  ///< of 16 bytes, at least
  };
  const std::vector<Case> cases = {
      {"Y[i] = X[i] * 2 + 1", "{X: {shape: [65536]}, Y: {shape: [65536]}}", 1, 1},
      {"Y[i,j] = bf16(f32(X[i,j]) + f32(Z[i,j]))",
       "{X: {shape: [64, 1000], dtype: bf16}, Z: {shape: [64, 1000], dtype: bf16}, Y: {shape: [64, 1000], dtype: "
       "bf16}}",
       2, 1},
      {"Y[i] = X[i] + X[i]", "{X: {shape: [4096], dtype: s8}, Y: {shape: [4096], dtype: s8}}", 1, 1},
      {"Y[i] = X[i] + 1", "{X: {shape: [4096], dtype: f64}, Y: {shape: [4096], dtype: f64}}", 1, 1},
      {"Y[i] += X[i,j]", "{X: {shape: [4096, 1024]}, Y: {shape: [4096]}}", 4, 0},
      {"Y[i] += f32(X[i,j])", "{X: {shape: [16, 65536], dtype: bf16}, Y: {shape: [16]}}", 4, 0},
  };
  for (const char* name : {"nvidia_sm80", "nvidia_sm90a"}) {
    const auto model = machine(name);
    for (const Case& c : cases) {
      SCOPED_TRACE(std::string(name) + " " + c.compute);
      const Program made = searched(
          kernel_from("kernel: k\ntensors: " + std::string(c.tensors) + "\ncompute:\n  - " + c.compute + "\n"), model);
      const Compiled compiled = compile_for_device(made, model);
      EXPECT_EQ(count_of(compiled.log, "bytes stack frame"), count_of(compiled.log, " 0 bytes stack frame"))
          << compiled.log;
      const auto count = [&](unsigned what) { return compiled.opcodes.contains(what) ? compiled.opcodes.at(what) : 0; };
      EXPECT_GE(count(load_wide), c.loads);
      EXPECT_GE(count(store_wide), c.stores);
    }
  }
}

TEST(ForDevice, ScalarKernelsCompile) {
  if (compiler().empty()) GTEST_SKIP() << "nvcc is not installed";
  const auto model = machine("nvidia_sm80");
  for (const char* example :
       {"softmax", "layer_norm", "depthwise", "gru_cell", "requantise", "conv2d_padded", "max_pool"}) {
    SCOPED_TRACE(example);
    auto kernel = load_kernel(std::string(ISAMAP_SOURCE_DIR) + "/examples/" + example + ".yaml");
    ASSERT_TRUE(kernel) << render(kernel.diagnostics());
    compile_for_device(searched(*kernel, model), model);
  }
}

}  // namespace
}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
// The target's own compiler, where it is installed: printed kernels compile without spills, stack or warnings, and hold
// as many tensor instructions as were printed.

#include "isamap/cost_model.h"
#include "tests/cuda/cubin.h"
#include "tests/cuda/support.h"
#include "tests/searched.h"

namespace isamap {
namespace {

constexpr unsigned load_wide = 0x981 << 4 | 6, store_wide = 0x986 << 4 | 6;  // of device memory, 16 bytes

Compiled compile_for_device(const Program& program, const HardwareModel& model) {
  const auto unit = print_cuda(program, model);
  EXPECT_TRUE(unit) << render(unit.diagnostics());
  return unit ? compile_for_device(unit->text, model) : Compiled{};
}

/// Nothing is kept outside of registers.
void expect_no_spills(const Compiled& compiled, const std::string& what) {
  for (const char* kind : {"bytes stack frame", "bytes spill stores"})
    EXPECT_EQ(count_of(compiled.log, kind), count_of(compiled.log, std::string(" 0 ") + kind)) << what << compiled.log;
}

/// `every`: of the products, another share on the next machine.
void expect_searched_products(std::size_t every) {
  std::size_t next = 0;
  for (const char* name : {"nvidia_sm80", "nvidia_sm90a"}) {
    const auto model = machine(name);
    for (const ProductType& t : product_types) {
      if (t.only_on != nullptr && t.only_on != model.name) continue;
      if (next++ % every != 0) continue;
      SCOPED_TRACE(std::string(name) + " " + t.type);
      const Program made = searched(product(t.type, t.sum, 512, 512, 512, true), model, 300);
      const auto unit = print_cuda(made, model);
      ASSERT_TRUE(unit) << render(unit.diagnostics());
      const Compiled compiled = compile_for_device(unit->text, model);
      expect_no_spills(compiled, made.schedule_text);
      EXPECT_EQ(compiled.log.find("C75"), std::string::npos) << compiled.log;
      expect_products_of(unit->text, t, model, compiled);
    }
  }
}

TEST(ForDevice, SearchedProductsCompileWithoutSpills) {
  if (compiler().empty()) GTEST_SKIP() << "nvcc is not installed";
  expect_searched_products(8);
}

TEST(ForDeviceHeavy, AllSearchedProductsCompileWithoutSpills) {
  if (compiler().empty()) GTEST_SKIP() << "nvcc is not installed";
  expect_searched_products(1);
}

/// The schedules that docs/gpu.md shows: how many products they print, as their comments say.
void schedules_of_the_page_have_the_products_that_were_printed(Every every) {
  if (compiler().empty()) GTEST_SKIP() << "nvcc is not installed";
  const ProductType& bf16 = product_types[0];
  struct Case {
    const char *schedule, *machine;
    Kernel kernel;
    int products;
  };
  const Kernel window = kernel_from(
      "kernel: window\ntensors:\n  I: {shape: [2, 14, 14, 64], dtype: bf16, outside: 0}\n"
      "  F: {shape: [48, 3, 3, 64], dtype: bf16}\n  O: {shape: [2, 14, 14, 48], dtype: f32}\n"
      "compute:\n  - O[n,p,q,k] += f32(I[n,p + r - 1,q + s - 1,c]) * f32(F[k,r,s,c])\n");
  for (const Case& c : {Case{"ring", "nvidia_sm80", product("bf16", "f32", 256, 256, 256, true), 2 * 4 * 8},
                        {"wide", "nvidia_sm90a", product("bf16", "f32", 512, 256, 512, true), 4},
                        {"persistent", "nvidia_sm90a", product("bf16", "f32", 4096, 256, 512, true), 4},
                        {"shared_sum", "nvidia_sm80", product("bf16", "f32", 128, 128, 4096, true), 2 * 2 * 4},
                        {"window", "nvidia_sm80", window, 2 * 3}}) {
    if (every.skips()) continue;
    SCOPED_TRACE(c.schedule);
    const auto model = machine(c.machine);
    const auto parsed = parse_schedule(schedule_of_page(c.schedule), "schedule.yaml", c.kernel, model);
    ASSERT_TRUE(parsed) << render(parsed.diagnostics());
    const auto program = lower(*parsed, c.kernel, model);
    ASSERT_TRUE(program) << render(program.diagnostics());
    const auto unit = print_cuda(*program, model);
    ASSERT_TRUE(unit) << render(unit.diagnostics());
    int printed = 0;
    for (const auto& [name, count] : products_printed(unit->text)) printed += count;
    EXPECT_EQ(printed, c.products);
    const Compiled compiled = compile_for_device(unit->text, model);
    expect_no_spills(compiled, c.schedule);
    expect_products_of(unit->text, bf16, model, compiled);
  }
}

TEST(ForDevice, SchedulesOfThePageHaveTheProductsThatWerePrinted) {
  schedules_of_the_page_have_the_products_that_were_printed(Every(4));
}
TEST(HeavyForDevice, SchedulesOfThePageHaveTheProductsThatWerePrinted) {
  schedules_of_the_page_have_the_products_that_were_printed(Every(1));
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
  EXPECT_EQ(products_printed(unit->text).at("mma_bf16"), 2 * 4 * 2);  // 32 x 32 of a warp, two calls deep
  const Compiled compiled = compile_for_device(unit->text, model);
  expect_products_of(unit->text, product_types[0], model, compiled);
  EXPECT_EQ(compiled.count(0x983) + compiled.count(0x387), 0) << "local memory is used";
}

void sums_that_blocks_share(Every every) {
  if (compiler().empty()) GTEST_SKIP() << "nvcc is not installed";
  constexpr unsigned add_one = 0x98e, add_two = 0x9a6;
  for (const auto& [name, opcode] : {std::pair("nvidia_sm80", add_one), {"nvidia_sm90a", add_two}}) {
    if (every.skips()) continue;
    SCOPED_TRACE(name);
    const auto model = machine(name);
    const Program made = searched(product("bf16", "f32", 1024, 128, 4096, true), model, 300);
    const Compiled compiled = compile_for_device(made, model);
    EXPECT_EQ(count_of(compiled.log, "bytes spill stores"), count_of(compiled.log, " 0 bytes spill stores"))
        << compiled.log << made.schedule_text;
    EXPECT_GT(compiled.count(opcode), 0) << made.schedule_text;
  }
}

TEST(ForDevice, SumsThatBlocksShareAreAddedWithoutAskingForThem) { sums_that_blocks_share(Every(2)); }
TEST(HeavyForDevice, SumsThatBlocksShareAreAddedWithoutAskingForThem) { sums_that_blocks_share(Every(1)); }

TEST(ForDevice, HeavyTwoSetsOfRegistersAreTwo) {
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

void products_of_warpgroups_compile_without_spills(Every every) {
  if (compiler().empty()) GTEST_SKIP() << "nvcc is not installed";
  const auto model = machine("nvidia_sm90a");
  for (const ProductType& t : product_types) {
    if (t.wide == 0) continue;
    if (every.skips()) continue;
    SCOPED_TRACE(t.type);
    const Program made = searched(product(t.type, t.sum, 4096, 4096, 4096, true), model);
    const auto unit = print_cuda(made, model);
    ASSERT_TRUE(unit) << render(unit.diagnostics());
    const Compiled compiled = compile_for_device(unit->text, model);
    expect_no_spills(compiled, made.schedule_text);
    EXPECT_EQ(compiled.log.find("C75"), std::string::npos) << compiled.log;
    EXPECT_GT(compiled.count(t.wide), 0) << made.schedule_text;
    expect_products_of(unit->text, t, model, compiled);
    EXPECT_EQ(compiled.log.find("used 16 barriers"), std::string::npos)  // all that there are
        << compiled.log << made.schedule_text;
  }
}

TEST(ForDevice, ProductsOfWarpgroupsCompileWithoutSpills) { products_of_warpgroups_compile_without_spills(Every(6)); }
TEST(HeavyForDevice, ProductsOfWarpgroupsCompileWithoutSpills) {
  products_of_warpgroups_compile_without_spills(Every(1));
}

/// A block of `i` x `j` sums of which each warpgroup has `part` rows; a role fetches its tiles.
std::string with_loader(int i, int j, int part, const std::string& swizzle, const std::string& instruction) {
  const std::string along = instruction.find("_ij_") != std::string::npos ? "k, " : "";
  const auto stage = [&](const std::string& tensor, const std::string& rows) {
    const std::string layout = along.empty() ? "k/64, " + rows + ", k%64" : rows + "/16, k, " + rows + "%16";
    return "  - stage " + tensor + " in shared x3 as [" + layout + "] xor " + swizzle + " role loader\n";
  };
  return "schedule: product\nnest:\n  - for i by " + std::to_string(i) + ", j by " + std::to_string(j) +
         " on block wrap tail pad\n  - stage C in reg\n  - for k by " + (along.empty() ? "64" : "32") + " tail pad\n" +
         stage("A", "i") + stage("B", "j") + "  - for i by " + std::to_string(part) +
         " on warpgroup\n  - for k by 16 unroll\n  - for i by 64 unroll\n  - do s0 with " + instruction +
         "(i=i, j=j, k=k)\n";
}

/// The role gives up all but the least that the file allows: what 192 sums a thread need, and it needs no more itself,
/// however many boxes it asks for.
void registers_of_a_role(Every compiled) {
  const auto model = machine("nvidia_sm90a");
  const std::string rows = "3 from 7 to 4 via tma_load_b16_sw128", columns = "1 from 7 to 4 via tma_load_b16_sw32";
  const Kernel square = product("bf16", "f32", 4096, 4096, 4096, true);
  const Kernel turned = kernel_from(
      "kernel: product\ntensors:\n  A: {shape: [2048, 4096], dtype: bf16}\n  B: {shape: [2048, 4096], dtype: bf16}\n"
      "  C: {shape: [4096, 4096], dtype: f32}\ncompute:\n  - C[i,j] += f32(A[k,i]) * f32(B[k,j])\n");
  struct Case {
    const Kernel& kernel;
    std::string schedule;
    int others;
  };
  for (const Case& c : {Case{square, with_loader(384, 128, 192, rows, "wgmma_bf16_kk_sw128"), 240},
                        {square, with_loader(256, 192, 128, rows, "wgmma_bf16_kk_sw128"), 240},
                        {square, with_loader(384, 112, 128, rows, "wgmma_bf16_kk_sw128"), 160},
                        {turned, with_loader(512, 32, 256, columns, "wgmma_bf16_ij_sw32"), 240}}) {
    SCOPED_TRACE(c.schedule);
    const auto parsed = parse_schedule(c.schedule, "schedule.yaml", c.kernel, model);
    ASSERT_TRUE(parsed) << render(parsed.diagnostics());
    const auto program = lower(*parsed, c.kernel, model);
    ASSERT_TRUE(program) << render(program.diagnostics());
    const auto unit = print_cuda(*program, model);
    ASSERT_TRUE(unit) << render(unit.diagnostics());
    EXPECT_NE(unit->text.find("set_registers_dec_24();"), std::string::npos);
    EXPECT_NE(unit->text.find("set_registers_inc_" + std::to_string(c.others) + "();"), std::string::npos);
    if (!compiled.skips() && !compiler().empty()) expect_no_spills(compile_for_device(unit->text, model), c.schedule);
  }
}

TEST(ForDevice, RegistersOfARoleAreSharedOutAsTheyAreNeeded) { registers_of_a_role(Every(4)); }
TEST(HeavyForDevice, RegistersOfARoleAreSharedOutAsTheyAreNeeded) { registers_of_a_role(Every(1)); }

/// What the compiler refuses (C7602) costs refuse: 96 registers are there before the role gives up its own.
TEST(ForDevice, ACallWithMoreOperandsThanThereAreRegistersAtTheStartIsRefused) {
  const auto model = machine("nvidia_sm90a");
  const Kernel kernel = product("bf16", "f32", 4096, 4096, 4096, true);
  const auto said = [&](int j) {
    const std::string text =
        changed(with_loader(256, j, 64, "3 from 7 to 4 via tma_load_b16_sw128", "wgmma_bf16_kk_sw128"),
                "  - for i by 64 unroll\n", "");
    const auto parsed = parse_schedule(text, "schedule.yaml", kernel, model);
    EXPECT_TRUE(parsed) << render(parsed.diagnostics());
    if (!parsed) return std::string();
    const auto cost =
        make_cost_model_closed_form()->estimate({&kernel, make_id<StatementId>(0), &model, parsed->nests[0]});
    return cost ? std::string() : cost.diagnostics().front().message;
  };
  EXPECT_EQ(said(136), "");
  EXPECT_EQ(said(144),
            "memory reg: 72 registers needed by one call of wgmma_bf16_kk_sw128, 70 available before those "
            "of a role are shared out");
}

void neighbours_are_wide_requests(Every every) {
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
      if (every.skips()) continue;
      SCOPED_TRACE(std::string(name) + " " + c.compute);
      const Program made = searched(
          kernel_from("kernel: k\ntensors: " + std::string(c.tensors) + "\ncompute:\n  - " + c.compute + "\n"), model);
      const Compiled compiled = compile_for_device(made, model);
      EXPECT_EQ(count_of(compiled.log, "bytes stack frame"), count_of(compiled.log, " 0 bytes stack frame"))
          << compiled.log;
      EXPECT_GE(compiled.count(load_wide), c.loads);
      EXPECT_GE(compiled.count(store_wide), c.stores);
    }
  }
}

TEST(ForDevice, NeighboursAreWideRequests) { neighbours_are_wide_requests(Every(5)); }
TEST(HeavyForDevice, NeighboursAreWideRequests) { neighbours_are_wide_requests(Every(1)); }

/// As whoever is handed a printed file compiles it first.
void files_compile_without_options_and_warnings(Every every) {
  if (compiler().empty()) GTEST_SKIP() << "nvcc is not installed";
  for (const char* name : {"nvidia_sm80", "nvidia_sm90a"}) {
    auto model = machine(name);
    std::erase_if(model.program.flags.at("nvcc"), [](const std::string& flag) { return !flag.starts_with("-arch="); });
    ASSERT_EQ(model.program.flags.at("nvcc").size(), 1U);
    for (const char* example : {"gemm_bf16", "requantise", "softmax", "linear_s8"}) {
      if (every.skips()) continue;
      SCOPED_TRACE(std::string(name) + " " + example);
      auto kernel = load_kernel(std::string(ISAMAP_SOURCE_DIR) + "/examples/" + example + ".yaml");
      ASSERT_TRUE(kernel) << render(kernel.diagnostics());
      compile_for_device(searched(*kernel, model), model);  // which takes a warning for a failure
    }
  }
}

TEST(ForDevice, FilesCompileWithoutOptionsAndWarnings) { files_compile_without_options_and_warnings(Every(5)); }
TEST(HeavyForDevice, FilesCompileWithoutOptionsAndWarnings) { files_compile_without_options_and_warnings(Every(1)); }

void scalar_kernels_compile(Every every) {
  if (compiler().empty()) GTEST_SKIP() << "nvcc is not installed";
  const auto model = machine("nvidia_sm80");
  for (const char* example :
       {"softmax", "layer_norm", "depthwise", "gru_cell", "requantise", "conv2d_padded", "max_pool"}) {
    if (every.skips()) continue;
    SCOPED_TRACE(example);
    auto kernel = load_kernel(std::string(ISAMAP_SOURCE_DIR) + "/examples/" + example + ".yaml");
    ASSERT_TRUE(kernel) << render(kernel.diagnostics());
    compile_for_device(searched(*kernel, model), model);
  }
}

TEST(ForDevice, ScalarKernelsCompile) { scalar_kernels_compile(Every(4)); }
TEST(HeavyForDevice, ScalarKernelsCompile) { scalar_kernels_compile(Every(1)); }

}  // namespace
}  // namespace isamap

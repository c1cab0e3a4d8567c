// SPDX-License-Identifier: Apache-2.0
// What goes through a GPU's driver, with a driver that runs kernels by emulation (driver/emulated_gpu.cpp), and what
// the real runtime compiler, where it is installed, makes of printed files.

#include <nlohmann/json.hpp>
#include <regex>

#include "backends/cuda/device/module.h"
#include "backends/cuda/device_run.h"
#include "isamap/backend.h"
#include "isamap/mapper.h"
#include "isamap/scheduler.h"
#include "tests/cuda/support.h"
#include "tests/searched.h"

namespace isamap {
namespace {

/// An environment in which there is a GPU, as far as programs can tell. What is emulated shares its object and its
/// precompiled headers with other tests.
class WithGpu : public ::testing::Test {
 protected:
  TemporaryDirectory cache;
  std::string example = std::string(ISAMAP_SOURCE_DIR) + "/examples/gemm_bf16.yaml";

  struct Ran {
    int code = -1;
    std::string text, said;
  };
  /// What is kept between runs is known by its text, so that only what has changed is compiled again.
  static std::string kept(const char* name) { return std::string(ISAMAP_BINARY_DIR "/emulated_gpu/") + name; }
  Ran isamap(const std::string& faults, std::vector<std::string> words, bool driver = true) {
    const auto place = [&](const char* name) { return (cache.path() / name).string(); };
    std::vector<std::string> command = {
        "env", "ISAMAP_EMULATED_GPU=" + faults, "ISAMAP_EMULATED_GPU_CACHE=" + kept("libraries"),
        std::string("ISAMAP_CUDA_DRIVER=") + (driver ? ISAMAP_EMULATED_GPU_LIBRARY : place("nothing.so")),
        std::string("ISAMAP_NVRTC=") + ISAMAP_EMULATED_GPU_LIBRARY};
    if (faults == "compile-fails")
      command.push_back("ISAMAP_CACHE=" + place("cache"));  // what is cached is not compiled
    command.emplace_back(ISAMAP_PROGRAM);
    words.insert(words.end(), {"-o", place("text")});
    command.insert(command.end(), words.begin(), words.end());
    std::filesystem::remove(place("text"));
    const auto ran = run_process(command, {600, 0, 0}, cache.path() / "log");
    return {ran.exit_code, read_file(place("text"), 1 << 20), ran.output};
  }
  Ran run(const std::string& faults) {
    return isamap(faults, {"run", example, "--target", "nvidia_sm80", "--json", "--budget", "evals=60"});
  }
  static std::string executed(const Ran& ran) {
    return nlohmann::json::parse(ran.text, nullptr, false).value("executed", "");
  }
  void expect_emulated(const Ran& ran, const std::string& because) {
    EXPECT_EQ(ran.code, 0) << ran.said;
    EXPECT_EQ(executed(ran), "emulated") << ran.text;
    EXPECT_NE(ran.said.find("emulated: " + because), std::string::npos) << ran.said;
  }
  void expect_failure(const Ran& ran, int code, const std::string& words) {
    EXPECT_EQ(ran.code, code) << ran.said;
    EXPECT_NE(ran.said.find(words), std::string::npos) << ran.said;
  }
};

TEST_F(WithGpu, ARunIsNative) {
  const Ran ran = run("");
  EXPECT_EQ(ran.code, 0) << ran.said;
  EXPECT_EQ(executed(ran), "native") << ran.text;
  EXPECT_TRUE(nlohmann::json::parse(ran.text)["correct"]) << ran.text;
  EXPECT_GT(nlohmann::json::parse(ran.text)["seconds"], 0.0);
}

TEST_F(WithGpu, TensorsAreDescribedThroughTheDriver) {
  const auto write = [&](const char* name, const std::string& text) {
    write_file(cache.path() / name, text.data(), text.size());
    return (cache.path() / name).string();
  };
  const std::string kernel =
      write("k.yaml",
            "kernel: product\ndims: {M: 150, N: 40, K: 136}\ntensors:\n  A: {shape: [M, K], dtype: "
            "bf16}\n  B: {shape: [N, K], dtype: bf16}\n  C: {shape: [M, N], dtype: f32}\n"
            "compute:\n  - C[i,j] += A[i,k] * B[j,k]\n");
  const std::string plan = write(
      "s.yaml",
      "schedule: product\nnest:\n  - for i by 128, j by 32 on block wrap tail pad\n  - stage C in reg\n"
      "  - for k by 64 tail pad\n"
      "  - stage A in shared x3 as [k/64, i, k%64] xor 3 from 7 to 4 via tma_load_b16_sw128 role loader\n"
      "  - stage B in shared x3 as [k/64, j, k%64] xor 3 from 7 to 4 via tma_load_b16_sw128 role loader\n"
      "  - for i by 64 on warpgroup\n  - for k by 16 unroll\n  - do s0 with wgmma_bf16_kk_sw128(i=i, j=j, k=k)\n");
  const Ran ran = isamap("arch=90", {"run", kernel, "--target", "nvidia_sm90a", "--schedule", plan, "--json"});
  EXPECT_EQ(ran.code, 0) << ran.said;
  EXPECT_NE(ran.text.find("native"), std::string::npos) << ran.text;
}

TEST_F(WithGpu, WithoutOneThatFitsKernelsAreEmulatedAndWhyIsSaid) {
  expect_emulated(run("no-device"), "the driver is there, and no GPU");
  expect_emulated(run("init-fails"), "the driver finds no GPU: CUDA_ERROR_UNKNOWN");
  expect_emulated(run("arch=90"), "the GPU here, emulated GPU, has architecture sm_90; 'nvidia_sm80' is for sm_80");
  const Ran newer =
      isamap("arch=80", {"run", example, "--target", "nvidia_sm90a", "--json"});  // which requires sm_80, too
  expect_emulated(newer, "the GPU here, emulated GPU, has architecture sm_80; 'nvidia_sm90a' is for sm_90a");
  expect_emulated(isamap("", {"run", example, "--target", "nvidia_sm80", "--json"}, false),
                  "there is no " + (cache.path() / "nothing.so").string());
}

TEST_F(WithGpu, FaultsAreToldInWords) {
  expect_failure(run("compile-fails"), 5, "identifier \"nonsense\" is undefined");
  expect_failure(run("load-fails"), 5, "the driver does not load the kernels: CUDA_ERROR_NO_BINARY_FOR_GPU");
  const Ran launched = run("launch-fails");
  for (const char* words : {"kernel gemm_bf16_1 was not launched (", " blocks of ",
                            " bytes of shared memory): "
                            "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"})
    expect_failure(launched, 5, words);
  expect_failure(run("kernel-fails"), 5, "the program failed: CUDA_ERROR_ILLEGAL_ADDRESS");
  expect_failure(run("memory=4000"), 77,
                 "5692 bytes on the GPU, of which 4000 of 4000 are free: CUDA_ERROR_OUT_OF_MEMORY");
}

TEST_F(WithGpu, TuningMeasuresThereAndNowhereElse) {
  const std::vector<std::string> tune = {"tune",     example,      "--target", "nvidia_sm80", "--budget",
                                         "evals=20", "--measured", "1",        "--json"};
  const Ran there = isamap("", tune);
  EXPECT_EQ(there.code, 0) << there.said;
  EXPECT_EQ(executed(there), "native") << there.text;
  const Ran elsewhere = isamap("no-device", tune);
  expect_failure(elsewhere, 77, "nothing can be measured: kernels of 'nvidia_sm80' are emulated here");
}

TEST(Architecture, IsThatOfTheFileWithoutItsLetter) {
  EXPECT_TRUE(device::is_arch("sm_80", "sm_80"));
  EXPECT_TRUE(device::is_arch("sm_90", "sm_90a"));
  EXPECT_TRUE(device::is_arch("sm_120", "sm_120f"));
  EXPECT_FALSE(device::is_arch("sm_86", "sm_80"));
  EXPECT_FALSE(device::is_arch("sm_90", ""));
}

// Calls through a wrong declaration do anything at all: number, size and kind of parameters are those of cuda.h.
TEST(Driver, IsDeclaredAsInTheToolkit) {
  const TemporaryDirectory folder;
  const std::string header = std::string(ISAMAP_SOURCE_DIR) + "/backends/cuda/device/api.h";
  const std::string text = read_file(header, 1 << 20);
  std::string source = "#include <cuda.h>\n#include <nvrtc.h>\n#include <type_traits>\n#include \"" + header + R"("
template <class X, class Y> constexpr bool alike = sizeof(X) == sizeof(Y) && std::is_pointer_v<X> == std::is_pointer_v<Y>;
template <class R, class... A, class... B> constexpr bool same(R (*)(A...), device::Code (*)(B...)) {
  if constexpr (sizeof...(A) != sizeof...(B)) return false; else return (alike<A, B> && ...);
}
static_assert(device::attribute_clock == CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
static_assert(device::attribute_processors == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
static_assert(device::attribute_memory_clock == CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
static_assert(device::attribute_l2 == CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
static_assert(device::attribute_major == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
static_assert(device::attribute_minor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
static_assert(device::attribute_shared_optin == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
static_assert(device::function_max_shared == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
static_assert(device::capture_thread_local == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
static_assert(device::out_of_memory == CUDA_ERROR_OUT_OF_MEMORY);
// What device/launch.h says of tensor maps, beside which cuda.h cannot be included.
static_assert(sizeof(CUtensorMap) == 128 && alignof(CUtensorMap) <= 128);
static_assert(CU_TENSOR_MAP_DATA_TYPE_UINT8 == 0 && CU_TENSOR_MAP_DATA_TYPE_UINT16 == 1 && CU_TENSOR_MAP_DATA_TYPE_UINT32 == 2);
static_assert(CU_TENSOR_MAP_SWIZZLE_32B == 1 && CU_TENSOR_MAP_SWIZZLE_64B == 2 && CU_TENSOR_MAP_SWIZZLE_128B == 3);
static_assert(CU_TENSOR_MAP_INTERLEAVE_NONE == 0 && CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE == 0 && CU_TENSOR_MAP_L2_PROMOTION_L2_128B == 2);
static_assert(CUDA_ERROR_INVALID_VALUE == 1);
)";
  const std::size_t compiler = text.find("define ISAMAP_COMPILER_FUNCTIONS");
  const std::regex declared("F\\((\\w+), \"(\\w+)\"");
  int count = 0;
  for (std::sregex_iterator it(text.begin(), text.end(), declared), end; it != end; ++it, ++count)
    source += "static_assert(same(&" + (*it)[2].str() +
              ", decltype(device::" + (static_cast<std::size_t>(it->position()) < compiler ? "driver." : "compiler.") +
              (*it)[1].str() + "){}));\n";
  EXPECT_GT(count, 40);
  const auto file = folder.path() / "declared.cpp";
  write_file(file, source.data(), source.size());
  const std::vector<std::string> command{
      "c++",        "-std=c++20", "-fsyntax-only", "-I/usr/local/cuda/include", std::string("-I") + ISAMAP_SOURCE_DIR,
      file.string()};
  const auto ran = run_process(command, {600, 0, 0}, folder.path() / "log");
  if (ran.output.find("cuda.h: No such file") != std::string::npos) GTEST_SKIP() << "the CUDA toolkit is not installed";
  EXPECT_EQ(ran.exit_code, 0) << ran.output;
}

void expect_code(const Program& made, const HardwareModel& model) {
  const auto unit = print_cuda(made, model);
  ASSERT_TRUE(unit);
  EXPECT_EXIT(
      {
        const std::string code = device::compile(unit->text, model.program.flags.at("nvrtc"));
        std::fprintf(stderr, "%s", code.substr(1, 3).c_str());  // of 7f 'E' 'L' 'F'
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "ELF");
}

/// With the real one, where it is installed: the standard headers that it lacks are ours.
void takes_every_printed_file(Every every) {
  if (const std::string why = device::open_compiler(); !why.empty()) GTEST_SKIP() << why;
  for (const char* name : {"nvidia_sm80", "nvidia_sm90a"})
    for (const char* example :
         {"gemm_bf16", "gemm_f16", "gemm_s8", "softmax", "layer_norm", "gru_cell", "requantise"}) {
      if (every.skips()) continue;
      SCOPED_TRACE(std::string(name) + " " + example);
      const auto model = machine(name);
      auto kernel = load_kernel(std::string(ISAMAP_SOURCE_DIR) + "/examples/" + example + ".yaml");
      ASSERT_TRUE(kernel) << render(kernel.diagnostics());
      auto mapped = enumerate_mappings(*kernel, model, {});
      ScheduleOptions options;
      options.max_evaluations = 30;
      auto scheduled = schedule(*kernel, *mapped, model, options);
      ASSERT_TRUE(scheduled) << render(scheduled.diagnostics());
      expect_code(*lower(scheduled->schedule, *kernel, model), model);
    }
}

TEST(RuntimeCompiler, TakesEveryPrintedFile) { takes_every_printed_file(Every(9)); }
TEST(HeavyRuntimeCompiler, TakesEveryPrintedFile) { takes_every_printed_file(Every(1)); }

TEST(RuntimeCompiler, TakesTensorsThatTheHostDescribes) {
  if (const std::string why = device::open_compiler(); !why.empty()) GTEST_SKIP() << why;
  const auto model = machine("nvidia_sm90a");
  const Program made = searched(product("bf16", "f32", 2048, 2048, 2048, true), model, 300);
  EXPECT_NE(made.schedule_text.find("tma_load"), std::string::npos) << made.schedule_text;
  expect_code(made, model);
}

TEST_F(WithGpu, NothingIsMeasuredWithoutAGpu) {
  for (const char* verb : {"schedule", "evaluate"}) {
    std::string schedule_file;
    std::vector<std::string> words{verb, example, "--target", "nvidia_sm80", "--cost", "measured"};
    if (verb == std::string("evaluate")) {
      ASSERT_EQ(isamap("no-device", {"schedule", example, "--target", "nvidia_sm80", "--budget", "evals=20"}).code, 0);
      schedule_file = (cache.path() / "schedule.yaml").string();
      std::filesystem::rename(cache.path() / "text", schedule_file);
      words.insert(words.end(), {"--schedule", schedule_file});
    }
    const Ran ran = isamap("no-device", words);
    EXPECT_EQ(ran.code, 77) << verb << ran.said;
    EXPECT_NE(ran.said.find("nothing can be measured: "), std::string::npos) << ran.said;
  }
}

}  // namespace
}  // namespace isamap

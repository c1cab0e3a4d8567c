// SPDX-License-Identifier: Apache-2.0
// Instances of a unit in threads: programs for several cores, run natively against the kernel's interpreter.

#include <algorithm>

#include "backends/common/process.h"
#include "backends/cpp/compile.h"
#include "backends/cpp/driver.h"
#include "isamap/backend.h"
#include "isamap/frontends.h"
#include "isamap/mapper.h"
#include "isamap/program_on_machine.h"
#include "isamap/scheduler.h"
#include "tests/backends/support.h"
#include "tests/every.h"

namespace isamap {
namespace {

/// The fastest of these that this processor has, with as many cores.
HardwareModel with_cores(int cores) {
  const std::string folder = std::string(ISAMAP_SOURCE_DIR) + "/hardware_models";
  LoadOptions options;
  options.params = {{"cores", std::to_string(cores)}};
  for (const char* name : {"x86_avx512", "x86_avx2"}) {
    auto loaded = load_hardware(folder + "/" + name + ".yaml", {folder}, options);
    EXPECT_TRUE(loaded) << render(loaded.diagnostics());
    if (availability(loaded->model).how == ExecutionMode::native) return loaded->model;
  }
  return {};
}

Kernel kernel_of(const std::string& text) {
  auto kernel = parse_kernel_yaml(text, "kernel.yaml");
  EXPECT_TRUE(kernel) << render(kernel.diagnostics());
  return *kernel;
}

/// Many calls, since threads that share what they should not may be lucky.
void expect_right(const Kernel& kernel, const Schedule& schedule, const HardwareModel& model) {
  const auto program = lower(schedule, kernel, model);
  ASSERT_TRUE(program) << render(program.diagnostics());
  auto expected = random_data(kernel, Fill::integers, 5);
  auto data = expected;
  interpret(kernel, expected);
  auto interpreted = data;
  ASSERT_TRUE(interpret(*program, model, interpreted));
  auto loaded = load_program(*program, model);
  ASSERT_TRUE(loaded) << render(loaded.diagnostics());
  std::vector<TensorView> views;
  for (const TensorId t : arguments(kernel))
    views.push_back({data[t.index()].bytes.data(), data[t.index()].dtype, data[t.index()].shape, {}});
  for (int times = 0; times < 20; ++times) {
    for (const TensorId t : arguments(kernel))
      if (role_of(kernel, t) == Role::output)
        std::fill(data[t.index()].bytes.begin(), data[t.index()].bytes.end(), std::uint8_t{0xff});
    ASSERT_FALSE(loaded->call(views));
    for (const TensorId t : arguments(kernel)) {
      if (role_of(kernel, t) != Role::output) continue;
      ASSERT_EQ(data[t.index()], expected[t.index()]) << kernel.name << " call " << times;
      ASSERT_EQ(interpreted[t.index()], expected[t.index()]);
    }
  }
}

const std::vector<std::string> kernels = {
    "kernel: product\ndims: {M: 91, N: 200, K: 81}\ntensors:\n  A: {shape: [M, K], dtype: f32}\n"
    "  B: {shape: [K, N], dtype: f32}\n  C: {shape: [M, N], dtype: f32}\ncompute:\n  - C[i,j] += A[i,k] * B[k,j]\n",
    "kernel: one\ndims: {M: 1, N: 1, K: 1}\ntensors:\n  A: {shape: [M, K], dtype: f32}\n"
    "  B: {shape: [K, N], dtype: f32}\n  C: {shape: [M, N], dtype: f32}\ncompute:\n  - C[i,j] += A[i,k] * B[k,j]\n",
    "kernel: empty\ndims: {M: 7, N: 20, K: 0}\ntensors:\n  A: {shape: [M, K], dtype: f32}\n"
    "  B: {shape: [K, N], dtype: f32}\n  C: {shape: [M, N], dtype: f32}\ncompute:\n  - C[i,j] += A[i,k] * B[k,j]\n",
    "kernel: linear\ndims: {M: 61, N: 75, K: 19}\ntensors:\n  X: {shape: [M, K], dtype: f32}\n"
    "  W: {shape: [K, N], dtype: f32}\n  T: {shape: [M, N], dtype: f32}\n  Y: {shape: [M, N], dtype: f32}\ncompute:\n"
    "  - T[i,j] += X[i,k] * W[k,j]\n  - Y[a,b] = max(T[a,b], 0)\n",
    "kernel: window\ndims: {H: 17, C: 40, R: 3}\ntensors:\n  I: {shape: [H, H, C], dtype: f32, outside: 0}\n"
    "  F: {shape: [R, R, C], dtype: f32}\n  O: {shape: [H, H, C], dtype: f32}\ncompute:\n"
    "  - O[p,q,c] += I[p+r-1,q+s-1,c] * F[r,s,c]\nwhere: {p: H, q: H, r: R, s: R}\n"};

void the_search_distributes_and_results_are_right(Every every) {
  if (with_cores(1).name.empty()) GTEST_SKIP() << "no model with threads runs on this processor";
  for (const std::string& text : kernels)
    for (const int cores : {2, 3, 7}) {
      if (every.skips()) continue;
      const HardwareModel model = with_cores(cores);
      const Kernel kernel = kernel_of(text);
      ScheduleOptions options;
      options.objective = Objective::cycles;
      options.max_evaluations = 200;
      const auto scheduled = schedule(kernel, *enumerate_mappings(kernel, model, MapOptions{}), model, options);
      ASSERT_TRUE(scheduled) << render(scheduled.diagnostics());
      if (kernel.name == "product") {
        EXPECT_NE(print(scheduled->schedule).find(" on core"), std::string::npos) << print(scheduled->schedule);
      }
      expect_right(kernel, scheduled->schedule, model);
    }
}

TEST(Threads, TheSearchDistributesAndResultsAreRight) { the_search_distributes_and_results_are_right(Every(7)); }
TEST(HeavyThreads, TheSearchDistributesAndResultsAreRight) { the_search_distributes_and_results_are_right(Every(1)); }

/// Panels that each thread packs for itself lie apart.
TEST(Threads, SharedMemoryHoldsATileForEachInstance) {
  const HardwareModel model = with_cores(5);
  if (model.name != "x86_avx512") GTEST_SKIP() << "the schedule is for x86_avx512";
  const Kernel kernel = kernel_of(
      "kernel: product\ndims: {M: 100, N: 150, K: 200}\ntensors:\n  A: {shape: [M, K], dtype: f32}\n"
      "  B: {shape: [K, N], dtype: f32}\n  C: {shape: [M, N], dtype: f32}\ncompute:\n  - C[i,j] += A[i,k] * B[k,j]\n");
  const auto schedule = parse_schedule(
      "schedule: s\nkernel: product\ntarget: x86_avx512\nnest:\n  - for j by 32 on core\n"
      "  - stage B in ram as [j/32, k, j%32]\n  - for i by 7\n  - stage C in vec\n  - for k by 1\n"
      "  - stage B in vec\n  - for i by 1 unroll\n  - for j by 16 unroll\n  - do s0 with fma_f32_bcast(j=j)\n",
      "s.yaml", kernel, model);
  ASSERT_TRUE(schedule) << render(schedule.diagnostics());
  expect_right(kernel, *schedule, model);
}

/// What a core must be told before it computes is told to every core, not to the one that starts the threads.
TEST(Threads, EachSetsTheStateOfItsCore) {
  const std::string folder = std::string(ISAMAP_SOURCE_DIR) + "/hardware_models";
  LoadOptions options;
  options.params = {{"cores", "2"}};
  auto loaded = load_hardware(folder + "/intel_amx.yaml", {folder}, options);
  ASSERT_TRUE(loaded) << render(loaded.diagnostics());
  const HardwareModel& model = loaded->model;
  const Kernel kernel = kernel_of(
      "kernel: two\ndims: {M: 96, N: 64, K: 64}\ntensors:\n  A: {shape: [M, K], dtype: u8}\n"
      "  B: {shape: [K, N], dtype: s8}\n  C: {shape: [M, N], dtype: s32}\n  D: {shape: [M, N], dtype: s32}\ncompute:\n"
      "  - C[i,j] += A[i,k] * B[k,j]\n  - D[i,j] += A[i,k] * B[k,j]\n");
  const std::string packed = "  - - stage B in ram as [k/4, j, k%4]\n",
                    rest =
                        "    - for j by 16\n    - stage C in tile\n    - for k by 64\n    - stage A in tile\n"
                        "    - stage B in tile\n    - do s0 with tdpbusd(i=i, j=j, k=k)\n";
  const auto second = [&] {
    std::string text = rest;
    text.replace(text.find("stage C"), 7, "stage D");
    return text.replace(text.find("s0"), 2, "s1");
  }();
  for (const char* last : {"    - for i by 48 on core\n    - for i by 16\n", "    - for i by 16\n"}) {
    const auto schedule =
        parse_schedule("schedule: s\nkernel: two\ntarget: intel_amx\nnests:\n" + packed +
                           "    - for i by 48 on core\n    - for i by 16\n" + rest + packed + last + second,
                       "s.yaml", kernel, model);
    ASSERT_TRUE(schedule) << render(schedule.diagnostics());
    const auto program = lower(*schedule, kernel, model);
    ASSERT_TRUE(program) << render(program.diagnostics());
    const auto files = emit(*program, model);
    ASSERT_TRUE(files) << render(files.diagnostics());
    const std::string& text = files->front().text;
    const auto configured = text.find("_tile_loadconfig"), threads = text.find("#pragma omp");
    EXPECT_GT(configured, threads) << text;
    EXPECT_NE(text.find("_tile_loadconfig", text.find("_tile_release", configured)), std::string::npos) << text;
    if (const ExecutionMode how = availability(model).how; how == ExecutionMode::native || how == ExecutionMode::shim)
      expect_right(kernel, *schedule, model);
  }
}

TEST(Threads, SumsAreNotDealtOut) {
  const HardwareModel model = with_cores(3);
  if (model.name != "x86_avx512") GTEST_SKIP() << "the schedule is for x86_avx512";
  const Kernel kernel = kernel_of(kernels[0]);
  const auto schedule = parse_schedule(
      "schedule: s\nkernel: product\ntarget: x86_avx512\nnest:\n  - for k by 27 on core\n  - for i by 7\n"
      "  - stage C in vec\n  - for k by 1\n  - stage B in vec\n  - for i by 1 unroll\n  - for j by 16 unroll\n"
      "  - do s0 with fma_f32_bcast(j=j)\n",
      "s.yaml", kernel, model);
  ASSERT_TRUE(schedule) << render(schedule.diagnostics());
  const auto program = lower(*schedule, kernel, model);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.diagnostics()[0].message,
            "for k on core: its instances would write the same elements of C at once");
}

/// A register between two calls that a parallel loop and the loop behind it use: each declares its own.
TEST(Threads, RegistersOfParallelLoopsAreDeclaredAnewBehindThem) {
  const HardwareModel model = with_cores(2);
  if (model.name != "x86_avx512") GTEST_SKIP() << "the schedule is for x86_avx512";
  const Kernel kernel = kernel_of(
      "kernel: two\ndims: {M: 64, N: 48}\ntensors:\n  X: {shape: [M, N], dtype: f32}\n  B: {shape: [N], dtype: f32}\n"
      "  Y: {shape: [M, N], dtype: f32}\n  V: {shape: [M, N], dtype: f32}\ncompute:\n"
      "  - Y[i,j] = max(X[i,j] + B[j], 0)\n  - V[a,b] = max(Y[a,b] + B[b], 0)\n");
  const auto schedule = parse_schedule(
      "schedule: s\nkernel: two\ntarget: x86_avx512\nnests:\n  -\n    - for i by 32 on core\n    - for j by 16\n"
      "    - for i by 1\n    - stage Y in vec\n    - stage X in vec\n    - stage B in vec\n"
      "    - do s0 with add_f32.relu_f32(j=j)\n  -\n    - for b by 16\n    - for a by 1\n    - stage Y in vec\n"
      "    - stage B in vec\n    - stage V in vec\n    - do s1 with add_f32.relu_f32(j=b)\n",
      "s.yaml", kernel, model);
  ASSERT_TRUE(schedule) << render(schedule.diagnostics());
  expect_right(kernel, *schedule, model);
}

/// Copies outside of distributed loops have loops of their own on the threads: panels of B before, C behind.
TEST(Threads, ShareCopies) {
  const HardwareModel model = with_cores(3);
  if (model.name != "x86_avx512") GTEST_SKIP() << "the schedule is for x86_avx512";
  const Kernel kernel = kernel_of(
      "kernel: product\ndims: {M: 100, N: 150, K: 200}\ntensors:\n  A: {shape: [M, K], dtype: f32}\n"
      "  B: {shape: [K, N], dtype: f32}\n  C: {shape: [M, N], dtype: f32}\ncompute:\n  - C[i,j] += A[i,k] * B[k,j]\n");
  const auto schedule = parse_schedule(
      "schedule: s\nkernel: product\ntarget: x86_avx512\nnest:\n  - stage B in ram as [j/32, k, j%32]\n"
      "  - stage C in ram as [j/32, i, j%32]\n  - for j by 32\n  - for i by 7\n  - stage C in vec\n  - for k by 1\n"
      "  - stage B in vec\n  - for i by 1 unroll\n  - for j by 16 unroll\n  - do s0 with fma_f32_bcast(j=j)\n",
      "s.yaml", kernel, model);
  ASSERT_TRUE(schedule) << render(schedule.diagnostics());
  const auto program = lower(*schedule, kernel, model);
  ASSERT_TRUE(program) << render(program.diagnostics());
  const auto on_threads = [&](const Node& node) {
    const auto* loop = std::get_if<Loop>(&node.is);
    return loop != nullptr && loop->unit == "core";
  };
  EXPECT_GE(std::count_if(program->body.begin(), program->body.end(), on_threads), 2) << print(*program, model);
  expect_right(kernel, *schedule, model);
}

/// Statements without an instruction are divided along the dim that the price prefers.
TEST(Threads, ShareScalarCode) {
  const HardwareModel model = with_cores(3);
  if (model.name.empty()) GTEST_SKIP() << "no model with threads runs on this processor";
  const Kernel kernel = kernel_of(
      "kernel: shuffle\ndims: {G: 4, K: 25, L: 300}\ntensors:\n  X: {shape: [G, K, L], dtype: f32}\n"
      "  Y: {shape: [4 * K, L], dtype: f32}\ncompute:\n  - Y[4*k + g,l] = X[g,k,l]\n");
  ScheduleOptions options;
  options.max_evaluations = 20;
  const auto scheduled = schedule(kernel, *enumerate_mappings(kernel, model, MapOptions{}), model, options);
  ASSERT_TRUE(scheduled) << render(scheduled.diagnostics());
  EXPECT_NE(print(scheduled->schedule).find(" on core"), std::string::npos) << print(scheduled->schedule);
  expect_right(kernel, scheduled->schedule, model);
}

TEST(Threads, ShareASum) {
  const HardwareModel model = with_cores(4);
  if (!model.find_instruction("add_up_f32")) GTEST_SKIP() << "this processor has no instruction that adds a part";
  const auto lanes = model.instruction(*model.find_instruction("fma_f32_bcast")).ranges.front().max;
  for (const std::int64_t k : {1, 7, 64, 100}) {
    const std::string text = "kernel: product\ndims: {M: 9, N: 37, K: " + std::to_string(k) +
                             "}\ntensors: {A: {shape: [M, K]}, B: {shape: [K, N]}, C: {shape: [M, N]}}\n"
                             "compute: [\"C[i,j] += A[i,k] * B[k,j]\"]\n";
    const Kernel kernel = kernel_of(text);
    const auto schedule = parse_schedule(R"(schedule: parts
nest:
  - for k by 25 on core combine add_up_f32
  - for i by 3
  - for j by 32
  - stage C in vec
  - for k by 1
  - stage B in vec
  - for i by 1 unroll
  - for j by )" + std::to_string(lanes) + " unroll\n  - do s0 with fma_f32_bcast(j=j)\n",
                                         "s.yaml", kernel, model);
    ASSERT_TRUE(schedule) << render(schedule.diagnostics());
    expect_right(kernel, *schedule, model);
  }
}

/// A kernel whose helper works while its caller waits takes the helper's time.
TEST(Threads, AreTimedOnTheWall) {
  if (!command_exists("g++")) GTEST_SKIP() << "there is no g++";
  const HardwareModel model = machine("scalar_c");
  const TemporaryDirectory made;
  const std::string kernel = R"(#include <pthread.h>
#include <time.h>
static double spent() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}
static void* help(void*) {
  while (spent() < 5e-3) {}
  return nullptr;
}
extern "C" void fill(void* out) {
  pthread_t helper;
  pthread_create(&helper, nullptr, help, nullptr);
  pthread_join(helper, nullptr);
  *static_cast<int*>(out) = 1;
}
)";
  const auto compiled =
      compile(model, kernel, driver_text({{4, 64, false, true}}, {}, {"fill", {0}}), {}, made.path() / "program");
  ASSERT_TRUE(compiled) << render(compiled.diagnostics());
  for (const char* const min_seconds : {"0", "0.01"}) {
    const auto ran = run_process({(made.path() / "program").string(), made.path().string(), min_seconds}, {60, 0, 0},
                                 made.path() / "log");
    ASSERT_EQ(ran.exit_code, 0) << ran.output;
    const std::string result = read_file(made.path() / "result", 100);
    EXPECT_GE(std::stod(result.substr(result.find(' '))), 5e-3) << result;
  }
}

}  // namespace
}  // namespace isamap

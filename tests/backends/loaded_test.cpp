// SPDX-License-Identifier: Apache-2.0
// Programs that are compiled and called in this process, against the kernel's interpreter.

#include <cstring>

#include "isamap/backend.h"
#include "isamap/compile.h"
#include "isamap/frontends.h"
#include "isamap/mapper.h"
#include "isamap/scheduler.h"
#include "tests/backends/support.h"
#include "tests/every.h"

namespace isamap {
namespace {

Result<Program> compiled_for(const Kernel& kernel, const HardwareModel& model, const std::vector<Strides>& strides) {
  const auto mapped = enumerate_mappings(kernel, model, MapOptions{});
  auto scheduled = schedule(kernel, *mapped, model, ScheduleOptions{});
  EXPECT_TRUE(scheduled) << render(scheduled.diagnostics());
  return lower(scheduled->schedule, kernel, model, DoLines::proved, strides);
}

Program compiled(const Kernel& kernel, const HardwareModel& model) {
  auto program = compiled_for(kernel, model, {});
  EXPECT_TRUE(program) << render(program.diagnostics());
  return *program;
}

/// The fastest of these models that this processor has.
HardwareModel native_model() {
  for (const char* name : {"x86_avx512", "x86_avx2"})
    if (auto model = machine(name); availability(model).how == ExecutionMode::native) return model;
  return machine("scalar_c");
}

struct Called {
  Kernel kernel;
  HardwareModel model;
  std::vector<TensorData> expected;
  LoadedKernel loaded;
};

Called gemm(int i, int j, int k, bool constant) {
  Kernel kernel =
      *kernel_from_formula("C[i,j] += A[i,k] * B[k,j]",
                           "i=" + std::to_string(i) + ",j=" + std::to_string(j) + ",k=" + std::to_string(k), "");
  kernel.tensors[1].constant = constant;
  HardwareModel model = native_model();
  auto loaded = load_program(compiled(kernel, model), model);
  EXPECT_TRUE(loaded) << render(loaded.diagnostics());
  auto data = random_data(kernel, Fill::integers, 3);
  interpret(kernel, data);
  return {kernel, model, data, std::move(*loaded)};
}

TensorView view(TensorData& data) { return {data.bytes.data(), data.dtype, data.shape, {}}; }
TensorView view(float* data, const std::vector<std::int64_t>& shape) { return {data, DType::f32, shape, {}}; }

void dense_tensors_of_all_sizes(Every every) {
  for (const auto& [i, j, k] : {std::tuple(9, 37, 21), std::tuple(1, 1, 1), std::tuple(64, 96, 0), std::tuple(0, 5, 3)})
    for (const bool constant : {false, true}) {
      if (every.skips()) continue;
      Called c = gemm(i, j, k, constant);
      auto data = c.expected;
      std::fill(data[2].bytes.begin(), data[2].bytes.end(), std::uint8_t{0xff});
      for (int times = 0; times < 2; ++times) {
        const auto problem = c.loaded.call({view(data[0]), view(data[1]), view(data[2])});
        ASSERT_FALSE(problem) << render({*problem});
        EXPECT_EQ(data[2], c.expected[2]) << i << " " << j << " " << k;
      }
    }
}

TEST(Loaded, DenseTensorsOfAllSizes) { dense_tensors_of_all_sizes(Every(3)); }
TEST(HeavyLoaded, DenseTensorsOfAllSizes) { dense_tensors_of_all_sizes(Every(1)); }

/// Rows apart, columns first, backwards, and at an odd address.
TEST(Loaded, StridedTensors) {
  Called c = gemm(7, 19, 12, false);
  std::vector<float> a(12 * 40 + 7), b(12 * 19), out(7 * 50, -1.0F);
  const auto* from_a = reinterpret_cast<const float*>(c.expected[0].bytes.data());
  const auto* from_b = reinterpret_cast<const float*>(c.expected[1].bytes.data());
  for (int i = 0; i < 7; ++i)
    for (int k = 0; k < 12; ++k) a[static_cast<std::size_t>(k * 40 + i)] = from_a[i * 12 + k];  // column by column
  for (int k = 0; k < 12; ++k)
    for (int j = 0; j < 19; ++j) b[static_cast<std::size_t>((11 - k) * 19 + j)] = from_b[k * 19 + j];  // from the end
  ASSERT_FALSE(c.loaded.call({{a.data(), DType::f32, {7, 12}, {1, 40}},
                              {b.data() + 11 * 19, DType::f32, {12, 19}, {-19, 1}},
                              {out.data(), DType::f32, {7, 19}, {50, 1}}}));
  const auto* expected = reinterpret_cast<const float*>(c.expected[2].bytes.data());
  for (int i = 0; i < 7; ++i)
    for (int j = 0; j < 50; ++j)
      EXPECT_EQ(out[static_cast<std::size_t>(i * 50 + j)], j < 19 ? expected[i * 19 + j] : -1.0F) << i << " " << j;
  std::vector<std::uint8_t> odd(c.expected[0].bytes.size() + 1);
  std::memcpy(odd.data() + 1, c.expected[0].bytes.data(), odd.size() - 1);
  auto data = c.expected;
  ASSERT_FALSE(c.loaded.call({{odd.data() + 1, DType::f32, {7, 12}, {}}, view(data[1]), view(data[2])}));
  EXPECT_EQ(data[2], c.expected[2]);
}

/// Compiled for rows that lie apart: nothing is copied, and what lies between rows is left alone. What instructions
/// cannot address so (neighbours of a row that goes on in the next one, columns first) is refused, not computed
/// wrongly.
void compiled_for_the_callers_strides(Every every) {
  const HardwareModel model = native_model();
  int loaded_ones = 0;
  std::string refused;
  for (const auto& [i, j, k] :
       {std::tuple(9, 37, 21), std::tuple(1, 1, 1), std::tuple(3, 5, 7), std::tuple(40, 64, 16), std::tuple(8, 16, 0)})
    for (const bool constant : {false, true})
      for (const int columns_first : {-1, 0, 1}) {
        if (every.skips()) continue;
        Kernel kernel =
            *kernel_from_formula("C[i,j] += A[i,k] * B[k,j]",
                                 "i=" + std::to_string(i) + ",j=" + std::to_string(j) + ",k=" + std::to_string(k), "");
        kernel.tensors[1].constant = constant;
        const Strides a = columns_first == 0 ? Strides{1, i + 3} : Strides{k + 5, 1},
                      b = columns_first == 1 ? Strides{1, k + 3} : Strides{j + 1, 1}, c{j + 11, 1};
        const auto program = compiled_for(kernel, model, {a, b, c});
        if (!program) {
          refused += render(program.diagnostics());
          continue;
        }
        // What lies as the program has it is not copied.
        EXPECT_EQ(program->buffers[0].strides, a);
        EXPECT_EQ(program->buffers[1].strides, b);
        EXPECT_EQ(program->buffers[2].strides, c);
        auto loaded = load_program(*program, model);
        ASSERT_TRUE(loaded) << render(loaded.diagnostics());
        ++loaded_ones;
        auto data = random_data(kernel, Fill::integers, 3);
        interpret(kernel, data);
        std::vector<float> at[3];
        const Strides* strides[] = {&a, &b, &c};
        std::vector<TensorView> views, dense;
        const auto place = [&](int t, std::int64_t r, std::int64_t s) {
          return static_cast<std::size_t>(r * (*strides[t])[0] + s * (*strides[t])[1]);
        };
        for (int t = 0; t < 3; ++t) {
          const TensorData& d = data[static_cast<std::size_t>(t)];
          at[t].assign(4000, -1.0F);
          for (std::int64_t r = 0; t < 2 && r < d.shape[0]; ++r)
            for (std::int64_t s = 0; s < d.shape[1]; ++s)
              at[t][place(t, r, s)] = static_cast<float>(d.get(r * d.shape[1] + s).real);
          views.push_back({at[t].data(), DType::f32, d.shape, *strides[t]});
        }
        auto problem = loaded->call(views);
        ASSERT_FALSE(problem) << render({*problem});
        for (std::int64_t r = 0; r < i; ++r)
          for (std::int64_t s = 0; s < c[0]; ++s)
            ASSERT_EQ(at[2][place(2, r, s)], s < j ? static_cast<float>(data[2].get(r * j + s).real) : -1.0F)
                << i << " " << j << " " << k << ", " << r << " " << s << "\n"
                << print(kernel);
        // Dense tensors are welcome too: they are copied to where the program expects them.
        auto result = data;
        std::fill(result[2].bytes.begin(), result[2].bytes.end(), std::uint8_t{0xff});
        problem = loaded->call({view(data[0]), view(data[1]), view(result[2])});
        ASSERT_FALSE(problem) << render({*problem});
        EXPECT_EQ(result[2], data[2]);
      }
  EXPECT_GE(loaded_ones, every.share(20));
  EXPECT_TRUE(model.name == "scalar_c" || refused.find("elements apart in B") != std::string::npos) << refused;
}

TEST(Loaded, CompiledForTheCallersStrides) { compiled_for_the_callers_strides(Every(4)); }
TEST(HeavyLoaded, CompiledForTheCallersStrides) { compiled_for_the_callers_strides(Every(1)); }

TEST(Loaded, StridesThatCannotBeCompiledAreTold) {
  const Kernel kernel = *kernel_from_formula("C[i,j] += A[i,k] * B[k,j]", "i=4,j=8,k=4", "");
  const HardwareModel model = native_model();
  const auto said = [&](const std::vector<Strides>& strides) {
    const auto program = compiled_for(kernel, model, strides);
    return program ? "" : program.diagnostics()[0].message;
  };
  EXPECT_EQ(said({{4, 1}, {8, 1}}), "'formula' takes 3 tensors, found strides of 2");
  EXPECT_EQ(said({{4}, {}, {}}), "tensor 'A' has 2 axes, found 1 strides");
  EXPECT_EQ(said({{-4, 1}, {}, {}}), "tensor 'A' has strides [-4,1]; those of a program are positive");
  EXPECT_EQ(said({{}, {}, {7, 1}}), "elements of output 'C' overlap with strides [7,1]");
  EXPECT_EQ(said({{4, 1}, {8, 1}, {8, 1}}), "");
}

TEST(Loaded, ConstantsArePackedOnceUntilForgotten) {
  Called c = gemm(16, 512, 32, true);
  if (c.model.name != "x86_avx512") GTEST_SKIP() << "nothing need be packed on " << c.model.name;
  auto data = c.expected;
  ASSERT_FALSE(c.loaded.call({view(data[0]), view(data[1]), view(data[2])}));
  std::fill(data[1].bytes.begin(), data[1].bytes.end(), std::uint8_t{0});
  ASSERT_FALSE(c.loaded.call({view(data[0]), view(data[1]), view(data[2])}));
  EXPECT_EQ(data[2], c.expected[2]) << "the copy made at the first call still serves";
  c.loaded.forget_packed();
  ASSERT_FALSE(c.loaded.call({view(data[0]), view(data[1]), view(data[2])}));
  EXPECT_EQ(data[2].bytes, std::vector<std::uint8_t>(data[2].bytes.size(), 0));
}

TEST(Loaded, WrongTensorsAreToldAndNothingIsComputed) {
  Called c = gemm(4, 8, 4, false);
  auto data = c.expected;
  std::fill(data[2].bytes.begin(), data[2].bytes.end(), std::uint8_t{7});
  const auto untouched = data[2].bytes;
  const auto said = [&](const std::vector<TensorView>& views) {
    const auto problem = c.loaded.call(views);
    EXPECT_EQ(data[2].bytes, untouched);
    return problem ? problem->message : "";
  };
  const TensorView a = view(data[0]), b = view(data[1]), out = view(data[2]);
  TensorView typed = b, shaped = b, none = a, strides = a;
  typed.dtype = DType::f64;
  shaped.shape = {8, 4};
  none.data = nullptr;
  strides.strides = {1};
  EXPECT_EQ(said({a, b}), "'formula' takes 3 tensors, found 2");
  EXPECT_EQ(said({a, typed, out}), "tensor 'B' holds f32, found f64");
  EXPECT_EQ(said({a, shaped, out}), "tensor 'B' has shape [4,8], found [8,4]");
  EXPECT_EQ(said({none, b, out}), "tensor 'A' has no memory");
  EXPECT_EQ(said({strides, b, out}), "tensor 'A' has 2 axes, found 1 strides");
}

/// Emitted pointers are restrict: what is written must not be seen through another argument.
TEST(Loaded, OverlappingTensorsAreToldAndNothingIsComputed) {
  Called c = gemm(4, 4, 4, false);
  std::vector<float> memory(256, 7.0F);
  const auto untouched = memory;
  float* const m = memory.data();
  const auto at = [](float* data, const Strides& strides) { return TensorView{data, DType::f32, {4, 4}, strides}; };
  const auto said = [&](const TensorView& a, const TensorView& b, const TensorView& out) {
    const auto problem = c.loaded.call({a, b, out});
    EXPECT_EQ(problem.has_value(), memory == untouched);
    memory = untouched;
    return problem ? problem->message : "";
  };
  const TensorView a = at(m, {}), b = at(m + 16, {});
  EXPECT_EQ(said(a, b, at(m + 32, {0, 1})), "elements of output 'C' overlap: strides [0,1] of shape [4,4]");
  EXPECT_EQ(said(a, b, at(m + 32, {3, 1})), "elements of output 'C' overlap: strides [3,1] of shape [4,4]");
  EXPECT_EQ(said(a, b, at(m + 64, {-3, 1})), "elements of output 'C' overlap: strides [-3,1] of shape [4,4]");
  EXPECT_EQ(said(a, b, at(m, {})), "output 'C' overlaps tensor 'A'");
  EXPECT_EQ(said(a, b, at(m + 31, {})), "output 'C' overlaps tensor 'B'");
  EXPECT_EQ(said(a, b, at(m + 50, {-8, 1})), "output 'C' overlaps tensor 'B'");
  EXPECT_EQ(said(at(m, {8, 1}), at(m + 64, {}), at(m + 3, {8, 1})), "output 'C' overlaps tensor 'A'");
  EXPECT_EQ(said(a, b, at(m + 32, {})), "") << "side by side";
  EXPECT_EQ(said(a, a, at(m + 16, {1, 4})), "") << "inputs may be the same";
  EXPECT_EQ(said(at(m, {12, 1}), at(m + 4, {12, 1}), at(m + 8, {12, 1})), "") << "columns of one matrix";
  EXPECT_EQ(said(at(m, {2, 32}), at(m + 192, {}), at(m + 1, {2, 32})), "") << "every second element";
}

/// Each version may pack otherwise, and all are called with the same arguments.
TEST(Loaded, VersionsForSeveralLengthsPackNothingAhead) {
  Kernel kernel = *kernel_from_formula("C[i,j] += A[i,k] * B[k,j]", "i=16,j=512,k=32", "");
  kernel.tensors[1].constant = true;
  EXPECT_TRUE(compiled(kernel, machine("arm_sve")).prepack.empty());
  EXPECT_FALSE(compiled(kernel, machine("x86_avx512")).prepack.empty());
}

TEST(Loaded, WhatCannotRunHereIsRefused) {
  const HardwareModel model = machine("riscv_v");
  if (availability(model).how == ExecutionMode::native) GTEST_SKIP() << "this processor has them";
  const auto loaded =
      load_program(compiled(*kernel_from_formula("C[i] += A[i,k] * B[k]", "i=4,k=4", ""), model), model);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.diagnostics()[0].message, "programs of 'riscv_v' cannot be loaded into this process");
}

/// One program, called with tensors of several sizes; `text` has M, N and K.
void call_with_sizes(const std::string& text) {
  const auto kernel = parse_symbolic_kernel(text, "k.yaml", {});
  ASSERT_TRUE(kernel) << render(kernel.diagnostics());
  CompileOptions options;
  options.schedule.max_evaluations = 40;
  options.most_versions = 1;
  const HardwareModel model = machine("x86_avx2");
  if (availability(model).how != ExecutionMode::native) GTEST_SKIP() << availability(model).why;
  const SymbolicCompilation compiled = compile_symbolic(*kernel, model, options);
  ASSERT_TRUE(compiled.program) << render(compiled.problems);
  auto loaded = load_program(*compiled.program, model);
  ASSERT_TRUE(loaded) << render(loaded.diagnostics());
  for (const std::int64_t rows : {5, 0, 17, 1}) {
    Bindings sizes;
    for (const SymbolicSize& size : kernel->facts.sizes) sizes[size.name] = rows + (size.name == "M" ? 0 : 4);
    const Kernel bound = *isamap::bind(*kernel, sizes);
    auto expected = random_data(bound, Fill::integers, 3);
    auto data = expected;
    interpret(bound, expected);
    std::fill(data[2].bytes.begin(), data[2].bytes.end(), std::uint8_t{0xff});
    const auto problem = loaded->call({view(data[0]), view(data[1]), view(data[2])});
    ASSERT_FALSE(problem) << render({*problem});
    EXPECT_EQ(data[2], expected[2]) << rows;
    TensorView longer = view(data[2]);
    longer.shape[0] += 1;
    const auto differs = loaded->call({view(data[0]), view(data[1]), longer});
    ASSERT_TRUE(differs);
    EXPECT_NE(differs->message.find("tensor 'C' has shape ["), std::string::npos) << differs->message;
  }
  std::vector<float> memory(1);
  TensorView a = view(memory.data(), {5000, 12});
  const auto large = loaded->call({a, view(memory.data(), {12, 9}), view(memory.data(), {5000, 9})});
  ASSERT_TRUE(large);
  EXPECT_EQ(large->message, "M = 5000 is not in 0..40");
}

TEST(Loaded, SizesOfTheArraysForAnyNumberOfRows) {
  call_with_sizes(
      "kernel: k\ndims: {M: {max: 40, likely: 12}, N: 9, K: 12}\ntensors: {A: {shape: [M, K]}, B: {shape: [K, N], "
      "constant: true}, C: {shape: [M, N]}}\ncompute: ['C[i,j] += A[i,k] * B[k,j]']\n");
}
TEST(Loaded, SizesOfTheArraysAnywhere) {
  call_with_sizes(
      "kernel: k\ndims: {M: {max: 40, likely: 12}, N: {max: 40, likely: 16}, K: {max: 40, likely: 12}}\ntensors: {A: "
      "{shape: [M, K]}, B: {shape: [K, N]}, C: {shape: [M, N]}}\ncompute: ['C[i,j] += A[i,k] * B[k,j]']\n");
}

}  // namespace
}  // namespace isamap

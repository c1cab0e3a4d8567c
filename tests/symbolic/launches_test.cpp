// SPDX-License-Identifier: Apache-2.0
// Machines with thread blocks: one compilation, any size. Runs under emulation at many sizes, at the edge of guard
// pages, and mutants of the printed text that must be caught.

#include <gtest/gtest.h>

#include <random>

#include "backends/common/process.h"
#include "backends/compiled_runner.h"
#include "backends/cpp/compile.h"
#include "backends/cuda/symbolic_unit.h"
#include "backends/cuda/translation_unit.h"
#include "driver/execute.h"
#include "isamap/compile.h"
#include "isamap/program_on_machine.h"
#include "tests/symbolic/kernels.h"

namespace isamap {
namespace {

const HardwareModel& blocks_machine() {
  static const HardwareModel model = machine_of_file("nvidia_sm80");
  return model;
}

const std::string largest_integers = R"(kernel: integers
dims: {M: {max: 70, multiple_of: 2, likely: 10}, K: {max: 90, likely: 33}}
tensors: {A: {shape: [M, K], dtype: s16}, B: {shape: [K], dtype: s8}, C: {shape: [M], dtype: s32, inout: true}}
compute:
  - C[i] max= s32(A[i,k]) + s32(B[k])
)";

/// Types that the machine's file spells its own way, beyond whose shapes there is a value.
const std::string beyond_shapes = R"(kernel: beyond
dims: {N: {max: 70, likely: 40}}
tensors: {A: {shape: [N], dtype: bf16, outside: -1.5}, B: {shape: [N], dtype: u8, outside: 7}, C: {shape: [N]}, D: {shape: [N], dtype: s32}}
compute:
  - C[i] += f32(A[i+k-1])
  - D[i] += s32(B[i+k-1])
where: {i: N, k: 3}
)";

const std::string product_bf16 = R"(kernel: gemm
dims: {M: {max: 300, likely: 60}, N: {max: 300, likely: 60}, K: {max: 300, likely: 120}}
tensors: {A: {shape: [M, K], dtype: bf16}, B: {shape: [K, N], dtype: bf16}, C: {shape: [M, N]}}
compute:
  - C[i,j] += A[i,k] * B[k,j]
)";

/// Fused with its window the sum over channels has tiles that begin inside of a channel.
const std::string convolution_bf16 = R"(kernel: window
dims: {N: {max: 100}, K: {max: 300, likely: [0, 53]}, C: {min: 1, max: 300, likely: [3, 62]}}
tensors: {I: {shape: [N, C, 33], dtype: bf16}, F: {shape: [K, C, 3], dtype: bf16}, O: {shape: [N, K, 31]}}
compute:
  - O[n,k,p] += I[n,c,p+r] * F[k,c,r]
)";

SymbolicCompilation launched(const std::string& text) {
  CompileOptions options;
  options.schedule.objective = Objective::cycles;
  options.schedule.max_evaluations = 60;
  return compile_symbolic(symbolic_kernel(text), blocks_machine(), options);
}

/// 0, 1, odd sizes, one less and one more than a block of threads, and random ones.
void run_launched(const std::string& text, int most) {
  const SymbolicKernel kernel = symbolic_kernel(text);
  const SymbolicCompilation compiled = launched(text);
  ASSERT_TRUE(compiled.program) << render(compiled.problems);
  ASSERT_EQ(compiled.program->launches.size(), kernel.statements.size());
  const auto runner = make_symbolic_runner(*compiled.program, blocks_machine());
  std::mt19937 random(7);
  const std::int64_t first[] = {0, 1, 2, 15, 16, 17, 32, 33};
  for (int n = 0; n < most; ++n) {
    Bindings sizes;
    std::string shown;
    for (const SymbolicSize& size : kernel.facts.sizes) {
      std::int64_t value =
          std::uniform_int_distribution<std::int64_t>(size.min, std::min<std::int64_t>(size.max, 50))(random);
      if (n < 8) value = std::clamp(first[n], size.min, size.max);
      sizes[size.name] = value / size.multiple_of * size.multiple_of;
      shown += size.name + " = " + std::to_string(sizes[size.name]) + " ";
    }
    const auto checked = run_at(*runner, kernel, sizes, ExecutionMode::emulated);
    ASSERT_TRUE(checked) << shown << "\n" << render(checked.diagnostics());
    EXPECT_EQ(checked->executed, ExecutionMode::emulated);
    EXPECT_TRUE(checked->correct) << shown << checked->first_difference;
  }
  EXPECT_EQ(runner->compilations(), 1);
}

/// Stores of whole rows take the largest extent as a template argument, and what is left of it at the edge.
TEST(SymbolicLaunches, StoresOfWholeRowsEndAtTheEdge) {
  const HardwareModel model = machine_of_file("nvidia_sm90a");
  const SymbolicKernel kernel = symbolic_kernel(R"(kernel: gemm
dims: {M: {max: 400, likely: 128}, N: {max: 400, multiple_of: 8, likely: 128}, K: {max: 1200, multiple_of: 8, likely: 512}}
tensors: {A: {shape: [M, K], dtype: bf16}, B: {shape: [K, N], dtype: bf16}, C: {shape: [M, N]}}
compute:
  - C[i,j] += A[i,k] * B[k,j]
)");
  CompileOptions options;
  options.schedule.objective = Objective::cycles;
  options.schedule.max_evaluations = 60;
  const SymbolicCompilation compiled = compile_symbolic(kernel, model, options);
  ASSERT_TRUE(compiled.program) << render(compiled.problems);
  ASSERT_FALSE(compiled.program->launches[0].tiles.empty());
  const auto runner = make_symbolic_runner(*compiled.program, model);
  for (const Bindings& sizes : {Bindings{{"M", 65}, {"N", 72}, {"K", 520}}, Bindings{{"M", 1}, {"N", 8}, {"K", 8}}}) {
    const auto checked = run_at(*runner, kernel, sizes, ExecutionMode::emulated);
    ASSERT_TRUE(checked) << render(checked.diagnostics());
    EXPECT_TRUE(checked->correct) << checked->first_difference;
  }
}

TEST(SymbolicLaunches, AProductWhoseSizesAllAreSymbolic) { run_launched(symbolic_product, 9); }
TEST(HeavySymbolicLaunches, AProductAtMoreSizes) { run_launched(symbolic_product, 14); }
TEST(SymbolicLaunches, SoftmaxWithRowsOfAnyLength) { run_launched(symbolic_softmax, 10); }
TEST(SymbolicLaunches, AConvolutionWithPaddingAndAnyImage) { run_launched(symbolic_image, 10); }
TEST(SymbolicLaunches, AStridedDepthwiseConvolution) { run_launched(symbolic_depthwise, 10); }
TEST(SymbolicLaunches, LargestOfIntegersAndWhatIsThere) { run_launched(largest_integers, 10); }
TEST(SymbolicLaunches, ValuesBeyondShapesOfSmallTypes) { run_launched(beyond_shapes, 8); }

/// A product by tensor cores: tiles for enough terms, threads for few, and edges everywhere.
TEST(SymbolicLaunches, AWindowWithAnyNumberOfChannels) {
  const SymbolicKernel kernel = symbolic_kernel(convolution_bf16);
  const SymbolicCompilation compiled = launched(convolution_bf16);
  ASSERT_TRUE(compiled.program) << render(compiled.problems);
  const auto runner = make_symbolic_runner(*compiled.program, blocks_machine());
  for (const std::int64_t channels : {3, 42, 43, 62, 130}) {
    const auto checked = run_at(*runner, kernel, {{"N", 2}, {"K", 17}, {"C", channels}}, ExecutionMode::emulated);
    ASSERT_TRUE(checked) << channels << "\n" << render(checked.diagnostics());
    EXPECT_TRUE(checked->correct) << channels << " channels: " << checked->first_difference;
  }
}

TEST(SymbolicLaunches, AProductInTilesOfInstructions) {
  const SymbolicKernel kernel = symbolic_kernel(product_bf16);
  const SymbolicCompilation compiled = launched(product_bf16);
  ASSERT_TRUE(compiled.program) << render(compiled.problems);
  ASSERT_FALSE(compiled.program->launches[0].tiles.empty());
  EXPECT_FALSE(compiled.program->launches[0].tiles[0].trips.empty());
  const auto runner = make_symbolic_runner(*compiled.program, blocks_machine());
  for (const Bindings& sizes :
       {Bindings{{"M", 0}, {"N", 5}, {"K", 3}}, Bindings{{"M", 1}, {"N", 1}, {"K", 1}},
        Bindings{{"M", 33}, {"N", 17}, {"K", 0}}, Bindings{{"M", 33}, {"N", 17}, {"K", 131}},
        Bindings{{"M", 16}, {"N", 64}, {"K", 256}}, Bindings{{"M", 1}, {"N", 71}, {"K", 299}}}) {
    const auto checked = run_at(*runner, kernel, sizes, ExecutionMode::emulated);
    ASSERT_TRUE(checked) << render(checked.diagnostics());
    EXPECT_TRUE(checked->correct) << checked->first_difference;
  }
  EXPECT_EQ(runner->compilations(), 1);
}

void weaken(std::vector<Node>& nodes, const std::string& size) {
  for (Node& node : nodes) {
    if (auto* loop = std::get_if<Loop>(&node.is)) weaken(loop->body, size);
    auto* guard = std::get_if<Guard>(&node.is);
    if (guard == nullptr) continue;
    for (AffineExpr& condition : guard->conditions)
      if (condition.names().contains(size)) condition += AffineExpr(1);
    weaken(guard->then, size);
    weaken(guard->otherwise, size);
  }
}

/// By the price of the printed function.
std::size_t cheapest_tiles(const std::vector<TiledLaunch>& tiles, const Bindings& sizes) {
  const auto price = [&](const TiledLaunch& one) {
    const auto product = [&](const std::vector<AffineExpr>& factors) {
      std::int64_t all = 1;
      for (const AffineExpr& e : factors) all *= evaluate(e, sizes);
      return all;
    };
    const std::int64_t turns = (product(one.price.tiles) + one.price.at_once - 1) / one.price.at_once;
    return turns * (one.price.first + one.price.step * product(one.price.steps));
  };
  std::size_t best = 0;
  for (std::size_t n = 1; n < tiles.size(); ++n)
    if (price(tiles[n]) < price(tiles[best])) best = n;
  return best;
}

/// Small tiles where large ones would leave processors idle, large ones elsewhere, which a copy engine loads: its
/// tensors are described at the call. Each is right at every size.
TEST(SymbolicLaunches, TilesOfSeveralSizesAreChosenByPrice) {
  const HardwareModel model = machine_of_file("nvidia_sm90a");
  const SymbolicKernel kernel = symbolic_kernel(R"(kernel: gemm
dims: {M: {max: 8192, multiple_of: 8, likely: [64, 1024]}, N: {max: 8192, multiple_of: 8, likely: [64, 1024]}, K: {max: 8192, multiple_of: 8, likely: [64, 1024]}}
tensors: {A: {shape: [M, K], dtype: bf16}, B: {shape: [K, N], dtype: bf16}, C: {shape: [M, N]}}
compute:
  - C[i,j] += A[i,k] * B[k,j]
)");
  CompileOptions options;
  options.schedule.objective = Objective::cycles;
  const SymbolicCompilation compiled = compile_symbolic(kernel, model, options);
  ASSERT_TRUE(compiled.program) << render(compiled.problems);
  const std::vector<TiledLaunch>& tiles = compiled.program->launches[0].tiles;
  ASSERT_GE(tiles.size(), 2U);
  EXPECT_EQ(cheapest_tiles(tiles, {{"M", 64}, {"N", 64}, {"K", 512}}), 0U);
  EXPECT_EQ(cheapest_tiles(tiles, {{"M", 4096}, {"N", 4096}, {"K", 4096}}), tiles.size() - 1);
  EXPECT_LT(tiles.front().tile[0] * tiles.front().tile[1], tiles.back().tile[0] * tiles.back().tile[1]);
  const auto text = emit(*compiled.program, model);
  ASSERT_TRUE(text) << render(text.diagnostics());
  EXPECT_NE(text->front().text.find("_tensormap_sizes[] = {std::uint64_t(size_K), std::uint64_t(size_M)}"),
            std::string::npos);
  // The printed choice: of two tilings, one of which is wrong, a call takes that of the lower price.
  SymbolicProgram broken = *compiled.program;
  weaken(broken.launches[0].tiles[0].program.body, "size.M");
  weaken(broken.launches[0].tiles[0].program.body, "size.K");
  for (auto& [variable, trip] : broken.launches[0].tiles[0].trips) trip = trip - AffineExpr(1);
  const auto is_right = [&](const SymbolicProgram& program) {
    const auto checked = run_at(*make_symbolic_runner(program, model), kernel, {{"M", 40}, {"N", 40}, {"K", 776}},
                                ExecutionMode::emulated);
    return checked && checked->correct;
  };
  EXPECT_FALSE(is_right(broken));
  broken.launches[0].tiles[0].price.first = std::int64_t{1} << 40;
  EXPECT_TRUE(is_right(broken));
  for (const TiledLaunch& one : tiles) {
    SymbolicProgram only = *compiled.program;
    only.launches[0].tiles = {one};
    const auto runner = make_symbolic_runner(only, model);
    for (const Bindings& sizes : {Bindings{{"M", 40}, {"N", 24}, {"K", 776}}, Bindings{{"M", 8}, {"N", 8}, {"K", 8}},
                                  Bindings{{"M", 0}, {"N", 8}, {"K", 0}}}) {
      const auto checked = run_at(*runner, kernel, sizes, ExecutionMode::emulated);
      ASSERT_TRUE(checked) << render(checked.diagnostics());
      EXPECT_TRUE(checked->correct) << one.tile[0] << " " << checked->first_difference;
    }
  }
}

/// Edges that are one position too wide, and loops of a tile less.
TEST(SymbolicLaunches, HeavyMutantsOfTilesAreCaught) {
  const SymbolicKernel kernel = symbolic_kernel(product_bf16);
  SymbolicCompilation compiled = launched(product_bf16);
  ASSERT_TRUE(compiled.program);
  compiled.program->launches[0].tiles.resize(1);  // no others that could be chosen
  const auto is_right = [&](const SymbolicProgram& program) {
    const auto checked = run_at(*make_symbolic_runner(program, blocks_machine()), kernel,
                                {{"M", 33}, {"N", 17}, {"K", 299}}, ExecutionMode::emulated);
    return checked && checked->correct;
  };
  SymbolicProgram wider = *compiled.program;
  weaken(wider.launches[0].tiles[0].program.body, "size.K");
  EXPECT_FALSE(is_right(wider));
  SymbolicProgram shorter = *compiled.program;
  for (auto& [variable, trip] : shorter.launches[0].tiles[0].trips)
    if (trip.names().contains("K")) trip = trip - AffineExpr(1);
  EXPECT_FALSE(is_right(shorter));
}

/// The exit code and output of the printed file with a main, compiled with the emulation.
ProcessResult run_text(const std::string& text, const std::string& main) {
  const TemporaryDirectory folder;
  const auto made = compile(blocks_machine(), text, main, {{emulation_header_name, emulation_header()}},
                            folder.path() / "program", emulation_part());
  EXPECT_TRUE(made) << render(made.diagnostics());
  return run_process({(folder.path() / "program").string()}, {60, 0, 0}, folder.path() / "log");
}

const std::string main_of_product = R"(
#include <cstdio>
#include <vector>
extern "C" int gemm_emulated(const float*, const float*, float*, long, long, long);
int main() {
  std::vector<float> a(17 * 3, 1), b(3 * 33, 2), c(17 * 33, -1);
  const int code = gemm_emulated(a.data(), b.data(), c.data(), M_SIZE, 33, 3);
  for (const float x : c) if (x != (code == 0 ? 6.0f : -1.0f)) return 5;
  return code;
}
)";

std::string main_with_rows(const std::string& rows) {
  std::string text = main_of_product;
  return text.replace(text.find("M_SIZE"), 6, rows);
}

TEST(SymbolicLaunches, TheEntryChecksSizesAndSaysWhyInOneLine) {
  const SymbolicCompilation compiled = launched(symbolic_product);
  ASSERT_TRUE(compiled.program);
  const auto unit = print_symbolic_cuda(*compiled.program, blocks_machine());
  ASSERT_TRUE(unit);
  EXPECT_EQ(run_text(unit->text, main_with_rows("17")).exit_code, 0);
  const ProcessResult refused = run_text(unit->text, main_with_rows("301"));
  EXPECT_EQ(refused.exit_code, 1) << "nothing is written";
  EXPECT_EQ(refused.output, "gemm: M = 301 is not in 0..300\n");
}

/// What keeps threads and blocks to the sizes is needed.
TEST(SymbolicLaunches, MutantsAreCaught) {
  const SymbolicCompilation compiled = launched(symbolic_product);
  ASSERT_TRUE(compiled.program);
  const auto unit = print_symbolic_cuda(*compiled.program, blocks_machine());
  ASSERT_TRUE(unit);
  const auto mutant = [&](const std::string& from, const std::string& to) {
    std::string text = unit->text;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    if (at != std::string::npos) text.replace(at, from.size(), to);
    return run_text(text, main_with_rows("17"));
  };
  EXPECT_NE(mutant("if (number >= M * N) return;", "if (number >= M * N - 1) return;").exit_code, 0);
  EXPECT_NE(mutant("(threads + 255) / 256", "threads / 256").exit_code, 0);
  EXPECT_NE(mutant("k < K", "k < K - 1").exit_code, 0);
}

/// 32 bits are enough where all positions fit, by the facts.
TEST(SymbolicLaunches, IndexTypesAreProved) {
  const auto index = [](const std::string& most) {
    const auto launches =
        statement_launches(symbolic_kernel("kernel: k\ndims: {M: {max: " + most + "}, N: {max: " + most +
                                           "}}\ntensors: {A: {shape: [M, N]}, C: {shape: [M, N]}}\n"
                                           "compute: ['C[i,j] = A[i,j]']\n"));
    EXPECT_TRUE(launches);
    return launches ? launches->front().index : IndexType::bits64;
  };
  EXPECT_EQ(index("46340"), IndexType::bits32);  // 46340 squared is just below 2^31
  EXPECT_EQ(index("46341"), IndexType::bits64);
}

/// What subscripts, sizes and counters of loops are computed from fits, too.
TEST(SymbolicLaunches, IndexTypesHoldNumerators) {
  const auto index = [](const std::string& most, const std::string& tensors, const std::string& statement) {
    const auto launches = statement_launches(symbolic_kernel("kernel: k\ndims: {N: {max: " + most + "}}\ntensors: {" +
                                                             tensors + "}\ncompute: ['" + statement + "']\n"));
    EXPECT_TRUE(launches);
    return launches ? launches->front().index : IndexType::bits64;
  };
  const std::string apart = "X: {shape: [N]}, Y: {shape: [N]}", thirds = "Y[i] = X[(3*i)/4]";
  EXPECT_EQ(index("715827883", apart, thirds), IndexType::bits32);  // 3*715827882 is just below 2^31
  EXPECT_EQ(index("715827884", apart, thirds), IndexType::bits64);
  const std::string few = "X: {shape: [N/1024]}, Y: {shape: [N/1024]}";
  EXPECT_EQ(index("2147483647", few, "Y[i] = X[i]"), IndexType::bits32);
  EXPECT_EQ(index("2147483648", few, "Y[i] = X[i]"), IndexType::bits64) << "N is an argument";
}

TEST(SymbolicLaunches, RefusalsNameTheSizeToBind) {
  const auto why = [](const std::string& dims, const std::string& tensors, const std::string& statement) {
    const auto launches = statement_launches(
        symbolic_kernel("kernel: k\ndims: " + dims + "\ntensors: " + tensors + "\ncompute: ['" + statement + "']\n"));
    return launches ? "" : launches.diagnostics().front().message + "; " + launches.diagnostics().front().hint;
  };
  EXPECT_EQ(why("{M: {max: 1099511627776, likely: 8}}", "{A: {shape: [M]}, C: {shape: [M]}}", "C[i] = A[i]"),
            "no program for all sizes: statement s0 may need more than 2147483647 blocks of 256 threads; bind sizes: "
            "--sizes M=8");
}

}  // namespace
}  // namespace isamap

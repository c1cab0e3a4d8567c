// SPDX-License-Identifier: Apache-2.0
// Grids whose cells, and rows that are distributed over threads: the same bytes for any number of them, the shares that
// prices count, and none where the work is too little.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <random>

#include "backends/common/process.h"
#include "backends/cpp/compile.h"
#include "backends/cpp/symbolic/symbolic_unit.h"
#include "isamap/backend.h"
#include "isamap/compile.h"
#include "isamap/program_on_machine.h"
#include "program/cell_shares.h"
#include "tests/symbolic/kernels.h"

namespace isamap {
namespace {

HardwareModel cores(const char* count) {
  LoadOptions options;
  options.params = {{"cores", count}};
  auto loaded = load_hardware("x86_avx2", {ISAMAP_SOURCE_DIR "/hardware_models"}, options);
  EXPECT_TRUE(loaded) << render(loaded.diagnostics());
  return loaded->model;
}

const HardwareModel& three_cores() {
  static const HardwareModel model = cores("3");
  return model;
}

bool cores_are_here() { return availability(three_cores()).how == ExecutionMode::native; }

std::string as_constant(std::string text, const std::string& shape) {
  return text.replace(text.find(shape), shape.size(), shape + ", constant: true");
}

const std::string norm_in_strips = R"(kernel: norm
dims: {M: {max: 90, likely: 24}, N: {min: 1, max: 200, likely: 64}}
tensors: {X: {shape: [M, N]}, S: {shape: [M]}, D: {shape: [M, N]}, Y: {shape: [M, N]}}
compute:
  - S[i] += X[i,j]
  - D[i,j] = X[i,j] - 0.02 * S[i]
  - Y[i,j] = D[i,j] * S[i]
)";

/// Weights that exceed the nearest cache: remainders of rows are in the pass of the tiles.
const std::string rows_by_weights = R"(kernel: rows
dims: {M: {min: 0, max: 300, likely: 64}, N: 70, K: 300}
tensors: {A: {shape: [M, K]}, B: {shape: [K, N], constant: true}, C: {shape: [M, N]}}
compute:
  - C[i,j] += A[i,k] * B[k,j]
)";

const std::string softmax_of_rows = R"(kernel: rows
dims: {M: {min: 0, max: 4096, likely: 64}, N: 37}
tensors: {X: {shape: [M, N]}, H: {shape: [M]}, E: {shape: [M, N]}, L: {shape: [M]}, Y: {shape: [M, N]}}
compute:
  - H[i] max= X[i,j]
  - E[i,j] = exp(X[i,j] - H[i])
  - L[i] += E[i,j]
  - Y[i,j] = E[i,j] / L[i]
)";

const std::string scaled_rows = R"(kernel: rows
dims: {M: {min: 0, max: 4096, likely: 64}, N: 37}
tensors: {X: {shape: [M, N]}, S: {shape: [N]}, Y: {shape: [M, N]}}
compute:
  - Y[i,j] = X[i,j] * S[j] + 1
)";

/// For three threads.
const SymbolicProgram& distributed(const std::string& text) {
  static std::map<std::string, SymbolicProgram> known;
  if (const auto found = known.find(text); found != known.end()) return found->second;
  CompileOptions options;
  options.schedule.objective = Objective::cycles;
  options.schedule.max_evaluations = 60;
  options.most_versions = 1;
  // On three cores columns are distributed inside of the tiles, or statements inside of the blocks.
  const bool by_rows = text == rows_by_weights || text == softmax_of_rows;
  SymbolicCompilation made = compile_symbolic(symbolic_kernel(text), by_rows ? cores("1") : three_cores(), options);
  EXPECT_TRUE(made.program) << render(made.problems);
  for (RowVersion& version : made.program->versions)
    if (by_rows) version.shares = {3, 0, {}, {{1, {1, {made.program->rows}}, {}}}};
  return known[text] = std::move(*made.program);
}

/// With so many threads; `start`: below 0 they are used for any work.
SymbolicProgram on_threads(SymbolicProgram program, std::int64_t threads, double start) {
  for (Grid& grid : program.grids) {
    grid.shares.threads = threads, grid.shares.start = start;
    for (Grid& edge : grid.edges) edge.shares.threads = threads, edge.shares.start = start;
  }
  for (RowVersion& version : program.versions)
    if (version.shares.threads > 1) version.shares.threads = threads, version.shares.start = start;
  return program;
}

std::vector<std::uint8_t> bytes_of_call(LoadedKernel& loaded, const Kernel& kernel, std::vector<TensorData> data) {
  std::vector<TensorView> views;
  for (const TensorId t : arguments(kernel)) {
    if (role_of(kernel, t) == Role::output)
      std::fill(data[t.index()].bytes.begin(), data[t.index()].bytes.end(), std::uint8_t{0xff});
    views.push_back({data[t.index()].bytes.data(), data[t.index()].dtype, data[t.index()].shape, {}});
  }
  const auto problem = loaded.call(views);
  EXPECT_FALSE(problem) << problem->message;
  return data[arguments(kernel).back().index()].bytes;
}

void gives_the_same_bytes(const std::string& text, int most) {
  if (!cores_are_here()) GTEST_SKIP() << availability(three_cores()).why;
  const SymbolicKernel kernel = symbolic_kernel(text);
  const auto& versions = distributed(text).versions;
  ASSERT_TRUE(
      !distributed(text).grids.empty() ||
      std::any_of(versions.begin(), versions.end(), [](const auto& version) { return version.shares.threads > 1; }))
      << "neither cells nor rows are distributed";
  std::vector<LoadedKernel> loaded;
  for (const std::int64_t threads : {1, 2, 3}) {
    auto one = load_program(on_threads(distributed(text), threads, -1), three_cores());
    ASSERT_TRUE(one) << render(one.diagnostics());
    loaded.push_back(std::move(*one));
  }
  const auto runner = make_symbolic_runner(on_threads(distributed(text), 3, -1), three_cores());
  std::mt19937 random(5);
  for (int n = 0; n < most; ++n) {
    Bindings sizes;
    for (const SymbolicSize& size : kernel.facts.sizes)
      sizes[size.name] =
          n < 2 ? std::max<std::int64_t>(n, size.min)
                : std::uniform_int_distribution<std::int64_t>(size.min, std::min<std::int64_t>(size.max, 70))(random);
    const auto bound = isamap::bind(kernel, sizes);
    ASSERT_TRUE(bound);
    const auto data = random_data(*bound, Fill::real, 3);
    const std::vector<std::uint8_t> alone = bytes_of_call(loaded[0], *bound, data);
    for (std::size_t more = 1; more < loaded.size(); ++more)
      EXPECT_EQ(bytes_of_call(loaded[more], *bound, data), alone) << n << ": " << more + 1 << " threads";
    for (LoadedKernel& one : loaded) one.forget_packed();  // the next constants may lie at the same place
    const auto checked = run_at(*runner, kernel, sizes, availability(three_cores()).how);
    ASSERT_TRUE(checked) << render(checked.diagnostics());
    EXPECT_TRUE(checked->correct) << n << checked->first_difference;
  }
}

TEST(SharedCells, OfAProduct) { gives_the_same_bytes(symbolic_product, 16); }
TEST(SharedCells, OfAProductWithAConstant) { gives_the_same_bytes(as_constant(symbolic_product, "[K, N]"), 12); }
TEST(SharedCells, OfScores) { gives_the_same_bytes(symbolic_scores, 12); }
TEST(SharedCells, OfAConvolution) { gives_the_same_bytes(symbolic_image, 12); }
TEST(SharedCells, OfADepthwiseConvolution) { gives_the_same_bytes(symbolic_depthwise, 12); }
TEST(SharedCells, OfImagesWithEdges) { gives_the_same_bytes(symbolic_edges, 12); }
TEST(SharedCells, OfStrips) { gives_the_same_bytes(norm_in_strips, 12); }
TEST(SharedRows, OfAProduct) { gives_the_same_bytes(rows_by_weights, 24); }
TEST(SharedRows, OfSoftmax) { gives_the_same_bytes(softmax_of_rows, 24); }
TEST(SharedRows, OfOneStatement) { gives_the_same_bytes(scaled_rows, 24); }
TEST(SharedCells, OfSoftmax) { gives_the_same_bytes(symbolic_softmax, 12); }

/// The entry of a product that counts its shares where it would start threads.
class CountedProduct {
 public:
  explicit CountedProduct(const SymbolicProgram& program) {
    const auto unit = print_symbolic_cpp(program, three_cores());
    EXPECT_TRUE(unit) << render(unit.diagnostics());
    std::string text = "long shares_of_call = 1;\n" + unit->text;
    const std::string loop = three_cores().unit(*three_cores().find_unit("core")).threads.loop;
    for (std::size_t at = 0; (at = text.find(loop + "\n", at)) != std::string::npos; ++at)
      text.replace(at, loop.size(), "shares_of_call = shares;");
    const auto file = folder_.path() / "gemm.so";
    const auto made = compile_library(three_cores(), text, "", file);
    EXPECT_TRUE(made) << render(made.diagnostics());
    void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    entry_ = reinterpret_cast<Entry>(dlsym(library, "gemm"));
    shares_ = static_cast<long*>(dlsym(library, "shares_of_call"));
  }
  long shares(long m, long n, long k) const {
    const std::vector<float> a(static_cast<std::size_t>(m * k + 1)), b(static_cast<std::size_t>(k * n + 1));
    std::vector<float> c(static_cast<std::size_t>(m * n + 1));
    *shares_ = 1;
    EXPECT_EQ(entry_(a.data(), b.data(), c.data(), m, n, k), 0);
    return *shares_;
  }

 private:
  using Entry = int (*)(const float*, const float*, float*, long, long, long);
  TemporaryDirectory folder_;
  Entry entry_ = nullptr;
  long* shares_ = nullptr;
};

/// What the entry decides is what prices count: one thread for little work, none for nothing.
TEST(SharedCells, AreThoseOfPrices) {
  if (!cores_are_here()) GTEST_SKIP() << availability(three_cores()).why;
  const SymbolicProgram program = on_threads(distributed(symbolic_product), 6, 4000);
  const CountedProduct product(program);
  std::mt19937 random(5);
  std::set<long> found;
  for (int n = 0; n < 60; ++n) {
    const auto size = [&] { return std::uniform_int_distribution<std::int64_t>(n % 2 == 0 ? 100 : 0, 300)(random); };
    const std::int64_t m = n % 5 == 0 ? n / 5 : size(), columns = n % 7 == 0 ? n / 7 : size(), k = size();
    std::int64_t expected = 1;
    for (const std::int64_t along : shares_at(program.grids[0], {{"M", m}, {"N", columns}, {"K", k}}))
      expected *= along;
    EXPECT_EQ(product.shares(m, columns, k), expected) << m << " " << columns << " " << k;
    found.insert(expected);
  }
  EXPECT_EQ(product.shares(8, 8, 8), 1);
  EXPECT_EQ(product.shares(0, 300, 300), 1);
  EXPECT_EQ(product.shares(300, 300, 300), 6);
  EXPECT_GE(found.size(), 2U);
}

/// Stretches are cut between tiles, and together they are the axis.
TEST(SharedCells, StretchesAreTheWholeAxis) {
  GridAxis axis;
  axis.runs = {{14, 0, 0}, {3, 0, 0}, {0, 1, 1}, {0, 2, 2}};
  for (std::int64_t tiles = 0; tiles < 9; ++tiles)
    for (std::int64_t small = 0; small < 4; ++small)
      for (std::int64_t shares = 1; shares < 9; ++shares) {
        CountedRuns whole;
        if (tiles > 0) whole.emplace_back(0, 14 * tiles);
        if (small > 0) whole.emplace_back(1, 3 * small);
        whole.emplace_back(3, 2);
        std::map<std::size_t, std::int64_t> sum;
        for (std::int64_t n = 0; n < shares; ++n)
          for (const auto& [run, count] : stretch_of(whole, axis, n, shares)) {
            EXPECT_EQ(count % (run == 0 ? 14 : run == 1 ? 3 : 2), 0);
            sum[run] += count;
          }
        for (const auto& [run, count] : whole) EXPECT_EQ(sum[run], count);
      }
}

/// A predicted call of large sizes takes less on threads, and never more.
TEST(SharedCells, LowerThePrice) {
  CompileOptions options;
  options.schedule.max_evaluations = 60;
  options.most_versions = 1;
  const SymbolicCompilation made = compile_symbolic(symbolic_kernel(symbolic_product), three_cores(), options);
  ASSERT_TRUE(made.program);
  double least = 1;
  for (const SizeSample& sample : made.samples) {
    EXPECT_GT(sample.on_threads, 0);
    EXPECT_LE(sample.on_threads, 1.3 * sample.cycles);
    least = std::min(least, sample.on_threads / sample.cycles);
  }
  EXPECT_LT(least, 0.6);
}

}  // namespace
}  // namespace isamap

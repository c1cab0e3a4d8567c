// SPDX-License-Identifier: Apache-2.0
// Dims that lie one after another in all tensors are one axis of a grid.

#include <gtest/gtest.h>

#include "isamap/compile.h"
#include "isamap/schedule.h"
#include "isamap/symbolic_program.h"
#include "kernels.h"

namespace isamap {
namespace {

/// A pointwise convolution; the parts of its text may be replaced.
std::string pointwise(const std::string& input = "N, 20, H, W", const std::string& read = "n,c,p,q",
                      const std::string& output = "N, 9, H, W", const std::string& written = "n,k,p,q") {
  return "kernel: pointwise\ndims: {N: {max: 3, likely: 1}, H: {max: 40, likely: 14}, W: {max: 40, likely: 14}}\n"
         "tensors: {I: {shape: [" +
         input + "]}, F: {shape: [9, 20], constant: true}, O: {shape: [" + output + "]}}\ncompute:\n  - O[" + written +
         "] += I[" + read + "] * F[k,c]\n";
}

/// The axes of the grid: "n: N, p_q: H*W"; empty: no dims are fused.
std::string axes_of_fused(const std::string& text) {
  const auto shape = grid_shape(symbolic_kernel(text), 0);
  EXPECT_TRUE(shape) << render(shape.diagnostics());
  const auto fused = shape ? fused_dims(*shape) : std::nullopt;
  std::string axes;
  for (const GridAxis& axis : fused ? fused->axes : std::vector<GridAxis>{})
    axes += (axes.empty() ? "" : ", ") + axis.dim + ": " + print(axis.extent);
  return axes;
}

TEST(FusedDims, AreNeighboursInAllTensors) {
  EXPECT_EQ(axes_of_fused(pointwise()), "n: N, p_q: H*W");
  EXPECT_EQ(axes_of_fused(pointwise("N, H, W, 20", "n,p,q,c", "N, H, W, 9", "n,p,q,k")), "n_p_q: N*H*W");
}

TEST(FusedDims, AreReadByWindowsOfOnePosition) {
  const std::string text = R"(kernel: conv
dims: {N: {max: 3}, H: {max: 40}, W: {max: 40}, R: 1}
tensors: {I: {shape: [N, 4, H + R - 1, W], outside: 0}, F: {shape: [5, 4, R]}, O: {shape: [N, 5, H, W]}}
compute: "O[n,k,p,q] += I[n,c,p+r,q] * F[k,c,r]"
)";
  EXPECT_EQ(axes_of_fused(text), "n: N, p_q: H*W");
  const auto fused = fused_dims(*grid_shape(symbolic_kernel(text), 0));
  ASSERT_TRUE(fused);
  EXPECT_EQ(print(fused->kernel.statements[0].reads[0].index[2]), "p_q");
}

TEST(FusedDims, AreNoneWhereATensorHasOthersBetween) {
  EXPECT_EQ(axes_of_fused(pointwise("N, 20, H, W + 1", "n,c,p,q+1")), "");
  EXPECT_EQ(axes_of_fused(pointwise("N, 20, 2*H, W", "n,c,2*p,q")), "");
  EXPECT_EQ(axes_of_fused(pointwise("N, H, 20, W", "n,p,c,q")), "");
  EXPECT_EQ(axes_of_fused(pointwise("N, 20, W, H", "n,c,q,p")), "");
  EXPECT_EQ(axes_of_fused(symbolic_product), "");
  EXPECT_EQ(axes_of_fused(symbolic_image), "");
}

TEST(FusedDims, OfNumbersAndSizesHaveAProductAsExtent) {
  std::string text = pointwise("N, 20, H, W", "n,c,p,q");
  text.replace(text.find("W: {max: 40, likely: 14}"), 24, "W: 6");
  const auto fused = fused_dims(*grid_shape(symbolic_kernel(text), 0));
  ASSERT_TRUE(fused);
  ASSERT_EQ(fused->axes.size(), 2U);
  EXPECT_EQ(print(fused->axes[1].extent), "6*H");
  EXPECT_EQ(fused->axes[1].multiple, 6);
  EXPECT_EQ(fused->axes[1].most, 240);
  EXPECT_EQ(fused->kernel.tensors[0].shape, (std::vector<std::int64_t>{1, 20, 84}));
}

const SymbolicCompilation& compiled() {
  static const SymbolicCompilation made = [] {
    CompileOptions options;
    options.schedule.objective = Objective::cycles;
    options.schedule.max_evaluations = 60;
    options.most_versions = 2;
    return compile_symbolic(symbolic_kernel(pointwise()), vector_machine(), options);
  }();
  return made;
}

TEST(FusedDims, AreComputedAtAllSizes) {
  ASSERT_TRUE(compiled().program) << render(compiled().problems);
  EXPECT_EQ(compiled().program->grids[0].shape.axes.size(), 2U);
  const auto how = availability(vector_machine());
  if (how.how != ExecutionMode::native) GTEST_SKIP() << how.why;
  const auto runner = make_symbolic_runner(*compiled().program, vector_machine());
  for (const std::int64_t rows : {0, 1, 3, 7, 40})
    for (const std::int64_t columns : {0, 1, 5, 8, 39}) {
      const Bindings sizes{{"N", rows % 3 + (rows > 0)}, {"H", rows}, {"W", columns}};
      const auto checked = run_at(*runner, symbolic_kernel(pointwise()), sizes, how.how);
      ASSERT_TRUE(checked) << render(checked.diagnostics());
      EXPECT_TRUE(checked->correct) << rows << " x " << columns << ": " << checked->first_difference;
    }
  EXPECT_EQ(runner->compilations(), 1);
}

TEST(FusedDims, OfAScheduleFileAreRead) {
  ASSERT_TRUE(compiled().program);
  const SymbolicKernel kernel = symbolic_kernel(pointwise());
  std::vector<ScheduleVersion> versions;
  for (std::size_t v = 0; v < compiled().schedules.size(); ++v)
    versions.push_back({compiled().program->versions[v].when, {compiled().schedules[v]}});
  const std::string text = print(versions);
  ASSERT_NE(text.find("p_q"), std::string::npos) << text;
  const auto read = parse_schedule_versions(text, "s.yaml", kernel, vector_machine());
  ASSERT_TRUE(read) << render(read.diagnostics());
  EXPECT_EQ(print(*read), text);
  CompileOptions options;
  options.versions = *read;
  const SymbolicCompilation again = compile_symbolic(kernel, vector_machine(), options);
  ASSERT_TRUE(again.program) << render(again.problems);
  EXPECT_EQ(again.schedules, compiled().schedules);
}

}  // namespace
}  // namespace isamap

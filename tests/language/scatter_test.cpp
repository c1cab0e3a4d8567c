// SPDX-License-Identifier: Apache-2.0
// Reductions whose term counts at one place: found, printed without the loop over places, and as right as with it.

#include "ir/scatter.h"

#include <fmt/format.h>

#include "tests/language/support.h"

namespace isamap {
namespace {

/// Last updates, sums, and all other operators; positions lie beyond both ends too, and some elements have no update.
std::string scatters(const std::string& sizes) {
  return "kernel: scatters\ndims: " + sizes + R"(
tensors:
  J: {shape: [U, C], dtype: s32, range: [-2, 9]}
  K: {shape: [U], dtype: s64, range: [-2, 20]}
  T: {shape: [12], dtype: s32, range: [0, 4]}
  X: {shape: [U, C]}
  L: {shape: [R, C], dtype: s32}
  S: {shape: [R, C]}
  P: {shape: [R, 3, C]}
  M: {shape: [R, C]}
  N: {shape: [R, C], inout: true}
  H: {shape: [C, R], dtype: s32}
compute:
  - L[i,c] max= select(s64(J[u,c]) == s64(value(i)), value(u), -2147483648)
  - S[i,c] = 1
  - S[i,c] += select(value(i + 1) == J[u,c], X[u,c] * 2, -0.0)
  - P[i,k,c] *= select(K[u] == s64(value(3*i + k)), X[u,c], 1)
  - M[i,c] min= select(K[u] == s64(value(i)), X[u,c], inf)
  - N[i,c] max= select(K[u] == s64(value(i)), X[u,c], -inf)
  - H[c,i] += select(T[at(J[u,c])] == value(i - 1), 1, 0)
)";
}

TEST(Scatters, AreWhatTheirLoopsCompute) {
  for (const auto& [rows, columns, updates] : {std::array{7, 5, 11}, {4, 3, 0}, {0, 2, 3}})
    expect_right_on(kernel_of(scatters(fmt::format("{{R: {}, C: {}, U: {}}}", rows, columns, updates))), "x86_avx2");
}

/// 0.0 for updates of other elements changes those that are -0.0; -0.0 does not.
TEST(Scatters, KeepTheSignOfZero) {
  expect_right_on(kernel_of(R"(kernel: zeros
tensors:
  K: {shape: [11], dtype: s64, range: [-2, 20]}
  Z: {shape: [7], range: [0, 0]}
  X: {shape: [11]}
  A: {shape: [7]}
  B: {shape: [7]}
  Y: {shape: [7, 2]}
compute:
  - A[i] = Z[i] * -1
  - A[i] += select(K[u] == s64(value(i)), X[u], 0)
  - B[i] = Z[i] * -1
  - B[i] += select(K[u] == s64(value(i)), X[u], -0.0)
  - Y[i,k] = select(value(k) == 0, 1 / A[i], 1 / B[i])
)"),
                  "x86_avx2");
}

/// Of large ones the interpreter visits the places that are hit: rows of elements, digits, and one element.
TEST(Scatters, AreWhatUpdatesDo) {
  const std::int64_t updates = 1100, columns = 8, rows = 600;
  const Kernel kernel = kernel_of(fmt::format(R"(kernel: updates
tensors:
  J: {{shape: [{0}], dtype: s64, range: [-5, 1210]}}
  K: {{shape: [{0}, {1}], dtype: s32, range: [-5, 610]}}
  X: {{shape: [{0}, {1}]}}
  S: {{shape: [{2}, 2, {1}]}}
  L: {{shape: [{2}, {1}], dtype: s32}}
compute:
  - S[i,k,c] += select(J[u] == s64(value(2*i + k)), X[u,c], 0)
  - L[i,c] max= select(value(i + 3) == K[u,c], value(u), -2147483648)
)",
                                              updates, columns, rows));
  ASSERT_GT(point_count(kernel.statements[1]), 1 << 22);
  Random random(4);
  std::vector<TensorData> data;
  for (const Tensor& tensor : kernel.tensors) data.push_back(make_data(tensor));
  std::vector<double> sums(static_cast<std::size_t>(2 * rows * columns)), last(sums.size() / 2, -2147483648.0);
  for (std::int64_t u = 0; u < updates; ++u) {
    const std::int64_t j = random.between(-5, 2 * rows + 10);
    data[0].set(u, {0, j});
    for (std::int64_t c = 0; c < columns; ++c) {
      const std::int64_t x = random.between(-4, 4), k = random.between(-5, rows + 10);
      data[1].set(u * columns + c, {0, k});
      data[2].set(u * columns + c, {static_cast<double>(x), 0});
      if (j >= 0 && j < 2 * rows) sums[static_cast<std::size_t>(j * columns + c)] += static_cast<double>(x);
      if (k >= 3 && k < rows + 3) last[static_cast<std::size_t>((k - 3) * columns + c)] = static_cast<double>(u);
    }
  }
  interpret(kernel, data);
  for (std::size_t e = 0; e < sums.size(); ++e)
    ASSERT_EQ(number_at(data_of(kernel, data, "S"), static_cast<std::int64_t>(e)), sums[e]) << e;
  for (std::size_t e = 0; e < last.size(); ++e)
    ASSERT_EQ(number_at(data_of(kernel, data, "L"), static_cast<std::int64_t>(e)), last[e]) << e;
}

TEST(Scatters, HaveNoLoopsOverElements) {
  const Kernel kernel = kernel_of(scatters("{R: 7, C: 5, U: 11}"));
  const auto loaded = load_hardware("x86_avx2", {ISAMAP_SOURCE_DIR "/hardware_models"});
  ASSERT_TRUE(loaded);
  CompileOptions options;
  options.schedule.strategy = "greedy";
  const Compilation compiled = compile(kernel, loaded->model, options);
  ASSERT_TRUE(compiled.program) << render(compiled.problems);
  const auto files = emit(*compiled.program, loaded->model, {});
  ASSERT_TRUE(files) << render(files.diagnostics());
  std::string text;
  for (const EmittedFile& file : *files) text += file.text;
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find("if (const std::uint64_t at", at)) != std::string::npos; ++at) ++found;
  EXPECT_EQ(found, 6u) << text;
}

/// They are run, whatever all points would be.
TEST(Scatters, AreVisitedByUpdate) {
  const auto kernel = kernel_from_formula("Y[i] += select(J[u] == value(i), X[u], 0)", "i=300000,u=200000", "J=s32");
  ASSERT_TRUE(kernel) << render(kernel.diagnostics());
  EXPECT_EQ(visited_points(*kernel), 200000);
}

/// The digits of the only statement; empty: it is no scatter.
std::string digits_of(const std::string& formula, const std::string& dims, const std::string& types) {
  const auto kernel = kernel_from_formula(formula, dims, types);
  EXPECT_TRUE(kernel) << render(kernel.diagnostics());
  const auto found = kernel ? scatter_of(kernel->statements[0]) : std::nullopt;
  std::string text;
  if (found)
    for (const auto& [name, extent] : found->digits) text += fmt::format("{}:{} ", name, extent);
  return found ? text + "from " + print(found->offset) : "";
}

TEST(Scatters, AreFoundWhereOneElementIsHit) {
  const std::string types = "J=s32,Y=s32,X=s32";
  EXPECT_EQ(digits_of("Y[i] += select(J[u] == value(i), X[u], 0)", "i=4,u=6", types), "i:4 from 0");
  const Kernel again = kernel_of(R"(kernel: again
tensors: {J: {shape: [6], dtype: s32}, X: {shape: [6]}, Y: {shape: [4], inout: true}, Z: {shape: [4], inout: true}}
compute:
  - Y[i] += select(J[u] == value(i), X[u], 0)
  - Z[i] += select(J[u] == value(i), X[u], -0.0)
)");
  EXPECT_FALSE(scatter_of(again.statements[0], begins_with_zero(again, again.statements[0].write.tensor)));
  EXPECT_TRUE(scatter_of(again.statements[1], false));
  EXPECT_EQ(digits_of("Y[i,j] += select(value(5*i + j + 7*u + 2) == J[u], X[u], 0)", "i=4,j=5,u=6", types),
            "i:4 j:5 from 7*u + 2");
  // Weights that are no product of extents: one digit is solved, the loop over the other stays.
  EXPECT_EQ(digits_of("Y[i,j] += select(J[u] == value(3*i + j), X[u], 0)", "i=4,j=5,u=6", types), "j:5 from 3*i");
  EXPECT_EQ(digits_of("Y[5*j + i] += select(J[j,u] == value(i), X[u], 0)", "i=5,j=3,u=6", types), "i:5 from 0");
  EXPECT_EQ(digits_of("Y[4*j + i] += select(J[j,u] == value(i), X[u], 0)", "i=5,j=3,u=6", types), "");
  // The position depends on the element; steps of two; a division; not neutral; several elements; no equality.
  EXPECT_EQ(digits_of("Y[i] += select(J[i,u] == value(i), X[u], 0)", "i=4,u=6", types), "");
  EXPECT_EQ(digits_of("Y[i] += select(J[u] == value(2*i), X[u], 0)", "i=4,u=6", types), "");
  EXPECT_EQ(digits_of("Y[i] += select(J[u] == value(i/2), X[u], 0)", "i=4,u=6", types), "");
  EXPECT_EQ(digits_of("Y[i] max= select(J[u] == value(i), X[u], -1)", "i=4,u=6", types), "");
  EXPECT_EQ(digits_of("Y[i + j] += select(J[u] == value(i), X[u,j], 0)", "i=4,j=2,u=6", types), "");
  EXPECT_EQ(digits_of("Y[i] += select(J[u] >= value(i), X[u], 0)", "i=4,u=6", types), "");
  EXPECT_EQ(digits_of("Y[i] += select(f32(J[u]) == f32(value(i)), X[u], 0)", "i=4,u=6", types), "");
}

}  // namespace
}  // namespace isamap

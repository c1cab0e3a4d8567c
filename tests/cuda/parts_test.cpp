// SPDX-License-Identifier: Apache-2.0
// Rows that all warps of a block share: few rows, long rows.

#include "tests/cuda/requests.h"

namespace isamap {
namespace {

bool shared_by_warps(const Program& program, const HardwareModel& model) {
  auto unit = print_cuda(program, model);
  EXPECT_TRUE(unit) << render(unit.diagnostics());
  return unit && unit->text.find("come together") != std::string::npos;
}

struct Rows {
  const char *compute, *tensors;
  bool shared;
};
const std::vector<Rows> rows = {
    {"Y[i] += X[i,j]", "{X: {shape: [3, 4100]}, Y: {shape: [3]}}", true},
    {"Y[i] += X[i,j]", "{X: {shape: [3, 4099], dtype: s32}, Y: {shape: [3], dtype: s32}}", true},
    {"Y[i] max= X[i,j]", "{X: {shape: [2, 1000]}, Y: {shape: [2]}}", true},
    {"Y[z] += s32(X[z,i,j])", "{X: {shape: [1, 70, 33], dtype: s8}, Y: {shape: [1], dtype: s32}}", true},
    {"Y[i] += X[i,j]", "{X: {shape: [3, 777], dtype: f64}, Y: {shape: [3], dtype: f64}}", true},
    {"Y[i] += X[i,j]", "{X: {shape: [3, 4100]}, Y: {shape: [3], inout: true}}", true},
    {"Y[i] += X[i,j]", "{X: {shape: [700, 256]}, Y: {shape: [700]}}", false},  // a row for every warp that is needed
    {"Y[i] += X[i,j]", "{X: {shape: [3, 100]}, Y: {shape: [3]}}", false},      // too short
    {"Y[i] += X[i,j]", "{X: {shape: [0, 4100]}, Y: {shape: [0]}}", false},
};

void few_long_rows_are_shared_by_the_warps_of_a_block(Every every) {
  for (const char* name : {"nvidia_sm80", "nvidia_sm90a"}) {
    const auto model = machine(name);
    for (const Rows& r : rows) {
      if (every.skips()) continue;
      SCOPED_TRACE(std::string(name) + " " + r.compute + " " + r.tensors);
      const Program made = program_of(r.compute, r.tensors, model);
      EXPECT_EQ(shared_by_warps(made, model), r.shared);
      expect_same(made, model, 5);
    }
  }
}

TEST(Parts, FewLongRowsAreSharedByTheWarpsOfABlock) { few_long_rows_are_shared_by_the_warps_of_a_block(Every(11)); }
TEST(HeavyParts, FewLongRowsAreSharedByTheWarpsOfABlock) { few_long_rows_are_shared_by_the_warps_of_a_block(Every(1)); }

TEST(Parts, HeavyAreRightHoweverThreadsTakeTurns) {
  const auto model = machine("nvidia_sm90a");
  const Program made =
      program_of("Y[i] += X[i,j]", "{X: {shape: [2, 4097], dtype: s32}, Y: {shape: [2], dtype: s32}}", model);
  ASSERT_TRUE(shared_by_warps(made, model));
  for (const std::string& how : deliveries) {
    SCOPED_TRACE(how);
    const Delivered delivered(how);
    expect_same(made, model, 3);
  }
}

TEST(Parts, SumsOfRealsInOrderAreNotShared) {
  const auto model = machine("nvidia_sm80");
  Program made = program_of("Y[i] += X[i,j]", "{X: {shape: [3, 4100]}, Y: {shape: [3]}}", model);
  made.sums_in_order = true;
  EXPECT_FALSE(shared_by_warps(made, model));
  expect_same(made, model, 5);
}

TEST(Parts, ABarrierThatIsDroppedIsSeen) {  // planted
  const auto model = machine("nvidia_sm80");
  const Program made = program_of("Y[i] += X[i,j]", "{X: {shape: [2, 4096]}, Y: {shape: [2]}}", model);
  auto unit = print_cuda(made, model);
  ASSERT_TRUE(unit);
  for (const std::string& how : deliveries) {
    SCOPED_TRACE(how);
    const Delivered delivered(how);
    EXPECT_TRUE(emulate(unit->text, *unit, made, model).right);
    const Emulated found = emulate(changed(unit->text, "    __syncthreads();\n", ""), *unit, made, model);
    EXPECT_EQ(found.code, 3);
    EXPECT_NE(found.output.find("no barrier between"), std::string::npos) << found.output;
  }
}

void softmax_and_layer_norm_of_few_rows(Every every) {
  const auto model = machine("nvidia_sm90a");
  for (const char* example : {"layer_norm", "softmax"}) {
    if (every.skips()) continue;
    SCOPED_TRACE(example);
    auto text = read_file(std::string(ISAMAP_SOURCE_DIR) + "/examples/" + example + ".yaml", 1 << 16);
    const std::size_t dims = text.find("dims: {");
    ASSERT_NE(dims, std::string::npos);
    text.replace(dims, text.find('}', dims) - dims + 1, "dims: {M: 2, N: 3000}");
    const Program made = searched(kernel_from(text), model);
    EXPECT_TRUE(shared_by_warps(made, model));
    auto expected = random_data(made.kernel, Fill::real, 4), found = expected;
    const auto outcome = make_runner(model)->run(made, found, RunLimits{}, 0);
    ASSERT_TRUE(outcome) << render(outcome.diagnostics());
    interpret(made.kernel, expected);
    const Comparison comparison = compare(made.kernel, expected, found);  // within bounds of rounding errors
    EXPECT_TRUE(comparison.equal) << comparison.first_difference;
  }
}

TEST(Parts, SoftmaxAndLayerNormOfFewRows) { softmax_and_layer_norm_of_few_rows(Every(2)); }
TEST(HeavyParts, SoftmaxAndLayerNormOfFewRows) { softmax_and_layer_norm_of_few_rows(Every(1)); }

TEST(Parts, WithoutATimeOfTheMemoryOneWarpHasARow) {  // how many would be needed is not known
  const std::string folder = std::string(ISAMAP_SOURCE_DIR) + "/hardware_models";
  const TemporaryDirectory place;
  const auto path = place.path() / "timeless.yaml";
  const std::string timeless =
      changed(read_file(folder + "/nvidia_sm80.yaml", 1 << 20), "bandwidth: {read: 1555GB/s, write: 1555GB/s},", "");
  write_file(path, timeless.data(), timeless.size());
  auto loaded = load_hardware(path.string(), {folder});
  ASSERT_TRUE(loaded) << render(loaded.diagnostics());
  const Program made = program_of("Y[i] += X[i,j]", "{X: {shape: [2, 4096]}, Y: {shape: [2]}}", loaded->model);
  EXPECT_FALSE(shared_by_warps(made, loaded->model));
  expect_same(made, loaded->model, 4);
}

}  // namespace
}  // namespace isamap

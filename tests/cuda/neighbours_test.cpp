// SPDX-License-Identifier: Apache-2.0
// Elements side by side, several at a time: where that is done, that it is right, and what it costs the memory.

#include "tests/cuda/requests.h"

namespace isamap {
namespace {

struct Case {
  const char *compute, *tensors, *move;  ///< a move that must be used; empty: none may be
};
const std::vector<Case> cases = {
    {"Y[i,j] = X[i,j] * X[i,j]", "{X: {shape: [7, 100]}, Y: {shape: [7, 100]}}", "fetch_16_b32"},
    {"Y[i] = X[i] + 1", "{X: {shape: [1003]}, Y: {shape: [1003]}}", "put_16_b32"},  // a shorter last chunk
    {"Y[i,j] = X[i,j] + B[j]", "{X: {shape: [9, 36]}, B: {shape: [36]}, Y: {shape: [9, 36]}}", "fetch_16_b32"},
    {"Y[i,j] = X[i,j] + B[j]", "{X: {shape: [9, 37]}, B: {shape: [37]}, Y: {shape: [9, 37]}}", "fetch_16_b32"},
    {"Y[i] = bf16(f32(X[i]) * f32(Z[i]))",
     "{X: {shape: [999], dtype: bf16}, Z: {shape: [999], dtype: bf16}, Y: {shape: [999], dtype: bf16}}",
     "fetch_16_b16"},
    {"Y[i] = f32(X[i])", "{X: {shape: [999], dtype: f16}, Y: {shape: [999]}}", "fetch_8_b16"},
    {"Y[i] = f32(X[i])", "{X: {shape: [999], dtype: s8}, Y: {shape: [999]}}", "fetch_4_b8"},
    {"Y[i] = sat_s8(X[i])", "{X: {shape: [999], dtype: s32}, Y: {shape: [999], dtype: s8}}", "put_4_b8"},
    {"Y[i] = max(X[i], Z[i])",
     "{X: {shape: [999], dtype: s8}, Z: {shape: [999], dtype: s8}, Y: {shape: [999], dtype: s8}}", "fetch_16_b8"},
    {"Y[i] = X[i] * 3", "{X: {shape: [99], dtype: f64}, Y: {shape: [99], dtype: f64}}", "put_16_f64"},
    {"Y[i] = X[i] + X[0]", "{X: {shape: [200], dtype: s32}, Y: {shape: [200], dtype: s32}}", "fetch_16_b32"},
    {"Y[j,i] = X[i,j]", "{X: {shape: [24, 40]}, Y: {shape: [40, 24]}}", "put_16_b32"},  // one of them side by side
    {"Y[i] = X[i + 1]", "{X: {shape: [1001]}, Y: {shape: [1000]}}", ""},                // no multiple of 16 bytes
    {"Y[i] = X[i + 2]", "{X: {shape: [1002]}, Y: {shape: [1000]}}", "fetch_8_b32"},     // but of 8
    {"Y[i] = X[i] + 1", "{X: {shape: [1]}, Y: {shape: [1]}}", ""},
    {"Y[i] = X[i] + 1", "{X: {shape: [0]}, Y: {shape: [0]}}", ""},
    {"Y[i] = X[i] - Y[i]", "{X: {shape: [400]}, Y: {shape: [400], inout: true}}", ""},  // what is written is read
};

void are_taken_together_where_they_lie_so(Every every) {
  for (const char* name : {"nvidia_sm80", "nvidia_sm90a"}) {
    const auto model = machine(name);
    for (const Case& c : cases) {
      if (name == std::string("nvidia_sm90a") && &c - cases.data() > 1)
        break;  // its instructions are those of the other
      if (every.skips()) continue;
      SCOPED_TRACE(std::string(name) + " " + c.compute + " " + c.tensors);
      const Program made = program_of(c.compute, c.tensors, model);
      expect_same(made, model, 6);
      auto unit = print_cuda(made, model);
      ASSERT_TRUE(unit) << render(unit.diagnostics());
      const std::string move = c.move;
      EXPECT_EQ(unit->text.find(move.empty() ? "neighbours at a time" : move + "(") != std::string::npos, !move.empty())
          << unit->text;
    }
  }
}

TEST(Neighbours, AreTakenTogetherWhereTheyLieSo) { are_taken_together_where_they_lie_so(Every(5)); }
TEST(HeavyNeighbours, AreTakenTogetherWhereTheyLieSo) { are_taken_together_where_they_lie_so(Every(1)); }

TEST(Neighbours, AskForNoMoreSectorsInAQuarterOfTheRequests) {
  const auto model = machine("nvidia_sm80");
  const Program made = program_of("Y[i,j] = X[i,j] + 1", "{X: {shape: [16, 64]}, Y: {shape: [16, 64]}}", model);
  const auto found = requests(made, model);
  EXPECT_EQ(found.at("k_1 X loads"), (Sectors{8, 128, 128}));
  EXPECT_EQ(found.at("k_1 Y stores"), (Sectors{8, 128, 128}));
}

void rows_of_a_reduction(Every every) {
  const auto model = machine("nvidia_sm80");
  const std::vector<Case> rows = {
      {"Y[i] += X[i,j]", "{X: {shape: [5, 1000]}, Y: {shape: [5]}}", "fetch_16_b32"},
      {"Y[i] max= X[i,j]", "{X: {shape: [5, 136], dtype: s8}, Y: {shape: [5], dtype: s8}}", ""},
      {"Y[i] += s32(X[i,j])", "{X: {shape: [5, 2064], dtype: s8}, Y: {shape: [5], dtype: s32}}", "fetch_16_b8"},
      {"Y[i] += f32(X[i,j]) * f32(Z[j])",
       "{X: {shape: [3, 520], dtype: bf16}, Z: {shape: [520], dtype: bf16}, Y: {shape: [3]}}", "fetch_16_b16"},
      {"Y[i] += X[i,j]", "{X: {shape: [5, 1001]}, Y: {shape: [5]}}", ""},  // rows begin anywhere
      {"Y[i] += X[i,j,k]", "{X: {shape: [5, 9, 72]}, Y: {shape: [5]}}", "fetch_16_b32"},
      {"Y[i] += X[i,j] * X[i,j]", "{X: {shape: [4, 130], dtype: f64}, Y: {shape: [4], dtype: f64}}", "fetch_16_f64"},
  };
  for (const Case& c : rows) {
    if (every.skips()) continue;
    SCOPED_TRACE(std::string(c.compute) + " " + c.tensors);
    const Program made = program_of(c.compute, c.tensors, model);
    expect_same(made, model, 6);
    auto unit = print_cuda(made, model);
    ASSERT_TRUE(unit) << render(unit.diagnostics());
    const std::string move = c.move;
    EXPECT_EQ(unit->text.find(move.empty() ? "neighbours at a time" : move + "(") != std::string::npos, !move.empty())
        << unit->text;
  }
}

TEST(Neighbours, RowsOfAReduction) { rows_of_a_reduction(Every(6)); }
TEST(HeavyNeighbours, RowsOfAReduction) { rows_of_a_reduction(Every(1)); }

TEST(Neighbours, AnAddressBetweenMultiplesIsSeen) {  // planted
  const auto model = machine("nvidia_sm80");
  const Program made = program_of("Y[i] = X[i] + 1", "{X: {shape: [512]}, Y: {shape: [512]}}", model);
  auto unit = print_cuda(made, model);
  ASSERT_TRUE(unit);
  const Emulated found =
      emulate(changed(unit->text, "fetch_16_b32(X_in_0, ", "fetch_16_b32(X_in_0, 1 + "), *unit, made, model);
  EXPECT_EQ(found.code, 3);
  EXPECT_NE(found.output.find("no multiple of 16"), std::string::npos) << found.output;
}

TEST(Neighbours, OnlyThroughMovesThatAreDescribed) {
  const std::string folder = std::string(ISAMAP_SOURCE_DIR) + "/hardware_models";
  const TemporaryDirectory place;
  const auto path = place.path() / "narrow.yaml";
  const std::string all = read_file(folder + "/nvidia_sm80.yaml", 1 << 20);
  const std::string narrow = changed(all, "    - {b: 16, t: b32, n: 4,  q: .v4.b32, l: \"{{\", r: \"}}\", i: 4}\n", "");
  write_file(path, narrow.data(), narrow.size());
  auto loaded = load_hardware(path.string(), {folder});
  ASSERT_TRUE(loaded) << render(loaded.diagnostics());
  const Program made = program_of("Y[i] = X[i] + 1", "{X: {shape: [512]}, Y: {shape: [512]}}", loaded->model);
  expect_same(made, loaded->model, 4);
  EXPECT_NE(print_cuda(made, loaded->model)->text.find("fetch_8_b32"), std::string::npos);
}

}  // namespace
}  // namespace isamap

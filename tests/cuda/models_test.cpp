// SPDX-License-Identifier: Apache-2.0
// Whole models as one program of kernels: emulated, compared part by part, launches counted, and broken on purpose.

#include <set>

#include "backends/cuda/model_unit.h"
#include "backends/model_runner.h"
#include "driver/launch_fusion.h"
#include "driver/plan/plan_model.h"
#include "driver/run_model.h"
#include "tests/cuda/support.h"
#include "tests/model_places.h"
#include "tests/models_of_text.h"

namespace isamap {
namespace {

/// A product, an activation, softmax over its rows and a sum over its columns: 7 statements.
Model rows_model() {
  return model_of(R"(kernel rows
tensor X: f32[12,16]
tensor W: f32[16,32] constant
tensor T: f32[12,32]
tensor R: f32[12,32]
tensor M: f32[12]
tensor E: f32[12,32]
tensor S: f32[12]
tensor P: f32[12,32]
tensor Y: f32[32]
product: T[i,j] += X[i,k] * W[k,j] over i: 12, j: 32, k: 16
relu: R[i,j] = max(T[i,j], 0) over i: 12, j: 32
largest: M[i] max= R[i,j] over i: 12, j: 32
power: E[i,j] = exp(R[i,j] - M[i]) over i: 12, j: 32
sum: S[i] += E[i,j] over i: 12, j: 32
share: P[i,j] = E[i,j] / S[i] over i: 12, j: 32
columns: Y[j] += P[i,j] * R[i,j] over j: 32, i: 12
)");
}

class DeviceModels : public testing::Test {
 protected:
  DeviceModels() : model_(rows_model()), machine_(machine("nvidia_sm80")), store_(machine_, options()) {
    data_ = random_data(model_.kernel, Fill::real, 3);
    compiled_ = compile_model(model_, single_statements(model_.kernel), store_);
  }
  static PartStoreOptions options() {
    PartStoreOptions options;
    options.compile.schedule.max_evaluations = 20;
    return options;
  }
  void expect_right(const CompiledModel& compiled) {
    const ModelRun run = run_model(model_, compiled, machine_, data_, {});
    ASSERT_EQ(run.code, Exit::ok) << render(run.problems);
    EXPECT_TRUE(run.whole);
    EXPECT_EQ(run.executed, ExecutionMode::emulated);
    std::vector<TensorData> expected = data_;
    interpret(model_.kernel, expected);
    for (std::int64_t i = 0; i < 32; ++i) EXPECT_NEAR(run.data[8].get(i).real, expected[8].get(i).real, 1e-4);
  }
  std::int64_t launches(const CompiledModel& compiled) {
    const auto linked = link_model(model_, compiled, data_, machine_);
    EXPECT_TRUE(linked);
    const auto unit = print_device_model(*linked, machine_);
    EXPECT_TRUE(unit);
    return unit ? unit->launches : -1;
  }

  Model model_;
  HardwareModel machine_;
  PartStore store_;
  CompiledModel compiled_;
  std::vector<TensorData> data_;
};

TEST_F(DeviceModels, ComputeWhatTheInterpreterDoes) {
  ASSERT_EQ(compiled_.code, Exit::ok);
  expect_right(compiled_);
  EXPECT_EQ(launches(compiled_), 7) << "a sum begins in the launch that adds it up";
}

/// What the emulation counts is told of every kernel of the model, and only where it is asked for.
TEST_F(DeviceModels, TellTheRequestsOfAllKernels) {
  const auto kernels_told = [&] {
    const ModelRun run = run_model(model_, compiled_, machine_, data_, {});
    EXPECT_EQ(run.code, Exit::ok) << render(run.problems);
    std::set<std::string> kernels;
    for (const MemoryRequests& one : run.counts.requests) kernels.insert(one.part);
    return kernels.size();
  };
  setenv("ISAMAP_EMULATION_COUNTS", "1", 1);
  const std::size_t asked = kernels_told();
  unsetenv("ISAMAP_EMULATION_COUNTS");
  EXPECT_EQ(asked, 7u);
  EXPECT_EQ(kernels_told(), 0u);
}

/// The sums of the product are too few, and added up by whole blocks, which compute the activation, too. The others are
/// little enough for one block.
TEST_F(DeviceModels, JoinPartsThatAreOneLaunch) {
  const ModelPlan plan = fuse_launches(model_, single_statements(model_.kernel), store_);
  EXPECT_EQ(plan.parts, (std::vector<Part>{{{0, 1}}, {{2, 3, 4, 5, 6}}}));
  EXPECT_TRUE(verify(plan, model_.kernel).empty());
  const CompiledModel joined = compile_model(model_, plan, store_);
  EXPECT_EQ(launches(joined), 2);
  expect_right(joined);
}

TEST_F(DeviceModels, HaveOneArenaAndAllocateNothingInARun) {
  const auto linked = link_model(model_, compiled_, data_, machine_);
  ASSERT_TRUE(linked);
  const auto unit = print_device_model(*linked, machine_);
  ASSERT_TRUE(unit) << render(unit.diagnostics());
  EXPECT_EQ(unit->extension, ".cu");
  const std::size_t run = unit->text.find("int rows_run(");
  ASSERT_NE(run, std::string::npos);
  EXPECT_EQ(unit->text.find("Malloc", run), std::string::npos);
  EXPECT_EQ(unit->text.find("cudaMallocAsync"), std::string::npos);
  EXPECT_EQ(unit->arena_bytes % 256, 0);
  EXPECT_GE(unit->arena_bytes, linked->arena_bytes + 12 * 16 * 4 + 32 * 4);
  EXPECT_NE(unit->header.find("rows_device_failed"), std::string::npos);
}

/// R is needed until the last part. Placed where E goes it is overwritten, and the last part is wrong.
TEST_F(DeviceModels, AWrongPlaceInTheArenaIsSeen) {
  auto linked = link_model(model_, compiled_, data_, machine_);
  ASSERT_TRUE(linked);
  const auto place_of = [&](std::size_t call, const std::string& name) -> ModelPlace& {
    return place_in(*linked, compiled_, call, name);
  };
  const auto found = [&] { return bytes_after(*linked, machine_, data_[0], {place_of(6, "Y"), 32 * 4}); };
  const std::vector<std::uint8_t> right = found();
  ASSERT_EQ(right.size(), 32u * 4);
  place_of(3, "E") = place_of(4, "E") = place_of(5, "E") = place_of(1, "R");
  EXPECT_NE(found(), right);
}

TEST_F(DeviceModels, HaveNoBands) {
  ModelPlan plan = single_statements(model_.kernel);
  compiled_.bands.emplace_back();
  const ModelRun run = run_model(model_, compiled_, machine_, data_, {});
  EXPECT_EQ(run.code, Exit::no_answer);
}

}  // namespace
}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
// Whole models as one stream of commands on accelerators: what the simulator leaves, counts, and reads back from text;
// and what a broken arena would look like.

#include "backends/assembly/model_stream.h"

#include <gtest/gtest.h>

#include "backends/assembly/printer.h"
#include "backends/model_runner.h"
#include "backends/simulator/model_simulation.h"
#include "driver/plan_model.h"
#include "driver/run_model.h"
#include "driver/stream_facts.h"
#include "ir/text/parse.h"
#include "isamap/program_on_machine.h"
#include "tests/model_places.h"

namespace isamap {
namespace {

/// Two products of bytes, each scaled to bytes, and a sum over rows, which no instruction computes. Sizes divide by no
/// tile.
Model bytes_model() {
  Model model;
  model.kernel = *parse_kernel(R"(kernel bytes
tensor X: s8[19,21]
tensor W: s8[21,21] constant
tensor T: s32[19,21]
tensor R: s8[19,21]
tensor U: s32[19,21]
tensor V: s8[19,21]
tensor Y: s32[19]
first: T[i,j] += s32(X[i,k]) * s32(W[k,j]) over i: 19, j: 21, k: 21
scale: R[i,j] = sat_s8(round(f32(T[i,j]) * 0.25)) over i: 19, j: 21
second: U[i,j] += s32(R[i,k]) * s32(W[k,j]) over i: 19, j: 21, k: 21
again: V[i,j] = sat_s8(round(f32(U[i,j]) * 0.125)) over i: 19, j: 21
rows: Y[i] += s32(V[i,j]) + s32(R[i,j]) over i: 19, j: 21
)");
  model.inputs = {make_id<TensorId>(0)};
  model.outputs = {make_id<TensorId>(6)};
  model.file_names = {{model.inputs[0], "x"}, {model.outputs[0], "y"}};
  return model;
}

ModelPlan pairs_and_rows() {
  ModelPlan plan;
  plan.parts = {{{0, 1}}, {{2, 3}}, {{4}}};
  return plan;
}

struct OnMachine {
  explicit OnMachine(const std::string& target)
      : model(bytes_model()),
        machine(load_hardware(target, {std::string(ISAMAP_SOURCE_DIR) + "/hardware_models"})->model),
        store(machine, options()),
        data(random_data(model.kernel, Fill::integers, 3)),
        compiled(compile_model(model, pairs_and_rows(), store)) {}
  static PartStoreOptions options() {
    PartStoreOptions options;
    options.compile.schedule.max_evaluations = 60;
    return options;
  }
  Model model;
  HardwareModel machine;
  PartStore store;
  std::vector<TensorData> data;
  CompiledModel compiled;
};

std::string message(const Diagnostics& problems) { return problems.empty() ? "" : problems.front().message; }

class ModelStreams : public testing::TestWithParam<const char*> {};

TEST_P(ModelStreams, ComputeWhatTheInterpreterDoesAsOneProgram) {
  OnMachine on(GetParam());
  ASSERT_EQ(on.compiled.code, Exit::ok) << message(on.compiled.problems);
  const ModelRun run = run_model(on.model, on.compiled, on.machine, on.data, {});
  ASSERT_EQ(run.code, Exit::ok) << message(run.problems);
  EXPECT_TRUE(run.whole);
  std::vector<TensorData> expected = on.data;
  interpret(on.model.kernel, expected);
  EXPECT_EQ(run.data[6], expected[6]);
  EXPECT_GT(run.arena_bytes, 0);
  EXPECT_GE(run.arena_bytes, run.arena_bound);
}

TEST_P(ModelStreams, PartsAddUpToTheWhole) {
  OnMachine on(GetParam());
  const ModelRun run = run_model(on.model, on.compiled, on.machine, on.data, {});
  ASSERT_EQ(run.parts.size(), 3u);
  SimulatedPart sum;
  for (const PartRun& part : run.parts) {
    sum.cycles += part.simulated.cycles;
    sum.scalar_cycles += part.simulated.scalar_cycles;
    sum.commands += part.simulated.commands;
    for (const auto& [link, bytes] : part.simulated.link_bytes) sum.link_bytes[link] += bytes;
  }
  EXPECT_EQ(sum.cycles, run.simulated.cycles);
  EXPECT_DOUBLE_EQ(sum.scalar_cycles, run.simulated.scalar_cycles);
  EXPECT_EQ(sum.commands, run.simulated.commands);
  EXPECT_EQ(sum.link_bytes, run.simulated.link_bytes);
  const StreamFacts facts = stream_facts(on.compiled, run, on.machine);
  EXPECT_EQ(facts.host_parts, 1u);
  EXPECT_EQ(facts.parts[2].by, PartFacts::By::host);
  ASSERT_EQ(facts.parts[2].on_host.size(), 1u);
  EXPECT_FALSE(facts.parts[2].on_host[0].reasons.empty()) << "what is left to the host says why";
  EXPECT_EQ(run.parts[2].simulated.commands, 0);
  EXPECT_GT(run.parts[2].simulated.scalar_cycles, 0);
  for (const PortUse& use : facts.ports) EXPECT_LE(use.utilisation, 1.0) << use.port;
}

/// The text, and the program of its host nests, are all that a second simulation needs.
TEST_P(ModelStreams, RunAgainFromTheirText) {
  OnMachine on(GetParam());
  const auto linked = link_model(on.model, on.compiled, on.data, on.machine);
  ASSERT_TRUE(linked);
  const auto stream = model_stream(*linked, on.machine);
  ASSERT_TRUE(stream);
  const auto text = print_assembly(stream->program, on.machine);
  ASSERT_TRUE(text);
  const std::string printed = print(stream->program, on.machine);
  const auto again = parse_program(printed, on.machine);
  ASSERT_TRUE(again) << message(again.diagnostics());
  EXPECT_EQ(print(*again, on.machine), printed);
  EXPECT_EQ(*print_assembly(*again, on.machine), *text);
  const ModelStream read{*again, stream->places};
  const auto ran = simulate_model({*text, read, *linked, on.machine, {}, {}}, {on.data[0].bytes});
  ASSERT_TRUE(ran) << message(ran.diagnostics());
  std::vector<TensorData> expected = on.data;
  interpret(on.model.kernel, expected);
  EXPECT_EQ(ran->outputs[0], expected[6].bytes);
}

/// R is needed until the last part. Placed where V goes, it is overwritten.
TEST_P(ModelStreams, WrongPlacesInTheArenaAreSeen) {
  OnMachine on(GetParam());
  auto linked = link_model(on.model, on.compiled, on.data, on.machine);
  ASSERT_TRUE(linked);
  const auto place_of = [&](std::size_t call, const std::string& name) -> ModelPlace& {
    return place_in(*linked, on.compiled, call, name);
  };
  std::vector<TensorData> expected = on.data;
  interpret(on.model.kernel, expected);
  const auto rows = [&] { return bytes_after(*linked, on.machine, on.data[0], {place_of(2, "Y"), 19 * 4}); };
  EXPECT_EQ(rows(), expected[6].bytes);
  place_of(1, "V") = place_of(2, "V") = place_of(2, "R");
  EXPECT_NE(rows(), expected[6].bytes);
}

INSTANTIATE_TEST_SUITE_P(Machines, ModelStreams, testing::Values("systolic16", "vta16", "output_stationary16"),
                         [](const auto& machine) { return std::string(machine.param); });

TEST(ModelStreamsAlone, ModelsLargerThanTheMemoryAreRefused) {
  OnMachine on("systolic16");
  auto linked = link_model(on.model, on.compiled, on.data, on.machine);
  ASSERT_TRUE(linked);
  linked->arena_bytes = std::int64_t{5} << 30;
  const auto stream = model_stream(*linked, on.machine);
  ASSERT_FALSE(stream);
  EXPECT_NE(message(stream.diagnostics()).find("bytes of dram, which has"), std::string::npos);
}

TEST(ModelStreamsAlone, MarkersOfPartsAreRead) {
  EXPECT_EQ(marked_part(part_marker(12, "conv_3")), 12u);
  EXPECT_FALSE(marked_part("part of the sum: x"));
  EXPECT_FALSE(marked_part("part 3"));
  EXPECT_FALSE(marked_part("host 3: x"));
}

}  // namespace
}  // namespace isamap

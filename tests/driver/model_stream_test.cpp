// SPDX-License-Identifier: Apache-2.0
// Whole models as one stream of commands on accelerators: what the simulator leaves, counts, and reads back from text;
// and what a broken arena would look like.

#include "backends/assembly/model_stream.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>

#include "backends/assembly/printer.h"
#include "backends/simulator/model_simulation.h"
#include "driver/stream_facts.h"
#include "isamap/program_on_machine.h"
#include "tests/driver/on_machine.h"
#include "tests/models_of_text.h"

namespace isamap {
namespace {

/// Two products of bytes, each scaled to bytes, and a sum over rows, which no instruction computes. Sizes divide by no
/// tile.
Model bytes_model() {
  return model_of(R"(kernel bytes
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
}

ModelPlan pairs_and_rows() {
  ModelPlan plan;
  plan.parts = {{{0, 1}}, {{2, 3}}, {{4}}};
  return plan;
}

OnMachine on_machine(const std::string& target) {
  return {bytes_model(), described(target), pairs_and_rows(), Fill::integers, 60};
}

class ModelStreams : public testing::TestWithParam<const char*> {};

TEST_P(ModelStreams, ComputeWhatTheInterpreterDoesAsOneProgram) {
  const OnMachine on = on_machine(GetParam());
  ASSERT_EQ(on.compiled.code, Exit::ok) << message(on.compiled.problems);
  const ModelRun run = on.run();
  ASSERT_EQ(run.code, Exit::ok) << message(run.problems);
  EXPECT_TRUE(run.whole);
  const std::vector<TensorData> expected = on.expected();
  EXPECT_EQ(run.data[6], expected[6]);
  EXPECT_GT(run.arena_bytes, 0);
  EXPECT_GE(run.arena_bytes, run.arena_bound);
}

TEST_P(ModelStreams, PartsAddUpToTheWhole) {
  const OnMachine on = on_machine(GetParam());
  const ModelRun run = on.run();
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
  EXPECT_EQ(facts.parts[2].on_host[0].cause, ScalarCode::Cause::nothing_maps);
  EXPECT_EQ(run.parts[2].simulated.commands, 0);
  EXPECT_GT(run.parts[2].simulated.scalar_cycles, 0);
  for (const PortUse& use : facts.ports) EXPECT_LE(use.utilisation, 1.0) << use.port;
}

/// The text, and the program of its host nests, are all that a second simulation needs.
TEST_P(ModelStreams, RunAgainFromTheirText) {
  const OnMachine on = on_machine(GetParam());
  const auto linked = on.link();
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
  const std::vector<TensorData> expected = on.expected();
  EXPECT_EQ(ran->outputs[0], expected[6].bytes);
}

/// R is needed until the last part. Placed where V goes, it is overwritten.
TEST_P(ModelStreams, WrongPlacesInTheArenaAreSeen) {
  const OnMachine on = on_machine(GetParam());
  auto linked = on.link();
  ASSERT_TRUE(linked);
  const std::vector<std::uint8_t> right = on.expected()[6].bytes;
  EXPECT_EQ(on.last(*linked, "Y", 19 * 4), right);
  on.place_of(*linked, 1, "V") = on.place_of(*linked, 2, "V") = on.place_of(*linked, 2, "R");
  EXPECT_NE(on.last(*linked, "Y", 19 * 4), right);
}

INSTANTIATE_TEST_SUITE_P(Machines, ModelStreams, testing::Values("systolic16", "vta16", "output_stationary16"),
                         [](const auto& machine) { return std::string(machine.param); });

/// Bias, product and scaling are one chain of commands: the sums begin with the bias, and leave the accumulator as
/// bytes.
class BiasedSums : public testing::TestWithParam<const char*> {};

Model biased_model() {
  return model_of(R"(kernel biased
tensor X: s8[19,21]
tensor W: s8[21,37] constant
tensor B: s32[37] constant
tensor T: s32[19,37]
tensor R: s8[19,37]
bias: T[i,j] = B[j] over i: 19, j: 37
product: T[i,j] += s32(X[i,k]) * s32(W[k,j]) over i: 19, j: 37, k: 21
scale: R[a,b] = sat_s8(round(f32(T[a,b]) * 0.25)) over a: 19, b: 37
)");
}

TEST_P(BiasedSums, StayOnTheMachine) {
  const Model model = biased_model();
  EXPECT_EQ(chain_plan(model.kernel).parts, (std::vector<Part>{{{0, 1, 2}}}));
  const OnMachine on(model, described(GetParam()), chain_plan(model.kernel), Fill::integers, 60);
  ASSERT_EQ(on.compiled.code, Exit::ok) << message(on.compiled.problems);
  const ModelRun run = on.run();
  ASSERT_EQ(run.code, Exit::ok) << message(run.problems);
  EXPECT_EQ(run.data[4], on.expected()[4]);
  const StreamFacts facts = stream_facts(on.compiled, run, on.machine);
  EXPECT_EQ(facts.parts[0].by, PartFacts::By::commands) << facts.parts[0].on_host[0].statement << "\n"
                                                        << print(on.compiled.programs[0]->scheduled->schedule);
  const std::string schedule = print(on.compiled.programs[0]->scheduled->schedule);
  EXPECT_NE(schedule.find("from bias"), std::string::npos) << schedule;
  EXPECT_NE(schedule.find("then scale"), std::string::npos) << schedule;
  // No word of T is in memory: the bias comes in, bytes leave.
  const auto& home = run.simulated.memories.at(on.machine.memory(on.machine.home()).name);
  EXPECT_LT(home.written, 2 * 19 * 37);
  const double ratio = facts.simulated.commands / facts.predicted.commands;
  EXPECT_GT(ratio, 0.6) << schedule;
  EXPECT_LT(ratio, 1.7) << schedule;
}

/// Without terms the bias is all there is.
TEST_P(BiasedSums, AreTheBiasWithoutTerms) {
  const Model model = model_of(R"(kernel biased
tensor X: s8[5,0]
tensor W: s8[0,37] constant
tensor B: s32[37] constant
tensor T: s32[5,37]
bias: T[i,j] = B[j] over i: 5, j: 37
product: T[i,j] += s32(X[i,k]) * s32(W[k,j]) over i: 5, j: 37, k: 0
)");
  const OnMachine on(model, described(GetParam()), chain_plan(model.kernel), Fill::integers, 60);
  ASSERT_EQ(on.compiled.code, Exit::ok) << message(on.compiled.problems);
  const ModelRun run = on.run();
  ASSERT_EQ(run.code, Exit::ok) << message(run.problems);
  EXPECT_EQ(run.data[3], on.expected()[3]);
}

INSTANTIATE_TEST_SUITE_P(Machines, BiasedSums,
                         testing::Values("systolic16", "vta16", "output_stationary16", "dot16", "cube16"),
                         [](const auto& machine) { return std::string(machine.param); });

/// Layers of quantised products: each takes the bytes of the one before from the scratchpad.
class Chains : public testing::TestWithParam<const char*> {};

/// dot16, and systolic16 with a move that leaves results in the scratchpad, which has this size.
HardwareModel keeping(const std::string& target, const std::string& size = "256KiB") {
  std::ifstream file(std::string(ISAMAP_SOURCE_DIR) + "/hardware_models/" + target + ".yaml");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::string whole = "kind: scratchpad, capacity: 256KiB";
  EXPECT_NE(text.find(whole), std::string::npos);
  text.replace(text.find(whole), whole.size(), "kind: scratchpad, capacity: " + size);
  if (target == "systolic16") {
    text.insert(text.find("states:"),
                "  - {name: keep, from: acc, to: spad, bandwidth: 16B/cycle, latency: 10cycles}\n");
    text += R"yaml(
  - name: leave_scaled
    link: keep
    compute: "D[i,j] = sat_s8(round(f32(S[i,j]) * scale[]))"
    dims: {i: {max: "${dim}"}, j: {max: "${dim}"}}
    inactive: keep
    needs: {st.relu: 0}
    operands:
      D: {dtype: s8, layout: {i: "${dim}", j: 1}}
      S: {dtype: s32, layout: {i: "${dim}", j: 1}}
      scale: {state: st.scale}
    emit: "leave {D}, {S}, {extent[j]}, {extent[i]}"
    timing: {port: store, interval: "extent[i] cycles"}
)yaml";
  }
  const std::string path = testing::TempDir() + "keeping_" + target + "_" + size + ".yaml";
  std::ofstream(path) << text;
  auto loaded = load_hardware(path, {});
  EXPECT_TRUE(loaded) << message(loaded.diagnostics());
  return loaded->model;
}

/// Channels are multiples of what an instruction of dot16 sums at a time; rows divide by nothing.
Model chain_of(std::size_t layers) {
  constexpr std::int64_t rows = 19, channels[] = {64, 96, 32};
  std::string tensors = fmt::format("kernel chain\ntensor R0: s8[{},{}]\n", rows, channels[0]), statements;
  for (std::size_t l = 0; l < layers; ++l) {
    const std::int64_t in = channels[l % 3], out = channels[(l + 1) % 3];
    tensors += fmt::format("tensor W{0}: s8[{1},{2}] constant\ntensor T{0}: s32[{3},{2}]\ntensor R{4}: s8[{3},{2}]\n",
                           l, in, out, rows, l + 1);
    statements += fmt::format(
        "mul{0}: T{0}[i,j] += s32(R{0}[i,k]) * s32(W{0}[k,j]) over i: {1}, j: {2}, k: {3}\n"
        "scale{0}: R{4}[i,j] = sat_s8(round(f32(T{0}[i,j]) * 0.0625)) over i: {1}, j: {2}\n",
        l, rows, out, in, l + 1);
  }
  return model_of(tensors + statements);
}

TEST_P(Chains, StayInTheScratchpad) {
  const Model model = chain_of(4);
  const HardwareModel machine = keeping(GetParam());
  PartStore draft(machine, OnMachine::searched_for(15));
  const ModelPlan plan = plan_model(model, draft, {});
  EXPECT_EQ(plan.parts.size(), 1u) << (plan.refused.empty() ? "" : plan.refused.front().reason);
  const OnMachine together(model, machine, plan, Fill::integers, 15);
  const OnMachine apart(model, machine, chain_plan(model.kernel), Fill::integers, 15);
  const ModelRun run = together.run(), run_apart = apart.run();
  ASSERT_EQ(run.code, Exit::ok) << message(run.problems);
  ASSERT_EQ(run_apart.code, Exit::ok) << message(run_apart.problems);
  const std::size_t last = model.outputs.front().index();
  EXPECT_EQ(run.data[last], together.expected()[last]);
  std::set<std::string> kept;
  const StreamFacts facts = stream_facts(together.compiled, run, machine);
  for (const ResidentTensor& one : facts.parts[0].kept) kept.insert(one.tensor);
  for (const char* tensor : {"R1", "R2", "R3"}) EXPECT_TRUE(kept.contains(tensor)) << tensor;
  EXPECT_LT(run.simulated.cycles, run_apart.simulated.cycles);
  const std::string home = machine.memory(machine.home()).name;
  const std::int64_t between = 19 * (96 + 32 + 64);  // R1 to R3
  EXPECT_LE(run.simulated.memories.at(home).written + between, run_apart.simulated.memories.at(home).written);
}

/// A scratchpad that holds one tensor between layers, not two with the tiles of their weights.
TEST_P(Chains, AreCutWhereTheScratchpadIsFull) {
  const Model model = chain_of(3);
  const HardwareModel machine = keeping(GetParam(), "4KiB");
  PartStore draft(machine, OnMachine::searched_for(15));
  const ModelPlan plan = plan_model(model, draft, {});
  EXPECT_GT(plan.parts.size(), 1u);
  const OnMachine on(model, machine, plan, Fill::integers, 15);
  ASSERT_EQ(on.compiled.code, Exit::ok) << message(on.compiled.problems);
  const ModelRun run = on.run();
  ASSERT_EQ(run.code, Exit::ok) << message(run.problems);
}

INSTANTIATE_TEST_SUITE_P(Machines, Chains, testing::Values("dot16"),
                         [](const auto& machine) { return std::string(machine.param); });
INSTANTIATE_TEST_SUITE_P(HeavyMachines, Chains, testing::Values("systolic16"),
                         [](const auto& machine) { return std::string(machine.param); });

TEST(ModelStreamsAlone, ModelsLargerThanTheMemoryAreRefused) {
  const OnMachine on = on_machine("systolic16");
  auto linked = on.link();
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

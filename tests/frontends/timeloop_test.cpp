// SPDX-License-Identifier: Apache-2.0
// Records of the access model written in Timeloop's form: imported and evaluated they are met to the digit.

#include "frontends/timeloop/timeloop.h"

#include <gtest/gtest.h>

#include <fstream>

#include "isamap/cost_model.h"
#include "isamap/frontends.h"
#include "isamap/hardware.h"
#include "isamap/scheduler.h"
#include "tests/scratch.h"

namespace isamap {
namespace {

std::string data(const std::string& name) {
  return std::string(ISAMAP_SOURCE_DIR) + "/tests/frontends/timeloop/" + name + ".yaml";
}

std::string written(const std::string& name, const std::string& text) {
  const std::string path = scratch("timeloop_" + name + ".yaml");
  std::ofstream(path) << text;
  return path;
}

Cost evaluated(const timeloop::Files& files) {
  const auto made = timeloop::import(files);
  EXPECT_TRUE(made) << render(made.diagnostics());
  if (!made) return {};
  const auto kernel = parse_kernel_yaml(made->kernel, "kernel.yaml");
  const auto model = load_hardware(written("hardware", made->hardware), {});
  EXPECT_TRUE(kernel) << made->kernel << render(kernel.diagnostics());
  EXPECT_TRUE(model) << made->hardware << render(model.diagnostics());
  if (!kernel || !model) return {};
  const auto schedule = parse_schedule(made->schedule, "schedule.yaml", *kernel, model->model);
  EXPECT_TRUE(schedule) << made->schedule << render(schedule.diagnostics());
  if (!schedule) return {};
  const auto cost =
      make_cost_model_closed_form()->estimate({&*kernel, StatementId{0}, &model->model, schedule->nests.front()});
  EXPECT_TRUE(cost) << render(cost.diagnostics());
  return cost ? *cost : Cost{};
}

void expect(const Cost& cost, const std::string& memory, const std::string& tensor, std::int64_t instances,
            std::int64_t tile, std::int64_t reads, std::int64_t fills, std::int64_t updates) {
  SCOPED_TRACE(memory + " " + tensor);
  const TensorTraffic& t = cost.memories.at(memory).at(tensor);
  EXPECT_EQ(t.instances, instances);
  EXPECT_EQ(t.tile, tile);
  EXPECT_EQ(t.reads, reads);
  EXPECT_EQ(t.fills, fills);
  EXPECT_EQ(t.updates, updates);
}

TEST(Timeloop, TheGemmRecordIsMetFromNodesAndFromATree) {
  for (const auto& [architecture, energy] : {std::pair("architecture", "energy"), std::pair("tree", "")}) {
    SCOPED_TRACE(architecture);
    const std::string table = std::string(energy).empty() ? "" : data(energy);
    const Cost cost = evaluated({data("problem"), data(architecture), data("mapping"), table});
    EXPECT_EQ(cost.cycles, 2048);
    EXPECT_NEAR(cost.energy_pJ, 5079040.0, 5e-3);
    expect(cost, "RF", "A", 128, 8, 2048, 128, 0);
    expect(cost, "RF", "Z", 128, 16, 1792, 768, 2048);
    expect(cost, "GLB", "B", 1, 512, 8192, 4096, 0);
    expect(cost, "DRAM", "Z", 1, 4096, 0, 0, 4096);
  }
}

TEST(Timeloop, TheConvolutionRecordIsMet) {
  const Cost cost = evaluated({data("convolution"), data("architecture"), data("convolution_mapping"), data("energy")});
  EXPECT_EQ(cost.cycles, 451584);
  EXPECT_NEAR(cost.energy_pJ, 996734976.0, 1);
  expect(cost, "RF", "Weights", 256, 18, 451584, 4032, 0);
  expect(cost, "RF", "Inputs", 256, 36, 451584, 169344, 0);
  expect(cost, "GLB", "Inputs", 1, 9600, 2709504, 1039360, 0);
  expect(cost, "GLB", "Outputs", 1, 3584, 602112, 200704, 802816);
  expect(cost, "DRAM", "Outputs", 1, 200704, 200704, 0, 401408);
}

TEST(Timeloop, BypassedTensorsPassBy) {
  const Cost cost = evaluated({data("problem"), data("architecture"), written("bypass", R"(mapping:
  - {target: RF, type: temporal, factors: [M=64, N=1, K=1], permutation: MNK}
  - {target: GLB, type: bypass, bypass: [B]}
  - {target: DRAM, type: temporal, factors: [M=1, N=64, K=64], permutation: KNM}
)"),
                               data("energy")});
  EXPECT_FALSE(cost.memories.at("GLB").contains("B"));
  EXPECT_TRUE(cost.memories.at("GLB").contains("A"));
}

std::string refusal(const timeloop::Files& files) {
  const auto made = timeloop::import(files);
  EXPECT_FALSE(made);
  return render(made.diagnostics());
}

TEST(Timeloop, WhatIsOutsideOfTheSubsetIsNamed) {
  const std::string energy = data("energy"), architecture = data("architecture"), problem = data("problem");
  const auto with = [&](const std::string& name, const std::string& text) { return written(name, text); };
  EXPECT_NE(refusal({problem, architecture,
                     with("short", "mapping:\n  - {target: RF, type: temporal, factors: [M=3, N=64, K=64]}\n"), energy})
                .find("the factors of M make 3, the problem has 64"),
            std::string::npos);
  EXPECT_NE(refusal({problem, architecture,
                     with("uneven", "mapping:\n  - {target: RF, type: temporal, factors: ['M=4,2']}\n"), energy})
                .find("factor 'M=4,2' is not a dimension and a number"),
            std::string::npos);
  EXPECT_NE(refusal({problem, architecture, with("where", "mapping:\n  - {target: L9, type: temporal, factors: []}\n"),
                     energy})
                .find(":2:14: target L9 is none of the storage levels"),
            std::string::npos);
  EXPECT_NE(refusal({problem,
                     with("branches",
                          "architecture:\n  subtree:\n    - {name: a, local: []}\n    - {name: b, local: "
                          "[]}\n"),
                     "", ""})
                .find("parallel branches are not imported"),
            std::string::npos);
  EXPECT_NE(refusal({with("sparse",
                          "problem:\n  shape:\n    dimensions: [M]\n    data_spaces: []\n  instance: {M: 4, "
                          "densities: {A: 0.5}}\n"),
                     architecture, "", energy})
                .find("sparse problems are not imported"),
            std::string::npos);
  EXPECT_NE(refusal({"no_such.yaml", architecture, "", energy}).find("no_such.yaml: cannot read the file"),
            std::string::npos);
}

std::string machine(const std::string& buffer, const std::string& more = "") {
  return written("machine", R"(architecture:
  version: 0.4
  nodes:
  - !Component {name: DRAM, class: DRAM, attributes: {width: 64, datawidth: 8}}
  - !Component )" + buffer + "\n" +
                                more +
                                R"(  - !Component {name: mac, class: intmac, attributes: {datawidth: 8}}
)");
}

/// What is dropped in silence makes another machine: every key is read, known to change nothing, or an error.
TEST(Timeloop, WhatIsNotKnownIsAnErrorAtItsPlace) {
  const auto said = [](const std::string& buffer, const std::string& more = "") {
    return refusal({data("problem"), machine(buffer, more), "", ""});
  };
  const auto buffer = [](const std::string& attributes) {
    return "{name: buf, class: SRAM, attributes: {" + attributes + "}}";
  };
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {buffer("depht: 64, width: 64, datawidth: 8"), ":5:54: unknown key 'depht' of the attributes of buf"},
      {buffer("depth: 0, width: 64, datawidth: 8"), ":5:61: depth of buf is 0"},
      {buffer("depth: -4, width: 64, datawidth: 8"), ":5:61: depth of buf is -4"},
      {buffer("depth: 1.5, width: 64, datawidth: 8"), ":5:61: depth of buf is no whole number"},
      {buffer("depth: many, width: 64, datawidth: 8"), ":5:61: depth of buf is no number"},
      {buffer("width: 64, datawidth: 8"), ":5:16: buf of class SRAM has no size"},
      {buffer("depth: 64, width: 4, datawidth: 8"), ":5:72: width of buf is 4 bits"},
      {buffer("depth: 64, entries: 65, datawidth: 8"), ":5:16: the size of buf is stated twice: 65 and 64 words"},
      {buffer("depth: 64, datawidth: 8, read_bandwidth: 0"), "read_bandwidth of buf is 0"},
      {buffer("depth: 64, datawidth: 8, multiple_buffering: 128"), "buf of 64 words has no room for 128 buffers"},
      {"{name: buf, clas: SRAM, attributes: {depth: 64}}", ":5:28: unknown key 'clas' of a node"},
      {"{name: buf, class: SRAM, attributes: {depth: 64, datawidth: 8}, enabled: false}",
       "not enabled are not imported"},
      {"{name: DRAM, class: SRAM, attributes: {depth: 64, datawidth: 8}}",
       ":5:23: DRAM is the name of the node in line 4"},
      {"{name: mac, class: SRAM, attributes: {depth: 64, datawidth: 8}}",
       ":6:23: mac is the name of the node in line 5"},
  };
  for (const auto& [text, message] : wrong)
    EXPECT_NE(said(text).find(message), std::string::npos) << text << "\n" << said(text);
  EXPECT_NE(said(wrong[0].first).find("did you mean 'depth'?"), std::string::npos);
  const auto right = timeloop::import({data("problem"), machine(buffer("depth: 64, datawidth: 8")), "", ""});
  EXPECT_TRUE(right) << render(right.diagnostics());
}

TEST(Timeloop, KeysOfProblemsAndMappingsAreKnown) {
  const auto problem = [](const std::string& shape, const std::string& instance) {
    return refusal(
        {written("keys", "problem:\n  shape:\n    dimensions: [M, K]\n" + shape +
                             "    data_spaces:\n    - {name: A, projection: [[[M]], [[K]]]}\n    - {name: B, "
                             "projection: [[[K]]]}\n    - {name: Z, projection: [[[M]]], read_write: true}\n"
                             "  instance: " +
                             instance + "\n"),
         data("architecture"), "", data("energy")});
  };
  EXPECT_NE(problem("", "{M: 4, K: 4, Strid: 2}").find(":8:26: unknown key 'Strid' of the instance"),
            std::string::npos);
  EXPECT_NE(problem("", "{M: 0, K: 4}").find("M is a whole number from 1 on"), std::string::npos);
  EXPECT_NE(problem("    coeficients: []\n", "{M: 4, K: 4}").find(":4:5: unknown key 'coeficients' of the shape"),
            std::string::npos);
  const auto mapping = [](const std::string& entry) {
    return refusal(
        {data("problem"), data("architecture"), written("keys_m", "mapping:\n  - " + entry + "\n"), data("energy")});
  };
  EXPECT_NE(mapping("{target: RF, type: temporal, factor: [M=64]}").find(":2:34: unknown key 'factor' of a temporal"),
            std::string::npos);
  EXPECT_NE(mapping("{target: RF, type: temporal, factors: [M=8, M=8]}").find("M has two factors in one entry"),
            std::string::npos);
  EXPECT_NE(mapping("{target: RF, type: temporal, factors: [], split: 1}").find("unknown key 'split'"),
            std::string::npos);
  EXPECT_NE(refusal({data("problem"), written("section", "architectur:\n  nodes: []\n"), "", ""})
                .find(":1:1: unknown section 'architectur'"),
            std::string::npos);
}

/// A mesh may have any name, also that of the unit around it.
TEST(Timeloop, NamesOfNodesDoNotMeetOurs) {
  const auto made = timeloop::import(
      {data("problem"),
       machine(
           "{name: buf, class: SRAM, attributes: {depth: 64, datawidth: 8}}",
           "  - !Container {name: chip, spatial: {meshX: 4}}\n  - !Component {name: RF, class: regfile, attributes: "
           "{depth: 8, datawidth: 8}}\n"),
       "", ""});
  ASSERT_TRUE(made) << render(made.diagnostics());
  const auto model = load_hardware(written("chips", made->hardware), {});
  EXPECT_TRUE(model) << made->hardware << render(model.diagnostics());
}

}  // namespace
}  // namespace isamap

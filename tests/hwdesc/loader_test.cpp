// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <regex>
#include <set>
#include <sstream>

#include "isamap/interpret.h"
#include "tests/cost.h"
#include "tests/hwdesc/support.h"

namespace isamap {
namespace {

HardwareModel model_of(const Result<LoadedHardware>& loaded) {
  EXPECT_TRUE(loaded) << render(loaded.diagnostics());
  return loaded ? loaded->model : HardwareModel{};
}

std::vector<std::string> yaml_files(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

TEST(Loader, AResolvedModelMeansTheSameByItself) {
  for (const std::string& name : yaml_files(model_folder)) {
    const auto loaded = load_hardware(name, {model_folder});
    ASSERT_TRUE(loaded) << render(loaded.diagnostics());
    for (const char* left : {"${", "extends:", "variants:", "tables:", "params:"})
      EXPECT_EQ(loaded->resolved.find(left), std::string::npos) << name << left;
    auto again = load_text(loaded->resolved);
    ASSERT_TRUE(again) << name << render(again.diagnostics());
    again->model.file = loaded->model.file;
    again->model.params = loaded->model.params;
    EXPECT_EQ(describe(again->model), describe(loaded->model));
    EXPECT_EQ(again->resolved, loaded->resolved) << name;
  }
}

TEST(Loader, EveryModelLoadsWithoutAWarning) {
  for (const std::string& name : yaml_files(model_folder)) {
    const auto loaded = load_hardware(name, {model_folder});
    ASSERT_TRUE(loaded) << render(loaded.diagnostics());
    EXPECT_EQ(render(loaded->warnings), "") << name;
    EXPECT_EQ(loaded->model.name, name);
    for (const Instruction& instruction : loaded->model.instructions())
      EXPECT_EQ(render(verify(instruction)), "") << name << " " << instruction.name;
  }
}

TEST(Loader, TheLanguageOfTheNotesLoads) {
  const std::map<std::string, std::size_t> expected{
      {"arm_sme", 9}, {"arm_sve", 5}, {"gemmini_like", 16}, {"riscv_v", 6}, {"x86_amx", 180}};
  for (const auto& [name, instructions] : expected) {
    const auto loaded = load_hardware(name, {data_folder, model_folder});
    ASSERT_TRUE(loaded) << render(loaded.diagnostics());
    EXPECT_EQ(loaded->model.instructions().size(), instructions) << name;
    EXPECT_EQ(render(loaded->warnings), "") << name;
  }
}

TEST(Loader, CommandsTellWhatDiffersBetweenTwoUses) {
  const auto loaded = load_text(R"(hardware: h
program: {language: asm}
units: [{name: host, scalar: true}, {name: npu}]
memories:
  - {name: dram, per: host, kind: dram, capacity: 1MiB}
  - {name: pad, per: npu, kind: scratchpad, capacity: 4KiB}
links: [{name: in, from: dram, to: pad}, {name: out, from: pad, to: dram}]
instructions:
  - {name: get, link: in, compute: "D[i,j] = S[i,j]", dims: {i: {max: 8}, j: 8}, inactive: zero, emit: "get {D}, {S}",
     operands: {D: {dtype: s8, layout: {i: 8, j: 1}}, S: {dtype: s8, layout: {i: any, j: 1}}}}
  - {name: put, link: out, compute: "D[j] = S[j]", dims: {j: 8}, emit: "put {D}, {S}"}
  - {name: row, link: in, compute: "D[i,j] = S[i,j]", dims: {i: 8, j: 8}, emit: "row {D}, {S.stride[i]}",
     operands: {D: {dtype: s8, layout: {i: 8, j: 1}}, S: {dtype: s8, layout: {i: any, j: 1}}}}
  - {name: mac, unit: npu, compute: "C[j] += A[j] * B[j]", dims: {j: 8}, start: {C: [zero, keep]}, emit: "mac {C}, {A}, {B}",
     operands: {A: {memory: pad, dtype: s8}, B: {memory: pad, dtype: s8}, C: {memory: pad, dtype: s8}}}
)");
  ASSERT_TRUE(loaded) << render(loaded.diagnostics());
  std::set<std::string> warned;
  for (const Diagnostic& d : loaded->warnings) warned.insert(d.message);
  for (const char* message :
       {"the command of instruction 'get' does not encode {extent[i]}: dim i takes 1 to 8",
        "the command of instruction 'get' does not encode {S.stride[i]}: neighbours along i of S "
        "may be any distance apart",
        "the command of instruction 'row' does not encode {S}: its tile may be anywhere in memory "
        "'dram'",
        "the command of instruction 'mac' does not encode {start[C]}: C starts in one of 2 ways"})
    EXPECT_TRUE(warned.contains(message)) << message << "\n" << render(loaded->warnings);
}

TEST(Loader, AddressesThatNoWordCarriesAreTold) {
  const auto loaded = load_text(R"(hardware: h
program: {language: asm}
units: [{name: host, scalar: true}, {name: npu}]
memories:
  - {name: dram, per: host, kind: dram, capacity: 1GiB}
  - {name: spad, per: npu, kind: scratchpad, capacity: 1KiB}
links: [{name: in, from: dram, to: spad}, {name: out, from: spad, to: dram}]
formats: {w: {bits: 64, fields: {op: [3, 0], a: [23, 4], b: [43, 24], c: [63, 44]}}}
instructions:
  - {name: load, link: in, compute: "D[i] = S[i]", dims: {i: 4}, operands: {D: {dtype: s8}, S: {dtype: s8}}, emit: "load {D}, {S}", encoding: {format: w, op: 1, a: D, b: S}}
  - name: mul
    unit: npu
    compute: "C[i] = A[i] * B[i]"
    dims: {i: 4}
    encoding: {format: w, op: 2, a: A, c: C}
    operands: {A: {memory: spad, dtype: s8}, B: {memory: spad, dtype: s8}, C: {memory: spad, dtype: s8}}
    emit: "mul {C}, {A}, {B}"
)");
  ASSERT_TRUE(loaded) << render(loaded.diagnostics());
  EXPECT_NE(render(loaded->warnings)
                .find("15:15: warning: 'encoding' of instruction 'mul' has no field with the address of 'B' in memory "
                      "'spad'"),
            std::string::npos)
      << render(loaded->warnings);
}

TEST(Loader, TokensThatOnlyLeadOneWayAreTold) {
  const auto warned = [](const std::string& more) {
    const auto loaded = load_text(
        "hardware: h\nprogram: {language: asm}\n"
        "units: [{name: host, scalar: true}, {name: npu, order: tokens, ports: {load: 1, execute: 1, store: 1}}]\n"
        "memories:\n  - {name: dram, per: host, kind: dram, capacity: 1MiB}\n"
        "  - {name: pad, per: npu, kind: scratchpad, capacity: 4KiB}\n"
        "links: [{name: in, from: dram, to: pad}, {name: out, from: pad, to: dram}]\nasync:\n"
        "  - {name: filled, kind: tokens, per: npu, from: load, to: execute, push: give, pop: take}\n" +
        more);
    return render(loaded ? loaded->warnings : loaded.diagnostics());
  };
  const std::string token = ", kind: tokens, per: npu, push: p, pop: q, ";
  EXPECT_NE(warned("").find("tokens 'filled' lead from queue 'load' to 'execute' and none lead back"),
            std::string::npos)
      << warned("");
  EXPECT_EQ(warned("  - {name: free" + token + "from: execute, to: load}\n").find("none lead back"), std::string::npos);
  const std::string around =
      "  - {name: done" + token + "from: execute, to: store}\n  - {name: stored" + token + "from: store, to: load}\n";
  EXPECT_EQ(warned(around).find("none lead back"), std::string::npos) << warned(around);
}

/// Mistakes that only some programs would show: each is reported when the file is read.
TEST(Loader, WhatAWordCannotSayIsToldAtOnce) {
  const auto warned = [](const std::string& name, const std::string& from, const std::string& to) {
    std::ifstream file(model_folder + "/" + name + ".yaml");
    std::stringstream text;
    text << file.rdbuf();
    const std::string before = text.str();
    const std::size_t at = before.find(from);
    EXPECT_NE(at, std::string::npos) << name << ": " << from;
    const auto loaded = load_text(before.substr(0, at) + to + before.substr(at + from.size()));
    return render(loaded ? loaded->warnings : loaded.diagnostics());
  };
  const auto says = [](const std::string& text, const std::string& what) { return text.find(what) != text.npos; };
  const std::string registers = warned("outer16", "vector: [26, 24]", "vector: [25, 24]");
  EXPECT_TRUE(says(registers, "D.index goes up to 7, and field 'vector' holds 0 to 3")) << registers;
  const std::string rows = warned("outer16", "n: [20, 16], m", "n: [19, 16], m");
  EXPECT_TRUE(says(rows, "extent[i] goes up to 16, and field 'n' holds 0 to 15")) << rows;
  const std::string setter = warned("cube16", "emit: \"set_quant {quant.scale}\"", "emit: set_quant");
  EXPECT_TRUE(says(setter, "the text of instruction 'set_scale' does not print the value of 'quant.scale'")) << setter;
  const std::string twice =
      warned("outer16", "instructions:\n",
             "instructions:\n  - {name: fill, unit: engine, compute: \"D[i,j] = 1\", dims: {i: 16, "
             "j: 16}, operands: {D: {memory: z, dtype: f32, layout: {i: 16, j: 1}}},\n"
             "     emit: \"ones {D}\", encoding: {format: op, tile: D.index, kind: 0, code: 4}}\n");
  EXPECT_TRUE(says(twice, "instructions 'fill' and 'clear_f32' have the same words and do different things")) << twice;
}

/// A move without a type has that of its memory, if there is only one.
TEST(Loader, AMoveOfSeveralTypesTellsWhich) {
  const std::string machine =
      "hardware: h\nprogram: {language: asm}\nunits: [{name: host, scalar: true}, {name: u}]\nmemories:\n"
      "  - {name: dram, per: host, kind: dram, capacity: 1MiB}\n  - {name: v, per: u, kind: register, count: 4, size: "
      "16B}\n"
      "links: [{name: in, from: dram, to: v}, {name: out, from: v, to: dram}]\ninstructions:\n"
      "  - {name: ld, link: in, compute: \"D[j] = S[j]\", dims: {j: 8}, emit: \"ld {D}, {S}\"}\n"
      "  - {name: st, link: out, compute: \"D[j] = S[j]\", dims: {j: 8}, operands: {D: {dtype: f16}}, emit: \"st {D}, "
      "{S}\"}\n"
      "  - {name: add, unit: u, compute: \"C[j] = A[j] + f16(B[j])\", dims: {j: 8}, emit: \"add {C}, {A}, {B}\",\n"
      "     operands: {A: {memory: v, dtype: f16}, B: {memory: v, dtype: f16}, C: {memory: v, dtype: f16}}}\n";
  const auto one = load_text(machine),
             two = load_text(
                 std::regex_replace(machine, std::regex("B: \\{memory: v, dtype: f16"), "B: {memory: v, dtype: s8"));
  const auto says = [](const Result<LoadedHardware>& loaded) {
    return render(loaded ? loaded->warnings : loaded.diagnostics()).find("'ld' moves elements of any type") !=
           std::string::npos;
  };
  EXPECT_FALSE(says(one)) << render(one ? one->warnings : one.diagnostics());
  EXPECT_TRUE(says(two)) << render(two ? two->warnings : two.diagnostics());
}

TEST(Loader, TheToyHasAnAccumulatorThatCanBeNeitherClearedNorReadOut) {
  const auto loaded = load_hardware(data_folder + "/toy_npu.yaml", {});
  ASSERT_TRUE(loaded) << render(loaded.diagnostics());
  ASSERT_EQ(loaded->warnings.size(), 2u) << render(loaded->warnings);
  EXPECT_EQ(loaded->warnings[0].message,
            "nothing moves results from 'acc' to a dram memory: what instruction 'mac4x4' writes cannot be read out");
  EXPECT_EQ(loaded->warnings[1].message, "nothing clears 'acc', which instruction 'mac4x4' updates");
  EXPECT_EQ(loaded->warnings[1].where.line, 8);
  const Instruction& mac = loaded->model.instructions()[0];
  EXPECT_TRUE(print(mac.statement(), mac.tensors).starts_with("C[i,j] += s32(A[i,k]) * s32(B[k,j])")) << print(mac);
  EXPECT_EQ(mac.operands[0].name, "C");
  EXPECT_EQ(mac.operands[0].memory, loaded->model.find_memory("acc"));
  EXPECT_EQ(mac.tensors[1].shape, (std::vector<std::int64_t>{4, 4}));
  EXPECT_FALSE(loaded->model.instructions()[1].operands[0].dtype);
}

TEST(Loader, QuantitiesBecomeCyclesAndBytes) {
  const auto model =
      model_of(load_text("hardware: h\nclock: 2GHz\nunits: [{name: u}]\nsymbols: {VB: {min: 16, max: 64}}\nmemories:\n"
                         "  - {name: m, per: u, kind: dram, capacity: 1.5KiB, word: 2B, bandwidth: {read: "
                         "8words/cycle, write: 35GB/s}, energy: {read: 2nJ, write: 6pJ}}\n"
                         "  - {name: r, per: u, kind: register, count: 2, size: \"VB*1B\"}\n"
                         "  - {name: p, per: u, kind: register, count: 2, size: \"VB*1b\"}\n"
                         "links: [{name: l, from: m, to: r, bandwidth: 16B/cycle, latency: 90ns, energy: 4pJ/B}]\n"));
  const Memory& m = model.memories()[0];
  EXPECT_EQ(m.capacity, 1536);
  EXPECT_DOUBLE_EQ(m.read_bandwidth, 16);
  EXPECT_DOUBLE_EQ(m.write_bandwidth, 17.5);
  EXPECT_DOUBLE_EQ(m.read_energy, 2000);
  EXPECT_EQ(model.memories()[1].size, 64);
  EXPECT_EQ(model.memories()[2].size, 8);
  EXPECT_DOUBLE_EQ(model.links()[0].latency, 180);
  EXPECT_DOUBLE_EQ(model.links()[0].energy, 4);
}

/// 5ns * 1.2GHz is 6 cycles, whatever the product of the doubles is; what is more than a cycle ends in the next.
TEST(Loader, TimesAreWholeCycles) {
  const auto latency = [](const std::string& clock, const std::string& time) {
    const auto model =
        model_of(load_text("hardware: h\nextends: tiny\nclock: " + clock +
                           "\ninstructions:\n  - {name: add, unit: core, timing: {port: fma, latency: " + time +
                           "},\n     compute: \"C[j] += A[j]\", dims: {j: 16},\n     operands: {C: {dtype: "
                           "f32, memory: reg}, A: {dtype: f32, memory: reg}}, emit: \"{C} {A}\"}\n"));
    return evaluate(*model.instructions()[0].timing.latency, [](const Reference&) { return std::nullopt; });
  };
  EXPECT_EQ(latency("1.2GHz", "5ns"), 6);
  EXPECT_EQ(latency("1.1GHz", "50ns"), 55);
  EXPECT_EQ(latency("1.2GHz", "5.1ns"), 7);
}

/// Of each instance of a state, as of a state that is there once.
TEST(Loader, ResetsHoldForEveryInstance) {
  const auto wrong = [](const std::string& count, const std::string& need) {
    return render(load_text("hardware: h\nprogram: {language: asm}\nunits: [{name: host, scalar: true}, {name: u}]\n"
                            "memories: [{name: ram, per: host, kind: dram, capacity: 1MiB}, {name: v, per: u, kind: "
                            "scratchpad, capacity: 4KiB}]\n"
                            "links: [{name: ld, from: ram, to: v}, {name: st, from: v, to: ram}]\n"
                            "states: [{name: q, per: u, count: " +
                            count + ", fields: {mode: {values: [0, 1], reset: 0}}}]\ninstructions:\n" +
                            "  - {name: ld, link: ld, needs: {" + need +
                            ".mode: 0}, compute: \"D[i] = S[i]\", dims: {i: 4}, operands: {D: {dtype: s32}, S: {dtype: "
                            "s32}}, emit: \"ld {D}, {S}\"}\n")
                      .diagnostics());
  };
  const std::string unset = "which no instruction sets";
  EXPECT_EQ(wrong("1", "q").find(unset), std::string::npos);
  EXPECT_EQ(wrong("3", "q2").find(unset), std::string::npos) << wrong("3", "q2");
  EXPECT_NE(wrong("3", "q3").find("q3"), std::string::npos) << "there are q0, q1 and q2";
}

/// An operand that a state holds is set by a setter, as a need is; a field that is not there is named.
TEST(Loader, OperandsOfStateHaveASetter) {
  const auto said = [](const std::string& field, const std::string& setter) {
    return render(load_text("hardware: h\nprogram: {language: asm}\nunits: [{name: host, scalar: true}, {name: u}]\n"
                            "memories: [{name: ram, per: host, kind: dram, capacity: 1MiB}, {name: v, per: u, kind: "
                            "scratchpad, capacity: 4KiB}]\nlinks: [{name: ld, from: ram, to: v}]\n"
                            "states: [{name: q, per: u, fields: {scale: {dtype: f32}}}]\ninstructions:\n" +
                            setter +
                            "  - {name: ld, link: ld, compute: \"D[i] = S[i] * c[]\", dims: {i: 4}, operands: {D: "
                            "{dtype: f32}, S: {dtype: f32}, c: {state: " +
                            field + "}}, emit: \"ld {D}, {S}\"}\n")
                      .diagnostics());
  };
  const std::string setter = "  - {name: set, unit: u, sets: [q.scale], emit: \"set {q.scale}\"}\n";
  EXPECT_NE(said("q.scale", "").find("operand 'c' of instruction 'ld' is 'q.scale', which no instruction sets"),
            std::string::npos);
  EXPECT_EQ(said("q.scale", setter).find("no instruction sets"), std::string::npos) << said("q.scale", setter);
  EXPECT_NE(said("q.scal", setter).find("no field 'scal'"), std::string::npos) << said("q.scal", setter);
  EXPECT_EQ(said("q.scal", setter).find("has no dtype"), std::string::npos) << said("q.scal", setter);
}

TEST(Loader, TheNameOfTheMachineIsAName) {
  const auto loaded = load_text(
      "hardware: a b\nunits: [{name: u}]\n"
      "memories: [{name: ram, per: u, kind: dram, capacity: 1MiB}]\n");
  EXPECT_NE(render(loaded.diagnostics()).find("hardware name 'a b' may hold only"), std::string::npos);
}

TEST(Loader, ProgramsHaveOneTeamOfThreads) {
  const std::string threads = ", threads: {loop: \"#pragma omp parallel for\"}";
  const auto loaded = load_text("hardware: h\nprogram: {language: c++}\nunits:\n  - {name: socket, count: 2" + threads +
                                "}\n  - {name: core, inside: socket, count: 8, scalar: true" + threads +
                                "}\nmemories: [{name: ram, per: socket, kind: dram, capacity: 1MiB}]\n");
  ASSERT_FALSE(loaded);
  EXPECT_NE(render(loaded.diagnostics()).find("unit 'core' has 'threads', and so has 'socket'"), std::string::npos)
      << render(loaded.diagnostics());
}

TEST(Loader, DescriptionHasThePortsOfLinks) {
  const std::string machine =
      "hardware: h\nclock: 1GHz\nunits: [{name: u}]\nmemories: [{name: m, per: u, kind: dram, capacity: 1KiB}]\n";
  EXPECT_EQ(describe(model_of(load_text(machine + "links: [{name: l, from: m, to: m}]\n"))).find("port"),
            std::string::npos);
  const std::string text = describe(model_of(load_text(machine + "links: [{name: l, from: m, to: m, port: dma}]\n")));
  EXPECT_NE(text.find("port\n"), std::string::npos) << text;
  EXPECT_NE(text.find("dma\n"), std::string::npos) << text;
}

TEST(Loader, AMemoryMayHaveOnePortAndKnowsTheLinesOfItsFigures) {
  const std::string before =
      "hardware: h\nclock: 1GHz\nunits: [{name: u}]\nmemories:\n  - name: m\n    per: u\n"
      "    kind: dram\n    capacity: 1KiB\n    bandwidth: ";
  const auto model = model_of(load_text(before + "{shared: 8B/cycle}\n    energy: {read: 1pJ, write: 1pJ}\n"));
  const Memory& m = model.memories()[0];
  EXPECT_TRUE(m.one_port);
  EXPECT_DOUBLE_EQ(m.read_bandwidth, 8);
  EXPECT_DOUBLE_EQ(m.write_bandwidth, 8);
  EXPECT_EQ(m.bandwidth_where.line, 9);
  EXPECT_EQ(m.energy_where.line, 10);
  EXPECT_NE(describe(model).find("shared"), std::string::npos);
  const auto twice = load_text(before + "{shared: 8B/cycle, read: 4B/cycle}\n");
  ASSERT_FALSE(twice);
  EXPECT_NE(render(twice.diagnostics()).find("is shared, and states 'read' too"), std::string::npos)
      << render(twice.diagnostics());
}

TEST(Loader, RowsMultiplyAndParametersReachKeys) {
  const std::string text =
      "hardware: h\nextends: tiny\nparams: {g: 4}\ntables: {types: [{t: f32, n: 16}, {t: s8, n: 64}]}\ninstructions:\n"
      "  - name: load_${t}${e}\n    link: ld\n"
      "    variants: [types, [{e: \"\"}, {e: _half, dims: {j: \"${n/2}\"}}]]\n"
      "    compute: \"D[j] = S[j]\"\n    dims: {j: \"${n}\"}\n"
      "    operands: {D: {dtype: \"${t}\", layout: {\"j/${g}\": \"${g}\", \"j%${g}\": 1}}}\n    emit: \"{D} {S} "
      "${g//2}\"\n";
  const auto model = model_of(load_text(text));
  std::string found;
  for (const Instruction& i : model.instructions())
    found += i.name + " " + std::to_string(i.ranges[0].max) + " " + print(i.emit) + "\n";
  EXPECT_EQ(found,
            "load_f32 16 {D} {S} 2\nload_f32_half 8 {D} {S} 2\nload_s8 64 {D} {S} 2\nload_s8_half 32 {D} {S} 2\n");
  const auto& layout = std::get<StridedLayout>(model.instructions()[0].operands[0].layout);
  EXPECT_EQ(layout.terms[0].text, "j/4");
  const auto set = model_of(load_text(text, {{{"g", "8"}}}));
  EXPECT_EQ(print(set.instructions()[0].emit), "{D} {S} 4");
  EXPECT_EQ(load_text(text, {{{"x", "8"}}}).diagnostics()[0].message, "there is no parameter 'x' to set");
}

TEST(Loader, AFileOnTopOfAnotherMergesByName) {
  const auto model = model_of(
      load_text("hardware: h\nextends: tiny\nwithout: [st]\nclock: 3GHz\nunits: [{name: core, ports: {load: 2}}, "
                "{name: part, inside: core, count: {x: 2, y: 3}}]\n"
                "memories: [{name: reg, count: 8}, {name: buf, per: part, kind: scratchpad, capacity: 1KiB}]\n"));
  EXPECT_EQ(model.memories()[1].count, 8);
  EXPECT_EQ(model.memories()[1].size, 64);
  EXPECT_EQ(model.units()[1].ports, (std::map<std::string, std::int64_t>{{"fma", 1}, {"load", 2}}));
  EXPECT_EQ(model.instances(*model.find_unit("part")), 6);
  EXPECT_EQ(model.links().size(), 1u);
}

TEST(Loader, TheGraphAnswersForUnitsAndMemories) {
  const auto npu = model_of(load_hardware("npu16", {model_folder}));
  const MemoryId dram = *npu.find_memory("dram"), spad = *npu.find_memory("spad"), acc = *npu.find_memory("acc");
  EXPECT_EQ(npu.home(), dram);
  EXPECT_EQ(npu.path(dram, acc), (std::vector<MemoryId>{dram, acc}));
  EXPECT_EQ(npu.path(spad, dram), std::vector<MemoryId>{});
  EXPECT_EQ(npu.links_from(dram).size(), 2u);
  EXPECT_EQ(npu.scalar_unit_for(dram), npu.find_unit("host"));
  EXPECT_EQ(npu.scalar_unit_for(spad), std::nullopt);
  EXPECT_TRUE(npu.inside(*npu.find_unit("npu"), *npu.find_unit("host")));
  EXPECT_FALSE(npu.inside(*npu.find_unit("host"), *npu.find_unit("npu")));

  const auto gpu = model_of(load_hardware("nvidia_sm80", {model_folder}));
  EXPECT_EQ(gpu.scalar_unit_for(*gpu.find_memory("shared")), gpu.find_unit("lane"));
  EXPECT_EQ(gpu.instances(*gpu.find_unit("lane")), 108 * 32 * 32 * 32);
  EXPECT_EQ(gpu.path(*gpu.find_memory("shared"), *gpu.find_memory("global")).size(), 3u);
}

TEST(Loader, AFragmentPlacesEveryElement) {
  const auto gpu = model_of(load_hardware("nvidia_sm80", {model_folder}));
  const Instruction& mma = gpu.instruction(*gpu.find_instruction("mma_bf16"));
  const auto places = positions(mma.operands[0], {16, 8});
  ASSERT_TRUE(places);
  EXPECT_EQ((*places)[0], 0);                  // C[0,0]: lane 0, element 0
  EXPECT_EQ((*places)[9 * 8 + 5], 6 * 4 + 3);  // C[9,5]: lane 1*4 + 2, element 2 + 1
}

TEST(Loader, ExamplesOfTheManualLoad) {
  std::ifstream file(ISAMAP_SOURCE_DIR "/hwdesc/README.md");
  std::stringstream whole;
  whole << file.rdbuf();
  const std::string text = whole.str(), open = "```yaml\nhardware:";
  int examples = 0;
  for (std::size_t at = text.find(open); at != std::string::npos; at = text.find(open, at + 1), ++examples) {
    const std::size_t begin = text.find('\n', at) + 1;
    const auto loaded = load_text(text.substr(begin, text.find("```", begin) - begin));
    EXPECT_TRUE(loaded) << render(loaded.diagnostics());
    if (loaded) {
      EXPECT_EQ(render(loaded->warnings), "");
    }
  }
  EXPECT_EQ(examples, 5);
}

TEST(Loader, MissingFilesAreNamedAsGiven) {
  const auto missing = load_hardware("npu61", {model_folder});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.diagnostics()[0].where, (SourceLocation{"npu61", 0, 0}));
  EXPECT_EQ(missing.diagnostics()[0].message, "no such hardware file");
  EXPECT_EQ(missing.diagnostics()[0].hint, "did you mean 'npu16'?");
  const auto folder = load_hardware(model_folder, {model_folder});
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.diagnostics()[0].message, "cannot read the file: it is a folder");
  EXPECT_EQ(folder.diagnostics()[0].hint, "name a file in it");
  EXPECT_EQ(load_text(std::string("\x7f"
                                  "ELF\0",
                                  5))
                .diagnostics()[0]
                .message,
            "not a text file (byte 0 is no UTF-8 text)");
}

TEST(Loader, DescribesInTables) {
  const std::string text = describe(load_hardware(data_folder + "/toy_npu.yaml", {})->model);
  EXPECT_EQ(text.substr(text.find("units")),
            "units\n"
            "  unit inside count instances\n"
            "  npu  -      1     1\n"
            "\nmemories\n"
            "  memory kind        per capacity read write energy\n"
            "  dram   dram        npu 1GiB\n"
            "  spad   scratchpad  npu 64KiB\n"
            "  acc    accumulator npu 16KiB\n"
            "\nlinks\n"
            "  link from to   via bandwidth  latency\n"
            "  dma  dram spad     16 B/cycle 100 cycles\n"
            "\ninstructions\n"
            "  instruction unit statement                           dims        operands\n"
            "  mac4x4      npu  C[i,j] += s32(A[i,k]) * s32(B[k,j]) i=4 j=4 k=4 C:s32@acc A:s8@spad B:s8@spad\n"
            "  load        npu  D[i] = S[i]                         i=16        D:any@spad S:any@dram\n");
}

TEST(Loader, DrawsEveryMemoryOnce) {
  for (const std::string& name : yaml_files(model_folder)) {
    const auto model = model_of(load_hardware(name, {model_folder}));
    const std::string picture = svg(model), dot = graphviz(model);
    for (const Memory& memory : model.memories()) {
      EXPECT_NE(picture.find(">" + memory.name + "<"), std::string::npos) << name;
      EXPECT_NE(dot.find("\"" + memory.name + "\" [label"), std::string::npos) << name;
    }
    for (const Link& link : model.links()) {  // each with its name and, if stated, its bandwidth
      const std::string rate = link.bandwidth > 0 ? " " : "<";
      EXPECT_NE(picture.find(">" + link.name + rate), std::string::npos) << name;
      EXPECT_NE(dot.find("[label=\"" + link.name), std::string::npos) << name;
    }
    EXPECT_TRUE(picture.ends_with("</svg>\n"));
  }
}

std::string repeated(int count, const std::function<std::string(std::string)>& item) {
  std::string text;
  for (int i = 0; i < count; ++i) text += item(std::to_string(i));
  return text;
}

/// Malicious files: each is refused, or read, in bounded time and memory.
TEST(Loader, HostileFilesCostLittle) {
  const std::string head = "hardware: h\nextends: tiny\n";
  const std::string rows =
      "[" + repeated(64, [](const std::string& i) { return "{p" + i + ": 1, a" + i + ": 1},"; }) + "]";
  const std::vector<std::string> files{
      head + "memories: [" +
          repeated(20000,
                   [](const std::string& i) { return "{name: m" + i + ", per: host, kind: dram, capacity: 1KiB},"; }) +
          "]",
      head + repeated(60000, [](const std::string& i) { return "k" + i + ": 1\n"; }),
      head + "tables: {t: [" + repeated(4096, [](const std::string& i) { return "{n: " + i + "},"; }) +
          "]}\ninstructions:\n  - {name: \"l${n}\", variants: t, link: ld, compute: \"D[j,i] = S[j,i]\", "
          "dims: {j: 256, i: 256}, operands: {D: {dtype: s8, group: 64, layout: {j/2: 512, j%2: 256, i/2: 2, i%2: "
          "1}}}, emit: \"{D} {S}\"}\n",
      head + "tables: {t: " + rows + "}\ninstructions: [{name: a, variants: [t, t, t, t, t, t, t, t], emit: x}]\n",
      head + "params: {a: \"" + std::string(60000, 'x') +
          "\", b: \"${a}${a}${a}\", c: \"${b}${b}${b}\"}\nprogram: {helpers: \"${c}\"}\n",
      head + "clock: \"${" + std::string(60000, '/') + "}GHz\"\n",
      head + "instructions: [{name: a, link: ld, compute: \"D[" + std::string(30000, '(') + "i\", emit: x}]\n",
      head +
          "instructions: [{name: a, link: ld, compute: \"D[i] = S[i]\", dims: {i: 4294967296}, operands: {D: {dtype: "
          "b64}}, emit: \"{D} {S}\"}]\n",
  };
  for (const std::string& text : files) {
    const double start = cost::processor_seconds();
    const auto loaded = load_text(text);
    const double seconds = cost::processor_seconds() - start;
    EXPECT_FALSE(loaded && loaded->warnings.empty()) << text.substr(0, 300);
    EXPECT_LT(seconds, cost::allowed(10)) << text.substr(0, 300);
    EXPECT_LE(loaded.diagnostics().size(), 202u);
  }
}

/// Damaged descriptions: lines dropped and repeated, characters changed. They load or are refused, in bounded time.
TEST(Loader, AnyDamageIsReportedAndNothingBreaks) {
  std::ifstream file(data_folder + "/gemmini_like.yaml");
  std::stringstream whole;
  whole << file.rdbuf();
  const std::string alphabet = "{}[]:,\"'$-*/%0129abijkDS \n";
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    Random random(seed);
    std::string text = whole.str();
    for (int edits = static_cast<int>(random.between(1, 4)); edits > 0; --edits) {
      const auto at = static_cast<std::size_t>(random.between(0, std::ssize(text) - 1));
      const std::size_t length = random.between(0, 3) == 0 ? static_cast<std::size_t>(random.between(1, 200)) : 1;
      const char replacement = alphabet[static_cast<std::size_t>(random.between(0, std::ssize(alphabet) - 1))];
      text.replace(at, std::min(length, text.size() - at), 1, replacement);
    }
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto loaded = load_text(text);
    if (!loaded) {
      EXPECT_TRUE(has_errors(loaded.diagnostics()));
    }
  }
}

TEST(Loader, AWordOfTheFieldIsTranslatedByItsMeaning) {
  const auto loaded = load_text(
      "hardware: h\nunits: [{name: u, scalar: true}]\n"
      "memories: [{name: m, per: u, kind: sram, capacity: 1KiB}]\n");
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.diagnostics()[0].hint, "did you mean 'scratchpad'?");
}

}  // namespace
}  // namespace isamap

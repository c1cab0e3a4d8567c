// SPDX-License-Identifier: Apache-2.0
// hw verify: what models say is true, and a model in which one thing is false is caught, with the likely cause.

#include <gtest/gtest.h>

#include <chrono>
#include <regex>
#include <set>
#include <thread>

#include "isamap/hardware.h"
#include "tests/cli/program.h"
#include "tests/every.h"

namespace isamap::cli_test {
namespace {

std::string model_text(const std::string& name) {
  return read_file(std::string(ISAMAP_SOURCE_DIR "/hardware_models/") + name + ".yaml");
}

/// The row of one instruction in what `hw verify --json` says.
nlohmann::json row(const nlohmann::json& json, const std::string& name) {
  for (const auto& one : json.value("instructions", nlohmann::json::array()))
    if (one.value("name", "") == name) return one;
  return nlohmann::json::object();
}

/// A copy of a model with one text replaced, everywhere.
std::string changed(std::string text, const std::string& what, const std::string& by) {
  EXPECT_NE(text.find(what), std::string::npos) << what;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

void expect_caught(const std::string& text, const std::string& instruction, const std::string& cause) {
  const Folder folder;
  const Said said =
      isamap({"hw", "verify", folder.write("planted.yaml", text), "--instruction", instruction, "--json"});
  if (said.code == 77) GTEST_SKIP() << said.err;
  EXPECT_EQ(said.code, 5) << said.out << said.err;
  const auto json = parsed(said);
  ASSERT_FALSE(json.is_discarded()) << said.out;
  const auto found = row(json, instruction);
  EXPECT_EQ(found.value("verdict", ""), "differs") << said.out;
  const auto difference = found.value("difference", nlohmann::json::object());
  EXPECT_FALSE(difference.value("position", "").empty());
  EXPECT_NE(difference.value("found", ""), difference.value("expected", ""));
  EXPECT_FALSE(difference.value("operands", nlohmann::json::array()).empty());
  EXPECT_EQ(difference.value("cause", ""), cause) << said.out;
}

TEST(Verify, SumsThatSaturate) {
  const Folder folder;
  const std::string model = ISAMAP_SOURCE_DIR "/tests/conformance/models/saturating.yaml";
  const Said said = isamap({"hw", "verify", model, "--instruction", "dpbusds", "--json"});
  if (said.code == 77) GTEST_SKIP() << said.err;
  EXPECT_EQ(said.code, 0) << said.out << said.err;
  EXPECT_EQ(row(parsed(said), "dpbusds").value("verdict", ""), "equal") << said.out;
  const Said run = isamap({"run", "--compute", "C[i,j] += A[i,k] * B[k,j]", "--dims", "i=7,j=33,k=45", "--dtypes",
                           "A=u8,B=s8,C=s32", "--target", model});
  EXPECT_EQ(run.code, 0) << run.out << run.err;
  // The instruction that wraps in the place of the one that saturates.
  const std::string planted =
      folder.write("planted.yaml", changed(read_file(model), "_mm512_dpbusds_epi32", "_mm512_dpbusd_epi32"));
  const Said wrong = isamap({"hw", "verify", planted, "--instruction", "dpbusds", "--json"});
  EXPECT_EQ(wrong.code, 5) << wrong.out << wrong.err;
  const auto differs = row(parsed(wrong), "dpbusds");
  EXPECT_EQ(differs.value("verdict", ""), "differs") << wrong.out;
  EXPECT_EQ(differs["difference"].value("cause", ""), "the sum wraps; the description says that it saturates (sat+=)");
}

/// Two instructions of one name, told apart by a mode: each is executed in its own.
TEST(Verify, TwinsAreExecutedInTheirOwnState) {
  const Folder folder;
  const std::string model = folder.write("twins.yaml", R"(hardware: twins
program: {language: asm, run: {simulator: "cp {program} )" +
                                                           (folder / "seen.s") + R"("}}
units: [{name: host, scalar: true}, {name: dev}]
memories:
  - {name: dram, per: host, kind: dram, capacity: 1MiB}
  - {name: acc, per: dev, kind: scratchpad, capacity: 4KiB}
links: [{name: in, from: dram, to: acc}, {name: out, from: acc, to: dram}]
states: [{name: mode, per: dev, fields: {sat: {values: [0, 1], reset: 0}}}]
instructions:
  - {name: set, unit: dev, sets: [mode.sat], emit: "mode {mode.sat}"}
  - {name: get, link: in, compute: "D[j] = S[j]", dims: {j: 8}, operands: {D: {dtype: s32}, S: {dtype: s32}}, emit: "get {D}, {S}"}
  - {name: put, link: out, compute: "D[j] = S[j]", dims: {j: 8}, operands: {D: {dtype: s32}, S: {dtype: s32}}, emit: "put {D}, {S}"}
  - name: mul${e}
    unit: dev
    variants: [{e: a, needs: {mode.sat: 0}}, {e: b, needs: {mode.sat: 1}}]
    compute: "C[j] = A[j] * B[j]"
    dims: {j: 8}
    operands: {A: {memory: acc, dtype: s32}, B: {memory: acc, dtype: s32}, C: {memory: acc, dtype: s32}}
    emit: "mul {C}, {A}, {B}"
)");
  const auto program = [&](const std::string& instruction) {
    const Said said = isamap({"hw", "verify", model, "--instruction", instruction});
    EXPECT_TRUE(fs::exists(folder / "seen.s")) << said.out << said.err;
    return read_file(folder / "seen.s");
  };
  EXPECT_EQ(program("mula").find("mode 1"), std::string::npos);
  EXPECT_NE(program("mulb").find("mode 1"), std::string::npos);
}

/// What `hw verify` says of a model, or of one of its instructions: nothing is wrong, and what was not executed by
/// itself says why.
void expect_true(const std::string& name, const std::string& instruction = "") {
  SCOPED_TRACE(name + " " + instruction);
  std::vector<std::string> words = {"hw", "verify", name, "--json", "--samples", "32"};
  if (!instruction.empty()) words.insert(words.end(), {"--instruction", instruction});
  const Said said = isamap(words);
  const auto json = parsed(said);
  ASSERT_FALSE(json.is_discarded()) << said.out << said.err;
  if (said.code == 77) {
    EXPECT_NE(said.err.find("not run: "), std::string::npos);
    EXPECT_FALSE(json.value("why", "").empty());
    return;
  }
  EXPECT_EQ(said.code, 0) << said.out << said.err;
  EXPECT_EQ(json.value("wrong", -1), 0) << said.out;
  if (instruction.empty()) {
    EXPECT_GT(json.value("equal", 0), 0);
  }
  for (const auto& one : json["instructions"]) {
    EXPECT_TRUE(one.value("verdict", "") == "equal" || !one.value("why", "").empty()) << one.dump();
    // Of the GPUs every instruction that computes or moves anything is executed by itself.
    const bool isolated = one.value("verdict", "") == "equal";
    EXPECT_TRUE(!name.starts_with("nvidia_") || isolated ||
                one.value("why", "").starts_with("a setter computes nothing"))
        << one.dump();
  }
}

std::set<std::string> model_files() {
  std::set<std::string> files;
  for (const auto& file : fs::directory_iterator(ISAMAP_SOURCE_DIR "/hardware_models"))
    if (file.path().extension() == ".yaml") files.insert(file.path().string());
  return files;
}

/// GPUs have hundreds of instructions, which are emulated: HeavyVerify takes all of them, this takes one of every
/// fourth GPU. Of the other models it takes every ninth one that adds at least half of its instructions to those of
/// others.
TEST(Verify, EveryModelThatRunsHereIsTrue) {
  std::set<std::string> seen;
  Every every(9), every_gpu(4);
  for (const std::string& file : model_files()) {
    const auto loaded = load_hardware(file, {ISAMAP_SOURCE_DIR "/hardware_models"});
    ASSERT_TRUE(loaded) << render(loaded.diagnostics());
    const std::string name = fs::path(file).stem().string();
    const std::vector<Instruction>& all = loaded->model.instructions();
    if (loaded->model.program.language == "cuda") {
      if (every_gpu.skips()) continue;
      expect_true(name, all[all.size() / 4].name);
      continue;
    }
    std::size_t added = 0;
    for (const Instruction& one : all) {
      std::string text = one.name + "\n" + print(one.emit);
      for (const Computation& statement : one.semantics) text += "\n" + print(statement, one.tensors);
      added += seen.insert(text).second ? 1 : 0;
    }
    if (added > all.size() / 2 && !every.skips()) expect_true(name);
  }
}

/// No register of this machine holds an integer of 64 bits: they are stored, and compared, as floats.
TEST(Verify, LoadsOf64BitsAreExecutedByThemselves) {
  for (const char* load : {"load_a64", "load_b64_shared"}) expect_true("nvidia_sm80", load);
  const Folder folder;
  const std::string planted = folder.write(
      "planted.yaml",
      changed(model_text("nvidia_sm80"),
              "load_fragment<${n}, ${p}>({D}, {S}, [=](int lane, int elem) {{ const long r = ${rr},",
              "load_fragment<${n}, ${p}>({D}, {S}, [=](int lane, int elem) {{ const long r = ${h-1} - (${rr}),"));
  const Said said = isamap({"hw", "verify", planted, "--instruction", "load_a64", "--json"});
  EXPECT_EQ(said.code, 5) << said.out << said.err;
  EXPECT_EQ(row(parsed(said), "load_a64").value("verdict", ""), "differs") << said.out;
}

TEST(HeavyVerify, EveryInstructionIsTrue) {
  for (const std::string& file : model_files()) expect_true(fs::path(file).stem().string());
}

/// Results that were recorded with a true description, against one in which a statement is false: what a GPU computed
/// once catches it wherever there is none.
void expect_caught_by_record(const std::string& target, const std::string& instruction, const std::string& text,
                             const std::string& what, const std::string& by) {
  const Folder folder;
  const std::string right = folder.write("right.yaml", text), record = folder / "vectors.jsonl";
  const Said said = isamap({"hw", "verify", right, "--instruction", instruction, "--record", record, "--json"});
  EXPECT_EQ(said.code, 0) << said.out << said.err;
  EXPECT_EQ(row(parsed(said), instruction).value("verdict", ""), "equal") << target << said.out;
  EXPECT_EQ(isamap({"hw", "verify", right, "--instruction", instruction, "--replay", record}).code, 0) << target;
  const std::string wrong = folder.write("wrong.yaml", changed(text, what, by));
  const Said caught = isamap({"hw", "verify", wrong, "--instruction", instruction, "--replay", record, "--json"});
  EXPECT_EQ(caught.code, 5) << caught.out << caught.err;
  EXPECT_EQ(row(parsed(caught), instruction).value("verdict", ""), "differs") << caught.out;
}

void expect_products_caught_by_record(const std::string& target, const std::string& instruction) {
  expect_caught_by_record(target, instruction, model_text(target), "${acc}(A[i,k]) * ${acc}(B[k,j])",
                          "${acc}(A[i,k]) * ${acc}(B[k,j]) + ${acc}(A[i,k])");
}
TEST(HeavyVerify, RecordsCatchWhatATensorCoreIsSaidToCompute) {
  expect_products_caught_by_record("nvidia_sm80", "mma_s8");
}
TEST(HeavyVerify, RecordsCatchWhatAWarpgroupIsSaidToCompute) {
  expect_products_caught_by_record("nvidia_sm90a", "wgmma_s8_sw128");
}

TEST(Verify, HeavyRecordsCatchWhereAMatrixLoadIsSaidToPutElements) {
  expect_caught_by_record("nvidia_sm80", "ldmatrix_x2", model_text("nvidia_sm80"),
                          "D[l,m,h] = S[8*m + l/4, 2*(l%4) + h]\"}", "D[l,m,h] = S[8*m + 7 - l/4, 2*(l%4) + h]\"}");
}

/// A copy of a box that is said to bring more bytes than it does would be waited for for ever.
TEST(Verify, BytesOfATensorCopyAreCounted) {
  const Folder folder;
  const std::string text = model_text("nvidia_sm90a");
  const std::string planted =
      folder.write("planted.yaml", changed(text, "bytes: \"extent[y]*${s}\"", "bytes: \"extent[y]*${s} + 16\""));
  const Said said = isamap({"hw", "verify", planted, "--instruction", "tma_load_b16_sw64", "--json"});
  EXPECT_EQ(said.code, 5) << said.out << said.err;
  EXPECT_EQ(row(parsed(said), "tma_load_b16_sw64").value("verdict", ""), "failed") << said.out;
}

TEST(Verify, TheSameSeedSaysTheSame) {
  const Said a = isamap({"hw", "verify", "npu16", "--seed", "7"}), b = isamap({"hw", "verify", "npu16", "--seed", "7"});
  EXPECT_EQ(a.out, b.out);
}

TEST(Verify, HeavyAnotherSignIsCaught) {
  const std::string text = model_text("x86_avx512_vnni");
  const std::regex row_of_dpbusd("op: dpbusd, ");
  ASSERT_TRUE(std::regex_search(text, row_of_dpbusd));
  std::string planted = text;
  const std::size_t at = planted.find("op: dpbusd, ");
  planted.replace(planted.find("l: u8", at), 5, "l: s8");
  expect_caught(planted, "dpbusd", "operand A is u8, not s8");
}

TEST(Verify, ASaturatingSumIsCaught) {
  expect_caught(changed(model_text("x86_avx512_vnni"), "vpdpbusd ", "vpdpbusds "), "dpbusd",
                "the sum saturates at s32; the description adds exactly");
}

/// The cause says how the description adds up: each term is cut off, which changes nothing here, and the sum is not.
TEST(Verify, HeavyASaturatingSumOfTermsThatSaturateIsCaught) {
  const std::string saturating = changed(model_text("x86_avx512_vnni"), "vpdpbusd ", "vpdpbusds ");
  expect_caught(
      changed(saturating, "C[j] += s32(A[k,j]) * s32(B[k,j])", "C[j] += s32(sat_s16(s32(A[k,j]) * s32(B[k,j])))"),
      "dpbusd", "the sum saturates at s32; the description saturates each term, and adds them exactly");
}

/// The operands of a sum that the text writes out are fetched once; what is compared is the text, cuts and all.
TEST(Verify, APairSumThatSaturatesIsCaught) {
  expect_caught(changed(model_text("x86_avx2"), "s32(sat_s16(", "s32(s16("), "maddubs",
                "the result saturates; the description says that it wraps");
}

/// A minimum that orders 0 and -0, as Arm's do, is one; a maximum is none.
TEST(Verify, MinimaOfZerosMayBeEither) {
  const std::string text =
      model_text("scalar_c") +
      "  - {name: least, unit: core, compute: \"C[] = min(A[], B[])\", timing: {port: alu, interval: 1cycles}, "
      "operands: "
      "{A: {memory: reg, dtype: f32}, B: {memory: reg, dtype: f32}, C: {memory: reg, dtype: f32}}, emit: \"{C} = {A} "
      "!= "
      "{A} || {B} != {B} ? {A} + {B} : {A} < {B} || ({A} == {B} && __builtin_signbit({A})) ? {A} : {B};\"}\n";
  const Folder folder;
  const Said said = isamap({"hw", "verify", folder.write("least.yaml", text), "--instruction", "least", "--json"});
  if (said.code == 77) GTEST_SKIP() << said.err;
  EXPECT_EQ(row(parsed(said), "least").value("verdict", ""), "equal") << said.out << said.err;
  const std::string wrong = changed(text, "{A} < {B} ||", "{A} > {B} ||");
  const Said caught = isamap({"hw", "verify", folder.write("wrong.yaml", wrong), "--instruction", "least", "--json"});
  EXPECT_EQ(row(parsed(caught), "least").value("verdict", ""), "differs") << caught.out << caught.err;
}

TEST(Verify, ExchangedOperandsAreCaught) {
  expect_caught(changed(model_text("x86_avx2"),
                        "{op: sub, compute: \"C[j] = A[j] - B[j]\", emit: \"{C} = _mm256_sub_${s}({A}, {B});\"}",
                        "{op: sub, compute: \"C[j] = B[j] - A[j]\", emit: \"{C} = _mm256_sub_${s}({A}, {B});\"}"),
                "sub_f32", "operands B and A are exchanged");
}

TEST(Verify, HeavyAnUpdateThatOverwritesIsCaught) {
  expect_caught(changed(model_text("x86_avx2"), "_mm256_fmadd_${s}({A}, {B}, {C})", "_mm256_mul_${s}({A}, {B})"),
                "fma_f32", "C is overwritten; the description says that it is updated");
}

// A 2x4 tile that the machine keeps column by column.
constexpr const char* tile = R"(hardware: tile
program:
  language: c++
  types: {s32: int32_t}
  helpers: |
    struct Tile { std::int32_t at[8]; };
    inline void store(std::int32_t* d, const Tile& t) { for (int i = 0; i < 8; ++i) d[i] = t.at[i]; }
    inline Tile load_some(const std::int32_t* s, int n) {
      Tile t{};
      for (int i = 0; i < n; ++i) t.at[i] = s[i];
      return t;
    }
    inline Tile outer(const Tile& a, const Tile& b) {
      Tile t{};
      for (int i = 0; i < 2; ++i) for (int j = 0; j < 4; ++j) t.at[i + 2 * j] = a.at[i] * b.at[j];
      return t;
    }
units: [{name: core, scalar: true}]
memories:
  - {name: ram, per: core, kind: dram, capacity: 1GiB}
  - {name: reg, per: core, kind: register, count: 8, size: 32B, value: {s32: Tile}}
links: [{name: ld, from: ram, to: reg}, {name: st, from: reg, to: ram}]
instructions:
  - {name: "load_${n}", variants: [{n: 2}, {n: 4}], link: ld, compute: "D[x] = S[x]", dims: {x: "${n}"},
     operands: {D: {dtype: s32}}, emit: "{D} = load_some({S}, ${n});"}
  - {name: store, link: st, compute: "D[i,j] = S[i,j]", dims: {i: 2, j: 4},
     operands: {D: {dtype: s32, layout: LAYOUT}, S: {dtype: s32, layout: LAYOUT}}, emit: "store({D}, {S});"}
  - {name: outer, unit: core, compute: "C[i,j] = A[i] * B[j]", dims: {i: 2, j: 4},
     operands: {A: {memory: reg, dtype: s32}, B: {memory: reg, dtype: s32}, C: {memory: reg, dtype: s32, layout: LAYOUT}},
     emit: "{C} = outer({A}, {B});"}
)";

TEST(Verify, ATransposedLayoutIsCaught) {
  std::string text = changed(tile, "types: {s32: int32_t}", "types: {s32: std::int32_t}");
  const Folder folder;
  const Said right =
      isamap({"hw", "verify", folder.write("right.yaml", changed(text, "LAYOUT", "{i: 1, j: 2}")), "--json"});
  EXPECT_EQ(right.code, 0) << right.out << right.err;
  EXPECT_EQ(row(parsed(right), "outer").value("verdict", ""), "equal") << right.out;
  expect_caught(changed(text, "LAYOUT", "{i: 4, j: 1}"), "outer", "C stands in another order: [j, i]");
}

/// An instruction that requires more than the file is not executed where the processor lacks it; all others are. Moves
/// that only its program uses are not executed either, and say so.
TEST(Verify, AMissingFeatureStopsNoOtherInstruction) {
  std::string text = changed(tile, "types: {s32: int32_t}", "types: {s32: std::int32_t}");
  text = changed(text, "LAYOUT", "{i: 1, j: 2}");
  text = changed(text, "{n: 4}]", "{n: 4}, {n: 8}]");
  text = changed(text, "dims: {i: 2, j: 4},\n     operands: {A:",
                 "dims: {i: 2, j: 4}, requires: {cpu: [no_such_feature]},\n     operands: {A:");
  text +=
      R"(  - {name: store_8, link: st, compute: "D[x] = S[x]", dims: {x: 8}, operands: {D: {dtype: s32}, S: {dtype: s32}},
     emit: "store({D}, {S});"}
)";
  const Folder folder;
  const Said said = isamap({"hw", "verify", folder.write("lacking.yaml", text), "--json"});
  if (said.code == 77 && said.err.find("compiler") != std::string::npos) GTEST_SKIP() << said.err;
  EXPECT_EQ(said.code, 0) << said.out << said.err;
  for (const char* name : {"load_8", "store_8"}) {
    EXPECT_EQ(row(parsed(said), name).value("verdict", ""), "equal") << said.out;
    EXPECT_GT(row(parsed(said), name).value("results", 0), 0) << said.out;
  }
  for (const char* name : {"load_2", "load_4", "store", "outer"}) {
    EXPECT_EQ(row(parsed(said), name).value("verdict", ""), "not isolated") << said.out;
    EXPECT_EQ(row(parsed(said), name).value("seen_through", ""), "") << said.out;
  }
  EXPECT_NE(row(parsed(said), "outer").value("why", "").find("no_such_feature"), std::string::npos) << said.out;
}

TEST(Verify, WhatCannotBeIsolatedSaysWhy) {
  const Said said = isamap({"hw", "verify", "npu16", "--json"});
  const auto mvin = row(parsed(said), "mvin");
  EXPECT_EQ(mvin.value("verdict", ""), "not isolated");
  EXPECT_EQ(mvin.value("why", ""), "nothing brings out operand D of mvin: no links lead out of spad to the tensors");
  EXPECT_EQ(mvin.value("seen_through", ""), "mma");
}

TEST(Skeletons, EachKindChecksCleanAndMapsAndWhatCanRunRuns) {
  const Folder folder;
  const std::vector<std::pair<std::string, std::string>> kinds{
      {"systolic", "gemm_s8"}, {"vector", "gemm"}, {"gpu", "gemm_f16"}};
  for (const auto& [kind, kernel] : kinds) {
    const Said made = isamap({"hw", "new", "mine", "--kind", kind});
    ASSERT_EQ(made.code, 0) << made.err;
    EXPECT_EQ(isamap({"hw", "new", kind}).out.find("hardware: " + kind) != std::string::npos, true);
    const std::string file = folder.write(kind + ".yaml", made.out);
    const Said checked = isamap({"hw", "check", file});
    EXPECT_EQ(checked.code, 0) << checked.err;
    EXPECT_EQ(checked.err, "") << kind;
    EXPECT_EQ(isamap({"map", example(kernel), "--target", file}).code, 0) << kind;
    if (kind == "gpu") continue;
    const Said verified = isamap({"hw", "verify", file, "--json"});
    EXPECT_EQ(verified.code, 0) << verified.out << verified.err;
    const Said run = isamap({"run", example(kernel), "--target", file, "--json"});
    EXPECT_EQ(run.code, 0) << run.out << run.err;
    EXPECT_EQ(parsed(run).value("correct", false), true);
    EXPECT_EQ(run.out.find("scalar code"), std::string::npos);
  }
  EXPECT_EQ(isamap({"hw", "new", "mine", "--kind", "toaster"}).code, 2);
}

/// The skeleton of an accelerator, executed by a program that shares no code with ours.
std::string with_simulator(const std::string& command = ISAMAP_ACCELERATOR " {program} {folder}") {
  return changed(isamap({"hw", "new", "systolic"}).out, "comment: \"#\"}",
                 "comment: \"#\", run: {simulator: \"" + command + "\"}}");
}

TEST(ExternalSimulator, RunsWholeKernels) {
  const Folder folder;
  const std::string file = folder.write("theirs.yaml", with_simulator());
  for (const char* sizes : {"i=37,j=52,k=70", "i=1,j=1,k=1", "i=16,j=16,k=16", "i=5,j=0,k=3"}) {
    const Said said = isamap({"run", "--compute", "C[i,j] += A[i,k]*B[k,j]", "--dims", sizes, "--dtypes",
                              "A=s8,B=s8,C=s32", "--target", file, "--json"});
    EXPECT_EQ(said.code, 0) << sizes << said.out << said.err;
    EXPECT_EQ(parsed(said).value("executed", ""), "simulator");
    EXPECT_EQ(parsed(said).value("correct", false), true);
  }
}

TEST(ExternalSimulator, AgreesWithTheDescription) {
  const Folder folder;
  const Said said = isamap({"hw", "verify", folder.write("theirs.yaml", with_simulator()), "--json"});
  EXPECT_EQ(said.code, 0) << said.out << said.err;
  EXPECT_EQ(row(parsed(said), "matmul").value("verdict", ""), "equal") << said.out;
  EXPECT_EQ(row(parsed(said), "clear").value("verdict", ""), "equal") << said.out;
}

TEST(ExternalSimulator, CatchesADescriptionThatIsWrong) {
  std::string unsigned_a = changed(with_simulator(), "A: {memory: spad, dtype: s8", "A: {memory: spad, dtype: u8");
  unsigned_a = changed(unsigned_a, "D: {dtype: s8, layout", "D: {dtype: b8, layout");
  unsigned_a = changed(unsigned_a, "S: {dtype: s8, layout", "S: {dtype: b8, layout");
  expect_caught(unsigned_a, "matmul", "operand A is s8, not u8");
  expect_caught(changed(with_simulator(), "A: {memory: spad, dtype: s8, layout: {i: \"${dim}\", k: 1}",
                        "A: {memory: spad, dtype: s8, layout: {i: 1, k: \"${dim}\"}"),
                "matmul", "A stands in another order: [i, k]");
  // Right at address 0 only.
  expect_caught(changed(with_simulator(), "matmul {C}, {A}, {B}", "matmul {C}, {A/2}, {B}"), "matmul", "");
  expect_caught(changed(with_simulator(), "s32(A[i,k]) * s32(B[k,j])", "sat_s8(s32(A[i,k]) * s32(B[k,j]))"), "matmul",
                "nothing is cut off in between; the description says that it saturates");
}

TEST(ExternalSimulator, SaysWhatIsWrongWithIt) {
  const Folder folder;
  const Said missing =
      isamap({"hw", "verify", folder.write("gone.yaml", with_simulator("./no_such_simulator {program}"))});
  EXPECT_EQ(missing.code, 77) << missing.out;
  EXPECT_NE(missing.err.find("no_such_simulator' is missing"), std::string::npos) << missing.err;
  const Said fails =
      isamap({"run", example("gemm_s8"), "--target", folder.write("false.yaml", with_simulator("false {program}"))});
  EXPECT_EQ(fails.code, 5) << fails.out;
  EXPECT_NE(fails.err.find("failed with exit code 1"), std::string::npos) << fails.err;
  const Said silent =
      isamap({"run", example("gemm_s8"), "--target", folder.write("true.yaml", with_simulator("true {program}"))});
  EXPECT_NE(silent.err.find("left 0 bytes in 'dram.out'"), std::string::npos) << silent.err;
  EXPECT_EQ(isamap({"hw", "check", folder.write("unnamed.yaml", with_simulator("mysim"))}).code, 1);
}

// -- how sums start, state that a computation leaves, moves that nothing brings back, truth values -------------------

TEST(Verify, HeavySumsThatAlwaysStartAnewAndTruthValues) {
  const std::string file = ISAMAP_SOURCE_DIR "/tests/cli/data/plain_registers.yaml";
  const Said said = isamap({"hw", "verify", file, "--json"});
  for (const char* name : {"dot", "nonzero", "blend", "load_mask", "store_mask"})
    EXPECT_EQ(row(parsed(said), name).value("verdict", ""), "equal") << name << said.out << said.err;
  for (const char* name : {"up", "down"})  // an operand is as large as all its reads need
    EXPECT_EQ(row(parsed(said), name).value("why", "").find("has size"), std::string::npos) << said.out;
  // One call adds up two products: along k it may not be called again and again.
  for (const char* sizes : {"i=5,j=9,k=2", "i=5,j=9,k=14", "i=5,j=9,k=1", "i=1,j=1,k=3"}) {
    const Said run = isamap({"run", "--compute", "C[i,j] += A[i,k] * B[k,j]", "--dims", sizes, "--dtypes",
                             "A=s16,B=s16,C=s32", "--target", file, "--json"});
    EXPECT_EQ(run.code, 0) << sizes << run.out << run.err;
    EXPECT_EQ(parsed(run).value("correct", false), true) << sizes;
  }
  const Said deep = isamap({"map", "--compute", "C[i,j] += A[i,k] * B[k,j]", "--dims", "i=5,j=9,k=14", "--dtypes",
                            "A=s16,B=s16,C=s32", "--target", file});
  EXPECT_NE((deep.out + deep.err)
                .find("each call overwrites D, so one call must compute the whole sum: instruction dim k takes 2, the "
                      "sum needs 14"),
            std::string::npos)
      << deep.out << deep.err;
}

/// A state that no setter gives, and that only a sum in progress has: not isolated, which is no failure.
TEST(Verify, StateThatNoSetterGivesIsNotIsolated) {
  const Said said = isamap({"hw", "verify", "systolic16", "--json"});
  EXPECT_EQ(said.code, 0) << said.out << said.err;
  EXPECT_EQ(row(parsed(said), "compute_accumulated").value("verdict", ""), "not isolated") << said.out;
  EXPECT_EQ(row(parsed(said), "compute_accumulated").value("why", ""),
            "'compute_accumulated' needs ex.fresh = 0, which holds 1, and no setter can give it that value");
  for (const char* move : {"mvin", "mvin2", "mvin3", "preload"}) {
    EXPECT_EQ(row(parsed(said), move).value("verdict", ""), "not isolated") << move;
    EXPECT_NE(row(parsed(said), move).value("seen_through", ""), "") << move << said.out;
  }
}

TEST(ExternalSimulator, LacksSomething) {
  const Folder folder;
  const std::string script = folder.write("lacks", "#!/bin/sh\necho looking\necho 'no array is connected'\nexit 77\n");
  fs::permissions(script, fs::perms::owner_all);
  const std::string file = folder.write("lacks.yaml", with_simulator("./lacks {program} {folder}"));
  const Said run = isamap({"run", example("gemm_s8"), "--target", file, "--json"});
  EXPECT_EQ(run.code, 77) << run.out << run.err;
  EXPECT_NE(run.err.find("lacks' cannot run here: no array is connected"), std::string::npos) << run.err;
  const Said verify = isamap({"hw", "verify", file, "--json"});
  EXPECT_EQ(verify.code, 77) << verify.out << verify.err;
  EXPECT_EQ(parsed(verify).value("simulator", ""), "./lacks");
}

/// The skeleton with a simulator that has a name, is a script and may take so many seconds.
std::string with_named(const std::string& command, int seconds) {
  return changed(isamap({"hw", "new", "systolic"}).out, "comment: \"#\"}",
                 "comment: \"#\", run: {simulator: Sim of the house, command: \"" + command +
                     "\", seconds: " + std::to_string(seconds) + "}}");
}

TEST(ExternalSimulator, ItsNameAndLimitAreReported) {
  const Folder folder;
  const std::string file = folder.write("named.yaml", with_named(ISAMAP_ACCELERATOR " {program} {folder}", 20));
  const Said run = isamap({"run", example("gemm_s8"), "--target", file});
  EXPECT_NE(run.out.find("executed simulator Sim of the house (limit 20 s), correct"), std::string::npos) << run.out;
  const auto json = parsed(isamap({"run", example("gemm_s8"), "--target", file, "--json"}));
  EXPECT_EQ(json.value("executed", ""), "simulator");
  EXPECT_EQ(json.value("simulator", ""), "Sim of the house");
  EXPECT_EQ(json.value("simulator_seconds", 0), 20);
  const Said verify = isamap({"hw", "verify", file});
  EXPECT_NE(verify.out.find("executed (simulator Sim of the house (limit 20 s))"), std::string::npos) << verify.out;
  const Said show = isamap({"hw", "show", file});
  EXPECT_NE(show.out.find("simulator Sim of the house: " ISAMAP_ACCELERATOR " {program} {folder}, at most 20 s\n"),
            std::string::npos)
      << show.out;
  const auto shown = parsed(isamap({"hw", "show", file, "--json"}))["simulator"];
  EXPECT_EQ(shown.value("name", ""), "Sim of the house");
  EXPECT_EQ(shown.value("seconds", 0), 20);
  const Said gone =
      isamap({"run", example("gemm_s8"), "--target", folder.write("gone.yaml", with_named("no_such {program}", 20))});
  EXPECT_EQ(gone.code, 77);
  EXPECT_NE(gone.err.find("the simulator 'Sim of the house' is missing: there is no command 'no_such'"),
            std::string::npos)
      << gone.err;
  // The plain form has the limit of every run, and its first word as a name.
  const auto plain =
      parsed(isamap({"run", example("gemm_s8"), "--target", folder.write("plain.yaml", with_simulator()), "--json"}));
  EXPECT_EQ(plain.value("simulator", ""), ISAMAP_ACCELERATOR);
  EXPECT_EQ(plain.value("simulator_seconds", 0), 60);
}

/// A process that nobody has waited for yet is dead all the same.
bool lives(const std::string& pid) {
  const std::string stat = read_file("/proc/" + pid.substr(0, pid.find('\n')) + "/stat");
  const std::size_t name_end = stat.rfind(") ");
  return name_end != std::string::npos && stat[name_end + 2] != 'Z' && stat[name_end + 2] != 'X';
}

/// A signal that ends a process may be seen a moment after the one that sent it has gone on.
bool ends_soon(const std::string& pid) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (lives(pid) && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return !lives(pid);
}

/// It is ended with all that it has started, and that is no wrong result.
TEST(ExternalSimulator, IsKilledAtItsLimit) {
  const Folder folder;
  const std::string script = folder.write(
      "slow", "#!/bin/sh\necho looking for the array\nsleep 600 &\necho $! > " + (folder / "child") + "\nwait\n");
  fs::permissions(script, fs::perms::owner_all);
  const std::string file = folder.write("slow.yaml", with_named("./slow {program} {folder}", 1));
  const auto before = std::chrono::steady_clock::now();
  const Said run = isamap({"run", example("gemm_s8"), "--target", file, "--json"});
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(30));
  EXPECT_EQ(run.code, 4) << run.out << run.err;
  const std::string words =
      "the simulator 'Sim of the house' was killed after 1 s, its time limit ('seconds' of program.run); "
      "its last line: looking for the array";
  EXPECT_NE(run.err.find(words), std::string::npos) << run.err;
  EXPECT_EQ(parsed(run).value("exit", 0), 4) << run.out;
  EXPECT_EQ(parsed(run).value("simulator", ""), "Sim of the house");
  EXPECT_EQ(parsed(run)["reasons"][0], words);
  EXPECT_TRUE(ends_soon(read_file(folder / "child")));
  const Said verify = isamap({"hw", "verify", file, "--json"});
  EXPECT_EQ(verify.code, 4) << verify.out << verify.err;
  EXPECT_EQ(parsed(verify).value("why", ""), words);
  // Nothing was compared, so nothing is equal.
  EXPECT_EQ(parsed(verify).value("equal", -1), 0) << verify.out;
  for (const auto& one : parsed(verify)["instructions"]) EXPECT_NE(one.value("verdict", ""), "equal") << one.dump();
}

TEST(Verify, ExitCodes) {
  EXPECT_EQ(isamap({"hw", "verify", "x86_avx2", "--instruction", "nothing"}).code, 1);
  EXPECT_EQ(isamap({"hw", "verify", "nowhere"}).code, 1);
  EXPECT_EQ(isamap({"hw", "verify", "npu16", "--samples", "0"}).code, 2);
  const Folder folder;
  std::string text = model_text("x86_avx2");
  const Said missing = isamap(
      {"hw", "verify",
       folder.write("other.yaml", changed(text, "requires: {cpu: [", "requires: {cpu: [no_such_feature, ")), "--json"});
  EXPECT_EQ(missing.code, 77);
  EXPECT_NE(missing.err.find("no_such_feature"), std::string::npos) << missing.err;
}

}  // namespace
}  // namespace isamap::cli_test

// SPDX-License-Identifier: Apache-2.0
// What the program says of its own accord: sums that lose terms, scalar code in the place of instructions, operands
// without room, lines that must be unrolled, entries merged by the name of their template.

#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "isamap/frontends.h"
#include "isamap/interpret.h"
#include "tests/cli/program.h"

namespace isamap::cli_test {
namespace {

bool says(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

constexpr const char* bf16_sum = R"(kernel: b
dims: {M: 3, N: 17, K: 1000}
tensors:
  A: {shape: [M, K], dtype: bf16}
  B: {shape: [K, N], dtype: bf16}
  C: {shape: [M, N], dtype: bf16}
compute: C[i,j] += A[i,k] * B[k,j]
)";

constexpr const char* lost =
    "k.yaml:7:10: warning: the sum of 1000 terms in C is rounded to bf16 (8 significant bits) after every term: it "
    "sticks at 256 times the size of a term\n";
constexpr const char* instead =
    "hint: sum in f32 and round once: tensor `C_sum: {shape: [3, 17], dtype: f32}`, statements "
    "`C_sum[i,j] += A[i,k] * B[k,j]` and `C[i,j] = bf16(C_sum[i,j])`\n";

/// Instructions that one reason stops share its line, in `map` as in `explain`.
TEST(Messages, MapGroupsRefusalsByTheirReason) {
  const Said said =
      isamap({"map", "--compute", "C[i,j] += A[i,k] * B[k,j]", "--dims", "i=8,j=8,k=8", "--target", "x86_avx512"});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_TRUE(says(said.out, "\nfma_f64 and fma_f64_bcast do not map s0: dtype: ")) << said.out;
  std::map<std::string, int> reasons;
  std::istringstream lines(said.out);
  for (std::string line; std::getline(lines, line);)
    if (const std::size_t at = line.find(" not map s0: "); at != std::string::npos) ++reasons[line.substr(at)];
  EXPECT_GE(reasons.size(), 3u) << said.out;
  for (const auto& [reason, times] : reasons) EXPECT_EQ(times, 1) << reason;
}

/// Nothing overlaps in the order of the program, whoever prices it.
TEST(Messages, NoReorderIsPricedByEveryModel) {
  const Folder folder;
  const std::vector<std::string> product{"--compute", "C[i,j] += A[i,k] * B[k,j]", "--dims",   "i=37,j=52,k=70",
                                         "--dtypes",  "A=s8,B=s8,C=s32",           "--target", "npu16"};
  const auto with = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), product.begin(), product.end());
    return isamap(arguments);
  };
  const std::string schedule = folder / "s.yaml";
  ASSERT_EQ(with({"schedule", "--budget", "evals=100", "-o", schedule}).code, 0);
  for (const char* cost : {"closed_form", "latency", "simulator"}) {
    const auto cycles = [&](const std::vector<std::string>& more) {
      std::vector<std::string> arguments{"evaluate", "--schedule", schedule, "--cost", cost, "--json"};
      arguments.insert(arguments.end(), more.begin(), more.end());
      const Said said = with(arguments);
      EXPECT_EQ(said.code, 0) << said.err;
      return nlohmann::json::parse(said.out, nullptr, false).value("cycles", -1.0);
    };
    EXPECT_GT(cycles({"--no-reorder"}), 1.2 * cycles({})) << cost;
  }
  const Said host =
      isamap({"schedule", "--compute", "Y[i] = X[i] + 1", "--dims", "i=8", "--target", "scalar_c", "--no-reorder"});
  EXPECT_EQ(host.code, 1);
  EXPECT_TRUE(says(host.err, "--no-reorder: scalar_c executes no commands of an accelerator")) << host.err;
  const Said former = with({"schedule", "--set", "stream_window=1"});
  EXPECT_EQ(former.code, 1);
  EXPECT_TRUE(says(former.err, "the window of a command stream is a key: program: {window: 32}")) << former.err;
}

TEST(Messages, ASumThatLosesTermsIsToldByEveryVerb) {
  const Folder folder;
  const std::string kernel = folder.write("k.yaml", bf16_sum);
  for (const char* verb : {"run", "schedule", "emit", "map", "explain", "extract"}) {
    const Said said = isamap({verb, kernel, "--target", "scalar_c"});
    EXPECT_TRUE(says(said.err, lost)) << verb << said.err;
    EXPECT_TRUE(says(said.err, instead)) << verb << said.err;
    const Said json = isamap({verb, kernel, "--target", "scalar_c", "--json"});
    EXPECT_EQ(json.code, said.code) << verb;
    const auto notes = parsed(json).value("notes", nlohmann::json::array());
    ASSERT_EQ(notes.size(), 1u) << verb << json.out;
    EXPECT_TRUE(says(notes[0].get<std::string>(), "k.yaml:7:10: the sum of 1000 terms")) << notes;
  }
  EXPECT_EQ(isamap({"run", kernel, "--target", "scalar_c"}).code, 0);
}

TEST(Messages, ASumOfAFormulaIsToldToo) {
  const std::vector<std::string> formula{"schedule",   "--compute", "C[i] += A[i,k]", "--dims",
                                         "i=2,k=4096", "--target",  "scalar_c",       "--dtypes"};
  const auto with = [&](const std::string& types) {
    auto words = formula;
    words.push_back(types);
    return isamap(words);
  };
  EXPECT_TRUE(says(with("A=f16,C=f16").err,
                   "--compute:1:1: warning: the sum of 4096 terms in C is rounded to f16 (11 "
                   "significant bits) after every term: it sticks at 2048 times"));
  EXPECT_TRUE(says(with("A=e4m3,C=e4m3").err, "sticks at 16 times"));
  EXPECT_TRUE(says(with("A=bf16,C=bf16").err, "sticks at 256 times"));
  EXPECT_EQ(with("A=bf16,C=f32").err, "");
  EXPECT_EQ(with("A=s8,C=s32").err, "");
}

Kernel kernel_of(const std::string& text, Diagnostics& warnings) {
  auto kernel = parse_kernel_yaml(text, "k.yaml", &warnings);
  EXPECT_TRUE(kernel) << render(kernel.diagnostics());
  return kernel ? *kernel : Kernel{};
}

double first_of_ones(const Kernel& kernel) {
  std::vector<TensorData> data;
  for (const Tensor& t : kernel.tensors) {
    data.push_back(make_data(t));
    for (std::int64_t i = 0; i < data.back().count(); ++i)
      if (role_of(kernel, make_id<TensorId>(data.size() - 1)) == Role::input) data.back().set(i, Scalar{1, 1});
  }
  interpret(kernel, data);
  for (std::size_t t = 0; t < data.size(); ++t)
    if (role_of(kernel, make_id<TensorId>(t)) == Role::output) return data[t].get(0).real;
  return -1;
}

/// What the hint writes is a kernel, gives what the sum is, and no warning.
TEST(Messages, WhatTheHintWritesKeepsTheSum) {
  Diagnostics warnings;
  const Kernel narrow = kernel_of(bf16_sum, warnings);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(first_of_ones(narrow), 256);
  std::string text = bf16_sum;
  text.insert(text.find("compute:"), "  C_sum: {shape: [3, 17], dtype: f32}\n");
  text.replace(text.find("compute:"), std::string::npos,
               "compute:\n  - C_sum[i,j] += A[i,k] * B[k,j]\n  - C[i,j] = bf16(C_sum[i,j])\n");
  const Kernel wide = kernel_of(text, warnings);
  EXPECT_TRUE(warnings.empty()) << render(warnings);
  EXPECT_EQ(first_of_ones(wide), 1000);
}

/// Sums along a recurrence, of few terms, of none, and of one.
TEST(Messages, OnlySumsThatLoseTermsAreTold) {
  const auto warned = [](const std::string& type, const std::string& k, const std::string& compute) {
    Diagnostics warnings;
    kernel_of("kernel: k\ntensors:\n  A: {shape: [" + k + ", 4], dtype: " + type + "}\n  C: {shape: [" + k +
                  ", 4], dtype: " + type + ", inout: true}\ncompute:\n" + compute,
              warnings);
    return warnings.size();
  };
  const std::string scan = "  - repeat: {t: 999}\n    compute:\n      - C[t+1,i] = C[t,i] + A[t,i]\n";
  EXPECT_EQ(warned("bf16", "1000", scan), 1u);
  EXPECT_EQ(warned("f32", "1000", scan), 0u);
  const std::string sum = "  - C[0,i] += A[k,i]\n";
  EXPECT_EQ(warned("bf16", "17", sum), 1u);
  for (const char* few : {"0", "1", "16"}) EXPECT_EQ(warned("bf16", few, sum), 0u) << few;
  EXPECT_EQ(warned("bf16", "1000", "  - C[0,i] max= A[k,i]\n"), 0u);
}

// A and B need 64 bytes each.
std::string without_room(const std::string& capacity) {
  return R"yaml(hardware: toy
clock: 1GHz
program: {language: asm}
units:
  - {name: host, scalar: true}
  - {name: npu, ports: {load: 1, execute: 1, store: 1}}
memories:
  - {name: dram, per: host, kind: dram, capacity: 1GiB}
  - {name: spad, per: npu, kind: scratchpad, capacity: )yaml" +
         capacity + R"yaml(}
  - {name: acc, per: npu, kind: accumulator, capacity: 4KiB}
links:
  - {name: in, from: dram, to: spad, bandwidth: 16B/cycle, latency: 10cycles}
  - {name: out, from: acc, to: dram, bandwidth: 16B/cycle, latency: 10cycles}
instructions:
  - {name: ld, link: in, compute: "D[i,j] = S[i,j]", dims: {i: {max: 8}, j: {max: 8}}, inactive: zero,
     operands: {D: {dtype: s8, layout: {i: 8, j: 1}}, S: {dtype: s8, layout: {i: any, j: 1}}}, emit: "ld {D}, {S}, {S.pitch[i]}, {extent[i]}, {extent[j]}"}
  - {name: clr, unit: npu, compute: "D[i,j] = 0", dims: {i: 8, j: 8}, operands: {D: {memory: acc, dtype: s32, layout: {i: 8, j: 1}}}, emit: "clr {D}"}
  - {name: mma, unit: npu, compute: "C[i,j] += s32(A[i,k]) * s32(B[k,j])", dims: {i: 8, j: 8, k: 8},
     operands: {A: {memory: spad, dtype: s8, layout: {i: 8, k: 1}}, B: {memory: spad, dtype: s8, layout: {k: 8, j: 1}}, C: {memory: acc, dtype: s32, layout: {i: 8, j: 1}}}, emit: "mma {C}, {A}, {B}"}
  - {name: st, link: out, compute: "D[i,j] = S[i,j]", dims: {i: {max: 8}, j: {max: 8}}, inactive: keep,
     operands: {D: {dtype: s32, layout: {i: any, j: 1}}, S: {dtype: s32, layout: {i: 8, j: 1}}}, emit: "st {D}, {S}, {D.pitch[i]}, {extent[i]}, {extent[j]}"}
)yaml";
}

TEST(Messages, OperandsThatDoNotFitTogetherAreTold) {
  const Folder folder;
  const Said said = isamap({"hw", "check", folder.write("hw.yaml", without_room("64B"))});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_TRUE(says(said.err,
                   "hw.yaml:18:5: warning: the operands of instruction 'mma' in memory 'spad' need 128 bytes "
                   "together (A 64, B 64); 'spad' has 64\n"))
      << said.err;
  EXPECT_FALSE(says(isamap({"hw", "check", folder.write("hw.yaml", without_room("128B"))}).err, "together"));
}

TEST(Messages, ScalarCodeSaysWhyWhereverItIsChosen) {
  const Folder folder;
  const std::string hardware = folder.write("hw.yaml", without_room("64B"));
  const std::vector<std::string> of{"--compute", "C[i,j] += A[i,k]*B[k,j]", "--dims",   "i=16,j=16,k=16",
                                    "--dtypes",  "A=s8,B=s8,C=s32",         "--target", hardware};
  const auto with = [&](const std::string& verb, const std::vector<std::string>& more) {
    std::vector<std::string> words{verb};
    words.insert(words.end(), of.begin(), of.end());
    words.insert(words.end(), more.begin(), more.end());
    return isamap(words);
  };
  const std::string scalar = "s0 is scalar code: no schedule of the mappings fits and lowers";
  const Said schedule = with("schedule", {});
  EXPECT_EQ(schedule.code, 0) << schedule.err;
  EXPECT_TRUE(says(schedule.out, "# " + scalar)) << schedule.out;
  EXPECT_TRUE(says(with("emit", {}).err, scalar));
  for (const char* verb : {"schedule", "emit"}) {
    const auto reasons = parsed(with(verb, {"--json"}))["scalar"];
    ASSERT_EQ(reasons.size(), 1u) << verb;
    EXPECT_EQ(reasons[0]["statement"], "s0");
    EXPECT_TRUE(says(reasons[0]["reasons"].dump(), "128")) << reasons;
  }
  EXPECT_TRUE(says(parsed(with("extract", {"--json"}))["layers"][0]["reasons"].dump(), "scalar code: "));
  // A schedule with the reason in it reads back.
  const std::string written = folder.write("s.yaml", schedule.out);
  EXPECT_EQ(with("schedule", {"--schedule", written}).code, 0);
}

/// Moves of other types are many, and far from working.
TEST(Messages, TheMoveThatIsNearestToWorkingSaysWhy) {
  const Folder folder;
  std::string text = without_room("1KiB");
  const std::string own = "{D: {dtype: s8, layout: {i: 8, j: 1}}";
  text.replace(text.find(own), own.size(), "{D: {dtype: s8, layout: {i: 16, j: 1}}");
  text.insert(
      text.find("  - {name: ld,"),
      "  - {name: \"ld_${t}\", link: in, compute: \"D[i] = S[i]\", dims: {i: {max: 8}}, inactive: zero, variants: "
      "[{t: f32}, {t: f16}, {t: bf16}, {t: s16}, {t: s32}, {t: u16}, {t: u32}, {t: f64}],\n     operands: {D: "
      "{dtype: \"${t}\"}, S: {dtype: \"${t}\"}}, emit: \"ld_${t} {D}, {S}, {extent[i]}\"}\n");
  const Said said = isamap({"schedule", "--compute", "C[i,j] += A[i,k]*B[k,j]", "--dims", "i=16,j=16,k=16", "--dtypes",
                            "A=s8,B=s8,C=s32", "--target", folder.write("hw.yaml", text), "--json"});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_TRUE(says(parsed(said)["scalar"].dump(), "ld needs 16")) << said.out;
}

TEST(Messages, ALoopThatChoosesRegistersMustBeUnrolled) {
  const Folder folder;
  const std::string kernel = folder.write("gemm.yaml", R"(kernel: gemm_odd
dims: {M: 131, N: 97, K: 61}
tensors:
  A: {shape: [M, K], dtype: f32}
  B: {shape: [K, N], dtype: f32}
  C: {shape: [M, N], dtype: f32}
compute: "C[i,j] += A[i,k] * B[k,j]"
)");
  const std::string text = R"(schedule: gemm_odd
kernel: gemm_odd
target: x86_avx512
nest:
  - for i by 14
  - for j by 32
  - stage C in vec
  - for k by 1
  - stage B in vec
  - for i by 1
  - stage A in vec
  - for j by 16 unroll
  - do s0 with fma_f32(j=j)
)";
  const Said said = isamap({"emit", kernel, "--target", "x86_avx512", "--schedule", folder.write("s.yaml", text)});
  EXPECT_EQ(said.code, 1);
  EXPECT_TRUE(says(said.err, "s.yaml:10:")) << said.err;
  EXPECT_TRUE(says(said.err, "add unroll at line 10: for i by 1 unroll")) << said.err;
  EXPECT_FALSE(says(said.err, "'i6'") || says(said.err, "for i6")) << said.err;  // its name in the program
  std::string unrolled = text;
  unrolled.replace(unrolled.find("for i by 1\n"), 10, "for i by 1 unroll");
  EXPECT_EQ(isamap({"emit", kernel, "--target", "x86_avx512", "--schedule", folder.write("u.yaml", unrolled)}).code, 0);
}

TEST(Messages, AnEntryWithTheTemplateOfTheBaseIsOneMessage) {
  const Folder folder;
  const std::string file = folder.write("mine.yaml", R"yaml(hardware: mine
extends: x86_avx_vnni.yaml
tables:
  words: [{op: dpwsud, l: s16, r: u16, t: s32}, {op: dpwusd, l: u16, r: s16, t: s32}]
instructions:
  - name: ${op}${e}
    unit: core
    variants:
      - words
      - - {e: "", compute: "C[j] += ${t}(A[k,j]) * ${t}(B[k,j])", a: "{A}", operands: {A: {memory: vec, layout: {j: 2, k: 1}}}}
        - {e: _bcast, compute: "C[j] += ${t}(A[k]) * ${t}(B[k,j])", a: "_mm256_set1_epi32(load4({A}))", operands: {A: {memory: ram, layout: {k: 1}}}}
    dims: {k: 2, j: 8}
    operands: {A: {dtype: "${l}"}, B: {memory: vec, dtype: "${r}", layout: {j: 2, k: 1}}, C: {memory: vec, dtype: "${t}"}}
    emit: "{C} = _mm256_${op}_avx_epi32({C}, ${a}, {B});"
    timing: {latency: 5cycles, port: fma, interval: 1cycles}
)yaml");
  const Said said = isamap({"hw", "check", file});
  EXPECT_EQ(said.code, 1);
  EXPECT_TRUE(says(said.err, "mine.yaml:6:11: this entry has the name of one of the base, '${op}${e}' in "))
      << said.err;
  EXPECT_TRUE(says(said.err, "before variants are expanded")) << said.err;
  const auto json = parsed(isamap({"hw", "check", file, "--json"}));
  EXPECT_EQ(json["files"][0]["diagnostics"].size(), 1u) << json;
}

TEST(Messages, AParameterWithoutQuotesIsNamed) {
  const Folder folder;
  const Said said = isamap({"hw", "check", folder.write("hw.yaml", R"(hardware: t
clock: 1GHz
instructions:
  - {name: x_${t}, unit: npu, compute: "D[i] = S[i]"}
)")});
  EXPECT_EQ(said.code, 1);
  EXPECT_TRUE(says(said.err, "hw.yaml:4:12: text that holds '${' must be quoted inside { } and [ ]")) << said.err;
  EXPECT_TRUE(says(said.err, "hint: write \"x_${t}\"")) << said.err;
}

/// Instructions that the same reason stops share a line, and the nearest to mapping comes first.
TEST(Messages, RefusalsAreGroupedNearestFirst) {
  const Said said = isamap({"map", "--compute", "C[i,j] += A[i,k]*B[k,j]", "--dims", "i=8,j=8,k=8", "--dtypes",
                            "A=s8,B=s8,C=s32", "--target", "x86_avx2"});
  const std::size_t dtype = said.out.find("not map s0: dtype: "), body = said.out.find("not map s0: body: ");
  EXPECT_LT(dtype, body) << said.out;
  EXPECT_TRUE(says(said.out, " do not map s0: ")) << said.out;
}

TEST(Messages, ASplitThatMapsIsProposed) {
  const Said said = isamap(
      {"explain", "--compute", "Y[i,j] = max(X[i,j] + Z[i,j], 0)", "--dims", "i=8,j=32", "--target", "x86_avx2"});
  EXPECT_TRUE(says(said.out,
                   "kernel: split the statement: `Y_part[i,j] = X[i,j] + Z[i,j]` and `Y[i,j] = "
                   "max(Y_part[i,j], 0)`"))
      << said.out;
}

/// A product of columns: the loader sets a pitch of at most PITCH bytes and has ROWS as its dim of rows.
std::string columns(const std::string& pitch, const std::string& rows) {
  std::string text = R"yaml(hardware: columns
program: {language: asm}
units: [{name: host, scalar: true}, {name: npu}]
memories:
  - {name: ram, per: host, kind: dram, capacity: 1MiB}
  - {name: spad, per: npu, kind: scratchpad, capacity: 4KiB}
  - {name: acc, per: npu, kind: accumulator, capacity: 4KiB}
links: [{name: in, from: ram, to: spad}, {name: out, from: acc, to: ram}]
states: [{name: ld, per: npu, fields: {pitch: {max: PITCH}}}]
instructions:
  - {name: set, unit: npu, sets: [ld.pitch], emit: "set {ld.pitch}"}
  - {name: load, link: in, compute: "D[i,j] = S[i,j]", dims: {i: ROWS, j: 4}, inactive: zero, emit: "load {D}, {S}, {extent[i]}",
     needs: {ld.pitch: "S.pitch[i]"}, operands: {D: {dtype: f32, layout: {i: 4, j: 1}}, S: {dtype: f32, layout: {i: any, j: 1}}}}
  - {name: store, link: out, compute: "D[i] = S[i]", dims: {i: 4}, operands: {D: {dtype: f32}, S: {dtype: f32}}, emit: "store {D}, {S}"}
  - {name: mac, unit: npu, compute: "C[j] += A[k,j] * B[k,j]", start: {C: [keep, zero]}, dims: {k: 4, j: 4}, emit: "mac {C}, {A}, {B}, {start[C]}",
     operands: {A: {memory: spad, dtype: f32}, B: {memory: spad, dtype: f32}, C: {memory: acc, dtype: f32}}}
)yaml";
  text.replace(text.find("PITCH"), 5, pitch);
  text.replace(text.find("ROWS"), 4, rows);
  return text;
}

TEST(Messages, ReasonsNameWhatTheHardwareFileCanChange) {
  const Folder folder;
  const auto run = [&](const std::string& pitch, const std::string& rows, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"run",
                                   "--compute",
                                   "C[j] += A[k,j] * B[k,j]",
                                   "--dims",
                                   "k=4,j=4",
                                   "--target",
                                   folder.write("columns.yaml", columns(pitch, rows))};
    words.insert(words.end(), more.begin(), more.end());
    return isamap(words);
  };
  EXPECT_TRUE(says(run("64", "{max: 4}").out, "executed simulator, correct; largest error 0; 5 cycles"));
  const Said narrow = run("7", "{max: 4}", {"--json"});
  EXPECT_TRUE(
      says(narrow.out, "neighbours along i of S are 4 elements apart; load needs ld.pitch = 16, which holds 0..7"))
      << narrow.out;
  const Said zeros = run("64", "{max: 8}");
  EXPECT_TRUE(says(zeros.out,
                   "load with extent 4 sets the other positions along i too, up to 8 (inactive: zero): if the "
                   "machine leaves them, describe the dim with `inactive: keep`"))
      << zeros.out;
  EXPECT_TRUE(
      says(run("64", "{max: 8, inactive: keep}").out, "executed simulator, correct; largest error 0; 5 cycles"));
  std::string two_rows = columns("64", "{max: 4}");
  for (const auto& [from, to] :
       {std::pair("j: 4}, inactive: zero", "j: {max: 4}}, inactive: keep, legal: [\"extent[i]*extent[j] <= 8\"]"),
        {"D: {dtype: f32, layout: {i: 4, j: 1}", "D: {dtype: f32, align: 64B, layout: {i: 4, j: 1}"}})
    two_rows.replace(two_rows.find(from), std::string(from).size(), to);
  const Said small = isamap({"run", "--compute", "C[j] += A[k,j] * B[k,j]", "--dims", "k=4,j=4", "--target",
                             folder.write("small.yaml", two_rows), "--json"});
  EXPECT_TRUE(says(small.out,
                   "; larger extents: load is legal only where extent[i] * extent[j] <= 8; here extent[i] * "
                   "extent[j] is 16"))
      << small.out;
  const Said cleared = run(
      "64", "{max: 4}",
      {"--schedule",
       folder.write("s.yaml",
                    "schedule: s\nkernel: formula\ntarget: columns\nnest:\n  - stage C in acc\n  - stage A in spad\n"
                    "  - stage B in spad\n  - do s0 with mac(k=k, j=j)\n")});
  EXPECT_TRUE(says(cleared.err, "hint: write `first flag` at the stage: the first call of mac then begins"))
      << cleared.err;
}

}  // namespace
}  // namespace isamap::cli_test

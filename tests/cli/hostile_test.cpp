// SPDX-License-Identifier: Apache-2.0
// Bad input: a clear message, the right exit code, bounded time, nothing half-written.

#include <gtest/gtest.h>

#include "isamap/frontends.h"
#include "tests/cli/program.h"
#include "tests/frontends/onnx_bytes.h"

namespace isamap::cli_test {
namespace {

/// Exit code 1, nothing on stdout, and stderr that begins with `begin` somewhere on a line.
void refuses(const std::vector<std::string>& words, const std::string& says) {
  const Said said = isamap(words);
  EXPECT_EQ(said.code, 1) << testing::PrintToString(words) << "\n" << said.out << said.err;
  EXPECT_EQ(said.out, "") << testing::PrintToString(words);
  EXPECT_NE(said.err.find(says), std::string::npos) << testing::PrintToString(words) << "\n" << said.err;
}

std::vector<std::string> formula(const std::string& verb, const std::string& compute, const std::string& dims) {
  return {verb, "--compute", compute, "--dims", dims, "--target", "scalar_c"};
}

TEST(Hostile, MissingFilesAreNamedAsGiven) {
  refuses({"map", "no/such.yaml", "--target", "scalar_c"}, "no/such.yaml:");
  if (onnx_supported()) refuses({"extract", "no/such.onnx", "--target", "scalar_c"}, "no/such.onnx:");
  refuses({"map", example("gemm"), "--target", "no/such_hardware.yaml"}, "no/such_hardware.yaml:");
  refuses({"evaluate", example("gemm"), "--target", "scalar_c", "--schedule", "no/schedule.yaml"}, "no/schedule.yaml:");
}

TEST(Hostile, AnUnknownTargetNamesTheKnownOnes) {
  refuses({"map", example("gemm"), "--target", "no_such_machine"}, "no_such_machine");
  EXPECT_NE(isamap({"map", example("gemm"), "--target", "x86_avx513"}).err.find("x86_avx512"), std::string::npos);
}

TEST(Hostile, BinaryGarbageInEveryLoader) {
  const Folder folder;
  std::string garbage;
  for (int i = 0; i < 5000; ++i) garbage += static_cast<char>((i * 7919 + i / 3) % 256);
  for (const std::string name : {"k.yaml", "m.onnx", "h.yaml", "s.yaml"}) folder.write(name, garbage);
  refuses({"map", folder / "k.yaml", "--target", "scalar_c"}, folder / "k.yaml:");
  if (onnx_supported()) refuses({"extract", folder / "m.onnx", "--target", "scalar_c"}, folder / "m.onnx:");
  refuses({"hw", "show", folder / "h.yaml"}, folder / "h.yaml:");
  refuses({"evaluate", example("gemm"), "--target", "scalar_c", "--schedule", folder / "s.yaml"}, folder / "s.yaml:");
}

TEST(Hostile, EmptyFilesAndFolders) {
  const Folder folder;
  folder.write("empty.yaml", "");
  folder.write("empty.onnx", "");
  refuses({"map", folder / "empty.yaml", "--target", "scalar_c"}, folder / "empty.yaml");
  if (onnx_supported()) refuses({"extract", folder / "empty.onnx", "--target", "scalar_c"}, folder / "empty.onnx");
  refuses({"hw", "show", folder / "empty.yaml"}, folder / "empty.yaml");
  refuses({"map", folder / "", "--target", "scalar_c"}, "");
}

/// Names in models are any bytes; JSON holds text.
TEST(Hostile, NamesThatAreNoText) {
  if (!onnx_supported()) GTEST_SKIP() << "built without ONNX (Debian: apt-get install libonnx-dev libprotobuf-dev)";
  using namespace onnx_bytes;
  const Folder folder;
  const std::string odd = "x\xff\xfe",
                    model = folder.write(
                        "m.onnx", onnx_bytes::model(input(odd, {2}) + node("Relu", {odd}, "y") + output("y", {2})));
  const Said said = isamap({"emit", model, "--target", "scalar_c", "-o", folder / "out"});
  ASSERT_EQ(said.code, 0) << said.err;
  const Json about = Json::parse(read_file(folder / "out/m.json"));
  EXPECT_EQ(about["inputs"][0]["name"], "x\xef\xbf\xbd\xef\xbf\xbd") << "U+FFFD for each byte";
}

TEST(Hostile, AModelIsEmittedIntoAFolder) {
  if (!onnx_supported()) GTEST_SKIP() << "built without ONNX (Debian: apt-get install libonnx-dev libprotobuf-dev)";
  const Folder folder;
  const std::string model =
      folder.write("m.onnx", onnx_bytes::model(onnx_bytes::input("x", {2}) + onnx_bytes::node("Relu", {"x"}, "y") +
                                               onnx_bytes::output("y", {2})));
  refuses({"emit", model, "--target", "scalar_c", "-o", model}, "-o FOLDER");
}

TEST(Hostile, NegativeSizes) { refuses(formula("map", "C[i,j] += A[i,k]*B[k,j]", "i=-4,j=8,k=8"), "-4"); }

TEST(Hostile, AFolderThatCannotBeMadeIsNamedWithTheReason) {
  const Folder folder;
  const std::string below = folder.write("file", "") + "/below/";
  const std::string says = below + ": this folder cannot be made: Not a directory";
  refuses({"emit", example("gemm"), "--target", "scalar_c", "--budget", "evals=2", "--header", "-o", below}, says);
  refuses({"emit", example("gemm"), "--target", "nvidia_sm80", "--budget", "evals=2", "-o", below}, says);
  refuses({"explain", example("gemm"), "--target", "npu16", "--write", below}, says);
}

TEST(Hostile, AProofThatCannotBeWrittenLeavesNoPartOfIt) {
  const Folder folder;
  const auto proofs = [&](const std::string& where) {
    auto words = formula("map", "Y[i] += X[i]*X[i]", "i=4");
    words.insert(words.end(), {"--certificates", where});
    return words;
  };
  ASSERT_EQ(isamap(proofs(folder / "")).code, 0);
  ASSERT_FALSE(folder.names().empty());
  const Folder other;
  for (const std::string& name : folder.names()) fs::create_directories(other / (name + "/taken"));
  refuses(proofs(other / ""), ".smt2: cannot be written: Is a directory");
  for (const std::string& name : other.names()) EXPECT_EQ(name.find(".tmp"), std::string::npos) << name;
}

TEST(Hostile, ProductsThatOverflow) {
  refuses(formula("map", "C[i,j] += A[i,k]*B[k,j]", "i=4000000000,j=4000000000,k=4000000000"), "2^63");
  refuses(formula("map", "C[i] = A[i]", "i=99999999999999999999"), "99999999999999999999");
}

TEST(Hostile, FortyDims) {
  std::string index, dims;
  for (int d = 0; d < 40; ++d) {
    const std::string name = "d" + std::to_string(d);
    index += (d ? "," : "") + name;
    dims += (d ? "," : "") + name + "=2";
  }
  refuses(formula("map", "C[" + index + "] = A[" + index + "]", dims), "24");
}

TEST(Hostile, ReadsOutOfBounds) {
  const Folder folder;
  folder.write("k.yaml",
               "kernel: k\ndims: {N: 8}\ntensors:\n  A: {shape: [N], dtype: f32}\n  B: {shape: [N], dtype: f32}\n"
               "compute:\n  - B[i] = A[i + 1]\n");
  refuses({"map", folder / "k.yaml", "--target", "scalar_c"}, folder / "k.yaml:");
}

TEST(Hostile, SyntaxErrorsPointAtTheirPlace) { refuses(formula("map", "C[i,j] += A[i,k]*", "i=4,j=4,k=4"), "^"); }

TEST(Hostile, KernelsTooLargeToRunAreRefusedAtOnce) {
  const Said said = isamap(formula("run", "C[i,j] += A[i,k]*B[k,j]", "i=10000,j=10000,k=10000"));
  EXPECT_EQ(said.code, 4) << said.err;
  EXPECT_NE(said.err.find("points"), std::string::npos) << said.err;
}

TEST(Hostile, AWrongScheduleIsWrongInput) {
  const Folder folder;
  folder.write("s.yaml", "schedule: s\nkernel: gemm\ntarget: scalar_c\nnest:\n  - for zz by 4\n");
  refuses({"run", example("gemm"), "--target", "scalar_c", "--schedule", folder / "s.yaml"}, "zz");
}

TEST(Hostile, AScheduleIsRefusedAtItsLineByEveryVerb) {
  const Folder folder;
  const std::string rest =
      "  - for j by 32\n  - for i by 14\n  - stage C in vec\n  - for k by 1\n  - stage B in vec\n  - for i by 1 "
      "unroll\n"
      "  - for j by 16 unroll\n  - do s0 with fma_f32_bcast(j=j)\n";
  const std::string digits =
      folder.write("digits.yaml", "schedule: s\nnest:\n  - stage B in ram as [j/32, k, j%31]\n" + rest);
  const std::string order = folder.write("order.yaml", "schedule: s\nnest:\n  - stage B in ram as [j, k]\n" + rest);
  const std::string crowded =
      folder.write("crowded.yaml", "schedule: s\nnest:\n  - stage A in ram\n  - for j by 32\n  - for i by 64\n" +
                                       rest.substr(rest.find("  - stage C")));
  for (const std::string verb : {"evaluate", "schedule", "emit", "run"}) {
    const auto says = [&](const std::string& file, const std::string& text) {
      const Said said = isamap({verb, "--compute", "C[i,j] += A[i,k]*B[k,j]", "--dims", "i=64,j=64,k=64", "--target",
                                "x86_avx512", "--schedule", file});
      EXPECT_EQ(said.code, 1) << verb;
      EXPECT_EQ(said.err.substr(0, text.size()), text) << verb;
    };
    says(digits,
         digits +
             ":3:5: 'stage B in ram as [j/32, k, j%31]': the layout's digits of j do not tell its 64 values apart\n"
             "      - stage B in ram as [j/32, k, j%31]\n        ^\n");
    says(order,
         order + ":8:5: stage B in vec: no move transfers B_vec from ram to vec\n      - stage B in vec\n        ^\n");
    says(crowded, crowded + ":6:5: memory vec: ");
  }
}

TEST(Hostile, WhatDoesNotMapSaysWhy) {
  const Said said =
      isamap({"map", "--compute", "C[i] = tan(A[i])", "--dims", "i=8", "--target", "x86_avx512_vnni", "--json"});
  EXPECT_EQ(said.code, 3) << said.err;
  auto json = parsed(said);
  ASSERT_FALSE(json.is_discarded()) << said.out;
  EXPECT_TRUE(json["mappings"].empty());
  ASSERT_FALSE(json["rejected"].empty());
  EXPECT_FALSE(json["rejected"][0]["reasons"].empty());
}

}  // namespace
}  // namespace isamap::cli_test

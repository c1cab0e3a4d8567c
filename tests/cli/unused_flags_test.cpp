// SPDX-License-Identifier: Apache-2.0
// Flags that would do nothing are refused, and so are values that contradict each other.

#include <gtest/gtest.h>

#include "isamap/frontends.h"
#include "tests/cli/program.h"
#include "tests/frontends/onnx_bytes.h"

namespace isamap::cli_test {
namespace {

using namespace onnx_bytes;

class UnusedFlags : public testing::Test {
 protected:
  void SetUp() override {
    if (!onnx_supported()) GTEST_SKIP() << "built without ONNX (Debian: apt-get install libonnx-dev libprotobuf-dev)";
    model_ = folder_.write(
        "m.onnx", onnx_bytes::model(input("x", {unknown, 4}) + node("Relu", {"x"}, "y") + output("y", {unknown, 4})));
    kernel_ = folder_.write("k.yaml",
                            "kernel: k\ndims: {I: 8}\ntensors: {x: {shape: [I], dtype: f32}, y: {shape: [I], dtype: "
                            "f32}}\ncompute: ['y[i] = max(x[i], 0)']\n");
    plan_ = folder_.write("p.yaml", "parts:\n  - [relu_0]\n");
  }
  static void is_refused(const std::vector<std::string>& words, const std::string& why) {
    const Said said = isamap(words);
    EXPECT_EQ(said.code, 2) << why << said.err;
    EXPECT_NE(said.err.find(why), std::string::npos) << said.err;
  }
  Folder folder_;
  std::string model_, kernel_, plan_;
};

TEST_F(UnusedFlags, OfModelsWithKernels) {
  for (const char* verb : {"run", "emit", "explain", "tune"})
    for (const std::vector<std::string>& flag :
         {std::vector<std::string>{"--fix", "x=1"}, {"--until", "y"}, {"--constant", "x"}}) {
      std::vector<std::string> words = {verb, kernel_, "--target", "scalar_c"};
      words.insert(words.end(), flag.begin(), flag.end());
      is_refused(words, flag[0] + " is for models, and '" + kernel_ + "' is none");
    }
  is_refused({"run", kernel_, "--target", "scalar_c", "--band-gain", "3"}, "--band-gain is for models");
  is_refused({"run", kernel_, "--target", "scalar_c", "--report", "r.html"}, "isamap schedule --report");
  is_refused({"extract", kernel_, "--target", "scalar_c", "--fix", "x=1"}, "--fix is for models");
  is_refused({"explain", kernel_, "--target", "scalar_c", "--strict-float"}, "--strict-float is for plans of models");
  EXPECT_EQ(isamap({"explain", model_, "--target", "scalar_c", "--strict-float"}).code, 0);
}

TEST_F(UnusedFlags, OfKernelsWithModels) {
  is_refused({"run", model_, "--target", "scalar_c", "--schedule", "s.yaml"}, "--schedule is for kernels");
  for (const char* flag : {"--program", "--check", "--header", "--test", "--workspace"})
    is_refused({"emit", model_, "--target", "scalar_c", "-o", folder_ / "out", flag}, flag + std::string(" is for k"));
  is_refused({"explain", model_, "--target", "scalar_c", "--write", "w"}, "--write is for kernels");
  is_refused({"tune", model_, "--target", "scalar_c", "--store", "s"}, "--store is for kernels");
}

TEST_F(UnusedFlags, ThatOthersReplace) {
  is_refused({"run", model_, "--target", "scalar_c", "--plan", plan_, "--band-gain", "3"}, "--plan replaces it");
  for (const std::vector<std::string>& flag :
       {std::vector<std::string>{"--budget", "evals=3"}, {"--plan", plan_}, {"--profile"}, {"--report", "r.html"}}) {
    std::vector<std::string> words = {"run", model_, "--interpret"};
    words.insert(words.end(), flag.begin(), flag.end());
    is_refused(words, flag[0] + " is for programs, and --interpret makes none");
  }
}

TEST_F(UnusedFlags, ValuesOfModelsHaveAMeaning) {
  is_refused({"run", model_, "--interpret", "--outputs", "o.txt"}, "arrays are written as .npz");
  is_refused({"run", model_, "--interpret", "--until", ","}, "--until names no value");
  is_refused({"run", model_, "--interpret", "--fix", "x=4,x=5"}, "--fix states 'x' twice: 4 and 5");
  is_refused({"run", kernel_, "--target", "x86_avx2", "--sizes", "M=1,,2"},
             "two commas, or one at an end, have no number between them");
  for (const char* verb : {"tune", "explain"})
    is_refused({verb, model_, "--target", "x86_avx2", "--dims", "N=1..4"}, "--dims is for one program of many sizes");
  const std::string none = folder_.write("none.onnx", onnx_bytes::model(input("x", {4}) + node("Relu", {"x"}, "y")));
  const Said said = isamap({"run", none, "--interpret"});
  EXPECT_EQ(said.code, 1);
  EXPECT_NE(said.err.find(none + ": the model has no outputs"), std::string::npos) << said.err;
}

/// A search with other limits is another search, whatever the cache of programs holds.
TEST_F(UnusedFlags, InstructionsCountWithACache) {
  const char* const before = std::getenv("ISAMAP_CACHE");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("ISAMAP_CACHE", (folder_ / "cache").c_str(), 1);
  const std::string product =
      folder_.write("g.onnx", onnx_bytes::model(input("x", {32, 32}) + input("w", {32, 32}) +
                                                node("MatMul", {"x", "w"}, "y") + output("y", {32, 32})));
  const auto cycles = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"emit",     product,    "--target", "x86_avx2",     "--json",
                                      "--budget", "evals=20", "-o",       folder_ / "out"};
    words.insert(words.end(), more.begin(), more.end());
    const Said said = isamap(words);
    EXPECT_EQ(said.code, 0) << said.err;
    return said.code == 0 ? nlohmann::json::parse(said.out)["predicted_cycles"].get<double>() : 0;
  };
  const double all = cycles({}), sums = cycles({"--instruction", "add_f32"});
  before == nullptr ? ::unsetenv("ISAMAP_CACHE") : ::setenv("ISAMAP_CACHE", kept.c_str(), 1);
  EXPECT_LT(all, sums);
}

/// A model's file is often called so, and variables of the emitted program are too.
TEST_F(UnusedFlags, AFileMayBeCalledModel) {
  const std::string path =
      folder_.write("model.onnx", onnx_bytes::model(input("x", {4}) + node("Relu", {"x"}, "y") + output("y", {4})));
  const Said said = isamap({"run", path, "--target", "scalar_c", "--budget", "evals=3", "--json"});
  EXPECT_EQ(said.code, 0) << said.err;
}

}  // namespace
}  // namespace isamap::cli_test

// SPDX-License-Identifier: Apache-2.0
// Whole models on accelerators, on the command line: one program in the simulator, its files, and what they say.

#include <gtest/gtest.h>

#include <algorithm>

#include "isamap/frontends.h"
#include "tests/cli/program.h"

namespace isamap::cli_test {
namespace {

class StreamModels : public testing::Test {
 protected:
  void SetUp() override {
    if (!onnx_supported()) GTEST_SKIP() << "built without ONNX (Debian: apt-get install libonnx-dev libprotobuf-dev)";
  }
  static std::string model(const std::string& name) {
    return std::string(ISAMAP_SOURCE_DIR) + "/tests/data/accelerators/" + name + ".onnx";
  }
  /// `isamap VERB MODEL --target TARGET` with a short search.
  static Said with(const std::string& verb, const std::string& name, const std::string& target,
                   const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {verb, model(name), "--target", target};
    if (verb != "explain") words.insert(words.end(), {"--budget", "evals=15"});
    words.insert(words.end(), more.begin(), more.end());
    return isamap(words);
  }
  static void is_one_program(const std::string& name, const std::string& target) {
    const Said said = with("run", name, target, {"--json"});
    ASSERT_EQ(said.code, 0) << name << " on " << target << ": " << said.err;
    const auto json = nlohmann::json::parse(said.out);
    EXPECT_EQ(json["executed"], "simulator");
    EXPECT_TRUE(json["whole"]);
    EXPECT_TRUE(json["correct"]);
    EXPECT_GT(json["arena_bytes"], 0);
    std::int64_t cycles = 0, commands = 0;
    for (const auto& part : json["part_list"]) {
      cycles += part["cycles"].get<std::int64_t>();
      commands += part["commands"].get<std::int64_t>();
      EXPECT_EQ(part["executed_by"] == "commands", part["on_host"].empty());
      for (const auto& left : part["on_host"]) EXPECT_FALSE(left["reasons"].empty()) << left.dump();
    }
    EXPECT_EQ(cycles, json["cycles"]);
    EXPECT_EQ(commands, json["commands"]);
    EXPECT_GT(commands, 0) << name << " on " << target;
    EXPECT_FALSE(json["memories"].empty());
    for (const auto& port : json["ports"]) EXPECT_LE(port["utilisation"], 1.0) << port.dump();
  }
  /// `command`: one of the target's, whose first line is left out; `not_of`: another machine.
  void files_run_again(const std::string& target, const std::string& command, const std::string& not_of);
  Folder folder_;
};

TEST_F(StreamModels, FloatsOnAnOutputStationaryArray) { is_one_program("cnn_1", "output_stationary16"); }

TEST_F(StreamModels, HeavyFloatsOnDotProducts) { is_one_program("cnn_3", "dot16"); }

TEST_F(StreamModels, HeavyBytesOnASystolicArray) { is_one_program("cnn_qlinear_3", "systolic16"); }

TEST_F(StreamModels, BytesOnDecoupledQueues) { is_one_program("cnn_qlinear_1", "vta16"); }

TEST_F(StreamModels, ProductsOfDequantisedBytesAreProductsOfBytes) { is_one_program("cnn_qdq_1", "systolic16"); }

TEST_F(StreamModels, HeavyProductsOfDequantisedBytesOnDecoupledQueues) { is_one_program("cnn_qdq_3", "vta16"); }

void StreamModels::files_run_again(const std::string& target, const std::string& command, const std::string& not_of) {
  const Said first = with("run", "cnn_qlinear_1", target, {"--outputs", folder_ / "a.npy", "--json"});
  ASSERT_EQ(first.code, 0) << first.err;
  const Said emitted = with("emit", "cnn_qlinear_1", target, {"-o", folder_ / "files"});
  ASSERT_EQ(emitted.code, 0) << emitted.err;
  const std::string base = folder_ / "files/cnn_qlinear_1";
  for (const char* const ending : {".s", ".program", ".weights", ".json"})
    EXPECT_NE(emitted.out.find(base + ending), std::string::npos) << emitted.out;
  const auto again = [&](const std::string& file) {
    return isamap({"run", file, "--target", target, "--outputs", folder_ / "b.npy", "--json"});
  };
  const Said ran = again(base + ".s");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(read_file(folder_ / "a.npy"), read_file(folder_ / "b.npy"));
  EXPECT_EQ(nlohmann::json::parse(ran.out)["cycles"], nlohmann::json::parse(first.out)["cycles"]);

  const Said other = isamap({"run", base + ".s", "--target", not_of});
  EXPECT_EQ(other.code, 1);
  EXPECT_NE(other.err.find("the commands are those of '" + target + "', not of '" + not_of + "'"), std::string::npos)
      << other.err;

  const std::string text = read_file(base + ".s");
  const std::size_t line = text.find("\n" + command);
  ASSERT_NE(line, std::string::npos);
  folder_.write("files/cnn_qlinear_1.s", text.substr(0, line) + text.substr(text.find('\n', line + 1)));
  const Said broken = again(base + ".s");
  EXPECT_TRUE(broken.code != 0 || read_file(folder_ / "a.npy") != read_file(folder_ / "b.npy"))
      << "a command is missing";
  folder_.write("files/cnn_qlinear_1.s", text);
  const std::string weights = read_file(base + ".weights");
  folder_.write("files/cnn_qlinear_1.weights", weights.substr(0, weights.size() - 1));
  const Said cut = again(base + ".s");
  EXPECT_EQ(cut.code, 1);
  EXPECT_NE(cut.err.find("cnn_qlinear_1.weights: the file of weights is cut off"), std::string::npos) << cut.err;
  folder_.write("files/cnn_qlinear_1.weights", weights + "x");
  EXPECT_NE(again(base + ".s").err.find("the file of weights is too long: it states"), std::string::npos);
  folder_.write("files/cnn_qlinear_1.weights", weights);
  folder_.write("files/cnn_qlinear_1.json", "{\"model\": 3}");
  EXPECT_EQ(again(base + ".s").code, 1);
  EXPECT_EQ(again(folder_ / "nothing.s").code, 1);
}

TEST_F(StreamModels, FilesRunAgain) { files_run_again("vta16", "gemm", "systolic16"); }
TEST_F(StreamModels, HeavyFilesRunAgainOnASystolicArray) { files_run_again("systolic16", "compute_", "vta16"); }

/// Weights of the same size, and a place beyond the memory.
TEST_F(StreamModels, FilesOfDifferentProgramsAreRefused) {
  const std::string kernel = folder_.write("linear_s8.yaml", R"yaml(kernel: linear_s8
dims: {M: 7, N: 16, K: 16}
tensors:
  X: {shape: [M, K], dtype: s8}
  W: {shape: [K, N], dtype: s8, constant: true}
  T: {shape: [M, N], dtype: s32}
  Y: {shape: [M, N], dtype: s8}
compute:
  - {name: multiply, compute: "T[i,j] += X[i,k] * W[k,j]"}
  - {name: scale,    compute: "Y[i,j] = sat_s8(round(f32(T[i,j]) * 0.4))"}
)yaml");
  for (const char* const seed : {"1", "2"}) {
    const Said said = isamap({"emit", kernel, "--plan", "search", "--target", "vta16", "--budget", "evals=5", "--seed",
                              seed, "-o", folder_ / seed});
    ASSERT_EQ(said.code, 0) << said.err;
  }
  const std::string base = folder_ / "1/linear_s8", text = read_file(base + ".program");
  const auto run = [&] { return isamap({"run", base + ".s", "--target", "vta16"}); };
  ASSERT_EQ(run().code, 0);
  const std::string weights = read_file(base + ".weights"), others = read_file(folder_ / "2/linear_s8.weights");
  ASSERT_EQ(weights.size(), others.size());
  folder_.write("1/linear_s8.weights", others);
  const Said mixed = run();
  EXPECT_EQ(mixed.code, 1);
  EXPECT_NE(mixed.err.find("linear_s8.weights: are those of another program"), std::string::npos) << mixed.err;
  folder_.write("1/linear_s8.weights", weights);
  const std::size_t buffers = text.find("\nbuffers\n"), place = text.find(" at ", buffers);
  ASSERT_NE(place, std::string::npos);
  const std::size_t end = text.find_first_of(" \n", place + 4);
  folder_.write("1/linear_s8.program", text.substr(0, place + 4) + "99999999999999" + text.substr(end));
  const Said corrupt = run();
  EXPECT_EQ(corrupt.code, 1);
  const auto line =
      std::to_string(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(place), '\n') + 1);
  EXPECT_NE(corrupt.err.find("linear_s8.program:" + line + ":"), std::string::npos) << corrupt.err;
  EXPECT_NE(corrupt.err.find("does not fit: dram has"), std::string::npos) << corrupt.err;
}

TEST_F(StreamModels, ModelsLargerThanTheMemoryAreRefusedBeforeTheyAreSearched) {
  std::string file = read_file(std::string(ISAMAP_SOURCE_DIR) + "/hardware_models/systolic16.yaml");
  const std::string whole = "capacity: 4GiB";
  ASSERT_NE(file.find(whole), std::string::npos);
  file.replace(file.find(whole), whole.size(), "capacity: 4KiB");
  const Said refused = with("run", "cnn_qlinear_1", folder_.write("small.yaml", file));
  EXPECT_EQ(refused.code, 3);
  EXPECT_NE(refused.err.find("bytes of dram, which has 4096"), std::string::npos) << refused.err;
}

TEST_F(StreamModels, ExplainNamesWhatIsLeftToTheHost) {
  const Said said = with("explain", "cnn_1", "systolic16");
  ASSERT_EQ(said.code, 0) << said.err;
  EXPECT_NE(said.out.find("conv_0 on the host: compute_preloaded: dtype"), std::string::npos) << said.out;
}

TEST_F(StreamModels, PagesHaveTheMachine) {
  ASSERT_EQ(with("run", "cnn_1", "output_stationary16", {"--report", folder_ / "page.html"}).code, 0);
  const std::string page = read_file(folder_ / "page.html");
  EXPECT_NE(page.find("<h2>On the machine</h2>"), std::string::npos);
  EXPECT_NE(page.find("<h2>Left to the host</h2>"), std::string::npos);
}

}  // namespace
}  // namespace isamap::cli_test

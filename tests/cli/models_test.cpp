// SPDX-License-Identifier: Apache-2.0
// Whole models on the command line: sizes, refusals, files of layers, and the interpreter against stated outputs.

#include <gtest/gtest.h>

#include <cstring>

#include "frontends/npy.h"
#include "isamap/frontends.h"
#include "tests/cli/program.h"
#include "tests/frontends/onnx_bytes.h"

namespace isamap::cli_test {
namespace {

using namespace onnx_bytes;

class Models : public testing::Test {
 protected:
  void SetUp() override {
    if (!onnx_supported()) GTEST_SKIP() << "built without ONNX (Debian: apt-get install libonnx-dev libprotobuf-dev)";
  }
  /// TensorProto of floats.
  static std::string tensor(const std::string& name, const Shape& shape, const std::vector<float>& values) {
    std::string bytes, raw(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    for (const std::int64_t size : shape) bytes += number(1, size);
    return bytes + number(2, 1) + text(8, name) + text(9, raw);
  }
  static std::string convolution() {
    return onnx_bytes::model(input("x", {1, 3, unknown, 8}) + input("w", {4, 3, 3, 3}) + input("b", {4}) +
                             node("Conv", {"x", "w", "b"}, "y") + output("y", {}));
  }
  Folder folder_;
};

TEST_F(Models, OpenSizesAreNamedAndGiven) {
  const std::string path = folder_.write("m.onnx", convolution());
  const Said open = isamap({"explain", path, "--target", "scalar_c", "--json"});
  EXPECT_EQ(open.code, 3) << open.err;
  const auto json = nlohmann::json::parse(open.out);
  EXPECT_EQ(json["refused"][0]["reason"], "sizes of it are not known: 'N'");
  EXPECT_EQ(json["refused"][0]["help"], "--sizes N=32");
  EXPECT_EQ(isamap({"explain", path, "--target", "scalar_c", "--sizes", "N=8"}).code, 0);
  const Said unknown_size = isamap({"explain", path, "--target", "scalar_c", "--sizes", "M=8"});
  EXPECT_EQ(unknown_size.code, 1);
  EXPECT_NE(unknown_size.err.find("the model has no free size 'M'"), std::string::npos) << unknown_size.err;
  EXPECT_EQ(isamap({"explain", path, "--target", "scalar_c", "--sizes", "N=eight"}).code, 2);
}

TEST_F(Models, LayersBecomeKernelFilesWithTheirBias) {
  const std::string path = folder_.write("m.onnx", convolution());
  const Said said = isamap({"import", "onnx", path, "-o", folder_ / "layers", "--sizes", "N=8"});
  ASSERT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(said.out, (folder_ / "layers/conv_0.yaml") + "\n");
  const std::string kernel = read_file(folder_ / "layers/conv_0.yaml");
  EXPECT_NE(kernel.find("T[n,k,p,q] += I[n,c,p + r,q + s] * F[k,c,r,s]"), std::string::npos) << kernel;
  EXPECT_NE(kernel.find("O[n,k,p,q] = T[n,k,p,q] + X0[k]"), std::string::npos) << kernel;
}

TEST_F(Models, TheInterpreterIsComparedWithStatedOutputs) {
  const std::string graph = input("x", {3}) + node("Relu", {"x"}, "y") + output("y", {});
  const std::string path = folder_.write("m.onnx", onnx_bytes::model(graph));
  folder_.write("input_0.pb", tensor("x", {3}, {-1, 2, 3}));
  folder_.write("output_0.pb", tensor("y", {3}, {0, 2, 3}));
  const std::string inputs = fs::path(path).parent_path().string();
  const Said right = isamap({"run", path, "--interpret", "--inputs", inputs, "--json"});
  EXPECT_EQ(right.code, 0) << right.err;
  EXPECT_TRUE(nlohmann::json::parse(right.out)["correct"]);
  folder_.write("output_0.pb", tensor("y", {3}, {0, 2, 4}));
  const Said wrong = isamap({"run", path, "--interpret", "--inputs", inputs});
  EXPECT_EQ(wrong.code, 5);
  EXPECT_NE(wrong.out.find("element 2 of output 'y' is 3, not 4"), std::string::npos) << wrong.out;
  EXPECT_EQ(isamap({"run", path}).code, 2);  // on which machine?
  EXPECT_EQ(isamap({"run", path, "--target", "scalar_c", "--inputs", inputs}).code, 5);
}

TEST_F(Models, ArraysOfNumpyGoInAndOut) {
  const std::string graph = input("x", {3}) + input("z/1", {3}) + node("Sub", {"x", "z/1"}, "y") +
                            node("Relu", {"y"}, "r") + output("r", {}) + output("y", {});
  const std::string path = folder_.write("m.onnx", onnx_bytes::model(graph));
  const auto array = [](const std::vector<float>& values) {
    TensorData data{DType::f32, {static_cast<std::int64_t>(values.size())}, {}};
    data.bytes.resize(values.size() * sizeof(float));
    std::memcpy(data.bytes.data(), values.data(), data.bytes.size());
    return data;
  };
  const std::string in = folder_ / "in.npz", out = folder_ / "out.npz";
  ASSERT_TRUE(save_arrays(in, {{"z/1", array({0, 0, 4})}, {"x", array({-1, 2, 3})}, {"r", array({0, 2, 0})}}));
  for (const std::vector<std::string>& how : {std::vector<std::string>{"--interpret"}, {"--target", "scalar_c"}}) {
    std::vector<std::string> words = {"run", path, "--inputs", in, "--outputs", out, "--json"};
    words.insert(words.end(), how.begin(), how.end());
    const Said said = isamap(words);
    ASSERT_EQ(said.code, 0) << said.err;
    EXPECT_EQ(nlohmann::json::parse(said.out)["compared"], 1) << "r is stated, y is not";
    const auto written = load_arrays(out);
    ASSERT_TRUE(written);
    ASSERT_EQ(written->size(), 2u);
    EXPECT_EQ((*written)[0].name, "r");
    EXPECT_EQ((*written)[1].name, "y");
    EXPECT_EQ((*written)[1].data, array({-1, 2, -1}));
  }
  const Said unwritable = isamap({"run", path, "--interpret", "--inputs", in, "--outputs", folder_ / "no/out.npz"});
  EXPECT_EQ(unwritable.code, 1);
  EXPECT_NE(unwritable.err.find("cannot be written"), std::string::npos) << unwritable.err;
  ASSERT_TRUE(save_arrays(in, {{"x", array({-1, 2, 3})}, {"other", array({0, 2, 0})}}));
  const Said unknown_name = isamap({"run", path, "--interpret", "--inputs", in});
  EXPECT_EQ(unknown_name.code, 1);
  EXPECT_NE(unknown_name.err.find(in + ": array 'other' is no input or output of the model"), std::string::npos)
      << unknown_name.err;
  ASSERT_TRUE(save_arrays(in, {{"arr_0", array({5, 6, 7})}, {"arr_1", array({1, 1, 9})}}));
  EXPECT_EQ(isamap({"run", path, "--interpret", "--inputs", in, "--outputs", out}).code, 0);
  EXPECT_EQ((*load_arrays(out))[1].data, array({4, 5, -2}));
  ASSERT_TRUE(save_arrays(in, {{"x", array({-1, 2, 3})}}));
  EXPECT_EQ(isamap({"run", path, "--interpret", "--inputs", in}).code, 1);
}

/// A convolution with bias and relu, a pool, the same convolution again, and a product: equal parts are compiled once.
TEST_F(Models, RunInPartsOnAMachine) {
  const std::string graph = input("x", {1, 4, 9, 9}) + input("w", {4, 4, 3, 3}) + input("b", {4}) +
                            input("m", {3 * 4, 5}) + node("Conv", {"x", "w", "b"}, "y", ints("pads", {1, 1, 1, 1})) +
                            node("Relu", {"y"}, "r") + node("Conv", {"r", "w", "b"}, "z", ints("pads", {1, 1, 1, 1})) +
                            node("Relu", {"z"}, "q") + node("Conv", {"q", "w", "b"}, "t", ints("pads", {1, 1, 1, 1})) +
                            node("Relu", {"t"}, "s") + node("Concat", {"x", "s", "x"}, "c", integer("axis", 1)) +
                            node("GlobalAveragePool", {"c"}, "p") + node("Flatten", {"p"}, "f") +
                            node("MatMul", {"f", "m"}, "o") + output("o", {});
  const std::string path = folder_.write("m.onnx", onnx_bytes::model(graph));
  for (const char* target : {"scalar_c", "systolic16"}) {
    const Said said = isamap({"run", path, "--target", target, "--budget", "evals=20", "--json"});
    ASSERT_EQ(said.code, 0) << said.err;
    const auto json = nlohmann::json::parse(said.out);
    EXPECT_TRUE(json["correct"]);
    EXPECT_LT(json["distinct_parts"], json["parts"]);
    EXPECT_EQ(json["part_list"].size(), json["parts"]);
  }
  const Said text = isamap({"run", path, "--target", "scalar_c", "--budget", "evals=20"});
  EXPECT_NE(text.out.find("every part as the interpreter says"), std::string::npos) << text.out;
  EXPECT_EQ(isamap({"run", path, "--target", "scalar_c", "--budget", "evals=20", "--until", "none"}).code, 1);
}

}  // namespace
}  // namespace isamap::cli_test

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
  const Said run = isamap({"run", path, "--target", "scalar_c"});
  EXPECT_EQ(run.code, 1) << run.err;  // nothing but a size is missing
  EXPECT_NE(run.err.find("--sizes N=32"), std::string::npos) << run.err;
  EXPECT_EQ(isamap({"explain", path, "--target", "scalar_c", "--sizes", "N=8"}).code, 0);
  const Said unknown_size = isamap({"explain", path, "--target", "scalar_c", "--sizes", "M=8"});
  EXPECT_EQ(unknown_size.code, 1);
  EXPECT_NE(unknown_size.err.find("the model has no free size 'M'"), std::string::npos) << unknown_size.err;
  EXPECT_EQ(isamap({"explain", path, "--target", "scalar_c", "--sizes", "N=eight"}).code, 2);
  const std::string wide = folder_.write(
      "wide.onnx", onnx_bytes::model(input("x", {unknown, 1 << 20}) + node("Relu", {"x"}, "y") + output("y", {})));
  const Said huge = isamap({"run", wide, "--interpret", "--sizes", "N=1000000"});
  EXPECT_EQ(huge.code, 4);
  EXPECT_NE(huge.err.find("this machine has"), std::string::npos) << huge.err;
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

TEST_F(Models, ShapesMayBeExternalData) {
  const auto stored = [](const std::string& name, const Shape& shape, int type, const std::string& offset) {
    std::string bytes;
    for (const std::int64_t size : shape) bytes += number(1, size);
    const auto entry = [](const std::string& key, const std::string& value) {
      return text(13, text(1, key) + text(2, value));
    };
    return text(5, bytes + number(2, type) + text(8, name) + entry("location", "w.bin") + entry("offset", offset) +
                       number(14, 1));
  };
  const std::string path =
      folder_.write("m.onnx", onnx_bytes::model(input("x", {2, 3}) + stored("shape", {2}, 7, "0") +
                                                stored("w", {2, 2}, 1, "16") + node("Reshape", {"x", "shape"}, "r") +
                                                node("MatMul", {"r", "w"}, "y") + output("y", {})));
  const Said missing = isamap({"run", path, "--interpret"});
  EXPECT_EQ(missing.code, 3);
  EXPECT_NE(missing.err.find("the shape is a constant whose values the file does not have; bring the file of its"),
            std::string::npos)
      << missing.err;
  std::string bytes(16, '\0');
  bytes[0] = 3, bytes[8] = 2;
  for (const float value : {1.0F, 0.0F, 0.0F, 1.0F}) bytes += float_bytes(value);
  folder_.write("w.bin", bytes);
  const Said there = isamap({"run", path, "--interpret"});
  EXPECT_EQ(there.code, 0) << there.err;
  EXPECT_NE(there.out.find("output y: f32[3, 2]"), std::string::npos) << there.out;
}

TEST_F(Models, PartsOfAPlanBecomeKernelFiles) {
  const std::string path = folder_.write(
      "m.onnx", onnx_bytes::model(input("x", {1, 3, 12, 12}) + input("w", {4, 3, 3, 3}) + input("b", {4}) +
                                  input("v", {4, 4, 3, 3}) + node("Conv", {"x", "w", "b"}, "y") +
                                  node("Conv", {"y", "v"}, "z") + node("Conv", {"z", "v"}, "a") +
                                  node("Conv", {"a", "v"}, "c") + output("y", {}) + output("c", {})));
  const std::string plan =
      folder_.write("plan.yaml", "parts:\n  - [conv_0, conv_0_s1]\n  - [conv_1]\n  - [conv_2]\n  - [conv_3]\n");
  std::vector<std::string> words = {"import",   "onnx",   path, "--constant", "w,b,v",          "--target",
                                    "scalar_c", "--plan", plan, "-o",         folder_ / "parts"};
  const Said said = isamap(words);
  ASSERT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(said.out, (folder_ / "parts/part_0.yaml") + "\n" + (folder_ / "parts/part_1.yaml") + "\n" +
                          (folder_ / "parts/part_2.yaml") + "\n" + (folder_ / "parts/part_3.yaml") + "\n");
  const std::string first = read_file(folder_ / "parts/part_0.yaml"), second = read_file(folder_ / "parts/part_1.yaml");
  EXPECT_EQ(first.find("# part 0 of m on scalar_c\n#   node 0 (Conv)\n"), 0u) << first;
  EXPECT_NE(first.find(" = conv_0_T["), std::string::npos) << "with its bias: " << first;
  EXPECT_NE(second.find("  y: {shape: [1, 4, 10, 10], dtype: f32}\n"), std::string::npos)
      << "no output here: " << second;
  for (const char* part : {"parts/part_0.yaml", "parts/part_1.yaml"})
    EXPECT_EQ(isamap({"run", folder_ / part, "--target", "scalar_c", "--budget", "evals=20"}).code, 0) << part;
  const std::string one = folder_.write("one.onnx", onnx_bytes::model(input("x", {4}) + input("unused", {2}) +
                                                                      node("Relu", {"x"}, "y") + output("y", {})));
  EXPECT_EQ(isamap({"import", "onnx", one, "--target", "scalar_c", "-o", folder_ / "one"}).code, 0);
  EXPECT_EQ(read_file(folder_ / "one/part_0.yaml").find("unused"), std::string::npos);
  words.insert(words.end(), {"--dims", "N=1..2"});
  EXPECT_NE(isamap(words).err.find("--dims is for layers at many sizes"), std::string::npos);
  const Said no_machine = isamap({"import", "onnx", path, "--plan", plan, "-o", folder_ / "parts"});
  EXPECT_EQ(no_machine.code, 2);
  EXPECT_NE(no_machine.err.find("hint: --target HW"), std::string::npos) << no_machine.err;
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
  const Said one_array = isamap({"run", path, "--target", "scalar_c", "--outputs", folder_ / "out.npy"});
  EXPECT_EQ(one_array.code, 2);
  EXPECT_NE(one_array.err.find("holds one array, and the model has 2 outputs\n"), std::string::npos) << one_array.err;
  const Said unwritable = isamap({"run", path, "--interpret", "--inputs", in, "--outputs", folder_ / "no/out.npz"});
  EXPECT_EQ(unwritable.code, 1);
  EXPECT_EQ(unwritable.err, (folder_ / "no/out.npz") + ": cannot be written: there is no folder '" + (folder_ / "no") +
                                "'\n  hint: mkdir -p " + (folder_ / "no") + "\n")
      << "before anything is done: the model is not even read";
  EXPECT_NE(isamap({"run", path, "--interpret", "--outputs", folder_ / "."}).err.find("is a folder"),
            std::string::npos);
  EXPECT_NE(isamap({"run", "no.onnx", "--target", "scalar_c", "--report", folder_ / "no/r.html"}).err.find("no/r.html"),
            std::string::npos);
  const std::string none = isamap({"run", path, "--interpret", "--inputs", folder_ / "im.npz"}).err;
  EXPECT_NE(none.find("im.npz: there is no such file\n  hint: did you mean '" + in + "'?"), std::string::npos) << none;
  const std::string empty = isamap({"run", path, "--interpret", "--inputs", folder_.write("e.npz", "")}).err;
  EXPECT_NE(empty.find("e.npz: the file is empty\n  hint: numpy.savez"), std::string::npos) << empty;
  const std::string plan = folder_.write("empty.plan", "");
  const std::string no_plan = isamap({"run", path, "--target", "scalar_c", "--plan", plan}).err;
  EXPECT_NE(no_plan.find(plan + ":"), std::string::npos) << no_plan;
  EXPECT_NE(no_plan.find("a plan is expected, found nothing\n  hint: `isamap explain"), std::string::npos) << no_plan;
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
    std::set<int> programs;
    for (const auto& part : json["part_list"]) programs.insert(part["program"].get<int>());
    EXPECT_EQ(json["distinct_parts"], programs.size());
    EXPECT_EQ(json["part_list"].size(), json["parts"]);
  }
  const Said text = isamap({"run", path, "--target", "scalar_c", "--budget", "evals=20"});
  EXPECT_NE(text.out.find("every part as the interpreter says"), std::string::npos) << text.out;
  EXPECT_EQ(isamap({"run", path, "--target", "scalar_c", "--budget", "evals=20", "--until", "none"}).code, 1);
}

/// What a program for a machine is made of was rewritten: it is compared with the operators of the file, too.
TEST_F(Models, ProgramsAreComparedWithTheFile) {
  const std::string graph = input("x", {2, 6}) + input("w", {6, 4}) + input("b", {4}) + input("t", {4, 3}) +
                            node("MatMul", {"x", "w"}, "y") + node("Add", {"y", "b"}, "z") +
                            node("Transpose", {"z"}, "u", ints("perm", {1, 0})) + node("Gather", {"t", "i"}, "g") +
                            input("i", {2}, 7) + output("u", {}) + output("g", {});
  const std::string path = folder_.write("m.onnx", onnx_bytes::model(graph));
  const std::vector<std::string> words = {"run", path,       "--target", "scalar_c",   "--constant",
                                          "w,b", "--budget", "evals=20", "--interpret"};
  const Said text = isamap(words);
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_NE(text.out.find(", outputs as the operators of the file say correct;"), std::string::npos) << text.out;
  std::vector<std::string> with_json = words;
  with_json.push_back("--json");
  const auto json = nlohmann::json::parse(isamap(with_json).out);
  EXPECT_EQ(json["imported"]["compared"], 2);
  EXPECT_TRUE(json["imported"]["correct"]);
  std::vector<std::string> sized = words;
  sized.insert(sized.end(), {"--dims", "N=1..4"});
  EXPECT_NE(isamap(sized).code, 0);
}

/// As a user does: emitted, compiled, linked to a C program and loaded into Python, which agree.
TEST_F(Models, EmittedOnesRunFromCAndPython) {
  const std::string graph = input("x", {1, 3, 12, 12}) + input("w", {8, 3, 3, 3}) + input("b", {8}) +
                            input("m", {8, 5}) + node("Conv", {"x", "w", "b"}, "y", ints("pads", {1, 1, 1, 1})) +
                            node("Relu", {"y"}, "r") + node("GlobalAveragePool", {"r"}, "p") +
                            node("Flatten", {"p"}, "f") + node("MatMul", {"f", "m"}, "o") + output("o", {});
  const std::string path = folder_.write("mobilenet_v1.onnx", onnx_bytes::model(graph)), out = folder_ / "out";
  const Said said =
      isamap({"emit", path, "--target", "scalar_c", "--constant", "weights", "--budget", "evals=20", "-o", out});
  ASSERT_EQ(said.code, 0) << said.err;
  const auto json = nlohmann::json::parse(read_file(out + "/mobilenet_v1.json"));
  EXPECT_EQ(json["inputs"][0]["shape"], nlohmann::json({1, 3, 12, 12}));
  EXPECT_EQ(json["outputs"][0]["bytes"], 20);
  const std::string example = std::string(ISAMAP_SOURCE_DIR) + "/examples/embedding/";
  const auto shell = [&](const std::string& command, const std::string& to) {
    return std::system(("cd '" + out + "' && " + command + " > " + to + " 2>&1").c_str());
  };
  ASSERT_EQ(shell("g++ -std=c++17 -O1 -Wall -Wextra -Werror -shared -fPIC mobilenet_v1.cpp -o mobilenet_v1.so", "log"),
            0)
      << read_file(out + "/log");
  ASSERT_EQ(shell("cc -std=c11 -Wall -Wextra -Werror -I. '" + example +
                      "classify.c' ./mobilenet_v1.so -lm -o c && ./c mobilenet_v1.weights",
                  "c.txt"),
            0)
      << read_file(out + "/c.txt");
  ASSERT_EQ(shell("python3 '" + example + "classify.py' ./mobilenet_v1", "py.txt"), 0) << read_file(out + "/py.txt");
  EXPECT_EQ(read_file(out + "/c.txt"), read_file(out + "/py.txt"));
  EXPECT_EQ(read_file(out + "/c.txt").substr(0, 6), "class ");
  folder_.write("out/count.c", R"(#include <stdio.h>
#include <stdlib.h>
#include "mobilenet_v1.h"
extern void* __libc_malloc(size_t);
extern void* __libc_memalign(size_t, size_t);
static int allocations;
void* malloc(size_t n) { ++allocations; return __libc_malloc(n); }
void* aligned_alloc(size_t a, size_t n) { ++allocations; return __libc_memalign(a, n); }
int main(void) {
  static float x[mobilenet_v1_INPUT_0_BYTES / 4], y[mobilenet_v1_OUTPUT_0_BYTES / 4];
  const void* in[] = {x};
  void* out[] = {y};
  mobilenet_v1* model;
  if (mobilenet_v1_open(&model, "mobilenet_v1.weights") != 0) return 1;
  const int opened = allocations;
  for (int i = 0; i < 3; ++i)
    if (mobilenet_v1_run(model, NULL, in, out, NULL) != 0) return 2;
  const int ran = allocations;
  if (mobilenet_v1_run(model, NULL, in, NULL, NULL) != mobilenet_v1_bad_argument) return 3;
  out[0] = (char*)y + 1;
  if (mobilenet_v1_run(model, NULL, in, out, NULL) != mobilenet_v1_bad_argument) return 4;
  mobilenet_v1_close(model);
  printf("%d %d\n", opened > 0, ran - opened);
  return 0;
}
)");
  ASSERT_EQ(shell("cc -std=c11 -Wall -Wextra -Werror -I. count.c ./mobilenet_v1.so -lm -o count && ./count", "n.txt"),
            0)
      << read_file(out + "/n.txt");
  EXPECT_EQ(read_file(out + "/n.txt"), "1 0\n") << "a run allocates nothing";
  // Other weights, cut off ones and none are told apart, and a wrong call writes nothing.
  std::string weights = read_file(out + "/mobilenet_v1.weights");
  weights[20] ^= 1;
  folder_.write("out/other.weights", weights);
  folder_.write("out/cut.weights", weights.substr(0, 70));
  for (const auto& [file, code] : {std::pair("other.weights", "2"), {"cut.weights", "2"}, {"none.weights", "1"}}) {
    EXPECT_NE(shell(std::string("./c ") + file, "no.txt"), 0) << file;
    EXPECT_EQ(read_file(out + "/no.txt"), std::string("the weights cannot be opened: error ") + code + "\n") << file;
  }
}

TEST_F(Models, OptionsOfModelsAreRefusedForKernels) {
  for (const char* flag : {"--plan", "--inputs", "--outputs"}) {
    const Said said = isamap({"run", "--compute", "y[i] = x[i]", "--dims", "i=8", "--target", "scalar_c", flag, "x"});
    EXPECT_EQ(said.code, 2) << flag;
    EXPECT_NE(said.err.find("is for models"), std::string::npos) << said.err;
  }
}

TEST_F(Models, ThreadsAreThoseOfTheMachine) {
  const std::string graph = input("x", {3}) + node("Relu", {"x"}, "y") + output("y", {});
  const std::string path = folder_.write("m.onnx", onnx_bytes::model(graph));
  const auto refused = [&](const std::vector<std::string>& more, const std::string& why) {
    std::vector<std::string> words = {"emit", path, "-o", folder_ / "out"};
    words.insert(words.end(), more.begin(), more.end());
    const Said said = isamap(words);
    EXPECT_EQ(said.code, 2) << said.err;
    EXPECT_NE(said.err.find(why), std::string::npos) << said.err;
  };
  refused({"--target", "x86_avx2", "--threads", "0"}, "'0' is no whole number from 1");
  refused({"--target", "x86_avx2", "--threads", "33"}, "--threads 33: 'x86_avx2' has at most 32");
  refused({"--target", "x86_avx2", "--threads", "2", "--set", "cores=4"}, "contradict each other");
  refused({"--target", "scalar_c", "--threads", "2"}, "'scalar_c' describes no threads");
  refused({"--target", "systolic16", "--threads", "2"}, "programs in C++ have threads; those of 'systolic16' are");
  const std::vector<std::string> kernel = {"run", "--compute", "y[i] = x[i]", "--dims", "i=8", "--target", "x86_avx2"};
  const auto with = [&](const char* threads) {
    std::vector<std::string> words = kernel;
    words.insert(words.end(), {"--threads", threads});
    return isamap(words);
  };
  EXPECT_EQ(with("2").code, 0) << with("2").err;
  EXPECT_NE(with("33").err.find("--threads 33: 'x86_avx2' has at most 32"), std::string::npos);
  EXPECT_EQ(isamap({"run", path, "--interpret", "--threads", "2"}).code, 2);
  EXPECT_EQ(isamap({"emit", path, "--target", "scalar_c", "--threads", "1", "-o", folder_ / "out"}).code, 0);
  const Said two = isamap({"emit", path, "--target", "x86_avx2", "--threads", "2", "-o", folder_ / "out"});
  ASSERT_EQ(two.code, 0) << two.err;
  EXPECT_EQ(nlohmann::json::parse(read_file(folder_ / "out/m.json"))["threads"], 2);
}

TEST_F(Models, AreTunedByTheirLongestParts) {
  const std::string graph = input("x", {1, 4, 9, 9}) + input("w", {8, 4, 3, 3}) + input("m", {8, 5}) +
                            node("Conv", {"x", "w"}, "y") + node("Relu", {"y"}, "r") +
                            node("GlobalAveragePool", {"r"}, "p") + node("Flatten", {"p"}, "f") +
                            node("MatMul", {"f", "m"}, "o") + output("o", {});
  const std::string path = folder_.write("m.onnx", onnx_bytes::model(graph));
  const Said said = isamap({"tune", path, "--target", "scalar_c", "--budget", "evals=20", "--measured", "2", "--json"});
  ASSERT_EQ(said.code, 0) << said.err;
  const auto json = nlohmann::json::parse(said.out);
  ASSERT_GE(json["part_list"].size(), 1u);
  for (const auto& part : json["part_list"]) {
    EXPECT_GE(part["calls"], 1) << said.out;
    EXPECT_GE(part["candidates"], 1) << said.out;
    if (part["kept"]) {
      EXPECT_LT(part["seconds"], part["seconds_before"]);
    }
  }
  EXPECT_GT(json["seconds"], 0);
  EXPECT_EQ(isamap({"run", path, "--target", "scalar_c", "--budget", "evals=20"}).code, 0);
  EXPECT_EQ(isamap({"tune", path, "--target", "systolic16"}).code, 3);
  EXPECT_EQ(isamap({"tune", path, "--target", "scalar_c", "--store", folder_ / "s"}).code, 2);
}

TEST_F(Models, PlansAreReadAsExplained) {
  const std::string graph = input("x", {1, 3, 6, 6}) + input("w", {8, 3, 1, 1}) + node("Conv", {"x", "w"}, "y") +
                            node("Relu", {"y"}, "r") + node("MaxPool", {"r"}, "o", ints("kernel_shape", {2, 2})) +
                            output("o", {});
  const std::string path = folder_.write("m.onnx", onnx_bytes::model(graph));
  const Said explained = isamap({"explain", path, "--target", "scalar_c", "--json"});
  ASSERT_EQ(explained.code, 0) << explained.err;
  const auto json = nlohmann::json::parse(explained.out);
  const std::string plan = json["plan_text"];
  EXPECT_GE(json["plan"]["cost"], json["plan"]["bound"]);
  const auto run_with = [&](const std::string& text) {
    return isamap({"run", path, "--target", "scalar_c", "--budget", "evals=20", "--plan", folder_.write("p.yaml", text),
                   "--json"});
  };
  const Said same = run_with(plan);
  ASSERT_EQ(same.code, 0) << same.err << plan;
  const Said apart = run_with("plan: m\nparts:\n  - [conv_0]\n  - [relu_0]\n  - [max_pool_0]\n");
  ASSERT_EQ(apart.code, 0) << apart.err << plan;
  EXPECT_EQ(nlohmann::json::parse(apart.out)["parts"], 3);
  const Said typo = run_with("parts:\n  - [conv_0]\n  - [relu_o]\n  - [max_pool_0]\n");
  EXPECT_EQ(typo.code, 1);
  EXPECT_NE(typo.err.find("p.yaml:3:6"), std::string::npos) << typo.err;
  EXPECT_NE(typo.err.find("did you mean 'relu_0'?"), std::string::npos) << typo.err;
  EXPECT_EQ(run_with("parts:\n  - [relu_0, conv_0]\n").code, 1);
  const Said other = run_with("plan: m\nmachine: toy\nparts:\n  - [conv_0]\n  - [relu_0]\n  - [max_pool_0]\n");
  EXPECT_EQ(other.code, 1);
  EXPECT_NE(other.err.find("p.yaml:2:10"), std::string::npos) << other.err;
  EXPECT_NE(other.err.find("a plan of 'toy', and the target is 'scalar_c'"), std::string::npos) << other.err;
  const Said wrong_model = run_with("plan: k\nparts:\n  - [gemm_7]\n  - [gemm_8]\n");
  EXPECT_NE(wrong_model.err.find("a plan of 'k', and the model is 'm'"), std::string::npos) << wrong_model.err;
  EXPECT_EQ(wrong_model.err.find("gemm_7"), std::string::npos) << "not each name of it: " << wrong_model.err;
}

/// The statements of a kernel file are the parts of a plan: bands of rows with a halo, and sums over bands.
TEST_F(Models, KernelsArePlannedAsModels) {
  const std::string path = folder_.write("block.yaml", R"(kernel: block
tensors:
  X: {shape: [9, 3], dtype: f32}
  W: {shape: [3, 8], dtype: f32, constant: true}
  T: {shape: [9, 8], dtype: f32, outside: 0}
  D: {shape: [3, 8], dtype: f32, constant: true}
  U: {shape: [9, 8], dtype: f32}
  P: {shape: [8, 3], dtype: f32, constant: true}
  S: {shape: [9, 3], dtype: f32}
  Y: {shape: [9, 3], dtype: f32}
compute:
  - {name: expand, compute: "T[p,k] += X[p,c] * W[c,k]"}
  - {name: depthwise, compute: "U[p,c] += T[p+r-1,c] * D[r,c]"}
  - {name: project, compute: "S[p,k] += U[p,c] * P[c,k]"}
  - {name: residual, compute: "Y[p,k] = S[p,k] + X[p,k]"}
where: {p: 9}
)");
  const std::string parts = "parts:\n  - [expand]\n  - [depthwise]\n  - [project, residual]\nbands:\n";
  for (const char* bands : {"by: 2, halo: kept", "by: 4", "along: c, by: 3"}) {
    const std::string plan =
        folder_.write("p.yaml", parts + "  - {parts: [expand, depthwise, project], " + bands + "}\n");
    const Said said = isamap({"run", path, "--target", "scalar_c", "--budget", "evals=20", "--plan", plan, "--json"});
    ASSERT_EQ(said.code, 0) << said.err << bands;
    const auto json = nlohmann::json::parse(said.out);
    EXPECT_EQ(json["plan"]["parts"], 1) << bands;
    EXPECT_EQ(json["parts"], 1) << bands;
    EXPECT_EQ(json["correct"], true);
    EXPECT_LT(json["activation_bytes"], json["activation_bytes_apart"]);
  }
  const Said emitted = isamap({"emit", path, "--target", "scalar_c", "--budget", "evals=20", "--plan",
                               folder_ / "p.yaml", "-o", folder_ / "out"});
  ASSERT_EQ(emitted.code, 0) << emitted.err;
  const auto json = nlohmann::json::parse(read_file(folder_ / "out/block_model.json"));
  EXPECT_EQ(json["parts"], 1) << "as run says";
  ASSERT_EQ(json["part_list"].size(), 3u);
  for (const auto& part : json["part_list"]) {
    EXPECT_EQ(part["part"], 0);
    EXPECT_EQ(part["band_rows"], 3);
  }
  const Said searched = isamap({"explain", path, "--target", "scalar_c", "--plan", "search"});
  EXPECT_EQ(searched.code, 0) << searched.err;
  EXPECT_NE(searched.out.find("parts:\n  - [expand]"), std::string::npos) << searched.out;
  EXPECT_NE(searched.out.find("a group of bands counted once"), std::string::npos) << searched.out;
}

}  // namespace
}  // namespace isamap::cli_test

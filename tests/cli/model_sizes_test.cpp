// SPDX-License-Identifier: Apache-2.0
// Whole models at several sizes: one compilation, each size compared with an import of its own.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "frontends/npy.h"
#include "isamap/frontends.h"
#include "tests/cli/program.h"
#include "tests/frontends/onnx_bytes.h"

namespace isamap::cli_test {
namespace {

using Json = nlohmann::json;

const std::string dynamic_models = ISAMAP_SOURCE_DIR "/tests/data/";

class ModelSizes : public testing::Test {
 protected:
  void SetUp() override {
    if (!onnx_supported()) GTEST_SKIP() << "built without ONNX (Debian: apt-get install libonnx-dev libprotobuf-dev)";
  }
};
using HeavyModelSizes = ModelSizes;

Json run_at_sizes(const std::string& model, const std::vector<std::string>& sizes, int code = 0) {
  std::vector<std::string> words{"run", model, "--target", "x86_avx2", "--budget", "evals=20", "--json"};
  words.insert(words.end(), sizes.begin(), sizes.end());
  const Said said = isamap(words);
  EXPECT_EQ(said.code, code) << said.err;
  return Json::parse(said.out, nullptr, false);
}

/// One compilation, everything right; and how many parts have which code.
std::map<std::string, int> codes_of_one_compilation(const Json& json, std::size_t runs) {
  EXPECT_EQ(json.value("correct", false), true) << json.dump(1);
  EXPECT_EQ(json.value("versions", 0), 1);
  EXPECT_EQ(json.value("recompiles", -1), 0) << json.value("recompiled_because", "");
  EXPECT_EQ(json.value("unknown", -1), 0);
  EXPECT_EQ(json.at("runs").size(), runs);
  for (const Json& run : json.at("runs")) {
    EXPECT_EQ(run.at("executed"), "native");
    EXPECT_EQ(run.at("correct"), true);
    EXPECT_EQ(run.at("version"), 1);
  }
  std::map<std::string, int> codes;
  for (const Json& part : json.at("part_list")) ++codes[part.at("code")];
  return codes;
}

TEST_F(HeavyModelSizes, LengthsOfATransformer) {
  const Json json = run_at_sizes(dynamic_models + "dynamic_transformer.onnx",
                                 {"--dims", "batch=1,seq=1..64", "--sizes", "seq=1,2,37,64"});
  const auto codes = codes_of_one_compilation(json, 4);
  EXPECT_GE(codes.at("rows"), 20) << "norms and products have a row for each token";
  EXPECT_EQ(json["runs"][2]["sizes"], (Json{{"batch", 1}, {"seq", 37}}));
}

void batches_of_a_convolution_network(const std::string& sizes, std::size_t runs) {
  const Json json = run_at_sizes(dynamic_models + "dynamic_cnn.onnx", {"--dims", "batch=1..8", "--sizes", sizes});
  const auto codes = codes_of_one_compilation(json, runs);
  EXPECT_EQ(codes.size(), 1u) << json["part_list"].dump(1);
  EXPECT_GE(codes.at("rows"), 4);
}
TEST_F(ModelSizes, BatchesOfAConvolutionNetwork) { batches_of_a_convolution_network("batch=1,3", 2); }
TEST_F(HeavyModelSizes, BatchesOfAConvolutionNetwork) { batches_of_a_convolution_network("batch=1,3,8", 3); }

TEST_F(HeavyModelSizes, ImagesOfAFullyConvolutionalNetwork) {
  const Json json = run_at_sizes(dynamic_models + "dynamic_fcn.onnx",
                                 {"--dims", "H=4..128/4@32,W=4..128/4@40", "--sizes", "H=8,36,W=4,52"});
  codes_of_one_compilation(json, 4);
  EXPECT_GT(json["runs"][3]["arena_bytes"], json["runs"][0]["arena_bytes"]);
}

/// y = relu(x) + x of [N, 6].
std::string open_rows_model() {
  using namespace onnx_bytes;
  return onnx_bytes::model(input("x", {unknown, 6}) + node("Relu", {"x"}, "a") + node("Add", {"a", "x"}, "y") +
                           output("y", {unknown, 6}));
}

TEST_F(ModelSizes, HeavyAListWithoutFactsIsTheirRange) {
  const Folder folder;
  const Json json = run_at_sizes(folder.write("m.onnx", open_rows_model()), {"--sizes", "N=1,9,30"});
  codes_of_one_compilation(json, 3);
}

TEST_F(ModelSizes, FactsWithoutAListAreRunAtTheirEnds) {
  const Folder folder;
  const Json json = run_at_sizes(folder.write("m.onnx", open_rows_model()), {"--dims", "N=2..40@7"});
  codes_of_one_compilation(json, 3);
  EXPECT_EQ(json["runs"][0]["sizes"]["N"], 2);
  EXPECT_EQ(json["runs"][1]["sizes"]["N"], 7);
  EXPECT_EQ(json["runs"][2]["sizes"]["N"], 40);
}

TEST_F(ModelSizes, SizesThatBreakAFactGetTheNearestOneAndWriteNothing) {
  const Folder folder;
  const std::string model = folder.write("m.onnx", open_rows_model()), out = folder / "out";
  const auto told = [&](const std::string& dims, const std::string& sizes, const std::string& verb = "run") {
    const Said said = isamap({verb, model, "--target", "x86_avx2", "--dims", dims, "--sizes", sizes, "-o", out});
    EXPECT_EQ(said.code, 1) << said.err;
    EXPECT_EQ(said.out, "");
    EXPECT_EQ(folder.names(), std::vector<std::string>{"m.onnx"});
    return said.err;
  };
  EXPECT_EQ(told("N=1..64", "N=3,65"), "--dims: N = 65 is not in 1..64\n  hint: the nearest size here is N=64\n");
  EXPECT_EQ(told("N=4..64/4", "N=5"), "--dims: N = 5 is not a multiple of 4\n  hint: the nearest size here is N=4\n");
  EXPECT_EQ(told("N=1..64", "N=-1"), "the size N=-1 is negative\n  hint: N in 1..64\n");
  EXPECT_EQ(told("N=0..64,M=1..3", "N=1"), "--dims: the model has no free size 'M'\n  hint: it has N\n");
  EXPECT_EQ(told("M=1..3", "M=1,2"), told("M=1..3", "M=1,2", "emit"));
  EXPECT_NE(told("M=1..3", "M=1,2").find("the model has no free size 'M'"), std::string::npos);
  for (const char* dims : {"N", "N=a..b", "N=9..3"}) EXPECT_NE(told(dims, "N=3").find("--dims: "), std::string::npos);
}

/// Of a model with open sizes; stated outputs are compared.
TEST_F(ModelSizes, ArraysShowTheirSizes) {
  const Folder folder;
  const std::string model = folder.write("m.onnx", open_rows_model()), in = folder / "in.npz", out = folder / "out.npz";
  const auto array = [](const std::vector<float>& values) {
    TensorData data{DType::f32, {static_cast<std::int64_t>(values.size()) / 6, 6}, {}};
    data.bytes.resize(values.size() * sizeof(float));
    std::memcpy(data.bytes.data(), values.data(), data.bytes.size());
    return data;
  };
  std::vector<float> x, y;
  for (int i = 0; i < 30; ++i) {
    x.push_back(static_cast<float>(i - 12));
    y.push_back(static_cast<float>(i < 12 ? i - 12 : 2 * (i - 12)));
  }
  ASSERT_TRUE(save_arrays(in, {{"x", array(x)}, {"y", array(y)}}));
  for (const std::vector<std::string>& how : {std::vector<std::string>{"--interpret"},
                                              {"--target", "x86_avx2"},
                                              {"--target", "x86_avx2", "--dims", "N=1..64"}}) {
    std::vector<std::string> words{"run", model, "--inputs", in, "--outputs", out, "--json"};
    words.insert(words.end(), how.begin(), how.end());
    const Said said = isamap(words);
    ASSERT_EQ(said.code, 0) << said.err;
    const Json json = Json::parse(said.out);
    EXPECT_EQ((json.contains("runs") ? json["runs"][0] : json)["compared"], 1) << how.back();
    if (json.contains("runs")) {
      EXPECT_EQ(json["runs"][0]["sizes"], (Json{{"N", 5}}));
    }
    EXPECT_EQ((*load_arrays(out))[0].data, array(y)) << how.back();
  }
  const auto code = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"run", model, "--target", "x86_avx2", "--inputs", in};
    words.insert(words.end(), more.begin(), more.end());
    return isamap(words).code;
  };
  EXPECT_EQ(code({"--dims", "N=1..4"}), 1) << "N is 5";
  y[7] += 1;
  ASSERT_TRUE(save_arrays(in, {{"x", array(x)}, {"y", array(y)}}));
  EXPECT_EQ(code({"--dims", "N=1..64"}), 5);
  EXPECT_EQ(code({}), 5);
}

/// An input of [2, symbol].
std::string open_input(const std::string& name, const std::string& symbol) {
  using namespace onnx_bytes;
  return text(
      11, text(1, name) + text(2, text(1, number(1, 1) + text(2, text(1, number(1, 2)) + text(1, text(2, symbol))))));
}

/// y = a + b of [2, seq] and [2, ?].
std::string sum_of_two_open_inputs() {
  using namespace onnx_bytes;
  return onnx_bytes::model(open_input("a", "seq") + open_input("b", "other") + node("Add", {"a", "b"}, "y") +
                           output("y", {2, unknown}));
}

/// A cache that grows, and a mask of its new length: y = concat(cache, x) + mask.
std::string grown_cache(const std::string& length_of_mask) {
  using namespace onnx_bytes;
  return onnx_bytes::model(open_input("mask", length_of_mask) + open_input("cache", "past") + open_input("x", "n") +
                           node("Concat", {"cache", "x"}, "grown", integer("axis", 1)) +
                           node("Add", {"grown", "mask"}, "y") + output("y", {2, unknown}));
}

/// Of a model with two open sizes: the message is of the size at fault, and comes before anything is planned.
TEST_F(ModelSizes, SizesThatContradictArraysAreToldAtOnce) {
  const Folder folder;
  const std::string model = folder.write("m.onnx", sum_of_two_open_inputs()), in = folder / "in.npz";
  TensorData data{DType::f32, {2, 5}, std::vector<std::uint8_t>(40)};
  ASSERT_TRUE(save_arrays(in, {{"a", data}, {"b", data}}));
  const auto told = [&](const std::vector<std::string>& more, int code) {
    std::vector<std::string> words{"run", model, "--inputs", in};
    words.insert(words.end(), more.begin(), more.end());
    const Said said = isamap(words);
    EXPECT_EQ(said.code, code) << said.err;
    return said.err;
  };
  const std::string contradiction = in +
                                    ": axis 1 of 'b' is 5, and --sizes says other = 6\n"
                                    "  hint: leave other out of --sizes, or give arrays of that size\n";
  const std::string list =
      "--inputs is of one size, and --sizes lists seq = 5, 6\n"
      "  hint: leave out --sizes: the arrays state the open sizes\n";
  for (const std::vector<std::string>& how : {std::vector<std::string>{"--interpret"},
                                              {"--target", "x86_avx2"},
                                              {"--target", "x86_avx2", "--dims", "seq=1..9,other=1..9"}}) {
    const auto with = [&](const std::string& sizes) {
      std::vector<std::string> words = how;
      words.insert(words.end(), {"--sizes", sizes});
      return words;
    };
    EXPECT_EQ(told(with("other=6"), 1), contradiction) << how.back();
    EXPECT_EQ(told(with("seq=5,other=6"), 1), contradiction) << how.back();
    EXPECT_EQ(told(with("seq=5,6"), 2), list) << how.back();
  }
  EXPECT_EQ(told({"--interpret", "--sizes", "seq=5"}, 0), "");
  EXPECT_EQ(told({"--target", "x86_avx2", "--dims", "seq=6,other=1..9"}, 1),
            in + ": axis 1 of 'a' is 5, and --dims says seq = 6\n"
                 "  hint: leave seq out of --dims, or give arrays of that size\n");
  EXPECT_EQ(told({"--target", "x86_avx2", "--dims", "seq=6..9,other=1..9"}, 1),
            in + ": axis 1 of 'a' is 5, and --dims says seq in 6..9\n"
                 "  hint: leave seq out of --dims, or give arrays of that size\n");
  EXPECT_EQ(told({"--target", "x86_avx2", "--dims", "sq=1..9"}, 1),
            "--dims: the model has no free size 'sq'\n  hint: it has seq, other\n");
  ASSERT_TRUE(save_arrays(in, {{"aa", data}, {"b", data}}));
  EXPECT_EQ(told({"--interpret"}, 1), in + ": has no array for the input 'a'\n  hint: it has aa, b\n");
  ASSERT_TRUE(save_arrays(in, {{"a", {DType::f32, {10}, data.bytes}}, {"b", data}}));
  EXPECT_EQ(told({"--interpret"}, 1),
            in + ": the array of 'a' is [10]; the model's input has 2 axes\n  hint: in numpy: reshape\n");
  ASSERT_TRUE(save_arrays(in, {{"a", {DType::s32, {2, 5}, data.bytes}}, {"b", data}}));
  for (const char* dims : {"seq=5", "seq=1..9,other=1..9"})
    EXPECT_EQ(told({"--target", "x86_avx2", "--dims", dims}, 1),
              in + ": the array of 'a' is s32; the model's input is f32\n  hint: in numpy: astype\n");
}

/// --constant with --inputs: the arrays of constants are their values.
TEST_F(ModelSizes, ArraysOfConstantsAreTheirValues) {
  const Folder folder;
  const std::string model = folder.write("m.onnx", sum_of_two_open_inputs()), in = folder / "in.npz";
  TensorData a{DType::f32, {2, 3}, std::vector<std::uint8_t>(24)}, b = a, y = a;
  for (int i = 0; i < 6; ++i) {
    a.set(i, {static_cast<double>(i), 0});
    b.set(i, {10.0 * i, 0});
    y.set(i, {11.0 * i, 0});
  }
  const std::vector<NamedData> named{{"a", a}, {"b", b}, {"y", y}}, in_order{{"arr_0", a}, {"arr_1", b}};
  for (const auto& arrays : {named, in_order}) {
    ASSERT_TRUE(save_arrays(in, arrays));
    for (const char* constants : {"weights", "b", "a", "a,b"})
      for (const char* how : {"--interpret", "--json"}) {
        std::vector<std::string> words{"run", model, "--inputs", in, "--constant", constants, how};
        if (how == std::string("--json")) words.insert(words.end(), {"--target", "x86_avx2"});
        const Said said = isamap(words);
        EXPECT_EQ(said.code, 0) << constants << ": " << said.err;
        EXPECT_EQ(said.err.find("drawn"), std::string::npos) << said.err;
      }
  }
  ASSERT_TRUE(save_arrays(in, named));
  const Said stated = isamap({"run", model, "--interpret", "--inputs", in, "--constant", "a", "--fix", "b=2"});
  EXPECT_EQ(stated.code, 1);
  EXPECT_NE(stated.err.find("has an array for the input 'b', which --fix states"), std::string::npos) << stated.err;
  ASSERT_TRUE(save_arrays(in, {{"a", a}, {"b", {DType::s32, {2, 3}, b.bytes}}}));
  const Said typed = isamap({"run", model, "--interpret", "--inputs", in, "--constant", "b"});
  EXPECT_EQ(typed.code, 1);
  EXPECT_NE(typed.err.find("input 'b' is f32, and its values are s32"), std::string::npos) << typed.err;
  ASSERT_TRUE(save_arrays(in, {{"a", a}, {"b", {DType::f32, {3, 2}, b.bytes}}}));
  const Said wrong = isamap({"run", model, "--interpret", "--inputs", in, "--constant", "b", "--sizes", "seq=3"});
  EXPECT_EQ(wrong.code, 1);
  EXPECT_NE(wrong.err.find("input 'b' is [2, other], and its values are [3, 2]"), std::string::npos) << wrong.err;
}

TEST_F(ModelSizes, OperatorsTieSizes) {
  const Folder folder;
  const std::string model = folder.write("m.onnx", sum_of_two_open_inputs());
  const Said said = isamap(
      {"run", model, "--target", "x86_avx2", "--budget", "evals=20", "--dims", "seq=2..40", "--sizes", "seq=3,8"});
  EXPECT_EQ(said.code, 0);
  EXPECT_NE(said.err.find("note: size other equals seq, as the model's operators require\n"), std::string::npos)
      << said.err;
}

/// Exporters name the mask's axis so; it is no size of its own.
TEST_F(ModelSizes, NamesThatSpellSumsAreSums) {
  const Folder folder;
  const std::string model = folder.write("m.onnx", grown_cache("past + n"));
  codes_of_one_compilation(run_at_sizes(model, {"--dims", "past=0..9,n=0..4", "--sizes", "past=0,3,9,n=0,1,4"}), 9);
  const Json one = run_at_sizes(model, {"--sizes", "past=3,n=2"});
  EXPECT_EQ(one.value("correct", false), true) << one.dump(1);
  const Said lacking = isamap({"run", model, "--target", "x86_avx2", "--sizes", "past=3"});
  EXPECT_EQ(lacking.code, 1);
  EXPECT_NE(lacking.err.find("'n'"), std::string::npos) << lacking.err;
  EXPECT_EQ(lacking.err.find("past"), std::string::npos) << lacking.err;
  const Said stated = isamap({"run", model, "--target", "x86_avx2", "--sizes", "past=3,n=2,past + n=5"});
  EXPECT_EQ(stated.code, 1);
  EXPECT_NE(stated.err.find("the model has no free size 'past + n'\n  hint: it has n, past\n"), std::string::npos)
      << stated.err;
}

TEST_F(ModelSizes, SizesThatDoNotFitAreToldWithAHint) {
  const Folder folder;
  const std::string model = folder.write("m.onnx", grown_cache("past + n"));
  const auto told = [&](const std::string& sizes) {
    const Said said = isamap({"run", model, "--target", "x86_avx2", "--sizes", sizes});
    EXPECT_EQ(said.code, 1) << said.err;
    return said.err;
  };
  EXPECT_EQ(told("past=3,n=-1"), model + ": the size n=-1 is negative\n  hint: sizes are 0 or more\n");
  const std::string sum = told("past=9223372036854775807,n=2");
  EXPECT_NE(sum.find("node 0 (Concat): the sizes that it joins add up to 2^63 or more\n  hint: sizes are below 2^63\n"),
            std::string::npos)
      << sum;
}

/// A name in which a word is no size is a name.
TEST_F(ModelSizes, NamesThatLookLikeSumsAreNames) {
  const Folder folder;
  const Json one = run_at_sizes(folder.write("m.onnx", grown_cache("past-len")), {"--sizes", "past=3,n=2,past-len=5"});
  EXPECT_EQ(one.value("correct", false), true) << one.dump(1);
}

TEST_F(ModelSizes, ContradictionsNameTheirPlaces) {
  const Folder folder;
  const Said said = isamap({"run", folder.write("m.onnx", sum_of_two_open_inputs()), "--target", "x86_avx2", "--dims",
                            "seq=2..40,other=2..40", "--sizes", "seq=3,other=5,6"});
  EXPECT_EQ(said.code, 1);
  EXPECT_NE(said.err.find("node 0 (Add)"), std::string::npos) << said.err;
  EXPECT_NE(said.err.find("note: seq = 3 is axis 1 of input 'a'\n"), std::string::npos) << said.err;
  EXPECT_NE(said.err.find("note: other = 5 is axis 1 of input 'b'\n"), std::string::npos) << said.err;
}

TEST_F(ModelSizes, LayersAreKernelFilesWithFacts) {
  const Folder folder;
  const Said said = isamap({"import", "onnx", dynamic_models + "dynamic_transformer.onnx", "--dims",
                            "batch=1,seq=1..64@16", "-o", folder / "layers"});
  ASSERT_EQ(said.code, 0) << said.err;
  const std::string kernel = folder / "layers/matmul_0.yaml";
  EXPECT_NE(read_file(kernel).find("dims: {SEQ: {min: 1, max: 64, likely: [16]}}"), std::string::npos)
      << read_file(kernel);
  EXPECT_EQ(isamap({"map", kernel, "--target", "x86_avx2"}).code, 0);
}

TEST_F(ModelSizes, WhatHasNoProgramForAllSizesIsCompiledForEach) {
  using namespace onnx_bytes;
  const Folder folder;  // the count of elements is a product of sizes: [N, N] seen as [N*N]
  const std::string model =
      folder.write("m.onnx", onnx_bytes::model(input("x", {unknown, unknown}) + constant("s", {1}, {-1}) +
                                               node("Reshape", {"x", "s"}, "a") + node("Relu", {"a"}, "y") +
                                               output("y", {unknown})));
  const Json json = run_at_sizes(model, {"--sizes", "N=2,5"});
  EXPECT_EQ(json.value("correct", false), true);
  EXPECT_EQ(json.value("recompiles", -1), 1);
  EXPECT_EQ(json.value("versions", -1), 2);
  EXPECT_EQ(json.value("recompiled_because", ""), "axis 0 of y is no affine expression of the sizes");
}

/// FLOAT or INT64 of axes that are symbols or numbers.
std::string input_of_symbols(const std::string& name, const std::vector<std::string>& axes, int type = 1) {
  using namespace onnx_bytes;
  std::string dims;
  for (const std::string& axis : axes)
    dims += text(1, std::isdigit(static_cast<unsigned char>(axis[0])) ? number(1, std::stoll(axis)) : text(2, axis));
  return text(11, text(1, name) + text(2, text(1, number(1, type) + text(2, dims))));
}

/// Rows of two sizes as one axis before a product, as exporters write linear layers: the axis has an extent of batch *
/// seq, which no affine expression is.
TEST_F(ModelSizes, RowsOfTwoSizesMayBeOneAxis) {
  using namespace onnx_bytes;
  const Folder folder;
  const std::string model = folder.write(
      "m.onnx",
      onnx_bytes::model(input_of_symbols("x", {"batch", "seq", "6"}) + input("w", {6, 5}) + input("v", {5, 3}) +
                        constant("rows", {2}, {-1, 6}) + constant("first", {2}, {0, 1}) + constant("three", {1}, {3}) +
                        node("Reshape", {"x", "rows"}, "r") + node("MatMul", {"r", "w"}, "t") +
                        node("Relu", {"t"}, "u") + node("MatMul", {"u", "v"}, "p") + node("Shape", {"x"}, "s") +
                        node("Gather", {"s", "first"}, "c") + node("Concat", {"c", "three"}, "to", integer("axis", 0)) +
                        node("Reshape", {"p", "to"}, "q", integer("allowzero", 1)) + node("Softmax", {"q"}, "y") +
                        output("y", {unknown, unknown, 3})));
  const auto run = [&](const std::string& dims, const std::string& sizes) {
    return run_at_sizes(model, {"--constant", "w,v", "--dims", dims, "--sizes", sizes});
  };
  codes_of_one_compilation(run("batch=0..5,seq=0..40", "batch=0,1,5,seq=0,1,40"), 9);
  codes_of_one_compilation(run("batch=2,seq=1..9", "seq=1,9"), 2);
}

/// Divisors that fewer than eight points share are no reciprocals in a model of one size: samples agree all the same.
TEST_F(ModelSizes, StatementsDoNotDependOnTheLengthOfRows) {
  using namespace onnx_bytes;
  const Folder folder;
  const std::string model =
      folder.write("m.onnx", onnx_bytes::model(input_of_symbols("x", {"batch", "seq"}) + node("Softmax", {"x"}, "y") +
                                               output("y", {unknown, unknown})));
  codes_of_one_compilation(run_at_sizes(model, {"--dims", "batch=3,seq=6..9@9", "--sizes", "seq=6,7,8,9"}), 4);
}

/// A table for each of a batch, of which another size takes elements at places that are read: only the axis along which
/// it is read so must be the same at all sizes.
TEST_F(ModelSizes, TablesMayGrowAlongOtherAxesThanThatOfPlaces) {
  using namespace onnx_bytes;
  const Folder folder;
  const std::string model = folder.write(
      "m.onnx",
      onnx_bytes::model(input_of_symbols("i", {"batch", "seq"}, 7) + constant("table", {1, 4}, {5, 2, 7, 3}) +
                        constant("first", {1}, {0}) + constant("four", {1}, {4}) + constant("three", {1}, {3}) +
                        node("Shape", {"i"}, "s") + node("Gather", {"s", "first"}, "b") +
                        node("Concat", {"b", "four"}, "to", integer("axis", 0)) + node("Expand", {"table", "to"}, "e") +
                        node("Mod", {"i", "three"}, "j") + node("GatherElements", {"e", "j"}, "y", integer("axis", 1)) +
                        output("y", {unknown, unknown}, 7)));
  codes_of_one_compilation(run_at_sizes(model, {"--dims", "batch=1..4,seq=1..9", "--sizes", "batch=1,3,seq=1,2,9"}), 6);
}

TEST_F(ModelSizes, AnEmittedModelTakesItsSizesAtTheCall) {
  const Folder folder;
  const std::string model = folder.write("m.onnx", open_rows_model()), out = folder / "out";
  const Said said = isamap({"emit", model, "--target", "x86_avx2", "--dims", "N=0..40", "-o", out});
  ASSERT_EQ(said.code, 0) << said.err;
  const Said threads =
      isamap({"emit", model, "--target", "x86_avx2", "--dims", "N=0..40", "--threads", "2", "-o", folder / "threads"});
  EXPECT_EQ(threads.code, 0) << threads.err;
  const Json about = Json::parse(read_file(out + "/m.json"));
  EXPECT_EQ(about["sizes"], (Json{{"N", {{"min", 0}, {"max", 40}}}}));
  EXPECT_EQ(about["outputs"][0]["shape"], (Json{"N", 6}));
  const std::string main = folder.write("main.cpp", R"(#include "m.h"
#include <stdio.h>
#include <string.h>
int main(int argc, char** argv) {
  m* model = 0;
  if (argc != 2 || m_open(&model, argv[1]) != m_ok) return 10;
  for (int64_t n = 0; n <= 40; n += 1 + n / 3) {
    float x[240], y[241];
    int64_t shape[2] = {-1, -1};
    for (int i = 0; i < 240; ++i) x[i] = (float)(i % 7 - 3);
    for (int i = 0; i < 241; ++i) y[i] = 99;
    const void* in[] = {x};
    void* out[] = {y};
    if (m_arena_bytes(model, &n) == 0) return 11;
    if (m_output_shape(model, &n, 0, shape) != 2 || shape[0] != n || shape[1] != 6) return 12;
    if (m_run(model, &n, in, out, 0) != m_ok) return 13;
    for (int i = 0; i < 6 * n; ++i)
      if (y[i] != x[i] + (x[i] > 0 ? x[i] : 0)) return 14;
    for (int i = 6 * (int)n; i < 241; ++i)
      if (y[i] != 99) return 15;
    const int64_t wrong = 41;
    if (m_run(model, &wrong, in, out, 0) != m_wrong_size || m_arena_bytes(model, &wrong) != 0) return 16;
  }
  m_close(model);
  return 0;
}
)");
  const std::string program = folder / "program";
  const std::string build = "g++ -std=c++17 -O1 -mavx2 -mfma -I" + out + " " + out + "/m.cpp " + main + " -o " +
                            program + " && " + program + " " + out + "/m.weights 2>/dev/null";
  EXPECT_EQ(std::system(build.c_str()) / 256, 0);
}

}  // namespace
}  // namespace isamap::cli_test

// SPDX-License-Identifier: Apache-2.0
// Whole models as one kernel: small graphs, whose results are computed here by direct loops.

#include "frontends/model.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>

#include "frontends/done_ahead.h"
#include "frontends/layers.h"
#include "ir/scatter.h"
#include "ir/text/parse.h"
#include "isamap/frontends.h"
#include "tests/frontends/onnx_bytes.h"
#include "tests/frontends/outputs_of.h"

namespace isamap {
namespace {

using namespace onnx_bytes;
using Reals = std::vector<double>;

/// A tensor of f32 with small values that differ.
TensorData data_like(const Shape& shape, int seed = 0, DType dtype = DType::f32) {
  TensorData data = make_data({.name = "", .shape = shape, .dtype = dtype});
  for (std::int64_t i = 0; i < data.count(); ++i) {
    const std::int64_t value = (i * 7 + seed * 5 + (i * i) % 11) % 13 - 6;
    data.set(i, is_float(dtype) ? Scalar{static_cast<double>(value) / 4, 0}
                                : Scalar{0, integer_min(dtype) < 0 ? value : value + 6});
  }
  return data;
}

TensorData integers_of(const Shape& shape, const Shape& values) {
  TensorData data = make_data({.name = "", .shape = shape, .dtype = DType::s64});
  for (std::size_t i = 0; i < values.size(); ++i) data.set(static_cast<std::int64_t>(i), {0, values[i]});
  return data;
}

TensorData reals_data(const Shape& shape, const Reals& values, DType dtype = DType::f32) {
  TensorData data = make_data({.name = "", .shape = shape, .dtype = dtype});
  for (std::size_t i = 0; i < values.size(); ++i)
    data.set(static_cast<std::int64_t>(i),
             is_float(dtype) ? Scalar{values[i], 0} : Scalar{0, static_cast<std::int64_t>(values[i])});
  return data;
}

Reals reals_of(const TensorData& data) {
  Reals result;
  for (std::int64_t i = 0; i < data.count(); ++i) result.push_back(as_double(data.dtype, data.get(i)));
  return result;
}

class ModelTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!onnx_supported()) GTEST_SKIP() << "built without ONNX (Debian: apt-get install libonnx-dev libprotobuf-dev)";
    path_ = (std::filesystem::temp_directory_path() / ("isamap_model_" + std::to_string(getpid()) + ".onnx")).string();
  }
  void TearDown() override { std::filesystem::remove(path_); }

  Result<Model> import(const std::string& graph, const ModelOptions& options = {}) {
    std::ofstream(path_, std::ios::binary) << onnx_bytes::model(graph, set_);
    return import_model(path_, options);
  }

  /// Why a file is wrong.
  std::string problems(const std::string& graph) {
    const auto model = import(graph);
    return model ? "none; refused: " + refusals(*model) : render(model.diagnostics());
  }

  /// The only output of a model without refusals.
  TensorData output_of(const std::string& graph, const std::vector<TensorData>& inputs) {
    const auto model = import(graph);
    EXPECT_TRUE(model) << render(model.diagnostics());
    if (!model) return {};
    EXPECT_EQ(refusals(*model), "");
    const auto outputs = outputs_of(*model, inputs);
    return outputs.size() == 1 ? outputs[0] : TensorData{};
  }

  static std::string refusals(const Model& model) {
    std::string text;
    for (const RefusedNode& r : model.refused) text += r.node + ": " + r.reason + "\n";
    return text;
  }

  /// The first output, which the composed kernel must compute too.
  Reals run(const std::string& graph, const std::vector<TensorData>& inputs, const ModelOptions& options = {}) {
    const auto model = import(graph, options);
    EXPECT_TRUE(model) << render(model.diagnostics());
    if (!model) return {};
    EXPECT_EQ(refusals(*model), "");
    const auto outputs = outputs_of(*model, inputs);
    EXPECT_EQ(outputs_of(composed(*model), inputs), outputs);
    if (outputs.empty()) return {};
    shape_ = outputs[0].shape;
    return reals_of(outputs[0]);
  }

  static void expect_near(const Reals& found, const Reals& expected, double tolerance = 1e-5) {
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], tolerance) << i;
  }

  std::string path_;
  Shape shape_;   ///< of the last output
  int set_ = 13;  ///< of operators
};

std::string one(const std::string& op, const std::vector<std::pair<std::string, Shape>>& inputs,
                const std::string& attributes = "", int type = 1) {
  std::string graph;
  std::vector<std::string> names;
  for (const auto& [name, shape] : inputs) {
    graph += input(name, shape, type);
    names.push_back(name);
  }
  return graph + node(op, names, "y", attributes) + output("y");
}

/// An output that is another one's copy, or is read by it, keeps its values.
TEST_F(ModelTest, OutputsMayBeCopiesOfOutputs) {
  const std::string graph = node("Relu", {"x"}, "y") + node("Identity", {"y"}, "z") + node("Identity", {"z"}, "w") +
                            input("x", {5}) + output("y", {5}) + output("z", {5}) + output("w", {5});
  const TensorData x = data_like({5});
  for (const std::vector<std::string>& until : {std::vector<std::string>{}, {"y", "z", "w"}, {"w", "y"}}) {
    ModelOptions options;
    options.until = until;
    const auto model = import(graph, options);
    ASSERT_TRUE(model) << render(model.diagnostics());
    const auto outputs = outputs_of(*model, {x});
    ASSERT_EQ(outputs.size(), until.empty() ? 3U : until.size());
    for (const TensorData& found : outputs)
      for (std::int64_t i = 0; i < x.count(); ++i) EXPECT_EQ(found.get(i).real, std::max(0.0, x.get(i).real));
  }
}

/// As exporters write `return x, x`.
TEST_F(ModelTest, AnOutputMayBeListedTwice) {
  const auto model = import(node("Relu", {"x"}, "y") + input("x", {5}) + output("y", {5}) + output("y", {5}));
  ASSERT_TRUE(model) << render(model.diagnostics());
  const auto outputs = outputs_of(*model, {data_like({5})});
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(outputs[0], outputs[1]);
}

/// NaN has the rank of infinity: every rank is that of one element.
TEST_F(ModelTest, TopKOfNanStaysInTheRow) {
  const double nan = std::nan("");
  for (const bool largest : {true, false}) {
    const std::string graph = text(1, text(1, "x") + text(1, "k") + text(2, "v") + text(2, "p") + text(4, "TopK") +
                                          integer("largest", largest ? 1 : 0)) +
                              input("x", {4}) + constant("k", {1}, {2}) + output("p", {2}, 7) + output("v", {2});
    const auto model = import(graph);
    ASSERT_TRUE(model) << render(model.diagnostics());
    TensorData x = make_data({.name = "", .shape = {4}, .dtype = DType::f32});
    for (int i = 0; i < 4; ++i) x.set(i, {i == 2 ? nan : i + 1.0, 0});
    const auto outputs = outputs_of(*model, {x});
    ASSERT_EQ(outputs.size(), 2U);
    EXPECT_EQ(reals_of(outputs[0]), (largest ? Reals{2, 3} : Reals{0, 1}));
    EXPECT_EQ(reals_of(outputs[1])[1], largest ? 4 : 2);
    EXPECT_EQ(std::isnan(reals_of(outputs[1])[0]), largest);
  }
}

/// The first elements one by one, as in programs for all sizes and of long rows, are those of the ranks: with equal and
/// infinite ones, and along both axes.
TEST_F(ModelTest, TopKOneByOne) {
  for (const DType type : {DType::f32, DType::s32})
    for (const int axis : {0, 1})
      for (const int largest : {0, 1}) {
        TensorData x = data_like({9, 12}, axis, type);
        for (int i = 0; is_float(type) && i < 9; ++i)
          x.set(13 * i % 108, {i % 4 == 3 ? std::nan("") : i % 2 == 0 ? -INFINITY : INFINITY, 0});
        const std::string graph =
            input("x", {9, 12}, type == DType::f32 ? 1 : 6) + constant("k", {1}, {5}) +
            node_of("TopK", {"x", "k"}, {"v", "p"}, integer("axis", axis) + integer("largest", largest)) + output("v") +
            output("p");
        const auto ranks = import(graph), one_by_one = import(graph, {.of_all_sizes = true});
        ASSERT_TRUE(ranks && one_by_one);
        EXPECT_GT(one_by_one->kernel.statements.size(), 15U);
        const auto expected = outputs_of(*ranks, {x}), found = outputs_of(*one_by_one, {x});
        EXPECT_EQ(found[1], expected[1]);
        for (std::int64_t i = 0; i < found[0].count(); ++i)
          EXPECT_TRUE(found[0].get(i) == expected[0].get(i) || std::isnan(found[0].get(i).real)) << i;
      }
}

/// The body's input has the name of the sequence, its result that of another tensor around it.
TEST_F(ModelTest, NamesOfABodyHideOnlyInside) {
  const std::string body = node("Add", {"s", "x"}, "h") + node("Identity", {"h"}, "part") + input("s", {}) +
                           input("x", {}) + output("h", {}) + output("part", {});
  const std::string scan =
      text(1, text(1, "s0") + text(1, "x") + text(2, "last") + text(2, "sums") + text(4, "Scan") +
                  integer("num_scan_inputs", 1) + text(5, text(1, "body") + text(6, body) + number(20, 5)));
  const std::string graph = node("Neg", {"x"}, "h") + scan + node("Add", {"h", "sums"}, "y") + input("s0", {}) +
                            input("x", {3}) + output("y", {3});
  EXPECT_EQ(run(graph, {reals_data({}, {10}), reals_data({3}, {1, 2, 4})}), (Reals{10, 11, 13}));
}

/// As many as there are: none.
TEST_F(ModelTest, NoUpdatesAndNoRanks) {
  EXPECT_EQ(run(input("x", {3}) + input("i", {0, 1}, 7) + input("u", {0}) + node("ScatterND", {"x", "i", "u"}, "y") +
                    output("y", {3}),
                {reals_data({3}, {1, 2, 4}), integers_of({0, 1}, {}), reals_data({0}, {})}),
            (Reals{1, 2, 4}));
  EXPECT_EQ(run(input("x", {9000}) + constant("k", {1}, {0}) +
                    text(1, text(1, "x") + text(1, "k") + text(2, "v") + text(2, "p") + text(4, "TopK")) +
                    output("v", {0}) + output("p", {0}, 7),
                {data_like({9000})}),
            Reals{});
}

/// `Leak(x; slope = 0.25)` of the file's own is LeakyRelu, whose own default is 0.01.
TEST_F(ModelTest, FunctionsHaveDefaultsOfTheirOwn) {
  const auto real = [](const std::string& name, float value) {
    return text(1, name) + varint(2 << 3 | 5) + float_bytes(value) + number(20, 1);
  };
  const std::string body = text(1, "X") + text(2, "Y") + text(4, "LeakyRelu") +
                           text(5, text(1, "alpha") + text(21, "slope") + number(20, 1));
  const std::string function = text(1, "Leak") + text(4, "X") + text(5, "Y") + text(11, real("slope", 0.25F)) +
                               text(7, body) + text(9, number(2, 13)) + text(10, "own");
  for (const bool given : {false, true}) {
    const std::string call = text(1, text(1, "x") + text(2, "y") + text(4, "Leak") + text(7, "own") +
                                         (given ? text(5, real("slope", 0.5F)) : ""));
    std::ofstream(path_, std::ios::binary) << model(call + input("x", {2}) + output("y", {2})) +
                                                  text(8, text(1, "own") + number(2, 1)) + text(25, function);
    const auto read = import_model(path_, {});
    ASSERT_TRUE(read) << render(read.diagnostics());
    TensorData x = make_data({.name = "", .shape = {2}, .dtype = DType::f32});
    x.set(0, {-8, 0});
    x.set(1, {3, 0});
    const auto outputs = outputs_of(*read, {x});
    ASSERT_EQ(outputs.size(), 1U);
    EXPECT_EQ(reals_of(outputs[0]), (Reals{given ? -4.0 : -2.0, 3}));
  }
}

/// Softmax of zeros: before set 13 over all dimensions from 1 on, since then over the last one. So it is in the branch
/// of an If of the body, whose names are the function's.
TEST_F(ModelTest, FunctionsHaveOperatorsOfTheirOwnSet) {
  const auto model_with = [&](const std::string& body, int own_set, int set) {
    const std::string function =
        text(1, "Shares") + text(4, "X") + text(5, "Y") + body + text(9, number(2, own_set)) + text(10, "own");
    const std::string call = text(1, text(1, "x") + text(2, "y") + text(4, "Shares") + text(7, "own"));
    std::ofstream(path_, std::ios::binary) << model(call + input("x", {1, 2, 2}) + output("y", {1, 2, 2}), set) +
                                                  text(8, text(1, "own") + number(2, 1)) + text(25, function);
    return import_model(path_, {});
  };
  const auto in_body = [](const std::string& node_bytes) { return text(7, node_bytes); };
  const std::string plain = text(1, "X") + text(2, "Y") + text(4, "Softmax");
  const std::string branch = text(1, plain) + text(12, text(1, "Y")) + text(2, "branch");
  const std::string if_body =
      in_body(text(2, "c") + text(4, "Constant") +
              text(5, text(1, "value") + text(5, number(2, 9) + number(5, 1)) + number(20, 4))) +
      in_body(text(1, "c") + text(2, "Y") + text(4, "If") + graph_attribute("then_branch", branch) +
              graph_attribute("else_branch", branch));
  for (const std::string& body : {in_body(plain), if_body})
    for (const int own_set : {11, 13}) {
      const auto read = model_with(body, own_set, own_set == 11 ? 13 : 11);
      ASSERT_TRUE(read) << render(read.diagnostics());
      const auto outputs = outputs_of(*read, {make_data({.name = "", .shape = {1, 2, 2}, .dtype = DType::f32})});
      ASSERT_EQ(outputs.size(), 1U);
      expect_near(reals_of(outputs[0]), Reals(4, own_set == 11 ? 0.25 : 0.5));
    }
  const auto newer = model_with(in_body(plain), 99, 13);
  ASSERT_FALSE(newer);
  EXPECT_NE(render(newer.diagnostics()).find("function 'Shares' uses operator set 99; sets from 1 to 28 are read"),
            std::string::npos)
      << render(newer.diagnostics());
}

TEST_F(ModelTest, ElementWise) {
  const TensorData x = data_like({2, 3}), b = data_like({3}, 1);
  Reals sum, leaky;
  for (std::int64_t i = 0; i < 6; ++i) {
    const double v = x.get(i).real;
    sum.push_back(v + b.get(i % 3).real);
    leaky.push_back(v > 0 ? v : 0.01 * v);
  }
  expect_near(run(one("Add", {{"x", {2, 3}}, {"b", {3}}}), {x, b}), sum);
  expect_near(run(one("LeakyRelu", {{"x", {2, 3}}}), {x}), leaky);
}

TEST_F(ModelTest, PowersOfKnownExponentsAreProducts) {
  const TensorData x = data_like({2, 3});
  for (const std::int64_t exponent : {1, 2, 3, 4}) {
    const std::string graph =
        input("x", {2, 3}) + constant("e", {1}, {exponent}) + node("Pow", {"x", "e"}, "y") + output("y", {});
    Reals expected;
    for (std::int64_t i = 0; i < 6; ++i) expected.push_back(std::pow(x.get(i).real, static_cast<double>(exponent)));
    expect_near(run(graph, {x}), expected);
    const auto model = import(graph);
    ASSERT_TRUE(model);
    const std::string formula = print_formula(model->kernel.statements[0], model->kernel.tensors);
    EXPECT_EQ(formula.find("pow") == std::string::npos, exponent <= 3) << formula;
  }
}

/// As channels of one sum where the sizes are known, and each in its places of the output in programs for all sizes.
TEST_F(ModelTest, PhasesOfATransposedWindowAreOneSumOrEachItsOwn) {
  const std::vector<TensorData> inputs{data_like({1, 2, 4}), data_like({2, 5, 6}, 1)};
  const std::string graph =
      one("ConvTranspose", {{"x", {1, 2, 4}}, {"w", {2, 5, 6}}}, ints("strides", {3}) + ints("pads", {1, 1}));
  const auto together = import(graph), apart = import(graph, {.of_all_sizes = true});
  ASSERT_TRUE(together && apart);
  EXPECT_EQ(together->kernel.statements.size(), 2U);
  EXPECT_EQ(apart->kernel.statements.size(), 3U);
  EXPECT_EQ(outputs_of(*together, inputs), outputs_of(*apart, inputs));
}

TEST_F(ModelTest, ConvolutionKeepsItsBias) {
  const TensorData x = data_like({1, 4, 5, 6}), w = data_like({6, 2, 3, 2}, 1), b = data_like({6}, 2);
  // 2 groups, stride 2 x 1, dilation 1 x 2, pads 1,0 before and 0,1 after.
  Reals expected;
  for (std::int64_t k = 0; k < 6; ++k)
    for (std::int64_t p = 0; p < 2; ++p)
      for (std::int64_t q = 0; q < 5; ++q) {
        double sum = b.get(k).real;
        for (std::int64_t c = 0; c < 2; ++c)
          for (std::int64_t r = 0; r < 3; ++r)
            for (std::int64_t s = 0; s < 2; ++s) {
              const std::int64_t y = 2 * p + r - 1, z = q + 2 * s, channel = (k / 3) * 2 + c;
              if (y < 0 || y >= 5 || z >= 6) continue;
              sum += x.get((channel * 5 + y) * 6 + z).real * w.get(((k * 2 + c) * 3 + r) * 2 + s).real;
            }
        expected.push_back(sum);
      }
  const std::string attributes =
      ints("strides", {2, 1}) + ints("dilations", {1, 2}) + ints("pads", {1, 0, 0, 1}) + integer("group", 2);
  expect_near(run(one("Conv", {{"x", {1, 4, 5, 6}}, {"w", {6, 2, 3, 2}}, {"b", {6}}}, attributes), {x, w, b}),
              expected);
  EXPECT_EQ(shape_, (Shape{1, 6, 2, 5}));
}

TEST_F(ModelTest, TransposedConvolution) {
  const TensorData x = data_like({1, 2, 3}), w = data_like({2, 3, 4}, 1);
  Reals expected(3 * 6, 0);  // stride 2, pads 1 and 1: 2*(3-1) + 4 - 2 = 6
  for (std::int64_t c = 0; c < 2; ++c)
    for (std::int64_t i = 0; i < 3; ++i)
      for (std::int64_t k = 0; k < 3; ++k)
        for (std::int64_t r = 0; r < 4; ++r) {
          const std::int64_t at = 2 * i + r - 1;
          if (at >= 0 && at < 6)
            expected[static_cast<std::size_t>(k * 6 + at)] += x.get(c * 3 + i).real * w.get((c * 3 + k) * 4 + r).real;
        }
  expect_near(
      run(one("ConvTranspose", {{"x", {1, 2, 3}}, {"w", {2, 3, 4}}}, ints("strides", {2}) + ints("pads", {1, 1})),
          {x, w}),
      expected);
}

TEST_F(ModelTest, OutputsThatNoTapOfATransposedWindowReachesAreTheBias) {
  const TensorData x = data_like({1, 2, 3}), w = data_like({2, 1, 2}, 1), b = data_like({1}, 2);
  Reals expected(3 * 2 + 2, b.get(0).real);  // stride 3: outputs 2 and 5 lie between the windows
  for (std::int64_t c = 0; c < 2; ++c)
    for (std::int64_t i = 0; i < 3; ++i)
      for (std::int64_t r = 0; r < 2; ++r)
        expected[static_cast<std::size_t>(3 * i + r)] += x.get(c * 3 + i).real * w.get(c * 2 + r).real;
  expect_near(
      run(one("ConvTranspose", {{"x", {1, 2, 3}}, {"w", {2, 1, 2}}, {"b", {1}}}, ints("strides", {3})), {x, w, b}),
      expected);
}

/// total = 2*(3-1) + 3 - 6 = 1: an odd one stands at the front but for SAME_UPPER.
TEST_F(ModelTest, PadsOfATransposedConvolutionFromItsOutputShape) {
  const TensorData x = data_like({1, 1, 3}), w = data_like({1, 1, 3}, 1);
  for (const std::string mode : {"NOTSET", "SAME_LOWER", "SAME_UPPER"}) {
    const std::int64_t before = mode == "SAME_UPPER" ? 0 : 1;
    Reals expected(6, 0);
    for (std::int64_t i = 0; i < 3; ++i)
      for (std::int64_t r = 0; r < 3; ++r)
        if (const std::int64_t at = 2 * i + r - before; at >= 0 && at < 6)
          expected[static_cast<std::size_t>(at)] += x.get(i).real * w.get(r).real;
    SCOPED_TRACE(mode);
    expect_near(run(one("ConvTranspose", {{"x", {1, 1, 3}}, {"w", {1, 1, 3}}},
                        ints("strides", {2}) + ints("output_shape", {6}) + word("auto_pad", mode)),
                    {x, w}),
                expected);
  }
}

TEST_F(ModelTest, NumbersThatNoTextHoldsAreConstants) {
  for (const std::int64_t number : {(std::int64_t{1} << 53) + 1, -(std::int64_t{1} << 53) - 1}) {
    const TensorData padded = output_of(input("x", {2}, 7) + constant("p", {2}, {1, 1}) + constant("v", {}, {number}) +
                                            node("Pad", {"x", "p", "v"}, "y") + output("y", {}, 7),
                                        {integers_of({2}, {5, 6})});
    EXPECT_EQ(padded, integers_of({4}, {number, 5, 6, number}));
    const TensorData filled = output_of(input("x", {2}, 7) + constant("s", {1}, {2}) +
                                            node("ConstantOfShape", {"s"}, "c", tensor_attribute("value", number)) +
                                            node("Add", {"x", "c"}, "y") + output("y", {}, 7),
                                        {integers_of({2}, {0, 1})});
    EXPECT_EQ(filled, integers_of({2}, {number, number + 1}));
  }
}

TEST_F(ModelTest, NanIsAConstant) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const TensorData x = data_like({2});
  const TensorData padded = output_of(input("x", {2}) + constant("p", {2}, {1, 0}) + constant("v", nan) +
                                          node("Pad", {"x", "p", "v"}, "y") + output("y", {}),
                                      {x});
  ASSERT_EQ(padded.shape, Shape{3});
  EXPECT_TRUE(std::isnan(padded.get(0).real));
  EXPECT_EQ(padded.get(1), x.get(0));
  EXPECT_EQ(padded.get(2), x.get(1));
  const TensorData filled = output_of(input("x", {2}) + constant("s", {1}, {2}) +
                                          node("ConstantOfShape", {"s"}, "c", tensor_attribute("value", nan)) +
                                          node("Add", {"x", "c"}, "y") + output("y", {}),
                                      {x});
  ASSERT_EQ(filled.shape, Shape{2});
  EXPECT_TRUE(std::isnan(filled.get(0).real) && std::isnan(filled.get(1).real));
}

/// Of 1 2 3 4 5 what is left without the first two is repeated.
TEST_F(ModelTest, NegativePadsTakeAwayBeforeAnythingIsRepeated) {
  const auto padded = [&](const std::string& mode, const Shape& pads) {
    return output_of(input("x", {5}, 7) + constant("p", {2}, pads) + node("Pad", {"x", "p"}, "y", word("mode", mode)) +
                         output("y", {}, 7),
                     {integers_of({5}, {1, 2, 3, 4, 5})});
  };
  EXPECT_EQ(padded("wrap", {-2, 4}), integers_of({7}, {3, 4, 5, 3, 4, 5, 3}));
  EXPECT_EQ(padded("wrap", {2, -1}), integers_of({6}, {3, 4, 1, 2, 3, 4}));
  EXPECT_EQ(padded("reflect", {-2, 2}), integers_of({5}, {3, 4, 5, 4, 3}));
  EXPECT_EQ(padded("edge", {1, -2}), integers_of({4}, {1, 1, 2, 3}));
  EXPECT_EQ(padded("wrap", {-1, -1}), integers_of({3}, {2, 3, 4}));
}

/// A place up to half an element beyond the first or last one is in the image, and weighs its taps, whose elements are
/// those of the border; one further out is at the border.
TEST_F(ModelTest, CubicSamplesInsideTheBorder) {
  const TensorData x = data_like({1, 1, 4});
  TensorData grid = make_data({.name = "", .shape = {1, 4, 1}, .dtype = DType::f32});
  const double places[] = {-0.25, 3.25, -0.75, 1.5};
  for (std::int64_t p = 0; p < 4; ++p) grid.set(p, {(2 * places[p] + 1) / 4 - 1, 0});
  const auto tap = [&](double place, std::int64_t t) {
    const double d = std::fabs(place - std::floor(place) + 1 - static_cast<double>(t));
    const std::int64_t at = static_cast<std::int64_t>(std::floor(place)) - 1 + t;
    const double weight = d <= 1 ? (1.25 * d - 2.25) * d * d + 1 : ((-0.75 * d + 3.75) * d - 6) * d + 3;
    return weight * x.get(std::clamp<std::int64_t>(at, 0, 3)).real;
  };
  Reals expected;
  for (const double place : places) {
    expected.push_back(place < -0.5 ? x.get(0).real : 0);
    for (std::int64_t t = 0; t < 4 && place >= -0.5; ++t) expected.back() += tap(place, t);
  }
  expect_near(run(one("GridSample", {{"x", {1, 1, 4}}, {"g", {1, 4, 1}}},
                      word("mode", "cubic") + word("padding_mode", "border")),
                  {x, grid}),
              expected);
}

/// Before set 13 the dimensions from the axis on are one row.
TEST_F(ModelTest, HardmaxOverSeveralDimensions) {
  const TensorData x = data_like({2, 3, 2}, 1);
  Reals expected(12, 0);
  for (std::int64_t row = 0; row < 2; ++row) {
    std::int64_t best = 0;
    for (std::int64_t at = 1; at < 6; ++at)
      if (x.get(row * 6 + at).real > x.get(row * 6 + best).real) best = at;
    expected[static_cast<std::size_t>(row * 6 + best)] = 1;
  }
  set_ = 11;
  expect_near(run(one("Hardmax", {{"x", {2, 3, 2}}}), {x}), expected);
  set_ = 13;
  const TensorData row = data_like({4});
  expect_near(run(one("Hardmax", {{"x", {4}}}), {row}), {0, 1, 0, 0});
}

/// Parts of 2 x 2 and 1 x 1 elements have as many samples, and parts of 1 x 2 elements one above the other of two.
TEST_F(ModelTest, SamplesOfRegionsAsLargeAsTheirParts) {
  const TensorData x = data_like({1, 2, 6, 6});
  const std::vector<std::vector<float>> corners = {{1, 0.5F, 5, 4.5F}, {0, 0, 2, 2}};
  const auto aligned = [&](const std::vector<float>& regions, std::int64_t samples, const std::string& mode) {
    const auto count = static_cast<std::int64_t>(regions.size() / 4);
    return run(input("x", {1, 2, 6, 6}) + constant_floats("r", {count, 4}, regions) +
                   constant("b", {count}, Shape(static_cast<std::size_t>(count), 0)) +
                   node("RoiAlign", {"x", "r", "b"}, "y",
                        word("mode", mode) + integer("sampling_ratio", samples) + integer("output_height", 2) +
                            integer("output_width", 2)) +
                   output("y", {}),
               {x});
  };
  for (const std::string mode : {"avg", "max"}) {
    Reals expected = aligned(corners[0], 2, mode);
    const Reals second = aligned(corners[1], 1, mode);
    expected.insert(expected.end(), second.begin(), second.end());
    std::vector<float> both = corners[0];
    both.insert(both.end(), corners[1].begin(), corners[1].end());
    SCOPED_TRACE(mode);
    expect_near(aligned(both, 0, mode), expected);
  }
  // The first part: rows 0 to 1 and columns 0 to 2, sampled at row 0.5, columns 0.5 and 1.5.
  const Reals wide = aligned({0, 0, 4, 2}, 0, "avg");
  ASSERT_EQ(wide.size(), 8U);
  const auto at = [&](std::int64_t row, std::int64_t column) { return x.get(row * 6 + column).real; };
  EXPECT_NEAR(wide[0], (at(0, 0) + at(1, 0) + 2 * at(0, 1) + 2 * at(1, 1) + at(0, 2) + at(1, 2)) / 8, 1e-6);
}

TEST_F(ModelTest, FilesThatContradictThemselvesAreWrong) {
  EXPECT_NE(problems(input("x", {2}) + input("y", {2}, 7) + node("Add", {"x", "y"}, "z") + output("z", {}))
                .find("its inputs are f32 and s64"),
            std::string::npos);
  EXPECT_NE(problems(input("x", {4}) + constant("p", {1}, {7}) + node("Gather", {"x", "p"}, "z") + output("z", {}))
                .find("position 7 of a dimension of 4"),
            std::string::npos);
  EXPECT_NE(problems(constant("a", {}, {0}) + constant("b", {}, {5}) + constant("d", {}, {0}) +
                     node("Range", {"a", "b", "d"}, "z") + output("z", {}, 7))
                .find("a range with the step 0 has no end"),
            std::string::npos);
}

TEST_F(ModelTest, NothingIsTakenFromNothing) {
  const TensorData x = data_like({0, 2, 0}), j = integers_of({0, 2, 0}, {}), map = data_like({1, 0, 2, 2});
  expect_near(run(input("x", {0, 2, 0}) + input("j", {0, 2, 0}, 7) +
                      node("GatherElements", {"x", "j"}, "y", integer("axis", 2)) + output("y", {}),
                  {x, j}),
              {});
  EXPECT_EQ(shape_, (Shape{0, 2, 0}));
  expect_near(run(input("x", {0, 2, 0}) + input("j", {0}, 7) + node("Gather", {"x", "j"}, "y") + output("y", {}),
                  {x, integers_of({0}, {})}),
              {});
  EXPECT_EQ(shape_, (Shape{0, 2, 0}));
  expect_near(run(one("ArgMax", {{"x", {0, 2, 0}}}, integer("axis", 2)), {x}), {});
  EXPECT_EQ(shape_, (Shape{0, 2, 1}));
  const std::string sizes = constant("s", {4}, {1, 0, 4, 4});
  expect_near(run(input("x", {1, 0, 2, 2}) + sizes + node("Resize", {"x", "", "", "s"}, "y") + output("y", {}), {map}),
              {});
  EXPECT_EQ(shape_, (Shape{1, 0, 4, 4}));
}

TEST_F(ModelTest, APartKeepsTheAxisReadAtComputedPlaces) {
  const auto kernel = parse_kernel(R"(kernel gather
tensor X: f32[3, 1, 1, 2]
tensor J: s64[3, 2]
tensor Y: f32[3, 2]
s0: Y[i,k] = X[i,0,0,at(J[i,k])] over i: 3, k: 2
)");
  ASSERT_TRUE(kernel) << render(kernel.diagnostics());
  const Kernel part = cut(*kernel, 0, 1, "part");
  EXPECT_EQ(part.statements[0].reads[1].computed->axis, 1) << print(part);
  EXPECT_EQ(render(verify(part)), "");
}

TEST_F(ModelTest, APartKeepsADimensionReadAtComputedPlaces) {
  const auto kernel = parse_kernel(R"(kernel gather
tensor X: f32[3, 1]
tensor J: s64[3]
tensor Y: f32[3]
s0: Y[i] = X[i,at(J[i])] over i: 3
)");
  ASSERT_TRUE(kernel) << render(kernel.diagnostics());
  const Kernel part = cut(*kernel, 0, 1, "part");
  EXPECT_EQ(part.statements[0].reads[1].index.size(), 2U) << print(part);
  EXPECT_EQ(render(verify(part)), "");
}

TEST_F(ModelTest, Pools) {
  const TensorData x = data_like({1, 1, 6});
  Reals largest, mean;
  for (std::int64_t p = 0; p < 3; ++p) {  // stride 2, 3 taps, a pad before
    double most = -100, sum = 0, count = 0;
    for (std::int64_t r = 0; r < 3; ++r) {
      const std::int64_t at = 2 * p + r - 1;
      if (at < 0 || at >= 6) continue;
      most = std::max(most, x.get(at).real), sum += x.get(at).real, ++count;
    }
    largest.push_back(most), mean.push_back(sum / count);
  }
  const std::string attributes = ints("kernel_shape", {3}) + ints("strides", {2}) + ints("pads", {1, 0});
  expect_near(run(one("MaxPool", {{"x", {1, 1, 6}}}, attributes), {x}), largest);
  expect_near(run(one("AveragePool", {{"x", {1, 1, 6}}}, attributes), {x}), mean);
}

/// Windows that are longer than the padded input, rounded up: as ONNX Runtime 1.32 computes them.
TEST_F(ModelTest, PoolsOfWideWindows) {
  struct Wide {
    std::int64_t size, filter, stride, before, after, dilation;
    Reals largest, mean, with_pads;
  };
  const std::vector<Wide> cases = {
      {2, 3, 2, 0, 0, 1, {2}, {1.5}, {1.5}},
      {2, 3, 2, 1, 0, 1, {2}, {1.5}, {1}},
      {2, 4, 3, 0, 1, 1, {2}, {1.5}, {1}},
      {2, 5, 4, 0, 0, 1, {2}, {1.5}, {1.5}},
      {1, 4, 4, 0, 0, 1, {1}, {1}, {1}},
      {3, 3, 3, 0, 0, 2, {3}, {2}, {2}},
      {5, 3, 2, 0, 0, 1, {3, 5}, {2, 4}, {2, 4}},
      {6, 3, 2, 1, 1, 1, {2, 4, 6, 6}, {1.5, 3, 5, 6}, {1, 3, 5, 3}},
      {2, 3, 1, 0, 0, 1, {}, {}, {}},
  };
  for (const Wide& w : cases) {
    SCOPED_TRACE(std::to_string(w.size) + " by " + std::to_string(w.filter));
    TensorData x = make_data({"", {1, 1, w.size}, DType::f32});
    for (std::int64_t i = 0; i < w.size; ++i) x.set(i, {static_cast<double>(i + 1), 0});
    const std::string attributes = ints("kernel_shape", {w.filter}) + ints("strides", {w.stride}) +
                                   ints("pads", {w.before, w.after}) + ints("dilations", {w.dilation}) +
                                   integer("ceil_mode", 1);
    const auto pool = [&](const std::string& op, const std::string& more) {
      return run(one(op, {{"x", {1, 1, w.size}}}, attributes + more), {x});
    };
    expect_near(pool("MaxPool", ""), w.largest);
    expect_near(pool("AveragePool", ""), w.mean);
    expect_near(pool("AveragePool", integer("count_include_pad", 1)), w.with_pads);
  }
}

TEST_F(ModelTest, WideUnsignedIntegers) {
  TensorData x = make_data({"", {3}, DType::u64}), z = x;
  for (const auto& [i, a, b] : {std::tuple(0, -1, 2), std::tuple(1, 3, -4), std::tuple(2, 5, 5)})  // -1: 2^64 - 1
    x.set(i, {0, a}), z.set(i, {0, b});
  constexpr int u64 = 13;
  const auto of = [&](const char* op) { return run(one(op, {{"x", {3}}, {"z", {3}}}, "", u64), {x, z}); };
  EXPECT_EQ(of("Less"), (Reals{0, 1, 0}));
  EXPECT_EQ(of("Max"), (Reals{0x1p64, 0x1p64, 5}));
  EXPECT_EQ(of("Div"), (Reals{0x1p63, 0, 1}));
  EXPECT_EQ(of("Sub"), (Reals{0x1p64, 7, 0}));  // 2^64 - 3, and wrapped
}

TEST_F(ModelTest, Softmax) {
  const TensorData x = data_like({3, 4});
  Reals expected;
  for (std::int64_t i = 0; i < 3; ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < 4; ++j) sum += std::exp(x.get(i * 4 + j).real);
    for (std::int64_t j = 0; j < 4; ++j) expected.push_back(std::exp(x.get(i * 4 + j).real) / sum);
  }
  expect_near(run(one("Softmax", {{"x", {3, 4}}}, integer("axis", -1)), {x}), expected);
}

TEST_F(ModelTest, Products) {
  const TensorData a = data_like({2, 1, 2, 3}), b = data_like({2, 3, 2}, 1);
  Reals expected;
  for (std::int64_t n = 0; n < 4; ++n)
    for (std::int64_t i = 0; i < 2; ++i)
      for (std::int64_t j = 0; j < 2; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k < 3; ++k)
          sum += a.get(((n / 2) * 2 + i) * 3 + k).real * b.get(((n % 2) * 3 + k) * 2 + j).real;
        expected.push_back(sum);
      }
  expect_near(run(one("MatMul", {{"a", {2, 1, 2, 3}}, {"b", {2, 3, 2}}}), {a, b}), expected);
  EXPECT_EQ(shape_, (Shape{2, 2, 2, 2}));
}

TEST_F(ModelTest, ShapeArithmeticIsFolded) {
  // Reshape(x, Concat(Gather(Shape(x), 0), [-1])), then a transpose: one statement for each, one when composed.
  const std::string graph =
      input("x", {2, 3, 4}) + constant("zero", {1}, {0}) + constant("rest", {1}, {-1}) + node("Shape", {"x"}, "s") +
      node("Gather", {"s", "zero"}, "n") + node("Concat", {"n", "rest"}, "to", integer("axis", 0)) +
      node("Reshape", {"x", "to"}, "f") + node("Transpose", {"f"}, "t") + node("Relu", {"t"}, "y") + output("y", {});
  const TensorData x = data_like({2, 3, 4});
  Reals expected;
  for (std::int64_t j = 0; j < 12; ++j)
    for (std::int64_t i = 0; i < 2; ++i) expected.push_back(std::max(x.get(i * 12 + j).real, 0.0));
  expect_near(run(graph, {x}), expected);
  EXPECT_EQ(shape_, (Shape{12, 2}));
  const auto model = import(graph);
  ASSERT_TRUE(model);
  EXPECT_EQ(model->kernel.statements.size(), 3U);
  const Model less = composed(*model);
  ASSERT_EQ(less.kernel.statements.size(), 1U);
  EXPECT_EQ(less.origins[0].nodes.size(), 3U);
}

TEST_F(ModelTest, MovesAndPositions) {
  const TensorData x = data_like({5, 2});
  const TensorData at = integers_of({3}, {4, -5, 1});
  Reals rows;
  for (const std::int64_t row : {4, 0, 1})
    for (std::int64_t j = 0; j < 2; ++j) rows.push_back(x.get(row * 2 + j).real);
  const std::string gather =
      input("x", {5, 2}) + input("at", {3}, 7) + node("Gather", {"x", "at"}, "y") + output("y", {});
  expect_near(run(gather, {x, at}), rows);
  const std::string sliced = input("x", {5, 2}) + constant("from", {1}, {-1}) + constant("to", {1}, {-100}) +
                             constant("axis", {1}, {0}) + constant("step", {1}, {-2}) +
                             node("Slice", {"x", "from", "to", "axis", "step"}, "y") + output("y", {});
  Reals backwards;
  for (const std::int64_t row : {4, 2, 0})
    for (std::int64_t j = 0; j < 2; ++j) backwards.push_back(x.get(row * 2 + j).real);
  expect_near(run(sliced, {x}), backwards);
}

/// Elements of a flattened tensor at positions that are known, however many, and affine in their own place: a move.
/// This is how masks are looked up by exporters of transformers.
TEST_F(ModelTest, KnownAffinePositionsAreMoves) {
  std::vector<std::int64_t> straight, turned;
  for (std::int64_t i = 0; i < 7; ++i)
    for (std::int64_t j = 0; j < 3; ++j)
      for (std::int64_t k = 0; k < 10; ++k) {
        straight.push_back(10 * i + k);
        turned.push_back(j == 1 ? 69 - 10 * i - k : 10 * i + k);
      }
  const auto graph = [](const std::vector<std::int64_t>& positions) {
    return input("x", {7, 10}) + constant("all", {1}, {-1}) + constant("p", {7, 3, 10}, positions) +
           node("Reshape", {"x", "all"}, "f") + node("Gather", {"f", "p"}, "g") + node("Relu", {"g"}, "y") +
           output("y", {});
  };
  const TensorData x = data_like({7, 10});
  for (const auto& positions : {straight, turned}) {
    Reals expected;
    for (const std::int64_t position : positions) expected.push_back(std::max(x.get(position).real, 0.0));
    expect_near(run(graph(positions), {x}), expected);
    EXPECT_EQ(shape_, (Shape{7, 3, 10}));
  }
  const auto moves = import(graph(straight));
  ASSERT_TRUE(moves);
  const Model composed_moves = composed(*moves);
  ASSERT_EQ(composed_moves.kernel.statements.size(), 1U) << print(composed_moves.kernel);
  EXPECT_EQ(print(composed_moves.kernel.statements[0].reads[0].index[0]), "i");
  std::vector<std::int64_t> beyond = straight;
  beyond.back() = 70;
  EXPECT_NE(problems(graph(beyond)).find("position 70 of a dimension of 70"), std::string::npos);
}

TEST_F(ModelTest, Recurrence) {
  const TensorData x = data_like({3, 1, 2}), w = data_like({1, 2, 2}, 1), r = data_like({1, 2, 2}, 2);
  double state[2] = {0, 0};
  Reals expected;
  for (std::int64_t t = 0; t < 3; ++t) {
    double next[2];
    for (std::int64_t j = 0; j < 2; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < 2; ++k)
        sum += x.get(t * 2 + k).real * w.get(j * 2 + k).real + state[k] * r.get(j * 2 + k).real;
      next[j] = std::tanh(sum);
    }
    for (std::int64_t j = 0; j < 2; ++j) expected.push_back(state[j] = next[j]);
  }
  expect_near(
      run(one("RNN", {{"x", {3, 1, 2}}, {"w", {1, 2, 2}}, {"r", {1, 2, 2}}}, integer("hidden_size", 2)), {x, w, r}),
      expected);
}

/// One step of two directions, whose state before is 0: f(w*x) and g(w*x). Numbers are taken by those that have some.
TEST_F(ModelTest, ActivationsOfARecurrence) {
  TensorData w = make_data({.name = "", .shape = {2, 1, 1}, .dtype = DType::f32}), x = w;
  x.shape = {1, 2, 1};
  w.set(0, {1, 0}), w.set(1, {1, 0}), x.set(0, {0.75, 0}), x.set(1, {-0.5, 0});
  const auto pair = [&](const std::vector<std::string>& names, const std::string& attributes) {
    return run(
        one("RNN", {{"x", {1, 2, 1}}, {"w", {2, 1, 1}}, {"r", {2, 1, 1}}},
            integer("hidden_size", 1) + word("direction", "bidirectional") + words("activations", names) + attributes),
        {x, w, w});
  };
  expect_near(pair({"Tanh", "Elu"}, floats("activation_alpha", {0.5F})),
              {std::tanh(0.75), std::tanh(-0.5), 0.75, 0.5 * std::expm1(-0.5)});
  expect_near(pair({"ScaledTanh", "ThresholdedRelu"},
                   floats("activation_alpha", {0.5F, 0.8F}) + floats("activation_beta", {2})),
              {0.5 * std::tanh(1.5), 0.5 * std::tanh(-1.0), 0, 0});
  expect_near(pair({"ThresholdedRelu", "LeakyRelu"}, floats("activation_alpha", {0.5F, 0.1F})), {0.75, 0, 0.75, -0.05});
  expect_near(pair({"Affine", "HardSigmoid"}, ""), {0.75, -0.5, 0.65, 0.4});
}

/// Affine is a sum of its own in the products of the gates: i = o = 2 x + 1, c = tanh(x) at the first step.
TEST_F(ModelTest, ActivationsAreFactorsOfGates) {
  TensorData w = make_data({.name = "", .shape = {1, 4, 1}, .dtype = DType::f32}), r = w, x = w;
  x.shape = {1, 1, 1};
  for (std::int64_t gate = 0; gate < 4; ++gate) w.set(gate, {1, 0}), r.set(gate, {0, 0});
  x.set(0, {0.25, 0});
  expect_near(run(one("LSTM", {{"x", {1, 1, 1}}, {"w", {1, 4, 1}}, {"r", {1, 4, 1}}},
                      integer("hidden_size", 1) + words("activations", {"Affine", "Tanh", "Tanh"}) +
                          floats("activation_alpha", {2}) + floats("activation_beta", {1})),
                  {x, w, r}),
              {1.5 * std::tanh(1.5 * std::tanh(0.25))});
}

/// A sequence without steps has no last output: 0, as its part of `y`, whatever the initial states are.
TEST_F(ModelTest, SequencesOfARecurrenceWithoutSteps) {
  TensorData lengths = make_data({.name = "", .shape = {2}, .dtype = DType::s32});
  lengths.set(1, {0, 2});  // and 0 of the first sequence
  for (const auto& [op, gates] : {std::pair<std::string, std::int64_t>{"LSTM", 4}, {"GRU", 3}, {"RNN", 1}}) {
    const std::vector<std::pair<std::string, Shape>> ports{
        {"x", {3, 2, 1}}, {"w", {1, gates, 1}}, {"r", {1, gates, 1}}, {"h", {1, 2, 1}}, {"c", {1, 2, 1}}};
    std::vector<std::string> results{"y", "last"}, operands{"x", "w", "r", "", "l", "h"};
    if (op == "LSTM") results.push_back("cell"), operands.push_back("c");
    std::string graph = node_of(op, operands, results, integer("hidden_size", 1)) + input("l", {2}, 6);
    std::vector<TensorData> data{lengths};
    for (const auto& [name, shape] : ports)
      if (name != "c" || op == "LSTM") {
        graph += input(name, shape);
        data.push_back(data_like(shape, static_cast<int>(data.size())));
      }
    for (const std::string& name : results) graph += output(name);
    const auto model = import(graph);
    ASSERT_TRUE(model) << render(model.diagnostics());
    const auto outputs = outputs_of(*model, data);
    ASSERT_EQ(outputs.size(), results.size());
    EXPECT_EQ(reals_of(outputs[1])[0], 0) << op;
    EXPECT_EQ(reals_of(outputs[1])[1], reals_of(outputs[0])[3]) << op;  // of step 1
    if (op == "LSTM") {
      EXPECT_EQ(reals_of(outputs[2])[0], 0);
    }
  }
}

TEST_F(ModelTest, ProductsOfARecurrenceAreLayers) {
  const auto model =
      import(one("RNN", {{"x", {3, 1, 2}}, {"w", {1, 2, 2}}, {"r", {1, 2, 2}}}, integer("hidden_size", 2)) +
             node("Relu", {"y"}, "z"));
  ASSERT_TRUE(model) << render(model.diagnostics());
  const LayerList layers = layers_of(*model);
  ASSERT_EQ(layers.layers.size(), 2U);
  EXPECT_EQ(layers.layers[0].name, "rnn_0.0");
  EXPECT_EQ(layers.layers[1].name, "rnn_0.1");
  for (const Layer& layer : layers.layers) {
    ASSERT_TRUE(layer.kernel);
    EXPECT_EQ(render(verify(*layer.kernel)), "");
  }
}

TEST_F(ModelTest, QuantisedProductsAreExact) {
  const TensorData a = data_like({2, 3}, 0, DType::u8), b = data_like({3, 2}, 1, DType::u8);
  Reals expected;
  for (std::int64_t i = 0; i < 2; ++i)
    for (std::int64_t j = 0; j < 2; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < 3; ++k)
        sum += static_cast<double>((a.get(i * 3 + k).integer - 3) * b.get(k * 2 + j).integer);
      expected.push_back(sum);
    }
  TensorData zero = make_data({.name = "", .shape = {}, .dtype = DType::u8});
  zero.set(0, {0, 3});
  expect_near(run(one("MatMulInteger", {{"a", {2, 3}}, {"b", {3, 2}}, {"z", {}}}, "", 2), {a, b, zero}), expected);
}

TEST_F(ModelTest, SizesAreGivenOrNamed) {
  const std::string graph = input("x", {2, unknown}) + node("Relu", {"x"}, "y") + output("y", {});
  const auto open = import(graph);
  ASSERT_TRUE(open);
  ASSERT_EQ(open->refused.size(), 2U);
  EXPECT_EQ(open->refused[0].reason, "sizes of it are not known: 'N'");
  EXPECT_EQ(open->refused[0].help, "--sizes N=32");
  EXPECT_TRUE(open->refused[0].lacks_sizes);
  EXPECT_TRUE(open->refused[1].follows);
  EXPECT_EQ(run(graph, {data_like({2, 5})}, {.sizes = {{"N", 5}}}).size(), 10U);
  const auto wrong = import(graph, {.sizes = {{"M", 5}}});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.diagnostics()[0].message, "the model has no free size 'M'");
}

TEST_F(ModelTest, EveryRefusalInOneRun) {
  const auto model = import(input("x", {4}) + node("NonZero", {"x"}, "a") + node("Sparkle", {"x"}, "b") +
                            node("Relu", {"b"}, "c") + node("Relu", {"x"}, "y"));
  ASSERT_TRUE(model) << render(model.diagnostics());
  EXPECT_EQ(refusals(*model),
            "node 0 (NonZero): its size depends on values that are known only when the model runs\n"
            "node 1 (Sparkle): the operator is not imported\n"
            "node 2 (Relu): it reads 'b', whose shape or values are not known\n");
  EXPECT_EQ(model->kernel.statements.size(), 1U);
  // What is behind a refused tail is cut off.
  const auto until = import(input("x", {4}) + node("Relu", {"x"}, "y") + node("NonZero", {"y"}, "z") + output("z", {}),
                            {.until = {"y"}});
  ASSERT_TRUE(until);
  EXPECT_EQ(refusals(*until), "");
}

TEST_F(ModelTest, OutputsThatAreReadInside) {
  const auto model = import(input("x", {4}) + node("Relu", {"x"}, "a") + node("Exp", {"a"}, "b") + output("a", {}) +
                            output("b", {}) + output("x", {}));
  ASSERT_TRUE(model);
  const TensorData x = data_like({4});
  const auto outputs = outputs_of(*model, {x});
  ASSERT_EQ(outputs.size(), 3U);
  for (std::int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(outputs[0].get(i).real, std::max(x.get(i).real, 0.0));
    EXPECT_EQ(outputs[2].get(i), x.get(i));
  }
}

/// What a file says twice, or of its results: the later constant counts, and sizes that differ are said.
TEST_F(ModelTest, WhatIsStatedTwiceOrWrongIsSaid) {
  const auto twice = import(input("x", {2}) + input("x", {3}) + node("Relu", {"x"}, "y") + output("y", {2}));
  ASSERT_FALSE(twice);
  EXPECT_NE(render(twice.diagnostics()).find("two inputs are named 'x'"), std::string::npos);
  const auto later = import(input("x", {2}, 7) + constant("c", {2}, {1, 2}) + constant("c", {2}, {3, 4}) +
                            node("Add", {"x", "c"}, "y") + output("y", {5}, 7));
  ASSERT_TRUE(later) << render(later.diagnostics());
  EXPECT_EQ(later->notes, (std::vector<std::string>{"the file has constant 'c' twice: the later one is used",
                                                    "output 'y' is [2]; the file states [5]"}));
  EXPECT_EQ(later->weights.at(0).values->get(1).integer, 4);
  ModelOptions fixed;
  fixed.fix["x"] = 3;
  const auto scalar = import(input("x", {2}) + node("Relu", {"x"}, "y") + output("y", {2}), fixed);
  ASSERT_FALSE(scalar);
  EXPECT_NE(render(scalar.diagnostics()).find("input 'x' is [2], and --fix states scalars"), std::string::npos);
}

TEST_F(ModelTest, DamageIsReported) {
  const std::string whole =
      onnx_bytes::model(one("Conv", {{"x", {1, 2, 5, 5}}, {"w", {3, 2, 3, 3}}}, ints("pads", {1, 1, 1, 1})));
  for (std::size_t length = 0; length < whole.size(); length += 3) {
    std::ofstream(path_, std::ios::binary) << whole.substr(0, length);
    const auto cut = import_model(path_);
    if (!cut) {
      EXPECT_FALSE(cut.diagnostics().empty());
    }
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x55);
    std::ofstream(path_, std::ios::binary) << changed;
    const auto model = import_model(path_);
    if (model && model->refused.empty()) {
      EXPECT_EQ(render(verify(model->kernel)), "");
    }
  }
}

constexpr double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();

/// The first NaN's, as in numpy, or an infinity's before it; -inf and the smallest integer are elements as others.
TEST_F(ModelTest, PositionsAreInsideTheTensor) {
  const TensorData x = reals_data({4, 3}, {1, nan, 3, nan, nan, 0, -inf, -inf, -inf, 2, 5, 5});
  EXPECT_EQ(run(one("ArgMax", {{"x", {4, 3}}}, integer("axis", 1)), {x}), (Reals{1, 0, 0, 1}));
  EXPECT_EQ(run(one("ArgMin", {{"x", {4, 3}}}, integer("axis", 1)), {x}), (Reals{1, 0, 0, 0}));
  EXPECT_EQ(run(one("ArgMax", {{"x", {4, 3}}}, integer("axis", 1) + integer("select_last_index", 1)), {x}),
            (Reals{1, 1, 2, 2}));
  EXPECT_EQ(run(one("Hardmax", {{"x", {4, 3}}}), {x}), (Reals{0, 1, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0}));
  EXPECT_EQ(run(one("ArgMax", {{"x", {}}}), {reals_data({}, {nan})}), Reals{0});
  EXPECT_EQ(run(one("Hardmax", {{"x", {}}}), {reals_data({}, {7})}), Reals{1});
  EXPECT_EQ(run(one("ArgMax", {{"x", {0, 3}}}, integer("axis", 1)), {reals_data({0, 3}, {})}), Reals{});
}

TEST_F(ModelTest, PositionsOfPoolsAreInsideTheTensor) {
  const auto positions = [&](const Shape& shape, const std::string& attributes, const TensorData& x, int type = 1) {
    const auto model =
        import(input("x", shape, type) + node_of("MaxPool", {"x"}, {"y", "p"}, attributes) + output("p"));
    EXPECT_TRUE(model) << render(model.diagnostics());
    return model ? reals_of(outputs_of(*model, {x}).at(0)) : Reals{};
  };
  const std::string pairs = ints("kernel_shape", {2}) + ints("strides", {2});
  EXPECT_EQ(positions({1, 1, 6}, pairs, reals_data({1, 1, 6}, {1, nan, nan, 2, 3, 3})), (Reals{1, 2, 4}));
  // Windows begin one element before the tensor and end behind it, where padding equals their smallest elements.
  const std::string padded = pairs + ints("pads", {1, 1});
  EXPECT_EQ(positions({1, 1, 4}, padded, reals_data({1, 1, 4}, {-inf, nan, 0, -inf})), (Reals{0, 1, 3}));
  EXPECT_EQ(positions({2, 1, 2}, padded, reals_data({2, 1, 2}, {0, 0, 0, 9}, DType::u8), 2), (Reals{0, 1, 2, 3}));
}

TEST_F(ModelTest, SumsOfExponentsOfInfiniteElements) {
  const TensorData x = reals_data({4, 2}, {inf, 1, -inf, -inf, inf, inf, -inf, 0.5});
  EXPECT_EQ(run(one("ReduceLogSumExp", {{"x", {4, 2}}}, ints("axes", {1}) + integer("keepdims", 0)), {x}),
            (Reals{inf, -inf, inf, 0.5}));
  EXPECT_TRUE(std::isnan(run(one("ReduceLogSumExp", {{"x", {2}}}), {reals_data({2}, {nan, inf})}).at(0)));
  EXPECT_EQ(run(one("ReduceLogSumExp", {{"x", {}}}), {reals_data({}, {inf})}), Reals{inf});
}

TEST_F(ModelTest, UpdatesOfAPartOfTheOtherDimensions) {
  const TensorData x = data_like({3, 5});
  const Shape indices = {2, 0, 2, -1, 1, 0};
  for (const Shape& part : {Shape{2, 3}, Shape{3, 2}, Shape{1, 5}, Shape{0, 3}})
    for (const std::string how : {"none", "add", "mul", "max", "min"}) {
      Reals expected = reals_of(x);
      const std::int64_t count = part[0] * part[1];
      const TensorData updates = data_like(part, 3);
      Shape at;
      for (std::int64_t i = 0; i < count; ++i) {
        at.push_back(indices[static_cast<std::size_t>(i) % indices.size()]);
        double& y = expected[static_cast<std::size_t>((at.back() + 3) % 3 * 5 + i % part[1])];
        const double u = updates.get(i).real;
        y = how == "none"  ? u
            : how == "add" ? y + u
            : how == "mul" ? y * u
            : how == "max" ? std::max(y, u)
                           : std::min(y, u);
      }
      set_ = 18;
      expect_near(run(input("x", {3, 5}) + input("i", part, 7) + input("u", part) +
                          node("ScatterElements", {"x", "i", "u"}, "y", integer("axis", 0) + word("reduction", how)) +
                          output("y"),
                      {x, integers_of(part, at), updates}),
                  expected);
    }
  EXPECT_EQ(problems(input("x", {3, 5}) + input("i", {2, 6}, 7) + input("u", {2, 6}) +
                     node("ScatterElements", {"x", "i", "u"}, "y", integer("axis", 0)) + output("y")),
            path_ + ": node 0 (ScatterElements): positions of [2, 6] do not fit [3, 5]\n");
}

TEST_F(ModelTest, UpdatesOfRowsCombine) {
  set_ = 18;
  for (const std::int64_t rows : {1, 2, 3, 9})
    for (const std::int64_t count : {0, 1, 2, 7, 13})
      for (const std::int64_t width : {1, 17})
        for (const std::string how : {"add", "mul", "max", "min"}) {
          const TensorData x = data_like({rows, width}), updates = data_like({count, width}, 3);
          Reals expected = reals_of(x);
          Shape at;
          for (std::int64_t u = 0; u < count; ++u) {
            at.push_back((u * u + 1) % rows - (u % 2 == 0 ? rows : 0));
            for (std::int64_t j = 0; j < width; ++j) {
              double& y = expected[static_cast<std::size_t>((at.back() + rows) % rows * width + j)];
              const double v = updates.get(u * width + j).real;
              y = how == "add" ? y + v : how == "mul" ? y * v : how == "max" ? std::max(y, v) : std::min(y, v);
            }
          }
          expect_near(run(input("x", {rows, width}) + input("i", {count, 1}, 7) + input("u", {count, width}) +
                              node("ScatterND", {"x", "i", "u"}, "y", word("reduction", how)) + output("y"),
                          {x, integers_of({count, 1}, at), updates}),
                      expected, 1e-3);
        }
}

/// Updates and unpooled elements are scatters; in a program for all sizes the statements do not depend on sizes.
TEST_F(ModelTest, UpdatesAreScatters) {
  set_ = 18;
  for (const bool of_all_sizes : {false, true})
    for (const std::string how : {"none", "add", "mul", "max", "min"})
      for (const std::string& nodes :
           {input("x", {30, 20, 8}) + input("i", {9, 2}, 7) + input("u", {9, 8}) +
                node("ScatterND", {"x", "i", "u"}, "y", word("reduction", how)),
            input("x", {30, 8}) + input("i", {9, 8}, 7) + input("u", {9, 8}) +
                node("ScatterElements", {"x", "i", "u"}, "y", integer("axis", 0) + word("reduction", how)),
            input("x", {2, 3, 4, 5}) + input("i", {2, 3, 4, 5}, 7) +
                node("MaxUnpool", {"x", "i"}, "y", ints("kernel_shape", {2, 2}) + ints("strides", {2, 2}))}) {
        ModelOptions options;
        options.of_all_sizes = of_all_sizes;
        const auto model = import(nodes + output("y"), options);
        ASSERT_TRUE(model) << render(model.diagnostics());
        std::size_t scatters = 0;
        for (const Computation& statement : model->kernel.statements) scatters += scatter_of(statement) ? 1 : 0;
        EXPECT_EQ(scatters, 1u) << print(model->kernel);
        EXPECT_LE(model->kernel.statements.size(), 5u) << print(model->kernel);
      }
}

/// Without updates there is no element for their computed subscript.
TEST_F(ModelTest, NoUpdatesInAProgramForAllSizes) {
  set_ = 18;
  ModelOptions options;
  options.of_all_sizes = true;
  const TensorData x = data_like({3, 2});
  for (const std::string& graph :
       {constant("i", {0, 1}, {}) + constant_floats("u", {0, 2}, {}) + node("ScatterND", {"x", "i", "u"}, "y"),
        constant("i", {0, 2}, {}) + constant_floats("u", {0, 2}, {}) +
            node("ScatterElements", {"x", "i", "u"}, "y", integer("axis", 0))})
    EXPECT_EQ(run(input("x", {3, 2}) + graph + output("y"), {x}, options), reals_of(x));
}

/// Functions of integers are computed in floats and truncated.
TEST_F(ModelTest, FunctionsOfIntegers) {
  set_ = 18;
  const TensorData x = data_like({3, 5}, 1, DType::s32);
  double squares = 0, exponentials = 0, sizes = 0;
  for (const double v : reals_of(x)) squares += v * v, exponentials += std::exp(v), sizes += std::abs(v) + 1;
  const std::string keep = integer("keepdims", 0);
  expect_near(run(one("ReduceL2", {{"x", {3, 5}}}, keep, 6), {x}), {std::trunc(std::sqrt(squares))});
  expect_near(run(one("ReduceLogSumExp", {{"x", {3, 5}}}, keep, 6), {x}), {std::trunc(std::log(exponentials))});
  TensorData positive = x;
  for (std::int64_t i = 0; i < x.count(); ++i) positive.set(i, {0, std::abs(x.get(i).integer) + 1});
  expect_near(run(one("ReduceLogSum", {{"x", {3, 5}}}, keep, 6), {positive}), {std::trunc(std::log(sizes))});
  Reals erfs, shrunk;
  for (const double v : reals_of(x)) {
    erfs.push_back(std::trunc(std::erf(v)));
    shrunk.push_back(std::trunc(v > 1.5 ? v - 0.5 : v < -1.5 ? v + 0.5 : 0));
  }
  expect_near(run(one("Erf", {{"x", {3, 5}}}, "", 6), {x}), erfs);
  expect_near(run(one("Shrink", {{"x", {3, 5}}}, real("lambd", 1.5F) + real("bias", 0.5F), 6), {x}), shrunk);
}

/// log(1 + e) is e where 1 + e is 1.
TEST_F(ModelTest, SoftplusOfSmallNumbers) {
  const Reals x{-80, -20, -17, -9, -3, 0, 5, 90};
  const Reals found = run(one("Softplus", {{"x", {8}}}), {reals_data({8}, x)});
  ASSERT_EQ(found.size(), x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double expected = std::max(x[i], 0.0) + std::log1p(std::exp(-std::abs(x[i])));
    EXPECT_NEAR(found[i] / expected, 1, 1e-5) << x[i];
  }
}

/// A causal mask behind a cache: y[i,j] = j <= i + past. Its statements are the same at each size, and stay.
TEST_F(ModelTest, ValuesOfSizesAreComputed) {
  const std::string graph =
      input("p", {unknown, 2}) + input("x", {unknown, 3}) + constant("zero", {}, {0}) + constant("one", {}, {1}) +
      constant("rows", {1}, {1}) + constant("first", {1}, {0}) + constant("columns", {1}, {0}) +
      node("Shape", {"p"}, "ps") + node("Gather", {"ps", "zero"}, "past") + node("Shape", {"x"}, "xs") +
      node("Gather", {"xs", "zero"}, "now") + node("Add", {"past", "now"}, "all") +
      node("Range", {"past", "all", "one"}, "r") + node("Unsqueeze", {"r", "rows"}, "at") +
      node("Range", {"zero", "all", "one"}, "c") + node("LessOrEqual", {"c", "at"}, "y") + output("y");
  ModelOptions options;
  options.of_all_sizes = true;
  options.of_sizes = {{"past", "now", "all"}, {"r", "at", "y"}};
  set_ = 18;
  std::set<std::string> statements;
  for (const int past : {3, 5}) {
    const int now = past;  // both axes have the symbol N
    options.sizes = {{"N", past}};
    const auto model = import(graph, options);
    ASSERT_TRUE(model) << render(model.diagnostics());
    EXPECT_EQ(refusals(*model), "");
    EXPECT_TRUE(model->known.contains("past"));
    const auto ahead = done_ahead(composed(*model));
    ASSERT_TRUE(ahead) << render(ahead.diagnostics());
    std::string text;
    for (const Computation& statement : ahead->kernel.statements) text += statement.name + " ";
    statements.insert(text);
    const auto outputs = outputs_of(*ahead, {data_like({past, 2}), data_like({now, 3})});
    ASSERT_EQ(outputs.size(), 1U);
    EXPECT_EQ(outputs[0].shape, (Shape{now, past + now}));
    for (int i = 0; i < now; ++i)
      for (int j = 0; j < past + now; ++j)
        EXPECT_EQ(outputs[0].get(i * (past + now) + j).integer, j <= i + past ? 1 : 0) << i << " " << j;
  }
  EXPECT_EQ(statements.size(), 1U);
  EXPECT_FALSE(statements.begin()->empty());
}

/// Converters append nodes: casts, what a fusion made.
TEST_F(ModelTest, NodesInAnyOrder) {
  const std::vector<std::string> nodes = {node("Add", {"x", "x"}, "a"), node("Exp", {"a"}, "b"),
                                          node("Mul", {"a", "b"}, "c"), node("Sub", {"c", "x"}, "y")};
  const std::string ends = input("x", {3}) + output("y");
  const TensorData x = reals_data({3}, {0, 0.5, -1});
  const Reals expected = run(ends + nodes[0] + nodes[1] + nodes[2] + nodes[3], {x});
  std::vector<int> order{0, 1, 2, 3};
  std::set<std::string> statements;
  do {
    std::string graph = ends;
    for (const int i : order) graph += nodes[static_cast<std::size_t>(i)];
    EXPECT_EQ(run(graph, {x}), expected);
    std::string text;
    const auto model = import(graph);
    for (const Computation& statement : model->kernel.statements) text += statement.name + " ";
    statements.insert(text);
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_EQ(statements.size(), 1U) << *statements.begin();
}

/// The body, whose nodes are not in order either, reads `s` of a node behind the loop.
TEST_F(ModelTest, NodesInAnyOrderAroundAndInBodies) {
  const std::string body = node("Mul", {"u", "s"}, "w") + node("Add", {"v", "s"}, "u") + node("Identity", {"c"}, "d") +
                           input("i", {}, 7) + input("c", {}, 9) + input("v", {2}) + output("d") + output("w");
  const std::string graph = input("x", {2}) + constant("n", {}, {2}) + node("Neg", {"z"}, "y") +
                            node_of("Loop", {"n", "", "x"}, {"z"}, graph_attribute("body", body)) +
                            node("Add", {"x", "x"}, "s") + output("y");
  // v' = (v + 2x)*2x from x, twice
  const auto step = [](double v, double x) { return (v + 2 * x) * 2 * x; };
  EXPECT_EQ(run(graph, {reals_data({2}, {1, -2})}), (Reals{-step(step(1, 1), 1), -step(step(-2, -2), -2)}));
}

TEST_F(ModelTest, LoopsWithoutSteps) {
  const std::string body = node("Add", {"v", "v"}, "w") + node("Identity", {"c"}, "d") + input("i", {}, 7) +
                           input("c", {}, 9) + input("v", {3}) + output("d") + output("w") + output("w");
  const auto loop =
      import(input("x", {3}) + constant("n", {}, {0}) +
             node_of("Loop", {"n", "", "x"}, {"y", "z"}, graph_attribute("body", body)) + output("y") + output("z"));
  ASSERT_TRUE(loop) << render(loop.diagnostics());
  EXPECT_EQ(refusals(*loop), "");
  const TensorData x = data_like({3});
  auto outputs = outputs_of(*loop, {x});
  EXPECT_EQ(reals_of(outputs.at(0)), reals_of(x));
  EXPECT_EQ(outputs.at(1).shape, (Shape{0, 3}));
  const std::string step = node("Add", {"s", "e"}, "t") + input("s", {3}) + input("e", {3}) + output("t") + output("t");
  const auto scan =
      import(input("x", {3}) + input("e", {0, 3}) +
             node_of("Scan", {"x", "e"}, {"y", "z"},
                     graph_attribute("body", step) + integer("num_scan_inputs", 1) + ints("scan_output_axes", {-1})) +
             output("y") + output("z"));
  ASSERT_TRUE(scan) << render(scan.diagnostics());
  EXPECT_EQ(refusals(*scan), "");
  outputs = outputs_of(*scan, {x, data_like({0, 3})});
  EXPECT_EQ(reals_of(outputs.at(0)), reals_of(x));
  EXPECT_EQ(outputs.at(1).shape, (Shape{3, 0}));
}

TEST_F(ModelTest, SequencesOfNoSteps) {
  const auto model =
      import(input("x", {0, 1, 1}) + input("w", {1, 1, 1}) + input("r", {1, 1, 1}) + input("h", {1, 1, 1}) +
             node_of("RNN", {"x", "w", "r", "", "", "h"}, {"y", "last"}, integer("hidden_size", 1)) + output("y") +
             output("last"));
  ASSERT_TRUE(model) << render(model.diagnostics());
  EXPECT_EQ(refusals(*model), "");
  const TensorData one = data_like({1, 1, 1});
  const auto outputs = outputs_of(*model, {data_like({0, 1, 1}), one, one, one});
  EXPECT_EQ(outputs.at(0).shape, (Shape{0, 1, 1, 1}));
  EXPECT_EQ(reals_of(outputs.at(1)), reals_of(one));
}

/// In a program for all sizes few steps are a recurrence, too, whose slices are contiguous and whose statements have no
/// extent of what x[i] reads: positions and what is read at them come before it.
TEST_F(ModelTest, StepsOfAllSizes) {
  const std::string body = node("Gather", {"x", "i"}, "g") + node("Add", {"v", "g"}, "w") +
                           node("Identity", {"c"}, "d") + input("i", {}, 7) + input("c", {}, 9) + input("v", {2}) +
                           output("d") + output("w");
  const std::string scanned = node("Add", {"s", "e"}, "t") + input("s", {2}) + input("e", {2}) + output("t");
  const std::string graph =
      input("x", {3, 2}) + input("z", {2, 3}) + input("v0", {2}) + constant("n", {}, {3}) +
      node_of("Loop", {"n", "", "v0"}, {"y"}, graph_attribute("body", body)) +
      node_of("Scan", {"y", "z"}, {"last"},
              graph_attribute("body", scanned) + integer("num_scan_inputs", 1) + ints("scan_input_axes", {1})) +
      output("last");
  ModelOptions options;
  options.of_all_sizes = true;
  const auto model = import(graph, options);
  ASSERT_TRUE(model) << render(model.diagnostics());
  const auto ahead = done_ahead(composed(*model));
  ASSERT_TRUE(ahead) << render(ahead.diagnostics());
  EXPECT_EQ(ahead->kernel.repeats.size(), 2u) << print(ahead->kernel);
  for (const Repeat& repeat : ahead->kernel.repeats)
    for (std::size_t s = repeat.first; repeat.contains(s); ++s)
      for (const Access& read : ahead->kernel.statements[s].reads) {
        EXPECT_FALSE(read.computed) << print(ahead->kernel);
        for (std::size_t axis = 1; axis < read.index.size(); ++axis)
          EXPECT_FALSE(read.index[axis].names().contains(repeat.dim)) << print(ahead->kernel);
      }
  const TensorData x = data_like({3, 2}), z = data_like({2, 3}, 1), v = data_like({2}, 2);
  Reals expected = reals_of(v);
  for (std::int64_t k = 0; k < 6; ++k) {
    expected[static_cast<std::size_t>(k % 2)] += x.get(k).real;
    expected[static_cast<std::size_t>(k / 3)] += z.get(k).real;
  }
  expect_near(reals_of(outputs_of(*ahead, {x, z, v}).at(0)), expected, 1e-4);
}

/// c = e (s W + x), s' = c / 8: of a Scan along axis 1 from its end, with results along their last axis.
TEST_F(ModelTest, LongScansAreRecurrences) {
  constexpr std::int64_t steps = 90;
  const std::string body = constant("bytes", {2, 2}, {1, 2, 3, 4}) + node("Cast", {"bytes"}, "v", integer("to", 1)) +
                           node("MatMul", {"x", "v"}, "z") + node("MatMul", {"s", "w"}, "a") +
                           node("Add", {"a", "z"}, "b") + node("MatMul", {"e", "b"}, "c") +
                           node("Div", {"c", "eight"}, "next") + node("Identity", {"e"}, "same") +
                           node("Identity", {"s"}, "old") + input("s", {2}) + input("p", {2}) + input("x", {3, 2}) +
                           output("next") + output("old") + output("c") + output("b") + output("same");
  const auto model = import(
      input("x", {3, steps, 2}) + input("w", {2, 2}) + input("e", {3}) + input("s0", {2}) + constant("eight", 8) +
      node_of("Scan", {"s0", "s0", "x"}, {"last", "before", "cs", "bs", "es"},
              graph_attribute("body", body) + integer("num_scan_inputs", 1) + ints("scan_input_axes", {1}) +
                  ints("scan_input_directions", {1}) + ints("scan_output_axes", {-1, 2, 0}) +
                  ints("scan_output_directions", {0, 1, 0})) +
      output("last") + output("before") + output("cs") + output("bs") + output("es"));
  ASSERT_TRUE(model) << render(model.diagnostics());
  EXPECT_EQ(refusals(*model), "");
  ASSERT_EQ(model->kernel.repeats.size(), 1U);
  EXPECT_LT(model->kernel.statements.size(), 20U);
  const TensorData x = data_like({3, steps, 2}), w = data_like({2, 2}, 1), e = data_like({3}, 2),
                   s0 = data_like({2}, 3);
  std::vector<double> s{s0.get(0).real, s0.get(1).real}, old = s;
  Reals cs(2 * steps), bs(3 * 2 * steps), es;
  const double v[2][2] = {{1, 2}, {3, 4}};
  for (std::int64_t t = 0; t < steps; ++t) {
    double c[2] = {0, 0};
    for (std::int64_t j = 0; j < 2; ++j)
      for (std::int64_t i = 0; i < 3; ++i) {
        double b = s[0] * w.get(j).real + s[1] * w.get(2 + j).real;
        for (std::int64_t k = 0; k < 2; ++k) b += x.get((i * steps + steps - 1 - t) * 2 + k).real * v[k][j];
        bs[static_cast<std::size_t>((i * 2 + j) * steps + steps - 1 - t)] = b;
        c[j] += e.get(i).real * b;
      }
    old = s;
    for (std::int64_t j = 0; j < 2; ++j) {
      cs[static_cast<std::size_t>(j * steps + t)] = c[j];
      s[static_cast<std::size_t>(j)] = c[j] / 8;
    }
    for (std::int64_t i = 0; i < 3; ++i) es.push_back(e.get(i).real);
  }
  for (const Model& same : {*model, composed(*model)}) {
    const auto outputs = outputs_of(same, {x, w, e, s0});
    ASSERT_EQ(outputs.size(), 5U);
    expect_near(reals_of(outputs[0]), s, 1e-4);
    expect_near(reals_of(outputs[1]), old, 1e-4);
    expect_near(reals_of(outputs[2]), cs, 1e-3);
    expect_near(reals_of(outputs[3]), bs, 1e-3);
    expect_near(reals_of(outputs[4]), es);
  }
}

/// s' = s / 2 + x from the last element on: no copy of the sequence in reverse is taken into the recurrence. A value of
/// the file may have any name.
TEST_F(ModelTest, ReversedSequencesOfRecurrences) {
  constexpr std::int64_t steps = 80;
  const std::string body = node("Div", {"s", "two"}, "h") + node("Add", {"h", "x"}, "t") +
                           node("Identity", {"t"}, "u") + input("s", {}) + input("x", {}) + output("t") + output("u");
  const std::string graph =
      input("s0", {}) + input("x", {steps}) + constant("two", 2) + node("Neg", {"x"}, "ys.steps") +
      node_of("Scan", {"s0", "x"}, {"last", "ys"},
              graph_attribute("body", body) + integer("num_scan_inputs", 1) + ints("scan_input_directions", {1})) +
      node("Add", {"ys", "ys.steps"}, "z") + output("z");
  const TensorData x = data_like({steps});
  Reals expected;
  double s = 3;
  for (std::int64_t t = 0; t < steps; ++t) {
    s = s / 2 + x.get(steps - 1 - t).real;
    expected.push_back(s - x.get(t).real);
  }
  const auto model = import(graph);
  ASSERT_TRUE(model) << render(model.diagnostics());
  EXPECT_EQ(model->kernel.repeats.size(), 1U);
  expect_near(run(graph, {reals_data({}, {3}), x}), expected, 1e-4);
}

/// The step's number is a value, and a place to read at.
TEST_F(ModelTest, LongLoopsAreRecurrences) {
  const std::string body = node("Cast", {"i"}, "f", integer("to", 1)) + node("Gather", {"x", "i"}, "g") +
                           node("Mul", {"f", "g"}, "m") + node("Add", {"v", "m"}, "w") + node("Identity", {"c"}, "d") +
                           input("i", {}, 7) + input("c", {}, 9) + input("v", {}) + output("d") + output("w") +
                           output("w");
  const auto loop =
      import(input("x", {100}) + input("v0", {}) + constant("n", {}, {100}) +
             node_of("Loop", {"n", "", "v0"}, {"y", "z"}, graph_attribute("body", body)) + output("y") + output("z"));
  ASSERT_TRUE(loop) << render(loop.diagnostics());
  EXPECT_EQ(refusals(*loop), "");
  EXPECT_EQ(loop->kernel.repeats.size(), 1U);
  const TensorData x = data_like({100});
  double sum = 3;
  Reals sums;
  for (int i = 0; i < 100; ++i) sums.push_back(sum += i * x.get(i).real);
  const auto outputs = outputs_of(*loop, {x, reals_data({}, {3})});
  expect_near(reals_of(outputs.at(0)), {sum}, 1e-2);
  expect_near(reals_of(outputs.at(1)), sums, 1e-2);
}

/// The condition follows from the number of the step or from a counter: after how many steps it ends is known.
TEST_F(ModelTest, LoopsThatCountAreRecurrences) {
  const std::string by_step = node("Less", {"i", "last"}, "d"),
                    by_state = node("Add", {"k", "one"}, "l") + node("Less", {"l", "end"}, "d");
  const std::string numbers = constant("last", {}, {99}) + constant("one", {}, {1}) + constant("end", {}, {100}) +
                              constant("n", {}, {4000}) + constant("k0", {}, {0}) + input("x", {2});
  const std::string add = node("Add", {"v", "v0"}, "w"), first = node("Identity", {"x"}, "v0");
  const auto body = [&](const std::string& nodes, const std::string& before, const std::string& after) {
    return graph_attribute("body", nodes + add + input("i", {}, 7) + input("c", {}, 9) + before + input("v", {2}) +
                                       output("d") + after + output("w"));
  };
  for (const std::string& graph :
       {node_of("Loop", {"n", "", "x"}, {"y"}, body(by_step, "", "")),
        node_of("Loop", {"", "", "k0", "x"}, {"l0", "y"}, body(by_state, input("k", {}, 7), output("l")))}) {
    const auto loop = import(numbers + first + graph + output("y"));
    ASSERT_TRUE(loop) << render(loop.diagnostics());
    EXPECT_EQ(refusals(*loop), "");
    EXPECT_EQ(loop->kernel.repeats.size(), 1U);
    expect_near(reals_of(outputs_of(*loop, {reals_data({2}, {2, 3})}).at(0)), {202, 303});
  }
}

/// A state that grows: there is no tensor of all steps.
TEST_F(ModelTest, LoopsThatChangeShapesAreUnrolled) {
  const std::string body = node("Add", {"i", "two"}, "end") + node("Concat", {"v", "v"}, "w", integer("axis", 0)) +
                           node("Slice", {"w", "zero", "end"}, "u") + node("Identity", {"c"}, "d") +
                           constant("zero", {1}, {0}) + constant("two", {1}, {2}) + input("i", {1}, 7) +
                           input("c", {}, 9) + text(11, text(1, "v")) + output("d") + output("u");
  const auto loop = import(input("x", {1}) + constant("n", {}, {40}) +
                           node_of("Loop", {"n", "", "x"}, {"y"}, graph_attribute("body", body)) + output("y"));
  ASSERT_TRUE(loop) << render(loop.diagnostics());
  EXPECT_EQ(refusals(*loop), "");
  EXPECT_TRUE(loop->kernel.repeats.empty());
  EXPECT_EQ(reals_of(outputs_of(*loop, {reals_data({1}, {7})}).at(0)), Reals(41, 7));
}

/// A condition that is an input: both branches are computed, if they can be and have equal shapes.
TEST_F(ModelTest, BranchesOfAConditionOfTheRun) {
  const auto graph = [](const std::string& otherwise) {
    return input("c", {}, 9) + input("x", {3}) +
           node("If", {"c"}, "y",
                graph_attribute("then_branch", node("Relu", {"x"}, "t") + output("t")) +
                    graph_attribute("else_branch", otherwise)) +
           node("Neg", {"y"}, "z") + output("z");
  };
  const TensorData x = data_like({3});
  for (const bool condition : {false, true}) {
    TensorData c = make_data({.name = "", .shape = {}, .dtype = DType::boolean});
    c.set(0, {0, condition ? 1 : 0});
    Reals expected;
    for (std::int64_t i = 0; i < 3; ++i)
      expected.push_back(condition ? -std::max(x.get(i).real, 0.0) : -2 * x.get(i).real);
    expect_near(run(graph(node("Add", {"x", "x"}, "t") + output("t")), {c, x}), expected);
  }
  const std::string known = "node 0 (If): its condition is known only when the model runs, and ";
  const std::string follows = "node 1 (Neg): it reads 'y', whose shape or values are not known\n";
  const auto refused = [&](const std::string& otherwise) {
    const auto model = import(graph(otherwise));
    return model ? refusals(*model) : render(model.diagnostics());
  };
  EXPECT_EQ(refused(node("Sparkle", {"x"}, "t") + output("t")),
            known + "of its else_branch node 0 (Sparkle): the operator is not imported\n" + follows);
  EXPECT_EQ(refused(node("ReduceSum", {"x"}, "t") + output("t")), known + "'y' is f32[3] or f32[1]\n" + follows);
  EXPECT_EQ(refused(node("Softmax", {"x"}, "t", integer("axis", 3)) + output("t")),
            known + "of its else_branch node 0 (Softmax): axis 3 of a tensor of 1 dimensions\n" + follows);
}

TEST_F(ModelTest, ConstantsOfDefaultValues) {
  const std::string zero = text(5, text(1, "value_float") + number(20, 1));
  EXPECT_EQ(run(input("x", {2}) + node("Constant", {}, "c", zero) + node("Add", {"x", "c"}, "y") + output("y"),
                {reals_data({2}, {1, 2})}),
            (Reals{1, 2}));
  EXPECT_EQ(run(input("x", {2}, 7) + node("Constant", {}, "c", text(5, text(1, "value_int") + number(20, 2))) +
                    node("Add", {"x", "c"}, "y") + output("y"),
                {integers_of({2}, {1, 2})}),
            (Reals{1, 2}));
  EXPECT_EQ(run(input("x", {1}) + node("Constant", {}, "c", text(5, text(1, "value_ints") + number(20, 7))) +
                    node("Reshape", {"x", "c"}, "y") + output("y"),
                {reals_data({1}, {5})}),
            Reals{5});
}

TEST_F(ModelTest, ContradictionsNameTheNode) {
  const auto told = [&](const std::string& graph) { return problems(graph).substr(path_.size() + 2); };
  EXPECT_EQ(told(one("Softmax", {{"x", {3, 4}}}, real("axis", 1.5F))),
            "node 0 (Softmax): attribute axis is a float; an integer is needed\n");
  EXPECT_EQ(told(one("LeakyRelu", {{"x", {3}}}, integer("alpha", 1))),
            "node 0 (LeakyRelu): attribute alpha is an integer; a float is needed\n");
  EXPECT_EQ(told(one("Transpose", {{"x", {3, 4}}}, word("perm", "10"))),
            "node 0 (Transpose): attribute perm is a string; a list of integers is needed\n");
  EXPECT_EQ(told(input("x", {2}) + node("Relu", {"x"}, "y") + output("y", {2}, 7)),
            "node 0 (Relu): output 'y' is f32; the file states s64\n");
  const std::string zero(1, '\0');
  EXPECT_EQ(told(input("x" + zero, {2}) + node("Relu", {"x" + zero}, "y") + output("y", {2})),
            "input 'x?' has a zero byte in its name\n");
  EXPECT_EQ(told(input("x", {2}) + node("Relu", {"x"}, zero + "y") + output("x", {2})),
            "node 0 (Relu): result '?y' has a zero byte in its name\n");
  set_ = 0;
  EXPECT_EQ(
      told(one("Relu", {{"x", {2}}})),
      "the model uses operator set 0; sets from 1 to 28 are read\n  hint: state the set that its operators are of "
      "(opset_import)\n");
}

/// Types of the standard's constraints: bool (9), u8 (2), s64 (7) and f32 (1).
TEST_F(ModelTest, TypesThatNoOperatorTakes) {
  const auto two = [](const std::string& op, int a, int b, const std::string& further = "") {
    std::vector<std::string> names{"a", "b"};
    if (!further.empty()) names.push_back("c");
    return input("a", {4, 4}, a) + input("b", {4, 4}, b) + further + node(op, names, "y") + output("y");
  };
  set_ = 17;
  for (const auto& [graph, expected] : std::vector<std::pair<std::string, std::string>>{
           {two("Where", 1, 1, input("c", {4, 4})), "(Where): input 0 ('a') is f32; bool is needed"},
           {two("And", 9, 1), "(And): input 1 ('b') is f32; bool is needed"},
           {one("Not", {{"x", {3}}}), "(Not): input 0 ('x') is f32; bool is needed"},
           {one("Relu", {{"x", {3}}}, "", 9), "(Relu): input 0 ('x') is bool; integers or floats are needed"},
           {two("Gather", 1, 1), "(Gather): input 1 ('b') is f32; integers are needed"},
           {one("Conv", {{"x", {1, 1, 4}}, {"w", {1, 1, 3}}}, "", 7),
            "(Conv): input 0 ('x') is s64; floats are needed"},
           {two("LayerNormalization", 7, 1), "(LayerNormalization): input 0 ('a') is s64; floats are needed"},
           {two("MatMulInteger", 2, 1),
            "(MatMulInteger): input 1 ('b') is f32; integers or floats of 8 bits are needed"},
           {two("QuantizeLinear", 1, 1, input("c", {}, 7)),
            "(QuantizeLinear): input 2 ('c') is s64; integers of at most 16 bits or floats of 8 bits are needed"}})
    EXPECT_EQ(problems(graph), path_ + ": node 0 " + expected + "\n");
}

/// MatMulNBits of 4 rows of 40 weights in blocks of 16.
TEST_F(ModelTest, PackedWeightsOfOtherShapesAreErrors) {
  const auto packed = [](const Shape& scales, const Shape& zeros, int zero_type, const Shape& bias) {
    return input("x", {2, 40}) + input("w", {4, 3, 8}, 2) + input("s", scales) + input("z", zeros, zero_type) +
           input("b", bias) +
           node("MatMulNBits", {"x", "w", "s", "z", "", "b"}, "y",
                text(7, "com.microsoft") + integer("N", 4) + integer("K", 40) + integer("block_size", 16)) +
           output("y");
  };
  const Shape table{4, 3}, zeros{4, 2}, bias{4};
  EXPECT_EQ(problems(packed(table, zeros, 2, bias)), "none; refused: ");
  EXPECT_EQ(problems(packed({12}, {8}, 2, bias)), "none; refused: ");
  EXPECT_EQ(problems(packed({12}, {12}, 1, bias)), "none; refused: ");
  for (const auto& [graph, expected] : std::vector<std::pair<std::string, std::string>>{
           {packed({3, 4}, zeros, 2, bias), "scales of [3, 4] where [4, 3] or [12] are needed"},
           {packed({4, 3, 1}, zeros, 2, bias), "scales of [4, 3, 1] where [4, 3] or [12] are needed"},
           {packed(table, {2, 4}, 2, bias), "bytes of zero points of [2, 4] where [4, 2] or [8] are needed"},
           {packed(table, {3, 4}, 1, bias), "zero points of [3, 4] where [4, 3] or [12] are needed"},
           {packed(table, zeros, 2, {5}), "a bias of [5] for 4 rows of weights"}})
    EXPECT_NE(problems(graph).find(": node 0 (MatMulNBits): " + expected), std::string::npos) << problems(graph);
}

/// Operators that nodes of com.microsoft are composed of are those of one set, whatever the set of the file is.
TEST_F(ModelTest, ComposedOperatorsAreThoseOfAnySetOfTheFile) {
  const std::string foreign = text(7, "com.microsoft");
  const std::string attention = input("x", {2, 3, 4}) + input("w", {4, 12}) + input("b", {12}) + input("m", {2, 3}, 6) +
                                node("Attention", {"x", "w", "b", "m"}, "y", foreign + integer("num_heads", 2)) +
                                output("y");
  const std::string embedding =
      input("i", {2, 3}, 6) + input("t", {7, 4}) + input("p", {9, 4}) + input("g", {4}) + input("b", {4}) +
      input("m", {2, 3}, 6) +
      node_of("EmbedLayerNormalization", {"i", "", "t", "p", "", "g", "b", "m"}, {"y", "count"}, foreign) +
      output("y") + output("count");
  const std::string groups =
      input("x", {1, 2, 2, 4}) + input("g", {4}) + input("b", {4}) +
      node("GroupNorm", {"x", "g", "b"}, "y", foreign + integer("groups", 2) + integer("activation", 0)) + output("y");
  for (const std::string& graph : {attention, embedding, groups}) {
    set_ = 24;
    const auto now = import(graph);
    ASSERT_TRUE(now) << render(now.diagnostics());
    EXPECT_EQ(refusals(*now), "");
    for (const int set : {11, 12, 17}) {
      set_ = set;
      const auto old = import(graph);
      ASSERT_TRUE(old) << render(old.diagnostics());
      EXPECT_EQ(refusals(*old), "");
      EXPECT_EQ(print(old->kernel), print(now->kernel)) << set;
    }
  }
}

/// Its attribute `opset` says whether the dimensions from the axis on are one row.
TEST_F(ModelTest, SoftmaxOfBytesIsThatOfTheSetItNames) {
  const auto graph = [](std::int64_t set) {
    return input("x", {1, 2, 3}, 2) + constant("s", 0.0F) + constant("t", 1 / 256.0F) +
           node("QLinearSoftmax", {"x", "s", "", "t", ""}, "y",
                text(7, "com.microsoft") + integer("axis", 1) + integer("opset", set)) +
           output("y");
  };
  const std::vector<TensorData> x{reals_data({1, 2, 3}, {1, 2, 3, 4, 5, 6}, DType::u8)};
  set_ = 17;
  EXPECT_EQ(run(graph(12), x), Reals(6, 43));   // 256 / 6
  EXPECT_EQ(run(graph(13), x), Reals(6, 128));  // 256 / 2
}

/// Its windows that end behind the image are divided by all their places, as in ONNX Runtime.
TEST_F(ModelTest, MeansOfBytesCountWholeWindows) {
  for (const bool last : {false, true}) {
    const Shape shape = last ? Shape{1, 3, 3, 1} : Shape{1, 1, 3, 3};
    const auto graph = [&](std::int64_t counted) {
      return input("x", shape, 2) + constant("s", 1.0F) +
             node("QLinearAveragePool", {"x", "s", "", "s", ""}, "y",
                  text(7, "com.microsoft") + ints("kernel_shape", {2, 2}) + ints("strides", {2, 2}) +
                      integer("ceil_mode", 1) + integer("count_include_pad", counted) +
                      integer("channels_last", last ? 1 : 0)) +
             output("y");
    };
    set_ = 17;
    const std::vector<TensorData> x{reals_data(shape, Reals(9, 8), DType::u8)};
    EXPECT_EQ(run(graph(1), x), (Reals{8, 4, 4, 2})) << last;
    EXPECT_EQ(run(graph(0), x), Reals(4, 8)) << last;
  }
}

/// ONNX Runtime lets a single query see all keys, and several ones see keys by rules of its providers.
TEST_F(ModelTest, UnidirectionalQueriesAreAsManyAsKeys) {
  const auto graph = [](std::int64_t queries, std::int64_t keys, int unidirectional) {
    return input("q", {1, queries, 4}) + input("k", {1, keys, 4}) + input("v", {1, keys, 4}) +
           node("MultiHeadAttention", {"q", "k", "v"}, "y",
                text(7, "com.microsoft") + integer("num_heads", 2) + integer("unidirectional", unidirectional)) +
           output("y");
  };
  set_ = 17;
  const auto one_query = import(graph(1, 5, 1)), all = import(graph(1, 5, 0));
  ASSERT_TRUE(one_query && all);
  EXPECT_EQ(refusals(*one_query), "");
  EXPECT_EQ(print(one_query->kernel), print(all->kernel));
  const auto square = import(graph(5, 5, 1)), seen = import(graph(5, 5, 0));
  ASSERT_TRUE(square && seen);
  EXPECT_NE(print(square->kernel), print(seen->kernel));
  EXPECT_EQ(
      problems(graph(2, 5, 1)),
      "none; refused: node 0 (MultiHeadAttention): unidirectional with 2 queries and 5 keys, whose places are not "
      "told\n");
}

/// Of the positions of a first step the first one counts, and the others follow it.
TEST_F(ModelTest, FirstStepsBeginAtTheFirstPosition) {
  const auto graph = [](const Shape& positions) {
    std::vector<float> table;
    for (int n = 0; n < 20; ++n) table.push_back(0.1F * static_cast<float>(n));
    return input("q", {1, 3, 4}) + input("k", {1, 3, 4}) + input("v", {1, 3, 4}) + input("l", {1}, 6) +
           constant("t", {}, {3}) + constant_floats("c", {10, 2}, table) + constant_floats("s", {10, 2}, table) +
           constant("p", {1, 3}, positions) +
           node("GroupQueryAttention", {"q", "k", "v", "", "", "l", "t", "c", "s", "p"}, "y",
                text(7, "com.microsoft") + integer("num_heads", 1) + integer("kv_num_heads", 1) +
                    integer("do_rotary", 1)) +
           output("y");
  };
  const std::vector<TensorData> x{data_like({1, 3, 4}, 1), data_like({1, 3, 4}, 2), data_like({1, 3, 4}, 3),
                                  reals_data({1}, {2}, DType::s32)};
  const Reals from_five = run(graph({5, 6, 7}), x);
  EXPECT_EQ(run(graph({5, 1, 0}), x), from_five);
  EXPECT_NE(run(graph({0, 1, 2}), x), from_five);
}

TEST_F(ModelTest, ScalarsHaveNoAxis) {
  const std::string x = input("x", {}), axis = integer("axis", 0), zero = constant("z", {1}, {0});
  set_ = 11;
  for (const std::string& graph :
       {one("Concat", {{"x", {}}, {"z", {}}}, axis), one("Softmax", {{"x", {}}}, axis),
        x + node_of("Split", {"x"}, {"y", "z"}) + output("y"), one("LpNormalization", {{"x", {}}}, axis),
        x + zero + node("Slice", {"x", "z", "z"}, "y") + output("y"),
        x + zero + node("Gather", {"x", "z"}, "y") + output("y"),
        x + zero + node("CumSum", {"x", "z"}, "y") + output("y")})
    EXPECT_NE(problems(graph).find("axis 0 of a tensor of 0 dimensions"), std::string::npos) << problems(graph);
  EXPECT_NE(problems(one("InstanceNormalization", {{"x", {3}}, {"s", {3}}, {"b", {3}}}))
                .find("channels are dimension 1, which [3] has not"),
            std::string::npos);
  set_ = 23;
  for (const Shape& shape : {Shape{}, Shape{3}})
    EXPECT_NE(problems(one("RotaryEmbedding", {{"x", shape}, {"c", shape}, {"s", shape}})).find("heads do not fit"),
              std::string::npos);
  EXPECT_NE(problems(one("RotaryEmbedding", {{"x", {1, 2, 3, 4}}, {"c", {}}, {"s", {}}})).find("angles do not fit"),
            std::string::npos);
}

TEST_F(ModelTest, SizesThatContradictAreErrors) {
  const auto attention = [](std::int64_t q, std::int64_t k, std::int64_t v) {
    return one("Attention", {{"q", {1, 5, q}}, {"k", {1, 5, k}}, {"v", {1, 5, v}}},
               integer("q_num_heads", 4) + integer("kv_num_heads", 2));
  };
  const std::string x = input("x", {3, 4}), map = input("x", {1, 4, 5, 5});
  set_ = 23;
  for (const auto& [graph, expected] : std::vector<std::pair<std::string, std::string>>{
           {attention(9, 4, 4), "are no whole elements of 4 heads, 2 of keys"},
           {attention(8, 6, 4), "do not fit together"},
           {input("a", {2, 3}, 2) + input("b", {3, 4}, 2) + input("z", {5}, 2) +
                node("MatMulInteger", {"a", "b", "", "z"}, "y") + output("y"),
            "input 3 has 5 elements for 4 columns"},
           {x + constant("s", {2}, {1, 1}) + node_of("Split", {"x", "s"}, {"y", "z"}) + output("y"),
            "pieces of [1, 1] of a dimension of 3"},
           {x + constant("a", {1}, {0}) + constant("b", {1}, {2}) + constant("s", {1}, {0}) +
                node("Slice", {"x", "a", "b", "a", "s"}, "y") + output("y"),
            "a step of 0"},
           {one("Einsum", {{"x", {3, 4}}}, word("equation", "ij->ik")), "a letter that no operand has"},
           {one("Add", {{"x", {3}}}), "the operator has two inputs"},
           {one("Relu", {{"x", {3}}, {"z", {3}}}), "the operator has one input"},
           {one("DepthToSpace", {{"x", {1, 4, 5, 5}}}, integer("blocksize", 3)), "blocks of [1, 4, 5, 5]"},
           {x + constant("p", {2}, {1, 1}) + node("Pad", {"x", "p"}, "y") + output("y"), "two pads are needed"},
           {x + constant("p", {4}, {-2, 0, -2, 0}) + node("Pad", {"x", "p"}, "y") + output("y"),
            "pads take more away than there is"}}) {
    const std::string told = problems(graph);
    EXPECT_TRUE(told.starts_with(path_ + ": node 0 ")) << told;
    EXPECT_NE(told.find(expected), std::string::npos) << told;
  }
}

/// A cycle is one problem, however many nodes it concerns; a name is one, however often it is read.
TEST_F(ModelTest, OneLineForOneCause) {
  const auto lines = [&](const std::string& graph) {
    const auto model = import(graph);
    return model ? std::size_t{0} : model.diagnostics().size();
  };
  EXPECT_EQ(lines(node("Neg", {"b"}, "c") + node("Neg", {"a"}, "b") + node("Neg", {"c"}, "a") + input("x", {2}) +
                  output("c")),
            1U);
  EXPECT_EQ(lines(node("Neg", {"nope"}, "a") + node("Add", {"a", "nope"}, "b") + output("b")), 1U);
}

/// The step that never runs reads a position that no tensor of it has.
TEST_F(ModelTest, StepsThatCannotBeMadeAreNotNeeded) {
  const std::string body = node("Identity", {"c"}, "d") + node("Gather", {"x", "i"}, "g", integer("axis", 0)) +
                           node("Add", {"v", "g"}, "w") + input("i", {}, 7) + input("c", {}, 9) + input("v", {3}) +
                           output("d") + output("w", {3}) + output("g", {3});
  const auto loop =
      import(input("x", {0, 3}) + input("s", {3}) + constant("n", {}, {0}) +
             node_of("Loop", {"n", "", "s"}, {"y", "z"}, graph_attribute("body", body)) + output("y") + output("z"));
  ASSERT_TRUE(loop) << render(loop.diagnostics());
  EXPECT_EQ(refusals(*loop), "");
  const TensorData s = data_like({3});
  const auto outputs = outputs_of(*loop, {data_like({0, 3}), s});
  EXPECT_EQ(reals_of(outputs.at(0)), reals_of(s));
  EXPECT_EQ(outputs.at(1).shape, (Shape{0, 3}));
}

/// Before set 9 a Scan runs once for each element of a batch.
TEST_F(ModelTest, ScansOfABatch) {
  const std::string step = node("Add", {"p", "q"}, "t") + input("p", {2}) + input("q", {2}) + output("t") + output("t");
  set_ = 8;
  for (const std::int64_t batch : {1, 3}) {
    const Shape states{batch, 2}, all{batch, 4, 2};
    const auto model = import(
        input("s", states) + input("e", all) +
        node_of("Scan", {"", "s", "e"}, {"y", "z"}, graph_attribute("body", step) + integer("num_scan_inputs", 1)) +
        output("y") + output("z"));
    ASSERT_TRUE(model) << render(model.diagnostics());
    EXPECT_EQ(refusals(*model), "");
    const TensorData s = data_like(states), e = data_like(all, 1);
    const auto outputs = outputs_of(*model, {s, e});
    Reals expected = reals_of(s);
    for (std::int64_t i = 0; i < e.count(); ++i) expected[i / 8 * 2 + i % 2] += reals_of(e)[i];
    expect_near(reals_of(outputs.at(0)), expected);
    EXPECT_EQ(outputs.at(1).shape, all);
  }
}

TEST_F(ModelTest, SignalsWithoutADimensionOfParts) {
  const auto transform = [&](const Shape& shape) {
    return run(input("x", shape) + constant("s", {}, {4}) + constant("l", {}, {6}) +
                   node("STFT", {"x", "s", "", "l"}, "y") + output("y"),
               {data_like(shape)});
  };
  set_ = 17;
  const Reals expected = transform({2, 16, 1});
  expect_near(transform({2, 16}), expected, 0);
}

/// What follows from a wrong option is not said as a second one.
TEST_F(ModelTest, OneErrorForOneWrongInput) {
  ModelOptions options;
  options.fix["x"] = 3;
  const auto model = import(one("MatMul", {{"x", {3, 4}}, {"w", {4, 4}}}), options);
  ASSERT_FALSE(model);
  EXPECT_EQ(model.diagnostics().size(), 1U) << render(model.diagnostics());
}

TEST_F(ModelTest, OpenSizesOfEmptyTensors) {
  const auto shape_of = [&](const Shape& from, const Shape& to) {
    run(input("x", from) + constant("to", {static_cast<std::int64_t>(to.size())}, to) +
            node("Reshape", {"x", "to"}, "y") + output("y"),
        {data_like(from)});
    return shape_;
  };
  EXPECT_EQ(shape_of({0, 3, 4}, {0, -1}), (Shape{0, 12}));
  EXPECT_EQ(shape_of({0, 3, 4}, {0, -1, 2}), (Shape{0, 6, 2}));
  EXPECT_EQ(shape_of({0, 4}, {-1, 4}), (Shape{0, 4}));
  EXPECT_EQ(shape_of({2, 3}, {0, -1}), (Shape{2, 3}));
  set_ = 14;
  EXPECT_EQ(
      problems(input("x", {3, 0}) + constant("to", {2}, {0, -1}) +
               node("Reshape", {"x", "to"}, "y", integer("allowzero", 1)) + output("y")),
      path_ +
          ": node 0 (Reshape): the size -1 of the shape [0, -1] of the tensor [3, 0] is ambiguous: its other sizes "
          "have no elements\n  hint: state it, or copy the empty dimensions in their places by 0\n");
}

}  // namespace
}  // namespace isamap

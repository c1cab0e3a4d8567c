// SPDX-License-Identifier: Apache-2.0
// ONNX import: what each operator becomes, the shapes of known networks, and models that lie.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "ir/text/parse.h"
#include "isamap/frontends.h"
#include "tests/frontends/onnx_bytes.h"

namespace isamap {
namespace {

using namespace onnx_bytes;

class Onnx : public testing::Test {
 protected:
  void SetUp() override {
    if (!onnx_supported()) GTEST_SKIP() << "built without ONNX (Debian: apt-get install libonnx-dev libprotobuf-dev)";
    path_ =
        (std::filesystem::temp_directory_path() / ("isamap_onnx_test_" + std::to_string(getpid()) + ".onnx")).string();
  }
  void TearDown() override { std::filesystem::remove(path_); }

  Result<LayerList> load(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
    return load_onnx(path_);
  }

  /// The layers as lines, or the problems without the path.
  std::string layers(const std::string& graph) {
    const Result<LayerList> model = load(onnx_bytes::model(graph));
    if (!model) return problems(model.diagnostics());
    std::string text;
    for (const Layer& layer : model->layers) text += line(layer) + "\n";
    return text;
  }

  std::string problems(const Diagnostics& diagnostics) const {
    std::string text = render(diagnostics);
    for (std::size_t at; (at = text.find(path_)) != std::string::npos;) text.replace(at, path_.size(), "M");
    return text;
  }

  static std::string shape(const Tensor& tensor) {
    std::string text = tensor.name + "[";
    for (std::size_t d = 0; d < tensor.shape.size(); ++d) text += (d ? "," : "") + std::to_string(tensor.shape[d]);
    return text + "]" + (tensor.dtype == DType::f32 ? "" : std::string(name(tensor.dtype)));
  }

  /// `conv_0 conv2d I[1,3,8,8] F[4,3,3,3] O[1,4,8,8]: O[n, k, p, q] += I[...] * F[k, c, r, s]`
  static std::string line(const Layer& layer) {
    std::string text = layer.name + " " + layer.op;
    if (!layer.kernel) return text + ": " + layer.reason;
    for (const Tensor& tensor : layer.kernel->tensors) text += " " + shape(tensor);
    const char* separator = ": ";
    for (const Computation& s : layer.kernel->statements) {
      const std::string statement = print(s, layer.kernel->tensors);
      text += separator + statement.substr(0, statement.find(" over "));
      separator = "; ";
    }
    for (const std::string& note : layer.notes) text += " (" + note + ")";
    return text;
  }

  static std::string conv(const Shape& x, const Shape& w, const std::string& attributes = "") {
    return input("x", x) + input("w", w) + node("Conv", {"x", "w"}, "y", attributes);
  }

  std::string path_;
};

TEST_F(Onnx, Convolutions) {
  EXPECT_EQ(layers(conv({1, 3, 8, 9}, {4, 3, 3, 2})),
            "conv_0 conv2d I[1,3,8,9] F[4,3,3,2] O[1,4,6,8]: O[n,k,p,q] += I[n,c,p + r,q + s] * F[k,c,r,s]\n");
  EXPECT_EQ(layers(conv({2, 3, 20}, {4, 3, 5}, ints("strides", {2}) + ints("dilations", {3}))),
            "conv_0 conv1d I[2,3,20] F[4,3,5] O[2,4,4]: O[n,k,p] += I[n,c,2*p + 3*r] * F[k,c,r]\n");
  EXPECT_EQ(layers(conv({1, 2, 4, 5, 6}, {3, 2, 2, 2, 2})),
            "conv_0 conv3d I[1,2,4,5,6] F[3,2,2,2,2] O[1,3,3,4,5]: O[n,k,o,p,q] += I[n,c,o + t,p + r,q + s] * "
            "F[k,c,t,r,s]\n");
}

TEST_F(Onnx, PointwiseConvolutionHasNoFilterDims) {
  EXPECT_EQ(layers(conv({1, 3, 8, 9}, {4, 3, 1, 1})),
            "conv_0 conv2d I[1,3,8,9] F[4,3] O[1,4,8,9]: O[n,k,p,q] += I[n,c,p,q] * F[k,c]\n");
  EXPECT_EQ(layers(conv({1, 3, 8, 9}, {4, 3, 1, 3}, ints("strides", {2, 1}))),
            "conv_0 conv2d I[1,3,8,9] F[4,3,3] O[1,4,4,7]: O[n,k,p,q] += I[n,c,2*p,q + s] * F[k,c,s]\n");
}

TEST_F(Onnx, Padding) {
  EXPECT_EQ(layers(conv({1, 3, 8, 9}, {4, 3, 3, 3}, ints("pads", {1, 0, 0, 2}))),
            "conv_0 conv2d I[1,3,8,9] F[4,3,3,3] O[1,4,7,9]: O[n,k,p,q] += I[n,c,p + r - 1,q + s] * F[k,c,r,s]\n");
  // 8 with stride 2 and 3 taps: 4 outputs need 9 elements; the odd one is at the end (upper) or in front (lower).
  EXPECT_EQ(layers(conv({1, 1, 8}, {1, 1, 3}, ints("strides", {2}) + word("auto_pad", "SAME_UPPER"))),
            "conv_0 conv1d I[1,1,8] F[1,1,3] O[1,1,4]: O[n,k,p] += I[n,c,2*p + r] * F[k,c,r]\n");
  EXPECT_EQ(layers(conv({1, 1, 8}, {1, 1, 3}, ints("strides", {2}) + word("auto_pad", "SAME_LOWER"))),
            "conv_0 conv1d I[1,1,8] F[1,1,3] O[1,1,4]: O[n,k,p] += I[n,c,2*p + r - 1] * F[k,c,r]\n");
  const auto padded =
      load(onnx_bytes::model(conv({1, 1, 8}, {1, 1, 3}, ints("strides", {2}) + word("auto_pad", "SAME_UPPER"))));
  EXPECT_EQ(padded->layers[0].kernel->tensors[0].outside, 0.0);
  const auto valid = load(onnx_bytes::model(conv({1, 1, 8}, {1, 1, 3}, word("auto_pad", "VALID"))));
  EXPECT_FALSE(valid->layers[0].kernel->tensors[0].outside.has_value());
}

TEST_F(Onnx, GroupsAndDepthwise) {
  EXPECT_EQ(layers(conv({1, 6, 8, 8}, {4, 3, 3, 3}, integer("group", 2))),
            "conv_0 grouped_conv2d I[1,2,3,8,8] F[2,2,3,3,3] O[1,2,2,6,6]: O[n,g,k,p,q] += I[n,g,c,p + r,q + s] * "
            "F[g,k,c,r,s] (channels are seen as 2 groups)\n");
  EXPECT_EQ(layers(conv({1, 6, 8, 8}, {6, 1, 3, 3}, integer("group", 6))),
            "conv_0 depthwise I[1,6,8,8] F[6,3,3] O[1,6,6,6]: O[n,c,p,q] += I[n,c,p + r,q + s] * F[c,r,s]\n");
  EXPECT_EQ(layers(conv({1, 6, 8, 8}, {12, 1, 3, 3}, integer("group", 6))),
            "conv_0 depthwise I[1,6,8,8] F[6,2,3,3] O[1,6,2,6,6]: O[n,c,k,p,q] += I[n,c,p + r,q + s] * F[c,k,r,s]\n");
}

TEST_F(Onnx, Gemm) {
  const std::string matrices = input("a", {5, 7}) + input("b", {9, 7}) + input("c", {9});
  EXPECT_EQ(layers(matrices + node("Gemm", {"a", "b", "c"}, "y", integer("transB", 1))),
            "gemm_0 gemm A[5,7] B[9,7] T[5,9] X0[9] C[5,9]: T[i,j] += A[i,k] * B[j,k]; C[i,j] = T[i,j] + X0[j]\n");
  EXPECT_EQ(layers(input("a", {7, 5}) + input("b", {7, 9}) + node("Gemm", {"a", "b"}, "y", integer("transA", 1))),
            "gemm_0 gemm A[7,5] B[7,9] C[5,9]: C[i,j] += A[k,i] * B[k,j]\n");
}

TEST_F(Onnx, Matmul) {
  const auto matmul = [&](const Shape& a, const Shape& b, int type = 1) {
    return layers(input("a", a, type) + input("b", b, type) + node("MatMul", {"a", "b"}, "y"));
  };
  EXPECT_EQ(matmul({5, 7}, {7, 9}), "matmul_0 matmul A[5,7] B[7,9] C[5,9]: C[i,j] += A[i,k] * B[k,j]\n");
  EXPECT_EQ(matmul({3, 5, 7}, {7, 9}), "matmul_0 matmul A[3,5,7] B[7,9] C[3,5,9]: C[b,i,j] += A[b,i,k] * B[k,j]\n");
  EXPECT_EQ(matmul({2, 1, 5, 7}, {3, 7, 9}),
            "matmul_0 matmul A[2,5,7] B[3,7,9] C[2,3,5,9]: C[b0,b1,i,j] += A[b0,i,k] * B[b1,k,j]\n");
  EXPECT_EQ(matmul({7}, {7, 9}), "matmul_0 matmul A[7] B[7,9] C[9]: C[j] += A[k] * B[k,j]\n");
  EXPECT_EQ(matmul({5, 7}, {7}), "matmul_0 matmul A[5,7] B[7] C[5]: C[i] += A[i,k] * B[k]\n");
  EXPECT_EQ(matmul({7}, {7}), "matmul_0 matmul A[7] B[7] C[]: C[] += A[k] * B[k]\n");
  EXPECT_EQ(matmul({5, 7}, {7, 9}, 16),
            "matmul_0 matmul A[5,7]bf16 B[7,9]bf16 T[5,9] C[5,9]bf16: T[i,j] += f32(A[i,k]) * f32(B[k,j]); "
            "C[i,j] = bf16(T[i,j])\n");
  EXPECT_EQ(layers(input("a", {5, 7}, 2) + input("b", {7, 9}, 3) + node("MatMulInteger", {"a", "b"}, "y")),
            "matmul_integer_0 matmul A[5,7]u8 B[7,9]s8 C[5,9]s32: C[i,j] += s32(A[i,k]) * s32(B[k,j])\n");
}

TEST_F(Onnx, ShapesPassThroughOtherLayers) {
  EXPECT_EQ(layers(conv({1, 3, 8, 8}, {4, 3, 1, 1}) + node("Relu", {"y"}, "z") + constant("to", {2}, {0, -1}) +
                   node("Reshape", {"z", "to"}, "f") + input("m", {256, 10}) + node("MatMul", {"f", "m"}, "g") +
                   node("Softmax", {"g"}, "h") + node("Sparkle", {"h"}, "i")),
            "conv_0 conv2d I[1,3,8,8] F[4,3] O[1,4,8,8]: O[n,k,p,q] += I[n,c,p,q] * F[k,c]\n"
            "relu_0 relu: element-wise: no reduction to map\n"
            "reshape_0 reshape: moves or renames data: no arithmetic\n"
            "matmul_0 matmul A[1,256] B[256,10] C[1,10]: C[i,j] += A[i,k] * B[k,j]\n"
            "softmax_0 softmax: several passes over its input, none of them a sum of products\n"
            "sparkle_0 sparkle: the operator is not imported\n");
}

TEST_F(Onnx, UnknownBatchBecomesOne) {
  const auto model = load(onnx_bytes::model(conv({unknown, 3, 8, 8}, {4, 3, 3, 3}) + output("y", {unknown, 4, 6, 6})));
  ASSERT_TRUE(model) << render(model.diagnostics());
  EXPECT_EQ(model->notes, std::vector<std::string>{"the batch size of input 'x' is not a number: 1 is used"});
  EXPECT_EQ(model->layers[0].kernel->tensors[0].shape[0], 1);
}

TEST_F(Onnx, UnknownSizesAreAReason) {
  EXPECT_EQ(layers(input("x", {2, unknown, 8}) + input("w", {8, 4}) + node("MatMul", {"x", "w"}, "y")),
            "matmul_0 matmul: it reads 'x', whose shape or values are not known\n");
}

TEST_F(Onnx, FilesThatAreNoModels) {
  const auto told = [&](const std::string& bytes) { return problems(load(bytes).diagnostics()); };
  EXPECT_EQ(told(""), "M: is not an ONNX model: it holds no graph with nodes\n  hint: is it another kind of file?\n");
  EXPECT_EQ(told("\x7f"
                 "ELF some other file"),
            "M: is not an ONNX model: the protocol buffer is damaged or cut off\n  hint: download or export it again; "
            "a file of Git LFS is text until `git lfs pull`\n");
  const std::string whole = onnx_bytes::model(conv({1, 3, 8, 8}, {4, 3, 3, 3}));
  EXPECT_EQ(told(whole.substr(0, whole.size() - 20)),
            "M: is not an ONNX model: the protocol buffer is damaged or cut off\n  hint: download or export it again; "
            "a file of Git LFS is text until `git lfs pull`\n");
  std::filesystem::remove(path_);
  EXPECT_EQ(load_onnx(path_).diagnostics().at(0).message, "the file does not exist");  // the hint: names like it
  EXPECT_EQ(render(load_onnx("/tmp").diagnostics()), "/tmp: is not a file\n");
  const std::filesystem::path folder = path_ + ".folder";  // which has no model, but a folder of nearly the name
  std::filesystem::create_directories(folder / "models.onnx");
  EXPECT_EQ(load_onnx((folder / "model.onnx").string()).diagnostics().at(0).hint,
            "'" + folder.string() + "' has no file that ends in '.onnx'");
  std::filesystem::remove_all(folder);
}

TEST_F(Onnx, GraphsThatContradictThemselves) {
  EXPECT_EQ(layers(input("x", {1, 3, 8, 8}) + node("Conv", {"x", "w"}, "y")),
            "M: node 0 (Conv) reads 'w', which is no input, no constant and no result\n");
  EXPECT_EQ(
      layers(input("x", {4, 4}) + node("MatMul", {"x", "b"}, "a") + node("Relu", {"a"}, "b")),
      "M: node 0 (MatMul) reads 'b', which node 1 (Relu) writes from its result\n  hint: the graph has a cycle\n");
  EXPECT_EQ(layers(input("x", {4}) + node("Add", {"x", "y"}, "y")),
            "M: node 0 (Add) reads 'y', which it writes itself\n  hint: the graph has a cycle\n");
  // Node 0 only depends on the cycle, node 1 is before it.
  EXPECT_EQ(layers(input("x", {4}) + node("Relu", {"d"}, "e") + node("Abs", {"x"}, "a") + node("Add", {"a", "d"}, "b") +
                   node("Neg", {"b"}, "c") + node("Exp", {"c"}, "d")),
            "M: node 2 (Add) reads 'd', which node 4 (Exp) writes from its result\n  hint: the graph has a cycle\n");
  EXPECT_EQ(layers(conv({1, 3, -8, 8}, {4, 3, 3, 3})),
            "M: input 'x' has the size -8 in dimension 2: sizes must not be negative\n  hint: a size that is not known "
            "is written as a symbol\n");
  EXPECT_EQ(layers(conv({1, 3, 8, 8}, {4, 3, 3, 3}, ints("strides", {0, 1}))),
            "M: node 0 (Conv): attribute strides holds 0; 1 to 2^30 is possible\n");
  EXPECT_EQ(layers(conv({1, 3, 8, 8}, {4, 5, 3, 3})),
            "M: node 0 (Conv): the input has 3 channels; 1 groups of filters [4, 5, 3, 3] do not fit\n");
  EXPECT_EQ(layers(conv({1, 3, 2, 8}, {4, 3, 3, 3})),
            "M: node 0 (Conv): the filter spans 3 elements, the padded input has 2\n");
  EXPECT_EQ(layers(input("a", {5, 7}) + input("b", {8, 9}) + node("MatMul", {"a", "b"}, "y")),
            "M: node 0 (MatMul): the operands [5, 7] and [8, 9] sum over 7 and 8 elements\n");
  const std::int64_t huge = std::int64_t{1} << 40;
  EXPECT_EQ(layers(input("a", {huge, huge}) + input("b", {huge, 1}) + node("MatMul", {"a", "b"}, "y")),
            "M: tensor 'a': 1099511627776 * 1099511627776 elements of f32 take "
            "more than 2^63 - 1 bytes\n  hint: at most 2^60 - 1 elements\n");
}

TEST_F(Onnx, WeightsThatAreNotThere) {
  // An initialiser that promises 2^40 elements and holds none: only its shape matters.
  EXPECT_EQ(
      layers(input("x", {1, 4}, 7) + constant("w", {4, std::int64_t{1} << 38}, {}) + node("MatMul", {"x", "w"}, "y"))
          .substr(0, 8),
      "matmul_0");
}

/// Convolution layers as [channels in, height in, stride-less op, channels out].
std::vector<const Layer*> convolutions(const LayerList& model) {
  std::vector<const Layer*> result;
  for (const Layer& layer : model.layers)
    if (layer.onnx_op == "Conv") result.push_back(&layer);
  return result;
}

using Row = std::vector<std::int64_t>;

/// One row a convolution: depthwise or not, channels in, size in, channels out, size out, filter.
Row row(const Layer& layer) {
  const std::vector<Tensor>& t = layer.kernel->tensors;
  const bool depthwise = layer.op == "depthwise";
  const bool pointwise = t[1].shape.size() == 2;
  return {depthwise, t[0].shape[1], t[0].shape[2], t[2].shape[1], t[2].shape[2], pointwise ? 1 : t[1].shape.back()};
}

std::vector<Row> rows(const std::string& path) {
  const Result<LayerList> model = load_onnx(path);
  EXPECT_TRUE(model) << render(model.diagnostics());
  std::vector<Row> result;
  if (!model) return result;
  for (const Layer* layer : convolutions(*model)) {
    EXPECT_TRUE(layer->kernel) << layer->name << layer->reason;
    if (layer->kernel) result.push_back(row(*layer));
  }
  return result;
}

std::string source(const std::string& path) { return std::string(ISAMAP_SOURCE_DIR) + "/" + path; }

/// Rows of table 1 of the paper: channels, size, stride of the depthwise half, channels of the pointwise half, count.
TEST_F(Onnx, MobilenetV1HasThePublishedShapes) {
  const std::vector<Row> table = {{32, 112, 1, 64, 1},  {64, 112, 2, 128, 1},  {128, 56, 1, 128, 1},
                                  {128, 56, 2, 256, 1}, {256, 28, 1, 256, 1},  {256, 28, 2, 512, 1},
                                  {512, 14, 1, 512, 5}, {512, 14, 2, 1024, 1}, {1024, 7, 1, 1024, 1}};
  std::vector<Row> expected = {{0, 3, 224, 32, 112, 3}};
  for (const Row& block : table)
    for (std::int64_t i = 0; i < block[4]; ++i) {
      expected.push_back({1, block[0], block[1], block[0], block[1] / block[2], 3});
      expected.push_back({0, block[0], block[1] / block[2], block[3], block[1] / block[2], 1});
    }
  EXPECT_EQ(rows(source("examples/mobilenet_v1.onnx")), expected);
}

/// Inverted residuals of MobileNet-v2: channels in, expanded, size, stride, channels out, count.
TEST_F(Onnx, MobilenetV2HasThePublishedShapes) {
  const std::vector<Row> table = {{32, 32, 112, 1, 16, 1},  {16, 96, 112, 2, 24, 1},  {24, 144, 56, 1, 24, 1},
                                  {24, 144, 56, 2, 32, 1},  {32, 192, 28, 1, 32, 2},  {32, 192, 28, 2, 64, 1},
                                  {64, 384, 14, 1, 64, 3},  {64, 384, 14, 1, 96, 1},  {96, 576, 14, 1, 96, 2},
                                  {96, 576, 14, 2, 160, 1}, {160, 960, 7, 1, 160, 2}, {160, 960, 7, 1, 320, 1}};
  std::vector<Row> expected = {{0, 3, 224, 32, 112, 3}};
  for (const Row& block : table)
    for (std::int64_t i = 0; i < block[5]; ++i) {
      if (block[1] != block[0]) expected.push_back({0, block[0], block[2], block[1], block[2], 1});
      expected.push_back({1, block[1], block[2], block[1], block[2] / block[3], 3});
      expected.push_back({0, block[1], block[2] / block[3], block[4], block[2] / block[3], 1});
    }
  expected.push_back({0, 320, 7, 1280, 7, 1});
  EXPECT_EQ(rows(source("tests/data/mobilenetv2.onnx")), expected);
}

TEST_F(Onnx, AttentionHead) {
  const auto model = load_onnx(source("tests/data/attention_head.onnx"));
  ASSERT_TRUE(model) << render(model.diagnostics());
  ASSERT_EQ(model->layers.size(), 7U);
  EXPECT_EQ(model->name, "attention_head");
  EXPECT_EQ(model->layers[4].kernel->tensors[2].shape, (Shape{128, 128}));
  EXPECT_EQ(model->layers[3].reason, "moves or renames data: no arithmetic");
}

TEST_F(Onnx, KernelsReadBackFromTheirText) {
  const auto model = load_onnx(source("examples/mobilenet_v1.onnx"));
  ASSERT_TRUE(model);
  for (const Layer& layer : model->layers) {
    if (!layer.kernel) continue;
    const Result<Kernel> again = parse_kernel(print(*layer.kernel));
    ASSERT_TRUE(again) << print(*layer.kernel) << render(again.diagnostics());
    EXPECT_TRUE(*again == *layer.kernel) << print(*layer.kernel);
  }
}

TEST_F(Onnx, NamesAreUnique) {
  const auto model = load_onnx(source("tests/data/mobilenetv2.onnx"));
  ASSERT_TRUE(model);
  std::map<std::string, int> count;
  for (const Layer& layer : model->layers) EXPECT_EQ(++count[layer.name], 1) << layer.name;
  EXPECT_EQ(model->layers[0].name, "conv_0");
  EXPECT_EQ(model->layers[0].node, "/features/features.0/features.0.0/Conv");
}

}  // namespace
}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
// Writes MobileNet-v1 as an ONNX file without weights: every weight is an input of the graph that has a shape and no
// data. Batch normalisation is taken as folded into the convolutions, so each is followed by its clipping alone.
//
//   write_mobilenet FILE [RESOLUTION [WIDTH]]       defaults: 224 1.0
//
// The network: Howard and others, "MobileNets: Efficient Convolutional Neural Networks for Mobile Vision Applications",
// 2017, table 1.

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

using Shape = std::vector<long>;

class Writer {
 public:
  explicit Writer(long resolution) {
    model_.set_ir_version(8);
    model_.set_producer_name("isamap");
    model_.add_opset_import()->set_version(13);
    graph_.set_name("mobilenet_v1");
    value(graph_.add_input(), "image", {1, 3, resolution, resolution});
    last_ = "image";
  }

  /// 3x3 with padding 1, or 1x1 without; then bias and clipping to [0, 6].
  void conv(long channels, long filter, long stride, bool depthwise) {
    const std::string name = (depthwise     ? "depthwise_"
                              : filter == 1 ? "pointwise_"
                                            : "stem_") +
                             std::to_string(number_++);
    onnx::NodeProto& node =
        add("Conv", name,
            {last_, weight(name, {channels, depthwise ? 1 : channels_, filter, filter}), bias(name, channels)});
    ints(node, "kernel_shape", {filter, filter});
    ints(node, "strides", {stride, stride});
    const long pad = filter / 2;
    ints(node, "pads", {pad, pad, pad, pad});
    integer(node, "group", depthwise ? channels : 1);
    channels_ = channels;
    add("Clip", name + "_clip", {last_, constant("zero", 0), constant("six", 6)});
  }

  void classifier(long classes) {
    add("GlobalAveragePool", "pool", {last_});
    add("Flatten", "flatten", {last_});
    onnx::NodeProto& gemm =
        add("Gemm", "classifier", {last_, weight("classifier", {classes, channels_}), bias("classifier", classes)});
    integer(gemm, "transB", 1);
    add("Softmax", "probabilities", {last_});
    value(graph_.add_output(), last_, {1, classes});
  }

  std::string bytes() {
    *model_.mutable_graph() = graph_;
    return model_.SerializeAsString();
  }

 private:
  static void value(onnx::ValueInfoProto* info, const std::string& name, const Shape& shape) {
    info->set_name(name);
    auto& type = *info->mutable_type()->mutable_tensor_type();
    type.set_elem_type(onnx::TensorProto::FLOAT);
    for (const long size : shape) type.mutable_shape()->add_dim()->set_dim_value(size);
  }

  std::string weight(const std::string& layer, const Shape& shape) {
    value(graph_.add_input(), layer + "_weights", shape);
    return layer + "_weights";
  }
  std::string bias(const std::string& layer, long channels) {
    value(graph_.add_input(), layer + "_bias", {channels});
    return layer + "_bias";
  }

  /// A constant of the graph, written once.
  std::string constant(const std::string& name, float number) {
    for (const auto& known : graph_.initializer())
      if (known.name() == name) return name;
    onnx::TensorProto& tensor = *graph_.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    tensor.add_float_data(number);
    return name;
  }

  onnx::NodeProto& add(const std::string& op, const std::string& name, const std::vector<std::string>& inputs) {
    onnx::NodeProto& node = *graph_.add_node();
    node.set_op_type(op);
    node.set_name(name);
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(name + "_out");
    last_ = name + "_out";
    return node;
  }

  static void ints(onnx::NodeProto& node, const std::string& name, const Shape& values) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INTS);
    for (const long v : values) attribute.add_ints(v);
  }
  static void integer(onnx::NodeProto& node, const std::string& name, long v) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(v);
  }

  onnx::ModelProto model_;
  onnx::GraphProto graph_;
  std::string last_;
  long channels_ = 3;
  int number_ = 0;
};

std::string mobilenet(long resolution, double width) {
  const auto scaled = [&](long channels) { return std::max(8L, std::lround(static_cast<double>(channels) * width)); };
  Writer writer(resolution);
  writer.conv(scaled(32), 3, 2, false);
  long channels = 32;
  struct Block {
    long channels, stride;
  };
  const std::vector<Block> blocks = {{64, 1},  {128, 2}, {128, 1}, {256, 2}, {256, 1},  {512, 2}, {512, 1},
                                     {512, 1}, {512, 1}, {512, 1}, {512, 1}, {1024, 2}, {1024, 1}};
  for (const Block& block : blocks) {
    writer.conv(scaled(channels), 3, block.stride, true);
    writer.conv(scaled(block.channels), 1, 1, false);
    channels = block.channels;
  }
  writer.classifier(1000);
  return writer.bytes();
}

/// Written under another name first, so that a failure leaves nothing half-written.
bool write_file(const std::string& path, const std::string& bytes) {
  const std::string temporary = path + ".part";
  std::ofstream stream(temporary, std::ios::binary);
  stream << bytes;
  stream.close();
  std::error_code problem;
  if (stream) std::filesystem::rename(temporary, path, problem);
  return stream && !problem;
}

}  // namespace

int main(int argc, char** argv) {
  const long resolution = argc > 2 ? std::strtol(argv[2], nullptr, 10) : 224;
  const double width = argc > 3 ? std::strtod(argv[3], nullptr) : 1.0;
  if (argc < 2 || argc > 4 || resolution < 1 || resolution > 4096 || !(width > 0 && width <= 8)) {
    std::fputs("usage: write_mobilenet FILE [RESOLUTION 1..4096 [WIDTH up to 8]]\n", stderr);
    return 2;
  }
  if (write_file(argv[1], mobilenet(resolution, width))) return 0;
  std::fprintf(stderr, "%s: cannot be written\n", argv[1]);
  return 1;
}

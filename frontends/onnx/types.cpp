// SPDX-License-Identifier: Apache-2.0
// Type constraints of the standard's operators (onnx/defs, all sets together: what the newest set allows and older ones
// did not is taken of every set), in groups: a statement of the import would compute with other types, too.

#include "frontends/onnx/types.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace isamap::importing {
namespace {

bool is_integer(DType type) { return !is_float(type) && type != DType::boolean; }

struct Group {
  const char* name;
  const char* in_words;
  bool (*has)(DType);
};

constexpr Group type_groups[] = {
    {"any", "any type is", [](DType) { return true; }},
    {"bool", "bool is", [](DType type) { return type == DType::boolean; }},
    {"integers", "integers are", &is_integer},
    {"floats", "floats are", [](DType type) { return is_float(type); }},
    {"numbers", "integers or floats are", [](DType type) { return type != DType::boolean; }},
    {"bytes", "integers or floats of 8 bits are",
     [](DType type) { return type != DType::boolean && bytes(type) == 1; }},
    {"steps", "integers of at most 16 bits or floats of 8 bits are",
     [](DType type) { return type != DType::boolean && bytes(type) <= (is_float(type) ? 1 : 2); }},
    {"quantised", "integers of at most 32 bits or floats of 8 bits are",
     [](DType type) { return type != DType::boolean && bytes(type) <= (is_float(type) ? 1 : 4); }},
};

struct Rule {
  const char* inputs;  ///< a group each; the last one is of all further inputs, too
  const char* operators;
};

constexpr Rule type_rules[] = {
    {"bool", "And Or Xor Not"},
    {"bool any", "Where"},
    {"any bool", "Compress"},
    {"integers",
     "BitwiseAnd BitwiseOr BitwiseXor BitwiseNot BitShift ConstantOfShape HannWindow HammingWindow "
     "BlackmanWindow"},
    {"numbers",
     "Abs Neg Sign Relu Shrink Erf Add Sub Mul Div Pow Mod Max Min PRelu Clip MatMul Gemm Einsum Range Less "
     "LessOrEqual Greater GreaterOrEqual ArgMax ArgMin MaxPool"},
    {"numbers integers",
     "TopK CumSum CumProd ReduceSum ReduceMean ReduceProd ReduceL1 ReduceL2 ReduceLogSum "
     "ReduceLogSumExp ReduceSumSquare"},
    {"numbers numbers any", "OneHot"},
    {"floats",
     "Acos Acosh Asin Asinh Atan Atanh Ceil Celu Cos Cosh Elu Exp Floor Gelu HardSigmoid HardSwish IsInf IsNaN "
     "LeakyRelu Log Mish Reciprocal Round Selu Sigmoid Sin Sinh Softplus Softsign Sqrt Swish Tan Tanh "
     "ThresholdedRelu Sum Mean SwiGLU Det Softmax LogSoftmax Hardmax LpNormalization "
     "MeanVarianceNormalization LRN BatchNormalization InstanceNormalization GroupNormalization "
     "LayerNormalization RMSNormalization Conv ConvTranspose DeformConv AveragePool GlobalAveragePool "
     "GlobalMaxPool LpPool GlobalLpPool DynamicQuantizeLinear"},
    {"floats floats bool", "Dropout"},
    {"floats floats floats floats integers floats", "LSTM GRU RNN"},
    {"floats floats floats any floats floats integers", "Attention"},
    {"floats floats floats integers", "RotaryEmbedding"},
    {"floats integers floats", "NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss"},
    {"floats integers", "MaxUnpool AffineGrid DFT"},
    {"floats integers floats integers", "STFT"},
    {"floats floats integers", "RoiAlign"},
    {"integers integers integers floats", "MelWeightMatrix"},
    {"any integers",
     "ReduceMax ReduceMin Gather GatherElements GatherND Reshape Expand Squeeze Unsqueeze Split Slice "
     "Trilu CenterCropPad ReverseSequence"},
    {"any integers any", "Scatter ScatterElements ScatterND"},
    {"any integers any integers", "Pad"},
    {"any any integers", "TensorScatter"},
    {"any numbers", "Tile"},
    {"any floats", "GridSample Upsample"},
    {"any floats floats integers", "Resize"},
    {"numbers numbers steps", "QuantizeLinear"},
    {"quantised floats quantised", "DequantizeLinear"},
    {"bytes", "MatMulInteger ConvInteger"},
    {"bytes floats bytes bytes floats bytes floats bytes integers", "QLinearConv"},
    {"bytes floats bytes bytes floats bytes floats bytes", "QLinearMatMul"},
};

using Groups = std::vector<const Group*>;

std::map<std::string, Groups> by_operator() {
  std::map<std::string, Groups> result;
  for (const Rule& rule : type_rules) {
    Groups inputs;
    std::istringstream words(rule.inputs), operators(rule.operators);
    for (std::string word; words >> word;)
      inputs.push_back(
          std::find_if(std::begin(type_groups), std::end(type_groups), [&](const Group& g) { return word == g.name; }));
    for (std::string op; operators >> op;) result[op] = inputs;
  }
  return result;
}

}  // namespace

void check_types(const Node& node, const std::vector<const Value*>& inputs) {
  static const std::map<std::string, Groups> all = by_operator();
  const auto found = all.find(node.op);
  if (found == all.end()) return;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Group& group = *found->second[std::min(i, found->second.size() - 1)];
    if (inputs[i] != nullptr && !group.has(inputs[i]->dtype))
      throw contradiction(
          fmt::format("input {} ('{}') is {}; {} needed", i, node.inputs[i], name(inputs[i]->dtype), group.in_words));
  }
}

}  // namespace isamap::importing

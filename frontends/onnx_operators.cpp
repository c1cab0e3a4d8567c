// SPDX-License-Identifier: Apache-2.0
// Table of known ONNX operators: the conversion to a kernel, or the reason without one.

#include <map>

#include "frontends/onnx_internal.h"

namespace isamap {

namespace {

struct Family {
  const char* reason;
  std::vector<const char*> operators;
};

const std::vector<Family>& families() {
  static const std::vector<Family> all = {
      {"element-wise: no reduction to map",
       {"Relu",
        "LeakyRelu",
        "PRelu",
        "Elu",
        "Selu",
        "Celu",
        "Clip",
        "Sigmoid",
        "HardSigmoid",
        "HardSwish",
        "Mish",
        "Tanh",
        "Softplus",
        "Softsign",
        "ThresholdedRelu",
        "Gelu",
        "Erf",
        "Exp",
        "Log",
        "Sqrt",
        "Reciprocal",
        "Abs",
        "Neg",
        "Sign",
        "Floor",
        "Ceil",
        "Round",
        "Sin",
        "Cos",
        "Tan",
        "Asin",
        "Acos",
        "Atan",
        "Sinh",
        "Cosh",
        "Asinh",
        "Acosh",
        "Atanh",
        "Add",
        "Sub",
        "Mul",
        "Div",
        "Mod",
        "Pow",
        "Sum",
        "Mean",
        "Max",
        "Min",
        "Where",
        "Equal",
        "Greater",
        "GreaterOrEqual",
        "Less",
        "LessOrEqual",
        "And",
        "Or",
        "Xor",
        "Not",
        "BitShift",
        "IsNaN",
        "IsInf",
        "Cast",
        "CastLike"}},
      {"pooling: one operand, no product to map",
       {"MaxPool", "AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool", "MaxRoiPool",
        "RoiAlign", "MaxUnpool"}},
      {"softmax: several passes over a row, not one statement", {"Softmax", "LogSoftmax", "Hardmax"}},
      {"normalisation: element-wise with statistics of its input",
       {"BatchNormalization", "LayerNormalization", "InstanceNormalization", "GroupNormalization", "LRN",
        "LpNormalization", "MeanVarianceNormalization", "SkipLayerNormalization"}},
      {"reduction of one operand: no product to map",
       {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum",
        "ReduceLogSumExp", "ReduceSumSquare", "ArgMax", "ArgMin", "CumSum", "TopK"}},
      {"moves or renames data: no arithmetic",
       {"Reshape",         "Flatten",      "Transpose", "Squeeze",        "Unsqueeze", "Concat",
        "Split",           "Slice",        "Gather",    "GatherElements", "GatherND",  "Scatter",
        "ScatterElements", "ScatterND",    "Pad",       "Expand",         "Tile",      "Identity",
        "DepthToSpace",    "SpaceToDepth", "Resize",    "Upsample",       "Compress",  "OneHot",
        "ReverseSequence", "Trilu",        "EyeLike",   "NonZero",        "Unique",    "Dropout"}},
      {"computes shapes or constants, not data",
       {"Shape", "Size", "Range", "RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike"}},
      {"quantisation: element-wise", {"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"}},
      {"scales and zero points of the quantised form are not imported yet", {"QLinearConv", "QLinearMatMul"}},
      {"transposed convolutions are not imported yet (examples/conv2d_transposed.yaml writes one as a kernel)",
       {"ConvTranspose"}},
      {"recurrent layers are not imported yet (examples/gru_cell.yaml writes one step as a kernel)",
       {"RNN", "LSTM", "GRU"}},
      {"index notation of ONNX is not imported yet (a kernel file says the same)", {"Einsum"}},
      {"control flow: its bodies are not looked into", {"If", "Loop", "Scan"}},
  };
  return all;
}

}  // namespace

std::optional<OnnxOperator> find_operator(const std::string& op) {
  static const std::map<std::string, OnnxOperator> table = [] {
    std::map<std::string, OnnxOperator> result = {{"Conv", {&make_conv, ""}},
                                                  {"ConvInteger", {&make_conv, ""}},
                                                  {"Gemm", {&make_gemm, ""}},
                                                  {"MatMul", {&make_matmul, ""}},
                                                  {"MatMulInteger", {&make_matmul, ""}}};
    for (const Family& family : families())
      for (const char* name : family.operators) result[name] = {nullptr, family.reason};
    return result;
  }();
  const auto found = table.find(op);
  if (found == table.end()) return std::nullopt;
  return found->second;
}

}  // namespace isamap

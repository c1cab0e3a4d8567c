// SPDX-License-Identifier: Apache-2.0
#pragma once
// Input of the functions that make layers from ONNX nodes: plain values, no type of the ONNX library.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "isamap/frontends.h"

namespace isamap {

/// A tensor of the graph. A size that is not known is -1.
struct OnnxValue {
  std::string name;                                ///< empty: an omitted optional input
  std::optional<std::vector<std::int64_t>> shape;  ///< nothing: the rank is unknown
  std::optional<DType> dtype;                      ///< nothing: not stated, or an unsupported type
  int onnx_type = 0;                               ///< TensorProto.DataType; 0: not stated
};

struct OnnxNode {
  std::string name, op, domain;
  std::vector<OnnxValue> inputs, outputs;
  std::map<std::string, std::vector<std::int64_t>> ints;  ///< INT attributes have one entry
  std::map<std::string, double> reals;
  std::map<std::string, std::string> texts;

  std::int64_t integer(const std::string& attribute, std::int64_t otherwise) const;
  bool has_input(std::size_t position) const { return position < inputs.size() && !inputs[position].name.empty(); }
};

/// An operator: a mapped one has a function, the others a reason.
struct OnnxOperator {
  /// Fills op, kernel, reason and notes. A contradiction in the model goes to the diagnostics.
  void (*make)(const OnnxNode&, Layer&, Diagnostics&) = nullptr;
  std::string reason;
};
/// Nothing: the operator is not known.
std::optional<OnnxOperator> find_operator(const std::string& op);

void make_conv(const OnnxNode& node, Layer& layer, Diagnostics& problems);
void make_gemm(const OnnxNode& node, Layer& layer, Diagnostics& problems);
void make_matmul(const OnnxNode& node, Layer& layer, Diagnostics& problems);

/// A kernel of one statement whose iterators all have stated extents.
struct KernelDraft {
  std::vector<Tensor> tensors;
  std::string statement;
  std::map<std::string, std::int64_t> extents;
};
/// Puts the kernel into the layer, or its problems into `problems`.
void finish_kernel(const KernelDraft& draft, Layer& layer, Diagnostics& problems);

/// The first `count` inputs with complete shapes; otherwise sets the layer's reason and returns false.
bool shapes_known(const OnnxNode& node, std::size_t count, Layer& layer);
/// The dtype of an input, f32 if not stated.
DType dtype_of(const OnnxNode& node, std::size_t input);
/// The dtype in which products are summed: 16-bit floats are summed in f32, with a note, since ONNX leaves the
/// precision of sums open and libraries sum in f32; the integer operators sum in s32.
DType sum_dtype(const OnnxNode& node, Layer& layer);
/// Compares the shape from the operator's definition with the model's. A contradiction is a problem.
bool output_agrees(const OnnxNode& node, const std::vector<std::int64_t>& shape, Diagnostics& problems);

std::string shape_text(const std::vector<std::int64_t>& shape);

}  // namespace isamap

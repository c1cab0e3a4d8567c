// SPDX-License-Identifier: Apache-2.0
// Matrix multiplications of ONNX as kernels, and helpers of all operators. Semantics: "ONNX operator schemas", onnx.ai.

#include <algorithm>

#include "frontends/onnx_internal.h"
#include "ir/parse.h"

namespace isamap {

std::int64_t OnnxNode::integer(const std::string& attribute, std::int64_t otherwise) const {
  const auto found = ints.find(attribute);
  return found == ints.end() || found->second.empty() ? otherwise : found->second.front();
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (const std::int64_t size : shape)
    text += (text.size() > 1 ? ", " : "") + (size < 0 ? std::string("?") : std::to_string(size));
  return text + "]";
}

bool shapes_known(const OnnxNode& node, std::size_t count, Layer& layer) {
  for (std::size_t i = 0; i < count; ++i) {
    if (!node.has_input(i)) {
      layer.reason = "input " + std::to_string(i) + " is missing";
      return false;
    }
    const OnnxValue& value = node.inputs[i];
    if (!value.shape) {
      layer.reason = "the shape of input '" + value.name + "' is not known";
      return false;
    }
    if (std::any_of(value.shape->begin(), value.shape->end(), [](std::int64_t size) { return size < 0; })) {
      layer.reason =
          "input '" + value.name + "' has the shape " + shape_text(*value.shape) + ", which is not known completely";
      return false;
    }
    if (!value.dtype && value.onnx_type != 0) {
      layer.reason = "input '" + value.name + "' has an element type that is not supported (ONNX type " +
                     std::to_string(value.onnx_type) + ")";
      return false;
    }
  }
  return true;
}

DType dtype_of(const OnnxNode& node, std::size_t input) { return node.inputs[input].dtype.value_or(DType::f32); }

DType sum_dtype(const OnnxNode& node, Layer& layer) {
  if (node.op.ends_with("Integer")) return DType::s32;
  const DType stored = !node.outputs.empty() && node.outputs[0].dtype ? *node.outputs[0].dtype : dtype_of(node, 0);
  if (stored != DType::f16 && stored != DType::bf16) return stored;
  layer.notes.push_back("sums are kept in f32; the model stores " + std::string(name(stored)));
  return DType::f32;
}

bool output_agrees(const OnnxNode& node, const std::vector<std::int64_t>& shape, Diagnostics& problems) {
  if (node.outputs.empty() || !node.outputs[0].shape) return true;
  const std::vector<std::int64_t>& stated = *node.outputs[0].shape;
  bool equal = stated.size() == shape.size();
  for (std::size_t d = 0; equal && d < shape.size(); ++d) equal = stated[d] < 0 || stated[d] == shape[d];
  if (!equal)
    problems.push_back(error("output '" + node.outputs[0].name + "' has the shape " + shape_text(shape) +
                             "; the model says " + shape_text(stated)));
  return equal;
}

void finish_kernel(const KernelDraft& draft, Layer& layer, Diagnostics& problems) {
  const Result<ParsedStatement> parsed = parse_statement(draft.statement);
  ISAMAP_CHECK(bool(parsed), draft.statement + "\n" + render(parsed.diagnostics()));
  Kernel kernel;
  kernel.name = layer.name;
  kernel.tensors = draft.tensors;
  Result<Computation> statement = isamap::bind(*parsed, kernel.tensors, draft.extents, {}, {});
  if (!statement) {
    problems.insert(problems.end(), statement.diagnostics().begin(), statement.diagnostics().end());
    return;
  }
  statement->name = "s0";
  kernel.statements.push_back(std::move(*statement));
  const Diagnostics wrong = verify(kernel);
  problems.insert(problems.end(), wrong.begin(), wrong.end());
  if (!has_errors(wrong)) layer.kernel = std::move(kernel);
}

namespace {

Tensor tensor(std::string name, std::vector<std::int64_t> shape, DType dtype) {
  Tensor result;
  result.name = std::move(name);
  result.shape = std::move(shape);
  result.dtype = dtype;
  return result;
}

}  // namespace

/// Y = alpha * A' * B' + beta * C, A' and B' transposed or not.
void make_gemm(const OnnxNode& node, Layer& layer, Diagnostics& problems) {
  layer.op = "gemm";
  if (!shapes_known(node, 2, layer)) return;
  const std::vector<std::int64_t>&a = *node.inputs[0].shape, &b = *node.inputs[1].shape;
  if (a.size() != 2 || b.size() != 2) {
    problems.push_back(error("gemm needs two matrices, found " + shape_text(a) + " and " + shape_text(b)));
    return;
  }
  const bool turn_a = node.integer("transA", 0) != 0, turn_b = node.integer("transB", 0) != 0;
  const std::int64_t m = a[turn_a ? 1 : 0], k = a[turn_a ? 0 : 1], n = b[turn_b ? 0 : 1];
  if (const std::int64_t other = b[turn_b ? 1 : 0]; other != k) {
    problems.push_back(error("the matrices " + shape_text(a) + (turn_a ? " (transposed)" : "") + " and " +
                             shape_text(b) + (turn_b ? " (transposed)" : "") + " sum over " + std::to_string(k) +
                             " and " + std::to_string(other) + " elements"));
    return;
  }
  if (!output_agrees(node, {m, n}, problems)) return;
  const auto alpha = node.reals.find("alpha");
  if (alpha != node.reals.end() && alpha->second != 1)
    layer.notes.push_back("the factor alpha is left out of the kernel");
  if (node.has_input(2)) layer.notes.push_back("the bias '" + node.inputs[2].name + "' is left out of the kernel");
  KernelDraft draft;
  draft.tensors = {tensor("A", a, dtype_of(node, 0)), tensor("B", b, dtype_of(node, 1)),
                   tensor("C", {m, n}, sum_dtype(node, layer))};
  draft.statement = std::string("C[i,j] += A[") + (turn_a ? "k,i" : "i,k") + "] * B[" + (turn_b ? "j,k" : "k,j") + "]";
  draft.extents = {{"i", m}, {"j", n}, {"k", k}};
  finish_kernel(draft, layer, problems);
}

namespace {

struct MatmulOperand {
  std::vector<std::int64_t> batch;  ///< sizes before the matrix
  std::vector<std::int64_t> shape;  ///< of the kernel's tensor: broadcast sizes 1 are left out
  std::string index;

  void add(std::int64_t size, const std::string& iterator) {
    shape.push_back(size);
    index += (index.empty() ? "" : ",") + iterator;
  }
};

/// The batch size on each position, right-aligned as numpy does; nothing when two sizes contradict.
std::optional<std::vector<std::int64_t>> broadcast(const std::vector<std::int64_t>& a,
                                                   const std::vector<std::int64_t>& b) {
  std::vector<std::int64_t> result(std::max(a.size(), b.size()), 1);
  for (std::size_t d = 0; d < result.size(); ++d) {
    const std::size_t back = result.size() - d;
    const std::int64_t of_a = back <= a.size() ? a[a.size() - back] : 1,
                       of_b = back <= b.size() ? b[b.size() - back] : 1;
    if (of_a != of_b && of_a != 1 && of_b != 1) return std::nullopt;
    result[d] = of_a == 1 ? of_b : of_a;
  }
  return result;
}

void add_batch(MatmulOperand& operand, const std::vector<std::int64_t>& batch, const std::vector<std::string>& names) {
  const std::size_t missing = batch.size() - operand.batch.size();
  for (std::size_t d = missing; d < batch.size(); ++d)
    if (operand.batch[d - missing] == batch[d]) operand.add(batch[d], names[d]);
}

}  // namespace

/// numpy's matmul: matrices in the last two dims, the others broadcast; a vector is a matrix with one row or column.
void make_matmul(const OnnxNode& node, Layer& layer, Diagnostics& problems) {
  layer.op = "matmul";
  if (!shapes_known(node, 2, layer)) return;
  if (node.has_input(2) || node.has_input(3)) {
    layer.reason = "zero points are not mapped";
    return;
  }
  const std::vector<std::int64_t>&a = *node.inputs[0].shape, &b = *node.inputs[1].shape;
  const std::string both = shape_text(a) + " and " + shape_text(b);
  if (a.empty() || b.empty() || a.size() > 10 || b.size() > 10) {
    problems.push_back(error("matmul needs operands of 1 to 10 dimensions, found " + both));
    return;
  }
  const bool row = a.size() > 1, column = b.size() > 1;  // false: a vector
  const std::int64_t k = a.back();
  if (const std::int64_t other = column ? b[b.size() - 2] : b[0]; other != k) {
    problems.push_back(error("the operands " + both + " sum over " + std::to_string(k) + " and " +
                             std::to_string(other) + " elements"));
    return;
  }
  MatmulOperand of_a, of_b, of_c;
  if (row) of_a.batch.assign(a.begin(), a.end() - 2);
  if (column) of_b.batch.assign(b.begin(), b.end() - 2);
  const auto batch = broadcast(of_a.batch, of_b.batch);
  if (!batch) {
    problems.push_back(error("the batch sizes of " + both + " contradict each other"));
    return;
  }
  KernelDraft draft;
  std::vector<std::string> names;
  for (std::size_t d = 0; d < batch->size(); ++d) {
    names.push_back(batch->size() == 1 ? "b" : "b" + std::to_string(d));
    draft.extents[names[d]] = (*batch)[d];
    of_c.add((*batch)[d], names[d]);
  }
  add_batch(of_a, *batch, names);
  add_batch(of_b, *batch, names);
  if (row) of_a.add(a[a.size() - 2], "i"), of_c.add(a[a.size() - 2], "i"), draft.extents["i"] = a[a.size() - 2];
  of_a.add(k, "k"), of_b.add(k, "k"), draft.extents["k"] = k;
  if (column) of_b.add(b.back(), "j"), of_c.add(b.back(), "j"), draft.extents["j"] = b.back();
  if (!output_agrees(node, of_c.shape, problems)) return;
  const DType output = sum_dtype(node, layer);
  draft.tensors = {tensor("A", of_a.shape, dtype_of(node, 0)), tensor("B", of_b.shape, dtype_of(node, 1)),
                   tensor("C", of_c.shape, output)};
  draft.statement = "C[" + of_c.index + "] += A[" + of_a.index + "] * B[" + of_b.index + "]";
  finish_kernel(draft, layer, problems);
}

}  // namespace isamap

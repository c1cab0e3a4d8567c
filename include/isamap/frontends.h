// SPDX-License-Identifier: Apache-2.0
#pragma once
// Inputs that become kernels: YAML files, one-line formulas, ONNX models.

#include <string>
#include <vector>

#include "isamap/symbolic.h"

namespace isamap {

/// The kernel file of CONTRACT.md. `warnings`: legal but probably unintended constructs, such as sums that lose terms.
Result<Kernel> load_kernel(const std::string& path, Diagnostics* warnings = nullptr);
Result<Kernel> parse_kernel_yaml(const std::string& text, const std::string& file, Diagnostics* warnings = nullptr);

/// The same where sizes may be symbolic (`M: {min: 0, max: 4096}`). `sizes` are values for some of them: those sizes
/// are numbers then, and the kernel without symbols is the one that a file with these numbers gives. Errors: a value
/// that breaks a fact, a name that is no symbolic size.
Result<SymbolicKernel> load_symbolic_kernel(const std::string& path, const Bindings& sizes,
                                            Diagnostics* warnings = nullptr);
Result<SymbolicKernel> parse_symbolic_kernel(const std::string& text, const std::string& file, const Bindings& sizes,
                                             Diagnostics* warnings = nullptr);
/// An error names each symbolic size and how to give it a value.
Result<Kernel> without_symbols(Result<SymbolicKernel> read);

/// Text from which parse_kernel_yaml reads the same tensors and statements (the order of dims may differ); an error if
/// a file cannot express it: cut domains, one iterator with two extents.
Result<std::string> kernel_file(const Kernel& kernel);
/// The same with `dims:` of facts and shapes as expressions; sizes are upper case there. The file is read back and
/// compared at the least, likely and largest sizes.
Result<std::string> kernel_file(const SymbolicKernel& kernel);

/// `C[i,j] += A[i,k]*B[k,j]` with dims "i=64,j=64,k=64" and dtypes "A=bf16,B=bf16,C=f32" (default f32).
Result<Kernel> kernel_from_formula(const std::string& compute, const std::string& dims, const std::string& dtypes,
                                   Diagnostics* warnings = nullptr);
/// The same with symbolic sizes in dims: "i=1..4096/16@128@512" is a multiple of 16, likely 128 or 512; "i=?" any size.
Result<SymbolicKernel> symbolic_kernel_from_formula(const std::string& compute, const std::string& dims,
                                                    const std::string& dtypes, const Bindings& sizes,
                                                    Diagnostics* warnings = nullptr);

/// One node of a model, in order. Nodes that are not a mapped kind have `reason` and no kernel. Nodes that only hold
/// constants are no layers.
struct Layer {
  std::string name;     ///< "conv_3": the operator and its number among those; unique in the model
  std::string op;       ///< "conv2d", "depthwise", "gemm", "matmul", "relu", ...
  std::string onnx_op;  ///< "Conv"
  std::optional<Kernel> kernel;
  std::string reason;              ///< "element-wise: no reduction to map"
  std::string node;                ///< the node's own name in the model; may be empty
  std::vector<std::string> notes;  ///< how the kernel shows the node: "channels are seen as 2 groups"
};

struct LayerList {
  std::string name;
  std::vector<std::string> notes;  ///< "the batch size of input 'x' is not a number: 1 is used"
  std::vector<Layer> layers;
};

/// Weights may be initialisers or inputs, and need no values.
Result<LayerList> load_onnx(const std::string& path);
/// False when built without ONNX.
bool onnx_supported();

}  // namespace isamap

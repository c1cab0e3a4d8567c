// SPDX-License-Identifier: Apache-2.0
#pragma once
// An ONNX file as plain values: what the import reads, without types of the ONNX library.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "isamap/interpret.h"
#include "isamap/kernel.h"

namespace isamap::importing {

using Sizes = std::vector<std::int64_t>;

/// A constant. Without values it stands in another file, or is of a type that kernels do not have.
struct Constant {
  std::string name;
  std::optional<DType> dtype;  ///< nothing: a type without a dtype, `type`
  std::string type;            ///< "uint64", "string", ... as ONNX calls it
  Sizes shape;
  std::shared_ptr<const TensorData> values;
  std::string file;
  std::int64_t offset = 0, bytes = 0;
  int narrow = 0;  ///< bits of integers of less than a byte; 0: all
};

/// What the file says of an input, output or value. A size that is no number is -1, with its symbol if it has one.
struct Declared {
  std::string name;
  std::optional<DType> dtype;
  std::string type;  ///< "sequence", "uint64", ...
  std::optional<Sizes> shape;
  std::vector<std::string> symbols;  ///< by dimension
  int narrow = 0;                    ///< as of a constant
};

struct Graph;

struct Attribute {
  std::vector<std::int64_t> ints;  ///< INT and INTS
  std::vector<double> reals;       ///< FLOAT and FLOATS
  std::vector<std::string> texts;  ///< STRING and STRINGS
  std::shared_ptr<const Constant> tensor;
  std::shared_ptr<const Graph> graph;
};

struct Node {
  std::string title;  ///< "node 3 'conv' (Conv)"
  std::string name, op, domain;
  std::vector<std::string> inputs, outputs;  ///< names; empty: left out
  std::map<std::string, Attribute> attributes;
  std::int64_t opset = 0;  ///< that its operator is of; 0: the file's
};

struct Graph {
  std::vector<Node> nodes;  ///< in order of execution
  std::vector<Constant> constants;
  std::vector<Declared> inputs, outputs, values;
};

/// A function that the file defines for itself.
struct Function {
  std::vector<std::string> inputs, outputs;
  std::map<std::string, Attribute> defaults;  ///< of attributes that a call may leave out
  std::vector<Node> nodes;
};

struct ModelFile {
  Graph graph;
  std::int64_t opset = 0;                                             ///< of the standard domain
  std::map<std::pair<std::string, std::string>, Function> functions;  ///< by domain and name
  std::set<std::string> missing_files;                                ///< that constants name, and that are not there
};

/// Names are defined before use, sizes are not negative, and every number that later steps multiply is small.
Result<ModelFile> read_model_file(const std::string& path);

/// "[1,3,-1]"
std::string sizes_text(const Sizes& sizes);

}  // namespace isamap::importing

// SPDX-License-Identifier: Apache-2.0
#pragma once
// A whole model as one kernel: every operator is one or more statements, data movement included.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "isamap/interpret.h"
#include "isamap/kernel.h"

namespace isamap {

/// The values of one constant tensor: in memory, or raw little-endian bytes of a file beside the model, or, where the
/// model does not have them, drawn.
struct Weight {
  TensorId tensor;
  std::string file;  ///< empty: `values` has them
  std::int64_t offset = 0, bytes = 0;
  std::shared_ptr<const TensorData> values;
  bool drawn = false;
  std::uint64_t seed = 0;  ///< of drawn values
};

/// The values, read from the file if they stand there, uniform in [-1, 1] if they are drawn.
Result<TensorData> values_of(const Weight& weight, const Tensor& tensor);

/// A node that cannot be compiled.
struct RefusedNode {
  std::string node;          ///< "node 3 'conv' (Conv)"; the position counts from 0
  std::string name;          ///< the node's own name; may be empty
  std::string op;            ///< "NonZero"
  std::string reason;        ///< "its size depends on values"
  std::string help;          ///< what would help; may be empty
  bool follows = false;      ///< it only reads results of a refused node
  bool lacks_sizes = false;  ///< an input with sizes that ModelOptions do not have
  std::string branch = {};   ///< of an If that is decided when the model runs: what a branch of it lacks
};

/// What a statement stands for.
struct Origin {
  std::vector<std::string> nodes;  ///< of the file, as in RefusedNode
  std::string name, op;            ///< of the first one
  std::string kind;                ///< "conv2d", "depthwise", "matmul", "bias", "softmax", ...
  std::size_t order = 0;           ///< of the first one among the nodes, refused ones included
};

/// Values of the file, by name, that are constants at one size and other ones at another: masks, tables of positions.
struct ValuesOfSizes {
  std::set<std::string> written;   ///< a few sums of extents: a statement writes each, so that samples show what it is
  std::set<std::string> computed;  ///< others: by the statements of their nodes, when the model runs
  std::set<std::string> tensors = {};  ///< of the kernel: not computed ahead
  std::size_t size() const { return written.size() + computed.size() + tensors.size(); }
};

/// A value of the file that is known at these sizes and depends on extents, with the node that computes it.
struct KnownValue {
  struct Input {
    std::shared_ptr<const TensorData> values;  ///< null: left out, or not known
    int from = -1;                             ///< in Model::of_extents; -1: it does not depend on extents
  };
  std::string name, op;
  std::vector<Input> inputs;
  std::shared_ptr<const TensorData> values;
};

struct Model {
  Kernel kernel;                               ///< named after the file
  std::vector<Weight> weights;                 ///< of tensors that are `constant`
  std::vector<Origin> origins;                 ///< by statement
  std::vector<TensorId> inputs, outputs;       ///< those of the file, in its order
  std::map<TensorId, std::string> file_names;  ///< of inputs and outputs, as the file spells them
  std::vector<RefusedNode> refused;            ///< not empty: there is no program
  std::vector<std::size_t> refused_order;      ///< by refusal: as Origin::order
  std::vector<std::string> notes;              ///< "the batch size of input 'x' is not a number: 1 is used"
  /// Values of the file that are known now, by name: of a sample of all sizes only.
  std::map<std::string, std::shared_ptr<const TensorData>> known = {};
  std::set<std::string> of_sizes = {};      ///< tensors without inputs that are not constant at all sizes
  std::vector<KnownValue> of_extents = {};  ///< in the order of their nodes: of a sample of all sizes only
};

struct ModelOptions {
  std::map<std::string, std::int64_t> sizes = {};  ///< by the symbol in the file, or INPUT.DIM where it has none
  std::map<std::string, double> fix = {};          ///< scalar inputs with a known value
  /// Inputs with known values: they become constants.
  std::map<std::string, std::shared_ptr<const TensorData>> values = {};
  std::vector<std::string> until = {};      ///< these values become the outputs; empty: those of the file
  std::vector<std::string> constants = {};  ///< inputs that are weights; "weights": all but the first
  std::uint64_t seed = 0;                   ///< of weights that are not in the file
  /// These sizes are a sample of those of one program for all: no statement is chosen by a size, and none is added that
  /// reads neighbours apart, which is slow as loops.
  bool of_all_sizes = false;
  ValuesOfSizes of_sizes = {};
};

/// "GlobalAveragePool" gives "global_average_pool": only letters, digits and '_' remain.
std::string operator_in_words(const std::string& op);

/// Diagnostics if the file is damaged or contradicts itself; a model with refusals if it is sound but not all of it can
/// be said.
Result<Model> import_model(const std::string& path, const ModelOptions& options = {});

/// A size that the file leaves open.
struct FreeSize {
  std::string name;  ///< in ModelOptions::sizes
  struct Axis {
    std::string input;
    std::size_t position = 0, axis = 0;  ///< of the input in the file; in its shape
    std::size_t rank = 0;                ///< of the input
    std::optional<DType> dtype;          ///< of the input, where the file states one that kernels have
  };
  std::vector<Axis> axes;
  std::vector<std::string> places;  ///< of them, in words: "axis 1 of input 'ids'"
  bool batch = false;               ///< the first axis of an input: 1 where nothing is said
};
Result<std::vector<FreeSize>> free_sizes(const std::string& path);

/// Names of the inputs as the file lists them, without those that it has values of.
Result<std::vector<std::string>> names_of_inputs(const std::string& path);

/// The same model without copies between statements (ir/compose.h).
Model composed(const Model& model);

/// The finite value of a weight of one element; nothing: it is no such weight, or its value is not known.
std::optional<double> scalar_weight(const Model& model, TensorId id);

/// One entry for each tensor of the kernel: weights with their values, `inputs` (by position in Model::inputs) copied,
/// the others zero.
Result<std::vector<TensorData>> data_of(const Model& model, const std::vector<TensorData>& inputs);

/// A TensorProto of a .pb file.
struct NamedData {
  std::string name;
  TensorData data;
};
Result<NamedData> load_tensor(const std::string& path);

}  // namespace isamap

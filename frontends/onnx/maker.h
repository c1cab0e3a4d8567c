// SPDX-License-Identifier: Apache-2.0
#pragma once
// Makes the statements of one node. Operators say them as text over local names, so that each reads like its
// definition:
//
//   m.result("Y", 0, m.dtype(0), {rows, columns});
//   m.say("Y[i,j] = max(X0[i,j], 0)", {{"i", rows}, {"j", columns}});
//
// X0, X1, ... are the node's inputs. What cannot be said throws Refused, which the graph walk turns into a RefusedNode.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frontends/model.h"
#include "frontends/onnx/graph.h"

namespace isamap::importing {

/// Thrown by makers; never leaves the import.
struct Refused {
  std::string reason, help;
  bool contradiction = false;   ///< the file is wrong: an error, not a limit of the import
  bool decides_itself = false;  ///< a Loop whose body decides whether it runs again
  std::string branch = {};      ///< as RefusedNode has it
};
/// A node that contradicts itself or its inputs.
Refused contradiction(std::string what, std::string help = "");

using Extents = std::map<std::string, std::int64_t>;
using Names = std::vector<std::string>;

/// A value of the graph: a constant with its values in memory, or a tensor of the kernel, or both.
struct Value {
  DType dtype = DType::f32;
  Sizes shape;
  TensorId tensor;                           ///< invalid: no statement has used it yet
  std::shared_ptr<const TensorData> values;  ///< of a constant
  std::string file;                          ///< of a constant whose values stand in a file
  std::int64_t offset = 0;
  bool drawn = false;   ///< a constant whose values the file does not have
  int narrow = 0;       ///< bits of integers of less than a byte, which are bytes here; 0: all
  int of_extents = -1;  ///< in Model::of_extents; -1: it does not depend on extents, or is not known
  bool constant() const { return values != nullptr || !file.empty() || drawn; }
};

/// The kernel being written, with where its statements come from.
struct Draft {
  Kernel kernel;
  std::vector<Weight> weights;
  std::vector<Origin> origins;
  std::size_t order = 0;            ///< of the node being made
  std::map<std::string, int> used;  ///< how often a name was asked for
  std::vector<std::string> asked;   ///< each time, to undo it
  bool of_all_sizes = false;        ///< as ModelOptions has it

  /// How often the name was asked for before.
  int ask(const std::string& name);
  /// A name near `wanted` that no tensor has.
  std::string unique(const std::string& wanted);
  /// The value's tensor, made on first use.
  TensorId tensor_of(Value& value, const std::string& name);
};

class Maker {
 public:
  Maker(const Node& node, std::int64_t opset, Draft& draft);

  const Node& node;
  const std::int64_t opset;
  std::string kind;  ///< of the statements said next

  bool of_all_sizes() const { return draft_.of_all_sizes; }  ///< as ModelOptions has it

  // The inputs.
  void add_input(Value value, const std::string& name);  ///< of the graph walk
  void skip_input();
  std::size_t count() const { return inputs_.size(); }
  bool has(std::size_t i) const { return i < inputs_.size() && inputs_[i].has_value(); }
  const Value& in(std::size_t i) const;
  const Sizes& shape(std::size_t i) const { return in(i).shape; }
  DType dtype(std::size_t i) const { return in(i).dtype; }
  std::int64_t rank(std::size_t i) const { return static_cast<std::int64_t>(in(i).shape.size()); }
  /// The values of an input that must be constant: `what` is "the shape".
  std::vector<std::int64_t> integers(std::size_t i, const std::string& what) const;
  std::vector<double> reals(std::size_t i, const std::string& what) const;

  // The attributes.
  std::int64_t integer(const std::string& name, std::int64_t otherwise) const;
  std::vector<std::int64_t> integers(const std::string& name, std::vector<std::int64_t> otherwise = {}) const;
  double real(const std::string& name, double otherwise) const;
  std::string text(const std::string& name, const std::string& otherwise) const;
  bool states(const std::string& name) const { return node.attributes.contains(name); }
  /// An axis from -rank to rank-1 as 0 to rank-1.
  std::size_t axis(std::int64_t given, std::size_t rank) const;

  // The results.
  bool wants(std::size_t output) const { return output < node.outputs.size() && !node.outputs[output].empty(); }
  /// A new tensor for output `k` under a local name.
  void result(const std::string& name, std::size_t k, DType dtype, const Sizes& shape);
  /// It holds integers of so many bits, less than a byte has.
  void narrow_result(const std::string& name, int bits) { locals_.at(name).narrow = bits; }
  /// A new tensor between the statements of this node.
  void temporary(const std::string& name, DType dtype, const Sizes& shape);
  /// A small constant of this node.
  void constant(const std::string& name, TensorData values);
  /// The text of a scalar in statements: a number, or where none is exact (nan, integers beyond 2^53) a read of a
  /// constant under this local name.
  std::string scalar(const std::string& name, DType dtype, const Scalar& value);
  /// Another local name of an input; reads of it beyond the shape yield `outside`.
  void padded(const std::string& name, const std::string& of, double outside);
  /// Output `k` is an input, or a constant known now.
  void pass(std::size_t k, const Value& value) { outputs_[k] = value; }
  void say(const std::string& statement, const Extents& extents);
  /// The next `count` statements are steps of a recurrence along `dim`.
  void repeat_next(const std::string& dim, std::int64_t steps, std::size_t count, bool backward);
  /// Output `k`, if it was made.
  std::optional<Value> output(std::size_t k) const;

  const Sizes& shape_of(const std::string& name) const;
  DType dtype_of(const std::string& name) const;

 private:
  Value& local(const std::string& name);
  Draft& draft_;
  std::vector<std::optional<std::string>> inputs_;  ///< local names
  std::map<std::string, Value> locals_;
  std::map<std::string, double> outside_;            ///< by local name: of all reads under it
  std::map<std::string, std::string> tensor_names_;  ///< wished for, by local name
  std::map<std::size_t, std::string> results_;       ///< local names
  std::map<std::size_t, Value> outputs_;
  std::string stem_;  ///< of statements: "conv_3"
  int said_ = 0;
};

using Make = void (*)(Maker&);
/// The maker of an operator, of another domain than the standard one with it before its name; null: there is none.
Make find_maker(const std::string& op);
/// Why there is none, for operators that have a reason of their own.
Refused why_not(const std::string& op);

/// Tables of makers, one of each family.
using Makers = std::map<std::string, Make>;
const Makers& elementwise_makers();
const Makers& movement_makers();
const Makers& row_makers();
const Makers& window_makers();
const Makers& product_makers();
const Makers& sequence_makers();
const Makers& quantised_makers();
const Makers& shape_makers();
const Makers& indexing_makers();
const Makers& resize_makers();
const Makers& loss_makers();
const Makers& sampling_makers();
const Makers& attention_makers();
const Makers& state_makers();
const Makers& region_makers();
/// All tables. Operators of other domains than the standard one are named with it: "com.microsoft.X".
const std::vector<const Makers*>& all_makers();
/// What tells the places of the largest (smallest) elements `extremes` of rows, as text: an element of the row that is
/// not below (above) it is one. Where a row has a NaN, so that its extreme is NaN, that is an infinity, which only NaNs
/// and infinite elements are not below: one comparison finds the first of them, in place of none.
std::string say_bounds(Maker& m, const std::string& extremes, const std::string& index, const Extents& rows,
                       bool largest);
/// Gather whose positions are read when the model runs.
void gather_values(Maker& m);

// Text.

/// i, j, k, ... for each dimension.
Names iterators(std::size_t rank, const std::string& letters = "ijklmnopabcdefgh");
std::string joined(const Names& names);
/// "X[i,0,k]": `names` of the shape `whole`, of which `part` has the last dimensions, broadcast where they are 1.
Names broadcast_index(const Sizes& part, const Sizes& whole, const Names& names);
/// numpy's rule; refuses shapes that contradict each other.
Sizes broadcast(const Sizes& a, const Sizes& b);
Extents extents_of(const Names& names, const Sizes& sizes);
/// A number that the parser reads back exactly: "0.5", "inf".
std::string number(double value);
/// Can a statement hold it as a number? Numbers there are those of f64, and not nan.
bool is_in_text(DType dtype, const Scalar& value);
std::string access(const std::string& tensor, const Names& index);
std::int64_t product_of(const Sizes& sizes, std::size_t first = 0, std::size_t last = SIZE_MAX);
TensorData zeros(DType dtype, const Sizes& shape);
/// The name of a value that the import makes, which no file has: none ends with a unit separator.
inline std::string own_name(const std::string& of) { return of + '\x1f'; }
/// An attribute of a node that the import makes.
Attribute integer_attribute(std::int64_t value);
/// One dimension of integers; a scalar.
TensorData integers_data(const Sizes& values);
TensorData scalar_data(DType dtype, double value);

}  // namespace isamap::importing

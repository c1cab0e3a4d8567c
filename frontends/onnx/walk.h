// SPDX-License-Identifier: Apache-2.0
#pragma once
// The walk over a graph, and what it leaves.

#include <set>

#include "frontends/onnx/maker.h"
#include "frontends/onnx/size_sums.h"
#include "frontends/onnx/steps.h"

namespace isamap::importing {

/// How much of a draft there was before a node.
struct Mark {
  std::size_t tensors = 0, statements = 0, weights = 0, repeats = 0, asked = 0;
};

/// Why a Loop is no recurrence whose condition is computed by its body.
inline Refused decided_by_body() { return {"its body decides whether it runs again", "", false, true}; }

/// A Loop or a Scan whose number of steps is known.
struct Looped {
  const Graph& body;
  std::int64_t count = 0;
  Names states;                                  ///< values at the first step
  std::size_t first_state = 0, first_after = 0;  ///< among the body's inputs and outputs; results follow the states
  Names sequences = {};                          ///< of which the body has an element at each step, after the states
  std::vector<std::int64_t> axes = {};
  std::vector<bool> reversed = {};
  bool counted = false;  ///< `count` is after how many steps its condition ends it
};

class Walk {
 public:
  Walk(const ModelFile& file, const ModelOptions& options);
  void run();

  Draft draft;
  std::vector<RefusedNode> refused;
  std::vector<std::string> notes, unknown_outputs;
  std::vector<TensorId> model_inputs, model_outputs;
  std::vector<std::size_t> refused_order;
  Diagnostics problems;                                            ///< contradictions of the file
  std::map<std::string, std::shared_ptr<const TensorData>> known;  ///< as Model has them
  std::set<std::string> of_sizes;
  std::vector<KnownValue> of_extents;
  std::map<TensorId, std::string> file_names;

 private:
  /// What a graph inside a node may change, to undo it.
  struct Before {
    Mark mark;
    std::map<std::string, Value> values;
    std::map<std::string, Refused> missing;
    std::size_t refused = 0, problems = 0, notes = 0, of_extents = 0;
    std::map<std::string, std::shared_ptr<const TensorData>> known;  ///< empty but in samples of all sizes
    std::set<std::string> of_sizes;
    int calls = 0;
  };
  Before state_of() const;
  void back_to(const Before& before);
  void add_constant(const std::string& name, const Constant& constant);
  void add_input(const Declared& input);
  bool state_input(const Declared& input);
  bool fix_input(const Declared& input);
  void add_node(const Node& node, int depth);
  void add_constant_node(const Node& node);
  void choose(const Node& node, int depth);
  void add_branch(const Graph& graph, int depth);
  void select_branch(const Node& node, int depth);
  void call(const Node& node, const Function& function, int depth);
  void make(const Node& node);
  void make_foreign(const Node& node);
  void make_by(const Node& node, Make maker);
  void make_statements(const Node& node, Make maker);
  void note_known(const Node& node);
  void write_numbers(const Node& node, const std::string& name);
  void repeat(const Node& node, int depth);
  void loop(const Node& node, int depth);
  std::optional<std::int64_t> counted_steps(const Node& node, const Graph& body, std::int64_t most, int depth);
  void attend(const Node& node, int depth);
  std::optional<std::string> modified(const Node& node, const char* by, const std::string& value, int depth);
  void scan(const Node& node, int depth);
  void scan_steps(const Node& node, std::size_t scans, int depth);
  bool run_body(const Graph& body, int depth);
  std::optional<Refused> as_recurrence(const Node& node, const Looped& loop, int depth);
  void recur(const Node& node, const Looped& loop, int depth);
  LoopBody enter_body(const Node& node, const Looped& loop, const std::string& prefix);
  TensorId enter_value(const std::string& name, const std::string& prefix, Value value);
  void enter_step(const Looped& loop, const std::string& prefix);
  void give_step_numbers(const std::string& prefix, TensorId number, LoopBody& body);
  void enter_sequences(const Node& node, const Looped& loop, const std::string& prefix, LoopBody& body);
  void leave_body(const Node& node, const Looped& loop, LoopBody body, const std::string& prefix);
  void place_results(const Node& node, std::size_t k, Value value, const std::optional<Slice>& slice,
                     std::int64_t count, std::size_t states);
  void stack_no_steps(const Node& node, const Graph& body, std::size_t states, int depth);
  std::optional<Value> stated_result(const Declared& of_body, const std::string& stacked, std::int64_t axis) const;
  void set_value(const std::string& name, Value value);
  void stack(const Node& node, const Names& steps, const std::string& to, std::int64_t axis, bool reverse);
  void take(const Node& node, const std::string& from, const std::string& to, std::int64_t axis, std::int64_t step);
  std::optional<std::int64_t> known_number(const std::string& name) const;
  bool fold(const Node& node, Make maker);
  void give_inputs(const Node& node, Maker& maker) const;
  bool all_constant(const Node& node) const;
  bool gives_bytes(const Node& node) const;
  void refuse(const Node& node, const Refused& why, bool follows);
  void lose_outputs(const Node& node);
  void rename(const std::string& from, const std::string& to);
  std::vector<bool> needed_nodes() const;
  std::optional<std::int64_t> size_of(const std::string& name) const;
  std::set<std::string> unknown_sizes(const Declared& input) const;
  std::optional<Sizes> known_sizes(const Declared& declared) const;
  void check_outputs();
  void add_outputs();
  void copy_out(const std::string& name, Value& value);
  void drop_unused();

  std::int64_t opset_of(const Node& node) const { return node.opset > 0 ? node.opset : file_.opset; }

  const ModelFile& file_;
  const ModelOptions& options_;
  std::map<std::string, std::int64_t> sizes_;
  std::map<std::string, IntExpr> size_sums_;  ///< of them
  std::map<std::string, Value> values_;
  std::map<std::string, Refused> missing_;  ///< with the reason until it is reported
  std::map<std::string, const Declared*> declared_;
  int calls_ = 0;
  int steps_ = 0;      ///< of all loops
  int recurring_ = 0;  ///< bodies that are being imported once, as recurrences
};

}  // namespace isamap::importing

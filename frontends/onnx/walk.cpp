// SPDX-License-Identifier: Apache-2.0
// The graph walk: every node in order becomes constants that are known now, or statements, or a refusal.
//
// A node all of whose inputs are constants is made as a kernel of its own and interpreted, so that shape arithmetic
// needs no second definition of any operator. Values of refused nodes are taken as inputs where the file states their
// shape: one run then finds the refusals behind them too.

#include "frontends/onnx/walk.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "frontends/dropped_statements.h"
#include "frontends/npy.h"
#include "frontends/onnx/composed.h"
#include "frontends/onnx/types.h"
#include "ir/verify/verify_internal.h"

namespace isamap::importing {
namespace {

constexpr double max_folded_points = 1 << 22;
constexpr std::int64_t max_folded_elements = 1 << 20;
constexpr std::size_t max_statements = 65536;
constexpr int max_inlined = 64;  ///< functions inside functions
constexpr std::size_t max_contradictions = 20;

Mark mark_of(const Draft& draft) {
  return {draft.kernel.tensors.size(), draft.kernel.statements.size(), draft.weights.size(),
          draft.kernel.repeats.size(), draft.asked.size()};
}
void back_to(const Mark& mark, Draft& draft) {
  draft.kernel.tensors.resize(mark.tensors);
  draft.kernel.statements.resize(mark.statements);
  draft.origins.resize(mark.statements);
  draft.weights.resize(mark.weights);
  draft.kernel.repeats.resize(mark.repeats);
  for (; draft.asked.size() > mark.asked; draft.asked.pop_back()) --draft.used.at(draft.asked.back());
}

Value value_of(const Constant& constant) {
  Value value{*constant.dtype, constant.shape, {}, constant.values, constant.file, constant.offset};
  value.drawn = !constant.values && constant.file.empty();
  value.narrow = constant.narrow;
  return value;
}

const Graph& branch_of(const Node& node, const char* name) {
  const auto branch = node.attributes.find(name);
  if (branch == node.attributes.end() || !branch->second.graph)
    throw contradiction("a branch is missing, or graphs nest more than 16 deep", "");
  return *branch->second.graph;
}

/// Y = X0 ? X1 : X2, with one condition for all elements.
void select_result(Maker& m) {
  const Names i = iterators(m.shape(1).size()), one(m.shape(0).size(), "0");
  m.result("Y", 0, m.dtype(1), m.shape(1));
  if (m.in(1).narrow == m.in(2).narrow && m.in(1).narrow > 0) m.narrow_result("Y", m.in(1).narrow);
  m.say(fmt::format("{} = select({}, {}, {})", access("Y", i), access("X0", one), access("X1", i), access("X2", i)),
        extents_of(i, m.shape(1)));
}

/// Statements that nothing would run: an error of the import or of the file's attributes.
void check_new_statements(const Draft& draft, std::size_t first) {
  if (draft.kernel.statements.size() > max_statements)
    throw Refused{fmt::format("the model has more than {} statements", max_statements), "cut it with --until"};
  Diagnostics problems;
  for (std::size_t s = first; s < draft.kernel.statements.size(); ++s)
    check_statement(draft.kernel.statements[s], draft.kernel.tensors, "", {}, problems);
  if (!problems.empty()) throw Refused{problems.front().message, problems.front().hint};
}

/// Tensors larger than any memory: the file lies.
void check_shapes(const Draft& draft, std::size_t first) {
  Diagnostics problems;
  for (std::size_t t = first; t < draft.kernel.tensors.size(); ++t)
    check_tensor(draft.kernel.tensors[t], "", {}, problems);
  if (!problems.empty()) throw contradiction(problems.front().message, problems.front().hint);
}

}  // namespace

Walk::Walk(const ModelFile& file, const ModelOptions& options)
    : file_(file), options_(options), sizes_(options.sizes), size_sums_(size_sums(file.graph)) {
  draft.of_all_sizes = options.of_all_sizes;
}

void Walk::run() {
  for (const Constant& constant : file_.graph.constants) {
    if (values_.contains(constant.name) || missing_.contains(constant.name))
      notes.push_back("the file has constant '" + constant.name + "' twice: the later one is used");
    add_constant(constant.name, constant);
  }
  for (const Declared& input : file_.graph.inputs)
    if (!values_.contains(input.name) && !missing_.contains(input.name)) add_input(input);
  for (const auto* declared : {&file_.graph.values, &file_.graph.outputs})
    for (const Declared& value : *declared) declared_[value.name] = &value;
  const std::vector<bool> needed = needed_nodes();
  for (std::size_t n = 0; n < file_.graph.nodes.size(); ++n) {
    draft.order = n;
    if (needed[n]) add_node(file_.graph.nodes[n], 0);
    if (problems.size() >= max_contradictions) return;
  }
  draft.order = file_.graph.nodes.size();
  check_outputs();
  add_outputs();
  drop_unused();
}

void Walk::add_constant(const std::string& name, const Constant& constant) {
  if (constant.dtype)
    values_[name] = value_of(constant);
  else
    missing_[name] = {"constant '" + name + "' has the type " + constant.type + ", which kernels do not have", ""};
}

/// Given, or computed from those that are.
std::optional<std::int64_t> Walk::size_of(const std::string& name) const {
  if (const auto given = sizes_.find(name); given != sizes_.end()) return given->second;
  const auto sum = size_sums_.find(name);
  if (sum == size_sums_.end()) return std::nullopt;
  const auto size = evaluate(sum->second, [&](const Reference& reference) { return size_of(reference.object); });
  return size && *size >= 0 ? size : std::nullopt;
}

/// The names to be given, before the input has a shape. Empty where a sum of those that are known is negative.
std::set<std::string> Walk::unknown_sizes(const Declared& input) const {
  std::set<std::string> names;
  for (std::size_t d = 0; d < input.shape->size(); ++d) {
    const std::string name = size_name(input, d);
    if ((*input.shape)[d] >= 0 || size_of(name)) continue;
    const auto sum = size_sums_.find(name);
    names.merge(sum == size_sums_.end() ? std::set{name} : names_in(sum->second));
  }
  std::erase_if(names, [&](const std::string& name) { return size_of(name).has_value(); });
  return names;
}

std::optional<Sizes> Walk::known_sizes(const Declared& declared) const {
  if (!declared.shape) return std::nullopt;
  Sizes sizes = *declared.shape;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] >= 0) continue;
    const auto found = size_of(size_name(declared, d));
    if (!found) return std::nullopt;
    sizes[d] = *found;
  }
  return sizes;
}

/// A scalar with a known value is a constant.
bool Walk::fix_input(const Declared& input) {
  const auto fixed = options_.fix.find(input.name);
  if (fixed == options_.fix.end() || !input.dtype) return false;
  const Sizes shape = input.shape.value_or(Sizes{});
  if (shape.size() > 1 || (shape.size() == 1 && shape.front() > 1)) {
    problems.push_back(error(fmt::format("input '{}' is {}, and --fix states scalars", input.name, sizes_text(shape)),
                             "--inputs states other values, --constant says that they never change"));
    missing_[input.name] = {"", ""};  // what reads it is not looked at
    return true;
  }
  TensorData data = zeros(*input.dtype, shape.size() == 1 ? Sizes{1} : Sizes{});
  data.set(0, is_float(*input.dtype) ? Scalar{fixed->second, 0} : Scalar{0, static_cast<std::int64_t>(fixed->second)});
  values_[input.name] = {data.dtype, data.shape, {}, std::make_shared<TensorData>(data), ""};
  return true;
}

/// An input with known values is a constant of the declared type.
bool Walk::state_input(const Declared& input) {
  const auto given = options_.values.find(input.name);
  if (given == options_.values.end()) return false;
  auto data = std::make_shared<TensorData>(as_type(*given->second, input.dtype.value_or(given->second->dtype)));
  if (input.dtype && data->dtype != *input.dtype)
    problems.push_back(error(fmt::format("input '{}' is {}, and its values are {}", input.name,
                                         isamap::name(*input.dtype), isamap::name(data->dtype)),
                             "store the array in the type of the input"));
  std::vector<std::string> declared;
  bool fits = !input.shape || input.shape->size() == data->shape.size();
  for (std::size_t d = 0; input.shape && d < input.shape->size(); ++d) {
    const std::int64_t extent = (*input.shape)[d];
    declared.push_back(extent < 0 ? size_name(input, d) : std::to_string(extent));
    if (const auto size = extent < 0 ? size_of(declared.back()) : extent; fits && size) fits = data->shape[d] == *size;
  }
  if (!fits)
    problems.push_back(error(fmt::format("input '{}' is [{}], and its values are {}", input.name,
                                         fmt::join(declared, ", "), sizes_text(data->shape))));
  if (!problems.empty()) {  // what reads it is not looked at
    missing_[input.name] = {"", ""};
    return true;
  }
  values_[input.name] = {data->dtype, data->shape, {}, data, ""};
  values_[input.name].narrow = input.narrow;
  return true;
}

void Walk::add_input(const Declared& input) {
  if (state_input(input) || fix_input(input)) return;
  if (input.shape && input.shape->size() >= 2 && input.shape->front() < 0)
    if (const std::string batch = size_name(input, 0); !size_of(batch) && !size_sums_.contains(batch)) {
      notes.push_back("the batch size of input '" + input.name + "' is not a number: 1 is used");
      sizes_[batch] = 1;
    }
  const auto sizes = known_sizes(input);
  RefusedNode refusal{"input '" + input.name + "'", input.name, "input", "", ""};
  if (!input.dtype) {
    refusal.reason = "its type is " + (input.type.empty() ? "not stated" : input.type) + ", which kernels do not have";
  } else if (!input.shape) {
    refusal.reason = "its shape is not stated";
    refusal.help = "export the model with shapes";
  } else if (!sizes) {
    const std::set<std::string> unknown = unknown_sizes(input);
    refusal.reason = unknown.empty() ? "a size of it is negative"
                                     : fmt::format("sizes of it are not known: '{}'", fmt::join(unknown, "', '"));
    if (!unknown.empty()) refusal.help = fmt::format("--sizes {}=32", fmt::join(unknown, "=32,"));
    refusal.lacks_sizes = true;
  } else {
    const bool is_weight =
        std::find(options_.constants.begin(), options_.constants.end(), input.name) != options_.constants.end() ||
        (!model_inputs.empty() &&
         std::find(options_.constants.begin(), options_.constants.end(), "weights") != options_.constants.end());
    Value value{*input.dtype, *sizes, {}, nullptr, ""};
    value.drawn = is_weight;
    value.narrow = input.narrow;
    const std::size_t before = draft.kernel.tensors.size();
    const TensorId id = draft.tensor_of(value, input.name);
    try {
      check_shapes(draft, before);
    } catch (const Refused& why) {
      problems.push_back(error(why.reason, why.help));
    }
    values_[input.name] = value;
    file_names[id] = input.name;
    if (!is_weight) model_inputs.push_back(id);
    return;
  }
  missing_[input.name] = {"", ""};
  refused.push_back(std::move(refusal));
  refused_order.push_back(0);
}

std::vector<bool> Walk::needed_nodes() const {
  const auto& nodes = file_.graph.nodes;
  std::set<std::string> wanted(options_.until.begin(), options_.until.end());
  if (wanted.empty())
    for (const Declared& output : file_.graph.outputs) wanted.insert(output.name);
  if (wanted.empty()) return std::vector<bool>(nodes.size(), true);
  std::vector<bool> needed(nodes.size(), false);
  const auto add_reads = [&wanted](const Node& node, const auto& again) -> void {
    wanted.insert(node.inputs.begin(), node.inputs.end());
    for (const auto& [name, attribute] : node.attributes)
      if (attribute.graph)
        for (const Node& inner : attribute.graph->nodes) again(inner, again);
    for (const auto& [name, attribute] : node.attributes)
      if (attribute.graph)
        for (const Declared& output : attribute.graph->outputs) wanted.insert(output.name);
  };
  for (std::size_t n = nodes.size(); n-- > 0;) {
    needed[n] = std::any_of(nodes[n].outputs.begin(), nodes[n].outputs.end(),
                            [&](const std::string& name) { return !name.empty() && wanted.contains(name); });
    if (needed[n]) add_reads(nodes[n], add_reads);
  }
  return needed;
}

void Walk::refuse(const Node& node, const Refused& why, bool follows) {
  if (why.contradiction)
    problems.push_back(error(node.title + ": " + why.reason, why.help));
  else {
    refused.push_back({node.title, node.name, node.op, why.reason, why.help, follows, false, why.branch});
    refused_order.push_back(draft.order);
  }
  lose_outputs(node);
}

void Walk::lose_outputs(const Node& node) {
  for (const std::string& name : node.outputs) {
    if (name.empty()) continue;
    const auto declared = declared_.find(name);
    const auto sizes = declared == declared_.end() ? std::nullopt : known_sizes(*declared->second);
    if (sizes && declared->second->dtype)
      values_[name] = {*declared->second->dtype, *sizes, {}, nullptr, ""};
    else
      missing_[name] = {"", ""};
  }
}

void Walk::add_node(const Node& node, int depth) {
  for (const std::string& name : node.inputs) {
    if (name.empty() || values_.contains(name)) continue;
    const auto lost = missing_.find(name);
    if (lost == missing_.end()) return refuse(node, {"it reads '" + name + "', which is no value here", ""}, false);
    if (!lost->second.reason.empty()) {
      const Refused why = lost->second;
      lost->second.reason.clear();
      return refuse(node, why, false);
    }
    return refuse(node, {"it reads '" + name + "', whose shape or values are not known", ""}, true);
  }
  try {
    if (depth > max_inlined) throw Refused{"functions call each other without end", ""};
    if (const auto function = file_.functions.find({node.domain, node.op}); function != file_.functions.end())
      return call(node, function->second, depth);
    if (node.domain == "ai.onnx.preview" && node.op == "FlexAttention") return attend(node, depth);
    const auto value = [&](const std::string& name) -> const Value& { return values_.at(name); };
    if (const auto composed = composed_operator(node, value)) return call(node, *composed, depth);
    if (!node.domain.empty()) return make_foreign(node);
    if (node.op == "Constant") return add_constant_node(node);
    if (node.op == "If") return choose(node, depth);
    if (node.op == "Loop" || node.op == "Scan") return repeat(node, depth);
    make(node);
  } catch (const Refused& why) {
    refuse(node, why, false);
  }
}

void Walk::add_constant_node(const Node& node) {
  if (node.outputs.size() != 1) throw Refused{"a constant has one result", ""};
  const auto found = [&](const char* name) {
    const auto attribute = node.attributes.find(name);
    return attribute == node.attributes.end() ? nullptr : &attribute->second;
  };
  std::optional<TensorData> data;
  if (const auto* a = found("value"); a && a->tensor) return add_constant(node.outputs[0], *a->tensor);
  if (const auto* a = found("value_int"); a && !a->ints.empty())
    data = scalar_data(DType::s64, static_cast<double>(a->ints[0]));
  if (const auto* a = found("value_ints")) data = integers_data(a->ints);
  if (const auto* a = found("value_float"); a && !a->reals.empty()) data = scalar_data(DType::f32, a->reals[0]);
  if (const auto* a = found("value_floats")) {
    data = zeros(DType::f32, {static_cast<std::int64_t>(a->reals.size())});
    for (std::size_t i = 0; i < a->reals.size(); ++i) data->set(static_cast<std::int64_t>(i), {a->reals[i], 0});
  }
  if (!data) throw Refused{"a constant of strings or sparse values", ""};
  values_[node.outputs[0]] = {data->dtype, data->shape, {}, std::make_shared<TensorData>(*data), ""};
}

void Walk::choose(const Node& node, int depth) {
  if (node.inputs.empty() || !values_.contains(node.inputs[0])) throw Refused{"it has no condition", ""};
  const Value& condition = values_.at(node.inputs[0]);
  if (product_of(condition.shape) != 1)
    throw contradiction("its condition has the shape " + sizes_text(condition.shape), "one element is needed");
  if (!condition.values) return select_branch(node, depth);
  const Graph& graph = branch_of(node, condition.values->get(0).integer != 0 ? "then_branch" : "else_branch");
  add_branch(graph, depth);
  for (std::size_t k = 0; k < std::min(node.outputs.size(), graph.outputs.size()); ++k)
    rename(graph.outputs[k].name, node.outputs[k]);
}

void Walk::add_branch(const Graph& graph, int depth) {
  for (const Constant& constant : graph.constants) add_constant(constant.name, constant);
  for (const Node& inner : graph.nodes) add_node(inner, depth + 1);
}

/// Both branches are computed and their results selected: no statement fails, however it is reached.
void Walk::select_branch(const Node& node, int depth) {
  const Before before = state_of();
  const auto not_possible = [&](const std::string& why) {
    back_to(before);
    return Refused{"its condition is known only when the model runs, and " + why,
                   "fix the input it depends on with --fix", false, false, why};
  };
  std::vector<Names> results(node.outputs.size(), Names{node.inputs[0]});
  for (const char* name : {"then_branch", "else_branch"}) {
    const Graph& graph = branch_of(node, name);
    add_branch(graph, depth);
    if (problems.size() > before.problems)
      throw not_possible(fmt::format("of its {} {}", name, problems.back().message));
    if (refused.size() > before.refused) {
      const RefusedNode inner = refused[before.refused];
      throw not_possible(inner.branch.empty() ? fmt::format("of its {} {}: {}", name, inner.node, inner.reason)
                                              : inner.branch);
    }
    if (graph.outputs.size() < node.outputs.size()) throw contradiction("its branches have fewer results than it");
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      if (!values_.contains(graph.outputs[k].name))
        throw not_possible(fmt::format("its {} does not make '{}'", name, graph.outputs[k].name));
      results[k].push_back(fmt::format("{}.{}", node.outputs[k], name));
      set_value(results[k].back(), values_.at(graph.outputs[k].name));
    }
  }
  for (std::size_t k = 0; k < node.outputs.size(); ++k) {
    if (node.outputs[k].empty()) continue;
    const Value &then_value = values_.at(results[k][1]), &else_value = values_.at(results[k][2]);
    if (then_value.shape != else_value.shape || then_value.dtype != else_value.dtype)
      throw not_possible(fmt::format("'{}' is {}{} or {}{}", node.outputs[k], name(then_value.dtype),
                                     sizes_text(then_value.shape), name(else_value.dtype),
                                     sizes_text(else_value.shape)));
  }
  for (std::size_t k = 0; k < node.outputs.size(); ++k)
    if (!node.outputs[k].empty())
      make_by({node.title, node.name, node.op, "", results[k], {node.outputs[k]}, {}}, &select_result);
}

Walk::Before Walk::state_of() const {
  return {mark_of(draft), values_,           missing_, refused.size(), problems.size(),
          notes.size(),   of_extents.size(), known,    of_sizes,       calls_};
}

void Walk::back_to(const Before& before) {
  importing::back_to(before.mark, draft);
  values_ = before.values;
  missing_ = before.missing;
  refused.resize(before.refused);
  refused_order.resize(before.refused);
  problems.resize(before.problems);
  notes.resize(before.notes);
  of_extents.resize(before.of_extents);
  known = before.known;
  of_sizes = before.of_sizes;
  calls_ = before.calls;
}

void Walk::rename(const std::string& from, const std::string& to) {
  if (const auto found = values_.find(from); found != values_.end())
    values_[to] = Value(found->second);
  else
    missing_[to] = {"", ""};
}

namespace {

/// The nodes of a function in place of a call: names of the body get a prefix of their own, and attributes that refer
/// to the call's take its values. So do those of graphs in the body's nodes.
class FunctionBody {
 public:
  FunctionBody(const Node& call, const Function& function, std::string prefix)
      : call_(call), function_(function), prefix_(std::move(prefix)) {
    for (std::size_t i = 0; i < function.inputs.size(); ++i)
      names_[function.inputs[i]] = i < call.inputs.size() ? call.inputs[i] : "";
  }

  std::string renamed(const std::string& name) {
    if (name.empty()) return name;
    return names_.emplace(name, prefix_ + name).first->second;
  }

  Node of_call(Node inner) {
    for (Names* names : {&inner.inputs, &inner.outputs})
      for (std::string& name : *names) name = renamed(name);
    for (auto& [name, attribute] : inner.attributes)  // before the call's, whose graphs have the caller's names
      if (attribute.graph) attribute.graph = std::make_shared<Graph>(of_call(*attribute.graph));
    inner.attributes = with_values(std::move(inner.attributes));
    inner.title = call_.title;
    return inner;
  }

 private:
  Graph of_call(Graph graph) {
    for (Node& inner : graph.nodes) inner = of_call(std::move(inner));
    for (Constant& constant : graph.constants) constant.name = renamed(constant.name);
    for (auto* declared : {&graph.inputs, &graph.outputs, &graph.values})
      for (Declared& one : *declared) one.name = renamed(one.name);
    return graph;
  }

  /// Else the function's own defaults; an attribute without either is the operator's default.
  std::map<std::string, Attribute> with_values(std::map<std::string, Attribute> attributes) const {
    for (auto it = attributes.begin(); it != attributes.end();) {
      const std::vector<std::string>& texts = it->second.texts;
      if (texts.size() != 1 || !texts[0].starts_with("@")) {
        ++it;
        continue;
      }
      const std::string name = texts[0].substr(1);
      const auto given = call_.attributes.find(name), usual = function_.defaults.find(name);
      if (given == call_.attributes.end() && usual == function_.defaults.end()) {
        it = attributes.erase(it);
        continue;
      }
      it->second = given != call_.attributes.end() ? Attribute(given->second) : Attribute(usual->second);
      ++it;
    }
    return attributes;
  }

  const Node& call_;
  const Function& function_;
  std::string prefix_;
  std::map<std::string, std::string> names_;
};

}  // namespace

void Walk::call(const Node& node, const Function& function, int depth) {
  FunctionBody body(node, function, fmt::format("{}.{}.", node.op, calls_++));
  for (const Node& inner : function.nodes) add_node(body.of_call(inner), depth + 1);
  for (std::size_t k = 0; k < std::min(node.outputs.size(), function.outputs.size()); ++k)
    if (!node.outputs[k].empty()) rename(body.renamed(function.outputs[k]), node.outputs[k]);
}

/// Its bytes remain a constant of the model: products are those of bytes (frontends/integer_products.h), which floats
/// computed here would hide.
bool Walk::gives_bytes(const Node& node) const {
  if (node.op != "DequantizeLinear" || node.inputs.empty() || !values_.contains(node.inputs[0])) return false;
  const Value& value = values_.at(node.inputs[0]);
  return bytes(value.dtype) == 1 && value.values && value.values->count() > 1;
}

bool Walk::all_constant(const Node& node) const {
  bool any = false;
  for (const std::string& name : node.inputs) {
    if (name.empty()) continue;
    const Value& value = values_.at(name);
    if (!value.values || value.values->count() > max_folded_elements) return false;
    any = true;
  }
  return any;
}

void Walk::make(const Node& node) {
  const Make maker = find_maker(node.op);
  if (!maker) throw why_not(node.op);
  std::vector<const Value*> inputs;
  for (const std::string& name : node.inputs) inputs.push_back(name.empty() ? nullptr : &values_.at(name));
  check_types(node, inputs);
  make_by(node, maker);
}

void Walk::make_foreign(const Node& node) {
  const Make maker = find_maker(node.domain + "." + node.op);
  if (!maker)
    throw Refused{"an operator of the domain '" + node.domain + "', which is not known",
                  "export it with its function body"};
  make_by(node, maker);
}

void Walk::make_by(const Node& node, Make maker) {
  const auto is_computed = [&](const std::string& name) { return options_.of_sizes.computed.contains(name); };
  const bool computed = std::any_of(node.outputs.begin(), node.outputs.end(), is_computed);
  const std::size_t tensors = draft.kernel.tensors.size();
  if (computed || !all_constant(node) || gives_bytes(node) || !fold(node, maker)) make_statements(node, maker);
  for (std::size_t t = tensors; computed && t < draft.kernel.tensors.size(); ++t)
    if (!draft.kernel.tensors[t].constant) of_sizes.insert(draft.kernel.tensors[t].name);
  note_known(node);
}

/// What samples of all sizes compare, and what they have found.
void Walk::note_known(const Node& node) {
  if (!options_.of_all_sizes) return;
  KnownValue value{"", node.domain.empty() ? node.op : node.domain + "." + node.op, {}, nullptr};
  bool depends = node.op == "Shape" || node.op == "Size";
  for (const std::string& name : node.inputs) {
    const auto in = values_.find(name);
    value.inputs.push_back(in == values_.end() ? KnownValue::Input{}
                                               : KnownValue::Input{in->second.values, in->second.of_extents});
    depends = depends || value.inputs.back().from >= 0;
  }
  for (const std::string& name : node.outputs) {
    if (name.empty() || !values_.contains(name) || !values_.at(name).values) continue;
    known[name] = value.values = values_.at(name).values;
    values_.at(name).of_extents = depends ? static_cast<int>(of_extents.size()) : -1;
    value.name = name;
    if (depends) of_extents.push_back(value);
    if (options_.of_sizes.written.contains(name)) write_numbers(node, name);
  }
}

/// The value remains known; statements read what a statement writes.
void Walk::write_numbers(const Node& node, const std::string& name) {
  Value& value = values_.at(name);
  const TensorData& data = *value.values;
  const Node written{node.title, node.name, node.op, "", {}, {name}, {}};
  Maker maker(written, file_.opset, draft);
  maker.result("Y", 0, value.dtype, value.shape);
  for (std::int64_t k = 0; k < data.count(); ++k) {
    Names index;
    std::int64_t rest = k;
    for (std::size_t d = value.shape.size(); d-- > 0; rest /= value.shape[d])
      index.insert(index.begin(), std::to_string(rest % value.shape[d]));
    maker.say(access("Y", index) + " = " + maker.scalar("N" + std::to_string(k), value.dtype, data.get(k)), {});
  }
  value.tensor = maker.output(0)->tensor;
  of_sizes.insert(draft.kernel.tensors[value.tensor.index()].name);
}

void Walk::make_statements(const Node& node, Make maker) {
  const Mark mark = mark_of(draft);
  Maker made(node, opset_of(node), draft);
  try {
    give_inputs(node, made);
    maker(made);
    check_shapes(draft, mark.tensors);
    check_new_statements(draft, mark.statements);
  } catch (const Refused&) {
    importing::back_to(mark, draft);
    throw;
  }
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    if (made.has(i)) values_[node.inputs[i]].tensor = made.in(i).tensor;
  for (std::size_t k = 0; k < node.outputs.size(); ++k)
    if (const auto value = made.output(k); value && !node.outputs[k].empty())
      values_[node.outputs[k]] = *value;
    else if (!node.outputs[k].empty())
      throw Refused{fmt::format("its output {} ('{}') is not made", k, node.outputs[k]), ""};
}

void Walk::give_inputs(const Node& node, Maker& maker) const {
  for (const std::string& name : node.inputs)
    if (name.empty())
      maker.skip_input();
    else
      maker.add_input(values_.at(name), name);
}

/// False: too large; the node becomes statements over constants.
bool Walk::fold(const Node& node, Make maker) {
  Draft alone;
  Maker made(node, opset_of(node), alone);
  for (const std::string& name : node.inputs) {
    if (name.empty()) {
      made.skip_input();
      continue;
    }
    Value value = values_.at(name);
    value.tensor = {};
    made.add_input(value, name);
  }
  maker(made);
  check_shapes(alone, 0);
  std::int64_t elements = 0;
  for (const Tensor& tensor : alone.kernel.tensors) elements += element_count(tensor);
  if (elements > max_folded_elements || point_count(alone.kernel) > max_folded_points) return false;
  check_new_statements(alone, 0);
  if (!verify(alone.kernel).empty()) return false;
  std::vector<TensorData> data;
  for (const Tensor& tensor : alone.kernel.tensors) data.push_back(make_data(tensor));
  for (const Weight& weight : alone.weights) data[weight.tensor.index()] = *weight.values;
  interpret(alone.kernel, data);
  for (std::size_t k = 0; k < node.outputs.size(); ++k) {
    auto value = made.output(k);
    if (!value || node.outputs[k].empty()) continue;
    if (!value->constant()) value->values = std::make_shared<TensorData>(data[value->tensor.index()]);
    value->tensor = {};
    values_[node.outputs[k]] = *value;
  }
  return true;
}

/// Is an output what the file says of it? Sizes that differ are a note: some exporters state wrong ones.
void Walk::check_outputs() {
  for (const Declared& declared : file_.graph.outputs) {
    const auto found = values_.find(declared.name);
    if (found == values_.end() || !declared.dtype) continue;
    const Value& value = found->second;
    if (value.dtype != *declared.dtype) {
      const auto writer = std::find_if(file_.graph.nodes.begin(), file_.graph.nodes.end(), [&](const Node& node) {
        return std::find(node.outputs.begin(), node.outputs.end(), declared.name) != node.outputs.end();
      });
      problems.push_back(error(fmt::format("{}output '{}' is {}; the file states {}",
                                           writer == file_.graph.nodes.end() ? "" : writer->title + ": ", declared.name,
                                           name(value.dtype), name(*declared.dtype))));
    }
    if (!declared.shape || declared.shape->empty()) continue;  // a shape of nothing is left out by some exporters
    bool fits = declared.shape->size() == value.shape.size();
    for (std::size_t d = 0; fits && d < value.shape.size(); ++d)
      fits = (*declared.shape)[d] < 0 || (*declared.shape)[d] == value.shape[d];
    if (!fits)
      notes.push_back(fmt::format("output '{}' is {}; the file states {}", declared.name, sizes_text(value.shape),
                                  sizes_text(*declared.shape)));
  }
}

/// The caller gets every output: one that is an input or a constant is copied.
void Walk::add_outputs() {
  std::vector<std::string> names = options_.until;
  if (names.empty())
    for (const Declared& output : file_.graph.outputs) names.push_back(output.name);
  for (const std::string& name : names) {
    const auto found = values_.find(name);
    if (found == values_.end()) {
      if (!missing_.contains(name)) unknown_outputs.push_back(name);
      continue;
    }
    Value& value = found->second;
    const bool taken = std::find(model_outputs.begin(), model_outputs.end(), value.tensor) != model_outputs.end();
    const Role role = value.tensor.valid() ? role_of(draft.kernel, value.tensor) : Role::input;
    if (taken || role == Role::input) copy_out(name, value);
    model_outputs.push_back(value.tensor);
    file_names[value.tensor] = name;
  }
  for (const TensorId id : model_outputs)  // after the copies, which read some of them
    if (role_of(draft.kernel, id) == Role::intermediate) draft.kernel.tensors[id.index()].output = true;
}

void Walk::copy_out(const std::string& name, Value& value) {
  const Node node{"output '" + name + "'", "", "Identity", "", {name}, {name}, {}};
  Maker maker(node, file_.opset, draft);
  maker.add_input(value, name);
  maker.result("Y", 0, value.dtype, value.shape);
  const Names i = iterators(value.shape.size());
  maker.say(access("Y", i) + " = " + access("X0", i), extents_of(i, value.shape));
  value = *maker.output(0);
}

/// Tensors that no statement uses, other than inputs: of passed or refused nodes.
void Walk::drop_unused() {
  std::vector<bool> used(draft.kernel.tensors.size(), false);
  for (const Computation& statement : draft.kernel.statements)
    for (int a = 0; a < access_count(statement); ++a) used[access_of(statement, a).tensor.index()] = true;
  for (const TensorId id : model_inputs) used[id.index()] = true;
  for (const TensorId id : model_outputs) used[id.index()] = true;
  keep_tensors(used, draft.kernel, {draft.weights, model_inputs, model_outputs, file_names});
}

}  // namespace isamap::importing

// SPDX-License-Identifier: Apache-2.0
// Loop and Scan whose number of steps is known: a recurrence (frontends/onnx/walk_recurrence.cpp), or, where that is
// none or its statements are few, their body once for each step. There names of the body mean another value at each
// step; what only constants need is folded as everywhere, so that a counter costs nothing.

#include <fmt/format.h>

#include "frontends/onnx/walk.h"

namespace isamap::importing {
namespace {

constexpr std::int64_t max_steps = 4096;
constexpr int max_steps_in_all = 1 << 16;       ///< of loops in loops
constexpr std::int64_t most_counted = 1 << 15;  ///< nodes that are computed to count steps, some 50 us each
constexpr std::int64_t most_counting = 64;      ///< elements of a state that counts

std::int64_t stated(const Node& node, const char* name, std::size_t at, std::int64_t otherwise) {
  const auto found = node.attributes.find(name);
  return found == node.attributes.end() || at >= found->second.ints.size() ? otherwise : found->second.ints[at];
}

/// Inputs from `first` on; those before it may be left out.
void check_inputs(const Node& node, std::size_t first) {
  for (std::size_t i = first; i < node.inputs.size(); ++i)
    if (node.inputs[i].empty()) throw contradiction(fmt::format("input {} is missing", i), "the node needs it");
}

const Graph& body_of(const Node& node) {
  const auto found = node.attributes.find("body");
  if (found == node.attributes.end() || !found->second.graph) throw contradiction("its body is missing");
  return *found->second.graph;
}

/// Y[.., k, ..] = Xk[..]
void stack_steps(Maker& m) {
  Sizes shape = m.shape(0);
  const std::size_t axis = m.axis(m.integer("axis", 0), shape.size() + 1);
  const Names i = iterators(shape.size());
  const Extents extents = extents_of(i, shape);
  const bool reverse = m.integer("reverse", 0) != 0;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), static_cast<std::int64_t>(m.count()));
  m.result("Y", 0, m.dtype(0), shape);
  for (std::size_t k = 0; k < m.count(); ++k) {
    if (m.shape(k) != m.shape(0) || m.dtype(k) != m.dtype(0)) throw Refused{"results of its steps differ in shape", ""};
    Names to = i;
    to.insert(to.begin() + static_cast<std::ptrdiff_t>(axis), std::to_string(reverse ? m.count() - 1 - k : k));
    m.say(access("Y", to) + " = " + access("X" + std::to_string(k), i), extents);
  }
}

/// Y[..] = X[.., step, ..]
void take_step(Maker& m) {
  Sizes shape = m.shape(0);
  const std::size_t axis = m.axis(m.integer("axis", 0), shape.size());
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  const Names i = iterators(shape.size());
  Names from = i;
  from.insert(from.begin() + static_cast<std::ptrdiff_t>(axis), std::to_string(m.integer("step", 0)));
  m.result("Y", 0, m.dtype(0), shape);
  m.say(access("Y", i) + " = " + access("X0", from), extents_of(i, shape));
}

/// `count`: nothing if only the condition ends it. `why`: it is no recurrence.
Refused too_many(std::optional<std::int64_t> count, const std::string& why) {
  if (!count) return {fmt::format("its body runs more than {} times", max_steps), ""};
  return {fmt::format("its body runs {} times; {} are possible", *count, max_steps),
          "it is no recurrence: " + (why.empty() ? "its statements are few" : why)};
}

Value constant_of(DType dtype, const Sizes& shape, std::int64_t number) {
  TensorData data = zeros(dtype, shape);
  data.set(0, {0, number});
  return {dtype, shape, {}, std::make_shared<TensorData>(data), ""};
}

/// What the condition of a body needs: nodes, and states with the value that follows.
struct Counting {
  std::vector<const Node*> nodes;
  std::set<std::size_t> states;
};

/// Nothing: a graph inside a node may need anything.
std::optional<Counting> counting_of(const Graph& body, std::size_t states) {
  Counting counting;
  std::set<std::string> wanted{body.outputs[0].name};
  for (std::size_t before = 0; before != wanted.size();) {
    before = wanted.size();
    counting.nodes.clear();
    for (auto node = body.nodes.rbegin(); node != body.nodes.rend(); ++node) {
      if (std::none_of(node->outputs.begin(), node->outputs.end(), [&](const auto& o) { return wanted.contains(o); }))
        continue;
      for (const auto& [name, attribute] : node->attributes)
        if (attribute.graph) return std::nullopt;
      counting.nodes.insert(counting.nodes.begin(), &*node);
      wanted.insert(node->inputs.begin(), node->inputs.end());
    }
    for (std::size_t s = 0; s < states; ++s)
      if (wanted.contains(body.inputs[2 + s].name)) {
        counting.states.insert(s);
        wanted.insert(body.outputs[1 + s].name);
      }
  }
  return counting;
}

/// Of the sequences of a Scan, and how many steps they have.
std::pair<std::vector<std::int64_t>, std::int64_t> scanned_axes(const Node& node, const std::vector<Sizes>& shapes) {
  std::vector<std::int64_t> axes;
  std::int64_t count = -1;
  for (std::size_t s = 0; s < shapes.size(); ++s) {
    const std::int64_t axis = stated(node, "scan_input_axes", s, 0), rank = static_cast<std::int64_t>(shapes[s].size());
    if (axis < -rank || axis >= rank) throw contradiction("it scans along a dimension that a sequence does not have");
    axes.push_back(axis < 0 ? axis + rank : axis);
    const std::int64_t steps = shapes[s][static_cast<std::size_t>(axes.back())];
    if (count >= 0 && steps != count) throw contradiction("its sequences differ in length");
    count = steps;
  }
  return {axes, count};
}

}  // namespace

void Walk::set_value(const std::string& name, Value value) {
  missing_.erase(name);
  values_[name] = std::move(value);
}

/// False: a node of the body is refused, which is reported.
bool Walk::run_body(const Graph& body, int depth) {
  if (++steps_ > max_steps_in_all) throw Refused{"its loops run too often", "unroll fewer of them"};
  const std::size_t before = refused.size() + problems.size();
  for (const Constant& constant : body.constants) add_constant(constant.name, constant);
  for (const Node& inner : body.nodes) {
    for (const std::string& name : inner.outputs) missing_.erase(name);
    add_node(inner, depth + 1);
    if (refused.size() + problems.size() > before) return false;
  }
  for (const Declared& output : body.outputs)
    if (!values_.contains(output.name)) throw Refused{"its body does not make '" + output.name + "'", ""};
  return true;
}

void Walk::stack(const Node& node, const Names& steps, const std::string& to, std::int64_t axis, bool reverse) {
  if (steps.empty()) throw Refused{"a batch of none: the shape of its results is not known", ""};
  Node made{node.title, node.name, node.op, "", steps, {to}, {}};
  made.attributes["axis"] = integer_attribute(axis);
  made.attributes["reverse"] = integer_attribute(reverse ? 1 : 0);
  make_by(made, &stack_steps);
  missing_.erase(to);
}

void Walk::take(const Node& node, const std::string& from, const std::string& to, std::int64_t axis,
                std::int64_t step) {
  Node made{node.title, node.name, node.op, "", {from}, {to}, {}};
  made.attributes["axis"] = integer_attribute(axis);
  made.attributes["step"] = integer_attribute(step);
  make_by(made, &take_step);
  missing_.erase(to);
}

std::optional<std::int64_t> Walk::known_number(const std::string& name) const {
  const auto found = values_.find(name);
  if (found == values_.end() || !found->second.values || found->second.values->count() != 1) return std::nullopt;
  return found->second.values->get(0).integer;
}

/// What the body or the graph states of a result that no step makes; sizes that are not stated are 0, as in ONNX
/// Runtime. Nothing: its type is not stated.
std::optional<Value> Walk::stated_result(const Declared& of_body, const std::string& stacked, std::int64_t axis) const {
  if (const auto outside = declared_.find(stacked); outside != declared_.end() && outside->second->dtype)
    if (auto sizes = known_sizes(*outside->second); sizes && axis < static_cast<std::int64_t>(sizes->size())) {
      sizes->erase(sizes->begin() + axis);
      return Value{*outside->second->dtype, *sizes, {}, nullptr, ""};
    }
  if (!of_body.dtype) return std::nullopt;
  Sizes sizes = of_body.shape.value_or(Sizes{});
  for (std::int64_t& size : sizes) size = std::max<std::int64_t>(size, 0);
  return Value{*of_body.dtype, sizes, {}, nullptr, ""};
}

/// The stacked results of no step, which have elements of their body's shapes all the same: of a step that is undone,
/// or as stated where that step cannot be made. The body's inputs have values.
void Walk::stack_no_steps(const Node& node, const Graph& body, std::size_t states, int depth) {
  const Before before = state_of();
  const std::size_t skipped = node.op == "Loop" ? 1 : 0;  // the body's condition
  const bool works = run_body(body, depth);
  std::vector<Value> parts;
  for (std::size_t k = states; works && k < node.outputs.size(); ++k)
    parts.push_back(values_.at(body.outputs[skipped + k].name));
  for (std::size_t k = states; !works && k < node.outputs.size(); ++k) {
    const std::int64_t axis = std::max<std::int64_t>(stated(node, "scan_output_axes", k - states, 0), 0);
    const auto part = stated_result(body.outputs[skipped + k], node.outputs[k], axis);
    if (!part) return lose_outputs(node);  // its body's refusal remains
    parts.push_back(*part);
  }
  back_to(before);
  for (std::size_t k = states; k < node.outputs.size(); ++k) {
    if (node.outputs[k].empty()) continue;
    Sizes shape = parts[k - states].shape;
    const std::int64_t given = stated(node, "scan_output_axes", k - states, 0);
    const std::int64_t axis = given < 0 ? given + static_cast<std::int64_t>(shape.size()) + 1 : given;
    if (axis < 0 || axis > static_cast<std::int64_t>(shape.size()))
      throw contradiction("it stacks along a dimension that its result does not have");
    shape.insert(shape.begin() + axis, 0);
    const DType type = parts[k - states].dtype;
    set_value(node.outputs[k], {type, shape, {}, std::make_shared<TensorData>(zeros(type, shape)), ""});
  }
}

/// A Loop or a Scan. Names of its body hide those of the graph around it until its end.
void Walk::repeat(const Node& node, int depth) {
  std::map<std::string, Value> hidden;
  const auto hide = [&](const std::string& name) {
    if (const auto found = values_.find(name); found != values_.end()) hidden.insert(*found);
  };
  const Graph& body = body_of(node);
  for (const Declared& input : body.inputs) hide(input.name);
  for (const Constant& constant : body.constants) hide(constant.name);
  for (const Node& inner : body.nodes)
    for (const std::string& output : inner.outputs) hide(output);
  node.op == "Loop" ? loop(node, depth) : scan(node, depth);
  for (auto& [name, value] : hidden) values_[name] = std::move(value);
}

/// After how many steps the condition of a Loop ends it, where it follows from the number of the step and from states
/// that are known: a counter. Only what it needs is computed, and undone. Nothing: it depends on other values, or, for
/// all sizes, on extents, of which samples would say too little.
std::optional<std::int64_t> Walk::counted_steps(const Node& node, const Graph& body, std::int64_t most, int depth) {
  const auto counting = counting_of(body, node.inputs.size() - 2);
  if (!counting) return std::nullopt;
  const Before before = state_of();
  const auto is_known = [&](const std::string& name) {
    const auto found = values_.find(name);
    return found != values_.end() && found->second.values && found->second.values->count() <= most_counting;
  };
  std::map<std::size_t, Value> state;
  bool follows = true;
  for (const std::size_t s : counting->states)
    if (follows = follows && is_known(node.inputs[2 + s]); follows) state[s] = values_.at(node.inputs[2 + s]);
  for (const Constant& constant : body.constants) add_constant(constant.name, constant);
  const Sizes shape = body.inputs[0].shape.value_or(Sizes{}).size() == 1 ? Sizes{1} : Sizes{};
  const std::int64_t limit = most_counted / static_cast<std::int64_t>(1 + counting->nodes.size());
  std::int64_t steps = 0;
  for (bool runs = true; follows && runs && steps < std::min(most, limit); ++steps) {
    set_value(body.inputs[0].name, constant_of(DType::s64, shape, steps));
    set_value(body.inputs[1].name, constant_of(DType::boolean, {}, 1));
    for (const auto& [s, value] : state) set_value(body.inputs[2 + s].name, value);
    for (const Node* inner : counting->nodes) {
      for (const std::string& name : inner->outputs) missing_.erase(name), values_.erase(name);
      if (follows) add_node(*inner, depth + 1);
      follows = follows && std::all_of(inner->outputs.begin(), inner->outputs.end(),
                                       [&](const std::string& name) { return name.empty() || is_known(name); });
    }
    follows = follows && is_known(body.outputs[0].name) && values_.at(body.outputs[0].name).of_extents < 0;
    for (auto& [s, value] : state)
      if (follows = follows && is_known(body.outputs[1 + s].name); follows)
        value = values_.at(body.outputs[1 + s].name);
    runs = follows && known_number(body.outputs[0].name).value_or(0) != 0;
    follows = follows && (!runs || steps + 1 < limit);
  }
  back_to(before);
  return follows ? std::optional(steps) : std::nullopt;
}

/// Inputs: count, condition, states; the body has the step's number, the condition, states, and yields the next
/// condition, states and a part of each stacked result.
void Walk::loop(const Node& node, int depth) {
  const Graph& body = body_of(node);
  check_inputs(node, 2);
  const auto given = [&](std::size_t i) { return i < node.inputs.size() ? node.inputs[i] : std::string(); };
  const auto count = given(0).empty() ? std::optional(max_steps + 1) : known_number(given(0));
  auto condition = given(1).empty() ? std::optional<std::int64_t>(1) : known_number(given(1));
  const std::size_t states = std::max<std::size_t>(node.inputs.size(), 2) - 2;
  if (!count || !condition)
    throw Refused{"its body runs as often as values say", "fix them with --fix, or unroll it when exporting"};
  if (body.inputs.size() < 2 + states || body.outputs.size() < 1 + states ||
      node.outputs.size() + 1 > body.outputs.size())
    throw contradiction("its body has other inputs and outputs than it");
  std::vector<Value> state;
  for (std::size_t s = 0; s < states; ++s) state.push_back(values_.at(given(2 + s)));
  std::vector<Names> steps(node.outputs.size());
  const auto enter = [&](std::int64_t k) {
    const bool listed = body.inputs[0].shape.value_or(Sizes{}).size() == 1;
    set_value(body.inputs[0].name, constant_of(DType::s64, listed ? Sizes{1} : Sizes{}, k));
    set_value(body.inputs[1].name, constant_of(DType::boolean, {}, 1));
    for (std::size_t s = 0; s < states; ++s) set_value(body.inputs[2 + s].name, state[s]);
  };
  const bool none = *count <= 0 || *condition == 0;
  std::string why;
  if (!none) {
    Looped looped{body, *count, {node.inputs.begin() + 2, node.inputs.end()}, 2, 1};
    auto refusal = given(0).empty() ? std::optional(decided_by_body()) : as_recurrence(node, looped, depth);
    const auto counted = refusal && refusal->decides_itself
                             ? counted_steps(node, body, given(0).empty() ? most_counted : *count, depth)
                             : std::nullopt;
    if (counted) {
      looped.count = *counted, looped.counted = true;
      refusal = as_recurrence(node, looped, depth);
    }
    if (!refusal) return;
    why = refusal->reason;
  }
  if (none && node.outputs.size() > states) {
    enter(0);
    stack_no_steps(node, body, states, depth);
  }
  for (std::int64_t k = 0; k < *count && *condition != 0; ++k) {
    if (k >= max_steps) throw too_many(given(0).empty() ? std::nullopt : count, why);
    enter(k);
    if (!run_body(body, depth)) return lose_outputs(node);
    condition = known_number(body.outputs[0].name);
    if (!condition) throw Refused{"its body decides with values whether it runs again", ""};
    for (std::size_t s = 0; s < states; ++s) state[s] = values_.at(body.outputs[1 + s].name);
    for (std::size_t k_out = states; k_out < node.outputs.size(); ++k_out) {
      steps[k_out].push_back(own_name(fmt::format("{}.step{}", node.outputs[k_out], k)));
      set_value(steps[k_out].back(), values_.at(body.outputs[1 + k_out].name));
    }
  }
  for (std::size_t k = 0; k < node.outputs.size(); ++k)
    if (node.outputs[k].empty())
      continue;
    else if (k < states)
      set_value(node.outputs[k], state[k]);
    else if (!none)
      stack(node, steps[k], node.outputs[k], 0, false);
}

/// Before set 9 all of it once for each element of a batch.
void Walk::scan(const Node& node, int depth) {
  const auto scans = static_cast<std::size_t>(std::max<std::int64_t>(stated(node, "num_scan_inputs", 0, 0), 0));
  const bool batched = opset_of(node) < 9;
  Node inner = node;
  if (batched && !inner.inputs.empty()) {
    if (!inner.inputs[0].empty()) throw Refused{"its sequences have lengths of their own", ""};
    inner.inputs.erase(inner.inputs.begin());
  }
  if (const auto before_9 = node.attributes.find("directions"); batched && before_9 != node.attributes.end())
    inner.attributes["scan_input_directions"] = before_9->second;
  check_inputs(inner, 0);
  if (scans == 0 || scans > inner.inputs.size()) throw contradiction("it has no sequences to scan");
  if (!batched) return scan_steps(inner, scans, depth);
  const Node whole = inner;
  const Sizes shape = values_.at(whole.inputs.back()).shape;  // undone recurrences replace the values
  std::vector<Names> parts(node.outputs.size());
  for (std::int64_t b = 0; b < (shape.empty() ? 0 : shape[0]); ++b) {
    for (std::size_t i = 0; i < whole.inputs.size(); ++i) {
      inner.inputs[i] = own_name(fmt::format("{}.batch{}", whole.inputs[i], b));
      take(node, whole.inputs[i], inner.inputs[i], 0, b);
    }
    const std::size_t before = refused.size() + problems.size();
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      inner.outputs[k] = own_name(fmt::format("{}.batch{}", node.outputs[k], b));
      parts[k].push_back(inner.outputs[k]);
    }
    scan_steps(inner, scans, depth);
    if (refused.size() + problems.size() > before) return lose_outputs(node);
  }
  for (std::size_t k = 0; k < node.outputs.size(); ++k)
    if (!node.outputs[k].empty()) stack(node, parts[k], node.outputs[k], 0, false);
}

void Walk::scan_steps(const Node& node, std::size_t scans, int depth) {
  const Graph& body = body_of(node);
  const std::size_t states = node.inputs.size() - scans;
  if (body.inputs.size() < node.inputs.size() || body.outputs.size() < node.outputs.size())
    throw contradiction("its body has other inputs and outputs than it");
  std::vector<Sizes> shapes;
  for (std::size_t s = 0; s < scans; ++s) shapes.push_back(values_.at(node.inputs[states + s]).shape);
  const auto [axes, count] = scanned_axes(node, shapes);
  std::vector<Value> state;
  for (std::size_t s = 0; s < states; ++s) state.push_back(values_.at(node.inputs[s]));
  const int number = calls_++;
  Names sequences;  // under names that the body cannot hide
  for (std::size_t s = 0; s < scans; ++s) {
    sequences.push_back(own_name(fmt::format("{}.{}.sequence{}", node.op, number, s)));
    set_value(sequences.back(), Value(values_.at(node.inputs[states + s])));
  }
  if (count > 0) {
    Looped loop{body, count, {node.inputs.begin(), node.inputs.begin() + static_cast<std::ptrdiff_t>(states)}, 0, 0};
    loop.sequences = sequences, loop.axes = axes;
    for (std::size_t s = 0; s < scans; ++s) loop.reversed.push_back(stated(node, "scan_input_directions", s, 0) != 0);
    const auto refusal = as_recurrence(node, loop, depth);
    if (!refusal) return;
    if (count > max_steps) throw too_many(count, refusal->reason);
  }
  std::vector<Names> steps(node.outputs.size());
  if (count == 0 && node.outputs.size() > states) {
    for (std::size_t s = 0; s < states; ++s) set_value(body.inputs[s].name, state[s]);
    for (std::size_t s = 0; s < scans; ++s) {
      const Value sequence = values_.at(sequences[s]);
      Sizes shape = sequence.shape;
      shape.erase(shape.begin() + axes[s]);
      set_value(body.inputs[states + s].name,
                {sequence.dtype, shape, {}, std::make_shared<TensorData>(zeros(sequence.dtype, shape)), ""});
    }
    stack_no_steps(node, body, states, depth);
  }
  for (std::int64_t k = 0; k < count; ++k) {
    for (std::size_t s = 0; s < states; ++s) set_value(body.inputs[s].name, state[s]);
    for (std::size_t s = 0; s < scans; ++s)
      take(node, sequences[s], body.inputs[states + s].name, axes[s],
           stated(node, "scan_input_directions", s, 0) != 0 ? count - 1 - k : k);
    if (!run_body(body, depth)) return lose_outputs(node);
    for (std::size_t s = 0; s < states; ++s) state[s] = values_.at(body.outputs[s].name);
    for (std::size_t k_out = states; k_out < node.outputs.size(); ++k_out) {
      steps[k_out].push_back(own_name(fmt::format("{}.step{}", node.outputs[k_out], k)));
      set_value(steps[k_out].back(), values_.at(body.outputs[k_out].name));
    }
  }
  for (std::size_t k = 0; k < node.outputs.size(); ++k)
    if (node.outputs[k].empty())
      continue;
    else if (k < states)
      set_value(node.outputs[k], state[k]);
    else if (count > 0)
      stack(node, steps[k], node.outputs[k], stated(node, "scan_output_axes", k - states, 0),
            stated(node, "scan_output_directions", k - states, 0) != 0);
}

}  // namespace isamap::importing

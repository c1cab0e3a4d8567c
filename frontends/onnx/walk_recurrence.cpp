// SPDX-License-Identifier: Apache-2.0
// Loop and Scan as a recurrence: the body is imported once, over unknown values of one step, and its
// statements become those of all steps (frontends/onnx/steps.h). A body that needs more, such as shapes that change
// from step to step or a slice at the step's number, is refused here, and unrolled by the caller.

#include <fmt/format.h>

#include "frontends/onnx/walk.h"

namespace isamap::importing {
namespace {

/// Up to so many statements in all a loop is unrolled: fewer are planned, fused and compiled in about the time that the
/// recurrence takes, and what their number decides is folded.
constexpr std::int64_t most_unrolled = 64;

/// Tensors of all states and step numbers are of this length.
constexpr std::int64_t most_steps = 1 << 24;

/// Y[0,..] = X[..]: the first of `steps` + 1 states.
void start_state(Maker& m) {
  Sizes shape = m.shape(0);
  const Names i = iterators(shape.size());
  const Extents extents = extents_of(i, shape);
  Names to = i;
  to.insert(to.begin(), "0");
  shape.insert(shape.begin(), m.integer("steps", 0) + 1);
  m.result("Y", 0, m.dtype(0), shape);
  m.say(access("Y", to) + " = " + access("X0", i), extents);
}

/// Y[.., t, ..] = X[.., t + offset, ..], each with its axis, in the order of the steps or the reverse; without `from` X
/// is the same at each step.
void move_steps(Maker& m) {
  Sizes shape = m.shape(0);
  const std::int64_t steps = m.integer("steps", 0), from = m.integer("from", -1);
  if (from >= 0) shape.erase(shape.begin() + from);
  const std::size_t to = m.axis(m.integer("to", 0), shape.size() + 1);
  const Names i = iterators(shape.size());
  Names read = i, write = i;
  const bool reverse = m.integer("reverse", 0) != 0;
  const std::int64_t offset = m.integer("offset", 0);
  const std::string step = reverse ? fmt::format("{} - t", offset + steps - 1) : fmt::format("t + {}", offset);
  if (from >= 0) read.insert(read.begin() + from, step);
  write.insert(write.begin() + static_cast<std::ptrdiff_t>(to), "t");
  Extents extents = extents_of(i, shape);
  extents["t"] = steps;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(to), steps);
  m.result("Y", 0, m.dtype(0), shape);
  m.say(access("Y", write) + " = " + access("X0", read), extents);
}

Value step_of(const Value& whole, std::int64_t axis) {
  Value one{whole.dtype, whole.shape, {}, nullptr, ""};
  one.shape.erase(one.shape.begin() + axis);
  one.narrow = whole.narrow;
  return one;
}

}  // namespace

/// Nothing: it is one, or a node of its body is refused, which is reported.
std::optional<Refused> Walk::as_recurrence(const Node& node, const Looped& loop, int depth) {
  if (loop.count > most_steps) return Refused{fmt::format("it has more than {} steps", most_steps), ""};
  const Before before = state_of();
  const int steps = steps_, recurring = recurring_;
  try {
    recur(node, loop, depth);
    return std::nullopt;
  } catch (const Refused& why) {
    back_to(before);
    steps_ = steps, recurring_ = recurring;
    return why;
  }
}

void Walk::recur(const Node& node, const Looped& loop, int depth) {
  const std::string prefix = fmt::format("{}.{}.", node.op, calls_++);
  LoopBody body = enter_body(node, loop, prefix);
  const TensorId number = loop.first_state == 2 ? values_.at(loop.body.inputs[0].name).tensor : TensorId{};
  const std::size_t recurrences = draft.kernel.repeats.size(), before = refused.size(), wrong = problems.size();
  ++recurring_;
  const bool works = run_body(loop.body, depth);
  --recurring_;
  if (refused.size() > before) throw Refused{refused[before].reason, refused[before].help};
  if (!works || problems.size() > wrong) throw Refused{"its body contradicts itself", ""};
  if (draft.kernel.repeats.size() > recurrences) throw Refused{"its body has a recurrence of its own", ""};
  const auto statements = static_cast<std::int64_t>(draft.kernel.statements.size() - body.first);
  const bool is_short = loop.count <= most_unrolled && statements * loop.count <= most_unrolled;
  if (is_short && (!options_.of_all_sizes || recurring_ > 0)) throw Refused{"", ""};  // in a body: unrolled
  if (loop.first_after > 0 && !loop.counted && known_number(loop.body.outputs[0].name).value_or(0) == 0)
    throw decided_by_body();
  if (number.valid()) give_step_numbers(prefix, number, body);
  leave_body(node, loop, std::move(body), prefix);
}

/// Value `name` of one step of the body.
TensorId Walk::enter_value(const std::string& name, const std::string& prefix, Value value) {
  const TensorId id = draft.tensor_of(value, prefix + name);
  set_value(name, std::move(value));
  return id;
}

/// Its inputs get values of one step.
LoopBody Walk::enter_body(const Node& node, const Looped& loop, const std::string& prefix) {
  LoopBody body;
  body.steps = loop.count;
  std::vector<Value> initial;
  for (std::size_t s = 0; s < loop.states.size(); ++s) {
    const std::string all = own_name(fmt::format("{}state{}", prefix, s));
    initial.push_back(values_.at(loop.states[s]));
    Node start{node.title, node.name, node.op, "", {loop.states[s]}, {all}, {}};
    start.attributes["steps"] = integer_attribute(loop.count);
    make_statements(start, &start_state);
    body.states.push_back({{}, {}, values_.at(all).tensor});
  }
  enter_sequences(node, loop, prefix, body);
  if (loop.first_state == 2) enter_step(loop, prefix);
  for (std::size_t s = 0; s < initial.size(); ++s) {
    Value one{initial[s].dtype, initial[s].shape, {}, nullptr, ""};
    one.narrow = initial[s].narrow;
    body.states[s].before = enter_value(loop.body.inputs[loop.first_state + s].name, prefix, one);
  }
  body.first = draft.kernel.statements.size();
  return body;
}

/// A Loop's step number and condition.
void Walk::enter_step(const Looped& loop, const std::string& prefix) {
  const Sizes shape = loop.body.inputs[0].shape.value_or(Sizes{}).size() == 1 ? Sizes{1} : Sizes{};
  enter_value(loop.body.inputs[0].name, prefix, {DType::s64, shape, {}, nullptr, ""});
  TensorData truth = zeros(DType::boolean, {});
  truth.set(0, {0, 1});
  set_value(loop.body.inputs[1].name, {DType::boolean, {}, {}, std::make_shared<TensorData>(truth), ""});
}

/// The numbers of all steps, if the body reads its own.
void Walk::give_step_numbers(const std::string& prefix, TensorId number, LoopBody& body) {
  bool used = false;
  for (std::size_t s = body.first; s < draft.kernel.statements.size(); ++s)
    for (const Access& read : draft.kernel.statements[s].reads) used = used || read.tensor == number;
  if (!used) return;
  Sizes shape = draft.kernel.tensors[number.index()].shape;
  shape.insert(shape.begin(), body.steps);
  TensorData counted = zeros(DType::s64, shape);
  for (std::int64_t k = 0; k < body.steps; ++k) counted.set(k, {0, k});
  Value numbers{DType::s64, shape, {}, std::make_shared<TensorData>(std::move(counted)), ""};
  body.given[number] = {draft.tensor_of(numbers, prefix + "numbers"), 0, 0};
}

/// A reversed sequence is copied, and one of all sizes whose slices are not contiguous; one that is given twice is one
/// value of the body.
void Walk::enter_sequences(const Node& node, const Looped& loop, const std::string& prefix, LoopBody& body) {
  std::map<std::pair<TensorId, std::int64_t>, std::string> entered;
  for (std::size_t s = 0; s < loop.sequences.size(); ++s) {
    std::string name = loop.sequences[s];
    std::int64_t axis = loop.axes[s];
    if (loop.reversed[s] || (options_.of_all_sizes && axis > 0)) {
      const std::string moved = own_name(name + ".moved");
      Node move{node.title, node.name, node.op, "", {name}, {moved}, {}};
      move.attributes = {{"steps", integer_attribute(loop.count)},
                         {"from", integer_attribute(axis)},
                         {"to", integer_attribute(options_.of_all_sizes ? 0 : axis)},
                         {"reverse", integer_attribute(loop.reversed[s] ? 1 : 0)}};
      make_by(move, &move_steps);
      name = moved;
      if (options_.of_all_sizes) axis = 0;
    }
    draft.tensor_of(values_.at(name), name);
    const Value whole = values_.at(name);
    const std::string& inside = loop.body.inputs[loop.first_state + loop.states.size() + s].name;
    const auto [same, is_new] = entered.emplace(std::pair(whole.tensor, axis), inside);
    if (!is_new) {
      set_value(inside, Value(values_.at(same->second)));
      continue;
    }
    const TensorId id = enter_value(inside, prefix, step_of(whole, axis));
    body.given[id] = {whole.tensor, static_cast<std::size_t>(axis), 0};
  }
}

void Walk::leave_body(const Node& node, const Looped& loop, LoopBody body, const std::string& prefix) {
  const std::size_t states = body.states.size();
  const auto yielded = [&](std::size_t k) -> const std::string& {
    return loop.body.outputs[loop.first_after + k].name;
  };
  const auto value_of = [&](const std::string& name) {
    Value value = values_.at(name);
    draft.tensor_of(value, prefix + name);
    values_.at(name).tensor = value.tensor;
    return value;
  };
  std::vector<Value> after, results;
  for (std::size_t s = 0; s < states; ++s) {
    after.push_back(value_of(yielded(s)));
    const Tensor& before = draft.kernel.tensors[body.states[s].before.index()];
    if (after[s].shape != before.shape || after[s].dtype != before.dtype)
      throw Refused{"a state changes its shape or type", ""};
    body.states[s].after = after[s].tensor;
  }
  for (std::size_t k = states; k < node.outputs.size(); ++k) {
    results.push_back(value_of(yielded(k)));
    body.results.push_back(results.back().tensor);
  }
  const std::map<TensorId, Slice> slices = repeat_body(draft, body);
  for (std::size_t s = 0; s < states; ++s) {
    if (s >= node.outputs.size() || node.outputs[s].empty()) continue;
    take(node, own_name(fmt::format("{}state{}", prefix, s)), node.outputs[s], 0, loop.count);
    values_.at(node.outputs[s]).narrow = after[s].narrow;
  }
  for (std::size_t k = states; k < node.outputs.size(); ++k) {
    if (node.outputs[k].empty()) continue;
    const auto slice = slices.find(results[k - states].tensor);
    place_results(node, k, results[k - states], slice == slices.end() ? std::nullopt : std::optional(slice->second),
                  loop.count, states);
  }
}

/// Output `k` from the results of all steps, or from the one of each.
void Walk::place_results(const Node& node, std::size_t k, Value value, const std::optional<Slice>& slice,
                         std::int64_t count, std::size_t states) {
  const auto stated = [&](const char* name) -> std::int64_t {
    const auto found = node.attributes.find(name);
    return found == node.attributes.end() || k - states >= found->second.ints.size() ? 0
                                                                                     : found->second.ints[k - states];
  };
  const std::string from = own_name(node.outputs[k] + ".steps");
  const int narrow = value.narrow;
  if (slice) {
    value = {value.dtype, draft.kernel.tensors[slice->of.index()].shape, slice->of, nullptr, ""};
  }
  set_value(from, value);
  Node move{node.title, node.name, node.op, "", {from}, {node.outputs[k]}, {}};
  move.attributes = {{"steps", integer_attribute(count)},
                     {"to", integer_attribute(stated("scan_output_axes"))},
                     {"reverse", integer_attribute(stated("scan_output_directions"))}};
  if (slice) {
    move.attributes["from"] = integer_attribute(static_cast<std::int64_t>(slice->axis));
    move.attributes["offset"] = integer_attribute(slice->offset);
  }
  make_by(move, &move_steps);
  missing_.erase(node.outputs[k]);
  values_.at(node.outputs[k]).narrow = narrow;
}

}  // namespace isamap::importing

// SPDX-License-Identifier: Apache-2.0
#include "mapper/match/instruction_tree.h"

#include <algorithm>
#include <functional>
#include <map>

#include "ir/scalar/scalar_functions.h"

namespace isamap {
namespace {

constexpr double constant_slots = 1.0 / 64;  ///< of a register for a constant: decides between equal trees
constexpr int most_bindings = 256;           ///< of one instruction on one part of the body

using BoundParts = std::vector<const ScalarExpr*>;  ///< by read of the instruction: its part of the body

bool same_constant(const ScalarExpr& a, const ScalarExpr& b) {
  const auto *x = std::get_if<Constant>(&a.op), *y = std::get_if<Constant>(&b.op);
  return x && y && a.type == b.type &&
         (is_float(a.type) ? round_to(a.type, x->value) : x->value) ==
             (is_float(b.type) ? round_to(b.type, y->value) : y->value);
}

/// min(x, c) or max(x, c) as the select of an instruction: P < Q ? P : Q (P > Q for max), with P = c and Q = x.
struct ChosenOperand {
  BinaryOp op = BinaryOp::min;
  const ScalarExpr *first = nullptr, *second = nullptr;
};

std::optional<ChosenOperand> chosen_operand(const ScalarExpr& pattern) {
  if (!std::holds_alternative<Select>(pattern.op) || pattern.args.size() != 3) return std::nullopt;
  const ScalarExpr* test = &pattern.args[0];
  while (std::holds_alternative<Cast>(test->op)) test = &test->args[0];
  const auto* compared = std::get_if<Binary>(&test->op);
  if (!compared || test->args[0] != pattern.args[1] || test->args[1] != pattern.args[2]) return std::nullopt;
  if (compared->op == BinaryOp::less) return ChosenOperand{BinaryOp::min, &pattern.args[1], &pattern.args[2]};
  if (compared->op == BinaryOp::greater) return ChosenOperand{BinaryOp::max, &pattern.args[1], &pattern.args[2]};
  return std::nullopt;
}

bool has_no_equal_of_other_sign(const ScalarExpr& e) {
  const auto* c = std::get_if<Constant>(&e.op);
  return c && c->value == c->value && c->value != 0 && (!is_float(e.type) || round_to(e.type, c->value) != 0);
}

/// Every way in which the body of an instruction is this part of the statement's.
class PartMatcher {
 public:
  explicit PartMatcher(const Computation& semantics)
      : semantics_(semantics), binding_(semantics.reads.size(), nullptr) {}

  std::vector<BoundParts> matches(const ScalarExpr& part) {
    match(semantics_.body, part, [&] {
      if (std::none_of(binding_.begin(), binding_.end(), [](const ScalarExpr* e) { return e == nullptr; }))
        found_.push_back(binding_);
    });
    return std::move(found_);
  }

 private:
  using Next = std::function<void()>;

  void match(const ScalarExpr& pattern, const ScalarExpr& part, const Next& next) {
    if (pattern.type != part.type || found_.size() >= most_bindings) return;
    if (const auto* r = std::get_if<Read>(&pattern.op)) return bind(static_cast<std::size_t>(r->access), part, next);
    if (std::holds_alternative<Constant>(pattern.op)) {
      if (same_constant(pattern, part)) next();
      return;
    }
    if (const auto chosen = chosen_operand(pattern)) match_chosen(*chosen, part, next);
    if (pattern.op != part.op || pattern.args.size() != part.args.size()) return;
    match_arguments(pattern, part, 0, next);
    const auto* op = std::get_if<Binary>(&pattern.op);
    if (op && function_of(op->op).commutative && part.args[0] != part.args[1])
      match(pattern.args[0], part.args[1], [&] { match(pattern.args[1], part.args[0], next); });
  }

  void match_arguments(const ScalarExpr& pattern, const ScalarExpr& part, std::size_t i, const Next& next) {
    if (i == part.args.size()) return next();
    match(pattern.args[i], part.args[i], [&, i] { match_arguments(pattern, part, i + 1, next); });
  }

  void match_chosen(const ChosenOperand& chosen, const ScalarExpr& part, const Next& next) {
    const auto* op = std::get_if<Binary>(&part.op);
    if (!op || op->op != chosen.op) return;
    for (const std::size_t c : {std::size_t{1}, std::size_t{0}})
      if (has_no_equal_of_other_sign(part.args[c]))
        return match(*chosen.first, part.args[c], [&, c] { match(*chosen.second, part.args[1 - c], next); });
  }

  void bind(std::size_t read, const ScalarExpr& part, const Next& next) {
    const ScalarExpr* before = binding_[read];
    if (before != nullptr && *before != part) return;
    binding_[read] = &part;
    next();
    binding_[read] = before;
  }

  const Computation& semantics_;
  BoundParts binding_;
  std::vector<BoundParts> found_;
};

double issue_slots(const Instruction& instruction) {
  if (!instruction.timing.interval) return 1;
  const auto value = evaluate(*instruction.timing.interval, [&](const Reference& r) -> std::optional<std::int64_t> {
    const int d = r.object == "extent" ? instruction.statement().domain.find(r.argument) : -1;
    return d < 0 ? std::nullopt : std::optional(instruction.ranges[static_cast<std::size_t>(d)].max);
  });
  return value ? std::max<double>(1, static_cast<double>(*value)) : 1;
}

/// May it be a node of a tree? Nothing around a call of it is needed.
bool is_plain(const Instruction& i) {
  return is_compute(i) && i.semantics.size() == 1 && i.async_by.empty() && i.needs.empty() && i.sets.empty() &&
         i.clobbers.empty() && !is_irregular(i.statement()) &&
         std::all_of(i.operands.begin(), i.operands.end(), [](const Operand& o) { return o.memory.valid(); });
}

const Operand& operand_at(const Instruction& i, int access) { return i.operands[operand_of_access(i, access).index()]; }

bool same_place(Operand a, const Operand& b) {
  a.name = b.name;
  return a == b;
}

bool same_dims(const Instruction& a, const Instruction& b) {
  if (a.ranges != b.ranges || a.unit != b.unit) return false;
  return std::equal(a.statement().domain.dims.begin(), a.statement().domain.dims.end(),
                    b.statement().domain.dims.begin(), b.statement().domain.dims.end(),
                    [](const Dim& x, const Dim& y) { return x.name == y.name && x.extent == y.extent; });
}

bool has_dims(const Access& access) {
  return std::any_of(access.index.begin(), access.index.end(), [](const AffineExpr& e) { return !e.is_constant(); });
}

bool is_leaf(const ScalarExpr& part) {
  return std::holds_alternative<Read>(part.op) || std::holds_alternative<Constant>(part.op);
}

class Covering {
 public:
  /// `lanes`: the dim of the statement in the lanes; empty: any.
  Covering(const Computation& statement, const std::vector<Tensor>& tensors, const HardwareModel& model,
           std::string lanes = {})
      : statement_(statement), tensors_(tensors), model_(model), lanes_(std::move(lanes)) {}

  std::optional<InstructionTree> cheapest() {
    if (is_leaf(statement_.body) || is_irregular(statement_)) return std::nullopt;
    for (std::size_t i = 0; i < model_.instructions().size(); ++i)
      if (is_plain(model_.instructions()[i])) plain_.push_back(make_id<InstructionId>(i));
    const Choice& choice = best(statement_.body, {});
    if (!choice.instruction.valid()) return std::nullopt;
    std::vector<TreeCall> calls;
    append_best(statement_.body, {}, calls);
    return made(std::move(calls));
  }

  std::optional<InstructionTree> named(const std::vector<InstructionId>& names) {
    if (is_leaf(statement_.body) || is_irregular(statement_)) return std::nullopt;
    std::optional<InstructionTree> found;
    Reading reading{names, std::vector<TreeCall>(names.size())};
    read_back(statement_.body, {}, reading, static_cast<int>(names.size()) - 1, [&](int left) {
      if (left < 0 && !found) found = made(reading.calls);
    });
    return found;
  }

 private:
  /// The instruction and access that read a result; none: the root.
  struct Use {
    InstructionId instruction;
    int access = 0;
    auto operator<=>(const Use&) const = default;
  };
  struct Choice {
    InstructionId instruction;
    BoundParts binding;
    double slots = 0;
  };

  bool fits(const Instruction& producer, const Use& use) const {
    if (!use.instruction.valid()) return producer.statement().reduction == statement_.reduction;
    const Instruction& consumer = model_.instruction(use.instruction);
    return producer.statement().reduction == Reduction::assign && same_dims(producer, consumer) &&
           model_.memory(operand_at(producer, 0).memory).is_register() &&
           same_place(operand_at(producer, 0), operand_at(consumer, use.access)) &&
           producer.statement().write.index == access_of(consumer.statement(), use.access).index;
  }

  bool may_be_constant(const Instruction& consumer, int access) const {
    return model_.memory(operand_at(consumer, access).memory).is_register();
  }

  const Choice& best(const ScalarExpr& part, const Use& use) {
    const auto key = std::pair(&part, use);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    Choice least;
    for (const InstructionId id : plain_) {
      const Instruction& instruction = model_.instruction(id);
      if (!fits(instruction, use)) continue;
      for (BoundParts& binding : PartMatcher(instruction.statement()).matches(part)) {
        double slots = issue_slots(instruction);
        bool all = true;
        for (std::size_t r = 0; all && r < binding.size(); ++r)
          all = add_slots(*binding[r], {id, static_cast<int>(r) + 1}, slots);
        if (all && (!least.instruction.valid() || slots < least.slots)) least = {id, std::move(binding), slots};
      }
    }
    return known_.emplace(key, std::move(least)).first->second;
  }

  bool add_slots(const ScalarExpr& part, const Use& use, double& slots) {
    if (const auto* r = std::get_if<Read>(&part.op)) return steps_with_lanes(r->access, use);
    if (std::holds_alternative<Constant>(part.op)) {
      slots += constant_slots;
      return may_be_constant(model_.instruction(use.instruction), use.access);
    }
    const Choice& below = best(part, use);
    slots += below.slots;
    return below.instruction.valid();
  }

  /// Loads fill registers with one element or many; an operand in memory is read as the instruction states.
  bool steps_with_lanes(int read, const Use& use) const {
    if (lanes_.empty() || may_be_constant(model_.instruction(use.instruction), use.access)) return true;
    return has_dims(access_of(model_.instruction(use.instruction).statement(), use.access)) ==
           uses(statement_.reads[static_cast<std::size_t>(read)], lanes_);
  }

  static TreeInput leaf(const ScalarExpr& part) {
    if (const auto* r = std::get_if<Read>(&part.op)) return {TreeInput::From::read, r->access, 0};
    const double value = std::get<Constant>(part.op).value;
    return {TreeInput::From::constant, 0, is_float(part.type) ? round_to(part.type, value) : value};
  }

  int append_best(const ScalarExpr& part, const Use& use, std::vector<TreeCall>& calls) {
    const Choice choice = best(part, use);
    TreeCall call{choice.instruction, {}};
    for (std::size_t r = 0; r < choice.binding.size(); ++r)
      call.inputs.push_back(
          is_leaf(*choice.binding[r])
              ? leaf(*choice.binding[r])
              : TreeInput{TreeInput::From::call,
                          append_best(*choice.binding[r], {choice.instruction, static_cast<int>(r) + 1}, calls), 0});
    calls.push_back(std::move(call));
    return static_cast<int>(calls.size()) - 1;
  }

  /// The names of a tree, and the calls that they become.
  struct Reading {
    const std::vector<InstructionId>& names;
    std::vector<TreeCall> calls;
  };
  /// Continues with the last name that is not read yet.
  using Left = std::function<void(int left)>;

  /// Reads names from the last one backwards: that of this part, then those of its operands, the last operand first.
  void read_back(const ScalarExpr& part, const Use& use, Reading& reading, int at, const Left& next) {
    if (at < 0) return;
    const InstructionId id = reading.names[static_cast<std::size_t>(at)];
    const Instruction& instruction = model_.instruction(id);
    if (!is_plain(instruction) || !fits(instruction, use)) return;
    for (const BoundParts& binding : PartMatcher(instruction.statement()).matches(part)) {
      reading.calls[static_cast<std::size_t>(at)] = {id, std::vector<TreeInput>(binding.size())};
      read_operands(binding, at, static_cast<int>(binding.size()) - 1, reading, {at - 1, next});
    }
  }

  struct Rest {
    int at = 0;  ///< the next name
    Left next;
  };

  /// Of the call at this place, operands from number r down to the first.
  void read_operands(const BoundParts& binding, int call, int r, Reading& reading, const Rest& rest) {
    if (r < 0) return rest.next(rest.at);
    const ScalarExpr& part = *binding[static_cast<std::size_t>(r)];
    const Use use{reading.names[static_cast<std::size_t>(call)], r + 1};
    TreeInput& input = reading.calls[static_cast<std::size_t>(call)].inputs[static_cast<std::size_t>(r)];
    if (is_leaf(part)) {
      if (std::holds_alternative<Constant>(part.op) && !may_be_constant(model_.instruction(use.instruction), r + 1))
        return;
      input = leaf(part);
      return read_operands(binding, call, r - 1, reading, rest);
    }
    read_back(part, use, reading, rest.at, [&, r, call](int left) {
      reading.calls[static_cast<std::size_t>(call)].inputs[static_cast<std::size_t>(r)] = {TreeInput::From::call,
                                                                                           rest.at, 0};
      read_operands(binding, call, r - 1, reading, {left, rest.next});
    });
  }

  /// With its form; nothing: two instructions take one read from different places.
  std::optional<InstructionTree> made(std::vector<TreeCall> calls) const {
    auto form = std::make_shared<Instruction>(model_.instruction(calls.back().instruction));
    form->name = tree_name(calls, model_);
    form->tensors.resize(1);
    form->operands.resize(1);
    form->legal.clear();
    Computation& whole = form->semantics.back();
    whole.body = statement_.body;
    whole.reads.assign(statement_.reads.size(), Access{});
    for (std::size_t r = 0; r < whole.reads.size(); ++r) {
      Tensor tensor;
      tensor.name = "X" + std::to_string(r + 1);
      tensor.dtype = tensors_[statement_.reads[r].tensor.index()].dtype;
      form->tensors.push_back(std::move(tensor));
      form->operands.emplace_back();
      whole.reads[r].tensor = make_id<TensorId>(r + 1);
    }
    std::vector<bool> seen(whole.reads.size(), false);
    for (const TreeCall& call : calls)
      if (!place_reads(call, *form, seen)) return std::nullopt;
    add_up_times(calls, *form);
    InstructionTree tree;
    tree.calls = std::move(calls);
    tree.form = std::move(form);
    return tree;
  }

  bool place_reads(const TreeCall& call, Instruction& form, std::vector<bool>& seen) const {
    const Instruction& own = model_.instruction(call.instruction);
    for (std::size_t r = 0; r < call.inputs.size(); ++r) {
      if (call.inputs[r].from != TreeInput::From::read) continue;
      const auto read = static_cast<std::size_t>(call.inputs[r].number);
      Operand operand = operand_at(own, static_cast<int>(r) + 1);
      operand.name = form.tensors[read + 1].name;
      const Tensor& tensor = own.tensors[own.statement().reads[r].tensor.index()];
      const std::vector<AffineExpr>& index = own.statement().reads[r].index;
      Access& access = form.semantics.back().reads[read];
      if (seen[read] && (operand != form.operands[read + 1] || index != access.index)) return false;
      seen[read] = true;
      form.operands[read + 1] = std::move(operand);
      form.tensors[read + 1].shape = tensor.shape;
      form.tensors[read + 1].dtype = tensor.dtype;
      access.index = index;
    }
    return true;
  }

  /// One after another: intervals add up on the port of the tree's largest share, latencies along the whole.
  void add_up_times(const std::vector<TreeCall>& calls, Instruction& form) const {
    std::map<std::string, double> on_port;
    for (const TreeCall& call : calls) {
      const Instruction& own = model_.instruction(call.instruction);
      on_port[own.timing.port] += issue_slots(own);
    }
    form.timing.port = std::max_element(on_port.begin(), on_port.end(), [](const auto& a, const auto& b) {
                         return a.second < b.second;
                       })->first;
    form.timing.interval.reset();
    form.timing.latency.reset();
    form.energy_pJ = 0;
    for (const TreeCall& call : calls) {
      const Instruction& own = model_.instruction(call.instruction);
      if (own.timing.port == form.timing.port) add_to(form.timing.interval, own.timing.interval);
      add_to(form.timing.latency, own.timing.latency);
      form.energy_pJ += own.energy_pJ;
      form.numerics.order_any = form.numerics.order_any || own.numerics.order_any;
      for (const std::string& feature : own.requires_features)
        if (std::find(form.requires_features.begin(), form.requires_features.end(), feature) ==
            form.requires_features.end())
          form.requires_features.push_back(feature);
    }
  }

  static void add_to(std::optional<IntExpr>& sum, const std::optional<IntExpr>& term) {
    IntExpr one;
    one.number = 1;
    const IntExpr added = term.value_or(one);
    if (!sum) {
      sum = added;
      return;
    }
    IntExpr both;
    both.op = IntExpr::Op::add;
    both.args = {*sum, added};
    sum = std::move(both);
  }

  const Computation& statement_;
  const std::vector<Tensor>& tensors_;
  const HardwareModel& model_;
  std::string lanes_;
  std::vector<InstructionId> plain_;
  std::map<std::pair<const ScalarExpr*, Use>, Choice> known_;
};

}  // namespace

std::optional<InstructionTree> cheapest_tree(const Computation& statement, const std::vector<Tensor>& tensors,
                                             const HardwareModel& model) {
  return Covering(statement, tensors, model).cheapest();
}

std::vector<InstructionTree> cheapest_trees(const Computation& statement, const std::vector<Tensor>& tensors,
                                            const HardwareModel& model) {
  auto first = cheapest_tree(statement, tensors, model);
  if (!first) return {};
  const bool reads_memory = std::any_of(first->form->operands.begin() + 1, first->form->operands.end(),
                                        [&](const Operand& o) { return !model.memory(o.memory).is_register(); });
  std::vector<InstructionTree> trees{std::move(*first)};
  if (!reads_memory) return trees;
  for (const Dim& dim : statement.domain.dims) {
    if (dim.kind == DimKind::reduction) continue;
    auto tree = Covering(statement, tensors, model, dim.name).cheapest();
    if (tree && std::find(trees.begin(), trees.end(), *tree) == trees.end()) trees.push_back(std::move(*tree));
  }
  return trees;
}

std::optional<InstructionTree> tree_named(const std::string& names, const Computation& statement,
                                          const std::vector<Tensor>& tensors, const HardwareModel& model) {
  std::vector<InstructionId> ids;
  for (std::size_t begin = 0; begin <= names.size();) {
    const std::size_t end = std::min(names.find('.', begin), names.size());
    const auto id = model.find_instruction(names.substr(begin, end - begin));
    if (!id) return std::nullopt;
    ids.push_back(*id);
    begin = end + 1;
  }
  return Covering(statement, tensors, model).named(ids);
}

std::string tree_name(const std::vector<TreeCall>& calls, const HardwareModel& model) {
  std::string name;
  for (const TreeCall& call : calls) name += (name.empty() ? "" : ".") + model.instruction(call.instruction).name;
  return name;
}

namespace {

/// Values that its calls read from registers.
std::vector<double> constants_of(const InstructionTree& tree) {
  std::vector<double> values;
  for (const TreeCall& call : tree.calls)
    for (const TreeInput& input : call.inputs)
      if (input.from == TreeInput::From::constant &&
          std::find(values.begin(), values.end(), input.value) == values.end())
        values.push_back(input.value);
  return values;
}

/// Does its text read all operands before it writes the result, `{C} = expression;`? Then one register serves both.
bool reads_before_it_writes(const Instruction& instruction) {
  const std::vector<std::variant<std::string, Placeholder>>& parts = instruction.emit.parts;
  const std::string& result = instruction.operands[operand_of_access(instruction, 0).index()].name;
  const auto* first = parts.empty() ? nullptr : std::get_if<Placeholder>(&parts.front());
  const auto* then = parts.size() < 2 ? nullptr : std::get_if<std::string>(&parts[1]);
  if (!first || first->text != result || !then || !then->starts_with(" = ")) return false;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const auto* text = std::get_if<std::string>(&parts[i]);
    const std::size_t end = text ? text->find(';') : std::string::npos;
    if (end != std::string::npos && (i + 1 < parts.size() || end + 1 < text->size())) return false;
  }
  return true;
}

}  // namespace

std::vector<int> result_registers(const InstructionTree& tree, const HardwareModel& model) {
  std::vector<int> number(tree.calls.size(), -1);
  std::vector<bool> used;
  for (std::size_t c = 0; c + 1 < tree.calls.size(); ++c) {
    const auto release_operands = [&] {
      for (const TreeInput& input : tree.calls[c].inputs)
        if (input.from == TreeInput::From::call)
          used[static_cast<std::size_t>(number[static_cast<std::size_t>(input.number)])] = false;
    };
    const bool overlaps = reads_before_it_writes(model.instruction(tree.calls[c].instruction));
    if (overlaps) release_operands();
    const auto free = static_cast<std::size_t>(std::find(used.begin(), used.end(), false) - used.begin());
    if (free == used.size()) used.push_back(false);
    if (!overlaps) release_operands();
    used[free] = true;
    number[c] = static_cast<int>(free);
  }
  return number;
}

std::int64_t registers_beside_operands(const InstructionTree& tree, const HardwareModel& model) {
  std::int64_t results = 0;
  for (const int number : result_registers(tree, model)) results = std::max<std::int64_t>(results, number + 1);
  return results + static_cast<std::int64_t>(constants_of(tree).size());
}

}  // namespace isamap

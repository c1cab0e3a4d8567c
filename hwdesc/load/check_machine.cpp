// SPDX-License-Identifier: Apache-2.0
// Checks that the instructions form a machine: setters for state, makers for masks, and moves to fill and drain
// operands.

#include <algorithm>
#include <set>
#include <string_view>

#include "hwdesc/load/loader_internal.h"
#include "hwdesc/model/encodable_values.h"
#include "hwdesc/model/instruction_pairs.h"
#include "hwdesc/model/program_language.h"
#include "ir/legal.h"
#include "ir/operand_use.h"
#include "ir/start.h"

namespace isamap::loader {

namespace {

const Memory& memory_of(const Context& context, MemoryId id) { return context.parts.memories[id.index()]; }

// --- state and masks: errors ---

/// `D.rows` of an operand in `tile` is the field `tile.rows`.
std::string field_of(const Instruction& instruction, const std::string& field, const Context& context) {
  const std::size_t dot = field.find('.');
  for (const Operand& operand : instruction.operands)
    if (operand.name == field.substr(0, dot) && operand.memory.valid())
      return memory_of(context, operand.memory).name + field.substr(dot);
  return field;
}

bool kept_by_compiler(const std::string& field, const Context& context) {
  const State* state = find_state(context.parts.states, field.substr(0, field.find('.')));
  return state != nullptr && std::find(state->kept_by.begin(), state->kept_by.end(), context.model.program.language) !=
                                 state->kept_by.end();
}

/// Of the field of an instance of a state; nothing: it has none, or there is no such field.
std::optional<std::int64_t> reset_of(const std::string& field, const Context& context) {
  const std::size_t dot = std::min(field.find('.'), field.size());
  const State* state = find_state(context.parts.states, field.substr(0, dot));
  if (state == nullptr || dot == field.size()) return std::nullopt;
  for (const StateField& f : state->fields)
    if (f.name == field.substr(dot + 1)) return f.reset;
  return std::nullopt;
}

bool holds_at_entry(const std::string& field, const StateValue& need, const Context& context) {
  return need.value.op == IntExpr::Op::number && reset_of(field, context) == need.value.number;
}

bool known_at_entry(const std::string& field, const Context& context) { return reset_of(field, context).has_value(); }

/// Refuses two units with threads, as programs have one team, and state with threads: each thread would have its own
/// fields, while programs set them outside the loop over instances.
void check_threads(Context& context) {
  const Unit* threaded = nullptr;
  for (const Unit& unit : context.parts.units) {
    if (unit.threads.loop.empty()) continue;
    if (threaded != nullptr)
      context.problems.error(unit.where, "unit '" + unit.name + "' has 'threads', and so has '" + threaded->name + "'",
                             "give them to one unit that counts the threads of all");
    threaded = &unit;
  }
  for (const Unit& unit : context.parts.units)
    if (!unit.threads.loop.empty() && !context.parts.states.empty())
      context.problems.error(unit.where,
                             "unit '" + unit.name + "' has 'threads', and the machine has the state '" +
                                 context.parts.states.front().name + "', which each thread would have to set",
                             "leave 'threads' out: instances run one after another");
}

void check_setters(Context& context) {
  std::set<std::string> set;
  for (const Instruction& instruction : context.parts.instructions)
    for (const StateValue& value : instruction.sets) set.insert(value.field);
  for (const Instruction& instruction : context.parts.instructions)
    for (const StateValue& need : instruction.needs) {
      const std::string field = field_of(instruction, need.field, context);
      if (set.count(field) || kept_by_compiler(field, context) || holds_at_entry(field, need, context)) continue;
      context.problems.error(instruction.where,
                             "instruction '" + instruction.name + "' needs '" + field + "', which no instruction sets",
                             "add a setter: {name: .., unit: .., sets: [" + field + "], emit: ..}");
    }
  for (const Instruction& instruction : context.parts.instructions)
    for (const Operand& operand : instruction.operands) {
      const std::string& field = operand.state;
      if (field.empty() || set.count(field) || kept_by_compiler(field, context) || known_at_entry(field, context))
        continue;
      context.problems.error(instruction.where,
                             "operand '" + operand.name + "' of instruction '" + instruction.name + "' is '" + field +
                                 "', which no instruction sets",
                             "add a setter: {name: .., unit: .., sets: [" + field + "], emit: ..}");
    }
  for (const Instruction& instruction : context.parts.instructions)
    for (const Condition& condition : conditions(instruction))
      for (const Reference& r : references(condition)) {
        const std::string field = field_of(instruction, r.object + "." + r.property, context);
        if (r.property.empty() || !r.argument.empty() || set.count(field) || kept_by_compiler(field, context) ||
            known_at_entry(field, context))
          continue;
        context.problems.error(
            instruction.where,
            "'legal' of instruction '" + instruction.name + "' asks for '" + field + "', which no instruction sets",
            "add a setter: {name: .., unit: .., sets: [" + field + "], emit: ..}");
      }
}

void check_masks(Context& context) {
  for (const Instruction& instruction : context.parts.instructions)
    for (const auto& [dim, memory] : instruction.masks) {
      const int d = instruction.statement().domain.find(dim);
      const std::int64_t extent = d < 0 ? 1 : instruction.ranges[static_cast<std::size_t>(d)].max;
      const bool made = std::any_of(context.parts.instructions.begin(), context.parts.instructions.end(),
                                    [&, m = memory](const Instruction& fill) {
                                      const bool fills = fill_value(fill) == 1.0 && fill.operands.front().memory == m &&
                                                         fill.operands.front().dtype == DType::b1;
                                      return fills && fill.inactive == Inactive::zero && fill.ranges.size() == 1 &&
                                             fill.ranges[0].max >= extent;
                                    });
      if (!made)
        context.problems.error(
            instruction.where, "nothing makes the mask of dim '" + dim + "' of instruction '" + instruction.name + "'",
            "add a fill of '" + memory_of(context, memory).name + "' with 1 over a ranged dim of at least " +
                std::to_string(extent) + ", inactive: zero");
    }
}

// --- composition of layouts, by sets of bytes ---

using Bytes = std::optional<std::vector<std::int64_t>>;  // sorted

/// The bytes of its registers that an operand covers; instances of a unit are far apart.
Bytes bytes_of(const Instruction& instruction, std::size_t i, Context& context) {
  const Operand& operand = instruction.operands[i];
  if (!operand.dtype || bits(*operand.dtype) < 8 || context.points_left <= 0) return std::nullopt;
  const auto places = positions(operand, instruction.tensors[i].shape);
  if (!places) return std::nullopt;
  context.points_left -= std::ssize(*places);
  const auto* fragment = std::get_if<FragmentLayout>(&operand.layout);
  const std::int64_t elements = fragment ? fragment->over.back().second : INT64_MAX, width = bytes(*operand.dtype);
  std::vector<std::int64_t> covered;
  for (const std::int64_t place : *places)
    for (std::int64_t b = 0; b < width; ++b)
      covered.push_back((place / elements) * (std::int64_t{1} << 24) + (place % elements) * width + b);
  std::sort(covered.begin(), covered.end());
  return covered;
}

/// An operand to be written, and its bytes, computed on demand.
struct ReadOperand {
  const Instruction& user;
  std::size_t operand;
  std::optional<Bytes> known = std::nullopt;
};

/// Can `writer`, alone or piece by piece, write the operand?
bool can_write(const Instruction& writer, ReadOperand& what, Context& context) {
  const Operand& target = writer.operands.front();
  const Operand& reader = what.user.operands[what.operand];
  if (target.memory != reader.memory || !same_type(target, reader)) return false;
  if (std::holds_alternative<FragmentLayout>(target.layout) != std::holds_alternative<FragmentLayout>(reader.layout))
    return true;
  if (target.layout == reader.layout && writer.tensors.front().shape == what.user.tensors[what.operand].shape)
    return true;
  if (!what.known) what.known = bytes_of(what.user, what.operand, context);
  const Bytes written = bytes_of(writer, 0, context);
  const Bytes& needed = *what.known;
  if (!written || !needed) return true;
  return std::includes(written->begin(), written->end(), needed->begin(), needed->end()) ||
         std::includes(needed->begin(), needed->end(), written->begin(), written->end());
}

// --- filling and draining: warnings ---

class Reach {
 public:
  explicit Reach(Context& context) : context_(context), memories_(context.parts.memories.size()) {
    for (const Instruction& i : context.parts.instructions)
      if (!i.semantics.empty() && !fill_value(i)) steps_.push_back(step_of(i));
    moved_ = spread_moves();
    filled_ = spread(true);
    emptied_ = spread(false);
  }
  /// By moves, or scalar code: data of a dram memory reaches it.
  bool moved_in(MemoryId m) const { return moved_[m.index()]; }
  /// By any instructions: results from data reach it, or reach a dram memory from it.
  bool filled(MemoryId m) const { return filled_[m.index()]; }
  bool emptied(MemoryId m) const { return emptied_[m.index()]; }

 private:
  /// The memories that an instruction reads, without updated operands, and the one it writes.
  struct Step {
    std::vector<MemoryId> from;
    MemoryId to;
    bool moves = false;
  };
  static Step step_of(const Instruction& instruction) {
    Step step{{}, instruction.operands[0].memory, is_move(instruction)};
    for (std::size_t o = 1; o < instruction.operands.size(); ++o)
      if (instruction.operands[o].memory.valid()) step.from.push_back(instruction.operands[o].memory);
    return step;
  }

  bool scalar_reaches(const Memory& memory) const {
    if (memory.is_register() || memory.kind == MemoryKind::cache) return false;
    const auto& units = context_.parts.units;
    for (std::size_t i = 0; i < units.size(); ++i)
      for (UnitId u = make_id<UnitId>(i); units[i].scalar && u.valid(); u = units[u.index()].parent)
        if (u == memory.per) return true;
    return false;
  }

  std::vector<bool> dram_and_scalar() const {
    std::vector<bool> reached(memories_, false);
    for (std::size_t m = 0; m < memories_; ++m)
      reached[m] = context_.parts.memories[m].kind == MemoryKind::dram || scalar_reaches(context_.parts.memories[m]);
    return reached;
  }

  std::vector<bool> spread_moves() const {
    std::vector<bool> reached = dram_and_scalar();
    for (std::size_t round = 0; round < memories_; ++round)
      for (const Step& step : steps_)
        if (step.moves && step.to.valid() && !step.from.empty() && reached[step.from[0].index()])
          reached[step.to.index()] = true;
    return reached;
  }

  std::vector<bool> spread(bool forward) const {
    std::vector<bool> reached = dram_and_scalar();
    for (std::size_t round = 0; round < memories_; ++round)
      for (const Step& step : steps_) {
        if (!step.to.valid()) continue;
        if (forward && std::all_of(step.from.begin(), step.from.end(), [&](MemoryId m) { return reached[m.index()]; }))
          reached[step.to.index()] = true;
        for (const MemoryId from : step.from)
          if (!forward && reached[step.to.index()]) reached[from.index()] = true;
      }
    return reached;
  }

  Context& context_;
  std::size_t memories_;
  std::vector<Step> steps_;
  std::vector<bool> moved_, filled_, emptied_;
};

class Feeding {
 public:
  explicit Feeding(Context& context) : context_(context), reach_(context) {}

  void check(const Instruction& user) {
    const std::string what = "instruction '" + user.name + "'";
    for (std::size_t i = 0; i < user.operands.size(); ++i) {
      const Operand& operand = user.operands[i];
      if (!operand.memory.valid()) continue;
      if (i == 0)
        check_result(user, operand);
      else if (!reach_.filled(operand.memory))
        once(operand.memory, "in",
             "nothing moves data from a dram memory to '" + memory_of(context_, operand.memory).name + "', which " +
                 what + " reads",
             "add a move: compute: \"D[i] = S[i]\" on a link");
      else if (memory_of(context_, operand.memory).is_register() && !filled(user, i))
        context_.problems.warning(user.where, "operand '" + operand.name + "' of " + what +
                                                  " can be filled only by scalar code: no move into '" +
                                                  memory_of(context_, operand.memory).name +
                                                  "' writes its layout in its type");
    }
  }

 private:
  void check_result(const Instruction& user, const Operand& result) {
    const std::string& memory = memory_of(context_, result.memory).name;
    if (!reach_.emptied(result.memory))
      once(result.memory, "out",
           "nothing moves results from '" + memory + "' to a dram memory: what instruction '" + user.name +
               "' writes cannot be read out",
           "add a move out of it");
    if (user.statement().reduction == Reduction::assign || may_start(user, Start::zero)) return;
    const bool scalar = !memory_of(context_, result.memory).is_register() && reach_.moved_in(result.memory);
    if (!scalar && !cleared(user))
      once(result.memory, "clear", "nothing clears '" + memory + "', which instruction '" + user.name + "' updates",
           "add a fill: compute: \"D[i] = 0\", or start: {" + result.name + ": [zero, keep]}");
  }

  bool filled(const Instruction& user, std::size_t i) {
    ReadOperand reader{user, i};
    return any_writer(
        [&](const Instruction& writer) { return writes_data(writer) && can_write(writer, reader, context_); });
  }
  static bool writes_data(const Instruction& writer) { return !writer.semantics.empty() && !fill_value(writer); }

  bool cleared(const Instruction& user) {
    ReadOperand reader{user, 0};
    return any_writer([&](const Instruction& writer) {
      return (fill_value(writer) == 0.0 || is_move(writer)) && can_write(writer, reader, context_);
    });
  }

  template <class Test>
  bool any_writer(Test test) {
    return std::any_of(context_.parts.instructions.begin(), context_.parts.instructions.end(), test);
  }

  void once(MemoryId memory, const std::string& kind, const std::string& message, const std::string& hint) {
    if (said_.insert(std::to_string(memory.value) + kind).second)
      context_.problems.warning(memory_of(context_, memory).where, message, hint);
  }

  Context& context_;
  Reach reach_;
  std::set<std::string> said_;
};

/// Without an interval on any move, cost models count moves as free: not intended if they state other times.
void check_times_of_moves(Context& context) {
  const auto& all = context.parts.instructions;
  const auto timed = [](const Instruction& i) { return i.timing.interval.has_value(); };
  const auto move = std::find_if(all.begin(), all.end(), [](const Instruction& i) {
    return is_move(i) && (i.timing.latency || !i.timing.port.empty());
  });
  const bool moves = std::any_of(all.begin(), all.end(), [&](const Instruction& i) { return is_move(i) && timed(i); });
  if (move != all.end() && !moves)
    context.problems.warning(
        move->where,
        "moves have times, and none has a 'timing: {interval: ..}': the cost model then counts moves "
        "as free, overlapped with calls",
        "give moves their intervals, 1cycles where nothing else is known");
}

/// Does the text assign to the operand, as `{D} = load({S});` and `{C} += {A};` do?
bool assigns_to(const Template& text, const Operand& operand) {
  for (std::size_t i = 0; i + 1 < text.parts.size(); ++i) {
    const auto* placeholder = std::get_if<Placeholder>(&text.parts[i]);
    const auto* literal = std::get_if<std::string>(&text.parts[i + 1]);
    if (!placeholder || !literal || placeholder->expr.op != IntExpr::Op::reference) continue;
    const Reference& r = placeholder->expr.reference;
    std::string_view rest = *literal;
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    if (!rest.empty() && std::string_view("+-*/|&^").find(rest.front()) != std::string_view::npos)
      rest.remove_prefix(1);
    if (r.object == operand.name && r.property.empty() && rest.starts_with('=') && !rest.starts_with("==")) return true;
  }
  return false;
}

/// A register that a compiler allocates is a variable of the type in `value`; without it texts get its number.
void check_variables(Context& context) {
  if (is_command_stream(context.model)) return;
  std::set<std::size_t> reported;
  for (const Instruction& instruction : context.parts.instructions)
    for (const Operand& operand : instruction.operands) {
      if (!operand.memory.valid() || !assigns_to(instruction.emit, operand)) continue;
      const Memory& memory = context.parts.memories[operand.memory.index()];
      if (!memory.is_register() || memory.named_by_compiler() || !memory.print.empty()) continue;
      if (!reported.insert(operand.memory.index()).second) continue;
      context.problems.error(memory.where,
                             "register file '" + memory.name +
                                 "' has no 'value', so its registers are numbers; the "
                                 "text of instruction '" +
                                 instruction.name + "' assigns to {" + operand.name + "}",
                             "write value: TYPE, the type of a variable that holds one register");
    }
}

}  // namespace

void check_machine(Context& context) {
  check_threads(context);
  check_variables(context);
  check_times_of_moves(context);
  check_setters(context);
  check_masks(context);
  check_moved_types(context);
  check_words(context);
  if (context.problems.any_errors()) return;
  if (context.parts.instructions.size() > most_paired_instructions) return;
  Feeding feeding(context);
  for (const Instruction& instruction : context.parts.instructions)
    if (is_compute(instruction)) feeding.check(instruction);
}

}  // namespace isamap::loader

// SPDX-License-Identifier: Apache-2.0
// Checks that every name in a template or an expression is defined, and that written operands are printed.

#include <algorithm>

#include "hwdesc/load/loader_internal.h"
#include "hwdesc/model/encodable_values.h"
#include "ir/legal.h"
#include "support/box.h"

namespace isamap::loader {

namespace {

const Operand* find_operand(const Instruction& instruction, const std::string& name) {
  for (const Operand& operand : instruction.operands)
    if (operand.name == name) return &operand;
  return nullptr;
}

bool has_field(const std::vector<StateField>& fields, const std::string& name) {
  return std::any_of(fields.begin(), fields.end(), [&](const StateField& f) { return f.name == name; });
}

const Memory* find_memory(const Context& context, const std::string& name) {
  for (const Memory& memory : context.parts.memories)
    if (memory.name == name) return &memory;
  return nullptr;
}

bool has_dim(const Instruction& instruction, const std::string& name) {
  if (instruction.semantics.empty()) return false;
  return std::any_of(instruction.semantics.begin(), instruction.semantics.end(),
                     [&](const Computation& c) { return c.domain.find(name) >= 0; });
}

struct Scope {
  const Instruction& instruction;
  Context& context;
  bool in_template;

  std::string operand_problem(const Operand& operand, const Reference& r) const {
    switch (property_of(r)) {
      case OperandProperty::none:
      case OperandProperty::index:
      case OperandProperty::group:
        return "";
      case OperandProperty::type:
        return in_template ? "" : "'" + r.object + ".type' is no number";
      case OperandProperty::stride:
      case OperandProperty::pitch:
        return stride_problem(operand, r);
      case OperandProperty::coord: {
        const bool known =
            std::find(operand.index_names.begin(), operand.index_names.end(), r.argument) != operand.index_names.end();
        return known ? "" : "'" + operand.name + "' has no index '" + r.argument + "'";
      }
      case OperandProperty::field:
        break;
    }
    if (operand.memory.valid() && has_field(context.parts.memories[operand.memory.index()].fields, r.property))
      return "";
    return "'" + r.object + "." + r.property +
           "' means nothing: an operand has .type, .index, .group, .stride[..], .pitch[..], .coord[..] and the fields "
           "of its memory";
  }

  std::string stride_problem(const Operand& operand, const Reference& r) const {
    const auto* layout = std::get_if<StridedLayout>(&operand.layout);
    std::vector<std::string> free;
    if (layout)
      for (const StrideTerm& term : layout->terms)
        if (!term.stride && term.each.empty()) free.push_back(term.text);
    if (std::find(free.begin(), free.end(), r.argument) != free.end()) return "";
    return "'" + r.object + "." + r.property + "[" + r.argument +
           "]' is no free stride of the layout (free: " + (free.empty() ? "none" : join(free)) + ")";
  }

  /// The problem of the reference; nothing: none.
  std::string problem(const Reference& r) const {
    if (r.object == "extent") return has_dim(instruction, r.argument) ? "" : "there is no dim '" + r.argument + "'";
    if (r.object == "mask") {
      for (const auto& [dim, memory] : instruction.masks)
        if (dim == r.argument) return "";
      return "dim '" + r.argument + "' has no mask";
    }
    if ((r.object == "push" || r.object == "pop") && r.property.empty() && !r.argument.empty()) return token_problem(r);
    if (r.object == "start") {
      for (const auto& [name, choices] : instruction.start)
        if (name == r.argument) return "";
      return "'start' says nothing of '" + r.argument + "'";
    }
    if (const Operand* operand = find_operand(instruction, r.object)) return operand_problem(*operand, r);
    if (r.object == "pack" && r.property.empty()) return instruction.pack ? "" : "the instruction has no 'pack'";
    if (!r.property.empty()) return field_problem(r.object, r.property);
    if (find_symbol(context, r.object)) return "";
    const std::string dim = r.object.substr(r.object.starts_with('$') ? 1 : 0);
    if (has_dim(instruction, dim))
      return "'" + r.object + "' is no number: the extent of dim " + dim + " is extent[" + dim + "]";
    return "'" + r.object + "' is no operand, dim, state or symbol";
  }

  /// An instruction of a unit ordered by tokens without a port: check_tokens reports it once.
  bool lacks_queue() const {
    return instruction.timing.port.empty() && instruction.unit.valid() &&
           context.parts.units[instruction.unit.index()].tokens && !instruction.semantics.empty();
  }

  /// An instruction pushes tokens from its own queue and pops those to it.
  std::string token_problem(const Reference& r) const {
    for (const AsyncObject& object : context.parts.async) {
      if (object.name != r.argument || object.kind != AsyncKind::tokens) continue;
      const std::string& port = r.object == "push" ? object.from : object.to;
      if (port == instruction.timing.port || lacks_queue()) return "";
      return "tokens of '" + object.name + "' are " + (r.object == "push" ? "given by" : "taken by") + " queue '" +
             port + "', and this is an instruction of " +
             (instruction.timing.port.empty() ? "no queue: it has no 'timing: {port: ..}'"
                                              : "'" + instruction.timing.port + "'");
    }
    return "there are no tokens '" + r.argument + "'";
  }

  std::string field_problem(const std::string& object, const std::string& field) const {
    if (const State* state = find_state(context.parts.states, object))
      return has_field(state->fields, field) ? "" : "state '" + object + "' has no field '" + field + "'";
    if (const Memory* memory = find_memory(context, object))
      return has_field(memory->fields, field) ? "" : "memory '" + object + "' has no field '" + field + "'";
    for (const AsyncObject& async : context.parts.async)
      if (async.name == object && field == "at") return "";
    return "'" + object + "." + field + "': there is no operand, state or memory '" + object + "'";
  }
};

std::vector<std::string> operand_names(const Instruction& instruction) {
  std::vector<std::string> names;
  for (const Operand& operand : instruction.operands) names.push_back(operand.name);
  return names;
}

std::vector<std::string> dim_names(const Instruction& instruction) {
  std::vector<std::string> names;
  if (!instruction.semantics.empty())
    for (const Dim& dim : instruction.statement().domain.dims) names.push_back(dim.name);
  return names;
}

/// The possible names, for hints.
std::vector<std::string> candidates(const Reference& r, const Scope& scope) {
  std::vector<std::string> names = operand_names(scope.instruction);
  if (!r.argument.empty()) names = dim_names(scope.instruction);
  if (r.property.empty() && r.argument.empty())
    for (const Symbol& symbol : scope.context.parts.symbols) names.push_back(symbol.name);
  return names;
}

void add_divisors(const IntExpr& e, std::vector<const IntExpr*>& divisors) {
  const bool divides = e.op == IntExpr::Op::div || e.op == IntExpr::Op::mod;
  if (divides && e.args[1].op != IntExpr::Op::number) divisors.push_back(&e.args[1]);  // 0 does not parse
  for (const IntExpr& arg : e.args) add_divisors(arg, divisors);
}

/// The extents of a dim that a divisor is tried at: all if they are few.
std::vector<std::int64_t> extents_to_try(const DimRange& range, std::size_t dims) {
  std::vector<std::int64_t> extents = some_extents(range, dims < 2 ? 4096 : 64);
  if (range.min == 0) extents.push_back(0);
  return extents;
}

/// Of `extent[x]`; -1: another reference.
int dim_of(const Reference& r, const Instruction& instruction) {
  return r.object == "extent" ? instruction.statement().domain.find(r.argument) : -1;
}

/// "where x = 3": extents of a use at which a divisor of the expression is 0; empty: none is known.
std::string zero_divisor(const IntExpr& e, const Scope& scope) {
  const Instruction& instruction = scope.instruction;
  std::vector<const IntExpr*> divisors;
  if (!instruction.semantics.empty()) add_divisors(e, divisors);
  for (const IntExpr* divisor : divisors) {
    std::vector<std::size_t> dims;
    for (const Reference& r : references(*divisor)) {
      const int d = dim_of(r, instruction);
      if (d >= 0 && std::find(dims.begin(), dims.end(), static_cast<std::size_t>(d)) == dims.end())
        dims.push_back(static_cast<std::size_t>(d));
    }
    if (dims.size() > 2) continue;
    std::vector<std::int64_t> extents = largest_extents(instruction);
    std::vector<std::vector<std::int64_t>> choices;
    Box box, at(dims.size(), 0);
    for (const std::size_t d : dims) choices.push_back(extents_to_try(instruction.ranges[d], dims.size()));
    for (const auto& of : choices) box.push_back(static_cast<std::int64_t>(of.size()));
    do {
      std::string text;
      for (std::size_t i = 0; i < dims.size(); ++i) {
        extents[dims[i]] = choices[i][static_cast<std::size_t>(at[i])];
        text += (i > 0 ? ", " : "") + instruction.statement().domain.dims[dims[i]].name + " = " +
                std::to_string(extents[dims[i]]);
      }
      const auto value = evaluate(*divisor, [&](const Reference& r) -> std::optional<std::int64_t> {
        if (const int d = dim_of(r, instruction); d >= 0) return extents[static_cast<std::size_t>(d)];
        return at_sizes(IntExpr{IntExpr::Op::reference, 0, r, {}}, scope.context);
      });
      if (value == 0 && extents_fit(instruction, extents)) return text.empty() ? "for all extents" : "where " + text;
    } while (advance(at, box));
  }
  return "";
}

void check_divisors(const IntExpr& e, const SourceLocation& where, const std::string& what, const Scope& scope) {
  const std::string zero = zero_divisor(e, scope);
  if (!zero.empty())
    scope.context.problems.error(where, what + " divides by zero " + zero, "max(1, ..) keeps a divisor above 0");
}

void check_expression(const IntExpr& e, const SourceLocation& where, const std::string& what, const Scope& scope) {
  for (const Reference& r : references(e)) {
    const std::string problem = scope.problem(r);
    if (problem.empty()) continue;
    const auto names = candidates(r, scope);
    const std::string& written = r.argument.empty() ? r.object : r.argument;
    const std::string guess = yaml::nearest(written, names);
    scope.context.problems.error(
        where, what + ": " + problem, guess.empty() || guess == written ? "" : "did you mean '" + guess + "'?",
        {(r.argument.empty() ? "operands: " : "dims: ") + (names.empty() ? "none" : join(names))});
  }
  check_divisors(e, where, what, scope);
}

/// Position of a word in the text of a scalar; the beginning if it is not found.
SourceLocation word_in(const Node& text, const std::string& word) {
  SourceLocation where = text_where(text);
  const auto part_of_name = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  for (std::size_t at = text.scalar.find(word); at != std::string::npos; at = text.scalar.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at > 0 && part_of_name(static_cast<unsigned char>(text.scalar[at - 1]))) ||
        (end < text.scalar.size() && part_of_name(static_cast<unsigned char>(text.scalar[end]))))
      continue;
    where.column += static_cast<int>(at);
    break;
  }
  return where;
}

/// Why `legal` cannot use this reference: it is unknown when calls are chosen.
std::string not_for_conditions(const Reference& r, const Instruction& instruction, const Context& context) {
  if (r.object == "extent" || r.object == "start") return "";
  const Operand* operand = find_operand(instruction, r.object);
  if (operand != nullptr && !is_distance(r) && !r.property.empty())
    return "'" + r.object + "." + r.property + "' is not known where calls are chosen";
  if (operand != nullptr && r.property.empty() && operand->memory.valid() &&
      context.parts.memories[operand->memory.index()].is_register())
    return "'" + r.object + "' is a register, whose number is chosen last";
  if (operand != nullptr) return "";
  if (r.object == "mask" || r.object == "push" || r.object == "pop" || r.object == "pack")
    return "'" + r.object + "' is no number of a condition";
  for (const State& state : context.parts.states)
    for (const StatePool& pool : state.pools)
      if (r.object == state.name && r.property == pool.field)
        return "'" + r.object + "." + r.property + "' is shared by a 'pool', whose 'beside' says what calls leave over";
  return "";
}

void check_conditions(const Node& list, const Scope& scope, const std::string& what) {
  const std::vector<Condition> all = conditions(scope.instruction);
  for (std::size_t c = 0; c < all.size(); ++c) {
    const Node& text = list.items[c];
    for (const Reference& r : references(all[c])) {
      std::string problem = scope.problem(r);
      const bool unknown = !problem.empty();
      if (!unknown) problem = not_for_conditions(r, scope.instruction, scope.context);
      if (problem.empty()) continue;
      const auto names = candidates(r, scope);
      const std::string& word = unknown && !r.argument.empty() ? r.argument : r.object;
      const std::string guess = unknown ? yaml::nearest(word, names) : "";
      scope.context.problems.error(
          word_in(text, word), what + ": " + problem,
          guess.empty() || guess == word ? "conditions are about extent[DIM], X.stride[..] and X.pitch[..], addresses "
                                           "X, start[X], state and symbols"
                                         : "did you mean '" + guess + "'?",
          {(r.argument.empty() ? "operands: " : "dims: ") + (names.empty() ? "none" : join(names))});
    }
  }
}

void check_template(const Template& text, const Node& node, const std::string& what, Context& context,
                    const Instruction& instruction) {
  const Scope scope{instruction, context, true};
  for (const auto& part : text.parts) {
    const auto* placeholder = std::get_if<Placeholder>(&part);
    if (!placeholder) continue;
    SourceLocation where = text_where(node);
    where.column += placeholder->offset;
    for (const Reference& r : references(placeholder->expr)) {
      const std::string problem = scope.problem(r);
      if (problem.empty()) continue;
      const auto names = operand_names(instruction);
      const std::string guess = yaml::nearest(r.object, names);
      context.problems.error(where, "placeholder {" + placeholder->text + "} in " + what + ": " + problem,
                             guess.empty() || guess == r.object ? "" : "did you mean {" + guess + "}?",
                             {"operands: " + (names.empty() ? "none" : join(names))});
    }
    check_divisors(placeholder->expr, where, "placeholder {" + placeholder->text + "} in " + what, scope);
  }
}

bool mentions(const IntExpr& e, const std::string& operand) {
  const auto all = references(e);
  return std::any_of(all.begin(), all.end(), [&](const Reference& r) { return r.object == operand; });
}

bool mentions(const Template& text, const std::string& operand) {
  return std::any_of(text.parts.begin(), text.parts.end(), [&](const auto& part) {
    const auto* placeholder = std::get_if<Placeholder>(&part);
    return placeholder && mentions(placeholder->expr, operand);
  });
}

/// Does the command determine the operand? It is printed, given by state, the only register of its file, or in a cache,
/// which has no address.
bool is_determined(const Instruction& instruction, const Operand& operand, const Template& text,
                   const Context& context) {
  if (mentions(text, operand.name) || !operand.memory.valid()) return true;
  const Memory& memory = context.parts.memories[operand.memory.index()];
  if ((memory.is_register() && memory.count == 1) || memory.kind == MemoryKind::cache) return true;
  return std::any_of(instruction.needs.begin(), instruction.needs.end(),
                     [&](const StateValue& need) { return mentions(need.value, operand.name); });
}

void check_printed_operands(const Instruction& instruction, const Template& text, const Node& node,
                            const std::string& key, Context& context) {
  for (const Operand& operand : instruction.operands) {
    if (is_determined(instruction, operand, text, context)) continue;
    const bool written = &operand == &instruction.operands.front();
    const std::string message = "'" + key + "' of instruction '" + instruction.name + "' does not contain {" +
                                operand.name + "}, which the statement " + (written ? "writes" : "reads");
    const std::string hint =
        "write {" + operand.name + "} where the text has its address; or give it by state, in 'needs'";
    if (written)
      context.problems.error(node.where, message, hint);
    else
      context.problems.warning(node.where, message, hint);
  }
}

/// A field of `needs` or `sets`, and its value.
void check_field(const StateValue& value, const char* key, const Node& node, const Scope& scope) {
  const Instruction& instruction = scope.instruction;
  const std::size_t dot = value.field.find('.');
  const std::string object = value.field.substr(0, dot),
                    name = dot == std::string::npos ? "" : value.field.substr(dot + 1);
  std::string problem = name.empty() ? "'" + value.field + "' is no state field" : "";
  if (const Operand* operand = find_operand(instruction, object); operand && !name.empty())
    problem = operand->memory.valid() && has_field(scope.context.parts.memories[operand->memory.index()].fields, name)
                  ? ""
                  : "memory of '" + object + "' has no field '" + name + "'";
  else if (problem.empty())
    problem = scope.field_problem(object, name);
  const SourceLocation where = place_of(node, {key, value.field});
  const std::string what = "'" + std::string(key) + "' of instruction '" + instruction.name + "'";
  if (!problem.empty()) scope.context.problems.error(where, what + ": " + problem, "write state.field");
  if (!value.any) check_expression(value.value, where, what, scope);
}

/// Cycles at the largest or the smallest extents; `at_extents`: which.
std::optional<std::int64_t> cycles_at_end(const IntExpr& cycles, const Instruction& instruction, bool most,
                                          std::string& at_extents) {
  return evaluate(cycles, [&](const Reference& r) -> std::optional<std::int64_t> {
    const int d =
        r.object == "extent" && !instruction.semantics.empty() ? instruction.statement().domain.find(r.argument) : -1;
    if (d < 0 || static_cast<std::size_t>(d) >= instruction.ranges.size()) return std::nullopt;
    const DimRange& range = instruction.ranges[static_cast<std::size_t>(d)];
    const std::int64_t extent = most ? range.max : std::max<std::int64_t>(range.min, 1);
    at_extents += (at_extents.empty() ? " where " : ", ") + r.argument + " = " + std::to_string(extent);
    return extent;
  });
}

void check_timing(const Node& node, const Scope& scope) {
  const Instruction& instruction = scope.instruction;
  const std::string what = "instruction '" + instruction.name + "'";
  for (const auto& [key, member] : {std::pair("latency", &Timing::latency), std::pair("interval", &Timing::interval)}) {
    const auto& cycles = instruction.timing.*member;
    if (!cycles) continue;
    check_expression(*cycles, place_of(node, {"timing", key}), "'timing' of " + what, scope);
    for (const bool most : {true, false}) {  // at the limits of all extents
      std::string at_extents;
      const auto value = cycles_at_end(*cycles, instruction, most, at_extents);
      if (!value || *value >= 0) continue;
      scope.context.problems.error(
          place_of(node, {"timing", key}),
          "'" + std::string(key) + "' of " + what + " is " + std::to_string(*value) + " cycles" + at_extents,
          "times are 0 or more: max(1, ..) keeps a formula there");
      break;
    }
  }
}

void check_words_of(const Node& node, const Scope& scope) {
  const Instruction& instruction = scope.instruction;
  const auto use = [&](const std::optional<FormatUse>& format, std::vector<std::string> keys) {
    if (!format) return;
    keys.emplace_back();
    for (const auto& [name, value] : format->fields) {
      keys.back() = name;
      check_expression(value, place_of(node, keys), "'" + keys.front() + "' of instruction '" + instruction.name + "'",
                       scope);
    }
  };
  use(instruction.encoding, {"encoding"});
  use(instruction.pack, {"pack"});
  for (const Operand& operand : instruction.operands) use(operand.pack, {"operands", operand.name, "pack"});
}

void check_operand_states(const SourceLocation& where, const Scope& scope) {
  for (const Operand& operand : scope.instruction.operands) {
    if (operand.state.empty()) continue;
    const std::size_t dot = operand.state.find('.');
    const std::string problem = dot == std::string::npos
                                    ? "'" + operand.state + "' is no state field"
                                    : scope.field_problem(operand.state.substr(0, dot), operand.state.substr(dot + 1));
    if (!problem.empty())
      scope.context.problems.error(
          where, "operand '" + operand.name + "' of instruction '" + scope.instruction.name + "': " + problem);
  }
}

}  // namespace

void check_references(const Instruction& instruction, const Node& node, Context& context) {
  const Scope scope{instruction, context, false};
  const std::string what = "instruction '" + instruction.name + "'";
  for (const auto& [key, member] : {std::pair("emit", &Instruction::emit), std::pair("asm", &Instruction::assembly)}) {
    const Node* text = node.find(key);
    if (!text) continue;
    const Template& parsed = instruction.*member;
    check_template(parsed, *text, "'" + std::string(key) + "' of " + what, context, instruction);
    check_printed_operands(instruction, parsed, *text, key, context);
  }
  const auto at = [&](const char* key) { return node.find(key) ? node.find(key)->where : instruction.where; };
  for (const StateValue& need : instruction.needs) check_field(need, "needs", node, scope);
  for (const StateValue& set : instruction.sets) check_field(set, "sets", node, scope);
  check_timing(node, scope);
  if (const Node* legal = node.find("legal")) check_conditions(*legal, scope, "'legal' of " + what);
  if (instruction.async_bytes) check_expression(*instruction.async_bytes, at("async"), "'async' of " + what, scope);
  check_words_of(node, scope);
  check_operand_states(at("operands"), scope);
}

}  // namespace isamap::loader

// SPDX-License-Identifier: Apache-2.0
// Symbolic sizes (scalable vectors), and whether an instruction compiled for one size is correct on a machine with a
// larger one.
//
// A model has one value for each symbol, and later stages see numbers. A program compiled for the size v is correct at
// a size V > v if each of its instructions computes the same elements as at v:
//   - their number is given (a mask, an extent in its text or in the state it needs), or the additional elements are in
//     registers only, each result depends on its own operands, and no instruction reads the additional ones;
//   - addresses do not depend on the size, nor does its text;
//   - the places of a register's elements depend on the size in the same way for all users of the register file.

#include <algorithm>

#include "hwdesc/load/fields.h"
#include "hwdesc/model/program_language.h"
#include "ir/legal.h"

namespace isamap::loader {

namespace {

constexpr std::size_t max_values = 16;  // of a symbol that lists no versions

void check_symbol(const Symbol& symbol, const std::string& what, const Node& node, Context& context) {
  if (symbol.min < 0 || symbol.max < symbol.min)
    context.problems.error(node.where,
                           what + " has min " + std::to_string(symbol.min) + " and max " + std::to_string(symbol.max),
                           "max is at least min, and both at least 0");
  if (symbol.multiple_of < 1 || symbol.max % symbol.multiple_of != 0)
    context.problems.error(node.where, "max " + std::to_string(symbol.max) + " of " + what + " is no multiple of " +
                                           std::to_string(symbol.multiple_of));
  if (symbol.power_of_two && (symbol.max & (symbol.max - 1)) != 0)
    context.problems.error(node.where, "max " + std::to_string(symbol.max) + " of " + what + " is no power of two",
                           "max is itself a value that the symbol may have");
}

std::string range_text(const Symbol& symbol) {
  std::string text = std::to_string(symbol.min) + " to " + std::to_string(symbol.max);
  if (symbol.multiple_of > 1) text += ", a multiple of " + std::to_string(symbol.multiple_of);
  if (symbol.power_of_two) text += ", a power of two";
  return text;
}

void check_value(std::int64_t value, const Symbol& symbol, const std::string& what, const SourceLocation& where,
                 Context& context) {
  if (!allows(symbol, value))
    context.problems.error(
        where, what + " is " + std::to_string(value) + "; symbol '" + symbol.name + "' is " + range_text(symbol));
}

/// The allowed values if there are few.
std::vector<std::int64_t> values_of(const Symbol& symbol) {
  std::vector<std::int64_t> values;
  const std::int64_t step = symbol.multiple_of;
  for (std::int64_t v = (symbol.min + step - 1) / step * step; v <= symbol.max && values.size() <= max_values;) {
    if (allows(symbol, v)) values.push_back(v);
    v = symbol.power_of_two && v >= step && (v & (v - 1)) == 0 && v > 0 ? 2 * v : v + step;
    if (symbol.power_of_two && values.empty() && v - symbol.min > (1 << 20)) break;
  }
  return values;
}

std::vector<std::int64_t> read_versions(const Node& node, const Symbol& symbol, const std::string& what,
                                        Context& context) {
  std::vector<std::int64_t> versions;
  if (node.items.empty())
    context.problems.error(node.where, "'versions' of " + what + " must list sizes", "write [16, 32, 64]");
  for (const Node& item : node.items) {
    if (const auto value = yaml::to_integer(item)) {
      check_value(*value, symbol, "an entry of 'versions'", item.where, context);
      versions.push_back(*value);
    } else {
      context.problems.error(item.where, "'versions' of " + what + " must list integers");
    }
  }
  return versions;
}

/// The value of this model: the requested one, else the likely one, else the largest.
void choose_value(Symbol& symbol, std::optional<std::int64_t> likely, const std::string& what, const Node& node,
                  Context& context) {
  if (likely) check_value(*likely, symbol, "'likely' of " + what, node.find("likely")->where, context);
  const auto requested = context.sizes.find(symbol.name);
  if (requested != context.sizes.end()) {
    check_value(requested->second, symbol, what + " as set", {node.where.file, 0, 0}, context);
    symbol.value = requested->second;
    symbol.versions = {symbol.value};
    return;
  }
  symbol.value = likely ? *likely : symbol.versions.empty() ? symbol.max : symbol.versions.back();
  if (symbol.known_at_compile_time) symbol.versions.clear();
  symbol.versions.push_back(symbol.value);
}

void load_symbol(const std::string& name, const Node& node, Context& context) {
  const std::string what = "symbol '" + name + "'";
  Fields fields(node, "symbol", what, context);
  Symbol symbol;
  symbol.name = name;
  symbol.where = node.where;
  const auto min = fields.number("min"), max = fields.number("max"), multiple_of = fields.number("multiple_of"),
             likely = fields.number("likely");
  const bool readable = (min || !fields.has("min")) && max && (multiple_of || !fields.has("multiple_of"));
  symbol.min = min.value_or(1);
  symbol.max = max.value_or(1);
  symbol.multiple_of = std::max<std::int64_t>(1, multiple_of.value_or(1));
  symbol.power_of_two = fields.boolean("power_of_two").value_or(false);
  symbol.emit = fields.text("emit").value_or("");
  symbol.known_at_compile_time = fields.word("known") == "compile";
  const Node* versions = fields.child("versions");
  if (readable) {
    if (multiple_of && *multiple_of < 1) symbol.multiple_of = *multiple_of;
    check_symbol(symbol, what, node, context);
    symbol.multiple_of = std::max<std::int64_t>(1, symbol.multiple_of);
    symbol.versions = versions ? read_versions(*versions, symbol, what, context) : values_of(symbol);
    if (symbol.versions.size() > max_values) symbol.versions.clear();  // too many: the likely one
  }
  choose_value(symbol, likely, what, node, context);
  std::sort(symbol.versions.begin(), symbol.versions.end());
  symbol.versions.erase(std::unique(symbol.versions.begin(), symbol.versions.end()), symbol.versions.end());
  context.parts.symbols.push_back(std::move(symbol));
}

// --- growth ---

bool names_symbol(const Template& text, const Context& context) {
  return std::any_of(text.parts.begin(), text.parts.end(), [&](const auto& part) {
    const auto* placeholder = std::get_if<Placeholder>(&part);
    return placeholder && loader::names_symbol(placeholder->expr, context);
  });
}

bool names_symbol(const std::optional<FormatUse>& use, const Context& context) {
  return use && std::any_of(use->fields.begin(), use->fields.end(),
                            [&](const auto& field) { return loader::names_symbol(field.second, context); });
}

bool names_symbol(const std::vector<StateValue>& values, const Context& context) {
  return std::any_of(values.begin(), values.end(),
                     [&](const StateValue& v) { return loader::names_symbol(v.value, context); });
}

bool depends_on(const IntExpr& e, const std::string& dim) {
  const auto all = references(e);
  return std::any_of(all.begin(), all.end(),
                     [&](const Reference& r) { return r.object == "extent" && r.argument == dim; });
}

/// Is the extent of this dim given to the machine?
bool is_given(const Instruction& instruction, const std::string& dim) {
  for (const auto& [masked, memory] : instruction.masks)
    if (masked == dim) return true;
  for (const StateValue& need : instruction.needs)
    if (depends_on(need.value, dim)) return true;
  for (const Template* text : {&instruction.emit, &instruction.assembly})
    for (const auto& part : text->parts)
      if (const auto* placeholder = std::get_if<Placeholder>(&part); placeholder && depends_on(placeholder->expr, dim))
        return true;
  return false;
}

bool indexed_by(const std::vector<AffineExpr>& index, const std::string& dim) {
  return std::any_of(index.begin(), index.end(), [&](const AffineExpr& e) { return e.names().contains(dim); });
}

/// More elements of registers, each result from its own operands.
bool only_lengthens(const Instruction& instruction, const std::string& dim, const Context& context) {
  const Computation& statement = instruction.statement();
  if (instruction.semantics.size() > 1 || !indexed_by(statement.write.index, dim)) return false;
  for (int a = 0; a < access_count(statement); ++a) {
    if (!indexed_by(access_of(statement, a).index, dim)) continue;
    const Operand& operand = instruction.operands[operand_of_access(instruction, a).index()];
    if (!operand.memory.valid() || !context.parts.memories[operand.memory.index()].is_register()) return false;
  }
  return true;
}

/// Growth of the places of an operand: "#0:VB/4 #1:1", subscripts by position, since two instructions may name their
/// iterators differently. Empty: no stride names a symbol.
std::string growing_layout(const Operand& operand, const Context& context) {
  const auto* layout = std::get_if<StridedLayout>(&operand.layout);
  if (!layout) return "";
  bool grows = false;
  std::string text;
  for (const StrideTerm& term : layout->terms) {
    std::string spelled = print(term.term);
    for (std::size_t n = 0; n < operand.index_names.size(); ++n)
      if (spelled == operand.index_names[n]) spelled = "#" + std::to_string(n);
    text += " " + spelled + ":" + (term.stride ? print(*term.stride) : "any");
    grows = grows || (term.stride && names_symbol(*term.stride, context));
  }
  return grows ? text : "";
}

/// Dense layouts of several sized dims have strides that depend on the size.
bool dense_over_sized(const Instruction& instruction, int access) {
  const Operand& operand = instruction.operands[operand_of_access(instruction, access).index()];
  if (!std::holds_alternative<DenseLayout>(operand.layout)) return false;
  const auto& index = access_of(instruction.statement(), access).index;
  for (std::size_t i = 1; i < index.size(); ++i)
    for (const std::string& name : index[i].names()) {
      const int d = instruction.statement().domain.find(name);
      if (d >= 0 && instruction.ranges[static_cast<std::size_t>(d)].sized) return true;
    }
  return false;
}

bool legal_names_symbol(const Instruction& instruction, const Context& context) {
  const auto all = conditions(instruction);
  return std::any_of(all.begin(), all.end(), [&](const Condition& c) {
    return loader::names_symbol(c.left, context) || loader::names_symbol(c.right, context);
  });
}

bool grows(const Instruction& instruction, Context& context) {
  if (names_symbol(instruction.emit, context) || names_symbol(instruction.assembly, context) ||
      names_symbol(instruction.needs, context) || names_symbol(instruction.sets, context) ||
      names_symbol(instruction.pack, context) || names_symbol(instruction.encoding, context) ||
      legal_names_symbol(instruction, context))
    return false;
  if (instruction.semantics.empty()) return true;
  const Computation& statement = instruction.statement();
  for (std::size_t d = 0; d < instruction.ranges.size(); ++d) {
    const std::string& dim = statement.domain.dims[d].name;
    const bool given = !instruction.ranges[d].fixed() && is_given(instruction, dim);
    if (instruction.ranges[d].sized && !given && !only_lengthens(instruction, dim, context)) return false;
  }
  for (int a = 0; a < access_count(statement); ++a) {
    const Operand& operand = instruction.operands[operand_of_access(instruction, a).index()];
    if (names_symbol(operand.pack, context) || dense_over_sized(instruction, a)) return false;
    if (!operand.memory.valid()) continue;
    const std::string layout = growing_layout(operand, context);
    const bool in_register = context.parts.memories[operand.memory.index()].is_register();
    const bool typed = operand.dtype && !is_bits(*operand.dtype);
    if (!layout.empty() && (!in_register || !typed)) return false;
    if (in_register && typed)
      context.growing_layouts[{operand.memory.value, *operand.dtype}][layout].push_back(
          context.parts.instructions.size());
  }
  return true;
}

// --- symbols replaced by numbers ---

void resolve(IntExpr& e, const Context& context) {
  if (e.op == IntExpr::Op::reference && e.reference.property.empty() && e.reference.argument.empty())
    if (const Symbol* symbol = find_symbol(context, e.reference.object)) {
      e = IntExpr{};
      e.number = symbol->value;
      return;
    }
  for (IntExpr& arg : e.args) resolve(arg, context);
}

void resolve(Template& text, const Context& context) {
  for (auto& part : text.parts)
    if (auto* placeholder = std::get_if<Placeholder>(&part)) resolve(placeholder->expr, context);
}

void resolve(std::optional<FormatUse>& use, const Context& context) {
  if (!use) return;
  for (auto& [field, value] : use->fields) resolve(value, context);
}

}  // namespace

void load_symbols(const Node& root, Context& context) {
  const Node* symbols = top_level(root, "symbols", context.problems);
  if (!symbols) return;
  if (symbols->kind != Kind::map)
    context.problems.error(symbols->where, "'symbols' must be a map", "write {VB: {min: 16, max: 256}}");
  for (const auto& [name, node] : symbols->entries) load_symbol(name, node, context);
}

const Symbol* find_symbol(const Context& context, const std::string& name) {
  for (const Symbol& symbol : context.parts.symbols)
    if (symbol.name == name) return &symbol;
  return nullptr;
}

bool names_symbol(const IntExpr& e, const Context& context) {
  const auto all = references(e);
  return std::any_of(all.begin(), all.end(), [&](const Reference& r) {
    return r.property.empty() && r.argument.empty() && find_symbol(context, r.object) != nullptr;
  });
}

std::optional<std::int64_t> at_sizes(const IntExpr& e, const Context& context) {
  return evaluate(e, [&](const Reference& r) -> std::optional<std::int64_t> {
    const Symbol* symbol = r.property.empty() && r.argument.empty() ? find_symbol(context, r.object) : nullptr;
    return symbol ? std::optional(symbol->value) : std::nullopt;
  });
}

void resolve_symbols(Instruction& instruction, Context& context) {
  if (context.parts.symbols.empty()) return;
  instruction.grows = instruction.grows && grows(instruction, context);
  for (Operand& operand : instruction.operands) {
    resolve(operand.pack, context);
    if (auto* layout = std::get_if<StridedLayout>(&operand.layout))
      for (StrideTerm& term : layout->terms)
        if (term.stride) resolve(*term.stride, context);
  }
  for (std::string& text : instruction.legal)
    if (auto condition = parse_condition(text)) {
      for (IntExpr* side : {&condition->left, &condition->right}) resolve(*side, context);
      text = print(*condition);
    }
  for (auto* values : {&instruction.needs, &instruction.sets})
    for (StateValue& value : *values) resolve(value.value, context);
  for (auto* cycles : {&instruction.timing.latency, &instruction.timing.interval, &instruction.async_bytes})
    if (*cycles) resolve(**cycles, context);
  for (auto* use : {&instruction.pack, &instruction.encoding}) resolve(*use, context);
  for (auto* text : {&instruction.emit, &instruction.assembly}) resolve(*text, context);
}

std::string with_sizes(const std::string& text, const Node& node, Context& context) {
  if (context.parts.symbols.empty() || text.find('{') == std::string::npos) return text;
  const Result<Template> parsed = parse_template(text, text_where(node));
  if (!parsed) {
    context.problems.add(parsed.diagnostics());
    return text;
  }
  return fill(*parsed, [&](const Placeholder& p) {
    if (!names_symbol(p.expr, context)) return "{" + p.text + "}";
    if (const auto value = at_sizes(p.expr, context)) return std::to_string(*value);
    context.problems.error(node.where, "{" + p.text + "} has no value: only symbols may stand in it");
    return std::string();
  });
}

void check_growth(Context& context) {
  for (const Symbol& symbol : context.parts.symbols)
    if (!symbol.known_at_compile_time && symbol.emit.empty() && !is_command_stream(context.model))
      context.problems.error(symbol.where,
                             "symbol '" + symbol.name + "' is known when programs run, and they cannot ask for it",
                             "add emit: EXPRESSION, or known: compile");

  for (const auto& [registers, layouts] : context.growing_layouts)
    if (layouts.size() > 1 && !layouts.rbegin()->first.empty())  // they grow differently
      for (const auto& [layout, users] : layouts)
        for (const std::size_t user : users)
          if (user < context.parts.instructions.size()) context.parts.instructions[user].grows = false;
}

}  // namespace isamap::loader

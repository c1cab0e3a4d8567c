// SPDX-License-Identifier: Apache-2.0
// One tensor of an instruction's statement on the machine: memory, layout, alignment.

#include <algorithm>

#include "hwdesc/load/fields.h"

namespace isamap::loader {

namespace {

std::string without_spaces(const std::string& text) {
  std::string out;
  for (const char c : text)
    if (c != ' ') out += c;
  return out;
}

/// Iterator names that an `of` layout renames, or nothing to rename.
using Renames = std::map<std::string, AffineExpr>;

/// `k/4` over the operand's index names; a bare number is the subscript at that position.
std::optional<AffineExpr> layout_term(const std::string& key, const SourceLocation& where, const Operand& operand,
                                      const Renames& renames, const std::string& what, Context& context) {
  const bool position = !key.empty() && key.size() <= 2 &&
                        std::all_of(key.begin(), key.end(), [](unsigned char c) { return std::isdigit(c); });
  AffineExpr term = AffineExpr::dim(key);
  if (!position) {
    const Result<AffineExpr> parsed = parse_affine(key, where);
    if (!parsed) {
      context.problems.add(parsed.diagnostics(), "terms of a layout are i, i/4 and i%4");
      return std::nullopt;
    }
    term = isamap::substitute(*parsed, renames);
  }
  if (position && std::stoul(key) < operand.index_names.size())
    return AffineExpr::dim(operand.index_names[std::stoul(key)]);
  for (const std::string& name : term.names()) {
    if (std::find(operand.index_names.begin(), operand.index_names.end(), name) != operand.index_names.end()) continue;
    context.problems.error(where, "layout of " + what + " names '" + name + "', which is no index of it",
                           "a subscript that is no plain iterator is named by its position",
                           {"indices: " + (operand.index_names.empty() ? "none" : join(operand.index_names))});
    return std::nullopt;
  }
  return term;
}

/// {X.stride[i/8]} is written with the operand's own names: formal r renamed to i makes "r/8" "i/8".
std::string own_names(const std::string& text, const Renames& renames) {
  std::size_t end = 0;
  while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_')) ++end;
  const auto found = renames.find(text.substr(0, end));
  return found == renames.end() ? text : *found->second.as_dim() + text.substr(end);
}

std::optional<XorSwizzle> load_xor(const Node& node, const std::string& what, Context& context) {
  Fields map(node, "swizzle", "'xor' of the layout of " + what, context);
  const auto bits = map.integer("bits"), from = map.integer("from"), to = map.integer("to");
  if (!bits || !from || !to) return std::nullopt;
  const bool apart = *bits >= 1 && *bits <= 16 && *from >= 0 && *to >= 0 && *from <= 32 && *to <= 32 &&
                     (*from >= *to + *bits || *to >= *from + *bits);
  if (!apart)
    context.problems.error(
        node.where, "'xor' of the layout of " + what + " must move 1 to 16 bits between ranges that do not overlap");
  return XorSwizzle{static_cast<int>(*bits), static_cast<int>(*from), static_cast<int>(*to)};
}

void load_stride(const Node& value, StrideTerm& term, const std::string& what, Context& context) {
  if (value.kind == Kind::map) {
    Fields map(value, "each", "stride '" + term.text + "' of " + what, context);
    if (const Node* unit = map.child("each"); unit && unit_named(*unit, "'each' of " + what, context))
      term.each = unit->scalar;
    return;
  }
  if (value.scalar == "any" && value.kind == Kind::scalar) return;
  term.stride = int_expr(value, context.problems);
}

std::optional<OperandLayout> load_strides(const Node& node, const Operand& operand, const Renames& renames,
                                          const std::string& what, Context& context) {
  StridedLayout layout;
  bool complete = true;
  Fields map(node, "strides", "the layout of " + what, context);
  if (const Node* swizzle = map.child("xor")) layout.swizzle = load_xor(*swizzle, what, context);
  row_of("strides", "*", context.problems);
  for (std::size_t i = 0; i < node.entries.size(); ++i) {
    const auto& [key, value] = node.entries[i];
    if (key == "xor") continue;
    const auto term = layout_term(key, node.key_where[i], operand, renames, what, context);
    complete &= term.has_value();
    if (!term) continue;
    StrideTerm stride;
    stride.term = *term;
    stride.text = own_names(without_spaces(key), renames);
    load_stride(value, stride, what, context);
    layout.terms.push_back(std::move(stride));
  }
  return complete ? std::optional<OperandLayout>(std::move(layout)) : std::nullopt;
}

/// "extent[j]/2" at the largest extents; it may name dims of the instruction only.
std::optional<std::int64_t> varying_extent(const std::string& name, const Node& value, FragmentLayout& layout,
                                           const std::string& what, Context& context) {
  const auto expression = int_expr(value, context.problems);
  if (!expression) return std::nullopt;
  for (const Reference& r : references(*expression)) {
    const bool known = r.object == "extent" && r.property.empty() && context.dims && context.dims->count(r.argument);
    if (known) continue;
    std::vector<std::string> dims;
    if (context.dims)
      for (const auto& [dim, range] : *context.dims) dims.push_back(dim);
    context.problems.error(value.where,
                           "'" + name + "' of the layout of " + what + " names '" + r.object +
                               (r.argument.empty() ? "" : "[" + r.argument + "]") + "', which is no extent of a dim",
                           "write a number or an expression of extent[DIM]", {"dims: " + join(dims)});
    return std::nullopt;
  }
  layout.varying.emplace_back(name, *expression);
  return evaluate(*expression, [&](const Reference& r) { return std::optional(context.dims->at(r.argument).max); });
}

bool load_over(const Node& over, FragmentLayout& layout, const std::string& what, Context& context) {
  const auto is_unit = [&](const Unit& unit) { return unit.name == over.entries[0].first; };
  if (over.kind != Kind::map || over.entries.empty() ||
      (over.entries.size() == 1 && std::any_of(context.parts.units.begin(), context.parts.units.end(), is_unit))) {
    context.problems.error(over.where, "'over' of the layout of " + what + " must name units and, last, the elements",
                           "write {lane: 32, elem: 4}, or {elem: 4} for an instance that has them alone");
    return false;
  }
  for (std::size_t i = 0; i < over.entries.size(); ++i) {
    const auto& [name, value] = over.entries[i];
    const bool varies = value.kind == Kind::scalar && value.scalar.find("extent") != std::string::npos;
    const auto extent = varies ? varying_extent(name, value, layout, what, context) : yaml::to_integer(value);
    if (varies && !extent) return false;
    if (!extent || *extent < 1 || *extent > 65536) {
      context.problems.error(value.where,
                             "'" + name + "' of the layout of " + what + " must be a number from 1 to 65536");
      return false;
    }
    layout.over.emplace_back(name, *extent);
    if (i + 1 == over.entries.size()) continue;
    Node unit = value;
    unit.kind = Kind::scalar;
    unit.scalar = name;
    unit.where = over.key_where[i];
    const auto id = unit_named(unit, "layout of " + what, context);
    if (id && context.parts.units[id->index()].count != *extent && !context.parts.units[id->index()].at_most)
      context.problems.error(value.where, "the layout of " + what + " spreads over " + std::to_string(*extent) + " " +
                                              name + "s; unit '" + name + "' has " +
                                              std::to_string(context.parts.units[id->index()].count));
  }
  return true;
}

std::optional<OperandLayout> load_fragment(const Node& node, const Operand& operand, const Renames& renames,
                                           const std::string& what, Context& context) {
  FragmentLayout layout;
  Fields map(node, "fragment", "the layout of " + what, context);
  const Node* over = map.child("over");
  if (!over || !load_over(*over, layout, what, context)) return std::nullopt;
  layout.replicated = map.boolean("replicated").value_or(false);
  row_of("fragment", "*", context.problems);
  std::map<std::string, AffineExpr> formulas;
  for (std::size_t i = 0; i < node.entries.size(); ++i) {
    const auto& [key, value] = node.entries[i];
    if (key == "over" || key == "replicated") continue;
    const Result<AffineExpr> formula = parse_affine(value.scalar, text_where(value));
    if (!formula) {
      context.problems.add(formula.diagnostics(), "a formula is a sum of units and elements times constants");
      return std::nullopt;
    }
    const auto index = layout_term(key, node.key_where[i], operand, renames, what, context);
    if (!index || !index->as_dim()) return std::nullopt;
    formulas[*index->as_dim()] = *formula;
  }
  for (const std::string& name : operand.index_names) {
    const auto found = formulas.find(name);
    if (found == formulas.end()) {
      context.problems.error(node.where, "the layout of " + what + " says nothing about index '" + name + "'");
      return std::nullopt;
    }
    layout.index.push_back(found->second);
  }
  return layout;
}

const Node* named_layout(const Node& name, const std::string& what, Context& context) {
  const Node* found =
      context.layouts && context.layouts->kind == Kind::map ? context.layouts->find(name.scalar) : nullptr;
  if (found && found->kind == Kind::map) return found;
  std::vector<std::string> known;
  if (context.layouts)
    for (const auto& [key, value] : context.layouts->entries) known.push_back(key);
  context.problems.error(name.where, what + " names layout '" + name.scalar + "', which is not declared", "",
                         {"declared layouts: " + (known.empty() ? "none" : join(known))});
  return nullptr;
}

void load_align(const Node& node, Operand& operand, const std::string& what, Context& context) {
  const auto power = [&](const Node& value, const keys::Key& row, const std::string& name) {
    const auto read = read_size(value, row, name + " of " + what, context);
    const std::int64_t bytes = read.value_or(1);
    if ((bytes & (bytes - 1)) == 0) return bytes;
    context.problems.error(value.where, name + " of " + what + " must be a power of two of at most 1MiB",
                           "write 64B or 4KiB");
    return std::int64_t{1};
  };
  if (node.kind != Kind::map) {
    operand.align = power(node, keys::key("operand", "align"), "'align'");
    operand.align_buffer = operand.align;
    return;
  }
  Fields map(node, "alignment", "'align' of " + what, context);
  const auto of_row = [&](const char* key) {
    const Node* value = map.child(key);
    return value ? power(*value, keys::key("alignment", key), "'" + std::string(key) + "' of 'align'") : 1;
  };
  operand.align = of_row("start");
  operand.align_buffer = of_row("buffer");
}

bool load_immediate(const Node& node, Operand& operand, const std::string& what, Context& context) {
  if (node.kind != Kind::list || node.items.empty())
    context.problems.error(node.where, "'immediate' of " + what + " must list the allowed values", "write [0, 1]");
  bool complete = node.kind == Kind::list && !node.items.empty();
  const DType type = operand.dtype.value_or(DType::s64);
  const bool real = is_float(type), whole = is_integer(type);
  for (const Node& item : node.items) {
    const auto integer = yaml::to_integer(item);
    const auto number = yaml::to_real(item);
    const std::size_t known = operand.immediate.size();
    if (real ? !number : !integer)
      context.problems.error(
          item.where,
          "'immediate' of " + what + " must list " + (real ? "numbers" : "integers") + ", found '" + item.scalar + "'",
          real ? "write [0.5, 1]" : "other numbers need a real dtype, as f32");
    else if (whole && (*integer < integer_min(type) || *integer > integer_max(type)))
      context.problems.error(
          item.where,
          "'immediate' of " + what + " lists " + item.scalar + ", which no " + std::string(name(type)) + " is",
          std::string(name(type)) + " holds " + std::to_string(integer_min(type)) + " to " +
              std::to_string(integer_max(type)));
    else
      operand.immediate.push_back(real ? bits_of_real(type, *number) : *integer);
    complete &= operand.immediate.size() > known;
  }
  return complete;
}

/// {i: 8, k: 8}: indices without an entry are 1.
void load_at_once(const Node& node, Operand& operand, const std::string& what, Context& context) {
  operand.at_once.assign(operand.index_names.size(), 1);
  for (std::size_t i = 0; i < node.entries.size(); ++i) {
    const auto& [key, value] = node.entries[i];
    const auto index = layout_term(key, node.key_where[i], operand, {}, what, context);
    const auto name = index ? index->as_dim() : std::nullopt;
    const auto at =
        name ? std::find(operand.index_names.begin(), operand.index_names.end(), *name) : operand.index_names.end();
    const auto count = read_number(value, keys::key("operand", "at_once"), "'at_once' of " + what, context);
    if (index && at == operand.index_names.end())
      context.problems.error(node.key_where[i],
                             "'at_once' of " + what + " names '" + key + "', which is no plain index",
                             "write {i: 8, k: 8}");
    else if (index && count)
      operand.at_once[static_cast<std::size_t>(at - operand.index_names.begin())] = *count;
  }
}

void check_object(const Node& node, const std::string& what, Context& context) {
  std::vector<std::string> known;
  for (const HostObject& object : context.parts.objects) known.push_back(object.name);
  if (std::find(known.begin(), known.end(), node.scalar) == known.end())
    context.problems.error(node.where, what + " names object '" + node.scalar + "', which is not declared", "",
                           {"declared objects: " + (known.empty() ? "none" : join(known))});
}

}  // namespace

std::optional<OperandLayout> load_layout(const Node& node, const Operand& operand, const std::string& what,
                                         Context& context) {
  const Node* body = &node;
  Renames renames;
  if (node.kind == Kind::scalar) body = named_layout(node, what, context);
  if (node.kind == Kind::map && node.find("of")) {
    Fields map(node, "renamed layout", "the layout of " + what, context);
    body = named_layout(*map.child("of"), what, context);
    row_of("renamed layout", "*", context.problems);
    for (const auto& [formal, actual] : node.entries) {
      if (formal == "of") continue;
      if (actual.kind != Kind::scalar || std::find(operand.index_names.begin(), operand.index_names.end(),
                                                   actual.scalar) == operand.index_names.end()) {
        context.problems.error(actual.where,
                               "layout of " + what + " renames '" + formal + "' to what is no index of it", "",
                               {"indices: " + (operand.index_names.empty() ? "none" : join(operand.index_names))});
        return std::nullopt;
      }
      renames[formal] = AffineExpr::dim(actual.scalar);
    }
  }
  if (!body) return std::nullopt;
  if (body->kind != Kind::map) {
    context.problems.error(node.where, "layout of " + what + " must be a name or a map of strides",
                           "write {i: 16, j: 1}");
    return std::nullopt;
  }
  if (body->find("over")) return load_fragment(*body, operand, renames, what, context);
  return load_strides(*body, operand, renames, what, context);
}

bool load_operand(const Node& node, Operand& operand, const std::string& what, Context& context) {
  Fields map(node, "operand", what, context);
  const Node* memory = map.child("memory");
  if (memory) operand.memory = memory_named(*memory, what, context).value_or(MemoryId{});
  const Node* type = map.child("dtype");
  if (type) operand.dtype = dtype_named(*type, what, context);
  bool complete = (!memory || operand.memory.valid()) && (!type || operand.dtype);
  if (const Node* layout = map.child("layout")) {
    auto loaded = load_layout(*layout, operand, what, context);
    complete &= loaded.has_value();
    if (loaded) operand.layout = std::move(*loaded);
  }
  if (const Node* align = map.child("align")) load_align(*align, operand, what, context);
  if (const Node* multiples = map.child("multiple_of"))
    for (const auto& [term, size] : multiples->entries)
      operand.multiple_of[without_spaces(term)] =
          read_size(size, keys::key("operand", "multiple_of"), "'multiple_of' of " + what, context).value_or(1);
  operand.group = static_cast<int>(map.number("group").value_or(1));
  operand.state = map.text("state").value_or("");
  if (const Node* immediate = map.child("immediate")) complete &= load_immediate(*immediate, operand, what, context);
  operand.outside = map.real("outside");
  if (const Node* pack = map.child("pack")) operand.pack = load_format_use(*pack, "'pack' of " + what, context);
  if (const Node* together = map.child("at_once")) load_at_once(*together, operand, what, context);
  operand.view = map.text("view").value_or("");
  operand.object = map.text("object").value_or("");
  if (const Node* object = map.node().find("object")) check_object(*object, what, context);
  return complete;
}

}  // namespace isamap::loader

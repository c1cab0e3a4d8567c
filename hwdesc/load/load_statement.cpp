// SPDX-License-Identifier: Apache-2.0
// The semantics of an instruction: its statement, the extents of its dims, and the memories of its tensors.

#include <algorithm>

#include "hwdesc/keys/quantities.h"
#include "hwdesc/load/reading_internal.h"
#include "support/arithmetic.h"

namespace isamap::loader {

namespace {

void parse_statements(Reading& r) {
  const Node* compute = r.child("compute");
  if (!compute) {  // a setter
    for (const char* key : {"dims", "operands"})
      if (r.map.has(key))
        return r.fail(r.entry.node.where, r.what + " has '" + key + "' but no 'compute'",
                      "say what it computes: compute: \"D[i] = S[i]\"; a setter has no '" + std::string(key) + "'");
    return;
  }
  const auto one = [&](const Node& text) {
    if (text.kind != Kind::scalar)
      return r.fail(text.where, "'compute' of " + r.what + " must be a statement or a list of statements",
                    "write \"C[i,j] += A[i,k] * B[k,j]\"");
    Result<ParsedStatement> parsed = parse_statement(text.scalar, text_where(text));
    if (parsed) {
      for (const ParsedAccess& read : parsed->reads)
        if (read.computed || !parsed->values.empty())
          r.fail(text.where, "'compute' of " + r.what + " uses the value of an iterator or a computed subscript",
                 "instructions have operands and affine subscripts only");
        else if (read.outside)
          r.fail(text.where, "'compute' of " + r.what + " says `outside` at a read of '" + read.tensor + "'",
                 "write it at the operand: operands: {" + read.tensor + ": {outside: 0}}");
      r.statements.push_back(std::move(*parsed));
    } else {
      r.problems().add(parsed.diagnostics(),
                       "write \"C[i,j] += A[i,k] * B[k,j]\"; subscripts are sums of iterators times constants");
      r.broken = true;
    }
  };
  if (compute->kind == Kind::list)
    std::for_each(compute->items.begin(), compute->items.end(), one);
  else
    one(*compute);
  if (compute->kind == Kind::list && compute->items.empty())
    r.fail(compute->where, "'compute' of " + r.what + " is empty");
}

// --- dims ---

/// `key`: of a range, whose limits the message says.
std::optional<std::int64_t> extent_of(const Node& node, const char* key, bool& sized, const std::string& what,
                                      Reading& r) {
  const auto expression = int_expr(node, r.problems());
  if (!expression) return std::nullopt;
  const auto value = at_sizes(*expression, r.context);
  const keys::Key& of = keys::key("range", key);
  if (!value || *value < 0 || static_cast<double>(*value) > of.range.most) {
    r.fail(node.where,
           what + " must be a number from " + keys::range_text(of) +
               (r.context.parts.symbols.empty() ? "" : " or an expression of symbols") + ", found '" + node.scalar +
               "'",
           "write 16, or a range: {max: 16}");
    return std::nullopt;
  }
  sized = sized || !references(*expression).empty();
  return value;
}

DimRange read_range(const std::string& name, const Node& node, Reading& r) {
  const std::string what = "dim '" + name + "' of " + r.what;
  DimRange range;
  if (node.kind != Kind::map) {
    const auto extent = extent_of(node, "max", range.sized, what, r);
    if (extent && *extent < 1)
      r.fail(node.where, what + " has extent 0", "an instruction does at least one point: write 1 or more");
    range.min = range.max = range.multiple_of = std::max<std::int64_t>(1, extent.value_or(1));
    return range;
  }
  Fields map(node, "range", what, r.context);
  bool steps_sized = false;
  const Node* max = map.child("max");
  if (max) range.max = extent_of(*max, "max", range.sized, "'max' of " + what, r).value_or(1);
  if (const Node* min = map.child("min"))
    range.min = extent_of(*min, "min", steps_sized, "'min' of " + what, r).value_or(1);
  if (const Node* multiple = map.child("multiple_of"))
    range.multiple_of = extent_of(*multiple, "multiple_of", steps_sized, "'multiple_of' of " + what, r).value_or(1);
  if (steps_sized) r.instruction.grows = false;  // an extent of the smaller size may not be allowed at the larger one
  const auto known = map.word("known", "compile: the extent is part of the instruction's text");
  const auto beyond = map.word("inactive", "zero and undefined are said of the whole instruction");
  range.known_at_compile_time = known == "compile";
  range.kept = beyond.has_value();
  r.broken = r.broken || (!known && map.has("known")) || (!beyond && map.has("inactive"));
  if (!max) {
    r.broken = true;
    return range;
  }
  if (range.max < std::max<std::int64_t>(1, range.min))
    r.fail(node.where, what + " has min " + std::to_string(range.min) + " and max " + std::to_string(range.max),
           "the largest extent is at least the smallest and at least 1");
  if (range.multiple_of < 1)
    r.fail(node.find("multiple_of")->where, "'multiple_of' of " + what + " must be at least 1, found 0",
           "leave it out, or write 2 or more");
  else if (range.max % range.multiple_of != 0)
    r.fail(
        node.where,
        "max " + std::to_string(range.max) + " of " + what + " is no multiple of " + std::to_string(range.multiple_of),
        "write a max that 'multiple_of' divides");
  return range;
}

std::vector<std::string> iterators(const std::vector<ParsedStatement>& statements) {
  std::vector<std::string> names;
  const auto take = [&](const ParsedAccess& access) {
    for (const AffineExpr& index : access.index)
      for (const std::string& name : index.names())
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const ParsedStatement& statement : statements) {
    take(statement.write);
    for (const ParsedAccess& read : statement.reads) take(read);
  }
  return names;
}

void read_dims(Reading& r) {
  const Node* dims = r.child("dims");
  const auto used = iterators(r.statements);
  if (dims)
    for (std::size_t i = 0; i < dims->entries.size(); ++i) {
      const auto& [name, value] = dims->entries[i];
      r.dims[name] = read_range(name, value, r);
      if (std::find(used.begin(), used.end(), name) == used.end() && !r.broken)
        r.fail(dims->key_where[i], "'dims' of " + r.what + " gives '" + name + "', which the statement does not use",
               "", {"iterators of the statement: " + (used.empty() ? "none" : join(used))});
    }
  for (const std::string& name : used)
    if (!r.dims.count(name))
      r.fail(r.entry.node.find("compute")->where, "dim '" + name + "' of " + r.what + " has no extent",
             "write dims: {" + name + ": 16}");
  std::int64_t points = 1;
  for (const auto& [name, range] : r.dims) {
    const auto product = checked_mul(points, range.max);
    if (!product) return r.fail(dims->where, "the extents of " + r.what + " multiply to more than 64 bits");
    points = *product;
  }
}

// --- tensors and operands ---

/// Tensors in the order of Instruction::tensors, and every access to each.
struct TensorUse {
  std::string name;
  std::vector<const ParsedAccess*> accesses;
  bool temporary = false;
};

std::vector<TensorUse> tensor_uses(const Reading& r) {
  std::vector<TensorUse> uses, temporaries;
  std::set<std::string> written_before;
  for (std::size_t s = 0; s + 1 < r.statements.size(); ++s)
    if (r.statements[s].write.tensor != r.statements.back().write.tensor)
      written_before.insert(r.statements[s].write.tensor);
  const auto note = [&](const ParsedAccess& access) {
    auto& list = written_before.count(access.tensor) ? temporaries : uses;
    auto found =
        std::find_if(list.begin(), list.end(), [&](const TensorUse& use) { return use.name == access.tensor; });
    if (found == list.end())
      found = list.insert(list.end(), {access.tensor, {}, written_before.count(access.tensor) > 0});
    found->accesses.push_back(&access);
  };
  note(r.statements.back().write);
  for (const ParsedStatement& statement : r.statements) {
    for (const ParsedAccess& read : statement.reads) note(read);
    note(statement.write);
  }
  uses.insert(uses.end(), temporaries.begin(), temporaries.end());
  return uses;
}

std::vector<std::string> index_names(const TensorUse& use) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < use.accesses.front()->index.size(); ++i) {
    const auto dim = use.accesses.front()->index[i].as_dim();
    const bool agreed = dim && std::all_of(use.accesses.begin(), use.accesses.end(), [&](const ParsedAccess* a) {
                          return i < a->index.size() && a->index[i].as_dim() == dim;
                        });
    names.push_back(agreed && std::find(names.begin(), names.end(), *dim) == names.end() ? *dim : std::to_string(i));
  }
  return names;
}

std::vector<std::int64_t> shape_of(const TensorUse& use, const SourceLocation& where, Reading& r) {
  Ranges ranges;
  for (const auto& [name, range] : r.dims) ranges[name] = {0, range.max - 1};
  std::vector<std::int64_t> shape(use.accesses.front()->index.size(), 1);
  for (const ParsedAccess* access : use.accesses) {
    if (access->index.size() != shape.size()) {
      r.fail(where, "'" + use.name + "' of " + r.what + " has " + std::to_string(shape.size()) +
                        " subscripts in one place and " + std::to_string(access->index.size()) + " in another");
      continue;
    }
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const auto span = bounds(access->index[i], ranges);
      if (!span) continue;  // a dim without an extent, reported above
      if (span->low < 0)
        r.fail(where,
               "subscript " + print(access->index[i]) + " of '" + use.name + "' in " + r.what + " becomes negative",
               "add a constant, or turn the iterator round: subscripts begin at 0");
      shape[i] = std::max(shape[i], span->high + 1);
    }
  }
  return shape;
}

bool is_copy(const ParsedStatement& statement) {
  return statement.reduction == Reduction::assign && std::holds_alternative<Read>(statement.body.op);
}

void default_memory(Operand& operand, bool written, const SourceLocation& where, Reading& r) {
  const bool on_link = r.instruction.link.valid();
  if (!operand.state.empty() || !operand.immediate.empty()) {
    if (operand.memory.valid())
      r.fail(where,
             "operand '" + operand.name + "' of " + r.what + " has a memory and is a state field or an immediate");
    return;
  }
  if (!on_link) {
    if (!operand.memory.valid())
      r.fail(where, "operand '" + operand.name + "' of " + r.what + " has no memory",
             "write operands: {" + operand.name + ": {memory: NAME, dtype: ..}}");
    return;
  }
  const Link& link = r.context.parts.links[r.instruction.link.index()];
  const MemoryId end = written ? link.to : link.from;
  if (operand.memory.valid() && operand.memory != end)
    r.fail(where,
           "operand '" + operand.name + "' of " + r.what + " is in '" +
               r.context.parts.memories[operand.memory.index()].name + "'; link '" + link.name + "' " +
               (written ? "ends in '" : "begins in '") + r.context.parts.memories[end.index()].name + "'",
           "leave 'memory' out: the link determines it; or name another link");
  operand.memory = end;
}

/// "st.scale"; nullptr: no such field.
const StateField* field_named(const std::string& name, const Context& context) {
  for (const State& state : context.parts.states)
    for (const StateField& field : state.fields)
      if (name == state.name + "." + field.name) return &field;
  return nullptr;
}

void default_dtypes(Reading& r) {
  auto& operands = r.instruction.operands;
  for (Operand& operand : operands) {
    if (operand.state.empty()) continue;
    const StateField* known = field_named(operand.state, r.context);
    const std::optional<DType> field = known != nullptr ? known->dtype : std::nullopt;
    const auto real = [](const std::optional<DType>& type) { return type && is_float(*type); };
    if (operand.dtype && (real(operand.dtype) || real(field)) && operand.dtype != field)
      r.fail(place_of(r.entry.node, {"operands", operand.name, "dtype"}),
             "operand '" + operand.name + "' of " + r.what + " is " + std::string(name(*operand.dtype)) +
                 "; state field '" + operand.state + "' holds " +
                 (field ? "numbers of type " + std::string(name(*field)) : "integers"),
             field ? "leave 'dtype' out: it is that of the field"
                   : "give the field a type: {dtype: " + std::string(name(*operand.dtype)) + "}");
    if (!operand.dtype) operand.dtype = known != nullptr ? field : DType::f32;  // check_references: no such field
  }
  if (r.statements.size() == 1 && is_copy(r.statements[0]) && operands.size() == 2) {
    if (!operands[0].dtype) operands[0].dtype = operands[1].dtype;
    if (!operands[1].dtype) operands[1].dtype = operands[0].dtype;
    return;
  }
  for (const Operand& operand : operands)
    if (!operand.dtype)
      r.fail(r.entry.node.where, "operand '" + operand.name + "' of " + r.what + " has no dtype",
             "only a move may leave the type to its tensor");
}

void read_operands(Reading& r) {
  const Node* written = r.child("operands");
  if (r.statements.empty() || r.broken) {
    if (written && r.statements.empty() && !r.broken)
      r.fail(written->where, r.what + " has 'operands' and no 'compute'");
    return;
  }
  const auto uses = tensor_uses(r);
  std::vector<std::string> names;
  for (const TensorUse& use : uses) {
    names.push_back(use.name);
    const Node* node = written ? written->find(use.name) : nullptr;
    const SourceLocation where = node ? node->where : r.entry.node.find("compute")->where;
    Tensor tensor;
    tensor.name = use.name;
    tensor.shape = shape_of(use, where, r);
    Operand operand;
    operand.name = use.name;
    operand.index_names = index_names(use);
    r.context.dims = &r.dims;
    const bool complete = !node || load_operand(*node, operand, "operand '" + use.name + "' of " + r.what, r.context);
    r.broken |= !complete;
    if (!use.temporary && complete) default_memory(operand, names.size() == 1, where, r);
    tensor.outside = operand.outside;
    r.instruction.tensors.push_back(std::move(tensor));
    r.instruction.operands.push_back(std::move(operand));
  }
  if (written)
    for (std::size_t i = 0; i < written->entries.size(); ++i) {
      auto& use = r.context.operand_use[{r.what, written->entries[i].first}];
      use.used |= std::find(names.begin(), names.end(), written->entries[i].first) != names.end();
      if (use.where.line == 0) use = {use.used, written->key_where[i], join(names)};
    }
  if (!r.broken) default_dtypes(r);
  for (std::size_t i = 0; i < r.instruction.tensors.size(); ++i)
    r.instruction.tensors[i].dtype = r.instruction.operands[i].dtype.value_or(DType::b8);
}

void bind_statements(Reading& r) {
  if (r.broken || r.statements.empty()) return;
  std::map<std::string, std::int64_t> extents;
  for (const auto& [name, range] : r.dims) extents[name] = range.max;
  const SourceLocation where = text_where(*r.entry.node.find("compute"));
  for (const ParsedStatement& statement : r.statements) {
    Result<Computation> bound = bind(statement, r.instruction.tensors, extents, {}, where);
    if (!bound) {
      r.problems().add(bound.diagnostics(), "statements and their types: docs/kernels.md");
      r.broken = true;
      return;
    }
    r.instruction.semantics.push_back(std::move(*bound));
  }
  for (const Dim& dim : r.instruction.statement().domain.dims) r.instruction.ranges.push_back(r.dims.at(dim.name));
}

}  // namespace

const DimRange* range_of(const Reading& r, const std::string& dim) {
  const auto found = r.dims.find(dim);
  return found == r.dims.end() ? nullptr : &found->second;
}

void read_statement(Reading& r) {
  parse_statements(r);
  read_dims(r);
  read_operands(r);
  bind_statements(r);
}

void report_unused_operands(Context& context) {
  for (const auto& [key, use] : context.operand_use)
    if (!use.used)
      context.problems.error(
          use.where, "'operands' of " + key.first + " names '" + key.second + "', which the statement does not use", "",
          {"operands of the statement: " + use.known});
}

}  // namespace isamap::loader

// One expanded entry to an Instruction.

#include <algorithm>

#include "hwdesc/loader_internal.h"
#include "ir/parse.h"
#include "support/arithmetic.h"

namespace isamap::loader {

namespace {

constexpr std::int64_t max_extent = std::int64_t{1} << 32;

/// The entry being read: what its parts need to know of each other.
struct Reading {
  const Entry& entry;
  Fields& map;
  std::string what;                       ///< "instruction 'fma_${t}'"
  Context& context;
  Instruction instruction;
  std::vector<ParsedStatement> statements;
  std::map<std::string, DimRange> dims;
  bool broken = false;                    ///< the statement cannot be bound; the rest is still read

  Problems& problems() const { return context.problems; }
  void fail(const SourceLocation& where, std::string message, std::string hint = "", std::vector<std::string> notes = {}) {
    problems().error(where, std::move(message), std::move(hint), std::move(notes));
    broken = true;
  }
};

void read_name(Reading& r) {
  const auto name = r.map.text("name", true);
  if (!name) return;
  const SourceLocation& where = r.entry.node.find("name")->where;
  const bool plain = !name->empty() && std::all_of(name->begin(), name->end(), [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-' || c == '.'; });
  if (!plain) r.fail(where, "instruction name '" + *name + "' may hold only letters, digits, '_', '-' and '.'");
  for (const Instruction& other : r.context.parts.instructions)
    if (other.name == *name) r.fail(where, "a second instruction is called '" + *name + "'", "put a row's parameter into the name: \"load_${t}\"");
  r.instruction.name = *name;
}

/// A link's mover belongs to the inner of the two owners: the one whose memory the other does not know.
UnitId mover(const Link& link, const Context& context) {
  const auto& units = context.parts.units;
  const auto owner = [&](MemoryId memory) { return context.parts.memories[memory.index()].per; };
  const auto depth = [&](UnitId id) {
    int steps = 0;
    for (UnitId u = id; u.valid(); u = units[u.index()].parent) ++steps;
    return steps;
  };
  return depth(owner(link.to)) >= depth(owner(link.from)) ? owner(link.to) : owner(link.from);
}

void read_executor(Reading& r) {
  const Node* unit = r.map.child("unit");
  const Node* link = r.map.child("link");
  if (link) r.instruction.link = link_named(*link, r.what, r.context).value_or(LinkId{});
  if (unit) r.instruction.unit = unit_named(*unit, r.what, r.context).value_or(UnitId{});
  else if (r.instruction.link.valid()) r.instruction.unit = mover(r.context.parts.links[r.instruction.link.index()], r.context);
  if (!unit && !link) r.fail(r.entry.node.where, r.what + " has neither 'unit' nor 'link'", "say who executes it: unit: NAME");
  if (!r.instruction.unit.valid()) r.broken = true;
}

void read_statements(Reading& r) {
  const Node* compute = r.map.child("compute");
  if (!compute) return;
  const auto one = [&](const Node& text) {
    if (text.kind != Kind::scalar) return r.fail(text.where, "'compute' of " + r.what + " must be a statement or a list of statements", "write \"C[i,j] += A[i,k] * B[k,j]\"");
    Result<ParsedStatement> parsed = parse_statement(text.scalar, text_where(text));
    if (parsed) {
      r.statements.push_back(std::move(*parsed));
    } else {
      r.problems().add(parsed.diagnostics());
      r.broken = true;
    }
  };
  if (compute->kind == Kind::list) std::for_each(compute->items.begin(), compute->items.end(), one);
  else one(*compute);
  if (compute->kind == Kind::list && compute->items.empty()) r.fail(compute->where, "'compute' of " + r.what + " is empty");
}

// --- dims ---

std::optional<std::int64_t> extent_of(const Node& node, std::optional<IntExpr>& symbolic, const std::string& what, Reading& r) {
  const auto expression = int_expr(node, r.problems());
  if (!expression) return std::nullopt;
  const auto value = at_maximum(*expression, r.context);
  if (!value || *value < 0 || *value > max_extent) {
    r.fail(node.where, what + " must be a number from 0 to 2^32" + (r.context.parts.symbols.empty() ? "" : " or an expression of symbols") + ", found '" + node.scalar + "'");
    return std::nullopt;
  }
  if (!references(*expression).empty()) symbolic = *expression;
  return value;
}

DimRange read_range(const std::string& name, const Node& node, Reading& r) {
  const std::string what = "dim '" + name + "' of " + r.what;
  DimRange range;
  if (node.kind != Kind::map) {
    const auto extent = extent_of(node, range.symbolic_max, what, r);
    if (extent && *extent < 1) r.fail(node.where, what + " has extent 0");
    range.min = range.max = range.multiple_of = std::max<std::int64_t>(1, extent.value_or(1));
    return range;
  }
  Fields map(node, what, r.problems());
  std::optional<IntExpr> ignored;
  if (const Node* max = map.required("max")) range.max = extent_of(*max, range.symbolic_max, "'max' of " + what, r).value_or(1);
  if (const Node* min = map.child("min")) range.min = extent_of(*min, ignored, "'min' of " + what, r).value_or(1);
  if (const Node* multiple = map.child("multiple_of")) range.multiple_of = extent_of(*multiple, ignored, "'multiple_of' of " + what, r).value_or(1);
  const std::string known = map.text("known").value_or("run");
  if (known != "run" && known != "compile") r.fail(node.find("known")->where, "'known' of " + what + " must be run or compile, found '" + known + "'");
  range.known_at_compile_time = known == "compile";
  if (range.max < std::max<std::int64_t>(1, range.min)) r.fail(node.where, what + " has min " + std::to_string(range.min) + " and max " + std::to_string(range.max));
  if (range.multiple_of < 1 || range.max % range.multiple_of != 0)
    r.fail(node.where, "max " + std::to_string(range.max) + " of " + what + " is no multiple of " + std::to_string(range.multiple_of));
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
  const Node* dims = r.map.child("dims");
  const auto used = iterators(r.statements);
  if (dims && dims->kind != Kind::map) r.fail(dims->where, "'dims' of " + r.what + " must be a map", "write {i: 16, j: {max: 16}}");
  if (dims)
    for (std::size_t i = 0; i < dims->entries.size(); ++i) {
      const auto& [name, value] = dims->entries[i];
      r.dims[name] = read_range(name, value, r);
      if (std::find(used.begin(), used.end(), name) == used.end() && !r.broken)
        r.fail(dims->key_where[i], "'dims' of " + r.what + " gives '" + name + "', which the statement does not use");
    }
  for (const std::string& name : used)
    if (!r.dims.count(name)) r.fail(r.entry.node.find("compute")->where, "dim '" + name + "' of " + r.what + " has no extent", "write dims: {" + name + ": 16}");
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
    if (r.statements[s].write.tensor != r.statements.back().write.tensor) written_before.insert(r.statements[s].write.tensor);
  const auto note = [&](const ParsedAccess& access) {
    auto& list = written_before.count(access.tensor) ? temporaries : uses;
    auto found = std::find_if(list.begin(), list.end(), [&](const TensorUse& use) { return use.name == access.tensor; });
    if (found == list.end()) found = list.insert(list.end(), {access.tensor, {}, written_before.count(access.tensor) > 0});
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
    const bool agreed = dim && std::all_of(use.accesses.begin(), use.accesses.end(), [&](const ParsedAccess* a) { return i < a->index.size() && a->index[i].as_dim() == dim; });
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
      r.fail(where, "'" + use.name + "' of " + r.what + " has " + std::to_string(shape.size()) + " subscripts in one place and " + std::to_string(access->index.size()) + " in another");
      continue;
    }
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const auto span = bounds(access->index[i], ranges);
      if (!span) continue;  // a dim without an extent, reported above
      if (span->low < 0) r.fail(where, "subscript " + print(access->index[i]) + " of '" + use.name + "' in " + r.what + " becomes negative");
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
    if (operand.memory.valid()) r.fail(where, "operand '" + operand.name + "' of " + r.what + " has a memory and is a state field or an immediate");
    return;
  }
  if (!on_link) {
    if (!operand.memory.valid()) r.fail(where, "operand '" + operand.name + "' of " + r.what + " has no memory", "write operands: {" + operand.name + ": {memory: NAME, dtype: ..}}");
    return;
  }
  const Link& link = r.context.parts.links[r.instruction.link.index()];
  const MemoryId end = written ? link.to : link.from;
  if (operand.memory.valid() && operand.memory != end)
    r.fail(where, "operand '" + operand.name + "' of " + r.what + " is in '" + r.context.parts.memories[operand.memory.index()].name + "'; link '" + link.name + "' " +
                      (written ? "ends in '" : "begins in '") + r.context.parts.memories[end.index()].name + "'");
  operand.memory = end;
}

std::optional<DType> state_dtype(const Operand& operand, const Context& context) {
  const std::size_t dot = operand.state.find('.');
  for (const State& state : context.parts.states)
    for (const StateField& field : state.fields)
      if (operand.state.substr(0, dot) == state.name && dot != std::string::npos && operand.state.substr(dot + 1) == field.name) return field.dtype;
  return std::nullopt;
}

void default_dtypes(Reading& r) {
  auto& operands = r.instruction.operands;
  for (Operand& operand : operands)
    if (!operand.dtype && !operand.state.empty()) operand.dtype = state_dtype(operand, r.context);
  if (r.statements.size() == 1 && is_copy(r.statements[0]) && operands.size() == 2) {
    if (!operands[0].dtype) operands[0].dtype = operands[1].dtype;
    if (!operands[1].dtype) operands[1].dtype = operands[0].dtype;
    return;
  }
  for (const Operand& operand : operands)
    if (!operand.dtype) r.fail(r.entry.node.where, "operand '" + operand.name + "' of " + r.what + " has no dtype", "only a move may take whatever its tensor has");
}

void read_operands(Reading& r) {
  const Node* written = r.map.child("operands");
  if (written && written->kind != Kind::map) r.fail(written->where, "'operands' of " + r.what + " must be a map", "write {A: {memory: NAME, dtype: f32}}");
  if (r.statements.empty() || r.broken) {
    if (written && r.statements.empty() && !r.broken) r.fail(written->where, r.what + " has 'operands' and no 'compute'");
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
  for (std::size_t i = 0; i < r.instruction.tensors.size(); ++i) r.instruction.tensors[i].dtype = r.instruction.operands[i].dtype.value_or(DType::b8);
}

void bind_statements(Reading& r) {
  if (r.broken || r.statements.empty()) return;
  std::map<std::string, std::int64_t> extents;
  for (const auto& [name, range] : r.dims) extents[name] = range.max;
  const SourceLocation where = text_where(*r.entry.node.find("compute"));
  for (const ParsedStatement& statement : r.statements) {
    Result<Computation> bound = bind(statement, r.instruction.tensors, extents, {}, where);
    if (!bound) {
      r.problems().add(bound.diagnostics());
      r.broken = true;
      return;
    }
    r.instruction.semantics.push_back(std::move(*bound));
  }
  for (const Dim& dim : r.instruction.statement().domain.dims) r.instruction.ranges.push_back(r.dims.at(dim.name));
}

// --- what remains ---

const DimRange* range_of(const Reading& r, const std::string& dim) {
  const auto found = r.dims.find(dim);
  return found == r.dims.end() ? nullptr : &found->second;
}

void read_masks(Reading& r) {
  const Node* mask = r.map.child("mask");
  if (!mask) return;
  if (mask->kind != Kind::map) return r.fail(mask->where, "'mask' of " + r.what + " must be a map", "write {j: MEMORY}");
  for (std::size_t i = 0; i < mask->entries.size(); ++i) {
    const auto& [dim, memory] = mask->entries[i];
    const DimRange* range = range_of(r, dim);
    if (!range) r.fail(mask->key_where[i], "'mask' of " + r.what + " names dim '" + dim + "', which the statement does not have");
    else if (range->fixed()) r.fail(mask->key_where[i], "dim '" + dim + "' of " + r.what + " is always " + std::to_string(range->max) + ": a mask says nothing", "write dims: {" + dim + ": {max: " + std::to_string(range->max) + "}}");
    const auto id = memory_named(memory, "'mask' of " + r.what, r.context);
    if (id && !r.context.parts.memories[id->index()].is_register()) r.fail(memory.where, "'mask' of " + r.what + " names '" + memory.scalar + "', which is no register file");
    if (id) r.instruction.masks.emplace_back(dim, *id);
  }
}

void read_inactive(Reading& r) {
  if (const auto text = r.map.text("inactive")) {
    if (*text == "zero") r.instruction.inactive = Inactive::zero;
    else if (*text == "keep") r.instruction.inactive = Inactive::keep;
    else if (*text == "undefined") r.instruction.inactive = Inactive::undefined;
    else r.fail(r.entry.node.find("inactive")->where, "'inactive' of " + r.what + " must be zero, keep or undefined, found '" + *text + "'");
    return;
  }
  if (r.broken || r.instruction.semantics.empty()) return;
  const Operand& output = r.instruction.operands.front();
  const bool in_register = output.memory.valid() && r.context.parts.memories[output.memory.index()].is_register();
  for (const AffineExpr& index : r.instruction.statement().write.index)
    for (const std::string& dim : index.names())
      if (in_register && range_of(r, dim) && !range_of(r, dim)->fixed() && !range_of(r, dim)->known_at_compile_time) {
        if (fill_value(r.instruction)) {  // what a fill leaves beyond its extent matters only to who says so
          r.instruction.inactive = Inactive::undefined;
          return;
        }
        return r.fail(r.entry.node.where, r.what + " has no 'inactive': dim '" + dim + "' is ranged and '" + output.name + "' is a register", "say what the positions beyond the extent hold: zero, keep or undefined");
      }
}

void read_start(Reading& r) {
  const Node* start = r.map.child("start");
  if (!start) return;
  if (start->kind != Kind::map) return r.fail(start->where, "'start' of " + r.what + " must be a map", "write {C: [zero, keep]}");
  for (std::size_t i = 0; i < start->entries.size(); ++i) {
    const auto& [name, value] = start->entries[i];
    const bool updated = !r.statements.empty() && r.statements.back().write.tensor == name && r.statements.back().reduction != Reduction::assign;
    if (!updated) r.fail(start->key_where[i], "'start' of " + r.what + " names '" + name + "', which the statement does not update");
    std::vector<Start> choices;
    const auto one = [&](const Node& node) {
      if (node.scalar == "keep") choices.push_back(Start::keep);
      else if (node.scalar == "zero") choices.push_back(Start::zero);
      else if (std::any_of(r.instruction.operands.begin(), r.instruction.operands.end(), [&](const Operand& o) { return o.name == node.scalar; })) r.fail(node.where, "'start' from another operand is not supported yet");
      else r.fail(node.where, "'start' of " + r.what + " must be keep, zero or a list of them, found '" + node.scalar + "'");
    };
    if (value.kind == Kind::list) std::for_each(value.items.begin(), value.items.end(), one);
    else one(value);
    r.instruction.start.emplace_back(name, choices);
  }
}

void read_state_use(Reading& r) {
  if (const Node* needs = r.map.child("needs")) {
    if (needs->kind != Kind::map) r.fail(needs->where, "'needs' of " + r.what + " must be a map", "write {state.field: value}");
    for (const auto& [field, value] : needs->entries)
      if (const auto expression = int_expr(value, r.problems())) r.instruction.needs.push_back({field, *expression, false});
  }
  const Node* sets = r.map.child("sets");
  if (!sets) return;
  for (const Node& field : sets->items) r.instruction.sets.push_back({field.scalar, {}, true});
  for (const auto& [field, value] : sets->entries) {
    if (value.kind == Kind::scalar && value.scalar == "any") r.instruction.sets.push_back({field, {}, true});
    else if (const auto expression = int_expr(value, r.problems())) r.instruction.sets.push_back({field, *expression, false});
  }
  if (sets->kind == Kind::scalar) r.fail(sets->where, "'sets' of " + r.what + " must be a list of fields or a map", "write [state.field]");
}

void read_async(const Node& node, Reading& r) {
  Fields map(node, "'async' of " + r.what, r.problems());
  const Node* by = map.required("by");
  const auto& objects = r.context.parts.async;
  if (by && std::none_of(objects.begin(), objects.end(), [&](const AsyncObject& o) { return o.name == by->scalar; }))
    r.fail(by->where, "'async' of " + r.what + " names completion object '" + by->scalar + "', which is not declared");
  r.instruction.async_by = by ? by->scalar : "";
  r.instruction.async_pending = map.texts("pending");
  if (const Node* bytes = map.child("bytes")) r.instruction.async_bytes = int_expr(*bytes, r.problems());
}

void read_numerics(const Node& node, Reading& r) {
  Numerics& numerics = r.instruction.numerics;
  Fields map(node, "'numerics' of " + r.what, r.problems());
  const auto one_of = [&](const char* key, std::initializer_list<const char*> allowed) {
    const std::string text = map.text(key).value_or("");
    if (!text.empty() && std::find(allowed.begin(), allowed.end(), text) == allowed.end())
      r.fail(node.find(key)->where, "'" + std::string(key) + "' of 'numerics' of " + r.what + " must be " + join({allowed.begin(), allowed.end()}) + "; found '" + text + "'");
    return text;
  };
  numerics.fused = map.boolean("fused").value_or(false);
  numerics.round = one_of("round", {"each", "once", "truncate"});
  numerics.denormals = one_of("denormals", {"keep", "zero"});
  const Node* order = map.child("order");
  if (!order) return;
  if (order->kind == Kind::scalar && order->scalar == "any") numerics.order_any = true;
  else if (order->kind != Kind::map) r.fail(order->where, "'order' of 'numerics' of " + r.what + " must be any or a list for each dim");
  for (const auto& [dim, list] : order->entries)
    for (const Node& item : list.items) numerics.order[dim].push_back(yaml::to_integer(item).value_or(0));
}

void read_timing(const Node& node, Reading& r) {
  Timing& timing = r.instruction.timing;
  Fields map(node, "'timing' of " + r.what, r.problems());
  if (const Node* latency = map.child("latency")) timing.latency = read_cycles(*latency, "'latency' of " + r.what, r.context);
  if (const Node* interval = map.child("interval")) timing.interval = read_cycles(*interval, "'interval' of " + r.what, r.context);
  timing.port = map.text("port").value_or("");
  if (timing.port.empty() || !r.instruction.unit.valid()) return;
  std::vector<std::string> known;
  for (const Unit& unit : r.context.parts.units)
    for (const auto& [port, count] : unit.ports) known.push_back(port);
  if (std::find(known.begin(), known.end(), timing.port) == known.end())
    r.fail(node.find("port")->where, "'timing' of " + r.what + " names port '" + timing.port + "', which no unit has", "declare it in 'ports' of a unit: {" + timing.port + ": 1}",
           {"declared ports: " + (known.empty() ? "none" : join(known))});
}

void read_texts(Reading& r) {
  const auto one = [&](const char* key, Template& out) {
    const Node* node = r.map.child(key);
    if (!node) return;
    if (node->kind != Kind::scalar) return r.fail(node->where, "'" + std::string(key) + "' of " + r.what + " must be text", "quote text that begins with '{'");
    if (auto text = template_of(*node, r.problems())) out = std::move(*text);
    else r.broken = true;
  };
  one("emit", r.instruction.emit);
  one("asm", r.instruction.assembly);
  if (!r.map.has("emit") && !r.map.has("asm")) r.fail(r.entry.node.where, r.what + " has neither 'emit' nor 'asm'", "say how it is printed");
  r.instruction.reset = r.map.text("reset").value_or("");
  r.instruction.scope = r.map.text("scope").value_or("use");
  if (r.instruction.scope != "use" && r.instruction.scope != "function") r.fail(r.entry.node.find("scope")->where, "'scope' of " + r.what + " must be use or function");
  const std::string issue = r.map.text("issue").value_or("all");
  if (issue != "all" && issue != "one") r.fail(r.entry.node.find("issue")->where, "'issue' of " + r.what + " must be all or one, found '" + issue + "'");
  r.instruction.issue_one = issue == "one";
}

void read_rest(Reading& r) {
  if (const Node* clobbers = r.map.child("clobbers"))
    for (const Node& item : clobbers->items)
      if (const auto memory = memory_named(item, "'clobbers' of " + r.what, r.context)) r.instruction.clobbers.push_back(*memory);
  if (const Node* async = r.map.child("async")) read_async(*async, r);
  if (const Node* pack = r.map.child("pack")) r.instruction.pack = load_format_use(*pack, "'pack' of " + r.what, r.context);
  if (const Node* encoding = r.map.child("encoding")) r.instruction.encoding = load_format_use(*encoding, "'encoding' of " + r.what, r.context);
  if (const Node* numerics = r.map.child("numerics")) read_numerics(*numerics, r);
  r.instruction.legal = r.map.texts("legal");
  if (const Node* requirements = r.map.child("requires")) {
    std::vector<std::string> cpu, arch;
    load_requires(*requirements, r.what, cpu, arch, r.context);
    cpu.insert(cpu.end(), arch.begin(), arch.end());
    r.instruction.requires_features = std::move(cpu);
  }
  if (const Node* timing = r.map.child("timing")) read_timing(*timing, r);
  if (const Node* energy = r.map.child("energy")) r.instruction.energy_pJ = read_energy(*energy, "'energy' of " + r.what, r.context).value_or(0);
}

}  // namespace

void load_instruction(const Entry& entry, Context& context) {
  Fields map(entry.node, "instruction '" + entry.written_name + "'", context.problems);
  for (const std::string& key : instruction_keys()) map.child(key);
  Reading r{entry, map, "instruction '" + entry.written_name + "'", context, {}, {}, {}};
  r.instruction.where = entry.node.where;
  read_name(r);
  read_executor(r);
  read_statements(r);
  read_dims(r);
  read_operands(r);
  bind_statements(r);
  read_masks(r);
  read_inactive(r);
  read_start(r);
  read_state_use(r);
  read_texts(r);
  read_rest(r);
  if (r.broken) return;
  check_operands(r.instruction, entry.node, context);
  check_references(r.instruction, entry.node, context);
  check_formats(r.instruction, context);
  context.parts.instructions.push_back(std::move(r.instruction));
}

void report_unused_operands(Context& context) {
  for (const auto& [key, use] : context.operand_use)
    if (!use.used) context.problems.error(use.where, "'operands' of " + key.first + " names '" + key.second + "', which the statement does not use", "", {"operands of the statement: " + use.known});
}

}  // namespace isamap::loader

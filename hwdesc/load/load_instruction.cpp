// SPDX-License-Identifier: Apache-2.0
// One expanded entry to an Instruction, without its statement.

#include <algorithm>

#include "hwdesc/keys/enumeration.h"
#include "hwdesc/load/reading_internal.h"

namespace isamap::loader {

namespace {

void read_name(Reading& r) {
  const auto name = r.map.text("name");
  if (!name) return;
  const SourceLocation& where = r.entry.node.find("name")->where;
  const bool plain = !name->empty() && std::all_of(name->begin(), name->end(), [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '-' || c == '.';
  });
  if (!plain) r.fail(where, "instruction name '" + *name + "' may hold only letters, digits, '_', '-' and '.'");
  for (const Instruction& other : r.context.parts.instructions)
    if (other.name == *name)
      r.fail(where, "a second instruction is called '" + *name + "'",
             "put a row's parameter into the name: \"load_${t}\"");
  r.instruction.name = *name;
}

/// The unit of a move is the inner one of the two owners of its memories.
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
  const Node* unit = r.child("unit");
  const Node* link = r.child("link");
  if (link) r.instruction.link = link_named(*link, r.what, r.context).value_or(LinkId{});
  if (unit)
    r.instruction.unit = unit_named(*unit, r.what, r.context).value_or(UnitId{});
  else if (r.instruction.link.valid())
    r.instruction.unit = mover(r.context.parts.links[r.instruction.link.index()], r.context);
  if (!unit && !link)
    r.fail(r.entry.node.where, r.what + " has neither 'unit' nor 'link'", "say who executes it: unit: NAME");
  if (!r.instruction.unit.valid()) r.broken = true;
}

void read_masks(Reading& r) {
  const Node* mask = r.child("mask");
  if (!mask) return;
  for (std::size_t i = 0; i < mask->entries.size(); ++i) {
    const auto& [dim, memory] = mask->entries[i];
    const DimRange* range = range_of(r, dim);
    if (!range)
      r.fail(mask->key_where[i], "'mask' of " + r.what + " names dim '" + dim + "', which the statement does not have");
    else if (range->fixed())
      r.fail(mask->key_where[i],
             "dim '" + dim + "' of " + r.what + " is always " + std::to_string(range->max) + ": a mask has no effect",
             "write dims: {" + dim + ": {max: " + std::to_string(range->max) + "}}");
    const auto id = memory_named(memory, "'mask' of " + r.what, r.context);
    if (id && !r.context.parts.memories[id->index()].is_register())
      r.fail(memory.where, "'mask' of " + r.what + " names '" + memory.scalar + "', which is no register file");
    if (id) r.instruction.masks.emplace_back(dim, *id);
  }
}

void read_inactive(Reading& r) {
  if (const auto word = r.word("inactive", "say what the positions beyond the extent hold afterwards"))
    r.instruction.inactive = keys::value_of(*word, Inactive::zero, Inactive::undefined).value_or(Inactive::none);
  if (r.map.has("inactive")) return;
  if (r.broken || r.instruction.semantics.empty()) return;
  const Operand& output = r.instruction.operands.front();
  const bool in_register = output.memory.valid() && r.context.parts.memories[output.memory.index()].is_register();
  for (const AffineExpr& index : r.instruction.statement().write.index)
    for (const std::string& dim : index.names())
      if (in_register && range_of(r, dim) && !range_of(r, dim)->fixed() && !range_of(r, dim)->known_at_compile_time) {
        if (fill_value(r.instruction)) {  // a fill's elements beyond its extent matter only if stated
          r.instruction.inactive = Inactive::undefined;
          return;
        }
        return r.fail(
            r.entry.node.where,
            r.what + " has no 'inactive': dim '" + dim + "' is ranged and '" + output.name + "' is a register",
            "say what the positions beyond the extent hold: zero, keep or undefined");
      }
}

void read_start(Reading& r) {
  const Node* start = r.child("start");
  if (!start) return;
  for (std::size_t i = 0; i < start->entries.size(); ++i) {
    const auto& [name, value] = start->entries[i];
    const bool updated = !r.statements.empty() && r.statements.back().write.tensor == name &&
                         r.statements.back().reduction != Reduction::assign;
    if (!updated)
      r.fail(start->key_where[i],
             "'start' of " + r.what + " names '" + name + "', which the statement does not update");
    std::vector<Start> choices;
    const auto one = [&](const Node& node) {
      if (const auto choice = keys::value_of(node.scalar, Start::keep, Start::zero))
        choices.push_back(*choice);
      else if (std::any_of(r.instruction.operands.begin(), r.instruction.operands.end(),
                           [&](const Operand& o) { return o.name == node.scalar; }))
        r.fail(node.where, "'start' from another operand is not supported yet", "write keep, zero or a list of them");
      else
        r.fail(node.where,
               "'start' of " + r.what + " must be keep, zero or a list of them, found '" + node.scalar + "'",
               "write {" + name + ": [zero, keep]}");
    };
    if (value.kind == Kind::list)
      std::for_each(value.items.begin(), value.items.end(), one);
    else
      one(value);
    const bool twice = choices.size() == 2 && choices[0] == choices[1];
    if (value.kind == Kind::list && (value.items.empty() || choices.size() > 2 || twice))
      r.fail(value.where, "'start' of " + r.what + " must list keep and zero, each once at most",
             "write {" + name + ": [zero, keep]}");
    r.instruction.start.emplace_back(name, choices);
  }
}

/// Several instances may update an element concurrently if they share its memory.
void read_atomic(Reading& r) {
  const Node* atomic = r.child("atomic");
  if (!atomic) return;
  const auto unit = unit_named(*atomic, "'atomic' of " + r.what, r.context);
  if (!unit || r.broken || r.instruction.operands.empty()) return;
  r.instruction.atomic = *unit;
  if (!is_combine(r.instruction))
    return r.fail(atomic->where, "'atomic' of " + r.what + " is said of what adds up parts: compute: \"D[i] += S[i]\"",
                  "leave it out");
  const MemoryId target = r.instruction.operands.front().memory;
  if (!target.valid()) return;
  const Memory& memory = r.context.parts.memories[target.index()];
  for (UnitId at = *unit; at.valid(); at = r.context.parts.units[at.index()].parent)
    if (at == memory.per) return;
  r.fail(
      atomic->where,
      "'atomic' of " + r.what + " names '" + atomic->scalar + "', whose instances do not share '" + memory.name + "'",
      "'" + memory.name + "' is of each " + r.context.parts.units[memory.per.index()].name +
          ": name that unit, or one inside it");
}

void read_state_use(Reading& r) {
  if (const Node* needs = r.child("needs")) {
    for (const auto& [field, value] : needs->entries)
      if (const auto expression = int_expr(value, r.problems()))
        r.instruction.needs.push_back({field, *expression, false});
  }
  const Node* sets = r.child("sets");
  if (const auto only = r.word("only", "the way in which a setter moves its fields")) {
    r.instruction.only = keys::value_of(*only, Change::raise, Change::lower).value_or(Change::any);
    if (!sets)
      r.fail(r.entry.node.find("only")->where,
             "'only' of " + r.what + " says which way a setter moves its fields: raise or lower", "it has no 'sets'");
  }
  if (!sets) return;
  for (const Node& field : sets->items) r.instruction.sets.push_back({field.scalar, {}, true});
  for (const auto& [field, value] : sets->entries) {
    if (value.kind == Kind::scalar && value.scalar == "any")
      r.instruction.sets.push_back({field, {}, true});
    else if (const auto expression = int_expr(value, r.problems()))
      r.instruction.sets.push_back({field, *expression, false});
  }
}

void read_async(const Node& node, Reading& r) {
  Fields map(node, "async use", "'async' of " + r.what, r.context);
  const Node* by = map.child("by");
  const auto& objects = r.context.parts.async;
  if (by && by->kind != Kind::scalar)
    r.fail(by->where, "'by' of 'async' of " + r.what + " must be the name of one completion object",
           "write {by: " + (objects.empty() ? std::string("NAME") : objects.front().name) + "}");
  else if (by &&
           std::none_of(objects.begin(), objects.end(), [&](const AsyncObject& o) { return o.name == by->scalar; }))
    r.fail(by->where, "'async' of " + r.what + " names completion object '" + by->scalar + "', which is not declared");
  r.instruction.async_by = by ? by->scalar : "";
  if (const Node* bytes = map.child("bytes")) r.instruction.async_bytes = int_expr(*bytes, r.problems());
}

void read_numerics(const Node& node, Reading& r) {
  Numerics& numerics = r.instruction.numerics;
  Fields map(node, "numerics", "'numerics' of " + r.what, r.context);
  const std::string hint = "leave the key out for the statement's own arithmetic";
  numerics.fused = map.boolean("fused").value_or(false);
  if (const auto word = map.word("round", hint))
    numerics.round = keys::value_of(*word, Numerics::Round::each, Numerics::Round::truncate);
  numerics.bits = map.number("bits");
  numerics.flushes_denormals = map.word("denormals", hint) == "zero";
  const Node* order = map.child("order");
  if (!order) return;
  if (order->kind == Kind::scalar && order->scalar == "any")
    numerics.order_any = true;
  else if (order->kind != Kind::map)
    r.fail(order->where, "'order' of 'numerics' of " + r.what + " must be any or a list for each dim");
  for (const auto& [dim, list] : order->entries)
    for (const Node& item : list.items) numerics.order[dim].push_back(yaml::to_integer(item).value_or(0));
}

void read_timing(const Node& node, Reading& r) {
  Timing& timing = r.instruction.timing;
  Fields map(node, "timing", "'timing' of " + r.what, r.context);
  timing.latency = map.cycles("latency", r.what);
  timing.interval = map.cycles("interval", r.what);
  timing.port = map.text("port").value_or("");
  if (timing.port.empty() || !r.instruction.unit.valid()) return;
  std::vector<std::string> known;
  for (const Unit& unit : r.context.parts.units)
    for (const auto& [port, count] : unit.ports) known.push_back(port);
  if (std::find(known.begin(), known.end(), timing.port) == known.end())
    r.fail(node.find("port")->where, "'timing' of " + r.what + " names port '" + timing.port + "', which no unit has",
           "declare it in 'ports' of a unit: {" + timing.port + ": 1}",
           {"declared ports: " + (known.empty() ? "none" : join(known))});
}

void read_texts(Reading& r) {
  const auto one = [&](const char* key, Template& out) {
    const Node* node = r.child(key);
    if (!node) return;
    if (node->kind != Kind::scalar)
      return r.fail(node->where, "'" + std::string(key) + "' of " + r.what + " must be text",
                    "quote text that begins with '{'");
    if (auto text = template_of(*node, r.problems()))
      out = std::move(*text);
    else
      r.broken = true;
  };
  one("emit", r.instruction.emit);
  one("asm", r.instruction.assembly);
  if (!r.map.has("emit") && !r.map.has("asm"))
    r.fail(r.entry.node.where, r.what + " has neither 'emit' nor 'asm'", "say how it is printed");
  r.instruction.reset = r.map.text("reset").value_or("");
  r.instruction.of_function =
      r.word("scope", "function: the text is an attribute of the emitted function") == "function";
  r.instruction.issue_one = r.word("issue", "one: exactly one innermost instance issues it") == "one";
}

void read_rest(Reading& r) {
  if (const Node* clobbers = r.child("clobbers"))
    for (const Node& item : clobbers->items)
      if (const auto memory = memory_named(item, "'clobbers' of " + r.what, r.context))
        r.instruction.clobbers.push_back(*memory);
  if (const Node* async = r.child("async")) read_async(*async, r);
  if (const Node* pack = r.child("pack")) r.instruction.pack = load_format_use(*pack, "'pack' of " + r.what, r.context);
  if (const Node* encoding = r.child("encoding"))
    r.instruction.encoding = load_format_use(*encoding, "'encoding' of " + r.what, r.context);
  if (const Node* numerics = r.child("numerics")) read_numerics(*numerics, r);
  if (const Node* legal = r.child("legal")) read_legal(*legal, r);
  if (const Node* requirements = r.child("requires")) {
    const Requirements needed = load_requires(*requirements, r.what, r.context);
    for (const auto* list : {&needed.machine, &needed.cpu, &needed.arch})
      r.instruction.requires_features.insert(r.instruction.requires_features.end(), list->begin(), list->end());
  }
  if (const Node* timing = r.child("timing")) {
    r.instruction.timing_where = timing->where;
    read_timing(*timing, r);
  }
  if (const Node* energy = r.child("energy")) {
    r.instruction.energy_where = energy->where;
    r.instruction.energy_pJ = r.map.energy("energy").value_or(0);
  }
}

}  // namespace

void load_instruction(const Entry& entry, Context& context) {
  const std::string what = entry.written_name.empty() ? "instruction" : "instruction '" + entry.written_name + "'";
  Fields map(entry.node, "instruction", what, context);
  Reading r{entry, map, what, context, {}, {}, {}};
  r.instruction.where = entry.node.where;
  read_name(r);
  read_executor(r);
  read_statement(r);
  read_masks(r);
  read_inactive(r);
  read_start(r);
  read_atomic(r);
  read_state_use(r);
  read_texts(r);
  read_rest(r);
  if (r.broken) return;
  take_bits_of_reals(r.instruction, entry.node, context);
  check_operands(r.instruction, entry.node, context);
  check_references(r.instruction, entry.node, context);
  check_formats(r.instruction, entry.node, context);
  check_printed(r.instruction, entry.node, context);
  resolve_symbols(r.instruction, context);
  fold_conditions(r.instruction, entry.node, context);
  context.parts.instructions.push_back(std::move(r.instruction));
}

}  // namespace isamap::loader

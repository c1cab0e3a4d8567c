// SPDX-License-Identifier: Apache-2.0
// Barriers, completion objects, and objects that the host builds.

#include <algorithm>

#include "hwdesc/keys/enumeration.h"
#include "hwdesc/keys/types.h"
#include "hwdesc/load/loader_names.h"

namespace isamap::loader {

void check_placeholders(const Template& text, const Node& node, const std::vector<std::string>& allowed,
                        const std::string& what, Context& context) {
  for (const auto& part : text.parts) {
    const auto* placeholder = std::get_if<Placeholder>(&part);
    if (!placeholder) continue;
    for (const Reference& r : references(placeholder->expr)) {
      const bool known = r.property.empty() && r.argument.empty() &&
                         std::find(allowed.begin(), allowed.end(), r.object) != allowed.end();
      if (known) continue;
      const Node* line = node.kind == Kind::map ? node.find("asm") : nullptr;
      SourceLocation where = text_where(line ? *line : node);
      where.column += placeholder->offset;
      context.problems.error(where, "placeholder {" + placeholder->text + "} in " + what + " means nothing there", "",
                             {"placeholders: " + (allowed.empty() ? "none" : join(allowed))});
    }
  }
}

void load_emit(const Node& node, const std::string& what, Template& emit, Template& assembly, Context& context) {
  if (node.kind != Kind::map) {
    if (auto text = template_of(node, context.problems)) emit = std::move(*text);
    return;
  }
  Fields map(node, "assembly line", what, context);
  if (const Node* line = map.child("asm"))
    if (auto text = template_of(*line, context.problems)) assembly = std::move(*text);
}

namespace {

bool contains(const Template& text, const std::string& name) {
  return std::any_of(text.parts.begin(), text.parts.end(), [&](const auto& part) {
    const auto* placeholder = std::get_if<Placeholder>(&part);
    if (!placeholder) return false;
    const auto all = references(placeholder->expr);
    return std::any_of(all.begin(), all.end(), [&](const Reference& r) { return r.object == name; });
  });
}

// --- barriers ---

void check_barrier(const Barrier& barrier, const Node& node, const std::string& what, Context& context) {
  std::vector<std::string> allowed;
  if (barrier.count > 1) allowed.push_back("index");
  if (barrier.partial) allowed.push_back("participants");
  for (const char* key : {"emit", "asm"}) {
    const Node* text = node.find(key);
    if (!text) continue;
    const Template& parsed = barrier.emit.empty() ? barrier.assembly : barrier.emit;
    check_placeholders(parsed, *text, allowed, "'" + std::string(key) + "' of " + what, context);
    for (const std::string& name : allowed)
      if (!contains(parsed, name))
        context.problems.error(
            text->where,
            "'" + std::string(key) + "' of " + what + " does not contain {" + name +
                "}: " + (name == "index" ? "which of the " : "how many wait of the ") +
                (name == "index" ? std::to_string(barrier.count) + " barriers it is" : "unit's instances"),
            "write {" + name + "} where the text says it");
  }
}

void load_barrier(const Node& node, Context& context) {
  const std::string what = what_of("barrier", node);
  Fields map(node, "barrier", what, context);
  Barrier barrier;
  barrier.name = map.text("name").value_or("?");
  for (const Barrier& other : context.parts.barriers)
    if (other.name == barrier.name && node.find("name"))
      context.problems.error(node.find("name")->where, "a second barrier is called '" + barrier.name + "'",
                             "names are unique");
  if (const Node* unit = map.child("unit"))
    barrier.unit = unit_named(*unit, "'unit' of " + what, context).value_or(UnitId{});
  if (const Node* memories = map.child("memories"))
    for (const Node& item : memories->items)
      if (const auto memory = memory_named(item, "'memories' of " + what, context)) barrier.memories.push_back(*memory);
  if (const Node* emit = map.child("emit"))
    load_emit(*emit, "'emit' of " + what, barrier.emit, barrier.assembly, context);
  if (const Node* line = map.child("asm"))
    if (auto text = template_of(*line, context.problems)) barrier.assembly = std::move(*text);
  if (barrier.emit.empty() && barrier.assembly.empty())
    context.problems.error(node.where, what + " has neither 'emit' nor 'asm'");
  barrier.latency = map.time("latency").value_or(0);
  barrier.count = map.number("count").value_or(1);
  barrier.partial = map.boolean("partial").value_or(false);
  check_barrier(barrier, node, what, context);
  context.parts.barriers.push_back(std::move(barrier));
}

// --- completion ---

std::vector<std::string> async_placeholders(const std::string& key) {
  if (key == "wait") return {"pending"};
  if (key == "init") return {"at", "arrivals"};
  if (key == "arrive") return {"at"};
  if (key == "expect") return {"at", "bytes"};
  if (key == "test") return {"at", "parity", "done"};
  return {};
}

void load_async_text(const Node& node, const std::string& key, AsyncObject& object, const std::string& what,
                     Context& context) {
  const auto take = [&](const Node& text, const std::string& as) {
    if (text.scalar.find_first_not_of(" \t\n") == std::string::npos)
      return context.problems.error(text.where, "'" + key + "' of " + what + " is empty: nothing would be printed",
                                    "write the statement, or {asm: LINE}");
    object.texts[as] = text.scalar;
    if (const auto parsed = template_of(text, context.problems))
      check_placeholders(*parsed, text, async_placeholders(key), "'" + key + "' of " + what, context);
  };
  if (node.kind == Kind::scalar) return take(node, key);
  if (node.kind != Kind::map)
    return context.problems.error(node.where, "'" + key + "' of " + what + " must be text or an assembly line",
                                  "write the statement, or {asm: LINE}");
  Fields map(node, "assembly step", "'" + key + "' of " + what, context);
  if (const Node* line = map.child("asm"); line && line->kind == Kind::scalar) take(*line, key + ".asm");
  if (const Node* then = map.child("then")) load_async_text(*then, key + ".then", object, what, context);
}

/// Tokens go from the queue of one port to that of another; `push` and `pop` are separate commands.
void load_tokens(Fields& map, AsyncObject& object, const std::string& what, Context& context) {
  if (!object.per.valid()) {
    map.required("per");
    return;
  }
  const Unit& unit = context.parts.units[object.per.index()];
  if (!unit.tokens)
    context.problems.error(
        map.node().find("per")->where,
        what + " orders the queues of unit '" + unit.name + "', which has none: its order is that of the program",
        "give the unit order: tokens");
  for (const auto& [key, name] : {std::pair("from", &AsyncObject::from), std::pair("to", &AsyncObject::to)}) {
    const Node* port = map.child(key);
    if (!port) continue;
    object.*name = port->scalar;
    if (!unit.ports.contains(port->scalar))
      context.problems.error(port->where,
                             "'" + std::string(key) + "' of " + what + " names port '" + port->scalar +
                                 "', which unit '" + unit.name + "' does not have",
                             "name one of the 'ports' of the unit");
  }
  const Node *push = map.child("push"), *pop = map.child("pop");
  if (push) object.texts["push"] = push->scalar;
  if (pop) object.texts["pop"] = pop->scalar;
  if ((push == nullptr) != (pop == nullptr))
    context.problems.error(map.node().where, what + " has one of 'push' and 'pop'; commands of their own come in pairs",
                           "without both, instructions print push[" + object.name + "] and pop[" + object.name + "]");
}

void load_async_object(const Node& node, Context& context) {
  const Node* name = node.find("name");
  const std::string what = what_of("completion object", node);
  Fields map(node, "completion", what, context);
  AsyncObject object;
  object.where = node.where;
  object.name = map.text("name").value_or("?");
  for (const AsyncObject& other : context.parts.async)
    if (name && other.name == object.name)
      context.problems.error(name->where, "a second completion object is called '" + object.name + "'",
                             "names are unique", {"the first is in line " + std::to_string(other.where.line)});
  const auto kind = map.word("kind");
  for (const std::string& known : keys::find_value_type("completion kind")->words)
    if (!kind || *kind == known) map.also(known);
  if (kind) object.kind = keys::value_of(*kind, AsyncKind::groups, AsyncKind::tokens).value_or(object.kind);
  if (const Node* per = map.child("per")) object.per = unit_named(*per, "'per' of " + what, context).value_or(UnitId{});
  if (kind)
    for (const keys::Key& key : keys::section(*kind).keys)
      if (key.type == "step")
        if (const Node* text = map.child(key.name))
          load_async_text(*text, std::string(key.name), object, what, context);
  if (object.kind == AsyncKind::phases) {
    if (const Node* memory = map.child("memory"))
      object.memory = memory_named(*memory, "'memory' of " + what, context).value_or(MemoryId{});
    object.size = map.size("size").value_or(0);
  }
  if (object.kind == AsyncKind::tokens) load_tokens(map, object, what, context);
  context.parts.async.push_back(std::move(object));
}

// --- objects ---

void load_object(const Node& node, Context& context) {
  const std::string what = what_of("object", node);
  Fields map(node, "object", what, context);
  HostObject object;
  object.where = node.where;
  object.name = map.text("name").value_or("?");
  for (const HostObject& other : context.parts.objects)
    if (other.name == object.name)
      context.problems.error(node.where, "a second object is called '" + object.name + "'");
  object.constraint = map.text("constraint").value_or("");
  const auto take = [&](const char* key, Template& out, const std::vector<std::string>& allowed) {
    const Node* text = map.child(key);
    if (!text) return;
    if (auto parsed = template_of(*text, context.problems)) out = std::move(*parsed);
    check_placeholders(out, *text, allowed, "'" + std::string(key) + "' of " + what, context);
    if (!out.empty() && !contains(out, "name"))
      context.problems.error(text->where, "'" + std::string(key) + "' of " + what + " does not contain {name}",
                             "{name} is the object's own name in the program");
  };
  take("parameter", object.parameter, {"name"});
  take("build", object.build, {"name", "base", "dtype", "rank", "sizes", "pitches", "box", "swizzle"});
  context.parts.objects.push_back(std::move(object));
}

}  // namespace

void load_views(const Node& node, Memory& memory, const std::string& what, Context& context) {
  if (memory.is_register())
    context.problems.error(node.where, what + " is a register file: only addressed memories have views");
  for (const auto& [name, value] : node.entries) {
    Fields map(value, "view", "view '" + name + "' of " + what, context);
    MemoryView view;
    view.name = name;
    const std::string fence_of = "'fence' of view '" + name + "' of " + what;
    if (const Node* fence = map.child("fence")) {
      load_emit(*fence, fence_of, view.emit, view.assembly, context);
      check_placeholders(view.emit, *fence, {}, fence_of, context);
      check_placeholders(view.assembly, *fence, {}, fence_of, context);
    }
    memory.views.push_back(std::move(view));
  }
}

void load_barriers(const Node& root, Context& context) {
  for (const Node* node : items(root, "barriers", context.problems)) load_barrier(*node, context);
}

void load_async(const Node& root, Context& context) {
  for (const Node* node : items(root, "async", context.problems)) load_async_object(*node, context);
}

void load_objects(const Node& root, Context& context) {
  for (const Node* node : items(root, "objects", context.problems)) load_object(*node, context);
}

}  // namespace isamap::loader

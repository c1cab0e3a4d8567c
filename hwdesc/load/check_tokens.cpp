// SPDX-License-Identifier: Apache-2.0
// A unit of `order: tokens`: every instruction is in the queue of a port and can print all tokens of that queue.

#include <algorithm>
#include <set>

#include "hwdesc/load/loader_internal.h"

namespace isamap::loader {
namespace {

bool mentions(const IntExpr& e, const std::string& what, const std::string& object) {
  const auto all = references(e);
  return std::any_of(all.begin(), all.end(), [&](const Reference& r) {
    return r.object == what && r.property.empty() && r.argument == object;
  });
}

bool prints(const Instruction& instruction, const std::string& what, const std::string& object) {
  for (const Template* text : {&instruction.emit, &instruction.assembly})
    for (const auto& part : text->parts)
      if (const auto* p = std::get_if<Placeholder>(&part); p && mentions(p->expr, what, object)) return true;
  return false;
}

void check_queue(const Instruction& instruction, const Unit& unit, Context& context) {
  const std::string what = "instruction '" + instruction.name + "'";
  if (!unit.ports.contains(instruction.timing.port)) {
    context.problems.error(instruction.where, what + " is in no queue: unit '" + unit.name + "' is ordered by tokens",
                           "name one of its ports: timing: {port: ..}");
    return;
  }
  for (const AsyncObject& object : context.parts.async) {
    if (object.kind != AsyncKind::tokens || object.per != instruction.unit || !object.texts.empty()) continue;
    for (const auto& [key, port] : {std::pair("push", object.from), std::pair("pop", object.to)})
      if (port == instruction.timing.port && !prints(instruction, key, object.name))
        context.problems.error(instruction.where,
                               what + " does not print " + key + "[" + object.name + "], so it cannot " +
                                   (std::string(key) == "push" ? "give" : "wait for") + " such a token",
                               "write {" + std::string(key) + "[" + object.name +
                                   "]} in its text, or give the tokens 'push' and 'pop' texts");
  }
}

/// Is there a path of tokens from one queue to the other?
bool leads(const Context& context, UnitId unit, const std::string& from, const std::string& to) {
  std::set<std::string> reached{from};
  for (std::size_t before = 0; before != reached.size();) {
    before = reached.size();
    for (const AsyncObject& object : context.parts.async)
      if (object.kind == AsyncKind::tokens && object.per == unit && reached.contains(object.from))
        reached.insert(object.to);
  }
  return reached.contains(to);
}

/// A buffer that one queue fills and another reads can be refilled only after a token from the reader.
void check_way_back(Context& context) {
  for (const AsyncObject& object : context.parts.async)
    if (object.kind == AsyncKind::tokens && !leads(context, object.per, object.to, object.from))
      context.problems.warning(
          object.where,
          "tokens '" + object.name + "' lead from queue '" + object.from + "' to '" + object.to +
              "' and none lead back: '" + object.from + "' cannot wait until '" + object.to +
              "' is done with a buffer, so none can be used twice",
          "add {name: .., kind: tokens, per: .., from: " + object.to + ", to: " + object.from + "}");
}

}  // namespace

void check_tokens(Context& context) {
  check_way_back(context);
  for (const Instruction& instruction : context.parts.instructions) {
    if (!instruction.unit.valid()) continue;
    const Unit& unit = context.parts.units[instruction.unit.index()];
    const bool front_end = instruction.semantics.empty() && !instruction.sets.empty();
    if (unit.tokens && !front_end) check_queue(instruction, unit, context);
  }
}

}  // namespace isamap::loader

// SPDX-License-Identifier: Apache-2.0
// Units and their counts.

#include "hwdesc/load/loader_names.h"

namespace isamap::loader {

namespace {

void load_count(const Node& node, Unit& unit, const std::string& what, Context& context) {
  const bool at_most = node.kind == Kind::map && node.entries.size() == 1 && node.find("max");
  if (node.kind != Kind::map || at_most) {
    const keys::Key& row = at_most ? row_of("at most", "max", context.problems) : keys::key("unit", "count");
    const auto count = read_number(at_most ? *node.find("max") : node, row, "'count' of " + what, context);
    unit.at_most = at_most || !count;  // an unreadable count is no contradiction
    unit.count = count.value_or(1);
    return;
  }
  const keys::Key& row = row_of("mesh", "*", context.problems);
  for (const auto& [axis, extent] : node.entries) {
    unit.axes.emplace_back(axis, read_number(extent, row, "axis '" + axis + "' of " + what, context).value_or(1));
    unit.count = std::min(unit.count * unit.axes.back().second, max_instances + 1);
  }
}

void load_ports(const Node& node, Unit& unit, const std::string& what, Context& context) {
  for (const auto& [port, count] : node.entries)
    unit.ports[port] =
        read_number(count, keys::key("unit", "ports"), "port '" + port + "' of " + what, context).value_or(1);
}

void load_threads(const Node& node, Unit& unit, const std::string& what, Context& context) {
  Fields fields(node, "threads", "'threads' of " + what, context);
  unit.threads.loop = fields.text("loop").value_or("");
  unit.threads.flags = fields.texts("flags");
  unit.threads.param = fields.text("param").value_or("");
  unit.threads.most = fields.number("most").value_or(0);
  unit.threads.start = fields.time("start").value_or(0);
  unit.threads.wait = fields.text("wait").value_or("");
}

std::int64_t count_all(const std::vector<Unit>& units, const Unit& unit) {
  std::int64_t product = unit.count;
  for (UnitId u = unit.parent; u.valid() && product <= max_instances; u = units[u.index()].parent)
    product *= units[u.index()].count;
  return product;
}

/// Outermost first, as the compiler expects; otherwise in the written order. A file that inserts a unit into an
/// inherited tree has it at the end.
void parents_first(std::vector<Unit>& units) {
  constexpr std::size_t open = SIZE_MAX;
  std::vector<std::size_t> place(units.size(), open), order;
  for (bool more = true; more;) {
    more = false;
    for (std::size_t i = 0; i < units.size() && !more; ++i) {
      const UnitId parent = units[i].parent;
      if (place[i] != open || (parent.valid() && place[parent.index()] == open)) continue;
      place[i] = order.size();
      order.push_back(i);
      more = true;
    }
  }
  if (order.size() != units.size()) return;  // one is inside itself, which is reported
  std::vector<Unit> sorted;
  for (const std::size_t i : order) {
    sorted.push_back(std::move(units[i]));
    if (UnitId& parent = sorted.back().parent; parent.valid()) parent = make_id<UnitId>(place[parent.index()]);
  }
  units = std::move(sorted);
}

/// Parents by name, once all names are known: a unit may be inside one that a later file inserts.
void place_units(const std::vector<const Node*>& nodes, Context& context) {
  auto& units = context.parts.units;
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (const Node* inside = nodes[i]->find("inside")) {
      if (const auto parent = unit_named(*inside, "'inside' of unit '" + units[i].name + "'", context))
        units[i].parent = *parent;
    } else if (i > 0) {
      units[i].parent = make_id<UnitId>(i - 1);
    }
  }
  for (Unit& unit : units) {
    std::size_t steps = 0;
    for (UnitId u = unit.parent; u.valid() && steps <= units.size(); u = units[u.index()].parent) ++steps;
    if (steps <= units.size()) continue;
    context.problems.error(unit.where, "unit '" + unit.name + "' is inside itself", "follow its 'inside' keys");
    unit.parent = {};
  }
  for (const Unit& unit : units)
    if (count_all(units, unit) > max_instances)
      context.problems.error(unit.where, "unit '" + unit.name + "' has more than 2^40 instances",
                             "a unit has its own 'count' times those of the units around it");
  parents_first(units);
}

}  // namespace

std::optional<UnitId> unit_named(const Node& node, const std::string& what, Context& context) {
  return find_declared<UnitId>(node, context.parts.units, what, "unit", "units", context);
}
void load_units(const Node& root, Context& context) {
  const auto nodes = items(root, "units", context.problems);
  for (const Node* node : nodes) {
    const std::string what = what_of("unit", *node);
    Fields fields(*node, "unit", what, context);
    Unit unit;
    unit.where = node->where;
    unit.name = take_name(fields, context.parts.units, "unit", context);
    fields.child("inside");
    if (const Node* count = fields.child("count")) load_count(*count, unit, what, context);
    unit.index = fields.text("index").value_or("");
    unit.queued = fields.boolean("queued").value_or(false);
    unit.scalar = fields.boolean("scalar").value_or(false);
    if (const Node* ports = fields.child("ports")) load_ports(*ports, unit, what, context);
    unit.loop_end = fields.time("loop_end").value_or(0);
    if (const Node* threads = fields.child("threads")) load_threads(*threads, unit, what, context);
    unit.tokens = fields.word("order", "results are as if in program order, or queues that tokens order") == "tokens";
    context.parts.units.push_back(std::move(unit));
  }
  place_units(nodes, context);
  const Node* list = top_level(root, "units", context.problems);
  if (list && list->kind == Kind::list && list->items.empty())
    context.problems.error(root.where, "there are no 'units'", "write units: [{name: host}]");
}

}  // namespace isamap::loader

// SPDX-License-Identifier: Apache-2.0
// Memories and links.

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "hwdesc/keys/enumeration.h"
#include "hwdesc/load/loader_names.h"

namespace isamap::loader {

namespace {

void load_texts_by_dtype(const Node& node, const std::string& what,
                         std::vector<std::pair<std::string, std::string>>& out, Context& context) {
  if (node.kind == Kind::scalar) {
    out.emplace_back("any", node.scalar);
    return;
  }
  if (node.kind != Kind::map) context.problems.error(node.where, what + " must be text or a map from dtype to text");
  for (std::size_t i = 0; i < node.entries.size(); ++i) {
    const auto& [key, value] = node.entries[i];
    if (key != "any" && !parse_dtype(key))
      context.problems.error(node.key_where[i], what + " names dtype '" + key + "', which does not exist");
    if (value.kind == Kind::scalar)
      out.emplace_back(key, value.scalar);
    else
      context.problems.error(value.where, what + " must give text for '" + key + "'");
  }
}

std::optional<MemoryKind> load_kind(Fields& fields) {
  static const std::map<std::string, std::string> synonyms{
      {"sram", "scratchpad"},   {"spm", "scratchpad"},   {"tcm", "scratchpad"},     {"local", "scratchpad"},
      {"shared", "scratchpad"}, {"ddr", "dram"},         {"hbm", "dram"},           {"main", "dram"},
      {"global", "dram"},       {"regfile", "register"}, {"registers", "register"}, {"acc", "accumulator"}};
  const auto word = fields.word("kind",
                                "write scratchpad for memory that programs address, as SRAM is; cache for one that the "
                                "hardware fills; dram for the outermost; accumulator for sums; register for a file",
                                synonyms);
  return word ? keys::value_of(*word, MemoryKind::dram, MemoryKind::register_file) : std::nullopt;
}

/// Size of a memory transaction, an aligned piece; 0 where it is unreadable.
std::int64_t load_transaction(const Node& node, const Memory& memory, bool kind_known, const std::string& what,
                              Context& context) {
  const auto read = read_size(node, keys::key("memory", "transaction"), what, context);
  if (!read) return 0;
  // `1.5B` and `4b` would be rounded up.
  const bool whole = node.scalar.ends_with('B') && node.scalar.find_first_of(".eE") == std::string::npos;
  if (!whole) {
    context.problems.error(node.where, what + " is '" + node.scalar + "'; whole bytes from 1B to 1GiB are needed",
                           "write 32B or 64B");
    return 0;
  }
  const bool power = (*read & (*read - 1)) == 0;
  const bool addressed = !kind_known || (memory.kind != MemoryKind::cache && !memory.is_register());
  const auto below = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(*read)));
  if (!power)
    context.problems.error(
        node.where,
        fmt::format("{} is {} bytes, which is no power of two: addresses are cut into aligned pieces", what, *read),
        fmt::format("write {}B or {}B", below, 2 * below));
  if (!addressed)
    context.problems.error(node.where,
                           fmt::format("{}, a {}: programs ask no addresses of it", what, name(memory.kind)),
                           "leave it out; the memory where tensors live has one");
  return power && addressed ? *read : 0;
}

/// Checks that the lines of a cache and its fetches fit its capacity.
void check_cache_sizes(const Fields& fields, const Memory& memory, const std::string& what, Context& context) {
  if (memory.kind != MemoryKind::cache) return;
  if (memory.line > memory.capacity && memory.capacity > 0)
    context.problems.error(
        fields.node().find("line")->where,
        fmt::format("'line' of {} is {} bytes, and its capacity {}", what, memory.line, memory.capacity),
        "a cache holds many lines");
  if (memory.fetch > 0 &&
      (memory.fetch > memory.capacity || memory.fetch % std::max<std::int64_t>(1, memory.line) != 0))
    context.problems.error(fields.node().find("fetch")->where,
                           fmt::format("'fetch' of {} is {} bytes: no whole lines of {} within its {}", what,
                                       memory.fetch, memory.line, memory.capacity),
                           "write a few lines, as 128B of lines of 64B");
  if (memory.usable > memory.capacity)
    context.problems.error(
        fields.node().find("usable")->where,
        fmt::format("'usable' of {} is {} bytes, and its capacity {}", what, memory.usable, memory.capacity),
        "leave it out for three quarters");
}

/// Register files have a count and size of registers, other memories a capacity.
void check_capacity(const Fields& fields, Memory& memory, const std::string& what, Context& context) {
  const auto given = [&](const char* key) { return fields.node().find(key); };
  if (memory.is_register()) {
    if (given("capacity"))
      context.problems.error(given("capacity")->where, what + " is a register file and has no 'capacity'",
                             "give 'count' and 'size' of its registers");
    if (!given("size") || !given("count"))
      context.problems.error(memory.where, what + " is a register file and needs 'count' and 'size'",
                             "write count: 32, size: 16B");
    memory.capacity = memory.count * memory.size;
    return;
  }
  if (given("size") || given("count"))
    context.problems.error(given(given("size") ? "size" : "count")->where,
                           what + " is no register file: give its 'capacity'",
                           "write capacity: 64KiB, or kind: register");
  if (!given("capacity")) context.problems.error(memory.where, what + " has no 'capacity'", "write capacity: 64KiB");
}

/// Unreadable values are 0, which later checks treat as unknown.
void load_sizes(Fields& fields, Memory& memory, bool kind_known, const std::string& what, Context& context) {
  const auto size = [&](const char* key, std::int64_t& out) {
    if (fields.has(key)) out = 0;
    if (const auto bytes = fields.size(key)) out = *bytes;
  };
  size("capacity", memory.capacity);
  size("size", memory.size);
  size("granularity", memory.granularity);
  size("bank_width", memory.bank_width);
  size("line", memory.line);
  if (const Node* node = fields.child("transaction"))
    memory.transaction = load_transaction(*node, memory, kind_known, "'transaction' of " + what, context);
  size("word", memory.word);
  const auto caches_only = [&](const char* key) {
    const Node* node = fields.node().find(key);
    if (node != nullptr && kind_known && memory.kind != MemoryKind::cache)
      context.problems.error(node->where, fmt::format("{} is no cache and has no '{}'", what, key),
                             "leave it out, or write kind: cache");
  };
  const auto of_a_cache = [&](const char* key, std::int64_t& value) {
    const auto number = fields.number(key);
    if (fields.has(key)) value = number.value_or(0);
    caches_only(key);
  };
  for (const auto& [key, value] : {std::pair("fetch", &memory.fetch), std::pair("usable", &memory.usable)}) {
    size(key, *value);
    caches_only(key);
  }
  check_cache_sizes(fields, memory, what, context);
  of_a_cache("misses", memory.misses);
  of_a_cache("ways", memory.ways);
  of_a_cache("streams", memory.streams);
  of_a_cache("pages", memory.pages);
  if (const auto count = fields.number("count")) memory.count = *count;
  if (kind_known)
    check_capacity(fields, memory, what, context);
  else
    memory.capacity = memory.size = 0;
}

void load_pointer(const Node& node, Memory& memory, const std::string& what, Context& context) {
  Fields pointer(node, "pointer", "'pointer' of " + what, context);
  memory.pointer_type = pointer.text("type").value_or("");
  memory.pointer_constraint = pointer.text("constraint").value_or("");
}

/// {unit: block, total: 65536, kept: 32}
std::optional<RegisterPool> load_register_pool(const Node& node, const Memory& memory, const std::string& what,
                                               Context& context) {
  const std::string pool_of = "'pool' of " + what;
  if (!memory.is_register()) {
    context.problems.error(node.where, what + " is no register file: it has no 'pool' of registers",
                           "its 'capacity' says how much there is");
    return std::nullopt;
  }
  Fields map(node, "register pool", pool_of, context);
  RegisterPool pool;
  if (const Node* unit = map.child("unit")) pool.unit = unit_named(*unit, pool_of, context).value_or(UnitId{});
  pool.total = map.number("total").value_or(0);
  pool.kept = map.number("kept").value_or(0);
  return pool.unit.valid() && pool.total >= 1 ? std::optional(pool) : std::nullopt;
}

/// {read, write}: two ports; {shared}: one port for both.
void load_bandwidth(const Node& node, const std::string& what, Context& context, Memory& memory) {
  memory.bandwidth_where = node.where;
  Fields fields(node, "bandwidth", "'bandwidth' of " + what, context);
  memory.one_port = fields.has("shared");
  const auto shared = fields.rate("shared", memory.word);
  if (!memory.one_port) {
    memory.read_bandwidth = fields.rate("read", memory.word).value_or(0);
    memory.write_bandwidth = fields.rate("write", memory.word).value_or(0);
    return;
  }
  memory.read_bandwidth = memory.write_bandwidth = shared.value_or(0);
  for (const char* key : {"read", "write"})
    if (const Node* own = fields.child(key))
      context.problems.error(own->where, "'bandwidth' of " + what + " is shared, and states '" + key + "' too",
                             "give read and write a port each, or one rate that both share");
}

void load_energy(const Node& node, const std::string& what, Context& context, Memory& memory) {
  memory.energy_where = node.where;
  Fields fields(node, "access energy", "'energy' of " + what, context);
  memory.read_energy = fields.energy("read").value_or(0);
  memory.write_energy = fields.energy("write").value_or(0);
}

void load_memory(const Node& node, Context& context) {
  const std::string what = what_of("memory", node);
  Fields fields(node, "memory", what, context);
  Memory memory;
  memory.where = node.where;
  memory.name = take_name(fields, context.parts.memories, "memory", context);
  const auto kind = load_kind(fields);
  memory.kind = kind.value_or(MemoryKind::dram);
  if (const Node* per = fields.child("per"))
    memory.per = unit_named(*per, "'per' of " + what, context).value_or(UnitId{0});
  load_sizes(fields, memory, kind.has_value(), what, context);
  memory.base = fields.number("base").value_or(0);
  memory.banks = fields.number("banks").value_or(0);
  if (const Node* value = fields.child("value"))
    load_texts_by_dtype(*value, "'value' of " + what, memory.value, context);
  memory.print = fields.text("print").value_or("");
  if (const Node* constraint = fields.child("constraint")) {
    std::vector<std::pair<std::string, std::string>> letters;
    load_texts_by_dtype(*constraint, "'constraint' of " + what, letters, context);
    memory.constraint.insert(letters.begin(), letters.end());
  }
  if (const Node* pointer = fields.child("pointer")) load_pointer(*pointer, memory, what, context);
  if (const Node* state = fields.child("fields"))
    memory.fields = load_state_fields(*state, "'fields' of " + what, context);
  if (const Node* bandwidth = fields.child("bandwidth")) load_bandwidth(*bandwidth, what, context, memory);
  if (const Node* energy = fields.child("energy")) load_energy(*energy, what, context, memory);
  if (const Node* pool = fields.child("pool")) memory.pool = load_register_pool(*pool, memory, what, context);
  if (const Node* views = fields.child("views")) load_views(*views, memory, what, context);
  const bool register_only =
      kind && !memory.is_register() && (!memory.value.empty() || !memory.print.empty() || !memory.fields.empty());
  if (register_only)
    context.problems.error(memory.where,
                           what + " is no register file: 'value', 'print' and 'fields' are for registers");
  context.parts.memories.push_back(std::move(memory));
}

void load_link(const Node& node, Context& context) {
  const std::string what = what_of("link", node);
  Fields fields(node, "link", what, context);
  Link link;
  link.where = node.where;
  link.name = take_name(fields, context.parts.links, "link", context);
  if (const Node* from = fields.child("from"))
    link.from = memory_named(*from, "'from' of " + what, context).value_or(MemoryId{0});
  if (const Node* to = fields.child("to"))
    link.to = memory_named(*to, "'to' of " + what, context).value_or(MemoryId{0});
  if (const Node* via = fields.child("via")) {
    for (const Node& item : via->items) {
      const auto cache = memory_named(item, "'via' of " + what, context);
      if (!cache) continue;
      if (context.parts.memories[cache->index()].kind != MemoryKind::cache)
        context.problems.error(item.where, "'via' of " + what + " names '" + item.scalar + "', which is no cache",
                               "a move through an addressed memory is two links");
      link.via.push_back(*cache);
    }
  }
  if (const Node* bandwidth = fields.child("bandwidth")) {
    link.bandwidth_where = bandwidth->where;
    link.bandwidth = fields.rate("bandwidth").value_or(0);
  }
  if (const Node* latency = fields.child("latency")) {
    link.latency_where = latency->where;
    link.latency = fields.time("latency").value_or(0);
  }
  if (const Node* begin = fields.child("begin")) {
    link.begin = fields.time("begin").value_or(-1);
    if (link.to.valid() && context.parts.memories[link.to.index()].kind != MemoryKind::cache)
      context.problems.error(
          begin->where,
          "'begin' of " + what + " is for caches, and '" + context.parts.memories[link.to.index()].name + "' is none",
          "the wait of every transfer is its 'latency'");
  }
  if (const Node* energy = fields.child("energy")) {
    link.energy_where = energy->where;
    link.energy = fields.energy("energy").value_or(0);
  }
  link.port = fields.text("port").value_or("");
  if (link.from.valid() && link.to.valid()) context.parts.links.push_back(std::move(link));
}

}  // namespace

std::optional<MemoryId> memory_named(const Node& node, const std::string& what, Context& context) {
  return find_declared<MemoryId>(node, context.parts.memories, what, "memory", "memories", context);
}
std::optional<LinkId> link_named(const Node& node, const std::string& what, Context& context) {
  return find_declared<LinkId>(node, context.parts.links, what, "link", "links", context);
}

void load_memories(const Node& root, Context& context) {
  for (const Node* node : items(root, "memories", context.problems)) load_memory(*node, context);
  const auto& memories = context.parts.memories;
  if (!root.find("memories") || root.find("memories")->kind != Kind::list) return;
  if (std::none_of(memories.begin(), memories.end(), [](const Memory& m) { return m.kind == MemoryKind::dram; }))
    context.problems.error(root.where, "no memory has 'kind: dram'",
                           "tensors live in a dram memory before and after the program");
}

void load_links(const Node& root, Context& context) {
  if (context.parts.memories.empty()) return;
  for (const Node* node : items(root, "links", context.problems)) load_link(*node, context);
}

}  // namespace isamap::loader

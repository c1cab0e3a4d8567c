// SPDX-License-Identifier: Apache-2.0
// Expands an entry with `variants`: all combinations of one row from every axis.

#include <algorithm>

#include "hwdesc/load/fields.h"

namespace isamap::loader {

namespace {

constexpr std::size_t max_instructions = 4096;
constexpr std::size_t max_axes = 8;
constexpr std::size_t max_nodes = 1'000'000;  // of all expanded entries together

std::size_t size_of(const Node& node) {
  std::size_t total = 1;
  for (const Node& item : node.items) total += size_of(item);
  for (const auto& [key, value] : node.entries) total += size_of(value);
  return total;
}

struct Axis {
  std::string table;  ///< empty: rows written in the entry
  std::vector<const Node*> rows;
};

/// The requests of all users of one table.
struct TableUse {
  bool any = false;
  std::set<std::string> columns;
};

/// Keys of an instruction that a row may have too.
const std::vector<std::string>& row_keys() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = keys::names_of(keys::section("instruction"));
    std::erase(all, "variants");
    return all;
  }();
  return names;
}

bool is_instruction_key(const std::string& key) {
  return std::find(row_keys().begin(), row_keys().end(), key) != row_keys().end();
}

class Expander {
 public:
  Expander(const Node& root, const Parameters& parameters, Problems& problems)
      : tables_(top_level(root, "tables", problems)), globals_(parameters), problems_(problems) {}

  void expand(const Node& written) {
    const Node* name = written.find("name");
    const std::string written_name = name && name->kind == Kind::scalar ? name->scalar : "";
    row_of("instruction", "variants", problems_);
    const Node* variants = written.find("variants");
    const std::vector<Axis> axes = variants ? axes_of(*variants) : std::vector<Axis>{};
    std::size_t product = 1;
    for (const Axis& axis : axes) product = std::min(product * axis.rows.size(), 2 * max_instructions);
    nodes_ += product * size_of(written);
    if (out.size() + product > max_instructions || nodes_ > max_nodes) {
      problems_.error(
          variants ? variants->where : written.where,
          "more than " + std::to_string(max_instructions) + " instructions, or a million values, in one model",
          "take rows out, or put the difference into a ranged dim");
      return;
    }
    std::vector<std::size_t> choice(axes.size(), 0);
    std::vector<std::set<std::string>> used(axes.size());
    for (std::size_t n = 0; n < product; ++n) {
      const std::size_t before = problems_.count();
      Node node = combination(written, axes, choice, used);
      if (!is_dropped(written, node)) out.push_back({std::move(node), problems_.count() != before, written_name});
      for (std::size_t a = axes.size(); a-- > 0 && ++choice[a] == axes[a].rows.size();) choice[a] = 0;
    }
    for (std::size_t a = 0; a < axes.size(); ++a) note_use(axes[a], used[a], written_name);
  }

  /// Names in 'without' that no entry expands to.
  void report_not_dropped() {
    for (const auto& [name, where] : asked_)
      if (!dropped_.count(name))
        problems_.error(where, "'without' names '" + name + "', which no inherited list has, nor a row of 'variants'",
                        "isamap hw show prints the names of all instructions");
  }

  void report_unused_columns() {
    if (!tables_ || tables_->kind != Kind::map) return;
    for (std::size_t i = 0; i < tables_->entries.size(); ++i) {
      const auto& [name, rows] = tables_->entries[i];
      const TableUse& use = uses_[name];
      if (!use.any)
        problems_.warning(tables_->key_where[i], "table '" + name + "' is not used");
      else
        report_unused(rows_of(rows), use.columns, "table '" + name + "'");
    }
  }

  std::vector<Entry> out;

 private:
  std::vector<const Node*> rows_of(const Node& list) const {
    std::vector<const Node*> rows;
    for (const Node& row : list.items)
      if (row.kind == Kind::map) rows.push_back(&row);
    return rows;
  }

  Axis table_axis(const Node& name) {
    const Node* table = tables_ ? tables_->find(name.scalar) : nullptr;
    if (!table || table->kind != Kind::list) {
      std::vector<std::string> known;
      if (tables_)
        for (const auto& [key, value] : tables_->entries) known.push_back(key);
      problems_.error(name.where, "'variants' names table '" + name.scalar + "', which is not declared", "",
                      {"declared tables: " + (known.empty() ? "none" : join(known))});
      return {};
    }
    return {name.scalar, rows_of(*table)};
  }

  Axis axis_of(const Node& node) {
    if (node.kind == Kind::scalar) return table_axis(node);
    return {"", rows_of(node)};
  }

  std::vector<Axis> axes_of(const Node& variants) {
    std::vector<Axis> axes;
    const bool rows = variants.kind == Kind::list && !variants.items.empty() &&
                      std::all_of(variants.items.begin(), variants.items.end(),
                                  [](const Node& item) { return item.kind == Kind::map; });
    if (variants.kind == Kind::scalar || rows) {
      axes.push_back(axis_of(variants));
    } else if (variants.kind == Kind::list && !variants.items.empty()) {
      for (const Node& item : variants.items) {
        const bool fine = item.kind == Kind::scalar || (item.kind == Kind::list && !rows_of(item).empty() &&
                                                        rows_of(item).size() == item.items.size());
        if (fine)
          axes.push_back(axis_of(item));
        else
          problems_.error(item.where, "an axis of 'variants' must be a table or a list of rows",
                          "write - [{..}, {..}] or - TABLE, or only rows");
      }
    } else {
      problems_.error(variants.where, "'variants' must be a table, a list of rows, or a list of those");
    }
    if (axes.size() > max_axes) {
      problems_.error(variants.where, "'variants' has " + std::to_string(axes.size()) + " axes; at most " +
                                          std::to_string(max_axes) + " are multiplied");
      axes.clear();
    }
    return axes;
  }

  Node combination(const Node& written, const std::vector<Axis>& axes, const std::vector<std::size_t>& choice,
                   std::vector<std::set<std::string>>& used) {
    Parameters parameters = globals_;
    std::map<std::string, std::size_t> given_by;
    Node overlay;
    overlay.kind = Kind::map;
    overlay.where = written.where;
    for (std::size_t a = 0; a < axes.size(); ++a)
      overlay = merge(std::move(overlay), take_row(*axes[a].rows[choice[a]], a, parameters, given_by));
    Node node = without_variants(written);
    node = merge(std::move(node), overlay);
    node.where = written.where;
    substitute(node, parameters, problems_);
    for (const std::string& name : parameters.used)
      if (const auto axis = given_by.find(name); axis != given_by.end()) used[axis->second].insert(name);
    return node;
  }

  /// Sets the row's parameters and returns its instruction keys.
  Node take_row(const Node& row, std::size_t axis, Parameters& parameters,
                std::map<std::string, std::size_t>& given_by) {
    Node own;
    own.kind = Kind::map;
    own.where = row.where;
    row_of("row", "*", problems_);
    for (std::size_t i = 0; i < row.entries.size(); ++i) {
      const auto& [key, value] = row.entries[i];
      if (is_instruction_key(key)) {
        own.entries.push_back(row.entries[i]);
        own.key_where.push_back(row.key_where[i]);
        continue;
      }
      const auto [given, fresh] = given_by.emplace(key, axis);
      if (!fresh) problems_.error(row.key_where[i], "parameter '" + key + "' is given by two axes of 'variants'");
      if (value.kind == Kind::list || value.kind == Kind::map)
        problems_.error(row.key_where[i], "unknown key '" + key + "' in a row: a parameter must be a number or text",
                        guess(key));
      parameters.values[key] = value.scalar;
    }
    return own;
  }

  static Node without_variants(const Node& written) {
    Node node;
    node.kind = written.kind;
    node.where = written.where;
    for (std::size_t i = 0; i < written.entries.size(); ++i) {
      if (written.entries[i].first == "variants" || written.entries[i].first == "without") continue;
      node.entries.push_back(written.entries[i]);
      node.key_where.push_back(written.key_where[i]);
    }
    return node;
  }

  /// A derived file has this row in its 'without' (merge.cpp).
  bool is_dropped(const Node& written, const Node& expanded) {
    const Node* without = written.find("without");
    const Node* name = expanded.find("name");
    if (!without || !name) return false;
    bool found = false;
    for (const Node& row : without->items) {
      asked_.emplace(row.scalar, row.where);
      found |= row.scalar == name->scalar;
    }
    if (found) dropped_.insert(name->scalar);
    return found;
  }

  void note_use(const Axis& axis, const std::set<std::string>& used, const std::string& entry) {
    if (axis.table.empty()) {
      report_unused(axis.rows, used, "instruction '" + entry + "'");
      return;
    }
    uses_[axis.table].any = true;
    uses_[axis.table].columns.insert(used.begin(), used.end());
  }

  void report_unused(const std::vector<const Node*>& rows, const std::set<std::string>& used, const std::string& what) {
    std::set<std::string> reported;
    for (const Node* row : rows)
      for (std::size_t i = 0; i < row->entries.size(); ++i) {
        const std::string& key = row->entries[i].first;
        if (is_instruction_key(key) || used.count(key) || !reported.insert(key).second) continue;
        problems_.error(
            row->key_where[i],
            "row key '" + key + "' of " + what + " is neither an instruction key nor used as '${" + key + "}'",
            guess(key).empty() ? "write ${" + key + "} where it belongs, or take it out" : guess(key));
      }
  }

  static std::string guess(const std::string& key) {
    const std::string found = yaml::nearest(key, row_keys());
    return found.empty() ? "" : "did you mean '" + found + "'?";
  }

  const Node* tables_;
  const Parameters& globals_;
  Problems& problems_;
  std::map<std::string, TableUse> uses_;
  std::map<std::string, SourceLocation> asked_;  ///< rows to drop, and the place of the request
  std::set<std::string> dropped_;
  std::size_t nodes_ = 0;
};

}  // namespace

namespace {

std::string name_in(const Node& entry) {
  const Node* name = entry.kind == Kind::map ? entry.find("name") : nullptr;
  return name && name->kind == Kind::scalar ? name->scalar : "";
}

/// Is the entry only a change to a row of another one's `variants`, as {name: mvin2, legal: [..]} beside `mvin${n}`?
/// Entries of files in `extends` are found by their written names, so this one is reported.
bool changes_a_row(const Node& entry, const std::vector<const Node*>& all, Problems& problems) {
  const std::string name = name_in(entry);
  if (name.empty() || entry.find("compute") || entry.find("sets") || entry.find("emit") || entry.find("variants"))
    return false;
  for (const Node* other : all) {
    const std::string written = name_in(*other);
    if (!other->find("variants") || !can_make(written, name)) continue;
    problems.error(entry.find("name")->where,
                   "'" + name + "' is a row of instruction '" + written + "'; an entry changes all rows or none",
                   "write name: \"" + written + "\" to change every row; for one row, write without: [" + name +
                       "] and describe '" + name + "' in full");
    return true;
  }
  return false;
}

}  // namespace

std::vector<Entry> expand_instructions(const Node& root, const Parameters& parameters, Problems& problems) {
  Expander expander(root, parameters, problems);
  const std::vector<const Node*> all = items(root, "instructions", problems);
  for (const Node* entry : all) {
    if (entry->kind == Kind::map) {
      if (!changes_a_row(*entry, all, problems)) expander.expand(*entry);
    } else {
      problems.error(entry->where, "an instruction must be a map", "write - {name: .., compute: .., ...}");
    }
  }
  expander.report_unused_columns();
  expander.report_not_dropped();
  return std::move(expander.out);
}

}  // namespace isamap::loader

// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/function/declarations.h"

#include <algorithm>
#include <cctype>

#include "ir/operand_use.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

bool uses(const std::vector<Item>& items, int v) {
  return std::any_of(items.begin(), items.end(), [&](const Item& item) { return item.variables.contains(v); });
}

bool writes_only(const Item& item, int v) {
  if (item.places.empty() || item.places[0].variable != v) return false;
  return std::none_of(item.places.begin() + 1, item.places.end(), [&](const Place& p) { return p.variable == v; });
}

/// Is the first use a full overwrite of the variable?
bool written_first(const std::vector<Item>& items, int v, const HardwareModel& model) {
  const auto first =
      std::find_if(items.begin(), items.end(), [&](const Item& item) { return item.variables.contains(v); });
  if (first == items.end()) return false;
  return std::visit(overloaded{
                        [&](const Call& call) {
                          return writes_only(*first, v) && overwrites(model.instruction(call.instruction), call);
                        },
                        [&](const Element& e) { return e.reduction == Reduction::assign && writes_only(*first, v); },
                        [&](const Loop&) { return written_first(first->body, v, model); },
                        [&](const Guard&) {
                          return written_first(first->body, v, model) && written_first(first->otherwise, v, model);
                        },
                        [](const auto&) { return false; },
                    },
                    first->node->is);
}

bool belongs_inside(const Item& item, int v, const HardwareModel& model) {
  if (std::holds_alternative<Loop>(item.node->is)) return written_first(item.body, v, model);
  if (!std::holds_alternative<Guard>(item.node->is)) return false;
  const auto fits = [&](const std::vector<Item>& branch) {
    return !uses(branch, v) || written_first(branch, v, model);
  };
  return fits(item.body) && fits(item.otherwise);
}

bool mentions(const std::string& text, const std::string& name) {
  const auto part = [&](std::size_t i) {
    return i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) != 0 || text[i] == '_');
  };
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1))
    if (!(at > 0 && part(at - 1)) && !part(at + name.size())) return true;
  return false;
}

}  // namespace

std::map<std::size_t, std::set<int>> starting_variables(const std::vector<Item>& items, const std::set<int>& declared,
                                                        const HardwareModel& model) {
  std::map<int, std::vector<std::size_t>> users;
  for (std::size_t i = 0; i < items.size(); ++i)
    for (const int v : items[i].variables)
      if (!declared.contains(v)) users[v].push_back(i);
  std::map<std::size_t, std::set<int>> starts;
  for (const auto& [v, at] : users)
    if (at.size() > 1 || !belongs_inside(items[at[0]], v, model)) starts[at[0]].insert(v);
  return starts;
}

std::set<int> opened_by(const std::vector<Item>& items, std::size_t at) {
  std::set<int> found;
  const auto* sync = std::get_if<Sync>(&items[at].node->is);
  if (sync == nullptr || sync->step != Sync::Step::open) return found;
  for (std::size_t i = at + 1; i < items.size(); ++i)
    if (std::holds_alternative<Call>(items[i].node->is) && !items[i].places.empty() &&
        items[i].places[0].kind == Place::Kind::variable)
      found.insert(items[i].places[0].variable);
  return found;
}

bool declare_in_place(std::string& statement, const Variable& variable) {
  const std::string head = variable.name + " = ";
  const bool one =
      std::count(statement.begin(), statement.end(), ';') == 1 && statement.find('\n') == std::string::npos;
  if (!one || !statement.starts_with(head) || mentions(statement.substr(head.size()), variable.name)) return false;
  statement.insert(0, variable.type + " ");
  return true;
}

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/function/thread_values.h"

#include <algorithm>

#include "backends/cpp/function/state_needs.h"

namespace isamap {
namespace {

void add_thread_values(const std::vector<Item>& items, const HardwareModel& model, std::set<int>& values) {
  for (const Item& item : items) {
    const bool threads = is_threads(item, model);
    if (threads || sets_one_of(item, values)) values.insert(item.variables.begin(), item.variables.end());
    if (threads) continue;
    add_thread_values(item.body, model, values);
    add_thread_values(item.otherwise, model, values);
  }
}

}  // namespace

bool is_threads(const Item& item, const HardwareModel& model) {
  const auto* loop = std::get_if<Loop>(&item.node->is);
  return loop != nullptr && in_threads(*loop, model);
}

bool has_threads(const Item& item, const HardwareModel& model) {
  const auto inside = [&](const Item& inner) { return has_threads(inner, model); };
  return is_threads(item, model) || std::any_of(item.body.begin(), item.body.end(), inside) ||
         std::any_of(item.otherwise.begin(), item.otherwise.end(), inside);
}

bool sets_one_of(const Item& item, const std::set<int>& values) {
  return std::holds_alternative<Call>(item.node->is) && !item.places.empty() &&
         item.places[0].kind == Place::Kind::variable && values.contains(item.places[0].variable);
}

std::set<int> thread_values(const std::vector<Item>& items, const HardwareModel& model) {
  std::set<int> values;
  for (std::size_t before = 1; before != values.size();) {
    before = values.size();
    add_thread_values(items, model, values);
  }
  return values;
}

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#include "planner/traffic.h"

#include <algorithm>
#include <map>
#include <set>

namespace isamap {

std::int64_t activation_bytes(const Kernel& kernel, const std::vector<Part>& parts) {
  std::map<TensorId, std::set<std::size_t>> touched;
  for (std::size_t p = 0; p < parts.size(); ++p)
    for (const std::size_t s : parts[p].statements) {
      touched[kernel.statements[s].write.tensor].insert(p);
      for (const Access& read : kernel.statements[s].reads) touched[read.tensor].insert(p);
    }
  std::int64_t sum = 0;
  for (const auto& [id, by] : touched) {
    const Tensor& tensor = kernel.tensors[id.index()];
    const bool inside = by.size() == 1 && role_of(kernel, id) == Role::intermediate;
    if (!tensor.constant && !inside) sum += byte_count(tensor) * static_cast<std::int64_t>(by.size());
  }
  return sum;
}

std::vector<std::size_t> part_numbers(const ModelPlan& plan) {
  std::vector<std::size_t> numbers;
  auto group = plan.bands.begin();
  for (std::size_t p = 0; p < plan.parts.size(); ++p) {
    while (group != plan.bands.end() && group->first + group->count <= p) ++group;
    const bool joins = group != plan.bands.end() && p > group->first;
    numbers.push_back(numbers.empty() ? 0 : numbers.back() + (joins ? 0 : 1));
  }
  return numbers;
}

std::vector<Part> bands_as_parts(const ModelPlan& plan) {
  const std::vector<std::size_t> numbers = part_numbers(plan);
  std::vector<Part> parts(numbers.empty() ? 0 : numbers.back() + 1);
  for (std::size_t p = 0; p < plan.parts.size(); ++p) {
    std::vector<std::size_t>& statements = parts[numbers[p]].statements;
    statements.insert(statements.end(), plan.parts[p].statements.begin(), plan.parts[p].statements.end());
  }
  for (Part& part : parts) std::sort(part.statements.begin(), part.statements.end());
  return parts;
}

std::vector<Part> operators_of(const Model& model) {
  std::vector<Part> parts;
  std::map<std::size_t, std::size_t> part_of;  // by position of the node
  for (std::size_t s = 0; s < model.kernel.statements.size(); ++s) {
    const std::size_t order = s < model.origins.size() ? model.origins[s].order : s;
    const auto [part, is_new] = part_of.try_emplace(order, parts.size());
    if (is_new) parts.emplace_back();
    parts[part->second].statements.push_back(s);
  }
  return parts;
}

std::vector<Part> apart(const Kernel& kernel) {
  std::vector<Part> parts;
  for (std::size_t s = 0; s < kernel.statements.size(); ++s) parts.push_back({{s}});
  return parts;
}

}  // namespace isamap

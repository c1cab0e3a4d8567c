// SPDX-License-Identifier: Apache-2.0
#include "planner/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "planner/bands.h"
#include "planner/tensor_layouts.h"

namespace isamap {
namespace {

constexpr std::size_t nowhere = static_cast<std::size_t>(-1);

/// Parts of which a statement runs before its turn, or a recurrence is cut.
Diagnostics misplaced(const Kernel& kernel, const std::vector<std::size_t>& part_of) {
  Diagnostics problems;
  const auto before = predecessors(kernel);
  for (std::size_t s = 0; s < kernel.statements.size(); ++s)
    for (const std::size_t p : before[s])
      if (part_of[p] > part_of[s])
        problems.push_back(
            error(fmt::format("statement '{}' is in part {}, before '{}' in part {}, which it needs",
                              kernel.statements[s].name, part_of[s], kernel.statements[p].name, part_of[p]),
                  fmt::format("parts are in order of execution: '{}' comes first", kernel.statements[p].name)));
  for (const Repeat& repeat : kernel.repeats)
    for (std::size_t s = repeat.first + 1; s < repeat.first + repeat.count; ++s)
      if (part_of[s] != part_of[repeat.first])
        problems.push_back(
            error(fmt::format("statements '{}' and '{}' step together along '{}', but are in two parts",
                              kernel.statements[repeat.first].name, kernel.statements[s].name, repeat.dim),
                  "put the statements of one recurrence into one part"));
  return problems;
}

}  // namespace

std::vector<std::vector<std::size_t>> predecessors(const Kernel& kernel) {
  std::vector<std::vector<std::size_t>> before(kernel.statements.size());
  std::map<TensorId, std::vector<std::size_t>> writers, readers;
  for (std::size_t s = 0; s < kernel.statements.size(); ++s) {
    const Computation& statement = kernel.statements[s];
    std::set<std::size_t> found;
    for (const Access& read : statement.reads) {
      for (const std::size_t writer : writers[read.tensor]) found.insert(writer);
      readers[read.tensor].push_back(s);
    }
    for (const std::size_t writer : writers[statement.write.tensor]) found.insert(writer);
    for (const std::size_t reader : readers[statement.write.tensor])
      if (reader != s) found.insert(reader);
    writers[statement.write.tensor].push_back(s);
    before[s].assign(found.begin(), found.end());
  }
  return before;
}

std::size_t writer_count(const Kernel& kernel, TensorId tensor) {
  return static_cast<std::size_t>(std::count_if(kernel.statements.begin(), kernel.statements.end(),
                                                [&](const Computation& s) { return s.write.tensor == tensor; }));
}

Diagnostics verify_parts(const ModelPlan& plan, const Kernel& kernel) {
  std::vector<std::size_t> part_of(kernel.statements.size(), nowhere);
  for (std::size_t p = 0; p < plan.parts.size(); ++p)
    for (const std::size_t s : plan.parts[p].statements) {
      if (s >= part_of.size())
        return {error(fmt::format("part {} has statement {}, the model has {}", p, s, part_of.size()))};
      if (part_of[s] != nowhere)
        return {error(fmt::format("statement '{}' is in parts {} and {}", kernel.statements[s].name, part_of[s], p))};
      part_of[s] = p;
    }
  for (std::size_t s = 0; s < part_of.size(); ++s)
    if (part_of[s] == nowhere)
      return {error(
          fmt::format("statement '{}' is in no part", kernel.statements[s].name),
          fmt::format("add it to the part that it follows, or as one of its own: - [{}]", kernel.statements[s].name))};
  if (!plan.order.empty() && plan.order.size() != kernel.tensors.size())
    return {
        error(fmt::format("{} orders of axes, the model has {} tensors", plan.order.size(), kernel.tensors.size()))};
  for (std::size_t t = 0; t < plan.order.size(); ++t) {
    std::vector<int> axes = plan.order[t], all(kernel.tensors[t].shape.size());
    std::iota(all.begin(), all.end(), 0);
    std::sort(axes.begin(), axes.end());
    if (!axes.empty() && axes != all)
      return {error(fmt::format("the order of tensor '{}' does not name each of its {} axes once",
                                kernel.tensors[t].name, all.size()),
                    fmt::format("{}: [{}], in another order", kernel.tensors[t].name, fmt::join(all, ", ")))};
  }
  return misplaced(kernel, part_of);
}

Diagnostics verify_bands(const ModelPlan& plan, const Kernel& kernel, std::size_t number) {
  const BandGroup& group = plan.bands[number];
  const std::size_t free = number == 0 ? 0 : plan.bands[number - 1].first + plan.bands[number - 1].count;
  if (group.first < free || group.first + group.count > plan.parts.size() || group.count == 0)
    return {
        error(fmt::format("bands over {} parts from part {}: groups are of parts that follow each other, in order, "
                          "each part in one",
                          group.count, group.first))};
  const auto begin = plan.parts.begin() + static_cast<std::ptrdiff_t>(group.first);
  const std::vector<Part> parts(begin, begin + static_cast<std::ptrdiff_t>(group.count));
  const auto schedule = band_schedule(in_order(kernel, plan.order), parts, group.by, group.along);
  if (schedule) return {};
  Diagnostics problems = schedule.diagnostics();
  for (Diagnostic& problem : problems)
    problem.message =
        fmt::format("no bands from '{}' to '{}': {}", kernel.statements[parts.front().statements.front()].name,
                    kernel.statements[parts.back().statements.front()].name, problem.message);
  return problems;
}

Diagnostics verify(const ModelPlan& plan, const Kernel& kernel) {
  Diagnostics problems = verify_parts(plan, kernel);
  for (std::size_t group = 0; group < plan.bands.size() && problems.empty(); ++group)
    problems = verify_bands(plan, kernel, group);
  return problems;
}

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#include "ir/legal.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/operand_use.h"
#include "support/arithmetic.h"

namespace isamap {
namespace {

Lookup extents_of(const Instruction& instruction, const std::vector<std::int64_t>& extents) {
  return [&](const Reference& r) -> std::optional<std::int64_t> {
    const int d = r.object == "extent" && r.property.empty() ? instruction.statement().domain.find(r.argument) : -1;
    return d < 0 || static_cast<std::size_t>(d) >= extents.size() ? std::nullopt
                                                                  : std::optional(extents[static_cast<std::size_t>(d)]);
  };
}

std::set<std::string> dims_of(const Condition& condition) {
  std::set<std::string> dims;
  for (const Reference& r : references(condition))
    if (r.object == "extent") dims.insert(r.argument);
  return dims;
}

/// Index of the choice as printed: 0 for the instruction's first.
std::optional<std::int64_t> choice_of(const Instruction& instruction, const Call& call, const std::string& operand) {
  for (const auto& [name, choices] : instruction.start)
    if (name == operand) {
      const auto at = std::find(choices.begin(), choices.end(), call.start);
      if (at != choices.end()) return at - choices.begin();
    }
  return std::nullopt;
}

std::optional<std::int64_t> stride_of(const Instruction& instruction, const Call& call,
                                      const std::vector<Buffer>& buffers, const Ranges& loops, const Reference& r) {
  const int access = access_named(instruction, call, r.object);
  if (access < 0) return std::nullopt;
  const Ref& ref = call.operands[static_cast<std::size_t>(access)];
  if (!ref.buffer.valid() || ref.buffer.index() >= buffers.size()) return std::nullopt;
  const Buffer& buffer = buffers[ref.buffer.index()];
  if (buffer.slots >= 0) return std::nullopt;
  const Ranges ranges = ranges_of_call(loops, instruction, call);
  const auto stride = stride_along(element_offset(buffer, ref, ranges), instruction, call, access, r.argument, ranges);
  return stride ? checked_mul(*stride, property_of(r) == OperandProperty::pitch ? bytes(buffer.dtype) : 1)
                : std::nullopt;
}

bool fits(const Instruction& instruction, const std::vector<Condition>& conditions,
          const std::vector<std::int64_t>& extents) {
  const Lookup lookup = extents_of(instruction, extents);
  return std::all_of(conditions.begin(), conditions.end(),
                     [&](const Condition& c) { return holds(c, lookup).value_or(true); });
}

/// The combination of choices, one of each dim, that satisfies the conditions and has the most points; nothing: none
/// satisfies them. Of boxes with equal points the one nearest to a cube: with the largest minimum extent.
std::optional<std::vector<std::int64_t>> largest_fitting(const Instruction& instruction,
                                                         const std::vector<std::vector<std::int64_t>>& choices) {
  const std::vector<Condition> all = conditions(instruction);
  const auto least = [](const std::vector<std::int64_t>& e) {
    return e.empty() ? 0 : *std::min_element(e.begin(), e.end());
  };
  std::vector<std::size_t> at(choices.size(), 0);
  std::vector<std::int64_t> extents(choices.size()), best;
  double most = 0;
  while (true) {
    double points = 1;
    for (std::size_t d = 0; d < at.size(); ++d) {
      extents[d] = choices[d][at[d]];
      points *= static_cast<double>(extents[d]);
    }
    if ((points > most || (points == most && least(extents) > least(best))) && fits(instruction, all, extents)) {
      most = points;
      best = extents;
    }
    std::size_t d = at.size();
    while (d > 0 && ++at[d - 1] == choices[d - 1].size()) at[--d] = 0;
    if (d == 0) break;
  }
  return most > 0 ? std::optional(std::move(best)) : std::nullopt;
}

}  // namespace

std::vector<Condition> conditions(const Instruction& instruction) {
  std::vector<Condition> all;
  for (const std::string& text : instruction.legal)
    if (auto condition = parse_condition(text)) all.push_back(std::move(*condition));
  return all;
}

std::string broken_condition(const Instruction& instruction, const Lookup& lookup) {
  for (const Condition& condition : conditions(instruction)) {
    if (holds(condition, lookup).value_or(true)) continue;
    const auto side = [&](const IntExpr& e) {
      return e.op == IntExpr::Op::number ? "" : fmt::format("{} is {}", print(e), *evaluate(e, lookup));
    };
    const std::string left = side(condition.left), right = side(condition.right);
    return fmt::format("{} is legal only where {}; here {}{}{}", instruction.name, print(condition), left,
                       left.empty() || right.empty() ? "" : " and ", right);
  }
  return "";
}

std::string broken_condition(const Instruction& instruction, const Call& call, const std::vector<Buffer>& buffers,
                             const Ranges& loops) {
  if (instruction.legal.empty()) return "";
  const Lookup extents = extents_of(instruction, call.extents);
  return broken_condition(instruction, [&](const Reference& r) -> std::optional<std::int64_t> {
    if (r.object == "extent") return extents(r);
    if (r.object == "start") return choice_of(instruction, call, r.argument);
    return is_distance(r) ? stride_of(instruction, call, buffers, loops, r) : std::nullopt;
  });
}

bool extents_fit(const Instruction& instruction, const std::vector<std::int64_t>& extents) {
  return instruction.legal.empty() || fits(instruction, conditions(instruction), extents);
}

bool has_more_conditions(const Instruction& instruction) {
  if (instruction.legal.empty()) return false;
  std::vector<std::int64_t> extents;
  for (const DimRange& range : instruction.ranges) extents.push_back(range.max);
  const std::vector<Condition> all_conditions = conditions(instruction);
  if (!fits(instruction, all_conditions, extents)) return true;
  return std::any_of(all_conditions.begin(), all_conditions.end(), [](const Condition& condition) {
    const auto all = references(condition);
    const bool only_extents =
        std::all_of(all.begin(), all.end(), [](const Reference& r) { return r.object == "extent"; });
    return !only_extents || dims_of(condition).size() > 1;
  });
}

std::vector<std::int64_t> some_extents(const DimRange& range, std::size_t few) {
  const std::int64_t step = range.fixed() ? 1 : std::max<std::int64_t>(range.multiple_of, 1);
  const std::int64_t least = range.fixed() ? range.max : round_up(std::max<std::int64_t>(range.min, 1), step);
  std::vector<std::int64_t> extents;
  const bool all = (range.max - least) / step < static_cast<std::int64_t>(few);
  for (std::int64_t e = range.max; e >= least; e = all ? e - step : e / 2 / step * step) extents.push_back(e);
  if (!extents.empty() && extents.back() != least) extents.push_back(least);
  if (extents.empty()) extents.push_back(range.max);
  return extents;
}

std::vector<std::int64_t> largest_extents(const Instruction& instruction) {
  std::vector<std::int64_t> extents;
  for (const DimRange& range : instruction.ranges) extents.push_back(range.max);
  if (extents_fit(instruction, extents)) return extents;
  std::set<std::string> tied;
  for (const Condition& condition : conditions(instruction)) tied.merge(dims_of(condition));
  constexpr std::size_t most_boxes = 1 << 16;
  std::size_t few = 2;  // choices of each dim, limited by the number of boxes
  const auto boxes = [&](std::size_t each) {
    double product = 1;
    for (std::size_t i = 0; i < tied.size(); ++i) product *= static_cast<double>(each);
    return product;
  };
  while (few < 256 && boxes(2 * few) <= most_boxes) few *= 2;
  std::vector<std::vector<std::int64_t>> choices;
  for (std::size_t d = 0; d < extents.size(); ++d)
    choices.push_back(tied.contains(instruction.statement().domain.dims[d].name)
                          ? some_extents(instruction.ranges[d], few)
                          : std::vector{extents[d]});
  return largest_fitting(instruction, choices).value_or(extents);
}

}  // namespace isamap

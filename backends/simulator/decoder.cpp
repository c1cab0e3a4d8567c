#include "backends/simulator/decoder.h"

#include <fmt/format.h>

#include <charconv>

namespace isamap {
namespace {

/// A decimal number, or hexadecimal behind 0x; nothing when it is malformed or does not fit 64 bits.
std::optional<std::int64_t> take_number(std::string_view& text) {
  const bool negative = text.starts_with('-');
  std::string_view digits = text.substr(negative ? 1 : 0);
  const bool hexadecimal = digits.starts_with("0x");
  if (hexadecimal) digits.remove_prefix(2);
  std::uint64_t magnitude = 0;
  const auto [end, failed] =
      std::from_chars(digits.data(), digits.data() + digits.size(), magnitude, hexadecimal ? 16 : 10);
  if (failed != std::errc() || (hexadecimal && negative) || (!hexadecimal && magnitude > (1ULL << 63) - 1))
    return std::nullopt;
  text = std::string_view(end, static_cast<std::size_t>(text.data() + text.size() - end));
  return negative ? -static_cast<std::int64_t>(magnitude) : static_cast<std::int64_t>(magnitude);
}

/// The value of the one unknown in expr == target, if there is one and the expression is linear in it.
struct Solution {
  std::optional<Reference> unknown;
  std::int64_t value = 0;
  bool failed = false;
};

Solution solve(const IntExpr& expr, std::int64_t target, const Command& command, const KnownState& state) {
  std::optional<Reference> unknown;
  const auto known = [&](const Reference& r) {
    if (auto v = command.value(r)) return v;
    const auto found = state.find(field_name(r));
    return found == state.end() ? std::nullopt : std::optional(found->second);
  };
  for (const Reference& r : references(expr)) {
    if (known(r)) continue;
    if (unknown && !(*unknown == r)) return {{}, 0, true};
    unknown = r;
  }
  const auto at = [&](std::int64_t x) {
    return evaluate(expr, [&](const Reference& r) { return unknown && r == *unknown ? std::optional(x) : known(r); });
  };
  const auto zero = at(0), one = at(1);
  if (!zero || !one) return {{}, 0, true};
  if (!unknown) return {{}, 0, *zero != target};
  const std::int64_t slope = *one - *zero;
  if (slope == 0 || (target - *zero) % slope != 0) return {{}, 0, true};
  const std::int64_t x = (target - *zero) / slope;
  return {unknown, x, at(x) != target};
}

}  // namespace

std::string key(const Reference& r) {
  std::string text = r.object;
  if (!r.property.empty()) text += "." + r.property;
  if (!r.argument.empty()) text += "[" + r.argument + "]";
  return text;
}

std::optional<std::int64_t> Command::value(const Reference& reference) const {
  const auto found = values.find(key(reference));
  return found == values.end() ? std::nullopt : std::optional(found->second);
}

Decoder::Decoder(const HardwareModel& model) : model_(model) {
  for (const Instruction& instruction : model.instructions()) {
    const Template& text = instruction.assembly.empty() ? instruction.emit : instruction.assembly;
    if (text.empty()) continue;
    Pattern pattern{&instruction, {}};
    for (const auto& part : text.parts) {
      Piece piece;
      if (const auto* literal = std::get_if<std::string>(&part))
        piece.literal = *literal;
      else
        piece.placeholder = &std::get<Placeholder>(part);
      if (piece.placeholder != nullptr && piece.placeholder->expr.op == IntExpr::Op::reference &&
          piece.placeholder->expr.reference.property.empty())
        for (const Operand& operand : instruction.operands)
          if (operand.name == piece.placeholder->expr.reference.object && operand.memory.valid()) {
            const std::string& print = model.memory(operand.memory).print;
            const std::size_t at = print.find("{index}");
            if (at != std::string::npos) piece.before = print.substr(0, at), piece.after = print.substr(at + 7);
          }
      pattern.pieces.push_back(std::move(piece));
    }
    patterns_.push_back(std::move(pattern));
  }
}

std::optional<std::vector<std::int64_t>> Decoder::match(const Pattern& pattern, std::string_view line) const {
  std::vector<std::int64_t> numbers;
  const auto skip = [&](const std::string& literal) {
    if (!line.starts_with(literal)) return false;
    line.remove_prefix(literal.size());
    return true;
  };
  for (const Piece& piece : pattern.pieces) {
    if (piece.placeholder == nullptr) {
      if (!skip(piece.literal)) return std::nullopt;
      continue;
    }
    if (!skip(piece.before)) return std::nullopt;
    const auto number = take_number(line);
    if (!number || !skip(piece.after)) return std::nullopt;
    numbers.push_back(*number);
  }
  return line.empty() ? std::optional(numbers) : std::nullopt;
}

std::optional<Diagnostic> Decoder::understand(const Pattern& pattern, const std::vector<std::int64_t>& numbers,
                                              KnownState& state, Command& command) const {
  const Instruction& instruction = *pattern.instruction;
  command = {&instruction, {}};
  struct Equation {
    const IntExpr* expr;
    std::int64_t target;
    std::string what;
  };
  std::vector<Equation> equations;
  std::size_t n = 0;
  for (const Piece& piece : pattern.pieces) {
    if (piece.placeholder == nullptr) continue;
    const std::int64_t number = numbers[n++];
    if (piece.placeholder->expr.op != IntExpr::Op::reference) {
      equations.push_back({&piece.placeholder->expr, number, "the printed number"});
      continue;
    }
    const auto [found, fresh] = command.values.try_emplace(key(piece.placeholder->expr.reference), number);
    if (!fresh && found->second != number)
      return error(fmt::format("{} stands there as {} and as {}", found->first, found->second, number));
  }
  if (!instruction.semantics.empty())
    for (std::size_t d = 0; d < instruction.ranges.size(); ++d)
      if (instruction.ranges[d].fixed())
        command.values.try_emplace("extent[" + instruction.statement().domain.dims[d].name + "]",
                                   instruction.ranges[d].max);
  for (const StateValue& need : instruction.needs) {
    const auto held = state.find(need.field);
    if (held == state.end())
      return error(fmt::format("'{}' needs {}, which nothing has set", instruction.name, need.field));
    equations.push_back({&need.value, held->second, need.field});
  }
  for (const auto& [expr, target, what] : equations) {
    const Solution solution = solve(*expr, target, command, state);
    if (solution.failed)
      return error(fmt::format("'{}' needs {} = {}, which is {}", instruction.name, what, print(*expr), target));
    if (solution.unknown) command.values[key(*solution.unknown)] = solution.value;
  }
  for (const StateValue& set : instruction.sets) {
    const auto value =
        set.any ? (command.values.contains(set.field) ? std::optional(command.values[set.field]) : std::nullopt)
                : evaluate(set.value, [&](const Reference& r) { return command.value(r); });
    if (value) state[set.field] = *value;
  }
  return std::nullopt;
}

Result<Command> Decoder::decode(std::string_view line, KnownState& state) const {
  std::optional<Diagnostic> first;
  for (const Pattern& pattern : patterns_) {
    const auto numbers = match(pattern, line);
    if (!numbers) continue;
    Command command;
    KnownState after = state;
    auto problem = understand(pattern, *numbers, after, command);
    if (!problem) {
      state = std::move(after);
      return command;
    }
    if (!first) first = std::move(problem);
  }
  if (first) return *first;
  return error(fmt::format("'{}' is no command of {}", line.substr(0, 80), model_.name));
}

}  // namespace isamap

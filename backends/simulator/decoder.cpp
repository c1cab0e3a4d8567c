// SPDX-License-Identifier: Apache-2.0
#include "backends/simulator/decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

#include "backends/encoding/real_number.h"
#include "backends/simulator/operand_position.h"
#include "ir/legal.h"
#include "ir/operand_use.h"

namespace isamap {
namespace {

/// A decimal number, or hexadecimal with prefix 0x; nothing if malformed or wider than 64 bits.
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

/// "load 1, 2  # 0x0012" is the text and the digits.
std::pair<std::string_view, std::string_view> split(std::string_view line, const std::string& sign) {
  if (line.starts_with(".word ")) return {"", line.substr(6)};
  const std::string mark = " " + sign + " 0x";
  const std::size_t at = line.rfind(mark);
  if (at == std::string_view::npos) return {line, ""};
  const std::size_t end = line.find_last_not_of(' ', at);
  return {line.substr(0, end == std::string_view::npos ? 0 : end + 1), line.substr(at + mark.size() - 2)};
}

/// Is an address inside its memory, a register number in range? Disambiguates instructions whose encodings differ in
/// nothing else.
std::optional<Diagnostic> outside(const Operand& operand, std::int64_t at, const HardwareModel& model) {
  const Memory& memory = model.memory(operand.memory);
  const std::int64_t steps = memory.is_register() ? memory.count : memory.capacity / memory.granularity;
  const std::int64_t from = memory.is_register() ? 0 : memory.base;
  std::int64_t distance = 0;
  if (at >= from && !__builtin_sub_overflow(at, from, &distance) && distance <= steps) return std::nullopt;
  return error(fmt::format("address {} of '{}' is outside {}", at, operand.name, memory.name));
}

std::optional<Diagnostic> misplaced(const Instruction& instruction, const Values& values, const HardwareModel& model) {
  for (const Operand& operand : instruction.operands)
    if (const auto at = values.find(operand.name); at != values.end() && operand.memory.valid())
      if (auto problem = outside(operand, at->second, model)) return problem;
  return std::nullopt;
}

/// Values that the equations may leave open and the description enumerates: start of an operand, `immediate` constants.
std::vector<std::pair<std::string, std::vector<std::int64_t>>> listed_choices(const Instruction& instruction) {
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> all;
  for (const auto& [operand, choices] : instruction.start) {
    all.emplace_back("start[" + operand + "]", std::vector<std::int64_t>(choices.size()));
    std::iota(all.back().second.begin(), all.back().second.end(), 0);
  }
  for (const Operand& operand : instruction.operands)
    if (!operand.immediate.empty()) all.emplace_back(operand.name, operand.immediate);
  return all;
}

/// The address of an operand in steps of its memory; the only register of a file is number 0.
std::optional<std::int64_t> address_of(const Command& command, const Operand& operand, const HardwareModel& model) {
  if (const auto at = command.value({operand.name, "", ""})) return at;
  const bool only =
      operand.memory.valid() && model.memory(operand.memory).is_register() && model.memory(operand.memory).count == 1;
  return only ? std::optional<std::int64_t>(0) : std::nullopt;
}

/// Tokens that the commands push and pop.
Values tokens_of(const Command& command) {
  Values tokens;
  for (const auto& [name, value] : command.values)
    if (name.starts_with("push[") || name.starts_with("pop[")) tokens.emplace(name, value);
  return tokens;
}

/// Do two moves copy the same bytes? Their element types may differ: a copy keeps every bit.
bool move_same_bytes(const Command& a, const Command& b, const HardwareModel& model) {
  if (!is_move(*a.instruction) || !is_move(*b.instruction) || tokens_of(a) != tokens_of(b)) return false;
  for (int access = 0; access < 2; ++access) {
    const Operand &x = operand_of(*a.instruction, access), &y = operand_of(*b.instruction, access);
    const auto at = address_of(a, x, model);
    if (!x.memory.valid() || x.memory != y.memory || !at || at != address_of(b, y, model)) return false;
  }
  const auto bytes = moved_bytes(a, model);
  return bytes && bytes == moved_bytes(b, model);
}

/// Do two commands have the same effect?
bool same_effect(const Command& a, const Command& b, const HardwareModel& model) {
  if (!(a.instruction->sets == b.instruction->sets)) return false;
  const bool same_operands =
      std::equal(a.instruction->operands.begin(), a.instruction->operands.end(), b.instruction->operands.begin(),
                 b.instruction->operands.end(), [](const Operand& x, const Operand& y) {
                   return x.memory == y.memory && x.dtype == y.dtype && x.layout == y.layout;
                 });
  return (same_operands && a.instruction->semantics == b.instruction->semantics && a.values == b.values) ||
         move_same_bytes(a, b, model);
}

}  // namespace

std::optional<std::int64_t> Command::value(const Reference& reference) const {
  const auto found = values.find(key(reference));
  return found == values.end() ? std::nullopt : std::optional(found->second);
}

Decoder::Decoder(const HardwareModel& model)
    : model_(model), sign_(model.program.comment.empty() ? "#" : model.program.comment) {
  for (const Instruction& instruction : model.instructions()) {
    const Template& text = instruction.assembly.empty() ? instruction.emit : instruction.assembly;
    if (text.empty()) continue;
    Pattern pattern{&instruction, {}};
    for (const auto& part : text.parts) {
      if (const auto* literal = std::get_if<std::string>(&part))
        pattern.pieces.push_back({*literal, "", "", nullptr, nullptr, 0, {}});
      else
        pattern.pieces.push_back(piece_of(std::get<Placeholder>(part), instruction));
    }
    patterns_.push_back(std::move(pattern));
  }
}

Decoder::Piece Decoder::piece_of(const Placeholder& placeholder, const Instruction& instruction) const {
  Piece piece;
  piece.placeholder = &placeholder;
  if (placeholder.expr.op == IntExpr::Op::reference) piece.packed = packed_by(placeholder.expr.reference, instruction);
  if (piece.packed != nullptr)
    if (const Format* format = find_format(model_, piece.packed->format)) piece.bits = format->bits;
  if (placeholder.expr.op == IntExpr::Op::reference && !placeholder.hexadecimal)
    piece.real = real_type(placeholder.expr.reference, instruction, model_);
  if (piece.packed != nullptr || placeholder.expr.op != IntExpr::Op::reference ||
      !placeholder.expr.reference.property.empty())
    return piece;
  const Reference& named = placeholder.expr.reference;
  const auto spelled_in = [&](MemoryId memory) {
    const std::string& print = model_.memory(memory).print;
    const std::size_t at = print.find("{index}");
    if (at != std::string::npos) piece.before = print.substr(0, at), piece.after = print.substr(at + 7);
  };
  for (const Operand& operand : instruction.operands)
    if (operand.name == named.object && operand.memory.valid()) spelled_in(operand.memory);
  for (const auto& [dim, memory] : instruction.masks)
    if (named.object == "mask" && named.argument == dim) spelled_in(memory);
  return piece;
}

std::optional<std::vector<Equation>> Decoder::match(const Pattern& pattern, std::string_view text) const {
  std::vector<Equation> equations;
  const auto skip = [&](const std::string& literal) {
    if (!text.starts_with(literal)) return false;
    text.remove_prefix(literal.size());
    return true;
  };
  for (const Piece& piece : pattern.pieces) {
    if (piece.placeholder == nullptr) {
      if (!skip(piece.literal)) return std::nullopt;
      continue;
    }
    if (piece.packed != nullptr) {
      const std::size_t length = static_cast<std::size_t>(piece.bits + 3) / 4 + 2;
      const auto word = Word::parse(text.substr(0, length), piece.bits);
      const auto fields = word ? read_fields(*word, *piece.packed, model_) : std::nullopt;
      if (!fields) return std::nullopt;
      for (const ReadField& field : *fields)
        equations.push_back({field.expr, field.value, "field '" + field.name + "'"});
      text.remove_prefix(length);
      continue;
    }
    if (!skip(piece.before)) return std::nullopt;
    const auto number = piece.real ? take_real(*piece.real, text) : take_number(text);
    if (!number || !skip(piece.after)) return std::nullopt;
    equations.push_back({&piece.placeholder->expr, *number, "the printed number"});
  }
  return text.empty() ? std::optional(equations) : std::nullopt;
}

std::optional<Diagnostic> Decoder::learn(const Instruction& instruction, const std::vector<Equation>& equations,
                                         const KnownState& state, Values& values) const {
  const auto own = [&](const std::string& field) {
    return std::any_of(instruction.sets.begin(), instruction.sets.end(),
                       [&](const StateValue& set) { return set.field == field; });
  };
  const auto outer = [&](const Reference& r) -> std::optional<std::int64_t> {
    if (property_of(r) == OperandProperty::index && values.contains(r.object)) return values.at(r.object);
    const auto found = state.find(field_name(r));
    return found == state.end() || own(found->first) ? std::nullopt : std::optional(found->second);
  };
  if (auto problem = solve(equations, values, outer, instruction.name)) return problem;
  for (const Operand& operand : instruction.operands)
    if (const auto number = values.find(operand.name + ".index"); number != values.end() && operand.memory.valid())
      values.try_emplace(operand.name, number->second);
  return std::nullopt;
}

std::optional<Diagnostic> Decoder::learn_listed(const Instruction& instruction, const std::vector<Equation>& equations,
                                                const KnownState& state, Values& values) const {
  const auto problem = learn(instruction, equations, state, values);
  if (!problem) return std::nullopt;
  std::optional<Values> found;
  for (const auto& [name, choices] : listed_choices(instruction)) {
    if (values.contains(name)) continue;
    for (const std::int64_t choice : choices) {
      Values tried = values;
      tried[name] = choice;
      if (learn(instruction, equations, state, tried) || misplaced(instruction, tried, model_)) continue;
      if (found) return problem;
      found = std::move(tried);
    }
  }
  if (!found) return problem;
  values = std::move(*found);
  return std::nullopt;
}

Result<Decoder::Decoded> Decoder::understand(const Instruction& instruction, std::vector<Equation> equations,
                                             const KnownState& state) const {
  Decoded decoded{{&instruction, {}}, state};
  Values& values = decoded.command.values;
  if (!instruction.semantics.empty())
    for (std::size_t d = 0; d < instruction.ranges.size(); ++d)
      if (instruction.ranges[d].fixed())
        values.emplace("extent[" + instruction.statement().domain.dims[d].name + "]", instruction.ranges[d].max);
  for (const StateValue& need : instruction.needs) {
    const auto held = state.find(need.field);
    if (held == state.end())
      return error(fmt::format("'{}' needs {}, which nothing has set", instruction.name, need.field));
    equations.push_back({&need.value, held->second, need.field});
  }
  for (const Operand& operand : instruction.operands)
    if (!operand.state.empty()) {
      const auto held = state.find(operand.state);
      if (held == state.end())
        return error(fmt::format("'{}' needs {}, which nothing has set", instruction.name, operand.state));
      values[operand.name] = held->second;
    }
  if (auto problem = learn_listed(instruction, equations, state, values)) return *problem;
  const std::string no = broken_condition(instruction, [&](const Reference& r) {
    const auto held = state.find(field_name(r));
    return held == state.end() ? decoded.command.value(r) : std::optional(held->second);
  });
  if (!no.empty()) return error(no);
  for (const StateValue& set : instruction.sets) {
    const auto value = set.any ? decoded.command.value({set.field, "", ""})
                               : evaluate(set.value, [&](const Reference& r) { return decoded.command.value(r); });
    if (value)
      decoded.after[set.field] = *value;
    else
      decoded.after.erase(set.field);
  }
  return decoded;
}

std::optional<Result<Decoder::Decoded>> Decoder::from_word(const Instruction& instruction, std::string_view digits,
                                                           const KnownState& state) const {
  const Format* format = find_format(model_, instruction.encoding->format);
  const auto word = format != nullptr ? Word::parse(digits, format->bits) : std::nullopt;
  const auto fields = word ? read_fields(*word, *instruction.encoding, model_) : std::nullopt;
  if (!fields) return std::nullopt;
  std::vector<Equation> equations;
  for (const ReadField& field : *fields) equations.push_back({field.expr, field.value, "field '" + field.name + "'"});
  auto decoded = understand(instruction, std::move(equations), state);
  if (!decoded) return decoded;
  if (auto problem = misplaced(instruction, decoded->command.values, model_)) return Result<Decoded>(*problem);
  return decoded;
}

Result<Decoder::Decoded> Decoder::decode_word(std::string_view digits, const KnownState& state,
                                              const Instruction* meant) const {
  std::optional<Decoded> found;
  std::optional<Diagnostic> first;
  for (const Instruction& instruction : model_.instructions()) {
    if (!instruction.encoding) continue;
    auto decoded = from_word(instruction, digits, state);
    if (!decoded) continue;
    if (!*decoded) {
      if (!first || &instruction == meant) first = decoded->diagnostics().front();
      continue;
    }
    if (found && !same_effect(found->command, (*decoded)->command, model_))
      return error(fmt::format("word {} decodes as '{}' and as '{}', which have different effects", digits,
                               found->command.instruction->name, instruction.name));
    if (!found || &instruction == meant) found = std::move(**decoded);
  }
  if (found && (meant == nullptr || found->command.instruction == meant)) return std::move(*found);
  if (found)
    return error(fmt::format("the text says '{}', its word {} is '{}'", meant->name, digits.substr(0, 80),
                             found->command.instruction->name));
  if (first) return *first;
  return error(fmt::format("word {} is no encoding of a command of {}", digits.substr(0, 80), model_.name));
}

Result<Decoder::Decoded> Decoder::decode_line(const Pattern& pattern, const std::vector<Equation>& read,
                                              std::string_view digits, const KnownState& state) const {
  const Instruction& instruction = *pattern.instruction;
  auto text = understand(instruction, read, state);
  if (!text) return text;
  if (!instruction.encoding && digits.empty()) return text;
  if (!instruction.encoding)
    return error(fmt::format("'{}' has no encoding, and the line has a word", instruction.name));
  if (digits.empty()) return error(fmt::format("'{}' has an encoding, and the line has no word", instruction.name));
  auto word = decode_word(digits, state, &instruction);
  if (!word) return word;
  for (const auto& [name, value] : word->command.values)
    if (const auto said = text->command.values.find(name); said != text->command.values.end() && said->second != value)
      return error(
          fmt::format("the text of '{}' says {} = {}, its word says {}", instruction.name, name, said->second, value));
  // An extent without a field in the word would decode as its maximum, whatever the text says.
  if (!instruction.semantics.empty())
    for (std::size_t d = 0; d < instruction.ranges.size(); ++d) {
      const std::string name = "extent[" + instruction.statement().domain.dims[d].name + "]";
      const auto said = text->command.values.find(name);
      if (said != text->command.values.end() && !word->command.values.contains(name) &&
          said->second != instruction.ranges[d].max)
        return error(fmt::format("the text of '{}' says {} = {}, which nothing in its word says", instruction.name,
                                 name, said->second),
                     "give the encoding a field for it");
    }
  return word;
}

std::optional<Command> Decoder::as(const Instruction& instruction, std::string_view line, KnownState& state) const {
  const auto [text, digits] = split(line, sign_);
  if (instruction.encoding.has_value() == digits.empty()) return std::nullopt;
  std::optional<Decoded> decoded;
  if (instruction.encoding) {  // the word is what is executed
    auto word = from_word(instruction, digits, state);
    if (word && *word) decoded = std::move(**word);
  }
  for (const Pattern& pattern : patterns_) {
    const auto read =
        pattern.instruction == &instruction && !instruction.encoding ? match(pattern, text) : std::nullopt;
    if (!read) continue;
    auto understood = understand(instruction, *read, state);
    if (understood && !misplaced(instruction, understood->command.values, model_)) decoded = std::move(*understood);
  }
  if (!decoded) return std::nullopt;
  state = std::move(decoded->after);
  return std::move(decoded->command);
}

Result<Command> Decoder::decode(std::string_view line, KnownState& state) const {
  const auto [text, digits] = split(line, sign_);
  if (text.empty()) {
    auto word = decode_word(digits, state, nullptr);
    if (!word) return word.diagnostics();
    state = std::move(word->after);
    return std::move(word->command);
  }
  std::optional<Diagnostic> first;
  for (const Pattern& pattern : patterns_) {
    const auto read = match(pattern, text);
    if (!read) continue;
    auto decoded = decode_line(pattern, *read, digits, state);
    if (decoded) {
      state = std::move(decoded->after);
      return std::move(decoded->command);
    }
    if (!first) first = decoded.diagnostics().front();
  }
  if (first) return *first;
  return error(fmt::format("'{}' is no command of {}", line.substr(0, 80), model_.name));
}

}  // namespace isamap

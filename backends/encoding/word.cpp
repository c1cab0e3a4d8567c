// SPDX-License-Identifier: Apache-2.0
#include "backends/encoding/word.h"

#include <fmt/format.h>

#include <algorithm>

namespace isamap {
namespace {

std::uint64_t mask_of(int width) { return width >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1; }

int width_of(const FormatField& field) { return field.high - field.low + 1; }

/// Is the value encodable in the field? Fields wider than 64 bits are zero-extended: no negative values.
bool fits(std::int64_t value, const FormatField& field) {
  const int width = width_of(field);
  if (width > 64) return value >= 0;
  if (width == 64) return true;
  const std::int64_t half = std::int64_t{1} << (width - 1);
  const bool as_signed = value >= -half && value < half;
  const bool as_unsigned = value >= 0 && value <= static_cast<std::int64_t>(mask_of(width));
  return field.is_signed ? as_signed : as_unsigned;
}

void put(Word& word, const FormatField& field, std::int64_t value) {
  word.set(field.low, std::min(width_of(field), 64), static_cast<std::uint64_t>(value));
}

/// Bits of a plain number or a constant in its field.
std::uint64_t pattern(std::int64_t value, const FormatField& field) {
  return static_cast<std::uint64_t>(value) & mask_of(width_of(field));
}

std::optional<std::int64_t> read(const Word& word, const FormatField& field) {
  const int width = width_of(field);
  for (int at = field.low + 64; at <= field.high; at += 64)
    if (word.get(at, std::min(64, field.high - at + 1)) != 0) return std::nullopt;
  const std::uint64_t raw = word.get(field.low, std::min(width, 64));
  if (field.is_signed && width < 64 && (raw >> (width - 1)) != 0)
    return static_cast<std::int64_t>(raw | ~mask_of(width));
  return static_cast<std::int64_t>(raw);
}

/// Element n of a field array, else the field itself.
FormatField element(const FormatField& field, int n) {
  if (field.count == 0) return field;
  FormatField one = field;
  one.low = field.low + n * field.width;
  one.high = one.low + field.width - 1;
  one.count = 0;
  return one;
}

/// `tile.rows` is that of register n: `tile3.rows`.
ValueOf of_register(const ValueOf& value_of, int n) {
  return [&value_of, n](const Reference& r) {
    Reference numbered = r;
    numbered.object += std::to_string(n);
    const auto value = r.property.empty() ? std::nullopt : value_of(numbered);
    return value ? value : value_of(r);
  };
}

struct User {
  const Instruction& instruction;
  const std::string& format;
};

std::optional<Diagnostic> put_value(Word& word, const FormatField& field, const IntExpr& expr, const User& user,
                                    const ValueOf& value_of) {
  const auto value = evaluate(expr, value_of);
  const SourceLocation& where = user.instruction.where;
  if (!value)
    return error_at(where, fmt::format("field '{}' of '{}' is {}, which has no value here", field.name,
                                       user.instruction.name, print(expr)));
  if (!fits(*value, field))
    return error_at(
        where,
        fmt::format("'{}' encodes {} = {} in field '{}' of format '{}', which has {} bits{}", user.instruction.name,
                    print(expr), *value, field.name, user.format, width_of(field), field.is_signed ? " with sign" : ""),
        *value < 0 && !field.is_signed ? "`signed: true` makes negative numbers encodable" : "");
  put(word, field, *value);
  return std::nullopt;
}

bool gives(const FormatUse& use, const std::string& field) {
  return std::any_of(use.fields.begin(), use.fields.end(), [&](const auto& f) { return f.first == field; });
}

}  // namespace

void Word::set(int low, int width, std::uint64_t value) {
  for (int i = 0; i < width && low + i < bits_; ++i) {
    std::uint64_t& limb = limbs_[static_cast<std::size_t>(low + i) / 64];
    const std::uint64_t bit = std::uint64_t{1} << ((low + i) % 64);
    limb = (value >> i & 1) != 0 ? limb | bit : limb & ~bit;
  }
}

std::uint64_t Word::get(int low, int width) const {
  std::uint64_t value = 0;
  for (int i = 0; i < width && low + i < bits_; ++i)
    value |= (limbs_[static_cast<std::size_t>(low + i) / 64] >> ((low + i) % 64) & 1) << i;
  return value;
}

bool Word::zero() const {
  return std::all_of(limbs_.begin(), limbs_.end(), [](std::uint64_t limb) { return limb == 0; });
}

std::string Word::hexadecimal() const {
  std::string digits;
  for (int at = 0; at < bits_; at += 4) digits += "0123456789abcdef"[get(at, 4)];
  std::reverse(digits.begin(), digits.end());
  return "0x" + digits;
}

std::optional<Word> Word::parse(std::string_view text, int bits) {
  if (!text.starts_with("0x") || text.size() != static_cast<std::size_t>(bits + 3) / 4 + 2) return std::nullopt;
  text.remove_prefix(2);
  Word word(bits);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[text.size() - 1 - i];
    const std::size_t digit = std::string_view("0123456789abcdef").find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    word.set(static_cast<int>(4 * i), 4, digit);
    if (word.get(static_cast<int>(4 * i), 4) != digit) return std::nullopt;  // beyond the last bit
  }
  return word;
}

std::vector<std::uint8_t> Word::bytes() const {
  std::vector<std::uint8_t> out;
  for (int at = 0; at < bits_; at += 8) out.push_back(static_cast<std::uint8_t>(get(at, 8)));
  return out;
}

const Format* find_format(const HardwareModel& model, const std::string& name) {
  for (const Format& format : model.formats())
    if (format.name == name) return &format;
  return nullptr;
}

const FormatField* find_field(const Format& format, const std::string& name) {
  for (const FormatField& field : format.fields)
    if (field.name == name) return &field;
  return nullptr;
}

const FormatUse* packed_by(const Reference& reference, const Instruction& instruction) {
  if (!reference.property.empty() || !reference.argument.empty()) return nullptr;
  for (const Operand& operand : instruction.operands)
    if (operand.name == reference.object) return operand.pack ? &*operand.pack : nullptr;
  return reference.object == "pack" && instruction.pack ? &*instruction.pack : nullptr;
}

Result<Word> encode(const FormatUse& use, const Instruction& instruction, const HardwareModel& model,
                    const ValueOf& value_of) {
  const Format* format = find_format(model, use.format);
  if (format == nullptr)
    return error_at(instruction.where,
                    fmt::format("'{}' uses format '{}', which is not declared", instruction.name, use.format));
  Word word(format->bits);
  for (const FormatField& field : format->fields)
    if (field.value && !gives(use, field.name)) put(word, field, *field.value);
  for (const auto& [name, expr] : use.fields) {
    const FormatField* field = find_field(*format, name);
    if (field == nullptr)
      return error_at(instruction.where, fmt::format("'{}' sets field '{}' of format '{}', which does not exist",
                                                     instruction.name, name, use.format));
    for (int n = 0; n < std::max(field->count, 1); ++n)
      if (auto problem = put_value(word, element(*field, n), expr, {instruction, use.format},
                                   field->count > 0 ? of_register(value_of, n) : value_of))
        return *problem;
  }
  return word;
}

std::optional<std::vector<ReadField>> read_fields(const Word& word, const FormatUse& use, const HardwareModel& model) {
  const Format* format = find_format(model, use.format);
  if (format == nullptr || format->bits != word.bits()) return std::nullopt;
  std::vector<ReadField> read_back;
  Word rest = word;
  for (const FormatField& field : format->fields) {
    const auto given =
        std::find_if(use.fields.begin(), use.fields.end(), [&](const auto& f) { return f.first == field.name; });
    if (given == use.fields.end() && !field.value) continue;
    const auto value = read(word, field);
    if (!value) return std::nullopt;
    const bool plain = given == use.fields.end() || references(given->second).empty();
    if (plain) {
      const auto constant = given == use.fields.end()
                                ? field.value
                                : evaluate(given->second, [](const Reference&) { return std::nullopt; });
      if (!constant || pattern(*value, field) != pattern(*constant, field)) return std::nullopt;
    } else {
      read_back.push_back({&given->second, field.name, *value});
    }
    for (int at = field.low; at <= field.high; at += 64) rest.set(at, std::min(64, field.high - at + 1), 0);
  }
  if (!rest.zero()) return std::nullopt;
  return read_back;
}

}  // namespace isamap

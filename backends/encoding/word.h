// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bit encodings: the word of an instruction use, and packed blocks (descriptors) that a program prints.
//
// A word is one number with the bits of its format; bit 0 is the lowest, little-endian in memory. `encode` fills the
// fields of a format from their expressions; the simulator decodes them.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isamap/hardware.h"
#include "isamap/result.h"

namespace isamap {

class Word {
 public:
  explicit Word(int bits) : bits_(bits), limbs_(static_cast<std::size_t>(bits + 63) / 64, 0) {}

  int bits() const { return bits_; }
  /// The lowest `width` <= 64 bits of `value`, put at [low, low + width).
  void set(int low, int width, std::uint64_t value);
  std::uint64_t get(int low, int width) const;
  bool zero() const;

  /// With leading zeros: a word of 12 bits is "0x00f". The inverse accepts exactly this form.
  std::string hexadecimal() const;
  static std::optional<Word> parse(std::string_view text, int bits);
  /// Lowest byte first.
  std::vector<std::uint8_t> bytes() const;

  bool operator==(const Word&) const = default;

 private:
  int bits_ = 0;
  std::vector<std::uint64_t> limbs_;
};

using ValueOf = std::function<std::optional<std::int64_t>(const Reference&)>;

const Format* find_format(const HardwareModel& model, const std::string& name);
const FormatField* find_field(const Format& format, const std::string& name);

/// The format printed for a placeholder: `{pack}` of the instruction, `{A}` of an operand with a `pack`.
const FormatUse* packed_by(const Reference& reference, const Instruction& instruction);

/// The word of one use: given fields, constants of the others, zeros. A value that is not encodable is an error with
/// instruction, field, value and width: an unsigned field encodes 0 .. 2^width - 1, a signed one -2^(width-1) ..
/// 2^(width-1) - 1. `use` is `encoding` or a `pack` of `instruction`.
Result<Word> encode(const FormatUse& use, const Instruction& instruction, const HardwareModel& model,
                    const ValueOf& value_of);

/// A field of a use and its decoded value.
struct ReadField {
  const IntExpr* expr = nullptr;
  std::string name;
  std::int64_t value = 0;
};
/// The fields of `use` in `word` whose expressions are not plain numbers; nothing when a constant field or an unused
/// bit does not match.
std::optional<std::vector<ReadField>> read_fields(const Word& word, const FormatUse& use, const HardwareModel& model);

}  // namespace isamap

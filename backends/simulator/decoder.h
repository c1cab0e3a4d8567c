// SPDX-License-Identifier: Apache-2.0
#pragma once
// Decoder: from a printed command to the instruction and its operand values, the inverse of filling its text template
// and of encoding it.
//
// A line is the text and, for an instruction with an encoding, its word behind the comment sign:
//   mvin 256, 2048, 8, 16, 8  # 0x01...
// The word is executed. The text is decoded too and must agree, which tests both forms. A line `.word 0x01...` is a
// command without text.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/common/state.h"
#include "backends/encoding/word.h"
#include "backends/simulator/equations.h"
#include "isamap/hardware.h"

namespace isamap {

/// One decoded command.
struct Command {
  const Instruction* instruction = nullptr;
  Values values;

  std::optional<std::int64_t> value(const Reference& reference) const;
};

class Decoder {
 public:
  explicit Decoder(const HardwareModel& model);

  /// Diagnostics when no template matches, when text and word disagree, or when the state holds another value than the
  /// command needs. `state` is updated with the fields that the command sets.
  Result<Command> decode(std::string_view line, KnownState& state) const;
  /// The line decoded as a command of this instruction, even if others match too; nothing: it does not match.
  std::optional<Command> as(const Instruction& instruction, std::string_view line, KnownState& state) const;

 private:
  struct Piece {
    std::string literal, before, after;
    const Placeholder* placeholder = nullptr;
    const FormatUse* packed = nullptr;  ///< the placeholder prints this word
    int bits = 0;
    std::optional<DType> real;  ///< the placeholder prints a decimal number of this type
  };
  struct Pattern {
    const Instruction* instruction = nullptr;
    std::vector<Piece> pieces;
  };
  /// A command and the state after it.
  struct Decoded {
    Command command;
    KnownState after;
  };

  Piece piece_of(const Placeholder& placeholder, const Instruction& instruction) const;
  std::optional<std::vector<Equation>> match(const Pattern& pattern, std::string_view text) const;
  /// Nothing: the constant fields do not match this instruction.
  std::optional<Result<Decoded>> from_word(const Instruction& instruction, std::string_view digits,
                                           const KnownState& state) const;
  std::optional<Diagnostic> learn(const Instruction& instruction, const std::vector<Equation>& equations,
                                  const KnownState& state, Values& values) const;
  /// The same where the equations leave values open that the description enumerates (start of an operand, immediate):
  /// the only choice that satisfies them with all addresses inside their memories.
  std::optional<Diagnostic> learn_listed(const Instruction& instruction, const std::vector<Equation>& equations,
                                         const KnownState& state, Values& values) const;
  Result<Decoded> understand(const Instruction& instruction, std::vector<Equation> equations,
                             const KnownState& state) const;
  Result<Decoded> decode_line(const Pattern& pattern, const std::vector<Equation>& read, std::string_view digits,
                              const KnownState& state) const;
  Result<Decoded> decode_word(std::string_view digits, const KnownState& state, const Instruction* meant) const;

  const HardwareModel& model_;
  std::string sign_;
  std::vector<Pattern> patterns_;
};

}  // namespace isamap

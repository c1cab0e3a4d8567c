// SPDX-License-Identifier: Apache-2.0
#pragma once
// Position in a parsed text, shared by the parsers of expressions, statements and schedules.
//
// The first problem is stored with its offset; after it every reader returns at once, so parsers need not test each
// step.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "isamap/result.h"

namespace isamap {

class Cursor {
 public:
  static constexpr std::size_t max_text = 64 * 1024;
  static constexpr int max_nesting = 64;
  static constexpr std::int64_t max_number = std::int64_t{1} << 40;

  /// Holds references: both must outlive the cursor.
  Cursor(const std::string& text, const SourceLocation& where);

  bool failed() const { return problem_.has_value(); }
  /// Stores the first problem only. `found()` describes the text at the cursor, for its message.
  void fail(std::size_t offset, std::string message, std::string hint = "");
  Diagnostic problem() const;  ///< only when failed()
  std::string found();

  std::size_t offset();  ///< of the next character that is not a space
  bool at_end();
  bool peek(std::string_view symbol);
  bool accept(std::string_view symbol);
  void expect(std::string_view symbol);
  void expect_end();

  bool at_name();
  bool at_number();
  /// [A-Za-z_$][A-Za-z0-9_$]*, also with `.` after the first character if `dots`. Empty: not there.
  std::string name(bool dots);
  /// The name without dots at the cursor, not consumed.
  std::string peek_name();
  /// A whole word that equals `word`.
  bool accept_word(std::string_view word);
  std::string expect_name(std::string_view what, bool dots);
  /// Decimal digits (0x and 0b too) up to `limit`.
  std::int64_t expect_integer(std::string_view what, std::int64_t limit = max_number);
  /// `2`, `0.5`, `1e-3`.
  double expect_real(std::string_view what);
  /// The remaining text.
  std::string_view rest() const { return std::string_view(text_).substr(position_); }
  void advance(std::size_t count) { position_ += count; }

  /// Counts a nested construct; false, with a problem, beyond max_nesting.
  bool enter();
  void leave() { --nesting_; }

 private:
  void skip_spaces();
  std::size_t name_length(bool dots);
  const std::string& text_;
  const SourceLocation& where_;
  std::size_t position_ = 0;
  int nesting_ = 0;
  struct Problem {
    std::size_t offset;
    std::string message, hint;
  };
  std::optional<Problem> problem_;
};

/// `where` moved right by an offset; without a location: line 1.
SourceLocation place_in(const SourceLocation& where, std::size_t offset);

}  // namespace isamap

// SPDX-License-Identifier: Apache-2.0
#include "ir/text/cursor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace isamap {

namespace {

/// A text of digits alone that is not the number of f64 which was read from it.
bool is_rounded(std::string_view text, double read) {
  std::uint64_t integer = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), integer);
  if (end != text.data() + text.size()) return false;
  return code != std::errc() || !(read < 0x1p64) || static_cast<std::uint64_t>(read) != integer;
}

bool starts_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '$'; }
bool continues_name(char c, bool dots) {
  return starts_name(c) || std::isdigit(static_cast<unsigned char>(c)) || (dots && c == '.');
}
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }

int digit_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

}  // namespace

SourceLocation place_in(const SourceLocation& where, std::size_t offset) {
  SourceLocation at = where;
  at.line = std::max(at.line, 1);
  at.column = std::max(at.column, 1) + static_cast<int>(offset);
  return at;
}

Cursor::Cursor(const std::string& text, const SourceLocation& where) : text_(text), where_(where) {
  if (text.size() > max_text)
    fail(0, "text of " + std::to_string(text.size()) + " bytes; at most " + std::to_string(max_text) + " are read");
}

void Cursor::fail(std::size_t offset, std::string message, std::string hint) {
  if (!problem_) problem_ = Problem{offset, std::move(message), std::move(hint)};
}

Diagnostic Cursor::problem() const {
  Diagnostic d = error_at(place_in(where_, problem_->offset), problem_->message, problem_->hint);
  if (where_.line == 0 && text_.size() <= 400) d.source_line = text_;
  return d;
}

void Cursor::skip_spaces() {
  while (position_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[position_]))) ++position_;
}

std::size_t Cursor::offset() {
  skip_spaces();
  return position_;
}

bool Cursor::at_end() { return offset() >= text_.size(); }

std::string Cursor::found() {
  if (at_end()) return "the end";
  if (const std::size_t length = name_length(true))
    return "'" + text_.substr(position_, std::min<std::size_t>(length, 40)) + "'";
  const char c = text_[position_];
  if (!std::isprint(static_cast<unsigned char>(c))) return "byte " + std::to_string(static_cast<unsigned char>(c));
  return std::string("'") + c + "'";
}

bool Cursor::peek(std::string_view symbol) { return !failed() && text_.compare(offset(), symbol.size(), symbol) == 0; }

bool Cursor::accept(std::string_view symbol) {
  if (!peek(symbol)) return false;
  position_ += symbol.size();
  return true;
}

void Cursor::expect(std::string_view symbol) {
  if (!accept(symbol)) fail(offset(), "expected '" + std::string(symbol) + "', found " + found());
}

void Cursor::expect_end() {
  if (!failed() && !at_end()) fail(offset(), "unexpected " + found() + " after the end");
}

std::size_t Cursor::name_length(bool dots) {
  std::size_t end = offset();
  if (end >= text_.size() || !starts_name(text_[end])) return 0;
  while (end < text_.size() && continues_name(text_[end], dots)) ++end;
  while (text_[end - 1] == '.') --end;
  return end - position_;
}

bool Cursor::at_name() { return !failed() && name_length(false) > 0; }

bool Cursor::at_number() { return !failed() && !at_end() && is_digit(text_[position_]); }

std::string Cursor::name(bool dots) {
  if (failed()) return "";
  const std::size_t length = name_length(dots);
  const std::string result = text_.substr(position_, length);
  position_ += length;
  return result;
}

std::string Cursor::peek_name() { return failed() ? "" : text_.substr(offset(), name_length(false)); }

bool Cursor::accept_word(std::string_view word) {
  if (failed() || name_length(false) != word.size() || text_.compare(position_, word.size(), word) != 0) return false;
  position_ += word.size();
  return true;
}

std::string Cursor::expect_name(std::string_view what, bool dots) {
  const std::string result = name(dots);
  if (result.empty()) fail(offset(), "expected " + std::string(what) + ", found " + found());
  return result;
}

std::int64_t Cursor::expect_integer(std::string_view what, std::int64_t limit) {
  if (!at_number()) {
    fail(offset(), "expected " + std::string(what) + ", found " + found());
    return 0;
  }
  const std::size_t begin = position_;
  int base = 10;
  if (text_.compare(begin, 2, "0x") == 0) base = 16;
  if (text_.compare(begin, 2, "0b") == 0) base = 2;
  if (base != 10) position_ += 2;
  std::int64_t value = 0;
  const std::size_t first_digit = position_;
  for (; position_ < text_.size() && digit_value(text_[position_]) < base; ++position_) {
    const int digit = digit_value(text_[position_]);
    if (value > (limit - digit) / base) {
      fail(begin, "number is too large; at most " + std::to_string(limit) + " is read here");
      return 0;
    }
    value = value * base + digit;
  }
  if (position_ == first_digit || (position_ < text_.size() && continues_name(text_[position_], false)))
    fail(begin, "'" + text_.substr(begin, 20) + "' is not a number");
  return value;
}

double Cursor::expect_real(std::string_view what) {
  if (!at_number()) {
    fail(offset(), "expected " + std::string(what) + ", found " + found());
    return 0;
  }
  double value = 0;
  const char* begin = text_.data() + position_;
  const auto [end, code] = std::from_chars(begin, text_.data() + text_.size(), value);
  const std::size_t length = static_cast<std::size_t>(end - begin);
  const bool goes_on = position_ + length < text_.size() && continues_name(text_[position_ + length], true);
  if (code != std::errc() || goes_on)
    fail(position_, "'" + text_.substr(position_, std::min<std::size_t>(length + 1, 40)) + "' is not a number");
  else if (const std::string text(begin, end); is_rounded(text, value))
    fail(position_, fmt::format("{} has more than 53 bits: numbers in statements are those of f64", text),
         fmt::format("{:.0f} is near, or read it from a tensor", value));
  position_ += length;
  return value;
}

bool Cursor::enter() {
  if (failed()) return false;
  if (++nesting_ <= max_nesting) return true;
  fail(offset(), "nested deeper than " + std::to_string(max_nesting) + " levels");
  return false;
}

}  // namespace isamap

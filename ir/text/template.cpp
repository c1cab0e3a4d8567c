// SPDX-License-Identifier: Apache-2.0
#include "ir/text/cursor.h"
#include "isamap/expression.h"
#include "support/overloaded.h"

namespace isamap {

namespace {

class TemplateReader {
 public:
  TemplateReader(const std::string& text, const SourceLocation& where) : text_(text), where_(where) {}

  Result<Template> read() {
    for (std::size_t i = 0; i < text_.size() && problems_.empty();) {
      const char c = text_[i];
      const bool doubled = i + 1 < text_.size() && text_[i + 1] == c;
      if ((c == '{' || c == '}') && doubled) {
        literal_ += c;
        i += 2;
      } else if (c == '{') {
        i = placeholder(i);
      } else if (c == '}') {
        fail(i, "'}' closes nothing", "write '}}' for a brace");
      } else {
        literal_ += c;
        ++i;
      }
    }
    flush();
    if (!problems_.empty()) return problems_;
    return result_;
  }

 private:
  void fail(std::size_t offset, std::string message, std::string hint) {
    problems_.push_back(error_at(place_in(where_, offset), std::move(message), std::move(hint)));
  }

  void flush() {
    if (!literal_.empty()) result_.parts.emplace_back(std::move(literal_));
    literal_.clear();
  }

  // Parses the placeholder at the brace `begin`; returns the position after it.
  std::size_t placeholder(std::size_t begin) {
    const std::size_t end = text_.find_first_of("{}", begin + 1);
    if (end == std::string::npos || text_[end] == '{') {
      fail(begin, "'{' is not closed", "write '{{' for a brace");
      return text_.size();
    }
    Placeholder p;
    p.offset = static_cast<int>(begin);
    p.text = text_.substr(begin + 1, end - begin - 1);
    if (const std::size_t colon = p.text.rfind(':'); colon != std::string::npos) {
      if (p.text.substr(colon) != ":x")
        fail(begin + 1 + colon, "unknown format '" + p.text.substr(colon) + "'", "':x' prints hexadecimal");
      p.hexadecimal = true;
      p.text.resize(colon);
    }
    const SourceLocation place = where_.line > 0 ? place_in(where_, begin + 1) : where_;
    auto expr = parse_int_expr(p.text, place);
    if (!expr) {
      problems_.insert(problems_.end(), expr.diagnostics().begin(), expr.diagnostics().end());
      return text_.size();
    }
    p.expr = std::move(*expr);
    flush();
    result_.parts.emplace_back(std::move(p));
    return end + 1;
  }

  const std::string& text_;
  const SourceLocation& where_;
  std::string literal_;
  Template result_;
  Diagnostics problems_;
};

}  // namespace

Result<Template> parse_template(const std::string& text, const SourceLocation& where) {
  if (text.size() > Cursor::max_text)
    return error_at(where, "template of " + std::to_string(text.size()) + " bytes; at most " +
                               std::to_string(Cursor::max_text) + " are read");
  return TemplateReader(text, where).read();
}

std::string fill(const Template& t, const std::function<std::string(const Placeholder&)>& value) {
  std::string text;
  for (const auto& part : t.parts)
    text += std::visit(
        overloaded{[](const std::string& literal) { return literal; }, [&](const Placeholder& p) { return value(p); }},
        part);
  return text;
}

std::string print(const Template& t) {
  std::string text;
  for (const auto& part : t.parts) {
    if (const auto* p = std::get_if<Placeholder>(&part)) {
      text += "{" + p->text + (p->hexadecimal ? ":x}" : "}");
      continue;
    }
    for (const char c : std::get<std::string>(part))
      text += c == '{' || c == '}' ? std::string(2, c) : std::string(1, c);
  }
  return text;
}

}  // namespace isamap

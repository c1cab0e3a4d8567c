// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/text/definitions.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <vector>

#include "backends/cpp/text/helpers.h"

namespace isamap {
namespace {

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

struct Definition {
  std::string text;
  std::string function;  ///< name of the function; empty: not a function
};

/// Splits a text at namespace scope, without a grammar: a definition ends at its `;` or `}`, a directive with its line,
/// a conditional with its #endif.
class Cutter {
 public:
  explicit Cutter(const std::string& text) : text_(text) {}

  std::vector<Definition> run() {
    while (at_ < text_.size()) step();
    end(text_.size());
    return std::move(found_);
  }

 private:
  void step() {
    const char c = text_[at_];
    if (c == '\n') line_begins_ = true;
    if (c == '#' && line_begins_) return directive();
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      ++at_;
      return;
    }
    line_begins_ = false;
    if (text_.compare(at_, 2, "//") == 0) return skip_to("\n", 0);
    if (text_.compare(at_, 2, "/*") == 0) return skip_to("*/", 2);
    if (c == '"' || (c == '\'' && !in_word(at_ > 0 ? text_[at_ - 1] : ' '))) return literal(c);  // 1'000 is a number
    token(c);
  }

  void token(char c) {
    const bool outside = depth_ == 0;
    if (outside) head_ += c;
    if (c == '(' || c == '[' || c == '{') ++depth_;
    if (c == ')' || c == ']' || c == '}') --depth_;
    if (depth_ < 0) depth_ = 0;  // not C++: the compiler will report it
    if (outside && in_word(c) && at_ + 1 < text_.size() && !in_word(text_[at_ + 1])) head_ += ' ';
    if (depth_ == 0 && !outside) head_ += c;
    ++at_;
    if (depth_ > 0 || conditions_ > 0) return;
    if (c == ';' || (c == '}' && complete())) end(at_);
  }

  void directive() {
    const std::size_t start = at_;
    while (at_ < text_.size() && (text_[at_] != '\n' || text_[at_ - 1] == '\\')) ++at_;
    if (depth_ > 0) return;  // inside a definition
    std::size_t word = start + 1;
    while (word < at_ && text_[word] == ' ') ++word;
    if (text_.compare(word, 2, "if") == 0) ++conditions_;
    if (text_.compare(word, 5, "endif") == 0 && conditions_ > 0) --conditions_;
    head_ += "#";
    if (conditions_ == 0) end(at_);
  }

  void skip_to(std::string_view mark, std::size_t length) {
    const std::size_t found = text_.find(mark, at_ + length);
    at_ = found == std::string::npos ? text_.size() : found + length;
  }
  void literal(char quote) {
    for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_)
      if (text_[at_] == '\\') ++at_;
    at_ = std::min(at_ + 1, text_.size());
  }

  /// A definition without `;`.
  bool complete() const {
    if (!function_name(head_).empty()) return true;
    return head_.starts_with("namespace") || head_.starts_with("inline namespace") || head_.starts_with("extern {") ||
           head_.find("operator") != std::string::npos;
  }

  /// "static inline int f(){}" gives "f". Variables have a `=` or no parameters; if in doubt it is not a function and
  /// is kept.
  static std::string function_name(const std::string& head) {
    if (head.find_first_of("#=") != std::string::npos || head.find("operator") != std::string::npos) return "";
    for (const std::string_view type : {"struct ", "class ", "union ", "enum ", "namespace ", "using ", "typedef "})
      if (head.starts_with(type)) return "";
    constexpr std::array<std::string_view, 7> specifiers = {"sizeof",   "decltype", "alignas",      "__attribute__",
                                                            "noexcept", "requires", "static_assert"};
    for (std::size_t open = head.find('('); open != std::string::npos; open = head.find('(', open + 1)) {
      std::size_t end = open;
      while (end > 0 && head[end - 1] == ' ') --end;
      std::size_t begin = end;
      while (begin > 0 && in_word(head[begin - 1])) --begin;
      const std::string name = head.substr(begin, end - begin);
      if (std::find(specifiers.begin(), specifiers.end(), name) == specifiers.end()) return begin == 0 ? "" : name;
    }
    return "";
  }

  /// Ends here, including the comments before it and the rest of its line. A function with external linkage has no
  /// name: what a compiler makes of the code may call it, such as a routine of the runtime.
  void end(std::size_t to) {
    while (to < text_.size() && text_[to] != '\n' && std::isspace(static_cast<unsigned char>(text_[to])) != 0) ++to;
    if (text_.compare(to, 2, "//") == 0) to = std::min(text_.find('\n', to), text_.size());
    if (to < text_.size() && text_[to] == '\n') ++to;
    const bool external = head_.starts_with("extern ");
    if (to > begin_) found_.push_back({text_.substr(begin_, to - begin_), external ? "" : function_name(head_)});
    begin_ = at_ = to;
    head_.clear();
    depth_ = 0;
    line_begins_ = true;
  }

  const std::string& text_;
  std::size_t at_ = 0, begin_ = 0;
  std::string head_;  ///< of the definition: text outside parentheses and braces
  int depth_ = 0, conditions_ = 0;
  bool line_begins_ = true;
  std::vector<Definition> found_;
};

}  // namespace

std::string unused_functions_dropped(const std::string& text, const std::string& code) {
  const std::vector<Definition> all = Cutter(text).run();
  std::vector<bool> used(all.size());
  std::string named = code;  // fixpoint of used definitions
  for (std::size_t i = 0; i < all.size(); ++i)
    if ((used[i] = all[i].function.empty())) named += all[i].text;
  for (bool more = true; more;) {
    more = false;
    for (std::size_t i = all.size(); i-- > 0;) {
      if (used[i] || !says(named, all[i].function)) continue;
      used[i] = more = true;
      named += all[i].text;
    }
  }
  std::string kept;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (used[i]) kept += all[i].text;
  return kept;
}

}  // namespace isamap

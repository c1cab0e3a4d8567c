// SPDX-License-Identifier: Apache-2.0
// Parses one line of a schedule (syntax: schedule.cpp).

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "ir/affine_parser.h"
#include "ir/schedule_words.h"
#include "isamap/schedule.h"

namespace isamap {
namespace {

constexpr std::int64_t max_count = 1 << 20;  // buffers, steps ahead

/// Keywords of other schedule languages, and their equivalents here.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> other_words{{
    {"peel", "tails are peeled by default: a short tile has separate code"},
    {"drain", "partial sums are added by `combine INSTRUCTION` at the loop that splits the reduction"},
    {"by", "`role NAME` names the role that fills a tile"},
    {"role", "write it at a stage"},
}};

/// The words of a line, each with its arguments and in any order: `ahead 2`, `via load`.
class LineWords {
 public:
  explicit LineWords(Cursor& cursor) : cursor_(cursor) {}

  const std::string& word() const { return word_; }
  std::size_t where() const { return where_; }

  /// Reads the next word without accepting it; false at the end of the line, and when the next token is no word.
  bool next() {
    if (cursor_.failed() || cursor_.at_end()) return false;
    where_ = cursor_.offset();
    word_ = cursor_.peek_name();
    if (word_.empty()) cursor_.fail(where_, "unexpected " + cursor_.found());
    return !word_.empty();
  }

  /// Accepts the word that `next` found; each word may occur once.
  bool take(const std::string& expected) {
    if (!cursor_.accept_word(expected)) return false;
    const bool count = expected[0] == 'x' && expected != "xor";  // x2, x3
    const std::string key = count ? "x" : expected;
    if (!taken_.insert(key).second) cursor_.fail(where_, "'" + expected + "' occurs twice");
    return true;
  }

  void unknown(const std::string& known) {
    const auto other =
        std::find_if(other_words.begin(), other_words.end(), [&](const auto& words) { return words.first == word_; });
    const std::string instead = other == other_words.end() ? "" : std::string(other->second) + "; ";
    cursor_.fail(where_, "unknown word '" + word_ + "'", instead + "known here: " + known);
  }

  std::int64_t positive(std::string_view what) {
    const std::size_t at = cursor_.offset();
    const std::int64_t value = cursor_.expect_integer(what, std::numeric_limits<std::int64_t>::max());
    if (value < 1) cursor_.fail(at, std::string(what) + " is at least 1, found " + std::to_string(value));
    return value;
  }

  template <class Value, class Names>
  Value one_of(const Names& names, std::string_view what, const std::string& hint = "") {
    const std::size_t at = cursor_.offset();
    std::string known;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i].empty()) continue;
      if (cursor_.accept_word(names[i])) return static_cast<Value>(i);
      known += (known.empty() ? "" : ", ") + std::string(names[i]);
    }
    cursor_.fail(at, "expected " + std::string(what) + " (" + known + "), found " + cursor_.found(), hint);
    return Value{};
  }

 private:
  Cursor& cursor_;
  std::string word_;
  std::size_t where_ = 0;
  std::set<std::string> taken_;
};

class LineReader {
 public:
  explicit LineReader(Cursor& cursor) : cursor_(cursor), words_(cursor) {}

  Line line() {
    Line result;
    const std::size_t at = cursor_.offset();
    if (cursor_.accept_word("for"))
      result.is = for_line();
    else if (cursor_.accept_word("stage"))
      result.is = stage_line();
    else if (cursor_.accept_word("do"))
      result.is = do_line();
    else
      cursor_.fail(at, "expected 'for', 'stage' or 'do', found " + cursor_.found());
    return result;
  }

 private:
  For for_line() {
    For line;
    do line.loops.push_back(loop());
    while (cursor_.accept(","));
    while (words_.next()) {
      if (words_.take("on"))
        line.unit = cursor_.expect_name("a unit", true);
      else if (words_.take("combine"))
        line.combine = cursor_.expect_name("a combine", true);
      else if (words_.take("tail"))
        line.tail = words_.one_of<Tail>(tail_names, "a tail", "leave it out: it is derived");
      else if (words_.take("unroll"))
        line.unroll = true;
      else if (words_.take("wrap"))
        line.wrap = true;
      else if (words_.take("raster"))
        line.raster = raster();
      else
        words_.unknown("on, wrap, raster, combine, tail, unroll");
    }
    return line;
  }

  /// `raster grouped(8)`
  std::int64_t raster() {
    if (!cursor_.accept_word("grouped"))
      cursor_.fail(cursor_.offset(), "expected grouped(N), found " + cursor_.found());
    cursor_.expect("(");
    const std::int64_t count = words_.positive("a number of steps");
    cursor_.expect(")");
    return count;
  }

  TiledLoop loop() {
    TiledLoop result;
    const AffineExpr column = read_affine(cursor_, {}, true);
    result.dim = print(column);
    if (!cursor_.accept_word("by"))
      cursor_.fail(cursor_.offset(), "expected 'by' and a tile size, found " + cursor_.found());
    result.tile = words_.positive("a tile size");
    return result;
  }

  Stage stage_line() {
    Stage line;
    line.tensor = cursor_.expect_name("a tensor", true);
    if (!cursor_.accept_word("in"))
      cursor_.fail(cursor_.offset(), "expected 'in' and a memory, found " + cursor_.found());
    line.memory = cursor_.expect_name("a memory", true);
    std::optional<std::int64_t> ahead;
    std::size_t ahead_at = 0;
    while (words_.next()) {
      if (words_.word() == "ahead") ahead_at = words_.where();
      if (words_.take("ahead"))
        ahead = cursor_.expect_integer("a number of steps", max_count);
      else if (words_.take("as"))
        line.layout = layout();
      else if (words_.take("xor"))
        line.swizzle = swizzle();
      else if (words_.take("via"))
        line.via = names("a move");
      else if (words_.take("role"))
        line.role = cursor_.expect_name("a role", false);
      else if (words_.take("first"))
        line.first = words_.one_of<First>(first_names, "how it starts");
      else if (words_.take("aot"))
        line.ahead_of_time = true;
      else if (words_.take("slide"))
        line.slide = true;
      else if (words_.take("then"))
        line.then = names("a statement");
      else if (words_.take("from"))
        line.from = cursor_.expect_name("a statement", false);
      else if (!buffers(line))
        words_.unknown("xN, ahead, as, xor, via, role, aot, slide, first, then, from");
    }
    line.ahead = ahead ? static_cast<int>(*ahead) : ahead_by_default(line.buffers);
    // With one buffer it is a prefetch into a cache, which has no buffers (scheduler/lowering/lower_prefetch.h).
    if (!cursor_.failed() && line.buffers > 1 && line.ahead >= line.buffers)
      cursor_.fail(ahead_at,
                   "ahead " + std::to_string(line.ahead) + " needs " + std::to_string(line.ahead + 1) +
                       " buffers: the tile in use has one too",
                   "write x" + std::to_string(line.ahead + 1) + " ahead " + std::to_string(line.ahead));
    return line;
  }

  bool buffers(Stage& line) {  // x2
    const std::string& text = words_.word();
    if (text.size() < 2 || text[0] != 'x' ||
        !std::all_of(text.begin() + 1, text.end(), [](char c) { return c >= '0' && c <= '9'; }))
      return false;
    words_.take(text);
    const int count = text.size() > 8 ? 0 : std::stoi(text.substr(1));
    if (count < 1 || count > max_count)
      cursor_.fail(words_.where(),
                   "a stage has 1 to " + std::to_string(max_count) + " buffers, found " + text.substr(1, 20));
    line.buffers = count;
    return true;
  }

  /// `xor 3 from 7 to 4`
  XorSwizzle swizzle() {
    XorSwizzle result;
    const auto bit = [&](const char* what) { return static_cast<int>(cursor_.expect_integer(what, 20)); };
    result.bits = bit("a number of address bits");
    if (!cursor_.accept_word("from"))
      cursor_.fail(cursor_.offset(), "expected 'from' and a bit, found " + cursor_.found());
    result.from = bit("the lowest bit that is taken");
    if (!cursor_.accept_word("to")) cursor_.fail(cursor_.offset(), "expected 'to' and a bit, found " + cursor_.found());
    const std::size_t at = cursor_.offset();
    result.to = bit("the lowest bit that is changed");
    if (!cursor_.failed() && (result.bits < 1 || result.from < result.to + result.bits))
      cursor_.fail(at, "bits " + std::to_string(result.to) + " to " + std::to_string(result.to + result.bits - 1) +
                           " cannot be changed by bits from " + std::to_string(result.from) +
                           " on: those must lie above");
    return result;
  }

  std::vector<std::string> names(const char* of) {
    std::vector<std::string> result;
    do result.push_back(cursor_.expect_name(of, false));
    while (cursor_.accept("."));
    return result;
  }

  std::vector<LayoutDigit> layout() {
    std::vector<LayoutDigit> result;
    cursor_.expect("[");
    do {
      LayoutDigit digit;
      digit.index = read_affine(cursor_, {}, true);
      if (cursor_.peek("^"))
        cursor_.fail(cursor_.offset(), "exclusive or follows the layout: as [..] xor 3 from 7 to 4");
      if (cursor_.accept_word("pad")) digit.pad = cursor_.expect_integer("a number of elements");
      result.push_back(std::move(digit));
    } while (cursor_.accept(","));
    cursor_.expect("]");
    return result;
  }

  Do do_line() {
    Do line;
    line.statement = cursor_.expect_name("a statement", false);
    if (!cursor_.accept_word("with"))
      cursor_.fail(cursor_.offset(), "expected 'with' and an instruction, found " + cursor_.found());
    line.instruction = cursor_.expect_name("an instruction", true);
    if (cursor_.accept("("))
      line.dims = instruction_dims();
    else if (line.instruction == "scalar")
      line.instruction.clear();
    else
      cursor_.expect("(");
    while (words_.next()) {
      if (words_.take("operands"))
        line.operands = operands();
      else if (words_.take("holding"))
        line.constants = constants();
      else if (cursor_.accept_word("outside"))
        line.outside.push_back(outside());
      else
        words_.unknown("operands, holding, outside");
    }
    return line;
  }

  std::vector<std::pair<std::string, std::vector<Digit>>> instruction_dims() {
    std::vector<std::pair<std::string, std::vector<Digit>>> result;
    if (cursor_.accept(")")) return result;
    do {
      const std::string dim = cursor_.expect_name("a dim of the instruction", false);
      cursor_.expect("=");
      result.emplace_back(dim, digits());
    } while (cursor_.accept(","));
    cursor_.expect(")");
    return result;
  }

  std::vector<Digit> digits() {
    std::vector<Digit> result;
    if (cursor_.accept("-")) return result;
    do {
      Digit digit;
      const std::size_t at = cursor_.offset();
      if (cursor_.accept("(")) {
        digit.column = read_affine(cursor_, {}, true);
        if (!digit.column.is_linear()) cursor_.fail(at, "the column of a digit must be linear");
        cursor_.expect(")");
      } else {
        digit.column = AffineExpr::dim(cursor_.expect_name("a dim, '(' or '-'", false));
      }
      if (cursor_.accept(":")) digit.extent = words_.positive("the extent of a digit");
      result.push_back(std::move(digit));
    } while (cursor_.accept("."));
    return result;
  }

  std::vector<std::pair<std::string, std::string>> operands() {
    std::vector<std::pair<std::string, std::string>> result;
    do {
      const std::string operand = cursor_.expect_name("an operand of the instruction", false);
      cursor_.expect("=");
      result.emplace_back(operand, cursor_.expect_name("a tensor", true));
    } while (cursor_.at_name() && words_.next() && words_.word() != "outside" && words_.word() != "operands" &&
             words_.word() != "holding");
    return result;
  }

  std::vector<std::pair<std::string, double>> constants() {
    std::vector<std::pair<std::string, double>> result;
    do {
      const std::string operand = cursor_.expect_name("an operand of the instruction", false);
      cursor_.expect("=");
      const double sign = cursor_.accept("-") ? -1 : 1;
      result.emplace_back(operand, sign * cursor_.expect_real("a number"));
    } while (cursor_.at_name() && words_.next() && words_.word() != "outside" && words_.word() != "operands");
    return result;
  }

  std::pair<std::string, Outside> outside() {
    const std::string tensor = cursor_.expect_name("a tensor", false);
    return {tensor,
            words_.one_of<Outside>(outside_names, "what reads outside do",
                                   "pad, the default: its tile holds what it yields there; skip: nothing is computed")};
  }

  Cursor& cursor_;
  LineWords words_;
};

}  // namespace

Result<Line> parse_line(const std::string& text, const SourceLocation& where) {
  Cursor cursor(text, where);
  Line line = LineReader(cursor).line();
  line.where = where;
  cursor.expect_end();
  if (cursor.failed()) return cursor.problem();
  return line;
}

}  // namespace isamap

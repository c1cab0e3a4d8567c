// SPDX-License-Identifier: Apache-2.0
// The lines of a schedule, printed and parsed by one table of keywords for each kind of line. One line reads
//
//   for n.p by 48, k by 8 on core combine add_lanes tail split unroll
//   stage F in ram x2 ahead 1 as [k/32, r, s, c, k%32 pad 8] via load.store aot slide first load
//   do s0 with NAME(j=n.p, i=q:7.(q - s):3, k=-) operands A=F B=I outside I pad
//
// with the keywords after the first group in any order. A digit is a column and, unless it covers a whole dim, its
// extent; `-` is an instruction dim without digits; `xN` alone means ahead N-1; `scalar` is element by element.
//
// A new keyword is a row here, beside its field in include/isamap/schedule.h (docs/contributing.md).

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "ir/text/affine_parser.h"
#include "isamap/schedule.h"

namespace isamap {
namespace {

constexpr std::int64_t max_count = 1 << 20;  // buffers, steps ahead

constexpr std::array<std::string_view, 3> tail_names{"", "pad", "split"};   // as in Tail
constexpr std::array<std::string_view, 3> first_names{"", "flag", "load"};  // as in First
constexpr std::array<std::string_view, 2> outside_names{"pad", "skip"};     // as in Outside

int ahead_by_default(int buffers) { return buffers > 1 ? buffers - 1 : 0; }

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

  Cursor& cursor() { return cursor_; }
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

  /// Accepts the word that `next` found, of the keyword `row`; each keyword may occur once.
  void take(std::string_view row, bool repeated) {
    cursor_.accept_word(word_);
    if (!taken_.emplace(row, where_).second && !repeated) cursor_.fail(where_, "'" + word_ + "' occurs twice");
  }
  /// Where a keyword was taken; 0: it was not.
  std::size_t where_of(std::string_view row) const { return taken_.contains(row) ? taken_.at(row) : 0; }

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
  std::map<std::string_view, std::size_t> taken_;
};

/// One keyword of a kind of line.
template <class Kind>
struct Keyword {
  std::string_view name;
  /// Its text on the line, after a blank: "tail pad"; empty: it is not written.
  std::string (*print)(const Kind& line);
  /// Reads its arguments; the word itself has been read.
  void (*read)(LineWords& words, Kind& line);
  bool repeated = false;  ///< it may occur several times
  /// Does a word name it? None: the word must be its name.
  bool (*spelled)(std::string_view word) = nullptr;
};

template <class Kind, std::size_t count>
std::string print_keywords(const std::array<Keyword<Kind>, count>& table, const Kind& line) {
  std::string text;
  for (const Keyword<Kind>& row : table)
    if (const std::string one = row.print(line); !one.empty()) text += " " + one;
  return text;
}

template <class Kind, std::size_t count>
void read_keywords(const std::array<Keyword<Kind>, count>& table, LineWords& words, Kind& line) {
  while (words.next()) {
    const auto row = std::find_if(table.begin(), table.end(), [&](const Keyword<Kind>& one) {
      return one.spelled ? one.spelled(words.word()) : one.name == words.word();
    });
    if (row == table.end()) {
      std::string known;
      for (const Keyword<Kind>& one : table) known += (known.empty() ? "" : ", ") + std::string(one.name);
      words.unknown(known);
      continue;
    }
    words.take(row->name, row->repeated);
    row->read(words, line);
  }
}

std::string with(std::string_view name, const std::string& argument) {
  return argument.empty() ? "" : std::string(name) + " " + argument;
}

std::string joined_by_dots(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ".") + name;
  return text;
}

std::vector<std::string> names_by_dots(Cursor& cursor, const char* of) {
  std::vector<std::string> result;
  do result.push_back(cursor.expect_name(of, false));
  while (cursor.accept("."));
  return result;
}

// --- for ---

std::int64_t read_raster(LineWords& words) {  // grouped(8)
  Cursor& cursor = words.cursor();
  if (!cursor.accept_word("grouped")) cursor.fail(cursor.offset(), "expected grouped(N), found " + cursor.found());
  cursor.expect("(");
  const std::int64_t count = words.positive("a number of steps");
  cursor.expect(")");
  return count;
}

constexpr std::array<Keyword<For>, 6> for_keywords{{
    {"on", [](const For& f) { return with("on", f.unit); },
     [](LineWords& words, For& f) { f.unit = words.cursor().expect_name("a unit", true); }},
    {"wrap", [](const For& f) { return std::string(f.wrap ? "wrap" : ""); }, [](LineWords&, For& f) { f.wrap = true; }},
    {"raster", [](const For& f) { return f.raster > 0 ? fmt::format("raster grouped({})", f.raster) : ""; },
     [](LineWords& words, For& f) { f.raster = read_raster(words); }},
    {"combine", [](const For& f) { return with("combine", f.combine); },
     [](LineWords& words, For& f) { f.combine = words.cursor().expect_name("a combine", true); }},
    {"tail", [](const For& f) { return with("tail", std::string(tail_names[static_cast<std::size_t>(f.tail)])); },
     [](LineWords& words, For& f) {
       f.tail = words.one_of<Tail>(tail_names, "a tail", "leave it out: it is derived");
     }},
    {"unroll", [](const For& f) { return std::string(f.unroll ? "unroll" : ""); },
     [](LineWords&, For& f) { f.unroll = true; }},
}};

// --- stage ---

bool spells_buffers(std::string_view word) {  // x2
  return word.size() > 1 && word[0] == 'x' &&
         std::all_of(word.begin() + 1, word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

void read_buffers(LineWords& words, Stage& stage) {
  const std::string& text = words.word();
  const int count = text.size() > 8 ? 0 : std::stoi(text.substr(1));
  if (count < 1 || count > max_count)
    words.cursor().fail(words.where(),
                        "a stage has 1 to " + std::to_string(max_count) + " buffers, found " + text.substr(1, 20));
  stage.buffers = count;
}

std::string print_layout(const Stage& stage) {
  if (stage.layout.empty()) return "";
  std::string text = "as [";
  for (std::size_t i = 0; i < stage.layout.size(); ++i) {
    text += (i > 0 ? ", " : "") + print(stage.layout[i].index);
    if (stage.layout[i].pad != 0) text += " pad " + std::to_string(stage.layout[i].pad);
  }
  return text + "]";
}

void read_layout(LineWords& words, Stage& stage) {
  Cursor& cursor = words.cursor();
  std::vector<LayoutDigit> result;
  cursor.expect("[");
  do {
    LayoutDigit digit;
    digit.index = read_affine(cursor, {}, true);
    if (cursor.peek("^")) cursor.fail(cursor.offset(), "exclusive or follows the layout: as [..] xor 3 from 7 to 4");
    if (cursor.accept_word("pad")) digit.pad = cursor.expect_integer("a number of elements");
    result.push_back(std::move(digit));
  } while (cursor.accept(","));
  cursor.expect("]");
  stage.layout = std::move(result);
}

void read_swizzle(LineWords& words, Stage& stage) {  // xor 3 from 7 to 4
  Cursor& cursor = words.cursor();
  XorSwizzle result;
  const auto bit = [&](const char* what) { return static_cast<int>(cursor.expect_integer(what, 20)); };
  result.bits = bit("a number of address bits");
  if (!cursor.accept_word("from")) cursor.fail(cursor.offset(), "expected 'from' and a bit, found " + cursor.found());
  result.from = bit("the lowest bit that is taken");
  if (!cursor.accept_word("to")) cursor.fail(cursor.offset(), "expected 'to' and a bit, found " + cursor.found());
  const std::size_t at = cursor.offset();
  result.to = bit("the lowest bit that is changed");
  if (!cursor.failed() && (result.bits < 1 || result.from < result.to + result.bits))
    cursor.fail(at, "bits " + std::to_string(result.to) + " to " + std::to_string(result.to + result.bits - 1) +
                        " cannot be changed by bits from " + std::to_string(result.from) + " on: those must lie above");
  stage.swizzle = result;
}

constexpr std::array<Keyword<Stage>, 11> stage_keywords{{
    {"xN", [](const Stage& s) { return s.buffers != 1 ? "x" + std::to_string(s.buffers) : ""; }, read_buffers, false,
     spells_buffers},
    {"ahead",
     [](const Stage& s) {
       return s.ahead != ahead_by_default(s.buffers) ? "ahead " + std::to_string(s.ahead) : std::string();
     },
     [](LineWords& words, Stage& s) {
       s.ahead = static_cast<int>(words.cursor().expect_integer("a number of steps", max_count));
     }},
    {"as", print_layout, read_layout},
    {"xor",
     [](const Stage& s) {
       return s.swizzle ? fmt::format("xor {} from {} to {}", s.swizzle->bits, s.swizzle->from, s.swizzle->to)
                        : std::string();
     },
     read_swizzle},
    {"via", [](const Stage& s) { return with("via", joined_by_dots(s.via)); },
     [](LineWords& words, Stage& s) { s.via = names_by_dots(words.cursor(), "a move"); }},
    {"role", [](const Stage& s) { return with("role", s.role); },
     [](LineWords& words, Stage& s) { s.role = words.cursor().expect_name("a role", false); }},
    {"aot", [](const Stage& s) { return std::string(s.ahead_of_time ? "aot" : ""); },
     [](LineWords&, Stage& s) { s.ahead_of_time = true; }},
    {"slide", [](const Stage& s) { return std::string(s.slide ? "slide" : ""); },
     [](LineWords&, Stage& s) { s.slide = true; }},
    {"first",
     [](const Stage& s) {
       return s.first == First::fill ? "" : with("first", std::string(first_names[static_cast<std::size_t>(s.first)]));
     },
     [](LineWords& words, Stage& s) {
       s.first = words.one_of<First>(first_names, "how it starts",
                                     "leave it out: an output starts at the identity of its reduction");
     }},
    {"then", [](const Stage& s) { return with("then", joined_by_dots(s.then)); },
     [](LineWords& words, Stage& s) { s.then = names_by_dots(words.cursor(), "a statement"); }},
    {"from", [](const Stage& s) { return with("from", s.from); },
     [](LineWords& words, Stage& s) { s.from = words.cursor().expect_name("a statement", false); }},
}};

// --- do ---

using InstructionDims = std::vector<std::pair<std::string, std::vector<Digit>>>;

std::string print_digits(const std::vector<Digit>& digits) {
  if (digits.empty()) return "-";
  std::string text;
  for (const Digit& digit : digits) {
    const auto dim = digit.column.as_dim();
    const bool plain = dim && dim->find('.') == std::string::npos;
    text += (text.empty() ? "" : ".") + (plain ? *dim : "(" + print(digit.column) + ")");
    if (digit.extent != 1) text += ":" + std::to_string(digit.extent);
  }
  return text;
}

std::vector<Digit> read_digits(LineWords& words) {
  Cursor& cursor = words.cursor();
  std::vector<Digit> result;
  if (cursor.accept("-")) return result;
  do {
    Digit digit;
    const std::size_t at = cursor.offset();
    if (cursor.accept("(")) {
      digit.column = read_affine(cursor, {}, true);
      if (!digit.column.is_linear()) cursor.fail(at, "the column of a digit must be linear");
      cursor.expect(")");
    } else {
      digit.column = AffineExpr::dim(cursor.expect_name("a dim, '(' or '-'", false));
    }
    if (cursor.accept(":")) digit.extent = words.positive("the extent of a digit");
    result.push_back(std::move(digit));
  } while (cursor.accept("."));
  return result;
}

InstructionDims read_instruction_dims(LineWords& words) {
  Cursor& cursor = words.cursor();
  InstructionDims result;
  if (cursor.accept(")")) return result;
  do {
    const std::string dim = cursor.expect_name("a dim of the instruction", false);
    cursor.expect("=");
    result.emplace_back(dim, read_digits(words));
  } while (cursor.accept(","));
  cursor.expect(")");
  return result;
}

bool is_do_keyword(std::string_view word);

/// Calls `take` with the name of each operand, `=` read, up to the next keyword.
template <class Take>
void read_operands(LineWords& words, const Take& take) {
  Cursor& cursor = words.cursor();
  do {
    const std::string operand = cursor.expect_name("an operand of the instruction", false);
    cursor.expect("=");
    take(operand);
  } while (cursor.at_name() && words.next() && !is_do_keyword(words.word()));
}

constexpr std::array<Keyword<Do>, 3> do_keywords{{
    {"operands",
     [](const Do& d) {
       std::string text;
       for (const auto& [operand, tensor] : d.operands) text += (text.empty() ? "" : " ") + operand + "=" + tensor;
       return with("operands", text);
     },
     [](LineWords& words, Do& d) {
       read_operands(words, [&](const std::string& operand) {
         d.operands.emplace_back(operand, words.cursor().expect_name("a tensor", true));
       });
     }},
    {"holding",
     [](const Do& d) {
       std::string text;
       for (const auto& [operand, value] : d.constants)
         text += (text.empty() ? "" : " ") + fmt::format("{}={}", operand, value);
       return with("holding", text);
     },
     [](LineWords& words, Do& d) {
       read_operands(words, [&](const std::string& operand) {
         const double sign = words.cursor().accept("-") ? -1 : 1;
         d.constants.emplace_back(operand, sign * words.cursor().expect_real("a number"));
       });
     }},
    {"outside",
     [](const Do& d) {
       std::string text;
       for (const auto& [tensor, how] : d.outside)
         text += fmt::format("{}outside {} {}", text.empty() ? "" : " ", tensor,
                             outside_names[static_cast<std::size_t>(how)]);
       return text;
     },
     [](LineWords& words, Do& d) {
       const std::string tensor = words.cursor().expect_name("a tensor", false);
       d.outside.emplace_back(
           tensor,
           words.one_of<Outside>(outside_names, "what reads outside do",
                                 "pad, the default: its tile holds what it yields there; skip: nothing is computed"));
     },
     true},
}};

bool is_do_keyword(std::string_view word) {
  return std::any_of(do_keywords.begin(), do_keywords.end(), [&](const auto& row) { return row.name == word; });
}

// --- lines: the first group, then the keywords ---

std::string print_line(const For& line) {
  std::string text = "for ";
  for (std::size_t i = 0; i < line.loops.size(); ++i)
    text += (i > 0 ? ", " : "") + line.loops[i].dim + " by " + std::to_string(line.loops[i].tile);
  return text + print_keywords(for_keywords, line);
}

std::string print_line(const Stage& line) {
  return "stage " + line.tensor + " in " + line.memory + print_keywords(stage_keywords, line);
}

std::string print_line(const Do& line) {
  std::string text = "do " + line.statement + " with ";
  if (line.instruction.empty()) {
    text += "scalar";
  } else {
    text += line.instruction + "(";
    for (std::size_t i = 0; i < line.dims.size(); ++i)
      text += (i > 0 ? ", " : "") + line.dims[i].first + "=" + print_digits(line.dims[i].second);
    text += ")";
  }
  return text + print_keywords(do_keywords, line);
}

TiledLoop read_loop(LineWords& words) {
  Cursor& cursor = words.cursor();
  TiledLoop result;
  result.dim = print(read_affine(cursor, {}, true));
  if (!cursor.accept_word("by")) cursor.fail(cursor.offset(), "expected 'by' and a tile size, found " + cursor.found());
  result.tile = words.positive("a tile size");
  return result;
}

For read_for(Cursor& cursor) {
  LineWords words(cursor);
  For line;
  do line.loops.push_back(read_loop(words));
  while (cursor.accept(","));
  read_keywords(for_keywords, words, line);
  return line;
}

Stage read_stage(Cursor& cursor) {
  LineWords words(cursor);
  Stage line;
  line.tensor = cursor.expect_name("a tensor", true);
  if (!cursor.accept_word("in")) cursor.fail(cursor.offset(), "expected 'in' and a memory, found " + cursor.found());
  line.memory = cursor.expect_name("a memory", true);
  read_keywords(stage_keywords, words, line);
  const std::size_t ahead_at = words.where_of("ahead");
  if (ahead_at == 0) line.ahead = ahead_by_default(line.buffers);
  // With one buffer it is a prefetch into a cache, which has no buffers (scheduler/lowering/lower_prefetch.h).
  if (!cursor.failed() && line.buffers > 1 && line.ahead >= line.buffers)
    cursor.fail(ahead_at,
                "ahead " + std::to_string(line.ahead) + " needs " + std::to_string(line.ahead + 1) +
                    " buffers: the tile in use has one too",
                "write x" + std::to_string(line.ahead + 1) + " ahead " + std::to_string(line.ahead));
  return line;
}

Do read_do(Cursor& cursor) {
  LineWords words(cursor);
  Do line;
  line.statement = cursor.expect_name("a statement", false);
  if (!cursor.accept_word("with"))
    cursor.fail(cursor.offset(), "expected 'with' and an instruction, found " + cursor.found());
  line.instruction = cursor.expect_name("an instruction", true);
  if (cursor.accept("("))
    line.dims = read_instruction_dims(words);
  else if (line.instruction == "scalar")
    line.instruction.clear();
  else
    cursor.expect("(");
  read_keywords(do_keywords, words, line);
  return line;
}

Line read_line(Cursor& cursor) {
  Line result;
  const std::size_t at = cursor.offset();
  if (cursor.accept_word("for"))
    result.is = read_for(cursor);
  else if (cursor.accept_word("stage"))
    result.is = read_stage(cursor);
  else if (cursor.accept_word("do"))
    result.is = read_do(cursor);
  else
    cursor.fail(at, "expected 'for', 'stage' or 'do', found " + cursor.found());
  return result;
}

}  // namespace

std::string print(const Line& line) {
  return std::visit([](const auto& kind) { return print_line(kind); }, line.is);
}

Result<Line> parse_line(const std::string& text, const SourceLocation& where) {
  Cursor cursor(text, where);
  Line line = read_line(cursor);
  line.where = where;
  cursor.expect_end();
  if (cursor.failed()) return cursor.problem();
  return line;
}

}  // namespace isamap

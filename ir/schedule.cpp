// Schedules as text. One line reads
//
//   for n.p by 48, k by 8 on core combine add_lanes tail split unroll
//   stage F in ram x2 ahead 1 as [k/32, r, s, c, k%32 pad 8] via load.store aot slide first load drain add
//   do s0 with NAME(j=n.p, i=q:7.(q - s):3, k=-) operands A=F B=I outside I pad
//
// with the words after the first group in any order. A digit is a column and, unless it walks a whole dim, its extent;
// `-` is an instruction dim that walks nothing; `xN` alone means ahead N-1; `scalar` is element by element.

#include "ir/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <set>

#include "ir/affine_parser.h"

namespace isamap {

namespace {

constexpr std::int64_t max_count = 1 << 20;                                                   // buffers, steps ahead
constexpr std::array<std::string_view, 5> tail_names{"", "partial", "mask", "pad", "split"};  // in the order of Tail
constexpr std::array<std::string_view, 3> first_names{"fill", "flag", "load"};                // of First
constexpr std::array<std::string_view, 3> outside_names{"pad", "skip", "mask"};               // of Outside

template <class Names, class Value>
std::string word(const Names& names, Value value) {
  return std::string(names[static_cast<std::size_t>(value)]);
}

int ahead_by_default(int buffers) { return buffers > 1 ? buffers - 1 : 0; }

// ---- printing

std::string print_line(const For& line) {
  std::string text = "for ";
  for (std::size_t i = 0; i < line.walks.size(); ++i)
    text += (i > 0 ? ", " : "") + line.walks[i].dim + " by " + std::to_string(line.walks[i].tile);
  if (!line.unit.empty()) text += " on " + line.unit;
  if (line.wrap) text += " wrap";
  if (line.raster > 0) text += " raster grouped(" + std::to_string(line.raster) + ")";
  if (!line.combine.empty()) text += " combine " + line.combine;
  if (line.tail != Tail::none) text += " tail " + word(tail_names, line.tail);
  if (line.unroll) text += " unroll";
  return text;
}

std::string print_layout(const std::vector<LayoutDigit>& layout) {
  std::string text = " as [";
  for (std::size_t i = 0; i < layout.size(); ++i) {
    text += (i > 0 ? ", " : "") + print(layout[i].index);
    if (layout[i].pad != 0) text += " pad " + std::to_string(layout[i].pad);
  }
  return text + "]";
}

std::string print_line(const Stage& line) {
  std::string text = "stage " + line.tensor + " in " + line.memory;
  if (line.buffers != 1) text += " x" + std::to_string(line.buffers);
  if (line.ahead != ahead_by_default(line.buffers)) text += " ahead " + std::to_string(line.ahead);
  if (!line.layout.empty()) text += print_layout(line.layout);
  if (line.swizzle)
    text += " xor " + std::to_string(line.swizzle->bits) + " from " + std::to_string(line.swizzle->from) + " to " +
            std::to_string(line.swizzle->to);
  for (std::size_t i = 0; i < line.via.size(); ++i) text += (i == 0 ? " via " : ".") + line.via[i];
  if (!line.role.empty()) text += " role " + line.role;
  if (line.ahead_of_time) text += " aot";
  if (line.slide) text += " slide";
  if (line.first != First::fill) text += " first " + word(first_names, line.first);
  if (line.drain_adds) text += " drain add";
  for (std::size_t i = 0; i < line.then.size(); ++i) text += (i == 0 ? " then " : ".") + line.then[i];
  if (!line.from.empty()) text += " from " + line.from;
  return text;
}

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
  for (std::size_t i = 0; i < line.operands.size(); ++i)
    text += (i == 0 ? " operands " : " ") + line.operands[i].first + "=" + line.operands[i].second;
  for (std::size_t i = 0; i < line.constants.size(); ++i)
    text += (i == 0 ? " holding " : " ") + line.constants[i].first + fmt::format("={}", line.constants[i].second);
  for (const auto& [tensor, how] : line.outside) text += " outside " + tensor + " " + word(outside_names, how);
  return text;
}

std::string yaml_scalar(const std::string& text) {
  const bool null = text == "null" || text == "Null" || text == "NULL";
  const bool plain = !null && !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '.';
  });
  if (plain) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' || c == '\\' ? std::string{'\\', c} : std::string(1, c);
  return quoted + "\"";
}

std::string print_lines(const Nest& nest, const std::string& indent) {
  std::string text;
  for (const Line& line : nest.lines) text += indent + "- " + print(line) + "\n";
  return text;
}

// ---- reading

class LineReader {
 public:
  explicit LineReader(Cursor& cursor) : cursor_(cursor) {}

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
    do line.walks.push_back(walk());
    while (cursor_.accept(","));
    while (next_word()) {
      if (take("on"))
        line.unit = cursor_.expect_name("a unit", true);
      else if (take("combine"))
        line.combine = cursor_.expect_name("a combine", true);
      else if (take("tail"))
        line.tail = one_of<Tail>(tail_names, "a tail");
      else if (take("unroll"))
        line.unroll = true;
      else if (take("wrap"))
        line.wrap = true;
      else if (take("raster"))
        line.raster = raster();
      else
        unknown_word({"role", "peel"}, "on, wrap, raster, combine, tail, unroll");
    }
    return line;
  }

  /// `raster grouped(8)`
  std::int64_t raster() {
    if (!cursor_.accept_word("grouped"))
      cursor_.fail(cursor_.offset(), "expected grouped(N), found " + cursor_.found());
    cursor_.expect("(");
    const std::int64_t count = positive("a number of steps");
    cursor_.expect(")");
    return count;
  }

  Walk walk() {
    Walk result;
    const AffineExpr column = read_affine(cursor_, {}, true);
    result.dim = print(column);
    if (!cursor_.accept_word("by"))
      cursor_.fail(cursor_.offset(), "expected 'by' and a tile size, found " + cursor_.found());
    result.tile = positive("a tile size");
    return result;
  }

  Stage stage_line() {
    Stage line;
    line.tensor = cursor_.expect_name("a tensor", false);
    if (!cursor_.accept_word("in"))
      cursor_.fail(cursor_.offset(), "expected 'in' and a memory, found " + cursor_.found());
    line.memory = cursor_.expect_name("a memory", true);
    std::optional<std::int64_t> ahead;
    std::size_t ahead_at = 0;
    while (next_word()) {
      if (word_ == "ahead") ahead_at = word_at_;
      if (take("ahead"))
        ahead = cursor_.expect_integer("a number of steps", max_count);
      else if (take("as"))
        line.layout = layout();
      else if (take("xor"))
        line.swizzle = swizzle();
      else if (take("via"))
        line.via = names("a move");
      else if (take("role"))
        line.role = cursor_.expect_name("a role", false);
      else if (take("first"))
        line.first = one_of<First>(first_names, "how it starts");
      else if (take("drain"))
        line.drain_adds = drain();
      else if (take("aot"))
        line.ahead_of_time = true;
      else if (take("slide"))
        line.slide = true;
      else if (take("then"))
        line.then = names("a statement");
      else if (take("from"))
        line.from = cursor_.expect_name("a statement", false);
      else if (!buffers(line))
        unknown_word({"by"}, "xN, ahead, as, xor, via, role, aot, slide, first, drain, then, from");
    }
    line.ahead = ahead ? static_cast<int>(*ahead) : ahead_by_default(line.buffers);
    if (!cursor_.failed() && line.ahead > 0 && line.ahead >= line.buffers)
      cursor_.fail(ahead_at,
                   "ahead " + std::to_string(line.ahead) + " needs " + std::to_string(line.ahead + 1) +
                       " buffers: the tile in use has one too",
                   "write x" + std::to_string(line.ahead + 1) + " ahead " + std::to_string(line.ahead));
    return line;
  }

  bool buffers(Stage& line) {  // x2
    const std::string& text = word_;
    if (text.size() < 2 || text.size() > 8 || text[0] != 'x' ||
        !std::all_of(text.begin() + 1, text.end(), [](char c) { return c >= '0' && c <= '9'; }))
      return false;
    take(text);
    const int count = std::stoi(text.substr(1));
    if (count < 1 || count > max_count)
      cursor_.fail(word_at_,
                   "a stage has 1 to " + std::to_string(max_count) + " buffers, found " + std::to_string(count));
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

  bool drain() {
    if (!cursor_.accept_word("add"))
      cursor_.fail(cursor_.offset(), "expected 'add' after 'drain', found " + cursor_.found());
    return true;
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
        cursor_.fail(cursor_.offset(), "exclusive or stands behind the layout: as [..] xor 3 from 7 to 4");
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
    while (next_word()) {
      if (take("operands"))
        line.operands = operands();
      else if (take("holding"))
        line.constants = constants();
      else if (cursor_.accept_word("outside"))
        line.outside.push_back(outside());
      else
        unknown_word({}, "operands, holding, outside");
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
      if (cursor_.accept(":")) digit.extent = positive("the extent of a digit");
      result.push_back(std::move(digit));
    } while (cursor_.accept("."));
    return result;
  }

  std::vector<std::pair<std::string, std::string>> operands() {
    std::vector<std::pair<std::string, std::string>> result;
    do {
      const std::string operand = cursor_.expect_name("an operand of the instruction", false);
      cursor_.expect("=");
      result.emplace_back(operand, cursor_.expect_name("a tensor", false));
    } while (cursor_.at_name() && next_word() && word_ != "outside" && word_ != "operands" && word_ != "holding");
    return result;
  }

  std::vector<std::pair<std::string, double>> constants() {
    std::vector<std::pair<std::string, double>> result;
    do {
      const std::string operand = cursor_.expect_name("an operand of the instruction", false);
      cursor_.expect("=");
      const double sign = cursor_.accept("-") ? -1 : 1;
      result.emplace_back(operand, sign * cursor_.expect_real("a number"));
    } while (cursor_.at_name() && next_word() && word_ != "outside" && word_ != "operands");
    return result;
  }

  std::pair<std::string, Outside> outside() {
    const std::string tensor = cursor_.expect_name("a tensor", false);
    return {tensor, one_of<Outside>(outside_names, "what reads outside do")};
  }

  // Looks at the next word; false at the end of the line, and when something else stands there.
  bool next_word() {
    if (cursor_.failed() || cursor_.at_end()) return false;
    word_at_ = cursor_.offset();
    word_ = cursor_.peek_name();
    if (word_.empty()) cursor_.fail(word_at_, "unexpected " + cursor_.found());
    return !word_.empty();
  }

  // Takes the word that next_word found; each word stands once.
  bool take(const std::string& expected) {
    if (!cursor_.accept_word(expected)) return false;
    const bool count = expected[0] == 'x' && expected != "xor";  // x2, x3
    const std::string key = count ? "x" : expected;
    if (!taken_.insert(key).second) cursor_.fail(word_at_, "'" + expected + "' stands twice");
    return true;
  }

  void unknown_word(const std::set<std::string>& later, const std::string& known) {
    if (later.count(word_))
      cursor_.fail(word_at_, "'" + word_ + "' is not supported yet");
    else
      cursor_.fail(word_at_, "unknown word '" + word_ + "'", "known here: " + known);
  }

  std::int64_t positive(std::string_view what) {
    const std::size_t at = cursor_.offset();
    const std::int64_t value = cursor_.expect_integer(what, std::numeric_limits<std::int64_t>::max());
    if (value < 1) cursor_.fail(at, std::string(what) + " is at least 1, found " + std::to_string(value));
    return value;
  }

  template <class Value, class Names>
  Value one_of(const Names& names, std::string_view what) {
    const std::size_t at = cursor_.offset();
    std::string known;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i].empty()) continue;
      if (cursor_.accept_word(names[i])) return static_cast<Value>(i);
      known += (known.empty() ? "" : ", ") + std::string(names[i]);
    }
    cursor_.fail(at, "expected " + std::string(what) + " (" + known + "), found " + cursor_.found());
    return Value{};
  }

  Cursor& cursor_;
  std::string word_;
  std::size_t word_at_ = 0;
  std::set<std::string> taken_;
};

}  // namespace

std::string print(const Line& line) {
  return std::visit([](const auto& kind) { return print_line(kind); }, line.is);
}

std::string print(const Schedule& schedule) {
  std::string text = "schedule: " + yaml_scalar(schedule.name) + "\nkernel: " + yaml_scalar(schedule.kernel) +
                     "\ntarget: " + yaml_scalar(schedule.target) + "\n";
  std::string sizes;
  for (const auto& [name, value] : schedule.sizes)
    sizes += (sizes.empty() ? "" : ", ") + name + ": " + std::to_string(value);
  if (!sizes.empty()) text += "sizes: {" + sizes + "}\n";
  if (schedule.nests.size() == 1) {
    const std::string lines = print_lines(schedule.nests[0], "  ");
    return text + (lines.empty() ? "nest: []\n" : "nest:\n" + lines);
  }
  text += schedule.nests.empty() ? "nests: []\n" : "nests:\n";
  for (const Nest& nest : schedule.nests) {
    const std::string lines = print_lines(nest, "    ");
    text += lines.empty() ? "  - []\n" : "  -\n" + lines;
  }
  return text;
}

Result<Line> parse_line(const std::string& text, const SourceLocation& where) {
  Cursor cursor(text, where);
  Line line = LineReader(cursor).line();
  line.where = where;
  cursor.expect_end();
  if (cursor.failed()) return cursor.problem();
  return line;
}

}  // namespace isamap

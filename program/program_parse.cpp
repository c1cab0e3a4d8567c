// SPDX-License-Identifier: Apache-2.0
// Parser of the text that program_print.cpp writes: sections at indent 0, then one node a line, nested by indent.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "ir/text/cursor.h"
#include "ir/text/parse.h"
#include "isamap/program_on_machine.h"

namespace isamap {

namespace {

struct TextLine {
  int number = 0, depth = 0;
  std::string text;
};

std::vector<TextLine> split_lines(const std::string& text) {
  std::vector<TextLine> lines;
  std::size_t begin = 0;
  for (int number = 1; begin < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string whole = text.substr(begin, end - begin);
    const std::size_t blanks = std::min(whole.find_first_not_of(' '), whole.size());
    lines.push_back({number, static_cast<int>(blanks / 2), whole.substr(blanks)});
    begin = end + 1;
  }
  return lines;
}

/// A parse in progress, and what all parts of it read: numbers, expressions, references.
struct TextReader {
  TextReader(const HardwareModel& machine, std::vector<TextLine> text) : model(machine), lines(std::move(text)) {}

  const HardwareModel& model;
  std::vector<TextLine> lines;
  Program program;
  Diagnostics problems;
  std::size_t at = 0;

  void problem(const TextLine& line, const std::string& what) {
    Diagnostic d = error_at({"program", line.number, 2 * line.depth + 1}, what);
    d.source_line = line.text;
    if (problems.size() < 20) problems.push_back(d);
  }

  std::vector<std::int64_t> numbers(Cursor& c) {
    std::vector<std::int64_t> list;
    c.expect("[");
    while (!c.failed() && !c.peek("]")) {
      list.push_back(c.expect_integer("a number", std::int64_t{1} << 60));
      if (!c.accept(",")) break;
    }
    c.expect("]");
    return list;
  }

  AffineExpr affine(const TextLine& line, const std::string& text) {
    auto e = parse_affine(text);
    if (e) return *e;
    problem(line, e.diagnostics().front().message);
    return {};
  }

  // Splits text at commas outside of inner brackets.
  static std::vector<std::string> pieces(const std::string& text) {
    std::vector<std::string> list(1);
    int depth = 0;
    for (char ch : text) {
      depth += (ch == '[' || ch == '(') - (ch == ']' || ch == ')');
      if (ch == ',' && depth == 0)
        list.emplace_back();
      else
        list.back() += ch;
    }
    for (std::string& piece : list) piece.erase(0, std::min(piece.find_first_not_of(' '), piece.size()));
    if (list.size() == 1 && list[0].empty()) list.clear();
    return list;
  }

  Ref ref(const TextLine& line, const std::string& text) {
    Ref r;
    const std::size_t open = text.find('['), close = text.rfind(']');
    if (open == std::string::npos || close == std::string::npos || close < open) {
      problem(line, "a buffer access was expected, found '" + text + "'");
      return r;
    }
    const std::string name = text.substr(0, open);
    if (name == "_" && close == open + 1) return r;
    for (std::size_t b = 0; b < program.buffers.size(); ++b)
      if (program.buffers[b].name == name) r.buffer = make_id<BufferId>(b);
    if (!r.buffer.valid() && name != "_") problem(line, "no buffer '" + name + "'");  // `_[3]`: an operand with a value
    for (const std::string& piece : pieces(text.substr(open + 1, close - open - 1)))
      r.index.push_back(affine(line, piece));
    return r;
  }

  // The text between the bracket at `open` and its match; `after` is the offset after it.
  std::string bracketed(const std::string& text, std::size_t open, std::size_t& after) const {
    int depth = 0;
    for (std::size_t i = open; i < text.size(); ++i) {
      depth += (text[i] == '(' || text[i] == '[') - (text[i] == ')' || text[i] == ']');
      if (depth == 0) {
        after = i + 1;
        return text.substr(open + 1, i - open - 1);
      }
    }
    after = text.size();
    return "";
  }
};

/// Nodes, nested by indent.
struct NodeReader : TextReader {
  using TextReader::TextReader;

  std::vector<Node> nodes(int depth) {
    std::vector<Node> list;
    while (at < lines.size() && lines[at].depth == depth && problems.empty()) {
      const TextLine line = lines[at++];
      const auto starts = [&](const char* word) { return line.text.rfind(word, 0) == 0; };
      if (starts("for "))
        list.push_back(loop(line, depth));
      else if (starts("if "))
        list.push_back(guard(line, depth));
      else if (starts("role "))
        list.push_back(Node{Guard{{}, nodes(depth + 1), {}, line.text.substr(5)}});
      else if (starts("call "))
        list.push_back(call(line));
      else if (starts("sync "))
        list.push_back(sync(line));
      else if (starts("# "))
        list.push_back(Node{Comment{line.text.substr(2)}});
      else
        list.push_back(element(line));
    }
    return list;
  }

  Node loop(const TextLine& line, int depth) {
    const SourceLocation where{"program", line.number, 1};
    Cursor c(line.text, where);
    Loop result;
    c.accept_word("for");
    result.variable = c.expect_name("a variable", false);
    if (!c.accept_word("in")) c.fail(c.offset(), "'in' was expected");
    result.trip = c.expect_integer("a trip count");
    result.unroll = c.accept_word("unroll");
    if (c.accept_word("on")) result.unit = c.expect_name("a unit", true);
    if (c.accept_word("of")) result.instances = c.expect_integer("a number of instances");
    c.expect_end();
    if (c.failed()) problem(line, c.problem().message);
    result.body = nodes(depth + 1);
    return Node{std::move(result)};
  }

  Node guard(const TextLine& line, int depth) {
    Guard result;
    for (const std::string& piece : pieces(line.text.substr(3))) {
      const std::size_t end = piece.rfind(">= 0");
      if (end == std::string::npos) problem(line, "a condition ends with '>= 0'");
      result.conditions.push_back(affine(line, piece.substr(0, std::min(end, piece.size()))));
    }
    result.then = nodes(depth + 1);
    if (at < lines.size() && lines[at].depth == depth && lines[at].text == "else") {
      ++at;
      result.otherwise = nodes(depth + 1);
    }
    return Node{std::move(result)};
  }

  Node call(const TextLine& line) {
    Call result;
    const std::size_t open = line.text.find('(');
    if (open == std::string::npos) {
      problem(line, "'(' was expected after the instruction");
      return Node{result};
    }
    const auto id = model.find_instruction(line.text.substr(5, open - 5));
    if (!id)
      problem(line, "no instruction '" + line.text.substr(5, open - 5) + "'");
    else
      result.instruction = *id;
    std::size_t after = 0;
    for (const std::string& piece : pieces(bracketed(line.text, open, after)))
      result.operands.push_back(ref(line, piece));
    const SourceLocation where{"program", line.number, 1};
    const std::string tail = line.text.substr(after);
    Cursor c(tail, where);
    if (!c.accept_word("extents")) c.fail(c.offset(), "'extents' was expected");
    result.extents = numbers(c);
    if (c.failed()) problem(line, c.problem().message);
    if (const std::size_t masks = tail.find("masks("); masks != std::string::npos)
      for (const std::string& piece : pieces(bracketed(tail, masks + 5, after)))
        result.masks.push_back(ref(line, piece));
    const std::size_t completes = std::min(tail.find(" completes "), tail.size());
    if (tail.substr(0, completes).ends_with(" start zero")) result.start = Start::zero;
    if (completes < tail.size()) result.counter = ref(line, tail.substr(completes + 11));
    return Node{std::move(result)};
  }

  Node sync(const TextLine& line) {
    const SourceLocation where{"program", line.number, 1};
    Cursor c(line.text, where);
    c.accept_word("sync");
    Sync result;
    const auto unit = model.find_unit(c.expect_name("a unit", true));
    if (unit)
      result.unit = *unit;
    else
      problem(line, "unknown unit");
    if (!c.accept("-")) result.object = c.expect_name("a completion object", true);
    result.pending = static_cast<int>(c.expect_integer("a number", 1 << 20));
    for (const auto& [word, step] : {std::pair("commit", Sync::Step::commit),
                                     {"open", Sync::Step::open},
                                     {"fence", Sync::Step::fence},
                                     {"expect", Sync::Step::expect},
                                     {"arrive", Sync::Step::arrive}})
      if (c.accept_word(word)) result.step = step;
    if (c.accept_word("bytes")) {
      result.bytes = c.expect_integer("a number of bytes", std::int64_t{1} << 40);
      const std::string rest(c.rest());
      const std::size_t phase = rest.find("phase "), of = rest.rfind(" of ");
      if (phase == std::string::npos || of == std::string::npos || of < phase) {
        problem(line, "expected phase EXPRESSION of COUNTER[..]");
      } else {
        result.phase = affine(line, rest.substr(phase + 6, of - phase - 6));
        result.counter = ref(line, rest.substr(of + 4));
      }
    }
    if (c.failed()) problem(line, c.problem().message);
    return Node{result};
  }

  Node element(const TextLine& line) {
    Element result;
    const std::size_t on = line.text.rfind(" on ");
    const auto unit = on == std::string::npos ? std::nullopt : model.find_unit(line.text.substr(on + 4));
    if (!unit) {
      problem(line, "a node was expected: for, if, call, sync, # or a statement that ends with 'on UNIT'");
      return Node{result};
    }
    result.unit = *unit;
    auto parsed = parse_statement(line.text.substr(0, on), {"program", line.number, 1});
    if (!parsed) {
      problem(line, parsed.diagnostics().front().message);
      return Node{result};
    }
    const auto named = [&](const ParsedAccess& access) {
      Ref r = ref(line, access.tensor + "[]");
      r.index = access.index;
      if (access.computed)
        r.index[static_cast<std::size_t>(access.computed->axis)] =
            AffineExpr::dim(computed_name(access.computed->read));
      if (access.outside) problem(line, "`outside` is of kernels; programs guard their reads");
      return r;
    };
    result.reduction = parsed->reduction;
    result.write = named(parsed->write);
    if (!result.write.buffer.valid()) problem(line, "an element statement writes a buffer");
    for (const ParsedAccess& access : parsed->reads) result.reads.push_back(named(access));
    for (const AffineExpr& value : parsed->values) result.reads.push_back({BufferId{}, {value}});
    if (!problems.empty()) return Node{result};
    type_reads(parsed->body, result);
    auto body = elaborate(parsed->body, program.buffers[result.write.buffer.index()].dtype, {});
    if (!body)
      problem(line, body.diagnostics().front().message);
    else
      result.body = std::move(*body);
    return Node{std::move(result)};
  }

  DType type_of_read(const Ref& ref) const {
    return ref.buffer.valid() ? program.buffers[ref.buffer.index()].dtype : DType::s32;
  }

  void type_reads(ScalarExpr& e, const Element& element) const {
    if (const auto* r = std::get_if<Read>(&e.op))
      e.type = type_of_read(element.reads[static_cast<std::size_t>(r->access)]);
    for (ScalarExpr& arg : e.args) type_reads(arg, element);
  }
};

/// The sections of a program.
struct ProgramReader : NodeReader {
  using NodeReader::NodeReader;

  // Lines of a section, without their first indent.
  std::string section_text() {
    std::string text;
    for (; at < lines.size() && (lines[at].depth > 0 || lines[at].text.empty()); ++at)
      text +=
          std::string(static_cast<std::size_t>(std::max(0, 2 * (lines[at].depth - 1))), ' ') + lines[at].text + "\n";
    return text;
  }

  Result<Program> run() {
    while (at < lines.size()) {
      const TextLine head = lines[at++];
      if (head.text.rfind("program ", 0) == 0)
        program.name = head.text.substr(8);
      else if (head.text == "kernel")
        read_kernel(head);
      else if (head.text == "sizes")
        for (; in_section(); ++at) size(lines[at]);
      else if (head.text == "as named")
        program.as_named = true;
      else if (head.text == "in order")
        program.sums_in_order = true;
      else if (head.text == "library functions")
        program.library_functions = true;
      else if (head.text == "buffers")
        for (; in_section(); ++at) buffer(lines[at]);
      else if (head.text == "assume")
        for (; in_section(); ++at) program.assumptions.push_back({Assumption::Kind::stated, lines[at].text});
      else if (head.text == "schedule")
        program.schedule_text = section_text();
      else if (head.text == "prepack")
        program.prepack = nodes(1);
      else if (head.text == "body")
        program.body = nodes(1);
      else
        problem(head,
                "a section was expected: program, kernel, sizes, as named, in order, buffers, assume, schedule, "
                "prepack or body");
    }
    if (!problems.empty()) return problems;
    return std::move(program);
  }
  bool in_section() const { return at < lines.size() && lines[at].depth > 0; }

  void size(const TextLine& line) {
    const std::size_t blank = std::min(line.text.find(' '), line.text.size());
    const std::string value = line.text.substr(std::min(blank + 1, line.text.size()));
    std::int64_t number = 0;
    const auto [end, failed] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (failed != std::errc() || end != value.data() + value.size()) return problem(line, "expected NAME NUMBER");
    program.sizes[line.text.substr(0, blank)] = number;
  }

  void read_kernel(const TextLine& head) {
    auto kernel = parse_kernel(section_text());
    if (!kernel) return problem(head, "the kernel cannot be read: " + kernel.diagnostics().front().message);
    program.kernel = std::move(*kernel);
  }

  void buffer(const TextLine& line) {
    const SourceLocation where{"program", line.number, 1};
    Cursor c(line.text, where);
    Buffer b;
    b.name = c.expect_name("a buffer", false);
    c.expect(":");
    const auto type = parse_dtype(c.expect_name("a dtype", false));
    b.extents = numbers(c);
    if (!c.accept_word("in")) c.fail(c.offset(), "'in' was expected");
    const auto memory = model.find_memory(c.expect_name("a memory", false));
    if (!c.failed() && (!type || !memory)) return problem(line, "unknown dtype or memory");
    if (type) b.dtype = *type;
    if (memory) b.memory = *memory;
    while (!c.failed() && !c.at_end()) property(c, b);
    if (c.failed()) return problem(line, c.problem().message);
    program.buffers.push_back(std::move(b));
  }

  void property(Cursor& c, Buffer& b) {
    const auto small = [&] { return static_cast<int>(c.expect_integer("a number", 1 << 30)); };
    if (c.accept_word("slots"))
      b.slots = small();
    else if (c.accept_word("registers"))
      b.registers_per_slot = small();
    else if (c.accept_word("strides"))
      b.strides = numbers(c);
    else if (c.accept_word("align"))
      b.align = c.expect_integer("bytes");
    else if (c.accept_word("xor")) {
      XorSwizzle swizzle;
      for (int* number : {&swizzle.bits, &swizzle.from, &swizzle.to}) *number = small();
      b.swizzle = swizzle;
    } else if (c.accept_word("counter"))
      b.counter = Counter{c.expect_name("a completion object", false), {}};
    else if (b.counter && c.accept_word("each"))
      b.counter->each = model.find_unit(c.expect_name("a unit", true)).value_or(UnitId{});
    else if (c.accept_word("at"))
      b.address = c.expect_integer("an address", std::int64_t{1} << 60);
    else if (c.accept_word("of"))
      b.tensor = tensor(c.expect_name("a tensor", false));
    else if (c.accept_word("argument"))
      b.role = BufferRole::argument;
    else if (c.accept_word("aot"))
      b.ahead_of_time = true;
    else if (c.accept_word("as")) {
      b.layout_text = std::string(c.rest());
      b.layout_text.erase(0, b.layout_text.find_first_not_of(' '));
      c.advance(c.rest().size());
    } else {
      c.fail(c.offset(), "unknown property of a buffer");
    }
  }

  TensorId tensor(const std::string& name) const {
    for (std::size_t t = 0; t < program.kernel.tensors.size(); ++t)
      if (program.kernel.tensors[t].name == name) return make_id<TensorId>(t);
    return {};
  }
};

}  // namespace

Result<Program> parse_program(const std::string& text, const HardwareModel& model) {
  return ProgramReader(model, split_lines(text)).run();
}

}  // namespace isamap

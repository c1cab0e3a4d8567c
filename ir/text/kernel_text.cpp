// SPDX-License-Identifier: Apache-2.0
// Kernels as text, one line for the kernel, each tensor and each statement:
//
//   kernel conv {K: 64, N: 1}
//   tensor I: f32[1,64,58,58] outside 0 range -1 1
//   tensor O: f32[1,64,56,56] inout
//   s0: O[n,k,p,q] += I[n,c,p + r,q + s] * F[k,c,r,s] over n: 1, k: 64, p: 56, q: 56, c: 64, r: 3, s: 3 where 2 - s >=
//   0
//
// `repeat t: 4 of 2 statements` precedes the first of them. Unlike the kernel file, a statement has the order and
// extent of its dims, since fusing changes both.

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <set>

#include "ir/text/affine_parser.h"
#include "ir/text/cursor.h"
#include "ir/text/parse.h"
#include "ir/verify/verify_internal.h"

namespace isamap {
namespace {

constexpr std::int64_t any_integer = std::numeric_limits<std::int64_t>::max();

std::string print_real(double value) {
  std::array<char, 40> buffer;
  return std::string(buffer.begin(), std::to_chars(buffer.begin(), buffer.end(), value).ptr);
}

/// `reads`: the texts of those before it.
std::string print_access(const Access& access, const std::vector<Tensor>& tensors,
                         const std::vector<std::string>& reads = {}) {
  std::string text;
  for (std::size_t axis = 0; axis < access.index.size(); ++axis) {
    const bool computed = access.computed && access.computed->axis == static_cast<int>(axis);
    text +=
        (text.empty() ? "" : ",") + (computed ? "at(" + reads.at(static_cast<std::size_t>(access.computed->read)) + ")"
                                              : print(access.index[axis]));
  }
  text = tensors[access.tensor.index()].name + "[" + text + "]";
  return access.outside ? text + " outside " + print_real(*access.outside) : text;
}

// Names of kernels come from models and may contain any character: other than plain names are quoted.
std::string print_kernel_name(const std::string& name) {
  if (is_name(name)) return name;
  std::string text = "\"";
  for (const char c : name) {
    if (c == '\n') {
      text += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + "\"";
}

std::string joined(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (const std::int64_t number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return "[" + text + "]";
}

std::string print_tensor(const Tensor& tensor) {
  std::string text = "tensor " + tensor.name + ": " + std::string(name(tensor.dtype)) + joined(tensor.shape);
  if (tensor.outside) text += " outside " + print_real(*tensor.outside);
  if (tensor.inout) text += " inout";
  if (tensor.output) text += " output";
  if (tensor.range) text += " range " + print_real(tensor.range->first) + " " + print_real(tensor.range->second);
  if (tensor.constant) text += " constant";
  if (!tensor.strides.empty()) text += " strides " + joined(tensor.strides);
  return text;
}

// Before the first of its statements.
std::string print_repeat(const Repeat& repeat) {
  return "repeat " + repeat.dim + ": " + std::to_string(repeat.steps) + " of " + std::to_string(repeat.count) +
         " statements" + (repeat.backward ? " backward\n" : "\n");
}

class KernelReader {
 public:
  explicit KernelReader(const std::string& text) : text_(text) {}

  Result<Kernel> run() {
    std::size_t begin = 0;
    int number = 0;
    while (begin < text_.size() && problems_.empty()) {
      const std::size_t end = std::min(text_.find('\n', begin), text_.size());
      where_ = {"", ++number, 1};
      line(text_.substr(begin, end - begin));
      begin = end + 1;
    }
    if (problems_.empty() && !has_header_) problems_.push_back(error("the text has no line `kernel NAME`"));
    if (!problems_.empty()) return problems_;
    return kernel_;
  }

 private:
  void line(const std::string& text) {
    if (text.find_first_not_of(" \t\r") == std::string::npos) return;
    Cursor cursor(text, where_);
    if (!has_header_)
      header(cursor);
    else if (text.rfind("tensor ", 0) == 0)
      tensor(cursor);
    else if (text.rfind("repeat ", 0) == 0)
      repeat(cursor);
    else
      statement(cursor, text);
    if (cursor.failed()) problems_.push_back(cursor.problem());
  }

  void header(Cursor& cursor) {
    has_header_ = true;
    if (!cursor.accept_word("kernel")) cursor.fail(cursor.offset(), "expected `kernel NAME`, found " + cursor.found());
    if (cursor.failed()) return;
    kernel_.name = cursor.peek("\"") ? quoted_name(cursor) : cursor.expect_name("a name", true);
    if (cursor.accept("{")) {
      while (!cursor.failed() && !cursor.peek("}")) {
        const std::string name = cursor.expect_name("a size's name", false);
        cursor.expect(":");
        kernel_.sizes[name] = cursor.expect_integer("a size", any_integer);
        if (!cursor.accept(",")) break;
      }
      cursor.expect("}");
    }
    cursor.expect_end();
  }

  std::string quoted_name(Cursor& cursor) {
    const std::size_t start = cursor.offset();
    const std::string_view rest = cursor.rest();
    std::string name;
    for (std::size_t i = 1; i < rest.size(); ++i) {
      if (rest[i] == '"') {
        cursor.advance(i + 1);
        return name;
      }
      if (rest[i] == '\\' && i + 1 < rest.size())
        name += rest[++i] == 'n' ? '\n' : rest[i];
      else
        name += rest[i];
    }
    cursor.fail(start, "the name has no closing quote");
    return name;
  }

  double real(Cursor& cursor) {
    const std::size_t start = cursor.offset();
    const std::string_view rest = cursor.rest();
    double value = 0;
    const auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (code != std::errc())
      cursor.fail(start, "expected a number, found " + cursor.found());
    else
      cursor.advance(static_cast<std::size_t>(end - rest.data()));
    return value;
  }

  static std::vector<std::int64_t> integers(Cursor& cursor, const std::string& what) {
    std::vector<std::int64_t> found;
    cursor.expect("[");
    while (!cursor.failed() && !cursor.peek("]")) {
      found.push_back(cursor.expect_integer(what, any_integer));
      if (!cursor.accept(",")) break;
    }
    cursor.expect("]");
    return found;
  }

  void tensor(Cursor& cursor) {
    cursor.accept_word("tensor");
    Tensor tensor;
    tensor.name = cursor.expect_name("a tensor's name", true);
    cursor.expect(":");
    const std::size_t type_at = cursor.offset();
    const auto type = parse_dtype(cursor.expect_name("a dtype", false));
    if (!type)
      cursor.fail(type_at, "this is no dtype", "for example f32");
    else
      tensor.dtype = *type;
    tensor.shape = integers(cursor, "a size");
    if (cursor.accept_word("outside")) tensor.outside = real(cursor);
    tensor.inout = cursor.accept_word("inout");
    tensor.output = cursor.accept_word("output");
    if (cursor.accept_word("range")) {
      const double low = real(cursor);
      tensor.range = {low, real(cursor)};
    }
    tensor.constant = cursor.accept_word("constant");
    if (cursor.accept_word("strides")) tensor.strides = integers(cursor, "a stride");
    cursor.expect_end();
    kernel_.tensors.push_back(std::move(tensor));
  }

  void repeat(Cursor& cursor) {
    cursor.accept_word("repeat");
    Repeat repeat;
    repeat.dim = cursor.expect_name("a dim", true);
    cursor.expect(":");
    repeat.steps = cursor.expect_integer("a number of steps", any_integer);
    if (!cursor.accept_word("of")) cursor.fail(cursor.offset(), "expected `of`, found " + cursor.found());
    repeat.count = static_cast<std::size_t>(cursor.expect_integer("a number of statements", any_integer));
    if (!cursor.accept_word("statements"))
      cursor.fail(cursor.offset(), "expected `statements`, found " + cursor.found());
    repeat.backward = cursor.accept_word("backward");
    cursor.expect_end();
    repeat.first = kernel_.statements.size();
    kernel_.repeats.push_back(std::move(repeat));
  }

  // NAME ":" STATEMENT " over " dims [" where " faces]. The statement itself is read by its own parser.
  void statement(Cursor& cursor, const std::string& text) {
    Computation result;
    result.name = cursor.expect_name("a statement's name", true);
    cursor.expect(":");
    if (cursor.failed()) return;
    const std::size_t begin = cursor.offset();
    const std::size_t over = text.rfind(" over");
    if (over == std::string::npos || over < begin)
      return cursor.fail(begin, "the statement has no ` over ` with its dims");
    cursor.advance(over - begin);
    cursor.accept_word("over");
    dims(cursor, result.domain);
    if (cursor.failed()) return;
    const auto parsed = parse_statement(text.substr(begin, over - begin), place_in(where_, begin));
    if (!parsed) {
      problems_ = parsed.diagnostics();
      return;
    }
    bind_to_tensors(cursor, *parsed, begin, result);
    kernel_.statements.push_back(std::move(result));
  }

  void dims(Cursor& cursor, IterationDomain& domain) {
    while (!cursor.failed() && cursor.at_name() && !cursor.peek("where ")) {
      const std::string name = cursor.expect_name("a dim", true);
      cursor.expect(":");
      domain.dims.push_back({name, cursor.expect_integer("an extent", any_integer), DimKind::parallel});
      if (!cursor.accept(",")) break;
    }
    if (!cursor.failed() && cursor.accept_word("where")) {
      do {
        domain.faces.push_back(read_affine(cursor, {}, true));
        cursor.expect(">=");
        cursor.expect_integer("0", 0);
      } while (!cursor.failed() && cursor.accept(","));
    }
    cursor.expect_end();
  }

  void bind_to_tensors(Cursor& cursor, const ParsedStatement& parsed, std::size_t begin, Computation& result) {
    result.reduction = parsed.reduction;
    result.write = access(cursor, parsed.write, begin);
    for (const ParsedAccess& read : parsed.reads) result.reads.push_back(access(cursor, read, begin));
    result.values = parsed.values;
    if (cursor.failed()) return;
    mark_reductions(result);
    ScalarExpr body = parsed.body;
    type_reads(body, result);
    const auto typed = elaborate(body, kernel_.tensors[result.write.tensor.index()].dtype, place_in(where_, begin));
    if (typed)
      result.body = *typed;
    else
      problems_ = typed.diagnostics();
  }

  Access access(Cursor& cursor, const ParsedAccess& parsed, std::size_t begin) {
    const auto named = [&](const Tensor& tensor) { return tensor.name == parsed.tensor; };
    const auto tensor = std::find_if(kernel_.tensors.begin(), kernel_.tensors.end(), named);
    if (tensor == kernel_.tensors.end()) {
      cursor.fail(begin + static_cast<std::size_t>(parsed.offset), "no tensor is named '" + parsed.tensor + "'");
      return {};
    }
    return {make_id<TensorId>(static_cast<std::size_t>(tensor - kernel_.tensors.begin())), parsed.index,
            parsed.outside == tensor->outside ? std::nullopt : parsed.outside, parsed.computed};
  }

  static void mark_reductions(Computation& result) {
    std::set<std::string> written;
    for (const AffineExpr& e : result.write.index) written.merge(e.names());
    for (Dim& dim : result.domain.dims) {
      if (written.count(dim.name) == 0) dim.kind = DimKind::reduction;
    }
  }

  void type_reads(ScalarExpr& e, const Computation& statement) {
    const Read* r = std::get_if<Read>(&e.op);
    if (r && r->access >= static_cast<int>(statement.reads.size())) {
      e.type = DType::s32;  // the value of a dim
    } else if (r) {
      e.type = kernel_.tensors[statement.reads[static_cast<std::size_t>(r->access)].tensor.index()].dtype;
    }
    for (ScalarExpr& arg : e.args) type_reads(arg, statement);
  }

  const std::string& text_;
  SourceLocation where_;
  Kernel kernel_;
  Diagnostics problems_;
  bool has_header_ = false;
};

}  // namespace

std::string print_formula(const Computation& computation, const std::vector<Tensor>& tensors) {
  std::vector<std::string> reads;
  for (const Access& read : computation.reads) reads.push_back(print_access(read, tensors, reads));
  for (const AffineExpr& value : computation.values) reads.push_back("value(" + print(value) + ")");
  return print_access(computation.write, tensors) + " " + std::string(symbol(computation.reduction)) + " " +
         print(computation.body, reads);
}

std::string print(const Computation& computation, const std::vector<Tensor>& tensors) {
  std::string text = print_formula(computation, tensors) + " over";
  const char* separator = " ";
  for (const Dim& dim : computation.domain.dims) {
    text += separator + dim.name + ": " + std::to_string(dim.extent);
    separator = ", ";
  }
  separator = " where ";
  for (const AffineExpr& face : computation.domain.faces) {
    text += separator + print(face) + " >= 0";
    separator = ", ";
  }
  return text;
}

std::string print(const Kernel& kernel) {
  std::string sizes;
  for (const auto& [name, value] : kernel.sizes)
    sizes += (sizes.empty() ? "" : ", ") + name + ": " + std::to_string(value);
  std::string text = "kernel " + print_kernel_name(kernel.name) + (sizes.empty() ? "" : " {" + sizes + "}") + "\n";
  for (const Tensor& tensor : kernel.tensors) text += print_tensor(tensor) + "\n";
  for (std::size_t s = 0; s < kernel.statements.size(); ++s) {
    if (const Repeat* repeat = repeat_of(kernel, s); repeat && repeat->first == s) text += print_repeat(*repeat);
    text += kernel.statements[s].name + ": " + print(kernel.statements[s], kernel.tensors) + "\n";
  }
  return text;
}

Result<Kernel> parse_kernel(const std::string& text) { return KernelReader(text).run(); }

}  // namespace isamap

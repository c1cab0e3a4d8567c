// SPDX-License-Identifier: Apache-2.0
// Matrix products and the index notation.

#include "frontends/onnx/products.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace isamap::importing {

Product product_of_matrices(const Sizes& a, const Sizes& b) {
  const std::string both = sizes_text(a) + " and " + sizes_text(b);
  if (a.empty() || b.empty()) throw contradiction("a product of scalars: " + both, "");
  const bool row = a.size() > 1, column = b.size() > 1;
  const std::int64_t k = a.back(), other = column ? b[b.size() - 2] : b[0];
  if (k != other) throw contradiction(fmt::format("the operands {} sum over {} and {} elements", both, k, other), "");
  const Sizes batch_a(a.begin(), row ? a.end() - 2 : a.begin()), batch_b(b.begin(), column ? b.end() - 2 : b.begin());
  Product p;
  p.shape = broadcast(batch_a, batch_b);
  Names names;
  for (std::size_t d = 0; d < p.shape.size(); ++d) names.push_back(p.shape.size() == 1 ? "b" : "b" + std::to_string(d));
  p.extents = extents_of(names, p.shape);
  p.a = broadcast_index(batch_a, p.shape, names);
  p.b = broadcast_index(batch_b, p.shape, names);
  p.c = names;
  if (row) {
    p.a.emplace_back("i"), p.c.emplace_back("i");
    p.extents["i"] = a[a.size() - 2];
    p.shape.push_back(a[a.size() - 2]);
  }
  p.a.emplace_back("k"), p.b.emplace_back("k");
  p.extents["k"] = k;
  if (column) {
    p.b.emplace_back("j"), p.c.emplace_back("j");
    p.extents["j"] = b.back();
    p.shape.push_back(b.back());
  }
  return p;
}

namespace {

/// 16-bit floats are summed in f32, since ONNX leaves the precision of sums open and libraries sum in f32.
bool sums_wide(DType type) { return is_float(type) && bits(type) < 32; }

/// `text` over C, into output 0, narrowed where the sum was wide.
void say_result(Maker& m, const std::string& index, const std::string& text, const Extents& extents) {
  const DType type = m.dtype_of("Y");
  m.say("Y[" + index + "] = " + (sums_wide(type) ? std::string(name(type)) + "(" + text + ")" : text), extents);
}

void make_matmul(Maker& m) {
  const Product p = product_of_matrices(m.shape(0), m.shape(1));
  const DType type = m.dtype(0);
  const bool wide = sums_wide(type);
  m.result("Y", 0, type, p.shape);
  if (wide) m.temporary("T", DType::f32, p.shape);
  const std::string cast = wide ? "f32" : "";
  m.say(fmt::format("{}[{}] += {}({}) * {}({})", wide ? "T" : "Y", joined(p.c), cast, access("X0", p.a), cast,
                    access("X1", p.b)),
        p.extents);
  if (!wide) return;
  const Names i = iterators(p.shape.size());
  say_result(m, joined(i), access("T", i), extents_of(i, p.shape));
}

/// alpha*A*B + beta*C
void make_gemm(Maker& m) {
  const Sizes &a = m.shape(0), &b = m.shape(1);
  if (a.size() != 2 || b.size() != 2)
    throw contradiction("gemm needs two matrices, found " + sizes_text(a) + " and " + sizes_text(b), "");
  const bool turn_a = m.integer("transA", 0) != 0, turn_b = m.integer("transB", 0) != 0;
  const std::int64_t rows = a[turn_a ? 1 : 0], k = a[turn_a ? 0 : 1], columns = b[turn_b ? 0 : 1];
  if (const std::int64_t other = b[turn_b ? 1 : 0]; other != k)
    throw contradiction(
        fmt::format("the matrices {}{} and {}{} sum over {} and {} elements", sizes_text(a),
                    turn_a ? " (transposed)" : "", sizes_text(b), turn_b ? " (transposed)" : "", k, other),
        "");
  const DType type = m.dtype(0), sum = sums_wide(type) ? DType::f32 : type;
  const double alpha = m.real("alpha", 1), beta = m.real("beta", 1);
  const bool bias = m.has(2) && beta != 0, direct = !bias && alpha == 1 && sum == type;
  const Sizes shape{rows, columns};
  m.result("Y", 0, type, shape);
  if (!direct) m.temporary("T", sum, shape);
  const std::string cast = sum == type ? "" : std::string(name(sum));
  m.say(fmt::format("{}[i,j] += {}(X0[{}]) * {}(X1[{}])", direct ? "Y" : "T", cast, turn_a ? "k,i" : "i,k", cast,
                    turn_b ? "j,k" : "k,j"),
        {{"i", rows}, {"j", columns}, {"k", k}});
  if (direct) return;
  std::string text = alpha == 1 ? "T[i,j]" : number(alpha) + " * T[i,j]";
  if (bias) {
    const std::string c = cast + "(" + access("X2", broadcast_index(m.shape(2), shape, {"i", "j"})) + ")";
    text += beta == 1 ? " + " + c : " + " + number(beta) + " * " + c;
  }
  m.kind = "bias";
  say_result(m, "i,j", text, {{"i", rows}, {"j", columns}});
}

/// The letters of one operand; "..." is written as the upper dots '0', '1', ...
struct Letters {
  std::vector<std::string> names;
};

std::string without_spaces(const std::string& text) {
  std::string result;
  for (const char c : text)
    if (c != ' ') result += c;
  return result;
}

/// Iterators: `ba` for a letter a (upper-case ones `ua`), `e0`, `e1`.. for the dimensions of the ellipsis,
/// right-aligned.
Letters letters_of(const std::string& term, std::size_t rank, std::size_t ellipsis) {
  Letters result;
  for (std::size_t i = 0; i < term.size(); ++i) {
    const char c = term[i];
    if (c == '.') {
      if (term.compare(i, 3, "...") != 0) throw contradiction("the equation has a single dot");
      const std::size_t letters = term.size() - 3;
      if (rank < letters) throw contradiction("the equation does not fit the operands", "");
      const std::size_t own = rank - letters;
      for (std::size_t d = 0; d < own; ++d) result.names.push_back("e" + std::to_string(ellipsis - own + d));
      i += 2;
    } else if (c >= 'a' && c <= 'z') {
      result.names.push_back(std::string("l") + c);
    } else if (c >= 'A' && c <= 'Z') {
      result.names.push_back(std::string("u") + static_cast<char>(c - 'A' + 'a'));
    } else {
      throw contradiction("the equation has the character '" + std::string(1, c) + "'");
    }
  }
  return result;
}

/// Letters that occur once, in order, are the result where the equation does not state it.
std::string implied_result(const std::string& operands) {
  std::map<char, int> times;
  for (const char c : operands) times[c] += 1;
  std::string result = times.contains('.') ? "..." : "";
  for (const auto& [c, count] : times)
    if (count == 1 && c != ',' && c != '.') result += c;
  return result;
}

void make_einsum(Maker& m) {
  const std::string equation = without_spaces(m.text("equation", ""));
  const std::size_t arrow = equation.find("->");
  const std::string operands = equation.substr(0, arrow);
  const std::string result = arrow == std::string::npos ? implied_result(operands) : equation.substr(arrow + 2);
  std::vector<std::string> terms{""};
  for (const char c : operands)
    if (c == ',')
      terms.emplace_back();
    else
      terms.back() += c;
  if (terms.size() != m.count()) throw contradiction("the equation has another number of operands", "");
  std::size_t ellipsis = 0;
  for (std::size_t i = 0; i < terms.size(); ++i)
    if (const std::size_t dots = terms[i].find("...");
        dots != std::string::npos && m.shape(i).size() + 3 >= terms[i].size())
      ellipsis = std::max(ellipsis, m.shape(i).size() + 3 - terms[i].size());
  Extents extents;
  std::string text;
  std::vector<std::pair<Names, Sizes>> accesses;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const Names names = letters_of(terms[i], m.shape(i).size(), ellipsis).names;
    if (names.size() != m.shape(i).size()) throw contradiction("the equation does not fit the operands", "");
    for (std::size_t d = 0; d < names.size(); ++d) {
      std::int64_t& extent = extents.emplace(names[d], 1).first->second;
      if (extent != 1 && m.shape(i)[d] != 1 && extent != m.shape(i)[d])
        throw contradiction("the equation gives one letter two sizes", "");
      if (extent == 1) extent = m.shape(i)[d];
    }
    accesses.emplace_back(names, m.shape(i));
  }
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    Names index = accesses[i].first;
    for (std::size_t d = 0; d < index.size(); ++d)
      if (accesses[i].second[d] == 1 && extents.at(index[d]) != 1) index[d] = "0";
    text += (i == 0 ? "" : " * ") + access("X" + std::to_string(i), index);
  }
  const Names out =
      letters_of(result, result.find("...") == std::string::npos ? result.size() : ellipsis + result.size() - 3,
                 ellipsis)
          .names;
  Sizes shape;
  for (const std::string& name : out) {
    if (!extents.contains(name)) throw contradiction("the equation's result has a letter that no operand has");
    shape.push_back(extents.at(name));
  }
  m.result("Y", 0, m.dtype(0), shape);
  m.say(access("Y", out) + " += " + text, extents);
}

/// The determinant without a division: n - 1 times F = mu(F) A, where mu keeps what is above the diagonal, and has the
/// sum of the elements below each on it, negated (R. S. Bird, "A simple division-free algorithm for computing
/// determinants", 2011). In f64: terms cancel.
void make_determinant(Maker& m) {
  const Sizes& x = m.shape(0);
  constexpr std::int64_t most = 32;
  if (x.size() < 2 || x[x.size() - 1] != x[x.size() - 2])
    throw contradiction("a determinant of " + sizes_text(x) + " has no meaning");
  const std::int64_t n = x.back();
  if (n < 1 || n > most) throw Refused{fmt::format("a determinant of {} rows", n), fmt::format("1 to {}", most)};
  const Sizes batch(x.begin(), x.end() - 2);
  Names b = iterators(batch.size(), "abcdefgh");
  const auto at = [&](const std::string& tensor, const Names& index) {
    Names whole = b;
    whole.insert(whole.end(), index.begin(), index.end());
    return access(tensor, whole);
  };
  Extents square = extents_of(b, batch), diagonal = square;
  square["i"] = square["j"] = n;
  diagonal["i"] = diagonal["k"] = n;
  Extents product = square;
  product["k"] = n;
  Sizes of_diagonal = batch;
  of_diagonal.push_back(n);
  m.temporary("A", DType::f64, x);
  m.say(at("A", {"i", "j"}) + " = f64(" + at("X0", {"i", "j"}) + ")", square);
  std::string last = "A";
  for (std::int64_t step = 1; step < n; ++step) {
    const std::string s = std::to_string(step), d = "D" + s, u = "U" + s, f = "F" + s;
    m.temporary(d, DType::f64, of_diagonal);
    m.temporary(u, DType::f64, x);
    m.temporary(f, DType::f64, x);
    m.say(fmt::format("{} += select(value(k - i) > 0, -{}, 0)", at(d, {"i"}), at(last, {"k", "k"})), diagonal);
    m.say(fmt::format("{} = select(value(j - i) > 0, {}, select(value(j - i) == 0, {}, 0))", at(u, {"i", "j"}),
                      at(last, {"i", "j"}), at(d, {"i"})),
          square);
    m.say(fmt::format("{} += {} * {}", at(f, {"i", "j"}), at(u, {"i", "k"}), at("A", {"k", "j"})), product);
    last = f;
  }
  m.result("Y", 0, m.dtype(0), batch);
  m.say(fmt::format("{} = {}({}{})", at("Y", {}), name(m.dtype(0)), n % 2 == 0 ? "-" : "", at(last, {"0", "0"})),
        extents_of(b, batch));
}

}  // namespace

const Makers& product_makers() {
  static const Makers all = {
      {"MatMul", &make_matmul}, {"Gemm", &make_gemm}, {"Einsum", &make_einsum}, {"Det", &make_determinant}};
  return all;
}

}  // namespace isamap::importing

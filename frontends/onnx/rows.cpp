// SPDX-License-Identifier: Apache-2.0
// Reductions, softmax and norms: statistics of rows, then element-wise statements over them.

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "frontends/onnx/maker.h"

namespace isamap::importing {
namespace {

/// Sums of 16-bit floats are kept in f32, since ONNX leaves the precision of sums open and libraries sum in f32.
DType sum_type(DType type) { return is_float(type) && bits(type) < 32 ? DType::f32 : type; }

/// A tensor with its reduced dimensions: where they stand, and the index of what is kept.
struct Rows {
  Sizes shape;                 ///< of the input
  std::set<std::size_t> over;  ///< reduced
  Names names;                 ///< an iterator for each dimension
  std::int64_t count = 1;      ///< elements that become one

  Rows(const Sizes& sizes, std::set<std::size_t> axes)
      : shape(sizes), over(std::move(axes)), names(iterators(sizes.size())) {
    for (const std::size_t d : over) count *= shape[d];
  }
  Sizes kept_shape(bool keep) const {
    Sizes result;
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (!over.contains(d))
        result.push_back(shape[d]);
      else if (keep)
        result.push_back(1);
    return result;
  }
  Names kept_names(bool keep) const {
    Names result;
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (!over.contains(d))
        result.push_back(names[d]);
      else if (keep)
        result.push_back("0");
    return result;
  }
  Extents all() const { return extents_of(names, shape); }
  Extents kept() const {
    Extents extents = all();
    for (const std::size_t d : over) extents.erase(names[d]);
    return extents;
  }
};

std::set<std::size_t> reduced_axes(const Maker& m, bool input_axes) {
  const std::size_t rank = m.shape(0).size();
  std::vector<std::int64_t> given = input_axes && m.has(1) ? m.integers(1, "the axes") : m.integers("axes", {});
  std::set<std::size_t> axes;
  for (const std::int64_t axis : given) axes.insert(m.axis(axis, rank));
  const bool noop = m.integer("noop_with_empty_axes", 0) != 0;
  if (given.empty() && !noop)
    for (std::size_t d = 0; d < rank; ++d) axes.insert(d);
  return axes;
}

struct Reducing {
  const char* op;     ///< "+="
  const char* term;   ///< of the element x
  const char* after;  ///< of the result t with n elements; empty: t
};

const std::map<std::string, Reducing>& reductions() {
  static const std::map<std::string, Reducing> all = {
      {"ReduceSum", {"+=", "x", ""}},           {"ReduceMean", {"+=", "x", "t / n"}},
      {"ReduceMax", {"max=", "x", ""}},         {"ReduceMin", {"min=", "x", ""}},
      {"ReduceProd", {"*=", "x", ""}},          {"ReduceL1", {"+=", "abs(x)", ""}},
      {"ReduceL2", {"+=", "x * x", "sqrt(t)"}}, {"ReduceLogSum", {"+=", "x", "log(t)"}},
      {"ReduceSumSquare", {"+=", "x * x", ""}}};
  return all;
}

std::string replaced(std::string text, const std::string& word, const std::string& by) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool before = i > 0 && std::isalpha(static_cast<unsigned char>(text[i - 1])) != 0;
    const bool after = i + 1 < text.size() && std::isalpha(static_cast<unsigned char>(text[i + 1])) != 0;
    if (text.compare(i, 1, word) == 0 && !before && !after)
      result += by;
    else
      result += text[i];
  }
  return result;
}

/// The element in the type of the sum.
std::string element(const std::string& tensor, const Names& index, DType from, DType to) {
  const std::string read = access(tensor, index);
  return from == to ? read : std::string(name(to)) + "(" + read + ")";
}

/// The result over no elements.
Scalar identity_of(const std::string& op, DType type) {
  return identity(op == "+="     ? Reduction::add
                  : op == "*="   ? Reduction::mul
                  : op == "max=" ? Reduction::max
                                 : Reduction::min,
                  type);
}

void make_reduce(Maker& m) {
  const Reducing& how = reductions().at(m.node.op);
  const std::int64_t inputs_from = m.node.op == "ReduceSum" ? 13 : 18;
  const Rows rows(m.shape(0), reduced_axes(m, m.opset >= inputs_from));
  const bool keep = m.integer("keepdims", 1) != 0;
  const DType type = m.dtype(0);
  const bool selects = std::string(how.op) == "max=" || std::string(how.op) == "min=";
  const bool has_root = m.node.op == "ReduceL2" || m.node.op == "ReduceLogSum";
  const DType sum = selects ? type : has_root && !is_float(type) ? DType::f64 : sum_type(type);
  const Sizes shape = rows.kept_shape(keep);
  const std::string index = joined(rows.kept_names(keep));
  const std::string term = replaced(how.term, "x", element("X0", rows.names, type, sum));
  const bool direct = std::string(how.after).empty() && sum == type;
  m.result("Y", 0, type, shape);
  if (!direct) m.temporary("T", sum, shape);
  const std::string sum_name = direct ? "Y" : "T";
  if (rows.count == 0) {
    const Scalar start = identity_of(how.op, sum);
    m.say(fmt::format("{}[{}] = {}", sum_name, index, is_float(sum) ? number(start.real) : integer_text(sum, start)),
          rows.kept());
  } else {
    m.say(fmt::format("{}[{}] {} {}", sum_name, index, how.op, term), rows.all());
  }
  if (direct) return;
  std::string after = std::string(how.after).empty() ? "t" : how.after;
  after = replaced(after, "n", std::to_string(std::max<std::int64_t>(rows.count, 1)));
  after = replaced(after, "t", "T[" + index + "]");
  m.say(fmt::format("Y[{}] = {}", index, sum == type ? after : std::string(name(type)) + "(" + after + ")"),
        rows.kept());
}

/// The largest element is taken out of the exponents, so that they do not overflow.
void make_log_sum_exp(Maker& m) {
  const Rows rows(m.shape(0), reduced_axes(m, m.opset >= 18));
  const bool keep = m.integer("keepdims", 1) != 0;
  const DType type = m.dtype(0), sum = is_float(type) ? type : DType::f64;
  const std::string index = joined(rows.kept_names(keep)), x = element("X0", rows.names, type, sum);
  const std::string narrowed = sum == type ? "" : std::string(name(type));
  const Sizes shape = rows.kept_shape(keep);
  m.result("Y", 0, type, shape);
  if (rows.count == 0) {  // the logarithm of an empty sum
    m.temporary("S", sum, shape);
    m.say(fmt::format("S[{}] = 0", index), rows.kept());
    m.say(fmt::format("Y[{0}] = {1}(log(S[{0}]))", index, narrowed), rows.kept());
    return;
  }
  m.temporary("M", sum, shape);
  m.temporary("S", sum, shape);
  m.say(fmt::format("M[{}] max= {}", index, x), rows.all());
  m.say(fmt::format("S[{0}] += exp({1} - M[{0}])", index, x), rows.all());
  // An infinite one is the result: differences from it are no numbers.
  m.say(fmt::format("Y[{0}] = {1}(select(M[{0}] == inf or M[{0}] == -inf, M[{0}], log(S[{0}]) + M[{0}]))", index,
                    narrowed),
        rows.kept());
}

/// Before set 13 the dimensions from the axis on are one row.
Rows softmax_rows(const Maker& m) {
  const std::size_t rank = m.shape(0).size();
  const std::size_t axis = m.axis(m.integer("axis", m.opset < 13 ? 1 : -1), rank);
  std::set<std::size_t> over{axis};
  if (m.opset < 13)
    for (std::size_t d = axis; d < rank; ++d) over.insert(d);
  return Rows(m.shape(0), over);
}

void make_softmax(Maker& m) {
  const Rows rows = softmax_rows(m);
  const DType type = m.dtype(0), sum = sum_type(type);
  const std::string all = joined(rows.names), row = joined(rows.kept_names(false));
  const std::string x = element("X0", rows.names, type, sum);
  const Sizes kept = rows.kept_shape(false);
  const bool logarithm = m.node.op == "LogSoftmax";
  m.result("Y", 0, type, m.shape(0));
  m.temporary("M", type, kept);
  m.temporary("S", sum, kept);
  const std::string narrowed = sum == type ? "" : std::string(name(type));
  const std::string largest = sum == type ? "M[" + row + "]" : std::string(name(sum)) + "(M[" + row + "])";
  m.say(fmt::format("M[{}] max= X0[{}]", row, all), rows.all());
  if (logarithm) {
    m.say(fmt::format("S[{}] += exp({} - {})", row, x, largest), rows.all());
    m.temporary("L", sum, kept);  // one logarithm for a row
    m.say(fmt::format("L[{0}] = log(S[{0}])", row), rows.kept());
    m.say(fmt::format("Y[{}] = {}({} - {} - L[{}])", all, narrowed, x, largest, row), rows.all());
    return;
  }
  m.temporary("E", sum, m.shape(0));
  m.say(fmt::format("E[{}] = exp({} - {})", all, x, largest), rows.all());
  m.say(fmt::format("S[{}] += E[{}]", row, all), rows.all());
  m.say(fmt::format("Y[{0}] = {1}(E[{0}] / S[{2}])", all, narrowed, row), rows.all());
}

/// Scale and bias of a norm: "" or " * X1[k]" with the broadcast index of the last dimensions.
std::string operand_text(const Maker& m, std::size_t i, const char* op, const Rows& rows, DType sum) {
  if (!m.has(i)) return "";
  const Names index = broadcast_index(m.shape(i), rows.shape, rows.names);
  return op + element("X" + std::to_string(i), index, m.dtype(i), sum);
}

/// Mean and inverse deviation of each row, in `sum`: tensors M and R with the index `row`.
void say_statistics(Maker& m, const Rows& rows, DType sum, double epsilon, bool keep) {
  const std::string all = joined(rows.names), row = joined(rows.kept_names(keep));
  const Sizes kept = rows.kept_shape(keep);
  const std::string x = element("X0", rows.names, m.dtype(0), sum);
  m.temporary("A", sum, kept);
  m.temporary("M", sum, kept);
  m.temporary("V", sum, kept);
  m.temporary("R", sum, kept);
  m.say(fmt::format("A[{}] += {}", row, x), rows.all());
  m.say(fmt::format("M[{0}] = A[{0}] / {1}", row, rows.count), rows.kept());
  m.say(fmt::format("V[{0}] += ({1} - M[{0}]) * ({1} - M[{0}])", row, x), rows.all());
  m.say(fmt::format("R[{0}] = rsqrt(V[{0}] / {1} + {2})", row, rows.count, number(epsilon)), rows.kept());
}

void pass_on(Maker& m, const std::string& local, std::size_t k, const Rows& rows) {
  if (!m.wants(k)) return;
  const std::string row = joined(rows.kept_names(true));
  const std::string name = "Y" + std::to_string(k);
  m.result(name, k, m.dtype_of(local), m.shape_of(local));
  m.say(fmt::format("{0}[{1}] = {2}[{1}]", name, row, local), rows.kept());
}

void make_layer_norm(Maker& m) {
  const std::size_t rank = m.shape(0).size(), axis = m.axis(m.integer("axis", -1), rank);
  std::set<std::size_t> over;
  for (std::size_t d = axis; d < rank; ++d) over.insert(d);
  const Rows rows(m.shape(0), over);
  const DType type = m.dtype(0), sum = sum_type(type);
  say_statistics(m, rows, sum, m.real("epsilon", 1e-5), true);
  const std::string all = joined(rows.names), row = joined(rows.kept_names(true));
  m.result("Y", 0, type, m.shape(0));
  const std::string body = fmt::format("({} - M[{}]) * R[{}]{}{}", element("X0", rows.names, type, sum), row, row,
                                       operand_text(m, 1, " * ", rows, sum), operand_text(m, 2, " + ", rows, sum));
  m.say(fmt::format("Y[{}] = {}({})", all, sum == type ? "" : name(type), body), rows.all());
  pass_on(m, "M", 1, rows);
  pass_on(m, "R", 2, rows);
}

void make_rms_norm(Maker& m) {
  const std::size_t rank = m.shape(0).size(), axis = m.axis(m.integer("axis", -1), rank);
  std::set<std::size_t> over;
  for (std::size_t d = axis; d < rank; ++d) over.insert(d);
  const Rows rows(m.shape(0), over);
  const DType type = m.dtype(0), sum = sum_type(type);
  const std::string all = joined(rows.names), row = joined(rows.kept_names(false));
  const std::string x = element("X0", rows.names, type, sum);
  m.temporary("V", sum, rows.kept_shape(false));
  m.result("Y", 0, type, m.shape(0));
  m.say(fmt::format("V[{}] += {} * {}", row, x, x), rows.all());
  m.say(fmt::format("Y[{}] = {}({} * rsqrt(V[{}] / {} + {}){})", all, sum == type ? "" : name(type), x, row, rows.count,
                    number(m.real("epsilon", 1e-5)), operand_text(m, 1, " * ", rows, sum)),
        rows.all());
}

/// With the statistics of the batch; the outputs 1 and 2 are those of the model moved towards them.
void make_trained_batch_norm(Maker& m) {
  const Sizes& x = m.shape(0);
  std::set<std::size_t> over;
  for (std::size_t d = 0; d < x.size(); ++d)
    if (d != 1) over.insert(d);
  if (x.size() < 2) throw Refused{"batch normalisation of " + sizes_text(x), ""};
  const Rows rows(x, over);
  const DType type = m.dtype(0), sum = sum_type(type);
  const std::string c = rows.names.at(1), all = joined(rows.names), element_of_x = element("X0", rows.names, type, sum);
  for (std::size_t k = 1; k < 5; ++k)
    if (m.shape(k) != Sizes{x[1]}) throw contradiction("its statistics do not fit the channels", "");
  const auto read = [&](std::size_t k) { return element("X" + std::to_string(k), {c}, m.dtype(k), sum); };
  const Extents channels{{c, x[1]}};
  for (const char* of : {"A", "M", "Q", "V"}) m.temporary(of, sum, {x[1]});
  m.result("Y", 0, type, x);
  m.say(fmt::format("A[{}] += {}", c, element_of_x), rows.all());
  m.say(fmt::format("M[{0}] = A[{0}] / {1}", c, rows.count), channels);
  m.say(fmt::format("Q[{0}] += ({1} - M[{0}]) * ({1} - M[{0}])", c, element_of_x), rows.all());
  m.say(fmt::format("V[{0}] = Q[{0}] / {1}", c, rows.count), channels);
  m.say(fmt::format("Y[{0}] = {1}(({2} - M[{3}]) * rsqrt(V[{3}] + {4}) * {5} + {6})", all, name(type), element_of_x, c,
                    number(m.real("epsilon", 1e-5)), read(1), read(2)),
        rows.all());
  const double kept = m.real("momentum", 0.9);
  for (std::size_t k = 1; k < 3; ++k) {
    if (!m.wants(k)) continue;
    const std::string out = "R" + std::to_string(k);
    m.result(out, k, m.dtype(k + 2), {x[1]});
    m.say(fmt::format("{}[{}] = {}({} * {} + {} * {}[{}])", out, c, name(m.dtype(k + 2)), read(k + 2), number(kept),
                      number(1 - kept), k == 1 ? "M" : "V", c),
          channels);
  }
}

/// Scale and shift of each channel first: small statements over constants, done ahead.
void make_batch_norm(Maker& m) {
  if (m.integer("training_mode", 0) != 0) return make_trained_batch_norm(m);
  const Names i = iterators(m.shape(0).size());
  if (i.size() < 2) throw Refused{"batch normalisation of " + sizes_text(m.shape(0)), ""};
  const std::int64_t channels = m.shape(0)[1];
  for (std::size_t k = 1; k < 5; ++k)
    if (m.shape(k) != Sizes{channels}) throw contradiction("its statistics do not fit the channels", "");
  const DType type = m.dtype(0), sum = sum_type(m.dtype(3));
  const auto read = [&](std::size_t k) { return element("X" + std::to_string(k), {"c"}, m.dtype(k), sum); };
  m.temporary("F", sum, {channels});
  m.temporary("B", sum, {channels});
  m.result("Y", 0, type, m.shape(0));
  m.say(fmt::format("F[c] = {} * rsqrt({} + {})", read(1), read(4), number(m.real("epsilon", 1e-5))),
        {{"c", channels}});
  m.say(fmt::format("B[c] = {} - {} * F[c]", read(2), read(3)), {{"c", channels}});
  const DType wide = sum_type(type);
  m.say(fmt::format("Y[{}] = {}({} * {} + {})", joined(i), wide == type ? "" : name(type), element("X0", i, type, wide),
                    element("F", {i[1]}, sum, wide), element("B", {i[1]}, sum, wide)),
        extents_of(i, m.shape(0)));
}

void make_instance_norm(Maker& m) {
  if (m.rank(0) < 2) throw contradiction("channels are dimension 1, which " + sizes_text(m.shape(0)) + " has not");
  std::set<std::size_t> over;
  for (std::size_t d = 2; d < m.shape(0).size(); ++d) over.insert(d);
  const Rows rows(m.shape(0), over);
  const DType type = m.dtype(0), sum = sum_type(type);
  say_statistics(m, rows, sum, m.real("epsilon", 1e-5), false);
  const std::string all = joined(rows.names), row = joined(rows.kept_names(false)), c = rows.names.at(1);
  m.result("Y", 0, type, m.shape(0));
  m.say(fmt::format("Y[{}] = {}(({} - M[{}]) * R[{}] * {} + {})", all, sum == type ? "" : name(type),
                    element("X0", rows.names, type, sum), row, row, element("X1", {c}, m.dtype(1), sum),
                    element("X2", {c}, m.dtype(2), sum)),
        rows.all());
}

/// Channels are seen as groups: c = size*g + k. Before set 21 scale and bias are of groups, then of channels.
void make_group_norm(Maker& m) {
  const Sizes& shape = m.shape(0);
  const std::int64_t groups = m.integer("num_groups", 1);
  if (shape.size() < 2 || groups < 1 || shape[1] % groups != 0)
    throw contradiction(fmt::format("{} groups of {}", groups, sizes_text(shape)));
  const std::int64_t size = shape[1] / groups;
  Names index{"n", fmt::format("{}*g + k", size)};
  Extents all{{"n", shape[0]}, {"g", groups}, {"k", size}};
  for (std::size_t d = 2; d < shape.size(); ++d) {
    index.push_back("p" + std::to_string(d));
    all[index.back()] = shape[d];
  }
  const DType type = m.dtype(0), sum = sum_type(type);
  const std::string x = element("X0", index, type, sum);
  const std::int64_t count = shape[0] == 0 ? 1 : std::max<std::int64_t>(product_of(shape) / shape[0] / groups, 1);
  const Extents rows{{"n", shape[0]}, {"g", groups}};
  for (const char* name : {"A", "V", "M", "R"}) m.temporary(name, sum, {shape[0], groups});
  m.say("A[n,g] += " + x, all);
  m.say(fmt::format("M[n,g] = A[n,g] / {}", count), rows);
  m.say(fmt::format("V[n,g] += ({0} - M[n,g]) * ({0} - M[n,g])", x), all);
  m.say(fmt::format("R[n,g] = rsqrt(V[n,g] / {} + {})", count, number(m.real("epsilon", 1e-5))), rows);
  const auto operand = [&](std::size_t i) {
    const bool of_groups = m.shape(i) == Sizes{groups} && groups != shape[1];
    return element("X" + std::to_string(i), {of_groups ? "g" : index[1]}, m.dtype(i), sum);
  };
  m.result("Y", 0, type, shape);
  m.say(fmt::format("Y[{}] = {}(({} - M[n,g]) * R[n,g] * {} + {})", joined(index), sum == type ? "" : name(type), x,
                    operand(1), operand(2)),
        all);
}

void make_lp_norm(Maker& m) {
  const Rows rows(m.shape(0), {m.axis(m.integer("axis", -1), m.shape(0).size())});
  const bool squares = m.integer("p", 2) == 2;
  const std::string all = joined(rows.names), row = joined(rows.kept_names(false));
  m.temporary("S", m.dtype(0), rows.kept_shape(false));
  m.result("Y", 0, m.dtype(0), m.shape(0));
  const std::string x = access("X0", rows.names), sum = "S[" + row + "]";
  m.say(sum + " += " + (squares ? x + " * " + x : "abs(" + x + ")"), rows.all());
  m.say(fmt::format("Y[{}] = select({}, {} / {}, 0)", all, sum, x, squares ? "sqrt(" + sum + ")" : sum), rows.all());
}

void make_mean_variance(Maker& m) {
  std::set<std::size_t> over;
  for (const std::int64_t axis : m.integers("axes", {0, 2, 3})) over.insert(m.axis(axis, m.shape(0).size()));
  const Rows rows(m.shape(0), over);
  const std::string all = joined(rows.names), row = joined(rows.kept_names(false));
  say_statistics(m, rows, m.dtype(0), 0, false);
  m.result("Y", 0, m.dtype(0), m.shape(0));
  // The definition adds 1e-9 to the deviation.
  m.say(fmt::format("Y[{0}] = (X0[{0}] - M[{1}]) / (sqrt(V[{1}] / {2}) + 1e-9)", all, row, rows.count), rows.all());
}

/// Squares are summed over a window of channels.
void make_lrn(Maker& m) {
  const Names i = iterators(m.shape(0).size());
  const std::int64_t size = m.integer("size", 1);
  if (i.size() < 2 || size < 1) throw Refused{"a window of channels of " + sizes_text(m.shape(0)), ""};
  Names window = i;
  window[1] = fmt::format("{} + w - {}", i[1], (size - 1) / 2);
  Extents extents = extents_of(i, m.shape(0));
  m.padded("P", "X0", 0);
  m.temporary("S", m.dtype(0), m.shape(0));
  m.result("Y", 0, m.dtype(0), m.shape(0));
  Extents all = extents;
  all["w"] = size;
  m.say(fmt::format("S[{0}] += P[{1}] * P[{1}]", joined(i), joined(window)), all);
  const std::string base = fmt::format("({} + {} * S[{}])", number(m.real("bias", 1)),
                                       number(m.real("alpha", 1e-4) / static_cast<double>(size)), joined(i));
  m.say(fmt::format("Y[{0}] = X0[{0}] * exp(-{1} * log({2}))", joined(i), number(m.real("beta", 0.75)), base), extents);
}

}  // namespace

const Makers& row_makers() {
  static const Makers all = [] {
    Makers makers = {{"ReduceLogSumExp", &make_log_sum_exp},
                     {"Softmax", &make_softmax},
                     {"LogSoftmax", &make_softmax},
                     {"LayerNormalization", &make_layer_norm},
                     {"RMSNormalization", &make_rms_norm},
                     {"SimplifiedLayerNormalization", &make_rms_norm},  // ONNX Runtime's, in the standard's domain
                     {"BatchNormalization", &make_batch_norm},
                     {"InstanceNormalization", &make_instance_norm},
                     {"GroupNormalization", &make_group_norm},
                     {"LpNormalization", &make_lp_norm},
                     {"MeanVarianceNormalization", &make_mean_variance},
                     {"LRN", &make_lrn}};
    for (const auto& [name, how] : reductions()) makers[name] = &make_reduce;
    return makers;
  }();
  return all;
}

}  // namespace isamap::importing

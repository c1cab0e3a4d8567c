// SPDX-License-Identifier: Apache-2.0
// Quantised operators: integers q stand for (q - zero) * scale.
//
// Products of integers are summed in s32, exactly; the sum is scaled, rounded to the nearest even integer and clamped.

#include <fmt/format.h>

#include <algorithm>

#include "frontends/onnx/products.h"
#include "frontends/onnx/windows.h"

namespace isamap::importing {
namespace {

std::string input_name(std::size_t i) { return "X" + std::to_string(i); }

/// Is the input missing, or known to be zero everywhere?
bool is_zero(const Maker& m, std::size_t i) {
  if (!m.has(i)) return true;
  const Value& value = m.in(i);
  if (!value.values) return false;
  for (std::int64_t at = 0; at < value.values->count(); ++at)
    if (value.values->get(at) != Scalar{}) return false;
  return true;
}

/// The index of a scale or zero point of the data in input 0: of the whole tensor, of an axis, or of blocks of an axis.
std::string parameter_index(const Maker& m, std::size_t i, const Names& names) {
  const Sizes &shape = m.shape(0), &own = m.shape(i);
  if (product_of(own) == 1) return own.empty() ? "" : joined(Names(own.size(), "0"));
  const std::size_t axis = m.axis(m.integer("axis", 1), shape.size());
  if (own.size() == 1 && own[0] == shape[axis]) return names[axis];
  const std::int64_t block = m.integer("block_size", 0);
  if (own.size() != shape.size() || block < 1 || own[axis] * block < shape[axis])
    throw contradiction("scales of " + sizes_text(own) + " do not fit " + sizes_text(shape), "");
  Names index = names;
  index[axis] = fmt::format("{}/{}", names[axis], block);
  return joined(index);
}

std::string parameter(const Maker& m, std::size_t i, const Names& names, const char* cast) {
  return fmt::format("{}(X{}[{}])", cast, i, parameter_index(m, i, names));
}

/// Bits of the results, if less than their type has.
int quantised_bits(const Maker& m) {
  if (m.has(2)) return m.in(2).narrow;
  const std::int64_t type = m.integer("output_dtype", 2);
  return type == 21 || type == 22 ? 4 : type == 25 || type == 26 ? 2 : 0;
}

DType quantised_type(const Maker& m) {
  if (m.has(2)) return m.dtype(2);
  switch (m.integer("output_dtype", 2)) {
    case 2:
    case 21:
    case 25:
      return DType::u8;
    case 3:
    case 22:
    case 26:
      return DType::s8;
    case 4:
      return DType::u16;
    case 5:
      return DType::s16;
    case 17:
      return DType::e4m3;
    case 19:
      return DType::e5m2;
    default:
      throw Refused{fmt::format("the output type {}, which kernels do not have", m.integer("output_dtype", 0)), ""};
  }
}

void make_quantize(Maker& m) {
  const DType type = quantised_type(m);
  const Names i = iterators(m.shape(0).size());
  m.result("Y", 0, type, m.shape(0));
  const std::string scaled = fmt::format("f32({}) / {}", access("X0", i), parameter(m, 1, i, "f32"));
  std::string text = is_float(type) ? scaled : "round(" + scaled + ")";
  if (!is_zero(m, 2)) text += " + " + parameter(m, 2, i, "f32");
  if (const int bits = quantised_bits(m); bits > 0) {
    const int values = 1 << bits, low = type == DType::u8 ? 0 : -values / 2;
    text = fmt::format("max(min({}, {}), {})", text, low + values - 1, low);
  }
  m.say(fmt::format("{} = sat_{}({})", access("Y", i), name(type), text), extents_of(i, m.shape(0)));
}

void make_dequantize(Maker& m) {
  const DType from = m.dtype(0), type = m.dtype(1);
  const Names i = iterators(m.shape(0).size());
  m.result("Y", 0, type, m.shape(0));
  std::string text = access("X0", i);
  if (!is_zero(m, 2))
    text = is_float(from) ? fmt::format("f32({}) - {}", text, parameter(m, 2, i, "f32"))
                          : fmt::format("s32({}) - {}", text, parameter(m, 2, i, "s32"));
  text = fmt::format("f32({}) * {}", text, parameter(m, 1, i, "f32"));
  if (type != DType::f32) text = std::string(name(type)) + "(" + text + ")";
  m.say(access("Y", i) + " = " + text, extents_of(i, m.shape(0)));
}

/// y = round(x / scale) + zero with the range of x widened to hold 0. Where that is empty the scale is 1, as in ONNX
/// Runtime: the standard's 0 / 0 is no byte.
void make_dynamic_quantize(Maker& m) {
  const Names i = iterators(m.shape(0).size());
  const Extents all = extents_of(i, m.shape(0));
  const std::string x = access("X0", i);
  m.temporary("H", DType::f32, {});
  m.temporary("L", DType::f32, {});
  m.result("Y", 0, DType::u8, m.shape(0));
  m.result("S", 1, DType::f32, {});
  m.result("Z", 2, DType::u8, {});
  m.say("H[] max= max(" + x + ", 0)", all);
  m.say("L[] min= min(" + x + ", 0)", all);
  m.say("S[] = select(H[] > L[], (H[] - L[]) / 255, 1)", {});
  m.say("Z[] = sat_u8(round(-L[] / S[]))", {});
  m.say(access("Y", i) + " = sat_u8(round(" + x + " / S[]) + f32(Z[]))", all);
}

/// An operand in s32 without its zero point, which is of the tensor, or of one iterator.
std::string centred(const Maker& m, std::size_t i, const Names& index, std::size_t zero, const std::string& along) {
  const std::string value = "s32(" + access(input_name(i), index) + ")";
  if (is_zero(m, zero)) return value;
  const Sizes& shape = m.shape(zero);
  const std::string at = product_of(shape) == 1 ? joined(Names(shape.size(), "0")) : along;
  if (product_of(shape) != 1 && shape.size() != 1)
    throw Refused{"zero points of the shape " + sizes_text(shape), "one for the tensor, or one for each row"};
  return fmt::format("({} - s32(X{}[{}]))", value, zero, at);
}

/// Numbers of the inputs that a product reads.
struct Operands {
  std::size_t a, b, zero_a, zero_b;
};

/// One zero point, or scale, is of all rows (columns); else each has one.
void check_parameters(const Maker& m, std::size_t i, const Product& p, const std::string& along) {
  if (!m.has(i) || product_of(m.shape(i)) == 1) return;
  const auto extent = p.extents.find(along);
  if (m.shape(i).size() == 1 && (extent == p.extents.end() || m.shape(i)[0] != extent->second))
    throw contradiction(fmt::format("input {} has {} elements for {} {}", i, m.shape(i)[0],
                                    extent == p.extents.end() ? 1 : extent->second, along == "i" ? "rows" : "columns"));
}

void say_product(Maker& m, const std::string& out, const Product& p, const Operands& of) {
  check_parameters(m, of.zero_a, p, "i");
  check_parameters(m, of.zero_b, p, "j");
  m.say(fmt::format("{} += {} * {}", access(out, p.c), centred(m, of.a, p.a, of.zero_a, "i"),
                    centred(m, of.b, p.b, of.zero_b, "j")),
        p.extents);
}

void make_matmul_integer(Maker& m) {
  const Product p = product_of_matrices(m.shape(0), m.shape(1));
  m.kind = "matmul";
  m.result("Y", 0, DType::s32, p.shape);
  say_product(m, "Y", p, {0, 1, 2, 3});
}

/// Y = sat(round(T * (sa*sb/sy) + zy)) of the inputs 1, 4, 6 and 7 of QLinear operators; sb may be one for each
/// `channel`. The scales are multiplied in f32 and the sum in f64, as ONNX's own evaluator does, to the last bit.
void say_requantised(Maker& m, const std::string& sum, const std::string& channel, const Names& names) {
  constexpr std::size_t scale_a = 1, scale_b = 4, scale_y = 6, zero_y = 7;
  const auto scalar = [&](std::size_t i) {
    const bool one = product_of(m.shape(i)) == 1;
    return fmt::format("f32(X{}[{}])", i, one ? joined(Names(m.shape(i).size(), "0")) : channel);
  };
  const DType type = m.dtype_of("Y");
  std::string text = fmt::format("f64({}) * f64({} * {} / {})", sum, scalar(scale_a), scalar(scale_b), scalar(scale_y));
  if (!is_zero(m, zero_y)) text += " + f64(" + scalar(zero_y) + ")";
  m.kind = "requantise";
  m.say(fmt::format("{} = sat_{}(round({}))", access("Y", names), name(type), text),
        extents_of(names, m.shape_of("Y")));
}

void make_qlinear_matmul(Maker& m) {
  const Product p = product_of_matrices(m.shape(0), m.shape(3));
  m.kind = "matmul";
  m.result("Y", 0, m.dtype(7), p.shape);
  m.temporary("T", DType::s32, p.shape);
  say_product(m, "T", p, {0, 3, 2, 5});
  check_parameters(m, 4, p, "j");
  const Names i = iterators(p.shape.size());
  say_requantised(m, access("T", i), i.empty() ? "0" : i.back(), i);
}

/// A filter's element in s32 without its zero point, of the text {w}.
std::string centred_filter(const Maker& m, const Convolution& c, std::size_t zero) {
  if (is_zero(m, zero)) return "s32({w})";
  const bool per_channel = product_of(m.shape(zero)) > 1;
  if (const std::int64_t count = product_of(m.shape(zero)); per_channel && count != c.groups * c.out_channels)
    throw contradiction(fmt::format("{} zero points for {} channels", count, c.groups * c.out_channels));
  if (per_channel && c.groups > 1) throw Refused{"zero points for each channel of groups", ""};
  return fmt::format("(s32({{w}}) - s32(X{}[{}]))", zero, per_channel ? "k" : joined(Names(m.shape(zero).size(), "0")));
}

/// Padding has the value of the zero point z, so that sum((x - z) * w) over the inside of x remains. With x 0 outside
/// that is sum(x * w) - z * S, where S sums the filter over the window's part inside: constants of a constant filter.
void say_inside_convolution(Maker& m, const Convolution& with, const std::vector<Window>& windows, std::size_t zero_x) {
  Convolution c = with;
  const std::string filter = c.term, channel = c.channel();
  m.padded("P", c.in, 0);
  c.in = "P", c.out = "I", c.term = "s32({x}) * " + filter;
  const bool depthwise = c.groups > 1 && c.in_channels == 1;
  Names element{channel, depthwise ? "0" : "c"}, summed{channel}, inside, read, out{channel}, whole{"n", channel};
  Extents of_filter = c.channel_extents(), of_inside, of_sums = c.channel_extents();
  Sizes filters{c.groups * c.out_channels}, sizes, places = filters;
  for (const Window& w : windows) {
    const std::string at = w.filter == 1 ? "0" : w.filter_name;
    element.push_back(at), summed.push_back(at), read.push_back(w.read_index());
    inside.push_back(w.out_name), out.push_back(w.out_name), whole.push_back(w.out_name);
    filters.push_back(w.filter), sizes.push_back(w.input), places.push_back(w.output);
    of_inside[w.out_name] = w.input, of_sums[w.out_name] = w.output;
    if (w.filter > 1) of_filter[w.filter_name] = of_sums[w.filter_name] = w.filter;
  }
  if (!depthwise) of_filter["c"] = c.in_channels;
  std::string term = filter;
  term.replace(term.find("{w}"), 3, access(c.filter, element));
  m.temporary("V", DType::s32, filters);
  m.temporary("O", DType::u8, sizes);
  m.temporary("S", DType::s32, places);
  m.temporary("I", DType::s32, m.shape_of(with.out));
  m.padded("Q", "O", 0);
  m.say(access("V", summed) + " += " + term, of_filter);
  m.say(access("O", inside) + " = u8(1)", of_inside);
  m.say(access("S", out) + " += " + access("V", summed) + " * s32(" + access("Q", read) + ")", of_sums);
  say_convolution(m, c, windows);
  Extents all = c.channel_extents();
  all["n"] = c.batch;
  for (const Window& w : windows) all[w.out_name] = w.output;
  m.say(fmt::format("{} = {} - s32(X{}[{}]) * {}", access(with.out, whole), access("I", whole), zero_x,
                    joined(Names(m.shape(zero_x).size(), "0")), access("S", out)),
        all);
}

/// The sum of an integer convolution into `out`. A zero point that is not 0 is the value of padding too.
void say_integer_convolution(Maker& m, const std::string& out, const Convolution& with,
                             const std::vector<Window>& windows, std::size_t zero_x, std::size_t zero_w) {
  Convolution c = with;
  c.out = out;
  c.term = centred_filter(m, c, zero_w);
  bool outside = false;
  for (const Window& w : windows) outside = outside || w.reads_outside();
  if (outside && !is_zero(m, zero_x) && !m.in(zero_x).values) return say_inside_convolution(m, c, windows, zero_x);
  if (outside) {
    m.padded("P", c.in, is_zero(m, zero_x) ? 0 : m.reals(zero_x, "the zero point").at(0));
    c.in = "P";
  }
  const std::string x = is_zero(m, zero_x) ? "s32({x})"
                                           : fmt::format("(s32({{x}}) - s32(X{}[{}]))", zero_x,
                                                         joined(Names(m.shape(zero_x).size(), "0")));
  c.term = x + " * " + c.term;
  say_convolution(m, c, windows);
}

Sizes output_of(const Sizes& x, const Sizes& w, const std::vector<Window>& windows) {
  Sizes shape{x[0], w[0]};
  for (const Window& window : windows) shape.push_back(window.output);
  return shape;
}

void make_conv_integer(Maker& m) {
  const Sizes &x = m.shape(0), &w = m.shape(1);
  Convolution c = read_convolution(m, x, w, m.kind);
  auto windows = read_windows(m, x, Sizes(w.begin() + 2, w.end()));
  set_outputs(m, windows);
  c.in = "X0", c.filter = "X1";
  m.result("Y", 0, DType::s32, output_of(x, w, windows));
  say_integer_convolution(m, "Y", c, windows, 2, 3);
}

void make_qlinear_conv(Maker& m) {
  const Sizes &x = m.shape(0), &w = m.shape(3);
  Convolution c = read_convolution(m, x, w, m.kind);
  auto windows = read_windows(m, x, Sizes(w.begin() + 2, w.end()));
  set_outputs(m, windows);
  c.in = "X0", c.filter = "X3";
  const Sizes shape = output_of(x, w, windows);
  m.result("Y", 0, m.dtype(7), shape);
  m.temporary("T", DType::s32, shape);
  say_integer_convolution(m, "T", c, windows, 2, 5);
  const Names i = iterators(shape.size(), "nkpqo");
  std::string sum = access("T", i);
  if (m.has(8)) sum = "(" + sum + " + X8[" + i[1] + "])";
  say_requantised(m, sum, i[1], i);
}

/// MatMulNBits: Y = A * W^T with W[N,K] in blocks along K, each with a scale and a zero point.
struct PackedWeights {
  std::int64_t rows, k, bits, block, blocks, each;  ///< each: integers in a byte, the lowest bits first
};

/// An input of `each` elements for a row has a row for each of `rows`, or all in one.
void expect_rows(const Maker& m, std::size_t i, const std::string& what, std::int64_t rows, std::int64_t each) {
  const Sizes table{rows, each}, flat{rows * each};
  if (m.shape(i) != table && m.shape(i) != flat)
    throw contradiction(fmt::format("{} of {} where {} or {} are needed", what, sizes_text(m.shape(i)),
                                    sizes_text(table), sizes_text(flat)));
}

PackedWeights packed_weights(const Maker& m) {
  PackedWeights w{m.integer("N", 0), m.integer("K", 0), m.integer("bits", 4), m.integer("block_size", 0), 0, 0};
  if (w.bits != 2 && w.bits != 4 && w.bits != 8)
    throw Refused{fmt::format("weights of {} bits", w.bits), "2, 4 or 8, of which a byte has a whole number"};
  w.each = 8 / w.bits;
  if (w.rows < 1 || w.k < 1 || w.block < w.each || w.block % w.each != 0)
    throw contradiction(fmt::format("N {}, K {} and blocks of {}", w.rows, w.k, w.block));
  w.blocks = (w.k + w.block - 1) / w.block;
  const Sizes bytes{w.rows, w.blocks, w.block / w.each};
  if (m.shape(1) != bytes || m.dtype(1) != DType::u8)
    throw contradiction("the weights " + sizes_text(m.shape(1)) + " are no bytes of " + sizes_text(bytes));
  expect_rows(m, 2, "scales", w.rows, w.blocks);
  if (m.shape(0).empty() || m.shape(0).back() != w.k)
    throw contradiction("the operand " + sizes_text(m.shape(0)) + fmt::format(" and weights of {}", w.k));
  if (m.has(4)) throw Refused{"groups by an index (g_idx)", "weights in the order of their blocks"};
  if (m.has(5) && m.shape(5) != Sizes{w.rows})
    throw contradiction(fmt::format("a bias of {} for {} rows of weights", sizes_text(m.shape(5)), w.rows));
  return w;
}

/// U[j,h] in a byte each: the integers of one row are packed in `from`, which is read at `place` for the h-th byte.
void say_unpacked(Maker& m, const PackedWeights& w, const std::string& to, const std::string& place,
                  std::int64_t bytes) {
  m.temporary(to, DType::u8, {w.rows, bytes * w.each});
  for (std::int64_t n = 0; n < w.each; ++n)
    m.say(fmt::format("{}[j,{}*h + {}] = u8(bitand(s32({}) / {}, {}))", to, w.each, n, place, 1 << (w.bits * n),
                      (1 << w.bits) - 1),
          {{"j", w.rows}, {"h", bytes}});
}

/// The zero point of row j and block `b` as text: packed as the weights are, of the operand's type, or the middle.
std::string zero_point(Maker& m, const PackedWeights& w, const std::string& b) {
  if (!m.has(3)) return std::to_string(1 << (w.bits - 1));
  if (m.dtype(3) != DType::u8) {
    expect_rows(m, 3, "zero points", w.rows, w.blocks);
    return fmt::format("f32(X3[{}])", m.rank(3) == 1 ? fmt::format("{}*j + {}", w.blocks, b) : "j," + b);
  }
  const std::int64_t bytes = (w.blocks + w.each - 1) / w.each;
  expect_rows(m, 3, "bytes of zero points", w.rows, bytes);
  say_unpacked(m, w, "Z", m.rank(3) == 1 ? fmt::format("X3[{}*j + h]", bytes) : "X3[j,h]", bytes);
  return "f32(Z[j," + b + "])";
}

/// The weights are unpacked and scaled by statements of their own, which constants make once.
void make_matmul_n_bits(Maker& m) {
  const PackedWeights w = packed_weights(m);
  const DType type = m.dtype(0);
  const std::int64_t per_block = w.block / w.each;
  say_unpacked(m, w, "Q", fmt::format("X1[j,h/{0},h%{0}]", per_block), w.blocks * per_block);
  const std::string b = fmt::format("k/{}", w.block), zero = zero_point(m, w, b);
  const std::string scale = m.rank(2) == 1 ? fmt::format("{}*j + {}", w.blocks, b) : "j," + b;
  m.temporary("W", DType::f32, {w.rows, w.k});
  m.say(fmt::format("W[j,k] = (f32(Q[j,k]) - {}) * f32(X2[{}])", zero, scale), {{"j", w.rows}, {"k", w.k}});
  Names of_a = iterators(m.shape(0).size(), "abcdefg"), of_y = of_a;
  of_a.back() = "k", of_y.back() = "j";
  Sizes shape = m.shape(0);
  shape.back() = w.rows;
  Extents all = extents_of(of_y, shape);
  const bool direct = type == DType::f32 && !m.has(5);
  m.result("Y", 0, type, shape);
  if (!direct) m.temporary("T", DType::f32, shape);
  const Extents results = all;
  all["k"] = w.k;
  m.say(fmt::format("{} += f32({}) * W[j,k]", access(direct ? "Y" : "T", of_y), access("X0", of_a)), all);
  if (direct) return;
  const std::string bias = m.has(5) ? " + f32(X5[j])" : "";
  m.say(fmt::format("{} = {}({}{})", access("Y", of_y), name(type), access("T", of_y), bias), results);
}

}  // namespace

const Makers& quantised_makers() {
  static const Makers all = {{"QuantizeLinear", &make_quantize},
                             {"DequantizeLinear", &make_dequantize},
                             {"DynamicQuantizeLinear", &make_dynamic_quantize},
                             {"MatMulInteger", &make_matmul_integer},
                             {"QLinearMatMul", &make_qlinear_matmul},
                             {"ConvInteger", &make_conv_integer},
                             {"QLinearConv", &make_qlinear_conv},
                             {"com.microsoft.MatMulNBits", &make_matmul_n_bits}};
  return all;
}

}  // namespace isamap::importing

// SPDX-License-Identifier: Apache-2.0
// Operators whose results follow from shapes, or from constants by position rather than by arithmetic.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "frontends/onnx/maker.h"
#include "frontends/onnx/positions.h"

namespace isamap::importing {
namespace {

constexpr std::int64_t max_made = 1 << 20;  ///< elements of a constant made here

Value constant_value(TensorData data) {
  Value value{data.dtype, data.shape, {}, nullptr, ""};
  value.values = std::make_shared<TensorData>(std::move(data));
  return value;
}

void make_shape(Maker& m) {
  const Sizes& shape = m.shape(0);
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto cut = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const std::int64_t first = cut(m.integer("start", 0)), last = cut(m.integer("end", rank));
  m.pass(0, constant_value(integers_data(first < last ? Sizes(shape.begin() + first, shape.begin() + last) : Sizes{})));
}

void make_size(Maker& m) {
  TensorData data = zeros(DType::s64, {});
  data.set(0, {0, product_of(m.shape(0))});
  m.pass(0, constant_value(std::move(data)));
}

/// The value is a tensor of one element.
void make_constant_of_shape(Maker& m) {
  const Sizes shape = m.integers(0, "the shape");
  DType type = DType::f32;
  Scalar value;
  if (const auto found = m.node.attributes.find("value"); found != m.node.attributes.end() && found->second.tensor) {
    const Constant& constant = *found->second.tensor;
    if (!constant.dtype || !constant.values || constant.values->count() < 1)
      throw Refused{"its value has the type " + constant.type, ""};
    type = *constant.dtype;
    value = constant.values->get(0);
  }
  for (const std::int64_t size : shape)
    if (size < 0) throw contradiction("the shape " + sizes_text(shape) + " has no meaning", "");
  const Names i = iterators(shape.size());
  m.result("Y", 0, type, shape);
  m.say(access("Y", i) + " = " + m.scalar("V", type, value), extents_of(i, shape));
}

void make_range(Maker& m) {
  const double start = m.reals(0, "the start").at(0), limit = m.reals(1, "the limit").at(0),
               delta = m.reals(2, "the step").at(0);
  if (delta == 0) throw contradiction("a range with the step 0 has no end", "give a step other than 0");
  const double count = std::ceil((limit - start) / delta);
  if (!(count <= static_cast<double>(max_made))) throw Refused{"a range of more than 2^20 elements", ""};
  const DType type = m.dtype(0);
  TensorData data = zeros(type, {std::max<std::int64_t>(static_cast<std::int64_t>(count), 0)});
  for (std::int64_t i = 0; i < data.count(); ++i) {
    const double value = start + static_cast<double>(i) * delta;
    data.set(i, is_float(type) ? Scalar{round_to(type, value), 0} : Scalar{0, static_cast<std::int64_t>(value)});
  }
  m.pass(0, constant_value(std::move(data)));
}

/// The positions of what is not zero, a row for each dimension. Of constants only: else its size depends on values.
void make_nonzero(Maker& m) {
  const Value& x = m.in(0);
  if (!x.values) throw why_not("NonZero");
  std::vector<std::int64_t> found;
  for (std::int64_t at = 0; at < x.values->count(); ++at)
    if (x.values->get(at) != Scalar{}) found.push_back(at);
  const auto count = static_cast<std::int64_t>(found.size());
  TensorData data = zeros(DType::s64, {static_cast<std::int64_t>(x.shape.size()), count});
  for (std::int64_t k = 0; k < count; ++k) {
    std::int64_t rest = found[static_cast<std::size_t>(k)];
    for (std::size_t d = x.shape.size(); d-- > 0;) {
      data.set(static_cast<std::int64_t>(d) * count + k, {0, rest % x.shape[d]});
      rest /= x.shape[d];
    }
  }
  m.pass(0, constant_value(std::move(data)));
}

/// Ones on a diagonal.
void make_eye_like(Maker& m) {
  const Sizes& shape = m.shape(0);
  if (shape.size() != 2 || product_of(shape) > max_made) throw Refused{"a diagonal of " + sizes_text(shape), ""};
  const auto type = dtype_of_onnx(static_cast<int>(m.integer("dtype", 0)));
  if (m.states("dtype") && !type) throw Refused{"an output type that kernels do not have", ""};
  TensorData data = zeros(type.value_or(m.dtype(0)), shape);
  const std::int64_t k = m.integer("k", 0);
  for (std::int64_t r = 0; r < shape[0]; ++r)
    if (r + k >= 0 && r + k < shape[1]) data.set(r * shape[1] + r + k, {1, 1});
  m.pass(0, constant_value(std::move(data)));
}

/// Windows of signal processing: a - b*cos(2*pi*n/N) + c*cos(4*pi*n/N).
void make_window(Maker& m) {
  const std::int64_t size = m.integers(0, "the size").at(0);
  if (size < 0 || size > max_made) throw Refused{"a window of " + std::to_string(size), ""};
  const bool hann = m.node.op == "HannWindow", hamming = m.node.op == "HammingWindow";
  const double a = hann      ? 0.5
                   : hamming ? 25.0 / 46
                             : 0.42,
               b = hann      ? 0.5
                   : hamming ? 21.0 / 46
                             : 0.5,
               c = hann || hamming ? 0 : 0.08;
  const auto type = dtype_of_onnx(static_cast<int>(m.integer("output_datatype", 1)));
  if (!type || !is_float(*type)) throw Refused{"an output type that kernels do not have", ""};
  TensorData data = zeros(*type, {size});
  const double whole = static_cast<double>(std::max<std::int64_t>(m.integer("periodic", 1) != 0 ? size : size - 1, 1));
  for (std::int64_t n = 0; n < size; ++n) {
    const double angle = 2 * 3.14159265358979323846 * static_cast<double>(n) / whole;
    data.set(n, {round_to(*type, a - b * std::cos(angle) + c * std::cos(2 * angle)), 0});
  }
  m.pass(0, constant_value(std::move(data)));
}

/// Triangles that overlap, their peaks at equal distances on the mel scale: W[bin of the spectrum, band].
void make_mel_weights(Maker& m) {
  const std::int64_t bands = m.integers(0, "the number of bands").at(0), length = m.integers(1, "the length").at(0),
                     rate = m.integers(2, "the sample rate").at(0);
  const double low = m.reals(3, "the lower edge").at(0), high = m.reals(4, "the upper edge").at(0);
  const auto type = dtype_of_onnx(static_cast<int>(m.integer("output_datatype", 1)));
  if (!type || !is_float(*type)) throw Refused{"an output type that kernels do not have", ""};
  if (bands < 1 || length < 1 || rate < 1 || !(low >= 0) || !(high >= low) || bands > max_made || length > max_made ||
      (length / 2 + 1) * bands > max_made)
    throw contradiction("bands that have no meaning");
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double step = (mel(high) - mel(low)) / static_cast<double>(bands + 2);
  Sizes edges;
  for (std::int64_t i = 0; i < bands + 2; ++i) {
    const double hertz = 700 * (std::pow(10, (static_cast<double>(i) * step + mel(low)) / 2595) - 1);
    edges.push_back(
        static_cast<std::int64_t>(std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate))));
  }
  if (edges.back() > length / 2 + 1) throw contradiction("its upper edge lies beyond the spectrum");
  TensorData data = zeros(*type, {length / 2 + 1, bands});
  const auto put = [&](std::int64_t bin, std::int64_t band, double value) {
    if (bin <= length / 2) data.set(bin * bands + band, {round_to(*type, value), 0});
  };
  for (std::int64_t b = 0; b < bands; ++b) {
    const std::int64_t first = edges[static_cast<std::size_t>(b)], peak = edges[static_cast<std::size_t>(b) + 1],
                       last = edges[static_cast<std::size_t>(b) + 2];
    put(peak, b, 1);
    for (std::int64_t j = first; j < peak; ++j)
      put(j, b, static_cast<double>(j - first) / static_cast<double>(peak - first));
    for (std::int64_t j = peak; j < last; ++j)
      put(j, b, static_cast<double>(last - j) / static_cast<double>(last - peak));
  }
  m.pass(0, constant_value(std::move(data)));
}

}  // namespace

const Makers& shape_makers() {
  static const Makers all = {{"Shape", &make_shape},
                             {"Size", &make_size},
                             {"ConstantOfShape", &make_constant_of_shape},
                             {"Range", &make_range},
                             {"NonZero", &make_nonzero},
                             {"EyeLike", &make_eye_like},
                             {"HannWindow", &make_window},
                             {"HammingWindow", &make_window},
                             {"BlackmanWindow", &make_window},
                             {"MelWeightMatrix", &make_mel_weights}};
  return all;
}

Refused why_not(const std::string& op) {
  static const std::map<std::string, Refused> reasons = [] {
    std::map<std::string, Refused> all;
    const auto add = [&](const Refused& why, std::initializer_list<const char*> names) {
      for (const char* name : names) all[name] = why;
    };
    add({"its size depends on values that are known only when the model runs",
         "end the model before it: --until TENSOR"},
        {"NonZero", "Unique", "Compress", "NonMaxSuppression"});
    add({"it works on strings", "do it outside of the model"},
        {"StringNormalizer", "StringConcat", "StringSplit", "RegexFullMatch", "TfIdfVectorizer"});
    add({"it works on sequences or optional values", "export the model without them"},
        {"SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert", "SequenceLength",
         "SequenceMap", "ConcatFromSequence", "SplitToSequence", "Optional", "OptionalGetElement",
         "OptionalHasElement"});
    add({"it draws random numbers", "pass them as an input"},
        {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli", "Multinomial"});
    add({"it belongs to training", "export the model for inference"}, {"Adam", "Adagrad", "Momentum", "Gradient"});
    return all;
  }();
  const auto found = reasons.find(op);
  if (found != reasons.end()) return found->second;
  return {"the operator is not imported", "end the model before it: --until TENSOR"};
}

}  // namespace isamap::importing

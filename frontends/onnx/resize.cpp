// SPDX-License-Identifier: Apache-2.0
// Resize: one dimension after the other, a copy from known positions (nearest) or a product with known weights (linear,
// cubic): each output element is a weighted sum of few input elements.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "frontends/onnx/maker.h"
#include "frontends/onnx/positions.h"

namespace isamap::importing {
namespace {

/// One resized dimension.
struct Axis {
  std::size_t axis = 0;
  std::int64_t input = 0, output = 0;
  double scale = 1, region_start = 0, region_end = 1;
};

struct Way {
  std::string mode, coordinates, nearest;
  double cubic = -0.75, extrapolation = 0;
  bool exclude_outside = false, antialias = false;
};

/// The input coordinate of an output element.
double coordinate(const Way& way, const Axis& a, std::int64_t at) {
  const double x = static_cast<double>(at), in = static_cast<double>(a.input), out = static_cast<double>(a.output);
  if (way.coordinates == "asymmetric") return x / a.scale;
  if (way.coordinates == "align_corners")  // of the exact size, before it is made a whole number
    return a.scale * in == 1 ? 0 : x * (in - 1) / (a.scale * in - 1);
  if (way.coordinates == "pytorch_half_pixel") return out > 1 ? (x + 0.5) / a.scale - 0.5 : 0;
  if (way.coordinates == "half_pixel") return (x + 0.5) / a.scale - 0.5;
  if (way.coordinates == "tf_half_pixel_for_nn") return (x + 0.5) / a.scale;
  if (way.coordinates == "half_pixel_symmetric") {
    const double exact = a.scale * in, adjustment = out / exact;
    return in / 2 * (1 - adjustment) + (x + 0.5) / a.scale - 0.5;
  }
  if (way.coordinates == "tf_crop_and_resize")
    return out > 1 ? a.region_start * (in - 1) + x * (a.region_end - a.region_start) * (in - 1) / (out - 1)
                   : 0.5 * (a.region_start + a.region_end) * (in - 1);
  throw Refused{"the coordinates '" + way.coordinates + "'", ""};
}

std::int64_t nearest_position(const Way& way, double x) {
  if (way.nearest == "floor") return static_cast<std::int64_t>(std::floor(x));
  if (way.nearest == "ceil") return static_cast<std::int64_t>(std::ceil(x));
  const double half = std::floor(x) + 0.5;
  if (way.nearest == "round_prefer_ceil") return static_cast<std::int64_t>(x >= half ? std::ceil(x) : std::floor(x));
  return static_cast<std::int64_t>(x > half ? std::ceil(x) : std::floor(x));
}

/// The weight of an element at this distance.
double kernel_at(const Way& way, double distance) {
  const double x = std::fabs(distance), a = way.cubic;
  if (way.mode == "linear") return x < 1 ? 1 - x : 0;
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}

/// Weights of all input elements for one output element.
std::vector<double> weights_at(const Way& way, const Axis& a, double x) {
  const double shrink = way.antialias ? std::min(a.scale, 1.0) : 1;
  const double reach = (way.mode == "linear" ? 1 : 2) / shrink;
  std::vector<double> weights(static_cast<std::size_t>(a.input), 0);
  double sum = 0;
  const auto first = static_cast<std::int64_t>(std::floor(x - reach)),
             last = static_cast<std::int64_t>(std::ceil(x + reach));
  for (std::int64_t at = first; at <= last; ++at) {
    const double weight = kernel_at(way, (static_cast<double>(at) - x) * shrink);
    const bool outside = at < 0 || at >= a.input;
    if (weight == 0 || (outside && way.exclude_outside)) continue;
    weights[static_cast<std::size_t>(std::clamp<std::int64_t>(at, 0, a.input - 1))] += weight;
    sum += weight;
  }
  if (way.exclude_outside || way.antialias)
    for (double& weight : weights) weight /= sum == 0 ? 1 : sum;
  return weights;
}

void say_weighted(Maker& m, const std::string& target, const std::string& source, const Way& way, const Axis& a,
                  int number) {
  check_positions(a.input * a.output);
  const Sizes shape = m.shape_of(target);
  const DType type = m.dtype_of(target);
  TensorData data = zeros(DType::f32, {a.output, a.input});
  for (std::int64_t at = 0; at < a.output; ++at) {
    const std::vector<double> weights = weights_at(way, a, coordinate(way, a, at));
    for (std::int64_t k = 0; k < a.input; ++k)
      data.set(at * a.input + k, {round_to(DType::f32, weights[static_cast<std::size_t>(k)]), 0});
  }
  const std::string name = fmt::format("W{}", number);
  m.constant(name, std::move(data));
  const Names to = iterators(shape.size());
  Names from = to;
  from[a.axis] = "u";
  Extents extents = extents_of(to, shape);
  extents["u"] = a.input;
  m.say(fmt::format("{} += {}({}) * {}[{},u]", access(target, to), type == DType::f32 ? "f32" : "",
                    access(source, from), name, to[a.axis]),
        extents);
}

/// Elements whose coordinate lies outside the input have the extrapolation value.
void say_extrapolated(Maker& m, const std::string& target, const std::string& source, const Way& way,
                      const std::vector<Axis>& axes) {
  const Sizes shape = m.shape_of(target);
  const Names i = iterators(shape.size());
  std::string inside;
  for (std::size_t n = 0; n < axes.size(); ++n) {
    TensorData data = zeros(DType::boolean, {axes[n].output});
    for (std::int64_t at = 0; at < axes[n].output; ++at) {
      const double x = coordinate(way, axes[n], at);
      data.set(at, {0, x >= 0 && x <= static_cast<double>(axes[n].input - 1) ? 1 : 0});
    }
    const std::string name = fmt::format("IN{}", n);
    m.constant(name, std::move(data));
    inside += fmt::format("{}{}[{}]", n == 0 ? "" : " and ", name, i[axes[n].axis]);
  }
  m.say(fmt::format("{} = select({}, {}, {})", access(target, i), inside, access(source, i), number(way.extrapolation)),
        extents_of(i, shape));
}

void resize_axes(Maker& m, const Way& way, const std::vector<Axis>& axes) {
  const bool extrapolates = way.coordinates == "tf_crop_and_resize";
  Sizes shape = m.shape(0);
  std::string source = "X0";
  int number = 0;
  for (const Axis& a : axes) {
    if (a.output == a.input && a.scale == 1 && !extrapolates) continue;
    shape[a.axis] = a.output;
    const std::string target = "T" + std::to_string(number);
    m.temporary(target, way.mode == "nearest" ? m.dtype(0) : DType::f32, shape);
    if (way.mode == "nearest") {
      std::vector<std::int64_t> positions;
      check_positions(a.output);
      for (std::int64_t at = 0; at < a.output; ++at)
        positions.push_back(std::clamp<std::int64_t>(nearest_position(way, coordinate(way, a, at)), 0, a.input - 1));
      say_positions(m, target, source, a.axis, positions);
    } else {
      say_weighted(m, target, source, way, a, number);
    }
    source = target;
    ++number;
  }
  m.result("Y", 0, m.dtype(0), shape);
  if (extrapolates) return say_extrapolated(m, "Y", source, way, axes);
  const Names i = iterators(shape.size());
  const bool narrows = m.dtype_of(source) != m.dtype(0);
  m.say(access("Y", i) + " = " + (narrows ? std::string(name(m.dtype(0))) : "") + "(" + access(source, i) + ")",
        extents_of(i, shape));
}

/// Sizes that keep the ratio: the largest (or smallest) scale that fits all.
double common_scale(const std::vector<Axis>& axes, const std::vector<std::int64_t>& sizes, bool not_larger) {
  double scale = not_larger ? INFINITY : 0;
  for (std::size_t n = 0; n < axes.size(); ++n) {
    const double one = static_cast<double>(sizes[n]) / static_cast<double>(axes[n].input);
    scale = not_larger ? std::min(scale, one) : std::max(scale, one);
  }
  return scale;
}

std::vector<Axis> axes_of_resize(const Maker& m, std::size_t scales_input, std::size_t sizes_input) {
  const Sizes& x = m.shape(0);
  std::vector<std::int64_t> numbers = m.integers("axes", {});
  if (numbers.empty())
    for (std::size_t d = 0; d < x.size(); ++d) numbers.push_back(static_cast<std::int64_t>(d));
  std::vector<Axis> axes;
  for (const std::int64_t n : numbers) axes.push_back({m.axis(n, x.size()), x[m.axis(n, x.size())]});
  const bool by_sizes = m.has(sizes_input) && product_of(m.shape(sizes_input)) > 0;
  const auto sizes = by_sizes ? m.integers(sizes_input, "the sizes") : std::vector<std::int64_t>();
  const auto scales = by_sizes                               ? std::vector<double>()
                      : m.has(scales_input)                  ? m.reals(scales_input, "the scales")
                      : m.node.attributes.contains("scales") ? m.node.attributes.at("scales").reals
                                                             : std::vector<double>();
  if (std::max(sizes.size(), scales.size()) != axes.size()) throw contradiction("its scales do not fit the dimensions");
  const std::string policy = m.text("keep_aspect_ratio_policy", "stretch");
  const double common = by_sizes && policy != "stretch" ? common_scale(axes, sizes, policy == "not_larger") : 0;
  for (std::size_t n = 0; n < axes.size(); ++n) {
    Axis& a = axes[n];
    if (a.input < 1) {
      if (by_sizes && sizes[n] != 0)
        throw contradiction("a dimension of size 0 has no elements to resize: it does not fit");
      continue;
    }
    a.scale = common != 0 ? common
              : by_sizes  ? static_cast<double>(sizes[n]) / static_cast<double>(a.input)
                          : scales[n];
    if (!(a.scale > 0) || a.scale > 1e6) throw contradiction("a scale that has no meaning");
    a.output = common != 0 ? static_cast<std::int64_t>(std::floor(common * static_cast<double>(a.input) + 0.5))
               : by_sizes  ? sizes[n]
                           : static_cast<std::int64_t>(std::floor(a.scale * static_cast<double>(a.input)));
    if (a.output < 0 || a.output > (1 << 24)) throw contradiction("a size that has no meaning");
  }
  return axes;
}

void make_resize(Maker& m) {
  Way way{m.text("mode", "nearest"), m.text("coordinate_transformation_mode", "half_pixel"),
          m.text("nearest_mode", "round_prefer_floor")};
  way.cubic = m.real("cubic_coeff_a", -0.75);
  way.extrapolation = m.real("extrapolation_value", 0);
  way.exclude_outside = m.integer("exclude_outside", 0) != 0;
  way.antialias = m.integer("antialias", 0) != 0;
  if (m.opset < 11) way.coordinates = "asymmetric", way.nearest = "floor";
  if (way.mode != "nearest" && way.mode != "linear" && way.mode != "cubic")
    throw contradiction("the mode '" + way.mode + "' has no meaning");
  auto axes = axes_of_resize(m, m.opset < 11 ? 1 : 2, 3);
  if (way.coordinates == "tf_crop_and_resize") {
    const auto region = m.reals(1, "the region");
    if (region.size() != 2 * axes.size()) throw contradiction("its region does not fit the dimensions");
    for (std::size_t n = 0; n < axes.size(); ++n)
      axes[n].region_start = region[n], axes[n].region_end = region[axes.size() + n];
  }
  resize_axes(m, way, axes);
}

/// Upsample is Resize of sets 7 to 9.
void make_upsample(Maker& m) {
  Way way{m.text("mode", "nearest"), "asymmetric", "floor"};
  if (way.mode == "bilinear") way.mode = "linear";
  resize_axes(m, way, axes_of_resize(m, 1, 9));
}

}  // namespace

const Makers& resize_makers() {
  static const Makers all = {{"Resize", &make_resize}, {"Upsample", &make_upsample}};
  return all;
}

}  // namespace isamap::importing

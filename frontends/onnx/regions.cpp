// SPDX-License-Identifier: Apache-2.0
// Operators that read an image between its elements, at places that values give, and the inverse of a pool.
//
// A place has two taps along each dimension. Their elements J and weights V are tensors of their own; the image is seen
// as one dimension F, so that one read at a computed place remains: Y += F[at(J)] * V.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "frontends/onnx/maker.h"
#include "frontends/onnx/positions.h"
#include "frontends/onnx/updates.h"
#include "frontends/onnx/windows.h"

namespace isamap::importing {
namespace {

constexpr std::int64_t max_extent = 1 << 20;  ///< of one dimension: products of three fit

void check_places(std::int64_t count) {
  if (count > INT32_MAX) throw Refused{fmt::format("an image of {} places", count), "2^31 are possible"};
}

DType place_type(DType type) { return type == DType::f64 ? DType::f64 : DType::f32; }

/// Both taps of the places `C[i..]` along a dimension of `size`: J and V, with the tap as their last dimension.
/// `inside`: where a place lies within the image; empty: taps beyond the image count as 0 each.
void say_taps(Maker& m, const std::string& number, const Names& i, const Sizes& shape, std::int64_t size,
              const std::string& inside) {
  const std::string c = access("C" + number, i), last = std::to_string(size - 1);
  const DType type = m.dtype_of("C" + number);
  Sizes taps = shape;
  taps.push_back(2);
  m.temporary("J" + number, DType::s32, taps);
  m.temporary("V" + number, type, taps);
  const std::string place = inside.empty() ? c : fmt::format("min(max({}, 0), {})", c, last);
  for (int t = 0; t < 2; ++t) {
    Names to = i;
    to.push_back(std::to_string(t));
    const std::string element = fmt::format("(floor({}) + {})", place, t);
    const std::string weight =
        t == 0 ? fmt::format("1 - ({0} - floor({0}))", place) : fmt::format("{0} - floor({0})", place);
    const std::string counts = inside.empty() ? fmt::format("{0} >= 0 and {0} <= {1}", element, last) : inside;
    m.say(fmt::format("{} = s32(min(max({}, 0), {}))", access("J" + number, to), element, last), extents_of(i, shape));
    m.say(fmt::format("{} = select({}, {}, 0)", access("V" + number, to), counts, weight), extents_of(i, shape));
  }
}

/// Regions of images: the first places of their parts, and the parts' sizes.
struct Regions {
  std::int64_t count = 0;
  std::int64_t samples[2] = {1, 1};  ///< of each part along each dimension; where they differ by region, the most
  double scale = 1;
  bool half_pixel = true, differ = false;  ///< differ: N0 and N1 hold the samples of each region

  /// In statements over r, a whole number.
  std::string samples_text(int axis) const {
    return differ ? fmt::format("N{}[r]", axis) : std::to_string(samples[axis]);
  }
};

/// As many samples of each region as a part of it has elements, rounded up; in the arithmetic of the statements.
Sizes samples_by_size(const Maker& m, const Regions& g, int axis, std::int64_t parts) {
  if (!m.in(1).values)
    throw Refused{"its number of samples depends on the sizes of the regions", "export it with a sampling_ratio"};
  const TensorData& corners = *m.in(1).values;
  const DType type = place_type(m.dtype(0));
  const auto corner = [&](std::int64_t r, int column) {
    const double at = as_double(corners.dtype, corners.get(4 * r + column));
    return round_to(type, round_to(type, at * round_to(type, g.scale)) - (g.half_pixel ? 0.5 : 0));
  };
  Sizes samples;
  for (std::int64_t r = 0; r < g.count; ++r) {
    const double extent = round_to(type, corner(r, 3 - axis) - corner(r, 1 - axis));
    const double part = round_to(type, (g.half_pixel ? extent : std::max(extent, 1.0)) / static_cast<double>(parts));
    if (!(std::fabs(part) <= max_extent))
      throw contradiction(fmt::format("region {} has parts of {} elements", r, part));
    samples.push_back(std::max<std::int64_t>(static_cast<std::int64_t>(std::ceil(part)), 0));
  }
  return samples;
}

/// Sets the samples: of the attribute, or by the size of each region where it is 0.
void set_samples(Maker& m, Regions& g, const Sizes& parts, bool largest) {
  const std::int64_t stated = m.integer("sampling_ratio", 0);
  g.samples[0] = g.samples[1] = stated;
  g.differ = stated == 0;
  for (int axis = 0; g.differ && axis < 2; ++axis) {
    const Sizes samples = samples_by_size(m, g, axis, parts[static_cast<std::size_t>(axis)]);
    if (largest && std::count(samples.begin(), samples.end(), 0) > 0)
      throw Refused{"the largest element of an empty region", ""};
    g.samples[axis] = 1;
    TensorData data = zeros(DType::s32, {g.count});
    for (std::size_t r = 0; r < samples.size(); ++r) {
      g.samples[axis] = std::max(g.samples[axis], samples[r]);
      data.set(static_cast<std::int64_t>(r), {0, samples[r]});
    }
    m.constant("N" + std::to_string(axis), std::move(data));
  }
}

/// C[r,i,a]: the place of sample a of part i of region r, along dimension `axis` of the image.
void say_region_places(Maker& m, const Regions& g, int axis, std::int64_t parts) {
  const std::string number_of = std::to_string(axis), type = std::string(name(place_type(m.dtype(0))));
  const auto corner = [&](int column) {
    return fmt::format("({}(X1[r,{}]) * {}{})", type, column, number(g.scale), g.half_pixel ? " - 0.5" : "");
  };
  const std::string first = corner(1 - axis), extent = fmt::format("({} - {})", corner(3 - axis), first);
  m.temporary("B" + number_of, place_type(m.dtype(0)), {g.count});
  m.temporary("C" + number_of, place_type(m.dtype(0)), {g.count, parts, g.samples[axis]});
  m.say(fmt::format("B{}[r] = {} / {}", axis, g.half_pixel ? extent : "max(" + extent + ", 1)", parts),
        {{"r", g.count}});
  // A region with fewer samples than others repeats its last one.
  const std::string samples = g.samples_text(axis);
  const std::string a = g.differ ? fmt::format("min(value(a), {} - 1)", samples) : "value(a)";
  m.say(fmt::format("C{0}[r,i,a] = {1} + {2}(value(i)) * B{0}[r] + ({2}({3}) + 0.5) * B{0}[r] / {4}", axis, first, type,
                    a, g.differ ? fmt::format("{}(max({}, 1))", type, samples) : samples),
        {{"r", g.count}, {"i", parts}, {"a", g.samples[axis]}});
}

/// Each region in parts, each part the mean (or maximum) of samples between elements.
void make_roi_align(Maker& m) {
  const Sizes &x = m.shape(0), &rois = m.shape(1);
  if (x.size() != 4 || rois.size() != 2 || rois[1] != 4 || m.shape(2) != Sizes{rois[0]} || product_of(x) == 0)
    throw contradiction("regions of " + sizes_text(rois) + " do not fit " + sizes_text(x));
  const std::string mode = m.text("mode", "avg");
  if (mode != "avg" && mode != "max") throw contradiction("its mode is '" + mode.substr(0, 32) + "'", "avg or max");
  Regions g;
  g.count = rois[0];
  g.scale = m.real("spatial_scale", 1);
  g.half_pixel =
      m.text("coordinate_transformation_mode", m.opset < 16 ? "output_half_pixel" : "half_pixel") == "half_pixel";
  const Sizes parts{m.integer("output_height", 1), m.integer("output_width", 1)};
  for (const std::int64_t size : parts)
    if (size < 1) throw contradiction(fmt::format("a size of {} has no meaning", size));
  set_samples(m, g, parts, mode == "max");
  for (const std::int64_t size : {parts[0], parts[1], g.samples[0], g.samples[1], x[0], x[2], x[3]})
    if (size < 1 || size > max_extent) throw contradiction(fmt::format("a size of {} has no meaning", size));
  check_places(x[0] * x[2] * x[3]);
  const Extents points{{"r", g.count},      {"i", parts[0]}, {"j", parts[1]}, {"a", g.samples[0]},
                       {"b", g.samples[1]}, {"s", 2},        {"t", 2}};
  for (int axis = 0; axis < 2; ++axis) {
    const auto d = static_cast<std::size_t>(axis);
    say_region_places(m, g, axis, parts[d]);
    const std::string c = fmt::format("C{}[r,i,a]", axis);
    const std::string counts = g.differ ? fmt::format(" and value(a) < {}", g.samples_text(axis)) : "";
    say_taps(m, std::to_string(axis), {"r", "i", "a"}, {g.count, parts[d], g.samples[axis]}, x[2 + d],
             fmt::format("{0} >= -1 and {0} <= {1}{2}", c, x[2 + d], mode == "avg" ? counts : ""));
  }
  const DType wide = place_type(m.dtype(0));
  const Sizes all{g.count, parts[0], parts[1], g.samples[0], g.samples[1], 2, 2},
      shape{g.count, x[1], parts[0], parts[1]};
  m.temporary("J", DType::s32, all);
  m.temporary("V", wide, all);
  m.temporary("F", wide, {x[1], x[0] * x[2] * x[3]});
  m.temporary("T", wide, shape);
  m.result("Y", 0, m.dtype(0), shape);
  m.say(fmt::format("J[r,i,j,a,b,s,t] = (s32(X2[r]) * {} + J0[r,i,a,s]) * {} + J1[r,j,b,t]", x[2], x[3]), points);
  m.say("V[r,i,j,a,b,s,t] = V0[r,i,a,s] * V1[r,j,b,t]", points);
  m.say(fmt::format("F[c,f] = {}(X0[f/{},c,(f/{})%{},f%{}])", name(wide), x[2] * x[3], x[3], x[2], x[3]),
        {{"c", x[1]}, {"f", x[0] * x[2] * x[3]}});
  Extents channels = points;
  channels["c"] = x[1];
  m.say(fmt::format("T[r,c,i,j] {} F[c,at(J[r,i,j,a,b,s,t])] * V[r,i,j,a,b,s,t]", mode == "avg" ? "+=" : "max="),
        channels);
  const std::string count =
      g.differ ? fmt::format("{}(max(N0[r] * N1[r], 1))", name(wide)) : std::to_string(g.samples[0] * g.samples[1]);
  m.say(fmt::format("Y[r,c,i,j] = {}(T[r,c,i,j]{})", name(m.dtype(0)), mode == "avg" ? " / " + count : ""),
        {{"r", g.count}, {"c", x[1]}, {"i", parts[0]}, {"j", parts[1]}});
}

/// Sizes of a convolution whose filter elements have places of their own, in groups of channels.
struct Deformed {
  std::int64_t groups = 1, channels = 1;  ///< of offsets; channels of one group
  Sizes filter, out;
  Extents points(std::int64_t batch) const {
    return {{"n", batch}, {"o", groups}, {"r", filter[0]}, {"s", filter[1]}, {"p", out[0]}, {"q", out[1]}};
  }
  std::string element() const { return fmt::format("({0}*o + r)*{1} + s", filter[0], filter[1]); }
};

/// J and V of all taps, masked.
void say_deformed_taps(Maker& m, const Deformed& d, const std::vector<Window>& windows) {
  const std::int64_t batch = m.shape(0)[0];
  const Sizes shape{batch, d.groups, d.filter[0], d.filter[1], d.out[0], d.out[1]};
  const Names i{"n", "o", "r", "s", "p", "q"};
  const DType wide = place_type(m.dtype(0));
  for (std::size_t a = 0; a < 2; ++a) {
    const Window& w = windows[a];
    const std::string number_of = std::to_string(a), c = "C" + number_of;
    m.temporary(c, wide, shape);
    m.say(
        fmt::format("{0} = {1}(X2[n,2*({2}) + {3},p,q]) + {1}(value({4}*{5} + {6}*{7} - {8}))", access(c, i),
                    name(wide), d.element(), a, w.stride, a == 0 ? "p" : "q", w.dilation, a == 0 ? "r" : "s", w.before),
        d.points(batch));
    say_taps(m, number_of, i, shape, w.input, "");
  }
  Extents taps = d.points(batch);
  taps["t"] = taps["u"] = 2;
  Sizes all = shape;
  all.insert(all.end(), {2, 2});
  m.temporary("J", DType::s32, all);
  m.temporary("V", wide, all);
  m.say(fmt::format("J[n,o,r,s,p,q,t,u] = J0[n,o,r,s,p,q,t] * {} + J1[n,o,r,s,p,q,u]", windows[1].input), taps);
  const std::string mask = m.has(4) ? fmt::format(" * {}(X4[n,{},p,q])", name(wide), d.element()) : "";
  m.say("V[n,o,r,s,p,q,t,u] = V0[n,o,r,s,p,q,t] * V1[n,o,r,s,p,q,u]" + mask, taps);
}

/// Each element of a filter reads the image at a place of its own, moved by an offset; then a convolution as any other.
void make_deform_conv(Maker& m) {
  const Sizes &x = m.shape(0), &w = m.shape(1), &offsets = m.shape(2);
  const Convolution c = read_convolution(m, x, w, m.kind);
  if (x.size() != 4)
    throw Refused{"a deformable convolution of " + sizes_text(x), "two spatial dimensions are possible"};
  Deformed d{m.integer("offset_group", 1), 1, {w[2], w[3]}, {}};
  if (d.groups < 1 || x[1] % d.groups != 0 || product_of(x) == 0) throw contradiction("its groups do not fit");
  d.channels = x[1] / d.groups;
  check_places(x[2] * x[3]);
  auto windows = read_windows(m, x, d.filter);
  set_outputs(m, windows);
  d.out = outputs_of(windows);
  const std::int64_t elements = d.groups * w[2] * w[3];
  if (offsets != Sizes{x[0], 2 * elements, d.out[0], d.out[1]} ||
      (m.has(4) && m.shape(4) != Sizes{x[0], elements, d.out[0], d.out[1]}) || (m.has(3) && m.shape(3) != Sizes{w[0]}))
    throw contradiction("offsets of " + sizes_text(offsets) + " do not fit " + sizes_text(x));
  say_deformed_taps(m, d, windows);
  const DType wide = place_type(m.dtype(0)), type = m.dtype(0);
  Extents sampled = d.points(x[0]);
  sampled["c"] = d.channels;
  sampled["t"] = sampled["u"] = 2;
  m.temporary("F", wide, {x[0], x[1], x[2] * x[3]});
  m.temporary("S", wide, {x[0], x[1], w[2], w[3], d.out[0], d.out[1]});
  m.say(fmt::format("F[n,c,f] = {}(X0[n,c,f/{},f%{}])", name(wide), x[3], x[3]),
        {{"n", x[0]}, {"c", x[1]}, {"f", x[2] * x[3]}});
  const std::string channel = fmt::format("{}*o + c", d.channels);
  m.say(fmt::format("S[n,{0},r,s,p,q] += F[n,{0},at(J[n,o,r,s,p,q,t,u])] * V[n,o,r,s,p,q,t,u]", channel), sampled);
  const Sizes shape{x[0], w[0], d.out[0], d.out[1]};
  m.temporary("T", wide, shape);
  m.result("Y", 0, type, shape);
  m.say(fmt::format("T[n,{0}*g + k,p,q] += S[n,{1}*g + c,r,s,p,q] * {2}(X1[{0}*g + k,c,r,s])", c.out_channels,
                    c.in_channels, name(wide)),
        {{"n", x[0]},
         {"g", c.groups},
         {"k", c.out_channels},
         {"c", c.in_channels},
         {"r", w[2]},
         {"s", w[3]},
         {"p", d.out[0]},
         {"q", d.out[1]}});
  const std::string bias = m.has(3) ? fmt::format(" + {}(X3[k])", name(wide)) : "";
  m.say(fmt::format("Y[n,k,p,q] = {}(T[n,k,p,q]{})", name(type), bias),
        {{"n", x[0]}, {"k", w[0]}, {"p", d.out[0]}, {"q", d.out[1]}});
}

/// Sizes that a pool had before it: (x - 1) * stride + kernel - pads.
Sizes unpooled_sizes(const Maker& m) {
  const Sizes& x = m.shape(0);
  const Sizes kernel = m.integers("kernel_shape");
  if (x.size() < 3 || kernel.size() + 2 != x.size() || m.shape(1) != x)
    throw contradiction("positions of " + sizes_text(m.shape(1)) + " do not fit " + sizes_text(x));
  const auto strides = window_attribute(m, "strides", kernel.size(), 1, 1);
  const auto pads = window_attribute(m, "pads", 2 * kernel.size(), 0, 0);
  Sizes sizes;
  for (std::size_t d = 0; d < kernel.size(); ++d) {
    if (x[2 + d] < 1 || x[2 + d] > max_extent || strides[d] > max_extent || kernel[d] > max_extent)
      throw contradiction("its sizes have no meaning");
    sizes.push_back((x[2 + d] - 1) * strides[d] + kernel[d] - pads[d] - pads[kernel.size() + d]);
    if (sizes.back() < 1 || sizes.back() > max_extent) throw contradiction("its sizes have no meaning");
  }
  return sizes;
}

/// Each element goes where MaxPool found it: a position counts through the whole pooled tensor, and lies in the plane
/// of its own channel. Others are 0; of two for one place the last one counts.
void make_max_unpool(Maker& m) {
  const Sizes& x = m.shape(0);
  const Sizes sizes = unpooled_sizes(m);
  const std::int64_t in = product_of(x, 2), out = product_of(sizes);
  Sizes whole{x[0], x[1]}, flat{x[0], x[1], in};
  whole.insert(whole.end(), sizes.begin(), sizes.end());
  const Names i = iterators(sizes.size(), "ijk"), digits = digits_of("u", Sizes(x.begin() + 2, x.end()), sizes.size());
  std::string place = "0";
  Names to{"n", "c"}, from{"n", "c"};
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    place = fmt::format("({})*{} + {}", place, sizes[d], i[d]);
    to.push_back(i[d]);
    from.push_back(digits[d]);
  }
  const Extents points = extents_of(to, whole);
  Extents compared = points;
  compared["u"] = in;
  m.temporary("G", m.dtype(0), flat);
  m.temporary("L", DType::s32, whole);
  m.say("G[n,c,u] = " + access("X0", from), {{"n", x[0]}, {"c", x[1]}, {"u", in}});
  m.say(last_update(access("L", to),
                    fmt::format("s64({}) == s64(value(({}*n + c)*{} + {}))", access("X1", from), x[1], out, place)),
        compared);
  const std::string value = fmt::format("select({0} < 0, 0, G[n,c,at({0})])", access("L", to));
  if (!m.has(2)) {
    m.result("Y", 0, m.dtype(0), whole);
    return m.say(access("Y", to) + " = " + value, points);
  }
  const Sizes shape = m.integers(2, "the output's shape");
  if (shape.size() != whole.size() || shape[0] != x[0] || shape[1] != x[1]) throw contradiction("its output's shape");
  for (std::size_t d = 2; d < shape.size(); ++d)
    if (shape[d] < whole[d] || shape[d] > max_extent) throw contradiction("its output's shape has no meaning");
  m.temporary("W", m.dtype(0), whole);
  m.padded("P", "W", 0);
  m.result("Y", 0, m.dtype(0), shape);
  m.say(access("W", to) + " = " + value, points);
  m.say(access("Y", to) + " = " + access("P", to), extents_of(to, shape));
}

}  // namespace

const Makers& region_makers() {
  static const Makers all = {
      {"RoiAlign", &make_roi_align}, {"DeformConv", &make_deform_conv}, {"MaxUnpool", &make_max_unpool}};
  return all;
}

}  // namespace isamap::importing

// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/windows.h"

#include <fmt/format.h>

#include "support/arithmetic.h"

namespace isamap::importing {
namespace {

constexpr std::int64_t largest = std::int64_t{1} << 30;  ///< of any size of a window: products stay in 64 bits

std::string times(std::int64_t factor, const std::string& name) {
  return factor == 1 ? name : std::to_string(factor) + "*" + name;
}

/// auto_pad: the output has ceil(input / stride) elements; an odd one is padded at the end (upper) or the front.
void pad_same(Window& w, bool upper) {
  w.output = ceil_div(w.input, w.stride);
  const std::int64_t total = std::max<std::int64_t>((w.output - 1) * w.stride + w.span() - w.input, 0);
  w.before = upper ? total / 2 : total - total / 2;
  w.after = total - w.before;
}

}  // namespace

std::string Window::read_index() const {
  std::string text = times(stride, out_name);
  if (filter > 1) text += " + " + times(dilation, filter_name);
  if (before > 0) text += " - " + std::to_string(before);
  return text;
}

std::vector<std::int64_t> window_attribute(const Maker& m, const std::string& name, std::size_t count,
                                           std::int64_t otherwise, std::int64_t least) {
  std::vector<std::int64_t> values = m.integers(name, {});
  if (values.empty()) values.assign(count, otherwise);
  if (values.size() != count)
    throw contradiction(fmt::format("attribute {} has {} numbers, {} are needed", name, values.size(), count), "");
  for (const std::int64_t value : values)
    if (value < least || value > largest)
      throw contradiction(fmt::format("attribute {} holds {}; {} to {} is possible", name, value, least, largest), "");
  return values;
}

std::vector<Window> read_windows(const Maker& m, const Sizes& input, const Sizes& filter) {
  const std::size_t count = filter.size();
  const auto strides = window_attribute(m, "strides", count, 1, 1);
  const auto dilations = window_attribute(m, "dilations", count, 1, 1);
  const auto pads = window_attribute(m, "pads", 2 * count, 0, 0);
  static const Names out_two = {"p", "q"}, filter_two = {"r", "s"}, out_three = {"o", "p", "q"},
                     filter_three = {"t", "r", "s"};
  std::vector<Window> windows;
  for (std::size_t d = 0; d < count; ++d) {
    const std::int64_t size = input[input.size() - count + d];
    if (size > largest || filter[d] > largest || filter[d] < 1)
      throw contradiction("a window of " + sizes_text(filter) + " on " + sizes_text(input) + " is out of range", "");
    Window w{size, 0, filter[d], strides[d], dilations[d], pads[d], pads[count + d], "", ""};
    w.out_name = count <= 2 ? out_two[d] : count == 3 ? out_three[d] : "p" + std::to_string(d);
    w.filter_name = count <= 2 ? filter_two[d] : count == 3 ? filter_three[d] : "r" + std::to_string(d);
    windows.push_back(w);
  }
  return windows;
}

void set_outputs(const Maker& m, std::vector<Window>& windows) {
  const std::string mode = m.text("auto_pad", "NOTSET");
  if (mode != "NOTSET" && mode != "VALID" && mode != "SAME_UPPER" && mode != "SAME_LOWER")
    throw contradiction("auto_pad is '" + mode.substr(0, 32) + "'", "NOTSET, VALID, SAME_UPPER or SAME_LOWER");
  const bool ceil_mode = m.integer("ceil_mode", 0) != 0;
  for (Window& w : windows) {
    if (mode.starts_with("SAME")) {
      pad_same(w, mode == "SAME_UPPER");
      continue;
    }
    if (mode == "VALID") w.before = w.after = 0;
    const std::int64_t padded = w.input + w.before + w.after;
    // Rounded up, a window that begins inside counts, however far it reaches beyond the end: one, or none.
    if (padded < w.span() - (ceil_mode ? 2 * w.stride - 1 : 0))
      throw contradiction(fmt::format("the filter spans {} elements, the padded input has {}", w.span(), padded), "");
    w.output = (ceil_mode ? ceil_div(padded - w.span(), w.stride) : (padded - w.span()) / w.stride) + 1;
    // The last window starts inside the input or the padding before it.
    if (ceil_mode && (w.output - 1) * w.stride >= w.input + w.before) --w.output;
  }
}

Sizes outputs_of(const std::vector<Window>& windows) {
  Sizes sizes;
  for (const Window& w : windows) sizes.push_back(w.output);
  return sizes;
}

Convolution read_convolution(const Maker& m, const Sizes& input, const Sizes& filter, std::string& kind) {
  if (input.size() != filter.size() || input.size() < 3)
    throw contradiction("a convolution of " + sizes_text(input) + " with the filter " + sizes_text(filter), "");
  const std::int64_t groups = m.integer("group", 1);
  if (groups < 1 || input[1] % groups != 0 || input[1] / groups != filter[1] || filter[0] % groups != 0)
    throw contradiction(fmt::format("the input has {} channels; {} groups of filters {} do not fit", input[1], groups,
                                    sizes_text(filter)),
                        "");
  Convolution c;
  c.groups = groups;
  c.in_channels = filter[1];
  c.out_channels = filter[0] / groups;
  c.batch = input[0];
  kind = groups == 1          ? fmt::format("conv{}d", input.size() - 2)
         : c.in_channels == 1 ? "depthwise"
                              : fmt::format("grouped_conv{}d", input.size() - 2);
  return c;
}

std::string Convolution::channel() const {
  if (groups == 1) return "k";
  if (in_channels == 1) return out_channels == 1 ? "c" : fmt::format("{}*c + k", out_channels);
  return fmt::format("{}*g + k", out_channels);
}

Extents Convolution::channel_extents() const {
  Extents extents;
  if (groups > 1) extents[in_channels == 1 ? "c" : "g"] = groups;
  if (groups == 1 || in_channels > 1 || out_channels > 1) extents["k"] = out_channels;
  return extents;
}

void say_convolution(Maker& m, const Convolution& c, const std::vector<Window>& windows) {
  const bool depthwise = c.groups > 1 && c.in_channels == 1;
  Names in{"n", c.groups == 1 || depthwise ? "c" : fmt::format("{}*g + c", c.in_channels)}, out{"n", c.channel()};
  Names filter{c.channel(), depthwise ? "0" : "c"};
  Extents extents = c.channel_extents();
  extents["n"] = c.batch;
  if (!depthwise) extents["c"] = c.in_channels;
  for (const Window& w : windows) {
    in.push_back(w.read_index());
    out.push_back(w.out_name);
    extents[w.out_name] = w.output;
    filter.push_back(w.filter == 1 ? "0" : w.filter_name);
    if (w.filter > 1) extents[w.filter_name] = w.filter;
  }
  std::string term = c.term;
  term.replace(term.find("{x}"), 3, access(c.in, in));
  term.replace(term.find("{w}"), 3, access(c.filter, filter));
  m.say(access(c.out, out) + " += " + term, extents);
}

namespace {

bool any_outside(const std::vector<Window>& windows) {
  bool any = false;
  for (const Window& w : windows) any = any || w.reads_outside();
  return any;
}

Sizes with_channels(std::int64_t batch, std::int64_t channels, const Sizes& spatial) {
  Sizes shape{batch, channels};
  shape.insert(shape.end(), spatial.begin(), spatial.end());
  return shape;
}

/// out = sum + bias[channel], narrowed to the type of out. The channels have the iterators of the sum.
void say_bias(Maker& m, const Convolution& c, const std::vector<Window>& windows, std::size_t bias) {
  Names index{"n", c.channel()};
  Extents extents = c.channel_extents();
  extents["n"] = c.batch;
  for (const Window& w : windows) {
    index.push_back(w.out_name);
    extents[w.out_name] = w.output;
  }
  const DType from = m.dtype_of("T"), to = m.dtype_of("Y");
  std::string text = access("T", index);
  if (m.has(bias)) {
    if (m.shape(bias) != Sizes{m.shape_of("Y")[1]}) throw contradiction("the bias does not fit the channels", "");
    text += (from == m.dtype(bias) ? " + X" : " + f32(X") + std::to_string(bias) + "[" + c.channel() + "]" +
            (from == m.dtype(bias) ? "" : ")");
  }
  m.kind = "bias";
  m.say(access("Y", index) + " = " + (from == to ? text : std::string(name(to)) + "(" + text + ")"), extents);
}

DType product_type(DType type) { return is_float(type) && bits(type) < 32 ? DType::f32 : type; }

void make_conv(Maker& m) {
  const Sizes &x = m.shape(0), &w = m.shape(1);
  Convolution c = read_convolution(m, x, w, m.kind);
  const Sizes filter(w.begin() + 2, w.end());
  if (const Sizes stated = m.integers("kernel_shape", filter); stated != filter)
    throw contradiction("kernel_shape is " + sizes_text(stated) + " but the filter has " + sizes_text(filter), "");
  auto windows = read_windows(m, x, filter);
  set_outputs(m, windows);
  const DType type = m.dtype(0), sum = product_type(type);
  const bool direct = sum == type && !m.has(2);
  const Sizes shape = with_channels(x[0], w[0], outputs_of(windows));
  m.result("Y", 0, type, shape);
  if (!direct) m.temporary("T", sum, shape);
  c.in = any_outside(windows) ? "P" : "X0";
  if (any_outside(windows)) m.padded("P", "X0", 0);
  c.filter = "X1";
  c.out = direct ? "Y" : "T";
  c.term = sum == type ? "{x} * {w}" : "f32({x}) * f32({w})";
  say_convolution(m, c, windows);
  if (!direct) say_bias(m, c, windows, 2);
}

/// The taps of a transposed window that reach output positions stride*u + phase: filter step*t + first meets input
/// u + shift - back*t.
struct Taps {
  std::int64_t phase = 0, outputs = 0, count = 0, step = 1, first = 0, shift = 0, back = 1;
};

std::vector<Taps> phases_of(const Window& w) {
  std::vector<Taps> phases;
  for (std::int64_t phase = 0; phase < std::min(w.stride, w.output); ++phase) {
    Taps taps{phase, (w.output - phase + w.stride - 1) / w.stride};
    std::vector<std::int64_t> hits;
    for (std::int64_t r = 0; r < w.filter; ++r)
      if ((phase + w.before - w.dilation * r) % w.stride == 0) hits.push_back(r);
    taps.count = static_cast<std::int64_t>(hits.size());
    if (!hits.empty()) {
      taps.first = hits[0];
      taps.step = hits.size() > 1 ? hits[1] - hits[0] : 1;
      taps.shift = (phase + w.before - w.dilation * hits[0]) / w.stride;
      taps.back = w.dilation * taps.step / w.stride;
    }
    phases.push_back(taps);
  }
  return phases;
}

/// The outputs of one phase of each dimension; those that no tap of the window reaches are 0.
void say_phase(Maker& m, const Convolution& c, const std::vector<Window>& windows, const std::vector<Taps>& taps) {
  Names in{"n", c.groups == 1 ? "c" : fmt::format("{}*g + c", c.in_channels)}, out{"n"};
  Names filter{in[1], "k"};
  out.push_back(c.groups == 1 ? "k" : fmt::format("{}*g + k", c.out_channels));
  Extents extents{{"n", c.batch}, {"k", c.out_channels}};
  if (c.groups > 1) extents["g"] = c.groups;
  bool reached = true;
  for (std::size_t d = 0; d < windows.size(); ++d) {
    const Window& w = windows[d];
    const Taps& t = taps[d];
    reached = reached && t.count > 0;
    extents[w.out_name] = t.outputs;
    out.push_back(fmt::format("{}*{} + {}", w.stride, w.out_name, t.phase));
    if (!reached) continue;
    if (t.count > 1) {
      extents[w.filter_name] = t.count;
      filter.push_back(fmt::format("{}*{} + {}", t.step, w.filter_name, t.first));
      in.push_back(fmt::format("{} - {}*{} + {}", w.out_name, t.back, w.filter_name, t.shift));
    } else {
      filter.push_back(std::to_string(t.first));
      in.push_back(fmt::format("{} + {}", w.out_name, t.shift));
    }
  }
  if (!reached) return m.say(access(c.out, out) + " = 0", extents);
  extents["c"] = c.in_channels;
  m.say(fmt::format("{} += {} * {}", access(c.out, out), access(c.in, in), access(c.filter, filter)), extents);
}

// Phases of as many taps each are channels of one convolution without a stride: output o is phase (o + before) % stride
// at place (o + before) / stride, which taps stride*t + phase of the filter reach from the inputs place - t.

/// Of a dimension: each of them has an output of every phase, or pads.
std::int64_t places_of(const Window& w) { return (w.output - 1 + w.before % w.stride) / w.stride + 1; }

/// That does not depend on sizes of the input, as long as pads do not.
bool are_alike(const std::vector<Window>& windows) {
  const auto fits = [](const Window& w) { return w.stride == 1 || (w.dilation == 1 && w.filter % w.stride == 0); };
  return std::all_of(windows.begin(), windows.end(), fits) &&
         std::any_of(windows.begin(), windows.end(), [](const Window& w) { return w.stride > 1; });
}

/// T0: [batch, channels, phases.., places..], then the outputs from it.
void say_phases_together(Maker& m, const Convolution& c, const std::vector<Window>& windows) {
  Names in{"n", c.groups == 1 ? "c" : fmt::format("{}*g + c", c.in_channels)}, filter{in[1], "k"};
  Names places{"n", c.groups == 1 ? "k" : fmt::format("{}*g + k", c.out_channels)}, to{"n", "k"}, from{"n", "k"};
  const std::int64_t channels = c.groups * c.out_channels;
  Sizes shape{c.batch, channels};
  Extents extents{{"n", c.batch}, {"k", c.out_channels}, {"c", c.in_channels}},
      outputs{{"n", c.batch}, {"k", channels}};
  if (c.groups > 1) extents["g"] = c.groups;
  for (std::size_t d = 0; d < windows.size(); ++d) {
    const Window& w = windows[d];
    if (w.stride == 1) continue;
    const std::string phase = fmt::format("a{}", d);
    places.push_back(phase);
    shape.push_back(w.stride);
    extents[phase] = w.stride;
    from.push_back(fmt::format("({} + {})%{}", w.out_name, w.before % w.stride, w.stride));
  }
  for (std::size_t d = 0; d < windows.size(); ++d) {
    const Window& w = windows[d];
    places.push_back(w.out_name);
    shape.push_back(places_of(w));
    extents[w.out_name] = places_of(w), extents[w.filter_name] = w.filter / w.stride;
    in.push_back(fmt::format("{} + {} - {}*{}", w.out_name, w.before / w.stride, w.dilation, w.filter_name));
    filter.push_back(w.stride == 1 ? w.filter_name : fmt::format("{}*{} + a{}", w.stride, w.filter_name, d));
    to.push_back(w.out_name);
    outputs[w.out_name] = w.output;
    from.push_back(w.stride == 1 ? w.out_name : fmt::format("({} + {})/{}", w.out_name, w.before % w.stride, w.stride));
  }
  m.temporary("T0", m.dtype_of(c.out), shape);
  m.say(fmt::format("{} += {} * {}", access("T0", places), access(c.in, in), access(c.filter, filter)), extents);
  m.say(access(c.out, to) + " = " + access("T0", from), outputs);
}

/// Sizes of the output, and pads from them where they are stated instead.
void set_transposed_outputs(const Maker& m, std::vector<Window>& windows) {
  const std::size_t count = windows.size();
  const auto extra = window_attribute(m, "output_padding", count, 0, 0);
  Sizes stated = m.integers("output_shape", {});
  if (stated.size() == count + 2) stated.erase(stated.begin(), stated.begin() + 2);
  const std::string mode = m.text("auto_pad", "NOTSET");
  for (std::size_t d = 0; d < count; ++d) {
    Window& w = windows[d];
    const std::int64_t full = w.stride * (w.input - 1) + extra[d] + w.span();
    if (stated.empty() && !mode.starts_with("SAME")) {
      if (mode == "VALID") w.before = w.after = 0;
      w.output = full - w.before - w.after;
    } else {
      w.output = stated.empty() ? w.input * w.stride : stated.at(std::min(d, stated.size() - 1));
      const std::int64_t total = std::max<std::int64_t>(full - w.output, 0);
      w.before = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
      w.after = total - w.before;
    }
    if (w.output < 1) throw Refused{"the transposed window has no output", ""};
  }
}

/// Each output phase gathers from the input, so nothing is multiplied by inserted zeros.
void make_conv_transpose(Maker& m) {
  const Sizes &x = m.shape(0), &w = m.shape(1);
  const std::int64_t groups = m.integer("group", 1);
  if (x.size() != w.size() || x.size() < 3 || groups < 1 || x[1] != w[0] || w[0] % groups != 0)
    throw Refused{"a transposed convolution of " + sizes_text(x) + " with the filter " + sizes_text(w), ""};
  auto windows = read_windows(m, x, Sizes(w.begin() + 2, w.end()));
  set_transposed_outputs(m, windows);
  m.kind = fmt::format("conv_transpose{}d", x.size() - 2);
  const DType type = m.dtype(0);
  const Sizes shape = with_channels(x[0], w[1] * groups, outputs_of(windows));
  m.result("Y", 0, type, shape);
  if (m.has(2)) m.temporary("T", type, shape);
  m.padded("P", "X0", 0);
  Convolution c{"P", "X1", m.has(2) ? "T" : "Y", "", groups, x[1] / groups, w[1], x[0]};
  if (!m.of_all_sizes() && are_alike(windows)) {
    say_phases_together(m, c, windows);
    if (m.has(2)) say_bias(m, c, windows, 2);
    return;
  }
  std::vector<std::vector<Taps>> phases;
  std::int64_t count = 1;
  for (const Window& window : windows) {
    if (window.stride > 64) throw Refused{fmt::format("a stride of {} has as many statements", window.stride), ""};
    phases.push_back(phases_of(window));
    count *= static_cast<std::int64_t>(phases.back().size());
  }
  if (count > 4096) throw Refused{fmt::format("its strides have {} phases", count), ""};
  for (std::int64_t number = 0; number < count; ++number) {
    std::vector<Taps> taps;
    std::int64_t rest = number;
    for (const auto& of_dim : phases) {
      taps.push_back(of_dim[static_cast<std::size_t>(rest) % of_dim.size()]);
      rest /= static_cast<std::int64_t>(of_dim.size());
    }
    say_phase(m, c, windows, taps);
  }
  if (m.has(2)) say_bias(m, c, windows, 2);
}

/// The window's iterators, and the index of the input under it.
struct Pool {
  std::vector<Window> windows;
  Sizes shape;
  std::string out, in;
  Extents outer, all;
};

Pool read_pool(const Maker& m, bool global) {
  const Sizes& x = m.shape(0);
  if (x.size() < 3) throw Refused{"a pool over " + sizes_text(x), ""};
  Pool pool;
  const Sizes spatial(x.begin() + 2, x.end());
  pool.windows = read_windows(m, x, global ? spatial : m.integers("kernel_shape", {}));
  if (pool.windows.size() != spatial.size()) throw contradiction("kernel_shape does not fit " + sizes_text(x), "");
  set_outputs(m, pool.windows);
  pool.shape = with_channels(x[0], x[1], outputs_of(pool.windows));
  Names in{"n", "c"}, out{"n", "c"};
  pool.outer = {{"n", x[0]}, {"c", x[1]}};
  for (const Window& w : pool.windows) {
    out.push_back(global ? "0" : w.out_name);
    if (!global) pool.outer[w.out_name] = w.output;
  }
  pool.all = pool.outer;
  for (const Window& w : pool.windows) {
    in.push_back(global ? w.filter_name : w.read_index());
    if (w.filter > 1 || global) pool.all[w.filter_name] = w.filter;
  }
  pool.out = joined(out);
  pool.in = joined(in);
  return pool;
}

double lowest(DType type) {
  return is_float(type) ? -std::numeric_limits<double>::infinity() : static_cast<double>(integer_min(type));
}

/// ` or value(2*p + r - 1) < 0 or ..`: is the element of a window outside the input? Padding may equal the largest
/// element.
std::string outside_text(const std::vector<Window>& windows) {
  std::string text;
  for (const Window& w : windows) {
    if (w.before > 0) text += fmt::format(" or value({}) < 0", w.read_index());
    if ((w.output - 1) * w.stride + w.span() - 1 - w.before >= w.input)
      text += fmt::format(" or value({}) >= {}", w.read_index(), w.input);
  }
  return text;
}

/// Output 1: the flat position in the input of each largest element, the first of equal ones. A window of padding alone
/// has the last position.
void say_pool_positions(Maker& m, const Pool& pool, const std::string& x) {
  const Sizes& shape = m.shape(0);
  if (product_of(shape) > (std::int64_t{1} << 30)) throw Refused{"positions in " + sizes_text(shape), ""};
  std::string place;
  const std::size_t count = pool.windows.size();
  const bool columns = m.integer("storage_order", 0) != 0;  // the last dimension is the slowest
  for (std::size_t n = 0; n < count; ++n) {
    const std::size_t d = columns ? count - 1 - n : n;
    const std::string at = "(" + pool.windows[d].read_index() + ")";
    place = place.empty() ? at : fmt::format("({})*{} + {}", place, shape[2 + d], at);
  }
  const std::int64_t plane = product_of(shape, 2);
  m.temporary("I", DType::s32, pool.shape);
  m.result("N", 1, DType::s64, pool.shape);
  const std::string bound = say_bounds(m, "Y", pool.out, pool.outer, true);
  m.say(fmt::format("I[{}] min= select({} < {}{}, {}, value({}*n + {}*c + {}))", pool.out, x, bound,
                    outside_text(pool.windows), product_of(shape) - 1, plane * shape[1], plane, place),
        pool.all);
  m.say(fmt::format("N[{0}] = s64(I[{0}])", pool.out), pool.outer);
}

void make_max_pool(Maker& m) {
  const bool global = m.node.op == "GlobalMaxPool";
  const Pool pool = read_pool(m, global);
  const bool outside = !global && any_outside(pool.windows);
  if (outside) m.padded("P", "X0", lowest(m.dtype(0)));
  m.result("Y", 0, m.dtype(0), pool.shape);
  const std::string x = fmt::format("{}[{}]", outside ? "P" : "X0", pool.in);
  m.say(fmt::format("Y[{}] max= {}", pool.out, x), pool.all);
  if (m.wants(1)) say_pool_positions(m, pool, x);
}

/// How many elements the window has at each output position: those inside the input, or inside the padded one.
std::vector<std::int64_t> window_counts(const Window& w, bool with_pads) {
  std::vector<std::int64_t> counts;
  for (std::int64_t p = 0; p < w.output; ++p) {
    std::int64_t count = 0;
    for (std::int64_t r = 0; r < w.filter; ++r) {
      const std::int64_t at = p * w.stride + r * w.dilation - w.before;
      const bool inside = with_pads ? at >= -w.before && at < w.input + w.after : at >= 0 && at < w.input;
      count += inside ? 1 : 0;
    }
    counts.push_back(count);
  }
  return counts;
}

/// " / 9", or a factor of each dimension whose windows differ in size.
std::string divisor_text(Maker& m, const Pool& pool, bool with_pads) {
  std::int64_t common = 1;
  std::string text;
  for (std::size_t d = 0; d < pool.windows.size(); ++d) {
    const Window& w = pool.windows[d];
    if (w.output > (1 << 20) || w.filter > (1 << 12))
      throw Refused{"windows of different sizes in a dimension of " + std::to_string(w.output), ""};
    const auto counts = window_counts(w, with_pads);
    if (std::adjacent_find(counts.begin(), counts.end(), std::not_equal_to<>()) == counts.end()) {
      common *= std::max<std::int64_t>(counts.empty() ? 1 : counts.front(), 1);
      continue;
    }
    TensorData data = zeros(m.dtype(0), {w.output});
    for (std::size_t p = 0; p < counts.size(); ++p)
      data.set(static_cast<std::int64_t>(p), {static_cast<double>(std::max<std::int64_t>(counts[p], 1)), 0});
    const std::string name = "N" + std::to_string(d);
    m.constant(name, std::move(data));
    text += fmt::format(" / {}[{}]", name, w.out_name);
  }
  return (common > 1 ? fmt::format(" / {}", common) : "") + text;
}

void make_average_pool(Maker& m) {
  const bool global = m.node.op == "GlobalAveragePool";
  const Pool pool = read_pool(m, global);
  const bool outside = !global && any_outside(pool.windows);
  if (outside) m.padded("P", "X0", 0);
  const DType type = m.dtype(0), sum = product_type(type);
  m.temporary("T", sum, pool.shape);
  m.result("Y", 0, type, pool.shape);
  const std::string x = fmt::format("{}[{}]", outside ? "P" : "X0", pool.in);
  m.say(fmt::format("T[{}] += {}", pool.out, sum == type ? x : "f32(" + x + ")"), pool.all);
  const std::string mean =
      fmt::format("T[{}]{}", pool.out,
                  global ? fmt::format(" / {}", std::max<std::int64_t>(product_of(m.shape(0), 2), 1))
                         : divisor_text(m, pool, m.integer("count_include_pad", 0) != 0));
  m.say(fmt::format("Y[{}] = {}", pool.out, sum == type ? mean : std::string(name(type)) + "(" + mean + ")"),
        pool.outer);
}

/// (sum of |x|^p)^(1/p)
void make_lp_pool(Maker& m) {
  const bool global = m.node.op == "GlobalLpPool";
  const std::int64_t p = m.integer("p", 2);
  const Pool pool = read_pool(m, global);
  const bool outside = !global && any_outside(pool.windows);
  if (outside) m.padded("P", "X0", 0);
  const std::string x = fmt::format("{}[{}]", outside ? "P" : "X0", pool.in);
  m.temporary("T", m.dtype(0), pool.shape);
  m.result("Y", 0, m.dtype(0), pool.shape);
  std::string power = "abs(" + x + ")";
  if (p < 1 || p > 16) throw Refused{fmt::format("a norm with p = {}", p), ""};
  for (std::int64_t k = 1; k < p; ++k) power += " * abs(" + x + ")";
  m.say(fmt::format("T[{}] += {}", pool.out, power), pool.all);
  const std::string t = "T[" + pool.out + "]";
  const std::string root = p == 1   ? t
                           : p == 2 ? "sqrt(" + t + ")"
                                    : fmt::format("select({0}, exp(log({0}) / {1}), 0)", t, p);
  m.say(fmt::format("Y[{}] = {}", pool.out, root), pool.outer);
}

}  // namespace

const Makers& window_makers() {
  static const Makers all = {{"Conv", &make_conv},
                             {"ConvTranspose", &make_conv_transpose},
                             {"MaxPool", &make_max_pool},
                             {"GlobalMaxPool", &make_max_pool},
                             {"AveragePool", &make_average_pool},
                             {"GlobalAveragePool", &make_average_pool},
                             {"LpPool", &make_lp_pool},
                             {"GlobalLpPool", &make_lp_pool}};
  return all;
}

}  // namespace isamap::importing

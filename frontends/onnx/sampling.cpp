// SPDX-License-Identifier: Apache-2.0
// Operators that read, or add up, at places that other values or formulas give: samples of an image on a grid, Fourier
// transforms, sums of overlapping blocks, updates of elements.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "frontends/onnx/maker.h"
#include "frontends/onnx/positions.h"
#include "frontends/onnx/updates.h"

namespace isamap::importing {
namespace {

constexpr double pi = 3.14159265358979323846;
constexpr std::int64_t max_size = 1 << 20;  ///< of one dimension: products of three fit

void check_sizes(const Sizes& sizes, std::int64_t least) {
  for (const std::int64_t size : sizes)
    if (size < least || size > max_size) throw contradiction(fmt::format("a size of {} has no meaning", size));
}

// GridSample: each element is a sum over the taps around a place, Y[n,c,p] += F[n,c,at(J[n,p,t])] * V[n,p,t], where F
// is the image as one dimension.

/// How a grid is read: taps along each dimension, and what lies beyond the image.
struct Sampling {
  std::string mode, padding;
  bool corners = false;
  int taps = 1;  ///< along one dimension
};

std::string folded(const Sampling& how, const std::string& x, std::int64_t size) {
  const double low = how.corners ? 0 : -0.5, high = static_cast<double>(size) - (how.corners ? 1 : 0.5);
  if (how.padding == "border") {
    const std::string clamped = fmt::format("min(max({}, 0), {})", x, size - 1);
    if (how.taps != 4) return clamped;  // taps of the others are the border's anyhow
    return fmt::format("select({0} < {1} or {0} > {2}, {3}, {0})", x, number(low), number(high), clamped);
  }
  if (how.padding != "reflection") return x;
  if (high <= low) return "(" + x + ") * 0";
  const double range = high - low;
  return fmt::format("{0} - abs(mod(abs({1} - {2}), {3}) - {0}) {4} {5}", number(range), x,
                     low < 0 ? "(" + number(low) + ")" : number(low), number(2 * range), low < 0 ? "-" : "+",
                     number(std::fabs(low)));
}

/// The weight of tap t at the distance d from the first one's element.
std::string tap_weight(const Sampling& how, int t, const std::string& d) {
  if (how.taps == 1) return "1";
  if (how.taps == 2) return t == 0 ? "1 - " + d : d;
  const std::string x = t < 2 ? d : "(1 - " + d + ")";  // the same on both sides
  if (t == 1 || t == 2) return fmt::format("(1.25 * {0} - 2.25) * {0} * {0} + 1", x);
  return fmt::format("((-0.75 * ({0} + 1) + 3.75) * ({0} + 1) - 6) * ({0} + 1) + 3", x);
}

/// C[n,p,a]: the place along dimension a, folded into the image where it is; B: its first element, in front of it.
void say_places(Maker& m, const Sampling& how, const Names& p, std::size_t rank) {
  const Sizes &x = m.shape(0), &grid = m.shape(1);
  Sizes shape = grid;
  m.temporary("C", DType::f32, shape);
  m.temporary("B", DType::f32, shape);
  shape.pop_back();
  for (std::size_t a = 0; a < rank; ++a) {
    const std::int64_t size = x[2 + a];
    Names from = p;
    from.push_back(std::to_string(rank - 1 - a));  // the grid has the last dimension first
    const std::string g = fmt::format("f32({})", access("X1", from));
    const std::string place =
        how.corners ? fmt::format("({} + 1) / 2 * {}", g, size - 1) : fmt::format("(({} + 1) * {} - 1) / 2", g, size);
    from.back() = std::to_string(a);
    m.say(access("C", from) + " = " + folded(how, how.taps == 1 ? "round(" + place + ")" : "(" + place + ")", size),
          extents_of(p, shape));
    m.say(access("B", from) + " = " + (how.taps == 1 ? "round(" : "floor(") + access("C", from) + ")",
          extents_of(p, shape));
  }
}

void say_tap(Maker& m, const Sampling& how, const Names& p, std::size_t rank, int tap) {
  const Sizes& x = m.shape(0);
  Sizes shape = m.shape(1);
  shape.pop_back();
  std::string place = "0", weight = "1", inside;
  int rest = tap;
  for (std::size_t a = rank; a-- > 0; rest /= how.taps) {
    const int t = rest % how.taps, first = how.taps == 4 ? -1 : 0;
    Names at = p;
    at.push_back(std::to_string(a));
    const std::string base = access("B", at), element = fmt::format("({} + {})", base, t + first);
    const std::string d = fmt::format("({} - {})", access("C", at), base);
    weight += " * (" + tap_weight(how, t, d) + ")";
    if (how.padding == "zeros")
      inside += fmt::format("{0}{1} >= 0 and {1} <= {2}", inside.empty() ? "" : " and ", element, x[2 + a] - 1);
    const std::string clamped = fmt::format(
        "min(max({}, 0), {})", how.padding == "reflection" ? "floor(" + folded(how, element, x[2 + a]) + ")" : element,
        x[2 + a] - 1);
    place += fmt::format(" + s32({}) * {}", clamped, product_of(x, 3 + a));
  }
  Names to = p;
  to.push_back(std::to_string(tap));
  m.say(access("J", to) + " = " + place, extents_of(p, shape));
  m.say(access("V", to) + " = " + (inside.empty() ? weight : fmt::format("select({}, {}, 0)", inside, weight)),
        extents_of(p, shape));
}

void make_grid_sample(Maker& m) {
  const Sizes &x = m.shape(0), &grid = m.shape(1);
  if (x.size() < 3 || grid.size() != x.size() || grid[0] != x[0] ||
      grid.back() != static_cast<std::int64_t>(x.size()) - 2 || product_of(x) == 0)
    throw contradiction("a grid of " + sizes_text(grid) + " does not fit " + sizes_text(x));
  const std::size_t rank = x.size() - 2;
  Sampling how{m.text("mode", "linear"), m.text("padding_mode", "zeros"), m.integer("align_corners", 0) != 0};
  how.taps = how.mode == "nearest" ? 1 : how.mode == "cubic" || how.mode == "bicubic" ? 4 : 2;
  const int taps = static_cast<int>(std::lround(std::pow(how.taps, rank)));
  if (rank > 3) throw Refused{"a grid of more than three dimensions", ""};
  Sizes places(grid.begin(), grid.end() - 1), of_taps = places;
  of_taps.push_back(taps);
  const Names p = iterators(places.size(), "npqrs");
  say_places(m, how, p, rank);
  m.temporary("J", DType::s32, of_taps);
  m.temporary("V", DType::f32, of_taps);
  for (int tap = 0; tap < taps; ++tap) say_tap(m, how, p, rank, tap);
  const Sizes flat = {x[0], x[1], product_of(x, 2)};
  m.temporary("F", m.dtype(0), flat);
  Names from = {"n", "c"};
  for (std::size_t a = 0; a < rank; ++a) from.push_back(fmt::format("(f/{})%{}", product_of(x, 3 + a), x[2 + a]));
  m.say("F[n,c,f] = " + access("X0", from), extents_of({"n", "c", "f"}, flat));
  Sizes shape = x;
  std::copy(places.begin() + 1, places.end(), shape.begin() + 2);
  Names to = p, tapped = p;
  to.insert(to.begin() + 1, "c");
  tapped.push_back("t");
  m.result("Y", 0, m.dtype(0), shape);
  Extents all = extents_of(to, shape);
  all["t"] = taps;
  m.say(fmt::format("{} += F[n,c,at({})] * {}", access("Y", to), access("J", tapped),
                    m.dtype(0) == DType::f32 ? access("V", tapped)
                                             : fmt::format("{}({})", name(m.dtype(0)), access("V", tapped))),
        all);
}

/// G[n,..,a] = the sum of T[n,a,b] * (places, 1)[b]
void make_affine_grid(Maker& m) {
  const auto size = m.integers(1, "the size");
  check_sizes(size, 0);
  const std::size_t rank = size.size() - std::min<std::size_t>(size.size(), 2);
  const Sizes& theta = m.shape(0);
  const auto dims = static_cast<std::int64_t>(rank);
  if ((rank != 2 && rank != 3) || theta != Sizes{size[0], dims, dims + 1})
    throw contradiction("a transform of " + sizes_text(theta) + " does not fit the size " + sizes_text(size));
  check_positions(product_of(size, 2));
  const bool corners = m.integer("align_corners", 0) != 0;
  Sizes places(size.begin() + 2, size.end()), homogeneous = places;
  homogeneous.push_back(dims + 1);
  TensorData data = zeros(DType::f32, homogeneous);
  for (std::int64_t at = 0; at < product_of(places); ++at)
    for (std::size_t a = 0; a <= rank; ++a) {
      double value = 1;
      if (a < rank) {
        const std::size_t d = rank - 1 - a;  // the last dimension first
        const auto whole = static_cast<double>(places[d]);
        const auto i = static_cast<double>(at / product_of(places, d + 1) % places[d]);
        value = corners ? (places[d] > 1 ? -1 + 2 * i / (whole - 1) : -1) : -1 + (2 * i + 1) / whole;
      }
      data.set(at * (dims + 1) + static_cast<std::int64_t>(a), {round_to(DType::f32, value), 0});
    }
  m.constant("P", std::move(data));
  Sizes shape = {size[0]};
  shape.insert(shape.end(), places.begin(), places.end());
  shape.push_back(dims);
  const Names p = iterators(rank, "pqr");
  Names to = p, from = p;
  to.insert(to.begin(), "n");
  to.push_back("a");
  from.push_back("b");
  Extents all = extents_of(to, shape);
  all["b"] = dims + 1;
  m.result("Y", 0, m.dtype(0), shape);
  m.say(fmt::format("{} += X0[n,a,b] * {}({})", access("Y", to), name(m.dtype(0)), access("P", from)), all);
}

// DFT: a product with cosines and sines, summed in f64: most of a spectrum may be the difference of large numbers. The
// last dimension holds real and imaginary parts.

struct Transform {
  std::size_t axis = 0;
  std::int64_t input = 0, length = 0, output = 0;
  bool inverse = false, onesided = false;
};

/// What part u of a number gives to part v of its product with the root of unity `turns / length` of a turn.
double part_of_root(const Transform& t, std::int64_t turns, std::int64_t length, std::int64_t v, std::int64_t u) {
  const double angle = 2 * pi * static_cast<double>(turns % length) / static_cast<double>(length);
  const double re = std::cos(angle), im = (t.inverse ? 1 : -1) * std::sin(angle);
  const double parts[2][2] = {{re, -im}, {im, re}};
  return parts[v][u];
}

/// W[k,j,v,u]: what part u of input j gives to part v of output k. Of one-sided inputs of an inverse transform the
/// other half is the conjugate: it doubles the real part.
TensorData waves(const Transform& t, std::int64_t parts_in, std::int64_t parts_out) {
  check_positions(t.output * t.input);
  TensorData data = zeros(DType::f64, {t.output, t.input, parts_out, parts_in});
  for (std::int64_t k = 0; k < t.output; ++k)
    for (std::int64_t j = 0; j < std::min(t.input, t.length); ++j) {
      const bool half = t.inverse && t.onesided;
      if (half && j > t.length / 2) continue;
      const double doubled = half && j > 0 && 2 * j != t.length ? 2 : 1;
      const double scale = t.inverse ? doubled / static_cast<double>(t.length) : 1;
      for (std::int64_t v = 0; v < parts_out; ++v)
        for (std::int64_t u = 0; u < parts_in; ++u)
          data.set(((k * t.input + j) * parts_out + v) * parts_in + u,
                   {scale * part_of_root(t, k * j, t.length, v, u), 0});
    }
  return data;
}

// In two stages (Cooley and Tukey, "An algorithm for the machine calculation of complex Fourier series", 1965): of
// length a*b, with inputs b*s + t and outputs r + a*w,
//
//   A[r,t] = sum_s X[b*s + t] * root(r*s / a)        T[r,w] = sum_t A[r,t] * root((r + a*w)*t / (a*b))
//
// which are a + b products for each output in place of a*b.

struct Stages {
  std::int64_t a = 1, b = 1;
  std::int64_t outer = 1;  ///< values of w, of outputs that are wanted
};

/// With the factors that are most alike; nothing: one stage needs fewer than twice as many products.
std::optional<Stages> stages_of(const Transform& t, std::int64_t parts_in) {
  if (t.inverse && t.onesided) return std::nullopt;
  Stages found;
  for (std::int64_t b = 1; b * b <= t.length; ++b)
    if (t.length % b == 0) found = {t.length / b, b, 1};
  found.outer = (t.output + found.a - 1) / found.a;
  const double whole = static_cast<double>(t.output) * static_cast<double>(std::min(t.input, t.length)) *
                       static_cast<double>(2 * parts_in);
  const double first = static_cast<double>(t.length) * static_cast<double>(found.a * 2 * parts_in);
  const double second = static_cast<double>(found.a * found.outer) * static_cast<double>(found.b * 4);
  return 2 * (first + second) < whole ? std::optional(found) : std::nullopt;
}

/// The dims of a signal before and behind the transformed one, and how its elements are read.
struct Signal {
  Names before, after;
  Sizes sizes_before, sizes_after;
  std::int64_t parts = 1;                           ///< real, or real and imaginary
  std::function<std::string(std::string)> element;  ///< f64, at a position of the transform; part u
  std::string window;                               ///< input of factors by position; empty: none
  std::string output;                               ///< iterator of the transformed dim of Y
};

/// before, middle, after, last
Names joined_names(const Signal& of, const Names& middle, const std::string& last) {
  Names all = of.before;
  all.insert(all.end(), middle.begin(), middle.end());
  all.insert(all.end(), of.after.begin(), of.after.end());
  all.push_back(last);
  return all;
}
Sizes joined_sizes(const Signal& of, const Sizes& middle, std::int64_t last) {
  Sizes all = of.sizes_before;
  all.insert(all.end(), middle.begin(), middle.end());
  all.insert(all.end(), of.sizes_after.begin(), of.sizes_after.end());
  all.push_back(last);
  return all;
}

/// P[r,s,v,u] and Q[r,w,t,v,u]: the roots of both stages.
void say_roots(Maker& m, const Transform& t, const Stages& stages, std::int64_t parts) {
  TensorData p = zeros(DType::f64, {stages.a, stages.a, 2, parts});
  for (std::int64_t at = 0; at < p.count(); ++at) {
    const std::int64_t u = at % parts, v = at / parts % 2, s = at / parts / 2 % stages.a, r = at / parts / 2 / stages.a;
    p.set(at, {part_of_root(t, r * s, stages.a, v, u), 0});
  }
  m.constant("P", std::move(p));
  TensorData q = zeros(DType::f64, {stages.a, stages.outer, stages.b, 2, 2});
  const double scale = t.inverse ? 1 / static_cast<double>(t.length) : 1;
  for (std::int64_t at = 0; at < q.count(); ++at) {
    const std::int64_t u = at % 2, v = at / 2 % 2, j = at / 4 % stages.b, k = at / 4 / stages.b;
    const std::int64_t output = k / stages.outer + stages.a * (k % stages.outer);
    q.set(at, {scale * part_of_root(t, output * j, t.length, v, u), 0});
  }
  m.constant("Q", std::move(q));
}

/// Y, of shape `shape`, in two stages.
void say_in_stages(Maker& m, const Transform& t, const Stages& stages, const Signal& of, const Sizes& shape) {
  say_roots(m, t, stages, of.parts);
  Extents sizes = extents_of(joined_names(of, {}, "u"), joined_sizes(of, {}, of.parts));
  for (const auto& [name, size] : Extents{{"r", stages.a}, {"s", stages.a}, {"t", stages.b}, {"v", 2}})
    sizes[name] = size;
  const std::string at = fmt::format("{}*s + t", stages.b);
  std::string root = "P[r,s,v,u]";
  if (!of.window.empty()) {
    m.temporary("V", DType::f64, {stages.a, stages.a, stages.b, 2, of.parts});
    m.say(fmt::format("V[r,s,t,v,u] = f64({}[{}]) * P[r,s,v,u]", of.window, at),
          {{"r", stages.a}, {"s", stages.a}, {"t", stages.b}, {"v", 2}, {"u", of.parts}});
    root = "V[r,s,t,v,u]";
  }
  m.temporary("A", DType::f64, joined_sizes(of, {stages.a, stages.b}, 2));
  m.say(fmt::format("{} += {} * {}", access("A", joined_names(of, {"r", "t"}, "v")), of.element(at), root), sizes);
  m.temporary("T", DType::f64, joined_sizes(of, {stages.a, stages.outer}, 2));
  sizes.erase("s");
  sizes["u"] = 2, sizes["w"] = stages.outer;
  m.say(fmt::format("{} += {} * Q[r,w,t,v,u]", access("T", joined_names(of, {"r", "w"}, "v")),
                    access("A", joined_names(of, {"r", "t"}, "u"))),
        sizes);
  const Names to = joined_names(of, {of.output}, "v");
  const Names from =
      joined_names(of, {fmt::format("{}%{}", of.output, stages.a), fmt::format("{}/{}", of.output, stages.a)}, "v");
  m.say(fmt::format("{} = {}({})", access("Y", to), name(m.dtype(0)), access("T", from)), extents_of(to, shape));
}

void make_dft(Maker& m) {
  const Sizes& x = m.shape(0);
  if (x.size() < 2 || (x.back() != 1 && x.back() != 2))
    throw contradiction("a signal of " + sizes_text(x) + " has no real and imaginary parts");
  Transform t;
  const std::int64_t axis = m.opset < 20 ? m.integer("axis", 1) : m.has(2) ? m.integers(2, "the axis").at(0) : -2;
  t.axis = m.axis(axis, x.size());
  t.inverse = m.integer("inverse", 0) != 0;
  t.onesided = m.integer("onesided", 0) != 0;
  t.input = x[t.axis];
  const bool half = t.inverse && t.onesided;
  t.length = m.has(1) ? m.integers(1, "the length").at(0) : half ? 2 * (t.input - 1) : t.input;
  if (t.axis + 1 == x.size() || t.length < 1 || t.length > (1 << 20))
    throw contradiction("a length that has no meaning");
  t.output = t.onesided && !t.inverse ? t.length / 2 + 1 : t.length;
  Sizes shape = x;
  shape[t.axis] = t.output;
  shape.back() = half ? 1 : 2;
  m.result("Y", 0, m.dtype(0), shape);
  const Names to = iterators(x.size());
  if (const auto stages = stages_of(t, x.back())) {
    const auto axis_at = static_cast<std::ptrdiff_t>(t.axis);
    Signal of{{to.begin(), to.begin() + axis_at},
              {to.begin() + axis_at + 1, to.end() - 1},
              {x.begin(), x.begin() + axis_at},
              {x.begin() + axis_at + 1, x.end() - 1},
              x.back(),
              nullptr,
              "",
              to[t.axis]};
    m.padded("Z", "X0", 0);
    of.element = [&of](const std::string& at) { return "f64(" + access("Z", joined_names(of, {at}, "u")) + ")"; };
    return say_in_stages(m, t, *stages, of, shape);
  }
  m.constant("W", waves(t, x.back(), shape.back()));
  Names from = to;
  from[t.axis] = "t";
  from.back() = "u";
  Extents all = extents_of(to, shape);
  all["t"] = t.input;
  all["u"] = x.back();
  m.temporary("T", DType::f64, shape);
  m.say(fmt::format("{} += f64({}) * W[{},t,{},u]", access("T", to), access("X0", from), to[t.axis], to.back()), all);
  m.say(fmt::format("{} = {}({})", access("Y", to), name(m.dtype(0)), access("T", to)), extents_of(to, shape));
}

/// Y[n,f,k,v] = the transform of frame f, which begins at f * step and is weighted by the window.
void make_stft(Maker& m) {
  Sizes x = m.shape(0);
  const std::string of = x.size() == 2 ? "X" : "X0";
  if (x.size() == 2) {  // real elements without a dimension of their own, as exporters write it
    x.push_back(1);
    m.temporary("X", m.dtype(0), x);
    m.say("X[n,j,0] = X0[n,j]", {{"n", x[0]}, {"j", x[1]}});
  }
  if (x.size() != 3 || x[2] < 1 || x[2] > 2) throw contradiction("a signal of " + sizes_text(x) + " has no meaning");
  const std::int64_t step = m.integers(1, "the step").at(0);
  Transform t;
  t.input = m.has(3) ? m.integers(3, "the length").at(0) : m.has(2) ? product_of(m.shape(2)) : x[1];
  t.onesided = m.integer("onesided", 1) != 0;
  if (step < 1 || t.input < 1 || t.input > x[1] || t.input > max_size || (m.has(2) && m.shape(2) != Sizes{t.input}))
    throw contradiction("its frames do not fit the signal");
  t.length = t.input;
  t.output = t.onesided ? t.length / 2 + 1 : t.length;
  const Sizes shape{x[0], (x[1] - t.input) / step + 1, t.output, 2};
  m.result("Y", 0, m.dtype(0), shape);
  if (const auto stages = stages_of(t, x[2])) {
    const auto element = [step, of](const std::string& at) {
      return fmt::format("f64({}[n,{}*f + {},u])", of, step, at);
    };
    return say_in_stages(m, t, *stages,
                         {{"n", "f"}, {}, {shape[0], shape[1]}, {}, x[2], element, m.has(2) ? "X2" : "", "k"}, shape);
  }
  m.constant("W", waves(t, x[2], 2));
  m.temporary("T", DType::f64, shape);
  const Extents all{{"n", shape[0]}, {"f", shape[1]}, {"k", shape[2]}, {"v", 2}};
  Extents points = all;
  points["j"] = t.input;
  points["u"] = x[2];
  m.say(fmt::format("T[n,f,k,v] += f64({}[n,{}*f + j,u]) * {}W[k,j,v,u]{}", of, step, m.has(2) ? "(f64(X2[j]) * " : "",
                    m.has(2) ? ")" : ""),
        points);
  m.say(fmt::format("Y[n,f,k,v] = {}(T[n,f,k,v])", name(m.dtype(0))), all);
}

// Col2Im: Y[n,c,y..] = the sum over kernel elements r.. of the block whose element r.. lies at y..

void make_col2im(Maker& m) {
  const auto image = m.integers(1, "the size of the image"), block = m.integers(2, "the size of blocks");
  const std::size_t rank = image.size();
  if (rank > 3) throw Refused{"blocks of more than three dimensions", ""};
  const auto strides = m.integers("strides", Sizes(rank, 1)), dilations = m.integers("dilations", Sizes(rank, 1));
  const auto pads = m.integers("pads", Sizes(2 * rank, 0));
  const Sizes& x = m.shape(0);
  for (const Sizes& sizes : {image, block, strides, dilations}) check_sizes(sizes, 1);
  check_sizes(pads, 0);
  if (rank == 0 || block.size() != rank || strides.size() != rank || dilations.size() != rank ||
      pads.size() != 2 * rank || x.size() != 3 || product_of(block) < 1 || x[1] % product_of(block) != 0)
    throw contradiction("its sizes do not fit " + sizes_text(x));
  Sizes blocks, padded = {x[0], x[1] / product_of(block)};
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t reach = dilations[d] * (block[d] - 1) + 1, whole = image[d] + pads[d] + pads[rank + d];
    if (block[d] < 1 || strides[d] < 1 || dilations[d] < 1 || whole < reach || pads[d] < 0 || pads[rank + d] < 0)
      throw contradiction("its blocks do not fit the image");
    blocks.push_back((whole - reach) / strides[d] + 1);
    padded.push_back(whole);
  }
  if (product_of(blocks) != x[2]) throw contradiction("it has another number of blocks");
  const Names b = iterators(rank, "pqo"), r = iterators(rank, "rsu"), i = iterators(rank, "ijk");
  Names to = {"n", "c"}, from = {"n", "c", "i", "j", "k"};
  std::string channel = fmt::format("c * {}", product_of(block)), place = "0";
  Extents all = {{"n", x[0]}, {"c", padded[1]}};
  for (std::size_t d = 0; d < rank; ++d) {
    channel += fmt::format(" + {} * {}", r[d], product_of(block, d + 1));
    place += fmt::format(" + {} * {}", b[d], product_of(blocks, d + 1));
    to.push_back(fmt::format("{} * {} + {} * {}", b[d], strides[d], r[d], dilations[d]));
    all[b[d]] = blocks[d];
    all[r[d]] = block[d];
  }
  m.temporary("T", m.dtype(0), padded);
  const Names all_of = iterators(padded.size());
  if (product_of(strides) * product_of(dilations) > 1)  // some elements may be in no block
    m.say(access("T", all_of) + " = 0", extents_of(all_of, padded));
  m.say(fmt::format("{} += X0[n,{},{}]", access("T", to), channel, place), all);
  Sizes shape = {x[0], padded[1]};
  shape.insert(shape.end(), image.begin(), image.end());
  from.resize(2 + rank);
  const Names whole = from;
  for (std::size_t d = 0; d < rank; ++d) from[2 + d] += fmt::format(" + {}", pads[d]);
  m.result("Y", 0, m.dtype(0), shape);
  m.say(access("Y", whole) + " = " + access("T", from), extents_of(whole, shape));
}

// ScatterND: updates and elements by their position in the updated dimensions as one.

struct Updates {
  std::size_t depth = 0;  ///< dimensions that a position names
  std::int64_t count = 0;
  Names element, rest;  ///< of X: the named dimensions, the others
};

/// J[u]: the element that update u hits; U[u,rest]: its values.
void say_updates(Maker& m, const Updates& up) {
  const Sizes &x = m.shape(0), &index = m.shape(1);
  const Sizes lead(index.begin(), index.end() - 1);
  const Names u = digits_of("u", lead, lead.size());
  std::string place = "0";
  for (std::size_t d = 0; d < up.depth; ++d) {
    Names from = u;
    from.push_back(std::to_string(d));
    place = fmt::format("({0}) * {1} + select({2} < 0, {2} + {1}, {2})", place, x[d], access("X1", from));
  }
  m.temporary("J", m.dtype(1), {up.count});
  m.say("J[u] = " + place, {{"u", up.count}});
  Sizes shape = {std::max<std::int64_t>(up.count, 1)};  // computed subscripts need an element, whatever they say
  shape.insert(shape.end(), x.begin() + static_cast<std::ptrdiff_t>(up.depth), x.end());
  Names to = {"u"}, from = u;
  to.insert(to.end(), up.rest.begin(), up.rest.end());
  from.insert(from.end(), up.rest.begin(), up.rest.end());
  m.temporary("U", m.dtype(0), shape);
  m.say(access("U", to) + " = " + (up.count == 0 ? m.scalar("Z", m.dtype(0), Scalar{}) : access("X2", from)),
        extents_of(to, shape));
}

void make_scatter_nd(Maker& m) {
  const Sizes &x = m.shape(0), &index = m.shape(1);
  if (index.empty() || index.back() < 1 || static_cast<std::size_t>(index.back()) > x.size())
    throw contradiction("positions of " + sizes_text(index) + " do not fit " + sizes_text(x));
  Updates up;
  up.depth = static_cast<std::size_t>(index.back());
  up.count = product_of(index, 0, index.size() - 1);
  Sizes updates(index.begin(), index.end() - 1);
  updates.insert(updates.end(), x.begin() + static_cast<std::ptrdiff_t>(up.depth), x.end());
  if (m.shape(2) != updates) throw contradiction("updates of " + sizes_text(m.shape(2)) + " do not fit the positions");
  const Names all = iterators(x.size(), "ijklmnopqa");
  if (product_of(updates) == 0 && !m.of_all_sizes()) {  // nothing is updated
    m.result("Y", 0, m.dtype(0), x);
    return m.say(access("Y", all) + " = " + access("X0", all), extents_of(all, x));
  }
  up.element.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(up.depth));
  up.rest.assign(all.begin() + static_cast<std::ptrdiff_t>(up.depth), all.end());
  say_updates(m, up);
  std::string place = "0";
  for (std::size_t d = 0; d < up.depth; ++d) place = fmt::format("({}) * {} + {}", place, x[d], up.element[d]);
  const std::string hit = fmt::format("s64(J[u]) == s64(value({}))", place), y = access("Y", all);
  const std::string how = m.text("reduction", "none");
  const Extents points = extents_of(all, x);
  const Sizes named(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(up.depth));
  Extents elements = extents_of(up.element, named);
  elements["u"] = up.count;
  m.result("Y", 0, m.dtype(0), x);
  Names update = {"u"};
  update.insert(update.end(), up.rest.begin(), up.rest.end());
  if (how != "none") {
    Extents with_updates = points;
    with_updates["u"] = up.count;
    m.say(y + " = " + access("X0", all), points);
    return m.say(combined_update(m, y, how, hit, access("U", update)), with_updates);
  }
  m.temporary("L", DType::s32, named);
  m.say(last_update(access("L", up.element), hit), elements);
  const std::string last = access("L", up.element);
  update[0] = "at(" + last + ")";
  m.say(fmt::format("{} = select({} < 0, {}, {})", y, last, access("X0", all), access("U", update)), points);
}

}  // namespace

const Makers& sampling_makers() {
  static const Makers all = {
      {"GridSample", &make_grid_sample}, {"AffineGrid", &make_affine_grid}, {"DFT", &make_dft}, {"STFT", &make_stft},
      {"Col2Im", &make_col2im},          {"ScatterND", &make_scatter_nd}};
  return all;
}

}  // namespace isamap::importing

// SPDX-License-Identifier: Apache-2.0
// Data movement: each operator is a copy whose read says where an element comes from. Composition (ir/compose.h) makes
// the copies vanish.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "frontends/onnx/maker.h"
#include "frontends/onnx/positions.h"
#include "support/arithmetic.h"

namespace isamap::importing {
namespace {

constexpr std::int64_t max_listed = 64;  ///< longer lists of positions are read at run time

void copy(Maker& m, const Sizes& shape, const Names& from) {
  const Names to = iterators(shape.size());
  m.result("Y", 0, m.dtype(0), shape);
  m.say(access("Y", to) + " = " + access("X0", from), extents_of(to, shape));
}

/// Row-major position of the dimensions [first, last).
std::string flat(const Names& names, const Sizes& sizes, std::size_t first, std::size_t last) {
  std::string text;
  std::int64_t stride = 1;
  for (std::size_t d = last; d-- > first;) {
    if (sizes[d] != 1) {
      const std::string term = stride == 1 ? names[d] : fmt::format("{}*{}", stride, names[d]);
      text = text.empty() ? term : term + " + " + text;
    }
    stride *= sizes[d];
  }
  return text.empty() ? "0" : text;
}

/// The elements in the same order under another shape. Dimensions fall into groups of equal products; divisions are
/// needed only inside a group.
void reshape_to(Maker& m, const Sizes& to) {
  const Sizes& from = m.shape(0);
  if (product_of(from) != product_of(to))
    throw contradiction("the shape " + sizes_text(to) + " does not hold the elements of " + sizes_text(from), "");
  const Names names = iterators(to.size());
  Names index;
  if (product_of(to) == 0) {
    index.assign(from.size(), "0");
    m.result("Y", 0, m.dtype(0), to);
    m.say(access("Y", names) + " = 0", extents_of(names, to));
    return;
  }
  std::size_t f = 0, t = 0;
  while (f < from.size()) {
    const std::size_t f0 = f, t0 = t;
    std::int64_t of_from = from[f++], of_to = 1;
    while (of_from != of_to)
      if (of_to < of_from)
        of_to *= to[t++];
      else
        of_from *= from[f++];
    const std::string position = flat(names, to, t0, t);
    std::int64_t stride = of_from;
    for (std::size_t d = f0; d < f; ++d) {
      stride /= from[d];
      std::string text = from[d] == 1 ? "0" : position;
      if (from[d] != 1 && stride > 1) text = fmt::format("({})/{}", text, stride);
      if (from[d] != 1 && stride * from[d] != of_from) text = fmt::format("({})%{}", text, from[d]);
      index.push_back(text);
    }
  }
  copy(m, to, index);
}

/// The size -1 of the shape `to`, whose other sizes have the product `known`. Of an empty tensor it is what it would be
/// if the empty dimensions that `to` copies were not empty, so that it is the same for a batch of none.
std::int64_t open_size(const Sizes& from, const Sizes& to, std::int64_t known) {
  if (known > 0) return product_of(from) / known;
  Sizes of_from = from, of_to = to;
  for (std::size_t d = 0; d < std::min(from.size(), to.size()); ++d)
    if (from[d] == 0 && to[d] == 0) of_from[d] = of_to[d] = 1;
  for (std::int64_t& size : of_to) size = size < 0 ? 1 : size;
  const std::int64_t left = product_of(of_from), others = product_of(of_to);
  if (left == 0 || others == 0 || left % others != 0)
    throw contradiction(
        fmt::format("the size -1 of the shape {} of the tensor {} is ambiguous: its other sizes have no "
                    "elements",
                    sizes_text(to), sizes_text(from)),
        "state it, or copy the empty dimensions in their places by 0");
  return left / others;
}

void make_reshape(Maker& m) {
  Sizes to = m.opset < 5 ? m.integers("shape", {}) : m.integers(1, "the shape");
  const bool keeps_zero = m.integer("allowzero", 0) != 0;
  const Sizes& from = m.shape(0);
  std::int64_t known = 1, open = -1;
  for (std::size_t d = 0; d < to.size(); ++d) {
    if (to[d] == 0 && !keeps_zero) {
      if (d >= from.size())
        throw contradiction("the shape copies dimension " + std::to_string(d) + " of " + sizes_text(from));
      to[d] = from[d];
    }
    if (to[d] < -1 || (to[d] == -1 && open >= 0))
      throw contradiction("the shape " + sizes_text(to) + " has no meaning", "");
    if (to[d] == -1)
      open = static_cast<std::int64_t>(d);
    else if (to[d] > 0 && known > (std::int64_t{1} << 48) / to[d])
      throw Refused{"the shape " + sizes_text(to) + " is larger than any memory", ""};
    else
      known *= to[d];
  }
  if (open >= 0) to[static_cast<std::size_t>(open)] = open_size(from, to, known);
  reshape_to(m, to);
}

void make_flatten(Maker& m) {
  const Sizes& from = m.shape(0);
  const std::int64_t rank = m.rank(0), given = m.integer("axis", 1);
  const std::int64_t axis = given < 0 ? given + rank : given;
  if (axis < 0 || axis > rank) throw contradiction(fmt::format("axis {} of {}", given, sizes_text(from)), "");
  const auto at = static_cast<std::size_t>(axis);
  reshape_to(m, {product_of(from, 0, at), product_of(from, at)});
}

std::vector<std::int64_t> axes_of(const Maker& m, const std::string& what) {
  return m.opset >= 13 && m.has(1) ? m.integers(1, what) : m.integers("axes", {});
}

void make_squeeze(Maker& m) {
  const Sizes& from = m.shape(0);
  std::vector<bool> gone(from.size(), false);
  const auto axes = axes_of(m, "the axes");
  for (const std::int64_t axis : axes) gone[m.axis(axis, from.size())] = true;
  Sizes to;
  for (std::size_t d = 0; d < from.size(); ++d) {
    if (axes.empty()) gone[d] = from[d] == 1;
    if (gone[d] && from[d] != 1) throw contradiction(fmt::format("dimension {} of {} is not 1", d, sizes_text(from)));
    if (!gone[d]) to.push_back(from[d]);
  }
  reshape_to(m, to);
}

void make_unsqueeze(Maker& m) {
  const auto axes = axes_of(m, "the axes");
  Sizes to(m.shape(0).size() + axes.size(), -1);
  for (const std::int64_t axis : axes) to[m.axis(axis, to.size())] = 1;
  std::size_t next = 0;
  for (std::int64_t& size : to)
    if (size < 0 && next < m.shape(0).size()) size = m.shape(0)[next++];
  if (std::find(to.begin(), to.end(), -1) != to.end()) throw contradiction("an axis is named twice");
  reshape_to(m, to);
}

void make_transpose(Maker& m) {
  const Sizes& from = m.shape(0);
  std::vector<std::int64_t> order(from.size());
  for (std::size_t d = 0; d < from.size(); ++d) order[d] = static_cast<std::int64_t>(from.size() - 1 - d);
  order = m.integers("perm", order);
  std::vector<std::int64_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t d = 0; d < sorted.size(); ++d)
    if (sorted.size() != from.size() || sorted[d] != static_cast<std::int64_t>(d))
      throw contradiction("perm " + sizes_text(order) + " is no order of the dimensions of " + sizes_text(from), "");
  Sizes to;
  const Names names = iterators(from.size());
  Names index(from.size());
  for (std::size_t d = 0; d < order.size(); ++d) {
    to.push_back(from[static_cast<std::size_t>(order[d])]);
    index[static_cast<std::size_t>(order[d])] = names[d];
  }
  copy(m, to, index);
}

/// Tensors of one type along an axis: a statement for each piece.
void make_concat(Maker& m) {
  const std::size_t axis = m.axis(m.integer("axis", m.opset < 4 ? 1 : 0), m.shape(0).size());
  Sizes shape = m.shape(0);
  shape[axis] = 0;
  for (std::size_t i = 0; i < m.count(); ++i) {
    Sizes same = m.shape(i);
    if (same.size() != shape.size()) throw contradiction("its inputs have different numbers of dimensions");
    const auto joined = checked_add(shape[axis], same[axis]);
    if (!joined) throw contradiction("the sizes that it joins add up to 2^63 or more", "sizes are below 2^63");
    same[axis] = shape[axis] = *joined;
    if (same != shape || m.dtype(i) != m.dtype(0)) throw contradiction("its inputs do not fit together", "");
  }
  m.result("Y", 0, m.dtype(0), shape);
  std::int64_t start = 0;
  for (std::size_t i = 0; i < m.count(); ++i) {
    const Names from = iterators(shape.size());
    Names to = from;
    if (start > 0) to[axis] += fmt::format(" + {}", start);
    m.say(access("Y", to) + " = " + access("X" + std::to_string(i), from), extents_of(from, m.shape(i)));
    start += m.shape(i)[axis];
  }
}

Sizes split_sizes(const Maker& m, std::int64_t whole) {
  if (m.opset >= 13 && m.has(1)) return m.integers(1, "the sizes of the pieces");
  if (const Sizes stated = m.integers("split", {}); !stated.empty()) return stated;
  const auto pieces = static_cast<std::int64_t>(m.node.outputs.size());
  const std::int64_t size = (whole + pieces - 1) / pieces;
  Sizes sizes(static_cast<std::size_t>(pieces), size);
  sizes.back() = whole - size * (pieces - 1);
  return sizes;
}

void make_split(Maker& m) {
  const std::size_t axis = m.axis(m.integer("axis", 0), m.shape(0).size());
  const Sizes sizes = split_sizes(m, m.shape(0)[axis]);
  const bool fits = std::all_of(sizes.begin(), sizes.end(), [&](auto s) { return s >= 0 && s <= m.shape(0)[axis]; });
  if (!fits || std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) != m.shape(0)[axis])
    throw contradiction("pieces of " + sizes_text(sizes) + " of a dimension of " + std::to_string(m.shape(0)[axis]));
  std::int64_t start = 0;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    Sizes shape = m.shape(0);
    shape[axis] = sizes[k];
    const Names to = iterators(shape.size());
    Names from = to;
    if (start > 0) from[axis] += fmt::format(" + {}", start);
    start += sizes[k];
    if (!m.wants(k)) continue;
    const std::string name = "Y" + std::to_string(k);
    m.result(name, k, m.dtype(0), shape);
    m.say(access(name, to) + " = " + access("X0", from), extents_of(to, shape));
  }
}

/// numpy's rule: ends are cut to the shape, negative ones count from the end.
void make_slice(Maker& m) {
  const bool inputs = m.opset >= 10;
  const auto starts = inputs ? m.integers(1, "the starts") : m.integers("starts", {});
  const auto ends = inputs ? m.integers(2, "the ends") : m.integers("ends", {});
  std::vector<std::int64_t> axes(starts.size()), steps(starts.size(), 1);
  std::iota(axes.begin(), axes.end(), 0);
  if (inputs && m.has(3)) axes = m.integers(3, "the axes");
  if (!inputs) axes = m.integers("axes", axes);
  if (inputs && m.has(4)) steps = m.integers(4, "the steps");
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    throw contradiction("starts, ends, axes and steps have different lengths", "");
  Sizes shape = m.shape(0);
  Names from = iterators(shape.size());
  for (std::size_t s = 0; s < starts.size(); ++s) {
    const std::size_t d = m.axis(axes[s], shape.size());
    const std::int64_t size = m.shape(0)[d], step = steps[s];
    if (step == 0) throw contradiction("a step of 0");
    if (step > (1 << 30) || step < -(1 << 30)) throw Refused{fmt::format("a step of {}", step), ""};
    const auto cut = [&](std::int64_t at) {
      if (at < 0) at = at < -size ? -1 : at + size;
      return step > 0 ? std::clamp<std::int64_t>(at, 0, size) : std::clamp<std::int64_t>(at, -1, size - 1);
    };
    const std::int64_t first = cut(starts[s]), last = cut(ends[s]);
    const std::int64_t length = step > 0 ? last - first : first - last;
    const std::int64_t by = step > 0 ? step : -step;
    shape[d] = length <= 0 ? 0 : (length + by - 1) / by;
    from[d] = fmt::format("{}*{} + {}", step, from[d], first);
  }
  copy(m, shape, from);
}

void make_expand(Maker& m) {
  const Sizes to = broadcast(m.shape(0), m.integers(1, "the shape"));
  for (const std::int64_t size : to)
    if (size < 0) throw contradiction("the shape " + sizes_text(to) + " has no meaning", "");
  copy(m, to, broadcast_index(m.shape(0), to, iterators(to.size())));
}

void make_tile(Maker& m) {
  const auto times = m.integers(1, "the repeats");
  Sizes shape = m.shape(0);
  Names from = iterators(shape.size());
  if (times.size() != shape.size()) throw contradiction("one repeat is needed for each dimension");
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (times[d] < 0 || times[d] > (1 << 30)) throw Refused{fmt::format("{} repeats", times[d]), ""};
    if (shape[d] > 0 && times[d] != 1) from[d] = shape[d] == 1 ? "0" : fmt::format("{}%{}", from[d], shape[d]);
    shape[d] *= times[d];
  }
  copy(m, shape, from);
}

void make_depth_to_space(Maker& m) {
  const Sizes& x = m.shape(0);
  const std::int64_t b = m.integer("blocksize", 1);
  if (x.size() != 4 || b < 1 || x[1] % (b * b) != 0) throw contradiction("blocks of " + sizes_text(x));
  const bool rows_first = m.text("mode", "DCR") == "DCR";  // else the depth is the slowest digit
  const std::int64_t depth = x[1] / (b * b);
  const std::string block = fmt::format("{0}*(k%{0}) + l%{0}", b);
  const std::string channel =
      rows_first ? fmt::format("{}*({}) + j", depth, block) : fmt::format("{}*j + {}", b * b, block);
  copy(m, {x[0], depth, x[2] * b, x[3] * b}, {"i", channel, fmt::format("k/{}", b), fmt::format("l/{}", b)});
}

void make_space_to_depth(Maker& m) {
  const Sizes& x = m.shape(0);
  const std::int64_t b = m.integer("blocksize", 1);
  if (x.size() != 4 || b < 1 || x[2] % b != 0 || x[3] % b != 0) throw contradiction("blocks of " + sizes_text(x));
  const bool rows_first = m.text("mode", "DCR") == "DCR";
  const std::int64_t depth = x[1];
  const std::string channel = rows_first ? fmt::format("j%{}", depth) : fmt::format("j/{}", b * b);
  const std::string block = rows_first ? fmt::format("(j/{})", depth) : "j";
  copy(m, {x[0], depth * b * b, x[2] / b, x[3] / b},
       {"i", channel, fmt::format("{0}*k + ({1}/{0})%{0}", b, block), fmt::format("{0}*l + {1}%{0}", b, block)});
}

void make_identity(Maker& m) { m.pass(0, m.in(0)); }

void make_dropout(Maker& m) {
  if (m.has(2) && m.in(2).values && m.in(2).values->get(0).integer != 0 && m.has(1) &&
      m.reals(1, "the ratio").at(0) != 0)
    throw Refused{"dropout in training mode draws random numbers", "export the model for inference"};
  if (m.has(2) && !m.in(2).values) throw Refused{"its training mode is known only when the model runs", "--fix"};
  m.pass(0, m.in(0));
  if (!m.wants(1)) return;
  const Names i = iterators(m.shape(0).size());
  m.result("K", 1, m.opset < 10 ? m.dtype(0) : DType::boolean, m.shape(0));
  m.say(access("K", i) + " = 1", extents_of(i, m.shape(0)));
}

/// Along one dimension, `before` and `after` elements more.
struct Padding {
  std::int64_t before = 0, after = 0;
};

void pad_constant(Maker& m, const std::vector<Padding>& pads, double value) {
  Sizes shape = m.shape(0);
  Names from = iterators(shape.size());
  for (std::size_t d = 0; d < shape.size(); ++d) {
    shape[d] += pads[d].before + pads[d].after;
    if (pads[d].before != 0) from[d] += fmt::format(" - {}", pads[d].before);
    if (shape[d] < 0) throw contradiction("pads take more away than there is");
  }
  m.padded("P", "X0", value);
  const Names to = iterators(shape.size());
  m.result("Y", 0, m.dtype(0), shape);
  m.say(access("Y", to) + " = " + access("P", from), extents_of(to, shape));
}

/// The same with the text of a value, such as one that is known only when the model runs: it is chosen where the place
/// is outside.
void pad_with_value(Maker& m, const std::vector<Padding>& pads, const std::string& value) {
  Sizes shape = m.shape(0);
  const Names to = iterators(shape.size());
  Names from = to;
  std::string inside;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (pads[d].before == 0 && pads[d].after == 0) continue;
    from[d] = fmt::format("{} - {}", to[d], pads[d].before);
    inside += fmt::format("{0}value({1}) >= 0 and value({1}) < {2}", inside.empty() ? "" : " and ", from[d], shape[d]);
    shape[d] += pads[d].before + pads[d].after;
    if (shape[d] < 0) throw contradiction("pads take more away than there is");
  }
  m.padded("P", "X0", 0);
  m.result("Y", 0, m.dtype(0), shape);
  const std::string read = access("P", from);
  m.say(access("Y", to) + " = " + (inside.empty() ? read : fmt::format("select({}, {}, {})", inside, read, value)),
        extents_of(to, shape));
}

/// Where the element `at` of a padded dimension comes from.
std::int64_t padded_position(std::int64_t at, std::int64_t size, const std::string& mode) {
  if (mode == "edge") return std::clamp<std::int64_t>(at, 0, size - 1);
  if (mode == "wrap") return ((at % size) + size) % size;
  const std::int64_t period = std::max<std::int64_t>(2 * (size - 1), 1);
  const std::int64_t folded = ((at % period) + period) % period;
  return folded < size ? folded : period - folded;
}

/// `m` one dimension after the other: the elements of dimension d come from `from`.
void move_along(Maker& m, const std::vector<std::pair<std::size_t, Sizes>>& moves) {
  std::string source = "X0";
  Sizes shape = m.shape(0);
  if (moves.empty()) return copy(m, shape, iterators(shape.size()));
  for (std::size_t s = 0; s < moves.size(); ++s) {
    const auto& [d, from] = moves[s];
    shape[d] = static_cast<std::int64_t>(from.size());
    const bool last = s + 1 == moves.size();
    const std::string target = last ? "Y" : "T" + std::to_string(s);
    if (last)
      m.result(target, 0, m.dtype(0), shape);
    else
      m.temporary(target, m.dtype(0), shape);
    say_positions(m, target, source, d, from);
    source = target;
  }
}

void make_pad(Maker& m) {
  const std::size_t rank = m.shape(0).size();
  const auto given = m.opset < 11 ? m.integers(m.opset < 2 ? "paddings" : "pads", {}) : m.integers(1, "the pads");
  std::vector<std::int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (m.has(3)) axes = m.integers(3, "the axes");
  if (given.size() != 2 * axes.size()) throw contradiction("two pads are needed for each dimension");
  std::vector<Padding> pads(rank);
  for (std::size_t a = 0; a < axes.size(); ++a) {
    for (const std::int64_t pad : {given[a], given[axes.size() + a]})
      if (pad > (1 << 30) || pad < -(1 << 30)) throw Refused{fmt::format("{} padded elements", pad), ""};
    pads[m.axis(axes[a], rank)] = {given[a], given[axes.size() + a]};
  }
  const std::string mode = m.text("mode", "constant");
  if (mode == "constant") {
    const bool is_input = m.opset >= 11 && m.has(2);
    const auto& known = is_input ? m.in(2).values : nullptr;
    if (is_input && (!known || (known->count() > 0 && !is_in_text(m.dtype(2), known->get(0)))))
      return pad_with_value(m, pads, access("X2", Names(m.shape(2).size(), "0")));
    const std::vector<double> stated = is_input ? m.reals(2, "the value of padding") : std::vector<double>{};
    if (is_input && stated.size() != 1)
      throw contradiction(fmt::format("the value of padding has {} elements, not one", stated.size()), "");
    const double value = is_input ? stated[0] : m.opset < 11 ? m.real("value", 0) : 0;
    if (std::isnan(value)) return pad_with_value(m, pads, m.scalar("V", m.dtype(0), {value, 0}));
    return pad_constant(m, pads, value);
  }
  std::vector<std::pair<std::size_t, Sizes>> moves;
  for (std::size_t d = 0; d < rank; ++d) {
    if (pads[d].before == 0 && pads[d].after == 0) continue;
    // Negative pads take away first: what is repeated is what they leave.
    const std::int64_t first = std::max<std::int64_t>(-pads[d].before, 0);
    const std::int64_t size = m.shape(0)[d] - first - std::max<std::int64_t>(-pads[d].after, 0);
    const std::int64_t before = std::max<std::int64_t>(pads[d].before, 0),
                       after = std::max<std::int64_t>(pads[d].after, 0);
    if (size < 0) throw contradiction("pads take more away than there is");
    if (size == 0) throw Refused{"nothing can be repeated of a dimension of size 0", ""};
    check_positions(size + before + after);
    Sizes from;
    for (std::int64_t at = -before; at < size + after; ++at) from.push_back(first + padded_position(at, size, mode));
    moves.emplace_back(d, from);
  }
  move_along(m, moves);
}

/// Of a longer dimension the middle; a shorter one has zeros on both sides.
void make_center_crop_pad(Maker& m) {
  Sizes shape = m.shape(0);
  const Sizes wanted = m.integers(1, "the shape");
  std::vector<std::int64_t> axes(shape.size());
  std::iota(axes.begin(), axes.end(), 0);
  axes = m.integers("axes", axes);
  if (axes.size() != wanted.size()) throw contradiction("its shape does not fit the axes");
  Names from = iterators(shape.size());
  for (std::size_t a = 0; a < axes.size(); ++a) {
    const std::size_t d = m.axis(axes[a], shape.size());
    if (wanted[a] < 0 || wanted[a] > (1 << 30)) throw contradiction("a size that has no meaning");
    const std::int64_t more = wanted[a] - shape[d];
    from[d] += more > 0 ? fmt::format(" - {}", more / 2) : fmt::format(" + {}", -more / 2);
    shape[d] = wanted[a];
  }
  m.padded("P", "X0", 0);
  const Names to = iterators(shape.size());
  m.result("Y", 0, m.dtype(0), shape);
  m.say(access("Y", to) + " = " + access("P", from), extents_of(to, shape));
}

void make_gather(Maker& m) {
  const std::size_t axis = m.axis(m.integer("axis", 0), m.shape(0).size());
  const std::int64_t size = m.shape(0)[axis];
  if (!m.in(1).values) return gather_values(m);
  Sizes from = m.integers(1, "the positions");
  for (std::int64_t& at : from) {
    if (at < -size || at >= size) throw contradiction(fmt::format("position {} of a dimension of {}", at, size));
    if (at < 0) at += size;
  }
  const Sizes& of_index = m.shape(1);
  Sizes shape = m.shape(0);
  const auto at = shape.begin() + static_cast<std::ptrdiff_t>(axis);
  shape.insert(shape.erase(at), of_index.begin(), of_index.end());
  Names to = iterators(shape.size());
  const auto first = to.begin() + static_cast<std::ptrdiff_t>(axis);
  const auto last = first + static_cast<std::ptrdiff_t>(of_index.size());
  const auto place = affine_text(from, of_index, Names(first, last));
  if (!place && static_cast<std::int64_t>(from.size()) > max_listed) return gather_values(m);
  m.result("Y", 0, m.dtype(0), shape);
  if (from.empty()) return m.say(access("Y", to) + " = 0", extents_of(to, shape));
  if (!place) return say_positions(m, "Y", "X0", axis, from, of_index.size());
  const std::string target = access("Y", to);
  const Extents extents = extents_of(to, shape);
  *to.insert(to.erase(first, last), *place);
  m.say(target + " = " + access("X0", to), extents);
}

/// The elements along an axis, or of all in a row, at which a known condition holds.
void make_compress(Maker& m) {
  if (!m.in(1).values) throw why_not("Compress");
  Sizes shape = m.shape(0);
  std::string source = "X0";
  std::size_t axis = 0;
  if (m.states("axis")) {
    axis = m.axis(m.integer("axis", 0), shape.size());
  } else {
    const Names digits = digits_of("f", shape, shape.size());
    shape = {product_of(shape)};
    source = "F";
    m.temporary("F", m.dtype(0), shape);
    m.say("F[f] = " + access("X0", digits), {{"f", shape[0]}});
  }
  const Sizes holds = m.integers(1, "the condition");
  Sizes positions;
  for (std::size_t i = 0; i < holds.size(); ++i)
    if (holds[i] != 0) positions.push_back(static_cast<std::int64_t>(i));
  if (static_cast<std::int64_t>(holds.size()) > shape[axis])
    throw contradiction(fmt::format("{} conditions for {} elements", holds.size(), shape[axis]));
  shape[axis] = static_cast<std::int64_t>(positions.size());
  m.result("Y", 0, m.dtype(0), shape);
  const Names i = iterators(shape.size());
  if (positions.empty()) return m.say(access("Y", i) + " = 0", extents_of(i, shape));
  if (positions.size() <= static_cast<std::size_t>(max_listed)) return say_positions(m, "Y", source, axis, positions);
  m.constant("J", integers_data(positions));
  Names from = i;
  from[axis] = "at(J[" + i[axis] + "])";
  m.say(access("Y", i) + " = " + access(source, from), extents_of(i, shape));
}

}  // namespace

const Makers& movement_makers() {
  static const Makers all = {{"Reshape", &make_reshape},
                             {"Flatten", &make_flatten},
                             {"Squeeze", &make_squeeze},
                             {"Unsqueeze", &make_unsqueeze},
                             {"Transpose", &make_transpose},
                             {"Concat", &make_concat},
                             {"Split", &make_split},
                             {"Slice", &make_slice},
                             {"Expand", &make_expand},
                             {"Tile", &make_tile},
                             {"DepthToSpace", &make_depth_to_space},
                             {"SpaceToDepth", &make_space_to_depth},
                             {"Identity", &make_identity},
                             {"Dropout", &make_dropout},
                             {"Pad", &make_pad},
                             {"Gather", &make_gather},
                             {"Compress", &make_compress},
                             {"CenterCropPad", &make_center_crop_pad}};
  return all;
}

}  // namespace isamap::importing

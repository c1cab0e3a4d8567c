// SPDX-License-Identifier: Apache-2.0
// Operators that compare positions, or read where values say.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "frontends/onnx/maker.h"
#include "frontends/onnx/updates.h"

namespace isamap::importing {
namespace {

constexpr int no_position = 2147483647;

/// The axis of a tensor that must have one.
std::size_t axis_of(const Maker& m, std::int64_t otherwise) {
  if (m.shape(0).empty()) throw contradiction("a scalar has no dimension to index");
  return m.axis(m.integer("axis", otherwise), m.shape(0).size());
}

/// Positions of a dimension of `size` that count from the end where they are negative: a tensor under the name `to`.
void say_positions_from_start(Maker& m, const std::string& to, std::size_t input, std::int64_t size) {
  const Sizes& shape = m.shape(input);
  const Names i = iterators(shape.size());
  const std::string read = access("X" + std::to_string(input), i);
  m.temporary(to, m.dtype(input), shape);
  m.say(fmt::format("{} = select({} < 0, {} + {}, {})", access(to, i), read, read, size, read), extents_of(i, shape));
}

/// Y[.., i.., ..] = X[.., at(I[i..]), ..]
void make_gather_values(Maker& m) {
  const std::size_t axis = axis_of(m, 0);
  const Sizes& of_index = m.shape(1);
  Sizes shape = m.shape(0);
  const auto at = shape.begin() + static_cast<std::ptrdiff_t>(axis);
  const std::int64_t size = *at;
  shape.insert(shape.erase(at), of_index.begin(), of_index.end());
  const Names to = iterators(shape.size());
  if (size == 0 && product_of(of_index) == 0) {  // nothing is read
    m.result("Y", 0, m.dtype(0), shape);
    return m.say(access("Y", to) + " = 0", extents_of(to, shape));
  }
  if (size == 0) throw contradiction("it reads from a dimension of size 0");
  say_positions_from_start(m, "J", 1, size);
  const auto name = [&](std::size_t d) { return to.begin() + static_cast<std::ptrdiff_t>(d); };
  Names from(to.begin(), name(axis));
  from.push_back("at(" + access("J", Names(name(axis), name(axis + of_index.size()))) + ")");
  from.insert(from.end(), name(axis + of_index.size()), to.end());
  m.result("Y", 0, m.dtype(0), shape);
  m.say(access("Y", to) + " = " + access("X0", from), extents_of(to, shape));
}

void make_gather_elements(Maker& m) {
  const std::size_t axis = axis_of(m, 0);
  const Sizes& shape = m.shape(1);
  if (shape.size() != m.shape(0).size() || (m.shape(0)[axis] == 0 && product_of(shape) > 0))
    throw contradiction("positions of " + sizes_text(shape) + " do not fit " + sizes_text(m.shape(0)));
  say_positions_from_start(m, "J", 1, m.shape(0)[axis]);
  const Names to = iterators(shape.size());
  Names from = to;
  from[axis] = "at(" + access("J", to) + ")";
  m.result("Y", 0, m.dtype(0), shape);
  m.say(access("Y", to) + " = " + access("X0", from), extents_of(to, shape));
}

/// The last dimension of the positions names dimensions of X: they are one position in X seen with those as one.
void make_gather_nd(Maker& m) {
  const Sizes &x = m.shape(0), &index = m.shape(1);
  const auto batch = static_cast<std::size_t>(std::max<std::int64_t>(m.integer("batch_dims", 0), 0));
  if (index.empty() || batch >= index.size() || batch + static_cast<std::size_t>(index.back()) > x.size() ||
      index.back() < 1)
    throw contradiction("positions of " + sizes_text(index) + " do not fit " + sizes_text(x));
  const std::size_t last = batch + static_cast<std::size_t>(index.back());
  const Sizes lead(index.begin(), index.end() - 1);
  const Names i = iterators(lead.size());
  std::string place = "0";
  for (std::size_t d = batch; d < last; ++d) {
    const std::string read = fmt::format("X1[{}{}{}]", joined(i), i.empty() ? "" : ",", d - batch);
    place = fmt::format("({}) * {} + select({} < 0, {} + {}, {})", place, x[d], read, read, x[d], read);
  }
  m.temporary("J", m.dtype(1), lead);
  m.say(access("J", i) + " = " + place, extents_of(i, lead));
  Sizes flat(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(batch));
  flat.push_back(product_of(x, batch, last));
  flat.insert(flat.end(), x.begin() + static_cast<std::ptrdiff_t>(last), x.end());
  m.temporary("F", m.dtype(0), flat);
  const Names f = iterators(flat.size());
  Names from(f.begin(), f.begin() + static_cast<std::ptrdiff_t>(batch));
  std::int64_t stride = flat[batch];
  for (std::size_t d = batch; d < last; ++d) {
    stride /= std::max<std::int64_t>(x[d], 1);
    from.push_back(
        fmt::format("({}/{})%{}", f[batch], std::max<std::int64_t>(stride, 1), std::max<std::int64_t>(x[d], 1)));
  }
  from.insert(from.end(), f.begin() + static_cast<std::ptrdiff_t>(batch) + 1, f.end());
  m.say(access("F", f) + " = " + access("X0", from), extents_of(f, flat));
  Sizes shape = lead;
  shape.insert(shape.end(), x.begin() + static_cast<std::ptrdiff_t>(last), x.end());
  const Names to = iterators(shape.size());
  Names read(to.begin(), to.begin() + static_cast<std::ptrdiff_t>(batch));
  read.push_back("at(" + access("J", Names(to.begin(), to.begin() + static_cast<std::ptrdiff_t>(lead.size()))) + ")");
  read.insert(read.end(), to.begin() + static_cast<std::ptrdiff_t>(lead.size()), to.end());
  m.result("Y", 0, m.dtype(0), shape);
  m.say(access("Y", to) + " = " + access("F", read), extents_of(to, shape));
}

/// Y[.., d, ..] = on where d is the position, else off.
void make_one_hot(Maker& m) {
  const Sizes& of_index = m.shape(0);
  const auto depth = m.reals(1, "the depth");
  if (depth.size() != 1 || depth[0] < 0 || depth[0] > (1 << 24)) throw contradiction("a depth that has no meaning");
  const auto size = static_cast<std::int64_t>(depth[0]);
  const std::size_t axis = m.axis(m.integer("axis", -1), of_index.size() + 1);
  Sizes shape = of_index;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), size);
  const Names to = iterators(shape.size());
  Names from = to;
  from.erase(from.begin() + static_cast<std::ptrdiff_t>(axis));
  const std::string read = fmt::format("s64({})", access("X0", from));
  m.result("Y", 0, m.dtype(2), shape);
  m.say(fmt::format("{} = select(s64(value({})) == select({} < 0, {} + {}, {}), X2[1], X2[0])", access("Y", to),
                    to[axis], read, read, size, read),
        extents_of(to, shape));
}

void make_trilu(Maker& m) {
  const Sizes& shape = m.shape(0);
  if (shape.size() < 2) throw contradiction("a triangle of " + sizes_text(shape) + " has no meaning");
  const std::int64_t k = m.has(1) ? m.integers(1, "the diagonal").at(0) : 0;
  if (k > (1 << 24) || k < -(1 << 24)) throw contradiction("a diagonal that has no meaning");
  const bool upper = m.integer("upper", 1) != 0;
  const Names i = iterators(shape.size());
  const std::string from_diagonal = fmt::format("value({} - {} - {})", i.back(), i[i.size() - 2], k);
  m.result("Y", 0, m.dtype(0), shape);
  m.say(fmt::format("{} = select({} {} 0, {}, 0)", access("Y", i), from_diagonal, upper ? ">=" : "<=", access("X0", i)),
        extents_of(i, shape));
}

/// Position of the largest (or smallest) element along `axis`, an s32 tensor under the name "P".
void say_position(Maker& m, std::size_t axis, bool largest, bool last, bool keep) {
  const Sizes& x = m.shape(0);
  const Names i = iterators(x.size());
  Names kept = i;
  Sizes shape = x;
  if (keep) {
    kept[axis] = "0", shape[axis] = 1;
  } else {
    kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(axis));
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  }
  m.temporary("V", m.dtype(0), shape);
  m.temporary("P", DType::s32, shape);
  const Extents all = extents_of(i, x);
  m.say(fmt::format("{} {} {}", access("V", kept), largest ? "max=" : "min=", access("X0", i)), all);
  Extents rows = all;
  rows.erase(i[axis]);
  const std::string bound = say_bounds(m, "V", joined(kept), rows, largest);
  const int none = last ? -1 : no_position;
  m.say(fmt::format("{} {} select({} {} {}, {}, value({}))", access("P", kept), last ? "max=" : "min=", access("X0", i),
                    largest ? "<" : ">", bound, none, i[axis]),
        all);
}

/// A scalar is one row of one element, with this result.
void say_of_scalar(Maker& m, DType type, const char* value) {
  m.result("Y", 0, type, {});
  m.say(fmt::format("Y[] = {}", value), {});
}

void make_arg(Maker& m) {
  if (m.shape(0).empty()) return say_of_scalar(m, DType::s64, "0");
  const std::size_t axis = m.axis(m.integer("axis", 0), m.shape(0).size());
  const bool keep = m.integer("keepdims", 1) != 0;
  Sizes rows = m.shape(0);
  rows[axis] = 1;
  if (m.shape(0)[axis] == 0 && product_of(rows) > 0)
    throw contradiction("a dimension of size 0 has no largest element");
  say_position(m, axis, m.node.op == "ArgMax", m.integer("select_last_index", 0) != 0, keep);
  const Sizes shape = m.shape_of("P");
  const Names i = iterators(shape.size());
  m.result("Y", 0, DType::s64, shape);
  m.say(fmt::format("{} = s64({})", access("Y", i), access("P", i)), extents_of(i, shape));
}

/// 1 at the first largest element of each row. Before set 13 the dimensions from the axis on are one row.
void make_hardmax(Maker& m) {
  const Sizes& x = m.shape(0);
  if (x.empty()) return say_of_scalar(m, m.dtype(0), "1");
  const std::size_t axis = m.axis(m.integer("axis", m.opset < 13 ? 1 : -1), x.size());
  const std::size_t end = m.opset < 13 ? x.size() : axis + 1;
  const Names i = iterators(x.size());
  const Extents all = extents_of(i, x);
  Extents outer = all;
  Names kept = i;
  Sizes rows = x;
  std::string place;  // in the row
  for (std::size_t d = axis; d < end; ++d) {
    place += fmt::format("{}{}*{}", place.empty() ? "" : " + ", product_of(x, d + 1, end), i[d]);
    kept[d] = "0", rows[d] = 1;
    outer.erase(i[d]);
  }
  if (product_of(x, axis, end) > no_position) throw Refused{"a row of 2^31 elements", ""};
  m.temporary("V", m.dtype(0), rows);
  m.temporary("P", DType::s32, rows);
  m.result("Y", 0, m.dtype(0), x);
  m.say(fmt::format("{} max= {}", access("V", kept), access("X0", i)), all);
  const std::string bound = say_bounds(m, "V", joined(kept), outer, true);
  m.say(fmt::format("{} min= select({} < {}, {}, value({}))", access("P", kept), access("X0", i), bound, no_position,
                    place),
        all);
  m.say(fmt::format("{} = select(value({}) == {}, 1, 0)", access("Y", i), place, access("P", kept)), all);
}

// TopK: an element's rank is how many come before it; element r of the result has rank r. Of equal elements the first
// one comes before the others. Long rows are sorted in runs of 16, by ranks in them, and runs merged in pairs, of which
// only the first k are kept: an element's rank in both is its place in its run, and how many of the other one come
// before it. (Merging by ranks: Cole, "Parallel merge sort", SIAM J. Comput. 1988; ranks of all elements are found
// independently.) The first few are found one by one instead, each in two passes over the row: the largest element
// behind the one before it, and where it is.

constexpr std::int64_t first_run = 16;
constexpr std::int64_t most_one_by_one = 8;
constexpr double passes_cost = 4;             ///< comparisons of ranks in the time of two passes, for each element
constexpr double placed_cost = 8;             ///< in the time of an element, and its position, stored at its rank
constexpr double most_comparisons = 1 << 26;  ///< of a row: 8192 elements with each other

struct TopK {
  std::size_t axis = 0;
  std::int64_t n = 0, k = 0;
  bool in_runs = false;  ///< else all elements are compared with each other
  bool largest = true;
  bool one_by_one = false;
  double comparisons = 0, placed = 0;
};

std::int64_t halved(std::int64_t runs) { return (runs + 1) / 2; }

TopK in_runs(TopK whole) {
  std::int64_t runs = (whole.n + first_run - 1) / first_run, kept = std::min(first_run, whole.k);
  whole.in_runs = true;
  whole.comparisons = static_cast<double>(runs * first_run * first_run);
  whole.placed = static_cast<double>(runs * first_run);
  for (; runs > 1; runs = halved(runs), kept = std::min(2 * kept, whole.k)) {
    whole.comparisons += static_cast<double>(2 * halved(runs)) * static_cast<double>(kept) * static_cast<double>(kept);
    whole.placed += static_cast<double>(2 * halved(runs) * kept);
  }
  return whole;
}

/// What values begin with that none comes after.
Scalar last_value(const Maker& m, bool largest) {
  return identity(largest ? Reduction::max : Reduction::min, m.dtype(0));
}

TopK top_k_of(Maker& m) {
  const Sizes& x = m.shape(0);
  TopK whole;
  whole.axis = m.axis(m.integer("axis", -1), x.size());
  whole.largest = m.integer("largest", 1) != 0;
  whole.n = x[whole.axis];
  whole.k = m.opset < 10 ? m.integer("k", 0) : m.integers(1, "k").at(0);
  if (whole.k < 0 || whole.k > whole.n)
    throw contradiction(fmt::format("the first {} of {} elements have no meaning", whole.k, whole.n));
  const auto n = static_cast<double>(whole.n), k = static_cast<double>(whole.k);
  whole.comparisons = n * n;
  const bool can_pad = is_in_text(m.dtype(0), last_value(m, whole.largest));
  const TopK runs = whole.k > 0 && can_pad && !m.of_all_sizes() ? in_runs(whole) : whole;
  const TopK best = 2 * (runs.comparisons + placed_cost * runs.placed) <= whole.comparisons ? runs : whole;
  whole.one_by_one = whole.k > 0 && whole.k <= most_one_by_one &&
                     (m.of_all_sizes() || passes_cost * n * k <= best.comparisons + placed_cost * best.placed);
  if (whole.one_by_one) return whole;
  if (best.k > 0 && best.comparisons > most_comparisons)
    throw Refused{fmt::format("the first {} of {} elements", best.k, best.n),
                  fmt::format("{:.0f} comparisons for each row, where {:.0f} are possible; end the model before it: "
                              "--until TENSOR",
                              best.comparisons, most_comparisons)};
  return best;
}

/// `i` with these in place of the axis.
Names at_axis(const TopK& of, Names i, const Names& names) {
  i.erase(i.begin() + static_cast<std::ptrdiff_t>(of.axis));
  i.insert(i.begin() + static_cast<std::ptrdiff_t>(of.axis), names.begin(), names.end());
  return i;
}
Sizes sizes_at_axis(const TopK& of, Sizes x, const Sizes& sizes) {
  x.erase(x.begin() + static_cast<std::ptrdiff_t>(of.axis));
  x.insert(x.begin() + static_cast<std::ptrdiff_t>(of.axis), sizes.begin(), sizes.end());
  return x;
}

/// `rank += 1` for each `other`, at u, that comes before `one`, at s.
std::string rank_of(const TopK& of, const std::string& rank, const std::string& one, const std::string& other) {
  return fmt::format("{0} += s32({2} {3} {1} or ({2} == {1} and value(u) < value(s)))", rank, one, other,
                     of.largest ? ">" : "<");
}

/// Elements to rank by: NaN, which no comparison orders, is ranked as infinity, so that ranks are those of a total
/// order. Returns the name of the tensor, which has this shape along `of`'s axis.
std::string ranked_by(Maker& m, const TopK& of, const std::string& name, const std::string& from, std::int64_t n) {
  if (!is_float(m.dtype(0))) return from;
  const Sizes shape = sizes_at_axis(of, m.shape(0), {n});
  const Names i = iterators(shape.size());
  m.temporary(name, m.dtype(0), shape);
  m.say(fmt::format("{0} = select({1} == {1}, {1}, inf)", access(name, i), access(from, i)), extents_of(i, shape));
  return name;
}

/// Runs of elements, sorted: V[y,s] has the values and I[y,s] the positions in the row; beyond the row and behind the
/// last run come values that none comes after.
struct SortedRuns {
  std::string values, places;
  std::int64_t runs = 0, kept = 0;
};

/// Says the statements of one TopK in runs; `at`: subscripts with these in place of the axis.
class RunSorter {
 public:
  RunSorter(Maker& m, const TopK& of) : m_(m), of_(of), i_(iterators(m.shape(0).size())) {
    last_ = as_double(m.dtype(0), last_value(m, of.largest));
    symbol_ = of.largest ? ">" : "<";
  }

  SortedRuns first() {
    m_.padded("K0", ranked_by(m_, of_, "K", "X0", of_.n), last_);
    const SortedRuns made = begun((of_.n + first_run - 1) / first_run, std::min(first_run, of_.k));
    const std::string one = fmt::format("{}*y + s", first_run), other = fmt::format("{}*y + u", first_run);
    m_.temporary("Q", DType::s32, shape(made.runs, first_run));
    m_.say(rank_of(of_, at("Q", "y,s"), at("K0", one), at("K0", other)), extents(made.runs, first_run, first_run, "u"));
    place(made, at("Q", "y,s"), at("K0", one), fmt::format("value({})", one), "s", first_run);
    return made;
  }

  /// Pairs of runs become one each. Of equal elements those of the first run come before those of the second one.
  SortedRuns merged(const SortedRuns& from) {
    m_.padded("A" + suffix(), from.values, last_);
    m_.padded("B" + suffix(), from.places, 0);
    const std::string values = "A" + suffix(), places = "B" + suffix(), ranks = "R" + suffix(), more = "S" + suffix();
    const SortedRuns made = begun(halved(from.runs), std::min(2 * from.kept, of_.k));
    for (const std::string& name : {ranks, more}) m_.temporary(name, DType::s32, shape(made.runs, from.kept));
    const std::string one = at(values, "2*y,s"), other = at(values, "2*y + 1,u");
    const Extents all = extents(made.runs, from.kept, from.kept, "u");
    m_.say(fmt::format("{} += s32({} {} {})", at(ranks, "y,s"), other, symbol_, one), all);
    m_.say(fmt::format("{} += s32({} {}= {})", at(more, "y,u"), one, symbol_, other), all);
    place(made, at(ranks, "y,s") + " + value(s)", one, at(places, "2*y,s"), "s", from.kept);
    place(made, at(more, "y,u") + " + value(u)", other, at(places, "2*y + 1,u"), "u", from.kept);
    return made;
  }

  std::string at(const std::string& tensor, const std::string& names) const {
    return access(tensor, at_axis(of_, i_, {names}));
  }

 private:
  std::string suffix() const { return std::to_string(level_); }
  Sizes shape(std::int64_t runs, std::int64_t length) const { return sizes_at_axis(of_, m_.shape(0), {runs, length}); }
  Extents extents(std::int64_t runs, std::int64_t length, std::int64_t more, const std::string& name) const {
    Extents all = extents_of(at_axis(of_, i_, {"y", "s"}), shape(runs, length));
    all[name] = more;
    return all;
  }
  SortedRuns begun(std::int64_t runs, std::int64_t kept) {
    level_ += 1;
    const SortedRuns made{"V" + suffix(), "I" + suffix(), runs, kept};
    m_.temporary(made.values, m_.dtype(0), shape(runs, kept));
    m_.temporary(made.places, DType::s32, shape(runs, kept));
    return made;
  }
  /// Stores an element at its rank, if that is kept: a scatter (ir/scatter.h).
  void place(const SortedRuns& to, const std::string& rank, const std::string& value, const std::string& position,
             const std::string& along, std::int64_t length) {
    Extents all = extents_of(at_axis(of_, i_, {"y", "w"}), shape(to.runs, to.kept));
    all[along] = length;
    m_.say(fmt::format("{} {} select({} == value(w), {}, {})", at(to.values, "y,w"),
                       of_.largest ? "max=" : "min=", rank, value, number(last_)),
           all);
    m_.say(fmt::format("{} += select({} == value(w), {}, 0)", at(to.places, "y,w"), rank, position), all);
  }

  Maker& m_;
  const TopK& of_;
  Names i_;
  double last_ = 0;
  std::string symbol_;
  int level_ = 0;
};

void make_in_runs(Maker& m, const TopK& of) {
  RunSorter sorter(m, of);
  SortedRuns sorted = sorter.first();
  while (sorted.runs > 1) sorted = sorter.merged(sorted);
  const Names to = at_axis(of, iterators(m.shape(0).size()), {"r"});
  const Sizes shape = sizes_at_axis(of, m.shape(0), {of.k});
  const std::string place = sorter.at(sorted.places, "0,r");
  m.result("Y", 0, m.dtype(0), shape);
  m.say(access("Y", to) + " = " + sorter.at("X0", "at(" + place + ")"), extents_of(to, shape));
  if (!m.wants(1)) return;
  m.result("P", 1, DType::s64, shape);
  m.say(access("P", to) + " = s64(" + place + ")", extents_of(to, shape));
}

/// V0, P0: the first element of a row and its position; Vr, Pr: the first one behind the r before it.
void make_one_by_one(Maker& m, const TopK& of) {
  const Sizes &x = m.shape(0), rows = sizes_at_axis(of, x, {}), shape = sizes_at_axis(of, x, {of.k});
  const Names i = iterators(x.size()), all = at_axis(of, i, {"s"}), row = at_axis(of, i, {}),
              to = at_axis(of, i, {"r"});
  const std::string one = access(ranked_by(m, of, "L", "X0", of.n), all);
  const std::string last =
      m.scalar("W", m.dtype(0), identity(of.largest ? Reduction::max : Reduction::min, m.dtype(0)));
  m.temporary("T", DType::s32, shape);
  std::string behind;
  for (std::int64_t r = 0; r < of.k; ++r) {
    const std::string value = fmt::format("V{}", r), place = fmt::format("P{}", r);
    m.temporary(value, m.dtype(0), rows);
    m.temporary(place, DType::s32, rows);
    m.say(fmt::format("{} {} {}", access(value, row), of.largest ? "max=" : "min=",
                      r == 0 ? one : fmt::format("select({}, {}, {})", behind, one, last)),
          extents_of(all, x));
    m.say(fmt::format("{} min= select({} == {}{}, value(s), {})", access(place, row), one, access(value, row),
                      r == 0 ? "" : " and " + behind, no_position),
          extents_of(all, x));
    m.say(access("T", at_axis(of, i, {std::to_string(r)})) + " = " + access(place, row), extents_of(row, rows));
    behind = fmt::format("({0} {1} {2} or ({0} == {2} and value(s) > {3}))", one, of.largest ? "<" : ">",
                         access(value, row), access(place, row));
  }
  m.result("Y", 0, m.dtype(0), shape);
  m.say(access("Y", to) + " = " + access("X0", at_axis(of, i, {"at(" + access("T", to) + ")"})), extents_of(to, shape));
  if (!m.wants(1)) return;
  m.result("P", 1, DType::s64, shape);
  m.say(access("P", to) + " = s64(" + access("T", to) + ")", extents_of(to, shape));
}

void make_top_k(Maker& m) {
  const TopK of = top_k_of(m);
  const Sizes& x = m.shape(0);
  if (of.one_by_one) return make_one_by_one(m, of);
  if (of.k == 0 && !m.of_all_sizes()) {
    const Sizes none = sizes_at_axis(of, x, {0});
    m.constant("Z", zeros(m.dtype(0), none));
    m.constant("W", zeros(DType::s64, none));
    const Names i = iterators(none.size());
    m.result("Y", 0, m.dtype(0), none);
    m.say(access("Y", i) + " = " + access("Z", i), extents_of(i, none));
    if (!m.wants(1)) return;
    m.result("P", 1, DType::s64, none);
    return m.say(access("P", i) + " = " + access("W", i), extents_of(i, none));
  }
  if (of.in_runs) return make_in_runs(m, of);
  const Names i = iterators(x.size()), one = at_axis(of, i, {"s"});
  const Sizes shape = sizes_at_axis(of, x, {of.k});
  Extents found = extents_of(one, x), all = found;
  all["u"] = of.n;
  m.temporary("R", DType::s32, x);
  const std::string key = ranked_by(m, of, "L", "X0", of.n);
  m.say(rank_of(of, access("R", one), access(key, one), access(key, at_axis(of, i, {"u"}))), all);
  found["r"] = of.k;
  const Names to = at_axis(of, i, {"r"});
  m.result("Y", 0, m.dtype(0), shape);
  m.say(fmt::format("{} += select({} == value(r), {}, 0)", access("Y", to), access("R", one), access("X0", one)),
        found);
  if (!m.wants(1)) return;
  m.result("P", 1, DType::s64, shape);
  m.say(fmt::format("{} += select({} == value(r), s64(value(s)), 0)", access("P", to), access("R", one)), found);
}

void make_reverse_sequence(Maker& m) {
  const Sizes& x = m.shape(0);
  const std::size_t batch = m.axis(m.integer("batch_axis", 1), x.size()),
                    time = m.axis(m.integer("time_axis", 0), x.size());
  if (batch == time || m.shape(1) != Sizes{x[batch]}) throw contradiction("its lengths do not fit the batch");
  m.temporary("J", DType::s32, {x[time], x[batch]});
  m.say("J[t,b] = select(value(t) < s32(X1[b]), s32(X1[b]) - 1 - value(t), value(t))",
        {{"t", x[time]}, {"b", x[batch]}});
  const Names i = iterators(x.size());
  Names from = i;
  from[time] = fmt::format("at(J[{},{}])", i[time], i[batch]);
  m.result("Y", 0, m.dtype(0), x);
  m.say(access("Y", i) + " = " + access("X0", from), extents_of(i, x));
}

/// Y = X, then each element with the updates whose position along the axis it has: a scatter (ir/scatter.h).
void make_scatter_elements(Maker& m) {
  const Sizes &x = m.shape(0), &u = m.shape(1);
  const std::size_t axis = axis_of(m, 0);
  const std::string how = m.text("reduction", "none");
  if (u.size() != x.size() || m.shape(2) != u) throw contradiction("its updates do not fit the positions");
  for (std::size_t d = 0; d < x.size(); ++d)
    if (d != axis && u[d] > x[d]) throw contradiction("positions of " + sizes_text(u) + " do not fit " + sizes_text(x));
  const Names i = iterators(x.size());
  const Extents extents = extents_of(i, x);
  if (product_of(u) == 0 && !m.of_all_sizes()) {  // nothing is updated
    m.result("Y", 0, m.dtype(0), x);
    return m.say(access("Y", i) + " = " + access("X0", i), extents);
  }
  say_positions_from_start(m, "J", 1, x[axis]);
  Sizes box = u;  // elements that updates can reach: the first ones of the other dimensions
  box[axis] = x[axis];
  Names from = i;
  from[axis] = "u";
  const Extents reached = extents_of(i, box);
  Extents all = reached;
  all["u"] = u[axis];
  const std::string hit = fmt::format("s64({}) == s64(value({}))", access("J", from), i[axis]);
  const std::string y = access("Y", i);
  m.result("Y", 0, m.dtype(0), x);
  if (how != "none") {
    m.say(y + " = " + access("X0", i), extents);
    return m.say(combined_update(m, y, how, hit, access("X2", from)), all);
  }
  m.temporary("L", DType::s32, box);
  m.say(last_update(access("L", i), hit), all);
  const std::string updates = product_of(u) == 0 ? "X0" : "X2";  // `at` needs an element, whatever it says
  if (box != x) m.padded("M", "L", -1), m.padded("U", updates, 0);
  const std::string number = access(box == x ? "L" : "M", i);
  Names last = i;
  last[axis] = "at(" + number + ")";
  m.say(fmt::format("{} = select({} < 0, {}, {})", y, number, access("X0", i), access(box == x ? updates : "U", last)),
        extents);
}

}  // namespace

const Makers& indexing_makers() {
  static const Makers all = {{"GatherElements", &make_gather_elements},
                             {"GatherND", &make_gather_nd},
                             {"OneHot", &make_one_hot},
                             {"Trilu", &make_trilu},
                             {"ArgMax", &make_arg},
                             {"ArgMin", &make_arg},
                             {"Hardmax", &make_hardmax},
                             {"TopK", &make_top_k},
                             {"ReverseSequence", &make_reverse_sequence},
                             {"Scatter", &make_scatter_elements},
                             {"ScatterElements", &make_scatter_elements}};
  return all;
}

void gather_values(Maker& m) { make_gather_values(m); }

}  // namespace isamap::importing

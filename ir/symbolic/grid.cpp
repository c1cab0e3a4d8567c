// SPDX-License-Identifier: Apache-2.0
// One statement of a symbolic kernel as a grid of blocks: its axes, and the kernel of one block.

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "ir/symbolic/facts.h"
#include "isamap/symbolic_program.h"

namespace isamap {
namespace {

/// A product with 0, of an axis without positions, is the number 0.
SizeProduct product_of(const AffineExpr& e, SizeProduct with) {
  if (e.is_constant())
    with.number *= e.constant();
  else
    with.factors.push_back(e);
  if (with.number == 0) with.factors.clear();
  return with;
}

std::vector<SizeProduct> dense_strides(const std::vector<AffineExpr>& extents) {
  std::vector<SizeProduct> found(extents.size());
  for (std::size_t d = extents.size(); d-- > 1;) found[d - 1] = product_of(extents[d], found[d]);
  return found;
}

/// No size says where its elements are, and it is read as it is: a copy can be packed ahead of time.
bool is_same_in_all_cells(const GridShape& shape, std::size_t t) {
  const auto moves = [](const AxisMove& move) { return move.axis >= 0; };
  const auto is_number = [](const SizeProduct& stride) { return stride.is_number(); };
  const std::vector<bool>& symbolic = shape.symbolic_extent[t];
  return std::none_of(shape.moves[t].begin(), shape.moves[t].end(), moves) &&
         std::all_of(shape.strides[t].begin(), shape.strides[t].end(), is_number) &&
         std::find(symbolic.begin(), symbolic.end(), true) == symbolic.end() &&
         !shape.padded.contains(make_id<TensorId>(t));
}

/// The value is 0, never NaN, where all of these reads are 0.
bool vanishes(const ScalarExpr& e, const std::set<int>& reads) {
  const auto all = [&] {
    return std::all_of(e.args.begin(), e.args.end(), [&](const ScalarExpr& arg) { return vanishes(arg, reads); });
  };
  if (const auto* read = std::get_if<Read>(&e.op)) return reads.contains(read->access);
  if (std::holds_alternative<Cast>(e.op)) return all();
  const auto* binary = std::get_if<Binary>(&e.op);
  return binary != nullptr && (binary->op == BinaryOp::mul || binary->op == BinaryOp::add) && all();
}

class GridFinder {
 public:
  GridFinder(const SymbolicKernel& kernel, std::size_t statement)
      : kernel_(kernel),
        statement_(kernel.sample.statements[statement]),
        symbolic_(kernel.statements[statement]),
        number_(statement) {}

  Result<GridShape> run() {
    if (auto problem = find_axes()) return std::move(*problem);
    take_tensors();
    for (std::size_t a = 0; a < symbolic_.index.size(); ++a)
      if (auto problem = check_access(a)) return std::move(*problem);
    for (std::size_t t = 0; t < shape_.kernel.tensors.size(); ++t)
      if (shape_.padded.contains(make_id<TensorId>(t))) shape_.kernel.tensors[t].constant = false;
    return std::move(shape_);
  }

  GridShape without_axes() {
    take_tensors();
    for (Tensor& tensor : shape_.kernel.tensors) tensor.constant = false;  // loops pack nothing
    return std::move(shape_);
  }

 private:
  Diagnostic refuse(const std::string& why, const AffineExpr& of) const { return not_for_all_sizes(kernel_, why, of); }

  std::optional<Diagnostic> find_axes() {
    if (!kernel_.sample.repeats.empty()) return refuse("the steps of a recurrence need the step before", {});
    if (!statement_.domain.faces.empty()) return refuse("a domain is cut", {});
    for (std::size_t d = 0; d < symbolic_.extents.size(); ++d) {
      if (symbolic_.extents[d].is_constant()) continue;
      const Dim& dim = statement_.domain.dims[d];
      const auto range = Facts(kernel_.facts).interval(symbolic_.extents[d]);
      shape_.axes.push_back({dim.name,
                             product_of(symbolic_.extents[d], {}),
                             dim.kind == DimKind::reduction,
                             divisor_of(symbolic_.extents[d], kernel_.facts),
                             range ? range->high : -1,
                             {}});
    }
    for (const AffineExpr& value : symbolic_.values)
      for (const GridAxis& axis : shape_.axes)
        if (value.names().contains(symbolic_dim(axis.dim)))
          return refuse(fmt::format("statement {} uses value({})", statement_.name, axis.dim), *affine_extent(axis));
    for (const AffineExpr& value : symbolic_.values)
      for (const SymbolicSize& size : kernel_.facts.sizes)
        if (value.names().contains(size.name))
          return refuse(fmt::format("statement {} computes with {}", statement_.name, size.name), value);
    for (std::size_t other = 0; other < kernel_.sample.statements.size(); ++other)
      if (other != number_ && kernel_.sample.statements[other].write.tensor == statement_.write.tensor)
        return refuse(fmt::format("two statements write '{}'", tensor(statement_.write).name), {});
    for (const Access& read : statement_.reads)
      if (read.tensor == statement_.write.tensor)
        return refuse(fmt::format("statement {} reads what it writes", statement_.name), {});
    const Reduction reduction = statement_.reduction;
    const bool adds = reduction == Reduction::add || reduction == Reduction::mul || reduction == Reduction::max ||
                      reduction == Reduction::min;
    for (const GridAxis& axis : shape_.axes)
      if (axis.reduced && !adds) return refuse(fmt::format("sums over {} saturate", axis.dim), *affine_extent(axis));
    return std::nullopt;
  }
  const Tensor& tensor(const Access& access) const { return kernel_.sample.tensors[access.tensor.index()]; }

  /// The tensors of this statement, in the order of the kernel.
  void take_tensors() {
    Kernel& kernel = shape_.kernel;
    kernel.name = kernel_.sample.name;
    kernel.where = kernel_.sample.where;
    kernel.statements = {statement_};
    std::map<TensorId, TensorId> renamed;
    for (std::size_t t = 0; t < kernel_.sample.tensors.size(); ++t) {
      const auto id = make_id<TensorId>(t);
      bool used = false;
      for (int a = 0; a < access_count(statement_); ++a) used = used || access_of(statement_, a).tensor == id;
      if (!used) continue;
      renamed[id] = make_id<TensorId>(kernel.tensors.size());
      shape_.tensors.push_back(id);
      kernel.tensors.push_back(kernel_.sample.tensors[t]);
      kernel.tensors.back().output = false;  // one that this statement only reads is its input
      const std::vector<AffineExpr>& extents = kernel_.shapes[t];
      shape_.moves.emplace_back(extents.size());
      shape_.strides.push_back(strides(t));
      shape_.extents.push_back(kernel_.strides[t].empty() ? extents : std::vector<AffineExpr>{});
      shape_.symbolic_extent.emplace_back();
      for (const AffineExpr& extent : extents) shape_.symbolic_extent.back().push_back(!extent.is_constant());
    }
    Computation& own = kernel.statements[0];
    own.write.tensor = renamed.at(own.write.tensor);
    for (Access& read : own.reads) read.tensor = renamed.at(read.tensor);
  }

  std::vector<SizeProduct> strides(std::size_t t) const {
    const std::vector<AffineExpr>& extents = kernel_.shapes[t];
    if (kernel_.strides[t].empty()) return dense_strides(extents);
    std::vector<SizeProduct> found(extents.size());
    for (std::size_t d = 0; d < extents.size(); ++d) found[d] = product_of(kernel_.strides[t][d], {});
    return found;
  }
  std::optional<Diagnostic> check_access(std::size_t a) {
    const Access& access = access_of(statement_, static_cast<int>(a));
    const Access& own = access_of(shape_.kernel.statements[0], static_cast<int>(a));
    const std::vector<AffineExpr>& index = symbolic_.index[a];
    for (std::size_t d = 0; d < index.size(); ++d) {
      const auto against = [&](const std::string& why, const AffineExpr& of) {
        return refuse(fmt::format("statement {} {} '{}' {}", statement_.name, a == 0 ? "writes" : "reads",
                                  tensor(access).name, why),
                      of);
      };
      for (const std::string& name : index[d].names())
        if (!name.starts_with('$')) return against(fmt::format("at a subscript that depends on {}", name), {});
      const AffineExpr& extent = kernel_.shapes[access.tensor.index()][d];
      if (access.computed && access.computed->axis == static_cast<int>(d) && !extent.is_constant())
        return against("at a computed place along a symbolic size", extent);  // it is clamped to a number
      AxisMove move;
      for (std::size_t g = 0; g < shape_.axes.size(); ++g) {
        const std::string dim = symbolic_dim(shape_.axes[g].dim);
        if (!index[d].names().contains(dim)) continue;
        const std::int64_t factor = index[d].coefficient(dim);
        const bool linear = !(index[d] - factor * AffineExpr::dim(dim)).names().contains(dim);
        if (move.axis >= 0 || factor < 1 || !linear)
          return against(fmt::format("at {}, which is no multiple of one symbolic dim", print(index[d])),
                         *affine_extent(shape_.axes[g]));
        if (access.computed && access.computed->axis == static_cast<int>(d))
          return against("at a computed place", *affine_extent(shape_.axes[g]));
        move = {static_cast<int>(g), factor};
      }
      AxisMove& known = shape_.moves[own.tensor.index()][d];
      if (known.axis >= 0 && (known.axis != move.axis || known.factor != move.factor))
        return against("along two dims", *affine_extent(shape_.axes[static_cast<std::size_t>(known.axis)]));
      if (move.axis >= 0 && reads_other(a) && known.axis < 0)
        return against("along two dims", *affine_extent(shape_.axes[static_cast<std::size_t>(move.axis)]));
      known = move;
    }
    return a > 0 && outside_of(access, kernel_.sample.tensors) ? pad(a) : std::nullopt;
  }
  /// A padded copy of what access `a` and the other reads of its tensor read, unless no size leaves the shape.
  std::optional<Diagnostic> pad(std::size_t a) {
    const Access& access = access_of(statement_, static_cast<int>(a));
    const TensorId own = shape_.kernel.statements[0].reads[a - 1].tensor;
    if (shape_.padded.contains(own)) return std::nullopt;
    const auto refused = [&](const std::string& why) {
      return refuse(fmt::format("'{}', which is read beyond its edges, {}", tensor(access).name, why), {});
    };
    auto copy = copy_of_reads(access.tensor);
    if (!copy) return refused(copy.diagnostics().front().message);
    copy->value = *outside_of(access, kernel_.sample.tensors);
    bool leaves = false;
    for (std::size_t d = 0; d < copy->low.size(); ++d) {
      const AffineExpr last = copy->low[d] + copy->extents[d] - 1;
      leaves = leaves || copy->low[d] < 0 ||
               !Facts(kernel_.facts).nonnegative(kernel_.shapes[access.tensor.index()][d] - 1 - last);
    }
    if (!leaves) return std::nullopt;
    if (std::any_of(statement_.reads.begin(), statement_.reads.end(),
                    [&](const Access& read) { return read.tensor == access.tensor && read.computed; }))
      return refused("has computed subscripts");
    const DType type = shape_.kernel.tensors[own.index()].dtype;
    if (copy->value != 0 && is_float(type) && type != DType::f32 && type != DType::f64)
      return refused("has a value outside that is not 0");
    take_copy(own, std::move(*copy));
    return std::nullopt;
  }
  /// From the smallest to the largest subscript of all reads of a tensor.
  Result<PaddedCopy> copy_of_reads(TensorId id) const {
    PaddedCopy copy;
    std::vector<AffineExpr> last;
    for (std::size_t a = 1; a < symbolic_.index.size(); ++a) {
      if (access_of(statement_, static_cast<int>(a)).tensor != id) continue;
      const bool is_first = last.empty();
      for (std::size_t d = 0; d < symbolic_.index[a].size(); ++d) {
        const auto range = range_of(symbolic_.index[a][d]);
        if (!range) return error("has a subscript with divisions");
        if (is_first) copy.low.push_back(range->first), last.push_back(range->second);
        copy.low[d] = std::min(copy.low[d], range->first);
        const Facts facts(kernel_.facts);
        if (facts.nonnegative(range->second - last[d]))
          last[d] = range->second;
        else if (!facts.nonnegative(last[d] - range->second))
          return error(fmt::format("is read up to {} and up to {}", print(last[d]), print(range->second)));
      }
    }
    for (std::size_t d = 0; d < last.size(); ++d) copy.extents.push_back(last[d] - copy.low[d] + 1);
    return copy;
  }
  /// Reads of the tensor become reads of its copy.
  void take_copy(TensorId own, PaddedCopy copy) {
    const std::size_t t = own.index();
    for (Access& read : shape_.kernel.statements[0].reads) {
      if (read.tensor != own) continue;
      for (std::size_t d = 0; d < read.index.size(); ++d) read.index[d] = read.index[d] - copy.low[d];
      read.outside.reset();
    }
    for (std::size_t d = 0; d < copy.low.size(); ++d) {
      shape_.symbolic_extent[t][d] = !copy.extents[d].is_constant();
      if (copy.extents[d].is_constant()) shape_.kernel.tensors[t].shape[d] = copy.extents[d].constant();
    }
    shape_.strides[t] = dense_strides(copy.extents);
    shape_.kernel.tensors[t].outside.reset();
    shape_.kernel.tensors[t].strides.clear();
    shape_.padded[own] = std::move(copy);
  }
  /// Smallest and largest value of a subscript; dims start at 0.
  std::optional<std::pair<std::int64_t, AffineExpr>> range_of(const AffineExpr& index) const {
    std::int64_t low = index.constant();
    AffineExpr high = index.constant();
    for (const AffineTerm& term : index.terms()) {
      const auto* name = std::get_if<std::string>(&term.atom);
      const int d = name != nullptr && name->starts_with('$') ? statement_.domain.find(name->substr(1)) : -1;
      if (d < 0) return std::nullopt;
      const AffineExpr& extent = symbolic_.extents[static_cast<std::size_t>(d)];
      if (term.coefficient > 0) {
        high += term.coefficient * (extent - 1);
      } else if (extent.is_constant()) {
        low += term.coefficient * (extent.constant() - 1);
      } else {
        return std::nullopt;
      }
    }
    return std::pair(low, high);
  }
  /// An earlier access of the same tensor.
  bool reads_other(std::size_t a) const {
    for (std::size_t b = 0; b < a; ++b)
      if (access_of(statement_, static_cast<int>(b)).tensor == access_of(statement_, static_cast<int>(a)).tensor)
        return true;
    return false;
  }

  const SymbolicKernel& kernel_;
  const Computation& statement_;
  const SymbolicStatement& symbolic_;
  std::size_t number_;
  GridShape shape_;
};

}  // namespace

std::int64_t evaluate(const SizeProduct& product, const Bindings& sizes) {
  std::int64_t value = product.number;
  for (const AffineExpr& factor : product.factors) value *= evaluate(factor, sizes);
  return value;
}

std::string print(const SizeProduct& product) {
  const bool has_number = product.number != 1 || product.factors.empty();
  std::string text = has_number ? std::to_string(product.number) : "";
  for (const AffineExpr& factor : product.factors) {
    const std::string one = print(factor);
    const bool is_sum = (has_number || product.factors.size() > 1) && !factor.as_dim();
    text += (text.empty() ? "" : "*") + (is_sum ? "(" + one + ")" : one);
  }
  return text;
}

std::optional<AffineExpr> affine_extent(const GridAxis& axis) {
  if (axis.extent.factors.size() > 1) return std::nullopt;
  return axis.extent.is_number() ? AffineExpr(axis.extent.number) : axis.extent.number * axis.extent.factors.front();
}

Result<GridShape> grid_shape(const SymbolicKernel& kernel, std::size_t statement) {
  return GridFinder(kernel, statement).run();
}

GridShape shape_without_axes(const SymbolicKernel& kernel, std::size_t statement) {
  return GridFinder(kernel, statement).without_axes();
}

double neutral_value(const GridShape& shape) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Reduction reduction = shape.kernel.statements[0].reduction;
  return reduction == Reduction::max ? -infinity : reduction == Reduction::min ? infinity : 0;
}

namespace {

/// Values beyond the end of an axis, in these reads, change no sum.
bool ends_anywhere(const GridShape& shape, const std::set<int>& reads, const std::set<TensorId>& masked) {
  const Computation& statement = shape.kernel.statements[0];
  if (statement.reduction == Reduction::add) return vanishes(statement.body, reads);
  if (statement.reduction != Reduction::max && statement.reduction != Reduction::min) return false;
  const auto* read = std::get_if<Read>(&statement.body.op);
  const TensorId id = read == nullptr ? TensorId{} : statement.reads[static_cast<std::size_t>(read->access)].tensor;
  return read != nullptr && masked.contains(id) && is_float(shape.kernel.tensors[id.index()].dtype);
}

}  // namespace

std::optional<GridShape> rounded_up(const GridShape& shape, std::size_t axis, std::int64_t tile,
                                    const std::set<TensorId>& masked) {
  GridShape rounded = shape;
  GridAxis& one = rounded.axes[axis];
  const Computation& statement = shape.kernel.statements[0];
  const auto whole = affine_extent(one);
  if (!one.reduced || !whole) return std::nullopt;
  const AffineExpr extent = tile * floordiv(*whole + (tile - 1), tile);
  std::set<int> copied;
  for (int r = 0; r < static_cast<int>(statement.reads.size()); ++r) {
    const Access& read = statement.reads[static_cast<std::size_t>(r)];
    const std::size_t t = read.tensor.index();
    bool moves = false;
    for (std::size_t d = 0; d < read.index.size(); ++d) {
      if (shape.moves[t][d].axis != static_cast<int>(axis)) continue;
      const bool alone = read.index[d] == AffineExpr::dim(one.dim) && !shape.extents[t].empty();
      if (!alone || shape.padded.contains(read.tensor) || shape.extents[t][d] != *whole || read.computed)
        return std::nullopt;
      moves = true;
      if (!masked.contains(read.tensor)) rounded.extents[t][d] = extent;
    }
    if (!moves) continue;
    copied.insert(r);
    if (masked.contains(read.tensor)) continue;
    rounded.strides[t] = dense_strides(rounded.extents[t]);
    rounded.padded[read.tensor] = {std::vector<std::int64_t>(read.index.size(), 0), rounded.extents[t], 0};
  }
  if (!ends_anywhere(shape, copied, masked)) return std::nullopt;
  if (!masked.empty()) one.end = *whole;
  one.extent = product_of(extent, {});
  one.multiple = tile;
  if (one.most >= 0) one.most = (one.most + tile - 1) / tile * tile;
  return rounded;
}

Kernel block_kernel(const GridShape& shape, const std::vector<std::int64_t>& counts, bool adds) {
  Kernel block = shape.kernel;
  Computation& statement = block.statements[0];
  for (std::size_t g = 0; g < shape.axes.size(); ++g)
    statement.domain.dims[static_cast<std::size_t>(statement.domain.find(shape.axes[g].dim))].extent = counts[g];
  if (adds) block.tensors[statement.write.tensor.index()].inout = true;
  const Ranges ranges = ranges_of(statement.domain);
  for (std::size_t t = 0; t < block.tensors.size(); ++t) {
    Tensor& tensor = block.tensors[t];
    tensor.constant = tensor.constant && is_same_in_all_cells(shape, t);
    for (std::size_t d = 0; d < tensor.shape.size(); ++d)
      if (shape.symbolic_extent[t][d]) tensor.shape[d] = 1;
    for (int a = 0; a < access_count(statement); ++a) {
      const Access& access = access_of(statement, a);
      for (std::size_t d = 0; access.tensor.index() == t && d < tensor.shape.size(); ++d)
        if (const auto range = bounds(access.index[d], ranges); range && shape.symbolic_extent[t][d])
          tensor.shape[d] = std::max(tensor.shape[d], range->high + 1);
    }
    const std::vector<SizeProduct>& strides = shape.strides[t];
    if (std::all_of(strides.begin(), strides.end(), [](const SizeProduct& p) { return p.is_number(); })) continue;
    tensor.strides.assign(tensor.shape.size(), 1);
    for (std::size_t d = tensor.shape.size(); d-- > 0;) {
      const std::int64_t inner = d + 1 < tensor.shape.size() ? tensor.shape[d + 1] * tensor.strides[d + 1] : 1;
      const std::int64_t number = strides[d].number;  // divides the stride at every size
      tensor.strides[d] = strides[d].is_number() ? number : (inner / number + 1 + inner / number % 2) * number;
    }
  }
  return block;
}

std::optional<std::int64_t> uncovered_extent(const GridAxis& axis) {
  std::int64_t first = 0;
  for (const DimRun& run : axis.runs) first = std::max(first, run.tile);
  std::int64_t last = std::lcm(std::max<std::int64_t>(first, 1), axis.multiple) - 1;
  if (axis.most >= 0) last = first > 0 ? std::min(last, axis.most) : axis.most;
  for (std::int64_t extent = 0; extent <= last; extent += axis.multiple) {
    std::int64_t left = extent;
    for (const DimRun& run : axis.runs)
      if (run.tile > 0) left %= run.tile;
    const bool served = left == 0 || std::any_of(axis.runs.begin(), axis.runs.end(), [&](const DimRun& run) {
                          return run.tile == 0 && run.low <= left && left <= run.high;
                        });
    if (!served) return extent;
  }
  return first > 0 || axis.most >= 0 ? std::nullopt : std::optional<std::int64_t>(1);
}

bool halves_remainders(const GridAxis& axis) {
  std::int64_t tile = 0, remainder = 0;
  for (const DimRun& run : axis.runs) {
    if (run.tile > 0)
      tile = run.tile;
    else if (run.low != run.high || run.low != ++remainder)
      return false;
  }
  return !axis.reduced && tile > 2 && remainder == tile - 1;
}

std::size_t block_count(const Grid& grid) {
  std::size_t count = 1;
  for (const GridAxis& axis : grid.shape.axes) count *= axis.runs.size();
  return count;
}

std::size_t body_count(const Grid& grid) {
  auto count = static_cast<std::size_t>(std::count_if(grid.blocks.begin(), grid.blocks.end(), [](const Block& block) {
    return !block.program.buffers.empty() && !block.repeated;
  }));
  for (const Grid& edge : grid.edges) count += body_count(edge);
  return count + (grid.loops ? 1 : 0);
}

bool Grid::has_adding_blocks() const { return !loops && blocks.size() > block_count(*this); }

}  // namespace isamap

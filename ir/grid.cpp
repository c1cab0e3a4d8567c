// SPDX-License-Identifier: Apache-2.0
// One statement of a symbolic kernel as a grid of blocks: its axes, and the kernel of one block.

#include <fmt/format.h>

#include <algorithm>

#include "isamap/block_program.h"

namespace isamap {
namespace {

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
    return std::move(shape_);
  }

 private:
  /// `of`: an expression whose sizes would have to be numbers.
  Diagnostic refuse(const std::string& why, const AffineExpr& of) const {
    std::string sizes;
    for (const SymbolicSize& size : kernel_.facts.sizes)
      if (of.is_constant() || of.names().contains(size.name))
        sizes += fmt::format("{}{}={}", sizes.empty() ? "" : ",", size.name, kernel_.at.at(size.name));
    return error_at(kernel_.sample.where, "no program for all sizes: " + why, "bind sizes: --sizes " + sizes);
  }

  std::optional<Diagnostic> find_axes() {
    if (!kernel_.sample.repeats.empty()) return refuse("the steps of a recurrence need the step before", {});
    if (!statement_.domain.faces.empty()) return refuse("a domain is cut", {});
    for (std::size_t d = 0; d < symbolic_.extents.size(); ++d) {
      if (symbolic_.extents[d].is_constant()) continue;
      const Dim& dim = statement_.domain.dims[d];
      shape_.axes.push_back({dim.name, symbolic_.extents[d], dim.kind == DimKind::reduction, {}});
    }
    for (const AffineExpr& value : symbolic_.values)
      for (const GridAxis& axis : shape_.axes)
        if (value.names().contains(symbolic_dim(axis.dim)))
          return refuse(fmt::format("statement {} uses value({})", statement_.name, axis.dim), axis.extent);
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
      if (axis.reduced && !adds) return refuse(fmt::format("sums over {} saturate", axis.dim), axis.extent);
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
      kernel.tensors.back().constant = false;
      const std::vector<AffineExpr>& extents = kernel_.shapes[t];
      shape_.moves.emplace_back(extents.size());
      shape_.strides.push_back(strides(t));
      shape_.symbolic_extent.emplace_back();
      for (const AffineExpr& extent : extents) shape_.symbolic_extent.back().push_back(!extent.is_constant());
    }
    Computation& own = kernel.statements[0];
    own.write.tensor = renamed.at(own.write.tensor);
    for (Access& read : own.reads) read.tensor = renamed.at(read.tensor);
  }

  std::vector<SizeProduct> strides(std::size_t t) const {
    const std::vector<AffineExpr>& extents = kernel_.shapes[t];
    std::vector<SizeProduct> found(extents.size());
    if (!kernel_.strides[t].empty()) {
      for (std::size_t d = 0; d < extents.size(); ++d) found[d] = product_of(kernel_.strides[t][d], {});
      return found;
    }
    for (std::size_t d = extents.size(); d-- > 1;) found[d - 1] = product_of(extents[d], found[d]);
    return found;
  }
  static SizeProduct product_of(const AffineExpr& e, SizeProduct with) {
    if (e.is_constant())
      with.number *= e.constant();
    else
      with.factors.push_back(e);
    return with;
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
      AxisMove move;
      for (std::size_t g = 0; g < shape_.axes.size(); ++g) {
        const std::string dim = symbolic_dim(shape_.axes[g].dim);
        if (!index[d].names().contains(dim)) continue;
        const std::int64_t factor = index[d].coefficient(dim);
        const bool linear = !(index[d] - factor * AffineExpr::dim(dim)).names().contains(dim);
        if (move.axis >= 0 || factor < 1 || !linear)
          return against(fmt::format("at {}, which is no multiple of one symbolic dim", print(index[d])),
                         shape_.axes[g].extent);
        if (access.computed && access.computed->axis == static_cast<int>(d))
          return against("at a computed place", shape_.axes[g].extent);
        move = {static_cast<int>(g), factor};
      }
      AxisMove& known = shape_.moves[own.tensor.index()][d];
      if (known.axis >= 0 && (known.axis != move.axis || known.factor != move.factor))
        return against("along two dims", shape_.axes[static_cast<std::size_t>(known.axis)].extent);
      if (move.axis >= 0 && reads_other(a) && known.axis < 0)
        return against("along two dims", shape_.axes[static_cast<std::size_t>(move.axis)].extent);
      known = move;
    }
    if (a > 0 && outside_of(access, kernel_.sample.tensors) && leaves_shape(access))
      return refuse(fmt::format("statement {} reads '{}' beyond its edges", statement_.name, tensor(access).name), {});
    return std::nullopt;
  }
  /// An earlier access of the same tensor.
  bool reads_other(std::size_t a) const {
    for (std::size_t b = 0; b < a; ++b)
      if (access_of(statement_, static_cast<int>(b)).tensor == access_of(statement_, static_cast<int>(a)).tensor)
        return true;
    return false;
  }
  bool leaves_shape(const Access& access) const {
    const Ranges ranges = ranges_of(statement_.domain);
    for (std::size_t d = 0; d < access.index.size(); ++d) {
      const auto range = bounds(access.index[d], ranges);
      if (!range || range->low < 0 || range->high >= tensor(access).shape[d]) return true;
    }
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

Result<GridShape> grid_shape(const SymbolicKernel& kernel, std::size_t statement) {
  return GridFinder(kernel, statement).run();
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
      tensor.strides[d] = strides[d].is_number() ? strides[d].number : inner + 1 + inner % 2;
    }
  }
  return block;
}

std::optional<std::int64_t> uncovered_extent(const GridAxis& axis) {
  std::int64_t first = 0;
  for (const DimRun& run : axis.runs) first = std::max(first, run.tile);
  for (std::int64_t extent = 0; extent < std::max<std::int64_t>(first, 1); ++extent) {
    std::int64_t left = extent;
    for (const DimRun& run : axis.runs)
      if (run.tile > 0) left %= run.tile;
    const bool served = left == 0 || std::any_of(axis.runs.begin(), axis.runs.end(), [&](const DimRun& run) {
                          return run.tile == 0 && run.low <= left && left <= run.high;
                        });
    if (!served) return extent;
  }
  return first > 0 ? std::nullopt : std::optional<std::int64_t>(1);
}

std::size_t block_count(const Grid& grid) {
  std::size_t count = 1;
  for (const GridAxis& axis : grid.shape.axes) count *= axis.runs.size();
  return count;
}

bool Grid::has_adding_blocks() const { return blocks.size() > block_count(*this); }

}  // namespace isamap
